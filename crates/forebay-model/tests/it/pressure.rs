// SPDX-License-Identifier: Apache-2.0
//! What a drive does under load, where a profile says so: a buffer and an SLC cache that fill and
//! drain, pauses, heat. Off in the profiles that say nothing of it.

use crate::support::{Load, Queue, Rig, load, random};
use forebay_model::profile::{MediumTiming, PauseTiming, ThermalProfile, TimingProfile};
use forebay_model::{MICROSECOND, MILLISECOND, SECOND, SsdProfile, Time};
use forebay_spec::nvme::log::{self, Smart};
use forebay_spec::nvme::{AdminOpcode, IoOpcode, Sqe, Status, feature};
use proptest::prelude::*;

const MB: u64 = 1_000_000;
/// Force unit access, in dword 12 of a write (NVM Command Set 1.0c, 3.2.6).
const FUA: u32 = 1 << 30;

/// A drive with 8 MB of buffer that drains with 1 GB/s into 64 MB of SLC, and past it with 250 MB/s.
fn medium() -> MediumTiming {
    MediumTiming {
        buffer_bytes: 8 * MB,
        program_rate: 1000 * MB,
        drain_rate: 500 * MB,
        idle: 10 * MILLISECOND,
        flush: 300 * MICROSECOND,
    }
}

fn with_medium(ssd: &mut SsdProfile) {
    let write = &mut ssd.timing.as_mut().unwrap().write;
    write.medium = Some(medium());
    write.cache_bytes = 64 * MB;
    write.full_bytes_per_second = 250 * MB;
}

fn rig(change: impl FnOnce(&mut SsdProfile)) -> (Rig, Queue) {
    Rig::with_queue("990pro-2tb", 64, change)
}

fn timing(change: impl FnOnce(&mut TimingProfile)) -> impl FnOnce(&mut SsdProfile) {
    |ssd| change(ssd.timing.as_mut().unwrap())
}

fn writes(rig: &mut Rig, queue: &mut Queue, count: u32) -> Load {
    transfers(rig, queue, IoOpcode::Write, count)
}

fn transfers(rig: &mut Rig, queue: &mut Queue, opcode: IoOpcode, count: u32) -> Load {
    let (_, prp1, prp2) = rig.buffer(1 << 20);
    load(rig, queue, 8, count, 1 << 20, |n| {
        Sqe::transfer(opcode, 1, n as u64 % 64 * 2048, 2048).with_prps(prp1, prp2)
    })
}

/// Microseconds that a command takes.
fn time_of(rig: &mut Rig, queue: &mut Queue, sqe: &Sqe) -> f64 {
    let begin = rig.now;
    assert_eq!(rig.run(queue, sqe).status, Status::SUCCESS);
    (rig.now - begin) as f64 / MICROSECOND as f64
}

fn flush() -> Sqe {
    Sqe {
        opcode: IoOpcode::Flush.number(),
        nsid: 1,
        ..Sqe::default()
    }
}

fn smart(rig: &mut Rig) -> Smart {
    let (cqe, page) = rig.admin_read(Sqe {
        opcode: AdminOpcode::GetLogPage.number(),
        nsid: u32::MAX,
        cdw: [127 << 16 | log::SMART as u32, 0, 0, 0, 0, 0],
        ..Sqe::default()
    });
    assert!(cqe.status.is_success());
    Smart::from_bytes(page[..Smart::BYTES].try_into().unwrap())
}

#[test]
fn a_burst_is_fast_then_the_cache_paces_then_what_lies_behind_it() {
    let (mut rig, mut queue) = rig(with_medium);
    let burst = writes(&mut rig, &mut queue, 7).gb_per_second;
    assert!(burst > 5.0, "{burst}");
    // About 72 MB fit; 9 in the buffer are not waited for.
    let cached = writes(&mut rig, &mut queue, 60).gb_per_second;
    assert!((0.95..1.2).contains(&cached), "{cached}");
    let full = writes(&mut rig, &mut queue, 40).gb_per_second;
    assert!((0.24..0.32).contains(&full), "{full}");
    // Idle for longer than 64 MB take at 500 MB/s, and all is as at first.
    rig.now += SECOND;
    let again = writes(&mut rig, &mut queue, 7).gb_per_second;
    assert!(again > 5.0, "{again}");
    let again = writes(&mut rig, &mut queue, 50).gb_per_second;
    assert!((0.95..1.3).contains(&again), "{again}");
}

