// SPDX-License-Identifier: Apache-2.0
//! Charts.

use plotters::coord::Shift;
use plotters::coord::ranged1d::Ranged;
use plotters::prelude::*;
use plotters::series::LineSeries;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// A colour.
pub type Colour = RGBColor;
/// Distinct without colour vision, too (Okabe and Ito), and a grey for what is not measured.
pub const BLUE: Colour = RGBColor(0, 114, 178);
/// See [`BLUE`].
pub const ORANGE: Colour = RGBColor(230, 159, 0);
/// See [`BLUE`].
pub const GREEN: Colour = RGBColor(0, 158, 115);
/// See [`BLUE`].
pub const PURPLE: Colour = RGBColor(204, 121, 167);
/// See [`BLUE`].
pub const GREY: Colour = RGBColor(120, 120, 120);

/// Pixels around a chart, below its bars, and left of them.
const MARGIN: i32 = 8;
const BELOW: i32 = 44;
const LEFT: i32 = 64;
/// Share of a group that its bars take.
const FILLED: f64 = 0.82;
/// The axis above the greatest value, and where a legend is, too.
const HEADROOM: f64 = 1.12;
const LEGEND: f64 = 1.5;
/// Pixels that a label of a group needs, and those of one of its characters.
const LABEL: f64 = 48.0;
const CHARACTER: f64 = 6.5;
/// Pixels of a point, of a line, and of the broader one that is its bound.
const POINT: i32 = 3;
const LINE: u32 = 2;
const BOUND: u32 = 8;

/// A chart that could not be drawn.
#[derive(Debug, thiserror::Error)]
#[error("drawing {what}: {why}")]
pub struct Error {
    what: String,
    why: String,
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

/// What `draw` draws on an area of this size; `what` is named where it fails.
fn svg(
    what: &str,
    size: (u32, u32),
    draw: impl FnOnce(&Area<'_>) -> Drawn,
) -> Result<String, Error> {
    let mut text = String::new();
    let root = SVGBackend::with_string(&mut text, size).into_drawing_area();
    draw(&root).map_err(|error| Error {
        what: what.to_owned(),
        why: error.to_string(),
    })?;
    drop(root);
    Ok(text)
}

/// Names of the series, in a corner.
fn legend<'a, 'b: 'a, X: Ranged, Y: Ranged>(
    chart: &mut ChartContext<'a, SVGBackend<'b>, Cartesian2d<X, Y>>,
) -> Drawn {
    chart
        .configure_series_labels()
        .label_font(("sans-serif", 12))
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.8))
        .draw()
}

/// A style of text that is centred at a place, above or below it.
fn centred(root: &Area<'_>, size: i32, vertical: VPos) -> TextStyle<'static> {
    let style = ("sans-serif", size).into_text_style(root);
    style.pos(Pos::new(HPos::Center, vertical))
}

/// A number with as many digits as an axis has room for.
fn number(value: f64) -> String {
    match value {
        0.0 => "0".into(),
        1e6.. => format!("{:.1}·10⁶", value * 1e-6),
        1000.0.. => format!("{},{:03}", value as u64 / 1000, value as u64 % 1000),
        10.0.. => format!("{value:.0}"),
        1.0.. => format!("{value:.1}"),
        0.01.. => format!("{value:.2}"),
        _ => format!("{value:.0e}"),
    }
}

/// Values of one kind.
#[derive(Clone, Debug)]
pub struct Series<'a> {
    /// Its name in the legend.
    pub name: &'a str,
    /// Its colour.
    pub colour: Colour,
    /// A value for each group or bin; none is not drawn.
    pub values: Vec<Option<f64>>,
}

impl Series<'_> {
    fn is_used(&self) -> bool {
        self.values.iter().any(Option::is_some)
    }
}

