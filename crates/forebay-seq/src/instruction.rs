// SPDX-License-Identifier: Apache-2.0
//! Instructions and their words: operation in 31:26, D in 25:22, A in 21:18.

use std::fmt;

/// Number of a register, 0 to 15.
pub type Register = u8;

/// An instruction. Fields wider than their bits are cut by [`Instruction::encode`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// `li`: D = number, of 22 bits with sign.
    Li {
        /// D.
        d: Register,
        /// The number.
        number: i32,
    },
    /// `ins`: one 16-bit quarter of D.
    Ins {
        /// D.
        d: Register,
        /// Which quarter, 0 the lowest.
        quarter: u8,
        /// What it becomes.
        bits: u16,
    },
    /// `add sub and or xor andn`: D = A op B.
    Alu {
        /// The operation.
        op: Alu,
        /// D.
        d: Register,
        /// A.
        a: Register,
        /// B.
        b: Operand,
    },
    /// `shl shr`: D = A shifted, zeros come in.
    Shift {
        /// To the left.
        left: bool,
        /// D.
        d: Register,
        /// A.
        a: Register,
        /// By this number of bits, 0 to 63.
        bits: u8,
    },
    /// `ld32 ld64`: D = space\[A + offset\].
    Load {
        /// What is read.
        access: Access,
        /// D.
        d: Register,
    },
    /// `st32 st64`: space\[A + offset\] = D.
    Store {
        /// What is written.
        access: Access,
        /// D.
        d: Register,
    },
    /// `beq bne bltu bgeu`: compares D with A.
    Compare {
        /// The comparison.
        test: Compare,
        /// D, the first.
        d: Register,
        /// A, the second.
        a: Register,
        /// The word to go on at.
        target: u16,
    },
    /// `bset bclr`: looks at a bit of D.
    Bit {
        /// Branch where it is 1; else where it is 0.
        set: bool,
        /// D.
        d: Register,
        /// The bit, 0 to 63.
        bit: u8,
        /// The word to go on at.
        target: u16,
    },
    /// `berr`: branches if the last access ended in error.
    Berr {
        /// The word to go on at.
        target: u16,
    },
    /// `btime`: branches if the timer has run out.
    Btime {
        /// The word to go on at.
        target: u16,
    },
    /// `jmp`.
    Jmp {
        /// The word to go on at.
        target: u16,
    },
    /// `call`.
    Call {
        /// The word to go on at.
        target: u16,
    },
    /// `ret`.
    Ret,
    /// `timer`: starts the timer.
    Timer(Time),
    /// `wait`: goes on after this time at the earliest.
    Wait(Time),
    /// `say`: characters to the console.
    Say {
        /// How many of them, 1 to 3; 0 says nothing.
        count: u8,
        /// The characters, the first one first.
        characters: [u8; 3],
    },
    /// `hex`: lowest digits of D.
    Hex {
        /// D.
        d: Register,
        /// Digits, 1 to 16.
        digits: u8,
    },
    /// `dec`: D in decimal.
    Dec {
        /// D.
        d: Register,
    },
    /// `chars`: bytes of D from the lowest on.
    Chars {
        /// D.
        d: Register,
        /// Bytes, 1 to 8.
        count: u8,
    },
    /// `fail`: stops with this code: the lowest byte of A, or a number. One of the two is 0.
    Fail {
        /// A.
        a: Register,
        /// The code, 1 to 254 in programs of the assembler.
        code: u8,
    },
    /// `stop`: stops with code 0.
    Stop,
}

/// Operations on two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alu {
    /// A + B.
    Add,
    /// A - B.
    Sub,
    /// A & B.
    And,
    /// A | B.
    Or,
    /// A ^ B.
    Xor,
    /// A & ~B.
    Andn,
}

impl Alu {
    /// All of them, in the order of their codes.
    pub const ALL: [Self; 6] = [
        Self::Add,
        Self::Sub,
        Self::And,
        Self::Or,
        Self::Xor,
        Self::Andn,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        ["add", "sub", "and", "or", "xor", "andn"][self as usize]
    }

