// SPDX-License-Identifier: Apache-2.0
//! Both sides of a queue pair: taken from a simulation, kept as JSON, drawn.

use std::path::Path;
use std::time::Duration;

use forebay_cosim::System;
use forebay_draw::text::{Grid, Page, or_dash};
use forebay_driver::Flight;
use forebay_driver::flight::{
    Ask, Diagnosis, DriveEvent, DriveRecord, DriveSide, Holder, HostEvent, HostHappening, HostSide,
    Verdict,
};
use forebay_model::Ssd;
use forebay_model::ssd::RecordEntry;
use forebay_pipeline::units::count;
use serde::{Deserialize, Serialize};

use crate::failure::Result;
use crate::report;

/// Kind and version of what `forebay vm serve ssd --record` stores.
pub const RECORD_SCHEMA: &str = "forebay.record/1";
/// How long a simulated drive may take for its error log: simulating a second takes minutes.
const LOG_WITHIN: Duration = Duration::from_millis(2);

/// A simulated drive's record as a file.
#[derive(Debug, Serialize, Deserialize)]
pub struct RecordReport {
    /// [`RECORD_SCHEMA`].
    pub schema: String,
    /// Version of the program.
    pub version: String,
    /// The command line.
    pub command_line: Vec<String>,
    /// Always true.
    pub simulated: bool,
    /// Name of the drive's profile.
    pub profile: String,
    /// What the drive has recorded.
    #[serde(flatten)]
    pub record: DriveRecord,
}

impl RecordReport {
    /// Of this drive, now.
    pub fn new(profile: &str, ssd: &Ssd, now: forebay_model::Time) -> Self {
        Self {
            schema: RECORD_SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command_line: report::command_line(),
            simulated: true,
            profile: profile.to_owned(),
            record: record(ssd, now),
        }
    }

    /// Writes it, so that a reader sees either the old file or the whole new one.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn store(&self, path: &Path) -> Result<()> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        report::store_whole(path, &text)
    }
}

/// Both sides of a simulation's queues. Where the RTL has broken down, what is left of them.
pub fn take(system: &mut System) -> Flight {
    let ask = Ask {
        error_log: Some(LOG_WITHIN),
        ..Ask::default()
    };
    // Before our own questions appear in it.
    let record = record(system.ssd(), system.now());
    let taken = system.with_session(|session, system| Flight::take(session, system, &ask));
    taken.unwrap_or_default().with_record(record)
}

/// What a simulated drive has recorded.
pub fn record(ssd: &Ssd, now: forebay_model::Time) -> DriveRecord {
    DriveRecord {
        now_ns: now / forebay_model::NANOSECOND,
        total: ssd.record().total(),
        queues: ssd.queues(),
        events: ssd.record().events().map(event).collect(),
    }
}

fn event(entry: &RecordEntry) -> DriveEvent {
    DriveEvent {
        time_ns: entry.time / forebay_model::NANOSECOND,
        what: entry.event,
        text: entry.event.to_string(),
    }
}

/// The one line that says where it hangs.
fn draw_diagnosis(page: &mut Page, diagnosis: &Diagnosis) {
    let sentence = format_args!("queues: {}", diagnosis.text);
    match diagnosis.verdict {
        // Of other RTL than ours: neither good nor bad.
        Verdict::Unknown => page.line(format_args!("\n  {sentence}")),
        _ => page.verdict(diagnosis.is_healthy(), sentence),
    };
}

/// Draws both sides; of each side's events the last `events`.
pub fn draw(flight: &Flight, page: &mut Page, events: usize) {
    if let Some(host) = &flight.host {
        draw_host(host, page, events);
    }
    if !flight.submission_queue.is_empty() {
        page.heading("Submission queue of the streamer, before its tail");
        let mut grid = Grid::new(">slot | >command |  |  | >PRP 1 | >PRP 2");
        for entry in &flight.submission_queue {
            grid.row([
                entry.slot.to_string(),
                entry.cid.to_string(),
                if entry.open { "open" } else { "" }.to_owned(),
                entry.to_string(),
                format!("{:#x}", entry.prp1),
                format!("{:#x}", entry.prp2),
            ]);
        }
        page.grid(grid);
    }
    draw_drive(&flight.drive, page, events);
    for note in &flight.notes {
        page.line(format_args!("  note: {note}"));
    }
    draw_diagnosis(page, &flight.diagnosis);
}

