// SPDX-License-Identifier: Apache-2.0
//! The tar header in front of a small object's payload: what recovery needs stands in it, no JSON
//! beside it.
//!
//! It is the second header of an extent's page, with the time as the owner's name and the checksum
//! as the group's. As that one it is a template with holes.

use super::page::{
    CRC, EXTENSION, FIELD_CHARACTERS, Facts, HOLE, NAME_OBJECT, NAME_OFFSET, NAME_STREAM, SUM,
    TEMPLATES, TIME, nibbles, number,
};
use super::schema::Schema;
use super::tar;

/// Offset of the time: nanoseconds since 1970, with leading zeros.
const TIME_AT: usize = 265;
/// Offset of the payload's CRC32C, hexadecimal.
const CRC_AT: usize = 297;

const fn template<const N: usize>(page: &[u16; N]) -> [u16; tar::BYTES] {
    let mut header = [0; tar::BYTES];
    let mut at = 0;
    while at < tar::BYTES {
        let own = match at {
            TIME_AT.. if at < TIME_AT + TIME.len => Some(TIME.at + at - TIME_AT),
            CRC_AT.. if at < CRC_AT + CRC.len => Some(CRC.at + at - CRC_AT),
            _ => None,
        };
        header[at] = match own {
            Some(hole) => HOLE | hole as u16,
            None => page[N - tar::BYTES + at],
        };
        at += 1;
    }
    header
}

/// The header of a whole object.
pub const SMALL_WHOLE: [u16; tar::BYTES] = template(&TEMPLATES[1]);
/// The header of any other extent.
pub const SMALL_PART: [u16; tar::BYTES] = template(&TEMPLATES[0]);

const fn of(whole: bool) -> &'static [u16; tar::BYTES] {
    match whole {
        true => &SMALL_WHOLE,
        false => &SMALL_PART,
    }
}

impl Facts {
    /// The header of a small object; missing frames, sequence, epoch and result are not in it.
    #[must_use]
    pub fn to_header(&self) -> [u8; tar::BYTES] {
        let mut fields = self.fields();
        for digit in &mut fields[TIME.at..TIME.at + TIME.len] {
            // A blank becomes a zero, a digit stays what it is.
            *digit |= 0x10;
        }
        let mut header = of(self.whole).map(|character| match character & HOLE {
            0 => character as u8,
            _ => fields[usize::from(character & !HOLE)],
        });
        self.name.put(&mut header);
        let sum = tar::sum(&header);
        tar::octal(sum.into(), &mut header[tar::SUM_AT..tar::SUM_AT + SUM.len]);
        header
    }

    /// Reads a header of a small object; none where a single byte of it is other than
    /// [`Self::to_header`] writes.
    #[must_use]
    pub fn parse_header(header: &[u8; tar::BYTES]) -> Option<Self> {
        let entry = tar::parse(header)?;
        let whole = header[NAME_STREAM.len + 1 + NAME_OBJECT.len] == b'.';
        let mut all = [b'0'; FIELD_CHARACTERS];
        for (place, character) in of(whole).iter().zip(header) {
            if place & HOLE != 0 {
                all[usize::from(place & !HOLE)] = *character;
            }
        }
        let count = |at: usize, len: usize| number(&all[at..at + len]);
        let facts = Self {
            schema: Schema::NONE,
            session: entry.session,
            extension: *all[EXTENSION.at..].first_chunk()?,
            stream: count(NAME_STREAM.at, NAME_STREAM.len)?.try_into().ok()?,
            object: count(NAME_OBJECT.at, NAME_OBJECT.len)?,
            offset: count(NAME_OFFSET.at, NAME_OFFSET.len)?,
            length: entry.size.try_into().ok()?,
            whole,
            missing: 0,
            sequence: 0,
            epoch: 0,
            time: count(TIME.at, TIME.len)?,
            crc32c: nibbles(&all[CRC.at..CRC.at + CRC.len])?.try_into().ok()?,
            nonce: 0,
            result: None,
            name: tar::Name::of(header),
        };
        (facts.to_header() == *header).then_some(facts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Session;
    extern crate std;
    use proptest::prelude::*;
    use std::format;
    use std::string::String;

    proptest! {
        #[test]
        fn a_header_reads_as_it_was_written(
            uuid: [u8; 16], numbers: (u16, u64, u64, u32), time: u64, crc32c: u32, whole: bool,
            name in "[^\0]{0,25}", noise: (u16, u8),
        ) {
            let (stream, object, offset, length) = numbers;
            let facts = Facts {
                schema: Schema::NONE, session: Session(uuid), extension: *b"bin\0", stream, object, length, whole,
                offset: if whole { 0 } else { offset },
                missing: 0, sequence: 0, epoch: 0, time, crc32c, nonce: 0, result: None,
                name: tar::Name::new(name.as_bytes()).expect("25 characters are at most 100 bytes"),
            };
            let mut header = facts.to_header();
            let number = match whole {
                true => format!("{stream:05}/{object:020}.bin"),
                false => format!("{stream:05}/{object:020}@{offset:020}.bin"),
            };
            let entry = tar::parse(&header).expect("a header");
            prop_assert_eq!(String::from_utf8_lossy(entry.name), number);
            prop_assert_eq!((entry.size, entry.session), (length.into(), facts.session));
            let owner = String::from_utf8_lossy(&header[TIME_AT..TIME_AT + 20]);
            prop_assert_eq!(owner, format!("{time:020}"));
            let group = String::from_utf8_lossy(&header[CRC_AT..CRC_AT + 8]);
            prop_assert_eq!(group, format!("{crc32c:08x}"));
            prop_assert_eq!(Facts::parse_header(&header), Some(facts));
            let at = usize::from(noise.0) % tar::BYTES;
            if header[at] != noise.1 {
                header[at] = noise.1;
                prop_assert_eq!(Facts::parse_header(&header), None, "byte {} is wrong", at);
            }
        }

        #[test]
        fn any_bytes_are_a_header_or_none(
            noise in prop::collection::vec((0..tar::BYTES, any::<u8>()), 0..8), whole: bool,
        ) {
            let facts = Facts {
                schema: Schema::NONE, session: Session([7; 16]), extension: *b"bin\0", stream: 1, object: 2, offset: 0,
                length: 3, whole, missing: 0, sequence: 0, epoch: 0, time: 4, crc32c: 5,
                nonce: 0, result: None, name: tar::Name::NONE,
            };
            let mut header = facts.to_header();
            for (at, byte) in noise {
                header[at] = byte;
            }
            // With a sum that is right, so that what lies behind it is reached.
            let sum = tar::sum(&header);
            tar::octal(sum.into(), &mut header[tar::SUM_AT..tar::SUM_AT + SUM.len]);
            let _ = Facts::parse_header(&header);
        }
    }
}
