// SPDX-License-Identifier: Apache-2.0
//! The simulated link partner: what it sends, and how it takes pause.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use forebay_model::Time;
use forebay_model::net::{
    Flaps, Flow, Frames, Impaired, Link, Malformed, Network, Paced, Peer, Settings, Source, Switch,
    Tap as Listener,
};
use forebay_net::pcap::Seen;
use forebay_net::send::Files;
use forebay_net::tap::{Setup, Tap};
use forebay_pipeline::{Clock, Pipeline};
use serde::{Deserialize, Serialize};

use super::files::{self, FilesReport, SharedReport};
use super::senders::{self, Senders, falling};
use super::setup;
use super::wire::{Captured, Interface, Listeners, Written};
use crate::failure::{Failure, Result};

/// Frames that wait in Linux while the simulation is slower than the sender.
const QUEUE: u32 = 100_000;
/// The simulated IEEE 1588 time of day begins with the year 2026, in nanoseconds since 1970.
const TIME_OF_DAY: u64 = 1_767_225_600_000_000_000;

/// Where the frames come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SourceSpec {
    /// A capture, pcap or pcapng.
    Capture {
        /// The file.
        path: PathBuf,
        /// As fast as the wire takes them, in place of the capture's own times.
        flat_out: bool,
    },
    /// A TAP interface of this machine.
    Interface {
        /// Its name.
        name: String,
        /// This machine's own addresses on it, and bits of their networks.
        addresses: Vec<(IpAddr, u8)>,
        /// When it ends; none: it does not.
        lasts: Option<Duration>,
    },
    /// Objects of a pattern.
    Generator {
        /// Bytes in all.
        bytes: u64,
        /// Bytes of each object of the first sender.
        object: u64,
        /// Senders at once; none: as many as the pipeline has streams.
        senders: Option<u16>,
    },
    /// Files as objects.
    Files {
        /// Files and folders, one for each sender.
        paths: Vec<PathBuf>,
    },
    /// None come.
    Silence,
}

/// A link that goes down now and then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlapsSpec {
    /// From one time to the next on average, in picoseconds.
    pub every_ps: Time,
    /// How long it is down, in picoseconds.
    pub down_ps: Time,
}

/// A link partner as plain data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartnerSpec {
    /// Where its frames come from.
    pub source: SourceSpec,
    /// Bytes per second on the wire; none: line rate.
    pub offered: Option<u64>,
    /// Frames of a million that are lost, repeated, delayed, swapped or damaged.
    pub impairments: u32,
    /// Malformed frames behind this number of a thousand.
    pub malformed: u32,
    /// There is a switch on the way.
    pub switch: bool,
    /// Quanta until it obeys a pause frame; none: it ignores pause.
    pub response: Option<u32>,
    /// The link goes down at times, in picoseconds.
    #[serde(default)]
    pub flaps: Option<FlapsSpec>,
    /// Decides everything that is random.
    pub seed: u64,
}

impl PartnerSpec {
    /// One at line rate that obeys pause as slowly as 802.3 allows.
    #[must_use]
    pub const fn new(source: SourceSpec, seed: u64) -> Self {
        Self {
            source,
            offered: None,
            impairments: 0,
            malformed: 0,
            switch: false,
            response: Some(394),
            flaps: None,
            seed,
        }
    }

    fn settings(&self, pipeline: &Pipeline) -> Settings {
        Settings {
            link: Link {
                metres: pipeline.source.metres,
            },
            flow: pipeline.source.class.map_or(Flow::Link, Flow::Class),
            peer: Peer {
                response: self.response,
            },
            switch: self.switch.then(Switch::default),
            flaps: self.flaps.map(|flaps| Flaps {
                every: flaps.every_ps,
                down: flaps.down_ps,
                seed: self.seed,
            }),
            station: Some(setup::partner(pipeline)),
            time_of_day: (pipeline.source.clock == Clock::Ieee1588).then_some(TIME_OF_DAY),
        }
    }

    /// The senders of a pattern.
    fn senders(&self, pipeline: &Pipeline, object: u64, count: Option<u16>) -> Result<Senders> {
        let source = &pipeline.source;
        let count = count.unwrap_or(source.streams.into());
        let most = u16::MAX - source.stream;
        if count.saturating_sub(1) > most {
            return Err(Failure::input(
                "source.senders",
                count,
                &format!("streams go up to 65535, and the first is {}", source.stream),
                "choose fewer, or a lower source.stream in the pipeline's file",
            ));
        }
        Ok(Senders {
            addresses: setup::addresses(pipeline),
            mtu: source.mtu,
            stream: source.stream,
            object_bytes: falling(object, count),
            seed: self.seed,
        })
    }

