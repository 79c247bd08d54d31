// SPDX-License-Identifier: Apache-2.0
//! What went over the wire, and for how long.

use super::frame::{Frame, Kind};
use crate::Time;

/// Frames and their bytes, without preamble and check sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct FrameCounts {
    /// Frames.
    pub frames: u64,
    /// Bytes.
    pub bytes: u64,
}

impl FrameCounts {
    pub(super) fn add(&mut self, frame: &Frame) {
        self.frames += 1;
        self.bytes += frame.len();
    }
}

impl std::ops::Add for FrameCounts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            frames: self.frames + other.frames,
            bytes: self.bytes + other.bytes,
        }
    }
}

/// Counts for each [`Kind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ByKind([FrameCounts; Kind::ALL.len()]);

impl ByKind {
    /// Those of a kind.
    #[must_use]
    pub const fn of(&self, kind: Kind) -> FrameCounts {
        self.0[kind as usize]
    }

    /// All of them.
    #[must_use]
    pub fn total(&self) -> FrameCounts {
        self.0
            .into_iter()
            .fold(FrameCounts::default(), |a, b| a + b)
    }

    pub(super) fn add(&mut self, frame: &Frame) {
        self.0[frame.kind() as usize].add(frame);
    }
}

/// What a direction of a wire was used for. The sum is the time since [`Network::begin`].
///
/// [`Network::begin`]: super::Network::begin
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct WireTime {
    /// Frames, with preamble, check sequence and gap.
    pub busy: Time,
    /// Nothing, because the sender was asked for silence.
    pub paused: Time,
    /// Nothing, because there was nothing to be sent.
    pub idle: Time,
}

impl WireTime {
    /// All of it.
    #[must_use]
    pub const fn total(&self) -> Time {
        self.busy + self.paused + self.idle
    }
}

/// What a sender was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PauseCounters {
    /// Pause frames that ask it for silence.
    pub xoff: u64,
    /// Those that take it back.
    pub xon: u64,
    /// Pause frames of the other kind, or of other classes: not obeyed.
    pub foreign: u64,
    /// How long it was to be silent, all in all.
    pub silence: Time,
}

/// What a port of a switch has done. What comes in here leaves at the other one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PortCounters {
    /// Come in.
    pub arrived: FrameCounts,
    /// Come in and dropped: damaged.
    pub damaged: FrameCounts,
    /// Come in and dropped: too short.
    pub runts: FrameCounts,
    /// Come in and dropped: too long.
    pub giants: FrameCounts,
    /// Come in and not passed on: to addresses that no bridge passes on, as those of pause frames.
    pub reserved: FrameCounts,
    /// Come in and dropped: no room.
    pub overflow: FrameCounts,
    /// Passed on: begun to leave here.
    pub passed: FrameCounts,
    /// Most bytes held at a time of what came in here.
    pub most: u64,
    /// Frames sent here that request pause.
    pub xoff: u64,
    /// Frames sent here that take it back.
    pub xon: u64,
    /// What this port was asked for.
    pub pause: PauseCounters,
    /// The wire on which it sends.
    pub wire: WireTime,
}

/// What a network has done so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Counters {
    /// Taken from the source.
    pub offered: FrameCounts,
    /// Made by the source and left out on purpose.
    pub left_out: FrameCounts,
    /// Begun by the link partner, by kind.
    pub sent: ByKind,
    /// Come to an end at our MAC, by kind; of these it handed over all but the two that follow.
    pub delivered: ByKind,
    /// Dropped by our MAC: shorter than [`LEAST_HANDED_BYTES`](super::LEAST_HANDED_BYTES).
    pub fragments: FrameCounts,
    /// Dropped by our MAC: [`Network::receive`](super::Network::receive) was not called in each cycle.
    pub overrun: FrameCounts,
    /// Cut by a link that went down, after our MAC had handed over their first beat; with the bytes that it
    /// had, and one more by which the receiver ends them.
    pub cut: FrameCounts,
    /// Lost by a link that was down, without a beat.
    pub down: FrameCounts,
    /// Sent by our MAC, by kind: good, damaged or pause.
    pub transmitted: ByKind,
    /// Those of them that broke off because the next beat was not there in time.
    pub underruns: u64,
    /// Come to an end at the link partner, by kind.
    pub arrived: ByKind,
    /// What the link partner was asked for.
    pub peer_pause: PauseCounters,
    /// What our MAC was asked for. It hands pause frames over and obeys none: that is our part.
    pub our_pause: PauseCounters,
    /// The wire from the link partner, as far as the switch if there is one.
    pub peer_wire: WireTime,
    /// The wire from our MAC. As the MAC does not know what waits, all idle time while pause is asked
    /// for counts as paused.
    pub our_wire: WireTime,
    /// The switch's ports: ours, and the link partner's.
    pub switch: Option<[PortCounters; 2]>,
}
