# SPDX-License-Identifier: Apache-2.0
"""fb_axis_widen: packets are what they were, in beats of 64 bytes."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.triggers import FallingEdge

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
    """A part in every cycle, also from beat to beat; a beat is one cycle behind its last part."""
    parts = elements.BEAT // len(dut.s_axis_tkeep)
    latency = parts if parts > 1 else 0
    assert await elements.cycles_of(dut, 100 * parts, stream="") == (latency, 99 * parts)


@cocotb.test()
async def without_packets(dut) -> None:
    """A stream without TLAST becomes full beats."""
    part = len(dut.s_axis_tkeep)
    dut.s_axis_tvalid.value, dut.s_axis_tlast.value = 0, 0
    dut.s_axis_tkeep.value, dut.s_axis_tuser.value, dut.s_axis_tid.value = 2**part - 1, 0, 0
    dut.m_axis_tready.value = 1
    await harness.start(dut)
    data, found, at, valid = random.randbytes(20 * elements.BEAT), b"", 0, False
    for _ in range(1000):
        valid = valid or (at < len(data) and random.random() < 0.7)
        dut.s_axis_tvalid.value = int(valid)
        dut.s_axis_tdata.value = int.from_bytes(data[at : at + part], "little") if valid else 0
        ready = random.randrange(2)
        dut.m_axis_tready.value = ready
        await FallingEdge(dut.clk)
        if valid and harness.high(dut.s_axis_tready):
            at, valid = at + part, False
        if ready and harness.high(dut.m_axis_tvalid):
            assert int(dut.m_axis_tkeep.value) == 2**elements.BEAT - 1
            assert not harness.high(dut.m_axis_tlast)
            found += int(dut.m_axis_tdata.value).to_bytes(elements.BEAT, "little")
        await harness.step(dut.clk)
    assert found == data


@harness.provocation
async def withdraw(dut) -> None:
    """The checker of what comes out is awake."""
    await elements.Bench(dut, "").start()
    await harness.withdraw(dut.clk, dut.u_check)


def run(bits: int, **options: object) -> None:
    """Build the module for as many bits, with what a packet of a chain has beside it."""
    values = {"Bits": bits, "UserBits": 2, "TagBits": spec.PACKET_TAG_BITS}
    simulate(__file__, "fb_axis_widen", values, **options)


@pytest.mark.parametrize("bits", [32, 128, 256, 512])
def test_widen(bits: int) -> None:
    """Run all coroutines."""
    run(bits)


def test_assertion_fires() -> None:
    """Each assertion fires."""
    run(128, fires={"withdraw": "m_axis: valid fell"})
