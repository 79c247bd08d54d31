// SPDX-License-Identifier: Apache-2.0
//! A page of text as plain data: headings, tables, fields, a verdict. A program decides how it
//! looks; numbers as people read them.

use std::fmt::Display;

/// A page of text: what is on it, in order.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// Its title.
    pub title: String,
    /// No hardware was involved, which must never be overlooked.
    pub simulated: bool,
    /// What follows.
    pub items: Vec<Item>,
}

/// A part of a page.
#[derive(Clone, Debug)]
pub enum Item {
    /// A line as it is.
    Line(String),
    /// A name and its value.
    Field(String, String),
    /// A heading.
    Heading(String),
    /// A table.
    Grid(Grid),
    /// Whether all is as it should be, and a sentence.
    Verdict(bool, String),
}

impl Page {
    /// A page on a simulation.
    pub fn simulated(title: &str) -> Self {
        Self {
            simulated: true,
            ..Self::of_hardware(title)
        }
    }

    /// A page on devices or files of this machine.
    pub fn of_hardware(title: &str) -> Self {
        Self {
            title: title.to_owned(),
            ..Self::default()
        }
    }

    fn push(&mut self, item: Item) -> &mut Self {
        self.items.push(item);
        self
    }

    /// Adds a line.
    pub fn line(&mut self, line: impl Display) -> &mut Self {
        self.push(Item::Line(line.to_string()))
    }

    /// Adds a name and its value.
    pub fn field(&mut self, name: &str, value: impl Display) -> &mut Self {
        self.push(Item::Field(name.to_owned(), value.to_string()))
    }

    /// Adds a heading.
    pub fn heading(&mut self, heading: &str) -> &mut Self {
        self.push(Item::Heading(heading.to_owned()))
    }

    /// Adds a table.
    pub fn grid(&mut self, grid: Grid) -> &mut Self {
        self.push(Item::Grid(grid))
    }

    /// Adds the verdict: a mark, and a sentence.
    pub fn verdict(&mut self, good: bool, sentence: impl Display) -> &mut Self {
        self.push(Item::Verdict(good, sentence.to_string()))
    }
}

/// A table.
#[derive(Clone, Debug, Default)]
pub struct Grid {
    /// Its headers; one that begins with `>` has its column set to the right.
    pub headers: Vec<String>,
    /// The cells of each row.
    pub rows: Vec<Vec<String>>,
    /// A column that is wrapped, and at how many characters.
    pub wrapped: Option<(usize, u16)>,
}

impl Grid {
    /// With these column headers, `|` between them; one that begins with `>` has its column set to
    /// the right.
    pub fn new(headers: &str) -> Self {
        Self::of(headers.split('|').map(|one| one.trim().to_owned()))
    }

    /// The same of headers that are put together.
    pub fn of(headers: impl IntoIterator<Item = String>) -> Self {
        Self {
            headers: headers.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Wraps column `index` at this many characters.
    pub fn wrap(self, index: usize, width: u16) -> Self {
        Self {
            wrapped: Some((index, width)),
            ..self
        }
    }

    /// Adds a row.
    pub fn row<T: ToString>(&mut self, cells: impl IntoIterator<Item = T>) {
        let cells = cells.into_iter().map(|cell| cell.to_string());
        self.rows.push(cells.collect());
    }
}

/// A tick or a cross.
pub const fn mark(good: bool) -> &'static str {
    if good { "✓" } else { "✗" }
}

/// A bar whose length is a share (0 to 1) of `width` characters, in eighths.
pub fn bar(share: f64, width: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * width as f64 * 8.0).round() as usize;
    // Anything above zero is seen.
    let eighths = if share > 0.0 { eighths.max(1) } else { 0 };
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

/// A time with a fitting unit: `31.4 ms`, `820 ns`.
pub fn seconds(time: f64) -> String {
    let (number, unit) = match time {
        t if t >= 1.0 => (t, "s"),
        t if t >= 1e-3 => (t * 1e3, "ms"),
        t if t >= 1e-6 => (t * 1e6, "us"),
        t => (t * 1e9, "ns"),
    };
    if number >= 100.0 {
        format!("{number:.0} {unit}")
    } else {
        format!("{number:.1} {unit}")
    }
}

/// A text of at most `most` characters, cut behind a word where it is longer.
pub fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let head: String = text.chars().take(most.saturating_sub(2)).collect();
    let end = head.rfind(' ').unwrap_or(head.len());
    format!("{} …", head[..end].trim_end_matches([',', ':', ' ']))
}

/// A value, or a dash where there is none.
pub fn or_dash(value: Option<impl ToString>) -> String {
    value.map_or("–".into(), |value| value.to_string())
}

/// A rate; where nothing took any time there is none.
pub fn rate(rate: f64) -> String {
    if rate > 0.0 {
        format!("{rate:.2}")
    } else {
        "∞".into()
    }
}

/// A ratio, or a dash where there is none.
pub fn ratio(ratio: Option<f64>) -> String {
    or_dash(ratio.map(|ratio| format!("{ratio:.3}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(seconds(0.0314), "31.4 ms");
        assert_eq!(seconds(8.2e-7), "820 ns");
        assert_eq!(seconds(2.0), "2.0 s");
        assert_eq!(ratio(None), "–");
        assert_eq!(shortened("one, two, three", 15), "one, two, three");
        assert_eq!(shortened("one, two, three", 14), "one, two …");
        assert_eq!(shortened("einszweidrei", 6), "eins …");
    }

    #[test]
    fn bars_have_their_length() {
        assert_eq!(bar(0.0, 10), "");
        assert_eq!(bar(1.0, 3), "███");
        assert_eq!(bar(1e-9, 10), "▏");
        assert!(bar(0.5, 3).contains('▌'));
        assert_eq!(bar(7.0, 2), "██");
    }
}
