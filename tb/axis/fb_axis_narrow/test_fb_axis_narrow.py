# SPDX-License-Identifier: Apache-2.0
"""fb_axis_narrow: packets are what they were, in narrower parts."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.triggers import with_timeout
from cocotbext.axi import AxiStreamFrame

import elements
import harness
from forebay import spec
from runner import simulate


@cocotb.test()
@cocotb.parametrize(idle=[0.0, 0.4], stall=[0.0, 0.4])
async def any_packets(dut, idle: float, stall: float) -> None:
    """Packets of any length come out as they went in."""
    await elements.any_packets(dut, lambda data: data, idle=idle, stall=stall, stream="")


@cocotb.test()
async def reset_in_mid_packet(dut) -> None:
    """What is held is forgotten."""
    await elements.reset_in_mid_packet(dut, lambda data: data, stream="")


@cocotb.test()
async def rate(dut) -> None:
    """A part in every cycle, also from beat to beat, one cycle late where there are parts."""
    parts = elements.BEAT // len(dut.m_axis_tkeep)
    assert await elements.cycles_of(dut, 100, stream="") == (int(parts > 1), 100 * parts - 1)


@cocotb.test()
async def beats_without_data(dut) -> None:
    """A beat without TKEEP is one part: what of TDATA has the code of a failed read."""
    bench = elements.Bench(dut, "")
    await bench.start(stall=0.3)
    part = len(dut.m_axis_tkeep)
    for beats in range(8):
        data, code = random.randbytes(beats * elements.BEAT), random.randbytes(elements.BEAT)
        keep = [1] * len(data) + [0] * elements.BEAT
        user = [0] * len(data) + [1] * elements.BEAT
        await bench.source.send(AxiStreamFrame(data + code, tkeep=keep, tuser=user, tid=beats))
        found = await with_timeout(bench.sink.recv(compact=False), 1, "ms")
        assert bytes(found.tdata) == data + code[:part]
        assert list(found.tkeep) == [1] * len(data) + [0] * part
        assert list(found.tuser) == [0] * len(data) + [1] * part
        assert set(found.tid) == {beats}


@harness.provocation
async def withdraw(dut) -> None:
    """The checker of what comes out is awake."""
    await elements.Bench(dut, "").start()
    await harness.withdraw(dut.clk, dut.u_check)


def run(bits: int, **options: object) -> None:
    """Build the module for as many bits, with what a packet of a chain has beside it."""
    values = {"Bits": bits, "UserBits": 2, "TagBits": spec.PACKET_TAG_BITS}
    simulate(__file__, "fb_axis_narrow", values, **options)


@pytest.mark.parametrize("bits", [32, 128, 256, 512])
def test_narrow(bits: int) -> None:
    """Run all coroutines."""
    run(bits)


def test_assertion_fires() -> None:
    """Each assertion fires."""
    run(128, fires={"withdraw": "m_axis: valid fell"})
