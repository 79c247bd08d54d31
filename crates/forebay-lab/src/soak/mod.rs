// SPDX-License-Identifier: Apache-2.0
//! Random transactions on a machine to which things happen, and a shadow that knows each byte: the
//! engine of `forebay bench soak` and of `forebay swarm`.
//!
//! A read that ends well brings exactly what the shadow has. A transaction fails only where
//! something was done to the machine that explains it; a write that fails, or that a reset cuts
//! off, leaves each sector as it was or as it was to be. In the end the drives hold what the shadow
//! has.

mod case;
mod found;
mod judge;
mod plan;
mod shadow;

use std::collections::{HashMap, VecDeque};

use forebay_cosim::{Config, Direction, Error, Outcome, Payload, Read, Sink, Write};
use forebay_driver::Layout;
use forebay_spec::streamer::UserError;
use rand_core::RngCore;
use rand_pcg::Pcg64Mcg;

use crate::bench::{self, Ran};
use crate::failure::{Failure, Result};
use crate::inject;
use crate::progress::Progress;
use crate::session::{Ended, Session};
use crate::traffic::Traffic;
use crate::workload::random;
pub use case::{Case, Trouble, Work};
pub use found::Soak;
use judge::Judge;
use plan::{Planned, Planner};
use shadow::Shadow;

/// Cycles of a reset of the RTL.
const RESET_CYCLES: u64 = 16;
/// Cycles without progress after which a machine is stuck, beside what pauses and time-outs take.
const PATIENCE: u64 = 200_000;
/// Cycles in which what has been answered is retired: some for each of a thousand commands.
const RETIRED_WITHIN: u64 = 10_000;

/// The machine of a case.
///
/// # Errors
/// Where an option cannot be, or RTL or profile is not found.
pub fn config(case: &Case) -> Result<Config> {
    let trouble = &case.trouble;
    let mut config = case.machine.config()?;
    config.poison = true;
    config.watchdog = PATIENCE;
    if let Some(block) = &trouble.block {
        inject::set_block(&mut config, block);
    }
    if let Some(bytes) = trouble.mdts {
        inject::set_mdts(&mut config, bytes);
    }
    config.stalls = inject::stalls(&trouble.stall);
    inject::set_faults(&mut config, &trouble.fault, &trouble.dram_fault)?;
    config.driver.max_transfer = trouble.max_transfer;
    config.driver.timeout_cycles = trouble.timeout_cycles;
    config.driver.retry_limit = trouble.retry_limit;
    Ok(config)
}

/// Carries a case out, as a bench.
///
/// # Errors
/// Where the case does not suit the machine, or that does not come up.
pub fn run(case: &Case) -> Result<Ran<Soak>> {
    let session = Session::of(config(case)?, bench::SCHEMA)?;
    let progress = Progress::count("soaking", case.work.transactions);
    let (found, session, ended) = play(case, session, &progress)?;
    let good = found.is_good();
    Ok(Ran::new("soak", session.header(&ended), found, ended, good))
}

/// Carries a case out on a machine that is up; tells how many transactions have ended.
///
/// # Errors
/// Where the case does not suit the machine.
pub fn play(case: &Case, session: Session, progress: &Progress) -> Result<(Soak, Session, Ended)> {
    let mut soaker = Soaker::new(case, session)?;
    let ended = match soaker.soak(progress) {
        Ok(ended) => ended,
        Err(failure) => Ended::Failed(failure),
    };
    let Soaker { session, soak, .. } = &mut soaker;
    soak.cycles = session.system.stats().cycles;
    soak.faults = session.system.ssds().iter().map(|s| s.stats().faults).sum();
    let time = soak.cycles * session.system.clock_period();
    let bytes = soak.bytes_written + soak.bytes_read;
    soak.traffic = Traffic::new(&session.hops(), time, bytes);
    Ok((soaker.soak, soaker.session, ended))
}

/// A transaction under way.
struct UnderWay {
    planned: Planned,
    /// What is written, filled up with zeros to the end of its range.
    data: Vec<u8>,
    tag: Option<u8>,
}

struct Soaker {
    session: Session,
    planner: Planner,
    random: Pcg64Mcg,
    shadow: Shadow,
    judge: Judge,
    layout: Layout,
    under_way: HashMap<u64, UnderWay>,
    most_under_way: usize,
    /// A transaction that must wait for one under way with which it overlaps.
    held: Option<Planned>,
    tags: Vec<u8>,
    /// Transactions still to be submitted.
    left: u64,
    resets: VecDeque<u64>,
    /// The queue is halted: nothing is submitted until it is up again.
    halted: bool,
    /// Transactions that failed with a status of a drive.
    by_drive: u64,
    soak: Soak,
}

