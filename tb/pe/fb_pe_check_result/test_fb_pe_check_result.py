# SPDX-License-Identifier: Apache-2.0
"""fb_pe_check_result: each of its rules is seen to be kept, and broken."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.triggers import FallingEdge

import harness
from forebay import spec
from runner import simulate

PATIENCE = 6000
PART, ENDS_OBJECT = spec.PACKET_PART, spec.PACKET_ENDS_OBJECT


async def start(dut) -> None:
    """Reset with idle inputs."""
    harness.clear(dut, "in_*", "valid", "ready", "data", "user", "tid")
    await harness.start(dut)
    await FallingEdge(dut.clk)


async def cycle(
    dut, *, ends: int | None = None, user: int = ENDS_OBJECT, result: int | None = None
) -> None:
    """Let one cycle pass, in which the packet of a tag ends on its way in, and one has a result."""
    dut.in_valid.value = dut.in_ready.value = dut.in_last.value = int(ends is not None)
    dut.in_tid.value, dut.in_user.value = ends or 0, user
    dut.valid.value = dut.ready.value = int(result is not None)
    dut.tid.value = result or 0
    await FallingEdge(dut.clk)


@cocotb.test()
async def what_is_right(dut) -> None:
    """A result for each object some time later, in any order; none for a packet that ends none."""
    await start(dut)
    owed: list[int] = []
    tag = 2**32 - 1000
    for _ in range(5000):
        ends = result = None
        user = random.choice([ENDS_OBJECT, ENDS_OBJECT | PART, PART, 0])
        oldest = min(owed, key=lambda each: (tag - each) % 2**32, default=tag)
        if owed and random.random() < 0.6:
            # No tag may wait until its place is that of another.
            result = owed.pop(random.randrange(len(owed)))
        if random.random() < 0.7 and (tag - oldest) % 2**32 < 1000:
            ends, tag = tag, (tag + 1) % 2**32
        await cycle(dut, ends=ends, user=user, result=result)
        if ends is not None and user & ENDS_OBJECT:
            owed.append(ends)
        if len(owed) > 900:
            owed.sort(key=lambda each: (tag - each) % 2**32)
            while len(owed) > 10:
                await cycle(dut, result=owed.pop())


@cocotb.test()
async def reset_forgets(dut) -> None:
    """Results that were owed are no longer due."""
    await start(dut)
    await cycle(dut, ends=3)
    await cycle(dut)
    await harness.reset(dut)
    for _ in range(2 * PATIENCE):
        await cycle(dut)


@harness.provocation
async def twice(dut) -> None:
    """An object has two results."""
    await start(dut)
    await cycle(dut, ends=5)
    await cycle(dut, result=5)
    await cycle(dut, result=5)
    await cycle(dut)


@harness.provocation
async def of_another(dut) -> None:
    """A result names a tag that has the same place, and is not out."""
    await start(dut)
    await cycle(dut, ends=5)
    await cycle(dut, result=5 + 1024)
    await cycle(dut)


@harness.provocation
async def of_a_part(dut) -> None:
    """A packet that ends no object has a result."""
    await start(dut)
    await cycle(dut, ends=5, user=PART)
    await cycle(dut, result=5)
    await cycle(dut)


@harness.provocation
async def none_comes(dut) -> None:
    """A packet, and silence."""
    await start(dut)
    await cycle(dut, ends=1)
    for _ in range(PATIENCE + 5):
        await cycle(dut)


@harness.provocation
async def one_comes_late(dut) -> None:
    """An object waits too long, while others have their results."""
    await start(dut)
    await cycle(dut, ends=0)
    for tag in range(1, PATIENCE + 5):
        await cycle(
            dut, ends=tag if tag % 1024 else None, result=tag - 1 if (tag - 1) % 1024 else None
        )
    await cycle(dut, result=0)
    await cycle(dut)


@harness.provocation
async def too_few_come(dut) -> None:
    """A result for every second packet."""
    await start(dut)
    for turn in range(2100):
        await cycle(dut, ends=turn, result=turn - 1 if turn % 2 else None)


@harness.provocation
async def withdraw(dut) -> None:
    """The checker of the handshake is awake."""
    await start(dut)
    await harness.withdraw(dut.clk, dut.u_result)


def run(patience: int = PATIENCE, **options: object) -> None:
    """Build the module and simulate it."""
    simulate(__file__, "fb_pe_check_result", {"Patience": patience}, **options)


def test_check_result() -> None:
    """Run all coroutines."""
    run()


@pytest.mark.parametrize("testcase", ["none_comes", "too_few_come"])
def test_any_patience(testcase: str) -> None:
    """An element that may keep its results to itself does."""
    run(0, testcase=testcase)


def test_fires() -> None:
    """Each rule fires."""
    run(
        fires={
            "twice": "result_due): a result of tag 5, which has none to come",
            "of_another": "result_due): a result of tag 1029, which has none to come",
            "of_a_part": "result_due): a result of tag 5, which has none to come",
            "none_comes": "result_comes",
            "too_few_come": "result_comes",
            "one_comes_late": "result_in_time",
            "withdraw": "m_axis_result: valid fell",
        }
    )
