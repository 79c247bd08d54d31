// SPDX-License-Identifier: Apache-2.0
//! What a recording comes to, and whether it adds up.

use std::collections::BTreeMap;

use forebay_driver::net_port::{FrameCount, NetCounters};
use forebay_driver::record::Counted;
use forebay_driver::recorder_port::{Events, RecorderCounters};
use forebay_model::Time;
use forebay_model::net::{Counters, Kind, WireTime};
use forebay_pipeline::{KEYLESS, Pipeline, STAGES, Way};
use forebay_spec::net::{Arrival, Place};
use forebay_spec::store::index::Row;
use serde::Serialize;

use super::{Gap, Recorded, gaps};

/// Most gaps that a report lists; all are counted.
const GAPS_MOST: usize = 1000;

/// A recording in numbers.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Frames that the MAC handed over, without check sequence.
    pub offered: Count,
    /// What the network side made of them.
    pub arrivals: Vec<Named>,
    /// What it made of those with data for us.
    pub places: Vec<Named>,
    /// Payload of frames that were delivered, in extents on the drives.
    pub stored: Count,
    /// Extents that found no room.
    pub skipped: Count,
    /// Extents that the streamer answered with an error.
    pub failed: Count,
    /// Extents that are whole objects.
    pub whole_objects: u64,
    /// Each stream of which there is anything.
    pub streams: Vec<Stream>,
    /// Frames that gaps lack.
    pub missing_frames: u64,
    /// Number of gaps.
    pub gap_count: u64,
    /// The first of them.
    pub gaps: Vec<Gap>,
    /// From the first frame that might come to the answer to the last extent.
    pub nanoseconds: u64,
    /// Payload stored in that time.
    pub gigabytes_per_second: f64,
    /// The most that was held in the memory for frames.
    pub memory_most_bytes: u64,
    /// Frames that a link which went down has cut: they are among those damaged.
    pub link_cut: u64,
    /// Frames lost on the way between the MAC's two clocks, of which one stood still.
    pub link_lost: u64,
    /// Pause, of both sides.
    pub pause: Pause,
    /// The wire from the peer, where it is simulated: share of time in which it was busy, silent by
    /// pause, or without work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wire: Option<Shares>,
    /// The switch on the way, if there is one.
    pub switch: Option<Switch>,
    /// Blocks of the index.
    pub index_blocks: u64,
    /// Rows that found no room in it.
    pub rows_lost: u64,
    /// What became of objects, where an element says so.
    pub results: Option<Results>,
    /// What the elements say of themselves, where they do.
    pub elements: Vec<ElementStatus>,
    /// Frames that we sent, by kind.
    pub sent: Vec<Named>,
    /// Objects read back, and those that could not be.
    pub fetched: [u64; 2],
    /// The drive of an array with parity that failed and was done without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<u8>,
    /// Frames still came when the recording had ended: they are counted, and none is stored.
    pub still_arriving: bool,
    /// What has happened, each of which raises the interrupt.
    pub events: Events,
    /// How often the interrupt rose, as far as the host let it in.
    pub interrupts: u64,
    /// What does not add up; nothing, as it should be.
    pub wrong: Vec<String>,
}

/// A number of things, and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    /// How many.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// A stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stream {
    /// Its number.
    pub stream: u16,
    /// Its extents, stored or not.
    pub extents: u64,
    /// Those stored that are whole objects.
    pub whole_objects: u64,
    /// Payload stored.
    pub stored_bytes: u64,
    /// Frames that its gaps lack.
    pub missing_frames: u64,
}

/// Things of one name.
#[derive(Clone, Debug, Serialize)]
pub struct Named {
    /// Its name.
    pub name: &'static str,
    /// How many, and when the last one.
    #[serde(flatten)]
    pub frames: FrameCount,
}

/// What became of pause.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Pause {
    /// Frames of ours that asked for silence.
    pub xoff: u64,
    /// Frames of ours that took it back.
    pub xon: u64,
    /// Times that our requests lasted too long and ended.
    pub ended: u64,
    /// Quanta that we were silent.
    pub obeyed_quanta: u64,
    /// Times that the watchdog gave up.
    pub storms: u64,
}

/// What an element says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ElementStatus {
    /// Its place in the pipeline.
    pub pe: usize,
    /// Its name.
    pub name: String,
    /// Its numbers, by the name that the manifest gives them.
    pub status: BTreeMap<String, u64>,
}

