// SPDX-License-Identifier: Apache-2.0
//! Ends a recording that lost power, and mends what can be mended.
//!
//! First it is found out what is there, then what is to be written, and only then it is written: in
//! an order that leaves the recording readable, should power be lost again.

use std::collections::HashSet;
use std::ops::Range;

use forebay_spec::store::index::{Block, COUNTS, CUT, RESULT, ROWS, Row, WHOLE};
use forebay_spec::store::page::FILLER;
use forebay_spec::store::superblock::{Closed, Mode, Superblock};
use forebay_spec::store::{PAGE_BYTES, tar};

use crate::disk::{flush, read, write};
use crate::mend::{Ring, lost_headers, take_fills};
use crate::reader::Recording;
use crate::scan::{Found, Scan, See};
use crate::voids::Cover;
use crate::writer::{close, end_marks, pad};
use crate::{Disk, Entry, PAGE, Result, crc32c, pages};

/// Bytes behind the last extent that are looked through for more, at least.
const LOOK_LEAST: u64 = 256 << 20;
/// Otherwise so many of the longest extents: those of two blocks of the index.
const LOOK_EXTENTS: u64 = 2 * ROWS as u64;

/// What was done, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repair {
    /// Rows that were there and stay.
    pub rows: u64,
    /// Extents that were brought back: they lie whole, and no row said so.
    pub recovered: u64,
    /// Bytes of these.
    pub recovered_bytes: u64,
    /// Damaged blocks of the index that were written anew, with the rows that could be found.
    pub blocks_mended: u64,
    /// Rows of these.
    pub rows_mended: u64,
    /// Rows of a ring whose bytes newer ones had begun to cover.
    pub rows_voided: u64,
    /// Extents that were found and have no room in the index.
    pub no_room: u64,
    /// Rows that cannot be, and were left as they are.
    pub wrong_rows: u64,
    /// Places without an extent, which are files of their own now.
    pub lost: u64,
    /// Bytes of these.
    pub lost_bytes: u64,
    /// Blocks of the index.
    pub blocks: u64,
    /// First byte behind the data.
    pub end: u64,
    /// Pages that were written.
    pub pages_written: u64,
    /// Something was not as it should be.
    pub changed: bool,
}

/// A damaged block of the index, and between which places its extents lie.
struct Broken {
    block: u64,
    between: Range<u64>,
    rows: Vec<Row>,
}

/// What is there.
#[derive(Default)]
struct Survey {
    cover: Cover,
    broken: Vec<Broken>,
    rows: u64,
    wrong: u64,
    longest: u64,
}

