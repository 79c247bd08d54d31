# SPDX-License-Identifier: Apache-2.0
"""The whole receive path: scapy's frames at line rate from cocotbext-eth's MAC, objects at the end.

Offered = stored + counted, by frame and by byte, whatever comes and however slow the reader is.
"""

from __future__ import annotations

import itertools
import random
import struct
from collections import Counter

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from cocotbext.axi import AxiStreamBus, AxiStreamSink, AxiStreamSource
from cocotbext.eth import EthMacRx

import frames
import harness
import pcapng
from forebay import spec
from frames import STREAM, Sender, raw, udp, udp6, wire
from runner import simulate

pytestmark = pytest.mark.long

MAC_PS = 3104  # 322.265625 MHz, to the simulator's even picoseconds
LINE = 100e9
GAP = 12 + 4  # the gap between frames, and the check sequence, which the MAC model does not see


class Bench:
    """A MAC, two clocks, a sink for objects and one for heads, and the sums of both verdicts."""

    def __init__(self, dut) -> None:
        self.dut = dut
        clock = {"clock": dut.clk, "reset": dut.rst}
        self.objects = harness.axi_stream(AxiStreamSink, dut, "m_axis_object", **clock)
        self.heads = harness.axi_stream(AxiStreamSink, dut, "m_axis_head", **clock)
        self.arrivals: Counter[int] = Counter()
        self.arrived_bytes: Counter[int] = Counter()
        self.places: Counter[int] = Counter()
        self.placed_bytes: Counter[int] = Counter()
        self.ends: list[bool] = []  # of each packet taken, whether an intact object ends
        self.offered = self.offered_bytes = 0
        self.most = 0
        self.mac: EthMacRx | None = None
        self.source: AxiStreamSource | None = None

    async def start(self, core_ps: int = 3334, at_line_rate: bool = True, **others: int) -> None:
        """Start both clocks, reset both sides, and count."""
        dut = self.dut
        frames.configure(dut, **others)
        bus = AxiStreamBus.from_prefix(dut, "s_axis_mac")
        if at_line_rate:
            self.mac = EthMacRx(bus, dut.clk_mac, ifg=GAP, speed=LINE)
            self.mac.log.setLevel("WARNING")
        else:
            self.source = harness.axi_stream(AxiStreamSource, dut, "s_axis_mac", clock=dut.clk_mac)
        Clock(dut.clk_mac, MAC_PS, unit="ps").start()
        Clock(dut.clk, core_ps, unit="ps").start()
        await self.reset()
        cocotb.start_soon(self.count("arrived", "arrival", dut.clk_mac))
        cocotb.start_soon(self.count("placed", "place", dut.clk))

    async def reset(self) -> None:
        """Reset both sides together."""
        self.dut.rst_mac.value = 1
        self.dut.rst.value = 1
        await harness.step(self.dut.clk_mac, 4)
        await harness.step(self.dut.clk, 4)
        self.dut.rst_mac.value = 0
        self.dut.rst.value = 0

    async def count(self, strobe: str, code: str, clk) -> None:
        """Add frames and bytes up by what became of them, and find the highest level."""
        dut = self.dut
        frames_by, bytes_by = getattr(self, f"{code}s"), getattr(self, f"{strobe}_bytes")
        handles = getattr(dut, strobe), getattr(dut, code), getattr(dut, f"{strobe}_bytes")
        while True:
            await FallingEdge(clk)
            self.most = max(self.most, int(dut.level.value))
            if handles[0].value == 1:
                frames_by[int(handles[1].value)] += 1
                bytes_by[int(handles[1].value)] += int(handles[2].value)

    async def send(self, frame: bytes, damaged: bool = False) -> None:
        """Queue a frame."""
        self.offered += 1
        self.offered_bytes += len(frame)
        if self.mac:
            await self.mac.send(frame)
        else:
            await self.source.send(frames.on_bus(frame, damaged))

    async def settle(self) -> None:
        """Wait until everything offered has a verdict, and every datagram its place."""
        for _ in range(200_000):
            await RisingEdge(self.dut.clk)
            datagrams = self.arrivals[spec.ARRIVAL_DATAGRAM]
            if self.arrivals.total() >= self.offered and self.places.total() >= datagrams:
                break
        await harness.step(self.dut.clk, 40)
        self.check()

    def check(self) -> None:
        """Hold the sums against each other."""
        assert self.arrivals.total() == self.offered
        assert self.arrived_bytes.total() == self.offered_bytes
        assert self.places.total() == self.arrivals[spec.ARRIVAL_DATAGRAM]
        assert self.placed_bytes.total() == self.arrived_bytes[spec.ARRIVAL_DATAGRAM]

    def packets(self) -> list[tuple[bytes, bool]]:
        """Return all packets that came: bytes, and whether it is a whole object."""
        found = []
        while not self.objects.empty():
            packet = self.objects.recv_nowait(compact=False)
            kept = sum(packet.tkeep or [1] * len(packet.tdata))
            user = packet.tuser if isinstance(packet.tuser, list) else [packet.tuser]
            found.append((bytes(packet.tdata[:kept]), not user[-1] & spec.PACKET_PART))
            self.ends.append(user[-1] & spec.PACKET_ENDS_OBJECT != 0)
        return found


