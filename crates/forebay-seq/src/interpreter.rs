// SPDX-License-Identifier: Apache-2.0
//! Runs words as the hardware does, an instruction at a time.

use super::instruction::{Access, Instruction, Operand, Register, Time};
use super::{BAD_PROGRAM, CALLS_MOST, WORDS_MOST};

/// What surrounds the sequencer: memories and registers, time, the console.
pub trait Spaces {
    /// Reads 4 or 8 bytes; none: the access ends in error.
    fn read(&mut self, space: u8, address: u64, bytes: u8) -> Option<u64>;
    /// Writes 4 or 8 bytes; false: the access ends in error.
    fn write(&mut self, space: u8, address: u64, bytes: u8, value: u64) -> bool;
    /// The time in microseconds, from any moment on.
    fn now_us(&mut self) -> u64;
    /// Lets this time pass.
    fn wait_us(&mut self, us: u64);
    /// Takes a character of the console.
    fn say(&mut self, byte: u8);
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// 0 after `stop`, that of `fail`, or [`BAD_PROGRAM`].
    pub code: u8,
    /// The word that ended it.
    pub place: u16,
    /// The registers.
    pub registers: [u64; 16],
}

/// A program that runs.
#[derive(Clone, Debug)]
pub struct Interpreter<'a> {
    words: &'a [u32],
    place: u16,
    registers: [u64; 16],
    calls: [u16; CALLS_MOST],
    depth: usize,
    failed: bool,
    started_us: u64,
    limit_us: u32,
    executed: u64,
    end: Option<End>,
}

impl<'a> Interpreter<'a> {
    /// One at word 0, with registers of 0, no error and a timer that has run out.
    pub const fn new(words: &'a [u32]) -> Self {
        Self {
            words,
            place: 0,
            registers: [0; 16],
            calls: [0; CALLS_MOST],
            depth: 0,
            failed: false,
            started_us: 0,
            limit_us: 0,
            executed: 0,
            end: None,
        }
    }

    /// Instructions executed.
    pub const fn executed(&self) -> u64 {
        self.executed
    }

    /// The word that comes next.
    pub const fn place(&self) -> u16 {
        self.place
    }

    /// The registers.
    pub const fn registers(&self) -> &[u64; 16] {
        &self.registers
    }

    /// Runs until the program ends, or for this number of instructions; none: it has not ended.
    pub fn run(&mut self, spaces: &mut impl Spaces, most_instructions: u64) -> Option<End> {
        for _ in 0..most_instructions {
            if self.step(spaces).is_some() {
                break;
            }
        }
        self.end
    }

    /// Executes an instruction; says how the program ended, once it has.
    pub fn step(&mut self, spaces: &mut impl Spaces) -> Option<End> {
        if self.end.is_some() {
            return self.end;
        }
        self.executed += 1;
        let word = self.words.get(usize::from(self.place));
        let next = match word.map(|&word| Instruction::decode(word)) {
            Some(Ok(instruction)) => self.execute(instruction, spaces),
            _ => Err(BAD_PROGRAM),
        };
        match next {
            Ok(place) => self.place = place,
            Err(code) => {
                self.end = Some(End {
                    code,
                    place: self.place,
                    registers: self.registers,
                });
            }
        }
        self.end
    }

    /// The word that comes next, or the code that the program ends with.
    fn execute(&mut self, instruction: Instruction, spaces: &mut impl Spaces) -> Result<u16, u8> {
        // The program counter has ten bits.
        let next = (self.place + 1) % WORDS_MOST as u16;
        match instruction {
            Instruction::Li { d, number } => self.set(d, i64::from(number) as u64),
            Instruction::Ins { d, quarter, bits } => {
                let at = 16 * u32::from(quarter);
                let rest = self.get(d) & !(0xffff << at);
                self.set(d, rest | u64::from(bits) << at);
            }
            Instruction::Alu { op, d, a, b } => {
                let b = match b {
                    Operand::Register(b) => self.get(b),
                    Operand::Number(number) => i64::from(number) as u64,
                };
                self.set(d, op.of(self.get(a), b));
            }
            Instruction::Shift { left, d, a, bits } => {
                let a = self.get(a);
                self.set(d, if left { a << bits } else { a >> bits });
            }
            Instruction::Load { access, d } => {
                let address = self.address(access);
                let answer = spaces.read(access.space, address, access.bytes());
                self.failed = answer.is_none();
                self.set(d, answer.unwrap_or(u64::MAX) & mask(access));
            }
            Instruction::Store { access, d } => {
                let (address, value) = (self.address(access), self.get(d) & mask(access));
                self.failed = !spaces.write(access.space, address, access.bytes(), value);
            }
            Instruction::Compare { test, d, a, target } => {
                if test.of(self.get(d), self.get(a)) {
                    return Ok(target);
                }
            }
            Instruction::Bit {
                set,
                d,
                bit,
                target,
            } => {
                if (self.get(d) >> bit & 1 == 1) == set {
                    return Ok(target);
                }
            }
            Instruction::Berr { target } => {
                if self.failed {
                    return Ok(target);
                }
            }
            Instruction::Btime { target } => {
                let passed = spaces.now_us().wrapping_sub(self.started_us);
                if passed >= u64::from(self.limit_us) {
                    return Ok(target);
                }
            }
            Instruction::Jmp { target } => return Ok(target),
            Instruction::Call { target } => {
                let free = self.calls.get_mut(self.depth).ok_or(BAD_PROGRAM)?;
                *free = next;
                self.depth += 1;
                return Ok(target);
            }
            Instruction::Ret => {
                self.depth = self.depth.checked_sub(1).ok_or(BAD_PROGRAM)?;
                return Ok(self.calls[self.depth]);
            }
            Instruction::Timer(time) => {
                self.started_us = spaces.now_us();
                self.limit_us = self.microseconds(time);
            }
            Instruction::Wait(time) => spaces.wait_us(self.microseconds(time).into()),
            Instruction::Say { count, characters } => {
                let said = characters.into_iter().take(count.into());
                said.for_each(|one| spaces.say(one));
            }
            Instruction::Hex { d, digits } => {
                let digits = u32::from(digits);
                let shifts = (0..digits).rev().map(|digit| 4 * digit);
                let value = self.get(d);
                shifts.for_each(|at| spaces.say(b"0123456789abcdef"[(value >> at & 15) as usize]));
            }
            Instruction::Dec { d } => {
                self.get(d)
                    .to_string()
                    .bytes()
                    .for_each(|one| spaces.say(one));
            }
            Instruction::Chars { d, count } => {
                let bytes = self.get(d).to_le_bytes().into_iter().take(count.into());
                bytes.for_each(|one| match one {
                    0x20..=0x7e => spaces.say(one),
                    _ => spaces.say(b'.'),
                });
            }
            Instruction::Fail { a, code } => return Err(self.get(a) as u8 | code),
            Instruction::Stop => return Err(0),
        }
        Ok(next)
    }

    fn get(&self, register: Register) -> u64 {
        self.registers[usize::from(register & 15)]
    }

    fn set(&mut self, register: Register, value: u64) {
        if register & 15 != 0 {
            self.registers[usize::from(register & 15)] = value;
        }
    }

    fn address(&self, access: Access) -> u64 {
        self.get(access.a).wrapping_add(access.offset.into())
    }

    fn microseconds(&self, time: Time) -> u32 {
        match time {
            Time::Register(register) => self.get(register) as u32,
            Time::Microseconds(number) => number,
        }
    }
}

/// The bits of an access.
const fn mask(access: Access) -> u64 {
    if access.wide { u64::MAX } else { 0xffff_ffff }
}