impl Survey {
    fn of<D: Disk + ?Sized>(recording: &Recording<'_, D>, see: See<'_>) -> Result<Self> {
        let data = recording.superblock().data;
        let mut all = Self::default();
        let (mut last, mut last_block) = (data.at, u64::MAX);
        for entry in recording.rows() {
            let (block, row, wrong) = match entry {
                Entry::Row {
                    block, row, wrong, ..
                } => (block, row, wrong),
                Entry::Damaged { block, .. } => {
                    all.broken.push(Broken {
                        block,
                        between: last..u64::MAX,
                        rows: Vec::new(),
                    });
                    continue;
                }
            };
            if block != last_block && !see(data.at) {
                return Err(crate::Error::Interrupted);
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
            last = last.max(extent.end);
            all.longest = all.longest.max(extent.end - extent.at);
            all.cover.add(extent.range());
        }
        Ok(all)
    }
}

/// The row of an extent that was found.
pub(crate) fn row_of(found: &Found, goes_on: bool) -> Row {
    let facts = &found.facts;
    let set = [
        (facts.whole, WHOLE),
        (goes_on, CUT),
        (facts.result.is_some(), RESULT),
    ];
    let set = set.iter().filter(|(set, _)| *set);
    let (class, score) = facts.result.unwrap_or((0, 0.0));
    Row {
        object: facts.object,
        offset: facts.offset,
        address: found.payload,
        time: facts.time,
        length: facts.length,
        crc32c: facts.crc32c,
        score,
        missing: facts.missing,
        stream: facts.stream,
        class,
        flags: set.fold(COUNTS, |all, (_, flag)| all | flag),
    }
}

/// Rows of extents that were found, in the order in which they lie there.
pub(crate) fn rows_of(found: &[Found]) -> Vec<Row> {
    let begins: HashSet<(u16, u64, u64)> = found.iter().map(|found| key(&found.facts)).collect();
    let rows = found.iter().map(|found| {
        let facts = &found.facts;
        let next = facts.offset.saturating_add(facts.length.into());
        let goes_on = begins.contains(&(facts.stream, facts.object, next));
        row_of(found, !facts.whole && goes_on)
    });
    rows.collect()
}

const fn key(facts: &forebay_spec::store::page::Facts) -> (u16, u64, u64) {
    (facts.stream, facts.object, facts.offset)
}

/// Those that no row and no other of them describes.
fn only_new<D: Disk + ?Sized>(recording: &Recording<'_, D>, mut found: Vec<Found>) -> Vec<Found> {
    let mut keys = HashSet::new();
    found.retain(|found| keys.insert(key(&found.facts)));
    if found.is_empty() {
        return found;
    }
    for entry in recording.rows() {
        if let Entry::Row { row, .. } = entry {
            keys.remove(&(row.stream, row.object, row.offset));
        }
    }
    found.retain(|found| keys.contains(&key(&found.facts)));
    found
}

/// Pages that are to be written.
pub(crate) struct Pen<'d, D: Disk + ?Sized> {
    disk: &'d D,
    dry: bool,
    pages: u64,
}

impl<D: Disk + ?Sized> Pen<'_, D> {
    /// Writes a page, or a block of one, unless it is there.
    fn put(&mut self, at: u64, page: &[u8]) -> Result<()> {
        let mut there = [0; PAGE_BYTES];
        let there = &mut there[..page.len().min(PAGE_BYTES)];
        let same = self.disk.read_at(at, there).is_ok() && there == page;
        if same {
            return Ok(());
        }
        self.pages += 1;
        match self.dry {
            true => Ok(()),
            false => write(self.disk, at, page),
        }
    }
}

/// Everything that is to change.
#[derive(Default)]
struct Plan {
    blocks: Vec<(u64, Vec<Row>)>,
    holes: Vec<Range<u64>>,
    /// What small objects leave of their pages.
    fills: Vec<Range<u64>>,
    /// Extents that are new to the index: what pads them may be missing, and has no check sum.
    new: Vec<Found>,
    closed: Option<Closed>,
    wrapped: bool,
}

/// Mends a recording, or says what it would do; a second time there is nothing to do.
///
/// # Errors
/// Where there is no recording, or the disk does not take what is written.
pub fn repair<D: Disk + ?Sized>(
    disk: &D,
    dry: bool,
    look: Option<u64>,
    see: See<'_>,
) -> Result<Repair> {
    let recording = Recording::open(disk)?;
    let superblock = *recording.superblock();
    let mut survey = Survey::of(&recording, see)?;
    let mut report = Repair {
        rows: survey.rows,
        wrong_rows: survey.wrong,
        ..Repair::default()
    };
    let look = look.unwrap_or_else(|| LOOK_LEAST.max(survey.longest.saturating_mul(LOOK_EXTENTS)));
    let plan = match superblock.ring {
        true => ring(&recording, survey, &mut report, see)?,
        false => straight(&recording, &mut survey, look, &mut report, see)?,
    };
    let mut pen = Pen {
        disk,
        dry,
        pages: 0,
    };
    carry_out(&recording, &plan, &mut pen, &mut report)?;
    Ok(report)
}

/// Spreads rows over blocks, beginning with this one.
fn in_blocks(rows: &[Row], first: u64, slots: u64, report: &mut Repair) -> Vec<(u64, Vec<Row>)> {
    let blocks = rows.chunks(ROWS).zip(first..);
    let (fit, rest): (Vec<_>, Vec<_>) = blocks.partition(|(_, number)| *number < slots);
    report.no_room += rest.iter().map(|(rows, _)| rows.len() as u64).sum::<u64>();
    fit.into_iter()
        .map(|(rows, number)| (number, rows.to_vec()))
        .collect()
}

