// SPDX-License-Identifier: Apache-2.0
//! RTL and models on one clock.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use forebay_driver::{
    BusError, BusResult, DmaBuffer, FpgaPlace, Layout, Options, PciAddress, Session,
};
use forebay_model::net::Network;
use forebay_model::{DramCounters, Fabric, HostMemory, Medium, PageEvent, Poison, Ssd, Time};
use forebay_rtl::Progress;
use forebay_spec::streamer::window;

use crate::aperture::Place;
use crate::config::{Config, Drive};
use crate::core::{Core, RESET_CYCLES};
use crate::error::{Error, Result};
use crate::machine::{self, FPGA, Host, Machine, impl_bus, poison};
use crate::ownership::{Access, Ownership, Segment};
use crate::pace::{Pace, Paced};
use crate::pins::PinSet;
use crate::stats::{Outcome, Stats};
use crate::target::Behind;
use crate::transaction::{Read, Write};

/// How often the stop flag is looked at and progress is told, in cycles.
const LOOK_EVERY: u64 = 1 << 14;
/// How far time moves at once while the streamer is disabled and nothing is due.
const REST: Time = 20 * forebay_model::MICROSECOND;
/// Cycles that pass in one [`Bus::relax`](forebay_driver::Bus::relax) while the streamer runs.
const RELAX_CYCLES: u64 = 64;

/// How far a run is, for a progress bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Snapshot {
    /// Cycles since the start of the simulation.
    pub cycle: u64,
    /// Simulated time in picoseconds.
    pub now: Time,
    /// Transactions that have ended since [`System::reset_stats`].
    pub transactions: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Bytes of writes that are still to be sent.
    pub bytes_to_send: u64,
    /// Bytes of frames that the MAC has handed over.
    pub network_bytes: u64,
}

type Watcher = Box<dyn FnMut(&Snapshot) + Send>;
type OnLoss = Box<dyn FnMut(&mut [Ssd], u8) -> io::Result<()> + Send>;

/// The streamer's RTL, the fabric, an SSD and host memory on one clock.
///
/// It is also a [`Bus`](forebay_driver::Bus): the driver reaches the SSD and, through the RTL's own
/// ports, the streamer, by simulated requests that take simulated time.
pub struct System {
    core: Core,
    machine: Machine,
    ownership: Ownership,
    /// Where the driver places payload in on-board DRAM.
    place: FpgaPlace,
    /// Last cycle with progress, or in which it was right that there was none.
    progress_at: u64,
    /// Cycle in which the driver, while it rested, last looked after the drives.
    looked_at: u64,
    /// See [`Config::watchdog`], with all that is added to it.
    patience: u64,
    stats_from: StatsBase,
    stop: Arc<AtomicBool>,
    watcher: Option<Watcher>,
    on_loss: Option<OnLoss>,
    pub(crate) options: Options,
    pub(crate) session: Option<Session>,
}

/// Counters at the last reset of the statistics.
#[derive(Debug, Clone, Default)]
struct StatsBase {
    cycle: u64,
    data_read: u64,
    data_written: u64,
    queue_read: u64,
    queue_written: u64,
    doorbells: u64,
    refused: u64,
    stray: u64,
}

