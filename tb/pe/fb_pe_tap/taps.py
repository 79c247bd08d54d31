# SPDX-License-Identifier: Apache-2.0
"""What the benches of taps share: the original is as it was, and each object has one result."""

from __future__ import annotations

import random
from collections import Counter
from typing import NamedTuple

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge, with_timeout
from cocotbext.axi import AxiStreamFrame, AxiStreamSink, AxiStreamSource

import elements
import harness
import structs
from elements import BEAT, Extent
from extents import word_stream
from forebay import spec
from runner import simulate

INSIDE = structs.constant("INSIDE")
BEATS = 16
# Some share one of the 16 places.
STREAMS = (0, 1, 2, 17, 33)


class Packet(NamedTuple):
    """A packet as it was sent."""

    tag: int
    data: bytes
    user: int
    extent: Extent

    @property
    def object(self) -> tuple[int, int, int]:
        """Which object it is of."""
        return self.extent[:3]


class Bench(elements.Bench):
    """A tap whose branch is wires into a sink, and judges what has come whole."""

    def __init__(self, dut) -> None:
        super().__init__(dut)
        self.copies = harness.axi_stream(AxiStreamSink, dut, "m_axis_copy")
        self.judge = word_stream(AxiStreamSource, dut, "s_axis_result")
        self.sent: list[Packet] = []
        self.known: list[tuple[int, int]] = []  # tags and extents, as the branch was told
        self.words: dict[int, tuple[int, int]] = {}  # of these what an element keeps
        self.unseen = 0  # pulses
        self.waited = 0  # cycles in which the original did not go on
        self.keeps = False  # nothing leaves the branch
        self.extra = 0  # something does that was not in it
        dut.leaves.value = 0
        cocotb.start_soon(self._leave())
        cocotb.start_soon(self._watch())

    async def _leave(self) -> None:
        """Stand for elements that keep nothing."""
        dut = self.dut
        while True:
            await FallingEdge(dut.clk)
            copied = dut.m_axis_copy_tvalid.value == dut.m_axis_copy_tready.value == 1
            last = copied and dut.m_axis_copy_tlast.value == 1
            dut.leaves.value = int(last and not self.keeps) | self.extra
            dut.leaves_tid.value = dut.m_axis_copy_tid.value

    async def _watch(self) -> None:
        """Follow the pulses, and keep what is known as an element does: by its tag."""
        dut = self.dut
        while True:
            await RisingEdge(dut.clk)
            if dut.rst.value == 1:
                continue
            if dut.m_axis_copy_tvalid.value == 1:
                tag = int(dut.m_axis_copy_tid.value)
                assert self.words[tag % INSIDE][0] == tag, "what is known of a packet is gone"
            if dut.copy_valid.value == 1:
                known = int(dut.copy_tid.value), int(dut.copy.value)
                self.known.append(known)
                self.words[known[0] % INSIDE] = known
            self.unseen += dut.unseen.value == 1
            valid, ready = dut.s_axis_object_tvalid, dut.s_axis_object_tready
            self.waited += valid.value == 1 and ready.value == 0

    async def start(self, idle: float = 0.0, stall: float = 0.0, slow: float = 0.0) -> None:
        """Reset; shares of pauses: of what sends, of what takes the original, and of the branch."""
        for stream, share in [
            (self.source, idle),
            (self.sink, stall),
            (self.results, stall),
            (self.copies, slow),
        ]:
            if share:
                harness.stall(stream, share)
        await harness.start(self.dut)

    async def put(self, data: bytes, user: int, extent: Extent) -> Packet:
        """Queue a packet and note it."""
        packet = Packet(await self.send(data, user, extent), data, user, extent)
        self.sent.append(packet)
        return packet

    async def copy(self) -> tuple[int, bytes, int]:
        """Take the next copy: tag, bytes, TUSER."""
        found = await with_timeout(self.copies.recv(compact=False), 1, "ms")
        keep = list(found.tkeep or [1] * len(found.tdata))
        data = bytes(found.tdata[: keep.count(1)])
        assert keep == [1] * len(data) + [0] * (len(keep) - len(data))
        tags = found.tid if isinstance(found.tid, list) else [found.tid]
        users = found.tuser if isinstance(found.tuser, list) else [found.tuser] * len(keep)
        assert len(set(tags)) == 1 and not any(users[:-BEAT])
        return tags[0], data, users[-1]


