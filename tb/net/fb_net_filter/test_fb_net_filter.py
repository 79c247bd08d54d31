# SPDX-License-Identifier: Apache-2.0
"""fb_net_filter with frames of scapy, at any pace: one verdict each, and the frame as it came."""

from __future__ import annotations

import ipaddress
import random
from collections.abc import Callable

import cocotb
from cocotb.triggers import FallingEdge
from cocotbext.axi import AxiStreamSource
from scapy.layers.inet import ICMP, IP, UDP, IPOption_RR, fragment
from scapy.layers.inet6 import (
    ICMPv6EchoReply,
    ICMPv6EchoRequest,
    ICMPv6ND_NS,
    ICMPv6NDOptSrcLLAddr,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
)
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.packet import Packet, Raw
from scapy.utils import checksum

import frames
import harness
from forebay import spec
from frames import (
    GROUP6,
    GROUP6_MAC,
    OUR_IP,
    OUR_IP6,
    OUR_MAC,
    PEER_IP,
    PEER_IP6,
    PEER_MAC,
    ether,
    raw,
    udp,
    udp6,
    wire,
)
from runner import simulate

LATENCY = 7
PAUSE_MAC = ":".join(f"{spec.PAUSE_ADDRESS:012x}"[i : i + 2] for i in range(0, 12, 2))


def datagram(most: int = 8972) -> bytes:
    """Return what could be header and payload, of least, greatest, odd or any size."""
    least = spec.FRAMING_BYTES + 1
    return random.randbytes(random.choice([least, least + 1, most, random.randrange(least, most)]))


def tag() -> int | None:
    """Return a VLAN or none."""
    return random.choice([None, None, 0, 7, 4095])


def to_us(upper: Packet, **fields: object) -> Packet:
    """Return a frame with this behind an IPv4 header to us."""
    return ether(tag()) / IP(**({"src": PEER_IP, "dst": OUR_IP} | fields)) / upper


def flipped(packet: Packet, layer: type, at: int) -> bytes:
    """Return a packet with one bit wrong in a layer, its checksums those of the right one."""
    frame = bytearray(wire(packet))
    start = bytes(packet).index(bytes(packet[layer]))
    frame[start + at] ^= 1 << random.randrange(8)
    return bytes(frame)


def trailing(packet: Packet) -> bytes:
    """Return a frame that goes on after its datagram."""
    return wire(packet) + random.randbytes(random.randrange(1, 100))


def some_udp(**fields: object) -> Packet:
    """Return a good UDP frame of any size, with or without a tag."""
    return udp(datagram(), tag(), **fields)


def short(packet: Packet) -> bytes:
    """Return a frame that ends before its datagram."""
    frame = bytes(packet)
    return frame[: random.randrange(60, len(frame))]


def arp(**fields: object) -> Packet:
    """Return an ARP request for our address."""
    usual = {"op": "who-has", "hwsrc": PEER_MAC, "psrc": PEER_IP, "pdst": OUR_IP}
    return ether(tag(), dst="ff:ff:ff:ff:ff:ff") / ARP(**(usual | fields))


def reply(**fields: object) -> bytes:
    """Return an ARP reply to us."""
    usual = {"op": "is-at", "hwsrc": PEER_MAC, "psrc": PEER_IP, "hwdst": OUR_MAC, "pdst": OUR_IP}
    return wire(ether(tag()) / ARP(**(usual | fields)))


def pause(quanta: int) -> bytes:
    """Return a pause frame."""
    body = spec.PAUSE_OPCODE.to_bytes(2, "big") + quanta.to_bytes(2, "big")
    return wire(Ether(dst=PAUSE_MAC, src=PEER_MAC, type=spec.ETHERTYPE_MAC_CONTROL) / Raw(body))


def ping(size: int) -> Packet:
    """Return an echo request."""
    return to_us(ICMP(type="echo-request", id=3, seq=9) / Raw(random.randbytes(size)))


