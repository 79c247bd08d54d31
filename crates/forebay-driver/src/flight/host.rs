// SPDX-License-Identifier: Apache-2.0
//! The side of a queue pair that submits.

use std::fmt;

use forebay_spec::streamer::trace::{ROGUE_CID, ROGUE_PHASE};
use forebay_spec::streamer::{TraceEvent, TraceKind};
use serde::{Deserialize, Serialize};

use super::recorder::{HostEvent, HostHappening};
use crate::bus::Bus;
use crate::error::Error;
use crate::inspect::{Counter, StreamerStatus};
use crate::queue_pair::QueuePair;
use crate::session::Session;
use crate::streamer::Streamer;

/// Who holds the queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Holder {
    /// The streamer, in its queue window.
    #[default]
    Streamer,
    /// The driver, in host memory.
    Driver,
}

/// Why a completion was ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// It stands at another place than the next, or has the phase of the lap before.
    Phase,
    /// Its command identifier is not in use.
    Cid,
    /// It is of another submission queue.
    Queue,
    /// Something that this version does not know.
    #[serde(other)]
    Other,
}

/// A completion that was ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ignored {
    /// Its command identifier; the streamer remembers 12 bits of it.
    pub cid: u16,
    /// Why.
    pub cause: Cause,
}

/// What the host of the queues says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostSide {
    /// Who that is.
    pub holder: Holder,
    /// Queue identifier.
    pub queue: u16,
    /// Entries of either queue.
    pub entries: u32,
    /// It takes transactions.
    pub enabled: bool,
    /// A time-out has stopped it.
    pub halted: bool,
    /// Commands that the streamer has submitted since it was enabled, modulo 2^32, those sent again
    /// included.
    pub submitted: u32,
    /// Commands submitted and not completed.
    pub outstanding: u32,
    /// Identifiers of these, as far as they are remembered.
    pub open: Vec<u16>,
    /// Place of the next submission.
    pub sq_tail: u32,
    /// Last value written to the submission doorbell, if it is remembered.
    pub sq_doorbell: Option<u32>,
    /// Place behind the entry that was last read by the drive, if that can be seen.
    pub sq_fetched: Option<u32>,
    /// Place of the next completion.
    pub cq_head: u32,
    /// Last value written to the completion doorbell, if it is remembered.
    pub cq_doorbell: Option<u32>,
    /// Completions that were ignored, oldest first, as far as they are remembered.
    pub ignored: Vec<Ignored>,
    /// Doorbell writes of the streamer that were answered with an error.
    pub doorbell_errors: u32,
    /// The driver's last events; the streamer's are its trace.
    pub events: Vec<HostEvent>,
}

impl HostSide {
    /// Asks streamer or queue pair, whichever the session has.
    pub(super) fn take(
        session: &mut Session,
        bus: &mut dyn Bus,
        notes: &mut Vec<String>,
    ) -> Option<Self> {
        let (queue, entries) = (session.facts().queue_id, session.facts().queue_entries);
        if let Some(pair) = session.queue_pair() {
            return Some(Self::of_pair(pair));
        }
        let streamer = session.streamer().cloned()?;
        if !streamer.is_extended() {
            notes.push("the streamer has no registers that tell of its queues".into());
            return None;
        }
        Self::of_streamer(&streamer, bus, queue, entries)
            .map_err(|error| notes.push(format!("the streamer's side is missing: {error}")))
            .ok()
    }

    fn of_streamer(
        streamer: &Streamer,
        bus: &mut dyn Bus,
        queue: u16,
        entries: u32,
    ) -> Result<Self, Error> {
        let status = streamer.status(bus)?;
        let words: Vec<u64> = streamer.trace(bus)?.iter().map(|it| it.raw).collect();
        let counters = streamer.counters(bus)?;
        Ok(Self::of_registers(
            &status, &words, &counters, queue, entries,
        ))
    }