fn draw_host(host: &HostSide, page: &mut Page, events: usize) {
    page.heading(&format!(
        "Queue {}, {} entries: the side of {}",
        host.queue,
        host.entries,
        match host.holder {
            Holder::Streamer => "the streamer",
            Holder::Driver => "the driver",
        }
    ));
    let known = |value: Option<u32>| value.map_or("not known".into(), |it| it.to_string());
    let state = if host.halted {
        ", halted after a time-out"
    } else {
        ""
    };
    page.field(
        "commands",
        format_args!("{} outstanding{state}", host.outstanding),
    );
    page.field(
        "submission",
        format_args!(
            "tail {}, doorbell {}, fetched up to {}",
            host.sq_tail,
            known(host.sq_doorbell),
            known(host.sq_fetched)
        ),
    );
    let (head, doorbell) = (host.cq_head, known(host.cq_doorbell));
    page.field(
        "completion",
        format_args!(
            "head {head}, doorbell {doorbell}, {} ignored",
            host.ignored.len()
        ),
    );
    let last = last(&host.events, events);
    if last.is_empty() {
        return;
    }
    let mut grid = Grid::new(">ns | >since | event");
    let mut before = None;
    for event in last {
        let since = since(&mut before, event.time_ns);
        grid.row([event.time_ns.to_string(), since, host_event(event)]);
    }
    page.grid(grid);
}

fn host_event(event: &HostEvent) -> String {
    match event.what {
        HostHappening::Submitted {
            slot,
            cid,
            slba,
            blocks,
            opcode,
            ..
        } => format!(
            "slot {slot}: command {cid} submitted, opcode {opcode:#04x}, {blocks} blocks at {slba}"
        ),
        HostHappening::SqDoorbell { value } => format!("submission doorbell, tail {value}"),
        HostHappening::Completed {
            slot, cid, status, ..
        } => format!("slot {slot}: command {cid} completed, status {status:#x}"),
        HostHappening::Ignored {
            slot, cid, cause, ..
        } => format!("slot {slot}: completion of command {cid} ignored: {cause}"),
        HostHappening::CqDoorbell { value } => format!("completion doorbell, head {value}"),
        HostHappening::Other => "unknown".into(),
    }
}

fn draw_drive(drive: &DriveSide, page: &mut Page, events: usize) {
    page.heading("The drive's side");
    if let Some(registers) = &drive.registers {
        let mut states = Vec::new();
        for (state, word) in [
            (registers.gone, "gone"),
            (registers.enabled, "enabled"),
            (registers.ready, "ready"),
            (registers.fatal, "fatal status"),
            (registers.shut_down, "shut down"),
        ] {
            states.extend(state.then_some(word));
        }
        page.field(
            "registers",
            format_args!(
                "CC {:#010x}, CSTS {:#010x}: {}",
                registers.cc,
                registers.csts,
                states.join(", ")
            ),
        );
    }
    if let Some(log) = &drive.error_log {
        page.field(
            "error log",
            format_args!("{} entries", count(log.len() as u64)),
        );
        for entry in log {
            let (queue, cid) = (or_dash(entry.queue), or_dash(entry.cid));
            page.line(format_args!(
                "    error {}: queue {queue}, command {cid}, block {}: {}",
                entry.count, entry.lba, entry.text
            ));
        }
    }
    let Some(record) = &drive.record else { return };
    for queue in &record.queues {
        page.field(
            &format!("queue {}", queue.queue),
            format_args!(
                "tail {}, asked up to {}, fetched up to {}, {} under way, completed up to {} \
                 (head {}), {} wait",
                queue.sq_tail,
                queue.sq_asked,
                queue.sq_head,
                queue.under_way.len(),
                queue.cq_tail,
                queue.cq_head,
                queue.waiting
            ),
        );
    }
    let last = last(&record.events, events);
    page.heading(&format!(
        "Last {} of {} events inside the drive",
        last.len(),
        count(record.total)
    ));
    let mut grid = Grid::new(">ns | >since | event").wrap(2, 72);
    let mut before = None;
    for event in last {
        let since = since(&mut before, event.time_ns);
        grid.row([event.time_ns.to_string(), since, event.text.clone()]);
    }
    page.grid(grid);
}

fn last<T>(events: &[T], most: usize) -> &[T] {
    &events[events.len().saturating_sub(most)..]
}

