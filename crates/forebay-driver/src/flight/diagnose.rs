// SPDX-License-Identifier: Apache-2.0
//! Where a queue hangs, from what both sides say.

use forebay_spec::nvme::record::{DoorbellVerdict, DriveHappening, DriveQueue};
use serde::{Deserialize, Serialize};

use super::drive::{DriveRecord, DriveRegisters, DriveSide};
use super::host::{Cause, Holder, HostSide};
use super::window::command;

/// Commands that a sentence names one by one.
const NAMED: usize = 4;

/// Where it hangs, for programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Nothing hangs and nothing was odd.
    Healthy,
    /// The drive's registers read as all ones.
    DriveGone,
    /// The drive reports a fatal status.
    DriveFatal,
    /// The drive is disabled, not ready or shut down.
    DriveNotReady,
    /// The drive has no such queue any more.
    QueueMissing,
    /// Commands were submitted and no doorbell was rung for them.
    NotAnnounced,
    /// A doorbell was rung and did not arrive at the drive.
    DoorbellLost,
    /// A doorbell arrived at the drive, which did not accept it.
    DoorbellRefused,
    /// Entries are announced and not fetched.
    NotFetched,
    /// Commands are fetched and not completed.
    NotCompleted,
    /// Completions wait in the drive, since the completion queue is full to its knowledge.
    CompletionQueueFull,
    /// A completion was posted, and not accepted.
    CompletionIgnored,
    /// A completion was posted, and never seen.
    CompletionLost,
    /// Nothing hangs, but a command was completed twice.
    CompletionDuplicate,
    /// Nothing hangs, but a command was completed that the host had not sent.
    CompletionUnknown,
    /// Nothing hangs, but a completion came that could not be.
    CompletionOdd,
    /// Too little is known.
    #[default]
    #[serde(other)]
    Unknown,
}

/// Where it hangs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Diagnosis {
    /// For programs.
    pub verdict: Verdict,
    /// In one line, for people.
    pub text: String,
}

impl Diagnosis {
    fn new(verdict: Verdict, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { verdict, text }
    }

    /// Nothing is wrong.
    pub fn is_healthy(&self) -> bool {
        self.verdict == Verdict::Healthy
    }
}

/// Compares both sides; any of it may be missing.
///
/// What is under way in the moment of asking looks as if it hung: ask when nothing moves any more.
pub fn diagnose(host: Option<&HostSide>, drive: &DriveSide) -> Diagnosis {
    let record = drive.record.as_ref();
    let outstanding = host.map_or(0, |host| host.outstanding);
    let prefix = match outstanding {
        0 => String::new(),
        count => format!("{} outstanding; ", commands(count)),
    };
    if let Some(found) = drive.registers.and_then(|it| stopped(&it, record)) {
        return Diagnosis::new(found.verdict, prefix + &found.text);
    }
    let Some(host) = host else {
        let text = "nothing is known of the side that submits";
        return Diagnosis::new(Verdict::Unknown, text);
    };
    let mut found = match record {
        _ if host.outstanding == 0 => at_rest(host, record),
        None => without_record(host),
        Some(record) => match record.queue(host.queue) {
            Some(queue) => hung(host, record, queue),
            None => {
                let text = format!("the drive has no queue {} any more", host.queue);
                Diagnosis::new(Verdict::QueueMissing, text)
            }
        },
    };
    found.text.insert_str(0, &prefix);
    if host.halted {
        let after = format!("; {} has halted after a time-out", host.name());
        found.text.push_str(&after);
    }
    found
}

