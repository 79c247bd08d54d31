// SPDX-License-Identifier: Apache-2.0
//! Writes a recording from software: the layout that the recorder's hardware writes, byte for byte.

use std::io::Read;
use std::ops::Range;

use forebay_spec::store::index::{Block, CUT, LATE, RESULT, Row, SKIPPED, WHOLE as WHOLE_FLAG};
use forebay_spec::store::layout::ROWS_MOST;
use forebay_spec::store::schema::RESULT_MOST;
use forebay_spec::store::superblock::{Closed, Mode, Superblock};
use forebay_spec::store::{PAGE_BYTES, index, page, pcapng, tar};

use crate::disk::{flush, write};
use crate::extent::facts_of;
use crate::format::write_superblocks;
use crate::reader::Recording;
use crate::{Bounds, Disk, Error, Form, Result, crc32c, grains, text};

/// Bytes of an extent where an object is longer: its length has 32 bits.
const EXTENT_MOST: u64 = 1 << 30;
/// Bytes that are written at once.
const CHUNK: usize = 1 << 20;

/// What is known of an object, or of the rest of one, that is to be stored.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Extent {
    /// Stream.
    pub stream: u16,
    /// Number of the object.
    pub object: u64,
    /// Where in it the bytes begin.
    pub offset: u64,
    /// The object goes on behind these bytes.
    pub goes_on: bool,
    /// Bytes that it had when it was received, if elements have changed its length; 0: as many as are
    /// stored.
    pub received: u32,
    /// Frames that are missing before it; `u32::MAX` stands for more.
    pub missing: u32,
    /// Number of its first frame.
    pub sequence: u32,
    /// The sender's epoch.
    pub epoch: u32,
    /// When it began: nanoseconds since 1970.
    pub time: u64,
    /// The result, its columns one behind the other.
    pub result: Option<[u8; RESULT_MOST]>,
    /// A result was expected and did not come in time.
    pub late: bool,
    /// The name that the object had where it came from: kept where there is a tar header.
    pub name: tar::Name,
}

/// What became of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Placed {
    /// Extents that were stored.
    pub extents: u64,
    /// Bytes of payload that were stored.
    pub bytes: u64,
    /// Bytes of payload for which there was no room.
    pub skipped: u64,
}

/// What was written in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Index records.
    pub rows: u64,
    /// Blocks of the index.
    pub blocks: u64,
    /// Bytes of payload.
    pub bytes: u64,
    /// Bytes of payload for which there was no room.
    pub skipped: u64,
}

/// A recording being written.
pub struct Writer<'d> {
    disk: &'d dyn Disk,
    recording: Form,
    superblocks: forebay_spec::store::superblock::Region,
    /// Where the next extent begins.
    head: u64,
    /// The ring has been gone round.
    wrapped: bool,
    /// The page behind the newest extent that has its index record on the disk.
    durable: u64,
    /// Index records that are in no block yet.
    rows: Vec<Row>,
    /// Number of the next block.
    block: u64,
    most: u64,
    /// Batches go on where a block of the index is full.
    open_batches: bool,
    chunk: Vec<u8>,
    summary: Summary,
}

impl<'d> Writer<'d> {
    /// Begins in a recording that was formatted, and has nothing yet.
    ///
    /// # Errors
    /// Where there is no recording, one that is closed, or has index records.
    pub fn new(disk: &'d dyn Disk) -> Result<Self> {
        let recording = Recording::open(disk)?;
        let form = recording.form().clone();
        let refuse = |what| {
            Error::recording(
                what,
                "make a new recording with `forebay store format --force`",
            )
        };
        if form.closed.is_some() {
            return Err(refuse("the recording is closed"));
        }
        if recording.blocks() > 0 {
            return Err(refuse("the recording has objects already"));
        }
        if form.schema.cipher.is_some() {
            return Err(refuse("the recording is one of encrypted objects"));
        }
        let (ahead, unit) = (form.ahead, form.unit());
        Ok(Self {
            disk,
            superblocks: recording.superblocks(),
            head: form.first_extent(),
            durable: form.first_extent(),
            rows: Vec::with_capacity(form.layout().rows),
            recording: form,
            wrapped: false,
            block: 0,
            most: match ahead {
                0 => EXTENT_MOST,
                // With its header block, and behind what a ring leaves free at its end.
                ahead => EXTENT_MOST.min((ahead / 2).saturating_sub(2 * unit) / unit * unit),
            },
            open_batches: false,
            chunk: Vec::new(),
            summary: Summary::default(),
        })
    }

