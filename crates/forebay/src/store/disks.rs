// SPDX-License-Identifier: Apache-2.0
//! What a recording lies on: an image, a drive, or the members of an array.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use forebay_app::store::{attribute, drive};
use forebay_store::{Disk, FileDisk, Part, assemble, is_block_device};

use crate::args::ConsentArgs;
use crate::failure::{Failure, Result};

/// All paths; of those of an array in one word each.
pub fn named(paths: &[PathBuf]) -> Vec<PathBuf> {
    let split = |path: &PathBuf| match path.to_str().filter(|text| text.contains(',')) {
        Some(text) if !path.exists() => text.split(',').map(PathBuf::from).collect(),
        _ => vec![path.clone()],
    };
    paths.iter().flat_map(split).collect()
}

/// A drive or image, and what Linux says of it.
pub fn part(
    path: &Path,
    open: impl Fn(&Path) -> forebay_store::Result<FileDisk>,
) -> Result<Part<'static>> {
    Ok(Part {
        name: path.display().to_string(),
        disk: Box::new(open(path)?),
        drive: drive(path),
    })
}

fn parts(
    paths: &[PathBuf],
    open: impl Fn(&Path) -> forebay_store::Result<FileDisk>,
) -> Result<Vec<Part<'static>>> {
    let paths = named(paths);
    paths.iter().map(|path| part(path, &open)).collect()
}

/// Opens for reading.
pub fn read(paths: &[PathBuf]) -> Result<Box<dyn Disk>> {
    Ok(assemble(parts(paths, FileDisk::open)?, false)?)
}

/// Opens for writing; with `force` our superblocks count where md's say something else.
pub fn write(paths: &[PathBuf], force: bool) -> Result<Box<dyn Disk>> {
    Ok(assemble(to_write(paths)?, force)?)
}

/// Each by itself, for writing.
pub fn to_write(paths: &[PathBuf]) -> Result<Vec<Part<'static>>> {
    parts(paths, FileDisk::open_to_write)
}

/// As they are written in a message.
pub fn text(paths: &[PathBuf]) -> String {
    let paths: Vec<_> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    paths.join(", ")
}

/// Refuses a drive or image that is named twice.
pub fn distinct(paths: &[PathBuf]) -> Result<()> {
    let mut seen = HashMap::new();
    for path in paths {
        let Ok(found) = fs::metadata(path) else {
            continue;
        };
        let which = match is_block_device(path) {
            true => (0, found.rdev()),
            false => (found.dev(), found.ino()),
        };
        if let Some(other) = seen.insert(which, path) {
            return Err(Failure::input(
                "a member",
                path.display(),
                &format!("that is {} once more", other.display()),
                "name each drive or image once",
            ));
        }
    }
    Ok(())
}

/// Allows block devices to be overwritten, or files, which need no consent.
pub fn consent(paths: &[PathBuf], allowed: &ConsentArgs) -> Result<()> {
    let devices: Vec<_> = paths.iter().filter(|path| is_block_device(path)).collect();
    if devices.is_empty() && allowed.is_given() {
        return Err(Failure::input(
            "--yes or --serial",
            "given",
            &format!("{} is no drive", text(paths)),
            "leave it out",
        ));
    }
    devices.iter().try_for_each(|path| {
        let serial = attribute(path, "serial");
        allowed.check(&path.display().to_string(), serial.as_deref())
    })
}
