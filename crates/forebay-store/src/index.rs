// SPDX-License-Identifier: Apache-2.0
//! The index: how far it goes, and its records one after the other.

use std::collections::BTreeMap;
use std::ops::Range;

use forebay_spec::store::PAGE_BYTES;
use forebay_spec::store::index::{Block, BlockError, Row};
use forebay_spec::store::layout::Layout;
use forebay_spec::store::pcapng::CHUNK_MOST;
use forebay_spec::store::schema::Schema;
use forebay_spec::store::superblock::{Mode, Superblock, VERSION};

use crate::block::corrected;
use crate::reader::Recording;
use crate::voids::Cover;
use crate::{Disk, Form, PAGE, Result, crc32c, grains};

/// Blocks that are read at once.
const CHUNK: u64 = 256;
/// Blocks behind the last good one that are looked at for more. Of a group of blocks that have one flush
/// a loss of power leaves any, and a recorder gives blocks up: not this number in a row.
const LOOK: u64 = 1024;

/// What an extent takes on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// First byte of what stands in front of its payload, or of that.
    pub at: u64,
    /// First byte of its header block, or of its payload where there is none.
    pub header: u64,
    /// First byte of its payload.
    pub payload: u64,
    /// Bytes of payload.
    pub length: u64,
    /// First byte behind it.
    pub end: u64,
}

impl Bounds {
    /// That of an index record.
    pub(crate) fn of(superblock: &Superblock, row: &Row) -> Self {
        let length = u64::from(row.length);
        Self {
            at: row.address.saturating_sub(superblock.front()),
            header: row.address.saturating_sub(superblock.header()),
            payload: row.address,
            length,
            end: row
                .address
                .saturating_add(grains(length, superblock.grain())),
        }
    }

    /// Its bytes.
    #[must_use]
    pub const fn range(&self) -> Range<u64> {
        self.at..self.end
    }
}

/// Why an index record is invalid.
pub(crate) fn check_row(superblock: &Superblock, row: &Row, length: u64) -> Option<String> {
    if !row.stored() {
        return None;
    }
    let extent = Bounds::of(superblock, row);
    let data = superblock.data;
    let wrong = |field: &str, value: u64, limit: String| {
        Some(format!(
            "object {} of stream {}: its {field} is {value}, but {limit}",
            row.object, row.stream
        ))
    };
    let first = superblock.first_extent();
    let within = format!("data lie from byte {first} to {}", data.end());
    if !row.address.is_multiple_of(superblock.grain()) {
        let limit = format!("it is a multiple of {}", superblock.grain());
        return wrong("address", row.address, limit);
    }
    if row.address.checked_sub(extent.at).is_none() || extent.at < first {
        return wrong("address", row.address, within);
    }
    if extent.end > data.end() {
        return wrong(
            "length",
            extent.length,
            format!("from byte {} on {within}", row.address),
        );
    }
    if extent.end > length {
        let limit = format!("the disk ends at byte {length}");
        return wrong("end", extent.end, limit);
    }
    if superblock.mode == Mode::Samples {
        if extent.length > superblock.stride {
            let limit = format!("the stride is {}", superblock.stride);
            return wrong("length", extent.length, limit);
        }
        if !(row.address - data.at).is_multiple_of(superblock.stride) {
            let limit = format!("it is a multiple of the stride, {}", superblock.stride);
            return wrong("address", row.address, limit);
        }
    }
    if superblock.mode == Mode::Packets && extent.length > CHUNK_MOST as u64 {
        let limit = format!("segments have at most {CHUNK_MOST} bytes");
        return wrong("length", extent.length, limit);
    }
    if row.whole() && row.offset != 0 {
        return wrong("offset", row.offset, "it is a whole object".into());
    }
    None
}

/// Reads a block that must have this number.
pub(crate) fn parse(
    page: &[u8; PAGE_BYTES],
    form: &Form,
    number: u64,
) -> std::result::Result<Block, String> {
    let block = Block::parse(page, form.session, form.layout(), crc32c)
        .map_err(|error: BlockError| error.to_string())?;
    match u64::from(block.number) == number {
        true => Ok(block),
        false => Err(format!(
            "its number is {}, but it lies where {number} does",
            block.number
        )),
    }
}

/// Bits of recording UUID and number that may be wrong in a page that begins as a block does.
const WRONG_BITS: u32 = 8;

