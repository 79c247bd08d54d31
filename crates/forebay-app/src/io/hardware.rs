// SPDX-License-Identifier: Apache-2.0
//! I/O on devices of this machine, through VFIO: transactions enter at the card's host port.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use forebay_cosim::Direction;
use forebay_driver::flight::Ask;
use forebay_driver::host_port::HostPort;
use forebay_driver::inspect::Inspection;
use forebay_driver::{
    BusError, Error, Flight, FpgaPlace, Options, QueuePlacement, bring_up_observed,
};
use forebay_spec::streamer::bar0;
use forebay_spec::streamer::user::{ReadCommand, WriteCommand};
use forebay_vfio::{Settings, Sysfs, VfioBus};

use super::{IoSpec, Leg, Moved, Report, SCHEMA, Target, carry_out, transactions};
use crate::failure::{Exit, Failure, Result};
use crate::interrupt;
use crate::progress::Progress;
use crate::report::{self, Header, ProfileName, Rtl};
use crate::session::Ended;

/// How long a step of a transaction may take: longer than the streamer's own time-out, which ends
/// commands with an error.
const LIMIT: Duration = Duration::from_secs(60);

/// Devices of this machine.
#[derive(Clone, Debug)]
pub struct DevicesSpec {
    /// What is taken, and how it reaches memory.
    pub settings: Settings,
    /// How the driver brings it up: the drive is `nvme`, the card `fpga.device`.
    pub options: Options,
    /// Decides what is random, for the report.
    pub seed: u64,
}

/// Moves it on devices of this machine; `consent` allows the drive of this name and serial number to
/// be overwritten, and is asked only where something is written.
///
/// # Errors
/// Where a device is in use, VFIO refuses it, the bring-up fails, or the consent.
pub fn on_devices(
    devices: &DevicesSpec,
    spec: &IoSpec,
    consent: impl FnOnce(&str, &str) -> Result<()>,
) -> Result<(Report, Ended)> {
    carry_out(spec, || {
        let writes = spec.data.is_some();
        start(devices, |drive, serial| match writes {
            true => consent(drive, serial),
            false => Ok(()),
        })
    })
}

/// Drive and card, brought up.
struct Hardware {
    bus: VfioBus,
    /// None once it was shut down.
    session: Option<forebay_driver::Session>,
    port: HostPort,
    header: Header,
    block_bytes: u64,
}

/// Takes the devices and brings them up.
fn start(
    devices: &DevicesSpec,
    consent: impl FnOnce(&str, &str) -> Result<()>,
) -> Result<Hardware> {
    let _progress = Progress::stage("bringing drive and streamer up");
    interrupt::also(Arc::clone(&devices.settings.stop));
    let mut bus = VfioBus::open(&Sysfs::default(), devices.settings.clone())?;
    let options = Options {
        placement: QueuePlacement::Fpga,
        ..devices.options
    };
    let place: FpgaPlace = options.fpga;
    let session = bring_up_observed(&mut bus, &options, &mut |_| {})?;
    let facts = session.facts();
    let name = format!("the drive at {}", facts.nvme.address);
    if let Err(refused) = consent(&name, &facts.controller.serial) {
        session.shutdown(&mut bus)?;
        return Err(refused);
    }
    let card = facts.fpga.as_ref().map(|card| card.address);
    let card = card.or(place.device).unwrap_or_default();
    let (control, window) = (bar0::HOST_CONTROL, bar0::HOST);
    let port = HostPort::attach(&mut bus, card, place.bar, control, window)?;
    let Some(port) = port else {
        return Err(Failure::new(
            Exit::Impossible,
            format!(
                "the card at {card} has no host port, through which software feeds its streams"
            ),
            "build the card with fb_top_host (docs/reference/host-port.md); a card whose streams \
             lead elsewhere is fed from there",
        ));
    };
    // What a program that was killed had on its way is not to become part of this one's.
    let streamer = session.streamer().cloned();
    if let Some(streamer) = &streamer {
        port.clear(&mut bus, streamer, LIMIT)?;
    }
    let header = header(devices.seed, session.facts(), SCHEMA);
    let block_bytes = session.facts().namespace.block_bytes();
    Ok(Hardware {
        bus,
        session: Some(session),
        port,
        header,
        block_bytes,
    })
}

/// What the report of a command on devices begins with.
pub fn header(seed: u64, facts: &forebay_driver::Facts, schema: &str) -> Header {
    let drive = &facts.controller;
    let parameters = facts.streamer.map(|streamer| {
        vec![
            ("QueueDepth".to_owned(), streamer.queue_depth.to_string()),
            ("Pages".to_owned(), streamer.pages.to_string()),
        ]
    });
    let card = facts.fpga.as_ref().map(|card| card.address.to_string());
    Header {
        schema: schema.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command_line: report::command_line(),
        simulated: false,
        seed,
        interrupted: false,
        profile: ProfileName {
            name: facts.nvme.address.to_string(),
            description: format!(
                "{} (serial {}, firmware {}) at {}, namespace {}",
                drive.model, drive.serial, drive.firmware, facts.nvme.address, facts.namespace.nsid
            ),
        },
        rtl: Rtl {
            top: format!("card at {}", card.unwrap_or_default()),
            parameters: parameters.unwrap_or_default(),
            clock_hz: None,
        },
    }
}

