// SPDX-License-Identifier: Apache-2.0
//! All of it together: what happens, in the order in which it does.

use super::beat::Beat;
use super::cable::Cable;
use super::counters::{Counters, FrameCounts};
use super::error::{BeatError, NetError};
use super::frame::Frame;
use super::mac_in::{Ending, MacIn};
use super::mac_out::MacOut;
use super::peer::Peer;
use super::sender::Sender;
use super::settings::{Flaps, Settings, response};
use super::source::Source;
use super::switch::Relay;
use crate::{NANOSECOND, Time};
use rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::fmt;

/// Which way a frame goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// To us.
    Received,
    /// From us.
    Sent,
}

/// Sees each frame that passes our MAC, both ways, in order of time: when its check sequence is
/// over, damaged ones and those that the MAC drops, too.
pub trait Tap: Send {
    /// A frame has passed.
    fn frame(&mut self, at: Time, direction: Direction, frame: &Frame);
}

/// What happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// No beat came in time for the frame that we send.
    Starve,
    /// A frame of ours has left.
    Leave,
    /// A frame has come to its end at our MAC.
    End,
    /// What our MAC heard counts.
    Asked,
    /// A frame has come to its end at the link partner.
    Arrive,
    /// A pause frame counts at the link partner.
    Obey,
    /// The link partner asks its source or begins a frame.
    Act,
    /// A frame has come to its end at this port of the switch.
    Relay(usize),
    /// A pause frame counts at this port.
    Yield(usize),
    /// A frame begins at this port.
    Pass(usize),
}

/// A switch and its cables to the link partner.
struct Between {
    relay: Relay,
    to_peer: Cable,
    from_peer: Cable,
}

/// Everything beyond the pins of our MAC. Times handed in never go back; those that do are taken as
/// the last one.
pub struct Network {
    now: Time,
    /// What happens next, and when.
    next: Option<(Time, Event)>,
    mac_in: MacIn,
    mac_out: MacOut,
    from_us: Cable,
    between: Option<Between>,
    peer: Peer,
    tap: Option<Box<dyn Tap>>,
    flapping: Option<Flapping>,
    time_of_day: Option<u64>,
    counters: Counters,
}

/// When the link goes down, and until when it is.
struct Flapping {
    flaps: Flaps,
    random: Pcg64Mcg,
    next: Time,
    up: Time,
}

impl Flapping {
    /// It is up until the link partner begins.
    fn new(flaps: Flaps) -> Self {
        Self {
            flaps,
            random: Pcg64Mcg::seed_from_u64(flaps.seed),
            next: Time::MAX,
            up: 0,
        }
    }

    fn plan(&mut self, now: Time) {
        let every = self.flaps.every;
        self.next = now + every / 2 + self.random.next_u64() % every.max(1);
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network")
            .field("now", &self.now)
            .field("mac_in", &self.mac_in)
            .field("mac_out", &self.mac_out)
            .field("counters", &self.counters)
            .finish_non_exhaustive()
    }
}

impl Network {
    /// A network at rest; the link partner sends once it is told to [begin](Self::begin).
    ///
    /// # Errors
    ///
    /// A setting that cannot be.
    pub fn new(settings: Settings, source: Box<dyn Source>) -> Result<Self, NetError> {
        settings.check()?;
        let delay = settings.link.delay();
        let obeys = response(settings.peer.response, "peer.response")?;
        let between = match settings.switch {
            None => None,
            Some(switch) => {
                let obeys = response(switch.response, "switch.response")?;
                let delay = switch.link.delay();
                Some(Between {
                    relay: Relay::new(switch, settings.flow, obeys),
                    to_peer: Cable::new(delay),
                    from_peer: Cable::new(delay),
                })
            }
        };
        Ok(Self {
            now: 0,
            next: None,
            mac_in: MacIn::new(delay),
            mac_out: MacOut::new(settings.flow),
            from_us: Cable::new(delay),
            between,
            peer: Peer::new(source, Sender::new(settings.flow, obeys), settings.station),
            tap: None,
            flapping: settings.flaps.map(Flapping::new),
            time_of_day: settings.time_of_day,
            counters: Counters::default(),
        })
    }

    /// From now on `tap` sees each frame.
    pub fn set_tap(&mut self, tap: Box<dyn Tap>) {
        self.tap = Some(tap);
    }

