// SPDX-License-Identifier: Apache-2.0
//! The superblock by which Linux's md knows a member of an array: version 1.0, which stands at the end of
//! a member (linux/raid/md_p.h), so that stripe units begin at its first byte.

use super::PAGE_BYTES;
use crate::bytes::{get_u16, get_u32, put, wire};
use crate::streamer::window::DRIVES_MOST;

/// What it begins with.
pub const MAGIC: u32 = 0xa92b_4efc;
/// Its `resync_offset` where nothing is to be synchronised.
pub const IN_SYNC: u64 = u64::MAX;
/// Level with stripes alone.
pub const STRIPED: u32 = 0;
/// Level with the parity on the last drive.
pub const PARITY: u32 = 4;
/// Role of a drive that is not in the array any more.
pub const FAULTY: u16 = 0xfffe;

const ROLES: usize = DRIVES_MOST as usize;
const FIXED: usize = 256;
const CHECKSUM_AT: usize = 216;
const COUNT_AT: usize = 220;

wire! {
    /// A superblock of one member; sizes and places in sectors of 512 bytes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    Fixed, 256 {
        /// [`MAGIC`].
        magic: u32 = 0;
        /// 1.
        version: u32 = 4;
        /// None of those that a kernel has to know.
        features: u32 = 8;
        /// Which array.
        array: [u8; 16] = 16;
        /// Its name, padded with NUL.
        name: [u8; 32] = 32;
        /// When it was made, in seconds since 1970.
        made: u64 = 64;
        /// [`STRIPED`] or [`PARITY`].
        level: u32 = 72;
        /// Bytes of each member that hold stripe units; 0 with [`STRIPED`].
        size: u64 = 80;
        /// Of a stripe unit.
        stripe_unit: u32 = 88;
        /// Members.
        members: u32 = 92;
        /// Where a change of its shape stands; 0 unless one is under way.
        reshape: u64 = 104;
        /// First sector of the stripe units.
        data_offset: u64 = 128;
        /// Sectors of this member that hold stripe units.
        data_size: u64 = 136;
        /// First sector of this superblock.
        super_offset: u64 = 144;
        /// Number of this member.
        number: u32 = 160;
        /// Which drive.
        member: [u8; 16] = 168;
        /// When it was last written, in seconds since 1970.
        written: u64 = 192;
        /// How often it was changed.
        events: u64 = 200;
        /// [`IN_SYNC`].
        resync_offset: u64 = 208;
        /// Sum of all words.
        checksum: u32 = 216;
        /// How many roles follow.
        roles: u32 = 220;
    }
}

/// A superblock: its numbers, and the role of each member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Md {
    /// The numbers; those of sum and of roles are written anew.
    pub fixed: Fixed,
    /// The role of each member: its number, or [`FAULTY`].
    pub roles: [u16; ROLES],
}

/// Why a page is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MdError {
    /// It does not begin as one.
    #[error("it does not begin as md's superblock does")]
    Magic,
    /// The sum of its words is not the one that it states.
    #[error("its checksum is {has:08x}, and it says {says:08x}")]
    Checksum {
        /// What it says.
        says: u32,
        /// What it has.
        has: u32,
    },
    /// More roles than a page has room for.
    #[error("it has {0} roles, but a page has room for 1920")]
    Roles(u32),
}

/// The sum of all words but the sum itself, carry added.
fn checksum(page: &[u8; PAGE_BYTES], bytes: usize) -> u32 {
    let words = (0..bytes / 4).map(|word| word * 4);
    let words = words.filter(|at| *at != CHECKSUM_AT);
    let mut sum: u64 = words.map(|at| u64::from(get_u32(page, at))).sum();
    if bytes % 4 == 2 {
        sum += u64::from(get_u16(page, bytes - 2));
    }
    (sum as u32).wrapping_add((sum >> 32) as u32)
}

impl Md {
    /// Its page.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; PAGE_BYTES] {
        let mut page = [0; PAGE_BYTES];
        let count = (self.fixed.members as usize).min(ROLES);
        let fixed = Fixed {
            roles: count as u32,
            checksum: 0,
            ..self.fixed
        };
        put(&mut page, 0, &fixed.to_bytes());
        for (role, at) in self.roles[..count].iter().zip((FIXED..).step_by(2)) {
            put(&mut page, at, &role.to_le_bytes());
        }
        let sum = checksum(&page, FIXED + 2 * count);
        put(&mut page, CHECKSUM_AT, &sum.to_le_bytes());
        page
    }

    /// Reads one; only its sum is checked. Roles of further members are left out.
    ///
    /// # Errors
    ///
    /// A page that is none.
    pub fn parse(page: &[u8; PAGE_BYTES]) -> Result<Self, MdError> {
        if get_u32(page, 0) != MAGIC || get_u32(page, 4) != 1 {
            return Err(MdError::Magic);
        }
        let count = get_u32(page, COUNT_AT);
        if count as usize > (PAGE_BYTES - FIXED) / 2 {
            return Err(MdError::Roles(count));
        }
        let has = checksum(page, FIXED + 2 * count as usize);
        let says = get_u32(page, CHECKSUM_AT);
        if says != has {
            return Err(MdError::Checksum { says, has });
        }
        let mut fixed = [0; FIXED];
        fixed.copy_from_slice(&page[..FIXED]);
        let role = |n: usize| match n < count as usize {
            true => get_u16(page, FIXED + 2 * n),
            false => FAULTY,
        };
        Ok(Self {
            fixed: Fixed::from_bytes(&fixed),
            roles: core::array::from_fn(role),
        })
    }

    /// The place that this member has in the array; none if it is out.
    #[must_use]
    pub fn role(&self) -> Option<u16> {
        let role = self.roles.get(self.fixed.number as usize);
        role.copied().filter(|role| *role != FAULTY)
    }
}

/// First byte of the superblock of a drive with `bytes`; none where it has no room for one.
#[must_use]
pub const fn place(bytes: u64) -> Option<u64> {
    match bytes.checked_sub(8192) {
        Some(last) => Some(last / PAGE_BYTES as u64 * PAGE_BYTES as u64),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_reads_the_same(
            bytes in prop::collection::vec(any::<u8>(), FIXED), roles: [u16; ROLES], bit in 0..PAGE_BYTES * 8,
        ) {
            let mut fixed = [0; FIXED];
            fixed.copy_from_slice(&bytes);
            let fixed = Fixed { magic: MAGIC, version: 1, members: 8, roles: 8, ..Fixed::from_bytes(&fixed) };
            let mut page = Md { fixed, roles }.to_bytes();
            let read = Md::parse(&page);
            prop_assert_eq!(read.map(|md| md.roles), Ok(roles));
            let sum = read.map_or(0, |md| md.fixed.checksum);
            prop_assert_eq!(read.map(|md| md.fixed), Ok(Fixed { checksum: sum, ..fixed }));
            page[bit / 8] ^= 1 << (bit % 8);
            let outside = bit / 8 >= FIXED + 2 * ROLES;
            prop_assert!(Md::parse(&page).is_err() != outside, "bit {} is wrong", bit);
        }

        #[test]
        fn any_page_is_one_or_none(bytes in prop::collection::vec(any::<u8>(), FIXED), count: u32) {
            let mut page = [0; PAGE_BYTES];
            put(&mut page, 0, &bytes);
            put(&mut page, 0, &MAGIC.to_le_bytes());
            put(&mut page, 4, &1u32.to_le_bytes());
            put(&mut page, COUNT_AT, &count.to_le_bytes());
            if let Ok(md) = Md::parse(&page) {
                let _ = md.role();
            }
        }
    }
}
