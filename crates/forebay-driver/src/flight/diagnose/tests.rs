// SPDX-License-Identifier: Apache-2.0
//! Each way to hang, and what is said of it.

use super::super::{DriveEvent, Ignored};
use super::*;

const READY: DriveRegisters = DriveRegisters {
    cc: 1,
    csts: 1,
    gone: false,
    enabled: true,
    ready: true,
    fatal: false,
    shut_down: false,
};

/// A streamer that has submitted up to `tail`, with these commands outstanding.
fn host(tail: u32, open: &[u16]) -> HostSide {
    HostSide {
        queue: 1,
        entries: 64,
        enabled: true,
        outstanding: open.len() as u32,
        open: open.to_vec(),
        sq_tail: tail,
        sq_doorbell: Some(tail),
        sq_fetched: Some(tail),
        ..HostSide::default()
    }
}

/// A drive that has fetched up to `tail`, with these commands under way.
fn drive(tail: u32, under_way: &[u16]) -> DriveSide {
    let queue = DriveQueue {
        queue: 1,
        entries: 64,
        sq_tail: tail,
        sq_asked: tail,
        sq_head: tail,
        completion_queue: 1,
        under_way: under_way.to_vec(),
        ..DriveQueue::default()
    };
    DriveSide {
        registers: Some(READY),
        error_log: None,
        record: Some(DriveRecord {
            now_ns: 1000,
            total: 0,
            queues: vec![DriveQueue::default(), queue],
            events: Vec::new(),
        }),
    }
}

fn happens(drive: &mut DriveSide, what: DriveHappening) {
    let record = drive.record.as_mut().expect("made with one");
    let time_ns = 100 * (record.events.len() as u64 + 1);
    let text = String::new();
    record.events.push(DriveEvent {
        time_ns,
        what,
        text,
    });
}

fn fetched(cid: u16) -> DriveHappening {
    DriveHappening::Fetched {
        queue: 1,
        slot: 0,
        cid,
        opcode: 1,
        nsid: 1,
        slba: 32,
        blocks: 16,
        prp1: 0,
        prp2: 0,
    }
}

fn posted(cid: u16) -> DriveHappening {
    DriveHappening::Posted {
        queue: 1,
        slot: 0,
        sq_id: 1,
        cid,
        status: 0,
        phase: true,
        sq_head: 1,
    }
}

/// Checks verdict and words.
fn says(host: &HostSide, drive: &DriveSide, verdict: Verdict, words: &[&str]) {
    let found = diagnose(Some(host), drive);
    assert_eq!(found.verdict, verdict, "{}", found.text);
    for word in words {
        assert!(found.text.contains(word), "{word:?} in {:?}", found.text);
    }
}

#[test]
fn nothing_is_wrong() {
    let found = diagnose(Some(&host(12, &[])), &drive(12, &[]));
    assert!(found.is_healthy());
    assert!(found.text.starts_with("nothing hangs"));
    let mut real = drive(12, &[]);
    real.record = None;
    assert!(diagnose(Some(&host(12, &[])), &real).is_healthy());
}

#[test]
fn a_lost_doorbell() {
    let host = host(12, &[5, 6, 7, 8, 9, 10, 11]);
    let drive = drive(10, &[8, 9]);
    let words = [
        "7 commands outstanding",
        "has fetched 5, completed 3",
        "doorbell 12 was written by the streamer and never arrived at the drive",
        "posted 3 completions",
        "does not complete command 8, command 9",
    ];
    says(&host, &drive, Verdict::DoorbellLost, &words);
}

#[test]
fn a_refused_doorbell() {
    let mut drive = drive(10, &[]);
    let refused = DriveHappening::SqDoorbell {
        queue: 1,
        value: 12,
        verdict: DoorbellVerdict::BadValue,
    };
    happens(&mut drive, refused);
    let words = ["doorbell 12 arrived at the drive, which refused it"];
    says(
        &host(12, &[10, 11]),
        &drive,
        Verdict::DoorbellRefused,
        &words,
    );
}

#[test]
fn a_doorbell_that_was_never_rung() {
    let mut host = host(12, &[10, 11]);
    host.sq_doorbell = Some(10);
    let words = ["has rung no doorbell for 2", "the last was 10"];
    says(&host, &drive(10, &[]), Verdict::NotAnnounced, &words);
}

#[test]
fn entries_that_are_not_read() {
    let mut asked = drive(12, &[]);
    let queue = |drive: &mut DriveSide, asked, head| {
        let queue = &mut drive.record.as_mut().expect("there").queues[1];
        (queue.sq_asked, queue.sq_head) = (asked, head);
    };
    queue(&mut asked, 12, 10);
    let words = ["asked for 2 entries from slot 10 on and got no answer"];
    says(&host(12, &[10, 11]), &asked, Verdict::NotFetched, &words);
    queue(&mut asked, 11, 11);
    let words = [
        "1 entry from slot 11",
        "does not fetch",
        "posted 1 completion ",
    ];
    says(&host(12, &[10, 11]), &asked, Verdict::NotFetched, &words);
}

