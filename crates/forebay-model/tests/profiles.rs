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
