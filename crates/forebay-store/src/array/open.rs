// SPDX-License-Identifier: Apache-2.0
//! Which drive is which member of an array, by the superblocks at their ends.

use std::sync::Mutex;

use forebay_spec::store::PAGE_BYTES;
use forebay_spec::store::md::{self, Md};
use forebay_spec::store::member::{self, Member};
use forebay_spec::store::superblock::Drive;
use uuid::Uuid;

use super::{Array, Part, STEP, refused};
use crate::disk::read;
use crate::{Disk, Error, Result, crc32c};

/// What the member superblock of a drive says; none: it is a member of no array.
#[must_use]
pub fn member_of(disk: &dyn Disk) -> Option<Member> {
    End::read(0, disk).ok()??.ours()
}

/// What stands at the end of a drive.
pub(super) struct End {
    part: usize,
    copies: [std::result::Result<Member, String>; 2],
    md: std::result::Result<Md, String>,
}

impl End {
    /// Of all drives that are large enough.
    pub(super) fn all(parts: &[Part<'_>]) -> Result<Vec<Self>> {
        let ends = parts.iter().enumerate();
        let ends = ends.map(|(number, part)| Self::read(number, &*part.disk));
        ends.filter_map(Result::transpose).collect()
    }

    fn read(part: usize, disk: &dyn Disk) -> Result<Option<Self>> {
        let bytes = disk.len();
        let (Some(places), Some(md_at)) = (member::places(bytes), md::place(bytes)) else {
            return Ok(None);
        };
        let page = |at| {
            let mut page = [0; PAGE_BYTES];
            read(disk, at, &mut page)
                .map(|()| page)
                .map_err(|error| error.to_string())
        };
        let copy = |at| {
            let member = Member::parse(&page(at)?, crc32c).map_err(|error| error.to_string())?;
            match member.drive.bytes == bytes {
                true => Ok(member),
                false => Err(format!(
                    "it was made on a drive of {} bytes, and this one has {bytes}",
                    member.drive.bytes
                )),
            }
        };
        let md = page(md_at).and_then(|page| Md::parse(&page).map_err(|error| error.to_string()));
        Ok(Some(Self {
            part,
            copies: places.map(copy),
            md,
        }))
    }

    /// Ours, the copy with the greater generation.
    fn ours(&self) -> Option<Member> {
        let good = self.copies.iter().flatten().copied();
        good.rev().max_by_key(|member| member.generation)
    }

    /// The same, or what md's superblock tells of it beside that of another member.
    fn member(&self, model: &Member, bytes: u64) -> Option<Member> {
        let from_md = || {
            let md = self.md.as_ref().ok()?;
            let drive = Drive {
                bytes,
                ..Drive::UNKNOWN
            };
            let number = u64::from(md.fixed.number);
            let member = Member {
                number,
                uuid: md.fixed.member,
                drive,
                generation: md.fixed.events,
                present: present(md),
                ..*model
            };
            let fits = member.check().is_ok() && member.differs(md).is_none();
            fits.then_some(member)
        };
        self.ours().or_else(from_md)
    }

    /// Generation, and the members that have what was written last: of our superblock
    /// and md's the one counts that was written later.
    fn newest(&self, member: &Member) -> (u64, u32) {
        match &self.md {
            Ok(md) if md.fixed.events > member.generation && member.differs(md).is_none() => {
                let all = member::all(member.stripes.drives);
                (md.fixed.events, present(md) & all)
            }
            _ => (member.generation, member.present),
        }
    }
}

/// A bit for each member that md has in its array; those that are faulty or spare are not.
fn present(md: &Md) -> u32 {
    let roles = md.roles.iter().zip(0u16..);
    let there = roles.filter(|(role, number)| **role == *number);
    there.fold(0, |all, (_, number)| all | 1 << number)
}

/// Opens what these are: one disk, or the members of an array in any order. With `force` our superblocks
/// count where those of md say something else.
///
/// # Errors
/// Members that do not belong together, one twice, one that is no member, too few of them.
pub fn assemble<'d>(mut parts: Vec<Part<'d>>, force: bool) -> Result<Box<dyn Disk + 'd>> {
    let ends = End::all(&parts)?;
    if parts.len() == 1 && ends.iter().all(|end| end.ours().is_none()) {
        return Ok(parts.remove(0).disk);
    }
    Ok(Box::new(Array::open(parts, &ends, force)?))
}

