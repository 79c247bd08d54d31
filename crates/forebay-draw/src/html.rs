// SPDX-License-Identifier: Apache-2.0
//! A page of HTML that is well-formed XML, too.

use std::fmt::Write as _;
use std::time::{Duration, UNIX_EPOCH};

use crate::picture::Picture;
use crate::text::Grid;

const STYLE: &str = "body{font:15px/1.45 sans-serif;max-width:76em;margin:2em auto;padding:0 1em;color:#222}\
    h1{font-size:1.5em}h2{margin-top:2.2em;border-bottom:1px solid #ccc}h3{font-size:1em;margin-bottom:0}\
    table{border-collapse:collapse;margin:1em 0;font-size:13px}th,td{padding:.2em .7em;text-align:left;\
    border-bottom:1px solid #eee}th.n,td.n{text-align:right;font-variant-numeric:tabular-nums}\
    .warn{background:#fff3cd;padding:.5em .8em}.bad{color:#b00020;font-weight:bold}.dim{color:#666}\
    .row{display:flex;flex-wrap:wrap;gap:1em}figure{margin:0}figcaption{font-weight:bold;font-size:13px}\
    .groups{gap:0 2.5em}.small{width:112px}.small figcaption{font-weight:normal;font-size:12px;color:#666}\
    .small img{border-radius:4px}\
    .tiles{display:flex;flex-wrap:wrap;gap:.8em}.tile{background:#f4f6f8;border-radius:4px;\
    padding:.5em .9em;min-width:7em}.tile b{display:block;font-size:1.25em}.tile.warn{background:#fff3cd}";

/// A number that is seen at a glance.
#[derive(Clone, Debug)]
pub struct Tile {
    /// The number, with its unit.
    pub value: String,
    /// What it is of.
    pub name: &'static str,
    /// It should have been nothing.
    pub warn: bool,
}

/// A page, written from its top to its end. All text is escaped.
#[derive(Debug)]
pub struct HtmlPage(String);

impl HtmlPage {
    /// One with this title, which is its heading, too.
    #[must_use]
    pub fn new(title: &str) -> Self {
        let title = escaped(title);
        Self(format!(
            "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\
             <meta charset=\"utf-8\"/><title>Forebay: {title}</title><style>{STYLE}</style></head>\n\
             <body>\n<h1>{title}</h1>\n"
        ))
    }

    /// A heading of level 2 or 3.
    pub fn heading(&mut self, level: u8, text: &str) -> &mut Self {
        self.element(&format!("h{level}"), "", text)
    }

    /// A paragraph.
    pub fn paragraph(&mut self, text: &str) -> &mut Self {
        self.element("p", "", text)
    }

    /// One that is less important.
    pub fn remark(&mut self, text: &str) -> &mut Self {
        self.element("p", "dim", text)
    }

    /// One that must be seen.
    pub fn warning(&mut self, text: &str) -> &mut Self {
        self.element("p", "warn", text)
    }

    fn element(&mut self, name: &str, class: &str, text: &str) -> &mut Self {
        let text = escaped(text);
        let _ = match class {
            "" => writeln!(self.0, "<{name}>{text}</{name}>"),
            class => writeln!(self.0, "<{name} class=\"{class}\">{text}</{name}>"),
        };
        self
    }

