// SPDX-License-Identifier: Apache-2.0
//! A recording: the network sends, network side and recorder store, and what came of it.

mod command;
mod drives;
mod gaps;
mod replay;
mod senders;
mod setup;
mod show;
mod summary;
mod wire;

use std::time::Duration;

use forebay_cosim::{FPGA, System};
use forebay_driver::net_port::{Destination, NetCounters, NetSettings, Packets};
use forebay_driver::recorder_port::{ELEMENTS, RecorderCounters, Recording};
use forebay_driver::{NetPort, RecorderPort};
use forebay_model::Time;
use forebay_model::net::{Counters, Network};
use forebay_spec::store::index::Row;
use forebay_spec::streamer::bar0;

use crate::failure::{Exit, Failure, Result};
use crate::progress::Progress;
use crate::session::{Ended, Session};

pub use command::run;
pub use drives::{Drives, prepare, recording};
pub use gaps::{Gap, gaps};
pub use replay::run as replay;
pub use senders::{Senders, seed_of};

pub use summary::Summary;

/// How long the end of a recording is waited for: drives pause for milliseconds.
const LIMIT: Duration = Duration::from_millis(500);
/// Cycles between two looks whether all is quiet.
const LOOK_CYCLES: u64 = 64;
/// Cycles from the last beat at the MAC until it shows in the memory's level.
const PASSING_CYCLES: u64 = 256;

/// Cycles after which nothing moves any more if nothing has.
const STILL_CYCLES: u64 = 8192;

/// Bytes on the wire of the longest frame that is sent.
const FRAME_MOST: u64 = 9_038;

/// What is recorded, where, and how.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How the network side receives.
    pub net: NetSettings,
    /// Whole frames as a capture, in place of datagrams with our header.
    pub packets: Option<Packets>,
    /// Where it goes.
    pub recording: Recording,
    /// Settings of the processing elements.
    pub elements: [u64; ELEMENTS],
    /// Where what was recorded is sent afterwards; none: nowhere.
    pub back: Option<Destination>,
}

impl Plan {
    /// How long sending back may stand still, where an object has so many bytes: those that wait for
    /// their turn, and one more, leave at the pace that was asked for.
    fn patience(&self, bytes: u64) -> Duration {
        const ORDERS: f64 = 18.0;
        let each_cycle = self.back.map_or(1, |back| back.rate.max(1));
        let rate = f64::from(each_cycle) / 256.0 * setup::MAC_HZ as f64;
        // What frames have besides payload is less than as much again.
        LIMIT + Duration::from_secs_f64(ORDERS * 2.0 * bytes as f64 / rate)
    }
}

/// What came of a recording.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// What network and wire saw.
    pub wire: Counters,
    /// What the network side counted.
    pub net: NetCounters,
    /// What the recorder counted.
    pub recorder: RecorderCounters,
    /// What lies where, as the index on the SSD says.
    pub rows: Vec<Row>,
    /// Objects have results.
    pub results: bool,
    /// Newer extents lie over older ones.
    pub ring: bool,
    /// What of the index cannot be read.
    pub unreadable: Vec<String>,
    /// When it began: nanoseconds since 1970.
    pub began: u64,
    /// From the first frame that might come to the answer to the last extent.
    pub duration: Time,
}

/// A recording under way.
pub struct Recorder<'s> {
    session: &'s mut Session,
    plan: &'s Plan,
    net: NetPort,
    port: RecorderPort,
}

impl<'s> Recorder<'s> {
    /// Sets everything up; nothing is sent yet.
    pub fn new(session: &'s mut Session, plan: &'s Plan) -> Result<Self> {
        let capacity = session.namespace()?.bytes();
        let recorder = Self::attach(session, plan)?;
        let system = &mut recorder.session.system;
        recorder.port.start(system, &plan.recording, capacity)?;
        if let Some(packets) = plan.packets {
            recorder.net.begin_packets(system, packets)?;
        }
        Ok(recorder)
    }

    /// Sets everything up for what lies on the drives; nothing is stored.
    pub fn of_stored(session: &'s mut Session, plan: &'s Plan) -> Result<Self> {
        let capacity = session.namespace()?.bytes();
        let recorder = Self::attach(session, plan)?;
        let system = &mut recorder.session.system;
        recorder.port.configure(system, &plan.recording, capacity)?;
        Ok(recorder)
    }

    fn attach(session: &'s mut Session, plan: &'s Plan) -> Result<Self> {
        let system = &mut session.system;
        let net = NetPort::attach(system, FPGA, 0, bar0::NET_CONTROL)?;
        let port = RecorderPort::attach(system, FPGA, 0, bar0::RECORDER_CONTROL)?;
        let (Some(net), Some(port)) = (net, port) else {
            return Err(Failure::new(
                Exit::Impossible,
                "the RTL has no network side and recorder",
                "report this defect",
            ));
        };
        net.configure(system, &plan.net)?;
        port.set_elements(system, &plan.elements)?;
        if let Some(back) = &plan.back {
            net.set_destination(system, back)?;
        }
        Ok(Self {
            session,
            plan,
            net,
            port,
        })
    }

