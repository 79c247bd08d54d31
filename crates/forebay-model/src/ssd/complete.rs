// SPDX-License-Identifier: Apache-2.0
//! Completion entries, their faults, and interrupts.

use super::Ssd;
use super::commands::{CommandRef, Transfer};
use super::events::Event;
use super::fault::FaultAction;
use crate::{Fabric, Request, Time};
use forebay_spec::nvme::record::DriveHappening;
use forebay_spec::nvme::{Cqe, IoOpcode, Status};

impl Ssd {
    /// A command's work is done: its completion follows, with timing after a while.
    pub(super) fn finish(
        &mut self,
        now: Time,
        fabric: &mut Fabric,
        at: CommandRef,
        status: Status,
    ) {
        let Some(command) = self.commands.get(at) else {
            return;
        };
        command.status = status;
        let is_flush = command.queue != 0 && command.sqe.opcode == IoOpcode::Flush.number();
        if let (Some(history), true, true) = (&mut self.history, is_flush, status.is_success()) {
            history.flush_began(now, at);
        }
        let delay = match (&self.flash, &command.transfer) {
            (Some(flash), Transfer::FromMedium(_)) => flash.timing.read.after,
            (Some(flash), Transfer::ToMedium(_)) => {
                let through = status.is_success()
                    && (command.sqe.fua() || !self.features.is_write_cache_on());
                flash.timing.write.after
                    + match through {
                        true => flash.stored(now, command.mark),
                        false => 0,
                    }
            }
            (Some(flash), Transfer::None) if is_flush && status.is_success() => flash.flush(now),
            _ => 0,
        };
        if delay == 0 {
            self.complete(now, fabric, at);
        } else {
            self.events.push(now + delay, Event::Complete(at));
        }
    }

    /// Writes a command's completion entry and forgets the command.
    pub(super) fn complete(&mut self, now: Time, fabric: &mut Fabric, at: CommandRef) {
        let Some(command) = self.commands.get(at) else {
            return;
        };
        let (queue, sqe) = (command.queue, command.sqe);
        let (status, result) = (command.status, command.result);
        let (fault, conflict) = (command.fault, command.conflict);
        if let (Some(history), true) = (&mut self.history, status.is_success()) {
            let through = sqe.fua() || !self.features.is_write_cache_on();
            history.ended(now, at, sqe.opcode == IoOpcode::Flush.number(), through);
        }
        self.commands.remove(at);
        self.count(queue, sqe.opcode, status);
        if !status.is_success() {
            self.log.failed(queue, &sqe, status);
        }
        let Some(Some(submission)) = self.submission.get_mut(queue as usize) else {
            return;
        };
        if !conflict {
            submission.release(sqe.cid);
        }
        let target = submission.completion_queue;
        let mut cqe = Cqe {
            result,
            dword1: 0,
            sq_head: submission.head as u16,
            sq_id: queue,
            cid: sqe.cid,
            status,
            phase: false,
        };
        match fault {
            Some(FaultAction::UnknownCid(cid)) => {
                self.post(now, fabric, target, Cqe { cid, ..cqe })
            }
            Some(FaultAction::WrongPhase) => self.post_wrong_phase(now, fabric, target, cqe),
            Some(FaultAction::WrongSqHead(head)) => cqe.sq_head = head,
            Some(FaultAction::Duplicate) => self.post(now, fabric, target, cqe),
            _ => {}
        }
        self.post(now, fabric, target, cqe);
    }

    /// Completes a command that is no longer kept, such as an Asynchronous Event Request.
    pub(super) fn complete_admin(&mut self, now: Time, fabric: &mut Fabric, cid: u16, result: u32) {
        let Some(Some(submission)) = self.submission.get_mut(0) else {
            return;
        };
        submission.release(cid);
        let sq_head = submission.head as u16;
        self.post(
            now,
            fabric,
            0,
            Cqe {
                result,
                sq_head,
                cid,
                ..Cqe::default()
            },
        );
    }

    /// Writes what waited for room.
    pub(super) fn post_waiting(&mut self, now: Time, fabric: &mut Fabric, queue: u16) {
        while let Some(Some(completion)) = self.completion.get_mut(queue as usize)
            && !completion.is_full()
        {
            let Some(cqe) = completion.waiting.pop_front() else {
                return;
            };
            self.write_entry(now, fabric, queue, cqe);
        }
    }

    /// Writes an entry, or keeps it until the queue has room.
    fn post(&mut self, now: Time, fabric: &mut Fabric, queue: u16, cqe: Cqe) {
        let Some(Some(completion)) = self.completion.get_mut(queue as usize) else {
            return;
        };
        if completion.is_full() || !completion.waiting.is_empty() {
            completion.waiting.push_back(cqe);
            self.stats.completions_delayed += 1;
            let cid = cqe.cid;
            self.record
                .push(now, DriveHappening::Delayed { queue, cid });
        } else {
            self.write_entry(now, fabric, queue, cqe);
        }
    }

    fn write_entry(&mut self, now: Time, fabric: &mut Fabric, queue: u16, mut cqe: Cqe) {
        let Some(Some(completion)) = self.completion.get_mut(queue as usize) else {
            return;
        };
        cqe.phase = completion.phase;
        let (addr, vector) = (completion.slot(), completion.vector);
        let slot = completion.tail;
        completion.advance();
        self.record
            .push(now, DriveHappening::posted(queue, slot, &cqe));
        let data = cqe.to_bytes().into();
        fabric.request(now, self.node, Request::Write { addr, data });
        if let Some(vector) = vector {
            self.interrupt(now, fabric, vector);
        }
    }

    /// The fault: the next entry is written with the old phase, and stays the next.
    fn post_wrong_phase(&mut self, now: Time, fabric: &mut Fabric, queue: u16, mut cqe: Cqe) {
        if let Some(Some(completion)) = self.completion.get(queue as usize) {
            cqe.phase = !completion.phase;
            let (addr, data) = (completion.slot(), cqe.to_bytes().into());
            let slot = completion.tail;
            self.record
                .push(now, DriveHappening::posted(queue, slot, &cqe));
            fabric.request(now, self.node, Request::Write { addr, data });
        }
    }

    fn count(&mut self, queue: u16, opcode: u8, status: Status) {
        if !status.is_success() {
            self.stats.failed += 1;
        } else if queue != 0 {
            match IoOpcode::from_number(opcode) {
                Some(IoOpcode::Read) => self.stats.reads += 1,
                Some(IoOpcode::Write) => self.stats.writes += 1,
                Some(IoOpcode::Flush) => self.stats.flushes += 1,
                _ => {}
            }
        }
    }
}
