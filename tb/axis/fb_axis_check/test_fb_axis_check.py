# SPDX-License-Identifier: Apache-2.0
"""fb_axis_check must stay silent on every stream that is right, and stop those that are not.

fb_axis_if has one.
"""

from __future__ import annotations

import random
from pathlib import Path

import cocotb
import pytest
from cocotb.triggers import FallingEdge

import harness
from runner import simulate


async def start(dut) -> None:
    """Reset with idle inputs."""
    dut.valid.value = 0
    dut.ready.value = 0
    dut.data.value = 0
    dut.stream.tvalid.value = 0
    dut.stream.tready.value = 0
    await harness.start(dut)


async def stream(dut, cycles: int) -> None:
    """Drive a correct stream with random pauses on both sides."""
    for _ in range(cycles):
        await harness.step(dut.clk)
        if dut.valid.value == 0 or dut.ready.value == 1:
            dut.valid.value = random.random() < 0.6
            dut.data.value = random.getrandbits(len(dut.data))
        dut.ready.value = random.random() < 0.4
        await FallingEdge(dut.clk)


@cocotb.test()
async def silent_when_right(dut) -> None:
    """A correct stream passes, also when a reset withdraws a word, and with any data when idle."""
    await start(dut)
    for _ in range(10):
        await stream(dut, 100)
        dut.valid.value = 0
        await harness.reset(dut, 1)


@harness.provocation
async def withdraw(dut) -> None:
    """`valid` falls without `ready`."""
    await start(dut)
    await stream(dut, 20)
    dut.ready.value = 0
    dut.valid.value = 1
    await harness.step(dut.clk, 2)
    dut.valid.value = 0
    await harness.step(dut.clk, 2)


@harness.provocation
async def change(dut) -> None:
    """The payload changes while stalled."""
    await start(dut)
    dut.data.value = 1
    dut.valid.value = 1
    await harness.step(dut.clk, 2)
    dut.data.value = 2
    await harness.step(dut.clk, 2)


@harness.provocation
async def change_stream(dut) -> None:
    """The payload of a stream changes while it waits."""
    await start(dut)
    dut.stream.tkeep.value = 1
    dut.stream.tvalid.value = 1
    await harness.step(dut.clk, 2)
    dut.stream.tkeep.value = 3
    await harness.step(dut.clk, 2)


def run(width: int, **options: object) -> None:
    """Build the checker behind pins and simulate it."""
    simulate(
        __file__,
        "fb_axis_check_tb",
        {"Width": width},
        extra_sources=[Path(__file__).parent / "fb_axis_check_tb.sv"],
        **options,
    )


@pytest.mark.parametrize("width", [2, 577])
def test_check(width: int) -> None:
    """Run all coroutines at this width."""
    run(width)


def test_assertion_fires() -> None:
    """Each assertion fires."""
    run(
        2,
        fires={
            "withdraw": "valid_holds",
            "change": "payload_stable",
            "change_stream": "stream: payload changed",
        },
    )
