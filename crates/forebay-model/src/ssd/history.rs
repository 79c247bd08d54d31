// SPDX-License-Identifier: Apache-2.0
//! What a drive was given to store, in order, and what of it a loss of power may take.
//!
//! A drive with a volatile cache promises little (NVM Command Set 1.0c, 5.8 and 3.2.2): what a Flush
//! has covered, and writes through the cache. Whatever else it has acknowledged may be there, or not,
//! block by block.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::commands::CommandRef;
use crate::Time;

/// Bytes of a page of an image.
const PAGE: usize = 4096;

/// Pages of an image by their number.
pub type Pages = BTreeMap<u64, Box<[u8; PAGE]>>;

#[derive(Clone, Debug)]
enum Event {
    /// Bytes have come, for a command.
    Bytes {
        command: u64,
        at: u64,
        data: Box<[u8]>,
    },
    /// The command has its completion.
    Acknowledged(u64),
    /// A Flush takes what has been acknowledged so far.
    FlushBegan(u64),
    /// It has its completion.
    Flushed(u64),
}

/// Everything that was stored since it was asked for.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// What lay in each page before.
    before: Pages,
    events: Vec<Event>,
    /// When each of them was.
    times: Vec<Time>,
    /// Commands that are under way, by a number that none has twice.
    commands: HashMap<CommandRef, u64>,
    last: u64,
}

impl History {
    fn push(&mut self, now: Time, event: Event) {
        self.events.push(event);
        self.times.push(now);
    }

    fn number(&mut self, command: CommandRef) -> u64 {
        *self.commands.entry(command).or_insert_with(|| {
            self.last += 1;
            self.last
        })
    }

    /// Bytes come; `read` tells what lay in a page until now.
    pub(super) fn bytes(
        &mut self,
        now: Time,
        command: CommandRef,
        at: u64,
        data: &[u8],
        read: impl Fn(u64) -> Box<[u8]>,
    ) {
        let pages = at / PAGE as u64..(at + data.len() as u64).div_ceil(PAGE as u64);
        for page in pages {
            self.before.entry(page).or_insert_with(|| {
                let bytes: Result<Box<[u8; PAGE]>, _> = read(page * PAGE as u64).try_into();
                bytes.unwrap_or_else(|_| Box::new([0; PAGE]))
            });
        }
        let command = self.number(command);
        let data = data.into();
        self.push(now, Event::Bytes { command, at, data });
    }

    /// A Flush begins its work.
    pub(super) fn flush_began(&mut self, now: Time, command: CommandRef) {
        let command = self.number(command);
        self.push(now, Event::FlushBegan(command));
    }

    /// A command ends; `through` what it stored is sure to be there.
    pub(super) fn ended(&mut self, now: Time, command: CommandRef, flush: bool, through: bool) {
        let Some(number) = self.commands.remove(&command) else {
            return;
        };
        if !flush {
            self.push(now, Event::Acknowledged(number));
        }
        if flush || through {
            self.push(now, Event::Flushed(number));
        }
    }

    /// Instants at which the power may fail: one before each event, and one at the end.
    #[must_use]
    pub fn instants(&self) -> usize {
        self.events.len() + 1
    }

    /// When each event was, in picoseconds, none earlier than the one before.
    #[must_use]
    pub fn times(&self) -> &[Time] {
        &self.times
    }

    /// The pages that were touched, as they are after a loss of power at an instant. `keeps` is asked
    /// for each block of `block` bytes that is not durable whether the drive has it.
    #[must_use]
    pub fn after_cut(
        &self,
        instant: usize,
        block: usize,
        mut keeps: impl FnMut() -> bool,
    ) -> Pages {
        let events = self.events.get(..instant).unwrap_or(&self.events);
        let sure = sure(events);
        let mut pages = self.before.clone();
        for event in events {
            let Event::Bytes { command, at, data } = event else {
                continue;
            };
            let safe = sure.contains(command);
            let mut from = 0;
            while from < data.len() {
                let place = at + from as u64;
                let room = block - (place % block as u64) as usize;
                let part = &data[from..data.len().min(from + room)];
                if safe || keeps() {
                    put(&mut pages, place, part);
                }
                from += part.len();
            }
        }
        pages
    }

