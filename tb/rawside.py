# SPDX-License-Identifier: Apache-2.0
"""The bench around fb_store_raw: a source, a streamer with a drive, who takes what is read back.

What is on the drive is compared byte by byte with what was offered, but for the gaps.
"""

from __future__ import annotations

import itertools
import random
from collections import deque
from dataclasses import dataclass
from pathlib import Path

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge, with_timeout
from cocotbext.axi import AxiStreamFrame, AxiStreamSink, AxiStreamSource

import harness
from extents import Reader
from forebay import raw_regs as regs
from forebay import spec
from runner import simulate

BEAT = spec.USER_BEAT_BYTES
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
    """Takes writes, stores them in any order that fences allow, and responds in theirs.

    They may be disabled and enabled again, as docs/reference/streams.md says of the streamer: what
    has no response is forgotten then, but a packet that is half taken, and a beat on offer.
    """

    def __init__(self, dut) -> None:
        self.dut = dut
        self.medium = bytearray(random.randbytes(MEDIA))
        self.poison = bytes(self.medium)
        self.codes: dict[int, int] = {}  # by the number of the write
        self.pause = 0  # most cycles from one write to the next
        self.silent = False
        self.writes: list[Write] = []
        self.refused: list[Write] = []
        self.pending: deque[Write] = deque()
        self.beats = 0  # that `follow` has seen
        self.inside = self.cut = False  # a packet is half taken; it was when it was disabled
        self.sink = harness.axi_stream(AxiStreamSink, dut, "m_axis_wr")
        self.responses = harness.axi_stream(AxiStreamSource, dut, "s_axis_wrsp")
        cocotb.start_soon(self.take())
        cocotb.start_soon(self.store())

    async def take(self) -> None:
        """Take one write after the other."""
        while True:
            frame = await self.sink.recv(compact=False)
            packet, ended = bytes(frame.tdata), not any(frame.tkeep[-BEAT:])
            assert all(frame.tkeep[: len(packet) - BEAT * ended])
            command = int.from_bytes(packet[:BEAT], "little")
            address = command & 2**64 - 1
            assert command & ~FENCE == address, "a reserved bit is set"
            data = packet[BEAT : len(packet) - BEAT * ended]
            write = Write(address, bool(command & FENCE), data)
            if self.cut or not data:
                write.code = refusal(address, len(data))
                if self.cut:
                    write.code = spec.ERR_HALTED
                self.refused.append(write)
            else:
                assert not ended, "a chunk ends without all of its data"
                write.code = self.codes.get(len(self.writes), spec.ERR_OK)
                self.writes.append(write)
            self.cut = False
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

    async def follow(self) -> None:
        """Know whether a packet is half taken, which `disable` asks."""
        dut = self.dut
        while True:
            await FallingEdge(dut.clk)
            if harness.high(dut.m_axis_wr_tvalid) and harness.high(dut.m_axis_wr_tready):
                self.inside = not harness.high(dut.m_axis_wr_tlast)
                self.beats += 1

    def disable(self) -> None:
        """Forget what has no response; the sink has taken its last beat."""
        self.cut = self.inside
        self.pending.clear()
        self.responses.clear()

    def forget(self) -> None:
        """Do as after a reset, with another medium."""
        self.sink.clear()
        self.responses.clear()
        self.writes.clear()
        self.refused.clear()
        self.inside = self.cut = False
        self.pending.clear()
        self.codes.clear()
        self.medium[:] = self.poison = random.randbytes(MEDIA)


def refusal(address: int, length: int) -> int:
    """Return the streamer's code of a transaction that breaks a rule."""
    return spec.ERR_MISALIGNED if address % 512 else spec.ERR_OK if length else spec.ERR_ZERO_LENGTH


