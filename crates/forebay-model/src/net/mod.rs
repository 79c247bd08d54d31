// SPDX-License-Identifier: Apache-2.0
//! Everything beyond the pins of a 100G MAC: the MAC itself, the cable, a switch, the link partner.
//!
//! A byte takes 80 ps on the wire. A frame takes eight bytes of preamble, itself, four of check
//! sequence and twelve of gap; it arrives a cable's delay later, and its beats come out of the MAC in
//! the first cycles after they are there, whether the receiver is ready or not. What is sent is taken at
//! the wire's pace. [`Network`] is asked in each cycle of the MAC's clock ([`mac_edge`]).
//!
//! ```
//! use forebay_model::net::{self, Frame, Frames, Network, Settings};
//!
//! let frame = Frame::new([0; 60])?;
//! let mut network = Network::new(Settings::default(), Box::new(Frames::repeat(frame, 1000)))?;
//! network.begin(0);
//! let beats = (0..3000).filter(|&k| network.receive(net::mac_edge(k)).is_some());
//! assert_eq!(beats.count(), 1000);
//! assert!(network.is_at_end());
//! # Ok::<(), net::NetError>(())
//! ```
//!
//! Does not model: what the bits look like (symbols, lanes, forward error correction), gaps that
//! vary by a few bytes around twelve, other rates than 100 Gb/s.

mod beat;
mod cable;
mod counters;
mod error;
mod frame;
mod impaired;
mod mac_in;
mod mac_out;
mod malformed;
mod merged;
mod network;
mod objects;
mod paced;
mod packet;
mod peer;
mod sender;
mod settings;
mod source;
mod switch;

pub use beat::{BEAT_BYTES, Beat};
pub use counters::{ByKind, Counters, FrameCounts, PauseCounters, PortCounters, WireTime};
pub use error::{BeatError, NetError};
pub use frame::{Frame, Kind, LEAST_HANDED_BYTES, MOST_BYTES};
pub use impaired::{Impaired, Impairment};
pub use malformed::Malformed;
pub use merged::Merged;
pub use network::{Direction, Network, Tap};
pub use objects::{Content, Object, Objects, Restart, objects_of, pattern};
pub use paced::Paced;
pub use packet::{Addresses, Station};
pub use settings::{Flaps, Flow, Link, Peer, Settings, Switch, Thresholds};
pub use source::{Frames, Next, Source};

use crate::Time;
use forebay_spec::net::{ethernet, pause};

/// Time of a byte on the wire.
pub const BYTE: Time = 80;
/// Time of a pause quantum.
pub const QUANTUM: Time = pause::QUANTUM_BITS as Time / 8 * BYTE;
/// Time that a signal takes for a metre of cable.
pub const METRE: Time = 5_000;
/// Bytes before a frame: preamble and delimiter.
pub(crate) const PREAMBLE_BYTES: u64 = 8;
/// Bytes of the check sequence.
pub(crate) const CHECK_BYTES: u64 = 4;
/// Bytes of silence behind a frame.
pub(crate) const GAP_BYTES: u64 = 12;

const _: () = assert!((PREAMBLE_BYTES + CHECK_BYTES + GAP_BYTES) as usize == ethernet::WIRE_BYTES);

/// Time of the `k`-th edge of the MAC's clock: 322.265625 MHz are 33 edges in 102.4 ns.
#[must_use]
pub const fn mac_edge(k: u64) -> Time {
    (k / 33) * 102_400 + (k % 33) * 102_400 / 33
}

/// Bytes that may arrive after the decision to send a pause frame: what the cable holds in both
/// directions, the frames that both sides have just begun, the pause frame, and what the link
/// partner sends in the quanta until it reacts. Frames have up to `mtu` bytes behind the Ethernet header.
#[must_use]
pub const fn headroom(metres: u32, mtu: u32, quanta: u32) -> u64 {
    let cable = 2 * metres as u64 * METRE / BYTE;
    let frames = 2 * (mtu as u64 + (ethernet::HEADER_BYTES + ethernet::WIRE_BYTES) as u64);
    let pause = (ethernet::LEAST_BYTES + ethernet::WIRE_BYTES) as u64;
    cable + frames + pause + quanta as u64 * QUANTUM / BYTE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_does_not_drift() {
        assert_eq!(mac_edge(0), 0);
        assert_eq!(mac_edge(1), 3103);
        assert_eq!(mac_edge(33), 102_400);
        // A second has 322 265 625 edges.
        assert_eq!(mac_edge(322_265_625), crate::SECOND);
        assert!(mac_edge(u64::MAX / 4096) > mac_edge(u64::MAX / 4096 - 1));
    }

    #[test]
    fn headroom_is_the_published_one() {
        // models.md: 43.8 kB at 3 m, 55.9 kB at 100 m, a prompt peer 18.5 kB at 3 m; MTU 9000.
        assert_eq!(headroom(3, 9000, 394), 43_751);
        assert_eq!(headroom(100, 9000, 394), 55_876);
        assert_eq!(headroom(3, 9000, 0), 18_535);
    }

    #[test]
    fn the_longest_pause_is_the_published_one() {
        assert_eq!(QUANTUM, 5120);
        assert_eq!(65_535 * QUANTUM / 1_000, 335_539, "335.5 us");
    }
}
