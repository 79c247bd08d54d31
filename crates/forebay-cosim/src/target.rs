// SPDX-License-Identifier: Apache-2.0
//! What the RTL's AXI4 master finds: an AXI4 target with one identifier, and behind it on-board
//! DRAM ([`crate::dram`]) or the PCIe bridge ([`crate::dma`]).

use std::collections::VecDeque;

use forebay_model::{Completion, Fabric, Time};
use forebay_rtl::{Model, PortHandle};

use crate::config::{Stall, Stalls};
use crate::dma::Dma;
use crate::dram::Board;
use crate::error::{Error, Result};
use crate::held::Held;
use crate::ownership::Access;
use crate::pins::Window;
use crate::stall::Pauser;

/// Bursts of either kind that are accepted before the first of them has ended.
const AHEAD: usize = 8;
/// Bytes of a beat.
pub(crate) const BEAT: u64 = 64;
const NAMES: [&str; 3] = [
    "memory write address",
    "memory write data",
    "memory read address",
];
/// Every second one, at random.
const HALF: Stall = Stall::new(0.5, 1);
/// RRESP and BRESP of what was refused.
const SLVERR: u64 = 2;

/// A write burst.
pub(crate) struct Writing {
    pub address: u64,
    beats: u64,
    /// Data and strobes of the beats that have come.
    pub data: Vec<([u8; BEAT as usize], u64)>,
    /// When it is answered, once all have come, and whether it is refused.
    answer: Option<Answer>,
}

/// How a write burst ends.
#[derive(Clone, Copy)]
pub(crate) struct Answer {
    pub at: Time,
    pub refused: bool,
}

/// A beat of a read burst.
#[derive(Clone)]
pub(crate) struct Loaded {
    /// When it is there; none: not known yet.
    pub at: Option<Time>,
    pub refused: bool,
    pub data: [u8; BEAT as usize],
}

impl Loaded {
    /// One that is not there yet.
    pub const PENDING: Self = Self {
        at: None,
        refused: false,
        data: [0; BEAT as usize],
    };
}

/// A read burst whose data are on their way.
struct Reading {
    address: u64,
    beats: Vec<Loaded>,
    next: usize,
    /// Its data are those of the moment in which they leave, not of that in which it was accepted.
    late: bool,
}

/// What is behind the port.
pub(crate) enum Behind {
    Board(Box<Board>),
    Host(Dma),
}

impl Behind {
    fn takes_data(&self, now: Time, fabric: &Fabric) -> bool {
        match self {
            Self::Board(_) => true,
            Self::Host(dma) => dma.takes_data(now, fabric),
        }
    }

    /// The first address beyond what can be addressed.
    fn end(&self) -> u64 {
        match self {
            Self::Board(board) => board.bytes(),
            Self::Host(_) => u64::MAX,
        }
    }
}

/// The port.
pub(crate) struct Target {
    pins: Window,
    pub behind: Behind,
    /// The address of its first byte, modulo 2^64.
    offset: u64,
    writes: VecDeque<Writing>,
    reads: VecDeque<Reading>,
    /// Number of the read at the front of `reads`.
    first_read: u64,
    pauses: [Pauser; 5],
    /// Which reads of on-board DRAM have the data of the moment in which they leave.
    late: Pauser,
    ready: [bool; 3],
    valid: [bool; 2],
    held: [Held; 3],
    /// Beats written and read.
    pub beats: [u64; 2],
    /// Bursts that began or ended in the last cycle.
    pub accesses: Vec<Access>,
    /// An address of a read, and of a write, stands at the port and was told already.
    announced: [bool; 2],
}

impl Target {
    pub fn new(pins: Window, behind: Behind, offset: u64, stalls: &Stalls, seed: u64) -> Self {
        let [request, answer] = [stalls.dram, stalls.dram_answer];
        let pauses = [request, request, request, answer, answer];
        let mut ports = 64..;
        let pauses = pauses.map(|stall| Pauser::new(stall, seed, ports.next().unwrap_or(0)));
        let held = [
            Held::new(NAMES[0], [pins.awaddr, pins.awlen]),
            Held::new(NAMES[1], [pins.wdata, pins.wstrb, pins.wlast]),
            Held::new(NAMES[2], [pins.araddr, pins.arlen]),
        ];
        Self {
            pins,
            behind,
            offset,
            writes: VecDeque::new(),
            reads: VecDeque::new(),
            first_read: 0,
            pauses,
            late: Pauser::new(HALF, seed, 70),
            ready: [false; 3],
            valid: [false; 2],
            held,
            beats: [0; 2],
            accesses: Vec::new(),
            announced: [false; 2],
        }
    }

