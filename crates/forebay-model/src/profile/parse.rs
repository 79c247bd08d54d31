// SPDX-License-Identifier: Apache-2.0
//! Profiles as TOML.
//!
//! Each number is a table `{ value, kind, source }`: the number, how it came to be, and where from.

use super::measurement::RawMeasurement;
use super::{FabricProfile, LinkProfile, Measurement, Profile, RawSsd, Table};
use crate::{MICROSECOND, MILLISECOND, ModelError, NANOSECOND, Time};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

/// How a number came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// It was published.
    Published,
    /// The model was tuned to published measurements with it.
    Fitted,
    /// It follows from other numbers; measurements of it were held out.
    Predicted,
    /// Not known: a plausible choice.
    Chosen,
}

/// A number of a profile and where it is from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SourceRow {
    /// The field with its tables, for example `ssd.read.sense_ns`.
    pub field: String,
    /// The number.
    pub value: u64,
    /// How it came to be.
    pub kind: Kind,
    /// Where from.
    pub source: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
/// A number, how it came to be, and where from; its unit is in the name of its key.
pub(crate) struct Number {
    /// The number.
    pub(crate) value: u64,
    pub(crate) kind: Kind,
    /// Where from.
    pub(crate) source: String,
}

impl Number {
    pub(crate) fn value(&self) -> u64 {
        self.value
    }

    pub(super) fn flag(&self) -> bool {
        self.value != 0
    }

    pub(super) fn ns(&self) -> Time {
        self.value.saturating_mul(NANOSECOND)
    }

    pub(super) fn us(&self) -> Time {
        self.value.saturating_mul(MICROSECOND)
    }

    pub(super) fn ms(&self) -> Time {
        self.value.saturating_mul(MILLISECOND)
    }

    pub(crate) fn u32(&self) -> u32 {
        u32::try_from(self.value).unwrap_or(u32::MAX)
    }

    pub(super) fn u16(&self) -> u16 {
        u16::try_from(self.value).unwrap_or(u16::MAX)
    }

    pub(super) fn u8(&self) -> u8 {
        u8::try_from(self.value).unwrap_or(u8::MAX)
    }
}

#[derive(Deserialize, JsonSchema)]
#[schemars(title = "Forebay drive profile")]
#[serde(deny_unknown_fields)]
struct Raw {
    name: String,
    description: String,
    fabric: RawFabric,
    ssd: RawSsd,
    #[serde(default)]
    measurements: Vec<RawMeasurement>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RawFabric {
    max_payload_bytes: Number,
    max_read_request_bytes: Number,
    outstanding_reads: Number,
    write_header_bytes: Number,
    read_header_bytes: Number,
    completion_header_bytes: Number,
    host: RawLink,
    fpga: RawLink,
    ssd: RawLink,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RawLink {
    bytes_per_second: Number,
    latency_ns: Number,
    completer_ns: Number,
    /// In place of the fabric's.
    outstanding_reads: Option<Number>,
}

pub(super) fn parse(name: &str, text: &str) -> Result<Profile, ModelError> {
    let syntax = |error: toml::de::Error| ModelError::Syntax {
        profile: name.to_owned(),
        reason: error.to_string(),
    };
    let raw: Raw = toml::from_str(text).map_err(syntax)?;
    Ok(Profile {
        name: raw.name,
        description: raw.description,
        fabric: raw.fabric.into(),
        ssd: Table::read(raw.ssd),
        measurements: raw
            .measurements
            .into_iter()
            .map(Measurement::from)
            .collect(),
        sources: sources_of(name, text)?,
    })
}

/// The form of a profile: keys and kinds of values.
pub(super) fn schema() -> Schema {
    let settings = SchemaSettings::draft2020_12().for_deserialize();
    settings.into_generator().into_root_schema_for::<Raw>()
}

/// Lists every number of a profile.
pub(crate) fn sources_of(name: &str, text: &str) -> Result<Vec<SourceRow>, ModelError> {
    let table: toml::Table = toml::from_str(text).map_err(|error| ModelError::Syntax {
        profile: name.to_owned(),
        reason: error.to_string(),
    })?;
    let mut sources = Vec::new();
    collect("", &toml::Value::Table(table), &mut sources);
    Ok(sources)
}

/// Lists every number below a value.
fn collect(field: &str, value: &toml::Value, rows: &mut Vec<SourceRow>) {
    if let Ok(Number {
        value,
        kind,
        source,
    }) = value.clone().try_into()
    {
        rows.push(SourceRow {
            field: field.to_owned(),
            value,
            kind,
            source,
        });
        return;
    }
    let path = |name: &str| match field {
        "" => name.to_owned(),
        field => format!("{field}.{name}"),
    };
    match value {
        toml::Value::Table(table) => {
            for (name, value) in table {
                collect(&path(name), value, rows);
            }
        }
        toml::Value::Array(array) => {
            for (index, value) in array.iter().enumerate() {
                collect(&path(&index.to_string()), value, rows);
            }
        }
        _ => {}
    }
}

impl From<RawFabric> for FabricProfile {
    fn from(raw: RawFabric) -> Self {
        let reads = &raw.outstanding_reads;
        Self {
            max_payload: raw.max_payload_bytes.u32(),
            max_read_request: raw.max_read_request_bytes.u32(),
            write_header: raw.write_header_bytes.u32(),
            read_header: raw.read_header_bytes.u32(),
            completion_header: raw.completion_header_bytes.u32(),
            host: raw.host.with(reads),
            fpga: raw.fpga.with(reads),
            ssd: raw.ssd.with(reads),
        }
    }
}

impl RawLink {
    fn with(self, reads: &Number) -> LinkProfile {
        LinkProfile {
            bytes_per_second: self.bytes_per_second.value,
            latency: self.latency_ns.ns(),
            completer: self.completer_ns.ns(),
            outstanding_reads: self.outstanding_reads.as_ref().unwrap_or(reads).u32(),
        }
    }
}