    /// From now on the link partner sends, and time on the wires counts.
    pub fn begin(&mut self, now: Time) {
        self.advance(now);
        self.peer.begin(self.now);
        if let Some(flapping) = &mut self.flapping {
            flapping.plan(self.now);
        }
        self.mac_out.sender.begin(self.now);
        if let Some(between) = &mut self.between {
            between.relay.begin(self.now);
        }
        self.plan();
    }

    /// The IEEE 1588 time of day beside the MAC at `now`, in nanoseconds since 1970.
    #[must_use]
    pub fn time_of_day(&self, now: Time) -> Option<u64> {
        self.time_of_day
            .map(|begin| begin.saturating_add(now / NANOSECOND))
    }

    /// Whether the link is up in the cycle with the edge `now`; while it is not, our MAC is in reset.
    pub fn is_up(&mut self, now: Time) -> bool {
        self.advance(now);
        let Some(flapping) = &mut self.flapping else {
            return true;
        };
        // What has come to its end is handed over first.
        if flapping.next <= self.now && !self.mac_in.hands_over() {
            flapping.up = self.now + flapping.flaps.down;
            let up = flapping.up;
            flapping.plan(up);
            if let Some(bytes) = self.mac_in.go_down(up) {
                self.counters.cut.frames += 1;
                self.counters.cut.bytes += bytes + 1;
            }
            self.mac_out.go_down();
            self.plan();
            return false;
        }
        flapping.up <= self.now
    }

    /// The beat that the MAC hands over in the cycle with the edge `now`. To be called in each cycle:
    /// a MAC cannot wait.
    pub fn receive(&mut self, now: Time) -> Option<Beat> {
        self.advance(now);
        self.mac_in.beat(self.now)
    }

    /// Whether the MAC takes a beat in the cycle with the edge `now`.
    pub fn ready(&mut self, now: Time) -> bool {
        self.advance(now);
        self.mac_out.ready(self.now)
    }

    /// Takes a beat in the cycle with the edge `now`. A frame that has begun needs its next beat
    /// before the wire does, else it breaks off and its rest is thrown away.
    ///
    /// # Errors
    ///
    /// The beat is none that a MAC can take; nothing has changed.
    pub fn transmit(&mut self, now: Time, beat: &Beat) -> Result<(), BeatError> {
        self.advance(now);
        let taken = self.mac_out.take(self.now, beat);
        self.plan();
        taken
    }

    /// The sending half of the MAC is reset: a frame that is open breaks off, and the next beat
    /// begins another.
    pub fn reset(&mut self, now: Time) {
        self.advance(now);
        self.mac_out.reset();
        self.plan();
    }

    /// When something happens next, not before `now`: a beat comes, or anything beyond the pins.
    /// `None`: nothing will, unless we send.
    pub fn next_event(&mut self, now: Time) -> Option<Time> {
        self.advance(now);
        self.due()
    }

    /// The same, as seen from the last time that was handed in.
    #[must_use]
    pub fn due(&self) -> Option<Time> {
        let happens = self.next.map(|(at, _)| at);
        let next = happens.into_iter().chain(self.mac_in.beat_at()).min();
        next.map(|next| next.max(self.now))
    }

