// SPDX-License-Identifier: Apache-2.0
//! The recorder: where extents from the network go on the SSD, and objects that are sent back.

use std::time::Duration;

use forebay_spec::recorder::regs;
use forebay_spec::store::superblock::{ALIGNMENT_MOST, ahead_bounds, ahead_least};
use serde::Serialize;

use crate::bus::{Bus, PciAddress};
use crate::controller::PAGE_BYTES;
use crate::error::Error;
use crate::poll;
use crate::registers::Registers;
use crate::replay::Fetch;

/// Nanoseconds of a second.
const SECOND: u64 = 1_000_000_000;

/// Processing elements that have a setting.
pub const ELEMENTS: usize = 8;

/// Most bytes of a batch: it is one write of the streamer.
const BATCH_MOST: u32 = 1 << 20;
/// Written when a recording is set up: clears all events, and enables them.
const EVENTS: u64 = regs::events::CLOSED.mask()
    | regs::events::ERROR.mask()
    | regs::events::FULL.mask()
    | regs::events::ENABLE_CLOSED.mask()
    | regs::events::ENABLE_ERROR.mask()
    | regs::events::ENABLE_FULL.mask();

/// Handle of a recorder.
#[derive(Clone, Debug)]
pub struct RecorderPort {
    registers: Registers,
}

/// A part of the SSD.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Region {
    /// First byte, a multiple of the recording's alignment.
    pub address: u64,
    /// Size, a multiple of it, too.
    pub bytes: u64,
    /// At its end it goes on at its beginning; else what finds no room is left out, and counted.
    pub ring: bool,
}

/// How extents lie in their region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// Each with a header block in front of it: a tar file.
    Objects {
        /// File name extension, padded with NUL.
        extension: [u8; 4],
    },
    /// Many in a batch, each with a tar header in front of it: a tar file, too.
    Small {
        /// File name extension, padded with NUL.
        extension: [u8; 4],
        /// Most bytes of a batch, a multiple of the recording's alignment up to 1 MiB.
        batch: u32,
        /// Cycles that a batch waits for more; 0: until it is full.
        wait_cycles: u32,
    },
    /// Payload alone.
    Samples {
        /// Bytes from the beginning of one to that of the next, a multiple of the recording's alignment; 0:
        /// as they come.
        stride: u32,
    },
    /// Segments of a capture, one behind the other.
    Packets,
}

/// Where and how to record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Recording {
    /// Tells it from others, in all that is written: a UUID.
    pub session: [u8; 16],
    /// How extents lie in their region.
    pub layout: Layout,
    /// Bytes of which all that is written begins at a multiple, a power of two from 4096 to 512 KiB: the data
    /// of a stripe, of an array with parity.
    pub alignment: u32,
    /// Where they go.
    pub data: Region,
    /// Where blocks of the index go that say what lies where.
    pub index: Region,
    /// Cycles that an index record waits for others to fill a block of the index; 0: until there
    /// are enough.
    pub wait_cycles: u32,
    /// A flush of the SSD before and after each block of the index.
    pub flush: bool,
    /// Cycles that the index record of a whole object waits for its result; none: there are no
    /// results.
    pub result_wait: Option<u32>,
    /// Bytes that data of a ring may be ahead of the newest index record; 0: any number.
    pub ahead: u64,
    /// Which columns its index has of results: [`Schema::id`].
    ///
    /// [`Schema::id`]: forebay_spec::store::schema::Schema::id
    pub schema: u32,
    /// What time it is: nanoseconds since 1970.
    pub time: u64,
    /// How long a cycle of the core's clock takes, in picoseconds, below 256 ns.
    pub cycle_ps: u32,
}

/// Extents with the same fate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Extents {
    /// How many.
    pub extents: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// What raises the interrupt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Events {
    /// The recording has ended: all is answered, and its index is written.
    pub closed: bool,
    /// An extent, a block of the index or an object that is read failed.
    pub error: bool,
    /// An extent was skipped, or index records were lost: a region has no room.
    pub full: bool,
}

