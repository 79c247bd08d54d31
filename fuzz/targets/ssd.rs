// SPDX-License-Identifier: Apache-2.0
//! Any commands, with any PRP entries and lists, on both queues of the drive's model: it comes to
//! rest, and works after a reset.
#![no_main]

#[allow(dead_code, reason = "a part of what tests share")]
#[path = "../../crates/forebay-model/tests/it/support/mod.rs"]
mod support;

use forebay_spec::nvme::Sqe;
use libfuzzer_sys::fuzz_target;
use support::{MEMORY, Rig};

/// Bytes of input that make a command.
const RECORD: usize = 36;
/// Memory that PRP entries name; lists lie in it, too.
const SPAN: u64 = 1 << 20;

/// An address in or just outside the span, more often aligned than chance would have it.
fn address(word: u32) -> u64 {
    let place = u64::from(word >> 4) % (SPAN + 0x2000);
    match word & 15 {
        0 => u64::from(word) << 32,
        1..4 => MEMORY + place,
        4..8 => MEMORY + (place & !7),
        _ => MEMORY + (place & !0xfff),
    }
}

fn command(record: &[u8]) -> Sqe {
    let word = |at: usize| {
        let bytes = [record[at], record[at + 1], record[at + 2], record[at + 3]];
        u32::from_le_bytes(bytes)
    };
    Sqe {
        opcode: record[0],
        flags: record[1],
        cid: record[2].into(),
        nsid: u32::from(record[3]) % 4,
        prp1: address(word(4)),
        prp2: address(word(8)),
        cdw: [12, 16, 20, 24, 28, 32].map(word),
        ..Sqe::default()
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((kind, data)) = data.split_first() else {
        return;
    };
    let profile = ["ideal", "990pro-2tb"][usize::from(kind & 1)];
    let (mut rig, mut queue) = Rig::with_queue(profile, 64, |ssd| {
        ssd.namespaces[0].bytes = 16 << 20;
    });
    rig.host.alloc(SPAN, 4096).expect("there is room");
    let records = data.chunks_exact(RECORD);
    // What is left over is what lists in memory say, over and over.
    let entries: Vec<u8> = records
        .remainder()
        .chunks_exact(4)
        .flat_map(|word| {
            address(u32::from_le_bytes([word[0], word[1], word[2], word[3]])).to_le_bytes()
        })
        .collect();
    if !entries.is_empty() {
        let lists: Vec<u8> = entries.iter().copied().cycle().take(0x4000).collect();
        rig.host.write(MEMORY + SPAN / 2, &lists);
    }
    for (n, record) in records.take(60).enumerate() {
        let sqe = command(record);
        if kind & 2 != 0 && n < 8 {
            rig.submit_admin(&sqe);
        } else {
            rig.place(&mut queue, &sqe);
        }
    }
    rig.ring_sq(&queue);
    rig.settle();
    rig.restart();
});