@cocotb.test()
@cocotb.parametrize(core_ps=[3334, 4000])
async def objects_at_line_rate(dut, core_ps: int) -> None:
    """Objects of any size, at MTU 9000, 1500 and less, arrive whole at 100 Gb/s."""
    bench = Bench(dut)
    await bench.start(core_ps)
    sender, sent = Sender(), []
    for number in range(40):
        part = random.choice([8920, 1440, 500])
        content = random.randbytes(random.choice([1, 64, part, random.randrange(1, 40_000)]))
        sent.append((content, True))
        pack = random.choice([udp, udp6, raw])
        for datagram in sender.datagrams(number, content, part):
            await bench.send(wire(pack(datagram, random.choice([None, 9]))))
    await bench.settle()
    assert bench.packets() == sent
    assert bench.heads.count() == len(sent)
    # A frame is there when it is whole: the longest one, and what comes while it is read.
    assert bench.most < 142 + 16, "the memory fills although the reader is faster"


@cocotb.test()
async def least_frames_at_line_rate(dut) -> None:
    """148.8 million frames a second: what is not ours is filtered, what is ours is not lost."""
    bench = Bench(dut)
    await bench.start()
    sender, sent = Sender(), []
    alien = wire(udp(b"", dport=9))
    assert len(alien) == spec.FRAME_LEAST_BYTES
    for number in range(2000):
        if number % 4:
            await bench.send(alien)
        else:
            sent.append((random.randbytes(14), True))
            (datagram,) = sender.datagrams(number, sent[-1][0], 14)
            await bench.send(wire(raw(datagram)))
    began = cocotb.utils.get_sim_time("ns")
    await bench.settle()
    rate = bench.offered / (cocotb.utils.get_sim_time("ns") - began) * 1e3
    assert bench.packets() == sent
    assert bench.arrivals[spec.ARRIVAL_ALIEN] == 1500
    assert rate > 140, f"{rate} million frames a second: the line is not full"


@cocotb.test()
@cocotb.parametrize(stall=[0.5, 0.8])
async def slow_reader(dut, stall: float) -> None:
    """A sender that ignores pause: each frame is stored or counted, each gap stands in a head."""
    bench = Bench(dut)
    await bench.start()
    harness.stall(bench.objects, stall)
    harness.stall(bench.heads, 0.2)
    sender, sent = Sender(), {}
    for number in range(harness.repeat(60, 25)):
        content = random.randbytes(random.randrange(1, 30_000))
        sent[number] = content
        for datagram in sender.datagrams(number, content, 1440):
            await bench.send(wire(udp(datagram)))
    # The last one is alone, so that the gap before it shows.
    await harness.step(dut.clk, 15_000)
    number = len(sent)
    sent[number] = b"the end"
    await bench.send(wire(udp(*sender.datagrams(number, sent[number], 1440))))
    harness.stall(bench.objects, 0)
    await bench.settle()
    lost = bench.arrivals[spec.ARRIVAL_OVERFLOW]
    assert lost, "nothing was lost: the reader is not slow enough"
    check_extents(bench, sent, lost)
    assert bench.places == {spec.PLACE_DELIVERED: sender.sequence - lost}


