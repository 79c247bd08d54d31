// SPDX-License-Identifier: Apache-2.0
//! The windows that the SSD reads and writes: queues and payload.

use crate::nvme::{Cqe, Sqe};

/// Bytes in one page of the payload buffer, and in a host page of the SSD.
pub const PAGE_BYTES: u64 = 4096;
/// log2 of [`PAGE_BYTES`].
pub const PAGE_SHIFT: u32 = 12;
/// Bytes of the on-chip payload buffer, unless it is built with more pages or fewer.
pub const BUFFER_BYTES: u64 = 4 << 20;
/// Its pages.
pub const BUFFER_PAGES: u64 = BUFFER_BYTES / PAGE_BYTES;
/// Least pages of an on-chip payload buffer.
pub const BUFFER_PAGES_LEAST: u64 = 16;
/// Most pages of an on-chip payload buffer.
pub const BUFFER_PAGES_MOST: u64 = 4096;
/// Address bit of the data window that selects the PRP-list view.
pub const PRP_VIEW_BIT: u32 = 22;
/// Bytes of the data window: payload and PRP-list view. Its bus address is aligned to this.
pub const DATA_WINDOW_BYTES: u64 = 2 << PRP_VIEW_BIT;
/// log2 of the pages of a unit where the payload is in DRAM: a command holds whole units.
pub const DRAM_UNIT_SHIFT: u32 = 4;
/// Bytes of such a unit.
pub const DRAM_UNIT_BYTES: u64 = PAGE_BYTES << DRAM_UNIT_SHIFT;
/// Bytes of the payload buffer of one direction in DRAM.
pub const DRAM_BUFFER_BYTES: u64 = 64 << 20;
/// Bytes of the data window of a buffer in DRAM: writes below, reads above. Its bus address is
/// aligned to this.
pub const DRAM_WINDOW_BYTES: u64 = 2 * DRAM_BUFFER_BYTES;
/// Buffer segments of host memory for one direction, where the payload is there.
pub const HOST_SEGMENTS: usize = 16;
/// Bytes of such a segment, and the alignment of its bus address.
pub const HOST_SEGMENT_BYTES: u64 = DRAM_BUFFER_BYTES / HOST_SEGMENTS as u64;
/// Bytes of the PRP lists of a buffer in DRAM: one page for each unit of each direction.
pub const PRP_LISTS_BYTES: u64 = (DRAM_WINDOW_BYTES >> (DRAM_UNIT_SHIFT + PAGE_SHIFT)) * PAGE_BYTES;
/// Least offset of the completion queue in the queue window.
pub const CQ_OFFSET_MIN: u64 = 0x1000;
/// Least queue depth of the streamer.
pub const QUEUE_DEPTH_LEAST: u64 = 2;
/// Greatest queue depth of the streamer, and most entries for all drives together.
pub const QUEUE_DEPTH_MOST: u64 = 1024;
/// Most drives of the streamer.
pub const DRIVES_MOST: u64 = 8;

/// Bytes of the data window of an on-chip buffer of this number of pages.
pub const fn data_window_bytes(pages: u64) -> u64 {
    if pages > BUFFER_PAGES {
        2 * pages * PAGE_BYTES
    } else {
        DATA_WINDOW_BYTES
    }
}

/// Offset of the completion queue in the queue window of a streamer built for `depth` entries.
pub const fn cq_offset(depth: u64) -> u64 {
    let queue = depth * Sqe::BYTES as u64;
    if queue > CQ_OFFSET_MIN {
        queue.next_power_of_two()
    } else {
        CQ_OFFSET_MIN
    }
}

/// Bytes of one drive's queues in the queue window of a streamer built for `depth` entries.
pub const fn queue_pair_bytes(depth: u64) -> u64 {
    2 * cq_offset(depth)
}

/// Bytes of the queue window of a streamer built for `depth` entries and `drives` drives.
pub const fn queue_window_bytes(depth: u64, drives: u64) -> u64 {
    queue_pair_bytes(depth) * drives.next_power_of_two()
}

/// Offset of submission queue entry `index` in the queue window.
pub const fn sqe_offset(index: u64) -> u64 {
    index * Sqe::BYTES as u64
}

/// Offset of completion queue entry `index` in the queue window.
pub const fn cqe_offset(depth: u64, index: u64) -> u64 {
    cq_offset(depth) + index * Cqe::BYTES as u64
}

/// What reading eight bytes at `offset` of the PRP-list view yields.
///
/// Entry *n* of the list of page *p* is the bus address of page *p + n*, wrapping in the buffer.
pub const fn prp_view_entry(window_address: u64, offset: u64) -> u64 {
    let page = (offset >> PAGE_SHIFT) % BUFFER_PAGES;
    let entry = (offset % PAGE_BYTES) / 8;
    window_address + ((page + entry) % BUFFER_PAGES) * PAGE_BYTES
}

/// What reading eight bytes at `offset` of the PRP lists yields, where the buffer is in DRAM.
///
/// Entry *n* of the list of a unit is the bus address of page *n* + 1 of the unit, carried on into
/// the units after it and wrapping in the window.
pub const fn prp_list_entry(window_address: u64, offset: u64) -> u64 {
    let page = (offset >> PAGE_SHIFT) << DRAM_UNIT_SHIFT;
    let entry = (offset % PAGE_BYTES) / 8;
    window_address + (page + entry + 1) * PAGE_BYTES % DRAM_WINDOW_BYTES
}

const _: () = {
    assert!(PRP_LISTS_BYTES == 2 * BUFFER_PAGES * PAGE_BYTES);
    assert!(prp_list_entry(0, 2 * PAGE_BYTES + 8) == (2 * 16 + 2) * PAGE_BYTES);
    assert!(DATA_WINDOW_BYTES == 2 * BUFFER_BYTES);
    assert!(cq_offset(2) == 0x1000);
    assert!(cq_offset(64) == 0x1000);
    assert!(cq_offset(1024) == 0x10000);
    assert!(prp_view_entry(0, (1 << PRP_VIEW_BIT) | (1023 << PAGE_SHIFT) | 8) == 0);
};
