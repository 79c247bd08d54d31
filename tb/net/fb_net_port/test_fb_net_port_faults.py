# SPDX-License-Identifier: Apache-2.0
"""Faults of wire and sender, at the port's pins: each has its counter, exactly, and harms no other.

docs/reference/net.md lists them, with the test that shows each.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import cocotb
from cocotb.triggers import FallingEdge, Timer
from scapy.layers.inet import IP, TCP, UDP, IPOption
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment
from scapy.layers.l2 import ARP, Dot1Q
from scapy.packet import Packet, Raw

import frames
import harness
from forebay import spec
from frames import OUR_IP, OUR_IP6, PEER_IP, PEER_IP6, Sender, ether, header, raw, udp, udp6, wire
from netport import MAC_PS, PAYLOAD, Bench, total
from runner import simulate

BEATS = 512
STREAM_BEATS = 256
QUANTUM_NS = 5.12
GOOD = 700
"""Bytes of payload of a frame that a fault is made of."""


def changed(frame: bytes, at: int, bits: int = 1) -> bytes:
    """Return a frame with bits of one byte turned over."""
    return frame[:at] + bytes([frame[at] ^ bits]) + frame[at + 1 :]


def ip(payload, **fields: object) -> bytes:
    """Return a frame of IPv4 to us, with fields of its header replaced; its checksum is right."""
    return wire(ether() / IP(**({"src": PEER_IP, "dst": OUR_IP} | fields)) / payload)


def ip6() -> Packet:
    """Return the header of IPv6 to us, behind that of Ethernet."""
    return ether() / IPv6(src=PEER_IP6, dst=OUR_IP6)


def pause(quanta: int, klass: int | None = None) -> bytes:
    """Return a pause frame, or a priority pause frame for one class."""
    body = spec.PAUSE_OPCODE.to_bytes(2, "big") + quanta.to_bytes(2, "big")
    if klass is not None:
        times = [quanta if each == klass else 0 for each in range(8)]
        body = spec.PAUSE_PRIORITY_OPCODE.to_bytes(2, "big") + (1 << klass).to_bytes(2, "big")
        body += b"".join(time.to_bytes(2, "big") for time in times)
    head = ether(dst="01:80:c2:00:00:01", type=spec.ETHERTYPE_MAC_CONTROL)
    return bytes(head / Raw(body)).ljust(spec.FRAME_LEAST_BYTES, b"\0")


DATA = Raw(bytes(GOOD))
PORTS = {"sport": 40000, "dport": frames.PORT}
# What is wrong -> of a good frame, what comes, whether the MAC calls it damaged, and its cause.
Fault = tuple[Callable[[bytes], bytes], bool, int]
FAULTS: dict[str, Fault] = {
    "bad FCS": (lambda good: good, True, spec.ARRIVAL_DAMAGED),
    "truncated, its FCS missing": (lambda good: good[:333], True, spec.ARRIVAL_DAMAGED),
    "truncated on the way, FCS right": (lambda good: good[:334], False, spec.ARRIVAL_LENGTH),
    "truncated to a runt": (lambda good: good[:59], False, spec.ARRIVAL_RUNT),
    "a byte": (lambda good: good[:1], False, spec.ARRIVAL_RUNT),
    "a byte too long": (lambda _: bytes(frames.GIANT + 1), False, spec.ARRIVAL_GIANT),
    "jumbo over the limit": (lambda _: wire(udp(bytes(10_000))), False, spec.ARRIVAL_GIANT),
    "babble": (lambda _: bytes(20_000), False, spec.ARRIVAL_GIANT),
    "IPv4 checksum": (lambda good: changed(good, 25), False, spec.ARRIVAL_IP_CHECKSUM),
    "IPv4 header altered": (lambda good: changed(good, 22), False, spec.ARRIVAL_IP_CHECKSUM),
    "UDP payload altered": (lambda good: changed(good, 400), False, spec.ARRIVAL_UDP_CHECKSUM),
    "UDP checksum": (lambda good: changed(good, 40), False, spec.ARRIVAL_UDP_CHECKSUM),
    "first fragment": (
        lambda _: ip(UDP(**PORTS) / DATA, flags="MF"),
        False,
        spec.ARRIVAL_FRAGMENT,
    ),
    "version": (lambda good: changed(good, 14, 0x20), False, spec.ARRIVAL_IP_HEADER),
    "options": (
        lambda _: ip(UDP(**PORTS) / DATA, options=[IPOption(b"\x01" * 4)]),
        False,
        spec.ARRIVAL_IP_HEADER,
    ),
    "IPv4 length beyond the frame": (
        lambda _: ip(UDP(**PORTS) / DATA, len=GOOD + 29),
        False,
        spec.ARRIVAL_LENGTH,
    ),
    "IPv4 length short": (
        lambda _: ip(UDP(**PORTS, chksum=0) / DATA, len=GOOD + 27),
        False,
        spec.ARRIVAL_LENGTH,
    ),
    "UDP length too great": (
        lambda _: ip(UDP(**PORTS, len=GOOD + 9, chksum=0) / DATA),
        False,
        spec.ARRIVAL_LENGTH,
    ),
    "UDP length zero": (
        lambda _: ip(UDP(**PORTS, len=0, chksum=0) / DATA),
        False,
        spec.ARRIVAL_LENGTH,
    ),
    "no room for our header": (lambda _: wire(udp(bytes(32))), False, spec.ARRIVAL_LENGTH),
    "another host": (lambda good: changed(good, 5), False, spec.ARRIVAL_ALIEN),
    "another port": (lambda _: wire(udp(bytes(GOOD), dport=9)), False, spec.ARRIVAL_ALIEN),
    "TCP": (lambda _: ip(TCP(**PORTS) / DATA), False, spec.ARRIVAL_ALIEN),
    "IPv6 for another host": (
        lambda _: wire(ether() / IPv6() / UDP(**PORTS) / DATA),
        False,
        spec.ARRIVAL_ALIEN,
    ),
    "IPv6 altered": (
        lambda _: changed(wire(udp6(bytes(GOOD))), 30),
        False,
        spec.ARRIVAL_UDP_CHECKSUM,
    ),
    "IPv6 without UDP's checksum": (
        lambda _: wire(udp6(bytes(GOOD), chksum=0)),
        False,
        spec.ARRIVAL_UDP_CHECKSUM,
    ),
    "IPv6 length beyond the frame": (
        lambda _: changed(wire(udp6(bytes(GOOD))), 18, 0x40),
        False,
        spec.ARRIVAL_LENGTH,
    ),
    "IPv6 with options": (
        lambda _: wire(ip6() / IPv6ExtHdrDestOpt() / UDP(**PORTS) / DATA),
        False,
        spec.ARRIVAL_IP_HEADER,
    ),
    "IPv6 fragment": (
        lambda _: wire(ip6() / IPv6ExtHdrFragment(m=1) / UDP(**PORTS) / DATA),
        False,
        spec.ARRIVAL_FRAGMENT,
    ),
    "two tags": (
        lambda _: wire(ether() / Dot1Q(vlan=1) / Dot1Q(vlan=2) / IP() / DATA),
        False,
        spec.ARRIVAL_ALIEN,
    ),
    "ARP": (lambda _: wire(ether() / ARP(pdst=OUR_IP)), False, spec.ARRIVAL_REQUEST),
    "pause of no time": (lambda _: pause(0), False, spec.ARRIVAL_PAUSE),
}


@cocotb.test()
async def every_fault_has_its_counter(dut) -> None:
    """One of each among good frames: its cause counts it, with its bytes; objects are whole."""
    bench = Bench(dut, at_line_rate=False)
    await bench.start()
    sender, wanted, count = Sender(), Counter(), Counter()
    sent = []

    def good() -> bytes:
        content = random.randbytes(GOOD)
        sent.append((content, True))
        (datagram,) = sender.datagrams(len(sent), content, GOOD)
        return wire(udp(datagram))

    for name in random.sample(list(FAULTS), len(FAULTS)):
        make, damaged, cause = FAULTS[name]
        for frame, is_damaged, arrival in (
            (good(), False, spec.ARRIVAL_DATAGRAM),
            (make(wire(udp(header(9, 9, 9, 0) + bytes(GOOD)))), damaged, cause),
        ):
            bench.hand(frame, is_damaged)
            count[arrival] += 1
            wanted[arrival] += min(len(frame), 2**14 - 1)
    bench.hand(good())
    wanted[spec.ARRIVAL_DATAGRAM] += GOOD + 32 + 42
    count[spec.ARRIVAL_DATAGRAM] += 1
    await bench.settle()
    arrivals, places = await bench.sums()
    expected = {cause: (count[cause], wanted[cause]) for cause in count}
    assert sorted(arrivals.items()) == sorted(expected.items())
    assert places == {spec.PLACE_DELIVERED: arrivals[spec.ARRIVAL_DATAGRAM]}
    assert [await bench.object() for _ in sent] == sent
    assert bench.objects.empty()


@cocotb.test()
async def later_fragments(dut) -> None:
    """They have no UDP header: whatever stands in its place, none passes, each is a fragment."""
    bench = Bench(dut, at_line_rate=False)
    await bench.start()
    for offset in (1, 100, 0x1FFF):
        bench.hand(ip(DATA, proto=17, frag=offset))
        # One that looks like our port, and like our header.
        bench.hand(ip(UDP(**PORTS) / Raw(header(0, 0, 99, 1) + b"x"), frag=offset))
    await bench.settle()
    arrivals, places = await bench.sums()
    assert not places and bench.objects.empty()
    assert arrivals == {spec.ARRIVAL_FRAGMENT: (bench.offered, bench.offered_bytes)}


@cocotb.test()
async def sequence_faults(dut) -> None:
    """A jump, what comes late, twice, or too late; other streams, bad headers: by the rule."""
    bench = Bench(dut, at_line_rate=False)
    await bench.start()
    frame_of = {}
    for number in range(200):
        flags = spec.FRAMING_FIRST | spec.FRAMING_LAST
        frame_of[number] = wire(udp(header(number, number, 100, flags) + bytes(100)))
    steps = [
        (0, spec.PLACE_DELIVERED, 0),
        (5, spec.PLACE_DELIVERED, 4),  # a jump: 1 to 4 are missing
        (3, spec.PLACE_LATE, None),
        (3, spec.PLACE_LATE, None),  # again: it was never taken
        (5, spec.PLACE_DUPLICATE, None),
        (0, spec.PLACE_DUPLICATE, None),
        (6, spec.PLACE_DELIVERED, 0),
        (90, spec.PLACE_DELIVERED, 83),
        (27, spec.PLACE_LATE, None),
        (26, spec.PLACE_OLD, None),
        (5, spec.PLACE_OLD, None),
        (91, spec.PLACE_DELIVERED, 0),
    ]
    wanted: Counter[int] = Counter(place for _, place, _ in steps)
    for number, _, _ in steps:
        bench.hand(frame_of[number])
    for bad in (
        header(92, 92, 100, 3, stream=frames.STREAM + 1),
        header(92, 92, 100, 3, version=1),
        header(92, 92, 100, 3, reserved=1),
        header(92, 92, 100, 3, magic=0x31594247),
        header(92, 92, 100, 4),
    ):
        bench.hand(wire(udp(bad + bytes(100))))
    wanted |= Counter({spec.PLACE_STREAM: 1, spec.PLACE_HEADER: 4})
    await bench.settle()
    _, places = await bench.sums()
    length = len(frame_of[0])
    expected = {place: (times, times * length) for place, times in wanted.items()}
    assert sorted(places.items()) == sorted(expected.items())
    found = []
    while not bench.objects.empty():
        assert await bench.object() == (bytes(100), True)
        number, _, _, missing = bench.head()
        found.append((number, missing))
    assert found == [(number, gap) for number, _, gap in steps if gap is not None]


@cocotb.test()
async def a_sender_begins_anew(dut) -> None:
    """A new epoch in mid-object: the old object ends unfinished, nothing counts as missing."""
    bench = Bench(dut, at_line_rate=False)
    await bench.start()
    old, new = random.randbytes(5000), random.randbytes(3000)
    for datagram in Sender(epoch=1, sequence=2**32 - 2).datagrams(7, old, 1000)[:4]:
        bench.hand(wire(udp(datagram)))
    for datagram in Sender(epoch=2, sequence=40).datagrams(7, new, 1000):
        bench.hand(wire(udp(datagram)))
    # And once more, from a lower number.
    for datagram in Sender(epoch=3, sequence=2).datagrams(8, old, 1000):
        bench.hand(wire(udp(datagram)))
    await bench.settle()
    arrivals, places = await bench.sums()
    assert places == {spec.PLACE_DELIVERED: arrivals[spec.ARRIVAL_DATAGRAM]}
    assert [await bench.object() for _ in range(3)] == [
        (old[:4000], False),
        (new, True),
        (old, True),
    ]
    heads = [bench.head() for _ in range(3)]
    assert [head[0] for head in heads] == [2**32 - 2, 40, 2]
    assert [head[3] for head in heads] == [0, 0, 0]


@cocotb.test()
async def a_sender_stops(dut) -> None:
    """In mid-object, for good: what came of it comes out after the idle time, marked as a part."""
    bench = Bench(dut, at_line_rate=False)
    idle = 900
    await bench.start(idle=idle)
    content = random.randbytes(9000)
    sender = Sender()
    datagrams = sender.datagrams(3, content, 1000)
    for datagram in datagrams[:4]:
        bench.hand(wire(udp(datagram)))
    await bench.settle()
    assert await bench.object() == (content[:4000], False)
    # It only slept: the rest is an extent that begins where the first one ended.
    for datagram in datagrams[4:]:
        bench.hand(wire(udp(datagram)))
    await bench.settle()
    assert await bench.object() == (content[4000:], False)
    assert [bench.head()[3] for _ in range(2)] == [0, 0]
    _, places = await bench.sums()
    assert set(places) == {spec.PLACE_DELIVERED}


async def frames_out(bench: Bench, microseconds: float) -> int:
    """Count the frames that leave in some time."""
    before = bench.tx.count()
    await Timer(round(microseconds * 1000), "ns")
    return bench.tx.count() - before


@cocotb.test()
@cocotb.parametrize(klass=[None, 3])
async def pause_of_any_time(dut, klass: int | None) -> None:
    """0 quanta: not a moment. 65535: silence until it is taken back, by the quantum."""
    bench = Bench(dut, at_line_rate=False)
    await bench.start(pause_control=0 if klass is None else 2 | klass << 4)
    for number in range(40):
        bench.offer(number, bytes(PAYLOAD * 20))
    assert await frames_out(bench, 5) > 20
    bench.hand(pause(0, klass))
    assert await frames_out(bench, 5) > 20
    assert await bench.get("pause_obeyed") == 0
    bench.hand(pause(65535, klass))
    # What has begun is finished.
    await Timer(1, "us")
    assert await frames_out(bench, 30) == 0
    obeyed = await bench.get("pause_obeyed")
    assert abs(obeyed - 31_000 / QUANTUM_NS) < 100
    bench.hand(pause(0, klass))
    assert await frames_out(bench, 5) > 20
    if klass is not None:
        # A frame for another class says nothing to us.
        bench.hand(pause(65535, klass ^ 1))
        assert await frames_out(bench, 5) > 20
    arrivals, _ = await bench.sums()
    assert set(arrivals) == {spec.ARRIVAL_PAUSE}


@cocotb.test()
async def a_drive_that_hangs(dut) -> None:
    """Nothing is taken any more: pause ends at its limit, what is lost counts, then it goes on."""
    limit = 4000
    bench = Bench(dut, at_line_rate=False)
    xoff, xon = 200, 100
    levels = 300 << 48 | 2000 << 32 | xon << 16 | xoff
    await bench.start(pause_control=1, pause=levels, pause_limit=limit)
    for sink in (bench.objects, bench.heads):
        sink.pause = True
    sender = Sender()
    count, content = 60, random.randbytes(1000)
    for number in range(count):
        for datagram in sender.datagrams(number, content, 1000):
            bench.hand(wire(udp(datagram)))
    await Timer(int(limit * QUANTUM_NS / 1e3) + 20, "us")
    sent = await bench.get("pause_sent")
    asked, taken_back = sent & 0xFFFFFFFF, sent >> 32
    assert asked > 2 and taken_back == 1 and await bench.get("pause_limit") == 1 << 32 | limit
    for sink in (bench.objects, bench.heads):
        sink.pause = False
    await Timer(30, "us")
    arrivals, places = await bench.sums()
    lost = arrivals.get(spec.ARRIVAL_OVERFLOW, (0, 0))[0]
    assert lost + places[spec.PLACE_DELIVERED][0] == count and lost > 0
    # XON was reached: it asks again.
    for sink in (bench.objects, bench.heads):
        sink.pause = True
    for number in range(count):
        for datagram in sender.datagrams(number, content, 1000):
            bench.hand(wire(udp(datagram)))
    await Timer(10, "us")
    assert (await bench.get("pause_sent")) & 0xFFFFFFFF > asked


@cocotb.test()
async def pause_storm(dut) -> None:
    """A peer that asks for silence without end is obeyed for the watchdog's time, and no longer."""
    watchdog = 3000
    bench = Bench(dut, at_line_rate=False)
    await bench.start(pause_control=watchdog << 32)
    for number in range(40):
        bench.offer(number, bytes(PAYLOAD * 20))
    await Timer(3, "us")
    for _ in range(400):
        bench.hand(pause(65535))
    await Timer(1, "us")
    silent = watchdog * QUANTUM_NS / 1e3
    assert await frames_out(bench, silent - 2) == 0
    await Timer(2, "us")
    # The storm goes on, and so do we.
    for _ in range(5):
        bench.hand(pause(65535))
        assert await frames_out(bench, 3) > 10
    obeyed = await bench.get("pause_obeyed")
    assert (obeyed >> 32, obeyed & 0xFFFFFFFF) == (1, watchdog)
    # Let go once, it is obeyed again.
    bench.hand(pause(0))
    bench.hand(pause(1000))
    await Timer(500, "ns")
    assert await frames_out(bench, 4) == 0
    assert (await bench.sums())[0].keys() == {spec.ARRIVAL_PAUSE}


