// SPDX-License-Identifier: Apache-2.0
//! A recording as one page of HTML that needs nothing else: no script, no font, no network.

use std::fmt::Write as _;

use super::report::Report;
use super::report_chart;
use super::statistics::date;
use crate::failure::Result;
use crate::html::{STYLE, escaped, table};
use crate::render;

/// Classes and streams that have a row.
const ROWS: usize = 64;
const MORE: &str = ".row{display:flex;flex-wrap:wrap;gap:1em}figure{margin:0}\
    figcaption{font-weight:bold;font-size:13px}.tiles{display:flex;flex-wrap:wrap;gap:.8em}\
    .tile{background:#f4f6f8;border-radius:4px;padding:.5em .9em;min-width:7em}\
    .tile b{display:block;font-size:1.25em}.tile.warn{background:#fff3cd}";

/// The page.
pub fn page(report: &Report<'_>, name: &str) -> Result<String> {
    let mut page = String::new();
    let title = escaped(name);
    let _ = write!(
        page,
        "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\
         <meta charset=\"utf-8\"/><title>Forebay: {title}</title><style>{STYLE}{MORE}</style></head>\
         \n<body>\n<h1>Recording {title}</h1>\n<p class=\"dim\">session <code>{}</code>, {}; Forebay \
         {}</p>\n",
        escaped(&report.session),
        escaped(&report.about),
        escaped(report.version)
    );
    tiles(&mut page, report);
    for complaint in report.complaints {
        let _ = writeln!(page, "<p class=\"simulated\">{}</p>", escaped(complaint));
    }
    if report.totals.rows == 0 {
        page.push_str("<p>There are no objects in it.</p>\n</body>\n</html>\n");
        return Ok(page);
    }
    charts(&mut page, report)?;
    tables(&mut page, report);
    page.push_str("</body>\n</html>\n");
    Ok(page)
}

fn tiles(page: &mut String, report: &Report<'_>) {
    let totals = &report.totals;
    let count = render::count;
    let span = totals.first_ns.zip(totals.last_ns);
    let span = span.map_or("–".into(), |(first, last)| {
        render::seconds(last.saturating_sub(first) as f64 * 1e-9)
    });
    let plain = [
        (count(totals.whole), "whole objects"),
        (count(totals.parts), "parts of others"),
        (render::bytes(totals.bytes), "stored"),
        (span, "from first to last"),
    ];
    page.push_str("<div class=\"tiles\">\n");
    for (value, name) in plain {
        let _ = writeln!(
            page,
            "<div class=\"tile\"><b>{}</b>{name}</div>",
            escaped(&value)
        );
    }
    let losses = [
        (totals.missing, "frames missing"),
        (totals.skipped, "without room"),
        (totals.failed, "not taken by the drive"),
        (totals.late, "results too late"),
        (totals.wrong_rows, "rows that cannot be"),
        (totals.damaged_blocks, "damaged blocks of the index"),
    ];
    for (value, name) in losses {
        let class = if value > 0 { "tile warn" } else { "tile" };
        let _ = writeln!(
            page,
            "<div class=\"{class}\"><b>{}</b>{name}</div>",
            count(value)
        );
    }
    page.push_str("</div>\n");
}

fn figure(page: &mut String, caption: &str, svg: &str) {
    let _ = writeln!(
        page,
        "<figure><figcaption>{caption}</figcaption>\n{svg}</figure>"
    );
}

fn charts(page: &mut String, report: &Report<'_>) -> Result<()> {
    let all = &report.statistics;
    let _ = writeln!(
        page,
        "<h2>Over time</h2>\n<p class=\"dim\">The first began {} UTC.</p>",
        date(all.first_ns)
    );
    figure(page, "Rate", &report_chart::rate(all)?);
    if report.totals.missing > 0 {
        figure(
            page,
            "Gaps: frames that are missing",
            &report_chart::gaps(all)?,
        );
    }
    page.push_str("<h2>Extents</h2>\n<div class=\"row\">\n");
    if !all.sizes.is_empty() {
        figure(page, "Sizes", &report_chart::sizes(all)?);
    }
    if !all.intervals.is_empty() {
        figure(
            page,
            "How far apart they began, stream by stream",
            &report_chart::intervals(all)?,
        );
    }
    if !all.classes.is_empty() {
        figure(
            page,
            "Classes, the most frequent",
            &report_chart::classes(&all.classes)?,
        );
    }
    page.push_str("</div>\n");
    Ok(())
}

fn tables(page: &mut String, report: &Report<'_>) {
    let (all, count) = (&report.statistics, render::count);
    page.push_str("<h2>Streams</h2>\n");
    let headers = [
        ">stream",
        ">extents",
        ">stored",
        ">missing frames",
        ">without room",
        ">not taken",
        ">time ran backwards",
    ];
    let rows = all.streams.iter().take(ROWS).map(|stream| {
        vec![
            stream.stream.to_string(),
            count(stream.extents),
            render::bytes(stream.stored_bytes),
            count(stream.missing),
            count(stream.skipped),
            count(stream.failed),
            count(stream.backwards),
        ]
    });
    table(page, &headers.map(str::to_owned), &rows.collect::<Vec<_>>());
    left_out(page, all.streams.len());
    if !all.gaps.is_empty() {
        let _ = writeln!(
            page,
            "<h2>Gaps</h2>\n<p>{} in all; the greatest:</p>",
            count(all.gap_count)
        );
        let headers = ["before, UTC", ">stream", ">object", ">missing frames"];
        let rows = all.gaps.iter().map(|gap| {
            let missing = match gap.missing {
                u32::MAX => "2^32 − 1 or more".into(),
                missing => count(missing.into()),
            };
            vec![
                date(gap.time_ns),
                gap.stream.to_string(),
                gap.object.to_string(),
                missing,
            ]
        });
        table(page, &headers.map(str::to_owned), &rows.collect::<Vec<_>>());
    }
    if !all.classes.is_empty() {
        page.push_str("<h2>Classes</h2>\n");
        let rows = all.classes.iter().take(ROWS).map(|class| {
            let score = class
                .mean_score
                .map_or("–".into(), |score| format!("{score:.4}"));
            vec![class.class.to_string(), count(class.extents), score]
        });
        let headers = [">class", ">extents", ">mean score"].map(str::to_owned);
        table(page, &headers, &rows.collect::<Vec<_>>());
        left_out(page, all.classes.len());
    }
}

fn left_out(page: &mut String, there: usize) {
    if there > ROWS {
        let _ = writeln!(page, "<p class=\"dim\">and {} more</p>", there - ROWS);
    }
}
