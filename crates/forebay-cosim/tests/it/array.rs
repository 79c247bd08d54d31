// SPDX-License-Identifier: Apache-2.0
//! Several drives as one address space: every byte in its place, whatever the drives are like, and
//! a drive that fails takes no other with it.

use std::path::Path;
use std::sync::Arc;

use crate::common::{profile, room_for, shaken, system};
use forebay_cosim::{
    Access, Config, Direction, Drive, Outcome, Payload, Read, Reference, Sink, Stall, Stalls,
    System, Workload, Write, rtl,
};
use forebay_driver::ArrayOptions;
use forebay_model::{FaultAction, FaultPlan, Trigger};
use forebay_spec::nvme::Status;
use forebay_spec::store::member::TAIL_BYTES;
use forebay_spec::streamer::UserError;

/// Our streamer beside ideal drives, `drives` of them.
fn array(drives: u8, chunk: u64) -> Config {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let source = rtl::onchip(&root, 16, 256).parameter("Drives", room_for(drives));
    let mut config = Config::new(source, profile("ideal"));
    let ssd = config.profile.ssd.clone();
    config.more_drives = (1..drives).map(|_| Drive::new(ssd.clone())).collect();
    config.driver.array = Some(ArrayOptions::striped(drives, chunk));
    config
}

/// Random writes and reads at once, against a copy of what should be there. Those of one round are
/// of stretches of their own, as commands under way have no order among them.
fn soak(system: &mut System, rounds: u64, seed: u64) {
    const STRETCH: u64 = 192 << 10;
    const STRETCHES: u64 = 6;
    let mut number = shaken(seed);
    let mut shadow = vec![0; (STRETCH * STRETCHES) as usize];
    for round in 0..rounds {
        for stretch in 0..STRETCHES {
            let length = match number() % 4 {
                0 => 512 * (1 + number() % 8),
                1 => 4096,
                _ => 1 + number() % 150_000,
            };
            let at = stretch * STRETCH + number() % ((STRETCH - length) / 512) * 512;
            let range = at as usize..(at + length) as usize;
            if (stretch + round) % 2 == 0 {
                let data: Vec<u8> = (0..length).map(|_| number() as u8).collect();
                shadow[range.clone()].copy_from_slice(&data);
                // The tail of the last block is filled with zeros.
                let end = (at + length).next_multiple_of(512) as usize;
                shadow[range.end..end].fill(0);
                let mut write = Write::new(at, Payload::from(data));
                write.flush = number().is_multiple_of(8);
                system.submit_write(write);
            } else {
                let data: Arc<[u8]> = shadow[range].into();
                system.submit_read(Read::new(at, length, Sink::Compare(data)));
            }
        }
        system.run().unwrap_or_else(|error| panic!("{error}"));
    }
    let outcomes = system.take_outcomes();
    assert_eq!(outcomes.len() as u64, rounds * STRETCHES);
    let bad: Vec<&Outcome> = outcomes.iter().filter(|o| !o.is_good()).collect();
    assert!(bad.is_empty(), "{bad:?}");
    let stored = system.stored(0, (STRETCH * STRETCHES) as usize);
    assert_eq!(stored.expect("inside"), shadow);
}

#[test]
fn every_number_of_drives_holds_every_byte() {
    for (drives, chunk, seed) in [(2, 4096, 1), (3, 65536, 2), (5, 8192, 3), (8, 16384, 4)] {
        let mut config = array(drives, chunk);
        config.stalls = Stalls::everywhere(Stall::new(0.1, 6));
        config.seed = seed;
        let mut system = system(config);
        soak(&mut system, 24, seed);
        // All of them had to work.
        assert!(system.ssds().iter().all(|ssd| ssd.stats().reads > 0));
        system.shutdown(&mut |_| {}).expect("shuts down");
    }
}

