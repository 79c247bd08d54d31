// SPDX-License-Identifier: Apache-2.0
//! Identify data structures (5.17.2), as far as we build and read them; 4096 bytes each.

use crate::bytes::{Wire, get_u32, get_u64, put, put_text, wire};

/// Bytes of every Identify data structure.
pub const BYTES: usize = 4096;

/// Controller or namespace structure (CNS) values of the Identify command.
pub mod cns {
    /// Identify Namespace.
    pub const NAMESPACE: u8 = 0x00;
    /// Identify Controller.
    pub const CONTROLLER: u8 = 0x01;
    /// Active namespace list.
    pub const ACTIVE_NAMESPACES: u8 = 0x02;
    /// Namespace identification descriptor list.
    pub const DESCRIPTORS: u8 = 0x03;
    /// Identify Namespace, as an I/O command set has it (5.17.2).
    pub const COMMAND_SET_NAMESPACE: u8 = 0x05;
    /// Identify Controller, as an I/O command set has it (5.17.2).
    pub const COMMAND_SET_CONTROLLER: u8 = 0x06;
    /// Identify Namespace, as all I/O command sets have it (5.17.2).
    pub const INDEPENDENT_NAMESPACE: u8 = 0x08;
}

wire! {
    /// Identify Controller (5.17.2.1; NVM Command Set 4.1.5.2).
    #[derive(Clone, Debug, PartialEq, Eq)]
    IdentifyController, 4096 {
        /// PCI vendor.
        vendor: u16 = 0;
        /// PCI subsystem vendor.
        subsystem_vendor: u16 = 2;
        /// Serial number: ASCII, padded with blanks.
        serial: [u8; 20] = 4;
        /// Model number: ASCII, padded with blanks.
        model: [u8; 40] = 24;
        /// Firmware revision: ASCII, padded with blanks.
        firmware: [u8; 8] = 64;
        /// Maximum data transfer size: `least page << mdts` bytes; 0 is no limit.
        mdts: u8 = 77;
        /// Controller identifier.
        controller_id: u16 = 78;
        /// Version, as the VS register.
        version: u32 = 80;
        /// Optional admin commands: see [`oacs`].
        oacs: u16 = 256;
        /// Abort commands outstanding at once, 0's based.
        abort_limit: u8 = 258;
        /// Asynchronous Event Requests outstanding at once, 0's based.
        async_event_limit: u8 = 259;
        /// Entries of the error log, 0's based.
        error_log_entries: u8 = 262;
        /// Required (low half) and greatest (high half) log2 of a submission entry.
        sqes: u8 = 512;
        /// Required (low half) and greatest (high half) log2 of a completion entry.
        cqes: u8 = 513;
        /// Namespaces.
        namespaces: u32 = 516;
        /// Optional NVM commands: see [`oncs`].
        oncs: u16 = 520;
        /// Volatile write cache: bit 0 present, bits 2:1 = 3 Flush may address all namespaces.
        vwc: u8 = 525;
        /// NVMe qualified name of the subsystem, padded with zeros.
        subnqn: [u8; 64] = 768;
    }
}

/// Bits of the optional admin commands (OACS).
pub mod oacs {
    /// Format NVM.
    pub const FORMAT: u16 = 1 << 1;
}

/// Bits of the optional NVM commands (ONCS).
pub mod oncs {
    /// Compare.
    pub const COMPARE: u16 = 1 << 0;
    /// Dataset Management.
    pub const DATASET_MANAGEMENT: u16 = 1 << 2;
    /// Write Zeroes.
    pub const WRITE_ZEROES: u16 = 1 << 3;
}

impl Default for IdentifyController {
    fn default() -> Self {
        Self {
            serial: [b' '; 20],
            model: [b' '; 40],
            firmware: [b' '; 8],
            sqes: 0x66,
            cqes: 0x44,
            ..Self::from_bytes(&[0; BYTES])
        }
    }
}

impl IdentifyController {
    /// Sets serial number, model and firmware revision, cut to their fields.
    pub fn set_names(&mut self, serial: &str, model: &str, firmware: &str) {
        put_text(&mut self.serial, serial);
        put_text(&mut self.model, model);
        put_text(&mut self.firmware, firmware);
    }

    /// The model without its padding; empty where it is no ASCII.
    pub fn model_text(&self) -> &str {
        text(&self.model)
    }

    /// The serial number without its padding; empty where it is no ASCII.
    pub fn serial_text(&self) -> &str {
        text(&self.serial)
    }

    /// The firmware revision without its padding; empty where it is no ASCII.
    pub fn firmware_text(&self) -> &str {
        text(&self.firmware)
    }

    /// Writes the structure.
    pub fn write_to(&self, b: &mut [u8; BYTES]) {
        *b = self.to_bytes();
        // Controller type: I/O controller.
        b[111] = 1;
        // Firmware: one slot, read only.
        b[260] = 0b11;
        // Get Log Page takes 32-bit lengths and offsets, and knows the commands supported.
        b[261] = 1 << 2 | 1 << 1;
        // Warning and critical composite temperature thresholds in kelvin.
        put(b, 266, &343u16.to_le_bytes());
        put(b, 268, &358u16.to_le_bytes());
        // Power state 0: 8 W, in units of 10 mW.
        put(b, 2048, &800u16.to_le_bytes());
    }
}

/// Identify Namespace (NVM Command Set 4.1.5.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IdentifyNamespace {
    /// Size in logical blocks.
    pub size: u64,
    /// Capacity in logical blocks.
    pub capacity: u64,
    /// Utilisation in logical blocks.
    pub utilisation: u64,
    /// Index of the format in use.
    pub format: u8,
    /// Formats; unused ones are 0.
    pub formats: [LbaFormat; 16],
    /// Number of formats, 1–16 (0's based on the wire).
    pub format_count: u8,
    /// Deallocated blocks: bits 2:0 = 1 read as zeros.
    pub dlfeat: u8,
    /// IEEE extended unique identifier.
    pub eui64: [u8; 8],
}

