// SPDX-License-Identifier: Apache-2.0
//! Cycles of a command over what is outstanding, and over the drives: two plots side by side.

use plotters::prelude::*;
use plotters::series::LineSeries;

use super::scale::{Over, Row, WORKS};
use crate::failure::Result;
use crate::svg::{self, Area, BLUE, Drawn, GREEN, GREY, ORANGE, PURPLE};

/// One for each work.
const COLOURS: [RGBColor; WORKS.len()] = [BLUE, ORANGE, GREEN, PURPLE];
/// Pixels.
const SIZE: (u32, u32) = (960, 420);
/// Pixels of a point, of a line, and of the broader one below it that says what cannot be less.
const POINT: i32 = 3;
const LINE: u32 = 2;
const BELOW: u32 = 8;

/// Draws them.
pub fn svg(rows: &[Row]) -> Result<String> {
    svg::text("bench scale", SIZE, |root| {
        root.fill(&WHITE)?;
        let (left, right) = root.split_horizontally(SIZE.0 / 2);
        plot(&left, rows, Over::Outstanding)?;
        plot(&right, rows, Over::Drives)
    })
}

fn plot(root: &Area<'_>, rows: &[Row], over: Over) -> Drawn {
    let (name, place): (_, fn(&Row) -> f64) = match over {
        Over::Outstanding => ("commands outstanding, one drive", |row| {
            row.outstanding.into()
        }),
        Over::Drives => ("drives", |row| row.drives.into()),
    };
    // Both plots have the same axis of cycles, so that they can be compared.
    let cycles = rows.iter().map(|row| row.cycles_per_command);
    let least = cycles.clone().fold(f64::INFINITY, f64::min).max(1.0);
    let (bottom, top) = (least / 2.0, 4.0 * cycles.fold(least, f64::max));
    let rows = || rows.iter().filter(move |row| row.over == over);
    let most = rows().map(place).fold(1.0, f64::max);
    let mut chart = ChartBuilder::on(root)
        .margin(10)
        .x_label_area_size(40)
        .y_label_area_size(56)
        .build_cartesian_2d(
            (1.0..most * 1.02).log_scale().base(2.0),
            (bottom..top).log_scale().base(2.0),
        )?;
    chart
        .configure_mesh()
        .x_desc(name)
        .y_desc("cycles per command (simulated)")
        .axis_desc_style(("sans-serif", 13))
        .label_style(("sans-serif", 12))
        .x_label_formatter(&|x| format!("{x:.0}"))
        .y_label_formatter(&|y| format!("{y:.0}"))
        .max_light_lines(0)
        .draw()?;
    for (work, colour) in WORKS.into_iter().zip(COLOURS) {
        let of = || rows().filter(move |row| row.work == work);
        let bound = of().map(|row| (place(row), row.bound));
        let below = GREY.mix(0.3).stroke_width(BELOW);
        chart.draw_series(LineSeries::new(bound, below))?;
        let points: Vec<_> = of()
            .map(|row| (place(row), row.cycles_per_command))
            .collect();
        let dots = points
            .iter()
            .map(|point| Circle::new(*point, POINT, colour.filled()));
        chart.draw_series(dots)?;
        chart
            .draw_series(LineSeries::new(points, colour.stroke_width(LINE)))?
            .label(work.title())
            .legend(move |(x, y)| Circle::new((x + 5, y), POINT, colour.filled()));
    }
    let none = std::iter::empty::<(f64, f64)>();
    let below = GREY.mix(0.3).stroke_width(BELOW);
    chart
        .draw_series(LineSeries::new(none, below))?
        .label("what cannot be less")
        .legend(move |(x, y)| PathElement::new([(x, y), (x + 10, y)], below));
    chart
        .configure_series_labels()
        .label_font(("sans-serif", 12))
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.8))
        .draw()
}
