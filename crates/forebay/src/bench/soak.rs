// SPDX-License-Identifier: Apache-2.0
//! Random transactions, ports that pause, and a shadow of the drive that knows each byte.

use forebay_cosim::{Direction, Outcome, Payload, Read, Sink, Write};
use forebay_spec::streamer::UserError;
use rand_core::RngCore;
use rand_pcg::Pcg64Mcg;
use serde::Serialize;
use std::collections::HashMap;
use std::ops::Range;

use super::{Report, SCHEMA, page};
use crate::args::{SoakArgs, values};
use crate::failure::{Exit, Failure, Result};
use crate::progress::Progress;
use crate::render;
use crate::report;
use crate::session::{Ended, Session};
use crate::traffic::{self, Traffic};
use crate::workload::{below, random};

/// Transactions under way at once, more than the queues hold commands.
const UNDER_WAY: usize = 96;
/// Longest unordered read: must fit into one command, and drives may allow no more than this.
const UNORDERED: u64 = 4096;
/// One of so many transactions is refused by right.
const BAD_EVERY: u64 = 50;

#[derive(Default, Serialize)]
struct Soak {
    transactions: u64,
    writes: u64,
    reads: u64,
    unordered_reads: u64,
    /// Transactions that had to be refused, and were with the right code.
    refused: u64,
    bytes_written: u64,
    bytes_read: u64,
    /// Bytes read that the shadow has otherwise, or that are missing.
    differ_bytes: u64,
    /// Bytes of the medium that the shadow has otherwise, at the end.
    differ_medium_bytes: u64,
    /// Transactions that failed, or were not refused, or with a wrong code.
    wrong_answers: u64,
    cycles: u64,
    /// The first few transactions that went wrong.
    first_wrong: Vec<String>,
    /// What crossed PCIe.
    #[serde(flatten)]
    traffic: Traffic,
}

impl Soak {
    const fn is_good(&self) -> bool {
        self.differ_bytes == 0 && self.differ_medium_bytes == 0 && self.wrong_answers == 0
    }

    fn wrong(&mut self, outcome: &Outcome, what: &str) {
        if self.first_wrong.len() < 8 {
            self.first_wrong.push(format!(
                "{:?} {} at {:#x}, {} bytes: {what}",
                outcome.direction, outcome.id, outcome.address, outcome.length
            ));
        }
    }
}

/// What must come of a transaction under way.
struct Expected {
    /// Bytes that it occupies, whole blocks.
    range: Range<u64>,
    direction: Direction,
    /// What a read must bring.
    data: Vec<u8>,
    /// How it must be refused.
    refusal: Option<UserError>,
    tag: Option<u8>,
}

struct Soaker {
    session: Session,
    random: Pcg64Mcg,
    shadow: Vec<u8>,
    under_way: HashMap<u64, Expected>,
    /// A transaction that must wait for one under way with which it overlaps.
    held: Option<Planned>,
    soak: Soak,
    block: u64,
    largest: u64,
    extended: bool,
    tags: Vec<u8>,
    left: u64,
}

/// A transaction before it is submitted.
struct Planned {
    direction: Direction,
    address: u64,
    length: u64,
    range: Range<u64>,
    refusal: Option<UserError>,
}

pub fn run(args: &SoakArgs) -> Result<Exit> {
    let stalls = values::stalls(&args.stall);
    let mut session = Session::start(&args.machine, SCHEMA, |config| {
        config.stalls = stalls;
        Ok(())
    })?;
    let namespace = session.namespace()?;
    let area = args.area.min(namespace.bytes()) & !(namespace.block_bytes() - 1);
    if area < 2 * args.largest {
        return Err(Failure::input(
            "--area",
            render::bytes(area),
            "it must hold at least two of the greatest transactions",
            "choose a smaller --largest, a greater --area or a larger drive",
        ));
    }
    session.begin();
    let mut soaker = Soaker {
        extended: session.is_extended(),
        session,
        random: random(args.machine.seed, 0x50a4),
        shadow: vec![0; area as usize],
        under_way: HashMap::new(),
        held: None,
        soak: Soak::default(),
        block: namespace.block_bytes(),
        largest: args.largest,
        tags: (1..=255).collect(),
        left: args.transactions,
    };
    let ended = soaker.soak(args.transactions)?;
    soaker.finish(args, ended)
}

