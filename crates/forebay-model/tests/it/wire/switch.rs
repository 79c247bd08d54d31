// SPDX-License-Identifier: Apache-2.0
//! A switch in between: it stores and forwards, pauses locally, and then passes the pressure on.

use super::rig::{Rig, numbered};
use forebay_model::Time;
use forebay_model::net::{
    BYTE, Direction, Flow, Frame, Frames, Impaired, Kind, Link, METRE, Malformed, Network, Peer,
    QUANTUM, Settings, Switch, Thresholds, headroom,
};
use forebay_spec::net::Pause;
use proptest::prelude::*;

const US: [u8; 6] = [2, 0, 0, 0, 0, 2];

fn settings(switch: Switch, response: Option<u32>) -> Settings {
    Settings {
        link: Link { metres: 10 },
        peer: Peer { response },
        switch: Some(switch),
        ..Settings::default()
    }
}

#[test]
fn a_frame_is_stored_before_it_leaves() {
    let switch = Switch {
        link: Link { metres: 200 },
        latency: 7_777,
        ..Switch::default()
    };
    let mut rig = Rig::new(settings(switch, None), Frames::new([numbered(1, 1514)]));
    rig.send(numbered(2, 60).bytes());
    rig.finish();
    let counters = rig.network.counters();
    assert_eq!(counters.arrived.of(Kind::Good).frames, 1);
    let seen = rig.seen.lock().expect("no panic while locked");
    let received = seen.iter().find(|(_, way, _)| *way == Direction::Received);
    // Twice on the wire, through both cables and the switch.
    let end = 2 * (1514 + 12) * BYTE + 210 * METRE + 7_777;
    assert_eq!(received.expect("came").0, end);
}

#[test]
fn full_speed_passes_through() {
    let source = Frames::new((0..5000).map(|n| numbered(n, 60 + (n as usize * 37) % 1400)));
    let mut rig = Rig::new(settings(Switch::default(), Some(394)), source);
    for n in 0..1000 {
        rig.send(numbered(n, 1000).bytes());
    }
    rig.finish();
    assert_eq!(rig.got.len(), 5000);
    for (n, got) in rig.got.iter().enumerate() {
        assert_eq!(got.bytes, numbered(n as u32, 60 + (n * 37) % 1400).bytes());
    }
    let counters = rig.network.counters();
    assert_eq!(counters.arrived.of(Kind::Good).frames, 1000);
    let [ours, theirs] = counters.switch.expect("there is one");
    assert_eq!((ours.xoff, theirs.xoff), (0, 0));
    assert_eq!(theirs.overflow.frames + ours.overflow.frames, 0);
    assert_eq!(ours.passed.frames, 5000);
    assert_eq!(counters.peer_wire.busy, ours.wire.busy);
}

/// Keeps the switch silent for a time, again and again before it is over.
fn silence(rig: &mut Rig, cycles: u64) {
    let until = rig.cycle + cycles;
    while rig.cycle < until {
        rig.send(&Pause::Link(20_000).to_frame(US));
        rig.steps(20_000.min(until - rig.cycle));
    }
    rig.send(&Pause::Link(0).to_frame(US));
}

/// Sends more than the memory holds at a switch that we keep silent.
fn pressed(response: Option<u32>, thresholds: Option<Thresholds>, silent: u64) -> (Rig, u64) {
    let switch = Switch {
        link: Link { metres: 100 },
        buffer_bytes: 400_000,
        thresholds,
        response: Some(0),
        ..Switch::default()
    };
    let count = 3000;
    let source = Frames::new((0..count).map(|n| numbered(n, 1514)));
    let mut rig = Rig::new(settings(switch, response), source);
    rig.steps(3000);
    silence(&mut rig, silent);
    rig.finish();
    (rig, u64::from(count))
}

const HALF: Option<Thresholds> = Some(Thresholds {
    xoff: 200_000,
    xon: 100_000,
});