def check_extents(bench: Bench, sent: dict[int, bytes], lost: int) -> None:
    """Each extent lies where its head says, and the gaps of the heads are what was lost."""
    packets = bench.packets()
    missing = due = stored = 0
    for content, whole in packets:
        word = bytes(bench.heads.recv_nowait().tdata)
        number = int.from_bytes(word[spec.FRAMING_OBJECT_AT :][:8], "little")
        place = int.from_bytes(word[spec.FRAMING_PLACE_AT :][:8], "little")
        first = word[spec.FRAMING_FLAGS_AT] & spec.FRAMING_FIRST
        sequence = int.from_bytes(word[spec.FRAMING_SEQUENCE_AT :][:4], "little")
        gap = int.from_bytes(word[spec.FRAMING_BYTES :][:8], "little")
        offset = 0 if first else place
        assert sent[number][offset : offset + len(content)] == content
        assert whole == (content == sent[number])
        assert sequence - gap >= due
        due, missing, stored = sequence + 1, missing + gap, stored + len(content)
    assert bench.heads.empty() and missing == lost
    assert stored < sum(map(len, sent.values()))


async def begin_packets(bench: Bench, pages: int) -> None:
    """Take whole frames; the bench has started."""
    dut = bench.dut
    dut.cfg_pages.value = pages
    dut.cfg_wait.value = 0
    dut.cfg_packets.value = 1
    await harness.step(dut.clk_mac, 8)


async def end_packets(bench: Bench) -> list[pcapng.Packet]:
    """Take no more, and return what was taken."""
    bench.dut.cfg_packets.value = 0
    await harness.until(bench.dut.clk, bench.dut.packets_open, 0)
    await harness.step(bench.dut.clk, 200)
    chunks = bench.packets()
    assert all(whole for _, whole in chunks)
    return [packet for data, _ in chunks for packet in pcapng.walk(data)]


def any_frame() -> bytes:
    """Return a frame for us or for any other address, of a kind that is recorded."""
    size = random.choice([0, 1, 14, 18, 100, 1000, random.randrange(1500)])
    pack = random.choice([udp, raw, lambda data: udp(data, dport=9)])
    frame = bytearray(wire(pack(random.randbytes(size))))
    if random.random() < 0.5:
        frame[random.randrange(12, len(frame))] ^= 0x10
    # Not what only a MAC has to do with.
    return bytes(frame).replace(b"\x88\x08", b"\x88\x18")


@cocotb.test()
@cocotb.parametrize(least=[False, True])
async def whole_frames_at_line_rate(dut, least: bool) -> None:
    """All frames are packets of a capture, also the shortest, 148.8 million a second."""
    bench = Bench(dut)
    await bench.start()
    await begin_packets(bench, 16)
    sent = [random.randbytes(60) if least else any_frame() for _ in range(1000)]
    for frame in sent:
        await bench.send(frame)
    await bench.settle()
    assert [packet.frame for packet in await end_packets(bench)] == sent
    assert bench.arrivals == {spec.ARRIVAL_DATAGRAM: len(sent)}
    assert bench.most < 64, "the memory fills although the reader is faster"
    # Then objects again, from the first frame on.
    content = random.randbytes(5000)
    for datagram in Sender().datagrams(0, content, 1440):
        await bench.send(wire(udp(datagram)))
    await bench.settle()
    assert bench.packets() == [(content, True)]


