// SPDX-License-Identifier: Apache-2.0
//! I/O on devices of this machine, through VFIO: transactions enter at the card's host port.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use forebay_cosim::Direction;
use forebay_driver::flight::Ask;
use forebay_driver::host_port::HostPort;
use forebay_driver::{
    BusError, Error, Flight, FpgaPlace, Options, QueuePlacement, bring_up_observed,
};
use forebay_spec::streamer::bar0;
use forebay_spec::streamer::user::{ReadCommand, WriteCommand};
use forebay_vfio::{Settings, Sysfs, VfioBus};

use super::{Leg, Moved, Target, adjust_driver, pieces};
use crate::args::{BusKind, ConsentArgs, HardwareBusArgs, IoArgs};
use crate::failure::{Exit, Failure, Result};
use crate::inspection::Inspection;
use crate::interrupt;
use crate::progress::Progress;
use crate::report::{self, Header, ProfileName, Rtl};
use crate::session::Ended;

/// How long a step of a transaction may take: longer than the streamer's own time-out, which ends
/// commands with an error.
const LIMIT: Duration = Duration::from_secs(60);

/// Drive and card, brought up.
pub(super) struct Hardware {
    bus: VfioBus,
    /// None once it was shut down.
    session: Option<forebay_driver::Session>,
    port: HostPort,
    header: Header,
    block_bytes: u64,
}

/// Refuses options of the one machine on the other.
pub(super) fn check_options(args: &IoArgs) -> Result<()> {
    let mut simulated = args.faults.simulated();
    if !args.backing.is_empty() {
        simulated.push("--backing".into());
    }
    if args.block.is_some() {
        simulated.push("--block".into());
    }
    // The seed decides what is generated, too.
    if !(args.generate.is_some() && args.machine.given == ["seed"]) {
        simulated.extend(args.machine.given.iter().map(|name| format!("--{name}")));
    }
    let devices = (args.bus, &args.hardware, &args.consent);
    check_devices(devices, &simulated)?;
    match (args.bus, args.writes()) {
        (BusKind::Vfio, true) => require_consent(&args.consent),
        (BusKind::Vfio, false) if args.consent.is_given() => Err(Failure::input(
            "--yes or --serial",
            "given",
            "nothing is written to the drive",
            "leave it out",
        )),
        _ => Ok(()),
    }
}

/// Refuses options of the one machine on the other; `simulated`: those given that only the simulated
/// one has.
pub fn check_devices(
    (bus, hardware, consent): (BusKind, &HardwareBusArgs, &ConsentArgs),
    simulated: &[String],
) -> Result<()> {
    let devices = [
        (hardware.ssd.is_some(), "--ssd"),
        (hardware.fpga.is_some(), "--fpga"),
        (hardware.no_iommu, "--no-iommu"),
        (hardware.huge_pages, "--huge-pages"),
        (consent.yes, "--yes"),
        (consent.serial.is_some(), "--serial"),
    ];
    if bus == BusKind::Sim {
        return match devices.into_iter().find(|(given, _)| *given) {
            None => Ok(()),
            Some((_, option)) => Err(Failure::input(
                option,
                "given",
                "it names this machine's own hardware, and the machine is simulated",
                "add --bus vfio, or leave the option out",
            )),
        };
    }
    if let Some(option) = simulated.first() {
        return Err(Failure::input(
            option,
            "given",
            "it is of the simulated machine, and devices of this one are asked for",
            "leave the option out, or take the simulated machine (--bus sim)",
        ));
    }
    match devices[..2].iter().find(|(given, _)| !given) {
        None => Ok(()),
        Some((_, option)) => Err(Failure::input(
            option,
            "missing",
            "--bus vfio takes a drive and a card, and never chooses one by itself",
            "`forebay devices` lists what is there",
        )),
    }
}

/// Refuses to go on without leave to overwrite the drive, before it is brought up; its serial number is
/// compared after that.
pub fn require_consent(consent: &ConsentArgs) -> Result<()> {
    match consent.is_given() {
        true => Ok(()),
        false => consent.check("the drive", None),
    }
}

/// Takes the devices and brings them up.
pub(super) fn start(args: &IoArgs) -> Result<Hardware> {
    let _progress = Progress::stage("bringing drive and streamer up");
    let settings: Settings = args.hardware.settings([]);
    interrupt::also(Arc::clone(&settings.stop));
    let mut bus = VfioBus::open(&Sysfs::default(), settings)?;
    let place = FpgaPlace {
        device: args.hardware.fpga,
        ..FpgaPlace::default()
    };
    let mut options = Options {
        nvme: args.hardware.ssd,
        placement: QueuePlacement::Fpga,
        fpga: place,
        ..Options::default()
    };
    adjust_driver(args, &mut options);
    if let Some(depth) = args.machine.queue_depth {
        options.queue_entries = depth as u16;
    }
    let session = bring_up_observed(&mut bus, &options, &mut |_| {})?;
    let facts = session.facts();
    if args.writes() {
        let name = format!("the drive at {}", facts.nvme.address);
        if let Err(refused) = args.consent.check(&name, Some(&facts.controller.serial)) {
            session.shutdown(&mut bus)?;
            return Err(refused);
        }
    }
    let card = facts.fpga.as_ref().map(|card| card.address);
    let card = card.or(args.hardware.fpga).unwrap_or_default();
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
    let header = header(args.machine.seed, session.facts(), "forebay.io/1");
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
        pieces: impl Iterator<Item = (u64, u64)>,
        mut make: impl FnMut(&HostPort, &mut VfioBus, (u64, u64)) -> Moving,
    ) -> Leg {
        let start = Instant::now();
        let mut moved = Vec::new();
        let mut ended = Ended::Done;
        for piece in pieces {
            let checked = self.bus.check().map_err(Error::from);
            match checked.and_then(|()| make(&self.port, &mut self.bus, piece)) {
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

    fn write(&mut self, args: &IoArgs, data: &Arc<[u8]>) -> Leg {
        let bytes = data.len() as u64;
        let progress = Progress::bytes("file → drive", bytes);
        let pieces = pieces(bytes, args.transaction);
        self.each(pieces, |port, bus, (offset, length)| {
            let command = WriteCommand {
                address: args.at.saturating_add(offset),
                fua: args.fua,
                // One flush at the end covers all that went before.
                flush: args.flush && offset + length == bytes,
            };
            let piece = &data[offset as usize..(offset + length) as usize];
            let mut source = Counted::new(piece, |done| progress.at(offset + done));
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
        })
    }

    fn read(&mut self, args: &IoArgs, bytes: u64) -> Leg {
        let progress = Progress::bytes("drive → file", bytes);
        let pieces = pieces(bytes, args.transaction);
        self.each(pieces, |port, bus, (offset, length)| {
            let command = ReadCommand::new(args.at.saturating_add(offset), length);
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
        })
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
