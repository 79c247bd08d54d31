// SPDX-License-Identifier: Apache-2.0
//! Both sides of a queue, over a bus: what is read, from broken devices, too.

use std::cell::Cell;
use std::time::Duration;

use crate::support::Random;
use crate::support::chaos::Chaos;
use crate::support::fake::Fake;
use forebay_driver::flight::{Ask, Cause, HOST_EVENTS, Holder, HostHappening, Ignored, Verdict};
use forebay_driver::{Bus, Flight, Options, QueuePlacement, Session, Span, bring_up};
use forebay_spec::nvme::log::ErrorEntry;
use forebay_spec::nvme::{Cqe, IoOpcode, Sqe, Status};
use forebay_spec::streamer::regs;

fn up(placement: QueuePlacement) -> (Fake, Session) {
    let mut fake = Fake::new();
    let options = Options {
        placement,
        queue_entries: 8,
        ..Options::default()
    };
    let session = bring_up(&mut fake, &options).expect("comes up");
    (fake, session)
}

/// A word of the streamer's trace.
fn word(kind: u64, cid: u64, detail: u64) -> u64 {
    kind << 32 | cid << 36 | detail << 48
}

/// The streamer has submitted commands 0 to 2; 1 is outstanding.
fn fill(fake: &mut Fake) {
    let events = [
        word(1, 0, 0),
        word(1, 1, 1),
        word(1, 2, 2),
        word(2, 0, 3),
        word(3, 0, 2),
        word(4, 0, 3),
        word(7, 9, 2),
        word(4, 2, 3),
        word(8, 0, 3),
    ];
    for (offset, event) in (regs::trace::OFFSET..).step_by(8).zip(events) {
        fake.streamer.insert(offset, event);
    }
    let head = events.len() as u64;
    fake.streamer.insert(regs::trace_head::OFFSET, head);
    fake.streamer.insert(regs::write_commands::OFFSET, 3);
    fake.streamer.insert(regs::completions::OFFSET, 2);
    fake.streamer.insert(regs::rogue_cid::OFFSET, 1);
    fake.outstanding = 1;
    for slot in 0..8 {
        let mut sqe = Sqe::transfer(IoOpcode::Write, 1, 100 * slot, 8).with_prps(0x5000, 0x6000);
        sqe.cid = slot as u16;
        for (n, bytes) in (0..).zip(sqe.to_bytes().as_chunks().0) {
            let at = 64 * slot + 8 * n;
            fake.queue_window.insert(at, u64::from_le_bytes(*bytes));
        }
    }
}

#[test]
fn the_streamers_side_is_read() {
    let (mut fake, mut session) = up(QueuePlacement::Fpga);
    fill(&mut fake);
    fake.error_log = vec![
        ErrorEntry {
            count: 7,
            sq_id: 1,
            cid: 3,
            status: Status::UNRECOVERED_READ_ERROR,
            lba: 99,
            nsid: 1,
        },
        ErrorEntry {
            count: 6,
            sq_id: 0xffff,
            cid: 0xffff,
            ..ErrorEntry::default()
        },
        // No smaller: what stands from here on is no log any more.
        ErrorEntry {
            count: 8,
            ..ErrorEntry::default()
        },
    ];
    let flight = Flight::take(&mut session, &mut fake, &Ask::default());
    let host = flight.host.as_ref().expect("there");
    assert_eq!(host.holder, Holder::Streamer);
    assert_eq!((host.queue, host.entries, host.outstanding), (1, 8, 1));
    assert_eq!((host.sq_tail, host.cq_head), (3, 3));
    assert_eq!(
        (host.sq_doorbell, host.sq_fetched, host.cq_doorbell),
        (Some(3), Some(3), Some(3))
    );
    assert_eq!(host.open, [1]);
    let cause = Cause::Cid;
    assert_eq!(host.ignored, [Ignored { cid: 9, cause }]);
    let slots = flight.submission_queue.iter();
    let slots: Vec<_> = slots
        .map(|it| (it.slot, it.cid, it.open, it.slba))
        .collect();
    assert_eq!(
        slots,
        [(0, 0, false, 0), (1, 1, true, 100), (2, 2, false, 200)]
    );
    let words = flight.submission_queue[1].to_string();
    assert_eq!(words, "write of 8 blocks at 100");
    assert_eq!(flight.submission_queue[1].prp2, 0x6000);
    let log = flight.drive.error_log.as_ref().expect("answers");
    assert_eq!(log.len(), 2);
    assert_eq!(
        (log[0].queue, log[0].cid, log[0].lba),
        (Some(1), Some(3), 99)
    );
    assert_eq!((log[1].queue, log[1].cid), (None, None));
    assert!(flight.drive.registers.expect("read").answers());
    assert_eq!(flight.diagnosis.verdict, Verdict::NotCompleted);
    assert!(flight.diagnosis.text.contains("command 1"));
}

#[test]
fn places_of_other_drives_are_not_the_firsts() {
    let (mut fake, mut session) = up(QueuePlacement::Fpga);
    fill(&mut fake);
    let head = fake.streamer[&regs::trace_head::OFFSET];
    let drive = 2 << 13;
    let others = [
        word(1, 5, drive | 6),
        word(2, 0, drive | 7),
        word(3, 0, drive | 6),
        word(8, 0, drive | 5),
    ];
    for (number, event) in (head..).zip(others) {
        let offset = regs::trace::OFFSET + 8 * number;
        fake.streamer.insert(offset, event);
    }
    let now = head + others.len() as u64;
    fake.streamer.insert(regs::trace_head::OFFSET, now);
    let flight = Flight::take(&mut session, &mut fake, &Ask::default());
    let host = flight.host.as_ref().expect("there");
    assert_eq!((host.sq_tail, host.cq_head), (3, 3));
    assert_eq!(
        (host.sq_doorbell, host.sq_fetched, host.cq_doorbell),
        (Some(3), Some(3), Some(3))
    );
    assert_eq!(host.open, [1]);
}

