// SPDX-License-Identifier: Apache-2.0
//! An I/O queue pair in host memory: polling, out of order, as user-space drivers do it.
//!
//! It is the reference that every benchmark runs beside the streamer, and what moves data where
//! there is no FPGA. Submitting only writes queue entries; [`QueuePair::poll`] rings the doorbells,
//! so that many commands share one ring.
//!
//! Section numbers are of *NVM Express Base 2.0c*.

use std::time::Duration;

use forebay_spec::nvme::entry::FUA;
use forebay_spec::nvme::prp::{self, Prp2};
use forebay_spec::nvme::{Cqe, IoOpcode, Sqe, Status};
use serde::Serialize;

use crate::admin::{QueueAt, read_completion};
use crate::bus::{self, Bus, DmaBuffer};
use crate::controller::{Controller, PAGE_BYTES};
use crate::error::Error;
use crate::facts::Namespace;
use crate::flight::recorder::Recorder;
use crate::flight::{Cause, HostEvent, HostHappening};
use crate::poll;

const PAGE: usize = PAGE_BYTES as usize;
/// Most bytes of one command: what one PRP list of one page describes.
pub const TRANSFER_MOST: u64 = PAGE_BYTES / prp::ENTRY_BYTES * PAGE_BYTES;

/// A command that has completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// Its identifier, as the submission returned it. From now on it may be given again.
    pub cid: u16,
    /// Its status.
    pub status: Status,
}

/// Completions that were ignored because they cannot be true.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Rogues {
    /// The command identifier was not in use.
    pub cid: u64,
    /// The submission queue was not this one.
    pub queue: u64,
    /// The submission queue head was outside the queue's entries; the completion was taken.
    pub head: u64,
}

/// Part of a buffer that a command reads or writes.
#[derive(Clone, Copy, Debug)]
pub struct Span<'a> {
    /// The buffer.
    pub buffer: &'a DmaBuffer,
    /// First byte in it, a multiple of 4.
    pub offset: usize,
}

/// An I/O queue pair in host memory.
#[derive(Debug)]
pub struct QueuePair {
    controller: Controller,
    id: u16,
    entries: u16,
    sq: DmaBuffer,
    cq: DmaBuffer,
    /// One page a command for its PRP list.
    lists: DmaBuffer,
    tail: u16,
    announced: u16,
    head: u16,
    phase: bool,
    free: Vec<u16>,
    in_use: Vec<bool>,
    transfer_bytes: u64,
    rogues: Rogues,
    recorder: Recorder,
}

impl QueuePair {
    /// Takes memory for queues of `entries`; they still have to be created on the controller.
    pub(crate) fn new(
        bus: &mut dyn Bus,
        controller: Controller,
        id: u16,
        entries: u16,
        transfer_bytes: u64,
    ) -> Result<Self, Error> {
        let queue = |bytes: usize| (usize::from(entries) * bytes).next_multiple_of(PAGE);
        // A queue never holds more than one command less than it has entries (3.3.1.2).
        let commands = entries - 1;
        let lists = usize::from(commands) * PAGE;
        let lengths = [queue(Sqe::BYTES), queue(Cqe::BYTES), lists];
        let [sq, cq, lists] = bus::alloc_all(bus, lengths, PAGE)?;
        Ok(Self {
            controller,
            id,
            entries,
            sq,
            cq,
            lists,
            tail: 0,
            announced: 0,
            head: 0,
            phase: true,
            free: (0..commands).rev().collect(),
            in_use: vec![false; usize::from(commands)],
            transfer_bytes: transfer_bytes.min(TRANSFER_MOST),
            rogues: Rogues::default(),
            recorder: Recorder::new(),
        })
    }

    pub(crate) const fn completion_at(&self) -> QueueAt {
        QueueAt {
            id: self.id,
            address: self.cq.address,
            entries: self.entries as u32,
        }
    }

    pub(crate) const fn submission_at(&self) -> QueueAt {
        QueueAt {
            id: self.id,
            address: self.sq.address,
            entries: self.entries as u32,
        }
    }

    pub(crate) fn free_memory(self, bus: &mut dyn Bus) {
        bus.dma_free(self.sq);
        bus.dma_free(self.cq);
        bus.dma_free(self.lists);
    }

    /// Queue identifier.
    pub const fn id(&self) -> u16 {
        self.id
    }

    /// Commands that can be submitted now.
    pub fn room(&self) -> usize {
        self.free.len()
    }

    /// Commands submitted and not completed.
    pub fn outstanding(&self) -> usize {
        self.in_use.len() - self.free.len()
    }

    /// Most bytes of one command: the drive's limit, but at most 2 MiB.
    pub const fn transfer_bytes(&self) -> u64 {
        self.transfer_bytes
    }

    /// Completions that were ignored.
    pub const fn rogues(&self) -> Rogues {
        self.rogues
    }

    /// The last submissions, completions and doorbells, oldest first; at most
    /// [`HOST_EVENTS`](crate::flight::HOST_EVENTS).
    pub fn events(&self) -> Vec<HostEvent> {
        self.recorder.events()
    }

