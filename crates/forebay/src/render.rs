// SPDX-License-Identifier: Apache-2.0
//! How reports look on a terminal: headings, tables, bars, numbers with units.

use std::fmt::{Display, Write};

pub use forebay_pipeline::units::{bytes, count};

use comfy_table::{Attribute, Cell, CellAlignment, ColumnConstraint, Table, Width, presets};
use owo_colors::{OwoColorize, Stream};

/// A report being put together.
#[derive(Debug, Default)]
pub struct Page {
    text: String,
}

impl Page {
    /// With a title, and to its right what must never be overlooked: that all is simulated.
    pub fn new(title: &str) -> Self {
        let mut page = Self::default();
        let note = "simulated: no hardware was involved";
        let gap = " ".repeat(78_usize.saturating_sub(title.chars().count() + note.len()));
        let title = title.if_supports_color(Stream::Stdout, |t| t.bold());
        let note = note.if_supports_color(Stream::Stdout, |t| t.dimmed());
        let _ = writeln!(page.text, "{title}{gap}{note}");
        page
    }

    /// With a title only: what it shows is real.
    pub fn of_hardware(title: &str) -> Self {
        let mut page = Self::default();
        let title = title.if_supports_color(Stream::Stdout, |t| t.bold());
        let _ = writeln!(page.text, "{title}");
        page
    }

    /// A line.
    pub fn line(&mut self, line: impl Display) -> &mut Self {
        let _ = writeln!(self.text, "{line}");
        self
    }

    /// A name and its value, indented.
    pub fn field(&mut self, name: &str, value: impl Display) -> &mut Self {
        let name = format!("{name:<10}");
        let name = name.if_supports_color(Stream::Stdout, |t| t.dimmed());
        let _ = writeln!(self.text, "  {name} {value}");
        self
    }

    /// A heading after an empty line.
    pub fn heading(&mut self, heading: &str) -> &mut Self {
        let heading = heading.if_supports_color(Stream::Stdout, |t| t.cyan());
        let _ = writeln!(self.text, "\n{heading}");
        self
    }

    /// A table, indented; the first column is text, the others are as [`Grid`] says.
    pub fn grid(&mut self, grid: Grid) -> &mut Self {
        for line in grid.table.lines() {
            let _ = writeln!(self.text, " {}", line.trim_end());
        }
        self
    }

    /// The verdict: a mark, and a sentence.
    pub fn verdict(&mut self, good: bool, sentence: impl Display) -> &mut Self {
        let mark = mark(good);
        let _ = writeln!(self.text, "\n{mark} {sentence}");
        self
    }

    /// Prints it.
    pub fn print(&self) {
        crate::report::say(&self.text);
    }
}

/// A tick or a cross.
pub fn mark(good: bool) -> String {
    if good {
        "✓"
            .if_supports_color(Stream::Stdout, |t| t.green())
            .to_string()
    } else {
        "✗"
            .if_supports_color(Stream::Stdout, |t| t.red())
            .to_string()
    }
}

/// A table without lines, with a dim header.
#[derive(Debug)]
pub struct Grid {
    table: Table,
}

impl Grid {
    /// With these column headers; one that begins with `>` has its column set to the right.
    pub fn new(headers: &[&str]) -> Self {
        let mut table = Table::new();
        table.load_preset(presets::NOTHING);
        // The rest of a page asks the same of the terminal and of --color.
        let dim = ""
            .if_supports_color(Stream::Stdout, |t| t.dimmed())
            .to_string();
        match dim.is_empty() {
            true => table.force_no_tty(),
            false => table.enforce_styling(),
        };
        table.set_header(
            headers.iter().map(|header| {
                Cell::new(header.trim_start_matches('>')).add_attribute(Attribute::Dim)
            }),
        );
        for (column, header) in table.column_iter_mut().zip(headers) {
            if header.starts_with('>') {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        Self { table }
    }

    /// Wraps column `index` at this many characters.
    #[must_use]
    pub fn wrap(mut self, index: usize, width: u16) -> Self {
        if let Some(column) = self.table.column_mut(index) {
            column.set_constraint(ColumnConstraint::UpperBoundary(Width::Fixed(width)));
        }
        self
    }

    /// Adds a row.
    pub fn row<T: ToString>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.table
            .add_row(cells.into_iter().map(|cell| cell.to_string()));
    }
}

/// A bar whose length is a share (0 to 1) of `width` characters, in eighths.
pub fn bar(share: f64, width: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * width as f64 * 8.0).round() as usize;
    // What is there at all is seen.
    let eighths = if share > 0.0 { eighths.max(1) } else { 0 };
    let mut text = "█".repeat(eighths / 8);
    text.push_str(EIGHTHS[eighths % 8]);
    text.if_supports_color(Stream::Stdout, |t| t.cyan())
        .to_string()
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

/// A text of at most so many characters, cut behind a word where it is longer.
pub fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let head: String = text.chars().take(most.saturating_sub(2)).collect();
    let end = head.rfind(' ').unwrap_or(head.len());
    format!("{} …", head[..end].trim_end_matches([',', ':', ' ']))
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
    ratio.map_or("–".into(), |ratio| format!("{ratio:.3}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(16_777_216), "16,777,216");
        assert_eq!(bytes(512), "512 B");
        assert_eq!(bytes(8 << 20), "8.0 MiB");
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
        assert_eq!(bar(1.0, 3).matches('█').count(), 3);
        assert!(!bar(1e-9, 10).is_empty());
        assert!(bar(0.5, 3).contains('▌'));
        assert_eq!(bar(7.0, 2).matches('█').count(), 2);
    }
}
