// SPDX-License-Identifier: Apache-2.0
//! `forebay store info`: what a recording is, and in which state.

use forebay_draw::text::{Page, seconds};
use forebay_pipeline::units::{bytes, count};
use forebay_store::{Array, ArrayFacts, Facts, PAGE, Place, Recording, Totals};
use serde::Serialize;

use super::disks;
use crate::args::StoreInfoArgs;
use crate::failure::{Exit, Result};
use crate::report::{self, Report};

/// Shows it.
pub fn show_geometry(page: &mut Page, facts: &Facts) {
    let region = |place: &Place| format!("{} from {}", bytes(place.bytes), bytes(place.first_byte));
    page.field("session", &facts.session);
    let stride = match facts.stride {
        0 => String::new(),
        stride => format!(", one every {}", bytes(stride)),
    };
    let small = if facts.small {
        ", small ones that share pages"
    } else {
        ""
    };
    let ring = if facts.ring { ", a ring" } else { "" };
    let aligned = match u64::from(facts.alignment) {
        PAGE => String::new(),
        more => format!(", aligned to {}", bytes(more)),
    };
    page.field(
        "mode",
        format!("{}{small}{stride}{ring}{aligned}", facts.mode),
    );
    page.field("index", region(&facts.index));
    page.field("data", region(&facts.data));
    page.field("results", &facts.results);
    if let Some(cipher) = facts.cipher {
        page.field(
            "encrypted",
            format!("{cipher}, a nonce in each index record"),
        );
    }
    if !facts.model.is_empty() {
        page.field("drive", format!("{} {}", facts.model, facts.serial));
    }
}

/// Shows the members.
pub fn show_array(page: &mut Page, array: &ArrayFacts) {
    let parity = if array.stripes.parity {
        ", the last with the parity"
    } else {
        ""
    };
    let text = format!(
        "{} members{parity}, stripe units of {}",
        array.stripes.drives,
        bytes(array.stripes.stripe_unit)
    );
    page.field("array", text);
    for (number, member) in array.members.iter().enumerate() {
        let name = member.as_deref().unwrap_or("missing");
        page.field("", format!("member {number}: {name}"));
    }
}

#[derive(Serialize)]
struct Found<'r> {
    #[serde(flatten)]
    facts: Facts,
    array: Option<ArrayFacts>,
    index_blocks: u64,
    totals: Totals,
    complaints: &'r [String],
}

impl Found<'_> {
    /// Whether a member of the array is missing.
    fn is_degraded(&self) -> bool {
        let members = self.array.iter().flat_map(|array| &array.members);
        members.into_iter().any(Option::is_none)
    }
}

/// Runs it.
pub fn run(args: &StoreInfoArgs) -> Result<Exit> {
    let disk = disks::read(&args.on.disks)?;
    let recording = Recording::open(&*disk)?;
    let found = Found {
        facts: Facts::of(recording.superblock()),
        array: disk.array().map(Array::facts),
        index_blocks: recording.blocks(),
        totals: Totals::of(&recording),
        complaints: recording.complaints(),
    };
    let report = Report::new("forebay.store-info/1", found);
    report::show(&report, || page(&report.found))?;
    Ok(Exit::Good)
}

fn page(found: &Found<'_>) -> Page {
    let totals = &found.totals;
    let mut page = Page::of_hardware("Forebay store: a recording");
    show_geometry(&mut page, &found.facts);
    if let Some(array) = &found.array {
        show_array(&mut page, array);
    }
    let stored = format!(
        "{} whole objects and {} parts of others, {}",
        count(totals.whole),
        count(totals.parts),
        bytes(totals.bytes)
    );
    page.field("holds", stored);
    if let (Some(first), Some(last)) = (totals.first_ns, totals.last_ns) {
        let span = seconds(last.saturating_sub(first) as f64 * 1e-9);
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
    for (number, what) in counts.into_iter().filter(|(number, _)| *number > 0) {
        page.field("of them", format!("{} {what}", count(number)));
    }
    for complaint in found.complaints {
        page.field("note", complaint);
    }
    let good = found.complaints.is_empty() && totals.damaged_blocks + totals.wrong_rows == 0;
    let state = match (found.facts.closed, good) {
        (true, true) => "closed",
        (true, false) if found.is_degraded() => {
            "closed, but a member is missing: `forebay store repair --replace` puts another in its place"
        }
        (true, false) => "closed, but damaged: `forebay store repair` mends what can be",
        (false, _) => "open: it is being written, or lost power; `forebay store repair` ends it",
    };
    page.verdict(found.facts.closed && good, state);
    page
}
