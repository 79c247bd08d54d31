# SPDX-License-Identifier: Apache-2.0
"""fb_common_gray_sync: what arrives is what the counter was, in order."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge

import harness
from runner import simulate


async def start(dut, s_ps: int, m_ps: int) -> None:
    """Start both clocks and reset both sides."""
    dut.s_value.value = 0
    dut.s_rst.value = 1
    dut.m_rst.value = 1
    Clock(dut.s_clk, s_ps, unit="ps").start()
    Clock(dut.m_clk, m_ps, unit="ps").start()
    for clk in (dut.s_clk, dut.m_clk):
        await harness.step(clk, 4)
    dut.s_rst.value = 0
    dut.m_rst.value = 0


@cocotb.test()
@cocotb.parametrize(pair=[(3104, 3334), (1000, 7002), (7002, 1000)])
async def follows(dut, pair: tuple[int, int]) -> None:
    """The value arrives late, never runs ahead or back, and is right once the counter rests."""
    await start(dut, *pair)
    modulus = 2 ** len(dut.s_value)
    count = seen = 0

    async def watch() -> None:
        nonlocal seen
        while True:
            await FallingEdge(dut.m_clk)
            step = (int(dut.m_value.value) - seen) % modulus
            seen += step
            assert seen <= count, "a value that the counter never had"

    cocotb.start_soon(watch())
    for _ in range(500):
        await RisingEdge(dut.s_clk)
        # Never half the modulus ahead of what has arrived: so far a pointer does not run either.
        if random.random() < 0.7 and count - seen < modulus // 2:
            count += 1
            dut.s_value.value = count % modulus
    await harness.step(dut.s_clk, 2)
    await harness.step(dut.m_clk, 4)
    assert seen == count


@harness.provocation
async def jump(dut) -> None:
    """A value that jumps must be noticed."""
    await start(dut, 4000, 4000)
    dut.s_value.value = 2
    await harness.step(dut.s_clk, 3)


@pytest.mark.parametrize("width", [4, 9])
def test_gray(width: int) -> None:
    """Run all coroutines at this width."""
    simulate(__file__, "fb_common_gray_sync", {"Width": width})


def test_steps_by_one_fires() -> None:
    """Each assertion fires."""
    simulate(
        __file__,
        "fb_common_gray_sync",
        {"Width": 4},
        fires={"jump": "steps_by_one"},
    )
