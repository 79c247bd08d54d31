// SPDX-License-Identifier: Apache-2.0
//! What is put between a generator and the wire: rates, impairments, malformed frames.

use super::rig::{Rig, numbered};
use forebay_model::net::{
    Addresses, BYTE, Direction, Flow, Frame, FrameCounts, Frames, Impaired, Impairment, Kind, Link,
    Malformed, Next, Objects, Paced, Peer, Settings, Source, mac_edge, objects_of,
};
use forebay_model::{MICROSECOND, SECOND, Time};
use forebay_spec::net::{Header, Pause};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv6Addr;

fn settings(response: Option<u32>) -> Settings {
    Settings {
        link: Link { metres: 0 },
        peer: Peer { response },
        ..Settings::default()
    }
}

fn all(mut source: impl Source) -> (Vec<Frame>, FrameCounts) {
    let mut frames = Vec::new();
    loop {
        match source.next(0) {
            Next::Frame(frame) => frames.push(frame),
            Next::End => return (frames, source.left_out()),
            other => panic!("neither a frame nor an end: {other:?}"),
        }
    }
}

fn number(frame: &Frame) -> u32 {
    let first = frame.bytes().first_chunk().expect("four bytes");
    u32::from_be_bytes(*first)
}

proptest! {
    /// Frames of any lengths at any rate: each begins when those before it are over at that rate, or
    /// as soon as the wire is free.
    #[test]
    fn a_rate_is_kept_to_the_picosecond(
        lengths in prop::collection::vec(60usize..3000, 1..60),
        rate in 1_000_000_000u64..=12_500_000_000,
    ) {
        let frames: Vec<_> = lengths.iter().map(|bytes| numbered(0, *bytes)).collect();
        let source = Paced::new(Frames::new(frames.clone()), rate).expect("can be");
        let mut rig = Rig::new(settings(None), source);
        rig.finish();
        let seen = rig.seen.lock().expect("no panic while locked");
        let (mut bytes, mut free) = (0u128, 0);
        for ((at, _, frame), wanted) in seen.iter().zip(&frames) {
            prop_assert_eq!(frame, wanted);
            let due = (bytes * u128::from(SECOND)).div_ceil(u128::from(rate)) as Time;
            let begin = at - (frame.len() + 12) * BYTE;
            prop_assert_eq!(begin, due.max(free));
            bytes += u128::from(frame.len()) + 24;
            free = begin + frame.wire_time();
        }
        prop_assert_eq!(seen.len(), frames.len());
    }

    #[test]
    fn what_is_lost_and_what_comes_is_what_there_was(seed: u64, per_million in 0u32..1_000_000) {
        let count = 400;
        let good: Vec<_> = (0..count).map(|n| numbered(n, 100)).collect();
        let source = Impaired::by_chance(Frames::new(good.clone()), seed, per_million);
        let (frames, lost) = all(source);
        let of = |kind| frames.iter().filter(move |frame| frame.kind() == kind);
        let came = frames.len() - of(Kind::Duplicate).count();
        prop_assert_eq!(came as u64 + lost.frames, u64::from(count));
        prop_assert_eq!(lost.bytes, lost.frames * 100);
        let numbers: Vec<_> = of(Kind::Good).map(number).collect();
        prop_assert!(numbers.is_sorted_by(|a, b| a < b));
        let mut highest = 0;
        for frame in &frames {
            match frame.kind() {
                Kind::Good | Kind::Late | Kind::Duplicate => {
                    prop_assert_eq!(frame, &good[number(frame) as usize].clone().of_kind(frame.kind()));
                    prop_assert!(!frame.is_damaged());
                    if frame.kind() != Kind::Good {
                        prop_assert!(highest - number(frame).min(highest) <= 71 * 4);
                    }
                    highest = highest.max(number(frame));
                }
                Kind::Damaged => {
                    prop_assert!(frame.is_damaged());
                    let fine = good.iter().any(|good| {
                        let mut bytes = good.bytes().iter().zip(frame.bytes());
                        frame.len() == 100 && bytes.by_ref().filter(|(a, b)| a != b).count() == 1
                    });
                    prop_assert!(fine, "one byte differs");
                }
                Kind::Truncated => {
                    prop_assert!(frame.is_damaged());
                    prop_assert!(good.iter().any(|good| good.bytes().starts_with(frame.bytes())));
                }
                other => prop_assert!(false, "{:?}", other),
            }
        }
    }

    /// Malformed frames of all kinds around objects: the good frames all come, in order; each
    /// malformed one is what its kind says; the counters agree with what was seen; and the same seed makes the same.
    #[test]
    fn malformed_frames_are_between_good_frames_only(
        seed: u64,
        per_thousand in 0u32..=1000,
        raw: bool,
        tag in prop::option::of(0u16..4096),
        by_class: bool,
    ) {
        let limit = 1600;
        let flow = if by_class { Flow::Class(5) } else { Flow::Link };
        let addresses = Addresses { raw, tag, ..Addresses::default() };
        let objects = || Objects::new(addresses, 1500, objects_of(30, 5000, seed)).expect("can be");
        let source = || {
            let malformed = Malformed::new(objects(), seed, per_thousand, limit).expect("can be");
            malformed.with_flow(flow)
        };
        let (good, _) = all(objects());
        let mut rig = Rig::new(Settings { flow, ..settings(Some(100)) }, source());
        rig.finish();
        let seen = rig.seen.lock().expect("no panic while locked");
        let frames: Vec<_> = seen.iter().map(|(_, way, frame)| {
            assert_eq!(*way, Direction::Received);
            frame.clone()
        }).collect();
        prop_assert_eq!(&all(source()).0, &frames);
        let fine = frames.iter().filter(|frame| frame.kind() == Kind::Good);
        prop_assert!(fine.eq(&good));
        let mut kinds: BTreeMap<&str, FrameCounts> = BTreeMap::new();
        for frame in &frames {
            let counts = kinds.entry(frame.kind().name()).or_default();
            counts.frames += 1;
            counts.bytes += frame.len();
            check(frame, limit, flow)?;
        }
        let counters = rig.network.counters();
        for kind in Kind::ALL {
            let seen = kinds.get(kind.name()).copied().unwrap_or_default();
            prop_assert_eq!(counters.sent.of(kind), seen);
            prop_assert_eq!(counters.delivered.of(kind), seen);
        }
        let short = frames.iter().filter(|frame| frame.len() < 16).count();
        prop_assert_eq!(counters.fragments.frames, short as u64);
        prop_assert_eq!(rig.got.len() + short, frames.len());
        let pauses = counters.our_pause;
        prop_assert_eq!(pauses.xoff + pauses.xon, counters.sent.of(Kind::Pause).frames);
    }
}

