// SPDX-License-Identifier: Apache-2.0
//! A drive with a volatile cache, whose power can be cut.

use std::io;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use forebay_store::Disk;
use rand_core::RngCore;
use rand_pcg::Pcg64Mcg;

struct State {
    /// What would be there after a loss of power.
    durable: Vec<u8>,
    /// What is read while there is power.
    seen: Vec<u8>,
    /// What was written since the last flush.
    cached: Vec<(usize, Vec<u8>)>,
    /// Operations left until the cut.
    left: u64,
    operations: u64,
    /// All that was written, with the mark that was set then.
    log: Vec<(u64, Range<u64>)>,
    mark: u64,
}

/// The drive.
pub struct Volatile(Mutex<State>);

impl Volatile {
    /// With these bytes, and power for this number of writes and flushes.
    pub fn new(bytes: Vec<u8>, operations: u64) -> Self {
        Self(Mutex::new(State {
            seen: bytes.clone(),
            durable: bytes,
            cached: Vec::new(),
            left: operations,
            operations: 0,
            log: Vec::new(),
            mark: 0,
        }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes and flushes so far.
    pub fn operations(&self) -> u64 {
        self.lock().operations
    }

    /// From now on writes belong to this.
    pub fn mark(&self, mark: u64) {
        self.lock().mark = mark;
    }

    /// All writes and the marks they had.
    pub fn log(&self) -> Vec<(u64, Range<u64>)> {
        self.lock().log.clone()
    }

    /// What is there after the cut: of what was not flushed, each block is kept or lost.
    pub fn after_the_cut(&self, block: usize, random: &mut Pcg64Mcg) -> Vec<u8> {
        let state = self.lock();
        let mut bytes = state.durable.clone();
        // Some caches keep nearly all, some nearly nothing.
        let share = [1u32, 1 << 28, 1 << 31, u32::MAX - (1 << 28), u32::MAX]
            [(random.next_u32() % 5) as usize];
        for (at, written) in &state.cached {
            for (number, part) in written.chunks(block).enumerate() {
                if random.next_u32() < share {
                    let from = at + number * block;
                    bytes[from..from + part.len()].copy_from_slice(part);
                }
            }
        }
        bytes
    }
}

impl State {
    fn operate(&mut self) -> io::Result<()> {
        self.operations += 1;
        self.left = self.left.checked_sub(1).ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(())
    }
}

impl Disk for Volatile {
    fn len(&self) -> u64 {
        self.lock().seen.len() as u64
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let state = self.lock();
        let from = state.seen.get(at as usize..at as usize + into.len());
        into.copy_from_slice(from.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_at(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.lock();
        let from = at as usize;
        let place = state.seen.get_mut(from..from + bytes.len());
        place
            .ok_or(io::ErrorKind::UnexpectedEof)?
            .copy_from_slice(bytes);
        // Also of a write that the cut interrupts some blocks may have come through.
        state.cached.push((from, bytes.to_vec()));
        let mark = state.mark;
        state.log.push((mark, at..at + bytes.len() as u64));
        state.operate()
    }

    fn flush(&self) -> io::Result<()> {
        let mut state = self.lock();
        state.operate()?;
        for (at, bytes) in std::mem::take(&mut state.cached) {
            state.durable[at..at + bytes.len()].copy_from_slice(&bytes);
        }
        Ok(())
    }
}
