// SPDX-License-Identifier: Apache-2.0
//! The RTL on its clock, with a model at each of its ports.

use std::collections::VecDeque;

use forebay_model::net::mac_edge;
use forebay_model::{DramProfile, Fabric, Poison, Time};
use forebay_rtl::{Builder, Model, Progress};
use forebay_spec::streamer::window;

use crate::aperture::Apertures;
use crate::bridge::Bridge;
use crate::config::Config;
use crate::dma::Dma;
use crate::dram::Board;
use crate::dut::Dut;
use crate::error::{Error, Result};
use crate::mac::Mac;
use crate::own_clock::OwnClock;
use crate::pace::{Fifo, Pace, Paced};
use crate::pins::Pins;
use crate::reads::Reads;
use crate::stall::Pauser;
use crate::stats::{Direction, Outcome, Stats};
use crate::target::{Behind, Target};
use crate::transaction::{Read, Write};
use crate::writes::Writes;

/// Cycles of reset at the start.
pub(crate) const RESET_CYCLES: u64 = 16;

/// The payload buffer in the RTL, by the end of its name.
pub(crate) const STORE: &str = ".u_buffer.store";

/// The user's side: both ends of writes and of reads.
struct User {
    writes: Writes,
    reads: Reads,
}

/// The streamer: its RTL, and the models at its ports.
pub(crate) struct Core {
    pub dut: Dut,
    pub pins: Pins,
    pub bridge: Bridge,
    /// The memory outside the RTL, where the payload is there.
    pub memory: Option<Target>,
    /// The MAC, where the RTL has a network side.
    pub mac: Option<Mac>,
    pub own: Option<OwnClock>,
    /// None where a host port or the network has the streams.
    user: Option<User>,
    /// A transaction was submitted and there are no streams to send it on.
    unsendable: bool,
    pub log: Log,
    pub period: Time,
    /// Cycles since the start.
    pub cycle: u64,
    next_id: u64,
    /// Name of the payload buffer on chip, where it is one that can be reached.
    store: Option<String>,
    /// The pin `irq` was high at the last edge.
    irq: bool,
    /// How often it rose.
    pub interrupts: u64,
}

/// What has ended.
#[derive(Default)]
pub(crate) struct Log {
    pub outcomes: VecDeque<Outcome>,
    pub stats: Stats,
}

impl Log {
    fn add(&mut self, outcome: Outcome) {
        match outcome.direction {
            Direction::Write => self.stats.writes.add(&outcome),
            Direction::Read => self.stats.reads.add(&outcome),
        }
        self.outcomes.push_back(outcome);
    }
}

/// All rising edges of the MAC and of elements up to a time, in order; true where there was progress.
#[inline]
fn other_edges(
    mac: &mut Option<Mac>,
    own: &mut Option<OwnClock>,
    dut: &mut Dut,
    (cycle, now): (u64, Time),
) -> Result<bool> {
    let mut moved = false;
    loop {
        let mac_at = mac.as_ref().map_or(Time::MAX, Mac::next);
        let own_at = own.as_ref().map_or(Time::MAX, OwnClock::next);
        match (mac.as_mut(), own.as_mut()) {
            (_, Some(own)) if own_at <= mac_at.min(now) => own.edge(dut, cycle)?,
            (Some(mac), _) if mac_at <= now => moved |= mac.edge(dut, cycle)?,
            _ => return Ok(moved),
        }
    }
}

