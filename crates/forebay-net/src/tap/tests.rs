// SPDX-License-Identifier: Apache-2.0
//! Linux on the other side, in a network namespace of its own.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::Path;
use std::process::{Command, Stdio};

use miette::Diagnostic;

use super::*;

const HOST: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
const HOST6: Ipv6Addr = Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 1);
const PEER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
/// Our side of the wire.
const MAC: [u8; 6] = [2, 0, 0, 0, 0, 2];
const PORT: u16 = ethernet::UDP_PORT;

fn setup(name: &str) -> Setup {
    Setup {
        name: name.into(),
        mtu: 9000,
        queue: 1000,
        addresses: match has_ipv6() {
            true => vec![(HOST.into(), 24), (HOST6.into(), 64)],
            false => vec![(HOST.into(), 24)],
        },
    }
}

/// Whether new interfaces have IPv6 here.
fn has_ipv6() -> bool {
    let has = Path::new(ADDRESSES6).exists() && !is_ipv6_off("default");
    if !has {
        eprintln!("left out: addresses of IPv6, which is off on this machine");
    }
    has
}

/// Runs a test of this program that is otherwise left out, in namespaces of its own.
fn in_namespaces(namespaces: &str, test: &str) {
    let unshare = |words: &[&str]| Command::new("unshare").arg(namespaces).args(words).output();
    if !unshare(&["true"]).is_ok_and(|done| done.status.success()) {
        eprintln!("left out: this machine allows no namespaces to its users");
        return;
    }
    let program = std::env::current_exe().expect("this program");
    let program = program.to_str().expect("a path");
    let name = format!("tap::tests::{test}");
    let done = unshare(&[program, &name, "--exact", "--ignored", "--nocapture"]);
    let done = done.expect("unshare");
    let text = String::from_utf8_lossy(&done.stdout) + String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
fn linux_talks_through_it() {
    in_namespaces("-rn", "inside_linux_talks");
}

#[test]
fn linux_pings_through_it() {
    in_namespaces("-rn", "inside_linux_pings");
}

#[test]
fn what_the_queue_does_not_hold_is_counted() {
    in_namespaces("-rn", "inside_the_queue_is_full");
}

#[test]
fn an_interface_that_root_made_takes_no_privilege() {
    in_namespaces("-rn", "inside_it_was_there");
}

#[test]
fn without_privilege_it_says_what_helps() {
    in_namespaces("-r", "inside_nothing_is_allowed");
}

/// The next frame that is not IPv6's own talk.
fn next(tap: &mut Tap) -> Vec<u8> {
    let until = Instant::now() + Duration::from_secs(10);
    let mut frame = Vec::new();
    while Instant::now() < until {
        if !tap.read(&mut frame).expect("the interface") {
            thread::sleep(Duration::from_millis(1));
        } else if frame[12..14] != [0x86, 0xdd] {
            return frame;
        }
    }
    panic!("no frame in ten seconds");
}

/// Turns a request for an address, or a ping, round.
fn answer(request: &[u8]) -> Vec<u8> {
    let mut frame = request.to_vec();
    frame[..6].copy_from_slice(&request[6..12]);
    frame[6..12].copy_from_slice(&MAC);
    if request[12..14] == [8, 6] {
        frame[21] = 2;
        frame[32..42].copy_from_slice(&request[22..32]);
        frame[22..28].copy_from_slice(&MAC);
        frame[28..32].copy_from_slice(&PEER.octets());
    } else {
        frame[26..30].copy_from_slice(&request[30..34]);
        frame[30..34].copy_from_slice(&request[26..30]);
        // Echo: the type goes from 8 to 0, the checksum with it (RFC 1624).
        frame[34] = 0;
        let sum = u32::from(u16::from_be_bytes([frame[36], frame[37]])) + 0x800;
        let sum = (sum & 0xffff) + (sum >> 16);
        frame[36..38].copy_from_slice(&(sum as u16).to_be_bytes());
    }
    frame
}

/// Ones' complement sum.
fn sum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|pair| {
        let low = pair.get(1).copied().unwrap_or(0);
        u32::from(u16::from_be_bytes([pair[0], low]))
    });
    let sum: u32 = words.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    (sum + (sum >> 16)) as u16
}

