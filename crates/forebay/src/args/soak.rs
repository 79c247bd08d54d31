// SPDX-License-Identifier: Apache-2.0
//! Options of `forebay bench soak`: a case, whose command line is the one form it is written in.

use clap::{Args, value_parser};
use forebay_cosim::DramFault;
use forebay_driver::TIMEOUT_CYCLES;

use forebay_lab::soak::{Case, Trouble, Work};

use super::values::{self, FaultSpec, StallSpec};
use super::{DefaultProfile, DriveIdeal, MachineArgs, machine};

/// Random transactions on a machine, and what goes wrong meanwhile. All of it follows from these
/// options.
#[derive(Args, Clone, Debug)]
pub struct CaseArgs {
    #[command(flatten)]
    work: WorkArgs,
    #[command(flatten)]
    trouble: TroubleArgs,
    #[command(flatten)]
    machine: MachineArgs<DriveIdeal>,
}

/// What is written and read.
#[derive(Args, Clone, Debug)]
struct WorkArgs {
    /// How many transactions
    #[arg(long, value_name = "N", default_value_t = 2_000, value_parser = value_parser!(u64).range(1..))]
    transactions: u64,
    /// Bytes in which addresses lie [default: 256KiB, with parity four stripes]
    #[arg(long, value_name = "SIZE", value_parser = values::length)]
    area: Option<u64>,
    /// Where these bytes begin [default: 0; with --linear so that they lie on two drives]
    #[arg(long, value_name = "ADDR", value_parser = values::size, hide_short_help = true)]
    at: Option<u64>,
    /// Least transaction
    #[arg(long, value_name = "SIZE", default_value = "1", value_parser = values::length,
          hide_short_help = true)]
    least: u64,
    /// Greatest transaction
    #[arg(long, value_name = "SIZE", default_value = "64KiB", value_parser = values::length,
          hide_short_help = true)]
    largest: u64,
    /// Percentage of transactions that write; the others read
    #[arg(long, value_name = "PERCENT", default_value_t = 50, value_parser = share())]
    writes: u8,
    /// Percentage of reads of up to 4 KiB whose order is lifted
    #[arg(long, value_name = "PERCENT", default_value_t = 50, value_parser = share(),
          hide_short_help = true)]
    unordered: u8,
    /// Percentage of writes with force unit access
    #[arg(long, value_name = "PERCENT", default_value_t = 6, value_parser = share(),
          hide_short_help = true)]
    fua: u8,
    /// Percentage of writes with a flush; some of these bear no data
    #[arg(long, value_name = "PERCENT", default_value_t = 6, value_parser = share(),
          hide_short_help = true)]
    flush: u8,
    /// Percentage of writes with a fence; these may overlap writes that are under way
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = share(),
          hide_short_help = true)]
    fence: u8,
    /// Percentage of transactions that must be refused
    #[arg(long, value_name = "PERCENT", default_value_t = 2, value_parser = share(),
          hide_short_help = true)]
    refused: u8,
    /// Transactions under way at once
    #[arg(long, value_name = "N", default_value_t = 96, value_parser = value_parser!(u16).range(1..=250),
          hide_short_help = true)]
    under_way: u16,
}

/// What goes wrong.
#[derive(Args, Clone, Debug)]
struct TroubleArgs {
    /// Pause a port at random: [PORT=]CHANCE[:CYCLES], as for `forebay io`; 0 for none
    #[arg(long, value_name = "PAUSE", default_values = ["0.05:20", "memory=0.2:50"],
          value_parser = values::stall, hide_short_help = true)]
    stall: Vec<StallSpec>,
    /// Let a drive fail: [DRIVE/]ACTION@WHEN[:TIMES], as for `forebay io`
    #[arg(long, value_name = "FAULT", value_parser = values::fault)]
    fault: Vec<FaultSpec>,
    /// Let on-board DRAM answer with errors: read@FROM..TO or write@FROM..TO
    #[arg(long, value_name = "FAULT", value_parser = values::dram_fault, hide_short_help = true)]
    dram_fault: Vec<DramFault>,
    /// Reset the RTL when N transactions have ended, and bring everything up again
    #[arg(long, value_name = "N")]
    reset: Vec<u64>,
    /// Logical block of the simulated drives in bytes
    #[arg(long, value_name = "BYTES", value_parser = ["512", "4096"], hide_short_help = true)]
    block: Option<String>,
    /// Most bytes of one command that the simulated drives take, their MDTS: 8KiB, 16KiB, … 1MiB
    /// [default: their profile's]
    #[arg(long, value_name = "SIZE", value_parser = values::mdts, hide_short_help = true)]
    mdts: Option<u64>,
    /// Most bytes of one command, a multiple of 4 KiB [default: what drive and streamer allow]
    #[arg(long, value_name = "SIZE", value_parser = values::pages, hide_short_help = true)]
    max_transfer: Option<u64>,
    /// Give a command up after this number of cycles; 0: never
    #[arg(long, value_name = "CYCLES", default_value_t = TIMEOUT_CYCLES, hide_short_help = true)]
    timeout_cycles: u32,
    /// Send a failed command again up to N times
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = value_parser!(u8).range(0..=15),
          hide_short_help = true)]
    retry_limit: u8,
}

