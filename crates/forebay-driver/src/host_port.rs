// SPDX-License-Identifier: Apache-2.0
//! The host port: writes and reads through the streamer with nothing but the card's BAR.

use std::io::{Read, Write};
use std::time::Duration;

use forebay_spec::host_port::{self, regs};
use forebay_spec::streamer::user::{BEAT_BYTES, ReadCommand, WriteCommand};
use forebay_spec::streamer::{UserError, window};

use crate::bus::{Bus, PciAddress};
use crate::error::{Error, answered};
use crate::poll;
use crate::streamer::Streamer;

/// Most staging pages of one direction: half of the largest window.
const PAGES_MOST: u64 = window::BUFFER_PAGES / 2;

const CLEAR: &str = "clear the host port; if it does not come to rest, bring the card up again";

/// Handle of a host port: where its registers and its staging window stand.
///
/// One transaction at a time; no other program may use the port meanwhile.
#[derive(Clone, Debug)]
pub struct HostPort {
    device: PciAddress,
    bar: u8,
    control: u64,
    window: u64,
    /// Bytes that fit into the window for each direction.
    write_bytes: u64,
    read_bytes: u64,
}

/// How a transaction has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Bytes that were written or read; of a write that failed some may be stored.
    pub bytes: u64,
    /// Why it failed, if it did.
    pub error: Option<UserError>,
}

/// What the port shows of data read.
struct Shown {
    bytes: u64,
    last: bool,
    error: Option<UserError>,
}

impl HostPort {
    /// Looks for a host port whose registers stand at `control` of a BAR, and its staging window at
    /// `window`; none where there is another thing, or nothing.
    ///
    /// # Errors
    /// Where the bus fails, or there is a host port that the driver does not know.
    pub fn attach(
        bus: &mut dyn Bus,
        device: PciAddress,
        bar: u8,
        control: u64,
        window: u64,
    ) -> Result<Option<Self>, Error> {
        let at = |register: u64| control.saturating_add(register);
        let version = bus.bar_read64(device, bar, at(regs::version::OFFSET))?;
        if regs::version::MAGIC.get(version) != host_port::VERSION_MAGIC {
            return Ok(None);
        }
        let major = regs::version::MAJOR.get(version);
        let parameters = bus.bar_read64(device, bar, at(regs::parameters::OFFSET))?;
        let write_pages = regs::parameters::WRITE_PAGES.get(parameters);
        let read_pages = regs::parameters::READ_PAGES.get(parameters);
        let pages = 1..=PAGES_MOST;
        if major != host_port::VERSION_MAJOR
            || !pages.contains(&write_pages)
            || !pages.contains(&read_pages)
        {
            return Err(Error::Refused {
                field: "the host port's version and parameters",
                value: format!(
                    "major version {major}, {write_pages} pages for writing, {read_pages} for \
                     reading"
                ),
                limit: format!(
                    "version {} and 1 to {PAGES_MOST} pages of each are known",
                    host_port::VERSION_MAJOR
                ),
                remedy: "driver and bitstream are of different versions: build both anew",
            });
        }
        Ok(Some(Self {
            device,
            bar,
            control,
            window,
            write_bytes: write_pages * window::PAGE_BYTES,
            read_bytes: read_pages * window::PAGE_BYTES,
        }))
    }

    /// Bytes of the staging window for each direction: write, read.
    #[must_use]
    pub const fn staging(&self) -> (u64, u64) {
        (self.write_bytes, self.read_bytes)
    }

    /// Writes all of `data` to the drive, in one transaction. No step of it takes longer than
    /// `limit`.
    ///
    /// # Errors
    /// Where the bus or the source of the data fails, the port does what it must not, or something
    /// does not happen within `limit`. The port may then need [`HostPort::clear`]. What the
    /// streamer or the drive refuses is no error here, see [`Ended::error`].
    pub fn write(
        &self,
        bus: &mut dyn Bus,
        command: WriteCommand,
        data: &mut dyn Read,
        limit: Duration,
    ) -> Result<Ended, Error> {
        self.expect_rest(bus)?;
        let room = self.write_bytes as usize;
        // The transaction's first beat is its command.
        let mut part = command.encode().to_vec();
        fill(&mut part, data, room)?;
        let mut total = 0;
        loop {
            // Only with the next part in hand it is known whether this one is the last.
            let mut next = Vec::new();
            if part.len() == room {
                fill(&mut next, data, room)?;
            }
            let last = next.is_empty();
            self.send(bus, &part, last, limit)?;
            total += part.len() as u64;
            if last {
                break;
            }
            part = next;
        }
        let code = self.wait(bus, limit, "the response to a write", |port, bus| {
            let shown = port.get(bus, regs::response::OFFSET)?;
            let valid = regs::response::VALID.get(shown) != 0;
            Ok(valid.then(|| regs::response::CODE.get(shown) as u8))
        })?;
        self.put(bus, regs::response::OFFSET, regs::response::VALID.mask())?;
        Ok(Ended {
            bytes: total - BEAT_BYTES as u64,
            error: UserError::from_code(code),
        })
    }