async def any_objects(
    bench: Bench, count: int, most: int, streams: tuple[int, ...] = STREAMS
) -> None:
    """Queue objects of several streams, whole ones and in packets that alternate, some cut off."""
    open_objects: dict[int, tuple[int, int]] = {}  # number and offset of each stream's
    numbers: Counter[int] = Counter()
    for _ in range(count):
        stream = random.choice(streams)
        number, offset = open_objects.pop(stream, (numbers[stream], 0))
        numbers[stream] = number + 1
        data = random.randbytes(random.choice([1, 64, 65, random.randrange(1, most)]))
        extent = Extent(stream, 3, number, offset, 0, random.getrandbits(64))
        user = elements.LAST_PART if offset else elements.WHOLE
        if random.random() < 0.5:
            user = elements.PART
            if random.random() < 0.8:
                open_objects[stream] = number, offset + len(data)
        await bench.put(data, user, extent)


def seen_whole(sent: list[Packet], copies: dict[int, tuple[bytes, int]]) -> set[int]:
    """Return tags of packets that end an object all of which was copied."""
    good: dict[tuple[int, int, int], bool] = {}
    found = set()
    for packet in sent:
        before = packet.extent.offset == 0 or good.get(packet.object, False)
        whole = copies.get(packet.tag) == (packet.data, packet.user)
        good[packet.object] = before and whole
        if packet.user & spec.PACKET_ENDS_OBJECT and good[packet.object]:
            found.add(packet.tag)
    return found


async def judge_what_comes(bench: Bench, copies: dict[int, tuple[bytes, int]]) -> None:
    """Be the branch: a result, some time later, for each packet that ends an object."""
    while True:
        tag, data, user = await bench.copy()
        copies[tag] = data, user
        if user & spec.PACKET_ENDS_OBJECT:
            await harness.step(bench.dut.clk, random.randrange(20))
            word = tag << 16 | len(data) & 0xFFFF
            bench.judge.send_nowait(AxiStreamFrame([word], tid=tag, tuser=0))


async def check(bench: Bench) -> set[int]:
    """Hold original, copies and results against what was sent; returns the tags of null results."""
    copies: dict[int, tuple[bytes, int]] = {}
    cocotb.start_soon(judge_what_comes(bench, copies))
    for packet in bench.sent:
        await bench.expect(packet.data)
    ends = [p.tag for p in bench.sent if p.user & spec.PACKET_ENDS_OBJECT]
    results = {}
    for _ in ends:
        word, tag, null = await bench.result_word()
        assert tag not in results
        results[tag] = word, null
    for _ in range(100):
        await harness.step(bench.dut.clk, BEATS)
        if len(copies) == len(bench.known):
            break
    assert bench.results.empty() and bench.copies.empty()
    assert sorted(results) == sorted(ends)
    due = {packet.tag: packet for packet in bench.sent}
    # In order, each as it was or its beginning, which ends at a beat, as a part.
    assert [due[tag].tag for tag in copies] == [p.tag for p in bench.sent if p.tag in copies]
    for tag, (data, user) in copies.items():
        cut = due[tag].data != data
        assert due[tag].data.startswith(data)
        assert user == (spec.PACKET_PART if cut else due[tag].user)
        assert not cut or (data and len(data) % BEAT == 0)
    assert bench.known == [(tag, due[tag].extent.word()) for tag in copies]
    seen = seen_whole(bench.sent, copies)
    nulls = {tag for tag, (_, null) in results.items() if null}
    assert nulls == set(ends) - seen and bench.unseen == len(nulls)
    for tag in seen:
        assert results[tag][0] == tag << 16 | len(due[tag].data) & 0xFFFF
    return nulls


async def fill(bench: Bench) -> int:
    """Send more packets than may be inside while none leaves; returns how many pass."""
    bench.keeps = True
    for number in range(INSIDE + 8):
        await bench.put(bytes([1]), elements.PART, Extent(1, 1, number, 0, 0, 0))
    await harness.step(bench.dut.clk, 10 * INSIDE)
    return bench.sink.count()


async def forgets(bench: Bench) -> None:
    """A reset in mid-packet forgets what is held."""
    dut = bench.dut
    await bench.start()
    for number in range(20):
        bench.copies.pause = True
        extent = Extent(1, 1, number, 0, 0, 0)
        await bench.put(random.randbytes(6 * BEAT), elements.WHOLE, extent)
        await harness.step(dut.clk, random.randrange(2, 12))
        await harness.reset(dut, 2)
        bench.forget()
        bench.copies.clear()
        bench.copies.pause = False
        await harness.step(dut.clk, 2)
        packet = await bench.put(random.randbytes(70), elements.WHOLE, extent)
        await bench.expect(packet.data)
        assert await bench.copy() == (packet.tag, packet.data, packet.user)
        await bench.silent()


def run(test_file: str, skips: bool, **options: str) -> None:
    """Simulate a tap of one kind with a small memory."""
    simulate(
        test_file,
        "fb_pe_tap",
        {"Skips": int(skips), "Beats": BEATS},
        filelist="rtl/pe/elements.f",
        **options,
    )
