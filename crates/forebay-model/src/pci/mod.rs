// SPDX-License-Identifier: Apache-2.0
//! PCI Express as software finds it: configuration space of functions and bridges, and the tree that
//! they make.

mod bridge;
mod registers;
mod tree;

pub use bridge::Bridge;
pub use tree::{AccessError, Below, Endpoint, Port, Switch, Tree};

use forebay_spec::pci::{PortType, bar, command, header, msix, offset};
use std::ops::Range;

use crate::FabricProfile;
use registers::{MSI_X, Registers};

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

/// A base address register. Sizes are rounded up to a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bar {
    /// None: the register reads as zeros.
    Absent,
    /// I/O space of this number of bytes, 4 to 2^31.
    Io(u32),
    /// Memory of this number of bytes, 128 to 2^31, with a 32-bit address.
    Memory32(u32),
    /// Memory of this number of bytes, 128 to 2^63, with a 64-bit address: it takes two registers.
    Memory64(u64),
}

impl Bar {
    /// The bits that are fixed, and those that hold the address.
    const fn bits(self) -> (u32, u64) {
        let (flags, bytes, least, most) = match self {
            Self::Absent => return (0, 0),
            Self::Io(bytes) => (bar::IO, bytes as u64, 4, 1 << 31),
            Self::Memory32(bytes) => (0, bytes as u64, 128, 1 << 31),
            Self::Memory64(bytes) => (bar::MEMORY_64, bytes, 128, 1 << 63),
        };
        let bytes = match bytes.checked_next_power_of_two() {
            Some(bytes) if bytes < least => least,
            Some(bytes) if bytes <= most => bytes,
            _ => most,
        };
        (flags, !(bytes - 1))
    }
}

/// A PCI function that is no bridge, as a [`Tree`] sees it.
pub trait Function {
    /// Reads the dword at an offset of configuration space.
    fn config_read(&self, offset: u16) -> u32;
    /// Writes the dword at an offset of configuration space.
    fn config_write(&mut self, offset: u16, value: u32);
    /// Bus addresses of its memory BARs that are placed; none while memory accesses are disabled.
    fn memory(&self) -> Vec<Range<u64>>;
    /// The device was reset: nothing is enabled or placed.
    fn reset(&mut self);
}

impl<F: Function + ?Sized> Function for Box<F> {
    fn config_read(&self, offset: u16) -> u32 {
        (**self).config_read(offset)
    }

    fn config_write(&mut self, offset: u16, value: u32) {
        (**self).config_write(offset, value);
    }

    fn memory(&self) -> Vec<Range<u64>> {
        (**self).memory()
    }

    fn reset(&mut self) {
        (**self).reset();
    }
}

/// Configuration space of a function: type 0 header, BARs, capabilities.
#[derive(Clone, Debug)]
pub struct ConfigSpace {
    registers: Registers,
    msix: bool,
}

impl ConfigSpace {
    /// A function with one 64-bit memory BAR, number 0, of `bar_bytes` (rounded up to a power of two,
    /// at least 4 KiB).
    pub fn new(identity: Identity, bar_bytes: u64, msix_table: Option<MsixTable>) -> Self {
        let bar = Bar::Memory64(bar_bytes.max(4096));
        Self::with_bars(identity, &[bar], msix_table)
    }

    /// A function with these BARs, from register 0 on. Those that find no register are left out.
    pub fn with_bars(identity: Identity, bars: &[Bar], msix_table: Option<MsixTable>) -> Self {
        let mut registers = Registers::new(identity, header::TYPE_0, PortType::Endpoint);
        registers.define_bars(bars, bar::COUNT);
        let subsystem = registers.read(offset::VENDOR_ID);
        registers.define(offset::SUBSYSTEM, subsystem, 0);
        if let Some(table) = msix_table {
            registers.define_msix(table);
        }
        Self {
            registers,
            msix: msix_table.is_some(),
        }
    }

    /// The same function, which says that its device may have more of them.
    #[must_use]
    pub fn multi_function(mut self) -> Self {
        self.registers.define_multi_function();
        self
    }

    /// The same function with a fault: its list of capabilities goes in a circle, in which there is
    /// none that a driver looks for.
    #[must_use]
    pub fn circular_capabilities(mut self) -> Self {
        self.registers.define_circle();
        self
    }

    /// Lets the PCI Express capability (7.5.3.3, 7.5.3.4) say which payloads the fabric carries. The
    /// sizes in use are the ones supported, as firmware has set them for the whole fabric: no driver
    /// changes them, and writes to the register are ignored.
    pub fn set_payload(&mut self, fabric: &FabricProfile) {
        self.registers
            .fix_payload(fabric.max_payload, fabric.max_read_request);
    }

    /// Supports payload of up to this number of bytes. Firmware has set nothing: 128 bytes are in use,
    /// and read requests of 512, until software writes other sizes.
    pub fn offer_payload(&mut self, bytes: u32) {
        self.registers.offer_payload(bytes);
    }

    /// Greatest payload to send, in bytes.
    pub fn payload(&self) -> u32 {
        self.registers.payload()
    }

    /// Greatest read request, in bytes.
    pub fn read_request(&self) -> u32 {
        self.registers.read_request()
    }

