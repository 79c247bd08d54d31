// SPDX-License-Identifier: Apache-2.0
//! A recording through a card of this machine onto an NVMe drive, by VFIO.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use forebay_driver::net_port::NetPort;
use forebay_driver::record::{Observer, Recorder, Stage, ports};
use forebay_driver::recorder_port::Events;
use forebay_driver::{
    Bus, BusError, Error, Facts, Options, PciAddress, QueuePlacement, Session, Streamer,
    bring_up_observed, streamer,
};
use forebay_pipeline::{Memory, Pipeline};
use forebay_spec::net::Arrival;
use forebay_spec::store::superblock::Superblock;
use forebay_store::Part;
use forebay_vfio::{Settings, Sysfs, VfioBus};

use super::{CONTROLS, QueueDisk, Recorded, make_room, setup};
use crate::failure::{Exit, Failure, Result};
use crate::interrupt;
use crate::progress::Progress;
use crate::session::Ended;

/// How long the end of a recording may stand still: longer than the streamer's own time-out, which ends
/// commands with an error.
const LIMIT: Duration = Duration::from_secs(60);
/// How often counters are looked at while frames are recorded: so often by themselves, and at most
/// where the card raises one interrupt after the other.
const LOOK: Duration = Duration::from_millis(100);
const LOOK_LEAST: Duration = Duration::from_millis(5);

/// Card and drive, and how long.
#[derive(Clone, Debug)]
pub struct CardSpec {
    /// The devices to take.
    pub settings: Settings,
    /// How they are brought up.
    pub options: Options,
    /// How long to record; none: until Ctrl-C.
    pub lasts: Option<Duration>,
}

/// Card and drive, brought up.
pub struct Card {
    bus: VfioBus,
    session: Session,
    address: PciAddress,
    bar: u8,
    stop: Arc<AtomicBool>,
    lasts: Option<Duration>,
}

impl Card {
    /// Takes the devices and brings them up.
    ///
    /// # Errors
    /// Where a device is in use, VFIO refuses it, the bring-up fails, or the card is not built for the
    /// pipeline.
    pub fn open(spec: &CardSpec, pipeline: &Pipeline) -> Result<Self> {
        if pipeline.ssds.len() != 1 {
            return Err(Failure::input(
                "[[ssd]]",
                format!("there {} times", pipeline.ssds.len()),
                "a card of this machine records onto one drive",
                "leave one",
            ));
        }
        let _progress = Progress::stage("bringing drive and streamer up");
        let stop = Arc::clone(&spec.settings.stop);
        interrupt::also(Arc::clone(&stop));
        let mut bus = VfioBus::open(&Sysfs::default(), spec.settings.clone())?;
        let options = Options {
            placement: QueuePlacement::Fpga,
            more_queues: 1,
            ..spec.options
        };
        let session = bring_up_observed(&mut bus, &options, &mut |_| {})?;
        let card = session.facts().fpga.as_ref().map(|card| card.address);
        let mut card = Self {
            bus,
            address: card.or(spec.options.fpga.device).unwrap_or_default(),
            bar: spec.options.fpga.bar,
            session,
            stop,
            lasts: spec.lasts,
        };
        // Before anything is written onto the drive.
        let address = card.address;
        let checked = card.check(pipeline);
        match checked.and_then(|()| Ok(card.bus.listen(address)?)) {
            Ok(()) => Ok(card),
            Err(failure) => {
                card.shut_down()?;
                Err(failure)
            }
        }
    }

    /// Refuses a pipeline that the card is not built for, as far as registers say: its elements have none.
    fn check(&mut self, pipeline: &Pipeline) -> Result<()> {
        let memory = self.session.streamer().map(Streamer::memory);
        let built = match memory {
            Some(streamer::Memory::OnBoard) => Memory::Dram,
            Some(streamer::Memory::Host) => Memory::Host,
            _ => Memory::Onchip,
        };
        if built != pipeline.buffer.memory {
            return Err(Failure::input(
                "buffer.memory",
                pipeline.buffer.memory.name(),
                &format!(
                    "the card at {} is built with {}",
                    self.address,
                    built.name()
                ),
                "change the pipeline's file, or build the card for it",
            ));
        }
        let (net, _) = ports(&mut self.bus, (self.address, self.bar), CONTROLS)?;
        net.configure(&mut self.bus, &setup::net(pipeline))?;
        Ok(())
    }

    /// What the bring-up found.
    #[must_use]
    pub const fn facts(&self) -> &Facts {
        self.session.facts()
    }

