// SPDX-License-Identifier: Apache-2.0
//! Measuring for a figure: the model of a design, and RTL on the same models.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use forebay_cosim::{Access, Design, Direction, Fed, Feed, Reference, Workload, measure};
use forebay_model::profile::{LoadAccess, LoadDirection, Measurement, Quantity};
use forebay_model::{NANOSECOND, Node, Profile};
use forebay_pipeline::Memory;

use super::published::{DesignOf, LoadOf, Measured};
use crate::failure::{Exit, Failure, Result};
use crate::interrupt;
use crate::progress::{self, Progress};
use crate::report::Rate;
use crate::session::{Ended, Session};
use crate::traffic::Traffic;
use crate::workload::{ops, scattered, sequential};
use forebay_app::MachineSpec;

/// Bytes of the drive in which random addresses lie.
const AREA: u64 = 64 << 30;
/// Cycles without work before an access whose latency counts.
const REST: u64 = 2_000;

/// How a reproduction is run.
#[derive(Clone, Debug)]
pub struct Runs {
    /// Name or file of the drive's profile.
    pub profile: String,
    /// The short form.
    pub quick: bool,
    /// Decides everything random.
    pub seed: u64,
    /// Other RTL to run, too.
    pub rtl: Vec<PathBuf>,
}

/// What was found: gigabytes per second, or microseconds.
#[derive(Clone, Debug)]
pub struct Found {
    /// The number.
    pub value: f64,
    /// What crossed PCIe.
    pub traffic: Traffic,
}

/// Which RTL.
#[derive(Clone, Copy, Debug)]
pub enum Rtl {
    /// Our streamer with its payload in this memory.
    Ours(Memory),
    /// Ours, with a reorder window of this number of pages.
    Window(u32),
    /// Ours, with queues of this number of entries.
    Depth(u32),
    /// The user's.
    Given,
}

impl Runs {
    /// Runs a load on the model of a design, with a profile that may be another than the own.
    ///
    /// # Errors
    /// Where the drive fails, or the user stops.
    pub fn model(&self, profile: &Profile, design: &DesignOf, load: &LoadOf) -> Result<Found> {
        let mut profile = changed(profile, load);
        let answer = design.answer_ns.value * NANOSECOND;
        profile.fabric.fpga.completer += answer;
        let in_buffer = (design.buffer_bytes.value / load.bytes).max(1);
        let depth = match load.quantity {
            Measured::Rate => in_buffer.min(design.window.value),
            Measured::Latency => 1,
        };
        let load_again = Measurement {
            title: load.title.clone(),
            direction: load.direction,
            access: load.access,
            bytes: load.bytes,
            depth: u16::try_from(depth).unwrap_or(u16::MAX),
            count: if self.quick { load.quick } else { load.count },
            full_cache: false,
            setup: 0,
            limit: Default::default(),
            gave: Vec::new(),
        };
        let as_design = Design {
            queues: design.queues.node().unwrap_or(Node::Host),
            data: design.data.node().unwrap_or(Node::Host),
            in_order: design.in_order,
        };
        let run = self.host(&profile, &load_again, as_design)?;
        let value = match load.quantity {
            Measured::Rate => measure::value(&run, &load_again, Quantity::Rate) / 1e9,
            Measured::Latency => {
                let extra = match load.direction {
                    LoadDirection::Read => design.read_extra_ns.value,
                    LoadDirection::Write => 0,
                };
                let median = measure::value(&run, &load_again, Quantity::Percentile(500));
                (median + extra as f64) / 1e3
            }
        };
        Ok(Found {
            value,
            traffic: Traffic::new(&run.hops, run.duration, run.bytes),
        })
    }

    /// Runs a load by an ideal host, or what `design` says in its place.
    ///
    /// # Errors
    /// As [`Self::model`].
    pub fn host(
        &self,
        profile: &Profile,
        load: &Measurement,
        design: Design,
    ) -> Result<forebay_cosim::ReferenceRun> {
        let stop = Arc::new(AtomicBool::new(false));
        interrupt::also(Arc::clone(&stop));
        let name = format!("{}, model", load.title);
        progress::step(&name);
        let _progress = Progress::stage(&name);
        Ok(measure::run(profile, load, design, self.seed, stop)?)
    }

    /// Runs a load of chunks as the recorder does, on the drive's model, without RTL.
    ///
    /// # Errors
    /// As [`Self::model`].
    pub fn fed(&self, profile: &Profile, load: &Measurement) -> Result<Fed> {
        let (profile, fill) = measure::prepared(profile, load);
        let feed = Feed {
            chunk_bytes: load.bytes,
            ..Feed::new(way(load.direction), load.count)
        };
        self.feed_after(&profile, &feed, fill, &load.title)
    }

    /// The same of chunks from the drive's first byte on.
    ///
    /// # Errors
    /// As [`Self::model`].
    pub fn feed(&self, profile: &Profile, feed: &Feed, title: &str) -> Result<Fed> {
        self.feed_after(profile, feed, 0, title)
    }