impl Core {
    /// Builds the RTL (or finds it in the cache) and loads it. It is still to be reset. Library,
    /// waves, on-board DRAM and network are taken out of the configuration.
    pub fn new(config: &mut Config, progress: &mut (dyn FnMut(Progress) + Send)) -> Result<Self> {
        let (seed, poison, stalls) = (config.seed, config.poison, config.stalls);
        let (period, outbound) = (config.clock_period, config.outbound);
        for (field, period) in [
            ("clock_period", Some(period)),
            ("element_period", config.element_period),
        ] {
            if period == Some(0) {
                let (value, limit) = ("0".to_owned(), "a clock has a period of 1 ps or more");
                return Err(Error::Setting {
                    field,
                    value,
                    limit,
                });
            }
        }
        config.rtl.trace |= config.waves.is_some();
        let library = match config.library.take() {
            Some(library) => library,
            None => Builder::from_environment()?.build(&config.rtl, progress)?,
        };
        let mut model = Model::load_seeded(&library, seed)?;
        let in_host = config.rtl.parameter_value("host_ddr") == Some("1");
        let pins = Pins::find(&model, in_host)?;
        let apertures = Apertures::new(&config.rtl, pins.memory())?;
        pins.check_bar(&model, apertures.bytes)?;
        let store = model.memories().into_iter().map(|memory| memory.name);
        let store = store.into_iter().find(|name| name.ends_with(STORE));
        if poison
            && let Some(name) = &store
            && let Some(bytes) = model.memory_mut(name)
        {
            Poison::Freed.fill(0, bytes);
        }
        let memory = match (pins.dram, pins.host_dram) {
            (Some(port), _) => {
                let profile = config.dram.take();
                let profile = profile.map_or_else(|| DramProfile::builtin("ddr4-2400"), Ok)?;
                let faults = std::mem::take(&mut config.dram_faults);
                let poison = if poison { Poison::Freed } else { Poison::Zeros };
                let board = Board::new(window::DRAM_WINDOW_BYTES, &profile, faults, seed, poison);
                Some((port, Behind::Board(Box::new(board))))
            }
            (None, port) => port.map(|port| {
                let pause = Pauser::new(stalls.host, seed, 69);
                (port, Behind::Host(Dma::new(pause, period)))
            }),
        };
        let memory =
            memory.map(|(port, behind)| Target::new(port, behind, outbound.memory, &stalls, seed));
        let own = pins.net.zip(config.element_period);
        let own = own.map(|(pins, period)| OwnClock::new(pins.own.0, pins.own.1, period));
        let mut core = Self {
            bridge: Bridge::new(&pins, apertures, outbound, &stalls, seed),
            user: pins.streams.as_ref().map(|streams| User {
                writes: Writes::new(streams, &stalls, seed),
                reads: Reads::new(streams, &stalls, seed),
            }),
            unsendable: false,
            memory,
            mac: pins.net.map(|pins| Mac::new(pins, config.network.take())),
            dut: Dut::new(
                model,
                (pins.clk, period),
                pins.net.map(|pins| (pins.clks, mac_edge(1))),
                own.as_ref().map(|own| (own.clk, own.period)),
                config.half_cycles,
                config.waves.take(),
            ),
            own,
            pins,
            log: Log::default(),
            period,
            cycle: 0,
            next_id: 0,
            store,
            irq: false,
            interrupts: 0,
        };
        core.bridge.init(&mut core.dut.model);
        Ok(core)
    }

    /// One clock cycle whose rising edge is at `now`; true where there was progress: data, entries,
    /// doorbells or frames moved. What arrives at the card meanwhile is for [`Bridge::drain`].
    #[inline]
    pub fn step(&mut self, now: Time, fabric: &mut Fabric) -> Result<bool> {
        let Self {
            dut,
            user,
            bridge,
            memory,
            mac,
            own,
            log,
            cycle,
            ..
        } = self;
        let heard = other_edges(mac, own, dut, (*cycle, now))?;
        let model = &mut dut.model;
        if let Some(User { writes, reads }) = user {
            writes.drive(model)?;
            reads.drive(model);
        } else if self.unsendable {
            let top = model.top().to_owned();
            return Err(Error::NoStreams { top });
        }
        bridge.drive(model);
        if let Some(memory) = memory {
            for answer in bridge.answers.drain(..) {
                memory.arrive(now, answer);
            }
            memory.drive(model, now, fabric)?;
        }
        let moved = dut.cycle(*cycle, now, |model| {
            let mut moved = false;
            if let Some(User { writes, reads }) = user {
                let mut done = |outcome| log.add(outcome);
                moved |= writes.sample(model, *cycle, &mut done)?;
                moved |= reads.sample(model, *cycle, &mut done)?;
            }
            moved |= bridge.sample(model, *cycle, now, fabric)?;
            if let Some(memory) = memory {
                moved |= memory.sample(model, *cycle, now, fabric)?;
            }
            Ok(moved)
        })?;
        bridge.settle(&mut dut.model);
        *cycle += 1;
        if let Some(net) = &self.pins.net {
            let before = std::mem::replace(&mut self.irq, dut.model.is_set(net.interrupt));
            self.interrupts += u64::from(self.irq && !before);
        }
        Ok(moved || heard)
    }

    /// Poisons payload, by its offset in its aperture, on the card: in on-board DRAM, or on chip where the
    /// buffer is one that can be reached.
    pub fn poison(&mut self, address: u64, bytes: u32) -> Result<()> {
        let mut data = vec![0; bytes as usize];
        Poison::Freed.fill(address, &mut data);
        match self.memory.as_mut().map(|memory| &mut memory.behind) {
            Some(Behind::Board(board)) => board.put(address, &data).map_err(Error::Memory),
            Some(Behind::Host(_)) => Ok(()),
            None => {
                let store = self.store.as_deref();
                let store = store.and_then(|name| self.dut.model.memory_mut(name));
                let place = address as usize..address as usize + data.len();
                if let Some(store) = store.and_then(|store| store.get_mut(place)) {
                    store.copy_from_slice(&data);
                }
                Ok(())
            }
        }
    }

