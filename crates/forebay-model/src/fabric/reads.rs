// SPDX-License-Identifier: Apache-2.0
//! Reads under way: the whole and its pieces.

use super::{Completion, FabricError};
use crate::Time;

/// Names a piece of a read that has arrived and wants an answer. Can be used once.
#[derive(Debug, PartialEq, Eq)]
pub struct Ticket {
    index: u32,
    generation: u32,
}

impl Ticket {
    /// The ticket of a posted write, which wants no answer.
    pub(super) const NONE: Self = Self {
        index: u32::MAX,
        generation: 0,
    };
}

/// A piece of a read.
#[derive(Debug)]
pub(super) struct Chunk {
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
    pieces_left: u32,
    pieces: u32,
    data: Box<[u8]>,
    error: Option<FabricError>,
}

/// Both tables, with their free entries.
#[derive(Debug, Default)]
pub(super) struct ReadTable {
    reads: Vec<Read>,
    free_reads: Vec<u32>,
    chunks: Vec<Chunk>,
    free_chunks: Vec<u32>,
}

impl ReadTable {
    /// Opens a read; its pieces are to follow.
    pub(super) fn open(&mut self, tag: u32, len: u32, pieces: u32) -> u32 {
        let read = Read {
            tag,
            len,
            pieces_left: pieces,
            pieces,
            ..Read::default()
        };
        match self.free_reads.pop() {
            Some(index) => {
                self.reads[index as usize] = read;
                index
            }
            None => {
                self.reads.push(read);
                self.reads.len() as u32 - 1
            }
        }
    }

    /// Opens a piece.
    pub(super) fn open_chunk(&mut self, read: u32, from: u8, offset: u32, len: u32) -> Ticket {
        if let Some(index) = self.free_chunks.pop() {
            let generation = self.chunks[index as usize].generation;
            let chunk = Chunk {
                generation,
                read,
                offset,
                len,
                from,
                target: 0,
                issued: 0,
            };
            self.chunks[index as usize] = chunk;
            return Ticket { index, generation };
        }
        let chunk = Chunk {
            generation: 0,
            read,
            offset,
            len,
            from,
            target: 0,
            issued: 0,
        };
        self.chunks.push(chunk);
        Ticket {
            index: self.chunks.len() as u32 - 1,
            generation: 0,
        }
    }

    /// The piece, if it still wants an answer.
    pub(super) fn chunk(&self, ticket: &Ticket) -> Option<&Chunk> {
        let chunk = self.chunks.get(ticket.index as usize)?;
        (chunk.generation == ticket.generation).then_some(chunk)
    }

    /// The requester's tag of a piece.
    pub(super) fn tag(&self, ticket: &Ticket) -> u32 {
        self.chunk(ticket)
            .map_or(0, |chunk| self.reads[chunk.read as usize].tag)
    }

    /// Notes when a piece left.
    pub(super) fn issued(&mut self, ticket: &Ticket, now: Time) {
        if let Some(chunk) = self.chunks.get_mut(ticket.index as usize) {
            chunk.issued = now;
        }
    }

    /// Notes who answers a piece.
    pub(super) fn set_target(&mut self, ticket: &Ticket, target: u8) {
        if let Some(chunk) = self.chunks.get_mut(ticket.index as usize) {
            chunk.target = target;
        }
    }

    /// Closes a piece; the last one yields the answer to the whole.
    pub(super) fn finish(
        &mut self,
        ticket: Ticket,
        result: Result<Box<[u8]>, FabricError>,
    ) -> Option<Completion> {
        let (index, offset) = {
            let chunk = self.chunks.get_mut(ticket.index as usize)?;
            chunk.generation = chunk.generation.wrapping_add(1);
            (chunk.read, chunk.offset as usize)
        };
        self.free_chunks.push(ticket.index);
        let read = self.reads.get_mut(index as usize)?;
        read.pieces_left = read.pieces_left.saturating_sub(1);
        match result {
            // The common case: one piece, whose bytes are handed on as they are.
            Ok(data) if read.pieces == 1 => read.data = data,
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
        if read.pieces_left != 0 {
            return None;
        }
        self.free_reads.push(index);
        let data = std::mem::take(&mut read.data);
        let result = match read.error {
            Some(error) => Err(error),
            None => Ok(data),
        };
        Some(Completion {
            tag: read.tag,
            result,
        })
    }
}
