# SPDX-License-Identifier: Apache-2.0
"""fb_net_clock: it follows the PTP clock of cocotbext-eth, and shows no time that there was not."""

from __future__ import annotations

import random
from collections import deque

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from cocotbext.eth import PtpClock

import harness
from runner import simulate

SECOND = 10**9
LATENCY = 3
JUMP = 40  # cycles until another second is multiplied
SECONDS_BITS = 34


def time_of(value: int) -> tuple[int, int]:
    """Return ns and seconds of a `time_t`."""
    return value & 2**64 - 1, value >> 64


def day(seconds: int, ns: int) -> int:
    """Return a time of day of IEEE 1588."""
    return seconds << 32 | ns


def shown(dut) -> int:
    """Return the time that is shown, in ns; its seconds are those of it."""
    ns, seconds = time_of(int(dut.now.value))
    assert seconds == ns // SECOND
    return ns


async def start(dut, ieee1588: int, core_ps: int = 3334) -> None:
    """Reset with both clocks at 0."""
    Clock(dut.clk, 3104, unit="ps").start()
    Clock(dut.clk_core, core_ps, unit="ps").start()
    harness.clear(dut, "time_of_day", "core")
    dut.cfg_ieee1588.value = ieee1588
    dut.rst.value = dut.rst_core.value = 1
    await harness.step(dut.clk, 8)
    await harness.step(dut.clk_core, 8)
    dut.rst.value = dut.rst_core.value = 0


@cocotb.test()
async def follows_a_ptp_clock(dut) -> None:
    """Also over the end of a second, where it stands for one cycle, and where that clock is set."""
    await start(dut, 1)
    clock = PtpClock(clock=dut.clk, period_ns=3.104)
    due: deque[int] = deque()
    for begin in (1_700_000_000 * SECOND - 500, 1_600_000_000 * SECOND - 500, 2**63):
        clock.set_ts_tod_ns(begin)
        await harness.step(dut.clk)
        before, stood = shown(dut), 0
        for cycle in range(400):
            seconds, ns, _ = clock.get_ts_tod()
            dut.time_of_day.value = day(seconds, ns)
            due.append(seconds * SECOND + ns)
            await FallingEdge(dut.clk)
            if cycle < JUMP:
                assert shown(dut) in (before, *due)
            else:
                late = due[-1 - LATENCY] - shown(dut)
                stood += late != 0
                assert late in (0, 3, 4)
            await harness.step(dut.clk)
        assert stood == (begin % SECOND > SECOND - 1000)


@cocotb.test()
async def any_times(dut) -> None:
    """Seconds that follow, jump in both directions or are none: each time shown is one that was."""
    await start(dut, 1)
    past: deque[int] = deque([0], maxlen=2000)
    seconds = same = 0
    good = True
    kinds = set()
    for _ in range(20_000):
        if random.random() < 0.015:
            kind = random.choice(["next", "next", "any", "back", "late", "no ns"])
            kinds.add(kind)
            good = kind not in ("late", "no ns")
            near = seconds + 1 if kind == "next" else seconds - random.randrange(1, 3)
            if kind in ("next", "back") and 0 <= near < 2**SECONDS_BITS:
                seconds = near
            elif kind == "any":
                seconds = random.choice([0, 2**SECONDS_BITS - 1, random.getrandbits(SECONDS_BITS)])
            same = 0
        ns = random.randrange(SECOND)
        given = seconds if good or kind != "late" else seconds | 1 << random.randrange(34, 48)
        part = ns if good or kind != "no ns" else random.randrange(SECOND, 2**32)
        dut.time_of_day.value = day(given, part)
        past.append(seconds * SECOND + ns if good else past[-1])
        same += 1
        await FallingEdge(dut.clk)
        assert shown(dut) in past
        # A second that jumps again is multiplied when the one before has been.
        if good and same > 2 * JUMP + LATENCY:
            assert shown(dut) == past[-1 - LATENCY]
        await harness.step(dut.clk)
    assert len(kinds) == 5


@cocotb.test()
@cocotb.parametrize(core_ps=[2000, 3334, 9998])
async def shows_the_clock_of_the_core(dut, core_ps: int) -> None:
    """What is shown was the core's time within the last 14 cycles of the slower clock."""
    await start(dut, 0, core_ps)
    most = 14 * max(core_ps, 3104) // core_ps + 2
    past: deque[int] = deque([0], maxlen=most)

    async def count() -> None:
        value = 1
        while True:
            value += random.getrandbits(60)
            past.append(value)
            dut.core.value = value
            await harness.step(dut.clk_core)

    cocotb.start_soon(count())
    await harness.step(dut.clk, 100)
    seen = set()
    for _ in range(2000):
        await FallingEdge(dut.clk)
        assert int(dut.now.value) in past
        seen.add(int(dut.now.value))
    assert len(seen) > 100


def test_clock() -> None:
    """Run all coroutines."""
    simulate(__file__, "fb_net_clock")