impl Events {
    /// Whether there are any.
    #[must_use]
    pub fn any(self) -> bool {
        self != Self::default()
    }

    /// Adds others; returns those of them that were not among these.
    pub const fn add(&mut self, others: Self) -> Self {
        let before = *self;
        self.closed |= others.closed;
        self.error |= others.error;
        self.full |= others.full;
        Self {
            closed: others.closed && !before.closed,
            error: others.error && !before.error,
            full: others.full && !before.full,
        }
    }
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
    /// Blocks of the index that are written or given up.
    pub blocks: u64,
    /// Blocks that were given up.
    pub blocks_failed: u64,
    /// Index records without room in the index, or of a block that was given up.
    pub rows_lost: u64,
    /// Intact objects whose records went without their result.
    pub results_late: u64,
    /// Results that say that the element did not judge.
    pub results_unjudged: u64,
    /// Objects of which a branch did not see all, since it had no room.
    pub results_unseen: u64,
    /// Results for a tag that awaits none.
    pub results_stray: u64,
    /// What the processing elements say of themselves, the first of the chain first.
    pub elements: [u64; ELEMENTS],
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
    /// Extents on their way to the index.
    pub waiting: u64,
    /// Index records that are not in a block yet.
    pub rows: u64,
    /// Requested objects whose reading has not begun.
    pub fetches: u64,
    /// Objects are being read.
    pub fetching: bool,
}

impl RecorderPort {
    /// Looks for a recorder whose registers stand at `control` of a BAR; none where there is
    /// another thing, or nothing.
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

    pub(crate) const fn registers(&self) -> &Registers {
        &self.registers
    }

    /// Gives the processing elements their settings, the first of the chain first.
    pub fn set_elements(&self, bus: &mut dyn Bus, settings: &[u64; ELEMENTS]) -> Result<(), Error> {
        let places = (regs::elements::OFFSET..).step_by(8);
        for (at, setting) in places.zip(settings) {
            self.registers.write(bus, at, *setting)?;
        }
        Ok(())
    }

    /// Begins to record; `capacity` is the size of the SSD in bytes. From now on what comes from
    /// the network is stored.
    ///
    /// # Errors
    /// Regions that are not on the SSD, or overlap; a recording that still runs; a failure of the
    /// bus.
    pub fn start(
        &self,
        bus: &mut dyn Bus,
        recording: &Recording,
        capacity: u64,
    ) -> Result<(), Error> {
        self.configure(bus, recording, capacity)?;
        let control = recording.control() | regs::control::ENABLE.put(1);
        self.registers.write(bus, regs::control::OFFSET, control)
    }

