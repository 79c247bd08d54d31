// SPDX-License-Identifier: Apache-2.0
//! Where things stand in a block of an index: record batches of an Arrow IPC stream, 4096 bytes each.
//!
//! ```text
//! FF FF FF FF, length │ message │ recording UUID, number, CRC32C │ columns │ valid │ columns of results
//! ```
//! A block has as many rows as fit. What stands in front of the columns is the same in each block of a
//! recording, but for the number of rows: hardware has it as a ROM.

use alloc::vec::Vec;

use super::arrow::{Field, batch, schema};
use super::schema::{Kind, SCHEMA_BYTES, Schema};
use super::{Crc, PAGE_BYTES, version1};
use crate::bytes::{get_u32, get_u64, put};

/// Most rows of a block: a word has a bit for each.
pub const ROWS_MOST: usize = 64;
/// What precedes each message of Arrow's, in place of nothing.
pub const CONTINUATION: u32 = u32::MAX;
/// Offset of the message behind [`CONTINUATION`] and its length.
pub const MESSAGE_AT: usize = 8;
/// Bytes between the message and the columns: the first eight of the recording UUID, the block's
/// number, the CRC32C of the block with zeros there.
pub const OWN_BYTES: usize = 16;
/// Bytes of a beat of hardware's.
pub const BEAT_BYTES: usize = 64;
/// Offset of the number of rows.
pub const COUNT_AT: usize = 72;
/// Offset of the number of bytes from the columns on; in version 1 they are always as many.
pub const BODY_AT: usize = 40;
/// Where in the first page of an index the schema is written once more, with a CRC32C behind it.
pub const SCHEMA_AT: usize = PAGE_BYTES - super::schema::SCHEMA_BYTES - 4;
/// Bytes of the bits that say which rows have a result.
pub const VALID_BYTES: usize = ROWS_MOST / 8;

/// A column that each recording has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Base {
    /// Name.
    pub name: &'static str,
    /// Type.
    pub kind: Kind,
}

macro_rules! columns {
    ($($constant:ident $name:literal $kind:ident $doc:literal;)*) => {
        /// All columns that recordings have, in order; but [`NONCE`] and [`RECEIVED`] stand only in
        /// those whose schema says so.
        pub const BASES: &[Base] = &[$(Base { name: $name, kind: Kind::$kind }),*];
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        enum Place { $($constant),* }
        $(#[doc = $doc] pub const $constant: usize = Place::$constant as usize;)*
    };
}

columns! {
    OBJECT "object" U64 "Number of the object.";
    OFFSET "offset" U64 "Where in it the extent begins.";
    ADDRESS "address" U64 "First byte of its payload on the SSD.";
    TIME "time" Time "When it began.";
    NONCE "nonce" U64 "Upper half of the counter blocks of its payload.";
    LENGTH "length" U32 "Bytes of payload.";
    CRC "crc32c" U32 "Of the payload.";
    MISSING "missing" U32 "Frames that are missing before it.";
    RECEIVED "received" U32 "Bytes of it that were received.";
    STREAM "stream" U16 "Stream.";
    FLAGS "flags" U16 "See the constants of rows.";
}

/// Whether recordings of a schema have the column of [`BASES`] with this number.
#[must_use]
pub const fn has_base(schema: &Schema, base: usize) -> bool {
    match base {
        NONCE => schema.cipher.is_some(),
        RECEIVED => schema.received,
        _ => true,
    }
}

/// Order in which version 1 has them; `class` and `score` of it are those of [`Schema::default`].
const VERSION_1: [(&str, usize); 11] = [
    ("object", 640),
    ("offset", 1152),
    ("address", 1664),
    ("time", 2176),
    ("length", 2688),
    ("crc32c", 2944),
    ("score", 3200),
    ("missing", 3456),
    ("stream", 3712),
    ("class", 3840),
    ("flags", 3968),
];

/// A word of 64 bits in front of the columns that depends on the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// Its offset.
    pub at: usize,
    /// What stands there.
    pub of: WordOf,
}

