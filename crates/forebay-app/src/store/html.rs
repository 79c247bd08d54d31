// SPDX-License-Identifier: Apache-2.0
//! A recording as one page of HTML.

use forebay_draw::text::{Grid, or_dash, seconds};
use forebay_draw::{HtmlPage, Tile, date};
use forebay_pipeline::units::{bytes, count};
use forebay_store::Recording;

use super::gallery::Gallery;
use super::{ClassNames, Report, chart};
use crate::failure::Result;

/// Classes and streams that have a row.
const ROWS: usize = 64;

impl Report {
    /// As HTML, under this name, with the first images of `recording`, which it is of.
    ///
    /// # Errors
    /// Where a chart cannot be drawn.
    pub fn html(
        &self,
        name: &str,
        recording: &Recording<'_>,
        names: &ClassNames,
    ) -> Result<String> {
        let mut page = HtmlPage::new(&format!("Recording {name}"));
        page.remark(&format!(
            "session {}, {}; Forebay {}",
            self.session,
            self.about,
            env!("CARGO_PKG_VERSION")
        ));
        page.tiles(tiles(self));
        for complaint in &self.complaints {
            page.warning(complaint);
        }
        if self.totals.rows == 0 {
            page.paragraph("There are no objects in it.");
            return Ok(page.finish());
        }
        if recording.is_ciphertext() {
            page.remark("Payload is encrypted: images are shown with --key-file.");
        }
        Gallery::of(recording).draw(&mut page, recording, names);
        charts(&mut page, self, names)?;
        tables(&mut page, self, names);
        Ok(page.finish())
    }
}

fn tiles(report: &Report) -> Vec<Tile> {
    let totals = &report.totals;
    let span = totals.first_ns.zip(totals.last_ns);
    let span = span.map(|(first, last)| seconds(last.saturating_sub(first) as f64 * 1e-9));
    let plain = [
        (count(totals.whole), "whole objects"),
        (count(totals.parts), "parts of others"),
        (bytes(totals.bytes), "stored"),
        (or_dash(span), "from first to last"),
    ];
    let losses = [
        (totals.missing, "frames missing"),
        (totals.skipped, "without room"),
        (totals.failed, "not taken by the drive"),
        (totals.late, "results too late"),
        (totals.wrong_rows, "rows that cannot be"),
        (totals.damaged_blocks, "damaged blocks of the index"),
    ];
    let plain = plain.map(|(value, name)| (value, name, false));
    let losses = losses.map(|(value, name)| (count(value), name, value > 0));
    let all = plain.into_iter().chain(losses);
    all.map(|(value, name, warn)| Tile { value, name, warn })
        .collect()
}

fn charts(page: &mut HtmlPage, report: &Report, names: &ClassNames) -> Result<()> {
    let all = &report.statistics;
    page.heading(2, "Over time")
        .remark(&format!("The first began {}.", date(all.first_ns)))
        .figure("Rate", &chart::rate(all)?);
    if report.totals.missing > 0 {
        page.figure("Gaps: frames that are missing", &chart::gaps(all)?);
    }
    let mut figures = Vec::new();
    if !all.sizes.is_empty() {
        figures.push(("Sizes", chart::sizes(all)?));
    }
    if !all.intervals.is_empty() {
        let caption = "Intervals between their beginnings, stream by stream";
        figures.push((caption, chart::intervals(all)?));
    }
    if !all.classes.is_empty() {
        let drawn = chart::classes(&all.classes, names)?;
        figures.push(("Classes, the most frequent", drawn));
    }
    page.heading(2, "Extents").figures(figures);
    Ok(())
}

fn tables(page: &mut HtmlPage, report: &Report, names: &ClassNames) {
    let all = &report.statistics;
    let mut grid = Grid::new(
        ">stream | >extents | >stored | >missing frames | >without room | >not taken | \
         >time ran backwards",
    );
    for stream in all.streams.iter().take(ROWS) {
        grid.row([
            stream.stream.to_string(),
            count(stream.extents),
            bytes(stream.stored_bytes),
            count(stream.missing),
            count(stream.skipped),
            count(stream.failed),
            count(stream.backwards),
        ]);
    }
    page.heading(2, "Streams").table(&grid);
    left_out(page, all.streams.len());
    if !all.gaps.is_empty() {
        let mut grid = Grid::new("before | >stream | >object | >missing frames");
        for gap in &all.gaps {
            let missing = match gap.missing {
                u32::MAX => "2^32 − 1 or more".into(),
                missing => count(missing.into()),
            };
            let (stream, object) = (gap.stream.to_string(), gap.object.to_string());
            grid.row([date(gap.time_ns), stream, object, missing]);
        }
        page.heading(2, "Gaps")
            .paragraph(&format!("{} in all; the greatest:", count(all.gap_count)))
            .table(&grid);
    }
    if !all.classes.is_empty() {
        let mut grid = Grid::new("class | >extents | >mean score");
        for class in all.classes.iter().take(ROWS) {
            let score = or_dash(class.mean_score.map(|score| format!("{score:.4}")));
            grid.row([names.of(class.class), count(class.extents), score]);
        }
        page.heading(2, "Classes").table(&grid);
        left_out(page, all.classes.len());
    }
}

fn left_out(page: &mut HtmlPage, there: usize) {
    if there > ROWS {
        page.remark(&format!("and {} more", there - ROWS));
    }
}
