// SPDX-License-Identifier: Apache-2.0
//! Messages: whatever is formatted can be parsed again, and whatever arrives is parsed or refused.

use forebay_vm::protocol::*;
use proptest::collection::vec;
use proptest::prelude::*;

fn header(bytes: &[u8]) -> Header {
    Header::parse(bytes[..Header::BYTES].try_into().unwrap()).unwrap()
}

fn version() -> impl Strategy<Value = Version> {
    (any::<u16>(), any::<u16>(), any::<u32>(), 8u32..).prop_map(|(major, minor, fds, data)| {
        let capabilities = Capabilities {
            max_msg_fds: fds,
            max_data_xfer_size: data,
        };
        Version {
            major,
            minor,
            capabilities,
        }
    })
}

/// A range of addresses; often one that ends at 2^64.
fn range() -> impl Strategy<Value = std::ops::RangeInclusive<u64>> {
    let anywhere = (any::<u64>(), any::<u64>()).prop_map(|(a, b)| a.min(b)..=a.max(b));
    let to_the_end = (1u64..).prop_map(|start| start..=u64::MAX);
    prop_oneof![anywhere, to_the_end].prop_filter("cannot be said", |r| *r != (0..=u64::MAX))
}

fn set_irqs() -> impl Strategy<Value = SetIrqs> {
    let action = prop_oneof![
        Just(Action::Mask),
        Just(Action::Unmask),
        Just(Action::Trigger)
    ];
    let data = prop_oneof![
        (0u32..=64).prop_map(|count| (count, IrqData::None)),
        (0u32..=64).prop_map(|count| (count, IrqData::Descriptors)),
        vec(any::<bool>(), 0..64).prop_map(|flags| (flags.len() as u32, IrqData::Flags(flags))),
    ];
    (0..irq::COUNT, 0u32..1024, action, data).prop_map(|(index, start, action, (count, data))| {
        SetIrqs {
            index,
            start,
            count,
            action,
            data,
        }
    })
}

fn request() -> impl Strategy<Value = Request> {
    let bytes = || vec(any::<u8>(), 1..200);
    let address = 0..u64::MAX - u64::from(DATA_MOST);
    let region = || 0..region::COUNT;
    prop_oneof![
        version().prop_map(Request::Version),
        (range(), any::<bool>(), any::<bool>()).prop_flat_map(|(range, readable, writable)| {
            (0..=u64::MAX - (range.end() - range.start())).prop_map(move |offset| {
                Request::DmaMap(DmaMap {
                    offset,
                    range: range.clone(),
                    readable,
                    writable,
                })
            })
        }),
        proptest::option::of(range()).prop_map(|range| Request::DmaUnmap(DmaUnmap { range })),
        (16u32..).prop_map(|argsz| Request::DeviceInfo { argsz }),
        (32u32.., region()).prop_map(|(argsz, index)| Request::RegionInfo { argsz, index }),
        (0..irq::COUNT).prop_map(|index| Request::IrqInfo { index }),
        set_irqs().prop_map(Request::SetIrqs),
        (region(), address.clone(), 1..=DATA_MOST).prop_map(|(region, offset, count)| {
            Request::RegionRead {
                region,
                offset,
                count,
            }
        }),
        (region(), address.clone(), bytes()).prop_map(|(region, offset, data)| {
            Request::RegionWrite {
                region,
                offset,
                data,
            }
        }),
        (address.clone(), 1..=DATA_MOST)
            .prop_map(|(address, count)| Request::DmaRead { address, count }),
        (address, bytes()).prop_map(|(address, data)| Request::DmaWrite { address, data }),
        Just(Request::Reset),
    ]
}

fn reply() -> impl Strategy<Value = Reply> {
    let bytes = || vec(any::<u8>(), 1..200);
    let address = 0..u64::MAX - u64::from(DATA_MOST);
    let area = (any::<u64>(), any::<u64>()).prop_map(|(offset, bytes)| Area { offset, bytes });
    let info = (0..region::COUNT, 1u64.., any::<u64>(), vec(area, 0..4)).prop_map(
        |(index, bytes, offset, mapped)| RegionInfo {
            index,
            bytes,
            offset,
            mapped,
        },
    );
    prop_oneof![
        version().prop_map(Reply::Version),
        Just(Reply::Done(Command::DMA_MAP)),
        proptest::option::of(range()).prop_map(|range| Reply::DmaUnmap(DmaUnmap { range })),
        (any::<bool>(), any::<u32>(), any::<u32>()).prop_map(|(resettable, regions, irqs)| {
            Reply::DeviceInfo(DeviceInfo {
                resettable,
                regions,
                irqs,
            })
        }),
        info.prop_map(|info| {
            let areas = info.mapped.len() as u32;
            let argsz = if areas > 0 { 48 + 16 * areas } else { 32 };
            Reply::RegionInfo { info, argsz }
        }),
        (0..irq::COUNT, any::<u32>())
            .prop_map(|(index, count)| Reply::IrqInfo(IrqInfo { index, count })),
        (0..region::COUNT, address.clone(), bytes()).prop_map(|(region, offset, data)| {
            Reply::RegionRead {
                region,
                offset,
                data,
            }
        }),
        (0..region::COUNT, address.clone(), any::<u32>()).prop_map(|(region, offset, count)| {
            Reply::RegionWrite {
                region,
                offset,
                count,
            }
        }),
        (address, bytes()).prop_map(|(address, data)| Reply::DmaRead { address, data }),
        any::<u32>().prop_map(|n| Reply::Failure(Command::DMA_READ, Errno(n))),
    ]
}

