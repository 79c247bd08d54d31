// SPDX-License-Identifier: Apache-2.0
//! What a command costs, from one outstanding to as many as the queues hold, and from one drive to
//! eight: with drives that never wait, the streamer's own cycles.

use std::fs;

use forebay_cosim::Direction;
use serde::Serialize;

use super::{Report, page, scale_chart, verdict};
use crate::args::ScaleArgs;
use crate::failure::{Exit, Failure, Result};
use crate::render::Grid;
use crate::report;
use crate::session::{Ended, Session};
use crate::workload::{ops, scattered};

/// Entries of the queues of one drive; one less are outstanding.
const ENTRIES: [u16; 10] = [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
/// Numbers of drives, with queues as long as the options say.
const NUMBERS: std::ops::RangeInclusive<u8> = 1..=8;
/// Commands touch so much of the address space.
const SPREAD: u64 = 64 << 20;
/// Bytes of a beat of the user's streams.
const BEAT: u64 = 64;

/// What the commands are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Work {
    /// Name that stays the same over versions.
    work: &'static str,
    #[serde(skip)]
    direction: Direction,
    /// Of a command, which is a transaction of its own.
    bytes: u64,
}

/// All of them, in the order of the report.
pub const WORKS: [Work; 4] = [
    Work::new("write_4k", Direction::Write, 4096),
    Work::new("read_4k", Direction::Read, 4096),
    Work::new("write_512", Direction::Write, 512),
    Work::new("read_512", Direction::Read, 512),
];

impl Work {
    const fn new(work: &'static str, direction: Direction, bytes: u64) -> Self {
        Self {
            work,
            direction,
            bytes,
        }
    }

    /// For people.
    pub fn title(&self) -> String {
        self.work
            .replace('_', " ")
            .replace("512", "512 B")
            .replace("4k", "4 KiB")
    }

    /// What its beats take on the user's stream: the data, and the address of a write.
    const fn beats(&self) -> u64 {
        let address = matches!(self.direction, Direction::Write) as u64;
        self.bytes / BEAT + address
    }
}

/// What is gone through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Over {
    /// Commands outstanding at one drive.
    Outstanding,
    /// Drives, each with a queue as long.
    Drives,
}

/// A measurement.
#[derive(Debug, Serialize)]
pub struct Row {
    /// Name that stays the same over versions.
    id: String,
    pub over: Over,
    #[serde(flatten)]
    pub work: Work,
    pub drives: u8,
    /// Commands that the queues of all drives hold.
    pub outstanding: u32,
    /// Cycles from the first beat to the last answer, over the commands.
    pub cycles_per_command: f64,
    /// What cannot be less: the beats on the user's stream, or the wait of a command for its end
    /// shared by all that are outstanding.
    pub bound: f64,
    failed: u64,
    mismatched: u64,
}

/// How flat it is where commands enough are outstanding to hide a command's latency.
#[derive(Debug, Serialize)]
struct Flat {
    over: Over,
    #[serde(flatten)]
    work: Work,
    /// From so many outstanding, or drives, on.
    from: u32,
    least: f64,
    most: f64,
    /// The most over the least.
    ratio: f64,
}

/// What the bench found.
#[derive(Default, Serialize)]
struct Found {
    rows: Vec<Row>,
    flat: Vec<Flat>,
}

pub fn run(args: &ScaleArgs) -> Result<Exit> {
    report::check(args.svg.as_deref())?;
    let depth = args.machine.depth();
    let of_queue = ENTRIES.map(|entries| (Over::Outstanding, 1, u32::from(entries)));
    let of_drives = NUMBERS.map(|drives| (Over::Drives, drives, depth));
    let mut found = Found::default();
    let mut ended = Ended::Done;
    let mut last = None;
    for (over, drives, entries) in of_queue.into_iter().chain(of_drives) {
        if !ended.is_done() {
            break;
        }
        let mut session = start(args, over, drives, entries)?;
        for work in WORKS {
            if ended.is_done() {
                ended = found.measure(&mut session, args, (over, drives, entries), work)?;
            }
        }
        last = Some(session.header(&ended));
    }
    found.flat = found.flat();
    let Some(header) = last else {
        return Ok(Exit::Good);
    };
    if let Some(path) = &args.svg {
        let drawn = scale_chart::svg(&found.rows)?;
        fs::write(path, drawn).map_err(|error| Failure::file("writing", path, error))?;
    }
    let good = (found.rows.iter()).all(|row| row.failed == 0 && row.mismatched == 0);
    let bench = "scale";
    let report = Report {
        header,
        bench,
        found,
    };
    if !report::emit(&report)? {
        let mut page = page(bench, &report.header);
        page.grid(report.found.grid(Over::Outstanding));
        page.grid(report.found.grid(Over::Drives));
        page.heading("Where commands enough are outstanding");
        page.grid(report.found.flatness());
        verdict(&mut page, &report.header, good);
        page.print();
    }
    Ok(ended.exit(good))
}

