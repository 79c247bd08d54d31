# SPDX-License-Identifier: Apache-2.0
"""fb_store_recorder by its registers, between cocotbext-axi's streams, against the layout."""

from __future__ import annotations

import random
import struct

import cocotb
from cocotb.triggers import with_timeout
from cocotbext.axi import AxiStreamSink, AxiStreamSource

import harness
from extents import PAGE, PATIENCE_US, Extent, Reader, Region, Row, Streamer, blocks_of, extent
from forebay import recorder_regs as regs
from forebay import spec
from runner import simulate

ENABLE, DATA_RING, JOURNAL_RING, FLUSH = (1 << bit for bit in range(4))
JOURNAL = 1 << 40  # above all data
ORDERS = 16


class Bench:
    """All streams of the recorder, its registers, and what has to come of a recording."""

    def __init__(self, dut, fail: float = 0.0) -> None:
        self.dut = dut
        self.streamer, self.reader = Streamer(dut, fail), Reader(dut, fail)
        self.control = harness.axil_master(dut, "s_axil_rec")
        self.objects = harness.axi_stream(AxiStreamSource, dut, "s_axis_object")
        self.heads = harness.axi_stream(AxiStreamSource, dut, "s_axis_head")
        self.fetched = harness.axi_stream(AxiStreamSink, dut, "m_axis_object")
        self.fetched_heads = harness.axi_stream(AxiStreamSink, dut, "m_axis_head")
        self.region = Region(0, 0, False)
        self.due: list[Row] = []
        self.number = 0

    def stall(self, idle: float, stall: float) -> None:
        """Pause sources and sinks at random."""
        for source in (self.objects, self.heads, self.reader.data):
            source.set_pause_generator(harness.stalls(idle))
        sinks = (self.streamer.sink, self.reader.sink, self.fetched, self.fetched_heads)
        for each in (*sinks, self.streamer.answers):
            each.set_pause_generator(harness.stalls(stall))

    async def put(self, name: str, value: int) -> None:
        """Write a register."""
        write = self.control.write_qword(getattr(regs, name.upper()), value)
        await with_timeout(write, PATIENCE_US, "us")

    async def get(self, name: str, field: str | None = None) -> int:
        """Read a register, or a field of it."""
        read = self.control.read_qword(getattr(regs, name.upper()))
        value = await with_timeout(read, PATIENCE_US, "us")
        if field is None:
            return value
        high, low = regs.FIELDS[name][field]
        return value >> low & (1 << high - low + 1) - 1

    async def begin(self, pages: int, journal_pages: int = 100, control: int = 0) -> None:
        """Begin a recording into regions of so many pages."""
        self.number = random.getrandbits(64)
        self.region = Region(random.getrandbits(20) * PAGE, pages * PAGE, bool(control & DATA_RING))
        self.due = []
        settings = {
            "recording": self.number,
            "data_address": self.region.base,
            "data_bytes": self.region.size,
            "journal_address": JOURNAL,
            "journal_bytes": journal_pages * PAGE,
            "control": control | ENABLE,
        }
        for name, value in settings.items():
            await self.put(name, value)

    def send(self, what: Extent) -> None:
        """Queue an extent, and remember where it has to lie."""
        self.objects.send_nowait(what.frame())
        self.heads.send_nowait(what.word())
        self.due += self.region.place(what)

    async def until(self, name: str, field: str, value: int = 0) -> None:
        """Read a field until it has this value."""
        for _ in range(2000):
            if await self.get(name, field) == value:
                return
        raise TimeoutError(f"{name}.{field} is not {value}")

    async def end(self) -> None:
        """End the recording, as software does it."""
        while not (self.objects.empty() and self.objects.idle()):
            await harness.step(self.dut.clk)
        await self.put("control", await self.get("control") & ~ENABLE)
        await self.until("status", "open")
        await self.until("status", "waiting")
        await self.put("sync", 1)
        await self.until("sync", "busy")
        assert await self.get("status", "rows") == 0

    async def check(self, rows_lost: int = 0) -> list[int]:
        """Compare data, rows and counters with what has to be; returns the rows' flags."""
        answered = list(zip(self.streamer.writes, self.streamer.codes, strict=True))
        data = [(write, code) for write, code in answered if write.address < JOURNAL]
        journal = [(write, code) for write, code in answered if write.address >= JOURNAL]
        assert [write for write, _ in data] == self.region.writes
        codes = iter([code for _, code in data])
        skipped = spec.JOURNAL_SKIPPED
        due = [row if row.flags & skipped else row._replace(code=next(codes)) for row in self.due]
        blocks = list(blocks_of([write for write, _ in journal]))
        assert [block.number for block in blocks] == list(range(len(blocks)))
        assert all(block.recording == self.number for block in blocks)
        rows = [Row.parse(row) for block in blocks for row in block.rows]
        assert [row for row, _ in rows] == due[: len(due) - rows_lost]
        times = [time for _, time in rows]
        assert times == sorted(times)
        failed = [row for row in due if row.code]
        skips = [row for row in due if row.flags & skipped]
        stored = [row for row in due if not row.code and not row.flags & skipped]
        for name, those in {"stored": stored, "skipped": skips, "failed": failed}.items():
            assert await self.get(f"{name}_extents") == len(those)
            assert await self.get(f"{name}_bytes") == sum(row.length for row in those)
        assert await self.get("blocks", "written") == len(blocks)
        assert await self.get("blocks", "failed") == sum(code != 0 for _, code in journal)
        assert await self.get("rows_lost") == rows_lost
        assert await self.get("data_position") == self.region.at
        self.streamer.writes.clear()
        self.streamer.codes.clear()
        return [row.flags for row in due]


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.4], control=[0, DATA_RING | FLUSH | 300 << 32])
async def any_recordings(dut, stall: float, control: int) -> None:
    """Data, journal and counters agree, and each recording begins anew."""
    bench = Bench(dut, fail=0.2)
    bench.stall(stall, stall)
    await harness.start(dut)
    for count in (25, 1, 90):
        await bench.begin(6 if control & DATA_RING else 10, control=control)
        for _ in range(count):
            length = random.randrange(1, 100) if count > 30 else None
            bench.send(extent(length))
        await bench.end()
        flushes = {write.flush for write in bench.streamer.writes if write.address >= JOURNAL}
        assert flushes == {bool(control & FLUSH)}
        await bench.check()