    /// Its result.
    pub const fn of(self, a: u64, b: u64) -> u64 {
        match self {
            Self::Add => a.wrapping_add(b),
            Self::Sub => a.wrapping_sub(b),
            Self::And => a & b,
            Self::Or => a | b,
            Self::Xor => a ^ b,
            Self::Andn => a & !b,
        }
    }
}

/// Comparisons, without sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// D = A.
    Beq,
    /// D /= A.
    Bne,
    /// D < A.
    Bltu,
    /// D >= A.
    Bgeu,
}

impl Compare {
    /// All of them, in the order of their codes.
    pub const ALL: [Self; 4] = [Self::Beq, Self::Bne, Self::Bltu, Self::Bgeu];

    /// Its name.
    pub const fn name(self) -> &'static str {
        ["beq", "bne", "bltu", "bgeu"][self as usize]
    }

    /// Whether it holds.
    pub const fn of(self, d: u64, a: u64) -> bool {
        match self {
            Self::Beq => d == a,
            Self::Bne => d != a,
            Self::Bltu => d < a,
            Self::Bgeu => d >= a,
        }
    }
}

/// The second number of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A register's.
    Register(Register),
    /// This one, of 15 bits with sign.
    Number(i16),
}

/// Microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// The 32 lowest bits of a register.
    Register(Register),
    /// This number, of 25 bits.
    Microseconds(u32),
}

/// Where an access goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// 64 bits, not 32.
    pub wide: bool,
    /// The space, 0 to 7.
    pub space: u8,
    /// A, the base.
    pub a: Register,
    /// Bytes added to the base, of 15 bits.
    pub offset: u16,
}

impl Access {
    /// 4 or 8.
    pub const fn bytes(self) -> u8 {
        if self.wide { 8 } else { 4 }
    }

    const fn encode(self) -> u32 {
        field(self.a as u32, 4, 18)
            | field(self.space as u32, 3, 15)
            | field(self.offset as u32, 15, 0)
    }
}

/// A word whose operation does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("word {word:#010x} has operation {:#04x}, which does not exist", word >> 26)]
pub struct UnknownOperation {
    /// The word.
    pub word: u32,
}

/// A field of this number of bits, from bit `at` of the word on.
const fn field(value: u32, bits: u32, at: u32) -> u32 {
    (value & ((1 << bits) - 1)) << at
}

/// The lowest bits of a number, with their sign.
const fn signed(value: u32, bits: u32) -> i32 {
    (value << (32 - bits)) as i32 >> (32 - bits)
}

impl Instruction {
    /// Its word.
    pub const fn encode(self) -> u32 {
        let (op, rest) = match self {
            Self::Li { d, number } => (0x00, first(d) | field(number as u32, 22, 0)),
            Self::Ins { d, quarter, bits } => {
                (0x01, first(d) | field(quarter as u32, 2, 16) | bits as u32)
            }
            Self::Alu { op, d, a, b } => {
                let b = match b {
                    Operand::Register(b) => field(b as u32, 4, 0),
                    Operand::Number(number) => 1 << 15 | field(number as u32, 15, 0),
                };
                (0x04 + op as u32, first(d) | second(a) | b)
            }
            Self::Shift { left, d, a, bits } => {
                let op = if left { 0x0a } else { 0x0b };
                (op, first(d) | second(a) | field(bits as u32, 6, 0))
            }
            Self::Load { access, d } => (0x0c + access.wide as u32, first(d) | access.encode()),
            Self::Store { access, d } => (0x0e + access.wide as u32, first(d) | access.encode()),
            Self::Compare { test, d, a, target } => {
                (0x10 + test as u32, first(d) | second(a) | to(target))
            }
            Self::Bit {
                set,
                d,
                bit,
                target,
            } => {
                let op = if set { 0x14 } else { 0x15 };
                (op, first(d) | field(bit as u32, 6, 10) | to(target))
            }
            Self::Berr { target } => (0x16, to(target)),
            Self::Btime { target } => (0x17, to(target)),
            Self::Jmp { target } => (0x18, to(target)),
            Self::Call { target } => (0x19, to(target)),
            Self::Ret => (0x1a, 0),
            Self::Timer(time) => (0x1b, time.encode()),
            Self::Wait(time) => (0x1c, time.encode()),
            Self::Say { count, characters } => {
                let [first, second, third] = characters;
                let characters = first as u32 | (second as u32) << 8 | (third as u32) << 16;
                (0x20, field(count as u32, 2, 24) | characters)
            }
            Self::Hex { d, digits } => (
                0x21,
                first(d) | field((digits as u32).wrapping_sub(1), 4, 0),
            ),
            Self::Dec { d } => (0x22, first(d)),
            Self::Chars { d, count } => {
                (0x23, first(d) | field((count as u32).wrapping_sub(1), 3, 0))
            }
            Self::Fail { a, code } => (0x3e, field(a as u32, 4, 18) | code as u32),
            Self::Stop => (0x3f, 0),
        };
        op << 26 | rest
    }

