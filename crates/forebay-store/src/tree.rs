// SPDX-License-Identifier: Apache-2.0
//! A recording as folders and files: `STREAM/OBJECT.bin` and `STREAM/OBJECT.json`.

use std::io;
use std::sync::Mutex;

use forebay_spec::store::index::Row;
use forebay_spec::store::layout::ROWS_MOST;

use crate::extent::Checked;
use crate::files::{self, CAPTURE_NAME};
use crate::{CaptureFile, Recording};

/// Number of the folder of stream 0; the others follow.
const STREAMS: u64 = 2;
/// Number of the file that has all of a capture.
const CAPTURE: u64 = FILES - 1;
/// Number of the first file.
const FILES: u64 = 1 << 20;

/// A folder or a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// All streams.
    Root,
    /// All extents of a stream.
    Stream(u16),
    /// An index record's payload.
    Payload(u64),
    /// What stands beside it.
    Json(u64),
    /// All of a capture.
    Capture,
}

impl Node {
    /// The one with a number.
    #[must_use]
    pub fn of(inode: u64) -> Option<Self> {
        match inode {
            1 => Some(Self::Root),
            CAPTURE => Some(Self::Capture),
            FILES.. => {
                let row = (inode - FILES) / 2;
                Some(match (inode - FILES).is_multiple_of(2) {
                    true => Self::Payload(row),
                    false => Self::Json(row),
                })
            }
            _ => {
                let stream = inode.checked_sub(STREAMS)?;
                u16::try_from(stream).ok().map(Self::Stream)
            }
        }
    }

    /// Its number.
    #[must_use]
    pub const fn inode(self) -> u64 {
        match self {
            Self::Root => 1,
            Self::Capture => CAPTURE,
            Self::Stream(stream) => STREAMS + stream as u64,
            Self::Payload(row) => FILES + 2 * row,
            Self::Json(row) => FILES + 2 * row + 1,
        }
    }

    /// Whether it is a folder.
    #[must_use]
    pub const fn is_folder(self) -> bool {
        matches!(self, Self::Root | Self::Stream(_))
    }
}

/// What a file is found by, and which index record it is: 32 bytes for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Name {
    stream: u16,
    object: u64,
    offset: u64,
    /// Number of its block times records of a block, and which of them.
    row: u64,
}

/// The folders; or one file, of a capture.
pub struct Tree<'r> {
    capture: Option<CaptureFile<'r>>,
    recording: &'r Recording<'r>,
    names: Vec<Name>,
    streams: Vec<u16>,
    checked: Checked,
    extension: &'r str,
}

impl<'r> Tree<'r> {
    /// Of a recording; with `check` a payload whose checksum is wrong cannot be read.
    #[must_use]
    pub fn new(recording: &'r Recording<'r>, check: bool) -> Self {
        let capture = recording.capture_file(check).ok();
        let rows = recording.stored().filter(|_| capture.is_none());
        let names = rows.map(|(block, slot, row)| Name {
            stream: row.stream,
            object: row.object,
            offset: row.offset,
            row: block * ROWS_MOST as u64 + slot as u64,
        });
        let mut names: Vec<Name> = names.collect();
        names.sort_unstable();
        // Of two with one name the later index record counts.
        names.reverse();
        names.dedup_by_key(|name| (name.stream, name.object, name.offset));
        names.reverse();
        let mut streams: Vec<u16> = names.iter().map(|name| name.stream).collect();
        streams.dedup();
        Self {
            capture,
            recording,
            names,
            streams,
            checked: check.then(Mutex::default),
            extension: recording.superblock().extension_text(),
        }
    }

    /// Payloads.
    #[must_use]
    #[allow(clippy::len_without_is_empty)]
    pub const fn len(&self) -> usize {
        match self.capture {
            Some(_) => 1,
            None => self.names.len(),
        }
    }

    fn of_stream(&self, stream: u16) -> &[Name] {
        let from = self.names.partition_point(|name| name.stream < stream);
        let to = self.names.partition_point(|name| name.stream <= stream);
        &self.names[from..to]
    }

    fn row(&self, number: u64) -> Option<Row> {
        let block = self.recording.block(number / ROWS_MOST as u64).ok()?;
        let row = block.rows[(number % ROWS_MOST as u64) as usize];
        row.stored().then_some(row)
    }

