// SPDX-License-Identifier: Apache-2.0
//! The PCIe side of the FPGA card: what arrives at BAR 0 goes to the port it addresses.

use std::collections::VecDeque;

use forebay_model::{Arrival, Completion, Fabric, FabricError, Node, Request, Ticket, Time};
use forebay_rtl::Model;
use forebay_spec::nvme::Cqe;
use forebay_spec::recorder::regs as recorder;
use forebay_spec::streamer::{bar0, regs, window};

use crate::config::Stalls;
use crate::error::{Error, Result};
use crate::lite::{ControlPort, DoorbellPort};
use crate::pins::{self, Pins};
use crate::window::{Answer, WindowPort};

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

/// Staging window and registers of a host port.
pub(crate) struct HostPort {
    pub window: WindowPort,
    pub control: ControlPort,
}

/// Registers of the network side and of the recorder.
pub(crate) struct NetPort {
    pub control: ControlPort,
    pub recorder: ControlPort,
}

/// Queue window, data window, control registers, doorbells, and host port or network side where there
/// is one.
pub(crate) struct Bridge {
    pub data: WindowPort,
    pub queue: WindowPort,
    pub control: ControlPort,
    pub doorbell: DoorbellPort,
    pub host: Option<HostPort>,
    pub net: Option<NetPort>,
    /// Bus address of BAR 0.
    pub base: u64,
    /// Bytes of BAR 0.
    pub bytes: u64,
    queue_offset: u64,
    queue_bytes: u64,
    data_offset: u64,
    data_bytes: u64,
    /// Where payload begins at the data window's port.
    data_at: u64,
    /// Where PRP lists begin there, if they have a place of their own in BAR 0.
    lists_at: Option<u64>,
    /// The streamer was last told to run.
    pub enabled: bool,
    /// The recorder was told to take extents.
    pub recording: bool,
    /// On-board DRAM is reached past the RTL, too.
    pub mapped: bool,
    /// The RTL was told other places of it than these have.
    displaced: Option<Error>,
    /// Completions of the card's own reads, for their requesters.
    pub answers: Vec<Completion>,
    /// Accesses to BAR 0 that hit none of the ports.
    pub stray: u64,
    /// Completion entries on their way into the queue window: the number of their burst, drive, entry.
    posted: VecDeque<(u64, usize, Cqe)>,
    /// Completion entries that the RTL got in the last cycle, and from which drive.
    pub completed: Vec<(usize, Cqe)>,
    /// Registers were accessed in the last cycle, which brings no transaction nearer to its end.
    pub polled: bool,
}

/// Bytes of an on-chip data window, by the width of its address; other RTL may have more bits than
/// it looks at.
fn onchip_window(address_bits: u32) -> u64 {
    let mut sizes = (0..=window::ONCHIP_UNIT_SHIFT_MOST).map(window::data_window_bytes);
    sizes
        .find(|bytes| bytes.trailing_zeros() == address_bits)
        .unwrap_or(window::DATA_WINDOW_BYTES)
}

impl Bridge {
    pub fn new(pins: &Pins, stalls: &Stalls, seed: u64) -> Self {
        // The width of its address is the size of the window, and with it the depth of the queue.
        let queue_bytes = 1 << pins.queue.awaddr.width().min(32);
        let fits = queue_bytes <= bar0::CONTROL - bar0::QUEUES;
        let (bytes, data_offset, data_bytes, lists_at) = if pins.dram.is_some() {
            // One port serves both, by the low bits of the offset in the BAR.
            let bytes = window::DRAM_WINDOW_BYTES;
            (
                bar0::BYTES_DRAM,
                bar0::DATA_DRAM,
                bytes,
                Some(bar0::PRP_LISTS),
            )
        } else if pins.host_dram.is_some() {
            (bar0::BYTES, bar0::DATA, 0, Some(0))
        } else {
            let bytes = onchip_window(pins.data.awaddr.width());
            (bar0::BYTES, bar0::data(bytes), bytes, None)
        };
        let data_names = ["data window writes", "data window reads"];
        let queue_names = ["queue window writes", "queue window reads"];
        Self {
            data: WindowPort::new(pins.data, data_names, stalls, seed, 0),
            queue: WindowPort::new(pins.queue, queue_names, stalls, seed, 1),
            control: ControlPort::new(pins.control, "control registers"),
            doorbell: DoorbellPort::new(pins, stalls, seed),
            host: pins.host.map(|pins| HostPort::new(&pins, stalls, seed)),
            net: pins.net.map(|pins| NetPort::new(&pins)),
            base: 0,
            bytes,
            data_offset,
            data_bytes,
            data_at: if pins.dram.is_some() { data_offset } else { 0 },
            lists_at,
            queue_offset: if fits {
                bar0::QUEUES
            } else {
                bar0::QUEUES_DEEP
            },
            queue_bytes,
            enabled: false,
            recording: false,
            mapped: false,
            displaced: None,
            answers: Vec::new(),
            stray: 0,
            posted: VecDeque::new(),
            completed: Vec::new(),
            polled: false,
        }
    }