async def begun(dut, counts: list[int]) -> None:
    """Count frames whose first beat the MAC hands over, and their ends, outside of its resets."""
    first = True
    while True:
        await FallingEdge(dut.clk_rx)
        if dut.rst_rx.value == 1:
            first = True
        elif dut.s_axis_mac_tvalid.value == 1:
            counts[0] += first
            first = dut.s_axis_mac_tlast.value == 1
            counts[1] += first


@cocotb.test()
@cocotb.parametrize(rx_ps=[MAC_PS, MAC_PS - 2, MAC_PS + 2])
async def link_flaps(dut, rx_ps: int) -> None:
    """The MAC alone is reset, again and again: each frame is counted, and what is whole goes on.

    Sending and receiving have a clock each. Pause that was asked for is forgotten.
    """
    bench, counts = Bench(dut), [0, 0]
    await bench.start(rx_ps=rx_ps)
    cocotb.start_soon(begun(dut, counts))
    sender, flaps = Sender(), harness.repeat(1000, 34, share=30)
    for round_ in range(flaps):
        content = random.randbytes(random.choice([200, 3000, 9000]))
        for datagram in sender.datagrams(round_, content, 1400):
            bench.rx.send_nowait(wire(udp(datagram)))
        if round_ % 20 == 7:
            bench.rx.send_nowait(pause(0xFFFF))
        bench.offer(round_, random.randbytes(500))
        await Timer(random.randrange(10, 500), "ns")
        await harness.step(dut.clk_rx)
        which = random.choice([[dut.rst_rx], [dut.rst_tx], [dut.rst_rx, dut.rst_tx]])
        for reset in which:
            reset.value = 1
        await harness.step(dut.clk_rx, random.choice([2, 3, 6, 40]))
        if dut.rst_tx in which:
            # What it had of a frame the model of the MAC keeps over its reset.
            bench.tx.stream.clear()
        for reset in which:
            reset.value = 0
        await harness.step(dut.clk_rx, 4)
    await bench.settle()
    dut.rst_tx.value = 1
    await harness.step(dut.clk_tx, 4)
    bench.tx.stream.clear()
    dut.rst_tx.value = 0
    arrivals = await bench.statistics("arrivals")
    link = await bench.get("link")
    assert total(arrivals)[0] == counts[0], "a frame that is not counted"
    assert arrivals[spec.ARRIVAL_DAMAGED][0] == counts[0] - counts[1] == link & 0xFFFFFFFF > 0
    assert link >> 32 == 0
    assert total(await bench.statistics("places")) == arrivals[spec.ARRIVAL_DATAGRAM]
    # Nothing but frames in which it was reset was lost: what comes now is as always.
    for sink in (bench.objects, bench.heads):
        sink.clear()
    content = random.randbytes(4000)
    for datagram in Sender(epoch=99).datagrams(7, content, 1400):
        bench.rx.send_nowait(wire(udp(datagram)))
    found = [await bench.object()]
    while not found[-1][1]:
        found.append(await bench.object())
    assert found[-1] == (content, True)
    bench.offer(1_000_000, bytes(500))
    assert await frames_out(bench, 2) >= 1


