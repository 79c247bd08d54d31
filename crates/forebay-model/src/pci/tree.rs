// SPDX-License-Identifier: Apache-2.0
//! A root port and all functions below it: which of them a request reaches.
//!
//! The tree owns bridges alone. Functions are the caller's, in a slice, and endpoints name them by their
//! index in it. Requests go by bus numbers and windows, exactly as far as software has set these.

use forebay_spec::pci::{PortType, VENDOR_RETRY, ecam, offset};
use std::ops::Range;

use super::{Bridge, Function};

/// Why a request got no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// Nothing takes it (Unsupported Request, 2.3.1).
    #[error("unsupported request")]
    Unsupported,
    /// The function is not ready yet (Configuration Request Retry, 2.3.1).
    #[error("configuration retry")]
    Retry,
    /// No bus below the root port has this number: no request was sent.
    #[error("no such bus")]
    NoBus,
    /// The link of the root port is down: nothing was sent, or nothing will ever answer.
    #[error("the link is down")]
    LinkDown,
}

impl AccessError {
    /// What software reads from configuration space at an ECAM address (2.3.2).
    pub const fn dword(self, address: u32) -> u32 {
        match self {
            Self::Retry if dword_offset(address) == offset::VENDOR_ID => {
                0xffff_0000 | VENDOR_RETRY as u32
            }
            _ => u32::MAX,
        }
    }
}

/// A function of a device.
#[derive(Clone, Copy, Debug)]
pub struct Endpoint {
    /// Its number in the device, 0 to 7.
    pub number: u8,
    /// Its index in the caller's functions. Where there is none, nothing answers.
    pub index: usize,
    /// Configuration requests from now on that it answers with Configuration Retry.
    pub retries: u64,
    /// Accesses from now on that it answers; all later ones read as ones. `None`: it answers all.
    pub answers_left: Option<u64>,
}

impl Endpoint {
    /// A function without faults.
    pub const fn new(number: u8, index: usize) -> Self {
        Self {
            number,
            index,
            retries: 0,
            answers_left: None,
        }
    }

    fn is_silent(&self) -> bool {
        self.answers_left == Some(0)
    }

    /// Its function's index, if it answers this access.
    fn answer(&mut self) -> Result<usize, AccessError> {
        match &mut self.answers_left {
            Some(0) => return Err(AccessError::Unsupported),
            Some(left) => *left -= 1,
            None => {}
        }
        Ok(self.index)
    }

    /// The same for a configuration request.
    fn configured(&mut self) -> Result<usize, AccessError> {
        if self.retries > 0 && !self.is_silent() {
            self.retries -= 1;
            return Err(AccessError::Retry);
        }
        self.answer()
    }

    /// Bus addresses at which its function answers.
    fn memory<F: Function>(&self, functions: &[F]) -> Vec<Range<u64>> {
        match functions.get(self.index) {
            Some(function) if !self.is_silent() => function.memory(),
            _ => Vec::new(),
        }
    }
}

/// What is at the other end of a link.
#[derive(Clone, Debug)]
pub enum Below {
    /// Nothing: the link is down.
    Nothing,
    /// A device with these functions.
    Device(Vec<Endpoint>),
    /// A switch.
    Switch(Box<Switch>),
}

impl Below {
    /// A device with one function, by its index.
    pub fn function(index: usize) -> Self {
        Self::Device(vec![Endpoint::new(0, index)])
    }

    /// A switch whose downstream ports have these device numbers, 0 to 31, and lead to these.
    pub fn switch(ports: impl IntoIterator<Item = (u8, Below)>) -> Self {
        let port = |(device, below)| (device, Port::new(PortType::DownstreamPort, below));
        Self::Switch(Box::new(Switch {
            upstream: Bridge::new(PortType::UpstreamPort),
            ports: ports.into_iter().map(port).collect(),
        }))
    }
}

/// A switch: its upstream port, a bus inside, and downstream ports with their device numbers on it.
#[derive(Clone, Debug)]
pub struct Switch {
    /// The upstream port.
    pub upstream: Bridge,
    /// The downstream ports.
    pub ports: Vec<(u8, Port)>,
}