    pub fn is_idle(&self) -> bool {
        self.writes.is_empty() && self.reads.is_empty()
    }

    pub fn drive(&mut self, model: &mut Model, now: Time, fabric: &mut Fabric) -> Result<()> {
        if let Behind::Host(dma) = &mut self.behind {
            dma.step(now, fabric);
        }
        let pins = &self.pins;
        let [aw, w, ar, b, r] = &mut self.pauses;
        let open = self.writes.iter().any(|write| write.answer.is_none());
        self.ready = [
            self.writes.len() < AHEAD && !aw.pauses(),
            open && self.behind.takes_data(now, fabric) && !w.pauses(),
            self.reads.len() < AHEAD && !ar.pauses(),
        ];
        model.set(pins.awready, u64::from(self.ready[0]));
        model.set(pins.wready, u64::from(self.ready[1]));
        model.set(pins.arready, u64::from(self.ready[2]));
        if !self.valid[0] {
            let answer = self.writes.front().and_then(|write| write.answer);
            let due = answer.filter(|answer| answer.at <= now && !b.pauses());
            if let Some(answer) = due {
                respond(model, pins.bresp, answer.refused);
                self.valid[0] = true;
            }
            model.set(pins.bvalid, u64::from(self.valid[0]));
        }
        if !self.valid[1] {
            if let Some(read) = self.reads.front_mut()
                && read.beats[read.next].at.is_some_and(|at| at <= now)
                && !r.pauses()
            {
                if let (true, Behind::Board(board)) = (read.late, &self.behind) {
                    board
                        .load(read.address, &mut read.beats)
                        .map_err(Error::Memory)?;
                    read.late = false;
                }
                let beat = &read.beats[read.next];
                model.wide_mut(pins.rdata).copy_from_slice(&beat.data);
                respond(model, pins.rresp, beat.refused);
                model.set(pins.rlast, u64::from(read.next + 1 == read.beats.len()));
                self.valid[1] = true;
            }
            model.set(pins.rvalid, u64::from(self.valid[1]));
        }
        Ok(())
    }

    /// Sees what was accepted; true where something moved.
    pub fn sample(
        &mut self,
        model: &Model,
        cycle: u64,
        now: Time,
        fabric: &mut Fabric,
    ) -> Result<bool> {
        let pins = self.pins;
        let valid = [pins.awvalid, pins.wvalid, pins.arvalid].map(|pin| model.is_set(pin));
        for (n, held) in self.held.iter_mut().enumerate() {
            held.watch(model, valid[n], self.ready[n], cycle)?;
        }
        let mut moved = false;
        self.accesses.clear();
        self.announce(model, false, valid[2], self.ready[2]);
        self.announce(model, true, valid[0], self.ready[0]);
        if self.valid[0] && model.is_set(pins.bready) {
            self.valid[0] = false;
            moved = true;
            self.accesses.push(Access::Ended { write: true });
            if let Some(write) = self.writes.pop_front()
                && let Behind::Board(board) = &mut self.behind
            {
                board.store(&write).map_err(Error::Memory)?;
            }
        }
        if self.valid[1] && model.is_set(pins.rready) {
            self.valid[1] = false;
            moved = true;
            self.beats[1] += 1;
            if let Some(read) = self.reads.front_mut() {
                read.next += 1;
                if read.next == read.beats.len() {
                    self.reads.pop_front();
                    self.first_read += 1;
                    self.accesses.push(Access::Ended { write: false });
                }
            }
        }
        if valid[0] && self.ready[0] {
            moved = true;
            let (address, beats) = self.burst(model, pins.awaddr, pins.awlen, cycle, 0)?;
            self.writes.push_back(Writing {
                address,
                beats,
                data: Vec::new(),
                answer: None,
            });
        }
        if valid[1] && self.ready[1] {
            moved = true;
            self.take_beat(model, cycle, now, fabric)?;
        }
        if valid[2] && self.ready[2] {
            moved = true;
            let (address, beats) = self.burst(model, pins.araddr, pins.arlen, cycle, 2)?;
            let beats = match &mut self.behind {
                Behind::Board(board) => board.read(now, address, beats).map_err(Error::Memory)?,
                Behind::Host(dma) => {
                    let number = self.first_read + self.reads.len() as u64;
                    dma.read(now, fabric, number, address, beats)
                }
            };
            self.reads.push_back(Reading {
                address,
                beats,
                next: 0,
                late: self.late.pauses(),
            });
        }
        Ok(moved)
    }

