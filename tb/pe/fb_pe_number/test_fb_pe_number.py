# SPDX-License-Identifier: Apache-2.0
"""fb_pe_number: the n-th result belongs to the n-th packet."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.triggers import with_timeout
from cocotbext.axi import AxiStreamFrame, AxiStreamSink, AxiStreamSource

import harness
from extents import word_stream
from runner import simulate

DEPTH = 8


class Bench:
    """Packets that end, results in and out."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.source = word_stream(AxiStreamSource, dut, "s_axis_result")
        self.sink = word_stream(AxiStreamSink, dut, "m_axis_result")

    async def start(self, stall: float = 0.0) -> None:
        """Reset."""
        harness.clear(self.dut, "ends", "whole", "stream", "object")
        self.sink.set_pause_generator(harness.stalls(stall))
        await harness.start(self.dut)

    async def packet(self, whole: bool = True) -> int:
        """End a packet; returns its stream above its object."""
        number = random.getrandbits(80)
        self.dut.stream.value, self.dut.object.value = number >> 64, number & 2**64 - 1
        self.dut.whole.value, self.dut.ends.value = int(whole), 1
        await harness.step(self.dut.clk)
        self.dut.ends.value = 0
        return number

    def result(self) -> int:
        """Queue a result; returns what stands above the number when it has one."""
        class_, score = random.getrandbits(16), random.getrandbits(32)
        self.source.send_nowait(AxiStreamFrame([class_ << 32 | score]))
        return score << 16 | class_

    async def next(self) -> int:
        """Take a result with its number."""
        return (await with_timeout(self.sink.recv(), 10, "us")).tdata[0]


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.3], early=[0, 1])
async def any_order(dut, stall: float, early: int) -> None:
    """Results come before or behind the ends of their packets; those of parts are thrown away."""
    bench = Bench(dut)
    await bench.start(stall)
    due = []
    for turn in range(300):
        whole = random.random() < 0.8
        result = bench.result() if early else 0
        await harness.step(dut.clk, random.randrange(4))
        number = await bench.packet(whole)
        result = result or bench.result()
        if whole:
            due.append(result << 80 | number)
        # So few that none is forgotten, whatever the sink does.
        if turn % (DEPTH // 2) == 0:
            for word in due:
                assert await bench.next() == word
            due = []
    for word in due:
        assert await bench.next() == word
    await harness.step(dut.clk, 10)
    assert bench.sink.empty()


@cocotb.test()
async def results_fail_to_come(dut) -> None:
    """Packets do not wait: the oldest are forgotten, and results that come for them later."""
    bench = Bench(dut)
    await bench.start()
    numbers = [await bench.packet() for _ in range(3 * DEPTH)]
    await harness.step(dut.clk, 3)
    results = [bench.result() for _ in numbers]
    kept = DEPTH - 2
    for result, number in list(zip(results, numbers, strict=True))[-kept:]:
        assert await bench.next() == result << 80 | number
    await harness.step(dut.clk, 30)
    assert bench.sink.empty()


@cocotb.test()
async def nobody_takes_results(dut) -> None:
    """Packets do not wait for that either, and what comes later still has its own number."""
    bench = Bench(dut)
    await bench.start()
    bench.sink.pause = True
    pairs = set()
    for _ in range(3 * DEPTH):
        number = await bench.packet()
        pairs.add(bench.result() << 80 | number)
        await harness.step(dut.clk, 2)
    bench.sink.pause = False
    await harness.step(dut.clk, 4 * DEPTH)
    found = [bench.sink.recv_nowait().tdata[0] for _ in range(bench.sink.count())]
    assert len(found) >= DEPTH - 1 and len(set(found)) == len(found) and pairs.issuperset(found)


@cocotb.test()
async def reset_forgets(dut) -> None:
    """Packets and results of before are gone."""
    bench = Bench(dut)
    await bench.start()
    for _ in range(2 * DEPTH):
        await bench.packet()
    await harness.reset(dut)
    number = await bench.packet()
    result = bench.result()
    assert await bench.next() == result << 80 | number


@harness.provocation
async def packets_without_end(dut) -> None:
    """One more than there is room for, pushed past what makes room."""
    bench = Bench(dut)
    await bench.start()
    dut.u_packets.level_q.value = DEPTH
    await bench.packet()


@harness.provocation
async def withdraw(dut) -> None:
    """The stream checker is awake."""
    await Bench(dut).start()
    await harness.withdraw(dut.clk, dut.u_check)


def run(**options: object) -> None:
    """Build the module and simulate it."""
    simulate(__file__, "fb_pe_number", {"Depth": DEPTH}, **options)


def test_number() -> None:
    """Run all coroutines."""
    run()


@pytest.mark.parametrize(
    ("testcase", "message"),
    [("packets_without_end", "packet_has_room"), ("withdraw", "m_axis_result: valid fell")],
)
def test_assertion_fires(testcase: str, message: str) -> None:
    """Each assertion stops the simulation."""
    run(testcase=testcase, expect_failure=message)
