// SPDX-License-Identifier: Apache-2.0
//! The 990 PRO profiles against published measurements. `examples/calibrate.rs` prints the whole
//! table; here fewer commands and wider bounds, so that a wrong change is seen quickly.

use crate::support::{CARD, Load, Rig, load, random};
use forebay_model::{MICROSECOND, NANOSECOND, SsdProfile};
use forebay_spec::nvme::{IoOpcode, Sqe};

fn random_reads(profile: &str, depth: u32, count: u32) -> Load {
    let (mut rig, mut queue) = Rig::with_queue(profile, 512, |_| {});
    let page = rig.host.alloc(4096, 4096).unwrap();
    load(&mut rig, &mut queue, depth, count, 4096, |n| {
        let place = random(n) % 400_000_000;
        Sqe::transfer(IoOpcode::Read, 1, place * 8, 8).with_prps(page, 0)
    })
}

fn near(value: f64, expected: f64, percent: f64, what: &str) {
    let off = (value / expected - 1.0) * 100.0;
    assert!(
        off.abs() <= percent,
        "{what}: {value:.3} is {off:+.1} % off {expected}"
    );
}

#[test]
fn random_reads_follow_the_published_curve() {
    // The second fit is worse at a depth of 1: its own fixed times add up to 41 µs.
    for (profile, least_depth) in [("990pro-2tb", 1), ("990pro-2tb-b", 32)] {
        for (depth, expected) in [(1, 0.108), (32, 2.76), (64, 4.47), (128, 5.82), (256, 5.84)] {
            if depth >= least_depth {
                let done = random_reads(profile, depth, 4_000 + 100 * depth);
                near(
                    done.gb_per_second,
                    expected,
                    5.0,
                    &format!("{profile} at {depth}"),
                );
            }
        }
    }
}

#[test]
fn sequential_transfers_reach_the_published_rates() {
    for (opcode, expected) in [(IoOpcode::Read, 6.95), (IoOpcode::Write, 6.24)] {
        let (mut rig, mut queue) = Rig::with_queue("990pro-2tb", 64, |_| {});
        let (_, prp1, prp2) = rig.buffer(1 << 20);
        let done = load(&mut rig, &mut queue, 8, 300, 1 << 20, |n| {
            Sqe::transfer(opcode, 1, n as u64 * 2048, 2048).with_prps(prp1, prp2)
        });
        near(
            done.gb_per_second,
            expected,
            2.0,
            &format!("sequential {opcode:?}"),
        );
    }
}

#[test]
fn small_writes_are_acknowledged_from_memory() {
    let (mut rig, mut queue) = Rig::with_queue("990pro-2tb", 128, |_| {});
    let page = rig.host.alloc(4096, 4096).unwrap();
    let mut write = |depth, count| {
        load(&mut rig, &mut queue, depth, count, 4096, |n| {
            Sqe::transfer(IoOpcode::Write, 1, n as u64 * 7919 * 8, 8).with_prps(page, 0)
        })
    };
    let done = write(1, 100);
    assert!(done.mean_us > 4.0 && done.mean_us < 9.0, "{done:?}");
    near(write(64, 5_000).gb_per_second, 5.25, 2.0, "random write");
}

/// Rate of writes whose data are in the card's memory, with the queues in host memory.
fn write_from_card(change: impl FnOnce(&mut SsdProfile), bytes: u64) -> f64 {
    let (mut rig, mut queue) = Rig::with_queue("990pro-2tb", 64, change);
    let list = rig.host.alloc(4096, 4096).unwrap();
    for page in 1..256u64 {
        assert!(
            rig.host
                .write(list + (page - 1) * 8, &(CARD + page * 4096).to_le_bytes())
        );
    }
    let mut run = |count| {
        load(&mut rig, &mut queue, 32, count, bytes, |n| {
            let blocks = bytes / 512;
            let sqe = Sqe::transfer(IoOpcode::Write, 1, n as u64 * blocks, blocks as u32);
            sqe.with_prps(CARD, list)
        })
    };
    // The round trip is not known before the first answers.
    run(4);
    run(if bytes == 4096 { 20_000 } else { 300 }).gb_per_second
}

#[test]
fn writes_from_the_card_are_slower_by_its_round_trip() {
    // SNAcc's URAM variant: 5.60 GB/s; in the slow state 38 ns more for each 4 KiB.
    near(
        write_from_card(|_| {}, 1 << 20),
        5.60,
        2.0,
        "sequential write from the card",
    );
    let slow = |ssd: &mut SsdProfile| {
        ssd.timing.as_mut().unwrap().write.slow = 38 * NANOSECOND;
    };
    near(
        write_from_card(slow, 1 << 20),
        4.096 / 0.769,
        2.0,
        "in the slow state",
    );
    // Fetching entries from host memory, as here, leaves out the 73 ns of queues in the card.
    near(
        write_from_card(|_| {}, 4096),
        4.096 / 0.855,
        3.0,
        "random writes from the card",
    );
}

#[test]
fn a_full_cache_and_pauses_slow_writes() {
    let rate = |change: fn(&mut forebay_model::profile::WriteTiming)| {
        let (mut rig, mut queue) = Rig::with_queue("990pro-2tb", 64, |ssd| {
            change(&mut ssd.timing.as_mut().unwrap().write);
        });
        let (_, prp1, prp2) = rig.buffer(1 << 20);
        let done = load(&mut rig, &mut queue, 8, 200, 1 << 20, |n| {
            Sqe::transfer(IoOpcode::Write, 1, n as u64 * 2048, 2048).with_prps(prp1, prp2)
        });
        done.gb_per_second
    };
    near(rate(|write| write.cache_bytes = 1), 1.4, 2.0, "cache full");
    let paused = rate(|write| {
        write.pause_every_bytes = 100 << 20;
        write.pause = 10_000 * MICROSECOND;
    });
    // 200 MiB take 33.6 ms, and one pause lies between the two halves.
    near(paused, 209.7 / 43.6, 5.0, "with a pause");
}

#[test]
fn the_same_seed_gives_the_same_times() {
    let run = || {
        let done = random_reads("990pro-2tb", 32, 500);
        (done.seconds.to_bits(), done.p99_us.to_bits())
    };
    assert_eq!(run(), run());
}
