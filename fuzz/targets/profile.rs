// SPDX-License-Identifier: Apache-2.0
//! Profiles: what is accepted can be built.
#![no_main]

use forebay_model::{Fabric, Medium, Profile, Ssd};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(profile) = Profile::from_toml("fuzz", text) {
        let medium = Medium::in_memory(profile.ssd.bytes());
        Ssd::new(&profile.ssd, medium, 1).expect("a valid profile makes a drive");
        Fabric::new(&profile.fabric, 1);
    }
});
