# SPDX-License-Identifier: Apache-2.0
"""fb_raid_xor: rounds of beats are added up, whatever their length and pace."""

from __future__ import annotations

import random

import cocotb
from cocotb.triggers import FallingEdge

import harness
from runner import simulate

BEATS = 64


async def start(dut) -> None:
    """Reset."""
    harness.clear(dut, "first", "step", "last", "data")
    await harness.start(dut)


async def rounds(dut, length: int, count: int, idle: float) -> tuple[list[int], int]:
    """Add up N rounds, and return the last sums and the cycles that it took."""
    sums = [0] * length
    begun = harness.cycle()
    for number in range(count):
        for beat in range(length):
            data = random.getrandbits(512)
            sums[beat] = data if number == 0 else sums[beat] ^ data
            while True:
                await harness.step(dut.clk)
                dut.step.value = 0
                await FallingEdge(dut.clk)
                if dut.ready.value == 1 and random.random() >= idle:
                    break
            dut.step.value, dut.data.value = 1, data
            dut.first.value, dut.last.value = number == 0, beat == length - 1
            await cocotb.triggers.Timer(1, "ns")
            assert int(dut.beat.value) == beat
            assert int(dut.sum.value) == sums[beat]
    await harness.step(dut.clk)
    dut.step.value = 0
    return sums, harness.cycle() - begun


@cocotb.test()
@cocotb.parametrize(idle=[0.0, 0.4])
async def adds_up(dut, idle: float) -> None:
    """What was left in one round is there in the next, and not in the next chunk."""
    await start(dut)
    for length in (1, 2, 3, 17, BEATS, 1, 1, BEATS - 1):
        await rounds(dut, length, random.randrange(1, 8), idle)


@cocotb.test()
async def rate(dut) -> None:
    """A beat a cycle, and a round of one beat in two."""
    await start(dut)
    _, cycles = await rounds(dut, BEATS, 4, 0.0)
    assert cycles == 4 * BEATS + 1
    _, cycles = await rounds(dut, 1, 8, 0.0)
    assert cycles <= 2 * 8 + 1


@cocotb.test()
async def reset_inside(dut) -> None:
    """After a reset the cursor is at the first beat, which is read once more."""
    await start(dut)
    await rounds(dut, 5, 1, 0.0)
    dut.step.value, dut.last.value, dut.first.value = 1, 0, 1
    await harness.step(dut.clk, 3)
    dut.step.value = 0
    await harness.reset(dut, 2)
    await FallingEdge(dut.clk)
    assert dut.beat.value == 0 and dut.ready.value == 1
    await rounds(dut, 5, 3, 0.0)


@harness.provocation
async def step_too_soon(dut) -> None:
    """A step onto a beat that is not read yet must be noticed."""
    await start(dut)
    dut.step.value, dut.last.value = 1, 1
    await harness.step(dut.clk, 4)


@harness.provocation
async def too_long(dut) -> None:
    """A chunk longer than the memory must be noticed."""
    await start(dut)
    dut.step.value = 1
    await harness.step(dut.clk, BEATS + 4)


def run(**options: object) -> None:
    """Build the module and simulate it."""
    simulate(__file__, "fb_raid_xor", {"Beats": BEATS}, filelist="rtl/top/onchip.f", **options)


def test_sum() -> None:
    """Run all coroutines."""
    run()


def test_assertion_fires() -> None:
    """Each assertion fires."""
    run(
        fires={
            "step_too_soon": "a_step_ready",
            "too_long": "a_in_chunk",
        }
    )
