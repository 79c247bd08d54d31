// SPDX-License-Identifier: Apache-2.0
//! Another drive in the place of a member that is missing.

use forebay_spec::store::PAGE_BYTES;
use forebay_spec::store::md;
use forebay_spec::store::member::{self, Member};
use forebay_spec::store::superblock::Drive;
use forebay_spec::stripes::cut;
use uuid::Uuid;

use super::open::End;
use super::{Array, ArrayFacts, Part, STEP};
use crate::disk::{flush, write};
use crate::{Error, Result};

/// Bytes that a replacement gets at once.
const COPIED: u64 = 1 << 20;

/// Puts a drive in the place of the member of an array with parity that is missing; tells `see` how many
/// bytes it has, which says whether to go on. The drive is a member when all of them are there.
///
/// # Errors
/// As [`assemble`]; where none is missing, the drive is too small, or the user wants to stop.
pub fn replace<'d>(
    parts: Vec<Part<'d>>,
    new: Part<'d>,
    see: &mut dyn FnMut(u64) -> bool,
) -> Result<ArrayFacts> {
    let ends = End::all(&parts)?;
    let mut array = Array::open(parts, &ends, false)?;
    let Some(missing) = array.parts.iter().position(Option::is_none) else {
        return Err(Error::setting(
            "the replacement",
            new.name,
            "no member is missing",
            "leave out the member that is to be replaced",
        ));
    };
    let each = array.about[missing].each;
    if member::room(new.disk.len()) < each {
        return Err(Error::setting(
            "the size of the replacement",
            new.disk.len(),
            format!(
                "a member has {each} bytes and {} of superblocks",
                member::TAIL_BYTES
            ),
            "take a larger drive",
        ));
    }
    // The one that was there before stays out, whatever becomes of the new one, and the new one is none
    // before it has all.
    array.mark(&mut false)?;
    for at in member::places(new.disk.len()).into_iter().flatten() {
        write(&*new.disk, at, &[0; PAGE_BYTES])?;
    }
    if let Some(at) = md::place(new.disk.len()) {
        write(&*new.disk, at, &[0; PAGE_BYTES])?;
    }
    flush(&*new.disk)?;
    for (at, bytes) in cut(COPIED, 0, each) {
        let mut sum = vec![0; bytes as usize];
        let read = array.read_part(missing, at, &mut sum);
        read.map_err(|source| Error::Disk {
            doing: "reading the other members",
            at,
            source,
        })?;
        write(&*new.disk, at, &sum)?;
        if !see(at + bytes) {
            return Err(Error::Interrupted);
        }
    }
    flush(&*new.disk)?;
    array.about[missing].uuid = *Uuid::new_v4().as_bytes();
    array.about[missing].drive = Drive {
        bytes: new.disk.len(),
        ..new.drive
    };
    array.parts[missing] = Some(new);
    let generation = array.about[missing].generation.saturating_add(2 * STEP);
    // The new one last: until then who opens the others alone finds that one of them is missing.
    let rest = (0..array.parts.len()).filter(|one| *one != missing);
    for number in rest.chain([missing]) {
        let about = Member {
            generation,
            present: member::all(array.stripes().drives),
            ..array.about[number]
        };
        array.write_superblocks(&about)?;
    }
    Ok(array.facts())
}