#[test]
fn a_command_that_is_not_completed() {
    let mut host = host(8, &[2]);
    host.halted = true;
    let mut drive = drive(8, &[2]);
    happens(&mut drive, fetched(2));
    let words = [
        "1 command outstanding",
        "command 2 (write of 16 blocks at 32, fetched 900 ns ago)",
        "halted after a time-out",
    ];
    says(&host, &drive, Verdict::NotCompleted, &words);
}

#[test]
fn a_lost_completion() {
    let mut drive = drive(8, &[]);
    happens(&mut drive, fetched(4));
    happens(&mut drive, posted(4));
    let words = ["posted the completion of command 4 which never arrived"];
    says(&host(8, &[4]), &drive, Verdict::CompletionLost, &words);
}

#[test]
fn an_ignored_completion() {
    let mut host = host(8, &[4]);
    let cause = Cause::Phase;
    host.ignored.push(Ignored { cid: 4, cause });
    let mut drive = drive(8, &[]);
    happens(&mut drive, posted(4));
    let words = [
        "posted a completion for command 4 which the streamer ignored (wrong phase",
        "1 command outstanding",
    ];
    says(&host, &drive, Verdict::CompletionIgnored, &words);
    drive.record = None;
    says(&host, &drive, Verdict::CompletionIgnored, &["command 4"]);
}

#[test]
fn a_full_completion_queue() {
    let mut host = host(8, &[6, 7]);
    host.cq_doorbell = Some(5);
    let mut drive = drive(8, &[]);
    let queue = &mut drive.record.as_mut().expect("there").queues[1];
    (queue.waiting, queue.cq_head) = (2, 3);
    let words = [
        "2 completions kept",
        "doorbell 5",
        "never arrived at the drive",
    ];
    says(&host, &drive, Verdict::CompletionQueueFull, &words);
    host.cq_doorbell = Some(3);
    says(&host, &drive, Verdict::CompletionQueueFull, &["taken none"]);
}

#[test]
fn odd_completions_while_nothing_hangs() {
    let mut host = host(8, &[]);
    let cause = Cause::Cid;
    host.ignored.push(Ignored { cid: 4, cause });
    let mut twice = drive(8, &[]);
    happens(&mut twice, fetched(4));
    happens(&mut twice, posted(4));
    happens(&mut twice, posted(4));
    let words = ["nothing hangs", "completed command 4 twice"];
    says(&host, &twice, Verdict::CompletionDuplicate, &words);
    // The streamer remembers 12 bits of the identifier.
    host.ignored[0].cid = 0xfff;
    let mut unknown = drive(8, &[]);
    happens(&mut unknown, posted(0xffff));
    let words = ["command 65535, which it had never been sent"];
    says(&host, &unknown, Verdict::CompletionUnknown, &words);
    unknown.record = None;
    says(
        &host,
        &unknown,
        Verdict::CompletionOdd,
        &["not outstanding"],
    );
    host.ignored[0].cause = Cause::Phase;
    says(&host, &unknown, Verdict::CompletionOdd, &["wrong phase"]);
}

#[test]
fn a_drive_that_cannot_answer() {
    let registers = |cc, csts| DriveSide {
        registers: Some(DriveRegisters::new(cc, csts)),
        ..drive(8, &[])
    };
    let host = host(8, &[1, 2]);
    let gone = ["2 commands outstanding", "the drive is gone"];
    says(&host, &registers(!0, !0), Verdict::DriveGone, &gone);
    says(&host, &registers(1, 3), Verdict::DriveFatal, &["CSTS.CFS"]);
    says(
        &host,
        &registers(0, 0),
        Verdict::DriveNotReady,
        &["CC.EN is 0"],
    );
    says(
        &host,
        &registers(1, 0),
        Verdict::DriveNotReady,
        &["not ready"],
    );
    says(
        &host,
        &registers(1, 9),
        Verdict::DriveNotReady,
        &["shut down"],
    );
    let mut refused = registers(1, 2);
    let (queue, slot, count) = (1, 7, 1);
    happens(
        &mut refused,
        DriveHappening::FetchFailed { queue, slot, count },
    );
    happens(&mut refused, DriveHappening::Fatal);
    let words = ["at 200 ns", "refused (queue 1, slot 7)"];
    says(&host, &refused, Verdict::DriveFatal, &words);
    // Without a host, too.
    let found = diagnose(None, &registers(!0, !0));
    assert_eq!(found.verdict, Verdict::DriveGone);
    assert_eq!(diagnose(None, &drive(8, &[])).verdict, Verdict::Unknown);
}

