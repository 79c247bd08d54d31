// SPDX-License-Identifier: Apache-2.0
//! `forebay store ls`: objects or extents, one after the other; a recording may have millions.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use forebay_spec::store::index::Row;
use forebay_store::{Entry, FileDisk, Recording};
use serde::Serialize;
use serde_json::json;

use super::objects::{Extent, Gather, Object, name_of};
use super::open;
use crate::args::StoreLsArgs;
use crate::failure::{Exit, Failure, Result};
use crate::interrupt;

/// Runs it.
///
/// # Errors
/// Where there is no recording, or the list cannot be written.
pub fn run(args: &StoreLsArgs) -> Result<Exit> {
    let disk = open::read(&args.disk)?;
    let recording = Recording::open(&disk)?;
    open::warn(&recording);
    let listed = match args.output.json() {
        None => List::text(io::stdout().lock(), args.rows).fill(&recording, args),
        Some(path) if path.as_os_str() == "-" => {
            List::json(io::stdout().lock(), &recording, args.rows).fill(&recording, args)
        }
        Some(path) => {
            let file = File::create(path).map_err(|error| Failure::file("making", path, error))?;
            List::json(file, &recording, args.rows).fill(&recording, args)
        }
    };
    match listed {
        Ok(0) => Ok(Exit::Good),
        Ok(_) => Ok(Exit::BadResult),
        // Whoever reads has enough, as `head` has.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::Good),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(Exit::Interrupted),
        Err(error) => Err(Failure::file("writing the list of", &args.disk, error)),
    }
}

struct List<W: Write> {
    to: BufWriter<W>,
    json: bool,
    head: Option<String>,
    lines: u64,
}

impl<W: Write> List<W> {
    fn text(to: W, rows: bool) -> Self {
        let head = match rows {
            true => format!(
                "{:>6} {:>20} {:>12} {:>14} {:>11} {:>19}  {:8} {:>5} {:>9}  state\n",
                "stream",
                "object",
                "offset",
                "address",
                "length",
                "time (ns)",
                "crc32c",
                "class",
                "score"
            ),
            false => format!(
                "{:>6} {:>20} {:>14} {:>7} {:>19} {:>5} {:>9} {:>8}  state\n",
                "stream", "object", "length", "extents", "time (ns)", "class", "score", "missing"
            ),
        };
        Self {
            to: BufWriter::new(to),
            json: false,
            head: Some(head),
            lines: 0,
        }
    }

    fn json(to: W, recording: &Recording<'_, FileDisk>, rows: bool) -> Self {
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
            lines: 0,
        }
    }

    /// Lists all; returns how many blocks or rows are damaged.
    fn fill(mut self, recording: &Recording<'_, FileDisk>, args: &StoreLsArgs) -> io::Result<u64> {
        let head = self.head.take().unwrap_or_default();
        self.to.write_all(head.as_bytes())?;
        let (mut gather, mut damaged) = (Gather::default(), Vec::new());
        let mut wrong_rows = 0u64;
        let name = |row: &Row| args.names.then(|| name_of(recording, row)).flatten();
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
                self.extent(&Extent::of(&row, wrong))?;
            } else if wrong.is_none()
                && let Some(object) = gather.push(&row, name(&row))
            {
                self.object(&object)?;
            }
        }
        for object in gather.rest() {
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
            "{:>6} {:>20} {:>14} {:>7} {:>19} {:>5} {:>9} {:>8}  {}{}",
            object.stream,
            object.object,
            object.length,
            object.extents,
            object.time_ns,
            word(object.class),
            score(object.score),
            object.missing,
            object.state,
            // As the last: it may have blanks, or characters that a terminal must not get.
            object
                .name
                .as_ref()
                .map_or_else(String::new, |name| format!("  {}", name.escape_debug()))
        )
    }

    fn extent(&mut self, extent: &Extent) -> io::Result<()> {
        if self.json {
            return self.item(extent);
        }
        writeln!(self.to, "{extent}")
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

/// A value or a dash.
pub fn word(value: Option<impl ToString>) -> String {
    value.map_or("–".into(), |value| value.to_string())
}

/// A score or a dash.
pub fn score(score: Option<f32>) -> String {
    score.map_or("–".into(), |score| format!("{score:.4}"))
}
