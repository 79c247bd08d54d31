// SPDX-License-Identifier: Apache-2.0
//! Whether a drive reaches the memory of a card and is reached by it, by comparing bytes.

use forebay_draw::text::{Grid, Page, mark, or_dash};
use forebay_driver::peer::{self, Memory, Report, Way};
use forebay_driver::{FpgaPlace, Options, PciAddress, QueuePlacement, bring_up};
use forebay_pipeline::units::bytes;
use forebay_vfio::{Measured, Settings, Sysfs, VfioBus};
use serde::Serialize;

use crate::failure::{Exit, Failure, Result};
use crate::progress::Progress;

/// Entries of the queues: one command at a time is under way.
const ENTRIES: u16 = 16;
/// Bytes that are used of a BAR where none are named: as much as the streamer's buffer has.
const MEMORY: u64 = 4 << 20;
/// Where fewer than one word of this number is distinct, the report says that this tells little.
const PLAIN: u64 = 16;

/// Memory in a BAR of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerMemory {
    /// The device.
    pub device: PciAddress,
    /// The base address register.
    pub bar: u8,
    /// Where it begins.
    pub offset: u64,
    /// Bytes; none: up to the end of the BAR.
    pub size: Option<u64>,
}

/// What is compared.
#[derive(Clone, Debug)]
pub struct CompareSpec {
    /// What is taken, and how it reaches memory.
    pub settings: Settings,
    /// The drive.
    pub drive: Option<PciAddress>,
    /// Its namespace; none: its first.
    pub namespace: Option<u32>,
    /// The card.
    pub card: Option<PciAddress>,
    /// Other memory than the card's.
    pub peer: Option<PeerMemory>,
    /// Most bytes of a command; none: what drive and memory allow.
    pub largest: Option<u64>,
    /// Blocks of the drive from here on are written, too, and restored.
    pub scratch: Option<u64>,
    /// Decides places and patterns.
    pub seed: u64,
}

/// Takes the devices, compares, gives them back.
///
/// Ctrl-C is not listened to: it takes seconds, and neither the card nor a place of the drive that
/// was named as scratch is to be left as it is in the middle. A second Ctrl-C ends it at once.
///
/// # Errors
/// Where a device is in use, does not come up, or is not what it has to be.
pub fn compare(sysfs: &Sysfs, spec: &CompareSpec) -> Result<Report> {
    run(sysfs, spec).map_err(|mut failure| {
        // A device that does not come up is no result of the comparison.
        if failure.exit == Exit::BadResult {
            failure.exit = Exit::Impossible;
        }
        failure
    })
}

fn run(sysfs: &Sysfs, spec: &CompareSpec) -> Result<Report> {
    let further = spec.peer.map(|peer| peer.device);
    let other = further.or(spec.card);
    if let Some(same) = spec.drive.filter(|drive| Some(*drive) == other) {
        return Err(Failure::input(
            "ssd",
            same,
            "that is the other device, too",
            "name two devices: what a drive does with itself tells nothing about their path",
        ));
    }
    let named = spec.peer.map(|peer| memory(sysfs, &peer)).transpose()?;
    let _progress = Progress::stage("comparing bytes");
    let mut bus = VfioBus::open(sysfs, spec.settings.clone())?;
    // A streamer that still runs would ring doorbells in the middle of the drive's reset.
    let memory = match (named, spec.card) {
        (Some(memory), _) => memory,
        (None, Some(card)) => Memory::of_streamer(&mut bus, card, &FpgaPlace::default())?,
        (None, None) => {
            return Err(Failure::input(
                "fpga",
                "missing",
                "two devices are needed",
                "name the card, or other memory (peer)",
            ));
        }
    };
    let options = Options {
        nvme: spec.drive,
        nsid: spec.namespace,
        placement: QueuePlacement::Host,
        queue_entries: ENTRIES,
        ..Options::default()
    };
    let mut session = bring_up(&mut bus, &options)?;
    let settings = peer::Settings {
        seed: spec.seed,
        largest: spec.largest.unwrap_or(u64::MAX),
        scratch: spec.scratch,
        guarded: !spec.settings.no_iommu,
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
            "peer",
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
#[derive(Debug, Serialize)]
pub struct Compared<'a> {
    /// Why it could not be done.
    failure: Option<String>,
    drive_to_peer: Option<bool>,
    peer_to_drive: Option<bool>,
    #[serde(flatten)]
    report: Option<&'a Report>,
}

impl<'a> Compared<'a> {
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
    pub fn draw(&self, page: &mut Page) {
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
            bytes(memory.bytes),
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
            let right = mark(report.way(way) == Some(true));
            page.line(format_args!("  {right} {sentence}"));
        }
    }
}

fn tests(report: &Report) -> Grid {
    let mut grid =
        Grid::new(" | way | how | >bytes | >compared | >differ | >first | status").wrap(7, 52);
    for test in &report.tests {
        let first = test.first_difference;
        grid.row([
            mark(test.good).to_owned(),
            test.way.text().into(),
            test.method.text().into(),
            test.bytes.to_string(),
            test.compared.to_string(),
            test.different.to_string(),
            or_dash(first.map(|at| format!("{at:#x}"))),
            or_dash(test.status.as_ref()),
        ]);
    }
    grid
}
