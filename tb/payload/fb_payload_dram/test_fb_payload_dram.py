# SPDX-License-Identifier: Apache-2.0
"""fb_payload_dram between the streams' side, the BAR's, and AxiRam as memory."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.triggers import FallingEdge
from cocotbext.axi import AxiRam

import harness
from barside import BarSide
from forebay import spec
from runner import simulate
from streamside import StreamSide

pytestmark = pytest.mark.long

PAGE = 4096
HALF = spec.DRAM_WINDOW_BYTES // 2
UNIT = PAGE << spec.DRAM_UNIT_SHIFT
LATENCY = 2


class Buffer(StreamSide):
    """The device under test and its three sides."""

    def __init__(self, dut) -> None:
        super().__init__(dut, dut.m_axi_write)
        self.ssd = BarSide(dut, LATENCY)
        bus = harness.axi_halves(dut, "m_axi")
        self.ram = AxiRam(bus, dut.clk, dut.rst, size=spec.DRAM_WINDOW_BYTES)
        for half in (self.ram.write_if, self.ram.read_if):
            half.log.setLevel("WARNING")

    def stall(self, share: float) -> None:
        """Pause every channel at random."""
        self.ssd.stall(share)
        write, read = self.ram.write_if, self.ram.read_if
        for channel in (write.aw_channel, write.w_channel, write.b_channel):
            harness.stall(channel, share)
        for channel in (read.ar_channel, read.r_channel):
            harness.stall(channel, share)


async def start(dut) -> Buffer:
    """Reset with everything idle."""
    harness.clear(dut.streams, "write_[vade]*", "read_[vafc]*", "restart")
    harness.clear(
        dut.bar_memory, "write_[vads]*", "read_valid", "read_addr", "read_stays", "next_*"
    )
    dut.streams.dram_read.value = HALF
    dut.streams.dram_write.value = 0
    buffer = Buffer(dut)
    await harness.start(dut)
    return buffer


@cocotb.test()
@cocotb.parametrize(("share", [0.0, 0.5]))
async def writes_reach_the_ssd(dut, share: float) -> None:
    """What is committed is what the SSD reads, also where it read the same page before."""
    buffer = await start(dut)
    buffer.stall(share)
    for n in range(1, 30):
        unit = random.randrange(8) * UNIT
        data = random.randbytes(random.choice([512, PAGE, 3 * PAGE, 3 * PAGE + 1024]))
        await buffer.write(unit, data, late=random.random() < 0.3)
        await buffer.wait_committed(n)
        at = 0
        while at < len(data):
            count = min(random.choice([64, 512, PAGE]), len(data) - at, PAGE - at % PAGE)
            answer = await buffer.ssd.read(unit + at, count)
            assert bytes(answer.data) == data[at : at + count]
            at += count
    assert dut.streams.quiet.value == 1


@cocotb.test()
@cocotb.parametrize(("share", [0.0, 0.5]))
async def reads_see_what_the_ssd_wrote(dut, share: float) -> None:
    """A read sees every write that was answered before it, whatever its size and strobes."""
    buffer = await start(dut)
    buffer.stall(share)
    image = bytearray(8 * PAGE)
    for _ in range(40):
        at = random.randrange(8 * PAGE - 600)
        data = random.randbytes(random.choice([1, 64, 128, 512, 600]))
        await buffer.ssd.write(HALF + at, data)
        image[at : at + len(data)] = data
        page, beats = at // PAGE * PAGE, random.randrange(1, 65)
        found = await buffer.read(HALF + page, beats)
        assert found == image[page : page + 64 * beats]


@cocotb.test()
async def reads_wait_while_the_ssd_writes(dut) -> None:
    """Reads whose turn does not come see no end of the SSD's bursts, yet are served."""
    buffer = await start(dut)
    if int(dut.Channels.value) == 1:
        return  # reads and writes take turns: the SSD's writes wait, too
    pages = [random.randbytes(64) for _ in range(12)]
    for n, data in enumerate(pages):
        await buffer.ssd.write(HALF + n * PAGE, data)
    buffer.ram.read_if.ar_channel.pause = True
    for n in range(len(pages)):
        await buffer.request(HALF + n * PAGE, 1)
    for n in range(200):  # more than half of what the counts hold
        await buffer.ssd.write(HALF + 16 * PAGE + 128 * n, random.randbytes(64))
    assert not buffer.words
    buffer.ram.read_if.ar_channel.pause = False
    assert await buffer.answers(0, len(pages)) == b"".join(pages)
    await harness.until(dut.clk, dut.streams.quiet)


