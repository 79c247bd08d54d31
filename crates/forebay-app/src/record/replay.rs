// SPDX-License-Identifier: Apache-2.0
//! Objects that the drives have, found by number in the index by the recorder itself, onto the network.

use std::ops::RangeInclusive;

use forebay_driver::Replay;
use forebay_driver::record::Plan;
use forebay_model::Time;
use forebay_model::net::{Kind, Network};
use forebay_pipeline::{Pipeline, STAGES};
use forebay_spec::store::superblock::{Mode, Superblock, VERSION};
use forebay_store::Recording;
use serde::Serialize;

use super::simulated::attach;
use super::summary::ElementStatus;
use super::{Drives, setup};
use crate::failure::{Exit, Failure, Result};
use crate::progress::Progress;
use crate::session::Session;

/// What came of a replay.
#[derive(Clone, Debug, Serialize)]
pub struct Replayed {
    /// The recording.
    pub session: String,
    /// The stream whose objects are sent.
    pub stream: u16,
    /// Least and greatest number that was asked for.
    pub objects: [u64; 2],
    /// What was found and sent.
    #[serde(flatten)]
    pub sent: Sent,
    /// What elements say of themselves, those that have something to say.
    pub elements: Vec<ElementStatus>,
    /// What does not add up; nothing, as it should be.
    pub wrong: Vec<String>,
}

impl Replayed {
    /// Whether all that was asked for was sent.
    #[must_use]
    pub const fn is_good(&self) -> bool {
        self.wrong.is_empty() && self.sent.unreadable + self.sent.damaged == 0
    }
}

/// What was found and sent.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Sent {
    /// Whole objects that the recorder found, and had read and sent.
    pub found: u64,
    /// Rows with such a number that are no whole object on the drives.
    pub passed: u64,
    /// Blocks of the index that the recorder looked at.
    pub blocks: u64,
    /// Blocks that it passed over, since they are damaged.
    pub damaged: u64,
    /// Objects that could not be read to their end.
    pub unreadable: u64,
    /// Frames with data that left the port, and their bytes.
    pub frames: u64,
    /// See `frames`.
    pub frame_bytes: u64,
    /// From the order to the last frame.
    pub nanoseconds: u64,
    /// Bytes of objects in that time.
    pub gigabytes_per_second: f64,
}

/// What is wanted, and what the index has of it, as a host reads it.
struct Wanted {
    stream: u16,
    objects: RangeInclusive<u64>,
    /// Blocks of the index in which they are; none: there is none of them.
    blocks: Option<RangeInclusive<u64>>,
    /// Whole objects among them.
    whole: u64,
    /// Their bytes.
    bytes: u64,
    /// Bytes of the longest.
    longest: u64,
}

impl Wanted {
    /// Goes through the index. A row of these numbers that newer data lie on is not there for a host, but
    /// may stand in the same block: `objects` ends where those begin.
    fn find(recording: &Recording<'_>, stream: u16, range: (u64, u64)) -> Self {
        let mut wanted = Self {
            stream,
            objects: range.0..=range.1,
            blocks: None,
            whole: 0,
            bytes: 0,
            longest: 0,
        };
        let mut least = None;
        for (block, _, row) in recording.valid_rows() {
            if row.stream != stream || !wanted.objects.contains(&row.object) {
                continue;
            }
            least = least.min(Some(row.object)).or(Some(row.object));
            let first = wanted.blocks.map_or(block, |blocks| *blocks.start());
            wanted.blocks = Some(first..=block);
            if row.whole() && row.stored() {
                wanted.whole += 1;
                wanted.bytes += u64::from(row.length);
                wanted.longest = wanted.longest.max(row.length.into());
            }
        }
        wanted.objects = least.unwrap_or(range.0)..=range.1;
        wanted
    }

    /// The order for its blocks from this one on.
    fn order(&self, superblock: &Superblock, blocks: &RangeInclusive<u64>, from: u64) -> Replay {
        let page = superblock.block_at(from) - superblock.index.at;
        Replay {
            stream: self.stream,
            first: *self.objects.start(),
            last: *self.objects.end(),
            block: from as u32,
            page: ((page - superblock.unit()) / forebay_store::PAGE) as u32,
            blocks: (blocks.end() - from + 1) as u32,
        }
    }
}

