# SPDX-License-Identifier: Apache-2.0
"""fb_bar_prp against what NVMe says of PRP lists, for each kind of buffer."""

from __future__ import annotations

import random
from collections import deque

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

import harness
from buffer_segments import COUNT, SEGMENT, BufferSegments
from runner import simulate

PAGE = 4096
WINDOW = 0x0000_7F3A_9600_0000
WRITES, READS = 0x12_3400_0000, 0x77_5800_0000
ENTRIES = 8  # of a word


class Lists:
    """What the lists must say."""

    def __init__(self, dut) -> None:
        self.onchip, self.host = int(dut.OnChip.value), int(dut.InHost.value)
        self.per_command = int(dut.PerCommand.value)
        self.pages = 1 << int(dut.PageBits.value)
        self.unit_pages = 1 << int(dut.UnitBits.value)
        self.segments = BufferSegments(dut)
        self.units: dict[int, int] = {}  # of commands

    def address(self, page: int) -> int:
        """Return the bus address of a page of the buffer."""
        page %= self.pages
        if self.host:
            return self.segments.place(page * PAGE % (COUNT * SEGMENT))
        if self.onchip:
            return WINDOW + page * PAGE
        half = self.pages // 2
        return WRITES + page * PAGE if page < half else READS + (page - half) * PAGE

    def word(self, number: int, first: int) -> int:
        """Return eight entries of a list from the given one on."""
        if self.onchip:
            page = number
        else:
            unit = self.units[number] if self.per_command else number
            page = unit * self.unit_pages + 1
        entries = (self.address(page + first + n) for n in range(ENTRIES))
        return sum(entry << 64 * n for n, entry in enumerate(entries))

    def most(self, number: int) -> int:
        """Return how many words of a list are looked at: none goes on from writes into reads."""
        if self.onchip or self.host:
            return PAGE // 64
        unit = self.units[number] if self.per_command else number
        half = self.pages // 2
        left = half - (unit * self.unit_pages + 1) % half
        return max(1, min(PAGE // 64, left // ENTRIES))


@cocotb.test()
async def words(dut) -> None:
    """Words of lists come Latency cycles after they are asked for, one a cycle."""
    harness.clear(dut, "segment_*", "fetched*", "read_addr")
    dut.data_window.value, dut.data_write.value, dut.data_read.value = WINDOW, WRITES, READS
    cocotb.start_soon(Clock(dut.clk, harness.PERIOD_NS, unit="ns").start())
    lists, latency = Lists(dut), int(dut.Latency.value)
    await harness.step(dut.clk)
    await lists.segments.set(dut)
    count = 64 if lists.per_command else lists.pages // (1 if lists.onchip else lists.unit_pages)
    special = [0, 1, count - 1, count // 2, count // 2 - 1]
    for tag in range(64):
        lists.units[tag] = random.randrange(lists.pages // lists.unit_pages)
        dut.fetched.value, dut.fetched_tag.value = 1, tag
        dut.fetched_unit.value = lists.units[tag]
        await harness.step(dut.clk)
    dut.fetched.value = 0
    wanted: deque = deque([None] * latency)
    for _ in range(400):
        number = random.choice([*special, random.randrange(count)])
        row = random.randrange(lists.most(number))
        dut.read_addr.value = number * PAGE + 64 * row + random.randrange(64)
        await FallingEdge(dut.clk)
        due = wanted.popleft()
        wanted.append(lists.word(number, ENTRIES * row))
        assert due is None or int(dut.read_word.value) == due
        await harness.step(dut.clk)


KINDS = {
    "onchip": {"PageBits": 10, "UnitBits": 0, "OnChip": 1},
    "onchip-16MiB": {"PageBits": 12, "UnitBits": 0, "OnChip": 1},
    "board": {"PageBits": 15, "UnitBits": 4, "OnChip": 0},
    "board-commands": {"PageBits": 15, "UnitBits": 4, "OnChip": 0, "PerCommand": 1},
    "host": {"PageBits": 15, "UnitBits": 4, "OnChip": 0, "InHost": 1},
    "host-commands": {"PageBits": 15, "UnitBits": 4, "OnChip": 0, "InHost": 1, "PerCommand": 1},
}


@pytest.mark.parametrize("latency", [2, 5])
@pytest.mark.parametrize("kind", KINDS)
def test_lists(kind: str, latency: int) -> None:
    """Run the coroutine for this kind of buffer."""
    parameters = {**KINDS[kind], "Latency": latency}
    simulate(__file__, "fb_bar_prp", parameters, filelist="rtl/top/onchip.f")
