# SPDX-License-Identifier: Apache-2.0
"""fb_common_skid against a Python queue."""

from __future__ import annotations

import random
from collections import deque

import cocotb
import pytest
from cocotb.triggers import FallingEdge

import harness
from runner import simulate


async def start(dut) -> None:
    """Reset with idle inputs."""
    dut.s_valid.value = 0
    dut.m_ready.value = 0
    await harness.start(dut)


async def run(dut, expected: deque[int], cycles: int, fill: float, drain: float) -> int:
    """Drive both sides at random for some cycles, compare each cycle, and count words read."""
    moved = 0
    for _ in range(cycles):
        await harness.step(dut.clk)
        if dut.s_valid.value == 0 or dut.s_ready.value == 1:
            dut.s_valid.value = random.random() < fill
            dut.s_data.value = random.getrandbits(len(dut.s_data))
        dut.m_ready.value = random.random() < drain
        await FallingEdge(dut.clk)
        if dut.s_valid.value == 1 and dut.s_ready.value == 1:
            expected.append(int(dut.s_data.value))
        if dut.m_valid.value == 1:
            # Without stages a word may stand on both sides.
            assert dut.m_data.value == (expected[0] if expected else dut.s_data.value)
        if dut.m_valid.value == 1 and dut.m_ready.value == 1:
            expected.popleft()
            moved += 1
        assert len(expected) <= 2 * int(dut.Stages.value)
    return moved


@cocotb.test()
async def random_traffic(dut) -> None:
    """Order holds under every mixture of filling and draining, and after a reset between."""
    await start(dut)
    for _ in range(12):
        expected: deque[int] = deque()
        for _ in range(4):
            fill, drain = random.choice([0.1, 0.5, 0.9, 1.0]), random.choice([0.1, 0.5, 0.9, 1.0])
            await run(dut, expected, 100, fill, drain)
        dut.s_valid.value = 0
        await harness.reset(dut)


@cocotb.test()
async def rate_and_latency(dut) -> None:
    """A word a cycle passes, each Stages cycles after it came."""
    await start(dut)
    stages = int(dut.Stages.value)
    assert await run(dut, deque(), 100 + stages, 1.0, 1.0) == 100


@cocotb.test()
async def holds_two_a_stage(dut) -> None:
    """A receiver that stops is known only from a register: two words are taken a stage."""
    await start(dut)
    expected: deque[int] = deque()
    await run(dut, expected, 20, 1.0, 0.0)
    assert len(expected) == 2 * int(dut.Stages.value)
    assert dut.s_ready.value == 0


@pytest.mark.parametrize("stages", [0, 1, 3])
def test_skid(stages: int) -> None:
    """Run all coroutines with this many stages."""
    simulate(__file__, "fb_common_skid", {"Width": 13, "Stages": stages})
