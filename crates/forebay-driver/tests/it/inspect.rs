// SPDX-License-Identifier: Apache-2.0
//! What `inspect` reads from a streamer's registers.

use crate::support::fake::Fake;
use forebay_driver::{Options, Session, Streamer, bring_up};
use forebay_spec::streamer::regs;

fn up() -> (Fake, Session) {
    let mut fake = Fake::new();
    let session = bring_up(&mut fake, &Options::default()).expect("comes up");
    (fake, session)
}

fn streamer(session: &Session) -> &Streamer {
    session.streamer().expect("in the FPGA")
}

/// Fills the trace as after `head` events: the cycle of each is its number.
fn fill_trace(fake: &mut Fake, head: u32) {
    for number in head.saturating_sub(64)..head {
        let offset = regs::trace::OFFSET + 8 * u64::from(number % 64);
        fake.streamer.insert(offset, u64::from(number) | 1 << 32);
    }
    fake.streamer
        .insert(regs::trace_head::OFFSET, u64::from(head));
}

#[test]
fn the_trace_is_read_oldest_first() {
    let (mut fake, session) = up();
    for head in [0, 1, 63, 64, 65, 1000] {
        fill_trace(&mut fake, head);
        let trace = streamer(&session).trace(&mut fake).expect("reads");
        let expected: Vec<_> = (head.saturating_sub(64)..head).collect();
        assert_eq!(
            trace.iter().map(|record| record.number).collect::<Vec<_>>(),
            expected
        );
        assert_eq!(
            trace.iter().map(|record| record.cycle).collect::<Vec<_>>(),
            expected
        );
        assert!(trace.iter().all(|record| record.event.is_some()));
    }
}

#[test]
fn events_overwritten_while_they_are_read_are_left_out() {
    let (mut fake, session) = up();
    fill_trace(&mut fake, 100);
    // Ten more events arrive between the first and the second look at the head.
    fake.trace_head_later = Some(110);
    let trace = streamer(&session).trace(&mut fake).expect("reads");
    assert_eq!(trace.first().map(|record| record.number), Some(46));
    assert_eq!(trace.len(), 54);
}

#[test]
fn the_first_error_is_told_in_words() {
    let (mut fake, session) = up();
    let streamer = streamer(&session);
    assert_eq!(streamer.error_cause(&mut fake).expect("reads"), None);
    let cause = 0x90 | 0x4080 << 8 | 5 << 24 | 1 << 40 | 1 << 63;
    fake.streamer.insert(regs::error_cause::OFFSET, cause);
    fake.streamer.insert(regs::error_sector::OFFSET, 1234);
    let cause = streamer
        .error_cause(&mut fake)
        .expect("reads")
        .expect("holds one");
    assert_eq!(
        (cause.code, cause.cid, cause.write, cause.sector),
        (0x90, 5, true, 1234)
    );
    assert!(
        cause
            .nvme_text
            .expect("a status")
            .contains("LBA Out of Range")
    );
    streamer.clear_error_cause(&mut fake).expect("writes");
    assert_eq!(fake.streamer[&regs::error_cause::OFFSET], 1 << 63);
}

#[test]
fn counters_and_histogram_keep_their_places() {
    let (mut fake, session) = up();
    for (n, (_, offset, _)) in (1..).zip(regs::COUNTERS.iter()) {
        fake.streamer.insert(*offset, n);
    }
    fake.streamer
        .insert(regs::memory_errors::OFFSET, 9 << 32 | 7);
    for k in 0..32 {
        fake.streamer
            .insert(regs::histogram::OFFSET + 8 * k, 100 + k);
    }
    let streamer = streamer(&session);
    let counters = streamer.counters(&mut fake).expect("reads");
    let (counters, refused) = counters.split_at(regs::COUNTERS.len());
    assert!(
        counters
            .iter()
            .zip(1..)
            .all(|(counter, n)| counter.value == n)
    );
    let refused: Vec<_> = refused.iter().map(|counter| counter.value).collect();
    assert_eq!(refused, [7, 9]);
    let histogram = streamer.histogram(&mut fake).expect("reads");
    assert!(histogram.iter().zip(100..).all(|(count, n)| *count == n));
    let registers = streamer.registers(&mut fake).expect("reads");
    assert_eq!(
        registers.first(),
        Some(&("sq_doorbell", 0, fake.streamer[&0]))
    );
    assert_eq!(
        registers.last().map(|(name, ..)| *name),
        Some("memory_offset")
    );
}

#[test]
fn the_status_is_taken_apart() {
    let (mut fake, session) = up();
    let status = streamer(&session).status(&mut fake).expect("reads");
    assert!(status.ready && status.enabled && status.idle && !status.halted);
    assert_eq!(
        (status.outstanding, status.write_pages, status.read_pages),
        (0, 0, 0)
    );
}
