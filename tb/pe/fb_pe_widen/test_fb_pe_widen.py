# SPDX-License-Identifier: Apache-2.0
"""fb_pe_widen: packets are what they were, in beats of 64 bytes."""

from __future__ import annotations

import cocotb
import pytest

import elements
from runner import simulate


@cocotb.test()
@cocotb.parametrize(idle=[0.0, 0.4], stall=[0.0, 0.4])
async def any_packets(dut, idle: float, stall: float) -> None:
    """Packets of any length come out as they went in."""
    await elements.any_packets(dut, lambda data: data, idle=idle, stall=stall)


@cocotb.test()
async def reset_in_mid_packet(dut) -> None:
    """What is held is forgotten."""
    await elements.reset_in_mid_packet(dut, lambda data: data)


@cocotb.test()
async def rate(dut) -> None:
    """A part in every cycle, also from beat to beat; a beat is one cycle behind its last part."""
    parts = elements.BEAT // len(dut.s_axis_object_tkeep)
    assert await elements.cycles_of(dut, 100 * parts) == (parts, 99 * parts)


@pytest.mark.parametrize("bits", [32, 128, 512])
def test_widen(bits: int) -> None:
    """Run all coroutines."""
    simulate(__file__, "fb_pe_widen", {"Bits": bits}, filelist="rtl/pe/elements.f")
