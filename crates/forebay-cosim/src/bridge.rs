// SPDX-License-Identifier: Apache-2.0
//! The PCIe side of the FPGA card: what arrives at BAR 0 goes to the port it addresses.

use std::collections::VecDeque;
use std::ops::Range;

use forebay_driver::Outbound;
use forebay_model::{Arrival, Completion, Fabric, FabricError, Node, Request, Ticket, Time};
use forebay_rtl::Model;
use forebay_spec::net::regs as net;
use forebay_spec::nvme::Cqe;
use forebay_spec::recorder::elements;
use forebay_spec::streamer::{bar0, regs, window};

use crate::aperture::{Apertures, Place};
use crate::config::Stalls;
use crate::error::{Error, Result};
use crate::lite::{ControlPort, DoorbellPort};
use crate::pins::{Lite, Pins};
use crate::window::{Answer, Count, Moved, WindowPort};

/// What the registers say of the places of on-board DRAM while others reach it by the data window
/// that stands for it: writes below, reads above.
const MAPPED: [(&str, u64, u64); 2] = [
    ("dram_write", regs::dram_write::OFFSET, 0),
    (
        "dram_read",
        regs::dram_read::OFFSET,
        window::DRAM_BUFFER_BYTES,
    ),
];

/// Where SNAcc's streamer with its payload in DRAM has its PRP lists, behind the registers' port: one
/// for each of 64 commands.
const SNACC_LISTS: u64 = 0x4_0000;
const SNACC_LISTS_BYTES: u64 = 64 * 4096;

/// A port of the RTL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Door {
    /// An AXI4 target.
    Window(usize),
    /// Registers at AXI4-Lite.
    Registers(usize),
}

/// A part of BAR 0, and where its accesses go.
#[derive(Debug, Clone)]
struct Route {
    place: Place,
    range: Range<u64>,
    door: Door,
    /// Address of its first byte there.
    at: u64,
    /// Offset of its first byte in the aperture, of which it may be a part.
    first: u64,
}

/// Where an access goes.
struct Aim {
    place: Place,
    /// Offset in its aperture.
    offset: u64,
    door: Door,
    /// Address there.
    at: u64,
}

/// A completion entry on its way to the RTL.
struct Posted {
    window: usize,
    /// Its place among all writes.
    number: u64,
    drive: usize,
    cqe: Cqe,
}

/// The ports that requests of others arrive at, and the doorbells.
pub(crate) struct Bridge {
    /// All that is written and read in bursts. Payload is behind the first.
    windows: Vec<WindowPort>,
    registers: Vec<ControlPort>,
    /// The second door to the registers, which is not used.
    spare: Option<Lite>,
    pub doorbell: DoorbellPort,
    /// The first one that holds a whole access has it.
    routes: Vec<Route>,
    /// Bus address of BAR 0.
    pub base: u64,
    pub apertures: Apertures,
    /// Number of the last write.
    written: u64,
    /// The streamer was last told to run.
    pub enabled: bool,
    /// The network side was told which frames are taken.
    pub listening: bool,
    /// On-board DRAM is reached past the RTL, too.
    pub mapped: bool,
    /// The RTL was told other places of it than these have.
    displaced: Option<Error>,
    /// Completions of the card's own reads, for their requesters.
    pub answers: Vec<Completion>,
    /// Accesses to BAR 0 that hit none of the apertures.
    pub stray: u64,
    posted: VecDeque<Posted>,
    /// Completion entries that the RTL got in the last cycle, and from which drive.
    pub completed: Vec<(usize, Cqe)>,
    /// Registers were accessed in the last cycle, which brings no transaction nearer to its end.
    pub polled: bool,
}

impl Bridge {
    pub fn new(
        pins: &Pins,
        apertures: Apertures,
        outbound: Outbound,
        stalls: &Stalls,
        seed: u64,
    ) -> Self {
        let mut bridge = Self {
            windows: Vec::new(),
            registers: Vec::new(),
            spare: None,
            doorbell: DoorbellPort::new(pins.doorbell, outbound.doorbells, stalls, seed),
            routes: Vec::new(),
            base: 0,
            apertures,
            written: 0,
            enabled: false,
            listening: false,
            mapped: false,
            displaced: None,
            answers: Vec::new(),
            stray: 0,
            posted: VecDeque::new(),
            completed: Vec::new(),
            polled: false,
        };
        bridge.connect(pins, stalls, seed);
        bridge
    }

