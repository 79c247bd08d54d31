# SPDX-License-Identifier: Apache-2.0
"""fb_common_fifo_bram against a Python queue."""

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
    harness.clear(dut, "s_valid", "m_ready", "clear")
    await harness.start(dut)


async def run(
    dut, expected: deque[int], cycles: int, fill: float, drain: float, clear: float = 0.0
) -> None:
    """Drive both sides at random for some cycles, and compare each cycle."""
    width, depth = len(dut.s_data), 2 ** (len(dut.level) - 1)
    for _ in range(cycles):
        await harness.step(dut.clk)
        if dut.s_valid.value == 0 or dut.s_ready.value == 1:
            dut.s_valid.value = random.random() < fill
            dut.s_data.value = random.getrandbits(width)
        dut.m_ready.value = random.random() < drain
        dut.clear.value = random.random() < clear
        await FallingEdge(dut.clk)
        offered = dut.m_valid.value == 1
        assert dut.level.value == len(expected) - offered
        assert dut.s_ready.value == (len(expected) - offered < depth)
        if offered:
            assert dut.m_data.value == expected[0]
        if offered and dut.m_ready.value == 1:
            expected.popleft()
        if dut.clear.value == 1:
            kept = offered and dut.m_ready.value == 0
            while len(expected) > kept:
                expected.pop()
        elif dut.s_valid.value == 1 and dut.s_ready.value == 1:
            expected.append(int(dut.s_data.value))


@cocotb.test()
async def random_traffic(dut) -> None:
    """Order, level and flags hold under every mixture of filling and draining."""
    await start(dut)
    expected: deque[int] = deque()
    for _ in range(12):
        fill, drain = random.choice([0.1, 0.5, 0.9, 1.0]), random.choice([0.1, 0.5, 0.9, 1.0])
        await run(dut, expected, 200, fill, drain)
    await run(dut, expected, 100, 1.0, 0.0)
    await run(dut, expected, 2000, 0.0, 1.0)
    assert not expected


@cocotb.test()
async def full_rate(dut) -> None:
    """A word a cycle passes, and one is on offer two cycles after it came."""
    await start(dut)
    await harness.step(dut.clk)
    dut.s_valid.value = 1
    dut.m_ready.value = 1
    for _ in range(2):
        await FallingEdge(dut.clk)
        assert dut.m_valid.value == 0
    for _ in range(100):
        await FallingEdge(dut.clk)
        assert dut.m_valid.value == 1 and dut.s_ready.value == 1


@cocotb.test()
async def reset_while_filled(dut) -> None:
    """A reset empties it at any time."""
    await start(dut)
    for _ in range(10):
        await run(dut, deque(), random.randrange(1, 40), 0.8, 0.3)
        dut.s_valid.value = 0
        await harness.reset(dut, 1)


@cocotb.test()
async def clear_keeps_the_offer(dut) -> None:
    """A clear forgets all words but one that is on offer and not taken."""
    await start(dut)
    expected: deque[int] = deque()
    for _ in range(12):
        fill, drain = random.choice([0.5, 0.9, 1.0]), random.choice([0.1, 0.5, 1.0])
        await run(dut, expected, 100, fill, drain, clear=random.choice([0.05, 0.5]))
    dut.clear.value = 0
    await run(dut, expected, 2000, 0.0, 1.0)
    assert not expected


@harness.provocation
async def break_level(dut) -> None:
    """A level that disagrees with the pointers must be noticed."""
    await start(dut)
    await harness.step(dut.clk, 2)
    dut.level_q.value = 1
    await harness.step(dut.clk, 3)


@pytest.mark.parametrize(("width", "depth"), [(8, 4), (33, 16), (512, 512)])
def test_deep(width: int, depth: int) -> None:
    """Run all coroutines at this width and depth."""
    simulate(__file__, "fb_common_fifo_bram", {"Width": width, "Depth": depth})


def test_assertion_fires() -> None:
    """Each assertion fires."""
    parameters = {"Width": 8, "Depth": 4}
    message = "level_matches_pointers"
    simulate(__file__, "fb_common_fifo_bram", parameters, fires={"break_level": message})
