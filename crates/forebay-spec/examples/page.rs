// SPDX-License-Identifier: Apache-2.0
//! Writes the pages of extents: a line of facts in, 4096 bytes out. With the argument `small` it is
//! the header of a small object, 512 bytes.
//!
//! `cargo run -p forebay-spec --example page`; a line has, with blanks between them: session (32
//! hexadecimal digits), file name extension, stream, object, offset, length, whole (0 or 1), missing,
//! sequence, sender, time, CRC32C, class and the bits of the score, or two `-` without a result. All
//! numbers are decimal.

use std::io::{self, BufRead, Write};
use std::str::FromStr;

use forebay_spec::store::Session;
use forebay_spec::store::page::Facts;
use forebay_spec::store::tar::Name;

/// The words of a line, one after the other.
struct Words<'l>(std::str::SplitWhitespace<'l>);

impl Words<'_> {
    fn next(&mut self, name: &str) -> io::Result<&str> {
        let missing = || io::Error::other(format!("{name}: the line ends before it"));
        self.0.next().ok_or_else(missing)
    }

    fn number<T: FromStr>(&mut self, name: &str) -> io::Result<T> {
        let word = self.next(name)?;
        let bad =
            |_| io::Error::other(format!("{name} '{word}': write a decimal number that fits"));
        word.parse().map_err(bad)
    }
}

fn session(text: &str) -> io::Result<Session> {
    match u128::from_str_radix(text, 16) {
        Ok(number) if text.len() == 32 => Ok(Session(number.to_be_bytes())),
        _ => Err(io::Error::other(format!(
            "session '{text}': write 32 hexadecimal digits"
        ))),
    }
}

fn extension(text: &str) -> io::Result<[u8; 4]> {
    let mut characters = [0; 4];
    let bad = || io::Error::other(format!("extension '{text}': at most 4 characters"));
    let place = characters.get_mut(..text.len()).ok_or_else(bad)?;
    place.copy_from_slice(text.as_bytes());
    Ok(characters)
}

fn facts(line: &str) -> io::Result<Facts> {
    let mut words = Words(line.split_whitespace());
    Ok(Facts {
        session: session(words.next("session")?)?,
        extension: extension(words.next("extension")?)?,
        stream: words.number("stream")?,
        object: words.number("object")?,
        offset: words.number("offset")?,
        length: words.number("length")?,
        whole: words.number::<u8>("whole")? != 0,
        missing: words.number("missing")?,
        sequence: words.number("sequence")?,
        sender: words.number("sender")?,
        time: words.number("time")?,
        crc32c: words.number("CRC32C")?,
        result: match words.next("class")? {
            "-" => None,
            class => {
                let bad = |_| io::Error::other(format!("class '{class}': write 0 to 65535"));
                let class = class.parse().map_err(bad)?;
                Some((class, f32::from_bits(words.number("score")?)))
            }
        },
        // Hardware, which this is the reference of, keeps no names.
        name: Name::NONE,
    })
}

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    let small = std::env::args().nth(1).as_deref() == Some("small");
    for line in io::stdin().lock().lines() {
        let facts = facts(&line?)?;
        match small {
            true => out.write_all(&facts.to_header())?,
            false => out.write_all(&facts.to_page())?,
        }
    }
    out.flush()
}