fn straight<D: Disk + ?Sized>(
    recording: &Recording<'_, D>,
    survey: &mut Survey,
    look: u64,
    report: &mut Repair,
    see: See<'_>,
) -> Result<Plan> {
    let superblock = recording.superblock();
    let data = superblock.data;
    // The last row may end in the middle of a batch, and more of it follow in the same page.
    let behind = survey.cover.end().unwrap_or(superblock.first_extent());
    let behind = behind.max(superblock.closed.map_or(0, |closed| closed.end));
    let mut new = Vec::new();
    if superblock.mode == Mode::Objects {
        let mut scan = Scan::new(recording.disk, superblock);
        for gap in survey.cover.gaps(data.at..behind) {
            new.extend(scan.all(gap, u64::MAX, see)?);
        }
        if superblock.closed.is_none() {
            // The trailer's page is kept free.
            let tail = behind..data.end().saturating_sub(PAGE).max(behind);
            new.extend(scan.all(tail, look, see)?);
        }
        new = only_new(recording, new);
    }
    for found in &new {
        survey.cover.add(found.at..found.end);
        report.recovered += 1;
        report.recovered_bytes += u64::from(found.facts.length);
    }
    let rows = rows_of(&new);
    let mut tail = Vec::new();
    for row in rows {
        let fits = |broken: &&mut Broken| {
            let at = row.address - superblock.front();
            broken.between.contains(&at) && broken.rows.len() < ROWS
        };
        match survey.broken.iter_mut().find(fits) {
            Some(broken) => broken.rows.push(row),
            None => tail.push(row),
        }
    }
    let mut blocks = Vec::new();
    for broken in survey.broken.drain(..) {
        report.blocks_mended += 1;
        report.rows_mended += broken.rows.len() as u64;
        blocks.push((broken.block, broken.rows));
    }
    let head = recording.blocks();
    let more = in_blocks(&tail, head, superblock.index_slots(), report);
    let count = head + more.len() as u64;
    blocks.extend(more);
    let end = pages(survey.cover.end().map_or(behind, |end| end.max(behind)));
    let mut holes = match superblock.mode {
        Mode::Objects => survey.cover.gaps(data.at..end),
        _ => Vec::new(),
    };
    let fills = match superblock.small {
        true => take_fills(recording.disk, &mut holes),
        false => Vec::new(),
    };
    Ok(Plan {
        blocks,
        holes,
        fills,
        new,
        closed: Some(Closed { blocks: count, end }),
        wrapped: false,
    })
}

fn ring<D: Disk + ?Sized>(
    recording: &Recording<'_, D>,
    survey: Survey,
    report: &mut Repair,
    see: See<'_>,
) -> Result<Plan> {
    let superblock = recording.superblock();
    let mut blocks = Vec::new();
    // What a lost block's extents covered shows as if it were there.
    let check = superblock.closed.is_none() || !survey.broken.is_empty();
    for broken in survey.broken {
        report.blocks_mended += 1;
        blocks.push((broken.block, Vec::new()));
    }
    let mut found = Ring::of(recording, check, see)?;
    report.rows_voided = found
        .void
        .values()
        .map(|void| u64::from(void.count_ones()))
        .sum();
    if report.rows_voided > 0 {
        // Rows that do not count any more make nothing void: what they did must not come back.
        for (number, void) in recording.index.voided() {
            *found.void.entry(number).or_default() |= void;
        }
    }
    for (number, void) in &found.void {
        let Ok(block) = recording.block(*number) else {
            continue;
        };
        let rows = block.rows.iter().enumerate().map(|(slot, row)| Row {
            flags: if void >> slot & 1 != 0 {
                row.flags & !COUNTS
            } else {
                row.flags
            },
            ..*row
        });
        blocks.push((*number, rows.collect()));
    }
    report.rows = report.rows.saturating_sub(report.rows_voided);
    for found in &found.new {
        report.recovered += 1;
        report.recovered_bytes += u64::from(found.facts.length);
    }
    let head = recording.blocks();
    let slots = match superblock.index_ring {
        true => u64::MAX,
        false => superblock.index_slots(),
    };
    let more = in_blocks(&rows_of(&found.new), head, slots, report);
    let count = head + more.len() as u64;
    blocks.extend(more);
    Ok(Plan {
        blocks,
        holes: Vec::new(),
        fills: Vec::new(),
        new: found.new,
        closed: Some(Closed {
            blocks: count,
            end: superblock.closed.map_or(found.head, |closed| closed.end),
        }),
        wrapped: found.wrapped,
    })
}