proptest! {
    #[test]
    fn requests_survive_a_round_trip(request in request(), id: u16, replied: bool) {
        let bytes = request.to_bytes(id, replied);
        let header = header(&bytes);
        prop_assert_eq!(header.bytes as usize, bytes.len());
        prop_assert_eq!((header.id, header.kind), (id, Kind::Command { replied }));
        prop_assert_eq!(Request::parse(header.command, &bytes[16..]), Ok(request));
    }

    #[test]
    fn replies_survive_a_round_trip(reply in reply(), id: u16) {
        let bytes = reply.to_bytes(id);
        let header = header(&bytes);
        prop_assert_eq!(header.bytes as usize, bytes.len());
        prop_assert_eq!(Reply::parse(&header, &bytes[16..]), Ok(reply));
    }

    #[test]
    fn any_bytes_are_parsed_or_refused(command in 0u16..20, body in vec(any::<u8>(), 0..300)) {
        let command = Command(command);
        let _ = Request::parse(command, &body);
        for kind in [Kind::Reply, Kind::Failure(Errno(5)), Kind::Command { replied: true }] {
            let header = Header { id: 1, command, bytes: 16 + body.len() as u32, kind };
            let _ = Reply::parse(&header, &body);
        }
    }

    #[test]
    fn any_header_is_parsed_or_refused(bytes: [u8; 16]) {
        if let Ok(header) = Header::parse(&bytes) {
            prop_assert!(header.bytes >= 16 && header.bytes <= MESSAGE_MOST);
            let again = Header::parse(&header.to_bytes()).unwrap();
            prop_assert_eq!(header, again);
        }
    }

    /// Whatever is cut off the end is missed, never made up.
    #[test]
    fn a_cut_message_is_no_other(request in request(), cut in 1usize..64) {
        let bytes = request.to_bytes(0, true);
        let body = &bytes[16..];
        let cut = cut.min(body.len());
        let parsed = Request::parse(request.command(), &body[..body.len() - cut]);
        if cut > 0 && !matches!(request, Request::Version(_)) {
            prop_assert_ne!(parsed, Ok(request));
        }
    }
}

#[test]
fn an_error_tells_field_value_limit_and_remedy() {
    let request = Request::RegionInfo {
        argsz: 32,
        index: 8,
    };
    let mut body = request.to_bytes(0, true)[16..].to_vec();
    body[8] = 9;
    let error = Request::parse(Command::DEVICE_GET_REGION_INFO, &body).unwrap_err();
    let text = error.to_string();
    let start = "DEVICE_GET_REGION_INFO: index is 0x9, but must be below 9; ";
    assert!(text.starts_with(start), "{text}");
}

#[test]
fn ranges_may_end_at_the_end_of_all_addresses() {
    let parse = |start: u64, size: u64| {
        let mut body = vec![24, 0, 0, 0, 0, 0, 0, 0];
        body.extend(start.to_le_bytes());
        body.extend(size.to_le_bytes());
        Request::parse(Command::DMA_UNMAP, &body)
    };
    let half = 1 << 63;
    let range = Some(half..=u64::MAX);
    assert_eq!(parse(half, half), Ok(Request::DmaUnmap(DmaUnmap { range })));
    assert!(parse(half, half + 1).is_err());
    assert!(parse(half, 0).is_err());
}

#[test]
fn a_region_is_asked_for_twice() {
    let info = RegionInfo {
        index: 0,
        bytes: 1 << 26,
        offset: 0,
        mapped: vec![Area {
            offset: 1 << 24,
            bytes: 1 << 22,
        }],
    };
    let reply = |argsz| {
        let info = info.clone();
        let bytes = Reply::RegionInfo { info, argsz }.to_bytes(0);
        let reply = Reply::parse(&header(&bytes), &bytes[16..]).unwrap();
        (bytes.len(), reply)
    };
    // The first reply says how much room the whole takes, and leaves the areas out.
    let (len, first) = reply(32);
    let Reply::RegionInfo { info: short, argsz } = first else {
        panic!()
    };
    assert_eq!((len, argsz, short.mapped.len()), (48, 64, 0));
    let (len, second) = reply(argsz);
    let info = info.clone();
    assert_eq!((len, second), (80, Reply::RegionInfo { info, argsz }));
}

#[test]
fn versions_are_agreed_on() {
    let proposal = |major, minor, text: &str| {
        let mut body = [u16::to_le_bytes(major), u16::to_le_bytes(minor)].concat();
        body.extend(text.as_bytes());
        Request::parse(Command::VERSION, &body)
    };
    let text = "{\"capabilities\":{\"max_dma_maps\":9}}\0";
    let Ok(Request::Version(version)) = proposal(0, 7, text) else {
        panic!()
    };
    let answer = version.answer().unwrap();
    assert_eq!((answer.major, answer.minor), (0, Version::MINOR));
    assert_eq!(version.capabilities, Capabilities::default());
    // The text may be missing, with and without its NUL.
    assert!(proposal(0, 0, "").is_ok() && proposal(0, 0, "\0").is_ok());
    assert!(proposal(0, 0, "{\"capabilities\":{\"max_msg_fds\":-1}}").is_err());
    assert!(proposal(0, 0, "{").is_err());
    let Ok(Request::Version(version)) = proposal(1, 0, "") else {
        panic!()
    };
    assert!(version.answer().is_err());
}
