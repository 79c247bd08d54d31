// SPDX-License-Identifier: Apache-2.0
//! The reference: an ideal polling host on the same drive and fabric.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use forebay_cosim::{CLOCK_PERIOD, Workload};
use forebay_model::Profile;

use crate::args::{DefaultProfile, MachineArgs};
use crate::failure::{Exit, Failure, Result};
use crate::interrupt;
use crate::progress::Progress;
use crate::report::Rate;

/// An ideal polling host: queues and data in its memory, completions out of order, no cost of its
/// own.
pub struct Reference {
    profile: Profile,
    depth: u16,
    seed: u64,
}

impl Reference {
    /// On the drive, and with as many commands outstanding, as the options say.
    ///
    /// # Errors
    /// Where the profile is bad.
    pub fn new<P: DefaultProfile>(args: &MachineArgs<P>) -> Result<Self> {
        let depth = u16::try_from(args.depth()).unwrap_or(u16::MAX);
        Ok(Self {
            profile: args.load_profile()?,
            depth,
            seed: args.seed,
        })
    }

    /// Does the work on a drive that has just got power; none where the user wants to stop.
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
            profile,
            depth,
            seed,
        } = self;
        let mut host = forebay_cosim::Reference::new(profile, None, *seed, *depth, workload.size)?;
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