@cocotb.test()
async def reset_while_a_clock_stands_still(dut) -> None:
    """The link is down and clk_rx rests while all is reset: nothing old comes out afterwards."""
    bench = Bench(dut, at_line_rate=False)
    await bench.start()
    for round_ in range(6):
        for _ in range(random.randrange(1, 9)):
            bench.rx.send_nowait(frames.on_bus(wire(udp(*Sender().datagrams(0, bytes(900), 1400)))))
        await bench.rx.wait()
        await harness.step(dut.clk_rx, random.randrange(1, 30))
        bench.rx_clock.stop()
        dut.rst.value = 1
        await harness.step(dut.clk_tx, 8)
        await harness.step(dut.clk, 8)
        dut.rst.value = 0
        await Timer(random.randrange(50, 500), "ns")
        bench.rx_clock.start()
        await Timer(300, "ns")
        for sink in (bench.objects, bench.heads):
            sink.clear()
        assert await bench.statistics("arrivals") == {} and await bench.get("link") == 0
        await bench.configure()
        content = random.randbytes(3000)
        for datagram in Sender(epoch=round_).datagrams(round_, content, 1000):
            bench.rx.send_nowait(frames.on_bus(wire(udp(datagram))))
        await bench.settle()
        assert await bench.object() == (content, True) and bench.objects.empty()