#[test]
fn pause_is_local_first_and_then_passed_on() {
    // 5000 cycles are 15.5 us, 194 kB: the switch takes them and the link partner does not notice.
    let (rig, count) = pressed(Some(394), HALF, 5_000);
    let counters = rig.network.counters();
    let [ours, theirs] = counters.switch.expect("there is one");
    assert!(ours.pause.xoff > 0 && ours.wire.paused > 0);
    assert!((150_000..200_000).contains(&theirs.most), "{}", theirs.most);
    assert_eq!((theirs.xoff, counters.peer_wire.paused), (0, 0));
    assert_eq!(rig.got.len() as u64, count);

    // 100000 cycles are 310 us, 3.9 MB: the link partner must be silent, too.
    let (rig, count) = pressed(Some(394), HALF, 100_000);
    let counters = rig.network.counters();
    let [ours, theirs] = counters.switch.expect("there is one");
    assert_eq!(
        (theirs.xoff, theirs.xon),
        (2, 1),
        "once, and once more before it is over"
    );
    assert!(counters.peer_wire.paused > 250_000_000);
    let above = theirs.most - 200_000;
    let room = headroom(100, 1500, 394);
    assert!(above <= room && above > room / 2, "{above} of {room}");
    assert_eq!(theirs.overflow.frames, 0);
    assert_eq!(rig.got.len() as u64, count);
    for (n, got) in rig.got.iter().enumerate() {
        assert_eq!(
            got.bytes,
            numbered(n as u32, 1514).bytes(),
            "whole and in order"
        );
    }
    assert!(ours.wire.paused > 300_000_000);
}

#[test]
fn silence_is_taken_back_at_xon() {
    let paused = |xon| {
        let thresholds = Some(Thresholds { xoff: 200_000, xon });
        let (rig, _) = pressed(Some(0), thresholds, 50_000);
        rig.network.counters().peer_wire.paused
    };
    // The memory empties at the wire's pace, in whole frames.
    let longer = paused(10_000) - paused(190_000);
    let expected = 180_000 * BYTE * 1538 / 1518;
    assert!(
        longer.abs_diff(expected) <= 2 * 1538 * BYTE,
        "{longer} {expected}"
    );
}

#[test]
fn what_finds_no_room_is_counted() {
    let cases = [(None, HALF), (Some(394), None)];
    for (response, thresholds) in cases {
        let (rig, count) = pressed(response, thresholds, 100_000);
        let counters = rig.network.counters();
        let [_, theirs] = counters.switch.expect("there is one");
        assert_eq!(counters.peer_wire.paused, 0);
        assert!(theirs.overflow.frames > 1000);
        assert_eq!(theirs.overflow.bytes, theirs.overflow.frames * 1514);
        assert_eq!(rig.got.len() as u64 + theirs.overflow.frames, count);
        assert!(
            (400_000 - 1518..=400_000).contains(&theirs.most),
            "{}",
            theirs.most
        );
    }
}

#[test]
fn a_peer_that_pauses_is_obeyed_by_the_switch_which_pauses_us() {
    let storm = (0..20).map(|_| {
        let frame = Pause::Link(3_000).to_frame([2; 6]);
        Frame::new(frame).expect("can be").of_kind(Kind::Pause)
    });
    let switch = Switch {
        buffer_bytes: 60_000,
        thresholds: Some(Thresholds {
            xoff: 20_000,
            xon: 10_000,
        }),
        response: Some(0),
        ..Switch::default()
    };
    let mut rig = Rig::new(settings(switch, None), Frames::new(storm));
    rig.steps(1000);
    for n in 0..30 {
        rig.send(numbered(n, 1000).bytes());
    }
    rig.finish();
    let counters = rig.network.counters();
    let [ours, theirs] = counters.switch.expect("there is one");
    assert_eq!((theirs.pause.xoff, theirs.reserved.frames), (20, 20));
    assert_eq!(
        counters.delivered.total().frames,
        ours.xoff + ours.xon,
        "the storm ends there"
    );
    assert_eq!((ours.xoff, ours.xon), (1, 1));
    assert_eq!(rig.network.counters().our_pause.xoff, 1);
    assert_eq!(counters.arrived.of(Kind::Good).frames, 30);
    assert!(theirs.wire.paused > 10_000_000 && theirs.wire.paused < 3_000 * QUANTUM + 140_000);
}

#[test]
fn what_is_for_bridges_only_is_not_passed_on() {
    let to = |last: u8| {
        let mut bytes = numbered(0, 100).bytes().to_vec();
        bytes[..6].copy_from_slice(&[1, 0x80, 0xc2, 0, 0, last]);
        Frame::bare(bytes).expect("can be")
    };
    let mut rig = Rig::new(
        settings(Switch::default(), None),
        Frames::new([0, 1, 15, 16].map(to)),
    );
    rig.finish();
    let [_, theirs] = rig.network.counters().switch.expect("there is one");
    assert_eq!(theirs.reserved.frames, 3);
    assert_eq!(rig.got.len(), 1);
    assert_eq!(rig.got[0].bytes[5], 16);
}

