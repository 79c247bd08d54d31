// SPDX-License-Identifier: Apache-2.0
//! The controller's life: enabling, readiness, shutdown; and the arrival of commands.

use super::commands::{CommandRef, ReadUse};
use super::events::Event;
use super::feature::Features;
use super::msix::Msix;
use super::queues::{CompletionQueue, SubmissionQueue};
use super::registers::Registers;
use super::{PageEvent, Ssd};
use crate::{Completion, Fabric, Time};
use forebay_spec::nvme::record::DriveHappening;
use forebay_spec::nvme::regs::{Cc, Csts, Shutdown, ShutdownStatus};
use forebay_spec::nvme::{Sqe, Status};

impl Ssd {
    /// CC was written (3.1.3.5).
    pub(super) fn configured(&mut self, now: Time, fabric: &mut Fabric, old: Cc) {
        let cc = self.registers.cc;
        if cc.enable != old.enable {
            let event = match cc.enable {
                true => DriveHappening::Enabled,
                false => DriveHappening::Disabled,
            };
            self.record.push(now, event);
            self.reset();
        } else if cc.shutdown == old.shutdown || cc.shutdown == Shutdown::None {
            return;
        } else {
            // Shutdown (3.6.1): no more commands; what is under way may end or not.
            self.record.push(now, DriveHappening::Shutdown);
            self.running = false;
            self.epoch += 1;
            self.registers.csts.shutdown = ShutdownStatus::Occurring;
        }
        let due = now + self.profile.controller.ready;
        let epoch = self.epoch;
        if due == now {
            self.happen(now, fabric, Event::Settle { epoch });
        } else {
            self.events.push(due, Event::Settle { epoch });
        }
    }

    /// Something is due.
    pub(super) fn happen(&mut self, now: Time, fabric: &mut Fabric, event: Event) {
        match event {
            Event::Settle { epoch } if epoch == self.epoch => self.settle(now),
            Event::Settle { .. } => {}
            Event::Fatal => self.fatal(now),
            Event::NotReady => {
                self.record.push(now, DriveHappening::NotReady);
                self.reset();
                self.registers.csts.ready = false;
            }
            Event::Start(command) => self.start(now, fabric, command),
            Event::Complete(command) => self.complete(now, fabric, command),
            Event::Sense(command) => self.sense(now, command),
            Event::Sensed(command, segment) => self.sensed(now, command, segment),
            Event::Carried(command, segment) => self.carried(now, command, segment),
            Event::Out(command, segment) => self.leave(now, fabric, command, segment),
            Event::In(command, segment) => self.request_segment(now, fabric, command, segment),
        }
    }

    /// CSTS follows CC.
    fn settle(&mut self, now: Time) {
        let cc = self.registers.cc;
        if self.registers.csts.shutdown == ShutdownStatus::Occurring {
            self.registers.csts.shutdown = ShutdownStatus::Complete;
        } else if !cc.enable {
            self.registers.csts = Csts::default();
        } else if let Some([submission, completion]) = self.registers.admin_queues() {
            self.queue_epoch += 1;
            let epoch = self.queue_epoch;
            self.submission[0] = Some(SubmissionQueue::new(submission.0, submission.1, 0, epoch));
            let mut queue = CompletionQueue::new(completion.0, completion.1, Some(0));
            queue.users = 1;
            self.completion[0] = Some(queue);
            self.registers.csts.ready = true;
            self.running = true;
            self.record.push(now, DriveHappening::Ready);
        } else {
            self.fatal(now);
        }
    }

    /// Controller reset (3.7.2): queues and commands are gone, features are as after power-on.
    fn reset(&mut self) {
        self.epoch += 1;
        self.running = false;
        self.registers.csts.shutdown = ShutdownStatus::Normal;
        self.submission.fill_with(|| None);
        self.completion.fill_with(|| None);
        self.commands.remove_all(None);
        self.note_pages(PageEvent::Forgotten);
        self.log.reset();
        self.features = Features::new(&self.profile.controller);
    }

