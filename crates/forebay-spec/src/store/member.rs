// SPDX-License-Identifier: Apache-2.0
//! The member superblock: which drive of an array this is. It stands at the end of each drive, behind the
//! stripe units, with that of Linux's md between its two copies.

use super::md::{self, Fixed, IN_SYNC, Md};
use super::superblock::{Drive, SuperblockError, check_seal, seal};
use super::{Crc, PAGE_BYTES};
use crate::bytes::{Wire, get_u16, get_u32, get_u64, put};
use crate::streamer::window::DRIVES_MOST;
use crate::stripes::Stripes;

/// What it begins with.
pub const MAGIC: [u8; 8] = *b"FBARRAY\n";
/// The version that is described here.
pub const VERSION: u32 = 1;
/// Whole pages at the end of a drive that hold no stripe units: the first copy, md's superblock, the
/// second copy.
pub const TAIL_BYTES: u64 = 3 * PAGE;

const PAGE: u64 = PAGE_BYTES as u64;

const VERSION_AT: usize = 8;
const FLAGS_AT: usize = 12;
const ARRAY_AT: usize = 16;
const UUID_AT: usize = 32;
const GENERATION_AT: usize = 48;
const NUMBER_AT: usize = 56;
const MEMBERS_AT: usize = 58;
const PRESENT_AT: usize = 60;
const BLOCK_AT: usize = 64;
const STRIPE_UNIT_AT: usize = 72;
const EACH_AT: usize = 80;
const NAMESPACE_AT: usize = 88;
const FORMATTED_AT: usize = 96;
const MODEL_AT: usize = 128;
const SERIAL_AT: usize = 168;
const FIRMWARE_AT: usize = 188;

/// Flag: the last member holds the parity of the others.
pub const PARITY: u32 = 1 << 0;

/// Each number's name, offset and bytes, for other languages.
pub const FIELDS: &[(&str, usize, usize)] = &[
    ("version", VERSION_AT, 4),
    ("flags", FLAGS_AT, 4),
    ("array", ARRAY_AT, 16),
    ("uuid", UUID_AT, 16),
    ("generation", GENERATION_AT, 8),
    ("number", NUMBER_AT, 2),
    ("members", MEMBERS_AT, 2),
    ("present", PRESENT_AT, 4),
    ("block_bytes", BLOCK_AT, 4),
    ("stripe_unit", STRIPE_UNIT_AT, 8),
    ("each", EACH_AT, 8),
    ("drive_bytes", NAMESPACE_AT, 8),
    ("formatted", FORMATTED_AT, 8),
];

/// A member superblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Which array: a UUID that all of its members have.
    pub array: [u8; 16],
    /// Which drive: a UUID that no other member has.
    pub uuid: [u8; 16],
    /// More with each change.
    pub generation: u64,
    /// Which member, from 0.
    pub number: u64,
    /// Bit n: member n has what was written last.
    pub present: u32,
    /// How the members make one address space.
    pub stripes: Stripes,
    /// Bytes of each member that hold stripe units.
    pub each: u64,
    /// Bytes of a logical block.
    pub block_bytes: u32,
    /// When the array was made: nanoseconds since 1970.
    pub formatted: u64,
    /// This drive.
    pub drive: Drive,
}

/// Where the two copies lie on a drive with `bytes`; none where it has no room for them.
#[must_use]
pub const fn places(bytes: u64) -> Option<[u64; 2]> {
    match bytes.checked_sub(TAIL_BYTES) {
        Some(first) => {
            let first = first / PAGE * PAGE;
            Some([first, first + 2 * PAGE])
        }
        None => None,
    }
}

/// Bytes in front of them on such a drive.
#[must_use]
pub const fn room(bytes: u64) -> u64 {
    match places(bytes) {
        Some([first, _]) => first,
        None => 0,
    }
}

/// A bit for each member of an array.
#[must_use]
pub const fn all(members: u64) -> u32 {
    (1 << members) - 1
}

impl Member {
    /// Whether this member was there when the array was last changed, as it says itself.
    #[must_use]
    pub const fn has(&self, number: u64) -> bool {
        number < DRIVES_MOST && self.present >> number & 1 != 0
    }

    /// Writes it; of `text` what finds room.
    #[must_use]
    pub fn to_bytes(&self, text: &[u8], crc: Crc) -> [u8; PAGE_BYTES] {
        let mut page = [0; PAGE_BYTES];
        let flags = if self.stripes.parity { PARITY } else { 0 };
        put(&mut page, 0, &MAGIC);
        for (at, value) in [
            (VERSION_AT, VERSION),
            (FLAGS_AT, flags),
            (PRESENT_AT, self.present),
            (BLOCK_AT, self.block_bytes),
        ] {
            put(&mut page, at, &value.to_le_bytes());
        }
        for (at, value) in [(NUMBER_AT, self.number), (MEMBERS_AT, self.stripes.drives)] {
            put(&mut page, at, &(value as u16).to_le_bytes());
        }
        for (at, value) in [
            (GENERATION_AT, self.generation),
            (STRIPE_UNIT_AT, self.stripes.stripe_unit),
            (EACH_AT, self.each),
            (NAMESPACE_AT, self.drive.bytes),
            (FORMATTED_AT, self.formatted),
        ] {
            put(&mut page, at, &value.to_le_bytes());
        }
        put(&mut page, ARRAY_AT, &self.array);
        put(&mut page, UUID_AT, &self.uuid);
        put(&mut page, MODEL_AT, &self.drive.model);
        put(&mut page, SERIAL_AT, &self.drive.serial);
        put(&mut page, FIRMWARE_AT, &self.drive.firmware);
        seal(&mut page, text, crc);
        page
    }