/// What stands in a [`Word`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordOf {
    /// The rows, as often as a list has values.
    Rows(u8),
    /// Rows without a result.
    Nulls,
    /// Bytes of a block from its columns on.
    Body,
}

/// Where a column stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct At {
    /// Offset of the value of row 0.
    pub at: usize,
    /// Bytes of a value, or of a list of them; the next row's follow.
    pub bytes: usize,
}

/// Where things stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// What a result has.
    pub schema: Schema,
    /// Most rows of a block.
    pub rows: usize,
    /// Bytes of a block: the recording's alignment. All is in the first page; the rest has no meaning.
    pub bytes: usize,
    /// All in front of the columns in a block of [`Self::rows`] rows that all have a result, with zeros
    /// in place of what is a block's own.
    pub head: Vec<u8>,
    /// Words of it that depend on the rows; the first is the number of rows.
    pub words: Vec<Word>,
    /// The columns of [`BASES`]; of those that the schema does not have no bytes.
    pub bases: [At; BASES.len()],
    /// Offset of the bits that say which rows have a result; none where no result has a column, and
    /// in version 1.
    pub valid_at: Option<usize>,
    /// The columns of a result.
    pub results: Vec<At>,
    /// Blocks have all rows, also those that do not count: version 1.
    pub full: bool,
}

/// A message of Arrow's, filled up with zeros to `bytes` together with what precedes it.
fn framed(text: &[u8], bytes: usize) -> Vec<u8> {
    let mut page = Vec::with_capacity(bytes);
    page.extend(CONTINUATION.to_le_bytes());
    page.extend(((bytes - MESSAGE_AT) as u32).to_le_bytes());
    page.extend(text);
    page.resize(bytes, 0);
    page
}

/// The page behind the last block: Arrow's end of a stream.
pub const END_PAGE: [u8; PAGE_BYTES] = {
    let mut page = [0; PAGE_BYTES];
    let mark = CONTINUATION.to_le_bytes();
    let mut at = 0;
    while at < mark.len() {
        page[at] = mark[at];
        at += 1;
    }
    page
};

/// Bytes up to a multiple of 8, where each column begins.
const fn eights(bytes: usize) -> usize {
    bytes.next_multiple_of(8)
}

/// Bytes of a block's message and what precedes it, but for 16 for each of its arrays and buffers.
#[must_use]
pub fn message_bytes() -> usize {
    MESSAGE_AT + batch(0, &[], &[], 0).len()
}

impl Layout {
    /// That of a version of the format; version 1 has the schema of [`Schema::default`].
    #[must_use]
    pub fn new(version: u32, schema: Schema) -> Self {
        match version {
            1 => Self::version_1(),
            _ => Self::version_2(schema),
        }
    }

    /// The same in blocks of N bytes, a multiple of a page.
    #[must_use]
    pub fn in_blocks_of(mut self, bytes: usize) -> Self {
        self.bytes = bytes;
        self.head = self.head_of(self.rows as u64, 0);
        self
    }

    fn version_1() -> Self {
        let at = |name: &str, kind: Kind| At {
            at: VERSION_1
                .iter()
                .find(|(own, _)| *own == name)
                .map_or(0, |(_, at)| *at),
            bytes: kind.bytes(),
        };
        let schema = Schema::default();
        let head = framed(
            &version1::BATCH,
            MESSAGE_AT + version1::BATCH.len() + OWN_BYTES,
        );
        let counts = 448..head.len() - OWN_BYTES;
        let words = core::iter::once(COUNT_AT).chain(counts.step_by(16));
        let mut bases = core::array::from_fn(|base| at(BASES[base].name, BASES[base].kind));
        bases[RECEIVED] = At::default();
        bases[NONCE] = At::default();
        Self {
            schema,
            rows: ROWS_MOST,
            bytes: PAGE_BYTES,
            words: words
                .map(|at| Word {
                    at,
                    of: WordOf::Rows(1),
                })
                .collect(),
            head,
            bases,
            valid_at: None,
            results: schema
                .columns()
                .iter()
                .map(|column| at(column.name(), column.kind))
                .collect(),
            full: true,
        }
    }

