# SPDX-License-Identifier: Apache-2.0
"""fb_raid_divide: the number of a chunk is divided, its page stays as it is."""

from __future__ import annotations

import random

import cocotb
from cocotb.triggers import FallingEdge

import harness
from runner import simulate


async def divide(dut, page: int, drives: int, pages: int) -> tuple[int, int, int]:
    """Return quotient, rest, and the cycles that it took."""
    await harness.step(dut.clk)
    dut.divisor_m1.value, dut.strip_m1.value = drives - 1, pages - 1
    dut.page.value, dut.start.value = page, 1
    await FallingEdge(dut.clk)
    begun = harness.cycle()
    await harness.step(dut.clk)
    dut.start.value, dut.page.value = 0, random.getrandbits(45)
    ended = await harness.until(dut.clk, dut.busy, 0, 40)
    return int(dut.quotient.value), int(dut.rest.value), ended - begun


async def start(dut) -> None:
    """Reset."""
    harness.clear(dut, "start", "page", "divisor_m1", "strip_m1")
    await harness.start(dut)


def check(found: tuple[int, int, int], page: int, drives: int, pages: int) -> None:
    """Compare with Python's division."""
    chunk, inside = divmod(page, pages)
    assert found == (chunk // drives * pages + inside, chunk % drives, 25)


@cocotb.test()
@cocotb.parametrize(drives=range(1, 9), pages=[1, 2, 16, 64, 128, 256])
async def divides(dut, drives: int, pages: int) -> None:
    """Quotient and rest are right, in 25 cycles, for every divisor and chunk."""
    await start(dut)
    for page in [0, 2**45 - 1, *(random.getrandbits(random.randrange(1, 46)) for _ in range(20))]:
        check(await divide(dut, page, drives, pages), page, drives, pages)


@cocotb.test()
async def interrupted(dut) -> None:
    """A reset, or another start, in the middle of a division leaves nothing of it."""
    await start(dut)
    for cycles in range(1, 25, 3):
        for reset in (False, True):
            dut.page.value, dut.start.value = random.getrandbits(45), 1
            await harness.step(dut.clk)
            dut.start.value = 0
            await harness.step(dut.clk, cycles)
            if reset:
                await harness.reset(dut, 1)
                await FallingEdge(dut.clk)
                assert dut.busy.value == 0
            check(await divide(dut, 1000, 3, 4), 1000, 3, 4)


def test_divide() -> None:
    """Run all coroutines."""
    simulate(__file__, "fb_raid_divide", filelist="rtl/top/onchip.f")
