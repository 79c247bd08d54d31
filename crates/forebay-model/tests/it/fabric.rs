// SPDX-License-Identifier: Apache-2.0
//! The fabric by itself: routing, cutting, order, rates, limits.

use forebay_model::{
    Arrival, Direction, Fabric, FabricError, FabricProfile, HostMemory, NANOSECOND, Node, Profile,
    Request, Time,
};
use proptest::prelude::*;

const CARD: u64 = 0x1000_0000;

fn profile(name: &str) -> FabricProfile {
    Profile::builtin(name).unwrap().fabric
}

fn fabric(name: &str) -> Fabric {
    let mut fabric = Fabric::new(&profile(name), 1);
    fabric.map(Node::Fpga, CARD..CARD + (1 << 24));
    fabric
}

/// Everything that arrives at a node, with its time; the card answers reads with their address.
fn arrivals(fabric: &mut Fabric, at: Node) -> Vec<(Time, Arrival)> {
    let mut list = Vec::new();
    while let Some(now) = fabric.next_event() {
        while let Some(arrival) = fabric.poll(now, Node::Fpga) {
            match arrival {
                Arrival::Request {
                    request: Request::Read { addr, len, .. },
                    ticket,
                    ..
                } => {
                    let data = (addr..addr + len as u64).map(|at| at as u8).collect();
                    fabric.complete(now, ticket, Ok(data));
                }
                arrival if at == Node::Fpga => list.push((now, arrival)),
                _ => {}
            }
        }
        for node in [Node::Host, Node::Ssd(0)] {
            while let Some(arrival) = fabric.poll(now, node) {
                if node == at {
                    list.push((now, arrival));
                }
            }
        }
    }
    list
}

#[test]
fn requests_are_cut_at_payload_and_read_limits() {
    let mut fabric = fabric("990pro-2tb");
    let data: Vec<u8> = (0..1000).map(|n| n as u8).collect();
    let write = Request::Write {
        addr: CARD + 200,
        data: data[..].into(),
    };
    fabric.request(0, Node::Ssd(0), write);
    let mut parts = Vec::new();
    let mut bytes = Vec::new();
    for (_, arrival) in arrivals(&mut fabric, Node::Fpga) {
        if let Arrival::Request {
            from,
            request: Request::Write { addr, data },
            ..
        } = arrival
        {
            assert_eq!(from, Node::Ssd(0));
            parts.push((addr - CARD, data.len()));
            bytes.extend_from_slice(&data);
        }
    }
    assert_eq!(
        parts,
        [(200, 56), (256, 256), (512, 256), (768, 256), (1024, 176)]
    );
    assert_eq!(bytes, data);
    fabric.request(
        0,
        Node::Ssd(0),
        Request::Read {
            addr: CARD + 500,
            len: 4096,
            tag: 9,
        },
    );
    let back = arrivals(&mut fabric, Node::Ssd(0));
    let [(_, Arrival::Completion(completion))] = &back[..] else {
        panic!("{back:?}")
    };
    assert_eq!(completion.tag, 9);
    let expected: Box<[u8]> = (500..500 + 4096).map(|at: u64| at as u8).collect();
    assert_eq!(completion.result, Ok(expected));
}

#[test]
fn the_ideal_fabric_takes_no_time_and_cuts_nothing() {
    let mut fabric = fabric("ideal");
    fabric.request(
        77,
        Node::Host,
        Request::Write {
            addr: CARD,
            data: vec![1; 4096].into(),
        },
    );
    let Some(Arrival::Request {
        request: Request::Write { data, .. },
        ..
    }) = fabric.poll(77, Node::Fpga)
    else {
        panic!("nothing has arrived")
    };
    assert_eq!(data.len(), 4096);
    assert_eq!(fabric.next_event(), None);
}

#[test]
fn links_keep_their_rate() {
    let mut fabric = fabric("990pro-2tb");
    let count = 2000u64;
    for n in 0..count {
        let write = Request::Write {
            addr: CARD + n * 256,
            data: vec![0; 256].into(),
        };
        fabric.request(0, Node::Ssd(0), write);
    }
    let list = arrivals(&mut fabric, Node::Fpga);
    let seconds = (list[list.len() - 1].0 - list[0].0) as f64 * 1e-12;
    let rate = (count - 1) as f64 * 256.0 / seconds * 1e-9;
    // Gen4 x4 with 256-byte payloads and four-word headers: 7.20 GB/s.
    assert!((rate - 7.20).abs() < 0.01, "{rate}");
    let hop = fabric
        .hops()
        .iter()
        .find(|hop| hop.node == Node::Ssd(0))
        .unwrap();
    assert_eq!((hop.direction, hop.messages), (Direction::Up, count));
    assert_eq!((hop.payload, hop.wire), (count * 256, count * 280));
}

#[test]
fn round_trips_are_those_of_the_calibration() {
    let mut fabric = fabric("990pro-2tb");
    let mut host = HostMemory::new(0x1_0000_0000, 1 << 20);
    fabric.map(Node::Host, host.range());
    fabric.request(
        0,
        Node::Ssd(0),
        Request::Read {
            addr: 0x1_0000_0000,
            len: 512,
            tag: 0,
        },
    );
    while let Some(now) = fabric.next_event() {
        host.step(now, &mut fabric);
        fabric.poll(now, Node::Ssd(0));
    }
    let time = fabric.round_trip(Node::Ssd(0), Node::Host).unwrap();
    assert!(
        time.abs_diff(1310 * NANOSECOND) < 2 * NANOSECOND,
        "{time} ps"
    );
}

