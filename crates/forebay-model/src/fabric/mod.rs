// SPDX-License-Identifier: Apache-2.0
//! The PCIe fabric: host, FPGA card and SSDs around one switch.
//!
//! Each node has a link to the switch with a lane pair each way. A request is cut at the payload
//! and read-request limits, takes its turn on the sender's link, crosses the switch, takes its turn
//! on the receiver's link, and arrives. Every queue on the way is first in, first out, so the
//! ordering rules of PCIe hold: nothing overtakes an earlier posted write between the same pair
//! of nodes, in particular not the completion entry that follows its data.
//!
//! Does not model: flow-control credits (receivers take everything), replays, virtual channels.

mod link;
mod port;
mod reads;

use crate::Time;
use crate::profile::FabricProfile;
use port::{Packet, Port, Waiting};
use reads::ReadTable;
use std::ops::Range;

pub use link::{Direction, HopCount};
pub use reads::Ticket;

/// Who sends or receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Node {
    /// Host processor and memory, behind the root complex.
    Host,
    /// The FPGA card with the streamer.
    Fpga,
    /// A drive.
    Ssd(u8),
}

impl Node {
    const fn index(self) -> usize {
        match self {
            Self::Host => 0,
            Self::Fpga => 1,
            Self::Ssd(n) => 2 + n as usize,
        }
    }

    fn from_index(index: usize) -> Self {
        match index {
            0 => Self::Host,
            1 => Self::Fpga,
            n => Self::Ssd((n - 2) as u8),
        }
    }
}

/// A memory request. It must not cross a 4 KiB boundary unless it is to be cut there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// A posted write: nothing comes back.
    Write {
        /// Bus address of the first byte.
        addr: u64,
        /// The bytes.
        data: Box<[u8]>,
    },
    /// A read; the completion bears the same tag.
    Read {
        /// Bus address of the first byte.
        addr: u64,
        /// Bytes.
        len: u32,
        /// The requester's own number for it.
        tag: u32,
    },
}

/// Why a read got no data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum FabricError {
    /// No node answers at this address ("unsupported request").
    #[error("nothing answers at bus address {addr:#x}; check the BARs and the memory map")]
    Unmapped {
        /// The address.
        addr: u64,
    },
    /// The receiver refused ("completer abort").
    #[error("the receiver refused the read")]
    Refused,
}

/// The answer to a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The tag of the read.
    pub tag: u32,
    /// All its bytes, or why there are none.
    pub result: Result<Box<[u8]>, FabricError>,
}

/// What a node finds when it polls.
#[derive(Debug, PartialEq, Eq)]
pub enum Arrival {
    /// A request.
    Request {
        /// Who.
        from: Node,
        /// What: at most the fabric's payload or read-request size.
        request: Request,
        /// For [`Fabric::complete`], where the request is a read.
        ticket: Ticket,
    },
    /// An own read is answered.
    Completion(Completion),
}

/// The fabric. See the [module](self).
#[derive(Debug)]
pub struct Fabric {
    profile: FabricProfile,
    /// Nothing takes any time: packets go straight to where they arrive.
    immediate: bool,
    ports: Vec<Port>,
    routes: Vec<(Range<u64>, u8)>,
    reads: ReadTable,
    /// When the first packet in `answering` or `to_switch` of any port is due.
    next_move: Time,
    hops: Vec<HopCount>,
    unmapped_writes: u64,
    unmapped_reads: u64,
}

impl Fabric {
    /// A fabric with host, FPGA card and this many drives, and an empty memory map.
    pub fn new(profile: &FabricProfile, ssds: u8) -> Self {
        let nodes = 2 + ssds as usize;
        let mut ports: Vec<Port> = Vec::with_capacity(nodes);
        let mut hops = Vec::with_capacity(2 * nodes);
        for index in 0..nodes {
            let link = profile.link(index);
            ports.push(Port::new(link, nodes));
            let node = Node::from_index(index);
            for direction in [Direction::Up, Direction::Down] {
                hops.push(HopCount::new(node, direction, link.bytes_per_second));
            }
        }
        Self {
            immediate: profile.is_immediate(),
            profile: profile.clone(),
            ports,
            routes: Vec::new(),
            reads: ReadTable::default(),
            next_move: Time::MAX,
            hops,
            unmapped_writes: 0,
            unmapped_reads: 0,
        }
    }