/// Sends the whole objects of the pipeline's stream with these numbers, at `rate` bytes per second on the
/// wire.
///
/// # Errors
/// Where the drives have no recording of objects, or none of these numbers, or the card fails.
pub fn replay(
    session: &mut Session,
    pipeline: &Pipeline,
    objects: (u64, u64),
    rate: u64,
) -> Result<Replayed> {
    let (superblock, wanted) = look(session, pipeline, objects)?;
    let own = pipeline.results();
    if superblock.version < VERSION || superblock.schema != own {
        return Err(Failure::new(
            Exit::BadInput,
            format!(
                "the index has version {} and these columns of results: {}; the recorder of this \
                 pipeline reads version {VERSION} with these: {own}",
                superblock.version, superblock.schema
            ),
            "take the pipeline that it was recorded with; `forebay store extract` reads all of them",
        ));
    }
    let plan = setup::plan(pipeline, &superblock, Some(rate));
    let (sent, words) = send(session, &plan, &superblock, &wanted)?;
    let elements = ElementStatus::of(pipeline, words);
    let mut wrong = wrong(&wanted, &sent);
    wrong.extend(elements.iter().filter_map(|of| of.without_key(pipeline)));
    Ok(Replayed {
        session: superblock.session.to_string(),
        stream: wanted.stream,
        objects: [objects.0, objects.1],
        elements,
        wrong,
        sent,
    })
}

/// What a host sees: the recording, and where its index has the objects.
fn look(
    session: &mut Session,
    pipeline: &Pipeline,
    range: (u64, u64),
) -> Result<(Superblock, Wanted)> {
    let stream = pipeline.source.stream;
    let drives = Drives::of(&mut session.system);
    let disk = drives.open()?;
    let mut recording = Recording::open(&*disk)?;
    let superblock = *recording.superblock();
    if superblock.mode == Mode::Packets {
        return Err(Failure::new(
            Exit::BadInput,
            "the recording has packets, no objects",
            "`forebay store cat IMAGE` writes a capture, which tcpreplay sends",
        ));
    }
    if let (true, Some(key)) = (pipeline.decrypts(), setup::form(pipeline).1) {
        recording = recording.with_key(&key)?;
    }
    let wanted = Wanted::find(&recording, stream, range);
    if wanted.blocks.is_none() {
        return Err(Failure::new(
            Exit::BadInput,
            format!(
                "the recording has no object of stream {stream} from {} to {}",
                range.0, range.1
            ),
            "`forebay store ls IMAGE` lists what there is; the stream is the pipeline's",
        ));
    }
    Ok((superblock, wanted))
}

/// Has the recorder look through the blocks; returns what was sent, and what each element says; it ends with one that is damaged, and begins behind it.
fn send(
    session: &mut Session,
    plan: &Plan,
    superblock: &Superblock,
    wanted: &Wanted,
) -> Result<(Sent, [u64; STAGES])> {
    let _progress = Progress::stage("drives → wire");
    let capacity = session.namespace()?.bytes();
    let mut recorder = attach(&mut session.system, plan)?;
    recorder.of_stored(capacity)?;
    let began: Time = recorder.bus().now();
    let mut sent = Sent::default();
    if let Some(blocks) = &wanted.blocks {
        let mut from = *blocks.start();
        while from <= *blocks.end() {
            let order = wanted.order(superblock, blocks, from);
            let found = recorder.replay(&order, wanted.longest)?;
            sent.found += found.objects;
            sent.passed += found.passed;
            sent.blocks += found.blocks;
            from += found.blocks;
            if from <= *blocks.end() {
                sent.damaged += 1;
                from += 1;
            }
        }
    }
    recorder.finish_sending()?;
    let counters = recorder.recorder_counters()?;
    sent.unreadable = counters.fetches_failed;
    let system = recorder.bus();
    let wire = system.network().map(Network::counters).unwrap_or_default();
    let data = wire.transmitted.of(Kind::Good);
    let time = system.now() - began;
    (sent.frames, sent.frame_bytes) = (data.frames, data.bytes);
    sent.nanoseconds = time / 1000;
    sent.gigabytes_per_second = wanted.bytes as f64 * 1e3 / time.max(1) as f64;
    Ok((sent, counters.elements))
}

/// What the recorder found against what a host finds.
fn wrong(wanted: &Wanted, sent: &Sent) -> Vec<String> {
    let differ = sent.found != wanted.whole && sent.damaged == 0;
    let text = || {
        format!(
            "whole objects in the index: {}, found by the recorder: {}",
            wanted.whole, sent.found
        )
    };
    differ.then(text).into_iter().collect()
}
