// SPDX-License-Identifier: Apache-2.0
//! The recorder without a CPU on a model of a drive: commands that no session of the bench has. The
//! RTL is the one of tests/cli/test_bench_recorder.py: it is built once for both.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use forebay_cosim::root::{
    BEAT, Feed, Hierarchy, Recorder, RecorderConfig, RootConfig, Run, settings,
};
use forebay_cosim::{Drive, Stall};
use forebay_driver::Layout;
use forebay_model::{DramProfile, MICROSECOND, MILLISECOND, Medium, Poison, Profile};
use forebay_seq::boot::Settings;
use forebay_spec::raw::regs::{self, control, status};

const CHUNK: u64 = 128 << 10;
const SEED: u64 = 5;
static ON: AtomicBool = AtomicBool::new(false);

/// A recorder whose drive is ready.
fn ready(stall: Stall) -> Recorder {
    let profile = Profile::builtin("990pro-2tb").expect("profile");
    let mut drive = Drive::new(profile.ssd);
    drive.profile.controller.ready = 200 * MICROSECOND;
    drive.medium = Some(Medium::poisoned(
        drive.profile.bytes(),
        Poison::Medium(0..1),
    ));
    let mut below = RootConfig::new(profile.fabric, vec![drive]);
    below.link_after = Some(50 * MICROSECOND);
    let config = RecorderConfig {
        settings: Settings {
            drives_most: 1,
            reset_us: 100,
            ..settings(64)
        },
        fifo_bytes: 10 << 20,
        dram: DramProfile::builtin("ddr4-2400").expect("DRAM"),
        dram_faults: Vec::new(),
        period: 20_000,
        stall,
        seed: SEED,
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let hierarchy = Hierarchy::new(below).expect("hierarchy");
    let recorder = Recorder::new(&root, config, hierarchy, &mut |_| {});
    let mut recorder = recorder.unwrap_or_else(|error| panic!("{error}"));
    recorder.start(false, false);
    let ended = recorder.run(0, 20 * MILLISECOND, &ON).expect("it runs");
    assert!(
        !ended.ended && !recorder.is_held(),
        "{}",
        recorder.console()
    );
    recorder
}

fn set(recorder: &mut Recorder, registers: &[(u64, u64)]) {
    for (offset, value) in registers {
        recorder.set_raw(*offset, *value).expect("a register");
    }
}

/// Waits until writing has ended, or reading.
fn ends(recorder: &mut Recorder, field: impl Fn(u64) -> u64) {
    let until = recorder.now() + 20 * MILLISECOND;
    let ended = recorder.wait(until, &ON, |status| field(status) == 0);
    assert!(ended.expect("it runs").is_some(), "no end in time");
}

fn steps(recorder: &mut Recorder, cycles: u64) {
    (0..cycles).for_each(|_| recorder.step().expect("it runs"));
}

fn stored(recorder: &mut Recorder, at: u64, bytes: u64) -> Vec<Run> {
    let runs = recorder.stored(SEED, Layout::ONE, at, bytes);
    runs.expect("a medium").all().to_vec()
}

const fn run(from: u64, bytes: u64) -> Run {
    Run {
        from: Some(from),
        bytes,
    }
}

/// A stop that does not wait: zeros fill the chunk, and do not count.
#[test]
fn a_tail_is_flushed() {
    let mut recorder = ready(Stall::new(0.2, 10));
    let at = 3 * CHUNK;
    set(
        &mut recorder,
        &[
            (regs::write_start::OFFSET, at),
            (regs::write_max::OFFSET, at + 16 * CHUNK),
        ],
    );
    recorder.feed(Some(Feed {
        bytes_per_second: Some(1_000_000_000),
        lossy: false,
    }));
    set(&mut recorder, &[(control::OFFSET, control::WRITE.mask())]);
    steps(&mut recorder, 15_000);
    set(
        &mut recorder,
        &[(control::OFFSET, control::FLUSH_TAIL.mask())],
    );
    ends(&mut recorder, |of| status::WRITING.get(of));
    let found = recorder.counters().expect("counters");
    // 300 us, less than the ports pause.
    assert!((150_000..320_000).contains(&found.stored), "{found:?}");
    assert_eq!((found.offered, found.lost), (found.stored, 0));
    let whole = found.stored.next_multiple_of(CHUNK);
    assert_eq!(found.write_last, Some(at + whole - CHUNK));
    let mut runs = stored(&mut recorder, at, whole);
    assert_eq!(runs.remove(0), run(0, found.stored));
    assert!(runs.iter().all(|run| run.from.is_none()), "{runs:?}");
    // The source was held at the end: what stands at the port comes next.
    assert_eq!(recorder.sent(), found.stored);
}

/// In a ring the last chunks stay, each where it belongs; the stream out has them from its start.
#[test]
fn a_ring_keeps_the_last() {
    let mut recorder = ready(Stall::NONE);
    set(
        &mut recorder,
        &[
            (regs::chunk_bytes::OFFSET, CHUNK / 4),
            (regs::write_start::OFFSET, CHUNK),
            (regs::write_max::OFFSET, 2 * CHUNK),
        ],
    );
    recorder.feed(Some(Feed {
        bytes_per_second: None,
        lossy: false,
    }));
    let ring = control::WRITE_RING.mask();
    set(
        &mut recorder,
        &[(control::OFFSET, control::WRITE.mask() | ring)],
    );
    steps(&mut recorder, 20_000);
    set(&mut recorder, &[(control::OFFSET, ring)]);
    ends(&mut recorder, |of| status::WRITING.get(of));
    let found = recorder.counters().expect("counters");
    let laps = recorder.raw(regs::laps::OFFSET).expect("a register");
    assert!(laps >= 2 && laps == found.stored / CHUNK, "{found:?}");
    assert_eq!(recorder.sent(), found.stored);
    // Behind the newest chunk lies the oldest that is left.
    let (end, part) = (found.stored, found.stored % CHUNK);
    let newest = (part > 0).then(|| run(end - part, part));
    let oldest = run(end - CHUNK, CHUNK - part);
    let wanted: Vec<_> = newest.into_iter().chain([oldest]).collect();
    assert_eq!(stored(&mut recorder, CHUNK, CHUNK), wanted);

    recorder.receive(CHUNK / 4, Some(1_000_000_000));
    set(
        &mut recorder,
        &[
            (regs::read_start::OFFSET, CHUNK),
            (regs::read_max::OFFSET, 2 * CHUNK),
            (control::OFFSET, control::READ.mask()),
        ],
    );
    ends(&mut recorder, |of| status::READING.get(of));
    let received = recorder.received();
    assert_eq!(received.runs.all(), wanted);
    assert_eq!((received.chunks, received.misplaced), (4, 0));
    assert_eq!(recorder.stray(), 0);
}

/// What was stored is read while more is written.
#[test]
fn both_at_once() {
    let mut recorder = ready(Stall::NONE);
    recorder.feed(Some(Feed {
        bytes_per_second: None,
        lossy: false,
    }));
    set(
        &mut recorder,
        &[
            (regs::write_max::OFFSET, 4 * CHUNK),
            (control::OFFSET, control::WRITE.mask()),
        ],
    );
    ends(&mut recorder, |of| status::WRITING.get(of));
    set(&mut recorder, &[(control::OFFSET, 0)]);
    recorder.receive(CHUNK, None);
    set(
        &mut recorder,
        &[
            (regs::write_start::OFFSET, 8 * CHUNK),
            (regs::write_max::OFFSET, 12 * CHUNK),
            (regs::read_max::OFFSET, 4 * CHUNK),
            (
                control::OFFSET,
                control::WRITE.mask() | control::READ.mask(),
            ),
        ],
    );
    ends(&mut recorder, |of| {
        status::WRITING.get(of) | status::READING.get(of)
    });
    assert_eq!(recorder.received().runs.all(), [run(0, 4 * CHUNK)]);
    assert_eq!(
        stored(&mut recorder, 8 * CHUNK, 4 * CHUNK),
        [run(4 * CHUNK, 4 * CHUNK)]
    );
    assert_eq!(recorder.sent() % BEAT, 0);
    assert_eq!(recorder.gaps().expect("records"), []);
}
