// SPDX-License-Identifier: Apache-2.0
//! `forebay store ls`: objects or extents, one after the other; a recording may have millions.

use std::io::{self, BufWriter, Write};

use forebay_app::interrupt;
use forebay_spec::store::index::Row;
use forebay_spec::store::schema::{Column, Kind};
use forebay_store::{Entry, Object, Objects, Record, Recording, Results};
use serde::Serialize;
use serde_json::json;

use super::{disks, warn};
use crate::args::{Output, StoreLsArgs};
use crate::failure::{Exit, Failure, Result};
use crate::report;

/// Runs it.
pub fn run(args: &StoreLsArgs) -> Result<Exit> {
    let disk = disks::read(&args.on.disks)?;
    let recording = Recording::open(&*disk)?;
    warn(&recording);
    let mut listed = Ok(0);
    for (form, to) in report::writers()? {
        let list = match form {
            Output::Text => List::text(to, &recording, args.rows),
            _ => List::json(to, &recording, args.rows),
        };
        listed = list.fill(&recording, args);
        if listed.is_err() {
            break;
        }
    }
    match listed {
        Ok(0) => Ok(Exit::Good),
        Ok(_) => Ok(Exit::Damaged),
        // The reader has enough, as `head` has.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::Good),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(Exit::Interrupted),
        Err(error) => Err(Failure::file(
            "writing the list of",
            &args.on.disks[0],
            error,
        )),
    }
}

struct List<W: Write> {
    to: BufWriter<W>,
    json: bool,
    head: Option<String>,
    /// Of the columns of results.
    widths: Vec<usize>,
    lines: u64,
}

impl<W: Write> List<W> {
    fn text(to: W, recording: &Recording<'_>, rows: bool) -> Self {
        let columns = recording.superblock().schema;
        let widths: Vec<_> = columns.columns().iter().map(width).collect();
        let names = columns.columns().iter().zip(&widths);
        let columns: String = names
            .map(|(column, width)| format!(" {:>width$}", column.name()))
            .collect();
        let head = match rows {
            true => format!(
                "{:>6} {:>20} {:>12} {:>14} {:>11} {:>19}  {:8}{columns}  state\n",
                "stream", "object", "offset", "address", "length", "time (ns)", "crc32c",
            ),
            false => format!(
                "{:>6} {:>20} {:>14} {:>7} {:>19}{columns} {:>8}  state\n",
                "stream", "object", "length", "extents", "time (ns)", "missing"
            ),
        };
        Self {
            to: BufWriter::new(to),
            json: false,
            head: Some(head),
            widths,
            lines: 0,
        }
    }

    fn json(to: W, recording: &Recording<'_>, rows: bool) -> Self {
        let head = format!(
            "{{\"schema\":\"forebay.store-ls/1\",\"version\":{},\"session\":{},\"complaints\":{},\
             \n\"{}\":[",
            json!(env!("CARGO_PKG_VERSION")),
            json!(recording.superblock().session.to_string()),
            json!(recording.complaints()),
            if rows { "extents" } else { "objects" }
        );
        Self {
            to: BufWriter::new(to),
            json: true,
            head: Some(head),
            widths: Vec::new(),
            lines: 0,
        }
    }

    /// Lists all; returns how many blocks or rows are damaged.
    fn fill(mut self, recording: &Recording<'_>, args: &StoreLsArgs) -> io::Result<u64> {
        let head = self.head.take().unwrap_or_default();
        self.to.write_all(head.as_bytes())?;
        let (mut objects, mut damaged) = (Objects::new(recording.superblock().schema), Vec::new());
        let mut wrong_rows = 0u64;
        let name = |row: &Row| args.names.then(|| recording.name(row)).flatten();
        for entry in recording.rows() {
            if interrupt::wanted() {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let (row, wrong) = match entry {
                Entry::Row { row, wrong, .. } => (row, wrong),
                Entry::Damaged { block, why, .. } => {
                    damaged.push((block, why));
                    continue;
                }
            };
            if args.stream.is_some_and(|stream| stream != row.stream) {
                continue;
            }
            if let Some(why) = &wrong {
                wrong_rows += 1;
                eprintln!("warning: {why}");
            }
            if args.rows {
                self.extent(&Record::of(&row, &recording.superblock().schema, wrong))?;
            } else if wrong.is_none()
                && let Some(object) = objects.push(&row, name(&row))
            {
                self.object(&object)?;
            }
        }
        for object in objects.rest() {
            self.object(&object)?;
        }
        self.end(&damaged)?;
        Ok(damaged.len() as u64 + wrong_rows)
    }

    fn item(&mut self, item: &impl Serialize) -> io::Result<()> {
        let between = if self.lines == 0 { "\n" } else { ",\n" };
        self.lines += 1;
        self.to.write_all(between.as_bytes())?;
        serde_json::to_writer(&mut self.to, item).map_err(io::Error::from)
    }

    fn object(&mut self, object: &Object) -> io::Result<()> {
        if self.json {
            return self.item(object);
        }
        writeln!(
            self.to,
            "{:>6} {:>20} {:>14} {:>7} {:>19}{} {:>8}  {}{}",
            object.stream,
            object.object,
            object.length,
            object.extents,
            object.time_ns,
            self.cells(&object.result),
            object.missing,
            object.state,
            // As the last: it may have blanks, or characters that a terminal must not get.
            object
                .name
                .as_ref()
                .map_or_else(String::new, |name| format!("  {}", name.escape_debug()))
        )
    }

    /// The values of a result, each in its column.
    fn cells(&self, result: &Results) -> String {
        let cells = result.cells().zip(&self.widths);
        cells
            .map(|(cell, width)| format!(" {cell:>width$}"))
            .collect()
    }

    fn extent(&mut self, record: &Record) -> io::Result<()> {
        if self.json {
            return self.item(record);
        }
        let states = [
            (record.wrong.is_some(), "wrong"),
            (record.failed, "failed"),
            (record.skipped, "skipped"),
            (record.whole, "whole"),
            (record.cut, "goes on"),
        ];
        let state = states.into_iter().find(|(is, _)| *is);
        writeln!(
            self.to,
            "{:>6} {:>20} {:>12} {:>14} {:>11} {:>19}  {}{}  {}",
            record.stream,
            record.object,
            record.offset,
            record.address,
            record.length,
            record.time_ns,
            record.crc32c,
            self.cells(&record.result),
            state.map_or("part", |(_, word)| word)
        )
    }

    fn end(&mut self, damaged: &[(u64, String)]) -> io::Result<()> {
        if self.json {
            let blocks = damaged.iter();
            let blocks = blocks.map(|(block, why)| json!({ "block": block, "why": why }));
            let blocks: Vec<_> = blocks.collect();
            writeln!(self.to, "\n],\"damaged_blocks\":{}}}", json!(blocks))?;
        } else {
            for (block, why) in damaged {
                eprintln!("warning: block {block} of the index is damaged: {why}");
            }
        }
        self.to.flush()
    }
}

/// Characters that the values of a column take: as many as its longest ones, where they are numbers up
/// to seven digits.
fn width(column: &Column) -> usize {
    let each = match column.kind {
        Kind::Byte => 2 * column.bytes(),
        Kind::U8 => 3,
        Kind::U16 => 5,
        Kind::F32 => 9,
        _ => 8,
    };
    let all = each * column.values() + column.values() - 1;
    all.max(column.name().len()).max(9)
}
