// SPDX-License-Identifier: Apache-2.0
//! What a streamer reports: status, first error, counters, latency histogram, trace.

use forebay_spec::nvme::Status;
use forebay_spec::streamer::{UserError, regs};
use serde::{Deserialize, Serialize};

use crate::bus::Bus;
use crate::error::{Error, answered};
use crate::streamer::Streamer;
use crate::trace::TraceRecord;

/// The status register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct StreamerStatus {
    /// The sweep of the tables after reset has ended.
    pub ready: bool,
    /// A time-out stopped the queue.
    pub halted: bool,
    /// Nothing is under way.
    pub idle: bool,
    /// The queue runs.
    pub enabled: bool,
    /// Drives that are lost, as in [`Session::lost`](crate::Session::lost); bit n is drive n's.
    pub lost: u8,
    /// Commands submitted and not completed.
    pub outstanding: u32,
    /// Buffer pages held by writes.
    pub write_pages: u32,
    /// Buffer pages held by reads.
    pub read_pages: u32,
}

/// The first error since the register was cleared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ErrorCause {
    /// Error code as the user saw it.
    pub code: u8,
    /// The code in words.
    pub text: String,
    /// Status field of the completion, 15 bits.
    pub nvme_status: u16,
    /// The status in words, where the SSD gave one.
    pub nvme_text: Option<String>,
    /// Command identifier.
    pub cid: u16,
    /// A write, not a read.
    pub write: bool,
    /// The drive.
    pub drive: u8,
    /// Address of the command in units of 512 bytes.
    pub sector: u64,
}

/// What a streamer for several drives knows of one of them, since it was enabled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriveCounts {
    /// Its number.
    pub drive: u8,
    /// Commands submitted and not completed.
    pub outstanding: u32,
    /// It is asked for nothing any more.
    pub offline: bool,
    /// One of its commands timed out or, with parity, a write failed.
    pub lost: bool,
    /// Commands that are over.
    pub commands: u32,
    /// Bytes of those without an error.
    pub bytes: u64,
    /// Commands that were over with an error.
    pub failed: u32,
    /// The longest from submission to completion.
    pub longest_cycles: u32,
}

/// A register that counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counter {
    /// Name of the register.
    pub name: String,
    /// Its value, modulo 2^32.
    pub value: u32,
    /// What it counts.
    pub meaning: String,
}

/// Everything that the registers say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inspection {
    /// Registers, without counters.
    pub registers: Vec<InspectedRegister>,
    /// Counters.
    pub counters: Vec<Counter>,
    /// Word *k* counts commands of 2^k to 2^(k+1) − 1 cycles.
    pub latency_histogram: Vec<u32>,
    /// What it counted of each drive; nothing where it is built for one.
    #[serde(default)]
    pub drives: Vec<DriveCounts>,
    /// The last queue events, oldest first.
    pub trace: Vec<InspectedEvent>,
    /// The first error since it was cleared, in words.
    pub error_cause: Option<String>,
}

/// A register and its fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InspectedRegister {
    /// Name.
    pub name: String,
    /// Offset in bytes.
    pub offset: u64,
    /// Value.
    pub value: u64,
    /// Its fields.
    pub fields: Vec<InspectedField>,
}

/// A field of a register.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InspectedField {
    /// Name.
    pub name: String,
    /// Lowest bit.
    pub low: u32,
    /// Number of bits.
    pub width: u32,
    /// Value.
    pub value: u64,
}

/// A queue event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InspectedEvent {
    /// Running number since the streamer was enabled.
    pub number: u32,
    /// Cycle, modulo 2^32.
    pub cycle: u32,
    /// Short name; none where the event is unknown.
    pub kind: Option<String>,
    /// Command identifier, where it belongs to a command.
    pub cid: Option<u16>,
    /// In words.
    pub text: String,
}