@cocotb.test()
async def slow_reader_of_packets(dut) -> None:
    """Each frame is in the capture or told by it as lost, at its place."""
    bench = Bench(dut)
    await bench.start()
    await begin_packets(bench, 4)
    harness.stall(bench.objects, 0.8)
    sent = [number.to_bytes(60, "big") for number in range(3000)]
    for frame in sent:
        await bench.send(frame)
    await harness.step(dut.clk, 20_000)
    # Frames behind a gap tell of up to 255 each.
    after = [number.to_bytes(60, "big") for number in range(3000, 3020)]
    harness.stall(bench.objects, 0)
    for frame in after:
        await bench.send(frame)
    await bench.settle()
    packets = await end_packets(bench)
    lost = bench.arrivals[spec.ARRIVAL_OVERFLOW]
    assert lost and sum(packet.lost for packet in packets) == lost
    assert len(packets) + lost == len(sent + after)
    due = 0
    for packet in packets:
        number = int.from_bytes(packet.frame, "big")
        assert packet.lost in (number - due, 255)
        due += packet.lost + 1
    told = 0
    while not bench.heads.empty():
        word = bytes(bench.heads.recv_nowait().tdata)
        told += int.from_bytes(word[spec.FRAMING_BYTES :][:8], "little")
    assert lost - 255 * 64 < told <= lost


async def switch(dut, pauses: tuple[int, ...], count: int) -> None:
    """Turn packets on and off again and again, from a register of the core's clock."""
    for _ in range(count):
        for value in (1, 0):
            await harness.step(dut.clk, random.choice(pauses))
            dut.cfg_packets.value = value
    await harness.until(dut.clk, dut.packets_open, 0, 100_000)


async def stays_ended(dut) -> None:
    """Watch that a capture that was said to have ended does not go on."""
    ended = True
    while True:
        await FallingEdge(dut.clk)
        enabled, is_open = dut.cfg_packets.value == 1, dut.packets_open.value == 1
        assert not (ended and is_open and not enabled), "it had ended"
        ended = not enabled and not is_open


class Mixture:
    """Frames of two streams' objects and of other senders, no two of them alike."""

    def __init__(self) -> None:
        self.senders = [Sender(stream=STREAM + n, epoch=n) for n in range(2)]
        self.objects: dict[tuple[int, int], bytes] = {}
        self.parts: list[list[bytes]] = [[], []]
        self.offered: list[bytes] = []
        # Of each frame of ours: stream, object, offset and bytes of the payload.
        self.ours: dict[bytes, tuple[int, int, int, int]] = {}

    def begin(self, n: int, content: bytes, part: int) -> None:
        """Begin an object of a stream, whatever is left of the one before."""
        number = len(self.objects)
        self.objects[n, number] = content
        self.parts[n] = self.senders[n].datagrams(number, content, part)

    def next_of(self, n: int) -> bytes:
        """Return the next frame of a stream's object."""
        datagram = self.parts[n].pop(0)
        # A raw frame that was filled up is known as such only in an object without gaps.
        frame = wire((random.choice([udp, raw]) if len(datagram) >= 46 else udp)(datagram))
        number, place = struct.unpack_from("<QQ", datagram, spec.FRAMING_OBJECT_AT)
        offset = 0 if datagram[spec.FRAMING_FLAGS_AT] & spec.FRAMING_FIRST else place
        self.ours[frame] = n, number, offset, len(datagram) - spec.FRAMING_BYTES
        self.offered.append(frame)
        return frame

    def next(self) -> bytes:
        """Return any frame."""
        n = random.randrange(4)
        if n >= 2:
            size = random.choice([60, 61, 64, 65, 128, random.randrange(60, 9000)])
            self.offered.append(b"\xff" * 12 + b"\x08\x00" + random.randbytes(size - 14))
            return self.offered[-1]
        if not self.parts[n]:
            content = random.randbytes(random.choice([40, random.randrange(1, 4000), 20_000]))
            self.begin(n, content, random.choice([40, 500, 1440, 8940]))
        return self.next_of(n)