    fn version_2(schema: Schema) -> Self {
        // The message is as long for each number of rows.
        let message = Self::message(&schema, 0, MESSAGE_AT).0;
        // What is a block's own is the end of a beat of hardware's.
        let front = (MESSAGE_AT + message.len() + OWN_BYTES).next_multiple_of(BEAT_BYTES);
        let fits = |rows: &usize| Self::message(&schema, *rows, front).1.end <= PAGE_BYTES;
        let rows = (1..=ROWS_MOST).rev().find(fits).unwrap_or(0);
        let (message, places) = Self::message(&schema, rows, front);
        Self {
            schema,
            rows,
            bytes: PAGE_BYTES,
            head: framed(&message, front),
            words: places.words(message.len()),
            bases: places.bases,
            valid_at: places.valid_at,
            results: places.results,
            full: false,
        }
    }

    /// The message of N rows behind `front` bytes, and where things stand.
    fn message(schema: &Schema, rows: usize, front: usize) -> (Vec<u8>, Places) {
        let mut places = Places::behind(front, rows);
        for (at, base) in BASES.iter().enumerate() {
            if has_base(schema, at) {
                places.bases[at] = places.column(base.kind.bytes());
                places.node(1, WordOf::Rows(0));
                places
                    .buffers
                    .extend([[0, 0], places.buffer(places.bases[at])]);
            }
        }
        if !schema.columns().is_empty() {
            places.valid_at = Some(places.end);
            places.end += VALID_BYTES;
        }
        for column in schema.columns() {
            let valid = places.valid_at.unwrap_or(front) - front;
            let at = places.column(column.bytes());
            places.node(1, WordOf::Nulls);
            places.buffers.push([valid as u64, VALID_BYTES as u64]);
            if column.is_list() {
                places.node(column.list, WordOf::Rows(0));
                places.buffers.push([0, 0]);
            }
            places.buffers.push(places.buffer(at));
            places.results.push(at);
        }
        let body = (PAGE_BYTES - front) as u64;
        (
            batch(rows as u64, &places.nodes, &places.buffers, body),
            places,
        )
    }

    /// What stands in front of the columns of a block with N rows, M of them without a result.
    #[must_use]
    pub fn head_of(&self, rows: u64, nulls: u64) -> Vec<u8> {
        let mut head = self.head.clone();
        for word in &self.words {
            let value = match word.of {
                WordOf::Rows(times) => rows.saturating_mul(times.into()),
                WordOf::Nulls => nulls,
                WordOf::Body => (self.bytes - self.columns_at()) as u64,
            };
            put(&mut head, word.at, &value.to_le_bytes());
        }
        head
    }

    /// Rows without a result, as a page says in front of its columns.
    #[must_use]
    pub fn nulls_of(&self, page: &[u8; PAGE_BYTES]) -> u64 {
        let word = self.words.iter().find(|word| word.of == WordOf::Nulls);
        word.map_or(0, |word| get_u64(page, word.at))
    }

    /// The same as its columns say, of N rows.
    #[must_use]
    pub fn nulls_among(&self, page: &[u8; PAGE_BYTES], rows: u64) -> u64 {
        let Some(at) = self.valid_at else {
            return 0;
        };
        let valid = get_u64(page, at);
        (0..rows).filter(|row| valid >> row & 1 == 0).count() as u64
    }

    /// The rows of a page that begins as a block does.
    #[must_use]
    pub fn rows_of(&self, page: &[u8; PAGE_BYTES]) -> Option<usize> {
        let (rows, nulls) = (get_u64(page, COUNT_AT), self.nulls_of(page));
        let front = ..self.session_at();
        let right = rows <= self.rows as u64
            && nulls <= rows
            && self.head_of(rows, nulls)[front] == page[front];
        right.then_some(rows as usize)
    }

    /// Offset of the first column.
    #[must_use]
    pub const fn columns_at(&self) -> usize {
        self.head.len()
    }

    /// Offset of the first eight bytes of the recording UUID.
    #[must_use]
    pub const fn session_at(&self) -> usize {
        self.head.len() - OWN_BYTES
    }

