// SPDX-License-Identifier: Apache-2.0
//! `forebay run PIPELINE`: what comes from the network onto drives: simulated ones, through the RTL, or
//! those of this machine, through its card.

use std::fs;
use std::path::Path;

use forebay_app::record::{
    self, CardSpec, Drives, LinkPartner, PartnerSpec, Recorded, SourceSpec, Summary, Written,
};
use forebay_net::pcap::Seen;
use forebay_pipeline::{Kind, Paths, Pipeline};
use serde::Serialize;

use crate::args::{BusKind, RunArgs, values};
use crate::failure::{Exit, Failure, Result};
use crate::home;
use crate::report::{self, Header};
use crate::session::{Ended, Session};
use crate::store::CAPTURE;

/// Kind and version of the report.
const SCHEMA: &str = "forebay.record/1";
/// Bytes of a pattern where no other source is named.
pub const GENERATED: u64 = 64 << 20;
/// Options of the machine that the pipeline's file has in its own words.
const IN_FILE: [&str; 15] = [
    "profile", "reorder", "memory", "buffer", "dram", "refresh", "channels", "rtl", "top",
    "drives", "chunk", "apart", "parity", "missing", "medium",
];

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

/// Runs it.
///
/// # Errors
/// Where a file, the RTL, a device, the pipeline or the bring-up fails.
pub fn run(args: &RunArgs) -> Result<Exit> {
    let pipeline = pipeline(args)?;
    check(args, &pipeline)?;
    match (args.bus, args.record.replay) {
        (BusKind::Vfio, _) => on_a_card(args, pipeline),
        (BusKind::Sim, Some(objects)) => super::replay::run(args, &pipeline, objects),
        (BusKind::Sim, None) => simulated(args, pipeline),
    }
}

/// The pipeline that the options name, or the one that records.
fn pipeline(args: &RunArgs) -> Result<Pipeline> {
    let own = &args.record.path.pe_path;
    match &args.record.pipeline {
        // Without elements of ours a file needs no checkout: such as beside a card.
        Some(file) if args.bus == BusKind::Vfio => {
            let root = home::find().unwrap_or_default();
            Ok(Pipeline::load(file, &Paths::new(&root, own))?)
        }
        Some(file) => Ok(Pipeline::load(file, &Paths::new(&home::find()?, own))?),
        None => {
            let root = home::find()?;
            let usual = root.join("pipelines/record.toml");
            Ok(Pipeline::load(&usual, &Paths::new(&root, own))?)
        }
    }
}

/// Refuses options of the machine that a pipeline's file says itself.
///
/// # Errors
/// Names the first such option.
pub fn check_given(given: &[&str]) -> Result<()> {
    match given.iter().find(|name| IN_FILE.contains(name)) {
        None => Ok(()),
        Some(option) => Err(Failure::input(
            &format!("--{option}"),
            "given",
            "a pipeline's file says that itself",
            "change it there, in [buffer], [[ssd]] or [sink]",
        )),
    }
}

/// Refuses options that contradict the pipeline, or each other.
fn check(args: &RunArgs, pipeline: &Pipeline) -> Result<()> {
    if args.bus == BusKind::Sim {
        let medium = args.medium.is_some().then_some("medium");
        let given: Vec<_> = args.machine.given.iter().copied().chain(medium).collect();
        check_given(&given)?;
    }
    if args.record.back.is_some() && pipeline.sink.layout == Kind::Packets {
        return Err(Failure::input(
            "--back",
            "given",
            "chunks of a capture are no objects that could be sent",
            "leave it out; --extract writes the capture as a file",
        ));
    }
    if args.bus == BusKind::Sim && args.record.seconds.is_some() && args.record.tap.is_none() {
        return Err(Failure::input(
            "--for",
            "given",
            "only a recording from an interface or through a card lasts until it is ended",
            "leave it out, or add --tap NAME or --bus vfio",
        ));
    }
    crate::run::check_options(args)
}

/// The simulated link partner that the options describe.
pub(super) fn partner(args: &RunArgs) -> PartnerSpec {
    let record = &args.record;
    let source = match (&record.pcap, &record.tap) {
        (Some(path), _) => SourceSpec::Capture {
            path: path.clone(),
            flat_out: record.flat_out,
        },
        (None, Some(name)) => SourceSpec::Interface {
            name: name.clone(),
            address: record.tap_address,
            seconds: record.seconds,
        },
        (None, None) => SourceSpec::Generator {
            bytes: record.generate.unwrap_or(GENERATED),
            object: record.object,
            senders: record.streams,
        },
    };
    PartnerSpec {
        source,
        offered: record.offered,
        impairments: record.mishaps,
        malformed: record.garbage,
        switch: record.switch,
        response: (!record.peer_ignores).then_some(record.peer_response),
        seed: args.machine.seed,
    }
}

