// SPDX-License-Identifier: Apache-2.0
//! The device's way to the guest: memory directly where it is mapped, by messages elsewhere, in
//! PCIe's order.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use crate::device::{Answer, Guest, Ticket};
use crate::dma::DmaTable;
use crate::interrupts::Interrupts;
use crate::protocol::{Command, DATA_MOST, Errno, Header, Kind, Reply, Request};
use crate::socket::Socket;

/// Messages of ours that may wait for a reply at once.
const OUTSTANDING_MOST: usize = 64;

/// Everything that a device's requests go through.
#[derive(Debug)]
pub(crate) struct Link {
    pub socket: Socket,
    pub table: DmaTable,
    pub interrupts: Interrupts,
    /// Bytes that one message may move.
    pub data_most: u32,
    /// Requests that wait for their turn, in order.
    waiting: VecDeque<Want>,
    /// Messages without a reply so far, by number.
    outstanding: HashMap<u16, Outstanding>,
    /// How many of them are writes.
    writes: usize,
    next_id: u16,
    /// Reads by messages, by number.
    reads: HashMap<u32, PartialRead>,
    next_read: u32,
    answers: VecDeque<Answer>,
    bar_answers: Vec<(Ticket, Box<[u8]>)>,
    refused: Vec<Refused>,
}

/// A request of the device.
#[derive(Debug)]
enum Want {
    Read { address: u64, len: u32, tag: u32 },
    Write { address: u64, data: Box<[u8]> },
    Interrupt(u16),
}

#[derive(Debug)]
struct Outstanding {
    since: Instant,
    address: u64,
    bytes: u32,
    /// The read it is a part of, and where in it; `None`: a write.
    read: Option<(u32, usize)>,
}

impl Outstanding {
    const fn command(&self) -> Command {
        match self.read {
            Some(_) => Command::DMA_READ,
            None => Command::DMA_WRITE,
        }
    }
}

/// A read whose parts come one by one.
#[derive(Debug)]
struct PartialRead {
    tag: u32,
    data: Box<[u8]>,
    missing: usize,
    error: Option<Errno>,
}

/// An access that the virtual machine refused: nothing answers at the address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{command} of {bytes} bytes at {address:#x} was refused (error {}): nothing answers there, or \
     the IOMMU does not let it through",
    errno.0
)]
pub struct Refused {
    /// DMA_READ or DMA_WRITE.
    pub command: Command,
    /// The address.
    pub address: u64,
    /// How many bytes.
    pub bytes: u32,
    /// What it said.
    pub errno: Errno,
}

