# SPDX-License-Identifier: Apache-2.0
"""fb_net_arp_icmp: scapy takes the answers for what it asked."""

from __future__ import annotations

import ipaddress
import random

import cocotb
from cocotb.triggers import FallingEdge, with_timeout
from cocotbext.axi import AxiStreamSink
from scapy.layers.inet import ICMP, IP
from scapy.layers.inet6 import (
    ICMPv6EchoReply,
    ICMPv6EchoRequest,
    ICMPv6ND_NA,
    ICMPv6ND_NS,
    ICMPv6NDOptDstLLAddr,
    ICMPv6NDOptSrcLLAddr,
    ICMPv6NDOptUnknown,
    IPv6,
)
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.packet import Packet, Raw
from scapy.utils import checksum

import frames
import harness
from forebay import spec
from frames import OUR_IP, OUR_IP6, OUR_MAC, PEER_IP, PEER_IP6, PEER_MAC, ether, wire
from runner import simulate

BEAT = spec.USER_BEAT_BYTES
ALIEN, UDP, ARPS, ECHO, SOLICIT = "ALIEN", "UDP", "ARP", "ECHO", "SOLICIT"
MOST = 64 * BEAT
SUMMED = 38
"""Cycles until the sum of our addresses is there."""


def arp(vlan: int | None) -> Packet:
    """Return an ARP request for our address."""
    request = ARP(op="who-has", hwsrc=PEER_MAC, psrc=PEER_IP, pdst=OUR_IP)
    return ether(vlan, dst="ff:ff:ff:ff:ff:ff") / request


def ping(vlan: int | None, size: int) -> Packet:
    """Return an echo request."""
    number = {"id": random.getrandbits(16), "seq": random.getrandbits(16)}
    request = ICMP(type="echo-request", **number) / Raw(random.randbytes(size))
    return ether(vlan) / IP(src=PEER_IP, dst=OUR_IP, ttl=64) / request


def ping6(vlan: int | None, size: int) -> Packet:
    """Return an echo request over IPv6."""
    number = {"id": random.getrandbits(16), "seq": random.getrandbits(16)}
    request = ICMPv6EchoRequest(**number, data=random.randbytes(size))
    return ether(vlan) / IPv6(src=PEER_IP6, dst=OUR_IP6) / request


def address6() -> str:
    """Return any address of one station, in whose sum there are carries."""
    return str(ipaddress.IPv6Address(random.choice([0xFD77FFFF << 96, 0xFE80 << 112]) | carries()))


def carries() -> int:
    """Return 96 random bits, or bits that are nearly all ones or zeros."""
    return random.choice([random.getrandbits(96), 2**96 - 1 - random.randrange(9), 1])


def solicit(vlan: int | None, ours: str = OUR_IP6) -> Packet:
    """Return a neighbour solicitation for our address, to its group or to it, reserved bits set."""
    group = random.random() < 0.5
    low = ipaddress.IPv6Address(ours).packed[-3:]
    head = IPv6(src=address6(), dst=ours, tc=random.getrandbits(8), fl=random.getrandbits(20))
    mac = OUR_MAC
    if group:
        head.dst = str(ipaddress.IPv6Address(bytes.fromhex("ff0200000000000000000001ff") + low))
        mac = "33:33:ff:" + low.hex(":")
    asked = ICMPv6ND_NS(tgt=ours, res=random.getrandbits(32))
    some = [
        ICMPv6NDOptSrcLLAddr(lladdr=PEER_MAC),
        ICMPv6NDOptUnknown(type=14, len=1, data=random.randbytes(6)),
    ]
    for option in random.choice([[], some[:1], some, some[::-1], some * 3]):
        asked /= option
    return ether(vlan, dst=mac) / head / asked