fn simulated(args: &RunArgs, pipeline: Pipeline) -> Result<Exit> {
    let folder = tempfile::tempdir()
        .map_err(|error| Failure::file("making a folder in", &std::env::temp_dir(), error))?;
    let mut config = record::machine(&args.machine, &pipeline, folder.path())?;
    config.stalls = values::stalls(&args.stall);
    config.faults = values::faults(&args.fault, 0);
    for (number, drive) in (1..).zip(&mut config.more_drives) {
        drive.faults = values::faults(&args.fault, number);
    }
    make_folder(args)?;
    let written = args.record.pcap_out.as_deref();
    let written = written.map(Written::create).transpose()?;
    let (link_partner, network) =
        LinkPartner::connect(&partner(args), &pipeline, written.as_ref())?;
    config.network = Some(network);
    let mut session = Session::of(config, SCHEMA)?;
    let superblock = record::prepare(&mut session, &pipeline.sink, args.record.overwrite)?;
    let plan = record::plan(&pipeline, &superblock, args.record.back);
    let label = match (link_partner.is_interface(), &args.record.pcap) {
        (true, _) => "recording from the interface, Ctrl-C ends it",
        (_, Some(_)) => "capture → drives",
        _ => "wire → drives",
    };
    if link_partner.is_interface() {
        eprintln!("listening; Ctrl-C ends the recording");
    }
    let (recorded, ended) = record::simulate(&mut session, &plan, label, link_partner.bytes)?;
    let network = session.system.network();
    let failure = network.and_then(forebay_model::net::Network::source_failure);
    let mut report = Report {
        header: session.header(&ended),
        pipeline,
        summary: Summary::new(&recorded),
        capture: link_partner.capture(),
        source_failure: failure.map(ToString::to_string),
        dropped_by_linux: link_partner.dropped_by_linux()?,
        extracted: 0,
    };
    if let Some(folder) = &args.record.extract {
        report.extracted = match report.pipeline.sink.layout == Kind::Packets {
            true => extract_capture(&Drives::of(&mut session)?, folder)?,
            false => extract(&recorded, &report.pipeline, folder, |address, bytes| {
                session.stored(address, bytes)
            })?,
        };
    }
    warn_if_open(record::close(&Drives::of(&mut session)?)?);
    if let Some(written) = &written {
        written.finish()?;
    }
    let good = report.summary.wrong.is_empty() && report.source_failure.is_none();
    if ended.is_done() && good {
        session.shut_down()?;
    }
    finish(&report, args, ended)
}

/// Records through a card of this machine, until Ctrl-C or for as long as was asked.
fn on_a_card(args: &RunArgs, pipeline: Pipeline) -> Result<Exit> {
    make_folder(args)?;
    let mut options = forebay_driver::Options {
        nvme: args.hardware.ssd,
        ..forebay_driver::Options::default()
    };
    options.fpga.device = args.hardware.fpga;
    crate::run::adjust_driver(args, &mut options);
    if let Some(depth) = args.machine.queue_depth {
        options.queue_entries = depth as u16;
    }
    let spec = CardSpec {
        settings: args.hardware.settings([]),
        options,
        overwrite: args.record.overwrite,
        seconds: args.record.seconds,
    };
    let mut card = record::Card::open(&spec, &pipeline)?;
    let header = crate::run::header(args, card.facts(), SCHEMA);
    let superblock = card.prepare(&pipeline)?;
    eprintln!("recording; Ctrl-C ends it");
    let (recorded, ended) = card.record(&pipeline, &superblock)?;
    let mut report = Report {
        header: Header {
            interrupted: matches!(ended, Ended::Interrupted),
            ..header
        },
        summary: Summary::new(&recorded),
        pipeline,
        capture: None,
        source_failure: None,
        dropped_by_linux: None,
        extracted: 0,
    };
    let (extracted, closed) = card.with_drive(|drive| {
        let extracted = match &args.record.extract {
            None => 0,
            Some(folder) if report.pipeline.sink.layout == Kind::Packets => {
                extract_capture(drive, folder)?
            }
            Some(folder) => extract(&recorded, &report.pipeline, folder, |address, bytes| {
                let mut data = vec![0; bytes];
                let read = forebay_store::Disk::read_at(drive, address, &mut data);
                read.map_err(|error| Failure::file("reading for", folder, error))?;
                Ok(data)
            })?,
        };
        Ok((extracted, record::close(drive)?))
    })?;
    report.extracted = extracted;
    warn_if_open(closed);
    card.shut_down()?;
    finish(&report, args, ended)
}

fn finish(report: &Report, args: &RunArgs, ended: Ended) -> Result<Exit> {
    let good = report.summary.wrong.is_empty() && report.source_failure.is_none();
    if !report::emit(report, args.report.json.as_deref())? {
        super::show::show(report, args);
    }
    Ok(ended.exit(good && report.summary.is_complete()))
}

fn make_folder(args: &RunArgs) -> Result<()> {
    let Some(folder) = &args.record.extract else {
        return Ok(());
    };
    fs::create_dir_all(folder).map_err(|error| Failure::file("making", folder, error))
}

fn warn_if_open(closed: bool) {
    if !closed {
        eprintln!(
            "warning: the recording stays open: parts of it cannot be read; try `forebay store repair` later"
        );
    }
}

/// Writes a capture as a file of a folder; returns how many that is.
fn extract_capture(drives: &impl forebay_store::Disk, folder: &Path) -> Result<u64> {
    let recording = forebay_store::Recording::open(drives)?;
    let path = folder.join(CAPTURE);
    let mut file =
        fs::File::create(&path).map_err(|error| Failure::file("writing", &path, error))?;
    recording.write_capture(&mut file)?;
    Ok(1)
}

/// Stores each whole object as a file; returns how many.
fn extract(
    recorded: &Recorded,
    pipeline: &Pipeline,
    folder: &Path,
    stored: impl Fn(u64, usize) -> Result<Vec<u8>>,
) -> Result<u64> {
    let mut count = 0;
    for row in recorded
        .rows
        .iter()
        .filter(|row| row.whole() && row.stored())
    {
        let bytes = stored(row.address, row.length as usize)?;
        let stream = match pipeline.source.streams > 1 {
            true => format!("stream-{}-", row.stream),
            false => String::new(),
        };
        let path = folder.join(format!("{stream}object-{}.bin", row.object));
        fs::write(&path, bytes).map_err(|error| Failure::file("writing", &path, error))?;
        count += 1;
    }
    Ok(count)
}
