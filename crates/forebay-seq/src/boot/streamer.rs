// SPDX-License-Identifier: Apache-2.0
//! The streamer's registers, as far as the program uses them: there is no streamer behind them.

use std::collections::BTreeMap;

use forebay_spec::streamer::regs;

/// The registers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Streamer {
    drives_most: u64,
    values: BTreeMap<u64, u64>,
    /// What it does wrong.
    pub fault: Option<Fault>,
}

/// What a streamer does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The register at this offset stays 0.
    Stuck(u64),
    /// It is not ready, whatever it is told.
    NeverReady,
    /// A time-out has stopped its queue.
    Halted,
    /// No register is there.
    Absent,
}

impl Streamer {
    /// As after a reset, for this number of drives.
    #[must_use]
    pub const fn new(drives_most: u8) -> Self {
        Self {
            drives_most: drives_most as u64,
            values: BTreeMap::new(),
            fault: None,
        }
    }

    /// Reads a register; none: in error.
    #[must_use]
    pub fn read(&self, offset: u64) -> Option<u64> {
        if self.fault == Some(Fault::Absent) {
            return None;
        }
        if offset == regs::status::OFFSET {
            return Some(self.status());
        }
        self.mask(offset)?;
        Some(self.values.get(&offset).copied().unwrap_or(0))
    }

    /// Writes a register; false: in error.
    pub fn write(&mut self, offset: u64, value: u64) -> bool {
        let Some(mask) = self.mask(offset) else {
            return false;
        };
        match self.fault {
            Some(Fault::Absent) => return false,
            Some(Fault::Stuck(stuck)) if stuck == offset => {}
            _ => {
                self.values.insert(offset, value & mask);
            }
        }
        true
    }

    fn status(&self) -> u64 {
        let on = self.values.get(&regs::enable::OFFSET) == Some(&1);
        let ready = on && self.fault != Some(Fault::NeverReady);
        regs::status::ENABLED.put(on.into())
            | regs::status::READY.put(ready.into())
            | regs::status::HALTED.put((on && self.fault == Some(Fault::Halted)).into())
    }

    /// The bits that a register keeps; none: it is not one of these.
    fn mask(&self, offset: u64) -> Option<u64> {
        let drive = |register: u64| {
            let from = offset.checked_sub(register)?;
            let step = regs::drive_nsid::of(1) - regs::drive_nsid::OFFSET;
            (from.is_multiple_of(step) && (1..self.drives_most).contains(&(from / step)))
                .then_some(())
        };
        Some(match offset {
            regs::sq_doorbell::OFFSET | regs::cq_doorbell::OFFSET => {
                regs::sq_doorbell::ADDRESS.mask()
            }
            regs::data_window::OFFSET => regs::data_window::ADDRESS.mask(),
            regs::nsid::OFFSET => regs::nsid::NSID.mask(),
            regs::enable::OFFSET => regs::enable::ENABLE.mask(),
            regs::block_shift::OFFSET => regs::block_shift::SHIFT.mask(),
            regs::transfer_pages::OFFSET => regs::transfer_pages::PAGES.mask(),
            regs::namespace_sectors::OFFSET => regs::namespace_sectors::SECTORS.mask(),
            regs::timeout_cycles::OFFSET => regs::timeout_cycles::CYCLES.mask(),
            regs::queue_entries::OFFSET => regs::queue_entries::ENTRIES.mask(),
            regs::doorbell_offset::OFFSET => u64::MAX,
            regs::layout::OFFSET if self.drives_most > 1 => {
                regs::layout::DRIVES_M1.mask()
                    | regs::layout::CHUNK_M1.mask()
                    | regs::layout::PARITY.mask()
            }
            regs::region::OFFSET if self.drives_most > 1 => regs::region::SECTORS.mask(),
            _ if drive(regs::drive_sq_doorbell::OFFSET).is_some()
                || drive(regs::drive_cq_doorbell::OFFSET).is_some() =>
            {
                u64::MAX
            }
            _ if drive(regs::drive_nsid::OFFSET).is_some() => regs::drive_nsid::NSID.mask(),
            _ => return None,
        })
    }
}