/// One drive's queues are used as far as is to be measured, of RTL with the longest; several drives
/// are RTL of their own.
fn start(args: &ScaleArgs, over: Over, drives: u8, entries: u32) -> Result<Session> {
    let mut machine = args.machine.clone();
    machine.array.drives = Some(drives);
    if over == Over::Outstanding {
        machine.queue_depth = Some(ENTRIES[ENTRIES.len() - 1].into());
    }
    Session::start(&machine, super::SCHEMA, |config| {
        config.driver.queue_entries = entries as u16;
        Ok(())
    })
}

impl Found {
    fn measure(
        &mut self,
        session: &mut Session,
        args: &ScaleArgs,
        (over, drives, entries): (Over, u8, u32),
        work: Work,
    ) -> Result<Ended> {
        let bytes = args.commands * work.bytes;
        let spread = SPREAD.max(work.bytes);
        let seed = args.machine.seed;
        let ops = ops(&scattered(work.direction, bytes, work.bytes, spread, seed));
        if work.direction == Direction::Read {
            session.prepare(&ops)?;
        }
        let outstanding = u32::from(drives) * (entries - 1);
        let title = format!(
            "{}, {drives} drives, {outstanding} outstanding",
            work.title()
        );
        let measured = session.measure(&title, &ops);
        let rate = measured.rate;
        let cycles_per_command = rate.cycles as f64 / rate.transactions.max(1) as f64;
        // Of a command that has the queue to itself: the first of the sweep.
        let alone = self.rows.iter().find(|row| row.work == work);
        let latency = alone.map_or(cycles_per_command, |row| row.cycles_per_command);
        self.rows.push(Row {
            id: format!("{}_{drives}_{outstanding}", work.work),
            over,
            work,
            drives,
            outstanding,
            cycles_per_command,
            bound: (latency / f64::from(outstanding)).max(work.beats() as f64),
            failed: rate.failed,
            mismatched: rate.mismatched,
        });
        Ok(measured.ended)
    }

    fn of(&self, over: Over, work: Work) -> impl Iterator<Item = &Row> {
        (self.rows.iter()).filter(move |row| row.over == over && row.work == work)
    }

    /// Of each work that has been gone through, either way.
    fn flat(&self) -> Vec<Flat> {
        let both = [Over::Outstanding, Over::Drives].into_iter();
        let each = both.flat_map(|over| WORKS.map(|work| (over, work)));
        each.filter_map(|(over, work)| {
            // Half of them wait while the others are worked on: twice as many hide the latency.
            let hidden = |row: &&Row| {
                let alone = self.of(Over::Outstanding, work).next();
                let latency = alone.map_or(0.0, |row| row.cycles_per_command);
                f64::from(row.outstanding) * work.beats() as f64 >= 2.0 * latency
            };
            let rows: Vec<_> = self.of(over, work).filter(hidden).collect();
            let cycles = rows.iter().map(|row| row.cycles_per_command);
            let (least, most) = (
                cycles.clone().fold(f64::INFINITY, f64::min),
                cycles.fold(0.0, f64::max),
            );
            let first = rows.first()?;
            Some(Flat {
                over,
                work,
                from: match over {
                    Over::Outstanding => first.outstanding,
                    Over::Drives => first.drives.into(),
                },
                least,
                most,
                ratio: most / least,
            })
        })
        .collect()
    }

    /// A row for each step, a column for each work; in brackets what cannot be less.
    fn grid(&self, over: Over) -> Grid {
        let mut headers = vec![match over {
            Over::Outstanding => ">outstanding".to_owned(),
            Over::Drives => ">drives".to_owned(),
        }];
        headers.extend(WORKS.map(|work| format!(">{}", work.title())));
        let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
        let mut grid = Grid::new(&headers);
        for first in self.of(over, WORKS[0]) {
            let cells = WORKS.map(|work| {
                let mut rows = self.of(over, work);
                let same =
                    |row: &&Row| (row.drives, row.outstanding) == (first.drives, first.outstanding);
                rows.find(same).map_or_else(String::new, |row| {
                    format!("{:.2} ({:.2})", row.cycles_per_command, row.bound)
                })
            });
            let step = match over {
                Over::Outstanding => first.outstanding,
                Over::Drives => first.drives.into(),
            };
            grid.row(std::iter::once(step.to_string()).chain(cells));
        }
        grid
    }

    fn flatness(&self) -> Grid {
        let mut grid = Grid::new(&["", "from", ">least", ">most", ">ratio"]);
        for flat in &self.flat {
            let from = match flat.over {
                Over::Outstanding => format!("{} outstanding", flat.from),
                Over::Drives => format!("{} drives", flat.from),
            };
            grid.row([
                flat.work.title(),
                from,
                format!("{:.2}", flat.least),
                format!("{:.2}", flat.most),
                format!("{:.3}", flat.ratio),
            ]);
        }
        grid
    }
}