fn check(frame: &Frame, limit: u64, flow: Flow) -> Result<(), TestCaseError> {
    let bytes = frame.len();
    let damaged = matches!(frame.kind(), Kind::Damaged | Kind::Truncated);
    prop_assert_eq!(frame.is_damaged(), damaged);
    match frame.kind() {
        Kind::Runt => prop_assert!(bytes < 60),
        Kind::Giant => prop_assert!(bytes > limit),
        Kind::Truncated => prop_assert!(bytes <= 1518),
        Kind::Pause => {
            let pause = Pause::from_frame(frame.bytes());
            let right = match flow {
                Flow::Link => matches!(pause, Some(Pause::Link(_))),
                Flow::Class(class) => matches!(
                    pause,
                    Some(Pause::Priority(classes)) if classes[usize::from(class)].is_some()
                ),
            };
            prop_assert!(right, "{pause:?}");
        }
        _ => prop_assert!((60..=limit).contains(&bytes)),
    }
    Ok(())
}

#[test]
fn all_kinds_of_malformed_frames_are_made() {
    let good = Frames::new((0..2000).map(|n| numbered(n, 500)));
    let malformed = Malformed::new(good, 3, 1000, 9018).expect("can be");
    let (frames, _) = all(malformed);
    for kind in Kind::ALL {
        let count = frames.iter().filter(|frame| frame.kind() == kind).count();
        match kind {
            Kind::Duplicate | Kind::Late => assert_eq!(count, 0),
            Kind::Good => assert_eq!(count, 2000),
            _ => assert!(count > 200, "{}: {count}", kind.name()),
        }
    }
}

