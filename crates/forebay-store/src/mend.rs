// SPDX-License-Identifier: Apache-2.0
//! Parts of a repair: index blocks and object header blocks from what is left, files for holes.

use std::collections::HashSet;
use std::ops::Range;

use forebay_spec::store::index::{Block, COUNTS, CUT, RESULT, Row, WHOLE};
use forebay_spec::store::page::{FILLER, Facts};
use forebay_spec::store::schema::RESULT_MOST;
use forebay_spec::store::superblock::{Mode, Superblock};
use forebay_spec::store::{PAGE_BYTES, Session, tar};

use crate::block::corrected;
use crate::disk::{flush, write};
use crate::draft::Draft;
use crate::extent::{facts_of, read_front};
use crate::index::check_row;
use crate::reader::Recording;
use crate::scan::{Found, See};
use crate::voids::Cover;
use crate::writer::{pad, write_block, write_fillers, write_front};
use crate::{Damage, Disk, Entry, Error, Result};

/// Bytes of a hole that one file takes: a tar header has eleven octal digits for its size.
const LOST_MOST: u64 = 4 << 30;

/// Corrects damaged blocks of the index from their own bytes; returns how many, and their records.
pub(crate) fn correct_blocks(draft: &Draft<'_>) -> Result<(u64, u64)> {
    let recording = Recording::open(draft)?;
    let form = recording.form();
    let damaged = recording.rows().filter_map(|entry| match entry {
        Entry::Damaged {
            block,
            unreadable: false,
            ..
        } => Some(block),
        _ => None,
    });
    let head = recording.blocks();
    let numbers = damaged.chain(head..head + recording.index.doubtful);
    let blocks: Vec<(u64, Block)> = numbers
        .filter_map(|number| {
            let mut page = [0; PAGE_BYTES];
            let read = draft.read_at(form.block_at(number), &mut page);
            read.ok()?;
            Some((number, corrected(&page, form, number)?))
        })
        .collect();
    if blocks.is_empty() {
        return Ok((0, 0));
    }
    let good = blocks
        .into_iter()
        .filter(|(_, block)| agrees(&recording, block));
    let good: Vec<(u64, Block)> = good.collect();
    for (number, block) in &good {
        write_block(draft, form, *number, &block.rows)?;
    }
    flush(draft)?;
    let rows = good.iter().flat_map(|(_, block)| &block.rows);
    let rows = rows.filter(|row| row.counts()).count();
    Ok((good.len() as u64, rows as u64))
}

/// Whether the payloads match a block's index records. Of random blocks one in 100,000 has a valid
/// checksum after correction. In a ring newer extents may lie there.
fn agrees(recording: &Recording<'_>, block: &Block) -> bool {
    let superblock = recording.superblock();
    let (mut all, mut wrong) = (0, 0);
    for row in block.rows.iter().filter(|row| row.stored()) {
        if check_row(superblock, row, recording.disk.len()).is_some() {
            return false;
        }
        let damaged = || {
            let damage = recording.payload(row, &mut |_| Ok(()));
            matches!(damage, Ok(Some(Damage::Crc { .. })))
        };
        all += 1;
        wrong += u64::from(!superblock.ring && damaged());
    }
    // A few payloads may be damaged, too.
    wrong <= 2 || wrong * 2 <= all
}

/// The index record of an extent that was found.
fn row_of(found: &Found, goes_on: bool) -> Row {
    let facts = &found.facts;
    let set = [
        (facts.whole, WHOLE),
        (goes_on, CUT),
        (facts.result.is_some(), RESULT),
    ];
    let set = set.iter().filter(|(set, _)| *set);
    Row {
        object: facts.object,
        offset: facts.offset,
        address: found.payload,
        time: facts.time,
        length: facts.length,
        crc32c: facts.crc32c,
        missing: facts.missing,
        received: 0,
        nonce: facts.nonce,
        stream: facts.stream,
        result: facts.result.unwrap_or([0; RESULT_MOST]),
        flags: set.fold(COUNTS, |all, (_, flag)| all | flag),
    }
}

/// Index records of extents that were found, in the order in which these lie there.
pub(crate) fn rows_of(recording: &Recording<'_>, found: &[Found]) -> Vec<Row> {
    let next = |facts: &Facts| {
        let offset = facts.offset.saturating_add(facts.length.into());
        (facts.stream, facts.object, offset)
    };
    let cut = found.iter().filter(|found| !found.facts.whole);
    let wanted: HashSet<_> = cut.map(|found| next(&found.facts)).collect();
    let mut begins = HashSet::new();
    let own = found.iter().map(|found| &found.facts);
    begins.extend(own.map(|facts| (facts.stream, facts.object, facts.offset)));
    if !wanted.is_empty() {
        let keys = recording.rows().filter_map(|entry| match entry {
            Entry::Row { row, .. } => Some((row.stream, row.object, row.offset)),
            Entry::Damaged { .. } => None,
        });
        begins.extend(keys.filter(|key| wanted.contains(key)));
    }
    let rows = found.iter().map(|found| {
        let facts = &found.facts;
        row_of(found, !facts.whole && begins.contains(&next(facts)))
    });
    rows.collect()
}

