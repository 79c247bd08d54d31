// SPDX-License-Identifier: Apache-2.0
//! A recorder without a CPU, in simulation: sessions that write a number of chunks and read them back,
//! or a recording from a source that cannot wait.

mod report;
mod run;

use forebay_cosim::root::{BEAT, Hierarchy, RECORDER, RecorderConfig, RootConfig, settings};
use forebay_cosim::{DramFault, Drive, Stall};
use forebay_driver::{ArrayOptions, Layout};
use forebay_model::{DramProfile, MICROSECOND, Medium, Poison, Profile, SECOND, Time};
use forebay_seq::boot::Settings;
use forebay_spec::streamer::window;
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, Result};
use crate::inject::{self, FaultSpec, StallSpec};
use crate::machine::ArraySpec;

pub use report::{BringUp, Gapless, Models, Moved, RecorderReport, Session};

/// Kind and version of the report.
pub const SCHEMA: &str = "forebay.recorder/1";
/// Bytes of MLE's chunks.
pub const CHUNK_BYTES: u64 = 128 << 10;
/// Most chunks of a session.
pub const CHUNKS_MOST: u64 = 256;
/// Most bytes of a stream FIFO in DRAM: 16 GiB in RTL, and the simulated memory holds fewer.
pub const FIFO_MOST: u64 = 1 << 30;
/// Of a stripe unit of several drives, as the bring-up's program has it.
pub(crate) const STRIPE_UNIT: u64 = 128 << 10;

/// Pauses of each drive while it writes, in place of its profile's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PauseSpec {
    /// Bytes between the beginnings of two pauses; none: the profile's.
    pub every_bytes: Option<u64>,
    /// Length in picoseconds; none: the profile's.
    pub length_ps: Option<Time>,
}

/// A recording from a source that cannot wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GaplessSpec {
    /// Bytes a second that come.
    pub bytes_per_second: u64,
    /// For how long, in picoseconds.
    pub time_ps: Time,
}

/// What is recorded, on what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RecorderSpec {
    /// Profiles of the drives: one, or one for each.
    pub profiles: Vec<String>,
    /// Drives, 1 to 8; none: one for each profile. Several are one address space of stripes.
    pub drives: Option<u8>,
    /// Entries of each queue, a power of two from 2 to 1024, and at most 1024 for all drives.
    pub queue_entries: u16,
    /// Bytes of a chunk: a power of two from 16 KiB to 1 MiB.
    pub chunk_bytes: u64,
    /// Sessions, each of this number of chunks; in order. None where `gapless` says what is recorded.
    pub chunks: Vec<u64>,
    /// A recording from a source that cannot wait, in place of sessions.
    pub gapless: Option<GaplessSpec>,
    /// Bytes a second at which the source of sessions sends at most; none: as fast as it can.
    pub bytes_per_second: Option<u64>,
    /// Bytes a second at which what is read back is taken at most; none: as fast as it comes.
    pub read_bytes_per_second: Option<u64>,
    /// Bytes of the stream FIFO in DRAM, a multiple of 4 KiB above 8 KiB; 0: it is on chip.
    pub fifo_bytes: u64,
    /// Profile of that DRAM.
    pub dram: String,
    /// Pauses of the drives, in place of the profile's.
    pub pause: Option<PauseSpec>,
    /// Time from enabling a drive's controller until it is ready, in picoseconds; none: the profile's.
    pub ready_ps: Option<Time>,
    /// For how long PERST# is asserted, and what passes from link-up to the first request, microseconds.
    pub reset_us: u64,
    /// Time from PERST# to link-up, picoseconds.
    pub link_ps: Time,
    /// Period of the RTL's clock, a fraction of a microsecond, in picoseconds.
    pub period_ps: Time,
    /// Pauses of all ports.
    pub stall: Option<StallSpec>,
    /// What drives do wrong.
    pub faults: Vec<FaultSpec>,
    /// Where the memory of the FIFO answers with errors.
    #[serde(with = "inject::dram_faults")]
    pub dram_faults: Vec<DramFault>,
    /// Decides everything that is random.
    pub seed: u64,
}