/// A root port or a downstream port, and what its link leads to.
#[derive(Clone, Debug)]
pub struct Port {
    /// The port's bridge. It tells whether the link is up.
    pub bridge: Bridge,
    /// What the link leads to, to be changed while it is down.
    pub below: Below,
    /// Accesses over the link so far.
    pub accesses: u64,
    /// Accesses from now on that are answered before the link goes down; 0: it goes down in the next
    /// one. `None`: it stays up.
    pub answers_left: Option<u64>,
}

impl Port {
    /// A port of the model's own make. Its link is up if it leads to something.
    pub fn new(port_type: PortType, below: Below) -> Self {
        Self::with_bridge(Bridge::new(port_type), below)
    }

    /// The same with another bridge.
    pub fn with_bridge(bridge: Bridge, below: Below) -> Self {
        let mut port = Self {
            bridge,
            below,
            accesses: 0,
            answers_left: None,
        };
        port.train();
        port
    }

    /// The link comes up, if there is something at its other end.
    fn train(&mut self) {
        self.bridge
            .set_link_up(!matches!(self.below, Below::Nothing));
    }

    /// An access goes over the link.
    fn pass(&mut self) -> Result<(), AccessError> {
        if !self.bridge.link_up() {
            return Err(AccessError::LinkDown);
        }
        self.accesses += 1;
        if let Some(left) = self.answers_left {
            let later = left.saturating_sub(1);
            self.answers_left = (later > 0).then_some(later);
            self.bridge.set_link_up(later > 0);
            if left == 0 {
                return Err(AccessError::LinkDown);
            }
        }
        Ok(())
    }

    /// The function or bridge that a configuration request to one of the buses below reaches.
    fn find(&mut self, target: Target) -> Result<Found<'_>, AccessError> {
        // Type 0 on the bus of the link, type 1 for those beyond.
        let on_link = target.bus == self.bridge.secondary();
        if on_link && target.device != 0 {
            return Err(AccessError::Unsupported);
        }
        self.pass()?;
        match (&mut self.below, on_link) {
            (Below::Device(endpoints), true) => {
                let mut endpoints = endpoints.iter_mut();
                let endpoint = endpoints.find(|endpoint| endpoint.number == target.function);
                let endpoint = endpoint.ok_or(AccessError::Unsupported)?;
                endpoint.configured().map(Found::Function)
            }
            (Below::Switch(switch), true) => switch.upstream_port(target),
            (Below::Switch(switch), false) => switch.find(target),
            (Below::Device(_), false) | (Below::Nothing, _) => Err(AccessError::Unsupported),
        }
    }

    /// The function that a memory request from above reaches, by its index.
    fn route<F: Function>(&mut self, address: u64, functions: &[F]) -> Result<usize, AccessError> {
        if !self.bridge.forwards(address) {
            return Err(AccessError::Unsupported);
        }
        self.pass()?;
        match &mut self.below {
            Below::Nothing => Err(AccessError::Unsupported),
            Below::Device(endpoints) => {
                let at = |range: &Range<u64>| range.contains(&address);
                let mut endpoints = endpoints.iter_mut();
                let endpoint = endpoints.find(|endpoint| endpoint.memory(functions).iter().any(at));
                endpoint.ok_or(AccessError::Unsupported)?.answer()
            }
            Below::Switch(switch) => switch.route(address, functions),
        }
    }

    /// Adds the bus addresses within `windows` at which functions below answer.
    fn memory<F: Function>(
        &self,
        windows: &[Range<u64>],
        functions: &[F],
        found: &mut Vec<(Range<u64>, usize)>,
    ) {
        if !self.bridge.link_up() {
            return;
        }
        let windows = common(windows, self.bridge.windows());
        match &self.below {
            Below::Nothing => {}
            Below::Device(endpoints) => {
                for endpoint in endpoints {
                    let ranges = common(&windows, endpoint.memory(functions));
                    found.extend(ranges.into_iter().map(|range| (range, endpoint.index)));
                }
            }
            Below::Switch(switch) => {
                let windows = common(&windows, switch.upstream.windows());
                for (_, port) in &switch.ports {
                    port.memory(&windows, functions, found);
                }
            }
        }
    }

    fn upstream(&self, index: usize) -> bool {
        self.bridge.bus_master()
            && self.bridge.link_up()
            && match &self.below {
                Below::Nothing => false,
                Below::Device(endpoints) => {
                    endpoints.iter().any(|endpoint| endpoint.index == index)
                }
                Below::Switch(switch) => {
                    let mut ports = switch.ports.iter();
                    switch.upstream.bus_master() && ports.any(|(_, port)| port.upstream(index))
                }
            }
    }

    fn endpoint_mut(&mut self, index: usize) -> Option<&mut Endpoint> {
        match &mut self.below {
            Below::Nothing => None,
            Below::Device(endpoints) => endpoints.iter_mut().find(|found| found.index == index),
            Below::Switch(switch) => {
                let mut ports = switch.ports.iter_mut();
                ports.find_map(|(_, port)| port.endpoint_mut(index))
            }
        }
    }

    /// Resets what is below the link. Links below come up anew.
    fn reset_below<F: Function>(&mut self, functions: &mut [F]) {
        match &mut self.below {
            Below::Nothing => {}
            Below::Device(endpoints) => {
                for endpoint in endpoints {
                    if let Some(function) = functions.get_mut(endpoint.index) {
                        function.reset();
                    }
                }
            }
            Below::Switch(switch) => {
                switch.upstream.reset();
                for (_, port) in &mut switch.ports {
                    port.bridge.reset();
                    port.train();
                    port.reset_below(functions);
                }
            }
        }
    }
}

