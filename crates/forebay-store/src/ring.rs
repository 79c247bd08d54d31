// SPDX-License-Identifier: Apache-2.0
//! What a repair finds out about a ring.

use std::collections::{BTreeMap, HashSet};
use std::ops::{Range, RangeInclusive};

use forebay_spec::store::index::Row;
use forebay_spec::store::superblock::Mode;

use crate::reader::Recording;
use crate::scan::{Found, Scan, See, Seen, State};
use crate::voids::Cover;
use crate::{Damage, Entry, Error, Result};

/// Whether an extent is not what its index record says: its payload is damaged, or its header block is, and
/// lies where it cannot be written anew, since something newer may be there.
fn is_gone(recording: &Recording<'_>, row: &Row, newer: &Cover) -> bool {
    match recording.payload(row, &mut |_| Ok(())) {
        Ok(Some(Damage::Crc { .. })) => true,
        Ok(Some(Damage::Page(_))) => newer.touches(&(recording.extent(row).at..row.address)),
        _ => false,
    }
}

/// Stream, object, offset and checksum of an extent.
type Key = (u16, u64, u64, u32);

fn key(found: &Found) -> Key {
    let facts = &found.facts;
    (facts.stream, facts.object, facts.offset, facts.crc32c)
}

/// Blocks of the index that follow each other and are not good.
struct Run {
    blocks: Vec<u64>,
    unreadable: bool,
    /// Times of the index records in front of theirs and behind.
    times: RangeInclusive<u64>,
    /// Good blocks follow.
    ends: bool,
    found: Vec<Found>,
}

/// A ring, from its newest extent on.
#[derive(Default)]
pub(crate) struct Ring {
    /// Index records of extents on whose bytes newer ones lie that have no record: bits of each
    /// block's.
    pub void: BTreeMap<u64, u64>,
    /// Extents behind the newest that has an index record.
    pub new: Vec<Found>,
    /// What was found for damaged blocks of the index; nothing for those that must stay.
    pub broken: Vec<(u64, Vec<Found>)>,
    /// Blocks that cannot be read.
    pub unreadable: u64,
    /// More may lie behind the newest extent, where it cannot be read.
    pub unsure: bool,
    /// Bytes that newer extents without an index record claim.
    pub claimed: Cover,
    /// Where the next batch would begin.
    pub head: u64,
    /// It has been gone round.
    pub wrapped: bool,
    /// Index records of extents that something without one might lie on.
    pub judged: u64,
    /// Bytes of those that are intact.
    kept: Vec<Range<u64>>,
    /// First byte behind the newest extent: in the middle of a batch the next one begins there.
    next: u64,
    /// Newer extents of which only the header block is good.
    pub partial: Vec<Found>,
    runs: Vec<Run>,
    /// What has an index record: an older extent may have lain at the same place.
    indexed: HashSet<(u64, Key)>,
    /// Time and number of each stream's newest extent.
    newest: BTreeMap<u16, (u64, (u64, u64))>,
    time: u64,
}

impl Ring {
    /// Finds out; with `force` blocks of the index that cannot be read are taken for damaged.
    pub fn of(recording: &Recording<'_>, force: bool, see: See<'_>) -> Result<Self> {
        let superblock = recording.superblock();
        let mut ring = Self {
            head: superblock.data.at,
            next: superblock.data.at,
            ..Self::default()
        };
        ring.survey(recording, see)?;
        if force {
            ring.unreadable = 0;
            ring.runs.iter_mut().for_each(|run| run.unreadable = false);
        }
        let open = superblock.closed.is_none();
        ring.unsure = open && !force && recording.index.unsure.is_some();
        let lost = ring.runs.iter().any(|run| !run.unreadable);
        if superblock.mode == Mode::Objects && (open && !ring.unsure || lost) {
            let mut seen = Seen::default();
            let all = superblock.data.at..superblock.data_end();
            Scan::new(recording.disk, superblock).all(all, u64::MAX, see, &mut seen)?;
            seen.drop_copies(recording);
            if open && !ring.unsure {
                ring.find_new(recording, &seen, force);
                ring.find_voids(recording, see)?;
            }
            ring.find_lost(&seen);
        }
        if open && !ring.unsure {
            ring.judge(
                recording,
                recording.index.overtaken(),
                &Cover::default(),
                see,
            )?;
        }
        let beyond = ring.new.iter().any(|found| found.end > ring.head);
        let mut new = Cover::default();
        for found in &ring.new {
            new.add(found.at..found.end);
        }
        ring.share_out(recording.form().layout().rows);
        // Those of a mended block void what they lie on; but not all of a block can be found.
        let mut mended = Cover::default();
        for found in ring.broken.iter().flat_map(|(_, found)| found) {
            mended.add(found.at..superblock.aligned(found.end));
        }
        if mended.count() > 0 {
            ring.judge(recording, recording.index.in_gaps(), &mended, see)?;
        }
        if let Some(closed) = superblock.closed {
            ring.head = closed.end;
        }
        // Older extents may be those of a block that is left.
        let left = ring.broken.iter().any(|(_, found)| found.is_empty());
        let sure = recording.index.first == 0 && !beyond && !left && ring.unreadable == 0;
        ring.wrapped = !sure || ring.has_older(recording, &new);
        Ok(ring)
    }