impl Default for RecorderSpec {
    fn default() -> Self {
        Self {
            profiles: vec!["960evo-250".to_owned()],
            drives: None,
            queue_entries: 64,
            chunk_bytes: CHUNK_BYTES,
            chunks: (0..=6).map(|power| 1 << power).collect(),
            gapless: None,
            bytes_per_second: None,
            read_bytes_per_second: None,
            fifo_bytes: 0,
            dram: "ddr4-2400".to_owned(),
            pause: None,
            ready_ps: Some(200 * MICROSECOND),
            reset_us: 100,
            link_ps: 50 * MICROSECOND,
            period_ps: 4_000,
            stall: None,
            faults: Vec::new(),
            dram_faults: Vec::new(),
            seed: 1,
        }
    }
}

/// What a spec comes to.
struct Parts {
    profile: Profile,
    hierarchy: Hierarchy,
    config: RecorderConfig,
    layout: Layout,
    drives: Vec<String>,
}

impl RecorderSpec {
    /// The bring-up's settings.
    fn settings(&self, drives: usize) -> Settings {
        Settings {
            drives_most: drives as u8,
            reset_us: self.reset_us,
            ..settings(self.queue_entries)
        }
    }

    /// Refuses numbers that cannot be.
    fn check(&self, drives: usize) -> Result<()> {
        let chunk = self.chunk_bytes;
        if !(chunk.is_power_of_two() && (16 << 10..=1 << 20).contains(&chunk)) {
            let limit = "a chunk is a power of two from 16 KiB to 1 MiB";
            return Err(Failure::input("chunk_bytes", chunk, limit, "choose 128KiB"));
        }
        for chunks in &self.chunks {
            if !(1..=CHUNKS_MOST).contains(chunks) {
                let limit = format!("the RTL of a session moves 1 to {CHUNKS_MOST} of them");
                let remedy = "choose fewer: `forebay repro` has the drive's model for more";
                return Err(Failure::input("chunks", chunks, &limit, remedy));
            }
        }
        if self.chunks.is_empty() && self.gapless.is_none() {
            let (limit, remedy) = ("there is nothing to record", "name a number of chunks");
            return Err(Failure::input("chunks", "empty", limit, remedy));
        }
        let entries = u64::from(self.queue_entries);
        let most = window::QUEUE_DEPTH_MOST / drives as u64;
        if !entries.is_power_of_two() || !(2..=most).contains(&entries) {
            let limit =
                format!("a queue beside {drives} drives has a power of two from 2 to {most}");
            let remedy = "choose another value";
            return Err(Failure::input("queue_entries", entries, &limit, remedy));
        }
        let fifo = self.fifo_bytes;
        let least = 8192 + 2 * chunk;
        if fifo != 0 && (!fifo.is_multiple_of(4096) || !(least..=FIFO_MOST).contains(&fifo)) {
            let limit =
                format!("it is a multiple of 4 KiB from {least} bytes to 1 GiB, or 0: on chip");
            let remedy = "choose 10MiB, or 0";
            return Err(Failure::input("fifo_bytes", fifo, &limit, remedy));
        }
        let most = BEAT * SECOND / self.period_ps.max(1);
        let rates = [
            ("bytes_per_second", self.bytes_per_second),
            ("read_bytes_per_second", self.read_bytes_per_second),
            (
                "gapless.bytes_per_second",
                self.gapless.map(|gapless| gapless.bytes_per_second),
            ),
        ];
        for (field, rate) in rates {
            if let Some(rate) = rate.filter(|rate| !(1_000_000..=most).contains(rate)) {
                let limit = format!(
                    "at this clock the stream carries 1000000 to {most} bytes a second, 64 a cycle"
                );
                let remedy = "choose a rate between, or a faster clock";
                return Err(Failure::input(field, rate, &limit, remedy));
            }
        }
        if let Some(gapless) = self.gapless
            && !(MICROSECOND..=10 * SECOND).contains(&gapless.time_ps)
        {
            let time = format!("{} us", gapless.time_ps / MICROSECOND);
            let limit = "it is 1 us to 10 s of simulated time";
            return Err(Failure::input(
                "gapless.time_ps",
                time,
                limit,
                "choose 50ms",
            ));
        }
        if !self.dram_faults.is_empty() && fifo == 0 {
            let limit = "the stream FIFO is on chip";
            let remedy = "give the FIFO bytes of DRAM, or leave the fault out";
            return Err(Failure::input("dram_faults", "given", limit, remedy));
        }
        Ok(())
    }