    /// The instruction of a word. As in hardware, bits that its form does not name do not count.
    pub fn decode(word: u32) -> Result<Self, UnknownOperation> {
        let bits = |at: u32, count: u32| (word >> at & ((1 << count) - 1)) as u8;
        let (op, d, a) = (word >> 26, bits(22, 4), bits(18, 4));
        let target = (word & 0x3ff) as u16;
        let access = Access {
            wide: op & 1 == 1,
            space: bits(15, 3),
            a,
            offset: (word & 0x7fff) as u16,
        };
        let time = match word >> 25 & 1 {
            1 => Time::Register(bits(0, 4)),
            _ => Time::Microseconds(word & 0x1ff_ffff),
        };
        Ok(match op {
            0x00 => Self::Li {
                d,
                number: signed(word, 22),
            },
            0x01 => Self::Ins {
                d,
                quarter: bits(16, 2),
                bits: word as u16,
            },
            0x04..=0x09 => Self::Alu {
                op: Alu::ALL[op as usize - 0x04],
                d,
                a,
                b: match word >> 15 & 1 {
                    1 => Operand::Number(signed(word, 15) as i16),
                    _ => Operand::Register(bits(0, 4)),
                },
            },
            0x0a | 0x0b => Self::Shift {
                left: op == 0x0a,
                d,
                a,
                bits: bits(0, 6),
            },
            0x0c | 0x0d => Self::Load { access, d },
            0x0e | 0x0f => Self::Store { access, d },
            0x10..=0x13 => Self::Compare {
                test: Compare::ALL[op as usize - 0x10],
                d,
                a,
                target,
            },
            0x14 | 0x15 => Self::Bit {
                set: op == 0x14,
                d,
                bit: bits(10, 6),
                target,
            },
            0x16 => Self::Berr { target },
            0x17 => Self::Btime { target },
            0x18 => Self::Jmp { target },
            0x19 => Self::Call { target },
            0x1a => Self::Ret,
            0x1b => Self::Timer(time),
            0x1c => Self::Wait(time),
            0x20 => Self::Say {
                count: bits(24, 2),
                characters: [bits(0, 8), bits(8, 8), bits(16, 8)],
            },
            0x21 => Self::Hex {
                d,
                digits: bits(0, 4) + 1,
            },
            0x22 => Self::Dec { d },
            0x23 => Self::Chars {
                d,
                count: bits(0, 3) + 1,
            },
            0x3e => Self::Fail {
                a,
                code: word as u8,
            },
            0x3f => Self::Stop,
            _ => return Err(UnknownOperation { word }),
        })
    }

    /// The word that it branches, jumps or calls to.
    pub const fn target(self) -> Option<u16> {
        match self {
            Self::Compare { target, .. }
            | Self::Bit { target, .. }
            | Self::Berr { target }
            | Self::Btime { target }
            | Self::Jmp { target }
            | Self::Call { target } => Some(target),
            _ => None,
        }
    }

