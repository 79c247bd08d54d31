# SPDX-License-Identifier: Apache-2.0
"""Frames for the tests of rtl/net, made by scapy, and what objects become of them."""

from __future__ import annotations

import ipaddress
import struct
from dataclasses import dataclass, field

from cocotbext.axi import AxiStreamFrame
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Packet, Raw

from forebay import spec

OUR_MAC, PEER_MAC = "02:fb:00:00:00:01", "02:00:5e:10:00:02"
OUR_IP, PEER_IP = "10.9.8.7", "10.9.8.1"
OUR_IP6, PEER_IP6 = "fd77:1:2:3:4:5:a6b7:c8d9", "fd77:1:2:3::1"
GROUP6, GROUP6_MAC = "ff15::8901:203", "33:33:89:01:02:03"
PORT = spec.UDP_PORT
STREAM = 5
GIANT = 9022
BEAT = spec.USER_BEAT_BYTES


def number(address: str) -> int:
    """Turn a MAC or IP address into what the configuration ports take."""
    if len(address) == len(OUR_MAC) and address.count(":") == 5:
        return int(address.replace(":", ""), 16)
    return int(ipaddress.ip_address(address))


KINDS = ["ALIEN", "RAW", "UDP", "ARP", "ECHO", "PAUSE", "ANSWER", "SOLICIT"]
HEADERS = {"vlan": 1, "ipv6": 1, "icmp": 1, "ip": 1, "ip_bad": 1, "fragment": 1, "ip_bytes": 16}
HEADERS |= {"ip_in_beat": 7, "udp_bytes": 16, "unsummed": 1}
"""Bits of the fields of headers_t behind the kind."""
KIND_AT = sum(HEADERS.values())


def headers(kind: str, **fields: int) -> int:
    """Pack headers_t of fb_net_pkg; fields that are not named are 0."""
    assert fields.keys() <= HEADERS.keys()
    value = KINDS.index(kind)
    for name, width in HEADERS.items():
        value = value << width | fields.get(name, 0) & (1 << width) - 1
    return value


def configure(dut, **others: int) -> None:
    """Set the settings that a module has; others than the usual ones by name."""
    usual = {
        "cfg_mac": number(OUR_MAC),
        "cfg_ip": number(OUR_IP),
        "cfg_ip6": number(OUR_IP6),
        "cfg_group": 0,
        "cfg_group6": 0,
        "cfg_peer_ip": number(PEER_IP),
        "cfg_port": PORT,
        "cfg_stream": STREAM,
        "cfg_streams": 1,
        "cfg_gather": 2**16,
        "cfg_giant": GIANT,
        "cfg_priority": 0,
        "cfg_class": 0,
        "cfg_packets": 0,
    }
    for name, value in (usual | others).items():
        if hasattr(dut, name):
            getattr(dut, name).value = value


def header(sequence: int, number: int, place: int, flags: int, **others: int) -> bytes:
    """Pack the header in front of a payload, as docs/reference/net.md does."""
    version = others.get("version", spec.FRAMING_VERSION) << 4
    epoch, stream = others.get("epoch", 1), others.get("stream", STREAM)
    magic = others.get("magic", spec.FRAMING_MAGIC)
    numbers = (version | flags, others.get("reserved", 0), stream, epoch, sequence, number, place)
    return struct.pack("<IBBHIIQQ", magic, *numbers)


def wire(packet: Packet) -> bytes:
    """Return a packet's bytes, filled to the least length with what is not zero."""
    return bytes(packet).ljust(spec.FRAME_LEAST_BYTES, b"\xa5")


def ether(vlan: int | None = None, **fields: object) -> Packet:
    """Return the Ethernet header from the peer to us, with or without a tag."""
    found = Ether(**({"src": PEER_MAC, "dst": OUR_MAC} | fields))
    return found if vlan is None else found / Dot1Q(vlan=vlan)


def udp(datagram: bytes, vlan: int | None = None, **fields: object) -> Packet:
    """Return a UDP frame to us; `fields` replace those of its UDP header."""
    ports = {"sport": 40000, "dport": PORT} | fields
    return ether(vlan) / IP(src=PEER_IP, dst=OUR_IP) / UDP(**ports) / Raw(datagram)


def udp6(datagram: bytes, vlan: int | None = None, **fields: object) -> Packet:
    """Return the same over IPv6."""
    ports = {"sport": 40000, "dport": PORT} | fields
    return ether(vlan) / IPv6(src=PEER_IP6, dst=OUR_IP6) / UDP(**ports) / Raw(datagram)


def to_group6(datagram: bytes, vlan: int | None = None) -> Packet:
    """Return the same to an IPv6 multicast group."""
    frame = udp6(datagram, vlan)
    frame[Ether].dst, frame[IPv6].dst = GROUP6_MAC, GROUP6
    return frame


def raw(datagram: bytes, vlan: int | None = None) -> Packet:
    """Return a frame to us with the header straight behind its EtherType."""
    if vlan is None:
        return ether(type=spec.ETHERTYPE_FOREBAY) / Raw(datagram)
    tagged = ether(vlan)
    tagged[Dot1Q].type = spec.ETHERTYPE_FOREBAY
    return tagged / Raw(datagram)


def on_bus(frame: bytes, damaged: bool = False) -> AxiStreamFrame:
    """Return a frame as the MAC hands it over."""
    last = len(frame) - 1 - (len(frame) - 1) % BEAT
    return AxiStreamFrame(frame, tuser=[0] * last + [int(damaged)] * (len(frame) - last))


@dataclass
class Sender:
    """Cuts objects into datagrams."""

    epoch: int = 1
    stream: int = STREAM
    sequence: int = 0
    sent: list[bytes] = field(default_factory=list)

    def datagrams(self, number: int, content: bytes, part: int) -> list[bytes]:
        """Return the datagrams of an object in parts of at most `part` bytes."""
        found = []
        for at in range(0, len(content), part):
            last = at + part >= len(content)
            flags = (at == 0) * spec.FRAMING_FIRST | last * spec.FRAMING_LAST
            place = at or len(content)
            head = header(self.sequence, number, place, flags, epoch=self.epoch, stream=self.stream)
            self.sequence = (self.sequence + 1) % 2**32
            found.append(head + content[at : at + part])
        return found
