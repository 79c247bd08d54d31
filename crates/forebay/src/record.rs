// SPDX-License-Identifier: Apache-2.0
//! `forebay record` and `forebay replay`: what comes from the network onto drives, simulated ones or
//! those of this machine, and objects on them back onto the network.

use std::path::Path;

use forebay_app::home;
use forebay_app::record::{
    self, CardSpec, Outputs, PartnerSpec, Report, SimulatedSpec, SourceSpec,
};
use forebay_pipeline::{Kind, Paths, Pipeline};

use crate::args::{BusKind, PePathArgs, RecordArgs, ReplayArgs};
use crate::failure::{Exit, Failure, Result};
use crate::io;
use crate::report;

/// Bytes of a pattern where no other source is named.
pub const GENERATED: u64 = 64 << 20;
/// Options of the machine that the pipeline's file has in its own words.
const IN_FILE: [&str; 14] = [
    "profile", "memory", "buffer", "dram", "refresh", "channels", "rtl", "top", "drives", "chunk",
    "linear", "parity", "missing", "medium",
];

/// Records.
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
    if args.back.is_some() {
        note_what_is_sent(&pipeline);
    }
    let outputs = Outputs {
        back: args.back,
        pcap_out: args.pcap_out.clone(),
        extract: args.extract.clone(),
    };
    let (report, ended) = match args.bus {
        BusKind::Sim => {
            let spec = SimulatedSpec {
                machine: args.machine.spec(),
                partner: partner(args),
                overwrite: args.overwrite,
                outputs,
            };
            let ready = || eprintln!("listening; Ctrl-C ends the recording");
            record::simulated(&spec, pipeline, |config| args.faults.apply(config), ready)?
        }
        BusKind::Vfio => on_a_card(args, pipeline, outputs)?,
    };
    if !report.closed {
        eprintln!(
            "warning: the recording stays open: parts of it cannot be read; try `forebay store repair` later"
        );
    }
    report::show(&report, || report.page())?;
    ended.exit(report.is_good())
}

/// Records through a card of this machine.
fn on_a_card(
    args: &RecordArgs,
    pipeline: Pipeline,
    outputs: Outputs,
) -> Result<(Report, forebay_app::Ended)> {
    args.consent.require()?;
    let mut options = args.hardware.options(args.machine.spec().queue_depth);
    args.faults.adjust(&mut options);
    let spec = CardSpec {
        settings: args.hardware.settings([]),
        options,
        lasts: args.lasts,
    };
    let consent = |drive: &str, serial: &str| args.consent.check(drive, Some(serial));
    let ready = || eprintln!("recording; Ctrl-C ends it");
    record::on_a_card(
        &spec,
        pipeline,
        (args.machine.seed, outputs),
        consent,
        ready,
    )
}

/// Plays a recording.
pub fn replay(args: &ReplayArgs) -> Result<Exit> {
    let pipeline = pipeline(Some(&args.pipeline), &args.path, BusKind::Sim)?;
    let (machine, pcap_out) = (args.machine.spec(), args.pcap_out.as_deref());
    note_what_is_sent(&pipeline);
    let report = record::play(&machine, &pipeline, args.objects, args.rate, pcap_out)?;
    report::show(&report, || report.page())?;
    Ok(match report.replayed.is_good() {
        true => Exit::Good,
        false => Exit::BadResult,
    })
}

/// Says that what is sent of a recording is not decrypted.
fn note_what_is_sent(pipeline: &Pipeline) {
    if pipeline.key().is_some() && !pipeline.decrypts() {
        eprintln!(
            "note: the pipeline encrypts objects, and what is sent of them is not decrypted; an element with direction = \"back\" does that"
        );
    }
}

/// The pipeline of this file, or the one that records.
fn pipeline(file: Option<&Path>, path: &PePathArgs, bus: BusKind) -> Result<Pipeline> {
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
        _ if !args.files.is_empty() => SourceSpec::Files {
            paths: args.files.clone(),
        },
        (Some(path), _) => SourceSpec::Capture {
            path: path.clone(),
            flat_out: args.flat_out,
        },
        (None, Some(name)) => SourceSpec::Interface {
            name: name.clone(),
            addresses: args.tap_address.clone(),
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
        flaps: args.wire.flaps(),
        seed: args.machine.seed,
    }
}