/// Whether a page that is no good block is what is left of this one.
fn resembles(page: &[u8; PAGE_BYTES], form: &Form, number: u64) -> bool {
    if Block::parse(page, form.session, form.layout(), crc32c).is_ok() {
        return false;
    }
    let wrong = |number: u64| {
        let own = form.session.short().into_iter();
        let own = own.chain((number as u32).to_le_bytes());
        let at = form.layout().session_at();
        let there = &page[at..at + 12];
        let bits = own
            .zip(there)
            .map(|(own, there)| (own ^ there).count_ones());
        bits.sum::<u32>()
    };
    // In a ring the block that was there before differs by little.
    let older = match form.index_ring {
        true => number.checked_sub(form.index_slots()),
        false => None,
    };
    wrong(number) <= WRONG_BITS && older.is_none_or(|older| wrong(number) < wrong(older))
}

/// Blocks that were read together, of each the page that has all.
#[derive(Default)]
struct Blocks {
    pages: Vec<[u8; PAGE_BYTES]>,
    /// Why a block cannot be read; its bytes are zeros.
    unreadable: BTreeMap<usize, String>,
}

impl Blocks {
    /// N of them from byte `at` on, each as long as the alignment.
    fn read(disk: &dyn Disk, at: u64, count: u64, unit: u64) -> Self {
        let mut blocks = Self::default();
        let mut bytes = vec![0; (count * PAGE) as usize];
        if unit == PAGE && disk.read_at(at, &mut bytes).is_ok() {
            blocks.pages = bytes.as_chunks().0.to_vec();
            return blocks;
        }
        for (number, at) in (at..)
            .step_by(unit as usize)
            .take(count as usize)
            .enumerate()
        {
            let mut page = [0; PAGE_BYTES];
            if let Err(error) = disk.read_at(at, &mut page) {
                page.fill(0);
                let why = format!("byte {at} of the disk cannot be read: {error}");
                blocks.unreadable.insert(number, why);
            }
            blocks.pages.push(page);
        }
        blocks
    }
}

/// Goes through slots from the first on; `see` says whether to go on.
fn each_slot(disk: &dyn Disk, form: &Form, mut see: impl FnMut(u64, &[u8; PAGE_BYTES]) -> bool) {
    let slots = form.index_slots();
    let first = form.index.at + form.unit();
    let mut slot = 0;
    while slot < slots {
        let count = CHUNK.min(slots - slot);
        let blocks = Blocks::read(disk, first + slot * form.unit(), count, form.unit());
        for page in &blocks.pages {
            if !see(slot, page) {
                return;
            }
            slot += 1;
        }
    }
}

/// How far an index goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Index {
    /// Number of the first block that is there.
    pub first: u64,
    /// Number behind the last block.
    pub head: u64,
    /// Blocks behind the head that begin as blocks of this recording and are damaged, or were not
    /// written in full.
    pub doubtful: u64,
    /// Why the place behind these cannot be read: more blocks may follow.
    pub unsure: Option<String>,
    /// In a ring: all blocks were good when it was found out what is void.
    pub complete: bool,
    /// In a ring, for each block from the first on: bits of the index records that are void.
    voids: Option<Vec<Voids>>,
}

/// Index records of a block that are void: bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Voids {
    /// Newer ones lie on them.
    overlapped: u64,
    /// Those of a block that is missing may.
    in_gap: u64,
    /// What came behind the newest index record may.
    overtaken: u64,
}

impl Index {
    /// Finds its head.
    pub fn find(disk: &dyn Disk, form: &Form) -> Self {
        let head = match form.closed {
            Some(closed) => closed.blocks,
            None if form.index_ring => ring_head(disk, form),
            None => head(disk, form),
        };
        let mut index = Self {
            first: 0,
            head,
            doubtful: 0,
            unsure: None,
            complete: true,
            voids: None,
        };
        if form.closed.is_none() {
            index.look_behind(disk, form);
        }
        if form.index_ring {
            index.first = index.head.saturating_sub(form.index_slots());
        }
        if form.ring {
            let (voids, complete) = index.find_voids(disk, form);
            index.voids = Some(voids);
            index.complete = complete && index.doubtful == 0 && index.unsure.is_none();
        }
        index
    }