    /// Entries of either queue.
    pub const fn entries(&self) -> u32 {
        self.entries as u32
    }

    /// Identifiers of the commands outstanding, in ascending order.
    pub fn open(&self) -> impl Iterator<Item = u16> {
        let in_use = (0..).zip(&self.in_use);
        in_use.filter(|(_, used)| **used).map(|(cid, _)| cid)
    }

    /// Place of the next submission.
    pub(crate) const fn tail(&self) -> u32 {
        self.tail as u32
    }

    /// Place of the next completion.
    pub(crate) const fn head(&self) -> u32 {
        self.head as u32
    }

    /// Submits a Read of `blocks` logical blocks from `lba` on; returns the command identifier.
    ///
    /// # Errors
    /// Where the queue is full, or the range does not fit namespace, buffer or transfer limit.
    pub fn read(
        &mut self,
        bus: &mut dyn Bus,
        namespace: &Namespace,
        lba: u64,
        blocks: u32,
        into: Span<'_>,
    ) -> Result<u16, Error> {
        self.transfer(bus, IoOpcode::Read, namespace, lba, blocks, into, false)
    }

    /// Submits a Write of `blocks` logical blocks from `lba` on, with `fua` past the drive's
    /// volatile cache; returns the command identifier.
    ///
    /// # Errors
    /// Where the queue is full, or the range does not fit namespace, buffer or transfer limit.
    pub fn write(
        &mut self,
        bus: &mut dyn Bus,
        namespace: &Namespace,
        lba: u64,
        blocks: u32,
        from: Span<'_>,
        fua: bool,
    ) -> Result<u16, Error> {
        self.transfer(bus, IoOpcode::Write, namespace, lba, blocks, from, fua)
    }

    /// Submits a Compare (NVM Command Set 1.0c, 3.2.1) of memory with the medium; returns the
    /// command identifier. [`Status::COMPARE_FAILURE`] says that they differ.
    ///
    /// # Errors
    /// Where the queue is full, or the range does not fit namespace, buffer or transfer limit.
    pub fn compare(
        &mut self,
        bus: &mut dyn Bus,
        namespace: &Namespace,
        lba: u64,
        blocks: u32,
        with: Span<'_>,
    ) -> Result<u16, Error> {
        self.transfer(bus, IoOpcode::Compare, namespace, lba, blocks, with, false)
    }

    /// Submits a Read by PRP entries that are the caller's: `first`, and the list at `list`, which
    /// has to lead to as much memory as is read. Returns the command identifier.
    pub(crate) fn read_by_list(
        &mut self,
        bus: &mut dyn Bus,
        namespace: &Namespace,
        lba: u64,
        blocks: u32,
        (first, list): (u64, u64),
    ) -> Result<u16, Error> {
        let cid = self.reserve()?;
        let mut entry = Sqe::transfer(IoOpcode::Read, namespace.nsid, lba, blocks);
        entry = entry.with_prps(first, list);
        entry.cid = cid;
        self.submit(bus, entry)?;
        Ok(cid)
    }

