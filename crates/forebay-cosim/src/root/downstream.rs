// SPDX-License-Identifier: Apache-2.0
//! What the RTL's root port finds below it: models, or a machine that is none of ours.

use forebay_model::{Arrival, Ticket, Time};

use crate::error::Result;

/// What becomes of an access of the port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// It is answered: by the dword that was read, by any for a write; none: in error.
    Now(Option<u32>),
    /// It is answered by the completion with this tag, which [`Downstream::poll`] gives.
    Later(u32),
}

/// What is below a root port. Nothing in here waits for the RTL, which has its turn in between.
pub trait Downstream {
    /// Simulated time in picoseconds.
    fn now(&self) -> Time;

    /// Lets time pass to `now`, and does what is due then.
    ///
    /// # Errors
    /// Where it has gone.
    fn advance(&mut self, now: Time) -> Result<()>;

    /// When something next happens by itself: until then time may leap; none: never.
    fn next_event(&self) -> Option<Time>;

    /// The link of the port is up.
    fn link_up(&self) -> bool;

    /// PERST# is asserted, or released.
    fn perst(&mut self, asserted: bool);

    /// Reads a dword of configuration space.
    fn config_read(&mut self, ecam: u32) -> Reply;

    /// Writes a dword of configuration space.
    fn config_write(&mut self, ecam: u32, value: u32) -> Reply;

    /// Reads a dword of memory.
    fn memory_read(&mut self, address: u64) -> Reply;

    /// Writes a dword of memory.
    fn memory_write(&mut self, address: u64, value: u32) -> Reply;

    /// Writes a dword of memory, posted; false: nothing is there.
    fn post(&mut self, address: u64, value: u32) -> bool;

    /// The next thing that has arrived at the port: a request of a drive, or a completion.
    fn poll(&mut self) -> Option<Arrival>;

    /// Answers a read that has arrived; none: refused.
    fn answer(&mut self, ticket: Ticket, data: Option<Box<[u8]>>);

    /// Drives whose CSTS.RDY is set; 0 where that is not known.
    fn ready(&self) -> usize;
}
