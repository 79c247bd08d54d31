// SPDX-License-Identifier: Apache-2.0
//! Faults on demand, errors of I/O commands, and what a host can do about them.

use crate::support::{Queue, Rig};
use forebay_model::{FaultAction, FaultPlan, MICROSECOND, Trigger};
use forebay_spec::nvme::regs::{self, Csts};
use forebay_spec::nvme::{AdminOpcode, Cqe, IoOpcode, Sqe, Status};

fn prepared(plan: FaultPlan) -> (Rig, Queue, u64) {
    let (mut rig, queue) = Rig::with_queue("ideal", 16, |_| {});
    rig.ssd.set_faults(plan);
    let page = rig.host.alloc(4096, 4096).unwrap();
    (rig, queue, page)
}

fn read(cid: u16, slba: u64, page: u64) -> Sqe {
    Sqe {
        cid,
        ..Sqe::transfer(IoOpcode::Read, 1, slba, 1).with_prps(page, 0)
    }
}

#[test]
fn chosen_commands_fail_with_the_chosen_status() {
    let plan = FaultPlan::none()
        .once(
            Trigger::Nth(2),
            FaultAction::Fail(Status::NAMESPACE_NOT_READY),
        )
        .times(
            Trigger::Lbas(100..110),
            FaultAction::Fail(Status::UNRECOVERED_READ_ERROR),
            2,
        )
        .once(
            Trigger::Opcode(IoOpcode::Flush),
            FaultAction::Fail(Status::INTERNAL_ERROR),
        );
    let (mut rig, mut queue, page) = prepared(plan);
    let flush = Sqe {
        opcode: IoOpcode::Flush.number(),
        nsid: 1,
        ..Sqe::default()
    };
    for (sqe, status) in [
        (read(0, 0, page), Status::SUCCESS),
        (read(0, 0, page), Status::NAMESPACE_NOT_READY),
        (read(0, 109, page), Status::UNRECOVERED_READ_ERROR),
        (read(0, 110, page), Status::SUCCESS),
        (read(0, 100, page), Status::UNRECOVERED_READ_ERROR),
        (read(0, 100, page), Status::SUCCESS),
        (flush, Status::INTERNAL_ERROR),
        (flush, Status::SUCCESS),
    ] {
        assert_eq!(rig.run(&mut queue, &sqe).status, status);
    }
    assert_eq!(rig.ssd.stats().faults, 4);
}

#[test]
fn a_command_that_never_completes_can_be_aborted() {
    let (mut rig, mut queue, page) =
        prepared(FaultPlan::none().once(Trigger::Nth(1), FaultAction::Drop));
    rig.submit(&mut queue, &read(5, 0, page));
    assert_eq!(rig.take(&mut queue), None);
    assert_eq!(rig.ssd.in_flight(), 1);
    let abort = |cid: u32| Sqe {
        opcode: AdminOpcode::Abort.number(),
        cdw: [cid << 16 | 1, 0, 0, 0, 0, 0],
        ..Sqe::default()
    };
    assert_eq!(rig.admin(abort(6)).result, 1);
    assert_eq!(rig.admin(abort(5)).result, 0);
    let cqe = rig.take(&mut queue).unwrap();
    assert_eq!((cqe.cid, cqe.status), (5, Status::ABORT_REQUESTED));
}

#[test]
fn completions_come_twice_or_with_wrong_fields() {
    let plan = FaultPlan::none()
        .once(Trigger::Nth(1), FaultAction::Duplicate)
        .once(Trigger::Nth(2), FaultAction::UnknownCid(99))
        .once(Trigger::Nth(3), FaultAction::WrongSqHead(0x7777));
    let (mut rig, mut queue, page) = prepared(plan);
    let mut cids = |cid| {
        rig.submit(&mut queue, &read(cid, 0, page));
        std::iter::from_fn(|| rig.poll(&mut queue))
            .map(|cqe| (cqe.cid, cqe.sq_head))
            .collect::<Vec<_>>()
    };
    assert_eq!(cids(1), vec![(1, 1), (1, 1)]);
    assert_eq!(cids(2), vec![(99, 2), (2, 2)]);
    assert_eq!(cids(3), vec![(3, 0x7777)]);
    assert_eq!(cids(4), vec![(4, 4)]);
}

