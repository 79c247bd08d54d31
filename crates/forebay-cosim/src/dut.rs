// SPDX-License-Identifier: Apache-2.0
//! The RTL and its clocks: one or two evaluations a cycle, waves, faults.

use forebay_model::Time;
use forebay_rtl::{Clock, Direction, Model, PortHandle};

use crate::config::Waves;
use crate::error::{Error, Result};

/// Cycles between two checks that no output follows an input without a register.
const CHECK_EVERY: u64 = 128;

/// A clock: its pin, that of another one that rises together with it, and what ticks them in one
/// evaluation.
#[derive(Clone, Copy)]
struct Edge {
    pins: [Option<PortHandle>; 2],
    clock: Option<Clock>,
    period: Time,
}

impl Edge {
    fn find(model: &mut Model, pins: [Option<PortHandle>; 2], period: Time) -> Self {
        let clocks = pins.iter().flatten().map(|pin| model.clock(*pin));
        let clock = clocks.reduce(|one, other| Some(one? | other?)).flatten();
        Self {
            pins,
            clock,
            period,
        }
    }
}

/// The design under test.
pub(crate) struct Dut {
    pub model: Model,
    core: Edge,
    mac: Option<Edge>,
    own: Option<Edge>,
    /// One evaluation a cycle is enough.
    single: bool,
    outputs: Vec<PortHandle>,
    /// The outputs as they were, for the check.
    before: Vec<u8>,
    waves: Option<Waves>,
    recording: bool,
    /// Waves up to here: two clocks may have an edge at once, and time in a file only grows.
    recorded: Time,
}

impl Dut {
    pub fn new(
        mut model: Model,
        clk: (PortHandle, Time),
        mac: Option<([PortHandle; 2], Time)>,
        own: Option<(PortHandle, Time)>,
        half_cycles: bool,
        waves: Option<Waves>,
    ) -> Self {
        let outputs = model
            .ports()
            .filter(|port| port.direction == Direction::Output)
            .filter_map(|port| model.find_port(&port.name))
            .collect();
        let mut find = |pins, period| Edge::find(&mut model, pins, period);
        let core = find([Some(clk.0), None], clk.1);
        let mac = mac.map(|(pins, period)| find(pins.map(Some), period));
        let own = own.map(|(pin, period)| find([Some(pin), None], period));
        let ticks = |edge: Edge| edge.clock.is_some();
        Self {
            core,
            mac,
            own,
            // With waves, both edges of the clock are to be seen.
            single: ticks(core)
                && mac.is_none_or(ticks)
                && own.is_none_or(ticks)
                && !half_cycles
                && waves.is_none(),
            outputs,
            before: Vec::new(),
            waves,
            recording: false,
            recorded: 0,
            model,
        }
    }

    /// A cycle whose rising edge is at `now`; `sample` sees the pins as they are at that edge.
    #[inline]
    pub fn cycle(
        &mut self,
        cycle: u64,
        now: Time,
        sample: impl FnOnce(&Model) -> Result<bool>,
    ) -> Result<bool> {
        if self.waves.is_some() {
            self.switch_waves(cycle)?;
        }
        self.edge(self.core, cycle, now, sample)
    }

    /// The same of the MAC's clock, where there is one.
    #[inline]
    pub fn mac_cycle(
        &mut self,
        cycle: u64,
        now: Time,
        sample: impl FnOnce(&Model) -> Result<bool>,
    ) -> Result<bool> {
        let Some(mac) = self.mac else {
            return Ok(false);
        };
        self.edge(mac, cycle, now, sample)
    }

    /// The same of the clock of processing elements, at whose edges no port is driven or sampled.
    #[inline]
    pub fn own_cycle(&mut self, cycle: u64, now: Time) -> Result<()> {
        match self.own {
            Some(own) => self.bare_edge(own, cycle, now),
            None => Ok(()),
        }
    }

