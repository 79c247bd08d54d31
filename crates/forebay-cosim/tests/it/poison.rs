// SPDX-License-Identifier: Apache-2.0
//! Bytes that were never written are a pattern, in every memory, and nothing of it gets to where
//! bytes were written.

use std::path::Path;
use std::sync::Arc;

use crate::common::{onchip, poisoned, profile, room_for, soak, system};
use forebay_cosim::{Config, Drive, Payload, Read, Sink, Stall, Stalls, System, Write, rtl};
use forebay_driver::ArrayOptions;
use forebay_model::Poison;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

#[test]
fn what_was_never_written_reads_as_such() {
    let mut config = onchip();
    config.poison = true;
    let mut system = system(config);
    let mut pattern = vec![0; 10_000];
    Poison::Medium(0..1).fill(512, &mut pattern);
    assert_eq!(system.unwritten(512, 10_000), pattern);
    let data: Arc<[u8]> = pattern.into();
    system.submit_read(Read::new(512, 10_000, Sink::Compare(data)));
    system.run().expect("reads");
    assert!(system.take_outcomes()[0].is_good());
}

#[test]
fn a_small_area_in_every_memory() {
    for mut config in poisoned() {
        config.stalls = Stalls::everywhere(Stall::new(0.1, 6));
        soak(&mut system(config), 40, 1, &mut |_| {});
    }
}

#[test]
fn drives_with_parity() {
    for drives in [3u8, 4] {
        let source = rtl::onchip(root(), 16, 256)
            .parameter("Drives", room_for(drives))
            .parameter("ParityPages", 16);
        let mut config = Config::new(source, profile("ideal"));
        let ssd = config.profile.ssd.clone();
        config.more_drives = (1..drives).map(|_| Drive::new(ssd.clone())).collect();
        let mut array = ArrayOptions::striped(drives, 4096);
        array.parity = true;
        config.driver.array = Some(array);
        config.poison = true;
        let mut system = system(config);
        let sums = |system: &System| {
            let read = |ssd: &forebay_model::Ssd| ssd.medium().read(0, 65536).expect("inside");
            let all = system.ssds().iter().map(read);
            all.fold(vec![0; 65536], |sum: Vec<u8>, data| {
                sum.iter().zip(&*data).map(|(a, b)| a ^ b).collect()
            })
        };
        // Nothing was written, and yet the parity is right.
        assert!(sums(&system).iter().all(|byte| *byte == 0));
        let stripe = u64::from(drives - 1) * 4096;
        let mut shadow = system.unwritten(0, 4 * stripe as usize);
        shadow[stripe as usize..2 * stripe as usize].fill(7);
        let data = vec![7; stripe as usize];
        system.submit_write(Write::new(stripe, Payload::from(data)));
        system.run().expect("writes");
        assert!(sums(&system).iter().all(|byte| *byte == 0));
        // With a drive less, what was never written is made of the others.
        for missing in [false, true] {
            if missing {
                let given = system.with_session(|session, bus| session.give_up(bus, 0));
                given.expect("up").expect("can do without");
            }
            let data: Arc<[u8]> = shadow.clone().into();
            system.submit_read(Read::new(0, 4 * stripe, Sink::Compare(data)));
            system.run().expect("reads");
        }
        for outcome in system.take_outcomes() {
            assert!(outcome.is_good(), "{outcome:?}");
        }
    }
}
