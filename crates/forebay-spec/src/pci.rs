// SPDX-License-Identifier: Apache-2.0
//! PCI configuration space: *PCI Express Base 5.0*, chapter 7; type 0 header.

/// Bytes of the configuration space of a PCI Express function.
pub const CONFIG_BYTES: u16 = 4096;

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

/// Bits of the command register (7.5.1.1.3).
pub mod command {
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

/// Class code of an NVM Express controller: mass storage, non-volatile memory, NVMe I/O.
pub const CLASS_NVME: u32 = 0x01_08_02;
/// Class code of the FPGA card: processing accelerator.
pub const CLASS_ACCELERATOR: u32 = 0x12_00_00;
/// What reading the vendor of an absent function yields.
pub const VENDOR_NONE: u16 = 0xffff;
