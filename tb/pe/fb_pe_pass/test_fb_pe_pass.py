# SPDX-License-Identifier: Apache-2.0
"""fb_pe_pass and the chain of no elements: what goes in comes out, in the same cycle."""

from __future__ import annotations

import cocotb
import pytest

import elements
from runner import simulate

BEATS = 100


@cocotb.test()
@cocotb.parametrize(idle=[0.0, 0.4], stall=[0.0, 0.4])
async def any_packets(dut, idle: float, stall: float) -> None:
    """Nothing is changed."""
    await elements.any_packets(dut, lambda data: data, idle=idle, stall=stall)


@cocotb.test()
async def full_rate(dut) -> None:
    """Wires take no time."""
    assert await elements.cycles_of(dut, BEATS) == (0, BEATS - 1)


@pytest.mark.parametrize("module", ["fb_pe_pass", "fb_pe_chain"])
def test_wires(module: str) -> None:
    """Run all coroutines on both."""
    simulate(__file__, module)
