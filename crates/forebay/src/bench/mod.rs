// SPDX-License-Identifier: Apache-2.0
//! `forebay bench`: measurements, each beside an ideal polling host on the same drive and fabric.

mod core;
mod cuts;
mod drives;
mod latency;
mod net;
mod random;
mod scale;
mod scale_chart;
mod soak;
mod speed;
mod store;

use forebay_cosim::Workload;
use serde::Serialize;

use forebay_app::MachineSpec;

use crate::args::{BenchArgs, BenchCommand, DefaultProfile};
use crate::demo;
use crate::failure::{Exit, Failure, Result};
use crate::interrupt;
use crate::reference::Reference;
use crate::render::{self, Grid, Page};
use crate::report::{self, Header, Rate};
use crate::session::{Ended, Session};
use crate::traffic;
use crate::workload::Op;

/// Kind and version of the report.
const SCHEMA: &str = "forebay.bench/1";

/// Runs one.
pub fn run(command: &BenchCommand) -> Result<Exit> {
    match command {
        BenchCommand::Core(args) => core::run(args),
        BenchCommand::Drives(args) => drives::run(args),
        BenchCommand::Latency(args) => {
            small(&args.machine)?;
            latency::run(args)
        }
        BenchCommand::Random(args) => {
            small(&args.machine)?;
            random::run(args)
        }
        BenchCommand::Net(args) => net::run(args),
        BenchCommand::Store(args) => store::run(args),
        BenchCommand::Speed(args) => speed::run(args),
        BenchCommand::Scale(args) => {
            small(&args.machine)?;
            scale::run(args)
        }
        BenchCommand::Soak(args) => soak::run(args),
    }
}

/// Whether pieces smaller than a row can be written.
fn small(machine: &MachineSpec) -> Result<()> {
    if !machine.array.parity {
        return Ok(());
    }
    Err(Failure::input(
        "--parity",
        "given",
        "this bench writes less than a row, a chunk of each drive with data, which parity refuses",
        "leave it out, or run bench core or bench drives",
    ))
}

/// What a bench reports.
#[derive(Serialize)]
struct Report<D: Serialize> {
    #[serde(flatten)]
    header: Header,
    /// Which bench.
    bench: &'static str,
    /// What it found.
    #[serde(flatten)]
    found: D,
}

/// Rows of a bench of rates.
#[derive(Default, Serialize)]
struct Rows {
    rows: Vec<Row>,
}

/// One measurement.
#[derive(Serialize)]
struct Row {
    /// Name that stays the same over versions.
    id: &'static str,
    /// For people.
    title: String,
    /// Through the RTL.
    streamer: Rate,
    /// By an ideal polling host.
    reference: Option<Rate>,
    /// Bytes per cycle of the streamer over those of the reference.
    ratio: Option<f64>,
}

impl Rows {
    fn are_good(&self) -> bool {
        self.rows
            .iter()
            .all(|row| row.streamer.failed == 0 && row.streamer.mismatched == 0)
    }
}

/// A bench of rates under way.
struct Bench {
    session: Session,
    reference: Reference,
    found: Rows,
    ended: Ended,
}

/// What is measured: the same for streamer and host, unless the host is given other commands.
struct Measurement<'a> {
    id: &'static str,
    title: String,
    ops: &'a [Op],
    /// What the host does.
    host: Workload,
}

impl Bench {
    fn start(machine: &MachineSpec) -> Result<Self> {
        Ok(Self {
            session: Session::start(machine, SCHEMA, |_| Ok(()))?,
            reference: Reference::new(machine)?,
            found: Rows::default(),
            ended: Ended::Done,
        })
    }

    /// Measures, unless an earlier measurement was the last.
    fn measure(&mut self, measurement: &Measurement<'_>) -> Result<()> {
        if !self.ended.is_done() {
            return Ok(());
        }
        let Measurement {
            id,
            title,
            ops,
            host,
        } = measurement;
        let measured = self.session.measure(title, ops);
        self.ended = measured.ended;
        let reference = if self.ended.is_done() {
            self.reference
                .measure(&format!("{title}, ideal host"), host)?
        } else {
            None
        };
        if self.ended.is_done() && interrupt::wanted() {
            self.ended = Ended::Interrupted;
        }
        self.found.rows.push(Row {
            id,
            title: title.clone(),
            ratio: reference
                .as_ref()
                .and_then(|reference| measured.rate.ratio_to(reference)),
            streamer: measured.rate,
            reference,
        });
        Ok(())
    }

    /// Reports.
    fn finish(self, name: &'static str, draw: impl FnOnce(&Rows) -> Grid) -> Result<Exit> {
        let good = self.found.are_good();
        let report = Report {
            header: self.session.header(&self.ended),
            bench: name,
            found: self.found,
        };
        if !report::emit(&report)? {
            let mut page = page(name, &report.header);
            page.grid(draw(&report.found));
            page.heading("What crossed PCIe");
            let rows = report.found.rows.iter();
            page.grid(traffic::grid(
                rows.map(|row| (row.title.as_str(), &row.streamer.traffic)),
            ));
            verdict(&mut page, &report.header, good);
            page.print();
        }
        Ok(self.ended.exit(good))
    }
}

/// The head of every bench's page.
fn page(name: &str, header: &Header) -> Page {
    let mut page = Page::new(&format!("Forebay bench {name}"));
    page.field("drive", &header.profile.description);
    page.field("streamer", demo::streamer(header));
    page.line("");
    page
}

fn verdict(page: &mut Page, header: &Header, good: bool) {
    if header.interrupted {
        page.verdict(false, "interrupted: the last row is of what was reached");
    } else if good {
        page.verdict(true, "every transaction went through, no byte differs");
    } else {
        page.verdict(
            false,
            "transactions failed or data differ: the numbers mean nothing",
        );
    }
}

/// Rates as a table.
fn rates(rows: &Rows) -> Grid {
    let mut grid = Grid::new(&[
        "",
        ">B/cycle",
        ">GB/s",
        ">p50",
        ">p99 cycles",
        ">host B/cycle",
        ">ratio",
    ]);
    for row in &rows.rows {
        grid.row([
            row.title.clone(),
            format!("{:.2}", row.streamer.bytes_per_cycle),
            format!("{:.2}", row.streamer.gigabytes_per_second),
            render::count(row.streamer.latency_cycles.p50.into()),
            render::count(row.streamer.latency_cycles.p99.into()),
            row.reference
                .as_ref()
                .map_or("–".into(), |host| render::rate(host.bytes_per_cycle)),
            render::ratio(row.ratio),
        ]);
    }
    grid
}

/// Bytes of a measurement of a rate: as asked for, else 64 MiB, but no more than the drive has.
fn bytes<P: DefaultProfile>(args: &BenchArgs<P>, session: &Session) -> Result<u64> {
    Ok(args
        .bytes
        .unwrap_or(64 << 20)
        .min(session.namespace()?.bytes()))
}
