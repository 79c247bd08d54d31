// SPDX-License-Identifier: Apache-2.0
//! What precedes a datagram in a frame: Ethernet, a VLAN tag, IPv4 or IPv6, and UDP with their
//! checksums.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use forebay_spec::net::ethernet::{
    HEADER_BYTES, IPV4_BYTES, IPV6_BYTES, LEAST_BYTES, PROTOCOL_UDP, TAG_BYTES, TYPE_FOREBAY,
    TYPE_IPV4, TYPE_IPV6, TYPE_VLAN, UDP_BYTES, UDP_PORT,
};

/// Version 4, five words of header.
const VERSION_AND_LENGTH: u8 = 0x45;
/// Flag: may not be cut into fragments.
const DO_NOT_FRAGMENT: u16 = 0x4000;
/// Routers that may pass it on.
const HOPS: u8 = 64;
/// Version 6; traffic class and flow label are 0.
const VERSION_6: u8 = 0x60;

/// Who sends a frame, or whom it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Station {
    /// MAC address.
    pub mac: [u8; 6],
    /// IP address.
    pub ip: IpAddr,
    /// UDP port.
    pub port: u16,
}

impl Station {
    /// Its IPv4 address; 0.0.0.0: it has one of IPv6.
    #[must_use]
    pub const fn ipv4(&self) -> Ipv4Addr {
        match self.ip {
            IpAddr::V4(ip) => ip,
            IpAddr::V6(_) => Ipv4Addr::UNSPECIFIED,
        }
    }
}

/// The reply of a station to an ARP request for its IPv4 address (RFC 826), without a VLAN tag; none to
/// anything else.
pub(super) fn arp_reply(who: Station, request: &[u8]) -> Option<Vec<u8>> {
    let [head, asker, asked] = [6..22, 22..32, 38..42].map(|range| request.get(range));
    let (head, asker, asked) = (head?, asker?, asked?);
    // EtherType, Ethernet, IPv4, lengths of their addresses, and what it is.
    const REQUEST: [u8; 10] = [0x08, 0x06, 0, 1, 0x08, 0x00, 6, 4, 0, 1];
    let IpAddr::V4(ip) = who.ip else {
        return None;
    };
    if head[6..] != REQUEST || asked != ip.octets() {
        return None;
    }
    let mut reply = [
        &head[..6],
        &who.mac,
        &REQUEST[..9],
        &[2],
        &who.mac,
        &ip.octets(),
        asker,
    ]
    .concat();
    reply.resize(LEAST_BYTES, 0);
    Some(reply)
}

/// From whom to whom, and in what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// Who sends.
    pub from: Station,
    /// Whom it is for.
    pub to: Station,
    /// VLAN tag: priority in bits 15:13, network in bits 11:0.
    pub tag: Option<u16>,
    /// Straight behind EtherType 0x88B5, without IP and UDP.
    pub raw: bool,
}

impl Default for Addresses {
    /// A link partner at 192.168.1.1 sends to us at 192.168.1.2, by addresses of local use.
    fn default() -> Self {
        let station = |n| Station {
            mac: [2, 0, 0, 0, 0, n],
            ip: [192, 168, 1, n].into(),
            port: UDP_PORT,
        };
        Self {
            from: station(1),
            to: station(2),
            tag: None,
            raw: false,
        }
    }
}

impl Addresses {
    /// Bytes of Ethernet's MTU that precede a datagram.
    pub(super) const fn before(&self) -> usize {
        match (self.raw, self.is_ipv6()) {
            (true, _) => 0,
            (false, false) => IPV4_BYTES + UDP_BYTES,
            (false, true) => IPV6_BYTES + UDP_BYTES,
        }
    }

    /// Over IPv6, as soon as one of both has such an address.
    const fn is_ipv6(&self) -> bool {
        self.from.ip.is_ipv6() || self.to.ip.is_ipv6()
    }

    /// Both IP addresses as they stand in the headers.
    fn pair(&self) -> Vec<u8> {
        match (self.from.ip, self.to.ip) {
            (IpAddr::V4(from), IpAddr::V4(to)) => [from.octets(), to.octets()].concat(),
            (from, to) => [from, to].map(as_ipv6).map(|ip| ip.octets()).concat(),
        }
    }

    /// A frame with a datagram of two parts, which has at most 65507 bytes. `identification`: any
    /// number, another one each frame.
    pub(super) fn pack(&self, identification: u16, head: &[u8], payload: &[u8]) -> Vec<u8> {
        let datagram = head.len() + payload.len();
        let mut frame = Vec::with_capacity(HEADER_BYTES + TAG_BYTES + self.before() + datagram);
        frame.extend(self.to.mac);
        frame.extend(self.from.mac);
        if let Some(tag) = self.tag {
            frame.extend(TYPE_VLAN.to_be_bytes());
            frame.extend(tag.to_be_bytes());
        }
        if self.raw {
            frame.extend(TYPE_FOREBAY.to_be_bytes());
        } else {
            let udp = (UDP_BYTES + datagram) as u16;
            if self.is_ipv6() {
                frame.extend(TYPE_IPV6.to_be_bytes());
                frame.extend(self.ipv6(udp));
            } else {
                frame.extend(TYPE_IPV4.to_be_bytes());
                frame.extend(self.ipv4(identification, IPV4_BYTES as u16 + udp));
            }
            frame.extend(self.udp(udp, head, payload));
        }
        frame.extend(head);
        frame.extend(payload);
        frame
    }

