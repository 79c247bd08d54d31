// SPDX-License-Identifier: Apache-2.0
//! Which buffer and how many drives a recording needs, and what limits it.

mod answer;
mod basis;
mod life;
mod recorder;
mod stages;
mod state;
mod text;
mod verify;

use forebay_model::{DramProfile, Profile, Time};
use forebay_pipeline::Memory;
use serde::Serialize;

use crate::failure::{Exit, Failure, Result};
use answer::Buffer;
use state::State;
use verify::Trial;

pub use answer::{Source, Waiting};
pub use basis::Basis;
pub use life::Life;
pub use recorder::{Simulated, StreamFifo};
pub use stages::Stage;
pub use text::page;
pub use verify::Verification;

/// Most drives that are planned with.
const DRIVES: u64 = 8;
/// What writes may hold of the on-chip memory: all but what a resting direction keeps.
const ONCHIP: u64 = (1024 - 64) << 12;
/// And of memory outside of the chip.
const OFFCHIP: u64 = (1024 - 64) << 16;
/// Most bytes of a command of the streamer.
const COMMAND: u64 = 1 << 20;
/// The same with several drives: the stripe unit that is the default.
const CHUNK: u64 = 64 << 10;
/// Where a command is cut, on chip: between two pages.
const PAGE: u64 = 4096;
/// Most bytes that the RTL is simulated with, unless the user says.
const VERIFIED: u64 = 256 << 20;
/// The on-board memory that a plan counts on.
const DRAM: &str = "ddr4-2400";

/// What is to be recorded, and with what.
#[derive(Clone, Debug)]
pub struct PlanSpec {
    /// Bytes a second that the source gives while it gives anything.
    pub rate: u64,
    /// Bytes of a burst; none: without end.
    pub burst: Option<u64>,
    /// From the beginning of a burst to that of the next.
    pub every: Option<Time>,
    /// Bytes in all: decides whether the drive's cache gets full; none: more than that.
    pub total: Option<u64>,
    /// Pauses of the drive in place of its profile's: how long, and after how many bytes each.
    pub pause: Option<(Time, u64)>,
    /// The recorder without a CPU: one drive behind a stream FIFO.
    pub recorder: bool,
    /// Bytes of its chunks; none: 128 KiB.
    pub chunk: Option<u64>,
    /// Drives, 1 to 8; none: as few as suffice.
    pub drives: Option<u64>,
    /// One of them holds the parity of the others.
    pub parity: bool,
    /// Drives to buy beside them.
    pub spares: u64,
    /// Bytes that are recorded a day; none: the source never stops.
    pub per_day: Option<u64>,
    /// Where the payload is; none: in the smallest memory that suffices.
    pub memory: Option<Memory>,
    /// Bytes of a FIFO between source and streamer; none: what is needed.
    pub fifo: Option<u64>,
    /// The network in front, bytes a second; 0: none.
    pub wire: u64,
    /// Bytes of its frames behind the Ethernet header, 61 to 65,535.
    pub mtu: u64,
    /// Profile of drive and fabric by name, or a TOML file.
    pub profile: String,
    /// Calculate only.
    pub no_verify: bool,
    /// Most bytes that are simulated; none: 256 MiB, or 4 GiB on the model alone.
    pub verify_bytes: Option<u64>,
    /// Decides everything that is random.
    pub seed: u64,
}

/// What comes of it.
#[derive(Debug, Serialize)]
pub struct Found {
    /// The profile's name.
    pub profile: String,
    /// The source.
    pub source: Source,
    /// Whether it can be recorded without loss, by arithmetic.
    pub possible: bool,
    /// The plan.
    pub plan: Plan,
    /// How long the drives take it.
    pub life: Life,
    /// The numbers that it rests on.
    pub rests_on: Vec<Basis>,
    /// The recorder's stream FIFO; none where none is planned.
    pub recorder: Option<StreamFifo>,
    /// What a simulation of the RTL said; none where it was left out.
    pub verification: Option<Verification>,
    /// What else is to be known.
    pub notes: Vec<String>,
}

/// The answer.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// Drives that are written, that of the parity with them.
    pub drives: u64,
    /// One of them holds parity.
    pub parity: bool,
    /// Drives to buy beside them.
    pub spares: u64,
    /// Where the payload is.
    pub memory: Memory,
    /// What writes may hold of it.
    pub memory_bytes: u64,
    /// Most bytes that wait, and where.
    pub waiting: Waiting,
    /// Bytes of the FIFO before the streamer.
    pub fifo_bytes: u64,
    /// What is stored in the long run, bytes per second.
    pub sustained_bytes_per_second: f64,
    /// The part that limits.
    pub bottleneck: String,
    /// The state that the drives get into.
    pub state: String,
    /// What each part carries.
    pub stages: Vec<Stage>,
}

