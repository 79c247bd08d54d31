// SPDX-License-Identifier: Apache-2.0
//! A machine that runs: built, brought up, and driven with progress shown.

use std::time::{Duration, Instant};

use forebay_cosim::{Config, Direction, Error, System};
use forebay_driver::inspect::DriveCounts;
use forebay_driver::{Layout, Namespace, Step};
use forebay_model::{HopCount, Ssd};
use serde::{Deserialize, Serialize};

use crate::failure::{Exit, Failure, Result};
use crate::interrupt;
use crate::machine::MachineSpec;
use crate::progress::Progress;
use crate::report::{self, Header, ProfileName, Rate, Rtl};
use crate::workload::{Op, prepare};

/// How a run ended. What was reached is in the statistics in each case.
#[derive(Debug, Default)]
pub enum Ended {
    /// Every transaction has ended.
    #[default]
    Done,
    /// The user stopped it.
    Interrupted,
    /// Something broke.
    Failed(Failure),
}

impl Ended {
    /// Whether every transaction has ended.
    pub const fn is_done(&self) -> bool {
        matches!(self, Self::Done)
    }

    /// How a simulation ended.
    pub fn of(result: forebay_cosim::Result<()>) -> Self {
        match result {
            Ok(()) => Self::Done,
            Err(Error::Interrupted) => Self::Interrupted,
            Err(error) => Self::Failed(error.into()),
        }
    }

    /// The exit code, once the report is out.
    ///
    /// # Errors
    /// What broke: the user is told last, where it is most visible.
    pub fn exit(self, good: bool) -> Result<Exit> {
        match self {
            Self::Done if good => Ok(Exit::Good),
            Self::Done => Ok(Exit::BadResult),
            Self::Interrupted => Ok(Exit::Interrupted),
            Self::Failed(failure) => Err(failure),
        }
    }
}

/// A step of bring-up, for reports.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StepReport {
    /// What was done.
    pub name: String,
    /// How long it took, in simulated nanoseconds.
    pub duration_ns: u64,
    /// What was found.
    pub found: String,
}

impl From<&Step> for StepReport {
    fn from(step: &Step) -> Self {
        Self {
            name: step.name.to_string(),
            duration_ns: u64::try_from(step.duration.as_nanos()).unwrap_or(u64::MAX),
            found: step.found.clone(),
        }
    }
}

/// A machine that runs.
pub struct Session {
    /// RTL, fabric, drive, host.
    pub system: System,
    /// The steps of its bring-up.
    pub steps: Vec<StepReport>,
    /// How long the RTL took to be compiled, by this machine's clock; none: it was there already.
    pub compiled: Option<Duration>,
    header: Header,
    /// What had crossed the links when counting began.
    hops_before: Vec<HopCount>,
}

impl Session {
    /// Builds the RTL and brings drive and streamer up; `adjust` changes what the options say.
    ///
    /// # Errors
    /// Where the RTL, the profile or the bring-up fails.
    pub fn start(
        machine: &MachineSpec,
        schema: &str,
        adjust: impl FnOnce(&mut Config) -> Result<()>,
    ) -> Result<Self> {
        let mut config = machine.config()?;
        adjust(&mut config)?;
        Self::of(config, schema)
    }

    /// The same of a configuration.
    ///
    /// # Errors
    /// Where the RTL, the profile or the bring-up fails.
    pub fn of(config: Config, schema: &str) -> Result<Self> {
        Self::shown(config, schema, Progress::stage)
    }

    /// The same, with nothing shown while it goes on.
    ///
    /// # Errors
    /// Where the RTL, the profile or the bring-up fails.
    pub fn quietly(config: Config, schema: &str) -> Result<Self> {
        Self::shown(config, schema, |_| Progress::hidden())
    }

    fn shown(config: Config, schema: &str, stage: impl Fn(&str) -> Progress) -> Result<Self> {
        let header = Header {
            schema: schema.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command_line: report::command_line(),
            simulated: true,
            seed: config.seed,
            interrupted: false,
            profile: ProfileName {
                name: config.profile.name.clone(),
                description: config.profile.description.clone(),
            },
            rtl: Rtl {
                top: config.rtl.top.clone(),
                parameters: config.rtl.parameters.clone(),
                clock_hz: Some(1e12 / config.clock_period as f64),
            },
        };
        let progress = stage("looking for the RTL's library");
        let (began, mut was_there) = (Instant::now(), true);
        let mut told = |step| {
            was_there &= step == forebay_rtl::Progress::Cached;
            progress.build(step);
        };
        let mut system = System::new(config, &mut told).map_err(interrupt::instead)?;
        let compiled = (!was_there).then(|| began.elapsed());
        drop(progress);
        interrupt::also(system.stop_flag());
        let _progress = stage("bringing drive and streamer up");
        let mut steps = Vec::new();
        system.bring_up(&mut |step| steps.push(StepReport::from(step)))?;
        let mut session = Self {
            system,
            steps,
            compiled,
            header,
            hops_before: Vec::new(),
        };
        session.begin();
        Ok(session)
    }

    /// What a report begins with; `ended` is how the last run ended.
    pub fn header(&self, ended: &Ended) -> Header {
        Header {
            interrupted: matches!(ended, Ended::Interrupted),
            ..self.header.clone()
        }
    }

    /// The namespace in use, or what an array is instead.
    ///
    /// # Errors
    /// Where there is none: never after [`Session::start`].
    pub fn namespace(&self) -> Result<Namespace> {
        let session = self.system.session();
        session
            .map(|session| {
                let (facts, bytes) = (session.facts(), session.facts().bytes());
                Namespace {
                    blocks: bytes >> facts.namespace.block_shift,
                    sectors: bytes >> 9,
                    ..facts.namespace
                }
            })
            .ok_or_else(|| {
                Failure::new(
                    Exit::Impossible,
                    "nothing was brought up",
                    "report this defect",
                )
            })
    }