    /// The header of IPv4 (RFC 791 3.1).
    fn ipv4(&self, identification: u16, total: u16) -> [u8; IPV4_BYTES] {
        let mut header = [0; IPV4_BYTES];
        header[0] = VERSION_AND_LENGTH;
        header[2..4].copy_from_slice(&total.to_be_bytes());
        header[4..6].copy_from_slice(&identification.to_be_bytes());
        header[6..8].copy_from_slice(&DO_NOT_FRAGMENT.to_be_bytes());
        header[8] = HOPS;
        header[9] = PROTOCOL_UDP;
        header[12..].copy_from_slice(&self.pair());
        let sum = !fold(sum(0, &header));
        header[10..12].copy_from_slice(&sum.to_be_bytes());
        header
    }

    /// The header of IPv6 (RFC 8200 3), which has no checksum.
    fn ipv6(&self, udp: u16) -> [u8; IPV6_BYTES] {
        let mut header = [0; IPV6_BYTES];
        header[0] = VERSION_6;
        header[4..6].copy_from_slice(&udp.to_be_bytes());
        header[6] = PROTOCOL_UDP;
        header[7] = HOPS;
        header[8..].copy_from_slice(&self.pair());
        header
    }

    /// The header of UDP, its checksum over a header of addresses, itself and the data (RFC 768, RFC
    /// 8200 8.1).
    fn udp(&self, bytes: u16, head: &[u8], payload: &[u8]) -> [u8; UDP_BYTES] {
        let mut header = [0; UDP_BYTES];
        header[..2].copy_from_slice(&self.from.port.to_be_bytes());
        header[2..4].copy_from_slice(&self.to.port.to_be_bytes());
        header[4..6].copy_from_slice(&bytes.to_be_bytes());
        let pseudo = sum(0, &self.pair()) + u64::from(PROTOCOL_UDP) + u64::from(bytes);
        // The header before the payload has an even number of bytes, so the payload goes on in step.
        let total = fold(sum(sum(sum(pseudo, &header), head), payload));
        // 0 would say that there is none.
        let checksum = if total == u16::MAX { total } else { !total };
        header[6..8].copy_from_slice(&checksum.to_be_bytes());
        header
    }
}

/// An IPv4 address as IPv6 writes it (RFC 4291 2.5.5.2), another one as it is.
const fn as_ipv6(ip: IpAddr) -> Ipv6Addr {
    match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    }
}

/// Adds 16-bit words, the first byte the higher one, an odd byte at the end as if a zero followed.
fn sum(start: u64, bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<2>();
    let words = words
        .iter()
        .map(|word| u64::from(u16::from_be_bytes(*word)));
    let rest = rest.first().map_or(0, |byte| u64::from(*byte) << 8);
    start + words.sum::<u64>() + rest
}

/// Ones' complement sum (RFC 1071).
const fn fold(mut sum: u64) -> u16 {
    while sum > u16::MAX as u64 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    const OTHER: [u8; 4] = [10, 77, 0, 1];
    const US: [u8; 6] = [2, 0x46, 0x42, 0, 0, 1];
    const WHO: Station = Station {
        mac: [2, 0, 0, 0, 0, 1],
        ip: IpAddr::V4(Ipv4Addr::from_octets(OTHER)),
        port: 1,
    };

    fn request(asked: [u8; 4]) -> Vec<u8> {
        let fixed = [8, 6, 0, 1, 8, 0, 6, 4, 0, 1];
        let ours = [10, 77, 0, 2];
        let parts: [&[u8]; 7] = [&[0xff; 6], &US, &fixed, &US, &ours, &[0; 6], &asked];
        let mut frame = parts.concat();
        frame.resize(60, 0);
        frame
    }

    #[test]
    fn a_request_for_its_address_is_answered() {
        let reply = arp_reply(WHO, &request(OTHER)).expect("an answer");
        assert_eq!((&reply[..6], &reply[6..12]), (&US[..], &WHO.mac[..]));
        assert_eq!(reply[12..22], [8, 6, 0, 1, 8, 0, 6, 4, 0, 2]);
        assert_eq!((&reply[22..28], &reply[28..32]), (&WHO.mac[..], &OTHER[..]));
        assert_eq!(
            (&reply[32..38], &reply[38..42]),
            (&US[..], &[10, 77, 0, 2][..])
        );
        assert!(reply.len() == 60 && reply[42..] == [0; 18]);
    }

    #[test]
    fn nothing_else_is() {
        assert_eq!(arp_reply(WHO, &request([10, 77, 0, 9])), None);
        let good = request(OTHER);
        let over_ipv6 = Station {
            ip: as_ipv6(WHO.ip).into(),
            ..WHO
        };
        assert_eq!(arp_reply(over_ipv6, &good), None);
        for end in 0..42 {
            assert_eq!(arp_reply(WHO, &good[..end]), None);
        }
        for at in 12..22 {
            let mut other = good.clone();
            other[at] ^= 0x11;
            assert_eq!(arp_reply(WHO, &other), None, "{at}");
        }
    }
}
