// SPDX-License-Identifier: Apache-2.0
//! A recorder without a CPU, `fb_top_recorder`: the bring-up, a streamer, the raw recorder and its FIFO.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use forebay_driver::Layout;
use forebay_model::{DramProfile, Fabric, MICROSECOND, Poison, Profile, Ticket, Time};
use forebay_rtl::{Model, Progress, Source as Rtl};
use forebay_seq::boot::Settings;
use forebay_spec::raw::regs;

use super::rtl::{Beside, REGISTER_CYCLES, Root, address, bring_up, word};
use super::stream::{Feed, Received, Runs, Sink, Source};
use super::{Downstream, Hierarchy, INBOUND};
use crate::aperture::{Apertures, Memory, Place};
use crate::config::{DramFault, Stall, Stalls};
use crate::dram::Board;
use crate::error::{Error, Result};
use crate::lite::{ControlPort, DoorbellPort};
use crate::pins::RecorderPins;
use crate::stall::Pauser;
use crate::target::{Behind, Target};
use crate::window::WindowPort;

/// Name of the top module.
pub const RECORDER: &str = "fb_top_recorder";
/// After which the streamer gives a command up: seconds are many cycles.
const COMMAND_US: u32 = 20_000;
/// Simulated time between two looks at the recorder's status.
const LOOK_EVERY: Time = 2 * MICROSECOND;
/// Bytes of the medium that are looked at together.
const PART: u64 = 1 << 20;

/// A recorder and what is around it.
#[derive(Debug)]
pub struct RecorderConfig {
    /// What the bring-up is told.
    pub settings: Settings,
    /// Bytes of the stream FIFO in DRAM, a multiple of 4 KiB; 0: it is on chip.
    pub fifo_bytes: u64,
    /// That DRAM.
    pub dram: DramProfile,
    /// Where it answers with errors.
    pub dram_faults: Vec<DramFault>,
    /// Period of the clock in picoseconds.
    pub period: Time,
    /// Pauses of each port.
    pub stall: Stall,
    /// Decides everything that is random.
    pub seed: u64,
}

impl RecorderConfig {
    /// The RTL.
    #[must_use]
    pub fn source(&self, root: &Path) -> Rtl {
        bring_up("recorder", root, &self.settings, self.period)
            .parameter("InboundBase", address(INBOUND))
            .parameter("QueueDepth", self.settings.queue_entries)
            .parameter("FifoBytes", address(self.fifo_bytes))
            .parameter("CommandUs", COMMAND_US)
    }
}

/// What is beside the bring-up in `fb_top_recorder`.
pub struct Recording {
    pins: RecorderPins,
    apertures: Apertures,
    bar: WindowPort,
    doorbell: DoorbellPort,
    memory: Target,
    /// Of the memory's port; nothing is on it, as the memory is on the board.
    fabric: Fabric,
    raw: ControlPort,
    /// The register that was read last.
    register: Option<u64>,
    source: Source,
    sink: Sink,
    /// Writes of drives to the BAR.
    written: u64,
    /// Doorbells to drives that are not there any more.
    unrung: u64,
}

impl Recording {
    fn new(config: &mut RecorderConfig, source: &Rtl, model: &Model) -> Result<Self> {
        let pins = RecorderPins::find(model)?;
        let (stall, seed) = (config.stall, config.seed);
        let stalls = Stalls::everywhere(stall);
        let board = Board::new(
            config.fifo_bytes,
            &config.dram,
            std::mem::take(&mut config.dram_faults),
            seed,
            Poison::Freed,
        );
        let board = Behind::Board(Box::new(board));
        let ends = (config.period, seed);
        let names = ["BAR writes", "BAR reads"];
        Ok(Self {
            apertures: Apertures::new(source, Memory::Chip)?,
            bar: WindowPort::new(pins.bar, names, &stalls, seed, 1),
            doorbell: DoorbellPort::new(pins.doorbell, 0, &stalls, seed),
            memory: Target::new(pins.dram, board, 0, &stalls, seed),
            fabric: Fabric::new(&Profile::builtin("ideal")?.fabric, 0),
            raw: ControlPort::new(pins.raw, "recorder registers"),
            register: None,
            source: Source::new(pins.stream_in, Pauser::new(stall, seed, 80), ends),
            sink: Sink::new(pins.stream_out, Pauser::new(stall, seed, 81), ends),
            written: 0,
            unrung: 0,
            pins,
        })
    }

