// SPDX-License-Identifier: Apache-2.0
//! What the caller decides about a bring-up.

use std::time::Duration;

use forebay_spec::streamer::{bar0, window};
use serde::Serialize;

use crate::bus::PciAddress;

/// [`Options::timeout_cycles`] unless said otherwise: 5 s at 300 MHz, longer than any sound drive
/// keeps a command. Linux waits 30 s, of which the 32-bit register would hold only 14.
pub const TIMEOUT_CYCLES: u32 = 1_500_000_000;

/// Where the I/O queues lie, and so who moves the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueuePlacement {
    /// In the streamer's queue window: the FPGA submits, no CPU is on the way of the data.
    #[default]
    Fpga,
    /// In host memory: a [`QueuePair`](crate::QueuePair) submits and polls.
    Host,
}

/// What is added, modulo 2^64, to addresses that the streamer sends out: for a card whose bridge
/// reaches the bus in apertures and translates them, or whose on-board DRAM does not begin at 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outbound {
    /// To those of doorbells, a multiple of 4 KiB.
    pub doorbells: u64,
    /// To those of payload in on-board DRAM or host memory, a multiple of 64 MiB.
    pub memory: u64,
}

/// Where the streamer's windows stand on the FPGA card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FpgaPlace {
    /// The card; `None` takes the only one there is.
    pub device: Option<PciAddress>,
    /// The BAR that holds the windows.
    pub bar: u8,
    /// Offset of the control registers.
    pub control: u64,
    /// Offset of the queue window; `None` follows from the queue depth.
    pub queues: Option<u64>,
    /// Offset of the data window; `None` follows from where the streamer keeps its payload.
    pub data: Option<u64>,
    /// Offset of the PRP lists, of a streamer with its payload in DRAM.
    pub lists: u64,
    /// Address of the buffer for reads in on-board DRAM, a multiple of 64 MiB.
    pub dram_read: u64,
    /// Address of the buffer for writes in on-board DRAM, a multiple of 64 MiB.
    pub dram_write: u64,
    /// What its addresses are changed by.
    pub outbound: Outbound,
}

impl Default for FpgaPlace {
    fn default() -> Self {
        Self {
            device: None,
            bar: 0,
            control: bar0::CONTROL,
            queues: None,
            data: None,
            lists: bar0::PRP_LISTS,
            dram_read: window::DRAM_BUFFER_BYTES,
            dram_write: 0,
            outbound: Outbound::default(),
        }
    }
}

/// How long to wait for what, at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Upper bound of the drive's own time-out (CAP.TO, up to 127.5 s) for reset and start.
    pub ready: Duration,
    /// One admin command.
    pub command: Duration,
    /// Saving of caches at shutdown.
    pub shutdown: Duration,
    /// The streamer's sweep after enabling, and its coming to rest before disabling.
    pub streamer: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            ready: Duration::from_secs(128),
            command: Duration::from_secs(10),
            shutdown: Duration::from_secs(30),
            streamer: Duration::from_secs(1),
        }
    }
}

/// How several drives make one address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayOptions {
    /// How many drives, 1 to 8: as many as there are, in the order of their addresses.
    pub drives: u8,
    /// Bytes of a stripe unit: a power of two, 4 KiB to 1 MiB.
    pub stripe_unit: u64,
    /// The last drive holds the parity of the others: one of them may fail.
    pub parity: bool,
    /// The drive to do without, from the first command on: with parity, what is read of it is
    /// rebuilt from the others.
    pub missing: Option<u8>,
    /// No stripes: each drive has a region of the address space to itself, a stream of its own.
    pub linear: bool,
}

impl ArrayOptions {
    /// Stripes over all drives, without parity.
    pub const fn striped(drives: u8, stripe_unit: u64) -> Self {
        Self {
            drives,
            stripe_unit,
            parity: false,
            missing: None,
            linear: false,
        }
    }
}

/// Bytes of a stripe unit by default: a command of usual size, so that no drive gets more.
pub const STRIPE_UNIT_BYTES: u64 = 64 << 10;

/// What the caller decides. The default takes the only drive and card, and the largest queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The drive; `None` takes the only one there is.
    pub nvme: Option<PciAddress>,
    /// Several drives as one; `None` is the one drive of `nvme`.
    pub array: Option<ArrayOptions>,
    /// The namespace; `None` takes the first active one.
    pub nsid: Option<u32>,
    /// Where the I/O queues lie.
    pub placement: QueuePlacement,
    /// Where the streamer stands, for [`QueuePlacement::Fpga`].
    pub fpga: FpgaPlace,
    /// Identifier of the queue pair, 1 upwards.
    pub queue_id: u16,
    /// Entries of the queue pair, at least 2; drive and streamer may allow less.
    pub queue_entries: u16,
    /// Queue pairs in host memory to ask for besides: see
    /// [`Session::create_queue_pair`](crate::Session::create_queue_pair).
    pub more_queues: u16,
    /// Most bytes of one command, a multiple of 4096; `None` is what drive and streamer allow.
    pub max_transfer: Option<u64>,
    /// Cycles after which the streamer gives a command up; 0 is never.
    pub timeout_cycles: u32,
    /// How often the streamer sends a command again, 0–15.
    pub retry_limit: u8,
    /// Buffered pages worth a write command while the SSD has little to do; `None` leaves the
    /// default.
    pub chunk_pages: Option<u16>,
    /// Outstanding commands from which on the SSD counts as busy; `None` leaves the default.
    pub busy_commands: Option<u8>,
    /// How long to wait for what.
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            nvme: None,
            array: None,
            nsid: None,
            placement: QueuePlacement::default(),
            fpga: FpgaPlace::default(),
            queue_id: 1,
            queue_entries: 1024,
            more_queues: 0,
            max_transfer: None,
            timeout_cycles: TIMEOUT_CYCLES,
            retry_limit: 3,
            chunk_pages: None,
            busy_commands: None,
            limits: Limits::default(),
        }
    }
}