/// Each drive has a region, and what is written there lies on it as it would on a drive alone.
#[test]
fn regions_of_their_own() {
    for (drives, chunk, seed) in [(2, 4096, 1), (8, 65536, 2)] {
        let mut config = array(drives, chunk);
        if let Some(array) = &mut config.driver.array {
            array.linear = true;
        }
        config.stalls = Stalls::everywhere(Stall::new(0.1, 6));
        for drive in 0..usize::from(drives) {
            let namespaces = match drive {
                0 => &mut config.profile.ssd.namespaces,
                other => &mut config.more_drives[other - 1].profile.namespaces,
            };
            for namespace in namespaces {
                namespace.bytes = (3 << 20) + 4096 * drive as u64;
            }
        }
        let mut system = system(config);
        let layout = system.session().expect("up").facts().layout();
        let region = layout.region().expect("linear");
        assert_eq!(region, 3 << 20);
        for drive in 0..u64::from(drives) {
            let at = drive * region;
            system.submit_write(Write::pattern(at + 8192, 100_000, seed));
            // Over the edge into the next, and behind the last.
            system.submit_write(Write::pattern(at + region - 4096, 4096 + 512, seed));
        }
        system.run().expect("writes");
        let outcomes = system.take_outcomes();
        let beyond = outcomes.iter().filter(|o| !o.is_good()).count();
        assert_eq!(beyond, 1, "{outcomes:?}");
        for (drive, ssd) in system.ssds().iter().enumerate() {
            let mut expected = vec![0; 100_000];
            forebay_cosim::fill_pattern(seed, drive as u64 * region + 8192, &mut expected);
            let found = ssd.medium().read(8192, 100_000).expect("inside");
            assert_eq!(*found, *expected, "drive {drive}");
        }
        for drive in 0..u64::from(drives) {
            let sink = Sink::Pattern { seed };
            system.submit_read(Read::new(drive * region + 8192, 100_000, sink));
            let end = (drive + 1) * region;
            if drive + 1 < u64::from(drives) {
                system.submit_read(Read::new(end - 4096, 4096 + 512, Sink::Pattern { seed }));
            }
            system.submit_read(Read::new(u64::from(drives) * region, 512, Sink::Discard));
        }
        system.run().expect("reads");
        for outcome in system.take_outcomes() {
            let good = outcome.is_good();
            assert_eq!(
                good,
                outcome.address < u64::from(drives) * region,
                "{outcome:?}"
            );
        }
    }
}

#[test]
fn drives_that_are_slow_and_out_of_order_hold_every_byte() {
    let mut config = array(4, 32768);
    config.profile = profile("990pro-2tb");
    for drive in &mut config.more_drives {
        drive.profile = config.profile.ssd.clone();
    }
    soak(&mut system(config), 5, 7);
}

#[test]
fn a_flush_without_data_goes_to_every_drive() {
    let mut system = system(array(3, 65536));
    system.submit_write(Write::pattern(0, 100, 1));
    system.submit_write(Write::pattern(7, 0, 1).flush());
    system.run().expect("runs");
    let outcomes = system.take_outcomes();
    assert!(outcomes.iter().all(Outcome::is_good), "{outcomes:?}");
    for ssd in system.ssds() {
        assert_eq!(ssd.stats().flushes, 1);
    }
    assert_eq!(system.ssds()[1].stats().writes, 0);
}

#[test]
fn the_smallest_drive_decides_the_capacity() {
    let mut config = array(3, 65536);
    let bytes = 10 * 65536 + 512 + TAIL_BYTES;
    for namespace in &mut config.more_drives[1].profile.namespaces {
        namespace.bytes = bytes;
    }
    let mut system = system(config);
    let facts = system.session().expect("up").facts();
    let all = facts.array.clone().expect("an array");
    assert_eq!(all.bytes, 3 * 10 * 65536);
    assert_eq!(facts.bytes(), all.bytes);
    let last = all.bytes - 512;
    system.submit_write(Write::pattern(last, 512, 3));
    system.submit_write(Write::pattern(last, 513, 3));
    system.submit_read(Read::new(last, 512, Sink::Pattern { seed: 3 }));
    system.run().expect("runs");
    let errors: Vec<_> = system.take_outcomes().iter().map(|o| o.error).collect();
    assert_eq!(errors.iter().flatten().count(), 1, "{errors:?}");
    assert!(errors.contains(&Some(UserError::OutOfRange)));
}

#[test]
fn what_cannot_be_an_array_is_refused_in_words() {
    let refused = |change: fn(&mut Config)| {
        let mut config = array(2, 65536);
        change(&mut config);
        let mut system = System::new(config, &mut |_| {}).expect("builds");
        system
            .bring_up(&mut |_| {})
            .expect_err("refused")
            .to_string()
    };
    let said = refused(|config| {
        config.driver.array = Some(ArrayOptions::striped(2, 12345));
    });
    assert!(
        said.contains("12345") && said.contains("power of two"),
        "{said}"
    );
    let said = refused(|config| {
        let namespaces = &mut config.more_drives[0].profile.namespaces;
        namespaces.iter_mut().for_each(|n| n.block_shift = 12);
    });
    assert!(said.contains("512 and 4096 bytes"), "{said}");
    let said = refused(|config| config.more_drives.clear());
    assert!(said.contains("2 were asked for"), "{said}");
    let said = refused(|config| {
        let ssd = config.profile.ssd.clone();
        *config = array(3, 4096);
        config.more_drives.push(Drive::new(ssd));
        config.driver.array = Some(ArrayOptions::striped(4, 4096));
    });
    assert!(said.contains("built for 3"), "{said}");
}