#[test]
fn malformed_frames_can_be_of_one_kind() {
    let good = Frames::new((0..100).map(|n| numbered(n, 500)));
    let malformed = Malformed::new(good, 3, 500, 9018)
        .expect("can be")
        .only(&[Kind::Runt]);
    let (frames, _) = all(malformed);
    let kinds = |kind| frames.iter().filter(|frame| frame.kind() == kind).count();
    assert!(kinds(Kind::Runt) > 20);
    assert_eq!(kinds(Kind::Runt) + 100, frames.len());
}

#[test]
fn impairments_happen_to_the_frames_that_were_named() {
    let plan = vec![
        (1, Impairment::Lose(2)),
        (4, Impairment::Delay(1)),
        (6, Impairment::Repeat(0)),
        (7, Impairment::Repeat(2)),
        (8, Impairment::Damage),
        (8, Impairment::Lose(1)),
        (10, Impairment::Truncate(33)),
        (12, Impairment::Delay(1000)),
    ];
    let good = Frames::new((0..15).map(|n| numbered(n, 100)));
    let (frames, lost) = all(Impaired::new(good, plan).expect("can be"));
    let found: Vec<_> = frames
        .iter()
        .map(|frame| (number(frame), frame.kind()))
        .collect();
    let wanted = [
        (0, Kind::Good),
        (3, Kind::Good),
        (5, Kind::Good),
        (4, Kind::Late),
        (6, Kind::Good),
        (6, Kind::Duplicate),
        (7, Kind::Good),
        (8, Kind::Damaged),
        (9, Kind::Good),
        (7, Kind::Duplicate),
        (10, Kind::Truncated),
        (11, Kind::Good),
        (13, Kind::Good),
        (14, Kind::Good),
        (12, Kind::Late),
    ];
    assert_eq!(found, wanted);
    assert_eq!((lost.frames, lost.bytes), (2, 200));
    assert_eq!(frames[10].len(), 33);
}

#[test]
fn settings_of_sources_that_cannot_be_are_refused() {
    let none = || Frames::new([]);
    let text = Paced::new(none(), 12_500_000_001)
        .expect_err("faster than the wire")
        .to_string();
    assert!(text.contains("1 to 12500000000"), "{text}");
    assert!(Paced::new(none(), 0).is_err());
    assert!(Malformed::new(none(), 0, 0, 59).is_err());
    assert!(Malformed::new(none(), 0, 0, 65_535).is_err());
    assert!(Impaired::new(none(), vec![(0, Impairment::Delay(1025))]).is_err());
    assert!(Impaired::new(none(), vec![(0, Impairment::Repeat(u64::MAX))]).is_err());
}

/// A source that says one thing over and over, a thousand times.
struct Says(Next, u32);

impl Source for Says {
    fn next(&mut self, _: Time) -> Next {
        self.1 += 1;
        if self.1 > 1000 {
            Next::End
        } else {
            self.0.clone()
        }
    }
}

#[test]
fn a_source_that_waits_is_asked_each_microsecond() {
    for next in [Next::Waiting, Next::NotBefore(0)] {
        let mut rig = Rig::new(settings(None), Says(next, 0));
        rig.finish();
        let now = rig.now();
        assert!(
            (1000 * MICROSECOND..1000 * MICROSECOND + 10_000).contains(&now),
            "{now}"
        );
        assert_eq!(rig.network.counters().peer_wire.busy, 0);
    }
}

