# SPDX-License-Identifier: Apache-2.0
"""fb_net_pause_in: silence lasts as long as was asked for, and not longer than the watchdog."""

from __future__ import annotations

import math
import random

import cocotb
from cocotb.triggers import FallingEdge

import harness
from forebay import spec
from runner import simulate

VALID = 1 << 16


def cycles(quanta: int) -> int:
    """Return the cycles of `quanta` quanta, rounded up."""
    return math.ceil(quanta * spec.PAUSE_CYCLES / spec.PAUSE_QUANTA)


async def start(dut, watchdog: int = 0) -> None:
    """Reset with idle inputs."""
    dut.pause.value = 0
    dut.cfg_watchdog.value = watchdog
    await harness.start(dut)


async def ask(dut, quanta: int) -> None:
    """Let a pause frame arrive."""
    dut.pause.value = VALID | quanta
    await harness.step(dut.clk)
    dut.pause.value = 0


async def silence(dut, most: int = 200_000) -> tuple[int, int]:
    """Count cycles, and quanta that are told, until the silence ends."""
    quanta = 0
    await harness.step(dut.clk)  # it is told a cycle later
    for count in range(most):
        await FallingEdge(dut.clk)
        if dut.silent.value == 0:
            return count, quanta
        quanta += int(dut.quantum.value)
        await harness.step(dut.clk)
    raise AssertionError(f"silent for more than {most} cycles")


@cocotb.test()
async def any_time(dut) -> None:
    """0, 1, 2, 65535 and other quanta last 33/20 cycles each, rounded up."""
    await start(dut)
    for quanta in [0, 1, 2, 3, 19, 20, 21, 65535, *random.sample(range(2000), 20)]:
        await ask(dut, quanta)
        assert await silence(dut) == (cycles(quanta), quanta)
        await harness.step(dut.clk, random.randrange(4))


@cocotb.test()
async def the_last_word_counts(dut) -> None:
    """A frame replaces what was left of the one before: longer, shorter, or nothing."""
    await start(dut)
    for quanta in [100, 5, 0, 300, 1]:
        await ask(dut, 1000)
        await harness.step(dut.clk, random.randrange(1, 500))
        await ask(dut, quanta)
        assert (await silence(dut))[0] == cycles(quanta)


@cocotb.test()
async def storm(dut) -> None:
    """A peer that asks without end is disobeyed after the watchdog's time, until it lets us go."""
    await start(dut, watchdog=3000)
    for end in ("zero", "time"):
        spoken = storms = 0
        await ask(dut, 1000)
        for _ in range(20):
            for _ in range(500):
                await FallingEdge(dut.clk)
                storms += int(dut.storm.value)
                spoken += dut.silent.value == 0
                await harness.step(dut.clk)
            await ask(dut, 1000)
        assert storms == 1
        expected = 20 * 501 - cycles(3000)
        assert abs(spoken - expected) < 60, (spoken, expected)
        if end == "zero":
            await ask(dut, 0)
        else:
            await harness.step(dut.clk, cycles(1000) + 1)
        # A peer that is in its right mind again is obeyed again.
        await ask(dut, 50)
        assert (await silence(dut))[0] == cycles(50)


@cocotb.test()
async def a_storm_at_line_rate_is_timed_right(dut) -> None:
    """Pause frames every 84 bytes, closer than quanta: silence is counted as it is, all of it."""
    watchdog = 3000
    await start(dut, watchdog)
    told = gave_up = 0
    for cycle in range(2 * cycles(watchdog)):
        frame = cycle * 12.5e9 // (84 * 322.265625e6)
        before = (cycle - 1) * 12.5e9 // (84 * 322.265625e6)
        dut.pause.value = VALID | 1000 if frame != before else 0
        await FallingEdge(dut.clk)
        told += int(dut.quantum.value)
        gave_up = gave_up or (cycle if dut.storm.value == 1 else 0)
        await harness.step(dut.clk)
    assert told == watchdog
    assert abs(gave_up - cycles(watchdog)) <= 3, gave_up


@cocotb.test()
async def reset_ends_it(dut) -> None:
    """A reset forgets the time."""
    await start(dut)
    await ask(dut, 65535)
    await harness.step(dut.clk, 10)
    await harness.reset(dut, 1)
    assert await silence(dut) == (0, 0)


def test_pause_in() -> None:
    """Run all coroutines."""
    simulate(__file__, "fb_net_pause_in")
