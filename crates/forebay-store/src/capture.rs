// SPDX-License-Identifier: Apache-2.0
//! Whole frames as one capture: the first page, and of each segment what is good.

use std::io::{self, Write};
use std::sync::Mutex;

use forebay_spec::store::PAGE_BYTES;
use forebay_spec::store::index::{CUT, Row};
use forebay_spec::store::pcapng::{first_page, frames, whole_bytes};
use forebay_spec::store::superblock::{Mode, Superblock};

use crate::disk::read;
use crate::extent::Checked;
use crate::reader::Recording;
use crate::{Damage, Disk, Entry, Error, Result};

/// What was written of a capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// Segments.
    pub chunks: u64,
    /// Bytes, the first page included.
    pub bytes: u64,
    /// Segments and blocks of the index that are damaged, and left out.
    pub left_out: u64,
}

/// Where a capture segment begins in the file, and its index record.
#[derive(Clone, Copy, Debug)]
struct Segment {
    begin: u64,
    row: Row,
}

/// A capture as one file, read from any place on.
pub struct CaptureFile<'r> {
    recording: &'r Recording<'r>,
    head: [u8; PAGE_BYTES],
    segments: Vec<Segment>,
    bytes: u64,
    checked: Checked,
}

impl CaptureFile<'_> {
    /// Its size.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.bytes
    }

    /// Whether no segment is in it.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Some of its bytes, as many as are there; none behind its end.
    ///
    /// # Errors
    /// What the disk says, or that a segment has another checksum, if these are checked.
    pub fn bytes(&self, from: u64, most: usize) -> io::Result<Vec<u8>> {
        let to = from.saturating_add(most as u64).min(self.bytes);
        let mut bytes = Vec::new();
        let mut at = from;
        while at < to {
            let next = self.segments.partition_point(|segment| segment.begin <= at);
            let end = self
                .segments
                .get(next)
                .map_or(self.bytes, |segment| segment.begin);
            let length = (end.min(to) - at) as usize;
            let which = next.checked_sub(1);
            match which.and_then(|which| Some((which, self.segments.get(which)?))) {
                None => bytes.extend_from_slice(&self.head[at as usize..at as usize + length]),
                Some((which, segment)) => {
                    let checked = &self.checked;
                    self.recording
                        .check_once(checked, which as u64, &segment.row)?;
                    let before = bytes.len();
                    bytes.resize(before + length, 0);
                    let place = segment.row.address + (at - segment.begin);
                    self.recording.disk.read_at(place, &mut bytes[before..])?;
                }
            }
            at += length as u64;
        }
        Ok(bytes)
    }
}

/// Why others cannot read the capture where it lies.
pub(crate) fn complaint(disk: &dyn Disk, superblock: &Superblock) -> Option<String> {
    let mut page = [0; PAGE_BYTES];
    match read(disk, superblock.data.at, &mut page) {
        Err(error) => Some(format!("the capture's first page: {error}")),
        Ok(()) if page != first_page(superblock.session) => {
            Some("the capture's first page is damaged".into())
        }
        Ok(()) => None,
    }
}

/// The blocks of a segment that can stand in a capture: all of it, or of one that the end of the
/// data cut those in front.
fn good<'c>(row: &Row, chunk: &'c [u8]) -> Option<&'c [u8]> {
    if row.flags & CUT != 0 {
        return chunk.get(..whole_bytes(chunk));
    }
    frames(chunk).map(|_| chunk)
}

impl Recording<'_> {
    /// The page that a capture begins with.
    ///
    /// # Errors
    /// Where the recording has no capture.
    pub fn capture_head(&self) -> Result<[u8; PAGE_BYTES]> {
        if self.superblock().mode != Mode::Packets {
            return Err(Error::setting(
                "the mode",
                self.superblock().mode.name(),
                "only packets lie there as a capture",
                "name an object: `forebay store ls` lists them",
            ));
        }
        Ok(first_page(self.superblock().session))
    }

    /// All segments up to where the index goes as one file, each where it lies; with `check` one
    /// whose checksum is wrong cannot be read.
    ///
    /// # Errors
    /// Where the recording has no capture.
    pub fn capture_file(&self, check: bool) -> Result<CaptureFile<'_>> {
        let head = self.capture_head()?;
        let (mut segments, mut bytes) = (Vec::new(), head.len() as u64);
        for (_, _, row) in self.stored() {
            let length = match row.flags & CUT {
                0 => u64::from(row.length),
                _ => self.chunk(&row).map_or(0, |chunk| whole_bytes(&chunk)) as u64,
            };
            if length > 0 {
                segments.push(Segment { begin: bytes, row });
                bytes += length;
            }
        }
        Ok(CaptureFile {
            recording: self,
            head,
            segments,
            bytes,
            checked: check.then(Mutex::default),
        })
    }

    /// Writes all segments up to where the index goes as one capture (pcapng). What is damaged is
    /// left out whole: behind a wrong length the next frame cannot be found.
    ///
    /// # Errors
    /// Where the recording has none, or the sink takes no more.
    pub fn write_capture(&self, to: &mut dyn Write) -> Result<Captured> {
        let head = self.capture_head()?;
        to.write_all(&head).map_err(Error::Sink)?;
        let mut written = Captured {
            bytes: head.len() as u64,
            ..Captured::default()
        };
        for entry in self.rows() {
            let Entry::Row { row, wrong, .. } = entry else {
                written.left_out += 1;
                continue;
            };
            if !row.stored() {
                continue;
            }
            let chunk = match wrong {
                None => self.chunk(&row).ok(),
                Some(_) => None,
            };
            match chunk.as_deref().and_then(|chunk| good(&row, chunk)) {
                Some(blocks) => {
                    to.write_all(blocks).map_err(Error::Sink)?;
                    written.chunks += 1;
                    written.bytes += blocks.len() as u64;
                }
                None => written.left_out += 1,
            }
        }
        to.flush().map_err(Error::Sink)?;
        Ok(written)
    }

    /// A segment, checked; it has at most [`forebay_spec::store::pcapng::CHUNK_MOST`] bytes.
    fn chunk(&self, row: &Row) -> std::result::Result<Vec<u8>, Damage> {
        let mut bytes = Vec::new();
        let read = self.payload(row, &mut |part| {
            bytes.extend_from_slice(part);
            Ok(())
        });
        match read {
            Ok(None) => Ok(bytes),
            Ok(Some(damage)) => Err(damage),
            Err(error) => Err(Damage::Unreadable(error.to_string())),
        }
    }
}