    /// Makes room on the drive, whatever is on it.
    ///
    /// # Errors
    /// A drive that is too small, or that fails.
    pub fn prepare(&mut self, pipeline: &Pipeline) -> Result<Superblock> {
        let block_bytes = self.session.facts().namespace.block_bytes();
        self.with_drive(|drive| {
            make_room(
                vec![Part::new("the drive", Box::new(drive))],
                None,
                block_bytes,
                &pipeline.sink,
                setup::form(pipeline),
                true,
            )
        })
    }

    /// Records until the end is asked for, and reads the index.
    ///
    /// # Errors
    /// Devices that fail, or do not come to rest.
    pub fn record(
        &mut self,
        pipeline: &Pipeline,
        superblock: &Superblock,
    ) -> Result<(Recorded, Ended)> {
        let capacity = self.session.facts().namespace.bytes();
        let plan = setup::plan(pipeline, superblock, None);
        let mut observer = UntilAsked {
            until: self.lasts.map(|lasts| Instant::now() + lasts),
            streamer: self.session.streamer().cloned(),
            progress: Progress::stage("wire → drive"),
            stop: Arc::clone(&self.stop),
            ended: Ended::Done,
        };
        let device = (self.address, self.bar);
        let mut recorder = Recorder::attach(&mut self.bus, device, CONTROLS, &plan, LIMIT)?;
        recorder.start(capacity)?;
        recorder.watch(&mut observer)?;
        let counted = recorder.stop(&mut observer)?;
        let recorded = self.with_drive(|drive| Recorded::read(&plan, counted, true, drive))?;
        Ok((recorded, observer.ended))
    }

    /// Reads and writes the drive by a queue pair of the host.
    ///
    /// # Errors
    /// Where the drive grants no pair, and those of `work`.
    pub fn with_drive<T>(
        &mut self,
        work: impl FnOnce(&QueueDisk<'_, VfioBus>) -> Result<T>,
    ) -> Result<T> {
        let drive = QueueDisk::new(&mut self.session, &mut self.bus)?;
        let done = work(&drive);
        drive.close(&mut self.session)?;
        done
    }

    /// Stops the card, shuts the drive down and gives both back.
    ///
    /// # Errors
    /// The step that failed.
    pub fn shut_down(mut self) -> Result<()> {
        self.session.shutdown(&mut self.bus)?;
        Ok(())
    }
}

/// Records until Ctrl-C, or for some time.
struct UntilAsked {
    until: Option<Instant>,
    streamer: Option<Streamer>,
    progress: Progress,
    stop: Arc<AtomicBool>,
    ended: Ended,
}

impl Observer<VfioBus> for UntilAsked {
    fn raised(&mut self, events: Events) {
        match events {
            Events { error: true, .. } => self.progress.rename("wire → drive, with failures"),
            Events { full: true, .. } => self.progress.rename("wire → drive, which is full"),
            Events { .. } => {}
        }
    }

    fn stage(&mut self, stage: Stage) {
        match stage {
            Stage::Recording => {}
            Stage::Draining => self.progress.rename("draining"),
            Stage::Closing => self.progress.rename("writing the index"),
        }
    }

    fn goes_on(&mut self, bus: &mut VfioBus, net: &NetPort) -> std::result::Result<bool, Error> {
        let (began, mut waited) = (bus.now(), Duration::ZERO);
        let before = bus.interrupts()?;
        while waited < LOOK_LEAST || (waited < LOOK && bus.interrupts()? == before) {
            match bus.relax(waited) {
                Ok(()) => {}
                // Ctrl-C ends what is taken, not what has been received; the next one ends all.
                Err(BusError::Interrupted) => {
                    self.stop.store(false, Ordering::Relaxed);
                    self.ended = Ended::Interrupted;
                    return Ok(false);
                }
                Err(error) => return Err(error.into()),
            }
            waited = bus.now() - began;
        }
        self.progress.at(net.arrivals(bus, Arrival::Datagram)?);
        if let Some(streamer) = &self.streamer
            && streamer.status(bus)?.halted
        {
            self.ended = Ended::Failed(Failure::new(
                Exit::BadResult,
                "the streamer has halted: the drive did not answer a command in time",
                "look at the drive (forebay inspect, nvme error-log); what was stored before is on it",
            ));
            return Ok(false);
        }
        Ok(self.until.is_none_or(|until| Instant::now() < until))
    }
}
