// SPDX-License-Identifier: Apache-2.0
//! A disk with sectors that cannot be read, for ever or for some time.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use forebay_store::{Disk, Memory};

/// Bytes of what can be read or not.
pub const SECTOR: u64 = 512;

/// The disk.
pub struct Faulty {
    pub disk: Memory,
    /// Numbers of bad sectors, and how many reads of each fail.
    bad: Mutex<BTreeMap<u64, u64>>,
    /// A bad sector may be written.
    force: bool,
}

impl Faulty {
    /// With these bytes; the sectors that hold `places` fail `reads` times. What is written over
    /// them ends the test, but for `force`.
    pub fn new(bytes: Vec<u8>, places: &[u64], reads: u64, force: bool) -> Self {
        let bad = places.iter().map(|at| (at / SECTOR, reads)).collect();
        Self {
            disk: Memory::new(bytes),
            bad: Mutex::new(bad),
            force,
        }
    }

    fn bad(&self) -> MutexGuard<'_, BTreeMap<u64, u64>> {
        self.bad.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Disk for Faulty {
    fn len(&self) -> u64 {
        self.disk.len()
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let sectors = at / SECTOR..(at + into.len() as u64).div_ceil(SECTOR);
        let mut fails = false;
        for (_, left) in self.bad().range_mut(sectors) {
            fails |= *left > 0;
            *left = left.saturating_sub(1);
        }
        match fails {
            true => Err(io::Error::other("a sector cannot be read")),
            false => self.disk.read_at(at, into),
        }
    }

    fn write_at(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let sectors = at / SECTOR..(at + bytes.len() as u64).div_ceil(SECTOR);
        for (number, left) in self.bad().range_mut(sectors) {
            assert!(
                *left == 0 || self.force,
                "sector {number} is written over, and cannot be read"
            );
            *left = 0;
        }
        self.disk.write_at(at, bytes)
    }

    fn flush(&self) -> io::Result<()> {
        self.disk.flush()
    }
}