/// A drive that can answer nothing.
fn stopped(registers: &DriveRegisters, record: Option<&DriveRecord>) -> Option<Diagnosis> {
    let last = |wanted: fn(&DriveHappening) -> bool| {
        let events = &record?.events;
        let index = events.iter().rposition(|event| wanted(&event.what))?;
        let before = index.checked_sub(1).and_then(|before| events.get(before));
        Some((events.get(index)?.time_ns, before.map(|event| event.what)))
    };
    let (verdict, text) = if registers.gone {
        let text = "the drive is gone: all bits of its registers read as one".into();
        (Verdict::DriveGone, text)
    } else if registers.fatal {
        let mut text = "the drive has stopped with a fatal status (CSTS.CFS)".to_owned();
        if let Some((time, before)) = last(|what| *what == DriveHappening::Fatal) {
            text += &format!(" at {time} ns");
            if let Some(DriveHappening::FetchFailed { queue, slot, .. }) = before {
                text += &format!(
                    ", since its read of submission entries was refused (queue {queue}, slot \
                     {slot})"
                );
            }
        }
        (Verdict::DriveFatal, text)
    } else if registers.shut_down {
        let text = "the drive has been shut down (CSTS.SHST)".into();
        (Verdict::DriveNotReady, text)
    } else if !registers.enabled {
        let text = "the drive is disabled (CC.EN is 0)".into();
        (Verdict::DriveNotReady, text)
    } else if !registers.ready {
        let mut text = "the drive is enabled, but not ready (CSTS.RDY is 0)".to_owned();
        if let Some((time, _)) = last(|what| *what == DriveHappening::NotReady) {
            text += &format!(": it ceased to be at {time} ns");
        }
        (Verdict::DriveNotReady, text)
    } else {
        return None;
    };
    Some(Diagnosis::new(verdict, text))
}

/// Commands are outstanding, and the drive's own record is there.
fn hung(host: &HostSide, record: &DriveRecord, queue: &DriveQueue) -> Diagnosis {
    let lap = host.entries;
    let unknown = distance(lap, queue.sq_tail, host.sq_tail);
    let unasked = distance(lap, queue.sq_asked, queue.sq_tail);
    let unanswered = distance(lap, queue.sq_head, queue.sq_asked);
    let fetched = host
        .outstanding
        .saturating_sub(unknown)
        .saturating_sub(unasked)
        .saturating_sub(unanswered);
    let under_way = u32::try_from(queue.under_way.len()).unwrap_or(u32::MAX);
    let completed = fetched.saturating_sub(under_way);
    let counts = format!("the drive has fetched {fetched}, completed {completed}");
    let mut clauses: Vec<Diagnosis> = Vec::new();
    if unknown > 0 {
        clauses.push(unannounced(host, record, queue, unknown));
    }
    if unanswered > 0 {
        let text = format!(
            "the drive has asked for {} from slot {} on and got no answer",
            count(unanswered, "entry", "entries"),
            queue.sq_head
        );
        clauses.push(Diagnosis::new(Verdict::NotFetched, text));
    }
    if unasked > 0 {
        let text = format!(
            "the drive knows of {} from slot {} on and does not fetch more",
            count(unasked, "entry", "entries"),
            queue.sq_asked
        );
        clauses.push(Diagnosis::new(Verdict::NotFetched, text));
    }
    if queue.waiting > 0 {
        clauses.push(full(host, queue));
    } else if completed > 0 {
        clauses.push(untaken(host, record, queue, completed));
    }
    if under_way > 0 {
        let names = named(host, record, &queue.under_way);
        let text = format!("the drive does not complete {names}");
        clauses.push(Diagnosis::new(Verdict::NotCompleted, text));
    }
    let verdict = clauses.first().map_or(Verdict::Unknown, |it| it.verdict);
    let texts = clauses.into_iter().map(|clause| clause.text);
    let text = std::iter::once(counts).chain(texts).collect::<Vec<_>>();
    Diagnosis::new(verdict, text.join("; "))
}

/// The drive does not know of submissions.
fn unannounced(
    host: &HostSide,
    record: &DriveRecord,
    queue: &DriveQueue,
    unknown: u32,
) -> Diagnosis {
    let (name, known) = (host.name(), queue.sq_tail);
    let Some(value) = host.sq_doorbell else {
        let text = format!(
            "the drive knows of tail {known}, {name} is at {}",
            host.sq_tail
        );
        return Diagnosis::new(Verdict::DoorbellLost, text);
    };
    if value == known {
        let text = format!("{name} has rung no doorbell for {unknown}, the last was {value}");
        return Diagnosis::new(Verdict::NotAnnounced, text);
    }
    let arrived = record
        .events
        .iter()
        .rev()
        .find_map(|event| match event.what {
            DriveHappening::SqDoorbell {
                queue,
                value: seen,
                verdict,
            } if queue == host.queue && seen == value => Some(verdict),
            _ => None,
        });
    if arrived.is_some_and(|verdict| verdict != DoorbellVerdict::Accepted) {
        let text = format!("doorbell {value} arrived at the drive, which refused it");
        return Diagnosis::new(Verdict::DoorbellRefused, text);
    }
    let mut text = format!("doorbell {value} was written by {name} and never arrived at the drive");
    if host.doorbell_errors > 0 {
        text += &format!(" ({} doorbell writes had errors)", host.doorbell_errors);
    }
    Diagnosis::new(Verdict::DoorbellLost, text)
}

