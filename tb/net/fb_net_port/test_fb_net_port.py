# SPDX-License-Identifier: Apache-2.0
"""The network side whole, by its registers: between cocotbext-eth's MACs, and connected to itself.

Connected to itself it is its own peer: what it sends it receives, and the pause frames that it
sends are for its own transmit side. So nothing may be lost, however slow the reader.
"""

from __future__ import annotations

import random
import struct

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import Timer, with_timeout
from cocotbext.axi import AxiStreamSource
from scapy.layers.inet import ICMP, IP
from scapy.layers.inet6 import (
    ICMPv6EchoRequest,
    ICMPv6ND_NS,
    ICMPv6NDOptDstLLAddr,
    ICMPv6NDOptSrcLLAddr,
    IPv6,
)
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.packet import Raw

import frames
import harness
from forebay import spec
from frames import (
    OUR_IP,
    OUR_IP6,
    OUR_MAC,
    PEER_IP,
    PEER_IP6,
    PEER_MAC,
    STREAM,
    Sender,
    ether,
    to_group6,
    udp,
    udp6,
    wire,
)
from netport import CORE_PS, LINE, MAC_PS, PATIENCE_US, PAYLOAD, Bench
from runner import simulate

pytestmark = pytest.mark.long

BEATS = 1024
STREAM_BEATS = 256
ASK_EVERY = 1500
ASK, KNOWN = 1 << 63, 1 << 62
BROADCAST = "ff:ff:ff:ff:ff:ff"


