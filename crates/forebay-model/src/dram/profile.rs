// SPDX-License-Identifier: Apache-2.0
//! The numbers of a memory: `profiles/dram/*.toml`.

use super::Refresh;
use crate::profile::{
    Check, Number, SourceRow, Table, Texts, sources_of, tables, text_of, text_of_builtin, texts,
};
use crate::{ModelError, SECOND, Time};
use serde::Deserialize;

/// The built-in memories: name and text.
const BUILTIN: &Texts = texts!("../../../../profiles/dram/": "ddr4-2400" "hbm2-1800");

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
    /// Times of the controller.
    pub controller: DramController,
    /// When it refreshes.
    pub refresh: Refresh,
    /// Where each number is from.
    pub sources: Vec<SourceRow>,
}

tables! {
    /// What the commands of a memory take.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    DramTiming, RawTiming, "timing" {
        /// Data of one access on the bus.
        burst: Time = burst_ps.value;
        /// Column command to data of a read (CL).
        read_latency: Time = read_latency_ps.value, short();
        /// Column command to data of a write (CWL).
        write_latency: Time = write_latency_ps.value, short();
        /// Activation to column command (tRCD).
        activate: Time = activate_ps.value, short();
        /// Precharge to activation (tRP).
        precharge: Time = precharge_ps.value, short();
        /// Activation to precharge (tRAS).
        row_open: Time = row_open_ps.value, short();
        /// Column command to the next, other bank group (tCCD_S).
        column_short: Time = column_short_ps.value;
        /// Column command to the next, same bank group (tCCD_L).
        column_long: Time = column_long_ps.value, short();
        /// Activation to the next, other bank group (tRRD_S).
        activate_short: Time = activate_short_ps.value, short();
        /// Activation to the next, same bank group (tRRD_L).
        activate_long: Time = activate_long_ps.value, short();
        /// Any four activations (tFAW).
        four_activates: Time = four_activates_ps.value, short();
        /// Read command to precharge (tRTP).
        read_to_precharge: Time = read_to_precharge_ps.value, short();
        /// End of written data to precharge (tWR).
        write_recovery: Time = write_recovery_ps.value, short();
        /// End of written data to read command, other bank group (tWTR_S).
        write_to_read_short: Time = write_to_read_short_ps.value, short();
        /// End of written data to read command, same bank group (tWTR_L).
        write_to_read_long: Time = write_to_read_long_ps.value, short();
        /// The bus between data of a read and of a write.
        bus_turn: Time = bus_turn_ps.value, short();
        /// Refresh to refresh (tREFI); 0 is never.
        refresh_every: Time = refresh_every_ps.value, short();
        /// A refresh (tRFC).
        refresh: Time = refresh_ps.value, short();
        /// Most refreshes that may be postponed.
        refreshes_postponed: u32 = refreshes_postponed.u32, within(0..=64, "JEDEC allows 8 or 9");
    }

    /// What the controller of a memory takes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    DramController, RawController, "controller" {
        /// From the AXI port to a command.
        request: Time = request_ps.value, short();
        /// From data to the AXI port.
        answer: Time = answer_ps.value, short();
    }
}

/// The longest time of a command.
const LONGEST: Time = crate::MILLISECOND;
const PICOSECONDS: &str = "Times here are in ps";

impl Check<'_> {
    fn short(&self, field: &'static str, value: Time) -> Result<(), ModelError> {
        match value {
            0..=LONGEST => Ok(()),
            _ => self.fail(field, value, "at most 1 ms", PICOSECONDS),
        }
    }
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
        Self::from_toml(name, text_of_builtin(name, BUILTIN)?)
    }

    /// A built-in memory by name, or one from a file where the name ends in `.toml`.
    ///
    /// # Errors
    /// As [`Self::builtin`] and [`Self::from_toml`], or where the file cannot be read.
    pub fn load(name: &str) -> Result<Self, ModelError> {
        Self::from_toml(name, &text_of(name, BUILTIN)?)
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
        let geometry = raw.geometry;
        let profile = Self {
            name: raw.name,
            description: raw.description,
            channels: geometry.channels.u32(),
            interleave_bytes: geometry.interleave_bytes.value,
            bank_groups: geometry.bank_groups.u32(),
            banks: geometry.banks.u32(),
            row_bytes: geometry.row_bytes.value,
            access_bytes: geometry.access_bytes.value,
            timing: Table::read(raw.timing),
            controller: Table::read(raw.controller),
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
        let check = Check { profile: name };
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
                return check.fail(field, value, limit, "Round it");
            }
        }
        self.timing.check(&check)?;
        self.controller.check(&check)?;
        let t = &self.timing;
        if !(1..=LONGEST).contains(&t.burst) {
            return check.fail("timing.burst_ps", t.burst, "1 ps to 1 ms", PICOSECONDS);
        }
        if !(t.burst..=LONGEST).contains(&t.column_short) {
            let (field, limit) = ("timing.column_short_ps", "burst_ps to 1 ms");
            let remedy = "Data of two accesses cannot be on the bus at once";
            return check.fail(field, t.column_short, limit, remedy);
        }
        if t.refresh_every != 0 && t.refresh >= t.refresh_every {
            let (field, limit) = ("timing.refresh_ps", "less than refresh_every_ps");
            let remedy = "Nothing but refreshes would fit between refreshes";
            return check.fail(field, t.refresh, limit, remedy);
        }
        Ok(())
    }
}
