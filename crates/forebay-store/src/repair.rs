// SPDX-License-Identifier: Apache-2.0
//! Ends a recording that lost power, and mends what can be mended.
//!
//! First it is found out what is there, then what is to be written, and only then it is written: in
//! an order that leaves the recording readable, should power be lost again. What the disk does not
//! give may be whole: nothing is written over it, and nothing is concluded from it.

use std::io;
use std::ops::Range;

use forebay_spec::store::PAGE_BYTES;
use forebay_spec::store::index::{COUNTS, Row};
use forebay_spec::store::layout::ROWS_MOST;
use forebay_spec::store::superblock::{Closed, Mode, Superblock};
use serde::Serialize;

use crate::disk::{flush, write};
use crate::draft::Draft;
use crate::mend::{correct_blocks, mend_headers, rows_of, take_fills, write_fill, write_lost};
use crate::reader::{Recording, schema_differs, super_places};
use crate::ring::Ring;
use crate::scan::{Found, Scan, See, Seen, State};
use crate::voids::Cover;
use crate::writer::{close, end_marks, write_block, write_fillers};
use crate::{Disk, Entry, Error, Result, crc32c, undo};

/// Bytes behind the last extent that are looked through for more, at least.
const LOOK_LEAST: u64 = 256 << 20;
/// Otherwise this number of the longest extents: those of two blocks of the index.
const LOOK_EXTENTS: u64 = 2 * ROWS_MOST as u64;

/// Takes the bytes of an undo file, and returns when they are durable.
pub type Keep<'k> = &'k mut dyn FnMut(&[u8]) -> io::Result<()>;

/// How to repair.
#[derive(Default)]
pub struct Options<'k> {
    /// Say what would be done, and write nothing.
    pub dry_run: bool,
    /// Write over what cannot be read, and give up blocks of the index that cannot be rebuilt.
    pub force: bool,
    /// Look so far behind the last extent for more; by default 256 MiB, or 128 of the longest
    /// extents.
    pub look: Option<u64>,
    /// Leave the object header blocks of extents that have an index record unread.
    pub skip_headers: bool,
    /// The recorder has ended, and lost no index record: in a ring no data are ahead of the index.
    pub at_rest: bool,
    /// Takes what is to be overwritten, before anything is.
    pub undo: Option<Keep<'k>>,
}

/// What was done, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Repair {
    /// Index records that were there and stay.
    pub rows: u64,
    /// Extents that were recovered: they are whole, and had no index record.
    pub recovered: u64,
    /// Bytes of these.
    pub recovered_bytes: u64,
    /// Damaged blocks of the index that were written anew, with the records that could be found.
    pub blocks_mended: u64,
    /// Records of these.
    pub rows_mended: u64,
    /// Damaged blocks of the index that were left as they are: what they said lies nowhere else.
    pub blocks_left: u64,
    /// Object header blocks that were written anew from their index record.
    pub headers_mended: u64,
    /// Extents without an index record whose payload cannot be read now: they stay as they are.
    pub partial: u64,
    /// Index records of a ring on whose bytes newer ones lie, or data that got no record.
    pub rows_voided: u64,
    /// Extents that were found and have no room in the index.
    #[serde(rename = "without_room_in_index")]
    pub no_room: u64,
    /// Index records that cannot be, and were left as they are.
    #[serde(rename = "rows_wrong")]
    pub wrong_rows: u64,
    /// Places that cannot be read, and were left as they are.
    pub unreadable: u64,
    /// Places without an extent, which are files of their own now.
    pub lost: u64,
    /// Bytes of these.
    pub lost_bytes: u64,
    /// Blocks of the index.
    #[serde(rename = "index_blocks")]
    pub blocks: u64,
    /// First byte behind the data.
    #[serde(rename = "data_end")]
    pub end: u64,
    /// Pages and sectors that were written.
    #[serde(skip)]
    pub pages_written: u64,
    /// Something was not as it should be, and is written anew.
    pub changed: bool,
    /// The recording stays open: where it ends cannot be known before all of it can be read, or a
    /// block of its index is given up.
    pub open: bool,
}

impl Repair {
    /// Nothing had to be left as it is.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        !self.open && self.unreadable + self.blocks_left + self.partial == 0
    }
}

/// A block of the index that is not good, and between which places its extents lie.
struct Broken {
    block: u64,
    unreadable: bool,
    between: Range<u64>,
    found: Vec<Found>,
}

