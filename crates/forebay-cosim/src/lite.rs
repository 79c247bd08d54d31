// SPDX-License-Identifier: Apache-2.0
//! The AXI4-Lite ports: control registers, which the host writes and reads, and doorbells, which the
//! streamer writes.

use std::collections::VecDeque;

use forebay_model::{FabricError, Ticket};
use forebay_rtl::Model;

use crate::config::Stalls;
use crate::error::{Error, Result};
use crate::held::Held;
use crate::pins::Lite;
use crate::stall::Pauser;
use crate::window::{Answer, answer_of};

/// Something to be done at the control port.
enum Access {
    Write {
        /// Its place among all writes.
        number: u64,
        offset: u64,
        data: Box<[u8]>,
    },
    Read {
        offset: u64,
        length: u32,
        ticket: Ticket,
        /// All writes up to this number must have been answered before.
        after: u64,
    },
}

impl Access {
    /// All writes up to this number must have been answered before.
    const fn after(&self) -> u64 {
        match self {
            Self::Write { number, .. } => *number - 1,
            Self::Read { after, .. } => *after,
        }
    }
}

/// How far the access at the front is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Idle,
    /// Address and data of a write stand at the port until each is accepted.
    Writing {
        address: bool,
        data: bool,
    },
    /// Address of a read stands at the port.
    Reading,
    /// The answer is to come.
    Answer,
}

/// A set of control registers: one access after the other.
pub(crate) struct ControlPort {
    pins: Lite,
    name: &'static str,
    queue: VecDeque<Access>,
    phase: Phase,
    /// The pins are not all at rest.
    active: bool,
    held_b: Held,
    held_r: Held,
    /// Answers other than OKAY.
    pub errors: u64,
}

const DOORBELLS: &str = "doorbells";

impl ControlPort {
    pub fn new(pins: Lite, name: &'static str) -> Self {
        let payload = [Some(pins.rdata), pins.rresp].into_iter().flatten();
        Self {
            pins,
            name,
            queue: VecDeque::new(),
            phase: Phase::Idle,
            active: false,
            held_b: Held::new(name, pins.bresp),
            held_r: Held::new(name, payload),
            errors: 0,
        }
    }

    /// Bytes of a word.
    fn word(&self) -> u64 {
        u64::from(self.pins.wdata.width() / 8)
    }

    /// Whether an access is one of a word, or of a part of it.
    fn fits(&self, offset: u64, bytes: u64) -> bool {
        offset % self.word() + bytes <= self.word()
    }

    /// Asks for a write of a word or a part of it; there is no other.
    pub fn write(&mut self, number: u64, offset: u64, data: Box<[u8]>) {
        if self.reaches(offset) && self.fits(offset, data.len() as u64) {
            self.queue.push_back(Access::Write {
                number,
                offset,
                data,
            });
        } else {
            self.errors += 1;
        }
    }

    /// Asks for a read of a word or a part of it. A register that the port's address is too narrow for reads as zero: SNAcc's streamer has 256 bytes of them.
    pub fn read(
        &mut self,
        offset: u64,
        length: u32,
        ticket: Ticket,
        after: u64,
        answer: &mut impl FnMut(Answer),
    ) {
        if !self.fits(offset, length.into()) {
            answer((ticket, Err(FabricError::Refused)));
        } else if self.reaches(offset) {
            self.queue.push_back(Access::Read {
                offset,
                length,
                ticket,
                after,
            });
        } else {
            answer((ticket, Ok(vec![0; length as usize].into_boxed_slice())));
        }
    }

    fn reaches(&self, offset: u64) -> bool {
        let width = self.pins.awaddr.width().min(self.pins.araddr.width());
        width >= 64 || offset >> width == 0
    }

    pub fn is_idle(&self) -> bool {
        self.queue.is_empty()
    }

    /// All of its writes up to this number have been answered.
    pub fn settled(&self) -> u64 {
        let oldest = self.queue.iter().find_map(|access| match access {
            Access::Write { number, .. } => Some(*number),
            Access::Read { .. } => None,
        });
        oldest.map_or(u64::MAX, |number| number - 1)
    }