    /// Reads one, every number checked: what comes out can be used.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong.
    pub fn parse(page: &[u8; PAGE_BYTES], crc: Crc) -> Result<Self, SuperblockError> {
        check_seal(page, MAGIC, crc)?;
        let field = |name, value, limit| SuperblockError::Field { name, value, limit };
        let (version, flags) = (get_u32(page, VERSION_AT), get_u32(page, FLAGS_AT));
        if version != VERSION {
            let limit = "this program knows version 1";
            return Err(field("version", version.into(), limit));
        }
        if flags & !PARITY != 0 {
            return Err(field("flags", flags.into(), "only bit 0 is defined"));
        }
        let member = Self {
            array: Wire::get(page, ARRAY_AT),
            uuid: Wire::get(page, UUID_AT),
            generation: get_u64(page, GENERATION_AT),
            number: get_u16(page, NUMBER_AT).into(),
            present: get_u32(page, PRESENT_AT),
            stripes: Stripes {
                drives: get_u16(page, MEMBERS_AT).into(),
                stripe_unit: get_u64(page, STRIPE_UNIT_AT),
                parity: flags & PARITY != 0,
            },
            each: get_u64(page, EACH_AT),
            block_bytes: get_u32(page, BLOCK_AT),
            formatted: get_u64(page, FORMATTED_AT),
            drive: Drive {
                model: Wire::get(page, MODEL_AT),
                serial: Wire::get(page, SERIAL_AT),
                firmware: Wire::get(page, FIRMWARE_AT),
                bytes: get_u64(page, NAMESPACE_AT),
            },
        };
        member.check()?;
        Ok(member)
    }

    /// Whether its numbers fit each other.
    ///
    /// # Errors
    ///
    /// The first that does not.
    pub fn check(&self) -> Result<(), SuperblockError> {
        let wrong = |name, value, limit| Err(SuperblockError::Field { name, value, limit });
        let stripes = &self.stripes;
        if let Err(error) = stripes.check() {
            return wrong(error.field, error.value, error.limit);
        }
        if stripes.drives < 2 {
            return wrong("number of drives", stripes.drives, "an array has 2 or more");
        }
        if self.number >= stripes.drives {
            let limit = "it is less than the number of drives";
            return wrong("number", self.number, limit);
        }
        if !matches!(self.block_bytes, 512 | 4096) {
            let limit = "it is 512 or 4096 bytes";
            return wrong("logical block", self.block_bytes.into(), limit);
        }
        if self.present & !all(stripes.drives) != 0 {
            let limit = "it has a bit for each member";
            return wrong("members present", self.present.into(), limit);
        }
        if !self.has(self.number) {
            let limit = "this member is among them";
            return wrong("members present", self.present.into(), limit);
        }
        if self.each == 0 || !self.each.is_multiple_of(stripes.stripe_unit) {
            let limit = "they are one stripe unit or more, and whole ones";
            return wrong("bytes of each member", self.each, limit);
        }
        if self.each > room(self.drive.bytes) {
            let limit = "the drive has less in front of its superblocks";
            return wrong("bytes of each member", self.each, limit);
        }
        // All drives together have less than 2^57 bytes: 2^48 sectors.
        match self.each > (1 << 57) / DRIVES_MOST {
            true => wrong("bytes of each member", self.each, "they are up to 2^54"),
            false => Ok(()),
        }
    }

    /// The same for Linux's md: level 0, or 4 with parity.
    #[must_use]
    pub fn md(&self) -> Md {
        const SECTOR: u64 = 512;
        let mut name = [0; 32];
        put(&mut name, 0, b"forebay");
        let seconds = self.formatted / 1_000_000_000;
        let parity = self.stripes.parity;
        let fixed = Fixed {
            magic: md::MAGIC,
            version: 1,
            features: 0,
            array: self.array,
            name,
            made: seconds,
            level: if parity { md::PARITY } else { md::STRIPED },
            size: if parity { self.each / SECTOR } else { 0 },
            stripe_unit: (self.stripes.stripe_unit / SECTOR) as u32,
            members: self.stripes.drives as u32,
            reshape: 0,
            data_offset: 0,
            data_size: self.each / SECTOR,
            super_offset: md::place(self.drive.bytes).unwrap_or(0) / SECTOR,
            number: self.number as u32,
            member: self.uuid,
            written: seconds,
            events: self.generation,
            resync_offset: IN_SYNC,
            checksum: 0,
            roles: self.stripes.drives as u32,
        };
        let role = |n: usize| match self.has(n as u64) {
            true => n as u16,
            false => md::FAULTY,
        };
        Md {
            fixed,
            roles: core::array::from_fn(role),
        }
    }

