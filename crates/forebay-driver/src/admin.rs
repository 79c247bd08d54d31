// SPDX-License-Identifier: Apache-2.0
//! The admin queue pair: one command at a time, each bounded by a time-out and checked.
//!
//! Section numbers are of *NVM Express Base 2.0c*.

use std::time::Duration;

use forebay_spec::nvme::feature::{self, QueueCount};
use forebay_spec::nvme::identify::{self, cns};
use forebay_spec::nvme::log::{self, ErrorEntry};
use forebay_spec::nvme::{ADMIN_QUEUE, AdminOpcode, Cqe, NSID_ALL, Sqe, Status};

use crate::bus::{self, Bus, DmaBuffer};
use crate::controller::{Controller, PAGE_BYTES};
use crate::error::Error;
use crate::poll::{self, Seldom};

/// Entries of both admin queues. One command is outstanding at a time; the rest is room for late
/// completions of commands that were given up.
pub const ENTRIES: u16 = 16;
const PAGE: usize = PAGE_BYTES as usize;

/// Where an I/O queue lies and how long it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueAt {
    /// Queue identifier, 1 upwards.
    pub id: u16,
    /// Bus address of the first entry, a multiple of 4096.
    pub address: u64,
    /// Entries, 2–65536.
    pub entries: u32,
}

/// The admin queue pair, in host memory. Its commands fail as [`AdminQueue::execute`] does.
#[derive(Debug)]
pub struct AdminQueue {
    controller: Controller,
    sq: DmaBuffer,
    cq: DmaBuffer,
    /// One page for data of Identify.
    data: DmaBuffer,
    tail: u16,
    head: u16,
    phase: bool,
    next_cid: u16,
    limit: Duration,
    /// Completions that fitted no outstanding command, and were ignored.
    pub rogue: u64,
}

impl AdminQueue {
    /// Takes memory for the queues. They are the controller's after [`Controller::enable`].
    ///
    /// # Errors
    /// Where there is no memory.
    pub fn new(bus: &mut dyn Bus, controller: Controller, limit: Duration) -> Result<Self, Error> {
        let [sq, cq, data] = bus::alloc_all(bus, [PAGE; 3], PAGE)?;
        Ok(Self {
            controller,
            sq,
            cq,
            data,
            tail: 0,
            head: 0,
            // Memory is zero at first, so entries of the first round carry 1 (3.3.3.2.1).
            phase: true,
            next_cid: 0,
            limit,
            rogue: 0,
        })
    }

    /// The submission queue's memory.
    pub const fn submission(&self) -> &DmaBuffer {
        &self.sq
    }

    /// The completion queue's memory.
    pub const fn completion(&self) -> &DmaBuffer {
        &self.cq
    }

    /// Gives the memory back; the controller must be disabled or silenced.
    pub fn free(self, bus: &mut dyn Bus) {
        bus.dma_free(self.sq);
        bus.dma_free(self.cq);
        bus.dma_free(self.data);
    }

    /// Sends a command and waits for its completion.
    ///
    /// # Errors
    /// Where it fails, is not answered in time, or the controller dies meanwhile.
    pub fn execute(
        &mut self,
        bus: &mut dyn Bus,
        command: &'static str,
        mut entry: Sqe,
    ) -> Result<Cqe, Error> {
        let device = self.controller.device();
        let cid = self.next_cid;
        // 0xffff is reserved for the error log (5.16.1.2).
        self.next_cid = if cid >= 0xfffe { 0 } else { cid + 1 };
        entry.cid = cid;
        bus.dma_write(
            &self.sq,
            usize::from(self.tail) * Sqe::BYTES,
            &entry.to_bytes(),
        )?;
        self.tail = (self.tail + 1) % ENTRIES;
        let doorbell = self.controller.sq_doorbell(ADMIN_QUEUE);
        bus.bar_write32(device, 0, doorbell, u32::from(self.tail))?;

        let (limit, rogue_before) = (self.limit, self.rogue);
        let start = bus.now();
        let mut seldom = Seldom::new();
        let completion = poll::wait(bus, limit, |bus| {
            let elapsed = bus.now().saturating_sub(start);
            if seldom.due(elapsed) {
                self.controller
                    .healthy(bus, "while an admin command was outstanding")?;
            }
            self.poll(bus, cid)
        })?;
        let Some(completion) = completion else {
            let status = self
                .controller
                .healthy(bus, "after an admin command was not answered")?;
            return Err(Error::Timeout {
                what: "the completion of an admin command",
                limit,
                seen: format!(
                    "{command} is unanswered, the controller is {}, {} completions fitted no \
                     command",
                    if status.ready { "ready" } else { "not ready" },
                    self.rogue - rogue_before
                ),
                remedy: "check that the controller can reach host memory (bus mastering, IOMMU), \
                         then bring it up again",
            });
        };
        if completion.status.is_success() {
            Ok(completion)
        } else {
            Err(Error::Command {
                command,
                status: completion.status,
            })
        }
    }