#[test]
fn errors_of_a_range_are_of_its_drive_alone() {
    let mut config = array(3, 4096);
    let fault = FaultAction::Fail(Status::UNRECOVERED_READ_ERROR);
    config.more_drives[0].faults = FaultPlan::none().times(Trigger::Lbas(0..8), fault, 100);
    config.driver.retry_limit = 0;
    let mut system = system(config);
    for chunk in 0..6 {
        system.submit_read(Read::new(chunk * 4096, 4096, Sink::Discard));
    }
    system.run().expect("runs");
    let errors: Vec<bool> = system
        .take_outcomes()
        .iter()
        .map(|o| o.error.is_some())
        .collect();
    assert_eq!(errors, [false, true, false, false, false, false]);
    let counts = system.with_session(|session, bus| {
        let streamer = session.streamer().expect("there").clone();
        let cause = streamer.error_cause(bus).expect("read").expect("an error");
        assert_eq!((cause.drive, cause.sector), (1, 0));
        streamer.drives(bus).expect("read")
    });
    let failed: Vec<u32> = counts
        .expect("up")
        .iter()
        .map(|drive| drive.failed)
        .collect();
    assert_eq!(failed, [0, 1, 0]);
}

#[test]
fn a_drive_that_dies_takes_no_other_with_it() {
    let mut config = array(3, 4096);
    config.more_drives[1].faults =
        FaultPlan::none().times(Trigger::Every(1), FaultAction::Drop, 1_000_000);
    config.driver.timeout_cycles = 60_000;
    let mut system = system(config);
    for chunk in 0..60 {
        system.submit_write(Write::pattern(chunk * 4096, 4096, 5));
        system.submit_read(Read::new(chunk * 4096, 4096, Sink::Discard));
    }
    system.run().expect("never hangs");
    let outcomes = system.take_outcomes();
    assert_eq!(outcomes.len(), 120);
    for outcome in &outcomes {
        let dead = outcome.address / 4096 % 3 == 2;
        assert_eq!(outcome.error.is_some(), dead, "{outcome:?}");
    }
    // Those that came later were not sent at all.
    assert!(outcomes.iter().any(|o| o.error == Some(UserError::Timeout)));
    for chunk in 0..6 {
        system.submit_read(Read::new(chunk * 4096, 4096, Sink::Pattern { seed: 5 }));
    }
    system.run().expect("runs");
    for outcome in system.take_outcomes() {
        let dead = outcome.address / 4096 % 3 == 2;
        let error = dead.then_some(UserError::Offline);
        assert_eq!((outcome.error, outcome.mismatch), (error, None));
    }
    let drives = system.with_session(|session, bus| {
        let streamer = session.streamer().expect("there").clone();
        streamer.drives(bus).expect("read")
    });
    let offline: Vec<bool> = drives
        .expect("up")
        .iter()
        .map(|drive| drive.offline)
        .collect();
    assert_eq!(offline, [false, false, true]);
}

#[test]
fn a_drive_a_hundred_times_slower_loses_nothing() {
    let mut config = array(2, 4096);
    config.profile = profile("990pro-2tb");
    let mut slow = config.profile.ssd.clone();
    if let Some(timing) = &mut slow.timing {
        timing.read.sense *= 100;
    }
    config.more_drives[0].profile = slow;
    let mut system = system(config);
    soak(&mut system, 2, 11);
    let drives = system.with_session(|session, bus| {
        let streamer = session.streamer().expect("there").clone();
        streamer.drives(bus).expect("read")
    });
    let longest: Vec<u32> = drives
        .expect("up")
        .iter()
        .map(|drive| drive.longest_cycles)
        .collect();
    // 2 ms are 600 000 cycles; the other has its 20 µs, and now and then a retry.
    assert!(longest[0] < 200_000 && longest[1] > 600_000, "{longest:?}");
}

#[test]
fn the_reference_uses_all_drives() {
    let one = profile("990pro-2tb");
    let rate = |drives: u8| {
        let all = (0..drives).map(|_| Drive::new(one.ssd.clone())).collect();
        let chunk = 65536;
        let options = (drives > 1).then_some(ArrayOptions::striped(drives, chunk));
        let mut fabric = one.fabric.clone();
        fabric.host.bytes_per_second *= 8;
        let mut host = Reference::array(&fabric, all, options, 1, 64, 65536).expect("made");
        host.bring_up(&mut |_| {}).expect("up");
        let run = host.run(&Workload {
            direction: Direction::Read,
            access: Access::Sequential,
            size: 1 << 20,
            count: 24 * u64::from(drives),
            span: (24 * u64::from(drives)) << 20,
            seed: 1,
        });
        run.expect("runs").bytes_per_second()
    };
    let (one, four) = (rate(1), rate(4));
    assert!(four > 3.9 * one, "{one} {four}");
}