GROUP, GROUP_MAC = "239.129.2.3", "01:00:5e:01:02:03"
SAME_MAC = "239.1.2.3"  # of another group


def to_group(dst: str = GROUP, mac: str = GROUP_MAC, upper: Packet | None = None) -> bytes:
    """Return a frame to a multicast group."""
    upper = upper or UDP(dport=frames.PORT) / Raw(datagram())
    return wire(ether(tag(), dst=mac) / IP(src=PEER_IP, dst=dst) / upper)


SAME_MAC6 = "ff15::1:8901:203"
ASKED6, ASKED6_MAC = "ff02::1:ffb7:c8d9", "33:33:ff:b7:c8:d9"
"""The group of who has our IPv6 address."""


def to_us6(upper: Packet, vlan: int | None = None, **fields: object) -> Packet:
    """Return a frame with this behind an IPv6 header to us."""
    return ether(vlan or tag()) / IPv6(**({"src": PEER_IP6, "dst": OUR_IP6} | fields)) / upper


def some_udp6(**fields: object) -> Packet:
    """Return a good UDP frame over IPv6 of any size, with or without a tag."""
    return udp6(datagram(8952), tag(), **fields)


def to_group6(dst: str = GROUP6, mac: str = GROUP6_MAC, upper: Packet | None = None) -> bytes:
    """Return a frame to an IPv6 multicast group."""
    upper = upper or UDP(dport=frames.PORT) / Raw(datagram(8952))
    return wire(ether(tag(), dst=mac) / IPv6(src=PEER_IP6, dst=dst) / upper)


def ping6(size: int) -> Packet:
    """Return an echo request over IPv6."""
    return ICMPv6EchoRequest(id=3, seq=9, data=random.randbytes(size))


def solicit(mac: str = ASKED6_MAC, tgt: str = OUR_IP6, **fields: object) -> Packet:
    """Return a neighbour solicitation to the group of our address, tagged or not."""
    usual = {"src": PEER_IP6, "dst": ASKED6, "hlim": 255} | fields
    asked = ICMPv6ND_NS(tgt=tgt, code=random.choice(usual.pop("code", [0])))
    if random.random() < 0.7:
        asked /= ICMPv6NDOptSrcLLAddr(lladdr=PEER_MAC)
    return ether(usual.pop("vlan", tag()), dst=mac) / IPv6(**usual) / asked


def nearly_unsummed(vlan: int | None) -> Packet:
    """Return a UDP frame over IPv6 whose checksum is 0, which is the right sum, and forbidden."""
    content = bytearray(datagram(1000)[:-1] + b"\0")
    content += bytes(len(content) % 2)
    probe = Ether(bytes(udp6(bytes(content), vlan)))
    # What lacks to a sum of 0xffff goes into the last word.
    last = int.from_bytes(content[-2:], "big") + probe[UDP].chksum
    content[-2:] = (last % 0xFFFF).to_bytes(2, "big")
    return udp6(bytes(content), vlan, chksum=0)


def other_target(least: int = 24) -> str:
    """Return an address that differs from ours in one bit, which our group does not tell."""
    return str(ipaddress.IPv6Address(frames.number(OUR_IP6) ^ 1 << random.randrange(least, 128)))


def extended(header: Packet) -> bytes:
    """Return a UDP frame to us behind an extension header."""
    return wire(to_us6(header / UDP(dport=frames.PORT) / Raw(datagram(8900))))