#[test]
fn flush_and_fua_take_what_draining_takes() {
    let (mut rig, mut queue) = rig(with_medium);
    let page = rig.host.alloc(4096, 4096).unwrap();
    let write = Sqe::transfer(IoOpcode::Write, 1, 0, 8).with_prps(page, 0);
    let mut fua = write;
    fua.cdw[2] |= FUA;
    let idle = time_of(&mut rig, &mut queue, &flush());
    assert!(
        (300.0..310.0).contains(&idle),
        "nothing to store: {idle} us"
    );
    let plain = time_of(&mut rig, &mut queue, &write);
    rig.now += MILLISECOND;
    let through = time_of(&mut rig, &mut queue, &fua);
    // 4096 B at 1 GB/s, from when they were asked for.
    assert!((1.0..5.0).contains(&(through - plain)), "{plain} {through}");
    writes(&mut rig, &mut queue, 4);
    let after = time_of(&mut rig, &mut queue, &flush());
    // 4 MiB came at 6.24 GB/s and left at 1: 3.5 ms are to go.
    assert!((3600.0..4000.0).contains(&after), "{after} us");
    // Without the write cache each write is through.
    let off = Sqe {
        opcode: AdminOpcode::SetFeatures.number(),
        cdw: [feature::VOLATILE_WRITE_CACHE as u32, 0, 0, 0, 0, 0],
        ..Sqe::default()
    };
    assert!(rig.admin(off).status.is_success());
    let slow = time_of(&mut rig, &mut queue, &write);
    assert!((slow - through).abs() < 1.0, "{slow} {through}");
}

#[test]
fn where_nothing_is_said_flush_and_fua_take_no_time() {
    for profile in ["ideal", "990pro-2tb"] {
        let (mut rig, mut queue) = Rig::with_queue(profile, 64, |_| {});
        writes(&mut rig, &mut queue, 8);
        assert!(time_of(&mut rig, &mut queue, &flush()) < 5.0);
        assert_eq!(smart(&mut rig).temperature, 313);
    }
}

#[test]
fn pauses_hold_reads_and_writes_up_and_repeat_with_the_seed() {
    let paused = |opcode| {
        let (mut rig, mut queue) = rig(timing(|timing| {
            timing.pauses = Some(PauseTiming {
                every: 20 * MILLISECOND,
                length: 5 * MILLISECOND,
                spread: 10 * MILLISECOND,
            });
        }));
        transfers(&mut rig, &mut queue, opcode, 500)
    };
    for (opcode, rate) in [(IoOpcode::Read, 6.95), (IoOpcode::Write, 6.24)] {
        let done = paused(opcode);
        // A quarter of the time, but for the edges.
        let share = done.gb_per_second / rate;
        assert!((0.68..0.82).contains(&share), "{opcode:?}: {share}");
        assert!(done.p99_us > 5000.0, "{opcode:?}: {done:?}");
        assert_eq!(done.seconds.to_bits(), paused(opcode).seconds.to_bits());
    }
}

