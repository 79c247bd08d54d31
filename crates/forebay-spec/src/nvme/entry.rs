// SPDX-License-Identifier: Apache-2.0
//! Submission and completion queue entries (3.3.3).

use super::Status;
use crate::bytes::{get_u16, get_u32, put, wire};

wire! {
    /// Submission queue entry, 64 bytes (figure 88). The field order is the wire order.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[repr(C)]
    Sqe, 64 {
        /// Opcode, bits 7:0 of dword 0.
        opcode: u8 = 0;
        /// Fused operation in bits 1:0, PRP or SGL (PSDT) in bits 7:6.
        flags: u8 = 1;
        /// Command identifier.
        cid: u16 = 2;
        /// Namespace identifier.
        nsid: u32 = 4;
        /// Command dword 2.
        cdw2: u32 = 8;
        /// Command dword 3.
        cdw3: u32 = 12;
        /// Metadata pointer.
        mptr: u64 = 16;
        /// First PRP entry.
        prp1: u64 = 24;
        /// Second PRP entry, or the address of a PRP list.
        prp2: u64 = 32;
        /// Command dwords 10–15.
        cdw: [u32; 6] = 40;
    }
}

impl Sqe {
    /// Command dword 10.
    pub const fn cdw10(&self) -> u32 {
        self.cdw[0]
    }

    /// Command dword 11.
    pub const fn cdw11(&self) -> u32 {
        self.cdw[1]
    }

    /// Command dword 12.
    pub const fn cdw12(&self) -> u32 {
        self.cdw[2]
    }

    /// Fused operation (figure 87); 0 is a normal one.
    pub const fn fuse(&self) -> u8 {
        self.flags & 3
    }

    /// PRP or SGL for data transfer (figure 87); 0 is PRP.
    pub const fn psdt(&self) -> u8 {
        self.flags >> 6
    }

    /// Starting LBA of Read, Write and Write Zeroes (NVM Command Set 3.2.4).
    pub const fn slba(&self) -> u64 {
        self.cdw[0] as u64 | (self.cdw[1] as u64) << 32
    }

    /// Number of logical blocks of Read, Write and Write Zeroes: 1–65536.
    pub const fn blocks(&self) -> u32 {
        (self.cdw[2] & 0xffff) + 1
    }

    /// Force unit access of Read and Write.
    pub const fn fua(&self) -> bool {
        self.cdw[2] & FUA != 0
    }

    /// A Read, Write or Write Zeroes of `blocks` (1–65536) logical blocks.
    pub const fn transfer(opcode: super::IoOpcode, nsid: u32, slba: u64, blocks: u32) -> Self {
        Self {
            opcode: opcode.number(),
            flags: 0,
            cid: 0,
            nsid,
            cdw2: 0,
            cdw3: 0,
            mptr: 0,
            prp1: 0,
            prp2: 0,
            cdw: [
                slba as u32,
                (slba >> 32) as u32,
                blocks.wrapping_sub(1) & 0xffff,
                0,
                0,
                0,
            ],
        }
    }

    /// The same command with these PRP entries.
    pub const fn with_prps(mut self, prp1: u64, prp2: u64) -> Self {
        self.prp1 = prp1;
        self.prp2 = prp2;
        self
    }
}

/// Force unit access in dword 12 of Read and Write.
pub const FUA: u32 = 1 << 30;

/// Completion queue entry, 16 bytes (figure 91).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cqe {
    /// Command specific result.
    pub result: u32,
    /// Command specific, dword 1.
    pub dword1: u32,
    /// Submission queue head.
    pub sq_head: u16,
    /// Submission queue identifier.
    pub sq_id: u16,
    /// Command identifier.
    pub cid: u16,
    /// Status without the phase tag.
    pub status: Status,
    /// Phase tag.
    pub phase: bool,
}

impl Cqe {
    /// Bytes on the wire.
    pub const BYTES: usize = 16;

    /// Reads an entry.
    pub const fn from_bytes(b: &[u8; Self::BYTES]) -> Self {
        let tail = get_u16(b, 14);
        Self {
            result: get_u32(b, 0),
            dword1: get_u32(b, 4),
            sq_head: get_u16(b, 8),
            sq_id: get_u16(b, 10),
            cid: get_u16(b, 12),
            status: Status::from_bits(tail >> 1),
            phase: tail & 1 != 0,
        }
    }

    /// The entry's bytes.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut b = [0; Self::BYTES];
        put(&mut b, 0, &self.result.to_le_bytes());
        put(&mut b, 4, &self.dword1.to_le_bytes());
        put(&mut b, 8, &self.sq_head.to_le_bytes());
        put(&mut b, 10, &self.sq_id.to_le_bytes());
        put(&mut b, 12, &self.cid.to_le_bytes());
        put(
            &mut b,
            14,
            &(self.status.bits() << 1 | self.phase as u16).to_le_bytes(),
        );
        b
    }
}

const _: () = assert!(size_of::<Sqe>() == Sqe::BYTES);

#[cfg(test)]
mod tests {
    use super::*;
    use core::array;

    #[test]
    fn entries_survive_a_round_trip() {
        let bytes: [u8; 64] = array::from_fn(|n| n as u8 * 3 + 1);
        assert_eq!(Sqe::from_bytes(&bytes).to_bytes(), bytes);
        let bytes: [u8; 16] = array::from_fn(|n| 0xff - n as u8);
        assert_eq!(Cqe::from_bytes(&bytes).to_bytes(), bytes);
    }

    #[test]
    fn fields_stand_where_the_specification_says() {
        let sqe = Sqe::transfer(super::super::IoOpcode::Read, 1, 0x1_0000_0002, 65536)
            .with_prps(0x1000, 0x2000);
        let bytes = sqe.to_bytes();
        assert_eq!((bytes[0], bytes[4], bytes[40], bytes[44]), (2, 1, 2, 1));
        assert_eq!(
            (bytes[25], bytes[33], bytes[48], bytes[49]),
            (0x10, 0x20, 0xff, 0xff)
        );
        assert_eq!((sqe.slba(), sqe.blocks()), (0x1_0000_0002, 65536));
    }
}