    /// The drive of an array with parity that is done without.
    pub fn missing(&self) -> Option<usize> {
        let missing = self.system.session().and_then(|session| session.missing());
        missing.map(usize::from)
    }

    /// Resets the drives and brings everything up again; a drive that was done without stays out.
    ///
    /// # Errors
    /// The step that failed.
    pub fn recover(&mut self) -> Result<()> {
        self.system.recover(&mut |_| {})?;
        Ok(())
    }

    /// Which byte lies on which drive.
    pub fn layout(&self) -> Layout {
        let session = self.system.session();
        session.map_or(Layout::ONE, |session| session.facts().layout())
    }

    /// What the streamer counted of each drive since bring-up; nothing where it is built for one.
    pub fn drives(&mut self) -> Vec<DriveCounts> {
        let read = self.system.with_session(|session, bus| {
            let streamer = session.streamer().cloned();
            streamer.map(|streamer| streamer.drives(bus))
        });
        // It does not answer after a failure, which is told anyway.
        read.flatten()
            .and_then(std::result::Result::ok)
            .unwrap_or_default()
    }

    /// Puts the pattern where reads will look for it.
    ///
    /// # Errors
    /// As [`prepare`].
    pub fn prepare(&mut self, ops: &[Op]) -> Result<()> {
        let layout = self.layout();
        prepare(self.system.ssds_mut(), layout, ops, self.header.seed)
    }

    /// What lies on the drives at this address.
    ///
    /// # Errors
    /// Where a medium cannot be read.
    pub fn stored(&self, address: u64, bytes: usize) -> Result<Vec<u8>> {
        let mut all = Vec::with_capacity(bytes);
        for (drive, at, bytes) in self.layout().split(address, bytes as u64) {
            let mut part = vec![0; bytes as usize];
            // What a missing drive lacks is the sum of all others.
            for (number, ssd) in self.system.ssds().iter().enumerate() {
                if (number == drive) == (self.missing() == Some(drive)) {
                    continue;
                }
                let data = on_drive(ssd, at, bytes as usize)?;
                part.iter_mut().zip(data.iter()).for_each(|(a, b)| *a ^= b);
            }
            all.extend_from_slice(&part);
        }
        Ok(all)
    }

    /// Whether the RTL has the registers and bits that SNAcc's lacks.
    pub fn is_extended(&self) -> bool {
        let streamer = self
            .system
            .session()
            .and_then(forebay_driver::Session::streamer);
        streamer.is_some_and(forebay_driver::Streamer::is_extended)
    }

    /// Begins to count anew.
    pub fn begin(&mut self) {
        self.system.reset_stats();
        self.system.take_outcomes();
        self.hops_before = self.system.fabric().hops().to_vec();
    }

    /// What crossed the links since [`Session::begin`].
    pub fn hops(&self) -> Vec<HopCount> {
        let now = self.system.fabric().hops().iter();
        now.zip(&self.hops_before)
            .map(|(hop, before)| hop.since(before))
            .collect()
    }

    /// How fast it went this way since [`Session::begin`].
    pub fn rate(&self, direction: Direction) -> Rate {
        let stats = self.system.stats();
        let flow = match direction {
            Direction::Write => &stats.writes,
            Direction::Read => &stats.reads,
        };
        Rate::of(flow, self.system.clock_period(), &self.hops())
    }

    /// Runs what was submitted, `bytes` bytes, until all has ended.
    pub fn run(&mut self, label: &str, bytes: u64) -> Ended {
        let progress = Progress::bytes(label, bytes);
        let progress = progress.clone();
        self.system.on_progress(move |snapshot| {
            progress.at(snapshot
                .bytes
                .max(bytes.saturating_sub(snapshot.bytes_to_send)));
        });
        let ended = Ended::of(self.system.run());
        self.system.on_progress(|_| {});
        ended
    }

    /// Runs until this number of transactions has ended since [`Session::begin`].
    pub fn run_to(&mut self, transactions: u64) -> Ended {
        let enough = |system: &System| system.snapshot().transactions >= transactions;
        Ended::of(self.system.run_until(enough))
    }

    /// Moves the pattern of this run's seed as the operations say, all in one direction, and
    /// measures.
    pub fn measure(&mut self, label: &str, ops: &[Op]) -> Measured {
        self.begin();
        let seed = self.header.seed;
        for op in ops {
            op.submit(&mut self.system, seed);
        }
        let ended = self.run(label, ops.iter().map(|op| op.length).sum());
        let direction = ops.first().map_or(Direction::Write, |op| op.direction);
        let rate = self.rate(direction);
        Measured { rate, ended }
    }

    /// Shuts drive and streamer down.
    ///
    /// # Errors
    /// The step that failed.
    pub fn shut_down(&mut self) -> Result<()> {
        self.system.shutdown(&mut |_| {})?;
        Ok(())
    }
}

/// What came of a measurement.
#[derive(Debug)]
pub struct Measured {
    /// How fast it went.
    pub rate: Rate,
    /// How it ended.
    pub ended: Ended,
}

/// Reads bytes from the medium of a simulated drive.
///
/// # Errors
/// A medium that cannot be read.
pub fn on_drive(ssd: &Ssd, at: u64, bytes: usize) -> Result<Box<[u8]>> {
    ssd.medium().read(at, bytes).map_err(|error| {
        Failure::new(
            Exit::Impossible,
            format!("the simulated medium cannot be read: {error}"),
            "check the room for temporary files",
        )
    })
}