#[test]
fn heat_is_seen_and_throttles() {
    let hot = |ssd: &mut SsdProfile| {
        ssd.timing.as_mut().unwrap().thermal = Some(ThermalProfile {
            rest_celsius: 35,
            // 6.24 GB/s would settle 62 K above rest.
            microkelvin_per_gigabyte: 100_000_000,
            time_constant: 100 * MILLISECOND,
            throttle_celsius: 75,
            recover_celsius: 65,
            throttled_rate: 1000 * MB,
        });
    };
    let (mut rig, mut queue) = rig(hot);
    assert_eq!(smart(&mut rig).temperature, 273 + 35);
    let cold = writes(&mut rig, &mut queue, 200);
    assert!((6.1..6.3).contains(&cold.gb_per_second), "{cold:?}");
    let warm = smart(&mut rig);
    assert!(
        warm.temperature > 273 + 40 && warm.critical_warning == 0,
        "{warm:?}"
    );
    let throttled = writes(&mut rig, &mut queue, 1500);
    assert!(
        (2.0..6.0).contains(&throttled.gb_per_second),
        "{throttled:?}"
    );
    assert!(smart(&mut rig).temperature >= 273 + 64);
    // Asked to warn from 60 degrees on.
    let threshold = Sqe {
        opcode: AdminOpcode::SetFeatures.number(),
        cdw: [feature::TEMPERATURE_THRESHOLD as u32, 333, 0, 0, 0, 0],
        ..Sqe::default()
    };
    assert!(rig.admin(threshold).status.is_success());
    assert_eq!(smart(&mut rig).critical_warning, 2);
    rig.now += 2 * SECOND;
    let rested = smart(&mut rig);
    assert_eq!((rested.temperature, rested.critical_warning), (273 + 35, 0));
    let reads = transfers(&mut rig, &mut queue, IoOpcode::Read, 100);
    assert!(reads.gb_per_second > 6.5, "{reads:?}");
}

/// A drive with everything on and small enough to be met within a few commands.
fn pressed(ssd: &mut SsdProfile) {
    with_medium(ssd);
    let timing = ssd.timing.as_mut().unwrap();
    let medium = timing.write.medium.as_mut().unwrap();
    medium.buffer_bytes = 64 << 10;
    timing.write.cache_bytes = 128 << 10;
    timing.pauses = Some(PauseTiming {
        every: MILLISECOND,
        length: 200 * MICROSECOND,
        spread: 500 * MICROSECOND,
    });
    timing.thermal = Some(ThermalProfile {
        rest_celsius: 30,
        microkelvin_per_gigabyte: 1_000_000_000,
        time_constant: MILLISECOND,
        throttle_celsius: 33,
        recover_celsius: 31,
        throttled_rate: 100 * MB,
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn whatever_presses_no_byte_is_lost_and_time_does_not_go_back(
        commands in prop::collection::vec((0u64..64, 0u32..5, 0u64..3000), 1..60),
    ) {
        let (mut rig, mut queue) = rig(pressed);
        let page = rig.host.alloc(4096, 4096).unwrap();
        let mut expected = vec![0u8; 64];
        let mut last: Time = 0;
        for (n, (place, what, rest)) in (1..).zip(commands) {
            rig.now += rest * MICROSECOND;
            let transfer = |opcode| Sqe::transfer(opcode, 1, place * 8, 8).with_prps(page, 0);
            let mut sqe = match what {
                0 => flush(),
                1 => transfer(IoOpcode::Read),
                _ => transfer(IoOpcode::Write),
            };
            if what == 2 {
                sqe.cdw[2] |= FUA;
            }
            if what >= 2 {
                prop_assert!(rig.host.write(page, &[n; 4096]));
                expected[place as usize] = n;
            }
            prop_assert_eq!(rig.run(&mut queue, &sqe).status, Status::SUCCESS);
            if what == 1 {
                let mut back = [0; 4096];
                prop_assert!(rig.host.read(page, &mut back));
                prop_assert!(back.iter().all(|byte| *byte == expected[place as usize]));
            }
            prop_assert!(rig.now > last);
            last = rig.now;
        }
        for (place, byte) in (0..).zip(expected) {
            let stored = rig.ssd.medium().read(place * 4096, 4096).unwrap();
            prop_assert!(stored.iter().all(|stored| *stored == byte));
        }
    }
}

#[test]
fn the_order_of_a_loaded_drive_is_that_of_its_queue_for_writes() {
    let (mut rig, mut queue) = rig(pressed);
    let page = rig.host.alloc(4096, 4096).unwrap();
    // Many writes to one block: the last one must stay, whatever the pace.
    for n in 0..40u16 {
        let place = random(n as u32) % 2;
        let sqe = Sqe::transfer(IoOpcode::Write, 1, place * 8, 8).with_prps(page, 0);
        rig.place(&mut queue, &Sqe { cid: n, ..sqe });
    }
    rig.ring_sq(&queue);
    let cids: Vec<_> = (0..40).map(|_| rig.take(&mut queue).unwrap().cid).collect();
    assert!(cids.is_sorted(), "{cids:?}");
}
