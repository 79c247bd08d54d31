# SPDX-License-Identifier: Apache-2.0
"""fb_pe_NAME against what `expected` says, driven by cocotbext-axi."""

import random
from itertools import cycle
from pathlib import Path

import cocotb
from cocotbext.axi import AxiResp

import elements
import harness
from runner import simulate

ELEMENT = Path(__file__).resolve().parent.parent
SOURCES = [ELEMENT / "fb_pe_NAME.sv"]


def expected(data: bytes, mask: bytes) -> bytes:
    """Say what comes out for a packet: what the RTL does, in Python."""
    return bytes(byte ^ other for byte, other in zip(data, cycle(mask), strict=False))


@cocotb.test()
@cocotb.parametrize(idle=[0.0, 0.4], stall=[0.0, 0.4])
async def any_packets(dut, idle: float, stall: float) -> None:
    """Packets of all lengths are right, whichever side pauses, with any mask."""
    bench = elements.Bench(dut)
    registers = harness.axil_master(dut, "s_axil")
    await bench.start(idle=idle, stall=stall)
    mask = bytes(16)
    for _ in range(8):
        sent = [random.randbytes(elements.size()) for _ in range(20)]
        for data in sent:
            await bench.send(data)
        for data in sent:
            await bench.expect(expected(data, mask))
        mask = random.randbytes(16)
        await registers.write(0, mask)
        assert (await registers.read(0, 16)).data == mask


@cocotb.test()
async def other_offsets(dut) -> None:
    """There is nothing behind the mask."""
    bench = elements.Bench(dut)
    registers = harness.axil_master(dut, "s_axil")
    await bench.start()
    for offset in (16, 0xFFC):
        assert (await registers.write(offset, bytes(4))).resp == AxiResp.SLVERR
        assert (await registers.read(offset, 4)).resp == AxiResp.SLVERR


@cocotb.test()
async def full_rate(dut) -> None:
    """A beat in every cycle, one cycle late."""
    harness.clear(dut, "s_axil_*valid", "s_axil_*ready")
    assert await elements.cycles_of(dut, 100) == (1, 99)


@cocotb.test()
async def reset_in_mid_packet(dut) -> None:
    """What is held is forgotten."""
    await elements.reset_in_mid_packet(dut, lambda data: data)


def test_fb_pe_NAME() -> None:
    """Run all of it in Verilator."""
    simulate(__file__, "fb_pe_NAME", filelist="rtl/pe/elements.f", extra_sources=SOURCES)