impl Summary {
    /// Of what was recorded through a pipeline.
    #[must_use]
    pub fn through(pipeline: &Pipeline, recorded: &Recorded) -> Self {
        let elements = ElementStatus::of(pipeline, recorded.counted.recorder.elements);
        let mut summary = Self::new(recorded);
        let failed = elements.iter().filter_map(|of| of.without_key(pipeline));
        summary.wrong.extend(failed);
        Self {
            elements,
            ..summary
        }
    }
}

impl ElementStatus {
    /// Of the elements of a pipeline that say something.
    pub(super) fn of(pipeline: &Pipeline, words: [u64; STAGES]) -> Vec<Self> {
        let stages = pipeline.pes.iter().zip(words).enumerate();
        let found = stages.map(|(pe, (stage, word))| {
            let status = stage.element.status.iter();
            Self {
                pe,
                name: stage.element.name.clone(),
                status: status
                    .map(|(name, part)| (name.clone(), part.of(word)))
                    .collect(),
            }
        });
        found.filter(|element| !element.status.is_empty()).collect()
    }

    /// What went wrong where an element that encrypts or decrypts had no key: what it gave is zeros.
    pub(super) fn without_key(&self, pipeline: &Pipeline) -> Option<String> {
        let stage = pipeline.pes.get(self.pe)?;
        let count = self.status.get(KEYLESS).filter(|count| **count > 0)?;
        let lost = match stage.way {
            Way::Back => "zeros were sent in the place of their bytes",
            _ => "all their bytes are lost",
        };
        let name = &self.name;
        (stage.element.encrypts).then(|| format!("{count} packets had no key in {name}: {lost}"))
    }
}

/// Results of objects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Results {
    /// Objects that have one.
    pub judged: u64,
    /// Objects of each class, where results have a column of this name.
    pub classes: BTreeMap<u16, u64>,
    /// Objects whose result did not come in time.
    pub late: u64,
    /// Objects that the element did not judge.
    pub unjudged: u64,
    /// Objects of which a branch with `tap = "skip"` did not see all.
    pub unseen: u64,
    /// Results for which no index record waited: most came too late.
    pub stray: u64,
}

impl Results {
    /// Of a recording that waits for them.
    fn new(recorded: &Recorded) -> Self {
        let (mut judged, mut classes) = (0, BTreeMap::new());
        for row in recorded.rows.iter().filter(|row| row.has_result()) {
            judged += 1;
            if let Some(class) = forebay_store::Results::of(&recorded.schema, row).class() {
                *classes.entry(class).or_default() += 1;
            }
        }
        Self {
            judged,
            classes,
            late: recorded.counted.recorder.results_late,
            unjudged: recorded.counted.recorder.results_unjudged,
            unseen: recorded.counted.recorder.results_unseen,
            stray: recorded.counted.recorder.results_stray,
        }
    }
}

/// What a switch did with what came from the peer.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Switch {
    /// Frames passed on to us.
    pub passed: u64,
    /// Frames dropped: damaged, too short or too long.
    pub refused: u64,
    /// Frames that found no room.
    pub overflow: u64,
    /// The most that it held of them.
    pub most_bytes: u64,
    /// Frames by which it asked the peer for silence.
    pub xoff: u64,
}

/// Parts of a time.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Shares {
    /// Frames.
    pub busy: f64,
    /// Silence that was asked for.
    pub paused: f64,
    /// Nothing to be sent.
    pub idle: f64,
}

impl Shares {
    fn of(wire: &WireTime) -> Self {
        let total = wire.total().max(1) as f64;
        let share = |time: Time| time as f64 / total;
        Self {
            busy: share(wire.busy),
            paused: share(wire.paused),
            idle: share(wire.idle),
        }
    }
}

