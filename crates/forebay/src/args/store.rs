// SPDX-License-Identifier: Apache-2.0
//! Options of `forebay store`: recordings on images and drives.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use forebay_spec::store::superblock::ALIGNMENT_MOST;
use forebay_spec::stripes::Stripes;

use super::{ConsentArgs, StoreExportArgs, StoreReportArgs, StoreSqlArgs, values};

/// What to do with a recording.
#[derive(Debug, Subcommand)]
pub enum StoreCommand {
    /// Make an empty recording: partitions, superblocks, index
    ///
    /// OVERWRITES what is there; refuses where anything is, unless told to --force.
    Format(StoreFormatArgs),
    /// Put the files of a folder into a recording, as objects, and close it
    Pack(StorePackArgs),
    /// Say what a recording is, and in which state
    Info(StoreInfoArgs),
    /// List objects, or all extents
    Ls(StoreLsArgs),
    /// Write an object, or a whole capture, to standard output
    Cat(StoreCatArgs),
    /// Write objects as files, with a JSON beside each
    Extract(StoreExtractArgs),
    /// Write the recording as a tar file, up to where its index goes
    Tar(StoreTarArgs),
    /// Verify each checksum, on all cores
    Verify(StoreVerifyArgs),
    /// Recover intact objects that are not yet indexed, rebuild what is damaged, and close
    ///
    /// Nothing is written over what cannot be read now, unless told to --force.
    Repair(StoreRepairArgs),
    /// Put back what a repair wrote over
    Undo(StoreUndoArgs),
    /// Show objects as files, read-only, until Ctrl-C or `umount`
    Mount(StoreMountArgs),
    /// Ask in SQL, of a recording as it lies there
    Sql(StoreSqlArgs),
    /// Write rows, and payloads if wanted, for other tools and other machines
    Export(StoreExportArgs),
    /// Draw a recording: rates, gaps, classes, sizes
    Report(StoreReportArgs),
}

/// How data lie there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StoreMode {
    /// A tar file
    Objects,
    /// A tar file of small objects, many to a page
    Small,
    /// Samples at multiples of a stride
    Samples,
    /// Whole frames, as a capture (pcapng)
    Packets,
}

#[derive(Args, Debug)]
pub struct StoreFormatArgs {
    /// The image or drive, such as /dev/nvme0n1; several become an array, member 0 first
    #[arg(value_name = "IMAGE|DEVICE", required = true, num_args = 1..=8)]
    pub disks: Vec<PathBuf>,
    /// Bytes that follow each other on one member of an array: a power of two, 4KiB to 1MiB
    #[arg(long, value_name = "SIZE", default_value = "64KiB", value_parser = stripe_unit)]
    pub stripe_unit: u64,
    /// The last member of an array holds the parity of the others: one of them may fail
    #[arg(long)]
    pub parity: bool,
    /// Make new (sparse) images of this size
    #[arg(long, value_name = "SIZE", value_parser = values::pages)]
    pub size: Option<u64>,
    /// How data lie there
    #[arg(long, value_enum, default_value = "objects")]
    pub mode: StoreMode,
    /// Bytes from one sample to the next, a multiple of the alignment
    #[arg(long, value_name = "SIZE", value_parser = values::pages, required_if_eq("mode", "samples"))]
    pub stride: Option<u64>,
    /// Begin what hardware writes at multiples of this: a power of two, 4KiB to 512KiB, such as a stripe
    #[arg(long, value_name = "SIZE", default_value = "4KiB", value_parser = alignment)]
    pub alignment: u64,
    /// Give the index this share of the disk, in percent
    #[arg(long, value_name = "PERCENT", value_parser = values::percent,
          conflicts_with = "smallest_object")]
    pub index: Option<f64>,
    /// Give the index room for objects of this size
    #[arg(long, value_name = "SIZE", default_value = "64KiB", value_parser = values::length)]
    pub smallest_object: u64,
    /// Begin anew at the end of the disk, over the oldest objects
    #[arg(long)]
    pub ring: bool,
    /// File name extension of objects: 1 to 4 letters or digits
    #[arg(long, value_name = "NAME", default_value = "bin")]
    pub extension: String,
    /// Logical block of the drive in bytes [default: the drive's, 512 of an image]
    #[arg(long, value_name = "BYTES", value_parser = ["512", "4096"])]
    pub block: Option<String>,
    /// Overwrite what is there
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub consent: ConsentArgs,
}

#[derive(Args, Debug)]
pub struct StorePackArgs {
    /// The folder; its files become objects 0, 1, 2 … in the order of their names
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// A recording without objects, of an array all members; where there is no such file, one that fits
    #[arg(value_name = "IMAGE|DEVICE", required = true, num_args = 1..=8)]
    pub disks: Vec<PathBuf>,
    /// Stream that the objects get
    #[arg(long, value_name = "N", default_value = "0")]
    pub stream: u16,
    /// Cut longer files into extents of this size
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = values::length)]
    pub extent: u64,
    /// Let the objects of a new image share pages: a tar header each, no JSON
    #[arg(long)]
    pub small: bool,
    /// Leave the recording open, as a loss of power would
    #[arg(long)]
    pub leave_open: bool,
    #[command(flatten)]
    pub consent: ConsentArgs,
}

