// SPDX-License-Identifier: Apache-2.0
//! The MAC's pins and its clock: what is beyond them is a model of the network.

use forebay_model::Time;
use forebay_model::net::{Beat, Network, mac_edge};
use forebay_rtl::Model;

use crate::dut::Dut;
use crate::error::{Error, Result};
use crate::held::Held;
use crate::pins::Net;

const CHANNEL: &str = "frames to the MAC";
/// MAC control frames in a row that count as progress: an element may take long while the sender is silenced,
/// but not for ever.
const ASKED_MOST: u32 = 400;

/// The MAC, on its own clock.
pub(crate) struct Mac {
    pins: Net,
    /// What it is connected to; none: nothing comes, and what is sent is lost.
    pub network: Option<Network>,
    /// Number of the next rising edge.
    edge: u64,
    /// MAC control frames that were sent since another beat moved.
    asked: u32,
    /// A beat stands at the receiving pins.
    receives: bool,
    held: Held,
    /// The link is.
    down: bool,
    /// It is reset together with the core.
    with_core: bool,
}

impl Mac {
    pub fn new(pins: Net, network: Option<Network>) -> Self {
        let out = pins.transmit;
        Self {
            pins,
            network,
            edge: 1,
            asked: 0,
            receives: false,
            held: Held::new(CHANNEL, [out.data, out.keep, out.last, out.user]),
            down: false,
            with_core: false,
        }
    }

    /// When the next rising edge is.
    #[inline]
    pub const fn next(&self) -> Time {
        mac_edge(self.edge)
    }

    /// That edge; true where something moved that counts as progress.
    #[inline]
    pub fn edge(&mut self, dut: &mut Dut, cycle: u64) -> Result<bool> {
        let at = self.next();
        self.edge += 1;
        self.cycle(dut, cycle, at)
    }

    /// Time has leapt to `now` while nothing went on: so do the edges.
    pub fn leap(&mut self, now: Time) {
        // 33 cycles take 102.4 ns.
        let edges = now / 102_400 * 33;
        self.edge = self.edge.max(edges);
    }

    fn cycle(&mut self, dut: &mut Dut, cycle: u64, at: Time) -> Result<bool> {
        let network = self.network.as_mut();
        let up = network.is_none_or(|network| network.is_up(at));
        self.set_link(&mut dut.model, up);
        let (beat, ready) = match &mut self.network {
            Some(_) if !up => (None, false),
            Some(network) => (network.receive(at), network.ready(at)),
            None => (None, true),
        };
        self.drive(&mut dut.model, beat.as_ref(), ready);
        if let Some(ns) = self.network.as_ref().and_then(|net| net.time_of_day(at)) {
            self.tell(&mut dut.model, ns);
        }
        let out = self.pins.transmit;
        let (held, mut sent) = (&mut self.held, None);
        dut.mac_cycle(cycle, at, |model| {
            let valid = model.is_set(out.valid);
            held.watch(model, valid, ready, cycle)?;
            if valid && ready {
                let keep = model.get(out.keep);
                let (last, user) = (model.is_set(out.last), model.is_set(out.user));
                let beat = Beat::from_pins(model.wide(out.data), keep, last, user);
                sent = Some(beat);
            }
            Ok(valid)
        })?;
        let mut moved = beat.is_some();
        if moved {
            self.asked = 0;
        }
        if let Some(taken) = sent {
            self.asked = match taken.as_ref().is_ok_and(Beat::is_mac_control) {
                true => self.asked.saturating_add(1),
                false => 0,
            };
            moved |= self.asked <= ASKED_MOST;
            let network = &mut self.network;
            let taken = taken.and_then(|beat| match network {
                Some(network) => network.transmit(at, &beat),
                None => Ok(()),
            });
            taken.map_err(|error| Error::protocol(cycle, CHANNEL, error.to_string()))?;
        }
        Ok(moved)
    }

    fn drive(&mut self, model: &mut Model, beat: Option<&Beat>, ready: bool) {
        let pins = self.pins.receive;
        if let Some(beat) = beat {
            *model.wide_mut(pins.data) = beat.data;
            model.set(pins.keep, beat.keep());
            model.set(pins.last, u64::from(beat.last));
            model.set(pins.user, u64::from(beat.damaged));
        }
        if self.receives || beat.is_some() {
            self.receives = beat.is_some();
            model.set(pins.valid, u64::from(self.receives));
        }
        model.set(self.pins.transmit.ready, u64::from(ready));
    }

    /// Tells the time of day, in nanoseconds since 1970.
    fn tell(&self, model: &mut Model, ns: u64) {
        const SECOND: u64 = 1_000_000_000;
        let (seconds, part) = (ns / SECOND, (ns % SECOND) as u32);
        let pin = model.bytes_mut(self.pins.time_of_day);
        let bytes = part.to_le_bytes().into_iter().chain(seconds.to_le_bytes());
        // Of 48 bits of seconds 34 can be used.
        for (to, byte) in pin.iter_mut().zip(bytes.take(10)) {
            *to = byte;
        }
    }

    /// A MAC whose link is down is in reset.
    fn set_link(&mut self, model: &mut Model, up: bool) {
        if up == self.down {
            self.down = !up;
            self.drive_resets(model);
        }
        if !up {
            self.held.reset();
        }
    }

    fn drive_resets(&self, model: &mut Model) {
        for reset in self.pins.resets {
            model.set(reset, u64::from(self.down || self.with_core));
        }
    }

    /// The reset of this clock.
    pub fn set_reset(&mut self, model: &mut Model, now: Time, on: bool) {
        self.with_core = on;
        self.drive_resets(model);
        if on {
            self.held.reset();
            if let Some(network) = &mut self.network {
                network.reset(now);
            }
        }
    }
}
