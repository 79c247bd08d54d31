// SPDX-License-Identifier: Apache-2.0
//! Frames keep the wire's pace, both ways.

use super::rig::{Rig, numbered};
use forebay_model::Time;
use forebay_model::net::{
    BYTE, Beat, BeatError, Direction, Flaps, Frame, Frames, Kind, Link, Network, Peer, Settings,
    mac_edge,
};
use proptest::prelude::*;

/// First cycle with an edge at this time or later.
fn cycle_at(time: Time) -> u64 {
    (0..)
        .map(|k| time / 3104 + k)
        .find(|k| mac_edge(*k) >= time)
        .expect("endless")
}

fn settings(metres: u32) -> Settings {
    Settings {
        link: Link { metres },
        ..Settings::default()
    }
}

#[test]
fn the_shortest_frames_come_at_148_8_million_a_second() {
    let count = 20_000;
    let source = Frames::new((0..count).map(|n| numbered(n, 60)));
    let mut rig = Rig::new(settings(3), source);
    rig.finish();
    assert_eq!(rig.got.len(), count as usize);
    for (n, got) in rig.got.iter().enumerate() {
        assert_eq!(got.bytes, numbered(n as u32, 60).bytes());
        // Preamble, frame, check sequence; 84 bytes after the one before; 3 m of cable.
        let end = n as Time * 84 * BYTE + 72 * BYTE + 15_000;
        assert_eq!(got.cycle, cycle_at(end), "frame {n}");
    }
    let span = mac_edge(rig.got[count as usize - 1].cycle - rig.got[0].cycle) as f64 * 1e-12;
    let rate = f64::from(count - 1) / span;
    assert!((rate / 148.8095e6 - 1.0).abs() < 1e-4, "{rate} a second");
}

#[test]
fn a_link_that_goes_down_cuts_a_frame_and_hides_others() {
    let count = 3_000;
    let source = Frames::new((0..count).map(|n| numbered(n, 700)));
    let flaps = Some(Flaps {
        every: 1_000_000,
        down: 150_000,
        seed: 3,
    });
    let settings = Settings {
        flaps,
        ..settings(3)
    };
    let mut network = Network::new(settings.clone(), Box::new(source)).expect("good settings");
    network.begin(0);
    let (mut whole, mut open, mut ends, mut downs, mut was_up) = (0u64, 0u64, 0u64, 0, true);
    for cycle in 0.. {
        let now = mac_edge(cycle);
        let up = network.is_up(now);
        downs += u64::from(was_up && !up);
        was_up = up;
        if !up {
            ends += u64::from(open > 0);
            open = 0;
            assert!(network.receive(now).is_none());
            continue;
        }
        if let Some(beat) = network.receive(now) {
            open = if beat.last { 0 } else { open + 1 };
            whole += u64::from(beat.last);
        } else if network.is_at_end() {
            break;
        }
    }
    let counters = network.counters();
    assert!(downs > 50, "{downs}");
    assert_eq!(
        (counters.cut.frames, counters.delivered.total().frames),
        (ends, whole)
    );
    assert!(counters.down.frames > ends && ends > 20, "{counters:?}");
    let all = ends + whole + counters.down.frames;
    assert_eq!(all, u64::from(count));
    for (every, down) in [(1_000_000, 99_999), (1_000_000, 250_001)] {
        let flaps = Some(Flaps {
            every,
            down,
            seed: 0,
        });
        let settings = Settings {
            flaps,
            ..settings.clone()
        };
        let refused = Network::new(settings, Box::new(Frames::new([])));
        let text = refused.expect_err("cannot be").to_string();
        assert!(text.contains("flaps.down"), "{text}");
    }
}

#[test]
fn what_is_sent_goes_out_at_the_wires_pace() {
    for bytes in [60, 64, 65, 1514, 9014] {
        let mut rig = Rig::new(settings(0), Frames::new([]));
        for n in 0..50 {
            rig.send(numbered(n, bytes).bytes());
        }
        rig.finish();
        rig.steps(1); // the last gap
        let seen = rig.seen.lock().expect("no panic while locked");
        assert_eq!(seen.len(), 50);
        for (n, (at, direction, frame)) in seen.iter().enumerate() {
            assert_eq!((*direction, frame.len()), (Direction::Sent, bytes as u64));
            let end = n as Time * (bytes as Time + 24) * BYTE + (bytes as Time + 12) * BYTE;
            assert_eq!(*at, end, "frame {n} of {bytes} bytes");
            assert_eq!(frame.bytes(), numbered(n as u32, bytes).bytes());
        }
        let counters = rig.network.counters();
        assert_eq!(counters.arrived.of(Kind::Good).frames, 50);
        assert_eq!(counters.transmitted, counters.arrived);
        assert_eq!(counters.underruns, 0);
        assert_eq!(counters.our_wire.busy, 50 * (bytes as Time + 24) * BYTE);
    }
}

