// SPDX-License-Identifier: Apache-2.0
//! Reads under way: the whole and its parts.

use super::{Completion, FabricError};
use crate::Time;

/// Identifies a part of a read that has arrived and must be answered. Can be used once.
#[derive(Debug, PartialEq, Eq)]
pub struct Ticket {
    index: u32,
    generation: u32,
}

impl Ticket {
    /// The ticket of a posted write, which wants no answer.
    pub const NONE: Self = Self {
        index: u32::MAX,
        generation: 0,
    };

    /// A ticket for reads that come by no fabric, by their number below 2^32 - 1.
    #[must_use]
    pub const fn numbered(number: u32) -> Self {
        Self {
            index: number,
            generation: 0,
        }
    }

    /// Its number, where it was made by [`Ticket::numbered`].
    #[must_use]
    pub const fn number(self) -> u32 {
        self.index
    }
}

/// A part of a read: one request with one tag.
#[derive(Debug, Default)]
pub(super) struct Part {
    generation: u32,
    read: u32,
    offset: u32,
    pub(super) len: u32,
    pub(super) from: u8,
    pub(super) target: u8,
    pub(super) issued: Time,
}

#[derive(Debug, Default)]
struct Read {
    tag: u32,
    len: u32,
    parts_left: u32,
    parts: u32,
    data: Box<[u8]>,
    error: Option<FabricError>,
}

/// Both tables, with their free entries.
#[derive(Debug, Default)]
pub(super) struct ReadTable {
    reads: Vec<Read>,
    free_reads: Vec<u32>,
    parts: Vec<Part>,
    free_parts: Vec<u32>,
}

impl ReadTable {
    /// Opens a read; its parts are to follow.
    pub(super) fn open(&mut self, tag: u32, len: u32, parts: u32) -> u32 {
        let index = self.free_reads.pop().unwrap_or_else(|| {
            self.reads.push(Read::default());
            self.reads.len() as u32 - 1
        });
        self.reads[index as usize] = Read {
            tag,
            len,
            parts_left: parts,
            parts,
            ..Read::default()
        };
        index
    }

    /// Opens a part.
    pub(super) fn open_part(&mut self, read: u32, from: u8, offset: u32, len: u32) -> Ticket {
        let index = self.free_parts.pop().unwrap_or_else(|| {
            self.parts.push(Part::default());
            self.parts.len() as u32 - 1
        });
        let part = &mut self.parts[index as usize];
        let generation = part.generation;
        *part = Part {
            generation,
            read,
            offset,
            len,
            from,
            ..Part::default()
        };
        Ticket { index, generation }
    }

    /// The part, if it still wants an answer.
    pub(super) fn part(&self, ticket: &Ticket) -> Option<&Part> {
        let part = self.parts.get(ticket.index as usize)?;
        (part.generation == ticket.generation).then_some(part)
    }

    /// The requester's tag of a part.
    pub(super) fn tag(&self, ticket: &Ticket) -> u32 {
        self.part(ticket)
            .map_or(0, |part| self.reads[part.read as usize].tag)
    }

    /// Notes when a part left.
    pub(super) fn issued(&mut self, ticket: &Ticket, now: Time) {
        if let Some(part) = self.parts.get_mut(ticket.index as usize) {
            part.issued = now;
        }
    }

    /// Notes who answers a part.
    pub(super) fn set_target(&mut self, ticket: &Ticket, target: u8) {
        if let Some(part) = self.parts.get_mut(ticket.index as usize) {
            part.target = target;
        }
    }

    /// Closes a part; the last one yields the answer to the whole.
    pub(super) fn finish(
        &mut self,
        ticket: Ticket,
        result: Result<Box<[u8]>, FabricError>,
    ) -> Option<Completion> {
        let (index, offset) = {
            let part = self.parts.get_mut(ticket.index as usize)?;
            part.generation = part.generation.wrapping_add(1);
            (part.read, part.offset as usize)
        };
        self.free_parts.push(ticket.index);
        let read = self.reads.get_mut(index as usize)?;
        read.parts_left = read.parts_left.saturating_sub(1);
        match result {
            // The common case: one part, whose bytes are handed on as they are.
            Ok(data) if read.parts == 1 => read.data = data,
            Ok(data) => {
                if read.data.is_empty() {
                    read.data = vec![0; read.len as usize].into_boxed_slice();
                }
                if let Some(place) = read.data.get_mut(offset..offset + data.len()) {
                    place.copy_from_slice(&data);
                }
            }
            Err(error) => read.error = read.error.or(Some(error)),
        }
        if read.parts_left != 0 {
            return None;
        }
        self.free_reads.push(index);
        let data = std::mem::take(&mut read.data);
        Some(Completion {
            tag: read.tag,
            result: read.error.map_or(Ok(data), Err),
        })
    }
}