/// Completions wait in the drive.
fn full(host: &HostSide, queue: &DriveQueue) -> Diagnosis {
    let head = queue.cq_head;
    let waiting = count(queue.waiting, "completion", "completions");
    let what = match host.cq_doorbell {
        Some(value) if value != head => format!(
            "doorbell {value} was written by {} and never arrived at the drive",
            host.name()
        ),
        _ => format!("{} has taken none of them", host.name()),
    };
    let text = format!(
        "{waiting} kept in the drive, since the completion queue is full from {head} on: {what}"
    );
    Diagnosis::new(Verdict::CompletionQueueFull, text)
}

/// The drive has completed what the host still waits for.
fn untaken(host: &HostSide, record: &DriveRecord, queue: &DriveQueue, completed: u32) -> Diagnosis {
    let name = host.name();
    let posted = |cid: u16| {
        !queue.under_way.iter().any(|it| host.is_same(cid, *it))
            && record.events.iter().any(|event| match event.what {
                DriveHappening::Posted { sq_id, cid: it, .. } => {
                    sq_id == host.queue && host.is_same(cid, it)
                }
                _ => false,
            })
    };
    let open: Vec<u16> = host.open.iter().copied().filter(|it| posted(*it)).collect();
    let ignored = |cid: u16| host.ignored.iter().rev().find(|it| it.cid == cid);
    if let Some((cid, ignored)) = open.iter().find_map(|cid| Some((cid, ignored(*cid)?))) {
        let text = format!(
            "the drive posted a completion for command {cid} which {name} ignored ({})",
            ignored.cause
        );
        return Diagnosis::new(Verdict::CompletionIgnored, text);
    }
    let late = if host.halted {
        "which never arrived, or after the time-out"
    } else {
        "which never arrived"
    };
    let text = match open.as_slice() {
        [] => {
            let what = count(completed, "completion", "completions");
            format!("the drive posted {what} {late} at {name}")
        }
        cids => format!(
            "the drive posted the completion of {} {late} at {name}",
            list(cids)
        ),
    };
    Diagnosis::new(Verdict::CompletionLost, text)
}

/// Commands are outstanding, and only the host's side is known.
fn without_record(host: &HostSide) -> Diagnosis {
    let lap = host.entries;
    let name = host.name();
    if let Some(rung) = host.sq_doorbell {
        let unrung = distance(lap, rung, host.sq_tail);
        if unrung > 0 {
            let text = format!("{name} has rung no doorbell for {unrung}, the last was {rung}");
            return Diagnosis::new(Verdict::NotAnnounced, text);
        }
        // The streamer's trace would hold a later reading.
        if host.sq_fetched.is_none() && host.holder == Holder::Streamer {
            let text = format!(
                "the drive has read no entry since doorbell {rung} was written: it never got the \
                 doorbell, or cannot read {name}'s queue"
            );
            return Diagnosis::new(Verdict::NotFetched, text);
        }
        if let Some(fetched) = host.sq_fetched
            && distance(lap, fetched, rung) > 0
        {
            let left = distance(lap, fetched, rung);
            let text = format!(
                "the drive has read {} less than doorbell {rung} announced: it never got the \
                 doorbell, or cannot read {name}'s queue",
                count(left, "entry", "entries")
            );
            return Diagnosis::new(Verdict::NotFetched, text);
        }
    }
    let known = |cid: &u16| host.ignored.iter().rev().find(|it| it.cid == *cid);
    if let Some(ignored) = host.open.iter().find_map(known) {
        let text = format!(
            "a completion for command {} came which {name} ignored ({})",
            ignored.cid, ignored.cause
        );
        return Diagnosis::new(Verdict::CompletionIgnored, text);
    }
    let which = match host.open.as_slice() {
        [] => commands(host.outstanding),
        cids => list(cids),
    };
    let text = match host.sq_fetched {
        Some(_) => format!(
            "the drive has fetched all and not completed {which}, or its completions never \
             arrived at {name}"
        ),
        None => format!("no completion has come for {which}; what the drive has read is unknown"),
    };
    Diagnosis::new(Verdict::NotCompleted, text)
}