    /// Nothing but a clock.
    #[inline]
    pub fn bare_cycle(&mut self, now: &mut Time) -> Result<()> {
        *now += self.period;
        let Self { mac, own, dut, .. } = self;
        other_edges(mac, own, dut, (self.cycle, *now))?;
        self.dut.bare_cycle(self.cycle, *now)?;
        self.cycle += 1;
        Ok(())
    }

    /// Resets the RTL, also in the middle of transactions: these end as aborted.
    pub fn reset(&mut self, now: &mut Time, fabric: &mut Fabric, cycles: u64) -> Result<()> {
        let (reset, on) = (self.pins.reset, self.pins.reset_on);
        self.dut.model.set(reset, on);
        if let Some(mac) = &mut self.mac {
            mac.set_reset(&mut self.dut.model, *now, true);
        }
        let mut cycles = cycles;
        if let Some(own) = &self.own {
            own.set_reset(&mut self.dut.model, true);
            cycles = cycles.max(own.reset_cycles(self.period));
        }
        // Other parts that are reset withdraw their signals at this edge, not before it.
        self.bare_cycle(now)?;
        let Self {
            dut,
            user,
            bridge,
            memory,
            log,
            cycle,
            ..
        } = self;
        let model = &mut dut.model;
        let mut done = |outcome| log.add(outcome);
        if let Some(User { writes, reads }) = user {
            writes.reset(model, *cycle, &mut done);
            reads.reset(model, *cycle, &mut done);
        }
        bridge.reset(model, *now, fabric);
        if let Some(memory) = memory {
            memory.reset(model);
        }
        for _ in 0..cycles {
            self.bare_cycle(now)?;
        }
        self.dut.model.set(reset, on ^ 1);
        if let Some(mac) = &mut self.mac {
            mac.set_reset(&mut self.dut.model, *now, false);
        }
        if let Some(own) = &self.own {
            own.set_reset(&mut self.dut.model, false);
        }
        self.bare_cycle(now)
    }

    /// Queues a write for the user's stream; returns its number.
    pub fn submit_write(&mut self, write: Write) -> u64 {
        self.next_id += 1;
        match &mut self.user {
            Some(user) => user.writes.submit(self.next_id, write),
            None => self.unsendable = true,
        }
        self.next_id
    }

    /// Lets data to write come at a pace of their own from now on.
    pub fn set_pace(&mut self, pace: Pace) {
        let fifo = Fifo::new(pace, self.period);
        if let Some(user) = &mut self.user {
            user.writes.fifo = Some(fifo);
        }
    }

    /// What became of data that come at their own pace.
    pub fn paced(&self) -> Option<Paced> {
        let fifo = self.user.as_ref()?.writes.fifo.as_ref()?;
        Some(fifo.found)
    }

    /// Queues a read for the user's stream; returns its number.
    pub fn submit_read(&mut self, read: Read) -> u64 {
        self.next_id += 1;
        match &mut self.user {
            Some(user) => user.reads.submit(self.next_id, read),
            None => self.unsendable = true,
        }
        self.next_id
    }

    /// No transaction is queued or under way on the user's streams.
    pub fn is_idle(&self) -> bool {
        match &self.user {
            Some(user) => user.writes.is_idle() && user.reads.is_idle(),
            None => !self.unsendable,
        }
    }

    /// Bytes of writes that are still to be sent.
    pub fn bytes_to_send(&self) -> u64 {
        let user = self.user.as_ref();
        user.map_or(0, |user| user.writes.bytes_left())
    }

    /// The source of writes has not got its next bytes yet: no beat can come.
    pub fn is_starving(&self) -> bool {
        let user = self.user.as_ref();
        user.is_some_and(|user| user.writes.starves())
    }

    /// The payload is in host memory.
    pub const fn is_in_host(&self) -> bool {
        self.pins.host_dram.is_some()
    }

    /// Nothing of the RTL needs a clock: the streamer is disabled and no port is busy.
    pub fn at_rest(&self) -> bool {
        let memory = self.memory.as_ref().is_none_or(Target::is_idle);
        !self.bridge.enabled && self.bridge.is_idle() && memory && self.is_idle()
    }

    /// What is waited for, in words.
    pub fn waiting(&self) -> String {
        let model = &self.dut.model;
        let user = self.user.as_ref();
        let user = user.map(|user| [user.writes.waiting(model), user.reads.waiting(model)]);
        let mut parts: Vec<String> = user.into_iter().flatten().flatten().collect();
        parts.extend(self.bridge.waiting(model));
        parts.extend(self.memory.as_ref().and_then(Target::waiting));
        parts.push(format!(
            "{} doorbells rung so far",
            self.bridge.doorbell.count
        ));
        parts.join("; ")
    }
}