/// Time since the event before.
fn since(before: &mut Option<u64>, now: u64) -> String {
    let since = before.map_or(0, |before| now.saturating_sub(before));
    *before = Some(now);
    format!("+{since}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_driver::flight::{Cause, DriveRegisters, Ignored, LoggedError, SlotEntry};
    use forebay_spec::nvme::record::{DoorbellVerdict, DriveHappening, DriveQueue};
    use forebay_spec::nvme::{Cqe, Sqe, Status};
    use rand_core::RngCore;
    use rand_pcg::Pcg32;

    /// One of everything.
    fn full() -> Flight {
        let (queue, slot, count, cid) = (1, 7, 2, 3);
        let sqe = Sqe {
            cid,
            ..Sqe::default()
        };
        let cqe = Cqe {
            cid,
            sq_id: queue,
            status: Status::LBA_OUT_OF_RANGE,
            ..Cqe::default()
        };
        let value = 8;
        let events = [
            DriveHappening::SqDoorbell {
                queue,
                value,
                verdict: DoorbellVerdict::Accepted,
            },
            DriveHappening::CqDoorbell {
                queue,
                value,
                verdict: DoorbellVerdict::BadValue,
            },
            DriveHappening::Asked { queue, slot, count },
            DriveHappening::FetchFailed { queue, slot, count },
            DriveHappening::fetched(queue, slot, &sqe),
            DriveHappening::posted(queue, slot, &cqe),
            DriveHappening::Delayed { queue, cid },
            DriveHappening::Enabled,
            DriveHappening::Ready,
            DriveHappening::Disabled,
            DriveHappening::Shutdown,
            DriveHappening::FunctionReset,
            DriveHappening::Fatal,
            DriveHappening::NotReady,
        ];
        let events = events.map(|what| {
            event(&RecordEntry {
                time: 5_000_000,
                event: what,
            })
        });
        let cause = Cause::Cid;
        let host = HostSide {
            queue,
            entries: 64,
            halted: true,
            outstanding: 1,
            open: vec![cid],
            sq_tail: 8,
            sq_doorbell: Some(8),
            ignored: vec![Ignored { cid, cause }],
            events: vec![HostEvent {
                time_ns: 1,
                what: HostHappening::CqDoorbell { value: 3 },
            }],
            ..HostSide::default()
        };
        let flight = Flight {
            host: Some(host),
            submission_queue: vec![SlotEntry::default()],
            drive: DriveSide {
                registers: Some(DriveRegisters::new(1, 1)),
                error_log: Some(vec![LoggedError::default()]),
                record: None,
            },
            notes: vec!["a note".into()],
            diagnosis: Diagnosis::default(),
        };
        flight.with_record(DriveRecord {
            now_ns: 9000,
            total: 14,
            queues: vec![DriveQueue {
                queue,
                entries: 64,
                sq_tail: 8,
                sq_asked: 8,
                sq_head: 8,
                ..DriveQueue::default()
            }],
            events: events.into(),
        })
    }

    #[test]
    fn what_is_stored_is_read_back() {
        let flight = full();
        assert_eq!(flight.diagnosis.verdict, Verdict::CompletionIgnored);
        let text = serde_json::to_string(&flight).expect("is written");
        let read: Flight = serde_json::from_str(&text).expect("is read");
        assert_eq!(read, flight);
        // A later version may know more.
        let text = text.replace("\"not-ready\"", "\"melted\"");
        let read: Flight = serde_json::from_str(&text).expect("is read");
        let record = read.drive.record.expect("is there");
        assert_eq!(
            record.events.last().map(|it| it.what),
            Some(DriveHappening::Other)
        );
        assert!(serde_json::from_str::<Flight>("{}").is_ok());
    }

    #[test]
    fn damaged_files_are_refused_or_drawn() {
        let good = serde_json::to_string(&full()).expect("is written");
        let mut random = Pcg32::new(1, 1);
        let mut below = |limit: usize| random.next_u32() as usize % limit;
        let mut drawn = 0;
        for _ in 0..4000 {
            let mut bytes = good.clone().into_bytes();
            for _ in 0..=below(3) {
                let at = below(bytes.len());
                match below(4) {
                    0 => bytes[at] = below(256) as u8,
                    1 => drop(bytes.remove(at)),
                    2 => bytes.truncate(at.max(1)),
                    // Numbers grow, which leaves the file well-formed.
                    _ if bytes[at].is_ascii_digit() => bytes.insert(at, b'9'),
                    _ => {}
                }
            }
            let Ok(flight) = serde_json::from_slice::<Flight>(&bytes) else {
                continue;
            };
            drawn += 1;
            draw(&flight, &mut Page::simulated("damaged"), 99);
            let record = flight.drive.record.clone().unwrap_or_default();
            let flight = flight.with_record(record);
            assert!(!flight.diagnosis.text.is_empty());
        }
        assert!(drawn > 100, "{drawn}");
    }
}
