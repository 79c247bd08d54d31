// SPDX-License-Identifier: Apache-2.0
//! Drive and streamer compare bytes: the RTL's data window as the peer of the SSD model.

#[path = "../../../forebay-driver/tests/it/support/bent.rs"]
mod bent;

use crate::common::{onchip, shaken};
use bent::{Bend, Bent};
use forebay_cosim::{Config, FPGA, System};
use forebay_driver::peer::{self, Memory, Method, Report, Settings, Way};
use forebay_driver::{Bus, FpgaPlace, Options, QueuePlacement, bring_up};
use forebay_model::{Fault, FaultAction, FaultPlan, Medium, Trigger};
use forebay_spec::nvme::{IoOpcode, Status};
use forebay_spec::streamer::bar0;

const MEDIUM: u64 = 1 << 20;
const SCRATCH: u64 = 100;

/// A drive whose blocks all differ, or are all zero.
fn start(random: bool) -> System {
    started(onchip(), random)
}

fn started(mut config: Config, random: bool) -> System {
    let mut medium = Medium::in_memory(config.profile.ssd.bytes());
    if random {
        let mut number = shaken(3);
        let bytes: Vec<u8> = (0..MEDIUM).map(|_| number() as u8).collect();
        medium.write(0, &bytes).expect("written");
    }
    config.medium = Some(medium);
    System::new(config, &mut |_| {}).unwrap_or_else(|error| panic!("{error}"))
}

fn stored(system: &System) -> Box<[u8]> {
    let medium = system.ssd().medium();
    medium.read(0, MEDIUM as usize).expect("readable")
}

fn check(bus: &mut dyn Bus, settings: &Settings) -> Report {
    let memory = Memory::of_streamer(bus, FPGA, &FpgaPlace::default()).expect("a streamer");
    assert_eq!((memory.offset, memory.bytes), (bar0::DATA, 4 << 20));
    let options = Options {
        placement: QueuePlacement::Host,
        queue_entries: 16,
        ..Options::default()
    };
    let mut session = bring_up(bus, &options).unwrap_or_else(|failure| panic!("{failure}"));
    let report = peer::check(bus, &mut session, &memory, settings).expect("can be made");
    session.shutdown(bus).expect("shuts down");
    for test in &report.tests {
        println!("{test:?}");
    }
    report
}

fn settings(largest: u64) -> Settings {
    Settings {
        largest,
        ..Settings::default()
    }
}

#[test]
fn bytes_are_the_same_in_both_directions() {
    let mut system = start(true);
    let before = stored(&system);
    let report = check(&mut system, &settings(u64::MAX));
    assert!(report.is_good());
    let count = |method| {
        let tests = report.tests.iter();
        tests.filter(|test| test.method == method).count()
    };
    assert_eq!(count(Method::Read), count(Method::Compare));
    assert_eq!(count(Method::Compare), count(Method::CompareChanged));
    assert_eq!((count(Method::List), count(Method::Write)), (1, 0));
    let (compared, different) = report.bytes(Way::DriveToPeer);
    assert!(compared > 1 << 20, "up to the greatest command: {compared}");
    assert_eq!(different, 0);
    assert!(report.distinct_words > report.words / 2);
    assert!(stored(&system) == before, "the medium was written");
    assert_eq!(system.ssd().stats().bytes_written, 0);
}

#[test]
fn a_scratch_place_is_written_and_restored() {
    let mut system = start(true);
    let before = stored(&system);
    let scratch = Settings {
        scratch: Some(SCRATCH),
        ..settings(32 << 10)
    };
    let report = check(&mut system, &scratch);
    assert!(report.is_good());
    let written = report
        .tests
        .iter()
        .filter(|test| test.method == Method::Write);
    assert_eq!(written.count(), 4, "a block, 4 KiB, 8 KiB, 32 KiB");
    assert!(system.ssd().stats().bytes_written > 64 << 10);
    assert!(stored(&system) == before, "the medium is not as before");
}

