// SPDX-License-Identifier: Apache-2.0
//! Our streamer beside drives that are unlike the usual one, or that misbehave.

use crate::common::{onchip, profile, shaken, system};
use forebay_cosim::{
    Access, Config, Direction, Read, Reference, Sink, Stall, Stalls, System, Workload, Write,
};
use forebay_model::{FaultAction, FaultPlan, Trigger};
use forebay_spec::nvme::{IoOpcode, Status};
use forebay_spec::streamer::UserError;

/// Writes of mixed sizes, read back and compared; all must be good.
fn exercise(system: &mut System, block: u64) {
    let mut number = shaken(5);
    let places: Vec<(u64, u64)> = (0..20)
        .map(|place| {
            (
                (place << 19) + block * (number() % 16),
                1 + number() % 200_000,
            )
        })
        .collect();
    for (at, length) in &places {
        system.submit_write(Write::pattern(*at, *length, 9));
    }
    system.run().unwrap_or_else(|error| panic!("{error}"));
    for (at, length) in &places {
        system.submit_read(Read::new(*at, *length, Sink::Pattern { seed: 9 }));
    }
    system.run().unwrap_or_else(|error| panic!("{error}"));
    let bad: Vec<_> = system
        .take_outcomes()
        .into_iter()
        .filter(|o| !o.is_good())
        .collect();
    assert!(bad.is_empty(), "{bad:?}");
}

fn with(change: impl FnOnce(&mut Config)) -> System {
    let mut config = onchip();
    change(&mut config);
    system(config)
}

#[test]
fn drives_of_other_kinds_work() {
    let mut blocks = with(|config| {
        for namespace in &mut config.profile.ssd.namespaces {
            namespace.block_shift = 12;
        }
    });
    exercise(&mut blocks, 4096);
    // An address that suits 512 bytes does not suit 4096.
    blocks.submit_write(Write::pattern(512, 512, 1));
    blocks.run().expect("runs");
    assert_eq!(blocks.take_outcomes()[0].error, Some(UserError::Misaligned));

    // Small packets, latency, completions out of order.
    for stall in [Stall::NONE, Stall::new(0.1, 6)] {
        let mut busy = with(|config| {
            config.profile = profile("990pro-2tb");
            config.stalls = Stalls::everywhere(stall);
        });
        exercise(&mut busy, 512);
    }
    exercise(
        &mut with(|config| config.profile.ssd.controller.mdts = 1),
        512,
    );
    exercise(
        &mut with(|config| config.profile.ssd.controller.doorbell_stride = 2),
        512,
    );
    exercise(&mut with(|config| config.driver.queue_entries = 2), 512);
    exercise(
        &mut with(|config| config.profile.ssd.controller.max_queue_entries = 5),
        512,
    );
}

#[test]
fn completions_that_cannot_be_true_are_ignored() {
    let actions = [
        FaultAction::Duplicate,
        FaultAction::UnknownCid(77),
        FaultAction::WrongPhase,
    ];
    for action in actions {
        println!("{action:?}");
        let mut system =
            with(|config| config.faults = FaultPlan::none().times(Trigger::Every(7), action, 5));
        exercise(&mut system, 512);
    }
}

#[test]
fn a_failure_that_allows_it_is_retried_and_another_is_reported() {
    // Do Not Retry clear: Internal Error may pass; Unrecovered Read Error with it set does not.
    let passing = FaultAction::Fail(Status::INTERNAL_ERROR);
    let mut system =
        with(|config| config.faults = FaultPlan::none().times(Trigger::Every(9), passing, 4));
    exercise(&mut system, 512);

    let lasting = FaultAction::Fail(Status::INTERNAL_ERROR.with_do_not_retry(true));
    let once = FaultPlan::none().once(Trigger::Opcode(IoOpcode::Write), lasting);
    let mut system = with(|config| config.faults = once);
    system.submit_write(Write::pattern(0, 4096, 1));
    system.submit_write(Write::pattern(4096, 4096, 1));
    system.run().expect("both end");
    let errors: Vec<_> = system
        .take_outcomes()
        .into_iter()
        .map(|o| o.error)
        .collect();
    assert!(
        matches!(errors[..], [Some(UserError::Nvme { sct: 0, .. }), None]),
        "{errors:?}"
    );
}

#[test]
fn random_reads_keep_up_with_the_host() {
    let (size, count) = (4096, 6_000);
    let (access, direction) = (Access::Random, Direction::Read);
    let workload = Workload {
        direction,
        access,
        size,
        count,
        span: 1 << 36,
        seed: 3,
    };
    let drive = profile("990pro-2tb");
    let mut reference = Reference::new(&drive, None, 1, 64, size).expect("made");
    reference.bring_up(&mut |_| {}).expect("comes up");
    let host = reference.run(&workload).expect("runs").bytes_per_second();

    let mut config = onchip();
    config.profile = drive;
    let mut system = system(config);
    system.reset_stats();
    for address in workload.addresses() {
        system.submit_read(Read::new(address, size, Sink::Discard));
    }
    system.run().expect("runs");
    let ours = system.stats().reads.bytes_per_second(system.clock_period());
    println!(
        "{:.2} of {:.2} GB/s: {:.3}",
        ours / 1e9,
        host / 1e9,
        ours / host
    );
    assert!(ours / host > 0.95, "{:.3} of the reference", ours / host);
}
