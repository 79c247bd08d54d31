// SPDX-License-Identifier: Apache-2.0
//! The RTL that brings drives up, `fb_top_boot`, as the root port of the models.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use forebay_model::pci::AccessError;
use forebay_model::{Arrival, Request, Ticket, Time};
use forebay_rtl::{Builder, Model, Progress, Source};
use forebay_seq::boot::Settings;
use forebay_spec::boot::{ram, regs};

use super::hierarchy::dword;
use super::modelled::{ANSWER_WITHIN, CONFIG_TIME};
use super::target::{Asked, LiteTarget};
use super::uart::Uart;
use super::{Hierarchy, in_window};
use crate::aperture::Place;
use crate::config::{Stall, Stalls};
use crate::core::RESET_CYCLES;
use crate::dut::Dut;
use crate::error::{Error, Result};
use crate::lite::ControlPort;
use crate::pins::RootPins;
use crate::stall::Pauser;
use crate::window::WindowPort;

/// Cycles of a bit of the console: simulated characters need not be slow.
const CLOCKS_PER_BIT: u32 = 8;
/// Simulated time between two looks at the status registers.
const LOOK_EVERY: Time = 10 * forebay_model::MICROSECOND;

/// The top module for a place, with a clock of this period.
#[must_use]
pub fn source(root: &Path, settings: &Settings, period: Time) -> Source {
    let address = |value: u64| format!("64'h{value:x}");
    let of = settings;
    Source::new("fb_top_boot")
        .filelist(root.join("rtl/top/boot.f"))
        .root(root)
        .parameter("ClocksPerUs", clocks_per_us(period))
        .parameter("ClocksPerBit", CLOCKS_PER_BIT)
        .parameter("AdminBase", address(of.admin_base))
        .parameter("QueueBase", address(of.queue_base))
        .parameter("QueueStep", address(of.queue_step))
        .parameter("RoomFirst", address(of.room_first))
        .parameter("RoomEnd", address(of.room_end))
        .parameter("RootBar", address(of.root_bar))
        .parameter("Drives", of.drives_most)
        .parameter("QueueEntries", of.queue_entries)
        .parameter("ResetUs", of.reset_us)
        .parameter("AutoStart", "1'b0")
}

fn clocks_per_us(period: Time) -> u64 {
    (forebay_model::MICROSECOND / period.max(1)).max(1)
}

/// How the program ended, or what it is at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// It has ended.
    pub ended: bool,
    /// Its code, once it has.
    pub code: u8,
    /// The word that ended it.
    pub place: u16,
    /// What it is at: see [`forebay_spec::boot::state`].
    pub state: u8,
    /// Drives that are ready, a bit each.
    pub drives_ready: u8,
}

/// An access of the RTL that is not answered yet.
struct Open {
    asked: Asked,
    /// When it is answered, or given up.
    at: Time,
    /// Of a read that is on its way.
    tag: Option<u32>,
}

/// The RTL and what is below its root port.
pub struct Boot {
    hierarchy: Hierarchy,
    dut: Dut,
    pins: RootPins,
    cfg: LiteTarget,
    mmio: LiteTarget,
    streamer: LiteTarget,
    configured: Option<Open>,
    reached: Option<Open>,
    window: WindowPort,
    control: ControlPort,
    console: Uart,
    perst_n: bool,
    period: Time,
    cycle: u64,
    /// Writes of drives to the window.
    written: u64,
    /// What drives send to addresses where nothing is.
    stray: u64,
    /// When the last drive became ready by its CSTS, and how many have.
    drives_ready: (Time, usize),
    /// When the recorder was first not held any more: the drives are ready.
    released: Option<Time>,
}

