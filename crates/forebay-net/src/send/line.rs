// SPDX-License-Identifier: Apache-2.0
//! The socket: where frames go out, and what Linux says to that.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, ToSocketAddrs, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use forebay_spec::net::{ethernet, header};
use rustix::io::Errno;
use rustix::net::sockopt::{self, Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery};

use super::sender::Stop;
use crate::{Error, Result};

/// What is taken where the way there has room for it: jumbo frames, and loopback has more.
const USUAL_MTU: u16 = 9000;
/// Pause before a frame is offered again that found no room.
const AGAIN: Duration = Duration::from_micros(200);
/// How long room may be lacking before the network counts as standing still.
const PATIENCE: Duration = Duration::from_secs(10);

/// A socket that is connected to the receiver.
#[derive(Debug)]
pub struct Line {
    socket: UdpSocket,
    /// The receiver.
    pub to: SocketAddr,
    /// Bytes of a frame behind its Ethernet header.
    pub mtu: u16,
    /// Times that a frame was offered again, as Linux had no room for it.
    pub again: u64,
}

/// What became of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// Linux has it.
    Yes,
    /// It should stop before there was room.
    Stopped,
    /// No receiver at that address: it was not sent.
    Refused,
}

impl Line {
    /// Connects; nothing goes out by that.
    ///
    /// # Errors
    /// If there is no such receiver, no way to it, or less room on it than wanted.
    pub fn open(to: &str, mtu: Option<u16>) -> Result<Self> {
        let to = resolve(to)?;
        let unusable = |source: io::Error| Error::NoWay { to, source };
        let any = match to {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
        };
        let socket = UdpSocket::bind(any).map_err(unusable)?;
        socket.connect(to).map_err(unusable)?;
        // Fragments would be refused: rather an error here than silence there.
        let room = match to {
            SocketAddr::V4(_) => sockopt::set_ip_mtu_discover(&socket, Ipv4PathMtuDiscovery::DO)
                .and_then(|()| sockopt::ip_mtu(&socket)),
            SocketAddr::V6(_) => sockopt::set_ipv6_mtu_discover(&socket, Ipv6PathMtuDiscovery::DO)
                .and_then(|()| sockopt::ipv6_mtu(&socket)),
        };
        let room = room.map_err(|error| unusable(error.into()))?;
        let room = u16::try_from(room).unwrap_or(u16::MAX);
        let mtu = mtu.unwrap_or(room.min(USUAL_MTU));
        if mtu > room {
            return Err(Error::setting(
                "--mtu",
                mtu,
                format!("the way to {to} takes {room} bytes"),
                "choose less, or set more: ip link set DEVICE mtu BYTES",
            ));
        }
        Ok(Self {
            socket,
            to,
            mtu,
            again: 0,
        })
    }

    /// Bytes of a frame's IP header.
    #[must_use]
    pub const fn ip_bytes(&self) -> usize {
        match self.to {
            SocketAddr::V4(_) => ethernet::IPV4_BYTES,
            SocketAddr::V6(_) => ethernet::IPV6_BYTES,
        }
    }

    /// Bytes of a file in a frame.
    ///
    /// # Errors
    /// If there is room for none.
    pub fn payload(&self) -> Result<usize> {
        let ip_bytes = self.ip_bytes();
        ethernet::payload_of_mtu(self.mtu.into(), ip_bytes).ok_or_else(|| {
            let headers = ip_bytes + ethernet::UDP_BYTES + header::BYTES;
            Error::setting(
                "the MTU",
                self.mtu,
                format!("our header and those of IP and UDP take {headers} bytes of it"),
                "send over another interface, or with a greater --mtu",
            )
        })
    }

    /// Sends a frame, or waits until there is room for it or it should stop.
    ///
    /// # Errors
    /// If Linux refuses it.
    pub fn send(&mut self, frame: &[u8], stop: Stop) -> Result<Sent> {
        let beginning = Instant::now();
        loop {
            let error = match self.socket.send(frame) {
                Ok(_) => return Ok(Sent::Yes),
                Err(error) => error,
            };
            let no_room = error.raw_os_error() == Some(Errno::NOBUFS.raw_os_error());
            match error.kind() {
                ErrorKind::ConnectionRefused => return Ok(Sent::Refused),
                ErrorKind::Interrupted => {}
                ErrorKind::WouldBlock | ErrorKind::OutOfMemory => self.again += 1,
                _ if no_room => self.again += 1,
                _ => return Err(self.failed(error)),
            }
            if stop() {
                return Ok(Sent::Stopped);
            }
            if beginning.elapsed() > PATIENCE {
                return Err(self.failed(error));
            }
            thread::sleep(AGAIN);
        }
    }

    fn failed(&self, source: io::Error) -> Error {
        let remedy = match source.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::MSGSIZE) => "the way there takes smaller frames: --mtu 1500, or less",
            Some(Errno::ACCESS | Errno::PERM) => {
                "it is a broadcast address, or a firewall forbids it: nft list ruleset"
            }
            Some(Errno::NETUNREACH | Errno::HOSTUNREACH) => {
                "no host answers to ARP or neighbour discovery, or there is no route: \
                 ip neighbour, ip route"
            }
            Some(Errno::NOBUFS | Errno::NOMEM) => {
                "the interface has stood still for ten seconds: is it paused? Or name a --rate"
            }
            _ => "look at the interface: ip -statistics link",
        };
        Error::Unsent {
            mtu: self.mtu,
            to: self.to,
            source,
            remedy,
        }
    }
}