    /// Takes at most one round of completions; returns the one with this identifier.
    fn poll(&mut self, bus: &mut dyn Bus, cid: u16) -> Result<Option<Cqe>, Error> {
        // Bounded, so that a device that floods the queue cannot keep us here past the time-out.
        for _ in 0..ENTRIES {
            let Some(entry) = read_completion(bus, &self.cq, self.head, self.phase)? else {
                break;
            };
            self.head = (self.head + 1) % ENTRIES;
            self.phase ^= self.head == 0;
            let doorbell = self.controller.cq_doorbell(ADMIN_QUEUE);
            bus.bar_write32(self.controller.device(), 0, doorbell, u32::from(self.head))?;
            let plausible = entry.sq_id == ADMIN_QUEUE && entry.sq_head < ENTRIES;
            if entry.cid == cid && plausible {
                return Ok(Some(entry));
            }
            self.rogue += 1;
        }
        Ok(None)
    }

    /// Identify (5.17): one page of data.
    pub fn identify(
        &mut self,
        bus: &mut dyn Bus,
        command: &'static str,
        cns: u8,
        nsid: u32,
    ) -> Result<Box<[u8; identify::BYTES]>, Error> {
        let mut page = Box::new([0; identify::BYTES]);
        // A controller that completes without writing must not leave us with older data.
        bus.dma_write(&self.data, 0, &page[..])?;
        let mut entry = admin(AdminOpcode::Identify).with_prps(self.data.address, 0);
        entry.nsid = nsid;
        entry.cdw[0] = u32::from(cns);
        self.execute(bus, command, entry)?;
        bus.dma_read(&self.data, 0, &mut page[..])?;
        Ok(page)
    }

    /// The newest entries of the Error Information log (5.16.1.2), newest first; `most` of them,
    /// up to 64. Events that wait for this log to be read stay waiting.
    ///
    /// # Errors
    /// Where the command fails, or is not answered within `limit`.
    pub fn error_log(
        &mut self,
        bus: &mut dyn Bus,
        most: usize,
        limit: Duration,
    ) -> Result<Vec<ErrorEntry>, Error> {
        let mut page = [0; PAGE];
        let bytes = most.clamp(1, PAGE / ErrorEntry::BYTES) * ErrorEntry::BYTES;
        bus.dma_write(&self.data, 0, &page)?;
        let mut entry = admin(AdminOpcode::GetLogPage).with_prps(self.data.address, 0);
        entry.nsid = NSID_ALL;
        let dwords = bytes as u32 / 4 - 1;
        entry.cdw[0] = dwords << 16 | log::RETAIN_EVENT | u32::from(log::ERROR_INFORMATION);
        let usual = std::mem::replace(&mut self.limit, limit);
        let answer = self.execute(bus, "Get Log Page, error information", entry);
        self.limit = usual;
        answer?;
        bus.dma_read(&self.data, 0, &mut page)?;
        let entries = page[..bytes]
            .as_chunks()
            .0
            .iter()
            .map(ErrorEntry::from_bytes);
        // Past the end of its log a drive may return anything; the numbers of true entries descend.
        let mut last = u64::MAX;
        Ok(entries
            .take_while(|it| it.count != 0 && std::mem::replace(&mut last, it.count) > it.count)
            .collect())
    }

    /// Active namespaces greater than `after` (5.17.2.3), at most 1024.
    pub fn active_namespaces(&mut self, bus: &mut dyn Bus, after: u32) -> Result<Vec<u32>, Error> {
        const NAME: &str = "Identify, active namespaces";
        let page = self.identify(bus, NAME, cns::ACTIVE_NAMESPACES, after)?;
        // The list ascends (5.17.2.3); what follows a step back is no list any more.
        let mut last = after;
        Ok(identify::active_list(&page)
            .take_while(|nsid| std::mem::replace(&mut last, *nsid) < *nsid)
            .collect())
    }

