// SPDX-License-Identifier: Apache-2.0
//! Programs of the sequencer, short ones of register accesses and console text: assembler,
//! disassembler, interpreter. `docs/reference/seq.md` is the reference of instructions and text.
//!
//! * [`boot`]: the program that brings drives up, and its spaces.
//! * [`instruction`]: instructions and their words.
//! * [`assembler`]: text becomes a [`Program`], or an [`Error`] that names line, limit and remedy.
//! * [`list`]: a program as a numbered listing, which can be assembled again.
//! * [`interpreter`]: runs words over the memories and registers of a [`Spaces`].
//! * [`rom`]: a program as a SystemVerilog package.
#![forbid(unsafe_code)]

pub mod assembler;
pub mod boot;
mod error;
pub mod instruction;
pub mod interpreter;
pub mod list;
mod program;
pub mod rom;

pub use assembler::assemble;
pub use error::{Error, Result};
pub use instruction::Instruction;
pub use interpreter::{End, Interpreter, Spaces};
pub use program::{Label, Program};

/// Words of the ROM.
pub const WORDS_MOST: usize = 1024;
/// Return addresses that are kept.
pub const CALLS_MOST: usize = 8;
/// Code of a word with an unknown operation, a call too many and a return too many.
pub const BAD_PROGRAM: u8 = 0xff;