/// The address of HOST\[:PORT\], where an IPv6 address stands in brackets. Of a name that has both, the
/// IPv4 address.
fn resolve(to: &str) -> Result<SocketAddr> {
    let bad = |why: &str| {
        Error::setting(
            "--to",
            format_args!("`{to}`"),
            why,
            "write HOST or HOST:PORT, such as 10.77.0.2:64257 or [fd77::2]:64257",
        )
    };
    let (host, port) = split(to).ok_or_else(|| bad("it is neither HOST nor HOST:PORT"))?;
    let addresses = (host, port)
        .to_socket_addrs()
        .map_err(|error| bad(&format!("that cannot be found: {error}")))?;
    // An IPv4 address as IPv6 writes it is sent to over IPv4.
    let plain = |address: SocketAddr| match address.ip().to_canonical() {
        IpAddr::V4(ip) => SocketAddr::from((ip, address.port())),
        IpAddr::V6(_) => address,
    };
    match addresses.map(plain).min_by_key(SocketAddr::is_ipv6) {
        None => Err(bad("it has no address")),
        Some(SocketAddr::V6(address)) if needs_zone(&address) => Err(bad(
            "on which link that address is must be said: [ADDRESS%INTERFACE]",
        )),
        Some(address) if address.port() == 0 || address.ip().is_unspecified() => {
            Err(bad("address and port must not be 0"))
        }
        Some(address) => Ok(address),
    }
}

/// Addresses of one link, without an interface.
fn needs_zone(address: &SocketAddrV6) -> bool {
    let ip = address.ip();
    // RFC 4291 2.7: the scope of a group.
    let of_link = ip.is_multicast() && ip.octets()[1] & 0xf <= 2;
    address.scope_id() == 0 && (ip.is_unicast_link_local() || of_link)
}

/// Host and port; none: it has not this form.
fn split(to: &str) -> Option<(&str, u16)> {
    let default = ethernet::UDP_PORT;
    let (host, port) = match to.strip_prefix('[') {
        Some(rest) => {
            let (host, behind) = rest.split_once(']')?;
            match behind {
                "" => (host, None),
                _ => (host, Some(behind.strip_prefix(':')?)),
            }
        }
        // With more than one colon none of them is known to be in front of a port.
        None if to.matches(':').nth(1).is_some() => return None,
        None => match to.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (to, None),
        },
    };
    let port = port.map_or(Some(default), |port| port.parse().ok())?;
    (!host.is_empty()).then_some((host, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receivers_are_found() {
        let address = |text: &str| resolve(text).map(|found| found.to_string());
        assert_eq!(address("127.0.0.1:5").expect("one"), "127.0.0.1:5");
        assert_eq!(address("127.0.0.1").expect("one"), "127.0.0.1:64257");
        for (text, found) in [
            ("[::1]:5", "[::1]:5"),
            ("[::1]", "[::1]:64257"),
            ("[::ffff:10.77.0.2]", "10.77.0.2:64257"),
            ("[fe80::2%1]:5", "[fe80::2%1]:5"),
            ("[ff15::77]", "[ff15::77]:64257"),
            ("localhost:7", "127.0.0.1:7"),
        ] {
            assert_eq!(address(text).expect("one"), found);
        }
        for text in [
            "",
            ":",
            ":5",
            "127.0.0.1:0",
            "0.0.0.0:5",
            "127.0.0.1:x",
            "127.0.0.1:65536",
            "[::]:5",
            "[::1]:0",
            "[::1]:",
            "[::1]5",
            "[::1",
            "[]:5",
            "::1]:5",
            "::1",
            "fd77::2:5000",
            "[fe80::2]",
            "[ff02::77]:5",
            "a b:5",
        ] {
            assert!(resolve(text).is_err(), "{text}");
        }
    }

    #[test]
    fn frames_go_and_a_missing_receiver_is_noticed() {
        to_ourselves("127.0.0.1:0", 8940);
        match UdpSocket::bind("[::1]:0") {
            Ok(_) => to_ourselves("[::1]:0", 8920),
            Err(error) => eprintln!("left out: this machine has no IPv6: {error}"),
        }
    }

    fn to_ourselves(ours: &str, payload: usize) {
        let there = UdpSocket::bind(ours).expect("a socket");
        let to = there.local_addr().expect("an address").to_string();
        let mut line = Line::open(&to, None).expect("a line");
        assert_eq!((line.mtu, line.payload().expect("room")), (9000, payload));
        assert_eq!(line.send(b"hello", || false).expect("loopback"), Sent::Yes);
        let mut room = [0; 10];
        assert_eq!(there.recv(&mut room).expect("a datagram"), 5);
        drop(there);
        let all: Vec<Sent> = (0..3)
            .map(|_| line.send(b"hello", || false).expect("sent"))
            .collect();
        assert!(all.contains(&Sent::Refused), "{all:?}");
    }
}
