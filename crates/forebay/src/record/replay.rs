// SPDX-License-Identifier: Apache-2.0
//! `forebay replay`: objects that the drives have, found by number in the index by
//! the recorder itself, onto the network.

use std::ops::RangeInclusive;

use forebay_driver::Replay;
use forebay_model::Time;
use forebay_model::net::{Frames, Network, Peer};
use forebay_spec::store::superblock::{Mode, Superblock};
use forebay_store::{Entry, Recording};
use serde::Serialize;

use super::setup;
use super::wire::{Listeners, Written};
use super::{Drives, Plan, Recorder};
use crate::args::ReplayArgs;
use crate::failure::{Exit, Failure, Result};
use crate::progress::Progress;
use crate::render::{self, Page};
use crate::report::{self, Header};
use crate::session::{Ended, Session};

/// Kind and version of the report.
const SCHEMA: &str = "forebay.replay/1";

/// What is reported.
#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    header: Header,
    /// The recording.
    session: String,
    /// The stream whose objects are sent.
    stream: u16,
    /// Least and greatest number that was asked for.
    objects: [u64; 2],
    /// What came of it.
    #[serde(flatten)]
    sent: Sent,
    /// What does not add up; nothing, as it should be.
    wrong: Vec<String>,
}

impl Report {
    const fn is_good(&self) -> bool {
        self.wrong.is_empty() && self.sent.unreadable + self.sent.damaged == 0
    }
}

/// What was found and sent.
#[derive(Clone, Debug, Default, Serialize)]
struct Sent {
    /// Whole objects that the recorder found, and had read and sent.
    found: u64,
    /// Rows with such a number that are no whole object on the drives.
    passed: u64,
    /// Blocks of the index that the recorder looked at.
    blocks: u64,
    /// Blocks that it passed over, since they are damaged.
    damaged: u64,
    /// Objects that could not be read to their end.
    unreadable: u64,
    /// Frames with data that left the port, and their bytes.
    frames: u64,
    /// See `frames`.
    frame_bytes: u64,
    /// From the order to the last frame.
    nanoseconds: u64,
    /// Bytes of objects in that time.
    gigabytes_per_second: f64,
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
    fn find(recording: &Recording<'_, Drives<'_>>, stream: u16, range: (u64, u64)) -> Self {
        let mut wanted = Self {
            stream,
            objects: range.0..=range.1,
            blocks: None,
            whole: 0,
            bytes: 0,
            longest: 0,
        };
        let mut least = None;
        for entry in recording.rows() {
            let Entry::Row {
                block,
                row,
                wrong: None,
                ..
            } = entry
            else {
                continue;
            };
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
            page: (page / forebay_store::PAGE) as u32 - 1,
            blocks: (blocks.end() - from + 1) as u32,
        }
    }
}

/// Runs it.
pub fn run(args: &ReplayArgs) -> Result<Exit> {
    let (pipeline, range) = (
        &setup::pipeline(Some(&args.pipeline), &args.path)?,
        args.objects,
    );
    let folder = tempfile::tempdir()
        .map_err(|error| Failure::file("making a folder in", &std::env::temp_dir(), error))?;
    let mut config = setup::machine(args.machine.spec(), pipeline, folder.path())?;
    let written = args.pcap_out.as_deref();
    let written = written.map(Written::create).transpose()?;
    let mut network = Network::new(
        setup::network(pipeline, Peer::default(), false),
        Box::new(Frames::new([])),
    )?;
    let listeners = written.clone().into_iter();
    network.set_tap(Box::new(Listeners(
        listeners.map(|each| Box::new(each) as _).collect(),
    )));
    config.network = Some(network);
    let mut session = Session::of(config, SCHEMA)?;
    let (superblock, wanted) = look(&mut session, pipeline.source.stream, range)?;
    let plan = setup::plan(pipeline, &superblock, args.rate.or(Some(setup::LINE_RATE)));
    let sent = send(&mut session, &plan, &superblock, &wanted)?;
    if let Some(written) = &written {
        written.finish()?;
    }
    let report = Report {
        header: session.header(&Ended::Done),
        session: superblock.session.to_string(),
        stream: wanted.stream,
        objects: [range.0, range.1],
        wrong: wrong(&wanted, &sent),
        sent,
    };
    session.shut_down()?;
    let good = report.is_good();
    if !report::emit(&report)? {
        show(&report, args);
    }
    Ok(Ended::Done.exit(good))
}

