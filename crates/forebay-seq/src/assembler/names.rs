// SPDX-License-Identifier: Apache-2.0
//! Names of registers, numbers and spaces.

use std::collections::HashMap;

use forebay_spec::codegen;

use crate::error::{At, Error, Result};
use crate::instruction::Register;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// A register.
    Register(Register),
    /// A number of up to 64 bits, with or without sign.
    Number(i128),
    /// A space, 0 to 7.
    Space(u8),
}

impl Meaning {
    const fn kind(self) -> &'static str {
        match self {
            Self::Register(_) => "a register",
            Self::Number(_) => "a constant",
            Self::Space(_) => "a space",
        }
    }
}

/// All names but those of labels.
#[derive(Debug)]
pub struct Names(HashMap<String, Meaning>);

impl Names {
    /// Those that are always there: r0 to r15.
    pub fn new() -> Self {
        let registers = (0..16).map(|number| (format!("r{number}"), Meaning::Register(number)));
        Self(registers.collect())
    }

    /// What a name stands for, in the program or in what hardware and software share.
    pub fn get(&self, name: &str) -> Option<Meaning> {
        let shared = || Some(Meaning::Number(codegen::constant(name)?.value.into()));
        self.0.get(name).copied().or_else(shared)
    }

    /// Gives a name its meaning.
    pub fn define(&mut self, at: At, name: &str, meaning: Meaning) -> Result<()> {
        check(at, name)?;
        if let Some(known) = self.get(name) {
            return Err(at.error(
                format!("name `{name}`"),
                format_args!("{} already", known.kind()),
                "each name has one meaning",
                "choose another name",
            ));
        }
        self.0.insert(name.to_owned(), meaning);
        Ok(())
    }

    /// The names of a kind, as a list for remedies.
    fn listed(&self, of_kind: fn(Meaning) -> bool) -> String {
        let names = self.0.iter().filter(|&(_, &meaning)| of_kind(meaning));
        let mut names: Vec<&str> = names.map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        names.join(", ")
    }

    /// The register of this name.
    pub fn register(&self, at: At, field: String, name: &str) -> Result<Register> {
        match self.get(name) {
            Some(Meaning::Register(register)) => Ok(register),
            _ => Err(at.error(
                field,
                format_args!("`{name}`"),
                "it must be r0 to r15 or a name given by .reg",
                format!("define it before with `.reg {name} r1`, or correct the name"),
            )),
        }
    }

    /// The space of this name.
    pub fn space(&self, at: At, field: String, name: &str) -> Result<u8> {
        match self.get(name) {
            Some(Meaning::Space(space)) => Ok(space),
            _ => Err(self.no_space(at, field, name)),
        }
    }

    fn no_space(&self, at: At, field: String, name: &str) -> Error {
        let known = self.listed(|meaning| matches!(meaning, Meaning::Space(_)));
        let limit = match known.as_str() {
            "" => "no space has a name yet".into(),
            known => format!("the spaces are {known}"),
        };
        at.error(
            field,
            format_args!("`{name}`"),
            limit,
            format!("define it before with `.space {name} 0`, or correct the name"),
        )
    }

    /// The value of a number or a constant.
    pub fn number(&self, at: At, field: &str, word: &str) -> Result<i128> {
        if !word.starts_with(|first: char| first.is_ascii_digit()) {
            return match self.get(word) {
                Some(Meaning::Number(number)) => Ok(number),
                _ => Err(at.error(
                    field,
                    format_args!("`{word}`"),
                    "it must be a number or an earlier constant",
                    format!("define it before with `.const {word} 0`, or correct the name"),
                )),
            };
        }
        let read = match word.strip_prefix("0x") {
            // A sign is no digit, though the standard library takes one.
            Some(digits) if digits.starts_with('+') => None,
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => word.parse().ok(),
        };
        read.map(i128::from).ok_or_else(|| {
            at.error(
                field,
                format_args!("`{word}`"),
                "a number is decimal or 0x with hexadecimal digits, of at most 64 bits",
                "write for example 4096 or 0x1000",
            )
        })
    }
}

/// Makes sure that a name is one.
pub fn check(at: At, name: &str) -> Result<()> {
    let plain = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let first = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    match first && name.chars().all(plain) {
        true => Ok(()),
        false => Err(at.error(
            "name",
            format_args!("`{name}`"),
            "it must be of letters, digits and _, and not begin with a digit",
            "choose another name",
        )),
    }
}