    /// Routes an address range to a node. A later range takes precedence where two overlap.
    pub fn map(&mut self, node: Node, range: Range<u64>) {
        if node.index() < self.ports.len() && !range.is_empty() {
            self.routes.insert(0, (range, node.index() as u8));
        }
    }

    /// Takes every range of a node out of the map.
    pub fn unmap(&mut self, node: Node) {
        self.routes
            .retain(|(_, index)| *index as usize != node.index());
    }

    /// Sends a request. It is cut to size, routed by its address, and arrives in time.
    pub fn request(&mut self, now: Time, from: Node, request: Request) {
        let from = from.index();
        if from >= self.ports.len() {
            return;
        }
        match request {
            Request::Write { addr, data } => self.send_write(now, from, addr, data),
            Request::Read { addr, len, tag } => self.send_read(now, from, addr, len, tag),
        }
    }

    /// Answers a read that has arrived. A second answer, or one of the wrong length, is an error
    /// of the caller: the requester then sees [`FabricError::Refused`], or nothing twice.
    pub fn complete(&mut self, now: Time, ticket: Ticket, result: Result<Box<[u8]>, FabricError>) {
        let Some(part) = self.reads.part(&ticket) else {
            return;
        };
        let (to, from) = (part.from, part.target as usize);
        let result = match result {
            Ok(data) if data.len() != part.len as usize => Err(FabricError::Refused),
            result => result,
        };
        let packet = Packet::Completion {
            to,
            part: ticket,
            result,
        };
        if self.immediate {
            self.count(from, to as usize, &packet);
            self.ports[to as usize].arriving.push_back((now, packet));
        } else {
            let ready = now + self.profile.link(from).completer;
            self.next_move = self.next_move.min(ready);
            self.ports[from].answering.push_back((ready, packet));
        }
    }

    /// The next thing that has arrived at a node by now.
    pub fn poll(&mut self, now: Time, at: Node) -> Option<Arrival> {
        if !self.immediate {
            self.advance(now);
        }
        let at = at.index();
        loop {
            let arriving = &mut self.ports.get_mut(at)?.arriving;
            if arriving.front()?.0 > now {
                return None;
            }
            let (time, packet) = arriving.pop_front()?;
            match packet {
                Packet::Write { from, addr, data } => {
                    return Some(Arrival::Request {
                        from: Node::from_index(from as usize),
                        request: Request::Write { addr, data },
                        ticket: Ticket::NONE,
                    });
                }
                Packet::Read {
                    from,
                    addr,
                    len,
                    part,
                } => {
                    let tag = self.reads.tag(&part);
                    return Some(Arrival::Request {
                        from: Node::from_index(from as usize),
                        request: Request::Read { addr, len, tag },
                        ticket: part,
                    });
                }
                Packet::Completion { part, result, .. } => {
                    if let Some(completion) = self.finish_part(time, at, part, result) {
                        return Some(Arrival::Completion(completion));
                    }
                }
            }
        }
    }

    /// When something next arrives or moves; `None` if the fabric is empty.
    pub fn next_event(&self) -> Option<Time> {
        // Asked in every cycle, and so a plain loop.
        let mut next = Time::MAX;
        for port in &self.ports {
            for queue in [&port.answering, &port.to_switch, &port.arriving] {
                if let Some((time, _)) = queue.front() {
                    next = next.min(*time);
                }
            }
        }
        (next < Time::MAX).then_some(next)
    }