#[test]
fn a_drive_that_has_forgotten_the_queue() {
    let mut drive = drive(8, &[]);
    drive.record.as_mut().expect("there").queues.truncate(1);
    let words = ["the drive has no queue 1 any more"];
    says(&host(8, &[1]), &drive, Verdict::QueueMissing, &words);
}

#[test]
fn a_real_drive_has_no_record() {
    let drive = DriveSide {
        registers: Some(READY),
        ..DriveSide::default()
    };
    let words = ["fetched all and not completed command 3"];
    says(&host(8, &[3]), &drive, Verdict::NotCompleted, &words);
    let mut behind = host(8, &[6, 7]);
    behind.sq_fetched = Some(6);
    let words = ["2 entries less than doorbell 8 announced"];
    says(&behind, &drive, Verdict::NotFetched, &words);
    let mut unread = host(8, &[7]);
    unread.sq_fetched = None;
    let words = ["has read no entry since doorbell 8"];
    says(&unread, &drive, Verdict::NotFetched, &words);
    let mut silent = host(8, &[]);
    (silent.outstanding, silent.sq_doorbell, silent.sq_fetched) = (9, None, None);
    let words = ["no completion has come for 9 commands"];
    says(&silent, &drive, Verdict::NotCompleted, &words);
    let mut unrung = host(8, &[7]);
    unrung.sq_doorbell = Some(7);
    says(
        &unrung,
        &drive,
        Verdict::NotAnnounced,
        &["no doorbell for 1"],
    );
}

#[test]
fn long_lists_are_cut() {
    let cids: Vec<u16> = (0..9).collect();
    let drive = drive(9, &cids);
    says(
        &host(9, &cids),
        &drive,
        Verdict::NotCompleted,
        &["3 and 5 more"],
    );
}

mod any {
    use super::*;
    use crate::inspect::StreamerStatus;
    use proptest::prelude::*;

    proptest! {
        /// Whatever the registers of a streamer and a drive hold, something is said of it.
        #[test]
        fn registers_never_panic(
            trace in prop::collection::vec(any::<u64>(), 0..80),
            (entries, outstanding, queue) in any::<(u32, u32, u16)>(),
            (cc, csts) in any::<(u32, u32)>(),
        ) {
            let status = StreamerStatus {
                ready: true,
                halted: queue % 2 == 0,
                idle: false,
                enabled: true,
                lost: 0,
                outstanding,
                write_pages: 0,
                read_pages: 0,
            };
            let host = HostSide::of_registers(&status, &trace, &[], queue, entries);
            let side = DriveSide {
                registers: Some(DriveRegisters::new(cc, csts)),
                ..DriveSide::default()
            };
            prop_assert!(!diagnose(Some(&host), &side).text.is_empty());
        }

        /// Nor do numbers from a file that was changed by hand.
        #[test]
        fn numbers_never_panic(
            (entries, outstanding, tail) in (0..9u32, any::<u32>(), any::<u32>()),
            places in any::<[u32; 5]>(),
            cids in prop::collection::vec(0..6u16, 0..8),
            happenings in prop::collection::vec((0..4u8, 0..6u16, any::<u64>()), 0..20),
        ) {
            let mut host = host(tail, &cids);
            (host.entries, host.outstanding) = (entries, outstanding);
            host.sq_doorbell = (places[0] % 3 > 0).then_some(places[0]);
            host.sq_fetched = (places[1] % 3 > 0).then_some(places[1]);
            for cid in &cids {
                let causes = [Cause::Phase, Cause::Cid, Cause::Queue, Cause::Other];
                let cause = causes[places[2] as usize % 4];
                host.ignored.push(Ignored { cid: *cid, cause });
            }
            let mut side = drive(places[3], &cids);
            for (kind, cid, time_ns) in happenings {
                happens(&mut side, match kind {
                    0 => fetched(cid),
                    1 => posted(cid),
                    2 => DriveHappening::Fatal,
                    _ => DriveHappening::SqDoorbell {
                        queue: 1,
                        value: u32::from(cid),
                        verdict: (cid % 2 == 0).into(),
                    },
                });
                if let Some(event) = side.record.as_mut().and_then(|it| it.events.last_mut()) {
                    event.time_ns = time_ns;
                }
            }
            if let Some(record) = side.record.as_mut() {
                let queue = &mut record.queues[1];
                (queue.sq_asked, queue.sq_head) = (places[4], places[2]);
                queue.waiting = places[1] % 2;
            }
            prop_assert!(!diagnose(Some(&host), &side).text.is_empty());
            side.record = None;
            prop_assert!(!diagnose(Some(&host), &side).text.is_empty());
        }
    }
}