#[test]
fn a_short_frame_is_filled() {
    let mut rig = Rig::new(settings(0), Frames::new([]));
    rig.send(&[5; 14]);
    rig.finish();
    let seen = rig.seen.lock().expect("no panic while locked");
    assert_eq!(seen[0].2.bytes()[..14], [5; 14]);
    assert_eq!(seen[0].2.bytes()[14..], [0; 46]);
}

#[test]
fn a_frame_that_starves_arrives_damaged() {
    let mut network = Network::new(settings(0), Box::new(Frames::new([]))).expect("can be");
    network.begin(0);
    let beat = |last| Beat::from_pins(&[9; 64], u64::MAX, last, false).expect("no holes");
    // The wire needs byte 64 after 72 bytes' time: 5.76 ns.
    network.transmit(0, &beat(false)).expect("room");
    network.transmit(5_760, &beat(false)).expect("just in time");
    network
        .transmit(10_881, &beat(false))
        .expect("one picosecond late, and thrown away");
    network
        .transmit(13_000, &beat(true))
        .expect("thrown away, too");
    network
        .transmit(30_000, &beat(true))
        .expect("the next frame");
    assert!(!network.is_at_end());
    assert_eq!(network.next_event(60_000), None);
    assert!(network.is_at_end());
    let counters = network.counters();
    assert_eq!(counters.underruns, 1);
    let broken = counters.arrived.of(Kind::Damaged);
    assert_eq!((broken.frames, broken.bytes), (1, 128));
    assert_eq!(counters.arrived.of(Kind::Good).bytes, 64);
}

#[test]
fn four_beats_wait_in_the_mac() {
    let mut network = Network::new(settings(0), Box::new(Frames::new([]))).expect("can be");
    network.begin(0);
    let beat = Beat::from_pins(&[9; 64], u64::MAX, false, false).expect("no holes");
    for _ in 0..4 {
        assert!(network.ready(0));
        network.transmit(0, &beat).expect("room");
    }
    // The wire takes the first one after the preamble, and another each 64 bytes.
    for taken in [640, 640 + 5_120, 640 + 2 * 5_120] {
        assert!(!network.ready(taken - 1));
        assert!(network.ready(taken));
        network.transmit(taken, &beat).expect("room");
    }
}

#[test]
fn a_reset_breaks_the_open_frame_off() {
    let mut network = Network::new(settings(0), Box::new(Frames::new([]))).expect("can be");
    network.begin(0);
    let beat = |last| Beat::from_pins(&[9; 64], u64::MAX, last, false).expect("no holes");
    network.transmit(0, &beat(false)).expect("room");
    network.reset(3_000);
    network.transmit(6_000, &beat(true)).expect("another frame");
    network.next_event(100_000);
    let counters = network.counters();
    assert_eq!(counters.arrived.of(Kind::Damaged).frames, 1);
    assert_eq!(counters.arrived.of(Kind::Good).frames, 1);
}

#[test]
fn a_beat_that_cannot_be_is_refused_and_changes_nothing() {
    let mut network = Network::new(settings(0), Box::new(Frames::new([]))).expect("can be");
    network.begin(0);
    let mut beat = Beat::from_pins(&[9; 64], 7, false, false).expect("no holes");
    assert_eq!(
        network.transmit(0, &beat),
        Err(BeatError::Partial { bytes: 3 })
    );
    beat.bytes = 65;
    assert_eq!(
        network.transmit(0, &beat),
        Err(BeatError::Bytes { bytes: 65 })
    );
    assert!(network.is_at_end());
    beat.bytes = 64;
    let mut refused = None;
    let mut taken = 0;
    for k in 0..10_000 {
        let now = mac_edge(k);
        if network.ready(now) {
            match network.transmit(now, &beat) {
                Ok(()) => taken += 1,
                Err(error) => {
                    refused = Some(error);
                    break;
                }
            }
        } else {
            assert_eq!(network.transmit(now, &beat), Err(BeatError::NotReady));
        }
    }
    assert_eq!(refused, Some(BeatError::Long { bytes: 65_536 }));
    assert_eq!(taken, 1023);
}

#[test]
fn fragments_are_dropped_by_the_mac() {
    let sizes = [1, 15, 16, 59, 60, 3];
    let frames = sizes.map(|bytes| numbered(1, bytes));
    let mut rig = Rig::new(settings(0), Frames::new(frames));
    rig.finish();
    let lengths: Vec<_> = rig.got.iter().map(|got| got.bytes.len()).collect();
    assert_eq!(lengths, [16, 59, 60]);
    let counters = rig.network.counters();
    assert_eq!(
        (counters.fragments.frames, counters.fragments.bytes),
        (3, 19)
    );
    assert_eq!(counters.delivered.total().frames, 6);
}