    /// Offset of the block's number.
    #[must_use]
    pub const fn number_at(&self) -> usize {
        self.session_at() + 8
    }

    /// Offset of the CRC32C of the block with zeros there.
    #[must_use]
    pub const fn crc_at(&self) -> usize {
        self.number_at() + 4
    }

    /// Bytes of a block of an index that begins with this page.
    #[must_use]
    pub fn block_bytes(page: &[u8; PAGE_BYTES]) -> u32 {
        let bytes = get_u32(page, 4).saturating_add(MESSAGE_AT as u32);
        let sizes = PAGE_BYTES as u32..=super::superblock::ALIGNMENT_MOST;
        match bytes.is_power_of_two() && sizes.contains(&bytes) {
            true => bytes,
            false => PAGE_BYTES as u32,
        }
    }

    /// Bytes of a block that begins with this page, if it looks like one: its message's and its body's.
    #[must_use]
    pub fn body_of(page: &[u8; PAGE_BYTES]) -> Option<u32> {
        let front = u64::from(get_u32(page, 4)) + MESSAGE_AT as u64;
        let bytes = get_u64(page, BODY_AT).checked_add(front)?;
        u32::try_from(bytes).ok()
    }

    /// The first page of an index. Its message is as long as a block; behind the page it has no meaning.
    #[must_use]
    pub fn schema_page(&self, crc: Crc) -> [u8; PAGE_BYTES] {
        let mut page = [0; PAGE_BYTES];
        if self.full {
            put(&mut page, 0, &framed(&version1::SCHEMA, PAGE_BYTES));
            return page;
        }
        let bases = (0..)
            .zip(BASES)
            .filter(|(at, _)| has_base(&self.schema, *at));
        let bases = bases.map(|(_, base)| Field {
            name: base.name,
            kind: base.kind,
            list: 0,
            nullable: false,
        });
        let columns = self.schema.columns().iter().map(|column| Field {
            name: column.name(),
            kind: column.kind,
            list: column.list,
            nullable: true,
        });
        let fields: Vec<_> = bases.chain(columns).collect();
        put(&mut page, 0, &framed(&schema(&fields), PAGE_BYTES));
        let message = (self.bytes - MESSAGE_AT) as u32;
        put(&mut page, 4, &message.to_le_bytes());
        let own = self.schema.to_bytes();
        put(&mut page, SCHEMA_AT, &own);
        put(&mut page, PAGE_BYTES - 4, &crc(0, &own).to_le_bytes());
        page
    }

    /// The schema that the first page of an index says; nothing where it says none.
    #[must_use]
    pub fn schema_of(page: &[u8; PAGE_BYTES], crc: Crc) -> Option<Schema> {
        let own: &[u8; SCHEMA_BYTES] = page[SCHEMA_AT..].first_chunk()?;
        let says = get_u32(page, PAGE_BYTES - 4);
        Schema::from_bytes(own).filter(|_| says == crc(0, own))
    }
}

/// Where things stand, as far as it is known.
struct Places {
    front: usize,
    rows: usize,
    /// First byte behind what has a place.
    end: usize,
    bases: [At; BASES.len()],
    valid_at: Option<usize>,
    results: Vec<At>,
    nodes: Vec<[u64; 2]>,
    /// What each word of the nodes is; `Rows(0)`: always 0.
    words: Vec<WordOf>,
    buffers: Vec<[u64; 2]>,
}

impl Places {
    fn behind(front: usize, rows: usize) -> Self {
        Self {
            front,
            rows,
            end: front,
            bases: [At::default(); BASES.len()],
            valid_at: None,
            results: Vec::new(),
            nodes: Vec::new(),
            words: Vec::new(),
            buffers: Vec::new(),
        }
    }

    fn column(&mut self, bytes: usize) -> At {
        let at = At {
            at: self.end,
            bytes,
        };
        self.end += eights(self.rows * bytes);
        at
    }

    fn node(&mut self, times: u8, nulls: WordOf) {
        self.nodes.push([self.rows as u64 * u64::from(times), 0]);
        self.words.extend([WordOf::Rows(times), nulls]);
    }