    /// Looks for blocks behind the last good one.
    fn look_behind(&mut self, disk: &dyn Disk, form: &Form) {
        let slots = form.index_slots();
        let end = match form.index_ring {
            true => self.head.saturating_add(slots),
            false => slots,
        };
        let mut page = [0; PAGE_BYTES];
        while self.head + self.doubtful < end {
            let number = self.head + self.doubtful;
            let at = form.block_at(number);
            if let Err(error) = disk.read_at(at, &mut page) {
                self.unsure = Some(format!("byte {at} of the disk: {error}"));
                return;
            }
            if parse(&page, form, number).is_ok() {
                // It could not be read a moment ago.
                (self.head, self.doubtful) = (number + 1, 0);
            } else if resembles(&page, form, number) {
                self.doubtful += 1;
            } else {
                return;
            }
        }
    }

    /// What is not as it should be behind the last good block of a recording that is open.
    pub fn complaints(&self) -> impl Iterator<Item = String> {
        let behind = self.head + self.doubtful;
        let unsure = self.unsure.as_ref().map(|why| {
            format!("block {behind} of the index cannot be read, there may be more: {why}")
        });
        let doubtful = (self.doubtful > 0).then(|| {
            format!(
                "{} blocks of the index, from {} on, are damaged or were not written in full",
                self.doubtful, self.head
            )
        });
        doubtful.into_iter().chain(unsure)
    }

    /// From the newest index record to the oldest: one whose payload a newer one overlaps is void. In a
    /// recording that is open so is what data without an index record may lie on.
    fn find_voids(&self, disk: &dyn Disk, form: &Form) -> (Vec<Voids>, bool) {
        let (mut cover, mut complete) = (Cover::default(), true);
        let (mut gaps, mut ahead) = (Cover::default(), Cover::default());
        // A block is missing; where the oldest extent lies that was seen.
        let (mut gap, mut oldest) = (false, None);
        let mut voids = vec![Voids::default(); (self.head - self.first) as usize];
        for number in (self.first..self.head).rev() {
            let mut page = [0; PAGE_BYTES];
            let read = disk.read_at(form.block_at(number), &mut page);
            let block = read.ok().and_then(|()| parse(&page, form, number).ok());
            let Some(block) = block else {
                complete = false;
                gap = true;
                continue;
            };
            let mask = &mut voids[(number - self.first) as usize];
            for (bit, row) in block.rows.iter().enumerate().rev() {
                let wrong = check_row(form, row, disk.len()).is_some();
                if !row.counts() || row.address == 0 || wrong {
                    continue;
                }
                let extent = Bounds::of(form, row);
                // Those of a block that is missing lie between its neighbours': none, where these share a
                // unit.
                let behind = form.aligned(extent.end);
                if let (true, Some(next)) = (gap, oldest)
                    && form.aligned(next) != behind
                {
                    form.between(behind, next)
                        .into_iter()
                        .for_each(|part| gaps.add(part));
                }
                if oldest.is_none() && form.closed.is_none() && form.ahead > 0 {
                    let end = form.behind(behind, form.ahead);
                    form.between(behind, end)
                        .into_iter()
                        .for_each(|part| ahead.add(part));
                }
                (gap, oldest) = (false, Some(extent.at));
                let range = extent.range();
                // An extent without a byte of payload has its page.
                if row.stored() && cover.touches(&range) {
                    mask.overlapped |= 1 << bit;
                } else if row.stored() && gaps.touches(&range) {
                    mask.in_gap |= 1 << bit;
                } else if row.stored() && ahead.touches(&range) {
                    mask.overtaken |= 1 << bit;
                }
                // What fills up its unit behind it is newer, too; and one that failed may lie there in part.
                cover.add(range.start..behind);
            }
        }
        (voids, complete)
    }

    /// Blocks with index records that newer ones overlap, and which.
    pub fn overlapped(&self) -> impl Iterator<Item = (u64, u64)> {
        self.void(|voids| voids.overlapped)
    }

    /// Blocks with index records on which those of a missing block may lie, and which.
    pub fn in_gaps(&self) -> impl Iterator<Item = (u64, u64)> {
        self.void(|voids| voids.in_gap)
    }

    /// Blocks with index records that data without one may lie on, and which.
    pub fn overtaken(&self) -> impl Iterator<Item = (u64, u64)> {
        self.void(|voids| voids.overtaken)
    }

