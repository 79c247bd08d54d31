// SPDX-License-Identifier: Apache-2.0
//! `forebay run`: a file to the drive, bytes from the drive, with everything adjustable.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use forebay_cosim::{Config, Direction, Outcome, Payload, Read, Sink, Write};
use forebay_driver::flight::Diagnosis;
use forebay_model::Medium;
use serde::Serialize;

use crate::args::{RunArgs, values};
use crate::demo;
use crate::failure::{Exit, Failure, Result};
use crate::flight;
use crate::inspect;
use crate::inspection::Inspection;
use crate::render::{self, Grid, Page};
use crate::report::{self, Header, Hop, Rate};
use crate::session::{Ended, Session};

/// Transactions listed one by one in the text; JSON has them all.
const LISTED: usize = 16;

#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    header: Header,
    block_bytes: u64,
    transactions: Vec<Transaction>,
    write: Option<Rate>,
    read: Option<Rate>,
    /// Bytes read back otherwise than written; none where nothing was compared.
    differ_bytes: Option<u64>,
    /// What the register for the first error says.
    error_cause: Option<String>,
    /// Where a queue hangs, or hung; none where all went well.
    diagnosis: Option<Diagnosis>,
    /// The run could not be brought to its end.
    #[serde(skip)]
    broken: bool,
    /// Completions that were ignored, commands sent again, and other incidents.
    incidents: Vec<(String, u32)>,
    hops: Vec<Hop>,
}

#[derive(Serialize)]
struct Transaction {
    direction: &'static str,
    address: u64,
    length: u64,
    transferred: u64,
    latency_cycles: u64,
    error_code: u8,
    error: Option<String>,
}

impl From<&Outcome> for Transaction {
    fn from(outcome: &Outcome) -> Self {
        Self {
            direction: match outcome.direction {
                Direction::Write => "write",
                Direction::Read => "read",
            },
            address: outcome.address,
            length: outcome.length,
            transferred: outcome.transferred,
            latency_cycles: outcome.latency(),
            error_code: outcome.error.map_or(0, |error| error.code()),
            error: outcome.error.map(|error| error.to_string()),
        }
    }
}

impl Report {
    fn is_good(&self) -> bool {
        !self.broken
            && self
                .transactions
                .iter()
                .all(|transaction| transaction.error.is_none())
            && self.differ_bytes.unwrap_or(0) == 0
    }
}

/// Runs it.
///
/// # Errors
/// Where a file, the RTL or the bring-up fails.
pub fn run(args: &RunArgs) -> Result<Exit> {
    let data = args.write.as_deref().map(load).transpose()?;
    let length = args
        .length
        .or_else(|| data.as_ref().map(|data| data.len() as u64));
    if args.read && length.is_none() {
        return Err(Failure::new(
            Exit::BadInput,
            "--read without --write needs --length",
            "say how much to read, such as --length 1MiB",
        ));
    }
    // Before anything runs: minutes later would be too late to learn that it cannot be written.
    let out = args.out.as_deref().map(create).transpose()?;
    let mut session = Session::start(&args.machine, "forebay.run/1", |config| {
        adjust(args, config)
    })?;
    let mut report = Report {
        header: session.header(&Ended::Done),
        block_bytes: session.namespace()?.block_bytes(),
        transactions: Vec::new(),
        write: None,
        read: None,
        differ_bytes: None,
        error_cause: None,
        diagnosis: None,
        broken: false,
        incidents: Vec::new(),
        hops: Vec::new(),
    };
    session.begin();
    let mut ended = Ended::Done;
    if let Some(data) = &data {
        ended = write(args, &mut session, data, &mut report);
    }
    if args.read && ended.is_done() {
        ended = read(
            args,
            &mut session,
            length.unwrap_or(0),
            data.as_deref(),
            out,
            &mut report,
        )?;
    }
    report.hops = session.hops();
    // RTL that has broken down may no longer answer: then there is nothing to show.
    let inspection = match (Inspection::take(&mut session.system), &ended) {
        (Err(_), Ended::Failed(_)) => Inspection::default(),
        (taken, _) => taken?,
    };
    report.header = session.header(&ended);
    report.error_cause = inspection.error_cause.clone();
    report.incidents = incidents(&inspection);
    report.broken = matches!(ended, Ended::Failed(_));
    // What was under way at Ctrl-C does not hang.
    let odd = match ended {
        Ended::Done => !report.is_good() || !report.incidents.is_empty(),
        Ended::Interrupted => false,
        Ended::Failed(_) => true,
    };
    let flight = (odd || args.inspect.is_some()).then(|| flight::take(&mut session.system));
    report.diagnosis = flight
        .as_ref()
        .map(|flight| flight.diagnosis.clone())
        .filter(|diagnosis| odd && !diagnosis.is_healthy());
    if let Some(path) = &args.inspect {
        let stored = inspect::Report {
            header: Header {
                schema: inspect::SCHEMA.to_owned(),
                ..report.header.clone()
            },
            inspection,
            flight,
        };
        let text = serde_json::to_string_pretty(&stored)?;
        fs::write(path, text).map_err(|error| Failure::file("writing", path, error))?;
    }
    if ended.is_done()
        && report.is_good()
        && let Err(failure) = session.shut_down()
    {
        ended = Ended::Failed(failure);
    }
    if !report::emit(&report, args.report.json.as_deref())? {
        show(args, &report);
    }
    Ok(ended.exit(report.is_good()))
}

