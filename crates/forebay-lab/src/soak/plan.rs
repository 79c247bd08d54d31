// SPDX-License-Identifier: Apache-2.0
//! Which transaction is next: legal ones of all lengths, and some that must be refused.

use std::ops::Range;

use forebay_cosim::{Damage, Direction};
use forebay_spec::streamer::UserError;
use rand_core::RngCore;
use rand_pcg::Pcg64Mcg;

use super::case::Work;
use crate::workload::below;

/// Longest unordered read.
const UNORDERED: u64 = 4096;
/// Bytes of a beat of the streams.
const BEAT: u64 = 64;
/// Of this number of writes with a flush one has no data.
const EMPTY: u64 = 4;

/// A transaction before it is submitted.
#[derive(Clone, Debug)]
pub struct Planned {
    pub direction: Direction,
    pub address: u64,
    pub length: u64,
    /// What it may change, or what it reads: whole blocks, with parity of writes whole rows.
    pub range: Range<u64>,
    /// How it must be refused.
    pub refusal: Option<UserError>,
    pub unordered: bool,
    pub fua: bool,
    pub flush: bool,
    pub fence: bool,
    pub damage: Option<Damage>,
}

impl Planned {
    /// NVMe gives no order between commands that overlap, so a transaction must wait for one that is
    /// under way, unless both only read or it is a write that a fence puts behind another.
    pub fn waits_for(&self, other: &Self) -> bool {
        let ordered = match (self.direction, other.direction) {
            (Direction::Read, Direction::Read) => true,
            (Direction::Write, Direction::Write) => self.fence,
            _ => false,
        };
        !ordered && self.range.start < other.range.end && other.range.start < self.range.end
    }
}

/// Makes transactions.
#[derive(Debug)]
pub struct Planner {
    pub work: Work,
    pub random: Pcg64Mcg,
    /// Where they lie.
    pub area: Range<u64>,
    /// Bytes of the whole address space.
    pub capacity: u64,
    /// Bytes of a logical block.
    pub block: u64,
    /// What writes are multiples of, where there is parity.
    pub row: Option<u64>,
    /// SNAcc's streamer knows neither refusals nor flags.
    pub extended: bool,
}

impl Planner {
    /// The next transaction.
    pub fn next(&mut self) -> Planned {
        let direction = match self.happens(self.work.writes) {
            true => Direction::Write,
            false => Direction::Read,
        };
        let mut planned = self.legal(direction);
        if self.extended && self.happens(self.work.refused) {
            self.spoil(&mut planned);
        }
        planned
    }

    fn happens(&mut self, percent: u8) -> bool {
        below(&mut self.random, 100) < u64::from(percent)
    }

    fn legal(&mut self, direction: Direction) -> Planned {
        let is_write = direction == Direction::Write;
        let (flush, fua, fence) = (
            is_write && self.extended && self.happens(self.work.flush),
            is_write && self.extended && self.happens(self.work.fua),
            is_write && self.extended && self.work.fence > 0 && self.happens(self.work.fence),
        );
        if flush && below(&mut self.random, EMPTY) == 0 {
            return Planned {
                fua,
                flush,
                fence,
                ..self.of(direction, self.area.start, 0)
            };
        }
        let length = self.length();
        let whole = match (self.row, is_write) {
            (Some(row), true) => row,
            _ => self.block,
        };
        // Now whole pages, now only whole blocks: both kinds of alignment occur in the field.
        let unit = match self.random.next_u32() & 1 {
            0 => whole.max(4096),
            _ => whole,
        };
        let space = self.area.end - self.area.start;
        let room = space - length.next_multiple_of(whole).min(space);
        let address = self.area.start + below(&mut self.random, room / unit + 1) * unit;
        let mut planned = self.of(direction, address, length);
        planned.range.end = address + length.next_multiple_of(whole);
        planned.unordered =
            self.extended && !is_write && length <= UNORDERED && self.happens(self.work.unordered);
        Planned {
            fua,
            flush,
            fence,
            ..planned
        }
    }

    fn of(&self, direction: Direction, address: u64, length: u64) -> Planned {
        Planned {
            direction,
            address,
            length,
            range: address..address,
            refusal: None,
            unordered: false,
            fua: false,
            flush: false,
            fence: false,
            damage: None,
        }
    }

    /// Each power of two is as likely as the next: small ones are where mistakes hide.
    fn length(&mut self) -> u64 {
        let Work { least, largest, .. } = self.work;
        let (low, high) = (least.ilog2(), largest.ilog2());
        let power = 1 << (u64::from(low) + below(&mut self.random, u64::from(high - low) + 1));
        (power + below(&mut self.random, power)).clamp(least, largest)
    }

    /// Breaks one of the rules.
    fn spoil(&mut self, planned: &mut Planned) {
        let is_write = planned.direction == Direction::Write;
        let (block, row) = (self.block, self.row.unwrap_or(self.block));
        let far = u64::MAX / 2 / row * row;
        let kinds = if is_write { 5 } else { 6 };
        let length = planned.length.max(1);
        let area = self.area.clone();
        *planned = Planned {
            unordered: planned.unordered,
            ..self.of(planned.direction, planned.address, length)
        };
        let refusal = match below(&mut self.random, kinds) {
            0 => {
                planned.address += 1 + below(&mut self.random, block - 1);
                UserError::Misaligned
            }
            1 => {
                planned.address = far;
                UserError::OutOfRange
            }
            // Crosses the end of the array: bytes before it may be written, but are not compared.
            2 if area.end + row <= self.capacity => {
                planned.address = self.capacity - row;
                planned.length = row + 1 + below(&mut self.random, row);
                planned.unordered = false;
                UserError::OutOfRange
            }
            3 => {
                planned.length = 0;
                UserError::ZeroLength
            }
            4 if is_write && length > BEAT => {
                let beat = below(&mut self.random, (length - 1) / BEAT);
                let keep = u64::MAX >> (1 + below(&mut self.random, BEAT - 1));
                planned.damage = Some(Damage::Keep { beat, keep });
                // What came before may be stored.
                planned.range.end = planned.address + length.next_multiple_of(row);
                UserError::BadKeep
            }
            5 if self.capacity > UNORDERED => {
                planned.unordered = true;
                planned.address = planned.address.min(self.capacity - 2 * UNORDERED);
                planned.length = UNORDERED + 1 + below(&mut self.random, UNORDERED);
                UserError::TooLong
            }
            _ if is_write && row > block => {
                planned.address += block * (1 + below(&mut self.random, row / block - 1));
                UserError::Misaligned
            }
            _ => {
                planned.length = 0;
                UserError::ZeroLength
            }
        };
        planned.refusal = Some(refusal);
    }
}