    /// Decides which part of BAR 0 is served by which port.
    fn connect(&mut self, pins: &Pins, stalls: &Stalls, seed: u64) {
        let Apertures {
            bytes,
            payload,
            lists,
            queues,
        } = self.apertures.clone();
        let control = bar0::CONTROL..bar0::CONTROL + bar0::CONTROL_BYTES;
        let port = |pins, names, port| WindowPort::new(pins, names, stalls, seed, port);
        let mut rest = None;
        if let Some(queue) = pins.queue {
            let names = ["data window writes", "data window reads"];
            let data = self.add_window(port(pins.bar, names, 0));
            let names = ["queue window writes", "queue window reads"];
            let queue = self.add_window(port(queue, names, 1));
            self.route(Place::Queues, queues, queue, 0);
            if let Some(pins) = pins.lists {
                let names = ["control window writes", "control window reads"];
                let door = self.add_window(port(pins, names, 3));
                self.route(Place::Control, control.clone(), door, 0);
                let end = lists.start + SNACC_LISTS_BYTES;
                self.route(Place::Lists, lists.start..end, door, SNACC_LISTS);
            }
            if pins.lists.is_some() && !payload.is_empty() {
                // SNAcc has reads below, and we have writes there.
                let half = payload.start + window::DRAM_BUFFER_BYTES;
                let (writes, reads) = (payload.start..half, half..payload.end);
                self.route(Place::Payload, writes, data, window::DRAM_BUFFER_BYTES);
                self.route(Place::Payload, reads, data, 0);
                if let Some(reads) = self.routes.last_mut() {
                    reads.first = window::DRAM_BUFFER_BYTES;
                }
            } else {
                self.route(Place::Payload, payload, data, 0);
            }
            if let Some(pins) = pins.control {
                let door = self.add_registers(pins, "control registers");
                self.route(Place::Control, control, door, 0);
            }
        } else {
            let bar = self.add_window(port(pins.bar, ["BAR writes", "BAR reads"], 0));
            for (place, range) in [
                (Place::Payload, payload),
                (Place::Lists, lists),
                (Place::Queues, queues),
                (Place::Control, control),
            ] {
                let at = range.start;
                self.route(place, range, bar, at);
            }
            self.spare = pins.control;
            rest = Some(bar);
        }
        if let Some(host) = pins.host {
            let names = ["host window writes", "host window reads"];
            let door = self.add_window(port(host.window, names, 2));
            let staging = bar0::HOST..bar0::HOST + bar0::HOST_BYTES;
            self.route(Place::Staging, staging, door, 0);
            let range = bar0::HOST_CONTROL..bar0::HOST_CONTROL + bar0::HOST_CONTROL_BYTES;
            let door = self.add_registers(host.control, "host port registers");
            self.route(Place::HostControl, range, door, 0);
        }
        if let Some(net) = pins.net {
            let range = bar0::NET_CONTROL..bar0::NET_CONTROL + bar0::NET_CONTROL_BYTES;
            let door = self.add_registers(net.control, "network registers");
            self.route(Place::Net, range, door, 0);
            let range = bar0::RECORDER_CONTROL..bar0::RECORDER_CONTROL + bar0::NET_CONTROL_BYTES;
            let door = self.add_registers(net.recorder, "recorder registers");
            self.route(Place::Recorder, range, door, 0);
            let range = bar0::ELEMENTS..bar0::ELEMENTS + elements::BYTES;
            let door = self.add_registers(net.elements, "registers of elements");
            self.route(Place::Elements, range, door, 0);
        }
        // The one target of our own answers for everything else.
        if let Some(bar) = rest {
            self.route(Place::Nothing, 0..bytes, bar, 0);
        }
    }

    fn add_window(&mut self, port: WindowPort) -> Door {
        self.windows.push(port);
        Door::Window(self.windows.len() - 1)
    }

    fn add_registers(&mut self, pins: Lite, name: &'static str) -> Door {
        self.registers.push(ControlPort::new(pins, name));
        Door::Registers(self.registers.len() - 1)
    }

    fn route(&mut self, place: Place, range: Range<u64>, door: Door, at: u64) {
        self.routes.push(Route {
            place,
            range,
            door,
            at,
            first: 0,
        });
    }

