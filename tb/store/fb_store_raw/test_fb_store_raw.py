# SPDX-License-Identifier: Apache-2.0
"""fb_store_raw between a source, a streamer with a drive, and who takes what is read back.

What is on the drive is compared byte by byte with what was offered, but for the gaps.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass
from pathlib import Path

import cocotb
import pytest
from cocotb.triggers import FallingEdge, with_timeout
from cocotbext.axi import AxiStreamFrame, AxiStreamSink, AxiStreamSource

import harness
from extents import Reader
from forebay import raw_regs as regs
from forebay import spec
from runner import simulate

pytestmark = pytest.mark.long

BEAT = spec.USER_BEAT_BYTES
FULL = harness.repeat(1, 0)  # by day only with a source that pauses
UNIT = 16 << 10
MEDIA = 40 * UNIT + 4096
CHUNKS = 4
FIFO = 1024
PATIENCE_US = 200
NONE = 2**64 - 1
FENCE = 1 << spec.USER_WRITE_FENCE_BIT


@dataclass
class Write:
    """A write of the streamer."""

    address: int
    fence: bool
    data: bytes
    code: int = 0
    done: bool = False


class Drive:
    """Takes writes, stores them in any order that fences allow, and responds in theirs."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.medium = bytearray(random.randbytes(MEDIA))
        self.poison = bytes(self.medium)
        self.codes: dict[int, int] = {}  # by the number of the write
        self.pause = 0  # most cycles from one write to the next
        self.silent = False
        self.writes: list[Write] = []
        self.pending: deque[Write] = deque()
        self.sink = harness.axi_stream(AxiStreamSink, dut, "m_axis_wr")
        self.responses = harness.axi_stream(AxiStreamSource, dut, "s_axis_wrsp")
        cocotb.start_soon(self.take())
        cocotb.start_soon(self.store())

    async def take(self) -> None:
        """Take one write after the other."""
        while True:
            packet = bytes((await self.sink.recv(compact=False)).tdata)
            command = int.from_bytes(packet[:BEAT], "little")
            address = command & 2**64 - 1
            assert command & ~FENCE == address, "a reserved bit is set"
            code = self.codes.get(len(self.writes), spec.ERR_OK)
            write = Write(address, bool(command & FENCE), packet[BEAT:], code)
            self.writes.append(write)
            self.pending.append(write)
            assert len(self.pending) <= CHUNKS

    async def store(self) -> None:
        """Store one write after the other; of one that fails noise."""
        while True:
            await harness.step(self.dut.clk, 1 + random.randrange(self.pause + 1))
            if self.silent or not self.pending:
                continue
            free = list(self.pending)
            fences = [n for n, write in enumerate(free) if n and write.fence]
            open_ = [each for each in free[: (fences or [len(free)])[0]] if not each.done]
            write = random.choice(open_)
            write.done = True
            if write.code == spec.ERR_OK:
                self.medium[write.address : write.address + len(write.data)] = write.data
            while self.pending and self.pending[0].done:
                self.responses.send_nowait(AxiStreamFrame([self.pending.popleft().code]))

    def forget(self) -> None:
        """Do as after a reset, with another medium."""
        self.sink.clear()
        self.responses.clear()
        self.writes.clear()
        self.pending.clear()
        self.codes.clear()
        self.medium[:] = self.poison = random.randbytes(MEDIA)


