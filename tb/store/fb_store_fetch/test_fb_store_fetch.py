# SPDX-License-Identifier: Apache-2.0
"""fb_store_fetch between cocotbext-axi's streams: a streamer to read from, and who sends."""

from __future__ import annotations

import random

import cocotb
from cocotb.triggers import FallingEdge, Timer, with_timeout
from cocotbext.axi import AxiStreamSink

import harness
from extents import PATIENCE_US, Reader, size, word_stream
from forebay import spec
from runner import simulate

DEPTH = 16


class Bench:
    """Orders, a streamer that reads, and who takes objects."""

    def __init__(self, dut, fail: float = 0.0) -> None:
        self.dut = dut
        self.reader = Reader(dut, fail)
        self.heads = word_stream(AxiStreamSink, dut, "m_axis_head")
        self.objects = harness.axi_stream(AxiStreamSink, dut, "m_axis_object")
        self.ordered: list[tuple[int, ...]] = []
        self.done = self.failed = 0

    async def start(self) -> None:
        """Reset without an order."""
        self.dut.order_valid.value = 0
        await harness.start(self.dut)
        cocotb.start_soon(self.count())

    async def count(self) -> None:
        """Count the ends that the module reports."""
        while True:
            await FallingEdge(self.dut.clk)
            self.done += int(self.dut.done.value)
            self.failed += int(self.dut.failed.value)
            assert self.dut.done.value or not self.dut.failed.value

    async def order(self, length: int) -> None:
        """Give an order, as soon as there is room."""
        dut = self.dut
        beside = (random.getrandbits(bits) for bits in (64, 1, 16, 64, 64))
        self.ordered.append((random.getrandbits(64), length, *beside))
        names = (
            "order_address",
            "order_bytes",
            "order_object",
            "order_part",
            "order_stream",
            "order_offset",
            "order_nonce",
        )
        for name, value in zip(names, self.ordered[-1], strict=True):
            getattr(dut, name).value = value
        dut.order_valid.value = 1
        await FallingEdge(dut.clk)
        while dut.order_ready.value == 0:
            await FallingEdge(dut.clk)
        await harness.step(dut.clk)
        dut.order_valid.value = 0

    async def check(self) -> None:
        """Take an object for each order: what was read, and the word beside it."""
        for place, (_, length, number, part, stream, offset, nonce) in enumerate(self.ordered):
            packet = await with_timeout(self.objects.recv(compact=False), PATIENCE_US, "us")
            word = await with_timeout(self.heads.recv(), PATIENCE_US, "us")
            assert word.tdata[0] == number | length << 64
            assert word.tuser == nonce | offset << 64 | stream << 128 | part << 144
            kept = list(packet.tkeep or [1] * len(packet.tdata))
            count = sum(kept)
            assert kept == [1] * count + [0] * (len(kept) - count)
            data, code = self.reader.sent[place]
            found = bytes(packet.tdata[:count])
            users = packet.tuser if isinstance(packet.tuser, list) else [packet.tuser]
            assert users[-1] == (spec.PACKET_PART if code else spec.PACKET_ENDS_OBJECT)
            # Where the read failed its code comes behind what there was of it.
            assert found == data + (bytes([code]) if code else b"")
        assert self.reader.commands == [order[:2] for order in self.ordered]
        await harness.step(self.dut.clk, 10)
        assert self.dut.busy.value == 0 and self.dut.waiting.value == 0
        assert self.heads.empty() and self.objects.empty()
        assert self.done == len(self.ordered)
        assert self.failed == sum(code != 0 for _, code in self.reader.sent)


@cocotb.test()
@cocotb.parametrize(idle=[0.0, 0.4], stall=[0.0, 0.4])
async def any_objects(dut, idle: float, stall: float) -> None:
    """Objects come as they were ordered; a read that fails ends early, with the code."""
    bench = Bench(dut, fail=0.3)
    harness.stall(bench.reader.data, idle)
    for each in (bench.reader.sink, bench.heads, bench.objects):
        harness.stall(each, stall)
    await bench.start()
    for _ in range(40):
        await bench.order(size(1500))
        while random.random() < idle:
            await harness.step(dut.clk, 10)
    await bench.check()
    assert 0 < bench.failed < bench.done