    /// Names and what they are, one a line.
    pub fn facts<'f>(&mut self, facts: impl IntoIterator<Item = (&'f str, String)>) -> &mut Self {
        self.0.push_str("<p>");
        for (name, text) in facts {
            let _ = write!(self.0, "<b>{}:</b> {}<br/>", escaped(name), escaped(&text));
        }
        self.0.push_str("</p>\n");
        self
    }

    /// Items of a list.
    pub fn list<'t>(&mut self, items: impl IntoIterator<Item = &'t String>) -> &mut Self {
        self.0.push_str("<ul>\n");
        for item in items {
            self.element("li", "", item);
        }
        self.0.push_str("</ul>\n");
        self
    }

    /// Numbers that are seen at a glance.
    pub fn tiles(&mut self, tiles: impl IntoIterator<Item = Tile>) -> &mut Self {
        self.0.push_str("<div class=\"tiles\">\n");
        for tile in tiles {
            let class = if tile.warn { "tile warn" } else { "tile" };
            let (value, name) = (escaped(&tile.value), escaped(tile.name));
            let _ = writeln!(self.0, "<div class=\"{class}\"><b>{value}</b>{name}</div>");
        }
        self.0.push_str("</div>\n");
        self
    }

    /// A chart, as SVG.
    pub fn figure(&mut self, caption: &str, svg: &str) -> &mut Self {
        let caption = escaped(caption);
        let _ = writeln!(
            self.0,
            "<figure><figcaption>{caption}</figcaption>\n{svg}</figure>"
        );
        self
    }

    /// Charts beside each other: a caption and SVG of each.
    pub fn figures<'f>(
        &mut self,
        figures: impl IntoIterator<Item = (&'f str, String)>,
    ) -> &mut Self {
        self.0.push_str("<div class=\"row\">\n");
        for (caption, svg) in figures {
            self.figure(caption, &svg);
        }
        self.0.push_str("</div>\n");
        self
    }

    /// Groups of pictures: a heading, and pictures with their captions beside each other.
    pub fn gallery(
        &mut self,
        groups: impl IntoIterator<Item = (String, Vec<(Picture, String)>)>,
    ) -> &mut Self {
        self.0.push_str("<div class=\"row groups\">\n");
        for (heading, pictures) in groups {
            self.0.push_str("<div>");
            self.heading(3, &heading);
            self.0.push_str("<div class=\"row\">\n");
            for (picture, caption) in &pictures {
                self.picture(picture, &escaped(caption));
            }
            self.0.push_str("</div></div>\n");
        }
        self.0.push_str("</div>\n");
        self
    }

    fn picture(&mut self, picture: &Picture, caption: &str) {
        let ((width, height), url) = (picture.size, &picture.url);
        let (of_width, of_height) = picture.of;
        let _ = writeln!(
            self.0,
            "<figure class=\"small\" title=\"{of_width} × {of_height} pixels\"><img src=\"{url}\" \
             width=\"{width}\" height=\"{height}\" alt=\"{caption}\"/>\
             <figcaption>{caption}</figcaption></figure>"
        );
    }

    /// A table. `NO` stands out.
    pub fn table(&mut self, grid: &Grid) -> &mut Self {
        let class = |header: &str| match header.starts_with('>') {
            true => " class=\"n\"",
            false => "",
        };
        self.0.push_str("<table><thead><tr>");
        for header in &grid.headers {
            let name = escaped(header.trim_start_matches('>'));
            let _ = write!(self.0, "<th{}>{name}</th>", class(header));
        }
        self.0.push_str("</tr></thead><tbody>\n");
        for row in &grid.rows {
            self.0.push_str("<tr>");
            for (header, cell) in grid.headers.iter().zip(row) {
                let cell = match cell.as_str() {
                    "NO" => "<span class=\"bad\">NO</span>".to_owned(),
                    cell => escaped(cell),
                };
                let _ = write!(self.0, "<td{}>{cell}</td>", class(header));
            }
            self.0.push_str("</tr>\n");
        }
        self.0.push_str("</tbody></table>\n");
        self
    }

    /// A table that is folded; none where it has no rows.
    pub fn folded_table(&mut self, summary: &str, grid: &Grid) -> &mut Self {
        if !grid.rows.is_empty() {
            self.0.push_str("<details>");
            self.element("summary", "", summary).table(grid);
            self.0.push_str("</details>\n");
        }
        self
    }

    /// Its text.
    #[must_use]
    pub fn finish(mut self) -> String {
        self.0.push_str("</body>\n</html>\n");
        self.0
    }
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\t' | '\n' | '\r' => escaped.push(character),
            // XML has no others, not even escaped.
            '\0'..' ' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

/// A time in nanoseconds since 1970, UTC, to the second (ISO 8601).
#[must_use]
pub fn date(nanoseconds: u64) -> String {
    let time = UNIX_EPOCH + Duration::from_nanos(nanoseconds);
    humantime::format_rfc3339_seconds(time).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        let mut page = HtmlPage::new("a < b & \"c\"");
        let mut grid = Grid::new("<x>");
        grid.row(["NO"]);
        grid.row(["&"]);
        page.table(&grid);
        page.paragraph("a\u{b}b\0");
        let bytes = b"P5\n1 1\n255\n\x07";
        let picture = Picture::small(bytes, 8).expect("an image");
        page.gallery([("<g>".to_owned(), vec![(picture, "\"1\"".to_owned())])]);
        let text = page.finish();
        assert!(text.contains("<p>a\u{fffd}b\u{fffd}</p>"));
        assert!(text.contains("<h3>&lt;g&gt;</h3>") && text.contains("alt=\"&quot;1&quot;\""));
        assert!(text.contains("<h1>a &lt; b &amp; &quot;c&quot;</h1>"));
        assert!(text.contains("<th>&lt;x&gt;</th>") && text.contains("<td>&amp;</td>"));
        assert!(text.contains("<span class=\"bad\">NO</span>"));
    }

    #[test]
    fn any_time_is_a_date() {
        assert_eq!(date(951_868_799_000_000_000), "2000-02-29T23:59:59Z");
        assert_eq!(date(u64::MAX), "2554-07-21T23:34:33Z");
    }
}
