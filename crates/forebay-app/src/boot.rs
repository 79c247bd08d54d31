// SPDX-License-Identifier: Apache-2.0
//! Bring-up of drives without a CPU, in simulation: by the RTL, or by the interpreted program.

mod qemu;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use forebay_cosim::root::{Boot, Hierarchy, Modelled, RootConfig, Status, settings, source};
use forebay_cosim::{Drive, Stall};
use forebay_model::pci::Below;
use forebay_model::{MICROSECOND, Time};
use forebay_rtl::Progress as Build;
use forebay_seq::boot::{PROGRAM, Settings};
use forebay_seq::{Interpreter, boot};
use forebay_spec::boot::{Code, ram, state};
use serde::Serialize;

use crate::failure::{Exit, Failure, Result};
use crate::machine::ArraySpec;
use crate::{home, interrupt};

pub use qemu::{QemuReport, QemuSpec, Recorded};

/// Most instructions of the interpreted program.
const INSTRUCTIONS_MOST: u64 = 20_000_000;
/// A bring-up in simulation that takes longer is given up.
const LIMIT: Time = 60 * forebay_model::SECOND;

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BootFault {
    /// The link never comes up.
    NoLink,
    /// The link goes down after this number of accesses below the root port.
    LinkDown(u64),
    /// A drive answers this number of accesses, and all later ones read as ones.
    Silent(usize, u64),
    /// A drive answers this number of configuration accesses with Configuration Retry.
    Retry(usize, u64),
    /// The controller of a drive reports a fatal error at this time.
    Fatal(usize, Time),
}

/// What is brought up, and how.
#[derive(Clone, Debug)]
pub struct BootSpec {
    /// Profiles of the drives: one, or one for each.
    pub profiles: Vec<String>,
    /// Drives, 0 to 8.
    pub drives: u8,
    /// Switches in a row above the drives; none: one where there are several drives.
    pub levels: Option<u8>,
    /// Most entries of an I/O queue.
    pub queue_entries: u16,
    /// For how long PERST# is asserted, and what passes from link-up to the first request.
    pub reset_us: u64,
    /// Time from PERST# to link-up.
    pub link_after: Time,
    /// The failure of one drive ends the program.
    pub together: bool,
    /// For how long drives that are ready are watched.
    pub watch: Time,
    /// What goes wrong.
    pub faults: Vec<BootFault>,
    /// Pauses of each port of the RTL.
    pub stall: Stall,
    /// Period of the RTL's clock in picoseconds; none: the program is interpreted, without RTL.
    pub period: Option<Time>,
    /// Decides everything that is random.
    pub seed: u64,
}

/// What came of it.
#[derive(Debug, Serialize)]
pub struct BootReport {
    /// The top module that ran the program; none: it was interpreted.
    pub top: Option<&'static str>,
    /// Code that it ended with.
    pub code: u8,
    /// What the code is called; none: 0, or no code of the program.
    pub name: Option<&'static str>,
    /// The word that ended it; none: drives are ready and are watched.
    pub place: Option<u16>,
    /// What it was at.
    pub state: u8,
    /// Microseconds from the last drive's CSTS.RDY until all drives have their queues; none: no RTL, or
    /// none is ready.
    pub ready_after_us: Option<f64>,
    /// Simulated microseconds from power-on to its end.
    pub time_us: u64,
    /// Clock cycles of the RTL, or instructions of the interpreter.
    pub steps: u64,
    /// What it wrote to the console.
    pub console: String,
    /// The drives that it found.
    pub drives: Vec<DriveRow>,
    /// How often it counted each code, by number.
    pub counts: BTreeMap<u8, u32>,
    /// Characters that found no room in front of the console.
    pub console_dropped: u32,
    /// What drives sent to addresses where nothing is.
    pub stray: u64,
}

/// A drive by the program's memory. What the program did not learn is 0, or empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DriveRow {
    /// Bus, device and function.
    pub function: String,
    /// Bus address of BAR 0.
    pub bar: u64,
    /// Bytes of BAR 0.
    pub bar_bytes: u64,
    /// Model number.
    pub model: String,
    /// Serial number.
    pub serial: String,
    /// Firmware revision.
    pub firmware: String,
    /// The namespace.
    pub namespace: u32,
    /// Its logical blocks.
    pub blocks: u64,
    /// Bytes of a logical block.
    pub block_bytes: u64,
    /// Most bytes of a transfer; 0: no limit.
    pub transfer_bytes: u64,
    /// Entries of its I/O queues.
    pub queue_entries: u16,
    /// It is ready.
    pub ready: bool,
    /// Code of what went wrong; 0: nothing.
    pub code: u8,
    /// What the code is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<&'static str>,
    /// What was found where it went wrong.
    pub found: u64,
}

