// SPDX-License-Identifier: Apache-2.0
//! What a device is to the server, and what the guest is to a device.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use crate::error::Result;
use crate::protocol::{Area, Errno};

/// A PCI function. The server calls it from one thread, and never twice at once.
///
/// Accesses of the guest are handed in; what the device wants of the guest it asks for in
/// [`Device::step`]. Nothing in here waits: an answer that takes time is given in a later step.
pub trait Device {
    /// Bytes and mapped parts of a BAR, 0 to 5. A 64-bit BAR takes two numbers, and the second has
    /// no bytes.
    fn bar(&self, bar: u8) -> Bar<'_>;

    /// MSI-X vectors.
    fn vectors(&self) -> u16;

    /// Reads a dword of configuration space; the offset is a multiple of 4 below 4096.
    fn config_read(&self, offset: u16) -> u32;

    /// Writes a dword of configuration space.
    fn config_write(&mut self, offset: u16, value: u32);

    /// The guest reads `len` bytes of a BAR; the range is inside it. [`Guest::answer`] bears the
    /// same ticket.
    fn bar_read(&mut self, bar: u8, offset: u64, len: u32, ticket: Ticket);

    /// The guest writes a BAR; the range is inside it. Writes are posted.
    fn bar_write(&mut self, bar: u8, offset: u64, data: &[u8]);

    /// Reset of the function: all is as after power-on, but what is stored. Here as in
    /// [`Device::step`], [`crate::Error::Device`] says that the device cannot go on.
    fn reset(&mut self) -> Result<()>;

    /// Does a part of what there is to do: some milliseconds at most.
    fn step(&mut self, guest: &mut dyn Guest) -> Result<Pace>;
}

impl<D: Device + ?Sized> Device for &mut D {
    fn bar(&self, bar: u8) -> Bar<'_> {
        (**self).bar(bar)
    }

    fn vectors(&self) -> u16 {
        (**self).vectors()
    }

    fn config_read(&self, offset: u16) -> u32 {
        (**self).config_read(offset)
    }

    fn config_write(&mut self, offset: u16, value: u32) {
        (**self).config_write(offset, value);
    }

    fn bar_read(&mut self, bar: u8, offset: u64, len: u32, ticket: Ticket) {
        (**self).bar_read(bar, offset, len, ticket);
    }

    fn bar_write(&mut self, bar: u8, offset: u64, data: &[u8]) {
        (**self).bar_write(bar, offset, data);
    }

    fn reset(&mut self) -> Result<()> {
        (**self).reset()
    }

    fn step(&mut self, guest: &mut dyn Guest) -> Result<Pace> {
        (**self).step(guest)
    }
}

/// A base address register.
#[derive(Clone, Debug, Default)]
pub struct Bar<'a> {
    /// Size in bytes, a power of two; 0: there is none.
    pub bytes: u64,
    /// Parts that the guest accesses without asking, and their file, which has the BAR's layout.
    pub mapped: Option<(&'a [Area], BorrowedFd<'a>)>,
}

/// Names a read of the guest until it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket(pub(crate) u64);

/// When a device wants its next step, unless the guest wants something of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// At once.
    Busy,
    /// After this time.
    After(Duration),
    /// Never by itself.
    Idle,
}

/// The answer to a [`Guest::read`]: its tag, and the bytes or why there are none.
pub type Answer = (u32, std::result::Result<Box<[u8]>, Errno>);

/// What a device can ask of the guest.
///
/// PCIe's ordering holds: a write or an interrupt is never seen before an earlier write, wherever
/// the two go, and a read never passes an earlier write.
pub trait Guest {
    /// Reads memory, or another device. [`Guest::take_answer`] bears the same tag.
    fn read(&mut self, address: u64, len: u32, tag: u32);

    /// Writes memory, or another device.
    fn write(&mut self, address: u64, data: &[u8]);

    /// Raises an interrupt.
    fn interrupt(&mut self, vector: u16);

    /// The next read that is answered.
    fn take_answer(&mut self) -> Option<Answer>;

    /// Answers a read of the guest.
    fn answer(&mut self, ticket: Ticket, data: &[u8]);
}