/// What a recording lies on.
#[derive(Args, Debug)]
pub struct DisksArgs {
    /// The image or drive; of an array its members, in any order
    #[arg(value_name = "IMAGE|DEVICE", required = true, num_args = 1..=8)]
    pub disks: Vec<PathBuf>,
}

/// As an array will have it.
fn stripe_unit(text: &str) -> std::result::Result<u64, String> {
    let stripes = Stripes {
        drives: 2,
        stripe_unit: values::length(text)?,
        parity: false,
    };
    match stripes.check() {
        Ok(()) => Ok(stripes.stripe_unit),
        Err(error) => Err(format!("{error}; choose 4KiB, 8KiB … 1MiB")),
    }
}

/// As a recording will have it.
fn alignment(text: &str) -> std::result::Result<u64, String> {
    match values::pages(text)? {
        bytes if bytes.is_power_of_two() && bytes <= ALIGNMENT_MOST.into() => Ok(bytes),
        bytes => Err(format!(
            "{bytes} bytes are no power of two up to 524288; give 4KiB, 8KiB … 512KiB"
        )),
    }
}

/// The key of an encrypted recording.
#[derive(Args, Debug)]
pub struct KeyArgs {
    /// Decrypt payload with the key in this file, the one that the recording was made with; without it
    /// payload comes as it lies there
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub struct StoreInfoArgs {
    #[command(flatten)]
    pub on: DisksArgs,
}

#[derive(Args, Debug)]
pub struct StoreLsArgs {
    #[command(flatten)]
    pub on: DisksArgs,
    /// List all extents, not objects
    #[arg(long)]
    pub rows: bool,
    /// With the names that `pack` kept: reads a header for each object
    #[arg(long, conflicts_with = "rows")]
    pub names: bool,
    /// Only of this stream
    #[arg(long, value_name = "N")]
    pub stream: Option<u16>,
}

#[derive(Args, Debug)]
pub struct StoreCatArgs {
    /// The image or drive; of an array its members, with commas between them
    #[arg(value_name = "IMAGE|DEVICE")]
    pub disk: PathBuf,
    /// Number of the object; of a capture, a chunk [default: all of a capture]
    #[arg(value_name = "OBJECT")]
    pub object: Option<u64>,
    /// Its stream [default: the only one that has such an object]
    #[arg(long, value_name = "N")]
    pub stream: Option<u16>,
    #[command(flatten)]
    pub key: KeyArgs,
}

#[derive(Args, Debug)]
pub struct StoreExtractArgs {
    #[command(flatten)]
    pub on: DisksArgs,
    /// Where the files go; nothing is overwritten
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Only of this stream
    #[arg(long, value_name = "N")]
    pub stream: Option<u16>,
    #[command(flatten)]
    pub key: KeyArgs,
}

#[derive(Args, Debug)]
pub struct StoreTarArgs {
    /// The image or drive; of an array its members, with commas between them
    #[arg(value_name = "IMAGE|DEVICE")]
    pub disk: PathBuf,
    /// The tar file; `-`: standard output. Nothing is overwritten
    #[arg(value_name = "FILE|-", default_value = "-")]
    pub to: PathBuf,
}

#[derive(Args, Debug)]
pub struct StoreVerifyArgs {
    #[command(flatten)]
    pub on: DisksArgs,
    /// Threads [default: one a core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Then read the same bytes once more and do nothing but compute their CRC32C, on as many
    /// threads, and compare the times
    #[arg(long)]
    pub compare: bool,
}

#[derive(Args, Debug)]
pub struct StoreRepairArgs {
    #[command(flatten)]
    pub on: DisksArgs,
    /// Say what would be done, and write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Put this drive or image in the place of the member that is missing of an array with parity:
    /// OVERWRITES all of it
    #[arg(long, value_name = "IMAGE|DEVICE", conflicts_with = "dry_run")]
    pub replace: Option<PathBuf>,
    /// Write over what cannot be read, and give up blocks of the index that cannot be rebuilt
    #[arg(long)]
    pub force: bool,
    /// Keep what is written over in a new file; `forebay store undo` puts it back
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    pub undo: Option<PathBuf>,
    /// Look so far behind the last extent for more [default: 256 MiB, or 128 of the longest extents]
    #[arg(long, value_name = "SIZE", value_parser = values::pages)]
    pub look: Option<u64>,
    #[command(flatten)]
    pub consent: ConsentArgs,
}

#[derive(Args, Debug)]
pub struct StoreUndoArgs {
    #[command(flatten)]
    pub on: DisksArgs,
    /// The file that `forebay store repair --undo` wrote
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

#[derive(Args, Debug)]
pub struct StoreMountArgs {
    #[command(flatten)]
    pub on: DisksArgs,
    /// An empty folder
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Do not compute checksums: bytes as they are
    #[arg(long)]
    pub unchecked: bool,
    #[command(flatten)]
    pub key: KeyArgs,
}