#[test]
fn reads_wait_for_a_tag() {
    let mut profile = profile("990pro-2tb");
    profile.ssd.outstanding_reads = 4;
    let mut fabric = Fabric::new(&profile, 1);
    fabric.map(Node::Fpga, CARD..CARD + (1 << 20));
    for n in 0..2 {
        let addr = CARD + n * 4096;
        fabric.request(
            0,
            Node::Ssd(0),
            Request::Read {
                addr,
                len: 4096,
                tag: n as u32,
            },
        );
    }
    // No answer comes: four of the sixteen parts arrive.
    let mut tickets = Vec::new();
    while let Some(now) = fabric.next_event() {
        if let Some(Arrival::Request { ticket, .. }) = fabric.poll(now, Node::Fpga) {
            tickets.push(ticket);
        }
    }
    assert_eq!(tickets.len(), 4);
    fabric.complete(10_000_000, tickets.remove(0), Ok(vec![0; 512].into()));
    // The freed tag serves the rest of the first read and all of the second, one after the other;
    // the first is never whole, since three of its parts stay without an answer.
    let back = arrivals(&mut fabric, Node::Ssd(0));
    let [(_, Arrival::Completion(completion))] = &back[..] else {
        panic!("{back:?}")
    };
    assert_eq!((completion.tag, completion.result.is_ok()), (1, true));
    assert_eq!(fabric.next_event(), None);
}

#[test]
fn unmapped_addresses_are_counted_and_answered() {
    for name in ["ideal", "990pro-2tb"] {
        let mut fabric = fabric(name);
        fabric.request(
            0,
            Node::Ssd(0),
            Request::Write {
                addr: 0xdead,
                data: vec![0; 8].into(),
            },
        );
        fabric.request(
            0,
            Node::Ssd(0),
            Request::Read {
                addr: 0xdead,
                len: 8,
                tag: 3,
            },
        );
        let back = arrivals(&mut fabric, Node::Ssd(0));
        let [(_, Arrival::Completion(completion))] = &back[..] else {
            panic!("{back:?}")
        };
        assert_eq!(
            completion.result,
            Err(FabricError::Unmapped { addr: 0xdead })
        );
        assert_eq!(fabric.unmapped(), (1, 1));
    }
}

#[test]
fn an_answer_of_the_wrong_length_is_refused() {
    let mut fabric = fabric("ideal");
    fabric.request(
        0,
        Node::Host,
        Request::Read {
            addr: CARD,
            len: 8,
            tag: 3,
        },
    );
    let Some(Arrival::Request { ticket, .. }) = fabric.poll(0, Node::Fpga) else {
        panic!()
    };
    fabric.complete(0, ticket, Ok(vec![0; 7].into()));
    let Some(Arrival::Completion(completion)) = fabric.poll(0, Node::Host) else {
        panic!()
    };
    assert_eq!(completion.result, Err(FabricError::Refused));
}

#[test]
fn memory_is_handed_out_and_taken_back() {
    let mut host = HostMemory::new(0x1000, 0x10_000);
    let first = host.alloc(100, 4096).unwrap();
    let second = host.alloc(5000, 256).unwrap();
    assert!(first.is_multiple_of(4096) && second.is_multiple_of(256) && second >= first + 100);
    assert_eq!(host.alloc(0x10_000, 1), None);
    assert!(host.write(second, &[5; 5000]));
    assert!(host.free(second) && !host.free(second));
    assert!(host.free(first));
    let all = host.alloc(0x10_000, 4096).unwrap();
    let mut byte = [9];
    assert!(host.read(second, &mut byte) && byte == [0]);
    assert!(!host.read(all + 0x10_000, &mut byte) && !host.write(0xfff, &byte));
    assert!(!host.read(u64::MAX, &mut byte));
}

proptest! {
    /// What one node sends another arrives in the order in which it was sent, whole.
    #[test]
    fn posted_writes_keep_their_order(
        sizes in proptest::collection::vec(1usize..5000, 1..40),
        ideal: bool,
    ) {
        let mut fabric = fabric(if ideal { "ideal" } else { "990pro-2tb" });
        let mut sent = Vec::new();
        let mut addr = CARD;
        for (n, size) in sizes.iter().enumerate() {
            let data: Box<[u8]> = vec![n as u8; *size].into();
            sent.extend_from_slice(&data);
            fabric.request(n as Time, Node::Ssd(0), Request::Write { addr, data });
            addr += *size as u64;
        }
        let (mut got, mut next, mut before) = (Vec::new(), CARD, 0);
        for (time, arrival) in arrivals(&mut fabric, Node::Fpga) {
            if let Arrival::Request { request: Request::Write { addr, data }, .. } = arrival {
                prop_assert_eq!(addr, next);
                prop_assert!(time >= before && addr % 4096 + data.len() as u64 <= 4096);
                next += data.len() as u64;
                before = time;
                got.extend_from_slice(&data);
            }
        }
        prop_assert_eq!(got, sent);
    }
}