    pub fn init(&self, model: &mut Model) {
        self.data.init(model);
        self.queue.init(model);
        if let Some(host) = &self.host {
            host.window.init(model);
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
                    self.read(addr, len, ticket, answer);
                }
            }
        }
    }

    fn read(&mut self, address: u64, len: u32, ticket: Ticket, answer: &mut impl FnMut(Answer)) {
        let place = self.place(address, u64::from(len));
        if let (Some(Place::Net(at)), Some(net)) = (&place, &mut self.net) {
            return net.control.read(*at, len, ticket, 0, answer);
        }
        if let (Some(Place::Recorder(at)), Some(net)) = (&place, &mut self.net) {
            return net.recorder.read(*at, len, ticket, 0, answer);
        }
        match (place, &mut self.host) {
            (Some(Place::Data(at)), _) => self.data.read(self.data_at + at, len, ticket, 0),
            (Some(Place::Lists(at)), _) => self.data.read(at, len, ticket, 0),
            (Some(Place::Queue(at)), _) => self.queue.read(at, len, ticket, 0),
            (Some(Place::Control(at)), _) => self.control.read(at, len, ticket, 0, answer),
            // What the host reads comes after what it wrote: PCI Express Base 5.0, 2.4.1.
            (Some(Place::Host(at)), Some(host)) => {
                host.window.read(at, len, ticket, host.window.asked);
            }
            (Some(Place::HostControl(at)), Some(host)) => {
                let after = host.window.asked;
                host.control.read(at, len, ticket, after, answer);
            }
            _ => {
                self.stray += 1;
                answer((ticket, Err(FabricError::Refused)));
            }
        }
    }

    fn write(&mut self, address: u64, data: Box<[u8]>, from: Node) {
        let place = self.place(address, data.len() as u64);
        match (&place, &mut self.net) {
            (Some(Place::Net(at)), Some(net)) => return net.control.write(*at, data, 0),
            (Some(Place::Recorder(at)), Some(net)) => {
                if *at == recorder::control::OFFSET {
                    let enable = recorder::control::ENABLE.mask() as u8;
                    self.recording = data.first().is_some_and(|byte| byte & enable != 0);
                }
                return net.recorder.write(*at, data, 0);
            }
            _ => {}
        }
        match (place, &mut self.host) {
            (Some(Place::Data(at)), _) => self.data.write(self.data_at + at, data, 0),
            (Some(Place::Lists(at)), _) => self.data.write(at, data, 0),
            // A completion entry must not overtake the data before it: it waits until these are
            // answered. Later data may go ahead meanwhile.
            (Some(Place::Queue(at)), _) => {
                let entry = (&data[..]).try_into().map(Cqe::from_bytes);
                self.queue.write(at, data, self.data.asked);
                if let (Node::Ssd(drive), Ok(cqe)) = (from, entry) {
                    let number = self.queue.asked;
                    self.posted.push_back((number, drive.into(), cqe));
                }
            }
            (Some(Place::Control(at)), _) => {
                if at == regs::enable::OFFSET {
                    self.enabled = data.first().is_some_and(|byte| byte & 1 != 0);
                }
                if self.mapped {
                    self.displaced = self.displaced.take().or_else(|| displaced(at, &data));
                }
                self.control.write(at, data, 0);
            }
            (Some(Place::Host(at)), Some(host)) => host.window.write(at, data, 0),
            (Some(Place::HostControl(at)), Some(host)) => {
                host.control.write(at, data, host.window.asked);
            }
            _ => self.stray += 1,
        }
    }

    fn place(&self, address: u64, bytes: u64) -> Option<Place> {
        let offset = address.checked_sub(self.base)?;
        let inside = |start: u64, size: u64| {
            let at = offset.checked_sub(start)?;
            (at.checked_add(bytes)? <= size).then_some(at)
        };
        if let Some(at) = inside(self.data_offset, self.data_bytes) {
            Some(Place::Data(at))
        } else if let Some(at) = inside(bar0::PRP_LISTS, window::PRP_LISTS_BYTES)
            && let Some(lists) = self.lists_at
        {
            Some(Place::Lists(lists + at))
        } else if let Some(at) = inside(self.queue_offset, self.queue_bytes) {
            Some(Place::Queue(at))
        } else if let Some(at) = inside(bar0::CONTROL, bar0::CONTROL_BYTES) {
            Some(Place::Control(at))
        } else if let Some(at) = inside(bar0::HOST, bar0::HOST_BYTES) {
            Some(Place::Host(at))
        } else if let Some(at) = inside(bar0::NET_CONTROL, bar0::NET_CONTROL_BYTES) {
            Some(Place::Net(at))
        } else if let Some(at) = inside(bar0::RECORDER_CONTROL, bar0::NET_CONTROL_BYTES) {
            Some(Place::Recorder(at))
        } else {
            inside(bar0::HOST_CONTROL, bar0::HOST_CONTROL_BYTES).map(Place::HostControl)
        }
    }

    /// Where payload at a bus address lies in the data window.
    pub fn payload(&self, address: u64) -> Option<u64> {
        match self.place(address, 1) {
            Some(Place::Data(at)) => Some(at),
            _ => None,
        }
    }

    pub fn is_idle(&self) -> bool {
        let (host, net) = (self.host.as_ref(), self.net.as_ref());
        self.data.is_idle()
            && self.queue.is_idle()
            && self.control.is_idle()
            && host.is_none_or(|host| host.window.is_idle() && host.control.is_idle())
            && net.is_none_or(|net| net.control.is_idle() && net.recorder.is_idle())
    }

    pub fn drive(&mut self, model: &mut Model) {
        let answered = self.data.answered;
        self.data.drive(model, 0);
        self.queue.drive(model, answered);
        self.control.drive(model, 0);
        self.doorbell.drive(model);
        if let Some(host) = &mut self.host {
            let answered = host.window.answered;
            host.window.drive(model, 0);
            host.control.drive(model, answered);
        }
        if let Some(net) = &mut self.net {
            net.control.drive(model, 0);
            net.recorder.drive(model, 0);
        }
    }

    /// Takes back what was accepted; to be called after the rising edge.
    pub fn settle(&mut self, model: &mut Model) {
        self.control.settle(model);
        if let Some(host) = &mut self.host {
            host.control.settle(model);
        }
        if let Some(net) = &mut self.net {
            net.control.settle(model);
            net.recorder.settle(model);
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
        let mut moved = self.data.sample(model, cycle, &mut answer)?;
        moved |= self.queue.sample(model, cycle, &mut answer)?;
        self.completed.clear();
        let sent = self.queue.sent;
        while let Some((_, drive, cqe)) = self.posted.pop_front_if(|(number, ..)| *number <= sent) {
            self.completed.push((drive, cqe));
        }
        self.polled = self.control.sample(model, cycle, &mut answer)?;
        if let Some(host) = &mut self.host {
            moved |= host.window.sample(model, cycle, &mut answer)?;
            self.polled |= host.control.sample(model, cycle, &mut answer)?;
        }
        if let Some(net) = &mut self.net {
            self.polled |= net.control.sample(model, cycle, &mut answer)?;
            self.polled |= net.recorder.sample(model, cycle, &mut answer)?;
        }
        moved |= self
            .doorbell
            .sample(model, cycle, &mut |addr, value: u32| {
                let data = value.to_le_bytes().into();
                fabric.request(now, Node::Fpga, Request::Write { addr, data });
            })?;
        Ok(moved)
    }

    pub fn reset(&mut self, model: &mut Model, now: Time, fabric: &mut Fabric) {
        self.enabled = false;
        self.recording = false;
        let mut answer = |(ticket, result)| fabric.complete(now, ticket, result);
        self.data.reset(model, &mut answer);
        self.queue.reset(model, &mut answer);
        self.posted.clear();
        self.control.reset(model, &mut answer);
        if let Some(host) = &mut self.host {
            host.window.reset(model, &mut answer);
            host.control.reset(model, &mut answer);
        }
        if let Some(net) = &mut self.net {
            net.control.reset(model, &mut answer);
            net.recorder.reset(model, &mut answer);
        }
        self.doorbell.reset(model);
    }

    /// What is being waited for, for the message of the watchdog.
    pub fn waiting(&self, model: &Model) -> Vec<String> {
        let parts = [
            self.data.waiting(model),
            self.queue.waiting(model),
            self.control.waiting(),
        ];
        let host = self.host.as_ref();
        let more = host.map(|host| [host.window.waiting(model), host.control.waiting()]);
        let net = self.net.as_ref();
        let net = net.map(|net| [net.control.waiting(), net.recorder.waiting()]);
        let all = parts.into_iter().chain(more.into_iter().flatten());
        let all = all.chain(net.into_iter().flatten());
        all.flatten().collect()
    }
}

impl HostPort {
    fn new(pins: &pins::Host, stalls: &Stalls, seed: u64) -> Self {
        let names = ["host window writes", "host window reads"];
        Self {
            window: WindowPort::new(pins.window, names, stalls, seed, 2),
            control: ControlPort::new(pins.control, "host port registers"),
        }
    }
}

impl NetPort {
    fn new(pins: &pins::Net) -> Self {
        Self {
            control: ControlPort::new(pins.control, "network registers"),
            recorder: ControlPort::new(pins.recorder, "recorder registers"),
        }
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

enum Place {
    /// Payload, from its first byte on.
    Data(u64),
    /// PRP lists, by the address at the data window's port.
    Lists(u64),
    Queue(u64),
    Control(u64),
    Host(u64),
    HostControl(u64),
    Net(u64),
    Recorder(u64),
}
