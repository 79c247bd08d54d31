// SPDX-License-Identifier: Apache-2.0
//! The recorder: where extents from the network go on the SSD, and objects that are sent back.

use std::time::Duration;

use forebay_spec::recorder::regs;
use serde::Serialize;

use crate::bus::{Bus, PciAddress};
use crate::controller::PAGE_BYTES;
use crate::error::Error;
use crate::poll;
use crate::registers::Registers;

/// Processing elements that have a setting.
pub const ELEMENTS: usize = 8;

/// Handle of a recorder.
#[derive(Clone, Debug)]
pub struct RecorderPort {
    registers: Registers,
}

/// A part of the SSD.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Region {
    /// First byte, a multiple of 4096.
    pub address: u64,
    /// Size, a multiple of 4096.
    pub bytes: u64,
    /// At its end it goes on at its beginning; else what finds no room is left out, and counted.
    pub ring: bool,
}

/// Where and how to record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Recording {
    /// Stands in each block of the journal.
    pub number: u64,
    /// Where payload goes.
    pub data: Region,
    /// Where rows go that say what lies where.
    pub journal: Region,
    /// Cycles that a row waits for others to fill a block of the journal; 0: until there are enough.
    pub wait_cycles: u32,
    /// A flush of the SSD after each block of the journal.
    pub flush: bool,
}

/// Extents with the same fate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Extents {
    /// How many.
    pub extents: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// What has happened since recording began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RecorderCounters {
    /// On the SSD, as far as the streamer answered.
    pub stored: Extents,
    /// Without room.
    pub skipped: Extents,
    /// Answered with an error by the streamer.
    pub failed: Extents,
    /// Blocks of the journal, begun.
    pub blocks: u64,
    /// Blocks that the streamer answered with an error.
    pub blocks_failed: u64,
    /// Rows without room in the journal.
    pub rows_lost: u64,
    /// Bytes of the region for data that are taken, up to its end where it is a ring.
    pub position: u64,
    /// Objects read back, since reset.
    pub fetched: u64,
    /// Those of them that could not be read.
    pub fetches_failed: u64,
}

/// What is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecorderStatus {
    /// An extent has begun and not ended.
    pub open: bool,
    /// Extents without an answer of the streamer.
    pub waiting: u64,
    /// Rows that are not in a block yet.
    pub rows: u64,
    /// Objects ordered that have not begun.
    pub fetches: u64,
    /// Objects are being read.
    pub fetching: bool,
}

impl RecorderPort {
    /// Looks for a recorder whose registers stand at `control` of a BAR; none where there is another
    /// thing, or nothing.
    ///
    /// # Errors
    /// Where the bus fails, or there is one that the driver does not know.
    pub fn attach(
        bus: &mut dyn Bus,
        device: PciAddress,
        bar: u8,
        control: u64,
    ) -> Result<Option<Self>, Error> {
        let registers = Registers::new(device, bar, control);
        let reset = regs::version::RESET;
        let known = registers.is_known(bus, "the recorder", regs::version::OFFSET, reset)?;
        Ok(known.then_some(Self { registers }))
    }

    /// Gives the processing elements their settings, the first of the chain first.
    ///
    /// # Errors
    /// A failure of the bus.
    pub fn set_elements(&self, bus: &mut dyn Bus, settings: &[u64; ELEMENTS]) -> Result<(), Error> {
        let places = (regs::elements::OFFSET..).step_by(8);
        for (at, setting) in places.zip(settings) {
            self.registers.write(bus, at, *setting)?;
        }
        Ok(())
    }

