// SPDX-License-Identifier: Apache-2.0
//! `forebay record`: what comes from the network onto simulated drives, through the RTL.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use forebay_model::net::{Disorder, Flow, Garbage, Network, Paced, Source, Tap as Listener};
use forebay_net::pcap::Seen;
use forebay_net::tap::{Setup, Tap};
use forebay_pipeline::{Kind, Pipeline};
use serde::Serialize;

use super::setup;
use super::summary::Summary;
use super::wire::{Captured, Interface, Listeners, Written};
use super::{Plan, Recorded, Recorder};
use crate::args::RecordArgs;
use crate::failure::{Exit, Failure, Result};
use crate::report::{self, Header};
use crate::session::{Ended, Session};

/// Kind and version of the report.
const SCHEMA: &str = "forebay.record/1";
/// Frames that wait in Linux while the simulation is slower than who sends.
const QUEUE: u32 = 100_000;
/// Bytes of a pattern where no other source is named.
const GENERATED: u64 = 64 << 20;

/// What is reported.
#[derive(Serialize)]
pub(super) struct Report {
    #[serde(flatten)]
    pub header: Header,
    /// The pipeline, with all defaults.
    pub pipeline: Pipeline,
    /// What came of it.
    #[serde(flatten)]
    pub summary: Summary,
    /// What was in the capture.
    pub capture: Option<Seen>,
    /// Why the source ended before its time.
    pub source_failure: Option<String>,
    /// Frames that Linux dropped before they reached the interface.
    pub dropped_by_linux: Option<u64>,
    /// Objects stored as files.
    pub extracted: u64,
}

/// What stands at the other end, and what is asked of it afterwards.
struct Beyond {
    source: Box<dyn Source>,
    bytes: Option<u64>,
    capture: Option<Arc<Mutex<Seen>>>,
    interface: Option<Interface>,
    written: Option<Written>,
}

impl Beyond {
    fn new(args: &RecordArgs, pipeline: &Pipeline) -> Result<Self> {
        let mut beyond = Self {
            source: Box::new(forebay_model::net::Frames::new([])),
            bytes: None,
            capture: None,
            interface: None,
            written: args.pcap_out.as_deref().map(Written::create).transpose()?,
        };
        if let Some(path) = &args.pcap {
            let captured = Captured::open(path, args.flat_out)?;
            beyond.capture = Some(captured.seen());
            beyond.source = Box::new(captured);
        } else if let Some(name) = &args.tap {
            let tap = Tap::open(&Setup {
                name: name.clone(),
                mtu: pipeline.source.mtu as u16,
                queue: QUEUE,
                address: Some(args.tap_address),
            })?;
            let interface = Interface::new(tap, args.lasts);
            beyond.source = Box::new(interface.clone());
            beyond.interface = Some(interface);
        } else {
            let bytes = args.generate.unwrap_or(GENERATED);
            let senders = setup::senders(args, pipeline)?;
            beyond.source = senders.source(bytes)?;
            beyond.bytes = Some(bytes);
        }
        beyond.source = troubled(beyond.source, args, pipeline)?;
        Ok(beyond)
    }

    fn listeners(&self) -> Vec<Box<dyn Listener>> {
        let interface = self
            .interface
            .clone()
            .map(|it| Box::new(it) as Box<dyn Listener>);
        let written = self
            .written
            .clone()
            .map(|it| Box::new(it) as Box<dyn Listener>);
        interface.into_iter().chain(written).collect()
    }
}

/// A source with all that the options do to its frames.
fn troubled(
    mut source: Box<dyn Source>,
    args: &RecordArgs,
    pipeline: &Pipeline,
) -> Result<Box<dyn Source>> {
    let (wire, seed) = (&args.wire, args.machine.seed);
    if wire.impairments > 0 {
        source = Box::new(Disorder::by_chance(source, seed, wire.impairments));
    }
    if wire.malformed > 0 {
        let limit = setup::net(pipeline).frame_bytes;
        let flow = pipeline.source.class.map_or(Flow::Link, Flow::Class);
        let garbage = Garbage::new(source, seed, wire.malformed, limit.into())?;
        source = Box::new(garbage.with_flow(flow));
    }
    if let Some(rate) = args.offered {
        source = Box::new(Paced::new(source, rate)?);
    }
    Ok(source)
}

