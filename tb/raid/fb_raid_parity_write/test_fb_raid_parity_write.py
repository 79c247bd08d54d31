# SPDX-License-Identifier: Apache-2.0
"""fb_raid_parity_write: stripes leave with their parity, at the place that is theirs."""

from __future__ import annotations

import random

import cocotb
from cocotb.triggers import FallingEdge
from cocotbext.axi import AxiStreamFrame, AxiStreamSink, AxiStreamSource

import harness
import structs
from runner import simulate
from stripes import Stripes

PAGE = 4096
PAGES = 2  # of the longest chunk


class Writer:
    """The device under test between a source and a sink."""

    def __init__(self, dut, stripes: Stripes) -> None:
        self.dut, self.stripes = dut, stripes
        self.source = harness.axi_stream(AxiStreamSource, dut, "s_axis_wr")
        self.sink = harness.axi_stream(AxiStreamSink, dut, "m_axis_wr")

    async def send(self, address: int, data: bytes, keep: list[int] | None = None) -> None:
        """Queue one transaction, the flags in its beat 0 set."""
        frame = AxiStreamFrame((address | 3 << 64).to_bytes(64, "little") + data)
        if keep is not None:
            frame.tkeep = [1] * 64 + keep
        await self.source.send(frame)

    async def take(self) -> tuple[int, AxiStreamFrame]:
        """Return the address and all of the next packet."""
        frame = await self.sink.recv(compact=False)
        head = int.from_bytes(bytes(frame.tdata[:64]), "little")
        assert head >> 64 == 3
        return head & (1 << 64) - 1, frame

    async def check(self, address: int, data: bytes) -> None:
        """Compare the next packet with what must come of a good transaction."""
        found, frame = await self.take()
        assert found == self.stripes.moved(address)
        assert bytes(frame.tdata[64:]) == self.stripes.laid_out(data)
        assert all(frame.tkeep)


async def start(dut, drives: int = 4, pages: int = 1, parity: int = 1) -> Writer:
    """Reset with an array."""
    harness.clear(dut, "restart")
    harness.clear(dut.m_axis_wr, "tready")
    dut.cfg.value = structs.pack("cfg_t", drives_m1=drives - 1, strip_m1=pages - 1, parity=parity)
    writer = Writer(dut, Stripes(drives, pages * PAGE))
    await harness.start(dut)
    return writer


