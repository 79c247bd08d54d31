// SPDX-License-Identifier: Apache-2.0
//! A served SSD model whose flight recorder is kept in a file.

use std::path::Path;
use std::time::{Duration, Instant};

use forebay_vm::{Bar, Device, Guest, Pace, SsdDevice, Ticket};

use crate::failure::{Failure, Result};
use crate::flight::RecordReport;

/// How old the file may be. A guest whose queue hangs does nothing more, so that nothing but time
/// tells that it is worth a look.
const REFRESH: Duration = Duration::from_millis(500);

/// The device, and the file.
pub struct Recorded<'a> {
    device: &'a mut SsdDevice,
    profile: &'a str,
    path: &'a Path,
    /// Events that the file knows of.
    stored: u64,
    stored_at: Instant,
    /// Is told of the first failure while the guest goes on.
    warn: Option<fn(&Failure)>,
}

impl<'a> Recorded<'a> {
    /// Makes the file: later would be too late to learn that it cannot be written. `warn` is told where it
    /// cannot be written later.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn new(
        device: &'a mut SsdDevice,
        profile: &'a str,
        path: &'a Path,
        warn: fn(&Failure),
    ) -> Result<Self> {
        let mut recorded = Self {
            device,
            profile,
            path,
            stored: 0,
            stored_at: Instant::now(),
            warn: Some(warn),
        };
        recorded.store()?;
        Ok(recorded)
    }

    /// Writes the file.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn store(&mut self) -> Result<()> {
        let (ssd, now) = (self.device.ssd(), self.device.now());
        // Also where it fails: the next try is due when the next file would be.
        self.stored_at = Instant::now();
        RecordReport::new(self.profile, ssd, now).store(self.path)?;
        self.stored = ssd.record().total();
        Ok(())
    }

    /// Writes it while the guest goes on. A disk that is full is no reason to take its drive away.
    fn refresh(&mut self) {
        if let Err(failure) = self.store()
            && let Some(warn) = self.warn.take()
        {
            warn(&failure);
        }
    }
}

impl Device for Recorded<'_> {
    fn bar(&self, bar: u8) -> Bar<'_> {
        self.device.bar(bar)
    }

    fn vectors(&self) -> u16 {
        self.device.vectors()
    }

    fn config_read(&self, offset: u16) -> u32 {
        self.device.config_read(offset)
    }

    fn config_write(&mut self, offset: u16, value: u32) {
        self.device.config_write(offset, value);
    }

    fn bar_read(&mut self, bar: u8, offset: u64, len: u32, ticket: Ticket) {
        self.device.bar_read(bar, offset, len, ticket);
    }

    fn bar_write(&mut self, bar: u8, offset: u64, data: &[u8]) {
        self.device.bar_write(bar, offset, data);
    }

    fn reset(&mut self) -> forebay_vm::Result<()> {
        // How the queues stood is gone afterwards.
        self.refresh();
        self.device.reset()
    }

    fn step(&mut self, guest: &mut dyn Guest) -> forebay_vm::Result<Pace> {
        let pace = self.device.step(guest)?;
        if self.device.ssd().record().total() == self.stored {
            return Ok(pace);
        }
        let age = self.stored_at.elapsed();
        if age >= REFRESH {
            self.refresh();
            return Ok(pace);
        }
        Ok(match pace {
            Pace::Idle => Pace::After(REFRESH - age),
            pace => pace,
        })
    }
}