/// Runs it.
pub fn run(args: &RecordArgs) -> Result<Exit> {
    let pipeline = setup::pipeline(args.pipeline.as_deref(), &args.path)?;
    if args.back.is_some() && pipeline.sink.layout == Kind::Packets {
        return Err(Failure::input(
            "--back",
            "given",
            "segments of a capture are no objects that could be sent",
            "leave it out; --extract writes the capture as a file",
        ));
    }
    let folder = tempfile::tempdir()
        .map_err(|error| Failure::file("making a folder in", &std::env::temp_dir(), error))?;
    let mut config = setup::machine(args.machine.spec(), &pipeline, folder.path())?;
    args.faults.apply(&mut config)?;
    if let Some(folder) = &args.extract {
        fs::create_dir_all(folder).map_err(|error| Failure::file("making", folder, error))?;
    }
    let mut beyond = Beyond::new(args, &pipeline)?;
    let source = std::mem::replace(
        &mut beyond.source,
        Box::new(forebay_model::net::Frames::new([])),
    );
    let mut network = Network::new(
        setup::network(&pipeline, args.wire.partner(), args.wire.switch),
        source,
    )?;
    network.set_tap(Box::new(Listeners(beyond.listeners())));
    config.network = Some(network);
    let mut session = Session::of(config, SCHEMA)?;
    let superblock = super::prepare(&mut session, &pipeline.sink, args.overwrite)?;
    let plan = setup::plan(&pipeline, &superblock, args.back);
    let (recorded, ended) = record(&mut session, &plan, &beyond)?;
    let mut report = Report {
        header: session.header(&ended),
        pipeline,
        summary: Summary::new(&recorded),
        capture: beyond
            .capture
            .map(|seen| seen.lock().unwrap_or_else(PoisonError::into_inner).clone()),
        source_failure: session
            .system
            .network()
            .and_then(Network::source_failure)
            .map(ToString::to_string),
        dropped_by_linux: beyond
            .interface
            .as_ref()
            .map(Interface::dropped)
            .transpose()?,
        extracted: 0,
    };
    if let Some(folder) = &args.extract {
        let several = report.pipeline.source.streams > 1;
        report.extracted = match report.pipeline.sink.layout == Kind::Packets {
            true => super::drives::extract_capture(&mut session, folder)?,
            false => extract(&session, &recorded, folder, several)?,
        };
    }
    super::drives::close(&mut session)?;
    if let Some(written) = &beyond.written {
        written.finish()?;
    }
    let good = report.summary.wrong.is_empty() && report.source_failure.is_none();
    if ended.is_done() && good {
        session.shut_down()?;
    }
    if !report::emit(&report)? {
        super::show::show(&report, args);
    }
    Ok(ended.exit(good && report.summary.is_complete()))
}

fn record(session: &mut Session, plan: &Plan, beyond: &Beyond) -> Result<(Recorded, Ended)> {
    let label = match (&beyond.interface, &beyond.capture) {
        (Some(_), _) => "recording from the interface, Ctrl-C ends it",
        (_, Some(_)) => "capture → drives",
        _ => "wire → drives",
    };
    if beyond.interface.is_some() {
        eprintln!("listening; Ctrl-C ends the recording");
    }
    let mut recorder = Recorder::new(session, plan)?;
    let (mut recorded, ended) = recorder.run(label, beyond.bytes)?;
    if plan.back.is_some() && ended.is_done() {
        recorder.send_back(&mut recorded)?;
    }
    Ok((recorded, ended))
}

/// Stores each whole object as a file.
fn extract(session: &Session, recorded: &Recorded, folder: &Path, several: bool) -> Result<u64> {
    let mut count = 0;
    for row in recorded
        .rows
        .iter()
        .filter(|row| row.whole() && row.stored())
    {
        let bytes = session.stored(row.address, row.length as usize)?;
        let stream = match several {
            true => format!("stream-{}-", row.stream),
            false => String::new(),
        };
        let path = folder.join(format!("{stream}object-{}.bin", row.object));
        fs::write(&path, bytes).map_err(|error| Failure::file("writing", &path, error))?;
        count += 1;
    }
    Ok(count)
}
