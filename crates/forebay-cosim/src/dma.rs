// SPDX-License-Identifier: Apache-2.0
//! The card's PCIe bridge as an AXI4 port finds it: bursts become requests of the card to the host.
//!
//! Writes are posted. The bridge answers one as soon as it has handed it to its link, as bridges
//! do, so that RTL which takes the answer for more is found out.

use std::collections::HashMap;
use std::ops::Range;

use forebay_model::{Fabric, NANOSECOND, Node, Request, Time};

use crate::target::{Answer, BEAT, Loaded, Writing};

/// What the link may still have to send when the bridge takes more: its buffer, 4 KiB on Gen3 x16.
const BACKLOG: Time = 256 * NANOSECOND;
/// Bytes of a read that the bridge asks for at once, and of which it hands the data on.
const PIECE: u64 = 512;

/// The bridge.
#[derive(Default)]
pub(crate) struct Dma {
    tag: u32,
    /// Pieces under way by their tags.
    pieces: HashMap<u32, Piece>,
}

/// A part of a read burst.
pub(crate) struct Piece {
    /// Number of the burst.
    pub read: u64,
    /// Its beats in the burst.
    pub beats: Range<usize>,
}

impl Dma {
    pub fn takes_data(&self, now: Time, fabric: &Fabric) -> bool {
        fabric.backlog(now, Node::Fpga) <= BACKLOG
    }

    /// A burst has come whole.
    pub fn write(&mut self, now: Time, fabric: &mut Fabric, burst: &Writing) -> Answer {
        let addr = burst.address;
        let data = burst.data.iter().flat_map(|(data, _)| *data).collect();
        fabric.request(now, Node::Fpga, Request::Write { addr, data });
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
        let end = address + beats * BEAT;
        let mut addr = address;
        while addr < end {
            let len = (PIECE - addr % PIECE).min(end - addr);
            self.tag = self.tag.wrapping_add(1);
            let first = ((addr - address) / BEAT) as usize;
            let piece = Piece {
                read: number,
                beats: first..first + (len / BEAT) as usize,
            };
            self.pieces.insert(self.tag, piece);
            let (next, len, tag) = (addr + len, len as u32, self.tag);
            fabric.request(now, Node::Fpga, Request::Read { addr, len, tag });
            addr = next;
        }
        vec![Loaded::PENDING; beats as usize]
    }

    /// The piece that is answered.
    pub fn answered(&mut self, tag: u32) -> Option<Piece> {
        self.pieces.remove(&tag)
    }
}
