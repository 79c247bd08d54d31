// SPDX-License-Identifier: Apache-2.0
//! An array with parity: every byte in its place and every row even, whichever drive is missing or
//! dies, and wherever the payload is kept.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::common::{profile, room_for, shaken, system};
use forebay_cosim::{
    Config, Drive, Outcome, Payload, Read, Sink, Stall, Stalls, System, Write, rtl,
};
use forebay_driver::{ArrayOptions, Layout};
use forebay_model::{FaultAction, FaultPlan, Trigger};
use forebay_rtl::Source;
use forebay_spec::nvme::Status;
use forebay_spec::store::member::TAIL_BYTES;
use forebay_spec::streamer::UserError;

/// Rows that the tests work on.
const ROWS: u64 = 6;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// RTL beside ideal drives, the last for the parity.
fn beside(source: Source, drives: u8, chunk: u64) -> Config {
    let source = source
        .parameter("Drives", room_for(drives))
        .parameter("ParityPages", 16);
    let mut config = Config::new(source, profile("ideal"));
    let ssd = config.profile.ssd.clone();
    config.more_drives = (1..drives).map(|_| Drive::new(ssd.clone())).collect();
    config.driver.array = Some(ArrayOptions {
        drives,
        stripe_unit: chunk,
        parity: true,
        missing: None,
        linear: false,
    });
    config
}

fn array(drives: u8, chunk: u64) -> Config {
    beside(rtl::onchip(&root(), 16, 256), drives, chunk)
}

fn layout(system: &System) -> Layout {
    system.session().expect("up").facts().layout()
}

fn row(system: &System) -> u64 {
    layout(system).stripe().expect("parity")
}

/// What lies on a drive.
fn image(system: &System, drive: usize, bytes: u64) -> Vec<u8> {
    let medium = system.ssds()[drive].medium();
    medium.read(0, bytes as usize).expect("inside").to_vec()
}

/// Every row on the drives is even, the missing one left out: its chunk is what the others add up to.
fn check_images(system: &System, shadow: &[u8], missing: Option<usize>) {
    let layout = layout(system);
    let bytes = shadow.len() as u64 / (layout.drives() - 1);
    let mut images: Vec<_> = (0..layout.drives() as usize)
        .map(|drive| image(system, drive, bytes))
        .collect();
    let mut sum = vec![0; bytes as usize];
    for (drive, image) in images.iter().enumerate() {
        if Some(drive) != missing {
            sum.iter_mut().zip(image).for_each(|(a, b)| *a ^= b);
        }
    }
    match missing {
        None => assert!(sum.iter().all(|byte| *byte == 0), "a row is odd"),
        Some(drive) => images[drive] = sum,
    }
    let stored: Vec<u8> = layout
        .split(0, shadow.len() as u64)
        .flat_map(|(drive, at, bytes)| images[drive][at as usize..(at + bytes) as usize].to_vec())
        .collect();
    assert!(stored == shadow, "what is stored is not what was written");
}

fn give_up(system: &mut System, drive: u8) {
    let given = system.with_session(|session, bus| session.give_up(bus, drive));
    given.expect("up").expect("there");
}

/// Everything that was submitted, done; none of it bad.
fn all_good(system: &mut System) {
    system.run().unwrap_or_else(|error| panic!("{error}"));
    let outcomes = system.take_outcomes();
    let bad: Vec<&Outcome> = outcomes.iter().filter(|o| !o.is_good()).collect();
    assert!(!outcomes.is_empty() && bad.is_empty(), "{bad:?}");
}

/// Writes every row, in transactions of different lengths, and returns what should be there.
fn write_rows(system: &mut System, seed: u64) -> Vec<u8> {
    let row = row(system);
    let mut number = shaken(seed);
    let mut shadow = vec![0; (row * ROWS) as usize];
    let mut at = 0;
    while at < row * ROWS {
        let rows = (1 + number() % 2).min(ROWS - at / row);
        let data: Vec<u8> = (0..rows * row - number() % row)
            .map(|_| number() as u8)
            .collect();
        shadow[at as usize..][..data.len()].copy_from_slice(&data);
        let mut write = Write::new(at, Payload::from(data));
        write.flush = number().is_multiple_of(2);
        system.submit_write(write);
        at += rows * row;
    }
    shadow
}