fn carry_out<D: Disk + ?Sized>(
    recording: &Recording<'_, D>,
    plan: &Plan,
    pen: &mut Pen<'_, D>,
    report: &mut Repair,
) -> Result<()> {
    let superblock = recording.superblock();
    let disk = recording.disk;
    let grain = superblock.grain() as usize;
    for hole in &plan.holes {
        report.lost += 1;
        report.lost_bytes += hole.end - hole.start;
        for (at, header) in lost_headers(superblock.session, hole) {
            let mut page = [0; PAGE_BYTES];
            // Behind a header among small objects may lie the next extent: it stays as it is.
            let page = &mut page[..grain];
            // What cannot be read is lost anyway.
            let _ = read(disk, at, page);
            page[..tar::BYTES].copy_from_slice(&header);
            pen.put(at, page)?;
        }
    }
    for found in &plan.new {
        let used = found.facts.length as usize % grain;
        if used > 0 {
            let (mut page, at) = ([0; PAGE_BYTES], found.end - grain as u64);
            let last = &mut page[..grain];
            read(disk, at, last)?;
            pad(&mut last[used..], superblock.mode);
            pen.put(at, last)?;
        }
    }
    for fill in &plan.fills {
        for at in (fill.start..fill.end).step_by(tar::BYTES) {
            pen.put(at, &FILLER)?;
        }
    }
    if !pen.dry && (pen.pages > 0 || !plan.blocks.is_empty()) {
        flush(disk)?;
    }
    for (number, some) in &plan.blocks {
        let mut rows = [Row::default(); ROWS];
        for (to, from) in rows.iter_mut().zip(some) {
            *to = *from;
        }
        let number32 = u32::try_from(*number).unwrap_or(u32::MAX);
        let block = Block {
            number: number32,
            rows,
        };
        let page = block.to_bytes(superblock.session, crc32c);
        pen.put(superblock.block_at(*number), &page)?;
    }
    let closed = plan.closed.unwrap_or(Closed {
        blocks: recording.blocks(),
        end: superblock.first_extent(),
    });
    (report.blocks, report.end) = (closed.blocks, closed.end);
    report.changed = pen.pages > 0 || !is_closed(recording, closed, plan.wrapped);
    if report.changed && !pen.dry {
        if pen.pages > 0 {
            flush(disk)?;
        }
        close(
            disk,
            recording.superblocks(),
            superblock,
            closed,
            plan.wrapped,
        )?;
    }
    report.pages_written = pen.pages;
    Ok(())
}

/// Whether superblocks, end marks and trailer are as they should be.
fn is_closed<D: Disk + ?Sized>(
    recording: &Recording<'_, D>,
    closed: Closed,
    wrapped: bool,
) -> bool {
    let superblock: &Superblock = recording.superblock();
    let same = |copy: &crate::reader::Copy| copy.as_ref() == Ok(superblock);
    let there = |(at, page): (u64, [u8; PAGE_BYTES])| {
        let mut is = [0; PAGE_BYTES];
        recording.disk.read_at(at, &mut is).is_ok() && is == page
    };
    superblock.closed == Some(closed)
        && recording.copies().iter().all(same)
        && end_marks(superblock, wrapped).into_iter().all(there)
}
