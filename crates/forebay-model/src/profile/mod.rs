// SPDX-License-Identifier: Apache-2.0
//! Profiles: the numbers of a drive and a platform, each with its source.

mod measurement;
mod parse;
mod validate;

pub use measurement::{Limit, LoadAccess, LoadDirection, Measurand, Measurement, Quantity};
pub use parse::{Kind, SourceRow};
pub(crate) use parse::{Number, sources_of};
pub(crate) use validate::ssd_profile;

use crate::{ModelError, Time};
use std::borrow::Cow;
use std::path::Path;

/// The built-in profiles: name and text.
const BUILTIN: &[(&str, &str)] = &[
    ("ideal", include_str!("../../../../profiles/ideal.toml")),
    (
        "990pro-2tb",
        include_str!("../../../../profiles/990pro-2tb.toml"),
    ),
    (
        "990pro-2tb-b",
        include_str!("../../../../profiles/990pro-2tb-b.toml"),
    ),
    (
        "960evo-250",
        include_str!("../../../../profiles/960evo-250.toml"),
    ),
    (
        "950pro-512",
        include_str!("../../../../profiles/950pro-512.toml"),
    ),
    (
        "pm953-480",
        include_str!("../../../../profiles/pm953-480.toml"),
    ),
    (
        "gen5-2tb",
        include_str!("../../../../profiles/gen5-2tb.toml"),
    ),
    (
        "9550max-6400",
        include_str!("../../../../profiles/9550max-6400.toml"),
    ),
    (
        "pm9d3a-7680",
        include_str!("../../../../profiles/pm9d3a-7680.toml"),
    ),
];

/// A drive on a platform.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// What it stands for, in a sentence.
    pub description: String,
    /// The platform.
    pub fabric: FabricProfile,
    /// The drive.
    pub ssd: SsdProfile,
    /// What was measured of the drive.
    pub measurements: Vec<Measurement>,
    /// Where each number is from.
    pub sources: Vec<SourceRow>,
}

impl Profile {
    /// The form of a profile's file, as JSON Schema.
    #[must_use]
    pub fn schema() -> schemars::Schema {
        parse::schema()
    }

    /// Names of the built-in profiles.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILTIN.iter().map(|(name, _)| *name)
    }

    /// A built-in profile.
    ///
    /// # Errors
    /// Where there is none of this name.
    pub fn builtin(name: &str) -> Result<Self, ModelError> {
        Self::from_toml(name, text_of_builtin(name)?)
    }

    /// A profile from the text of a TOML file.
    ///
    /// # Errors
    /// Where the text is no profile, or one of its values cannot be.
    pub fn from_toml(name: &str, text: &str) -> Result<Self, ModelError> {
        let profile = parse::parse(name, text)?;
        validate::profile(name, &profile)?;
        Ok(profile)
    }

    /// A built-in profile by name, or one from a file where the name ends in `.toml`.
    ///
    /// # Errors
    /// As [`Self::builtin`] and [`Self::from_toml`], or where the file cannot be read.
    pub fn load(name: &str) -> Result<Self, ModelError> {
        Self::from_toml(name, &text_of(name)?)
    }

    /// As [`Self::load`], with one number times a factor: to see what depends on it. `field` is as
    /// in [`SourceRow::field`], outside of lists.
    ///
    /// # Errors
    /// As [`Self::load`], or where the profile has no such number.
    pub fn load_varied(name: &str, field: &str, factor: f64) -> Result<Self, ModelError> {
        let syntax = |reason: String| ModelError::Syntax {
            profile: name.to_owned(),
            reason,
        };
        let text = text_of(name)?;
        let mut table: toml::Table =
            toml::from_str(&text).map_err(|error| syntax(error.to_string()))?;
        let place = field.split('.').try_fold(&mut table, |table, key| {
            table.get_mut(key).and_then(toml::Value::as_table_mut)
        });
        let number = place.and_then(|number| number.get_mut("value"));
        let Some(toml::Value::Integer(value)) = number else {
            return Err(syntax(format!("there is no number {field} to vary")));
        };
        *value = (*value as f64 * factor).round() as i64;
        Self::from_toml(name, &table.to_string())
    }
}