fn load(path: &Path) -> Result<Arc<[u8]>> {
    let data = fs::read(path).map_err(|error| Failure::file("reading", path, error))?;
    Ok(data.into())
}

fn create(path: &Path) -> Result<File> {
    File::create(path).map_err(|error| Failure::file("creating", path, error))
}

/// What the options change about the machine.
fn adjust(args: &RunArgs, config: &mut Config) -> Result<()> {
    if let Some(block) = &args.block {
        let shift = if block == "4096" { 12 } else { 9 };
        for namespace in &mut config.profile.ssd.namespaces {
            namespace.block_shift = shift;
            namespace.bytes &= !((1 << shift) - 1);
        }
    }
    if let Some(path) = &args.medium {
        config.medium = Some(Medium::in_file(path, config.profile.ssd.bytes())?);
    }
    config.stalls = values::stalls(&args.stall);
    config.faults = values::faults(&args.fault);
    config.driver.timeout_cycles = args.timeout_cycles;
    if let Some(limit) = args.retry_limit {
        config.driver.retry_limit = limit;
    }
    Ok(())
}

/// Offset and length of each transaction over so many bytes; at least one, though it be empty.
fn pieces(bytes: u64, transaction: Option<u64>) -> impl Iterator<Item = (u64, u64)> {
    let step = transaction.unwrap_or(bytes).max(1);
    (0..bytes.div_ceil(step).max(1)).map(move |n| (n * step, step.min(bytes - n * step)))
}

fn write(args: &RunArgs, session: &mut Session, data: &Arc<[u8]>, report: &mut Report) -> Ended {
    let bytes = data.len() as u64;
    let mut all: Vec<_> = pieces(bytes, args.transaction).collect();
    let last = all.pop();
    for (offset, length) in all.into_iter().chain(last) {
        let payload = match args.transaction {
            None => Payload::Bytes(Arc::clone(data)),
            Some(_) => Payload::Bytes(data[offset as usize..(offset + length) as usize].into()),
        };
        let mut write = Write::new(args.at.saturating_add(offset), payload);
        write.fua = args.fua;
        // One flush at the end covers all that went before.
        write.flush = args.flush && offset + length == bytes;
        session.system.submit_write(write);
    }
    let ended = session.run("file → drive", bytes);
    report.write = Some(Rate::of(
        &session.system.stats().writes,
        session.system.clock_period(),
    ));
    report
        .transactions
        .extend(session.system.take_outcomes().iter().map(Transaction::from));
    ended
}

fn read(
    args: &RunArgs,
    session: &mut Session,
    bytes: u64,
    expected: Option<&[u8]>,
    out: Option<File>,
    report: &mut Report,
) -> Result<Ended> {
    for (offset, length) in pieces(bytes, args.transaction) {
        let at = args.at.saturating_add(offset);
        session
            .system
            .submit_read(Read::new(at, length, Sink::Collect));
    }
    session.system.reset_stats();
    let ended = session.run("drive → file", bytes);
    report.read = Some(Rate::of(
        &session.system.stats().reads,
        session.system.clock_period(),
    ));
    let outcomes = session.system.take_outcomes();
    report
        .transactions
        .extend(outcomes.iter().map(Transaction::from));
    if let Some(file) = out {
        store(args, file, &outcomes)?;
    }
    if let Some(expected) = expected
        && ended.is_done()
    {
        report.differ_bytes = Some(differ(
            args.at,
            &expected[..expected.len().min(bytes as usize)],
            &outcomes,
        ));
    }
    Ok(ended)
}

/// Writes what came to its place in the file; what a failed transaction lacks stays a hole.
fn store(args: &RunArgs, file: File, outcomes: &[Outcome]) -> Result<()> {
    use std::os::unix::fs::FileExt;
    let path = args.out.as_deref().unwrap_or(Path::new(""));
    for outcome in outcomes {
        file.write_all_at(&outcome.data, outcome.address.saturating_sub(args.at))
            .map_err(|error| Failure::file("writing", path, error))?;
    }
    Ok(())
}

