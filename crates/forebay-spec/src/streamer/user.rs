// SPDX-License-Identifier: Apache-2.0
//! The user side: 512-bit AXI4-Stream command beats.
//!
//! With every reserved bit 0 these are exactly the beats of SNAcc's NVMe Streamer.

use crate::bytes::{get_u64, put};

/// Width of the user streams in bits.
pub const DATA_BITS: u32 = 512;
/// Width of the user streams in bytes.
pub const BEAT_BYTES: usize = DATA_BITS as usize / 8;

/// Lowest bit of the byte address, in read and write commands.
pub const ADDRESS_LSB: u32 = 0;
/// Lowest bit of a read command's length in bytes.
pub const LENGTH_LSB: u32 = 64;
/// Bit of a read command that lifts the order of its data.
pub const UNORDERED_BIT: u32 = 128;
/// Lowest bit of the tag of an unordered read.
pub const TAG_LSB: u32 = 136;
/// Width of the tag of an unordered read.
pub const TAG_BITS: u32 = 8;
/// Bit of a write's first beat that forces unit access.
pub const FUA_BIT: u32 = 64;
/// Bit of a write's first beat that asks for a flush after it.
pub const FLUSH_BIT: u32 = 65;
/// Bit of a write's first beat that holds it back until all earlier writes are complete.
pub const FENCE_BIT: u32 = 66;

/// One read command: a single beat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadCommand {
    /// First byte, a multiple of the logical block.
    pub address: u64,
    /// Length in bytes, any but 0.
    pub length: u64,
    /// The tag, where the data may come out of order.
    pub unordered: Option<u8>,
}

impl ReadCommand {
    /// A read in order.
    pub const fn new(address: u64, length: u64) -> Self {
        Self {
            address,
            length,
            unordered: None,
        }
    }

    /// The beat, bits 7:0 of TDATA first.
    pub fn encode(&self) -> [u8; BEAT_BYTES] {
        let mut beat = [0; BEAT_BYTES];
        put(&mut beat, 0, &self.address.to_le_bytes());
        put(&mut beat, 8, &self.length.to_le_bytes());
        if let Some(tag) = self.unordered {
            beat[UNORDERED_BIT as usize / 8] = 1;
            beat[TAG_LSB as usize / 8] = tag;
        }
        beat
    }

    /// Reads a beat; reserved bits are ignored.
    pub const fn decode(beat: &[u8; BEAT_BYTES]) -> Self {
        let unordered = beat[UNORDERED_BIT as usize / 8] & 1 != 0;
        Self {
            address: get_u64(beat, 0),
            length: get_u64(beat, 8),
            unordered: if unordered {
                Some(beat[TAG_LSB as usize / 8])
            } else {
                None
            },
        }
    }
}

/// The first beat of a write; the data follow in the same packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteCommand {
    /// First byte, a multiple of the logical block.
    pub address: u64,
    /// The response waits until the data are on the medium.
    pub fua: bool,
    /// The response waits until everything before is on the medium, too.
    pub flush: bool,
    /// Its commands are submitted once all earlier writes are complete.
    pub fence: bool,
}

impl WriteCommand {
    /// A write that may stay in the SSD's cache.
    pub const fn new(address: u64) -> Self {
        Self {
            address,
            fua: false,
            flush: false,
            fence: false,
        }
    }

    /// The beat, bits 7:0 of TDATA first.
    pub fn encode(&self) -> [u8; BEAT_BYTES] {
        let mut beat = [0; BEAT_BYTES];
        put(&mut beat, 0, &self.address.to_le_bytes());
        beat[FUA_BIT as usize / 8] = self.fua as u8
            | (self.flush as u8) << (FLUSH_BIT % 8)
            | (self.fence as u8) << (FENCE_BIT % 8);
        beat
    }

    /// Reads a beat; reserved bits are ignored.
    pub const fn decode(beat: &[u8; BEAT_BYTES]) -> Self {
        let flags = beat[FUA_BIT as usize / 8];
        Self {
            address: get_u64(beat, 0),
            fua: flags & 1 != 0,
            flush: flags & 2 != 0,
            fence: flags & 4 != 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beats_have_the_published_layout() {
        let command = ReadCommand {
            address: 0x1122_3344_5566_7788,
            length: 0x99,
            unordered: Some(0xab),
        };
        let beat = command.encode();
        assert_eq!(beat[..8], [0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11]);
        assert_eq!((beat[8], beat[16], beat[17]), (0x99, 1, 0xab));
        assert_eq!(ReadCommand::decode(&beat), command);
        let write = WriteCommand {
            address: 4096,
            fua: false,
            flush: true,
            fence: true,
        };
        assert_eq!(write.encode()[8], 6);
        assert_eq!(WriteCommand::decode(&write.encode()), write);
    }
}
