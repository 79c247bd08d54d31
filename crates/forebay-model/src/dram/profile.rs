// SPDX-License-Identifier: Apache-2.0
//! The numbers of a memory: `profiles/dram/*.toml`.

use super::Refresh;
use crate::profile::{self, Number, SourceRow, sources_of};
use crate::{ModelError, SECOND, Time};
use serde::Deserialize;

/// The built-in memories: name and text.
const BUILTIN: &[(&str, &str)] = &[
    (
        "ddr4-2400",
        include_str!("../../../../profiles/dram/ddr4-2400.toml"),
    ),
    (
        "hbm2-1800",
        include_str!("../../../../profiles/dram/hbm2-1800.toml"),
    ),
];

/// A memory: how it is built and what its commands take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DramProfile {
    /// Its name.
    pub name: String,
    /// What it stands for, in a sentence.
    pub description: String,
    /// Channels, or pseudo-channels: 1–32, a power of two.
    pub channels: u32,
    /// Bytes after which the next channel follows, a power of two.
    pub interleave_bytes: u64,
    /// Bank groups of a channel: 1–16, a power of two.
    pub bank_groups: u32,
    /// Banks of a group: 1–16, a power of two.
    pub banks: u32,
    /// Bytes of a row over the width of the channel, a power of two.
    pub row_bytes: u64,
    /// Bytes that one column command moves, a power of two up to 64.
    pub access_bytes: u64,
    /// Times of commands.
    pub timing: DramTiming,
    /// When it refreshes.
    pub refresh: Refresh,
    /// Where each number is from.
    pub sources: Vec<SourceRow>,
}

