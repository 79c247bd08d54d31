// SPDX-License-Identifier: Apache-2.0
//! A recording from beginning to end: prepared, recorded, extracted, closed, reported.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use forebay_cosim::Config;
use forebay_model::net::Network;
use forebay_net::pcap::Seen;
use forebay_pipeline::{Kind, Pipeline};
use forebay_store::Disk;
use serde::Serialize;

use super::{
    Card, CardSpec, Drives, FilesReport, LINE_RATE, LinkPartner, PartnerSpec, Recorded, Replayed,
    SourceSpec, Summary, Written, close, form, machine, plan, prepare, replay, simulate,
};
use crate::failure::{Failure, Result};
use crate::io;
use crate::machine::MachineSpec;
use crate::report::Header;
use crate::session::{Ended, Session};
use crate::traffic::Traffic;

/// Kind and version of the report of a recording.
const SCHEMA: &str = "forebay.record/1";
/// Kind and version of the report of a replay.
const REPLAY_SCHEMA: &str = "forebay.replay/1";

/// What is wanted of a recording besides what is on the drives.
#[derive(Clone, Debug, Default)]
pub struct Outputs {
    /// What was recorded is sent back at this many bytes per second on the wire.
    pub back: Option<u64>,
    /// A capture of each frame that passes the port.
    pub pcap_out: Option<PathBuf>,
    /// A folder with each whole object as a file.
    pub extract: Option<PathBuf>,
}

/// A recording on a simulated machine.
#[derive(Clone, Debug)]
pub struct SimulatedSpec {
    /// What the pipeline's file does not say of the machine.
    pub machine: MachineSpec,
    /// Who sends.
    pub partner: PartnerSpec,
    /// What is on the drives may be overwritten.
    pub overwrite: bool,
    /// What else is wanted.
    pub outputs: Outputs,
}

/// What is reported.
#[derive(Debug, Serialize)]
pub struct Report {
    /// What is needed to repeat it.
    #[serde(flatten)]
    pub header: Header,
    /// The pipeline, with all defaults.
    pub pipeline: Pipeline,
    /// What came of it.
    #[serde(flatten)]
    pub summary: Summary,
    /// What was in the capture.
    pub capture: Option<Seen>,
    /// What became of the files that were to be sent.
    pub files: Option<FilesReport>,
    /// Why the source ended before its time.
    pub source_failure: Option<String>,
    /// Frames that Linux dropped before they reached the interface.
    pub dropped_by_linux: Option<u64>,
    /// Objects stored as files.
    pub extracted: u64,
    /// What was wanted.
    #[serde(skip)]
    pub outputs: Outputs,
    /// It was closed: others' tools open it.
    pub closed: bool,
    /// What crossed PCIe, where that is simulated.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Traffic>,
    /// How long it took by this machine's clock, in which no two runs are alike.
    #[serde(skip)]
    pub took: Took,
}

/// How long a simulation took by the clock of the machine that runs it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Took {
    /// Compiling the RTL; none: it was there already.
    pub compiled: Option<Duration>,
    /// Simulating the recording.
    pub simulated: Duration,
}

impl Report {
    /// All adds up, and the source went on to its end.
    fn adds_up(&self) -> bool {
        self.summary.wrong.is_empty() && self.source_failure.is_none()
    }

    /// The same, and all that was for us is on the drives, in a recording that is closed.
    pub fn is_good(&self) -> bool {
        let sent = self.files.as_ref().is_none_or(FilesReport::is_good);
        self.adds_up() && self.summary.is_complete() && self.closed && sent
    }

    /// Stores the files that are wanted, and closes the recording.
    fn conclude(&mut self, recorded: &Recorded, drives: &dyn Disk) -> Result<()> {
        if let Some(folder) = &self.outputs.extract {
            self.extracted = match self.pipeline.sink.layout == Kind::Packets {
                true => extract_capture(drives, folder)?,
                false => extract(recorded, &self.pipeline, folder, drives)?,
            };
        }
        self.closed = close(drives, recorded.at_rest)?;
        Ok(())
    }
}

