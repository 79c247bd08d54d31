// SPDX-License-Identifier: Apache-2.0
//! `[sink]`: how it is stored on the drives.

use forebay_driver::{ArrayOptions, Layout};
use forebay_model::{MICROSECOND, Time};
use forebay_spec::store::superblock;
use forebay_spec::streamer::window::PAGE_BYTES;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::field::{Field, File};
use super::{Place, Result, schema};

/// Smallest objects for which the index has room, where nothing else is said.
const SMALLEST: u64 = 64 << 10;
/// How long rows wait for a full block.
const WAIT: Time = 1_000 * MICROSECOND;
/// How long rows wait for their result.
const RESULT: Time = 10_000 * MICROSECOND;
/// Bytes that follow each other on one of several drives.
const CHUNK: u64 = 64 << 10;
/// The same with parity, where a stripe is the least that is written.
const PARITY_CHUNK: u64 = 16 << 10;
/// The most: what the card's memory for parity has room for.
const PARITY_CHUNK_MOST: u64 = 64 << 10;
/// Longest time that a row may wait: what the register can count of any clock in use.
const WAIT_MOST: Time = 4_000_000 * MICROSECOND;

/// How and where it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sink {
    /// How data lie there.
    #[serde(flatten)]
    pub layout: Kind,
    /// Bytes of the smallest objects that the index has room for, if they fill the drives.
    pub smallest: u64,
    /// At the end they go on at the beginning; else what finds no room is counted.
    pub ring: bool,
    /// The drives are flushed before blocks of the index are written, and after them.
    pub flush: bool,
    /// Picoseconds that rows wait for a full block; 0: as long as it takes.
    pub wait_ps: Time,
    /// Picoseconds that the row of an object waits for its result, where there are results.
    pub result_ps: Time,
    /// Bytes that follow each other on one of several drives.
    pub chunk: u64,
    /// The last drive holds the parity of the others; of two both have the same.
    pub parity: bool,
}

impl Default for Sink {
    fn default() -> Self {
        Self {
            layout: Kind::Objects {
                extension: "bin".into(),
            },
            smallest: SMALLEST,
            ring: false,
            flush: true,
            wait_ps: WAIT,
            result_ps: RESULT,
            chunk: CHUNK,
            parity: false,
        }
    }
}

/// How data lie on the drives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "layout", rename_all = "lowercase")]
pub enum Kind {
    /// As a tar file.
    Objects {
        /// File name extension.
        extension: String,
    },
    /// As a tar file whose objects share pages.
    Small {
        /// File name extension.
        extension: String,
    },
    /// Payload alone.
    Samples {
        /// Bytes from one to the next.
        stride: u64,
    },
    /// Whole frames, as a capture.
    Packets,
}

