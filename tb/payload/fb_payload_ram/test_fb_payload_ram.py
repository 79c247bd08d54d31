# SPDX-License-Identifier: Apache-2.0
"""fb_payload_ram: two ports against one Python array, with read latency and byte strobes."""

from __future__ import annotations

import random
from collections import deque

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

import harness
from runner import simulate

ALL = (1 << 64) - 1


async def start(dut) -> None:
    """Start the clock with both ports idle; the module has no reset."""
    for name in ("a_en", "a_we", "a_addr", "a_wdata", "b_en", "b_we", "b_addr", "b_wdata"):
        getattr(dut, name).value = 0
    cocotb.start_soon(Clock(dut.clk, harness.PERIOD_NS, unit="ns").start())
    await harness.step(dut.clk, 2)


def merge(old: int, new: int, strobes: int) -> int:
    """Return `old` with the bytes of `new` that are strobed."""
    mask = 0
    for byte in range(64):
        if strobes >> byte & 1:
            mask |= 0xFF << 8 * byte
    return old & ~mask | new & mask


def random_strobes() -> int:
    """Return no, all, one, a run of, or any byte strobes."""
    first = random.randrange(64)
    run = (ALL >> random.randrange(64 - first)) & (ALL << first)
    return random.choice([0, ALL, 1 << first, run, random.getrandbits(64)])


@cocotb.test()
async def random_accesses(dut) -> None:
    """Both ports read and write at random; data comes ReadLatency cycles after the request."""
    await start(dut)
    latency = int(dut.ReadLatency.value)
    depth = 1 << len(dut.a_addr)
    places = [0, depth - 1, *random.sample(range(1, depth - 1), 30)]
    words: dict[int, int] = {}
    for place in places:
        words[place] = random.getrandbits(512)
        dut.a_en.value, dut.a_we.value = 1, 1
        dut.a_addr.value, dut.a_wdata.value = place, words[place]
        await harness.step(dut.clk)
    dut.a_en.value = 0
    await harness.step(dut.clk)

    # What each port must show in the coming cycles; None where nothing new arrives.
    shown: dict[str, int | None] = {"a": None, "b": None}
    coming = {port: deque([None] * latency) for port in "ab"}
    for _ in range(3000):
        a_place, b_place = random.sample(places, 2)
        a_on, b_on = random.random() < 0.7, random.random() < 0.7
        a_write, strobes = random.random() < 0.5, random_strobes()
        a_data, b_data = random.getrandbits(512), random.getrandbits(512)
        dut.a_en.value, dut.a_we.value = a_on, a_write
        dut.a_addr.value, dut.a_wdata.value = a_place, a_data
        dut.b_en.value, dut.b_we.value = b_on, strobes
        dut.b_addr.value, dut.b_wdata.value = b_place, b_data
        coming["a"].append(words[a_place] if a_on and not a_write else None)
        coming["b"].append(words[b_place] if b_on and not strobes else None)
        if a_on and a_write:
            words[a_place] = a_data
        if b_on:
            words[b_place] = merge(words[b_place], b_data, strobes)
        await FallingEdge(dut.clk)
        for port, data in (("a", dut.a_rdata), ("b", dut.b_rdata)):
            arrived = coming[port].popleft()
            shown[port] = shown[port] if arrived is None else arrived
            assert shown[port] is None or data.value == shown[port]
        await harness.step(dut.clk)


@harness.provocation
async def write_twice(dut) -> None:
    """A word written by both ports at once must be noticed."""
    await start(dut)
    dut.a_en.value, dut.a_we.value, dut.b_en.value, dut.b_we.value = 1, 1, 1, 1
    await harness.step(dut.clk, 2)


def run(pages: int, latency: int, **options: object) -> None:
    """Build the module and simulate it."""
    parameters = {"Pages": pages, "ReadLatency": latency}
    simulate(__file__, "fb_payload_ram", parameters, filelist="rtl/top/onchip.f", **options)


@pytest.mark.parametrize(
    ("pages", "latency"), [(2, 1), (16, 2), (1024, 3), (16, 4), (16, 8), (1024, 16)]
)
def test_onchip(pages: int, latency: int) -> None:
    """Run all coroutines at this size and latency."""
    run(pages, latency)


@pytest.mark.parametrize("latency", [3, 16])
def test_synthesized(latency: int) -> None:
    """The description that tools for FPGAs see does the same."""
    run(16, latency, defines=["SYNTHESIS"])


def test_no_double_write_fires() -> None:
    """Each assertion fires."""
    run(16, 2, fires={"write_twice": "no_double_write"})
