# SPDX-License-Identifier: Apache-2.0
"""fb_net_pause_timer: a quantum is 33/20 cycles."""

from __future__ import annotations

import math
import random

import cocotb
from cocotb.triggers import FallingEdge

import harness
from forebay import spec
from runner import simulate


@cocotb.test()
async def counts_down(dut) -> None:
    """In every cycle it is what time has left of the quanta."""
    dut.load.value = 0
    await harness.start(dut)
    for quanta in [0, 1, 20, 33, random.randrange(500)]:
        dut.load.value = 1
        dut.quanta.value = quanta
        await harness.step(dut.clk)
        dut.load.value = 0
        ticks = 0
        for cycle in range(math.ceil(quanta * spec.PAUSE_CYCLES / spec.PAUSE_QUANTA) + 3):
            await FallingEdge(dut.clk)
            over = cycle * spec.PAUSE_QUANTA // spec.PAUSE_CYCLES
            assert dut.left.value == max(0, quanta - over)
            ticks += int(dut.tick.value)
            await harness.step(dut.clk)
        assert ticks == quanta


def test_quanta() -> None:
    """Run all coroutines."""
    simulate(__file__, "fb_net_pause_timer")
