// SPDX-License-Identifier: Apache-2.0
//! The socket: where frames go out, and what Linux says to that.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, ToSocketAddrs, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use forebay_spec::net::ethernet;
use rustix::io::Errno;
use rustix::net::sockopt::{self, Ipv4PathMtuDiscovery};

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
    pub to: SocketAddrV4,
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
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).map_err(unusable)?;
        socket.connect(to).map_err(unusable)?;
        // Fragments would be refused: rather an error here than silence there.
        sockopt::set_ip_mtu_discover(&socket, Ipv4PathMtuDiscovery::DO)
            .map_err(|error| unusable(error.into()))?;
        let room = sockopt::ip_mtu(&socket).map_err(|error| unusable(error.into()))?;
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

    /// Bytes of a file in a frame.
    ///
    /// # Errors
    /// If there is room for none.
    pub fn payload(&self) -> Result<usize> {
        ethernet::payload_of_mtu(self.mtu.into()).ok_or_else(|| {
            Error::setting(
                "the MTU",
                self.mtu,
                "our header and those of IPv4 and UDP take 60 bytes of it",
                "send over another interface",
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
                "no host there answers to ARP, or there is no route: ip neighbour, ip route"
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

/// The address of HOST\[:PORT\].
fn resolve(to: &str) -> Result<SocketAddrV4> {
    let full = if to.contains(':') {
        to.to_owned()
    } else {
        format!("{to}:{}", ethernet::UDP_PORT)
    };
    let bad = |why: &str| {
        Error::setting(
            "--to",
            format_args!("`{to}`"),
            why,
            "write HOST or HOST:PORT, such as 10.77.0.2:64257",
        )
    };
    let addresses = full
        .to_socket_addrs()
        .map_err(|error| bad(&format!("that cannot be found: {error}")))?;
    let found = addresses.filter_map(|address| match address {
        SocketAddr::V4(address) => Some(address),
        SocketAddr::V6(_) => None,
    });
    match found.collect::<Vec<_>>().first() {
        None => Err(bad("only an IPv4 address can be sent to")),
        Some(address) if address.port() == 0 || address.ip().is_unspecified() => {
            Err(bad("address and port must not be 0"))
        }
        Some(address) => Ok(*address),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receivers_are_found() {
        let address = |text: &str| resolve(text).map(|found| found.to_string());
        assert_eq!(address("127.0.0.1:5").expect("one"), "127.0.0.1:5");
        assert_eq!(address("127.0.0.1").expect("one"), "127.0.0.1:64257");
        for text in [
            "",
            ":",
            "127.0.0.1:0",
            "0.0.0.0:5",
            "127.0.0.1:x",
            "[::1]:5",
            "a b:5",
        ] {
            assert!(resolve(text).is_err(), "{text}");
        }
    }

    #[test]
    fn frames_go_and_a_missing_receiver_is_noticed() {
        let there = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let to = there.local_addr().expect("an address").to_string();
        let mut line = Line::open(&to, None).expect("a line");
        assert_eq!((line.mtu, line.payload().expect("room")), (9000, 8940));
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
