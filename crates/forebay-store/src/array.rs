// SPDX-License-Identifier: Apache-2.0
//! Several drives as one disk: which member each is, and what a missing one had.

use std::fmt;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use forebay_spec::store::PAGE_BYTES;
use forebay_spec::store::md::{self, Md};
use forebay_spec::store::member::{self, Member};
use forebay_spec::store::superblock::Drive;
use forebay_spec::stripes::{Stripes, cut};
use serde::Serialize;
use uuid::Uuid;

use crate::disk::{flush, read, within, write};
use crate::{Disk, Error, Result, crc32c, text};

/// A drive or image that may be a member of an array.
pub struct Part<'d> {
    /// What it is called in messages.
    pub name: String,
    /// The drive itself.
    pub disk: Box<dyn Disk + 'd>,
    /// Its model, serial number and firmware.
    pub drive: Drive,
}

impl<'d> Part<'d> {
    /// One of which nothing more is known.
    pub fn new(name: impl Into<String>, disk: Box<dyn Disk + 'd>) -> Self {
        Self {
            name: name.into(),
            disk,
            drive: Drive::UNKNOWN,
        }
    }
}

impl fmt::Debug for Part<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} bytes", self.name, self.disk.len())
    }
}

/// What an array is, for reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ArrayFacts {
    /// Its UUID.
    pub uuid: String,
    /// How its members make one address space.
    #[serde(flatten)]
    pub stripes: Stripes,
    /// Bytes of each member that hold stripe units.
    pub member_bytes: u64,
    /// The members in order: what each is called here; none: it is missing.
    pub members: Vec<Option<String>>,
}

/// The members of an array as one disk, in the order of their numbers.
#[derive(Debug)]
pub struct Array<'d> {
    /// The member superblock of each, as it is to be; of a missing one a guess.
    about: Vec<Member>,
    /// The generation that each says.
    said: Vec<u64>,
    parts: Vec<Option<Part<'d>>>,
    complaints: Vec<String>,
    /// Superblocks that are damaged, or differ.
    damaged: u64,
    /// Held while a stripe changes; true: the members know which of them are missing.
    marked: Mutex<bool>,
}

/// By how much the generation grows with a change. A member that is further behind, though the newest has
/// it, was replaced by another one; md leaves out one that is two behind.
const STEP: u64 = 2;

/// What the member superblock of a drive says; none: it is a member of no array.
#[must_use]
pub fn member_of(disk: &dyn Disk) -> Option<Member> {
    End::read(0, disk).ok()??.ours()
}

/// What stands at the end of a drive.
struct End {
    part: usize,
    copies: [std::result::Result<Member, String>; 2],
    md: std::result::Result<Md, String>,
}