fn text_of(name: &str) -> Result<Cow<'static, str>, ModelError> {
    if !name.ends_with(".toml") {
        return text_of_builtin(name).map(Cow::Borrowed);
    }
    read(name).map(Cow::Owned)
}

fn text_of_builtin(name: &str) -> Result<&'static str, ModelError> {
    let found = BUILTIN.iter().find(|(known, _)| *known == name);
    found
        .map(|(_, text)| *text)
        .ok_or_else(|| ModelError::UnknownProfile {
            name: name.to_owned(),
            known: Profile::names().collect::<Vec<_>>().join(", "),
        })
}

/// The text of a profile of the user's.
pub(crate) fn read(name: &str) -> Result<String, ModelError> {
    std::fs::read_to_string(name).map_err(|source| ModelError::File {
        path: Path::new(name).to_owned(),
        source,
    })
}

/// The PCIe fabric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FabricProfile {
    /// Greatest payload of a packet in bytes: 128–4096, a power of two.
    pub max_payload: u32,
    /// Greatest read request in bytes: 128–4096, a power of two.
    pub max_read_request: u32,
    /// Wire bytes of a posted write besides its payload.
    pub write_header: u32,
    /// Wire bytes of a read request.
    pub read_header: u32,
    /// Wire bytes of a completion besides its payload.
    pub completion_header: u32,
    /// The host's link.
    pub host: LinkProfile,
    /// The FPGA card's link.
    pub fpga: LinkProfile,
    /// Each drive's link.
    pub ssd: LinkProfile,
}

impl FabricProfile {
    /// Nothing in it takes any time or waits.
    pub const fn is_immediate(&self) -> bool {
        self.host.is_immediate() && self.fpga.is_immediate() && self.ssd.is_immediate()
    }
}

/// A node's link to the switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkProfile {
    /// Bytes per second each way, headers included; 0 is without limit.
    pub bytes_per_second: u64,
    /// One-way latency between node and switch.
    pub latency: Time,
    /// Time the node takes to answer a read, besides what its model takes.
    pub completer: Time,
    /// Reads that the node may have outstanding; 0 is without limit.
    pub outstanding_reads: u32,
}

impl LinkProfile {
    const fn is_immediate(&self) -> bool {
        self.bytes_per_second == 0
            && self.latency == 0
            && self.completer == 0
            && self.outstanding_reads == 0
    }
}

/// A drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SsdProfile {
    /// Model number as Identify reports it.
    pub model: String,
    /// The controller.
    pub controller: ControllerProfile,
    /// The namespaces; the first has identifier 1.
    pub namespaces: Vec<NamespaceProfile>,
    /// How much may be written to it; `None`: nothing is known.
    pub endurance: Option<EnduranceProfile>,
    /// How long things take; `None`: nothing ever waits.
    pub timing: Option<TimingProfile>,
}

impl SsdProfile {
    /// Bytes of all namespaces.
    pub fn bytes(&self) -> u64 {
        self.namespaces
            .iter()
            .map(|namespace| namespace.bytes)
            .sum()
    }
}

/// What a controller offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControllerProfile {
    /// Time from enabling to ready, and back.
    pub ready: Time,
    /// CAP.TO: the bound of `ready` it announces, in units of 500 ms.
    pub timeout_500ms: u8,
    /// Entries an I/O queue may have: 2–65536.
    pub max_queue_entries: u32,
    /// I/O queues of each kind: 1–65535.
    pub io_queues: u16,
    /// CAP.DSTRD: the doorbell stride is `4 << stride` bytes, 0–15.
    pub doorbell_stride: u8,
    /// MDTS: a command moves at most `4096 << mdts` bytes; 0 is without limit.
    pub mdts: u8,
    /// CAP.MPSMAX: memory pages of up to `4096 << page_max` bytes.
    pub page_max: u8,
    /// A volatile write cache is present.
    pub write_cache: bool,
    /// I/O commands it works on at once.
    pub commands_in_flight: u32,
}

/// A namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamespaceProfile {
    /// Size in bytes, a multiple of the block.
    pub bytes: u64,
    /// log2 of the logical block: 9 or 12.
    pub block_shift: u8,
}

