// SPDX-License-Identifier: Apache-2.0
//! A switch between us and the link partner: it stores a frame whole before it passes it on, and
//! asks a sender for silence when its memory fills.

use super::cable::Flight;
use super::counters::PortCounters;
use super::frame::{Frame, Kind};
use super::sender::Sender;
use super::settings::{Flow, Switch, Thresholds};
use super::{CHECK_BYTES, QUANTUM};
use crate::Time;
use forebay_spec::net::Pause;
use forebay_spec::net::ethernet::LEAST_BYTES;
use forebay_spec::net::pause::CLASSES;
use std::collections::VecDeque;

/// Quanta that it asks for.
const QUANTA: u16 = u16::MAX;
/// Quanta left of them when it asks again: longer than any frame that may be in the way.
const REFRESH: u16 = QUANTA / 2;
/// Addresses that no bridge passes on, all but the last four bits (802.1Q 8.6.3); that of pause frames
/// is one of them.
const RESERVED: [u8; 5] = [0x01, 0x80, 0xc2, 0x00, 0x00];
/// Its own address, of local use.
const ADDRESS: [u8; 6] = [2, 0, 0, 0, 0, 0xfe];

fn is_reserved(frame: &Frame) -> bool {
    let last = frame.bytes().strip_prefix(&RESERVED);
    last.and_then(<[u8]>::first).is_some_and(|last| *last < 16)
}

/// One of its two ports. What comes in here leaves at the other one.
#[derive(Debug)]
pub(super) struct Port {
    pub sender: Sender,
    /// What leaves here, and from when on.
    queue: VecDeque<(Time, Frame)>,
    flow: Flow,
    /// The memory of what came in here is over XOFF, since then; or no longer is.
    full: (bool, Time),
    /// Until when the last frame asked for silence, if that was not taken back.
    asked: Option<Time>,
    /// Bytes of what came in here and has not begun to leave.
    held: u64,
    counters: PortCounters,
}

impl Port {
    fn new(flow: Flow, response: Option<Time>) -> Self {
        Self {
            sender: Sender::new(flow, response),
            queue: VecDeque::new(),
            flow,
            full: (false, 0),
            asked: None,
            held: 0,
            counters: PortCounters::default(),
        }
    }

    /// When it has a pause frame to say.
    fn speaks(&self) -> Option<Time> {
        let (full, since) = self.full;
        let refresh = Time::from(REFRESH) * QUANTUM;
        let from = match self.asked {
            None if full => since,
            Some(until) if full => until.saturating_sub(refresh).max(since),
            Some(_) => since,
            None => return None,
        };
        Some(from.max(self.sender.free()))
    }

    fn passes_on(&self) -> Option<Time> {
        let (ready, _) = self.queue.front()?;
        Some(self.sender.allowed().max(*ready))
    }

    /// Something waits to be passed on here.
    fn waits(&self) -> bool {
        !self.queue.is_empty()
    }

    fn speak(&mut self, now: Time) -> Option<Frame> {
        let (full, _) = self.full;
        let quanta = if full { QUANTA } else { 0 };
        self.asked = full.then(|| now + Time::from(quanta) * QUANTUM);
        if full {
            self.counters.xoff += 1;
        } else {
            self.counters.xon += 1;
        }
        let pause = match self.flow {
            Flow::Link => Pause::Link(quanta),
            Flow::Class(class) => {
                let mut classes = [None; CLASSES];
                *classes.get_mut(usize::from(class))? = Some(quanta);
                Pause::Priority(classes)
            }
        };
        let frame = Frame::bare(pause.to_frame(ADDRESS)).ok()?;
        Some(frame.of_kind(Kind::Pause))
    }

    /// Its memory holds as much as it does now.
    fn weigh(&mut self, now: Time, thresholds: Option<Thresholds>) {
        self.counters.most = self.counters.most.max(self.held);
        let Some(Thresholds { xoff, xon }) = thresholds else {
            return;
        };
        let full = self.held >= xoff || (self.full.0 && self.held > xon);
        if full != self.full.0 {
            self.full = (full, now);
        }
    }

    fn counters(&self, now: Time) -> PortCounters {
        PortCounters {
            pause: self.sender.pause(now),
            wire: self.sender.wire(now, self.waits()),
            ..self.counters
        }
    }
}

/// The switch. Port 0 is ours, port 1 the link partner's.
#[derive(Debug)]
pub(super) struct Relay {
    settings: Switch,
    pub ports: [Port; 2],
}

impl Relay {
    pub fn new(settings: Switch, flow: Flow, response: Option<Time>) -> Self {
        Self {
            settings,
            ports: [Port::new(flow, response), Port::new(flow, response)],
        }
    }

    pub fn begin(&mut self, now: Time) {
        for port in &mut self.ports {
            port.sender.begin(now);
        }
    }

    /// A frame has come in whole.
    pub fn arrive(&mut self, port: usize, flight: Flight) {
        let Flight { end, frame, .. } = flight;
        let bytes = frame.len() + CHECK_BYTES;
        let here = &mut self.ports[port];
        here.counters.arrived.add(&frame);
        let refused = if frame.is_damaged() {
            Some(&mut here.counters.damaged)
        } else if frame.len() < LEAST_BYTES as u64 {
            Some(&mut here.counters.runts)
        } else if frame.len() > self.settings.most_bytes {
            Some(&mut here.counters.giants)
        } else if is_reserved(&frame) {
            here.sender.hear(end, &frame);
            Some(&mut here.counters.reserved)
        } else if here.held + bytes > self.settings.buffer_bytes {
            Some(&mut here.counters.overflow)
        } else {
            None
        };
        if let Some(counts) = refused {
            counts.add(&frame);
            return;
        }
        here.held += bytes;
        here.weigh(end, self.settings.thresholds);
        let there = &mut self.ports[1 - port];
        if there.queue.is_empty() {
            there.sender.account(end, false);
        }
        there.queue.push_back((end + self.settings.latency, frame));
    }

    /// A pause frame begins to count at this port.
    pub fn count(&mut self, port: usize) {
        let port = &mut self.ports[port];
        let waits = port.waits();
        port.sender.count(waits);
    }

    /// When a frame begins at this port.
    pub fn acts(&self, port: usize) -> Option<Time> {
        let port = &self.ports[port];
        [port.speaks(), port.passes_on()]
            .into_iter()
            .flatten()
            .min()
    }

    /// It does, at just that time.
    pub fn act(&mut self, port: usize, now: Time) -> Option<Frame> {
        let here = &mut self.ports[port];
        let waits = here.waits();
        if here.speaks() == Some(now) {
            let frame = here.speak(now)?;
            here.sender.start(now, frame.wire_time(), waits);
            return Some(frame);
        }
        let (_, frame) = here.queue.pop_front()?;
        here.counters.passed.add(&frame);
        here.sender.start(now, frame.wire_time(), waits);
        let there = &mut self.ports[1 - port];
        there.held -= frame.len() + CHECK_BYTES;
        there.weigh(now, self.settings.thresholds);
        Some(frame)
    }

    /// It holds no frame.
    pub fn is_empty(&self) -> bool {
        self.ports.iter().all(|port| !port.waits())
    }

    pub fn counters(&self, now: Time) -> [PortCounters; 2] {
        [0, 1].map(|port| self.ports[port].counters(now))
    }
}
