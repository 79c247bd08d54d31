// SPDX-License-Identifier: Apache-2.0
//! Options of `forebay seq`: programs of the sequencer.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::values;

/// The largest memory of `--ram`.
const RAM_MOST: u64 = 64 << 20;

/// What to do with a program.
#[derive(Debug, Subcommand)]
pub enum SeqCommand {
    /// Assemble a program and list its words, numbered, with labels
    List(SeqListArgs),
    /// Interpret a program, without RTL
    Run(SeqRunArgs),
}

#[derive(Args, Debug)]
pub struct SeqListArgs {
    /// The program's text
    #[arg(value_name = "PROGRAM")]
    pub program: PathBuf,
}

#[derive(Args, Debug)]
pub struct SeqRunArgs {
    /// The program's text
    #[arg(value_name = "PROGRAM")]
    pub program: PathBuf,
    /// Put a memory of zeros into this space; again for each further one. Other spaces answer each
    /// access with an error
    #[arg(long, value_name = "NAME=BYTES", value_parser = ram)]
    pub ram: Vec<Ram>,
    /// Stop after this number of instructions
    #[arg(long, value_name = "N", default_value_t = 1_000_000,
          value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub most: u64,
    /// Show each access
    #[arg(long)]
    pub trace: bool,
}

/// A memory: the space it is in, and its size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ram {
    /// The space's name.
    pub name: String,
    /// Bytes.
    pub bytes: usize,
}

/// Reads `--ram`.
fn ram(text: &str) -> Result<Ram, String> {
    let (name, size) = text
        .split_once('=')
        .ok_or_else(|| format!("`{text}` has no size; write NAME=BYTES, such as ram=2KiB"))?;
    match values::length(size)? {
        bytes if bytes <= RAM_MOST => Ok(Ram {
            name: name.to_owned(),
            bytes: bytes as usize,
        }),
        bytes => Err(format!(
            "{bytes} bytes are over 64 MiB; choose a smaller memory"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memories() {
        let memory = ram("ram=2KiB").map(|ram| (ram.name, ram.bytes));
        assert_eq!(memory, Ok(("ram".to_owned(), 2_048)));
        for text in ["ram", "ram=", "ram=x", "ram=65MiB"] {
            assert!(ram(text).is_err(), "{text}");
        }
    }
}