# What comes, and what is to become of it.
CASES: list[tuple[Callable[[], bytes], int]] = [
    (lambda: wire(some_udp()), spec.ARRIVAL_DATAGRAM),
    (lambda: wire(some_udp(chksum=0)), spec.ARRIVAL_DATAGRAM),
    (lambda: trailing(udp(datagram(3000), tag())), spec.ARRIVAL_DATAGRAM),
    (lambda: wire(raw(datagram(), tag())), spec.ARRIVAL_DATAGRAM),
    (lambda: wire(udp(datagram()) / Raw(b"")), spec.ARRIVAL_DATAGRAM),
    (lambda: wire(arp()), spec.ARRIVAL_REQUEST),
    (lambda: wire(ping(random.randrange(1400))), spec.ARRIVAL_REQUEST),
    (lambda: pause(random.getrandbits(16)), spec.ARRIVAL_PAUSE),
    (lambda: wire(some_udp())[: random.randrange(1, 60)], spec.ARRIVAL_RUNT),
    (lambda: wire(udp(bytes(9000))), spec.ARRIVAL_GIANT),
    (lambda: wire(udp(bytes(17000))), spec.ARRIVAL_GIANT),
    (lambda: wire(ether(dst="02:00:00:00:00:09") / IP() / UDP()), spec.ARRIVAL_ALIEN),
    (lambda: wire(some_udp(dport=53)), spec.ARRIVAL_ALIEN),
    (lambda: wire(to_us(UDP(dport=frames.PORT), dst="10.9.8.8")), spec.ARRIVAL_ALIEN),
    (lambda: wire(to_us(UDP(dport=frames.PORT), proto=6)), spec.ARRIVAL_ALIEN),
    (lambda: wire(arp(pdst="10.9.8.8")), spec.ARRIVAL_ALIEN),
    (lambda: wire(arp(op="is-at")), spec.ARRIVAL_ALIEN),
    (reply, spec.ARRIVAL_REQUEST),
    (lambda: reply(psrc="10.9.8.8"), spec.ARRIVAL_ALIEN),
    (lambda: reply(pdst="10.9.8.8"), spec.ARRIVAL_ALIEN),
    (lambda: wire(to_us(ICMP(type="echo-reply"))), spec.ARRIVAL_ALIEN),
    (to_group, spec.ARRIVAL_DATAGRAM),
    (lambda: to_group(dst=SAME_MAC), spec.ARRIVAL_ALIEN),
    (lambda: to_group(dst=OUR_IP), spec.ARRIVAL_ALIEN),
    (lambda: to_group(mac=OUR_MAC), spec.ARRIVAL_ALIEN),
    (lambda: to_group(mac="ff:ff:ff:ff:ff:ff"), spec.ARRIVAL_ALIEN),
    (lambda: to_group(upper=ICMP(type="echo-request") / Raw(bytes(40))), spec.ARRIVAL_ALIEN),
    (lambda: to_group(upper=UDP(dport=53) / Raw(datagram())), spec.ARRIVAL_ALIEN),
    (lambda: wire(some_udp6()), spec.ARRIVAL_DATAGRAM),
    (lambda: trailing(udp6(datagram(3000), tag())), spec.ARRIVAL_DATAGRAM),
    (to_group6, spec.ARRIVAL_DATAGRAM),
    (lambda: wire(to_us6(ping6(random.randrange(1400)))), spec.ARRIVAL_REQUEST),
    (lambda: wire(solicit()), spec.ARRIVAL_REQUEST),
    (lambda: wire(solicit(mac=OUR_MAC, dst=OUR_IP6)), spec.ARRIVAL_REQUEST),
    (lambda: wire(ether() / IPv6() / UDP(dport=frames.PORT)), spec.ARRIVAL_ALIEN),
    (lambda: wire(to_us6(UDP(dport=frames.PORT), dst=other_target())), spec.ARRIVAL_ALIEN),
    (lambda: wire(some_udp6(dport=53)), spec.ARRIVAL_ALIEN),
    (lambda: wire(to_us6(UDP(dport=frames.PORT), nh=6)), spec.ARRIVAL_ALIEN),
    (lambda: to_group6(dst=SAME_MAC6), spec.ARRIVAL_ALIEN),
    (lambda: to_group6(dst=OUR_IP6), spec.ARRIVAL_ALIEN),
    (lambda: to_group6(mac=OUR_MAC), spec.ARRIVAL_ALIEN),
    (lambda: to_group6(mac="ff:ff:ff:ff:ff:ff"), spec.ARRIVAL_ALIEN),
    (lambda: to_group6(mac="ff:ff:ff:ff:ff:ff", dst=OUR_IP6), spec.ARRIVAL_ALIEN),
    (lambda: to_group6(upper=ping6(40)), spec.ARRIVAL_ALIEN),
    (lambda: wire(to_us6(ping6(40), src="::")), spec.ARRIVAL_ALIEN),
    (lambda: wire(to_us6(ping6(40), src="ff02::1")), spec.ARRIVAL_ALIEN),
    (lambda: wire(to_us6(ping6(40), src="64:ff9b::a4d:2")), spec.ARRIVAL_REQUEST),
    (lambda: wire(to_us6(ping6(40), plen=random.randrange(8))), spec.ARRIVAL_LENGTH),
    (lambda: wire(to_us(ICMP() / Raw(bytes(40)), len=20 + random.randrange(8))), 10),
    (lambda: wire(to_us6(ICMPv6EchoReply(data=bytes(40)))), spec.ARRIVAL_ALIEN),
    (lambda: wire(solicit(tgt=other_target())), spec.ARRIVAL_ALIEN),
    # Two bytes of it are in the first beat.
    (lambda: wire(solicit(tgt=other_target(112), vlan=None)), spec.ARRIVAL_ALIEN),
    (lambda: wire(solicit(mac=OUR_MAC)), spec.ARRIVAL_ALIEN),
    (lambda: wire(solicit(dst=OUR_IP6)), spec.ARRIVAL_ALIEN),
    (lambda: wire(solicit(src="::")), spec.ARRIVAL_ALIEN),
    (lambda: wire(solicit(src="ff02::1")), spec.ARRIVAL_ALIEN),
    (lambda: wire(solicit(hlim=random.randrange(255))), spec.ARRIVAL_ALIEN),
    (lambda: wire(solicit(code=range(1, 256))), spec.ARRIVAL_ALIEN),
    (lambda: flipped(solicit(), ICMPv6ND_NS, random.choice([2, 3, 5])), 11),
    (lambda: wire(solicit(plen=random.randrange(24))), spec.ARRIVAL_LENGTH),
    (lambda: wire(solicit(plen=100)), spec.ARRIVAL_LENGTH),
    (lambda: wire(some_udp6(chksum=0)), spec.ARRIVAL_UDP_CHECKSUM),
    (lambda: wire(nearly_unsummed(tag())), spec.ARRIVAL_UDP_CHECKSUM),
    (lambda: flipped(udp6(datagram(8952), tag()), UDP, 8 + random.randrange(33)), 11),
    (lambda: flipped(udp6(datagram(8952), tag()), IPv6, 8 + random.randrange(16)), 11),
    (lambda: short(udp6(datagram(8952), tag())), spec.ARRIVAL_LENGTH),
    (lambda: wire(udp6(bytes(random.randrange(33)), tag())), spec.ARRIVAL_LENGTH),
    (lambda: wire(some_udp6(len=40)), spec.ARRIVAL_LENGTH),
    (lambda: wire(to_us6(UDP(dport=frames.PORT) / Raw(bytes(99)), plen=0xFFFF)), 10),
    (lambda: wire(to_us6(UDP(dport=frames.PORT) / Raw(bytes(99)), plen=0)), 10),
    (lambda: wire(to_us6(UDP(dport=frames.PORT) / Raw(bytes(99)), version=4)), 7),
    (lambda: extended(IPv6ExtHdrHopByHop()), spec.ARRIVAL_IP_HEADER),
    (lambda: extended(IPv6ExtHdrRouting()), spec.ARRIVAL_IP_HEADER),
    (lambda: extended(IPv6ExtHdrDestOpt()), spec.ARRIVAL_IP_HEADER),
    (lambda: extended(IPv6ExtHdrFragment(m=1)), spec.ARRIVAL_FRAGMENT),
    (lambda: extended(IPv6ExtHdrFragment(offset=9)), spec.ARRIVAL_FRAGMENT),
    (lambda: wire(ether(1) / Dot1Q(vlan=2) / udp(datagram())[IP]), spec.ARRIVAL_ALIEN),
    (lambda: random.randbytes(random.randrange(60, 2000)), spec.ARRIVAL_ALIEN),
    (lambda: flipped(udp(datagram(), tag()), IP, 0), spec.ARRIVAL_IP_HEADER),
    (
        lambda: wire(to_us(ICMP() / Raw(bytes(99)), options=[IPOption_RR(length=7)])),
        spec.ARRIVAL_ALIEN,
    ),
    (
        lambda: flipped(udp(datagram(), tag()), IP, random.choice([2, 3, 8, 10, 11, 12])),
        spec.ARRIVAL_IP_CHECKSUM,
    ),
    (
        lambda: wire(
            to_us(UDP(dport=frames.PORT) / Raw(bytes(99)), options=[IPOption_RR(length=7)])
        ),
        spec.ARRIVAL_IP_HEADER,
    ),
    (
        lambda: wire(random.choice(fragment(udp(random.randbytes(3000)), 1400))),
        spec.ARRIVAL_FRAGMENT,
    ),
    (lambda: wire(to_us(UDP(dport=frames.PORT), frag=100)), spec.ARRIVAL_FRAGMENT),
    (lambda: short(udp(datagram(), tag())), spec.ARRIVAL_LENGTH),
    (lambda: wire(udp(bytes(random.randrange(33)), tag())), spec.ARRIVAL_LENGTH),
    (lambda: wire(some_udp(len=40)), spec.ARRIVAL_LENGTH),
    (lambda: wire(some_udp(len=0xFFFF)), spec.ARRIVAL_LENGTH),
    (lambda: flipped(udp(datagram(), tag()), UDP, 8 + random.randrange(33)), 11),
    (lambda: flipped(udp(datagram(), tag()), UDP, 0), spec.ARRIVAL_UDP_CHECKSUM),
    (lambda: wire(some_udp(chksum=0x1234)), spec.ARRIVAL_UDP_CHECKSUM),
]