    /// Bytes that crossed each link, each way.
    pub fn hops(&self) -> &[HopCount] {
        &self.hops
    }

    /// Writes and reads that went to an unmapped address.
    pub fn unmapped(&self) -> (u64, u64) {
        (self.unmapped_writes, self.unmapped_reads)
    }

    /// Least round trip so far of a read of the greatest size between two nodes, without its wait
    /// for a tag; `None` before the first.
    pub fn round_trip(&self, from: Node, to: Node) -> Option<Time> {
        let time = *self.ports.get(from.index())?.round_trip.get(to.index())?;
        (time != 0).then_some(time)
    }

    /// How long a node's link is taken by what it has been given to send.
    pub fn backlog(&self, now: Time, from: Node) -> Time {
        let port = self.ports.get(from.index());
        port.map_or(0, |port| port.up.backlog(now))
    }

    /// The node that answers at an address.
    pub fn route(&self, addr: u64) -> Option<Node> {
        self.find(addr)
            .map(|index| Node::from_index(index as usize))
    }

    fn find(&self, addr: u64) -> Option<u8> {
        self.routes
            .iter()
            .find(|(range, _)| range.contains(&addr))
            .map(|(_, index)| *index)
    }

    fn send_write(&mut self, now: Time, from: usize, addr: u64, data: Box<[u8]>) {
        let limit = self.profile.max_payload as u64;
        let write = |addr, data| Packet::Write {
            from: from as u8,
            addr,
            data,
        };
        if addr % limit + data.len() as u64 <= limit {
            return self.send(now, from, write(addr, data));
        }
        let mut rest = &data[..];
        let mut addr = addr;
        while !rest.is_empty() {
            let len = (limit - addr % limit).min(rest.len() as u64);
            let (part, tail) = rest.split_at(len as usize);
            self.send(now, from, write(addr, part.into()));
            addr = addr.wrapping_add(len);
            rest = tail;
        }
    }

    fn send_read(&mut self, now: Time, from: usize, addr: u64, len: u32, tag: u32) {
        let limit = self.profile.max_read_request as u64;
        let parts = (addr % limit + len as u64).div_ceil(limit).max(1) as u32;
        let read = self.reads.open(tag, len, parts);
        let mut offset = 0;
        loop {
            let at = addr.wrapping_add(offset as u64);
            let count = (limit - at % limit).min((len - offset) as u64) as u32;
            let part = self.reads.open_part(read, from as u8, offset, count);
            self.ports[from].waiting.push_back(Waiting {
                addr: at,
                len: count,
                part,
            });
            offset += count;
            if offset >= len {
                break;
            }
        }
        self.issue_reads(now, from);
    }

    /// Sends as many waiting parts of reads as there are tags.
    fn issue_reads(&mut self, now: Time, from: usize) {
        let limit = match self.profile.link(from).outstanding_reads {
            0 => u32::MAX,
            limit => limit,
        };
        while self.ports[from].outstanding < limit {
            let Some(Waiting { addr, len, part }) = self.ports[from].waiting.pop_front() else {
                break;
            };
            self.ports[from].outstanding += 1;
            self.reads.issued(&part, now);
            let packet = Packet::Read {
                from: from as u8,
                addr,
                len,
                part,
            };
            self.send(now, from, packet);
        }
    }

    /// Puts a packet on its sender's link.
    fn send(&mut self, now: Time, from: usize, packet: Packet) {
        if self.immediate {
            self.deliver(now, from, packet);
            return;
        }
        let (payload, wire) = self.size(&packet);
        self.hops[2 * from].add(payload, wire);
        let port = &mut self.ports[from];
        let at_switch = port.up.send(now, wire);
        port.to_switch.push_back((at_switch, packet));
        self.next_move = self.next_move.min(at_switch);
    }

