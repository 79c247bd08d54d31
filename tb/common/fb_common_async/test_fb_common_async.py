# SPDX-License-Identifier: Apache-2.0
"""fb_common_async between two clocks of many ratios, against a Python queue."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge

from runner import simulate

# Picoseconds, s_clk first: equal, either one faster, nearly equal, far from it, and those of the
# card (MAC 322.265625 MHz, core 300 MHz).
RATIOS = [(4000, 4000), (3104, 3334), (4000, 4002), (4002, 4000), (1000, 9998), (9998, 1000)]


async def start(dut, s_ps: int, m_ps: int) -> None:
    """Start both clocks at these periods, out of phase, and reset both sides together."""
    dut.s_valid.value = 0
    dut.m_ready.value = 0
    dut.s_rst.value = 1
    dut.m_rst.value = 1
    Clock(dut.s_clk, s_ps, unit="ps").start()
    Clock(dut.m_clk, m_ps, unit="ps").start(start_high=random.random() < 0.5)
    slow = dut.s_clk if s_ps > m_ps else dut.m_clk
    for _ in range(4):
        await RisingEdge(slow)
    dut.s_rst.value = 0
    dut.m_rst.value = 0


async def fill(dut, words: list[int], share: float) -> None:
    """Write all words, offering one in this share of the free cycles."""
    await RisingEdge(dut.s_clk)
    for word in words:
        while random.random() >= share:
            dut.s_valid.value = 0
            await RisingEdge(dut.s_clk)
        dut.s_valid.value = 1
        dut.s_data.value = word
        await FallingEdge(dut.s_clk)
        while dut.s_ready.value == 0:
            await FallingEdge(dut.s_clk)
        await RisingEdge(dut.s_clk)
    dut.s_valid.value = 0


async def drain(dut, count: int, share: float) -> list[int]:
    """Read `count` words, ready in this share of the cycles."""
    found = []
    await RisingEdge(dut.m_clk)
    while len(found) < count:
        dut.m_ready.value = random.random() < share
        await FallingEdge(dut.m_clk)
        if dut.m_valid.value == 1 and dut.m_ready.value == 1:
            found.append(int(dut.m_data.value))
        await RisingEdge(dut.m_clk)
    dut.m_ready.value = 0
    return found


async def ratio(dut, s_ps: int, m_ps: int) -> None:
    """Every word arrives once and in order at this ratio, whichever side is slower."""
    await start(dut, s_ps, m_ps)
    width = len(dut.s_data)
    for fills, drains in [(1.0, 1.0), (1.0, 0.2), (0.2, 1.0), (0.6, 0.6)]:
        words = [random.getrandbits(width) for _ in range(200)]
        writer = cocotb.start_soon(fill(dut, words, fills))
        assert await drain(dut, len(words), drains) == words
        await writer
        for _ in range(8):
            await RisingEdge(dut.m_clk)
        assert dut.m_valid.value == 0


@cocotb.test()
@cocotb.parametrize(pair=RATIOS)
async def any_ratio(dut, pair: tuple[int, int]) -> None:
    """Run one ratio of the clocks."""
    await ratio(dut, *pair)


@cocotb.test()
async def any_clocks(dut) -> None:
    """Run a ratio of clocks drawn at random."""
    await ratio(dut, 2 * random.randrange(500, 3000), 2 * random.randrange(500, 3000))


@cocotb.test()
async def fills_up(dut) -> None:
    """It takes Depth words without a reader, not one more, and goes on when there is one."""
    await start(dut, 4000, 5000)
    depth = 2 ** (len(dut.write_q) - 1)
    words = list(range(1, depth + 2))
    writer = cocotb.start_soon(fill(dut, [word % 2 ** len(dut.s_data) for word in words], 1.0))
    for _ in range(3 * depth):
        await RisingEdge(dut.s_clk)
    await FallingEdge(dut.s_clk)
    assert dut.s_ready.value == 0 and int(dut.s_level.value) == depth
    found = await drain(dut, depth + 1, 1.0)
    assert found == [word % 2 ** len(dut.s_data) for word in words]
    await writer


@cocotb.test()
async def reset_while_filled(dut) -> None:
    """A reset of both sides empties it."""
    await start(dut, 3104, 3334)
    await fill(dut, [1, 0, 1], 1.0)
    dut.s_rst.value = 1
    dut.m_rst.value = 1
    for _ in range(4):
        await RisingEdge(dut.m_clk)
    dut.s_rst.value = 0
    dut.m_rst.value = 0
    for _ in range(8):
        await FallingEdge(dut.m_clk)
        assert dut.m_valid.value == 0


@pytest.mark.parametrize(("width", "depth"), [(1, 4), (29, 16), (8, 256)])
def test_async(width: int, depth: int) -> None:
    """Run all coroutines at this width and depth."""
    simulate(__file__, "fb_common_async", {"Width": width, "Depth": depth})
