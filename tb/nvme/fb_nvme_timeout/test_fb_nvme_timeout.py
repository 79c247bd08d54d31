# SPDX-License-Identifier: Apache-2.0
"""fb_nvme_timeout: what stays open too long costs its drive, or halts the queue."""

from __future__ import annotations

import cocotb
import pytest
from cocotb.triggers import FallingEdge

import harness
from runner import simulate

CYCLES = 50


async def start(dut, cycles: int = CYCLES) -> None:
    """Reset, and leave both rings without an open command."""
    harness.clear(dut, "look*", "step*")
    dut.cycles.value = cycles
    await harness.start(dut)
    await harness.step(dut.clk, 2)


async def look(dut, write: bool, opened: int, drive: int = 0, refused: int = 0) -> None:
    """Say of the oldest command of a ring whether it is open, and whether for its drive's sake."""
    dut.look.value, dut.look_write.value = 1, write
    dut.look_open.value, dut.look_drive.value = opened, drive
    dut.look_refused.value = refused
    await harness.step(dut.clk)
    dut.look.value = 0


async def step(dut, write: bool) -> None:
    """The oldest command of a ring is answered."""
    dut.step.value, dut.step_write.value = 1, write
    await harness.step(dut.clk)
    dut.step.value = 0


async def quiet(dut, cycles: int) -> None:
    """Nothing times out for some cycles."""
    for _ in range(cycles):
        await FallingEdge(dut.clk)
        assert dut.timed_out.value == 0


@cocotb.test()
@cocotb.parametrize(write=[False, True])
async def an_open_command(dut, write: bool) -> None:
    """A time-out comes after its cycles, names ring and drive, and a second one halts at last."""
    await start(dut)
    drives = int(dut.Drives.value)
    drive = drives - 1
    await look(dut, write, 1, drive)
    begun = harness.cycle()
    found = await harness.until(dut.clk, dut.timed_out)
    assert CYCLES <= found - begun <= CYCLES + 3
    assert dut.timed_out_write.value == write and dut.timed_out_drive.value == drive
    await harness.step(dut.clk)
    await FallingEdge(dut.clk)
    assert dut.lost.value == 1 << drive and dut.halted.value == (drives == 1)
    if drives > 1:
        again = await harness.until(dut.clk, dut.timed_out)
        assert CYCLES <= again - found <= CYCLES + 3
        await harness.step(dut.clk)
        await FallingEdge(dut.clk)
    assert dut.halted.value == 1
    await quiet(dut, 3 * CYCLES)
    await harness.reset(dut, 1)
    await FallingEdge(dut.clk)
    assert dut.halted.value == 0 and dut.lost.value == 0


@cocotb.test()
@cocotb.parametrize(write=[False, True])
async def commands_in_time(dut, write: bool) -> None:
    """A step, and a look at what is over, begin the ring's time anew; those of the other do not."""
    await start(dut)
    for _ in range(5):
        await look(dut, write, 1)
        await quiet(dut, CYCLES - 5)
        await step(dut, write)
        await look(dut, write, 1)
        await quiet(dut, CYCLES - 5)
        await look(dut, write, 0)
    await quiet(dut, 3 * CYCLES)
    await look(dut, write, 1)
    await look(dut, not write, 0)
    await step(dut, not write)
    await quiet(dut, CYCLES - 5)
    await harness.until(dut.clk, dut.timed_out, limit=10)


@cocotb.test()
@cocotb.parametrize(late=[0, CYCLES // 2, CYCLES - 1, CYCLES, CYCLES + 1])
async def a_refusal(dut, late: int) -> None:
    """Its drive is lost at once; the queue halts when as long again has passed, and not before."""
    await start(dut)
    drives = int(dut.Drives.value)
    await look(dut, True, 1, drives - 1)
    await quiet(dut, late)
    begun = harness.cycle()
    await look(dut, True, 1, drives - 1, refused=1)
    await FallingEdge(dut.clk)
    if drives == 1:
        return
    assert dut.lost.value == 1 << (drives - 1) and dut.halted.value == 0
    for _ in range(5):
        await look(dut, True, 1, drives - 1, refused=1)
    found = await harness.until(dut.clk, dut.timed_out)
    assert CYCLES - 1 <= found - begun <= CYCLES + 4
    await harness.step(dut.clk)
    await FallingEdge(dut.clk)
    assert dut.halted.value == 1


@cocotb.test()
async def never(dut) -> None:
    """Zero cycles are no time-out."""
    await start(dut, 0)
    await look(dut, True, 1)
    await quiet(dut, 200)


@pytest.mark.parametrize("drives", [1, 3])
def test_timeout(drives: int) -> None:
    """Run all coroutines for one drive and for several."""
    simulate(__file__, "fb_nvme_timeout", {"Drives": drives}, filelist="rtl/top/onchip.f")