@cocotb.test()
async def bursts_are_pages(dut) -> None:
    """Writes of the stream, and the SSD's writes of 512 bytes in a row, become bursts of 4 KiB."""
    buffer = await start(dut)
    await buffer.write(0, bytes(8 * PAGE))
    await buffer.wait_committed(1)
    assert buffer.bursts == [64] * 8
    buffer.bursts.clear()
    for n in range(32):
        buffer.ssd.post(HALF + 512 * n, bytes(512))
    await harness.step(dut.clk, 600)
    dut._log.info("bursts %s", buffer.bursts)
    assert sum(buffer.bursts) == 256 and len(buffer.bursts) <= 6


@cocotb.test()
async def ahead_of_the_ssd(dut) -> None:
    """After its first page, the SSD finds the next ones at hand."""
    buffer = await start(dut)
    data = random.randbytes(6 * PAGE)
    await buffer.write(0, data)
    await buffer.wait_committed(1)
    times = []
    for n in range(6):
        begin = harness.cycle()
        answer = await buffer.ssd.read(PAGE * n, 64)
        times.append(harness.cycle() - begin)
        assert bytes(answer.data) == data[PAGE * n : PAGE * n + 64]
        await harness.step(dut.clk, 300)
    dut._log.info("cycles %s", times)
    assert max(times[1:]) < times[0] and max(times[1:]) <= 8


@cocotb.test()
async def what_is_refused(dut) -> None:
    """What the memory refuses is told to whom it concerns, once."""
    buffer = await start(dut)
    refused: set[int] = set()
    harness.refuse(buffer.ram, refused)
    refused.add(PAGE + 64)
    for n, bad in ((1, 1), (2, 1)):
        await buffer.write(0, bytes(2 * PAGE))
        await buffer.wait_committed(n)
        assert buffer.bad == bad
        refused.clear()
    # A write of the SSD spoils its unit until it has been read, also one whose burst still grows.
    for word, page in ((0, 0), (3 * PAGE + 64, 3)):
        refused.add(HALF + word)
        await buffer.ssd.write(HALF + word, bytes(64))
        for _ in range(2):
            buffer.lost.clear()
            for at in range(4):
                await buffer.read(HALF + at * PAGE, 1)
            assert buffer.lost == [page <= at for at in range(4)]
            refused.clear()
            page = 4
    refused.add(HALF + 64)
    buffer.lost.clear()
    await buffer.read(HALF, 3)
    assert buffer.lost == [False, True, False]
    refused.add(0)
    assert (await buffer.ssd.read(0, 64)).resp != 0


@cocotb.test()
async def restart_forgets(dut) -> None:
    """What was lost of a unit before a restart fails no read after it."""
    buffer = await start(dut)
    refused = {HALF}
    harness.refuse(buffer.ram, refused)
    await buffer.ssd.write(HALF, bytes(64))
    await harness.step(dut.clk, 100)
    refused.clear()
    dut.streams.restart.value = 1
    await harness.step(dut.clk, 3)
    await harness.until(dut.clk, dut.streams.quiet)
    dut.streams.restart.value = 0
    data = random.randbytes(PAGE)
    await buffer.ssd.write(HALF, data)
    buffer.lost.clear()
    assert await buffer.read(HALF, 64) == data
    assert not any(buffer.lost)