    /// Cuts objects into extents of at most `bytes`.
    #[must_use]
    pub fn with_extents_of(mut self, bytes: u64) -> Self {
        self.most = match self.recording.ahead {
            0 => bytes.clamp(1, u32::MAX.into()),
            _ => bytes.clamp(1, self.most),
        };
        self
    }

    /// Goes on with a batch of small objects where a block of the index is full, as hardware does:
    /// index records then end in the middle of a page.
    #[must_use]
    pub const fn with_open_batches(mut self) -> Self {
        self.open_batches = true;
        self
    }

    /// The recording.
    #[must_use]
    pub fn superblock(&self) -> &Superblock {
        &self.recording
    }

    /// What was written so far.
    #[must_use]
    pub const fn summary(&self) -> Summary {
        self.summary
    }

    /// Stores `length` bytes of `payload`, in a capture those of a segment; what finds no room gets
    /// an index record that says so.
    ///
    /// # Errors
    /// The disk's or the payload's, or an index that is full.
    pub fn put(&mut self, about: &Extent, payload: &mut dyn Read, length: u64) -> Result<Placed> {
        let most = match self.recording.mode {
            Mode::Samples => {
                (self.recording.stride).min(u32::MAX as u64 & !(self.recording.unit() - 1))
            }
            _ => self.most,
        };
        let (mut placed, mut done) = (Placed::default(), 0);
        loop {
            let bytes = (length - done).min(most);
            let last = done + bytes == length;
            let part = Extent {
                offset: about.offset.saturating_add(done),
                missing: if done == 0 { about.missing } else { 0 },
                goes_on: about.goes_on || !last,
                received: match about.received {
                    0 => u32::try_from(length).unwrap_or(u32::MAX),
                    received => received,
                },
                ..*about
            };
            let found = self.extent(&part, payload, bytes as u32)?;
            placed.extents += found.extents;
            placed.bytes += found.bytes;
            placed.skipped += found.skipped;
            done += bytes;
            if last {
                return Ok(placed);
            }
        }
    }

    fn extent(&mut self, about: &Extent, payload: &mut dyn Read, length: u32) -> Result<Placed> {
        if !self.recording.index_ring && self.block >= self.recording.index_slots() {
            return Err(Error::setting(
                "the index",
                format!("full with {} index records", self.summary.rows),
                format!("it has {} bytes", self.recording.index.bytes),
                "format with a larger index (--index, --smallest-object)",
            ));
        }
        let mut found = self.room(length);
        if found.is_some_and(|at| self.is_far(at, length)) {
            // A batch ends with it.
            self.sync()?;
            found = self.room(length);
        }
        let Some(at) = found else {
            let row = self.row(about, 0, length, 0, SKIPPED);
            // The next extent reads on behind what has no room.
            let mut rest = payload.take(length.into());
            std::io::copy(&mut rest, &mut std::io::sink()).map_err(Error::Source)?;
            self.summary.skipped += u64::from(length);
            self.push(row)?;
            return Ok(Placed {
                skipped: length.into(),
                ..Placed::default()
            });
        };
        if at != self.head {
            self.fill_up()?;
        }
        let front = self.recording.front();
        let crc = self.payload(at + front, payload, length)?;
        let row = self.row(about, at + front, length, crc, 0);
        if front > 0 {
            let facts = page::Facts {
                sequence: about.sequence,
                epoch: about.epoch,
                name: about.name,
                ..facts_of(&self.recording, &row)
            };
            write_front(self.disk, &self.recording, at, &facts)?;
        }
        self.wrapped |= at < self.head;
        let step = match self.recording.mode {
            Mode::Samples => self.recording.stride,
            _ => front + self.padded(length),
        };
        self.head = at + step;
        self.summary.bytes += u64::from(length);
        self.push(row)?;
        Ok(Placed {
            extents: 1,
            bytes: length.into(),
            skipped: 0,
        })
    }

