// SPDX-License-Identifier: Apache-2.0
//! Text becomes a program, or an error that names line, limit and remedy.

mod flow;
mod lexer;
mod names;
mod operands;
mod parse;

use std::collections::BTreeMap;

use super::error::{At, Result};
use super::program::{Label, Program};
use super::{Instruction, WORDS_MOST};
use lexer::{Kind, Token};
use names::{Meaning, Names};
use operands::{ANY, Operands};
use parse::{Item, Target};

/// Assembles a program and checks that each of its loops and calls has an end.
pub fn assemble(text: &str) -> Result<Program> {
    let mut assembler = Assembler {
        names: Names::new(),
        spaces: Default::default(),
        items: Vec::new(),
        labels: BTreeMap::new(),
        locals: Vec::new(),
    };
    for (text, line) in text.lines().zip(1..) {
        assembler.line(text, line)?;
    }
    assembler.finish(text)
}

/// What was read so far.
struct Assembler {
    names: Names,
    spaces: [Option<String>; 8],
    items: Vec<Item>,
    /// The place of each label, and where it stands.
    labels: BTreeMap<String, (usize, At)>,
    /// Digit and place of each local label, in order.
    locals: Vec<(u8, usize)>,
}

impl Assembler {
    fn line(&mut self, text: &str, line: usize) -> Result<()> {
        let tokens = lexer::tokens(text, line)?;
        let end = At {
            line,
            column: text.trim_end().chars().count() + 1,
        };
        let mut rest = tokens.as_slice();
        while let [
            Token {
                kind: Kind::Word(name),
                at,
            },
            second,
            after @ ..,
        ] = rest
        {
            if second.kind != Kind::Mark(':') {
                break;
            }
            self.label(*at, name)?;
            rest = after;
        }
        match rest {
            [] => Ok(()),
            [
                Token {
                    kind: Kind::Word(name),
                    at,
                },
                operands @ ..,
            ] => match name.as_str() {
                ".reg" | ".const" | ".space" => self.directive(name, operands, end),
                _ => self.instruction(*at, name, operands, end),
            },
            [other, ..] => Err(other.at.error(
                "line",
                other.kind.shown(),
                "it must begin with a label, an instruction, .reg, .const or .space",
                "write for example `label: add r1, r1, 1`",
            )),
        }
    }

    fn label(&mut self, at: At, name: &str) -> Result<()> {
        let place = self.items.len();
        if let [digit @ b'1'..=b'9'] = name.as_bytes() {
            self.locals.push((digit - b'0', place));
            return Ok(());
        }
        if name.starts_with(|first: char| first.is_ascii_digit()) {
            return Err(at.error(
                "label",
                format_args!("`{name}`"),
                "local labels are 1 to 9",
                "choose one of them, or a name that begins with a letter",
            ));
        }
        names::check(at, name)?;
        if let Some((_, first)) = self.labels.get(name) {
            return Err(at.error(
                format!("label `{name}`"),
                "there twice",
                format!("line {} has it already", first.line),
                "choose another name, or use local labels 1 to 9",
            ));
        }
        self.labels.insert(name.to_owned(), (place, at));
        Ok(())
    }

    fn directive(&mut self, directive: &str, tokens: &[Token], end: At) -> Result<()> {
        let form = match directive {
            ".reg" => ".reg name r1",
            ".const" => ".const NAME 4096",
            _ => ".space name 0",
        };
        let mut operands = Operands::new(directive, form, tokens, &self.names, end);
        let (at, name) = operands.word("a name")?;
        let name = name.to_owned();
        let meaning = match directive {
            ".reg" => Meaning::Register(operands.register()?),
            ".const" => Meaning::Number(operands.number("value", ANY)?),
            _ => Meaning::Space(operands.number("number", 0..=7)? as u8),
        };
        operands.end()?;
        self.names.define(at, &name, meaning)?;
        if let Meaning::Space(number) = meaning {
            let place = &mut self.spaces[usize::from(number)];
            place.get_or_insert(name);
        }
        Ok(())
    }

    fn instruction(&mut self, at: At, name: &str, tokens: &[Token], end: At) -> Result<()> {
        let form = parse::form(at, name)?;
        let mut operands = Operands::new(name, form, tokens, &self.names, end);
        self.items.extend(parse::parse(name, &mut operands, at)?);
        if self.items.len() > WORDS_MOST {
            return Err(at.error(
                "program",
                format_args!("{} words long up to here", self.items.len()),
                format!("the ROM has {WORDS_MOST}"),
                "shorten it: texts take a word for each 3 characters, repeated code can be called",
            ));
        }
        Ok(())
    }

    /// Finds targets, checks the flow, makes words.
    fn finish(self, text: &str) -> Result<Program> {
        let resolve = |(place, item): (usize, &Item)| match &item.target {
            None => Ok(item.instruction),
            Some((at, target)) => Ok(item.instruction.to(self.place(place, *at, target)? as u16)),
        };
        let items = self.items.iter().enumerate();
        let instructions = items.map(resolve).collect::<Result<Vec<_>>>()?;
        let places: Vec<At> = self.items.iter().map(|item| item.at).collect();
        let mut labels: Vec<Label> = self
            .labels
            .into_iter()
            .map(|(name, (place, _))| Label { name, place })
            .collect();
        labels.sort_by_key(|label| label.place);
        flow::check(&instructions, &places, &labels)?;
        Ok(Program {
            words: instructions.into_iter().map(Instruction::encode).collect(),
            lines: places.iter().map(|at| at.line).collect(),
            labels,
            spaces: self.spaces,
            source: text.lines().map(str::to_owned).collect(),
        })
    }

    /// The word of a target that the word at `from` names.
    fn place(&self, from: usize, at: At, target: &Target) -> Result<usize> {
        let local = |digit: u8, forward: bool| {
            let mut places = self.locals.iter().filter(|(known, _)| *known == digit);
            let found = match forward {
                true => places.find(|(_, place)| *place > from),
                false => places.rfind(|(_, place)| *place <= from),
            };
            found.map(|(_, place)| *place)
        };
        let (found, shown) = match target {
            Target::Named(name) => (self.labels.get(name).map(|(place, _)| *place), name.clone()),
            Target::Next(digit) => (local(*digit, true), format!("{digit}f")),
            Target::Last(digit) => (local(*digit, false), format!("{digit}b")),
        };
        match found {
            Some(place) if place < self.items.len() => Ok(place),
            Some(_) => Err(at.error(
                format!("label `{shown}`"),
                "behind the last instruction",
                "an instruction must follow it",
                "end the program with `stop` or `fail` behind the label",
            )),
            None => Err(at.error(
                "label",
                format_args!("`{shown}`"),
                match target {
                    Target::Named(_) => "the program has no such label".to_owned(),
                    Target::Next(digit) => format!("no label {digit}: follows"),
                    Target::Last(digit) => format!("no label {digit}: stands before"),
                },
                "add the label, or correct its name",
            )),
        }
    }
}
