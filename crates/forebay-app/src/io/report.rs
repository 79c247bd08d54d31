// SPDX-License-Identifier: Apache-2.0
//! What came of moving bytes.

use forebay_cosim::Direction;
use forebay_draw::text::{self, Grid, Page, mark, or_dash};
use forebay_driver::flight::Diagnosis;
use forebay_driver::inspect::{DriveCounts, Inspection};
use forebay_pipeline::units::count;
use serde::Serialize;

use super::{Leg, Moved};
use crate::report::{Header, Rate};
use crate::traffic::{self, Hop, Traffic};

/// Transactions listed one by one in the text; JSON has them all.
const LISTED: usize = 16;

/// The report.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    /// What every report begins with.
    #[serde(flatten)]
    pub header: Header,
    /// Bytes of the drive's logical block.
    pub block_bytes: u64,
    pub(super) transactions: Vec<Transaction>,
    pub(super) write: Option<Rate>,
    pub(super) read: Option<Rate>,
    /// Seconds of this machine, where nothing was simulated.
    pub(super) write_seconds: Option<f64>,
    pub(super) read_seconds: Option<f64>,
    /// Bytes read back otherwise than written; none where nothing was compared.
    pub differ_bytes: Option<u64>,
    /// What the register for the first error says.
    pub(super) error_cause: Option<String>,
    /// Where a queue hangs, or hung; none where all went well.
    pub diagnosis: Option<Diagnosis>,
    /// The run could not be brought to its end.
    #[serde(skip)]
    pub broken: bool,
    /// Completions that were ignored, commands sent again, and other incidents.
    pub incidents: Vec<(String, u32)>,
    /// What the streamer counted of each of several drives.
    pub(super) drives: Vec<DriveCounts>,
    /// What crossed the links.
    pub hops: Vec<Hop>,
}

#[derive(Debug, Serialize)]
pub(super) struct Transaction {
    direction: &'static str,
    address: u64,
    length: u64,
    transferred: u64,
    latency_cycles: Option<u64>,
    error_code: u8,
    error: Option<String>,
}

impl From<&Moved> for Transaction {
    fn from(moved: &Moved) -> Self {
        Self {
            direction: match moved.direction {
                Direction::Write => "write",
                Direction::Read => "read",
            },
            address: moved.address,
            length: moved.length,
            transferred: moved.transferred,
            latency_cycles: moved.latency_cycles,
            error_code: moved.error.map_or(0, |error| error.code()),
            error: moved.error.map(|error| error.to_string()),
        }
    }
}

impl Report {
    /// Adds what came of one direction.
    pub(super) fn add(&mut self, direction: Direction, leg: &Leg) {
        let (rate, seconds) = match direction {
            Direction::Write => (&mut self.write, &mut self.write_seconds),
            Direction::Read => (&mut self.read, &mut self.read_seconds),
        };
        rate.clone_from(&leg.rate);
        *seconds = leg.seconds;
        let rates = || [&self.write, &self.read].into_iter().flatten();
        let bytes = rates().map(|rate| rate.bytes).sum();
        self.hops = Traffic::together(rates().map(|rate| &rate.traffic), bytes).hops;
        self.transactions
            .extend(leg.moved.iter().map(Transaction::from));
    }

    /// Notes what the streamer's registers say of incidents.
    pub(super) fn look_at(&mut self, inspection: &Inspection) {
        self.error_cause.clone_from(&inspection.error_cause);
        self.incidents = incidents(inspection);
        self.drives.clone_from(&inspection.drives);
    }

    /// No transaction failed and no byte differs.
    pub fn is_good(&self) -> bool {
        let failed = self.transactions.iter().any(|it| it.error.is_some());
        !self.broken && !failed && self.differ_bytes.unwrap_or(0) == 0
    }

    /// As text.
    pub fn page(&self) -> Page {
        let header = &self.header;
        let mut page = match header.simulated {
            true => Page::simulated("Forebay io"),
            false => Page::of_hardware("Forebay io"),
        };
        page.field("drive", &header.profile.description);
        page.field("block", format_args!("{} B", self.block_bytes));
        page.field("streamer", header.streamer());
        page.heading("Transactions");
        page.grid(self.transactions());
        if let Some(more) = self.transactions.len().checked_sub(LISTED + 1) {
            let failed = self.transactions.iter().filter(|t| t.error.is_some());
            page.line(format_args!(
                "   … and {} more; {} failed in all",
                more + 1,
                failed.count()
            ));
        }
        page.heading("How fast it went");
        if header.simulated {
            page.grid(self.rates());
            if !self.drives.is_empty() {
                page.heading("Drive by drive");
                page.grid(self.drives());
            }
            page.heading("Where the bytes went");
            let ways = [("write", &self.write), ("read", &self.read)];
            let ways = ways
                .iter()
                .filter_map(|(name, rate)| Some((*name, rate.as_ref()?)));
            page.grid(traffic::grid(
                ways.map(|(name, rate)| (name, &rate.traffic)),
            ));
        } else {
            page.grid(self.times());
        }
        self.verdict(&mut page);
        page
    }