    /// Says where a recording lies, and how; nothing is stored.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn configure(
        &self,
        bus: &mut dyn Bus,
        recording: &Recording,
        capacity: u64,
    ) -> Result<(), Error> {
        let Recording { data, index, .. } = *recording;
        let unit = u64::from(recording.alignment);
        let alignment = recording.alignment()?;
        data.check("the region for data", unit, capacity)?;
        index.check("the region for the index", unit, capacity)?;
        if data.address < index.address + index.bytes && index.address < data.address + data.bytes {
            return Err(Error::Refused {
                field: "the region for the index",
                value: index.text(),
                limit: format!("the region for data is {}", data.text()),
                remedy: "let one end where the other begins",
            });
        }
        let schema = regs::schema::RESULTS.get(self.registers.read(bus, regs::schema::OFFSET)?);
        if schema != u64::from(recording.schema) {
            return Err(Error::Refused {
                field: "the columns of results in the index",
                value: format!("{:08x}", recording.schema),
                limit: format!("the recorder was built for {schema:08x}"),
                remedy: "take the pipeline that the recording is of, and a card that is built for it",
            });
        }
        let stride = match recording.layout {
            Layout::Samples { stride } => u64::from(stride),
            _ => 0,
        };
        // The superblock's data have more, for the trailer.
        let bounds = ahead_bounds(ahead_least(unit), stride, data.bytes.saturating_add(unit));
        if recording.ahead != 0 && !(data.ring && bounds.contains(&recording.ahead)) {
            return Err(Error::Refused {
                field: "the bytes that data may be ahead of the index",
                value: recording.ahead.to_string(),
                limit: format!("0, or in a ring {} to {}", bounds.start(), bounds.end()),
                remedy: "take a larger ring, or 0",
            });
        }
        let tick = recording.tick()?;
        let (extension, stride) = recording.layout.check(unit)?;
        let batch = recording.layout.batch();
        if data.bytes < batch & regs::batch::PAGES.mask() {
            return Err(Error::Refused {
                field: "the region for data",
                value: data.text(),
                limit: "a batch of small objects finds no room in it".into(),
                remedy: "take a larger region, or smaller batches",
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
        let [low, high] = recording.session_words();
        let stride = regs::stride::PAGES.put(stride >> PAGE_BYTES.trailing_zeros())
            | regs::stride::RESULT_WAIT.put(recording.result_wait.unwrap_or(0).into())
            | regs::stride::ALIGNMENT.put(alignment);
        let extension =
            regs::extension::CHARACTERS.put(extension) | regs::extension::TICK.put(tick);
        self.set_clock(bus, recording.time)?;
        let writes = [
            (regs::control::OFFSET, 0),
            (regs::session_low::OFFSET, low),
            (regs::session_high::OFFSET, high),
            (regs::extension::OFFSET, extension),
            (regs::stride::OFFSET, stride),
            (regs::batch::OFFSET, batch),
            (regs::data_address::OFFSET, data.address),
            (regs::data_bytes::OFFSET, data.bytes),
            (regs::ahead::OFFSET, recording.ahead),
            (regs::index_address::OFFSET, index.address),
            (regs::index_bytes::OFFSET, index.bytes),
            (regs::control::OFFSET, recording.control()),
            (regs::events::OFFSET, EVENTS),
        ];
        self.registers.write_all(bus, &writes)
    }

    /// Sets the clock, by which extents say when they came, to nanoseconds since 1970.
    pub fn set_clock(&self, bus: &mut dyn Bus, time: u64) -> Result<(), Error> {
        let second = regs::time_seconds::SECONDS.put(time / SECOND)
            | regs::time_seconds::NANOSECONDS.put(time % SECOND);
        let writes = [
            (regs::time_seconds::OFFSET, second),
            (regs::time_ns::OFFSET, time),
        ];
        self.registers.write_all(bus, &writes)
    }

    /// What is under way.
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

    /// Waits until all extents have their answers, writes the waiting index records, and stops
    /// taking extents: the recording has ended, and the event that says so has come.
    ///
    /// # Errors
    /// It does not come to rest within `limit`, or the bus fails.
    pub fn finish(&self, bus: &mut dyn Bus, limit: Duration) -> Result<RecorderCounters, Error> {
        let quiet = |status: &RecorderStatus| !status.open && status.waiting == 0;
        self.wait(bus, limit, "the end of the last extent", quiet)?;
        let control = self.registers.read(bus, regs::control::OFFSET)?;
        let stopped = control & !regs::control::ENABLE.mask();
        self.registers.write(bus, regs::control::OFFSET, stopped)?;
        // One may have begun in between: its index record would come after the sync, and wait for
        // ever.
        self.wait(bus, limit, "the end of the last extent", quiet)?;
        self.registers.write(bus, regs::sync::OFFSET, 1)?;
        self.wait(bus, limit, "the writing of the index records", |status| {
            status.rows == 0
        })?;
        let synced = poll::wait(bus, limit, |bus| {
            let sync = self.registers.read(bus, regs::sync::OFFSET)?;
            Ok((regs::sync::BUSY.get(sync) == 0).then_some(()))
        })?;
        synced.ok_or_else(|| late("the answer to the index's last block", limit, "none"))?;
        self.counters(bus)
    }

    /// Requests that an object be read and sent. Where no further request can be queued, it waits until
    /// one can.
    ///
    /// # Errors
    /// An object without bytes, no room for the request within `limit`, or a failure of the bus.
    pub fn fetch(&self, bus: &mut dyn Bus, wanted: &Fetch, limit: Duration) -> Result<(), Error> {
        const REQUESTS: u64 = 16;
        let bytes = wanted.bytes;
        if bytes == 0 {
            let limit = "a frame carries one byte or more";
            return Err(Error::parameter(
                "bytes of an object to be sent",
                bytes,
                limit,
            ));
        }
        self.wait(bus, limit, "room for a request", |status| {
            status.fetches < REQUESTS
        })?;
        let writes = [
            (regs::fetch_address::OFFSET, wanted.address),
            (regs::fetch_bytes::OFFSET, bytes),
            (regs::fetch_object::OFFSET, wanted.object),
            (regs::fetch_offset::OFFSET, wanted.offset),
            (regs::fetch_nonce::OFFSET, wanted.nonce),
            (
                regs::fetch::OFFSET,
                regs::fetch::GO.put(1)
                    | regs::fetch::PART.put(wanted.part.into())
                    | regs::fetch::STREAM.put(wanted.stream.into()),
            ),
        ];
        self.registers.write_all(bus, &writes)
    }

    /// Waits until all requests have been read.
    ///
    /// # Errors
    /// They are not within `limit`, or the bus fails.
    pub fn finish_fetches(&self, bus: &mut dyn Bus, limit: Duration) -> Result<(), Error> {
        self.wait(bus, limit, "the end of the last object read", |status| {
            status.fetches == 0 && !status.fetching
        })
    }

    /// What has happened since the last call, or since the recording was set up; it is cleared.
    pub fn take_events(&self, bus: &mut dyn Bus) -> Result<Events, Error> {
        let word = self.registers.read(bus, regs::events::OFFSET)?;
        let events = Events {
            closed: regs::events::CLOSED.get(word) != 0,
            error: regs::events::ERROR.get(word) != 0,
            full: regs::events::FULL.get(word) != 0,
        };
        if events.any() {
            // A one clears: what has come since is still there, and so is the interrupt.
            self.registers.write(bus, regs::events::OFFSET, word)?;
        }
        Ok(events)
    }

    /// All counters.
    pub fn counters(&self, bus: &mut dyn Bus) -> Result<RecorderCounters, Error> {
        let mut read = |offset| self.registers.read(bus, offset);
        let blocks = read(regs::blocks::OFFSET)?;
        let fetched = read(regs::fetched::OFFSET)?;
        let results = read(regs::results::OFFSET)?;
        let unjudged = read(regs::unjudged::OFFSET)?;
        let mut elements = [0; ELEMENTS];
        for (at, status) in (regs::element_status::OFFSET..)
            .step_by(8)
            .zip(&mut elements)
        {
            *status = read(at)?;
        }
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
            results_late: regs::results::LATE.get(results),
            results_unjudged: regs::unjudged::OBJECTS.get(unjudged),
            results_unseen: regs::unjudged::UNSEEN.get(unjudged),
            results_stray: regs::results::STRAY.get(results),
            elements,
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

impl Layout {
    /// Contents of the register for batches.
    fn batch(&self) -> u64 {
        match *self {
            Self::Small {
                batch, wait_cycles, ..
            } => u64::from(batch) | regs::batch::WAIT_CYCLES.put(wait_cycles.into()),
            Self::Objects { .. } | Self::Samples { .. } | Self::Packets => 0,
        }
    }

    /// Contents of the registers for extension and stride.
    fn check(&self, unit: u64) -> Result<(u64, u64), Error> {
        match *self {
            Self::Small { batch, .. }
                if batch == 0 || batch > BATCH_MOST || !u64::from(batch).is_multiple_of(unit) =>
            {
                Err(Error::Refused {
                    field: "the bytes of a batch",
                    value: batch.to_string(),
                    limit: format!("a multiple of {unit}, from {unit} to {BATCH_MOST}"),
                    remedy: "round it up, or take less",
                })
            }
            Self::Small { wait_cycles: 0, .. } => Err(Error::Refused {
                field: "the cycles that a batch waits",
                value: "0".into(),
                limit: "one or more: a batch that is not full would never end".into(),
                remedy: "take for example 300000, 1 ms at 300 MHz",
            }),
            Self::Objects { extension } | Self::Small { extension, .. } => {
                let text = extension.iter().position(|byte| *byte == 0);
                let (text, padding) = extension.split_at(text.unwrap_or(extension.len()));
                let plain = text.iter().all(u8::is_ascii_alphanumeric) && !text.is_empty();
                if !plain || padding.iter().any(|byte| *byte != 0) {
                    return Err(Error::Refused {
                        field: "the file name extension",
                        value: format!("{:?}", String::from_utf8_lossy(&extension)),
                        limit: "one to four letters or digits".into(),
                        remedy: "take another one, such as bin",
                    });
                }
                Ok((u32::from_le_bytes(extension).into(), 0))
            }
            Self::Samples { stride } if u64::from(stride).is_multiple_of(unit) => {
                Ok((0, stride.into()))
            }
            Self::Packets => Ok((0, 0)),
            Self::Samples { stride } => Err(Error::Refused {
                field: "the stride of samples",
                value: stride.to_string(),
                limit: format!("a multiple of {unit}, the alignment"),
                remedy: "round it up",
            }),
        }
    }
}

impl Recording {
    /// Pages of the alignment as a power of two, as registers have it.
    pub(crate) fn alignment(&self) -> Result<u64, Error> {
        let pages = u64::from(self.alignment) / PAGE_BYTES;
        let alignments = PAGE_BYTES as u32..=ALIGNMENT_MOST;
        match self.alignment.is_power_of_two() && alignments.contains(&self.alignment) {
            true => Ok(u64::from(pages.ilog2())),
            false => Err(Error::Refused {
                field: "the alignment",
                value: self.alignment.to_string(),
                limit: format!("a power of two from {PAGE_BYTES} to {ALIGNMENT_MOST}"),
                remedy: "with parity take two, three or five drives, and a shorter stripe unit",
            }),
        }
    }

    fn session_words(&self) -> [u64; 2] {
        let (words, _) = self.session.as_chunks::<8>();
        [0, 1].map(|word| {
            words
                .get(word)
                .map_or(0, |bytes| u64::from_le_bytes(*bytes))
        })
    }

    /// Nanoseconds of a cycle in 2^-24.
    fn tick(&self) -> Result<u64, Error> {
        let tick = (u64::from(self.cycle_ps) << 24) / 1000;
        if u32::try_from(tick).is_ok() && tick > 0 {
            return Ok(tick);
        }
        let limit = "above 0 and below 256 ns";
        Err(Error::parameter(
            "picoseconds of a cycle",
            self.cycle_ps,
            limit,
        ))
    }

    fn control(&self) -> u64 {
        let objects = matches!(self.layout, Layout::Objects { .. });
        let small = matches!(self.layout, Layout::Small { .. });
        regs::control::DATA_RING.put(self.data.ring.into())
            | regs::control::INDEX_RING.put(self.index.ring.into())
            | regs::control::FLUSH.put(self.flush.into())
            | regs::control::PAGES.put(objects.into())
            | regs::control::BATCHES.put(small.into())
            | regs::control::RESULTS.put(self.result_wait.is_some().into())
            | regs::control::WAIT_CYCLES.put(self.wait_cycles.into())
    }
}

impl Region {
    fn check(&self, field: &'static str, unit: u64, capacity: u64) -> Result<(), Error> {
        let refused = |limit: String, remedy| Error::Refused {
            field,
            value: self.text(),
            limit,
            remedy,
        };
        let aligned = |number: u64| number.is_multiple_of(unit);
        if !aligned(self.address) || !aligned(self.bytes) || self.bytes == 0 {
            let limit = format!("both are multiples of {unit}, and not 0");
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
        let check = |region: Region| region.check("the region", 4096, 1 << 20);
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
