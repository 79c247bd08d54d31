# SPDX-License-Identifier: Apache-2.0
"""fb_common_value_cdc: a value that stands long enough arrives, and never a mixture of two."""

from __future__ import annotations

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer

import harness
from runner import simulate

WIDTH = 64


@cocotb.test()
@cocotb.parametrize(s_ps=[1300, 4000, 9700], m_ps=[1300, 4100, 9600])
async def values(dut, s_ps: int, m_ps: int) -> None:
    """What is seen is one of the values that there were; the last one arrives in time."""
    dut.s_rst.value = dut.m_rst.value = 1
    dut.s_value.value = 0
    Clock(dut.s_clk, s_ps, unit="ps").start()
    Clock(dut.m_clk, m_ps, unit="ps").start()
    slower = max(s_ps, m_ps)
    await Timer(8 * slower, unit="ps")
    dut.s_rst.value = dut.m_rst.value = 0
    given, seen = {0}, set()

    async def watch() -> None:
        while True:
            await FallingEdge(dut.m_clk)
            seen.add(int(dut.m_value.value))

    cocotb.start_soon(watch())
    for _ in range(40):
        for _ in range(random.choice([1, 1, 5])):
            value = random.getrandbits(WIDTH)
            given.add(value)
            await harness.step(dut.s_clk)
            dut.s_value.value = value
        await harness.step(dut.s_clk)
        await Timer(14 * slower, unit="ps")
        assert dut.m_value.value == value
    assert seen <= given and len(seen) > 30


def test_value_cdc() -> None:
    """Run all coroutines."""
    simulate(__file__, "fb_common_value_cdc", {"Width": WIDTH})
