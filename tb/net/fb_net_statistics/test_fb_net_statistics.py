# SPDX-License-Identifier: Apache-2.0
"""fb_net_statistics against a dictionary."""

from __future__ import annotations

import random

import cocotb
from cocotb.triggers import FallingEdge

import harness
from runner import simulate


class Bench:
    """Counts events in Python as well."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.rows = [[0, 0, 0, 0] for _ in range(16)]
        # All that the rows have been.
        self.history = [[row] for row in self.rows]
        self.share = 0.0

    async def start(self) -> None:
        """Reset, then let events come."""
        harness.clear(self.dut, "s_*", "req", "addr", "now")
        await harness.start(self.dut)
        cocotb.start_soon(self.events())

    async def events(self) -> None:
        """Drive events in a share of the cycles."""
        dut = self.dut
        while True:
            await harness.step(dut.clk)
            now, cause, count = (random.getrandbits(bits) for bits in (64, 4, 14))
            dut.s_valid.value = valid = random.random() < self.share
            dut.now.value, dut.s_cause.value, dut.s_bytes.value = now, cause, count
            if valid:
                row = self.rows[cause]
                self.rows[cause] = [row[0] + 1, row[1] + count, now, 0]
                self.history[cause].append(self.rows[cause])

    async def read(self, addr: int) -> int:
        """Read a word."""
        dut = self.dut
        dut.req.value = 1
        dut.addr.value = addr
        await harness.step(dut.clk)
        dut.req.value = 0
        dut.addr.value = random.getrandbits(6)
        await harness.until(dut.clk, dut.ack, limit=300)
        found = int(dut.data.value)
        await harness.step(dut.clk)
        return found

    async def check(self) -> None:
        """Read everything while nothing comes."""
        self.share = 0.0
        await harness.step(self.dut.clk, 3)
        for cause, row in enumerate(self.rows):
            assert [await self.read(4 * cause + word) for word in range(4)] == row


@cocotb.test()
async def counts(dut) -> None:
    """An event in every cycle or seldom, each counts."""
    bench = Bench(dut)
    await bench.start()
    await bench.check()
    for share in (1.0, 0.5, 0.1):
        bench.share = share
        await harness.step(dut.clk, 300)
        await bench.check()


@cocotb.test()
async def reads_between_events(dut) -> None:
    """While events go on, bytes and time are those of the frames read; nothing goes back."""
    bench = Bench(dut)
    await bench.start()
    bench.share = 0.6
    before = 0
    for _ in range(300):
        cause = random.choice((3, 11))
        frames, count, last = [await bench.read(4 * cause + word) for word in range(3)]
        assert frames <= bench.rows[cause][0]
        assert [frames, count, last, 0] in bench.history[cause]
        if cause == 3:
            assert before <= frames
            before = frames
        await FallingEdge(dut.clk)
        assert dut.ack.value == 0
    assert before


@cocotb.test()
async def reset_clears(dut) -> None:
    """All is zero after a reset."""
    bench = Bench(dut)
    await bench.start()
    bench.share = 1.0
    await harness.step(dut.clk, 100)
    bench.share = 0.0
    await harness.step(dut.clk, 2)
    await harness.reset(dut, 1)
    bench.rows = [[0, 0, 0, 0] for _ in range(16)]
    await bench.check()


def test_tally() -> None:
    """Run all coroutines."""
    simulate(__file__, "fb_net_statistics")
