// SPDX-License-Identifier: Apache-2.0
//! Recorded images by class, made small.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use forebay_draw::{HtmlPage, Picture};
use forebay_spec::store::index::Row;
use forebay_spec::store::superblock::Mode;
use forebay_store::{Cell, Entry, Recording, Results};

use super::ClassNames;

/// Pixels of a side.
const SIDE: u32 = 112;
/// Objects of a class that are looked at, and of all where there are no classes.
const OF_A_CLASS: usize = 6;
const WITHOUT_CLASSES: usize = 24;
/// Classes.
const CLASSES: usize = 32;
/// Bytes of an object that is read.
const BYTES_MOST: u32 = 256 << 20;
/// Pixels that are decoded in all, so that a page does not take minutes.
const PIXELS: u64 = 1 << 30;

/// The first images of each class.
#[derive(Debug, Default)]
pub struct Gallery {
    rows: BTreeMap<Option<u16>, Vec<Row>>,
    /// Classes for which there was no place.
    left_out: BTreeSet<Option<u16>>,
}

impl Gallery {
    /// Looks which objects it is to show.
    pub fn of(recording: &Recording<'_>) -> Self {
        let superblock = recording.superblock();
        let mut all = Self::default();
        if superblock.mode != Mode::Objects {
            return all;
        }
        for entry in recording.rows() {
            let Entry::Row {
                row, wrong: None, ..
            } = entry
            else {
                continue;
            };
            if row.whole() && row.stored() && row.length <= BYTES_MOST {
                all.take(Results::of(&superblock.schema, &row).class(), row);
            }
        }
        all
    }

    fn take(&mut self, class: Option<u16>, row: Row) {
        let is_full = self.rows.len() >= CLASSES;
        if is_full && !self.rows.contains_key(&class) {
            self.left_out.insert(class);
            return;
        }
        let most = match class {
            Some(_) => OF_A_CLASS,
            None => WITHOUT_CLASSES,
        };
        let rows = self.rows.entry(class).or_default();
        if rows.len() < most {
            rows.push(row);
        }
    }

    /// Adds them to a page, if any of them is an image.
    pub fn draw(&self, page: &mut HtmlPage, recording: &Recording<'_>, names: &ClassNames) {
        let (mut groups, mut pixels) = (Vec::new(), 0);
        for (class, rows) in &self.rows {
            let mut group = Vec::new();
            for row in rows {
                if pixels < PIXELS
                    && let Some((picture, caption)) = shown(recording, row)
                {
                    pixels += picture.pixels();
                    group.push((picture, caption));
                }
            }
            if !group.is_empty() {
                groups.push((self.heading(*class, names), group));
            }
        }
        if groups.is_empty() {
            return;
        }
        page.heading(2, "Images")
            .remark("The first ones of each class, as they lie in the recording.")
            .gallery(groups);
        if pixels >= PIXELS {
            page.remark("More are too large for a page.");
        }
        if !self.left_out.is_empty() {
            page.remark(&format!("and {} more classes", self.left_out.len()));
        }
    }

    fn heading(&self, class: Option<u16>, names: &ClassNames) -> String {
        match class {
            Some(class) => names.of(class),
            None if self.rows.len() == 1 => "without a class".to_owned(),
            None => "not judged".to_owned(),
        }
    }
}

/// An object as a picture with its caption; none where it is no image.
fn shown(recording: &Recording<'_>, row: &Row) -> Option<(Picture, String)> {
    let mut image = Image(Vec::new());
    let complaints = recording.write_object(std::slice::from_ref(row), &mut image);
    if !complaints.is_ok_and(|complaints| complaints.is_empty()) {
        return None;
    }
    let picture = Picture::small(&image.0, SIDE)?;
    let place = match row.stream {
        0 => format!("object {}", row.object),
        stream => format!("stream {stream}, object {}", row.object),
    };
    let results = Results::of(&recording.superblock().schema, row);
    let score = match results.get("score") {
        Some(Cell::Float(score)) => format!(", {score:.3}"),
        _ => String::new(),
    };
    Some((picture, format!("{place}{score}")))
}

/// Bytes of an object, as long as it may be an image.
struct Image(Vec<u8>);

impl Write for Image {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.is_empty() && !Picture::may_be(bytes) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
