// SPDX-License-Identifier: Apache-2.0
//! Pages of HTML that need nothing else, and are well-formed XML: what they have in common.

use std::fmt::Write as _;
use std::time::{Duration, UNIX_EPOCH};

/// How they look.
pub const STYLE: &str = "body{font:15px/1.45 sans-serif;max-width:76em;margin:2em auto;padding:0 1em;color:#222}\
    h1{font-size:1.5em}h2{margin-top:2.2em;border-bottom:1px solid #ccc}h3{font-size:1em;margin-bottom:0}\
    table{border-collapse:collapse;margin:1em 0;font-size:13px}th,td{padding:.2em .7em;text-align:left;\
    border-bottom:1px solid #eee}th.n,td.n{text-align:right;font-variant-numeric:tabular-nums}\
    .simulated{background:#fff3cd;padding:.5em .8em}.bad{color:#b00020;font-weight:bold}.dim{color:#666}";

/// A table; a header that begins with `>` has numbers below it.
pub fn table(page: &mut String, headers: &[String], rows: &[Vec<String>]) {
    let class = |header: &String| {
        if header.starts_with('>') {
            " class=\"n\""
        } else {
            ""
        }
    };
    page.push_str("<table><thead><tr>");
    for header in headers {
        let _ = write!(
            page,
            "<th{}>{}</th>",
            class(header),
            escaped(header.trim_start_matches('>'))
        );
    }
    page.push_str("</tr></thead><tbody>\n");
    for row in rows {
        page.push_str("<tr>");
        for (header, cell) in headers.iter().zip(row) {
            let cell = match cell.as_str() {
                "NO" => "<span class=\"bad\">NO</span>".to_owned(),
                cell => escaped(cell),
            };
            let _ = write!(page, "<td{}>{cell}</td>", class(header));
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody></table>\n");
}

/// A text as it stands in a page.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// A time since 1970, UTC, to the second (ISO 8601).
pub fn date(nanoseconds: u64) -> String {
    let time = UNIX_EPOCH + Duration::from_nanos(nanoseconds);
    humantime::format_rfc3339_seconds(time).to_string()
}
