// SPDX-License-Identifier: Apache-2.0
//! Bytes through the RTL, to the drive and back, beside an ideal host.

use std::sync::Arc;
use std::time::Instant;

use forebay_app::reference::Reference;
use forebay_app::report::{Header, Rate};
use forebay_app::session::StepReport;
use forebay_app::traffic::{self, Hop, Traffic};
use forebay_app::workload::sequential;
use forebay_app::{Ended, MachineSpec, Result, Session, interrupt};
use forebay_cosim::{Direction, Payload, Read, Sink, Write};
use forebay_draw::text::{self, Grid, Page, mark, or_dash};
use forebay_pipeline::units::{bytes, count};
use serde::Serialize;

/// Bytes of a command of the host's driver: a usual size for sequential work.
const HOST_COMMAND: u64 = 128 << 10;
/// Characters of what a step found; JSON has it whole.
const FOUND: usize = 56;

/// What came of it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Demo {
    /// What is needed to repeat it.
    #[serde(flatten)]
    pub header: Header,
    /// The file.
    pub file: String,
    /// Its bytes.
    pub file_bytes: u64,
    /// Steps of the bring-up.
    pub bring_up: Vec<StepReport>,
    /// To the drive.
    pub write: Option<Way>,
    /// From the drive.
    pub read: Option<Way>,
    /// Bytes that came back otherwise than they were sent, or not at all.
    pub differ_bytes: u64,
    /// Bytes that lie on the medium otherwise than they were sent.
    pub differ_medium_bytes: u64,
    /// What crossed PCIe.
    pub hops: Vec<Hop>,
    /// Seconds of the user.
    pub wall_seconds: f64,
}

/// One way, beside an ideal host on the same drive.
#[derive(Clone, Debug, Serialize)]
pub struct Way {
    /// Through the RTL.
    pub streamer: Rate,
    /// By the host.
    pub reference: Option<Rate>,
    /// Rate of the streamer over that of the host.
    pub ratio: Option<f64>,
}

impl Demo {
    /// No byte differs.
    #[must_use]
    pub const fn is_good(&self) -> bool {
        self.differ_bytes == 0 && self.differ_medium_bytes == 0 && self.read.is_some()
    }
}

impl Demo {
    /// As text.
    #[must_use]
    pub fn page(&self) -> Page {
        let mut page = Page::simulated("Forebay demo");
        page.line("A real file through the streamer's RTL onto an SSD, and back.\n");
        let size = bytes(self.file_bytes);
        page.field("file", format_args!("{}, {size}", self.file));
        page.field("drive", &self.header.profile.description);
        page.field("streamer", self.header.streamer());
        let took: u64 = self.bring_up.iter().map(|step| step.duration_ns).sum();
        page.heading(&format!(
            "Bring-up by the driver, {}",
            text::seconds(took as f64 * 1e-9)
        ));
        let mut grid = Grid::new(" | step | >time | found");
        for step in &self.bring_up {
            let time = text::seconds(step.duration_ns as f64 * 1e-9);
            grid.row([
                mark(true),
                &step.name,
                &time,
                &text::shortened(&step.found, FOUND),
            ]);
        }
        page.grid(grid);
        if self.write.is_some() {
            page.heading("How fast it went, beside an ideal polling host on the same drive");
            let mut grid = Grid::new(" | >time | >B/cycle | >GB/s | >host GB/s | >ratio");
            for (name, way) in [("write", &self.write), ("read", &self.read)] {
                if let Some(way) = way {
                    grid.row(cells(
                        name,
                        way,
                        self.header.rtl.clock_hz.unwrap_or_default(),
                    ));
                }
            }
            page.grid(grid);
        }
        page.heading("Where the bytes went");
        let ways = [("write", &self.write), ("read", &self.read)];
        let ways = ways
            .iter()
            .filter_map(|(name, way)| Some((*name, way.as_ref()?)));
        page.grid(traffic::grid(
            ways.map(|(name, way)| (name, &way.streamer.traffic)),
        ));
        let all = count(self.file_bytes);
        if self.is_good() {
            page.verdict(
                true,
                format_args!("{all} bytes there and back, none differs: OK"),
            );
        } else if self.header.interrupted {
            page.verdict(false, "interrupted: the numbers are of what was reached");
        } else {
            page.verdict(
                false,
                format_args!(
                    "of {all} bytes {} came back wrong, {} lie wrong on the medium",
                    count(self.differ_bytes),
                    count(self.differ_medium_bytes)
                ),
            );
        }
        let wall = text::seconds(self.wall_seconds);
        page.line(format_args!(
            "  {wall} of your time. RTL by Verilator; drive, PCIe and host are models."
        ));
        page
    }
}

fn cells(name: &str, way: &Way, clock_hz: f64) -> [String; 6] {
    [
        name.to_owned(),
        text::seconds(way.streamer.cycles as f64 / clock_hz),
        format!("{:.2}", way.streamer.bytes_per_cycle),
        format!("{:.2}", way.streamer.gigabytes_per_second),
        or_dash(
            way.reference
                .as_ref()
                .map(|host| text::rate(host.gigabytes_per_second)),
        ),
        text::ratio(way.ratio),
    ]
}

/// Writes the bytes of a file of this name, reads them back, compares.
///
/// # Errors
/// Where the RTL, the profile or the bring-up fails.
pub fn run(machine: &MachineSpec, file: String, data: &Arc<[u8]>) -> Result<(Demo, Ended)> {
    let began = Instant::now();
    let mut session = Session::start(machine, "forebay.demo/1", |_| Ok(()))?;
    let bytes = data.len() as u64;
    let mut report = Demo {
        header: session.header(&Ended::Done),
        file,
        file_bytes: bytes,
        bring_up: session.steps.clone(),
        differ_bytes: bytes,
        differ_medium_bytes: bytes,
        ..Demo::default()
    };
    let mut ended = there_and_back(machine, &mut session, data, &mut report)?;
    if ended.is_done()
        && let Err(failure) = session.shut_down()
    {
        ended = Ended::Failed(failure);
    }
    report.header = session.header(&ended);
    report.wall_seconds = began.elapsed().as_secs_f64();
    Ok((report, ended))
}

fn there_and_back(
    machine: &MachineSpec,
    session: &mut Session,
    data: &Arc<[u8]>,
    report: &mut Demo,
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
    let reference = Reference::new(machine)?;
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