impl Soaker {
    fn soak(&mut self, transactions: u64) -> Result<Ended> {
        let progress = Progress::count("soaking", transactions);
        loop {
            while self.left > 0 && self.under_way.len() < UNDER_WAY {
                let Some(planned) = self.held.take().or_else(|| Some(self.plan())) else {
                    break;
                };
                if self.overlaps(&planned) {
                    self.held = Some(planned);
                    break;
                }
                self.submit(planned);
                self.left -= 1;
            }
            if self.under_way.is_empty() {
                self.compare_medium()?;
                return Ok(Ended::Done);
            }
            let ended = self.session.run_to(self.soak.transactions + 1);
            for outcome in self.session.system.take_outcomes() {
                self.check(&outcome);
            }
            progress.at(self.soak.transactions);
            if !ended.is_done() {
                return Ok(ended);
            }
        }
    }

    /// The next transaction: which way, where, how long, and whether it is to be refused.
    fn plan(&mut self) -> Planned {
        let direction = if self.random.next_u32() & 1 == 0 {
            Direction::Write
        } else {
            Direction::Read
        };
        let area = self.shadow.len() as u64;
        // Each power of two is as likely as the next: small ones are where mistakes hide.
        let most = 1 << below(&mut self.random, u64::from(self.largest.ilog2()) + 1);
        let length = (most + below(&mut self.random, most)).min(self.largest);
        // Now whole pages, now only whole blocks: both kinds of alignment occur in the field.
        let unit = if self.random.next_u32() & 1 == 0 {
            4096.max(self.block)
        } else {
            self.block
        };
        let address = below(&mut self.random, (area - length) / unit + 1) * unit;
        let address = address.min((area - length) / self.block * self.block);
        let mut planned = Planned {
            direction,
            address,
            length,
            range: address..(address + length).next_multiple_of(self.block).min(area),
            refusal: None,
        };
        // SNAcc's streamer knows no refusal: what it would do is not defined.
        if self.extended && below(&mut self.random, BAD_EVERY) == 0 {
            if self.random.next_u32() & 1 == 0 {
                planned.address += 1 + below(&mut self.random, self.block - 1);
                planned.refusal = Some(UserError::Misaligned);
            } else {
                planned.address = (u64::MAX / 2) & !(self.block - 1);
                planned.refusal = Some(UserError::OutOfRange);
            }
            planned.range = 0..0;
        }
        planned
    }

    /// NVMe gives no order between commands that overlap, so they must not be under way together
    /// unless both only read.
    fn overlaps(&self, planned: &Planned) -> bool {
        self.under_way.values().any(|other| {
            other.range.start < planned.range.end
                && planned.range.start < other.range.end
                && (other.direction == Direction::Write || planned.direction == Direction::Write)
        })
    }

    fn submit(&mut self, planned: Planned) {
        let Planned {
            direction,
            address,
            length,
            range,
            refusal,
        } = planned;
        let mut expected = Expected {
            range,
            direction,
            data: Vec::new(),
            refusal,
            tag: None,
        };
        let place = expected.range.start as usize..expected.range.end as usize;
        let id = match direction {
            Direction::Write => {
                let mut data = vec![0; length as usize];
                self.random.fill_bytes(&mut data);
                if refusal.is_none() {
                    // The tail of the last block is padded with zeros.
                    let place = &mut self.shadow[place];
                    place[..data.len()].copy_from_slice(&data);
                    place[data.len()..].fill(0);
                }
                let mut write = Write::new(address, Payload::from(data));
                if self.extended {
                    write.fua = self.random.next_u32().is_multiple_of(16);
                    write.flush = self.random.next_u32().is_multiple_of(16);
                }
                self.session.system.submit_write(write)
            }
            Direction::Read => {
                if refusal.is_none() {
                    expected.data = self.shadow[place][..length as usize].to_vec();
                }
                let mut read = Read::new(address, length, Sink::Collect);
                if self.extended
                    && length <= UNORDERED
                    && refusal.is_none()
                    && let Some(tag) = self.tags.pop()
                {
                    read = read.unordered(tag);
                    expected.tag = Some(tag);
                }
                self.session.system.submit_read(read)
            }
        };
        self.under_way.insert(id, expected);
    }

