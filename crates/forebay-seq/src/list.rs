// SPDX-License-Identifier: Apache-2.0
//! A program as a numbered listing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::instruction::Instruction;
use super::program::Program;

/// A word of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The word's number.
    pub place: usize,
    /// The word.
    pub word: u32,
    /// Its labels; what only a local label names has one of its place, such as `_12`.
    pub labels: Vec<String>,
    /// Its instruction, with registers by number.
    pub instruction: String,
    /// The line that it comes from, from 1 on.
    pub line: usize,
}

/// The words of a program.
pub fn rows(program: &Program) -> Vec<Row> {
    let labels = labels(program);
    let label = |word: u16| match labels.get(&usize::from(word)).and_then(|all| all.first()) {
        Some(name) => name.clone(),
        None => word.to_string(),
    };
    let words = program.words.iter().zip(&program.lines).enumerate();
    let row = |(place, (&word, &line))| Row {
        place,
        word,
        labels: labels.get(&place).cloned().unwrap_or_default(),
        instruction: match Instruction::decode(word) {
            Ok(instruction) => instruction.text(|space| space_name(program, space), label),
            Err(error) => error.to_string(),
        },
        line,
    };
    words.map(row).collect()
}

/// A text that the assembler makes the same words of; numbers, words and lines are its comments.
pub fn text(program: &Program) -> String {
    let mut text = String::new();
    for (number, name) in program.spaces.iter().enumerate() {
        if let Some(name) = name {
            let _ = writeln!(text, ".space {name} {number}");
        }
    }
    for row in rows(program) {
        for label in &row.labels {
            let _ = writeln!(text, "{label}:");
        }
        let _ = writeln!(
            text,
            "        {:<32} ; {:04} {:08x} {:>5}: {}",
            row.instruction,
            row.place,
            row.word,
            row.line,
            program.source(row.line).trim()
        );
    }
    text
}

/// What a space is called.
fn space_name(program: &Program, space: u8) -> String {
    match program.spaces.get(usize::from(space)) {
        Some(Some(name)) => name.clone(),
        _ => format!("space{space}"),
    }
}

/// The labels of each word, and one of its own for each word that only a local label names.
fn labels(program: &Program) -> BTreeMap<usize, Vec<String>> {
    let mut labels: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for label in &program.labels {
        labels
            .entry(label.place)
            .or_default()
            .push(label.name.clone());
    }
    let given: BTreeSet<&str> = program.labels.iter().map(|one| one.name.as_str()).collect();
    let targets = program
        .words
        .iter()
        .filter_map(|&word| Instruction::decode(word).ok()?.target());
    for place in targets.map(usize::from) {
        labels.entry(place).or_insert_with(|| {
            let mut name = format!("_{place}");
            while given.contains(name.as_str()) {
                name.insert(0, '_');
            }
            vec![name]
        });
    }
    labels
}