    /// The place of an access in the BAR, where drives have something to look for.
    fn find(&self, address: u64, bytes: u64) -> Option<(Place, u64)> {
        let offset = address.checked_sub(INBOUND)?;
        let end = offset.checked_add(bytes)?;
        let inside = |range: &std::ops::Range<u64>| range.start <= offset && end <= range.end;
        let Apertures {
            payload, queues, ..
        } = &self.apertures;
        let places = [(Place::Payload, payload), (Place::Queues, queues)];
        let place = places.into_iter().find(|(_, range)| inside(range));
        place.map(|(place, _)| (place, offset))
    }
}

impl Beside for Recording {
    #[inline]
    fn drive(&mut self, model: &mut Model, now: Time) -> Result<()> {
        model.set(self.pins.now_ns, now / forebay_model::NANOSECOND);
        self.source.drive(model);
        self.sink.drive(model);
        self.raw.drive(model, u64::MAX);
        self.bar.drive(model, u64::MAX, u64::MAX);
        self.doorbell.drive(model);
        self.memory.drive(model, now, &mut self.fabric)
    }

    #[inline]
    fn sample(
        &mut self,
        model: &Model,
        (cycle, now): (u64, Time),
        hierarchy: &mut impl Downstream,
    ) -> Result<()> {
        self.source.sample(model, (cycle, now))?;
        self.sink.sample(model, cycle)?;
        let register = &mut self.register;
        self.raw
            .sample(model, cycle, &mut |answer| *register = Some(word(answer)))?;
        self.bar.sample(model, cycle, &mut |(ticket, result)| {
            hierarchy.answer(ticket, result.ok());
        })?;
        let unrung = &mut self.unrung;
        self.doorbell.sample(model, cycle, &mut |address, value| {
            *unrung += u64::from(!hierarchy.post(address, value));
        })?;
        self.memory.sample(model, cycle, now, &mut self.fabric)?;
        self.memory.accesses.clear();
        Ok(())
    }

    #[inline]
    fn settle(&mut self, model: &mut Model) {
        self.raw.settle(model);
    }

    fn write(&mut self, address: u64, data: Box<[u8]>) -> bool {
        let Some((place, at)) = self.find(address, data.len() as u64) else {
            return false;
        };
        self.written += 1;
        self.bar.write(self.written, place, at, data, 0);
        true
    }

    fn read(&mut self, address: u64, bytes: u32, ticket: Ticket) -> Option<Ticket> {
        let Some((place, at)) = self.find(address, bytes.into()) else {
            return Some(ticket);
        };
        self.bar.read(place, at, bytes, ticket, 0);
        None
    }

    fn is_idle(&self) -> bool {
        self.source.is_idle()
            && self.bar.is_idle()
            && self.raw.is_idle()
            && self.memory.is_idle()
            && self.doorbell.is_idle()
    }

    fn reset(&mut self, model: &mut Model) {
        self.bar.init(model);
        self.memory.reset(model);
        self.doorbell.reset(model);
        self.source.reset(model);
        self.sink.reset(model);
    }
}

/// `fb_top_recorder` and what is below its root port.
pub type Recorder<D = Hierarchy> = Root<Recording, D>;

/// What the recorder's registers say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counters {
    /// Its status register.
    pub status: u64,
    /// Why the last start was refused: a bit each.
    pub refused: u64,
    /// Address of the last chunk that was stored; none: none was.
    pub write_last: Option<u64>,
    /// Address of the last chunk that was read.
    pub read_last: Option<u64>,
    /// Address of the first chunk whose write failed, where one has.
    pub write_failed: Option<u64>,
    /// Address of the chunk whose read failed, where one has.
    pub read_failed: Option<u64>,
    /// Bytes that the source has offered.
    pub offered: u64,
    /// Bytes in chunks that were stored.
    pub stored: u64,
    /// Bytes that were lost.
    pub lost: u64,
    /// Of these, bytes that were taken and not stored.
    pub unstored: u64,
    /// Gaps.
    pub gaps: u32,
    /// Most cycles without a response.
    pub longest_wait: u32,
    /// Most bytes in the stream FIFO, where it is in memory.
    pub fifo_high_water: u64,
    /// Bursts of writes, and beats of reads, that its memory answered with an error.
    pub fifo_errors: [u32; 2],
    /// When writing started and stopped, nanoseconds.
    pub write_ns: [u64; 2],
    /// When reading started and stopped, nanoseconds.
    pub read_ns: [u64; 2],
}

