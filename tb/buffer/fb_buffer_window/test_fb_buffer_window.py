# SPDX-License-Identifier: Apache-2.0
"""fb_buffer_window with its memory, driven by cocotbext-axi."""

from __future__ import annotations

import random
from pathlib import Path

import cocotb
import pytest
from cocotb.triggers import Combine, FallingEdge, Lock
from cocotbext.axi import AxiBurstType, AxiMaster, AxiResp

import harness
from runner import simulate

BASE = 0x0000_7F3A_9600_0000
PAGE = 4096


class Window:
    """The device under test, its AXI master and a copy of the bytes it should hold."""

    def __init__(self, dut, master: AxiMaster) -> None:
        self.dut = dut
        self.master = master
        self.size = 64 << len(dut.a_addr)
        self.pages = self.size // PAGE
        self.lists = 1 << len(dut.s_axi_data_araddr) - 1  # where the PRP lists begin
        self.port_a = Lock()

    async def peek(self, word: int) -> bytes:
        """Read 64 bytes through the stream side's port."""
        dut = self.dut
        async with self.port_a:
            await harness.step(dut.clk)
            dut.a_en.value, dut.a_we.value, dut.a_addr.value = 1, 0, word
            await harness.step(dut.clk)
            dut.a_en.value = 0
            await harness.step(dut.clk, int(dut.ReadLatency.value) - 1)
            await FallingEdge(dut.clk)
            return int(dut.a_rdata.value).to_bytes(64, "little")

    def list_page(self, page: int) -> bytes:
        """Return the PRP list that must be found at a page of the upper half."""
        entries = [BASE + (page + n) * PAGE % self.lists for n in range(PAGE // 8)]
        return b"".join(entry.to_bytes(8, "little") for entry in entries)


async def start(dut) -> Window:
    """Reset with everything idle."""
    dut.data_window.value = BASE
    for name in ("a_en", "a_we", "a_addr", "a_wdata"):
        getattr(dut, name).value = 0
    master = harness.axi_master(dut, "s_axi_data")
    await harness.start(dut)
    return Window(dut, master)


async def mixed(window: Window, first: int, span: int, rounds: int) -> None:
    """Write and read at random within a stretch that no other coroutine uses."""
    held = bytearray(span)
    await window.master.write(first, bytes(held))
    for _ in range(rounds):
        at = random.randrange(span)
        length = min(
            random.choice([1, 4, 63, 64, 65, 512, 4096, random.randrange(1, 6000)]), span - at
        )
        size = random.choice([None, None, 6, 5, 3, 2, 0]) if length < 300 else None
        if random.random() < 0.5:
            data = random.randbytes(length)
            answer = await window.master.write(first + at, data, size=size)
            held[at : at + length] = data
        else:
            answer = await window.master.read(first + at, length, size=size)
            assert answer.data == held[at : at + length]
        assert answer.resp == AxiResp.OKAY
    for word in random.sample(range(span // 64), 5):
        assert await window.peek(first // 64 + word) == held[64 * word : 64 * word + 64]


@cocotb.test()
@cocotb.parametrize(request=[0.0, 0.6], answer=[0.0, 0.6])
async def random_bursts(dut, request: float, answer: float) -> None:
    """Bytes written are read again, by three users at once, narrow and wide, aligned and odd."""
    window = await start(dut)
    harness.stall_master(window.master, request, answer)
    span = min(3 * PAGE, window.size // 4)
    firsts = [0, window.size // 2, window.size - span]
    await Combine(*(cocotb.start_soon(mixed(window, first, span, 25)) for first in firsts))


@cocotb.test()
async def prp_lists(dut) -> None:
    """The upper half reads as PRP lists, in bursts, in beats of eight bytes and of one."""
    window = await start(dut)
    harness.stall_master(window.master, 0.3, 0.3)
    for page in [0, window.pages - 1, *random.sample(range(window.pages), 4)]:
        want = window.list_page(page)
        at = window.lists + page * PAGE
        assert (await window.master.read(at, PAGE)).data == want
        for size, length in ((3, 8), (3, 256), (4, 100), (0, 9)):
            offset = random.randrange(PAGE - length)
            answer = await window.master.read(at + offset, length, size=size)
            assert answer.data == want[offset : offset + length]
            assert answer.resp == AxiResp.OKAY


@cocotb.test()
async def refusals(dut) -> None:
    """FIXED and WRAP bursts and writes to PRP lists get SLVERR and change nothing."""
    window = await start(dut)
    before = random.randbytes(256)
    await window.master.write(PAGE, before)
    for burst in (AxiBurstType.FIXED, AxiBurstType.WRAP):
        answer = await window.master.write(PAGE, bytes(128), burst=burst)
        assert answer.resp == AxiResp.SLVERR
        answer = await window.master.read(PAGE, 128, burst=burst)
        assert answer.resp == AxiResp.SLVERR
    answer = await window.master.write(window.lists + PAGE, bytes(256))
    assert answer.resp == AxiResp.SLVERR
    if window.size < window.lists:
        answer = await window.master.write(window.size + PAGE, bytes(256))
        assert answer.resp == AxiResp.SLVERR
    assert (await window.master.read(PAGE, 256)).data == before
    assert (await window.master.read(window.lists + PAGE, PAGE)).data == window.list_page(1)


@cocotb.test()
async def write_data_first(dut) -> None:
    """W beats that come long before their address wait for it."""
    window = await start(dut)
    window.master.write_if.aw_channel.pause = True
    data = random.randbytes(640)
    write = window.master.init_write(0, data)
    await harness.step(dut.clk, 40)
    window.master.write_if.aw_channel.pause = False
    await write.wait()
    assert (await window.master.read(0, 640)).data == data


@cocotb.test()
async def read_rate_and_latency(dut) -> None:
    """Reads stream at 64 B a cycle across bursts of any length; the first comes soon."""
    window = await start(dut)
    latency = int(dut.ReadLatency.value)
    asked: list[int] = []
    came: list[int] = []
    cocotb.start_soon(
        harness.record(dut.clk, dut.s_axi_data_arvalid, dut.s_axi_data_arready, asked)
    )
    cocotb.start_soon(harness.record(dut.clk, dut.s_axi_data_rvalid, dut.s_axi_data_rready, came))
    await window.master.read(0, 64)
    dut._log.info("AR to R: %d cycles", came[0] - asked[0])
    assert came[0] - asked[0] == latency + 2
    for length, count in ((PAGE, 8), (64, 64), (128, 64), (192, 40)):
        came.clear()
        reads = [window.master.init_read(n * length % window.size, length) for n in range(count)]
        for read in reads:
            await read.wait()
        dut._log.info("%d reads of %d: %.3f beats/cycle", count, length, harness.rate(came))
        # The master's own address channel gives at most one burst a cycle.
        assert harness.rate(came) == 1.0


@cocotb.test()
async def write_rate_and_latency(dut) -> None:
    """Writes stream at 64 B a cycle across bursts; B is offered two cycles after the last W."""
    window = await start(dut)
    sent: list[int] = []
    done: list[int] = []
    cocotb.start_soon(harness.record(dut.clk, dut.s_axi_data_wvalid, dut.s_axi_data_wready, sent))
    cocotb.start_soon(harness.record(dut.clk, dut.s_axi_data_bvalid, dut.s_axi_data_bready, done))
    await window.master.write(0, bytes(64))
    dut._log.info("W to B: %d cycles", done[0] - sent[0])
    assert done[0] - sent[0] == 2
    for length, count in ((PAGE, 8), (64, 64), (128, 64)):
        sent.clear()
        writes = [
            window.master.init_write(n * length % window.size, bytes(length)) for n in range(count)
        ]
        for write in writes:
            await write.wait()
        dut._log.info("%d writes of %d: %.3f beats/cycle", count, length, harness.rate(sent))
        assert harness.rate(sent) == 1.0


@cocotb.test()
async def both_directions(dut) -> None:
    """Reads and writes at once share the port evenly and fill it."""
    window = await start(dut)
    sent: list[int] = []
    came: list[int] = []
    cocotb.start_soon(harness.record(dut.clk, dut.s_axi_data_wvalid, dut.s_axi_data_wready, sent))
    cocotb.start_soon(harness.record(dut.clk, dut.s_axi_data_rvalid, dut.s_axi_data_rready, came))
    half = window.size // 2
    reads = [window.master.init_read(n * PAGE % half, PAGE) for n in range(8)]
    writes = [window.master.init_write(half + n * PAGE % half, bytes(PAGE)) for n in range(8)]
    for operation in reads + writes:
        await operation.wait()
    dut._log.info("reads %.3f, writes %.3f beats/cycle", harness.rate(came), harness.rate(sent))
    assert harness.rate(came) > 0.49 and harness.rate(sent) > 0.49


@cocotb.test()
async def reset_in_burst(dut) -> None:
    """After a reset in the middle of bursts all works, and what was whole is still there."""
    window = await start(dut)
    kept = random.randbytes(PAGE)
    await window.master.write(0, kept)
    for _ in range(5):
        window.master.init_write(PAGE, bytes(2 * PAGE))
        window.master.init_read(0, 2 * PAGE)
        await harness.step(dut.clk, random.randrange(3, 60))
        await harness.reset(dut, 2)
        await harness.step(dut.clk, 2)
        assert (await window.master.read(0, PAGE)).data == kept
        fresh = random.randbytes(200)
        await window.master.write(3 * PAGE + 7, fresh)
        assert (await window.master.read(3 * PAGE + 7, 200)).data == fresh


async def start_bare(dut) -> None:
    """Reset without a bus model, for provocations that drive the port themselves."""
    harness.clear(
        dut, "a_en", "a_we", "s_axi_data_a[wr]*[!y]", "s_axi_data_w*[!y]", "s_axi_data_[br]ready"
    )
    await harness.start(dut)
    await harness.step(dut.clk, 2)


@harness.provocation
async def early_wlast(dut) -> None:
    """WLAST that does not match AWLEN must be noticed."""
    await start_bare(dut)
    dut.s_axi_data_awlen.value, dut.s_axi_data_awburst.value = 3, 1
    dut.s_axi_data_awvalid.value, dut.s_axi_data_wvalid.value = 1, 1
    dut.s_axi_data_wlast.value = 1
    await harness.step(dut.clk, 1)
    dut.s_axi_data_awvalid.value = 0
    await harness.step(dut.clk, 5)


@harness.provocation
async def flood_answers(dut) -> None:
    """A read FIFO that overflows must be noticed: the count of beats in flight is broken."""
    window = await start(dut)
    window.master.read_if.r_channel.pause = True
    window.master.init_read(0, PAGE)
    for _ in range(60):
        await harness.step(dut.clk)
        dut.u_window.in_flight_q.value = 0
    await harness.step(dut.clk, 5)


@harness.provocation
async def word_unannounced(dut) -> None:
    """A word from memory without its description must be noticed."""
    window = await start(dut)
    window.master.read_if.r_channel.pause = True
    await harness.step(dut.clk, 2)
    dut.u_window.arriving_q.value = 1
    await harness.step(dut.clk, 8)


@harness.provocation
async def idle_turn(dut) -> None:
    """A turn at port B for a burst of which no beat has come must be noticed."""
    await start_bare(dut)
    dut.s_axi_data_awburst.value, dut.s_axi_data_awvalid.value = 1, 1
    await harness.step(dut.clk, 1)
    dut.s_axi_data_awvalid.value = 0
    await FallingEdge(dut.clk)
    assert dut.u_window.write_valid.value == 1
    dut.u_window.beat_last_q.value = 1
    dut.u_window.write_turn_q.value = 1
    await harness.step(dut.clk, 2)


@harness.provocation
async def withdrawn_address(dut) -> None:
    """The port's stream checkers are connected: AR withdrawn before ARREADY."""
    await start_bare(dut)
    dut.s_axi_data_arburst.value, dut.s_axi_data_arlen.value = 1, 63
    dut.s_axi_data_arvalid.value = 1
    await harness.until(dut.clk, dut.s_axi_data_arready, 0)
    await harness.step(dut.clk, 3)
    dut.s_axi_data_arvalid.value = 0
    await harness.step(dut.clk, 3)


@harness.provocation
@cocotb.parametrize(channel=["aw", "w", "b", "r"])
async def withdraw(dut, channel: str) -> None:
    """Each of the port's stream checkers is connected."""
    await start_bare(dut)
    await harness.withdraw(dut.clk, getattr(dut.u_window, f"u_check_{channel}"))


def run(pages: int, latency: int, unit: int = 0, **options: object) -> None:
    """Build the window with its memory and simulate it."""
    simulate(
        __file__,
        "fb_buffer_window_tb",
        {"Pages": pages, "ReadLatency": latency, "UnitBits": unit},
        filelist="rtl/top/onchip.f",
        extra_sources=[Path(__file__).parent / "fb_buffer_window_tb.sv"],
        **options,
    )


@pytest.mark.parametrize(("pages", "latency", "unit"), [(16, 1, 0), (1024, 3, 0), (1024, 3, 2)])
def test_window(pages: int, latency: int, unit: int) -> None:
    """Run all coroutines at this size and latency."""
    run(pages, latency, unit)


@pytest.mark.parametrize(
    ("testcase", "message"),
    [
        ("early_wlast", "wlast_matches_awlen"),
        ("flood_answers", "fifos_have_room"),
        ("word_unannounced", "beats_before_words"),
        ("idle_turn", "turns_have_work"),
        ("withdrawn_address", "s_axi_data AR: valid fell"),
        ("withdraw/channel=aw", "s_axi_data AW: valid fell"),
        ("withdraw/channel=w", "s_axi_data W: valid fell"),
        ("withdraw/channel=b", "s_axi_data B: valid fell"),
        ("withdraw/channel=r", "s_axi_data R: valid fell"),
    ],
)
def test_assertion_fires(testcase: str, message: str) -> None:
    """The assertion stops the simulation."""
    run(1024, 3, testcase=testcase, expect_failure=message)