    /// Begins to record; `capacity` is the size of the SSD in bytes. From now on what comes from the
    /// network is stored.
    ///
    /// # Errors
    /// Regions that are not on the SSD, or overlap; a recording that still runs; a failure of the bus.
    pub fn start(
        &self,
        bus: &mut dyn Bus,
        recording: &Recording,
        capacity: u64,
    ) -> Result<(), Error> {
        let Recording { data, journal, .. } = *recording;
        data.check("the region for data", capacity)?;
        journal.check("the region for the journal", capacity)?;
        if data.address < journal.address + journal.bytes
            && journal.address < data.address + data.bytes
        {
            return Err(Error::Refused {
                field: "the region for the journal",
                value: journal.text(),
                limit: format!("the region for data is {}", data.text()),
                remedy: "let one end where the other begins",
            });
        }
        if self.status(bus)?.is_busy() {
            return Err(Error::Refused {
                field: "the recorder's status",
                value: "busy".into(),
                limit: "a recording begins when the one before has ended".into(),
                remedy: "wait until it has ended, or reset the card",
            });
        }
        let writes = [
            (regs::control::OFFSET, 0),
            (regs::recording::OFFSET, recording.number),
            (regs::data_address::OFFSET, data.address),
            (regs::data_bytes::OFFSET, data.bytes),
            (regs::journal_address::OFFSET, journal.address),
            (regs::journal_bytes::OFFSET, journal.bytes),
            (regs::control::OFFSET, recording.control()),
        ];
        self.registers.write_all(bus, &writes)
    }

    /// What is under way.
    ///
    /// # Errors
    /// A failure of the bus.
    pub fn status(&self, bus: &mut dyn Bus) -> Result<RecorderStatus, Error> {
        let status = self.registers.read(bus, regs::status::OFFSET)?;
        Ok(RecorderStatus {
            open: regs::status::OPEN.get(status) != 0,
            waiting: regs::status::WAITING.get(status),
            rows: regs::status::ROWS.get(status),
            fetches: regs::status::FETCHES.get(status),
            fetching: regs::status::FETCHING.get(status) != 0,
        })
    }

    /// Waits until all extents have their answers, writes the rows that wait, and stops taking
    /// extents: the recording has ended.
    ///
    /// # Errors
    /// It does not come to rest within `limit`, or the bus fails.
    pub fn finish(&self, bus: &mut dyn Bus, limit: Duration) -> Result<RecorderCounters, Error> {
        let quiet = |status: &RecorderStatus| !status.open && status.waiting == 0;
        self.wait(bus, limit, "the end of the last extent", quiet)?;
        let control = self.registers.read(bus, regs::control::OFFSET)?;
        let stopped = control & !regs::control::ENABLE.mask();
        self.registers.write(bus, regs::control::OFFSET, stopped)?;
        // One may have begun in between: its row would come behind the sync, and wait for ever.
        self.wait(bus, limit, "the end of the last extent", quiet)?;
        self.registers.write(bus, regs::sync::OFFSET, 1)?;
        self.wait(bus, limit, "the writing of the journal's rows", |status| {
            status.rows == 0
        })?;
        let synced = poll::wait(bus, limit, |bus| {
            let sync = self.registers.read(bus, regs::sync::OFFSET)?;
            Ok((regs::sync::BUSY.get(sync) == 0).then_some(()))
        })?;
        synced.ok_or_else(|| late("the answer to the journal's last block", limit, "none"))?;
        self.counters(bus)
    }

    /// Orders an object that lies at `address` to be read and sent with the number `object`. Where
    /// no more orders can wait, it waits until one can.
    ///
    /// # Errors
    /// An object without bytes, no room for the order within `limit`, or a failure of the bus.
    pub fn fetch(
        &self,
        bus: &mut dyn Bus,
        address: u64,
        bytes: u64,
        object: u64,
        limit: Duration,
    ) -> Result<(), Error> {
        const ORDERS: u64 = 16;
        if bytes == 0 {
            return Err(Error::Parameter {
                parameter: "bytes of an object to be sent",
                value: 0,
                limit: "a frame carries one byte or more".into(),
            });
        }
        self.wait(bus, limit, "room for an order", |status| {
            status.fetches < ORDERS
        })?;
        let writes = [
            (regs::fetch_address::OFFSET, address),
            (regs::fetch_bytes::OFFSET, bytes),
            (regs::fetch_object::OFFSET, object),
            (regs::fetch::OFFSET, regs::fetch::GO.put(1)),
        ];
        self.registers.write_all(bus, &writes)
    }

    /// Waits until all orders have been read.
    ///
    /// # Errors
    /// They are not within `limit`, or the bus fails.
    pub fn finish_fetches(&self, bus: &mut dyn Bus, limit: Duration) -> Result<(), Error> {
        self.wait(bus, limit, "the end of the last object read", |status| {
            status.fetches == 0 && !status.fetching
        })
    }