class Bench:
    """The device under test, its source, its drive, software."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.drive = Drive(dut)
        self.reader = Reader(dut)
        self.reader.content = lambda address, length: bytes(
            self.drive.medium[address : address + length]
        )
        self.source = harness.axi_stream(AxiStreamSource, dut, "s_axis_in")
        self.sink = harness.axi_stream(AxiStreamSink, dut, "m_axis_out")
        self.master = harness.axil_master(dut, "s_axil_raw")
        self.sent = b""
        self.chunk = UNIT

    async def start(self, says: bool = True) -> None:
        """Reset, with a drive that is ready."""
        dut = self.dut
        dut.fifo_says.value, dut.fifo_pauses.value, dut.hold.value = says, 0, 0
        dut.media_bytes.value, dut.block_shift.value, dut.now_ns.value = MEDIA, 12, 0
        await harness.start(dut)
        cocotb.start_soon(self.tick())

    async def tick(self) -> None:
        """Let time pass."""
        while True:
            await FallingEdge(self.dut.clk)
            self.dut.now_ns.value = harness.cycle() * harness.PERIOD_NS

    def stall(self, idle: float, stall: float) -> None:
        """Pause sources and sinks at random."""
        for each in (self.source, self.reader.data, self.drive.responses):
            harness.stall(each, idle)
        for each in (self.sink, self.reader.sink, self.drive.sink):
            harness.stall(each, stall)

    async def read(self, name: str) -> int:
        """Read a register."""
        offset = getattr(regs, name.upper())
        return await with_timeout(self.master.read_qword(offset), PATIENCE_US, "us")

    async def write(self, name: str, value: int) -> None:
        """Write one."""
        offset = getattr(regs, name.upper())
        await with_timeout(self.master.write_qword(offset, value), PATIENCE_US, "us")

    async def fields(self, name: str) -> dict[str, int]:
        """Read a register, by fields."""
        value = await self.read(name)
        return {
            field: value >> low & (1 << high - low + 1) - 1
            for field, (high, low) in regs.FIELDS[name].items()
        }

    async def set(self, start: int, count: int, chunk: int = UNIT) -> None:
        """Set the addresses of writing: `count` chunks from chunk `start` on."""
        self.chunk = chunk
        await self.write("chunk_bytes", chunk)
        await self.write("write_start", start * chunk)
        await self.write("write_max", (start + count) * chunk)

    async def control(self, **bits: int) -> None:
        """Write `control`."""
        value = sum(value << regs.FIELDS["control"][name][1] for name, value in bits.items())
        await self.write("control", value)

    async def begin(self, **bits: int) -> None:
        """Start writing."""
        self.drive.writes.clear()
        self.sent = b""
        await self.control(write=1, **bits)
        await self.status("writing", 1)

    async def status(self, name: str, value: int, limit: int = 4000) -> None:
        """Wait for a bit of `status`."""
        for _ in range(limit):
            if (await self.fields("status"))[name] == value:
                return
        raise TimeoutError(f"{name} is not {value}")

    def send(self, beats: int) -> None:
        """Let the source send noise, beats that are not zero."""
        data = random.randbytes(beats * BEAT)
        self.sent += data
        if data:
            self.source.send_nowait(data)

    async def drain(self) -> None:
        """Let what the source still offers go, which does not count while nothing is written."""
        await self.control(lossy=1)
        await self.source.wait()
        await self.control()

    async def gaps(self) -> list[tuple[int, int, int]]:
        """Read the records of gaps."""
        count = min(await self.read("gap_count"), 64)
        words = [
            await self.master.read_qword(regs.GAPS + 8 * (4 * record + word))
            for record in range(count)
            for word in range(3)
        ]
        return list(zip(words[::3], words[1::3], words[2::3], strict=True))

    async def check(self, ring: bool = False) -> dict[str, int]:
        """Compare counts, gaps, writes and the medium, once writing has stopped."""
        names = ("offered", "stored", "lost", "unstored", "write_start", "write_max", "write_last")
        found = {name: await self.read(name) for name in (*names, "laps", "gap_count")}
        assert found["offered"] == found["stored"] + found["lost"]
        assert found["offered"] <= len(self.sent)
        taken, gaps = self.sent[: found["offered"]], await self.gaps()
        if found["gap_count"] <= 64:
            assert found["lost"] == found["unstored"] + sum(lost for _, lost, _ in gaps)
            for at, lost, _ in gaps:
                taken = taken[:at] + taken[at + lost :]
            self.check_writes(taken, found, ring)
        times = [when for _, _, when in gaps]
        began, ended = await self.read("write_started"), await self.read("write_stopped")
        assert times == sorted(set(times)) and all(began <= when for when in times)
        assert began <= ended
        return found

    def check_writes(self, taken: bytes, found: dict[str, int], ring: bool) -> None:
        """Compare what was written with what was taken."""
        chunk, start, end = self.chunk, found["write_start"], found["write_max"]
        count, stored, place, last = (end - start) // chunk, 0, 0, NONE
        medium, failed = bytearray(self.drive.poison), False
        for number, write in enumerate(self.drive.writes):
            lap, at = divmod(number, count)
            assert lap == 0 or ring
            assert write.address == start + at * chunk
            assert write.fence == (lap > 0 and at == 0)
            assert len(write.data) == chunk and write.done
            # Behind a failure zeros follow at any beat.
            used = len(taken[place : place + chunk])
            if failed or write.code or any(each.code for each in self.drive.writes):
                used = len(write.data.rstrip(b"\0")) + BEAT - 1 & -BEAT
            assert write.data == taken[place : place + used].ljust(chunk, b"\0")
            place += used
            if write.code == spec.ERR_OK:
                stored, last = stored + used, write.address
                medium[write.address : write.address + chunk] = write.data
            failed |= write.code != spec.ERR_OK
        assert found["stored"] == stored and found["write_last"] == last
        assert found["unstored"] == len(taken) - stored
        assert failed or place == len(taken)
        assert found["laps"] == len(self.drive.writes) // count
        assert self.drive.medium == medium

    async def keep(self) -> None:
        """Take what is on the medium as what was there before."""
        self.drive.poison = bytes(self.drive.medium)

    async def fetch(self, start: int, count: int) -> list[AxiStreamFrame]:
        """Read chunks, and return what came."""
        self.reader.commands.clear()
        self.reader.sent.clear()
        await self.write("read_start", start * self.chunk)
        await self.write("read_max", (start + count) * self.chunk)
        await self.control(read=1)
        await self.status("reading", 0)
        await self.control(read=0)
        return [self.sink.recv_nowait(compact=False) for _ in range(self.sink.count())]


@cocotb.test()
@cocotb.parametrize(idle=[0.0, 0.3][1 - FULL :], stall=[0.0, 0.3])
async def writes_and_reads(dut, idle: float, stall: float) -> None:
    """A region is written to its end, and reads back; the source waits behind it."""
    bench = Bench(dut)
    bench.stall(idle, stall)
    await bench.start()
    for chunk in (UNIT, 4 * UNIT):
        bench.drive.pause = random.choice([0, 800])
        most = MEDIA // chunk
        start = random.randrange(most - 2)
        count = random.randrange(1, min(8, most - start))
        await bench.keep()
        await bench.set(start, count, chunk)
        await bench.begin()
        assert await bench.read("offered") == 0 and await bench.read("write_last") == NONE
        bench.send(count * chunk // BEAT + 3)
        await bench.status("writing", 0)
        assert (await bench.fields("status"))["write_end"] == 1
        found = await bench.check()
        assert found["stored"] == count * chunk and found["lost"] == 0 and found["laps"] == 1
        # It does not start again by itself, and what is behind the end was not taken.
        await harness.step(dut.clk, 50)
        assert not bench.source.idle() and (await bench.fields("status"))["writing"] == 0
        await bench.control()
        packets = await bench.fetch(start, count)
        assert bench.reader.commands == [((start + n) * chunk, chunk) for n in range(count)]
        data = [bytes(packet.tdata) for packet in packets]
        assert [len(each) for each in data] == [chunk] * count
        assert b"".join(data) == bench.sent[: count * chunk]
        assert not any(bool(packet.tuser) and any(packet.tuser) for packet in packets)
        assert await bench.read("read_last") == (start + count - 1) * chunk
        assert await bench.read("read_started") < await bench.read("read_stopped")
        assert (await bench.fields("status"))["read_end"] == 1
        await bench.drain()


@cocotb.test()
async def rings(dut) -> None:
    """A ring goes on at its start: small ones, in which a lap meets the one before it."""
    bench = Bench(dut)
    bench.stall(0.1, 0.1)
    await bench.start()
    for count in (1, 2, 3, 7):
        bench.drive.pause = 300
        await bench.keep()
        await bench.set(random.randrange(4), count)
        await bench.begin(write_ring=1)
        chunks = 4 * count + 2
        bench.send(chunks * UNIT // BEAT - random.randrange(UNIT // BEAT))
        await bench.source.wait()
        await bench.control(write=0, write_ring=1, flush_tail=1)
        await bench.status("writing", 0)
        found = await bench.check(ring=True)
        assert found["stored"] == len(bench.sent) and found["laps"] >= 4
        assert (await bench.fields("status"))["write_end"] == 0


@cocotb.test()
@cocotb.parametrize(idle=[0.0, 0.3][1 - FULL :])
async def stops(dut, idle: float) -> None:
    """A stop at any moment: the chunk under way ends, by zeros or by what comes; then a restart."""
    bench = Bench(dut)
    bench.stall(idle, idle)
    await bench.start()
    for attempt in range(harness.repeat(100, 7)):
        bench.drive.pause = random.choice([0, 400])
        flush = attempt % 2
        await bench.keep()
        await bench.set(3, 8)
        await bench.begin(flush_tail=flush)
        bench.send(random.choice([0, 1, 255, 256, 257, random.randrange(1500)]))
        if random.random() < 0.5:
            await bench.source.wait()
        await harness.step(dut.clk, random.randrange(700))
        await bench.control(write=0, flush_tail=flush)
        if not flush:
            # It ends with what fills the chunk, and takes nothing behind it.
            await harness.step(dut.clk, 20)
            bench.send(UNIT // BEAT + 1)
        await bench.status("writing", 0)
        found = await bench.check()
        assert found["lost"] == 0
        assert flush or found["stored"] % UNIT == 0
        await bench.drain()


@cocotb.test()
async def stop_waits_for_the_chunk(dut) -> None:
    """Without `flush_tail` a stop waits for the source, until `flush_tail` is set."""
    bench = Bench(dut)
    await bench.start()
    await bench.set(0, 8)
    await bench.begin()
    bench.send(300)
    await bench.source.wait()
    await bench.control(write=0)
    await harness.step(dut.clk, 3000)
    assert (await bench.fields("status"))["writing"] == 1
    await bench.control(write=0, flush_tail=1)
    await bench.status("writing", 0)
    found = await bench.check()
    assert found["stored"] == 300 * BEAT and len(bench.drive.writes) == 2


@cocotb.test()
@cocotb.parametrize(says=[True, False])
async def loses_whole_chunks(dut, says: bool) -> None:
    """A source that cannot wait and a slow drive: what is missing is what the gaps say."""
    bench = Bench(dut)
    harness.stall(bench.drive.sink, 0.2)
    await bench.start(says)
    for pause in (600, 2500):
        bench.drive.pause = pause
        await bench.keep()
        await bench.set(1, 30)
        await bench.begin(lossy=1, write_ring=1)
        bench.send(6000)
        await bench.source.wait()
        await bench.control(lossy=1, write_ring=1, flush_tail=1)
        await bench.status("writing", 0)
        found = await bench.check(ring=True)
        gaps = await bench.gaps()
        assert found["lost"] > 0 and found["offered"] == len(bench.sent)
        assert all(lost % UNIT == 0 for _, lost, _ in gaps[:-1])
        if says:
            assert all(at % UNIT == 0 for at, _, _ in gaps)
        else:
            assert any(at % UNIT for at, _, _ in gaps)


@cocotb.test()
async def stop_in_a_gap(dut) -> None:
    """A stop in any cycle around the beginning of a gap, which is recorded all the same."""
    bench = Bench(dut)
    await bench.start()
    counts = []
    for delay in range(24):
        await bench.keep()
        await bench.set(0, 8)
        await bench.begin(lossy=1)
        bench.send(UNIT // BEAT)
        await bench.source.wait()
        dut.hold.value = 1
        stop = cocotb.start_soon(bench.control(lossy=1))
        await harness.step(dut.clk, delay)
        bench.send(3)
        await stop
        await bench.source.wait()
        dut.hold.value = 0
        await bench.status("writing", 0)
        found = await bench.check()
        assert found["offered"] == found["lost"] + UNIT
        counts.append(found["gap_count"])
    assert counts == sorted(counts, reverse=True) and set(counts) == {0, 1}


@cocotb.test()
async def many_gaps(dut) -> None:
    """Of more gaps than there are records the first ones keep theirs; all are counted."""
    bench = Bench(dut)
    await bench.start()
    await bench.set(0, 2)
    await bench.begin(lossy=1, write_ring=1)
    for count in range(70):
        dut.hold.value = 1
        bench.send(UNIT // BEAT)
        await bench.source.wait()
        dut.hold.value = 0
        bench.send(UNIT // BEAT)
        await bench.source.wait()
        await harness.step(dut.clk, 4)
        assert await bench.read("gap_count") == count + 1
    await bench.control(lossy=1, write_ring=1)
    await bench.status("writing", 0)
    found = await bench.check(ring=True)
    assert found["lost"] == 70 * UNIT == found["stored"]
    assert [(at, lost) for at, lost, _ in await bench.gaps()] == [
        (n * UNIT, UNIT) for n in range(64)
    ]


@cocotb.test()
async def fifo_pauses(dut) -> None:
    """A FIFO that takes nothing for a while in the middle of chunks, whatever it said."""
    bench = Bench(dut)
    await bench.start()
    await bench.set(0, 30)
    await bench.begin(lossy=1)
    bench.send(5000)
    while not bench.source.empty() or harness.high(dut.s_axis_in_tvalid):
        dut.fifo_pauses.value = 1
        await harness.step(dut.clk, random.randrange(1, 4))
        dut.fifo_pauses.value = 0
        await harness.step(dut.clk, random.randrange(1, 700))
    await bench.control(lossy=1, flush_tail=1)
    await bench.status("writing", 0)
    found = await bench.check()
    gaps = await bench.gaps()
    assert found["offered"] == len(bench.sent) and any(at % UNIT for at, _, _ in gaps)


@cocotb.test()
@cocotb.parametrize(lossy=[0, 1])
async def writes_that_fail(dut, lossy: int) -> None:
    """A write that fails stops writing; no byte of it counts as stored, and all are counted."""
    bench = Bench(dut)
    bench.stall(0.1, 0.1)
    await bench.start()
    for attempt in range(7):
        bench.drive.pause = random.choice([0, 200, 600])
        await bench.keep()
        await bench.set(2, 10)
        number = attempt % 5
        code = random.randrange(1, 256)
        bench.drive.codes = {number: code}
        if attempt > 4:
            bench.drive.codes[number + 1] = random.randrange(1, 256)
        await bench.begin(lossy=lossy)
        bench.send(10 * UNIT // BEAT)
        await bench.status("writing", 0)
        found = await bench.check()
        status = await bench.fields("status")
        assert status["write_code"] == code and status["write_end"] == 0
        assert await bench.read("write_failed") == (2 + number) * UNIT
        assert found["unstored"] > 0 and found["stored"] >= number * UNIT
        await bench.control()
        await bench.drain()
    bench.drive.codes.clear()
    await bench.keep()
    await bench.begin()
    assert (await bench.fields("status"))["write_code"] == 0
    bench.send(UNIT // BEAT)
    await bench.source.wait()
    await bench.control()
    await bench.status("writing", 0)
    assert (await bench.check())["unstored"] == 0


@cocotb.test()
async def reads_that_fail(dut) -> None:
    """A read that fails ends with TUSER and the code; chunks behind it do not come."""
    bench = Bench(dut)
    bench.stall(0.1, 0.1)
    await bench.start()
    await bench.set(0, 1)
    failed = 0
    for _ in range(10):
        bench.reader.fail = 0.3
        packets = await bench.fetch(1, 8)
        sent = [code for _, code in bench.reader.sent]
        first = next((n for n, code in enumerate(sent) if code), None)
        status = await bench.fields("status")
        whole = len(packets) if first is None else first
        for n in range(whole):
            at = (1 + n) * UNIT
            assert bytes(packets[n].tdata) == bench.drive.medium[at : at + UNIT]
            users = packets[n].tuser
            assert not (any(users) if isinstance(users, list) else users)
        assert status["read_end"] == (len(sent) == 8)
        assert await bench.read("read_last") == (whole * UNIT if whole else NONE)
        if first is None:
            assert len(packets) == 8 and status["read_code"] == 0
            continue
        failed += 1
        assert len(packets) == first + 1
        data, code = bench.reader.sent[first]
        assert bytes(packets[first].tdata[:-BEAT]) == data and packets[first].tdata[-BEAT] == code
        assert status["read_code"] == code
        assert await bench.read("read_failed") == (1 + first) * UNIT
    assert failed > 2


@cocotb.test()
async def read_stops(dut) -> None:
    """A stop ends reading once what was asked for has come."""
    bench = Bench(dut)
    bench.stall(0.2, 0.2)
    await bench.start()
    for _ in range(harness.repeat(50, 4)):
        bench.reader.commands.clear()
        bench.reader.sent.clear()
        await bench.write("read_start", 0)
        await bench.write("read_max", 8 * bench.chunk)
        await bench.write("chunk_bytes", UNIT)
        await bench.control(read=1)
        await harness.step(dut.clk, random.randrange(2500))
        await bench.control(read=0)
        asked = len(bench.reader.commands)
        await bench.status("reading", 0)
        assert len(bench.reader.commands) <= asked + 1
        packets = [bench.sink.recv_nowait(compact=False) for _ in range(bench.sink.count())]
        count = len(bench.reader.commands)
        assert [len(packet.tdata) for packet in packets] == [UNIT] * count
        data = b"".join(bytes(packet.tdata) for packet in packets)
        assert data == bench.drive.medium[: count * UNIT]
        last = await bench.read("read_last")
        assert last == ((count - 1) * UNIT if count else NONE)


# Settings that are refused: chunk, start, max, size of the drive, and the fields that say so.
REFUSED = (
    (0, 0, UNIT, MEDIA, {"chunk"}),
    (UNIT // 2, 0, UNIT, MEDIA, {"chunk"}),
    (3 * UNIT, 0, 3 * UNIT, MEDIA, {"chunk"}),
    (128 * UNIT, 0, 128 * UNIT, 1 << 40, {"chunk"}),
    (UNIT + 1, 0, UNIT, MEDIA, {"chunk"}),
    ((1 << 31) + UNIT, 0, UNIT, MEDIA, {"chunk"}),
    (UNIT, 512, 2 * UNIT, MEDIA, {"start"}),
    (2 * UNIT, UNIT, 4 * UNIT, MEDIA, {"start"}),
    (UNIT, 0, UNIT + 64, MEDIA, {"max"}),
    (4 * UNIT, 0, 6 * UNIT, MEDIA, {"max"}),
    (UNIT, UNIT, UNIT, MEDIA, {"empty"}),
    (UNIT, 2 * UNIT, UNIT, MEDIA, {"empty"}),
    (UNIT, 1 << 63, UNIT, MEDIA, {"empty"}),
    (UNIT, 0, MEDIA // UNIT * UNIT + UNIT, MEDIA, {"beyond"}),
    (UNIT, 0, 1 << 63, MEDIA, {"beyond"}),
    (UNIT, 0, UNIT, UNIT - 512, {"beyond"}),
    (UNIT, 0, UNIT, 0, {"beyond"}),
    (UNIT, 5, 3, 1, {"start", "max", "empty", "beyond"}),
)


@cocotb.test()
@cocotb.parametrize(side=["write", "read"])
async def bad_settings(dut, side: str) -> None:
    """Each bad setting is refused, says why, and does nothing; the next start is as any other."""
    bench = Bench(dut)
    await bench.start()
    bench.send(64)
    bits = regs.FIELDS["refused"]
    for chunk, start, most, media, why in REFUSED:
        media_expected = {f"{side}_{name}" for name in why}
        dut.media_bytes.value = media
        await bench.write("chunk_bytes", chunk)
        await bench.write(f"{side}_start", start)
        await bench.write(f"{side}_max", most)
        await bench.control(**{side: 1})
        await harness.step(dut.clk, 30)
        found = {name for name, value in (await bench.fields("refused")).items() if value}
        ours = media_expected
        if "chunk" in why:
            # What is no multiple of a bad size may be named beside it.
            found &= {f"{side}_chunk"}
        assert found == ours, (chunk, start, most, media)
        status = await bench.fields("status")
        assert not status["writing"] and not status["reading"]
        assert await bench.read("media_bytes") == media
        await bench.control()
    dut.block_shift.value = 15
    dut.media_bytes.value = MEDIA
    await bench.write("chunk_bytes", UNIT)
    await bench.write(f"{side}_start", 0)
    await bench.write(f"{side}_max", UNIT)
    await bench.control(**{side: 1})
    await harness.step(dut.clk, 30)
    assert (await bench.read("refused")) == 1 << bits[f"{side}_chunk"][1]
    assert (await bench.read("block")) == 15
    dut.block_shift.value = 14
    # It is not tried again before it was 0.
    await harness.step(dut.clk, 100)
    assert not await bench.read("status")
    assert not bench.drive.writes and not bench.reader.commands and bench.drive.sink.empty()
    assert await bench.read("offered") == 0
    bench.send(UNIT // BEAT - 64)
    await bench.control()
    await bench.control(**{side: 1})
    name = "write_end" if side == "write" else "read_end"
    await bench.status(name, 1)
    await bench.status("writing" if side == "write" else "reading", 0)
    assert (await bench.read("refused")) == 0
    assert len(bench.drive.writes if side == "write" else bench.reader.commands) == 1


@cocotb.test()
async def settings_are_locked(dut) -> None:
    """Settings that are in use keep their values; the others of the same register do not."""
    bench = Bench(dut)
    await bench.start()
    await bench.set(1, 8)
    await bench.begin(write_ring=1)
    for name in ("write_start", "write_max", "chunk_bytes"):
        before = await bench.read(name)
        await bench.write(name, 7 * UNIT)
        assert await bench.read(name) == before
    await bench.write("read_start", 3)
    assert await bench.read("read_start") == 3
    await bench.control(write=1, flush_tail=1, lossy=1)
    control = await bench.fields("control")
    assert control == {"write": 1, "read": 0, "flush_tail": 1, "write_ring": 1, "lossy": 0}
    await bench.control()
    await bench.status("writing", 0)
    await bench.write("write_start", 7 * UNIT)
    assert await bench.read("write_start") == 7 * UNIT


@cocotb.test()
async def holds(dut) -> None:
    """While `hold` is high nothing starts, and no chunk begins; one under way goes on."""
    bench = Bench(dut)
    await bench.start()
    await bench.set(0, 8)
    await bench.write("read_max", 8 * UNIT)
    dut.hold.value = 1
    await bench.control(write=1, read=1)
    await harness.step(dut.clk, 100)
    assert await bench.read("status") == 1 << regs.FIELDS["status"]["held"][1]
    dut.hold.value = 0
    await bench.status("writing", 1)
    bench.drive.writes.clear()
    bench.send(600)
    await harness.until(dut.clk, dut.s_axis_in_tvalid)
    await harness.step(dut.clk, 100)
    dut.hold.value = 1
    await harness.step(dut.clk, 2000)
    assert await bench.read("stored") == UNIT and len(bench.drive.writes) == 1
    asked = len(bench.reader.commands)
    await harness.step(dut.clk, 2000)
    assert asked == len(bench.reader.commands) < 8
    dut.hold.value = 0
    await bench.source.wait()
    await bench.control(flush_tail=1, read=1)
    await bench.status("writing", 0)
    await bench.status("reading", 0)
    found = await bench.check()
    assert found["stored"] == 600 * BEAT and len(bench.reader.commands) == 8


@cocotb.test()
async def resets(dut) -> None:
    """After a reset in the middle nothing of before is left, and a run is as any other."""
    bench = Bench(dut)
    bench.stall(0.1, 0.1)
    await bench.start()
    for _ in range(harness.repeat(40, 3)):
        bench.drive.pause = 300
        await bench.set(0, 30)
        await bench.write("read_max", 30 * UNIT)
        await bench.begin(read=1, lossy=random.randrange(2))
        bench.send(3000)
        await harness.step(dut.clk, random.randrange(2500))
        dut.rst.value = 1
        bench.source.clear()
        await harness.step(dut.clk, 4)
        bench.drive.forget()
        bench.reader.forget()
        bench.sink.clear()
        dut.rst.value = 0
        await harness.step(dut.clk, 4)
        assert await bench.read("status") == 0 and await bench.read("write_last") == NONE
        assert await bench.read("offered") == await bench.read("stored") == 0
        bench.drive.forget()
        await bench.set(5, 3)
        await bench.begin()
        bench.send(3 * UNIT // BEAT)
        await bench.status("writing", 0)
        assert (await bench.check())["stored"] == 3 * UNIT
        await bench.control()


@cocotb.test()
async def longest_wait(dut) -> None:
    """The longest time without a response is measured, and starts anew with each run."""
    bench = Bench(dut)
    await bench.start()
    for silence in (3000, 500):
        await bench.keep()
        await bench.set(0, 8)
        await bench.begin()
        bench.drive.silent = True
        bench.send(2 * UNIT // BEAT)
        await bench.source.wait()
        await harness.step(dut.clk, silence)
        bench.drive.silent = False
        await bench.control(flush_tail=1)
        await bench.status("writing", 0)
        # The second chunk follows the first one, and with it the source has ended.
        found = await bench.read("longest_wait")
        assert silence + UNIT // BEAT - 20 < found < silence + UNIT // BEAT + 60
        await bench.check()
    # Each response ends a wait, though another chunk is with the drive.
    bench.drive.pause = 1500
    await bench.keep()
    await bench.set(0, 20)
    await bench.begin()
    bench.send(20 * UNIT // BEAT)
    await bench.status("writing", 0)
    assert await bench.read("longest_wait") < CHUNKS * (bench.drive.pause + 2)
    took = await bench.read("write_stopped") - await bench.read("write_started")
    assert took > 10_000 * harness.PERIOD_NS


@cocotb.test()
async def full_rate(dut) -> None:
    """A cycle a beat, and one for each chunk; so it is for reading, but for its commands."""
    bench = Bench(dut)
    await bench.start()
    await bench.set(0, 16)
    beats, found = [], []
    cocotb.start_soon(harness.record(dut.clk, dut.m_axis_wr_tvalid, dut.m_axis_wr_tready, beats))
    cocotb.start_soon(harness.record(dut.clk, dut.m_axis_out_tvalid, dut.m_axis_out_tready, found))
    await bench.begin()
    bench.send(16 * UNIT // BEAT)
    await bench.status("writing", 0)
    assert len(beats) == 16 * (UNIT // BEAT + 1) and harness.rate(beats) == 1
    await bench.check()
    await bench.fetch(0, 16)
    assert len(found) == 16 * UNIT // BEAT and harness.rate(found) == 1


@harness.provocation
async def stray_response(dut) -> None:
    """A response to no write must be noticed."""
    bench = Bench(dut)
    await bench.start()
    bench.drive.responses.send_nowait(AxiStreamFrame([0]))
    await harness.step(dut.clk, 5)


@harness.provocation
async def stray_data(dut) -> None:
    """So must data that no command asked for."""
    bench = Bench(dut)
    await bench.start()
    bench.reader.data.send_nowait(bytes(BEAT))
    await harness.step(dut.clk, 5)


@harness.provocation
async def begins_open(dut) -> None:
    """A run that begins while the gate is open must be noticed."""
    bench = Bench(dut)
    await bench.start()
    await bench.set(0, 1)
    await bench.control(write=1)
    dut.u_dut.u_gate.open_q.value = 1
    await harness.step(dut.clk, 10)


@harness.provocation
async def two_words(dut) -> None:
    """A gap's record that is begun while another one ends must be noticed."""
    bench = Bench(dut)
    await bench.start()
    await bench.set(0, 4)
    await bench.begin(lossy=1)
    dut.hold.value = 1
    dut.u_dut.u_gate.gap_first_q.value = 1
    bench.send(8)
    await harness.until(dut.clk, dut.s_axis_in_tvalid)
    dut.u_dut.u_gate.gap_first_q.value = 1
    await harness.step(dut.clk, 4)


