// SPDX-License-Identifier: Apache-2.0
//! Where the data of writes come from and the data of reads go to.

use std::fmt;
use std::io::{self, Read, Write};
use std::sync::Arc;

/// The data of a write.
pub enum Payload {
    /// Bytes in memory.
    Bytes(Arc<[u8]>),
    /// Numbers that follow from the seed and the address of each byte on the SSD.
    Pattern {
        /// Seed of the numbers.
        seed: u64,
        /// Bytes in all.
        length: u64,
    },
    /// Anything that can be read; it is read as far as needed.
    Reader {
        /// Gives the bytes.
        reader: Box<dyn Read + Send>,
        /// Bytes in all.
        length: u64,
    },
}

impl Payload {
    /// Bytes in all.
    #[must_use]
    pub fn length(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Pattern { length, .. } | Self::Reader { length, .. } => *length,
        }
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self {
            Self::Bytes(_) => "Bytes",
            Self::Pattern { .. } => "Pattern",
            Self::Reader { .. } => "Reader",
        };
        write!(f, "{kind}({} bytes)", self.length())
    }
}

impl From<Vec<u8>> for Payload {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes.into())
    }
}

/// What becomes of the data of a read.
#[derive(Default)]
pub enum Sink {
    /// They are counted and forgotten.
    #[default]
    Discard,
    /// They are handed over with the outcome.
    Collect,
    /// They are compared with what [`Payload::Pattern`] wrote.
    Pattern {
        /// Seed of the numbers.
        seed: u64,
    },
    /// They are compared with these bytes.
    Compare(Arc<[u8]>),
    /// They are written away as they come.
    Writer(Box<dyn Write + Send>),
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Discard => "Discard",
            Self::Collect => "Collect",
            Self::Pattern { .. } => "Pattern",
            Self::Compare(_) => "Compare",
            Self::Writer(_) => "Writer",
        })
    }
}

/// First difference between what was expected and what came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mismatch {
    /// Offset in the transaction.
    pub offset: u64,
    /// What should have come.
    pub expected: u8,
    /// What came.
    pub found: u8,
}

/// Fills `data` with the pattern of an address that is a multiple of 8.
pub fn fill_pattern(seed: u64, address: u64, data: &mut [u8]) {
    let mut word = address / 8;
    let mut words = data.chunks_exact_mut(8);
    for bytes in &mut words {
        bytes.copy_from_slice(&pattern_word(seed, word).to_le_bytes());
        word += 1;
    }
    let rest = words.into_remainder();
    let bytes = pattern_word(seed, word).to_le_bytes();
    rest.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
}

const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
/// Its inverse modulo 2^64.
const FACTOR_INVERSE: u64 = inverse(FACTOR);

/// Of an odd number, modulo 2^64: each step of Newton's doubles the bits that are right.
const fn inverse(of: u64) -> u64 {
    let (mut inverse, mut step) = (of, 0);
    while step < 5 {
        inverse = inverse.wrapping_mul(2_u64.wrapping_sub(of.wrapping_mul(inverse)));
        step += 1;
    }
    inverse
}

#[inline]
fn pattern_word(seed: u64, word: u64) -> u64 {
    let x = (word ^ seed.rotate_left(32))
        .wrapping_add(seed)
        .wrapping_mul(FACTOR);
    x ^ (x >> 29)
}

/// The number of the word, of eight bytes, that has this pattern.
pub(crate) const fn pattern_word_of(seed: u64, pattern: u64) -> u64 {
    // Shifts by 29 and by twice that undo one another; the factor is odd and has an inverse.
    let x = pattern ^ (pattern >> 29) ^ (pattern >> 58);
    let x = x.wrapping_mul(FACTOR_INVERSE).wrapping_sub(seed);
    x ^ seed.rotate_left(32)
}

/// Bytes that are fetched from a reader at once, a multiple of the beat: none straddles two.
const BUFFER: usize = 64 << 10;

/// A payload as the write source takes it, beat by beat.
pub(crate) struct PayloadCursor {
    payload: Payload,
    address: u64,
    at: u64,
    buffer: Vec<u8>,
    buffer_at: usize,
}

impl PayloadCursor {
    pub fn new(payload: Payload, address: u64) -> Self {
        Self {
            payload,
            address,
            at: 0,
            buffer: Vec::new(),
            buffer_at: 0,
        }
    }

    /// Bytes that are still to come.
    pub fn left(&self) -> u64 {
        self.payload.length() - self.at
    }

