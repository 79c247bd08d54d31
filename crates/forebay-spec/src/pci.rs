// SPDX-License-Identifier: Apache-2.0
//! PCI configuration space: *PCI Express Base 5.0*, chapter 7; headers of types 0 and 1.

use crate::numbered::numbered;

/// Bytes of the configuration space of a PCI Express function.
pub const CONFIG_BYTES: u16 = 4096;

/// Where configuration space is in memory (ECAM, 7.2.2).
pub mod ecam {
    /// Bytes for all buses.
    pub const BYTES: u32 = 1 << 28;
    /// Lowest bit of the bus number, 8 bits.
    pub const BUS_SHIFT: u32 = 20;
    /// Lowest bit of the device number, 5 bits.
    pub const DEVICE_SHIFT: u32 = 15;
    /// Lowest bit of the function number, 3 bits.
    pub const FUNCTION_SHIFT: u32 = 12;
}

/// Offsets of the type 0 header's fields (7.5.1).
pub mod offset {
    /// Vendor identifier, 16 bits.
    pub const VENDOR_ID: u16 = 0x00;
    /// Device identifier, 16 bits.
    pub const DEVICE_ID: u16 = 0x02;
    /// Command register, 16 bits.
    pub const COMMAND: u16 = 0x04;
    /// Status register, 16 bits.
    pub const STATUS: u16 = 0x06;
    /// Revision in bits 7:0, class code in bits 31:8.
    pub const CLASS_REVISION: u16 = 0x08;
    /// Cache line, latency timer, header type, BIST.
    pub const HEADER_TYPE: u16 = 0x0c;
    /// First base address register.
    pub const BAR0: u16 = 0x10;
    /// Subsystem vendor, then subsystem identifier.
    pub const SUBSYSTEM: u16 = 0x2c;
    /// Offset of the first capability, 8 bits.
    pub const CAPABILITIES: u16 = 0x34;
    /// Interrupt line and pin.
    pub const INTERRUPT: u16 = 0x3c;
}

/// The header type (7.5.1.1.9): bits 23:16 of the register at [`offset::HEADER_TYPE`].
pub mod header {
    /// Bits that say which header it is.
    pub const LAYOUT: u8 = 0x7f;
    /// A function that is no bridge.
    pub const TYPE_0: u8 = 0;
    /// A bridge.
    pub const TYPE_1: u8 = 1;
    /// The device may have functions 1 to 7.
    pub const MULTI_FUNCTION: u8 = 1 << 7;
}

/// The type 1 header where it is not as the type 0 header (7.5.1.3).
pub mod bridge {
    /// Base address registers.
    pub const BARS: u8 = 2;
    /// Primary, secondary and subordinate bus number, from bit 0 on, 8 bits each (7.5.1.3.2).
    pub const BUS_NUMBERS: u16 = 0x18;
    /// Memory window: base and limit, 16 bits each, of which the upper 12 are address bits 31:20
    /// (7.5.1.3.8).
    pub const MEMORY: u16 = 0x20;
    /// Prefetchable memory window, in the same form (7.5.1.3.9).
    pub const PREFETCHABLE: u16 = 0x24;
    /// Address bits 63:32 of its base (7.5.1.3.10).
    pub const PREFETCHABLE_BASE_UPPER: u16 = 0x28;
    /// Address bits 63:32 of its limit (7.5.1.3.10).
    pub const PREFETCHABLE_LIMIT_UPPER: u16 = 0x2c;
    /// In base and limit: the window has 64-bit addresses.
    pub const WINDOW_64: u16 = 1;
    /// Windows begin and end on multiples of this number of bytes.
    pub const WINDOW_GRANULE: u64 = 1 << 20;
}

/// Bits of the command register (7.5.1.1.3).
pub mod command {
    /// The function answers I/O accesses to its BARs.
    pub const IO_SPACE: u16 = 1 << 0;
    /// The function answers memory accesses to its BARs.
    pub const MEMORY_SPACE: u16 = 1 << 1;
    /// The function may send requests of its own.
    pub const BUS_MASTER: u16 = 1 << 2;
    /// Pin interrupts are off.
    pub const INTERRUPT_DISABLE: u16 = 1 << 10;
}

/// Bits of the status register (7.5.1.1.4).
pub mod status {
    /// A list of capabilities exists.
    pub const CAPABILITY_LIST: u16 = 1 << 4;
}

