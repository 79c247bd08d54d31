// SPDX-License-Identifier: Apache-2.0
//! Commands under way.

use super::fault::FaultAction;
use super::prp::{PrpWalker, Segment};
use crate::Time;
use forebay_spec::nvme::{Sqe, Status};

/// Names a command; it goes stale when the command ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct CommandRef {
    index: u32,
    generation: u32,
}

#[cfg(test)]
impl CommandRef {
    /// Any one.
    pub(super) const fn of(index: u32) -> Self {
        Self {
            index,
            generation: 0,
        }
    }
}

/// Where a command's data come from or go to.
#[derive(Debug, Default)]
pub(super) enum Transfer {
    /// There are none.
    #[default]
    None,
    /// From the medium, beginning at this byte.
    FromMedium(u64),
    /// To the medium, beginning at this byte.
    ToMedium(u64),
    /// From the controller.
    FromController(Box<[u8]>),
    /// To the controller.
    ToController(Box<[u8]>),
}

/// A command between its fetch and its completion.
#[derive(Debug, Default)]
pub(super) struct Command {
    pub(super) queue: u16,
    pub(super) sqe: Sqe,
    /// When it was fetched.
    pub(super) since: Time,
    pub(super) status: Status,
    pub(super) result: u32,
    pub(super) transfer: Transfer,
    pub(super) walker: PrpWalker,
    /// Buffer segments, where they are not moved at once.
    pub(super) segments: Vec<Segment>,
    /// Reads and segments still under way.
    pub(super) pending: u32,
    /// Bytes written to the drive up to and with this write, where FUA waits for them.
    pub(super) mark: u64,
    /// Running number of an I/O command since power-on, from 1.
    pub(super) number: u64,
    pub(super) fault: Option<FaultAction>,
    /// It never completes by itself.
    pub(super) dropped: bool,
    /// The identifier was in use when it arrived: it does not own it.
    pub(super) conflict: bool,
}

#[derive(Debug, Default)]
struct Slot {
    generation: u32,
    used: bool,
    command: Command,
}

/// All commands under way. Slots are used again, so that nothing is allocated in the long run.
#[derive(Debug, Default)]
pub(super) struct Commands {
    slots: Vec<Slot>,
    free: Vec<u32>,
    io: u32,
}

impl Commands {
    pub(super) fn insert(&mut self, now: Time, queue: u16, sqe: Sqe) -> CommandRef {
        self.io += (queue != 0) as u32;
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() as u32 - 1
        });
        let slot = &mut self.slots[index as usize];
        let mut segments = std::mem::take(&mut slot.command.segments);
        segments.clear();
        slot.used = true;
        slot.command = Command {
            queue,
            sqe,
            since: now,
            segments,
            ..Command::default()
        };
        CommandRef {
            index,
            generation: slot.generation,
        }
    }

    pub(super) fn get(&mut self, at: CommandRef) -> Option<&mut Command> {
        let slot = self.slots.get_mut(at.index as usize)?;
        (slot.used && slot.generation == at.generation).then_some(&mut slot.command)
    }

    /// Ends a command: what still names it goes stale.
    pub(super) fn remove(&mut self, at: CommandRef) {
        if let Some(slot) = self.slots.get_mut(at.index as usize)
            && slot.used
            && slot.generation == at.generation
        {
            slot.used = false;
            slot.generation = slot.generation.wrapping_add(1);
            self.io -= (slot.command.queue != 0) as u32;
            self.free.push(at.index);
        }
    }

    /// Ends every command of one queue, or of all.
    pub(super) fn remove_all(&mut self, queue: Option<u16>) {
        for index in 0..self.slots.len() {
            let slot = &self.slots[index];
            if slot.used && queue.is_none_or(|queue| queue == slot.command.queue) {
                let generation = slot.generation;
                self.remove(CommandRef {
                    index: index as u32,
                    generation,
                });
            }
        }
    }

    /// A command that never completes by itself, by queue and identifier.
    pub(super) fn find_dropped(&self, queue: u16, cid: u16) -> Option<CommandRef> {
        let index = self.slots.iter().position(|slot| {
            let command = &slot.command;
            slot.used && command.dropped && command.queue == queue && command.sqe.cid == cid
        })?;
        let generation = self.slots[index].generation;
        Some(CommandRef {
            index: index as u32,
            generation,
        })
    }

    /// Identifiers of one queue's commands under way, in ascending order.
    pub(super) fn under_way(&self, queue: u16) -> Vec<u16> {
        let slots = self.slots.iter();
        let mut cids: Vec<_> = slots
            .filter(|slot| slot.used && slot.command.queue == queue)
            .map(|slot| slot.command.sqe.cid)
            .collect();
        cids.sort_unstable();
        cids
    }

    /// I/O commands under way, by the time of their fetch.
    pub(super) fn io_under_way(&self) -> Vec<(Time, Sqe)> {
        let used = self
            .slots
            .iter()
            .filter(|slot| slot.used && slot.command.queue != 0);
        let mut all: Vec<_> = used
            .map(|slot| (slot.command.since, slot.command.sqe))
            .collect();
        all.sort_by_key(|(since, _)| *since);
        all
    }

    /// I/O commands under way.
    pub(super) fn io_in_flight(&self) -> u32 {
        self.io
    }
}

/// What a read of the drive is for.
#[derive(Clone, Copy, Debug)]
pub(super) enum ReadUse {
    /// `count` submission queue entries, from index `first`.
    Entries {
        queue: u16,
        epoch: u32,
        first: u32,
        count: u32,
    },
    /// A PRP list.
    List(CommandRef),
    /// A command's data, beginning at an offset of the transfer.
    Data(CommandRef, u32),
}

/// Reads under way, by tag.
#[derive(Debug, Default)]
pub(super) struct Reads {
    uses: Vec<ReadUse>,
    free: Vec<u32>,
}

impl Reads {
    pub(super) fn insert(&mut self, value: ReadUse) -> u32 {
        match self.free.pop() {
            Some(tag) => {
                self.uses[tag as usize] = value;
                tag
            }
            None => {
                self.uses.push(value);
                self.uses.len() as u32 - 1
            }
        }
    }

    pub(super) fn remove(&mut self, tag: u32) -> Option<ReadUse> {
        let value = *self.uses.get(tag as usize)?;
        self.free.push(tag);
        Some(value)
    }
}