/// Groups of bars, each bar with its number.
pub struct Bars<'a> {
    /// Pixels.
    pub size: (u32, u32),
    /// What the values are.
    pub unit: &'a str,
    /// What the groups are; may be empty.
    pub what: &'a str,
    /// Under each group.
    pub labels: Vec<String>,
    /// A bar of each in a group.
    pub series: Vec<Series<'a>>,
    /// The number of a bar as text.
    pub number: &'a dyn Fn(f64) -> String,
}

impl Bars<'_> {
    /// Draws them.
    ///
    /// # Errors
    /// Where the drawing fails.
    pub fn svg(&self) -> Result<String, Error> {
        svg(self.unit, self.size, |root| self.draw(root))
    }

    fn draw(&self, root: &Area<'_>) -> Drawn {
        let used: Vec<_> = self.series.iter().filter(|one| one.is_used()).collect();
        let values = used.iter().flat_map(|one| one.values.iter().flatten());
        let most = values.copied().fold(f64::MIN_POSITIVE, f64::max);
        let headroom = if used.len() > 1 { LEGEND } else { HEADROOM };
        let mut chart = ChartBuilder::on(root)
            .margin(MARGIN)
            .x_label_area_size(BELOW)
            .y_label_area_size(LEFT)
            .build_cartesian_2d(0.0..self.labels.len().max(1) as f64, 0.0..most * headroom)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .disable_x_axis()
            .y_desc(self.unit)
            .y_label_formatter(&|value| number(*value))
            .y_labels(5)
            .max_light_lines(0)
            .draw()?;
        let width = FILLED / used.len().max(1) as f64;
        // Bars that are too low to be seen have a number all the same.
        let above = centred(root, 10, VPos::Bottom);
        for (at, one) in used.iter().enumerate() {
            let left = (1.0 - FILLED) / 2.0 + at as f64 * width;
            let values = || {
                let all = one.values.iter().enumerate();
                all.filter_map(move |(group, value)| Some((group as f64 + left, (*value)?)))
            };
            let colour = one.colour;
            chart
                .draw_series(values().map(|(left, value)| {
                    Rectangle::new([(left, 0.0), (left + width * 0.94, value)], colour.filled())
                }))?
                .label(one.name)
                .legend(move |(x, y)| {
                    Rectangle::new([(x, y - 5), (x + 10, y + 5)], colour.filled())
                });
            let numbers = values().filter(|(_, value)| *value > 0.0);
            chart.draw_series(numbers.map(|(left, value)| {
                let place = (left + width * 0.47, value);
                Text::new((self.number)(value), place, above.clone())
            }))?;
        }
        if used.len() > 1 {
            legend(&mut chart)?;
        }
        self.names(root)
    }

    /// The labels under the groups, as many as there is room for, and what they are.
    fn names(&self, root: &Area<'_>) -> Drawn {
        let style = centred(root, 11, VPos::Top);
        let (width, height) = root.dim_in_pixel();
        // The plot is what the area of labels and the margins leave.
        let (left, right) = (
            f64::from(LEFT + MARGIN),
            f64::from(width) - f64::from(MARGIN),
        );
        let group = (right - left) / self.labels.len().max(1) as f64;
        let every = (LABEL / group).ceil().max(1.0) as usize;
        let room = (group * every as f64 / CHARACTER) as usize;
        for (at, label) in self.labels.iter().enumerate().step_by(every) {
            let x = left + group * (at as f64 + 0.5);
            for (line, text) in (0..2).zip(wrapped(label, room)) {
                let y = height as i32 - BELOW - 2 + 14 * line;
                root.draw(&Text::new(text, (x as i32, y), style.clone()))?;
            }
        }
        if self.what.is_empty() {
            return Ok(());
        }
        let place = (((left + right) / 2.0) as i32, height as i32 - 24);
        root.draw(&Text::new(self.what.to_owned(), place, style))
    }
}

/// A text in lines of `room` characters; what is left after two is cut.
fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + word.chars().count() < room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Layers over time, one on the other.
pub struct Timeline<'a> {
    /// Pixels.
    pub size: (u32, u32),
    /// What the values are.
    pub unit: &'a str,
    /// Seconds of a bin.
    pub bin_seconds: f64,
    /// The layers, the lowest first: a value for each bin.
    pub layers: Vec<Series<'a>>,
}

