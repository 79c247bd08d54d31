// SPDX-License-Identifier: Apache-2.0
//! The clock of processing elements that have one of their own.

use forebay_model::Time;
use forebay_rtl::{Model, PortHandle};

use crate::dut::Dut;
use crate::error::Result;

/// Its pins, and when it ticks.
pub(crate) struct OwnClock {
    pub clk: PortHandle,
    reset: PortHandle,
    pub period: Time,
    /// The next rising edge.
    next: Time,
}

impl OwnClock {
    pub const fn new(clk: PortHandle, reset: PortHandle, period: Time) -> Self {
        Self {
            clk,
            reset,
            period,
            next: period,
        }
    }

    /// When the next rising edge is.
    pub const fn next(&self) -> Time {
        self.next
    }

    /// That edge.
    #[inline]
    pub fn edge(&mut self, dut: &mut Dut, cycle: u64) -> Result<()> {
        let at = self.next;
        self.next += self.period;
        dut.own_cycle(cycle, at)
    }

    /// Time has leapt to `now` while nothing went on: so do the edges.
    pub fn leap(&mut self, now: Time) {
        let edges = now.saturating_sub(self.next) / self.period;
        self.next += edges * self.period;
    }

    /// The reset of this clock.
    pub fn set_reset(&self, model: &mut Model, on: bool) {
        model.set(self.reset, u64::from(on));
    }

    /// Cycles of `period` in which this clock has eight: it sees a reset that is as long.
    pub const fn reset_cycles(&self, period: Time) -> u64 {
        (8 * self.period).div_ceil(period)
    }
}
