// SPDX-License-Identifier: Apache-2.0
//! Rates and latencies of one kind of work after the other.

use forebay_app::reference::Reference;
use forebay_app::report::Rate;
use forebay_app::traffic;
use forebay_app::workload::{Op, ops, scattered, sequential};
use forebay_app::{Ended, MachineSpec, Result, Session};
use forebay_cosim::{Direction, Workload};
use forebay_draw::text::{self, Grid, Page, or_dash};
use forebay_pipeline::units;
use serde::Serialize;

use super::{Found, Ran, SCHEMA, beside, bytes, is_good, small};

/// Bytes of the transaction of which the start counts.
const ONE: u64 = 8 << 20;
/// Bytes of a command of the host's driver: a usual size for sequential work.
const HOST_COMMAND: u64 = 128 << 10;
/// Bytes of the drive in which random addresses are, at most: enough to spread over all of its
/// flash.
const AREA: u64 = 64 << 30;
/// Runs of a latency, a cold one and warm ones; the report has least, median and most.
const REPEATS: u64 = 5;
/// Cycles without work before each, so that everything has come to rest.
const REST: u64 = 2_000;

/// Rows of a bench of rates.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Rows {
    /// One for each measurement.
    pub rows: Vec<Row>,
    /// Each transaction was alone: latencies count.
    #[serde(skip)]
    pub alone: bool,
}

/// One measurement.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Name that stays the same over versions.
    pub id: &'static str,
    /// For people.
    pub title: String,
    /// Through the RTL.
    pub streamer: Rate,
    /// By an ideal polling host.
    pub reference: Option<Rate>,
    /// Bytes per cycle of the streamer over those of the reference.
    pub ratio: Option<f64>,
}

/// A bench of rates under way.
struct Bench {
    session: Session,
    reference: Reference,
    found: Rows,
    ended: Ended,
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

    /// Measures, unless an earlier measurement was the last; the host may be given other commands.
    fn measure(
        &mut self,
        id: &'static str,
        title: String,
        ops: &[Op],
        host: &Workload,
    ) -> Result<()> {
        if !self.ended.is_done() {
            return Ok(());
        }
        let (session, reference) = (&mut self.session, &self.reference);
        let (streamer, reference, ended) = beside(session, reference, &title, ops, host)?;
        self.ended = ended;
        let ratio = reference.as_ref();
        let ratio = ratio.and_then(|reference| streamer.ratio_to(reference));
        self.found.rows.push(Row {
            id,
            title,
            streamer,
            reference,
            ratio,
        });
        Ok(())
    }

    fn ran(self, name: &'static str) -> Ran<Rows> {
        let header = self.session.header(&self.ended);
        let good = self.found.rows.iter().all(|row| is_good(&row.streamer));
        Ran::new(name, header, self.found, self.ended, good)
    }
}

/// Sequential work of the bytes asked for: what the core can carry at most.
///
/// # Errors
/// Where the RTL, the profile or the bring-up fails.
pub fn core(machine: &MachineSpec, asked: Option<u64>) -> Result<Ran<Rows>> {
    let mut bench = Bench::start(machine)?;
    let bytes = bytes(asked, &bench.session)?;
    let one = ONE.min(bytes);
    let alone = "one transaction, start included";
    for (id, title, direction, bytes) in [
        (
            "sequential_write",
            "sequential write",
            Direction::Write,
            bytes,
        ),
        ("one_write", alone, Direction::Write, one),
        ("sequential_read", "sequential read", Direction::Read, bytes),
    ] {
        // One transaction of any length: the streamer splits it into commands.
        let ops = ops(&sequential(direction, bytes, bytes));
        if direction == Direction::Read {
            bench.session.prepare(&ops)?;
        }
        let title = format!("{title}, {}", units::bytes(bytes));
        let host = sequential(direction, bytes, HOST_COMMAND);
        bench.measure(id, title, &ops, &host)?;
    }
    Ok(bench.ran("core"))
}

/// Random work: many small transactions, all queued from the start.
///
/// # Errors
/// As [`core`]; of an array with parity.
pub fn random(machine: &MachineSpec, asked: Option<u64>) -> Result<Ran<Rows>> {
    small(machine)?;
    let mut bench = Bench::start(machine)?;
    let bytes = bytes(asked, &bench.session)?;
    let namespace = bench.session.namespace()?;
    let area = namespace.bytes().min(AREA);
    for (id, direction, length, bytes) in [
        ("random_read_4k", Direction::Read, 4096, bytes),
        ("random_write_4k", Direction::Write, 4096, bytes),
        // An eighth of the bytes is as many transactions.
        ("random_write_512", Direction::Write, 512, bytes / 8),
    ] {
        if length < namespace.block_bytes() {
            continue;
        }
        let host = scattered(direction, bytes, length, area, machine.seed);
        let ops = ops(&host);
        let way = match direction {
            Direction::Read => "reads",
            Direction::Write => "writes",
        };
        if direction == Direction::Read {
            bench.session.prepare(&ops)?;
        }
        let title = format!("random {way} of {}", units::bytes(length));
        bench.measure(id, title, &ops, &host)?;
    }
    Ok(bench.ran("random"))
}

