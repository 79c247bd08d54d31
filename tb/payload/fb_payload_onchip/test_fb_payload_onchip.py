# SPDX-License-Identifier: Apache-2.0
"""fb_payload_onchip between the streams' side and the BAR's."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.triggers import Combine

import harness
from barside import BarSide
from runner import simulate
from streamside import StreamSide

PAGE = 4096


async def start(dut) -> tuple[StreamSide, BarSide]:
    """Reset with everything idle."""
    harness.clear(dut.streams, "write_[vade]*", "read_[vafc]*", "restart")
    harness.clear(
        dut.bar_memory, "write_[vads]*", "read_valid", "read_addr", "read_stays", "next_*"
    )
    streams, ssd = StreamSide(dut), BarSide(dut, int(dut.ReadLatency.value))
    await harness.start(dut)
    await harness.step(dut.clk)
    return streams, ssd


async def to_the_ssd(streams: StreamSide, ssd: BarSide, rounds: int) -> None:
    """What is committed is what the SSD reads."""
    for n in range(1, rounds + 1):
        address = random.randrange(4) * PAGE
        data = random.randbytes(64 * random.randrange(1, 65))
        await streams.write(address, data, late=random.random() < 0.3)
        await streams.wait_committed(n)
        assert (await ssd.read(address, len(data))).data == data
        await harness.step(streams.dut.clk)  # what is read comes in the middle of a cycle


async def from_the_ssd(streams: StreamSide, ssd: BarSide, rounds: int) -> None:
    """What the SSD has written is what is read, and nothing of it is lost."""
    image = bytearray(4 * PAGE)
    await ssd.write(4 * PAGE, image)
    for _ in range(rounds):
        at = random.randrange(len(image) - 600)
        data = random.randbytes(random.choice([1, 64, 128, 600]))
        image[at : at + len(data)] = data
        await ssd.write(4 * PAGE + at, data)
        page, beats = at // PAGE * PAGE, random.randrange(1, 65)
        found = await streams.read(4 * PAGE + page, beats)
        assert found == image[page : page + 64 * beats]
    assert not any(streams.lost)


@cocotb.test()
@cocotb.parametrize(share=[0.0, 0.5])
async def both_ways(dut, share: float) -> None:
    """Streams and SSD reach the same bytes, both ways at once."""
    streams, ssd = await start(dut)
    ssd.stall(share)
    ways = (to_the_ssd(streams, ssd, 20), from_the_ssd(streams, ssd, 20))
    await Combine(*(cocotb.start_soon(way) for way in ways))
    assert streams.bad == 0 and dut.streams.quiet.value == 1


@cocotb.test()
async def reads_have_every_cycle(dut) -> None:
    """A page is read in 64 cycles and the latency."""
    streams, _ = await start(dut)
    begin = harness.cycle()
    await streams.read(0, 64)
    assert harness.cycle() - begin <= 64 + int(dut.ReadLatency.value) + 2


@cocotb.test()
async def restart_forgets(dut) -> None:
    """What was requested before a restart is not answered after it."""
    streams, _ = await start(dut)
    await streams.request(0, 1)
    dut.streams.restart.value = 1
    await harness.step(dut.clk)
    dut.streams.restart.value = 0
    count = len(streams.words)
    await harness.step(dut.clk, 2 * int(dut.ReadLatency.value))
    assert len(streams.words) == count


@pytest.mark.parametrize(("pages", "latency"), [(16, 3), (32, 16)])
def test_onchip(pages: int, latency: int) -> None:
    """Run all coroutines with these parameters."""
    parameters = {"Pages": pages, "ReadLatency": latency}
    simulate(
        __file__,
        "fb_payload_onchip",
        parameters,
        filelist="rtl/top/onchip.f",
        interfaces={
            "bar_memory": "fb_bar_memory_if #(.AddrBits(WordBits))",
            "streams": "fb_payload_stream_if #(.AddrBits(WordBits))",
        },
    )