    fn void(&self, why: impl Fn(&Voids) -> u64) -> impl Iterator<Item = (u64, u64)> {
        let masks = self.voids.iter().flatten().map(why);
        (self.first..).zip(masks).filter(|(_, mask)| *mask != 0)
    }

    /// Takes what data might lie on for what it is: it is known what they lie on.
    pub fn forget_overtaken(&mut self) {
        let voids = self.voids.iter_mut().flatten();
        voids.for_each(|voids| voids.overtaken = 0);
    }

    fn is_void(&self, number: u64, row: usize) -> bool {
        let at = usize::try_from(number - self.first);
        let voids = self.voids.as_ref().zip(at.ok());
        let voids = voids.and_then(|(voids, at)| voids.get(at));
        voids.is_some_and(|voids| {
            (voids.overlapped | voids.in_gap | voids.overtaken) >> row & 1 != 0
        })
    }
}

/// Behind the last block of this recording, number by number.
fn head(disk: &dyn Disk, form: &Form) -> u64 {
    let mut head = 0;
    each_slot(disk, form, |slot, page| {
        if parse(page, form, slot).is_ok() {
            head = slot + 1;
        }
        slot < head + LOOK
    });
    head
}

/// Behind the block with the greatest number.
fn ring_head(disk: &dyn Disk, form: &Form) -> u64 {
    let mut head = 0;
    let slots = form.index_slots();
    each_slot(disk, form, |slot, page| {
        if let Ok(block) = Block::parse(page, form.session, form.layout(), crc32c)
            && u64::from(block.number) % slots == slot
        {
            head = head.max(u64::from(block.number) + 1);
        }
        true
    });
    head
}

/// Whether there are blocks that only a ring of blocks has, or index records that only a ring of
/// data has.
pub(crate) fn looks_gone_round(disk: &dyn Disk, form: &Form) -> Result<(bool, bool)> {
    let (mut ring, mut index_ring, mut last) = (false, false, 0);
    each_slot(disk, form, |slot, page| {
        let Ok(block) = Block::parse(page, form.session, form.layout(), crc32c) else {
            return slot < LOOK;
        };
        index_ring |= u64::from(block.number) != slot;
        for row in block.rows.iter().filter(|row| row.stored()) {
            // Records of streams received at once are out of order, but by less than half of all.
            ring |= row.address < last && last - row.address > form.data.bytes / 2;
            last = row.address;
        }
        true
    });
    Ok((ring || index_ring, index_ring))
}

/// The first of some that its blocks fit, or the first.
fn fitting(disk: &dyn Disk, forms: [Form; 3]) -> Form {
    let fits = |form: &&Form| {
        let mut fits = false;
        each_slot(disk, form, |slot, page| {
            fits = Block::parse(page, form.session, form.layout(), crc32c).is_ok()
                || corrected(page, form, slot).is_some();
            !fits && slot < LOOK
        });
        fits
    };
    let found = forms.iter().find(fits).cloned();
    let [first, ..] = forms;
    found.unwrap_or(first)
}

/// Version and schema as the index has them: version 1 says none.
pub(crate) fn form_of(disk: &dyn Disk, superblock: &Superblock) -> Form {
    let mut page = [0; PAGE_BYTES];
    let read = disk.read_at(superblock.index.at, &mut page).ok();
    let said = read.and_then(|()| Layout::schema_of(&page, crc32c));
    let form = |version, schema| {
        Form::of(Superblock {
            version,
            schema,
            alignment: match version {
                1 => PAGE_BYTES as u32,
                _ => superblock.alignment,
            },
            ..*superblock
        })
    };
    let first = form(1, Schema::default());
    match said {
        Some(schema) => form(VERSION, schema),
        None if first.layout().schema_page(crc32c) == page => first,
        None => fitting(
            disk,
            [
                form(VERSION, Schema::default()),
                form(VERSION, Schema::NONE),
                first,
            ],
        ),
    }
}

/// The stride that the index records have: the greatest number that all places are a multiple of.
pub(crate) fn stride_of(disk: &dyn Disk, form: &Form) -> Result<u64> {
    let mut stride = 0;
    each_slot(disk, form, |slot, page| {
        let Ok(block) = Block::parse(page, form.session, form.layout(), crc32c) else {
            return slot < LOOK;
        };
        for row in block.rows.iter().filter(|row| row.stored()) {
            let place = row.address.saturating_sub(form.data.at);
            stride = common_divisor(stride, place);
        }
        true
    });
    let unit = form.unit();
    let usable = stride.is_multiple_of(unit) && stride > 0 && stride <= form.data.bytes;
    // A single sample says nothing of the stride, and needs none.
    let most = form.data.bytes - form.data.bytes % unit;
    Ok(if usable { stride } else { most })
}

