// SPDX-License-Identifier: Apache-2.0
//! On-board DRAM: an AXI4 target with contents of its own and the time of the model.
//!
//! What is written becomes visible when the RTL has taken the answer, and a read sees what was
//! visible when its address was accepted: the strictest reading of AXI (A5.1), so that RTL which
//! counts on more is found out.

use std::collections::VecDeque;

use forebay_model::{Dram, DramProfile, Time};
use forebay_rtl::{Model, PortHandle};
use forebay_spec::streamer::window;

use crate::config::Stalls;
use crate::error::{Error, Result};
use crate::held::Held;
use crate::pins::Window;
use crate::stall::Pauser;

/// Bytes of the memory: both buffers.
const BYTES: u64 = window::DRAM_WINDOW_BYTES;
/// Bursts of either kind that are accepted before the first of them has ended.
const AHEAD: usize = 8;
const BEAT: u64 = 64;
const NAMES: [&str; 3] = [
    "memory write address",
    "memory write data",
    "memory read address",
];

/// A write whose address has come.
struct Writing {
    address: u64,
    beats: u64,
    /// Data and strobes of the beats that have come.
    data: Vec<([u8; BEAT as usize], u64)>,
    /// When it is stored, once all have come.
    done: Option<Time>,
}

/// A read whose data are on their way.
struct Reading {
    data: Vec<u8>,
    times: Vec<Time>,
    next: usize,
}

/// The memory.
pub(crate) struct DramPort {
    pins: Window,
    memory: Vec<u8>,
    dram: Dram,
    writes: VecDeque<Writing>,
    reads: VecDeque<Reading>,
    pauses: [Pauser; 5],
    ready: [bool; 3],
    valid: [bool; 2],
    held: [Held; 3],
    /// Beats written and read.
    pub beats: [u64; 2],
}

impl DramPort {
    pub fn new(pins: Window, profile: &DramProfile, stalls: &Stalls, seed: u64) -> Self {
        let pauses = [64, 65, 66, 67, 68].map(|port| Pauser::new(stalls.dram, seed, port));
        let held = [
            Held::new(NAMES[0], [pins.awaddr, pins.awlen]),
            Held::new(NAMES[1], [pins.wdata, pins.wstrb, pins.wlast]),
            Held::new(NAMES[2], [pins.araddr, pins.arlen]),
        ];
        Self {
            pins,
            memory: vec![0; BYTES as usize],
            dram: Dram::new(profile, seed),
            writes: VecDeque::new(),
            reads: VecDeque::new(),
            pauses,
            ready: [false; 3],
            valid: [false; 2],
            held,
            beats: [0; 2],
        }
    }

    pub fn is_idle(&self) -> bool {
        self.writes.is_empty() && self.reads.is_empty()
    }

    pub fn drive(&mut self, model: &mut Model, now: Time) {
        let pins = &self.pins;
        let [aw, w, ar, b, r] = &mut self.pauses;
        let open = self.writes.iter().any(|write| write.done.is_none());
        self.ready = [
            self.writes.len() < AHEAD && !aw.pauses(),
            open && !w.pauses(),
            self.reads.len() < AHEAD && !ar.pauses(),
        ];
        model.set(pins.awready, u64::from(self.ready[0]));
        model.set(pins.wready, u64::from(self.ready[1]));
        model.set(pins.arready, u64::from(self.ready[2]));
        if !self.valid[0] {
            let due = |write: &Writing| write.done.is_some_and(|done| done <= now);
            self.valid[0] = self.writes.front().is_some_and(due) && !b.pauses();
            model.set(pins.bvalid, u64::from(self.valid[0]));
        }
        if !self.valid[1] {
            if let Some(read) = self.reads.front()
                && read.times[read.next] <= now
                && !r.pauses()
            {
                let at = read.next * BEAT as usize;
                let beat = &read.data[at..at + BEAT as usize];
                model.wide_mut(pins.rdata).copy_from_slice(beat);
                model.set(pins.rlast, u64::from(read.next + 1 == read.times.len()));
                self.valid[1] = true;
            }
            model.set(pins.rvalid, u64::from(self.valid[1]));
        }
    }