    /// Reads from the drive into `sink`, in one transaction. No step of it takes longer than
    /// `limit`.
    ///
    /// # Errors
    /// As [`HostPort::write`].
    pub fn read(
        &self,
        bus: &mut dyn Bus,
        command: ReadCommand,
        sink: &mut dyn Write,
        limit: Duration,
    ) -> Result<Ended, Error> {
        self.expect_rest(bus)?;
        self.put(bus, regs::read_address::OFFSET, command.address)?;
        self.put(bus, regs::read_length::OFFSET, command.length)?;
        let mut options = 0;
        if let Some(tag) = command.unordered {
            options = regs::read_command::UNORDERED.mask();
            options = regs::read_command::TAG.set(options, u64::from(tag));
        }
        self.put(bus, regs::read_command::OFFSET, options)?;
        let mut buffer = Vec::new();
        let mut total = 0;
        loop {
            let shown = self.wait(bus, limit, "data read", |port, bus| {
                let shown = port.get(bus, regs::read::OFFSET)?;
                (regs::read::VALID.get(shown) != 0)
                    .then(|| port.shown(shown))
                    .transpose()
            })?;
            total += shown.bytes;
            let whole = total == command.length;
            if total > command.length || (shown.last && shown.error.is_none() && !whole) {
                return Err(Error::Refused {
                    field: "the number of bytes read",
                    value: total.to_string(),
                    limit: format!("{} were asked for", command.length),
                    remedy: CLEAR,
                });
            }
            buffer.resize(shown.bytes as usize, 0);
            let from = self.window.saturating_add(self.write_bytes);
            bus.bar_read_bytes(self.device, self.bar, from, &mut buffer)?;
            self.put(bus, regs::read::OFFSET, regs::read::VALID.mask())?;
            sink.write_all(&buffer).map_err(|source| Error::Data {
                what: "storing the data read",
                source,
            })?;
            if shown.last {
                let (bytes, error) = (total, shown.error);
                return Ok(Ended { bytes, error });
            }
        }
    }

    /// Drops all that is under way, so that the port can be used again after an error: a write that
    /// was begun ends with an error, what a read brings is not kept.
    ///
    /// # Errors
    /// Where port and streamer do not come to rest within `limit`. Nothing is started any more
    /// then, until a later call succeeds.
    pub fn clear(
        &self,
        bus: &mut dyn Bus,
        streamer: &Streamer,
        limit: Duration,
    ) -> Result<(), Error> {
        self.put(bus, regs::control::OFFSET, regs::control::CLEAR.mask())?;
        self.wait(
            bus,
            limit,
            "rest of the host port and the streamer",
            |port, bus| {
                // In this order: what the port still sends, the streamer has before it is asked.
                let rests = port.get(bus, regs::status::OFFSET)? == 0 && streamer.status(bus)?.idle;
                // The last of what the streamer sends has then come, and was dropped.
                Ok((rests && port.get(bus, regs::status::OFFSET)? == 0).then_some(()))
            },
        )?;
        self.put(bus, regs::refused::OFFSET, u64::MAX)?;
        self.put(bus, regs::control::OFFSET, 0)
    }

    /// Sends a part of a packet.
    fn send(
        &self,
        bus: &mut dyn Bus,
        part: &[u8],
        last: bool,
        limit: Duration,
    ) -> Result<(), Error> {
        bus.bar_write_bytes(self.device, self.bar, self.window, part)?;
        self.check_staged(bus, part)?;
        let mut value = regs::write::BYTES.set(0, part.len() as u64);
        value = regs::write::LAST.set(value, u64::from(last));
        self.put(bus, regs::write::OFFSET, value)?;
        self.wait(bus, limit, "the streamer to take a write", |port, bus| {
            let status = port.get(bus, regs::status::OFFSET)?;
            Ok((regs::status::WRITE_BUSY.get(status) == 0).then_some(()))
        })?;
        let refused = self.get(bus, regs::refused::OFFSET)?;
        if refused != 0 {
            return Err(Error::Refused {
                field: "the host port's register `refused`",
                value: format!("{refused:#x} after a write of {} bytes", part.len()),
                limit: "0 was expected: another program uses the port".into(),
                remedy: CLEAR,
            });
        }
        Ok(())
    }