class Bench:
    """A MAC's receive side, and what comes out with each last beat."""

    def __init__(self, dut) -> None:
        self.dut = dut
        # Without our reset: the MAC goes on with its frame.
        self.mac = harness.axi_stream(AxiStreamSource, dut, "s_axis_mac", clock=dut.clk)
        self.verdicts: list[tuple[int, int, bytes]] = []
        self.pauses: list[int] = []
        self.came: list[int] = []
        self.left: list[int] = []

    async def start(self, **settings: int) -> None:
        """Configure, reset, and watch."""
        frames.configure(self.dut, **settings)
        await harness.start(self.dut)
        cocotb.start_soon(self.watch())

    async def watch(self) -> None:
        """Put frames together and note the verdicts and the cycles of the last beats."""
        dut, data, source_sum = self.dut, b"", 0
        while True:
            await FallingEdge(dut.clk)
            if dut.s_axis_mac_tvalid.value == 1 and dut.s_axis_mac_tlast.value == 1:
                self.came.append(harness.cycle())
            if dut.rst.value == 1:
                data = b""
                continue
            if dut.pause.value != 0 and int(dut.pause.value) >> 16:
                self.pauses.append(int(dut.pause.value) & 0xFFFF)
            if dut.m_valid.value == 1:
                assert (dut.m_first.value == 1) == (not data)
                if dut.m_first.value == 1:
                    source_sum = int(dut.m_source_sum.value)
                beat = int(dut.m_data.value).to_bytes(spec.USER_BEAT_BYTES, "little")
                data += beat[: int(dut.m_beat_bytes.value)]
                if dut.m_last.value == 1:
                    verdict = int(dut.m_arrival.value), int(dut.m_bytes.value)
                    solicits = frames.KINDS[int(dut.m_headers.value) >> frames.KIND_AT] == "SOLICIT"
                    if solicits and verdict[0] == spec.ARRIVAL_REQUEST:
                        source = ipaddress.IPv6Address(Ether(data)[IPv6].src).packed
                        assert source_sum == 0xFFFF - checksum(source)
                    self.verdicts.append((*verdict, data))
                    self.left.append(harness.cycle())
                    data = b""

    async def send(self, frame: bytes, damaged: bool = False) -> None:
        """Queue a frame."""
        await self.mac.send(frames.on_bus(frame, damaged))

    async def settle(self) -> None:
        """Wait until all that was queued is out."""
        await self.mac.wait()
        await harness.step(self.dut.clk, LATENCY + 3)


