// SPDX-License-Identifier: Apache-2.0
//! Headers of tar files as we write them: ustar, POSIX.1-1988, 512 bytes.

use super::Session;
use crate::bytes::put;

/// Bytes of a header; files are padded to a multiple of it.
pub const BYTES: usize = 512;
/// Bytes of the name.
pub const NAME_BYTES: usize = 100;
/// Offset of the size, 11 octal digits.
pub const SIZE_AT: usize = 124;
/// Offset of the time of change in seconds since 1970, 11 octal digits.
pub const TIME_AT: usize = 136;
/// Offset of the checksum: 6 octal digits, NUL, blank.
pub const SUM_AT: usize = 148;
/// Offset of the kind of file.
pub const KIND_AT: usize = 156;
/// Offset of the target of a link, which of a file nothing reads: here the name that an object had.
pub const LINK_AT: usize = 157;
/// Offset of what is put in front of the name, with a slash.
pub const PREFIX_AT: usize = 345;
/// Bytes of it.
pub const PREFIX_BYTES: usize = 155;
/// Kind: a file.
pub const FILE: u8 = b'0';
/// Kind: settings for all that follows, here a comment.
pub const GLOBAL: u8 = b'g';

/// The name that an object had where it came from: at most 100 bytes, none of them NUL; empty where it
/// had none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Name([u8; NAME_BYTES]);

impl Name {
    /// No name.
    pub const NONE: Self = Self([0; NAME_BYTES]);

    /// Of these bytes; none where they find no room or have a NUL among them.
    #[must_use]
    pub fn new(name: &[u8]) -> Option<Self> {
        let mut field = [0; NAME_BYTES];
        field.get_mut(..name.len())?.copy_from_slice(name);
        (!name.contains(&0)).then_some(Self(field))
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        let end = self.0.iter().position(|byte| *byte == 0);
        &self.0[..end.unwrap_or(NAME_BYTES)]
    }

    /// As it stands in a header.
    pub(super) fn of(header: &[u8; BYTES]) -> Self {
        let mut field = [0; NAME_BYTES];
        field.copy_from_slice(&header[LINK_AT..LINK_AT + NAME_BYTES]);
        Self(field)
    }

    pub(super) fn put(&self, header: &mut [u8]) {
        put(header, LINK_AT, &self.0);
    }
}

impl Default for Name {
    fn default() -> Self {
        Self::NONE
    }
}

impl core::fmt::Debug for Name {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        core::fmt::Debug::fmt(&self.bytes().escape_ascii(), f)
    }
}

/// A header without name, size and checksum.
pub(super) const fn blank(kind: u8) -> [u8; BYTES] {
    let mut header = [0; BYTES];
    let fields: [(usize, &[u8]); 6] = [
        (100, b"0000644\0"),
        (108, b"0000000\0"),
        (116, b"0000000\0"),
        (257, b"ustar\x0000"),
        (265, b"forebay"),
        (297, b"forebay"),
    ];
    let mut field = 0;
    while field < fields.len() {
        let (at, text) = fields[field];
        let mut index = 0;
        while index < text.len() {
            header[at + index] = text[index];
            index += 1;
        }
        field += 1;
    }
    header[KIND_AT] = kind;
    header
}

/// Octal digits with leading zeros.
pub(super) fn octal(mut value: u64, digits: &mut [u8]) {
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (value & 7) as u8;
        value >>= 3;
    }
}

/// The sum that stands in a header: of all bytes, its own field taken as blanks.
#[must_use]
pub const fn sum(header: &[u8; BYTES]) -> u32 {
    let (mut at, mut sum) = (0, 0);
    while at < BYTES {
        let blank = SUM_AT <= at && at < KIND_AT;
        sum += if blank { b' ' } else { header[at] } as u32;
        at += 1;
    }
    sum
}

/// A header of ours.
#[must_use]
pub fn header(session: Session, name: &[u8], kind: u8, size: u64, seconds: u64) -> [u8; BYTES] {
    let mut header = blank(kind);
    put(&mut header, 0, &name[..name.len().min(NAME_BYTES)]);
    octal(size, &mut header[SIZE_AT..SIZE_AT + 11]);
    octal(seconds, &mut header[TIME_AT..TIME_AT + 11]);
    put(&mut header, PREFIX_AT, &session.text());
    let check = sum(&header);
    octal(check.into(), &mut header[SUM_AT..SUM_AT + 6]);
    header[KIND_AT - 1] = b' ';
    header
}

/// What a header says that we wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'h> {
    /// Name, without the session.
    pub name: &'h [u8],
    /// Bytes.
    pub size: u64,
    /// Which recording.
    pub session: Session,
    /// The name that the object had where it came from.
    pub origin: Name,
}

/// Reads a header of a file; none where it is not one that we wrote, or damaged.
#[must_use]
pub fn parse(header: &[u8; BYTES]) -> Option<Entry<'_>> {
    let number = |at: usize, digits: usize| {
        header[at..at + digits]
            .iter()
            .try_fold(0u64, |value, digit| match digit {
                b'0'..=b'7' => Some(value << 3 | u64::from(digit - b'0')),
                _ => None,
            })
    };
    let ours = header[257..265] == *b"ustar\x0000" && header[KIND_AT] == FILE;
    if !ours || number(SUM_AT, 6)? != sum(header).into() {
        return None;
    }
    let name = &header[..NAME_BYTES];
    Some(Entry {
        name: name.split(|byte| *byte == 0).next()?,
        size: number(SIZE_AT, 11)?,
        session: Session::from_text(&header[PREFIX_AT..PREFIX_AT + 36])?,
        origin: Name::of(header),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_reads_the_same(
            uuid: [u8; 16], name in "[a-z0-9/.]{1,100}", size in 0..1u64 << 33, time: u32,
            byte in 0..BYTES, bit in 0..8u8,
        ) {
            let session = Session(uuid);
            let mut bytes = header(session, name.as_bytes(), FILE, size, time.into());
            prop_assert_eq!(parse(&bytes), Some(Entry { name: name.as_bytes(), size, session, origin: Name::NONE }));
            bytes[byte] ^= 1u8 << bit;
            // What stands behind the sum's digits is no part of it.
            prop_assert!(parse(&bytes).is_none() || (154..156).contains(&byte));
        }

        #[test]
        fn names_are_kept_or_refused(name: std::vec::Vec<u8>) {
            let kept = Name::new(&name);
            prop_assert_eq!(kept.is_some(), name.len() <= NAME_BYTES && !name.contains(&0));
            prop_assert!(kept.is_none_or(|kept| kept.bytes() == name));
        }

        #[test]
        fn any_bytes_are_a_header_or_none(bytes: [[u8; 32]; 16]) {
            let mut header = [0; BYTES];
            for (to, from) in header.iter_mut().zip(bytes.as_flattened()) {
                *to = *from;
            }
            let _ = parse(&header);
        }
    }
}