    /// Tells of an address as soon as it is valid: from then on it stands, however long the port
    /// pauses.
    fn announce(&mut self, model: &Model, write: bool, valid: bool, ready: bool) {
        let address = if write {
            self.pins.awaddr
        } else {
            self.pins.araddr
        };
        let announced = &mut self.announced[usize::from(write)];
        if valid && !*announced {
            let address = model.get(address).wrapping_sub(self.offset);
            self.accesses.push(Access::Begun { write, address });
        }
        *announced = valid && !ready;
    }

    fn take_beat(
        &mut self,
        model: &Model,
        cycle: u64,
        now: Time,
        fabric: &mut Fabric,
    ) -> Result<()> {
        let pins = self.pins;
        self.beats[0] += 1;
        let Some(write) = self.writes.iter_mut().find(|write| write.answer.is_none()) else {
            return Err(wrong(1, cycle, "data came without an address"));
        };
        write
            .data
            .push((*model.wide(pins.wdata), model.get(pins.wstrb)));
        let ends = write.data.len() as u64 == write.beats;
        if model.is_set(pins.wlast) != ends {
            return Err(wrong(1, cycle, "WLAST is in the wrong place"));
        }
        if ends {
            write.answer = Some(match &mut self.behind {
                Behind::Board(board) => board.write(now, write),
                Behind::Host(_) if write.data.iter().any(|(_, strobes)| *strobes != u64::MAX) => {
                    return Err(wrong(1, cycle, "a partial beat is for the host"));
                }
                Behind::Host(dma) => dma.write(now, fabric, write),
            });
        }
        Ok(())
    }

    /// An answer to a read of the host has come to the card.
    pub fn arrive(&mut self, now: Time, completion: Completion) {
        let Behind::Host(dma) = &mut self.behind else {
            return;
        };
        let Some(part) = dma.answered(completion.tag) else {
            return;
        };
        // Before a reset there may have been others.
        let index = part.read.checked_sub(self.first_read);
        let read = index.and_then(|index| self.reads.get_mut(index as usize));
        let Some(read) = read else { return };
        let data = completion.result.unwrap_or_default();
        let mut words = data.chunks_exact(BEAT as usize);
        for beat in &mut read.beats[part.beats] {
            beat.at = Some(now + part.late);
            match words.next() {
                Some(word) => beat.data.copy_from_slice(word),
                None => beat.refused = true,
            }
        }
    }

    /// Address and beats of a burst, checked.
    fn burst(
        &self,
        model: &Model,
        address: PortHandle,
        len: PortHandle,
        cycle: u64,
        channel: usize,
    ) -> Result<(u64, u64)> {
        let address = model.get(address).wrapping_sub(self.offset);
        let beats = model.get(len) + 1;
        if !address.is_multiple_of(BEAT) || address % 4096 + beats * BEAT > 4096 {
            return Err(wrong(channel, cycle, "a burst leaves its 4 KiB"));
        }
        if address.saturating_add(beats * BEAT) > self.behind.end() {
            return Err(wrong(channel, cycle, "an address beyond the memory"));
        }
        Ok((address, beats))
    }

    /// The RTL is being reset: what is under way is lost.
    pub fn reset(&mut self, model: &mut Model) {
        let Window {
            awready,
            wready,
            bvalid,
            arready,
            rvalid,
            ..
        } = self.pins;
        for pin in [awready, wready, bvalid, arready, rvalid] {
            model.set(pin, 0);
        }
        if let Behind::Host(dma) = &mut self.behind {
            dma.reset();
        }
        self.writes.clear();
        self.first_read += self.reads.len() as u64;
        self.reads.clear();
        self.ready = [false; 3];
        self.valid = [false; 2];
        self.announced = [false; 2];
        for held in &mut self.held {
            held.reset();
        }
    }

    /// What is being waited for, for the message of the watchdog.
    pub fn waiting(&self) -> Option<String> {
        (!self.is_idle()).then(|| {
            let (writes, reads) = (self.writes.len(), self.reads.len());
            format!("memory: {writes} writes and {reads} reads under way")
        })
    }
}

fn respond(model: &mut Model, pin: Option<PortHandle>, refused: bool) {
    if let Some(pin) = pin {
        model.set(pin, if refused { SLVERR } else { 0 });
    }
}

fn wrong(channel: usize, cycle: u64, what: &str) -> Error {
    Error::protocol(cycle, NAMES[channel], what)
}
