// SPDX-License-Identifier: Apache-2.0
//! Configuration space of a PCI Express function: type 0 header, 64-bit memory BARs, capabilities.

use forebay_spec::pci::{self, bar, capability, command, msix, offset, status};
use std::ops::Range;

use crate::FabricProfile;

/// Dwords that are modelled; the extended space reads as zeros.
const DWORDS: usize = 64;
/// Where the capabilities stand.
const EXPRESS: u16 = 0x40;
const MSI_X: u16 = 0x80;

/// What a function is.
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    /// Vendor.
    pub vendor: u16,
    /// Device.
    pub device: u16,
    /// Class code, 24 bits.
    pub class: u32,
    /// Revision.
    pub revision: u8,
}

/// Where the MSI-X table of a function stands.
#[derive(Clone, Copy, Debug)]
pub struct MsixTable {
    /// Vectors, 1–2048.
    pub vectors: u16,
    /// Offset of the table in BAR 0, a multiple of 8.
    pub table: u32,
    /// Offset of the pending bits in BAR 0, a multiple of 8.
    pub pending: u32,
}

/// Configuration space with one 64-bit memory BAR (number 0).
#[derive(Clone, Debug)]
pub struct ConfigSpace {
    words: [u32; DWORDS],
    bar_bytes: u64,
    msix: bool,
}

impl ConfigSpace {
    /// A function whose BAR 0 has `bar_bytes` (rounded up to a power of two, at least 4 KiB).
    pub fn new(identity: Identity, bar_bytes: u64, msix_table: Option<MsixTable>) -> Self {
        let mut space = Self {
            words: [0; DWORDS],
            bar_bytes: bar_bytes.next_power_of_two().max(4096),
            msix: msix_table.is_some(),
        };
        let two = |low: u16, high: u16| low as u32 | (high as u32) << 16;
        space.set(offset::VENDOR_ID, two(identity.vendor, identity.device));
        space.set(offset::COMMAND, two(0, status::CAPABILITY_LIST));
        space.set(
            offset::CLASS_REVISION,
            identity.class << 8 | identity.revision as u32,
        );
        space.set(offset::BAR0, bar::MEMORY_64);
        space.set(offset::SUBSYSTEM, two(identity.vendor, identity.device));
        space.set(offset::CAPABILITIES, EXPRESS as u32);
        let next = if space.msix { MSI_X } else { 0 };
        // Version 2, endpoint.
        space.set(
            EXPRESS,
            capability::PCI_EXPRESS as u32 | (next as u32) << 8 | 2 << 16,
        );
        if let Some(table) = msix_table {
            let control = table.vectors.saturating_sub(1) & 0x7ff;
            space.set(MSI_X, capability::MSI_X as u32 | (control as u32) << 16);
            space.set(MSI_X + 4, table.table);
            space.set(MSI_X + 8, table.pending);
        }
        space
    }

    /// Lets the PCI Express capability (7.5.3.3, 7.5.3.4) say which payloads the fabric carries. The
    /// sizes in use are the ones supported, as firmware has set them for the whole fabric: no driver
    /// changes them, and writes to the register are ignored.
    pub fn set_payload(&mut self, fabric: &FabricProfile) {
        let code = |bytes: u32| bytes.clamp(128, 4096).ilog2() - 7;
        let payload = code(fabric.max_payload);
        let read_request = code(fabric.max_read_request);
        self.set(EXPRESS + 4, payload);
        self.set(EXPRESS + 8, payload << 5 | read_request << 12);
    }

    /// Reads the dword at an offset; bits 1:0 are ignored.
    pub fn read(&self, offset: u16) -> u32 {
        self.words.get(offset as usize / 4).copied().unwrap_or(0)
    }

    /// Writes the dword at an offset. Read-only fields keep their value.
    pub fn write(&mut self, offset: u16, value: u32) {
        let offset = offset & !3;
        let Some(word) = self.words.get_mut(offset as usize / 4) else {
            return;
        };
        match offset {
            pci::offset::COMMAND => {
                let writable =
                    command::MEMORY_SPACE | command::BUS_MASTER | command::INTERRUPT_DISABLE;
                *word = *word & !(writable as u32) | value & writable as u32;
            }
            // The bits below the size read as zeros: this is how software measures a BAR.
            pci::offset::BAR0 => {
                *word = value & !(self.bar_bytes - 1) as u32 & !bar::FLAGS | bar::MEMORY_64;
            }
            0x14 => *word = value & (!(self.bar_bytes - 1) >> 32) as u32,
            pci::offset::INTERRUPT => *word = *word & !0xff | value & 0xff,
            MSI_X if self.msix => {
                let writable = (msix::ENABLE | msix::FUNCTION_MASK) as u32;
                *word = *word & !(writable << 16) | value & writable << 16;
            }
            _ => {}
        }
    }

