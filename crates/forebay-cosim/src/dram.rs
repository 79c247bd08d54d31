// SPDX-License-Identifier: Apache-2.0
//! On-board DRAM behind an AXI4 port: contents of its own, and the time of the model.
//!
//! What is written becomes visible when the RTL has taken the answer, and a read sees what was
//! visible when its address was accepted: the strictest reading of AXI (A5.1), so that RTL which
//! counts on more is found out.

use std::ops::Range;

use forebay_model::{Dram, DramCounters, DramProfile, Time};
use forebay_spec::streamer::window;

use crate::config::DramFault;
use crate::target::{Answer, BEAT, Loaded, Writing};

/// The memory.
pub(crate) struct Board {
    contents: Vec<u8>,
    dram: Dram,
    faults: Vec<DramFault>,
}

impl Board {
    pub fn new(profile: &DramProfile, faults: Vec<DramFault>, seed: u64) -> Self {
        Self {
            contents: vec![0; window::DRAM_WINDOW_BYTES as usize],
            dram: Dram::new(profile, seed),
            faults,
        }
    }

    /// Both buffers.
    pub fn bytes(&self) -> u64 {
        self.contents.len() as u64
    }

    /// What the memory has done.
    pub const fn counters(&self) -> DramCounters {
        self.dram.counters()
    }

    /// A burst has come whole.
    pub fn write(&mut self, now: Time, burst: &Writing) -> Answer {
        let addresses = (burst.address..).step_by(BEAT as usize);
        let places = addresses.take(burst.data.len());
        let end = burst.address + burst.data.len() as u64 * BEAT;
        let done = places.map(|at| self.dram.access(now, true, at)).max();
        Answer {
            at: done.unwrap_or(now),
            refused: refuses(&self.faults, true, burst.address..end),
        }
    }

    /// A burst has been answered: it can be read from now on.
    pub fn store(&mut self, burst: &Writing) {
        let end = burst.address + burst.data.len() as u64 * BEAT;
        if refuses(&self.faults, true, burst.address..end) {
            return;
        }
        let beats = self.contents[burst.address as usize..end as usize].chunks_mut(BEAT as usize);
        for (place, (data, strobes)) in beats.zip(&burst.data) {
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

    /// A burst is asked for.
    pub fn read(&mut self, now: Time, address: u64, beats: u64) -> Vec<Loaded> {
        let addresses = (address..).step_by(BEAT as usize).take(beats as usize);
        let load = |at: u64| {
            let mut beat = Loaded::PENDING;
            beat.at = Some(self.dram.access(now, false, at));
            beat.refused = refuses(&self.faults, false, at..at + BEAT);
            let word = &self.contents[at as usize..(at + BEAT) as usize];
            beat.data.copy_from_slice(word);
            beat
        };
        addresses.map(load).collect()
    }
}

fn refuses(faults: &[DramFault], write: bool, place: Range<u64>) -> bool {
    let hits = |fault: &DramFault| fault.range.start < place.end && place.start < fault.range.end;
    faults
        .iter()
        .any(|fault| fault.write == write && hits(fault))
}
