// SPDX-License-Identifier: Apache-2.0
//! Drives below a root port that has no CPU: what the program of `rtl/boot` brings up.
//!
//! [`Hierarchy`] is what is below the port; the RTL takes another [`Downstream`], too. [`Modelled`] is the port for the interpreted program;
//! [`Boot`] is the RTL, which has the program in its ROM. [`Recorder`] has a streamer and a recorder of
//! a plain stream beside it.

mod downstream;
mod hierarchy;
mod modelled;
mod recorder;
mod rtl;
mod stream;
mod target;
mod uart;

pub use downstream::{Downstream, Reply};
pub use hierarchy::{Hierarchy, RootConfig};
pub use modelled::Modelled;
pub use recorder::{Counters, Gap, RECORDER, Recorder, RecorderConfig};
pub use rtl::{Boot, Root, Status, source};
pub use stream::{BEAT, Feed, Received, Run, Runs};

use forebay_seq::boot::Settings;
use forebay_spec::boot::admin;
use forebay_spec::streamer::{bar0, window};

/// Bus address of the FPGA's windows.
pub const INBOUND: u64 = 0x20_0000_0000;
/// Bus addresses for windows of bridges and BARs.
const ROOM: std::ops::Range<u64> = 0xe000_0000..0xf000_0000;

/// What the program is told of a place for eight drives with I/O queues of this many entries.
#[must_use]
pub fn settings(queue_entries: u16) -> Settings {
    let (drives, entries) = (window::DRIVES_MOST as u8, queue_entries.into());
    let queues = window::queue_window_bytes(entries, 1);
    Settings {
        admin_base: INBOUND + bar0::ADMIN,
        queue_base: INBOUND + bar0::queues(entries, drives.into()),
        queue_step: queues,
        data_base: INBOUND + bar0::DATA,
        room_first: ROOM.start,
        room_end: ROOM.end,
        root_bar: 0,
        drives_most: drives,
        queue_entries,
        reset_us: 100_000,
        together: false,
        watch: false,
    }
}

/// The offset in the admin window of a bus address.
fn in_window(address: u64, bytes: u64) -> Option<u16> {
    let offset = address.checked_sub(INBOUND + bar0::ADMIN)?;
    let end = offset.checked_add(bytes)?;
    (end <= admin::WINDOW_BYTES).then_some(offset as u16)
}
