// SPDX-License-Identifier: Apache-2.0
//! What is below a root port: functions, the fabric between them and the port, time.

use std::ops::Range;

use forebay_model::pci::{AccessError, Below, ConfigSpace, Function, Tree};
use forebay_model::{
    Arrival, Completion, Fabric, FabricError, FabricProfile, MILLISECOND, Medium, Node, Request,
    Ssd, Ticket, Time,
};
use forebay_spec::streamer::bar0;

use super::INBOUND;
use super::downstream::{Downstream, Reply};
use crate::config::Drive;
use crate::error::Result;

/// What stands below a root port.
#[derive(Debug)]
pub struct RootConfig {
    /// The links.
    pub fabric: FabricProfile,
    /// Drives: functions 0 and on of [`RootConfig::below`].
    pub drives: Vec<Drive>,
    /// Functions that are no drives, numbered behind them.
    pub others: Vec<ConfigSpace>,
    /// Where all of them are.
    pub below: Below,
    /// Time from PERST# to link-up; none: it never comes up.
    pub link_after: Option<Time>,
    /// Decides everything that is random.
    pub seed: u64,
}

impl RootConfig {
    /// These drives: one on the port, or several behind a switch.
    #[must_use]
    pub fn new(fabric: FabricProfile, drives: Vec<Drive>) -> Self {
        let ports = (0..drives.len()).map(|drive| (drive as u8, Below::function(drive)));
        let below = match drives.len() {
            0 => Below::Nothing,
            1 => Below::function(0),
            _ => Below::switch(ports),
        };
        Self {
            fabric,
            drives,
            others: Vec::new(),
            below,
            link_after: Some(20 * MILLISECOND),
            seed: 1,
        }
    }
}

/// A function below the port.
#[derive(Debug)]
enum Device {
    Drive(Box<Ssd>),
    Other(Box<ConfigSpace>),
}

impl Function for Device {
    fn config_read(&self, offset: u16) -> u32 {
        match self {
            Self::Drive(ssd) => ssd.config_read(offset),
            Self::Other(space) => space.read(offset),
        }
    }

    fn config_write(&mut self, offset: u16, value: u32) {
        match self {
            Self::Drive(ssd) => ssd.config_write(offset, value),
            Self::Other(space) => space.write(offset, value),
        }
    }

    fn memory(&self) -> Vec<Range<u64>> {
        match self {
            Self::Drive(ssd) => ssd.bar_range().into_iter().collect(),
            Self::Other(space) => space.memory(),
        }
    }

    fn reset(&mut self) {
        match self {
            Self::Drive(ssd) => ssd.function_reset(),
            Self::Other(space) => space.reset(),
        }
    }
}

/// What is below the port.
#[derive(Debug)]
pub struct Hierarchy {
    tree: Tree,
    devices: Vec<Device>,
    fabric: Fabric,
    now: Time,
    link_after: Option<Time>,
    /// When the link comes up.
    link_at: Option<Time>,
    tag: u32,
}

impl Hierarchy {
    /// As it is when the port has got power, with PERST# asserted.
    ///
    /// # Errors
    /// Where a profile or a medium cannot be used.
    pub fn new(config: RootConfig) -> Result<Self> {
        let mut devices = Vec::new();
        for (number, drive) in (0..).zip(config.drives) {
            let medium = drive.medium;
            let medium = medium.unwrap_or_else(|| Medium::in_memory(drive.profile.bytes()));
            let seed = config.seed.wrapping_add(u64::from(number));
            let mut ssd = Ssd::new(&drive.profile, medium, seed)?.at(Node::Ssd(number));
            ssd.set_faults(drive.faults);
            devices.push(Device::Drive(Box::new(ssd)));
        }
        let mut fabric = Fabric::new(&config.fabric, devices.len() as u8);
        fabric.map(Node::Fpga, INBOUND..INBOUND + bar0::BYTES);
        devices.extend(config.others.into_iter().map(Box::new).map(Device::Other));
        let mut hierarchy = Self {
            tree: Tree::below(config.below),
            devices,
            fabric,
            now: 0,
            link_after: config.link_after,
            link_at: None,
            tag: 0,
        };
        hierarchy.perst(true);
        Ok(hierarchy)
    }

    /// Simulated time in picoseconds.
    #[must_use]
    pub const fn now(&self) -> Time {
        self.now
    }

    /// The tree, for its faults.
    pub const fn tree_mut(&mut self) -> &mut Tree {
        &mut self.tree
    }

    /// A drive.
    #[must_use]
    pub fn drive(&self, number: usize) -> Option<&Ssd> {
        match self.devices.get(number)? {
            Device::Drive(ssd) => Some(ssd),
            Device::Other(_) => None,
        }
    }

    /// Drives whose CSTS.RDY is set.
    #[must_use]
    pub fn ready(&self) -> usize {
        let ready = self.devices.iter().filter(|device| match device {
            Device::Drive(ssd) => ssd.is_ready(),
            Device::Other(_) => false,
        });
        ready.count()
    }

    pub(super) fn link_up(&self) -> bool {
        self.tree.link_up()
    }

    /// PERST# is asserted, or released: then the link comes up in time.
    pub(super) fn perst(&mut self, asserted: bool) {
        if asserted {
            self.tree.set_link(false, &mut self.devices);
            self.link_at = None;
            self.place();
        } else {
            self.link_at = self.link_after.map(|after| self.now + after);
        }
    }