@cocotb.test()
async def restart_with_writes(dut) -> None:
    """A restart closes what is open; all comes to rest, and what follows is whole."""
    buffer = await start(dut)
    buffer.stall(0.3)
    for _ in range(6):
        for n in range(random.randrange(1, 60)):
            dut.streams.write_valid.value = 1
            dut.streams.write_addr.value = n
            dut.streams.write_data.value = 1
            await harness.step(dut.clk)
        dut.streams.write_valid.value = 0
        dut.streams.restart.value = 1
        await harness.step(dut.clk, 3)
        await harness.until(dut.clk, dut.streams.quiet)
        await harness.step(dut.clk)
        dut.streams.restart.value = 0
        buffer.committed = 0
        data = random.randbytes(PAGE)
        await buffer.write(0, data)
        await buffer.wait_committed(1)
        assert bytes((await buffer.ssd.read(0, PAGE)).data) == data


@harness.provocation
async def word_without_room(dut) -> None:
    """A write into a full FIFO."""
    await start(dut)
    await FallingEdge(dut.clk)
    dut.u_dut.u_user_writes.u_words.level_q.value = 512
    dut.u_dut.u_user_writes.u_words.write_q.value = 0
    dut.streams.write_valid.value = 1
    await harness.step(dut.clk, 3)


@harness.provocation
async def answer_ungiven(dut) -> None:
    """The answer to a write that there was not."""
    await start(dut)
    await FallingEdge(dut.clk)
    dut.m_axi_write.bvalid.value = 1
    await harness.step(dut.clk, 3)


@harness.provocation
async def answer_unasked(dut) -> None:
    """Data that were not requested."""
    await start(dut)
    await FallingEdge(dut.clk)
    dut.m_axi_read.rvalid.value = 1
    await harness.step(dut.clk, 3)


@harness.provocation
async def bursts_uncounted(dut) -> None:
    """More bursts are stored than the SSD has begun."""
    await start(dut)
    await FallingEdge(dut.clk)
    dut.u_dut.stored_q.value = 1
    await harness.step(dut.clk, 3)


@harness.provocation
async def read_without_room(dut) -> None:
    """A read request that is taken while their queue is full."""
    await start(dut)
    await FallingEdge(dut.clk)
    dut.u_dut.u_requests.level_q.value = 16
    dut.streams.read_addr.value, dut.streams.read_count.value = 0, 1
    dut.streams.read_valid.value, dut.streams.read_first.value = 1, 1
    await harness.step(dut.clk, 3)


@harness.provocation
async def count_is_old(dut) -> None:
    """A read request is released long after its last burst was stored."""
    buffer = await start(dut)
    buffer.ram.write_if.aw_channel.pause = True
    await buffer.ssd.write(HALF, bytes(64))
    await buffer.request(HALF, 1)
    await harness.step(dut.clk)
    await FallingEdge(dut.clk)
    dut.u_dut.stored_q.value = 31
    dut.u_dut.seen_q.value = 31
    await harness.step(dut.clk, 3)


def run(**options: object) -> None:
    """Build the module and simulate it."""
    simulate(
        __file__,
        "fb_payload_dram",
        filelist="rtl/top/dram.f",
        interfaces={
            "bar_memory": "fb_bar_memory_if #(.AddrBits(fb_payload_pkg::DRAM_WORD_BITS))",
            "streams": "fb_payload_stream_if #(.AddrBits(fb_payload_pkg::DRAM_WORD_BITS))",
            "m_axi_write": "fb_axi_if #(.IdBits(1))",
            "m_axi_read": "fb_axi_if #(.IdBits(1))",
        },
        **options,
    )


@pytest.mark.parametrize("channels", [1, 2])
def test_dram(channels: int) -> None:
    """Run all coroutines, with turns between reads and writes and without."""
    run(parameters={"Channels": channels})


def test_assertion_fires() -> None:
    """Each assertion fires."""
    run(
        fires={
            "word_without_room": "a_word_has_room",
            "answer_ungiven": "a_write_was_given",
            "answer_unasked": "a_read_was_asked",
            "bursts_uncounted": "a_bursts_counted",
            "read_without_room": "a_requests_have_room",
            "count_is_old": "a_no_count_is_old",
        }
    )