impl Switch {
    /// A request to the link above.
    fn upstream_port(&mut self, target: Target) -> Result<Found<'_>, AccessError> {
        match target.function {
            0 => Ok(Found::Bridge(&mut self.upstream)),
            _ => Err(AccessError::Unsupported),
        }
    }

    /// A request to the bus inside, or to one beyond.
    fn find(&mut self, target: Target) -> Result<Found<'_>, AccessError> {
        if !self.upstream.buses().contains(&target.bus) {
            return Err(AccessError::Unsupported);
        }
        let inside = target.bus == self.upstream.secondary();
        for (device, port) in &mut self.ports {
            if inside {
                if *device == target.device && target.function == 0 {
                    return Ok(Found::Bridge(&mut port.bridge));
                }
            } else if port.bridge.buses().contains(&target.bus) {
                return port.find(target).map_err(below_switch);
            }
        }
        Err(AccessError::Unsupported)
    }

    fn route<F: Function>(&mut self, address: u64, functions: &[F]) -> Result<usize, AccessError> {
        if !self.upstream.forwards(address) {
            return Err(AccessError::Unsupported);
        }
        let ports = self.ports.iter_mut();
        let mut answers = ports.map(|(_, port)| port.route(address, functions));
        answers
            .find(Result::is_ok)
            .unwrap_or(Err(AccessError::Unsupported))
    }
}

/// A switch answers for a link that is down.
const fn below_switch(error: AccessError) -> AccessError {
    match error {
        AccessError::LinkDown => AccessError::Unsupported,
        error => error,
    }
}

/// What two lists of ranges have in common.
fn common(ours: &[Range<u64>], theirs: impl IntoIterator<Item = Range<u64>>) -> Vec<Range<u64>> {
    let theirs = theirs.into_iter();
    let pairs = theirs.flat_map(|their| {
        let both = move |our: &Range<u64>| our.start.max(their.start)..our.end.min(their.end);
        ours.iter().map(both)
    });
    pairs.filter(|range| !range.is_empty()).collect()
}

/// What a configuration request asks for.
#[derive(Clone, Copy)]
struct Target {
    bus: u8,
    device: u8,
    function: u8,
}

/// What it finds.
enum Found<'a> {
    Bridge(&'a mut Bridge),
    Function(usize),
}

/// A root port on bus 0, and all below it.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The root port, device 0 of bus 0.
    pub port: Port,
}

impl Tree {
    /// What this root port leads to.
    pub const fn new(port: Port) -> Self {
        Self { port }
    }

