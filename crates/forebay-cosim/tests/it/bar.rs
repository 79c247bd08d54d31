// SPDX-License-Identifier: Apache-2.0
//! All of BAR 0 through one target: what arrives in order counts in order, and stray accesses
//! disturb no transfer.

use std::ops::Range;

use crate::common::{poisoned, shaken, soak, system};
use forebay_cosim::{FPGA, Stall, Stalls, System};
use forebay_driver::Bus;
use forebay_spec::streamer::{bar0, regs, window};

/// The drive of this profile posts an entry right behind its last byte.
#[test]
fn an_entry_never_overtakes_its_payload() {
    let slow = Stall::new(0.9, 24);
    for seed in 1..4 {
        for (mut config, memory) in poisoned().into_iter().zip(["chip", "board", "host"]) {
            println!("{memory}, seed {seed}");
            config.seed = seed;
            config.stalls = Stalls::everywhere(Stall::new(0.2, 10));
            match seed {
                // Requests come without a pause, answers to them are taken late.
                1 => {
                    (config.stalls.window_write, config.stalls.window_answer) = (Stall::NONE, slow)
                }
                // The memory behind takes payload late.
                2 => (config.stalls.window_write, config.stalls.dram) = (Stall::NONE, slow),
                _ => {}
            }
            soak(&mut system(config), 24, seed, &mut |_| {});
        }
    }
}

/// A part of BAR 0.
struct Part {
    what: What,
    range: Range<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum What {
    Lists,
    Submission,
    Completion,
    Registers,
    Nothing,
}

/// Of a streamer with its payload on chip, on board, or in the host: 0, 1, 2.
fn parts(memory: usize) -> Vec<Part> {
    let part = |what, range| Part { what, range };
    let chip = bar0::DATA + window::BUFFER_BYTES..bar0::DATA + window::DATA_WINDOW_BYTES;
    let lists = bar0::PRP_LISTS..bar0::PRP_LISTS + window::PRP_LISTS_BYTES;
    let entries = bar0::QUEUES + window::cq_offset(64);
    let end = bar0::QUEUES + window::queue_window_bytes(64, 1);
    let registers = bar0::CONTROL..bar0::CONTROL + bar0::CONTROL_BYTES;
    let mut parts = vec![
        part(What::Submission, bar0::QUEUES..entries),
        part(What::Completion, entries..end),
        part(What::Registers, registers.clone()),
        part(What::Nothing, 0..bar0::QUEUES),
        part(What::Nothing, end..registers.start),
        part(What::Nothing, registers.end..bar0::HOST),
    ];
    parts.extend(match memory {
        0 => [
            part(What::Lists, chip.clone()),
            part(What::Nothing, bar0::PRP_LISTS..bar0::DATA),
            part(What::Nothing, chip.end..bar0::BYTES),
        ],
        1 => [
            part(What::Nothing, lists.end..bar0::DATA_DRAM),
            part(What::Nothing, bar0::HOST..lists.start),
            part(What::Lists, lists),
        ],
        _ => [
            part(What::Nothing, lists.end..bar0::BYTES),
            part(What::Nothing, bar0::HOST..lists.start),
            part(What::Lists, lists),
        ],
    });
    parts
}

/// The byte at an offset of the PRP lists; of other parts, and of lists of host memory, nothing is known.
fn listed(system: &mut System, memory: usize, what: What, offset: u64) -> Option<u8> {
    if what != What::Lists {
        return None;
    }
    let bar = system.bar_address(FPGA, 0).expect("there is a card");
    let word = match memory {
        0 => window::prp_view_entry(bar + bar0::DATA, offset & !7),
        1 => window::prp_list_entry(bar + bar0::DATA_DRAM, offset & !7),
        _ => return None,
    };
    Some(word.to_le_bytes()[(offset % 8) as usize])
}

/// Accesses of 1 to 64 bytes at odd places beside transfers, which notice nothing of them.
#[test]
fn stray_accesses_disturb_no_transfer() {
    for (memory, mut config) in poisoned().into_iter().enumerate() {
        config.stalls = Stalls::everywhere(Stall::new(0.1, 6));
        let mut system = system(config);
        let version = system.bar_read64(FPGA, 0, bar0::CONTROL + regs::version::OFFSET);
        let version = version.expect("reads").to_le_bytes();
        system.reset_stats();
        let mut number = shaken(7);
        let (mut strays, mut refused) = (0, 0);
        soak(&mut system, 24, 7, &mut |system| {
            for Part { what, range } in parts(memory) {
                let bytes = 1 + number() % 64;
                // In one request: the fabric cuts at pages.
                let page = 4096 * (number() % ((range.end - range.start) / 4096));
                let at = range.start + page + number() % (4097 - bytes);
                let beats = (at % 64 + bytes).div_ceil(64);
                let read = system.read_bar(at, bytes as u32).expect("answered");
                let there = !matches!(what, What::Completion | What::Nothing);
                assert_eq!(read.is_some(), there, "{what:?}: {bytes} bytes at {at:#x}");
                for (at, byte) in (at..).zip(read.into_iter().flatten()) {
                    let expected = listed(system, memory, what, at - range.start);
                    assert_eq!(byte, expected.unwrap_or(byte), "{at:#x} of the lists");
                }
                let (at, bytes) = match what {
                    // A whole Dword 3 would be an entry.
                    What::Completion => ((at & !15) + number() % 5, 1 + number() % 8),
                    // In two registers of a beat; in one it would change that.
                    What::Registers => ((at & !63) + 1 + number() % 7 + number() % 7 * 8, 8),
                    _ => (at, bytes),
                };
                let data: Vec<u8> = (0..bytes).map(|_| number() as u8).collect();
                system.write_bar(at, &data).expect("posted");
                match what {
                    What::Lists | What::Submission | What::Registers => refused += 1,
                    What::Completion => refused += beats,
                    What::Nothing => strays += 2,
                }
            }
            // Any part of a register.
            let first = number() % 8;
            let bytes = 1 + number() % (8 - first);
            let at = bar0::CONTROL + regs::version::OFFSET + first;
            let read = system.read_bar(at, bytes as u32).expect("answered");
            let expected = &version[first as usize..(first + bytes) as usize];
            assert_eq!(
                read.as_deref(),
                Some(expected),
                "{bytes} bytes from {first}"
            );
        });
        let stats = system.stats();
        assert_eq!((stats.stray_writes, stats.refused), (strays, refused));
        system.shutdown(&mut |_| {}).expect("goes down");
    }
}
