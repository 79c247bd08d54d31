# SPDX-License-Identifier: Apache-2.0
"""fb_boot_rom: each word of its program, a cycle after its address."""

from __future__ import annotations

import random
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

import harness
from runner import simulate


@cocotb.test()
async def words(dut) -> None:
    """Words come in any order, one a cycle, and stay while the address does."""
    cocotb.start_soon(Clock(dut.clk, harness.PERIOD_NS, unit="ns").start())
    for at in random.sample(range(1024), 1024):
        dut.addr.value = at
        for _ in range(random.randint(1, 2)):
            await harness.step(dut.clk)
            await FallingEdge(dut.clk)
            assert int(dut.data.value) == 0x9E3779B1 * (at + 1) & 0xFFFFFFFF, at


def test_rom() -> None:
    """All words."""
    source = Path(__file__).with_name("fb_boot_rom_tb.sv")
    simulate(__file__, "fb_boot_rom_tb", extra_sources=[source])