impl Sink {
    /// How long index records, and chunks of a capture, wait, in cycles of a clock with this
    /// period in picoseconds.
    pub fn wait_cycles(&self, period: Time) -> u32 {
        u32::try_from(self.wait_ps / period.max(1)).unwrap_or(u32::MAX)
    }
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Raw {
    /// How data lie on the drives.
    #[schemars(with = "Option<schema::Layout>")]
    layout: Option<Place>,
    /// Extension of the names of objects: 1 to 4 letters or digits.
    #[schemars(with = "Option<String>")]
    extension: Option<Place>,
    /// Bytes from the beginning of one sample to that of the next, a multiple of 4096.
    #[schemars(with = "Option<schema::Bytes>")]
    stride: Option<Place>,
    /// The smallest objects for which the index has room.
    #[schemars(with = "Option<schema::Bytes>")]
    smallest: Option<Place>,
    /// What happens where there is no room any more.
    #[schemars(with = "Option<schema::Policy>")]
    policy: Option<Place>,
    /// Flush the drives before and after each block of the index.
    #[schemars(with = "Option<bool>")]
    flush: Option<Place>,
    /// How long index records wait for a full block, up to 4 s.
    #[schemars(with = "Option<schema::Duration>")]
    wait: Option<Place>,
    /// How long the index record of an object waits for its result, up to 4 s.
    #[schemars(with = "Option<schema::Duration>")]
    result: Option<Place>,
    /// With several drives: bytes that follow each other on one.
    #[schemars(with = "Option<schema::Bytes>")]
    chunk: Option<Place>,
    /// The last of two, three or five drives holds the parity of the others: one may fail.
    #[schemars(with = "Option<bool>")]
    parity: Option<Place>,
}

pub(super) fn check(file: &File, raw: &Raw, drives: usize) -> Result<Sink> {
    let layout = layout(file, raw)?;
    let parity = file.or("sink.parity", &raw.parity, false, Field::flag)?;
    if let Some(value) = raw.parity.as_ref().filter(|_| parity) {
        check_parity(&file.field("sink.parity", value), drives)?;
    }
    let usual = Sink::default();
    let ring = |field: &Field| field.word(&[("stop", false), ("ring", true)]);
    let wait = |field: &Field| {
        let remedy = "write for example \"500us\" or \"2ms\"; 0 waits for a full block";
        field.time(WAIT_MOST, remedy)
    };
    let result =
        |field: &Field| field.time(WAIT_MOST, "write for example \"5ms\"; 0 waits for none");
    Ok(Sink {
        smallest: file.or("sink.smallest", &raw.smallest, usual.smallest, smallest)?,
        ring: file.or("sink.policy", &raw.policy, usual.ring, ring)?,
        flush: file.or("sink.flush", &raw.flush, usual.flush, Field::flag)?,
        wait_ps: file.or("sink.wait", &raw.wait, usual.wait_ps, wait)?,
        result_ps: file.or("sink.result", &raw.result, usual.result_ps, result)?,
        chunk: match parity {
            true => chunk_of_stripe(file, raw, &layout, drives as u64)?,
            false => file.or("sink.chunk", &raw.chunk, usual.chunk, chunk)?,
        },
        layout,
        parity,
    })
}

/// What is written with parity is whole stripes, at multiples of them: a power of two.
fn check_parity(field: &Field<'_>, drives: usize) -> Result<()> {
    if !matches!(drives, 2 | 3 | 5) {
        return Err(field.refuse(
            &format!("parity is that of one, two or four other drives, and all are {drives}"),
            "name two, three or five, each with an [[ssd]] of its own, or leave it out",
        ));
    }
    Ok(())
}

/// Bytes on each drive of a stripe with parity.
fn chunk_of_stripe(file: &File, raw: &Raw, layout: &Kind, drives: u64) -> Result<u64> {
    let found = file.or(
        "sink.chunk",
        &raw.chunk,
        PARITY_CHUNK,
        |field| match chunk(field)? {
            chunk if chunk > PARITY_CHUNK_MOST => Err(field.refuse(
                &format!("with parity it is at most {PARITY_CHUNK_MOST} bytes"),
                "leave it out, or take less",
            )),
            chunk => Ok(chunk),
        },
    )?;
    let stripe = found * (drives - 1);
    match layout {
        Kind::Samples { stride } if !stride.is_multiple_of(stripe) => Err(file.refuse(
            0,
            "sink.stride",
            stride,
            &format!("with parity it is a multiple of a stripe, {stripe} bytes"),
            "round it up, or take a shorter chunk",
        )),
        _ => Ok(found),
    }
}

/// How data lie there, without what else is to be known of it.
#[derive(Clone, Copy, PartialEq)]
enum Word {
    Objects,
    Small,
    Samples,
    Packets,
}

fn layout(file: &File, raw: &Raw) -> Result<Kind> {
    let words = [
        ("objects", Word::Objects),
        ("small", Word::Small),
        ("samples", Word::Samples),
        ("packets", Word::Packets),
    ];
    let word = |field: &Field| field.word(&words);
    let word = file.or("sink.layout", &raw.layout, Word::Objects, word)?;
    if let Some(value) = raw.stride.as_ref().filter(|_| word != Word::Samples) {
        return Err(file.field("sink.stride", value).refuse(
            "only samples have a stride",
            "leave it out, or write layout = \"samples\"",
        ));
    }
    if let Some(value) = raw
        .extension
        .as_ref()
        .filter(|_| matches!(word, Word::Samples | Word::Packets))
    {
        return Err(file
            .field("sink.extension", value)
            .refuse("only objects have names", "leave it out"));
    }
    let usual = "bin".to_owned();
    let extension = file.or("sink.extension", &raw.extension, usual, extension_of)?;
    match word {
        Word::Objects => Ok(Kind::Objects { extension }),
        Word::Small => Ok(Kind::Small { extension }),
        Word::Samples => samples(file, raw),
        Word::Packets => packets(file, raw),
    }
}

fn samples(file: &File, raw: &Raw) -> Result<Kind> {
    let stride = |field: &Field| field.whole_bytes(PAGE_BYTES);
    let stride = file.or("sink.stride", &raw.stride, 0, stride)?;
    if stride == 0 {
        return Err(file.refuse(
            0,
            "sink.stride",
            "missing or 0",
            "samples lie at multiples of it, of a page or more",
            "add it, such as stride = \"64KiB\", or record objects",
        ));
    }
    if u32::try_from(stride).is_err() {
        return Err(file.refuse(
            0,
            "sink.stride",
            stride,
            "it is less than 4 GiB",
            "record longer samples as objects",
        ));
    }
    Ok(Kind::Samples { stride })
}

fn packets(file: &File, raw: &Raw) -> Result<Kind> {
    let policy = |field: &Field| match field.value().as_str() {
        Some("ring") => Err(field.refuse(
            "a capture has a beginning",
            "write policy = \"stop\", or record objects",
        )),
        _ => Ok(Kind::Packets),
    };
    file.or("sink.policy", &raw.policy, Kind::Packets, policy)
}

fn extension_of(field: &Field<'_>) -> Result<String> {
    let extension = field.text()?;
    if superblock::extension(extension.as_bytes()).is_none() {
        return Err(field.refuse(
            "it is 1 to 4 letters or digits",
            "choose for example \"bin\" or \"jpg\"",
        ));
    }
    Ok(extension.to_owned())
}

fn smallest(field: &Field<'_>) -> Result<u64> {
    match field.bytes()? {
        0 => Err(field.refuse(
            "an object has a byte or more",
            "choose for example \"4KiB\"",
        )),
        bytes => Ok(bytes),
    }
}

/// As the driver will have it, whatever the number of drives.
fn chunk(field: &Field<'_>) -> Result<u64> {
    let chunk = field.bytes()?;
    match Layout::new(ArrayOptions::striped(1, chunk)) {
        Ok(_) => Ok(chunk),
        Err(_) => Err(field.refuse(
            "it is a power of two from 4 KiB to 1 MiB",
            "choose \"4KiB\", \"8KiB\" … \"1MiB\"",
        )),
    }
}
