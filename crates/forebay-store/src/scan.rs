// SPDX-License-Identifier: Apache-2.0
//! Looks for extents header block by header block, where no index record says where they are.

use std::collections::HashSet;
use std::ops::Range;

use forebay_spec::store::PAGE_BYTES;
use forebay_spec::store::page::Facts;
use forebay_spec::store::superblock::Superblock;

use crate::extent::read_front;
use crate::reader::Recording;
use crate::voids::Cover;
use crate::{Disk, Error, Result, crc32c, grains};

/// Bytes that are read at once.
const CHUNK: usize = 1 << 20;
/// Payloads with a wrong checksum may take this multiple of the bytes looked through: header blocks
/// that claim gigabytes each must not take for ever.
const PATIENCE: u64 = 8;

/// An extent that lies there whole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// First byte of what stands in front of its payload.
    pub at: u64,
    /// First byte of its payload.
    pub payload: u64,
    /// First byte behind it.
    pub end: u64,
    /// What the header block says.
    pub facts: Facts,
}

/// Told how far it is; says whether to go on.
pub type See<'s> = &'s mut dyn FnMut(u64) -> bool;

/// A payload, beside the checksum in front of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It has this checksum.
    Whole,
    /// It has another.
    Damaged,
    /// The disk does not give it.
    Unreadable,
}

/// What lies where no record says what it is.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Extents that are whole.
    pub whole: Vec<Found>,
    /// Extents of which the header block is good, but not the payload; no other lies on them.
    pub partial: Vec<(Found, State)>,
    /// Bytes outside of these that the disk does not give.
    pub unreadable: Cover,
}

impl Seen {
    /// Drops extents that are only copies of others. Where power was lost before the parity of a stripe was
    /// written, the bytes that are computed for a missing member may be those that another member has.
    pub fn drop_copies(&mut self, recording: &Recording<'_>) {
        let computed = |found: &Found| recording.disk.is_computed(found.payload - 1);
        let partial = self.partial.iter().map(|(found, _)| found);
        if !self.whole.iter().chain(partial).any(computed) {
            return;
        }
        let name = |found: &Found| {
            let facts = &found.facts;
            let place = (facts.stream, facts.object, facts.offset);
            (place, facts.time, facts.crc32c)
        };
        let rows = recording.stored();
        let rows =
            rows.map(|(_, _, row)| ((row.stream, row.object, row.offset), row.time, row.crc32c));
        let there = self.whole.iter().filter(|found| !computed(found));
        let known: HashSet<_> = rows.chain(there.map(name)).collect();
        let keep = |found: &Found| !computed(found) || !known.contains(&name(found));
        self.whole.retain(keep);
        self.partial.retain(|(found, _)| keep(found));
    }

    fn settle(&mut self, mut partial: Vec<(Found, State)>, unreadable: Vec<Range<u64>>) {
        let mut cover = Cover::default();
        for found in &self.whole {
            cover.add(found.at..found.end);
        }
        partial.retain(|(found, _)| {
            let free = !cover.touches(&(found.at..found.end));
            if free {
                cover.add(found.at..found.end);
            }
            free
        });
        self.partial.extend(partial);
        let outside = unreadable.into_iter().filter(|range| !cover.touches(range));
        outside.for_each(|range| self.unreadable.add(range));
    }
}

/// Looks through a recording's data.
pub struct Scan<'d> {
    disk: &'d dyn Disk,
    superblock: &'d Superblock,
    chunk: Vec<u8>,
    chunk_at: u64,
    /// The disk does not give the chunk.
    unreadable: bool,
    /// Bytes of payloads that were read for nothing.
    wasted: u64,
}

impl<'d> Scan<'d> {
    /// Of this recording.
    #[must_use]
    pub const fn new(disk: &'d dyn Disk, superblock: &'d Superblock) -> Self {
        Self {
            disk,
            superblock,
            chunk: Vec::new(),
            chunk_at: 0,
            unreadable: false,
            wasted: 0,
        }
    }

