# SPDX-License-Identifier: Apache-2.0
"""fb_pe_check: each of its rules is seen to be kept, and broken."""

from __future__ import annotations

import random

import cocotb
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
    dut,
    *,
    ends: bool = False,
    user: int = 0,
    tid: int = 0,
    out: tuple[int, bool, int] | None = None,
    out_tid: int = 0,
) -> None:
    """Let one cycle pass.

    Parameters
    ----------
    dut : HierarchyObject
        The checker.
    ends : bool
        The last beat of a packet goes in; with `user` as TUSER and `tid` as TID.
    out : tuple, optional
        A beat that comes out: TKEEP, TLAST, TUSER; with `out_tid` as TID.
    """
    dut.in_valid.value = dut.in_ready.value = dut.in_last.value = int(ends)
    dut.in_user.value, dut.in_tid.value = user, tid
    keep, last, out_user = out or (0, False, 0)
    dut.out_valid.value = dut.out_ready.value = int(out is not None)
    dut.out_keep.value, dut.out_last.value, dut.out_user.value = keep, int(last), out_user
    dut.out_tid.value = out_tid
    await FallingEdge(dut.clk)


@cocotb.test()
async def what_is_right(dut) -> None:
    """Packets that keep all rules pass: at once, late, with TUSER kept or set, of any length."""
    await start(dut)
    inside: list[tuple[int, int]] = []
    for _ in range(5000):
        ends = random.random() < 0.5 and len(inside) < 1000
        user, tid, out_tid = random.randrange(4), random.getrandbits(32), 0
        packets = inside + [(user, tid)] * ends
        leaves = bool(packets) and random.random() < 0.5
        if leaves:
            keep = (1 << random.randrange(1, BEAT + 1)) - 1
            kept, out_tid = packets.pop(0)
            out = (keep, True, kept | (random.random() < 0.2) * spec.PACKET_PART)
        else:
            out = random.choice([None, (ALL, False, 0)])
            out_tid = packets[0][1] if packets else tid
            # A packet that is not whole has the tag that it will end with.
            out = out if packets else None
        inside = packets
        await cycle(dut, ends=ends, user=user, tid=tid, out=out, out_tid=out_tid)


@cocotb.test()
async def reset_forgets(dut) -> None:
    """Packets that were inside are no longer due."""
    await start(dut)
    for _ in range(1023):
        await cycle(dut, ends=True, user=3, tid=7)
    await cycle(dut)
    await harness.reset(dut)
    await FallingEdge(dut.clk)
    for _ in range(1023):
        await cycle(dut, ends=True)
    await cycle(dut, out=(1, True, 0))
    await cycle(dut)


@harness.provocation
async def nothing_went_in(dut) -> None:
    """An end comes out that is not due."""
    await start(dut)
    await cycle(dut, ends=True, out=(1, True, 0))
    await cycle(dut, out=(1, True, 0))
    await cycle(dut)


@harness.provocation
async def user_is_cleared(dut) -> None:
    """The first of two packets was a part; that of the second is kept for it."""
    await start(dut)
    await cycle(dut, ends=True, user=1)
    await cycle(dut, ends=True)
    await cycle(dut, out=(1, True, 0))
    await cycle(dut)


@harness.provocation
async def user_is_cleared_at_once(dut) -> None:
    """In and out in the same cycle."""
    await start(dut)
    await cycle(dut, ends=True, user=1, out=(1, True, 0))
    await cycle(dut)


@harness.provocation
async def object_ends_anew(dut) -> None:
    """A packet that ended no object comes out as one that does."""
    await start(dut)
    await cycle(dut, ends=True, user=1, out=(1, True, 3))
    await cycle(dut)


@harness.provocation
async def other_tag(dut) -> None:
    """Two packets change places."""
    await start(dut)
    await cycle(dut, ends=True, tid=5)
    await cycle(dut, ends=True, tid=6)
    await cycle(dut, out=(1, True, 0), out_tid=6)
    await cycle(dut)


@harness.provocation
async def short_in_the_middle(dut) -> None:
    """A beat that is not the last one lacks a byte."""
    await start(dut)
    await cycle(dut, out=(ALL >> 1, False, 0))
    await cycle(dut)


@harness.provocation
async def hole_in_the_last(dut) -> None:
    """The last beat has a byte behind one that is missing."""
    await start(dut)
    await cycle(dut, ends=True, out=(0b1011, True, 0))
    await cycle(dut)


@harness.provocation
async def nothing_in_the_last(dut) -> None:
    """The last beat has no byte."""
    await start(dut)
    await cycle(dut, ends=True, out=(0, True, 0))
    await cycle(dut)


@harness.provocation
async def user_too_early(dut) -> None:
    """TUSER stands before the last beat."""
    await start(dut)
    await cycle(dut, out=(ALL, False, 1))
    await cycle(dut)


@harness.provocation
async def tag_changes(dut) -> None:
    """The last beat of a packet has another tag than the one before."""
    await start(dut)
    await cycle(dut, ends=True, tid=5, out=(ALL, False, 0), out_tid=4)
    await cycle(dut, out=(1, True, 0), out_tid=5)
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


def test_rules_fire() -> None:
    """Each rule fires, in its words and under its label."""
    simulate(
        __file__,
        "fb_pe_check",
        fires={
            "nothing_went_in": "packet_due): a packet ends that has not ended on its way in",
            "user_is_cleared": "user_kept): TUSER of the packet is 00, and was 01",
            "user_is_cleared_at_once": "user_kept): TUSER of the packet is 00, and was 01",
            "object_ends_anew": "user_kept): TUSER of the packet is 11, and was 01",
            "tag_changes": "tid_steady): TID changes from 4 to 5 in a packet",
            "other_tag": "tid_kept): TID of the packet is 6, and was 5",
            "short_in_the_middle": "keep_exact): TKEEP is 7fffffffffffffff with TLAST 0",
            "hole_in_the_last": "keep_exact): TKEEP is 000000000000000b with TLAST 1",
            "nothing_in_the_last": "keep_exact): TKEEP is 0000000000000000 with TLAST 1",
            "user_too_early": "user_with_last): TUSER without TLAST",
            "none_comes_out": "none_swallowed): 1024 packets went in",
            "one_stays": "goes_on): a packet is inside, and no beat comes out",
            "valid_falls": "m_axis_object: valid fell",
        },
    )