/// Writes what fills up an extent in front of its header block, and behind its last bytes, where these can
/// be read: it has no checksum.
pub(crate) fn write_fill(disk: &dyn Disk, superblock: &Superblock, found: &Found) -> Result<()> {
    write_fillers(disk, found.at..found.payload - superblock.header())?;
    let grain = superblock.grain() as usize;
    let used = found.facts.length as usize % grain;
    if used == 0 {
        return Ok(());
    }
    // The rest of the unit is not read: what cannot be read there may be written all the same.
    let at = found.end - grain as u64;
    let page = grain.min(PAGE_BYTES);
    let last = used / page * page;
    let behind = last + page;
    let mut bytes = vec![0; page];
    if disk.read_at(at + last as u64, &mut bytes).is_ok() {
        pad(&mut bytes[used - last..], superblock.mode);
        write(disk, at + last as u64, &bytes)?;
    }
    write_fillers(disk, at + behind as u64..found.end)
}

/// Writes the headers that make files of a hole.
pub(crate) fn write_lost(
    disk: &dyn Disk,
    superblock: &Superblock,
    hole: &Range<u64>,
) -> Result<()> {
    for (at, header) in lost_headers(superblock.session, hole) {
        let mut page = [0; PAGE_BYTES];
        // Behind a header among small objects may lie the next extent: it stays as it is.
        let page = &mut page[..superblock.header() as usize];
        // What cannot be read is lost where it is written over all the same.
        let _ = disk.read_at(at, page);
        page[..tar::BYTES].copy_from_slice(&header);
        write(disk, at, page)?;
    }
    Ok(())
}

fn lost_headers(session: Session, hole: &Range<u64>) -> Vec<(u64, [u8; tar::BYTES])> {
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

/// Takes out of the holes what fills up a unit behind small objects, and says where that is to be.
///
/// Where a hole goes on behind the page, what is no filling may be part of what was lost: it stays.
pub(crate) fn take_fills(
    disk: &dyn Disk,
    superblock: &Superblock,
    holes: &mut Vec<Range<u64>>,
) -> Vec<Range<u64>> {
    let mut fills = Vec::new();
    holes.retain_mut(|hole| {
        let end = superblock.aligned(hole.start);
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

fn is_filled(disk: &dyn Disk, range: Range<u64>) -> bool {
    let mut bytes = vec![0; (range.end - range.start) as usize];
    let read = disk.read_at(range.start, &mut bytes).is_ok();
    read && bytes.chunks(tar::BYTES).all(|block| block == FILLER)
}

/// Writes anew each header block that is damaged in front of a payload with the checksum that its
/// index record says, but for those that touch `taken`; returns how many.
pub(crate) fn mend_headers(draft: &Draft<'_>, taken: &Cover, see: See<'_>) -> Result<u64> {
    // What is damaged of what data may lie on does not count any more.
    let recording = Recording::open(draft)?.at_rest();
    let superblock = recording.superblock();
    let unknown = superblock.ring && !recording.index.complete;
    if superblock.mode != Mode::Objects || unknown {
        return Ok(0);
    }
    let (mut mended, mut last) = (0, u64::MAX);
    for (block, _, row) in recording.stored() {
        let extent = recording.extent(&row);
        if block != last && !see(extent.at) {
            return Err(Error::Interrupted);
        }
        last = block;
        if taken.touches(&(extent.at..extent.payload))
            || !matches!(recording.facts(&row), Err(Damage::Page(_)))
            || !matches!(
                recording.payload(&row, &mut |_| Ok(())),
                Ok(Some(Damage::Page(_)))
            )
        {
            continue;
        }
        let mut page = [0; PAGE_BYTES];
        let front = &mut page[..superblock.header() as usize];
        if draft.read_at(extent.header, front).is_err() {
            continue;
        }
        let facts = facts_of(superblock, &row);
        // What stands there may be the header block of another object, whose name and numbers are its own.
        let own = |there: Facts| {
            let place = |facts: &Facts| (facts.session, facts.stream, facts.object, facts.offset);
            place(&there) == place(&facts)
        };
        let facts = match superblock.small || !read_front(superblock, front).is_none_or(own) {
            true => facts,
            false => with_rest(facts, &page),
        };
        write_front(draft, superblock, extent.at, &facts)?;
        mended += 1;
    }
    Ok(mended)
}

/// With what the index does not have, as it stands in a damaged block: epoch and number of the
/// first frame, 0 where no numbers stand there; the name, where the payload's tar header is sound.
fn with_rest(facts: Facts, damaged: &[u8; PAGE_BYTES]) -> Facts {
    let page = facts.to_page();
    let number = |name: &[u8]| {
        let at = page.windows(name.len()).position(|part| part == name)? + name.len();
        // A number that goes on is one of an earlier wording.
        let field = damaged.get(at..at + 11)?.strip_suffix(b",")?;
        std::str::from_utf8(field).ok()?.trim_start().parse().ok()
    };
    Facts {
        sequence: number(b"\"sequence\": ").unwrap_or(0),
        epoch: number(b"\"epoch\": ").unwrap_or(0),
        name: damaged
            .last_chunk()
            .and_then(tar::parse)
            .map_or(tar::Name::NONE, |header| header.origin),
        ..facts
    }
}