/// Latency: one transaction, nothing else under way.
///
/// # Errors
/// As [`core`]; of an array with parity.
pub fn latency(machine: &MachineSpec) -> Result<Ran<Rows>> {
    small(machine)?;
    let mut bench = Bench::start(machine)?;
    bench.found.alone = true;
    for (id, direction, length) in [
        ("write_4k", Direction::Write, 4096),
        ("read_4k", Direction::Read, 4096),
        ("write_1m", Direction::Write, 1 << 20),
        ("read_1m", Direction::Read, 1 << 20),
    ] {
        let ops = ops(&sequential(direction, REPEATS * length, length));
        bench.session.prepare(&ops)?;
        let (way, to) = match direction {
            Direction::Write => ("write", "first beat to token"),
            Direction::Read => ("read", "command to last beat"),
        };
        let title = format!("{way} of {}, {to}", units::bytes(length));
        one_by_one(&mut bench, id, &title, &ops)?;
    }
    Ok(bench.ran("latency"))
}

/// As [`Bench::measure`], each operation alone; the rows are put together.
fn one_by_one(bench: &mut Bench, id: &'static str, title: &str, ops: &[Op]) -> Result<()> {
    let before = bench.found.rows.len();
    for op in ops {
        if bench.ended.is_done() {
            bench.session.system.run_cycles(REST)?;
        }
        let host = sequential(op.direction, op.length, op.length);
        bench.measure(id, title.to_owned(), std::slice::from_ref(op), &host)?;
    }
    let runs = bench.found.rows.split_off(before);
    let streamer: Vec<Rate> = runs.iter().map(|run| run.streamer.clone()).collect();
    // One that was stopped has no reference.
    let reference: Vec<Rate> = runs.into_iter().filter_map(|run| run.reference).collect();
    if streamer.is_empty() {
        return Ok(());
    }
    let streamer = Rate::together(&streamer);
    let reference = (!reference.is_empty()).then(|| Rate::together(&reference));
    bench.found.rows.push(Row {
        id,
        title: title.to_owned(),
        // Of latencies the shorter is the better: the ratio is the reference's over ours.
        ratio: reference.as_ref().and_then(|reference| {
            let median = |rate: &Rate| f64::from(rate.latency_cycles.p50);
            // An ideal drive answers an ideal host at once.
            let ratio = median(reference) / median(&streamer);
            (ratio.is_finite() && ratio > 0.0).then_some(ratio)
        }),
        streamer,
        reference,
    });
    Ok(())
}

impl Rows {
    fn rates(&self) -> Grid {
        let mut grid =
            Grid::new(" | >B/cycle | >GB/s | >p50 | >p99 cycles | >host B/cycle | >ratio");
        for row in &self.rows {
            let host = row.reference.as_ref();
            grid.row([
                row.title.clone(),
                format!("{:.2}", row.streamer.bytes_per_cycle),
                format!("{:.2}", row.streamer.gigabytes_per_second),
                units::count(row.streamer.latency_cycles.p50.into()),
                units::count(row.streamer.latency_cycles.p99.into()),
                or_dash(host.map(|host| text::rate(host.bytes_per_cycle))),
                text::ratio(row.ratio),
            ]);
        }
        grid
    }

    fn latencies(&self) -> Grid {
        let mut grid = Grid::new(
            "one transaction alone | >least | >median | >most cycles | >host median | >ratio",
        );
        for row in &self.rows {
            let latency = row.streamer.latency_cycles;
            let host = row.reference.as_ref();
            grid.row([
                row.title.clone(),
                units::count(latency.least.into()),
                units::count(latency.p50.into()),
                units::count(latency.most.into()),
                or_dash(host.map(|host| units::count(host.latency_cycles.p50.into()))),
                text::ratio(row.ratio),
            ]);
        }
        grid
    }
}

impl Found for Rows {
    fn draw(&self, page: &mut Page) {
        page.grid(match self.alone {
            true => self.latencies(),
            false => self.rates(),
        });
        page.heading("What crossed PCIe");
        let rows = self.rows.iter();
        page.grid(traffic::grid(
            rows.map(|row| (row.title.as_str(), &row.streamer.traffic)),
        ));
    }
}