    fn transactions(&self) -> Grid {
        let mut grid = Grid::new(" |  | >address | >bytes | >moved | >cycles | answer");
        for transaction in self.transactions.iter().take(LISTED) {
            let cycles = transaction.latency_cycles;
            grid.row([
                mark(transaction.error.is_none()).to_owned(),
                transaction.direction.to_owned(),
                format!("{:#x}", transaction.address),
                count(transaction.length),
                count(transaction.transferred),
                or_dash(cycles.map(count)),
                match &transaction.error {
                    None => "OK".to_owned(),
                    Some(error) => format!("{:#04x}: {error}", transaction.error_code),
                },
            ]);
        }
        grid
    }

    fn rates(&self) -> Grid {
        let mut grid = Grid::new(" | >bytes | >cycles | >B/cycle | >GB/s");
        for (name, rate) in [("write", &self.write), ("read", &self.read)] {
            if let Some(rate) = rate {
                grid.row([
                    name.to_owned(),
                    count(rate.bytes),
                    count(rate.cycles),
                    format!("{:.2}", rate.bytes_per_cycle),
                    format!("{:.2}", rate.gigabytes_per_second),
                ]);
            }
        }
        grid
    }

    fn drives(&self) -> Grid {
        let mut grid = Grid::new(" | drive | >commands | >bytes | >failed | >longest, cycles | ");
        for drive in &self.drives {
            grid.row([
                mark(drive.failed == 0 && !drive.lost).to_owned(),
                drive.drive.to_string(),
                count(drive.commands.into()),
                count(drive.bytes),
                count(drive.failed.into()),
                count(drive.longest_cycles.into()),
                match (drive.offline, drive.lost) {
                    (true, _) => "offline".to_owned(),
                    (false, true) => "lost".to_owned(),
                    (false, false) => String::new(),
                },
            ]);
        }
        grid
    }

    /// Through the host port: its own speed, not the streamer's.
    fn times(&self) -> Grid {
        let mut grid = Grid::new(" | >bytes | >time | >MB/s | (the host port's own speed)");
        for (name, seconds) in [("write", self.write_seconds), ("read", self.read_seconds)] {
            if let Some(seconds) = seconds {
                let good = |t: &&Transaction| t.direction == name && t.error.is_none();
                let moved = self.transactions.iter().filter(good);
                let bytes: u64 = moved.map(|t| t.transferred).sum();
                grid.row([
                    name.to_owned(),
                    count(bytes),
                    text::seconds(seconds),
                    text::rate(bytes as f64 / seconds / 1e6),
                ]);
            }
        }
        grid
    }

    fn verdict(&self, page: &mut Page) {
        let sentence = match (self.differ_bytes, self.header.interrupted) {
            (_, true) => "interrupted: the numbers are of what was reached".to_owned(),
            (Some(0), _) => "read back and compared: none differs".to_owned(),
            (Some(wrong), _) => {
                format!("{} bytes came back wrong or not at all", count(wrong))
            }
            (None, _) if self.is_good() => "done".to_owned(),
            (None, _) => "not every transaction went through".to_owned(),
        };
        page.verdict(self.is_good() && !self.header.interrupted, sentence);
        for (name, times) in &self.incidents {
            page.field(name, count((*times).into()));
        }
        if let Some(cause) = &self.error_cause {
            page.field("cause", cause);
        }
        // Of several drives it would tell of the first alone.
        if let (Some(diagnosis), true) = (&self.diagnosis, self.drives.is_empty()) {
            page.field("queues", &diagnosis.text);
        }
    }
}

/// Counters that stay 0 when nothing goes wrong.
fn incidents(inspection: &Inspection) -> Vec<(String, u32)> {
    const NAMES: [&str; 10] = [
        "retries",
        "failed_commands",
        "timeouts",
        "rogue_phase",
        "rogue_cid",
        "rogue_head",
        "rejected",
        "doorbell_errors",
        "memory_write_errors",
        "memory_read_errors",
    ];
    inspection
        .counters
        .iter()
        .filter(|counter| counter.value > 0 && NAMES.contains(&counter.name.as_str()))
        .map(|counter| (counter.name.clone(), counter.value))
        .collect()
}