    fn survey(&mut self, recording: &Recording<'_>, see: See<'_>) -> Result<()> {
        let index = &recording.index;
        let voids = index.overlapped().chain(index.in_gaps());
        for (number, void) in voids.chain(index.overtaken()) {
            let block = recording.block(number);
            let rows = block.iter().flat_map(|block| &block.rows);
            for (slot, row) in rows.enumerate() {
                if void >> slot & 1 != 0 {
                    self.add_record(row);
                }
            }
        }
        for entry in recording.rows() {
            let row = match entry {
                Entry::Row {
                    row, wrong: None, ..
                } => row,
                Entry::Row { .. } => continue,
                Entry::Damaged {
                    block, unreadable, ..
                } => {
                    self.add_broken(recording, block, unreadable);
                    continue;
                }
            };
            if !see(row.address) {
                return Err(Error::Interrupted);
            }
            self.newest
                .insert(row.stream, (row.time, (row.object, row.offset)));
            self.time = row.time.max(self.time);
            if let Some(run) = self.runs.last_mut().filter(|run| !run.ends) {
                run.ends = true;
                run.times = *run.times.start()..=row.time.max(*run.times.start());
            }
            if !row.stored() {
                continue;
            }
            let extent = recording.extent(&row);
            self.add_record(&row);
            self.next = match recording.superblock().mode {
                Mode::Samples => extent.at.saturating_add(recording.superblock().stride),
                _ => extent.end,
            };
            self.head = recording.superblock().aligned(self.next);
        }
        let head = recording.blocks();
        self.end_run_before(recording, head);
        for block in head..head + recording.index.doubtful {
            self.add_broken(recording, block, false);
        }
        Ok(())
    }

    fn add_record(&mut self, row: &Row) {
        let key = (row.stream, row.object, row.offset, row.crc32c);
        self.indexed.insert((row.address, key));
    }

    fn add_broken(&mut self, recording: &Recording<'_>, block: u64, unreadable: bool) {
        self.unreadable += u64::from(unreadable);
        self.end_run_before(recording, block);
        match self.runs.last_mut().filter(|run| !run.ends) {
            Some(run) => {
                run.blocks.push(block);
                run.unreadable |= unreadable;
            }
            None => self.runs.push(Run {
                blocks: vec![block],
                unreadable,
                times: self.time..=u64::MAX,
                ends: false,
                found: Vec::new(),
            }),
        }
    }

    /// Ends the last run where good blocks follow it, of which no index record is left.
    fn end_run_before(&mut self, recording: &Recording<'_>, block: u64) {
        let run = self.runs.last_mut().filter(|run| !run.ends);
        let last = run.as_ref().and_then(|run| run.blocks.last().copied());
        let (Some(run), Some(last)) = (run, last) else {
            return;
        };
        if last + 1 == block {
            return;
        }
        run.ends = true;
        let times = (last + 1..block).filter_map(|number| recording.block(number).ok());
        // Also those of index records that are void say when they were written.
        let times = times.flat_map(|block| block.rows.map(|row| row.time));
        let newest = times.max().unwrap_or(0).max(self.time);
        run.times = *run.times.start()..=newest.max(*run.times.start());
        self.time = newest;
    }

    /// Whether anything stays that lies behind the newest extent: then it is older.
    fn has_older(&self, recording: &Recording<'_>, new: &Cover) -> bool {
        let rebuilt = self.broken.iter().flat_map(|(_, found)| found);
        let older = |range: Range<u64>| range.end > self.head && !new.touches(&range);
        let rebuilt = rebuilt.map(|found| found.at..found.end);
        if rebuilt.chain(self.kept.iter().cloned()).any(older) {
            return true;
        }
        recording.stored().any(|(block, slot, row)| {
            let void = self.void.get(&block).copied().unwrap_or_default();
            void >> slot & 1 == 0 && older(recording.extent(&row).range())
        })
    }

    fn is_indexed(&self, found: &Found) -> bool {
        self.indexed.contains(&(found.payload, key(found)))
    }

    /// It has no index record yet, and it came later than those of its stream that have one.
    /// Numbers alone do not say that: a sender that was started anew counts from 0.
    fn is_newer(&self, found: &Found) -> bool {
        let facts = &found.facts;
        let place = (facts.time, (facts.object, facts.offset));
        !self.is_indexed(found)
            && match self.newest.get(&facts.stream) {
                Some(newest) => place > *newest,
                None => facts.time >= self.time,
            }
    }

