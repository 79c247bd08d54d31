// SPDX-License-Identifier: Apache-2.0
//! Several simulated drives as one address space.

use forebay_cosim::Drive;
use forebay_driver::{ArrayOptions, STRIPE_UNIT_BYTES};
use forebay_model::Profile;
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, Result};

/// Most 4 KiB pages of a stripe unit of an array with parity: the memory of our RTL for sums.
pub const PARITY_PAGES: u64 = 16;

/// How many drives, and how they make one address space.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ArraySpec {
    /// Number of drives, 1 to 8; none: one for each profile.
    pub drives: Option<u8>,
    /// Bytes that follow each other on one drive of several: a power of two, 4 KiB to 1 MiB.
    pub stripe_unit: u64,
    /// Each drive has a region of the address space to itself: no stripes.
    pub linear: bool,
    /// The last drive holds the parity of the others: one of them may fail.
    pub parity: bool,
    /// The drive of an array with parity to do without.
    pub missing: Option<u8>,
    /// Rate of the FPGA card's link in bytes a second, in place of the profile's.
    pub fpga_link: Option<u64>,
}

impl Default for ArraySpec {
    fn default() -> Self {
        Self {
            drives: None,
            stripe_unit: STRIPE_UNIT_BYTES,
            linear: false,
            parity: false,
            missing: None,
            fpga_link: None,
        }
    }
}

impl ArraySpec {
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
                "profiles",
                format_args!("{} of them for {count} drives", profiles.len()),
                "name one for all drives, or one for each of up to 8",
                "leave the number of drives out, or name as many profiles as it says",
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

    /// Whether `drives` drives can be what is asked for.
    ///
    /// # Errors
    /// Where parity or regions cannot be.
    pub fn check(&self, drives: usize) -> Result<()> {
        if self.linear && drives < 2 {
            return Err(Failure::input(
                "array.linear",
                format_args!("with {drives} drive"),
                "a region of its own for each drive takes 2 or more",
                "take more drives, or leave it out",
            ));
        }
        if !self.parity {
            return Ok(());
        }
        if drives < 2 {
            return Err(Failure::input(
                "array.parity",
                format_args!("with {drives} drive"),
                "parity takes a drive of its own: there must be 2 or more",
                "take more drives, or leave it out",
            ));
        }
        if self.stripe_unit > PARITY_PAGES << 12 {
            return Err(Failure::input(
                "array.stripe_unit",
                format_args!("{} KiB with parity", self.stripe_unit >> 10),
                &format!(
                    "our RTL computes parity of stripe units of up to {} KiB",
                    PARITY_PAGES << 2
                ),
                "choose a smaller stripe unit, or leave parity out",
            ));
        }
        if let Some(drive) = self.missing.filter(|drive| usize::from(*drive) >= drives) {
            return Err(Failure::input(
                "array.missing",
                drive,
                &format!("the drives are 0 to {}", drives - 1),
                "name one of them, or leave it out",
            ));
        }
        Ok(())
    }

    /// What the driver is to make of `drives` drives; none of one.
    #[must_use]
    pub fn options(&self, drives: usize) -> Option<ArrayOptions> {
        (drives > 1).then_some(ArrayOptions {
            drives: drives as u8,
            stripe_unit: self.stripe_unit,
            parity: self.parity,
            missing: self.missing,
            linear: self.linear,
        })
    }
}
