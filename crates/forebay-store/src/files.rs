// SPDX-License-Identifier: Apache-2.0
//! Payloads as files: their names, what is written beside them, one or all of them written.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use forebay_spec::store::index::Row;
use forebay_spec::store::superblock::{Mode, Superblock};
use serde::Serialize;

use crate::listing::Record;
use crate::{Damage, Entry, Error, Recording, Result};

/// Name of the file that has all of a capture.
pub const CAPTURE_NAME: &str = "packets.pcapng";
/// Problems that are told one by one.
const TOLD: usize = 16;

/// Name of an extent's file in its stream's folder, without the extension.
pub(crate) fn stem(row: &Row) -> String {
    match row.whole() {
        true => format!("{:020}", row.object),
        false => format!("{:020}@{:020}", row.object, row.offset),
    }
}

/// Name of a stream's folder.
pub(crate) fn folder(stream: u16) -> String {
    format!("{stream:05}")
}

/// What is written beside the payload.
pub(crate) fn beside(row: &Row, superblock: &Superblock, name: Option<String>) -> Vec<u8> {
    #[derive(Serialize)]
    struct Beside {
        session: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        #[serde(flatten)]
        record: Record,
    }
    let beside = Beside {
        session: superblock.session.to_string(),
        name,
        record: Record::of(row, &superblock.schema, None),
    };
    let mut text = serde_json::to_vec_pretty(&beside).unwrap_or_default();
    text.push(b'\n');
    text
}

/// What was written as files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Extracted {
    /// Payloads.
    pub files: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Extents that are damaged.
    pub damaged: u64,
    /// Blocks of the index that are damaged.
    pub damaged_blocks: u64,
    /// The first of what is wrong.
    pub problems: Vec<String>,
}

impl Extracted {
    fn problem(&mut self, what: String) {
        if self.problems.len() < TOLD {
            self.problems.push(what);
        }
    }
}

impl Recording<'_> {
    /// Writes the payloads of a stream, or of all, as files of a folder; a capture as one file.
    ///
    /// `see` gets the number of each block of the index, and answers whether to go on.
    pub fn extract(
        &self,
        to: &Path,
        stream: Option<u16>,
        see: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Extracted> {
        let mut done = Extracted::default();
        if self.superblock().mode == Mode::Packets {
            make_folder(to)?;
            let path = to.join(CAPTURE_NAME);
            let file = create_new(&path)?;
            let written = self.write_capture(&mut BufWriter::with_capacity(1 << 20, file))?;
            (done.files, done.bytes) = (1, written.bytes);
            done.damaged = written.left_out;
            return Ok(done);
        }
        for entry in self.rows() {
            match entry {
                Entry::Row { row, block, .. } if row.stored() => {
                    if !see(block) {
                        break;
                    }
                    if stream.is_none_or(|stream| stream == row.stream) {
                        self.extract_one(&row, to, &mut done)?;
                    }
                }
                Entry::Row { .. } => {}
                Entry::Damaged { block, why, .. } => {
                    done.damaged_blocks += 1;
                    done.problem(format!("block {block} of the index is damaged: {why}"));
                }
            }
        }
        Ok(done)
    }

    /// Writes an extent's two files; one whose bytes are damaged leaves none.
    fn extract_one(&self, row: &Row, to: &Path, done: &mut Extracted) -> Result<()> {
        let to = to.join(folder(row.stream));
        make_folder(&to)?;
        let stem = stem(row);
        let path = to.join(format!("{stem}.{}", self.superblock().extension_text()));
        let failed = |error| Error::file("writing", &path, error);
        let mut file = BufWriter::with_capacity(1 << 20, create_new(&path)?);
        let damage = self
            .payload(row, &mut |bytes| file.write_all(bytes))
            .and_then(|damage| file.flush().map(|()| damage))
            .map_err(failed)?;
        if let Some(damage) = damage {
            done.damaged += 1;
            done.problem(format!(
                "object {} of stream {}: {damage}",
                row.object, row.stream
            ));
            // Bytes with the record's checksum are right, whatever the header block says.
            if !matches!(damage, Damage::Page(_)) {
                return fs::remove_file(&path).map_err(failed);
            }
        }
        let json = to.join(format!("{stem}.json"));
        create_new(&json)?
            .write_all(&beside(row, self.superblock(), self.name(row)))
            .map_err(|error| Error::file("writing", &json, error))?;
        done.files += 1;
        done.bytes += u64::from(row.length);
        Ok(())
    }

    /// Writes the payload of an object's extents, in the order of their offsets; returns what is
    /// wrong or missing.
    pub fn write_object(&self, rows: &[Row], out: &mut dyn Write) -> io::Result<Vec<String>> {
        let (mut complaints, mut at) = (Vec::new(), 0);
        if let Ok(head) = self.capture_head() {
            // With it a segment alone is a capture.
            out.write_all(&head)?;
        }
        for row in rows {
            if row.offset != at {
                complaints.push(format!(
                    "bytes {at} to {} of the object are not there; the next follow at once",
                    row.offset
                ));
            }
            at = row.offset.saturating_add(row.length.into());
            if !row.stored() {
                complaints.push(format!("the bytes from {} on were not stored", row.offset));
                continue;
            }
            let damage = self.payload(row, &mut |bytes| out.write_all(bytes))?;
            if let Some(damage) = damage {
                complaints.push(format!("the bytes from {} on: {damage}", row.offset));
            }
        }
        out.flush()?;
        Ok(complaints)
    }

    /// The index records of an object, in the order of their offsets.
    ///
    /// # Errors
    /// [`Error::Setting`] where there is none, or several streams have one and none is named.
    pub fn object(&self, object: u64, stream: Option<u16>) -> Result<Vec<Row>> {
        let (mut rows, mut damaged) = (Vec::<Row>::new(), false);
        for entry in self.rows() {
            match entry {
                Entry::Row { row, .. } => {
                    let wanted = stream.is_none_or(|stream| stream == row.stream);
                    rows.extend((wanted && row.object == object).then_some(row));
                }
                Entry::Damaged { .. } => damaged = true,
            }
        }
        let refused = |limit, remedy| Err(Error::setting("OBJECT", object, limit, remedy));
        if rows.is_empty() {
            let remedy = match damaged {
                false => "`forebay store ls` lists those that are there",
                true => "the index is damaged: `forebay store repair` may bring it back",
            };
            return refused("there is no such object", remedy);
        }
        if rows.iter().any(|row| row.stream != rows[0].stream) {
            return refused(
                "several streams have such an object",
                "name the stream with --stream",
            );
        }
        rows.sort_by_key(|row| row.offset);
        Ok(rows)
    }
}

fn make_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(|error| Error::file("making the folder", path, error))
}

fn create_new(path: &Path) -> Result<File> {
    File::create_new(path).map_err(|error| Error::file("writing", path, error))
}
