// SPDX-License-Identifier: Apache-2.0
//! The eight-bit code that tells a user why a transaction failed.

use crate::nvme::Status;

/// Stored, or read without error.
pub const OK: u8 = 0x00;
/// The address is not a multiple of the logical block.
pub const MISALIGNED: u8 = 0x01;
/// The length is zero.
pub const ZERO_LENGTH: u8 = 0x02;
/// The range ends past the namespace.
pub const OUT_OF_RANGE: u8 = 0x03;
/// A command was not answered within the time-out.
pub const TIMEOUT: u8 = 0x04;
/// The queue stopped after a time-out and waits to be disabled and enabled again.
pub const HALTED: u8 = 0x05;
/// TKEEP was partial before the last beat, or not contiguous.
pub const BAD_KEEP: u8 = 0x06;
/// An unordered read is longer than one page, 4096 bytes.
pub const TOO_LONG: u8 = 0x07;
/// The memory that holds the payload has refused a part of it.
pub const MEMORY: u8 = 0x08;
/// The drive that it concerns is offline.
pub const OFFLINE: u8 = 0x09;
/// The drives were reset while it was under way. The raw recorder says so, not the streamer.
pub const RESET: u8 = 0x0a;
/// Set in a code that carries a condensed NVMe status.
pub const NVME_FLAG: u8 = 0x80;

/// A failure as the user side of the streamer reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum UserError {
    /// [`MISALIGNED`].
    #[error("the address is not a multiple of the logical block")]
    Misaligned,
    /// [`ZERO_LENGTH`].
    #[error("the length is zero")]
    ZeroLength,
    /// [`OUT_OF_RANGE`].
    #[error("the range ends past the namespace")]
    OutOfRange,
    /// [`TIMEOUT`].
    #[error("the SSD did not answer within the time-out")]
    Timeout,
    /// [`HALTED`].
    #[error("the queue is halted after a time-out: enable it again")]
    Halted,
    /// [`BAD_KEEP`].
    #[error("TKEEP was partial before the last beat")]
    BadKeep,
    /// [`TOO_LONG`].
    #[error("an unordered read is at most 4096 bytes")]
    TooLong,
    /// [`MEMORY`].
    #[error("the memory of the payload refused a part of it (counted in register memory_errors)")]
    Memory,
    /// [`OFFLINE`].
    #[error("the drive on which it would lie is offline")]
    Offline,
    /// [`RESET`].
    #[error("the drives were reset while it was under way")]
    Reset,
    /// The SSD's own status, condensed: status code type and five of the eight code bits. The whole
    /// status stands in register `error_cause`.
    #[error(
        "the SSD failed the command (status code type {sct}, code bits {code:#04x}; the whole \
         status is in register error_cause)"
    )]
    Nvme {
        /// Status code type, 0–3.
        sct: u8,
        /// Bit 7 of the status code at bit 4, bits 3:0 below.
        code: u8,
    },
    /// A code this version does not know.
    #[error("unknown error code {0:#04x}")]
    Unknown(u8),
}

impl UserError {
    /// Reads a response byte; `None` is success.
    pub const fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            OK => return None,
            MISALIGNED => Self::Misaligned,
            ZERO_LENGTH => Self::ZeroLength,
            OUT_OF_RANGE => Self::OutOfRange,
            TIMEOUT => Self::Timeout,
            HALTED => Self::Halted,
            BAD_KEEP => Self::BadKeep,
            TOO_LONG => Self::TooLong,
            MEMORY => Self::Memory,
            OFFLINE => Self::Offline,
            RESET => Self::Reset,
            c if c & NVME_FLAG != 0 => Self::Nvme {
                sct: c >> 5 & 3,
                code: c & 0x1f,
            },
            c => Self::Unknown(c),
        })
    }

    /// The response byte of this error.
    pub const fn code(self) -> u8 {
        match self {
            Self::Misaligned => MISALIGNED,
            Self::ZeroLength => ZERO_LENGTH,
            Self::OutOfRange => OUT_OF_RANGE,
            Self::Timeout => TIMEOUT,
            Self::Halted => HALTED,
            Self::BadKeep => BAD_KEEP,
            Self::TooLong => TOO_LONG,
            Self::Memory => MEMORY,
            Self::Offline => OFFLINE,
            Self::Reset => RESET,
            Self::Nvme { sct, code } => NVME_FLAG | (sct & 3) << 5 | code & 0x1f,
            Self::Unknown(code) => code,
        }
    }

    /// The code the streamer gives for an SSD's status; `None` for success.
    pub const fn from_status(status: Status) -> Option<Self> {
        if status.is_success() {
            return None;
        }
        let sc = status.sc();
        Some(Self::Nvme {
            sct: status.sct() & 3,
            code: (sc >> 7) << 4 | sc & 0xf,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_survives_a_round_trip() {
        for code in 1..=u8::MAX {
            assert_eq!(UserError::from_code(code).map(UserError::code), Some(code));
        }
        assert_eq!(UserError::from_code(OK), None);
    }

    #[test]
    fn a_status_keeps_type_and_low_bits() {
        let error = UserError::from_status(Status::LBA_OUT_OF_RANGE);
        assert_eq!(error.map(UserError::code), Some(0x90));
        let error = UserError::from_status(Status::UNRECOVERED_READ_ERROR);
        assert_eq!(error.map(UserError::code), Some(0x80 | 2 << 5 | 1 << 4 | 1));
    }
}
