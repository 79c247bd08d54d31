// SPDX-License-Identifier: Apache-2.0
//! The drive that never waits: data, queues, PRPs.

use crate::support::{Rig, load};
use forebay_model::Node;
use forebay_spec::nvme::{IoOpcode, Sqe, Status};

fn pattern(len: usize, seed: u8) -> Vec<u8> {
    (0..len)
        .map(|n| (n.wrapping_mul(31) >> 3) as u8 ^ seed)
        .collect()
}

#[test]
fn what_is_written_is_read() {
    let (mut rig, mut queue) = Rig::with_queue("ideal", 64, |_| {});
    for (n, len) in [512u64, 4096, 8192, 12_288, 65_536, 1 << 20]
        .into_iter()
        .enumerate()
    {
        let data = pattern(len as usize, n as u8);
        let (from, prp1, prp2) = rig.buffer(len);
        assert!(rig.host.write(from, &data));
        let (slba, blocks) = (n as u64 * 4096, (len / 512) as u32);
        let write = Sqe::transfer(IoOpcode::Write, 1, slba, blocks).with_prps(prp1, prp2);
        assert_eq!(rig.run(&mut queue, &write).status, Status::SUCCESS);
        let (to, prp1, prp2) = rig.buffer(len);
        let read = Sqe::transfer(IoOpcode::Read, 1, slba, blocks).with_prps(prp1, prp2);
        assert_eq!(rig.run(&mut queue, &read).status, Status::SUCCESS);
        let mut back = vec![0; len as usize];
        assert!(rig.host.read(to, &mut back));
        assert!(back == data, "{len} bytes differ");
    }
    assert_eq!(rig.now, 0, "the ideal drive took time");
}

#[test]
fn data_may_begin_within_a_page() {
    let (mut rig, mut queue) = Rig::with_queue("ideal", 4, |_| {});
    let (addr, prp1, prp2) = rig.buffer(16_384);
    let data = pattern(8192, 3);
    assert!(rig.host.write(addr + 0x204, &data));
    let write = Sqe::transfer(IoOpcode::Write, 1, 7, 16).with_prps(prp1 + 0x204, prp2);
    assert_eq!(rig.run(&mut queue, &write).status, Status::SUCCESS);
    assert_eq!(*rig.ssd.medium().read(7 * 512, 8192).unwrap(), data);
}

#[test]
fn queues_wrap_and_many_commands_are_fetched_at_once() {
    let (mut rig, mut queue) = Rig::with_queue("ideal", 64, |_| {});
    let page = rig.host.alloc(4096, 4096).unwrap();
    let done = load(&mut rig, &mut queue, 63, 1000, 4096, |n| {
        Sqe::transfer(IoOpcode::Read, 1, n as u64 * 8, 8).with_prps(page, 0)
    });
    assert_eq!(done.seconds, 0.0);
    let stats = rig.ssd.stats();
    assert_eq!(
        (stats.commands, stats.reads, stats.invalid_doorbells),
        (1000, 1000, 0)
    );
    assert!(stats.fetches < 100, "{} fetches", stats.fetches);
}

#[test]
fn a_queue_of_two_works() {
    let (mut rig, mut queue) = Rig::with_queue("ideal", 2, |_| {});
    let page = rig.host.alloc(4096, 4096).unwrap();
    for n in 0..10 {
        let sqe = Sqe::transfer(IoOpcode::Read, 1, n, 1).with_prps(page, 0);
        assert_eq!(rig.run(&mut queue, &sqe).sq_head, (n as u16 + 1) % 2);
    }
}

#[test]
fn a_full_completion_queue_is_waited_for() {
    let (mut rig, mut queue) = Rig::with_queue("ideal", 4, |_| {});
    let page = rig.host.alloc(4096, 4096).unwrap();
    let sqe = |cid| {
        Sqe {
            cid,
            ..Sqe::transfer(IoOpcode::Read, 1, 0, 1)
        }
        .with_prps(page, 0)
    };
    for cid in 0..3 {
        rig.submit(&mut queue, &sqe(cid));
    }
    for cid in 3..6 {
        rig.submit(&mut queue, &sqe(cid));
    }
    // Six commands, three places: the rest comes as places become free.
    for cid in 0..6 {
        assert_eq!(rig.take(&mut queue).unwrap().cid, cid);
    }
    assert_eq!(rig.ssd.stats().completions_delayed, 3);
    assert_eq!(rig.take(&mut queue), None);
}

#[test]
fn blocks_strides_and_limits_are_as_configured() {
    let (mut rig, mut queue) = Rig::with_queue("ideal", 8, |ssd| {
        ssd.namespaces[0].block_shift = 12;
        ssd.controller.doorbell_stride = 4;
        ssd.controller.mdts = 1;
    });
    let (addr, prp1, prp2) = rig.buffer(8192);
    assert!(rig.host.write(addr, &pattern(8192, 9)));
    let write = Sqe::transfer(IoOpcode::Write, 1, 5, 2).with_prps(prp1, prp2);
    assert_eq!(rig.run(&mut queue, &write).status, Status::SUCCESS);
    assert_eq!(
        *rig.ssd.medium().read(5 * 4096, 8192).unwrap(),
        pattern(8192, 9)
    );
    let long = Sqe::transfer(IoOpcode::Write, 1, 5, 3).with_prps(prp1, prp2);
    assert_eq!(rig.run(&mut queue, &long).status, Status::INVALID_FIELD);
}

#[test]
fn the_fabric_counts_what_crosses_it() {
    let (mut rig, mut queue) = Rig::with_queue("ideal", 8, |_| {});
    let up = |rig: &Rig| {
        rig.fabric
            .hops()
            .iter()
            .find(|hop| hop.node == Node::Ssd(0))
            .copied()
    };
    let before = up(&rig).unwrap();
    let page = rig.host.alloc(4096, 4096).unwrap();
    rig.run(
        &mut queue,
        &Sqe::transfer(IoOpcode::Read, 1, 0, 8).with_prps(page, 0),
    );
    let after = up(&rig).unwrap();
    // A page and a completion entry with their headers, and the request for the entry.
    assert_eq!(after.payload - before.payload, 4096 + 16);
    assert_eq!(after.wire - before.wire, 4096 + 16 + 3 * 24);
}