    /// With `fill` chunks before it, which do not count.
    fn feed_after(&self, profile: &Profile, feed: &Feed, fill: u64, title: &str) -> Result<Fed> {
        let stop = Arc::new(AtomicBool::new(false));
        interrupt::also(Arc::clone(&stop));
        let name = format!("{title}, model");
        progress::step(&name);
        let progress = Progress::bytes(&name, feed.chunks * feed.chunk_bytes);
        let mut card = Reference::recorder(profile, self.seed)?;
        card.set_stop_flag(stop);
        card.bring_up(&mut |_| {})?;
        if fill > 0 {
            let first = Feed {
                chunks: fill,
                ..*feed
            };
            card.feed(&first, &mut |_| {})?;
        }
        Ok(card.feed(feed, &mut |bytes| progress.at(bytes))?)
    }

    /// Runs a load of SNAcc's on RTL.
    ///
    /// # Errors
    /// Where the RTL cannot be built, a transaction fails, or the user stops.
    pub fn rtl(&self, rtl: Rtl, profile: &Profile, load: &LoadOf) -> Result<Found> {
        let profile = changed(profile, load);
        let direction = way(load.direction);
        let (short, long): (u64, u64) = match (load.quantity, load.access) {
            (Measured::Latency, _) => (21, 201),
            (_, LoadAccess::Sequential) => (8, 64),
            (_, LoadAccess::Random) => (2048, 16_384),
        };
        let bytes = load.bytes * if self.quick { short } else { long };
        let workload = match load.access {
            // One transaction, however long: the streamer cuts it into commands by itself.
            LoadAccess::Sequential => sequential(direction, bytes, bytes),
            LoadAccess::Random => {
                let area = AREA.min(profile.ssd.bytes());
                scattered(direction, bytes, load.bytes, area, self.seed)
            }
        };
        let alone = load.quantity == Measured::Latency;
        let rate = self.rate(rtl, &profile, &workload, alone, &load.title)?;
        let value = match load.quantity {
            Measured::Rate => rate.gigabytes_per_second,
            Measured::Latency => {
                let per_cycle = forebay_cosim::CLOCK_PERIOD as f64 * 1e-6;
                f64::from(rate.latency_cycles.p50) * per_cycle
            }
        };
        Ok(Found {
            value,
            traffic: rate.traffic,
        })
    }

    /// Runs a workload on RTL beside a drive that has just got power; `alone`: each transaction
    /// when the one before has ended.
    ///
    /// # Errors
    /// As [`Self::rtl`].
    pub fn rate(
        &self,
        rtl: Rtl,
        profile: &Profile,
        workload: &Workload,
        alone: bool,
        title: &str,
    ) -> Result<Rate> {
        let machine = self.machine(rtl);
        let mut session = Session::start(&machine, "forebay.repro/1", |config| {
            config.profile = profile.clone();
            Ok(())
        })?;
        let ops = ops(workload);
        if workload.direction == Direction::Read {
            session.prepare(&ops)?;
        }
        let title = format!("{title}, RTL");
        progress::step(&title);
        let parts = ops.chunks(if alone { 1 } else { ops.len() });
        let mut rates = Vec::with_capacity(parts.len());
        for ops in parts {
            if alone {
                session.system.run_cycles(REST)?;
            }
            let measured = session.measure(&title, ops);
            match measured.ended {
                Ended::Done => rates.push(measured.rate),
                Ended::Interrupted => return Err(Failure::interrupted()),
                Ended::Failed(failure) => return Err(failure),
            }
        }
        let rate = match rates.as_slice() {
            [rate] => rate.clone(),
            rates => Rate::together(rates),
        };
        if rate.failed + rate.mismatched > 0 {
            return Err(Failure::new(
                Exit::BadResult,
                format!(
                    "{title}: {} transactions failed and the data of {} differ",
                    rate.failed, rate.mismatched
                ),
                "`forebay bench soak` looks for the reason",
            ));
        }
        Ok(rate)
    }

    fn machine(&self, rtl: Rtl) -> MachineSpec {
        let mut machine = MachineSpec {
            seed: self.seed,
            ..MachineSpec::default()
        };
        match rtl {
            Rtl::Ours(memory) => machine.memory = memory,
            Rtl::Window(pages) => machine.buffer_pages = Some(pages),
            Rtl::Depth(depth) => machine.queue_depth = Some(depth),
            Rtl::Given => machine.rtl.clone_from(&self.rtl),
        }
        machine
    }
}

/// The drive in the state of a load.
fn changed(profile: &Profile, load: &LoadOf) -> Profile {
    let mut profile = profile.clone();
    if let (Some(timing), Some(slow)) = (&mut profile.ssd.timing, &load.slow_ns) {
        timing.write.slow = slow.value * NANOSECOND;
    }
    profile
}

/// The direction of a transaction.
pub const fn way(direction: LoadDirection) -> Direction {
    match direction {
        LoadDirection::Read => Direction::Read,
        LoadDirection::Write => Direction::Write,
    }
}

/// Transfers of one size, one after the other from address 0.
pub fn in_a_row(direction: Direction, size: u64, count: u64) -> Workload {
    Workload {
        direction,
        access: Access::Sequential,
        size,
        count,
        span: size * count,
        seed: 0,
    }
}
