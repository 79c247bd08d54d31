// SPDX-License-Identifier: Apache-2.0
//! Bars as SVG: one chart a load, one group of bars a design.

use plotters::prelude::*;

use crate::failure::Result;
use crate::svg::{self, Area, BLUE, Drawn, GREEN, GREY, ORANGE};
use forebay_lab::repro::{Figure, Row};

/// Takes a bar's height out of a row.
type Height = fn(&Row) -> Option<f64>;

/// What a bar is of, and its colour.
const SERIES: [(&str, RGBColor, Height); 4] = [
    ("published", GREY, |row| {
        row.published.as_ref().map(|published| published.value)
    }),
    ("model", BLUE, |row| row.model),
    ("ours (RTL)", ORANGE, |row| row.ours),
    ("their RTL", GREEN, |row| row.rtl),
];
/// Pixels.
const HEIGHT: u32 = 300;
const GROUP: u32 = 120;
const MARGIN: u32 = 160;
/// Share of a group that its bars take.
const FILLED: f64 = 0.8;
/// The axis above the greatest bar, where the legend is.
const HEADROOM: f64 = 1.45;
/// Characters of a label that fit under a group.
const LABEL: usize = 18;

/// Draws the rows of one load.
pub fn svg(figure: &Figure, rows: &[&Row]) -> Result<String> {
    let width = MARGIN + GROUP * rows.len() as u32;
    svg::text(&figure.id, (width, HEIGHT), |root| draw(root, figure, rows))
}

fn draw(root: &Area<'_>, figure: &Figure, rows: &[&Row]) -> Drawn {
    let used: Vec<_> = SERIES
        .iter()
        .filter(|(_, _, value)| rows.iter().any(|row| value(row).is_some()))
        .collect();
    let values = rows
        .iter()
        .flat_map(|row| used.iter().filter_map(|(_, _, value)| value(row)));
    let most = values.fold(0.0, f64::max).max(f64::MIN_POSITIVE) * HEADROOM;
    let mut chart = ChartBuilder::on(root)
        .margin(8)
        .x_label_area_size(40)
        .y_label_area_size(56)
        .build_cartesian_2d(0.0..rows.len() as f64, 0.0..most)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .disable_x_axis()
        .y_desc(figure.unit.as_str())
        .max_light_lines(0)
        .draw()?;
    let bar = FILLED / used.len().max(1) as f64;
    for (n, (name, colour, value)) in used.iter().enumerate() {
        let bars = rows.iter().enumerate().filter_map(|(group, row)| {
            let left = group as f64 + (1.0 - FILLED) / 2.0 + n as f64 * bar;
            let corners = [(left, 0.0), (left + bar * 0.92, value(row)?)];
            Some(Rectangle::new(corners, colour.filled()))
        });
        let colour = *colour;
        chart
            .draw_series(bars)?
            .label(*name)
            .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 10, y + 5)], colour.filled()));
        let numbers = rows.iter().enumerate().filter_map(|(group, row)| {
            let number = value(row)?;
            let middle = group as f64 + (1.0 - FILLED) / 2.0 + (n as f64 + 0.46) * bar;
            let style = ("sans-serif", 10).into_text_style(root);
            let style = style.pos(plotters::style::text_anchor::Pos::new(
                plotters::style::text_anchor::HPos::Center,
                plotters::style::text_anchor::VPos::Bottom,
            ));
            Some(Text::new(figure.number(number), (middle, number), style))
        });
        chart.draw_series(numbers)?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.8))
        .draw()?;
    labels(root, rows)
}

/// The designs, under their groups.
fn labels(root: &Area<'_>, rows: &[&Row]) -> Drawn {
    use plotters::style::text_anchor::{HPos, Pos, VPos};
    let style = ("sans-serif", 11).into_text_style(root);
    let style = style.pos(Pos::new(HPos::Center, VPos::Top));
    let (width, height) = root.dim_in_pixel();
    // The plot is what label area and margins leave.
    let (left, right) = (8.0 + 56.0, f64::from(width) - 8.0);
    for (group, row) in rows.iter().enumerate() {
        let x = left + (right - left) * (group as f64 + 0.5) / rows.len() as f64;
        for (line, text) in (0..2).zip(wrapped(&row.design)) {
            let y = height as i32 - 42 + 14 * line;
            root.draw(&Text::new(text, (x as i32, y), style.clone()))?;
        }
    }
    Ok(())
}

/// A text in lines that fit under a group; what is left after two is cut.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + word.chars().count() < LABEL => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_wrapped_at_words() {
        assert_eq!(wrapped("SNAcc, URAM"), ["SNAcc, URAM"]);
        assert_eq!(wrapped("SNAcc, on-board DRAM"), ["SNAcc, on-board", "DRAM"]);
        assert_eq!(wrapped(""), [""]);
    }
}
