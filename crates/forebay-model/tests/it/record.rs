// SPDX-License-Identifier: Apache-2.0
//! The drive's flight recorder: what it keeps, and what it says.

use crate::support::{Queue, Rig};
use forebay_model::ssd::RECORD_EVENTS;
use forebay_model::{FaultAction, FaultPlan, MICROSECOND, Trigger};
use forebay_spec::nvme::record::{DoorbellVerdict, DriveHappening};
use forebay_spec::nvme::regs;
use forebay_spec::nvme::{IoOpcode, Sqe};

/// A drive with one queue of 8 entries, and what was recorded until it was there.
fn prepared(plan: FaultPlan) -> (Rig, Queue, u64, u64) {
    let (mut rig, queue) = Rig::with_queue("ideal", 8, |_| {});
    rig.ssd.set_faults(plan);
    let page = rig.host.alloc(4096, 4096).unwrap();
    let before = rig.ssd.record().total();
    (rig, queue, page, before)
}

fn read(cid: u16, slba: u64, page: u64) -> Sqe {
    Sqe {
        cid,
        ..Sqe::transfer(IoOpcode::Read, 1, slba, 2).with_prps(page, 0)
    }
}

/// Events after the first `before`, in words.
fn since(rig: &Rig, before: u64) -> Vec<String> {
    let record = rig.ssd.record();
    let new = (record.total() - before) as usize;
    let skip = record.events().len() - new;
    let events = record.events().skip(skip);
    events.map(|entry| entry.event.to_string()).collect()
}

#[test]
fn a_command_leaves_its_way_in_the_record() {
    let (mut rig, mut queue, page, before) = prepared(FaultPlan::none());
    rig.run(&mut queue, &read(5, 40, page));
    assert_eq!(
        since(&rig, before),
        [
            "queue 1: submission doorbell, tail 1",
            "queue 1: asks for 1 from slot 0 on",
            "queue 1: slot 0 fetched: command 5, Read 2 blocks at 40",
            "queue 1: slot 0 completes command 5, head 1, phase 1",
            "queue 1: completion doorbell, head 1",
        ]
    );
    let fetched = rig
        .ssd
        .record()
        .events()
        .find_map(|entry| match entry.event {
            DriveHappening::Fetched {
                queue: 1,
                prp1,
                nsid,
                ..
            } => Some((prp1, nsid)),
            _ => None,
        });
    assert_eq!(fetched, Some((page, 1)));
}

#[test]
fn a_dropped_command_stays_under_way() {
    let plan = FaultPlan::none().once(Trigger::Nth(2), FaultAction::Drop);
    let (mut rig, mut queue, page, _) = prepared(plan);
    for cid in [3, 4, 5] {
        rig.submit(&mut queue, &read(cid, 0, page));
    }
    let state = &rig.ssd.queues()[1];
    assert_eq!(
        (state.queue, state.completion_queue, state.entries),
        (1, 1, 8)
    );
    assert_eq!((state.sq_tail, state.sq_asked, state.sq_head), (3, 3, 3));
    assert_eq!((state.cq_tail, state.cq_head, state.waiting), (2, 0, 0));
    assert_eq!(state.under_way, [4]);
}

#[test]
fn doorbells_that_do_not_count_say_why() {
    let (mut rig, _, _, before) = prepared(FaultPlan::none());
    rig.write32(regs::sq_doorbell(1, 0), 8);
    rig.write32(regs::cq_doorbell(1, 0), 3);
    rig.write32(regs::sq_doorbell(2, 0), 1);
    rig.write32(regs::CC, 0);
    rig.write32(regs::sq_doorbell(1, 0), 1);
    let record = rig.ssd.record();
    let verdicts: Vec<_> = record
        .events()
        .rev()
        .filter_map(|entry| match entry.event {
            DriveHappening::SqDoorbell { verdict, .. }
            | DriveHappening::CqDoorbell { verdict, .. } => Some(verdict),
            _ => None,
        })
        .take(4)
        .collect();
    assert_eq!(
        verdicts,
        [
            DoorbellVerdict::NotRunning,
            DoorbellVerdict::NoQueue,
            DoorbellVerdict::BadValue,
            DoorbellVerdict::BadValue
        ]
    );
    assert!(since(&rig, before).contains(&"disabled: a controller reset".to_owned()));
    assert!(rig.ssd.queues().is_empty());
}

#[test]
fn what_the_host_does_not_take_waits() {
    let (mut rig, mut queue, page, before) = prepared(FaultPlan::none());
    for cid in 0..5 {
        rig.submit(&mut queue, &read(cid, 0, page));
    }
    // Taken, but never told by the doorbell: five places of seven stay occupied.
    while rig.poll(&mut queue).is_some() {}
    for cid in 5..8 {
        rig.submit(&mut queue, &read(cid, 0, page));
    }
    assert_eq!(rig.ssd.queues()[1].waiting, 1);
    let words = "queue 1: the completion of command 7 waits for room";
    assert!(since(&rig, before).iter().any(|line| line == words));
}

#[test]
fn the_record_outlives_a_fatal_error_and_a_reset() {
    let plan = FaultPlan {
        fatal_at: Some(2 * MICROSECOND),
        ..FaultPlan::none()
    };
    let (mut rig, mut queue, page, before) = prepared(plan);
    rig.submit(&mut queue, &read(1, 0, page));
    rig.now = 2 * MICROSECOND;
    rig.step();
    rig.ssd.function_reset();
    let events = since(&rig, before);
    assert_eq!(
        events[events.len() - 2..],
        ["stopped with a fatal status", "reset of the PCI function"]
    );
    assert!(events.iter().any(|line| line.contains("command 1")));
}

#[test]
fn the_record_is_bounded() {
    let (mut rig, mut queue, page, _) = prepared(FaultPlan::none());
    for n in 0..200 {
        rig.run(&mut queue, &read(n, 0, page));
    }
    let record = rig.ssd.record();
    assert_eq!(record.events().len(), RECORD_EVENTS);
    assert!(record.total() > 1000);
    assert_eq!(record.to_string().lines().count(), RECORD_EVENTS);
    let times: Vec<_> = record.events().map(|entry| entry.time).collect();
    assert!(times.is_sorted());
}
