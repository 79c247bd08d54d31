// SPDX-License-Identifier: Apache-2.0
//! Where the windows stand in BAR 0 of the FPGA card: SNAcc's map under TaPaSCo.

use super::window;
use crate::recorder::elements;

/// Bytes of BAR 0.
pub const BYTES: u64 = 64 << 20;
/// Bytes of BAR 0 where the payload is in on-board DRAM.
pub const BYTES_DRAM: u64 = 256 << 20;
/// Offset of the queue window, up to a depth of 512, or of 64 for eight drives.
pub const QUEUES: u64 = 0x6_0000;
/// Offset of the control registers.
pub const CONTROL: u64 = 0x7_0000;
/// Bytes of the control registers.
pub const CONTROL_BYTES: u64 = 0x1000;
/// Offset of the queue window of deeper queues, which would run into the control registers.
pub const QUEUES_DEEP: u64 = 0x8_0000;
/// Offset of the host port's control registers.
pub const HOST_CONTROL: u64 = 0xb_0000;
/// Bytes of the host port's control registers.
pub const HOST_CONTROL_BYTES: u64 = 0x1000;
/// Offset of the network side's control registers.
pub const NET_CONTROL: u64 = 0xc_0000;
/// Offset of the recorder's control registers.
pub const RECORDER_CONTROL: u64 = 0xc_1000;
/// Bytes of the control registers of network side and recorder, each.
pub const NET_CONTROL_BYTES: u64 = 0x1000;
/// Offset of the registers of processing elements, [`elements::BYTES`] of them.
pub const ELEMENTS: u64 = 0xd_0000;
/// Offset of the MSI-X table, where the PCIe bridge has it in BAR 0: ours in simulation has.
pub const MSIX_TABLE: u64 = 0xe_0000;
/// Offset of the pending bits of MSI-X.
pub const MSIX_PENDING: u64 = 0xe_0800;
/// Offset of the admin window of the bring-up without a CPU.
pub const ADMIN: u64 = 0xf_0000;
/// Offset of the host port's staging window.
pub const HOST: u64 = 0x40_0000;
/// Bytes of the host port's staging window, for the most pages that it can have.
pub const HOST_BYTES: u64 = window::BUFFER_BYTES;
/// Offset of the data window.
pub const DATA: u64 = 0x100_0000;

/// Offset of the PRP lists, where the payload is in on-board DRAM.
pub const PRP_LISTS: u64 = 0x80_0000;
/// Offset of the data window, where the payload is in on-board DRAM.
pub const DATA_DRAM: u64 = 0x800_0000;

/// Offset of a data window of `window_bytes` bytes, a multiple of them.
pub const fn data(window_bytes: u64) -> u64 {
    if window_bytes > DATA {
        window_bytes
    } else {
        DATA
    }
}

/// Offset of the queue window of a streamer built for `depth` entries and `drives` drives.
pub const fn queues(depth: u64, drives: u64) -> u64 {
    if window::queue_window_bytes(depth, drives) <= CONTROL - QUEUES {
        QUEUES
    } else {
        QUEUES_DEEP
    }
}

const _: () = {
    assert!(DATA.is_multiple_of(window::DATA_WINDOW_BYTES));
    assert!(DATA + window::DATA_WINDOW_BYTES <= BYTES);
    assert!(2 * window::data_window_bytes(window::BUFFER_PAGES_MOST) <= BYTES);
    assert!(data(window::DATA_WINDOW_BYTES) == DATA);
    assert!(DATA_DRAM.is_multiple_of(window::DRAM_WINDOW_BYTES));
    assert!(DATA_DRAM + window::DRAM_WINDOW_BYTES <= BYTES_DRAM);
    assert!(HOST + HOST_BYTES <= PRP_LISTS);
    assert!(PRP_LISTS.is_multiple_of(window::PRP_LISTS_BYTES));
    assert!(PRP_LISTS + window::PRP_LISTS_BYTES <= DATA);
    assert!(HOST.is_multiple_of(HOST_BYTES) && HOST + HOST_BYTES <= DATA);
    assert!(HOST_CONTROL + HOST_CONTROL_BYTES <= NET_CONTROL);
    assert!(NET_CONTROL + NET_CONTROL_BYTES <= RECORDER_CONTROL);
    assert!(RECORDER_CONTROL + NET_CONTROL_BYTES <= ELEMENTS);
    assert!(ELEMENTS.is_multiple_of(elements::BYTES) && ELEMENTS + elements::BYTES <= HOST);
    assert!(MSIX_PENDING < ADMIN && ADMIN + crate::boot::admin::WINDOW_BYTES <= HOST);
    assert!(QUEUES_DEEP + window::queue_window_bytes(1024, 1) <= HOST_CONTROL);
    assert!(MSIX_PENDING < ADMIN && ADMIN + crate::boot::admin::WINDOW_BYTES <= HOST);
    assert!(QUEUES_DEEP + window::queue_window_bytes(128, 8) <= HOST_CONTROL);
    assert!(queues(512, 1) == QUEUES && queues(1024, 1) == QUEUES_DEEP);
    assert!(queues(64, 8) == QUEUES && queues(128, 8) == QUEUES_DEEP);
};