@cocotb.test()
async def reset_in_mid_frame(dut) -> None:
    """Nothing of the frame stays; its rest is one frame more, and the next is whole."""
    bench = Bench(dut, at_line_rate=False)
    await bench.start()
    for round_ in range(4):
        bench.rx.send_nowait(frames.on_bus(wire(udp(*Sender().datagrams(0, bytes(8000), 8000)))))
        await harness.step(dut.clk_tx, random.randrange(10, 90))
        await bench.reset()
        for sink in (bench.objects, bench.heads):
            sink.clear()
        await bench.rx.wait()
        await bench.configure()
        content = random.randbytes(3000)
        sender = Sender(epoch=round_)
        frames_sent = [wire(udp(datagram)) for datagram in sender.datagrams(round_, content, 1000)]
        for frame in frames_sent:
            bench.rx.send_nowait(frames.on_bus(frame))
        await bench.settle()
        assert await bench.object() == (content, True)
        assert bench.objects.empty()
        arrivals, places = await bench.statistics("arrivals"), await bench.statistics("places")
        good = (len(frames_sent), sum(map(len, frames_sent)))
        assert arrivals.pop(spec.ARRIVAL_DATAGRAM) == good
        assert places == {spec.PLACE_DELIVERED: good}
        # All of the frame may have gone by while the reset was on.
        assert total(arrivals)[0] <= 1 and set(arrivals) <= {
            spec.ARRIVAL_ALIEN,
            spec.ARRIVAL_RUNT,
        }


