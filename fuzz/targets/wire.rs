// SPDX-License-Identifier: Apache-2.0
//! Any frames from the peer and any beats from us, through any network: it comes to its end, and each
//! frame is accounted for once.
#![no_main]

use forebay_model::Time;
use forebay_model::net::{
    Beat, Flow, Frame, Frames, Impaired, Link, Malformed, Network, Next, Peer, Settings, Source,
    Switch, Thresholds, mac_edge,
};
use libfuzzer_sys::fuzz_target;

/// Cycles after which a network must have come to rest: a frame of the most bytes for each byte of
/// input, and the longest pause each.
const MOST_CYCLES: u64 = 200_000;

/// Frames, times and silence, as bytes say.
struct Script(Vec<u8>);

impl Source for Script {
    fn next(&mut self, now: Time) -> Next {
        let Some(what) = self.0.pop() else {
            return Next::End;
        };
        match what % 8 {
            0 => Next::Waiting,
            1 => Next::NotBefore(now.wrapping_add(u64::from(what) << 8)),
            2 => Next::NotBefore(u64::from(what)),
            _ => {
                let left = self.0.len().saturating_sub(usize::from(what));
                let bytes = self.0.split_off(left);
                match Frame::bare(bytes) {
                    Ok(frame) if what % 8 == 3 => Next::Frame(frame.damage()),
                    Ok(frame) => Next::Frame(frame),
                    Err(_) => Next::Waiting,
                }
            }
        }
    }
}

fn settings(head: &[u8; 8]) -> Settings {
    let quanta = |byte: u8| (byte != 255).then(|| u32::from(byte) * 4);
    let xoff = 1 + u64::from(head[5]) * 64;
    Settings {
        link: Link {
            metres: head[1].into(),
        },
        flow: if head[0] & 1 != 0 {
            Flow::Class(head[0] >> 5)
        } else {
            Flow::Link
        },
        peer: Peer {
            response: quanta(head[2]),
        },
        switch: (head[0] & 2 != 0).then(|| Switch {
            link: Link {
                metres: head[3].into(),
            },
            buffer_bytes: xoff + u64::from(head[4]) * 16,
            thresholds: (head[0] & 4 != 0).then_some(Thresholds {
                xoff,
                xon: xoff / 2,
            }),
            latency: u64::from(head[6]) * 1000,
            most_bytes: 1518,
            response: quanta(head[7]),
        }),
        ..Settings::default()
    }
}

fn source(head: &[u8; 8], script: &[u8]) -> Box<dyn Source> {
    let seed = u64::from_le_bytes(*head);
    let script = Script(script.to_vec());
    if head[0] & 8 == 0 {
        return Box::new(script);
    }
    let impaired = Impaired::by_chance(script, seed, u32::from(head[6]) * 4000);
    match Malformed::new(impaired, seed, u32::from(head[7]) * 4, 1518) {
        Ok(malformed) => Box::new(malformed),
        Err(_) => Box::new(Frames::new([])),
    }
}

/// A beat as pins may say it.
fn send(network: &mut Network, now: Time, record: &[u8; 4]) {
    let [a, b, c, d] = *record;
    let keep = match a % 4 {
        0 => u64::from(b) << (c % 64),
        1 => u64::MAX,
        _ => u64::MAX >> (b % 64),
    };
    let mut data = [d; 64];
    if c & 1 != 0 {
        // Nearly a pause frame.
        data[..18].copy_from_slice(&[
            1,
            0x80,
            0xc2,
            0,
            0,
            1,
            2,
            0,
            0,
            0,
            0,
            2,
            0x88,
            0x08,
            d & 1,
            1,
            b,
            c,
        ]);
    }
    if let Ok(beat) = Beat::from_pins(&data, keep, c & 2 != 0, c & 4 != 0) {
        let _ = network.transmit(now, &beat);
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((head, data)) = data.split_first_chunk::<8>() else {
        return;
    };
    let (script, ours) = data.split_at(data.len() / 2);
    let Ok(mut network) = Network::new(settings(head), source(head, script)) else {
        panic!("settings that can be");
    };
    network.begin(0);
    let (mut cycle, mut handed) = (0, 0);
    let mut ours = ours.as_chunks::<4>().0.iter();
    while cycle < MOST_CYCLES {
        let now = mac_edge(cycle);
        handed += u64::from(network.receive(now).is_some_and(|beat| beat.last));
        if cycle % 4 == 0 {
            match ours.next() {
                Some([255, 255, ..]) => network.reset(now),
                Some(record) => send(&mut network, now, record),
                None if network.is_at_end() => break,
                None => {}
            }
        }
        // Now and then a cycle is missed.
        cycle += 1 + u64::from(cycle % 97 == 0 && head[0] & 16 != 0) * 20;
    }
    assert!(network.is_at_end(), "{network:?}");
    let counters = network.counters();
    let delivered = counters.delivered.total();
    let dropped = counters.fragments + counters.overrun;
    assert_eq!(handed + dropped.frames, delivered.frames);
    assert_eq!(counters.offered, counters.sent.total());
    match counters.switch {
        None => {
            assert_eq!(delivered, counters.offered);
            assert_eq!(counters.arrived, counters.transmitted);
        }
        Some([ours, theirs]) => {
            let gone = |port: &forebay_model::net::PortCounters| {
                port.damaged + port.runts + port.giants + port.reserved + port.overflow
            };
            assert_eq!(gone(&theirs) + ours.passed, counters.offered);
            assert_eq!(gone(&ours) + theirs.passed, counters.transmitted.total());
            assert_eq!(ours.xoff + ours.xon + ours.passed.frames, delivered.frames);
        }
    }
    for wire in [counters.peer_wire, counters.our_wire] {
        assert_eq!(wire.total(), counters.peer_wire.total());
    }
});
