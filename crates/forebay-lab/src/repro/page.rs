// SPDX-License-Identifier: Apache-2.0
//! All figures as one page of HTML.

use forebay_app::Result;
use forebay_draw::text::{Grid, or_dash};
use forebay_draw::{BLUE, Bars, GREEN, GREY, HtmlPage, ORANGE, Series};

use super::{Figure, Row};

/// Pixels of a chart: its height, a group of bars, and what is beside the groups.
const HEIGHT: u32 = 300;
const GROUP: u32 = 120;
const BESIDE: u32 = 160;

/// The page: what was published, modelled and measured, drawn and as tables.
///
/// # Errors
/// Where a chart cannot be drawn.
pub fn page(figures: &[Figure], version: &str, command_line: &str) -> Result<String> {
    let mut page = HtmlPage::new("Published figures, reproduced");
    page.warning(
        "Everything of ours is simulated: RTL cycle by cycle, models of drive and PCIe. What others \
         published was measured on hardware.",
    );
    page.remark(&format!("Forebay {version}, {command_line}"));
    for figure in figures {
        section(&mut page, figure)?;
    }
    Ok(page.finish())
}

fn section(page: &mut HtmlPage, figure: &Figure) -> Result<()> {
    // As text: a page that opens offline has no links to elsewhere.
    let link = figure.link.trim_start_matches("https://");
    let published = format!("{}, {} ({link})", figure.paper, figure.place);
    let drive = figure.profile.as_ref();
    let drive = drive.map(|profile| ("Drive", format!("profile {profile}")));
    let facts = [("Published", published), ("Model", figure.model_is.clone())];
    page.heading(2, &figure.title)
        .facts(facts.into_iter().chain(drive));
    let mut loads: Vec<&str> = figure.rows.iter().map(|row| row.load.as_str()).collect();
    loads.dedup();
    for load in loads {
        let rows: Vec<&Row> = figure.rows.iter().filter(|row| row.load == load).collect();
        page.figure(load, &chart(figure, &rows)?);
    }
    page.table(&figure.grid())
        .folded_table("What crossed each PCIe link", &traffic(figure))
        .folded_table("Where each published number is from", &said(figure))
        .folded_table(
            "Numbers of the model besides the profile's",
            &parameters(figure),
        );
    if !figure.sensitivities.is_empty() {
        let mut grid = Grid::new("10 % of | change most | >smaller, % | >greater, %");
        for one in &figure.sensitivities {
            let percent = |value: f64| format!("{value:+.1}");
            let (smaller, greater) = (percent(one.smaller_percent), percent(one.greater_percent));
            grid.row([&one.field, &one.row, &smaller, &greater]);
        }
        page.heading(3, "What depends on what was fitted")
            .table(&grid);
    }
    let of_rows = figure.rows.iter().filter_map(|row| row.note.as_ref());
    page.list(figure.notes.iter().chain(of_rows));
    Ok(())
}

/// The rows of one load: a group of bars for each design.
fn chart(figure: &Figure, rows: &[&Row]) -> Result<String> {
    let series = |name, colour, value: fn(&Row) -> Option<f64>| Series {
        name,
        colour,
        values: rows.iter().map(|row| value(row)).collect(),
    };
    let chart = Bars {
        size: (BESIDE + GROUP * rows.len() as u32, HEIGHT),
        unit: &figure.unit,
        what: "",
        labels: rows.iter().map(|row| row.design.clone()).collect(),
        series: vec![
            series("published", GREY, |row| {
                row.published.as_ref().map(|published| published.value)
            }),
            series("model", BLUE, |row| row.model),
            series("ours (RTL)", ORANGE, |row| row.ours),
            series("their RTL", GREEN, |row| row.rtl),
        ],
        number: &|value| figure.number(value),
    };
    Ok(chart.svg()?)
}

/// The published words behind the numbers.
fn said(figure: &Figure) -> Grid {
    let mut grid = Grid::new("load | design | says");
    for row in &figure.rows {
        let says = row.published.as_ref().map(|published| &published.says);
        if let Some(says) = says.filter(|says| !says.is_empty()) {
            grid.row([&row.load, &row.design, says]);
        }
    }
    grid
}

/// Numbers of the model that are no part of a profile.
fn parameters(figure: &Figure) -> Grid {
    let mut grid = Grid::new("number | >value | is | source");
    for one in &figure.parameters {
        grid.row([&one.field, &one.value.to_string(), &one.kind, &one.source]);
    }
    grid
}

/// What crossed each link, model and ours.
fn traffic(figure: &Figure) -> Grid {
    let headers = "row | of | link | >payload, B | >on the wire, B | >of the link, %";
    let mut grid = Grid::new(headers);
    for row in &figure.rows {
        let measured = [("model", &row.traffic), ("ours", &row.ours_traffic)];
        for (whose, traffic) in measured {
            let hops = traffic.iter().flat_map(|traffic| &traffic.hops);
            for hop in hops.filter(|hop| hop.messages > 0) {
                let share = hop.link_share.map(|share| format!("{:.1}", share * 100.0));
                grid.row([
                    format!("{}, {}", row.load, row.design),
                    whose.to_owned(),
                    format!("{} {}", hop.link, hop.direction),
                    hop.payload_bytes.to_string(),
                    hop.wire_bytes.to_string(),
                    or_dash(share),
                ]);
            }
        }
    }
    grid
}
