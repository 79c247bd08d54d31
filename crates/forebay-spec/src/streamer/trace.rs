// SPDX-License-Identifier: Apache-2.0
//! The ring of the last queue events, as read from the registers.

use crate::numbered::numbered;

/// Events that the ring holds.
pub const ENTRIES: usize = 64;
/// Lowest bit of the kind in a trace word; the cycle stands below it.
pub const KIND_LSB: u32 = 32;
/// Lowest bit of the command identifier in a trace word.
pub const CID_LSB: u32 = 36;
/// Lowest bit of the detail in a trace word.
pub const DETAIL_LSB: u32 = 48;
/// Lowest bit of the drive in a detail that is a slot, a tail or a head.
pub const DRIVE_LSB: u32 = 13;

/// Detail of [`TraceKind::Rogue`]: the phase bit was not the expected one.
pub const ROGUE_PHASE: u16 = 1;
/// Detail of [`TraceKind::Rogue`]: the command identifier was not in use.
pub const ROGUE_CID: u16 = 2;

numbered! {
    /// What happened; `detail` of the event is named in brackets.
    TraceKind: u8 {
        /// A command took a queue slot \[slot\].
        Submit = 1;
        /// The submission doorbell was rung \[tail\].
        SqDoorbell = 2;
        /// The SSD read a submission entry \[slot\].
        Fetch = 3;
        /// A command completed \[submission queue head\].
        Complete = 4;
        /// A command completed with an error \[status, 15 bits\].
        CompleteError = 5;
        /// A command is sent again.
        Retry = 6;
        /// A completion was ignored \[cause: [`ROGUE_PHASE`], [`ROGUE_CID`]\].
        Rogue = 7;
        /// The completion doorbell was rung \[head\].
        CqDoorbell = 8;
        /// A command was given up.
        Timeout = 9;
        /// A user's transaction was rejected \[error code\].
        Reject = 10;
    }
}

/// One word of the trace ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    /// Cycle counter at the event.
    pub cycle: u32,
    /// What happened.
    pub kind: TraceKind,
    /// Command identifier, 12 bits.
    pub cid: u16,
    /// See [`TraceKind`].
    pub detail: u16,
}

impl TraceEvent {
    /// Reads a word; `None` where nothing was written yet or the kind is unknown.
    pub const fn decode(word: u64) -> Option<Self> {
        let Some(kind) = TraceKind::from_number((word >> KIND_LSB & 0xf) as u8) else {
            return None;
        };
        Some(Self {
            cycle: word as u32,
            kind,
            cid: (word >> CID_LSB & 0xfff) as u16,
            detail: (word >> DETAIL_LSB) as u16,
        })
    }

    /// The drive that it concerns, where the detail says so: with a slot, a tail or a head.
    pub const fn drive(&self) -> Option<u8> {
        match self.kind {
            TraceKind::Submit
            | TraceKind::SqDoorbell
            | TraceKind::Fetch
            | TraceKind::Complete
            | TraceKind::Retry
            | TraceKind::CqDoorbell => Some((self.detail >> DRIVE_LSB) as u8),
            TraceKind::CompleteError
            | TraceKind::Rogue
            | TraceKind::Timeout
            | TraceKind::Reject => None,
        }
    }

    /// The detail without the drive.
    pub const fn value(&self) -> u16 {
        match self.drive() {
            Some(_) => self.detail & ((1 << DRIVE_LSB) - 1),
            None => self.detail,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_tails_and_heads_have_a_drive() {
        let event = |kind| TraceEvent {
            cycle: 0,
            kind,
            cid: 0,
            detail: 5 << DRIVE_LSB | 1023,
        };
        let fetch = event(TraceKind::Fetch);
        assert_eq!((fetch.drive(), fetch.value()), (Some(5), 1023));
        let failed = event(TraceKind::CompleteError);
        assert_eq!((failed.drive(), failed.value()), (None, failed.detail));
    }

    #[test]
    fn a_word_is_taken_apart() {
        let event = TraceEvent::decode(0x1234_abc7_0000_00ff);
        assert_eq!(
            event,
            Some(TraceEvent {
                cycle: 255,
                kind: TraceKind::Rogue,
                cid: 0xabc,
                detail: 0x1234
            })
        );
        assert_eq!(TraceEvent::decode(0), None);
    }
}
