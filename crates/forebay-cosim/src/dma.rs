// SPDX-License-Identifier: Apache-2.0
//! The card's PCIe bridge as an AXI4 port finds it: bursts become requests of the card to the host.
//!
//! Writes are posted. The bridge answers one as soon as it has taken it, as bridges do, so that RTL
//! which takes the answer for more is found out. Both may be late by [`crate::Stalls::host`]: writes
//! reach the host late, after a doorbell that went another way; half of the reads are asked for
//! late, and see what the host has by then, the others are answered late. No read passes a write.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use forebay_model::{Fabric, NANOSECOND, Node, Request, Time};

use crate::stall::Pauser;
use crate::target::{Answer, BEAT, Loaded, Writing};

/// What the link may still have to send when the bridge takes more: its buffer, 4 KiB on Gen3 x16.
const BACKLOG: Time = 256 * NANOSECOND;
/// Writes and parts of reads that may be late at once, beside those of bursts that are under way.
const LATE: usize = 64;
/// Bytes of the bridge's longest read request.
const READ_REQUEST: u64 = 512;

/// The bridge.
pub(crate) struct Dma {
    tag: u32,
    /// Read requests under way, by tag.
    parts: HashMap<u32, Part>,
    pause: Pauser,
    period: Time,
    /// What reaches the host late, in order.
    late: VecDeque<(Time, Request)>,
}

/// The part of a read burst that one read request asks for.
pub(crate) struct Part {
    /// Number of the burst.
    pub read: u64,
    /// Its beats in the burst.
    pub beats: Range<usize>,
    /// Delay of its data, picoseconds.
    pub late: Time,
}

impl Dma {
    /// Whose requests are late by such pauses, of a clock of this period.
    pub fn new(pause: Pauser, period: Time) -> Self {
        Self {
            tag: 0,
            parts: HashMap::new(),
            pause,
            period,
            late: VecDeque::new(),
        }
    }

    /// Hands on what is due by now.
    #[inline]
    pub fn step(&mut self, now: Time, fabric: &mut Fabric) {
        while let Some((_, request)) = self.late.pop_front_if(|(at, _)| *at <= now) {
            fabric.request(now, Node::Fpga, request);
        }
    }

    /// A reset: what was not asked for yet never is. Writes are posted: they arrive.
    pub fn reset(&mut self) {
        self.late
            .retain(|(_, request)| matches!(request, Request::Write { .. }));
    }

    pub fn takes_data(&self, now: Time, fabric: &Fabric) -> bool {
        self.late.len() < LATE && fabric.backlog(now, Node::Fpga) <= BACKLOG
    }

    /// A burst has come whole.
    pub fn write(&mut self, now: Time, fabric: &mut Fabric, burst: &Writing) -> Answer {
        let addr = burst.address;
        let data = burst.data.iter().flat_map(|(data, _)| *data).collect();
        let due = now + self.pause.delay() * self.period;
        self.late.push_back((due, Request::Write { addr, data }));
        self.step(now, fabric);
        Answer {
            at: now,
            refused: false,
        }
    }

    /// A burst is asked for.
    pub fn read(
        &mut self,
        now: Time,
        fabric: &mut Fabric,
        number: u64,
        address: u64,
        beats: u64,
    ) -> Vec<Loaded> {
        let delay = self.pause.delay();
        let time = delay * self.period;
        let (before, after) = if delay.is_multiple_of(2) {
            (time, 0)
        } else {
            (0, time)
        };
        let end = address + beats * BEAT;
        let mut addr = address;
        while addr < end {
            let len = (READ_REQUEST - addr % READ_REQUEST).min(end - addr);
            self.tag = self.tag.wrapping_add(1);
            let first = ((addr - address) / BEAT) as usize;
            let part = Part {
                read: number,
                beats: first..first + (len / BEAT) as usize,
                late: after,
            };
            self.parts.insert(self.tag, part);
            let (next, len, tag) = (addr + len, len as u32, self.tag);
            let request = Request::Read { addr, len, tag };
            self.late.push_back((now + before, request));
            addr = next;
        }
        self.step(now, fabric);
        vec![Loaded::PENDING; beats as usize]
    }

    /// The part that the completion with this tag answers.
    pub fn answered(&mut self, tag: u32) -> Option<Part> {
        self.parts.remove(&tag)
    }
}
