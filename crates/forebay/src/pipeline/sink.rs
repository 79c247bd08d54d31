// SPDX-License-Identifier: Apache-2.0
//! `[sink]`: where on the drives it goes.

use forebay_driver::{ArrayOptions, Layout};
use forebay_model::{MICROSECOND, Time};
use forebay_spec::streamer::window::PAGE_BYTES;
use serde::{Deserialize, Serialize};
use toml::Value;

use super::Place;
use super::field::File;
use super::ssd::Ssd;
use crate::args::values;
use crate::failure::Result;

/// The journal's part of it all: twice what full blocks need where every extent is the smallest one.
const SHARE: u64 = 32;
/// Longest time that a row may wait: what the register can count of any clock in use.
const WAIT_MOST: Time = 4_000_000 * MICROSECOND;

/// Where data and journal go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sink {
    /// For rows that say what lies where.
    pub journal: Region,
    /// For the data, behind it.
    pub data: Region,
    /// At the end they go on at the beginning; else what finds no room is counted.
    pub ring: bool,
    /// Each block of the journal is followed by a flush.
    pub flush: bool,
    /// Picoseconds that rows wait for a full block; 0: as long as it takes.
    pub wait_ps: Time,
    /// Bytes that follow each other on one of several drives.
    pub chunk: u64,
}

/// Bytes that follow each other, in whole pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Region {
    /// The first one's address.
    pub base: u64,
    /// How many.
    pub size: u64,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Raw {
    base: Option<Place>,
    size: Option<Place>,
    journal: Option<Place>,
    policy: Option<Place>,
    flush: Option<Place>,
    wait: Option<Place>,
    chunk: Option<Place>,
}

pub(super) fn check(file: &File, raw: &Raw, ssds: &[Ssd]) -> Result<Sink> {
    let chunk = chunk(file, raw.chunk.as_ref())?;
    let (journal, data) = regions(file, raw, room(ssds, chunk))?;
    let policies = [("stop", false), ("ring", true)];
    Ok(Sink {
        journal,
        data,
        ring: match &raw.policy {
            Some(value) => file.field("sink.policy", value).word(&policies)?,
            None => false,
        },
        flush: match &raw.flush {
            Some(value) => file.field("sink.flush", value).flag()?,
            None => true,
        },
        wait_ps: wait(file, raw.wait.as_ref())?,
        chunk,
    })
}

/// Bytes of all drives together, as far as all of them go.
fn room(ssds: &[Ssd], chunk: u64) -> u64 {
    let least = ssds.iter().map(|ssd| ssd.bytes).min().unwrap_or(0);
    match ssds.len() as u64 {
        1 => least / PAGE_BYTES * PAGE_BYTES,
        drives => (least / chunk * chunk).saturating_mul(drives),
    }
}

/// As the driver will have it, whatever the number of drives.
fn chunk(file: &File, value: Option<&Place>) -> Result<u64> {
    let Some(value) = value else {
        return Ok(64 << 10);
    };
    let field = file.field("sink.chunk", value);
    let chunk = field.bytes()?;
    match Layout::new(ArrayOptions::striped(1, chunk)) {
        Ok(_) => Ok(chunk),
        Err(_) => Err(field.refuse(
            "it is a power of two from 4 KiB to 1 MiB",
            "choose \"4KiB\", \"8KiB\" … \"1MiB\"",
        )),
    }
}

/// The journal's region, and behind it that of the data.
fn regions(file: &File, raw: &Raw, room: u64) -> Result<(Region, Region)> {
    let pages = |name: &str, value: &Option<Place>| {
        let read = |value| {
            file.field(format!("sink.{name}"), value)
                .whole_bytes(PAGE_BYTES)
        };
        value.as_ref().map(read).transpose()
    };
    let base = pages("base", &raw.base)?.unwrap_or(0);
    let rest = room.saturating_sub(base);
    if rest < 2 * PAGE_BYTES {
        let limit = format!("the drives have {room} bytes together, and 8192 of them are needed");
        let remedy = "begin further to the front, or take larger drives";
        return Err(match &raw.base {
            Some(value) => file.field("sink.base", value).refuse(&limit, remedy),
            None => file.refuse(0, "sink.base", base, &limit, remedy),
        });
    }
    let size = pages("size", &raw.size)?.unwrap_or(rest);
    if let (Some(value), false) = (&raw.size, (2 * PAGE_BYTES..=rest).contains(&size)) {
        return Err(file.field("sink.size", value).refuse(
            &format!("from {base} on there is room for 8192 to {rest} bytes"),
            "choose less, another base, or more drives; without size it is all there is",
        ));
    }
    let journal_size = match (&raw.journal, pages("journal", &raw.journal)?) {
        (Some(value), Some(journal)) if !(PAGE_BYTES..size).contains(&journal) => {
            return Err(file.field("sink.journal", value).refuse(
                &format!("journal and data share {size} bytes, and each has 4096 or more"),
                "choose such a size; without it, a 32nd part is the journal's",
            ));
        }
        (_, Some(journal)) => journal,
        (_, None) => (size / SHARE).next_multiple_of(PAGE_BYTES).max(PAGE_BYTES),
    };
    let journal = Region {
        base,
        size: journal_size,
    };
    let data = Region {
        base: base + journal_size,
        size: size - journal_size,
    };
    Ok((journal, data))
}

fn wait(file: &File, value: Option<&Place>) -> Result<Time> {
    let Some(value) = value else {
        return Ok(1_000 * MICROSECOND);
    };
    let field = file.field("sink.wait", value);
    let time = match field.value() {
        Value::String(text) => values::time(text).ok(),
        Value::Integer(0) => Some(0),
        _ => None,
    };
    time.filter(|time| *time <= WAIT_MOST).ok_or_else(|| {
        field.refuse(
            "it is a time of up to 4 s, in quotes",
            "write for example \"500us\" or \"2ms\"; 0 waits for a full block",
        )
    })
}
