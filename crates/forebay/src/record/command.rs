// SPDX-License-Identifier: Apache-2.0
//! `forebay record`: what comes from the network onto drives: simulated ones, through the RTL, or those
//! of this machine, through its card.

use std::fs;
use std::path::Path;

use forebay_app::record::{
    self, CardSpec, Drives, LinkPartner, PartnerSpec, Recorded, SourceSpec, Summary, Written,
};
use forebay_net::pcap::Seen;
use forebay_pipeline::{Kind, Paths, Pipeline};
use serde::Serialize;

use crate::args::{BusKind, PePathArgs, RecordArgs};
use crate::failure::{Exit, Failure, Result};
use crate::report::{self, Header};
use crate::session::{Ended, Session};
use crate::{home, io};

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
pub fn run(args: &RecordArgs) -> Result<Exit> {
    let devices = (args.bus, &args.hardware, &args.consent);
    io::check_devices(devices, &args.simulated())?;
    let pipeline = pipeline(args.pipeline.as_deref(), &args.path, args.bus)?;
    if args.back.is_some() && pipeline.sink.layout == Kind::Packets {
        return Err(Failure::input(
            "--back",
            "given",
            "segments of a capture are no objects that could be sent",
            "leave it out; --extract writes the capture as a file",
        ));
    }
    if args.bus == BusKind::Sim && args.lasts.is_some() && args.tap.is_none() {
        return Err(Failure::input(
            "--for",
            "given",
            "only a recording from an interface or through a card lasts until it is ended",
            "leave it out, or add --tap NAME or --bus vfio",
        ));
    }
    match args.bus {
        BusKind::Sim => simulated(args, pipeline),
        BusKind::Vfio => on_a_card(args, pipeline),
    }
}

/// The pipeline of this file, or the one that records.
pub(super) fn pipeline(file: Option<&Path>, path: &PePathArgs, bus: BusKind) -> Result<Pipeline> {
    let root = match (file, bus) {
        // Without elements of ours a file needs no checkout: such as beside a card.
        (Some(_), BusKind::Vfio) => home::find().unwrap_or_default(),
        _ => home::find()?,
    };
    let usual = root.join("pipelines/record.toml");
    let paths = Paths::new(&root, &path.pe_path);
    Ok(Pipeline::load(file.unwrap_or(&usual), &paths)?)
}

/// Refuses options of the machine that a pipeline's file says itself.
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

/// The simulated link partner that the options describe.
fn partner(args: &RecordArgs) -> PartnerSpec {
    let source = match (&args.pcap, &args.tap) {
        (Some(path), _) => SourceSpec::Capture {
            path: path.clone(),
            flat_out: args.flat_out,
        },
        (None, Some(name)) => SourceSpec::Interface {
            name: name.clone(),
            address: args.tap_address,
            lasts: args.lasts,
        },
        (None, None) => SourceSpec::Generator {
            bytes: args.generate.unwrap_or(GENERATED),
            object: args.object,
            senders: args.streams,
        },
    };
    PartnerSpec {
        source,
        offered: args.offered,
        impairments: args.wire.impairments,
        malformed: args.wire.malformed,
        switch: args.wire.switch,
        response: args.wire.response(),
        seed: args.machine.seed,
    }
}

fn simulated(args: &RecordArgs, pipeline: Pipeline) -> Result<Exit> {
    let folder = tempfile::tempdir()
        .map_err(|error| Failure::file("making a folder in", &std::env::temp_dir(), error))?;
    let mut config = record::machine(&args.machine.spec(), &pipeline, folder.path())?;
    args.faults.apply(&mut config)?;
    make_folder(args)?;
    let written = args.pcap_out.as_deref();
    let written = written.map(Written::create).transpose()?;
    let (link_partner, network) =
        LinkPartner::connect(&partner(args), &pipeline, written.as_ref())?;
    config.network = Some(network);
    let mut session = Session::of(config, SCHEMA)?;
    let superblock = record::prepare(&mut session, &pipeline.sink, args.overwrite)?;
    let plan = record::plan(&pipeline, &superblock, args.back);
    let label = match (link_partner.is_interface(), &args.pcap) {
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
    if let Some(folder) = &args.extract {
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
fn on_a_card(args: &RecordArgs, pipeline: Pipeline) -> Result<Exit> {
    io::require_consent(&args.consent)?;
    make_folder(args)?;
    let mut options = forebay_driver::Options {
        nvme: args.hardware.ssd,
        ..forebay_driver::Options::default()
    };
    options.fpga.device = args.hardware.fpga;
    args.faults.adjust(&mut options);
    if let Some(depth) = args.machine.spec().queue_depth {
        options.queue_entries = depth as u16;
    }
    let spec = CardSpec {
        settings: args.hardware.settings([]),
        options,
        lasts: args.lasts,
    };
    let mut card = record::Card::open(&spec, &pipeline)?;
    let facts = card.facts();
    let name = format!("the drive at {}", facts.nvme.address);
    if let Err(refused) = args.consent.check(&name, Some(&facts.controller.serial)) {
        card.shut_down()?;
        return Err(refused);
    }
    let header = io::header(args.machine.seed, facts, SCHEMA);
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
        let extracted = match &args.extract {
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

fn finish(report: &Report, args: &RecordArgs, ended: Ended) -> Result<Exit> {
    let good = report.summary.wrong.is_empty() && report.source_failure.is_none();
    if !report::emit(report)? {
        super::show::show(report, args);
    }
    Ok(ended.exit(good && report.summary.is_complete()))
}

fn make_folder(args: &RecordArgs) -> Result<()> {
    let Some(folder) = &args.extract else {
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
    let path = folder.join(forebay_store::CAPTURE_NAME);
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
