// SPDX-License-Identifier: Apache-2.0
//! The drive's model fed as the recorder feeds it, without RTL.

use crate::common::{onchip, profile, shaken, system};
use forebay_cosim::{Direction, Error, Fed, Feed, FeedPace, Read, Reference, Sink, Write};
use forebay_model::{
    FaultAction, FaultPlan, MILLISECOND, Medium, Poison, Profile, SECOND, Trigger,
};
use forebay_spec::nvme::Status;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

fn fed(profile: &Profile, feed: &Feed) -> Fed {
    let mut card = Reference::recorder(profile, 1).expect("made");
    card.bring_up(&mut |_| {}).expect("comes up");
    let mut seen = 0;
    let fed = card
        .feed(feed, &mut |bytes| {
            assert_eq!(bytes, seen + feed.chunk_bytes, "chunk by chunk");
            seen = bytes;
        })
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(seen, fed.bytes);
    fed
}

/// A drive that pauses: 990 PRO, as often and as long as this.
fn pausing(every: u64, length: u64) -> Profile {
    let mut profile = profile("990pro-2tb");
    let write = &mut profile.ssd.timing.as_mut().expect("timed").write;
    (write.pause_every_bytes, write.pause) = (every, length);
    profile
}

fn paced(bytes_per_second: u64, fifo_bytes: u64, chunks: u64) -> Feed {
    Feed {
        pace: Some(FeedPace {
            bytes_per_second,
            fifo_bytes,
        }),
        ..Feed::new(Direction::Write, chunks)
    }
}

/// As the streamer cuts: two pages each as long as the drive is idle, then what is left of the chunk;
/// reads in 32 KiB.
#[test]
fn chunks_become_the_commands_of_the_streamer() {
    let drive = profile("960evo-250");
    for (direction, chunks, commands) in [
        (Direction::Write, 1, 4 + 1),
        (Direction::Write, 8, 4 + 8),
        (Direction::Read, 1, 4),
        (Direction::Read, 8, 32),
    ] {
        let fed = fed(&drive, &Feed::new(direction, chunks));
        assert_eq!(fed.commands, commands, "{direction:?} of {chunks}");
        assert_eq!(fed.bytes, chunks * Feed::CHUNK);
        assert_eq!(fed.last, Some((chunks - 1) * Feed::CHUNK));
        assert_eq!((fed.offered, fed.lost, fed.gaps), (0, 0, 0));
    }
    // A slow source leaves the drive idle: it gets two pages at a time.
    let fed = fed(&drive, &paced(100_000_000, MIB, 2));
    assert_eq!(fed.commands, 2 * 16);
}

/// Every byte of the range is written, none beside it, whatever the size of a chunk.
#[test]
fn all_of_the_range_is_written_and_nothing_else() {
    let drive = profile("ideal");
    for (start, chunk, chunks) in [(0, 16 * KIB, 300), (12 * KIB, 20 * KIB, 200), (MIB, MIB, 9)] {
        let poison = Poison::Medium(0..1);
        let medium = Medium::poisoned(drive.ssd.bytes(), poison.clone());
        let mut card = Reference::new(&drive, Some(medium), 1, 63, 64 * KIB).expect("made");
        card.bring_up(&mut |_| {}).expect("comes up");
        let feed = Feed {
            start,
            chunk_bytes: chunk,
            ..Feed::new(Direction::Write, chunks)
        };
        let fed = card.feed(&feed, &mut |_| {}).expect("runs");
        let end = start + chunk * chunks;
        assert_eq!((fed.bytes, fed.last), (end - start, Some(end - chunk)));
        assert_eq!(card.ssd().stats().bytes_written, end - start);
        let bytes = card
            .ssd()
            .medium()
            .read(0, (end + MIB) as usize)
            .expect("there");
        let mut beside = vec![0; bytes.len()];
        poison.fill(0, &mut beside);
        let (from, to) = (start as usize, end as usize);
        assert!(bytes[from..to].iter().all(|byte| *byte == 0), "{chunk}");
        assert_eq!(bytes[..from], beside[..from], "{chunk}");
        assert_eq!(bytes[to..], beside[to..], "{chunk}");
    }
}