class Bench:
    """Drives frames as fb_net_filter does; a sink takes the answers."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.sink = harness.axi_stream(AxiStreamSink, dut, "m_axis_answer")
        self.unanswered = 0

    async def start(self) -> None:
        """Configure and reset."""
        harness.clear(self.dut, "s_*")
        frames.configure(self.dut)
        await harness.start(self.dut)
        cocotb.start_soon(self.count())

    async def count(self) -> None:
        """Count requests that found no room."""
        while True:
            await FallingEdge(self.dut.clk)
            self.unanswered += int(self.dut.unanswered.value)

    async def send(self, frame: bytes, kind: str, vlan: bool, good: bool = True) -> None:
        """Drive one frame, with gaps between its beats at times."""
        dut, idle = self.dut, random.choice([0.0, 0.0, 0.5])
        for at in range(0, len(frame), BEAT):
            while at and random.random() < idle:
                dut.s_valid.value = 0
                await harness.step(dut.clk)
            dut.s_valid.value = 1
            dut.s_first.value = at == 0
            dut.s_last.value = at + BEAT >= len(frame)
            dut.s_data.value = int.from_bytes(frame[at : at + BEAT], "little")
            ipv6 = IPv6 in Ether(frame)
            dut.s_headers.value = frames.headers(kind, vlan=vlan, ipv6=ipv6)
            dut.s_source_sum.value = random.getrandbits(16)
            if at == 0 and ipv6:
                source = frame[spec.ETHERNET_BYTES + vlan * spec.VLAN_BYTES + 8 :][:16]
                dut.s_source_sum.value = 0xFFFF - checksum(source)
            asks = good and kind in (ARPS, ECHO, SOLICIT)
            dut.s_arrival.value = spec.ARRIVAL_REQUEST if asks else spec.ARRIVAL_DAMAGED
            dut.s_bytes.value = len(frame)
            await harness.step(dut.clk)
        dut.s_valid.value = 0

    async def answer(self) -> bytes:
        """Take the next answer."""
        return bytes((await with_timeout(self.sink.recv(), 100, "us")).tdata)


def check_arp(request: bytes, answer: bytes) -> None:
    """Hold the answer to an ARP request against what the peer waits for."""
    asked, told = Ether(request), Ether(answer)
    assert (told.dst, told.src) == (PEER_MAC, OUR_MAC)
    assert (told[ARP].op, told[ARP].hwsrc, told[ARP].psrc) == (2, OUR_MAC, OUR_IP)
    assert (told[ARP].hwdst, told[ARP].pdst) == (PEER_MAC, PEER_IP)
    assert told[ARP].answers(asked[ARP]) and len(answer) == len(request)


def check_checksum6(told: Ether, layer: type) -> None:
    """Hold the checksum of ICMPv6 against scapy's; 0 and 0xffff are the same."""
    fresh = told.copy()
    del fresh[layer].cksum
    assert told[layer].cksum % 0xFFFF == Ether(bytes(fresh))[layer].cksum % 0xFFFF


def check_ping6(request: bytes, answer: bytes) -> None:
    """Hold the answer to an echo request over IPv6 against what scapy makes of it."""
    asked, told = Ether(request), Ether(answer)
    assert (told.dst, told.src) == (PEER_MAC, OUR_MAC)
    assert (told[IPv6].src, told[IPv6].dst) == (OUR_IP6, PEER_IP6)
    assert told[IPv6].answers(asked[IPv6]) and len(answer) == len(request)
    reply, request = told[ICMPv6EchoReply], asked[ICMPv6EchoRequest]
    assert (reply.id, reply.seq, reply.data) == (request.id, request.seq, request.data)
    check_checksum6(told, ICMPv6EchoReply)


def check_solicit(request: bytes, answer: bytes) -> None:
    """Hold an advertisement against what RFC 4861 wants of one that was asked for."""
    asked, told = Ether(request), Ether(answer)
    assert (told.dst, told.src) == (PEER_MAC, OUR_MAC)
    assert (Dot1Q in told) == (Dot1Q in asked)
    head = told[IPv6]
    assert (head.src, head.dst, head.hlim) == (OUR_IP6, asked[IPv6].src, 255)
    tells = told[ICMPv6ND_NA]
    assert (tells.R, tells.S, tells.O, tells.res, tells.tgt) == (0, 1, 1, 0, OUR_IP6)
    assert tells.answers(asked[ICMPv6ND_NS]) and tells[ICMPv6NDOptDstLLAddr].lladdr == OUR_MAC
    assert head.plen == 32 and len(answer) == 86 + 4 * (Dot1Q in told)
    check_checksum6(told, ICMPv6ND_NA)


def check_ping(request: bytes, answer: bytes) -> None:
    """Hold the answer to an echo request against what scapy makes of it, checksums too."""
    asked, told = Ether(request), Ether(answer)
    assert (told.dst, told.src) == (PEER_MAC, OUR_MAC)
    assert (told[IP].src, told[IP].dst) == (OUR_IP, PEER_IP)
    assert told[IP].answers(asked[IP]) and told[ICMP].type == 0
    assert bytes(told[ICMP].payload) == bytes(asked[ICMP].payload)
    sums = told[IP].chksum, told[ICMP].chksum
    fresh = told.copy()
    del fresh[IP].chksum, fresh[ICMP].chksum
    fresh = Ether(bytes(fresh))
    # 0 and 0xffff are the same.
    assert [value % 0xFFFF for value in sums] == [
        value % 0xFFFF for value in (fresh[IP].chksum, fresh[ICMP].chksum)
    ]


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.5])
async def answers(dut, stall: float) -> None:
    """Requests of every size, tagged or not, are answered in order; what else comes is not."""
    bench = Bench(dut)
    await bench.start()
    if stall:
        harness.stall(bench.sink, stall)
    await harness.step(dut.clk, SUMMED)
    for _ in range(150):
        vlan = random.choice([None, 9])
        size = random.choice([0, 14, 18, 56, 1472, 3900, random.randrange(3900)])
        packet, kind, check = random.choice(
            [
                (arp(vlan), ARPS, check_arp),
                (ping(vlan, size), ECHO, check_ping),
                (ping6(vlan, size), ECHO, check_ping6),
                (solicit(vlan), SOLICIT, check_solicit),
            ]
        )
        request = wire(packet)
        await bench.send(request, random.choice([ALIEN, UDP]), vlan is not None)
        await bench.send(request, kind, vlan is not None, good=False)
        await bench.send(request[:BEAT], kind, vlan is not None, good=False)
        await bench.send(request, kind, vlan is not None)
        check(request, await bench.answer())
    assert bench.sink.empty() and not bench.unanswered


