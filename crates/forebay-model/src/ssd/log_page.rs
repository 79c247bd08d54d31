// SPDX-License-Identifier: Apache-2.0
//! Get Log Page (5.16), the error log behind it, and asynchronous events (5.2).

use super::Ssd;
use crate::Time;
use forebay_spec::nvme::log::{self, ErrorEntry, Smart};
use forebay_spec::nvme::{Sqe, Status};
use std::collections::VecDeque;

/// Entries of the error log.
pub(super) const ERROR_ENTRIES: usize = 64;
/// Bytes that one command may ask for.
const MOST_BYTES: u64 = 1 << 20;
/// Events kept for a host that does not ask for them.
const MOST_EVENTS: usize = 16;
/// Composite temperature in kelvin of a drive that has none of its own: 40 °C.
const TEMPERATURE: u16 = 313;
/// Critical warning: the temperature is at or above a threshold (figure 208).
const TEMPERATURE_WARNING: u8 = 1 << 1;
/// Queue and command identifier of an error that no command caused.
const NO_COMMAND: u16 = 0xffff;

/// What went wrong, and who is to be told.
#[derive(Debug, Default)]
pub(super) struct Log {
    errors: VecDeque<ErrorEntry>,
    error_count: u64,
    media_errors: u64,
    /// Asynchronous Event Requests that wait, by command identifier.
    requests: VecDeque<u16>,
    /// Events that wait for a request.
    events: VecDeque<u32>,
    /// Event types that were reported and whose log page was not read since: bit *n* is type *n*.
    masked: u8,
}

impl Log {
    /// A command failed.
    pub(super) fn failed(&mut self, queue: u16, sqe: &Sqe, status: Status) {
        self.media_errors += (status.sct() == 2) as u64;
        let lba = if queue == 0 { 0 } else { sqe.slba() };
        let entry = ErrorEntry {
            sq_id: queue,
            cid: sqe.cid,
            status,
            lba,
            nsid: sqe.nsid,
            count: 0,
        };
        self.enter(entry);
    }

    /// Something happened that the host is told of if it asked.
    pub(super) fn event(&mut self, event: u32) {
        let entry = ErrorEntry {
            sq_id: NO_COMMAND,
            cid: NO_COMMAND,
            ..ErrorEntry::default()
        };
        self.enter(entry);
        if self.events.len() < MOST_EVENTS && !self.events.contains(&event) {
            self.events.push_back(event);
        }
    }

    /// Takes an Asynchronous Event Request; false where there are too many.
    pub(super) fn wait(&mut self, cid: u16, limit: usize) -> bool {
        let room = self.requests.len() < limit;
        if room {
            self.requests.push_back(cid);
        }
        room
    }

    /// The next request to complete, and the event it is completed with.
    pub(super) fn report(&mut self) -> Option<(u16, u32)> {
        let masked = self.masked;
        let index = self
            .events
            .iter()
            .position(|event| masked >> (event & 7) & 1 == 0)?;
        let cid = self.requests.pop_front()?;
        let event = self.events.remove(index)?;
        self.masked |= 1 << (event & 7);
        Some((cid, event))
    }

    /// The host has read a log page: events of its type are reported again.
    pub(super) fn read(&mut self, page: u8) {
        match page {
            log::ERROR_INFORMATION => self.masked &= !1,
            log::SMART => self.masked &= !2,
            _ => {}
        }
    }

    /// Controller reset: the errors stay.
    pub(super) fn reset(&mut self) {
        self.requests.clear();
        self.events.clear();
        self.masked = 0;
    }

    fn enter(&mut self, mut entry: ErrorEntry) {
        self.error_count += 1;
        entry.count = self.error_count;
        self.errors.truncate(ERROR_ENTRIES - 1);
        self.errors.push_front(entry);
    }

    fn error_page(&self) -> Vec<u8> {
        let mut page = Vec::with_capacity(ERROR_ENTRIES * ErrorEntry::BYTES);
        for entry in &self.errors {
            page.extend_from_slice(&entry.to_bytes());
        }
        page.resize(ERROR_ENTRIES * ErrorEntry::BYTES, 0);
        page
    }
}

impl Ssd {
    /// The bytes of a log page that a command asks for.
    pub(super) fn log_page(&self, now: Time, sqe: &Sqe) -> Result<Box<[u8]>, Status> {
        let dwords = (sqe.cdw10() >> 16) as u64 | (sqe.cdw11() as u64 & 0xffff) << 16;
        let len = (dwords + 1) * 4;
        let offset = sqe.cdw12() as u64 | (sqe.cdw[3] as u64) << 32;
        if len > MOST_BYTES.min(self.transfer_limit()) || !offset.is_multiple_of(4) {
            return Err(Status::INVALID_FIELD);
        }
        let page = match sqe.cdw10() as u8 {
            log::ERROR_INFORMATION => self.log.error_page(),
            log::SMART => self.smart(now).to_bytes().to_vec(),
            log::FIRMWARE_SLOT => firmware_page(),
            log::COMMANDS => log::commands_page().to_vec(),
            _ => return Err(Status::INVALID_LOG_PAGE),
        };
        let Some(rest) = usize::try_from(offset)
            .ok()
            .and_then(|offset| page.get(offset..))
        else {
            return Err(Status::INVALID_FIELD);
        };
        let mut data = vec![0; len as usize];
        let count = rest.len().min(data.len());
        data[..count].copy_from_slice(&rest[..count]);
        Ok(data.into())
    }

    fn smart(&self, now: Time) -> Smart {
        let units = |bytes: u64| bytes.div_ceil(512_000);
        let measured = self.flash.as_ref().and_then(|flash| flash.kelvin(now));
        let temperature = measured.unwrap_or(TEMPERATURE);
        let warm = measured.is_some() && temperature >= self.features.temperature_threshold();
        Smart {
            critical_warning: if warm { TEMPERATURE_WARNING } else { 0 },
            temperature,
            available_spare: 100,
            spare_threshold: 10,
            data_units_read: units(self.stats.bytes_read),
            data_units_written: units(self.stats.bytes_written),
            host_reads: self.stats.reads,
            host_writes: self.stats.writes,
            power_cycles: 1,
            media_errors: self.log.media_errors,
            error_entries: self.log.error_count,
            ..Smart::default()
        }
    }
}

/// Firmware Slot Information (5.16.1.4): one slot, active.
fn firmware_page() -> Vec<u8> {
    let mut page = vec![0; 512];
    page[0] = 1;
    let version = env!("CARGO_PKG_VERSION").as_bytes();
    let count = version.len().min(8);
    page[8..16].fill(b' ');
    page[8..8 + count].copy_from_slice(&version[..count]);
    page
}
