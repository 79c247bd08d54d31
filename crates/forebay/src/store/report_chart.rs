// SPDX-License-Identifier: Apache-2.0
//! Charts of a recording.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::statistics::{Bar, Bin, Class, Statistics};
use crate::failure::Result;
use crate::render;
use crate::svg::{self, Area, BLUE, Drawn, GREEN, ORANGE, PURPLE};

/// Pixels.
const WIDE: (u32, u32) = (960, 260);
const LOW: (u32, u32) = (960, 150);
const HALF: (u32, u32) = (470, 260);
/// The axis above the greatest value, and where a legend is, too.
const HEADROOM: f64 = 1.12;
const LEGEND: f64 = 1.5;
/// Classes that have a bar.
const CLASSES: usize = 16;
/// Share of its place that a bar takes.
const FILLED: f64 = 0.84;
/// Most labels of bars.
const LABELS: usize = 9;

/// A layer of a time line: what it is, its colour, its value.
type Layer = (&'static str, RGBColor, fn(&Bin) -> u64);

const BYTES: [Layer; 3] = [
    ("stored", BLUE, |bin| bin.stored_bytes),
    ("no room", ORANGE, |bin| bin.skipped_bytes),
    ("not taken by the drive", PURPLE, |bin| bin.failed_bytes),
];
const MISSING: [Layer; 1] = [("missing frames", ORANGE, |bin| bin.missing)];

/// Bytes a second over time.
pub fn rate(all: &Statistics) -> Result<String> {
    let seconds = all.bin_ns as f64 * 1e-9;
    svg::text("the rate", WIDE, |root| {
        time_line(root, all, &BYTES, "MB/s", 1e-6 / seconds)
    })
}

/// Missing frames over time.
pub fn gaps(all: &Statistics) -> Result<String> {
    svg::text("the gaps", LOW, |root| {
        time_line(root, all, &MISSING, "frames", 1.0)
    })
}

fn time_line(root: &Area<'_>, all: &Statistics, layers: &[Layer], unit: &str, scale: f64) -> Drawn {
    let used: Vec<_> = layers
        .iter()
        .filter(|layer| all.bins.iter().any(|bin| layer.2(bin) > 0))
        .collect();
    let height = |bin: &Bin| -> f64 { used.iter().map(|layer| layer.2(bin) as f64 * scale).sum() };
    let most = all.bins.iter().map(height).fold(0.0, f64::max);
    let headroom = if used.len() > 1 { LEGEND } else { HEADROOM };
    let step = all.bin_ns as f64 * 1e-9;
    let (factor, name) = axis(step * all.bins.len() as f64);
    let mut chart = ChartBuilder::on(root)
        .margin(8)
        .x_label_area_size(38)
        .y_label_area_size(64)
        .build_cartesian_2d(
            0.0..step * factor * all.bins.len() as f64,
            0.0..(most * headroom).max(f64::MIN_POSITIVE),
        )?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_desc(name)
        .y_desc(unit)
        .y_label_formatter(&|value| number(*value))
        .x_label_formatter(&|value| number(*value))
        .y_labels(5)
        .max_light_lines(0)
        .draw()?;
    let mut below = vec![0.0; all.bins.len()];
    for (name, colour, value) in used.iter().map(|layer| **layer) {
        let bars = all.bins.iter().zip(&mut below).enumerate();
        let bars: Vec<_> = bars
            .filter(|(_, (bin, _))| value(bin) > 0)
            .map(|(at, (bin, below))| {
                let from = *below;
                *below += value(bin) as f64 * scale;
                let (left, right) = (at as f64 * step * factor, (at + 1) as f64 * step * factor);
                Rectangle::new([(left, from), (right, *below)], colour.filled())
            })
            .collect();
        chart
            .draw_series(bars)?
            .label(name)
            .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 10, y + 5)], colour.filled()));
    }
    if used.len() > 1 {
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .background_style(WHITE.mix(0.85))
            .label_font(("sans-serif", 12))
            .draw()?;
    }
    Ok(())
}

/// Factor and name of an axis of so many seconds.
fn axis(seconds: f64) -> (f64, &'static str) {
    match seconds {
        ..1e-3 => (1e6, "µs since the first"),
        ..1.0 => (1e3, "ms since the first"),
        ..600.0 => (1.0, "s since the first"),
        ..36000.0 => (1.0 / 60.0, "minutes since the first"),
        _ => (1.0 / 3600.0, "hours since the first"),
    }
}