impl Boot {
    /// Builds the RTL (or finds it in the cache), loads it and resets it.
    ///
    /// # Errors
    /// When the RTL cannot be built or has other pins.
    pub fn new(
        source: &Source,
        hierarchy: Hierarchy,
        (period, stall, seed): (Time, Stall, u64),
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<Self> {
        let library = Builder::from_environment()?.build(source, progress)?;
        let model = Model::load_seeded(&library, seed)?;
        let pins = RootPins::find(&model)?;
        let stalls = Stalls::everywhere(stall);
        let pause = |port| Pauser::new(stall, seed, port);
        let names = ["admin window writes", "admin window reads"];
        let mut boot = Self {
            cfg: LiteTarget::new(pins.cfg, "configuration accesses", pause(1)),
            mmio: LiteTarget::new(pins.mmio, "memory accesses", pause(2)),
            streamer: LiteTarget::new(pins.streamer, "streamer's registers", pause(3)),
            configured: None,
            reached: None,
            window: WindowPort::new(pins.admin, names, &stalls, seed, 0),
            control: ControlPort::new(pins.control, "bring-up registers"),
            console: Uart::new(CLOCKS_PER_BIT),
            perst_n: false,
            dut: Dut::new(model, (pins.clk, period), None, None, false, None),
            hierarchy,
            pins,
            period,
            cycle: 0,
            written: 0,
            stray: 0,
            drives_ready: (0, 0),
            released: None,
        };
        let model = &mut boot.dut.model;
        boot.window.init(model);
        model.set(pins.reset, 1);
        for target in [&mut boot.cfg, &mut boot.mmio, &mut boot.streamer] {
            target.reset(model);
        }
        for _ in 0..RESET_CYCLES {
            boot.bare_cycle()?;
        }
        boot.dut.model.set(pins.reset, 0);
        boot.bare_cycle()?;
        Ok(boot)
    }

    /// What is below.
    pub const fn hierarchy(&mut self) -> &mut Hierarchy {
        &mut self.hierarchy
    }

    /// Cycles so far.
    #[must_use]
    pub const fn cycles(&self) -> u64 {
        self.cycle
    }

    /// What drives have sent to addresses where nothing is.
    #[must_use]
    pub const fn stray(&self) -> u64 {
        self.stray
    }

    /// What the console has received.
    #[must_use]
    pub fn console(&self) -> String {
        String::from_utf8_lossy(&self.console.said).into_owned()
    }

    fn bare_cycle(&mut self) -> Result<()> {
        let now = self.hierarchy.now() + self.period;
        self.hierarchy.advance(now);
        self.dut.bare_cycle(self.cycle, now)?;
        self.cycle += 1;
        Ok(())
    }

    /// One clock cycle.
    ///
    /// # Errors
    /// When the RTL breaks a rule of its ports, or an assertion of its own.
    pub fn step(&mut self) -> Result<()> {
        self.step_with(&mut |_| {})
    }

    fn step_with(&mut self, read: &mut impl FnMut(u64)) -> Result<()> {
        let now = self.hierarchy.now() + self.period;
        self.hierarchy.advance(now);
        self.arrive();
        self.answer(now);
        let link = self.hierarchy.link_up();
        let Self {
            dut,
            cfg,
            mmio,
            streamer,
            window,
            control,
            hierarchy,
            ..
        } = self;
        let model = &mut dut.model;
        model.set(self.pins.link_up, u64::from(link));
        for target in [&mut *cfg, &mut *mmio, &mut *streamer] {
            target.drive(model);
        }
        window.drive(model, u64::MAX, u64::MAX);
        control.drive(model, u64::MAX);
        let mut asked = [None, None, None];
        let cycle = self.cycle;
        dut.cycle(cycle, now, |model| {
            for (asked, target) in asked.iter_mut().zip([cfg, mmio, streamer]) {
                *asked = target.sample(model, cycle)?;
            }
            window.sample(model, cycle, &mut |(ticket, result)| {
                hierarchy.answer(ticket, result.ok());
            })?;
            control.sample(model, cycle, &mut |(_, result)| {
                let word = result.ok().and_then(|data| (*data).try_into().ok());
                read(word.map_or(u64::MAX, u64::from_le_bytes));
            })?;
            Ok(true)
        })?;
        self.control.settle(&mut self.dut.model);
        self.cycle += 1;
        self.begin(now, asked);
        self.console.sample(self.dut.model.is_set(self.pins.txd));
        let ready = self.hierarchy.ready();
        if ready > self.drives_ready.1 {
            self.drives_ready = (now, ready);
        }
        if self.released.is_none() && !self.dut.model.is_set(self.pins.hold) {
            self.released = Some(now);
        }
        let perst_n = self.dut.model.is_set(self.pins.perst_n);
        if perst_n != self.perst_n {
            self.perst_n = perst_n;
            self.hierarchy.perst(!perst_n);
        }
        Ok(())
    }

    /// Takes what has arrived at the port.
    fn arrive(&mut self) {
        while let Some(arrival) = self.hierarchy.poll() {
            match arrival {
                Arrival::Request {
                    request, ticket, ..
                } => match request {
                    Request::Write { addr, data } => match in_window(addr, data.len() as u64) {
                        Some(offset) => {
                            self.written += 1;
                            let number = self.written;
                            let at = offset.into();
                            self.window.write(number, Place::Admin, at, data, 0);
                        }
                        None => self.stray += 1,
                    },
                    Request::Read { addr, len, .. } => match in_window(addr, len.into()) {
                        Some(at) => self.window.read(Place::Admin, at.into(), len, ticket, 0),
                        None => {
                            self.stray += 1;
                            self.hierarchy.answer(ticket, None);
                        }
                    },
                },
                Arrival::Completion(completion) => {
                    let waits = |open: &mut Open| open.tag == Some(completion.tag);
                    if self.reached.take_if(waits).is_some() {
                        self.mmio.answer(dword(&completion).map(u64::from));
                    }
                }
            }
        }
    }

    /// Answers accesses whose time has come.
    fn answer(&mut self, now: Time) {
        let due = |open: &mut Open| open.at <= now;
        if let Some(Open { asked, .. }) = self.configured.take_if(due) {
            let value = match asked {
                Asked::Read { address } => self.hierarchy.config_read(address as u32),
                Asked::Write { address, value } => {
                    let done = self.hierarchy.config_write(address as u32, value as u32);
                    done.then_some(0)
                }
            };
            self.cfg.answer(value.map(u64::from));
        }
        if self.reached.take_if(due).is_some() {
            self.mmio.answer(None);
        }
    }

    /// Begins what the RTL has asked for.
    fn begin(&mut self, now: Time, [cfg, mmio, streamer]: [Option<Asked>; 3]) {
        if let Some(asked) = cfg {
            self.configured = Some(Open {
                asked,
                at: now + CONFIG_TIME,
                tag: None,
            });
        }
        if streamer.is_some() {
            self.streamer.answer(None);
        }
        let Some(asked) = mmio else {
            return;
        };
        let sent = match asked {
            Asked::Read { address } => self.hierarchy.memory_read(address).map(Some),
            Asked::Write { address, value } => {
                let sent = self.hierarchy.memory_write(address, value as u32);
                sent.map(|()| None)
            }
        };
        let read = matches!(asked, Asked::Read { .. });
        match sent {
            Ok(Some(tag)) => {
                self.reached = Some(Open {
                    asked,
                    at: now + ANSWER_WITHIN,
                    tag: Some(tag),
                });
            }
            Ok(None) => self.mmio.answer(Some(0)),
            Err(AccessError::LinkDown) => self.mmio.answer(None),
            // Reads of nothing yield ones, writes are lost.
            Err(_) => self
                .mmio
                .answer(Some(if read { u32::MAX.into() } else { 0 })),
        }
    }

    /// Reads a register of the bring-up.
    ///
    /// # Errors
    /// As [`Boot::step`], and where it is not answered.
    pub fn register(&mut self, offset: u64) -> Result<u64> {
        self.control.read(offset, 8, Ticket::NONE, 0, &mut |_| {});
        let mut value = None;
        for _ in 0..1000 {
            self.step_with(&mut |found| value = Some(found))?;
            if let Some(value) = value {
                return Ok(value);
            }
        }
        let what = "a register was not read within 1000 cycles";
        Err(Error::protocol(self.cycle, "bring-up registers", what))
    }

    /// What the program is at.
    ///
    /// # Errors
    /// As [`Boot::register`].
    pub fn status(&mut self) -> Result<Status> {
        let status = self.register(regs::status::OFFSET)?;
        let outcome = self.register(regs::outcome::OFFSET)?;
        Ok(Status {
            ended: regs::status::ENDED.get(status) != 0,
            code: regs::outcome::CODE.get(outcome) as u8,
            place: regs::outcome::PLACE.get(outcome) as u16,
            state: regs::status::STATE.get(status) as u8,
            drives_ready: regs::status::DRIVES_READY.get(status) as u8,
        })
    }

    /// Starts the program, and runs until it has ended or drives have been ready for the time `watch`,
    /// and the console has said all; at most until the time `until`, or until `stop` is set. A program
    /// that ends does not begin again.
    ///
    /// # Errors
    /// As [`Boot::step`].
    pub fn run(
        &mut self,
        (together, watch): (bool, Time),
        until: Time,
        stop: &AtomicBool,
    ) -> Result<Status> {
        let bit = regs::control::GO.mask() | regs::control::WATCH.mask();
        let control = bit
            | if together {
                regs::control::TOGETHER.mask()
            } else {
                0
            };
        let data = control.to_le_bytes().into();
        self.control.write(1, regs::control::OFFSET, data);
        loop {
            let look = self.hierarchy.now() + LOOK_EVERY;
            while self.hierarchy.now() < look {
                self.step()?;
            }
            let now = self.hierarchy.now();
            let status = self.status()?;
            let watched = self.released.is_some_and(|since| now >= since + watch);
            let done = (status.ended || watched) && self.console.is_quiet();
            if done || now >= until || stop.load(Ordering::Relaxed) {
                return Ok(status);
            }
        }
    }

    /// From the moment at which CSTS of the last drive says that it is ready, until the recorder is
    /// not held any more; none: it still is.
    #[must_use]
    pub fn ready_after(&self) -> Option<Time> {
        Some(self.released?.saturating_sub(self.drives_ready.0))
    }

    /// The program's memory, with the records of drives.
    ///
    /// # Errors
    /// As [`Boot::register`].
    pub fn memory(&mut self) -> Result<[u64; ram::BYTES as usize / 8]> {
        let mut memory = [0; _];
        for (at, word) in (regs::memory::OFFSET..).step_by(8).zip(&mut memory) {
            *word = self.register(at)?;
        }
        Ok(memory)
    }

    /// Characters that found no room in front of the console.
    ///
    /// # Errors
    /// As [`Boot::register`].
    pub fn console_dropped(&mut self) -> Result<u32> {
        let console = self.register(regs::console::OFFSET)?;
        Ok(regs::console::DROPPED.get(console) as u32)
    }

    /// How often a code was counted.
    ///
    /// # Errors
    /// As [`Boot::register`].
    pub fn count(&mut self, code: u8) -> Result<u32> {
        let at = regs::codes::OFFSET + 8 * u64::from(code);
        Ok(self.register(at)? as u32)
    }
}
