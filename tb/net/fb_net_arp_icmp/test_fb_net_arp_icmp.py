# SPDX-License-Identifier: Apache-2.0
"""fb_net_arp_icmp: scapy takes the answers for what it asked."""

from __future__ import annotations

import random

import cocotb
from cocotb.triggers import FallingEdge, with_timeout
from cocotbext.axi import AxiStreamSink
from scapy.layers.inet import ICMP, IP
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet, Raw

import frames
import harness
from forebay import spec
from frames import OUR_IP, OUR_MAC, PEER_IP, PEER_MAC, ether, wire
from runner import simulate

BEAT = spec.USER_BEAT_BYTES
# Bits of headers_t that the module looks at, and kinds.
KIND_AT, VLAN_AT = 37, 36
ALIEN, UDP, ARPS, ECHO = 0, 2, 3, 4
MOST = 64 * BEAT


def arp(vlan: int | None) -> Packet:
    """Return an ARP request for our address."""
    request = ARP(op="who-has", hwsrc=PEER_MAC, psrc=PEER_IP, pdst=OUR_IP)
    return ether(vlan, dst="ff:ff:ff:ff:ff:ff") / request


def ping(vlan: int | None, size: int) -> Packet:
    """Return an echo request."""
    number = {"id": random.getrandbits(16), "seq": random.getrandbits(16)}
    request = ICMP(type="echo-request", **number) / Raw(random.randbytes(size))
    return ether(vlan) / IP(src=PEER_IP, dst=OUR_IP, ttl=64) / request


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

    async def send(self, frame: bytes, kind: int, vlan: bool, good: bool = True) -> None:
        """Drive one frame, without a gap."""
        dut = self.dut
        for at in range(0, len(frame), BEAT):
            dut.s_valid.value = 1
            dut.s_first.value = at == 0
            dut.s_last.value = at + BEAT >= len(frame)
            dut.s_data.value = int.from_bytes(frame[at : at + BEAT], "little")
            dut.s_headers.value = kind << KIND_AT | vlan << VLAN_AT
            asks = good and kind in (ARPS, ECHO)
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
        bench.sink.set_pause_generator(harness.stalls(stall))
    for _ in range(100):
        vlan = random.choice([None, 9])
        size = random.choice([0, 14, 18, 56, 1472, 3900, random.randrange(3900)])
        request = wire(arp(vlan)) if random.random() < 0.4 else wire(ping(vlan, size))
        kind = ARPS if ARP in Ether(request) else ECHO
        await bench.send(request, random.choice([ALIEN, UDP]), vlan is not None)
        await bench.send(request, kind, vlan is not None, good=False)
        await bench.send(request, kind, vlan is not None)
        (check_arp if kind == ARPS else check_ping)(request, await bench.answer())
    assert bench.sink.empty() and not bench.unanswered


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
    requests = [wire(ping(None, random.randrange(600))) for _ in range(60)]
    for request in requests:
        await bench.send(request, ECHO, False)
    await bench.send(bytes(MOST + 1), ECHO, False)
    await harness.step(dut.clk, 4)
    bench.sink.pause = False
    await harness.step(dut.clk, 200)
    found = [bytes(bench.sink.recv_nowait().tdata) for _ in range(bench.sink.count())]
    assert found and len(found) + bench.unanswered == len(requests) + 1
    left = iter(requests)
    for answer in found:
        payload = bytes(Ether(answer)[ICMP].payload)
        request = next(each for each in left if bytes(Ether(each)[ICMP].payload) == payload)
        check_ping(request, answer)
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
