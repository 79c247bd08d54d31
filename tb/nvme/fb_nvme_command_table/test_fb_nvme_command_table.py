# SPDX-License-Identifier: Apache-2.0
"""fb_nvme_command_table: what is known of an identifier, from its submission to its end."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

import harness
import structs
from runner import simulate

WIDTHS = {"drive": 3, "op": 1, "fua": 1, "early": 1, "page": 10, "size": 11, "sector": 48}


class Table:
    """The device under test, and what was submitted and not finished."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.tags = int(dut.Tags.value)
        self.in_use: dict[int, dict[str, int]] = {}
        self.waiting: dict[int, dict[str, int]] = {}  # to be submitted once more
        self.now = 0

    async def cycle(self, submit: float, finish: float) -> None:
        """Submit at random, look up any identifier, and finish it at random if it is in use."""
        dut = self.dut
        await harness.step(dut.clk)
        self.now += 1
        dut.now.value = self.now
        tag = random.randrange(self.tags)
        fresh, dut.submitted.value = None, 0
        if tag not in self.in_use and random.random() < submit:
            fresh = self._submit(tag)
        looked_up = random.randrange(self.tags)
        command = self.in_use.get(looked_up)
        over = command is not None and random.random() < finish
        again = over and random.random() < 0.4 and command["retries"] < 15
        dut.lookup_tag.value, dut.finish.value = looked_up, over
        dut.finish_retry.value = again if over else random.getrandbits(1)
        await FallingEdge(dut.clk)
        self._compare(looked_up)
        if over:
            del self.in_use[looked_up]
        if again:
            self.waiting[looked_up] = command | {"retries": command["retries"] + 1}
        if fresh is not None:
            self.in_use[tag] = fresh

    def _submit(self, tag: int) -> dict[str, int]:
        fields = {name: random.getrandbits(bits) for name, bits in WIDTHS.items()}
        descriptor, retry = structs.pack("descriptor_t", **fields), tag in self.waiting
        self.dut.submitted.value = structs.pack(
            "submitted_t", valid=1, retry=retry, tag=tag, descriptor=descriptor
        )
        return self.waiting.pop(tag, fields | {"stamp": self.now, "retries": 0})

    def _compare(self, tag: int) -> None:
        command = self.in_use.get(tag)
        found = structs.unpack("lookup_t", int(self.dut.lookup.value))
        assert found["in_use"] == (command is not None)
        if command is not None:
            descriptor = structs.unpack("descriptor_t", found["descriptor"])
            assert descriptor == {name: command[name] for name in WIDTHS}
            assert found["stamp"] == command["stamp"]
            assert found["retries"] == command["retries"]


async def sweep(dut) -> Table:
    """Clear the table, as the streamer does after a reset."""
    harness.clear(dut, "submitted", "finish", "finish_retry")
    for index in range(1024):
        dut.sweep.value, dut.sweep_index.value = 1, index
        await harness.step(dut.clk)
    dut.sweep.value = 0
    return Table(dut)


async def start(dut) -> Table:
    """Start the clock, and clear the table: it has no reset of its own."""
    harness.clear(dut, "sweep*", "submitted", "now", "lookup_tag")
    harness.clear(dut, "finish", "finish_retry")
    cocotb.start_soon(Clock(dut.clk, harness.PERIOD_NS, unit="ns").start())
    return await sweep(dut)


@cocotb.test()
async def random_lines(dut) -> None:
    """A line says what was submitted, also while others come and go, and after retries."""
    table = await start(dut)
    for _ in range(8):
        submit, finish = random.choice([0.2, 1.0]), random.choice([0.1, 0.5, 1.0])
        for _ in range(300):
            await table.cycle(submit, finish)


@cocotb.test()
async def sweep_in_work(dut) -> None:
    """After a sweep no identifier is in use, and none has been retried."""
    table = await start(dut)
    for _ in range(3):
        for _ in range(200):
            await table.cycle(1.0, 0.5)
        table = await sweep(dut)


@harness.provocation
async def finish_what_is_free(dut) -> None:
    """Only an identifier in use can be finished."""
    await start(dut)
    await harness.step(dut.clk)
    dut.finish.value = 1
    await harness.step(dut.clk, 3)


def run(tags: int, **options: object) -> None:
    """Build the module for this number of identifiers and simulate it."""
    parameters = {"Tags": tags}
    simulate(__file__, "fb_nvme_command_table", parameters, filelist="rtl/top/onchip.f", **options)


@pytest.mark.parametrize("tags", [4, 24, 64])
def test_command_table(tags: int) -> None:
    """Run all coroutines for this number of identifiers."""
    run(tags)


def test_assertion_fires() -> None:
    """Each assertion fires."""
    run(4, fires={"finish_what_is_free": "a_finish_in_use"})
