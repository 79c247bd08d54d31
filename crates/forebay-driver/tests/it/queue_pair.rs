// SPDX-License-Identifier: Apache-2.0
//! The queue pair in host memory against a scripted drive that answers as the test says.

use std::time::Duration;

use crate::support::fake::Fake;
use forebay_driver::{
    Bus, DmaBuffer, Done, Error, Namespace, Options, QueuePlacement, Session, Span, bring_up,
};
use forebay_spec::nvme::{Cqe, Status};

const LIMIT: Duration = Duration::from_millis(50);

struct Bench {
    fake: Fake,
    session: Session,
    namespace: Namespace,
    buffer: DmaBuffer,
}

/// A drive with a queue pair of `entries`, and a buffer of 2 MiB.
fn bench(entries: u16, change: impl FnOnce(&mut Fake)) -> Bench {
    let mut fake = Fake::new();
    fake.set_namespace(1 << 20, 9, 0);
    change(&mut fake);
    let options = Options {
        placement: QueuePlacement::Host,
        queue_entries: entries,
        ..Options::default()
    };
    let session = bring_up(&mut fake, &options).expect("comes up");
    let namespace = session.facts().namespace;
    let buffer = fake.dma_alloc((2 << 20) + 4096, 4096).expect("memory");
    Bench {
        fake,
        session,
        namespace,
        buffer,
    }
}

impl Bench {
    fn read(&mut self, lba: u64, blocks: u32, offset: usize) -> Result<u16, Error> {
        let span = Span {
            buffer: &self.buffer,
            offset,
        };
        let pair = self.session.queue_pair().expect("in host memory");
        pair.read(&mut self.fake, &self.namespace, lba, blocks, span)
    }

    fn poll(&mut self) -> Vec<Done> {
        let mut done = Vec::new();
        let pair = self.session.queue_pair().expect("in host memory");
        pair.poll(&mut self.fake, &mut done).expect("polls");
        done
    }

    fn answer(&mut self, cid: u16, status: Status) {
        self.fake.answer(
            1,
            Cqe {
                cid,
                status,
                sq_id: 1,
                ..Cqe::default()
            },
        );
    }
}

#[test]
fn prps_describe_exactly_the_buffer() {
    let mut bench = bench(4, |fake| {
        fake.set_controller(|controller| controller.mdts = 0)
    });
    for (blocks, offset) in [
        (1, 0),
        (8, 0),
        (8, 512),
        (9, 0),
        (16, 0),
        (16, 4),
        (17, 0),
        (4096, 0),
        (4096, 4092),
    ] {
        let cid = bench.read(3, blocks, offset).expect("submitted");
        bench.poll();
        let entry = bench.fake.fetched.pop().expect("fetched");
        assert_eq!(
            (entry.cid, entry.nsid, entry.slba(), entry.blocks()),
            (cid, 1, 3, blocks)
        );
        let start = bench.buffer.address + offset as u64;
        let end = start + u64::from(blocks) * 512;
        assert_eq!(entry.prp1, start);
        // What a controller makes of it: pages after the first, in order.
        let pages: Vec<u64> = (start / 4096 + 1..end.div_ceil(4096))
            .map(|n| n * 4096)
            .collect();
        match pages.len() {
            0 => assert_eq!(entry.prp2, 0),
            1 => assert_eq!(entry.prp2, pages[0]),
            count => {
                assert!(count <= 512 && entry.prp2 % 4096 == 0, "one page of list");
                let list = bench.fake.device_read(entry.prp2, 8 * count);
                let list: Vec<u64> = list
                    .chunks(8)
                    .map(|b| u64::from_le_bytes(b.try_into().expect("8")))
                    .collect();
                assert_eq!(list, pages);
            }
        }
        bench.answer(cid, Status::SUCCESS);
        assert_eq!(
            bench.poll(),
            [Done {
                cid,
                status: Status::SUCCESS
            }]
        );
    }
}

#[test]
fn every_command_has_a_list_of_its_own() {
    let mut bench = bench(4, |_| {});
    for offset in [0, 0x10_0000] {
        bench.read(0, 64, offset).expect("submitted");
    }
    bench.poll();
    for (entry, offset) in bench.fake.fetched.iter().zip([0, 0x10_0000]) {
        let first = bench.fake.device_read(entry.prp2, 8);
        let second_page = bench.buffer.address + offset + 4096;
        assert_eq!(first, second_page.to_le_bytes());
    }
}

