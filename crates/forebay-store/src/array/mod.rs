// SPDX-License-Identifier: Apache-2.0
//! Several drives as one disk, and what a missing one had.

mod open;
mod replace;

use std::fmt;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use forebay_spec::store::PAGE_BYTES;
use forebay_spec::store::md;
use forebay_spec::store::member::{self, Member};
use forebay_spec::store::superblock::Drive;
use forebay_spec::stripes::{Stripes, cut};
use serde::Serialize;
use uuid::Uuid;

use crate::disk::within;
use crate::{Disk, Error, Result, text};

pub use open::{assemble, member_of};
pub use replace::replace;

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

fn refused(what: String, remedy: &'static str) -> Error {
    Error::recording(what, remedy)
}

/// By how much the generation grows with a change. A member that is further behind, though the newest has
/// it, was replaced by another one; md leaves out one that is two behind.
const STEP: u64 = 2;

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
            array.write_superblocks(about)?;
        }
        Ok(array)
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
        self.mark(&mut marked)
    }

    /// Writes the superblocks of a member, one copy behind the other: one of them is whole at each
    /// moment.
    fn write_superblocks(&self, about: &Member) -> Result<()> {
        let part = self.parts.get(about.number as usize);
        let Some(part) = part.and_then(Option::as_ref) else {
            return Ok(());
        };
        for (at, page) in superblocks(about) {
            let written = part.disk.write_at(at, &page);
            let flushed = written.and_then(|()| part.disk.flush());
            flushed.map_err(|source| Error::Disk {
                doing: "writing a member superblock",
                at,
                source: io::Error::other(format!("{}: {source}", part.name)),
            })?;
        }
        Ok(())
    }

    /// Says on each member which of them are there, before anything is changed without the others.
    ///
    /// # Errors
    /// A member that does not take it.
    pub fn mark_missing(&self) -> Result<()> {
        let mut marked = self.marked.lock().unwrap_or_else(PoisonError::into_inner);
        self.mark(&mut marked)
    }

    /// Before the first change without a member: the others say that it is out.
    fn mark(&self, marked: &mut bool) -> Result<()> {
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

    fn is_computed(&self, at: u64) -> bool {
        self.disk(self.stripes().place(at).0).is_none()
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
        self.mark(&mut marked).map_err(io::Error::other)?;
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