const fn common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// What the index has, one after the other.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// An index record that counts and is not void.
    Row {
        /// Number of its block.
        block: u64,
        /// Which of the block's records.
        slot: usize,
        /// The index record.
        row: Row,
        /// Why it is invalid; then its extent must not be read.
        wrong: Option<String>,
    },
    /// A block that cannot be read.
    Damaged {
        /// Its number.
        block: u64,
        /// Why.
        why: String,
        /// The disk does not give it: it may be whole.
        unreadable: bool,
    },
}

/// Goes through the index.
pub struct Rows<'r> {
    recording: &'r Recording<'r>,
    /// Number of the block that is looked at.
    number: u64,
    /// Its next record.
    row: usize,
    block: Option<Block>,
    /// Blocks that were read, and the number of the first of them.
    chunk: Blocks,
    chunk_first: u64,
}

impl Recording<'_> {
    /// All index records that count, oldest first.
    #[must_use]
    pub fn rows(&self) -> Rows<'_> {
        Rows {
            recording: self,
            number: self.index.first,
            row: 0,
            block: None,
            chunk: Blocks::default(),
            chunk_first: self.index.first,
        }
    }

    /// The valid ones among them, each with its block's number and its slot.
    pub fn valid_rows(&self) -> impl Iterator<Item = (u64, usize, Row)> {
        self.rows().filter_map(|entry| match entry {
            Entry::Row {
                block,
                slot,
                row,
                wrong: None,
            } => Some((block, slot, row)),
            _ => None,
        })
    }

    /// Those of extents that were stored.
    pub(crate) fn stored(&self) -> impl Iterator<Item = (u64, usize, Row)> {
        self.valid_rows().filter(|(_, _, row)| row.stored())
    }
}

impl Rows<'_> {
    /// A block's page, or why it cannot be read.
    fn page(&mut self) -> std::result::Result<[u8; PAGE_BYTES], String> {
        let superblock = &self.recording.superblock();
        let held = self.chunk.pages.len() as u64;
        if !(self.chunk_first..self.chunk_first + held).contains(&self.number) {
            let slots = superblock.index_slots();
            let slot = if superblock.index_ring {
                self.number % slots
            } else {
                self.number
            };
            let left = (self.recording.index.head - self.number).min(slots.saturating_sub(slot));
            let count = CHUNK.min(left).max(1);
            let at = superblock.block_at(self.number);
            self.chunk = Blocks::read(self.recording.disk, at, count, superblock.unit());
            self.chunk_first = self.number;
        }
        let which = (self.number - self.chunk_first) as usize;
        if let Some(why) = self.chunk.unreadable.get(&which) {
            return Err(why.clone());
        }
        Ok(self
            .chunk
            .pages
            .get(which)
            .copied()
            .unwrap_or([0; PAGE_BYTES]))
    }

    fn step(&mut self) {
        self.number += 1;
        self.row = 0;
        self.block = None;
    }
}

impl Iterator for Rows<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        let index = &self.recording.index;
        while self.number < index.head {
            let number = self.number;
            let block = match &self.block {
                Some(block) => block,
                None => {
                    let page = self.page();
                    let unreadable = page.is_err();
                    let recording = self.recording;
                    match page.and_then(|page| parse(&page, recording.form(), number)) {
                        Ok(block) => self.block.insert(block),
                        Err(why) => {
                            self.step();
                            return Some(Entry::Damaged {
                                block: number,
                                why,
                                unreadable,
                            });
                        }
                    }
                }
            };
            while self.row < self.recording.form().layout().rows {
                let slot = self.row;
                self.row += 1;
                let row = block.rows[slot];
                if row.counts() && !index.is_void(number, slot) {
                    let length = self.recording.disk.len();
                    let wrong = check_row(self.recording.superblock(), &row, length);
                    return Some(Entry::Row {
                        block: number,
                        slot,
                        row,
                        wrong,
                    });
                }
            }
            self.step();
        }
        None
    }
}
