# SPDX-License-Identifier: Apache-2.0
"""fb_common_reset: rises without a clock, falls with it."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge, Timer

from runner import simulate

PERIOD_PS = 3334


@cocotb.test()
async def rises_without_a_clock(dut) -> None:
    """A clock that stands does not keep a domain out of reset."""
    dut.clk.value = 0
    dut.rst_async.value = 0
    await Timer(10, unit="ns")
    dut.rst_async.value = 1
    await Timer(1, unit="ns")
    assert dut.rst.value == 1
    dut.rst_async.value = 0
    await Timer(10, unit="ns")
    assert dut.rst.value == 1, "without an edge it stays in reset"


@cocotb.test()
async def falls_with_the_clock(dut) -> None:
    """However long the pulse, and wherever it ends, the domain has Stages edges in reset."""
    dut.rst_async.value = 0
    Clock(dut.clk, PERIOD_PS, unit="ps").start()
    stages = int(dut.Stages.value)
    await ClockCycles(dut.clk, 2 * stages)
    assert dut.rst.value == 0
    for _ in range(40):
        # Not at an edge of the clock, where either order is right.
        await RisingEdge(dut.clk)
        await Timer(random.randrange(100, PERIOD_PS - 100), unit="ps")
        dut.rst_async.value = 1
        await Timer(random.choice([20, 10 * PERIOD_PS]), unit="ps")
        assert dut.rst.value == 1
        await FallingEdge(dut.clk)
        await Timer(random.randrange(100, PERIOD_PS // 2 - 100), unit="ps")
        dut.rst_async.value = 0
        for edge in range(stages):
            assert dut.rst.value == 1, edge
            await RisingEdge(dut.clk)
        await Timer(10, unit="ps")
        assert dut.rst.value == 0
        await ClockCycles(dut.clk, random.randrange(1, 5))


@pytest.mark.parametrize("stages", [2, 8])
def test_reset(stages: int) -> None:
    """Run all coroutines with this many flip-flops."""
    simulate(__file__, "fb_common_reset", {"Stages": stages})
