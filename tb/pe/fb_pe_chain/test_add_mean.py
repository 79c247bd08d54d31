# SPDX-License-Identifier: Apache-2.0
"""A chain as the command line makes it, with results: add, mean.

`cargo test` compares the file that is simulated here with what is made of such a pipeline.
"""

from __future__ import annotations

import random
from pathlib import Path

import cocotb

import elements
import harness
from runner import simulate

CHAIN = Path(__file__).parent / "add_mean.sv"
ELEMENTS = "rtl/pe/elements.f"
ON = 1 << 32


@cocotb.test()
@cocotb.parametrize(idle=[0.0, 0.4], stall=[0.0, 0.4])
async def results_are_of_what_was_added(dut, idle: float, stall: float) -> None:
    """Results leave the chain, of what the stages before have made."""
    threshold = 100
    bench = elements.Bench(dut)
    await bench.start(ON | 0x0101_0101 | threshold << 64, idle, stall)
    packets = []
    for _ in range(60):
        shade = random.randrange(255)
        data = bytes([shade]) * 4 * random.randrange(1, 300)
        packets.append((await bench.send(data), data))
    for tag, data in packets:
        shade = data[0] + 1
        await bench.expect(bytes([shade]) * len(data))
        assert await bench.result() == (tag, True, int(shade >= threshold), float(shade))
    await bench.silent()


@harness.provocation
async def withdraw(dut) -> None:
    """Results of each stage are watched, by a checker that names it."""
    bench = elements.Bench(dut)
    await bench.start()
    await harness.withdraw(dut.clk, dut.u_result_1_mean.u_result)


def test_chain() -> None:
    """Run all coroutines."""
    simulate(__file__, "fb_pe_chain", filelist=ELEMENTS, extra_sources=[CHAIN])


def test_results_are_watched() -> None:
    """What the checker says names the stage."""
    simulate(
        __file__,
        "fb_pe_chain",
        filelist=ELEMENTS,
        extra_sources=[CHAIN],
        testcase="withdraw",
        expect_failure="u_result_1_mean.u_result",
    )
