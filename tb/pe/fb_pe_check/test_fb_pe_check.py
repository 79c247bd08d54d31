# SPDX-License-Identifier: Apache-2.0
"""fb_pe_check: each of its rules is seen to be kept, and broken."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.triggers import FallingEdge, Timer

import harness
from forebay import spec
from runner import simulate

BEAT = spec.USER_BEAT_BYTES
ALL = (1 << BEAT) - 1


async def start(dut) -> None:
    """Reset with idle inputs."""
    harness.clear(dut, "in_*", "out_*")
    await harness.start(dut)
    await FallingEdge(dut.clk)


async def cycle(
    dut, *, ends: bool = False, broken: bool = False, out: tuple[int, bool, bool] | None = None
) -> None:
    """Let one cycle pass.

    Parameters
    ----------
    dut : HierarchyObject
        The checker.
    ends, broken : bool
        The last beat of a packet goes in; with TUSER.
    out : tuple, optional
        A beat that comes out: TKEEP, TLAST, TUSER.
    """
    dut.in_valid.value = dut.in_ready.value = dut.in_last.value = int(ends)
    dut.in_user.value = int(broken)
    keep, last, user = out or (0, False, False)
    dut.out_valid.value = dut.out_ready.value = int(out is not None)
    dut.out_keep.value, dut.out_last.value, dut.out_user.value = keep, int(last), int(user)
    await FallingEdge(dut.clk)


@cocotb.test()
async def what_is_right(dut) -> None:
    """Packets that keep all rules pass: at once, late, with TUSER kept or set, of any length."""
    await start(dut)
    inside: list[bool] = []
    for _ in range(5000):
        ends = random.random() < 0.5 and len(inside) < 1000
        broken = random.random() < 0.5
        users = inside + [broken] * ends
        leaves = bool(users) and random.random() < 0.5
        if leaves:
            keep = (1 << random.randrange(1, BEAT + 1)) - 1
            out = (keep, True, users.pop(0) or random.random() < 0.2)
        else:
            out = random.choice([None, (ALL, False, False)])
        inside = users
        await cycle(dut, ends=ends, broken=broken, out=out)


@cocotb.test()
async def reset_forgets(dut) -> None:
    """Packets that were inside are no longer due."""
    await start(dut)
    for _ in range(1023):
        await cycle(dut, ends=True, broken=True)
    await cycle(dut)
    await harness.reset(dut)
    await FallingEdge(dut.clk)
    for _ in range(1023):
        await cycle(dut, ends=True)
    await cycle(dut, out=(1, True, False))
    await cycle(dut)


@harness.provocation
async def nothing_went_in(dut) -> None:
    """An end comes out that is not due."""
    await start(dut)
    await cycle(dut, ends=True, out=(1, True, False))
    await cycle(dut, out=(1, True, False))
    await cycle(dut)


@harness.provocation
async def user_is_cleared(dut) -> None:
    """The first of two packets was broken; that of the second is kept for it."""
    await start(dut)
    await cycle(dut, ends=True, broken=True)
    await cycle(dut, ends=True)
    await cycle(dut, out=(1, True, False))
    await cycle(dut)


@harness.provocation
async def user_is_cleared_at_once(dut) -> None:
    """In and out in the same cycle."""
    await start(dut)
    await cycle(dut, ends=True, broken=True, out=(1, True, False))
    await cycle(dut)


@harness.provocation
async def short_in_the_middle(dut) -> None:
    """A beat that is not the last one lacks a byte."""
    await start(dut)
    await cycle(dut, out=(ALL >> 1, False, False))
    await cycle(dut)


@harness.provocation
async def hole_in_the_last(dut) -> None:
    """The last beat has a byte behind one that is missing."""
    await start(dut)
    await cycle(dut, ends=True, out=(0b1011, True, False))
    await cycle(dut)


@harness.provocation
async def nothing_in_the_last(dut) -> None:
    """The last beat has no byte."""
    await start(dut)
    await cycle(dut, ends=True, out=(0, True, False))
    await cycle(dut)


@harness.provocation
async def user_too_early(dut) -> None:
    """TUSER stands before the last beat."""
    await start(dut)
    await cycle(dut, out=(ALL, False, True))
    await cycle(dut)


@harness.provocation
async def none_comes_out(dut) -> None:
    """Packets go in and in."""
    await start(dut)
    for _ in range(1030):
        await cycle(dut, ends=True)


@harness.provocation
async def one_stays(dut) -> None:
    """A packet goes in, and that is all."""
    await start(dut)
    await cycle(dut, ends=True)
    await cycle(dut)
    await Timer(70_000 * harness.PERIOD_NS, "ns")


@harness.provocation
async def valid_falls(dut) -> None:
    """A beat is withdrawn."""
    await start(dut)
    dut.out_valid.value = 1
    dut.out_keep.value = ALL
    await FallingEdge(dut.clk)
    dut.out_valid.value = 0
    await harness.step(dut.clk, 2)


def test_check() -> None:
    """Run what passes."""
    simulate(__file__, "fb_pe_check")


@pytest.mark.parametrize(
    ("testcase", "label", "message"),
    [
        ("nothing_went_in", "packet_due", "a packet ends that has not ended on its way in"),
        ("user_is_cleared", "user_kept", "TUSER of the packet was lost"),
        ("user_is_cleared_at_once", "user_kept", "TUSER of the packet was lost"),
        ("short_in_the_middle", "keep_exact", "TKEEP is 7fffffffffffffff with TLAST 0"),
        ("hole_in_the_last", "keep_exact", "TKEEP is 000000000000000b with TLAST 1"),
        ("nothing_in_the_last", "keep_exact", "TKEEP is 0000000000000000 with TLAST 1"),
        ("user_too_early", "user_with_last", "TUSER without TLAST"),
        ("none_comes_out", "none_swallowed", "1024 packets went in"),
        ("one_stays", "goes_on", "a packet is inside, and no beat comes out"),
        ("valid_falls", "valid_holds", "m_axis_object: valid fell"),
    ],
)
def test_rules_fire(testcase: str, label: str, message: str) -> None:
    """Each rule stops the simulation, in its words and under its label."""
    simulate(__file__, "fb_pe_check", testcase=testcase, expect_failure=f"{label}): {message}")
