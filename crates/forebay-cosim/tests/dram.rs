// SPDX-License-Identifier: Apache-2.0
//! The streamer with its payload in on-board DRAM.

mod common;

use forebay_cosim::{Config, Read, Sink, Stall, Stalls, System, Write, rtl};
use forebay_model::{DramProfile, Refresh};

fn dram() -> Config {
    let mut config = common::onchip();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    config.rtl = rtl::dram(&root, 64);
    config
}

/// Writes and reads back stretches of all kinds, at the same time.
fn work(config: Config) {
    let mut system = System::new(config, &mut |_| {}).expect("loads");
    system.bring_up(&mut |_| {}).expect("comes up");
    let stretches = [
        (0, 1u64 << 20),
        (1 << 24, 4096),
        (1 << 25, 300_001),
        (1 << 26, 513),
    ];
    for round in 0..2 {
        for (n, (address, length)) in stretches.into_iter().enumerate() {
            let seed = n as u64 + 7 * round;
            system.submit_write(Write::pattern(address, length, seed));
            if round > 0 {
                // What the round before has written somewhere else.
                let (address, length) = stretches[(n + 1) % stretches.len()];
                let address = address + (1 << 30);
                system.submit_read(Read::new(address, length, Sink::Discard));
            }
        }
        system.run().expect("writes");
        for (n, (address, length)) in stretches.into_iter().enumerate() {
            let seed = n as u64 + 7 * round;
            system.submit_read(Read::new(address, length, Sink::Pattern { seed }));
        }
        system.run().expect("reads");
    }
    let outcomes = system.take_outcomes();
    assert_eq!(outcomes.len(), 20);
    for outcome in outcomes {
        assert_eq!(outcome.error, None, "{outcome:?}");
        assert!(outcome.mismatch.is_none(), "{outcome:?}");
    }
    system.shutdown(&mut |_| {}).expect("goes down");
}

#[test]
fn data_go_through_dram_and_back() {
    work(dram());
}

#[test]
fn ports_that_pause_change_nothing() {
    let mut config = dram();
    config.stalls = Stalls::everywhere(Stall::new(0.2, 12));
    work(config);
}

#[test]
fn nine_refreshes_at_once_change_nothing() {
    let mut profile = DramProfile::builtin("ddr4-2400").expect("built in");
    profile.refresh = Refresh::Bunched;
    let mut config = dram();
    config.dram = Some(profile);
    work(config);
}