    /// The same to another word.
    pub(crate) const fn to(mut self, place: u16) -> Self {
        match &mut self {
            Self::Compare { target, .. }
            | Self::Bit { target, .. }
            | Self::Berr { target }
            | Self::Btime { target }
            | Self::Jmp { target }
            | Self::Call { target } => *target = place,
            _ => {}
        }
        self
    }

    /// As the assembler reads it, with these names for spaces and words.
    pub fn text(self, space: impl Fn(u8) -> String, label: impl Fn(u16) -> String) -> String {
        let place = |Access {
                         space: of,
                         a,
                         offset,
                         ..
                     }| match offset {
            0 => format!("{}[r{a}]", space(of)),
            _ => format!("{}[r{a} + {offset:#x}]", space(of)),
        };
        match self {
            Self::Li { d, number } => format!("li r{d}, {number}"),
            Self::Ins { d, quarter, bits } => format!("ins r{d}, {quarter}, {bits:#x}"),
            Self::Alu { op, d, a, b } => match b {
                Operand::Register(b) => format!("{} r{d}, r{a}, r{b}", op.name()),
                Operand::Number(number) => format!("{} r{d}, r{a}, {number}", op.name()),
            },
            Self::Shift { left, d, a, bits } => {
                let name = if left { "shl" } else { "shr" };
                format!("{name} r{d}, r{a}, {bits}")
            }
            Self::Load { access, d } => {
                format!(
                    "ld{} r{d}, {}",
                    u32::from(access.bytes()) * 8,
                    place(access)
                )
            }
            Self::Store { access, d } => {
                format!(
                    "st{} r{d}, {}",
                    u32::from(access.bytes()) * 8,
                    place(access)
                )
            }
            Self::Compare { test, d, a, target } => {
                format!("{} r{d}, r{a}, {}", test.name(), label(target))
            }
            Self::Bit {
                set,
                d,
                bit,
                target,
            } => {
                let name = if set { "bset" } else { "bclr" };
                format!("{name} r{d}, {bit}, {}", label(target))
            }
            Self::Berr { target } => format!("berr {}", label(target)),
            Self::Btime { target } => format!("btime {}", label(target)),
            Self::Jmp { target } => format!("jmp {}", label(target)),
            Self::Call { target } => format!("call {}", label(target)),
            Self::Ret => "ret".into(),
            Self::Timer(time) => format!("timer {time}"),
            Self::Wait(time) => format!("wait {time}"),
            Self::Say { count, characters } => {
                let said = characters.iter().take(count.into());
                format!(
                    "say \"{}\"",
                    said.map(|&one| escaped(one)).collect::<String>()
                )
            }
            Self::Hex { d, digits } => format!("hex r{d}, {digits}"),
            Self::Dec { d } => format!("dec r{d}"),
            Self::Chars { d, count } => format!("chars r{d}, {count}"),
            Self::Fail { a: 0, code } => format!("fail {code}"),
            Self::Fail { a, .. } => format!("fail r{a}"),
            Self::Stop => "stop".into(),
        }
    }
}

/// D of a word.
const fn first(register: Register) -> u32 {
    field(register as u32, 4, 22)
}

/// A of a word.
const fn second(register: Register) -> u32 {
    field(register as u32, 4, 18)
}

/// The target of a word.
const fn to(target: u16) -> u32 {
    field(target as u32, 10, 0)
}

/// A character of a text; those that the assembler does not take as hexadecimal bytes.
fn escaped(character: u8) -> String {
    match character {
        b'\n' => "\\n".into(),
        b'\t' => "\\t".into(),
        b'"' => "\\\"".into(),
        b'\\' => "\\\\".into(),
        0x20..=0x7e => char::from(character).into(),
        _ => format!("\\x{character:02x}"),
    }
}

impl Time {
    const fn encode(self) -> u32 {
        match self {
            Self::Register(register) => 1 << 25 | field(register as u32, 4, 0),
            Self::Microseconds(number) => field(number, 25, 0),
        }
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Register(register) => write!(f, "r{register}"),
            Self::Microseconds(number) => write!(f, "{number}"),
        }
    }
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(|space| format!("space{space}"), |word| word.to_string()))
    }
}
