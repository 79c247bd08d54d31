// SPDX-License-Identifier: Apache-2.0
//! What a repair writes over, kept in a file, and put back.
//!
//! | byte | what |
//! |---|---|
//! | 0–7 | `FBUNDO1` and a line feed |
//! | 8–15 | bytes of the image |
//! | 16–31 | recording UUID |
//! | 32–39 | changes that follow |
//! | of each | first byte (8), bytes (4), 1 if they could not be read, else 0 (4), CRC32C of what was written (4), and the bytes that were there, unless they could not be read |
//! | last 4 | CRC32C of all before |

use forebay_spec::store::Session;
use serde::Serialize;

use crate::disk::{flush, write};
use crate::draft::Change;
use crate::reader::Recording;
use crate::{Disk, Error, Result, crc32c};

const MAGIC: [u8; 8] = *b"FBUNDO1\n";
const CRC_BYTES: usize = 4;

/// What was put back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Undone {
    /// Places.
    pub places: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Places that were as they had been already.
    pub same: u64,
    /// Places whose bytes could not be read before they were written: they stay.
    pub unknown: u64,
}

/// The file.
pub(crate) fn file(session: Session, image: u64, changes: &[Change]) -> Vec<u8> {
    let mut file = MAGIC.to_vec();
    file.extend(image.to_le_bytes());
    file.extend(session.0);
    file.extend((changes.len() as u64).to_le_bytes());
    for change in changes {
        file.extend(change.at.to_le_bytes());
        file.extend((change.new.len() as u32).to_le_bytes());
        file.extend(u32::from(change.old.is_none()).to_le_bytes());
        file.extend(crc32c(0, &change.new).to_le_bytes());
        file.extend(change.old.iter().flatten());
    }
    file.extend(crc32c(0, &file).to_le_bytes());
    file
}

/// Bytes of a file from a place on.
struct Reader<'f>(&'f [u8]);

impl<'f> Reader<'f> {
    fn take(&mut self, bytes: usize) -> Result<&'f [u8]> {
        let (own, rest) = self.0.split_at_checked(bytes).ok_or_else(|| {
            Error::setting(
                "the undo file's length",
                format!("{} bytes short", bytes - self.0.len()),
                "all of its changes are in it",
                "take the whole file",
            )
        })?;
        self.0 = rest;
        Ok(own)
    }

    fn number<const N: usize>(&mut self) -> Result<u64> {
        let bytes = self.take(N)?.iter().rev();
        Ok(bytes.fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }
}

/// A change of a file.
struct Kept<'f> {
    at: u64,
    length: usize,
    crc: u32,
    old: Option<&'f [u8]>,
}

/// The changes of a file that belongs to this image.
fn parse<'f>(disk: &dyn Disk, file: &'f [u8]) -> Result<Vec<Kept<'f>>> {
    let remedy = "name the file that `forebay store repair --undo` wrote for this image";
    let split = file
        .len()
        .checked_sub(CRC_BYTES)
        .filter(|_| file.starts_with(&MAGIC));
    let Some((content, crc)) = split.map(|at| file.split_at(at)) else {
        let begin = String::from_utf8_lossy(&file[..file.len().min(MAGIC.len())]).into_owned();
        let limit = "an undo file begins with `FBUNDO1` and a line feed";
        return Err(Error::setting(
            "the file's beginning",
            format!("{begin:?}"),
            limit,
            remedy,
        ));
    };
    let (says, has) = (Reader(crc).number::<4>()?, crc32c(0, content));
    if says != u64::from(has) {
        return Err(Error::setting(
            "the undo file's CRC32C",
            format!("{has:08x}"),
            format!("it says {says:08x}"),
            "take an undamaged copy of the file",
        ));
    }
    let mut reader = Reader(&content[MAGIC.len()..]);
    let image = reader.number::<8>()?;
    if image != disk.len() {
        let limit = format!("the undo file belongs to one of {image}");
        return Err(Error::setting(
            "the image's size",
            disk.len(),
            limit,
            remedy,
        ));
    }
    let session = Recording::open(disk)?.superblock().session;
    let own: [u8; 16] = reader.take(16)?.try_into().unwrap_or_default();
    if own != session.0 {
        let limit = format!("the undo file belongs to {}", Session(own));
        return Err(Error::setting("the recording UUID", session, limit, remedy));
    }
    let mut changes = Vec::new();
    for _ in 0..reader.number::<8>()? {
        let (at, length) = (reader.number::<8>()?, reader.number::<4>()? as usize);
        let unknown = reader.number::<4>()? != 0;
        let crc = reader.number::<4>()? as u32;
        let end = at.checked_add(length as u64);
        if end.is_none_or(|end| end > image) {
            let limit = format!("the image ends at byte {image}");
            return Err(Error::setting(
                "a place of the undo file",
                at,
                limit,
                remedy,
            ));
        }
        let old = match unknown {
            true => None,
            false => Some(reader.take(length)?),
        };
        changes.push(Kept {
            at,
            length,
            crc,
            old,
        });
    }
    Ok(changes)
}

/// Puts back what a repair wrote over. All is checked before anything is written: the file, that it
/// belongs to this image, and that each place has what the repair wrote, or what was there before.
///
/// # Errors
/// Where anything of this is not so, or the disk does not take bytes.
pub fn undo(disk: &dyn Disk, file: &[u8]) -> Result<Undone> {
    let mut undone = Undone::default();
    let mut back = Vec::new();
    for change in parse(disk, file)? {
        let Some(old) = change.old else {
            undone.unknown += 1;
            continue;
        };
        let mut there = vec![0; change.length];
        let readable = disk.read_at(change.at, &mut there).is_ok();
        if readable && there == old {
            undone.same += 1;
            continue;
        }
        let has = crc32c(0, &there);
        if readable && has != change.crc {
            return Err(Error::setting(
                "the image",
                format!("other at byte {} (CRC32C {has:08x})", change.at),
                format!("the repair left bytes with {:08x} there", change.crc),
                "undo only what was not written to since the repair",
            ));
        }
        back.push((change.at, old));
    }
    for (at, old) in back {
        write(disk, at, old)?;
        undone.places += 1;
        undone.bytes += old.len() as u64;
    }
    flush(disk)?;
    Ok(undone)
}