    /// `settled`: all writes up to this number have been answered, at all ports. Accesses wait for
    /// those before them, as PCIe has it: what the host wrote before arrives before.
    pub fn drive(&mut self, model: &mut Model, settled: u64) {
        let waits = |access: &Access| access.after() > settled;
        if self.phase == Phase::Idle && self.queue.front().is_some_and(|front| !waits(front)) {
            self.begin(model);
        }
    }

    fn begin(&mut self, model: &mut Model) {
        let pins = self.pins;
        self.active = true;
        match self.queue.front() {
            Some(Access::Write { offset, data, .. }) => {
                let size = self.word();
                let lane = (offset % size) as usize;
                let mut word = [0; 8];
                word[lane..lane + data.len()].copy_from_slice(data);
                model.set(pins.awaddr, offset & !(size - 1));
                model.set(pins.wdata, u64::from_le_bytes(word));
                if let Some(strobes) = pins.wstrb {
                    model.set(strobes, ((1 << data.len()) - 1) << lane);
                }
                model.set(pins.awvalid, 1);
                model.set(pins.wvalid, 1);
                model.set(pins.bready, 1);
                self.phase = Phase::Writing {
                    address: true,
                    data: true,
                };
            }
            Some(Access::Read { offset, .. }) => {
                model.set(pins.araddr, offset & !(self.word() - 1));
                model.set(pins.arvalid, 1);
                model.set(pins.rready, 1);
                self.phase = Phase::Reading;
            }
            None => {}
        }
    }

    /// Sees what was accepted; true where something moved.
    pub fn sample(
        &mut self,
        model: &Model,
        cycle: u64,
        answer: &mut impl FnMut(Answer),
    ) -> Result<bool> {
        if self.phase == Phase::Idle {
            return Ok(false);
        }
        let pins = self.pins;
        let (bvalid, rvalid) = (model.is_set(pins.bvalid), model.is_set(pins.rvalid));
        self.held_b.watch(model, bvalid, true, cycle)?;
        self.held_r.watch(model, rvalid, true, cycle)?;
        match self.phase {
            Phase::Writing {
                mut address,
                mut data,
            } => {
                address &= !model.is_set(pins.awready);
                data &= !model.is_set(pins.wready);
                self.phase = if address || data {
                    Phase::Writing { address, data }
                } else {
                    Phase::Answer
                };
            }
            Phase::Reading if model.is_set(pins.arready) => self.phase = Phase::Answer,
            _ => {}
        }
        let name = self.name;
        let wrong = |what: &str| Error::protocol(cycle, name, what);
        if !bvalid && !rvalid {
            return Ok(self.phase != Phase::Answer);
        }
        if self.phase != Phase::Answer {
            let what = "an answer came before address and data were accepted";
            return Err(wrong(what));
        }
        let response = if bvalid { pins.bresp } else { pins.rresp };
        let failed = response.is_some_and(|port| model.get(port) >= 2);
        self.errors += u64::from(failed);
        match self.queue.pop_front() {
            Some(Access::Write { .. }) if bvalid => {}
            Some(Access::Read {
                offset,
                length,
                ticket,
                ..
            }) if rvalid => {
                let lane = (offset % self.word()) as usize;
                let word = model.get(pins.rdata).to_le_bytes();
                let data = word[lane..lane + length as usize].into();
                answer(answer_of(ticket, failed, data));
            }
            _ => return Err(wrong("an answer of the wrong kind came")),
        }
        self.phase = Phase::Idle;
        Ok(true)
    }

    /// Takes back what was accepted; to be called after the rising edge.
    pub fn settle(&mut self, model: &mut Model) {
        if !self.active {
            return;
        }
        let pins = self.pins;
        match self.phase {
            Phase::Idle => {
                self.active = false;
                model.set(pins.bready, 0);
                model.set(pins.rready, 0);
            }
            Phase::Writing { address, data } => {
                model.set(pins.awvalid, u64::from(address));
                model.set(pins.wvalid, u64::from(data));
                return;
            }
            Phase::Reading => return,
            Phase::Answer => {}
        }
        for pin in [pins.awvalid, pins.wvalid, pins.arvalid] {
            model.set(pin, 0);
        }
    }

    /// The RTL is being reset.
    pub fn reset(&mut self, model: &mut Model, answer: &mut impl FnMut(Answer)) {
        for access in self.queue.drain(..) {
            if let Access::Read { ticket, .. } = access {
                answer((ticket, Err(FabricError::Refused)));
            }
        }
        self.phase = Phase::Idle;
        self.active = true;
        self.settle(model);
        self.held_b.reset();
        self.held_r.reset();
    }

