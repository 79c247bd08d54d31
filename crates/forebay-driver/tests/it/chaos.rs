// SPDX-License-Identifier: Apache-2.0
//! Whatever a device says: no panic, no hang, nothing left behind.

use crate::support::Random;
use crate::support::chaos::{self, ACCESSES_MOST, Chaos};
use crate::support::fake::{Fake, NVME};
use forebay_driver::{Options, QueuePlacement, bring_up};
use forebay_spec::nvme::regs::Cap;
use forebay_spec::streamer::regs;
use proptest::collection::vec;
use proptest::prelude::*;

fn lie(random: &mut Random, good: u64) -> u64 {
    match random.below(4) {
        0 => 0,
        1 => u64::MAX,
        2 => good ^ 1 << random.below(64),
        _ => random.next(),
    }
}

fn options(host: bool) -> Options {
    let placement = if host {
        QueuePlacement::Host
    } else {
        QueuePlacement::Fpga
    };
    Options {
        placement,
        nvme: Some(NVME),
        ..Options::default()
    }
}

/// Values near a good one, and now and then any.
fn near(good: u64) -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => Just(good),
        4 => (0u32..64).prop_map(move |bit| good ^ 1 << bit),
        1 => any::<u64>(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 500,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn reads_that_lie_now_and_then_are_survived(seed: u64, power in 1u32..10, host: bool) {
        let mut random = Random::new(seed);
        let mut bus = Chaos::new(move |good| match random.below(1 << power) {
            0 => lie(&mut random, good),
            _ => good,
        });
        chaos::live(&mut bus, &options(host));
        prop_assert_eq!(bus.fake.taken, 0);
    }

    #[test]
    fn arbitrary_registers_and_identify_data_are_survived(
        cap in near(Fake::new().cap),
        granted: u32,
        parameters in near(Fake::new().streamer[&regs::parameters::OFFSET]),
        edits in vec((0usize..3, 0usize..600, any::<u8>()), 0..12),
        rogue_cids in 0u16..5,
        host: bool,
    ) {
        let mut fake = Fake::new();
        fake.cap = cap;
        fake.granted = granted;
        fake.faults.rogue_cids = rogue_cids;
        fake.streamer.insert(regs::parameters::OFFSET, parameters);
        for (page, at, value) in edits {
            let page = match page {
                0 => &mut fake.controller,
                1 => &mut fake.namespace,
                _ => &mut fake.active,
            };
            page[at] = value;
        }
        match bring_up(&mut fake, &options(host)) {
            Ok(session) => {
                let facts = session.facts();
                let most = Cap::from_bits(cap).max_queue_entries.min(1024);
                prop_assert!(matches!(facts.namespace.block_shift, 9 | 12));
                prop_assert!(facts.namespace.blocks > 0 && facts.namespace.sectors < 1 << 48);
                prop_assert!((2..=most).contains(&facts.queue_entries));
                prop_assert!((8192..=2 << 20).contains(&facts.transfer_bytes));
                session.shutdown(&mut fake).expect("shuts down");
            }
            Err(failure) => prop_assert!(!failure.remedy().is_empty()),
        }
        prop_assert_eq!(fake.taken, 0);
        prop_assert!(!fake.bus_master());
        prop_assert!(fake.accesses < ACCESSES_MOST);
    }
}
