// SPDX-License-Identifier: Apache-2.0
//! `forebay doctor --check`: drive and card compare bytes.

use forebay_driver::peer::{self, Memory, Report, Way};
use forebay_driver::{FpgaPlace, Options, QueuePlacement, bring_up};
use forebay_vfio::{Measured, Sysfs, VfioBus};
use serde::Serialize;

use crate::args::DoctorArgs;
use crate::args::values::PeerMemory;
use crate::failure::{Exit, Failure, Result};
use crate::progress::Progress;
use crate::render::{self, Grid, Page};

/// Entries of the queues: one command at a time is under way.
const ENTRIES: u16 = 16;
/// Bytes that are used of a BAR where none are named: as much as the streamer's buffer has.
const MEMORY: u64 = 4 << 20;
/// Below one word in so many that differs from the others, it is said that this tells little.
const PLAIN: u64 = 16;

/// Takes the devices, compares, gives them back.
///
/// Ctrl-C is not listened to: it takes seconds, and neither the card nor a place of the drive that
/// was named as scratch is to be left as it is in the middle. A second Ctrl-C ends it at once.
pub fn run(sysfs: &Sysfs, args: &DoctorArgs) -> Result<Report> {
    compare(sysfs, args).map_err(|mut failure| {
        // A device that does not come up is no result of the comparison.
        if failure.exit == Exit::BadResult {
            failure.exit = Exit::Impossible;
        }
        failure
    })
}

fn compare(sysfs: &Sysfs, args: &DoctorArgs) -> Result<Report> {
    let further = args.peer.map(|peer| peer.device);
    if let Some(same) = args
        .bus
        .ssd
        .filter(|ssd| Some(*ssd) == further.or(args.bus.fpga))
    {
        return Err(Failure::input(
            "--ssd",
            same,
            "that is the other device, too",
            "name two devices: what a drive does with itself tells nothing about their path",
        ));
    }
    let named = args.peer.map(|peer| memory(sysfs, &peer)).transpose()?;
    let _progress = Progress::stage("comparing bytes");
    let mut bus = VfioBus::open(sysfs, args.bus.settings(further))?;
    // A streamer that still runs would ring doorbells in the middle of the drive's reset.
    let memory = match (named, args.bus.fpga) {
        (Some(memory), _) => memory,
        (None, Some(card)) => Memory::of_streamer(&mut bus, card, &FpgaPlace::default())?,
        (None, None) => {
            return Err(Failure::input(
                "--fpga",
                "missing",
                "two devices are needed",
                "name the card, or other memory with --peer",
            ));
        }
    };
    let options = Options {
        nvme: args.bus.ssd,
        nsid: args.namespace,
        placement: QueuePlacement::Host,
        queue_entries: ENTRIES,
        ..Options::default()
    };
    let mut session = bring_up(&mut bus, &options)?;
    let settings = peer::Settings {
        seed: args.seed,
        largest: args.largest.unwrap_or(u64::MAX),
        scratch: args.scratch,
        guarded: !args.bus.no_iommu,
        ..peer::Settings::default()
    };
    let report = peer::check(&mut bus, &mut session, &memory, &settings);
    let shut = session.shutdown(&mut bus);
    let report = report?;
    shut?;
    Ok(report)
}

/// The memory that the user has named.
fn memory(sysfs: &Sysfs, peer: &PeerMemory) -> Result<Memory> {
    let bars = sysfs.function(peer.device)?.bars;
    let size = bars.iter().find(|bar| bar.index == peer.bar);
    let room = size.map_or(0, |bar| bar.size.saturating_sub(peer.offset));
    let bytes = peer.size.unwrap_or(room.min(MEMORY));
    if bytes == 0 || bytes > room {
        return Err(Failure::input(
            "--peer",
            format_args!(
                "{} bytes of BAR {} from {:#x}",
                bytes, peer.bar, peer.offset
            ),
            "the BAR has not as many",
            "`forebay devices -o json` lists BARs and their sizes",
        ));
    }
    Ok(Memory {
        device: peer.device,
        bar: peer.bar,
        offset: peer.offset,
        bytes,
    })
}

/// What came of it, as it is reported.
#[derive(Serialize)]
pub struct Checked<'a> {
    /// Why it could not be done.
    failure: Option<String>,
    drive_to_peer: Option<bool>,
    peer_to_drive: Option<bool>,
    #[serde(flatten)]
    report: Option<&'a Report>,
}

impl<'a> Checked<'a> {
    /// Of a check.
    pub fn of(outcome: &'a Result<Report>) -> Self {
        let report = outcome.as_ref().ok();
        let way = |way| report.and_then(|report| report.way(way));
        Self {
            failure: outcome.as_ref().err().map(ToString::to_string),
            drive_to_peer: way(Way::DriveToPeer),
            peer_to_drive: way(Way::PeerToDrive),
            report,
        }
    }

    /// For the verdict.
    pub fn measured(&self) -> Option<Measured> {
        let report = self.report?;
        Some(Measured {
            drive: report.drive,
            peer: report.memory.device,
            drive_to_peer: self.drive_to_peer,
            peer_to_drive: self.peer_to_drive,
        })
    }

    /// As text.
    pub fn show(&self, page: &mut Page) {
        page.heading("Compared");
        let Some(report) = self.report else {
            page.line(format_args!(
                "  nothing: {}",
                self.failure.as_deref().unwrap_or("–")
            ));
            return;
        };
        let (memory, namespace) = (&report.memory, &report.namespace);
        page.line(format_args!(
            "  drive {}, namespace {}, blocks of {} bytes from {} on",
            report.drive,
            namespace.nsid,
            namespace.block_bytes(),
            report.lba
        ));
        page.line(format_args!(
            "  peer {}, {} in BAR {} at {:#x}, for the drive at {:#x}; seed {}",
            memory.device,
            render::bytes(memory.bytes),
            memory.bar,
            memory.offset,
            report.address,
            report.seed
        ));
        page.grid(tests(report));
        for left_out in &report.left_out {
            page.line(format_args!("  – left out: {left_out}"));
        }
        if report.distinct_words < report.words / PLAIN {
            page.line(
                "  – what the drive stores there is nearly all the same: bytes in a wrong order \
                 may go unseen (--scratch writes others)",
            );
        }
        for way in [Way::DriveToPeer, Way::PeerToDrive] {
            let (compared, different) = report.bytes(way);
            let sentence = match report.way(way) {
                None => format!("{}: nothing could be compared", way.text()),
                Some(true) => format!("{}: {} bytes compared, 0 differ", way.text(), compared),
                Some(false) => format!(
                    "{}: {} of {} bytes compared differ, or the drive says so",
                    way.text(),
                    different,
                    compared
                ),
            };
            let mark = render::mark(report.way(way) == Some(true));
            page.line(format_args!("  {mark} {sentence}"));
        }
    }
}

fn tests(report: &Report) -> Grid {
    let headers = [
        "",
        "way",
        "how",
        ">bytes",
        ">compared",
        ">differ",
        ">first",
        "status",
    ];
    let mut grid = Grid::new(&headers).wrap(7, 52);
    for test in &report.tests {
        let first = test.first_difference;
        grid.row([
            render::mark(test.good),
            test.way.text().into(),
            test.method.text().into(),
            test.bytes.to_string(),
            test.compared.to_string(),
            test.different.to_string(),
            first.map_or("–".into(), |at| format!("{at:#x}")),
            test.status.clone().unwrap_or("–".into()),
        ]);
    }
    grid
}
