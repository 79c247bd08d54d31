// SPDX-License-Identifier: Apache-2.0
//! `forebay plan`: which buffer and how many drives a recording needs, and what limits it.

mod answer;
mod stages;
mod state;
mod verify;

use forebay_model::{DramProfile, Profile};
use forebay_pipeline::Memory;
use serde::Serialize;

use crate::args::PlanArgs;
use crate::failure::{Exit, Failure, Result};
use crate::render::{self, Grid, Page};
use crate::report;
use answer::{Buffer, Source, Waiting};
use stages::Stage;
use state::State;
use verify::{Trial, Verification};

/// Most drives that are planned with.
const DRIVES: u64 = 8;
/// What writes may hold of the on-chip memory: all but what a resting direction keeps.
const ONCHIP: u64 = (1024 - 64) << 12;
/// And of memory outside of the chip.
const OFFCHIP: u64 = 64 << 20;
/// Most bytes of a command of the streamer.
const COMMAND: u64 = 1 << 20;
/// The same with several drives: the default of `--chunk`.
const CHUNK: u64 = 64 << 10;
/// The on-board memory that a plan counts on.
const DRAM: &str = "ddr4-2400";

/// What comes of it.
#[derive(Serialize)]
struct Report {
    schema: &'static str,
    version: &'static str,
    command_line: Vec<String>,
    simulated: bool,
    seed: u64,
    profile: String,
    source: Source,
    /// Whether it can be recorded without loss, by arithmetic.
    possible: bool,
    plan: Plan,
    verification: Option<Verification>,
    notes: Vec<String>,
}

/// The answer.
#[derive(Clone, Serialize)]
struct Plan {
    drives: u64,
    memory: Memory,
    memory_bytes: u64,
    /// Most bytes that wait, and where.
    waiting: Waiting,
    fifo_bytes: u64,
    /// What is stored in the long run, bytes per second.
    sustained_bytes_per_second: f64,
    /// The part that limits.
    bottleneck: String,
    /// The state that the drives get into.
    state: String,
    stages: Vec<Stage>,
}