    /// Reads the dword at an offset; bits 1:0 are ignored.
    pub fn read(&self, offset: u16) -> u32 {
        self.registers.read(offset)
    }

    /// Writes the dword at an offset. Read-only fields keep their value.
    pub fn write(&mut self, offset: u16, value: u32) {
        self.registers.write(offset, value);
    }

    /// Bytes of BAR 0; 0 where it is no memory.
    pub const fn bar_bytes(&self) -> u64 {
        self.registers.bar_bytes(offset::BAR0)
    }

    /// Bus addresses of BAR 0; `None` until it is placed and memory accesses are enabled.
    pub fn bar_range(&self) -> Option<Range<u64>> {
        self.registers.bar_range(offset::BAR0)
    }

    /// Bus addresses of all memory BARs that are placed; none while memory accesses are disabled.
    pub fn memory(&self) -> Vec<Range<u64>> {
        self.registers.bar_ranges()
    }

    /// The function may send requests.
    pub fn bus_master(&self) -> bool {
        self.registers.is_enabled(command::BUS_MASTER)
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
        self.registers.reset();
    }

    fn msix_control(&self) -> u16 {
        (self.read(MSI_X) >> 16) as u16
    }
}

impl Function for ConfigSpace {
    fn config_read(&self, offset: u16) -> u32 {
        self.read(offset)
    }

    fn config_write(&mut self, offset: u16, value: u32) {
        self.write(offset, value);
    }

    fn memory(&self) -> Vec<Range<u64>> {
        self.memory()
    }

    fn reset(&mut self) {
        self.reset();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_spec::pci::{self, capability};

    fn identity() -> Identity {
        Identity {
            vendor: 0x1234,
            device: 0x5678,
            class: pci::CLASS_NVME,
            revision: 1,
        }
    }

    fn space() -> ConfigSpace {
        let table = MsixTable {
            vectors: 8,
            table: 0x2000,
            pending: 0x3000,
        };
        ConfigSpace::new(identity(), 0x3100, Some(table))
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

    #[test]
    fn bars_of_all_kinds() {
        let bars = [
            Bar::Absent,
            Bar::Io(64),
            Bar::Memory64(8 << 30),
            Bar::Memory32(0x3_0000),
            // Only one register is left.
            Bar::Memory64(4096),
        ];
        let mut space = ConfigSpace::with_bars(identity(), &bars, None);
        let masks = [0, 0xffff_ffc1, 4, 0xffff_fffe, 0xfffc_0000, 0];
        let at = |number: u16| offset::BAR0 + 4 * number;
        for (number, mask) in (0..).zip(masks) {
            space.write(at(number), u32::MAX);
            assert_eq!(space.read(at(number)), mask, "BAR {number}");
        }
        assert_eq!(space.bar_bytes(), 0);
        space.write(at(1), 0x1000);
        space.write(at(2), 0);
        space.write(at(3), 0x22);
        space.write(at(4), 0x9004_0000);
        assert!(space.memory().is_empty());
        let enables = command::MEMORY_SPACE | command::IO_SPACE;
        space.write(offset::COMMAND, enables as u32);
        assert_eq!(space.read(offset::COMMAND) as u16, enables);
        let large = 0x22_0000_0000..0x24_0000_0000;
        assert_eq!(space.memory(), [large, 0x9004_0000..0x9008_0000]);
        assert_eq!(space.bar_range(), None);
        space.reset();
        assert_eq!((space.read(at(1)), space.read(at(4))), (1, 0));
        assert!(space.memory().is_empty());
    }

    #[test]
    fn sizes_of_bars_are_rounded_and_bounded() {
        let bytes = |bar| {
            let space = ConfigSpace::with_bars(identity(), &[bar], None);
            space.bar_bytes()
        };
        assert_eq!(bytes(Bar::Memory32(0)), 128);
        assert_eq!(bytes(Bar::Memory32(u32::MAX)), 1 << 31);
        assert_eq!(bytes(Bar::Memory64(129)), 256);
        assert_eq!(bytes(Bar::Memory64(u64::MAX)), 1 << 63);
        assert_eq!(bytes(Bar::Io(u32::MAX)), 0);
        assert_eq!(bytes(Bar::Absent), 0);
    }

    #[test]
    fn payload_that_is_offered_is_set_by_software() {
        let mut space = space();
        space.offer_payload(256);
        let (able, control) = (0x44, 0x48);
        assert_eq!(space.read(able), 1);
        assert_eq!((space.payload(), space.read_request()), (128, 512));
        space.write(control, u32::MAX);
        assert_eq!(space.read(control), 0x70e0);
        space.write(control, 1 << 5 | 1 << 12);
        assert_eq!((space.payload(), space.read_request()), (256, 256));
        space.reset();
        assert_eq!((space.payload(), space.read_request()), (128, 512));
    }

    #[test]
    fn capabilities_in_a_circle_never_end() {
        let space = space().multi_function().circular_capabilities();
        assert_eq!(space.read(offset::HEADER_TYPE), 0x80_0000);
        let mut at = space.read(offset::CAPABILITIES) as u16;
        for _ in 0..1000 {
            assert!(at >= 0x40 && at & 3 == 0);
            let head = space.read(at);
            assert_eq!(head as u8, capability::POWER_MANAGEMENT);
            at = (head >> 8) as u8 as u16;
        }
    }
}