#[test]
fn an_entry_with_the_old_phase_is_written_first() {
    let (mut rig, mut queue, page) =
        prepared(FaultPlan::none().once(Trigger::Nth(1), FaultAction::WrongPhase));
    rig.place(&mut queue, &read(1, 0, page));
    rig.ring_sq(&queue);
    // In memory the right entry has followed; what crossed the fabric is one entry more.
    let ssd = forebay_model::Node::Ssd(0);
    let messages = |rig: &Rig| {
        rig.fabric
            .hops()
            .iter()
            .find(|hop| hop.node == ssd)
            .map_or(0, |hop| hop.messages)
    };
    let with_fault = messages(&rig);
    assert_eq!(rig.take(&mut queue).unwrap().cid, 1);
    rig.submit(&mut queue, &read(2, 0, page));
    assert_eq!(messages(&rig) - with_fault, 3);
    assert_eq!(rig.take(&mut queue).unwrap().cid, 2);
}

#[test]
fn the_controller_dies_at_its_time_and_can_be_reset() {
    for fatal in [false, true] {
        let (mut rig, mut queue, page) = prepared(FaultPlan::none());
        let time = Some(5 * MICROSECOND);
        let (fatal_at, not_ready_at) = if fatal { (time, None) } else { (None, time) };
        rig.ssd.set_faults(FaultPlan {
            fatal_at,
            not_ready_at,
            ..FaultPlan::none()
        });
        assert!(rig.run(&mut queue, &read(1, 0, page)).status.is_success());
        assert!(rig.wait());
        let csts = Csts::from_bits(rig.read32(regs::CSTS));
        assert_eq!((csts.fatal, csts.ready), (fatal, fatal));
        rig.submit(&mut queue, &read(2, 0, page));
        assert_eq!(rig.take(&mut queue), None);
        rig.write32(regs::CC, 0);
        rig.admin = Queue {
            tail: 0,
            head: 0,
            phase: true,
            ..rig.admin
        };
        let zeros = [0; 32 * 16];
        assert!(rig.host.write(rig.admin.cq, &zeros));
        rig.enable();
        let mut queue = rig.create_queue(1, 16);
        assert!(rig.run(&mut queue, &read(3, 0, page)).status.is_success());
    }
}

#[test]
fn bad_commands_get_their_status() {
    let (mut rig, mut queue, page) = prepared(FaultPlan::none());
    let blocks = 2_000_398_934_016 / 512;
    let transfer =
        |nsid, slba, count| Sqe::transfer(IoOpcode::Write, nsid, slba, count).with_prps(page, page);
    for (sqe, status) in [
        (transfer(0, 0, 1), Status::INVALID_NAMESPACE),
        (transfer(2, 0, 1), Status::INVALID_NAMESPACE),
        (transfer(u32::MAX, 0, 1), Status::INVALID_NAMESPACE),
        (transfer(1, blocks, 1), Status::LBA_OUT_OF_RANGE),
        (transfer(1, blocks - 1, 2), Status::LBA_OUT_OF_RANGE),
        (transfer(1, u64::MAX, 2), Status::LBA_OUT_OF_RANGE),
        (transfer(1, 0, 2049), Status::INVALID_FIELD),
        (
            transfer(1, 0, 1).with_prps(page + 1, 0),
            Status::INVALID_PRP_OFFSET,
        ),
        (
            transfer(1, 0, 16).with_prps(page, page + 4),
            Status::INVALID_PRP_OFFSET,
        ),
        (
            transfer(1, 0, 1).with_prps(0xdead_0000, 0),
            Status::DATA_TRANSFER_ERROR,
        ),
        (
            transfer(1, 0, 24).with_prps(page, 0xdead_0000),
            Status::DATA_TRANSFER_ERROR,
        ),
        (transfer(1, blocks - 8, 8), Status::SUCCESS),
    ] {
        assert_eq!(rig.run(&mut queue, &sqe).status, status);
    }
}

#[test]
fn an_identifier_in_use_is_a_conflict() {
    let (mut rig, mut queue, page) =
        prepared(FaultPlan::none().once(Trigger::Nth(1), FaultAction::Drop));
    rig.submit(&mut queue, &read(3, 0, page));
    let Cqe { cid, status, .. } = rig.run(&mut queue, &read(3, 0, page));
    assert_eq!((cid, status), (3, Status::CID_CONFLICT));
}

