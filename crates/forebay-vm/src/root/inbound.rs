// SPDX-License-Identifier: Apache-2.0
//! The FPGA's windows as a PCI function of QEMU's: what drives send there goes to the RTL.

use std::collections::{HashMap, VecDeque};

use forebay_cosim::root::INBOUND;
use forebay_model::pci::{ConfigSpace, Identity};
use forebay_model::{Arrival, Node, Request, Ticket as Number};
use forebay_spec::pci::CLASS_ACCELERATOR;
use forebay_spec::streamer::{self, bar0};

use crate::device::{Bar, Device, Guest, Pace, Ticket};
use crate::error::Result;

/// Bytes of a beat of the RTL's bus.
const BEAT: u64 = 64;

/// The windows: BAR 0 is what is at [`INBOUND`].
pub(super) struct Inbound {
    space: ConfigSpace,
    /// What the RTL has not taken.
    pub arrived: VecDeque<Arrival>,
    /// Reads that the RTL has not answered, by number.
    reads: HashMap<u32, BarRead>,
    next_read: u32,
    /// Answers that are to be sent.
    answers: Vec<(Ticket, Box<[u8]>)>,
    ahead: Ahead,
}

struct BarRead {
    ticket: Ticket,
    offset: u64,
    bytes: u32,
}

/// The rest of a beat that was read, and where it is.
///
/// A drive reads an entry by one request; QEMU's drives do so by messages of 8 bytes. So the RTL is
/// asked for all up to the end of the beat at once. What is there counts for the message that follows
/// directly and for no other.
#[derive(Default)]
struct Ahead {
    offset: u64,
    data: Box<[u8]>,
}

impl Ahead {
    /// The first bytes, where they are what is read next; all others are dropped.
    fn take(&mut self, offset: u64, bytes: usize) -> Option<Box<[u8]>> {
        let Self { offset: at, data } = std::mem::take(self);
        let part = data.get(..bytes).filter(|_| at == offset)?.into();
        *self = Self {
            offset: at + bytes as u64,
            data: data[bytes..].into(),
        };
        Some(part)
    }
}

impl Inbound {
    pub fn new() -> Self {
        let identity = Identity {
            vendor: streamer::PCI_VENDOR,
            device: streamer::PCI_DEVICE,
            class: CLASS_ACCELERATOR,
            revision: 1,
        };
        Self {
            space: ConfigSpace::new(identity, bar0::BYTES, None),
            arrived: VecDeque::new(),
            reads: HashMap::new(),
            next_read: 0,
            answers: Vec::new(),
            ahead: Ahead::default(),
        }
    }

    /// The RTL has something to do for a drive.
    pub fn is_busy(&self) -> bool {
        !self.arrived.is_empty() || !self.reads.is_empty()
    }

    /// QEMU waits for an answer, and sends nothing more before.
    pub fn is_waited_for(&self) -> bool {
        !self.answers.is_empty() || !self.reads.is_empty()
    }

    /// What was read ahead is not used any more.
    pub fn forget(&mut self) {
        self.ahead = Ahead::default();
    }

    /// The RTL answers a read; none: refused.
    pub fn answered(&mut self, number: Number, data: Option<Box<[u8]>>) {
        let Some(read) = self.reads.remove(&number.number()) else {
            return;
        };
        // A refused read has no bytes, and so becomes one without an answer.
        let data = data.unwrap_or_default();
        let bytes = data.len().min(read.bytes as usize);
        let (asked, rest) = data.split_at(bytes);
        self.answers.push((read.ticket, asked.into()));
        self.ahead = Ahead {
            offset: read.offset + bytes as u64,
            data: rest.into(),
        };
    }
}