    /// What a header block there says, as far as it can be read.
    fn front(&mut self, at: u64, end: u64) -> Option<Facts> {
        let held = self.chunk_at..self.chunk_at + self.chunk.len() as u64;
        if !held.contains(&at) {
            let most = end.saturating_sub(at).min(CHUNK as u64) as usize;
            self.chunk.resize(most, 0);
            self.chunk_at = at;
            // A single page then, or header, so that one that cannot be read hides no other.
            let less = [PAGE_BYTES, self.superblock.header() as usize];
            let mut less = less.into_iter();
            self.unreadable = false;
            while self.disk.read_at(at, &mut self.chunk).is_err() {
                let Some(bytes) = less.next() else {
                    self.chunk.fill(0);
                    self.unreadable = true;
                    break;
                };
                self.chunk.truncate(bytes);
            }
        }
        let from = (at - self.chunk_at) as usize;
        read_front(self.superblock, self.chunk.get(from..)?)
    }

    /// What stands there, if it is of this recording whose payload ends before `end`.
    fn claim(&mut self, at: u64, end: u64) -> Option<Found> {
        let payload = at.saturating_add(self.superblock.front());
        let header = payload - self.superblock.header();
        let facts = self.front(header, end)?;
        let padded = grains(facts.length.into(), self.superblock.grain());
        let found = Found {
            at,
            payload,
            end: payload.saturating_add(padded),
            facts,
        };
        let ours = facts.session == self.superblock.session
            && facts.extension == self.superblock.extension;
        (ours && found.end <= end).then_some(found)
    }

    /// The extent that lies whole at a place.
    pub fn at(&mut self, at: u64, end: u64) -> Option<Found> {
        let found = self.claim(at, end)?;
        (self.state(&found) == State::Whole).then_some(found)
    }

    fn state(&mut self, found: &Found) -> State {
        let (mut at, mut left, mut crc) = (found.payload, u64::from(found.facts.length), 0);
        let mut chunk = vec![0; CHUNK.min(left as usize)];
        while left > 0 {
            let bytes = &mut chunk[..left.min(CHUNK as u64) as usize];
            if self.disk.read_at(at, bytes).is_err() {
                break;
            }
            crc = crc32c(crc, bytes);
            at += bytes.len() as u64;
            left -= bytes.len() as u64;
        }
        let state = match left {
            0 if crc == found.facts.crc32c => return State::Whole,
            0 => State::Damaged,
            _ => State::Unreadable,
        };
        self.wasted = self.wasted.saturating_add(found.facts.length.into());
        state
    }

    /// Adds what lies between two places; it ends where for `look` bytes there was nothing of this
    /// recording.
    ///
    /// # Errors
    /// Where the user wants to stop.
    pub(crate) fn all(
        &mut self,
        range: Range<u64>,
        look: u64,
        see: See<'_>,
        seen: &mut Seen,
    ) -> Result<()> {
        let grain = self.superblock.grain();
        let (mut at, mut until) = (range.start, range.start.saturating_add(look));
        let patience = range
            .end
            .saturating_sub(range.start)
            .saturating_mul(PATIENCE);
        let (mut partial, mut unreadable) = (Vec::new(), Vec::new());
        self.wasted = 0;
        while at < range.end.min(until) {
            if (at - range.start).is_multiple_of(CHUNK as u64) && !see(at) {
                return Err(Error::Interrupted);
            }
            match self.claim(at, range.end) {
                Some(found) => {
                    until = until.max(found.end.saturating_add(look));
                    let state = match self.wasted <= patience {
                        true => self.state(&found),
                        false => State::Unreadable,
                    };
                    if state == State::Whole {
                        at = found.end;
                        seen.whole.push(found);
                        continue;
                    }
                    partial.push((found, state));
                }
                None if self.unreadable => unreadable.push(at..at + grain),
                None => {}
            }
            at += grain;
        }
        seen.settle(partial, unreadable);
        Ok(())
    }
}