@cocotb.test()
@cocotb.parametrize(
    (
        ("drives", "pages", "idle"),
        [(2, 1, 0.3), (2, PAGES, 0.0), (3, PAGES, 0.3), (5, 1, 0.0), (8, 1, 0.3)],
    )
)
async def stripes_have_parity(dut, drives: int, pages: int, idle: float) -> None:
    """Transactions of any length become whole stripes, each followed by the sum of its chunks."""
    writer = await start(dut, drives, pages)
    harness.stall(writer.source, idle)
    harness.stall(writer.sink, idle)
    payload = writer.stripes.payload
    sent = []
    some = random.randrange(1, 2 * payload)
    for length in (1, payload - 64, payload - 1, payload, payload + 1, 2 * payload, some):
        address = random.randrange((1 << 56) // payload) * payload
        sent.append((address, random.randbytes(length)))
        await writer.send(*sent[-1])
    for one in sent:
        await writer.check(*one)


@cocotb.test()
async def rate(dut) -> None:
    """A beat a cycle leaves, parity included, but for the 26 cycles of beat 0."""
    writer = await start(dut, 4, PAGES)
    moved: list[int] = []
    cocotb.start_soon(harness.record(dut.clk, dut.m_axis_wr.tvalid, dut.m_axis_wr.tready, moved))
    for _ in range(3):
        await writer.send(0, bytes(2 * writer.stripes.payload))
    for _ in range(3):
        await writer.check(0, bytes(2 * writer.stripes.payload))
    beats = 3 * (1 + 2 * 4 * PAGES * 64)
    dut._log.info("%d beats in %d cycles", len(moved), moved[-1] - moved[0] + 1)
    assert len(moved) == beats
    assert moved[-1] - moved[0] + 1 <= beats + 2 * 26


@cocotb.test()
async def inside_a_stripe(dut) -> None:
    """What begins inside a stripe leaves at an odd address, without parity, to be refused."""
    writer = await start(dut, 4, PAGES)
    for address in (1, 512, PAGE, PAGES * PAGE, writer.stripes.payload + 64):
        data = random.randbytes(300)
        await writer.send(address, data)
        found, frame = await writer.take()
        assert found & 1 and bytes(frame.tdata[64 : 64 + 300]) == data
        assert sum(frame.tkeep) == 64 + 300


@cocotb.test()
@cocotb.parametrize(("drives", [2, 4]))
async def beyond_all_addresses(dut, drives: int) -> None:
    """An address that cannot be stays one, and is out of range before it is inside a stripe."""
    writer = await start(dut, drives, 1)
    for address in ((1 << 57) - PAGE, 1 << 57, (1 << 57) + PAGE, 1 << 63):
        await writer.send(address, b"x")
        found, _ = await writer.take()
        assert found >> 57, f"{address:#x} became {found:#x}"
        assert address >> 57 == 0 or found & 1 == 0, f"{address:#x} became odd: {found:#x}"


@cocotb.test()
async def broken_rules(dut) -> None:
    """What breaks a rule of the stream leaves as it is, and spoils nothing behind it."""
    writer = await start(dut, 3, 1)
    payload = writer.stripes.payload
    await writer.send(0, b"")
    _, frame = await writer.take()
    assert len(frame.tdata) == 64
    for before in (0, 64, payload, payload + 128):
        for keep in ([0] * 64, [1] * 10 + [0] * 3 + [1] * 51, [0] + [1] * 63):
            data = random.randbytes(before + 64)
            await writer.send(0, data, [1] * before + keep)
            found, frame = await writer.take()
            assert found == 0
            if any(keep) or before % payload == 0:
                # The stripes before are whole; the beat itself ends the packet as it came.
                whole = before // payload * payload
                wanted = writer.stripes.laid_out(data[:whole]) if whole else b""
                wanted += data[whole:before]
                assert bytes(frame.tdata[64:-64]) == wanted
                assert list(frame.tkeep[-64:]) == keep
            else:
                assert bytes(frame.tdata[64:]) == writer.stripes.laid_out(data[:before])
                assert all(frame.tkeep)
            await writer.send(payload, b"good")
            await writer.check(payload, b"good")


@cocotb.test()
async def without_parity(dut) -> None:
    """Where the array has none, packets go through as they are."""
    writer = await start(dut, 4, 1, parity=0)
    for length in (1, 64, 5 * PAGE):
        address, data = random.getrandbits(60), random.randbytes(length)
        await writer.send(address, data)
        found, frame = await writer.take()
        assert found == address and bytes(frame.tdata[64 : 64 + length]) == data


@cocotb.test()
async def restart_in_packet(dut) -> None:
    """A packet that was half taken is taken to its end; one not begun begins anew."""
    writer = await start(dut, 3, 1)
    payload = writer.stripes.payload
    for cycles in (4, 30, 9 + payload // 64 + 20):
        await writer.send(payload, bytes(2 * payload))
        writer.sink.pause = False
        await harness.step(dut.clk, cycles)
        # What follows takes nothing meanwhile.
        writer.sink.pause = True
        await harness.step(dut.clk, 2)
        dut.restart.value = 1
        await harness.step(dut.clk, 3)
        dut.restart.value = 0
        writer.sink.pause = False
        found, _ = await writer.take()
        assert found == writer.stripes.moved(payload)
        await writer.send(0, b"good")
        await writer.check(0, b"good")
        await FallingEdge(dut.clk)
        assert dut.busy.value == 0
    await writer.send(payload, bytes(payload))
    await harness.step(dut.clk, 40)
    writer.source.clear()
    await harness.reset(dut, 3)
    writer.sink.clear()
    await writer.send(0, b"good")
    await writer.check(0, b"good")


def run(**options: object) -> None:
    """Build the module and simulate it."""
    parameters = {"Beats": PAGES * 64}
    simulate(
        __file__,
        "fb_raid_parity_write",
        parameters,
        filelist="rtl/top/onchip.f",
        interfaces={"s_axis_wr": "fb_axis_if", "m_axis_wr": "fb_axis_if"},
        **options,
    )


def test_parity_write() -> None:
    """Run all coroutines."""
    run()
