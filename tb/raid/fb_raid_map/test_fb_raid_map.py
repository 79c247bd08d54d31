# SPDX-License-Identifier: Apache-2.0
"""fb_raid_map: every sector of the array on its drive, as division says."""

from __future__ import annotations

import random

import cocotb
from cocotb.triggers import FallingEdge

import harness
import structs
from runner import simulate

SECTORS = 8  # in a page


def place(sector: int, drives: int, pages: int) -> tuple[int, int]:
    """Return the drive and the sector on it."""
    chunk = SECTORS * pages
    number, rest = divmod(sector, chunk)
    row, drive = divmod(number, drives)
    return drive, row * chunk + rest


async def start(dut, drives: int, pages: int, region: int = 0) -> None:
    """Reset with these numbers of drives, of pages in a chunk, or of sectors in a region."""
    harness.clear(dut, "s_valid", "s_command", "m_ready")
    dut.cfg.value = structs.pack(
        "cfg_t", drives_m1=drives - 1, strip_m1=pages - 1, region_sectors=region
    )
    await harness.start(dut)


async def feed(dut, sectors: list[int], idle: float) -> None:
    """Offer commands, with pauses."""
    for number, sector in enumerate(sectors):
        while random.random() < idle:
            await harness.step(dut.clk)
        command = structs.pack("command_t", sector=sector, page=number % 1024, last=number % 2)
        dut.s_command.value, dut.s_valid.value = command, 1
        await FallingEdge(dut.clk)
        while dut.s_ready.value == 0:
            await FallingEdge(dut.clk)
        await harness.step(dut.clk)
        dut.s_valid.value = 0


async def take(dut, count: int, idle: float) -> tuple[list[dict[str, int]], list[int]]:
    """Take `count` commands, with pauses; return them, and the cycles in which they came."""
    found, cycles = [], []
    while len(found) < count:
        await harness.step(dut.clk)
        dut.m_ready.value = random.random() >= idle
        await FallingEdge(dut.clk)
        if dut.m_valid.value == 1 and dut.m_ready.value == 1:
            found.append(structs.unpack("command_t", int(dut.m_command.value)))
            cycles.append(harness.cycle())
    await harness.step(dut.clk)
    dut.m_ready.value = 0
    return found, cycles


def choose(count: int) -> list[int]:
    """Return sectors of every size, the greatest and the least among them."""
    return [0, 2**48 - 1, *(random.getrandbits(random.randrange(1, 49)) for _ in range(count))]


@cocotb.test()
@cocotb.parametrize(drives=range(1, 9), pages=[1, 16, 256])
async def places(dut, drives: int, pages: int) -> None:
    """Quotient and remainder are right for all numbers of drives, and the rest goes through."""
    await start(dut, drives, pages)
    idle = random.choice([0.0, 0.5])
    sectors = choose(60)
    cocotb.start_soon(feed(dut, sectors, idle))
    found, _ = await take(dut, len(sectors), idle)
    for number, (sector, command) in enumerate(zip(sectors, found, strict=True)):
        assert (command["drive"], command["sector"]) == place(sector, drives, pages)
        assert (command["page"], command["last"]) == (number % 1024, number % 2)


@cocotb.test()
@cocotb.parametrize(drives=range(1, 9), region=[8, 0x1_0000, 2**45 - 128])
async def regions(dut, drives: int, region: int) -> None:
    """Each drive has its region; what lies behind the last one stays with that drive."""
    await start(dut, drives, 1, region)
    edges = [n * region + d for n in range(1, drives + 1) for d in (-1, 0)]
    sectors = [0, 2**48 - 1, *edges, *(random.randrange(drives * region) for _ in range(20))]
    cocotb.start_soon(feed(dut, sectors, random.choice([0.0, 0.5])))
    found, _ = await take(dut, len(sectors), random.choice([0.0, 0.5]))
    for sector, command in zip(sectors, found, strict=True):
        drive = min(sector // region, drives - 1)
        assert (command["drive"], command["sector"]) == (drive, sector - drive * region)


@cocotb.test()
async def latency_and_rate(dut) -> None:
    """A command takes eight cycles, and so does the next."""
    await start(dut, 5, 16)
    sectors = choose(20)
    taken: list[int] = []
    cocotb.start_soon(harness.record(dut.clk, dut.s_valid, dut.s_ready, taken))
    cocotb.start_soon(feed(dut, sectors, 0.0))
    _, cycles = await take(dut, len(sectors), 0.0)
    dut._log.info("%d cycles, then one in %.2f", cycles[0] - taken[0], 1 / harness.rate(cycles))
    assert cycles[0] - taken[0] == 26
    assert cycles[-1] - cycles[0] == 25 * (len(cycles) - 1)


@cocotb.test()
async def reset_inside(dut) -> None:
    """After a reset in the middle of a division nothing of it is left."""
    await start(dut, 3, 1)
    for cycles in range(1, 12):
        feeding = cocotb.start_soon(feed(dut, [2**40 + 5], 0.0))
        await harness.step(dut.clk, cycles)
        feeding.cancel()
        dut.s_valid.value = 0
        await harness.reset(dut, 2)
        await FallingEdge(dut.clk)
        assert dut.m_valid.value == 0 and dut.busy.value == 0
    cocotb.start_soon(feed(dut, [1000], 0.0))
    (command,), _ = await take(dut, 1, 0.0)
    assert (command["drive"], command["sector"]) == place(1000, 3, 1)


@harness.provocation
async def withdraw(dut) -> None:
    """The stream checker is connected."""
    await start(dut, 2, 1)
    await harness.withdraw(dut.clk, dut.u_check)


def run(**options: object) -> None:
    """Build the module and simulate it."""
    simulate(__file__, "fb_raid_map", filelist="rtl/top/onchip.f", **options)


def test_stripe() -> None:
    """Run all coroutines."""
    run()


def test_assertion_fires() -> None:
    """Each assertion fires."""
    run(
        fires={
            "withdraw": "command: valid fell",
        }
    )