    /// Lets the network send until it has nothing more, of `bytes` as far as that is known.
    pub fn run(&mut self, label: &str, bytes: Option<u64>) -> Result<(Recorded, Ended)> {
        let progress = match bytes {
            Some(bytes) => Progress::bytes(label, bytes),
            None => Progress::stage(label),
        };
        let progress = progress.clone();
        let system = &mut self.session.system;
        system.on_progress(move |snapshot| progress.at(snapshot.network_bytes));
        let began = system.now();
        system.begin_network();
        let ended = |system: &System| system.network().is_none_or(Network::is_at_end);
        let ended = Ended::of(system.run_until(ended));
        if matches!(ended, Ended::Failed(_)) {
            return Ok((self.recorded(began)?, ended));
        }
        // Ctrl-C ends what is sent, not what has been received.
        system
            .stop_flag()
            .store(false, std::sync::atomic::Ordering::Relaxed);
        let finished = self.finish(began);
        self.session.system.on_progress(|_| {});
        Ok((finished?, ended))
    }

    fn finish(&mut self, began: Time) -> Result<Recorded> {
        let system = &mut self.session.system;
        system.run_cycles(PASSING_CYCLES)?;
        // Nothing comes any more: what a sender left unfinished ends now.
        self.net.set_idle(system, PASSING_CYCLES as u32)?;
        // Streams take turns as long as something moves, so that objects stay whole.
        let mut before = None;
        loop {
            let held = self.net.held(system)?;
            if held == 0 || before.replace(held) == Some(held) {
                break;
            }
            system.run_cycles(STILL_CYCLES)?;
        }
        self.net.set_gather(system, PASSING_CYCLES as u32)?;
        if self.plan.packets.is_some() {
            self.net.end_packets(system, LIMIT)?;
        }
        let late = system.now() + LIMIT.as_nanos() as Time * 1000;
        while !self.is_quiet()? && self.session.system.now() < late {
            self.session.system.run_cycles(LOOK_CYCLES)?;
        }
        let ended = self.session.system.now();
        self.net.drain(&mut self.session.system, LIMIT)?;
        self.port.finish(&mut self.session.system, LIMIT)?;
        let mut recorded = self.recorded(began)?;
        recorded.duration = ended - began;
        Ok(recorded)
    }

    fn is_quiet(&mut self) -> Result<bool> {
        let system = &mut self.session.system;
        let status = self.port.status(system)?;
        let held = self.net.held(system)?;
        Ok(held == 0 && !status.open && status.waiting == 0)
    }

    fn recorded(&mut self, began: Time) -> Result<Recorded> {
        let (rows, unreadable) = drives::rows(self.session)?;
        let system = &mut self.session.system;
        Ok(Recorded {
            wire: system.network().map(Network::counters).unwrap_or_default(),
            net: self.net.counters(system)?,
            recorder: self.port.counters(system)?,
            rows,
            results: self.plan.recording.result_wait.is_some(),
            ring: self.plan.recording.data.ring,
            unreadable,
            began: self.plan.recording.time,
            duration: system.now() - began,
        })
    }

    /// Sends back what was recorded, object by object, paced as the plan says.
    pub fn send_back(&mut self, recorded: &mut Recorded) -> Result<()> {
        let system = &mut self.session.system;
        let stored = recorded.rows.iter().filter(|row| row.stored());
        let progress = Progress::count("objects back to the wire", recorded.rows.len() as u64);
        for (number, row) in stored.enumerate() {
            let (address, bytes) = (row.address, u64::from(row.length));
            let limit = self.plan.patience(bytes);
            self.port.fetch(system, address, bytes, row.object, limit)?;
            progress.at(number as u64);
        }
        let longest = recorded.rows.iter().map(|row| row.length.into()).max();
        let limit = self.plan.patience(longest.unwrap_or(0));
        self.port.finish_fetches(system, limit)?;
        recorded.wire = self.settle()?;
        recorded.recorder = self.port.counters(&mut self.session.system)?;
        Ok(())
    }

    /// Waits for the last frames: they leave the memory one by one, at the pace that was asked for.
    fn settle(&mut self) -> Result<Counters> {
        let system = &mut self.session.system;
        let rate = self.plan.back.map_or(0, |back| u64::from(back.rate)).max(1);
        let cycles = PASSING_CYCLES + 2 * FRAME_MOST * 256 / rate;
        let mut before = None;
        loop {
            let wire = system.network().map(Network::counters).unwrap_or_default();
            let sent = wire.transmitted.total().frames;
            if before.replace(sent) == Some(sent) {
                return Ok(wire);
            }
            system.run_cycles(cycles)?;
        }
    }
}
