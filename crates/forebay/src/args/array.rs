// SPDX-License-Identifier: Apache-2.0
//! Options that make an array of several simulated drives.

use clap::{Args, value_parser};
use forebay_cosim::Drive;
use forebay_driver::{ArrayOptions, CHUNK_BYTES, Layout};
use forebay_model::Profile;

use super::values;
use super::words::Words;
use crate::failure::{Failure, Result};

/// Their names.
pub const NAMES: [&str; 6] = ["drives", "chunk", "apart", "parity", "missing", "fpga-link"];

/// Most 4 KiB pages of a chunk of an array with parity: so much memory our RTL has for its sums.
pub const PARITY_PAGES: u64 = 16;

/// How many drives, and how they make one address space.
#[derive(Args, Clone, Debug, PartialEq)]
pub struct ArrayArgs {
    /// Number of drives, 1 to 8 [default: one for each --profile]
    #[arg(long, value_name = "N", value_parser = value_parser!(u8).range(1..=8))]
    drives: Option<u8>,
    /// Bytes that follow each other on one drive of several: a power of two, 4KiB to 1MiB
    #[arg(long, value_name = "SIZE", default_value = "64KiB", value_parser = chunk)]
    chunk: u64,
    /// Each drive has a region of the address space to itself, for a stream of its own: no stripes
    #[arg(long, conflicts_with = "parity")]
    apart: bool,
    /// The last drive holds the parity of the others: one of them may fail
    #[arg(long)]
    parity: bool,
    /// Do without this drive of an array with parity, 0 upwards
    #[arg(long, value_name = "DRIVE", requires = "parity")]
    missing: Option<u8>,
    /// Link of the FPGA card in place of the profile's, such as gen4x16
    #[arg(id = "fpga-link", long, value_name = "LINK", value_parser = values::link)]
    fpga_link: Option<u64>,
}

/// As the driver will have it, whatever the number of drives.
fn chunk(text: &str) -> std::result::Result<u64, String> {
    let chunk = values::length(text)?;
    Layout::new(ArrayOptions::striped(1, chunk))
        .map(|_| chunk)
        .map_err(|error| format!("{error}; choose 4KiB, 8KiB … 1MiB"))
}

impl ArrayArgs {
    /// The first drive's profile with the link asked for, and the drives beside it.
    ///
    /// # Errors
    /// Where a profile is bad, or there are more of them than drives.
    pub fn load(&self, profiles: &[String]) -> Result<(Profile, Vec<Drive>)> {
        let mut loaded = Vec::new();
        for name in profiles {
            loaded.push(Profile::load(name)?);
        }
        let count = self.drives.map_or(profiles.len(), usize::from);
        if !(loaded.len() == count || loaded.len() == 1) || count > 8 {
            return Err(Failure::input(
                "--profile",
                format_args!("{} of them for {count} drives", profiles.len()),
                "name one for all drives, or one for each of up to 8",
                "leave --drives out, or name as many profiles as it says",
            ));
        }
        let mut rest = loaded.into_iter();
        let Some(mut first) = rest.next() else {
            return Ok((Profile::builtin("ideal")?, Vec::new()));
        };
        if let Some(rate) = self.fpga_link {
            first.fabric.fpga.bytes_per_second = rate;
        }
        let others = (1..count).map(|_| {
            let own = rest.next();
            Drive::new(own.map_or_else(|| first.ssd.clone(), |own| own.ssd))
        });
        let others = others.collect();
        Ok((first, others))
    }

    /// Another number of drives.
    pub const fn set_drives(&mut self, drives: u8) {
        self.drives = Some(drives);
    }

    /// Another length of what follows on one drive.
    pub const fn set_chunk(&mut self, chunk: u64) {
        self.chunk = chunk;
    }

    /// Bytes that follow on one drive.
    pub const fn chunk(&self) -> u64 {
        self.chunk
    }

    /// Whether each drive has a region to itself.
    pub const fn apart(&self) -> bool {
        self.apart
    }

    /// How many drives, where that was said.
    pub const fn drives(&self) -> Option<u8> {
        self.drives
    }

    /// Each drive with a region to itself, in place of stripes.
    pub const fn set_apart(&mut self, apart: bool) {
        self.apart = apart;
    }

    /// With the parity of the others on the last drive, and perhaps without one of the drives.
    pub const fn set_parity(&mut self, parity: bool, missing: Option<u8>) {
        self.parity = parity;
        self.missing = missing;
    }

    /// The options that say this.
    pub fn add_to(&self, words: &mut Words) {
        words.maybe("drives", self.drives);
        words.unless("chunk", self.chunk, CHUNK_BYTES);
        words.flag("apart", self.apart);
        words.flag("parity", self.parity);
        words.maybe("missing", self.missing);
        // Both links of a generation and a width differ from all others.
        words.maybe("fpga-link", self.fpga_link.and_then(values::link_name));
    }

    /// Whether one of the drives holds the parity of the others.
    pub const fn parity(&self) -> bool {
        self.parity
    }

    /// The drive to do without.
    #[cfg(test)]
    pub const fn missing(&self) -> Option<u8> {
        self.missing
    }

    /// Whether so many drives can be what is asked for.
    ///
    /// # Errors
    /// Where parity cannot be.
    pub fn check(&self, drives: usize) -> Result<()> {
        if self.apart && drives < 2 {
            return Err(Failure::input(
                "--apart",
                format_args!("with {drives} drive"),
                "there is nothing to keep apart: there must be 2 or more",
                "add --drives N, or leave it out",
            ));
        }
        if !self.parity {
            return Ok(());
        }
        if drives < 2 {
            return Err(Failure::input(
                "--parity",
                format_args!("with {drives} drive"),
                "parity takes a drive of its own: there must be 2 or more",
                "add --drives N, or leave it out",
            ));
        }
        if self.chunk > PARITY_PAGES << 12 {
            return Err(Failure::input(
                "--chunk",
                format_args!("{} KiB with --parity", self.chunk >> 10),
                &format!("our RTL adds chunks of up to {} KiB up", PARITY_PAGES << 2),
                "choose a smaller chunk, or leave --parity out",
            ));
        }
        if let Some(drive) = self.missing.filter(|drive| usize::from(*drive) >= drives) {
            return Err(Failure::input(
                "--missing",
                drive,
                &format!("the drives are 0 to {}", drives - 1),
                "name one of them, or leave it out",
            ));
        }
        Ok(())
    }

    /// What the driver is to make of so many drives; none of one.
    pub fn options(&self, drives: usize) -> Option<ArrayOptions> {
        (drives > 1).then_some(ArrayOptions {
            drives: drives as u8,
            chunk: self.chunk,
            parity: self.parity,
            missing: self.missing,
            apart: self.apart,
        })
    }
}
