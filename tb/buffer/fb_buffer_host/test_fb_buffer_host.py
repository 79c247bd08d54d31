# SPDX-License-Identifier: Apache-2.0
"""fb_buffer_host between the streams' side and AxiRam as what the PCIe bridge leads to."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.triggers import FallingEdge, Timer
from cocotbext.axi import AxiBus, AxiRam

import harness
from pieces import PIECE, Pieces
from runner import simulate

PAGE = 4096
HALF = 16 * PIECE


class Buffer:
    """The device under test and its two sides."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.pieces = Pieces(dut)
        bus = AxiBus.from_prefix(dut, "m_axi_host")
        self.host = AxiRam(bus, dut.clk, dut.rst, size=self.pieces.span)
        for half in (self.host.write_if, self.host.read_if):
            half.log.setLevel("WARNING")
        self.landed = 0
        self.bad = 0
        self.got: list[tuple[bytes, bool]] = []
        self.bursts: list[int] = []
        cocotb.start_soon(self._watch())

    async def _watch(self) -> None:
        dut = self.dut
        while True:
            await FallingEdge(dut.clk)
            await Timer(1, "ns")
            self.landed += dut.landed.value == 1
            self.bad += dut.landed.value == 1 and dut.landed_error.value == 1
            if dut.got_valid.value == 1:
                word = int(dut.got_data.value).to_bytes(64, "little")
                self.got.append((word, dut.got_error.value == 1))
            if dut.m_axi_host_awvalid.value == 1 and dut.m_axi_host_awready.value == 1:
                self.bursts.append(int(dut.m_axi_host_awlen.value) + 1)

    async def put(self, address: int, data: bytes) -> None:
        """Put whole beats, the mark with the last one."""
        dut = self.dut
        beats = len(data) // 64
        for n in range(beats):
            while dut.put_hold.value == 1 or random.random() < 0.1:
                dut.put_valid.value = 0
                await harness.step(dut.clk)
            dut.put_valid.value = 1
            dut.put_addr.value = address // 64 + n
            dut.put_data.value = int.from_bytes(data[64 * n : 64 * n + 64], "little")
            dut.put_end.value = n + 1 == beats
            await harness.step(dut.clk)
        dut.put_valid.value = 0
        dut.put_end.value = 0
        await harness.step(dut.clk)

    async def wait_landed(self, count: int) -> None:
        """Wait until so many commands have landed, and no more."""
        for _ in range(20_000):
            if self.landed >= count:
                break
            await harness.step(self.dut.clk)
        assert self.landed == count

    async def get(self, address: int, beats: int) -> list[tuple[bytes, bool]]:
        """Get beats of one page, each with whether it is lost."""
        dut, first = self.dut, len(self.got)
        for n in range(beats):
            dut.get_valid.value = 1
            dut.get_addr.value = address // 64 + n
            dut.get_first.value = n == 0
            dut.get_count.value = beats
            while True:
                await FallingEdge(dut.clk)
                ready = dut.get_ready.value == 1
                await harness.step(dut.clk)
                if ready:
                    break
        dut.get_valid.value = 0
        for _ in range(20_000):
            if len(self.got) - first == beats:
                break
            await harness.step(dut.clk)
        return self.got[first:]

    def stored(self, address: int, count: int) -> bytes:
        """What host memory holds of a stretch of the buffer within a page."""
        return self.host.read(self.pieces.place(address), count)


async def start(dut) -> Buffer:
    """Reset with everything idle, and set the pieces."""
    harness.clear(dut, "put_*", "get_*", "restart", "piece_*")
    buffer = Buffer(dut)
    await harness.start(dut)
    await buffer.pieces.set()
    return buffer


