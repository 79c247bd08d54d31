// SPDX-License-Identifier: Apache-2.0
//! The link partner obeys pause frames: when, how long, and never within a frame.

use super::rig::{Rig, numbered};
use forebay_model::Time;
use forebay_model::net::{
    BYTE, Direction, Flow, Frames, Kind, Link, METRE, Peer, QUANTUM, Settings,
};
use forebay_spec::net::Pause;
use proptest::prelude::*;

const US: [u8; 6] = [2, 0, 0, 0, 0, 2];

fn settings(metres: u32, response: Option<u32>, flow: Flow) -> Settings {
    Settings {
        link: Link { metres },
        flow,
        peer: Peer { response },
        ..Settings::default()
    }
}

/// When frames passed our MAC on their way to us: first and last bit at the link partner.
fn sent_by_peer(rig: &Rig, metres: u32) -> Vec<(Time, Time)> {
    let seen = rig.seen.lock().expect("no panic while locked");
    let received = seen
        .iter()
        .filter(|(_, way, _)| *way == Direction::Received);
    received
        .map(|(at, _, frame)| {
            let end = at - Time::from(metres) * METRE;
            (end - (frame.len() + 12) * BYTE, end + 12 * BYTE)
        })
        .collect()
}

/// When pause frames of ours begin to count at the link partner.
fn counting(rig: &Rig, metres: u32, response: u32) -> Vec<(Time, u16)> {
    let seen = rig.seen.lock().expect("no panic while locked");
    let ours = seen.iter().filter(|(_, way, _)| *way == Direction::Sent);
    ours.filter_map(|(at, _, frame)| {
        let quanta = match Pause::from_frame(frame.bytes())? {
            Pause::Link(quanta) => quanta,
            Pause::Priority(classes) => classes[3]?,
        };
        let at = at + Time::from(metres) * METRE + Time::from(response) * QUANTUM;
        Some((at, quanta))
    })
    .collect()
}

/// Spans in which the link partner may begin no frame.
fn silences(counting: &[(Time, u16)]) -> Vec<(Time, Time)> {
    let ends = counting
        .iter()
        .skip(1)
        .map(|(at, _)| *at)
        .chain([Time::MAX]);
    let spans = counting.iter().zip(ends);
    spans
        .map(|(&(at, quanta), next)| (at, next.min(at + Time::from(quanta) * QUANTUM)))
        .filter(|(from, to)| from < to)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any pauses at any times: no frame begins in a silence, none is cut, and the wire is never
    /// idle where it need not be.
    #[test]
    fn the_peer_is_silent_when_it_must_be_and_only_then(
        pauses in prop::collection::vec((0u64..4000, prop_oneof![Just(0u16), 0u16..900]), 0..12),
        bytes in 60usize..3000,
        metres in 0u32..400,
        response in 0u32..400,
        by_class: bool,
    ) {
        let flow = if by_class { Flow::Class(3) } else { Flow::Link };
        let source = Frames::new((0..300).map(move |n| numbered(n, bytes)));
        let mut rig = Rig::new(settings(metres, Some(response), flow), source);
        for (after, quanta) in &pauses {
            rig.steps(*after);
            let mut classes = [None; 8];
            classes[3] = Some(*quanta);
            let pause = if by_class { Pause::Priority(classes) } else { Pause::Link(*quanta) };
            rig.send(&pause.to_frame(US));
        }
        rig.finish();
        prop_assert_eq!(rig.got.len(), 300);
        for (n, got) in rig.got.iter().enumerate() {
            let frame = numbered(n as u32, bytes);
            prop_assert_eq!(&got.bytes, frame.bytes(), "whole and in order");
        }
        let counting = counting(&rig, metres, response);
        prop_assert_eq!(counting.len(), pauses.len());
        let silences = silences(&counting);
        let mut free = 0;
        let mut paused = 0;
        for (begin, end) in sent_by_peer(&rig, metres) {
            // As soon as the wire was free, and behind each silence that this fell into.
            let mut earliest = free;
            for (from, to) in &silences {
                if (*from..*to).contains(&earliest) {
                    earliest = *to;
                }
            }
            prop_assert_eq!(begin, earliest);
            paused += begin - free;
            free = end;
        }
        let counters = rig.network.counters();
        prop_assert_eq!(counters.peer_wire.paused, paused);
        let now = forebay_model::net::mac_edge(rig.cycle - 1);
        let silence: Time = silences.iter().map(|(from, to)| (*to).min(now).saturating_sub(*from)).sum();
        prop_assert_eq!(counters.peer_pause.silence, silence);
        let xon = pauses.iter().filter(|(_, quanta)| *quanta == 0).count() as u64;
        prop_assert_eq!(counters.peer_pause.xon, xon);
        prop_assert_eq!(counters.peer_pause.xoff, pauses.len() as u64 - xon);
        prop_assert_eq!(counters.transmitted.of(Kind::Pause).frames, pauses.len() as u64);
    }
}