#[test]
fn completions_come_in_any_order_and_round_the_queue() {
    let mut bench = bench(5, |_| {});
    for round in 0..9 {
        let mut cids: Vec<_> = (0..4)
            .map(|n| bench.read(n, 1, 0).expect("submitted"))
            .collect();
        assert!(matches!(
            bench.read(9, 1, 0),
            Err(Error::QueueFull {
                queue: 1,
                outstanding: 4
            })
        ));
        assert!(bench.poll().is_empty());
        cids.rotate_left(round % 4);
        for cid in &cids {
            bench.answer(*cid, Status::SUCCESS);
        }
        let done: Vec<_> = bench.poll().iter().map(|done| done.cid).collect();
        assert_eq!(done, cids);
    }
    assert_eq!(bench.session.queue_pair().expect("there").room(), 4);
}

#[test]
fn the_least_queue_holds_one_command() {
    let mut bench = bench(2, |_| {});
    for _ in 0..5 {
        let cid = bench.read(0, 1, 0).expect("submitted");
        assert!(bench.read(0, 1, 0).is_err());
        bench.poll();
        bench.answer(cid, Status::UNRECOVERED_READ_ERROR);
        assert_eq!(
            bench.poll(),
            [Done {
                cid,
                status: Status::UNRECOVERED_READ_ERROR
            }]
        );
    }
}

#[test]
fn completions_that_cannot_be_true_are_ignored() {
    let mut bench = bench(8, |_| {});
    let cid = bench.read(0, 1, 0).expect("submitted");
    bench.poll();
    let good = Cqe {
        cid,
        sq_id: 1,
        ..Cqe::default()
    };
    for bad in [
        Cqe {
            cid: cid ^ 1,
            ..good
        },
        Cqe {
            cid: 0xffff,
            ..good
        },
        Cqe { sq_id: 2, ..good },
    ] {
        bench.fake.answer(1, bad);
        assert!(bench.poll().is_empty());
    }
    // Its queue head is no place of the queue: that is counted, and decides nothing.
    bench.fake.answer(1, Cqe { sq_head: 8, ..good });
    assert_eq!(bench.poll().len(), 1);
    // The same completion a second time.
    bench.fake.answer(1, good);
    assert!(bench.poll().is_empty());
    let rogues = bench.session.queue_pair().expect("there").rogues();
    assert_eq!((rogues.cid, rogues.queue, rogues.head), (3, 1, 1));
}

#[test]
fn what_does_not_fit_is_refused_before_it_is_sent() {
    let mut bench = bench(8, |fake| {
        fake.set_controller(|controller| controller.mdts = 1)
    });
    let last = bench.namespace.blocks - 1;
    assert!(bench.read(last, 1, 0).is_ok());
    for (lba, blocks, offset) in [
        (last, 2, 0),
        (last + 1, 1, 0),
        (u64::MAX, 1, 0),
        (0, 0, 0),
        (0, 17, 0),
        (0, u32::MAX, 0),
        (0, 1, 2),
        (0, 16, 2 << 20),
        (0, 1, usize::MAX - 3),
    ] {
        assert!(
            bench.read(lba, blocks, offset).is_err(),
            "{lba} {blocks} {offset}"
        );
    }
    assert_eq!(bench.session.queue_pair().expect("there").outstanding(), 1);
    bench.poll();
    assert_eq!(bench.fake.fetched.len(), 1);
}

#[test]
fn flush_and_force_unit_access() {
    let mut bench = bench(8, |_| {});
    let Bench {
        fake,
        session,
        namespace,
        buffer,
    } = &mut bench;
    let pair = session.queue_pair().expect("there");
    let span = Span { buffer, offset: 0 };
    for fua in [false, true] {
        pair.write(fake, namespace, 7, 2, span, fua)
            .expect("submitted");
    }
    pair.flush(fake, namespace).expect("submitted");
    bench.poll();
    let seen: Vec<_> = bench
        .fake
        .fetched
        .iter()
        .map(|entry| (entry.opcode, entry.nsid, entry.fua()))
        .collect();
    assert_eq!(seen, [(1, 1, false), (1, 1, true), (0, 1, false)]);
}

#[test]
fn waiting_for_an_answer_that_never_comes_ends() {
    let mut bench = bench(8, |_| {});
    bench.read(0, 1, 0).expect("submitted");
    let Bench { fake, session, .. } = &mut bench;
    let pair = session.queue_pair().expect("there");
    let error = pair
        .finish(fake, LIMIT, &mut Vec::new())
        .expect_err("never comes");
    assert!(
        error.to_string().contains("1 of queue 1 are outstanding"),
        "{error}"
    );
    fake.faults.removed_at = Some(0);
    let error = pair
        .finish(fake, LIMIT, &mut Vec::new())
        .expect_err("never comes");
    assert!(matches!(error, Error::Gone { .. }), "{error}");
}