/// What is there.
#[derive(Default)]
struct Survey {
    cover: Cover,
    broken: Vec<Broken>,
    rows: u64,
    wrong: u64,
    longest: u64,
    last: u64,
    /// Index records that a block has room for.
    room: usize,
}

impl Survey {
    fn of(recording: &Recording<'_>, see: See<'_>) -> Result<Self> {
        let data = recording.superblock().data;
        let mut all = Self {
            last: data.at,
            room: recording.form().layout().rows,
            ..Self::default()
        };
        let mut last_block = u64::MAX;
        for entry in recording.rows() {
            let (block, row, wrong) = match entry {
                Entry::Row {
                    block, row, wrong, ..
                } => (block, row, wrong),
                Entry::Damaged {
                    block, unreadable, ..
                } => {
                    all.add_broken(block, unreadable);
                    continue;
                }
            };
            if block != last_block && !see(data.at) {
                return Err(Error::Interrupted);
            }
            last_block = block;
            if wrong.is_some() {
                all.wrong += 1;
                continue;
            }
            all.rows += 1;
            if !row.stored() {
                continue;
            }
            let extent = recording.extent(&row);
            let waiting = all.broken.iter_mut().rev();
            for broken in waiting.take_while(|broken| broken.between.end == u64::MAX) {
                broken.between.end = extent.at.max(broken.between.start);
            }
            all.last = all.last.max(extent.end);
            all.longest = all.longest.max(extent.end - extent.at);
            all.cover.add(extent.range());
        }
        let head = recording.blocks();
        for block in head..head + recording.index.doubtful {
            all.add_broken(block, false);
        }
        if recording.index.unsure.is_some() {
            all.add_broken(head + recording.index.doubtful, true);
        }
        Ok(all)
    }

    fn add_broken(&mut self, block: u64, unreadable: bool) {
        self.broken.push(Broken {
            block,
            unreadable,
            between: self.last..u64::MAX,
            found: Vec::new(),
        });
    }

    /// Gives each of some damaged blocks between the same places some of what was found.
    fn spread(&mut self) {
        let same = |one: &Broken, next: &Broken| one.between == next.between;
        for group in self.broken.chunk_by_mut(same) {
            let found = group.iter_mut().flat_map(|broken| broken.found.drain(..));
            let mut found: Vec<Found> = found.collect();
            found.sort_by_key(|found| found.at);
            let each = found.len().div_ceil(group.len());
            for broken in group {
                broken.found = found.drain(..found.len().min(each)).collect();
            }
        }
    }

    /// Whether an unreadable block of the index may have the record of an extent at this address.
    fn is_unknown(&self, at: u64) -> bool {
        let mut broken = self.broken.iter();
        broken.any(|broken| broken.unreadable && broken.between.contains(&at))
    }

    /// The damaged block that has room for the record of an extent that lies there.
    fn block_of(&mut self, at: u64) -> Option<&mut Broken> {
        let room = self.room;
        let fits = |broken: &&mut Broken| {
            broken.between.contains(&at) && broken.found.len() < room && !broken.unreadable
        };
        self.broken.iter_mut().find(fits)
    }
}

/// Everything that is to change.
#[derive(Default)]
struct Plan {
    blocks: Vec<(u64, Vec<Row>)>,
    holes: Vec<Range<u64>>,
    /// What small objects leave of their pages.
    fills: Vec<Range<u64>>,
    /// Extents that had no index record: what pads them may be missing, and has no checksum.
    new: Vec<Found>,
    /// None where it must stay open.
    closed: Option<Closed>,
    wrapped: bool,
    /// Bytes that newer extents of a ring claim.
    claimed: Cover,
    /// Headers that are damaged stay so.
    keep_headers: bool,
}

/// Mends a recording, or says what it would do; a second time there is nothing to do.
///
/// # Errors
/// Where there is no recording, or the disk does not take what is written.
pub fn repair(disk: &dyn Disk, options: Options<'_>, see: See<'_>) -> Result<Repair> {
    let draft = Draft::new(disk, options.force);
    let mut report = draw_up(&draft, &options, see)?;
    report.pages_written = draft.writes();
    report.unreadable += draft.refused();
    report.changed = report.pages_written > 0;
    if report.changed && !options.dry_run {
        if let Some(keep) = options.undo {
            let session = Recording::open(&draft)?.superblock().session;
            keep(&undo::file(session, disk.len(), &draft.changes())).map_err(Error::Sink)?;
        }
        draft.carry_out()?;
    }
    Ok(report)
}

