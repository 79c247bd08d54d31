// SPDX-License-Identifier: Apache-2.0
//! `forebay boot`: drives are brought up without a CPU, in simulation.

use forebay_app::boot::{BootReport, DriveRow};
use forebay_app::progress::Progress;
use forebay_draw::text::{Grid, Page, or_dash};
use forebay_pipeline::units::bytes;

use crate::args::BootArgs;
use crate::failure::{Exit, Result};
use crate::report::{self, Report};

/// Brings up and tells what came of it.
pub fn run(args: &BootArgs) -> Result<Exit> {
    let progress = Progress::stage("bring-up");
    let found = args.spec().run(&mut |step| progress.build(step))?;
    drop(progress);
    let report = Report::new("forebay.boot/1", found);
    report::show(&report, || page(&report.found))?;
    Ok(match report.found.code {
        0 => Exit::Good,
        _ => Exit::BadResult,
    })
}

fn page(found: &BootReport) -> Page {
    let mut page = Page::simulated("Bring-up without a CPU");
    page.heading("Console");
    page.line(found.console.trim_end());
    drive_table(&mut page, &found.drives);
    page.heading("End");
    page.field("time", format_args!("{} us", found.time_us));
    match found.top {
        Some(top) => page.field("cycles", format_args!("{} of {top}", found.steps)),
        None => page.field(
            "executed",
            format_args!("{} instructions, interpreted", found.steps),
        ),
    };
    for (code, count) in &found.counts {
        page.field(
            &format!("code {code}"),
            format_args!("counted {count} times"),
        );
    }
    if let Some(time) = found.ready_after_us {
        page.field(
            "ready",
            format_args!("{time:.1} us after the last drive's CSTS.RDY"),
        );
    }
    if found.console_dropped > 0 {
        page.field(
            "console",
            format_args!("{} characters dropped", found.console_dropped),
        );
    }
    let ready = found.drives.iter().filter(|drive| drive.ready).count();
    let place = or_dash(found.place);
    let sentence = match (found.code, found.name) {
        (0, _) => format!("{ready} of {} drives are ready", found.drives.len()),
        (code, Some(name)) => format!("failed with code {code}, {name}, at word {place}"),
        (code, None) => format!("failed with code {code} at word {place}"),
    };
    page.verdict(found.code == 0, sentence);
    page
}

/// Shows drives as the program found them.
pub fn drive_table(page: &mut Page, drives: &[DriveRow]) {
    page.heading("Drives");
    if drives.is_empty() {
        page.line("  none");
        return;
    }
    let mut grid = Grid::new(
        "function | BAR 0 | model | serial | firmware | namespace | blocks | transfer | code",
    );
    for drive in drives {
        grid.row(cells(drive));
    }
    page.grid(grid);
}

fn cells(drive: &DriveRow) -> [String; 9] {
    let learned = |text: &str| or_dash((!text.is_empty()).then_some(text));
    let failure = drive.failure.unwrap_or("unknown");
    [
        drive.function.clone(),
        or_dash((drive.bar != 0).then(|| format!("{:#010x}", drive.bar))),
        learned(&drive.model),
        learned(&drive.serial),
        learned(&drive.firmware),
        or_dash((drive.namespace != 0).then_some(drive.namespace)),
        match drive.block_bytes {
            0 => or_dash(None::<u8>),
            block => format!("{} × {block} B", drive.blocks),
        },
        match drive.transfer_bytes {
            _ if drive.model.is_empty() => or_dash(None::<u8>),
            0 => "no limit".into(),
            most => bytes(most),
        },
        match (drive.ready, drive.code) {
            (true, _) => "ready".into(),
            (false, 0) => "not ready".into(),
            (false, code) => format!("{code}: {failure}, {:#x}", drive.found),
        },
    ]
}