    /// Bytes that a payload takes.
    fn padded(&self, length: u32) -> u64 {
        grains(length as u64, self.recording.grain())
    }

    /// Fills up a batch of small objects to the next multiple of the alignment.
    fn fill_up(&mut self) -> Result<()> {
        while self.recording.small && !self.head.is_multiple_of(self.recording.unit()) {
            write(self.disk, self.head, &page::FILLER)?;
            self.head += tar::BYTES as u64;
        }
        Ok(())
    }

    /// Whether an extent would end too far ahead of the index: in a ring it lies on older ones.
    fn is_far(&self, at: u64, length: u32) -> bool {
        let end = at + self.recording.front() + self.padded(length);
        let end = self.recording.aligned(end);
        let ring = self.recording.ring_region();
        let ahead = match end >= self.durable {
            true => end - self.durable,
            false => end + ring.bytes - self.durable,
        };
        self.recording.ahead != 0 && ahead > self.recording.ahead
    }

    /// Where an extent finds room.
    fn room(&self, length: u32) -> Option<u64> {
        let data = self.recording.data;
        let (need, end) = match self.recording.mode {
            Mode::Samples if !self.recording.ring => (self.recording.stride, data.end()),
            Mode::Samples => (self.recording.stride, self.recording.ring_region().end()),
            _ => (
                self.recording.front() + self.padded(length),
                self.recording.data_end(),
            ),
        };
        let fits = |at: u64| at.checked_add(need).is_some_and(|to| to <= end);
        if fits(self.head) {
            return Some(self.head);
        }
        (self.recording.ring && fits(data.at)).then_some(data.at)
    }

    fn payload(&mut self, mut at: u64, payload: &mut dyn Read, length: u32) -> Result<u32> {
        let mut left = u64::from(length);
        let mut crc = 0;
        while left > 0 {
            let bytes = left.min(CHUNK as u64) as usize;
            self.chunk.resize(self.padded(bytes as u32) as usize, 0);
            let (own, padding) = self.chunk.split_at_mut(bytes);
            payload.read_exact(own).map_err(Error::Source)?;
            crc = crc32c(crc, own);
            pad(padding, self.recording.mode);
            write(self.disk, at, &self.chunk)?;
            at += self.chunk.len() as u64;
            left -= bytes as u64;
        }
        Ok(crc)
    }

    fn row(&self, about: &Extent, address: u64, length: u32, crc32c: u32, flags: u16) -> Row {
        let stored = flags & SKIPPED == 0;
        let set = [
            (stored && about.offset == 0 && !about.goes_on, WHOLE_FLAG),
            (about.goes_on, CUT),
            (about.result.is_some(), RESULT),
            (about.late, LATE),
        ];
        let set = set.iter().filter(|(set, _)| *set);
        Row {
            object: about.object,
            offset: about.offset,
            address,
            time: about.time,
            length,
            crc32c,
            missing: about.missing,
            nonce: 0,
            received: match self.recording.schema.received && !about.goes_on {
                true => about.received,
                false => 0,
            },
            stream: about.stream,
            result: about.result.unwrap_or([0; RESULT_MOST]),
            flags: set.fold(index::COUNTS | flags, |all, (_, flag)| all | flag),
        }
    }

    fn push(&mut self, row: Row) -> Result<()> {
        self.rows.push(row);
        self.summary.rows += 1;
        match self.rows.len() {
            rows if rows < self.recording.layout().rows => Ok(()),
            _ if self.open_batches => self.promise(),
            _ => self.sync(),
        }
    }

    /// Makes durable what was stored so far: data first, then their index records.
    pub fn sync(&mut self) -> Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        self.fill_up()?;
        self.promise()
    }

    /// Writes a block of the index, behind the data of its records.
    fn promise(&mut self) -> Result<()> {
        flush(self.disk)?;
        write_block(self.disk, &self.recording, self.block, &self.rows)?;
        flush(self.disk)?;
        let placed = self.rows.iter().rev().find(|row| row.address != 0);
        self.durable = placed.map_or(self.durable, |row| {
            let extent = Bounds::of(&self.recording, row);
            self.recording.aligned(extent.end)
        });
        self.rows.clear();
        self.block += 1;
        self.summary.blocks = self.block;
        Ok(())
    }

    /// Ends the recording: end marks, trailer, superblocks.
    pub fn close(mut self) -> Result<Summary> {
        self.sync()?;
        self.fill_up()?;
        let closed = Closed {
            blocks: self.block,
            end: self.head,
        };
        close(
            self.disk,
            self.superblocks,
            &self.recording,
            closed,
            self.wrapped,
        )?;
        Ok(self.summary)
    }
}

