// SPDX-License-Identifier: Apache-2.0
//! On-board DRAM behind an AXI4 port: contents of its own, and the time of the model.
//!
//! What is written becomes visible when the RTL has taken the answer. A read sees what was visible
//! when its address was accepted or, every second one at random, when its data leave: both are
//! allowed (AXI A5.1), so that RTL which counts on either is found out.

use std::fs::File;
use std::io;
use std::ops::Range;

use forebay_model::{Dram, DramCounters, DramProfile, Medium, Poison, Time};

use crate::config::DramFault;
use crate::target::{Answer, BEAT, Loaded, Writing};

/// The memory.
pub(crate) struct Board {
    contents: Medium,
    dram: Dram,
    faults: Vec<DramFault>,
}

impl Board {
    /// `poison`: its contents before the first write.
    pub fn new(
        bytes: u64,
        profile: &DramProfile,
        faults: Vec<DramFault>,
        seed: u64,
        poison: Poison,
    ) -> Self {
        Self {
            contents: Medium::poisoned(bytes, poison),
            dram: Dram::new(profile, seed),
            faults,
        }
    }

    /// Bytes of it.
    pub fn bytes(&self) -> u64 {
        self.contents.len()
    }

    /// Keeps its contents in a file from `start` on, where others reach them, too. They are what
    /// the file holds.
    pub fn share(&mut self, file: File, start: u64) {
        self.contents = Medium::in_part_of(file, start, self.bytes());
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
    pub fn store(&mut self, burst: &Writing) -> io::Result<()> {
        let end = burst.address + burst.data.len() as u64 * BEAT;
        if refuses(&self.faults, true, burst.address..end) {
            return Ok(());
        }
        if burst.data.iter().all(|(_, strobes)| *strobes == u64::MAX) {
            let data: Vec<u8> = burst.data.iter().flat_map(|(data, _)| *data).collect();
            return self.contents.write(burst.address, &data);
        }
        let places = (burst.address..).step_by(BEAT as usize);
        for (place, (data, strobes)) in places.zip(&burst.data) {
            // Only bytes with a strobe: the others may belong to another buffer.
            for byte in (0..BEAT).filter(|byte| strobes >> byte & 1 != 0) {
                let at = byte as usize;
                self.contents.write(place + byte, &data[at..=at])?;
            }
        }
        Ok(())
    }

    /// The data of a burst, as they are now.
    pub fn load(&self, address: u64, beats: &mut [Loaded]) -> io::Result<()> {
        let words = self.contents.read(address, beats.len() * BEAT as usize)?;
        for (beat, word) in beats.iter_mut().zip(words.chunks_exact(BEAT as usize)) {
            beat.data.copy_from_slice(word);
        }
        Ok(())
    }

    /// Puts bytes there, past the port and without taking time.
    pub fn put(&mut self, address: u64, data: &[u8]) -> io::Result<()> {
        self.contents.write(address, data)
    }

    /// A burst is asked for.
    pub fn read(&mut self, now: Time, address: u64, beats: u64) -> io::Result<Vec<Loaded>> {
        let places = (address..).step_by(BEAT as usize).take(beats as usize);
        let load = |at: u64| Loaded {
            at: Some(self.dram.access(now, false, at)),
            refused: refuses(&self.faults, false, at..at + BEAT),
            ..Loaded::PENDING
        };
        let mut beats: Vec<_> = places.map(load).collect();
        self.load(address, &mut beats)?;
        Ok(beats)
    }
}

fn refuses(faults: &[DramFault], write: bool, place: Range<u64>) -> bool {
    let hits = |fault: &DramFault| fault.range.start < place.end && place.start < fault.range.end;
    faults
        .iter()
        .any(|fault| fault.write == write && hits(fault))
}