    /// Reads a dword of configuration space; none: the port's bridge answers in error.
    pub(super) fn config_read(&mut self, ecam: u32) -> Option<u32> {
        match self.tree.config_read(ecam, &self.devices) {
            Ok(value) => Some(value),
            Err(AccessError::NoBus | AccessError::LinkDown) => None,
            Err(error) => Some(error.dword(ecam)),
        }
    }

    /// Writes a dword of configuration space; false: the port's bridge answers in error.
    pub(super) fn config_write(&mut self, ecam: u32, value: u32) -> bool {
        let done = self.tree.config_write(ecam, value, &mut self.devices);
        self.place();
        !matches!(done, Err(AccessError::NoBus | AccessError::LinkDown))
    }

    /// Tells the fabric which drive answers at which address.
    fn place(&mut self) {
        for device in &self.devices {
            if let Device::Drive(ssd) = device {
                self.fabric.unmap(ssd.node());
            }
        }
        for (range, index) in self.tree.memory(&self.devices) {
            if let Some(Device::Drive(ssd)) = self.devices.get(index) {
                self.fabric.map(ssd.node(), range);
            }
        }
    }

    /// Sends a read of a dword; the answer bears the tag. None: nothing is there.
    pub(super) fn memory_read(&mut self, addr: u64) -> std::result::Result<u32, AccessError> {
        self.tree.route(addr, &self.devices)?;
        self.tag = self.tag.wrapping_add(1);
        let tag = self.tag;
        let request = Request::Read { addr, len: 4, tag };
        self.fabric.request(self.now, Node::Fpga, request);
        Ok(tag)
    }

    /// Sends a write of a dword.
    pub(super) fn memory_write(
        &mut self,
        addr: u64,
        value: u32,
    ) -> std::result::Result<(), AccessError> {
        self.tree.route(addr, &self.devices)?;
        let data = value.to_le_bytes().into();
        self.fabric
            .request(self.now, Node::Fpga, Request::Write { addr, data });
        Ok(())
    }

    /// When something next happens by itself.
    pub(super) fn next_event(&self) -> Option<Time> {
        let drives = self.devices.iter().filter_map(|device| match device {
            Device::Drive(ssd) => ssd.next_event(),
            Device::Other(_) => None,
        });
        drives
            .chain(self.fabric.next_event())
            .chain(self.link_at)
            .min()
    }

    /// Lets time pass to `now`, and does what is due then.
    pub(super) fn advance(&mut self, now: Time) {
        self.now = self.now.max(now);
        if self.link_at.take_if(|at| *at <= self.now).is_some() {
            self.tree.set_link(true, &mut self.devices);
        }
        for device in &mut self.devices {
            if let Device::Drive(ssd) = device {
                ssd.step(self.now, &mut self.fabric);
            }
        }
    }

    /// The next thing that has arrived at the port. What a drive sends while bridges above it do not
    /// forward goes nowhere.
    pub(super) fn poll(&mut self) -> Option<Arrival> {
        loop {
            let arrival = self.fabric.poll(self.now, Node::Fpga)?;
            match arrival {
                Arrival::Request {
                    from: Node::Ssd(number),
                    ticket,
                    request,
                } if !self.tree.upstream(number.into()) => {
                    if let Request::Read { .. } = request {
                        self.answer(ticket, None);
                    }
                }
                arrival => return Some(arrival),
            }
        }
    }

    /// Answers a read that has arrived; none: refused.
    pub(super) fn answer(&mut self, ticket: Ticket, data: Option<Box<[u8]>>) {
        let result = data.ok_or(FabricError::Refused);
        self.fabric.complete(self.now, ticket, result);
    }
}

impl Downstream for Hierarchy {
    fn now(&self) -> Time {
        self.now
    }

    fn advance(&mut self, now: Time) -> Result<()> {
        self.advance(now);
        Ok(())
    }

    fn next_event(&self) -> Option<Time> {
        self.next_event()
    }

    fn link_up(&self) -> bool {
        self.link_up()
    }

    fn perst(&mut self, asserted: bool) {
        self.perst(asserted);
    }

    fn config_read(&mut self, ecam: u32) -> Reply {
        Reply::Now(self.config_read(ecam))
    }

    fn config_write(&mut self, ecam: u32, value: u32) -> Reply {
        Reply::Now(self.config_write(ecam, value).then_some(0))
    }

    fn memory_read(&mut self, address: u64) -> Reply {
        match self.memory_read(address) {
            Ok(tag) => Reply::Later(tag),
            Err(AccessError::LinkDown) => Reply::Now(None),
            // Nothing is there.
            Err(_) => Reply::Now(Some(u32::MAX)),
        }
    }

    fn memory_write(&mut self, address: u64, value: u32) -> Reply {
        match self.memory_write(address, value) {
            Err(AccessError::LinkDown) => Reply::Now(None),
            // Where nothing is, writes are lost.
            Ok(()) | Err(_) => Reply::Now(Some(0)),
        }
    }

    fn post(&mut self, address: u64, value: u32) -> bool {
        self.memory_write(address, value).is_ok()
    }

    fn poll(&mut self) -> Option<Arrival> {
        self.poll()
    }

    fn answer(&mut self, ticket: Ticket, data: Option<Box<[u8]>>) {
        self.answer(ticket, data);
    }

    fn ready(&self) -> usize {
        self.ready()
    }
}

/// The dword of a completion; none: an error.
pub(super) fn dword(completion: &Completion) -> Option<u32> {
    let data = completion.result.as_ref().ok()?;
    Some(u32::from_le_bytes(data.get(..4)?.try_into().ok()?))
}