    /// Drives as the spec changes them.
    fn drive(&self, mut drive: Drive, number: usize) -> Result<Drive> {
        let profile = &mut drive.profile;
        if let Some(ready) = self.ready_ps {
            profile.controller.ready = ready;
        }
        if let Some(pause) = self.pause {
            let Some(timing) = &mut profile.timing else {
                let limit = "this profile has no timing: its drive takes everything at once";
                let remedy = "take another profile, or leave it out";
                return Err(Failure::input("pause", "given", limit, remedy));
            };
            let write = &mut timing.write;
            write.pause_every_bytes = pause.every_bytes.unwrap_or(write.pause_every_bytes);
            write.pause = pause.length_ps.unwrap_or(write.pause);
        }
        let poison = Poison::Medium(number as u8..number as u8 + 1);
        drive.medium = Some(Medium::poisoned(profile.bytes(), poison));
        drive.faults = inject::faults(&self.faults, number);
        Ok(drive)
    }

    fn parts(&self) -> Result<Parts> {
        let array = ArraySpec {
            drives: self.drives,
            ..ArraySpec::default()
        };
        let (profile, more) = array.load(&self.profiles)?;
        let drives = std::iter::once(Drive::new(profile.ssd.clone())).chain(more);
        let drives: Result<Vec<Drive>> = (0..)
            .zip(drives)
            .map(|(number, drive)| self.drive(drive, number))
            .collect();
        let drives = drives?;
        self.check(drives.len())?;
        if let Some(fault) = self.faults.iter().find(|one| one.drive() >= drives.len()) {
            let limit = format!("the drives are 0 to {}", drives.len() - 1);
            let remedy = "name one of them, or take more drives";
            return Err(Failure::input("faults", fault, &limit, remedy));
        }
        let layout = Layout::new(ArrayOptions::striped(drives.len() as u8, STRIPE_UNIT));
        let layout = match drives.len() {
            1 => Layout::ONE,
            _ => layout.map_err(forebay_cosim::Error::Command)?,
        };
        let names = drives.iter().map(|drive| drive.profile.model.clone());
        let names = names.collect();
        let config = RecorderConfig {
            settings: self.settings(drives.len()),
            fifo_bytes: self.fifo_bytes,
            dram: DramProfile::load(&self.dram)?,
            dram_faults: self.dram_faults.clone(),
            period: self.period_ps,
            stall: self.stall.as_ref().map_or(Stall::NONE, StallSpec::stall),
            seed: self.seed,
        };
        let mut root = RootConfig::new(profile.fabric.clone(), drives);
        root.seed = self.seed;
        root.link_after = Some(self.link_ps);
        Ok(Parts {
            hierarchy: Hierarchy::new(root)?,
            profile,
            config,
            layout,
            drives: names,
        })
    }

    /// Brings up, records, and compares what lies on the drives and what is read back with what was
    /// sent.
    ///
    /// # Errors
    /// Where the spec cannot be, the RTL cannot be built, or it breaks a rule of its ports.
    pub fn run(&self) -> Result<RecorderReport> {
        run::run(self, RECORDER)
    }
}
