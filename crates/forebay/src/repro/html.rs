// SPDX-License-Identifier: Apache-2.0
//! All figures as one page of HTML that needs nothing else: no script, no font, no network. It is
//! well-formed XML, too.

use std::fmt::Write as _;

use super::Report;
use super::chart;
use crate::failure::Result;
use crate::html::{STYLE, escaped, table};
use forebay_lab::repro::{Figure, Parameter, Row};

/// The page.
pub fn page(report: &Report) -> Result<String> {
    let mut page = String::new();
    let _ = write!(
        page,
        "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\
         <meta charset=\"utf-8\"/><title>Forebay: published figures, reproduced</title>\
         <style>{STYLE}</style></head>\n<body>\n<h1>Published figures, reproduced</h1>\n\
         <p class=\"simulated\">Everything of ours is simulated: RTL cycle by cycle, models of drive and PCIe. \
         What others published was measured on hardware.</p>\n<p class=\"dim\">Forebay {}, <code>{}</code></p>\n",
        escaped(report.version),
        escaped(&report.command_line.join(" "))
    );
    for figure in &report.figures {
        section(&mut page, figure)?;
    }
    page.push_str("</body>\n</html>\n");
    Ok(page)
}

fn section(page: &mut String, figure: &Figure) -> Result<()> {
    let _ = writeln!(
        page,
        "<h2 id=\"{}\">{}</h2>",
        escaped(&figure.id),
        escaped(&figure.title)
    );
    let _ = writeln!(
        page,
        "<p><b>Published:</b> {}, {} ({}).<br/><b>Model:</b> {}.{}</p>",
        escaped(&figure.paper),
        escaped(&figure.place),
        // As text: a page that opens offline has no links to elsewhere.
        escaped(figure.link.trim_start_matches("https://")),
        escaped(&figure.model_is),
        figure.profile.as_ref().map_or_else(String::new, |profile| {
            format!("<br/><b>Drive:</b> profile {}.", escaped(profile))
        })
    );
    let mut loads: Vec<&str> = figure.rows.iter().map(|row| row.load.as_str()).collect();
    loads.dedup();
    for load in loads {
        let rows: Vec<&Row> = figure.rows.iter().filter(|row| row.load == load).collect();
        let unit = if figure.unit.is_empty() {
            String::new()
        } else {
            format!(", {}", figure.unit)
        };
        let _ = writeln!(page, "<h3>{}{}</h3>", escaped(load), escaped(&unit));
        page.push_str(&chart::svg(figure, &rows)?);
        page.push('\n');
    }
    let (headers, rows) = figure.cells();
    table(page, &headers, &rows);
    traffic(page, figure);
    said(page, figure);
    parameters(page, &figure.parameters);
    if !figure.sensitivities.is_empty() {
        let headers = ["10 % of", "change most", ">smaller, %", ">greater, %"].map(str::to_owned);
        let rows = figure.sensitivities.iter().map(|one| {
            let percent = |value: f64| format!("{value:+.1}");
            let (smaller, greater) = (percent(one.smaller_percent), percent(one.greater_percent));
            vec![one.field.clone(), one.row.clone(), smaller, greater]
        });
        page.push_str("<h3>What depends on what was fitted</h3>");
        table(page, &headers, &rows.collect::<Vec<_>>());
    }
    page.push_str("<ul>");
    let of_rows = figure.rows.iter().filter_map(|row| row.note.as_ref());
    for note in figure.notes.iter().chain(of_rows) {
        let _ = write!(page, "<li>{}</li>", escaped(note));
    }
    page.push_str("</ul>\n");
    Ok(())
}

/// The published words behind the numbers, and where the model's numbers stand.
fn said(page: &mut String, figure: &Figure) {
    let rows = figure.rows.iter().filter_map(|row| {
        let published = row
            .published
            .as_ref()
            .filter(|published| !published.says.is_empty())?;
        Some(vec![
            row.load.clone(),
            row.design.clone(),
            published.says.clone(),
        ])
    });
    let rows: Vec<_> = rows.collect();
    if !rows.is_empty() {
        page.push_str("<details><summary>Where each published number is from</summary>");
        table(page, &["load", "design", "says"].map(str::to_owned), &rows);
        page.push_str("</details>\n");
    }
}

fn parameters(page: &mut String, parameters: &[Parameter]) {
    if parameters.is_empty() {
        return;
    }
    let rows = parameters.iter().map(|one| {
        vec![
            one.field.clone(),
            one.value.to_string(),
            one.kind.clone(),
            one.source.clone(),
        ]
    });
    page.push_str("<details><summary>Numbers of the model besides the profile's</summary>");
    let headers = ["number", ">value", "is", "source"].map(str::to_owned);
    table(page, &headers, &rows.collect::<Vec<_>>());
    page.push_str("</details>\n");
}

/// What crossed each link, model and ours.
fn traffic(page: &mut String, figure: &Figure) {
    let mut rows = Vec::new();
    for row in &figure.rows {
        let measured = [("model", &row.traffic), ("ours", &row.ours_traffic)];
        for (whose, traffic) in measured {
            for hop in traffic.iter().flat_map(|traffic| &traffic.hops) {
                if hop.messages > 0 {
                    rows.push(vec![
                        format!("{}, {}", row.load, row.design),
                        whose.to_owned(),
                        format!("{} {}", hop.link, hop.direction),
                        hop.payload_bytes.to_string(),
                        hop.wire_bytes.to_string(),
                        hop.link_share
                            .map_or("–".into(), |share| format!("{:.1}", share * 100.0)),
                    ]);
                }
            }
        }
    }
    if !rows.is_empty() {
        page.push_str("<details><summary>What crossed each PCIe link</summary>");
        let headers = [
            "row",
            "of",
            "link",
            ">payload, B",
            ">on the wire, B",
            ">of the link, %",
        ];
        table(page, &headers.map(str::to_owned), &rows);
        page.push_str("</details>\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        assert_eq!(escaped("a < b & \"c\""), "a &lt; b &amp; &quot;c&quot;");
    }
}
