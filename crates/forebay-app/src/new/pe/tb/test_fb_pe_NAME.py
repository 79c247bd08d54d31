# SPDX-License-Identifier: Apache-2.0
"""fb_pe_NAME against what `expected` says, driven by cocotbext-axi."""

from pathlib import Path

import cocotb

import elements
from runner import simulate

ELEMENT = Path(__file__).resolve().parent.parent
SOURCES = [ELEMENT / "fb_pe_NAME.sv"]


def expected(data: bytes, invert: bool) -> bytes:
    """Say what comes out for a packet: what the RTL does, in Python."""
    return bytes(byte ^ 0xFF for byte in data) if invert else data


@cocotb.test()
@cocotb.parametrize(invert=[False, True], idle=[0.0, 0.4], stall=[0.0, 0.4])
async def any_packets(dut, invert: bool, idle: float, stall: float) -> None:
    """Packets of all lengths are right, whichever side pauses."""
    await elements.any_packets(
        dut, lambda data: expected(data, invert), cfg=int(invert), idle=idle, stall=stall
    )


@cocotb.test()
async def full_rate(dut) -> None:
    """A beat in every cycle, one cycle late."""
    assert await elements.cycles_of(dut, 100) == (1, 99)


@cocotb.test()
async def reset_in_mid_packet(dut) -> None:
    """What is held is forgotten."""
    await elements.reset_in_mid_packet(dut, lambda data: expected(data, False))


def test_fb_pe_NAME() -> None:
    """Run all of it in Verilator."""
    simulate(__file__, "fb_pe_NAME", filelist="rtl/pe/elements.f", extra_sources=SOURCES)
