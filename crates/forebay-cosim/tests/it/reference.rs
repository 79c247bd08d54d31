// SPDX-License-Identifier: Apache-2.0
//! The host as reference.

use crate::common::profile;
use forebay_cosim::{Access, Design, Direction, Reference, Workload};
use forebay_model::{FaultAction, FaultPlan, Node, Trigger};
use forebay_spec::nvme::Status;

fn workload(direction: Direction, access: Access, size: u64, count: u64) -> Workload {
    Workload {
        direction,
        access,
        size,
        count,
        span: 1 << 30,
        seed: 1,
    }
}

fn reference(name: &str, queue_depth: u16, transfer: u64) -> Reference {
    let mut reference =
        Reference::new(&profile(name), None, 1, queue_depth, transfer).expect("made");
    reference.bring_up(&mut |_| {}).expect("comes up");
    reference
}

/// Out of order, GB/s at 4 KiB, from the calibration of the drive's model.
#[test]
fn random_reads_reach_what_the_drive_is_known_for() {
    for (depth, least, most) in [(1, 0.09, 0.13), (64, 4.0, 4.9)] {
        let mut reference = reference("990pro-2tb", depth, 4096);
        let count = 2_000 + 100 * u64::from(depth);
        let run = reference
            .run(&workload(Direction::Read, Access::Random, 4096, count))
            .expect("runs");
        let rate = run.bytes_per_second() / 1e9;
        println!(
            "queue depth {depth}: {rate:.2} GB/s, mean {:.1} us",
            run.mean_latency() / 1e6
        );
        assert!(
            (least..most).contains(&rate),
            "queue depth {depth}: {rate:.2} GB/s"
        );
        assert_eq!((run.commands, run.failed), (count, 0));
        reference.shutdown(&mut |_| {}).expect("shuts down");
    }
}

/// Configuration space says what the fabric does.
#[test]
fn payload_sizes_are_those_of_the_profile() {
    for (name, payload, read_request) in [("990pro-2tb", 256, 512), ("ideal", 4096, 4096)] {
        let mut reference = Reference::new(&profile(name), None, 1, 1, 4096).expect("made");
        let session = reference.bring_up(&mut |_| {}).expect("comes up");
        let express = session.facts().nvme.express.expect("a capability");
        assert_eq!(
            (
                express.payload_supported,
                express.payload,
                express.read_request
            ),
            (payload, payload, read_request),
            "{name}"
        );
    }
}

#[test]
fn large_transfers_are_cut_and_failures_counted() {
    let mut reference = reference("ideal", 4, 4 << 20);
    reference.set_faults(
        FaultPlan::none().once(Trigger::Nth(2), FaultAction::Fail(Status::INTERNAL_ERROR)),
    );
    let run = reference
        .run(&workload(Direction::Write, Access::Sequential, 4 << 20, 2))
        .expect("runs");
    assert_eq!(run.failed, 1);
    assert_eq!(run.commands, 8, "the drive takes 1 MiB at once");
    assert_eq!(run.bytes, 7 << 20);
}

/// SNAcc's design at the level of its commands: 64 that end in order read 1.6 GB/s.
#[test]
fn commands_that_end_in_order_wait_for_the_slowest() {
    let mut rates = [false, true].map(|in_order| {
        let mut card = Reference::new(&profile("990pro-2tb"), None, 1, 64, 4096).expect("made");
        card.set_design(Design {
            queues: Node::Fpga,
            data: Node::Fpga,
            in_order,
        });
        card.bring_up(&mut |_| {}).expect("comes up");
        let load = workload(Direction::Read, Access::Random, 4096, 16_000);
        let run = card.run(&load).expect("runs");
        assert_eq!((run.commands, run.failed), (16_000, 0));
        // Nothing but doorbells and the bring-up is the host's.
        let up = run
            .hops
            .iter()
            .find(|hop| hop.node == Node::Fpga)
            .expect("a link");
        assert!(up.payload >= 16_000 * 64, "entries are read from the card");
        run.bytes_per_second() / 1e9
    });
    rates.sort_by(f64::total_cmp);
    assert!((1.5..1.7).contains(&rates[0]), "in order: {rates:?}");
    assert!(rates[1] > 4.0, "as they come: {rates:?}");
}

/// Where the data lie decides how fast writes are.
#[test]
fn writes_are_as_fast_as_the_way_to_their_data() {
    for (data, expected) in [(Node::Host, 6.24), (Node::Fpga, 5.84)] {
        let mut card = Reference::new(&profile("990pro-2tb"), None, 1, 4, 1 << 20).expect("made");
        card.set_design(Design {
            queues: Node::Fpga,
            data,
            in_order: true,
        });
        card.bring_up(&mut |_| {}).expect("comes up");
        let load = workload(Direction::Write, Access::Sequential, 1 << 20, 200);
        let rate = card.run(&load).expect("runs").bytes_per_second() / 1e9;
        assert!(
            (rate / expected - 1.0).abs() < 0.02,
            "{data:?}: {rate:.2} GB/s"
        );
    }
}
