// SPDX-License-Identifier: Apache-2.0
//! Which values a profile may have.

use super::{
    FabricProfile, LinkProfile, Measurement, MediumTiming, PauseTiming, Profile, SsdProfile, Table,
    ThermalProfile, WriteTiming,
};
use crate::{ModelError, SECOND};
use std::fmt::Display;
use std::ops::RangeInclusive;

/// The longest time any single step may take.
const LONGEST: RangeInclusive<u64> = 0..=SECOND;
/// The longest spacing of pauses, idle time and time constant: one day.
pub(super) const LONGEST_SPACING: u64 = 86_400 * SECOND;
/// Rates that a link or a drive may have.
pub(super) const RATES: RangeInclusive<u64> = 1_000_000..=10_000_000_000_000;
pub(super) const DEGREES: &str =
    "Drives live between 0 and 120 degrees, throttling above where they rest";

/// Names the profile in errors.
pub(crate) struct Check<'a> {
    pub(crate) profile: &'a str,
}

impl Check<'_> {
    pub(crate) fn fail<T>(
        &self,
        field: &'static str,
        value: impl Display,
        limit: impl Display,
        remedy: &'static str,
    ) -> Result<T, ModelError> {
        Err(ModelError::Value {
            profile: self.profile.to_owned(),
            field,
            value: value.to_string(),
            limit: limit.to_string(),
            remedy,
        })
    }

    pub(crate) fn within(
        &self,
        field: &'static str,
        value: u64,
        range: RangeInclusive<u64>,
        remedy: &'static str,
    ) -> Result<(), ModelError> {
        if range.contains(&value) {
            return Ok(());
        }
        let limit = format!("{} to {}", range.start(), range.end());
        self.fail(field, value, limit, remedy)
    }

    pub(crate) fn time(&self, field: &'static str, value: u64) -> Result<(), ModelError> {
        let remedy = "Times here are in ps; no step takes more than 1 s";
        self.within(field, value, LONGEST, remedy)
    }

    pub(crate) fn rate(&self, field: &'static str, value: u64) -> Result<(), ModelError> {
        match value {
            0 => Ok(()),
            _ => self.within(
                field,
                value,
                RATES,
                "Give bytes per second, or 0 for no limit",
            ),
        }
    }

    pub(super) fn endurance(&self, field: &'static str, bytes: u64) -> Result<(), ModelError> {
        let remedy = "Give what the maker warrants in bytes: 1,200 TBW are 1_200_000_000_000_000";
        self.within(field, bytes, 1_000_000_000..=1 << 60, remedy)
    }

    fn power_of_two(
        &self,
        field: &'static str,
        value: u64,
        range: RangeInclusive<u64>,
    ) -> Result<(), ModelError> {
        let remedy = "PCIe knows 128, 256, 512, 1024, 2048 and 4096";
        self.within(field, value, range, remedy)?;
        if value.is_power_of_two() {
            return Ok(());
        }
        self.fail(field, value, "a power of two", "PCIe knows no other sizes")
    }
}

pub(super) fn profile(name: &str, profile: &Profile) -> Result<(), ModelError> {
    let check = Check { profile: name };
    fabric(&check, &profile.fabric)?;
    ssd(&check, &profile.ssd)?;
    for row in &profile.measurements {
        measurement(&check, row, profile.ssd.bytes())?;
    }
    Ok(())
}

fn measurement(check: &Check, row: &Measurement, drive: u64) -> Result<(), ModelError> {
    let most = drive.min(64 << 20);
    let remedy = "A command moves one block of 512 bytes to 64 MiB, and fits on the drive";
    check.within("measurements.bytes", row.bytes, 512..=most, remedy)?;
    if !row.bytes.is_multiple_of(512) {
        return check.fail("measurements.bytes", row.bytes, "a multiple of 512", remedy);
    }
    let remedy = "Give how many commands were outstanding";
    check.within("measurements.depth", row.depth.into(), 1..=1024, remedy)?;
    let remedy = "Give how many commands repeat the measurement; at most 1 TiB in all";
    let most = ((1 << 40) / row.bytes).min(1 << 24);
    check.within("measurements.count", row.count, 1..=most, remedy)?;
    check.time("measurements.setup_ns", row.setup)?;
    let remedy = "Give bytes_per_second, mean_ns, p50_ns, p99_ns or p999_ns";
    let numbers = row.gave.len() as u64;
    check.within("measurements (numbers)", numbers, 1..=5, remedy)?;
    for number in &row.gave {
        let remedy = "Rates are in bytes per second, latencies in ns";
        check.within("measurements value", number.value, 1..=*RATES.end(), remedy)?;
    }
    Ok(())
}

/// Checks a drive whose profile was changed after it was read.
pub(crate) fn ssd_profile(profile: &SsdProfile) -> Result<(), ModelError> {
    ssd(
        &Check {
            profile: &profile.model,
        },
        profile,
    )
}