/// Reads stretches of all kinds and compares them.
fn read_stretches(system: &mut System, shadow: &[u8], count: u64, seed: u64) {
    let mut number = shaken(seed);
    for n in 0..count {
        let length = match n % 4 {
            0 => 1 + number() % 512,
            1 => 4096,
            _ => 1 + number() % (shadow.len() as u64 / 2),
        };
        let at = number() % ((shadow.len() as u64 - length) / 512 + 1) * 512;
        let data: Arc<[u8]> = shadow[at as usize..(at + length) as usize].into();
        system.submit_read(Read::new(at, length, Sink::Compare(data)));
    }
    system.submit_read(Read::new(
        0,
        shadow.len() as u64,
        Sink::Compare(shadow.into()),
    ));
}

#[test]
fn every_row_is_even() {
    for (drives, chunk, seed) in [(2, 4096, 1), (3, 65536, 2), (4, 8192, 3), (8, 4096, 4)] {
        let mut config = array(drives, chunk);
        config.stalls = Stalls::everywhere(Stall::new(0.1, 6));
        config.seed = seed;
        let mut system = system(config);
        write_rows(&mut system, seed + 10);
        let shadow = write_rows(&mut system, seed);
        all_good(&mut system);
        check_images(&system, &shadow, None);
        read_stretches(&mut system, &shadow, 12, seed);
        all_good(&mut system);
        system.shutdown(&mut |_| {}).expect("shuts down");
    }
}

#[test]
fn a_flush_without_data_goes_to_every_drive_that_is_there() {
    let mut system = system(array(4, 8192));
    for missing in [None, Some(2)] {
        if let Some(drive) = missing {
            give_up(&mut system, drive);
        }
        let before: Vec<u64> = system.ssds().iter().map(|s| s.stats().flushes).collect();
        // Inside a row, where no data may begin.
        system.submit_write(Write::pattern(4096 + 7, 0, 1).flush());
        system.submit_write(Write::pattern(0, 100, 1));
        all_good(&mut system);
        for (drive, ssd) in system.ssds().iter().enumerate() {
            let asked = u64::from(missing.map(usize::from) != Some(drive));
            assert_eq!(ssd.stats().flushes - before[drive], asked, "drive {drive}");
        }
    }
}

#[test]
fn any_drive_may_be_missing_from_the_beginning() {
    for drive in 0..4 {
        let mut config = array(4, 8192);
        config.stalls = Stalls::everywhere(Stall::new(0.1, 6));
        let mut system = system(config);
        give_up(&mut system, drive);
        let shadow = write_rows(&mut system, u64::from(drive));
        all_good(&mut system);
        assert_eq!(system.ssds()[usize::from(drive)].stats().writes, 0);
        check_images(&system, &shadow, Some(drive.into()));
        read_stretches(&mut system, &shadow, 12, 7);
        all_good(&mut system);
        system.shutdown(&mut |_| {}).expect("shuts down");
    }
}

#[test]
fn what_was_written_before_a_drive_went_is_rebuilt() {
    for (drives, chunk) in [(2, 65536), (3, 4096), (5, 16384)] {
        for drive in [0, drives - 2, drives - 1] {
            let mut system = system(array(drives, chunk));
            let shadow = write_rows(&mut system, 5);
            all_good(&mut system);
            give_up(&mut system, drive);
            read_stretches(&mut system, &shadow, 8, 9);
            all_good(&mut system);
            assert_eq!(system.ssds()[usize::from(drive)].stats().reads, 0);
        }
    }
}

#[test]
fn all_three_memories_rebuild() {
    for source in [rtl::dram(&root(), 64), rtl::hostdram(&root(), 64)] {
        let mut system = system(beside(source, 3, 65536));
        let shadow = write_rows(&mut system, 3);
        all_good(&mut system);
        check_images(&system, &shadow, None);
        read_stretches(&mut system, &shadow, 4, 3);
        all_good(&mut system);
        give_up(&mut system, 1);
        read_stretches(&mut system, &shadow, 8, 4);
        all_good(&mut system);
        let shadow = write_rows(&mut system, 4);
        all_good(&mut system);
        check_images(&system, &shadow, Some(1));
    }
}