/// Runs it.
///
/// # Errors
/// Where the profile is bad, or a drive or the RTL fails.
pub fn run(spec: &PlanSpec) -> Result<Found> {
    let profile = drive(spec)?;
    let burst = spec.burst.zip(spec.every);
    let source = Source::new(spec.rate, burst);
    check(spec, &source)?;
    let mut notes = Vec::new();
    let (plan, state, possible, recorder) = if spec.recorder {
        let found = recorder::planned(spec, &profile, &source)?;
        notes.extend(found.notes);
        (found.plan, found.state, found.possible, Some(found.fifo))
    } else {
        let (plan, state) = best(spec, &profile, &source)?;
        let possible = plan.sustained_bytes_per_second >= source.mean_bytes_per_second;
        (plan, state, possible, None)
    };
    let rate = source
        .mean_bytes_per_second
        .min(plan.sustained_bytes_per_second);
    let data = plan.data_drives();
    let life = Life::new(&profile, data, rate, spec.per_day);
    if life.years.is_none() {
        notes.push(format!(
            "nothing is known of how much may be written to {}",
            profile.name
        ));
    }
    let load = basis::Load {
        name: &spec.profile,
        total: spec.total.map(|bytes| bytes / data),
        mean: source.mean_bytes_per_second / data as f64,
        seed: spec.seed,
    };
    let mut rests_on = load.of_rate(&profile)?;
    rests_on.extend(basis::of_bottleneck(
        &profile,
        &DramProfile::builtin(DRAM)?,
        &plan.bottleneck,
    ));
    rests_on.extend(basis::of_life(&profile));
    if recorder.is_some() {
        rests_on.extend(basis::of_pauses(&profile));
    }
    let mut verification = None;
    let lasting = plan.sustained_bytes_per_second >= source.mean_bytes_per_second;
    if !possible && !lasting {
        notes.push(format!(
            "{:.2} GB/s come on average, {:.2} can be stored: no buffer helps",
            source.mean_bytes_per_second / 1e9,
            plan.sustained_bytes_per_second / 1e9
        ));
    } else if !spec.no_verify && recorder.is_none() {
        let trial = Trial {
            profile: &state.profile,
            memory: plan.memory,
            drives: plan.drives,
            parity: plan.parity,
            rate: spec.rate,
            burst,
            fifo: plan.fifo_bytes,
            most: spec.verify_bytes.unwrap_or(VERIFIED),
            seed: spec.seed,
        };
        verification = trial.run()?;
        if verification.is_none() {
            notes.push(
                "not simulated: two bursts are more than --verify-bytes, or than 0.2 s".into(),
            );
        }
        if state.pauses.is_some() {
            notes.push("pauses are counted by arithmetic; the simulation leaves them out".into());
        }
    }
    Ok(Found {
        profile: profile.name.clone(),
        source,
        possible,
        plan,
        life,
        rests_on,
        recorder,
        verification,
        notes,
    })
}

impl Found {
    /// Possible, and nothing was lost where it was simulated.
    pub fn holds(&self) -> bool {
        let lost = self
            .verification
            .as_ref()
            .map_or(0, |found| found.lost_bytes);
        let simulated = self
            .recorder
            .as_ref()
            .and_then(|fifo| fifo.simulated.as_ref());
        let lost = lost + simulated.map_or(0, |found| found.lost_bytes);
        self.possible && lost == 0
    }
}

impl Plan {
    /// Drives that hold payload.
    fn data_drives(&self) -> u64 {
        self.drives - u64::from(self.parity)
    }

    /// Drives to buy.
    pub fn drives_in_all(&self) -> u64 {
        self.drives + self.spares
    }
}

