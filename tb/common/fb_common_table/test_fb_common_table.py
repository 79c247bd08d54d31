# SPDX-License-Identifier: Apache-2.0
"""fb_common_table against a Python list."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.clock import Clock

import harness
from runner import simulate


@cocotb.test()
async def random_accesses(dut) -> None:
    """Words start as zero; the next read sees what is written, that of its cycle something else."""
    harness.clear(dut, "we", "*addr", "wdata")
    cocotb.start_soon(Clock(dut.clk, harness.PERIOD_NS, unit="ns").start())
    await harness.step(dut.clk, 2)
    depth = len(dut.store)
    words, due = [0] * depth, [None, None]
    mask = (1 << len(dut.wdata)) - 1
    places = random.sample(range(depth), min(depth, 64))
    for _ in range(4000):
        write, at, read = random.random() < 0.6, random.choice(places), random.choice(places)
        if random.random() < 0.3:
            read = at
        value = random.getrandbits(len(dut.wdata))
        dut.we.value, dut.waddr.value, dut.wdata.value, dut.raddr.value = write, at, value, read
        await harness.step(dut.clk)
        due.append(words[read] ^ (mask if write and at == read else 0))
        due_now = due.pop(0)
        assert due_now is None or dut.rdata.value == due_now
        if write:
            words[at] = value


@pytest.mark.parametrize(("width", "depth"), [(1, 2), (37, 64), (11, 1024), (33, 4096)])
def test_table(width: int, depth: int) -> None:
    """Run all coroutines at this width and depth."""
    simulate(__file__, "fb_common_table", {"Width": width, "Depth": depth})
