// SPDX-License-Identifier: Apache-2.0
//! Objects in frames, read again by a parser that is not ours.

use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use forebay_model::net::{
    Addresses, Content, Frame, Next, Object, Objects, Restart, Source, objects_of, pattern,
};
use forebay_spec::net::Header;
use forebay_spec::net::header::Position;
use proptest::prelude::*;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

fn frames(mut source: impl Source) -> Vec<Frame> {
    let mut frames = Vec::new();
    loop {
        match source.next(0) {
            Next::Frame(frame) => frames.push(frame),
            Next::End => return frames,
            other => panic!("neither a frame nor an end: {other:?}"),
        }
    }
}

/// What is in a frame, its checksums looked at.
fn datagram(addresses: &Addresses, frame: &Frame) -> Vec<u8> {
    let packet = SlicedPacket::from_ethernet(frame.bytes()).expect("a packet");
    let ethernet = packet
        .link
        .as_ref()
        .and_then(|link| link.to_header())
        .expect("a link");
    let ethernet = ethernet.ethernet2().expect("ethernet");
    assert_eq!(ethernet.destination, addresses.to.mac);
    assert_eq!(ethernet.source, addresses.from.mac);
    let tag = packet.vlan_ids().first().map(|id| id.value());
    assert_eq!(tag, addresses.tag.map(|tag| tag & 0xfff));
    if addresses.raw {
        let payload = packet.ether_payload().expect("a payload");
        assert_eq!(payload.ether_type.0, 0x88b5);
        return payload.payload.to_vec();
    }
    let Some(TransportSlice::Udp(udp)) = &packet.transport else {
        panic!("not UDP: {packet:?}");
    };
    let found = udp.to_header();
    let ends: (IpAddr, IpAddr);
    let wanted;
    match &packet.net {
        Some(NetSlice::Ipv4(ip)) => {
            let header = ip.header().to_header();
            assert_eq!(header.header_checksum, header.calc_header_checksum());
            ends = (header.source.into(), header.destination.into());
            wanted = found.calc_checksum_ipv4(&header, udp.payload());
        }
        Some(NetSlice::Ipv6(ip)) => {
            let header = ip.header().to_header();
            ends = (header.source.into(), header.destination.into());
            wanted = found.calc_checksum_ipv6(&header, udp.payload());
        }
        other => panic!("neither IPv4 nor IPv6: {other:?}"),
    }
    assert_eq!(ends, (addresses.from.ip, addresses.to.ip));
    assert_eq!(found.checksum, wanted.expect("short enough"));
    assert_ne!(found.checksum, 0, "0 would say that there is none");
    assert_eq!(found.source_port, addresses.from.port);
    assert_eq!(found.destination_port, addresses.to.port);
    udp.payload().to_vec()
}

proptest! {
    #[test]
    fn a_foreign_parser_finds_every_byte(
        mtu in 61usize..9001,
        sizes in prop::collection::vec(0u64..30_000, 1..5),
        tag in prop::option::of(any::<u16>()),
        raw: bool,
        ipv6 in prop::option::of(any::<[[u16; 8]; 2]>()),
        first: u32,
        seed: u64,
        port: u16,
    ) {
        let mut addresses = Addresses { tag, raw, ..Addresses::default() };
        addresses.from.port = port;
        if let Some([from, to]) = ipv6 {
            (addresses.from.ip, addresses.to.ip) = (Ipv6Addr::from(from).into(), Ipv6Addr::from(to).into());
        }
        let list: Vec<_> = sizes.iter().enumerate().map(|(n, bytes)| Object {
            number: n as u64, bytes: *bytes, content: Content::Pattern(seed),
        }).collect();
        let source = Objects::new(addresses, mtu.max(200), list).expect("can be");
        let source = source.in_stream(7, 9).from_sequence(first);
        let full = source.payload();
        let mut stored: Vec<Vec<u8>> = sizes.iter().map(|_| Vec::new()).collect();
        for (n, frame) in frames(source).iter().enumerate() {
            prop_assert!(frame.bytes().len() <= mtu.max(200) + 14 + 4 * usize::from(tag.is_some()));
            let datagram = datagram(&addresses, frame);
            let (header, payload) = Header::split(&datagram).expect("a header");
            prop_assert_eq!((header.stream, header.epoch), (7, 9));
            prop_assert_eq!(header.sequence, first.wrapping_add(n as u32));
            let object = &mut stored[header.object as usize];
            let total = sizes[header.object as usize];
            match header.position {
                Position::First { total: stated } => prop_assert_eq!((stated, object.len()), (total, 0)),
                Position::At { offset } => prop_assert_eq!(offset, object.len() as u64),
            }
            let rest = (total - object.len() as u64) as usize;
            // A raw frame may be filled.
            let payload = &payload[..payload.len().min(rest)];
            prop_assert_eq!(payload.len(), rest.min(full));
            object.extend(payload);
            prop_assert_eq!(header.last, object.len() as u64 == total);
        }
        for (n, (object, bytes)) in stored.iter().zip(&sizes).enumerate() {
            let mut wanted = vec![0; *bytes as usize];
            pattern(seed, n as u64, 0, &mut wanted);
            prop_assert_eq!(object, &wanted);
        }
    }

    #[test]
    fn a_pattern_is_the_same_in_any_parts(
        seed: u64, number: u64, offset in 0u64..u64::MAX / 2, cuts in prop::collection::vec(0usize..40, 1..9),
    ) {
        let mut whole = vec![0; cuts.iter().sum()];
        pattern(seed, number, offset, &mut whole);
        let mut at = 0;
        for bytes in cuts {
            let mut part = vec![0; bytes];
            pattern(seed, number, offset + at as u64, &mut part);
            prop_assert_eq!(&part, &whole[at..at + bytes]);
            at += bytes;
        }
    }
}