/// Records on a simulated machine; `adjust` changes what its description says, `ready` is told that an
/// interface of this machine is there.
///
/// # Errors
/// Where the machine, the link partner or the drives cannot be used, or a file cannot be written.
pub fn simulated(
    spec: &SimulatedSpec,
    pipeline: Pipeline,
    adjust: impl FnOnce(&mut Config) -> Result<()>,
    ready: impl FnOnce(),
) -> Result<(Report, Ended)> {
    let outputs = spec.outputs.clone();
    let folder = folder()?;
    let mut config = machine(&spec.machine, &pipeline, folder.path())?;
    adjust(&mut config)?;
    make_folder(&outputs)?;
    let written = outputs
        .pcap_out
        .as_deref()
        .map(Written::create)
        .transpose()?;
    let (partner, network) = LinkPartner::connect(&spec.partner, &pipeline, written.as_ref())?;
    config.network = Some(network);
    let mut session = Session::of(config, SCHEMA)?;
    let superblock = prepare(
        &mut session,
        &pipeline.sink,
        form(&pipeline),
        spec.overwrite,
    )?;
    let plan = plan(&pipeline, &superblock, outputs.back);
    let label = match &spec.partner.source {
        SourceSpec::Interface { .. } => "recording from the interface, Ctrl-C ends it",
        SourceSpec::Capture { .. } => "capture → drives",
        SourceSpec::Files { .. } => "files → wire → drives",
        SourceSpec::Generator { .. } | SourceSpec::Silence => "wire → drives",
    };
    if partner.is_interface() {
        ready();
    }
    session.begin();
    let (began, now) = (Instant::now(), session.system.now());
    let (recorded, ended) = simulate(&mut session, &plan, label, partner.bytes)?;
    let took = Took {
        compiled: session.compiled,
        simulated: began.elapsed(),
    };
    let (hops, duration) = (session.hops(), session.system.now() - now);
    let failure = session.system.network().and_then(Network::source_failure);
    let mut report = Report {
        header: session.header(&ended),
        summary: Summary::through(&pipeline, &recorded),
        pipeline,
        capture: partner.capture(),
        files: partner.files(),
        source_failure: failure.map(|failure| format!("{failure}; {}", failure.remedy())),
        dropped_by_linux: partner.dropped_by_linux()?,
        extracted: 0,
        outputs,
        closed: false,
        traffic: None,
        took,
    };
    report.traffic = Some(Traffic::new(&hops, duration, report.summary.stored.bytes));
    report.conclude(&recorded, &*Drives::of(&mut session.system).open()?)?;
    if let Some(written) = &written {
        written.finish()?;
    }
    if ended.is_done() && report.adds_up() {
        session.shut_down()?;
    }
    Ok((report, ended))
}

/// Records through a card of this machine, until Ctrl-C or for as long as was asked; `consent` allows the
/// drive of this name and serial number to be overwritten, `ready` is told that it begins.
///
/// # Errors
/// Where a device cannot be used, the consent, or a file cannot be written.
pub fn on_a_card(
    spec: &CardSpec,
    pipeline: Pipeline,
    (seed, outputs): (u64, Outputs),
    consent: impl FnOnce(&str, &str) -> Result<()>,
    ready: impl FnOnce(),
) -> Result<(Report, Ended)> {
    make_folder(&outputs)?;
    let mut card = Card::open(spec, &pipeline)?;
    let facts = card.facts();
    let name = format!("the drive at {}", facts.nvme.address);
    if let Err(refused) = consent(&name, &facts.controller.serial) {
        card.shut_down()?;
        return Err(refused);
    }
    let header = io::header(seed, facts, SCHEMA);
    let superblock = card.prepare(&pipeline)?;
    ready();
    let (recorded, ended) = card.record(&pipeline, &superblock)?;
    let mut report = Report {
        header: Header {
            interrupted: matches!(ended, Ended::Interrupted),
            ..header
        },
        summary: Summary::through(&pipeline, &recorded),
        pipeline,
        capture: None,
        files: None,
        source_failure: None,
        dropped_by_linux: None,
        extracted: 0,
        outputs,
        closed: false,
        traffic: None,
        took: Took::default(),
    };
    card.with_drive(|drive| report.conclude(&recorded, drive))?;
    card.shut_down()?;
    Ok((report, ended))
}

