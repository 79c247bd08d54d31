// SPDX-License-Identifier: Apache-2.0
//! Accesses to BAR 0: registers, doorbells, the MSI-X table; and the fetch of what doorbells
//! announce.

use super::Ssd;
use super::commands::ReadUse;
use super::registers::Effect;
use crate::{Fabric, FabricError, Request, Ticket, Time};
use forebay_spec::nvme::log::event;
use forebay_spec::nvme::record::{DoorbellVerdict, DriveHappening};
use forebay_spec::nvme::{Sqe, regs};

/// Where an access to BAR 0 goes.
enum Place {
    Register,
    Doorbell { queue: u16, completion: bool },
    Msix,
    Nothing,
}

impl Ssd {
    /// Serves a request that has arrived.
    pub(super) fn access(
        &mut self,
        now: Time,
        fabric: &mut Fabric,
        request: Request,
        ticket: Ticket,
    ) {
        let base = self.config.bar_range();
        match request {
            Request::Read { addr, len, .. } => {
                let result = match base {
                    Some(range) if range.contains(&addr) => {
                        Ok(self.bar_read(addr - range.start, len))
                    }
                    _ => Err(FabricError::Unmapped { addr }),
                };
                fabric.complete(now, ticket, result);
            }
            Request::Write { addr, data } => {
                let Some(range) = base.filter(|range| range.contains(&addr)) else {
                    return;
                };
                self.bar_write(now, fabric, addr - range.start, &data);
            }
        }
    }

    /// Fetches what is announced, as far as there is room for commands. The queue whose turn it
    /// is comes first.
    pub(super) fn fetch_all(&mut self, now: Time, fabric: &mut Fabric) {
        let queues = self.submission.len() as u16;
        for n in 0..queues {
            self.fetch(now, fabric, (self.turn + n) % queues);
        }
        self.turn = (self.turn + 1) % queues;
    }

    fn fetch(&mut self, now: Time, fabric: &mut Fabric, queue: u16) {
        if !self.running || !self.config.bus_master() {
            return;
        }
        loop {
            // Admin commands always have room: without them no queue could be deleted.
            let room = if queue == 0 { u32::MAX } else { self.room() };
            let Some(Some(submission)) = self.submission.get_mut(queue as usize) else {
                return;
            };
            let announced = submission.announced();
            let count = announced.min(room);
            if count == 0 {
                self.starved |= announced != 0;
                return;
            }
            let first = submission.fetch;
            submission.fetch = (first + count) % submission.entries;
            let addr = submission.base + first as u64 * Sqe::BYTES as u64;
            let epoch = submission.epoch;
            self.fetching += count;
            self.stats.fetches += 1;
            let tag = self.reads.insert(ReadUse::Entries {
                queue,
                epoch,
                first,
                count,
            });
            let slot = first;
            self.record
                .push(now, DriveHappening::Asked { queue, slot, count });
            let len = count * Sqe::BYTES as u32;
            fabric.request(now, self.node, Request::Read { addr, len, tag });
        }
    }

    /// I/O commands that can be fetched now.
    pub(super) fn room(&self) -> u32 {
        let limit = self.profile.controller.commands_in_flight;
        limit.saturating_sub(self.commands.io_in_flight() + self.fetching)
    }

    fn place(&self, offset: u64) -> Place {
        if offset < regs::DOORBELLS {
            return Place::Register;
        }
        if self.msix.is_at(offset) {
            return Place::Msix;
        }
        let stride = 4 << self.profile.controller.doorbell_stride;
        let at = offset - regs::DOORBELLS;
        if !at.is_multiple_of(stride) {
            return Place::Nothing;
        }
        let index = at / stride;
        Place::Doorbell {
            queue: (index / 2) as u16,
            completion: index % 2 == 1,
        }
    }

    /// Reads BAR 0 by an offset in it, for an access that a hypervisor has routed.
    pub fn bar_read(&self, offset: u64, len: u32) -> Box<[u8]> {
        let word = |offset: u64| match self.place(offset) {
            Place::Register => self.registers.read(offset & !3),
            Place::Msix => self.msix.read(offset & !3),
            // Reading a doorbell is undefined (PCIe Transport 1.0c 3.1.2.1).
            Place::Doorbell { .. } | Place::Nothing => 0,
        };
        (offset..offset + len as u64)
            .map(|at| word(at & !3).to_le_bytes()[at as usize % 4])
            .collect()
    }

    /// Writes BAR 0 by an offset in it, as [`Ssd::bar_read`]: 4 or 8 bytes, aligned to 4. Others
    /// are counted and ignored.
    pub fn bar_write(&mut self, now: Time, fabric: &mut Fabric, offset: u64, data: &[u8]) {
        if !offset.is_multiple_of(4) || (data.len() != 4 && data.len() != 8) {
            self.stats.odd_accesses += 1;
            return;
        }
        for (n, word) in data.chunks_exact(4).enumerate() {
            let value = word.try_into().map_or(0, u32::from_le_bytes);
            self.write_word(now, fabric, offset + 4 * n as u64, value);
        }
    }

    fn write_word(&mut self, now: Time, fabric: &mut Fabric, offset: u64, value: u32) {
        match self.place(offset) {
            Place::Register => {
                if let Effect::Configured(old) = self.registers.write(offset, value) {
                    self.configured(now, fabric, old);
                }
            }
            Place::Msix if self.msix.write(offset, value) => self.send_pending(now, fabric),
            Place::Msix => self.stats.odd_accesses += 1,
            Place::Doorbell { queue, completion } if self.running => {
                self.ring(now, fabric, queue, completion, value);
            }
            Place::Doorbell { queue, completion } => {
                self.stats.invalid_doorbells += 1;
                self.note_doorbell(now, queue, completion, value, DoorbellVerdict::NotRunning);
            }
            Place::Nothing => self.stats.odd_accesses += 1,
        }
    }

    fn ring(&mut self, now: Time, fabric: &mut Fabric, queue: u16, completion: bool, value: u32) {
        let index = queue as usize;
        let accepted = if completion {
            self.completion
                .get_mut(index)
                .and_then(Option::as_mut)
                .map(|it| it.ring(value))
        } else {
            self.submission
                .get_mut(index)
                .and_then(Option::as_mut)
                .map(|it| it.ring(value))
        };
        let verdict = match accepted {
            Some(true) => DoorbellVerdict::Accepted,
            Some(false) => DoorbellVerdict::BadValue,
            None => DoorbellVerdict::NoQueue,
        };
        self.note_doorbell(now, queue, completion, value, verdict);
        match accepted {
            Some(true) if completion => self.post_waiting(now, fabric, queue),
            Some(true) => self.fetch(now, fabric, queue),
            Some(false) => self.bad_doorbell(now, fabric, event::INVALID_DOORBELL_VALUE),
            None => self.bad_doorbell(now, fabric, event::INVALID_DOORBELL),
        }
    }

    fn note_doorbell(
        &mut self,
        now: Time,
        queue: u16,
        completion: bool,
        value: u32,
        verdict: DoorbellVerdict,
    ) {
        let event = match completion {
            false => DriveHappening::SqDoorbell {
                queue,
                value,
                verdict,
            },
            true => DriveHappening::CqDoorbell {
                queue,
                value,
                verdict,
            },
        };
        self.record.push(now, event);
    }

    fn bad_doorbell(&mut self, now: Time, fabric: &mut Fabric, event: u32) {
        self.stats.invalid_doorbells += 1;
        self.log.event(event);
        self.report_events(now, fabric);
    }
}
