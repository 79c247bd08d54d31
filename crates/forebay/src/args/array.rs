// SPDX-License-Identifier: Apache-2.0
//! Options that make an array of several simulated drives.

use clap::{Args, value_parser};
use forebay_app::ArraySpec;
use forebay_driver::{ArrayOptions, Layout, STRIPE_UNIT_BYTES};

use forebay_pipeline::units;

use super::values;
use super::words::Words;

/// Their names.
pub const NAMES: [&str; 6] = [
    "drives",
    "chunk",
    "linear",
    "parity",
    "missing",
    "fpga-link",
];

/// How many drives, and how they make one address space.
#[derive(Args, Clone, Debug, PartialEq)]
pub struct ArrayArgs {
    /// Number of drives, 1 to 8 [default: one for each --profile]
    #[arg(long, value_name = "N", value_parser = value_parser!(u8).range(1..=8))]
    drives: Option<u8>,
    /// Bytes that follow each other on one drive of several: a power of two, 4KiB to 1MiB
    #[arg(long, value_name = "SIZE", default_value = "64KiB", value_parser = chunk,
          hide_short_help = true)]
    chunk: u64,
    /// Each drive has a region of the address space to itself, for a stream of its own: no stripes
    #[arg(long, conflicts_with = "parity", hide_short_help = true)]
    linear: bool,
    /// The last drive holds the parity of the others: one of them may fail
    #[arg(long)]
    parity: bool,
    /// Do without this drive of an array with parity, 0 upwards
    #[arg(
        long,
        value_name = "DRIVE",
        requires = "parity",
        hide_short_help = true
    )]
    missing: Option<u8>,
    /// Link of the FPGA card in place of the profile's, such as gen4x16
    #[arg(id = "fpga-link", long, value_name = "LINK", value_parser = units::link,
          hide_short_help = true)]
    fpga_link: Option<u64>,
}

/// As the driver will have it, whatever the number of drives.
fn chunk(text: &str) -> std::result::Result<u64, String> {
    let chunk = values::length(text)?;
    Layout::new(ArrayOptions::striped(1, chunk))
        .map(|_| chunk)
        .map_err(|error| format!("{error}; choose 4KiB, 8KiB … 1MiB"))
}

impl From<ArrayArgs> for ArraySpec {
    fn from(args: ArrayArgs) -> Self {
        Self {
            drives: args.drives,
            stripe_unit: args.chunk,
            linear: args.linear,
            parity: args.parity,
            missing: args.missing,
            fpga_link: args.fpga_link,
        }
    }
}

/// Adds the options that say this.
pub fn add_words(array: &ArraySpec, words: &mut Words) {
    words.each("drives", array.drives);
    words.unless("chunk", array.stripe_unit, STRIPE_UNIT_BYTES);
    words.flag("linear", array.linear);
    words.flag("parity", array.parity);
    words.each("missing", array.missing);
    // Both links of a generation and a width differ from all others.
    words.each("fpga-link", array.fpga_link.and_then(units::link_name));
}
