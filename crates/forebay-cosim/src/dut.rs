// SPDX-License-Identifier: Apache-2.0
//! The RTL and its clock: one or two evaluations a cycle, waves, faults.

use forebay_model::Time;
use forebay_rtl::{Direction, Model, PortHandle};

use crate::config::Waves;
use crate::error::{Error, Result};

/// Every so many cycles it is checked that no output follows an input without a register.
const CHECK_EVERY: u64 = 128;

/// The design under test.
pub(crate) struct Dut {
    pub model: Model,
    clk: PortHandle,
    period: Time,
    /// One evaluation a cycle is enough.
    single: bool,
    outputs: Vec<PortHandle>,
    /// The outputs as they were, for the check.
    before: Vec<u8>,
    waves: Option<Waves>,
    recording: bool,
}

impl Dut {
    pub fn new(
        model: Model,
        clk: PortHandle,
        period: Time,
        half_cycles: bool,
        waves: Option<Waves>,
    ) -> Self {
        let outputs = model
            .ports()
            .filter(|port| port.direction == Direction::Output)
            .filter_map(|port| model.find_port(&port.name))
            .collect();
        Self {
            clk,
            period,
            // With waves, both edges of the clock are to be seen.
            single: model.has_tick() && !half_cycles && waves.is_none(),
            outputs,
            before: Vec::new(),
            waves,
            recording: false,
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
        if self.single && !cycle.is_multiple_of(CHECK_EVERY) {
            let moved = sample(&self.model)?;
            self.tick(cycle, now)?;
            return Ok(moved);
        }
        if self.single {
            self.copy_outputs();
        }
        self.low(cycle, now)?;
        if self.single && self.outputs_moved() {
            return Err(Error::Protocol {
                cycle,
                channel: "all",
                what: "an output follows an input within a cycle, but every path through a \
                       streamer has a register; set Config::half_cycles to simulate it all the same"
                    .into(),
            });
        }
        let moved = sample(&self.model)?;
        self.high(cycle, now)?;
        Ok(moved)
    }

    /// A cycle that nobody looks at.
    #[inline]
    pub fn bare_cycle(&mut self, cycle: u64, now: Time) -> Result<()> {
        if self.single {
            return self.tick(cycle, now);
        }
        self.low(cycle, now)?;
        self.high(cycle, now)
    }

    /// A cycle in one evaluation.
    #[inline]
    fn tick(&mut self, cycle: u64, now: Time) -> Result<()> {
        self.model.set_time(now);
        match self.model.tick() {
            Ok(()) => Ok(()),
            Err(source) => Err(self.fault(cycle, now, source)),
        }
    }

    /// The low half of the clock: inputs have been set, outputs that depend on them follow.
    #[inline]
    fn low(&mut self, cycle: u64, now: Time) -> Result<()> {
        if self.waves.is_some() {
            self.switch_waves(cycle)?;
        }
        self.half(0, cycle, now, now - self.period / 2)
    }

    /// The rising edge.
    #[inline]
    fn high(&mut self, cycle: u64, now: Time) -> Result<()> {
        self.half(1, cycle, now, now)
    }

    fn half(&mut self, clk: u64, cycle: u64, now: Time, at: Time) -> Result<()> {
        self.model.set(self.clk, clk);
        self.model.set_time(at);
        if let Err(source) = self.model.eval() {
            return Err(self.fault(cycle, now, source));
        }
        if self.recording {
            self.model.trace_dump(at);
        }
        Ok(())
    }

    #[cold]
    fn fault(&mut self, cycle: u64, now: Time, source: forebay_rtl::Error) -> Error {
        // The waves are to show the moment of the fault.
        if self.recording {
            self.model.trace_dump(now);
        }
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