impl System {
    /// Builds the RTL (or finds it in the cache), loads it, resets it, and puts a drive that has
    /// just got power beside it. The next step is [`System::bring_up`].
    ///
    /// # Errors
    /// When the RTL cannot be built or has other pins, or the profile or medium is not usable.
    pub fn new(mut config: Config, progress: &mut (dyn FnMut(Progress) + Send)) -> Result<Self> {
        let (seed, patience) = (config.seed, config.patience());
        let core = Core::new(&mut config, progress)?;
        let first = Drive {
            profile: config.profile.ssd,
            medium: config.medium,
            faults: config.faults,
        };
        let drives = std::iter::once(first).chain(config.more_drives);
        let mut drives: Vec<_> = drives.collect();
        if config.poison {
            let parity = config.driver.array.is_some_and(|array| array.parity);
            poison_media(&mut drives, parity);
        }
        let mut machine = Machine::new(
            &config.profile.fabric,
            drives,
            seed,
            config.host_memory,
            Some(core.bridge.apertures.bytes),
        )?;
        machine.poison = config.poison;
        machine.ssds.iter_mut().for_each(Ssd::watch_pages);
        let mut system = Self {
            ownership: Ownership::new(core.is_in_host()),
            place: config.driver.fpga,
            core,
            machine,
            progress_at: 0,
            looked_at: 0,
            patience,
            stats_from: StatsBase::default(),
            stop: Arc::default(),
            watcher: None,
            on_loss: None,
            options: config.driver,
            session: None,
        };
        system.reset(RESET_CYCLES)?;
        Ok(system)
    }

    /// Which names the RTL's pins have.
    #[must_use]
    pub fn pin_set(&self) -> PinSet {
        self.core.pins.set
    }

    /// Cycles since the start.
    #[must_use]
    pub fn cycle(&self) -> u64 {
        self.core.cycle
    }

    /// Simulated time in picoseconds.
    #[must_use]
    pub fn now(&self) -> Time {
        self.machine.now
    }

    /// Period of the clock in picoseconds.
    #[must_use]
    pub fn clock_period(&self) -> Time {
        self.core.period
    }

    /// The first drive.
    #[must_use]
    pub fn ssd(&self) -> &Ssd {
        &self.machine.ssds[0]
    }

    /// All drives.
    #[must_use]
    pub fn ssds(&self) -> &[Ssd] {
        &self.machine.ssds
    }

    /// All drives, to prepare or damage them.
    pub fn ssds_mut(&mut self) -> &mut [Ssd] {
        &mut self.machine.ssds
    }

    /// The fabric, for its counters.
    #[must_use]
    pub fn fabric(&self) -> &Fabric {
        &self.machine.fabric
    }

    fn layout(&self) -> Layout {
        let session = self.session.as_ref();
        session.map_or(Layout::ONE, |session| session.facts().layout())
    }

    /// What lies in the address space of the session, read past everything that takes time; of one
    /// drive before bring-up.
    ///
    /// # Errors
    /// Where the range ends past a drive, or the file of a medium fails.
    pub fn stored(&self, address: u64, bytes: usize) -> std::io::Result<Vec<u8>> {
        let mut data = Vec::with_capacity(bytes);
        for (drive, at, bytes) in self.layout().split(address, bytes as u64) {
            let ssd = self.machine.ssds.get(drive);
            let ssd = ssd.ok_or(std::io::ErrorKind::NotFound)?;
            data.extend_from_slice(&ssd.medium().read(at, bytes as usize)?);
        }
        Ok(data)
    }

    /// What reads in the address space of the session where nothing was written: zeros, or what
    /// [`Config::poison`] puts there.
    #[must_use]
    pub fn unwritten(&self, address: u64, bytes: usize) -> Vec<u8> {
        let mut data = Vec::with_capacity(bytes);
        for (drive, at, bytes) in self.layout().split(address, bytes as u64) {
            let mut part = vec![0; bytes as usize];
            if let Some(ssd) = self.machine.ssds.get(drive) {
                ssd.medium().unwritten(at, &mut part);
            }
            data.append(&mut part);
        }
        data
    }

    /// Puts bytes into the address space of the session as if they had always been there.
    ///
    /// # Errors
    /// Where the range ends past a drive, or the file of a medium fails.
    pub fn store(&mut self, address: u64, mut bytes: &[u8]) -> std::io::Result<()> {
        for (drive, at, count) in self.layout().split(address, bytes.len() as u64) {
            let ssd = self.machine.ssds.get_mut(drive);
            let ssd = ssd.ok_or(std::io::ErrorKind::NotFound)?;
            let (part, rest) = bytes.split_at(count as usize);
            ssd.medium_mut().write(at, part)?;
            bytes = rest;
        }
        Ok(())
    }