impl Soaker {
    fn new(case: &Case, mut session: Session) -> Result<Self> {
        let (work, namespace, layout) = (&case.work, session.namespace()?, session.layout());
        let (block, row) = (namespace.block_bytes(), layout.stripe());
        let capacity = namespace.bytes();
        let whole = row.unwrap_or(block);
        let default = row.map_or(256 << 10, |row| 4 * row).max(2 * work.largest);
        let area = work.area.unwrap_or(default).min(capacity) / whole * whole;
        if area < 2 * work.largest.next_multiple_of(whole) {
            return Err(Failure::input(
                "area",
                format_args!("{area} bytes"),
                "it must hold at least two of the greatest transactions, with parity two stripes",
                "choose smaller transactions, a greater area or a larger drive",
            ));
        }
        if work.least > work.largest {
            return Err(Failure::input(
                "least",
                work.least,
                &format!("the greatest transaction has {} bytes", work.largest),
                "choose a smaller least, or a greater largest transaction",
            ));
        }
        let middle = layout
            .region()
            .map_or(0, |region| layout.drives() / 2 * region - area / 2);
        let base = work.at.unwrap_or(middle) / whole * whole;
        if base.checked_add(area).is_none_or(|end| end > capacity) {
            return Err(Failure::input(
                "at",
                format_args!("{base:#x}"),
                &format!("the area of {area} bytes must end within {capacity:#x}"),
                "choose a lower address",
            ));
        }
        session.begin();
        let seed = case.machine.seed;
        let mut resets = case.trouble.reset.clone();
        resets.sort_unstable();
        Ok(Self {
            planner: Planner {
                work: work.clone(),
                random: random(seed, 0x50a4),
                area: base..base + area,
                capacity,
                block,
                row,
                extended: session.is_extended(),
            },
            judge: Judge::new(&case.trouble, layout),
            shadow: Shadow::new(base, session.system.unwritten(base, area as usize)),
            session,
            random: random(seed, 0xda7a),
            layout,
            under_way: HashMap::new(),
            most_under_way: work.under_way.into(),
            held: None,
            tags: (1..=255).collect(),
            left: work.transactions,
            resets: resets.into(),
            halted: false,
            by_drive: 0,
            soak: Soak::default(),
        })
    }

    fn soak(&mut self, progress: &Progress) -> Result<Ended> {
        loop {
            self.submit_more();
            if self.under_way.is_empty() {
                if !std::mem::take(&mut self.halted) {
                    break;
                }
                self.recover()?;
                self.soak.recoveries += 1;
                continue;
            }
            let ended = self.session.run_to(self.soak.transactions + 1);
            self.take_outcomes();
            progress.at(self.soak.transactions);
            if !ended.is_done() {
                return Ok(ended);
            }
            if (self.resets)
                .pop_front_if(|at| *at <= self.soak.transactions)
                .is_some()
            {
                self.reset()?;
            }
        }
        self.compare_stored()?;
        self.count_units()?;
        Ok(Ended::Done)
    }

    fn submit_more(&mut self) {
        while self.left > 0 && !self.halted && self.under_way.len() < self.most_under_way {
            let planned = self.held.take().unwrap_or_else(|| self.planner.next());
            if self
                .under_way
                .values()
                .any(|other| planned.waits_for(&other.planned))
            {
                self.held = Some(planned);
                return;
            }
            self.submit(planned);
            self.left -= 1;
        }
    }

    fn submit(&mut self, planned: Planned) {
        let mut data = Vec::new();
        let mut tag = None;
        let id = match planned.direction {
            Direction::Write => {
                data.resize(planned.length as usize, 0);
                self.random.fill_bytes(&mut data);
                let mut write = Write::new(planned.address, Payload::from(data.clone()));
                write.fua = planned.fua;
                write.flush = planned.flush;
                write.fence = planned.fence;
                write.damage = planned.damage;
                // The last block, with parity the last row, is filled up with zeros.
                data.resize((planned.range.end - planned.range.start) as usize, 0);
                self.session.system.submit_write(write)
            }
            Direction::Read => {
                let mut read = Read::new(planned.address, planned.length, Sink::Collect);
                if planned.unordered {
                    tag = self.tags.pop();
                    read.unordered = tag;
                }
                self.session.system.submit_read(read)
            }
        };
        let under_way = UnderWay { planned, data, tag };
        self.under_way.insert(id, under_way);
    }

    fn take_outcomes(&mut self) {
        for outcome in self.session.system.take_outcomes() {
            self.check(&outcome);
        }
    }

    /// Resets the RTL in the middle of whatever is under way.
    fn reset(&mut self) -> Result<()> {
        self.session.system.reset(RESET_CYCLES)?;
        self.take_outcomes();
        self.recover()?;
        self.take_outcomes();
        self.soak.resets += 1;
        Ok(())
    }

    /// Brings everything up again; a second time where the drive's fault, which it has once, comes
    /// in the middle of that.
    fn recover(&mut self) -> Result<()> {
        match self.session.recover() {
            Err(_) if self.judge.breaks() => self.session.recover(),
            recovered => recovered,
        }
    }