impl End {
    /// Of all drives that are large enough.
    fn all(parts: &[Part<'_>]) -> Result<Vec<Self>> {
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

/// A drive that does not take its superblocks.
const fn at_the_end(source: io::Error) -> Error {
    Error::Disk {
        doing: "writing member superblocks",
        at: 0,
        source,
    }
}

fn refused(what: String, remedy: &'static str) -> Error {
    Error::recording(what, remedy)
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
    array.mark(&mut false).map_err(at_the_end)?;
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
        array.write_superblocks(&about).map_err(at_the_end)?;
    }
    Ok(array.facts())
}

/// Bytes of each drive that would hold stripe units.
fn each_of(parts: &[Part<'_>], stripes: Stripes) -> Result<u64> {
    let remedy = "take 2 to 8 drives, larger ones, or a smaller stripe unit";
    let cannot = |why: String| refused(format!("such an array cannot be: {why}"), remedy);
    stripes.check().map_err(|error| cannot(error.to_string()))?;
    let least = parts.iter().map(|part| part.disk.len()).min().unwrap_or(0);
    match stripes.each(member::room(least)) {
        0 => Err(cannot(format!(
            "the smallest drive has {least} bytes, and a member has a stripe unit of {} and {} of superblocks",
            stripes.stripe_unit,
            member::TAIL_BYTES
        ))),
        each => Ok(each),
    }
}

fn names(parts: &[Part<'_>]) -> String {
    let names: Vec<_> = parts.iter().map(|part| part.name.as_str()).collect();
    names.join(", ")
}

impl<'d> Array<'d> {
    /// Bytes that an array of these drives would have.
    ///
    /// # Errors
    /// Drives that are too many, too few or too small.
    pub fn bytes_of(parts: &[Part<'_>], asked: Stripes) -> Result<u64> {
        let stripes = Stripes {
            drives: parts.len() as u64,
            ..asked
        };
        Ok(each_of(parts, stripes)? * stripes.data_drives())
    }

    /// Makes an array of drives in this order, whatever is on them: writes the superblocks of all.
    ///
    /// # Errors
    /// Drives that are too many, too few or too small, or do not take bytes.
    pub fn create(parts: Vec<Part<'d>>, asked: Stripes, block_bytes: u32) -> Result<Self> {
        let stripes = Stripes {
            drives: parts.len() as u64,
            ..asked
        };
        let each = each_of(&parts, stripes)?;
        let own = *Uuid::new_v4().as_bytes();
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let about = parts.iter().zip(0..).map(|(part, number)| Member {
            array: own,
            uuid: *Uuid::new_v4().as_bytes(),
            generation: 1,
            number,
            present: member::all(stripes.drives.min(31)),
            stripes,
            each,
            block_bytes,
            formatted: now.as_ref().map_or(0, |since| since.as_nanos() as u64),
            drive: Drive {
                bytes: part.disk.len(),
                ..part.drive
            },
        });
        let array = Self {
            said: vec![1; parts.len()],
            about: about.collect(),
            parts: parts.into_iter().map(Some).collect(),
            complaints: Vec::new(),
            damaged: 0,
            marked: Mutex::new(true),
        };
        for member in &array.about {
            member.check().map_err(|error| {
                let remedy = "take 2 to 8 drives, larger ones, or a smaller stripe unit";
                refused(format!("such an array cannot be: {error}"), remedy)
            })?;
        }
        for about in &array.about {
            array.write_superblocks(about).map_err(at_the_end)?;
        }
        Ok(array)
    }

    fn open(parts: Vec<Part<'d>>, ends: &[End], force: bool) -> Result<Self> {
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
                    "{} is left out: it is older than the other members, which were written \
                     without it; `forebay store repair` of these with --replace brings it back",
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

    /// Its UUID, which md knows as well.
    #[must_use]
    pub fn uuid(&self) -> Uuid {
        Uuid::from_bytes(self.about[0].array)
    }

    /// How its members make one address space.
    #[must_use]
    pub fn stripes(&self) -> Stripes {
        self.about[0].stripes
    }

    /// Bytes of a logical block of its members.
    #[must_use]
    pub fn block_bytes(&self) -> u32 {
        self.about[0].block_bytes
    }

    /// What is not as it should be, and did not keep it from being opened.
    #[must_use]
    pub fn complaints(&self) -> &[String] {
        &self.complaints
    }

    /// What it is.
    #[must_use]
    pub fn facts(&self) -> ArrayFacts {
        let members = self.parts.iter();
        let members = members.map(|part| part.as_ref().map(|part| part.name.clone()));
        ArrayFacts {
            uuid: self.uuid().to_string(),
            stripes: self.stripes(),
            member_bytes: self.about[0].each,
            members: members.collect(),
        }
    }

    /// Superblocks that are damaged.
    #[must_use]
    pub fn damaged(&self) -> u64 {
        self.damaged
    }

    /// Writes damaged superblocks anew.
    pub fn mend(&self) -> Result<()> {
        if self.damaged == 0 {
            return Ok(());
        }
        // All of those that are there: they may have been written since they were looked at.
        let mut marked = self.marked.lock().unwrap_or_else(PoisonError::into_inner);
        *marked = false;
        self.mark(&mut marked).map_err(at_the_end)
    }

    /// Writes the superblocks of a member, one copy behind the other: one of them is whole at each
    /// moment.
    fn write_superblocks(&self, about: &Member) -> io::Result<()> {
        let Some(disk) = self.disk(about.number as usize) else {
            return Ok(());
        };
        for (at, page) in superblocks(about) {
            disk.write_at(at, &page)?;
            disk.flush()?;
        }
        Ok(())
    }

    /// Before the first change without a member: the others say that it is out.
    fn mark(&self, marked: &mut bool) -> io::Result<()> {
        if *marked {
            return Ok(());
        }
        let there = (0..self.parts.len()).filter(|one| self.parts[*one].is_some());
        let mut there: Vec<_> = there.collect();
        let present = there.iter().fold(0, |all, one| all | 1 << one);
        // A change that was cut off is finished first, so that none is more than a step behind.
        there.sort_by_key(|one| self.said[*one]);
        for number in &there {
            let about = &self.about[*number];
            if self.said[*number] < about.generation {
                self.write_superblocks(about)?;
            }
        }
        for number in there {
            let about = &self.about[number];
            let about = Member {
                generation: about.generation.saturating_add(STEP),
                present,
                ..*about
            };
            self.write_superblocks(&about)?;
        }
        *marked = true;
        Ok(())
    }

    fn disk(&self, number: usize) -> Option<&(dyn Disk + 'd)> {
        self.parts.get(number)?.as_ref().map(|part| &*part.disk)
    }

    /// Adds what all members but this one and `but` have at a place, by exclusive or.
    fn add_others(&self, number: usize, but: usize, at: u64, sum: &mut [u8]) -> io::Result<()> {
        let mut other = vec![0; sum.len()];
        let others = (0..self.parts.len()).filter(|one| ![number, but].contains(one));
        for one in others {
            let disk = self.disk(one).ok_or(io::ErrorKind::NotFound)?;
            disk.read_at(at, &mut other)?;
            add(sum, &other);
        }
        Ok(())
    }

    fn read_part(&self, number: usize, at: u64, into: &mut [u8]) -> io::Result<()> {
        let read = match self.disk(number) {
            Some(disk) => disk.read_at(at, into),
            None => Err(io::ErrorKind::NotFound.into()),
        };
        match read {
            Err(error) if self.stripes().parity => {
                let mut sum = vec![0; into.len()];
                let others = self.add_others(number, number, at, &mut sum);
                // Of a member that is there its own error says more.
                others.map_err(|other| match self.disk(number) {
                    Some(_) => error,
                    None => other,
                })?;
                into.copy_from_slice(&sum);
                Ok(())
            }
            read => read,
        }
    }

    fn write_part(&self, number: usize, at: u64, bytes: &[u8]) -> io::Result<()> {
        let parity = self.parts.len() - 1;
        let Some(sums) = self.disk(parity).filter(|_| self.stripes().parity) else {
            let disk = self.disk(number).ok_or(io::ErrorKind::NotFound)?;
            return disk.write_at(at, bytes);
        };
        let mut sum = bytes.to_vec();
        let missing = (0..parity).find(|one| *one != number && self.disk(*one).is_none());
        if missing.is_some() {
            // What is there cannot be read whole: the sum changes as these bytes do.
            let mut old = vec![0; bytes.len()];
            for disk in self.disk(number).into_iter().chain([sums]) {
                disk.read_at(at, &mut old)?;
                add(&mut sum, &old);
            }
        } else {
            self.add_others(number, parity, at, &mut sum)?;
        }
        if let Some(disk) = self.disk(number) {
            disk.write_at(at, bytes)?;
        }
        sums.write_at(at, &sum)
    }

    fn places(&self, at: u64, bytes: u64) -> impl Iterator<Item = (usize, u64, usize)> + use<> {
        let stripes = self.stripes();
        cut(stripes.stripe_unit, at, bytes).map(move |(at, bytes)| {
            let (member, place) = stripes.place(at);
            (member, place, bytes as usize)
        })
    }
}

impl Disk for Array<'_> {
    fn len(&self) -> u64 {
        self.about[0].each * self.stripes().data_drives()
    }

    fn read_at(&self, at: u64, mut into: &mut [u8]) -> io::Result<()> {
        within(at, into.len(), self.len())?;
        for (member, place, bytes) in self.places(at, into.len() as u64) {
            let (part, rest) = into.split_at_mut(bytes);
            self.read_part(member, place, part)?;
            into = rest;
        }
        Ok(())
    }

    fn write_at(&self, at: u64, mut bytes: &[u8]) -> io::Result<()> {
        within(at, bytes.len(), self.len())?;
        // Of two writes to a stripe at once the sum would be that of one.
        let mut marked = self.marked.lock().unwrap_or_else(PoisonError::into_inner);
        self.mark(&mut marked)?;
        for (member, place, count) in self.places(at, bytes.len() as u64) {
            let (part, rest) = bytes.split_at(count);
            self.write_part(member, place, part)?;
            bytes = rest;
        }
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        let mut parts = self.parts.iter().flatten();
        parts.try_for_each(|part| part.disk.flush())
    }

    fn array(&self) -> Option<&Array<'_>> {
        Some(self)
    }
}

/// Adds by exclusive or.
fn add(sum: &mut [u8], bytes: &[u8]) {
    let both = sum.iter_mut().zip(bytes);
    both.for_each(|(sum, byte)| *sum ^= byte);
}

/// The superblocks of a member, and where they lie on its drive.
fn superblocks(about: &Member) -> Vec<(u64, [u8; PAGE_BYTES])> {
    let ours = text::member_page(about);
    let bytes = about.drive.bytes;
    let (places, md_at) = (member::places(bytes), md::place(bytes));
    match places.zip(md_at) {
        Some(([first, second], md_at)) => {
            vec![
                (first, ours),
                (md_at, about.md().to_bytes()),
                (second, ours),
            ]
        }
        None => Vec::new(),
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