    /// All counters.
    ///
    /// # Errors
    /// A failure of the bus.
    pub fn counters(&self, bus: &mut dyn Bus) -> Result<RecorderCounters, Error> {
        let mut read = |offset| self.registers.read(bus, offset);
        let blocks = read(regs::blocks::OFFSET)?;
        let fetched = read(regs::fetched::OFFSET)?;
        Ok(RecorderCounters {
            stored: Extents {
                extents: read(regs::stored_extents::OFFSET)?,
                bytes: read(regs::stored_bytes::OFFSET)?,
            },
            skipped: Extents {
                extents: read(regs::skipped_extents::OFFSET)?,
                bytes: read(regs::skipped_bytes::OFFSET)?,
            },
            failed: Extents {
                extents: read(regs::failed_extents::OFFSET)?,
                bytes: read(regs::failed_bytes::OFFSET)?,
            },
            blocks: regs::blocks::WRITTEN.get(blocks),
            blocks_failed: regs::blocks::FAILED.get(blocks),
            rows_lost: read(regs::rows_lost::OFFSET)?,
            position: read(regs::data_position::OFFSET)?,
            fetched: regs::fetched::OBJECTS.get(fetched),
            fetches_failed: regs::fetched::FAILED.get(fetched),
        })
    }

    fn wait(
        &self,
        bus: &mut dyn Bus,
        limit: Duration,
        what: &'static str,
        done: impl Fn(&RecorderStatus) -> bool,
    ) -> Result<(), Error> {
        let mut seen = None;
        let ended = poll::wait(bus, limit, |bus| {
            let status = self.status(bus)?;
            seen = Some(status);
            Ok(done(&status).then_some(()))
        })?;
        ended.ok_or_else(|| late(what, limit, format!("{seen:?}")))
    }
}

fn late(what: &'static str, limit: Duration, seen: impl Into<String>) -> Error {
    Error::Timeout {
        what,
        limit,
        seen: seen.into(),
        remedy: "look whether the drives answer (forebay inspect); a reset of the card ends what hangs",
    }
}

impl RecorderStatus {
    fn is_busy(&self) -> bool {
        self.open || self.waiting > 0 || self.rows > 0
    }
}

impl Recording {
    fn control(&self) -> u64 {
        regs::control::ENABLE.put(1)
            | regs::control::DATA_RING.put(self.data.ring.into())
            | regs::control::JOURNAL_RING.put(self.journal.ring.into())
            | regs::control::FLUSH.put(self.flush.into())
            | regs::control::WAIT_CYCLES.put(self.wait_cycles.into())
    }
}

impl Region {
    fn check(&self, field: &'static str, capacity: u64) -> Result<(), Error> {
        let refused = |limit: String, remedy| Error::Refused {
            field,
            value: self.text(),
            limit,
            remedy,
        };
        let aligned = |number: u64| number.is_multiple_of(PAGE_BYTES);
        if !aligned(self.address) || !aligned(self.bytes) || self.bytes == 0 {
            let limit = "both are multiples of 4096, and there is a page or more".into();
            return Err(refused(limit, "round them"));
        }
        match self.address.checked_add(self.bytes) {
            Some(end) if end <= capacity => Ok(()),
            _ => Err(refused(
                format!("the SSD has {capacity} bytes"),
                "take a smaller region, or begin it further in front",
            )),
        }
    }

    fn text(&self) -> String {
        format!("{} bytes from {} on", self.bytes, self.address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_lies_on_the_drive_in_whole_pages() {
        let region = |address, bytes| Region {
            address,
            bytes,
            ring: false,
        };
        let check = |region: Region| region.check("the region", 1 << 20);
        assert!(check(region(0, 1 << 20)).is_ok());
        assert!(check(region((1 << 20) - 4096, 4096)).is_ok());
        let bad = [
            region(0, 0),
            region(512, 4096),
            region(0, 4097),
            region(4096, 1 << 20),
            region(u64::MAX - 4095, 8192),
        ];
        for region in bad {
            assert!(
                matches!(check(region), Err(Error::Refused { .. })),
                "{region:?}"
            );
        }
    }
}
