# SPDX-License-Identifier: Apache-2.0
"""fb_store_reads: two who read, and one streamer."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.triggers import FallingEdge

import harness
from runner import simulate

SOURCES, DEPTH = 2, 8


class Bench:
    """Sources that ask, a streamer that answers in order, and who gets what."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.waiting: list[list[int]] = [[] for _ in range(SOURCES)]  # commands to be given
        self.asked: list[int] = []  # commands that the streamer took
        self.given: list[list[int]] = [[] for _ in range(SOURCES)]  # data, as their commands

    async def start(self, idle: float = 0.0, stall: float = 0.0) -> None:
        """Reset."""
        harness.clear(self.dut, "s_axis_*", "m_axis_rd_tready", "m_axis_rdcmd_tready")
        await harness.start(self.dut)
        cocotb.start_soon(self.run(idle, stall))

    async def run(self, idle: float, stall: float) -> None:
        """Play all sides, in each cycle anew."""
        dut, left = self.dut, 0
        while True:
            await harness.step(dut.clk)
            valid = data = 0
            for source, queue in enumerate(self.waiting):
                if queue:
                    valid |= 1 << source
                    data |= queue[0] << 512 * source
            dut.s_axis_rdcmd_tvalid.value, dut.s_axis_rdcmd_tdata.value = valid, data
            dut.m_axis_rdcmd_tready.value = int(random.random() >= stall)
            ready = sum((random.random() >= stall) << source for source in range(SOURCES))
            dut.m_axis_rd_tready.value = ready
            if self.asked and not left:
                left = random.randrange(1, 4)
            dut.s_axis_rd_tvalid.value = offered = int(left > 0 and random.random() >= idle)
            dut.s_axis_rd_tlast.value = int(left == 1)
            await FallingEdge(dut.clk)
            taken = int(dut.s_axis_rdcmd_tready.value) & valid
            assert taken in (0, 1, 2)
            if taken:
                assert dut.m_axis_rdcmd_tdata.value == self.waiting[taken - 1][0]
                self.asked.append(self.waiting[taken - 1].pop(0))
            to = int(dut.m_axis_rd_tvalid.value)
            assert to in ((0, 1, 2) if offered else (0,))
            if offered and dut.s_axis_rd_tready.value:
                assert to & ready
                if left == 1:
                    self.given[to - 1].append(self.asked.pop(0))
                left -= 1

    async def ends(self) -> None:
        """Wait until all is given."""
        for _ in range(20_000):
            await harness.step(self.dut.clk)
            if not any(self.waiting) and not self.asked:
                return
        raise TimeoutError("commands or data are stuck")


@cocotb.test()
@cocotb.parametrize(idle=[0.0, 0.5], stall=[0.0, 0.5])
async def data_find_back(dut, idle: float, stall: float) -> None:
    """Each source gets its own data, in the order in which it asked."""
    bench = Bench(dut)
    await bench.start(idle, stall)
    due: list[list[int]] = [[] for _ in range(SOURCES)]
    for _ in range(300):
        source = random.randrange(SOURCES)
        due[source].append(random.getrandbits(512))
        bench.waiting[source].append(due[source][-1])
        await harness.step(dut.clk, random.choice([0, 0, 1, 5]))
    await bench.ends()
    assert bench.given == due


@cocotb.test()
async def the_second_goes_first(dut) -> None:
    """Who has the least to ask does not wait behind who has always something."""
    bench = Bench(dut)
    await bench.start(idle=1.0)
    bench.waiting[0] = list(range(DEPTH - 2))
    await harness.step(dut.clk, 4)
    bench.waiting[1] = [1000]
    while bench.waiting[1]:
        await harness.step(dut.clk)
    assert len(bench.waiting[0]) >= DEPTH - 5


@cocotb.test()
async def so_many_under_way(dut) -> None:
    """More commands than it can remember wait."""
    bench = Bench(dut)
    await bench.start(idle=1.0)
    bench.waiting[0] = list(range(2 * DEPTH))
    await harness.step(dut.clk, 6 * DEPTH)
    assert len(bench.asked) == DEPTH


@harness.provocation
async def unasked(dut) -> None:
    """Data that were not requested."""
    bench = Bench(dut)
    await bench.start()
    await FallingEdge(dut.clk)
    dut.s_axis_rd_tvalid.value = 1
    await harness.step(dut.clk, 2)


@harness.provocation
async def withdraw(dut) -> None:
    """The stream checker is awake."""
    await Bench(dut).start()
    await harness.withdraw(dut.clk, dut.u_check_rdcmd)


def run(**options: object) -> None:
    """Build the module and simulate it."""
    simulate(__file__, "fb_store_reads", {"Sources": SOURCES, "Depth": DEPTH}, **options)


def test_reads() -> None:
    """Run the coroutines above."""
    run()


@pytest.mark.parametrize(
    ("testcase", "message"),
    [("unasked", "data_were_asked_for"), ("withdraw", "m_axis_rdcmd: valid fell")],
)
def test_assertion_fires(testcase: str, message: str) -> None:
    """Each assertion stops the simulation."""
    run(testcase=testcase, expect_failure=message)
