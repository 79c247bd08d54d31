// SPDX-License-Identifier: Apache-2.0
//! One direction of one link, and the count of what crossed it.

use super::Node;
use crate::profile::LinkProfile;
use crate::{SECOND, Time};

/// Which way along a node's link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the node to the switch.
    Up,
    /// From the switch to the node.
    Down,
}

/// What crossed one link one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HopCount {
    /// Whose link.
    pub node: Node,
    /// Which way.
    pub direction: Direction,
    /// Requests and completions.
    pub messages: u64,
    /// Bytes of payload.
    pub payload: u64,
    /// Bytes on the wire: payload, headers and framing.
    pub wire: u64,
    /// What the link carries at most, wire bytes per second; 0 is without limit.
    pub bytes_per_second: u64,
}

impl HopCount {
    pub(super) const fn new(node: Node, direction: Direction, bytes_per_second: u64) -> Self {
        Self {
            node,
            direction,
            messages: 0,
            payload: 0,
            wire: 0,
            bytes_per_second,
        }
    }

    /// What has crossed since an earlier count of the same link and way.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            messages: self.messages - earlier.messages,
            payload: self.payload - earlier.payload,
            wire: self.wire - earlier.wire,
            ..*self
        }
    }

    pub(super) fn add(&mut self, payload: u64, wire: u64) {
        self.messages += 1;
        self.payload += payload;
        self.wire += wire;
    }
}

/// A serial line: one message after the other at a rate, then a latency.
#[derive(Debug, Default)]
pub(super) struct Link {
    bytes_per_second: u64,
    latency: Time,
    free_at: Time,
}

impl Link {
    pub(super) const fn new(profile: &LinkProfile) -> Self {
        Self {
            bytes_per_second: profile.bytes_per_second,
            latency: profile.latency,
            free_at: 0,
        }
    }

    /// How long it is taken by what it has.
    pub(super) const fn backlog(&self, now: Time) -> Time {
        self.free_at.saturating_sub(now)
    }

    /// Takes a message of `wire` bytes; returns when its last byte is at the other end.
    pub(super) fn send(&mut self, now: Time, wire: u64) -> Time {
        let duration = match self.bytes_per_second {
            0 => 0,
            rate => wire * SECOND / rate,
        };
        self.free_at = self.free_at.max(now) + duration;
        self.free_at + self.latency
    }
}
