// SPDX-License-Identifier: Apache-2.0
//! Profiles: the numbers of a drive and a platform, each with its source.

mod measurement;
mod parse;
mod table;
mod validate;

pub use measurement::{Limit, LoadAccess, LoadDirection, Measurand, Measurement, Quantity};
pub use parse::{Kind, SourceRow};
pub(crate) use parse::{Number, sources_of};
pub(crate) use table::{Table, tables};
pub(crate) use validate::{Check, ssd_profile};

use crate::{MICROSECOND, MILLISECOND, ModelError, Time};
use std::borrow::Cow;
use std::path::Path;

/// Names and texts of built-in profiles.
pub(crate) type Texts = [(&'static str, &'static str)];

/// Names and texts of the profiles in a folder.
macro_rules! texts {
    ($folder:literal: $($name:literal)*) => {
        &[$(($name, include_str!(concat!($folder, $name, ".toml")))),*]
    };
}
pub(crate) use texts;

/// The built-in profiles: name and text.
const BUILTIN: &Texts = texts! {
    "../../../../profiles/":
    "ideal" "990pro-2tb" "990pro-2tb-b" "960evo-250" "950pro-512" "pm953-480" "gen5-2tb"
    "9550max-6400" "pm9d3a-7680"
};

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
        Self::from_toml(name, text_of_builtin(name, BUILTIN)?)
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
        Self::from_toml(name, &text_of(name, BUILTIN)?)
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
        let text = text_of(name, BUILTIN)?;
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

/// The text of a built-in profile by name, or of a file where the name ends in `.toml`.
pub(crate) fn text_of(name: &str, builtin: &Texts) -> Result<Cow<'static, str>, ModelError> {
    if !name.ends_with(".toml") {
        return text_of_builtin(name, builtin).map(Cow::Borrowed);
    }
    let text = std::fs::read_to_string(name).map_err(|source| ModelError::File {
        path: Path::new(name).to_owned(),
        source,
    })?;
    Ok(Cow::Owned(text))
}

pub(crate) fn text_of_builtin(name: &str, builtin: &Texts) -> Result<&'static str, ModelError> {
    let found = builtin.iter().find(|(known, _)| *known == name);
    let (_, text) = found.ok_or_else(|| {
        let names: Vec<_> = builtin.iter().map(|(name, _)| *name).collect();
        ModelError::UnknownProfile {
            name: name.to_owned(),
            known: names.join(", "),
        }
    })?;
    Ok(text)
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
    /// The link of a node by its index in the fabric.
    pub(crate) const fn link(&self, node: usize) -> &LinkProfile {
        match node {
            0 => &self.host,
            1 => &self.fpga,
            _ => &self.ssd,
        }
    }

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

