// SPDX-License-Identifier: Apache-2.0
//! One node's end of the fabric, and what travels there.

use super::link::Link;
use super::{FabricError, Ticket};
use crate::Time;
use crate::profile::LinkProfile;
use std::collections::VecDeque;

/// A packet between two links.
#[derive(Debug)]
pub(super) enum Packet {
    Write {
        from: u8,
        addr: u64,
        data: Box<[u8]>,
    },
    Read {
        from: u8,
        addr: u64,
        len: u32,
        part: Ticket,
    },
    Completion {
        to: u8,
        part: Ticket,
        result: Result<Box<[u8]>, FabricError>,
    },
}

/// A part of a read that waits for one of its requester's tags.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) addr: u64,
    pub(super) len: u32,
    pub(super) part: Ticket,
}

/// One node's end of the fabric.
#[derive(Debug, Default)]
pub(super) struct Port {
    pub(super) up: Link,
    pub(super) down: Link,
    /// Completions that their completer still works on.
    pub(super) answering: VecDeque<(Time, Packet)>,
    /// Packets on the way from this node to the switch.
    pub(super) to_switch: VecDeque<(Time, Packet)>,
    /// Packets on the way from the switch to this node, or arrived there.
    pub(super) arriving: VecDeque<(Time, Packet)>,
    /// Parts of reads that wait for a tag.
    pub(super) waiting: VecDeque<Waiting>,
    /// Tags in use.
    pub(super) outstanding: u32,
    /// Least round trip of a full part of a read to each node, from its tag to its data.
    pub(super) round_trip: Vec<Time>,
}

impl Port {
    pub(super) fn new(link: &LinkProfile, nodes: usize) -> Self {
        Self {
            up: Link::new(link),
            down: Link::new(link),
            round_trip: vec![0; nodes],
            ..Self::default()
        }
    }
}
