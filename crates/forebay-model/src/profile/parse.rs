// SPDX-License-Identifier: Apache-2.0
//! Profiles as TOML.
//!
//! Each number is a table `{ value, kind, source }`: the number, how it came to be, and where from.

use super::measurement::RawMeasurement;
use super::{
    ControllerProfile, EnduranceProfile, FabricProfile, LinkProfile, Measurement, MediumTiming,
    NamespaceProfile, PauseTiming, Profile, ReadTiming, SsdProfile, ThermalProfile, TimingProfile,
    WriteTiming,
};
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
    pub(super) fn ns(&self) -> Time {
        self.value.saturating_mul(NANOSECOND)
    }

    fn us(&self) -> Time {
        self.value.saturating_mul(MICROSECOND)
    }

    pub(crate) fn u32(&self) -> u32 {
        u32::try_from(self.value).unwrap_or(u32::MAX)
    }

    fn u16(&self) -> u16 {
        u16::try_from(self.value).unwrap_or(u16::MAX)
    }

    fn u8(&self) -> u8 {
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

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RawSsd {
    model: String,
    controller: RawController,
    namespaces: Vec<RawNamespace>,
    endurance: Option<RawEndurance>,
    timing: Option<RawTiming>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RawController {
    ready_us: Number,
    timeout_500ms: Number,
    max_queue_entries: Number,
    io_queues: Number,
    doorbell_stride: Number,
    mdts: Number,
    page_max: Number,
    write_cache: Number,
    commands_in_flight: Number,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RawNamespace {
    bytes: Number,
    block_shift: Number,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RawEndurance {
    written_bytes: Number,
    sequential_bytes: Option<Number>,
    years: Number,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RawTiming {
    admin_ns: Number,
    command_ns: Number,
    read: RawRead,
    write: RawWrite,
    pauses: Option<RawPauses>,
    thermal: Option<RawThermal>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RawPauses {
    every_us: Number,
    length_us: Number,
    spread_us: Number,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RawThermal {
    rest_celsius: Number,
    microkelvin_per_gigabyte: Number,
    time_constant_ms: Number,
    throttle_celsius: Number,
    recover_celsius: Number,
    throttled_bytes_per_second: Number,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RawMedium {
    buffer_bytes: Number,
    program_bytes_per_second: Number,
    drain_bytes_per_second: Number,
    idle_us: Number,
    flush_us: Number,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RawRead {
    planes: Number,
    channels: Number,
    sense_ns: Number,
    retry_ppm: Number,
    retry_ns: Number,
    channel_ns: Number,
    bytes_per_second: Number,
    before_ns: Number,
    after_ns: Number,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RawWrite {
    page_ns: Number,
    command_ns: Number,
    peer_queue_ns: Number,
    slow_ns: Number,
    reference_round_trip_ns: Number,
    window_bytes: Number,
    after_ns: Number,
    cache_bytes: Number,
    full_bytes_per_second: Number,
    pause_every_bytes: Number,
    pause_us: Number,
    medium: Option<RawMedium>,
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
        ssd: raw.ssd.into(),
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

impl From<RawSsd> for SsdProfile {
    fn from(raw: RawSsd) -> Self {
        Self {
            model: raw.model,
            controller: raw.controller.into(),
            namespaces: raw
                .namespaces
                .into_iter()
                .map(NamespaceProfile::from)
                .collect(),
            endurance: raw.endurance.map(EnduranceProfile::from),
            timing: raw.timing.map(TimingProfile::from),
        }
    }
}

impl From<RawController> for ControllerProfile {
    fn from(raw: RawController) -> Self {
        Self {
            ready: raw.ready_us.us(),
            timeout_500ms: raw.timeout_500ms.u8(),
            max_queue_entries: raw.max_queue_entries.u32(),
            io_queues: raw.io_queues.u16(),
            doorbell_stride: raw.doorbell_stride.u8(),
            mdts: raw.mdts.u8(),
            page_max: raw.page_max.u8(),
            write_cache: raw.write_cache.value != 0,
            commands_in_flight: raw.commands_in_flight.u32(),
        }
    }
}

impl From<RawNamespace> for NamespaceProfile {
    fn from(raw: RawNamespace) -> Self {
        Self {
            bytes: raw.bytes.value,
            block_shift: raw.block_shift.u8(),
        }
    }
}

impl From<RawEndurance> for EnduranceProfile {
    fn from(raw: RawEndurance) -> Self {
        Self {
            written_bytes: raw.written_bytes.value,
            sequential_bytes: raw.sequential_bytes.map(|number| number.value),
            years: raw.years.u32(),
        }
    }
}

impl From<RawTiming> for TimingProfile {
    fn from(raw: RawTiming) -> Self {
        Self {
            admin: raw.admin_ns.ns(),
            command: raw.command_ns.ns(),
            read: raw.read.into(),
            write: raw.write.into(),
            pauses: raw.pauses.map(PauseTiming::from),
            thermal: raw.thermal.map(ThermalProfile::from),
        }
    }
}

impl From<RawPauses> for PauseTiming {
    fn from(raw: RawPauses) -> Self {
        Self {
            every: raw.every_us.us(),
            length: raw.length_us.us(),
            spread: raw.spread_us.us(),
        }
    }
}

impl From<RawThermal> for ThermalProfile {
    fn from(raw: RawThermal) -> Self {
        Self {
            rest_celsius: raw.rest_celsius.u32(),
            microkelvin_per_gigabyte: raw.microkelvin_per_gigabyte.value,
            time_constant: raw.time_constant_ms.value.saturating_mul(MILLISECOND),
            throttle_celsius: raw.throttle_celsius.u32(),
            recover_celsius: raw.recover_celsius.u32(),
            throttled_rate: raw.throttled_bytes_per_second.value,
        }
    }
}

impl From<RawMedium> for MediumTiming {
    fn from(raw: RawMedium) -> Self {
        Self {
            buffer_bytes: raw.buffer_bytes.value,
            program_rate: raw.program_bytes_per_second.value,
            drain_rate: raw.drain_bytes_per_second.value,
            idle: raw.idle_us.us(),
            flush: raw.flush_us.us(),
        }
    }
}

impl From<RawRead> for ReadTiming {
    fn from(raw: RawRead) -> Self {
        Self {
            planes: raw.planes.u32(),
            channels: raw.channels.u32(),
            sense: raw.sense_ns.ns(),
            retry_ppm: raw.retry_ppm.u32(),
            retry: raw.retry_ns.ns(),
            channel: raw.channel_ns.ns(),
            bytes_per_second: raw.bytes_per_second.value,
            before: raw.before_ns.ns(),
            after: raw.after_ns.ns(),
        }
    }
}

impl From<RawWrite> for WriteTiming {
    fn from(raw: RawWrite) -> Self {
        Self {
            page: raw.page_ns.ns(),
            command: raw.command_ns.ns(),
            peer_queue: raw.peer_queue_ns.ns(),
            slow: raw.slow_ns.ns(),
            reference_round_trip: raw.reference_round_trip_ns.ns(),
            window_bytes: raw.window_bytes.u32(),
            after: raw.after_ns.ns(),
            cache_bytes: raw.cache_bytes.value,
            full_bytes_per_second: raw.full_bytes_per_second.value,
            pause_every_bytes: raw.pause_every_bytes.value,
            pause: raw.pause_us.us(),
            medium: raw.medium.map(MediumTiming::from),
        }
    }
}
