# SPDX-License-Identifier: Apache-2.0
"""fb_pe_tap that skips: the original goes on, and what is not copied has no result."""

from __future__ import annotations

import random

import cocotb
from cocotb.triggers import FallingEdge
from taps import BEATS, INSIDE, Bench, any_objects, check, fill, forgets, run

import elements
import harness
from elements import BEAT, Extent
from forebay import spec

NULLS = 16  # results that wait before the original does


@cocotb.test()
@cocotb.parametrize(idle=[0.0, 0.5], stall=[0.0, 0.4], slow=[0.0, 0.5, 0.9])
async def the_branch_is_slow(dut, idle: float, stall: float, slow: float) -> None:
    """With `Skips` the original goes on; what is not copied has no result, all else its own."""
    bench = Bench(dut)
    await bench.start(idle, stall, slow)
    await any_objects(bench, harness.repeat(1500, 300), random.choice([3, 12, 60]) * BEAT)
    nulls = await check(bench)
    objects = sum(p.user & spec.PACKET_ENDS_OBJECT != 0 for p in bench.sent)
    assert len(nulls) < objects
    assert nulls or slow < 0.9
    if stall == 0.0:
        assert bench.waited == 0


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.4])
async def the_branch_keeps_up(dut, stall: float) -> None:
    """With `Skips` a branch that is quick enough sees all of streams that share no place."""
    bench = Bench(dut)
    await bench.start(0.0, stall, 0.0)
    await any_objects(bench, harness.repeat(600, 120), 30 * BEAT, (0, 1, 18, 35))
    assert await check(bench) == set()


@cocotb.test()
async def a_long_object_is_cut(dut) -> None:
    """Where the FIFO fills up the copy ends, as a part; the next object is seen again."""
    bench = Bench(dut)
    await bench.start()
    bench.copies.pause = True
    extent = Extent(4, 1, 7, 0, 0, 0)
    long = await bench.put(random.randbytes(5 * BEATS * BEAT), elements.WHOLE, extent)
    await bench.expect(long.data)
    bench.copies.pause = False
    tag, data, user = await bench.copy()
    # One beat is in the output of the memory.
    assert (tag, user, len(data)) == (long.tag, spec.PACKET_PART, (BEATS + 1) * BEAT)
    assert long.data.startswith(data)
    assert (await bench.result())[:2] == (long.tag, False)
    short = await bench.put(random.randbytes(70), elements.WHOLE, extent._replace(object=8))
    assert await bench.copy() == (short.tag, short.data, short.user)
    assert bench.unseen == 1 and bench.waited == 0


@cocotb.test()
async def no_more_are_copied(dut) -> None:
    """With `Skips` it goes on, and no more are copied."""
    bench = Bench(dut)
    await bench.start()
    assert await fill(bench) == INSIDE + 8
    assert len(bench.known) == bench.copies.count() == INSIDE
    assert bench.waited == 0


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.5])
async def results_wait(dut, stall: float) -> None:
    """Null results are never lost: where no more find room the end of an object waits.

    What is on offer stays, also in the cycle in which the room is gone.
    """
    bench = Bench(dut)
    await bench.start(0.0, stall)
    harness.stall(bench.results, 0)
    bench.copies.pause = True
    extent = Extent(4, 1, 0, 0, 0, 0)
    long = await bench.put(bytes(2 * BEATS * BEAT), elements.WHOLE, extent)
    await bench.expect(long.data)
    for _ in range(10 if stall else 1):
        bench.results.pause = True
        packets = [
            await bench.put(bytes(9), elements.WHOLE, extent._replace(object=number))
            for number in range(1, 30)
        ]
        await harness.step(dut.clk, 20 * BEATS)
        # In the first round that of the long object waits as well.
        assert NULLS - 1 <= bench.sink.count() <= NULLS and bench.waited > 0
        bench.results.pause = False
        for packet in packets:
            await bench.expect(packet.data)
        await harness.step(dut.clk, 4 * BEATS)
    for packet in bench.sent:
        assert (await bench.result())[:2] == (packet.tag, False)
    assert bench.unseen == len(bench.sent)


@cocotb.test()
async def reset_in_mid_packet(dut) -> None:
    """What is held is forgotten."""
    await forgets(Bench(dut))


@harness.provocation
async def no_room(dut) -> None:
    """A copy that has been cut, since the memory is full, is made to go on."""
    bench = Bench(dut)
    await bench.start()
    bench.copies.pause = True
    await bench.put(bytes(4 * BEATS * BEAT), elements.WHOLE, Extent(1, 1, 1, 0, 0, 0))
    await harness.step(dut.clk, 2 * BEATS)
    await FallingEdge(dut.clk)
    dut.copies_q.value = 1
    await harness.step(dut.clk, 3)


@harness.provocation
async def no_room_for_a_null(dut) -> None:
    """The FIFO of results is made to be full at the end of a packet that was not copied."""
    bench = Bench(dut)
    await bench.start()
    bench.copies.pause = True
    await bench.put(bytes(6 * BEATS * BEAT), elements.WHOLE, Extent(1, 1, 1, 0, 0, 0))
    await harness.until(dut.clk, dut.s_axis_object_tlast)
    dut.u_nulls.level_q.value = NULLS
    await harness.step(dut.clk, 3)


@harness.provocation
async def withdraw_result(dut) -> None:
    """So are the results."""
    await Bench(dut).start()
    await harness.withdraw(dut.clk, dut.u_check_result)


def test_the_branch_is_skipped() -> None:
    """Run all coroutines."""
    run(__file__, skips=True)


def test_assertions_fire() -> None:
    """Each of them."""
    run(
        __file__,
        skips=True,
        fires={
            "no_room": "copy_has_room",
            "no_room_for_a_null": "null_has_room",
            "withdraw_result": "m_axis_result: valid fell",
        },
    )