@cocotb.test()
@cocotb.parametrize(
    stall=[0.0, 0.8], pauses=[(1, 2, 5, 11, 40), (200, 1000, 3000)], core_ps=[3334, 2600]
)
async def packets_on_a_live_link(dut, stall: float, pauses: tuple[int, ...], core_ps: int) -> None:
    """Turned on and off while frames come: each is a packet or a part of an object, or counted."""
    bench, mixture = Bench(dut), Mixture()
    await bench.start(core_ps, cfg_streams=2, cfg_gather=200_000)
    dut.cfg_pages.value = 3
    dut.cfg_wait.value = 0
    harness.stall(bench.objects, stall)
    harness.stall(bench.heads, stall / 2)
    cocotb.start_soon(stays_ended(dut))
    switching = cocotb.start_soon(
        switch(
            dut,
            pauses,
            harness.repeat(300, 15, share=20) if pauses[0] == 1 else harness.repeat(8, 4),
        )
    )
    while not switching.done():
        for _ in range(20):
            await bench.send(mixture.next())
        while not switching.done() and bench.arrivals.total() < bench.offered - 4:
            await RisingEdge(dut.clk)
        if random.random() < 0.1:
            await harness.step(dut.clk, 300)
    # A stream that waits for the rest of an object is let go.
    dut.cfg_gather.value = 100
    await bench.settle()
    for n in range(2):
        mixture.begin(n, random.randbytes(3000), 1440)
        while mixture.parts[n]:
            await bench.send(mixture.next_of(n))
        await bench.settle()
    await harness.step(dut.clk, 1000)
    assert dut.held.value == 0 and dut.level.value == 0 and dut.packets_open.value == 0
    check_both(bench, mixture)


def check_both(bench: Bench, mixture: Mixture) -> None:
    """Each frame is in a sound chunk, or in an extent that lies where its word says, or counted."""
    chunks, captured, told, whole_ones, extents = [], [], 0, [], {}
    due, first, missing = {(0, 0)}, {}, Counter()
    for content, whole in bench.packets():
        word = bytes(bench.heads.recv_nowait().tdata)
        flags, stream = word[spec.FRAMING_FLAGS_AT], struct.unpack_from("<H", word, 6)[0]
        sequence, number, place, gap = struct.unpack_from("<IQQQ", word, spec.FRAMING_SEQUENCE_AT)
        if not stream:
            packets = pcapng.walk(content)
            assert whole and (sequence, number) in due
            due = {(0, 0), (sequence + len(packets), number + 1)}
            chunks.append(content)
            captured += packets
            told += gap
            continue
        n, offset = stream - STREAM, 0 if flags & spec.FRAMING_FIRST else place
        sent = mixture.objects[n, number]
        assert content and sent[offset : offset + len(content)] == content
        assert whole == (content == sent)
        whole_ones += [(n, number)] * whole
        extents.setdefault((n, number), []).append((offset, offset + len(content)))
        first.setdefault(n, sequence)
        missing[n] += gap
    assert bench.heads.empty() and whole_ones[-2:] == list(mixture.objects)[-2:]
    assert [frame for _, frame in pcapng.by_scapy(chunks)] == [p.frame for p in captured]
    left = iter(mixture.offered)
    assert all(packet.frame in left for packet in captured), "not in order, or twice"
    frames_captured = {packet.frame for packet in captured}
    stored = [
        frame
        for frame, (n, number, at, size) in mixture.ours.items()
        if any(a <= at and at + size <= b for a, b in extents.get((n, number), []))
    ]
    assert frames_captured and stored and frames_captured.isdisjoint(stored)
    for n, sender in enumerate(mixture.senders):
        count = sum(mixture.ours[frame][0] == n for frame in stored)
        assert first[n] + count + missing[n] == sender.sequence
    assert bench.places == {spec.PLACE_DELIVERED: len(captured) + len(stored)}
    sizes = sum(map(len, frames_captured)) + sum(map(len, stored))
    assert bench.placed_bytes == {spec.PLACE_DELIVERED: sizes}
    lost = bench.arrivals[spec.ARRIVAL_OVERFLOW]
    assert sum(packet.lost for packet in captured) <= lost and told <= lost
    kinds = {spec.ARRIVAL_DATAGRAM, spec.ARRIVAL_ALIEN, spec.ARRIVAL_OVERFLOW}
    assert bench.arrivals.keys() <= kinds