@harness.provocation
async def behind_the_end(dut) -> None:
    """A chunk behind the end of the region must be noticed."""
    bench = Bench(dut)
    await bench.start()
    await bench.set(0, 4)
    await bench.begin()
    dut.u_dut.u_write.at_end.value = 1
    await harness.step(dut.clk, 1)
    bench.send(8)
    await harness.step(dut.clk, 20)


@harness.provocation
async def beat_from_nowhere(dut) -> None:
    """A beat out of the FIFO that did not go in must be noticed."""
    bench = Bench(dut)
    await bench.start()
    dut.u_fifo.valid_q.value = 1
    await harness.step(dut.clk, 3)


@harness.provocation
async def withdraw_wr(dut) -> None:
    """The checker of writes is awake."""
    await Bench(dut).start()
    await harness.withdraw(dut.clk, dut.u_dut.u_write.u_check_wr)


@harness.provocation
async def withdraw_fifo(dut) -> None:
    """So is that of what goes into the FIFO."""
    await Bench(dut).start()
    await harness.withdraw(dut.clk, dut.u_dut.u_gate.u_check_fifo)


@harness.provocation
async def withdraw_rdcmd(dut) -> None:
    """So is that of read commands."""
    await Bench(dut).start()
    await harness.withdraw(dut.clk, dut.u_dut.u_read.u_check_rdcmd)


