# SPDX-License-Identifier: Apache-2.0
"""fb_net_pause_watchdog: a pause without a break that reaches its limit is over until it ends."""

from __future__ import annotations

import random

import cocotb
from cocotb.triggers import FallingEdge

import harness
from forebay import spec
from runner import simulate


class Rule:
    """The same in Python: quanta since the pause began, in 33rds of a cycle's share."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.cycles = 0
        self.over = False

    def step(self, active: bool) -> tuple[bool, bool, bool]:
        """Return `over`, `quantum` and `bites` of a cycle."""
        if not active:
            self.cycles, over, self.over = 0, self.over, False
            return over, False, False
        passed = self.cycles * spec.PAUSE_QUANTA // spec.PAUSE_CYCLES
        self.cycles += 1
        ticks = self.cycles * spec.PAUSE_QUANTA // spec.PAUSE_CYCLES > passed
        bites = not self.over and 0 < self.limit <= passed
        found = self.over, ticks and not self.over, bites
        self.over |= bites
        return found


@cocotb.test()
@cocotb.parametrize(limit=[0, 1, 2, 33, 1000])
async def any_pauses(dut, limit: int) -> None:
    """Pauses of any length with any break: quanta, the limit and the end are told as they come."""
    harness.clear(dut, "active")
    dut.cfg_limit.value = limit
    await harness.start(dut)
    rule, bitten = Rule(limit), 0
    for _ in range(40):
        near = limit * spec.PAUSE_CYCLES // spec.PAUSE_QUANTA + random.randrange(-3, 4)
        for active, count in (
            (1, random.choice([1, 7, near, 2 * near])),
            (0, random.choice([1, 9])),
        ):
            for _ in range(count):
                dut.active.value = active
                await FallingEdge(dut.clk)
                found = tuple(bool(each.value) for each in (dut.over, dut.quantum, dut.bites))
                assert found == rule.step(bool(active))
                bitten += found[2]
                await harness.step(dut.clk)
    assert (bitten > 3) == (limit > 0)


@cocotb.test()
async def reset_begins_anew(dut) -> None:
    """A reset in a pause that is over begins to count it anew."""
    harness.clear(dut, "active")
    dut.cfg_limit.value = 5
    await harness.start(dut)
    dut.active.value = 1
    await harness.step(dut.clk, 20)
    assert dut.over.value == 1
    await harness.reset(dut)
    await FallingEdge(dut.clk)
    assert dut.over.value == 0
    await harness.step(dut.clk, 20)
    assert dut.over.value == 1


def test_pause_watchdog() -> None:
    """Run all coroutines."""
    simulate(__file__, "fb_net_pause_watchdog")
