# SPDX-License-Identifier: Apache-2.0
"""fb_payload_scheduler: which side has its turn, for how long, and that no side waits for ever."""

from __future__ import annotations

import random

import cocotb
from cocotb.triggers import FallingEdge

import harness
from runner import simulate


class Sides:
    """Two queues before the device under test; says who went."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.reads = 0
        self.writes = 0

    async def cycle(self, busy: float = 0.0) -> str:
        """One cycle: the side that went, "r" or "w"; "" if none may or the memory is busy."""
        dut = self.dut
        dut.read_waits.value = self.reads > 0
        dut.write_waits.value = self.writes > 0
        dut.writes.value = min(self.writes, 16)
        dut.read_goes.value = dut.write_goes.value = 0
        await FallingEdge(dut.clk)
        may_read, may_write = dut.may_read.value == 1, dut.may_write.value == 1
        assert not (may_read and may_write)
        went = ""
        if random.random() >= busy:
            went = "r" if may_read and self.reads else "w" if may_write and self.writes else ""
        dut.read_goes.value = went == "r"
        dut.write_goes.value = went == "w"
        self.reads -= went == "r"
        self.writes -= went == "w"
        await harness.step(dut.clk)
        return went


async def start(dut) -> Sides:
    """Reset with no side waiting."""
    harness.clear(dut, "*_waits", "writes", "*_goes")
    await harness.start(dut)
    await harness.step(dut.clk)
    return Sides(dut)


def runs(text: str) -> list[tuple[str, int]]:
    """Lengths of stretches of the same letter."""
    found: list[tuple[str, int]] = []
    for letter in text:
        if found and found[-1][0] == letter:
            found[-1] = (letter, found[-1][1] + 1)
        else:
            found.append((letter, 1))
    return found


@cocotb.test()
async def batches(dut) -> None:
    """Where both sides always wait, they take turns of a batch each."""
    sides = await start(dut)
    batch, reads = int(dut.WriteBatch.value), int(dut.ReadBatch.value)
    text = ""
    for _ in range(400):
        sides.reads = sides.writes = 100
        text += await sides.cycle(0.2)
    for letter, length in runs(text)[1:-1]:
        assert length == (batch if letter == "w" else reads)


@cocotb.test()
async def a_write_alone_is_not_starved(dut) -> None:
    """One that makes no batch waits for MostReads reads, and no longer."""
    sides = await start(dut)
    most = int(dut.MostReads.value)
    if int(dut.WriteBatch.value) == 1:
        return
    text = ""
    for n in range(40 * most):
        sides.reads = 100
        if n % (5 * most) == most:
            sides.writes = 1
        went = await sides.cycle()
        text += went
    reads = [length for letter, length in runs(text) if letter == "r"]
    assert text.count("w") == 8
    assert max(reads[1:-1], default=0) <= 5 * most + most


@cocotb.test()
async def who_is_alone_goes_at_once(dut) -> None:
    """No side waits for a side that has nothing to do."""
    sides = await start(dut)
    for side in "rwrw":
        sides.reads, sides.writes = (20, 0) if side == "r" else (0, 20)
        text = [await sides.cycle() for _ in range(24)]
        assert text.count(side) == 20 and "" not in text[2:20]


@cocotb.test()
async def nobody_waits_for_ever(dut) -> None:
    """In any mixture the oldest goes within the turns of the other side."""
    sides = await start(dut)
    waits = {"r": 0, "w": 0}
    for _ in range(6000):
        sides.reads += random.random() < 0.5 and sides.reads < 20
        sides.writes += random.random() < 0.4 and sides.writes < 20
        went = await sides.cycle(0.1)
        for side, queue in (("r", sides.reads), ("w", sides.writes)):
            waits[side] = waits[side] + 1 if queue and went != side else 0
            assert waits[side] < 120


def run(batch: int, reads: int, most: int) -> None:
    """Build the module and simulate it."""
    parameters = {"WriteBatch": batch, "ReadBatch": reads, "MostReads": most}
    simulate(__file__, "fb_payload_scheduler", parameters, filelist="rtl/top/dram.f")


def test_defaults() -> None:
    """Run all coroutines."""
    run(4, 4, 16)


def test_single() -> None:
    """The least batches."""
    run(1, 1, 1)
