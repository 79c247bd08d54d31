// SPDX-License-Identifier: Apache-2.0
//! Objects, put together from the rows of their extents.

use std::collections::BTreeMap;

use forebay_spec::store::index::{CUT, FAILED, LATE, RESULT, Row, SKIPPED};
use forebay_store::{FileDisk, Recording};
use serde::Serialize;

/// A row, as people and programs read it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Extent {
    stream: u16,
    object: u64,
    offset: u64,
    address: u64,
    length: u32,
    time_ns: u64,
    crc32c: String,
    class: Option<u16>,
    score: Option<f32>,
    missing: u32,
    whole: bool,
    cut: bool,
    skipped: bool,
    failed: bool,
    code: u16,
    late: bool,
    wrong: Option<String>,
}

impl Extent {
    /// Of a row, and why it cannot be.
    pub fn of(row: &Row, wrong: Option<String>) -> Self {
        let has = |flag: u16| row.flags & flag != 0;
        let result = has(RESULT);
        Self {
            stream: row.stream,
            object: row.object,
            offset: row.offset,
            address: row.address,
            length: row.length,
            time_ns: row.time,
            crc32c: format!("{:08x}", row.crc32c),
            class: result.then_some(row.class),
            score: (result && row.score.is_finite()).then_some(row.score),
            missing: row.missing,
            whole: row.whole(),
            cut: has(CUT),
            skipped: has(SKIPPED),
            failed: has(FAILED),
            code: row.flags >> forebay_spec::store::index::CODE_LSB,
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
    /// Class of the result.
    pub class: Option<u16>,
    /// Score of the result.
    pub score: Option<f32>,
    /// Frames that are missing before and in it.
    pub missing: u64,
    /// In a word.
    pub state: &'static str,
    /// The name that it had where it came from, if it was asked for.
    pub name: Option<String>,
}

impl Object {
    fn of(row: &Row) -> Self {
        let mut object = Self {
            stream: row.stream,
            object: row.object,
            length: 0,
            extents: 0,
            time_ns: row.time,
            class: None,
            score: None,
            missing: 0,
            state: if row.whole() { "whole" } else { "parts" },
            name: None,
        };
        object.add(row);
        object
    }

    fn add(&mut self, row: &Row) {
        self.extents += 1;
        self.missing = self.missing.saturating_add(row.missing.into());
        if row.flags & RESULT != 0 {
            self.class = Some(row.class);
            self.score = row.score.is_finite().then_some(row.score);
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

/// The name that an extent's object had where it came from.
pub fn name_of(recording: &Recording<'_, FileDisk>, row: &Row) -> Option<String> {
    let facts = recording.facts(row).ok().flatten()?;
    let name = facts.name.bytes();
    (!name.is_empty()).then(|| String::from_utf8_lossy(name).into_owned())
}

/// Puts objects together: the extents of one follow each other in its stream.
#[derive(Debug, Default)]
pub struct Gather(BTreeMap<u16, Object>);

impl Gather {
    /// The next row; the object that it ends.
    pub fn push(&mut self, row: &Row, name: Option<String>) -> Option<Object> {
        match self.0.get_mut(&row.stream) {
            Some(object) if object.object == row.object && row.offset > 0 => {
                object.add(row);
                None
            }
            _ => self.0.insert(
                row.stream,
                Object {
                    name,
                    ..Object::of(row)
                },
            ),
        }
    }

    /// Those that no row has ended.
    pub fn rest(self) -> impl Iterator<Item = Object> {
        self.0.into_values()
    }
}

impl std::fmt::Display for Extent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let states = [
            (self.wrong.is_some(), "wrong"),
            (self.failed, "failed"),
            (self.skipped, "skipped"),
            (self.whole, "whole"),
            (self.cut, "goes on"),
        ];
        let state = states.into_iter().find(|(is, _)| *is);
        write!(
            f,
            "{:>6} {:>20} {:>12} {:>14} {:>11} {:>19}  {} {:>5} {:>9}  {}",
            self.stream,
            self.object,
            self.offset,
            self.address,
            self.length,
            self.time_ns,
            self.crc32c,
            super::ls::word(self.class),
            super::ls::score(self.score),
            state.map_or("part", |(_, word)| word)
        )
    }
}
