// SPDX-License-Identifier: Apache-2.0
//! `forebay boot`: drives are brought up without a CPU, in simulation.

use forebay_app::boot::{BootReport, DriveRow, QemuReport, QemuSpec, Recorded};
use forebay_app::progress::Progress;
use forebay_draw::text::{Grid, Page, or_dash};
use forebay_pipeline::units::bytes;

use crate::args::BootArgs;
use crate::failure::{Exit, Result};
use crate::report::{self, Report};
use crate::vm;

/// Brings up and tells what came of it.
pub fn run(args: &BootArgs) -> Result<Exit> {
    if let Some(spec) = args.qemu() {
        return run_on_qemu(&spec);
    }
    let progress = Progress::stage("bring-up");
    let found = args.spec().run(&mut |step| progress.build(step))?;
    drop(progress);
    let report = Report::new("forebay.boot/1", found);
    report::show(&report, || page(&report.found))?;
    Ok(exit(report.found.code == 0))
}

fn run_on_qemu(spec: &QemuSpec) -> Result<Exit> {
    let image = vm::image()?;
    let progress = Progress::stage("bring-up");
    let found = spec.run(&image, &mut |step| progress.build(step))?;
    drop(progress);
    let report = Report::new("forebay.boot/1", found);
    let found = &report.found;
    report::show(&report, || page_of_qemu(found))?;
    let recorded = found.recorded.as_ref();
    let good = recorded.is_none_or(|recorded| recorded.wrong.is_empty());
    Ok(exit(
        good && found.boot.code == 0 && found.complaints.is_empty(),
    ))
}

const fn exit(good: bool) -> Exit {
    match good {
        true => Exit::Good,
        false => Exit::BadResult,
    }
}

fn page(found: &BootReport) -> Page {
    let mut page = Page::simulated("Bring-up without a CPU");
    show(&mut page, found);
    page.verdict(found.code == 0, sentence(found));
    page
}

fn page_of_qemu(found: &QemuReport) -> Page {
    let QemuReport {
        boot,
        recorded,
        complaints,
    } = found;
    let mut page = Page::simulated("Bring-up of QEMU's drives without a CPU");
    show(&mut page, boot);
    let mut wrong = Vec::new();
    if let Some(recorded) = recorded {
        show_recorded(&mut page, recorded);
        wrong.extend(recorded.wrong.iter().map(String::as_str));
    }
    complaint_list(&mut page, complaints);
    if !complaints.is_empty() {
        wrong.push("QEMU's controllers complain");
    }
    let mut sentence = sentence(boot);
    if let Some(recorded) = recorded {
        sentence += match recorded.wrong.is_empty() {
            true => "; what was read back, and the images, are what was sent",
            false => "; recording has failed",
        };
    }
    for wrong in &wrong {
        page.line(format_args!("  {wrong}"));
    }
    page.verdict(boot.code == 0 && wrong.is_empty(), sentence);
    page
}

fn show_recorded(page: &mut Page, of: &Recorded) {
    page.heading("Recorded");
    let us = |time| format!("{time} us");
    let of_all = |part| format!("{part} of {} bytes", of.bytes);
    page.field("stored", of_all(of.stored));
    page.field("written in", us(of.time_us[0]));
    page.field("read back", of_all(of.read));
    page.field("read in", us(of.time_us[1]));
    for (path, bytes) in &of.images {
        page.field("image", format_args!("{}: {bytes} bytes", path.display()));
    }
    for (what, code) in [("write", of.write_code), ("read", of.read_code)] {
        if code != 0 {
            page.field(what, format_args!("failed with code {code:#04x}"));
        }
    }
}

/// Shows what QEMU's controllers have to say.
pub fn complaint_list(page: &mut Page, complaints: &[String]) {
    if !complaints.is_empty() {
        page.heading("Complaints of QEMU's controllers");
    }
    for complaint in complaints {
        page.line(format_args!("  {complaint}"));
    }
}

/// Shows console, drives and end.
fn show(page: &mut Page, found: &BootReport) {
    page.heading("Console");
    page.line(found.console.trim_end());
    drive_table(page, &found.drives);
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
}

fn sentence(found: &BootReport) -> String {
    let ready = found.drives.iter().filter(|drive| drive.ready).count();
    let place = or_dash(found.place);
    match (found.code, found.name) {
        (0, _) => format!("{ready} of {} drives are ready", found.drives.len()),
        (code, Some(name)) => format!("failed with code {code}, {name}, at word {place}"),
        (code, None) => format!("failed with code {code} at word {place}"),
    }
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