    /// Fills a beat as far as there are bytes, the rest with zeros; returns how many there were.
    pub fn fill(&mut self, beat: &mut [u8; 64]) -> io::Result<usize> {
        let count = self.left().min(64) as usize;
        match &mut self.payload {
            Payload::Bytes(bytes) => {
                let at = self.at as usize;
                beat[..count].copy_from_slice(&bytes[at..at + count]);
            }
            Payload::Pattern { seed, .. } => {
                fill_pattern(*seed, self.address + self.at, &mut beat[..count]);
            }
            Payload::Reader { reader, length } => {
                if self.buffer_at == self.buffer.len() {
                    let left = (*length - self.at).min(BUFFER as u64) as usize;
                    self.buffer.resize(left, 0);
                    reader.read_exact(&mut self.buffer)?;
                    self.buffer_at = 0;
                }
                beat[..count].copy_from_slice(&self.buffer[self.buffer_at..self.buffer_at + count]);
                self.buffer_at += count;
            }
        }
        beat[count..].fill(0);
        self.at += count as u64;
        Ok(count)
    }
}

/// A sink as the read agent fills it, beat by beat.
pub(crate) struct SinkCursor {
    sink: Sink,
    address: u64,
    at: u64,
    pub data: Vec<u8>,
    pub mismatch: Option<Mismatch>,
}

impl SinkCursor {
    pub fn new(sink: Sink, address: u64) -> Self {
        Self {
            sink,
            address,
            at: 0,
            data: Vec::new(),
            mismatch: None,
        }
    }

    /// Bytes that have come.
    pub fn received(&self) -> u64 {
        self.at
    }

    /// Takes the valid bytes of a beat.
    pub fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        let at = self.at;
        self.at += bytes.len() as u64;
        match &mut self.sink {
            Sink::Discard => {}
            Sink::Collect => self.data.extend_from_slice(bytes),
            Sink::Pattern { seed } => {
                let mut expected = [0; 64];
                let expected = &mut expected[..bytes.len()];
                fill_pattern(*seed, self.address + at, expected);
                self.mismatch = self
                    .mismatch
                    .or_else(|| first_difference(at, expected, bytes));
            }
            Sink::Compare(all) => {
                let start = (at as usize).min(all.len());
                let expected = &all[start..(start + bytes.len()).min(all.len())];
                self.mismatch = self
                    .mismatch
                    .or_else(|| first_difference(at, expected, bytes));
            }
            Sink::Writer(writer) => writer.write_all(bytes)?,
        }
        Ok(())
    }

    /// Completes what was written away.
    pub fn finish(&mut self) -> io::Result<()> {
        match &mut self.sink {
            Sink::Writer(writer) => writer.flush(),
            _ => Ok(()),
        }
    }
}

fn first_difference(at: u64, expected: &[u8], found: &[u8]) -> Option<Mismatch> {
    if expected == found {
        return None;
    }
    let differs = expected.iter().zip(found).position(|(e, f)| e != f);
    let offset = differs.unwrap_or(expected.len().min(found.len()));
    let byte = |bytes: &[u8]| bytes.get(offset).copied().unwrap_or_default();
    Some(Mismatch {
        offset: at + offset as u64,
        expected: byte(expected),
        found: byte(found),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_of(payload: Payload) -> Vec<u8> {
        let mut cursor = PayloadCursor::new(payload, 4096);
        let mut all = Vec::new();
        let mut beat = [0xee; 64];
        while cursor.left() > 0 {
            let count = cursor.fill(&mut beat).expect("readable");
            all.extend_from_slice(&beat[..count]);
            assert!(beat[count..].iter().all(|b| *b == 0));
        }
        all
    }

    #[test]
    fn every_payload_gives_its_bytes() {
        let length = BUFFER + 130;
        let bytes: Vec<u8> = (0..length).map(|i| (i * 7) as u8).collect();
        assert_eq!(all_of(bytes.clone().into()), bytes);
        let reader = Box::new(io::Cursor::new(bytes.clone()));
        assert_eq!(
            all_of(Payload::Reader {
                reader,
                length: length as u64
            }),
            bytes
        );
        let mut expected = vec![0; 1001];
        fill_pattern(5, 4096, &mut expected);
        assert_eq!(
            all_of(Payload::Pattern {
                seed: 5,
                length: 1001
            }),
            expected
        );
    }

    #[test]
    fn sinks_find_the_first_difference() {
        let mut bytes = vec![0; 192];
        fill_pattern(9, 512, &mut bytes);
        bytes[100] ^= 1;
        let mut sink = SinkCursor::new(Sink::Pattern { seed: 9 }, 512);
        bytes
            .chunks(64)
            .for_each(|beat| sink.take(beat).expect("taken"));
        assert_eq!(sink.mismatch.map(|m| m.offset), Some(100));
        let mut sink = SinkCursor::new(Sink::Compare(Arc::from([1_u8, 2, 3].as_slice())), 0);
        sink.take(&[1, 2, 3, 4]).expect("taken");
        let extra = Mismatch {
            offset: 3,
            expected: 0,
            found: 4,
        };
        assert_eq!(sink.mismatch, Some(extra));
    }

    #[test]
    fn a_reader_that_ends_early_is_an_error() {
        let reader = Box::new(io::Cursor::new(vec![0; 10]));
        let mut cursor = PayloadCursor::new(Payload::Reader { reader, length: 64 }, 0);
        assert!(cursor.fill(&mut [0; 64]).is_err());
    }
}
