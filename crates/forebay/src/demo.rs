// SPDX-License-Identifier: Apache-2.0
//! `forebay demo`: a real file, through the RTL, to the drive and back.

use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use forebay_cosim::{Direction, Payload, Read, Sink, Write};
use serde::Serialize;

use crate::args::DemoArgs;
use crate::failure::{Exit, Failure, Result};
use crate::home;
use crate::interrupt;
use crate::reference::Reference;
use crate::render::{self, Grid, Page};
use crate::report::{self, Header, Rate};
use crate::session::{Ended, Session, StepReport};
use crate::traffic::{self, Hop, Traffic};
use crate::workload::sequential;

/// Characters of what a step found; JSON has it whole.
const FOUND: usize = 56;
/// Bytes of a command of the host's driver: a usual size for sequential work.
const HOST_COMMAND: u64 = 128 << 10;

#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    header: Header,
    file: String,
    file_bytes: u64,
    bring_up: Vec<StepReport>,
    write: Option<Way>,
    read: Option<Way>,
    /// Bytes that came back otherwise than they were sent, or not at all.
    differ_bytes: u64,
    /// Bytes that lie on the medium otherwise than they were sent.
    differ_medium_bytes: u64,
    hops: Vec<Hop>,
    wall_seconds: f64,
}

/// One way, beside an ideal host on the same drive.
#[derive(Serialize)]
struct Way {
    streamer: Rate,
    reference: Option<Rate>,
    ratio: Option<f64>,
}

impl Report {
    fn is_good(&self) -> bool {
        self.differ_bytes == 0 && self.differ_medium_bytes == 0 && self.read.is_some()
    }
}

/// Runs it.
pub fn run(args: &DemoArgs) -> Result<Exit> {
    let began = Instant::now();
    let (path, data) = load(args)?;
    let mut session = Session::start(&args.machine, "forebay.demo/1", |_| Ok(()))?;
    let bytes = data.len() as u64;
    let mut report = Report {
        header: session.header(&Ended::Done),
        file: home::short(&path),
        file_bytes: bytes,
        bring_up: session.steps.clone(),
        write: None,
        read: None,
        differ_bytes: bytes,
        differ_medium_bytes: bytes,
        hops: Vec::new(),
        wall_seconds: 0.0,
    };
    let mut ended = there_and_back(args, &mut session, &data, &mut report)?;
    if ended.is_done()
        && let Err(failure) = session.shut_down()
    {
        ended = Ended::Failed(failure);
    }
    report.header = session.header(&ended);
    report.wall_seconds = began.elapsed().as_secs_f64();
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

fn there_and_back(
    args: &DemoArgs,
    session: &mut Session,
    data: &Arc<[u8]>,
    report: &mut Report,
) -> Result<Ended> {
    let bytes = data.len() as u64;
    session.begin();
    session
        .system
        .submit_write(Write::new(0, Payload::Bytes(Arc::clone(data))));
    let ended = session.run("file → drive", bytes);
    let written = session.rate(Direction::Write);
    report.hops.clone_from(&written.traffic.hops);
    if !ended.is_done() {
        return Ok(ended);
    }
    report.differ_medium_bytes = differ_on_medium(session, data)?;
    session.begin();
    session
        .system
        .submit_read(Read::new(0, bytes, Sink::Collect));
    let ended = session.run("drive → file", bytes);
    let read = session.rate(Direction::Read);
    report.hops = Traffic::together([&written.traffic, &read.traffic], 2 * bytes).hops;
    if !ended.is_done() {
        return Ok(ended);
    }
    let back = session
        .system
        .take_outcomes()
        .pop()
        .map(|outcome| outcome.data)
        .unwrap_or_default();
    report.differ_bytes = differ(data, &back);
    let reference = Reference::new(&args.machine)?;
    let way = |streamer: Rate, direction, label: &str| -> Result<Way> {
        let reference = reference.measure(label, &sequential(direction, bytes, HOST_COMMAND))?;
        let ratio = reference
            .as_ref()
            .and_then(|reference| streamer.ratio_to(reference));
        Ok(Way {
            ratio,
            streamer,
            reference,
        })
    };
    report.write = Some(way(
        written,
        Direction::Write,
        "the same by an ideal host: write",
    )?);
    report.read = Some(way(
        read,
        Direction::Read,
        "the same by an ideal host: read",
    )?);
    Ok(if interrupt::wanted() {
        Ended::Interrupted
    } else {
        ended
    })
}

/// How many bytes differ; those that are missing do.
fn differ(sent: &[u8], back: &[u8]) -> u64 {
    let same = sent
        .iter()
        .zip(back)
        .filter(|(sent, back)| sent == back)
        .count();
    (sent.len().max(back.len()) - same) as u64
}

fn differ_on_medium(session: &Session, data: &[u8]) -> Result<u64> {
    let stored = session.stored(0, data.len())?;
    Ok(differ(data, &stored))
}

fn show(report: &Report) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_bytes_differ() {
        assert_eq!(differ(b"abc", b"abc"), 0);
        assert_eq!(differ(b"abc", b"abd"), 1);
        assert_eq!(differ(b"abc", b"ab"), 1);
        assert_eq!(differ(b"abc", b""), 3);
        assert_eq!(differ(b"", b"abc"), 3);
    }
}
