// SPDX-License-Identifier: Apache-2.0
//! A top module that brings drives up without a CPU, as the root port above models or others.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use forebay_model::{Arrival, Request, Ticket, Time};
use forebay_rtl::{Builder, Model, Progress, Source};
use forebay_seq::boot::{Settings, Streamer};
use forebay_spec::boot::{ram, regs};
use forebay_spec::streamer::window;

use super::downstream::{Downstream, Reply};
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
use crate::pins::{RootPins, streamer_registers};
use crate::stall::Pauser;
use crate::window::{Answer, WindowPort};

/// Cycles of a bit of the console: simulated characters need not be slow.
const CLOCKS_PER_BIT: u32 = 8;
/// Cycles in which a register is read, at most.
pub(super) const REGISTER_CYCLES: u32 = 1000;
/// Simulated time between two looks at the status registers.
const LOOK_EVERY: Time = 10 * forebay_model::MICROSECOND;

/// `fb_top_boot` for a place, with a clock of this period.
#[must_use]
pub fn source(root: &Path, settings: &Settings, period: Time) -> Source {
    let of = settings;
    bring_up("boot", root, settings, period)
        .parameter("AdminBase", address(of.admin_base))
        .parameter("QueueBase", address(of.queue_base))
        .parameter("QueueStep", address(of.queue_step))
        .parameter("DataBase", address(of.data_base))
        .parameter("QueueEntries", of.queue_entries)
}

/// A top module with a bring-up within.
pub(super) fn bring_up(name: &str, root: &Path, of: &Settings, period: Time) -> Source {
    Source::new(format!("fb_top_{name}"))
        .filelist(root.join(format!("rtl/top/{name}.f")))
        .root(root)
        .parameter("ClocksPerUs", clocks_per_us(period))
        .parameter("ClocksPerBit", CLOCKS_PER_BIT)
        .parameter("RoomFirst", address(of.room_first))
        .parameter("RoomEnd", address(of.room_end))
        .parameter("RootBar", address(of.root_bar))
        .parameter("Drives", of.drives_most)
        .parameter("ResetUs", of.reset_us)
        .parameter("AutoStart", "1'b0")
}

/// An address as a parameter.
pub(super) fn address(value: u64) -> String {
    format!("64'h{value:x}")
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
    /// When it is carried out, or given up where it was.
    at: Time,
    /// Of one that is on its way.
    tag: Option<u32>,
}

/// What is beside the bring-up in a top module.
pub trait Beside: Sized {
    /// Sets the pins of a cycle.
    ///
    /// # Errors
    /// Where contents of a memory cannot be had.
    fn drive(&mut self, model: &mut Model, now: Time) -> Result<()>;

    /// Sees what was accepted in a cycle.
    ///
    /// # Errors
    /// Where the RTL breaks a rule of its ports.
    fn sample(
        &mut self,
        model: &Model,
        at: (u64, Time),
        hierarchy: &mut impl Downstream,
    ) -> Result<()>;

    /// Takes back what was accepted, after the rising edge.
    fn settle(&mut self, _model: &mut Model) {}

    /// A drive writes there; false: nothing is there.
    fn write(&mut self, address: u64, data: Box<[u8]>) -> bool;

    /// A drive reads there; gives its ticket back where nothing is there.
    fn read(&mut self, address: u64, bytes: u32, ticket: Ticket) -> Option<Ticket>;

    /// Nothing is under way.
    fn is_idle(&self) -> bool {
        true
    }

    /// The RTL is being reset.
    fn reset(&mut self, model: &mut Model);
}

/// The registers of a streamer, without one.
pub struct Alone {
    port: LiteTarget,
    registers: Streamer,
}

impl Beside for Alone {
    fn drive(&mut self, model: &mut Model, _: Time) -> Result<()> {
        self.port.drive(model);
        Ok(())
    }

    fn sample(&mut self, model: &Model, at: (u64, Time), _: &mut impl Downstream) -> Result<()> {
        if let Some(asked) = self.port.sample(model, at.0)? {
            let registers = &mut self.registers;
            self.port.answer(match asked {
                Asked::Read { address } => registers.read(address),
                Asked::Write { address, value } => registers.write(address, value).then_some(0),
            });
        }
        Ok(())
    }