    /// Sets the pins that never change.
    pub fn init(&self, model: &mut Model) {
        for window in &self.windows {
            window.init(model);
        }
        if let Some(spare) = self.spare {
            model.set(spare.bready, 1);
            model.set(spare.rready, 1);
        }
    }

    /// Takes everything that has arrived at the FPGA card by now.
    pub fn drain(&mut self, now: Time, fabric: &mut Fabric) {
        while let Some(arrival) = fabric.poll(now, Node::Fpga) {
            let (request, ticket, from) = match arrival {
                Arrival::Request {
                    request,
                    ticket,
                    from,
                } => (request, ticket, from),
                Arrival::Completion(completion) => {
                    self.answers.push(completion);
                    continue;
                }
            };
            match request {
                Request::Write { addr, data } => self.write(addr, data, from),
                Request::Read { addr, len, .. } => {
                    let answer = &mut |(ticket, result)| fabric.complete(now, ticket, result);
                    self.read(addr, len, from, ticket, answer);
                }
            }
        }
    }

    fn read(
        &mut self,
        address: u64,
        len: u32,
        from: Node,
        ticket: Ticket,
        answer: &mut impl FnMut(Answer),
    ) {
        let Some(aim) = self.find(address, len.into()) else {
            self.stray += 1;
            return answer((ticket, Err(FabricError::Refused)));
        };
        self.stray += u64::from(aim.place == Place::Nothing);
        // What the host reads comes after what it wrote: PCI Express Base 5.0, 2.4.1.
        let after = if from == Node::Host { self.written } else { 0 };
        match aim.door {
            Door::Window(n) => self.windows[n].read(aim.place, aim.at, len, ticket, after),
            Door::Registers(n) => self.registers[n].read(aim.at, len, ticket, after, answer),
        }
    }

    fn write(&mut self, address: u64, data: Box<[u8]>, from: Node) {
        let Some(aim) = self.find(address, data.len() as u64) else {
            self.stray += 1;
            return;
        };
        self.stray += u64::from(aim.place == Place::Nothing);
        self.observe(&aim, &data);
        self.written += 1;
        let number = self.written;
        let window = match aim.door {
            Door::Registers(n) => return self.registers[n].write(number, aim.at, data),
            Door::Window(window) => window,
        };
        let mut after = 0;
        if aim.place == Place::Queues {
            if let (Node::Ssd(drive), Ok(entry)) = (from, (&data[..]).try_into()) {
                self.posted.push_back(Posted {
                    window,
                    number,
                    drive: drive.into(),
                    cqe: Cqe::from_bytes(entry),
                });
            }
            // RTL with a target of their own for queues does not see the order of entries and data. Then
            // an entry waits here for the answers to the data before it; later data may go ahead.
            if window > 0 {
                after = self.windows[0].asked;
            }
        }
        self.windows[window].write(number, aim.place, aim.at, data, after);
    }

    /// Sees in a write what the RTL is told to do.
    fn observe(&mut self, aim: &Aim, data: &[u8]) {
        let is_set = |bit: u8| data.first().is_some_and(|byte| byte & bit != 0);
        match aim.place {
            Place::Net if [net::streams::OFFSET, net::packets::OFFSET].contains(&aim.offset) => {
                self.listening |= data.iter().any(|byte| *byte != 0);
            }
            Place::Control => {
                if aim.offset == regs::enable::OFFSET {
                    self.enabled = is_set(1);
                }
                if self.mapped {
                    let displaced = || displaced(aim.offset, data);
                    self.displaced = self.displaced.take().or_else(displaced);
                }
            }
            _ => {}
        }
    }

    fn find(&self, address: u64, bytes: u64) -> Option<Aim> {
        let in_bar = address.checked_sub(self.base)?;
        self.routes.iter().find_map(|route| {
            let offset = in_bar.checked_sub(route.range.start)?;
            let size = route.range.end - route.range.start;
            (offset.checked_add(bytes)? <= size).then_some(Aim {
                place: route.place,
                offset: route.first + offset,
                door: route.door,
                at: route.at + offset,
            })
        })
    }

    /// Where payload at a bus address lies in its aperture.
    pub fn payload(&self, address: u64) -> Option<u64> {
        let aim = self.find(address, 1)?;
        (aim.place == Place::Payload).then_some(aim.offset)
    }