/// Writes the block of the index with this number.
pub(crate) fn write_block(
    disk: &dyn Disk,
    form: &Form,
    number: u64,
    records: &[Row],
) -> Result<()> {
    let mut rows = [Row::default(); ROWS_MOST];
    for (to, from) in rows.iter_mut().zip(records) {
        *to = *from;
    }
    let short = u32::try_from(number).map_err(|_| {
        let (limit, remedy) = ("an index has at most 2^32 blocks", "close the recording");
        Error::setting("the block's number", number, limit, remedy)
    })?;
    let block = Block {
        number: short,
        rows,
    };
    let page = block.to_bytes(form.session, form.layout(), crc32c);
    write(disk, form.block_at(number), &page)
}

/// Writes what stands in front of a payload, its last bytes the header block.
pub(crate) fn write_front(
    disk: &dyn Disk,
    superblock: &Superblock,
    at: u64,
    facts: &page::Facts,
) -> Result<()> {
    let header = at + superblock.front() - superblock.header();
    write_fillers(disk, at..header)?;
    match superblock.small {
        true => write(disk, header, &facts.to_header()),
        false => write(disk, header, &facts.to_page()),
    }
}

/// Fills up blocks of a tar file.
pub(crate) fn write_fillers(disk: &dyn Disk, range: Range<u64>) -> Result<()> {
    match (range.end - range.start) as usize / tar::BYTES {
        0 => Ok(()),
        blocks => write(disk, range.start, &page::FILLER.repeat(blocks)),
    }
}

/// What stands behind a payload up to the next multiple of the alignment.
pub(crate) fn pad(padding: &mut [u8], mode: Mode) {
    padding.fill(0);
    if mode == Mode::Objects {
        let from = padding.len() % tar::BYTES;
        for header in padding[from..].chunks_exact_mut(tar::BYTES) {
            header.copy_from_slice(&page::FILLER);
        }
    }
}

/// Writes end marks and trailer, and closed superblocks.
pub(crate) fn close(
    disk: &dyn Disk,
    superblocks: forebay_spec::store::superblock::Region,
    recording: &Superblock,
    closed: Closed,
    wrapped: bool,
) -> Result<Superblock> {
    let superblock = Superblock {
        generation: recording.generation.saturating_add(1),
        closed: Some(closed),
        ..*recording
    };
    for (at, page) in end_marks(&superblock, wrapped) {
        write(disk, at, &page)?;
    }
    flush(disk)?;
    write_superblocks(disk, superblocks, &superblock)?;
    Ok(superblock)
}

/// Pages that end a recording, and where; with the one that a capture begins with.
pub(crate) fn end_marks(superblock: &Superblock, wrapped: bool) -> Vec<(u64, [u8; PAGE_BYTES])> {
    let closed = superblock.closed.unwrap_or(Closed {
        blocks: 0,
        end: superblock.first_extent(),
    });
    let last = superblock.index.end() - superblock.unit();
    let mut marks = vec![(last, *text::index_end())];
    if closed.blocks < superblock.index_slots() {
        marks.push((superblock.block_at(closed.blocks), *text::index_end()));
    }
    if superblock.mode == Mode::Objects {
        // In a ring that was gone round, older extents lie behind the newest.
        let at = match wrapped {
            true => superblock.data_end(),
            false => closed.end.min(superblock.data_end()),
        };
        marks.push((at, text::trailer(superblock)));
    }
    if superblock.mode == Mode::Packets {
        let end = closed.end.min(superblock.data_end());
        let first = pcapng::first_page(superblock.session);
        let unit = pcapng::behind_first_page(superblock.alignment as usize);
        marks.extend(
            unit.iter()
                .map(|(at, page)| (superblock.data.at + *at as u64, *page)),
        );
        // Readers that know no end stop at what is no block.
        marks.extend([(superblock.data.at, first), (end, [0; PAGE_BYTES])]);
    }
    marks
}
