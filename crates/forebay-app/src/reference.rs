// SPDX-License-Identifier: Apache-2.0
//! The reference: an ideal polling host on the same drives and fabric.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use forebay_cosim::{CLOCK_PERIOD, Drive, Workload};
use forebay_driver::ArrayOptions;
use forebay_model::{FabricProfile, SsdProfile};

use crate::failure::{Exit, Failure, Result};
use crate::interrupt;
use crate::machine::MachineSpec;
use crate::progress::Progress;
use crate::report::Rate;

/// Most bytes of one command.
const COMMAND_MOST: u64 = 2 << 20;

/// An ideal polling host: queues and data in its memory, completions out of order, no cost of its
/// own.
pub struct Reference {
    fabric: FabricProfile,
    profiles: Vec<SsdProfile>,
    array: Option<ArrayOptions>,
    depth: u16,
    seed: u64,
}

impl Reference {
    /// On the drives, and with as many commands outstanding at each, as the options say.
    ///
    /// # Errors
    /// Where the profile is bad.
    pub fn new(machine: &MachineSpec) -> Result<Self> {
        let depth = u16::try_from(machine.depth()).unwrap_or(u16::MAX);
        let (profile, more) = machine.load_profile()?;
        let array = machine.array.options(1 + more.len());
        let more = more.into_iter().map(|drive| drive.profile);
        Ok(Self {
            fabric: profile.fabric,
            profiles: std::iter::once(profile.ssd).chain(more).collect(),
            array,
            depth,
            seed: machine.seed,
        })
    }

    /// Does the work on drives that have just got power; none where the user wants to stop.
    ///
    /// # Errors
    /// Where the drive fails.
    pub fn measure(&self, label: &str, workload: &Workload) -> Result<Option<Rate>> {
        let _progress = Progress::stage(label);
        match self.run(workload) {
            Err(failure) if failure.exit == Exit::Interrupted => Ok(None),
            answer => answer.map(Some),
        }
    }

    fn run(&self, workload: &Workload) -> Result<Rate> {
        let Self {
            fabric,
            array,
            depth,
            seed,
            ..
        } = self;
        let drives = self.profiles.iter().cloned().map(Drive::new).collect();
        let most = workload.size.min(COMMAND_MOST);
        let mut host =
            forebay_cosim::Reference::array(fabric, drives, *array, *seed, *depth, most)?;
        let stop = Arc::new(AtomicBool::new(false));
        interrupt::also(Arc::clone(&stop));
        host.set_stop_flag(stop);
        host.bring_up(&mut |_| {})?;
        let run = host.run(workload)?;
        if run.failed > 0 {
            return Err(Failure::new(
                Exit::Impossible,
                format!("{} commands of the reference failed", run.failed),
                "compare with --profile ideal; if it stays, report this with the command line",
            ));
        }
        Ok(Rate::of_host(&run, CLOCK_PERIOD))
    }
}