    /// Submits a Flush (7.1); returns the command identifier.
    ///
    /// # Errors
    /// Where the queue is full.
    pub fn flush(&mut self, bus: &mut dyn Bus, namespace: &Namespace) -> Result<u16, Error> {
        let cid = self.reserve()?;
        let opcode = IoOpcode::Flush.number();
        self.submit(
            bus,
            Sqe {
                opcode,
                cid,
                nsid: namespace.nsid,
                ..Sqe::default()
            },
        )?;
        Ok(cid)
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the fields of the command, used here only"
    )]
    fn transfer(
        &mut self,
        bus: &mut dyn Bus,
        opcode: IoOpcode,
        namespace: &Namespace,
        lba: u64,
        blocks: u32,
        data: Span<'_>,
        fua: bool,
    ) -> Result<u16, Error> {
        let length = self.check(namespace, lba, blocks, data)?;
        let address = data.buffer.address + data.offset as u64;
        let cid = self.reserve()?;
        let prp2 = match prp::second(address, length, PAGE_BYTES) {
            Prp2::None => 0,
            Prp2::Page(page) => page,
            Prp2::List {
                second_page,
                entries,
            } => {
                let list: Vec<u8> = (0..entries)
                    .flat_map(|n| (second_page + n * PAGE_BYTES).to_le_bytes())
                    .collect();
                let at = usize::from(cid) * PAGE;
                bus.dma_write(&self.lists, at, &list)?;
                self.lists.address + at as u64
            }
        };
        let mut entry = Sqe::transfer(opcode, namespace.nsid, lba, blocks).with_prps(address, prp2);
        entry.cid = cid;
        if fua {
            entry.cdw[2] |= FUA;
        }
        self.submit(bus, entry)?;
        Ok(cid)
    }

    /// Refuses what would make the SSD reach outside the buffer or the namespace.
    fn check(
        &self,
        namespace: &Namespace,
        lba: u64,
        blocks: u32,
        data: Span<'_>,
    ) -> Result<u64, Error> {
        let most = (self.transfer_bytes >> namespace.block_shift).min(1 << 16);
        if blocks == 0 || u64::from(blocks) > most {
            let limit = format!("one command moves 1 to {most} blocks");
            return Err(Error::parameter("blocks", blocks, limit));
        }
        let end = lba.checked_add(blocks.into());
        if end.is_none_or(|end| end > namespace.blocks) {
            let limit = format!(
                "{blocks} blocks must end within {} blocks",
                namespace.blocks
            );
            return Err(Error::parameter("lba", lba, limit));
        }
        let length = u64::from(blocks) << namespace.block_shift;
        let bytes = usize::try_from(length).unwrap_or(usize::MAX);
        let end = data.buffer.check(data.offset, bytes)? as u64;
        if !data.offset.is_multiple_of(4) || !data.buffer.address.is_multiple_of(4) {
            let limit = "PRP entries are multiples of 4";
            return Err(Error::parameter("offset", data.offset as u64, limit));
        }
        if data.buffer.address.checked_add(end).is_none() {
            let (address, limit) = (data.buffer.address, "the buffer ends past 64 bits");
            return Err(Error::parameter(
                "bus address of the buffer",
                address,
                limit,
            ));
        }
        Ok(length)
    }

    fn reserve(&mut self) -> Result<u16, Error> {
        let cid = self.free.pop();
        let cid = cid.ok_or(Error::QueueFull {
            queue: self.id,
            outstanding: self.in_use.len(),
        })?;
        self.in_use[usize::from(cid)] = true;
        Ok(cid)
    }

    /// Writes the entry. There is room: a slot not yet fetched belongs to a command outstanding,
    /// and of these there is always one less than entries.
    fn submit(&mut self, bus: &mut dyn Bus, entry: Sqe) -> Result<(), Error> {
        bus.dma_write(
            &self.sq,
            usize::from(self.tail) * Sqe::BYTES,
            &entry.to_bytes(),
        )?;
        self.recorder.submitted(self.tail, &entry);
        self.tail = (self.tail + 1) % self.entries;
        Ok(())
    }

    /// Announces what was submitted, takes all completions there are, and appends them to `done`.
    ///
    /// Completions that cannot be true are counted and ignored: see [`QueuePair::rogues`].
    pub fn poll(&mut self, bus: &mut dyn Bus, done: &mut Vec<Done>) -> Result<(), Error> {
        let device = self.controller.device();
        if self.tail != self.announced {
            let doorbell = self.controller.sq_doorbell(self.id);
            let value = u32::from(self.tail);
            bus.bar_write32(device, 0, doorbell, value)?;
            self.announced = self.tail;
            self.recorder.at(bus.now());
            self.recorder.push(HostHappening::SqDoorbell { value });
        }
        let mut taken = 0;
        // Bounded: a device that writes on and on gets its turn again at the next poll.
        while taken < self.entries
            && let Some(entry) = read_completion(bus, &self.cq, self.head, self.phase)?
        {
            if taken == 0 {
                self.recorder.at(bus.now());
            }
            taken += 1;
            let ignored = self.accept(&entry);
            self.recorder.taken(self.head, &entry, ignored);
            self.head = (self.head + 1) % self.entries;
            self.phase ^= self.head == 0;
            if ignored.is_none() {
                done.push(Done {
                    cid: entry.cid,
                    status: entry.status,
                });
            }
        }
        if taken != 0 {
            let doorbell = self.controller.cq_doorbell(self.id);
            let value = u32::from(self.head);
            bus.bar_write32(device, 0, doorbell, value)?;
            self.recorder.push(HostHappening::CqDoorbell { value });
        }
        Ok(())
    }

    /// Takes a completion; or why it is ignored.
    fn accept(&mut self, entry: &Cqe) -> Option<Cause> {
        if entry.sq_id != self.id {
            self.rogues.queue += 1;
            Some(Cause::Queue)
        } else if let Some(in_use @ true) = self.in_use.get_mut(usize::from(entry.cid)) {
            *in_use = false;
            self.free.push(entry.cid);
            // Room is known from the commands in flight, so the head decides nothing.
            self.rogues.head += u64::from(entry.sq_head >= self.entries);
            None
        } else {
            self.rogues.cid += 1;
            Some(Cause::Cid)
        }
    }

    /// Polls until nothing is outstanding, and appends the completions to `done`.
    ///
    /// # Errors
    /// Where commands are still outstanding after `limit`: their buffers are the device's until the
    /// controller is reset.
    pub fn finish(
        &mut self,
        bus: &mut dyn Bus,
        limit: Duration,
        done: &mut Vec<Done>,
    ) -> Result<(), Error> {
        let finished = poll::wait(bus, limit, |bus| {
            self.poll(bus, done)?;
            Ok((self.outstanding() == 0).then_some(()))
        })?;
        if finished.is_some() {
            return Ok(());
        }
        self.controller
            .healthy(bus, "while I/O commands were outstanding")?;
        Err(Error::Timeout {
            what: "the completion of all I/O commands",
            limit,
            seen: format!(
                "{} of queue {} are outstanding, ignored completions: {:?}",
                self.outstanding(),
                self.id,
                self.rogues
            ),
            remedy: "recover the session: that resets the controller, then bring it up again",
        })
    }
}