    /// From the streamer's status, the words of its trace (oldest first) and its counters.
    pub fn of_registers(
        status: &StreamerStatus,
        trace: &[u64],
        counters: &[Counter],
        queue: u16,
        entries: u32,
    ) -> Self {
        let count = |name: &str| {
            let counter = counters.iter().find(|counter| counter.name == name);
            counter.map_or(0, |counter| u64::from(counter.value))
        };
        let sum = |names: &[&str]| names.iter().map(|name| count(name)).sum::<u64>();
        let lap = u64::from(entries.max(1));
        let submitted = [
            "write_commands",
            "read_commands",
            "flush_commands",
            "retries",
        ];
        // Each of these has used up a place of the completion queue.
        let taken = ["completions", "rogue_cid"];
        let mut side = Self {
            holder: Holder::Streamer,
            queue,
            entries,
            enabled: status.enabled,
            halted: status.halted,
            submitted: sum(&submitted) as u32,
            outstanding: status.outstanding,
            sq_tail: (sum(&submitted) % lap) as u32,
            cq_head: (sum(&taken) % lap) as u32,
            doorbell_errors: count("doorbell_errors") as u32,
            ..Self::default()
        };
        for event in trace.iter().filter_map(|word| TraceEvent::decode(*word)) {
            side.follow(event);
        }
        // Counters wrap after 2^32 events; then the trace knows better.
        side.open.truncate(status.outstanding as usize);
        side
    }

    /// Of several drives the first is followed: places of the others' queues are not its own.
    fn follow(&mut self, event: TraceEvent) {
        if event.drive().is_some_and(|drive| drive != 0) {
            return;
        }
        let detail = u32::from(event.value());
        let next = |place: u32| (place + 1) % self.entries.max(1);
        match event.kind {
            TraceKind::Submit | TraceKind::Retry => {
                self.open.retain(|cid| *cid != event.cid);
                self.open.push(event.cid);
                self.sq_tail = next(detail);
            }
            TraceKind::Complete | TraceKind::CompleteError => {
                self.open.retain(|cid| *cid != event.cid);
            }
            TraceKind::SqDoorbell => self.sq_doorbell = Some(detail),
            TraceKind::CqDoorbell => {
                self.cq_doorbell = Some(detail);
                self.cq_head = detail;
            }
            TraceKind::Fetch => self.sq_fetched = Some(next(detail)),
            TraceKind::Rogue => self.ignored.push(Ignored {
                cid: event.cid,
                cause: match event.detail {
                    ROGUE_PHASE => Cause::Phase,
                    ROGUE_CID => Cause::Cid,
                    _ => Cause::Other,
                },
            }),
            TraceKind::Timeout | TraceKind::Reject => {}
        }
    }

    /// From what a queue pair in host memory remembers.
    pub fn of_pair(pair: &QueuePair) -> Self {
        let events = pair.events();
        let mut side = Self {
            holder: Holder::Driver,
            queue: pair.id(),
            entries: pair.entries(),
            enabled: true,
            outstanding: u32::try_from(pair.outstanding()).unwrap_or(u32::MAX),
            open: pair.open().collect(),
            sq_tail: pair.tail(),
            cq_head: pair.head(),
            ..Self::default()
        };
        for event in &events {
            match event.what {
                HostHappening::SqDoorbell { value } => side.sq_doorbell = Some(value),
                HostHappening::CqDoorbell { value } => side.cq_doorbell = Some(value),
                HostHappening::Completed { sq_head, .. } => side.sq_fetched = Some(sq_head.into()),
                HostHappening::Ignored { cid, cause, .. } => {
                    side.ignored.push(Ignored { cid, cause });
                }
                HostHappening::Submitted { .. } | HostHappening::Other => {}
            }
        }
        side.events = events;
        side
    }

    /// Whether an identifier of the drive's is this one of ours.
    pub(super) fn is_same(&self, ours: u16, drives: u16) -> bool {
        // The streamer's trace has 12 bits for it.
        let mask = match self.holder {
            Holder::Streamer => 0xfff,
            Holder::Driver => 0xffff,
        };
        ours & mask == drives & mask
    }

    /// Its name in a sentence.
    pub(super) const fn name(&self) -> &'static str {
        match self.holder {
            Holder::Streamer => "the streamer",
            Holder::Driver => "the driver",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Phase => "wrong phase or place",
            Self::Cid => "identifier not in use",
            Self::Queue => "another submission queue",
            Self::Other => "unknown cause",
        })
    }
}