#[test]
fn bytes_after_a_pause_frame_stay_within_the_response_and_a_frame() {
    for response in [0, 1, 100, 394, 1000] {
        let source = Frames::new((0..2000).map(|n| numbered(n, 1514)));
        let mut rig = Rig::new(settings(100, Some(response), Flow::Link), source);
        rig.steps(1000);
        rig.send(&Pause::Link(65_535).to_frame(US));
        rig.steps(90_000);
        let after: u64 = {
            let seen = rig.seen.lock().expect("no panic while locked");
            let ours = seen.iter().find(|(_, way, _)| *way == Direction::Sent);
            let decided = ours.expect("sent").0 - 72 * BYTE;
            let seen = seen
                .iter()
                .filter(|(at, way, _)| *way == Direction::Received && *at > decided);
            seen.map(|(_, _, frame)| frame.len() + 24).sum()
        };
        // Both ways of the cable, the pause frame, the quanta, and a frame at each end.
        let most = 2 * 6250 + 84 + u64::from(response) * 64 + 2 * 1538;
        assert!(
            (most - 2 * 1538..=most).contains(&after),
            "{response}: {after} of {most}"
        );
    }
}

#[test]
fn who_ignores_pause_goes_on() {
    let source = Frames::new((0..500).map(|n| numbered(n, 1000)));
    let mut rig = Rig::new(settings(3, None, Flow::Link), source);
    rig.send(&Pause::Link(65_535).to_frame(US));
    rig.finish();
    let counters = rig.network.counters();
    assert_eq!(counters.peer_wire.busy, 500 * 1024 * BYTE);
    assert_eq!(counters.peer_wire.paused, 0);
    assert_eq!(
        (counters.peer_pause.xoff, counters.peer_pause.silence),
        (1, 0)
    );
}

#[test]
fn the_other_kind_of_pause_and_other_classes_are_not_obeyed() {
    let mut classes = [Some(65_535); 8];
    classes[3] = None;
    let cases = [
        (Flow::Link, Pause::Priority([Some(65_535); 8])),
        (Flow::Class(3), Pause::Link(65_535)),
        (Flow::Class(3), Pause::Priority(classes)),
    ];
    for (flow, pause) in cases {
        let source = Frames::new((0..100).map(|n| numbered(n, 1000)));
        let mut rig = Rig::new(settings(3, Some(0), flow), source);
        rig.send(&pause.to_frame(US));
        rig.finish();
        let counters = rig.network.counters();
        assert_eq!(counters.peer_pause.foreign, 1);
        assert_eq!(counters.peer_wire.paused, 0);
    }
}

#[test]
fn a_peer_that_pauses_us_is_counted() {
    let pause = |quanta| {
        let frame = Pause::Link(quanta).to_frame([2; 6]);
        forebay_model::net::Frame::new(frame)
            .expect("can be")
            .of_kind(Kind::Pause)
    };
    let source = Frames::new([pause(100), pause(0), pause(2)]);
    let mut rig = Rig::new(settings(0, Some(0), Flow::Link), source);
    rig.finish();
    rig.steps(100);
    let counters = rig.network.counters();
    assert_eq!((counters.our_pause.xoff, counters.our_pause.xon), (2, 1));
    // 84 bytes between the first two; then the third runs out.
    assert_eq!(counters.our_pause.silence, 84 * BYTE + 2 * QUANTUM);
    assert_eq!(counters.our_wire.paused, counters.our_pause.silence);
    assert_eq!(rig.got.len(), 3, "they are handed over");
}
