// SPDX-License-Identifier: Apache-2.0
//! The PCIe side of the FPGA card: what arrives at BAR 0 goes to the port it addresses.

use forebay_model::{Arrival, Fabric, FabricError, Node, Request, Time};
use forebay_rtl::Model;
use forebay_spec::streamer::{bar0, regs, window};

use crate::config::Stalls;
use crate::error::Result;
use crate::lite::{ControlPort, DoorbellPort};
use crate::pins::Pins;
use crate::window::WindowPort;

/// Queue window, data window, control registers and doorbells.
pub(crate) struct Bridge {
    pub data: WindowPort,
    pub queue: WindowPort,
    pub control: ControlPort,
    pub doorbell: DoorbellPort,
    /// Bus address of BAR 0.
    pub base: u64,
    queue_offset: u64,
    queue_bytes: u64,
    /// The streamer was last told to run.
    pub enabled: bool,
    /// Accesses to BAR 0 that hit none of the ports.
    pub stray: u64,
}

impl Bridge {
    pub fn new(pins: &Pins, stalls: &Stalls, seed: u64) -> Self {
        // The width of its address is the size of the window, and with it the depth of the queue.
        let queue_bytes = 1 << pins.queue.awaddr.width().min(32);
        let fits = queue_bytes <= bar0::CONTROL - bar0::QUEUES;
        let data_names = ["data window writes", "data window reads"];
        let queue_names = ["queue window writes", "queue window reads"];
        Self {
            data: WindowPort::new(pins.data, data_names, stalls, seed, 0),
            queue: WindowPort::new(pins.queue, queue_names, stalls, seed, 1),
            control: ControlPort::new(pins),
            doorbell: DoorbellPort::new(pins, stalls, seed),
            base: 0,
            queue_offset: if fits {
                bar0::QUEUES
            } else {
                bar0::QUEUES_DEEP
            },
            queue_bytes,
            enabled: false,
            stray: 0,
        }
    }

    pub fn init(&self, model: &mut Model) {
        self.data.init(model);
        self.queue.init(model);
    }

    /// Takes everything that has arrived at the FPGA card by now.
    pub fn drain(&mut self, now: Time, fabric: &mut Fabric) {
        while let Some(arrival) = fabric.poll(now, Node::Fpga) {
            if let Arrival::Request {
                request, ticket, ..
            } = arrival
            {
                match request {
                    Request::Write { addr, data } => self.write(addr, data),
                    Request::Read { addr, len, .. } => match self.place(addr, u64::from(len)) {
                        Some(Place::Data(at)) => self.data.read(at, len, ticket),
                        Some(Place::Queue(at)) => self.queue.read(at, len, ticket),
                        Some(Place::Control(at)) => {
                            self.control.read(at, len, ticket, &mut |(ticket, result)| {
                                fabric.complete(now, ticket, result);
                            });
                        }
                        None => {
                            self.stray += 1;
                            fabric.complete(now, ticket, Err(FabricError::Refused));
                        }
                    },
                }
            }
        }
    }

    fn write(&mut self, address: u64, data: Box<[u8]>) {
        match self.place(address, data.len() as u64) {
            Some(Place::Data(at)) => self.data.write(at, data, 0),
            // A completion entry must not overtake the data before it: it waits until these are
            // answered. Later data may go ahead meanwhile.
            Some(Place::Queue(at)) => self.queue.write(at, data, self.data.asked),
            Some(Place::Control(at)) => {
                if at == regs::enable::OFFSET {
                    self.enabled = data.first().is_some_and(|byte| byte & 1 != 0);
                }
                self.control.write(at, data);
            }
            None => self.stray += 1,
        }
    }

    fn place(&self, address: u64, bytes: u64) -> Option<Place> {
        let offset = address.checked_sub(self.base)?;
        let inside = |start: u64, size: u64| {
            let at = offset.checked_sub(start)?;
            (at.checked_add(bytes)? <= size).then_some(at)
        };
        if let Some(at) = inside(bar0::DATA, window::DATA_WINDOW_BYTES) {
            Some(Place::Data(at))
        } else if let Some(at) = inside(self.queue_offset, self.queue_bytes) {
            Some(Place::Queue(at))
        } else {
            inside(bar0::CONTROL, bar0::CONTROL_BYTES).map(Place::Control)
        }
    }

    pub fn is_idle(&self) -> bool {
        self.data.is_idle() && self.queue.is_idle() && self.control.is_idle()
    }

    pub fn drive(&mut self, model: &mut Model) {
        let answered = self.data.answered;
        self.data.drive(model, 0);
        self.queue.drive(model, answered);
        self.control.drive(model);
        self.doorbell.drive(model);
    }

    /// Sees what was accepted and answers the fabric; true where something moved.
    pub fn sample(
        &mut self,
        model: &Model,
        cycle: u64,
        now: Time,
        fabric: &mut Fabric,
    ) -> Result<bool> {
        let mut answer = |(ticket, result)| fabric.complete(now, ticket, result);
        let mut moved = self.data.sample(model, cycle, &mut answer)?;
        moved |= self.queue.sample(model, cycle, &mut answer)?;
        moved |= self.control.sample(model, cycle, &mut answer)?;
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
        let mut answer = |(ticket, result)| fabric.complete(now, ticket, result);
        self.data.reset(model, &mut answer);
        self.queue.reset(model, &mut answer);
        self.control.reset(model, &mut answer);
        self.doorbell.reset(model);
    }

    /// What is being waited for, for the message of the watchdog.
    pub fn waiting(&self, model: &Model) -> Vec<String> {
        let parts = [
            self.data.waiting(model),
            self.queue.waiting(model),
            self.control.waiting(),
        ];
        parts.into_iter().flatten().collect()
    }
}

enum Place {
    Data(u64),
    Queue(u64),
    Control(u64),
}