fn names(parts: &[Part<'_>]) -> String {
    let names: Vec<_> = parts.iter().map(|part| part.name.as_str()).collect();
    names.join(", ")
}

impl<'d> Array<'d> {
    pub(super) fn open(parts: Vec<Part<'d>>, ends: &[End], force: bool) -> Result<Self> {
        let Some(model) = ends.iter().find_map(End::ours) else {
            return Err(refused(
                format!(
                    "none of {} has a member superblock at its end",
                    names(&parts)
                ),
                "name the members of one array as they are: a copy must have its whole length",
            ));
        };
        let count = model.stripes.drives as usize;
        let mut found: Vec<Option<(&End, Member)>> = vec![None; count];
        for (number, part) in parts.iter().enumerate() {
            let end = ends.iter().find(|end| end.part == number);
            let known = end.and_then(|end| Some((end, end.member(&model, part.disk.len())?)));
            let Some((end, member)) = known else {
                return Err(no_member(part, end, &model));
            };
            belongs(part, &member, &parts, &model)?;
            if let Some((other, _)) = found[member.number as usize] {
                return Err(refused(
                    format!(
                        "{} and {} are both member {} of the array",
                        parts[other.part].name, part.name, member.number
                    ),
                    "name each member once",
                ));
            }
            if let (Ok(md), Some(ours), false) = (&end.md, end.ours(), force) {
                agree(part, &ours, md)?;
            }
            found[member.number as usize] = Some((end, member));
        }
        let newest = found
            .iter()
            .flatten()
            .map(|(end, member)| end.newest(member));
        let newest: Vec<_> = newest.collect();
        let (generation, present) = newest
            .iter()
            .copied()
            .max_by_key(|newest| newest.0)
            .unwrap_or_default();
        if newest
            .iter()
            .any(|other| other.0 == generation && other.1 != present)
        {
            return Err(refused(
                format!(
                    "members of {} were written without each other",
                    names(&parts)
                ),
                "name those alone that were written last",
            ));
        }
        let mut array = Self {
            about: Vec::with_capacity(count),
            said: Vec::with_capacity(count),
            parts: Vec::with_capacity(count),
            complaints: Vec::new(),
            damaged: 0,
            marked: Mutex::new(false),
        };
        let mut order: Vec<_> = parts.into_iter().map(Some).collect();
        for (number, found) in found.iter().enumerate() {
            let about = found.map_or(model, |(_, member)| member);
            let about = Member {
                number: number as u64,
                generation,
                present: present | 1 << number,
                ..about
            };
            let said = found.map_or(generation, |(end, member)| end.newest(&member).0);
            let stale = present >> number & 1 == 0 || said.saturating_add(STEP) < generation;
            let part = found.and_then(|(end, _)| order[end.part].take());
            match (&part, found) {
                (Some(part), _) if stale => array.complaints.push(format!(
                    "{0} is left out: it is older than the other members, which were written \
                     without it; `forebay store repair OTHERS --replace {0}` brings it back",
                    part.name
                )),
                (Some(part), Some((end, _))) => array.look(part, end, &about),
                _ => {}
            }
            array.about.push(about);
            array.said.push(said);
            array.parts.push(part.filter(|_| !stale));
        }
        let there = |number: usize| array.parts[number].is_some();
        let all_know = found.iter().enumerate().all(|(number, found)| {
            let said = found.map(|(end, member)| end.newest(&member));
            let knows = said == Some((generation, present)) || !there(number);
            knows && (present >> number & 1 != 0) == there(number)
        });
        array.marked = Mutex::new(all_know);
        array.complete()?;
        Ok(array)
    }

    /// Remembers what of a member's superblocks is damaged, or not as it is to be.
    fn look(&mut self, part: &Part<'_>, end: &End, about: &Member) {
        let mut wrong = |what: &str, why: &str| {
            self.damaged += 1;
            let text = format!("{what} of {} is damaged: {why}", part.name);
            self.complaints.push(text);
        };
        for (copy, which) in end.copies.iter().zip(["first", "second"]) {
            if let Err(why) = copy {
                wrong(&format!("the {which} member superblock"), why);
            }
        }
        match &end.md {
            Err(why) => wrong("md's superblock", why),
            Ok(md) if about.differs(md).is_some() => {
                wrong("md's superblock", "it is another array's");
            }
            Ok(_) => {}
        }
    }

    /// Whether the members that are there are enough.
    fn complete(&mut self) -> Result<()> {
        let stripes = self.stripes();
        let missing = self.parts.iter().enumerate();
        let missing = missing.filter(|(_, part)| part.is_none());
        let missing: Vec<_> = missing.map(|(number, _)| number.to_string()).collect();
        let text = |names: &[String]| match names {
            [one] => format!("member {one} of {} of the array is missing", stripes.drives),
            more => format!(
                "members {} of {} of the array are missing",
                more.join(", "),
                stripes.drives
            ),
        };
        match (missing.len(), stripes.parity) {
            (0, _) => Ok(()),
            (1, true) => {
                let what = format!("{}: its bytes come from the parity", text(&missing));
                self.complaints.push(what);
                Ok(())
            }
            (_, parity) => {
                let there = self.parts.iter().flatten();
                let there: Vec<_> = there.map(|part| part.name.as_str()).collect();
                let why = match parity {
                    true => "the parity stands for one",
                    false => "it has no parity",
                };
                let what = format!(
                    "{}: {why}. There are {}, of array {}",
                    text(&missing),
                    match there.is_empty() {
                        true => "none".into(),
                        false => there.join(", "),
                    },
                    self.uuid()
                );
                Err(refused(what, "name all members of the array, in any order"))
            }
        }
    }
}

/// Why a drive is no member, where others are.
fn no_member(part: &Part<'_>, end: Option<&End>, model: &Member) -> Error {
    let why = match end {
        None => "it is too small for one".to_owned(),
        Some(end) => match (&end.copies, &end.md) {
            ([Err(first), Err(second)], Err(md)) if first == second => {
                format!("of ours {first}; of md's {md}")
            }
            ([Err(first), Err(second)], Err(md)) => {
                format!("of ours the first: {first}, the second: {second}; of md's {md}")
            }
            _ => "md's superblock there is that of another array".to_owned(),
        },
    };
    refused(
        format!(
            "{} has no member superblock of array {}: {why}",
            part.name,
            Uuid::from_bytes(model.array)
        ),
        "name the members of one array; where one is lost, and there is parity, leave it out",
    )
}

/// Whether a member belongs to the same array as `model`, which one of these parts has.
fn belongs(part: &Part<'_>, member: &Member, parts: &[Part<'_>], model: &Member) -> Result<()> {
    if member.array != model.array {
        let what = format!(
            "{} belongs to array {}, but others of {} to {}",
            part.name,
            Uuid::from_bytes(member.array),
            names(parts),
            Uuid::from_bytes(model.array)
        );
        let remedy =
            "name the members of one array: each recording over several drives makes its own";
        return Err(refused(what, remedy));
    }
    let numbers = |of: &Member| {
        [
            ("number of members", of.stripes.drives),
            ("stripe unit", of.stripes.stripe_unit),
            ("parity", of.stripes.parity.into()),
            ("bytes of each member", of.each),
            ("logical block", of.block_bytes.into()),
        ]
    };
    let both = numbers(member).into_iter().zip(numbers(model));
    let other = both.into_iter().find(|(one, other)| one != other);
    match other {
        None => Ok(()),
        Some(((field, value), (_, expected))) => Err(refused(
            format!(
                "the {field} of the array is {value} in the member superblock of {}, and \
                 {expected} in that of another member",
                part.name
            ),
            "one of them was not written by this project: leave it out where there is parity",
        )),
    }
}

/// Whether md's superblock of a member says what ours does.
fn agree(part: &Part<'_>, ours: &Member, md: &Md) -> Result<()> {
    match ours.differs(md) {
        None => Ok(()),
        Some((field, value, theirs)) => Err(refused(
            format!(
                "the {field} is {value} in the member superblock of {}, and {theirs} in that of md \
                 beside it",
                part.name
            ),
            "if `mdadm --create` was run on it since, the recording may be gone; else `forebay \
             store repair --force` writes md's anew",
        )),
    }
}
