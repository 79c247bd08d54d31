// SPDX-License-Identifier: Apache-2.0
//! Log pages (5.16.1).

use super::Status;
use crate::bytes::{get_u16, get_u32, get_u64, put};

/// Error Information.
pub const ERROR_INFORMATION: u8 = 0x01;
/// SMART / Health Information.
pub const SMART: u8 = 0x02;
/// Firmware Slot Information.
pub const FIRMWARE_SLOT: u8 = 0x03;
/// Commands Supported and Effects.
pub const COMMANDS: u8 = 0x05;

/// Retain Asynchronous Event (RAE) in dword 10 of Get Log Page (figure 193): events of this page stay
/// masked.
pub const RETAIN_EVENT: u32 = 1 << 15;

/// One entry of the Error Information log (5.16.1.2), 64 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ErrorEntry {
    /// Running number of the error; 0 is an unused entry.
    pub count: u64,
    /// Submission queue of the command.
    pub sq_id: u16,
    /// Command identifier.
    pub cid: u16,
    /// Status.
    pub status: Status,
    /// First logical block with the error.
    pub lba: u64,
    /// Namespace.
    pub nsid: u32,
}

impl ErrorEntry {
    /// Bytes on the wire.
    pub const BYTES: usize = 64;

    /// The entry's bytes.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut b = [0; Self::BYTES];
        put(&mut b, 0, &self.count.to_le_bytes());
        put(&mut b, 8, &self.sq_id.to_le_bytes());
        put(&mut b, 10, &self.cid.to_le_bytes());
        put(&mut b, 12, &(self.status.bits() << 1).to_le_bytes());
        put(&mut b, 16, &self.lba.to_le_bytes());
        put(&mut b, 24, &self.nsid.to_le_bytes());
        b
    }

    /// Reads an entry.
    pub const fn from_bytes(b: &[u8; Self::BYTES]) -> Self {
        Self {
            count: get_u64(b, 0),
            sq_id: get_u16(b, 8),
            cid: get_u16(b, 10),
            // Bit 0 is the phase tag, if it is anything.
            status: Status::from_bits(get_u16(b, 12) >> 1),
            lba: get_u64(b, 16),
            nsid: get_u32(b, 24),
        }
    }
}

/// The SMART / Health Information log (5.16.1.3), as far as we use it; 512 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Smart {
    /// Critical warning bits; 0 is well.
    pub critical_warning: u8,
    /// Composite temperature in kelvin.
    pub temperature: u16,
    /// Available spare in percent.
    pub available_spare: u8,
    /// Threshold of the available spare in percent.
    pub spare_threshold: u8,
    /// Part of the endurance used up, in percent.
    pub percentage_used: u8,
    /// Data read, in units of 512,000 bytes, rounded up.
    pub data_units_read: u64,
    /// Data written, in the same units.
    pub data_units_written: u64,
    /// Read commands completed.
    pub host_reads: u64,
    /// Write commands completed.
    pub host_writes: u64,
    /// Power cycles.
    pub power_cycles: u64,
    /// Shutdowns without notification.
    pub unsafe_shutdowns: u64,
    /// Errors of the medium.
    pub media_errors: u64,
    /// Entries ever made in the error log.
    pub error_entries: u64,
}

impl Smart {
    /// Bytes on the wire.
    pub const BYTES: usize = 512;

    /// The page's bytes.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut b = [0; Self::BYTES];
        b[0] = self.critical_warning;
        put(&mut b, 1, &self.temperature.to_le_bytes());
        b[3] = self.available_spare;
        b[4] = self.spare_threshold;
        b[5] = self.percentage_used;
        put(&mut b, 32, &self.data_units_read.to_le_bytes());
        put(&mut b, 48, &self.data_units_written.to_le_bytes());
        put(&mut b, 64, &self.host_reads.to_le_bytes());
        put(&mut b, 80, &self.host_writes.to_le_bytes());
        put(&mut b, 112, &self.power_cycles.to_le_bytes());
        put(&mut b, 144, &self.unsafe_shutdowns.to_le_bytes());
        put(&mut b, 160, &self.media_errors.to_le_bytes());
        put(&mut b, 176, &self.error_entries.to_le_bytes());
        b
    }

    /// Reads the page.
    pub const fn from_bytes(b: &[u8; Self::BYTES]) -> Self {
        Self {
            critical_warning: b[0],
            temperature: get_u16(b, 1),
            available_spare: b[3],
            spare_threshold: b[4],
            percentage_used: b[5],
            data_units_read: get_u64(b, 32),
            data_units_written: get_u64(b, 48),
            host_reads: get_u64(b, 64),
            host_writes: get_u64(b, 80),
            power_cycles: get_u64(b, 112),
            unsafe_shutdowns: get_u64(b, 144),
            media_errors: get_u64(b, 160),
            error_entries: get_u64(b, 176),
        }
    }
}

/// The Commands Supported and Effects log (5.16.1.6) of all commands that we know; 4096 bytes.
pub fn commands_page() -> [u8; 4096] {
    use super::{AdminOpcode as Admin, IoOpcode as Io};
    /// Supported; changes the content of blocks; changes what a namespace can do; no other command
    /// to any namespace at the same time.
    const SUPPORTED: u32 = 1;
    const BLOCKS: u32 = 1 << 1;
    const NAMESPACE: u32 = 1 << 2;
    const ALONE: u32 = 2 << 16;
    /// Where the I/O commands stand.
    const IO: usize = 1024;
    let mut page = [0; 4096];
    for number in 0..=u8::MAX {
        let at = 4 * number as usize;
        let admin = match Admin::from_number(number) {
            Some(Admin::FormatNvm) => SUPPORTED | BLOCKS | NAMESPACE | ALONE,
            Some(_) => SUPPORTED,
            None => 0,
        };
        put(&mut page, at, &admin.to_le_bytes());
        let io = match Io::from_number(number) {
            Some(Io::Write | Io::WriteZeroes | Io::DatasetManagement) => SUPPORTED | BLOCKS,
            Some(Io::Flush | Io::Read | Io::Compare) => SUPPORTED,
            None => 0,
        };
        put(&mut page, IO + at, &io.to_le_bytes());
    }
    page
}

/// Types and informations of asynchronous events (5.2.1).
pub mod event {
    /// Error status: write to an invalid doorbell register.
    pub const INVALID_DOORBELL: u32 = event(0, 0x00, super::ERROR_INFORMATION);
    /// Error status: invalid doorbell write value.
    pub const INVALID_DOORBELL_VALUE: u32 = event(0, 0x01, super::ERROR_INFORMATION);

    /// Dword 0 of the completion of an Asynchronous Event Request.
    pub const fn event(kind: u8, information: u8, log_page: u8) -> u32 {
        kind as u32 & 7 | (information as u32) << 8 | (log_page as u32) << 16
    }
}
