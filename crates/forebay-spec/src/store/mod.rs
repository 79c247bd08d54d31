// SPDX-License-Identifier: Apache-2.0
//! The on-SSD layout: tar files with an Arrow index, in partitions
//! (docs/reference/store-format.md).
//!
//! Nothing here computes CRC32C, which has well-kept libraries: who reads or writes brings a
//! [`Crc`].

mod arrow;
pub mod index;
pub mod layout;
pub mod md;
pub mod member;
pub mod page;
pub mod pcapng;
pub mod schema;
pub mod small;
pub mod superblock;
pub mod tar;
mod version1;

/// Bytes of a page; everything begins at a multiple of it.
pub const PAGE_BYTES: usize = 4096;

/// Goes on with a CRC32C (0 begins one) over more bytes.
pub type Crc = fn(u32, &[u8]) -> u32;

/// What tells a recording from all others: a UUID, its bytes in the order in which it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Session(pub [u8; 16]);

impl Session {
    /// The eight bytes that stand in each block of the index.
    #[must_use]
    pub const fn short(&self) -> [u8; 8] {
        let [a, b, c, d, e, f, g, h, ..] = self.0;
        [a, b, c, d, e, f, g, h]
    }

    /// As it is written: 36 characters.
    #[must_use]
    pub fn text(&self) -> [u8; 36] {
        let mut text = [b'-'; 36];
        let places = (0..36).filter(|at| !matches!(at, 8 | 13 | 18 | 23));
        for (at, place) in places.enumerate() {
            let nibble = self.0[at / 2] >> (4 * (1 - at % 2)) & 0xf;
            text[place] = b"0123456789abcdef"[usize::from(nibble)];
        }
        text
    }

    /// Reads what [`Self::text`] wrote.
    #[must_use]
    pub fn from_text(text: &[u8]) -> Option<Self> {
        let mut bytes = [0; 16];
        let mut at = 0;
        for (place, byte) in text.iter().enumerate() {
            if matches!(place, 8 | 13 | 18 | 23) {
                if *byte != b'-' {
                    return None;
                }
                continue;
            }
            let nibble = match byte {
                b'0'..=b'9' => byte - b'0',
                b'a'..=b'f' => byte - b'a' + 10,
                _ => return None,
            };
            *bytes.get_mut(at / 2)? |= nibble << (4 * (1 - at % 2));
            at += 1;
        }
        (at == 32).then_some(Self(bytes))
    }
}

impl core::fmt::Display for Session {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(core::str::from_utf8(&self.text()).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use proptest::prelude::*;
    use std::string::ToString;

    proptest! {
        #[test]
        fn a_session_is_written_and_read(bytes: [u8; 16]) {
            let session = Session(bytes);
            prop_assert_eq!(Session::from_text(&session.text()), Some(session));
            prop_assert_eq!(session.to_string().len(), 36);
        }

        #[test]
        fn any_text_is_a_session_or_none(text in prop::collection::vec(any::<u8>(), 0..50)) {
            let _ = Session::from_text(&text);
        }
    }

    #[test]
    fn a_session_is_written_as_a_uuid() {
        let session = Session(core::array::from_fn(|at| at as u8 * 17));
        assert_eq!(session.to_string(), "00112233-4455-6677-8899-aabbccddeeff");
    }
}
