// SPDX-License-Identifier: Apache-2.0
//! The bridge's side of an AXI4 window: requests of the fabric become bursts.
//!
//! Every burst is INCR of full 64-byte beats, inside 4 KiB; short and unaligned writes are done by
//! strobes, short and unaligned reads pick their bytes. Bursts follow one another without a gap,
//! read addresses run ahead of the data, both directions run at once.

use std::collections::VecDeque;

use forebay_model::{FabricError, Ticket};
use forebay_rtl::{Model, PortHandle};

use crate::config::Stalls;
use crate::error::{Error, Result};
use crate::held::Held;
use crate::pins::Window;
use crate::stall::Pauser;

/// Bursts may not cross a multiple of this (AMBA AXI A3.4.1).
const BOUNDARY: u64 = 4096;
/// Reads whose address was sent and whose data have not all come.
const READS_AHEAD: usize = 64;
/// Writes that were sent and not answered.
const WRITES_AHEAD: u64 = 64;

struct WriteBurst {
    address: u64,
    data: Box<[u8]>,
    beats: u32,
    /// Answers to writes of the other window that must have come before this may go.
    after: u64,
}

struct ReadBurst {
    address: u64,
    length: u32,
    beats: u32,
    /// Answers to writes of this window that must have come before this may go.
    after: u64,
    /// In the last burst of a request.
    ticket: Option<Ticket>,
}

/// A read whose data have come.
pub(crate) type Answer = (Ticket, std::result::Result<Box<[u8]>, FabricError>);

pub(crate) fn answer_of(ticket: Ticket, failed: bool, data: Box<[u8]>) -> Answer {
    let result = if failed {
        Err(FabricError::Refused)
    } else {
        Ok(data)
    };
    (ticket, result)
}