/// The drive, with the pauses that the user names.
fn drive(spec: &PlanSpec) -> Result<Profile> {
    let mut profile = Profile::load(&spec.profile)?;
    let Some((length, every)) = spec.pause else {
        return Ok(profile);
    };
    let Some(timing) = &mut profile.ssd.timing else {
        return Err(Failure::input(
            "pause",
            forebay_draw::text::seconds(length as f64 / forebay_model::SECOND as f64),
            &format!("{} takes no time for anything", profile.name),
            "name another profile, or leave it out",
        ));
    };
    timing.pauses = None;
    (timing.write.pause, timing.write.pause_every_bytes) = (length, every);
    for (field, value) in [
        (
            "ssd.timing.write.pause_us",
            length / forebay_model::MICROSECOND,
        ),
        ("ssd.timing.write.pause_every_bytes", every),
    ] {
        if let Some(row) = profile.sources.iter_mut().find(|row| row.field == field) {
            row.value = value as _;
            row.kind = forebay_model::profile::Kind::Chosen;
            row.source = "given on the command line".into();
        }
    }
    Ok(profile)
}

/// Refuses what cannot be meant.
fn check(spec: &PlanSpec, source: &Source) -> Result<()> {
    if let Some(wire) = stages::wire(spec.wire, spec.mtu)
        && source.bytes_per_second > wire.bytes_per_second
    {
        return Err(Failure::input(
            "rate",
            format_args!("{:.2} GB/s", source.bytes_per_second / 1e9),
            &format!(
                "the wire carries {:.2} ({})",
                wire.bytes_per_second / 1e9,
                wire.because
            ),
            "lower it, name a faster wire, or none for a source on the board (--wire none)",
        ));
    }
    if spec.parity && spec.drives == Some(1) {
        return Err(Failure::input(
            "drives",
            "1",
            "parity takes a drive of its own",
            "give 2 or more, or leave parity out",
        ));
    }
    let most = source.mean_bytes_per_second * 86_400.0;
    if let Some(bytes) = spec.per_day.filter(|bytes| *bytes as f64 > most) {
        return Err(Failure::input(
            "per_day",
            format_args!("{:.2} TB", bytes as f64 / 1e12),
            &format!("the source gives {:.2} TB in a day", most / 1e12),
            "lower it, or leave it out for a source that never stops",
        ));
    }
    if let (Some(0), _) = (spec.every, spec.burst) {
        return Err(Failure::input(
            "every",
            "0",
            "bursts follow one another after some time",
            "give for example 10ms",
        ));
    }
    Ok(())
}

/// The plan with the fewest drives and the smallest memory that suffices; else the one that stores
/// most.
fn best(spec: &PlanSpec, profile: &Profile, source: &Source) -> Result<(Plan, State)> {
    let parity = u64::from(spec.parity);
    let drives = spec
        .drives
        .map_or(1 + parity..=DRIVES, |drives| drives..=drives);
    let memories = match &spec.memory {
        Some(memory) => std::slice::from_ref(memory),
        None => &Memory::ALL,
    };
    let mut most: Option<(Plan, State)> = None;
    for drives in drives {
        let data = drives - parity;
        let mean = source.mean_bytes_per_second / data as f64;
        let state = state::worst(profile, spec.total.map(|bytes| bytes / data), mean);
        let one = stages::measured(&state.profile, spec.seed, stages::COMMANDS)?;
        let mut fitting: Option<Plan> = None;
        for &memory in memories {
            let plan = planned(spec, source, (drives, one), &state, memory)?;
            let better = most.as_ref().is_none_or(|(most, _)| {
                plan.sustained_bytes_per_second > most.sustained_bytes_per_second
            });
            if better {
                most = Some((plan.clone(), state.clone()));
            }
            if plan.sustained_bytes_per_second < source.mean_bytes_per_second {
                continue;
            }
            // The first that holds all; where none does, the one that leaves least before it.
            let enough = plan.waiting.before_streamer_bytes == 0;
            let smaller = fitting
                .as_ref()
                .is_none_or(|other| plan.fifo_bytes < other.fifo_bytes);
            if smaller {
                fitting = Some(plan);
            }
            if enough {
                break;
            }
        }
        if let Some(plan) = fitting {
            return Ok((plan, state));
        }
    }
    most.ok_or_else(|| {
        Failure::new(
            Exit::Impossible,
            "there is nothing to plan with",
            "report this defect",
        )
    })
}