    /// A root port of the model's own make that leads to this.
    pub fn below(below: Below) -> Self {
        Self::new(Port::new(PortType::RootPort, below))
    }

    /// The root port's link is up.
    pub fn link_up(&self) -> bool {
        self.port.bridge.link_up()
    }

    /// The root port's link goes down, as with PERST#, or comes up, if it leads to something. What is
    /// below has been reset when it comes up.
    pub fn set_link<F: Function>(&mut self, up: bool, functions: &mut [F]) {
        match (self.link_up(), up) {
            (true, false) => self.port.bridge.set_link_up(false),
            (false, true) => {
                self.port.reset_below(functions);
                self.port.train();
            }
            _ => {}
        }
    }

    /// Reads a dword of configuration space at an ECAM address.
    ///
    /// # Errors
    /// Where nothing answers. What software reads then is [`AccessError::dword`].
    pub fn config_read<F: Function>(
        &mut self,
        address: u32,
        functions: &[F],
    ) -> Result<u32, AccessError> {
        let at = dword_offset(address);
        match self.find(address)? {
            Found::Bridge(bridge) => Ok(bridge.read(at)),
            Found::Function(index) => {
                let function = functions.get(index);
                let value = function.map(|function| function.config_read(at));
                value.ok_or(AccessError::Unsupported)
            }
        }
    }

    /// Writes a dword of configuration space at an ECAM address.
    ///
    /// # Errors
    /// Where nothing answers. Nothing was written.
    pub fn config_write<F: Function>(
        &mut self,
        address: u32,
        value: u32,
        functions: &mut [F],
    ) -> Result<(), AccessError> {
        let at = dword_offset(address);
        match self.find(address)? {
            Found::Bridge(bridge) => {
                bridge.write(at, value);
                Ok(())
            }
            Found::Function(index) => {
                let function = functions.get_mut(index);
                let done = function.map(|function| function.config_write(at, value));
                done.ok_or(AccessError::Unsupported)
            }
        }
    }

    /// The function that a memory request from above reaches, by its index; one access.
    ///
    /// # Errors
    /// Where none answers. Reads yield ones then, writes are lost.
    pub fn route<F: Function>(
        &mut self,
        address: u64,
        functions: &[F],
    ) -> Result<usize, AccessError> {
        self.port.route(address, functions)
    }

    /// Bus addresses that memory requests from above reach, and the functions there, by their index.
    /// Where two answer at an address, the first one does.
    pub fn memory<F: Function>(&self, functions: &[F]) -> Vec<(Range<u64>, usize)> {
        let mut found = Vec::new();
        let everywhere = 0..u64::MAX;
        self.port
            .memory(std::slice::from_ref(&everywhere), functions, &mut found);
        found
    }

    /// Requests of a function, by its index, reach the root complex: all bridges above it are bus
    /// masters, and their links are up. Whether the function may send any is in its own registers.
    pub fn upstream(&self, index: usize) -> bool {
        self.port.upstream(index)
    }

    /// Where a function, by its index, is in the tree: for its faults.
    pub fn endpoint_mut(&mut self, index: usize) -> Option<&mut Endpoint> {
        self.port.endpoint_mut(index)
    }

    fn find(&mut self, address: u32) -> Result<Found<'_>, AccessError> {
        if address >= ecam::BYTES {
            return Err(AccessError::NoBus);
        }
        let target = Target {
            bus: (address >> ecam::BUS_SHIFT) as u8,
            device: (address >> ecam::DEVICE_SHIFT) as u8 & 0x1f,
            function: (address >> ecam::FUNCTION_SHIFT) as u8 & 0x7,
        };
        match target.bus {
            0 if target.device == 0 && target.function == 0 => {
                Ok(Found::Bridge(&mut self.port.bridge))
            }
            0 => Err(AccessError::Unsupported),
            bus if self.port.bridge.buses().contains(&bus) => self.port.find(target),
            _ => Err(AccessError::NoBus),
        }
    }
}

/// The offset in a function's configuration space.
const fn dword_offset(address: u32) -> u16 {
    (address & 0xffc) as u16
}