impl Summary {
    /// Of a recording, without what its elements say.
    pub fn new(recorded: &Recorded) -> Self {
        let Recorded {
            wire,
            rows,
            counted,
            ..
        } = recorded;
        let Counted { net, recorder, .. } = counted;
        let seconds = counted.duration.as_secs_f64();
        let count = |extents: forebay_driver::recorder_port::Extents| Count {
            count: extents.extents,
            bytes: extents.bytes,
        };
        let all: Vec<Gap> = gaps(rows, recorded.began).collect();
        let mut summary = Self {
            offered: sum(&net.arrivals),
            arrivals: named(&net.arrivals, Arrival::ALL.map(Arrival::name)),
            places: named(&net.places, Place::ALL.map(Place::name)),
            stored: count(recorder.stored),
            skipped: count(recorder.skipped),
            failed: count(recorder.failed),
            whole_objects: rows
                .iter()
                .filter(|row| row.whole() && row.stored())
                .count() as u64,
            streams: streams(rows),
            missing_frames: all.iter().map(|gap| gap.frames).sum(),
            gap_count: all.len() as u64,
            gaps: all.into_iter().take(GAPS_MOST).collect(),
            nanoseconds: u64::try_from(counted.duration.as_nanos()).unwrap_or(u64::MAX),
            gigabytes_per_second: recorder.stored.bytes as f64 * 1e-9 / seconds.max(1e-12),
            memory_most_bytes: net.most * 64,
            link_cut: net.cut,
            link_lost: net.lost,
            pause: Pause {
                xoff: net.xoff,
                xon: net.xon,
                ended: net.ended,
                obeyed_quanta: net.obeyed_quanta,
                storms: net.storms,
            },
            wire: wire.map(|wire| Shares::of(&wire.peer_wire)),
            switch: wire
                .and_then(|wire| wire.switch)
                .map(|[to_us, from_peer]| Switch {
                    passed: to_us.passed.frames,
                    refused: from_peer.damaged.frames
                        + from_peer.runts.frames
                        + from_peer.giants.frames,
                    overflow: from_peer.overflow.frames,
                    most_bytes: from_peer.most,
                    xoff: from_peer.xoff,
                }),
            index_blocks: recorder.blocks,
            rows_lost: recorder.rows_lost,
            results: recorded.results.then(|| Results::new(recorded)),
            elements: Vec::new(),
            sent: sent(recorded),
            fetched: [recorder.fetched, recorder.fetches_failed],
            missing: recorded.missing,
            still_arriving: counted.still_arriving,
            events: counted.events,
            interrupts: counted.interrupts,
            wrong: Vec::new(),
        };
        summary.add_up(recorded);
        summary
    }

    /// Frames with this outcome.
    pub fn arrived(&self, arrival: Arrival) -> Count {
        count_of(&self.arrivals, arrival as usize)
    }

    /// Datagrams with this outcome.
    pub fn placed(&self, place: Place) -> Count {
        count_of(&self.places, place as usize)
    }

    /// Frames that were for us and found no room in the memory.
    pub fn lost(&self) -> Count {
        self.arrived(Arrival::Overflow)
    }

    /// All that was for us and in order is on the drives.
    pub fn is_complete(&self) -> bool {
        self.lost().count + self.link_lost + self.skipped.count + self.failed.count + self.rows_lost
            == 0
    }

    /// Each count against what it should be the sum of.
    fn add_up(&mut self, recorded: &Recorded) {
        let Recorded {
            wire,
            counted,
            rows,
            unreadable,
            ..
        } = recorded;
        let Counted { net, recorder, .. } = counted;
        // While frames come, the MAC is ahead of the counters.
        if let Some(wire) = wire.filter(|_| !counted.still_arriving) {
            self.add_up_wire(&wire, net);
        }
        let (datagrams, places) = (net.arrived(Arrival::Datagram), sum(&net.places));
        self.equal(
            "datagrams",
            datagrams.frames,
            "datagrams placed",
            places.count,
        );
        self.equal(
            "bytes of datagrams",
            datagrams.bytes,
            "bytes placed",
            places.bytes,
        );
        let RecorderCounters {
            stored,
            skipped,
            failed,
            rows_lost,
            blocks_failed,
            fetches_failed,
            ..
        } = *recorder;
        let extents = stored.extents + skipped.extents + failed.extents;
        let told = rows.len() as u64 + rows_lost;
        // Rows of a block that one drive refused are lost to the recorder, and there by the parity.
        let both = recorded.parity && blocks_failed > 0 && rows.len() as u64 <= extents;
        // In a ring newer ones lie over older ones, and over their rows.
        if !(both && told >= extents) && (!recorded.ring || told > extents) {
            self.equal("extents", extents, "rows in the index and lost", told);
        }
        let Events { error, full, .. } = counted.events;
        let failures = failed.extents + blocks_failed;
        for (event, seen, must, may) in [
            ("error", error, failures > 0, failures + fetches_failed > 0),
            (
                "full",
                full,
                skipped.extents > 0 || rows_lost > 0 && blocks_failed == 0,
                skipped.extents + rows_lost > 0,
            ),
        ] {
            if must && !seen || seen && !may {
                let seen = if seen { "was" } else { "was not" };
                let text = format!("the event `{event}` {seen} raised, against the counters");
                self.wrong.push(text);
            }
        }
        // Blocks of the index that were given up are missing.
        if unreadable.len() as u64 > blocks_failed {
            self.wrong.extend_from_slice(unreadable);
        }
    }