    /// Moves everything that reaches the switch by now on to its receiver's link.
    fn advance(&mut self, now: Time) {
        while self.next_move <= now {
            let mut first: Option<(Time, usize, bool)> = None;
            for (index, port) in self.ports.iter().enumerate() {
                for (queue, answering) in [(&port.answering, true), (&port.to_switch, false)] {
                    if let Some((time, _)) = queue.front()
                        && first.is_none_or(|(least, _, _)| *time < least)
                    {
                        first = Some((*time, index, answering));
                    }
                }
            }
            let Some((time, index, answering)) = first else {
                self.next_move = Time::MAX;
                return;
            };
            self.next_move = time;
            if time > now {
                return;
            }
            let port = &mut self.ports[index];
            if answering {
                if let Some((_, packet)) = port.answering.pop_front() {
                    self.send(time, index, packet);
                }
            } else if let Some((_, packet)) = port.to_switch.pop_front() {
                self.deliver(time, index, packet);
            }
        }
    }

    /// Routes a packet that is at the switch.
    fn deliver(&mut self, time: Time, from: usize, packet: Packet) {
        let to = match &packet {
            Packet::Write { addr, .. } | Packet::Read { addr, .. } => self.find(*addr),
            Packet::Completion { to, .. } => Some(*to),
        };
        let (to, packet) = match (to, packet) {
            (Some(to), packet) => {
                if let Packet::Read { part, .. } = &packet {
                    self.reads.set_target(part, to);
                }
                (to, packet)
            }
            (
                None,
                Packet::Read {
                    from: to,
                    addr,
                    part,
                    ..
                },
            ) => {
                self.unmapped_reads += 1;
                let result = Err(FabricError::Unmapped { addr });
                (to, Packet::Completion { to, part, result })
            }
            (None, _) => {
                self.unmapped_writes += 1;
                return;
            }
        };
        let to = to as usize;
        if self.immediate {
            self.count(from, to, &packet);
            self.ports[to].arriving.push_back((time, packet));
            return;
        }
        let (payload, wire) = self.size(&packet);
        self.hops[2 * to + 1].add(payload, wire);
        let arrival = self.ports[to].down.send(time, wire);
        self.ports[to].arriving.push_back((arrival, packet));
    }

    fn count(&mut self, from: usize, to: usize, packet: &Packet) {
        let (payload, wire) = self.size(packet);
        self.hops[2 * from].add(payload, wire);
        self.hops[2 * to + 1].add(payload, wire);
    }

    /// Payload and wire bytes of a packet, all its headers included.
    fn size(&self, packet: &Packet) -> (u64, u64) {
        match packet {
            Packet::Write { data, .. } => {
                let payload = data.len() as u64;
                (payload, payload + self.profile.write_header as u64)
            }
            Packet::Read { .. } => (0, self.profile.read_header as u64),
            Packet::Completion { result, .. } => {
                let payload = result.as_ref().map_or(0, |data| data.len() as u64);
                let packets = payload.div_ceil(self.profile.max_payload as u64).max(1);
                (
                    payload,
                    payload + packets * self.profile.completion_header as u64,
                )
            }
        }
    }

    /// Takes one part of an answer at its requester and frees the tag; the last part yields
    /// the whole answer.
    fn finish_part(
        &mut self,
        time: Time,
        at: usize,
        part: Ticket,
        result: Result<Box<[u8]>, FabricError>,
    ) -> Option<Completion> {
        let info = self.reads.part(&part)?;
        let (target, issued, len) = (info.target as usize, info.issued, info.len);
        let port = &mut self.ports[at];
        port.outstanding = port.outstanding.saturating_sub(1);
        if let Some(least) = port.round_trip.get_mut(target)
            && len == self.profile.max_read_request
        {
            let time = time.saturating_sub(issued);
            *least = if *least == 0 { time } else { time.min(*least) };
        }
        let completion = self.reads.finish(part, result);
        if !self.ports[at].waiting.is_empty() {
            self.issue_reads(time, at);
        }
        completion
    }
}
