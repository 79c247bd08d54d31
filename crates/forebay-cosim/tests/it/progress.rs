// SPDX-License-Identifier: Apache-2.0
//! The bound on time: a run that makes no progress ends, and what takes long by right does not end it.

use std::path::Path;

use crate::common::{onchip, profile, room_for, shaken, system};
use forebay_cosim::{
    CLOCK_PERIOD, Config, Drive, Error, Pace, Read, Sink, Stall, Stalls, System, Write, rtl,
};
use forebay_driver::ArrayOptions;
use forebay_model::profile::PauseTiming;
use forebay_model::{DramProfile, FaultAction, FaultPlan, MILLISECOND, Trigger};

const BOUND: u64 = 20_000;
/// It is looked at so often, [`Error::Stuck`] says.
const LOOK: u64 = 1 << 14;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Runs into [`Error::Stuck`], and not later than it has to; what the message says.
fn hangs(system: &mut System) -> String {
    let before = system.cycle();
    let error = system.run().expect_err("it hangs");
    let text = error.to_string();
    let Error::Stuck { cycle, idle, .. } = error else {
        panic!("{text}");
    };
    assert!((BOUND..=BOUND + LOOK).contains(&(idle - 1)), "{text}");
    assert!(
        cycle - idle < before + 10_000,
        "the last progress is named: {text}"
    );
    text
}

/// The registers of several drives are polled during a run, which is no progress.
#[test]
fn a_dropped_command_without_time_out_is_a_hang() {
    for drives in [1, 2] {
        let mut config = onchip();
        if drives > 1 {
            config.rtl = rtl::onchip(root(), 16, 256).parameter("Drives", room_for(drives));
            config.more_drives = vec![Drive::new(config.profile.ssd.clone())];
            config.driver.array = Some(ArrayOptions::striped(2, 65536));
        }
        config.faults = FaultPlan::none().once(Trigger::Nth(1), FaultAction::Drop);
        config.driver.timeout_cycles = 0;
        config.watchdog = BOUND;
        let mut system = system(config);
        system.submit_write(Write::pattern(0, 4096, 1));
        let text = hangs(&mut system);
        assert!(
            text.contains("drive 0 holds commands 0 and has nothing scheduled")
                && text.contains("8 blocks at 0"),
            "{text}"
        );
    }
}

#[test]
fn a_memory_that_never_answers_is_a_hang() {
    let mut config = onchip();
    config.rtl = rtl::dram(root(), 64);
    config.stalls.dram = Stall::new(1.0, 1);
    config.watchdog = BOUND;
    let mut system = system(config);
    system.submit_write(Write::pattern(0, 4096, 1));
    hangs(&mut system);
}

/// A drive that pauses, a slow source, ports that pause long, a command that is given up late.
#[test]
fn what_takes_long_by_right_is_waited_for() {
    let mut config = onchip();
    config.profile = profile("990pro-2tb");
    let timing = config.profile.ssd.timing.as_mut().expect("it takes time");
    timing.pauses = Some(PauseTiming {
        every: 3 * MILLISECOND,
        length: MILLISECOND,
        spread: 0,
    });
    config.watchdog = BOUND;
    let mut paused = system(config);
    let began = paused.now();
    while paused.now() < began + 8 * MILLISECOND {
        paused.submit_read(Read::new(0, 4096, Sink::Discard));
        paused.run().expect("only paused");
    }
    let longest = paused.take_outcomes().into_iter();
    let longest = longest.map(|read| read.done - read.first_beat).max();
    assert!(longest.expect("some") > 10 * BOUND);

    let mut config = onchip();
    config.watchdog = BOUND;
    let mut slow = system(config);
    slow.set_pace(Pace {
        bytes_per_second: 64 * 2_000,
        burst_bytes: 0,
        every: 0,
        fifo_bytes: 1 << 20,
    });
    slow.submit_write(Write::pattern(0, 512, 1));
    slow.run().expect("only slow");
    assert!(slow.cycle() > 7 * MILLISECOND / 2 / CLOCK_PERIOD);

    let mut config = onchip();
    config.watchdog = BOUND;
    config.driver.timeout_cycles = 4 * BOUND as u32;
    config.faults = FaultPlan::none().once(Trigger::Nth(1), FaultAction::Drop);
    let mut dropped = system(config);
    dropped.submit_write(Write::pattern(0, 4096, 1));
    dropped.run().expect("given up in time");
    assert!(dropped.take_outcomes()[0].error.is_some());

    let mut config = onchip();
    config.watchdog = 100;
    config.stalls = Stalls::everywhere(Stall::new(0.9, 400));
    let mut stalled = system(config);
    stalled.submit_write(Write::pattern(0, 16384, 1));
    stalled.run().expect("only pauses");
}

/// Two channels of DRAM serve reads and writes at once: a read that waits while the drives store
/// much is not to look as if it were from before.
#[test]
fn a_read_that_waits_long_is_served() {
    let mut config = Config::new(
        rtl::dram(root(), 64)
            .parameter("Drives", 2)
            .parameter("Channels", 2),
        profile("ideal"),
    );
    config.dram = Some(DramProfile::builtin("hbm2-1800").expect("built in"));
    config.more_drives = vec![Drive::new(config.profile.ssd.clone())];
    config.driver.array = Some(ArrayOptions::striped(2, 65536));
    config.stalls = Stalls::everywhere(Stall::new(0.5, 50));
    config.watchdog = 10 * BOUND;
    let mut number = shaken(3);
    let mut system = system(config);
    for _ in 0..150 {
        let length = 1 + number() % 65536;
        let address = number() % 384 * 512;
        if number().is_multiple_of(2) {
            system.submit_write(Write::pattern(address, length, 1));
        } else {
            system.submit_read(Read::new(address, length, Sink::Discard));
        }
    }
    system.run().unwrap_or_else(|error| panic!("{error}"));
}
