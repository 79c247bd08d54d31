// SPDX-License-Identifier: Apache-2.0
//! Us, cycle by cycle: takes every beat, sends what it is told to.

use forebay_model::Time;
use forebay_model::net::{Beat, Direction, Frame, Network, Settings, Source, Tap, mac_edge};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// A frame that came out of the MAC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Got {
    /// Cycle of its last beat.
    pub cycle: u64,
    pub bytes: Vec<u8>,
    pub damaged: bool,
}

/// What passed the MAC.
pub type Seen = Arc<Mutex<Vec<(Time, Direction, Frame)>>>;

#[derive(Default)]
struct Eye(Seen);

impl Tap for Eye {
    fn frame(&mut self, at: Time, direction: Direction, frame: &Frame) {
        let mut seen = self.0.lock().expect("no panic while locked");
        seen.push((at, direction, frame.clone()));
    }
}

/// A network, and us.
pub struct Rig {
    pub network: Network,
    pub cycle: u64,
    pub got: Vec<Got>,
    pub seen: Seen,
    open: Vec<u8>,
    send: VecDeque<Beat>,
}

/// A frame of this many bytes with a number in it.
pub fn numbered(number: u32, bytes: usize) -> Frame {
    let mut frame: Vec<u8> = (0..bytes).map(|n| (n * 7) as u8).collect();
    let number = number.to_be_bytes();
    let at = bytes.min(4);
    frame[..at].copy_from_slice(&number[..at]);
    Frame::bare(frame).expect("a length that can be")
}

pub fn beats(bytes: &[u8]) -> impl Iterator<Item = Beat> {
    let count = bytes.len().div_ceil(64);
    bytes.chunks(64).enumerate().map(move |(n, chunk)| {
        let mut data = [0; 64];
        data[..chunk.len()].copy_from_slice(chunk);
        let keep = u64::MAX >> (64 - chunk.len());
        Beat::from_pins(&data, keep, n + 1 == count, false).expect("no holes")
    })
}

impl Rig {
    pub fn new(settings: Settings, source: impl Source + 'static) -> Self {
        let mut network = Network::new(settings, Box::new(source)).expect("settings that can be");
        let seen = Seen::default();
        network.set_tap(Box::new(Eye(seen.clone())));
        network.begin(0);
        Self {
            network,
            cycle: 0,
            got: Vec::new(),
            seen,
            open: Vec::new(),
            send: VecDeque::new(),
        }
    }

    pub fn now(&self) -> Time {
        mac_edge(self.cycle)
    }

    /// Sends a frame as soon as the MAC takes it.
    pub fn send(&mut self, bytes: &[u8]) {
        self.send.extend(beats(bytes));
    }

    /// One cycle.
    pub fn step(&mut self) {
        let now = self.now();
        if let Some(beat) = self.network.receive(now) {
            self.open.extend(&beat.data[..usize::from(beat.bytes)]);
            assert!(beat.last || beat.bytes == 64, "only the last beat is short");
            if beat.last {
                self.got.push(Got {
                    cycle: self.cycle,
                    bytes: std::mem::take(&mut self.open),
                    damaged: beat.damaged,
                });
            }
        }
        if let Some(beat) = self.send.front()
            && self.network.ready(now)
        {
            self.network.transmit(now, beat).expect("a good beat");
            self.send.pop_front();
        }
        self.cycle += 1;
    }

    pub fn steps(&mut self, cycles: u64) {
        for _ in 0..cycles {
            self.step();
        }
    }

    /// Until nothing is under way.
    pub fn finish(&mut self) {
        for _ in 0..20_000_000 {
            if self.network.is_at_end() && self.send.is_empty() {
                return;
            }
            self.step();
        }
        panic!("does not come to its end: {:?}", self.network);
    }
}