@harness.provocation
async def withdraw_out(dut) -> None:
    """So is that of data read."""
    await Bench(dut).start()
    await harness.withdraw(dut.clk, dut.u_dut.u_read.u_check_out)


def run(**options: object) -> None:
    """Build the modules and simulate them."""
    wrapper = Path(__file__).with_name("fb_store_raw_tb.sv")
    values = {"Chunks": CHUNKS, "FifoBeats": FIFO}
    simulate(
        __file__,
        "fb_store_raw_tb",
        values,
        filelist="rtl/store/raw.f",
        extra_sources=[wrapper],
        **options,
    )


def test_raw() -> None:
    """Run the coroutines above."""
    run()


def test_assertion_fires() -> None:
    """Each assertion fires."""
    run(
        fires={
            "stray_response": "answers_are_awaited",
            "stray_data": "data_are_awaited",
            "begins_open": "begins_when_closed",
            "two_words": "one_word_at_a_time",
            "behind_the_end": "stays_inside",
            "beat_from_nowhere": "only_what_was_taken",
            "withdraw_wr": "m_axis_wr: valid fell",
            "withdraw_fifo": "m_axis_fifo: valid fell",
            "withdraw_rdcmd": "m_axis_rdcmd: valid fell",
            "withdraw_out": "m_axis_out: valid fell",
        }
    )
