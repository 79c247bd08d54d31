// SPDX-License-Identifier: Apache-2.0
//! An instruction of the text as instructions of the hardware.

use super::names;
use super::operands::{ANY, Operands};
use crate::error::{At, Error, Result};
use crate::instruction::{Alu, Compare, Instruction};

/// Each instruction and how it is written.
const FORMS: [(&str, &str); 33] = [
    ("li", "li r1, 1000"),
    ("ins", "ins r1, 2, 0xffff"),
    ("add", "add r1, r2, 4"),
    ("sub", "sub r1, r2, 4"),
    ("and", "and r1, r2, 4"),
    ("or", "or r1, r2, 4"),
    ("xor", "xor r1, r2, 4"),
    ("andn", "andn r1, r2, 4"),
    ("shl", "shl r1, r2, 4"),
    ("shr", "shr r1, r2, 4"),
    ("ld32", "ld32 r1, space[r2 + 4]"),
    ("ld64", "ld64 r1, space[r2 + 8]"),
    ("st32", "st32 r1, space[r2 + 4]"),
    ("st64", "st64 r1, space[r2 + 8]"),
    ("beq", "beq r1, r2, label"),
    ("bne", "bne r1, r2, label"),
    ("bltu", "bltu r1, r2, label"),
    ("bgeu", "bgeu r1, r2, label"),
    ("bset", "bset r1, 31, label"),
    ("bclr", "bclr r1, 31, label"),
    ("berr", "berr label"),
    ("btime", "btime label"),
    ("jmp", "jmp label"),
    ("call", "call label"),
    ("ret", "ret"),
    ("timer", "timer 1000"),
    ("wait", "wait 1000"),
    ("say", "say \"text\\n\""),
    ("hex", "hex r1, 8"),
    ("dec", "dec r1"),
    ("chars", "chars r1, 4"),
    ("fail", "fail 1"),
    ("stop", "stop"),
];

/// How an instruction is written.
pub fn form(at: At, name: &str) -> Result<&'static str> {
    let known = FORMS.iter().find(|(known, _)| *known == name);
    known.map(|(_, form)| *form).ok_or_else(|| {
        let all: Vec<_> = FORMS.iter().map(|(known, _)| *known).collect();
        at.error(
            "instruction",
            format_args!("`{name}`"),
            "there is no such instruction",
            format!("there are: {}", all.join(", ")),
        )
    })
}

/// What a branch names.
#[derive(Clone, Debug)]
pub enum Target {
    /// A label.
    Named(String),
    /// The next local label of this digit.
    Next(u8),
    /// The last one before.
    Last(u8),
}

/// An instruction whose target is not known yet.
#[derive(Clone, Debug)]
pub struct Item {
    /// The instruction.
    pub instruction: Instruction,
    /// What it branches to, and where that stands.
    pub target: Option<(At, Target)>,
    /// Where it stands.
    pub at: At,
}

/// Reads a target.
fn target(operands: &mut Operands) -> Result<Option<(At, Target)>> {
    let (at, name) = operands.word("a label")?;
    let local = match name.as_bytes() {
        [digit @ b'1'..=b'9', b'f'] => Some(Target::Next(digit - b'0')),
        [digit @ b'1'..=b'9', b'b'] => Some(Target::Last(digit - b'0')),
        _ => None,
    };
    let Some(local) = local else {
        names::check(at, name).map_err(|error| Error {
            field: "label".into(),
            limit: "it must be a name, or 1f to 9f, or 1b to 9b".into(),
            remedy: "name a label of the program".into(),
            ..error
        })?;
        return Ok(Some((at, Target::Named(name.to_owned()))));
    };
    Ok(Some((at, local)))
}

/// What one instruction of the text becomes.
pub fn parse(name: &str, operands: &mut Operands, at: At) -> Result<Vec<Item>> {
    let mut goes_to = None;
    let instructions = match name {
        "li" => {
            let d = operands.register_then()?;
            load(d, operands.number("number", ANY)? as u64)
        }
        "say" => said(operands)?,
        _ => {
            let (one, to) = single(name, operands)?;
            goes_to = to;
            vec![one]
        }
    };
    operands.end()?;
    let item = |instruction| Item {
        instruction,
        target: goes_to.clone(),
        at,
    };
    Ok(instructions.into_iter().map(item).collect())
}