impl DriveRow {
    /// Those in the program's memory, with what it says of which are ready.
    pub fn all(memory: &[u64; ram::BYTES as usize / 8], drives_ready: u8) -> Vec<Self> {
        let drives = boot::Drive::all(memory).into_iter().zip(0..);
        let rows = drives.map(|(drive, number)| Self::new(drive, drives_ready >> number & 1 != 0));
        rows.collect()
    }

    fn new(of: boot::Drive, ready: bool) -> Self {
        let (bus, device, function) = (of.ecam >> 20, of.ecam >> 15 & 31, of.ecam >> 12 & 7);
        Self {
            function: format!("{bus:02x}:{device:02x}.{function}"),
            bar: of.bar,
            bar_bytes: of.bar_bytes,
            model: of.model,
            serial: of.serial,
            firmware: of.firmware,
            namespace: of.nsid,
            blocks: of.blocks,
            block_bytes: of.block_bytes,
            transfer_bytes: of.transfer_bytes,
            queue_entries: of.entries,
            ready,
            code: of.code,
            failure: name(of.code),
            found: of.found,
        }
    }
}

/// What a code is called.
fn name(code: u8) -> Option<&'static str> {
    Code::from_number(code).map(Code::name)
}

impl BootSpec {
    fn settings(&self) -> Settings {
        Settings {
            reset_us: self.reset_us,
            together: self.together,
            watch: true,
            ..settings(self.queue_entries)
        }
    }

    /// What is below the root port.
    fn hierarchy(&self) -> Result<Hierarchy> {
        let array = ArraySpec {
            drives: Some(self.drives.max(1)),
            ..ArraySpec::default()
        };
        let (profile, more) = array.load(&self.profiles)?;
        let drives = std::iter::once(Drive::new(profile.ssd)).chain(more);
        let mut drives: Vec<Drive> = drives.take(self.drives.into()).collect();
        for fault in &self.faults {
            if let BootFault::Fatal(drive, at) = *fault {
                named(&mut drives, drive)?.faults.fatal_at = Some(at);
            }
        }
        let count = drives.len();
        let mut config = RootConfig::new(profile.fabric, drives);
        let levels = self.levels.unwrap_or(u8::from(count > 1));
        if count > 1 && levels == 0 {
            let (limit, remedy) = ("a port has one link", "give 1 or more, or one drive");
            return Err(Failure::input("levels", levels, limit, remedy));
        }
        config.below = below(count, levels);
        config.seed = self.seed;
        config.link_after = match self.faults.contains(&BootFault::NoLink) {
            true => None,
            false => Some(self.link_after),
        };
        let mut hierarchy = Hierarchy::new(config)?;
        let tree = hierarchy.tree_mut();
        for fault in &self.faults {
            match *fault {
                BootFault::LinkDown(accesses) => tree.port.answers_left = Some(accesses),
                BootFault::Silent(drive, accesses) => match tree.endpoint_mut(drive) {
                    Some(endpoint) => endpoint.answers_left = Some(accesses),
                    None => return Err(no_drive(drive, count)),
                },
                BootFault::Retry(drive, accesses) => match tree.endpoint_mut(drive) {
                    Some(endpoint) => endpoint.retries = accesses,
                    None => return Err(no_drive(drive, count)),
                },
                BootFault::NoLink | BootFault::Fatal(..) => {}
            }
        }
        Ok(hierarchy)
    }

    /// Brings up.
    ///
    /// # Errors
    /// Where a profile is bad, the RTL cannot be built, or it breaks a rule of its ports.
    pub fn run(&self, build: &mut (dyn FnMut(Build) + Send)) -> Result<BootReport> {
        match self.period {
            Some(period) => self.run_rtl(period, build),
            None => self.interpret(),
        }
    }