/// With one chunk at a time each waits for the response of the one before.
#[test]
fn no_more_chunks_are_open_than_there_may_be() {
    let drive = profile("990pro-2tb");
    let rate = |outstanding| {
        let feed = Feed {
            outstanding,
            chunk_bytes: 16 * KIB,
            ..Feed::new(Direction::Read, 256)
        };
        fed(&drive, &feed).bytes_per_second()
    };
    // A read of the 990 PRO takes some 35 us: 16 KiB in each.
    let alone = rate(1);
    assert!((0.2e9..0.5e9).contains(&alone), "{alone}");
    let (two, eight) = (rate(2) / alone, rate(8) / alone);
    assert!((1.5..2.05).contains(&two), "{two}");
    // In order: a read that takes longer holds up those behind it.
    assert!((3.0..8.1).contains(&eight), "{eight}");
}

/// RTL moves the same chunks in the same time.
#[test]
fn rtl_takes_as_long() {
    let chunks = 4;
    for direction in [Direction::Write, Direction::Read] {
        let mut config = onchip();
        config.profile = profile("960evo-250");
        let mut system = system(config);
        system.reset_stats();
        for at in (0..chunks).map(|number| number * Feed::CHUNK) {
            match direction {
                Direction::Write => system.submit_write(Write::pattern(at, Feed::CHUNK, 1)),
                Direction::Read => system.submit_read(Read::new(at, Feed::CHUNK, Sink::Discard)),
            };
        }
        system.run().expect("runs");
        let stats = system.stats();
        let cycles = match direction {
            Direction::Write => stats.writes.cycles(),
            Direction::Read => stats.reads.cycles(),
        };
        let rtl = (cycles * forebay_cosim::CLOCK_PERIOD) as f64;
        let feed = Feed {
            clock: forebay_cosim::CLOCK_PERIOD,
            ..Feed::new(direction, chunks)
        };
        let model = fed(&profile("960evo-250"), &feed).duration as f64;
        let ratio = model / rtl;
        assert!((0.95..1.02).contains(&ratio), "{direction:?}: {ratio:.3}");
    }
}

/// The FIFO that a run names holds all; a page less loses, and what is lost is counted.
#[test]
fn the_least_fifo_is_found() {
    let (rate, length) = (2_000_000_000, 3 * MILLISECOND);
    let drive = pausing(20_000_000, length);
    let chunks = 50_000_000 / Feed::CHUNK;
    let found = fed(&drive, &paced(rate, u64::MAX, chunks));
    assert_eq!((found.lost, found.gaps), (0, 0));
    assert_eq!(found.bytes, found.offered);
    // What comes in the pause, less what the streamer takes of it, and a chunk.
    let pause = (u128::from(rate) * u128::from(length) / u128::from(SECOND)) as u64;
    let least = pause - Feed::OUTSTANDING * Feed::CHUNK;
    assert!(
        (least..pause + 2 * Feed::CHUNK).contains(&found.fifo_most),
        "{found:?}"
    );
    assert!(found.longest_wait >= length && found.longest_wait < length + MILLISECOND);
    let enough = fed(&drive, &paced(rate, found.fifo_most, chunks));
    assert_eq!(enough, found);
    for fifo in [found.fifo_most - 1, found.fifo_most / 2] {
        let lossy = fed(&drive, &paced(rate, fifo, chunks));
        assert!(lossy.lost > 0 && lossy.gaps > 0, "{lossy:?}");
        assert_eq!(lossy.offered, lossy.bytes + lossy.lost);
        assert_eq!(lossy.offered, found.offered);
        assert!(lossy.fifo_most <= fifo);
    }
    // Not even a chunk has room.
    let none = fed(&drive, &paced(rate, Feed::CHUNK - 1, 10));
    assert_eq!((none.bytes, none.lost, none.gaps), (0, 10 * Feed::CHUNK, 1));
    assert_eq!(none.last, None);
}

