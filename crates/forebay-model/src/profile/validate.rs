// SPDX-License-Identifier: Apache-2.0
//! Which values a profile may have.

use super::{
    ControllerProfile, EnduranceProfile, FabricProfile, LinkProfile, Measurement, MediumTiming,
    PauseTiming, Profile, SsdProfile, ThermalProfile, TimingProfile, WriteTiming,
};
use crate::{MICROSECOND, ModelError, SECOND};
use std::fmt::Display;
use std::ops::RangeInclusive;

/// The longest time any single step may take.
const LONGEST: RangeInclusive<u64> = 0..=SECOND;
/// The longest spacing of pauses, idle time and time constant: one day.
const LONGEST_SPACING: u64 = 86_400 * SECOND;
/// Rates that a link or a drive may have.
const RATES: RangeInclusive<u64> = 1_000_000..=10_000_000_000_000;

/// Names the profile in errors.
struct Check<'a> {
    profile: &'a str,
}

impl Check<'_> {
    fn fail<T>(
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

    fn within(
        &self,
        field: &'static str,
        value: impl Into<u64>,
        range: RangeInclusive<u64>,
        remedy: &'static str,
    ) -> Result<(), ModelError> {
        let value = value.into();
        if range.contains(&value) {
            return Ok(());
        }
        let limit = format!("{} to {}", range.start(), range.end());
        self.fail(field, value, limit, remedy)
    }

    fn time(&self, field: &'static str, value: u64) -> Result<(), ModelError> {
        self.within(
            field,
            value,
            LONGEST,
            "Times here are in ps; no step takes more than 1 s",
        )
    }

    fn rate(&self, field: &'static str, value: u64) -> Result<(), ModelError> {
        if value == 0 {
            return Ok(());
        }
        self.within(
            field,
            value,
            RATES,
            "Give bytes per second, or 0 for no limit",
        )
    }

    fn power_of_two(
        &self,
        field: &'static str,
        value: u32,
        range: RangeInclusive<u64>,
    ) -> Result<(), ModelError> {
        self.within(
            field,
            value,
            range,
            "PCIe knows 128, 256, 512, 1024, 2048 and 4096",
        )?;
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
    check.within("measurements.depth", row.depth, 1..=1024, remedy)?;
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
    check.power_of_two("fabric.max_payload_bytes", fabric.max_payload, 128..=4096)?;
    check.power_of_two(
        "fabric.max_read_request_bytes",
        fabric.max_read_request,
        128..=4096,
    )?;
    for (field, value) in [
        ("fabric.write_header_bytes", fabric.write_header),
        ("fabric.read_header_bytes", fabric.read_header),
        ("fabric.completion_header_bytes", fabric.completion_header),
    ] {
        check.within(
            field,
            value,
            0..=64,
            "A PCIe header with its framing has 20 to 28 bytes",
        )?;
    }
    for (fields, link) in [
        (
            [
                "fabric.host.bytes_per_second",
                "fabric.host.latency_ns",
                "fabric.host.completer_ns",
            ],
            &fabric.host,
        ),
        (
            [
                "fabric.fpga.bytes_per_second",
                "fabric.fpga.latency_ns",
                "fabric.fpga.completer_ns",
            ],
            &fabric.fpga,
        ),
        (
            [
                "fabric.ssd.bytes_per_second",
                "fabric.ssd.latency_ns",
                "fabric.ssd.completer_ns",
            ],
            &fabric.ssd,
        ),
    ] {
        let LinkProfile {
            bytes_per_second,
            latency,
            completer,
            outstanding_reads: _,
        } = *link;
        check.rate(fields[0], bytes_per_second)?;
        check.time(fields[1], latency)?;
        check.time(fields[2], completer)?;
    }
    Ok(())
}

fn ssd(check: &Check, ssd: &SsdProfile) -> Result<(), ModelError> {
    controller(check, &ssd.controller)?;
    check.within(
        "ssd.namespaces (count)",
        ssd.namespaces.len() as u64,
        1..=1024,
        "Give at least one [[ssd.namespaces]]",
    )?;
    let mut total = 0u64;
    for namespace in &ssd.namespaces {
        let shift = namespace.block_shift;
        if shift != 9 && shift != 12 {
            let remedy = "Blocks have 512 or 4096 bytes";
            return check.fail("ssd.namespaces.block_shift", shift, "9 or 12", remedy);
        }
        let most = 1u64 << 56;
        let remedy = "A namespace holds at least one block and at most 64 PiB";
        check.within(
            "ssd.namespaces.bytes",
            namespace.bytes,
            1 << shift..=most,
            remedy,
        )?;
        if !namespace.bytes.is_multiple_of(1 << shift) {
            let remedy = "Round it to whole blocks";
            let limit = format!("a multiple of {}", 1u32 << shift);
            return check.fail("ssd.namespaces.bytes", namespace.bytes, limit, remedy);
        }
        total = total.saturating_add(namespace.bytes);
    }
    check.within(
        "ssd.namespaces (sum of bytes)",
        total,
        1..=1 << 60,
        "Use smaller namespaces",
    )?;
    if let Some(rated) = &ssd.endurance {
        endurance(check, rated)?;
    }
    ssd.timing
        .as_ref()
        .map_or(Ok(()), |value| timing(check, value))
}

fn endurance(check: &Check, rated: &EnduranceProfile) -> Result<(), ModelError> {
    let remedy = "Give what the maker warrants in bytes: 1,200 TBW are 1_200_000_000_000_000";
    let bytes = [
        ("ssd.endurance.written_bytes", Some(rated.written_bytes)),
        ("ssd.endurance.sequential_bytes", rated.sequential_bytes),
    ];
    for (field, bytes) in bytes {
        let bytes = bytes.unwrap_or(rated.written_bytes);
        check.within(field, bytes, 1_000_000_000..=1 << 60, remedy)?;
    }
    let remedy = "Give the years of the warranty";
    check.within("ssd.endurance.years", rated.years, 1..=50, remedy)
}

fn controller(check: &Check, controller: &ControllerProfile) -> Result<(), ModelError> {
    let ControllerProfile {
        ready,
        timeout_500ms,
        ..
    } = *controller;
    check.within(
        "ssd.controller.timeout_500ms",
        timeout_500ms,
        1..=255,
        "CAP.TO has eight bits, and 0 leaves a driver no time",
    )?;
    check.within(
        "ssd.controller.ready_us",
        ready,
        0..=timeout_500ms as u64 * SECOND / 2,
        "The drive must keep what it announces: raise timeout_500ms (values here in ps)",
    )?;
    check.within(
        "ssd.controller.max_queue_entries",
        controller.max_queue_entries,
        2..=65536,
        "CAP.MQES allows these (NVMe Base 2.0c 3.1.3.1)",
    )?;
    check.within(
        "ssd.controller.io_queues",
        controller.io_queues,
        1..=4096,
        "More make BAR 0 too large",
    )?;
    let stride = controller.doorbell_stride;
    check.within(
        "ssd.controller.doorbell_stride",
        stride,
        0..=15,
        "CAP.DSTRD has four bits",
    )?;
    check.within(
        "ssd.controller.mdts",
        controller.mdts,
        0..=16,
        "16 is 256 MiB; 0 is no limit",
    )?;
    check.within(
        "ssd.controller.page_max",
        controller.page_max,
        0..=4,
        "The model knows memory pages of 4 to 64 KiB",
    )?;
    check.within(
        "ssd.controller.commands_in_flight",
        controller.commands_in_flight,
        1..=65536,
        "A drive works on at least one command",
    )
}

fn timing(check: &Check, timing: &TimingProfile) -> Result<(), ModelError> {
    let TimingProfile {
        admin,
        command,
        read,
        write,
        pauses: pause_timing,
        thermal: thermal_profile,
    } = timing;
    if let Some(pause_timing) = pause_timing {
        pauses(check, pause_timing)?;
    }
    if let Some(profile) = thermal_profile {
        thermal(check, profile)?;
    }
    if let Some(timing) = &write.medium {
        medium(check, timing, write)?;
    }
    let remedy = "A drive has at least one and at most 65536";
    check.within("ssd.timing.read.planes", read.planes, 1..=65536, remedy)?;
    check.within("ssd.timing.read.channels", read.channels, 1..=65536, remedy)?;
    let remedy = "It is a part of a million";
    check.within(
        "ssd.timing.read.retry_ppm",
        read.retry_ppm,
        0..=1_000_000,
        remedy,
    )?;
    check.rate("ssd.timing.read.bytes_per_second", read.bytes_per_second)?;
    check.rate(
        "ssd.timing.write.full_bytes_per_second",
        write.full_bytes_per_second,
    )?;
    check.within(
        "ssd.timing.write.window_bytes",
        write.window_bytes,
        128..=1 << 24,
        "It is the data the drive has requested at any time; 16 reads of 512 bytes are 8192",
    )?;
    if write.cache_bytes != 0 && write.full_bytes_per_second == 0 {
        return check.fail(
            "ssd.timing.write.full_bytes_per_second",
            0,
            "a rate where cache_bytes is not 0",
            "Give the rate after the cache is full, or cache_bytes = 0",
        );
    }
    for (field, value) in [
        ("ssd.timing.admin_ns", *admin),
        ("ssd.timing.command_ns", *command),
        ("ssd.timing.read.sense_ns", read.sense),
        ("ssd.timing.read.retry_ns", read.retry),
        ("ssd.timing.read.channel_ns", read.channel),
        ("ssd.timing.read.before_ns", read.before),
        ("ssd.timing.read.after_ns", read.after),
        ("ssd.timing.write.page_ns", write.page),
        ("ssd.timing.write.command_ns", write.command),
        ("ssd.timing.write.peer_queue_ns", write.peer_queue),
        ("ssd.timing.write.slow_ns", write.slow),
        (
            "ssd.timing.write.reference_round_trip_ns",
            write.reference_round_trip,
        ),
        ("ssd.timing.write.after_ns", write.after),
        ("ssd.timing.write.pause_us", write.pause),
    ] {
        check.time(field, value)?;
    }
    Ok(())
}

fn pauses(check: &Check, pauses: &PauseTiming) -> Result<(), ModelError> {
    check.within(
        "ssd.timing.pauses.every_us",
        pauses.every,
        MICROSECOND..=LONGEST_SPACING,
        "Give 1 us to one day, or leave out [ssd.timing.pauses] (values here in ps)",
    )?;
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
    let remedy = "Drives live between 0 and 120 degrees, throttling above where they rest";
    check.within(
        "ssd.timing.thermal.rest_celsius",
        thermal.rest_celsius,
        0..=100,
        remedy,
    )?;
    check.within(
        "ssd.timing.thermal.throttle_celsius",
        thermal.throttle_celsius,
        thermal.rest_celsius as u64 + 2..=120,
        remedy,
    )?;
    check.within(
        "ssd.timing.thermal.recover_celsius",
        thermal.recover_celsius,
        thermal.rest_celsius as u64 + 1..=thermal.throttle_celsius as u64 - 1,
        "It recovers above its temperature at rest and below throttle_celsius",
    )?;
    check.within(
        "ssd.timing.thermal.microkelvin_per_gigabyte",
        thermal.microkelvin_per_gigabyte,
        0..=1_000_000_000,
        "1000 K for each 10^9 bytes is more than any drive",
    )?;
    check.within(
        "ssd.timing.thermal.time_constant_ms",
        thermal.time_constant,
        SECOND / 1000..=LONGEST_SPACING,
        "Give 1 ms to one day (values here in ps)",
    )?;
    check.within(
        "ssd.timing.thermal.throttled_bytes_per_second",
        thermal.throttled_rate,
        RATES,
        "A throttled drive still moves data",
    )
}

fn medium(check: &Check, medium: &MediumTiming, write: &WriteTiming) -> Result<(), ModelError> {
    check.within(
        "ssd.timing.write.medium.buffer_bytes",
        medium.buffer_bytes,
        4096..=1 << 40,
        "A drive holds at least a page, and less than 1 TiB in memory",
    )?;
    check.within(
        "ssd.timing.write.medium.program_bytes_per_second",
        medium.program_rate,
        RATES,
        "Give the rate at which the buffer drains",
    )?;
    check.rate(
        "ssd.timing.write.medium.drain_bytes_per_second",
        medium.drain_rate,
    )?;
    check.time("ssd.timing.write.medium.flush_us", medium.flush)?;
    check.within(
        "ssd.timing.write.medium.idle_us",
        medium.idle,
        0..=LONGEST_SPACING,
        "Give at most one day (values here in ps)",
    )?;
    if write.cache_bytes != 0 && write.full_bytes_per_second > medium.program_rate {
        return check.fail(
            "ssd.timing.write.full_bytes_per_second",
            write.full_bytes_per_second,
            format!("at most program_bytes_per_second = {}", medium.program_rate),
            "What lies behind the cache is slower than the cache",
        );
    }
    Ok(())
}
