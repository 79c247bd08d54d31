// SPDX-License-Identifier: Apache-2.0
//! The status field of a completion (3.3.3.2.1).

use crate::bytes::Wire;
use core::fmt;

/// Status field without the phase tag, 15 bits: code in 7:0, type in 10:8, retry delay in 12:11,
/// more in 13, do-not-retry in 14.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Status(u16);

/// Do not retry.
const DNR: u16 = 1 << 14;

macro_rules! statuses {
    ($($(#[$doc:meta])* $name:ident = $sct:literal, $sc:literal, $dnr:expr, $text:literal;)*) => {
        impl Status {
            $($(#[$doc])* pub const $name: Self = Self::new($sct, $sc, $dnr);)*

            /// Every status named here, with its name.
            pub const NAMED: &[(&'static str, Self)] = &[$((stringify!($name), Self::$name),)*];

            /// The specification's words for this code.
            pub const fn text(self) -> &'static str {
                match (self.sct(), self.sc()) {
                    $(($sct, $sc) => $text,)*
                    _ => "unknown status",
                }
            }
        }
    };
}

statuses! {
    /// Generic 00h.
    SUCCESS = 0, 0x00, false, "Successful Completion";
    /// Generic 01h.
    INVALID_OPCODE = 0, 0x01, true, "Invalid Command Opcode";
    /// Generic 02h.
    INVALID_FIELD = 0, 0x02, true, "Invalid Field in Command";
    /// Generic 03h.
    CID_CONFLICT = 0, 0x03, true, "Command ID Conflict";
    /// Generic 04h.
    DATA_TRANSFER_ERROR = 0, 0x04, false, "Data Transfer Error";
    /// Generic 06h.
    INTERNAL_ERROR = 0, 0x06, false, "Internal Error";
    /// Generic 07h.
    ABORT_REQUESTED = 0, 0x07, false, "Command Abort Requested";
    /// Generic 08h.
    ABORTED_SQ_DELETION = 0, 0x08, false, "Command Aborted due to SQ Deletion";
    /// Generic 0Bh.
    INVALID_NAMESPACE = 0, 0x0b, true, "Invalid Namespace or Format";
    /// Generic 0Ch.
    COMMAND_SEQUENCE_ERROR = 0, 0x0c, true, "Command Sequence Error";
    /// Generic 13h.
    INVALID_PRP_OFFSET = 0, 0x13, true, "PRP Offset Invalid";
    /// Generic 80h.
    LBA_OUT_OF_RANGE = 0, 0x80, true, "LBA Out of Range";
    /// Generic 81h.
    CAPACITY_EXCEEDED = 0, 0x81, true, "Capacity Exceeded";
    /// Generic 82h.
    NAMESPACE_NOT_READY = 0, 0x82, false, "Namespace Not Ready";
    /// Command specific 00h.
    CQ_INVALID = 1, 0x00, true, "Completion Queue Invalid";
    /// Command specific 01h.
    INVALID_QUEUE_ID = 1, 0x01, true, "Invalid Queue Identifier";
    /// Command specific 02h.
    INVALID_QUEUE_SIZE = 1, 0x02, true, "Invalid Queue Size";
    /// Command specific 03h.
    ABORT_LIMIT_EXCEEDED = 1, 0x03, false, "Abort Command Limit Exceeded";
    /// Command specific 05h.
    ASYNC_EVENT_LIMIT_EXCEEDED = 1, 0x05, true, "Asynchronous Event Request Limit Exceeded";
    /// Command specific 08h.
    INVALID_INTERRUPT_VECTOR = 1, 0x08, true, "Invalid Interrupt Vector";
    /// Command specific 09h.
    INVALID_LOG_PAGE = 1, 0x09, true, "Invalid Log Page";
    /// Command specific 0Ah.
    INVALID_FORMAT = 1, 0x0a, true, "Invalid Format";
    /// Command specific 0Ch.
    INVALID_QUEUE_DELETION = 1, 0x0c, true, "Invalid Queue Deletion";
    /// Command specific 0Dh.
    FEATURE_NOT_SAVEABLE = 1, 0x0d, true, "Feature Identifier Not Saveable";
    /// Command specific 0Eh.
    FEATURE_NOT_CHANGEABLE = 1, 0x0e, true, "Feature Not Changeable";
    /// Command specific 82h.
    WRITE_TO_READ_ONLY = 1, 0x82, true, "Attempted Write to Read Only Range";
    /// Media 80h.
    WRITE_FAULT = 2, 0x80, false, "Write Fault";
    /// Media 81h.
    UNRECOVERED_READ_ERROR = 2, 0x81, false, "Unrecovered Read Error";
    /// Media 85h.
    COMPARE_FAILURE = 2, 0x85, true, "Compare Failure";
    /// Media 87h.
    UNWRITTEN_BLOCK = 2, 0x87, true, "Deallocated or Unwritten Logical Block";
}

impl Status {
    /// A status from its type, code and do-not-retry bit.
    pub const fn new(sct: u8, sc: u8, do_not_retry: bool) -> Self {
        Self((sct as u16 & 7) << 8 | sc as u16 | if do_not_retry { DNR } else { 0 })
    }

    /// A status from the 15 bits of a completion.
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits & 0x7fff)
    }

    /// The 15 bits.
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Status code type.
    pub const fn sct(self) -> u8 {
        (self.0 >> 8) as u8 & 7
    }

    /// Status code.
    pub const fn sc(self) -> u8 {
        self.0 as u8
    }

    /// The same command would fail again.
    pub const fn do_not_retry(self) -> bool {
        self.0 & DNR != 0
    }

    /// The same status, with the do-not-retry bit as given.
    pub const fn with_do_not_retry(self, do_not_retry: bool) -> Self {
        Self::new(self.sct(), self.sc(), do_not_retry)
    }

    /// Type and code are 0.
    pub const fn is_success(self) -> bool {
        self.0 & 0x7ff == 0
    }
}

/// Above the phase tag, or what stands in its place.
impl Wire for Status {
    fn get(bytes: &[u8], at: usize) -> Self {
        Self::from_bits(u16::get(bytes, at) >> 1)
    }

    fn put(&self, bytes: &mut [u8], at: usize) {
        (self.bits() << 1).put(bytes, at);
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let retry = if self.do_not_retry() {
            ", do not retry"
        } else {
            ""
        };
        write!(
            f,
            "{} (type {}, code {:#04x}{retry})",
            self.text(),
            self.sct(),
            self.sc()
        )
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for Status {}