/// One window.
pub(crate) struct WindowPort {
    pins: Window,
    names: [&'static str; 2],
    write_pause: Pauser,
    read_pause: Pauser,
    answer_pause: Pauser,

    writes: VecDeque<WriteBurst>,
    /// Bursts at the front of `writes` whose address was accepted.
    addressed: usize,
    aw_loaded: bool,
    w_loaded: bool,
    /// Beat of the front of `writes` that is at the port or comes next.
    w_beat: u32,
    /// Bursts ever asked for, sent whole, and answered.
    pub asked: u64,
    pub sent: u64,
    pub answered: u64,
    b_ready: bool,

    reads: VecDeque<ReadBurst>,
    /// Bursts at the front of `reads` whose address was accepted.
    requested: usize,
    ar_loaded: bool,
    r_ready: bool,
    r_beat: u32,
    r_error: bool,
    buffer: Vec<u8>,

    /// Beats read out of the window and written into it.
    pub beats_read: u64,
    pub beats_written: u64,
    /// Answers other than OKAY.
    pub errors: u64,
    held_b: Held,
    held_r: Held,
}

impl WindowPort {
    /// `names` of the channels of writes and of reads; `port` identifies the window.
    pub fn new(
        pins: Window,
        names: [&'static str; 2],
        stalls: &Stalls,
        seed: u64,
        port: u64,
    ) -> Self {
        let answer = stalls.window_answer;
        let read_payload = [Some(pins.rdata), Some(pins.rlast), pins.rresp];
        Self {
            pins,
            names,
            write_pause: Pauser::new(stalls.window_write, seed, 16 + port),
            read_pause: Pauser::new(stalls.window_read, seed, 32 + port),
            answer_pause: Pauser::new(answer, seed, 48 + port),
            writes: VecDeque::new(),
            addressed: 0,
            aw_loaded: false,
            w_loaded: false,
            w_beat: 0,
            asked: 0,
            sent: 0,
            answered: 0,
            b_ready: false,
            reads: VecDeque::new(),
            requested: 0,
            ar_loaded: false,
            r_ready: false,
            r_beat: 0,
            r_error: false,
            buffer: Vec::new(),
            beats_read: 0,
            beats_written: 0,
            errors: 0,
            held_b: Held::new(names[0], pins.bresp),
            held_r: Held::new(names[1], read_payload.into_iter().flatten()),
        }
    }

    /// Sets the pins that never change.
    pub fn init(&self, model: &mut Model) {
        for size in [self.pins.awsize, self.pins.arsize].into_iter().flatten() {
            model.set(size, 6);
        }
        for burst in [self.pins.awburst, self.pins.arburst].into_iter().flatten() {
            model.set(burst, 1);
        }
    }

    /// Asks for a write; `after`: see [`WriteBurst`].
    pub fn write(&mut self, address: u64, data: Box<[u8]>, after: u64) {
        if data.is_empty() {
            return;
        }
        if address % BOUNDARY + data.len() as u64 <= BOUNDARY {
            return self.write_burst(address, data, after);
        }
        let (mut address, mut rest) = (address, &data[..]);
        while !rest.is_empty() {
            let count = (BOUNDARY - address % BOUNDARY).min(rest.len() as u64) as usize;
            self.write_burst(address, rest[..count].into(), after);
            rest = &rest[count..];
            address += count as u64;
        }
    }

    fn write_burst(&mut self, address: u64, data: Box<[u8]>, after: u64) {
        let beats = ((address % 64) as u32 + data.len() as u32).div_ceil(64);
        self.asked += 1;
        self.writes.push_back(WriteBurst {
            address,
            data,
            beats,
            after,
        });
    }

    /// Asks for a read; `after`: see [`ReadBurst`].
    pub fn read(&mut self, address: u64, length: u32, ticket: Ticket, after: u64) {
        let (mut address, mut left) = (address, length);
        let mut ticket = Some(ticket);
        loop {
            let count = ((BOUNDARY - address % BOUNDARY).min(u64::from(left))) as u32;
            left -= count;
            let beats = ((address % 64) as u32 + count).div_ceil(64).max(1);
            let ticket = if left == 0 { ticket.take() } else { None };
            self.reads.push_back(ReadBurst {
                address,
                length: count,
                beats,
                after,
                ticket,
            });
            if left == 0 {
                return;
            }
            address += u64::from(count);
        }
    }

    pub fn is_idle(&self) -> bool {
        self.writes.is_empty() && self.reads.is_empty() && self.sent == self.answered
    }

    /// `others`: answers that have come to writes of the other window.
    pub fn drive(&mut self, model: &mut Model, others: u64) {
        let pins = &self.pins;
        if !self.aw_loaded {
            if let Some(burst) = self.writes.get(self.addressed)
                && burst.after <= others
                && self.sent - self.answered + (self.addressed as u64) < WRITES_AHEAD
                && !self.write_pause.pauses()
            {
                model.set(pins.awaddr, burst.address);
                model.set(pins.awlen, u64::from(burst.beats - 1));
                self.aw_loaded = true;
            }
            model.set(pins.awvalid, u64::from(self.aw_loaded));
        }
        if !self.w_loaded {
            // Data never run ahead of their address.
            let addressed = self.addressed + usize::from(self.aw_loaded);
            if let Some(burst) = self.writes.front()
                && addressed > 0
                && self.w_beat < burst.beats
                && !self.write_pause.pauses()
            {
                load_beat(model, pins, burst, self.w_beat);
                self.w_loaded = true;
            }
            model.set(pins.wvalid, u64::from(self.w_loaded));
        }
        if !self.ar_loaded {
            if let Some(burst) = self.reads.get(self.requested)
                && burst.after <= self.answered
                && self.requested < READS_AHEAD
                && !self.read_pause.pauses()
            {
                model.set(pins.araddr, burst.address);
                model.set(pins.arlen, u64::from(burst.beats - 1));
                self.ar_loaded = true;
            }
            model.set(pins.arvalid, u64::from(self.ar_loaded));
        }
        self.b_ready = !self.answer_pause.pauses();
        self.r_ready = !self.answer_pause.pauses();
        model.set(pins.bready, u64::from(self.b_ready));
        model.set(pins.rready, u64::from(self.r_ready));
    }

    /// Sees what was accepted; true where something moved.
    pub fn sample(
        &mut self,
        model: &Model,
        cycle: u64,
        answer: &mut impl FnMut(Answer),
    ) -> Result<bool> {
        let pins = self.pins;
        let mut moved = false;
        if self.aw_loaded && model.is_set(pins.awready) {
            self.aw_loaded = false;
            self.addressed += 1;
            moved = true;
        }
        if self.w_loaded && model.is_set(pins.wready) {
            self.w_loaded = false;
            self.beats_written += 1;
            self.w_beat += 1;
            moved = true;
        }
        // The last beat may be accepted before the address is.
        if self.addressed > 0
            && self
                .writes
                .front()
                .is_some_and(|burst| self.w_beat == burst.beats && !self.w_loaded)
        {
            self.writes.pop_front();
            self.addressed -= 1;
            self.w_beat = 0;
            self.sent += 1;
        }
        let bvalid = model.is_set(pins.bvalid);
        self.held_b.watch(model, bvalid, self.b_ready, cycle)?;
        if bvalid && self.b_ready {
            moved = true;
            if self.answered == self.sent {
                return Err(self.wrong(0, cycle, "a response came without a write"));
            }
            self.answered += 1;
            self.errors += u64::from(is_error(model, pins.bresp));
        }
        if self.ar_loaded && model.is_set(pins.arready) {
            self.ar_loaded = false;
            self.requested += 1;
            moved = true;
        }
        let rvalid = model.is_set(pins.rvalid);
        self.held_r.watch(model, rvalid, self.r_ready, cycle)?;
        if rvalid && self.r_ready {
            moved = true;
            self.read_beat(model, cycle, answer)?;
        }
        Ok(moved)
    }

    fn read_beat(
        &mut self,
        model: &Model,
        cycle: u64,
        answer: &mut impl FnMut(Answer),
    ) -> Result<()> {
        let last = model.is_set(self.pins.rlast);
        let Some(burst) = self.reads.front_mut().filter(|_| self.requested > 0) else {
            return Err(self.wrong(1, cycle, "data came without a read"));
        };
        let skip = (burst.address % 64) as usize;
        let end = skip + burst.length as usize;
        let at = self.r_beat as usize * 64;
        let (from, to) = (skip.max(at), end.min(at + 64));
        if self.buffer.capacity() == 0 {
            self.buffer.reserve_exact(burst.length as usize);
        }
        if from < to {
            self.buffer
                .extend_from_slice(&model.wide(self.pins.rdata)[from - at..to - at]);
        }
        self.beats_read += 1;
        self.r_beat += 1;
        let ends = self.r_beat == burst.beats;
        if is_error(model, self.pins.rresp) {
            self.errors += 1;
            self.r_error = true;
        }
        if last != ends {
            let what = if last {
                "RLAST came too early"
            } else {
                "RLAST is missing"
            };
            return Err(self.wrong(1, cycle, what));
        }
        if ends {
            let ticket = burst.ticket.take();
            self.reads.pop_front();
            self.requested -= 1;
            self.r_beat = 0;
            if let Some(ticket) = ticket {
                let data = std::mem::take(&mut self.buffer).into_boxed_slice();
                let failed = std::mem::take(&mut self.r_error);
                answer(answer_of(ticket, failed, data));
            }
        }
        Ok(())
    }

    fn wrong(&self, channel: usize, cycle: u64, what: &str) -> Error {
        Error::protocol(cycle, self.names[channel], what)
    }

    /// The RTL is being reset: reads under way get no data, writes are lost.
    pub fn reset(&mut self, model: &mut Model, answer: &mut impl FnMut(Answer)) {
        let Window {
            awvalid,
            wvalid,
            arvalid,
            bready,
            rready,
            ..
        } = self.pins;
        for pin in [awvalid, wvalid, arvalid, bready, rready] {
            model.set(pin, 0);
        }
        for read in self.reads.drain(..) {
            if let Some(ticket) = read.ticket {
                answer((ticket, Err(FabricError::Refused)));
            }
        }
        self.writes.clear();
        self.sent = self.asked;
        self.answered = self.asked;
        (self.addressed, self.requested) = (0, 0);
        (self.w_beat, self.r_beat) = (0, 0);
        (self.aw_loaded, self.w_loaded, self.ar_loaded, self.r_error) =
            (false, false, false, false);
        self.buffer = Vec::new();
        self.held_b.reset();
        self.held_r.reset();
    }

    /// What is being waited for, for the message of the watchdog.
    pub fn waiting(&self, model: &Model) -> Option<String> {
        if self.is_idle() {
            return None;
        }
        let mut parts = Vec::new();
        let stuck = |loaded: bool, ready: PortHandle| loaded && !model.is_set(ready);
        if stuck(self.aw_loaded, self.pins.awready) {
            parts.push("AW not accepted".to_owned());
        }
        if stuck(self.w_loaded, self.pins.wready) {
            parts.push("W not accepted".to_owned());
        }
        if stuck(self.ar_loaded, self.pins.arready) {
            parts.push("AR not accepted".to_owned());
        }
        if self.sent > self.answered {
            parts.push(format!("{} writes without B", self.sent - self.answered));
        }
        if self.requested > 0 {
            parts.push(format!("{} reads without R", self.requested));
        }
        Some(format!("{}: {}", self.names[0], parts.join(", ")))
    }
}

fn is_error(model: &Model, response: Option<PortHandle>) -> bool {
    response.is_some_and(|port| model.get(port) >= 2)
}

fn load_beat(model: &mut Model, pins: &Window, burst: &WriteBurst, beat: u32) {
    let skip = (burst.address % 64) as usize;
    let end = skip + burst.data.len();
    let at = beat as usize * 64;
    let lanes = model.wide_mut(pins.wdata);
    let strobes = if at >= skip && at + 64 <= end {
        lanes.copy_from_slice(&burst.data[at - skip..at - skip + 64]);
        u64::MAX
    } else {
        let (from, to) = (skip.max(at), end.min(at + 64));
        lanes.fill(0);
        lanes[from - at..to - at].copy_from_slice(&burst.data[from - skip..to - skip]);
        mask(to - at) & !mask(from - at)
    };
    model.set(pins.wstrb, strobes);
    model.set(pins.wlast, u64::from(beat + 1 == burst.beats));
}

/// The lowest `count` bits.
fn mask(count: usize) -> u64 {
    if count >= 64 {
        u64::MAX
    } else {
        (1 << count) - 1
    }
}
