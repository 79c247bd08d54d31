// SPDX-License-Identifier: Apache-2.0
//! A line of text as words, texts and marks.

use crate::error::{At, Result};

/// A part of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Where it begins.
    pub at: At,
}

/// What a part of a line is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A name, a number, or a reference such as `1f`.
    Word(String),
    /// A text in quotes, without them.
    Text(Vec<u8>),
    /// One of `,:[]+-`.
    Mark(char),
}

impl Kind {
    /// As it is shown in an error.
    pub fn shown(&self) -> String {
        match self {
            Self::Word(word) => format!("`{word}`"),
            Self::Text(_) => "a text".into(),
            Self::Mark(mark) => format!("`{mark}`"),
        }
    }
}

/// The parts of a line, without its comment.
pub fn tokens(text: &str, line: usize) -> Result<Vec<Token>> {
    let mut found = Vec::new();
    let mut rest = text.chars().zip(1..).peekable();
    while let Some((character, column)) = rest.next() {
        let at = At { line, column };
        let kind = match character {
            ';' => break,
            _ if character.is_whitespace() => continue,
            ',' | ':' | '[' | ']' | '+' | '-' => Kind::Mark(character),
            '"' => Kind::Text(quoted(at, &mut rest)?),
            _ if of_word(character) => {
                let mut word = character.to_string();
                while let Some((more, _)) = rest.next_if(|&(next, _)| of_word(next)) {
                    word.push(more);
                }
                Kind::Word(word)
            }
            _ => {
                return Err(at.error(
                    "character",
                    format_args!("`{}`", character.escape_debug()),
                    "it must be a letter, a digit or one of _ . , : [ ] + - \" ;",
                    "remove it, or begin a comment with ; before it",
                ));
            }
        };
        found.push(Token { kind, at });
    }
    Ok(found)
}

/// What names and numbers are made of.
const fn of_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '.')
}

/// The characters up to the closing quote.
fn quoted(begin: At, rest: &mut impl Iterator<Item = (char, usize)>) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    while let Some((character, column)) = rest.next() {
        let At { line, .. } = begin;
        let at = At { line, column };
        text.push(match character {
            '"' => return Ok(text),
            '\\' => match rest.next() {
                Some(('n', _)) => b'\n',
                Some(('t', _)) => b'\t',
                Some((same @ ('"' | '\\'), _)) => same as u8,
                other => {
                    let next = other.map_or('\\', |(character, _)| character);
                    return Err(at.error(
                        "escape of a text",
                        format_args!("`\\{}`", next.escape_debug()),
                        "it must be one of \\n \\t \\\" \\\\",
                        "write \\\\ for a backslash",
                    ));
                }
            },
            ' '..='~' => character as u8,
            _ => {
                return Err(at.error(
                    "character of a text",
                    format_args!("`{}`", character.escape_debug()),
                    "it must be of ASCII, from 0x20 to 0x7e",
                    "write \\n for the end of a line, \\t for a tab; replace what is not ASCII",
                ));
            }
        });
    }
    Err(begin.error(
        "text",
        "without an end",
        "it must end on its line",
        "close it with \"",
    ))
}