fn share() -> clap::builder::RangedI64ValueParser<u8> {
    value_parser!(u8).range(0..=100)
}

impl From<CaseArgs> for Case {
    fn from(args: CaseArgs) -> Self {
        let CaseArgs {
            work,
            trouble,
            machine,
        } = args;
        Self {
            work: Work {
                transactions: work.transactions,
                area: work.area,
                at: work.at,
                least: work.least,
                largest: work.largest,
                writes: work.writes,
                unordered: work.unordered,
                fua: work.fua,
                flush: work.flush,
                fence: work.fence,
                refused: work.refused,
                under_way: work.under_way,
            },
            trouble: Trouble {
                stall: trouble.stall,
                fault: trouble.fault,
                dram_fault: trouble.dram_fault,
                reset: trouble.reset,
                block: trouble.block,
                mdts: trouble.mdts,
                max_transfer: trouble.max_transfer,
                timeout_cycles: trouble.timeout_cycles,
                retry_limit: trouble.retry_limit,
            },
            machine: machine.spec,
        }
    }
}

/// The options that make this case, those that are as they are anyway left out.
fn words(case: &Case) -> Vec<String> {
    let (work, trouble) = (&case.work, &case.trouble);
    let (usual, untroubled) = (Work::default(), Trouble::default());
    let mut words = machine::words(&case.machine, DriveIdeal::NAME);
    words.unless("transactions", work.transactions, usual.transactions);
    words.each("area", work.area);
    words.each("at", work.at);
    words.unless("least", work.least, usual.least);
    words.unless("largest", work.largest, usual.largest);
    for (name, share, default) in [
        ("writes", work.writes, usual.writes),
        ("unordered", work.unordered, usual.unordered),
        ("fua", work.fua, usual.fua),
        ("flush", work.flush, usual.flush),
        ("fence", work.fence, usual.fence),
        ("refused", work.refused, usual.refused),
    ] {
        words.unless(name, share, default);
    }
    words.unless("under-way", work.under_way, usual.under_way);
    words.each("block", trouble.block.as_ref());
    words.each("mdts", trouble.mdts);
    words.each("max-transfer", trouble.max_transfer);
    let timeout = untroubled.timeout_cycles;
    words.unless("timeout-cycles", trouble.timeout_cycles, timeout);
    words.unless("retry-limit", trouble.retry_limit, untroubled.retry_limit);
    words.each("stall", &trouble.stall);
    words.each("fault", &trouble.fault);
    let dram = trouble.dram_fault.iter();
    words.each("dram-fault", dram.map(values::dram_fault_text));
    words.each("reset", &trouble.reset);
    words.into_inner()
}

/// The command that repeats a case.
pub fn command_of(case: &Case) -> String {
    format!("forebay bench soak {}", words(case).join(" "))
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use forebay_lab::swarm::{draw, shapes, shrink};

    use super::*;

    #[derive(Parser)]
    #[command(no_binary_name = true)]
    struct Alone {
        #[command(flatten)]
        case: CaseArgs,
    }

    fn read(words: &[String]) -> Case {
        Alone::try_parse_from(words).expect("a case").case.into()
    }

    fn cases(count: u64) -> impl Iterator<Item = Case> {
        let shapes: Vec<_> = shapes::ALL.iter().collect();
        (0..count).map(move |seed| draw(seed, &shapes).1)
    }

    #[test]
    fn a_command_line_is_the_case() {
        for case in cases(3_000) {
            assert_eq!(read(&words(&case)), case);
        }
    }

    #[test]
    fn every_simpler_case_can_be_written_down() {
        for case in cases(200) {
            shrink(case, 60, |case| {
                assert_eq!(read(&words(case)), *case);
                !case.work.transactions.is_multiple_of(3)
            });
        }
    }
}