@cocotb.test()
async def least_frames_at_line_rate(dut) -> None:
    """64-byte frames, 148.8 million a second: filter, sequence and counters miss none."""
    bench = Bench(dut)
    await bench.start()
    alien = wire(udp(b"", dport=9))
    sender, sent = Sender(), []
    for number in range(1500):
        if number % 3:
            bench.hand(alien)
        else:
            sent.append((random.randbytes(14), True))
            bench.hand(wire(raw(*sender.datagrams(number, sent[-1][0], 14))))
    began = cocotb.utils.get_sim_time("ns")
    while not bench.rx.empty():
        await Timer(50, "ns")
    rate = bench.offered / (cocotb.utils.get_sim_time("ns") - began) * 1e3
    assert rate > 147, f"{rate} million frames a second: the line is not full"
    await bench.settle()
    arrivals, places = await bench.sums()
    assert arrivals[spec.ARRIVAL_ALIEN] == (1000, 1000 * 60)
    assert arrivals[spec.ARRIVAL_DATAGRAM] == places[spec.PLACE_DELIVERED] == (500, 500 * 60)
    assert [await bench.object() for _ in sent] == sent


def malformed(sender: Sender) -> bytes:
    """Return a frame of noise, or a good one that noise came over."""
    kind = random.randrange(6)
    if kind == 0:
        return random.randbytes(random.choice([1, 13, 14, 59, 60, 64, 65, 1500, 9023]))
    head = header(
        random.choice([sender.sequence, random.getrandbits(32)]),
        random.getrandbits(2),
        random.choice([0, 1, 500, random.getrandbits(64)]),
        random.getrandbits(4) & random.choice([3, 15]),
        epoch=random.choice([1, 1, 1, random.getrandbits(32)]),
        stream=random.choice([frames.STREAM, frames.STREAM, 6]),
    )
    sender.sequence += random.randrange(3)
    make = random.choice([udp, raw])
    frame = wire(make(head + random.randbytes(random.randrange(1, 600))))
    if kind == 1:
        return pause(random.randrange(300))
    if kind == 2:
        frame = frame[: random.randrange(1, len(frame) + 1)]
    if kind == 3:
        for _ in range(random.randrange(1, 4)):
            frame = changed(frame, random.randrange(len(frame)), random.randrange(1, 256))
    return frame