    /// What is being waited for, for the message of the watchdog.
    pub fn waiting(&self) -> Option<String> {
        (!self.is_idle()).then(|| {
            format!(
                "{}: {} accesses without answer",
                self.name,
                self.queue.len()
            )
        })
    }
}

/// The doorbells: every write is accepted at once and handed on.
pub(crate) struct DoorbellPort {
    pins: Lite,
    pause: Pauser,
    ready: bool,
    address: VecDeque<u64>,
    data: VecDeque<u32>,
    /// Answers owed.
    owed: u32,
    b_loaded: bool,
    held_aw: Held,
    held_w: Held,
    /// Where the aperture lies, less the bus address of its first byte.
    offset: u64,
    /// Writes handed on.
    pub count: u64,
}

impl DoorbellPort {
    pub fn new(pins: Lite, offset: u64, stalls: &Stalls, seed: u64) -> Self {
        Self {
            pins,
            pause: Pauser::new(stalls.doorbell, seed, 64),
            ready: false,
            address: VecDeque::new(),
            data: VecDeque::new(),
            owed: 0,
            b_loaded: false,
            held_aw: Held::new(DOORBELLS, [pins.awaddr]),
            held_w: Held::new(
                DOORBELLS,
                [Some(pins.wdata), pins.wstrb].into_iter().flatten(),
            ),
            offset,
            count: 0,
        }
    }

    pub fn drive(&mut self, model: &mut Model) {
        let ready = !self.pause.pauses();
        if ready != self.ready {
            self.ready = ready;
            model.set(self.pins.awready, u64::from(ready));
            model.set(self.pins.wready, u64::from(ready));
        }
        if !self.b_loaded && self.owed > 0 {
            self.owed -= 1;
            self.b_loaded = true;
            model.set(self.pins.bvalid, 1);
        } else if !self.b_loaded {
            model.set(self.pins.bvalid, 0);
        }
    }

    /// No write is under way.
    pub fn is_idle(&self) -> bool {
        self.address.is_empty() && self.data.is_empty() && self.owed == 0 && !self.b_loaded
    }

    /// Sees what was accepted; hands each write on. True where something moved.
    pub fn sample(
        &mut self,
        model: &Model,
        cycle: u64,
        ring: &mut impl FnMut(u64, u32),
    ) -> Result<bool> {
        let pins = self.pins;
        let mut moved = false;
        let (awvalid, wvalid) = (model.is_set(pins.awvalid), model.is_set(pins.wvalid));
        self.held_aw.watch(model, awvalid, self.ready, cycle)?;
        self.held_w.watch(model, wvalid, self.ready, cycle)?;
        if awvalid && self.ready {
            self.address.push_back(model.get(pins.awaddr));
            moved = true;
        }
        if wvalid && self.ready {
            if pins.wstrb.is_some_and(|port| model.get(port) != 0xf) {
                let what = "a doorbell was written with strobes other than 0xf";
                return Err(Error::protocol(cycle, DOORBELLS, what));
            }
            self.data.push_back(model.get(pins.wdata) as u32);
            moved = true;
        }
        if let (Some(address), Some(data)) = (self.address.front(), self.data.front()) {
            ring(address.wrapping_sub(self.offset), *data);
            self.address.pop_front();
            self.data.pop_front();
            self.owed += 1;
            self.count += 1;
        }
        if self.b_loaded && model.is_set(pins.bready) {
            self.b_loaded = false;
            moved = true;
        }
        if model.is_set(pins.arvalid) {
            let what = "the streamer reads, but a doorbell cannot be read";
            return Err(Error::protocol(cycle, DOORBELLS, what));
        }
        Ok(moved)
    }

    /// The RTL is being reset.
    pub fn reset(&mut self, model: &mut Model) {
        for pin in [self.pins.awready, self.pins.wready, self.pins.bvalid] {
            model.set(pin, 0);
        }
        self.ready = false;
        self.address.clear();
        self.data.clear();
        self.owed = 0;
        self.b_loaded = false;
        self.held_aw.reset();
        self.held_w.reset();
    }
}