/// Runs it.
///
/// # Errors
/// Where the profile is bad, a drive or the RTL fails, or the report cannot be written.
pub fn run(args: &PlanArgs) -> Result<Exit> {
    let profile = Profile::load(&args.profile)?;
    let burst = args.burst.zip(args.every);
    let source = Source::new(args.rate, burst);
    check(args, &source)?;
    let mut notes = Vec::new();
    let (plan, state) = best(args, &profile, &source)?;
    let possible = plan.sustained_bytes_per_second >= source.mean_bytes_per_second;
    let mut verification = None;
    if !possible {
        notes.push(format!(
            "{:.2} GB/s come on average, {:.2} can be stored: no buffer helps",
            source.mean_bytes_per_second / 1e9,
            plan.sustained_bytes_per_second / 1e9
        ));
    } else if !args.no_verify {
        let trial = Trial {
            profile: &state.profile,
            memory: plan.memory,
            drives: plan.drives,
            rate: args.rate,
            burst,
            fifo: plan.fifo_bytes,
            most: args.verify_bytes,
            seed: args.seed,
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
    let report = Report {
        schema: "forebay.plan/1",
        version: env!("CARGO_PKG_VERSION"),
        command_line: report::command_line(),
        simulated: true,
        seed: args.seed,
        profile: profile.name.clone(),
        source,
        possible,
        plan,
        verification,
        notes,
    };
    if !report::emit(&report, args.report.json.as_deref())? {
        show(&report);
    }
    Ok(if report.holds() {
        Exit::Good
    } else {
        Exit::BadResult
    })
}

impl Report {
    /// Possible, and nothing was lost where it was simulated.
    fn holds(&self) -> bool {
        let lost = self
            .verification
            .as_ref()
            .map_or(0, |found| found.lost_bytes);
        self.possible && lost == 0
    }
}

/// Refuses what cannot be meant.
fn check(args: &PlanArgs, source: &Source) -> Result<()> {
    if let Some(wire) = stages::wire(args.wire, args.mtu)
        && source.bytes_per_second > wire.bytes_per_second
    {
        return Err(Failure::input(
            "--rate",
            format_args!("{:.2} GB/s", source.bytes_per_second / 1e9),
            &format!(
                "the wire carries {:.2} ({})",
                wire.bytes_per_second / 1e9,
                wire.because
            ),
            "lower it, name a faster --wire, or --wire 0 for a source on the board",
        ));
    }
    if let (Some(0), _) = (args.every, args.burst) {
        return Err(Failure::input(
            "--every",
            "0",
            "bursts follow one another after some time",
            "give for example 10ms",
        ));
    }
    Ok(())
}

/// The plan with the fewest drives and the smallest memory that suffices; else the one that stores
/// most.
fn best(args: &PlanArgs, profile: &Profile, source: &Source) -> Result<(Plan, State)> {
    let drives = args.drives.map_or(1..=DRIVES, |drives| drives..=drives);
    let memories = match &args.memory {
        Some(memory) => std::slice::from_ref(memory),
        None => &Memory::ALL,
    };
    let mut most: Option<(Plan, State)> = None;
    for drives in drives {
        let share = |bytes: u64| bytes / drives;
        let mean = source.mean_bytes_per_second / drives as f64;
        let state = state::worst(profile, args.total.map(share), mean);
        let one = stages::measured(&state.profile, args.seed)?;
        let mut fitting: Option<Plan> = None;
        for &memory in memories {
            let plan = planned(args, source, (drives, one), &state, memory)?;
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
    args: &PlanArgs,
    source: &Source,
    (drives, one): (u64, f64),
    state: &State,
    memory: Memory,
) -> Result<Plan> {
    let fabric = &state.profile.fabric;
    let mut all: Vec<Stage> = stages::wire(args.wire, args.mtu).into_iter().collect();
    all.push(stages::datapath());
    // A command's pages are free when all of it has been stored; of several drives it has a chunk.
    let held = if drives == 1 { COMMAND } else { drives * CHUNK };
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
        bytes: bytes.saturating_sub(held),
        takes,
        twice: memory == Memory::Dram,
    };
    all.push(link);
    all.push(stages::drive_links(fabric, drives));
    all.push(stages::drives(one, drives, &state.says));
    let (serves, bottleneck) = answer::slowest(&all);
    let waiting = answer::waiting(source, serves, state.pauses, &buffer);
    Ok(Plan {
        drives,
        memory,
        memory_bytes: buffer.bytes,
        waiting,
        fifo_bytes: args
            .fifo
            .unwrap_or_else(|| answer::fifo(waiting.before_streamer_bytes)),
        sustained_bytes_per_second: answer::sustained(serves, state.pauses),
        bottleneck: bottleneck.to_owned(),
        state: state.says.clone(),
        stages: all,
    })
}

fn show(report: &Report) {
    let Report { source, plan, .. } = report;
    let rate = |rate: f64| format!("{:.2} GB/s", rate / 1e9);
    let mut page = Page::new("Forebay plan");
    let bursts = match (source.burst_bytes, source.every_seconds) {
        (Some(bytes), Some(seconds)) => format!(
            ", {} every {}, {} on average",
            render::bytes(bytes),
            render::seconds(seconds),
            rate(source.mean_bytes_per_second)
        ),
        _ => ", without end".to_owned(),
    };
    page.field(
        "source",
        format_args!("{}{bursts}", rate(source.bytes_per_second)),
    );
    page.field("profile", &report.profile);
    page.heading("What each part carries");
    let mut grid = Grid::new(&["part", ">GB/s", "", "because"]);
    for stage in &plan.stages {
        let share = source.mean_bytes_per_second / stage.bytes_per_second;
        grid.row([
            stage.name.clone(),
            render::rate(if stage.bytes_per_second.is_finite() {
                stage.bytes_per_second / 1e9
            } else {
                0.0
            }),
            render::bar(share, 16),
            stage.because.clone(),
        ]);
    }
    page.grid(grid);
    page.heading("The plan");
    page.field("drives", plan.drives);
    page.field(
        "memory",
        format_args!(
            "{}, {} for writes",
            plan.memory.name(),
            render::bytes(plan.memory_bytes)
        ),
    );
    page.field(
        "waiting",
        format_args!("{} at most", render::bytes(plan.waiting.bytes)),
    );
    page.field(
        "FIFO",
        format_args!("{} before the streamer", render::bytes(plan.fifo_bytes)),
    );
    page.field(
        "stores",
        format_args!("{} in the long run", rate(plan.sustained_bytes_per_second)),
    );
    page.field("limited by", &plan.bottleneck);
    if let Some(found) = &report.verification {
        page.heading("Simulated, with a source that cannot wait");
        page.field(
            "moved",
            format_args!(
                "{}, {} stored",
                render::bytes(found.bytes),
                rate(found.stored_bytes_per_second)
            ),
        );
        page.field(
            "FIFO",
            format_args!(
                "{} of {} at most",
                render::bytes(found.most_bytes),
                render::bytes(found.fifo_bytes)
            ),
        );
        page.field(
            "lost",
            format_args!("{} bytes", render::count(found.lost_bytes)),
        );
        let half = if found.half_loses {
            "would lose some"
        } else {
            "would do, too, in this simulation"
        };
        page.field("half of it", half);
    }
    for note in &report.notes {
        page.line(format_args!("  · {note}"));
    }
    let sentence = match (report.possible, &report.verification) {
        (false, _) => format!(
            "not possible with {} drives: {} limits",
            plan.drives, plan.bottleneck
        ),
        (true, None) => "possible, by arithmetic alone".to_owned(),
        (true, Some(found)) if found.lost_bytes == 0 => "no byte is lost".to_owned(),
        (true, Some(_)) => "bytes are lost: the FIFO is too small".to_owned(),
    };
    page.verdict(report.holds(), sentence);
    page.print();
}