/// Drafts all that is to be written.
fn draw_up(draft: &Draft<'_>, options: &Options<'_>, see: See<'_>) -> Result<Repair> {
    let doubtful = doubtful_copies(&Recording::open(draft)?);
    if doubtful > 0 && !options.force {
        return Ok(Repair {
            unreadable: doubtful,
            open: true,
            ..Repair::default()
        });
    }
    let (blocks_mended, rows_mended) = correct_blocks(draft)?;
    let mut recording = Recording::open(draft)?;
    if options.at_rest {
        recording = recording.at_rest();
    }
    let superblock = *recording.superblock();
    let survey = Survey::of(&recording, see)?;
    let mut report = Repair {
        rows: survey.rows - rows_mended.min(survey.rows),
        wrong_rows: survey.wrong,
        blocks_mended,
        rows_mended,
        ..Repair::default()
    };
    let plan = match superblock.ring {
        true => ring(&recording, options.force, &mut report, see)?,
        false => straight(&recording, survey, options, &mut report, see)?,
    };
    if schema_differs(draft, recording.form()) {
        let page = recording.form().layout().schema_page(crc32c);
        write(draft, superblock.index.at, &page)?;
    }
    write_plan(&recording, &plan, &mut report)?;
    if !options.skip_headers && !plan.keep_headers {
        report.headers_mended = mend_headers(draft, &plan.claimed, see)?;
        flush(draft)?;
    }
    match plan.closed {
        Some(closed) => end(&recording, closed, plan.wrapped, &mut report)?,
        None => {
            report.open = true;
            report.blocks = Recording::open(draft)?.blocks();
        }
    }
    Ok(report)
}

/// Copies of the superblock that may say something else than what is known: the partition table
/// says less than they do, and one that can be read only now may be newer than the other.
fn doubtful_copies(recording: &Recording<'_>) -> u64 {
    let places = super_places(recording.superblocks());
    let copies = recording.copies().iter().zip(places);
    let doubtful = copies.filter(|(copy, at)| {
        let mut page = [0; PAGE_BYTES];
        let there = recording.disk.read_at(*at, &mut page);
        copy.is_err()
            && match there {
                Ok(()) => Superblock::parse(&page, crc32c).is_ok(),
                Err(_) => recording.is_rebuilt(),
            }
    });
    doubtful.count() as u64
}

/// Counts extents that get an index record.
fn count(found: &[Found], report: &mut Repair) {
    report.recovered += found.len() as u64;
    let bytes = found.iter().map(|found| u64::from(found.facts.length));
    report.recovered_bytes += bytes.sum::<u64>();
}

/// Spreads records over blocks, beginning with this one.
fn in_blocks(
    recording: &Recording<'_>,
    rows: &[Row],
    first: u64,
    slots: u64,
    report: &mut Repair,
) -> Vec<(u64, Vec<Row>)> {
    let blocks = rows.chunks(recording.form().layout().rows).zip(first..);
    let (fit, rest): (Vec<_>, Vec<_>) = blocks.partition(|(_, number)| *number < slots);
    report.no_room += rest.iter().map(|(rows, _)| rows.len() as u64).sum::<u64>();
    fit.into_iter()
        .map(|(rows, number)| (number, rows.to_vec()))
        .collect()
}

/// Where no extent is known, and whether more may lie behind the last.
fn look_for_more(
    recording: &Recording<'_>,
    survey: &Survey,
    behind: u64,
    look: Option<u64>,
    see: See<'_>,
) -> Result<(Seen, bool)> {
    let (superblock, mut seen) = (recording.superblock(), Seen::default());
    if superblock.mode != Mode::Objects {
        return Ok((seen, false));
    }
    let data = superblock.data;
    let mut scan = Scan::new(recording.disk, superblock);
    for gap in survey.cover.gaps(data.at..behind) {
        scan.all(gap, u64::MAX, see, &mut seen)?;
    }
    if superblock.closed.is_none() {
        let most = || LOOK_LEAST.max(survey.longest.saturating_mul(LOOK_EXTENTS));
        // The trailer's place is kept free.
        let tail = behind..superblock.data_end().max(behind);
        scan.all(tail, look.unwrap_or_else(most), see, &mut seen)?;
    }
    seen.drop_copies(recording);
    let kept = seen.partial.iter();
    let kept = kept.filter(|(_, state)| *state == State::Unreadable);
    let found = seen.whole.iter().chain(kept.map(|(found, _)| found));
    let end = found.map(|found| found.end).max();
    let end = end.unwrap_or(behind).max(behind);
    let open = superblock.closed.is_none();
    let unsure = open
        && seen
            .unreadable
            .end()
            .is_some_and(|unreadable| unreadable > end);
    Ok((seen, unsure))
}

