// SPDX-License-Identifier: Apache-2.0
//! What the MAC's streams carry in a cycle.

use forebay_spec::net::ethernet::TYPE_MAC_CONTROL;

use super::error::BeatError;

/// Bytes of a beat.
pub const BEAT_BYTES: usize = 64;

/// A beat of 512 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beat {
    /// TDATA, byte 0 in the lowest bits; zeros behind the last byte that counts.
    pub data: [u8; BEAT_BYTES],
    /// How many bytes count, 1 to 64: the ones of TKEEP.
    pub bytes: u8,
    /// TLAST.
    pub last: bool,
    /// TUSER, which counts with TLAST: the frame is damaged.
    pub damaged: bool,
}

impl Beat {
    /// What the pins say.
    ///
    /// # Errors
    ///
    /// TKEEP is zero or has holes.
    pub fn from_pins(
        data: &[u8; BEAT_BYTES],
        keep: u64,
        last: bool,
        user: bool,
    ) -> Result<Self, BeatError> {
        let bytes = keep.trailing_ones();
        if keep == 0 || keep.count_ones() != bytes {
            return Err(BeatError::Keep { keep });
        }
        Ok(Self {
            data: *data,
            bytes: bytes as u8,
            last,
            damaged: last && user,
        })
    }

    /// It is a MAC control frame, such as one that asks for silence: these are one beat long.
    #[must_use]
    pub fn is_mac_control(&self) -> bool {
        self.last && self.data[12..14] == TYPE_MAC_CONTROL.to_be_bytes()
    }

    /// TKEEP.
    #[must_use]
    pub const fn keep(&self) -> u64 {
        match self.bytes {
            0 => 0,
            1..64 => (1 << self.bytes) - 1,
            _ => u64::MAX,
        }
    }

    /// The bytes that count, if there are as many as a beat can have and the rest of a frame needs.
    pub(super) fn checked(&self) -> Result<&[u8], BeatError> {
        match self.data.get(..usize::from(self.bytes)) {
            None | Some([]) => Err(BeatError::Bytes { bytes: self.bytes }),
            Some(bytes) if bytes.len() < BEAT_BYTES && !self.last => {
                Err(BeatError::Partial { bytes: self.bytes })
            }
            Some(bytes) => Ok(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pins_are_read_or_refused(keep: u64, ones in 0u32..=64, last: bool, user: bool) {
            let ones = u64::MAX.checked_shr(64 - ones).unwrap_or(0);
            for keep in [keep, ones] {
                match Beat::from_pins(&[7; 64], keep, last, user) {
                    Ok(beat) => {
                        prop_assert_eq!(beat.keep(), keep);
                        prop_assert_eq!(u32::from(beat.bytes), keep.count_ones());
                        prop_assert_eq!(beat.damaged, last && user);
                    }
                    Err(error) => {
                        prop_assert_eq!(error, BeatError::Keep { keep });
                        prop_assert!(keep == 0 || (keep & keep.wrapping_add(1)) != 0);
                    }
                }
            }
        }
    }

    #[test]
    fn only_the_last_beat_may_be_short() {
        let mut beat = Beat::from_pins(&[1; 64], 1, false, false).expect("no hole");
        assert_eq!(beat.checked(), Err(BeatError::Partial { bytes: 1 }));
        beat.last = true;
        assert_eq!(beat.checked(), Ok(&[1][..]));
        for bytes in [0, 65, 255] {
            beat.bytes = bytes;
            assert_eq!(beat.checked(), Err(BeatError::Bytes { bytes }));
        }
    }
}
