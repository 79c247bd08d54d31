// SPDX-License-Identifier: Apache-2.0
//! The 32 bytes in front of the payload of each frame, little-endian.
//!
//! | byte | what |
//! |---|---|
//! | 0–3 | magic `FBY1` |
//! | 4 | version 2 in bits 7:4; flags in bits 3:0: bit 0 first of its object, bit 1 last |
//! | 5 | 0 |
//! | 6–7 | stream |
//! | 8–11 | epoch: any number, another one whenever the sender begins anew |
//! | 12–15 | number of the frame in its stream, one more each frame, modulo 2^32 |
//! | 16–23 | object |
//! | 24–31 | first of its object: bytes of the whole object; else: offset of the payload in it |

use crate::bytes::{get_u16, get_u32, get_u64, put};

/// Bytes of the header.
pub const BYTES: usize = 32;
/// The first four bytes.
pub const MAGIC: [u8; 4] = *b"FBY1";
/// The version that this crate speaks.
pub const VERSION: u8 = 2;
/// Offset of the version, in bits 7:4, and the flags, in bits 3:0.
pub const FLAGS_AT: usize = 4;
/// Flag: the payload is the beginning of its object.
pub const FIRST: u8 = 1 << 0;
/// Flag: the payload is the end of its object.
pub const LAST: u8 = 1 << 1;
/// Offset of a byte that is 0.
pub const RESERVED_AT: usize = 5;
/// Offset of the stream.
pub const STREAM_AT: usize = 6;
/// Offset of the epoch.
pub const EPOCH_AT: usize = 8;
/// Offset of the sequence number.
pub const SEQUENCE_AT: usize = 12;
/// Offset of the object.
pub const OBJECT_AT: usize = 16;
/// Offset of the object's length or the payload's place.
pub const PLACE_AT: usize = 24;
/// Numbers of a stream that a receiver remembers, up to the highest: what is further behind is old.
pub const WINDOW: u32 = 64;

/// Where the payload of a frame lies in its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// At its beginning.
    First {
        /// Bytes of the whole object.
        total: u64,
    },
    /// Behind its beginning.
    At {
        /// Bytes of the object before this payload.
        offset: u64,
    },
}

/// What precedes the payload of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Which stream.
    pub stream: u16,
    /// Which run of the sender.
    pub epoch: u32,
    /// Number of the frame in its stream.
    pub sequence: u32,
    /// Which object.
    pub object: u64,
    /// Where in the object.
    pub position: Position,
    /// The object ends with this frame.
    pub last: bool,
}

/// Why bytes are no header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// Fewer than [`BYTES`], or no payload behind them.
    #[error("no more than {BYTES} bytes: header and payload take more")]
    Short,
    /// No [`MAGIC`].
    #[error("the first four bytes are not FBY1")]
    Magic,
    /// Another version, flags that this one does not have, or a reserved byte that is not 0.
    #[error("not version {VERSION} of the header, or something in it that this version reserves")]
    Version,
}

impl Header {
    /// Writes the header.
    pub fn to_bytes(&self) -> [u8; BYTES] {
        let (first, place) = match self.position {
            Position::First { total } => (FIRST, total),
            Position::At { offset } => (0, offset),
        };
        let mut bytes = [0; BYTES];
        put(&mut bytes, 0, &MAGIC);
        bytes[FLAGS_AT] = VERSION << 4 | first | if self.last { LAST } else { 0 };
        put(&mut bytes, STREAM_AT, &self.stream.to_le_bytes());
        put(&mut bytes, EPOCH_AT, &self.epoch.to_le_bytes());
        put(&mut bytes, SEQUENCE_AT, &self.sequence.to_le_bytes());
        put(&mut bytes, OBJECT_AT, &self.object.to_le_bytes());
        put(&mut bytes, PLACE_AT, &place.to_le_bytes());
        bytes
    }

    /// Reads what follows the UDP header, or the EtherType: the header and its payload.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong.
    pub fn split(datagram: &[u8]) -> Result<(Self, &[u8]), HeaderError> {
        let (bytes, payload) = match datagram.split_first_chunk::<BYTES>() {
            Some((_, [])) | None => return Err(HeaderError::Short),
            Some(found) => found,
        };
        if bytes[..4] != MAGIC {
            return Err(HeaderError::Magic);
        }
        let flags = bytes[FLAGS_AT];
        if flags & !(FIRST | LAST) != VERSION << 4 || bytes[RESERVED_AT] != 0 {
            return Err(HeaderError::Version);
        }
        let place = get_u64(bytes, PLACE_AT);
        let header = Self {
            stream: get_u16(bytes, STREAM_AT),
            epoch: get_u32(bytes, EPOCH_AT),
            sequence: get_u32(bytes, SEQUENCE_AT),
            object: get_u64(bytes, OBJECT_AT),
            position: if flags & FIRST != 0 {
                Position::First { total: place }
            } else {
                Position::At { offset: place }
            },
            last: flags & LAST != 0,
        };
        Ok((header, payload))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use proptest::prelude::*;
    use std::vec::Vec;

    fn headers() -> impl Strategy<Value = Header> {
        let position = prop_oneof![
            any::<u64>().prop_map(|total| Position::First { total }),
            any::<u64>().prop_map(|offset| Position::At { offset }),
        ];
        let numbers = any::<(u16, u32, u32, u64, bool)>();
        (numbers, position).prop_map(
            |((stream, epoch, sequence, object, last), position)| Header {
                stream,
                epoch,
                sequence,
                object,
                position,
                last,
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_written_reads_the_same(header in headers(), payload: Vec<u8>) {
            let mut datagram = Vec::from(header.to_bytes());
            datagram.extend(&payload);
            let read = Header::split(&datagram);
            match payload.is_empty() {
                true => prop_assert_eq!(read, Err(HeaderError::Short)),
                false => prop_assert_eq!(read, Ok((header, &payload[..]))),
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(datagram: Vec<u8>) {
            if let Ok((header, payload)) = Header::split(&datagram) {
                prop_assert_eq!(&header.to_bytes()[..], &datagram[..BYTES]);
                prop_assert_eq!(payload, &datagram[BYTES..]);
            }
        }
    }

    #[test]
    fn the_packing_is_the_documented_one() {
        let header = Header {
            stream: 0x1234,
            epoch: 0x0506_0708,
            sequence: 0x0102_0304,
            object: 9,
            position: Position::First { total: 0x4000 },
            last: true,
        };
        let bytes = header.to_bytes();
        assert_eq!(bytes[..8], *b"FBY1\x23\0\x34\x12");
        assert_eq!(bytes[8..17], [8, 7, 6, 5, 4, 3, 2, 1, 9]);
        assert_eq!(bytes[24..27], [0, 0x40, 0]);
    }

    #[test]
    fn each_fault_has_a_name() {
        let mut datagram = [0; BYTES + 1];
        assert_eq!(Header::split(&datagram[1..]), Err(HeaderError::Short));
        assert_eq!(Header::split(&datagram), Err(HeaderError::Magic));
        datagram[..4].copy_from_slice(&MAGIC);
        assert_eq!(Header::split(&datagram), Err(HeaderError::Version));
        datagram[FLAGS_AT] = VERSION << 4;
        assert!(Header::split(&datagram).is_ok());
        for (at, wrong) in [
            (FLAGS_AT, VERSION << 4 | 4),
            (FLAGS_AT, 1 << 4),
            (RESERVED_AT, 1),
        ] {
            let mut datagram = datagram;
            datagram[at] = wrong;
            assert_eq!(Header::split(&datagram), Err(HeaderError::Version));
        }
    }
}