@cocotb.test()
@cocotb.parametrize(("share", [0.0, 0.5]))
async def puts_are_in_host_memory(dut, share: float) -> None:
    """What has landed is there, across the end of a piece as well."""
    buffer = await start(dut)
    write, read = buffer.host.write_if, buffer.host.read_if
    for channel in (write.aw_channel, write.w_channel, write.b_channel, read.ar_channel):
        channel.set_pause_generator(harness.stalls(share))
    for n in range(1, 30):
        address = random.choice([0, PIECE - 2 * PAGE, 9 * PIECE])
        data = random.randbytes(random.choice([512, PAGE, 3 * PAGE, 3 * PAGE + 1024]))
        await buffer.put(address, data)
        await buffer.wait_landed(n)
        for at in range(0, len(data), 512):
            assert buffer.stored(address + at, 512) == data[at : at + 512]
    assert buffer.bad == 0
    await harness.step(dut.clk, 4)
    assert dut.quiet.value == 1


@cocotb.test()
async def landed_only_after_a_read(dut) -> None:
    """The bridge's answer to a write is not enough: a read behind it has to come back."""
    buffer = await start(dut)
    held = True
    buffer.host.read_if.r_channel.set_pause_generator(iter(lambda: held, None))
    for n in range(5):
        await buffer.put(n * 32 * PAGE, random.randbytes(2 * PAGE))
    await harness.step(dut.clk, 1000)
    assert buffer.bursts == [64] * 10 and buffer.landed == 0
    assert dut.quiet.value == 0
    held = False
    await buffer.wait_landed(5)


@cocotb.test()
@cocotb.parametrize(("share", [0.0, 0.5]))
async def gets_are_what_host_memory_holds(dut, share: float) -> None:
    """Pages and parts of them, from every piece for reads."""
    buffer = await start(dut)
    for channel in (buffer.host.read_if.ar_channel, buffer.host.read_if.r_channel):
        channel.set_pause_generator(harness.stalls(share))
    for n in range(32):
        address = HALF + n // 2 * PIECE + (n % 2) * (PIECE - PAGE)
        data = random.randbytes(PAGE)
        buffer.host.write(buffer.pieces.place(address), data)
        beats = random.randrange(1, 65)
        found = await buffer.get(address, beats)
        assert b"".join(word for word, _ in found) == data[: 64 * beats]
        assert not any(lost for _, lost in found)


@cocotb.test()
async def what_is_refused(dut) -> None:
    """Writes, reads behind writes and gets that are refused are told to whom it concerns."""
    buffer = await start(dut)
    refused: set[int] = set()
    harness.refuse(buffer.host, refused)
    page = bytes(PAGE)
    for refuse, bad in ((set(), 0), ({buffer.pieces.place(64)}, 1), (set(), 1)):
        refused.clear()
        refused.update(refuse)
        landed = buffer.landed
        await buffer.put(0, 2 * page)
        await buffer.wait_landed(landed + 1)
        assert buffer.bad == bad
    refused.add(buffer.pieces.place(HALF + 128))
    found = await buffer.get(HALF, 4)
    assert [lost for _, lost in found] == [False, False, True, False]
    refused.clear()
    refused.add(buffer.pieces.place(4 * PAGE))
    buffer.host.write_if._write = type(buffer.host.write_if)._write.__get__(buffer.host.write_if)
    await buffer.put(4 * PAGE, page)
    await buffer.wait_landed(4)
    assert buffer.bad == 2


@harness.provocation
async def mark_without_room(dut) -> None:
    """More commands that wait for their read than there can be."""
    buffer = await start(dut)
    buffer.host.read_if.ar_channel.pause = True
    for n in range(40):
        await buffer.put(64 * n, bytes(64))
    await harness.step(dut.clk, 100)


def run(**options: object) -> None:
    """Build the module and simulate it."""
    simulate(__file__, "fb_buffer_host", filelist="rtl/top/hostdram.f", **options)


def test_host() -> None:
    """Run all coroutines."""
    run()


@pytest.mark.parametrize(("testcase", "message"), [("mark_without_room", "a_mark_has_room")])
def test_assertion_fires(testcase: str, message: str) -> None:
    """The assertion stops the simulation."""
    run(testcase=testcase, expect_failure=message)
