// SPDX-License-Identifier: Apache-2.0
//! The same work on one drive and on several: what each further drive brings, and what it costs.

use forebay_app::reference::Reference;
use forebay_app::report::Rate;
use forebay_app::workload::{ops, scattered, sequential};
use forebay_app::{Ended, Failure, MachineSpec, Result, Session};
use forebay_cosim::{Direction, Workload};
use forebay_draw::text::{self, Grid, Page};
use forebay_driver::inspect::DriveCounts;
use forebay_pipeline::units;
use serde::Serialize;

use super::{Found, Ran, SCHEMA, beside, bytes, is_good};

/// Numbers of drives.
const NUMBERS: [u8; 5] = [1, 2, 3, 4, 8];
/// Bytes of a transaction of random work, and so of a command.
const SMALL: u64 = 4096;
/// Bytes of the address space that random work touches.
const SPREAD: u64 = 1 << 30;

/// What the bench found.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Drives {
    /// One for each kind of work and number of drives.
    pub rows: Vec<Row>,
}

/// One kind of work on a number of drives.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Name that stays the same over versions: kind of work and number of drives.
    pub id: String,
    /// Kind of work.
    pub work: &'static str,
    /// Number of drives.
    pub drives: u8,
    /// Through the RTL.
    pub streamer: Rate,
    /// By an ideal polling host.
    pub reference: Option<Rate>,
    /// Rate of the streamer over that of the reference.
    pub ratio: Option<f64>,
    /// Rate of the streamer over as many times its rate with one drive (and one for the parity).
    pub of_as_many: Option<f64>,
    /// What the ideal host has of as many times its rate with one drive: the drives wait for one
    /// another on its link, too.
    pub reference_of_as_many: Option<f64>,
    /// Cycles of the run for each transaction.
    pub cycles_per_transaction: f64,
    /// What the streamer counted of each drive since bring-up; nothing of a single one.
    pub each: Vec<DriveCounts>,
}

/// The same work on 1, 2, 3, 4 and 8 drives, as many bytes for each.
///
/// # Errors
/// Where the RTL, a profile or the bring-up fails.
pub fn drives(machine: &MachineSpec, asked: Option<u64>) -> Result<Ran<Drives>> {
    let mut found = Drives::default();
    let mut ended = Ended::Done;
    let mut last = None;
    // Of those with parity, one is not for data.
    let spare = u8::from(machine.array.parity);
    for drives in NUMBERS.into_iter().filter(|drives| *drives > spare) {
        if !ended.is_done() {
            break;
        }
        let mut machine = machine.clone();
        machine.array.drives = Some(drives);
        let mut session = Session::start(&machine, SCHEMA, |_| Ok(()))?;
        let reference = Reference::new(&machine)?;
        let row = session.layout().stripe();
        // As many bytes for each: start and end then weigh the same, however many drives.
        let all = bytes(asked, &session)?.saturating_mul((drives - spare).into());
        let bytes = all.min(session.namespace()?.bytes());
        for (work, workload) in works(bytes, row.unwrap_or(SMALL), machine.seed) {
            if !ended.is_done() {
                break;
            }
            let ops = ops(&workload);
            if workload.direction == Direction::Read {
                session.prepare(&ops)?;
            }
            let title = format!("{drives} drives, {work}");
            let (rate, host, now) = beside(&mut session, &reference, &title, &ops, &workload)?;
            ended = now;
            found.add((work, drives, spare), rate, host, session.drives());
        }
        last = Some(session.header(&ended));
    }
    let header = last.ok_or_else(Failure::interrupted)?;
    let good = found.rows.iter().all(|row| is_good(&row.streamer));
    Ok(Ran::new("drives", header, found, ended, good))
}

/// Sequential work in one transaction each way, random work in small ones; with parity the smallest
/// that can be written is a stripe.
fn works(bytes: u64, least: u64, seed: u64) -> [(&'static str, Workload); 4] {
    let random = |direction| {
        let size = match direction {
            Direction::Write => least,
            Direction::Read => SMALL,
        };
        scattered(direction, bytes / 8, size, SPREAD.max(bytes), seed)
    };
    let small = match least {
        SMALL => "write_4k",
        _ => "write_rows",
    };
    [
        ("write", sequential(Direction::Write, bytes, bytes)),
        ("read", sequential(Direction::Read, bytes, bytes)),
        (small, random(Direction::Write)),
        ("read_4k", random(Direction::Read)),
    ]
}

impl Drives {
    fn add(
        &mut self,
        (work, drives, spare): (&'static str, u8, u8),
        streamer: Rate,
        reference: Option<Rate>,
        each: Vec<DriveCounts>,
    ) {
        let one = self.rows.iter().find(|row| row.work == work);
        let of_one = |rate: &Rate, one: &Rate| {
            let ratio = rate.ratio_to(one)?;
            Some(ratio / f64::from(drives - spare))
        };
        let host = |rate: &Rate| {
            let one = one.map_or(Some(rate), |row| row.reference.as_ref())?;
            of_one(rate, one)
        };
        self.rows.push(Row {
            id: format!("{work}_{drives}"),
            work,
            drives,
            ratio: reference.as_ref().and_then(|host| streamer.ratio_to(host)),
            of_as_many: of_one(&streamer, one.map_or(&streamer, |row| &row.streamer)),
            reference_of_as_many: reference.as_ref().and_then(host),
            cycles_per_transaction: streamer.cycles as f64 / streamer.transactions.max(1) as f64,
            streamer,
            reference,
            each,
        });
    }
}

impl Found for Drives {
    fn draw(&self, page: &mut Page) {
        let mut grid = Grid::new(
            " | >drives | >B/cycle | >GB/s | >of as many | >host's | >of host | >cycles each",
        );
        for row in &self.rows {
            grid.row([
                row.work.replace('_', ", random "),
                row.drives.to_string(),
                format!("{:.2}", row.streamer.bytes_per_cycle),
                format!("{:.2}", row.streamer.gigabytes_per_second),
                text::ratio(row.of_as_many),
                text::ratio(row.reference_of_as_many),
                text::ratio(row.ratio),
                units::count(row.cycles_per_transaction as u64),
            ]);
        }
        page.grid(grid);
    }
}
