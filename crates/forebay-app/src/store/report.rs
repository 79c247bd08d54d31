// SPDX-License-Identifier: Apache-2.0
//! A recording over time: totals, statistics, a page of text and one of HTML.

use std::path::Path;

use forebay_draw::text::{Page, seconds};
use forebay_pipeline::units::{bytes, count};
use forebay_store::{Recording, Statistics, Totals};
use serde::Serialize;

/// A recording over time.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Which recording.
    pub session: String,
    /// What it is, in words.
    pub about: String,
    /// What the index says in all.
    pub totals: Totals,
    /// The same over time, by stream and class.
    pub statistics: Statistics,
    /// What is not as it should be.
    pub complaints: Vec<String>,
}

impl Report {
    /// Of this recording.
    pub fn of(recording: &Recording<'_>) -> Self {
        let superblock = recording.superblock();
        let drive = String::from_utf8_lossy(&superblock.drive.model);
        let parts = [
            superblock.mode.name(),
            if superblock.ring { "a ring" } else { "" },
            if superblock.closed.is_some() {
                "closed"
            } else {
                "open"
            },
            drive.trim(),
        ];
        let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let totals = Totals::of(recording);
        Self {
            session: superblock.session.to_string(),
            about: parts.join(", "),
            statistics: Statistics::of(recording, &totals),
            totals,
            complaints: recording.complaints().to_vec(),
        }
    }

    /// Whether each index record can be read.
    pub const fn is_whole(&self) -> bool {
        self.totals.damaged_blocks + self.totals.wrong_rows == 0
    }

    /// As text; `html` is where the page went.
    pub fn page(&self, html: Option<&Path>) -> Page {
        let (totals, all) = (&self.totals, &self.statistics);
        let mut page = Page::of_hardware("Forebay store: report");
        page.field("session", &self.session)
            .field("extents", count(totals.rows))
            .field("stored", bytes(totals.bytes));
        if let (Some(first), Some(last)) = (totals.first_ns, totals.last_ns) {
            let span = seconds(last.saturating_sub(first) as f64 * 1e-9);
            page.field("spans", span);
        }
        page.field("streams", all.streams.len())
            .field("classes", all.classes.len())
            .field("gaps", count(all.gap_count));
        if let Some(path) = html {
            page.field("page", path.display());
        }
        let sentence = match self.is_whole() {
            true => "the index is whole",
            false => "the index is damaged: `forebay store repair` mends what can be",
        };
        page.verdict(self.is_whole(), sentence);
        page
    }
}