fn straight(
    recording: &Recording<'_>,
    mut survey: Survey,
    options: &Options<'_>,
    report: &mut Repair,
    see: See<'_>,
) -> Result<Plan> {
    let superblock = recording.superblock();
    let data = superblock.data;
    if options.force {
        // The one behind the last was a guess, the others are as damaged as any.
        let unsure = recording.index.unsure.is_some();
        survey
            .broken
            .truncate(survey.broken.len() - usize::from(unsure));
        survey
            .broken
            .iter_mut()
            .for_each(|broken| broken.unreadable = false);
    }
    // The last extent may end in the middle of a batch, and more of it follow in the same page.
    let behind = survey.cover.end().unwrap_or(superblock.first_extent());
    let behind = behind.max(superblock.closed.map_or(0, |closed| closed.end));
    let (seen, unsure) = look_for_more(recording, &survey, behind, options.look, see)?;
    let Seen {
        mut whole,
        partial,
        unreadable,
    } = seen;
    whole.sort_by_key(|found| found.at);
    let mut new = Vec::new();
    for found in &whole {
        survey.cover.add(found.at..found.end);
    }
    let mut tail = Vec::new();
    for found in whole {
        if survey.is_unknown(found.at) {
            continue;
        }
        new.push(found);
        match survey.block_of(found.at) {
            Some(broken) => broken.found.push(found),
            None => tail.push(found),
        }
    }
    let closed = superblock.closed.is_some();
    for (found, state) in partial {
        let unknown = survey.is_unknown(found.at);
        match survey.block_of(found.at) {
            // It had a record, and keeps one: that its payload is damaged is told to who reads it.
            Some(broken) if !unknown && (closed || broken.between.end != u64::MAX) => {
                broken.found.push(found);
            }
            // It may be whole, or has its record where that cannot be read.
            _ if unknown || state == State::Unreadable => report.partial += 1,
            // What never came to be an object is not to be taken for one.
            _ => continue,
        }
        survey.cover.add(found.at..found.end);
        new.push(found);
    }
    survey.spread();
    let mut head = recording.blocks();
    let mut plan = Plan::default();
    let mut left: Vec<Range<u64>> = Vec::new();
    for broken in survey.broken {
        let behind_head = broken.block >= recording.blocks();
        if broken.unreadable || (broken.found.is_empty() && !options.force) {
            report.unreadable += u64::from(broken.unreadable);
            report.blocks_left += u64::from(!broken.unreadable);
            left.push(broken.between);
            continue;
        }
        if behind_head && broken.found.is_empty() {
            continue;
        }
        report.blocks_mended += 1;
        report.rows_mended += broken.found.len() as u64;
        head = head.max(broken.block + 1);
        plan.blocks
            .push((broken.block, rows_of(recording, &broken.found)));
    }
    // After an unreadable block neither the number of records nor the end of the data is known.
    let open = left.iter().any(|between| between.end == u64::MAX);
    let open = superblock.closed.is_none() && open;
    if !open {
        count(&tail, report);
        let rows = rows_of(recording, &tail);
        let more = in_blocks(recording, &rows, head, superblock.index_slots(), report);
        head += more.len() as u64;
        plan.blocks.extend(more);
    }
    let end = survey.cover.end().map_or(behind, |end| end.max(behind));
    let end = superblock.aligned(end);
    if superblock.mode == Mode::Objects {
        plan.holes = survey.cover.gaps(data.at..end);
        plan.holes.retain(|hole| {
            let unknown =
                |between: &Range<u64>| hole.start < between.end && between.start < hole.end;
            !left.iter().any(unknown)
        });
    }
    if superblock.small {
        plan.fills = take_fills(recording.disk, superblock, &mut plan.holes);
    }
    if !options.force {
        let grain = superblock.grain();
        plan.fills.retain(|fill| !unreadable.touches(fill));
        plan.holes
            .retain(|hole| !unreadable.touches(&(hole.start..hole.start + grain)));
        report.unreadable += unreadable.count();
    }
    plan.new = new;
    if !open && (!unsure || options.force) {
        plan.closed = Some(Closed { blocks: head, end });
    }
    Ok(plan)
}

