// SPDX-License-Identifier: Apache-2.0
//! Options of `forebay bench soak`: a case, whose command line is the one form it is written in.

use clap::{Args, Parser, value_parser};
use forebay_cosim::DramFault;
use forebay_driver::TIMEOUT_CYCLES;

use super::values::{self, FaultSpec, StallSpec};
use super::{DriveIdeal, MachineArgs, ReportArgs};

/// Options of `forebay bench soak`.
#[derive(Args, Debug)]
pub struct SoakArgs {
    /// What to do, and with what.
    #[command(flatten)]
    pub case: Case,
    /// The report.
    #[command(flatten)]
    pub report: ReportArgs,
}

/// Random transactions on a machine, and what goes wrong meanwhile. All of it follows from these
/// options.
#[derive(Args, Clone, Debug, PartialEq)]
pub struct Case {
    /// What is written and read.
    #[command(flatten)]
    pub work: Work,
    /// What goes wrong.
    #[command(flatten)]
    pub trouble: Trouble,
    /// The machine.
    #[command(flatten)]
    pub machine: MachineArgs<DriveIdeal>,
}

/// What is written and read.
#[derive(Args, Clone, Debug, PartialEq)]
pub struct Work {
    /// How many transactions
    #[arg(long, value_name = "N", default_value_t = 2_000, value_parser = value_parser!(u64).range(1..))]
    pub transactions: u64,
    /// Addresses lie in so many bytes [default: 256KiB, with parity four rows]
    #[arg(long, value_name = "SIZE", value_parser = values::length)]
    pub area: Option<u64>,
    /// Where these bytes begin [default: 0; with --apart so that they lie on two drives]
    #[arg(long, value_name = "ADDR", value_parser = values::size)]
    pub at: Option<u64>,
    /// Least transaction
    #[arg(long, value_name = "SIZE", default_value = "1", value_parser = values::length)]
    pub least: u64,
    /// Greatest transaction
    #[arg(long, value_name = "SIZE", default_value = "64KiB", value_parser = values::length)]
    pub largest: u64,
    /// Percentage of transactions that write; the others read
    #[arg(long, value_name = "PERCENT", default_value_t = 50, value_parser = share())]
    pub writes: u8,
    /// Percentage of reads of up to 4 KiB whose order is lifted
    #[arg(long, value_name = "PERCENT", default_value_t = 50, value_parser = share())]
    pub unordered: u8,
    /// Percentage of writes with force unit access
    #[arg(long, value_name = "PERCENT", default_value_t = 6, value_parser = share())]
    pub fua: u8,
    /// Percentage of writes with a flush; some of these bear no data
    #[arg(long, value_name = "PERCENT", default_value_t = 6, value_parser = share())]
    pub flush: u8,
    /// Percentage of transactions that must be refused
    #[arg(long, value_name = "PERCENT", default_value_t = 2, value_parser = share())]
    pub refused: u8,
    /// Transactions under way at once
    #[arg(long, value_name = "N", default_value_t = 96, value_parser = value_parser!(u16).range(1..=250))]
    pub under_way: u16,
}

/// What goes wrong.
#[derive(Args, Clone, Debug, PartialEq)]
pub struct Trouble {
    /// Pause a port at random: [PORT=]CHANCE[:CYCLES], as for `forebay run`; 0 for none
    #[arg(long, value_name = "PAUSE", default_values = ["0.05:20", "memory=0.2:50"],
          value_parser = values::stall)]
    pub stall: Vec<StallSpec>,
    /// Let a drive fail: [DRIVE/]ACTION@WHEN[:TIMES], as for `forebay run`
    #[arg(long, value_name = "FAULT", value_parser = values::fault)]
    pub fault: Vec<FaultSpec>,
    /// Let on-board DRAM answer with errors: read@FROM..TO or write@FROM..TO
    #[arg(long, value_name = "FAULT", value_parser = values::dram_fault)]
    pub dram_fault: Vec<DramFault>,
    /// Reset the RTL when so many transactions have ended, and bring everything up again
    #[arg(long, value_name = "N")]
    pub reset: Vec<u64>,
    /// Logical block of the simulated drives in bytes
    #[arg(long, value_name = "BYTES", value_parser = ["512", "4096"])]
    pub block: Option<String>,
    /// Most bytes of one command that the simulated drives take, their MDTS: 8KiB, 16KiB, … 1MiB
    /// [default: their profile's]
    #[arg(long, value_name = "SIZE", value_parser = values::mdts)]
    pub mdts: Option<u64>,
    /// Most bytes of one command, a multiple of 4 KiB [default: what drive and streamer allow]
    #[arg(long, value_name = "SIZE", value_parser = values::pages)]
    pub max_transfer: Option<u64>,
    /// Give a command up after so many cycles; 0: never
    #[arg(long, value_name = "CYCLES", default_value_t = TIMEOUT_CYCLES)]
    pub timeout_cycles: u32,
    /// Send a failed command again up to so many times
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = value_parser!(u8).range(0..=15))]
    pub retry_limit: u8,
}

fn share() -> clap::builder::RangedI64ValueParser<u8> {
    value_parser!(u8).range(0..=100)
}

/// A case alone, for [`Case::of`].
#[derive(Parser)]
#[command(no_binary_name = true)]
struct Alone {
    #[command(flatten)]
    case: Case,
}

impl Case {
    /// As a command line gives it that has these options.
    ///
    /// # Errors
    /// Where they cannot be.
    pub fn of(words: &[String]) -> Result<Self, clap::Error> {
        Alone::try_parse_from(words).map(|alone| alone.case)
    }

    /// The options that make this case, those that are as they are anyway left out.
    pub fn words(&self) -> Vec<String> {
        let (work, trouble) = (&self.work, &self.trouble);
        let mut words = super::machine::words(&self.machine, "ideal");
        words.unless("transactions", work.transactions, 2_000);
        words.maybe("area", work.area);
        words.maybe("at", work.at);
        words.unless("least", work.least, 1);
        words.unless("largest", work.largest, 64 << 10);
        for (name, share, default) in [
            ("writes", work.writes, 50),
            ("unordered", work.unordered, 50),
            ("fua", work.fua, 6),
            ("flush", work.flush, 6),
            ("refused", work.refused, 2),
        ] {
            words.unless(name, share, default);
        }
        words.unless("under-way", work.under_way, 96);
        words.maybe("block", trouble.block.as_ref());
        words.maybe("mdts", trouble.mdts);
        words.maybe("max-transfer", trouble.max_transfer);
        words.unless("timeout-cycles", trouble.timeout_cycles, TIMEOUT_CYCLES);
        words.unless("retry-limit", trouble.retry_limit, 3);
        words.each("stall", &trouble.stall);
        words.each("fault", &trouble.fault);
        let dram = trouble.dram_fault.iter();
        words.each("dram-fault", dram.map(values::dram_fault_text));
        words.each("reset", &trouble.reset);
        words.into_inner()
    }

    /// The command that repeats this case.
    pub fn command(&self) -> String {
        format!("forebay bench soak {}", self.words().join(" "))
    }
}
