// SPDX-License-Identifier: Apache-2.0
//! Options of `forebay pipeline`, `forebay pe` and `forebay new`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// What to do with a pipeline's file.
#[derive(Debug, Subcommand)]
pub enum PipelineCommand {
    /// Read a pipeline's file and show all that it says, with what it leaves out
    Check(PipelineCheckArgs),
}

/// Where elements are looked for.
#[derive(Args, Clone, Debug, Default)]
pub struct PePathArgs {
    /// Look for processing elements in this folder, too, and there first; again for each further one
    #[arg(long, value_name = "DIR")]
    pub pe_path: Vec<PathBuf>,
}

#[derive(Args, Debug)]
pub struct PipelineCheckArgs {
    /// The pipeline, such as pipelines/record.toml
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Write the RTL of its elements into this file: a module fb_pe_chain
    #[arg(long, value_name = "FILE.sv")]
    pub chain: Option<PathBuf>,
    #[command(flatten)]
    pub path: PePathArgs,
}

/// What to do with processing elements.
#[derive(Debug, Subcommand)]
pub enum PeCommand {
    /// List the elements there are, and what can be set
    List(PeListArgs),
    /// Check the manifest of an element, lint its RTL and run its test bench
    Test(PeTestArgs),
}

#[derive(Args, Debug)]
pub struct PeListArgs {
    #[command(flatten)]
    pub path: PePathArgs,
}

#[derive(Args, Debug)]
pub struct PeTestArgs {
    /// The element's folder, as `forebay new pe` makes it
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

/// What to make.
#[derive(Debug, Subcommand)]
pub enum NewCommand {
    /// A processing element that works: RTL, manifest, test bench, pipeline
    Pe(NewPeArgs),
}

#[derive(Args, Debug)]
pub struct NewPeArgs {
    /// Its name: small letters, digits and _; its module becomes fb_pe_NAME
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Make its folder NAME in this one
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub into: PathBuf,
    /// It judges objects: class and score of each stand in the index
    #[arg(long)]
    pub result: bool,
    /// It has registers, for what 64 bits of settings have no room for: tables, weights, keys
    #[arg(long, conflicts_with = "result")]
    pub registers: bool,
    /// Bits of its streams: 32, 64, 128, 256 or 512; adapters stand around a narrow one
    #[arg(long, value_name = "BITS", default_value_t = 512)]
    pub width: u32,
    /// It has a clock of its own: crossings stand around it
    #[arg(long)]
    pub own_clock: bool,
}