/// Bits of a base address register (7.5.1.2.1).
pub mod bar {
    /// Base address registers of a type 0 header.
    pub const COUNT: u8 = 6;
    /// The register is one of I/O space.
    pub const IO: u32 = 1;
    /// The type bits that mean a 64-bit address in this and the next register.
    pub const MEMORY_64: u32 = 0b100;
    /// Bits that hold no address.
    pub const FLAGS: u32 = 0xf;
}

/// Capability identifiers.
pub mod capability {
    /// Power management.
    pub const POWER_MANAGEMENT: u8 = 0x01;
    /// PCI Express.
    pub const PCI_EXPRESS: u8 = 0x10;
    /// MSI-X.
    pub const MSI_X: u8 = 0x11;
}

/// The PCI Express capability (7.5.3): offsets in it, and their bits.
pub mod express {
    /// Capability identifier and next offset; then the PCI Express Capabilities register (7.5.3.2).
    pub const HEAD: u16 = 0x00;
    /// Version of the capability, from bit 16 of the head on.
    pub const VERSION_SHIFT: u32 = 16;
    /// [`PortType`](super::PortType), 4 bits, from this bit of the head on.
    pub const PORT_TYPE_SHIFT: u32 = 20;
    /// Device Capabilities (7.5.3.3).
    pub const DEVICE_CAPABILITIES: u16 = 0x04;
    /// Greatest payload that is supported, log2 of its bytes minus 7.
    pub const PAYLOAD_SUPPORTED: u32 = 0x7;
    /// Device Control, 16 bits, then Device Status (7.5.3.4).
    pub const DEVICE_CONTROL: u16 = 0x08;
    /// Lowest bit of the greatest payload to send, log2 of its bytes minus 7, 3 bits.
    pub const PAYLOAD_SHIFT: u32 = 5;
    /// Lowest bit of the greatest read request, log2 of its bytes minus 7, 3 bits.
    pub const READ_REQUEST_SHIFT: u32 = 12;
    /// Link Capabilities (7.5.3.6).
    pub const LINK_CAPABILITIES: u16 = 0x0c;
    /// In Link Capabilities: [`LINK_ACTIVE`] is told.
    pub const LINK_ACTIVE_REPORTED: u32 = 1 << 20;
    /// Link Control, 16 bits (7.5.3.7), then Link Status (7.5.3.8).
    pub const LINK_CONTROL: u16 = 0x10;
    /// In Link Capabilities and Link Status: the generation of the link's speed.
    pub const LINK_SPEED: u16 = 0xf;
    /// In Link Capabilities and Link Status: lowest bit of the number of lanes, 6 bits.
    pub const LINK_WIDTH_SHIFT: u32 = 4;
    /// In Link Status: the data link layer is active.
    pub const LINK_ACTIVE: u16 = 1 << 13;
}

/// The MSI-X capability and table (7.7.2).
pub mod msix {
    /// Enable bit of the message control word (upper half of the capability's first register).
    pub const ENABLE: u16 = 1 << 15;
    /// Mask of the whole function in the message control word.
    pub const FUNCTION_MASK: u16 = 1 << 14;
    /// Bytes of a table entry: address, data, vector control.
    pub const ENTRY_BYTES: u64 = 16;
    /// Mask bit of the vector control word.
    pub const VECTOR_MASK: u32 = 1;
}

numbered! {
    /// Device/Port Type of the PCI Express capability (7.5.3.2), as far as it is known here.
    PortType: u8 {
        /// PCI Express endpoint.
        Endpoint = 0 "endpoint";
        /// Root port of a root complex.
        RootPort = 4 "root port";
        /// Upstream port of a switch.
        UpstreamPort = 5 "upstream port";
        /// Downstream port of a switch.
        DownstreamPort = 6 "downstream port";
    }
}

/// Class code of an NVM Express controller: mass storage, non-volatile memory, NVMe I/O.
pub const CLASS_NVME: u32 = 0x01_08_02;
/// Class code of an Ethernet controller.
pub const CLASS_ETHERNET: u32 = 0x02_00_00;
/// Class code of a bridge between PCI buses.
pub const CLASS_BRIDGE: u32 = 0x06_04_00;
/// Class code of the FPGA card: processing accelerator.
pub const CLASS_ACCELERATOR: u32 = 0x12_00_00;
/// What reading the vendor of an absent function yields.
pub const VENDOR_NONE: u16 = 0xffff;
/// The vendor that is read of a function which answers with Configuration Retry: it is not ready yet
/// (2.3.2). All other bits of the access are ones.
pub const VENDOR_RETRY: u16 = 0x0001;
