// SPDX-License-Identifier: Apache-2.0
//! The SSD model as a PCIe device of a virtual machine.

use forebay_model::fabric::Ticket as FabricTicket;
use forebay_model::ssd::SsdStats;
use forebay_model::{
    Arrival, Fabric, FabricError, Medium, ModelError, Node, Profile, Request, Ssd, Time,
};
use forebay_spec::pci::msix;

use crate::device::{Answer, Bar, Device, Guest, Pace, Ticket};
use crate::error::Result;
use crate::protocol::Errno;

/// Moments of simulated time that one step goes through.
const MOMENTS: u32 = 512;
/// Where the drive sends its interrupts: no address of a guest, which has at most 57 bits.
const INTERRUPTS: u64 = u64::MAX << 16;

/// The SSD model, in a fabric of its own, with the guest in place of host memory.
///
/// Simulated time is not the guest's: it goes on from event to event as fast as it can, and stands
/// still while the drive has nothing to do.
#[derive(Debug)]
pub struct SsdDevice {
    ssd: Ssd,
    fabric: Fabric,
    now: Time,
    /// Reads of the drive that the guest has not answered, by tag.
    reads: Vec<Option<FabricTicket>>,
    /// Reads of the guest to be answered in the next step.
    answers: Vec<(Ticket, Box<[u8]>)>,
}

impl SsdDevice {
    /// A drive that has just got power.
    ///
    /// # Errors
    /// Where the profile's values cannot be, or the medium is too small.
    pub fn new(
        profile: &Profile,
        medium: Medium,
        seed: u64,
    ) -> std::result::Result<Self, ModelError> {
        let ssd = Ssd::new(&profile.ssd, medium, seed)?;
        let mut fabric = Fabric::new(&profile.fabric, 1);
        // The guest is everywhere: who answers at an address is for it to know.
        fabric.map(Node::Host, 0..u64::MAX);
        let mut device = Self {
            ssd,
            fabric,
            now: 0,
            reads: Vec::new(),
            answers: Vec::new(),
        };
        device.set_up_vectors();
        Ok(device)
    }

    /// What the drive has done.
    pub const fn stats(&self) -> &SsdStats {
        self.ssd.stats()
    }

    /// The drive itself.
    pub const fn ssd(&self) -> &Ssd {
        &self.ssd
    }

    /// Its time.
    pub const fn now(&self) -> Time {
        self.now
    }

    /// The virtual machine has a vector table of its own in front of the drive's, and listens to
    /// vectors by number. So in the drive's table each vector sends its number.
    fn set_up_vectors(&mut self) {
        let place = *self.ssd.msix_table();
        for vector in 0..u64::from(place.vectors) {
            let entry = u64::from(place.table) + vector * msix::ENTRY_BYTES;
            for (at, value) in [(entry, INTERRUPTS), (entry + 8, vector)] {
                let bytes = value.to_le_bytes();
                self.ssd.bar_write(self.now, &mut self.fabric, at, &bytes);
            }
        }
    }

    /// Takes what has arrived at the host by now to the guest.
    fn pass_on(&mut self, guest: &mut dyn Guest) {
        while let Some(arrival) = self.fabric.poll(self.now, Node::Host) {
            // The host sends no reads of its own.
            let Arrival::Request {
                request, ticket, ..
            } = arrival
            else {
                continue;
            };
            match request {
                Request::Write { addr, data } => match (addr, &data[..]) {
                    (INTERRUPTS, [low, high, 0, 0]) => {
                        guest.interrupt(u16::from_le_bytes([*low, *high]));
                    }
                    _ => guest.write(addr, &data),
                },
                Request::Read { addr, len, .. } => {
                    let free = self.reads.iter().position(Option::is_none);
                    let tag = free.unwrap_or(self.reads.len());
                    let count = self.reads.len().max(tag + 1);
                    self.reads.resize_with(count, || None);
                    self.reads[tag] = Some(ticket);
                    guest.read(addr, len, tag as u32);
                }
            }
        }
    }

    /// Takes what the guest has answered to the drive; true where there was something.
    fn take_answers(&mut self, guest: &mut dyn Guest) -> bool {
        let mut some = false;
        while let Some((tag, result)) = guest.take_answer() {
            some = true;
            let ticket = self.reads.get_mut(tag as usize).and_then(Option::take);
            if let Some(ticket) = ticket {
                let result = result.map_err(|_| FabricError::Refused);
                self.fabric.complete(self.now, ticket, result);
            }
        }
        some
    }

    /// Goes through simulated time until nothing is left to do, or for a while.
    fn advance(&mut self, guest: &mut dyn Guest) -> Pace {
        for _ in 0..MOMENTS {
            let answered = self.take_answers(guest);
            self.ssd.step(self.now, &mut self.fabric);
            self.pass_on(guest);
            let events = [self.fabric.next_event(), self.ssd.next_event()];
            match events.into_iter().flatten().min() {
                Some(time) => self.now = self.now.max(time),
                None if answered => {}
                None => return Pace::Idle,
            }
        }
        Pace::Busy
    }
}

impl Device for SsdDevice {
    fn bar(&self, bar: u8) -> Bar<'_> {
        Bar {
            bytes: if bar == 0 { self.ssd.bar_bytes() } else { 0 },
            mapped: None,
        }
    }

    fn vectors(&self) -> u16 {
        self.ssd.msix_table().vectors
    }

    fn config_read(&self, offset: u16) -> u32 {
        self.ssd.config_read(offset)
    }

    fn config_write(&mut self, offset: u16, value: u32) {
        self.ssd.config_write(offset, value);
    }

    fn bar_read(&mut self, _: u8, offset: u64, len: u32, ticket: Ticket) {
        self.answers.push((ticket, self.ssd.bar_read(offset, len)));
    }

    fn bar_write(&mut self, _: u8, offset: u64, data: &[u8]) {
        // The vector table is not the guest's, see `set_up_vectors`.
        if offset < u64::from(self.ssd.msix_table().table) {
            self.ssd.bar_write(self.now, &mut self.fabric, offset, data);
        }
    }

    fn reset(&mut self) -> Result<()> {
        self.ssd.function_reset();
        // What was under way comes to nothing: no write of before reaches the guest any more.
        let mut absent = Absent {
            reads: (0..self.reads.len() as u32).collect(),
        };
        while self.advance(&mut absent) == Pace::Busy {}
        self.reads.clear();
        self.answers.clear();
        self.set_up_vectors();
        Ok(())
    }

    fn step(&mut self, guest: &mut dyn Guest) -> Result<Pace> {
        let pace = self.advance(guest);
        for (ticket, data) in self.answers.drain(..) {
            guest.answer(ticket, &data);
        }
        Ok(pace)
    }
}

/// A guest that is not there: what is written is lost, and each read is refused.
struct Absent {
    reads: Vec<u32>,
}

impl Guest for Absent {
    fn read(&mut self, _: u64, _: u32, tag: u32) {
        self.reads.push(tag);
    }

    fn write(&mut self, _: u64, _: &[u8]) {}

    fn interrupt(&mut self, _: u16) {}

    fn take_answer(&mut self) -> Option<Answer> {
        self.reads.pop().map(|tag| (tag, Err(Errno::INVALID)))
    }

    fn answer(&mut self, _: Ticket, _: &[u8]) {}
}
