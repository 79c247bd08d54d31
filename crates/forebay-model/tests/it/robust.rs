// SPDX-License-Identifier: Apache-2.0
//! Whatever a host does: no panic, no write outside what it named, and the drive can be reset.

use crate::support::Rig;
use forebay_model::Request;
use forebay_spec::nvme::Sqe;
use proptest::prelude::*;

/// Any entry, with fields near to what is valid more often than chance would have it.
fn entries() -> impl Strategy<Value = Sqe> {
    let opcode = prop_oneof![any::<u8>(), 0u8..16];
    let address = prop_oneof![
        any::<u64>(),
        (0u64..1 << 26).prop_map(|offset| crate::support::MEMORY + (offset & !3)),
        (0u64..1 << 14).prop_map(|page| crate::support::MEMORY + (page << 12)),
    ];
    let dword = prop_oneof![any::<u32>(), 0u32..8, (0u32..8).prop_map(|n| n << 16 | n)];
    (
        opcode,
        prop_oneof![Just(0u8), any::<u8>()],
        any::<u16>(),
        0u32..4,
        [address.clone(), address],
    )
        .prop_flat_map(move |(opcode, flags, cid, nsid, [prp1, prp2])| {
            proptest::array::uniform6(dword.clone()).prop_map(move |cdw| Sqe {
                opcode,
                flags,
                cid,
                nsid,
                prp1,
                prp2,
                cdw,
                ..Sqe::default()
            })
        })
}

/// A write into BAR 0: registers, doorbells, vectors, and beyond.
fn accesses() -> impl Strategy<Value = (u64, Vec<u8>)> {
    let offset = prop_oneof![0u64..0x40, 0x1000u64..0x1020, 0u64..0x4000];
    (offset, proptest::collection::vec(any::<u8>(), 0..10))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_entries_on_both_queues_are_survived(
        admin in proptest::collection::vec(entries(), 0..20),
        io in proptest::collection::vec(entries(), 1..30),
        timed: bool,
    ) {
        let profile = if timed { "990pro-2tb" } else { "ideal" };
        let (mut rig, mut queue) = Rig::with_queue(profile, 64, |ssd| {
            ssd.namespaces[0].bytes = 16 << 20;
        });
        for sqe in &admin {
            rig.submit_admin(sqe);
        }
        for sqe in &io {
            rig.place(&mut queue, sqe);
        }
        rig.ring_sq(&queue);
        rig.settle();
        rig.restart();
    }

    #[test]
    fn any_accesses_to_the_bar_are_survived(
        writes in proptest::collection::vec(accesses(), 1..60),
        enabled: bool,
    ) {
        let mut rig = Rig::cold("ideal", |_| {});
        if enabled {
            rig.enable();
        }
        for (offset, data) in &writes {
            let request = Request::Write { addr: crate::support::BAR + offset, data: data[..].into() };
            rig.fabric.request(rig.now, forebay_model::Node::Host, request);
            rig.step();
            let _ = rig.read(*offset, data.len() as u32);
        }
        rig.restart();
    }

    #[test]
    fn any_writes_to_configuration_space_are_survived(
        writes in proptest::collection::vec((any::<u16>(), any::<u32>()), 1..40),
    ) {
        let mut rig = Rig::cold("ideal", |_| {});
        for (offset, value) in writes {
            rig.ssd.config_write(offset, value);
            rig.ssd.config_read(offset);
            if let Some(range) = rig.ssd.bar_range() {
                prop_assert!(range.start < range.end);
            }
        }
    }
}