@cocotb.test()
async def several_senders(dut) -> None:
    """Streams whose frames come in turn at line rate: objects whole, or in parts in order."""
    bench = Bench(dut)
    await bench.start(cfg_streams=3)
    senders = [Sender(stream=STREAM + n, epoch=n) for n in range(4)]
    sent, queues = {}, []
    for n, sender in enumerate(senders):
        queues.append([])
        for number, size in enumerate([1, 30_000, 200_000, 64, 9000 * n + 1]):
            sent[n, number] = random.randbytes(size)
            queues[n] += sender.datagrams(number, sent[n, number], [8940, 1440, 500, 1000][n])
    for datagram in itertools.chain(*itertools.zip_longest(*queues)):
        if datagram:
            await bench.send(wire(udp(datagram)))
    await bench.settle()
    # The fourth stream is not taken.
    assert bench.places[spec.PLACE_STREAM] == len(queues[3])
    assert bench.places[spec.PLACE_DELIVERED] == sum(map(len, queues[:3]))
    stored, extents, ended = dict.fromkeys(sent, b""), Counter(), []
    for content, whole in bench.packets():
        word = bytes(bench.heads.recv_nowait().tdata)
        stream, number = struct.unpack_from("<H", word, 6)[0], struct.unpack_from("<Q", word, 16)[0]
        key = stream - STREAM, number
        extents[key] += 1
        place = struct.unpack_from("<Q", word, spec.FRAMING_PLACE_AT)[0]
        first = word[spec.FRAMING_FLAGS_AT] & spec.FRAMING_FIRST
        assert len(stored[key]) == (0 if first else place)
        stored[key] += content
        assert whole == (content == sent[key]) and not any(word[spec.FRAMING_BYTES :][:8])
        ended.append(stored[key] == sent[key])
    # Nothing is missing: the extent with an object's last byte says that it ends there.
    assert ended == bench.ends and sum(ended) == 15
    assert stored == {key: sent[key] if key[0] < 3 else b"" for key in sent}
    # Parts are half a ring of 32 KiB or more, whatever small objects come between.
    assert sum(extents.values()) <= 15 + sum(map(len, sent.values())) // 2**14


@cocotb.test()
async def every_fault(dut) -> None:
    """Good frames among all that the filter refuses: the objects are as if they were alone."""
    bench = Bench(dut)
    await bench.start(at_line_rate=False)
    sender, sent = Sender(), []
    for number in range(60):
        content = random.randbytes(random.randrange(1, 5000))
        sent.append((content, True))
        for datagram in sender.datagrams(number, content, 1000):
            good = wire(udp(datagram))
            for _ in range(random.randrange(3)):
                bad = bytearray(good)
                fault = random.randrange(5)
                if fault == 0:
                    bad[random.randrange(34, len(good))] ^= 1
                elif fault == 1:
                    bad[random.randrange(14, 34)] ^= 1
                elif fault == 2:
                    bad = bad[: random.randrange(1, len(good))]
                elif fault == 3:
                    bad = bad + bytes(9000)
                await bench.send(bytes(bad), damaged=fault == 4)
            await bench.send(good)
    await bench.settle()
    assert bench.packets() == sent
    assert bench.arrivals[spec.ARRIVAL_DATAGRAM] == sender.sequence


@cocotb.test()
async def reset_in_mid_frame(dut) -> None:
    """After a reset of both sides the next whole frame is the first of all."""
    bench = Bench(dut)
    await bench.start(at_line_rate=False)
    for _ in range(5):
        await bench.send(wire(udp(*Sender().datagrams(0, bytes(5000), 8000))))
        await harness.step(dut.clk_mac, random.randrange(5, 70))
        await bench.reset()
        await bench.source.wait()
        await harness.step(dut.clk_mac, 20)
        for sink in (bench.objects, bench.heads):
            sink.clear()
        for sums in (bench.arrivals, bench.arrived_bytes, bench.places, bench.placed_bytes):
            sums.clear()
        bench.offered = bench.offered_bytes = 0
        content = random.randbytes(100)
        await bench.send(wire(udp(*Sender(epoch=3).datagrams(1, content, 1000))))
        await bench.settle()
        assert bench.packets() == [(content, True)]


@pytest.mark.parametrize("beats", [256])
def test_receive(beats: int) -> None:
    """Run all coroutines with a memory of 16 KiB, which is soon full."""
    simulate(__file__, "fb_net_receive", {"Beats": beats, "Frames": beats, "StreamBeats": 512})