class ReadData:
    """Sends packets beat by beat, and stops inside them: cocotbext-axi's sources finish theirs."""

    def __init__(self, dut) -> None:
        self.dut, self.clock, self.pause = dut, dut.clk, False
        self.beats: deque[tuple[int, int, int]] = deque()  # data, TLAST, TUSER
        self.offered: tuple[int, int, int] | None = None
        self.inside = self.cut = False  # it was when it was disabled
        dut.s_axis_rd_tvalid.value = 0
        cocotb.start_soon(self._run())

    def send(self, data: bytes, code: int) -> None:
        """Send a packet."""
        words = [int.from_bytes(data[at : at + BEAT], "little") for at in range(0, len(data), BEAT)]
        if code:
            words.append(code | random.getrandbits(8 * BEAT - 8) << 8)
        self.beats += [(word, 0, 0) for word in words[:-1]] + [(words[-1], 1, int(code > 0))]

    def disable(self) -> None:
        """Send no more than what is on offer."""
        self.beats.clear()
        self.cut = not self.offered[1] if self.offered else self.inside

    def enable(self) -> None:
        """End the packet that was half sent."""
        if self.cut:
            self.send(b"", spec.ERR_HALTED)

    async def _run(self) -> None:
        dut = self.dut
        while True:
            await RisingEdge(self.clock)
            if self.offered and harness.high(dut.s_axis_rd_tready):
                self.inside, self.offered = not self.offered[1], None
            if not self.offered and self.beats and not self.pause:
                self.offered = self.beats.popleft()
                dut.s_axis_rd_tdata.value, last, user = self.offered
                dut.s_axis_rd_tlast.value, dut.s_axis_rd_tuser.value = last, user
                dut.s_axis_rd_tvalid.value = 1
            elif not self.offered and harness.high(dut.s_axis_rd_tvalid):
                # What is not on offer is not what was.
                dut.s_axis_rd_tdata.value = random.getrandbits(8 * BEAT)
                dut.s_axis_rd_tvalid.value = 0


class Reads(Reader):
    """Takes read commands and refuses bad ones; streamer and drive may be disabled."""

    def __init__(self, dut) -> None:
        super().__init__(dut)
        self.refused: list[int] = []  # codes

    def source(self, dut) -> ReadData:
        """Return what sends the data."""
        return ReadData(dut)

    def answer(self) -> None:
        """Send what was asked for and is not sent yet."""
        address, length = self.commands[-1]
        if code := refusal(address, length) if length else spec.ERR_ZERO_LENGTH:
            self.commands.pop()
            self.refused.append(code)
            self.data.send(b"", code)
        else:
            super().answer()

    def send(self, data: bytes, code: int) -> None:
        """Send the data of one read."""
        self.sent.append((data, code))
        self.data.send(data, code)

    def disable(self) -> None:
        """Forget what has not come."""
        del self.commands[len(self.sent) :]
        self.data.disable()


