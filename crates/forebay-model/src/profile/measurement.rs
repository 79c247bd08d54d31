// SPDX-License-Identifier: Apache-2.0
//! What was measured of a drive: loads, and the numbers they gave.

use super::parse::{Kind, Number};
use crate::Time;
use schemars::JsonSchema;
use serde::Deserialize;

/// Which way a load moves data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LoadDirection {
    /// From the drive.
    Read,
    /// To the drive.
    Write,
}

/// In which order a load touches the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LoadAccess {
    /// One command's blocks after the other's.
    Sequential,
    /// Anywhere.
    Random,
}

/// What keeps a number from being better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Limit {
    /// The drive: the model must give this number.
    #[default]
    Drive,
    /// What drove it: a model of the drive alone is better.
    Host,
    /// Something that happened once, as what was measured before and after shows: no model of rates
    /// has it.
    Incident,
}

/// What a number is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Bytes per second.
    Rate,
    /// Mean latency in nanoseconds.
    Mean,
    /// The latency in nanoseconds that this many of 1000 commands do not exceed.
    Percentile(u32),
}

/// A measured number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measurand {
    /// What it is of.
    pub quantity: Quantity,
    /// The number.
    pub value: u64,
    /// Whether the model was tuned to it.
    pub kind: Kind,
    /// Where from.
    pub source: String,
}

/// A load and what it gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measurement {
    /// The load in words.
    pub title: String,
    /// Which way.
    pub direction: LoadDirection,
    /// In which order.
    pub access: LoadAccess,
    /// Bytes of a command.
    pub bytes: u64,
    /// Commands outstanding.
    pub depth: u16,
    /// Commands of a run that repeats it.
    pub count: u64,
    /// The SLC cache is full when it begins.
    pub full_cache: bool,
    /// What it took besides the commands, once.
    pub setup: Time,
    /// What limits it.
    pub limit: Limit,
    /// The numbers.
    pub gave: Vec<Measurand>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawMeasurement {
    pub(super) title: String,
    direction: LoadDirection,
    access: LoadAccess,
    pub(super) bytes: u64,
    pub(super) depth: u64,
    pub(super) count: u64,
    #[serde(default)]
    full_cache: bool,
    #[serde(default)]
    limit: Limit,
    setup_ns: Option<Number>,
    bytes_per_second: Option<Number>,
    mean_ns: Option<Number>,
    p50_ns: Option<Number>,
    p99_ns: Option<Number>,
    p999_ns: Option<Number>,
}

impl From<RawMeasurement> for Measurement {
    fn from(raw: RawMeasurement) -> Self {
        let numbers = [
            (Quantity::Rate, raw.bytes_per_second),
            (Quantity::Mean, raw.mean_ns),
            (Quantity::Percentile(500), raw.p50_ns),
            (Quantity::Percentile(990), raw.p99_ns),
            (Quantity::Percentile(999), raw.p999_ns),
        ];
        let gave = numbers.into_iter().filter_map(|(quantity, number)| {
            let Number {
                value,
                kind,
                source,
            } = number?;
            Some(Measurand {
                quantity,
                value,
                kind,
                source,
            })
        });
        Self {
            title: raw.title,
            direction: raw.direction,
            access: raw.access,
            bytes: raw.bytes,
            depth: u16::try_from(raw.depth).unwrap_or(u16::MAX),
            count: raw.count,
            full_cache: raw.full_cache,
            setup: raw.setup_ns.map_or(0, |setup| setup.ns()),
            limit: raw.limit,
            gave: gave.collect(),
        }
    }
}
