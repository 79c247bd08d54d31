// SPDX-License-Identifier: Apache-2.0
//! Charts of a recording.

use forebay_draw::text::seconds;
use forebay_draw::{BLUE, Bars, Colour, GREEN, ORANGE, PURPLE, Series, Timeline};
use forebay_pipeline::units::bytes;
use forebay_store::Statistics;
use forebay_store::statistics::{Bar, Bin, Class};

use super::ClassNames;
use crate::failure::Result;

/// Pixels.
const WIDE: (u32, u32) = (960, 260);
const LOW: (u32, u32) = (960, 150);
const HALF: (u32, u32) = (470, 260);
/// Classes that have a bar.
const CLASSES: usize = 16;

/// A layer of a time line: what it is, its colour, its value.
type Layer = (&'static str, Colour, fn(&Bin) -> u64);

/// Bytes a second over time.
pub fn rate(all: &Statistics) -> Result<String> {
    let layers: [Layer; 3] = [
        ("stored", BLUE, |bin| bin.stored_bytes),
        ("no room", ORANGE, |bin| bin.skipped_bytes),
        ("not taken by the drive", PURPLE, |bin| bin.failed_bytes),
    ];
    time_line(all, WIDE, &layers, "MB/s", 1e3 / all.bin_ns as f64)
}

/// Missing frames over time.
pub fn gaps(all: &Statistics) -> Result<String> {
    let layers: [Layer; 1] = [("missing frames", ORANGE, |bin| bin.missing)];
    time_line(all, LOW, &layers, "frames", 1.0)
}

fn time_line(
    all: &Statistics,
    size: (u32, u32),
    layers: &[Layer],
    unit: &str,
    scale: f64,
) -> Result<String> {
    let layers = layers.iter().map(|(name, colour, value)| {
        let values = all.bins.iter().map(value);
        Series {
            name,
            colour: *colour,
            values: values
                .map(|value| (value > 0).then_some(value as f64 * scale))
                .collect(),
        }
    });
    let timeline = Timeline {
        size,
        unit,
        bin_seconds: all.bin_ns as f64 * 1e-9,
        layers: layers.collect(),
    };
    Ok(timeline.svg()?)
}

/// Extents by bytes.
pub fn sizes(all: &Statistics) -> Result<String> {
    histogram(&all.sizes, "payload, from … on", GREEN, bytes)
}

/// Extents by time since the one before.
pub fn intervals(all: &Statistics) -> Result<String> {
    let what = "time since the one before, from … on";
    let label = |from: u64| seconds(from as f64 * 1e-9);
    histogram(&all.intervals, what, BLUE, label)
}

fn histogram(
    bars: &[Bar],
    what: &str,
    colour: Colour,
    label: impl Fn(u64) -> String,
) -> Result<String> {
    let bars = bars.iter().map(|bar| match bar.from {
        0 => ("0".into(), bar.count),
        from => (label(from), bar.count),
    });
    columns(bars, what, colour, HALF)
}

/// The most frequent classes.
pub fn classes(all: &[Class], names: &ClassNames) -> Result<String> {
    let mut shown: Vec<_> = all.iter().take(CLASSES).collect();
    shown.sort_by_key(|class| class.class);
    let bars = shown.iter();
    let bars = bars.map(|class| (names.of(class.class), class.extents));
    let size = if names.is_empty() { HALF } else { WIDE };
    columns(bars, "class", PURPLE, size)
}

fn columns(
    bars: impl Iterator<Item = (String, u64)>,
    what: &str,
    colour: Colour,
    size: (u32, u32),
) -> Result<String> {
    let (labels, counts): (_, Vec<_>) = bars.unzip();
    let chart = Bars {
        size,
        unit: "extents",
        what,
        labels,
        series: vec![Series {
            name: "extents",
            colour,
            values: counts.iter().map(|count| Some(*count as f64)).collect(),
        }],
        number: &short,
    };
    Ok(chart.svg()?)
}

/// A count in at most five characters.
fn short(count: f64) -> String {
    match count as u64 {
        count @ 0..10_000 => count.to_string(),
        count @ 10_000..10_000_000 => format!("{} k", count / 1000),
        count => format!("{} M", count / 1_000_000),
    }
}
