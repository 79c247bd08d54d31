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

#[derive(Args, Debug)]
pub struct DnnCompileArgs {
    #[command(flatten)]
    pub of: DnnNetArgs,
    /// Images per second that it has to classify
    #[arg(long, value_name = "N", default_value = "676")]
    pub fps: f64,
    /// Its clock
    #[arg(long, value_name = "RATE", default_value = "200MHz")]
    pub clock: String,
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
