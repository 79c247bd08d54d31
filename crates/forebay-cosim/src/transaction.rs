// SPDX-License-Identifier: Apache-2.0
//! Transactions of the user side.

use crate::payload::{Payload, Sink};

/// A write: an address beat and data beats.
#[derive(Debug)]
pub struct Write {
    /// First byte on the SSD.
    pub address: u64,
    /// The data.
    pub payload: Payload,
    /// Force unit access: the response waits for the medium.
    pub fua: bool,
    /// Flush after this write.
    pub flush: bool,
    /// Submit its commands once all earlier writes are complete.
    pub fence: bool,
    /// What is wrong with it on purpose.
    pub damage: Option<Damage>,
}

impl Write {
    /// A plain write.
    #[must_use]
    pub fn new(address: u64, payload: impl Into<Payload>) -> Self {
        Self {
            address,
            payload: payload.into(),
            fua: false,
            flush: false,
            fence: false,
            damage: None,
        }
    }

    /// With the pattern of this seed as data.
    #[must_use]
    pub fn pattern(address: u64, length: u64, seed: u64) -> Self {
        Self::new(address, Payload::Pattern { seed, length })
    }

    /// With force unit access.
    #[must_use]
    pub fn fua(mut self) -> Self {
        self.fua = true;
        self
    }

    /// With a flush after it.
    #[must_use]
    pub fn flush(mut self) -> Self {
        self.flush = true;
        self
    }

    /// Behind all earlier writes.
    #[must_use]
    pub fn fenced(mut self) -> Self {
        self.fence = true;
        self
    }

    /// With something wrong on purpose.
    #[must_use]
    pub fn damaged(mut self, damage: Damage) -> Self {
        self.damage = Some(damage);
        self
    }
}

/// What can be wrong with the beats of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// TLAST never comes; the source stays in this transaction until a reset.
    NoLast,
    /// This data beat (from 0) has this TKEEP.
    Keep {
        /// Data beat.
        beat: u64,
        /// TKEEP.
        keep: u64,
    },
}

/// A read: one command beat.
#[derive(Debug)]
pub struct Read {
    /// First byte on the SSD.
    pub address: u64,
    /// Bytes.
    pub length: u64,
    /// The tag, where the data may come out of order. Tag 0 cannot be told from a read in order,
    /// so use it only when no read in order is under way.
    pub unordered: Option<u8>,
    /// What becomes of the data.
    pub sink: Sink,
}

impl Read {
    /// A read in order.
    #[must_use]
    pub fn new(address: u64, length: u64, sink: Sink) -> Self {
        Self {
            address,
            length,
            unordered: None,
            sink,
        }
    }

    /// Whose data may come out of order, marked with this tag.
    #[must_use]
    pub fn unordered(mut self, tag: u8) -> Self {
        self.unordered = Some(tag);
        self
    }
}
