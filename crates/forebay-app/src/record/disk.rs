// SPDX-License-Identifier: Apache-2.0
//! The drives as a disk, for what a host does before and after a recording: simulated ones, of which
//! several are an array, past everything that takes time, and one of this machine through a queue pair beside the streamer's.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use forebay_cosim::System;
use forebay_driver::controller::PAGE_BYTES;
use forebay_driver::{Bus, DmaBuffer, Error, Namespace, QueuePair, Session as DriverSession, Span};
use forebay_model::Ssd;
use forebay_store::{Disk, Part, assemble};

use crate::failure::{Failure, Result};

/// The drives of a simulated machine, but for one that it does without.
pub struct Drives<'s> {
    ssds: Mutex<&'s mut [Ssd]>,
    missing: Option<u8>,
}

impl<'s> Drives<'s> {
    /// Those of a system.
    pub fn of(system: &'s mut System) -> Self {
        let missing = system.session().and_then(DriverSession::missing);
        Self::without(system.ssds_mut(), missing)
    }

    /// All but the one with this number.
    pub const fn without(ssds: &'s mut [Ssd], missing: Option<u8>) -> Self {
        Self {
            ssds: Mutex::new(ssds),
            missing,
        }
    }

    fn ssds(&self) -> MutexGuard<'_, &'s mut [Ssd]> {
        self.ssds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What each is called, in the order of their addresses.
    fn names(&self) -> Vec<Option<String>> {
        let missing = self.missing.map(usize::from);
        let numbers = 0..self.ssds().len();
        let name = |number| (Some(number) != missing).then(|| format!("drive {number}"));
        numbers.map(name).collect()
    }

    /// Each by itself, in the order of their addresses.
    pub fn parts(&self) -> Vec<Part<'_>> {
        let part = |(number, name): (usize, Option<String>)| {
            let drive = Drive {
                drives: self,
                number,
                bytes: self.ssds()[number].medium().len(),
            };
            Some(Part::new(name?, Box::new(drive)))
        };
        self.names()
            .into_iter()
            .enumerate()
            .filter_map(part)
            .collect()
    }

    /// The disk that they are together, with what was made on it.
    ///
    /// # Errors
    /// Drives that are members of no array, of several, or in another order than that of their
    /// addresses.
    pub fn open(&self) -> Result<Box<dyn Disk + '_>> {
        let disk = assemble(self.parts(), false)?;
        let order = disk.array().map(|array| array.facts().members);
        match order {
            Some(members) if members != self.names() => {
                let members = members.into_iter().map(|one| one.unwrap_or("none".into()));
                Err(Failure::input(
                    "the order of the drives",
                    members.collect::<Vec<_>>().join(", "),
                    "the streamer needs member 0 as drive 0, member 1 as drive 1 …",
                    "change the order of the images in the pipeline's file",
                ))
            }
            _ => Ok(disk),
        }
    }
}

/// One of them.
struct Drive<'d, 's> {
    drives: &'d Drives<'s>,
    number: usize,
    bytes: u64,
}

impl Disk for Drive<'_, '_> {
    fn len(&self) -> u64 {
        self.bytes
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let bytes = self.drives.ssds()[self.number]
            .medium()
            .read(at, into.len())?;
        into.copy_from_slice(&bytes);
        Ok(())
    }

    fn write_at(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.drives.ssds()[self.number]
            .medium_mut()
            .write(at, bytes)
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}

/// Bytes that one command moves here.
const STEP: usize = 128 << 10;
/// How long a command may take.
const LIMIT: Duration = Duration::from_secs(30);

/// A drive of this machine, through a queue pair in host memory.
pub struct QueueDisk<'b, B: Bus> {
    inner: Mutex<Queue<'b, B>>,
    bytes: u64,
}

struct Queue<'b, B: Bus> {
    bus: &'b mut B,
    pair: QueuePair,
    buffer: DmaBuffer,
    namespace: Namespace,
}