/// What the commands of a memory take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DramTiming {
    /// Data of one access on the bus.
    pub burst: Time,
    /// Column command to data of a read (CL).
    pub read_latency: Time,
    /// Column command to data of a write (CWL).
    pub write_latency: Time,
    /// Activation to column command (tRCD).
    pub activate: Time,
    /// Precharge to activation (tRP).
    pub precharge: Time,
    /// Activation to precharge (tRAS).
    pub row_open: Time,
    /// Column command to the next, other bank group (tCCD_S).
    pub column_short: Time,
    /// Column command to the next, same bank group (tCCD_L).
    pub column_long: Time,
    /// Activation to the next, other bank group (tRRD_S).
    pub activate_short: Time,
    /// Activation to the next, same bank group (tRRD_L).
    pub activate_long: Time,
    /// Any four activations (tFAW).
    pub four_activates: Time,
    /// Read command to precharge (tRTP).
    pub read_to_precharge: Time,
    /// End of written data to precharge (tWR).
    pub write_recovery: Time,
    /// End of written data to read command, other bank group (tWTR_S).
    pub write_to_read_short: Time,
    /// End of written data to read command, same bank group (tWTR_L).
    pub write_to_read_long: Time,
    /// The bus between data of a read and of a write.
    pub bus_turn: Time,
    /// Refresh to refresh (tREFI); 0 is never.
    pub refresh_every: Time,
    /// A refresh (tRFC).
    pub refresh: Time,
    /// Most refreshes that may be postponed.
    pub refreshes_postponed: u32,
    /// From the AXI port to a command.
    pub request: Time,
    /// From data to the AXI port.
    pub answer: Time,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    name: String,
    description: String,
    geometry: RawGeometry,
    timing: RawTiming,
    controller: RawController,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawGeometry {
    channels: Number,
    interleave_bytes: Number,
    bank_groups: Number,
    banks: Number,
    row_bytes: Number,
    access_bytes: Number,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTiming {
    burst_ps: Number,
    read_latency_ps: Number,
    write_latency_ps: Number,
    activate_ps: Number,
    precharge_ps: Number,
    row_open_ps: Number,
    column_short_ps: Number,
    column_long_ps: Number,
    activate_short_ps: Number,
    activate_long_ps: Number,
    four_activates_ps: Number,
    read_to_precharge_ps: Number,
    write_recovery_ps: Number,
    write_to_read_short_ps: Number,
    write_to_read_long_ps: Number,
    bus_turn_ps: Number,
    refresh_every_ps: Number,
    refresh_ps: Number,
    refreshes_postponed: Number,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawController {
    request_ps: Number,
    answer_ps: Number,
}

impl DramProfile {
    /// Names of the built-in memories.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILTIN.iter().map(|(name, _)| *name)
    }

    /// A built-in memory.
    ///
    /// # Errors
    /// Where there is none of this name.
    pub fn builtin(name: &str) -> Result<Self, ModelError> {
        match BUILTIN.iter().find(|(known, _)| *known == name) {
            Some((_, text)) => Self::from_toml(name, text),
            None => Err(ModelError::UnknownProfile {
                name: name.to_owned(),
                known: Self::names().collect::<Vec<_>>().join(", "),
            }),
        }
    }

    /// A built-in memory by name, or one from a file where the name ends in `.toml`.
    ///
    /// # Errors
    /// As [`Self::builtin`] and [`Self::from_toml`], or where the file cannot be read.
    pub fn load(name: &str) -> Result<Self, ModelError> {
        if name.ends_with(".toml") {
            return Self::from_toml(name, &profile::read(name)?);
        }
        Self::builtin(name)
    }

    /// A memory from the text of a TOML file.
    ///
    /// # Errors
    /// Where the text is no such profile, or one of its values cannot be.
    pub fn from_toml(name: &str, text: &str) -> Result<Self, ModelError> {
        let raw: Raw = toml::from_str(text).map_err(|error| ModelError::Syntax {
            profile: name.to_owned(),
            reason: error.to_string(),
        })?;
        let Raw {
            geometry,
            timing,
            controller,
            ..
        } = raw;
        let profile = Self {
            name: raw.name,
            description: raw.description,
            channels: geometry.channels.u32(),
            interleave_bytes: geometry.interleave_bytes.value,
            bank_groups: geometry.bank_groups.u32(),
            banks: geometry.banks.u32(),
            row_bytes: geometry.row_bytes.value,
            access_bytes: geometry.access_bytes.value,
            timing: DramTiming {
                burst: timing.burst_ps.value,
                read_latency: timing.read_latency_ps.value,
                write_latency: timing.write_latency_ps.value,
                activate: timing.activate_ps.value,
                precharge: timing.precharge_ps.value,
                row_open: timing.row_open_ps.value,
                column_short: timing.column_short_ps.value,
                column_long: timing.column_long_ps.value,
                activate_short: timing.activate_short_ps.value,
                activate_long: timing.activate_long_ps.value,
                four_activates: timing.four_activates_ps.value,
                read_to_precharge: timing.read_to_precharge_ps.value,
                write_recovery: timing.write_recovery_ps.value,
                write_to_read_short: timing.write_to_read_short_ps.value,
                write_to_read_long: timing.write_to_read_long_ps.value,
                bus_turn: timing.bus_turn_ps.value,
                refresh_every: timing.refresh_every_ps.value,
                refresh: timing.refresh_ps.value,
                refreshes_postponed: timing.refreshes_postponed.u32(),
                request: controller.request_ps.value,
                answer: controller.answer_ps.value,
            },
            refresh: Refresh::Regular,
            sources: sources_of(name, text)?,
        };
        profile.check(name)?;
        Ok(profile)
    }

    /// The same with other channels, and where given, other bytes after which the next follows.
    ///
    /// # Errors
    /// Where the number of channels or of bytes is out of range.
    pub fn with_channels(
        mut self,
        channels: u32,
        interleave_bytes: Option<u64>,
    ) -> Result<Self, ModelError> {
        self.channels = channels;
        self.interleave_bytes = interleave_bytes.unwrap_or(self.interleave_bytes);
        let name = self.name.clone();
        self.check(&name)?;
        Ok(self)
    }

    /// Bytes per second of all channels, if nothing but data were on their buses.
    #[must_use]
    pub fn peak(&self) -> u64 {
        let bytes = u64::from(self.channels) * self.access_bytes;
        bytes * SECOND / self.timing.burst.max(self.timing.column_short)
    }

    fn check(&self, name: &str) -> Result<(), ModelError> {
        let wrong = |field, value: u64, limit: &str, remedy| {
            Err(ModelError::Value {
                profile: name.to_owned(),
                field,
                value: value.to_string(),
                limit: limit.to_owned(),
                remedy,
            })
        };
        let powers = [
            ("geometry.channels", self.channels.into(), 1..=32),
            ("geometry.bank_groups", self.bank_groups.into(), 1..=16),
            ("geometry.banks", self.banks.into(), 1..=16),
            ("geometry.access_bytes", self.access_bytes, 8..=64),
            ("geometry.row_bytes", self.row_bytes, 256..=65536),
            (
                "geometry.interleave_bytes",
                self.interleave_bytes,
                256..=1 << 30,
            ),
        ];
        for (field, value, range) in powers {
            if !range.contains(&value) || !value.is_power_of_two() {
                let limit = format!("a power of two from {} to {}", range.start(), range.end());
                return wrong(field, value, &limit, "Round it");
            }
        }
        let t = &self.timing;
        let times = [
            ("timing.read_latency_ps", t.read_latency),
            ("timing.write_latency_ps", t.write_latency),
            ("timing.activate_ps", t.activate),
            ("timing.precharge_ps", t.precharge),
            ("timing.row_open_ps", t.row_open),
            ("timing.column_long_ps", t.column_long),
            ("timing.activate_short_ps", t.activate_short),
            ("timing.activate_long_ps", t.activate_long),
            ("timing.four_activates_ps", t.four_activates),
            ("timing.read_to_precharge_ps", t.read_to_precharge),
            ("timing.write_recovery_ps", t.write_recovery),
            ("timing.write_to_read_short_ps", t.write_to_read_short),
            ("timing.write_to_read_long_ps", t.write_to_read_long),
            ("timing.bus_turn_ps", t.bus_turn),
            ("timing.refresh_every_ps", t.refresh_every),
            ("timing.refresh_ps", t.refresh),
            ("controller.request_ps", t.request),
            ("controller.answer_ps", t.answer),
        ];
        const LONGEST: Time = crate::MILLISECOND;
        for (field, value) in times {
            if value > LONGEST {
                return wrong(field, value, "at most 1 ms", "Times here are in ps");
            }
        }
        if t.burst == 0 || t.burst > LONGEST {
            return wrong(
                "timing.burst_ps",
                t.burst,
                "1 ps to 1 ms",
                "Times here are in ps",
            );
        }
        if t.column_short < t.burst || t.column_short > LONGEST {
            let remedy = "Data of two accesses cannot be on the bus at once";
            return wrong(
                "timing.column_short_ps",
                t.column_short,
                "burst_ps to 1 ms",
                remedy,
            );
        }
        if t.refreshes_postponed > 64 {
            let value = t.refreshes_postponed.into();
            let remedy = "JEDEC allows 8 or 9";
            return wrong("timing.refreshes_postponed", value, "0 to 64", remedy);
        }
        let burst_of_refreshes = t
            .refresh
            .saturating_mul(u64::from(t.refreshes_postponed) + 1);
        if t.refresh_every != 0
            && burst_of_refreshes >= t.refresh_every * (u64::from(t.refreshes_postponed) + 1)
        {
            let remedy = "Nothing but refreshes would fit between refreshes";
            return wrong(
                "timing.refresh_ps",
                t.refresh,
                "less than refresh_every_ps",
                remedy,
            );
        }
        Ok(())
    }
}