/// Bytes that came back otherwise than they were written, or not at all.
fn differ(at: u64, expected: &[u8], outcomes: &[Outcome]) -> u64 {
    let mut same = 0;
    for outcome in outcomes {
        let start = (outcome.address.saturating_sub(at) as usize).min(expected.len());
        let expected = &expected[start..];
        same += expected
            .iter()
            .zip(&outcome.data)
            .filter(|(a, b)| a == b)
            .count();
    }
    (expected.len() - same.min(expected.len())) as u64
}

/// Counters that stay 0 when nothing goes wrong.
fn incidents(inspection: &Inspection) -> Vec<(String, u32)> {
    const NAMES: [&str; 8] = [
        "retries",
        "failed_commands",
        "timeouts",
        "rogue_phase",
        "rogue_cid",
        "rogue_head",
        "rejected",
        "doorbell_errors",
    ];
    inspection
        .counters
        .iter()
        .filter(|counter| counter.value > 0 && NAMES.contains(&counter.name.as_str()))
        .map(|counter| (counter.name.clone(), counter.value))
        .collect()
}

fn show(args: &RunArgs, report: &Report) {
    let mut page = Page::new("Forebay run");
    page.field("drive", &report.header.profile.description);
    page.field("block", format_args!("{} B", report.block_bytes));
    page.field("streamer", demo::streamer(&report.header));
    page.heading("Transactions");
    let mut grid = Grid::new(&["", "", ">address", ">bytes", ">moved", ">cycles", "answer"]);
    for transaction in report.transactions.iter().take(LISTED) {
        grid.row([
            render::mark(transaction.error.is_none()),
            transaction.direction.to_owned(),
            format!("{:#x}", transaction.address),
            render::count(transaction.length),
            render::count(transaction.transferred),
            render::count(transaction.latency_cycles),
            match &transaction.error {
                None => "OK".to_owned(),
                Some(error) => format!("{:#04x}: {error}", transaction.error_code),
            },
        ]);
    }
    page.grid(grid);
    if let Some(more) = report.transactions.len().checked_sub(LISTED + 1) {
        let failed = report
            .transactions
            .iter()
            .filter(|t| t.error.is_some())
            .count();
        page.line(format_args!(
            "   … and {} more; {failed} failed in all",
            more + 1
        ));
    }
    page.heading("How fast it went");
    let mut grid = Grid::new(&["", ">bytes", ">cycles", ">B/cycle", ">GB/s"]);
    for (name, rate) in [("write", &report.write), ("read", &report.read)] {
        if let Some(rate) = rate {
            grid.row([
                name.to_owned(),
                render::count(rate.bytes),
                render::count(rate.cycles),
                format!("{:.2}", rate.bytes_per_cycle),
                format!("{:.2}", rate.gigabytes_per_second),
            ]);
        }
    }
    page.grid(grid);
    page.heading("Where the bytes went");
    page.grid(demo::hops(&report.hops));
    verdict(args, report, &mut page);
    page.print();
}

fn verdict(args: &RunArgs, report: &Report, page: &mut Page) {
    let sentence = match (report.differ_bytes, report.header.interrupted) {
        (_, true) => "interrupted: the numbers are of what was reached".to_owned(),
        (Some(0), _) => "read back and compared: none differs".to_owned(),
        (Some(count), _) => format!(
            "{} bytes came back wrong or not at all",
            render::count(count)
        ),
        (None, _) if report.is_good() => "done".to_owned(),
        (None, _) => "not every transaction went through".to_owned(),
    };
    page.verdict(report.is_good() && !report.header.interrupted, sentence);
    for (name, count) in &report.incidents {
        page.field(name, render::count((*count).into()));
    }
    if let Some(cause) = &report.error_cause {
        page.field("cause", cause);
    }
    if let Some(diagnosis) = &report.diagnosis {
        page.field("queues", &diagnosis.text);
    }
    if let Some(medium) = &args.medium {
        page.field("medium", format_args!("kept in {}", medium.display()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_all() {
        let pieces = |bytes, step| pieces(bytes, step).collect::<Vec<_>>();
        assert_eq!(pieces(0, None), [(0, 0)]);
        assert_eq!(pieces(0, Some(512)), [(0, 0)]);
        assert_eq!(pieces(1000, None), [(0, 1000)]);
        assert_eq!(pieces(1000, Some(512)), [(0, 512), (512, 488)]);
        assert_eq!(pieces(1024, Some(512)), [(0, 512), (512, 512)]);
    }
}