/// From this logical block on a drive answers nothing.
fn dies_at(block: u64) -> FaultPlan {
    fails_at(block, FaultAction::Drop)
}

fn fails_at(block: u64, action: FaultAction) -> FaultPlan {
    FaultPlan::none().times(Trigger::Lbas(block..1 << 40), action, 1_000_000)
}

#[test]
fn a_drive_that_dies_costs_no_write() {
    let refuses = FaultAction::Fail(Status::WRITE_FAULT);
    for (dead, action) in (0..6).map(|n| (n / 2, [FaultAction::Drop, refuses][n % 2])) {
        let mut config = array(3, 4096);
        config.driver.timeout_cycles = 60_000;
        let mut system = system(config);
        system.ssds_mut()[dead].set_faults(fails_at(3 * 8, action));
        let marked = Arc::new(Mutex::new(Vec::new()));
        let marks = Arc::clone(&marked);
        system.on_loss(move |_, drive| {
            marks.lock().expect("whole").push(usize::from(drive));
            Ok(())
        });
        let shadow = write_rows(&mut system, 6);
        all_good(&mut system);
        check_images(&system, &shadow, Some(dead));
        assert_eq!(*marked.lock().expect("whole"), [dead]);
        read_stretches(&mut system, &shadow, 8, 6);
        all_good(&mut system);
    }
}

#[test]
fn a_read_that_its_drive_dies_in_is_good_when_repeated() {
    for dead in 0..2 {
        let mut config = array(3, 4096);
        config.driver.timeout_cycles = 60_000;
        let mut system = system(config);
        let shadow = write_rows(&mut system, 8);
        all_good(&mut system);
        system.ssds_mut()[dead].set_faults(dies_at(2 * 8));
        read_stretches(&mut system, &shadow, 20, 8);
        system.run().expect("never hangs");
        let outcomes = system.take_outcomes();
        let errors: Vec<_> = outcomes.iter().filter_map(|o| o.error).collect();
        assert!(errors.contains(&UserError::Timeout), "{errors:?}");
        let known = [UserError::Timeout, UserError::Offline];
        assert!(errors.iter().all(|e| known.contains(e)), "{errors:?}");
        // Data that came before an error are good, too.
        assert!(
            outcomes.iter().all(|o| o.mismatch.is_none()),
            "{outcomes:?}"
        );
        read_stretches(&mut system, &shadow, 20, 8);
        all_good(&mut system);
    }
}

#[test]
fn two_that_are_gone_are_one_too_many() {
    let mut system = system(array(4, 4096));
    let shadow = write_rows(&mut system, 2);
    all_good(&mut system);
    give_up(&mut system, 1);
    give_up(&mut system, 3);
    for chunk in 0..3u64 {
        let data: Arc<[u8]> = shadow[chunk as usize * 4096..][..4096].into();
        system.submit_read(Read::new(chunk * 4096, 4096, Sink::Compare(data)));
    }
    system.submit_write(Write::pattern(0, row(&system), 1));
    system.run().expect("runs");
    let mut errors: Vec<_> = (system.take_outcomes().iter())
        .map(|o| (o.address, o.error, o.mismatch.is_some()))
        .collect();
    errors.sort_by_key(|(address, error, _)| (*address, error.is_some()));
    let offline = Some(UserError::Offline);
    assert_eq!(
        errors,
        [
            (0, None, false),
            (0, offline, false),
            (4096, offline, false),
            (8192, None, false),
        ]
    );
}

#[test]
fn a_drive_that_was_given_up_is_not_asked_after_a_recovery() {
    let mut system = system(array(3, 4096));
    write_rows(&mut system, 2);
    all_good(&mut system);
    give_up(&mut system, 0);
    let before = system.ssds()[0].stats().commands;
    // What drive 0 has is old from now on.
    let shadow = write_rows(&mut system, 3);
    all_good(&mut system);
    read_stretches(&mut system, &shadow, 60, 8);
    system.reset(16).expect("resets");
    system.take_outcomes();
    // Those that were not under way are offered while all is brought up, and begin at once.
    system.recover(&mut |_| {}).expect("up");
    assert_eq!(system.session().expect("up").missing(), Some(0));
    all_good(&mut system);
    assert_eq!(system.ssds()[0].stats().commands, before);
}