#[test]
fn writes_that_fail_lose_nothing() {
    let mut config = onchip();
    config.faults = FaultPlan {
        faults: vec![Fault {
            trigger: Trigger::Opcode(IoOpcode::Write),
            action: FaultAction::Fail(Status::WRITE_FAULT),
            times: u32::MAX,
        }],
        ..FaultPlan::none()
    };
    let mut system = started(config, true);
    let before = stored(&system);
    let scratch = Settings {
        scratch: Some(SCRATCH),
        ..settings(4096)
    };
    let report = check(&mut system, &scratch);
    assert_eq!(report.way(Way::PeerToDrive), Some(false));
    let failed = report.tests.iter().filter(|test| !test.good);
    assert!(failed.clone().all(|test| test.method == Method::Write));
    assert!(failed.clone().all(|test| test.different > test.bytes / 2));
    assert_eq!(failed.count(), 2);
    assert!(stored(&system) == before, "the medium is not as before");
}

#[test]
fn a_drive_without_compare_still_reads_lists() {
    for (guarded, expected) in [(true, Some(true)), (false, None)] {
        let mut system = start(true);
        let mut bus = Bent {
            bus: &mut system,
            device: FPGA,
            bar: 0,
            bend: Bend::NoCompare,
        };
        let settings = Settings {
            guarded,
            ..settings(4096)
        };
        let report = check(&mut bus, &settings);
        assert_eq!(report.way(Way::DriveToPeer), Some(true));
        // Without an IOMMU the list's entries could lead anywhere: it is left out.
        assert_eq!(report.way(Way::PeerToDrive), expected);
        assert_eq!(report.is_good(), guarded);
        let left_out = if guarded { 1 } else { 2 };
        assert_eq!(report.left_out.len(), left_out, "{:?}", report.left_out);
    }
}

#[test]
fn what_the_peer_held_is_put_back() {
    let mut system = start(false);
    let settings = settings(4096);
    check(&mut system, &settings);
    let mut word = |value: Option<u64>| match value {
        Some(value) => system
            .bar_write64(FPGA, 0, bar0::DATA + 8, value)
            .map(|()| 0),
        None => system.bar_read64(FPGA, 0, bar0::DATA + 8),
    };
    word(Some(0x1234_5678_9abc_def0)).expect("written");
    let report = check(&mut system, &settings);
    assert!(report.is_good());
    // All the same, so that only the list's choice of pages tells anything about order.
    assert_eq!(report.distinct_words, 1);
    let value = system.bar_read64(FPGA, 0, bar0::DATA + 8).expect("read");
    assert_eq!(value, 0x1234_5678_9abc_def0);
}

#[test]
fn a_peer_that_misbehaves_is_noticed() {
    let ways = [Way::HostAndPeer, Way::DriveToPeer, Way::PeerToDrive];
    for random in [true, false] {
        for (bend, expected) in [
            // To another page of the peer's own memory, to its registers, to no device.
            (Bend::Elsewhere(4096), [true, false, false]),
            (Bend::Elsewhere(4 << 20), [true, false, false]),
            (Bend::Elsewhere(1 << 38), [true, false, false]),
            // One bit of a byte in the first block, as the drive sees it.
            (Bend::Damaged(bar0::DATA + 256), [true, false, false]),
            // The processor's matter alone: what the drive writes arrives.
            (Bend::Stuck(bar0::DATA + 256), [false, true, true]),
        ] {
            let mut system = start(random);
            let before = stored(&system);
            let mut bus = Bent {
                bus: &mut system,
                device: FPGA,
                bar: 0,
                bend,
            };
            let report = check(&mut bus, &settings(8192));
            let seen = ways.map(|way| report.way(way) == Some(true));
            assert_eq!(seen, expected, "{bend:?}, random content: {random}");
            assert!(!report.is_good());
            // From a peer that is read wrongly no list is taken.
            let left_out = usize::from(!expected[2]);
            assert_eq!(report.left_out.len(), left_out, "{:?}", report.left_out);
            let of = |method| {
                let test = report.tests.iter().find(|test| test.method == method);
                test.map(|test| (test.different, test.first_difference))
            };
            let (read, compare) = match bend {
                // The drive finds what it has put there itself; one changed byte gives it away.
                Bend::Elsewhere(4096) => ((512, Some(0)), (0, None)),
                Bend::Elsewhere(_) => ((512, Some(0)), (512, Some(0))),
                Bend::Damaged(_) => ((1, Some(261)), (512, Some(0))),
                Bend::Stuck(_) | Bend::NoCompare => ((0, None), (0, None)),
            };
            assert_eq!(of(Method::Read), Some(read), "{bend:?}");
            if random {
                assert_eq!(of(Method::Compare), Some(compare), "{bend:?}");
            }
            assert!(stored(&system) == before, "the medium was written");
        }
    }
}