    /// A file's or folder's name within its folder.
    #[must_use]
    pub fn find(&self, parent: Node, name: &str) -> Option<Node> {
        match parent {
            Node::Root if self.capture.is_some() => (name == CAPTURE_NAME).then_some(Node::Capture),
            Node::Root => {
                let stream = name.parse().ok()?;
                let there = self.streams.binary_search(&stream).is_ok();
                (there && name == files::folder(stream)).then_some(Node::Stream(stream))
            }
            Node::Stream(stream) => {
                let (stem, extension) = name.rsplit_once('.')?;
                let (object, offset) = stem.split_once('@').unwrap_or((stem, "0"));
                let key = (object.parse::<u64>().ok()?, offset.parse::<u64>().ok()?);
                let names = self.of_stream(stream);
                let at = names.binary_search_by_key(&key, |name| (name.object, name.offset));
                let number = names[at.ok()?].row;
                let row = self.row(number)?;
                if files::stem(&row) != stem {
                    return None;
                }
                match extension {
                    "json" => Some(Node::Json(number)),
                    _ if extension == self.extension => Some(Node::Payload(number)),
                    _ => None,
                }
            }
            Node::Payload(_) | Node::Json(_) | Node::Capture => None,
        }
    }

    /// The entry of a folder at a place, from 0; none behind the last.
    #[must_use]
    pub fn child(&self, node: Node, at: u64) -> Option<(Node, String)> {
        match (node, at) {
            (Node::Root | Node::Stream(_), 0) => Some((node, ".".into())),
            (Node::Root | Node::Stream(_), 1) => Some((Node::Root, "..".into())),
            (Node::Root, _) if self.capture.is_some() => {
                (at == 2).then(|| (Node::Capture, CAPTURE_NAME.into()))
            }
            (Node::Root, _) => {
                let stream = *self.streams.get(usize::try_from(at - 2).ok()?)?;
                Some((Node::Stream(stream), files::folder(stream)))
            }
            (Node::Stream(stream), _) => {
                let names = self.of_stream(stream);
                let name = names.get(usize::try_from((at - 2) / 2).ok()?)?;
                // An index record that cannot be read any more is named all the same.
                let row = self.row(name.row).unwrap_or(Row {
                    object: name.object,
                    offset: name.offset,
                    ..Row::default()
                });
                let stem = files::stem(&row);
                Some(match at.is_multiple_of(2) {
                    true => (
                        Node::Payload(name.row),
                        format!("{stem}.{}", self.extension),
                    ),
                    false => (Node::Json(name.row), format!("{stem}.json")),
                })
            }
            (Node::Payload(_) | Node::Json(_) | Node::Capture, _) => None,
        }
    }

    /// What is said of a payload, the same as `extract` writes beside it.
    fn beside(&self, row: &Row) -> Vec<u8> {
        let name = self.recording.name(row);
        files::beside(row, self.recording.superblock(), name)
    }

    /// Bytes of a file.
    ///
    /// # Errors
    /// Where there is no such file, the disk fails, or the payload has another checksum.
    pub fn read(&self, node: Node, from: u64, most: usize) -> io::Result<Vec<u8>> {
        if let (Node::Capture, Some(capture)) = (node, &self.capture) {
            return capture.bytes(from, most);
        }
        let (Node::Payload(number) | Node::Json(number)) = node else {
            return Err(io::ErrorKind::IsADirectory.into());
        };
        let row = self.row(number).ok_or(io::ErrorKind::NotFound)?;
        if matches!(node, Node::Payload(_)) {
            self.recording.check_once(&self.checked, number, &row)?;
            return self.recording.bytes(&row, from, most);
        }
        let text = self.beside(&row);
        let from = usize::try_from(from).unwrap_or(usize::MAX).min(text.len());
        let to = from.saturating_add(most).min(text.len());
        Ok(text[from..to].to_vec())
    }

    /// Its bytes, and when it was made in nanoseconds since 1970; none of what cannot be read.
    #[must_use]
    pub fn attributes(&self, node: Node) -> Option<(u64, u64)> {
        let formatted = self.recording.superblock().formatted;
        Some(match node {
            Node::Root | Node::Stream(_) => (0, formatted),
            Node::Capture => (self.capture.as_ref()?.len(), formatted),
            Node::Payload(number) => {
                let row = self.row(number)?;
                (row.length.into(), row.time)
            }
            Node::Json(number) => {
                let row = self.row(number)?;
                (self.beside(&row).len() as u64, row.time)
            }
        })
    }
}
