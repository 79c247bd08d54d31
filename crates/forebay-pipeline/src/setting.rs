// SPDX-License-Identifier: Apache-2.0
//! Settings of an element, which are bits of its `cfg`, and the bits of its `status`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use toml::Value;

use super::field::{Field, File};
use super::name::named_well;
use super::{Place, Result};

/// A number that an element shows while it runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Status {
    /// What it means, in a line.
    pub description: String,
    /// The highest of its bits in `status`.
    pub high: u32,
    /// The lowest.
    pub low: u32,
}

impl Status {
    /// The number, of an element's word.
    pub const fn of(&self, word: u64) -> u64 {
        word >> self.low & u64::MAX >> (63 - (self.high - self.low))
    }
}

/// Something that can be set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// What it means, in a line.
    pub description: String,
    /// The highest of its bits in `cfg`.
    pub high: u32,
    /// The lowest.
    pub low: u32,
    /// Whether it is a flag: true or false, and one bit.
    pub flag: bool,
    /// The value where none is given.
    pub default: i128,
    /// The least value.
    pub least: i128,
    /// The greatest one.
    pub most: i128,
    /// Streams may have values of their own.
    pub per_stream: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Raw {
    description: String,
    bits: Place,
    r#type: Place,
    default: Option<Place>,
    range: Option<Place>,
    per_stream: Option<Place>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawStatus {
    description: String,
    bits: Place,
}

/// All settings of a manifest.
pub(super) fn all(file: &File, raw: &BTreeMap<String, Raw>) -> Result<BTreeMap<String, Setting>> {
    let mut found = BTreeMap::new();
    for (name, raw) in raw {
        let setting = setting(file, name, raw)?;
        let taken = found
            .iter()
            .map(|(name, old): (&String, &Setting)| (name, old.high, old.low));
        let field = file.field(format!("settings.{name}.bits"), &raw.bits);
        not_taken(&field, taken, setting.high, setting.low)?;
        found.insert(name.clone(), setting);
    }
    Ok(found)
}

/// All that a manifest says of `status`.
pub(super) fn status(
    file: &File,
    raw: &BTreeMap<String, RawStatus>,
) -> Result<BTreeMap<String, Status>> {
    let mut found = BTreeMap::new();
    for (name, raw) in raw {
        let field = file.field(format!("status.{name}.bits"), &raw.bits);
        named_well(&field, name, "a status")?;
        let (high, low) = bits_of(&field)?;
        let taken = found
            .iter()
            .map(|(name, old): (&String, &Status)| (name, old.high, old.low));
        not_taken(&field, taken, high, low)?;
        let description = raw.description.clone();
        let status = Status {
            description,
            high,
            low,
        };
        found.insert(name.clone(), status);
    }
    Ok(found)
}

/// Refuses bits of which some are those of another.
fn not_taken<'a>(
    field: &Field<'_>,
    mut taken: impl Iterator<Item = (&'a String, u32, u32)>,
    high: u32,
    low: u32,
) -> Result<()> {
    match taken.find(|(_, old_high, old_low)| *old_low <= high && low <= *old_high) {
        Some((other, ..)) => Err(field.refuse(
            &format!("some of these bits are those of {other}"),
            "choose others of the 64",
        )),
        None => Ok(()),
    }
}

/// The highest and the lowest of some bits of 64.
fn bits_of(field: &Field<'_>) -> Result<(u32, u32)> {
    let what = "the highest and the lowest bit, such as [31, 0]";
    let (high, low) = pair(field, what, 0, 63)?;
    if high < low {
        return Err(field.refuse("the highest bit comes first", "exchange the two"));
    }
    Ok((high as u32, low as u32))
}

/// Two numbers in brackets.
fn pair(field: &Field<'_>, what: &str, least: i128, most: i128) -> Result<(i128, i128)> {
    let numbers: Vec<i128> = match field.value() {
        Value::Array(values) => values
            .iter()
            .filter_map(|value| value.as_integer().map(i128::from))
            .filter(|number| (least..=most).contains(number))
            .collect(),
        _ => Vec::new(),
    };
    match (numbers.as_slice(), field.value().as_array().map(Vec::len)) {
        ([first, second], Some(2)) => Ok((*first, *second)),
        _ => Err(field.refuse(
            &format!("it is two numbers from {least} to {most}"),
            &format!("write {what}"),
        )),
    }
}

fn setting(file: &File, name: &str, raw: &Raw) -> Result<Setting> {
    let field = |key: &str, value| file.field(format!("settings.{name}.{key}"), value);
    let bits = field("bits", &raw.bits);
    named_well(&bits, name, "a setting")?;
    let (high, low) = bits_of(&bits)?;
    let flag = field("type", &raw.r#type).word(&[("flag", true), ("integer", false)])?;
    if flag && high != low {
        return Err(bits.refuse(
            "a flag has one bit",
            "give the same bit twice, such as [32, 32]",
        ));
    }
    let (least, most) = range(&field, raw, flag, high - low + 1)?;
    let per_stream = file.or(
        format!("settings.{name}.per_stream"),
        &raw.per_stream,
        false,
        Field::flag,
    )?;
    if per_stream && name == "stream" {
        return Err(bits.refuse(
            "in front of the settings of a stream this word names it",
            "choose another name",
        ));
    }
    let mut setting = Setting {
        description: raw.description.clone(),
        high,
        low,
        flag,
        default: if least > 0 { least } else { 0.min(most) },
        least,
        most,
        per_stream,
    };
    if let Some(value) = &raw.default {
        setting.default = setting.read(&field("default", value))?;
    }
    Ok(setting)
}

/// The values that fit into the setting's bits, or fewer where the manifest says so.
fn range<'a>(
    field: &impl Fn(&str, &'a Place) -> Field<'a>,
    raw: &'a Raw,
    flag: bool,
    width: u32,
) -> Result<(i128, i128)> {
    let (floor, ceiling) = (-(1_i128 << (width - 1)), (1_i128 << width) - 1);
    let Some(value) = &raw.range else {
        return Ok((0, ceiling));
    };
    let range = field("range", value);
    if flag {
        return Err(range.refuse("a flag is true or false", "leave it out"));
    }
    let (least, most) = pair(&range, "the least and the greatest value", floor, ceiling)?;
    if least > most {
        return Err(range.refuse("the least value comes first", "exchange the two"));
    }
    Ok((least, most))
}

impl Setting {
    /// Reads a value for it.
    pub(super) fn read(&self, field: &Field<'_>) -> Result<i128> {
        match self.flag {
            true => field.flag().map(i128::from),
            false => field.integer(self.least..=self.most),
        }
    }

    /// Its bits of `cfg`, for a value that it may have.
    pub(super) const fn encode(&self, value: i128) -> u64 {
        let mask = u64::MAX >> (63 - (self.high - self.low));
        // Negative numbers are in two's complement.
        (value as u64 & mask) << self.low
    }

    /// A value, as it is written in a file.
    pub fn show(&self, value: i128) -> String {
        match self.flag {
            true => (value != 0).to_string(),
            false => value.to_string(),
        }
    }
}
