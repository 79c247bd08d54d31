// SPDX-License-Identifier: Apache-2.0
//! `forebay store info`: what a recording is, and in which state.

use forebay_spec::store::superblock::{Closed, Region, Superblock};
use forebay_store::{Entry, FileDisk, Recording};
use serde::Serialize;

use super::open;
use crate::args::StoreInfoArgs;
use crate::failure::{Exit, Result};
use crate::render::{self, Page};
use crate::report;

/// A region.
#[derive(Debug, Serialize)]
pub struct Place {
    first_byte: u64,
    bytes: u64,
}

impl From<Region> for Place {
    fn from(region: Region) -> Self {
        Self {
            first_byte: region.at,
            bytes: region.bytes,
        }
    }
}

/// What the superblock says.
#[derive(Debug, Serialize)]
pub struct Facts {
    session: String,
    mode: &'static str,
    generation: u64,
    formatted_ns: u64,
    block_bytes: u32,
    ring: bool,
    small: bool,
    index: Place,
    data: Place,
    stride: u64,
    extension: String,
    closed: bool,
    data_end: Option<u64>,
    model: String,
    serial: String,
    firmware: String,
    disk_bytes: u64,
}

impl Facts {
    /// Of a superblock.
    pub fn of(superblock: &Superblock) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        Self {
            session: superblock.session.to_string(),
            mode: superblock.mode.name(),
            generation: superblock.generation,
            formatted_ns: superblock.formatted,
            block_bytes: superblock.block_bytes,
            ring: superblock.ring,
            small: superblock.small,
            index: superblock.index.into(),
            data: superblock.data.into(),
            stride: superblock.stride,
            extension: superblock.extension_text().into(),
            closed: superblock.closed.is_some(),
            data_end: superblock.closed.map(|closed: Closed| closed.end),
            model: text(&superblock.drive.model),
            serial: text(&superblock.drive.serial),
            firmware: text(&superblock.drive.firmware),
            disk_bytes: superblock.drive.bytes,
        }
    }
}

/// Shows it.
pub fn show_geometry(page: &mut Page, facts: &Facts) {
    let region = |place: &Place| {
        format!(
            "{} from {}",
            render::bytes(place.bytes),
            render::bytes(place.first_byte)
        )
    };
    page.field("session", &facts.session);
    let stride = match facts.stride {
        0 => String::new(),
        stride => format!(", one every {}", render::bytes(stride)),
    };
    let small = if facts.small {
        ", small ones that share pages"
    } else {
        ""
    };
    let ring = if facts.ring { ", a ring" } else { "" };
    page.field("mode", format!("{}{small}{stride}{ring}", facts.mode));
    page.field("index", region(&facts.index));
    page.field("data", region(&facts.data));
    if !facts.model.is_empty() {
        page.field("drive", format!("{} {}", facts.model, facts.serial));
    }
}

/// What the index says in all.
#[derive(Debug, Default, Serialize)]
pub struct Totals {
    /// Rows that count.
    pub rows: u64,
    /// Whole objects.
    pub whole: u64,
    /// Extents that are not whole objects.
    pub parts: u64,
    /// Extents without room.
    pub skipped: u64,
    /// Extents that the SSD did not take.
    pub failed: u64,
    /// Bytes of payload.
    pub bytes: u64,
    /// Rows with a result.
    pub results: u64,
    /// Rows whose result did not come in time.
    pub late: u64,
    /// Frames that are missing.
    pub missing: u64,
    /// Blocks of the index that are damaged.
    pub damaged_blocks: u64,
    /// Rows that cannot be.
    pub wrong_rows: u64,
    /// First and last time.
    pub first_ns: Option<u64>,
    /// The last.
    pub last_ns: Option<u64>,
}

impl Totals {
    /// Goes through the index.
    pub fn of(recording: &Recording<'_, FileDisk>) -> Self {
        use forebay_spec::store::index::{FAILED, LATE, RESULT, SKIPPED};
        let mut all = Self::default();
        for entry in recording.rows() {
            let Entry::Row { row, wrong, .. } = entry else {
                all.damaged_blocks += 1;
                continue;
            };
            let has = |flag: u16| u64::from(row.flags & flag != 0);
            all.rows += 1;
            all.skipped += has(SKIPPED);
            all.failed += has(FAILED);
            all.results += has(RESULT);
            all.late += has(LATE);
            all.missing = all.missing.saturating_add(row.missing.into());
            all.wrong_rows += u64::from(wrong.is_some());
            if row.stored() {
                all.bytes = all.bytes.saturating_add(row.length.into());
                all.whole += u64::from(row.whole());
                all.parts += u64::from(!row.whole());
            }
            all.first_ns = Some(all.first_ns.map_or(row.time, |first| first.min(row.time)));
            all.last_ns = Some(all.last_ns.map_or(row.time, |last| last.max(row.time)));
        }
        all
    }
}

#[derive(Serialize)]
struct Report<'r> {
    schema: &'static str,
    version: &'static str,
    #[serde(flatten)]
    facts: Facts,
    index_blocks: u64,
    totals: Totals,
    complaints: &'r [String],
}

/// Runs it.
pub fn run(args: &StoreInfoArgs) -> Result<Exit> {
    let disk = open::read(&args.disk)?;
    let recording = Recording::open(&disk)?;
    let report = Report {
        schema: "forebay.store-info/1",
        version: env!("CARGO_PKG_VERSION"),
        facts: Facts::of(recording.superblock()),
        index_blocks: recording.blocks(),
        totals: Totals::of(&recording),
        complaints: recording.complaints(),
    };
    if report::emit(&report)? {
        return Ok(Exit::Good);
    }
    show(&report);
    Ok(Exit::Good)
}

fn show(report: &Report) {
    let totals = &report.totals;
    let mut page = Page::of_hardware("Forebay store: a recording");
    show_geometry(&mut page, &report.facts);
    let stored = format!(
        "{} whole objects and {} parts of others, {}",
        render::count(totals.whole),
        render::count(totals.parts),
        render::bytes(totals.bytes)
    );
    page.field("holds", stored);
    if let (Some(first), Some(last)) = (totals.first_ns, totals.last_ns) {
        let span = render::seconds(last.saturating_sub(first) as f64 * 1e-9);
        page.field("spans", span);
    }
    let counts = [
        (totals.results, "with a result"),
        (totals.late, "whose result came too late"),
        (totals.skipped, "without room"),
        (totals.failed, "that the drive did not take"),
        (totals.wrong_rows, "with rows that cannot be"),
        (totals.damaged_blocks, "blocks of the index damaged"),
    ];
    for (count, what) in counts.into_iter().filter(|(count, _)| *count > 0) {
        page.field("of them", format!("{} {what}", render::count(count)));
    }
    for complaint in report.complaints {
        page.field("note", complaint);
    }
    let good = report.complaints.is_empty() && totals.damaged_blocks + totals.wrong_rows == 0;
    let state = match (report.facts.closed, good) {
        (true, true) => "closed",
        (true, false) => "closed, but damaged: `forebay store repair` mends what can be",
        (false, _) => "open: it is being written, or lost power; `forebay store repair` ends it",
    };
    page.verdict(report.facts.closed && good, state);
    page.print();
}
