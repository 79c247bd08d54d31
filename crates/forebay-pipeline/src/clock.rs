// SPDX-License-Identifier: Apache-2.0
//! `[chain]`: what all processing elements share.

use std::ops::RangeInclusive;

use schemars::JsonSchema;
use serde::Deserialize;

use super::field::{Field, File};
use super::{Place, Result, schema, units};

/// Where nothing is said.
const USUAL: u64 = 250_000_000;
/// What a clock may be: a recording ends when nothing has moved for 27 us, as slow as an element is.
const RANGE: RangeInclusive<u64> = 25_000_000..=1_000_000_000;

#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Raw {
    /// The clock of elements that have their own.
    #[schemars(with = "Option<schema::Frequency>")]
    clock: Option<Place>,
}

/// Hertz of the clock of elements that have their own.
pub(super) fn check(file: &File, raw: &Raw) -> Result<u64> {
    file.or("chain.clock", &raw.clock, USUAL, |field: &Field| {
        let remedy = "write for example \"200MHz\"";
        let hertz = units::frequency(field.text()?).map_err(|_| {
            field.refuse(
                "it is a frequency of whole hertz: a number and kHz, MHz or GHz",
                remedy,
            )
        })?;
        match RANGE.contains(&hertz) {
            true => Ok(hertz),
            false => Err(field.refuse("it is from 25 MHz to 1 GHz", remedy)),
        }
    })
}