fn planned(
    spec: &PlanSpec,
    source: &Source,
    (drives, one): (u64, f64),
    state: &State,
    memory: Memory,
) -> Result<Plan> {
    let fabric = &state.profile.fabric;
    let mut all: Vec<Stage> = stages::wire(spec.wire, spec.mtu).into_iter().collect();
    all.push(stages::datapath());
    let link = stages::card_link(fabric);
    let (bytes, takes) = match memory {
        Memory::Onchip => (ONCHIP, stages::datapath().bytes_per_second),
        Memory::Dram => {
            let dram = DramProfile::builtin(DRAM)?;
            all.push(stages::dram(&dram));
            (OFFCHIP, stages::bus(&dram))
        }
        // It is filled over the link that all that the drives read has crossed before.
        Memory::Host => (OFFCHIP, link.bytes_per_second),
    };
    let buffer = Buffer {
        bytes: bytes.saturating_sub(withheld(source, drives, memory)),
        takes,
        twice: memory == Memory::Dram,
    };
    let data = (drives - u64::from(spec.parity)) as f64 / drives as f64;
    all.push(link.with_parity(data));
    all.push(stages::drive_links(fabric, drives).with_parity(data));
    all.push(stages::drives(one, drives, &state.says).with_parity(data));
    let (serves, bottleneck) = answer::slowest(&all);
    let waiting = answer::waiting(source, serves, state.pauses, &buffer);
    Ok(Plan {
        drives,
        parity: spec.parity,
        spares: spec.spares,
        memory,
        memory_bytes: buffer.bytes,
        waiting,
        fifo_bytes: spec
            .fifo
            .unwrap_or_else(|| answer::fifo(waiting.before_streamer_bytes)),
        sustained_bytes_per_second: answer::sustained(serves, state.pauses),
        bottleneck: bottleneck.to_owned(),
        state: state.says.clone(),
        stages: all,
    })
}

/// What of the streamer's memory a burst cannot have.
fn withheld(source: &Source, drives: u64, memory: Memory) -> u64 {
    let command = if drives == 1 { COMMAND } else { CHUNK };
    // A command's pages are free when all of it has been stored, and each drive stores one.
    let stored = drives * command;
    // A command that the end of a burst leaves unfinished waits for the next burst: it can be cut
    // only between two pages. Where each burst ends with a page, no more than a chunk waits. Off the
    // chip it is cut between units, and where these begin depends on the commands before.
    let unfinished = match (source.ending(), memory) {
        (None, _) => 0,
        (Some(bytes), Memory::Onchip) if bytes % PAGE == 0 => CHUNK,
        (Some(_), _) => command,
    };
    stored + unfinished
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A burst of the 990 PRO that needs a FIFO behind the memory on chip.
    fn bursts(bytes: u64) -> PlanSpec {
        PlanSpec {
            rate: 9_480_000_000,
            burst: Some(bytes),
            every: Some(3984 * (forebay_model::SECOND / 1_000_000)),
            total: Some(1_000_000_000),
            pause: None,
            recorder: false,
            chunk: None,
            drives: None,
            parity: false,
            spares: 0,
            per_day: None,
            memory: Some(Memory::Onchip),
            fifo: None,
            wire: 12_500_000_000,
            mtu: 9000,
            profile: "990pro-2tb".into(),
            no_verify: true,
            verify_bytes: None,
            seed: 29,
        }
    }

    #[test]
    fn what_a_burst_leaves_unfinished_is_not_there_for_the_next() {
        // On RTL 349,726 bytes waited before the streamer: of the first burst 99 pages were left,
        // of a command that the burst's end had cut inside of a page.
        let found = run(&bursts(7_152_660)).expect("a plan");
        assert!(found.plan.waiting.before_streamer_bytes >= 349_726);
        assert_eq!(found.plan.memory_bytes, ONCHIP - 2 * COMMAND);
        // Bursts of whole pages leave less.
        let found = run(&bursts(7_152_660 / PAGE * PAGE)).expect("a plan");
        assert_eq!(found.plan.memory_bytes, ONCHIP - COMMAND - CHUNK);
    }

    #[test]
    fn a_source_without_bursts_leaves_nothing_unfinished() {
        let steady = Source::new(5_000_000_000, None);
        for memory in Memory::ALL {
            assert_eq!(withheld(&steady, 1, memory), COMMAND);
            assert_eq!(withheld(&steady, 3, memory), 3 * CHUNK);
        }
        let bursts = Source::new(5_000_000_000, Some((8 << 20, forebay_model::SECOND)));
        assert_eq!(withheld(&bursts, 1, Memory::Onchip), COMMAND + CHUNK);
        assert_eq!(withheld(&bursts, 1, Memory::Dram), 2 * COMMAND);
        assert_eq!(withheld(&bursts, 3, Memory::Host), 4 * CHUNK);
    }
}
