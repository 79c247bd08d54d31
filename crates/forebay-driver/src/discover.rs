// SPDX-License-Identifier: Apache-2.0
//! Finds NVMe controllers and FPGA cards, and reads what configuration space says of them.
//!
//! Section numbers are of *PCI Express Base 5.0*.

use std::fmt;

use forebay_spec::pci::{self, bar, capability, command, offset, status};
use forebay_spec::streamer;
use serde::Serialize;

use crate::bus::{Bus, PciAddress};
use crate::error::{Error, answered};

/// A memory BAR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Bar {
    /// Number, 0–5; a 64-bit BAR takes the next one, too.
    pub index: u8,
    /// Address in the register: where the CPU reaches it on bare metal.
    pub address: u64,
    /// Bytes, a power of two.
    pub size: u64,
    /// The address has 64 bits.
    pub wide: bool,
}

/// The PCI Express capability (7.5.3), as far as it decides about performance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Express {
    /// Greatest payload the function can take, bytes.
    pub payload_supported: u32,
    /// Greatest payload it may send, bytes (MPS).
    pub payload: u32,
    /// Greatest read it may ask for, bytes (MRRS).
    pub read_request: u32,
    /// Link generation, 1–6; 0 where there is no link.
    pub generation: u8,
    /// Lanes in use; 0 where there is no link.
    pub lanes: u8,
}

/// A PCI function and what its configuration space says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Function {
    /// Where it stands.
    pub address: PciAddress,
    /// Vendor identifier.
    pub vendor: u16,
    /// Device identifier.
    pub device: u16,
    /// Class code, 24 bits.
    pub class: u32,
    /// Revision.
    pub revision: u8,
    /// Memory BARs.
    pub bars: Vec<Bar>,
    /// PCI Express capability, where it has one.
    pub express: Option<Express>,
}

impl Function {
    /// An NVMe controller, by its class.
    pub const fn is_nvme(&self) -> bool {
        self.class == pci::CLASS_NVME
    }

    /// An FPGA card with Forebay's streamer, by its identifiers.
    pub const fn is_fpga(&self) -> bool {
        self.vendor == streamer::PCI_VENDOR && self.device == streamer::PCI_DEVICE
    }

    /// The memory BAR with this number.
    pub fn bar(&self, index: u8) -> Option<&Bar> {
        self.bars.iter().find(|bar| bar.index == index)
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self {
            _ if self.is_nvme() => "NVMe controller",
            _ if self.is_fpga() => "FPGA card",
            _ => "function",
        };
        write!(
            f,
            "{kind} {} ({:04x}:{:04x}",
            self.address, self.vendor, self.device
        )?;
        if let Some(link) = self.express.filter(|link| link.lanes != 0) {
            write!(
                f,
                ", Gen{} x{}, MPS {}",
                link.generation, link.lanes, link.payload
            )?;
        }
        f.write_str(")")
    }
}

/// Reads configuration space of every NVMe controller and FPGA card on the bus.
///
/// Other functions are left alone: measuring BARs takes them off the bus for a moment.
pub fn discover(bus: &mut dyn Bus) -> Result<Vec<Function>, Error> {
    let mut found = Vec::new();
    for address in bus.devices()? {
        if let Some(mut function) = header(bus, address)?
            && (function.is_nvme() || function.is_fpga())
        {
            function.bars = measure_bars(bus, address)?;
            function.express = express(bus, address)?;
            found.push(function);
        }
    }
    Ok(found)
}

/// Lets a function answer memory accesses, but send no requests of its own; masks pin interrupts.
///
/// # Errors
/// Where configuration space cannot be accessed, or the bits do not stick.
pub fn enable(bus: &mut dyn Bus, device: PciAddress) -> Result<(), Error> {
    let set = command::MEMORY_SPACE | command::INTERRUPT_DISABLE;
    let now = update_command(bus, device, set, command::BUS_MASTER)?;
    check_command(device, now, command::MEMORY_SPACE)
}

/// Lets a function send requests of its own. Before that, whatever it was left doing has to be over:
/// without an IOMMU it reaches all memory.
///
/// # Errors
/// Where configuration space cannot be accessed, or the bit does not stick.
pub fn set_master(bus: &mut dyn Bus, device: PciAddress) -> Result<(), Error> {
    let now = update_command(bus, device, command::BUS_MASTER, 0)?;
    check_command(device, now, command::MEMORY_SPACE | command::BUS_MASTER)
}

fn check_command(device: PciAddress, now: u16, needed: u16) -> Result<(), Error> {
    answered(device, now, "when it was to be enabled")?;
    if now & needed != needed {
        return Err(Error::Refused {
            field: "the PCI command register",
            value: format!("{now:#06x} at {device}"),
            limit: format!("bits {needed:#06x} were set and are needed"),
            remedy: "the function or a bridge above it refuses: check that no other driver owns it",
        });
    }
    Ok(())
}

/// Lets a function answer memory accesses, and changes nothing else of it.
///
/// # Errors
/// Where configuration space cannot be accessed, or the function has gone.
pub fn answer(bus: &mut dyn Bus, device: PciAddress) -> Result<(), Error> {
    let now = update_command(bus, device, command::MEMORY_SPACE, 0)?;
    answered(device, now, "when it was to answer memory accesses").map(drop)
}

