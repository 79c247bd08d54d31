// SPDX-License-Identifier: Apache-2.0
//! The FPGA card alone, in the slot of a machine that is not simulated here: a virtual one, say.

use std::ops::Range;
use std::os::fd::BorrowedFd;

use forebay_model::net::Network;
use forebay_model::pci::{ConfigSpace, Identity, MsixTable};
use forebay_model::{
    Arrival, Completion, Fabric, FabricError, MICROSECOND, Node, Request, Ticket, Time,
};
use forebay_rtl::Progress;
use forebay_spec::pci;
use forebay_spec::streamer::{self, bar0};

use crate::config::Config;
use crate::core::{Core, RESET_CYCLES, STORE};
use crate::error::{Error, Result};
use crate::stats::Outcome;
use crate::target::{Behind, Target};
use crate::transaction::{Read, Write};

/// Where BAR 0 stands in the card's own fabric: above all addresses of machines.
const BAR: u64 = 1 << 63;

/// The staging memory of the host port in the RTL, by the end of its name.
const STAGING: &str = ".u_staging.store";
/// From a write that lets frames in to the first of them: the write has taken effect.
const SETTLED: Time = MICROSECOND;

/// Something that the card sends.
#[derive(Debug, PartialEq, Eq)]
pub enum Sent {
    /// A posted write: the streamer rings a doorbell.
    Write {
        /// Bus address.
        address: u64,
        /// The bytes.
        data: Box<[u8]>,
    },
    /// A read of host memory, where the payload is there: [`Card::complete`] is to bear its ticket.
    Read {
        /// Bus address.
        address: u64,
        /// Bytes.
        len: u32,
        /// Names it.
        ticket: Ticket,
    },
    /// The answer to [`Card::read`].
    Answer(Completion),
    /// The only vector of MSI-X.
    Interrupt,
}

/// The streamer's RTL and the PCIe function around it, without drive and host.
///
/// The caller is the rest of the machine: it hands in accesses to BAR 0, lets the card's clock run
/// by [`Card::step`], and takes what the card sends.
pub struct Card {
    core: Core,
    fabric: Fabric,
    config: ConfigSpace,
    now: Time,
    /// The link partner was told to send.
    sending: bool,
    /// Since when frames are taken.
    listening_since: Option<Time>,
    /// Interrupts of the core that were passed on, or had nowhere to go.
    passed_on: u64,
}

impl Card {
    /// Builds the RTL (or finds it in the cache), loads it and resets it. Of the configuration,
    /// drive, medium, faults, driver and host memory are not used.
    ///
    /// # Errors
    /// When the RTL cannot be built or has other pins.
    pub fn new(mut config: Config, progress: &mut (dyn FnMut(Progress) + Send)) -> Result<Self> {
        let mut fabric = Fabric::new(&config.profile.fabric, 0);
        let core = Core::new(&mut config, progress)?;
        // The host is whatever is not the card.
        fabric.map(Node::Host, 0..BAR);
        fabric.map(Node::Fpga, BAR..BAR + core.bridge.apertures.bytes);
        let vector = MsixTable {
            vectors: 1,
            table: bar0::MSIX_TABLE as u32,
            pending: bar0::MSIX_PENDING as u32,
        };
        let mut card = Self {
            config: config_space(core.bridge.apertures.bytes, Some(vector)),
            core,
            fabric,
            now: 0,
            sending: false,
            listening_since: None,
            passed_on: 0,
        };
        card.reset()?;
        Ok(card)
    }

    /// Bytes of BAR 0, a power of two.
    #[must_use]
    pub const fn bar_bytes(&self) -> u64 {
        self.core.bridge.apertures.bytes
    }

    /// Reads the dword at an offset of configuration space.
    #[must_use]
    pub fn config_read(&self, offset: u16) -> u32 {
        self.config.read(offset)
    }

    /// Writes the dword at an offset of configuration space.
    pub fn config_write(&mut self, offset: u16, value: u32) {
        self.config.write(offset, value);
    }

    /// Reads BAR 0; a [`Sent::Answer`] will bear the tag.
    pub fn read(&mut self, offset: u64, len: u32, tag: u32) {
        let addr = BAR + offset;
        let request = Request::Read { addr, len, tag };
        self.fabric.request(self.now, Node::Host, request);
    }

    /// Writes BAR 0. Writes are posted; no later write or read passes them.
    pub fn write(&mut self, offset: u64, data: &[u8]) {
        let (addr, data) = (BAR + offset, data.into());
        let request = Request::Write { addr, data };
        self.fabric.request(self.now, Node::Host, request);
    }

    /// One clock cycle; true where something moved.
    ///
    /// # Errors
    /// When the RTL misbehaves.
    #[inline]
    pub fn step(&mut self) -> Result<bool> {
        self.now += self.core.period;
        if self.core.bridge.listening && !self.sending {
            let since = *self.listening_since.get_or_insert(self.now);
            if self.now >= since + SETTLED {
                self.begin_network();
            }
        }
        let moved = self.core.step(self.now, &mut self.fabric)?;
        let due = self.fabric.next_event().is_some_and(|at| at <= self.now);
        if due {
            self.core.bridge.drain(self.now, &mut self.fabric);
        }
        Ok(moved || self.core.bridge.polled || due)
    }