impl Inspection {
    /// Reads everything of a streamer on any bus. Empty where it has no such registers.
    pub fn of(streamer: &Streamer, bus: &mut dyn Bus) -> Result<Self, Error> {
        if !streamer.is_extended() {
            return Ok(Self::default());
        }
        // The trace first: reading registers makes no events, but time goes on.
        let trace = streamer.trace(bus)?;
        let cause = streamer.error_cause(bus)?;
        let drives = streamer.drives(bus)?;
        let several = !drives.is_empty();
        Ok(Self {
            registers: streamer
                .registers(bus)?
                .into_iter()
                .map(InspectedRegister::new)
                .collect(),
            counters: streamer.counters(bus)?,
            latency_histogram: streamer.histogram(bus)?.into(),
            drives,
            trace: trace
                .into_iter()
                .map(|record| InspectedEvent {
                    number: record.number,
                    cycle: record.cycle,
                    kind: record.event.as_ref().map(|event| event.kind.into()),
                    cid: record.event.as_ref().and_then(|event| event.cid),
                    text: record.event.map_or_else(
                        || format!("unknown {:#018x}", record.raw),
                        |event| event.text,
                    ),
                })
                .collect(),
            error_cause: cause.map(|cause| {
                let status = cause
                    .nvme_text
                    .map(|text| format!("; {text}"))
                    .unwrap_or_default();
                let way = if cause.write { "write" } else { "read" };
                // Of a time-out the RTL knows only the direction.
                let place = match cause.cid {
                    u16::MAX => String::new(),
                    cid => format!(" at sector {}, command {cid}", cause.sector),
                };
                let drive = if several {
                    format!(", drive {}", cause.drive)
                } else {
                    String::new()
                };
                format!("{way}{place}{drive}: {}{status}", cause.text)
            }),
        })
    }
}

impl InspectedRegister {
    fn new((name, offset, value): (&str, u64, u64)) -> Self {
        let fields = regs::FIELDS
            .iter()
            .filter(|(register, ..)| *register == name)
            .map(|(_, field, place)| InspectedField {
                name: field.to_ascii_lowercase(),
                low: place.low,
                width: place.width,
                value: place.get(value),
            })
            .collect();
        Self {
            name: name.into(),
            offset,
            value,
            fields,
        }
    }
}

impl Streamer {
    /// The status register.
    ///
    /// # Errors
    /// Where the bus fails or the card has gone.
    pub fn status(&self, bus: &mut dyn Bus) -> Result<StreamerStatus, Error> {
        let bits = self.read(bus, regs::status::OFFSET)?;
        let bits = answered(self.device, bits, "when the streamer's status was read")?;
        Ok(StreamerStatus {
            ready: regs::status::READY.get(bits) != 0,
            halted: regs::status::HALTED.get(bits) != 0,
            idle: regs::status::IDLE.get(bits) != 0,
            enabled: regs::status::ENABLED.get(bits) != 0,
            lost: regs::status::LOST.get(bits) as u8,
            outstanding: regs::status::OUTSTANDING.get(bits) as u32,
            write_pages: regs::status::WRITE_PAGES.get(bits) as u32,
            read_pages: regs::status::READ_PAGES.get(bits) as u32,
        })
    }

    /// The first error since it was cleared.
    pub fn error_cause(&self, bus: &mut dyn Bus) -> Result<Option<ErrorCause>, Error> {
        let bits = self.read(bus, regs::error_cause::OFFSET)?;
        if regs::error_cause::VALID.get(bits) == 0 {
            return Ok(None);
        }
        let sector = self.read(bus, regs::error_sector::OFFSET)?;
        let code = regs::error_cause::CODE.get(bits) as u8;
        let status = Status::from_bits(regs::error_cause::NVME_STATUS.get(bits) as u16);
        Ok(Some(ErrorCause {
            code,
            text: UserError::from_code(code).map_or("no error".into(), |error| error.to_string()),
            nvme_status: status.bits(),
            nvme_text: (!status.is_success()).then(|| status.to_string()),
            cid: regs::error_cause::CID.get(bits) as u16,
            write: regs::error_cause::WRITE.get(bits) != 0,
            drive: regs::error_cause::DRIVE.get(bits) as u8,
            sector: regs::error_sector::SECTOR.get(sector),
        }))
    }

    /// What it knows of each drive; nothing where it is built for one.
    pub fn drives(&self, bus: &mut dyn Bus) -> Result<Vec<DriveCounts>, Error> {
        if !self.is_extended() || self.parameters(bus)?.drives == 1 {
            return Ok(Vec::new());
        }
        let layout = self.read(bus, regs::layout::OFFSET)?;
        let mut drives = Vec::new();
        for n in 0..=regs::layout::DRIVES_M1.get(layout) {
            let state = self.read(bus, regs::drive_state::of(n))?;
            drives.push(DriveCounts {
                drive: n as u8,
                outstanding: regs::drive_state::OUTSTANDING.get(state) as u32,
                offline: regs::drive_state::OFFLINE.get(state) != 0,
                lost: regs::drive_state::LOST.get(state) != 0,
                commands: self.read(bus, regs::drive_commands::of(n))? as u32,
                bytes: self.read(bus, regs::drive_sectors::of(n))? << 9,
                failed: self.read(bus, regs::drive_failed::of(n))? as u32,
                longest_cycles: self.read(bus, regs::drive_longest::of(n))? as u32,
            });
        }
        Ok(drives)
    }