#[test]
fn time_without_frames_is_idle_and_a_source_is_asked_at_the_time_it_names() {
    struct At(Vec<Time>);
    impl Source for At {
        fn next(&mut self, now: Time) -> Next {
            match self.0.first() {
                None => Next::End,
                Some(at) if *at > now => Next::NotBefore(*at),
                Some(_) => {
                    self.0.remove(0);
                    Next::Frame(numbered(1, 60))
                }
            }
        }
    }
    let mut rig = Rig::new(settings(None), At(vec![10_000, 12_345, 50_000]));
    assert_eq!(rig.network.due(), Some(0), "it is asked");
    rig.step();
    assert_eq!(rig.network.due(), Some(10_000));
    assert_eq!(rig.network.next_event(11_000), Some(10_000 + 72 * BYTE));
    rig.finish();
    assert_eq!(rig.network.due(), None);
    let seen = rig.seen.lock().expect("no panic while locked");
    let begins: Vec<_> = seen.iter().map(|(at, _, _)| at - 72 * BYTE).collect();
    assert_eq!(begins, [10_000, 16_720, 50_000]);
    let wire = rig.network.counters().peer_wire;
    assert_eq!(wire.busy, 3 * 84 * BYTE);
    assert_eq!(wire.idle, mac_edge(rig.cycle - 1) - wire.busy);
}

#[test]
fn a_turned_bit_of_ipv6_is_one_that_a_checksum_guards() {
    let mut addresses = Addresses {
        tag: Some(5),
        ..Addresses::default()
    };
    addresses.to.ip = Ipv6Addr::LOCALHOST.into();
    let objects = Objects::new(addresses, 1500, objects_of(2000, 1000, 1)).expect("can be");
    let malformed = Malformed::new(objects, 1, 1000, 1600)
        .expect("can be")
        .only(&[Kind::Turned]);
    let (frames, _) = all(malformed);
    let mut turned_bytes = BTreeSet::new();
    for pair in frames.as_chunks::<2>().0 {
        let [good, turned] = pair;
        let mut turned = good.bytes().iter().zip(turned.bytes()).enumerate();
        let (at, (a, b)) = turned.find(|(_, (a, b))| a != b).expect("a bit");
        assert!(turned.all(|(_, (a, b))| a == b) && (a ^ b).count_ones() == 1);
        // Behind the tag: of the version the upper half, no flow label, no hop limit.
        assert!(at != 18 || (a ^ b) & 0x0f == 0);
        turned_bytes.insert(at);
    }
    let all: BTreeSet<_> = (0..18 + 40 + 8 + 32).collect();
    let unguarded = BTreeSet::from([19, 20, 21, 25]);
    assert_eq!(turned_bytes, &all - &unguarded);
}

#[test]
fn a_turned_bit_of_a_raw_frame_leaves_our_header_alone() {
    let addresses = Addresses {
        raw: true,
        tag: Some(5),
        ..Addresses::default()
    };
    let objects = Objects::new(addresses, 1500, objects_of(500, 1000, 1)).expect("can be");
    let malformed = Malformed::new(objects, 1, 1000, 1600)
        .expect("can be")
        .only(&[Kind::Turned]);
    let (frames, _) = all(malformed);
    assert_eq!(frames.len(), 1000);
    for pair in frames.as_chunks::<2>().0 {
        let [good, turned] = pair;
        let bits = good
            .bytes()
            .iter()
            .zip(turned.bytes())
            .map(|(a, b)| (a ^ b).count_ones());
        assert_eq!(bits.sum::<u32>(), 1);
        assert_eq!(good.bytes()[18..], turned.bytes()[18..]);
        assert!(Header::split(&turned.bytes()[18..]).is_ok());
    }
}