    /// The next thing that the card sends.
    pub fn take_sent(&mut self) -> Option<Sent> {
        loop {
            let Some(arrival) = self.fabric.poll(self.now, Node::Host) else {
                return self.take_interrupt();
            };
            match arrival {
                Arrival::Completion(completion) => return Some(Sent::Answer(completion)),
                Arrival::Request {
                    request:
                        Request::Write {
                            addr: address,
                            data,
                        },
                    ..
                } if self.config.bus_master() => return Some(Sent::Write { address, data }),
                Arrival::Request {
                    request:
                        Request::Read {
                            addr: address, len, ..
                        },
                    ticket,
                    ..
                } => {
                    if self.config.bus_master() {
                        return Some(Sent::Read {
                            address,
                            len,
                            ticket,
                        });
                    }
                    self.complete(ticket, None);
                }
                // It sends nothing while it is no bus master.
                Arrival::Request { .. } => {}
            }
        }
    }

    /// A message behind what was sent before it; none where MSI-X is off.
    fn take_interrupt(&mut self) -> Option<Sent> {
        let before = std::mem::replace(&mut self.passed_on, self.core.interrupts);
        let sends = self.config.msix_on() && self.config.bus_master();
        (self.core.interrupts != before && sends).then_some(Sent::Interrupt)
    }

    /// Answers a read of the card; none where there is no such memory.
    pub fn complete(&mut self, ticket: Ticket, data: Option<Box<[u8]>>) {
        let result = data.ok_or(FabricError::Refused);
        self.fabric.complete(self.now, ticket, result);
    }

    /// Lets the card's memories lie in a file that has the layout of BAR 0 and its size: who maps it
    /// reaches them without a request to the card. Returns their places in BAR 0, none where there
    /// is no memory that can be shared. On-board DRAM then has its buffers where the driver places
    /// them by itself: writes at 0, reads behind them.
    ///
    /// # Errors
    /// When the file cannot be written or mapped.
    pub fn share_memories(&mut self, file: BorrowedFd<'_>) -> Result<Vec<Range<u64>>> {
        let mut places = Vec::new();
        // They are plain memory in BAR 0.
        let payload = self.core.bridge.apertures.payload.start;
        let memories = [(STORE, payload), (STAGING, bar0::HOST)];
        let model = &mut self.core.dut.model;
        for memory in model.memories() {
            let place = memories.iter().find(|(end, _)| memory.name.ends_with(end));
            if let Some((_, start)) = place {
                model.share(&memory.name, file, *start)?;
                places.push(*start..*start + memory.bytes);
            }
        }
        if let Some(Target {
            behind: Behind::Board(board),
            ..
        }) = &mut self.core.memory
        {
            let file = file.try_clone_to_owned().map_err(Error::Memory)?;
            board.share(file.into(), bar0::DATA_DRAM);
            places.push(bar0::DATA_DRAM..bar0::DATA_DRAM + board.bytes());
            self.core.bridge.mapped = true;
        }
        Ok(places)
    }

    /// The card needs no clock: the streamer is disabled, no port is busy, nothing is under way.
    #[must_use]
    pub fn at_rest(&self) -> bool {
        self.core.at_rest() && self.fabric.next_event().is_none()
    }

    /// The streamer was last told to run.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.core.bridge.enabled
    }

    /// What is beyond the MAC's pins, where there is something. The link partner begins to send with the
    /// first recording, so that frames are not lost before the host is ready, and then does not stop for
    /// anything that the host does.
    #[must_use]
    pub fn network(&self) -> Option<&Network> {
        self.core.mac.as_ref()?.network.as_ref()
    }

    /// Frames are still to come.
    #[must_use]
    pub fn is_receiving(&self) -> bool {
        self.sending && self.network().is_some_and(|network| !network.is_at_end())
    }

    fn begin_network(&mut self) {
        self.sending = true;
        let mac = self.core.mac.as_mut();
        if let Some(network) = mac.and_then(|mac| mac.network.as_mut()) {
            network.begin(self.now);
        }
    }

    /// Reset of the function and of the RTL: transactions end as aborted, nothing is under way.
    ///
    /// # Errors
    /// When the RTL misbehaves.
    pub fn reset(&mut self) -> Result<()> {
        self.config.reset();
        self.listening_since = None;
        self.core
            .reset(&mut self.now, &mut self.fabric, RESET_CYCLES)?;
        self.core.bridge.base = BAR;
        // What was on its way is gone.
        while let Some(time) = self.fabric.next_event() {
            self.now = self.now.max(time);
            while self.fabric.poll(self.now, Node::Host).is_some() {}
            while self.fabric.poll(self.now, Node::Fpga).is_some() {}
        }
        Ok(())
    }

    /// Queues a write for the user's stream; returns its number.
    pub fn submit_write(&mut self, write: Write) -> u64 {
        self.core.submit_write(write)
    }

    /// Queues a read for the user's stream; returns its number.
    pub fn submit_read(&mut self, read: Read) -> u64 {
        self.core.submit_read(read)
    }

    /// The next transaction of the user's streams that has ended.
    pub fn next_outcome(&mut self) -> Option<Outcome> {
        self.core.log.outcomes.pop_front()
    }

    /// What is waited for, in words.
    #[must_use]
    pub fn waiting(&self) -> String {
        self.core.waiting()
    }

    /// Cycles since the start.
    #[must_use]
    pub fn cycle(&self) -> u64 {
        self.core.cycle
    }
}

/// The card's configuration space, as it stands after power-on.
pub(crate) fn config_space(bar: u64, vectors: Option<MsixTable>) -> ConfigSpace {
    let identity = Identity {
        vendor: streamer::PCI_VENDOR,
        device: streamer::PCI_DEVICE,
        class: pci::CLASS_ACCELERATOR,
        revision: 1,
    };
    ConfigSpace::new(identity, bar, vectors)
}
