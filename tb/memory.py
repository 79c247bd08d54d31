# SPDX-License-Identifier: Apache-2.0
"""Memories that answer late and begin as poison: what the payload's ports lead to in tests.

Poison is told apart by its origin, so that bytes in a failed comparison say where they are from.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable

import cocotb
from cocotb.handle import LogicObject
from cocotb.triggers import Event, Timer
from cocotbext.axi import AxiBus, AxiRam, AxiSlaveRead, AxiSlaveWrite
from cocotbext.axi.sparse_memory import SparseMemory

import harness

PAGE = 4096


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


class LateRam(AxiRam):
    """cocotbext-axi's memory with requests under way; what nobody has written is poison.

    Up to `depth` reads are accepted before the first is answered. What is read is what the memory
    holds when the answer leaves; order is that of the requests, for all identifiers.

    Writes that are `posted` may be answered before they are in memory; a read pushes them there
    (PCI Express Base 5.0, 2.4.1).
    """

    def __init__(
        self,
        bus: AxiBus,
        clock: LogicObject,
        reset: LogicObject,
        size: int,
        *,
        latency: tuple[int, int] = (10, 100),
        depth: int = 16,
        posted: bool = False,
    ) -> None:
        super().__init__(bus, clock, reset, mem=poisoned(size, b"NEW "))
        self.depth = depth
        self.asked, self.stored, self.posted = (Line(latency) for _ in range(3))
        write, read = self.write_if, self.read_if
        for half in (write, read):
            half.log.setLevel("WARNING")
            self._empty_in_reset(half)
        requests, answers = read.ar_channel.recv, write.b_channel.send
        read.ar_channel.recv, write.b_channel.send = self.asked.get, self._store
        if posted:
            write._write, read._read = self._post, self._push
            cocotb.start_soon(self._drain())
        cocotb.start_soon(self._accept(clock, requests))
        cocotb.start_soon(self._acknowledge(answers))

    def _empty_in_reset(self, half: AxiSlaveRead | AxiSlaveWrite) -> None:
        handle = half._handle_reset

        def reset(state: bool) -> None:
            self.asked.entries.clear()
            self.stored.entries.clear()
            handle(state)

        half._handle_reset = reset

    async def _accept(self, clock: LogicObject, requests: Callable) -> None:
        while True:
            request = await requests()
            while len(self.asked.entries) >= self.depth:
                await harness.step(clock)
            self.asked.put(request)

    async def _store(self, answer: object) -> None:
        self.stored.put(answer)

    async def _acknowledge(self, answers: Callable) -> None:
        while True:
            await answers(await self.stored.get())

    async def _post(self, address: int, data: bytes) -> None:
        self.posted.put((address, data))

    async def _drain(self) -> None:
        while True:
            self.write(*await self.posted.get())

    async def _push(self, address: int, length: int) -> bytes:
        for _, write in self.posted.entries:
            self.write(*write)
        self.posted.entries.clear()
        return self.read(address, length)

    def spoil(self, address: int) -> None:
        """Overwrite a page whose bytes nobody may look at any more."""
        self.write(address, poison(b"FREE", address // PAGE))