    /// What has crossed all ports to and from a place.
    pub fn count(&self, place: Place) -> Count {
        let mut all = Count::default();
        for window in &self.windows {
            let count = window.count(place);
            all.read += count.read;
            all.written += count.written;
            all.errors += count.errors;
        }
        all
    }

    /// Answers of apertures and registers other than OKAY.
    pub fn refused(&self) -> u64 {
        let windows = self.windows.iter().map(WindowPort::errors);
        let registers = self.registers.iter().map(|port| port.errors);
        windows.chain(registers).sum()
    }

    pub fn is_idle(&self) -> bool {
        self.windows.iter().all(WindowPort::is_idle)
            && self.registers.iter().all(ControlPort::is_idle)
    }

    pub fn drive(&mut self, model: &mut Model) {
        let payload = self.windows.first().map_or(u64::MAX, WindowPort::settled);
        let windows = self.windows.iter().map(WindowPort::settled);
        let settled = windows.chain(self.registers.iter().map(ControlPort::settled));
        let settled = settled.min().unwrap_or(u64::MAX);
        for window in &mut self.windows {
            window.drive(model, payload, settled);
        }
        for port in &mut self.registers {
            port.drive(model, settled);
        }
        self.doorbell.drive(model);
    }

    /// Takes back what was accepted; to be called after the rising edge.
    pub fn settle(&mut self, model: &mut Model) {
        for port in &mut self.registers {
            port.settle(model);
        }
    }

    /// Sees what was accepted and answers the fabric; true where there was progress: entries,
    /// payload or doorbells. Of registers, [`Bridge::polled`] tells.
    pub fn sample(
        &mut self,
        model: &Model,
        cycle: u64,
        now: Time,
        fabric: &mut Fabric,
    ) -> Result<bool> {
        if let Some(error) = self.displaced.take() {
            return Err(error);
        }
        let mut answer = |(ticket, result)| fabric.complete(now, ticket, result);
        let mut moved = Moved::default();
        for window in &mut self.windows {
            let there = window.sample(model, cycle, &mut answer)?;
            moved.work |= there.work;
            moved.polls |= there.polls;
        }
        for port in &mut self.registers {
            moved.polls |= port.sample(model, cycle, &mut answer)?;
        }
        self.completed.clear();
        while let Some(posted) = self.posted.pop_front_if(|posted| {
            let window = self.windows.get(posted.window);
            window.is_some_and(|window| posted.number <= window.sent)
        }) {
            self.completed.push((posted.drive, posted.cqe));
        }
        self.polled = moved.polls;
        let mut ring = |addr, value: u32| {
            let data = value.to_le_bytes().into();
            fabric.request(now, Node::Fpga, Request::Write { addr, data });
        };
        Ok(self.doorbell.sample(model, cycle, &mut ring)? || moved.work)
    }

    pub fn reset(&mut self, model: &mut Model, now: Time, fabric: &mut Fabric) {
        self.enabled = false;
        self.listening = false;
        self.posted.clear();
        let mut answer = |(ticket, result)| fabric.complete(now, ticket, result);
        for window in &mut self.windows {
            window.reset(model, &mut answer);
        }
        for port in &mut self.registers {
            port.reset(model, &mut answer);
        }
        self.doorbell.reset(model);
    }

    /// What is being waited for, for the message of the watchdog.
    pub fn waiting(&self, model: &Model) -> Vec<String> {
        let windows = self.windows.iter().map(|window| window.waiting(model));
        let registers = self.registers.iter().map(ControlPort::waiting);
        windows.chain(registers).flatten().collect()
    }
}

/// A write to the control registers, of a place of on-board DRAM that is not the one it is mapped at.
fn displaced(at: u64, data: &[u8]) -> Option<Error> {
    MAPPED.iter().find_map(|(register, offset, place)| {
        let first = usize::try_from(at.checked_sub(*offset)?).ok()?;
        let rest = place.to_le_bytes();
        let mut wanted = rest.get(first..)?.iter();
        let wrong = data
            .iter()
            .any(|byte| wanted.next().is_some_and(|it| it != byte));
        wrong.then(|| Error::Displaced {
            register,
            value: data
                .iter()
                .rfold(0, |value, byte| value << 8 | u64::from(*byte)),
            place: *place,
        })
    })
}