/// Nothing is outstanding; was anything odd?
fn at_rest(host: &HostSide, record: Option<&DriveRecord>) -> Diagnosis {
    let Some(ignored) = host.ignored.last() else {
        let text = "nothing hangs: no command is outstanding, no completion was ignored";
        return Diagnosis::new(Verdict::Healthy, text);
    };
    let (cid, cause, name) = (ignored.cid, ignored.cause, host.name());
    let (verdict, what) = match cause {
        Cause::Cid => match record.and_then(|record| completed(host, record, cid)) {
            Some((cid, false)) => (
                Verdict::CompletionUnknown,
                format!("the drive completed command {cid}, which it had never been sent"),
            ),
            Some((cid, true)) => (
                Verdict::CompletionDuplicate,
                format!("the drive completed command {cid} twice"),
            ),
            None => (
                Verdict::CompletionOdd,
                format!("a completion came for command {cid}, which was not outstanding"),
            ),
        },
        cause => (
            Verdict::CompletionOdd,
            format!("a completion came for command {cid} that cannot be ({cause})"),
        ),
    };
    let more = match host.ignored.len() {
        1 => String::new(),
        count => format!(", the last of {count}"),
    };
    let text = format!("nothing hangs, but {what}; {name} ignored it{more}");
    Diagnosis::new(verdict, text)
}

/// The identifier with which the drive has completed a command, and whether it had fetched that;
/// none where its record does not reach back to the completion.
fn completed(host: &HostSide, record: &DriveRecord, cid: u16) -> Option<(u16, bool)> {
    let completed = record
        .events
        .iter()
        .rev()
        .find_map(|event| match event.what {
            DriveHappening::Posted { sq_id, cid: it, .. } if sq_id == host.queue => {
                host.is_same(cid, it).then_some(it)
            }
            _ => None,
        })?;
    let fetched = record.events.iter().any(|event| match event.what {
        DriveHappening::Fetched { queue, cid, .. } => queue == host.queue && cid == completed,
        _ => false,
    });
    Some((completed, fetched))
}

/// Commands by identifier, what they do and since when the drive has them.
fn named(host: &HostSide, record: &DriveRecord, cids: &[u16]) -> String {
    let name = |cid: &u16| {
        let fetched = record
            .events
            .iter()
            .rev()
            .find_map(|event| match event.what {
                DriveHappening::Fetched {
                    queue,
                    cid: it,
                    opcode,
                    slba,
                    blocks,
                    ..
                } if queue == host.queue && it == *cid => {
                    let age = record.now_ns.saturating_sub(event.time_ns);
                    Some((command(opcode, slba, blocks), age))
                }
                _ => None,
            });
        match fetched {
            Some((what, age)) => format!("command {cid} ({what}, fetched {age} ns ago)"),
            None => format!("command {cid}"),
        }
    };
    let names: Vec<_> = cids.iter().take(NAMED).map(name).collect();
    shortened(names.join(", "), cids.len())
}

fn list(cids: &[u16]) -> String {
    let names: Vec<_> = cids.iter().take(NAMED).map(u16::to_string).collect();
    let word = if cids.len() == 1 {
        "command"
    } else {
        "commands"
    };
    shortened(format!("{word} {}", names.join(", ")), cids.len())
}

fn shortened(names: String, count: usize) -> String {
    match count.checked_sub(NAMED + 1) {
        None => names,
        Some(more) => format!("{names} and {} more", more + 1),
    }
}

fn commands(number: u32) -> String {
    count(number, "command", "commands")
}

fn count(number: u32, one: &str, many: &str) -> String {
    let word = if number == 1 { one } else { many };
    format!("{number} {word}")
}

/// Entries from one index to another in a queue of `lap` entries.
fn distance(lap: u32, from: u32, to: u32) -> u32 {
    let lap = i64::from(lap.max(1));
    let places = (i64::from(to) - i64::from(from)).rem_euclid(lap);
    places as u32
}

#[cfg(test)]
mod tests;
