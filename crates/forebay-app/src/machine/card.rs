// SPDX-License-Identifier: Apache-2.0
//! Our RTL as a PCIe card, whose streams software feeds through its host port.

use std::path::Path;

use forebay_cosim::rtl;
use forebay_pipeline::Memory;
use forebay_rtl::Source;
use forebay_spec::streamer::window;

/// Pages of the host port's staging memory.
const HOST_PAGES: u32 = 64;

/// The card with its payload in this memory: in this checkout, with queues of this depth and so many
/// pages on chip.
#[must_use]
pub fn card_rtl(memory: Memory, root: &Path, depth: u32, pages: u32) -> Source {
    match memory {
        Memory::Onchip => rtl::host(root, depth, pages, HOST_PAGES),
        Memory::Dram => rtl::host_dram(root, depth, HOST_PAGES),
        Memory::Host => rtl::host_hostdram(root, depth, HOST_PAGES),
    }
}

/// Bytes of that card which can be mapped: payload, and the port's staging memory.
#[must_use]
pub fn mapped_bytes(memory: Memory, pages: u32) -> u64 {
    let payload = match memory {
        Memory::Onchip => u64::from(pages) * window::PAGE_BYTES,
        Memory::Dram => window::DRAM_WINDOW_BYTES,
        Memory::Host => 0,
    };
    payload + u64::from(HOST_PAGES) * window::PAGE_BYTES
}