/// An instruction of one word.
fn single(name: &str, of: &mut Operands) -> Result<(Instruction, Option<(At, Target)>)> {
    if let Some(test) = Compare::ALL.into_iter().find(|test| test.name() == name) {
        let (d, a) = (of.register_then()?, of.register_then()?);
        let target = 0;
        return Ok((
            Instruction::Compare { test, d, a, target },
            self::target(of)?,
        ));
    }
    if let Some(op) = Alu::ALL.into_iter().find(|op| op.name() == name) {
        let (d, a) = (of.register_then()?, of.register_then()?);
        let b = of.operand()?;
        return Ok((Instruction::Alu { op, d, a, b }, None));
    }
    let branch = match name {
        "bset" | "bclr" => {
            let d = of.register_then()?;
            let bit = of.number("bit", 0..=63)? as u8;
            of.mark(',')?;
            let set = name == "bset";
            Some(Instruction::Bit {
                set,
                d,
                bit,
                target: 0,
            })
        }
        "berr" => Some(Instruction::Berr { target: 0 }),
        "btime" => Some(Instruction::Btime { target: 0 }),
        "jmp" => Some(Instruction::Jmp { target: 0 }),
        "call" => Some(Instruction::Call { target: 0 }),
        _ => None,
    };
    if let Some(branch) = branch {
        return Ok((branch, target(of)?));
    }
    let instruction = match name {
        "ins" => {
            let d = of.register_then()?;
            let quarter = of.number("quarter", 0..=3)? as u8;
            of.mark(',')?;
            let bits = of.number("number", 0..=0xffff)? as u16;
            Instruction::Ins { d, quarter, bits }
        }
        "shl" | "shr" => Instruction::Shift {
            left: name == "shl",
            d: of.register_then()?,
            a: of.register_then()?,
            bits: of.number("shift", 0..=63)? as u8,
        },
        "ld32" | "ld64" => {
            let d = of.register_then()?;
            let access = of.access(name == "ld64")?;
            Instruction::Load { access, d }
        }
        "st32" | "st64" => {
            let d = of.register_then()?;
            let access = of.access(name == "st64")?;
            Instruction::Store { access, d }
        }
        "timer" => Instruction::Timer(of.time()?),
        "wait" => Instruction::Wait(of.time()?),
        "hex" => Instruction::Hex {
            d: of.register_then()?,
            digits: of.number("digits", 1..=16)? as u8,
        },
        "dec" => Instruction::Dec { d: of.register()? },
        "chars" => Instruction::Chars {
            d: of.register_then()?,
            count: of.number("count", 1..=8)? as u8,
        },
        "fail" => of.code()?,
        "ret" => Instruction::Ret,
        // The caller looks the name up before: this is the one that is left.
        _ => Instruction::Stop,
    };
    Ok((instruction, None))
}

/// The fewest words that load a number: `li`, and `ins` where a quarter differs from what it left.
fn load(d: u8, value: u64) -> Vec<Instruction> {
    let low = (value & 0xffff) as i32;
    let extended = (value << 42) as i64 >> 42;
    // With the upper bits of the number itself, all of them 0, and all of them 1.
    let firsts = [extended as i32, low, low | -0x1_0000];
    let with = |number: i32| {
        let left = i64::from(number) as u64;
        let quarters = (0..4_u8).map(|quarter| {
            let at = 16 * u32::from(quarter);
            (quarter, (value >> at) as u16, (left >> at) as u16)
        });
        let differ = quarters.filter(|(_, wanted, left)| wanted != left);
        let ins = differ.map(|(quarter, bits, _)| Instruction::Ins { d, quarter, bits });
        let li = std::iter::once(Instruction::Li { d, number });
        li.chain(ins).collect::<Vec<_>>()
    };
    let shortest = firsts.into_iter().map(with).min_by_key(Vec::len);
    shortest.unwrap_or_default()
}

/// The words that say a text.
fn said(operands: &mut Operands) -> Result<Vec<Instruction>> {
    let at = operands.at();
    let text = operands.text()?;
    if text.is_empty() {
        return Err(at.error(
            "text of say",
            "empty",
            "it must have one character or more",
            "remove the instruction",
        ));
    }
    let word = |part: &[u8]| {
        let mut characters = [0; 3];
        characters[..part.len()].copy_from_slice(part);
        let count = part.len() as u8;
        Instruction::Say { count, characters }
    };
    Ok(text.chunks(3).map(word).collect())
}