/// One LBA format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LbaFormat {
    /// Metadata bytes per block.
    pub metadata: u16,
    /// log2 of the block in bytes; 0 is an unused format.
    pub shift: u8,
    /// Relative performance, 0 best.
    pub performance: u8,
}

impl IdentifyNamespace {
    /// The format in use.
    pub const fn current(&self) -> LbaFormat {
        self.formats[(self.format & 0xf) as usize]
    }

    /// Writes the structure.
    pub fn write_to(&self, b: &mut [u8; BYTES]) {
        b.fill(0);
        put(b, 0, &self.size.to_le_bytes());
        put(b, 8, &self.capacity.to_le_bytes());
        put(b, 16, &self.utilisation.to_le_bytes());
        b[25] = self.format_count.saturating_sub(1);
        b[26] = self.format;
        b[33] = self.dlfeat;
        put(b, 120, &self.eui64);
        for (n, format) in self.formats.iter().enumerate() {
            let bits = format.metadata as u32
                | (format.shift as u32) << 16
                | ((format.performance & 3) as u32) << 24;
            put(b, 128 + 4 * n, &bits.to_le_bytes());
        }
    }

    /// Reads the structure.
    pub fn from_bytes(b: &[u8; BYTES]) -> Self {
        let mut formats = [LbaFormat::default(); 16];
        for (n, format) in formats.iter_mut().enumerate() {
            let bits = get_u32(b, 128 + 4 * n);
            *format = LbaFormat {
                metadata: bits as u16,
                shift: (bits >> 16) as u8,
                performance: (bits >> 24 & 3) as u8,
            };
        }
        Self {
            size: get_u64(b, 0),
            capacity: get_u64(b, 8),
            utilisation: get_u64(b, 16),
            format: b[26] & 0xf,
            formats,
            format_count: b[25].saturating_add(1),
            dlfeat: b[33],
            eui64: Wire::get(b, 120),
        }
    }
}

/// Writes the list of active namespaces greater than `after` (5.17.2.3).
pub fn write_active_list(b: &mut [u8; BYTES], namespaces: impl Iterator<Item = u32>, after: u32) {
    b.fill(0);
    for (n, nsid) in namespaces
        .filter(|nsid| *nsid > after)
        .take(BYTES / 4)
        .enumerate()
    {
        put(b, 4 * n, &nsid.to_le_bytes());
    }
}

/// Reads a list of active namespaces: it ends at the first 0.
pub fn active_list(b: &[u8; BYTES]) -> impl Iterator<Item = u32> + '_ {
    (0..BYTES / 4)
        .map(|n| get_u32(b, 4 * n))
        .take_while(|nsid| *nsid != 0)
}

/// Writes the structure of a namespace that all I/O command sets have (5.17.2, CNS 08h): it is
/// ready.
pub fn write_independent_namespace(b: &mut [u8; BYTES]) {
    b.fill(0);
    b[14] = 1;
}

/// A namespace identification descriptor (5.17.2.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor<'a> {
    /// 1 EUI64, 2 NGUID, 3 UUID, 4 command set.
    pub kind: u8,
    /// The identifier's bytes.
    pub id: &'a [u8],
}

/// Writes one EUI-64 descriptor; the zeros behind it end the list.
pub fn write_descriptor_list(b: &mut [u8; BYTES], eui64: [u8; 8]) {
    b.fill(0);
    b[0] = 1;
    b[1] = 8;
    put(b, 4, &eui64);
}

/// Reads a list of descriptors; it ends at a length of 0 or where one would run past the end.
pub fn descriptors(b: &[u8; BYTES]) -> impl Iterator<Item = Descriptor<'_>> {
    let mut at = 0;
    core::iter::from_fn(move || {
        let header = b.get(at..at + 4)?;
        let length = header[1] as usize;
        if length == 0 {
            return None;
        }
        let id = b.get(at + 4..at + 4 + length)?;
        at += 4 + length;
        Some(Descriptor {
            kind: header[0],
            id,
        })
    })
}

fn text(field: &[u8]) -> &str {
    core::str::from_utf8(field)
        .unwrap_or("")
        .trim_matches([' ', '\0'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_survive_a_round_trip() {
        let mut bytes = [0; BYTES];
        let mut controller = IdentifyController {
            mdts: 8,
            namespaces: 2,
            ..Default::default()
        };
        controller.set_names("S1", "a model", "1.0");
        controller.write_to(&mut bytes);
        assert_eq!(IdentifyController::from_bytes(&bytes), controller);
        assert_eq!(controller.model_text(), "a model");
        let mut namespace = IdentifyNamespace {
            size: 9,
            capacity: 9,
            format_count: 1,
            ..Default::default()
        };
        namespace.formats[0].shift = 12;
        namespace.write_to(&mut bytes);
        assert_eq!(IdentifyNamespace::from_bytes(&bytes), namespace);
        assert_eq!(namespace.current().shift, 12);
    }

    #[test]
    fn lists_end_where_they_should() {
        let mut bytes = [0; BYTES];
        write_active_list(&mut bytes, 1..=3, 1);
        assert!(active_list(&bytes).eq([2, 3]));
        write_descriptor_list(&mut bytes, [7; 8]);
        assert!(descriptors(&bytes).eq([Descriptor {
            kind: 1,
            id: &[7; 8]
        }]));
        bytes.fill(0xff);
        assert_eq!(descriptors(&bytes).count(), 15);
    }
}
