# SPDX-License-Identifier: Apache-2.0
"""fb_common_fifo against a Python queue."""

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
) -> int:
    """Drive both sides at random for some cycles, compare each cycle, and count words read."""
    width, depth = len(dut.s_data), 2 ** (len(dut.level) - 1)
    register = bool(dut.OutputRegister.value)
    # The register may just be filled as this begins.
    moved, offered = 0, None if register else len(expected) > 0
    for _ in range(cycles):
        await harness.step(dut.clk)
        # Neither side may withdraw: a word once offered stays.
        if dut.s_valid.value == 0 or dut.s_ready.value == 1:
            dut.s_valid.value = random.random() < fill
            dut.s_data.value = random.getrandbits(width)
        dut.m_ready.value = random.random() < drain
        dut.clear.value = random.random() < clear
        await FallingEdge(dut.clk)
        assert dut.level.value == len(expected)
        offered = dut.m_valid.value == 1 if offered is None else offered
        assert dut.m_valid.value == offered
        assert dut.s_ready.value == (len(expected) < depth)
        if dut.m_valid.value == 1:
            assert dut.m_data.value == expected[0]
        kept = offered and dut.m_ready.value == 0
        behind = len(expected) - offered
        if offered and not kept:
            expected.popleft()
            moved += 1
        if dut.clear.value == 1:
            while len(expected) > kept:
                expected.pop()
            behind = 0
        elif dut.s_valid.value == 1 and dut.s_ready.value == 1:
            expected.append(int(dut.s_data.value))
        # A word moves into the register from the store alone.
        offered = kept or (behind > 0 if register else len(expected) > 0)
    return moved


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
    """A word a cycle passes, and one is on offer a cycle after it came, or two."""
    await start(dut)
    await harness.step(dut.clk)
    dut.s_valid.value = 1
    dut.m_ready.value = 1
    register = bool(dut.OutputRegister.value)
    for _ in range(1 + register):
        await FallingEdge(dut.clk)
        assert dut.m_valid.value == 0
    # With room for two, the place of the word on offer is missing in each third cycle.
    waits = register and 2 ** (len(dut.level) - 1) == 2
    for number in range(100):
        await FallingEdge(dut.clk)
        assert dut.m_valid.value == (not waits or number % 3 < 2)
        assert waits or dut.s_ready.value == 1


@cocotb.test()
async def reset_while_filled(dut) -> None:
    """A reset empties it at any time."""
    await start(dut)
    for _ in range(10):
        await run(dut, deque(), 0, 1.0, 0.0)
        expected: deque[int] = deque()
        await run(dut, expected, random.randrange(1, 40), 0.8, 0.3)
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
    await run(dut, expected, 2000, 0.0, 1.0)
    assert not expected


@harness.provocation
async def break_level(dut) -> None:
    """A level that disagrees with the pointers must be noticed."""
    await start(dut)
    await harness.step(dut.clk, 2)
    dut.level_q.value = 1
    await harness.step(dut.clk, 3)


@harness.provocation
async def break_range(dut) -> None:
    """A level beyond Depth must be noticed."""
    await start(dut)
    await harness.step(dut.clk, 2)
    depth = 2 ** (len(dut.level) - 1)
    dut.level_q.value = depth + 1
    dut.write_q.value = 1
    await harness.step(dut.clk, 3)


@pytest.mark.parametrize("register", [0, 1])
@pytest.mark.parametrize(("width", "depth"), [(1, 2), (8, 4), (33, 16), (512, 16), (5, 1024)])
def test_fifo(width: int, depth: int, register: int) -> None:
    """Run all coroutines at this width and depth, with and without the output register."""
    parameters = {"Width": width, "Depth": depth, "OutputRegister": register}
    simulate(__file__, "fb_common_fifo", parameters)


def test_level_matches_pointers_fires() -> None:
    """Each assertion fires."""
    simulate(
        __file__,
        "fb_common_fifo",
        {"Width": 8, "Depth": 4},
        fires={"break_level": "level_matches_pointers"},
    )


def test_level_in_range_fires() -> None:
    """Each assertion fires."""
    simulate(
        __file__,
        "fb_common_fifo",
        {"Width": 8, "Depth": 4},
        fires={"break_range": "level_in_range"},
    )