#[test]
fn of_two_that_were_given_up_the_first_stays_out() {
    let mut system = system(array(4, 4096));
    write_rows(&mut system, 2);
    all_good(&mut system);
    give_up(&mut system, 2);
    // Drive 2 does not get these, and no write says so. Of what drive 0 does not get later each does.
    let shadow = write_rows(&mut system, 3);
    all_good(&mut system);
    give_up(&mut system, 0);
    system.recover(&mut |_| {}).expect("up");
    assert_eq!(system.session().expect("up").missing(), Some(2));
    read_stretches(&mut system, &shadow, 40, 8);
    all_good(&mut system);
}

#[test]
fn a_range_that_cannot_be_read_is_rebuilt_once_its_drive_is_given_up() {
    let mut config = array(3, 4096);
    let fault = FaultAction::Fail(Status::UNRECOVERED_READ_ERROR);
    config.driver.retry_limit = 0;
    let mut system = system(config);
    let shadow = write_rows(&mut system, 2);
    all_good(&mut system);
    system.ssds_mut()[1].set_faults(FaultPlan::none().times(Trigger::Lbas(0..8), fault, 100));
    let first = |system: &mut System| {
        let data: Arc<[u8]> = shadow[..8192].into();
        system.submit_read(Read::new(0, 8192, Sink::Compare(data)));
        system.run().expect("runs");
        system.take_outcomes().remove(0)
    };
    let outcome = first(&mut system);
    assert!(
        matches!(outcome.error, Some(UserError::Nvme { .. })),
        "{outcome:?}"
    );
    assert_eq!((outcome.transferred, outcome.mismatch), (4096, None));
    give_up(&mut system, 1);
    let outcome = first(&mut system);
    assert!(outcome.is_good(), "{outcome:?}");
}

#[test]
fn the_smallest_drive_decides_and_a_row_is_the_block() {
    let mut config = array(3, 65536);
    for namespace in &mut config.more_drives[1].profile.namespaces {
        namespace.bytes = 10 * 65536 + 512 + TAIL_BYTES;
    }
    let mut system = system(config);
    let (row, bytes) = (row(&system), system.session().expect("up").facts().bytes());
    assert_eq!((row, bytes), (2 * 65536, 2 * 10 * 65536));
    let errors = |system: &mut System| {
        system.run().expect("runs");
        let outcomes = system.take_outcomes();
        outcomes.iter().map(|o| o.error).collect::<Vec<_>>()
    };
    for (address, length, error) in [
        (bytes - row, row, None),
        (bytes - row, row + 1, Some(UserError::OutOfRange)),
        (bytes, 1, Some(UserError::OutOfRange)),
        (512, 1, Some(UserError::Misaligned)),
        (row + 65536, row, Some(UserError::Misaligned)),
        (0, 0, Some(UserError::ZeroLength)),
    ] {
        system.submit_write(Write::pattern(address, length, 3));
        assert_eq!(errors(&mut system), [error], "{address} {length}");
    }
    for (address, length, error) in [
        (bytes - 512, 512, None),
        (bytes - 512, 513, Some(UserError::OutOfRange)),
        (0, bytes + 1, Some(UserError::OutOfRange)),
        (7, 1, Some(UserError::Misaligned)),
        (0, 0, Some(UserError::ZeroLength)),
    ] {
        system.submit_read(Read::new(address, length, Sink::Discard));
        assert_eq!(errors(&mut system), [error], "{address} {length}");
    }
}

#[test]
fn what_cannot_have_parity_is_refused_in_words() {
    let refused = |config: Config| {
        let mut system = System::new(config, &mut |_| {}).expect("builds");
        let refused = system.bring_up(&mut |_| {}).expect_err("refused");
        refused.to_string()
    };
    let said = refused(array(2, 131_072));
    assert!(said.contains("131072") && said.contains("65536"), "{said}");
    let mut config = array(2, 65536);
    config.rtl = rtl::onchip(&root(), 16, 256).parameter("Drives", room_for(2));
    let said = refused(config);
    assert!(said.contains("built without parity"), "{said}");
}