@cocotb.test()
async def whatever_comes_is_counted(dut) -> None:
    """Noise, in bursts and with gaps, a reader that stalls: offered = counted, frame and byte."""
    bench = Bench(dut, at_line_rate=False)
    await bench.start(pause=200 | 100 << 16 | 900 << 32 | 300 << 48, pause_control=1)
    harness.stall(bench.objects, 0.6)
    harness.stall(bench.heads, 0.4)
    harness.stall(bench.rx, 0.05)
    sender = Sender()
    for _ in range(600):
        bench.hand(malformed(sender), damaged=random.random() < 0.05)
    await bench.settle()
    for sink in (bench.objects, bench.heads):
        harness.stall(sink, 0)
    await Timer(20, "us")
    arrivals, places = await bench.sums()
    assert len(arrivals) >= 6 and places[spec.PLACE_DELIVERED][0] > 20
    # After all that a good object of a new epoch passes.
    bench.objects.clear()
    content = random.randbytes(5000)
    for datagram in Sender(epoch=random.choice([2, 3])).datagrams(1, content, 1000):
        bench.hand(wire(udp(datagram)))
    await bench.settle()
    await bench.sums()
    found = []
    while not bench.objects.empty():
        found.append(await bench.object())
    assert found[-1] == (content, True)


def test_faults() -> None:
    """Run all coroutines."""
    simulate(
        __file__,
        "fb_net_port",
        {"ReceiveBeats": BEATS, "SendBeats": 256, "StreamBeats": STREAM_BEATS},
    )
