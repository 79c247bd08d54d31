// SPDX-License-Identifier: Apache-2.0
//! `forebay plan`: shows which buffer and how many drives a recording needs.

use forebay_lab::plan::{self, Found};
use serde::Serialize;

use crate::args::PlanArgs;
use crate::failure::{Exit, Result};
use crate::render::{self, Grid, Page};
use crate::report;

#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    version: &'static str,
    command_line: Vec<String>,
    simulated: bool,
    seed: u64,
    #[serde(flatten)]
    found: &'a Found,
}

/// Runs it.
pub fn run(args: &PlanArgs) -> Result<Exit> {
    let found = plan::run(&args.spec())?;
    let report = Report {
        schema: "forebay.plan/1",
        version: env!("CARGO_PKG_VERSION"),
        command_line: report::command_line(),
        simulated: true,
        seed: args.seed,
        found: &found,
    };
    if !report::emit(&report)? {
        show(&found);
    }
    Ok(match found.holds() {
        true => Exit::Good,
        false => Exit::Infeasible,
    })
}

fn show(found: &Found) {
    let Found { source, plan, .. } = found;
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
    page.field("profile", &found.profile);
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
    if let Some(found) = &found.verification {
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
    for note in &found.notes {
        page.line(format_args!("  · {note}"));
    }
    let sentence = match (found.possible, &found.verification) {
        (false, _) => format!(
            "not possible with {} drives: {} limits",
            plan.drives, plan.bottleneck
        ),
        (true, None) => "possible, by arithmetic alone".to_owned(),
        (true, Some(found)) if found.lost_bytes == 0 => "no byte is lost".to_owned(),
        (true, Some(_)) => "bytes are lost: the FIFO is too small".to_owned(),
    };
    page.verdict(found.holds(), sentence);
    page.print();
}
