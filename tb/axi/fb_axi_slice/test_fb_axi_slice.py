# SPDX-License-Identifier: Apache-2.0
"""fb_axi_slice between cocotbext-axi's master and its memory."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotbext.axi import AxiBus, AxiMaster, AxiRam

import harness
from runner import simulate

BYTES = 1 << 14


async def start(dut) -> tuple[AxiMaster, AxiRam]:
    """Reset with everything idle."""
    master = harness.axi_master(dut, "s_axi")
    ram = AxiRam(AxiBus.from_entity(dut.m_axi), dut.clk, dut.rst, size=BYTES)
    for half in (ram.write_if, ram.read_if):
        half.log.setLevel("WARNING")
    await harness.start(dut)
    await harness.step(dut.clk)
    return master, ram


def stall(master: AxiMaster, ram: AxiRam, share: float) -> None:
    """Pause every channel on both sides at random."""
    harness.stall_master(master, share, share)
    write, read = ram.write_if, ram.read_if
    for channel in (write.aw_channel, write.w_channel, write.b_channel):
        harness.stall(channel, share)
    for channel in (read.ar_channel, read.r_channel):
        harness.stall(channel, share)


async def mixed(master: AxiMaster, ram: AxiRam, rounds: int) -> None:
    """Write and read stretches of any size, each with any identifier."""
    held = bytearray(BYTES)
    ram.write(0, held)
    for _ in range(rounds):
        at = random.randrange(BYTES)
        length = min(random.choice([1, 64, 65, 512, 4096]), BYTES - at)
        data, number = random.randbytes(length), random.randrange(4)
        await master.write(at, data, awid=number)
        held[at : at + length] = data
        at = random.randrange(BYTES - 512)
        assert (await master.read(at, 512, arid=number)).data == held[at : at + 512]
    assert ram.read(0, BYTES) == held


@cocotb.test()
@cocotb.parametrize(share=[0.0, 0.5])
async def passes_all(dut, share: float) -> None:
    """What is written is there, and read again, whatever pauses."""
    master, ram = await start(dut)
    stall(master, ram, share)
    await mixed(master, ram, harness.repeat(200, 40))


@cocotb.test()
async def latency(dut) -> None:
    """Each channel has a cycle a stage."""
    master, _ = await start(dut)
    stages = int(dut.Stages.value)
    for channels, access in (
        (("ar", "r"), lambda: master.read(0, 64)),
        (("aw", "w", "b"), lambda: master.write(0, bytes(64))),
    ):
        seen: dict[str, list[int]] = {}
        for channel in channels:
            for side in "sm":
                port = f"{side}_axi_{channel}"
                bus = getattr(dut, f"{side}_axi")
                valid, ready = (getattr(bus, f"{channel}{half}") for half in ("valid", "ready"))
                cycles = seen.setdefault(port, [])
                cocotb.start_soon(harness.record(dut.clk, valid, ready, cycles))
        await access()
        for channel in channels:
            near, far = seen[f"s_axi_{channel}"], seen[f"m_axi_{channel}"]
            assert abs(near[0] - far[0]) == stages, channel


@cocotb.test()
async def rate(dut) -> None:
    """A beat a cycle passes each way."""
    master, _ = await start(dut)
    for channel, access in (
        ("w", lambda: master.write(0, bytes(8192))),
        ("r", lambda: master.read(0, 8192)),
    ):
        cycles: list[int] = []
        valid, ready = (getattr(dut.m_axi, f"{channel}{half}") for half in ("valid", "ready"))
        cocotb.start_soon(harness.record(dut.clk, valid, ready, cycles))
        await access()
        # The memory takes a cycle between bursts.
        assert harness.rate(cycles) > 0.96


@cocotb.test()
async def reset_in_burst(dut) -> None:
    """After a reset in the middle of bursts all works."""
    master, ram = await start(dut)
    for _ in range(5):
        master.init_write(0, bytes(8192))
        master.init_read(0, 8192)
        await harness.step(dut.clk, random.randrange(3, 60))
        await harness.reset(dut)
        await harness.step(dut.clk, 2)
        await mixed(master, ram, 3)


@pytest.mark.parametrize("stages", [0, 1, 2])
def test_slice(stages: int) -> None:
    """Run all coroutines with this many stages."""
    parameters = {"Stages": stages, "IdBits": 2, "AddrBits": 14}
    bus = "fb_axi_if #(.IdBits(IdBits), .AddrBits(AddrBits))"
    simulate(
        __file__,
        "fb_axi_slice",
        parameters,
        filelist="rtl/top/onchip.f",
        interfaces={"s_axi": bus, "m_axi": bus},
    )