/// A datagram from the link partner to the host.
fn datagram(to: [u8; 6], port: u16, payload: &[u8]) -> Vec<u8> {
    let mut ip = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0];
    ip.extend(PEER.octets());
    ip.extend(HOST.octets());
    let length = |bytes: usize| (bytes as u16).to_be_bytes();
    ip[2..4].copy_from_slice(&length(28 + payload.len()));
    let check = !sum(&ip);
    ip[10..12].copy_from_slice(&check.to_be_bytes());
    let mut udp = Vec::from(PORT.to_be_bytes());
    udp.extend(port.to_be_bytes());
    udp.extend(length(8 + payload.len()));
    udp.extend([0, 0]);
    udp.extend(payload);
    let mut pseudo = ip[12..].to_vec();
    pseudo.extend([0, 17]);
    pseudo.extend(&udp[4..6]);
    pseudo.extend(&udp);
    udp[6..8].copy_from_slice(&(!sum(&pseudo)).to_be_bytes());
    let mut frame = to.to_vec();
    frame.extend(MAC);
    frame.extend([8, 0]);
    frame.extend(ip);
    frame.extend(udp);
    frame
}

#[test]
#[ignore = "runs in a namespace"]
fn inside_linux_talks() {
    let mut tap = Tap::open(&setup("tap7")).expect("an interface");
    let socket = UdpSocket::bind((HOST, 0)).expect("its address");
    socket
        .set_read_timeout(Some(Duration::from_secs(10)))
        .expect("a socket");
    let payload: Vec<u8> = (0..8972_u32).map(|at| (at * 31) as u8).collect();
    socket.send_to(&payload, (PEER, PORT)).expect("room");
    let request = next(&mut tap);
    assert_eq!(
        (request.len(), &request[12..14]),
        (60, &[8, 6][..]),
        "filled"
    );
    assert!(tap.write(&answer(&request)).expect("the interface"));
    let frame = next(&mut tap);
    assert_eq!((frame.len(), &frame[..6]), (9014, &MAC[..]));
    assert_eq!(frame[42..], payload);
    // Checksums are whole, although Linux leaves them to network cards.
    assert_eq!(sum(&frame[14..34]), 0xffff);
    let mut pseudo = frame[26..34].to_vec();
    pseudo.extend([0, 17]);
    pseudo.extend(&frame[38..40]);
    pseudo.extend(&frame[34..]);
    assert_eq!(sum(&pseudo), 0xffff);
    let host: [u8; 6] = frame[6..12].try_into().expect("an address");
    let port = socket.local_addr().expect("an address").port();
    tap.write(&datagram(host, port, b"and back"))
        .expect("the interface");
    let mut room = [0; 100];
    let (bytes, from) = socket.recv_from(&mut room).expect("a datagram");
    assert_eq!(&room[..bytes], b"and back");
    assert_eq!(from, SocketAddr::from((PEER, PORT)));
    assert_eq!(tap.dropped().expect("statistics"), 0);
    let twice = Tap::open(&setup("tap7")).expect_err("it is in use");
    assert!(format!("{:?}", miette::Report::new(twice)).contains("another program"));
}

#[test]
#[ignore = "runs in a namespace"]
fn inside_linux_pings() {
    let mut tap = Tap::open(&setup("tap7")).expect("an interface");
    let ping = Command::new("ping")
        .args([
            "-c",
            "3",
            "-i",
            "0.2",
            "-W",
            "5",
            "-s",
            "1000",
            &PEER.to_string(),
        ])
        .stdout(Stdio::piped())
        .spawn()
        .expect("ping");
    for _ in 0..4 {
        let request = next(&mut tap);
        assert!(tap.write(&answer(&request)).expect("the interface"));
    }
    let done = ping.wait_with_output().expect("ping");
    let text = String::from_utf8_lossy(&done.stdout);
    assert!(text.contains("3 received"), "{text}");
}

#[test]
#[ignore = "runs in a namespace"]
fn inside_the_queue_is_full() {
    let mut tap = Tap::open(&setup("tap7")).expect("an interface");
    let socket = UdpSocket::bind((HOST, 0)).expect("its address");
    socket.send_to(b"who has it?", (PEER, PORT)).expect("room");
    let request = next(&mut tap);
    tap.write(&answer(&request)).expect("the interface");
    next(&mut tap);
    let offered = 1500_u64;
    for number in 0..offered {
        socket
            .send_to(&number.to_le_bytes(), (PEER, PORT))
            .expect("room");
    }
    let mut frame = Vec::new();
    let mut numbers = Vec::new();
    while tap.read(&mut frame).expect("the interface") {
        if frame[12..14] == [8, 0] {
            numbers.push(u64::from(frame[42]) | u64::from(frame[43]) << 8);
        }
    }
    let dropped = tap.dropped().expect("statistics");
    let kept = numbers.len() as u64;
    // A few of IPv6's own frames are among both.
    assert!((990..=1000).contains(&kept), "{kept}");
    let lost = offered - kept;
    assert!((lost..lost + 20).contains(&dropped), "{lost} {dropped}");
    assert!(numbers.is_sorted());
}

