# SPDX-License-Identifier: Apache-2.0
"""fb_axi_read_master: bursts asked for, from cocotbext-axi's memory."""

from __future__ import annotations

import random

import cocotb
from cocotb.triggers import FallingEdge
from cocotbext.axi import AxiRamRead, AxiReadBus

import harness
import memory
from runner import simulate

BEAT = 64
SIZE = 1 << 20


class Reader:
    """The device under test, its memory, and what has come of it."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.ram = AxiRamRead(AxiReadBus.from_entity(dut.m_axi), dut.clk, dut.rst, size=SIZE)
        self.ram.log.setLevel("WARNING")
        memory.late_reads(self.ram, dut.clk)
        self.ram.write(0, random.randbytes(SIZE))
        self.words: list[tuple[bytes, int, bool]] = []  # data, whom it is for, the last of a burst
        self.seen: list[int] = []  # cycles in which they came

    async def listen(self) -> None:
        """Record every word."""
        dut = self.dut
        while True:
            await FallingEdge(dut.clk)
            if dut.rst.value == 0 and dut.loaded.value == 1:
                data = int(dut.loaded_data.value).to_bytes(BEAT, "little")
                self.words.append((data, int(dut.loaded_side.value), dut.loaded_last.value == 1))
                self.seen.append(harness.cycle())
                assert dut.loaded_error.value == 0

    async def ask(self, address: int, beats: int, side: int) -> None:
        """Ask for a burst, and wait until it is taken."""
        dut = self.dut
        dut.ask_valid.value, dut.ask_side.value = 1, side
        dut.ask_addr.value, dut.ask_count_m1.value = address, beats - 1
        await harness.until(dut.clk, dut.ask_ready)
        await harness.step(dut.clk)
        dut.ask_valid.value = 0


async def start_bare(dut) -> None:
    """Reset with nothing asked for; a memory there is must have been made before."""
    harness.clear(dut, "ask_valid", "ask_addr", "ask_count_m1", "ask_side")
    await harness.start(dut)


async def start(dut) -> Reader:
    """Reset with nothing asked for."""
    reader = Reader(dut)
    await start_bare(dut)
    cocotb.start_soon(reader.listen())
    return reader


@cocotb.test()
@cocotb.parametrize(pause=[0.0, 0.5])
async def words_come_in_order(dut, pause: float) -> None:
    """Bursts of any length; each word says whose it is, and which is the last."""
    reader = await start(dut)
    harness.stall(reader.ram.ar_channel, pause)
    harness.stall(reader.ram.r_channel, pause)
    want = []
    for _ in range(80):
        page = random.randrange(SIZE // 4096)
        first = random.randrange(64)
        beats = random.choice([1, 64 - first, random.randrange(1, 65 - first)])
        side = random.getrandbits(1)
        address = 4096 * page + BEAT * first
        await reader.ask(address, beats, side)
        for n in range(beats):
            data = reader.ram.read(address + BEAT * n, BEAT)
            want.append((data, side, n == beats - 1))
    await harness.step(dut.clk, 3000 if pause else 500)
    assert reader.words == want


@cocotb.test()
async def there_are_no_gaps(dut) -> None:
    """Bursts of a page follow each other at a word in a cycle."""
    reader = await start(dut)
    for page in range(16):
        await reader.ask(4096 * page, 64, 0)
    await harness.step(dut.clk, 1100)
    assert len(reader.seen) == 16 * 64
    assert harness.rate(reader.seen) > 0.98


@harness.provocation
async def unasked(dut) -> None:
    """An answer to nothing must be noticed."""
    harness.clear(dut.m_axi, "arready", "r[vidl]*", "rresp")
    await start_bare(dut)
    await harness.step(dut.clk)
    dut.m_axi.rvalid.value = 1
    await harness.step(dut.clk, 2)


def run(**options: object) -> None:
    """Build the module and simulate it."""
    interfaces = {"m_axi": "fb_axi_if #(.IdBits(1))"}
    simulate(
        __file__,
        "fb_axi_read_master",
        filelist="rtl/top/hostdram.f",
        interfaces=interfaces,
        **options,
    )


def test_reader() -> None:
    """Run all coroutines."""
    run()


def test_assertion_fires() -> None:
    """Each assertion fires."""
    run(
        fires={
            "unasked": "a_read_was_asked",
        }
    )