@cocotb.test()
async def orders_wait(dut) -> None:
    """The table fills up while the streamer takes no command; the next request finds no room."""
    bench = Bench(dut)
    await bench.start()
    bench.reader.sink.pause = True
    for _ in range(DEPTH):
        await bench.order(64)
    await FallingEdge(dut.clk)
    assert dut.order_ready.value == 0 and dut.waiting.value == DEPTH and dut.busy.value == 0
    bench.reader.sink.pause = False
    for _ in range(DEPTH):
        await bench.order(64)
    await bench.check()


@cocotb.test()
async def ahead(dut) -> None:
    """Commands go ahead of the data; who takes the words at once does not end the objects."""
    bench = Bench(dut)
    await bench.start()
    bench.reader.silent = True
    for _ in range(2 * DEPTH):
        await bench.order(1000)
    await harness.step(dut.clk, 20)
    assert len(bench.reader.commands) == bench.heads.count() == 2 * DEPTH
    assert dut.busy.value == 1 and bench.done == 0
    bench.reader.silent = False
    bench.reader.answer()
    await bench.check()


@cocotb.test()
async def nobody_takes_words(dut) -> None:
    """A word that is not taken holds up commands, not data, and nothing is lost."""
    bench = Bench(dut)
    await bench.start()
    bench.heads.pause = True
    for _ in range(2 * DEPTH):
        await bench.order(64)
    await harness.step(dut.clk, 10 * DEPTH)
    assert len(bench.reader.commands) == DEPTH and dut.waiting.value == DEPTH
    assert dut.busy.value == 0 and bench.objects.count() == DEPTH
    bench.heads.pause = False
    await bench.check()


@cocotb.test()
async def latency(dut) -> None:
    """An order is a command in the next cycle, and a command a cycle goes out."""
    bench = Bench(dut)
    await bench.start()
    out: list[int] = []
    valid, ready = dut.m_axis_rdcmd_tvalid, dut.m_axis_rdcmd_tready
    cocotb.start_soon(harness.record(dut.clk, valid, ready, out))
    began = harness.cycle()
    for _ in range(8):
        await bench.order(1)
    await bench.check()
    assert out == list(range(began + 1, began + 9))


@cocotb.test()
async def reset_in_mid_object(dut) -> None:
    """A reset forgets orders, words and objects."""
    bench = Bench(dut)
    await bench.start()
    for _ in range(10):
        for _ in range(3):
            await bench.order(size(2000))
        await harness.step(dut.clk, random.randrange(60))
        await harness.reset(dut, 2)
        for each in (bench.heads, bench.objects):
            each.clear()
        bench.reader.forget()
        bench.ordered.clear()
        await harness.step(dut.clk, 2)
        bench.done = bench.failed = 0
        for _ in range(2):
            await bench.order(size(2000))
        await bench.check()


@harness.provocation
async def stray_data(dut) -> None:
    """Data that were not requested must be noticed."""
    bench = Bench(dut)
    await bench.start()
    bench.reader.send(b"stray", 0)
    await Timer(50, "ns")


@harness.provocation
async def too_many_under_way(dut) -> None:
    """More objects under way than the streamer can hold must be noticed."""
    await Bench(dut).start()
    await FallingEdge(dut.clk)
    dut.under_way_q.value = 2048
    await harness.step(dut.clk, 2)


@harness.provocation
async def withdraw(dut) -> None:
    """The stream checker of the commands is awake."""
    await Bench(dut).start()
    await harness.withdraw(dut.clk, dut.u_check_rdcmd)


@harness.provocation
async def withdraw_object(dut) -> None:
    """So is that of the objects."""
    await Bench(dut).start()
    await harness.withdraw(dut.clk, dut.u_check_object)


def run(**options: object) -> None:
    """Build the module and simulate it."""
    simulate(__file__, "fb_store_fetch", {"Depth": DEPTH}, **options)


def test_fetch() -> None:
    """Run the coroutines above."""
    run()


def test_assertion_fires() -> None:
    """Each assertion fires."""
    run(
        fires={
            "stray_data": "data_were_ordered",
            "too_many_under_way": "under_way_in_range",
            "withdraw": "m_axis_rdcmd: valid fell",
            "withdraw_object": "m_axis_object: valid fell",
        }
    )