@cocotb.test()
async def every_address(dut) -> None:
    """The sum of an advertisement follows the addresses that are set, with any carries."""
    bench = Bench(dut)
    await bench.start()
    for _ in range(30):
        address, mac = carries() << 32 | random.getrandbits(32), random.getrandbits(48)
        dut.cfg_ip6.value, dut.cfg_mac.value = address, mac
        await harness.step(dut.clk, SUMMED)
        ours = str(ipaddress.IPv6Address(address))
        await bench.send(wire(solicit(None, ours)), SOLICIT, False)
        told = Ether(await bench.answer())
        assert told[ICMPv6NDOptDstLLAddr].lladdr == mac.to_bytes(6, "big").hex(":") == told.src
        assert told[IPv6].src == ours == told[ICMPv6ND_NA].tgt
        check_checksum6(told, ICMPv6ND_NA)


@cocotb.test()
async def every_checksum(dut) -> None:
    """The correction of ICMP's checksum carries where it has to."""
    bench = Bench(dut)
    await bench.start()
    for wanted in [0xF7FE, 0xF7FF, 0xF800, 0xFFFE, 0x0000, 0x07FF, random.getrandbits(16)]:
        # The sequence number makes the checksum what is wanted.
        probe = Ether(wire(ether() / IP(src=PEER_IP, dst=OUR_IP) / ICMP(id=1, seq=0)))
        number = (probe[ICMP].chksum - wanted) % 0xFFFF
        request = wire(ether() / IP(src=PEER_IP, dst=OUR_IP) / ICMP(id=1, seq=number))
        assert Ether(request)[ICMP].chksum % 0xFFFF == wanted % 0xFFFF
        await bench.send(request, ECHO, False)
        check_ping(request, await bench.answer())


@cocotb.test()
async def flood(dut) -> None:
    """Requests without room are counted; those answered are whole, and it goes on afterwards."""
    bench = Bench(dut)
    await bench.start()
    bench.sink.pause = True
    await harness.step(dut.clk, SUMMED)
    requests = []
    for number in range(60):
        # What comes back tells which one it was.
        asked = solicit(None)
        asked[IPv6].src = f"fd77::{number + 1:x}"
        pinged = ping(None, random.randrange(600))
        pinged[ICMP].id = number
        requests.append(wire(asked if number % 3 == 0 else pinged))
        await bench.send(requests[-1], SOLICIT if number % 3 == 0 else ECHO, False)
    await bench.send(bytes(MOST + 1), ECHO, False)
    await harness.step(dut.clk, 4)
    bench.sink.pause = False
    await harness.step(dut.clk, 200)
    found = [bytes(bench.sink.recv_nowait().tdata) for _ in range(bench.sink.count())]
    assert found and len(found) + bench.unanswered == len(requests) + 1
    last = -1
    for answer in found:
        told = Ether(answer)
        number = told[ICMP].id if ICMP in told else int(told[IPv6].dst.split(":")[-1], 16) - 1
        assert number > last
        last = number
        (check_ping if ICMP in told else check_solicit)(requests[number], answer)
    request = wire(ping(None, 56))
    await bench.send(request, ECHO, False)
    check_ping(request, await bench.answer())


@cocotb.test()
async def reset_in_mid_frame(dut) -> None:
    """A reset forgets requests."""
    bench = Bench(dut)
    await bench.start()
    for _ in range(5):
        sender = cocotb.start_soon(bench.send(wire(ping(None, 2000)), ECHO, False))
        await harness.step(dut.clk, random.randrange(1, 30))
        sender.cancel()
        dut.s_valid.value = 0
        await harness.reset(dut)
        bench.sink.clear()
        request = wire(arp(None))
        await bench.send(request, ARPS, False)
        check_arp(request, await bench.answer())


@harness.provocation
async def withdraw(dut) -> None:
    """The stream checker is awake."""
    bench = Bench(dut)
    await bench.start()
    await harness.withdraw(dut.clk, dut.u_check_answer)


def test_echo() -> None:
    """Run all coroutines."""
    simulate(__file__, "fb_net_arp_icmp")


def test_checker_fires() -> None:
    """The stream checker fires."""
    message = "m_axis_answer: valid fell"
    simulate(__file__, "fb_net_arp_icmp", fires={"withdraw": message})