impl Device for Inbound {
    fn bar(&self, bar: u8) -> Bar<'_> {
        Bar {
            bytes: if bar == 0 { bar0::BYTES } else { 0 },
            mapped: None,
        }
    }

    fn vectors(&self) -> u16 {
        0
    }

    fn config_read(&self, offset: u16) -> u32 {
        self.space.read(offset)
    }

    fn config_write(&mut self, offset: u16, value: u32) {
        self.space.write(offset, value);
    }

    fn bar_read(&mut self, _: u8, offset: u64, len: u32, ticket: Ticket) {
        if let Some(data) = self.ahead.take(offset, len as usize) {
            self.answers.push((ticket, data));
            return;
        }
        self.next_read = self.next_read.wrapping_add(1) % u32::MAX;
        let number = self.next_read;
        let read = BarRead {
            ticket,
            offset,
            bytes: len,
        };
        self.reads.insert(number, read);
        let rest = BEAT - offset % BEAT;
        self.arrived.push_back(Arrival::Request {
            from: Node::Host,
            request: Request::Read {
                addr: INBOUND + offset,
                len: len.max(rest as u32),
                tag: number,
            },
            ticket: Number::numbered(number),
        });
    }

    fn bar_write(&mut self, _: u8, offset: u64, data: &[u8]) {
        self.forget();
        self.arrived.push_back(Arrival::Request {
            from: Node::Host,
            request: Request::Write {
                addr: INBOUND + offset,
                data: data.into(),
            },
            ticket: Number::NONE,
        });
    }

    fn reset(&mut self) -> Result<()> {
        self.space.reset();
        self.forget();
        Ok(())
    }

    fn step(&mut self, guest: &mut dyn Guest) -> Result<Pace> {
        for (ticket, data) in self.answers.drain(..) {
            guest.answer(ticket, &data);
        }
        Ok(Pace::Idle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_ahead_counts_for_what_follows_directly() {
        let ahead = || Ahead {
            offset: 8,
            data: (8..64).collect(),
        };
        let mut of = ahead();
        assert_eq!(
            of.take(8, 8).as_deref(),
            Some(&[8, 9, 10, 11, 12, 13, 14, 15][..])
        );
        assert_eq!(of.take(16, 2).as_deref(), Some(&[16, 17][..]));
        assert_eq!(of.take(24, 8), None);
        assert_eq!(of.take(18, 8), None, "the one before has dropped it");
        assert_eq!(ahead().take(0, 8), None);
        assert_eq!(ahead().take(8, 57), None);
    }

    /// Reads and writes in any order: each read yields what the memory holds then.
    #[test]
    fn a_beat_is_read_once() {
        let mut memory: Vec<u8> = (0..=255).collect();
        let mut inbound = Inbound::new();
        let mut asked = 0;
        let mut read = |inbound: &mut Inbound, memory: &[u8], offset: u64, len: u32| {
            inbound.bar_read(0, offset, len, Ticket(offset));
            while let Some(Arrival::Request {
                request, ticket, ..
            }) = inbound.arrived.pop_front()
            {
                let Request::Read { addr, len, .. } = request else {
                    panic!("{request:?}")
                };
                asked += 1;
                let at = (addr - INBOUND) as usize;
                inbound.answered(ticket, Some(memory[at..at + len as usize].into()));
            }
            let (_, data) = inbound.answers.pop().expect("an answer");
            assert_eq!(*data, memory[offset as usize..][..len as usize]);
            asked
        };
        for at in (0..128).step_by(8) {
            read(&mut inbound, &memory, at, 8);
        }
        assert_eq!(read(&mut inbound, &memory, 128, 8), 3);
        inbound.bar_write(0, 136, &[1; 8]);
        inbound.arrived.clear();
        memory[136..144].fill(1);
        assert_eq!(read(&mut inbound, &memory, 136, 8), 4);
        // Across the end of a beat, and the same again.
        assert_eq!(read(&mut inbound, &memory, 60, 8), 5);
        assert_eq!(read(&mut inbound, &memory, 60, 8), 6);
        memory[68] = 0;
        inbound.forget();
        assert_eq!(read(&mut inbound, &memory, 68, 4), 7);
    }
}
