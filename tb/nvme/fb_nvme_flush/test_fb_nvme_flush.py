# SPDX-License-Identifier: Apache-2.0
"""fb_nvme_flush: each drive is asked for its flush, in turn."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.triggers import FallingEdge

import harness
from runner import simulate


@cocotb.test()
async def drives_in_turn(dut) -> None:
    """Each start asks the next drive once, however late it is taken; after a finish the first."""
    drives = int(dut.Drives.value)
    harness.clear(dut, "start", "finish", "ready")
    dut.drives_m1.value = drives - 1
    await harness.start(dut)
    for _ in range(20):
        await FallingEdge(dut.clk)
        assert dut.busy.value == 0 and dut.valid.value == 0
        for drive in range(drives):
            await harness.step(dut.clk)
            dut.start.value = 1
            await harness.step(dut.clk)
            dut.start.value = 0
            for _ in range(random.randrange(4)):
                await FallingEdge(dut.clk)
                assert dut.valid.value == 1 and dut.drive.value == drive
                await harness.step(dut.clk)
            dut.ready.value = 1
            await FallingEdge(dut.clk)
            assert dut.valid.value == 1 and dut.drive.value == drive
            await harness.step(dut.clk)
            dut.ready.value = 0
            await FallingEdge(dut.clk)
            assert dut.valid.value == 0 and dut.busy.value == 1
            assert dut.last.value == (drive == drives - 1)
        await harness.step(dut.clk)
        dut.finish.value = 1
        await harness.step(dut.clk)
        dut.finish.value = 0


@cocotb.test()
async def reset_in_work(dut) -> None:
    """A reset forgets a flush that was asked for."""
    harness.clear(dut, "finish", "ready")
    dut.drives_m1.value, dut.start.value = int(dut.Drives.value) - 1, 1
    await harness.start(dut)
    await harness.step(dut.clk)
    dut.start.value = 0
    await FallingEdge(dut.clk)
    assert dut.valid.value == 1
    await harness.reset(dut, 1)
    await FallingEdge(dut.clk)
    assert dut.valid.value == 0 and dut.busy.value == 0


@pytest.mark.parametrize("drives", [1, 3])
def test_flush(drives: int) -> None:
    """Run all coroutines for one drive and for several."""
    simulate(__file__, "fb_nvme_flush", {"Drives": drives}, filelist="rtl/top/onchip.f")
