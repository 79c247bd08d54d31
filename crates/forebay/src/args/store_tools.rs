// SPDX-License-Identifier: Apache-2.0
//! Options of `forebay store sql`, `export`, `report`: recordings and other tools.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{DisksArgs, values};

#[derive(Args, Debug)]
pub struct StoreSqlArgs {
    #[command(flatten)]
    pub on: DisksArgs,
    /// What to ask of the tables `objects` (stored and whole) and `extents` (every row)
    #[arg(value_name = "QUERY")]
    pub query: String,
}

/// What a recording is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StoreExport {
    /// Rows as Parquet, with payloads or with references to them
    Parquet,
    /// Tar files with a payload and a JSON a sample
    Webdataset,
    /// All frames of a capture in one file
    Pcapng,
}

/// What has a folder of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Period {
    /// Each day (UTC)
    Date,
    /// Each hour (UTC)
    Hour,
}

#[derive(Args, Debug)]
pub struct StoreExportArgs {
    #[command(flatten)]
    pub on: DisksArgs,
    /// Where the files go: a folder that is new or empty
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// As what
    #[arg(long, value_enum)]
    pub to: StoreExport,
    /// Parquet: payloads as a column, not references to the recording
    #[arg(long)]
    pub payload: bool,
    /// Parquet: what has a folder of its own, besides each stream
    #[arg(long, value_enum, default_value = "date")]
    pub by: Period,
    /// Parquet: path of the recording on the machines that will follow the references [default: its
    /// path here]
    #[arg(long, value_name = "PATH", conflicts_with = "payload")]
    pub path: Option<PathBuf>,
    /// Parquet: write references without reading what they refer to
    #[arg(long, conflicts_with = "payload")]
    pub unchecked: bool,
    /// WebDataset: bytes of a shard
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = values::length)]
    pub shard_size: u64,
}

#[derive(Args, Debug)]
pub struct StoreReportArgs {
    #[command(flatten)]
    pub on: DisksArgs,
    /// Where the page goes; it needs no network. Objects that are PNM (such as PGM, PPM) or PNG images
    /// are shown, the first ones of 32 classes
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Names of the classes on that page: a text file, a line each, class 0 first
    #[arg(long, value_name = "FILE", requires = "html")]
    pub classes: Option<PathBuf>,
    /// Show encrypted images, with the key in this file, the one that the recording was made with
    #[arg(long, value_name = "FILE", requires = "html")]
    pub key_file: Option<PathBuf>,
}