/// What is reported of a replay.
#[derive(Debug, Serialize)]
pub struct ReplayReport {
    /// What is needed to repeat it.
    #[serde(flatten)]
    pub header: Header,
    /// What came of it.
    #[serde(flatten)]
    pub replayed: Replayed,
    /// A capture of it.
    #[serde(skip)]
    pub pcap_out: Option<PathBuf>,
}

/// Plays the whole objects with these numbers, the least and the greatest, at `rate` bytes per second on
/// the wire, by default line rate; `pcap_out` gets each frame.
///
/// # Errors
/// As [`replay`], and where the machine does not come up.
pub fn play(
    machine: &MachineSpec,
    pipeline: &Pipeline,
    objects: (u64, u64),
    rate: Option<u64>,
    pcap_out: Option<&Path>,
) -> Result<ReplayReport> {
    let folder = folder()?;
    let mut config = super::machine(machine, pipeline, folder.path())?;
    let written = pcap_out.map(Written::create).transpose()?;
    let silence = PartnerSpec::new(SourceSpec::Silence, machine.seed);
    let (_, network) = LinkPartner::connect(&silence, pipeline, written.as_ref())?;
    config.network = Some(network);
    let mut session = Session::of(config, REPLAY_SCHEMA)?;
    let replayed = replay(&mut session, pipeline, objects, rate.unwrap_or(LINE_RATE))?;
    if let Some(written) = &written {
        written.finish()?;
    }
    session.shut_down()?;
    Ok(ReplayReport {
        header: session.header(&Ended::Done),
        replayed,
        pcap_out: pcap_out.map(Path::to_owned),
    })
}

/// A folder for RTL that is made, gone when it is dropped.
fn folder() -> Result<tempfile::TempDir> {
    let made = tempfile::tempdir();
    made.map_err(|error| Failure::file("making a folder in", &std::env::temp_dir(), error))
}

fn make_folder(outputs: &Outputs) -> Result<()> {
    let Some(folder) = &outputs.extract else {
        return Ok(());
    };
    fs::create_dir_all(folder).map_err(|error| Failure::file("making", folder, error))
}

/// Writes a capture as a file of a folder; returns how many that is.
fn extract_capture(drives: &dyn Disk, folder: &Path) -> Result<u64> {
    let recording = forebay_store::Recording::open(drives)?;
    let path = folder.join(forebay_store::CAPTURE_NAME);
    let file = fs::File::create(&path);
    let mut file = file.map_err(|error| Failure::file("writing", &path, error))?;
    recording.write_capture(&mut file)?;
    Ok(1)
}

/// Stores each whole object as a file, decrypted; returns how many.
fn extract(
    recorded: &Recorded,
    pipeline: &Pipeline,
    folder: &Path,
    drives: &dyn Disk,
) -> Result<u64> {
    let key = match form(pipeline).1 {
        Some(key) => {
            let recording = forebay_store::Recording::open(drives)?;
            Some(key.derive(recording.superblock().session))
        }
        None => None,
    };
    let mut count = 0;
    let rows = recorded.rows.iter();
    for row in rows.filter(|row| row.whole() && row.stored()) {
        let stream = match pipeline.source.streams > 1 {
            true => format!("stream-{}-", row.stream),
            false => String::new(),
        };
        let path = folder.join(format!("{stream}object-{}.bin", row.object));
        let mut bytes = vec![0; row.length as usize];
        let read = drives.read_at(row.address, &mut bytes);
        read.map_err(|error| Failure::file("reading for", &path, error))?;
        if let Some(key) = &key {
            key.apply(row.nonce, row.offset, &mut bytes);
        }
        fs::write(&path, bytes).map_err(|error| Failure::file("writing", &path, error))?;
        count += 1;
    }
    Ok(count)
}
