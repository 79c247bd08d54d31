// SPDX-License-Identifier: Apache-2.0
//! Profiles: complete, with sources, and refused with a reason where a value cannot be.

use forebay_model::{Medium, ModelError, Profile, Ssd};
use std::fs;
use std::path::Path;

fn text(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../profiles");
    fs::read_to_string(folder.join(name).with_extension("toml")).unwrap()
}

fn refused(from: &str, to: &str) -> String {
    let text = text("990pro-2tb");
    assert!(text.contains(from), "no {from} in the profile");
    Profile::from_toml("changed", &text.replacen(from, to, 1))
        .unwrap_err()
        .to_string()
}

#[test]
fn each_file_is_built_in_under_its_name() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../profiles");
    let mut files = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            let name = path.file_stem().unwrap().to_str().unwrap();
            assert_eq!(Profile::builtin(name).unwrap().name, name);
            assert_eq!(Profile::load(path.to_str().unwrap()).unwrap().name, name);
            files += 1;
        }
    }
    assert_eq!(files, Profile::names().count());
}

#[test]
fn each_number_has_a_source() {
    for name in Profile::names() {
        let profile = Profile::builtin(name).unwrap();
        let rows = &profile.sources;
        assert!(rows.len() >= 26, "{name} has {} numbers", rows.len());
        assert!(rows.iter().all(|row| !row.source.trim().is_empty()));
        assert!(
            rows.iter()
                .any(|row| row.field == "ssd.namespaces.0.block_shift")
        );
    }
}

#[test]
fn bad_values_are_named_with_limit_and_remedy() {
    let error = refused("planes = { value = 64", "planes = { value = 0");
    assert!(error.contains("ssd.timing.read.planes = 0"), "{error}");
    assert!(
        error.contains("1 to 65536") && error.contains("changed"),
        "{error}"
    );
    let error = refused(
        "max_payload_bytes = { value = 256",
        "max_payload_bytes = { value = 300",
    );
    assert!(error.contains("power of two"), "{error}");
    let error = refused("block_shift = { value = 9", "block_shift = { value = 10");
    assert!(error.contains("9 or 12"), "{error}");
    let error = refused(
        "ready_us = { value = 20_000",
        "ready_us = { value = 900_000_000",
    );
    assert!(error.contains("timeout_500ms"), "{error}");
    let error = refused(
        "latency_ns = { value = 150",
        "latency_ns = { value = 18_000_000_000",
    );
    assert!(error.contains("no step takes more than 1 s"), "{error}");
    let error = refused(
        "full_bytes_per_second = { value = 1_400_000_000",
        "full_bytes_per_second = { value = 0",
    );
    assert!(error.contains("cache_bytes"), "{error}");
}

/// The message for a profile with further tables: name, and fields with their values.
fn refused_with(tables: &[(&str, &[(&str, u64)])]) -> String {
    let mut text = text("990pro-2tb");
    for (table, fields) in tables {
        text += &format!("[{table}]\n");
        for (field, value) in *fields {
            text +=
                &format!("{field} = {{ value = {value}, kind = \"chosen\", source = \"test\" }}\n");
        }
    }
    match Profile::from_toml("changed", &text) {
        Ok(profile) => {
            let medium = Medium::in_memory(profile.ssd.bytes());
            Ssd::new(&profile.ssd, medium, 1).unwrap();
            String::new()
        }
        Err(error) => error.to_string(),
    }
}