/// What a host sees: the recording, and where its index has the objects.
fn look(session: &mut Session, stream: u16, range: (u64, u64)) -> Result<(Superblock, Wanted)> {
    let drives = Drives::of(session)?;
    let recording = Recording::open(&drives)?;
    let superblock = *recording.superblock();
    if superblock.mode == Mode::Packets {
        return Err(Failure::new(
            Exit::BadInput,
            "the recording has packets, no objects",
            "`forebay store cat IMAGE` writes a capture, which tcpreplay sends",
        ));
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

/// Has the recorder look through the blocks; it ends with one that is damaged, and begins behind it.
fn send(
    session: &mut Session,
    plan: &Plan,
    superblock: &Superblock,
    wanted: &Wanted,
) -> Result<Sent> {
    let mut recorder = Recorder::of_stored(session, plan)?;
    let _progress = Progress::stage("drives → wire");
    let port = recorder.port.clone();
    let system = &mut recorder.session.system;
    let began: Time = system.now();
    let mut sent = Sent::default();
    if let Some(blocks) = &wanted.blocks {
        let mut from = *blocks.start();
        while from <= *blocks.end() {
            port.replay(system, &wanted.order(superblock, blocks, from))?;
            let found = port.finish_replay(system, plan.patience(wanted.longest))?;
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
    let wire = recorder.settle()?;
    let system = &mut recorder.session.system;
    let data = wire.transmitted.of(forebay_model::net::Kind::Good);
    let time = system.now() - began;
    sent.unreadable = port.counters(system)?.fetches_failed;
    (sent.frames, sent.frame_bytes) = (data.frames, data.bytes);
    sent.nanoseconds = time / 1000;
    sent.gigabytes_per_second = wanted.bytes as f64 * 1e3 / time.max(1) as f64;
    Ok(sent)
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

fn show(report: &Report, args: &ReplayArgs) {
    let sent = &report.sent;
    let mut page = Page::new("Forebay replay: from flash to the network");
    page.field("recording", report.session.clone());
    page.field(
        "asked for",
        format!(
            "objects {} to {} of stream {}",
            report.objects[0], report.objects[1], report.stream
        ),
    );
    page.field(
        "found",
        format!(
            "{} objects in {} blocks of the index",
            render::count(sent.found),
            render::count(sent.blocks)
        ),
    );
    for (name, count, what) in [
        ("passed over", sent.passed, "rows that are no whole object"),
        ("damaged", sent.damaged, "blocks of the index"),
        ("unreadable", sent.unreadable, "objects, which ended early"),
    ] {
        if count > 0 {
            page.field(name, format!("{} {what}", render::count(count)));
        }
    }
    page.field(
        "sent",
        format!(
            "{} frames, {}",
            render::count(sent.frames),
            render::bytes(sent.frame_bytes)
        ),
    );
    page.field(
        "rate",
        format!(
            "{:.2} GB/s of payload over {}",
            sent.gigabytes_per_second,
            render::seconds(sent.nanoseconds as f64 * 1e-9)
        ),
    );
    if let Some(path) = &args.pcap_out {
        page.field("capture", format!("written to {}", path.display()));
    }
    let good = report.is_good();
    let verdict = ["not all were sent", "all were sent"][usize::from(good)];
    page.verdict(good, verdict);
    for wrong in &report.wrong {
        page.line(format!("  {wrong}"));
    }
    page.print();
}