    fn run_rtl(&self, period: Time, build: &mut (dyn FnMut(Build) + Send)) -> Result<BootReport> {
        let source = source(&home::find()?, &self.settings(), period);
        let clocking = (period, self.stall, self.seed);
        let mut boot = Boot::new(&source, self.hierarchy()?, clocking, build)?;
        let stop = Arc::new(AtomicBool::new(false));
        interrupt::also(Arc::clone(&stop));
        boot.start(self.together, false);
        let status = boot.run(self.watch, LIMIT + self.watch, &stop)?;
        if interrupt::wanted() {
            return Err(Failure::interrupted());
        }
        let (time, steps) = (boot.hierarchy().now(), boot.cycles());
        if !status.ended && status.state != state::READY {
            return Err(not_ended(&status));
        }
        let mut counts = BTreeMap::new();
        for code in Code::ALL.map(Code::number) {
            counts.insert(code, boot.count(code)?);
        }
        counts.retain(|_, count| *count > 0);
        Ok(BootReport {
            top: Some("fb_top_boot"),
            code: status.code,
            name: name(status.code),
            place: status.ended.then_some(status.place),
            state: status.state,
            ready_after_us: boot.ready_after().map(|time| time as f64 / 1e6),
            time_us: time / MICROSECOND,
            steps,
            console: boot.console(),
            drives: DriveRow::all(&boot.memory()?, status.drives_ready),
            counts,
            console_dropped: boot.console_dropped()?,
            stray: boot.stray(),
        })
    }

    fn interpret(&self) -> Result<BootReport> {
        let program = forebay_seq::assemble(PROGRAM).map_err(|error| {
            let message = format!("rtl/boot/boot.seq:{error}");
            Failure::new(Exit::BadInput, message, error.remedy)
        })?;
        let root = Modelled::new(self.hierarchy()?);
        let mut spaces = boot::Boot::new(root, self.settings());
        let mut running = Interpreter::new(program.words());
        let mut until = None;
        let end = loop {
            if let Some(end) = running.step(&mut spaces) {
                break Some(end);
            }
            let now = spaces.root().hierarchy().now();
            if until.is_none() && spaces.told().state == state::READY {
                until = Some(now + self.watch);
            }
            if until.is_some_and(|until| now >= until) {
                break None;
            }
            if interrupt::wanted() {
                return Err(Failure::interrupted());
            }
            if running.executed() > INSTRUCTIONS_MOST {
                let message = format!("{INSTRUCTIONS_MOST} instructions were not enough");
                let remedy = "report this with the command line";
                return Err(Failure::new(Exit::Stuck, message, remedy));
            }
        };
        let told = spaces.told();
        let counts = (0..=u8::MAX)
            .zip(told.codes)
            .filter(|(_, count)| *count > 0);
        Ok(BootReport {
            top: None,
            code: end.map_or(0, |end| end.code),
            name: end.and_then(|end| name(end.code)),
            place: end.map(|end| end.place),
            ready_after_us: None,
            state: told.state,
            counts: counts.collect(),
            steps: running.executed(),
            console: spaces.console(),
            drives: DriveRow::all(spaces.ram(), told.drives_ready),
            time_us: spaces.root().hierarchy().now() / MICROSECOND,
            console_dropped: 0,
            stray: spaces.root().stray(),
        })
    }
}

/// The program takes too long.
fn not_ended(status: &Status) -> Failure {
    let seconds = LIMIT / forebay_model::SECOND;
    Failure::new(
        Exit::Stuck,
        format!(
            "the program has not ended within {seconds} s: state {}",
            status.state
        ),
        "report this with the command line",
    )
}

/// Drives behind this number of switches in a row, all on the last one.
fn below(drives: usize, levels: u8) -> Below {
    let ports = (0..drives).map(|drive| (drive as u8, Below::function(drive)));
    let innermost = match (drives, levels) {
        (0, 0) => Below::Nothing,
        (_, 0) => Below::function(0),
        _ => Below::switch(ports),
    };
    (1..levels).fold(innermost, |below, _| {
        Below::switch([(0, Below::Nothing), (1, below)])
    })
}

fn named(drives: &mut [Drive], drive: usize) -> Result<&mut Drive> {
    let count = drives.len();
    drives.get_mut(drive).ok_or_else(|| no_drive(drive, count))
}

fn no_drive(drive: usize, count: usize) -> Failure {
    let limit = format!("there are {count} drives, counted from 0");
    Failure::input(
        "fault",
        drive,
        &limit,
        "name another drive, or add --drives",
    )
}