fn ring(recording: &Recording<'_>, force: bool, report: &mut Repair, see: See<'_>) -> Result<Plan> {
    let superblock = recording.superblock();
    let mut found = Ring::of(recording, force, see)?;
    let mut plan = Plan::default();
    let mut head = recording.blocks();
    let mut open = found.unsure && !force;
    let mut mended = Vec::new();
    for (block, found) in &found.broken {
        if found.is_empty() && !force {
            report.blocks_left += 1;
            open |= superblock.closed.is_none() && *block >= recording.blocks();
            continue;
        }
        if found.is_empty() && *block >= recording.blocks() {
            continue;
        }
        report.blocks_mended += 1;
        report.rows_mended += found.len() as u64;
        head = head.max(block + 1);
        mended.push((*block, rows_of(recording, found)));
        plan.new.extend(found);
    }
    report.unreadable += found.unreadable + u64::from(open && found.unsure);
    report.partial = found.partial.len() as u64;
    report.rows_voided = found
        .void
        .values()
        .map(|void| u64::from(void.count_ones()))
        .sum();
    if report.rows_voided > 0 {
        // Records that do not count any more make nothing void: what they did must not come back.
        for (number, void) in recording.index.overlapped() {
            *found.void.entry(number).or_default() |= void;
        }
    }
    for (number, void) in &found.void {
        let Ok(block) = recording.block(*number) else {
            continue;
        };
        let rows = block.rows.iter().enumerate().map(|(slot, row)| Row {
            flags: match void >> slot & 1 {
                0 => row.flags,
                _ => row.flags & !COUNTS,
            },
            ..*row
        });
        plan.blocks.push((*number, rows.collect()));
    }
    // Old index records are voided first: a rebuilt block describes newer extents in the same places.
    plan.blocks.extend(mended);
    report.rows = (report.rows + found.judged).saturating_sub(report.rows_voided);
    plan.new.extend(&found.new);
    count(&found.new, report);
    let slots = match superblock.index_ring {
        true => u64::MAX,
        false => superblock.index_slots(),
    };
    let more = in_blocks(
        recording,
        &rows_of(recording, &found.new),
        head,
        slots,
        report,
    );
    head += more.len() as u64;
    plan.blocks.extend(more);
    plan.wrapped = found.wrapped;
    plan.claimed = found.claimed;
    plan.keep_headers = open;
    if !open {
        let end = superblock.closed.map_or(found.head, |closed| closed.end);
        plan.closed = Some(Closed { blocks: head, end });
    }
    Ok(plan)
}

/// Drafts what a plan has, but for the end.
fn write_plan(recording: &Recording<'_>, plan: &Plan, report: &mut Repair) -> Result<()> {
    let (superblock, disk) = (recording.superblock(), recording.disk);
    for hole in &plan.holes {
        report.lost += 1;
        report.lost_bytes += hole.end - hole.start;
        write_lost(disk, superblock, hole)?;
    }
    for found in &plan.new {
        write_fill(disk, superblock, found)?;
    }
    for fill in &plan.fills {
        write_fillers(disk, fill.clone())?;
    }
    flush(disk)?;
    for (number, some) in &plan.blocks {
        write_block(disk, recording.form(), *number, some)?;
        // In a ring each is durable before the next one.
        if superblock.ring {
            flush(disk)?;
        }
    }
    flush(disk)
}

/// Drafts the end, unless it is there.
fn end(
    recording: &Recording<'_>,
    closed: Closed,
    wrapped: bool,
    report: &mut Repair,
) -> Result<()> {
    (report.blocks, report.end) = (closed.blocks, closed.end);
    if !is_closed(recording, closed, wrapped) {
        close(
            recording.disk,
            recording.superblocks(),
            recording.superblock(),
            closed,
            wrapped,
        )?;
    }
    Ok(())
}

/// Whether superblocks, end marks and trailer are as they should be, as far as they can be read.
fn is_closed(recording: &Recording<'_>, closed: Closed, wrapped: bool) -> bool {
    let superblock = recording.superblock();
    let there = |at| {
        let mut page = [0; PAGE_BYTES];
        let read = recording.disk.read_at(at, &mut page);
        read.ok().map(|()| page)
    };
    let places = super_places(recording.superblocks());
    let mut copies = recording.copies().iter().zip(places);
    superblock.closed == Some(closed)
        && copies.all(|(copy, at)| copy.as_ref() == Ok(superblock) || there(at).is_none())
        && end_marks(superblock, wrapped)
            .into_iter()
            .all(|(at, page)| there(at).is_none_or(|is| is == page))
}