    /// Sees what was accepted; true where something moved.
    pub fn sample(&mut self, model: &Model, cycle: u64, now: Time) -> Result<bool> {
        let pins = self.pins;
        let valid = [pins.awvalid, pins.wvalid, pins.arvalid].map(|pin| model.is_set(pin));
        for (n, held) in self.held.iter_mut().enumerate() {
            held.watch(model, valid[n], self.ready[n], cycle)?;
        }
        let mut moved = false;
        if self.valid[0] && model.is_set(pins.bready) {
            self.valid[0] = false;
            moved = true;
            if let Some(write) = self.writes.pop_front() {
                self.store(&write);
            }
        }
        if self.valid[1] && model.is_set(pins.rready) {
            self.valid[1] = false;
            moved = true;
            self.beats[1] += 1;
            if let Some(read) = self.reads.front_mut() {
                read.next += 1;
                if read.next == read.times.len() {
                    self.reads.pop_front();
                }
            }
        }
        if valid[0] && self.ready[0] {
            moved = true;
            let (address, beats) = self.burst(model, pins.awaddr, pins.awlen, cycle, 0)?;
            self.writes.push_back(Writing {
                address,
                beats,
                data: Vec::new(),
                done: None,
            });
        }
        if valid[1] && self.ready[1] {
            moved = true;
            self.take_beat(model, cycle, now)?;
        }
        if valid[2] && self.ready[2] {
            moved = true;
            let (address, beats) = self.burst(model, pins.araddr, pins.arlen, cycle, 2)?;
            let range = address as usize..(address + beats * BEAT) as usize;
            let dram = &mut self.dram;
            let times = (0..beats).map(|n| dram.access(now, false, address + n * BEAT));
            self.reads.push_back(Reading {
                times: times.collect(),
                data: self.memory[range].to_vec(),
                next: 0,
            });
        }
        Ok(moved)
    }

    fn take_beat(&mut self, model: &Model, cycle: u64, now: Time) -> Result<()> {
        let pins = self.pins;
        self.beats[0] += 1;
        let Some(write) = self.writes.iter_mut().find(|write| write.done.is_none()) else {
            return Err(wrong(1, cycle, "data came without an address"));
        };
        write
            .data
            .push((*model.wide(pins.wdata), model.get(pins.wstrb)));
        let ends = write.data.len() as u64 == write.beats;
        if model.is_set(pins.wlast) != ends {
            return Err(wrong(1, cycle, "WLAST is in the wrong place"));
        }
        if ends {
            let (address, dram) = (write.address, &mut self.dram);
            let times = (0..write.beats).map(|n| dram.access(now, true, address + n * BEAT));
            write.done = times.max();
        }
        Ok(())
    }

    /// Address and beats of a burst, checked.
    fn burst(
        &self,
        model: &Model,
        address: PortHandle,
        len: PortHandle,
        cycle: u64,
        channel: usize,
    ) -> Result<(u64, u64)> {
        let (address, beats) = (model.get(address), model.get(len) + 1);
        if !address.is_multiple_of(BEAT) || address % 4096 + beats * BEAT > 4096 {
            return Err(wrong(channel, cycle, "a burst leaves its 4 KiB"));
        }
        if address + beats * BEAT > BYTES {
            return Err(wrong(channel, cycle, "an address beyond the memory"));
        }
        Ok((address, beats))
    }

    fn store(&mut self, write: &Writing) {
        for (n, (data, strobes)) in write.data.iter().enumerate() {
            let at = write.address as usize + n * BEAT as usize;
            let place = &mut self.memory[at..at + BEAT as usize];
            if *strobes == u64::MAX {
                place.copy_from_slice(data);
                continue;
            }
            for (byte, (to, from)) in place.iter_mut().zip(data).enumerate() {
                if strobes >> byte & 1 != 0 {
                    *to = *from;
                }
            }
        }
    }

    /// The RTL is being reset: what is under way is lost.
    pub fn reset(&mut self, model: &mut Model) {
        let Window {
            awready,
            wready,
            bvalid,
            arready,
            rvalid,
            ..
        } = self.pins;
        for pin in [awready, wready, bvalid, arready, rvalid] {
            model.set(pin, 0);
        }
        self.writes.clear();
        self.reads.clear();
        self.ready = [false; 3];
        self.valid = [false; 2];
        for held in &mut self.held {
            held.reset();
        }
    }

    /// What is being waited for, for the message of the watchdog.
    pub fn waiting(&self) -> Option<String> {
        (!self.is_idle()).then(|| {
            let (writes, reads) = (self.writes.len(), self.reads.len());
            format!("memory: {writes} writes and {reads} reads under way")
        })
    }
}

fn wrong(channel: usize, cycle: u64, what: &str) -> Error {
    Error::Protocol {
        cycle,
        channel: NAMES[channel],
        what: what.to_owned(),
    }
}