    /// What md's superblock of this drive says otherwise: name, what is here, what is there. When it was
    /// written last, by whom, and how often, is no difference.
    #[must_use]
    pub fn differs(&self, md: &Md) -> Option<(&'static str, u64, u64)> {
        let (ours, theirs) = (self.md().fixed, md.fixed);
        let uuid = |uuid: [u8; 16]| u64::from_be_bytes(Wire::get(&uuid, 0));
        let numbers = [
            ("array's UUID", uuid(ours.array), uuid(theirs.array)),
            ("member's UUID", uuid(ours.member), uuid(theirs.member)),
            ("level", ours.level.into(), theirs.level.into()),
            ("feature map", ours.features.into(), theirs.features.into()),
            (
                "sectors of a stripe unit",
                ours.stripe_unit.into(),
                theirs.stripe_unit.into(),
            ),
            (
                "number of members",
                ours.members.into(),
                theirs.members.into(),
            ),
            ("number", self.number, theirs.number.into()),
            ("first sector", ours.data_offset, theirs.data_offset),
            ("sectors", ours.data_size, theirs.data_size),
        ];
        numbers.into_iter().find(|(_, ours, theirs)| ours != theirs)
    }
}

#[cfg(test)]
mod tests {
    use super::super::superblock::CRC_AT;
    use super::*;
    use proptest::prelude::*;

    /// Any sum that notices a change.
    fn crc(before: u32, bytes: &[u8]) -> u32 {
        bytes
            .iter()
            .fold(before, |sum, byte| sum.rotate_left(5) ^ u32::from(*byte))
    }

    fn members() -> impl Strategy<Value = Member> {
        let shape = (2..=DRIVES_MOST, 12..=20u32, any::<(bool, bool)>());
        let own = any::<([u8; 16], [u8; 16], u64, u64, u64, u32)>();
        (shape, own, 1..1u64 << 20).prop_map(|((drives, unit, flags), own, units)| {
            let number = own.3 % drives;
            let each = units << unit;
            Member {
                array: own.0,
                uuid: own.1,
                generation: own.2,
                number,
                present: own.5 & all(drives) | 1 << number,
                stripes: Stripes {
                    drives,
                    stripe_unit: 1 << unit,
                    parity: flags.0,
                },
                each,
                block_bytes: if flags.1 { 4096 } else { 512 },
                formatted: own.4,
                drive: Drive {
                    model: [b'm'; 40],
                    serial: [b's'; 20],
                    firmware: [b'f'; 8],
                    bytes: each + TAIL_BYTES + own.4 % (1 << 50),
                },
            }
        })
    }

    proptest! {
        #[test]
        fn what_is_written_reads_the_same(
            member in members(), bit in 0..PAGE_BYTES * 8, text in prop::collection::vec(any::<u8>(), 0..5000),
        ) {
            let mut page = member.to_bytes(&text, crc);
            prop_assert_eq!(Member::parse(&page, crc), Ok(member));
            page[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(Member::parse(&page, crc).is_err(), "bit {} is wrong", bit);
        }

        #[test]
        fn whatever_is_read_can_be_used(member in members(), at in 8..128usize, bytes: [u8; 8]) {
            let mut page = member.to_bytes(b"", crc);
            put(&mut page, at, &bytes);
            let sum = crc(0, &page[..CRC_AT]);
            put(&mut page, CRC_AT, &sum.to_le_bytes());
            if let Ok(read) = Member::parse(&page, crc) {
                prop_assert_eq!(read.check(), Ok(()));
                let last = read.each * read.stripes.data_drives() - 1;
                let (drive, at) = read.stripes.place(last);
                prop_assert!((drive as u64) < read.stripes.data_drives() && at < read.each);
                prop_assert!(read.each <= room(read.drive.bytes));
            }
        }

        #[test]
        fn md_says_the_same(member in members()) {
            let md = Md::parse(&member.md().to_bytes());
            prop_assert_eq!(md.as_ref().map(|md| member.differs(md)), Ok(None));
            prop_assert_eq!(md.map(|md| md.role().map(u64::from)), Ok(Some(member.number)));
            let other = Member { number: (member.number + 1) % member.stripes.drives, ..member };
            let (name, ..) = other.differs(&member.md()).expect("another number");
            prop_assert_eq!(name, "number");
        }
    }

    #[test]
    fn the_copies_stand_on_both_sides_of_md() {
        for bytes in [TAIL_BYTES, 1 << 20, (1 << 20) + 512, (1 << 20) + 4095] {
            let [first, second] = places(bytes).expect("room");
            let md = md::place(bytes).expect("room");
            assert_eq!((first + PAGE, md + PAGE), (md, second));
            assert!(second + PAGE <= bytes && first == room(bytes));
        }
        assert_eq!((places(TAIL_BYTES - 1), room(100)), (None, 0));
    }
}
