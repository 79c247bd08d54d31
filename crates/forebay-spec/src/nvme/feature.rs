// SPDX-License-Identifier: Apache-2.0
//! Feature identifiers of Get and Set Features (5.27.1).

/// Arbitration.
pub const ARBITRATION: u8 = 0x01;
/// Power management.
pub const POWER_MANAGEMENT: u8 = 0x02;
/// Temperature threshold.
pub const TEMPERATURE_THRESHOLD: u8 = 0x04;
/// Error recovery.
pub const ERROR_RECOVERY: u8 = 0x05;
/// Volatile write cache.
pub const VOLATILE_WRITE_CACHE: u8 = 0x06;
/// Number of queues.
pub const NUMBER_OF_QUEUES: u8 = 0x07;
/// Interrupt coalescing.
pub const INTERRUPT_COALESCING: u8 = 0x08;
/// Interrupt vector configuration.
pub const INTERRUPT_VECTOR: u8 = 0x09;
/// Write atomicity normal.
pub const WRITE_ATOMICITY: u8 = 0x0a;
/// Asynchronous event configuration.
pub const ASYNC_EVENT: u8 = 0x0b;

/// Numbers of I/O queues in Set and Get Features 07h; *not* 0's based here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueCount {
    /// Submission queues, 1–65536 (65536 is invalid in a request).
    pub submission: u32,
    /// Completion queues, the same.
    pub completion: u32,
}

impl QueueCount {
    /// Reads dword 11 of Set Features, or dword 0 of the completion.
    pub const fn from_bits(bits: u32) -> Self {
        Self {
            submission: (bits & 0xffff) + 1,
            completion: (bits >> 16) + 1,
        }
    }

    /// The dword.
    pub const fn bits(self) -> u32 {
        (self.submission.wrapping_sub(1) & 0xffff)
            | (self.completion.wrapping_sub(1) & 0xffff) << 16
    }
}