impl Hardware {
    /// Makes transactions one after the other until one cannot be made.
    fn each(
        &mut self,
        transactions: impl Iterator<Item = (u64, u64)>,
        mut make: impl FnMut(&HostPort, &mut VfioBus, (u64, u64)) -> Moving,
    ) -> Leg {
        let start = Instant::now();
        let mut moved = Vec::new();
        let mut ended = Ended::Done;
        for transaction in transactions {
            let checked = self.bus.check().map_err(Error::from);
            match checked.and_then(|()| make(&self.port, &mut self.bus, transaction)) {
                Ok(one) => moved.push(one),
                Err(Error::Bus(BusError::Interrupted)) => {
                    ended = Ended::Interrupted;
                    break;
                }
                Err(error) => {
                    ended = Ended::Failed(error.into());
                    break;
                }
            }
        }
        Leg {
            ended,
            moved,
            rate: None,
            seconds: Some(start.elapsed().as_secs_f64()),
        }
    }
}

/// A transaction that was made, or why it could not be.
type Moving = std::result::Result<Moved, Error>;

impl Target for Hardware {
    fn header(&self, ended: &Ended) -> Header {
        Header {
            interrupted: matches!(ended, Ended::Interrupted),
            ..self.header.clone()
        }
    }

    fn block_bytes(&self) -> Result<u64> {
        Ok(self.block_bytes)
    }

    fn write(&mut self, spec: &IoSpec, data: &Arc<[u8]>) -> Leg {
        let bytes = data.len() as u64;
        let progress = Progress::bytes("file → drive", bytes);
        self.each(
            transactions(bytes, spec.transaction),
            |port, bus, (offset, length)| {
                let command = WriteCommand {
                    address: spec.at.saturating_add(offset),
                    fua: spec.fua,
                    // One flush at the end covers all that went before.
                    flush: spec.flush && offset + length == bytes,
                    fence: spec.fence,
                };
                let part = &data[offset as usize..(offset + length) as usize];
                let mut source = Counted::new(part, |done| progress.at(offset + done));
                let ended = port.write(bus, command, &mut source, LIMIT)?;
                Ok(Moved {
                    direction: Direction::Write,
                    address: command.address,
                    length,
                    transferred: ended.bytes,
                    latency_cycles: None,
                    error: ended.error,
                    data: Vec::new(),
                })
            },
        )
    }

    fn read(&mut self, spec: &IoSpec, bytes: u64) -> Leg {
        let progress = Progress::bytes("drive → file", bytes);
        self.each(
            transactions(bytes, spec.transaction),
            |port, bus, (offset, length)| {
                let command = ReadCommand::new(spec.at.saturating_add(offset), length);
                let mut sink = Counted::new(Vec::new(), |done| progress.at(offset + done));
                let ended = port.read(bus, command, &mut sink, LIMIT)?;
                Ok(Moved {
                    direction: Direction::Read,
                    address: command.address,
                    length,
                    transferred: ended.bytes,
                    latency_cycles: None,
                    error: ended.error,
                    data: sink.inner,
                })
            },
        )
    }

    fn inspection(&mut self) -> Result<Inspection> {
        let streamer = self
            .session
            .as_ref()
            .and_then(forebay_driver::Session::streamer);
        match streamer {
            Some(streamer) => Ok(Inspection::of(streamer, &mut self.bus)?),
            None => Ok(Inspection::default()),
        }
    }

    fn flight(&mut self) -> Flight {
        let session = self.session.as_mut();
        session.map_or_else(Flight::default, |session| {
            Flight::take(session, &mut self.bus, &Ask::default())
        })
    }

    fn shut_down(&mut self, _: bool) -> Result<()> {
        if let Some(session) = self.session.take() {
            session.shutdown(&mut self.bus)?;
        }
        Ok(())
    }
}

/// Tells how many bytes have gone through.
struct Counted<T, F> {
    inner: T,
    done: u64,
    tell: F,
}

impl<T, F: Fn(u64)> Counted<T, F> {
    fn new(inner: T, tell: F) -> Self {
        let done = 0;
        Self { inner, done, tell }
    }

    fn count(&mut self, bytes: usize) -> usize {
        self.done += bytes as u64;
        (self.tell)(self.done);
        bytes
    }
}

impl<T: Read, F: Fn(u64)> Read for Counted<T, F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.inner.read(buffer)?;
        Ok(self.count(bytes))
    }
}

impl<T: Write, F: Fn(u64)> Write for Counted<T, F> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let bytes = self.inner.write(buffer)?;
        Ok(self.count(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
