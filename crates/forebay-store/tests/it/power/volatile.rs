// SPDX-License-Identifier: Apache-2.0
//! Drives with a volatile cache each, whose power can be cut: one, or the members of an array.

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use forebay_spec::stripes::Stripes;
use forebay_store::{Array, Disk, Memory, Part, assemble};
use rand_core::RngCore;
use rand_pcg::Pcg64Mcg;

/// What all drives hang on.
struct Power {
    /// Operations left until the cut.
    left: AtomicU64,
    operations: AtomicU64,
}

impl Power {
    fn operate(&self) -> io::Result<()> {
        self.operations.fetch_add(1, Ordering::Relaxed);
        let left = self.left.load(Ordering::Relaxed);
        let next = left.checked_sub(1).ok_or(io::ErrorKind::BrokenPipe)?;
        self.left.store(next, Ordering::Relaxed);
        Ok(())
    }
}

struct State {
    /// What would be there after a loss of power.
    durable: Vec<u8>,
    /// What is read while there is power.
    seen: Vec<u8>,
    /// What was written since the last flush.
    cached: Vec<(usize, Vec<u8>)>,
}

/// A drive.
struct Drive {
    state: Mutex<State>,
    power: Arc<Power>,
}

impl Drive {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is there after the cut: of what was not flushed, each block is kept or lost.
    fn after_the_cut(&self, block: usize, random: &mut Pcg64Mcg) -> Vec<u8> {
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

/// A drive as a disk.
struct Plugged(Arc<Drive>);

impl Disk for Plugged {
    fn len(&self) -> u64 {
        self.0.lock().seen.len() as u64
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let state = self.0.lock();
        let from = state.seen.get(at as usize..at as usize + into.len());
        into.copy_from_slice(from.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_at(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.0.lock();
        let from = at as usize;
        let place = state.seen.get_mut(from..from + bytes.len());
        place
            .ok_or(io::ErrorKind::UnexpectedEof)?
            .copy_from_slice(bytes);
        // Also of a write that the cut interrupts some blocks may have come through.
        state.cached.push((from, bytes.to_vec()));
        self.0.power.operate()
    }

    fn flush(&self) -> io::Result<()> {
        self.0.power.operate()?;
        let mut state = self.0.lock();
        for (at, bytes) in std::mem::take(&mut state.cached) {
            state.durable[at..at + bytes.len()].copy_from_slice(&bytes);
        }
        Ok(())
    }
}

/// How many drives there are, and how they are one disk.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    One,
    Several(Stripes),
}

impl Shape {
    /// Images of drives that together have these bytes.
    fn images(self, bytes: Vec<u8>) -> Vec<Vec<u8>> {
        let Self::Several(stripes) = self else {
            return vec![bytes];
        };
        let tail = forebay_spec::store::member::TAIL_BYTES;
        let each = bytes.len() as u64 / stripes.data_drives() + tail;
        let drives = (0..stripes.drives).map(|_| Memory::new(vec![0; each as usize]));
        let drives: Vec<_> = drives.collect();
        let array = Array::create(parts(&drives), stripes, 512).expect("room");
        assert_eq!(
            array.len(),
            bytes.len() as u64,
            "stripes end with the image"
        );
        array.write_at(0, &bytes).expect("memory");
        drop(array);
        drives.iter().map(Memory::bytes).collect()
    }
}

fn parts(drives: &[Memory]) -> Vec<Part<'_>> {
    let part = |drive| Part::new("a drive", Box::new(drive));
    drives.iter().map(part).collect()
}

/// All that was written, with the mark that was set then.
#[derive(Default)]
struct Log {
    mark: u64,
    writes: Vec<(u64, Range<u64>)>,
}

/// The drives.
pub struct Volatile {
    drives: Vec<Arc<Drive>>,
    disk: Box<dyn Disk>,
    power: Arc<Power>,
    log: Mutex<Log>,
}

impl Volatile {
    /// With these bytes, and power for this number of writes and flushes of a drive.
    pub fn new(shape: Shape, bytes: Vec<u8>, operations: u64) -> Self {
        let power = Arc::new(Power {
            left: AtomicU64::new(operations),
            operations: AtomicU64::new(0),
        });
        let drive = |bytes: Vec<u8>| Drive {
            state: Mutex::new(State {
                seen: bytes.clone(),
                durable: bytes,
                cached: Vec::new(),
            }),
            power: Arc::clone(&power),
        };
        let drives: Vec<_> = shape.images(bytes).into_iter().map(drive).collect();
        let drives: Vec<_> = drives.into_iter().map(Arc::new).collect();
        let part = |drive| Part::new("a drive", Box::new(Plugged(Arc::clone(drive))));
        let disk = assemble(drives.iter().map(part).collect(), false).expect("one disk");
        Self {
            drives,
            disk,
            power,
            log: Mutex::default(),
        }
    }

    fn log_of(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes and flushes so far, of all drives.
    pub fn operations(&self) -> u64 {
        self.power.operations.load(Ordering::Relaxed)
    }

    /// From now on writes belong to this.
    pub fn mark(&self, mark: u64) {
        self.log_of().mark = mark;
    }

    /// All writes and the marks they had.
    pub fn log(&self) -> Vec<(u64, Range<u64>)> {
        self.log_of().writes.clone()
    }

    /// What is there after the cut, each drive having lost of its cache what it has lost.
    pub fn after_the_cut(&self, block: usize, random: &mut Pcg64Mcg) -> Vec<u8> {
        let drives = self.drives.iter();
        let drives: Vec<_> = drives
            .map(|drive| Memory::new(drive.after_the_cut(block, random)))
            .collect();
        let mut order = parts(&drives);
        order.rotate_left((random.next_u32() % 3) as usize % drives.len());
        let disk = assemble(order, false).expect("superblocks of members stay as they are");
        let mut bytes = vec![0; disk.len() as usize];
        disk.read_at(0, &mut bytes).expect("memory");
        bytes
    }
}

impl Disk for Volatile {
    fn len(&self) -> u64 {
        self.disk.len()
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.disk.read_at(at, into)
    }

    fn write_at(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let mut log = self.log_of();
        let mark = log.mark;
        log.writes.push((mark, at..at + bytes.len() as u64));
        self.disk.write_at(at, bytes)
    }

    fn flush(&self) -> io::Result<()> {
        self.disk.flush()
    }
}
