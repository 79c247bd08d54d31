// SPDX-License-Identifier: Apache-2.0
//! The plan, simulated: the RTL on the drive's model, fed by a source that cannot wait.

use forebay_cosim::{Pace, Write};
use forebay_model::{Profile, Time};
use forebay_pipeline::Memory;
use serde::Serialize;

use crate::failure::{Failure, Result};
use crate::session::{Ended, Session};
use forebay_app::MachineSpec;

/// Bytes of a source without bursts.
const STREAM: u64 = 32 << 20;
/// Bursts that are simulated: the second meets what the first has left.
const BURSTS: u64 = 2;
/// Longest time that is simulated: some minutes of the user's.
const LONGEST: Time = forebay_model::SECOND / 5;

/// What is simulated.
#[derive(Clone, Debug)]
pub struct Trial<'a> {
    /// Drive and fabric.
    pub profile: &'a Profile,
    /// Where the streamer keeps its payload.
    pub memory: Memory,
    /// Drives of the plan.
    pub drives: u64,
    /// One of them holds parity.
    pub parity: bool,
    /// Bytes a second in a burst.
    pub rate: u64,
    /// Bytes of a burst, and the time from one to the next.
    pub burst: Option<(u64, Time)>,
    /// Bytes of the FIFO.
    pub fifo: u64,
    /// Most bytes to simulate.
    pub most: u64,
    /// Decides everything random.
    pub seed: u64,
}

/// What came of it.
#[derive(Debug, Serialize)]
pub struct Verification {
    /// Bytes that the source gave.
    pub bytes: u64,
    /// The FIFO that was simulated.
    pub fifo_bytes: u64,
    /// Most bytes that waited in it.
    pub most_bytes: u64,
    /// Bytes that found it full.
    pub lost_bytes: u64,
    /// Half the FIFO would have lost some.
    pub half_loses: bool,
    /// Bytes a second that were stored, from the first to the last.
    pub stored_bytes_per_second: f64,
}

impl Trial<'_> {
    /// Simulates; none where bursts have more bytes or take longer than is simulated.
    ///
    /// # Errors
    /// Where the RTL cannot be built or breaks down, or the user stops.
    pub fn run(&self) -> Result<Option<Verification>> {
        let bytes = match self.burst {
            // Of a slow source less comes in that time.
            None => STREAM.min(self.most).min(self.rate.div_ceil(5)).max(1),
            Some((bytes, _)) => bytes.saturating_mul(BURSTS),
        };
        let every = self.burst.map_or(0, |(_, every)| every);
        if bytes > self.most || every > LONGEST / BURSTS {
            return Ok(None);
        }
        let pace = Pace {
            bytes_per_second: self.rate,
            burst_bytes: self.burst.map_or(0, |(bytes, _)| bytes),
            every,
            fifo_bytes: self.fifo,
        };
        let mut machine = MachineSpec {
            seed: self.seed,
            memory: self.memory,
            ..MachineSpec::default()
        };
        machine.array.drives = Some(u8::try_from(self.drives).unwrap_or(u8::MAX));
        machine.array.parity = self.parity;
        let mut session = Session::start(&machine, "forebay.plan/2", |config| {
            config.profile = self.profile.clone();
            for drive in &mut config.more_drives {
                drive.profile = self.profile.ssd.clone();
            }
            Ok(())
        })?;
        let bytes = bytes.min(session.namespace()?.bytes());
        session.begin();
        session.system.set_pace(pace);
        session
            .system
            .submit_write(Write::pattern(0, bytes, self.seed));
        match session.run("a source that cannot wait", bytes) {
            Ended::Done => {}
            Ended::Interrupted => return Err(Failure::interrupted()),
            Ended::Failed(failure) => return Err(failure),
        }
        let found = session.system.paced().unwrap_or_default();
        let rate = session.rate(forebay_cosim::Direction::Write);
        Ok(Some(Verification {
            bytes,
            fifo_bytes: pace.fifo_bytes,
            most_bytes: found.most_bytes,
            lost_bytes: found.lost_bytes,
            half_loses: found.most_bytes > pace.fifo_bytes / 2,
            stored_bytes_per_second: rate.gigabytes_per_second * 1e9,
        }))
    }
}