#[test]
fn the_usual_mtus_carry_the_documented_payload() {
    let payload = |mtu, raw| {
        let addresses = Addresses {
            raw,
            ..Addresses::default()
        };
        Objects::new(addresses, mtu, []).map(|objects| objects.payload())
    };
    assert_eq!(payload(9000, false), Ok(8940));
    assert_eq!(payload(1500, false), Ok(1440));
    assert_eq!(payload(61, false), Ok(1));
    assert_eq!(payload(46, true), Ok(14));
    let text = payload(60, false).expect_err("no room").to_string();
    assert!(text.contains("mtu = 60, but must be 61 to 65535"), "{text}");
    assert!(payload(65_536, false).is_err());
    assert!(payload(65_535, true).is_ok_and(|bytes| bytes + 32 + 18 <= 65_535));
}

#[test]
fn bytes_go_round_and_readers_are_read() {
    let bytes: Arc<[u8]> = (0..=99).collect();
    let list = [
        Object {
            number: 5,
            bytes: 250,
            content: Content::Bytes(bytes.clone()),
        },
        Object {
            number: 6,
            bytes: 40,
            content: Content::Reader(Box::new(&[3; 100][..])),
        },
    ];
    let addresses = Addresses::default();
    let source = Objects::new(addresses, 130, list).expect("can be");
    let payloads: Vec<u8> = frames(source)
        .iter()
        .flat_map(|frame| datagram(&addresses, frame)[32..].to_vec())
        .collect();
    let mut wanted: Vec<u8> = bytes.iter().copied().cycle().take(250).collect();
    wanted.extend([3; 40]);
    assert_eq!(payloads, wanted);
}

#[test]
fn a_reader_that_ends_early_ends_the_source_and_says_so() {
    let list = [Object {
        number: 6,
        bytes: 400,
        content: Content::Reader(Box::new(&[3; 250][..])),
    }];
    let mut source = Objects::new(Addresses::default(), 160, list).expect("can be");
    assert!(matches!(source.next(0), Next::Frame(_)));
    assert!(matches!(source.next(0), Next::Frame(_)));
    assert_eq!(source.next(0), Next::End);
    assert_eq!(source.next(0), Next::End);
    let text = source.failure().expect("said").to_string();
    assert!(text.contains("object 6, byte 200 of 400"), "{text}");
}

#[test]
fn a_sender_begins_anew_where_it_is_told() {
    let source = Objects::new(Addresses::default(), 160, objects_of(3, 350, 1)).expect("can be");
    let source = source.in_stream(0, 1).from_sequence(100);
    let source = source
        .restart(2, Restart::Epoch(2))
        .restart(5, Restart::Jump(10));
    let found: Vec<_> = frames(source)
        .iter()
        .map(|frame| {
            let datagram = datagram(&Addresses::default(), frame);
            let (header, payload) = Header::split(&datagram).expect("a header");
            (header.epoch, header.sequence, header.object, payload.len())
        })
        .collect();
    let wanted = [
        (1, 100, 0, 100),
        (1, 101, 0, 100),
        (2, 100, 1, 100),
        (2, 101, 1, 100),
        (2, 102, 1, 100),
        (2, 113, 1, 50),
        (2, 114, 2, 100),
        (2, 115, 2, 100),
        (2, 116, 2, 100),
        (2, 117, 2, 50),
    ];
    assert_eq!(found, wanted);
}