    /// The senders of files.
    fn sender_of_files(
        &self,
        pipeline: &Pipeline,
        files: &[Files],
        sent: &SharedReport,
    ) -> Result<Box<dyn Source>> {
        let source = &pipeline.source;
        let taken = usize::from(source.streams);
        if files.len() > taken {
            return Err(Failure::input(
                "--files",
                format_args!("given {} times", files.len()),
                &format!("the pipeline takes {taken} senders, each in a stream of its own"),
                "set streams in [source] of its file, or name fewer files and folders",
            ));
        }
        let senders = files.iter().enumerate();
        let objects = senders.map(|(number, files)| files::objects(files, number, sent));
        senders::source(
            (setup::addresses(pipeline), source.mtu),
            source.stream,
            self.seed,
            objects,
        )
    }

    /// A source with all that happens to its frames on the way.
    fn on_the_way(
        &self,
        mut source: Box<dyn Source>,
        pipeline: &Pipeline,
    ) -> Result<Box<dyn Source>> {
        if self.impairments > 0 {
            source = Box::new(Impaired::by_chance(source, self.seed, self.impairments));
        }
        if self.malformed > 0 {
            let limit = setup::net(pipeline).frame_bytes;
            let flow = pipeline.source.class.map_or(Flow::Link, Flow::Class);
            let malformed = Malformed::new(source, self.seed, self.malformed, limit.into())?;
            source = Box::new(malformed.with_flow(flow));
        }
        if let Some(rate) = self.offered {
            source = Box::new(Paced::new(source, rate)?);
        }
        Ok(source)
    }
}

/// A link partner, and what can be asked of it afterwards.
pub struct LinkPartner {
    /// Bytes that it sends, where that is known.
    pub bytes: Option<u64>,
    files: Option<SharedReport>,
    capture: Option<Arc<Mutex<Seen>>>,
    interface: Option<Interface>,
}

impl LinkPartner {
    /// Makes it, and the network between it and the card; `written` gets each frame that passes.
    ///
    /// # Errors
    /// A capture or an interface that cannot be opened, a setting that cannot be.
    pub fn connect(
        spec: &PartnerSpec,
        pipeline: &Pipeline,
        written: Option<&Written>,
    ) -> Result<(Self, Network)> {
        let mut partner = Self {
            bytes: None,
            files: None,
            capture: None,
            interface: None,
        };
        let source: Box<dyn Source> = match &spec.source {
            SourceSpec::Capture { path, flat_out } => {
                let captured = Captured::open(path, *flat_out)?;
                partner.capture = Some(captured.seen());
                Box::new(captured)
            }
            SourceSpec::Interface {
                name,
                addresses,
                lasts,
            } => {
                let tap = Tap::open(&Setup {
                    name: name.clone(),
                    mtu: pipeline.source.mtu as u16,
                    queue: QUEUE,
                    addresses: addresses.clone(),
                })?;
                let interface = Interface::new(tap, *lasts);
                partner.interface = Some(interface.clone());
                Box::new(interface)
            }
            SourceSpec::Generator {
                bytes,
                object,
                senders,
            } => {
                partner.bytes = Some(*bytes);
                spec.senders(pipeline, *object, *senders)?.source(*bytes)?
            }
            SourceSpec::Files { paths } => {
                let (files, sent) = files::find(paths)?;
                partner.bytes = Some(sent.report().bytes);
                let source = spec.sender_of_files(pipeline, &files, &sent)?;
                partner.files = Some(sent);
                source
            }
            SourceSpec::Silence => Box::new(Frames::new([])),
        };
        let source = spec.on_the_way(source, pipeline)?;
        let mut network = Network::new(spec.settings(pipeline), source)?;
        let interface = partner
            .interface
            .clone()
            .map(|it| Box::new(it) as Box<dyn Listener>);
        let written = written.cloned().map(|it| Box::new(it) as Box<dyn Listener>);
        network.set_tap(Box::new(Listeners(
            interface.into_iter().chain(written).collect(),
        )));
        Ok((partner, network))
    }

    /// What was in the capture, as far as it was sent.
    #[must_use]
    pub fn capture(&self) -> Option<Seen> {
        let seen = self.capture.as_ref()?;
        Some(seen.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// What became of the files that it sends.
    #[must_use]
    pub fn files(&self) -> Option<FilesReport> {
        self.files.as_ref().map(SharedReport::report)
    }

    /// Whether it is an interface of this machine.
    #[must_use]
    pub const fn is_interface(&self) -> bool {
        self.interface.is_some()
    }

    /// Frames that Linux dropped before they reached the interface.
    ///
    /// # Errors
    /// If Linux does not say.
    pub fn dropped_by_linux(&self) -> Result<Option<u64>> {
        Ok(self
            .interface
            .as_ref()
            .map(Interface::dropped)
            .transpose()?)
    }
}
