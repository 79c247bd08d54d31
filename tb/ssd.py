# SPDX-License-Identifier: Apache-2.0
"""A small NVMe drive for tests of whole streamers: cocotbext-axi masters and a Python medium.

It knows one pair of I/O queues, which live in the BAR of the device under test, and the commands
Read, Write and Flush. It fetches entries, walks PRP lists and moves data as a drive does, each with
delays of its own, completes out of order, and can be told to misbehave. Where the BAR is one
target, a completion is posted right behind its data, without waiting for the data's answers: the
order is the device's to keep.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import cocotb
from cocotb.handle import LogicObject
from cocotb.triggers import Event, Lock
from cocotbext.axi import AxiLiteBus, AxiLiteSlave, AxiMaster
from cocotbext.axi.axi_master import AxiReadResp

import harness
import memory
from forebay import spec

PAGE = 4096
SQ_DOORBELL = 0x9_0000_1008
CQ_DOORBELL = 0x9_0000_100C
BAR = 0x40_0000_0000  # bus address of BAR 0
MEDIUM_BYTES = 1 << 57
HOST_LATENCY = 60  # most cycles from a drive to host memory
NSID = 7


@dataclass
class Command:
    """A submission queue entry (NVMe Base 2.0c, figure 88), and its place."""

    slot: int
    opcode: int
    cid: int
    nsid: int
    prp1: int
    prp2: int
    slba: int
    blocks: int
    fua: bool

    @classmethod
    def decode(cls, slot: int, entry: bytes) -> Command:
        """Read the fields that an NVM command set drive looks at; the others must be zero."""
        bits = int.from_bytes(entry, "little")

        def at(first: int, width: int) -> int:
            return bits >> first & (1 << width) - 1

        assert at(8, 8) == 0, "fused operation or SGL"
        assert at(64, 128) == 0, "reserved Dwords or metadata pointer"
        nlb = at(spec.SQE_NLB_LSB, 16)
        return cls(
            slot,
            at(spec.SQE_OPCODE_LSB, 8),
            at(spec.SQE_CID_LSB, 16),
            at(spec.SQE_NSID_LSB, 32),
            at(spec.SQE_PRP1_LSB, 64),
            at(spec.SQE_PRP2_LSB, 64),
            at(spec.SQE_SLBA_LSB, 64),
            nlb + 1,
            bool(at(spec.SQE_FUA_BIT, 1)),
        )


@dataclass
class Faults:
    """What the drive does wrong, by the number of the command since the start."""

    status: dict[int, int] = field(default_factory=dict)
    silent: set[int] = field(default_factory=set)
    twice: set[int] = field(default_factory=set)
    unknown_cid: set[int] = field(default_factory=set)
    wrong_phase: set[int] = field(default_factory=set)
    wrong_head: set[int] = field(default_factory=set)


@dataclass(frozen=True)
class Pins:
    """Names of the pins around a drive: clock, reset and its active level, ports.

    `windows` are the AXI4 targets and where in the BAR they begin.
    """

    clk: str = "clk"
    rst: str = "rst"
    rst_level: bool = True
    windows: tuple[tuple[str, int], ...] = (("s_axi_bar", 0),)
    doorbells: str = "m_axil_db"

    def clock(self, dut) -> dict[str, object]:
        """Return what cocotbext-axi is told of clock and reset."""
        clk, rst = getattr(dut, self.clk), getattr(dut, self.rst)
        return {"clock": clk, "reset": rst, "reset_active_level": self.rst_level}


OURS = Pins()


class Bar:
    """The BAR of the device under test, behind one AXI4 target or several."""

    def __init__(self, dut, pins: Pins) -> None:
        clock = pins.clock(dut)
        self.windows = []
        for name, start in pins.windows:
            size = 1 << len(getattr(dut, f"{name}_awaddr"))
            self.windows.append((start, size, harness.axi_master(dut, name, **clock)))
        self.ids = len(getattr(dut, f"{pins.windows[0][0]}_awid", ""))

    @property
    def masters(self) -> list[AxiMaster]:
        """The bus models."""
        return [master for _, _, master in self.windows]

    def _at(self, offset: int) -> tuple[AxiMaster, int]:
        for start, size, master in self.windows:
            if 0 <= offset - start < size:
                return master, offset - start
        raise AssertionError(f"{offset:#x} is outside the BAR")

    async def read(self, offset: int, length: int, **options: object) -> AxiReadResp | None:
        """Read bytes; none if a reset came between."""
        master, place = self._at(offset)
        return await master.read(place, length, **options)

    async def write(self, offset: int, data: bytes) -> None:
        """Write bytes and wait for the answer."""
        master, place = self._at(offset)
        await master.write(place, data)

    async def post(self, offset: int, data: bytes) -> None:
        """Write bytes; what is written next comes behind them.

        One target keeps that order by itself, whatever the identifiers. With two targets the answer
        has to be waited for.
        """
        if len(self.windows) > 1:
            await self.write(offset, data)
            return
        master, place = self._at(offset)
        master.init_write(place, data, awid=random.randrange(1 << self.ids))


class Ssd:
    """The drive; what was never written on its medium is poison."""

    def __init__(
        self, dut, *, block: int = 512, entries: int = 64, delay: int = 0, pins: Pins = OURS
    ) -> None:
        self.clk: LogicObject = getattr(dut, pins.clk)
        self.block = block
        self.entries = entries
        self.delay = delay
        depth = int(dut.QueueDepth.value) if hasattr(dut, "QueueDepth") else 64
        self.cq_offset = max(PAGE, 64 * depth)
        self.bar = Bar(dut, pins)
        self.nsid = NSID
        bus = AxiLiteBus.from_prefix(dut, pins.doorbells)
        self.doorbells = AxiLiteSlave(bus, **pins.clock(dut), target=self)
        self.doorbells.write_if.log.setLevel("WARNING")
        self.doorbells.read_if.log.setLevel("WARNING")
        # Where the payload lies in the BAR; else it is in host memory.
        self.payload = range(spec.BAR0_DATA, spec.BAR0_DATA + spec.BUFFER_BYTES)
        self.host: memory.LateRam | None = None
        # Overwrites a page of the payload, where that is not in the device under test.
        self.spoil: Callable[[int], None] = lambda page: None
        self.media = memory.poisoned(MEDIUM_BYTES, b"DISK")
        self.faults = Faults()
        self.commands: list[Command] = []
        self.moved = Event()
        self.posting = Lock()
        self.life = 0
        self.forget()
        cocotb.start_soon(self._fetch())

    def forget(self) -> None:
        """Begin with empty queues, as after Create I/O Queue; commands under way are dropped."""
        self.life += 1
        self.sq_tail = self.sq_head = 0
        self.cq_tail = self.cq_head = 0
        self.phase = 1
        self.moved.set()

    async def write(self, address: int, data: bytes) -> None:
        """Take a doorbell: what cocotbext-axi's slave calls."""
        value = int.from_bytes(data, "little")
        assert len(data) == 4 and value < self.entries, "doorbell write of the wrong size or value"
        if address == SQ_DOORBELL:
            ahead = (value - self.sq_head) % self.entries
            before = (self.sq_tail - self.sq_head) % self.entries
            assert ahead >= before, "the submission queue tail went back"
            self.sq_tail = value
        else:
            assert address == CQ_DOORBELL, f"doorbell {address:#x} belongs to no queue"
            posted = (self.cq_tail - self.cq_head) % self.entries
            assert (value - self.cq_head) % self.entries <= posted, "head beyond what was posted"
            self.cq_head = value
        self.moved.set()

    async def _fetch(self) -> None:
        """Fetch entries in runs that do not wrap, and start each command."""
        while True:
            if self.sq_head == self.sq_tail:
                self.moved.clear()
                await self.moved.wait()
                continue
            head, life = self.sq_head, self.life
            end = self.sq_tail if self.sq_tail > head else self.entries
            count = min(end - head, random.choice([1, 2, 8, 64]))
            answer = await self.bar.read(spec.BAR0_QUEUES + 64 * head, 64 * count)
            if answer is None or life != self.life:
                await harness.step(self.clk)
                continue
            self.sq_head = (head + count) % self.entries
            for n in range(count):
                entry = answer.data[64 * n : 64 * n + 64]
                command = Command.decode(head + n, entry)
                self.commands.append(command)
                cocotb.start_soon(self._execute(command, len(self.commands) - 1, life))

    async def _execute(self, command: Command, number: int, life: int) -> None:
        if self.delay:
            await harness.step(self.clk, random.randrange(1, self.delay + 1))
        assert command.nsid == self.nsid
        status = self.faults.status.get(number, 0)
        if status == 0 and command.opcode != spec.OPCODE_FLUSH:
            await self._transfer(command, life)
        if number in self.faults.silent or life != self.life:
            return
        if number in self.faults.unknown_cid:
            await self._post(0xFFF, 0, life)
        if number in self.faults.wrong_phase:
            await self._post(command.cid, 0, life, wrong_phase=True)
        for _ in range(2 if number in self.faults.twice else 1):
            bad = number in self.faults.wrong_head
            await self._post(command.cid, status, life, head=self.entries + 5 if bad else None)

    async def _transfer(self, command: Command, life: int) -> None:
        """Move the command's data between window and medium, page by page at once."""
        length = command.blocks * self.block
        at = command.slba * self.block
        pages = await self._walk(command, length, life)
        if command.opcode == spec.OPCODE_READ:
            # A read that still looks there has another command's data.
            for page in pages:
                self.spoil(page)
        moves = []
        for n, page in enumerate(pages):
            part = min(PAGE, length - n * PAGE)
            move = self._move(command.opcode, page, at + n * PAGE, part, life)
            moves.append(cocotb.start_soon(move))
        for move in moves:
            await move
        if command.opcode == spec.OPCODE_WRITE and life == self.life:
            for page in pages:
                self.spoil(page)

    async def _walk(self, command: Command, length: int, life: int) -> list[int]:
        """Return the bus address of each page of the transfer (NVMe Base 2.0c 4.1.1).

        There are none once the command is forgotten: after a reset its list says anything.
        """
        if life != self.life:
            return []
        count = -(-length // PAGE)
        assert command.prp1 % PAGE == 0
        pages = [command.prp1]
        if count == 2:
            pages.append(command.prp2)
        elif count > 2:
            # A drive may take more of the list than it needs, or take it entry by entry.
            words = count - 1
            room = (PAGE - command.prp2 % PAGE) // 8
            assert words <= room, "list beyond its page"
            asked = random.choice([words, min(room, -(-words // 8) * 8)])
            size = random.choice([None, 3]) if asked < 10 else None
            answer = await self.bar.read(command.prp2 - BAR, 8 * asked, size=size)
            if life != self.life:
                return []
            entries = (answer.data[8 * n : 8 * n + 8] for n in range(words))
            pages += [int.from_bytes(entry, "little") for entry in entries]
        assert all(page % PAGE == 0 for page in pages)
        return pages

    async def _move(self, opcode: int, page: int, at: int, length: int, life: int) -> None:
        if self.host:
            await self._move_in_host(opcode, page, at, length, life)
            return
        offset = page - BAR
        assert offset in self.payload, f"{page:#x} is not payload"
        if opcode == spec.OPCODE_WRITE:
            answer = await self.bar.read(offset, length)
            if answer is not None and life == self.life:
                self.store(at, answer.data)
        else:
            assert opcode == spec.OPCODE_READ, f"opcode {opcode}"
            await self.bar.post(offset, self.load(at, length))

    async def _move_in_host(self, opcode: int, page: int, at: int, length: int, life: int) -> None:
        """Move a page between host memory and medium, each part of it in a time of its own."""
        part = random.choice([512, 1024, PAGE])
        for first in range(0, length, part):
            await harness.step(self.clk, random.randint(1, HOST_LATENCY))
            if life != self.life:
                return
            count = min(part, length - first)
            if opcode == spec.OPCODE_WRITE:
                self.store(at + first, self.host.read(page + first, count))
            else:
                self.host.post(page + first, self.load(at + first, count))

    async def _post(
        self, cid: int, status: int, life: int, head: int | None = None, wrong_phase: bool = False
    ) -> None:
        """Write one completion, in parts of any size that the specification's order allows."""
        async with self.posting:
            while life == self.life and (self.cq_tail + 1) % self.entries == self.cq_head:
                self.moved.clear()
                await self.moved.wait()
            if life != self.life:
                return
            phase = self.phase ^ wrong_phase
            # A drive of several cores may post an old head after a newer one.
            old = random.randrange(self.entries)
            dword2 = (random.choice([self.sq_head, old]) if head is None else head) | 1 << 16
            dword3 = cid | phase << 16 | status << 17
            words = (0, 0, dword2, dword3)
            data = b"".join(word.to_bytes(4, "little") for word in words)
            place = spec.BAR0_QUEUES + self.cq_offset + 16 * self.cq_tail
            if not wrong_phase:
                # Whatever else is wrong with an entry, its place is used up.
                self._advance()
            part = random.choice([4, 8, 16])
            for first in range(0, 16, part):
                await self.bar.post(place + first, data[first : first + part])

    def _advance(self) -> None:
        self.cq_tail += 1
        if self.cq_tail == self.entries:
            self.cq_tail = 0
            self.phase ^= 1

    def store(self, at: int, data: bytes) -> None:
        """Put bytes on the medium."""
        self.media.write(at, data)

    def load(self, at: int, length: int) -> bytes:
        """Return bytes of the medium."""
        return self.media.read(at, length)
