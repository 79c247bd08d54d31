// SPDX-License-Identifier: Apache-2.0
//! Options of `forebay dnn`: networks become processing elements.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub enum DnnCommand {
    /// Make a processing element of a quantised network: RTL, weights, manifest
    Compile(DnnCompileArgs),
    /// Judge images as the hardware does, bit by bit
    Run(DnnRunArgs),
    /// Compare the RTL with its twin: drawn pictures, recorded over the simulated wire
    Check(DnnCheckArgs),
    /// Draw pictures of shapes as PPM files, which the network `shapes` recognises
    Draw(DnnDrawArgs),
}

/// Which network, and what it expects.
#[derive(Args, Debug)]
pub struct DnnNetArgs {
    /// Quantised ONNX file: QDQ, as onnxruntime's `quantize_static` writes it, QCDQ or QONNX
    #[arg(value_name = "NET")]
    pub net: PathBuf,
    /// What the network is called [default: as the file]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// The graph expects pixels of 0 to 255 divided by this
    #[arg(long, value_name = "N", default_value = "255")]
    pub divide: f64,
}

/// How quick it has to be.
#[derive(Args, Debug)]
pub struct DnnSpeedArgs {
    /// Images per second that it has to classify
    #[arg(long, value_name = "N", default_value = "676")]
    pub fps: f64,
    /// Its clock
    #[arg(long, value_name = "RATE", default_value = "200MHz")]
    pub clock: String,
}

#[derive(Args, Debug)]
pub struct DnnCheckArgs {
    #[command(flatten)]
    pub of: DnnNetArgs,
    #[command(flatten)]
    pub speed: DnnSpeedArgs,
    /// Pictures
    #[arg(long, value_name = "N", default_value_t = 100,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub count: u32,
    /// Senders at once, which have them in turns
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u8).range(1..=4))]
    pub senders: u8,
    /// Pixels of a picture [default: some three times what the network sees]
    #[arg(long, value_name = "WIDTHxHEIGHT")]
    pub size: Option<String>,
    /// Decides everything that is random
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

#[derive(Args, Debug)]
pub struct DnnCompileArgs {
    #[command(flatten)]
    pub of: DnnNetArgs,
    #[command(flatten)]
    pub speed: DnnSpeedArgs,
    /// An FPGA that has to have what it takes, such as u280, zcu102, kv260
    #[arg(long, value_name = "NAME")]
    pub device: Option<String>,
    /// The element has a clock of its own, not the chain's
    #[arg(long)]
    pub own_clock: bool,
    /// Folder for the element [default: its name]
    #[arg(long, value_name = "DIR")]
    pub into: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub struct DnnRunArgs {
    #[command(flatten)]
    pub of: DnnNetArgs,
    /// PGM or PPM files of any size from the network's on
    #[arg(value_name = "IMAGE", required = true)]
    pub images: Vec<PathBuf>,
}

#[derive(Args, Debug)]
pub struct DnnDrawArgs {
    /// Folder for them, new or empty
    #[arg(value_name = "DIR")]
    pub into: PathBuf,
    /// How many; the classes come in turns
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub count: u32,
    /// Pixels of a picture
    #[arg(long, value_name = "WIDTHxHEIGHT", default_value = "2000x1495")]
    pub size: String,
    /// Decides everything that is random
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}