@cocotb.test()
@cocotb.parametrize(idle=[0.0, 0.5])
async def every_cause(dut, idle: float) -> None:
    """Each frame has the verdict that its case says, in any order and at any pace."""
    bench = Bench(dut)
    await bench.start(cfg_group=frames.number(GROUP), cfg_group6=frames.number(GROUP6))
    if idle:
        harness.stall(bench.mac, idle)
    due = []
    for case, (make, arrival) in random.choices(list(enumerate(CASES)), k=250) + list(
        enumerate(CASES)
    ):
        frame, damaged = make(), random.random() < 0.1
        await bench.send(frame, damaged)
        expected = spec.ARRIVAL_DAMAGED if damaged else arrival
        due.append((case, expected, min(len(frame), 16383), frame))
    await bench.settle()
    assert len(bench.verdicts) == len(due)
    for (case, *expected), found in zip(due, bench.verdicts, strict=True):
        assert tuple(expected) == found, f"case {case}: {found[:2]} for {expected[:2]}"
    assert {left - came for came, left in zip(bench.came, bench.left, strict=True)} == {LATENCY}


@cocotb.test()
async def no_group(dut) -> None:
    """Of the groups none but the one that is set is received, and an address is none."""
    bench = Bench(dut)
    await bench.start(cfg_group=0)
    for group in (0, frames.number("10.1.2.3"), frames.number("223.1.2.3")):
        dut.cfg_group.value = group
        address = ".".join(map(str, group.to_bytes(4, "big")))
        await bench.send(to_group())
        await bench.send(to_group(dst=address))
        await bench.settle()
    for group in (0, frames.number("fd77::8901:203")):
        dut.cfg_group6.value = group
        await bench.send(to_group6())
        await bench.send(to_group6(dst=str(ipaddress.IPv6Address(group))))
        await bench.settle()
    assert {arrival for arrival, *_ in bench.verdicts} == {spec.ARRIVAL_ALIEN}
    assert len(bench.verdicts) == 10


