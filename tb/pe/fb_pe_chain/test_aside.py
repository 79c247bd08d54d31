# SPDX-License-Identifier: Apache-2.0
"""A chain with an element of 128 bits and a clock of its own, as the command line makes it.

`cargo test` compares the file that is simulated here with what is made of such a pipeline.
"""

from __future__ import annotations

import random
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import with_timeout

import elements
import harness
from extents import PATIENCE_US
from forebay import spec
from runner import ROOT, simulate

CHAIN = [ROOT / "tests/elements/fb_pe_aside.sv", Path(__file__).parent / "aside.sv"]
INSIDE = 32
SLOW = 0x800C  # elements that do not answer
ERROR = 2


def flipped(data: bytes, mask: bytes, flip: int) -> bytes:
    """XOR each byte with one of the mask, from the packet's beginning on, and with `flip`."""
    return bytes(byte ^ mask[at % 16] ^ flip for at, byte in enumerate(data))


class Host:
    """Accesses of registers, each with an end."""

    def __init__(self, dut) -> None:
        self.master = harness.axil_master(dut, "s_axil_pe")

    async def write(self, at: int, data: bytes) -> int:
        """Write; returns the response."""
        done = await with_timeout(self.master.write(at, data), PATIENCE_US, "us")
        return int(done.resp)

    async def read(self, at: int, count: int = 4) -> tuple[bytes, int]:
        """Read; returns bytes and response."""
        done = await with_timeout(self.master.read(at, count), PATIENCE_US, "us")
        return done.data, int(done.resp)


async def start(dut, bench: elements.Bench, period: float, cfg: int, **pauses: float) -> Clock:
    """Reset both clocks together; returns the element's."""
    dut.extent_valid.value = dut.back_valid.value = 0
    dut.rst_pe.value = 1
    own = Clock(dut.clk_pe, round(period * 1000), unit="ps")
    own.start()
    dut.cfg.value = cfg
    dut.rst.value = 1
    Clock(dut.clk, harness.PERIOD_NS, unit="ns").start()
    bench.pause(pauses.get("idle", 0.0), pauses.get("stall", 0.0))
    await harness.step(dut.clk_pe, 8)
    await harness.reset(dut, 8)
    dut.rst_pe.value = 0
    return own


@cocotb.test()
@cocotb.parametrize(period=[1.3, 4.0, 9.7], idle=[0.0, 0.4], stall=[0.0, 0.4])
async def packets(dut, period: float, idle: float, stall: float) -> None:
    """Whatever the two clocks, packets, results, settings, registers and status come across."""
    bench = elements.Bench(dut)
    host = Host(dut)
    flip, mask = random.getrandbits(8), random.randbytes(16)
    await start(dut, bench, period, flip, idle=idle, stall=stall)
    for at in range(0, 16, 4):
        await host.write(at, mask[at : at + 4])
    assert await host.read(0, 16) == (mask, 0)
    for bad in (0x10, 0xFFC):
        assert (await host.read(bad))[1] == await host.write(bad, bytes(4)) == ERROR
    count = 0
    for _ in range(3):
        sent = []
        for _ in range(INSIDE):
            data, user = random.randbytes(elements.size()), elements.any_user()
            extent = elements.any_extent(user, len(data))
            dut.extent_valid.value = 1
            dut.extent_tid.value, dut.extent.value = bench.tag, extent.word()
            await harness.step(dut.clk)
            dut.extent_valid.value = 0
            tag = await bench.send(data, user, extent)
            sent.append((data, user, extent, tag))
        for data, user, extent, tag in sent:
            count += 1
            await bench.expect(flipped(data, mask, flip))
            if user & spec.PACKET_ENDS_OBJECT:
                word = (extent.object % 2**32) << 16 | extent.stream
                assert await bench.result_word() == (word, tag, 0)
    await bench.silent(60)
    assert dut.status.value == count


@cocotb.test()
async def a_clock_that_stands(dut) -> None:
    """Registers of an element whose clock stands are given up like those of one that is silent."""
    bench = elements.Bench(dut)
    host = Host(dut)
    own = await start(dut, bench, 4.0, 0)
    await host.write(0, bytes(4))
    own.stop()
    access = cocotb.start_soon(host.read(0))
    await harness.step(dut.clk, 40)
    dut.u_windows.waited_q.value = (1 << 20) - 1
    assert (await access)[1] == ERROR
    assert int.from_bytes((await host.read(SLOW))[0], "little") == 1


def test_aside() -> None:
    """Run all coroutines."""
    simulate(__file__, "fb_pe_chain", filelist="rtl/pe/elements.f", extra_sources=CHAIN)