    /// What on-board DRAM has done since the start, where the payload is there.
    #[must_use]
    pub fn dram_counters(&self) -> Option<DramCounters> {
        match &self.core.memory.as_ref()?.behind {
            Behind::Board(board) => Some(board.counters()),
            Behind::Host(_) => None,
        }
    }

    /// What is beyond the MAC's pins, where there is something.
    #[must_use]
    pub fn network(&self) -> Option<&Network> {
        self.core.mac.as_ref()?.network.as_ref()
    }

    /// From now on the link partner sends.
    pub fn begin_network(&mut self) {
        let mac = self.core.mac.as_mut();
        if let Some(network) = mac.and_then(|mac| mac.network.as_mut()) {
            network.begin(self.machine.now);
        }
    }

    /// Host memory.
    #[must_use]
    pub fn host(&self) -> &HostMemory {
        &self.machine.host
    }

    /// The flag that ends a run: give it to the handler of Ctrl-C.
    #[must_use]
    pub fn stop_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// Is called every few thousand cycles of a run.
    pub fn on_progress(&mut self, watcher: impl FnMut(&Snapshot) + Send + 'static) {
        self.watcher = Some(Box::new(watcher));
    }

    /// Is called with the drives and the number of the first that is lost of an array with parity,
    /// before it is called offline: no write that it has not stored has been answered by then.
    pub fn on_loss(&mut self, mark: impl FnMut(&mut [Ssd], u8) -> io::Result<()> + Send + 'static) {
        self.on_loss = Some(Box::new(mark));
    }

    /// Queues a write for the user's stream; returns its number.
    pub fn submit_write(&mut self, write: Write) -> u64 {
        self.progress_at = self.core.cycle;
        self.core.submit_write(write)
    }

    /// Lets data to write come at a pace of their own from now on, whether the streamer takes them
    /// or not.
    pub fn set_pace(&mut self, pace: Pace) {
        self.core.set_pace(pace);
    }

    /// What became of data that come at their own pace; none where they wait for the streamer.
    #[must_use]
    pub fn paced(&self) -> Option<Paced> {
        self.core.paced()
    }

    /// Queues a read for the user's stream; returns its number.
    pub fn submit_read(&mut self, read: Read) -> u64 {
        self.progress_at = self.core.cycle;
        self.core.submit_read(read)
    }

