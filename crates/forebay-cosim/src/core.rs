// SPDX-License-Identifier: Apache-2.0
//! The RTL on its clock, with a model at each of its ports.

use std::collections::VecDeque;

use forebay_model::net::Network;
use forebay_model::{DramProfile, Fabric, Time};
use forebay_rtl::{Builder, Library, Model, Progress, Source};

use crate::bridge::Bridge;
use crate::config::{DramFault, Stalls, Waves};
use crate::dma::Dma;
use crate::dram::Board;
use crate::dut::Dut;
use crate::error::{Error, Result};
use crate::mac::Mac;
use crate::pace::{Fifo, Pace, Paced};
use crate::pins::Pins;
use crate::reads::Reads;
use crate::stats::{Direction, Outcome, Stats};
use crate::target::{Behind, Target};
use crate::transaction::{Read, Write};
use crate::writes::Writes;

/// Cycles of reset at the start.
pub(crate) const RESET_CYCLES: u64 = 16;

/// What a [`Core`] is made of.
pub(crate) struct Parts {
    pub rtl: Source,
    pub library: Option<Library>,
    pub seed: u64,
    pub clock_period: Time,
    pub half_cycles: bool,
    pub stalls: Stalls,
    pub waves: Option<Waves>,
    pub dram: Option<DramProfile>,
    pub dram_faults: Vec<DramFault>,
    pub network: Option<Network>,
}

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
    /// None where a host port or the network has the streams.
    user: Option<User>,
    /// A transaction was submitted and there are no streams to send it on.
    unsendable: bool,
    pub log: Log,
    pub period: Time,
    /// Cycles since the start.
    pub cycle: u64,
    next_id: u64,
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

impl Core {
    /// Builds the RTL (or finds it in the cache) and loads it. It is still to be reset.
    pub fn new(parts: Parts, progress: &mut (dyn FnMut(Progress) + Send)) -> Result<Self> {
        let Parts {
            mut rtl,
            library,
            seed,
            clock_period,
            half_cycles,
            stalls,
            waves,
            dram,
            dram_faults,
            network,
        } = parts;
        if clock_period == 0 {
            let (value, limit) = ("0".to_owned(), "a clock has a period of 1 ps or more");
            return Err(Error::Setting {
                field: "clock_period",
                value,
                limit,
            });
        }
        rtl.trace |= waves.is_some();
        let library = match library {
            Some(library) => library,
            None => Builder::from_environment()?.build(&rtl, progress)?,
        };
        let model = Model::load_seeded(&library, seed)?;
        let pins = Pins::find(&model)?;
        let memory = match (pins.dram, pins.host_dram) {
            (Some(port), _) => {
                let profile = dram.map_or_else(|| DramProfile::builtin("ddr4-2400"), Ok)?;
                let board = Board::new(&profile, dram_faults, seed);
                Some((port, Behind::Board(Box::new(board))))
            }
            (None, port) => port.map(|port| (port, Behind::Host(Dma::default()))),
        };
        let memory = memory.map(|(port, behind)| Target::new(port, behind, &stalls, seed));
        let mut core = Self {
            bridge: Bridge::new(&pins, &stalls, seed),
            user: pins.streams.as_ref().map(|streams| User {
                writes: Writes::new(streams, &stalls, seed),
                reads: Reads::new(streams, &stalls, seed),
            }),
            unsendable: false,
            memory,
            mac: pins.net.map(|pins| Mac::new(pins, network)),
            dut: Dut::new(
                model,
                pins.clk,
                pins.net.map(|pins| pins.clk),
                clock_period,
                half_cycles,
                waves,
            ),
            pins,
            log: Log::default(),
            period: clock_period,
            cycle: 0,
            next_id: 0,
        };
        core.bridge.init(&mut core.dut.model);
        Ok(core)
    }

    /// One clock cycle whose rising edge is at `now`; true where something moved. What arrives at
    /// the card meanwhile is for [`Bridge::drain`].
    #[inline]
    pub fn step(&mut self, now: Time, fabric: &mut Fabric) -> Result<bool> {
        let Self {
            dut,
            user,
            bridge,
            memory,
            mac,
            log,
            cycle,
            ..
        } = self;
        let heard = match mac {
            Some(mac) => mac.run(dut, *cycle, now)?,
            None => false,
        };
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
            memory.drive(model, now, fabric);
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
        Ok(moved || heard)
    }

    /// Nothing but a clock.
    #[inline]
    pub fn bare_cycle(&mut self, now: &mut Time) -> Result<()> {
        *now += self.period;
        if let Some(mac) = &mut self.mac {
            mac.run(&mut self.dut, self.cycle, *now)?;
        }
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
        // Whoever is reset as well lets go of its signals at this edge, not before it.
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
