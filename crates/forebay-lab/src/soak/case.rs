// SPDX-License-Identifier: Apache-2.0
//! What a soak does, and to which machine: all of it follows from this.

use forebay_app::MachineSpec;
use forebay_app::inject::{FaultSpec, StallSpec};
use forebay_cosim::DramFault;
use forebay_driver::TIMEOUT_CYCLES;

/// Random transactions on a machine, and what goes wrong meanwhile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Case {
    /// What is written and read.
    pub work: Work,
    /// What goes wrong.
    pub trouble: Trouble,
    /// The machine.
    pub machine: MachineSpec,
}

/// What is written and read.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// How many transactions.
    pub transactions: u64,
    /// Bytes in which addresses lie; none: 256 KiB, with parity four stripes.
    pub area: Option<u64>,
    /// Where these bytes begin; none: 0, without stripes so that they lie on two drives.
    pub at: Option<u64>,
    /// Bytes of the least transaction.
    pub least: u64,
    /// Bytes of the greatest.
    pub largest: u64,
    /// Percentage of transactions that write; the others read.
    pub writes: u8,
    /// Percentage of reads of up to 4 KiB whose order is lifted.
    pub unordered: u8,
    /// Percentage of writes with force unit access.
    pub fua: u8,
    /// Percentage of writes with a flush; some of these bear no data.
    pub flush: u8,
    /// Percentage of writes with a fence; these may overlap writes that are under way.
    pub fence: u8,
    /// Percentage of transactions that must be refused.
    pub refused: u8,
    /// Transactions under way at once, 1 to 250.
    pub under_way: u16,
}

impl Default for Work {
    fn default() -> Self {
        Self {
            transactions: 2_000,
            area: None,
            at: None,
            least: 1,
            largest: 64 << 10,
            writes: 50,
            unordered: 50,
            fua: 6,
            flush: 6,
            fence: 0,
            refused: 2,
            under_way: 96,
        }
    }
}

/// What goes wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Trouble {
    /// Ports that pause at random.
    pub stall: Vec<StallSpec>,
    /// Drives that fail.
    pub fault: Vec<FaultSpec>,
    /// Where on-board DRAM answers with errors.
    pub dram_fault: Vec<DramFault>,
    /// Resets of the RTL, each when this number of transactions has ended; all is brought up again.
    pub reset: Vec<u64>,
    /// Logical block of the simulated drives in bytes, `512` or `4096`; none: their profile's.
    pub block: Option<String>,
    /// Most bytes of one command that the simulated drives take, their MDTS; none: their profile's.
    pub mdts: Option<u64>,
    /// Most bytes of one command; none: what drive and streamer allow.
    pub max_transfer: Option<u64>,
    /// Cycles after which a command is given up; 0: never.
    pub timeout_cycles: u32,
    /// How often a failed command is sent again, 0 to 15.
    pub retry_limit: u8,
}

impl Default for Trouble {
    fn default() -> Self {
        Self {
            stall: Vec::new(),
            fault: Vec::new(),
            dram_fault: Vec::new(),
            reset: Vec::new(),
            block: None,
            mdts: None,
            max_transfer: None,
            timeout_cycles: TIMEOUT_CYCLES,
            retry_limit: 3,
        }
    }
}