/// Forbids a function to send requests: from now on it touches no memory.
pub fn silence(bus: &mut dyn Bus, device: PciAddress) -> Result<(), Error> {
    update_command(bus, device, 0, command::BUS_MASTER)?;
    Ok(())
}

/// Sets and clears bits of the command register and returns what it then reads.
fn update_command(
    bus: &mut dyn Bus,
    device: PciAddress,
    set: u16,
    clear: u16,
) -> Result<u16, Error> {
    let old = bus.config_read32(device, offset::COMMAND)? as u16;
    // The upper half is the status register, whose bits are cleared by ones: write zeros there.
    bus.config_write32(device, offset::COMMAND, u32::from((old | set) & !clear))?;
    Ok(bus.config_read32(device, offset::COMMAND)? as u16)
}

fn header(bus: &mut dyn Bus, address: PciAddress) -> Result<Option<Function>, Error> {
    let ids = bus.config_read32(address, offset::VENDOR_ID)?;
    if ids as u16 == pci::VENDOR_NONE {
        return Ok(None);
    }
    // Bits 6:0 of the header type: 0 is the type with six BARs (7.5.1.1.9).
    if bus.config_read32(address, offset::HEADER_TYPE)? >> 16 & 0x7f != 0 {
        return Ok(None);
    }
    let class = bus.config_read32(address, offset::CLASS_REVISION)?;
    Ok(Some(Function {
        address,
        vendor: ids as u16,
        device: (ids >> 16) as u16,
        class: class >> 8,
        revision: class as u8,
        bars: Vec::new(),
        express: None,
    }))
}

/// Measures the memory BARs by writing ones, with address decoding off meanwhile (7.5.1.2.1).
fn measure_bars(bus: &mut dyn Bus, address: PciAddress) -> Result<Vec<Bar>, Error> {
    let was = bus.config_read32(address, offset::COMMAND)? as u16;
    update_command(bus, address, 0, command::MEMORY_SPACE)?;
    let mut bars = Vec::new();
    let mut index = 0;
    while index < bar::COUNT {
        let at = offset::BAR0 + 4 * u16::from(index);
        let low = bus.config_read32(address, at)?;
        // Bit 0 marks an I/O BAR, bits 2:1 = 2 one of 64 bits.
        let wide = low & 1 == 0 && low & 0b110 == bar::MEMORY_64 && index + 1 < bar::COUNT;
        if low & 1 == 0 {
            let (old_low, mask_low) = probe_bar(bus, address, at)?;
            let (old_high, mask_high) = if wide {
                probe_bar(bus, address, at + 4)?
            } else {
                (0, u32::MAX)
            };
            let mask = u64::from(mask_low & !bar::FLAGS) | u64::from(mask_high) << 32;
            // An absent BAR reads as zero; the lowest bit that can be written is the size.
            if mask_low & !bar::FLAGS != 0 || (wide && mask_high != 0) {
                bars.push(Bar {
                    index,
                    address: u64::from(old_low & !bar::FLAGS) | u64::from(old_high) << 32,
                    size: mask & mask.wrapping_neg(),
                    wide,
                });
            }
        }
        index += if wide { 2 } else { 1 };
    }
    update_command(bus, address, was, 0)?;
    Ok(bars)
}

/// Writes ones to one BAR register; returns its old content and what then reads.
fn probe_bar(bus: &mut dyn Bus, address: PciAddress, at: u16) -> Result<(u32, u32), Error> {
    let old = bus.config_read32(address, at)?;
    bus.config_write32(address, at, u32::MAX)?;
    let mask = bus.config_read32(address, at)?;
    bus.config_write32(address, at, old)?;
    Ok((old, mask))
}

/// Finds the PCI Express capability. The list may lie: each entry is visited at most once.
fn express(bus: &mut dyn Bus, address: PciAddress) -> Result<Option<Express>, Error> {
    /// Capabilities start behind the header and are 4 bytes at least: no list is longer.
    const MOST: usize = (0x100 - 0x40) / 4;
    if (bus.config_read32(address, offset::COMMAND)? >> 16) as u16 & status::CAPABILITY_LIST == 0 {
        return Ok(None);
    }
    let mut at = bus.config_read32(address, offset::CAPABILITIES)? as u16 & 0xfc;
    for _ in 0..MOST {
        if at < 0x40 {
            break;
        }
        let head = bus.config_read32(address, at)?;
        if head as u8 == capability::PCI_EXPRESS && at <= 0xec {
            // Device Capabilities, Device Control and Link Status (7.5.3.3, 7.5.3.4, 7.5.3.8).
            let able = bus.config_read32(address, at + 0x04)?;
            let control = bus.config_read32(address, at + 0x08)?;
            let link = bus.config_read32(address, at + 0x10)? >> 16;
            return Ok(Some(Express {
                payload_supported: 128 << (able & 7),
                payload: 128 << (control >> 5 & 7),
                read_request: 128 << (control >> 12 & 7),
                generation: (link & 0xf) as u8,
                lanes: (link >> 4 & 0x3f) as u8,
            }));
        }
        at = (head >> 8) as u16 & 0xfc;
    }
    Ok(None)
}
