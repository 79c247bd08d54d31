# SPDX-License-Identifier: Apache-2.0
"""fb_pe_back_entry: each object that is read gets a tag, and is announced before its first beat."""

from __future__ import annotations

import random

import cocotb
from cocotb.triggers import FallingEdge, with_timeout
from cocotbext.axi import AxiStreamFrame, AxiStreamSink, AxiStreamSource

import elements
import harness
import structs
from extents import PATIENCE_US, word_stream
from runner import simulate

TAGS = structs.constant("INSIDE")
OBJECTS = TAGS // 2  # inside, at most


class Bench(elements.Bench):
    """The door between a reader and a chain of nothing; heads are taken as the test likes."""

    def __init__(self, dut) -> None:
        super().__init__(dut)
        self.tag = 0
        self.heads = word_stream(AxiStreamSource, dut, "s_axis_head")
        self.passed = word_stream(AxiStreamSink, dut, "m_axis_head")
        self.announced: list[tuple[int, dict]] = []  # tags, and what the elements are told
        self.times: list[int] = []  # of these
        self.open: set[int] = set()  # tags that are known, and have not come out
        cocotb.start_soon(self.watch())

    async def watch(self) -> None:
        """Follow what the elements are told; each knows of an object before it gets a beat."""
        dut = self.dut
        while True:
            await FallingEdge(dut.clk)
            now, dut.now.value = dut.now.value, random.getrandbits(64)
            if dut.rst.value == 1:
                self.open.clear()
                continue
            if dut.m_axis_object_tvalid.value == 1:
                tag = int(dut.m_axis_object_tid.value)
                assert tag in self.open, "a beat of an object that was not announced"
                if dut.m_axis_object_tready.value == 1 and dut.m_axis_object_tlast.value == 1:
                    self.open.remove(tag)
            if dut.extent_valid.value == 1:
                tag = int(dut.extent_tid.value)
                assert tag not in self.open
                self.open.add(tag)
                self.announced.append((tag, structs.unpack("extent_t", int(dut.extent.value))))
                self.times.append(int(now))

    async def read(self, data: bytes, user: int = elements.WHOLE) -> elements.Extent:
        """Queue an object and what it is."""
        extent = elements.any_extent(elements.WHOLE, len(data))
        part = random.getrandbits(1)
        offset = random.choice([0, random.getrandbits(64)]) if part else 0
        size = 0 if part else len(data)
        extent = extent._replace(size=size, offset=offset, epoch=0, back=1)
        self.tag %= TAGS
        tag = await self.send(data, user, extent)
        if part:
            self.due[-1] = (elements.PART, tag)
        number = extent.object | len(data) << 64
        beside = extent.nonce | extent.offset << 64 | extent.stream << 128 | part << 144
        self.heads.send_nowait(AxiStreamFrame([number], tuser=[beside]))
        return extent

    async def head(self) -> int:
        """Take number and length of the next object."""
        return (await with_timeout(self.passed.recv(), PATIENCE_US, "us")).tdata[0]

    def knows(self, extents: list[elements.Extent]) -> None:
        """Compare what the elements were told."""
        assert [tag for tag, _ in self.announced] == [at % TAGS for at in range(len(extents))]
        for (_, found), extent, time in zip(self.announced, extents, self.times, strict=True):
            expected = extent._asdict() | {"time_": time}
            del expected["time"]
            assert found == expected


@cocotb.test()
@cocotb.parametrize(idle=[0.0, 0.4], stall=[0.0, 0.4])
async def any_objects(dut, idle: float, stall: float) -> None:
    """Objects come out as they were read, those that could not be read to their end, too."""
    bench = Bench(dut)
    harness.stall(bench.heads, idle)
    harness.stall(bench.passed, stall)
    await bench.start(idle=idle, stall=stall)
    packets = [random.randbytes(elements.size()) for _ in range(3 * TAGS)]
    sent = [
        await bench.read(data, random.choice([elements.WHOLE, elements.PART])) for data in packets
    ]
    for data, extent in zip(packets, sent, strict=True):
        await bench.expect(data)
        assert await bench.head() == extent.object | len(data) << 64
    await bench.silent()
    bench.knows(sent)


@cocotb.test()
async def rate(dut) -> None:
    """A beat in every cycle, and one cycle for each object."""
    bench = Bench(dut)
    await bench.start()
    gone: list[int] = []
    valid, ready = dut.m_axis_object_tvalid, dut.m_axis_object_tready
    cocotb.start_soon(harness.record(dut.clk, valid, ready, gone))
    packets = [random.randbytes(elements.BEAT * beats) for beats in (5, 1, 1, 40)]
    for data in packets:
        await bench.read(data)
    for data in packets:
        await bench.expect(data)
    assert gone[-1] - gone[0] == 46 + 3


@cocotb.test()
async def no_more_than_there_are_tags(dut) -> None:
    """Objects wait while OBJECTS are inside, whose heads are not taken; one lets one in."""
    bench = Bench(dut)
    await bench.start()
    bench.passed.pause = True
    packets = [random.randbytes(3 * elements.BEAT) for _ in range(OBJECTS + 4)]
    sent = [await bench.read(data) for data in packets]
    await harness.step(dut.clk, 8 * OBJECTS)
    assert len(bench.announced) == bench.sink.count() == OBJECTS
    bench.passed.pause = False
    for data, extent in zip(packets, sent, strict=True):
        await bench.expect(data)
        assert await bench.head() == extent.object | len(data) << 64
    bench.knows(sent)


@cocotb.test()
async def reset_in_mid_object(dut) -> None:
    """What is inside is forgotten."""
    bench = Bench(dut)
    await bench.start()
    for _ in range(20):
        await bench.read(random.randbytes(20 * elements.BEAT))
        await harness.step(dut.clk, random.randrange(2, 15))
        await harness.reset(dut, 2)
        bench.forget()
        bench.heads.clear()
        bench.passed.clear()
        await harness.step(dut.clk, 2)
        bench.tag = 0
        data = random.randbytes(elements.size())
        extent = await bench.read(data)
        await bench.expect(data)
        assert await bench.head() == extent.object | len(data) << 64
        await bench.silent()
        await harness.reset(dut, 2)
        bench.tag = 0


def test_back_entry() -> None:
    """Run all coroutines."""
    simulate(__file__, "fb_pe_back_entry", filelist="rtl/pe/elements.f")