    /// Bytes of BAR 0.
    pub const fn bar_bytes(&self) -> u64 {
        self.bar_bytes
    }

    /// Bus addresses of BAR 0; `None` until it is placed and memory accesses are enabled.
    pub fn bar_range(&self) -> Option<Range<u64>> {
        let base = self.bar_base();
        let enabled = self.command() & command::MEMORY_SPACE != 0;
        (enabled && base != 0).then(|| base..base.saturating_add(self.bar_bytes))
    }

    /// The function may send requests.
    pub fn bus_master(&self) -> bool {
        self.command() & command::BUS_MASTER != 0
    }

    /// Interrupts are MSI-X messages, sent now or, while the function is masked, later.
    pub fn msix_on(&self) -> bool {
        self.msix && self.msix_control() & msix::ENABLE != 0
    }

    /// MSI-X messages are sent.
    pub fn msix_enabled(&self) -> bool {
        self.msix_on() && self.msix_control() & msix::FUNCTION_MASK == 0
    }

    /// Reset of the function: nothing is enabled or placed. What it is stays.
    pub fn reset(&mut self) {
        for at in [offset::COMMAND, offset::BAR0, offset::BAR0 + 4, MSI_X] {
            self.write(at, 0);
        }
        self.write(offset::INTERRUPT, 0);
    }

    fn msix_control(&self) -> u16 {
        (self.read(MSI_X) >> 16) as u16
    }

    fn command(&self) -> u16 {
        self.read(offset::COMMAND) as u16
    }

    fn bar_base(&self) -> u64 {
        (self.read(offset::BAR0) & !bar::FLAGS) as u64 | (self.read(offset::BAR0 + 4) as u64) << 32
    }

    fn set(&mut self, offset: u16, value: u32) {
        self.words[offset as usize / 4] = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space() -> ConfigSpace {
        let identity = Identity {
            vendor: 0x1234,
            device: 0x5678,
            class: pci::CLASS_NVME,
            revision: 1,
        };
        let table = MsixTable {
            vectors: 8,
            table: 0x2000,
            pending: 0x3000,
        };
        ConfigSpace::new(identity, 0x3100, Some(table))
    }

    #[test]
    fn a_bar_is_measured_and_placed() {
        let mut space = space();
        space.write(offset::BAR0, u32::MAX);
        space.write(offset::BAR0 + 4, u32::MAX);
        assert_eq!(space.read(offset::BAR0), 0xffff_c004);
        assert_eq!(space.read(offset::BAR0 + 4), u32::MAX);
        space.write(offset::BAR0, 0xe000_0000);
        space.write(offset::BAR0 + 4, 2);
        assert_eq!(space.bar_range(), None);
        space.write(offset::COMMAND, command::MEMORY_SPACE as u32);
        assert_eq!(space.bar_range(), Some(0x2_e000_0000..0x2_e000_4000));
        assert!(!space.bus_master());
    }

    #[test]
    fn capabilities_are_chained() {
        let mut space = space();
        let first = space.read(offset::CAPABILITIES) as u16;
        assert_eq!(space.read(first) as u8, capability::PCI_EXPRESS);
        let second = (space.read(first) >> 8) as u8 as u16;
        assert_eq!(space.read(second) as u8, capability::MSI_X);
        assert_eq!(space.read(second) >> 16 & 0x7ff, 7);
        assert!(!space.msix_enabled());
        space.write(second, 0x8000_0000);
        assert!(space.msix_enabled());
        let mut fabric = crate::Profile::builtin("ideal").unwrap().fabric;
        (fabric.max_payload, fabric.max_read_request) = (256, 512);
        space.set_payload(&fabric);
        space.write(first + 8, 5 << 5);
        assert_eq!(
            (space.read(first + 4), space.read(first + 8)),
            (1, 1 << 5 | 2 << 12)
        );
        // While the function is masked, messages wait.
        space.write(second, 0xc000_0000);
        assert!(space.msix_on() && !space.msix_enabled());
        space.reset();
        assert!(!space.msix_on() && space.read(second) as u8 == capability::MSI_X);
        // Read-only words do not move.
        space.write(0, 0);
        assert_eq!(space.read(0), 0x5678_1234);
    }
}
