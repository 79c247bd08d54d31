// SPDX-License-Identifier: Apache-2.0
//! The streamer's ring of queue events, decoded for people and for JSON.

use std::fmt;

use forebay_spec::nvme::Status;
use forebay_spec::streamer::trace::{ROGUE_CID, ROGUE_PHASE};
use forebay_spec::streamer::{TraceEvent, TraceKind, UserError};
use serde::Serialize;

/// One event, decoded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TraceRecord {
    /// Running number of the event since the streamer was enabled, modulo 2^32.
    pub number: u32,
    /// Cycle counter at the event, modulo 2^32.
    pub cycle: u32,
    /// What happened; `None` where the word is no event we know.
    pub event: Option<TraceText>,
    /// The word as read.
    pub raw: u64,
}

/// The parts of a known event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TraceText {
    /// Short name, such as `sq-doorbell`.
    pub kind: &'static str,
    /// Command identifier, where the event belongs to a command.
    pub cid: Option<u16>,
    /// The drive, where the event says so.
    pub drive: Option<u8>,
    /// Detail as a number, without the drive.
    pub detail: u16,
    /// The event in words.
    pub text: String,
}

impl TraceRecord {
    /// Decodes a word of the ring.
    pub fn new(number: u32, raw: u64) -> Self {
        let event = TraceEvent::decode(raw).map(|event| TraceText {
            kind: kind_name(event.kind),
            cid: has_command(event.kind).then_some(event.cid),
            drive: event.drive(),
            detail: event.value(),
            text: text(event),
        });
        Self {
            number,
            cycle: raw as u32,
            event,
            raw,
        }
    }
}

impl fmt::Display for TraceRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>10}  ", self.cycle)?;
        match &self.event {
            Some(TraceText {
                cid: Some(cid),
                text,
                ..
            }) => write!(f, "command {cid:>4}  {text}"),
            Some(TraceText { text, .. }) => write!(f, "              {text}"),
            None => write!(f, "              unknown event {:#018x}", self.raw),
        }
    }
}

const fn kind_name(kind: TraceKind) -> &'static str {
    match kind {
        TraceKind::Submit => "submit",
        TraceKind::SqDoorbell => "sq-doorbell",
        TraceKind::Fetch => "fetch",
        TraceKind::Complete => "complete",
        TraceKind::CompleteError => "complete-error",
        TraceKind::Retry => "retry",
        TraceKind::Rogue => "rogue",
        TraceKind::CqDoorbell => "cq-doorbell",
        TraceKind::Timeout => "timeout",
        TraceKind::Reject => "reject",
    }
}

const fn has_command(kind: TraceKind) -> bool {
    !matches!(
        kind,
        TraceKind::SqDoorbell
            | TraceKind::Fetch
            | TraceKind::CqDoorbell
            | TraceKind::Timeout
            | TraceKind::Reject
    )
}

fn text(event: TraceEvent) -> String {
    let detail = event.value();
    // A single drive is nothing to be told of.
    let whose = match event.drive() {
        None | Some(0) => String::new(),
        Some(drive) => format!(" of drive {drive}"),
    };
    match event.kind {
        TraceKind::Submit => format!("submitted in slot {detail}{whose}"),
        TraceKind::SqDoorbell => format!("submission doorbell{whose} rung, tail {detail}"),
        TraceKind::Fetch => format!("entry in slot {detail}{whose} fetched by the SSD"),
        TraceKind::Complete => format!("completed, submission queue head {detail}{whose}"),
        TraceKind::CompleteError => format!("failed: {}", Status::from_bits(detail)),
        TraceKind::Retry => format!("sent again in slot {detail}{whose}"),
        TraceKind::Rogue => format!("completion ignored: {}", rogue_cause(detail)),
        TraceKind::CqDoorbell => format!("completion doorbell{whose} rung, head {detail}"),
        TraceKind::Timeout => "not completed in time: the queue is halted".into(),
        TraceKind::Reject => match u8::try_from(detail).ok().and_then(UserError::from_code) {
            Some(error) => format!("transaction refused: {error}"),
            None => format!("transaction refused with code {detail:#x}"),
        },
    }
}

fn rogue_cause(detail: u16) -> String {
    match detail {
        ROGUE_PHASE => "its phase is not the one expected".into(),
        ROGUE_CID => "its command identifier is not in use".into(),
        other => format!("unknown cause {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(cycle: u32, kind: u64, cid: u64, detail: u64) -> u64 {
        u64::from(cycle) | kind << 32 | cid << 36 | detail << 48
    }

    #[test]
    fn every_kind_has_its_words() {
        let shown = |kind, detail| TraceRecord::new(0, word(7, kind, 5, detail)).to_string();
        assert_eq!(shown(1, 3), "         7  command    5  submitted in slot 3");
        assert_eq!(
            shown(2, 9),
            "         7                submission doorbell rung, tail 9"
        );
        // The RTL does not say whose: it would be shown as of command 0.
        assert!(!shown(3, 9).contains("command") && !shown(9, 0).contains("command"));
        assert!(shown(5, 0x4080).contains("LBA Out of Range"));
        assert!(shown(7, 2).contains("identifier is not in use"));
        assert!(shown(10, 3).contains("past the namespace"));
        assert!(shown(10, 0xffff).contains("0xffff"));
        assert!(shown(15, 0).contains("unknown event"));
    }

    #[test]
    fn the_drive_is_named() {
        let shown = |kind| TraceRecord::new(0, word(7, kind, 5, 6 << 13 | 3)).to_string();
        assert!(shown(1).ends_with("submitted in slot 3 of drive 6"));
        assert!(shown(2).ends_with("submission doorbell of drive 6 rung, tail 3"));
        assert!(shown(3).ends_with("entry in slot 3 of drive 6 fetched by the SSD"));
        assert!(shown(4).ends_with("completed, submission queue head 3 of drive 6"));
        assert!(shown(6).ends_with("sent again in slot 3 of drive 6"));
        assert!(shown(8).ends_with("completion doorbell of drive 6 rung, head 3"));
        // The others have no room for it.
        assert!(
            [5, 7, 9, 10]
                .map(shown)
                .iter()
                .all(|text| !text.contains("drive 6"))
        );
    }

    #[test]
    fn no_word_is_too_strange() {
        for kind in 0..16 {
            for detail in [0, 1, 0x7fff, 0xffff] {
                let record = TraceRecord::new(1, word(u32::MAX, kind, 0xfff, detail));
                assert!(!record.to_string().is_empty());
            }
        }
    }
}
