// SPDX-License-Identifier: Apache-2.0
//! How a page of text looks on a terminal.

use std::fmt::Write;

use comfy_table::{Attribute, Cell, CellAlignment, ColumnConstraint, Table, Width, presets};
use forebay_draw::text::{Grid, Item, Page, mark};
use owo_colors::{OwoColorize, Stream};

/// The columns of a page.
const WIDTH: usize = 78;

/// A page as it is printed.
pub fn text(page: &Page) -> String {
    let mut text = String::new();
    let title = page.title.if_supports_color(Stream::Stdout, |t| t.bold());
    let _ = match page.simulated {
        true => {
            let note = "simulated: no hardware was involved";
            let used = page.title.chars().count() + note.len();
            let gap = " ".repeat(WIDTH.saturating_sub(used));
            let note = note.if_supports_color(Stream::Stdout, |t| t.dimmed());
            writeln!(text, "{title}{gap}{note}")
        }
        false => writeln!(text, "{title}"),
    };
    for item in &page.items {
        let _ = match item {
            Item::Line(line) => writeln!(text, "{}", coloured(line)),
            Item::Field(name, value) => {
                let name = format!("{name:<10}");
                let name = name.if_supports_color(Stream::Stdout, |t| t.dimmed());
                writeln!(text, "  {name} {value}")
            }
            Item::Heading(heading) => {
                let heading = heading.if_supports_color(Stream::Stdout, |t| t.cyan());
                writeln!(text, "\n{heading}")
            }
            Item::Grid(grid) => table(grid)
                .lines()
                .try_for_each(|line| writeln!(text, " {}", line.trim_end())),
            Item::Verdict(good, sentence) => {
                writeln!(text, "\n{} {sentence}", coloured(mark(*good)))
            }
        };
    }
    text
}

/// Marks in their colours, a bar in that of a heading.
fn coloured(text: &str) -> String {
    let (good, bad) = (mark(true), mark(false));
    if text.starts_with(['█', '▏', '▎', '▍', '▌', '▋', '▊', '▉']) {
        return text
            .if_supports_color(Stream::Stdout, |t| t.cyan())
            .to_string();
    }
    let green = good.if_supports_color(Stream::Stdout, |t| t.green());
    let red = bad.if_supports_color(Stream::Stdout, |t| t.red());
    text.replace(good, &green.to_string())
        .replace(bad, &red.to_string())
}

/// A table without lines, with a dim header.
fn table(grid: &Grid) -> Table {
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
    let headers = grid.headers.iter();
    table.set_header(
        headers.map(|name| Cell::new(name.trim_start_matches('>')).add_attribute(Attribute::Dim)),
    );
    for (column, header) in table.column_iter_mut().zip(&grid.headers) {
        if header.starts_with('>') {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    if let Some((index, width)) = grid.wrapped
        && let Some(column) = table.column_mut(index)
    {
        column.set_constraint(ColumnConstraint::UpperBoundary(Width::Fixed(width)));
    }
    for row in &grid.rows {
        table.add_row(row.iter().map(|cell| coloured(cell)));
    }
    table
}
