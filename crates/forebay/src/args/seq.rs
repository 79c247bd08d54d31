// SPDX-License-Identifier: Apache-2.0
//! Options of `forebay seq`: programs of the sequencer.

use std::path::PathBuf;

use clap::builder::TypedValueParser;
use clap::{Args, Subcommand};
use forebay_vm::guest::Ssd;

use super::values;
use super::vm::ssd;

/// The largest memory of `--ram`.
const RAM_MOST: u64 = 64 << 20;

/// What to do with a program.
#[derive(Debug, Subcommand)]
pub enum SeqCommand {
    /// Assemble a program and list its words, numbered, with labels
    List(SeqListArgs),
    /// Interpret a program, without RTL
    Run(SeqRunArgs),
    /// Assemble a program and print it as a SystemVerilog package, for the ROM
    Rom(SeqRomArgs),
}

#[derive(Args, Debug)]
pub struct SeqListArgs {
    /// The program's text
    #[arg(value_name = "PROGRAM")]
    pub program: PathBuf,
}

#[derive(Args, Debug)]
pub struct SeqRomArgs {
    /// The program's text
    #[arg(value_name = "PROGRAM")]
    pub program: PathBuf,
    /// Name of the package
    #[arg(long, value_name = "NAME", default_value = "fb_boot_rom_pkg", value_parser = identifier)]
    pub package: String,
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
    /// Run a program that brings drives up, on a root port and drives that are not our models
    #[arg(long, conflicts_with = "ram", value_parser = target())]
    pub on: Option<RootTarget>,
    /// Put an NVMe controller of QEMU's below the root port: FILE[:OPTION,…][+FILE[:OPTION,…]…], as
    /// for `forebay vm run`; +switch behind one: all are behind a switch
    #[arg(long, requires = "on", value_name = "FILE[:OPTIONS][+switch]", value_parser = drive)]
    pub ssd: Vec<RootDrive>,
    /// Stop after this number of instructions
    #[arg(long, value_name = "N", default_value_t = 1_000_000,
          value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub most: u64,
    /// Show each access
    #[arg(long)]
    pub trace: bool,
}

/// What a program runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootTarget {
    /// A root port of QEMU.
    Qemu,
}

/// Reads `--on`.
pub(super) fn target() -> impl TypedValueParser<Value = RootTarget> {
    values::named([(
        RootTarget::Qemu,
        "qemu",
        "A root port of QEMU, with a halted processor above it",
    )])
}

/// A drive below the root port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootDrive {
    /// The controller.
    pub ssd: Ssd,
    /// A switch is between.
    pub switch: bool,
}

/// Reads `--ssd`.
pub(super) fn drive(text: &str) -> Result<RootDrive, String> {
    let below = text.strip_suffix("+switch");
    Ok(RootDrive {
        ssd: ssd(below.unwrap_or(text))?,
        switch: below.is_some(),
    })
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

/// Reads a name in SystemVerilog.
fn identifier(text: &str) -> Result<String, String> {
    let plain = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let first = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    match first && text.chars().all(plain) {
        true => Ok(text.to_owned()),
        false => Err(format!(
            "`{text}` is no name in SystemVerilog; use letters, digits and _"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers() {
        assert!(identifier("fb_boot_rom_pkg").is_ok());
        for text in ["", "1st", "a-b", "a;b"] {
            assert!(identifier(text).is_err(), "{text}");
        }
    }

    #[test]
    fn memories() {
        let memory = ram("ram=2KiB").map(|ram| (ram.name, ram.bytes));
        assert_eq!(memory, Ok(("ram".to_owned(), 2_048)));
        for text in ["ram", "ram=", "ram=x", "ram=65MiB"] {
            assert!(ram(text).is_err(), "{text}");
        }
    }

    #[test]
    fn drives() {
        let found = drive("a.img:block=4096,mdts=8KiB+switch").expect("a drive");
        assert!(found.switch);
        assert_eq!(found.ssd.transfer, Some(8_192));
        assert_eq!(found.ssd.namespaces.len(), 1);
        assert_eq!(drive("a.img").map(|drive| drive.switch), Ok(false));
        for text in ["", "+switch", "a.img:colour=red"] {
            assert!(drive(text).is_err(), "{text}");
        }
    }
}