#[test]
fn zeroes_and_deallocation_read_as_zeros() {
    let (mut rig, mut queue, page) = prepared(FaultPlan::none());
    rig.ssd.medium_mut().write(0, &[7; 16_384]).unwrap();
    let zeroes = Sqe::transfer(IoOpcode::WriteZeroes, 1, 1, 3);
    assert!(rig.run(&mut queue, &zeroes).status.is_success());
    let mut ranges = [0; 32];
    // Two ranges: blocks 8 to 15 and block 20.
    (ranges[4], ranges[8], ranges[20], ranges[24]) = (8, 8, 1, 20);
    assert!(rig.host.write(page, &ranges));
    let mut manage = Sqe {
        opcode: IoOpcode::DatasetManagement.number(),
        nsid: 1,
        cdw: [1, 0, 0, 0, 0, 0],
        ..Sqe::default()
    }
    .with_prps(page, 0);
    let block = |rig: &Rig, n: u64| rig.ssd.medium().read(n * 512, 512).unwrap()[9];
    assert!(rig.run(&mut queue, &manage).status.is_success());
    assert_eq!(block(&rig, 8), 7);
    manage.cdw[1] = 4;
    assert!(rig.run(&mut queue, &manage).status.is_success());
    let got: Vec<u8> = (0..22).map(|n| block(&rig, n)).collect();
    let zero = |n| (1..4).contains(&n) || (8..16).contains(&n) || n == 20;
    assert_eq!(
        got,
        (0..22)
            .map(|n| if zero(n) { 0 } else { 7 })
            .collect::<Vec<_>>()
    );
}

#[test]
fn few_commands_in_flight_still_serve_all_queues() {
    let (mut rig, mut first) = Rig::with_queue("990pro-2tb", 16, |ssd| {
        ssd.controller.commands_in_flight = 2
    });
    let mut second = rig.create_queue(2, 16);
    let page = rig.host.alloc(4096, 4096).unwrap();
    for cid in 0..10 {
        rig.place(&mut first, &read(cid, cid as u64 * 1000, page));
        rig.place(&mut second, &read(cid, cid as u64 * 999, page));
    }
    rig.ring_sq(&first);
    rig.ring_sq(&second);
    for _ in 0..10 {
        assert!(
            rig.take(&mut first)
                .is_some_and(|cqe| cqe.status.is_success())
        );
        assert!(
            rig.take(&mut second)
                .is_some_and(|cqe| cqe.status.is_success())
        );
    }
}

#[test]
fn deleting_a_queue_ends_its_commands() {
    let (mut rig, mut queue) = Rig::with_queue("990pro-2tb", 16, |_| {});
    let page = rig.host.alloc(4096, 4096).unwrap();
    for cid in 0..8 {
        rig.place(&mut queue, &read(cid, cid as u64 * 1000, page));
    }
    rig.ring_sq(&queue);
    for _ in 0..8 {
        rig.wait();
    }
    let delete = |opcode: AdminOpcode| Sqe {
        opcode: opcode.number(),
        cdw: [1, 0, 0, 0, 0, 0],
        ..Sqe::default()
    };
    assert!(
        rig.admin(delete(AdminOpcode::DeleteIoSq))
            .status
            .is_success()
    );
    assert_eq!(rig.ssd.in_flight(), 0);
    assert!(
        rig.admin(delete(AdminOpcode::DeleteIoCq))
            .status
            .is_success()
    );
    let mut queue = rig.create_queue(1, 16);
    assert!(rig.run(&mut queue, &read(0, 0, page)).status.is_success());
}

#[test]
fn faults_count_commands_also_where_they_take_time() {
    let (mut rig, mut queue) = Rig::with_queue("990pro-2tb", 16, |_| {});
    let page = rig.host.alloc(4096, 4096).unwrap();
    let plan = FaultPlan::none().once(Trigger::Nth(2), FaultAction::Fail(Status::WRITE_FAULT));
    rig.ssd.set_faults(plan);
    for cid in 0..6 {
        rig.place(&mut queue, &read(cid, cid as u64 * 1000, page));
    }
    rig.ring_sq(&queue);
    for _ in 0..6 {
        let cqe = rig.take(&mut queue).unwrap();
        assert_eq!(cqe.status == Status::WRITE_FAULT, cqe.cid == 1, "{cqe:?}");
    }
}

#[test]
fn entries_that_cannot_be_read_are_fatal() {
    let (mut rig, queue) = Rig::with_queue("ideal", 16, |_| {});
    let nowhere = Sqe {
        opcode: AdminOpcode::CreateIoSq.number(),
        prp1: 0xdead_0000,
        cdw: [15 << 16 | 2, 1 << 16 | 1, 0, 0, 0, 0],
        ..Sqe::default()
    };
    assert!(rig.admin(nowhere).status.is_success());
    rig.write32(regs::sq_doorbell(2, 0), 1);
    assert!(Csts::from_bits(rig.read32(regs::CSTS)).fatal);
    assert_eq!((queue.head, rig.fabric.unmapped()), (0, (0, 1)));
}