    fn check(&mut self, outcome: &Outcome) {
        self.soak.transactions += 1;
        let Some(under_way) = self.under_way.remove(&outcome.id) else {
            self.soak.wrong_answers += 1;
            self.soak.wrong(outcome, "answered, but not under way");
            return;
        };
        self.tags.extend(under_way.tag);
        let planned = &under_way.planned;
        if outcome.direction == Direction::Read {
            self.check_data(outcome, planned);
        }
        match outcome.error {
            _ if outcome.aborted => self.soak.aborted += 1,
            None if planned.refusal.is_none() => return self.good(outcome, under_way),
            error if error == planned.refusal => self.soak.refused += 1,
            Some(error) if self.judge.explains(error, planned) => {
                self.soak.failed += 1;
                self.by_drive += u64::from(matches!(error, UserError::Nvme { .. }));
                self.halted |= error == UserError::Halted
                    || error == UserError::Timeout && self.layout.drives() == 1;
            }
            error => {
                self.soak.wrong_answers += 1;
                let answer = error.map_or("OK".to_owned(), |error| error.to_string());
                self.soak
                    .wrong(outcome, &format!("the answer was: {answer}"));
            }
        }
        if outcome.direction == Direction::Write && !planned.range.is_empty() {
            self.fail_write(&under_way);
        }
    }

    /// What a read has brought is right, however it ends.
    fn check_data(&mut self, outcome: &Outcome, planned: &Planned) {
        if planned.refusal.is_some() {
            return;
        }
        let whole = outcome.error.is_none() && !outcome.aborted;
        let missing = match whole {
            true => outcome.length.saturating_sub(outcome.data.len() as u64),
            false => 0,
        };
        let wrong = self.shadow.differ(outcome.address, &outcome.data) + missing;
        self.soak.differ_bytes += wrong;
        if wrong > 0 {
            self.soak.wrong(outcome, &format!("{wrong} bytes differ"));
        }
    }

    fn good(&mut self, outcome: &Outcome, under_way: UnderWay) {
        let UnderWay { planned, data, tag } = under_way;
        match outcome.direction {
            Direction::Write => {
                self.soak.writes += 1;
                self.soak.bytes_written += outcome.length;
                self.shadow.stored(planned.range.start, &data);
            }
            Direction::Read => {
                self.soak.reads += 1;
                self.soak.unordered_reads += u64::from(tag.is_some());
                self.soak.bytes_read += outcome.data.len() as u64;
            }
        }
    }

    /// A write that did not come through leaves each sector old or new; without one of its drives
    /// a row is then no longer even, and what is rebuilt of it is anything.
    fn fail_write(&mut self, under_way: &UnderWay) {
        let range = under_way.planned.range.clone();
        let degraded = self.session.missing().is_some() || self.judge.is_degraded();
        match self.layout.parity() && degraded {
            true => self.shadow.lost(range),
            false => self.shadow.perhaps_stored(range.start, &under_way.data),
        }
    }

    fn compare_stored(&mut self) -> Result<()> {
        const STEP: u64 = 1 << 20;
        let area = self.shadow.range();
        for start in area.clone().step_by(STEP as usize) {
            let bytes = STEP.min(area.end - start);
            let stored = self.session.stored(start, bytes as usize)?;
            self.soak.differ_medium_bytes += self.shadow.differ(start, &stored);
        }
        let faults = self.session.system.ssds().iter().map(|s| s.stats().faults);
        let faults: u64 = faults.sum();
        if self.judge.counts() && self.by_drive > faults {
            self.soak.wrong_answers += self.by_drive - faults;
            let failed = self.by_drive;
            self.soak.first_wrong.push(format!(
                "{failed} transactions failed with a status of the drive, which failed {faults} commands"
            ));
        }
        Ok(())
    }

    /// No unit of the buffer is lost: all are free again in the end. Of a read that ends early the
    /// memory may still have much to say.
    fn count_units(&mut self) -> Result<()> {
        let mut patience = RETIRED_WITHIN;
        while patience > 0 {
            let status = self.session.system.with_session(|session, bus| {
                let streamer = session.streamer().filter(|streamer| streamer.is_extended());
                streamer.cloned().map(|streamer| streamer.status(bus))
            });
            let Some(status) = status.flatten().transpose().map_err(Error::Command)? else {
                return Ok(());
            };
            let held = u64::from(status.write_pages + status.read_pages);
            if held == 0 {
                self.soak.held_units = 0;
                return Ok(());
            }
            patience = match held == self.soak.held_units {
                true => patience - 1,
                false => RETIRED_WITHIN,
            };
            self.soak.held_units = held;
            self.session.system.run_cycles(1)?;
        }
        let held = self.soak.held_units;
        let seen = format!("{held} units of the buffer are not free at the end");
        self.soak.first_wrong.push(seen);
        Ok(())
    }
}