impl Timeline<'_> {
    /// Draws them.
    ///
    /// # Errors
    /// Where the drawing fails.
    pub fn svg(&self) -> Result<String, Error> {
        svg(self.unit, self.size, |root| self.draw(root))
    }

    fn draw(&self, root: &Area<'_>) -> Drawn {
        let used: Vec<_> = self.layers.iter().filter(|one| one.is_used()).collect();
        let bins = used.iter().map(|one| one.values.len()).max().unwrap_or(1);
        // The top of each layer in each bin.
        let mut tops = vec![vec![0.0; bins]];
        for (at, layer) in used.iter().enumerate() {
            let value = |bin: usize| layer.values.get(bin).copied().flatten().unwrap_or(0.0);
            tops.push((0..bins).map(|bin| tops[at][bin] + value(bin)).collect());
        }
        let most = tops
            .iter()
            .flatten()
            .copied()
            .fold(f64::MIN_POSITIVE, f64::max);
        let headroom = if used.len() > 1 { LEGEND } else { HEADROOM };
        let (factor, name) = time_axis(self.bin_seconds * bins as f64);
        let step = self.bin_seconds * factor;
        let mut chart = ChartBuilder::on(root)
            .margin(MARGIN)
            .x_label_area_size(BELOW)
            .y_label_area_size(LEFT)
            .build_cartesian_2d(0.0..step * bins as f64, 0.0..most * headroom)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .x_desc(name)
            .y_desc(self.unit)
            .x_label_formatter(&|value| number(*value))
            .y_label_formatter(&|value| number(*value))
            .y_labels(5)
            .max_light_lines(0)
            .draw()?;
        for (layer, edges) in used.iter().zip(tops.windows(2)) {
            let colour = layer.colour;
            let drawn = (0..bins).filter(|bin| edges[1][*bin] > edges[0][*bin]);
            let bars = drawn.map(|bin| {
                let (left, right) = (bin as f64 * step, (bin + 1) as f64 * step);
                let corners = [(left, edges[0][bin]), (right, edges[1][bin])];
                Rectangle::new(corners, colour.filled())
            });
            chart
                .draw_series(bars)?
                .label(layer.name)
                .legend(move |(x, y)| {
                    Rectangle::new([(x, y - 5), (x + 10, y + 5)], colour.filled())
                });
        }
        if used.len() > 1 {
            legend(&mut chart)?;
        }
        Ok(())
    }
}

/// Factor and name of an axis of `seconds` seconds.
fn time_axis(seconds: f64) -> (f64, &'static str) {
    match seconds {
        ..1e-3 => (1e6, "µs since the first"),
        ..1.0 => (1e3, "ms since the first"),
        ..600.0 => (1.0, "s since the first"),
        ..36000.0 => (1.0 / 60.0, "minutes since the first"),
        _ => (1.0 / 3600.0, "hours since the first"),
    }
}

/// A measured line, and the one that it cannot be below.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its name in the legend.
    pub name: String,
    /// Its colour.
    pub colour: Colour,
    /// Places on both axes.
    pub points: Vec<(f64, f64)>,
    /// The same of what cannot be less.
    pub bound: Vec<(f64, f64)>,
}

/// Lines over logarithmic axes: plots side by side, with one vertical axis, so that they can be
/// compared.
pub struct Lines<'a> {
    /// Pixels of all plots.
    pub size: (u32, u32),
    /// What is measured.
    pub unit: &'a str,
    /// Of each plot what it is over, and its lines.
    pub plots: Vec<(&'a str, Vec<Line>)>,
}