    fn write(&mut self, _: u64, _: Box<[u8]>) -> bool {
        false
    }

    fn read(&mut self, _: u64, _: u32, ticket: Ticket) -> Option<Ticket> {
        Some(ticket)
    }

    fn reset(&mut self, model: &mut Model) {
        self.port.reset(model);
    }
}

/// `fb_top_boot` and what is below its root port.
pub type Boot = Root<Alone>;

impl Boot {
    /// Builds the RTL (or finds it in the cache), loads it and resets it.
    ///
    /// # Errors
    /// When the RTL cannot be built or has other pins.
    pub fn new(
        source: &Source,
        hierarchy: Hierarchy,
        clocking: (Time, Stall, u64),
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<Self> {
        let (_, stall, seed) = clocking;
        Self::beside(source, hierarchy, clocking, progress, |model| {
            let pause = Pauser::new(stall, seed, 3);
            let pins = streamer_registers(model)?;
            Ok(Alone {
                port: LiteTarget::new(pins, "streamer's registers", pause),
                registers: Streamer::new(window::DRIVES_MOST as u8),
            })
        })
    }
}

/// The RTL and what is below its root port.
pub struct Root<B, D = Hierarchy> {
    hierarchy: D,
    dut: Dut,
    pins: RootPins,
    cfg: LiteTarget,
    mmio: LiteTarget,
    configured: Option<Open>,
    reached: Option<Open>,
    window: WindowPort,
    control: ControlPort,
    /// The register that was read last.
    register: Option<u64>,
    console: Uart,
    pub(super) beside: B,
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

impl<B: Beside, D: Downstream> Root<B, D> {
    pub(super) fn beside(
        source: &Source,
        hierarchy: D,
        (period, stall, seed): (Time, Stall, u64),
        progress: &mut (dyn FnMut(Progress) + Send),
        beside: impl FnOnce(&Model) -> Result<B>,
    ) -> Result<Self> {
        let library = Builder::from_environment()?.build(source, progress)?;
        let model = Model::load_seeded(&library, seed)?;
        let pins = RootPins::find(&model)?;
        let stalls = Stalls::everywhere(stall);
        let pause = |port| Pauser::new(stall, seed, port);
        let names = ["admin window writes", "admin window reads"];
        let mut root = Self {
            cfg: LiteTarget::new(pins.cfg, "configuration accesses", pause(1)),
            mmio: LiteTarget::new(pins.mmio, "memory accesses", pause(2)),
            configured: None,
            reached: None,
            window: WindowPort::new(pins.admin, names, &stalls, seed, 0),
            control: ControlPort::new(pins.control, "bring-up registers"),
            register: None,
            console: Uart::new(CLOCKS_PER_BIT),
            beside: beside(&model)?,
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
        let model = &mut root.dut.model;
        root.window.init(model);
        model.set(pins.reset, 1);
        root.cfg.reset(model);
        root.mmio.reset(model);
        root.beside.reset(model);
        for _ in 0..RESET_CYCLES {
            root.bare_cycle()?;
        }
        root.dut.model.set(pins.reset, 0);
        root.bare_cycle()?;
        Ok(root)
    }

    /// What is below.
    pub const fn hierarchy(&mut self) -> &mut D {
        &mut self.hierarchy
    }

    /// Simulated time in picoseconds.
    #[must_use]
    pub fn now(&self) -> Time {
        self.hierarchy.now()
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
        self.hierarchy.advance(now)?;
        self.dut.bare_cycle(self.cycle, now)?;
        self.cycle += 1;
        Ok(())
    }

    /// One clock cycle.
    ///
    /// # Errors
    /// When the RTL breaks a rule of its ports, or an assertion of its own.
    pub fn step(&mut self) -> Result<()> {
        let now = self.hierarchy.now() + self.period;
        self.hierarchy.advance(now)?;
        self.arrive();
        self.answer(now);
        let link = self.hierarchy.link_up();
        let Self {
            dut,
            cfg,
            mmio,
            window,
            control,
            register,
            beside,
            hierarchy,
            ..
        } = self;
        let model = &mut dut.model;
        model.set(self.pins.link_up, u64::from(link));
        cfg.drive(model);
        mmio.drive(model);
        window.drive(model, u64::MAX, u64::MAX);
        control.drive(model, u64::MAX);
        beside.drive(model, now)?;
        let mut asked = [None, None];
        let cycle = self.cycle;
        dut.cycle(cycle, now, |model| {
            asked = [cfg.sample(model, cycle)?, mmio.sample(model, cycle)?];
            window.sample(model, cycle, &mut |(ticket, result)| {
                hierarchy.answer(ticket, result.ok());
            })?;
            control.sample(model, cycle, &mut |answer| *register = Some(word(answer)))?;
            beside.sample(model, (cycle, now), hierarchy)?;
            Ok(true)
        })?;
        self.control.settle(&mut self.dut.model);
        self.beside.settle(&mut self.dut.model);
        self.cycle += 1;
        self.begin(now, asked);
        self.console.sample(self.dut.model.is_set(self.pins.txd));
        let ready = self.hierarchy.ready();
        if ready > self.drives_ready.1 {
            self.drives_ready = (now, ready);
        }
        if self.released.is_none() && !self.is_held() {
            self.released = Some(now);
        }
        let perst_n = self.dut.model.is_set(self.pins.perst_n);
        if perst_n != self.perst_n {
            self.perst_n = perst_n;
            self.hierarchy.perst(!perst_n);
        }
        Ok(())
    }

    /// Lets time pass in which nothing is to be seen: it leaps where no port is in use, and the RTL's own
    /// timers stand still then. Ends early where `stop` is set.
    ///
    /// # Errors
    /// As [`Root::step`].
    pub fn rest(&mut self, time: Time, stop: &AtomicBool) -> Result<()> {
        let until = self.now() + time;
        while self.now() < until && !stop.load(Ordering::Relaxed) {
            if self.is_idle() {
                let next = self.hierarchy.next_event().unwrap_or(until);
                // The clock's edge is a period behind.
                let next = next.min(until).saturating_sub(self.period);
                self.hierarchy.advance(next)?;
            }
            self.step()?;
        }
        Ok(())
    }

    /// No port is in use.
    fn is_idle(&self) -> bool {
        self.cfg.is_idle()
            && self.mmio.is_idle()
            && self.window.is_idle()
            && self.control.is_idle()
            && self.beside.is_idle()
    }

    /// The recorder takes nothing: drives are not ready.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.dut.model.is_set(self.pins.hold)
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
                        None => self.stray += u64::from(!self.beside.write(addr, data)),
                    },
                    Request::Read { addr, len, .. } => match in_window(addr, len.into()) {
                        Some(at) => self.window.read(Place::Admin, at.into(), len, ticket, 0),
                        None => {
                            if let Some(ticket) = self.beside.read(addr, len, ticket) {
                                self.stray += 1;
                                self.hierarchy.answer(ticket, None);
                            }
                        }
                    },
                },
                Arrival::Completion(completion) => {
                    let waits = |open: &mut Open| open.tag == Some(completion.tag);
                    let value = dword(&completion).map(u64::from);
                    if self.reached.take_if(waits).is_some() {
                        self.mmio.answer(value);
                    } else if self.configured.take_if(waits).is_some() {
                        self.cfg.answer(value);
                    }
                }
            }
        }
    }

    /// Carries out configuration accesses whose time has come, and gives up what is late.
    fn answer(&mut self, now: Time) {
        let due = |open: &mut Open| open.at <= now;
        if let Some(Open { asked, tag, .. }) = self.configured.take_if(due) {
            let reply = match (tag, asked) {
                (Some(_), _) => Reply::Now(None),
                (None, Asked::Read { address }) => self.hierarchy.config_read(address as u32),
                (None, Asked::Write { address, value }) => {
                    self.hierarchy.config_write(address as u32, value as u32)
                }
            };
            self.configured = replied(asked, now, reply, &mut self.cfg);
        }
        if self.reached.take_if(due).is_some() {
            self.mmio.answer(None);
        }
    }

    /// Begins what the RTL has asked for.
    fn begin(&mut self, now: Time, [cfg, mmio]: [Option<Asked>; 2]) {
        if let Some(asked) = cfg {
            self.configured = Some(Open {
                asked,
                at: now + CONFIG_TIME,
                tag: None,
            });
        }
        let Some(asked) = mmio else {
            return;
        };
        let reply = match asked {
            Asked::Read { address } => self.hierarchy.memory_read(address),
            Asked::Write { address, value } => self.hierarchy.memory_write(address, value as u32),
        };
        self.reached = replied(asked, now, reply, &mut self.mmio);
    }

    /// Reads a register of the bring-up.
    ///
    /// # Errors
    /// As [`Root::step`], and where it is not answered.
    pub fn register(&mut self, offset: u64) -> Result<u64> {
        self.control.read(offset, 8, Ticket::NONE, 0, &mut |_| {});
        self.register = None;
        for _ in 0..REGISTER_CYCLES {
            self.step()?;
            if let Some(value) = self.register.take() {
                return Ok(value);
            }
        }
        let what = "a register was not read within 1000 cycles";
        Err(Error::protocol(self.cycle, "bring-up registers", what))
    }

    /// What the program is at.
    ///
    /// # Errors
    /// As [`Root::register`].
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

    /// Starts the program, which does not begin again after its end unless `auto_recover` says so.
    /// Drives that are ready are watched.
    pub fn start(&mut self, together: bool, auto_recover: bool) {
        let flag = |on: bool, mask: u64| if on { mask } else { 0 };
        let control = regs::control::GO.mask()
            | regs::control::WATCH.mask()
            | flag(together, regs::control::TOGETHER.mask())
            | flag(auto_recover, regs::control::AUTO_RECOVER.mask());
        let data = control.to_le_bytes().into();
        self.control.write(1, regs::control::OFFSET, data);
    }

    /// Runs until the program has ended or drives have been ready for the time `watch`, and the
    /// console has said all; at most until the time `until`, or until `stop` is set.
    ///
    /// # Errors
    /// As [`Root::step`].
    pub fn run(&mut self, watch: Time, until: Time, stop: &AtomicBool) -> Result<Status> {
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
    /// not held any more; none: it still is, or CSTS is not known.
    #[must_use]
    pub fn ready_after(&self) -> Option<Time> {
        let (at, drives) = self.drives_ready;
        Some(self.released?.saturating_sub(at)).filter(|_| drives > 0)
    }

    /// When CSTS of the last drive said that it is ready.
    #[must_use]
    pub const fn drives_ready_at(&self) -> Time {
        self.drives_ready.0
    }

    /// The program's memory, with the records of drives.
    ///
    /// # Errors
    /// As [`Root::register`].
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
    /// As [`Root::register`].
    pub fn console_dropped(&mut self) -> Result<u32> {
        let console = self.register(regs::console::OFFSET)?;
        Ok(regs::console::DROPPED.get(console) as u32)
    }

    /// How often a code was counted.
    ///
    /// # Errors
    /// As [`Root::register`].
    pub fn count(&mut self, code: u8) -> Result<u32> {
        let at = regs::codes::OFFSET + 8 * u64::from(code);
        Ok(self.register(at)? as u32)
    }
}

/// Answers an access at its port, or gives what is open of it.
fn replied(asked: Asked, now: Time, reply: Reply, port: &mut LiteTarget) -> Option<Open> {
    match reply {
        Reply::Now(value) => {
            port.answer(value.map(u64::from));
            None
        }
        Reply::Later(tag) => Some(Open {
            asked,
            at: now + ANSWER_WITHIN,
            tag: Some(tag),
        }),
    }
}

/// The word of a register that was read; all ones where it was refused.
pub(super) fn word((_, result): Answer) -> u64 {
    let data = result.ok().and_then(|data| (*data).try_into().ok());
    data.map_or(u64::MAX, u64::from_le_bytes)
}