    /// Set Features, number of queues (5.27.1.5): asks for `pairs`, returns what is granted.
    pub fn set_queue_count(&mut self, bus: &mut dyn Bus, pairs: u16) -> Result<QueueCount, Error> {
        let pairs = u32::from(pairs.max(1));
        let mut entry = admin(AdminOpcode::SetFeatures);
        entry.cdw[0] = u32::from(feature::NUMBER_OF_QUEUES);
        entry.cdw[1] = QueueCount {
            submission: pairs,
            completion: pairs,
        }
        .bits();
        let completion = self.execute(bus, "Set Features, number of queues", entry)?;
        Ok(QueueCount::from_bits(completion.result))
    }

    /// Create I/O Completion Queue (5.4): contiguous, without interrupts.
    pub fn create_cq(&mut self, bus: &mut dyn Bus, queue: QueueAt) -> Result<(), Error> {
        let mut entry = admin(AdminOpcode::CreateIoCq).with_prps(queue.address, 0);
        entry.cdw[0] = queue_dword(queue);
        entry.cdw[1] = CONTIGUOUS;
        self.execute(bus, "Create I/O Completion Queue", entry)
            .map(drop)
    }

    /// Create I/O Submission Queue (5.5): contiguous, for the completion queue of the same number.
    pub fn create_sq(&mut self, bus: &mut dyn Bus, queue: QueueAt) -> Result<(), Error> {
        let mut entry = admin(AdminOpcode::CreateIoSq).with_prps(queue.address, 0);
        entry.cdw[0] = queue_dword(queue);
        entry.cdw[1] = u32::from(queue.id) << 16 | CONTIGUOUS;
        self.execute(bus, "Create I/O Submission Queue", entry)
            .map(drop)
    }

    /// Delete I/O Submission Queue (5.7).
    pub fn delete_sq(&mut self, bus: &mut dyn Bus, id: u16) -> Result<(), Error> {
        let mut entry = admin(AdminOpcode::DeleteIoSq);
        entry.cdw[0] = u32::from(id);
        self.execute(bus, "Delete I/O Submission Queue", entry)
            .map(drop)
    }

    /// Delete I/O Completion Queue (5.6); its submission queue must be gone.
    pub fn delete_cq(&mut self, bus: &mut dyn Bus, id: u16) -> Result<(), Error> {
        let mut entry = admin(AdminOpcode::DeleteIoCq);
        entry.cdw[0] = u32::from(id);
        self.execute(bus, "Delete I/O Completion Queue", entry)
            .map(drop)
    }
}

/// Physically contiguous (PC) in dword 11 of Create I/O Queue (figures 159 and 163).
const CONTIGUOUS: u32 = 1;

/// Dword 10 of Create I/O Queue: size, 0's based, and identifier (figures 158 and 162).
const fn queue_dword(queue: QueueAt) -> u32 {
    (queue.entries.wrapping_sub(1) & 0xffff) << 16 | queue.id as u32
}

fn admin(opcode: AdminOpcode) -> Sqe {
    Sqe {
        opcode: opcode.number(),
        ..Sqe::default()
    }
}

/// Reads the completion at `index` if its phase is the one expected.
///
/// The phase stands in the last dword; it is read first, and the rest only when it has turned, so
/// that an entry written in several parts is never seen half-written.
pub(crate) fn read_completion(
    bus: &mut dyn Bus,
    cq: &DmaBuffer,
    index: u16,
    phase: bool,
) -> Result<Option<Cqe>, Error> {
    let at = usize::from(index) * Cqe::BYTES;
    let mut tail = [0; 4];
    bus.dma_read(cq, at + Cqe::BYTES - tail.len(), &mut tail)?;
    if u32::from_le_bytes(tail) >> 16 & 1 != u32::from(phase) {
        return Ok(None);
    }
    let mut bytes = [0; Cqe::BYTES];
    bus.dma_read(cq, at, &mut bytes)?;
    Ok(Some(Cqe::from_bytes(&bytes)))
}

/// Whether a failed command was refused because the controller does not know it in this form.
pub(crate) fn is_unsupported(error: &Error) -> bool {
    let Error::Command { status, .. } = error else {
        return false;
    };
    [Status::INVALID_FIELD, Status::INVALID_OPCODE]
        .iter()
        .any(|known| (known.sct(), known.sc()) == (status.sct(), status.sc()))
}