impl Lines<'_> {
    /// Draws them.
    ///
    /// # Errors
    /// Where the drawing fails.
    pub fn svg(&self) -> Result<String, Error> {
        let lines = self.plots.iter().flat_map(|(_, lines)| lines);
        let values = lines.flat_map(|line| line.points.iter().map(|point| point.1));
        let least = values.clone().fold(f64::INFINITY, f64::min).max(1.0);
        let range = (least / 2.0, 4.0 * values.fold(least, f64::max));
        svg(self.unit, self.size, |root| {
            root.fill(&WHITE)?;
            let areas = root.split_evenly((1, self.plots.len().max(1)));
            let plots = areas.iter().zip(&self.plots);
            plots
                .into_iter()
                .try_for_each(|(area, (over, lines))| self.plot(area, over, lines, range))
        })
    }

    fn plot(&self, root: &Area<'_>, over: &str, lines: &[Line], range: (f64, f64)) -> Drawn {
        let places = lines.iter().flat_map(|line| &line.points);
        let most = places.map(|point| point.0).fold(1.0, f64::max);
        let mut chart = ChartBuilder::on(root)
            .margin(MARGIN)
            .x_label_area_size(BELOW)
            .y_label_area_size(LEFT)
            .build_cartesian_2d(
                (1.0..most * 1.02).log_scale().base(2.0),
                (range.0..range.1).log_scale().base(2.0),
            )?;
        chart
            .configure_mesh()
            .x_desc(over)
            .y_desc(self.unit)
            .axis_desc_style(("sans-serif", 13))
            .label_style(("sans-serif", 12))
            .x_label_formatter(&|x| format!("{x:.0}"))
            .y_label_formatter(&|y| format!("{y:.0}"))
            .max_light_lines(0)
            .draw()?;
        let below = GREY.mix(0.3).stroke_width(BOUND);
        for line in lines {
            let colour = line.colour;
            chart.draw_series(LineSeries::new(line.bound.iter().copied(), below))?;
            let dots = line.points.iter();
            chart.draw_series(dots.map(|at| Circle::new(*at, POINT, colour.filled())))?;
            let points = line.points.iter().copied();
            chart
                .draw_series(LineSeries::new(points, colour.stroke_width(LINE)))?
                .label(line.name.as_str())
                .legend(move |(x, y)| Circle::new((x + 5, y), POINT, colour.filled()));
        }
        chart
            .draw_series(LineSeries::new(std::iter::empty::<(f64, f64)>(), below))?
            .label("what cannot be less")
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 10, y)], below));
        legend(&mut chart)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_wrapped_at_words() {
        assert_eq!(wrapped("SNAcc, URAM", 18), ["SNAcc, URAM"]);
        assert_eq!(
            wrapped("SNAcc, on-board DRAM", 18),
            ["SNAcc, on-board", "DRAM"]
        );
        assert_eq!(wrapped("", 18), [""]);
    }

    #[test]
    fn a_chart_of_nothing_is_drawn() {
        let number = |value: f64| value.to_string();
        let bars = Bars {
            size: (300, 200),
            unit: "extents",
            what: "",
            labels: Vec::new(),
            series: Vec::new(),
            number: &number,
        };
        let timeline = Timeline {
            size: (300, 200),
            unit: "MB/s",
            bin_seconds: 1.0,
            layers: Vec::new(),
        };
        let lines = Lines {
            size: (300, 200),
            unit: "cycles",
            plots: Vec::new(),
        };
        for drawn in [bars.svg(), timeline.svg(), lines.svg()] {
            assert!(drawn.expect("drawn").starts_with("<svg"));
        }
    }

    #[test]
    fn a_value_that_is_missing_has_no_bar() {
        let number = |value: f64| format!("n{value}");
        let bars = |values| Bars {
            size: (300, 200),
            unit: "GB/s",
            what: "",
            labels: vec!["a".into(), "b".into()],
            series: vec![Series {
                name: "ours",
                colour: BLUE,
                values,
            }],
            number: &number,
        };
        let drawn = bars(vec![Some(3.0), None]).svg().expect("drawn");
        assert!(drawn.contains("n3") && drawn.matches(">\nn").count() == 1);
    }
}
