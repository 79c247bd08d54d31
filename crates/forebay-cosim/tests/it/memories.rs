// SPDX-License-Identifier: Apache-2.0
//! The streamer with its payload in on-board DRAM and in host memory.

use std::path::Path;

use forebay_cosim::{Config, DramFault, Read, Sink, Stall, Stalls, System, Write, rtl};
use forebay_driver::Outbound;
use forebay_model::{DramProfile, FaultAction, FaultPlan, Node, Refresh, Trigger};
use forebay_rtl::Source;
use forebay_spec::nvme::{IoOpcode, Status};
use forebay_spec::streamer::{UserError, regs, window};

fn with(rtl: impl FnOnce(&Path, u32) -> Source) -> Config {
    let mut config = crate::common::onchip();
    config.rtl = rtl(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."), 64);
    config
}

fn dram() -> Config {
    with(rtl::dram)
}

fn host() -> Config {
    with(rtl::hostdram)
}

/// Writes and reads back stretches of all kinds, at the same time.
fn work(config: Config) {
    let mut system = crate::common::system(config);
    let stretches = [
        (0, 1u64 << 20),
        (1 << 24, 4096),
        (1 << 25, 300_001),
        (1 << 26, 513),
    ];
    for round in 0..2 {
        for (n, (address, length)) in stretches.into_iter().enumerate() {
            let seed = n as u64 + 7 * round;
            system.submit_write(Write::pattern(address, length, seed));
            if round > 0 {
                // What the round before has written somewhere else.
                let (address, length) = stretches[(n + 1) % stretches.len()];
                let address = address + (1 << 30);
                system.submit_read(Read::new(address, length, Sink::Discard));
            }
        }
        // Nothing but a flush, which has no data to wait for.
        system.submit_write(Write::pattern(0, 0, 0).flush());
        system.run().expect("writes");
        assert_eq!(system.ssds()[0].stats().flushes, 1 + round);
        for (n, (address, length)) in stretches.into_iter().enumerate() {
            let seed = n as u64 + 7 * round;
            system.submit_read(Read::new(address, length, Sink::Pattern { seed }));
        }
        system.run().expect("reads");
    }
    let outcomes = system.take_outcomes();
    assert_eq!(outcomes.len(), 22);
    for outcome in outcomes {
        assert_eq!(outcome.error, None, "{outcome:?}");
        assert!(outcome.mismatch.is_none(), "{outcome:?}");
    }
    system.shutdown(&mut |_| {}).expect("goes down");
}

#[test]
fn data_go_through_dram_and_back() {
    work(dram());
}

#[test]
fn data_go_through_host_memory_and_back() {
    work(host());
}

/// A bridge whose apertures lie elsewhere than what they lead to, one of them behind the end of the
/// address space; and on-board DRAM that does not begin at 0.
#[test]
fn addresses_are_translated_on_their_way_out() {
    let apertures = Outbound {
        doorbells: 0x40_0000_0000_u64.wrapping_neg() + 0x3000,
        memory: 0x20_0000_0000,
    };
    for mut config in [dram(), host()] {
        config.outbound = apertures;
        config.driver.fpga.outbound = apertures;
        work(config);
    }
}

/// Without the offset the doorbells miss the drive, and nothing is ever completed.
#[test]
fn an_aperture_that_nobody_was_told_of() {
    let mut config = dram();
    config.outbound.doorbells = 0x40_0000_0000;
    config.watchdog = 20_000;
    let mut system = crate::common::system(config);
    system.submit_write(Write::pattern(0, 4096, 1));
    let error = system.run().expect_err("the drive is not told");
    assert!(error.to_string().contains("no progress"), "{error}");
}

#[test]
fn too_little_host_memory_is_said_and_given_back() {
    let mut config = host();
    config.host_memory = 100 << 20;
    let mut system = System::new(config, &mut |_| {}).expect("builds");
    for _ in 0..2 {
        let error = system
            .bring_up(&mut |_| {})
            .expect_err("32 segments do not fit");
        let text = error.to_string();
        assert!(
            text.contains("host memory for the payload is 25 segments"),
            "{text}"
        );
        assert!(text.contains("32 segments, 128 MiB"), "{text}");
    }
}

#[test]
fn ports_that_pause_change_nothing() {
    for mut config in [dram(), host()] {
        config.stalls = Stalls::everywhere(Stall::new(0.2, 12));
        work(config);
    }
}

#[test]
fn a_fabric_that_takes_time_changes_nothing() {
    let mut config = host();
    config.profile = crate::common::profile("990pro-2tb");
    work(config);
}

#[test]
fn nine_refreshes_at_once_change_nothing() {
    let mut profile = DramProfile::builtin("ddr4-2400").expect("built in");
    profile.refresh = Refresh::Bunched;
    let mut config = dram();
    config.dram = Some(profile);
    work(config);
}

/// Payload is in all buffer segments, lists lead from one to the next, and the rings begin anew.
#[test]
fn a_transaction_larger_than_the_buffer() {
    let bytes = window::DRAM_BUFFER_BYTES + (5 << 20) + 512;
    let mut system = crate::common::system(host());
    system.submit_write(Write::pattern(4096, bytes, 3));
    system.run().expect("writes");
    system.submit_read(Read::new(4096, bytes, Sink::Pattern { seed: 3 }));
    system.run().expect("reads");
    assert!(
        system
            .take_outcomes()
            .iter()
            .all(|outcome| outcome.is_good())
    );
    // All of the payload crossed the card's link, each way.
    let crossed = |up| {
        let hops = system.fabric().hops().iter();
        let ours = hops.filter(|hop| hop.node == Node::Fpga);
        let way = ours.filter(|hop| (hop.direction == forebay_model::Direction::Up) == up);
        way.map(|hop| hop.payload).sum::<u64>()
    };
    assert!(crossed(true) >= bytes && crossed(false) >= bytes);
}

/// The segments are the host's again once the streamer is shut down.
#[test]
fn host_memory_is_given_back() {
    let mut config = host();
    config.host_memory = 130 << 20;
    let mut system = crate::common::system(config);
    for _ in 0..2 {
        system.submit_write(Write::pattern(0, 1 << 20, 1));
        system.run().expect("writes");
        system.shutdown(&mut |_| {}).expect("goes down");
        crate::common::bring_up(&mut system);
    }
}

#[test]
fn too_little_host_memory_is_said() {
    let mut config = host();
    config.host_memory = 64 << 20;
    let mut system = System::new(config, &mut |_| {}).expect("loads");
    let error = system.bring_up(&mut |_| {}).expect_err("no room");
    assert!(error.to_string().contains("4194304"), "{error}");
}

#[test]
fn a_reset_in_the_middle() {
    for mut config in [dram(), host()] {
        // What the host lent to the life before is lost.
        config.host_memory = 1 << 30;
        let mut system = crate::common::system(config);
        for cycles in [700, 3000, 9000] {
            system.submit_write(Write::pattern(0, 1 << 20, 1));
            system.submit_read(Read::new(1 << 30, 1 << 20, Sink::Discard));
            system.run_cycles(cycles).expect("runs");
            system.reset(16).expect("resets");
            crate::common::bring_up(&mut system);
            system.take_outcomes();
            system.submit_write(Write::pattern(0, 300_000, cycles));
            system.run().expect("writes");
            system.submit_read(Read::new(0, 300_000, Sink::Pattern { seed: cycles }));
            system.run().expect("reads");
            for outcome in system.take_outcomes() {
                assert!(outcome.is_good(), "{outcome:?}");
            }
        }
    }
}

/// Cycles of a write and a read at once with such a memory, and of a write alone; and the share of
/// accesses that found their row open.
fn strain(name: &str, channels: u32, interleave_bytes: Option<u64>) -> (u64, u64, f64) {
    const BYTES: u64 = 8 << 20;
    let profile = DramProfile::builtin(name).expect("built in");
    let profile = profile.with_channels(channels, interleave_bytes);
    let mut config = dram();
    config.dram = Some(profile.expect("can be"));
    config.rtl = config.rtl.parameter("Channels", channels);
    let mut system = crate::common::system(config);
    let mut cycles = [0; 2];
    for (both, cycles) in [true, false].into_iter().zip(&mut cycles) {
        let start = system.cycle();
        system.submit_write(Write::pattern(0, BYTES, 1));
        if both {
            system.submit_read(Read::new(1 << 30, BYTES, Sink::Discard));
        }
        system.run().expect("runs");
        *cycles = system.cycle() - start;
    }
    let done = system.dram_counters().expect("it has DRAM");
    let hits = done.row_hits as f64 / (done.reads + done.writes) as f64;
    (cycles[0], cycles[1], hits)
}

/// On a drive that waits for nothing the memory limits, and a second channel lifts the limit; with
/// one for each direction, the two no longer close each other's rows.
#[test]
fn two_channels_carry_more() {
    for name in ["ddr4-2400", "hbm2-1800"] {
        let one = strain(name, 1, None);
        let alternating = strain(name, 2, Some(4096));
        let separate = strain(name, 2, Some(window::DRAM_BUFFER_BYTES));
        println!("{name}: one {one:?}, alternating {alternating:?}, separate {separate:?}");
        assert!(alternating.0 < one.0 && separate.0 < one.0, "{name}");
        assert!(10 * alternating.1 < 6 * one.1, "{name}");
        assert!(separate.2 >= one.2, "{name}");
        assert!(10 * separate.0 < 9 * one.0, "{name}");
    }
}

/// Where the middle unit has its place for reads: they use it once in [`READ_UNITS`].
const MIDDLE_READ: u64 =
    window::DRAM_BUFFER_BYTES + window::BUFFER_PAGES / 2 * window::DRAM_UNIT_BYTES;
/// Units that reads have while nothing is written.
const READ_UNITS: u64 = window::BUFFER_PAGES - 64;

/// What the memory refuses fails the transaction that it concerns, and no other.
#[test]
fn refused_by_the_memory() {
    const READ: u64 = MIDDLE_READ;
    let place = (5 << 12)..(5 << 12) + 64;
    for (write, start) in [(true, 0), (true, READ), (false, READ)] {
        let mut config = dram();
        config.dram_faults = vec![DramFault {
            write,
            range: start + place.start..start + place.end,
        }];
        let mut system = crate::common::system(config);
        // One unit each.
        for n in 0..4 {
            system.submit_write(Write::pattern(n << 20, 64 << 10, n));
        }
        system.run().expect("writes");
        let failed = failures(&mut system);
        assert_eq!(failed, u32::from(write && start == 0), "{write} {start:#x}");
        for n in 0..READ_UNITS {
            system.submit_read(Read::new((n % 4) << 20, 64 << 10, Sink::Discard));
        }
        system.run().expect("reads");
        // Every unit is used once.
        assert_eq!(
            failures(&mut system),
            u32::from(start == READ),
            "{write} {start:#x}"
        );
        assert!(memory_errors(&mut system) > 0);
    }
}

/// What the memory has lost of a read that failed anyway fails no later read.
#[test]
fn a_failed_read_leaves_nothing_behind() {
    let mut config = dram();
    config.driver.retry_limit = 0;
    // The second of two commands loses its last page, the first one fails.
    let lost = |unit| {
        let end = window::DRAM_BUFFER_BYTES + (unit + 1) * window::DRAM_UNIT_BYTES;
        end - window::PAGE_BYTES..end
    };
    config.dram_faults = (0..window::BUFFER_PAGES)
        .map(|unit| DramFault {
            write: true,
            range: lost(unit),
        })
        .collect();
    config.faults = FaultPlan::none().once(
        Trigger::Opcode(IoOpcode::Read),
        FaultAction::Fail(Status::UNRECOVERED_READ_ERROR),
    );
    let mut system = crate::common::system(config);
    system.submit_write(Write::pattern(0, 128 << 10, 1));
    system.run().expect("a write");
    system.submit_read(Read::new(0, 128 << 10, Sink::Discard));
    system.run().expect("one read fails");
    // Every unit is used once more, and of that one nothing that is lost.
    for n in 0..READ_UNITS {
        system.submit_read(Read::new(n << 12, 4096, Sink::Discard));
    }
    system.run().expect("reads");
    let failed: Vec<_> = system
        .take_outcomes()
        .into_iter()
        .filter(|outcome| !outcome.is_good())
        .collect();
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert!(memory_errors(&mut system) > 0);
}

/// How many transactions the memory let fail; no other does.
fn failures(system: &mut System) -> u32 {
    let outcomes = system.take_outcomes();
    let mut failed = 0;
    for outcome in outcomes.iter().filter(|outcome| outcome.error.is_some()) {
        assert_eq!(outcome.error, Some(UserError::Memory), "{outcome:?}");
        failed += 1;
    }
    failed
}

/// What the SSD reads and the memory refuses is an error of the SSD's.
#[test]
fn refused_to_the_ssd() {
    let mut config = dram();
    config.driver.retry_limit = 0;
    config.dram_faults = vec![DramFault {
        write: false,
        range: 0..64,
    }];
    let mut system = crate::common::system(config);
    system.submit_write(Write::pattern(0, 128 << 10, 1));
    system.submit_write(Write::pattern(1 << 20, 128 << 10, 1));
    system.run().expect("writes");
    let outcomes = system.take_outcomes();
    assert!(
        matches!(outcomes[0].error, Some(UserError::Nvme { .. })),
        "{outcomes:?}"
    );
    assert!(outcomes[1].is_good(), "{outcomes:?}");
    assert!(memory_errors(&mut system) > 0);
}

fn memory_errors(system: &mut System) -> u64 {
    use forebay_driver::Bus;
    let at = forebay_spec::streamer::bar0::CONTROL + regs::memory_errors::OFFSET;
    system
        .bar_read64(forebay_cosim::FPGA, 0, at)
        .expect("reads")
}
