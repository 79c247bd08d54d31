// SPDX-License-Identifier: Apache-2.0
//! Options for what goes wrong, and for what the driver does about it.

use clap::{Args, value_parser};
use forebay_app::Result;
use forebay_app::inject;
use forebay_cosim::{Config, DramFault};
use forebay_driver::{Options, TIMEOUT_CYCLES};

use super::values::{self, FaultSpec, StallSpec};

/// What goes wrong, and what the driver does about it.
#[derive(Args, Debug)]
#[command(next_help_heading = "Faults")]
pub struct FaultArgs {
    /// Pause a port at random: [PORT=]CHANCE[:CYCLES]; ports: all (default), write, response,
    /// command, read, window-write, window-read, window-answer, doorbell, memory, memory-request,
    /// memory-answer, host
    #[arg(long, value_name = "PAUSE", value_parser = values::stall, hide_short_help = true)]
    pub stall: Vec<StallSpec>,
    /// Let on-board DRAM answer with errors: read@FROM..TO or write@FROM..TO, addresses of the
    /// memory: what is written to the drive lies from 0, what is read from 64 MiB, the first read
    /// after a write at 124 MiB
    #[arg(long, value_name = "FAULT", value_parser = values::dram_fault, hide_short_help = true)]
    pub dram_fault: Vec<DramFault>,
    /// Let a drive fail: [DRIVE/]ACTION@WHEN[:TIMES], e.g. fail=0x281@nth=3, drop@every=10:2,
    /// duplicate@read, unknown-cid@write, wrong-phase@lba=8..16, not-ready@2ms, fatal@500us
    #[arg(long, value_name = "FAULT", value_parser = values::fault)]
    pub fault: Vec<FaultSpec>,
    /// Give a command up after this number of cycles, by default 5 s at 300 MHz; 0: never
    #[arg(long, value_name = "CYCLES", default_value_t = TIMEOUT_CYCLES, hide_short_help = true)]
    pub timeout_cycles: u32,
    /// Send a failed command again up to N times
    #[arg(long, value_name = "N", value_parser = value_parser!(u8).range(0..=15),
          hide_short_help = true)]
    pub retry_limit: Option<u8>,
}

impl FaultArgs {
    /// Sets them on a simulated machine and its driver.
    pub fn apply(&self, config: &mut Config) -> Result<()> {
        config.stalls = values::stalls(&self.stall);
        inject::set_faults(config, &self.fault, &self.dram_fault)?;
        self.adjust(&mut config.driver);
        Ok(())
    }

    /// The options given that only a simulated machine has.
    pub fn simulated(&self) -> Vec<String> {
        let given = [
            (!self.stall.is_empty(), "--stall"),
            (!self.dram_fault.is_empty(), "--dram-fault"),
            (!self.fault.is_empty(), "--fault"),
        ];
        let given = given.into_iter().filter(|(given, _)| *given);
        given.map(|(_, name)| name.to_owned()).collect()
    }

    /// Sets what concerns the driver, on any bus.
    pub fn adjust(&self, options: &mut Options) {
        options.timeout_cycles = self.timeout_cycles;
        if let Some(limit) = self.retry_limit {
            options.retry_limit = limit;
        }
    }
}
