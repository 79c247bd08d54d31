// SPDX-License-Identifier: Apache-2.0
//! What the tests share.

use std::path::Path;

use forebay_cosim::{Config, System, rtl};
use forebay_model::Profile;

/// Our streamer beside the ideal drive.
pub fn onchip() -> Config {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    Config::new(rtl::onchip(&root, 64, 1024), profile("ideal"))
}

pub fn profile(name: &str) -> Profile {
    Profile::load(name).expect("a profile of this name")
}

/// A system that is up.
pub fn system(config: Config) -> System {
    let mut system = System::new(config, &mut |_| {}).unwrap_or_else(|error| panic!("{error}"));
    bring_up(&mut system);
    system
}

pub fn bring_up(system: &mut System) {
    if let Err(error) = system.bring_up(&mut |_| {}) {
        panic!("{error}");
    }
}

/// Numbers from a seed.
pub fn shaken(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 16
    }
}
