# SPDX-License-Identifier: Apache-2.0
"""fb_payload_host between the streams' side and host memory behind a bridge that posts writes."""

from __future__ import annotations

import random

import cocotb
from cocotb.triggers import FallingEdge

import harness
from buffer_segments import SEGMENT, BufferSegments
from memory import LateRam
from runner import simulate
from streamside import StreamSide

PAGE = 4096
HALF = 16 * SEGMENT


class Buffer(StreamSide):
    """The device under test and its two sides."""

    def __init__(self, dut) -> None:
        super().__init__(dut, dut.m_axi_write)
        self.segments = BufferSegments(dut)
        bus = harness.axi_halves(dut, "m_axi")
        self.host = LateRam(bus, dut.clk, dut.rst, self.segments.span, posted=True)

    def stored(self, address: int, count: int) -> bytes:
        """What host memory holds of a part of the buffer within a page."""
        return self.host.read(self.segments.place(address), count)


async def start(dut) -> Buffer:
    """Reset with everything idle, and set the segments."""
    harness.clear(dut.streams, "write_[vade]*", "read_[vafc]*", "restart")
    harness.clear(dut.streams, "segment_*", "memory_offset")
    buffer = Buffer(dut)
    await harness.start(dut)
    await buffer.segments.set(dut.streams)
    return buffer


@cocotb.test()
@cocotb.parametrize(("share", [0.0, 0.5]))
async def writes_are_in_host_memory(dut, share: float) -> None:
    """What is committed is there, across the end of a segment as well."""
    buffer = await start(dut)
    write, read = buffer.host.write_if, buffer.host.read_if
    for channel in (write.aw_channel, write.w_channel, write.b_channel, read.ar_channel):
        harness.stall(channel, share)
    for n in range(1, 30):
        address = random.choice([0, SEGMENT - 2 * PAGE, 9 * SEGMENT])
        data = random.randbytes(random.choice([512, PAGE, 3 * PAGE, 3 * PAGE + 1024]))
        await buffer.write(address, data)
        await buffer.wait_committed(n)
        for at in range(0, len(data), 512):
            assert buffer.stored(address + at, 512) == data[at : at + 512]
    assert buffer.bad == 0
    await harness.step(dut.clk, 4)
    assert dut.streams.quiet.value == 1


@cocotb.test()
async def offset_is_added(dut) -> None:
    """Where the bridge has host memory elsewhere: both ways, modulo 2^64."""
    buffer = await start(dut)
    for offset in (9 * SEGMENT, 2**64 - 9 * SEGMENT):
        # The registers have bus addresses: where the bridge has them, less the offset.
        await buffer.segments.set(dut.streams, less=offset)
        dut.streams.memory_offset.value = offset
        data = random.randbytes(PAGE)
        committed = buffer.committed
        await buffer.write(SEGMENT, data)
        await buffer.wait_committed(committed + 1)
        assert buffer.stored(SEGMENT, 512) == data[:512]
        buffer.host.write(buffer.segments.place(HALF), data)
        assert await buffer.read(HALF, 64) == data


@cocotb.test()
async def committed_only_after_a_read(dut) -> None:
    """The bridge's answer to a write is not enough: a read behind it has to come back."""
    buffer = await start(dut)
    held = True
    harness.stall(buffer.host.read_if.r_channel, iter(lambda: held, None))
    for n in range(5):
        await buffer.write(n * 32 * PAGE, random.randbytes(2 * PAGE))
    await harness.step(dut.clk, 1000)
    assert buffer.bursts == [64] * 10 and buffer.committed == 0
    assert dut.streams.quiet.value == 0
    held = False
    await buffer.wait_committed(5)


@cocotb.test()
@cocotb.parametrize(("share", [0.0, 0.5]))
async def reads_are_what_host_memory_holds(dut, share: float) -> None:
    """Pages and parts of them, from every segment for reads."""
    buffer = await start(dut)
    for channel in (buffer.host.read_if.ar_channel, buffer.host.read_if.r_channel):
        harness.stall(channel, share)
    for n in range(32):
        address = HALF + n // 2 * SEGMENT + (n % 2) * (SEGMENT - PAGE)
        data = random.randbytes(PAGE)
        buffer.host.write(buffer.segments.place(address), data)
        beats = random.randrange(1, 65)
        found = await buffer.read(address, beats)
        assert found == data[: 64 * beats]
    assert not any(buffer.lost)


@cocotb.test()
@cocotb.parametrize(other_port=[False, True])
async def reads_push_what_a_drive_posted(dut, other_port: bool) -> None:
    """A read sees what a drive wrote before it by the same root port; by another it need not."""
    buffer = await start(dut)
    buffer.host.other_root_port = other_port
    stale = 0
    for n in range(32):
        address, data = HALF + n * PAGE, random.randbytes(PAGE)
        buffer.host.post(buffer.segments.place(address), data)
        stale += await buffer.read(address, 64) != data
    assert (stale > 0) == other_port


@cocotb.test()
async def what_is_refused(dut) -> None:
    """Writes, reads behind writes and reads that are refused are told to whom it concerns."""
    buffer = await start(dut)
    refused: set[int] = set()
    harness.refuse(buffer.host, refused)
    page = bytes(PAGE)
    for refuse, bad in ((set(), 0), ({buffer.segments.place(64)}, 1), (set(), 1)):
        refused.clear()
        refused.update(refuse)
        committed = buffer.committed
        await buffer.write(0, 2 * page)
        await buffer.wait_committed(committed + 1)
        assert buffer.bad == bad
    refused.add(buffer.segments.place(HALF + 128))
    await buffer.read(HALF, 4)
    assert buffer.lost == [False, False, True, False]
    refused.clear()
    refused.add(buffer.segments.place(4 * PAGE))
    # Of what follows only the read behind the data is refused.
    buffer.host.write_if._write = type(buffer.host.write_if)._write.__get__(buffer.host.write_if)
    await buffer.write(4 * PAGE, page)
    await buffer.wait_committed(4)
    assert buffer.bad == 2


@harness.provocation
async def mark_without_room(dut) -> None:
    """More commands that wait for their read than there can be."""
    buffer = await start(dut)
    buffer.host.read_if.ar_channel.pause = True
    for n in range(40):
        await buffer.write(64 * n, bytes(64))
    await harness.step(dut.clk, 1000)


@harness.provocation
@cocotb.parametrize(kind=["writes", "reads"])
async def too_many_under_way(dut, kind: str) -> None:
    """More bursts under way than writer and reader have."""
    await start(dut)
    await FallingEdge(dut.clk)
    getattr(dut.u_dut, f"{kind}_under_q").value = 18
    await harness.step(dut.clk, 2)


def run(**options: object) -> None:
    """Build the module and simulate it."""
    simulate(
        __file__,
        "fb_payload_host",
        filelist="rtl/top/hostdram.f",
        interfaces={
            "streams": "fb_payload_stream_if #(.AddrBits(fb_payload_pkg::DRAM_WORD_BITS))",
            "m_axi_write": "fb_axi_if #(.IdBits(1))",
            "m_axi_read": "fb_axi_if #(.IdBits(1))",
        },
        **options,
    )


def test_host() -> None:
    """Run all coroutines."""
    run()


def test_assertion_fires() -> None:
    """Each assertion fires."""
    run(
        fires={
            "mark_without_room": "a_mark_has_room",
            "too_many_under_way/kind=writes": "a_writes_counted",
            "too_many_under_way/kind=reads": "a_reads_counted",
        }
    )
