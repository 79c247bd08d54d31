// SPDX-License-Identifier: Apache-2.0
//! The bridge's side of an AXI4 target: requests of the fabric become bursts.
//!
//! Every burst is INCR of full 64-byte beats, inside 4 KiB; short and unaligned writes are done by
//! strobes, short and unaligned reads pick their bytes. Bursts follow one another without a gap,
//! addresses run ahead of the data, both directions run at once. Identifiers are random; answers may
//! come in any order between different ones, and those to one come in the order of their bursts.

use std::collections::VecDeque;

use forebay_model::{FabricError, Ticket};
use forebay_rtl::{Model, PortHandle};

use crate::aperture::Place;
use crate::config::Stalls;
use crate::error::{Error, Result};
use crate::held::Held;
use crate::pins::Window;
use crate::stall::{Pauser, Random};

/// Bursts may not cross a multiple of this (AMBA AXI A3.4.1).
const BOUNDARY: u64 = 4096;
/// Reads whose address was sent and whose data have not all come.
const READS_AHEAD: usize = 64;
/// Writes that were sent and not answered.
const WRITES_AHEAD: usize = 64;
/// Bytes of a beat.
const BEAT: u64 = 64;

struct WriteBurst {
    /// That of its request.
    number: u64,
    place: Place,
    address: u64,
    data: Box<[u8]>,
    beats: u32,
    id: u64,
    /// All writes up to this number must have been answered before this may go.
    after: u64,
}

/// A write burst whose data were sent and whose answer is to come.
struct Unanswered {
    number: u64,
    place: Place,
    id: u64,
}

/// A read request: one burst, or one for each 4 KiB that it touches. Their identifier is the same, so
/// that their data come in order.
struct ReadRequest {
    place: Place,
    address: u64,
    length: u32,
    ticket: Ticket,
    /// All writes up to this number must have been answered before this may go.
    after: u64,
    id: u64,
    /// Beats of all bursts, those that were asked for, and those that have come.
    beats: u32,
    /// No burst crosses a multiple of this.
    boundary: u64,
    asked: u32,
    come: u32,
    data: Vec<u8>,
    failed: bool,
}

impl ReadRequest {
    /// Address of a beat, from the boundary of the bus on.
    const fn beat_at(&self, beat: u32) -> u64 {
        (self.address & !(BEAT - 1)) + beat as u64 * BEAT
    }

    /// Address of the next burst, and its beats.
    fn next_burst(&self) -> (u64, u32) {
        let at = self.beat_at(self.asked);
        let room = (self.boundary - at % self.boundary) / BEAT;
        let beats = room.min(u64::from(self.beats - self.asked)) as u32;
        (at.max(self.address), beats)
    }

    /// Whether a beat is the last one of its burst.
    const fn ends_burst(&self, beat: u32) -> bool {
        beat + 1 == self.beats || self.beat_at(beat + 1).is_multiple_of(self.boundary)
    }

    /// Takes its bytes out of the next beat.
    fn take(&mut self, lanes: &[u8; BEAT as usize]) {
        if self.come == 0 {
            self.data.reserve_exact(self.length as usize);
        }
        let at = self.beat_at(self.come);
        let end = self.address + u64::from(self.length);
        let (from, to) = (self.address.max(at) - at, end.min(at + BEAT) - at);
        self.data
            .extend_from_slice(&lanes[from as usize..to as usize]);
        self.come += 1;
    }
}

/// What has crossed a port to or from one place.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Count {
    /// Beats.
    pub read: u64,
    pub written: u64,
    /// Answers other than OKAY.
    pub errors: u64,
}

/// What moved in a cycle.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Moved {
    /// What brings transactions nearer to their end.
    pub work: bool,
    /// Accesses to registers, or to nothing.
    pub polls: bool,
}

