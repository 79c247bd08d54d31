// SPDX-License-Identifier: Apache-2.0
//! Our RTL as a PCIe card, whose streams software feeds through its host port.

use std::path::Path;

use forebay_cosim::rtl;
use forebay_pipeline::Memory;
use forebay_rtl::Source;

/// Pages of the host port's staging memory.
const HOST_PAGES: u32 = 64;

/// The card with its payload in this memory: in this checkout, with queues of this depth and `pages`
/// pages on chip.
#[must_use]
pub fn card_rtl(memory: Memory, root: &Path, depth: u32, pages: u32) -> Source {
    match memory {
        Memory::Onchip => rtl::host(root, depth, pages, HOST_PAGES),
        Memory::Dram => rtl::host_dram(root, depth, HOST_PAGES),
        Memory::Host => rtl::host_hostdram(root, depth, HOST_PAGES),
    }
}