#[test]
fn priority_pause_is_passed_on_as_such() {
    let switch = Switch {
        buffer_bytes: 300_000,
        thresholds: Some(Thresholds {
            xoff: 100_000,
            xon: 50_000,
        }),
        ..Switch::default()
    };
    let source = Frames::new((0..2000).map(|n| numbered(n, 1514)));
    let settings = Settings {
        flow: Flow::Class(2),
        ..settings(switch, Some(394))
    };
    let mut rig = Rig::new(settings, source);
    let mut classes = [None; 8];
    classes[2] = Some(30_000);
    rig.send(&Pause::Priority(classes).to_frame(US));
    rig.finish();
    let counters = rig.network.counters();
    assert_eq!((counters.peer_pause.xoff, counters.peer_pause.xon), (1, 1));
    assert_eq!(rig.got.len(), 2000);
}

#[test]
fn a_switch_that_cannot_be_is_refused() {
    let refused = |switch| {
        let made = Network::new(settings(switch, None), Box::new(Frames::new([])));
        made.expect_err("cannot be").to_string()
    };
    let with = |xoff, xon| Switch {
        buffer_bytes: 1000,
        thresholds: Some(Thresholds { xoff, xon }),
        ..Switch::default()
    };
    assert!(refused(with(1001, 1)).contains("switch.thresholds.xoff = 1001, but must be 1 to"));
    assert!(refused(with(0, 0)).contains("switch.thresholds.xoff = 0"));
    assert!(refused(with(500, 500)).contains("switch.thresholds.xon = 500, but must be less than"));
    let far = Switch {
        link: Link { metres: 100_001 },
        ..Switch::default()
    };
    assert!(refused(far).contains("switch.link.metres"));
    let slow = Switch {
        latency: Time::MAX,
        ..Switch::default()
    };
    assert!(refused(slow).contains("switch.latency"));
    let lazy = Switch {
        response: Some(65_536),
        ..Switch::default()
    };
    assert!(refused(lazy).contains("switch.response"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// For any input, link partner and size of the switch: each frame is accounted for once, the
    /// counts of both cables agree, and a second run gives the same.
    #[test]
    fn every_frame_has_an_end(
        seed: u64,
        buffer in 2_000u64..200_000,
        xoff in 1u64..100,
        response in prop::option::of(0u32..500),
        obeys in prop::option::of(0u32..500),
        impairments in 0u32..300_000,
        malformed in 0u32..=600,
        pauses in prop::collection::vec((0u64..6000, 0u16..3000), 0..8),
        metres in 0u32..300,
    ) {
        let xoff = (buffer * xoff / 100).max(1);
        let switch = Switch {
            link: Link { metres },
            buffer_bytes: buffer,
            thresholds: Some(Thresholds { xoff, xon: xoff / 2 }),
            most_bytes: 1600,
            response: obeys,
            ..Switch::default()
        };
        let run = || {
            let good = Frames::new((0..400).map(|n| numbered(n, 60 + (n as usize * 61) % 1450)));
            let source = Impaired::by_chance(good, seed, impairments);
            let source = Malformed::new(source, seed, malformed, 1600).expect("can be");
            let mut rig = Rig::new(settings(switch, response), source);
            for (after, quanta) in &pauses {
                rig.steps(*after);
                rig.send(&Pause::Link(*quanta).to_frame(US));
                rig.send(numbered(7, 700).bytes());
            }
            rig.finish();
            rig
        };
        let rig = run();
        let counters = rig.network.counters();
        let [ours, theirs] = counters.switch.expect("there is one");
        let sent = counters.sent.total();
        prop_assert_eq!(counters.offered, sent);
        prop_assert_eq!(theirs.arrived, sent);
        let refused = theirs.damaged + theirs.runts + theirs.giants + theirs.reserved + theirs.overflow;
        prop_assert_eq!(ours.passed + refused, sent);
        let extra = ours.xoff + ours.xon;
        prop_assert_eq!(counters.delivered.total().frames, ours.passed.frames + extra);
        prop_assert_eq!(rig.got.len() as u64, ours.passed.frames + extra);
        prop_assert!(theirs.most <= buffer && ours.most <= buffer);
        let ended = counters.sent.of(Kind::Good) + counters.sent.of(Kind::Late);
        let broken = counters.sent.of(Kind::Damaged) + counters.sent.of(Kind::Truncated);
        prop_assert!(ended.frames + broken.frames + counters.left_out.frames >= 400);
        let now = forebay_model::net::mac_edge(rig.cycle - 1);
        for wire in [counters.peer_wire, counters.our_wire, ours.wire, theirs.wire] {
            prop_assert_eq!(wire.total(), now);
        }
        let again = run();
        prop_assert_eq!(again.network.counters(), counters);
        prop_assert_eq!(&again.got, &rig.got);
        let seen = rig.seen.lock().expect("no panic while locked");
        prop_assert!(seen.is_sorted_by_key(|(at, _, _)| *at));
    }
}
