// SPDX-License-Identifier: Apache-2.0
//! The streamer's RTL as a PCIe device of a virtual machine.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use forebay_cosim::{Card, Outcome, Read, Sent, Write};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};

use crate::device::{Bar, Device, Guest, Pace, Ticket};
use crate::error::{Error, Result};
use crate::protocol::Area;

/// Cycles between two looks at the socket: some 50 µs.
const SLICE: u32 = 64;
/// Cycles without movement after which the clock runs slowly: nothing is to be expected but what
/// the guest or another device sends.
const QUIET: u32 = 1024;
/// How slowly: a slice in this time, so that the RTL's own time-outs still come to pass.
const TICK: Duration = Duration::from_millis(10);

/// A transaction of the user's streams.
#[derive(Debug)]
pub enum Transaction {
    /// Data for the drive.
    Write(Write),
    /// Data from the drive.
    Read(Read),
}

/// The FPGA card with the streamer. Control registers, queue window and data window are in BAR 0,
/// and every access to them goes through the RTL's ports, but for payload after
/// [`StreamerDevice::map_payload`]; doorbells leave as writes to wherever the driver has told the
/// streamer.
///
/// What is on the other side of the card is a list of transactions: they begin once the guest has
/// enabled the streamer, one after the other. On a card with a network side it is the network of
/// its configuration instead, whose link partner begins with the guest's first recording.
pub struct StreamerDevice {
    card: Card,
    /// Reads of the guest that the RTL has not answered, by tag.
    reads: HashMap<u32, Ticket>,
    next_tag: u32,
    /// Reads of the card that the guest has not answered, by tag.
    asked: HashMap<u32, forebay_model::Ticket>,
    plan: VecDeque<Transaction>,
    /// A transaction is under way.
    busy: bool,
    outcomes: Vec<Outcome>,
    /// Cycles since something last moved.
    quiet: u32,
    /// What the guest reaches without asking, in a file with the layout of BAR 0.
    mapped: Option<(Vec<Area>, OwnedFd)>,
}

impl StreamerDevice {
    /// A card in its slot, and what its user is going to do.
    #[must_use]
    pub fn new(card: Card, plan: impl IntoIterator<Item = Transaction>) -> Self {
        Self {
            card,
            reads: HashMap::new(),
            next_tag: 0,
            asked: HashMap::new(),
            plan: plan.into_iter().collect(),
            busy: false,
            outcomes: Vec::new(),
            quiet: 0,
            mapped: None,
        }
    }

    /// Lets the guest and other devices reach the payload buffer as memory, not by messages that
    /// become bursts at the RTL's AXI port: some hundred times as fast. PRP lists, queues and
    /// registers stay trapped. Returns how many bytes that are; 0 for RTL whose memory cannot be
    /// shared.
    ///
    /// # Errors
    /// Where there is no memory for that.
    pub fn map_payload(&mut self) -> Result<u64> {
        let file = file_of(self.card.bar_bytes()).map_err(io::Error::from)?;
        let places = self.card.share_memories(file.as_fd()).map_err(failed)?;
        let areas: Vec<_> = places
            .into_iter()
            .map(|place| Area {
                offset: place.start,
                bytes: place.end - place.start,
            })
            .collect();
        let bytes = areas.iter().map(|area| area.bytes).sum();
        self.mapped = (!areas.is_empty()).then_some((areas, file));
        Ok(bytes)
    }

    /// The card.
    #[must_use]
    pub const fn card(&self) -> &Card {
        &self.card
    }

    /// Transactions that have ended, in order.
    #[must_use]
    pub fn outcomes(&self) -> &[Outcome] {
        &self.outcomes
    }

    /// Transactions that have not begun.
    #[must_use]
    pub fn planned(&self) -> usize {
        self.plan.len()
    }

