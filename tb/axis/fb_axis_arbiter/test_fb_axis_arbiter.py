# SPDX-License-Identifier: Apache-2.0
"""fb_axis_arbiter against its rule in Python: whole packets, by priority or in turns."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.triggers import FallingEdge

import harness
from runner import simulate

WIDTH = 16


class Bench:
    """Sources with packets of numbered beats, all that a cycle decides seen in its middle."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.sources = len(dut.s_valid)
        self.fair, self.ahead = int(dut.Fair.value), int(dut.Ahead.value)
        self.waiting: list[list[list[int]]] = [[] for _ in range(self.sources)]
        self.number = 0
        self.out: list[tuple[int, int]] = []  # cycle and word of each beat
        self.began: list[int] = []  # sources, as the module says
        self.open: int | None = None  # who has begun a packet
        self.last = 0  # who went last of those that take turns
        self.idle = self.stall = 0.0
        self.mask = 0.0

    def send(self, source: int, beats: int) -> None:
        """Queue a packet."""
        words = [source << 12 | (self.number + beat) & 0xFFF for beat in range(beats)]
        self.number += beats
        self.waiting[source].append(words)

    def due(self, valid: int, may: int) -> int | None:
        """Say who begins where these want to and may."""
        wants = [at for at in range(self.sources) if (valid & may) >> at & 1]
        if not wants or wants[0] < self.fair:
            return wants[0] if wants else None
        return next((at for at in wants if at > self.last), wants[0])

    async def run(self, cycles: int) -> None:
        """Drive and follow; a source that is valid stays so until it is taken."""
        dut, valid = self.dut, 0
        for _ in range(cycles):
            for at, packets in enumerate(self.waiting):
                if packets and random.random() >= self.idle:
                    valid |= 1 << at
            may = sum(int(random.random() >= self.mask) << at for at in range(self.sources))
            heads = [packets[0] if packets else [0xDEAD] for packets in self.waiting]
            dut.s_valid.value, dut.may_begin.value = valid, may
            dut.s_data.value = sum(head[0] << WIDTH * at for at, head in enumerate(heads))
            dut.s_last.value = sum((len(head) == 1) << at for at, head in enumerate(heads))
            dut.m_ready.value = int(random.random() >= self.stall)
            await FallingEdge(dut.clk)
            valid &= ~self.follow(valid, may)
            await harness.step(dut.clk)

    def follow(self, valid: int, may: int) -> int:
        """Compare a cycle with the rule; returns the sources whose beats went."""
        dut = self.dut
        chosen = self.due(valid, may) if self.open is None else None
        assert int(dut.begins.value) == (chosen is not None)
        goes = self.open
        if chosen is not None:
            self.began.append(chosen)
            assert int(dut.source.value) == chosen
            self.open = chosen
            if chosen >= self.fair:
                self.last = chosen
            goes = None if self.ahead else chosen
        shows = goes is not None and valid >> goes & 1
        assert int(dut.m_valid.value) == int(shows)
        ready = int(dut.m_ready.value)
        assert int(dut.s_ready.value) == (ready << goes if goes is not None else 0)
        if not shows or not ready:
            return 0
        word = self.waiting[goes][0].pop(0)
        ends = not self.waiting[goes][0]
        assert (int(dut.m_data.value), int(dut.m_last.value)) == (word, int(ends))
        self.out.append((harness.cycle(), word))
        if ends:
            self.waiting[goes].pop(0)
            self.open = None
        return 1 << goes


async def start(dut) -> Bench:
    """Reset with nothing to send."""
    harness.clear(dut, "s_valid", "may_begin", "m_ready")
    bench = Bench(dut)
    await harness.start(dut)
    return bench


@cocotb.test()
@cocotb.parametrize(idle=[0.0, 0.4], stall=[0.0, 0.4], mask=[0.0, 0.5])
async def any_packets(dut, idle: float, stall: float, mask: float) -> None:
    """Each cycle is as the rule says, and nothing is lost."""
    bench = await start(dut)
    bench.idle, bench.stall, bench.mask = idle, stall, mask
    for _ in range(40):
        for source in range(bench.sources):
            for _ in range(random.randrange(4)):
                bench.send(source, random.choice([1, 1, 2, random.randrange(1, 12)]))
        await bench.run(random.randrange(60))
    bench.idle = bench.stall = bench.mask = 0.0
    await bench.run(4000)
    assert not any(bench.waiting) and len(bench.out) == bench.number
    assert set(bench.began) == set(range(bench.sources))


@cocotb.test()
async def turns(dut) -> None:
    """Where all always want to, those that take turns have as many packets each."""
    bench = await start(dut)
    for source in range(bench.sources):
        for _ in range(30):
            bench.send(source, 2)
    await bench.run(5 * 20)
    began = [source for source in bench.began if source >= bench.fair]
    if bench.fair == 0:
        counts = [began.count(source) for source in range(bench.sources)]
        assert max(counts) - min(counts) <= 1
    else:
        assert bench.began[:30] == [0] * 30


@cocotb.test()
async def rate(dut) -> None:
    """A beat in every cycle, with `Ahead` but one for each packet."""
    bench = await start(dut)
    for _ in range(5):
        bench.send(0, 4)
    await bench.run(40)
    cycles = [cycle for cycle, _ in bench.out]
    assert cycles[-1] - cycles[0] == 19 + 4 * bench.ahead


@cocotb.test()
async def reset_in_mid_packet(dut) -> None:
    """A reset forgets who was chosen."""
    bench = await start(dut)
    for _ in range(10):
        bench.send(bench.sources - 1, 20)
        await bench.run(random.randrange(2, 12))
        harness.clear(dut, "s_valid")
        await harness.reset(dut, 2)
        bench.open, bench.last, bench.waiting = None, 0, [[] for _ in range(bench.sources)]
        bench.send(0, 3)
        await bench.run(8)
        assert not any(bench.waiting)


@pytest.mark.parametrize(
    ("sources", "fair", "ahead"), [(2, 0, 0), (3, 1, 0), (3, 3, 1), (4, 2, 1), (4, 0, 1)]
)
def test_arbiter(sources: int, fair: int, ahead: int) -> None:
    """Run all coroutines."""
    simulate(
        __file__,
        "fb_axis_arbiter",
        {"Sources": sources, "Width": WIDTH, "Fair": fair, "Ahead": ahead},
    )