    /// Reads the last word that was written into the window: the answer comes after all of them
    /// have arrived, and a window that stands elsewhere is noticed.
    fn check_staged(&self, bus: &mut dyn Bus, part: &[u8]) -> Result<(), Error> {
        let at = part.len().saturating_sub(1) & !7;
        let end = &part[at..];
        let mut seen = vec![0; end.len()];
        let place = self.window.saturating_add(at as u64);
        bus.bar_read_bytes(self.device, self.bar, place, &mut seen)?;
        if seen == end {
            return Ok(());
        }
        Err(Error::Refused {
            field: "the host port's staging window",
            value: format!("{seen:02x?} at offset {at:#x}"),
            limit: format!("{end:02x?} was written there"),
            remedy: "give the offset at which the window stands; driver and bitstream must agree",
        })
    }

    /// The port must be at rest before a transaction begins.
    fn expect_rest(&self, bus: &mut dyn Bus) -> Result<(), Error> {
        let state = [
            ("control", self.get(bus, regs::control::OFFSET)?),
            ("status", self.get(bus, regs::status::OFFSET)?),
            ("refused", self.get(bus, regs::refused::OFFSET)?),
            ("response", {
                let value = self.get(bus, regs::response::OFFSET)?;
                regs::response::VALID.get(value)
            }),
            ("read", {
                let value = self.get(bus, regs::read::OFFSET)?;
                regs::read::VALID.get(value)
            }),
        ];
        let Some((register, value)) = state.into_iter().find(|(_, value)| *value != 0) else {
            return Ok(());
        };
        Err(Error::Refused {
            field: "the state of the host port",
            value: format!("`{register}` = {value:#x}"),
            limit: "it must be at rest before a transaction begins".into(),
            remedy: CLEAR,
        })
    }

    /// Checks what the port shows.
    fn shown(&self, value: u64) -> Result<Shown, Error> {
        let failed = regs::read::ERROR.get(value) != 0;
        let code = regs::read::CODE.get(value) as u8;
        let shown = Shown {
            bytes: regs::read::BYTES.get(value),
            last: regs::read::LAST.get(value) != 0,
            // An error with code 0 is still a failure.
            error: failed.then(|| UserError::from_code(code).unwrap_or(UserError::Unknown(code))),
        };
        let fits = shown.bytes <= self.read_bytes;
        let moves = shown.bytes > 0 || failed;
        if fits && moves && (shown.last || !failed) {
            return Ok(shown);
        }
        Err(Error::Refused {
            field: "the host port's register `read`",
            value: format!("{value:#x}"),
            limit: format!(
                "up to {} bytes, and an error only at the end",
                self.read_bytes
            ),
            remedy: CLEAR,
        })
    }

    /// Waits until `probe` has an answer.
    fn wait<T>(
        &self,
        bus: &mut dyn Bus,
        limit: Duration,
        what: &'static str,
        mut probe: impl FnMut(&Self, &mut dyn Bus) -> Result<Option<T>, Error>,
    ) -> Result<T, Error> {
        if let Some(answer) = poll::wait(bus, limit, |bus| probe(self, bus))? {
            return Ok(answer);
        }
        let status = self.get(bus, regs::status::OFFSET)?;
        Err(Error::Timeout {
            what,
            limit,
            seen: format!("the host port's status is {status:#x}"),
            remedy: "look at the streamer's status: it must run and not be halted; then clear the \
                     host port",
        })
    }

    fn get(&self, bus: &mut dyn Bus, register: u64) -> Result<u64, Error> {
        let at = self.control.saturating_add(register);
        let value = bus.bar_read64(self.device, self.bar, at)?;
        // No register that is read here can have all its bits set.
        let during = "when a register of the host port was read";
        answered(self.device, value, during)
    }

    fn put(&self, bus: &mut dyn Bus, register: u64, value: u64) -> Result<(), Error> {
        let at = self.control.saturating_add(register);
        Ok(bus.bar_write64(self.device, self.bar, at, value)?)
    }
}

/// Reads until `part` has `room` bytes or the source has ended.
fn fill(part: &mut Vec<u8>, data: &mut dyn Read, room: usize) -> Result<(), Error> {
    let left = room.saturating_sub(part.len()) as u64;
    let read = data.take(left).read_to_end(part);
    read.map(drop).map_err(|source| Error::Data {
        what: "reading the data to write",
        source,
    })
}
