// SPDX-License-Identifier: Apache-2.0
//! Index records as people and programs read them, and objects put together from them.

use std::collections::BTreeMap;

use forebay_spec::store::index::{CODE_LSB, CUT, FAILED, LATE, Row, SKIPPED};
use forebay_spec::store::schema::Schema;
use serde::Serialize;

use crate::{Recording, Results};

/// An index record: names and units as in its columns.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Record {
    /// Stream.
    pub stream: u16,
    /// Number of the object.
    pub object: u64,
    /// Where in the object the extent begins, in bytes.
    pub offset: u64,
    /// Where on the disk its payload begins, in bytes.
    pub address: u64,
    /// Bytes of payload.
    pub length: u32,
    /// When it began: nanoseconds since 1970.
    pub time_ns: u64,
    /// Checksum of the payload, in hexadecimal.
    pub crc32c: String,
    /// Upper half of the counter blocks of its payload, where that is encrypted; 0: it is lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nonce: Option<u64>,
    /// Bytes that were received, where elements may change lengths; 0 where it goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received: Option<u32>,
    /// The result.
    #[serde(flatten)]
    pub result: Results,
    /// Frames that are missing in front of it.
    pub missing: u32,
    /// It is a whole object.
    pub whole: bool,
    /// The object goes on in another extent.
    pub cut: bool,
    /// There was no room for it.
    pub skipped: bool,
    /// The drive did not take it.
    pub failed: bool,
    /// Error code of the drive or the streamer.
    pub code: u16,
    /// The result did not come in time.
    pub late: bool,
    /// Why the record cannot be; then nothing of it may be read.
    pub wrong: Option<String>,
}

impl Record {
    /// Of an index record, and why it is invalid.
    #[must_use]
    pub fn of(row: &Row, schema: &Schema, wrong: Option<String>) -> Self {
        let has = |flag: u16| row.flags & flag != 0;
        Self {
            stream: row.stream,
            object: row.object,
            offset: row.offset,
            address: row.address,
            length: row.length,
            time_ns: row.time,
            crc32c: format!("{:08x}", row.crc32c),
            nonce: schema.cipher.map(|_| row.nonce),
            received: schema.received.then_some(row.received),
            result: Results::of(schema, row),
            missing: row.missing,
            whole: row.whole(),
            cut: has(CUT),
            skipped: has(SKIPPED),
            failed: has(FAILED),
            code: row.flags >> CODE_LSB,
            late: has(LATE),
            wrong,
        }
    }
}

/// An object.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Object {
    /// Stream.
    pub stream: u16,
    /// Number.
    pub object: u64,
    /// Bytes that are stored.
    pub length: u64,
    /// Extents.
    pub extents: u64,
    /// When it began.
    pub time_ns: u64,
    /// The result.
    #[serde(flatten)]
    pub result: Results,
    /// Frames that are missing before and in it.
    pub missing: u64,
    /// In a word.
    pub state: &'static str,
    /// The name that it had where it came from, if it was asked for.
    pub name: Option<String>,
}

impl Object {
    fn of(row: &Row, schema: &Schema) -> Self {
        let mut object = Self {
            stream: row.stream,
            object: row.object,
            length: 0,
            extents: 0,
            time_ns: row.time,
            result: Results::of(schema, row),
            missing: 0,
            state: if row.whole() { "whole" } else { "parts" },
            name: None,
        };
        object.add(row, schema);
        object
    }

    fn add(&mut self, row: &Row, schema: &Schema) {
        self.extents += 1;
        self.missing = self.missing.saturating_add(row.missing.into());
        if row.has_result() {
            self.result = Results::of(schema, row);
        }
        if row.stored() {
            self.length = self.length.saturating_add(row.length.into());
        } else if row.flags & FAILED != 0 {
            self.state = "failed";
        } else if row.flags & SKIPPED != 0 && self.state != "failed" {
            self.state = "skipped";
        }
    }
}

impl Recording<'_> {
    /// The name that an extent's object had where it came from, as its header has it.
    #[must_use]
    pub fn name(&self, row: &Row) -> Option<String> {
        let name = self.facts(row).ok().flatten()?.name;
        let name = name.bytes();
        (!name.is_empty()).then(|| String::from_utf8_lossy(name).into_owned())
    }
}

/// Puts objects together: the extents of one follow each other in its stream.
#[derive(Debug)]
pub struct Objects {
    schema: Schema,
    open: BTreeMap<u16, Object>,
}

impl Objects {
    /// Of a recording with this schema.
    #[must_use]
    pub const fn new(schema: Schema) -> Self {
        Self {
            schema,
            open: BTreeMap::new(),
        }
    }

    /// The next index record; the object that it ends.
    pub fn push(&mut self, row: &Row, name: Option<String>) -> Option<Object> {
        match self.open.get_mut(&row.stream) {
            Some(object) if object.object == row.object && row.offset > 0 => {
                object.add(row, &self.schema);
                None
            }
            _ => self.open.insert(
                row.stream,
                Object {
                    name,
                    ..Object::of(row, &self.schema)
                },
            ),
        }
    }

    /// Those that no index record has ended.
    pub fn rest(self) -> impl Iterator<Item = Object> {
        self.open.into_values()
    }
}