    fn add_up_wire(&mut self, wire: &Counters, net: &NetCounters) {
        let handed = wire.delivered.total() + wire.cut;
        let dropped = wire.fragments + wire.overrun;
        self.equal(
            "frames at the MAC",
            handed.frames - dropped.frames,
            "frames counted",
            self.offered.count,
        );
        self.equal("frames cut", wire.cut.frames, "told as cut", net.cut);
        // Of a giant of more than 16383 bytes the RTL counts 16383.
        let bytes = handed.bytes - dropped.bytes;
        let short = bytes > self.offered.bytes && net.arrived(Arrival::Giant).frames > 0;
        if !short {
            self.equal(
                "bytes at the MAC",
                bytes,
                "bytes counted",
                self.offered.bytes,
            );
        }
    }

    fn equal(&mut self, what: &str, one: u64, other: &str, two: u64) {
        if one != two {
            self.wrong.push(format!("{what}: {one}, {other}: {two}"));
        }
    }
}

fn streams(rows: &[Row]) -> Vec<Stream> {
    let mut streams: BTreeMap<u16, Stream> = BTreeMap::new();
    for row in rows {
        let stream = streams.entry(row.stream).or_default();
        stream.stream = row.stream;
        stream.extents += 1;
        stream.missing_frames += u64::from(row.missing);
        if row.stored() {
            stream.whole_objects += u64::from(row.whole());
            stream.stored_bytes += u64::from(row.length);
        }
    }
    streams.into_values().collect()
}

fn sum(all: &[FrameCount]) -> Count {
    all.iter().fold(Count::default(), |sum, one| Count {
        count: sum.count + one.frames,
        bytes: sum.bytes + one.bytes,
    })
}

fn count_of(named: &[Named], number: usize) -> Count {
    named
        .get(number)
        .map_or_else(Count::default, |named| Count {
            count: named.frames.frames,
            bytes: named.frames.bytes,
        })
}

fn named<const N: usize>(all: &[FrameCount], names: [&'static str; N]) -> Vec<Named> {
    let pairs = names.into_iter().zip(all);
    pairs
        .map(|(name, &frames)| Named { name, frames })
        .collect()
}

fn sent(recorded: &Recorded) -> Vec<Named> {
    let transmitted = recorded.wire.unwrap_or_default().transmitted;
    let kinds = Kind::ALL.into_iter();
    kinds
        .map(|kind| {
            let of = transmitted.of(kind);
            let frames = FrameCount {
                frames: of.frames,
                bytes: of.bytes,
                last: 0,
            };
            Named {
                name: kind.name(),
                frames,
            }
        })
        .filter(|named| named.frames.frames > 0)
        .collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use forebay_pipeline::Paths;

    use super::*;

    #[test]
    fn packets_without_a_key_went_wrong() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let element = "[[pe]]\nname = \"aes_ctr\"\nkey = { file = \"key\" }\n";
        let path = folder.path().join("x.toml");
        let text = format!("{element}{element}direction = \"back\"\n");
        std::fs::write(&path, text).expect("written");
        std::fs::write(folder.path().join("key"), [1; 16]).expect("written");
        let pipeline = Pipeline::load(&path, &Paths::new(&root, &[])).expect("good");
        let said = |words| {
            let elements = ElementStatus::of(&pipeline, words);
            let said = elements.iter().filter_map(|of| of.without_key(&pipeline));
            said.collect::<Vec<_>>()
        };
        let zero = [0; STAGES];
        assert!(said(zero).is_empty());
        let mut words = zero;
        (words[0], words[1]) = (3, 5);
        let said = said(words);
        assert_eq!(said.len(), 2);
        assert!(said[0].starts_with("3 packets had no key in aes_ctr: all"));
        assert!(said[1].starts_with("5 packets had no key in aes_ctr: zeros were sent"));
    }
}