    #[inline]
    fn edge(
        &mut self,
        edge: Edge,
        cycle: u64,
        now: Time,
        sample: impl FnOnce(&Model) -> Result<bool>,
    ) -> Result<bool> {
        if self.single && !cycle.is_multiple_of(CHECK_EVERY) {
            let moved = sample(&self.model)?;
            self.tick(edge, cycle, now)?;
            return Ok(moved);
        }
        if self.single {
            self.copy_outputs();
        }
        self.half(edge, 0, cycle, now)?;
        if self.single && self.outputs_moved() {
            let what = "an output follows an input within a cycle, but every path through a \
                        streamer has a register; set Config::half_cycles to simulate it all the same";
            return Err(Error::protocol(cycle, "all", what));
        }
        let moved = sample(&self.model)?;
        self.half(edge, 1, cycle, now)?;
        Ok(moved)
    }

    /// A cycle in which no port is driven or sampled.
    #[inline]
    pub fn bare_cycle(&mut self, cycle: u64, now: Time) -> Result<()> {
        if self.waves.is_some() {
            self.switch_waves(cycle)?;
        }
        self.bare_edge(self.core, cycle, now)
    }

    #[inline]
    fn bare_edge(&mut self, edge: Edge, cycle: u64, now: Time) -> Result<()> {
        if self.single {
            return self.tick(edge, cycle, now);
        }
        self.half(edge, 0, cycle, now)?;
        self.half(edge, 1, cycle, now)
    }

    /// A cycle in one evaluation.
    #[inline]
    fn tick(&mut self, edge: Edge, cycle: u64, now: Time) -> Result<()> {
        let Some(clock) = edge.clock else {
            return Ok(());
        };
        self.model.set_time(now);
        match self.model.tick(clock) {
            Ok(()) => Ok(()),
            Err(source) => Err(self.fault(cycle, now, source)),
        }
    }

    /// Half a cycle whose rising edge is at `now`: with the clock low, inputs have been set and
    /// outputs that depend on them follow; then the edge.
    #[inline]
    fn half(&mut self, edge: Edge, level: u64, cycle: u64, now: Time) -> Result<()> {
        let at = if level == 0 {
            now.saturating_sub(edge.period / 2)
        } else {
            now
        };
        for pin in edge.pins.into_iter().flatten() {
            self.model.set(pin, level);
        }
        self.model.set_time(at);
        if let Err(source) = self.model.eval() {
            return Err(self.fault(cycle, now, source));
        }
        self.record(at);
        Ok(())
    }

    fn record(&mut self, at: Time) {
        if self.recording {
            self.recorded = at.max(self.recorded + 1);
            self.model.trace_dump(self.recorded);
        }
    }

    #[cold]
    fn fault(&mut self, cycle: u64, now: Time, source: forebay_rtl::Error) -> Error {
        // The waves are to show the moment of the fault.
        self.record(now);
        Error::Assertion { cycle, source }
    }

    fn copy_outputs(&mut self) {
        self.before.clear();
        for port in &self.outputs {
            self.before.extend_from_slice(self.model.bytes(*port));
        }
    }

    /// The outputs are not what they were when they were copied.
    fn outputs_moved(&self) -> bool {
        let mut rest = self.before.as_slice();
        self.outputs.iter().any(|port| {
            let now = self.model.bytes(*port);
            let (before, after) = rest.split_at(now.len().min(rest.len()));
            rest = after;
            before != now
        })
    }

    fn switch_waves(&mut self, cycle: u64) -> Result<()> {
        let Some(waves) = &self.waves else {
            return Ok(());
        };
        let wanted = cycle >= waves.from && waves.until.is_none_or(|until| cycle < until);
        if wanted && !self.recording {
            self.model.trace_open(&waves.path)?;
            self.recording = true;
        } else if !wanted && self.recording {
            self.finish_waves();
        }
        Ok(())
    }

    /// Completes the file of waves; nothing is recorded any more.
    pub fn finish_waves(&mut self) {
        if std::mem::take(&mut self.recording) {
            self.model.trace_close();
        }
        self.waves = None;
    }
}

impl Drop for Dut {
    fn drop(&mut self) {
        self.finish_waves();
    }
}
