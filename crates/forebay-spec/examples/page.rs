// SPDX-License-Identifier: Apache-2.0
//! Writes the pages of extents: a line of facts in, 4096 bytes out. With the argument `small` it is
//! the header of a small object, 512 bytes.
//!
//! `cargo run -p forebay-spec --example page`; a line has, with blanks between them: session (32
//! hexadecimal digits), file name extension, stream, object, offset, length, whole (0 or 1), missing,
//! sequence, epoch, time, CRC32C, nonce, and the result in hexadecimal, or `-` without one. All other
//! numbers are decimal. The second argument is a schema, such as `top u16[5], score f32`.

use std::io::{self, BufRead, Write};
use std::str::FromStr;

use forebay_spec::store::Session;
use forebay_spec::store::page::Facts;
use forebay_spec::store::schema::{RESULT_MOST, Schema};
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

fn result(text: &str) -> io::Result<Option<[u8; RESULT_MOST]>> {
    if text == "-" {
        return Ok(None);
    }
    let bad = |_| {
        io::Error::other(format!(
            "result '{text}': write up to 64 bytes in hexadecimal"
        ))
    };
    let mut result = [0; RESULT_MOST];
    for (at, byte) in result.iter_mut().zip((0..text.len()).step_by(2)) {
        *at = u8::from_str_radix(&text[byte..text.len().min(byte + 2)], 16).map_err(bad)?;
    }
    Ok(Some(result))
}

fn facts(line: &str, schema: &Schema) -> io::Result<Facts> {
    let mut words = Words(line.split_whitespace());
    Ok(Facts {
        schema: *schema,
        session: session(words.next("session")?)?,
        extension: extension(words.next("extension")?)?,
        stream: words.number("stream")?,
        object: words.number("object")?,
        offset: words.number("offset")?,
        length: words.number("length")?,
        whole: words.number::<u8>("whole")? != 0,
        missing: words.number("missing")?,
        sequence: words.number("sequence")?,
        epoch: words.number("epoch")?,
        time: words.number("time")?,
        crc32c: words.number("CRC32C")?,
        nonce: words.number("nonce")?,
        result: result(words.next("result")?)?,
        // Hardware, which this is the reference of, keeps no names.
        name: Name::NONE,
    })
}

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    let mut arguments = std::env::args().skip(1);
    let small = arguments.next().as_deref() == Some("small");
    let schema = match arguments.next() {
        Some(text) => text
            .parse()
            .map_err(|error| io::Error::other(format!("schema '{text}': {error}")))?,
        None => Schema::default(),
    };
    for line in io::stdin().lock().lines() {
        let facts = facts(&line?, &schema)?;
        match small {
            true => out.write_all(&facts.to_header())?,
            false => out.write_all(&facts.to_page())?,
        }
    }
    out.flush()
}
