// SPDX-License-Identifier: Apache-2.0
//! A frame, from addresses to the last byte of payload.

use super::error::NetError;
use super::{BYTE, CHECK_BYTES, GAP_BYTES, PREAMBLE_BYTES};
use crate::Time;
use forebay_spec::net::ethernet::LEAST_BYTES;

/// Bytes of the longest frame that the model carries: far over what any receiver takes.
pub const MOST_BYTES: usize = 65_535;

/// Bytes of the shortest frame that the MAC hands over. Shorter ones could follow each other faster
/// than it has cycles; it drops them and counts.
pub const LEAST_HANDED_BYTES: usize = 16;

/// What a frame was made to be. The receiver does not see it; the counters are by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// As it should be.
    Good,
    /// The same as one before.
    Duplicate,
    /// Overtaken by others.
    Late,
    /// Good but for its check sequence.
    Damaged,
    /// Broken off in its middle, which breaks its check sequence, too.
    Truncated,
    /// Shorter than the shortest frame, with a good check sequence.
    Runt,
    /// Longer than a receiver's limit.
    Giant,
    /// Bytes by chance.
    Noise,
    /// A good one with one bit of its headers turned before its check sequence was made.
    Turned,
    /// A pause frame.
    Pause,
}

impl Kind {
    /// All of them, in order.
    pub const ALL: [Self; 10] = [
        Self::Good,
        Self::Duplicate,
        Self::Late,
        Self::Damaged,
        Self::Truncated,
        Self::Runt,
        Self::Giant,
        Self::Noise,
        Self::Turned,
        Self::Pause,
    ];

    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Duplicate => "duplicate",
            Self::Late => "late",
            Self::Damaged => "damaged",
            Self::Truncated => "truncated",
            Self::Runt => "runt",
            Self::Giant => "giant",
            Self::Noise => "noise",
            Self::Turned => "turned",
            Self::Pause => "pause",
        }
    }
}

/// A frame without preamble and check sequence. It has 1 to [`MOST_BYTES`] bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    bytes: Vec<u8>,
    damaged: bool,
    kind: Kind,
}

impl Frame {
    /// A frame as a MAC sends it: filled with zeros to 60 bytes.
    ///
    /// # Errors
    ///
    /// No bytes, or too many.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Result<Self, NetError> {
        let mut frame = Self::bare(bytes)?;
        let bytes = frame.bytes.len().max(LEAST_BYTES);
        frame.bytes.resize(bytes, 0);
        Ok(frame)
    }

    /// A frame as it is, even if it is too short to be one.
    ///
    /// # Errors
    ///
    /// No bytes, or too many.
    pub fn bare(bytes: impl Into<Vec<u8>>) -> Result<Self, NetError> {
        let bytes = bytes.into();
        if bytes.is_empty() || bytes.len() > MOST_BYTES {
            return Err(NetError::Frame { bytes: bytes.len() });
        }
        Ok(Self {
            bytes,
            damaged: false,
            kind: Kind::Good,
        })
    }

    /// The same with a bad check sequence.
    #[must_use]
    pub fn damage(mut self) -> Self {
        self.damaged = true;
        self
    }

    /// The same with one byte changed, and a bad check sequence: [`Kind::Damaged`].
    pub(super) fn spoilt(mut self, which: u64) -> Self {
        let at = (which % self.len()) as usize;
        self.bytes[at] ^= 0xff;
        self.damage().of_kind(Kind::Damaged)
    }

    /// Its first bytes, at least one, and a bad check sequence: [`Kind::Truncated`].
    pub(super) fn truncated(mut self, bytes: usize) -> Self {
        self.bytes.truncate(bytes.max(1));
        self.damage().of_kind(Kind::Truncated)
    }

    /// The same, counted as of this kind.
    #[must_use]
    pub fn of_kind(mut self, kind: Kind) -> Self {
        self.kind = kind;
        self
    }

    /// From addresses to the last byte of payload.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The check sequence is wrong.
    #[must_use]
    pub const fn is_damaged(&self) -> bool {
        self.damaged
    }

    /// What it was made to be.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// Number of its bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Never: a frame has bytes.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// Time that it takes on the wire, with preamble, check sequence and gap.
    #[must_use]
    pub fn wire_time(&self) -> Time {
        (PREAMBLE_BYTES + self.len() + CHECK_BYTES + GAP_BYTES) * BYTE
    }

    /// Time from the first bit of its preamble until its check sequence is over.
    pub(super) fn until_checked(&self) -> Time {
        (PREAMBLE_BYTES + self.len() + CHECK_BYTES) * BYTE
    }
}