    /// No transaction is queued or under way on the user's streams.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.core.is_idle()
    }

    /// What has ended since this was last called, in the order of ending.
    pub fn take_outcomes(&mut self) -> Vec<Outcome> {
        self.core.log.outcomes.drain(..).collect()
    }

    /// The next transaction that has ended.
    pub fn next_outcome(&mut self) -> Option<Outcome> {
        self.core.log.outcomes.pop_front()
    }

    /// Runs until every transaction has ended.
    ///
    /// # Errors
    /// [`Error::Stuck`] when there is no progress, [`Error::Interrupted`] when the stop flag is set,
    /// [`Error::Protocol`] and [`Error::Assertion`] when the RTL misbehaves. Statistics are valid
    /// in each case.
    pub fn run(&mut self) -> Result<()> {
        self.run_until(|system| system.is_idle())
    }

    /// Runs until the condition holds; it is looked at after each cycle.
    ///
    /// # Errors
    /// As [`System::run`].
    pub fn run_until(&mut self, mut done: impl FnMut(&Self) -> bool) -> Result<()> {
        self.progress_at = self.core.cycle;
        while !done(self) {
            self.step()?;
            if self.core.cycle.is_multiple_of(LOOK_EVERY) {
                self.look()?;
                self.look_after_drives()?;
            }
        }
        Ok(())
    }

    /// Lets the driver do without drives of an array that are lost, as it would beside hardware.
    fn look_after_drives(&mut self) -> Result<()> {
        let lost = self.with_session(|session, bus| session.lost(bus));
        for drive in lost.unwrap_or(Ok(Vec::new())).map_err(watching)? {
            let session = self.session.as_ref();
            let stood_for = session.is_some_and(|session| {
                session.facts().layout().parity() && session.missing().is_none()
            });
            if let Some(mark) = self.on_loss.as_mut().filter(|_| stood_for) {
                mark(&mut self.machine.ssds, drive)
                    .map_err(|source| Error::Unmarked { drive, source })?;
            }
            let given_up = self.with_session(|session, bus| session.give_up(bus, drive));
            given_up.unwrap_or(Ok(())).map_err(watching)?;
        }
        Ok(())
    }

    /// Runs this many cycles, whatever happens.
    ///
    /// # Errors
    /// As [`System::run`], except [`Error::Stuck`].
    pub fn run_cycles(&mut self, cycles: u64) -> Result<()> {
        for _ in 0..cycles {
            self.step()?;
            if self.core.cycle.is_multiple_of(LOOK_EVERY) {
                self.progress_at = self.core.cycle;
                self.look()?;
            }
        }
        Ok(())
    }

    /// One clock cycle.
    ///
    /// # Errors
    /// [`Error::Protocol`] and [`Error::Assertion`] when the RTL misbehaves.
    #[inline]
    pub fn step(&mut self) -> Result<()> {
        let Self { core, machine, .. } = self;
        let cycle = core.cycle;
        machine.now += core.period;
        if core.step(machine.now, &mut machine.fabric)? {
            self.progress_at = cycle;
        }
        if let Some(memory) = &mut core.memory {
            for access in memory.accesses.drain(..) {
                self.ownership.access(cycle, access)?;
            }
        }
        machine.settle(|now, fabric| core.bridge.drain(now, fabric));
        if !(core.bridge.completed.is_empty() && machine.page_events.is_empty()) {
            self.follow_pages(cycle)?;
        }
        Ok(())
    }

    /// Commands have been taken up or completed: their pages change hands.
    fn follow_pages(&mut self, cycle: u64) -> Result<()> {
        for (drive, cqe) in std::mem::take(&mut self.core.bridge.completed) {
            let freed = self.ownership.complete((drive, cqe.cid));
            // What has been read by the drive is of no use any more; a command that failed is sent
            // again.
            if self.machine.poison && cqe.status.is_success() {
                for segment in freed.iter().filter(|segment| !segment.fills) {
                    self.poison(segment)?;
                }
            }
        }
        for (drive, event) in std::mem::take(&mut self.machine.page_events) {
            let PageEvent::Named {
                cid,
                fills,
                address,
                bytes,
            } = event
            else {
                self.ownership.forget(drive);
                continue;
            };
            let Some(address) = self.payload(address) else {
                continue;
            };
            let segment = Segment {
                address,
                bytes,
                fills,
            };
            self.ownership.name(cycle, (drive, cid), segment)?;
            if self.machine.poison && fills && !self.core.is_in_host() {
                self.poison(&segment)?;
            }
        }
        Ok(())
    }

    /// Where payload at a bus address lies, as the memory's own port has it.
    fn payload(&self, address: u64) -> Option<u64> {
        if self.core.is_in_host() {
            return Some(address);
        }
        let at = self.core.bridge.payload(address)?;
        if self.core.memory.is_none() {
            return Some(at);
        }
        match at.checked_sub(window::DRAM_BUFFER_BYTES) {
            None => self.place.dram_write.checked_add(at),
            Some(at) => self.place.dram_read.checked_add(at),
        }
    }

    fn poison(&mut self, segment: &Segment) -> Result<()> {
        if self.core.is_in_host() {
            poison(&mut self.machine.host, segment.address, segment.bytes);
            return Ok(());
        }
        self.core.poison(segment.address, segment.bytes)
    }

    /// Looks at the stop flag, tells how far the run is, and ends it where it is stuck.
    fn look(&mut self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        let snapshot = self.snapshot();
        if let Some(watcher) = &mut self.watcher {
            watcher(&snapshot);
        }
        // A drive that senses its flash, a source that is silent: these go on by themselves.
        let silent = self.network().is_some_and(Network::is_silent);
        if self.machine.is_working() || self.core.is_starving() || silent {
            self.progress_at = self.core.cycle;
        }
        let idle = self.core.cycle - self.progress_at;
        if idle > self.patience {
            return Err(Error::Stuck {
                cycle: self.core.cycle,
                idle,
                waiting: self.waiting(),
            });
        }
        Ok(())
    }

    /// What a run waits for, in words.
    #[must_use]
    pub fn waiting(&self) -> String {
        let mut text = self.core.waiting();
        for drive in self.machine.waiting(self.core.period) {
            text += "; ";
            text += &drive;
        }
        text
    }

    /// How far the run is.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let Stats { writes, reads, .. } = &self.core.log.stats;
        Snapshot {
            cycle: self.core.cycle,
            now: self.machine.now,
            transactions: writes.transactions + reads.transactions,
            bytes: writes.bytes + reads.bytes,
            bytes_to_send: self.core.bytes_to_send(),
            network_bytes: self
                .network()
                .map_or(0, |network| network.counters().delivered.total().bytes),
        }
    }

    /// Numbers since [`System::reset_stats`].
    #[must_use]
    pub fn stats(&self) -> Stats {
        let mut stats = self.core.log.stats.clone();
        let (now, base) = (self.counters(), &self.stats_from);
        stats.cycles = now.cycle - base.cycle;
        stats.beats.data_read = now.data_read - base.data_read;
        stats.beats.data_written = now.data_written - base.data_written;
        stats.beats.queue_read = now.queue_read - base.queue_read;
        stats.beats.queue_written = now.queue_written - base.queue_written;
        stats.doorbells = now.doorbells - base.doorbells;
        stats.refused = now.refused - base.refused;
        stats.stray_writes = now.stray - base.stray;
        stats
    }

    /// Begins to count anew.
    pub fn reset_stats(&mut self) {
        self.core.log.stats = Stats::default();
        self.stats_from = self.counters();
    }

    fn counters(&self) -> StatsBase {
        let bridge = &self.core.bridge;
        let [payload, lists, queues] =
            [Place::Payload, Place::Lists, Place::Queues].map(|place| bridge.count(place));
        StatsBase {
            cycle: self.core.cycle,
            data_read: payload.read + lists.read,
            data_written: payload.written + lists.written,
            queue_read: queues.read,
            queue_written: queues.written,
            doorbells: bridge.doorbell.count,
            refused: bridge.refused(),
            stray: bridge.stray + self.machine.fabric.unmapped().0,
        }
    }

    /// The host writes BAR 0 of the card, posted: any number of bytes at any place, as software that
    /// is not the driver could.
    ///
    /// # Errors
    /// When this is outside the BAR, or the RTL misbehaves.
    pub fn write_bar(&mut self, offset: u64, data: &[u8]) -> BusResult<()> {
        let bytes = data.len() as u64;
        let place = self.machine.bar_place(FPGA, 0, offset, bytes)?;
        self.machine.host_write(place, data.into());
        self.pass()
    }

    /// The host reads there, and waits for the answer; none where the card refuses.
    ///
    /// # Errors
    /// As [`System::write_bar`].
    pub fn read_bar(&mut self, offset: u64, bytes: u32) -> BusResult<Option<Box<[u8]>>> {
        let place = self.machine.bar_place(FPGA, 0, offset, bytes.into())?;
        machine::host_request(self, place, bytes)
    }

    /// Resets the RTL, also in the middle of transactions: these end as aborted.
    ///
    /// # Errors
    /// When the RTL misbehaves.
    pub fn reset(&mut self, cycles: u64) -> Result<()> {
        let Machine { now, fabric, .. } = &mut self.machine;
        self.core.reset(now, fabric, cycles)?;
        self.ownership.access(self.core.cycle, Access::Reset)?;
        self.core.bridge.base = self.machine.bar(FPGA).map_or(0, |range| range.start);
        Ok(())
    }

    /// Lets time leap to where something happens, if the streamer is disabled: its clock does not
    /// matter then, and a drive takes simulated seconds to become ready. True if it did.
    fn leap(&mut self) -> bool {
        if !self.core.at_rest() {
            return false;
        }
        let limit = self.machine.now + REST;
        let next = self.machine.next_event().unwrap_or(limit).min(limit);
        self.machine.now = self.machine.now.max(next);
        if let Some(mac) = &mut self.core.mac {
            mac.leap(self.machine.now);
        }
        if let Some(own) = &mut self.core.own {
            own.leap(self.machine.now);
        }
        true
    }

    /// Nothing but a clock: the RTL without any model around it. What a simulation costs at least,
    /// to compare its speed with.
    ///
    /// # Errors
    /// When the RTL misbehaves.
    pub fn bare_cycles(&mut self, cycles: u64) -> Result<()> {
        (0..cycles).try_for_each(|_| self.core.bare_cycle(&mut self.machine.now))
    }

    /// Completes the file of waves; also done when the system is dropped.
    pub fn finish_waves(&mut self) {
        self.core.dut.finish_waves();
    }

    /// What the RTL printed since this was last called.
    pub fn take_output(&mut self) -> String {
        self.core.dut.model.take_output()
    }
}