#[test]
#[ignore = "runs in a namespace"]
fn inside_it_was_there() {
    let ip = |words: &str| {
        let done = Command::new("ip")
            .args(words.split(' '))
            .status()
            .expect("ip");
        assert!(done.success(), "{words}");
    };
    ip("tuntap add tap8 mode tap");
    ip("address add 10.77.0.1/24 dev tap8");
    ip("link set tap8 up mtu 9000 txqueuelen 1000");
    // What lacks of addresses is added, though another interface has one of them, and can be sent
    // from at once.
    if has_ipv6() {
        ip("address add fd77::1/64 dev lo");
        let tap = Tap::open(&setup("tap8")).expect("an interface");
        let addresses = fs::read_to_string(ADDRESSES6).expect("a table");
        let flags = flags_of(&addresses, "tap8", HOST6).expect("an address");
        assert_eq!(flags & TENTATIVE, 0, "{addresses}");
        UdpSocket::bind((HOST6, 0)).expect("its address");
        drop(tap);
    }
    drop(Tap::open(&setup("tap8")).expect("an interface"));
    // It stays, as it was there before.
    drop(Tap::open(&setup("tap8")).expect("an interface"));
    ip("link show tap8");
    let failure = Tap::open(&setup("lo")).expect_err("it is no TAP interface");
    let text = failure.help().expect("a remedy").to_string();
    assert!(text.contains("none of TAP"), "{text}");
}

#[test]
#[ignore = "runs in a namespace"]
fn inside_nothing_is_allowed() {
    let both = Setup {
        addresses: vec![(HOST.into(), 24), (HOST6.into(), 64)],
        ..setup("tap9")
    };
    let failure = Tap::open(&both).expect_err("no privilege");
    let text = failure.help().expect("a remedy").to_string();
    for words in [
        "CAP_NET_ADMIN",
        "unshare -rn",
        "ip tuntap add tap9",
        "10.77.0.1/24",
        "fd77::1/64",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn senseless_settings_are_refused() {
    let refused = |change: fn(&mut Setup)| {
        let mut setup = setup("tap7");
        change(&mut setup);
        check(&setup).expect_err("senseless").to_string()
    };
    assert!(refused(|setup| setup.name = "a/b".into()).contains("a/b"));
    assert!(refused(|setup| setup.name.clear()).contains("1 to 15"));
    assert!(refused(|setup| setup.name = "x".repeat(16)).contains("1 to 15"));
    assert!(refused(|setup| setup.mtu = 67).contains("68 to 16366"));
    assert!(refused(|setup| setup.mtu = MOST_MTU + 1).contains("68 to 16366"));
    assert!(refused(|setup| setup.addresses[0].1 = 31).contains("10.77.0.1/31"));
    assert!(refused(|setup| setup.addresses[0].1 = 0).contains("10.77.0.1/0"));
    assert!(refused(|setup| setup.addresses = vec![(HOST6.into(), 127)]).contains("fd77::1/127"));
    assert!(refused(|setup| setup.addresses.push((PEER.into(), 24))).contains("one of IPv4"));
    let small = refused(|setup| {
        setup.addresses = vec![(HOST6.into(), 64)];
        setup.mtu = LEAST_MTU6 - 1;
    });
    assert!(small.contains("1280 at least"), "{small}");
}

#[test]
fn statistics_are_found() {
    let table = "Inter-|  Receive | Transmit\n face |bytes | bytes\n\
                 xtap7: 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n  tap7:       5 0 0 9 0 0 0 0 3 4 5 6 7 0 0 0\n";
    assert_eq!(dropped_of(table, "tap7"), Some(6));
    assert_eq!(dropped_of(table, "tap8"), None);
    assert_eq!(dropped_of("tap7: 1 2 3", "tap7"), None);
}

#[test]
fn addresses_of_ipv6_are_found() {
    let table = "00000000000000000000000000000001 01 80 10 80       lo\n\
                 fd770000000000000000000000000001 02 40 00 c0    xtap7\n\
                 fd770000000000000000000000000001 03 40 00 40     tap7\nnoise\n";
    assert_eq!(flags_of(table, "tap7", HOST6), Some(0x40));
    assert_eq!(flags_of(table, "tap8", HOST6), None);
    assert_eq!(flags_of(table, "tap7", Ipv6Addr::LOCALHOST), None);
    assert_eq!(flags_of("", "tap7", HOST6), None);
}

#[test]
fn addresses_are_found_among_routes() {
    let table = "Local:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 10.77.0.0\n        /24 link UNICAST\n     \
                 |-- 10.77.0.1\n        /32 host LOCAL\n     |-- 10.77.0.255\n        /32 link BROADCAST\n";
    assert!(is_ours(table, HOST.into()));
    assert!(!is_ours(table, PEER.into()));
    assert!(!is_ours(table, Ipv4Addr::new(10, 77, 0, 255).into()));
    assert!(!is_ours("", HOST.into()));
}
