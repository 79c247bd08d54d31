// SPDX-License-Identifier: Apache-2.0
//! Faults that a drive commits on demand.

use crate::Time;
use forebay_spec::nvme::{IoOpcode, Sqe, Status};
use std::ops::Range;

/// Which I/O commands a fault hits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// The *n*-th I/O command since power-on, counted from 1.
    Nth(u64),
    /// Every *n*-th I/O command.
    Every(u64),
    /// Commands that touch these logical blocks (of any namespace).
    Lbas(Range<u64>),
    /// Commands with this opcode.
    Opcode(IoOpcode),
}

/// What happens to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultAction {
    /// They complete with this status and move no data.
    Fail(Status),
    /// They never complete and move no data, until aborted.
    Drop,
    /// They complete twice.
    Duplicate,
    /// Before their completion comes one with this identifier, which no command has.
    UnknownCid(u16),
    /// Before their completion, its place is written with the phase not inverted.
    WrongPhase,
    /// Their completion reports this submission queue head.
    WrongSqHead(u16),
}

/// A fault: which commands, what, how often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Which commands.
    pub trigger: Trigger,
    /// What happens.
    pub action: FaultAction,
    /// How many times at most.
    pub times: u32,
}

/// All faults of a drive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultPlan {
    /// Faults of commands; the first that matches is committed.
    pub faults: Vec<Fault>,
    /// The controller reports a fatal error and stops at this time.
    pub fatal_at: Option<Time>,
    /// The controller ceases to be ready and stops at this time.
    pub not_ready_at: Option<Time>,
}

impl FaultPlan {
    /// No faults.
    pub const fn none() -> Self {
        Self {
            faults: Vec::new(),
            fatal_at: None,
            not_ready_at: None,
        }
    }

    /// The same plan with one fault more, committed once.
    #[must_use]
    pub fn once(self, trigger: Trigger, action: FaultAction) -> Self {
        self.times(trigger, action, 1)
    }

    /// The same plan with one fault more, committed up to `times` times.
    #[must_use]
    pub fn times(mut self, trigger: Trigger, action: FaultAction, times: u32) -> Self {
        self.faults.push(Fault {
            trigger,
            action,
            times,
        });
        self
    }
}

impl FaultPlan {
    /// The fault that hits an I/O command, given its running number from 1.
    pub(super) fn matching(&mut self, number: u64, sqe: &Sqe) -> Option<FaultAction> {
        let fault = self.faults.iter_mut().find(|fault| {
            fault.times > 0
                && match &fault.trigger {
                    Trigger::Nth(n) => number == *n,
                    Trigger::Every(n) => number.is_multiple_of((*n).max(1)),
                    Trigger::Lbas(range) => {
                        let end = sqe.slba().saturating_add(sqe.blocks() as u64);
                        moves_blocks(sqe.opcode) && sqe.slba() < range.end && range.start < end
                    }
                    Trigger::Opcode(opcode) => opcode.number() == sqe.opcode,
                }
        })?;
        fault.times -= 1;
        Some(fault.action)
    }
}

/// Whether dwords 10 to 12 of a command name logical blocks.
fn moves_blocks(opcode: u8) -> bool {
    use IoOpcode::{Read, Write, WriteZeroes};
    matches!(
        IoOpcode::from_number(opcode),
        Some(Read | Write | WriteZeroes)
    )
}