#[test]
fn absurd_endurance_is_named_with_limit() {
    let drive = Profile::builtin("9550max-6400").unwrap().ssd;
    let rated = drive.endurance.expect("it is published");
    assert_eq!(rated.recorded_bytes(), 74_200_000_000_000_000);
    // What is published twice agrees: 3 drive writes a day.
    let days = f64::from(rated.years) * 365.0;
    let writes = rated.written_bytes as f64 / drive.bytes() as f64 / days;
    assert!((writes - 3.0).abs() < 0.01, "{writes}");
    for (from, to, words) in [
        (
            "written_bytes = { value = 1_200_000_000_000_000",
            "written_bytes = { value = 1200",
            "1000000000 to",
        ),
        ("years = { value = 5", "years = { value = 0", "1 to 50"),
        ("written_bytes", "written", "unknown field"),
    ] {
        let error = refused(from, to);
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn absurd_pauses_heat_and_buffers_are_named_with_limit() {
    let pauses = |every, length, spread| {
        let fields = [
            ("every_us", every),
            ("length_us", length),
            ("spread_us", spread),
        ];
        refused_with(&[("ssd.timing.pauses", &fields)])
    };
    assert_eq!(pauses(1000, 100, 800), "");
    for (error, field) in [
        (pauses(0, 0, 0), "ssd.timing.pauses.every_us = 0"),
        (pauses(i64::MAX as u64, 1, 1), "ssd.timing.pauses.every_us"),
        (pauses(1000, 600, 0), "ssd.timing.pauses.length_us"),
        (pauses(1000, 100, 900), "ssd.timing.pauses.spread_us"),
    ] {
        assert!(
            error.contains(field) && error.contains("must be"),
            "{error}"
        );
    }
    let thermal = |rest, heat, constant, throttle, recover, rate| {
        let fields = [
            ("rest_celsius", rest),
            ("microkelvin_per_gigabyte", heat),
            ("time_constant_ms", constant),
            ("throttle_celsius", throttle),
            ("recover_celsius", recover),
            ("throttled_bytes_per_second", rate),
        ];
        refused_with(&[("ssd.timing.thermal", &fields)])
    };
    assert_eq!(thermal(40, 200_000, 60_000, 81, 75, 1_000_000_000), "");
    for (error, field) in [
        (thermal(300, 1, 1, 81, 75, 1_000_000), "rest_celsius = 300"),
        (
            thermal(40, 1 << 60, 1, 81, 75, 1_000_000),
            "microkelvin_per_gigabyte",
        ),
        (thermal(40, 1, 0, 81, 75, 1_000_000), "time_constant_ms"),
        (
            thermal(40, 1, 1, 41, 40, 1_000_000),
            "throttle_celsius = 41",
        ),
        (thermal(40, 1, 1, 81, 81, 1_000_000), "recover_celsius = 81"),
        (
            thermal(40, 1, 1, 81, 75, 0),
            "throttled_bytes_per_second = 0",
        ),
    ] {
        assert!(
            error.contains(field) && error.contains("must be"),
            "{error}"
        );
    }
    let medium = |buffer, program, drain, idle, flush| {
        let fields = [
            ("buffer_bytes", buffer),
            ("program_bytes_per_second", program),
            ("drain_bytes_per_second", drain),
            ("idle_us", idle),
            ("flush_us", flush),
        ];
        refused_with(&[("ssd.timing.write.medium", &fields)])
    };
    assert_eq!(medium(1 << 24, 2_000_000_000, 0, 1000, 0), "");
    for (error, field) in [
        (medium(0, 2_000_000_000, 0, 0, 0), "buffer_bytes = 0"),
        (medium(1 << 24, 7, 0, 0, 0), "program_bytes_per_second = 7"),
        (
            medium(1 << 24, 2_000_000_000, 3, 0, 0),
            "drain_bytes_per_second = 3",
        ),
        (
            medium(1 << 24, 2_000_000_000, 0, i64::MAX as u64, 0),
            "idle_us",
        ),
        (medium(1 << 24, 2_000_000_000, 0, 0, 2_000_000), "flush_us"),
        (
            medium(1 << 24, 1_000_000_000, 0, 0, 0),
            "at most program_bytes_per_second",
        ),
    ] {
        assert!(
            error.contains(field) && error.contains("must be"),
            "{error}"
        );
    }
    let fields = [("every_us", 1), ("length_us", 1)];
    let error = refused_with(&[("ssd.timing.pauses", &fields)]);
    assert!(error.contains("spread_us"), "{error}");
}

#[test]
fn missing_and_unknown_fields_are_named() {
    let error = refused("sense_ns", "sense_nanoseconds");
    assert!(
        error.contains("sense_nanoseconds") && error.contains("line"),
        "{error}"
    );
    let error = refused("[ssd.timing.read]", "[ssd.timing.reed]");
    assert!(error.contains("reed"), "{error}");
    let error = refused("value = 64,", "");
    assert!(error.contains("value"), "{error}");
    let error = refused("value = 64", "value = -64");
    assert!(error.contains("-64"), "{error}");
}

#[test]
fn what_does_not_exist_is_said_so() {
    let error = Profile::builtin("980pro").unwrap_err().to_string();
    assert!(
        error.contains("980pro") && error.contains("ideal, 990pro-2tb"),
        "{error}"
    );
    assert!(matches!(
        Profile::load("no/such.toml"),
        Err(ModelError::File { .. })
    ));
}

#[test]
fn a_drive_is_checked_again_when_made() {
    let mut profile = Profile::builtin("ideal").unwrap().ssd;
    let small = Medium::in_memory(512);
    assert!(matches!(
        Ssd::new(&profile, small, 0),
        Err(ModelError::MediumTooSmall { .. })
    ));
    profile.controller.mdts = 99;
    let medium = Medium::in_memory(profile.bytes());
    let error = Ssd::new(&profile, medium, 0).unwrap_err().to_string();
    assert!(error.contains("mdts = 99"), "{error}");
}

#[test]
fn a_number_can_be_varied() {
    let field = "ssd.timing.write.page_ns";
    let varied = Profile::load_varied("990pro-2tb", field, 1.5).unwrap();
    let page = |profile: &Profile| profile.ssd.timing.unwrap().write.page;
    let plain = Profile::builtin("990pro-2tb").unwrap();
    assert_eq!(page(&varied), 984_000);
    assert_eq!(
        varied.ssd.timing.unwrap().read,
        plain.ssd.timing.unwrap().read
    );
    for (field, factor) in [
        ("ssd.timing.nothing", 1.1),
        ("ssd.timing", 1.1),
        (field, -1.0),
    ] {
        let error = Profile::load_varied("990pro-2tb", field, factor).unwrap_err();
        assert!(error.to_string().contains("990pro-2tb"), "{error}");
    }
}