    /// Reset of the PCI function (PCI Express Base 5.0, 6.6.2): all is as after power-on but what
    /// is stored, its format, and the counters.
    pub fn function_reset(&mut self) {
        self.record.push_now(DriveHappening::FunctionReset);
        self.reset();
        self.config.reset();
        self.msix = Msix::new(*self.msix.place());
        self.registers = Registers::new(&self.profile.controller);
    }

    /// Controller fatal status (3.1.3.6): only a reset helps.
    pub(super) fn fatal(&mut self, now: Time) {
        self.record.push(now, DriveHappening::Fatal);
        self.reset();
        self.registers.csts.fatal = true;
    }

    /// A read of the drive is answered.
    pub(super) fn answered(&mut self, now: Time, fabric: &mut Fabric, completion: Completion) {
        let Completion { tag, result } = completion;
        match self.reads.remove(tag) {
            Some(ReadUse::Entries {
                queue,
                epoch,
                first,
                count,
            }) => {
                self.fetching = self.fetching.saturating_sub(count);
                match result {
                    Ok(entries) => self.arrived(now, fabric, (queue, epoch, first), &entries),
                    // There is no queue to report this on, unless it is an earlier one's.
                    Err(_) if self.is_queue(queue, epoch) => {
                        let slot = first;
                        self.record
                            .push(now, DriveHappening::FetchFailed { queue, slot, count });
                        self.fatal(now);
                    }
                    Err(_) => {}
                }
            }
            Some(ReadUse::List(command)) => self.list_arrived(now, fabric, command, result),
            Some(ReadUse::Data(command, offset)) => {
                self.data_arrived(now, fabric, command, offset, result);
            }
            None => {}
        }
    }

    /// Submission entries have arrived.
    fn arrived(
        &mut self,
        now: Time,
        fabric: &mut Fabric,
        (queue, epoch, first): (u16, u32, u32),
        entries: &[u8],
    ) {
        for (n, bytes) in (0..).zip(entries.chunks_exact(Sqe::BYTES)) {
            // Each time anew: a command may delete the queue it came from.
            let Some(Some(submission)) = self.submission.get_mut(queue as usize) else {
                return;
            };
            if submission.epoch != epoch {
                return;
            }
            let Ok(bytes) = bytes.try_into() else { return };
            submission.head = (first + n + 1) % submission.entries;
            let sqe = Sqe::from_bytes(bytes);
            let slot = (first + n) % submission.entries;
            self.record
                .push(now, DriveHappening::fetched(queue, slot, &sqe));
            let conflict = !submission.claim(sqe.cid);
            let at = self.commands.insert(now, queue, sqe);
            if let Some(command) = self.commands.get(at)
                && conflict
            {
                command.conflict = true;
                command.status = Status::CID_CONFLICT;
            }
            self.understand(now, fabric, at, queue);
        }
    }

    /// Whether a submission queue is still the one it was.
    fn is_queue(&self, queue: u16, epoch: u32) -> bool {
        let submission = self.submission.get(queue as usize).and_then(Option::as_ref);
        submission.is_some_and(|submission| submission.epoch == epoch)
    }

    /// The controller takes up a command, as soon as it has time for it.
    fn understand(&mut self, now: Time, fabric: &mut Fabric, at: CommandRef, queue: u16) {
        self.stats.commands += (queue != 0) as u64;
        if let Some(command) = self.commands.get(at) {
            command.number = self.stats.commands;
        }
        match &mut self.flash {
            None => self.start(now, fabric, at),
            Some(flash) if queue == 0 => {
                self.events.push(now + flash.timing.admin, Event::Start(at));
            }
            Some(flash) => {
                let due = flash.command(now);
                self.events.push(due, Event::Start(at));
            }
        }
    }

    fn start(&mut self, now: Time, fabric: &mut Fabric, at: CommandRef) {
        let Some(command) = self.commands.get(at) else {
            return;
        };
        if command.conflict {
            self.complete(now, fabric, at);
        } else if command.queue == 0 {
            self.admin(now, fabric, at);
        } else {
            self.io(now, fabric, at);
        }
    }
}