/// How much may be written to a drive, as its maker warrants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnduranceProfile {
    /// Bytes, with the writes that makers rate by (TBW): random ones on drives for servers.
    pub written_bytes: u64,
    /// Bytes of sequential writes, where these have a rating of their own.
    pub sequential_bytes: Option<u64>,
    /// Years of the warranty.
    pub years: u32,
}

impl EnduranceProfile {
    /// Bytes that a recording may write.
    #[must_use]
    pub fn recorded_bytes(&self) -> u64 {
        self.sequential_bytes.unwrap_or(self.written_bytes)
    }
}

/// How long a drive's work takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimingProfile {
    /// An admin command.
    pub admin: Time,
    /// The controller's own work on an I/O command; one at a time.
    pub command: Time,
    /// Reading.
    pub read: ReadTiming,
    /// Writing.
    pub write: WriteTiming,
    /// Pauses in time; `None`: there are none.
    pub pauses: Option<PauseTiming>,
    /// Warmth; `None`: the drive is always as warm, and never throttles.
    pub thermal: Option<ThermalProfile>,
}

/// Times in which a drive takes up nothing new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseTiming {
    /// From one to the next.
    pub every: Time,
    /// How long each is.
    pub length: Time,
    /// Each begins up to this much later, at random; with the length within the spacing.
    pub spread: Time,
}

/// How warm a drive gets, and when it throttles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThermalProfile {
    /// Temperature at rest.
    pub rest_celsius: u32,
    /// What moving 10^9 bytes adds, if nothing cools.
    pub microkelvin_per_gigabyte: u64,
    /// Time in which a rise falls to 1/e.
    pub time_constant: Time,
    /// From here on the drive throttles.
    pub throttle_celsius: u32,
    /// Down to here.
    pub recover_celsius: u32,
    /// Rate of reads, and of writes, while throttled; bytes per second.
    pub throttled_rate: u64,
}

/// The way of acknowledged data to the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediumTiming {
    /// Bytes that may be acknowledged and not stored.
    pub buffer_bytes: u64,
    /// Rate at which they are stored: in the SLC cache, where `cache_bytes` says there is one.
    pub program_rate: u64,
    /// Rate at which an idle drive empties the SLC cache; 0 is never.
    pub drain_rate: u64,
    /// It is idle after so long without a command.
    pub idle: Time,
    /// What a Flush takes besides storing what it is about.
    pub flush: Time,
}

/// The way of a read through flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadTiming {
    /// Planes that sense in parallel.
    pub planes: u32,
    /// Channels between planes and controller; plane *p* is on channel *p mod channels*.
    pub channels: u32,
    /// Time a plane senses one 4 KiB page.
    pub sense: Time,
    /// Senses in a million that take longer.
    pub retry_ppm: u32,
    /// How much longer; the plane stays busy.
    pub retry: Time,
    /// Time of 4 KiB on a channel.
    pub channel: Time,
    /// Rate at which all channels together leave the drive, in bytes per second.
    pub bytes_per_second: u64,
    /// Fixed time before the sense.
    pub before: Time,
    /// Fixed time after the data.
    pub after: Time,
}

/// The way of a write into the drive's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteTiming {
    /// Time of 4 KiB, one after the other, where the data come over the reference path.
    pub page: Time,
    /// Added to each command.
    pub command: Time,
    /// Added to each command whose queue entries are not in host memory.
    pub peer_queue: Time,
    /// Added to each 4 KiB in the drive's slow state; 0 models the fast state.
    pub slow: Time,
    /// Round trip of a read on the reference path.
    pub reference_round_trip: Time,
    /// Bytes the drive has requested at any time while it fetches data.
    pub window_bytes: u32,
    /// Fixed time from the last data to the completion.
    pub after: Time,
    /// Bytes taken at full speed; 0 is without limit.
    pub cache_bytes: u64,
    /// Rate once these are full, in bytes per second.
    pub full_bytes_per_second: u64,
    /// Bytes written between the beginnings of two pauses; 0 is never.
    pub pause_every_bytes: u64,
    /// Length of the pause.
    pub pause: Time,
    /// Buffer and SLC cache that fill and drain. `None`: what is written is stored at once, Flush
    /// takes no time, and a full cache stays full.
    pub medium: Option<MediumTiming>,
}