/// The same for pauses, rates and chunks drawn at random.
#[test]
fn no_fifo_is_smaller_than_it_must_be() {
    let full = std::env::var_os("FOREBAY_COUNTS").is_some_and(|counts| counts == "full");
    for seed in 0..if full { 200 } else { 3 } {
        let mut next = shaken(seed);
        let rate = 200_000_000 + next() % 3_000_000_000;
        let every = 4_000_000 + next() % 30_000_000;
        // What a pause leaves waiting is stored before the next one.
        let most = every as f64 * (1.0 / rate as f64 - 1.0 / 5.0e9) * 0.8;
        let length = (most * (next() % 1000) as f64 / 1000.0 * SECOND as f64) as u64;
        let feed = Feed {
            chunk_bytes: (4 + next() % 60) * 4 * KIB,
            outstanding: 2 << (next() % 4),
            ..paced(rate, u64::MAX, 0)
        };
        let chunks = 3 * every / feed.chunk_bytes;
        let with = |fifo_bytes| {
            let pace = FeedPace {
                bytes_per_second: rate,
                fifo_bytes,
            };
            let feed = Feed {
                chunks,
                pace: Some(pace),
                ..feed
            };
            fed(&pausing(every, length), &feed)
        };
        let found = with(u64::MAX);
        assert_eq!(found.lost, 0, "seed {seed}");
        assert_eq!(with(found.fifo_most), found, "seed {seed}");
        for fifo in [found.fifo_most - 1, found.fifo_most / 2] {
            let lossy = with(fifo);
            assert!(lossy.lost > 0 && lossy.gaps > 0, "seed {seed}: {lossy:?}");
            assert_eq!(lossy.offered, lossy.bytes + lossy.lost, "seed {seed}");
        }
    }
}

#[test]
fn what_cannot_be_is_refused_and_failures_end_it() {
    let drive = profile("960evo-250");
    let mut card = Reference::recorder(&drive, 1).expect("made");
    let good = Feed::new(Direction::Write, 4);
    let refused = |card: &mut Reference, feed: &Feed| match card.feed(feed, &mut |_| {}) {
        Err(Error::Setting { field, .. }) => field,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(&mut card, &good), "session");
    card.bring_up(&mut |_| {}).expect("comes up");
    let chunk = |chunk_bytes| Feed {
        chunk_bytes,
        ..good
    };
    for bytes in [0, 12 * KIB, 18 * KIB, MIB + 4 * KIB] {
        assert_eq!(refused(&mut card, &chunk(bytes)), "chunk_bytes");
    }
    // MLE's whole drive has room, a chunk more has not.
    let whole = 1_907_801;
    for (start, chunks) in [
        (0, whole + 1),
        (4 * KIB * 64, whole),
        (0, u64::MAX),
        (512, 1),
    ] {
        let feed = Feed {
            start,
            chunks,
            ..good
        };
        assert_eq!(refused(&mut card, &feed), "chunks");
    }
    for rate in [0, 16_000_000_001] {
        assert_eq!(refused(&mut card, &paced(rate, MIB, 4)), "bytes_per_second");
    }
    let read = Feed {
        direction: Direction::Read,
        ..paced(1_000, MIB, 4)
    };
    assert_eq!(refused(&mut card, &read), "pace");
    assert_eq!(
        refused(
            &mut card,
            &Feed {
                outstanding: 0,
                ..good
            }
        ),
        "outstanding"
    );
    // It is still there, and goes on.
    assert_eq!(
        card.feed(&good, &mut |_| {}).expect("runs").bytes,
        512 * KIB
    );
    let mut card = Reference::recorder(&drive, 1).expect("made");
    card.bring_up(&mut |_| {}).expect("comes up");
    card.set_faults(
        FaultPlan::none().once(Trigger::Nth(2), FaultAction::Fail(Status::WRITE_FAULT)),
    );
    let failed = card.feed(&good, &mut |_| {}).expect_err("the drive failed");
    assert!(failed.to_string().contains("command failed"), "{failed}");
}
