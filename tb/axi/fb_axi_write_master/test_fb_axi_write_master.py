# SPDX-License-Identifier: Apache-2.0
"""fb_axi_write_master: bursts and their words, into cocotbext-axi's memory."""

from __future__ import annotations

import random

import cocotb
from cocotb.triggers import FallingEdge
from cocotbext.axi import AxiRamWrite, AxiWriteBus

import harness
import memory
from runner import simulate

BEAT = 64
SIZE = 1 << 20


class Writer:
    """The device under test, its memory, and what it is to be given."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.ram = AxiRamWrite(AxiWriteBus.from_entity(dut.m_axi), dut.clk, dut.rst, size=SIZE)
        self.ram.log.setLevel("WARNING")
        memory.late_answers(self.ram)
        self.words: list[tuple[int, int, int]] = []  # data, strobes, whose they are
        self.stored: list[tuple[int, int]] = []  # whose, and whether it was empty
        self.held = bytearray(SIZE)
        self.taken: list[int] = []  # cycles in which words were taken

    async def feed(self) -> None:
        """Offer the next word, and record answers."""
        dut = self.dut
        while True:
            dut.word_valid.value = bool(self.words)
            if self.words:
                dut.word_data.value, dut.word_strb.value, side = self.words[0]
            await FallingEdge(dut.clk)
            if dut.word_take.value == 1:
                assert dut.word_side.value == side
                self.words.pop(0)
                self.taken.append(harness.cycle())
            if dut.stored.value == 1:
                assert dut.stored_error.value == 0
                self.stored.append((int(dut.stored_side.value), int(dut.stored_empty.value)))
            await harness.step(dut.clk)

    async def burst(self, address: int, beats: int, side: int, empty: int = 0) -> None:
        """Hand over a burst; its words follow."""
        dut = self.dut
        for n in range(0 if empty else beats):
            data, strobes = random.randbytes(BEAT), random.choice([0, (1 << BEAT) - 1, 0xF0F])
            self.words.append((int.from_bytes(data, "little"), strobes, side))
            for byte in range(BEAT):
                if strobes >> byte & 1:
                    self.held[address + BEAT * n + byte] = data[byte]
        dut.burst_valid.value, dut.burst_side.value, dut.burst_empty.value = 1, side, empty
        dut.burst_addr.value, dut.burst_count_m1.value = address, beats - 1
        await harness.until(dut.clk, dut.burst_ready)
        await harness.step(dut.clk)
        dut.burst_valid.value = 0


async def start_bare(dut) -> None:
    """Reset with nothing to write; a memory there is must have been made before."""
    harness.clear(dut, "burst_valid", "burst_addr", "burst_*_m1", "burst_empty", "burst_side")
    harness.clear(dut, "word_valid", "word_data", "word_strb")
    await harness.start(dut)


async def start(dut) -> Writer:
    """Reset with nothing to write."""
    writer = Writer(dut)
    await start_bare(dut)
    cocotb.start_soon(writer.feed())
    return writer


@cocotb.test()
@cocotb.parametrize(pause=[0.0, 0.5])
async def bytes_land(dut, pause: float) -> None:
    """Bursts of any length and strobes, some without words; answers come in order."""
    writer = await start(dut)
    for channel in (writer.ram.aw_channel, writer.ram.w_channel, writer.ram.b_channel):
        harness.stall(channel, pause)
    want = []
    for _ in range(80):
        first = random.randrange(64)
        address = 4096 * random.randrange(SIZE // 4096) + BEAT * first
        side, empty = random.getrandbits(1), int(random.random() < 0.2)
        await writer.burst(address, random.randrange(1, 65 - first), side, empty)
        want.append((side, empty))
    await harness.step(dut.clk, 3000 if pause else 500)
    assert writer.stored == want
    assert writer.ram.read(0, SIZE) == writer.held


@cocotb.test()
async def there_are_no_gaps(dut) -> None:
    """Bursts of a page follow each other at a word in a cycle."""
    writer = await start(dut)
    for page in range(8):
        await writer.burst(4096 * page, 64, 0)
    await harness.step(dut.clk, 200)
    assert len(writer.taken) == 8 * 64
    assert harness.rate(writer.taken) > 0.97


@harness.provocation
async def ungiven(dut) -> None:
    """An answer to nothing must be noticed."""
    harness.clear(dut.m_axi, "awready", "wready", "bvalid", "bid", "bresp")
    await start_bare(dut)
    await harness.step(dut.clk)
    dut.m_axi.bvalid.value = 1
    await harness.step(dut.clk, 2)


def run(**options: object) -> None:
    """Build the module and simulate it."""
    interfaces = {"m_axi": "fb_axi_if #(.IdBits(1))"}
    simulate(
        __file__,
        "fb_axi_write_master",
        filelist="rtl/top/hostdram.f",
        interfaces=interfaces,
        **options,
    )


def test_writer() -> None:
    """Run all coroutines."""
    run()


def test_assertion_fires() -> None:
    """Each assertion fires."""
    run(
        fires={
            "ungiven": "a_write_was_given",
        }
    )
