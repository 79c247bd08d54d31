// SPDX-License-Identifier: Apache-2.0
//! The disk that the user named.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use forebay_store::{Disk, FileDisk, Recording};

use crate::args::ConsentArgs;
use crate::failure::{Failure, Result};

/// What Linux answers to with "busy" where a block device is mounted or otherwise in use.
const EXCLUSIVE: i32 = rustix::fs::OFlags::EXCL.bits() as i32;

/// Opens it for reading.
pub fn read(path: &Path) -> Result<FileDisk> {
    let file = File::open(path).map_err(|error| Failure::file("opening", path, error))?;
    disk(file, path)
}

/// Opens it for writing; a block device only where nobody else has it.
pub fn write(path: &Path) -> Result<FileDisk> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    if is_block_device(path) {
        options.custom_flags(EXCLUSIVE);
    }
    let file = options.open(path);
    disk(
        file.map_err(|error| Failure::file("opening for writing", path, error))?,
        path,
    )
}

/// Allows a block device to be overwritten, or a file, which needs no consent.
pub fn consent(path: &Path, allowed: &ConsentArgs) -> Result<()> {
    if is_block_device(path) {
        let serial = attribute(path, "serial");
        return allowed.check(&path.display().to_string(), serial.as_deref());
    }
    match allowed.is_given() {
        false => Ok(()),
        true => Err(Failure::input(
            "--yes or --serial",
            "given",
            &format!("{} is no drive", path.display()),
            "leave it out",
        )),
    }
}

/// What Linux tells of a block device, such as its serial number.
pub fn attribute(path: &Path, name: &str) -> Option<String> {
    let device = path
        .canonicalize()
        .ok()
        .filter(|path| is_block_device(path))?;
    let folder = Path::new("/sys/class/block")
        .join(device.file_name()?)
        .canonicalize()
        .ok()?;
    // Of a namespace, of a virtual disk, and of a partition of either.
    let places = ["device", ".", "../device", ".."].map(|place| folder.join(place).join(name));
    let texts = places
        .iter()
        .filter_map(|place| std::fs::read_to_string(place).ok());
    let mut texts = texts.map(|text| text.trim().to_owned());
    texts.find(|text| !text.is_empty())
}

/// Makes a new image without a byte in it.
pub fn create(path: &Path, size: u64) -> Result<FileDisk> {
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create_new(true).open(path);
    let file = file.map_err(|error| Failure::file("making", path, error))?;
    file.set_len(size)
        .map_err(|error| Failure::file("making", path, error))?;
    disk(file, path)
}

fn disk(file: File, path: &Path) -> Result<FileDisk> {
    FileDisk::new(file).map_err(|error| Failure::file("opening", path, error))
}

/// Whether it is one.
pub fn is_block_device(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.file_type().is_block_device())
}

/// Bytes of its logical block; 512 of a file.
pub fn block_bytes(path: &Path) -> u32 {
    let found = File::open(path).ok().filter(|_| is_block_device(path));
    let found = found.and_then(|file| rustix::fs::ioctl_blksszget(&file).ok());
    found.map_or(512, |bytes| if bytes > 512 { 4096 } else { 512 })
}

/// Tells on standard error what is not as it should be.
pub fn warn<D: Disk + ?Sized>(recording: &Recording<'_, D>) {
    for complaint in recording.complaints() {
        eprintln!("warning: {complaint}");
    }
}
