// SPDX-License-Identifier: Apache-2.0
//! Numbers of Ethernet (IEEE 802.3, 802.1Q), ARP (RFC 826), IPv4 (RFC 791), IPv6 (RFC 8200), UDP
//! (RFC 768), ICMP (RFC 792) and ICMPv6 (RFC 4443). A frame is counted without its frame check
//! sequence, as a MAC hands it over.

/// EtherType of IPv4.
pub const TYPE_IPV4: u16 = 0x0800;
/// EtherType of IPv6.
pub const TYPE_IPV6: u16 = 0x86dd;
/// EtherType of ARP.
pub const TYPE_ARP: u16 = 0x0806;
/// EtherType of a VLAN tag (802.1Q).
pub const TYPE_VLAN: u16 = 0x8100;
/// EtherType of MAC control frames (802.3 clause 31).
pub const TYPE_MAC_CONTROL: u16 = 0x8808;
/// EtherType of our header straight on Ethernet: the one that IEEE 802 leaves for local experiments.
pub const TYPE_FOREBAY: u16 = 0x88b5;

/// Bytes of addresses and EtherType.
pub const HEADER_BYTES: usize = 14;
/// Bytes of a VLAN tag.
pub const TAG_BYTES: usize = 4;
/// Bytes of an IPv4 header without options; with them it is refused.
pub const IPV4_BYTES: usize = 20;
/// Bytes of an IPv6 header without extension headers; with them it is refused.
pub const IPV6_BYTES: usize = 40;
/// Bytes of a UDP header.
pub const UDP_BYTES: usize = 8;
/// Bytes of the shortest frame.
pub const LEAST_BYTES: usize = 60;
/// Bytes of a frame on the wire that its own bytes do not count: preamble, check sequence, gap.
pub const WIRE_BYTES: usize = 24;

/// IPv4 protocol number of ICMP.
pub const PROTOCOL_ICMP: u8 = 1;
/// Protocol number of ICMPv6.
pub const PROTOCOL_ICMPV6: u8 = 58;
/// Protocol number of UDP.
pub const PROTOCOL_UDP: u8 = 17;
/// UDP port that we listen on by default, of the range for private use.
pub const UDP_PORT: u16 = 0xfb01;

/// Bytes of payload in a UDP frame of at most `mtu` bytes behind the Ethernet header, ours and the
/// `ip_bytes` of the IP header taken off; `None` where there is room for none.
pub const fn payload_of_mtu(mtu: usize, ip_bytes: usize) -> Option<usize> {
    match mtu.checked_sub(ip_bytes + UDP_BYTES + super::header::BYTES) {
        None | Some(0) => None,
        room => room,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jumbo_frame_carries_most_of_its_bytes() {
        assert_eq!(payload_of_mtu(9000, IPV4_BYTES), Some(8940));
        assert_eq!(payload_of_mtu(9000, IPV6_BYTES), Some(8920));
        assert_eq!(payload_of_mtu(61, IPV4_BYTES), Some(1));
        assert_eq!(payload_of_mtu(60, IPV4_BYTES), None);
        assert_eq!(payload_of_mtu(80, IPV6_BYTES), None);
        assert_eq!(payload_of_mtu(0, IPV4_BYTES), None);
    }
}