impl Host for System {
    fn machine(&self) -> &Machine {
        &self.machine
    }

    fn machine_mut(&mut self) -> &mut Machine {
        &mut self.machine
    }

    fn pass(&mut self) -> BusResult<()> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(BusError::Interrupted);
        }
        self.step().map_err(carrier)?;
        // The card's BAR may have been moved.
        if let Some(range) = self.machine.bar(FPGA) {
            self.core.bridge.base = range.start;
        }
        Ok(())
    }

    fn await_answer(&mut self) -> BusResult<()> {
        self.leap();
        self.pass()
    }

    fn rest(&mut self) -> BusResult<()> {
        let cycles = if self.leap() { 1 } else { RELAX_CYCLES };
        (0..cycles).try_for_each(|_| self.pass())?;
        if self.core.cycle - self.looked_at >= LOOK_EVERY {
            self.looked_at = self.core.cycle;
            self.look_after_drives().map_err(|error| match error {
                Error::Interrupted => BusError::Interrupted,
                error => carrier(error),
            })?;
        }
        Ok(())
    }

    fn raised(&self) -> u64 {
        self.core.interrupts
    }
}

impl_bus!(System);

/// Drives without a file get a medium whose unwritten bytes are a pattern of their own. The last one's
/// is the sum of the others where it has their parity, as if all of it had been written.
fn poison_media(drives: &mut [Drive], parity: bool) {
    let last = drives.len().saturating_sub(1);
    for (number, drive) in drives.iter_mut().enumerate() {
        let own = number as u8;
        let pattern = if parity && number == last {
            0..own
        } else {
            own..own + 1
        };
        let bytes = drive.profile.bytes();
        drive
            .medium
            .get_or_insert_with(|| Medium::poisoned(bytes, Poison::Medium(pattern)));
    }
}

/// What went wrong while the driver looked after drives; the user may have stopped it.
fn watching(error: forebay_driver::Error) -> Error {
    match error {
        forebay_driver::Error::Bus(BusError::Interrupted) => Error::Interrupted,
        error => Error::Command(error),
    }
}

fn carrier(error: Error) -> BusError {
    BusError::Carrier {
        what: "the simulation".into(),
        source: Box::new(error),
    }
}