@cocotb.test()
async def waits_while_disabled(dut) -> None:
    """Extents wait for `enable`; a recording that has rows left goes on with the next one."""
    bench = Bench(dut)
    await harness.start(dut)
    await bench.begin(50)
    for _ in range(3):
        bench.send(extent())
    await bench.until("stored_extents", "extents", len(bench.due))
    await bench.put("control", 0)
    bench.send(extent())
    await harness.step(dut.clk, 300)
    assert await bench.get("stored_extents") == len(bench.due) - 1
    assert await bench.get("status", "rows") == len(bench.due) - 1
    await bench.put("control", ENABLE)
    await bench.end()
    await bench.check()


@cocotb.test()
async def journal_without_room(dut) -> None:
    """Rows that find no room are counted; the data are stored, and the counters say so."""
    bench = Bench(dut)
    await harness.start(dut)
    await bench.begin(200, journal_pages=1)
    for _ in range(spec.JOURNAL_ROWS + 20):
        bench.send(extent(random.randrange(1, 70)))
    await bench.end()
    await bench.check(rows_lost=20)
    await bench.begin(4)
    bench.send(extent(1))
    await bench.end()
    await bench.check()


@cocotb.test()
async def fetches(dut) -> None:
    """Objects come by order of registers; an order without bytes or room is refused."""
    bench = Bench(dut, fail=0.3)
    await harness.start(dut)
    bench.reader.sink.pause = True
    await bench.put("fetch_bytes", 0)
    await bench.put("fetch", 1)
    assert await bench.get("fetch", "refused") == 1
    await bench.put("fetch", 2)
    assert await bench.get("fetch") == 0
    orders = []
    for _ in range(ORDERS + 1):
        orders.append((random.getrandbits(64), random.randrange(1, 500), random.getrandbits(64)))
        for name, value in zip(("address", "bytes", "object"), orders[-1], strict=True):
            await bench.put(f"fetch_{name}", value)
        assert await bench.get("fetch", "refused") == 0
        await bench.put("fetch", 1)
    assert await bench.get("fetch", "refused") == 1
    assert await bench.get("status", "fetches") == ORDERS
    bench.reader.sink.pause = False
    await bench.until("status", "fetches")
    await bench.until("status", "fetching")
    assert bench.reader.commands == [order[:2] for order in orders[:ORDERS]]
    for (_, length, number), (data, code) in zip(orders, bench.reader.sent, strict=False):
        word = bytes((await bench.fetched_heads.recv()).tdata)
        assert struct.unpack("<QQ", word) == (number, length)
        assert bytes((await bench.fetched.recv()).tdata) == data + (bytes([code]) if code else b"")
    failed = sum(code != 0 for _, code in bench.reader.sent)
    assert await bench.get("fetched") == ORDERS | failed << 32 and failed
    # A recording does not begin these anew.
    await bench.begin(4)
    assert await bench.get("fetched", "objects") == ORDERS


@cocotb.test()
async def element_settings(dut) -> None:
    """Settings of elements go out word by word, keep the bytes that are not written, and reset."""
    bench = Bench(dut)
    await harness.start(dut)
    words = [bytearray(8) for _ in range(8)]
    for _ in range(60):
        which, length = random.randrange(8), random.choice([1, 2, 4, 8])
        at, data = random.randrange(0, 8, length), random.randbytes(length)
        words[which][at : at + length] = data
        await bench.control.write(regs.ELEMENTS + 8 * which + at, data)
        assert dut.element.value.to_bytes(byteorder="little") == b"".join(words)
        probe = random.randrange(8)
        found = await bench.control.read_qword(regs.ELEMENTS + 8 * probe)
        assert found == int.from_bytes(words[probe], "little")
    await harness.reset(dut)
    assert dut.element.value == 0


@cocotb.test()
async def identity(dut) -> None:
    """Software can tell what it has before it."""
    bench = Bench(dut)
    await harness.start(dut)
    assert (await bench.get("version") >> 32).to_bytes(4, "little") == b"FBR1"


@cocotb.test()
async def reset_in_mid_extent(dut) -> None:
    """A reset ends the recording with all that it had; the next one is whole."""
    bench = Bench(dut)
    await harness.start(dut)
    for _ in range(6):
        await bench.begin(30, control=1 << 32)
        for _ in range(6):
            bench.send(extent())
        await harness.step(dut.clk, random.randrange(1, 400))
        await harness.reset(dut, 2)
        for each in (bench.objects, bench.heads):
            each.clear()
        bench.streamer.forget()
        await harness.step(dut.clk, 4)
        assert await bench.get("control") == await bench.get("stored_extents") == 0
        await bench.begin(30)
        for _ in range(3):
            bench.send(extent())
        await bench.end()
        await bench.check()


def test_recorder() -> None:
    """Run the coroutines above."""
    simulate(__file__, "fb_store_recorder")
