# SPDX-License-Identifier: Apache-2.0
"""Plays a ring of units, and the queue behind it, for the modules that build commands."""

from __future__ import annotations

import random
from dataclasses import dataclass

import cocotb
from cocotb.triggers import FallingEdge

import harness
import structs

PAGE = 4096


@dataclass
class Built:
    """A command that left the device under test, and the pages it holds."""

    drive: int
    sector: int
    page: int
    fua: int
    flush: int
    fence: int
    early: int
    unordered: int
    reject: int
    last: int
    size: int

    @property
    def length(self) -> int:
        """Bytes, of a command that was not rejected."""
        return self.size + 1

    @property
    def code(self) -> int:
        """Error code of a rejected command."""
        return self.size & 0xFF


class Pages:
    """Offers pages with random gaps, takes commands at random, and notes both.

    Pages come in order and begin anew at 0, so that a command which meets the end must be cut.
    """

    def __init__(self, dut, *, pages: int = 64, offer: float = 0.8, take: float = 0.5) -> None:
        self.dut = dut
        self.pages = pages
        self.unit = PAGE << int(dut.UnitBits.value)
        self.offer = offer
        self.take = take
        self.next = 0
        self.held = 0
        self.commands: list[Built] = []
        self.taken: list[int] = []
        self.checked = 0
        cocotb.start_soon(self._run())

    async def _run(self) -> None:
        dut = self.dut
        dut.offer_valid.value = 0
        while True:
            await FallingEdge(dut.clk)
            taken = dut.offer_take.value == 1
            left = dut.command_valid.value == 1 and dut.command_ready.value == 1
            if taken:
                self.taken.append(int(dut.offer_page.value))
                self.held += 1
            if left:
                built = Built(**structs.unpack("command_t", int(dut.command.value)))
                self.commands.append(built)
                one = built.reject or built.unordered
                self.held -= 1 if one else (built.length - 1) // self.unit + 1
            free = self.held < self.pages
            await harness.step(dut.clk)
            if taken or dut.offer_valid.value == 0:
                dut.offer_valid.value = free and random.random() < self.offer
                if taken:
                    self.next = (self.next + 1) % self.pages
                dut.offer_page.value = self.next
            dut.command_ready.value = random.random() < self.take
            dut.held.value = self.held

    async def transaction(self) -> list[Built]:
        """Return the commands of the next transaction, the last one included."""
        first = self.checked
        for _ in range(20_000):
            found = self.commands[first:]
            ends = [n for n, built in enumerate(found) if built.last]
            if ends:
                self.checked = first + ends[0] + 1
                return found[: ends[0] + 1]
            await harness.step(self.dut.clk)
        raise TimeoutError("a transaction has no last command")