    /// The user's side: ends one transaction and begins the next.
    fn use_streams(&mut self) {
        if let Some(outcome) = self.card.next_outcome() {
            self.outcomes.push(outcome);
            self.busy = false;
        }
        if self.busy || !self.card.is_enabled() {
            return;
        }
        match self.plan.pop_front() {
            Some(Transaction::Write(write)) => self.card.submit_write(write),
            Some(Transaction::Read(read)) => self.card.submit_read(read),
            None => return,
        };
        self.busy = true;
        self.quiet = 0;
    }

    /// Passes on what the card sends; true where the guest waits for it.
    fn pass_on(&mut self, guest: &mut dyn Guest) -> bool {
        let mut some = false;
        while let Some(sent) = self.card.take_sent() {
            some = true;
            match sent {
                Sent::Write { address, data } => guest.write(address, &data),
                Sent::Read {
                    address,
                    len,
                    ticket,
                } => {
                    self.next_tag = self.next_tag.wrapping_add(1);
                    self.asked.insert(self.next_tag, ticket);
                    guest.read(address, len, self.next_tag);
                }
                Sent::Interrupt => guest.interrupt(0),
                Sent::Answer(completion) => {
                    let Some(ticket) = self.reads.remove(&completion.tag) else {
                        continue;
                    };
                    // A refused read has no bytes, and so becomes one without an answer.
                    guest.answer(ticket, &completion.result.unwrap_or_default());
                }
            }
        }
        some
    }
}

impl Device for StreamerDevice {
    fn bar(&self, bar: u8) -> Bar<'_> {
        if bar != 0 {
            return Bar::default();
        }
        let mapped = self.mapped.as_ref();
        Bar {
            bytes: self.card.bar_bytes(),
            mapped: mapped.map(|(areas, file)| (areas.as_slice(), file.as_fd())),
        }
    }

    fn vectors(&self) -> u16 {
        1
    }

    fn config_read(&self, offset: u16) -> u32 {
        self.card.config_read(offset)
    }

    fn config_write(&mut self, offset: u16, value: u32) {
        self.card.config_write(offset, value);
    }

    fn bar_read(&mut self, _: u8, offset: u64, len: u32, ticket: Ticket) {
        self.quiet = 0;
        self.next_tag = self.next_tag.wrapping_add(1);
        self.reads.insert(self.next_tag, ticket);
        self.card.read(offset, len, self.next_tag);
    }

    fn bar_write(&mut self, _: u8, offset: u64, data: &[u8]) {
        self.quiet = 0;
        self.card.write(offset, data);
    }

    fn reset(&mut self) -> Result<()> {
        self.reads.clear();
        for (_, ticket) in self.asked.drain() {
            self.card.complete(ticket, None);
        }
        self.card.reset().map_err(failed)
    }

    fn step(&mut self, guest: &mut dyn Guest) -> Result<Pace> {
        while let Some((tag, result)) = guest.take_answer() {
            // Answers to requests of before a reset are dropped.
            if let Some(ticket) = self.asked.remove(&tag) {
                self.card.complete(ticket, result.ok());
                self.quiet = 0;
            }
        }
        for _ in 0..SLICE {
            self.use_streams();
            if self.card.at_rest() {
                return Ok(Pace::Idle);
            }
            let moved = self.card.step().map_err(failed)?;
            // A link partner may send after a pause of its own.
            let busy = moved || self.card.is_receiving();
            self.quiet = if busy { 0 } else { self.quiet + 1 };
            if self.pass_on(guest) {
                return Ok(Pace::Busy);
            }
        }
        Ok(if self.quiet < QUIET {
            Pace::Busy
        } else {
            Pace::After(TICK)
        })
    }
}

/// A file in memory of fixed size: it is mapped on either side.
fn file_of(bytes: u64) -> rustix::io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = memfd_create("payload", flags)?;
    ftruncate(&file, bytes)?;
    fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW)?;
    Ok(file)
}

fn failed(error: forebay_cosim::Error) -> Error {
    Error::Device(Box::new(error))
}
