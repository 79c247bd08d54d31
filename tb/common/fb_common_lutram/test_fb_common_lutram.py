# SPDX-License-Identifier: Apache-2.0
"""fb_common_lutram against a Python list."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

import harness
from runner import simulate


async def start(dut) -> None:
    """Start the clock; the module has no reset."""
    dut.we.value = 0
    dut.waddr.value = 0
    dut.wdata.value = 0
    dut.raddr.value = 0
    cocotb.start_soon(Clock(dut.clk, harness.PERIOD_NS, unit="ns").start())
    await harness.step(dut.clk, 2)


@cocotb.test()
async def starts_as_zero(dut) -> None:
    """Every word reads as zero before it is written."""
    await start(dut)
    for address in range(len(dut.store)):
        dut.raddr.value = address
        await FallingEdge(dut.clk)
        assert dut.rdata.value == 0


@cocotb.test()
async def random_accesses(dut) -> None:
    """A write is seen from the next cycle on, at any distance from the read."""
    await start(dut)
    depth = len(dut.store)
    words = [int(word.value) for word in dut.store]
    for _ in range(4 * depth + 400):
        await harness.step(dut.clk)
        write, at, read = random.random() < 0.6, random.randrange(depth), random.randrange(depth)
        if random.random() < 0.3:
            read = at
        value = random.getrandbits(len(dut.wdata))
        dut.we.value, dut.waddr.value, dut.wdata.value, dut.raddr.value = write, at, value, read
        await FallingEdge(dut.clk)
        assert dut.rdata.value == words[read]
        if write:
            words[at] = value


@harness.provocation
async def write_beyond(dut) -> None:
    """A write past the last word must be noticed."""
    await start(dut)
    dut.waddr.value = len(dut.store)
    dut.we.value = 1
    await harness.step(dut.clk, 2)


@pytest.mark.parametrize(("width", "depth"), [(1, 2), (37, 48), (20, 64), (8, 1024)])
def test_ram(width: int, depth: int) -> None:
    """Run all coroutines at this width and depth."""
    simulate(__file__, "fb_common_lutram", {"Width": width, "Depth": depth})


def test_write_in_range_fires() -> None:
    """Each assertion fires."""
    simulate(
        __file__,
        "fb_common_lutram",
        {"Width": 37, "Depth": 48},
        fires={"write_beyond": "write_in_range"},
    )