@cocotb.test()
@cocotb.parametrize(by_class=[0, 1], metres=[3, 100])
async def nothing_is_lost(dut, by_class: int, metres: int) -> None:
    """A reader slower than the line: pause holds the sender, and the room above XOFF suffices."""
    bench = Bench(dut)
    xoff, xon = 400, 200
    await bench.start(
        OUR_MAC,
        pause=xoff | xon << 16 | 400 << 32 | 100 << 48,
        pause_control=1 | by_class << 1 | 3 << 4,
    )
    cocotb.start_soon(bench.loop(5 * metres))
    harness.stall(bench.objects, 0.7)
    sent = [random.randbytes(random.randrange(1, 30_000)) for _ in range(14)]
    for number, content in enumerate(sent):
        bench.offer(number, content)
    for content in sent:
        assert await bench.object() == (content, True)
    await Timer(5, "us")
    arrivals, places = await bench.statistics("arrivals"), await bench.statistics("places")
    count = sum(-(-len(content) // PAYLOAD) for content in sent)
    assert arrivals[spec.ARRIVAL_DATAGRAM][0] == places[spec.PLACE_DELIVERED][0] == count
    asked = await bench.get("pause_sent")
    assert set(arrivals) == {spec.ARRIVAL_DATAGRAM, spec.ARRIVAL_PAUSE}
    assert arrivals[spec.ARRIVAL_PAUSE][0] == (asked & 0xFFFFFFFF) + (asked >> 32)
    assert asked & 0xFFFFFFFF and asked >> 32 and await bench.get("pause_obeyed") & 0xFFFFFFFF
    most = await bench.get("memory") >> 16
    mtu = PAYLOAD + spec.FRAMING_BYTES + spec.UDP_BYTES + spec.IPV4_BYTES
    # docs/reference/net.md; our peer takes a frame's verdict and a few cycles: at most 16 quanta.
    room = 2 * metres * 5 * LINE / 8e9 + 2 * (mtu + 38) + 84 + 16 * 64
    assert xoff < most <= xoff + room / 64, (most, room / 64)


@cocotb.test()
async def all_is_counted(dut) -> None:
    """Without pause: offered = stored + counted, in the registers, by frame and by byte."""
    bench = Bench(dut)
    await bench.start()
    bench.objects.pause = True
    sender, offered, size = Sender(), 0, 0
    for number in range(8):
        for datagram in sender.datagrams(number, random.randbytes(30_000), PAYLOAD):
            for frame in (wire(udp(datagram)), wire(udp(datagram, dport=9)), bytes(30)):
                bench.rx.send_nowait(frame)
                offered, size = offered + 1, size + len(frame)
    while not bench.rx.empty():
        await Timer(1, "us")
    bench.objects.pause = False
    await Timer(20, "us")
    # One more closes what was left open.
    end = wire(udp(*sender.datagrams(8, b"the end", PAYLOAD)))
    bench.rx.send_nowait(end)
    offered, size = offered + 1, size + len(end)
    await Timer(5, "us")
    arrivals, places = await bench.statistics("arrivals"), await bench.statistics("places")
    wanted = {
        spec.ARRIVAL_DATAGRAM,
        spec.ARRIVAL_ALIEN,
        spec.ARRIVAL_RUNT,
        spec.ARRIVAL_OVERFLOW,
    }
    assert set(arrivals) == wanted
    assert [sum(column) for column in zip(*arrivals.values(), strict=True)] == [offered, size]
    assert places == {spec.PLACE_DELIVERED: arrivals[spec.ARRIVAL_DATAGRAM]}
    stored = 0
    while not bench.objects.empty():
        stored += len((await bench.object())[0])
    assert stored == places[0][1] - places[0][0] * 74


@cocotb.test()
async def answers(dut) -> None:
    """A Linux host finds us and pings, over IPv4 and IPv6, while data go out."""
    bench = Bench(dut)
    await bench.start()
    content = random.randbytes(20_000)
    bench.offer(9, content)
    question = ARP(op="who-has", hwsrc=PEER_MAC, psrc=PEER_IP, pdst=OUR_IP)
    ping = IP(src=PEER_IP, dst=OUR_IP) / ICMP(id=1, seq=2) / Raw(random.randbytes(56))
    to_us6 = IPv6(src=PEER_IP6, dst=OUR_IP6, hlim=255)
    solicit = to_us6 / ICMPv6ND_NS(tgt=OUR_IP6) / ICMPv6NDOptSrcLLAddr(lladdr=PEER_MAC)
    ping6 = to_us6 / ICMPv6EchoRequest(id=1, seq=3, data=random.randbytes(56))
    asked = [ether(dst="ff:ff:ff:ff:ff:ff") / question, ether() / ping]
    asked += [ether(3) / solicit, ether() / ping6]
    for packet in asked:
        bench.rx.send_nowait(wire(packet))
    found = []
    for _ in range(len(asked) + -(-len(content) // PAYLOAD)):
        frame = await with_timeout(bench.tx.recv(), PATIENCE_US, "us")
        found.append(Ether(bytes(frame.data)))
    told = [packet for packet in found if ARP in packet or ICMP in packet or IPv6 in packet]
    assert told[0][ARP].hwsrc == OUR_MAC and told[1][IP].answers(asked[1][IP])
    assert told[2][ICMPv6NDOptDstLLAddr].lladdr == OUR_MAC and told[2][Dot1Q].vlan == 3
    assert told[2][IPv6].dst == PEER_IP6 and told[3][IPv6].answers(asked[3][IPv6])
    data = [bytes(packet.payload.payload.payload)[32:] for packet in found if packet not in told]
    assert b"".join(data) == content
    assert (await bench.statistics("arrivals")).keys() == {spec.ARRIVAL_REQUEST}
    assert await bench.get("unanswered") == 0


@cocotb.test()
async def the_receiver_is_asked_for(dut) -> None:
    """Objects wait for the answer to an ARP request, and go to the address that it names."""
    bench = Bench(dut)
    await bench.start(peer="02:00:00:00:00:99", resolve=ASK)
    content = random.randbytes(3000)
    bench.offer(4, content)
    for turn in range(4):
        frame = await with_timeout(bench.tx.recv(), PATIENCE_US, "us")
        asked = Ether(bytes(frame.data))
        assert (asked.dst, asked[ARP].op, asked[ARP].pdst) == (BROADCAST, 1, PEER_IP)
        assert await bench.get("resolve") & ~ASK == 0
        # The reply of another station is not the answer.
        others = ARP(op="is-at", hwsrc="02:00:00:00:00:66", psrc="10.9.9.9", hwdst=OUR_MAC)
        bench.hand(wire(ether(turn % 2 or None) / others))
    reply = ARP(op="is-at", hwsrc=PEER_MAC, psrc=PEER_IP, hwdst=OUR_MAC, pdst=OUR_IP)
    assert reply.answers(asked[ARP])
    bench.hand(wire(ether(7) / reply))
    found = b""
    while len(found) < len(content):
        packet = Ether(bytes((await with_timeout(bench.tx.recv(), PATIENCE_US, "us")).data))
        assert packet.dst == PEER_MAC and packet[IP].dst == PEER_IP
        found += bytes(packet.payload.payload.payload)[spec.FRAMING_BYTES :]
    assert found == content
    assert await bench.get("resolve") == ASK | KNOWN | frames.number(PEER_MAC)
    # Another receiver.
    await bench.put("resolve", 0)
    await Timer(200, "ns")
    assert not await bench.get("resolve") & (ASK | KNOWN)
    bench.offer(5, content)
    packet = Ether(bytes((await with_timeout(bench.tx.recv(), PATIENCE_US, "us")).data))
    assert packet.dst == "02:00:00:00:00:99"


@cocotb.test()
async def parameters(dut) -> None:
    """Software can tell what it has before it."""
    bench = Bench(dut)
    await bench.start()
    version = await bench.get("version")
    assert (version >> 32).to_bytes(4, "little") == b"FBN1"
    found = await bench.get("parameters")
    assert struct.unpack("<HHHBB", found.to_bytes(8, "little")) == (BEATS, 256, STREAM_BEATS, 4, 0)


@cocotb.test()
@cocotb.parametrize(taken=[1, 3, 31])
async def several_streams(dut, taken: int) -> None:
    """The register says how many streams are taken, from the filter's on; others are counted."""
    bench = Bench(dut)
    await bench.start(streams=taken)
    ours = min(taken, 4)
    size, parts = 20_000, {stream: [] for stream in range(6)}
    queues, sent = [], {}
    for n in parts:
        sent[n] = random.randbytes(size)
        queues.append(Sender(stream=STREAM + n).datagrams(n, sent[n], PAYLOAD))
    for turn in zip(*queues, strict=True):
        for datagram in turn:
            pack = random.choice([udp, udp6, to_group6])
            bench.hand(wire(pack(datagram, random.choice([None, 9]))))
    await bench.settle()
    _, places = await bench.sums()
    assert places[spec.PLACE_DELIVERED][0] == ours * len(queues[0])
    assert places[spec.PLACE_STREAM][0] == (6 - ours) * len(queues[0])
    assert await bench.get("gather") >> 32 == 0  # nothing waits in the rings
    while not bench.objects.empty():
        content, _ = await bench.object()
        _, number, _, missing = bench.head()
        assert missing == 0
        parts[number].append(content)
    assert {n: b"".join(found) for n, found in parts.items()} == {
        n: sent[n] if n < ours else b"" for n in parts
    }


@cocotb.test()
async def rings_are_counted(dut) -> None:
    """What waits for its stream's turn is counted, so that software sees when all is through."""
    bench = Bench(dut)
    await bench.start(streams=2, **{"gather": 2**32 - 1})
    first, second = (Sender(stream=STREAM + n).datagrams(n, bytes(3000), PAYLOAD) for n in (0, 1))
    bench.hand(wire(udp(first[0])))
    bench.hand(wire(udp(second[0])))
    await bench.settle()
    beats = -(-len(second[0]) // spec.USER_BEAT_BYTES)
    assert await bench.get("gather") >> 32 == beats
    await bench.put("gather", 0)
    await Timer(2, "us")
    assert await bench.get("gather") >> 32 == 0


@harness.provocation
async def core_stands_still(dut) -> None:
    """An arrival that cannot be counted must be noticed."""
    frames.configure(dut)
    rx = harness.axi_stream(AxiStreamSource, dut, "s_axis_mac", clock=dut.clk_rx)
    dut.rst.value = 1
    dut.rst_rx.value = 0
    dut.rst_tx.value = 0
    for clock in (dut.clk_rx, dut.clk_tx):
        Clock(clock, MAC_PS, unit="ps").start()
    core = Clock(dut.clk, CORE_PS, unit="ps")
    core.start()
    await harness.step(dut.clk, 8)
    dut.rst.value = 0
    await harness.step(dut.clk, 8)
    core.stop()
    for _ in range(40):
        await rx.send(frames.on_bus(bytes(60)))
    await harness.step(dut.clk_tx, 100)


@pytest.mark.parametrize("beats", [BEATS])
def test_port(beats: int) -> None:
    """Run all coroutines."""
    simulate(
        __file__,
        "fb_net_port",
        {
            "ReceiveBeats": beats,
            "SendBeats": 256,
            "StreamBeats": STREAM_BEATS,
            "AskEvery": ASK_EVERY,
        },
    )


def test_every_arrival_counts_fires() -> None:
    """Each assertion fires."""
    simulate(
        __file__,
        "fb_net_port",
        {
            "ReceiveBeats": BEATS,
            "SendBeats": 256,
            "StreamBeats": STREAM_BEATS,
            "AskEvery": ASK_EVERY,
        },
        fires={"core_stands_still": "every_arrival_counts"},
    )
