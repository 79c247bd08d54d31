# SPDX-License-Identifier: Apache-2.0
"""fb_pe_tap that waits: the branch sees all."""

from __future__ import annotations

import cocotb
from taps import INSIDE, Bench, any_objects, check, fill, forgets, run

import harness
from elements import BEAT


@cocotb.test()
@cocotb.parametrize(idle=[0.0, 0.4], stall=[0.0, 0.4], slow=[0.0, 0.7])
async def all_is_copied(dut, idle: float, stall: float, slow: float) -> None:
    """Without `Skips` the branch sees all, however slow it is."""
    bench = Bench(dut)
    await bench.start(idle, stall, slow)
    await any_objects(bench, harness.repeat(600, 120), 40 * BEAT)
    assert await check(bench) == set()


@cocotb.test()
async def no_more_than_the_branch_knows(dut) -> None:
    """Without `Skips` the original waits while INSIDE are in the branch."""
    bench = Bench(dut)
    await bench.start()
    assert await fill(bench) == len(bench.known) == bench.copies.count() == INSIDE


@cocotb.test()
async def reset_in_mid_packet(dut) -> None:
    """What is held is forgotten."""
    await forgets(Bench(dut))


@harness.provocation
async def one_too_many_leaves(dut) -> None:
    """None is inside."""
    bench = Bench(dut)
    await bench.start()
    bench.extra = 1
    await harness.step(dut.clk, 3)


@harness.provocation
async def withdraw_copy(dut) -> None:
    """The branch's stream is watched."""
    await Bench(dut).start()
    await harness.withdraw(dut.clk, dut.u_check_copy)


@harness.provocation
async def withdraw_object(dut) -> None:
    """So is the original."""
    await Bench(dut).start()
    await harness.withdraw(dut.clk, dut.u_check_object)


def test_the_original_waits() -> None:
    """Run all coroutines."""
    run(__file__, skips=False)


def test_assertions_fire() -> None:
    """Each of them."""
    run(
        __file__,
        skips=False,
        fires={
            "one_too_many_leaves": "leaves_what_entered",
            "withdraw_copy": "m_axis_copy: valid fell",
            "withdraw_object": "m_axis_object: valid fell",
        },
    )