impl<'b, B: Bus> QueueDisk<'b, B> {
    /// The drive of a session, which was asked for one more queue pair.
    ///
    /// # Errors
    /// Where the drive does not grant the pair, or there is no memory.
    pub fn new(session: &mut DriverSession, bus: &'b mut B) -> Result<Self> {
        let buffer = bus
            .dma_alloc(STEP, PAGE_BYTES as usize)
            .map_err(Error::from)?;
        let pair = session.create_queue_pair(bus, 2)?;
        let namespace = session.facts().namespace;
        Ok(Self {
            bytes: namespace.bytes(),
            inner: Mutex::new(Queue {
                bus,
                pair,
                buffer,
                namespace,
            }),
        })
    }

    /// Gives the queue pair back.
    ///
    /// # Errors
    /// Where the drive does not delete it.
    pub fn close(self, session: &mut DriverSession) -> Result<()> {
        let Queue {
            bus, pair, buffer, ..
        } = self
            .inner
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        session.delete_queue_pair(bus, pair)?;
        bus.dma_free(buffer);
        Ok(())
    }

    fn queue(&self) -> MutexGuard<'_, Queue<'b, B>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<B: Bus> Queue<'_, B> {
    /// Bytes of a logical block.
    fn block(&self) -> usize {
        self.namespace.block_bytes() as usize
    }

    /// The whole blocks of at most one command in which the bytes from `at` on lie: the first block, how
    /// many there are, where in them the bytes begin, and how many of them are there.
    fn blocks(&self, at: u64, bytes: usize) -> (u64, u32, usize, usize) {
        let block = self.block();
        let skip = (at % block as u64) as usize;
        let most = STEP.min(self.pair.transfer_bytes() as usize) / block * block;
        let all = (skip + bytes).min(most.max(block));
        let blocks = all.div_ceil(block);
        (at / block as u64, blocks as u32, skip, all - skip)
    }

    fn move_blocks(&mut self, write: bool, lba: u64, blocks: u32) -> io::Result<()> {
        let Self {
            bus,
            pair,
            buffer,
            namespace,
        } = self;
        let span = Span { buffer, offset: 0 };
        match write {
            true => pair.write(*bus, namespace, lba, blocks, span, false),
            false => pair.read(*bus, namespace, lba, blocks, span),
        }
        .map_err(io::Error::other)?;
        self.finish()
    }

    fn finish(&mut self) -> io::Result<()> {
        let mut done = Vec::new();
        let finished = self.pair.finish(self.bus, LIMIT, &mut done);
        finished.map_err(io::Error::other)?;
        match done.iter().find(|done| !done.status.is_success()) {
            None => Ok(()),
            Some(failed) => Err(io::Error::other(failed.status.to_string())),
        }
    }

    fn read(&mut self, mut at: u64, mut into: &mut [u8]) -> io::Result<()> {
        while !into.is_empty() {
            let (lba, blocks, skip, count) = self.blocks(at, into.len());
            self.move_blocks(false, lba, blocks)?;
            let (part, rest) = into.split_at_mut(count);
            let read = self.bus.dma_read(&self.buffer, skip, part);
            read.map_err(io::Error::other)?;
            (at, into) = (at + count as u64, rest);
        }
        Ok(())
    }

    fn write(&mut self, mut at: u64, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let (lba, blocks, skip, count) = self.blocks(at, bytes.len());
            let whole = blocks as usize * self.block() == count;
            if !whole {
                self.move_blocks(false, lba, blocks)?;
            }
            let (part, rest) = bytes.split_at(count);
            let written = self.bus.dma_write(&self.buffer, skip, part);
            written.map_err(io::Error::other)?;
            self.move_blocks(true, lba, blocks)?;
            (at, bytes) = (at + count as u64, rest);
        }
        Ok(())
    }
}

impl<B: Bus + Send> Disk for QueueDisk<'_, B> {
    fn len(&self) -> u64 {
        self.bytes
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.queue().read(at, into)
    }

    fn write_at(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.queue().write(at, bytes)
    }

    fn flush(&self) -> io::Result<()> {
        let mut queue = self.queue();
        let Queue {
            bus,
            pair,
            namespace,
            ..
        } = &mut *queue;
        pair.flush(*bus, namespace).map_err(io::Error::other)?;
        queue.finish()
    }
}
