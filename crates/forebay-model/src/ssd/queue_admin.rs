// SPDX-License-Identifier: Apache-2.0
//! Creating and deleting I/O queues (5.4 to 5.7).

use super::admin::Outcome;
use super::queues::{CompletionQueue, SubmissionQueue};
use super::{PageEvent, Ssd};
use forebay_spec::nvme::{Cqe, Sqe, Status};

/// Dword 11: the queue is physically contiguous.
const CONTIGUOUS: u32 = 1;
/// Dword 11 of a completion queue: interrupts are enabled.
const INTERRUPTS: u32 = 1 << 1;

impl Ssd {
    pub(super) fn create_completion_queue(&mut self, sqe: &Sqe) -> Result<Outcome, Status> {
        let (queue, entries) = self.new_queue(sqe, self.features.queues.completion)?;
        if self.completion[queue as usize].is_some() {
            return Err(Status::INVALID_QUEUE_ID);
        }
        if 1 << self.registers.cc.cqe_shift != Cqe::BYTES {
            return Err(Status::INVALID_FIELD);
        }
        let vector = (sqe.cdw11() >> 16) as u16;
        let vector = match sqe.cdw11() & INTERRUPTS {
            0 => None,
            _ if vector < self.msix.place().vectors => Some(vector),
            _ => return Err(Status::INVALID_INTERRUPT_VECTOR),
        };
        self.completion[queue as usize] = Some(CompletionQueue::new(sqe.prp1, entries, vector));
        Ok(Outcome::Done(0))
    }

    pub(super) fn create_submission_queue(&mut self, sqe: &Sqe) -> Result<Outcome, Status> {
        let (queue, entries) = self.new_queue(sqe, self.features.queues.submission)?;
        if self.submission[queue as usize].is_some() {
            return Err(Status::INVALID_QUEUE_ID);
        }
        if 1 << self.registers.cc.sqe_shift != Sqe::BYTES {
            return Err(Status::INVALID_FIELD);
        }
        let target = (sqe.cdw11() >> 16) as u16;
        if target == 0 || target as u32 > self.features.queues.completion {
            return Err(Status::INVALID_QUEUE_ID);
        }
        let Some(Some(completion)) = self.completion.get_mut(target as usize) else {
            return Err(Status::CQ_INVALID);
        };
        completion.users += 1;
        self.queue_epoch += 1;
        let submission = SubmissionQueue::new(sqe.prp1, entries, target, self.queue_epoch);
        self.submission[queue as usize] = Some(submission);
        Ok(Outcome::Done(0))
    }

    /// Commands of the queue that are under way end without a completion, as 5.7 allows.
    pub(super) fn delete_submission_queue(&mut self, sqe: &Sqe) -> Result<Outcome, Status> {
        let queue = sqe.cdw10() as u16;
        let slot = self
            .submission
            .get_mut(queue as usize)
            .filter(|_| queue != 0);
        let submission = slot
            .and_then(Option::take)
            .ok_or(Status::INVALID_QUEUE_ID)?;
        self.commands.remove_all(Some(queue));
        self.note_pages(PageEvent::Forgotten);
        if let Some(Some(completion)) = self
            .completion
            .get_mut(submission.completion_queue as usize)
        {
            completion.users = completion.users.saturating_sub(1);
            completion.waiting.retain(|cqe| cqe.sq_id != queue);
        }
        Ok(Outcome::Done(0))
    }

    pub(super) fn delete_completion_queue(&mut self, sqe: &Sqe) -> Result<Outcome, Status> {
        let queue = sqe.cdw10() as u16;
        let slot = self
            .completion
            .get_mut(queue as usize)
            .filter(|_| queue != 0);
        match slot {
            Some(Some(completion)) if completion.users != 0 => Err(Status::INVALID_QUEUE_DELETION),
            Some(slot @ Some(_)) => {
                *slot = None;
                Ok(Outcome::Done(0))
            }
            _ => Err(Status::INVALID_QUEUE_ID),
        }
    }

    /// What both kinds of queue have in common: identifier and entries.
    fn new_queue(&self, sqe: &Sqe, allocated: u32) -> Result<(u16, u32), Status> {
        let (queue, entries) = (sqe.cdw10() as u16, (sqe.cdw10() >> 16) + 1);
        if queue == 0 || queue as u32 > allocated {
            return Err(Status::INVALID_QUEUE_ID);
        }
        if entries < 2 || entries > self.registers.cap.max_queue_entries {
            return Err(Status::INVALID_QUEUE_SIZE);
        }
        if sqe.cdw11() & CONTIGUOUS == 0 {
            return Err(Status::INVALID_FIELD);
        }
        if !sqe.prp1.is_multiple_of(self.registers.page()) {
            return Err(Status::INVALID_PRP_OFFSET);
        }
        Ok((queue, entries))
    }
}
