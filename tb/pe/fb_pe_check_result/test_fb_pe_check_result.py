# SPDX-License-Identifier: Apache-2.0
"""fb_pe_check_result: each of its rules is seen to be kept, and broken."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.triggers import FallingEdge

import harness
from runner import simulate

PATIENCE = 100


async def start(dut) -> None:
    """Reset with idle inputs."""
    harness.clear(dut, "in_*", "valid", "ready", "data")
    await harness.start(dut)
    await FallingEdge(dut.clk)


async def cycle(dut, *, ends: bool = False, result: bool = False) -> None:
    """Let one cycle pass, in which a packet ends on its way in, and a result is given."""
    dut.in_valid.value = dut.in_ready.value = dut.in_last.value = int(ends)
    dut.valid.value = dut.ready.value = int(result)
    await FallingEdge(dut.clk)


@cocotb.test()
async def what_is_right(dut) -> None:
    """A result for each packet, some time later."""
    await start(dut)
    owed = 0
    for _ in range(5000):
        ends = random.random() < 0.5 and owed < 1000
        result = owed > 0 and (random.random() < 0.5 or owed > 900)
        owed += ends - result
        await cycle(dut, ends=ends, result=result)


@cocotb.test()
async def reset_forgets(dut) -> None:
    """Results that were owed are no longer due."""
    await start(dut)
    await cycle(dut, ends=True)
    await cycle(dut)
    await harness.reset(dut)
    for _ in range(2 * PATIENCE):
        await cycle(dut)


@harness.provocation
async def without_a_packet(dut) -> None:
    """The second result has no packet."""
    await start(dut)
    await cycle(dut, ends=True)
    await cycle(dut, result=True)
    await cycle(dut, result=True)
    await cycle(dut)


@harness.provocation
async def none_comes(dut) -> None:
    """A packet, and silence."""
    await start(dut)
    await cycle(dut, ends=True)
    for _ in range(PATIENCE + 5):
        await cycle(dut)


@harness.provocation
async def too_few_come(dut) -> None:
    """A result for every second packet."""
    await start(dut)
    for turn in range(2100):
        await cycle(dut, ends=True, result=turn % 2 == 1)


@harness.provocation
async def withdraw(dut) -> None:
    """The checker of the handshake is awake."""
    await start(dut)
    await harness.withdraw(dut.clk, dut.u_result)


def run(**options: object) -> None:
    """Build the module and simulate it."""
    simulate(__file__, "fb_pe_check_result", {"Patience": PATIENCE}, **options)


def test_check_result() -> None:
    """Run all coroutines."""
    run()


@pytest.mark.parametrize(
    ("testcase", "message"),
    [
        ("without_a_packet", "result_due"),
        ("none_comes", "result_comes"),
        ("too_few_come", "result_comes"),
        ("withdraw", "m_axis_result: valid fell"),
    ],
)
def test_fires(testcase: str, message: str) -> None:
    """Each rule stops the simulation."""
    run(testcase=testcase, expect_failure=message)
