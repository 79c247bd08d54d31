# SPDX-License-Identifier: Apache-2.0
"""The BAR's side of a payload memory: what fb_bar_target asks for, without a bus around it."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field
from types import SimpleNamespace

import cocotb
from cocotb.triggers import Event, FallingEdge

import harness

WORD = 64
PAGE_WORDS = 64


@dataclass
class Answer:
    """What became of an access; `resp` as on AXI, 0 or 2."""

    data: bytes = b""
    resp: int = 0


@dataclass
class Burst:
    """Words of one page that are read one after the other."""

    first: int
    left: int
    words: list[bytes] = field(default_factory=list)
    bad: bool = False
    over: Event = field(default_factory=Event)


class BarSide:
    """Reads and writes of a device under test by ports `bar_*` or an interface `bar_memory`."""

    def __init__(self, dut, latency: int) -> None:
        self.dut = dut
        pins = {handle._name[4:]: handle for handle in dut if handle._name.startswith("bar_")}
        self.bar = pins["memory"] if "memory" in pins else SimpleNamespace(**pins)
        self.latency = latency
        self.share = 0.0
        self.bursts: deque[Burst] = deque()
        self.coming: deque[tuple[int, Burst, bool]] = deque()
        self.writes: deque[tuple[int, int, int, Event]] = deque()
        self.ahead = hasattr(self.bar, "next_valid")
        cocotb.start_soon(self._serve_reads())
        if hasattr(self.bar, "write_valid"):
            cocotb.start_soon(self._serve_writes())

    def stall(self, share: float) -> None:
        """Wait before an access, at random."""
        self.share = share

    async def _serve_reads(self) -> None:
        dut, bar, held = self.dut, self.bar, False
        bar.read_valid.value = 0
        while True:
            await harness.step(dut.clk)
            held = bool(self.bursts) and (held or random.random() >= self.share)
            bar.read_valid.value = held
            if self.bursts:
                bar.read_addr.value = self.bursts[0].first
            if self.ahead:
                bar.next_valid.value = len(self.bursts) > 1
                if len(self.bursts) > 1:
                    bar.next_addr.value = self.bursts[1].first
            await FallingEdge(dut.clk)
            while self.coming and self.coming[0][0] == harness.cycle():
                self._arrived()
            taken = held and bar.read_ready.value == 1
            ends = False
            if taken:
                held, burst = False, self.bursts[0]
                burst.first += 1
                burst.left -= 1
                ends = burst.left == 0
                self.coming.append((harness.cycle() + self.latency, burst, ends))
            if self.ahead:
                bar.read_stays.value = bool(self.bursts) and not ends
            if ends:
                self.bursts.popleft()

    def _arrived(self) -> None:
        _, burst, ends = self.coming.popleft()
        burst.words.append(int(self.bar.read_word.value).to_bytes(WORD, "little"))
        if self.ahead:
            burst.bad |= self.bar.read_error.value == 1
        if ends:
            burst.over.set()

    async def _serve_writes(self) -> None:
        dut, bar, taken = self.dut, self.bar, None
        while True:
            await harness.step(dut.clk)
            if taken:
                taken.set()
            taken = None
            bar.write_valid.value = 0
            if not self.writes or random.random() < self.share:
                continue
            word, data, strobes, taken = self.writes.popleft()
            bar.write_valid.value = 1
            bar.write_addr.value = word
            bar.write_data.value = data
            bar.write_strb.value = strobes
            await FallingEdge(dut.clk)
            while bar.write_ready.value == 0:
                await FallingEdge(dut.clk)

    async def read(self, address: int, length: int) -> Answer:
        """Read bytes; what is refused counts for all of them."""
        bursts = []
        word, end = address // WORD, -(-(address + length) // WORD)
        while word < end:
            count = min(end - word, PAGE_WORDS - word % PAGE_WORDS)
            bursts.append(Burst(word, count))
            word += count
        self.bursts.extend(bursts)
        for burst in bursts:
            await burst.over.wait()
        data = b"".join(b"".join(burst.words) for burst in bursts)
        skip = address % WORD
        return Answer(data[skip : skip + length], 2 * any(burst.bad for burst in bursts))

    def post(self, address: int, data: bytes) -> Event:
        """Write bytes behind what is written already; the event is that all were taken."""
        over = Event()
        at = 0
        while at < len(data):
            skip = (address + at) % WORD
            count = min(WORD - skip, len(data) - at)
            bits = int.from_bytes(data[at : at + count], "little") << 8 * skip
            over = Event()
            self.writes.append(((address + at) // WORD, bits, (1 << count) - 1 << skip, over))
            at += count
        return over

    async def write(self, address: int, data: bytes) -> Answer:
        """Write bytes."""
        await self.post(address, data).wait()
        return Answer()