    /// Takes what is newer than all that has an index record; nothing where something cannot be
    /// read that may be newer, too, but for `force`.
    fn find_new(&mut self, recording: &Recording<'_>, seen: &Seen, force: bool) {
        let next = self.next;
        let whole = seen.whole.iter().map(|found| (*found, State::Whole));
        let newer = whole.chain(seen.partial.iter().copied());
        let mut newer: Vec<_> = newer.filter(|(found, _)| self.is_newer(found)).collect();
        newer.sort_by_key(|(found, _)| (found.facts.time, found.at < next, found.at));
        let head = newer.last().map_or(next, |(found, _)| found.end);
        let superblock = recording.superblock();
        let data = superblock.data;
        // Behind the newest the next one may lie, or at the beginning.
        let between = recording.form().between(next, superblock.aligned(head + 1));
        let begin = data.at..data.at + superblock.unit();
        let unreadable = newer.iter().any(|(_, state)| *state == State::Unreadable);
        let mut places = between.iter().chain([&begin]);
        let dark = places.any(|part| seen.unreadable.touches(part));
        self.unsure = !force && (unreadable || dark);
        if self.unsure {
            return;
        }
        self.head = superblock.aligned(head);
        for (found, state) in newer {
            self.claimed.add(found.at..found.end);
            match state {
                State::Whole => self.new.push(found),
                _ => self.partial.push(found),
            }
        }
    }

    /// Takes what belongs to damaged blocks of the index: extents without an index record from the
    /// time between those of the blocks beside them.
    fn find_lost(&mut self, seen: &Seen) {
        for found in &seen.whole {
            if self.is_indexed(found) || self.claimed.touches(&(found.at..found.end)) {
                continue;
            }
            let time = found.facts.time;
            let mut runs = self.runs.iter_mut().rev();
            let run = runs.find(|run| run.times.contains(&time));
            if let Some(run) = run.filter(|run| !run.unreadable) {
                run.found.push(*found);
            }
        }
    }

    /// Index records of extents that a newer header block lies on, or a newer payload that was not
    /// stored in full and for which their own was given up. What is merely damaged, or cannot be
    /// read, keeps its record.
    fn find_voids(&mut self, recording: &Recording<'_>, see: See<'_>) -> Result<()> {
        if self.partial.is_empty() || !recording.index.complete {
            return Ok(());
        }
        let (mut fronts, mut claimed) = (Cover::default(), Cover::default());
        for found in &self.partial {
            fronts.add(found.at..found.payload);
            claimed.add(found.at..found.end);
        }
        for (block, slot, row) in recording.stored() {
            if !see(row.address) {
                return Err(Error::Interrupted);
            }
            let range = recording.extent(&row).range();
            if !claimed.touches(&range) {
                continue;
            }
            if fronts.touches(&range) || is_gone(recording, &row, &claimed) {
                *self.void.entry(block).or_default() |= 1 << slot;
            }
        }
        Ok(())
    }

    /// Of extents that something without an index record may lie on, those that are damaged are void: the
    /// others count again, but for those on which lies what is `known`.
    fn judge(
        &mut self,
        recording: &Recording<'_>,
        voids: impl Iterator<Item = (u64, u64)>,
        known: &Cover,
        see: See<'_>,
    ) -> Result<()> {
        for (number, mask) in voids {
            let Ok(block) = recording.block(number) else {
                continue;
            };
            let rows = block.rows.iter().enumerate();
            for (slot, row) in rows.filter(|(slot, _)| mask >> slot & 1 != 0) {
                if !see(row.address) {
                    return Err(Error::Interrupted);
                }
                if known.touches(&recording.extent(row).range()) {
                    continue;
                }
                self.judged += 1;
                match is_gone(recording, row, &self.claimed) {
                    true => *self.void.entry(number).or_default() |= 1 << slot,
                    false => self.kept.push(recording.extent(row).range()),
                }
            }
        }
        Ok(())
    }

    /// Gives each damaged block, with room for N records, its part of what was found.
    fn share_out(&mut self, room: usize) {
        for mut run in std::mem::take(&mut self.runs) {
            if run.unreadable {
                continue;
            }
            let most = run.blocks.len() * room;
            if !run.ends {
                // Behind the last good block: what is new there is theirs first.
                let more = self.new.len().min(most.saturating_sub(run.found.len()));
                run.found.extend(self.new.drain(..more));
            }
            let next = self.next;
            run.found
                .sort_by_key(|found| (found.facts.time, found.at < next, found.at));
            // Those of older blocks that are gone lie in front of them.
            run.found.drain(..run.found.len().saturating_sub(most));
            let each = run.found.len().div_ceil(run.blocks.len());
            for block in run.blocks {
                let own = run.found.drain(..run.found.len().min(each)).collect();
                self.broken.push((block, own));
            }
        }
    }
}