tables! {
    /// A drive.
    #[derive(Clone, Debug, PartialEq, Eq)]
    SsdProfile, RawSsd, "ssd" {} + {
        /// Model number as Identify reports it.
        model: String;
        /// The controller.
        controller: ControllerProfile;
        /// The namespaces; the first has identifier 1.
        namespaces: Vec<NamespaceProfile>;
        /// How much may be written to it; `None`: nothing is known.
        endurance: Option<EnduranceProfile>;
        /// How long things take; `None`: nothing ever waits.
        timing: Option<TimingProfile>;
    }

    /// What a controller offers.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    ControllerProfile, RawController, "ssd.controller" {
        /// Time from enabling to ready, and back.
        ready: Time = ready_us.us;
        /// CAP.TO: the bound of `ready` it announces, in units of 500 ms.
        timeout_500ms: u8 = timeout_500ms.u8,
            within(1..=255, "CAP.TO has eight bits, and 0 leaves a driver no time");
        /// Entries an I/O queue may have: 2–65536.
        max_queue_entries: u32 = max_queue_entries.u32,
            within(2..=65536, "CAP.MQES allows these (NVMe Base 2.0c 3.1.3.1)");
        /// I/O queues of each kind: 1–4096.
        io_queues: u16 = io_queues.u16, within(1..=4096, "More make BAR 0 too large");
        /// CAP.DSTRD: the doorbell stride is `4 << stride` bytes, 0–15.
        doorbell_stride: u8 = doorbell_stride.u8, within(0..=15, "CAP.DSTRD has four bits");
        /// MDTS: a command moves at most `4096 << mdts` bytes; 0 is without limit.
        mdts: u8 = mdts.u8, within(0..=16, "16 is 256 MiB; 0 is no limit");
        /// CAP.MPSMAX: memory pages of up to `4096 << page_max` bytes.
        page_max: u8 = page_max.u8,
            within(0..=4, "The model knows memory pages of 4 to 64 KiB");
        /// A volatile write cache is present.
        write_cache: bool = write_cache.flag;
        /// I/O commands it works on at once.
        commands_in_flight: u32 = commands_in_flight.u32,
            within(1..=65536, "A drive works on at least one command");
    }

    /// A namespace.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    NamespaceProfile, RawNamespace, "ssd.namespaces" {
        /// Size in bytes, a multiple of the block.
        bytes: u64 = bytes.value,
            within(512..=1 << 56, "A namespace holds at least one block and at most 64 PiB");
        /// log2 of the logical block: 9 or 12.
        block_shift: u8 = block_shift.u8;
    }

    /// How much may be written to a drive, as its maker warrants.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    EnduranceProfile, RawEndurance, "ssd.endurance" {
        /// Bytes, with the writes that makers rate by (TBW): random ones on drives for servers.
        written_bytes: u64 = written_bytes.value, endurance();
        /// Years of the warranty.
        years: u32 = years.u32, within(1..=50, "Give the years of the warranty");
    } + {
        /// Bytes of sequential writes, where these have a rating of their own.
        sequential_bytes: Option<u64>;
    }

    /// How long a drive's work takes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    TimingProfile, RawTiming, "ssd.timing" {
        /// An admin command.
        admin: Time = admin_ns.ns, time();
        /// The controller's own work on an I/O command; one at a time.
        command: Time = command_ns.ns, time();
    } + {
        /// Reading.
        read: ReadTiming;
        /// Writing.
        write: WriteTiming;
        /// Pauses in time; `None`: there are none.
        pauses: Option<PauseTiming>;
        /// Warmth; `None`: the drive is always as warm, and never throttles.
        thermal: Option<ThermalProfile>;
    }

    /// Times in which a drive takes up nothing new.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    PauseTiming, RawPauses, "ssd.timing.pauses" {
        /// From one to the next.
        every: Time = every_us.us, within(
            MICROSECOND..=validate::LONGEST_SPACING,
            "Give 1 us to one day, or leave out [ssd.timing.pauses] (values here in ps)"
        );
        /// How long each is.
        length: Time = length_us.us;
        /// Each begins up to this much later, at random; with the length within the spacing.
        spread: Time = spread_us.us;
    }

    /// How warm a drive gets, and when it throttles.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    ThermalProfile, RawThermal, "ssd.timing.thermal" {
        /// Temperature at rest.
        rest_celsius: u32 = rest_celsius.u32, within(0..=100, validate::DEGREES);
        /// What moving 10^9 bytes adds, if nothing cools.
        microkelvin_per_gigabyte: u64 = microkelvin_per_gigabyte.value,
            within(0..=1_000_000_000, "1000 K for each 10^9 bytes is more than any drive");
        /// Time in which a rise falls to 1/e.
        time_constant: Time = time_constant_ms.ms, within(
            MILLISECOND..=validate::LONGEST_SPACING,
            "Give 1 ms to one day (values here in ps)"
        );
        /// From here on the drive throttles.
        throttle_celsius: u32 = throttle_celsius.u32;
        /// Down to here.
        recover_celsius: u32 = recover_celsius.u32;
        /// Rate of reads, and of writes, while throttled; bytes per second.
        throttled_rate: u64 = throttled_bytes_per_second.value,
            within(validate::RATES, "A throttled drive still moves data");
    }

    /// The way of acknowledged data to the medium.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    MediumTiming, RawMedium, "ssd.timing.write.medium" {
        /// Bytes that may be acknowledged and not stored.
        buffer_bytes: u64 = buffer_bytes.value,
            within(4096..=1 << 40, "A drive holds at least a page, and less than 1 TiB in memory");
        /// Rate at which they are stored: in the SLC cache, where `cache_bytes` says there is one.
        program_rate: u64 = program_bytes_per_second.value,
            within(validate::RATES, "Give the rate at which the buffer drains");
        /// Rate at which an idle drive empties the SLC cache; 0 is never.
        drain_rate: u64 = drain_bytes_per_second.value, rate();
        /// It is idle after so long without a command.
        idle: Time = idle_us.us,
            within(0..=validate::LONGEST_SPACING, "Give at most one day (values here in ps)");
        /// What a Flush takes besides storing what it is about.
        flush: Time = flush_us.us, time();
    }

    /// The way of a read through flash.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    ReadTiming, RawRead, "ssd.timing.read" {
        /// Planes that sense in parallel.
        planes: u32 = planes.u32, within(1..=65536, "A drive has at least one and at most 65536");
        /// Channels between planes and controller; plane *p* is on channel *p mod channels*.
        channels: u32 = channels.u32,
            within(1..=65536, "A drive has at least one and at most 65536");
        /// Time a plane senses one 4 KiB page.
        sense: Time = sense_ns.ns, time();
        /// Senses in a million that take longer.
        retry_ppm: u32 = retry_ppm.u32, within(0..=1_000_000, "It is a part of a million");
        /// How much longer; the plane stays busy.
        retry: Time = retry_ns.ns, time();
        /// Time of 4 KiB on a channel.
        channel: Time = channel_ns.ns, time();
        /// Rate at which all channels together leave the drive, in bytes per second.
        bytes_per_second: u64 = bytes_per_second.value, rate();
        /// Fixed time before the sense.
        before: Time = before_ns.ns, time();
        /// Fixed time after the data.
        after: Time = after_ns.ns, time();
    }

    /// The way of a write into the drive's memory.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    WriteTiming, RawWrite, "ssd.timing.write" {
        /// Time of 4 KiB, one after the other, where the data come over the reference path.
        page: Time = page_ns.ns, time();
        /// Added to each command.
        command: Time = command_ns.ns, time();
        /// Added to each command whose queue entries are not in host memory.
        peer_queue: Time = peer_queue_ns.ns, time();
        /// Added to each 4 KiB in the drive's slow state; 0 models the fast state.
        slow: Time = slow_ns.ns, time();
        /// Round trip of a read on the reference path.
        reference_round_trip: Time = reference_round_trip_ns.ns, time();
        /// Bytes the drive has requested at any time while it fetches data.
        window_bytes: u32 = window_bytes.u32, within(
            128..=1 << 24,
            "It is the data the drive has requested at any time; 16 reads of 512 bytes are 8192"
        );
        /// Fixed time from the last data to the completion.
        after: Time = after_ns.ns, time();
        /// Bytes taken at full speed; 0 is without limit.
        cache_bytes: u64 = cache_bytes.value;
        /// Rate once these are full, in bytes per second.
        full_bytes_per_second: u64 = full_bytes_per_second.value, rate();
        /// Bytes written between the beginnings of two pauses; 0 is never.
        pause_every_bytes: u64 = pause_every_bytes.value;
        /// Length of the pause.
        pause: Time = pause_us.us, time();
    } + {
        /// Buffer and SLC cache that fill and drain. `None`: what is written is stored at once, Flush
        /// takes no time, and a full cache stays full.
        medium: Option<MediumTiming>;
    }
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

impl EnduranceProfile {
    /// Bytes that a recording may write.
    #[must_use]
    pub fn recorded_bytes(&self) -> u64 {
        self.sequential_bytes.unwrap_or(self.written_bytes)
    }
}