    /// The source has nothing to be sent yet, and more will come.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        self.peer.is_silent()
    }

    /// The source has ended, and nothing is under way in any direction.
    #[must_use]
    pub fn is_at_end(&self) -> bool {
        self.peer.is_at_end()
            && self.mac_in.is_empty()
            && self.mac_out.is_empty()
            && self.from_us.is_empty()
            && self.between.as_ref().is_none_or(Between::is_empty)
    }

    /// What the source says about having ended early.
    #[must_use]
    pub fn source_failure(&self) -> Option<&NetError> {
        self.peer.source.failure()
    }

    /// What has been done up to the last time that was handed in.
    #[must_use]
    pub fn counters(&self) -> Counters {
        Counters {
            offered: self.peer.offered,
            left_out: self.peer.source.left_out(),
            sent: self.peer.sent,
            arrived: self.peer.arrived,
            peer_pause: self.peer.sender.pause(self.now),
            our_pause: self.mac_out.sender.pause(self.now),
            peer_wire: self.peer.sender.wire(self.now, self.peer.waits()),
            our_wire: self.mac_out.sender.wire(self.now, true),
            switch: (self.between.as_ref()).map(|between| between.relay.counters(self.now)),
            ..self.counters
        }
    }

    /// All that happens until now.
    fn advance(&mut self, now: Time) {
        self.now = self.now.max(now);
        while let Some((at, event)) = self.next.filter(|(at, _)| *at <= self.now) {
            self.happen(at, event);
            self.plan();
        }
    }

    fn plan(&mut self) {
        let mut first = First(None);
        first.or(self.mac_out.starves(), Event::Starve);
        first.or(self.mac_out.leaves(), Event::Leave);
        first.or(self.mac_in.ends(), Event::End);
        first.or(self.mac_out.sender.counts(), Event::Asked);
        match &self.between {
            None => first.or(self.from_us.ends(), Event::Arrive),
            Some(between) => {
                first.or(self.from_us.ends(), Event::Relay(0));
                between.plan(&mut first);
            }
        }
        first.or(self.peer.sender.counts(), Event::Obey);
        first.or(self.peer.acts(), Event::Act);
        self.next = first.0;
    }

    fn happen(&mut self, at: Time, event: Event) {
        match event {
            Event::Starve => self.mac_out.starve(),
            Event::Leave => self.leave(),
            Event::End => self.end(),
            Event::Asked => self.mac_out.sender.count(true),
            Event::Arrive => self.arrive(at),
            Event::Obey => self.peer.sender.count(self.peer.waits()),
            Event::Act => {
                if let Some(frame) = self.peer.act(at) {
                    match &mut self.between {
                        None => self.mac_in.put(at, frame),
                        Some(between) => between.from_peer.put(at, frame),
                    }
                }
            }
            Event::Relay(_) | Event::Yield(_) | Event::Pass(_) => self.relay(at, event),
        }
    }

    fn relay(&mut self, at: Time, event: Event) {
        let Some(between) = &mut self.between else {
            return;
        };
        match event {
            Event::Relay(port) => {
                let cables = [&mut self.from_us, &mut between.from_peer];
                if let Some(flight) = cables[port].take() {
                    between.relay.arrive(port, flight);
                }
            }
            Event::Yield(port) => between.relay.count(port),
            Event::Pass(port) => {
                let frame = between.relay.act(port, at);
                match frame {
                    Some(frame) if port == 0 => self.mac_in.put(at, frame),
                    Some(frame) => between.to_peer.put(at, frame),
                    None => {}
                }
            }
            _ => {}
        }
    }

    fn arrive(&mut self, at: Time) {
        let cable = self.between.as_mut();
        let cable = cable.map_or(&mut self.from_us, |between| &mut between.to_peer);
        if let Some(flight) = cable.take() {
            self.peer.hear(at, &flight.frame);
        }
    }

    fn leave(&mut self) {
        let Some(leaving) = self.mac_out.leave() else {
            return;
        };
        self.counters.transmitted.add(&leaving.frame);
        self.counters.underruns += u64::from(leaving.underrun);
        if let Some(tap) = &mut self.tap {
            tap.frame(leaving.end, Direction::Sent, &leaving.frame);
        }
        self.from_us.put(leaving.begin, leaving.frame);
    }

    fn end(&mut self) {
        let Self {
            mac_in,
            mac_out,
            tap,
            counters,
            ..
        } = self;
        mac_in.end(|at, frame, ending| {
            if ending == Ending::Down {
                return FrameCounts::add(&mut counters.down, frame);
            }
            counters.delivered.add(frame);
            mac_out.sender.hear(at, frame);
            match ending {
                Ending::Handed | Ending::Down => {}
                Ending::Fragment => FrameCounts::add(&mut counters.fragments, frame),
                Ending::Overrun => counters.overrun.add(frame),
            }
            if let Some(tap) = tap {
                tap.frame(at, Direction::Received, frame);
            }
        });
    }
}

impl Between {
    fn is_empty(&self) -> bool {
        self.relay.is_empty() && self.to_peer.is_empty() && self.from_peer.is_empty()
    }

    fn plan(&self, first: &mut First) {
        let [ours, theirs] = &self.relay.ports;
        first.or(self.from_peer.ends(), Event::Relay(1));
        first.or(self.to_peer.ends(), Event::Arrive);
        first.or(ours.sender.counts(), Event::Yield(0));
        first.or(theirs.sender.counts(), Event::Yield(1));
        first.or(self.relay.acts(0), Event::Pass(0));
        first.or(self.relay.acts(1), Event::Pass(1));
    }
}

/// The first of events; of those at the same time the one that was named first.
struct First(Option<(Time, Event)>);

impl First {
    fn or(&mut self, at: Option<Time>, event: Event) {
        if let Some(at) = at
            && self.0.is_none_or(|(first, _)| at < first)
        {
            self.0 = Some((at, event));
        }
    }
}