@cocotb.test()
async def no_address6(dut) -> None:
    """Without an IPv6 address none is ours, not even that one."""
    bench = Bench(dut)
    await bench.start(cfg_ip6=0, cfg_group6=frames.number(GROUP6))
    for upper in (UDP(dport=frames.PORT) / Raw(datagram(8952)), ping6(40), ICMPv6ND_NS(tgt="::")):
        await bench.send(wire(to_us6(upper, dst="::", hlim=255)))
    await bench.send(wire(solicit(dst="ff02::1:ff00:0", mac="33:33:ff:00:00:00", tgt="::")))
    await bench.send(to_group6())
    await bench.settle()
    found = [arrival for arrival, *_ in bench.verdicts]
    assert found == [spec.ARRIVAL_ALIEN] * 4 + [spec.ARRIVAL_DATAGRAM]


@cocotb.test()
async def a_frame_a_cycle(dut) -> None:
    """Frames of 60 bytes in consecutive cycles, more than twice the line rate, are all judged."""
    bench = Bench(dut)
    await bench.start()
    kinds = [wire(udp(bytes(0), dport=9)), wire(raw(datagram(46))), wire(arp()), pause(1)]
    wanted = [spec.ARRIVAL_ALIEN, spec.ARRIVAL_DATAGRAM, spec.ARRIVAL_REQUEST, spec.ARRIVAL_PAUSE]
    order = [random.randrange(4) for _ in range(1000)]
    for kind in order:
        bench.mac.send_nowait(frames.on_bus(kinds[kind][:64]))
    await bench.settle()
    assert [found[0] for found in bench.verdicts] == [wanted[kind] for kind in order]
    assert bench.left[-1] - bench.left[0] == len(order) - 1


