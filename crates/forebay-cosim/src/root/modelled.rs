// SPDX-License-Identifier: Apache-2.0
//! The root port for the interpreted program: no RTL, its accesses take the time of the models.

use forebay_model::pci::AccessError;
use forebay_model::{Arrival, MICROSECOND, MILLISECOND, Request, Time};
use forebay_seq::boot::Root;
use forebay_spec::boot::admin;

use super::hierarchy::dword;
use super::{Hierarchy, in_window};

/// What an access to configuration space takes.
pub(super) const CONFIG_TIME: Time = MICROSECOND;
/// A read that nothing answers ends after this time (PCI Express Base 5.0, 2.8).
pub(super) const ANSWER_WITHIN: Time = 50 * MILLISECOND;
/// Rounds in which port and drives may answer one another within one moment.
const ROUNDS: u32 = 4096;

/// The port, with the memory of its admin window.
#[derive(Debug)]
pub struct Modelled {
    hierarchy: Hierarchy,
    window: Vec<u8>,
    /// What drives have sent to addresses where nothing is.
    stray: u64,
}

impl Modelled {
    /// The port above this.
    #[must_use]
    pub fn new(hierarchy: Hierarchy) -> Self {
        Self {
            hierarchy,
            window: vec![0; admin::WINDOW_BYTES as usize],
            stray: 0,
        }
    }

    /// What is below.
    pub const fn hierarchy(&mut self) -> &mut Hierarchy {
        &mut self.hierarchy
    }

    /// What drives have sent to addresses where nothing is.
    #[must_use]
    pub const fn stray(&self) -> u64 {
        self.stray
    }

    /// Does what is due by now; gives the answer with this tag, if it has come.
    fn settle(&mut self, tag: Option<u32>) -> Option<Option<u32>> {
        let mut answer = None;
        for _ in 0..ROUNDS {
            let now = self.hierarchy.now();
            if self.hierarchy.next_event().is_none_or(|time| time > now) {
                break;
            }
            self.hierarchy.advance(now);
            while let Some(arrival) = self.hierarchy.poll() {
                match arrival {
                    Arrival::Request {
                        request, ticket, ..
                    } => match request {
                        Request::Write { addr, data } => self.store(addr, &data),
                        Request::Read { addr, len, .. } => {
                            let data = self.part(addr, u64::from(len)).map(|part| (&*part).into());
                            self.hierarchy.answer(ticket, data);
                        }
                    },
                    Arrival::Completion(completion) if Some(completion.tag) == tag => {
                        answer = Some(dword(&completion));
                    }
                    Arrival::Completion(_) => {}
                }
            }
        }
        answer
    }

    fn part(&mut self, address: u64, bytes: u64) -> Option<&mut [u8]> {
        let at = in_window(address, bytes);
        self.stray += u64::from(at.is_none());
        let at = usize::from(at?);
        self.window.get_mut(at..at + bytes as usize)
    }

    fn store(&mut self, address: u64, data: &[u8]) {
        if let Some(part) = self.part(address, data.len() as u64) {
            part.copy_from_slice(data);
        }
    }

    /// Lets time pass until then, or until the answer with this tag has come.
    fn pass(&mut self, until: Time, tag: Option<u32>) -> Option<Option<u32>> {
        loop {
            let answer = self.settle(tag);
            let now = self.hierarchy.now();
            if answer.is_some() || now >= until {
                return answer;
            }
            // What was due now and is not done yet goes on a little later.
            let next = self.hierarchy.next_event().unwrap_or(until);
            self.hierarchy.advance(next.clamp(now + 1, until));
        }
    }

    fn take(&mut self, time: Time) {
        self.pass(self.hierarchy.now() + time, None);
    }
}

impl Root for Modelled {
    fn config_read(&mut self, ecam: u32) -> Option<u32> {
        self.take(CONFIG_TIME);
        self.hierarchy.config_read(ecam)
    }

    fn config_write(&mut self, ecam: u32, value: u32) -> bool {
        self.take(CONFIG_TIME);
        self.hierarchy.config_write(ecam, value)
    }

    fn memory_read(&mut self, address: u64) -> Option<u32> {
        match self.hierarchy.memory_read(address) {
            Ok(tag) => {
                let until = self.hierarchy.now() + ANSWER_WITHIN;
                self.pass(until, Some(tag)).flatten()
            }
            Err(AccessError::LinkDown) => None,
            Err(_) => Some(u32::MAX),
        }
    }

    fn memory_write(&mut self, address: u64, value: u32) -> bool {
        let sent = self.hierarchy.memory_write(address, value);
        sent != Err(AccessError::LinkDown)
    }

    fn link_up(&mut self) -> bool {
        self.hierarchy.link_up()
    }

    fn perst(&mut self, asserted: bool) {
        self.hierarchy.perst(asserted);
    }

    fn window_read(&mut self, offset: u16, data: &mut [u8]) {
        let at = usize::from(offset);
        if let Some(part) = self.window.get(at..at + data.len()) {
            data.copy_from_slice(part);
        }
    }

    fn window_write(&mut self, offset: u16, data: &[u8]) {
        let at = usize::from(offset);
        if let Some(part) = self.window.get_mut(at..at + data.len()) {
            part.copy_from_slice(data);
        }
    }

    fn now_us(&mut self) -> u64 {
        self.settle(None);
        self.hierarchy.now() / MICROSECOND
    }

    fn wait_us(&mut self, us: u64) {
        self.take(us.saturating_mul(MICROSECOND));
    }
}
