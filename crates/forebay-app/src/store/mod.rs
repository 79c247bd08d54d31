// SPDX-License-Identifier: Apache-2.0
//! Recordings on images and drives, beside what `forebay-store` knows of them: how they are drawn, and
//! what Linux says of the drive.

mod arrays;
mod chart;
mod gallery;
mod html;
mod names;
mod report;

use std::path::Path;

use forebay_spec::store::superblock::Drive;
use forebay_store::is_block_device;

pub use arrays::{FoundArray, arrays, drives};
pub use names::ClassNames;
pub use report::Report;

/// What Linux says of a block device, such as its serial number; none of an image.
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

/// Model, serial number and firmware of an NVMe drive, padded with blanks; those of an image are blank.
pub fn drive(path: &Path) -> Drive {
    fn padded<const N: usize>(text: Option<String>) -> [u8; N] {
        let mut field = [b' '; N];
        let text = text.unwrap_or_default();
        let plain = text.bytes().filter(|c| (b' '..=b'~').contains(c));
        field
            .iter_mut()
            .zip(plain)
            .for_each(|(to, from)| *to = from);
        field
    }
    Drive {
        model: padded(attribute(path, "model")),
        serial: padded(attribute(path, "serial")),
        firmware: padded(attribute(path, "firmware_rev")),
        bytes: 0,
    }
}