    const fn buffer(&self, at: At) -> [u64; 2] {
        [
            (at.at - self.front) as u64,
            eights(self.rows * at.bytes) as u64,
        ]
    }

    /// Words of a message of `bytes`: behind its nodes are only its buffers, with their number.
    fn words(&self, bytes: usize) -> Vec<Word> {
        let nodes_at = MESSAGE_AT + bytes - 16 * self.buffers.len() - 8 - 16 * self.nodes.len();
        let words = (nodes_at..).step_by(8).zip(&self.words);
        let words = words.map(|(at, of)| Word { at, of: *of });
        let count = Word {
            at: COUNT_AT,
            of: WordOf::Rows(1),
        };
        let body = Word {
            at: BODY_AT,
            of: WordOf::Body,
        };
        [count, body]
            .into_iter()
            .chain(words.filter(|word| word.of != WordOf::Rows(0)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::schema::tests::schemas;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_stands_in_a_block_overlaps_nothing(schema in schemas()) {
            let layout = Layout::new(2, schema);
            let (front, rows) = (layout.columns_at(), layout.rows);
            prop_assert!((16..=ROWS_MOST).contains(&rows), "{} rows", rows);
            let all = layout.bases.iter().chain(&layout.results);
            let mut used: alloc::vec::Vec<_> = all.map(|at| (at.at, rows * at.bytes)).collect();
            used.extend(layout.valid_at.map(|at| (at, VALID_BYTES)));
            used.retain(|(_, bytes)| *bytes > 0);
            used.sort_unstable();
            let mut end = front;
            for (at, bytes) in used {
                prop_assert!(at >= end && at % 8 == 0, "byte {} after {}", at, end);
                end = at + bytes;
            }
            prop_assert!(end <= PAGE_BYTES);
            // One row more does not fit.
            let more = Layout::message(&schema, rows + 1, front).1.end;
            prop_assert!(rows == ROWS_MOST || more > PAGE_BYTES, "{} rows would fit, too", rows + 1);
            let head = layout.head_of(rows as u64, 0);
            prop_assert_eq!(&head, &layout.head);
            prop_assert_eq!(get_u64(&head, BODY_AT), (PAGE_BYTES - front) as u64);
            prop_assert_eq!(get_u64(&layout.clone().in_blocks_of(8192).head, BODY_AT), (8192 - front) as u64);
            // So do other languages find the columns.
            let bases = (0..BASES.len()).filter(|base| has_base(&schema, *base));
            let columns = bases.count() + schema.columns().len();
            let lists = schema.columns().iter();
            let lists = lists.filter(|column| column.is_list());
            let entries = 3 * columns + 2 * lists.count();
            let own = message_bytes() + 16 * entries + OWN_BYTES;
            prop_assert_eq!(front, own.next_multiple_of(BEAT_BYTES));
            let (message, _) = Layout::message(&schema, 3, front);
            let head = layout.head_of(3, 0);
            let words = layout.words.iter().filter(|word| matches!(word.of, WordOf::Rows(_)));
            for Word { at, .. } in words {
                prop_assert_eq!(get_u64(&head, *at), get_u64(&message, *at - MESSAGE_AT), "byte {}", at);
            }
            let page = layout.schema_page(|_, bytes| bytes.len() as u32);
            prop_assert_eq!(Layout::schema_of(&page, |_, bytes| bytes.len() as u32), Some(schema));
        }
    }

    #[test]
    fn version_1_is_as_it_was() {
        let layout = Layout::new(1, Schema::default());
        assert_eq!(
            (layout.columns_at(), layout.rows, layout.words.len()),
            (640, 64, 12)
        );
        assert_eq!(
            (layout.bases[OBJECT].at, layout.bases[FLAGS].at),
            (640, PAGE_BYTES - 128)
        );
        assert!(
            layout
                .words
                .iter()
                .all(|word| get_u64(&layout.head, word.at) == 64)
        );
    }

    #[test]
    fn a_block_without_results_has_all_rows() {
        assert_eq!(Layout::new(2, Schema::NONE).rows, ROWS_MOST);
        assert_eq!(Layout::new(2, Schema::default()).rows, 63);
    }
}
