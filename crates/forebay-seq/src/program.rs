// SPDX-License-Identifier: Apache-2.0
//! A program that was assembled, with what a listing shows of its text.

/// A name for a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Its name.
    pub name: String,
    /// The word's number.
    pub place: usize,
}

/// A program: it passed every check of the assembler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    pub(crate) words: Vec<u32>,
    pub(crate) lines: Vec<usize>,
    pub(crate) labels: Vec<Label>,
    pub(crate) spaces: [Option<String>; 8],
    pub(crate) source: Vec<String>,
}

impl Program {
    /// The words of the ROM, from word 0 on.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// For each word the line it comes from, from 1 on.
    pub fn lines(&self) -> &[usize] {
        &self.lines
    }

    /// Labels with a name, in the order of the text; local ones are left out.
    pub fn labels(&self) -> &[Label] {
        &self.labels
    }

    /// Names of the spaces 0 to 7, where they have one.
    pub fn spaces(&self) -> &[Option<String>; 8] {
        &self.spaces
    }

    /// The text of a line, from 1 on.
    pub fn source(&self, line: usize) -> &str {
        let text = line.checked_sub(1).and_then(|index| self.source.get(index));
        text.map_or("", String::as_str)
    }
}