#[test]
fn a_healthy_streamers_queue_is_left_alone() {
    let (mut fake, mut session) = up(QueuePlacement::Fpga);
    fill(&mut fake);
    fake.outstanding = 0;
    let ask = Ask {
        error_log: None,
        ..Ask::default()
    };
    let commands = fake.admin.len();
    let flight = Flight::take(&mut session, &mut fake, &ask);
    assert!(flight.submission_queue.is_empty());
    assert_eq!((flight.drive.error_log, fake.admin.len()), (None, commands));
}

#[test]
fn a_queue_pair_remembers_its_last_events() {
    let (mut fake, mut session) = up(QueuePlacement::Host);
    let buffer = fake.dma_alloc(4096, 4096).expect("memory");
    let namespace = session.facts().namespace;
    let mut cids = Vec::new();
    for lba in 0..2 {
        let pair = session.queue_pair().expect("in host memory");
        let (buffer, offset) = (&buffer, 0);
        let span = Span { buffer, offset };
        cids.push(
            pair.read(&mut fake, &namespace, lba, 1, span)
                .expect("sent"),
        );
        pair.poll(&mut fake, &mut Vec::new()).expect("polls");
    }
    let answer = |cid| Cqe {
        cid,
        sq_id: 1,
        sq_head: 2,
        ..Cqe::default()
    };
    fake.answer(1, answer(77));
    fake.answer(1, answer(cids[0]));
    let pair = session.queue_pair().expect("in host memory");
    pair.poll(&mut fake, &mut Vec::new()).expect("polls");
    let flight = Flight::take(&mut session, &mut fake, &Ask::default());
    let host = flight.host.expect("there");
    assert_eq!((host.holder, host.outstanding), (Holder::Driver, 1));
    assert_eq!(host.open, [cids[1]]);
    assert_eq!((host.sq_doorbell, host.cq_doorbell), (Some(2), Some(2)));
    let cause = Cause::Cid;
    assert_eq!(host.ignored, [Ignored { cid: 77, cause }]);
    let kinds: Vec<_> = host.events.iter().map(|event| event.what).collect();
    assert!(matches!(
        kinds[..],
        [
            HostHappening::Submitted { slot: 0, .. },
            HostHappening::SqDoorbell { value: 1 },
            HostHappening::Submitted {
                slot: 1,
                slba: 1,
                ..
            },
            HostHappening::SqDoorbell { value: 2 },
            HostHappening::Ignored {
                slot: 0,
                cid: 77,
                ..
            },
            HostHappening::Completed { slot: 1, .. },
            HostHappening::CqDoorbell { value: 2 },
        ]
    ));
    assert!(host.events.is_sorted_by_key(|event| event.time_ns));
}

#[test]
fn what_a_queue_pair_remembers_is_bounded() {
    let (mut fake, mut session) = up(QueuePlacement::Host);
    let namespace = session.facts().namespace;
    for _ in 0..200 {
        let pair = session.queue_pair().expect("in host memory");
        let cid = pair.flush(&mut fake, &namespace).expect("sent");
        pair.poll(&mut fake, &mut Vec::new()).expect("polls");
        let sq_id = 1;
        let done = Cqe {
            cid,
            sq_id,
            ..Cqe::default()
        };
        fake.answer(1, done);
        pair.poll(&mut fake, &mut Vec::new()).expect("polls");
    }
    let flight = Flight::take(&mut session, &mut fake, &Ask::default());
    assert_eq!(flight.host.expect("there").events.len(), HOST_EVENTS);
    assert!(flight.diagnosis.is_healthy());
}

#[test]
fn a_drive_that_does_not_answer_holds_nobody_up() {
    let ask = Ask {
        error_log: Some(Duration::from_millis(5)),
        ..Ask::default()
    };
    let (mut fake, mut session) = up(QueuePlacement::Fpga);
    fake.faults.silent_at = Some(fake.admin.len() as u32);
    let start = fake.now();
    let flight = Flight::take(&mut session, &mut fake, &ask);
    assert!(fake.now() - start < Duration::from_millis(50));
    assert_eq!(flight.drive.error_log, None);
    assert!(
        flight
            .notes
            .iter()
            .any(|note| note.contains("error log is missing"))
    );
    // The time-out of other commands is as it was.
    fake.faults.silent_at = None;
    assert!(session.namespace(&mut fake, 1).is_ok());

    fake.faults.removed_at = Some(0);
    let flight = Flight::take(&mut session, &mut fake, &ask);
    assert_eq!(flight.diagnosis.verdict, Verdict::DriveGone);
    assert_eq!(flight.host, None);
}

#[test]
fn whatever_devices_answer_something_is_said() {
    for seed in 0..100 {
        let calm = Cell::new(true);
        let mut random = Random::new(seed);
        let mut bus = Chaos::new(|good| {
            if calm.get() || random.below(2) == 0 {
                good
            } else {
                random.next()
            }
        });
        let options = Options {
            placement: match seed % 2 {
                0 => QueuePlacement::Fpga,
                _ => QueuePlacement::Host,
            },
            ..Options::default()
        };
        let mut session = bring_up(&mut bus, &options).expect("comes up");
        calm.set(false);
        let ask = Ask {
            error_log: Some(Duration::from_micros(100)),
            ..Ask::default()
        };
        let flight = Flight::take(&mut session, &mut bus, &ask);
        assert!(!flight.diagnosis.text.is_empty(), "seed {seed}");
    }
}
