# SPDX-License-Identifier: Apache-2.0
"""fb_dnn_bytes against a Python string of bytes."""

from __future__ import annotations

import random
from collections import deque

import cocotb
from cocotb.triggers import FallingEdge, ReadOnly

import harness
from forebay import spec
from runner import simulate

BEAT = spec.USER_BEAT_BYTES
GROUP = 63


async def start(dut) -> None:
    """Reset with idle inputs."""
    for name in ("load", "s_valid", "takes", "takes_few"):
        getattr(dut, name).value = 0
    dut["pass"].value = 0
    await harness.start(dut)


async def load(dut, carry: bytes) -> None:
    """Begin a packet with what was left over."""
    dut.load.value = 1
    dut.carry_bytes.value = len(carry)
    dut.carry.value = int.from_bytes((carry + random.randbytes(2))[:2], "little")
    await harness.step(dut.clk)
    dut.load.value = 0


def offer(dut, data: bytes, at: int) -> int:
    """Put the beat of a packet at its input; returns its bytes."""
    beat = data[at : at + BEAT]
    dut.s_valid.value = 1
    noise = random.randbytes(BEAT - len(beat))
    dut.s_data.value = int.from_bytes(beat + noise, "little")
    dut.s_bytes.value = len(beat)
    dut.s_last.value = at + BEAT >= len(data)
    return len(beat)


@cocotb.test()
@cocotb.parametrize(idle=[0.0, 0.4], few=[0.0, 0.3, 1.0])
async def any_bytes(dut, idle: float, few: float) -> None:
    """Whatever is taken of packets of any length leaves two cycles later, in order."""
    await start(dut)
    for _ in range(40):
        carry = random.randbytes(random.randrange(3))
        data = random.randbytes(random.choice([1, 63, 64, 65, 128, random.randrange(1, 1500)]))
        await load(dut, carry)
        rest, at = carry + data, 0
        due: deque[bytes | None] = deque([None, None])
        for _ in range(60 * len(rest)):
            sends = at < len(data) and random.random() >= idle
            dut.s_valid.value = 0
            size = offer(dut, data, at) if sends else 0
            await FallingEdge(dut.clk)
            assert dut.ended.value == (at >= len(data))
            there = int(dut.available.value)
            assert there == len(carry) + at - (len(carry) + len(data) - len(rest))
            want = min(
                GROUP, random.choice([GROUP, there or GROUP, random.randrange(1, GROUP + 1)])
            )
            count = random.randrange(1, 4) if random.random() < few else want
            takes = 0
            if not dut.moving.value and count <= there:
                takes = count
            small = 0 < takes < 4 and random.random() < 0.5
            dut.takes.value, dut.takes_few.value = bool(takes) and not small, small
            # What is not taken is noise.
            dut.group_bytes.value = takes if takes and not small else random.randrange(64)
            dut.few.value = takes if small else random.randrange(4)
            if (before := due.popleft()) is not None:
                window = int(dut.window.value).to_bytes(GROUP, "little")
                assert window[: len(before)] == before
            due.append(rest[:takes] if takes else None)
            rest = rest[takes:]
            await ReadOnly()
            accepted = sends and dut.s_ready.value == 1
            await harness.step(dut.clk)
            at += size if accepted else 0
            if not rest:
                break
        dut.takes.value = dut.takes_few.value = 0
        dut.s_valid.value = 0
        assert not rest
        for before in list(due):
            await FallingEdge(dut.clk)
            if before is not None:
                window = int(dut.window.value).to_bytes(GROUP, "little")
                assert window[: len(before)] == before
            await harness.step(dut.clk)


@cocotb.test()
async def passed(dut) -> None:
    """What is passed is gone, a beat a cycle."""
    await start(dut)
    for beats in (1, 2, 5):
        data = random.randbytes(beats * BEAT - 3)
        await load(dut, b"")
        for at in range(0, len(data), BEAT):
            dut["pass"].value = at > 0 or beats == 1
            offer(dut, data, at)
            await FallingEdge(dut.clk)
            assert dut.s_ready.value == 1
            await harness.step(dut.clk)
        dut.s_valid.value = 0
        await harness.step(dut.clk)
        assert dut.available.value == 0 and dut.ended.value == 1
        dut["pass"].value = 0


@harness.provocation
async def too_many(dut) -> None:
    """More is taken than is there."""
    await start(dut)
    await load(dut, b"ab")
    dut.takes_few.value, dut.few.value = 1, 3
    await harness.step(dut.clk, 3)


def test_fb_dnn_bytes() -> None:
    """Packets of any length."""
    simulate(__file__, "fb_dnn_bytes")


def test_assertions() -> None:
    """What is not there cannot be taken."""
    simulate(__file__, "fb_dnn_bytes", fires={"too_many": "only_what_is_there"})
