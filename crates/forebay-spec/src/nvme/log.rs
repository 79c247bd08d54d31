// SPDX-License-Identifier: Apache-2.0
//! Log pages (5.16.1).

use super::Status;
use crate::bytes::{put, wire};

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

wire! {
    /// One entry of the Error Information log (5.16.1.2), 64 bytes.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    ErrorEntry, 64 {
        /// Running number of the error; 0 is an unused entry.
        count: u64 = 0;
        /// Submission queue of the command.
        sq_id: u16 = 8;
        /// Command identifier.
        cid: u16 = 10;
        /// Status.
        status: Status = 12;
        /// First logical block with the error.
        lba: u64 = 16;
        /// Namespace.
        nsid: u32 = 24;
    }
}

wire! {
    /// The SMART / Health Information log (5.16.1.3), as far as we use it; 512 bytes.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    Smart, 512 {
        /// Critical warning bits; 0 is well.
        critical_warning: u8 = 0;
        /// Composite temperature in kelvin.
        temperature: u16 = 1;
        /// Available spare in percent.
        available_spare: u8 = 3;
        /// Threshold of the available spare in percent.
        spare_threshold: u8 = 4;
        /// Part of the endurance used up, in percent.
        percentage_used: u8 = 5;
        /// Data read, in units of 512,000 bytes, rounded up.
        data_units_read: u64 = 32;
        /// Data written, in the same units.
        data_units_written: u64 = 48;
        /// Read commands completed.
        host_reads: u64 = 64;
        /// Write commands completed.
        host_writes: u64 = 80;
        /// Power cycles.
        power_cycles: u64 = 112;
        /// Shutdowns without notification.
        unsafe_shutdowns: u64 = 144;
        /// Errors of the medium.
        media_errors: u64 = 160;
        /// Entries ever made in the error log.
        error_entries: u64 = 176;
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
