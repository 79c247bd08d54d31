# SPDX-License-Identifier: Apache-2.0
"""The streams' side of a memory (docs/reference/memories.md), driven as the streamer does."""

from __future__ import annotations

import random

import cocotb
from cocotb.triggers import FallingEdge, Timer

import harness


class StreamSide:
    """Write requests, read requests and their outcome."""

    def __init__(self, dut, bursts: object | None = None) -> None:
        """Watch the memory `dut`, and its bursts if `bursts` is the AXI4 interface of them."""
        self.dut = dut
        self.committed = 0
        self.bad = 0  # of these, with an error
        self.words: list[bytes] = []
        self.lost: list[bool] = []  # for each of these, whether it is not what was stored
        self.bursts: list[int] = []
        names = ("awvalid", "awready", "awlen") if bursts is not None else ()
        self._aw = [getattr(bursts, name) for name in names]
        cocotb.start_soon(self._watch())

    async def _watch(self) -> None:
        dut = self.dut
        while True:
            await FallingEdge(dut.clk)
            await Timer(1, "ns")
            self.committed += dut.streams.committed.value == 1
            self.bad += dut.streams.committed.value == 1 and dut.streams.commit_error.value == 1
            if dut.streams.data_valid.value == 1:
                self.words.append(int(dut.streams.data.value).to_bytes(64, "little"))
                self.lost.append(dut.streams.data_error.value == 1)
            if self._aw and self._aw[0].value == 1 and self._aw[1].value == 1:
                self.bursts.append(int(self._aw[2].value) + 1)

    async def write(self, address: int, data: bytes, late: bool = False) -> None:
        """Write whole beats, the mark with the last one or after it."""
        dut = self.dut
        beats = len(data) // 64
        for n in range(beats):
            while dut.streams.write_hold.value == 1 or random.random() < 0.1:
                dut.streams.write_valid.value = 0
                await harness.step(dut.clk)
            dut.streams.write_valid.value = 1
            dut.streams.write_addr.value = address // 64 + n
            dut.streams.write_data.value = int.from_bytes(data[64 * n : 64 * n + 64], "little")
            dut.streams.write_end.value = n + 1 == beats and not late
            await harness.step(dut.clk)
        dut.streams.write_valid.value = 0
        dut.streams.write_end.value = 0
        if late:
            await harness.step(dut.clk, random.randrange(1, 4))
            dut.streams.write_end.value = 1
            await harness.step(dut.clk)
            dut.streams.write_end.value = 0
        await harness.step(dut.clk)

    async def wait_committed(self, count: int) -> None:
        """Wait until `count` commands are committed, and no more."""
        for _ in range(20_000):
            if self.committed >= count:
                break
            await harness.step(self.dut.clk)
        assert self.committed == count

    async def request(self, address: int, beats: int) -> None:
        """Request beats of one page."""
        dut = self.dut
        for n in range(beats):
            dut.streams.read_valid.value = 1
            dut.streams.read_addr.value = address // 64 + n
            dut.streams.read_first.value = n == 0
            dut.streams.read_count.value = beats
            while True:
                await FallingEdge(dut.clk)
                ready = dut.streams.read_ready.value == 1
                await harness.step(dut.clk)
                if ready:
                    break
        dut.streams.read_valid.value = 0

    async def read(self, address: int, beats: int) -> bytes:
        """Read beats of one page."""
        first = len(self.words)
        await self.request(address, beats)
        return await self.answers(first, beats)

    async def answers(self, first: int, beats: int) -> bytes:
        """Wait for `beats` beats after the first ones, and return them."""
        for _ in range(20_000):
            if len(self.words) - first == beats:
                break
            await harness.step(self.dut.clk)
        return b"".join(self.words[first:])