    /// How often something had been made sure of until an instant.
    #[must_use]
    pub fn flushes(&self, instant: usize) -> usize {
        let events = self.events.get(..instant).unwrap_or(&self.events);
        events
            .iter()
            .filter(|event| matches!(event, Event::Flushed(_)))
            .count()
    }
}

/// Commands whose bytes are sure to be there after these events.
fn sure(events: &[Event]) -> HashSet<u64> {
    let mut acknowledged = Vec::new();
    let mut taken: HashMap<u64, usize> = HashMap::new();
    let mut sure = HashSet::new();
    let mut done = 0;
    for event in events {
        match event {
            Event::Acknowledged(command) => acknowledged.push(*command),
            Event::FlushBegan(command) => {
                taken.insert(*command, acknowledged.len());
            }
            Event::Flushed(command) => match taken.remove(command) {
                Some(count) => {
                    let more = acknowledged.get(done..count).unwrap_or_default();
                    sure.extend(more);
                    done = done.max(count);
                }
                None => {
                    sure.insert(*command);
                }
            },
            Event::Bytes { .. } => {}
        }
    }
    sure
}

fn put(pages: &mut Pages, at: u64, mut data: &[u8]) {
    let mut at = at;
    while !data.is_empty() {
        let from = (at % PAGE as u64) as usize;
        let (part, rest) = data.split_at(data.len().min(PAGE - from));
        if let Some(page) = pages.get_mut(&(at / PAGE as u64)) {
            page[from..from + part.len()].copy_from_slice(part);
        }
        at += part.len() as u64;
        data = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ssd::commands::CommandRef;

    fn written(history: &mut History, number: u32, at: u64, byte: u8) {
        history.bytes(0, CommandRef::of(number), at, &[byte; 1024], |_| {
            vec![0; PAGE].into()
        });
    }

    fn byte(pages: &Pages, at: u64) -> u8 {
        pages
            .get(&(at / 4096))
            .map_or(0, |page| page[at as usize % 4096])
    }

    #[test]
    fn a_flush_makes_sure_of_what_was_acknowledged_before_it_began() {
        let mut history = History::default();
        let flush = CommandRef::of(9);
        written(&mut history, 1, 0, 1);
        history.ended(0, CommandRef::of(1), false, false);
        written(&mut history, 2, 4096, 2);
        history.flush_began(0, flush);
        history.ended(0, CommandRef::of(2), false, false);
        let before = history.instants() - 1;
        history.ended(0, flush, true, false);
        let at_end = history.instants() - 1;
        let lost = |instant| history.after_cut(instant, 512, || false);
        assert_eq!(byte(&lost(before), 0), 0, "its flush has not ended");
        assert_eq!(byte(&lost(at_end), 0), 1);
        assert_eq!(
            byte(&lost(at_end), 4096),
            0,
            "acknowledged too late for the flush"
        );
        let kept = history.after_cut(at_end, 512, || true);
        assert_eq!(byte(&kept, 4096), 2);
        assert_eq!((history.flushes(before), history.flushes(at_end)), (0, 1));
    }

    #[test]
    fn what_is_not_sure_may_be_torn() {
        let mut history = History::default();
        written(&mut history, 1, 0, 1);
        let mut turn = false;
        let pages = history.after_cut(history.instants(), 512, || {
            turn = !turn;
            turn
        });
        assert_eq!((byte(&pages, 511), byte(&pages, 512)), (1, 0));
    }

    #[test]
    fn a_write_through_the_cache_is_sure_by_itself() {
        let mut history = History::default();
        written(&mut history, 1, 0, 1);
        history.ended(0, CommandRef::of(1), false, false);
        written(&mut history, 2, 0, 2);
        history.ended(0, CommandRef::of(2), false, true);
        let pages = history.after_cut(history.instants(), 512, || false);
        assert_eq!(byte(&pages, 0), 2);
    }
}