@cocotb.test()
async def reset_in_mid_frame(dut) -> None:
    """A reset forgets the frame; its rest counts as what it looks like, the next one is whole."""
    bench = Bench(dut)
    await bench.start()
    for _ in range(10):
        await bench.send(wire(udp(random.randbytes(3000))))
        await harness.step(dut.clk, random.randrange(3, 30))
        await harness.reset(dut, 1)
        await bench.settle()
        bench.verdicts.clear()
        frame = wire(some_udp())
        await bench.send(frame)
        await bench.settle()
        assert bench.verdicts[-1] == (spec.ARRIVAL_DATAGRAM, len(frame), frame)
        assert all(found[0] == spec.ARRIVAL_ALIEN for found in bench.verdicts[:-1])


@cocotb.test()
async def pause_frames(dut) -> None:
    """Quanta of good pause frames come out, those of damaged, short and foreign ones do not."""
    bench = Bench(dut)
    await bench.start()
    for quanta in (0, 1, 65535):
        await bench.send(pause(quanta))
        await bench.send(pause(7), damaged=True)
        await bench.send(pause(8)[:40])
        await bench.send(pause(9).replace(spec.PAUSE_ADDRESS.to_bytes(6, "big"), bytes(6)))
    ours = bytes.fromhex(OUR_MAC.replace(":", ""))
    await bench.send(ours + pause(5)[6:])
    tagged = pause(6)[:12] + bytes.fromhex("8100e001") + pause(6)[12:]
    await bench.send(tagged)
    await bench.send(wire(some_udp()))
    await bench.settle()
    assert bench.pauses == [0, 1, 65535, 5]
    assert bench.verdicts[-2][:2] == (spec.ARRIVAL_ALIEN, len(tagged))


@cocotb.test()
async def priority_pause(dut) -> None:
    """Of a priority pause frame the time of our class counts, if its bit is set."""
    bench = Bench(dut)
    await bench.start(cfg_priority=1)
    due = []
    for ours in [*range(8)] * 4:
        dut.cfg_class.value = ours
        enabled, times = random.getrandbits(8), [random.getrandbits(16) for _ in range(8)]
        body = spec.PAUSE_PRIORITY_OPCODE.to_bytes(2, "big") + enabled.to_bytes(2, "big")
        body += b"".join(time.to_bytes(2, "big") for time in times)
        packet = Ether(dst=PAUSE_MAC, src=PEER_MAC, type=spec.ETHERTYPE_MAC_CONTROL) / Raw(body)
        await bench.send(wire(packet))
        await bench.send(pause(77))
        await bench.send(bytes.fromhex(OUR_MAC.replace(":", "")) + wire(packet)[6:])
        await bench.settle()
        assert bench.verdicts[-1][0] == spec.ARRIVAL_ALIEN
        if enabled >> ours & 1:
            due.append(times[ours])
    assert bench.pauses == due and due


@harness.provocation
async def lose_a_sum(dut) -> None:
    """A sum that does not come in time must be noticed."""
    bench = Bench(dut)
    await bench.start()
    await bench.send(wire(arp()))
    await harness.until(dut.clk, dut.valid_2q)
    dut.u_udp_sum.valid_q.value = 0
    await harness.step(dut.clk)
    dut.u_udp_sum.valid_q.value = 0
    await harness.step(dut.clk, 10)


def test_filter() -> None:
    """Run all coroutines."""
    assert OUR_MAC != PEER_MAC
    simulate(__file__, "fb_net_filter")


def test_sum_in_time_fires() -> None:
    """Each assertion fires."""
    simulate(__file__, "fb_net_filter", fires={"lose_a_sum": "sum_in_time"})
