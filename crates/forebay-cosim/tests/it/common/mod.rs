// SPDX-License-Identifier: Apache-2.0
//! What the tests share.

use std::path::Path;
use std::sync::Arc;

use forebay_cosim::{Config, Payload, Read, Sink, System, Write, rtl};
use forebay_model::Profile;

/// Our streamer beside the ideal drive.
pub fn onchip() -> Config {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    Config::new(rtl::onchip(&root, 64, 1024), profile("ideal"))
}

/// Each memory of the payload, where bytes that were never written, or are no longer valid, are a pattern.
pub fn poisoned() -> [Config; 3] {
    let memories: [fn(&Path, u32) -> forebay_rtl::Source; 3] = [
        |root, depth| rtl::onchip(root, depth, 1024),
        rtl::dram,
        rtl::hostdram,
    ];
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    memories.map(|memory| {
        let mut config = onchip();
        config.rtl = memory(&root, 64);
        config.poison = true;
        config
    })
}

/// The number of drives that the RTL is built for to be beside N: by night this one, by day one
/// of two numbers, as RTL takes longer to build than to test.
pub fn room_for(drives: u8) -> u8 {
    match drives {
        3 => 3,
        _ if std::env::var_os("FOREBAY_COUNTS").is_some_and(|counts| counts == "full") => drives,
        _ => 8,
    }
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

/// Writes and reads of a small area, none of which overlap while they are under way, against a copy of
/// what should be there; `meanwhile` is done in each round while they are.
pub fn soak(system: &mut System, rounds: u64, seed: u64, meanwhile: &mut dyn FnMut(&mut System)) {
    const STRETCH: u64 = 8 << 10;
    const STRETCHES: u64 = 8;
    let mut number = shaken(seed);
    let mut shadow = system.unwritten(0, (STRETCH * STRETCHES) as usize);
    for round in 0..rounds {
        for stretch in 0..STRETCHES {
            let length = 1 + number() % 4096;
            let at = stretch * STRETCH + number() % 9 * 512;
            let range = at as usize..(at + length) as usize;
            if (stretch + round) % 2 == 0 {
                let data: Vec<u8> = (0..length).map(|_| number() as u8).collect();
                shadow[range.clone()].copy_from_slice(&data);
                // The tail of the last block is filled with zeros.
                let end = (at + length).next_multiple_of(512) as usize;
                shadow[range.end..end].fill(0);
                system.submit_write(Write::new(at, Payload::from(data)));
            } else {
                let data: Arc<[u8]> = shadow[range].into();
                system.submit_read(Read::new(at, length, Sink::Compare(data)));
            }
        }
        meanwhile(system);
        system.run().unwrap_or_else(|error| panic!("{error}"));
    }
    for outcome in system.take_outcomes() {
        assert!(outcome.is_good(), "{outcome:?}");
    }
    let stored = system.stored(0, shadow.len()).expect("inside");
    assert!(stored == shadow, "the media differ");
}