#[test]
fn who_does_not_look_in_each_cycle_loses_whole_frames() {
    let source = Frames::new((0..1000).map(|n| numbered(n, 100)));
    let mut network = Network::new(settings(0), Box::new(source)).expect("can be");
    network.begin(0);
    let mut numbers = Vec::new();
    for k in 0..100_000 {
        let Some(beat) = network.receive(mac_edge(k * 9)) else {
            continue;
        };
        if !beat.last {
            numbers.push(u32::from_be_bytes([
                beat.data[0],
                beat.data[1],
                beat.data[2],
                beat.data[3],
            ]));
        }
    }
    assert!(network.is_at_end());
    assert!(numbers.is_sorted_by(|a, b| a < b), "in order, none twice");
    let counters = network.counters();
    assert!(counters.overrun.frames > 100);
    assert_eq!(numbers.len() as u64 + counters.overrun.frames, 1000);
}

fn lengths() -> impl Strategy<Value = Vec<(usize, bool)>> {
    let length = prop_oneof![1usize..200, Just(60), 60usize..9100, Just(65_535)];
    prop::collection::vec((length, any::<bool>()), 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Any frames, over any cable: all come, in order, each in the first cycle that can be, and the
    /// wire's time is the sum of theirs.
    #[test]
    fn any_frames_come_in_time(lengths in lengths(), metres in 0u32..2000) {
        let frames: Vec<Frame> = lengths.iter().enumerate().map(|(n, (bytes, damaged))| {
            let frame = numbered(n as u32, *bytes);
            if *damaged { frame.damage() } else { frame }
        }).collect();
        let mut rig = Rig::new(settings(metres), Frames::new(frames.clone()));
        rig.finish();
        let mut begin = Time::from(metres) * 5000;
        let mut got = rig.got.iter();
        for frame in &frames {
            let end = begin + (frame.len() + 12) * BYTE;
            begin += frame.wire_time();
            if frame.len() < 16 {
                continue;
            }
            let got = got.next().expect("not fewer than were sent");
            prop_assert_eq!(&got.bytes, frame.bytes());
            prop_assert_eq!(got.damaged, frame.is_damaged());
            // The first cycle that can be, or one later where a short one was in its way.
            let first = cycle_at(end);
            prop_assert!((first..=first + 1).contains(&got.cycle), "{} {first}", got.cycle);
        }
        prop_assert_eq!(got.next(), None);
        let counters = rig.network.counters();
        let busy: Time = frames.iter().map(Frame::wire_time).sum();
        prop_assert_eq!(counters.peer_wire.busy, busy);
        prop_assert_eq!(counters.peer_wire.paused, 0);
        prop_assert_eq!(counters.peer_wire.total(), mac_edge(rig.cycle - 1));
        prop_assert_eq!(counters.offered, counters.sent.total());
        prop_assert_eq!(counters.offered, counters.delivered.total());
        prop_assert_eq!(counters.overrun.frames, 0);
    }

    /// We send frames with gaps of any length between: they arrive whole, the wire is never
    /// overtaken, and its time adds up.
    #[test]
    fn what_we_send_arrives(
        frames in prop::collection::vec((1usize..3000, 0u64..200), 1..40),
        metres in 0u32..500,
    ) {
        let mut rig = Rig::new(settings(metres), Frames::new([]));
        for (n, (bytes, gap)) in frames.iter().enumerate() {
            rig.send(numbered(n as u32, *bytes).bytes());
            rig.steps(*gap);
        }
        rig.finish();
        let seen = rig.seen.lock().expect("no panic while locked");
        prop_assert_eq!(seen.len(), frames.len());
        let mut free = 0;
        for (n, ((at, _, frame), (bytes, _))) in seen.iter().zip(&frames).enumerate() {
            let wanted = numbered(n as u32, *bytes);
            prop_assert_eq!(&frame.bytes()[..*bytes], wanted.bytes());
            let begin = at - (frame.len() + 12) * BYTE;
            prop_assert!(begin >= free);
            free = begin + frame.wire_time();
        }
        let counters = rig.network.counters();
        let busy: Time = seen.iter().map(|(_, _, frame)| frame.wire_time()).sum();
        prop_assert_eq!(counters.transmitted, counters.arrived);
        prop_assert_eq!(counters.underruns, 0);
        // The last gap may not be over.
        let wire = counters.our_wire;
        prop_assert!(busy - 12 * BYTE <= wire.busy && wire.busy <= busy);
        prop_assert_eq!(wire.total(), mac_edge(rig.cycle - 1));
    }
}

#[test]
fn settings_that_cannot_be_are_refused() {
    let refused = |settings| {
        let network = Network::new(settings, Box::new(Frames::new([])));
        network.expect_err("cannot be").to_string()
    };
    let text = refused(settings(200_000));
    assert!(
        text.contains("link.metres = 200000, but must be at most 100000"),
        "{text}"
    );
    let text = refused(Settings {
        peer: Peer {
            response: Some(70_000),
        },
        ..Settings::default()
    });
    assert!(text.contains("peer.response = 70000"), "{text}");
    assert!(Frame::new([]).is_err());
    assert!(Frame::new(vec![0; 65_536]).is_err());
    assert_eq!(Frame::new([1]).expect("can be").len(), 60);
}
