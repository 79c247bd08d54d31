// SPDX-License-Identifier: Apache-2.0
//! The operands of an instruction, one after the other.

use std::ops::RangeInclusive;

use super::lexer::{Kind, Token};
use super::names::{Meaning, Names};
use crate::error::{At, Error, Result};
use crate::instruction::{Access, Instruction, Operand, Register, Time};

/// Numbers of up to 64 bits, with or without sign.
pub const ANY: RangeInclusive<i128> = -(1 << 63)..=u64::MAX as i128;

/// Operands that are still to be read.
pub struct Operands<'a> {
    tokens: &'a [Token],
    names: &'a Names,
    /// The instruction, for errors.
    name: &'a str,
    /// How it is written.
    form: &'a str,
    /// Behind the line's last token.
    end: At,
}

impl<'a> Operands<'a> {
    /// Those of an instruction of this form, which stand behind its name.
    pub const fn new(
        name: &'a str,
        form: &'a str,
        tokens: &'a [Token],
        names: &'a Names,
        end: At,
    ) -> Self {
        Self {
            tokens,
            names,
            name,
            form,
            end,
        }
    }

    /// Where the next token begins.
    pub fn at(&self) -> At {
        self.tokens.first().map_or(self.end, |token| token.at)
    }

    fn field(&self, what: &str) -> String {
        format!("{what} of {}", self.name)
    }

    fn next_is(&self, mark: char) -> bool {
        matches!(self.tokens.first(), Some(token) if token.kind == Kind::Mark(mark))
    }

    /// Takes a mark, where it comes next.
    fn take(&mut self, mark: char) -> bool {
        let is = self.next_is(mark);
        self.tokens = &self.tokens[usize::from(is)..];
        is
    }

    fn unexpected(&self, wanted: &str) -> Error {
        let found = self.tokens.first();
        let found = found.map_or_else(|| "the end of the line".into(), |token| token.kind.shown());
        self.at().error(
            self.field("operand"),
            found,
            format!("{wanted} must stand here"),
            format!("write `{}`", self.form),
        )
    }

    /// A mark that must come next.
    pub fn mark(&mut self, mark: char) -> Result<()> {
        match self.take(mark) {
            true => Ok(()),
            false => Err(self.unexpected(&format!("`{mark}`"))),
        }
    }

    /// A name or a number that must come next.
    pub fn word(&mut self, wanted: &str) -> Result<(At, &'a str)> {
        match self.tokens.split_first() {
            Some((
                Token {
                    kind: Kind::Word(word),
                    at,
                },
                rest,
            )) => {
                self.tokens = rest;
                Ok((*at, word))
            }
            _ => Err(self.unexpected(wanted)),
        }
    }

    /// A text that must come next.
    pub fn text(&mut self) -> Result<&'a [u8]> {
        match self.tokens.split_first() {
            Some((
                Token {
                    kind: Kind::Text(text),
                    ..
                },
                rest,
            )) => {
                self.tokens = rest;
                Ok(text)
            }
            _ => Err(self.unexpected("a text in quotes")),
        }
    }

    /// Nothing more may come.
    pub fn end(&self) -> Result<()> {
        match self.tokens {
            [] => Ok(()),
            _ => Err(self.unexpected("the end of the line")),
        }
    }

    /// A register.
    pub fn register(&mut self) -> Result<Register> {
        let (at, name) = self.word("a register")?;
        self.names.register(at, self.field("register"), name)
    }

    /// A register, and the comma behind it.
    pub fn register_then(&mut self) -> Result<Register> {
        let register = self.register()?;
        self.mark(',')?;
        Ok(register)
    }

    /// Whether a register comes next, not a number.
    fn is_register(&self) -> bool {
        match self.tokens.first() {
            Some(Token {
                kind: Kind::Word(word),
                ..
            }) => {
                matches!(self.names.get(word), Some(Meaning::Register(_)))
            }
            _ => false,
        }
    }

    /// Numbers and constants with + and - between them, in these limits.
    pub fn number(&mut self, what: &str, limits: RangeInclusive<i128>) -> Result<i128> {
        let at = self.at();
        let mut negative = self.take('-');
        let mut sum: i128 = 0;
        loop {
            let (at, word) = self.word("a number")?;
            let term = self.names.number(at, &self.field(what), word)?;
            // Terms have 64 bits: no line is long enough for 128 of them to overflow.
            sum = sum.saturating_add(if negative { -term } else { term });
            negative = match (self.take('+'), self.take('-')) {
                (false, false) => break,
                (_, negative) => negative,
            };
        }
        if limits.contains(&sum) {
            return Ok(sum);
        }
        let (least, most) = limits.into_inner();
        Err(at.error(
            self.field(what),
            sum,
            format!("it must be from {least} to {most}"),
            self.remedy(what),
        ))
    }

    /// What to do about a number outside its limits.
    fn remedy(&self, what: &str) -> &'static str {
        match (self.name, what) {
            ("add" | "sub" | "and" | "or" | "xor" | "andn", _) => {
                "load the number with `li` into a register and name that"
            }
            ("timer" | "wait", _) => "load the time with `li` into a register and name that",
            (_, "offset") => "add the rest to the register in the brackets before",
            _ => "choose a number in these limits",
        }
    }

    /// A register or a number of 15 bits.
    pub fn operand(&mut self) -> Result<Operand> {
        match self.is_register() {
            true => self.register().map(Operand::Register),
            false => {
                let number = self.number("number", -16_384..=16_383)?;
                Ok(Operand::Number(number as i16))
            }
        }
    }

    /// A register or a number of 25 bits.
    pub fn time(&mut self) -> Result<Time> {
        match self.is_register() {
            true => self.register().map(Time::Register),
            false => {
                let number = self.number("time", 0..=(1 << 25) - 1)?;
                Ok(Time::Microseconds(number as u32))
            }
        }
    }

    /// What a program ends with: a register or a number.
    pub fn code(&mut self) -> Result<Instruction> {
        let (mut a, mut code) = (0, 0);
        match self.is_register() {
            true => a = self.register()?,
            false => code = self.number("code", 1..=254)? as u8,
        }
        Ok(Instruction::Fail { a, code })
    }

    /// A space, and in brackets a register with an offset.
    pub fn access(&mut self, wide: bool) -> Result<Access> {
        let (at, name) = self.word("a space")?;
        let space = self.names.space(at, self.field("space"), name)?;
        self.mark('[')?;
        let a = self.register()?;
        let offset = match self.next_is(']') {
            true => 0,
            // The sign belongs to the number, so that [a - 4] is told that it is negative.
            false => {
                if !self.next_is('-') {
                    self.mark('+')?;
                }
                self.number("offset", 0..=32_767)?
            }
        };
        self.mark(']')?;
        Ok(Access {
            wide,
            space,
            a,
            offset: offset as u16,
        })
    }
}
