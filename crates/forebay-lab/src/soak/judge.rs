// SPDX-License-Identifier: Apache-2.0
//! Whether a failure has a cause: what was done to the machine on purpose.

use forebay_driver::Layout;
use forebay_model::{FaultAction, FaultPlan};
use forebay_spec::nvme::Status;
use forebay_spec::streamer::UserError;

use super::case::Trouble;
use super::plan::Planned;
use crate::inject;

/// What may go wrong, and where.
#[derive(Debug)]
pub struct Judge {
    layout: Layout,
    drives: Vec<FaultPlan>,
    retry_limit: u8,
    /// On-board DRAM answers with errors.
    memory: bool,
}

impl Judge {
    /// Of what a case does to its machine.
    pub fn new(trouble: &Trouble, layout: Layout) -> Self {
        let drives = 0..layout.drives() as usize;
        Self {
            layout,
            drives: drives
                .map(|drive| inject::faults(&trouble.fault, drive))
                .collect(),
            retry_limit: trouble.retry_limit,
            memory: !trouble.dram_fault.is_empty(),
        }
    }

    /// Whether a transaction may have failed this way.
    pub fn explains(&self, error: UserError, planned: &Planned) -> bool {
        let mut plans = self.touched(planned);
        match error {
            UserError::Nvme { .. } => {
                let refused = UserError::from_status(Status::DATA_TRANSFER_ERROR);
                self.memory && Some(error) == refused
                    || plans.any(|plan| fails(plan, error, self.tries()))
            }
            UserError::Halted => plans.any(falls_silent),
            UserError::Timeout | UserError::Offline => {
                plans.any(|plan| falls_silent(plan) || self.gives_up(plan))
            }
            UserError::Memory => self.memory,
            _ => false,
        }
    }

    /// Whether a drive may fall silent or be given up: of an array with parity it is then done without.
    pub fn is_degraded(&self) -> bool {
        let mut drives = self.drives.iter();
        drives.any(|plan| falls_silent(plan) || self.gives_up(plan))
    }

    /// Whether a drive may be given up since it has failed a write that parity stands for.
    fn gives_up(&self, plan: &FaultPlan) -> bool {
        let refuses = |error| fails(plan, error, self.tries());
        let mut errors = failures(plan).filter_map(|(status, _)| UserError::from_status(status));
        self.layout.parity() && errors.any(refuses)
    }

    /// Whether a drive breaks down at some time.
    pub fn breaks(&self) -> bool {
        self.drives.iter().any(breaks)
    }

    /// Whether failures are as many as faults at the most.
    pub fn counts(&self) -> bool {
        !self.memory && !self.is_degraded()
    }

    /// How often a drive has to fail a command that may be tried again until it is the user's
    /// answer. What the memory refuses uses up tries, too.
    fn tries(&self) -> u32 {
        match self.memory {
            true => 1,
            false => u32::from(self.retry_limit) + 1,
        }
    }

    /// The drives that a transaction has to do with.
    fn touched(&self, planned: &Planned) -> impl Iterator<Item = &FaultPlan> {
        // What is refused in the end may have begun on any of them.
        let all = self.layout.parity() || planned.flush || planned.refusal.is_some();
        let bytes = planned.range.end - planned.range.start;
        let parts = self.layout.split(planned.range.start, bytes);
        let mask = parts.fold(0_u64, |mask, (drive, _, _)| mask | 1 << drive);
        let drives = self.drives.iter().enumerate();
        drives.filter_map(move |(drive, plan)| (all || mask >> drive & 1 != 0).then_some(plan))
    }
}

/// Whether a drive may fail a command so often that this error is the user's answer. It is that of
/// the last try: those before it may have failed for another cause.
fn fails(plan: &FaultPlan, error: UserError, tries: u32) -> bool {
    let times = failures(plan).fold(0_u32, |sum, (_, times)| sum.saturating_add(times));
    failures(plan).any(|(status, _)| {
        let enough = status.do_not_retry() || times >= tries;
        UserError::from_status(status) == Some(error) && enough
    })
}