impl Counters {
    /// Code of the write that failed; 0: none has.
    #[must_use]
    pub const fn write_code(&self) -> u8 {
        regs::status::WRITE_CODE.get(self.status) as u8
    }

    /// Code of the read that failed; 0: none has.
    #[must_use]
    pub const fn read_code(&self) -> u8 {
        regs::status::READ_CODE.get(self.status) as u8
    }
}

/// Bytes of the stream that were lost one behind the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Bytes that were taken before it.
    pub after: u64,
    /// Bytes lost in it.
    pub bytes: u64,
    /// When it began, nanoseconds.
    pub at_ns: u64,
}

impl<D: Downstream> Recorder<D> {
    /// Builds the RTL (or finds it in the cache), loads it and resets it. `root` is the folder that
    /// holds `rtl/`.
    ///
    /// # Errors
    /// When the RTL cannot be built or has other pins.
    pub fn new(
        root: &Path,
        mut config: RecorderConfig,
        hierarchy: D,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<Self> {
        let source = config.source(root);
        let clocking = (config.period, config.stall, config.seed);
        Self::beside(&source, hierarchy, clocking, progress, |model| {
            Recording::new(&mut config, &source, model)
        })
    }

    /// Reads a register of the recorder.
    ///
    /// # Errors
    /// As [`Root::step`], and where it is not answered.
    pub fn raw(&mut self, offset: u64) -> Result<u64> {
        let Recording { raw, register, .. } = &mut self.beside;
        *register = None;
        raw.read(offset, 8, Ticket::NONE, 0, &mut |_| {});
        for _ in 0..REGISTER_CYCLES {
            self.step()?;
            if let Some(value) = self.beside.register.take() {
                return Ok(value);
            }
        }
        let what = "a register was not read within 1000 cycles";
        Err(Error::protocol(self.cycles(), "recorder registers", what))
    }

    /// Writes a register of the recorder.
    ///
    /// # Errors
    /// As [`Recorder::raw`].
    pub fn set_raw(&mut self, offset: u64, value: u64) -> Result<()> {
        let data = value.to_le_bytes().into();
        self.beside.raw.write(1, offset, data);
        for _ in 0..REGISTER_CYCLES {
            self.step()?;
            if self.beside.raw.is_idle() {
                return Ok(());
            }
        }
        let what = "a register was not written within 1000 cycles";
        Err(Error::protocol(self.cycles(), "recorder registers", what))
    }

    /// What the registers say.
    ///
    /// # Errors
    /// As [`Recorder::raw`].
    pub fn counters(&mut self) -> Result<Counters> {
        let status = self.raw(regs::status::OFFSET)?;
        let errors = self.raw(regs::fifo_errors::OFFSET)?;
        let known = |address: u64| Some(address).filter(|address| *address != u64::MAX);
        let failed = |code: u64, address: u64| (code != 0).then_some(address);
        let write_code = regs::status::WRITE_CODE.get(status);
        let read_code = regs::status::READ_CODE.get(status);
        Ok(Counters {
            status,
            refused: self.raw(regs::refused::OFFSET)?,
            write_last: known(self.raw(regs::write_last::OFFSET)?),
            read_last: known(self.raw(regs::read_last::OFFSET)?),
            write_failed: failed(write_code, self.raw(regs::write_failed::OFFSET)?),
            read_failed: failed(read_code, self.raw(regs::read_failed::OFFSET)?),
            offered: self.raw(regs::offered::OFFSET)?,
            stored: self.raw(regs::stored::OFFSET)?,
            lost: self.raw(regs::lost::OFFSET)?,
            unstored: self.raw(regs::unstored::OFFSET)?,
            gaps: self.raw(regs::gap_count::OFFSET)? as u32,
            longest_wait: self.raw(regs::longest_wait::OFFSET)? as u32,
            fifo_high_water: self.raw(regs::fifo_high_water::OFFSET)?,
            fifo_errors: [
                regs::fifo_errors::WRITES.get(errors) as u32,
                regs::fifo_errors::READS.get(errors) as u32,
            ],
            write_ns: [
                self.raw(regs::write_started::OFFSET)?,
                self.raw(regs::write_stopped::OFFSET)?,
            ],
            read_ns: [
                self.raw(regs::read_started::OFFSET)?,
                self.raw(regs::read_stopped::OFFSET)?,
            ],
        })
    }

    /// The records of gaps: of the first ones.
    ///
    /// # Errors
    /// As [`Recorder::raw`].
    pub fn gaps(&mut self) -> Result<Vec<Gap>> {
        let parameters = self.raw(regs::parameters::OFFSET)?;
        let most = regs::parameters::GAP_RECORDS.get(parameters);
        let count = self.raw(regs::gap_count::OFFSET)?.min(most);
        let records = (regs::gaps::OFFSET..).step_by(32).take(count as usize);
        let records = records.map(|at| {
            Ok(Gap {
                after: self.raw(at)?,
                bytes: self.raw(at + 8)?,
                at_ns: self.raw(at + 16)?,
            })
        });
        records.collect()
    }

    /// Looks at the recorder's status until it is as wanted; at most until the time `until`, or until
    /// `stop` is set. Gives the status.
    ///
    /// # Errors
    /// As [`Recorder::raw`].
    pub fn wait(
        &mut self,
        until: Time,
        stop: &AtomicBool,
        wanted: impl Fn(u64) -> bool,
    ) -> Result<Option<u64>> {
        loop {
            let status = self.raw(regs::status::OFFSET)?;
            if wanted(status) {
                return Ok(Some(status));
            }
            if self.now() >= until || stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let look = self.now() + LOOK_EVERY;
            while self.now() < look {
                self.step()?;
            }
        }
    }

    /// Lets the source send the stream on from where it is; none: it sends nothing more, but for a
    /// beat that stands at the port.
    pub const fn feed(&mut self, feed: Option<Feed>) {
        self.beside.source.begin(feed);
    }

    /// Bytes of the stream that were taken so far, whether they were recorded or not.
    #[must_use]
    pub const fn sent(&self) -> u64 {
        self.beside.source.sent
    }

    /// When the first byte was.
    #[must_use]
    pub const fn first_sent(&self) -> Option<Time> {
        self.beside.source.first
    }

    /// Takes what is read back, in chunks of this size, at this rate at most in bytes a second.
    pub const fn receive(&mut self, chunk_bytes: u64, bytes_per_second: Option<u64>) {
        self.beside.sink.begin(chunk_bytes, bytes_per_second);
    }

    /// What was read back since the last call.
    pub fn received(&mut self) -> Received {
        self.beside.sink.take()
    }

    /// Doorbells that went to drives which were not there any more.
    #[must_use]
    pub const fn unrung(&self) -> u64 {
        self.beside.unrung
    }

    /// Doorbells.
    #[must_use]
    pub const fn doorbells(&self) -> u64 {
        self.beside.doorbell.count
    }

    /// Bytes that were written to the memory of the stream FIFO, and read there.
    #[must_use]
    pub fn memory_bytes(&self) -> [u64; 2] {
        self.beside
            .memory
            .beats
            .map(|beats| beats * super::stream::BEAT)
    }
}

impl Recorder {
    /// What lies on the drives, by its places in the stream of this seed.
    ///
    /// # Errors
    /// Where a medium cannot be read.
    pub fn stored(&mut self, seed: u64, layout: Layout, at: u64, bytes: u64) -> Result<Runs> {
        let mut runs = Runs::new(seed);
        let end = at + bytes;
        for at in (at..end).step_by(PART as usize) {
            for (drive, at, bytes) in layout.split(at, PART.min(end - at)) {
                let ssd = self.hierarchy().drive(drive);
                let read = ssd.map(|ssd| ssd.medium().read(at, bytes as usize));
                let read = read.unwrap_or_else(|| Err(std::io::ErrorKind::NotFound.into()));
                runs.push(&read.map_err(Error::Medium)?);
            }
        }
        Ok(runs)
    }
}