/// A number with as many digits as an axis has room for.
fn number(value: f64) -> String {
    match value {
        0.0 => "0".into(),
        1e6.. => format!("{:.1}·10⁶", value * 1e-6),
        10.0.. => render::count(value.round() as u64),
        1.0.. => format!("{value:.1}"),
        0.01.. => format!("{value:.2}"),
        _ => format!("{value:.0e}"),
    }
}

/// A count in at most five characters.
fn short(count: u64) -> String {
    match count {
        0..10_000 => count.to_string(),
        10_000..10_000_000 => format!("{} k", count / 1000),
        _ => format!("{} M", count / 1_000_000),
    }
}

/// Extents by bytes.
pub fn sizes(all: &Statistics) -> Result<String> {
    let label = |from| {
        if from == 0 {
            "0".into()
        } else {
            render::bytes(from)
        }
    };
    histogram(&all.sizes, "payload, from … on", GREEN, label)
}

/// Extents by time since the one before.
pub fn intervals(all: &Statistics) -> Result<String> {
    let label = |from: u64| match from {
        0 => "0".into(),
        from => render::seconds(from as f64 * 1e-9),
    };
    histogram(
        &all.intervals,
        "time since the one before, from … on",
        BLUE,
        label,
    )
}

fn histogram(
    bars: &[Bar],
    what: &str,
    colour: RGBColor,
    label: impl Fn(u64) -> String,
) -> Result<String> {
    let named: Vec<_> = bars
        .iter()
        .map(|bar| (label(bar.from), bar.count))
        .collect();
    svg::text(what, HALF, |root| columns(root, &named, what, colour))
}

/// The most frequent classes.
pub fn classes(all: &[Class]) -> Result<String> {
    let mut shown: Vec<_> = all.iter().take(CLASSES).collect();
    shown.sort_by_key(|class| class.class);
    let bars = shown
        .iter()
        .map(|class| (class.class.to_string(), class.extents));
    let bars: Vec<_> = bars.collect();
    svg::text("the classes", HALF, |root| {
        columns(root, &bars, "class", PURPLE)
    })
}

fn columns(root: &Area<'_>, bars: &[(String, u64)], what: &str, colour: RGBColor) -> Drawn {
    let most = bars.iter().map(|bar| bar.1).fold(1, u64::max) as f64;
    let mut chart = ChartBuilder::on(root)
        .margin(8)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(0.0..bars.len().max(1) as f64, 0.0..most * HEADROOM)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .disable_x_axis()
        .y_desc("extents")
        .y_label_formatter(&|value| number(*value))
        .y_labels(5)
        .max_light_lines(0)
        .draw()?;
    let gap = (1.0 - FILLED) / 2.0;
    chart.draw_series(bars.iter().enumerate().map(|(at, bar)| {
        let left = at as f64 + gap;
        Rectangle::new(
            [(left, 0.0), (left + FILLED, bar.1 as f64)],
            colour.filled(),
        )
    }))?;
    // Bars that are too low to be seen have a number all the same.
    let above = ("sans-serif", 10).into_text_style(root);
    let above = above.pos(Pos::new(HPos::Center, VPos::Bottom));
    let counted = bars.iter().enumerate().filter(|(_, bar)| bar.1 > 0);
    chart.draw_series(counted.map(|(at, bar)| {
        let place = (at as f64 + 0.5, bar.1 as f64);
        Text::new(short(bar.1), place, above.clone())
    }))?;
    let (width, height) = root.dim_in_pixel();
    let style = ("sans-serif", 11).into_text_style(root);
    let style = style.pos(Pos::new(HPos::Center, VPos::Top));
    let (left, right) = (8.0 + 64.0, f64::from(width) - 8.0);
    let every = bars.len().div_ceil(LABELS).max(1);
    for (at, bar) in bars.iter().enumerate().step_by(every) {
        let x = left + (right - left) * (at as f64 + 0.5) / bars.len() as f64;
        root.draw(&Text::new(
            bar.0.clone(),
            (x as i32, height as i32 - 46),
            style.clone(),
        ))?;
    }
    let middle = ((left + right) / 2.0) as i32;
    root.draw(&Text::new(
        what.to_owned(),
        (middle, height as i32 - 24),
        style,
    ))
}
