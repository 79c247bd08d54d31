// SPDX-License-Identifier: Apache-2.0
//! What a repair finds out about rings, and what it puts in place of holes.

use std::collections::BTreeMap;
use std::ops::Range;

use forebay_spec::store::index::Row;
use forebay_spec::store::page::FILLER;
use forebay_spec::store::superblock::Mode;
use forebay_spec::store::{Session, tar};

use crate::reader::Recording;
use crate::scan::{Found, Scan, See};
use crate::voids::Cover;
use crate::{Disk, Entry, Error, PAGE, Result, pages};

/// Bytes of a hole that one file takes: a tar header has eleven octal digits for its size.
const LOST_MOST: u64 = 4 << 30;

/// Headers that make files of a hole, and where they belong.
pub(crate) fn lost_headers(session: Session, hole: &Range<u64>) -> Vec<(u64, [u8; tar::BYTES])> {
    let places = (hole.start..hole.end).step_by(LOST_MOST as usize);
    places
        .map(|at| {
            let bytes = (hole.end - at).min(LOST_MOST) - tar::BYTES as u64;
            let name = format!("lost/{at:020}.bin");
            (
                at,
                tar::header(session, name.as_bytes(), tar::FILE, bytes, 0),
            )
        })
        .collect()
}

/// Takes out of the holes what fills up a page behind small objects, and says where that is to be.
///
/// Where a hole goes on behind the page, what is no filling may be part of what was lost: it stays.
pub(crate) fn take_fills<D: Disk + ?Sized>(
    disk: &D,
    holes: &mut Vec<Range<u64>>,
) -> Vec<Range<u64>> {
    let mut fills = Vec::new();
    holes.retain_mut(|hole| {
        let end = pages(hole.start);
        if end == hole.start || hole.end < end {
            return true;
        }
        if hole.end == end || is_filled(disk, hole.start..end) {
            fills.push(hole.start..end);
            hole.start = end;
        }
        !hole.is_empty()
    });
    fills
}

fn is_filled<D: Disk + ?Sized>(disk: &D, range: Range<u64>) -> bool {
    let mut bytes = vec![0; (range.end - range.start) as usize];
    let read = disk.read_at(range.start, &mut bytes).is_ok();
    read && bytes.chunks(tar::BYTES).all(|block| block == FILLER)
}

/// A ring that lost power.
#[derive(Default)]
pub(crate) struct Ring {
    /// Rows whose bytes are others now: bits of each block's.
    pub void: BTreeMap<u64, u64>,
    /// Extents behind the newest row.
    pub new: Vec<Found>,
    /// Where the next batch would begin.
    pub head: u64,
    /// First byte behind the newest row: in the middle of a batch the next extent begins there.
    next: u64,
    /// It has been gone round.
    pub wrapped: bool,
}

impl Ring {
    /// Finds out; with `check`, reads all that is stored: newer extents may have begun to cover
    /// what older rows describe, and have no row yet.
    pub fn of<D: Disk + ?Sized>(
        recording: &Recording<'_, D>,
        check: bool,
        see: See<'_>,
    ) -> Result<Self> {
        let data = recording.superblock().data;
        let mut ring = Self {
            head: data.at,
            next: data.at,
            ..Self::default()
        };
        let mut newest: BTreeMap<u16, (u64, u64)> = BTreeMap::new();
        let mut time = 0;
        for entry in recording.rows() {
            let Entry::Row {
                block,
                slot,
                row,
                wrong: None,
            } = entry
            else {
                continue;
            };
            if !see(row.address) {
                return Err(Error::Interrupted);
            }
            newest.insert(row.stream, (row.object, row.offset));
            time = row.time.max(time);
            if !row.stored() {
                continue;
            }
            let extent = recording.extent(&row);
            ring.next = match recording.superblock().mode {
                Mode::Samples => extent.at.saturating_add(recording.superblock().stride),
                _ => extent.end,
            };
            ring.head = pages(ring.next);
            if check && !is_whole(recording, &row) {
                *ring.void.entry(block).or_default() |= 1 << slot;
            }
        }
        if check && recording.superblock().mode == Mode::Objects {
            ring.follow(recording, &newest, time);
        }
        if let Some(closed) = recording.superblock().closed {
            ring.head = closed.end;
        }
        let beyond = ring.new.iter().any(|found| found.end > ring.head);
        ring.wrapped = recording.index.first > 0 || beyond || ring.has_older(recording);
        Ok(ring)
    }

    /// Whether anything stays that lies behind the newest extent: then it is older.
    fn has_older<D: Disk + ?Sized>(&self, recording: &Recording<'_, D>) -> bool {
        let mut cover = Cover::default();
        for found in &self.new {
            cover.add(found.at..found.end);
        }
        recording.rows().any(|entry| {
            let Entry::Row {
                block,
                slot,
                row,
                wrong: None,
            } = entry
            else {
                return false;
            };
            let void = self
                .void
                .get(&block)
                .is_some_and(|void| void >> slot & 1 != 0);
            let range = recording.extent(&row).range();
            row.stored() && !void && range.end > self.head && !cover.touches(&range)
        })
    }

    /// Goes on behind the newest row, from extent to extent, as far as they are newer.
    fn follow<D: Disk + ?Sized>(
        &mut self,
        recording: &Recording<'_, D>,
        newest: &BTreeMap<u16, (u64, u64)>,
        time: u64,
    ) {
        let superblock = recording.superblock();
        let (begin, end) = (superblock.data.at, superblock.data.end() - PAGE);
        let mut newest = newest.clone();
        let mut scan = Scan::new(recording.disk, superblock);
        let (mut at, mut turned) = (self.next, false);
        loop {
            let found = scan.at(at, end).filter(|found| {
                let facts = &found.facts;
                match newest.get(&facts.stream) {
                    Some(last) => (facts.object, facts.offset) > *last,
                    None => facts.time >= time,
                }
            });
            match found {
                Some(found) => {
                    let facts = &found.facts;
                    newest.insert(facts.stream, (facts.object, facts.offset));
                    at = found.end;
                    self.head = pages(at);
                    self.new.push(found);
                }
                // Behind a batch the next one begins with a page.
                None if !at.is_multiple_of(PAGE) => at = pages(at),
                None if !turned && at != begin => {
                    turned = true;
                    at = begin;
                }
                None => return,
            }
        }
    }
}

fn is_whole<D: Disk + ?Sized>(recording: &Recording<'_, D>, row: &Row) -> bool {
    matches!(recording.payload(row, &mut |_| Ok(())), Ok(None))
}