    fn check(&mut self, outcome: &Outcome) {
        self.soak.transactions += 1;
        let Some(expected) = self.under_way.remove(&outcome.id) else {
            self.soak.wrong_answers += 1;
            self.soak.wrong(outcome, "answered, but not under way");
            return;
        };
        self.tags.extend(expected.tag);
        if outcome.error != expected.refusal || outcome.aborted {
            self.soak.wrong_answers += 1;
            let answer = outcome
                .error
                .map_or("OK".to_owned(), |error| error.to_string());
            self.soak
                .wrong(outcome, &format!("the answer was: {answer}"));
            return;
        }
        if expected.refusal.is_some() {
            self.soak.refused += 1;
            return;
        }
        match outcome.direction {
            Direction::Write => {
                self.soak.writes += 1;
                self.soak.bytes_written += outcome.length;
            }
            Direction::Read => {
                self.soak.reads += 1;
                self.soak.unordered_reads += u64::from(expected.tag.is_some());
                self.soak.bytes_read += outcome.data.len() as u64;
                let wrong = differ(&expected.data, &outcome.data);
                self.soak.differ_bytes += wrong;
                if wrong > 0 {
                    self.soak.wrong(outcome, &format!("{wrong} bytes differ"));
                }
            }
        }
    }

    fn compare_medium(&mut self) -> Result<()> {
        const PIECE: usize = 1 << 20;
        for (n, piece) in self.shadow.chunks(PIECE).enumerate() {
            let stored = self.session.stored((n * PIECE) as u64, piece.len())?;
            self.soak.differ_medium_bytes += differ(piece, &stored);
        }
        Ok(())
    }

    fn finish(mut self, args: &SoakArgs, ended: Ended) -> Result<Exit> {
        let Self { session, soak, .. } = &mut self;
        soak.cycles = session.system.stats().cycles;
        let time = soak.cycles * session.system.clock_period();
        let bytes = soak.bytes_written + soak.bytes_read;
        soak.traffic = Traffic::new(&session.hops(), time, bytes);
        let report = Report {
            header: self.session.header(&ended),
            bench: "soak",
            found: self.soak,
        };
        let good = report.found.is_good();
        if !report::emit(&report, args.report.json.as_deref())? {
            show(&report, good);
        }
        Ok(ended.exit(good))
    }
}

fn differ(expected: &[u8], found: &[u8]) -> u64 {
    let same = expected.iter().zip(found).filter(|(a, b)| a == b).count();
    (expected.len().max(found.len()) - same) as u64
}

fn show(report: &Report<Soak>, good: bool) {
    let soak = &report.found;
    let mut page = page("soak", &report.header);
    for (name, count) in [
        ("writes", soak.writes),
        ("reads", soak.reads),
        ("unordered", soak.unordered_reads),
        ("refused", soak.refused),
        ("written B", soak.bytes_written),
        ("read B", soak.bytes_read),
        ("cycles", soak.cycles),
    ] {
        page.field(name, format_args!("{:>14}", render::count(count)));
    }
    page.heading("What crossed PCIe");
    page.grid(traffic::grid([("all", &soak.traffic)]));
    for line in &soak.first_wrong {
        page.line(format_args!("  {} {line}", render::mark(false)));
    }
    let sentence = format!(
        "{} transactions: {} bytes differ, {} on the medium, {} wrong answers",
        render::count(soak.transactions),
        render::count(soak.differ_bytes),
        render::count(soak.differ_medium_bytes),
        render::count(soak.wrong_answers)
    );
    page.verdict(good && !report.header.interrupted, sentence);
    if !good {
        page.line(format_args!("  repeat with --seed {}", report.header.seed));
    }
    page.print();
}