fn fabric(check: &Check, fabric: &FabricProfile) -> Result<(), ModelError> {
    for (field, value) in [
        ("fabric.max_payload_bytes", fabric.max_payload),
        ("fabric.max_read_request_bytes", fabric.max_read_request),
    ] {
        check.power_of_two(field, value.into(), 128..=4096)?;
    }
    for (field, value) in [
        ("fabric.write_header_bytes", fabric.write_header),
        ("fabric.read_header_bytes", fabric.read_header),
        ("fabric.completion_header_bytes", fabric.completion_header),
    ] {
        let remedy = "A PCIe header with its framing has 20 to 28 bytes";
        check.within(field, value.into(), 0..=64, remedy)?;
    }
    macro_rules! check_links {
        ($($link:ident)*) => {$(
            let LinkProfile { bytes_per_second, latency, completer, .. } = fabric.$link;
            check.rate(concat!("fabric.", stringify!($link), ".bytes_per_second"), bytes_per_second)?;
            check.time(concat!("fabric.", stringify!($link), ".latency_ns"), latency)?;
            check.time(concat!("fabric.", stringify!($link), ".completer_ns"), completer)?;
        )*};
    }
    check_links!(host fpga ssd);
    Ok(())
}

fn ssd(check: &Check, ssd: &SsdProfile) -> Result<(), ModelError> {
    ssd.check(check)?;
    check.within(
        "ssd.controller.ready_us",
        ssd.controller.ready,
        0..=u64::from(ssd.controller.timeout_500ms) * SECOND / 2,
        "The drive must keep what it announces: raise timeout_500ms (values here in ps)",
    )?;
    let (count, remedy) = (ssd.namespaces.len(), "Give at least one [[ssd.namespaces]]");
    check.within("ssd.namespaces (count)", count as u64, 1..=1024, remedy)?;
    let mut total = 0u64;
    for namespace in &ssd.namespaces {
        let (shift, bytes) = (namespace.block_shift, namespace.bytes);
        if shift != 9 && shift != 12 {
            let remedy = "Blocks have 512 or 4096 bytes";
            return check.fail("ssd.namespaces.block_shift", shift, "9 or 12", remedy);
        }
        if !bytes.is_multiple_of(1 << shift) {
            let remedy = "Round it to whole blocks";
            let limit = format!("a multiple of {}", 1u32 << shift);
            return check.fail("ssd.namespaces.bytes", bytes, limit, remedy);
        }
        total = total.saturating_add(bytes);
    }
    let remedy = "Use smaller namespaces";
    check.within("ssd.namespaces (sum of bytes)", total, 1..=1 << 60, remedy)?;
    if let Some(bytes) = ssd.endurance.and_then(|rated| rated.sequential_bytes) {
        check.endurance("ssd.endurance.sequential_bytes", bytes)?;
    }
    let Some(timing) = &ssd.timing else {
        return Ok(());
    };
    if let Some(timing) = &timing.pauses {
        pauses(check, timing)?;
    }
    if let Some(profile) = &timing.thermal {
        thermal(check, profile)?;
    }
    cache(check, &timing.write)
}

fn pauses(check: &Check, pauses: &PauseTiming) -> Result<(), ModelError> {
    check.within(
        "ssd.timing.pauses.length_us",
        pauses.length,
        0..=pauses.every / 2,
        "A drive that pauses for more than half the time is none (values here in ps)",
    )?;
    check.within(
        "ssd.timing.pauses.spread_us",
        pauses.spread,
        0..=pauses.every - pauses.length - 1,
        "A pause ends before the next may begin: less spread, or every_us larger (values in ps)",
    )
}

fn thermal(check: &Check, thermal: &ThermalProfile) -> Result<(), ModelError> {
    let [rest, throttle, recover] = [
        thermal.rest_celsius,
        thermal.throttle_celsius,
        thermal.recover_celsius,
    ]
    .map(u64::from);
    let field = "ssd.timing.thermal.throttle_celsius";
    check.within(field, throttle, rest + 2..=120, DEGREES)?;
    let field = "ssd.timing.thermal.recover_celsius";
    let remedy = "It recovers above its temperature at rest and below throttle_celsius";
    check.within(field, recover, rest + 1..=throttle - 1, remedy)
}

fn cache(check: &Check, write: &WriteTiming) -> Result<(), ModelError> {
    let field = "ssd.timing.write.full_bytes_per_second";
    let rate = write.full_bytes_per_second;
    match write.medium {
        _ if write.cache_bytes == 0 => Ok(()),
        _ if rate == 0 => {
            let remedy = "Give the rate after the cache is full, or cache_bytes = 0";
            check.fail(field, 0, "a rate where cache_bytes is not 0", remedy)
        }
        Some(MediumTiming { program_rate, .. }) if rate > program_rate => {
            let limit = format!("at most program_bytes_per_second = {program_rate}");
            let remedy = "Give the flash behind the cache at most the rate of the cache";
            check.fail(field, rate, limit, remedy)
        }
        _ => Ok(()),
    }
}