class Software:
    """What controls fb_store_raw by its registers."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.master = harness.axil_master(dut, "s_axil_raw")
        self.chunk = UNIT

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

    async def status(self, name: str, value: int, limit: int = 4000) -> None:
        """Wait for a bit of `status`."""
        for _ in range(limit):
            if (await self.fields("status"))[name] == value:
                return
        raise TimeoutError(f"{name} is not {value}")

    async def gaps(self) -> list[tuple[int, int, int]]:
        """Read the records of gaps."""
        count = min(await self.read("gap_count"), 64)
        words = [
            await self.master.read_qword(regs.GAPS + 8 * (4 * record + word))
            for record in range(count)
            for word in range(3)
        ]
        return list(zip(words[::3], words[1::3], words[2::3], strict=True))

    async def has_read(self, sink: AxiStreamSink, start: int, medium: bytes) -> dict[str, int]:
        """Look at chunks that were read from `start` on, or cut off by a reset of the drives."""
        await self.status("reading", 0)
        status = await self.fields("status")
        packets = [sink.recv_nowait(compact=False) for _ in range(sink.count())]
        code, whole, at = status["read_code"], len(packets), start * UNIT
        if code:
            # The chunk that was under way ends with a beat that says so; nothing comes behind it.
            assert code == spec.ERR_RESET
            whole -= 1
            cut = packets.pop()
            last = len(cut.tdata) - BEAT
            place = at + whole * UNIT
            assert bytes(cut.tdata[:last]) == medium[place : place + last]
            assert bytes(cut.tdata[last:]) == bytes([code]).ljust(BEAT, b"\0")
            assert not any(cut.tuser[:last]) and all(cut.tuser[last:])
            assert await self.read("read_failed") == place
        for number, packet in enumerate(packets):
            assert bytes(packet.tdata) == medium[at + number * UNIT : at + (number + 1) * UNIT]
            assert not any(packet.tuser)
        assert await self.read("read_last") == (at + (whole - 1) * UNIT if whole else NONE)
        return status


class Bench(Software):
    """The device under test, its source, its drive, software."""

    def __init__(self, dut, reader: type[Reader] = Reader) -> None:
        super().__init__(dut)
        self.drive = Drive(dut)
        self.reader = reader(dut)
        self.reader.content = lambda address, length: bytes(
            self.drive.medium[address : address + length]
        )
        self.source = harness.axi_stream(AxiStreamSource, dut, "s_axis_in")
        self.sink = harness.axi_stream(AxiStreamSink, dut, "m_axis_out")
        self.sent = b""
        self.stalled = 0.0

    async def start(self, says: bool = True) -> None:
        """Reset, with a drive that is ready."""
        dut = self.dut
        dut.fifo_says.value, dut.fifo_pauses.value, dut.fifo_keeps.value = says, 0, 0
        dut.hold.value = dut.drives_reset.value = 0
        harness.clear(dut, "fifo_*_error", "fifo_level", "fifo_high_water")
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
        self.stalled = stall
        for each in (self.source, self.reader.data, self.drive.responses):
            harness.stall(each, idle)
        for each in (self.sink, self.reader.sink, self.drive.sink):
            harness.stall(each, stall)

    async def disable(self) -> None:
        """Disable streamer and drive: they take nothing."""
        for each in (self.drive.sink, self.reader.sink):
            harness.stall(each, itertools.repeat(True))
        # Until the sinks have taken their last beats.
        await harness.step(self.dut.clk, 3)
        self.drive.disable()
        self.reader.disable()

    def enable(self) -> None:
        """Enable them again."""
        for each in (self.drive.sink, self.reader.sink):
            harness.stall(each, self.stalled)
        self.drive.silent = self.reader.silent = False
        self.reader.data.enable()

    async def reset_drives(self, lead: int, cycles: int) -> None:
        """Reset the drives; `lead` cycles before that, or behind it, the streamer is disabled."""
        dut = self.dut
        disabling = cocotb.start_soon(self.disable()) if lead > 0 else None
        await harness.step(dut.clk, max(lead, 0))
        dut.hold.value = dut.drives_reset.value = 1
        if not disabling:
            await harness.step(dut.clk, -lead)
            disabling = cocotb.start_soon(self.disable())
        await harness.step(dut.clk, cycles)
        await disabling
        await self.ended()
        early = random.random() < 0.5
        if early:
            dut.drives_reset.value = 0
            await harness.step(dut.clk, random.randrange(1, 20))
        self.enable()
        await harness.step(dut.clk, random.randrange(1, 20))
        dut.drives_reset.value = 0

    async def ended(self) -> None:
        """Wait for the end of what is cut off: no drive has to be there for it."""
        for name in ("writing", "reading"):
            await self.status(name, 0)

    async def begin(self, **bits: int) -> None:
        """Start writing."""
        self.drive.writes.clear()
        self.sent = b""
        await self.control(write=1, **bits)
        await self.status("writing", 1)

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


def run(test_file: str, **options: object) -> None:
    """Build the modules and simulate them with the coroutines of a file of tests."""
    wrapper = Path(test_file).with_name("fb_store_raw_tb.sv")
    values = {"Chunks": CHUNKS, "FifoBeats": FIFO}
    simulate(
        test_file,
        "fb_store_raw_tb",
        values,
        filelist="rtl/store/raw.f",
        extra_sources=[wrapper],
        **options,
    )