impl Link {
    pub fn new(socket: Socket, vectors: u16) -> Self {
        Self {
            socket,
            table: DmaTable::default(),
            interrupts: Interrupts::new(vectors),
            data_most: DATA_MOST,
            waiting: VecDeque::new(),
            outstanding: HashMap::new(),
            writes: 0,
            next_id: 0,
            reads: HashMap::new(),
            next_read: 0,
            answers: VecDeque::new(),
            bar_answers: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// Reads of the guest that the device has answered.
    pub fn take_bar_answers(&mut self) -> Vec<(Ticket, Box<[u8]>)> {
        std::mem::take(&mut self.bar_answers)
    }

    /// Accesses that were refused since the last call.
    pub fn take_refused(&mut self) -> Vec<Refused> {
        std::mem::take(&mut self.refused)
    }

    /// The device is to look for answers.
    pub fn has_answers(&self) -> bool {
        !self.answers.is_empty()
    }

    /// Forgets what the device has asked for; replies that still come mean nothing to it.
    pub fn reset(&mut self) {
        self.waiting.clear();
        self.answers.clear();
        self.reads.clear();
    }

    /// A reply to a message of ours.
    pub fn replied(&mut self, header: &Header, body: &[u8]) {
        // A reply to no message of ours is ignored.
        let Some(sent) = self.outstanding.remove(&header.id) else {
            return;
        };
        let errno = match header.kind {
            Kind::Failure(errno) => Some(errno),
            _ => None,
        };
        if let Some(errno) = errno {
            self.refused.push(Refused {
                command: sent.command(),
                address: sent.address,
                bytes: sent.bytes,
                errno,
            });
        }
        match sent.read {
            None => self.writes -= 1,
            Some((read, at)) => {
                let part = match Reply::parse(header, body) {
                    Ok(Reply::DmaRead { data, .. }) if data.len() == sent.bytes as usize => {
                        Ok(data)
                    }
                    _ => Err(errno.unwrap_or(Errno::INVALID)),
                };
                self.read_part(read, at, part);
            }
        }
        self.proceed();
    }

    /// The oldest message without a reply, in words, where it is older than a limit.
    pub fn overdue(&self, limit: Duration) -> Option<String> {
        let oldest = self.outstanding.values().min_by_key(|sent| sent.since)?;
        let Outstanding { address, bytes, .. } = oldest;
        let command = oldest.command();
        (oldest.since.elapsed() > limit)
            .then(|| format!("the reply to {command} of {bytes} bytes at {address:#x}"))
    }

    /// Carries out what waits, as far as the order allows.
    ///
    /// Messages keep their order by themselves. What goes directly, memory and interrupts, must
    /// wait for the replies to all earlier writes by messages, or it would overtake them.
    fn proceed(&mut self) {
        while let Some(want) = self.waiting.pop_front() {
            if let Some(want) = self.carry_out(want) {
                self.waiting.push_front(want);
                return;
            }
        }
    }

    /// Carries a request out, or gives it back where it is too early.
    fn carry_out(&mut self, want: Want) -> Option<Want> {
        let direct = match &want {
            Want::Read { address, len, .. } => self.table.reads(*address, *len as usize),
            Want::Write { address, data } => self.table.writes(*address, data.len()),
            Want::Interrupt(_) => true,
        };
        let early = if direct {
            self.writes > 0
        } else {
            self.outstanding.len() >= OUTSTANDING_MOST
        };
        if early {
            return Some(want);
        }
        match want {
            Want::Interrupt(vector) => self.interrupts.raise(vector),
            Want::Write { address, data } if direct => self.table.write(address, &data),
            Want::Write { address, data } => self.send_write(address, &data),
            Want::Read { address, len, tag } if direct => {
                let mut data = vec![0; len as usize].into_boxed_slice();
                self.table.read(address, &mut data);
                self.answers.push_back((tag, Ok(data)));
            }
            Want::Read { address, len, tag } => self.send_read(address, len, tag),
        }
        None
    }

    fn send_write(&mut self, address: u64, data: &[u8]) {
        let mut at = address;
        for part in data.chunks(self.data_most as usize) {
            let request = Request::DmaWrite {
                address: at,
                data: part.to_vec(),
            };
            self.send(&request, at, part.len() as u32, None);
            self.writes += 1;
            at = at.wrapping_add(part.len() as u64);
        }
    }

    fn send_read(&mut self, address: u64, len: u32, tag: u32) {
        let read = self.next_read;
        self.next_read = read.wrapping_add(1);
        let mut partial = PartialRead {
            tag,
            data: vec![0; len as usize].into(),
            missing: 0,
            error: None,
        };
        for at in (0..len).step_by(self.data_most as usize) {
            let count = self.data_most.min(len - at);
            let address = address.wrapping_add(u64::from(at));
            let request = Request::DmaRead { address, count };
            self.send(&request, address, count, Some((read, at as usize)));
            partial.missing += 1;
        }
        self.reads.insert(read, partial);
    }

    fn send(&mut self, request: &Request, address: u64, bytes: u32, read: Option<(u32, usize)>) {
        while self.outstanding.contains_key(&self.next_id) {
            self.next_id = self.next_id.wrapping_add(1);
        }
        let id = self.next_id;
        self.next_id = id.wrapping_add(1);
        self.socket.send(request.to_bytes(id, true), None);
        let sent = Outstanding {
            since: Instant::now(),
            address,
            bytes,
            read,
        };
        self.outstanding.insert(id, sent);
    }

    fn read_part(&mut self, read: u32, at: usize, part: Result<Vec<u8>, Errno>) {
        let Some(partial) = self.reads.get_mut(&read) else {
            return;
        };
        match part {
            Ok(part) => {
                if let Some(place) = partial.data.get_mut(at..at + part.len()) {
                    place.copy_from_slice(&part);
                }
            }
            Err(errno) => partial.error = Some(errno),
        }
        partial.missing -= 1;
        if partial.missing == 0
            && let Some(partial) = self.reads.remove(&read)
        {
            let result = partial.error.map_or(Ok(partial.data), Err);
            self.answers.push_back((partial.tag, result));
        }
    }
}

impl Guest for Link {
    fn read(&mut self, address: u64, len: u32, tag: u32) {
        self.waiting.push_back(Want::Read { address, len, tag });
        self.proceed();
    }

    fn write(&mut self, address: u64, data: &[u8]) {
        let data = data.into();
        self.waiting.push_back(Want::Write { address, data });
        self.proceed();
    }

    fn interrupt(&mut self, vector: u16) {
        self.waiting.push_back(Want::Interrupt(vector));
        self.proceed();
    }

    fn take_answer(&mut self) -> Option<Answer> {
        self.answers.pop_front()
    }

    fn answer(&mut self, ticket: Ticket, data: &[u8]) {
        self.bar_answers.push((ticket, data.into()));
    }
}