impl Moved {
    fn at(&mut self, place: Place) {
        self.work |= place.is_work();
        self.polls |= !place.is_work();
    }
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

/// One AXI4 target of the RTL.
pub(crate) struct WindowPort {
    pins: Window,
    names: [&'static str; 2],
    write_pause: Pauser,
    read_pause: Pauser,
    answer_pause: Pauser,
    ids: Random,
    /// No burst crosses a multiple of this: a page, or what a burst of AXI3 can have.
    boundary: u64,

    writes: VecDeque<WriteBurst>,
    /// Bursts at the front of `writes` whose address was accepted.
    addressed: usize,
    aw_loaded: bool,
    w_loaded: bool,
    /// Beat of the front of `writes` that is at the port or comes next.
    w_beat: u32,
    unanswered: VecDeque<Unanswered>,
    /// Number of the last write asked for, and of the last one sent whole.
    pub asked: u64,
    pub sent: u64,
    b_ready: bool,

    reads: VecDeque<ReadRequest>,
    /// Requests at the front of `reads` of which all addresses were accepted.
    requested: usize,
    /// Read bursts whose address was accepted and whose data have not all come.
    under_way: usize,
    ar_loaded: bool,
    r_ready: bool,

    counts: [Count; Place::COUNT],
    held_b: Held,
    held_r: Held,
}

impl WindowPort {
    /// `names` of the channels of writes and of reads; `port` identifies the target.
    pub fn new(
        pins: Window,
        names: [&'static str; 2],
        stalls: &Stalls,
        seed: u64,
        port: u64,
    ) -> Self {
        let answer = stalls.window_answer;
        let write_payload = [pins.bresp, pins.bid];
        let read_payload = [Some(pins.rdata), Some(pins.rlast), pins.rresp, pins.rid];
        Self {
            pins,
            names,
            boundary: BOUNDARY.min(BEAT << pins.awlen.width().min(8)),
            write_pause: Pauser::new(stalls.window_write, seed, 16 + port),
            read_pause: Pauser::new(stalls.window_read, seed, 32 + port),
            answer_pause: Pauser::new(answer, seed, 48 + port),
            ids: Random::new(seed, 72 + port),
            writes: VecDeque::new(),
            addressed: 0,
            aw_loaded: false,
            w_loaded: false,
            w_beat: 0,
            unanswered: VecDeque::new(),
            asked: 0,
            sent: 0,
            b_ready: false,
            reads: VecDeque::new(),
            requested: 0,
            under_way: 0,
            ar_loaded: false,
            r_ready: false,
            counts: [Count::default(); Place::COUNT],
            held_b: Held::new(names[0], write_payload.into_iter().flatten()),
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

    /// Asks for a write; `number` is its place among all writes, and `after`: see [`WriteBurst`].
    pub fn write(&mut self, number: u64, place: Place, address: u64, data: Box<[u8]>, after: u64) {
        if data.is_empty() {
            return;
        }
        self.asked = number;
        let mut burst = |address, data: Box<[u8]>| {
            self.writes.push_back(WriteBurst {
                number,
                place,
                address,
                beats: beats(address, data.len() as u32),
                data,
                id: 0,
                after,
            });
        };
        if address % self.boundary + data.len() as u64 <= self.boundary {
            return burst(address, data);
        }
        let (mut address, mut rest) = (address, &data[..]);
        while !rest.is_empty() {
            let count = (self.boundary - address % self.boundary).min(rest.len() as u64) as usize;
            burst(address, rest[..count].into());
            rest = &rest[count..];
            address += count as u64;
        }
    }

    /// Asks for a read; `after`: see [`ReadRequest`].
    pub fn read(&mut self, place: Place, address: u64, length: u32, ticket: Ticket, after: u64) {
        self.reads.push_back(ReadRequest {
            place,
            address,
            length,
            ticket,
            after,
            id: 0,
            beats: beats(address, length),
            boundary: self.boundary,
            asked: 0,
            come: 0,
            data: Vec::new(),
            failed: false,
        });
    }

    pub fn is_idle(&self) -> bool {
        self.writes.is_empty() && self.reads.is_empty() && self.unanswered.is_empty()
    }

    /// All of its writes up to this number have been answered.
    pub fn settled(&self) -> u64 {
        let sent = self.unanswered.front().map(|write| write.number);
        let oldest = sent.or_else(|| self.writes.front().map(|write| write.number));
        oldest.map_or(u64::MAX, |number| number - 1)
    }

    /// What has crossed the port to and from a place.
    pub fn count(&self, place: Place) -> Count {
        self.counts[place as usize]
    }

    /// Answers other than OKAY of what is there; of nothing, they are as it should be.
    pub fn errors(&self) -> u64 {
        let there = &self.counts[..Place::Nothing as usize];
        there.iter().map(|count| count.errors).sum()
    }

    /// Up to `settled_before` all writes that writes may have to wait for have been answered, up to
    /// `settled` all those that reads may have to wait for.
    pub fn drive(&mut self, model: &mut Model, settled_before: u64, settled: u64) {
        let pins = &self.pins;
        if !self.aw_loaded {
            if let Some(burst) = self.writes.get_mut(self.addressed)
                && burst.after <= settled_before
                && self.unanswered.len() + self.addressed < WRITES_AHEAD
                && !self.write_pause.pauses()
            {
                if let (Some(pin), Some(_)) = (pins.awid, pins.bid) {
                    burst.id = self.ids.next() & ones(pin.width());
                    model.set(pin, burst.id);
                }
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
            if let Some(request) = self.reads.get_mut(self.requested)
                && request.after <= settled
                && self.under_way < READS_AHEAD
                && !self.read_pause.pauses()
            {
                if let (Some(pin), Some(_)) = (pins.arid, pins.rid) {
                    if request.asked == 0 {
                        request.id = self.ids.next() & ones(pin.width());
                    }
                    model.set(pin, request.id);
                }
                let (address, beats) = request.next_burst();
                model.set(pins.araddr, address);
                model.set(pins.arlen, u64::from(beats - 1));
                self.ar_loaded = true;
            }
            model.set(pins.arvalid, u64::from(self.ar_loaded));
        }
        self.b_ready = !self.answer_pause.pauses();
        self.r_ready = !self.answer_pause.pauses();
        model.set(pins.bready, u64::from(self.b_ready));
        model.set(pins.rready, u64::from(self.r_ready));
    }

    /// Sees what was accepted.
    pub fn sample(
        &mut self,
        model: &Model,
        cycle: u64,
        answer: &mut impl FnMut(Answer),
    ) -> Result<Moved> {
        let mut moved = Moved::default();
        self.sample_writes(model, &mut moved);
        let bvalid = model.is_set(self.pins.bvalid);
        self.held_b.watch(model, bvalid, self.b_ready, cycle)?;
        if bvalid && self.b_ready {
            moved.at(self.response(model, cycle)?);
        }
        if self.ar_loaded
            && model.is_set(self.pins.arready)
            && let Some(request) = self.reads.get_mut(self.requested)
        {
            self.ar_loaded = false;
            self.under_way += 1;
            request.asked += request.next_burst().1;
            self.requested += usize::from(request.asked == request.beats);
            moved.at(request.place);
        }
        let rvalid = model.is_set(self.pins.rvalid);
        self.held_r.watch(model, rvalid, self.r_ready, cycle)?;
        if rvalid && self.r_ready {
            moved.at(self.read_beat(model, cycle, answer)?);
        }
        Ok(moved)
    }

    fn sample_writes(&mut self, model: &Model, moved: &mut Moved) {
        if self.aw_loaded
            && model.is_set(self.pins.awready)
            && let Some(burst) = self.writes.get(self.addressed)
        {
            self.aw_loaded = false;
            self.addressed += 1;
            moved.at(burst.place);
        }
        let Some(burst) = self.writes.front() else {
            return;
        };
        let (number, place, id) = (burst.number, burst.place, burst.id);
        if self.w_loaded && model.is_set(self.pins.wready) {
            self.w_loaded = false;
            self.w_beat += 1;
            self.counts[place as usize].written += 1;
            moved.at(place);
        }
        // The last beat may be accepted before the address is.
        if self.addressed > 0 && self.w_beat == burst.beats && !self.w_loaded {
            self.writes.pop_front();
            self.addressed -= 1;
            self.w_beat = 0;
            self.sent = number;
            self.unanswered.push_back(Unanswered { number, place, id });
        }
    }

    /// Takes the response to a write; tells which place it was to.
    fn response(&mut self, model: &Model, cycle: u64) -> Result<Place> {
        if self.unanswered.is_empty() {
            return Err(self.wrong(0, cycle, "a response came without a write"));
        }
        let id = identifier(model, self.pins.awid, self.pins.bid);
        let mut all = self.unanswered.iter();
        // Identifiers may overtake one another (AMBA AXI A5.3).
        let found = all.position(|write| write.id == id);
        let Some(write) = found.and_then(|at| self.unanswered.remove(at)) else {
            let what = format!(
                "a response came with identifier {id}, which no write that waits for one has"
            );
            return Err(self.wrong(0, cycle, what));
        };
        self.counts[write.place as usize].errors += u64::from(is_error(model, self.pins.bresp));
        Ok(write.place)
    }

    /// Takes a beat of data; tells which place it is from.
    fn read_beat(
        &mut self,
        model: &Model,
        cycle: u64,
        answer: &mut impl FnMut(Answer),
    ) -> Result<Place> {
        let last = model.is_set(self.pins.rlast);
        if self.under_way == 0 {
            return Err(self.wrong(1, cycle, "data came without a read"));
        }
        let id = identifier(model, self.pins.arid, self.pins.rid);
        // As with responses.
        let mut all = self.reads.iter_mut().enumerate();
        let found = all.find(|(_, read)| read.id == id && read.come < read.asked);
        let Some((at, request)) = found else {
            let what = format!("data came with identifier {id}, which no read under way has");
            return Err(self.wrong(1, cycle, what));
        };
        let (place, ends) = (request.place, request.ends_burst(request.come));
        request.take(model.wide(self.pins.rdata));
        let count = &mut self.counts[place as usize];
        count.read += 1;
        if is_error(model, self.pins.rresp) {
            count.errors += 1;
            request.failed = true;
        }
        let complete = request.come == request.beats;
        if last != ends {
            let what = if last {
                "RLAST came too early"
            } else {
                "RLAST is missing"
            };
            return Err(self.wrong(1, cycle, what));
        }
        self.under_way -= usize::from(ends);
        if complete && let Some(request) = self.reads.remove(at) {
            self.requested -= 1;
            let data = request.data.into_boxed_slice();
            answer(answer_of(request.ticket, request.failed, data));
        }
        Ok(place)
    }

    fn wrong(&self, channel: usize, cycle: u64, what: impl Into<String>) -> Error {
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
            answer((read.ticket, Err(FabricError::Refused)));
        }
        self.writes.clear();
        self.unanswered.clear();
        (self.addressed, self.requested, self.under_way) = (0, 0, 0);
        self.w_beat = 0;
        (self.aw_loaded, self.w_loaded, self.ar_loaded) = (false, false, false);
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
        let counts = [
            (self.unanswered.len(), "writes without B"),
            (self.under_way, "reads without R"),
            (self.writes.len(), "writes to be sent"),
            (self.reads.len() - self.requested, "reads to be asked for"),
        ];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0);
        parts.extend(counts.map(|(count, what)| format!("{count} {what}")));
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
        ones((to - at) as u32) & !ones((from - at) as u32)
    };
    model.set(pins.wstrb, strobes);
    model.set(pins.wlast, u64::from(beat + 1 == burst.beats));
}

/// The lowest `count` bits.
const fn ones(count: u32) -> u64 {
    if count >= u64::BITS {
        u64::MAX
    } else {
        (1 << count) - 1
    }
}

/// Beats of a stretch, one even where it is empty.
fn beats(address: u64, bytes: u32) -> u32 {
    ((address % BEAT) as u32 + bytes)
        .div_ceil(BEAT as u32)
        .max(1)
}

/// The identifier of an answer: zero where there are none.
fn identifier(model: &Model, asked: Option<PortHandle>, answered: Option<PortHandle>) -> u64 {
    let pin = asked.and(answered);
    pin.map_or(0, |pin| model.get(pin))
}