/// With which status a drive fails commands, and how often.
fn failures(plan: &FaultPlan) -> impl Iterator<Item = (Status, u32)> {
    plan.faults.iter().filter_map(|fault| match fault.action {
        FaultAction::Fail(status) => Some((status, fault.times)),
        _ => None,
    })
}

fn breaks(plan: &FaultPlan) -> bool {
    plan.fatal_at.is_some() || plan.not_ready_at.is_some()
}

/// Whether a drive may leave a command without an answer that counts.
fn falls_silent(plan: &FaultPlan) -> bool {
    let silent = |action| matches!(action, FaultAction::Drop | FaultAction::WrongSqHead(_));
    breaks(plan) || plan.faults.iter().any(|fault| silent(fault.action))
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_cosim::Direction;
    use forebay_driver::ArrayOptions;

    /// Of these faults, with three retries.
    fn judge(drives: u8, faults: &[&str]) -> Judge {
        judge_of(ArrayOptions::striped(drives, 4096), faults)
    }

    fn judge_of(array: ArrayOptions, faults: &[&str]) -> Judge {
        let faults = faults.iter().map(|text| inject::fault(text));
        let trouble = Trouble {
            fault: faults.collect::<Result<_, _>>().expect("faults"),
            ..Trouble::default()
        };
        let layout = Layout::new(array).expect("a layout");
        Judge::new(&trouble, layout)
    }

    fn read(address: u64) -> Planned {
        Planned {
            direction: Direction::Read,
            address,
            length: 4096,
            range: address..address + 4096,
            refusal: None,
            unordered: false,
            fua: false,
            flush: false,
            fence: false,
            damage: None,
        }
    }

    #[test]
    fn a_failure_has_its_cause_on_its_own_drive() {
        let judge = judge(2, &["1/fail=0x4281@read", "0/drop@nth=3"]);
        let status = UserError::from_status(Status::UNRECOVERED_READ_ERROR).expect("an error");
        assert!(judge.explains(status, &read(4096)));
        assert!(!judge.explains(status, &read(8192)), "the other drive");
        assert!(judge.explains(UserError::Timeout, &read(8192)));
        assert!(!judge.explains(UserError::Timeout, &read(4096)));
        assert!(!judge.explains(UserError::Memory, &read(4096)));
        assert!(!judge.explains(UserError::Misaligned, &read(4096)));
        let flush = Planned {
            flush: true,
            ..read(8192)
        };
        assert!(judge.explains(status, &flush), "goes to each drive");
        assert!(judge.is_degraded() && !judge.counts());
    }

    #[test]
    fn with_parity_who_fails_a_write_is_given_up() {
        let mut array = ArrayOptions::striped(3, 4096);
        let faults = ["1/fail=0x4280@write"];
        assert!(!judge_of(array, &faults).explains(UserError::Timeout, &read(4096)));
        array.parity = true;
        let given_up = judge_of(array, &faults);
        assert!(given_up.is_degraded() && !given_up.counts());
        assert!(given_up.explains(UserError::Timeout, &read(4096)));
        assert!(!given_up.explains(UserError::Halted, &read(4096)));
        assert!(
            !judge_of(array, &["1/fail=0x280@write:3"]).is_degraded(),
            "tried again"
        );
    }

    #[test]
    fn what_is_tried_again_fails_only_with_faults_enough() {
        let status = UserError::from_status(Status::UNRECOVERED_READ_ERROR).expect("an error");
        let explains = |faults| judge(1, faults).explains(status, &read(0));
        assert!(!explains(&["fail=0x281@read:3"]));
        assert!(explains(&["fail=0x281@read:4"]));
        assert!(explains(&["fail=0x4281@read"]));
        assert!(explains(&["fail=0x281@read", "fail=0x280@read:3"]));
        let mut with_memory = judge(1, &["fail=0x281@read"]);
        with_memory.memory = true;
        assert!(with_memory.explains(status, &read(0)));
        assert!(!explains(&["fail=0x4280@read"]), "another status");
        assert!(!explains(&["duplicate@read:100"]));
        assert!(judge(1, &["duplicate@read"]).counts());
    }
}