    /// Drives that are lost, as bits.
    ///
    /// # Errors
    /// Where the bus fails or the card has gone.
    pub(crate) fn lost(&self, bus: &mut dyn Bus) -> Result<u64, Error> {
        Ok(self.status(bus)?.lost.into())
    }

    /// Lets the commands of a drive fail that cannot reach the bus any more, those of others go on.
    pub(crate) fn set_offline(&self, bus: &mut dyn Bus, drive: u64) -> Result<(), Error> {
        let offline = regs::drive_state::OFFLINE.mask();
        self.write(bus, regs::drive_state::of(drive), offline)?;
        // A write is posted: what is asked for next must not overtake it.
        self.read(bus, regs::drive_state::of(drive))?;
        Ok(())
    }

    /// Forgets the first error, so that the next one is held.
    pub fn clear_error_cause(&self, bus: &mut dyn Bus) -> Result<(), Error> {
        self.write(
            bus,
            regs::error_cause::OFFSET,
            regs::error_cause::VALID.mask(),
        )
    }

    /// Every register but the counters, by offset: name and value.
    pub fn registers(&self, bus: &mut dyn Bus) -> Result<Vec<(&'static str, u64, u64)>, Error> {
        let end = if self.is_extended() {
            regs::write_commands::OFFSET
        } else {
            regs::version::OFFSET
        };
        regs::ALL
            .iter()
            .filter(|(_, offset)| *offset < end)
            .map(|(name, offset)| Ok((*name, *offset, self.read(bus, *offset)?)))
            .collect()
    }

    /// All counters, in the order of their offsets, then what the memory of the payload refused.
    pub fn counters(&self, bus: &mut dyn Bus) -> Result<Vec<Counter>, Error> {
        let mut counters = Vec::with_capacity(regs::COUNTERS.len() + 2);
        for &(name, offset, meaning) in regs::COUNTERS {
            counters.push(Counter {
                name: name.into(),
                value: self.read(bus, offset)? as u32,
                meaning: meaning.into(),
            });
        }
        let refused = self.read(bus, regs::memory_errors::OFFSET)?;
        for (name, field, meaning) in [
            (
                "memory_write_errors",
                regs::memory_errors::WRITES,
                "Bursts that the memory of the payload did not store.",
            ),
            (
                "memory_read_errors",
                regs::memory_errors::READS,
                "Beats that the memory of the payload did not give.",
            ),
        ] {
            counters.push(Counter {
                name: name.into(),
                value: field.get(refused) as u32,
                meaning: meaning.into(),
            });
        }
        Ok(counters)
    }

    /// The latency histogram: word *k* counts commands of 2^k to 2^(k+1) − 1 cycles.
    pub fn histogram(&self, bus: &mut dyn Bus) -> Result<[u32; regs::histogram::ENTRIES], Error> {
        let mut counts = [0; regs::histogram::ENTRIES];
        for (count, offset) in counts
            .iter_mut()
            .zip((regs::histogram::OFFSET..).step_by(8))
        {
            *count = self.read(bus, offset)? as u32;
        }
        Ok(counts)
    }

    /// The last queue events, oldest first. Events that are overwritten while they are read are
    /// left out.
    pub fn trace(&self, bus: &mut dyn Bus) -> Result<Vec<TraceRecord>, Error> {
        const ENTRIES: u32 = regs::trace::ENTRIES as u32;
        let head = self.read(bus, regs::trace_head::OFFSET)? as u32;
        let mut words = [0; regs::trace::ENTRIES];
        for (word, offset) in words.iter_mut().zip((regs::trace::OFFSET..).step_by(8)) {
            *word = self.read(bus, offset)?;
        }
        let after = self.read(bus, regs::trace_head::OFFSET)? as u32;
        Ok((0..head.min(ENTRIES))
            .rev()
            .map(|age| head.wrapping_sub(1 + age))
            .filter(|number| after.wrapping_sub(*number) <= ENTRIES)
            .map(|number| TraceRecord::new(number, words[(number % ENTRIES) as usize]))
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_register_is_taken_apart() {
        let status = InspectedRegister::new(("status", regs::status::OFFSET, 0b1001));
        let field = |name: &str| {
            status
                .fields
                .iter()
                .find(|f| f.name == name)
                .map(|f| f.value)
        };
        assert_eq!(
            (field("ready"), field("halted"), field("enabled")),
            (Some(1), Some(0), Some(1))
        );
    }
}
