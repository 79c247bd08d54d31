// SPDX-License-Identifier: Apache-2.0
//! An AXI4-Lite port at which the RTL asks: one access after the other, answered when it is known.

use forebay_rtl::{Model, PortHandle};

use crate::error::{Error, Result};
use crate::held::Held;
use crate::pins::Lite;
use crate::stall::Pauser;

/// What the RTL asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    Read { address: u64 },
    Write { address: u64, value: u64 },
}

/// The port, on the side that answers.
pub(crate) struct LiteTarget {
    pins: Lite,
    name: &'static str,
    pause: Pauser,
    ready: bool,
    address: Option<u64>,
    data: Option<u64>,
    /// An access was handed on, and its answer is to come: true for a write.
    open: Option<bool>,
    /// The answer that stands at the port.
    answer: Option<Answer>,
    held: [Held; 3],
}

#[derive(Clone, Copy)]
struct Answer {
    write: bool,
    value: Option<u64>,
    loaded: bool,
}

/// The greatest value of this many bits.
const fn ones(bits: u32) -> u64 {
    u64::MAX >> (64 - if bits > 64 { 64 } else { bits })
}

/// SLVERR.
const ERROR: u64 = 0b10;
/// What stands on the data of an answer that is none.
const NOTHING: u64 = 0xdead_beef_dead_beef;

impl LiteTarget {
    pub fn new(pins: Lite, name: &'static str, pause: Pauser) -> Self {
        let data = [Some(pins.wdata), pins.wstrb].into_iter().flatten();
        Self {
            pins,
            name,
            pause,
            ready: false,
            address: None,
            data: None,
            open: None,
            answer: None,
            held: [
                Held::new(name, [pins.awaddr]),
                Held::new(name, data),
                Held::new(name, [pins.araddr]),
            ],
        }
    }

    /// Sets the pins of a cycle.
    pub fn drive(&mut self, model: &mut Model) {
        let pins = &self.pins;
        let free = self.open.is_none() && self.answer.is_none();
        self.ready = free && !self.pause.pauses();
        model.set(
            pins.awready,
            u64::from(self.ready && self.address.is_none()),
        );
        model.set(pins.wready, u64::from(self.ready && self.data.is_none()));
        model.set(
            pins.arready,
            u64::from(self.ready && self.address.is_none() && self.data.is_none()),
        );
        let Some(answer) = &mut self.answer else {
            model.set(pins.bvalid, 0);
            model.set(pins.rvalid, 0);
            return;
        };
        if answer.loaded || self.pause.pauses() {
            return;
        }
        answer.loaded = true;
        let error = if answer.value.is_some() { 0 } else { ERROR };
        let (valid, response) = match answer.write {
            true => (pins.bvalid, pins.bresp),
            false => (pins.rvalid, pins.rresp),
        };
        if !answer.write {
            model.set(
                pins.rdata,
                answer.value.unwrap_or(NOTHING) & ones(pins.rdata.width()),
            );
        }
        if let Some(response) = response {
            model.set(response, error);
        }
        model.set(valid, 1);
    }

    /// Sees what was accepted; gives the access that is complete.
    pub fn sample(&mut self, model: &Model, cycle: u64) -> Result<Option<Asked>> {
        let pins = &self.pins;
        let seen = [pins.awvalid, pins.wvalid, pins.arvalid].map(|pin| model.is_set(pin));
        let takes = [pins.awready, pins.wready, pins.arready].map(|pin| model.is_set(pin));
        for ((held, valid), ready) in self.held.iter_mut().zip(seen).zip(takes) {
            held.watch(model, valid, ready, cycle)?;
        }
        if let Some(answer) = self.answer
            && answer.loaded
            && model.is_set(if answer.write {
                pins.bready
            } else {
                pins.rready
            })
        {
            self.answer = None;
        }
        let taken = |channel: usize| seen[channel] && takes[channel];
        let wrong = |what: &str| Error::protocol(cycle, self.name, what);
        if taken(2) {
            if seen[0] || seen[1] {
                return Err(wrong("a read and a write were asked for at once"));
            }
            self.open = Some(false);
            let address = model.get(pins.araddr);
            return Ok(Some(Asked::Read { address }));
        }
        if taken(0) {
            self.address = Some(model.get(pins.awaddr));
        }
        if taken(1) {
            let whole = |strobes: PortHandle| model.get(strobes) == ones(strobes.width());
            if !pins.wstrb.is_none_or(whole) {
                return Err(wrong("a write is one of a part of a word"));
            }
            self.data = Some(model.get(pins.wdata));
        }
        let (Some(address), Some(value)) = (self.address, self.data) else {
            return Ok(None);
        };
        (self.address, self.data, self.open) = (None, None, Some(true));
        Ok(Some(Asked::Write { address, value }))
    }

    /// No access is under way.
    pub const fn is_idle(&self) -> bool {
        self.address.is_none()
            && self.data.is_none()
            && self.open.is_none()
            && self.answer.is_none()
    }

    /// Answers the access that was handed on; none: in error.
    pub fn answer(&mut self, value: Option<u64>) {
        if let Some(write) = self.open.take() {
            self.answer = Some(Answer {
                write,
                value,
                loaded: false,
            });
        }
    }

    /// The RTL is being reset.
    pub fn reset(&mut self, model: &mut Model) {
        let pins = &self.pins;
        for pin in [
            pins.awready,
            pins.wready,
            pins.arready,
            pins.bvalid,
            pins.rvalid,
        ] {
            model.set(pin, 0);
        }
        (self.address, self.data) = (None, None);
        (self.open, self.answer) = (None, None);
        self.held.iter_mut().for_each(Held::reset);
    }
}
