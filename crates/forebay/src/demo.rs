// SPDX-License-Identifier: Apache-2.0
//! `forebay demo`: a real file, through the RTL, to the drive and back.

use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;
use std::sync::Arc;

use forebay_lab::demo::{self, Demo, Way};

use crate::args::DemoArgs;
use crate::failure::{Exit, Failure, Result};
use crate::home;
use crate::render::{self, Grid, Page};
use crate::report::{self, Header};
use crate::traffic;

/// Characters of what a step found; JSON has it whole.
const FOUND: usize = 56;

/// Runs it.
pub fn run(args: &DemoArgs) -> Result<Exit> {
    let (path, data) = load(args)?;
    let (report, ended) = demo::run(&args.machine, home::short(&path), &data)?;
    if !report::emit(&report)? {
        show(&report);
    }
    Ok(ended.exit(report.is_good()))
}

/// Reads the file, or as much as is wanted of it.
fn load(args: &DemoArgs) -> Result<(PathBuf, Arc<[u8]>)> {
    let path = match &args.file {
        Some(path) => path.clone(),
        None => std::env::current_exe()
            .map_err(|error| Failure::file("finding", "this program".as_ref(), error))?,
    };
    let file = File::open(&path).map_err(|error| Failure::file("opening", &path, error))?;
    let mut data = Vec::new();
    file.take(args.limit)
        .read_to_end(&mut data)
        .map_err(|error| Failure::file("reading", &path, error))?;
    if data.is_empty() {
        return Err(Failure::input(
            "--file",
            path.display(),
            "it is empty",
            "name a file with something in it",
        ));
    }
    Ok((path, data.into()))
}

fn show(report: &Demo) {
    let mut page = Page::new("Forebay demo");
    page.line("A real file through the streamer's RTL onto an SSD, and back.\n");
    let size = render::bytes(report.file_bytes);
    page.field("file", format_args!("{}, {size}", report.file));
    page.field("drive", &report.header.profile.description);
    page.field("streamer", streamer(&report.header));
    let took: u64 = report.bring_up.iter().map(|step| step.duration_ns).sum();
    page.heading(&format!(
        "Bring-up by the driver, {}",
        render::seconds(took as f64 * 1e-9)
    ));
    let mut grid = Grid::new(&["", "step", ">time", "found"]);
    for step in &report.bring_up {
        let time = render::seconds(step.duration_ns as f64 * 1e-9);
        grid.row([
            &render::mark(true),
            &step.name,
            &time,
            &render::shortened(&step.found, FOUND),
        ]);
    }
    page.grid(grid);
    if report.write.is_some() {
        page.heading("How fast it went, beside an ideal polling host on the same drive");
        let mut grid = Grid::new(&["", ">time", ">B/cycle", ">GB/s", ">host GB/s", ">ratio"]);
        for (name, way) in [("write", &report.write), ("read", &report.read)] {
            if let Some(way) = way {
                grid.row(cells(
                    name,
                    way,
                    report.header.rtl.clock_hz.unwrap_or_default(),
                ));
            }
        }
        page.grid(grid);
    }
    page.heading("Where the bytes went");
    let ways = [("write", &report.write), ("read", &report.read)];
    let ways = ways
        .iter()
        .filter_map(|(name, way)| Some((*name, way.as_ref()?)));
    page.grid(traffic::grid(
        ways.map(|(name, way)| (name, &way.streamer.traffic)),
    ));
    let count = render::count(report.file_bytes);
    if report.is_good() {
        page.verdict(
            true,
            format_args!("{count} bytes there and back, none differs: OK"),
        );
    } else if report.header.interrupted {
        page.verdict(false, "interrupted: the numbers are of what was reached");
    } else {
        page.verdict(
            false,
            format_args!(
                "of {count} bytes {} came back wrong, {} lie wrong on the medium",
                render::count(report.differ_bytes),
                render::count(report.differ_medium_bytes)
            ),
        );
    }
    let wall = render::seconds(report.wall_seconds);
    page.line(format_args!(
        "  {wall} of your time. RTL by Verilator; drive, PCIe and host are models."
    ));
    page.print();
}

/// The RTL in a few words.
pub fn streamer(header: &Header) -> String {
    let parameter = |name: &str| {
        header
            .rtl
            .parameters
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value)
    };
    let mut text = header.rtl.top.clone();
    if let Some(depth) = parameter("QueueDepth") {
        text.push_str(&format!(", queue depth {depth}"));
    }
    if let Some(pages) = parameter("Pages") {
        text.push_str(&format!(", reorder window {pages} pages"));
    }
    if let Some(clock) = header.rtl.clock_hz {
        text.push_str(&format!(", {:.0} MHz", clock / 1e6));
    }
    text
}

fn cells(name: &str, way: &Way, clock_hz: f64) -> [String; 6] {
    [
        name.to_owned(),
        render::seconds(way.streamer.cycles as f64 / clock_hz),
        format!("{:.2}", way.streamer.bytes_per_cycle),
        format!("{:.2}", way.streamer.gigabytes_per_second),
        way.reference
            .as_ref()
            .map_or("–".into(), |host| render::rate(host.gigabytes_per_second)),
        render::ratio(way.ratio),
    ]
}
