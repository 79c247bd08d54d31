// SPDX-License-Identifier: Apache-2.0
//! Files of a folder as objects.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use forebay_spec::store::superblock::Mode;
use forebay_spec::store::tar::Name;
use serde::Serialize;

use crate::{
    Disk, Error, Extent, FileDisk, Format, IndexSize, PAGE, Result, Writer, format, pages,
};

/// Bytes of tables and superblocks, and some for bounds.
const FRAME: u64 = 4 << 20;

/// The files of a folder, by name; folders within it are left out.
#[derive(Debug)]
pub struct Files(Vec<Source>);

#[derive(Debug)]
struct Source {
    path: PathBuf,
    bytes: u64,
    time_ns: u64,
}

impl Source {
    /// Its name in the folder; none where a recording has no room for it.
    fn name(&self) -> Option<Name> {
        Name::new(self.path.file_name()?.as_encoded_bytes())
    }
}

/// How files become objects.
#[derive(Clone, Copy, Debug)]
pub struct Packing {
    /// Stream of all objects.
    pub stream: u16,
    /// Most bytes of an extent.
    pub extent_bytes: u64,
    /// Small objects share pages, in a new image.
    pub small: bool,
    /// The recording stays open.
    pub leave_open: bool,
}

/// What was stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Packed {
    /// Recording UUID.
    pub session: String,
    /// Files.
    pub objects: u64,
    /// Index records.
    pub rows: u64,
    /// Bytes of payload.
    pub bytes: u64,
    /// Bytes for which there was no room.
    pub skipped_bytes: u64,
    /// Files whose names are not kept: there is no header for them, or they are too long.
    pub unnamed: u64,
    /// The recording is closed.
    pub closed: bool,
}

impl Files {
    /// Those of a folder.
    ///
    /// # Errors
    /// Where it cannot be read, or there are none.
    pub fn of(folder: &Path) -> Result<Self> {
        let failed = |error| Error::file("reading the folder", folder, error);
        let mut all = Vec::new();
        for entry in fs::read_dir(folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let found =
                fs::metadata(&path).map_err(|error| Error::file("reading", &path, error))?;
            if !found.is_file() {
                continue;
            }
            let changed = found.modified().ok();
            let changed = changed.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            all.push(Source {
                path,
                bytes: found.len(),
                time_ns: changed.map_or(0, |since| since.as_nanos() as u64),
            });
        }
        all.sort_by(|a, b| a.path.cmp(&b.path));
        if all.is_empty() {
            return Err(Error::setting(
                "the folder",
                folder.display(),
                "no files are in it",
                "name a folder with files; folders within it are left out",
            ));
        }
        Ok(Self(all))
    }

    /// Bytes of all of them.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.0.iter().map(|file| file.bytes).sum()
    }

    /// Makes a new image that they fit in.
    ///
    /// # Errors
    /// Where it is there already, or cannot be made.
    pub fn image(&self, path: &Path, packing: &Packing) -> Result<FileDisk> {
        let (mut rows, mut data) = (0, 0u64);
        for file in &self.0 {
            let extents = file.bytes.div_ceil(packing.extent_bytes.max(1)).max(1);
            rows += extents;
            data = data.saturating_add(pages(file.bytes) + extents * 2 * PAGE);
        }
        let settings = Format {
            small: packing.small,
            index: IndexSize::Rows(rows),
            ..Format::default()
        };
        let index = (rows / 64 + 3) * PAGE;
        let size = FRAME + data + index.next_multiple_of(1 << 20);
        let disk = FileDisk::create(path, pages(size))?;
        format(&disk, &settings)?;
        Ok(disk)
    }

    /// Writes them; `see` gets the bytes that are stored, and answers whether to go on.
    ///
    /// # Errors
    /// Where the disk has no recording of objects or samples, a file cannot be read, or the disk
    /// fails.
    pub fn pack(
        &self,
        disk: &dyn Disk,
        packing: &Packing,
        see: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Packed> {
        let mut writer = Writer::new(disk)?.with_extents_of(packing.extent_bytes);
        if writer.superblock().mode == Mode::Packets {
            return Err(Error::setting(
                "the recording's mode",
                Mode::Packets.name(),
                "files of a folder are objects, or samples",
                "name another recording; `forebay record` writes packets",
            ));
        }
        let session = writer.superblock().session.to_string();
        let unnamed = match writer.superblock().mode {
            Mode::Objects => self.0.iter().filter(|file| file.name().is_none()).count(),
            _ => self.0.len(),
        };
        let mut objects = 0;
        for file in &self.0 {
            if !see(writer.summary().bytes) {
                break;
            }
            let mut payload = File::open(&file.path)
                .map_err(|error| Error::file("reading", &file.path, error))?;
            let about = Extent {
                stream: packing.stream,
                object: objects,
                time: file.time_ns,
                name: file.name().unwrap_or_default(),
                ..Extent::default()
            };
            writer.put(&about, &mut payload, file.bytes)?;
            objects += 1;
        }
        let summary = if packing.leave_open {
            writer.sync()?;
            writer.summary()
        } else {
            writer.close()?
        };
        Ok(Packed {
            session,
            objects,
            rows: summary.rows,
            bytes: summary.bytes,
            skipped_bytes: summary.skipped,
            unnamed: unnamed as u64,
            closed: !packing.leave_open,
        })
    }
}
