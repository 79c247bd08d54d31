// SPDX-License-Identifier: Apache-2.0
//! What a command costs, from one outstanding to as many as the queues hold, and from one drive to
//! eight: with drives that never wait, the streamer's own cycles.

use forebay_app::workload::{ops, scattered};
use forebay_app::{Ended, Failure, MachineSpec, Result, Session};
use forebay_cosim::{Direction, Workload};
use forebay_draw::text::{Grid, Page};
use forebay_draw::{BLUE, GREEN, Line, Lines, ORANGE, PURPLE};
use serde::Serialize;

use super::{Found, Ran, SCHEMA, small};

/// Entries of the queues of one drive; one less are outstanding.
const ENTRIES: [u16; 10] = [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
/// Numbers of drives, with queues as long as the options say.
const NUMBERS: std::ops::RangeInclusive<u8> = 1..=8;
/// Bytes of the address space that commands touch.
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
const WORKS: [Work; 4] = [
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
    #[must_use]
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
    pub id: String,
    /// The sweep.
    pub over: Over,
    /// The commands.
    #[serde(flatten)]
    pub work: Work,
    /// Number of drives.
    pub drives: u8,
    /// Commands that the queues of all drives hold.
    pub outstanding: u32,
    /// Cycles from the first beat to the last answer, over the commands.
    pub cycles_per_command: f64,
    /// What cannot be less: the beats on the user's stream, or the wait of a command for its end
    /// shared by all that are outstanding.
    pub bound: f64,
    /// Transactions that failed.
    pub failed: u64,
    /// Transactions whose data differ.
    pub mismatched: u64,
}

/// How flat it is where commands enough are outstanding to hide a command's latency.
#[derive(Debug, Serialize)]
pub struct Flat {
    /// The sweep.
    pub over: Over,
    /// The commands.
    #[serde(flatten)]
    pub work: Work,
    /// From this number outstanding, or of drives, on.
    pub from: u32,
    /// Least cycles of a command.
    pub least: f64,
    /// Most cycles of a command.
    pub most: f64,
    /// The most over the least.
    pub ratio: f64,
}

/// What the bench found.
#[derive(Debug, Default, Serialize)]
pub struct Scale {
    /// One for each step of either sweep and each kind of commands.
    pub rows: Vec<Row>,
    /// Where enough commands are outstanding.
    pub flat: Vec<Flat>,
}

/// Cycles of each of `commands` commands, over the commands outstanding and over the drives.
///
/// # Errors
/// Where the RTL, a profile or the bring-up fails; of an array with parity.
pub fn scale(machine: &MachineSpec, commands: u64) -> Result<Ran<Scale>> {
    small(machine)?;
    let depth = machine.depth();
    let of_queue = ENTRIES.map(|entries| (Over::Outstanding, 1, u32::from(entries)));
    let of_drives = NUMBERS.map(|drives| (Over::Drives, drives, depth));
    let mut found = Scale::default();
    let mut ended = Ended::Done;
    let mut last = None;
    for step in of_queue.into_iter().chain(of_drives) {
        if !ended.is_done() {
            break;
        }
        let mut session = start(machine, step)?;
        for work in WORKS {
            if ended.is_done() {
                let ops = scattered(
                    work.direction,
                    commands * work.bytes,
                    work.bytes,
                    SPREAD.max(work.bytes),
                    machine.seed,
                );
                ended = found.measure(&mut session, &ops, step, work)?;
            }
        }
        last = Some(session.header(&ended));
    }
    found.flat = found.flat();
    let header = last.ok_or_else(Failure::interrupted)?;
    let good = (found.rows.iter()).all(|row| row.failed == 0 && row.mismatched == 0);
    Ok(Ran::new("scale", header, found, ended, good))
}

/// One drive's queues are used as far as is to be measured, of RTL with the longest; several drives
/// are RTL of their own.
fn start(machine: &MachineSpec, (over, drives, entries): (Over, u8, u32)) -> Result<Session> {
    let mut machine = machine.clone();
    machine.array.drives = Some(drives);
    if over == Over::Outstanding {
        machine.queue_depth = Some(ENTRIES[ENTRIES.len() - 1].into());
    }
    Session::start(&machine, SCHEMA, |config| {
        config.driver.queue_entries = entries as u16;
        Ok(())
    })
}

impl Scale {
    fn measure(
        &mut self,
        session: &mut Session,
        workload: &Workload,
        (over, drives, entries): (Over, u8, u32),
        work: Work,
    ) -> Result<Ended> {
        let ops = ops(workload);
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

    /// Those of a sweep and a kind of commands, in their order.
    pub fn of(&self, over: Over, work: Work) -> impl Iterator<Item = &Row> {
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

    /// Draws both sweeps as SVG, on one axis of cycles.
    ///
    /// # Errors
    /// Where the drawing fails.
    pub fn svg(&self) -> Result<String> {
        let plot = |over, name, place: fn(&Row) -> f64| {
            let lines = WORKS.into_iter().zip([BLUE, ORANGE, GREEN, PURPLE]);
            let lines = lines.map(|(work, colour)| {
                let of = |value: fn(&Row) -> f64| {
                    let rows = self.of(over, work);
                    rows.map(|row| (place(row), value(row))).collect()
                };
                Line {
                    name: work.title(),
                    colour,
                    points: of(|row| row.cycles_per_command),
                    bound: of(|row| row.bound),
                }
            });
            (name, lines.collect())
        };
        let chart = Lines {
            size: (960, 420),
            unit: "cycles per command (simulated)",
            plots: vec![
                plot(
                    Over::Outstanding,
                    "commands outstanding, one drive",
                    |row| row.outstanding.into(),
                ),
                plot(Over::Drives, "drives", |row| row.drives.into()),
            ],
        };
        Ok(chart.svg()?)
    }
}

impl Found for Scale {
    fn draw(&self, page: &mut Page) {
        page.grid(self.sweep(Over::Outstanding))
            .grid(self.sweep(Over::Drives))
            .heading("Where commands enough are outstanding");
        let mut grid = Grid::new(" | from | >least | >most | >ratio");
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
        page.grid(grid);
    }
}

impl Scale {
    /// A row for each step, a column for each work; in brackets what cannot be less.
    fn sweep(&self, over: Over) -> Grid {
        let first = match over {
            Over::Outstanding => ">outstanding",
            Over::Drives => ">drives",
        };
        let works = WORKS.map(|work| format!(">{}", work.title()));
        let mut grid = Grid::of(std::iter::once(first.to_owned()).chain(works));
        for step in self.of(over, WORKS[0]) {
            let cells = WORKS.map(|work| {
                let mut rows = self.of(over, work);
                let same =
                    |row: &&Row| (row.drives, row.outstanding) == (step.drives, step.outstanding);
                rows.find(same).map_or_else(String::new, |row| {
                    format!("{:.2} ({:.2})", row.cycles_per_command, row.bound)
                })
            });
            let number = match over {
                Over::Outstanding => step.outstanding,
                Over::Drives => step.drives.into(),
            };
            grid.row(std::iter::once(number.to_string()).chain(cells));
        }
        grid
    }
}
