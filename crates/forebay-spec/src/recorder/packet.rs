// SPDX-License-Identifier: Apache-2.0
//! What a packet of an extent carries beside its bytes on its way through processing elements.

use crate::net::header;

/// TUSER with TLAST: the extent is not a whole object.
pub const PART: u8 = 1;
/// TUSER with TLAST: the extent ends an object of which nothing is missing, in whichever extents it
/// came: there is one result of it.
pub const ENDS_OBJECT: u8 = 2;
/// Flag in the word that announces an extent, among those of the header, which has it not on the
/// wire: the extent goes on with its object where the one before it of the stream has ended.
pub const GOES_ON: u8 = 4;
/// Bits of a nonce: the upper half of the counter blocks that encrypt an object.
pub const NONCE_BITS: u32 = 64;
/// Bits of what goes beside an object that is read to be sent: nonce, offset, stream, and above them whether it
/// is a part of one.
pub const READ_BITS: u32 = 145;
/// Bits of TID, the extent's tag.
pub const TAG_BITS: u32 = 32;
/// Bytes in front of the time in nanoseconds in the word that announces an extent: header of its
/// first frame, and the frames missing before, in 64 bits.
pub const NS_AT: u32 = header::BYTES as u32 + 8;
/// And of the same time in seconds, which is 34 of 40 bits.
pub const SECONDS_AT: u32 = NS_AT + 8;
/// Bits of that word.
pub const HEAD_BITS: u32 = 8 * (SECONDS_AT + 5);
