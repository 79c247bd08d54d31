# SPDX-License-Identifier: Apache-2.0
"""Memories that answer late and begin as poison: what the payload's ports lead to in tests.

Poison is different for each origin, so that bytes in a failed comparison say where they are from.
"""

from __future__ import annotations

import random
from collections import deque

import cocotb
from cocotb.handle import LogicObject
from cocotb.triggers import Event, Timer
from cocotbext.axi import AxiBus, AxiRam, AxiSlaveRead, AxiSlaveWrite
from cocotbext.axi.sparse_memory import SparseMemory

import harness

PAGE = 4096
LATENCY = (10, 100)  # least and most cycles of a request or an answer


def poison(origin: bytes, page: int) -> bytes:
    """Return a page of the four letters of its origin and its number, over and over."""
    return (origin + page.to_bytes(4, "little")) * (PAGE // 8)


class _Pages(dict):
    """The pages of a sparse memory by their addresses; one that is not there yet is poison."""

    def __init__(self, origin: bytes) -> None:
        super().__init__()
        self.origin = origin

    def __missing__(self, address: int) -> bytearray:
        self[address] = bytearray(poison(self.origin, address // PAGE))
        return self[address]


def poisoned(size: int, origin: bytes) -> SparseMemory:
    """Return a memory in which everything is poison until it is written."""
    memory = SparseMemory(size)
    memory.segs = _Pages(origin)
    return memory


class Line:
    """A queue that each entry leaves in its turn, not before a time of its own has passed."""

    def __init__(self, latency: tuple[int, int]) -> None:
        self.latency = latency
        self.entries: deque[tuple[int, object]] = deque()
        self.arrived = Event()

    def put(self, entry: object) -> None:
        """Let an entry in."""
        self.entries.append((harness.cycle() + random.randint(*self.latency), entry))
        self.arrived.set()

    async def get(self) -> object:
        """Wait for the oldest entry, and let it out."""
        while not self.entries or self.entries[0][0] > harness.cycle():
            if self.entries:
                ahead = self.entries[0][0] - harness.cycle()
                await Timer(ahead * harness.PERIOD_NS, "ns")
            else:
                self.arrived.clear()
                await self.arrived.wait()
        return self.entries.popleft()[1]


def _empty_in_reset(half: AxiSlaveRead | AxiSlaveWrite, line: Line) -> None:
    handle = half._handle_reset

    def reset(state: bool) -> None:
        line.entries.clear()
        handle(state)

    half._handle_reset = reset


def late_reads(
    half: AxiSlaveRead,
    clock: LogicObject,
    latency: tuple[int, int] = LATENCY,
    depth: int = 16,
) -> None:
    """Let a memory accept up to `depth` reads before it answers the first of them."""
    line, requests = Line(latency), half.ar_channel.recv

    async def accept() -> None:
        while True:
            request = await requests()
            while len(line.entries) >= depth:
                await harness.step(clock)
            line.put(request)

    _empty_in_reset(half, line)
    half.ar_channel.recv = line.get
    cocotb.start_soon(accept())


def late_answers(half: AxiSlaveWrite, latency: tuple[int, int] = LATENCY) -> None:
    """Let a memory take further writes before it answers the first of them."""
    line, answers = Line(latency), half.b_channel.send

    async def hold(answer: object) -> None:
        line.put(answer)

    async def answer_late() -> None:
        while True:
            await answers(await line.get())

    _empty_in_reset(half, line)
    half.b_channel.send = hold
    cocotb.start_soon(answer_late())


class LateRam(AxiRam):
    """cocotbext-axi's memory with requests under way; what was never written is poison.

    What is read is what the memory holds when the answer leaves; order is that of the requests, for
    all identifiers.

    Writes that are `posted` may be answered before they are in memory; a read pushes them there
    (PCI Express Base 5.0, 2.4.1). What a drive posts is on its way, too; a read of the port pushes
    it, but not where the drive is below `other_root_port`.
    """

    def __init__(
        self,
        bus: AxiBus,
        clock: LogicObject,
        reset: LogicObject,
        size: int,
        *,
        latency: tuple[int, int] = LATENCY,
        posted: bool = False,
        other_root_port: bool = False,
        reset_active_level: bool = True,
    ) -> None:
        mem = poisoned(size, b"NEW ")
        super().__init__(bus, clock, reset, reset_active_level=reset_active_level, mem=mem)
        for half in (self.write_if, self.read_if):
            half.log.setLevel("WARNING")
        late_reads(self.read_if, clock, latency)
        late_answers(self.write_if, latency)
        self.posted = Line(latency)
        self.of_drive = Line(latency)
        self.other_root_port = other_root_port
        if posted:
            self.write_if._write, self.read_if._read = self._post, self._push
            for line in (self.posted, self.of_drive):
                cocotb.start_soon(self._drain(line))

    def post(self, address: int, data: bytes) -> None:
        """Write as a drive does: the bytes are in memory some time after."""
        self.of_drive.put((address, data))

    async def _post(self, address: int, data: bytes) -> None:
        self.posted.put((address, data))

    async def _drain(self, line: Line) -> None:
        while True:
            self.write(*await line.get())

    async def _push(self, address: int, length: int) -> bytes:
        for line in (self.posted,) if self.other_root_port else (self.posted, self.of_drive):
            for _, write in line.entries:
                self.write(*write)
            line.entries.clear()
        return self.read(address, length)

    def spoil(self, address: int) -> None:
        """Overwrite a page whose bytes must not be looked at any more."""
        self.write(address, poison(b"FREE", address // PAGE))
