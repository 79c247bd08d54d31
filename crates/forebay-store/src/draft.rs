// SPDX-License-Identifier: Apache-2.0
//! What is to be written, kept in memory until all of it is known: reads see it, the disk does not.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::disk::{flush, write};
use crate::{Disk, Result};

/// Bytes that are written or not: places and lengths are multiples of it.
const SECTOR: usize = 512;

/// What is to be done, in this order.
enum Step {
    Write { at: u64, bytes: Vec<u8> },
    Flush,
}

#[derive(Default)]
struct State {
    sectors: BTreeMap<u64, [u8; SECTOR]>,
    steps: Vec<Step>,
    refused: BTreeSet<u64>,
}

/// A disk with writes that it has not seen. Bytes that cannot be read are not written over.
pub(crate) struct Draft<'d> {
    disk: &'d dyn Disk,
    force: bool,
    state: Mutex<State>,
}

/// A sector: what is to be there, and what was.
pub(crate) struct Change {
    pub at: u64,
    pub new: [u8; SECTOR],
    /// None where the disk does not give it.
    pub old: Option<[u8; SECTOR]>,
}

impl<'d> Draft<'d> {
    /// Of a disk; with `force` what cannot be read is written over.
    pub fn new(disk: &'d dyn Disk, force: bool) -> Self {
        Self {
            disk,
            force,
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Pages and sectors that are to be written.
    pub fn writes(&self) -> u64 {
        let state = self.state();
        let writes = state.steps.iter();
        writes
            .filter(|step| matches!(step, Step::Write { .. }))
            .count() as u64
    }

    /// Places that would have been written, could they be read.
    pub fn refused(&self) -> u64 {
        self.state().refused.len() as u64
    }

    /// Sectors that will be other than they are.
    pub fn changes(&self) -> Vec<Change> {
        let state = self.state();
        let changes = state.sectors.iter().map(|(number, new)| {
            let (at, mut old) = (number * SECTOR as u64, [0; SECTOR]);
            let old = self.disk.read_at(at, &mut old).is_ok().then_some(old);
            Change { at, new: *new, old }
        });
        changes
            .filter(|change| change.old != Some(change.new))
            .collect()
    }

    /// Writes all of it, in the order in which it was drafted.
    pub fn carry_out(&self) -> Result<()> {
        for step in &self.state().steps {
            match step {
                Step::Write { at, bytes } => write(self.disk, *at, bytes)?,
                Step::Flush => flush(self.disk)?,
            }
        }
        Ok(())
    }
}

/// Sectors of a range of bytes.
fn sectors(at: u64, length: usize) -> Range<u64> {
    let sector = SECTOR as u64;
    at / sector..at.saturating_add(length as u64).div_ceil(sector)
}

impl Disk for Draft<'_> {
    fn len(&self) -> u64 {
        self.disk.len()
    }

    fn is_computed(&self, at: u64) -> bool {
        self.disk.is_computed(at)
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let all = sectors(at, into.len());
        let state = self.state();
        let drafted = state.sectors.range(all.clone());
        let whole = drafted.clone().count() as u64 == all.end - all.start;
        if !whole || into.is_empty() {
            self.disk.read_at(at, into)?;
        }
        let end = at + into.len() as u64;
        for (number, sector) in drafted {
            let first = number * SECTOR as u64;
            let (from, to) = (at.max(first), end.min(first + SECTOR as u64));
            let part = &sector[(from - first) as usize..(to - first) as usize];
            into[(from - at) as usize..(to - at) as usize].copy_from_slice(part);
        }
        Ok(())
    }

    fn write_at(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let sector = SECTOR as u64;
        let end = at.checked_add(bytes.len() as u64);
        if end.is_none_or(|end| end > self.len()) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if !at.is_multiple_of(sector) || !bytes.len().is_multiple_of(SECTOR) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut there = vec![0; bytes.len()];
        let readable = self.read_at(at, &mut there).is_ok();
        let mut state = self.state();
        if readable && there == bytes {
            return Ok(());
        }
        if !readable && !self.force {
            state.refused.insert(at);
            return Ok(());
        }
        for (number, sector) in (at / sector..).zip(bytes.as_chunks().0) {
            state.sectors.insert(number, *sector);
        }
        let bytes = bytes.to_vec();
        state.steps.push(Step::Write { at, bytes });
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        let mut state = self.state();
        if matches!(state.steps.last(), Some(Step::Write { .. })) {
            state.steps.push(Step::Flush);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Memory;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_reads_as_it_will_be_and_changes_nothing_before(
            writes in prop::collection::vec((0..14u64, 1..3usize, any::<u8>()), 0..12),
            from in 0..8000u64, length in 0..192usize,
        ) {
            let disk = Memory::new(vec![7; 16 * SECTOR]);
            let draft = Draft::new(&disk, false);
            let mut expected = disk.bytes();
            for (at, count, byte) in writes {
                let (at, bytes) = (at * SECTOR as u64, vec![byte; count * SECTOR]);
                draft.write_at(at, &bytes).expect("room");
                draft.flush().expect("memory");
                expected[at as usize..at as usize + bytes.len()].copy_from_slice(&bytes);
            }
            let mut read = vec![0; length];
            draft.read_at(from, &mut read).expect("within");
            prop_assert_eq!(&read[..], &expected[from as usize..from as usize + length]);
            prop_assert!(disk.bytes().iter().all(|byte| *byte == 7));
            draft.carry_out().expect("memory");
            prop_assert_eq!(disk.bytes(), expected);
        }
    }
}
