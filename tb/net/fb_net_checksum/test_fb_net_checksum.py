# SPDX-License-Identifier: Apache-2.0
"""fb_net_checksum against scapy's checksum."""

from __future__ import annotations

import random

import cocotb
from cocotb.triggers import FallingEdge
from scapy.utils import checksum

import harness
from runner import simulate

BEAT = 64


def expected(data: bytes, keep: list[bool], seed: int) -> int:
    """Return the sum of the bytes kept and the seed, each word in its place."""
    kept = bytes(byte if there else 0 for byte, there in zip(data, keep, strict=True))
    return 0xFFFF ^ checksum(kept + seed.to_bytes(4, "big"))


@cocotb.test()
async def any_frame(dut) -> None:
    """Frames of any length, with idle cycles between beats or without, give scapy's sum in time."""
    dut.s_valid.value = 0
    await harness.start(dut)
    due: dict[int, int] = {}
    found: dict[int, int] = {}

    async def watch() -> None:
        while True:
            await FallingEdge(dut.clk)
            if dut.m_valid.value == 1:
                found[harness.cycle()] = value = int(dut.m_sum.value)
                assert (dut.m_right.value == 1) == (value == 0xFFFF)

    cocotb.start_soon(watch())
    for number in range(300):
        beats = random.choice([1, 1, 1, 2, 3, 141])
        share = random.choice([0.0, 0.5])
        length = beats * BEAT
        data = random.choice([random.randbytes(length), b"\xff" * length, bytes(length)])
        keep = [random.random() < 0.9 for _ in range(length)]
        seed = random.choice([0, 0xFFFF, 0x1FFFF, random.getrandbits(17)])
        for beat in range(beats):
            while random.random() < share:
                dut.s_valid.value = 0
                await harness.step(dut.clk)
            part = slice(beat * BEAT, (beat + 1) * BEAT)
            dut.s_valid.value = 1
            dut.s_first.value = beat == 0
            dut.s_last.value = beat == beats - 1
            dut.s_data.value = int.from_bytes(data[part], "little")
            dut.s_keep.value = sum(there << i for i, there in enumerate(keep[part]))
            dut.s_seed.value = seed
            await FallingEdge(dut.clk)
            now = harness.cycle()
            await harness.step(dut.clk)
        due[now + 4] = expected(data, keep, seed)
        if number == 200:
            # A reset forgets what is on its way.
            dut.s_valid.value = 0
            await harness.reset(dut)
            due = {cycle: value for cycle, value in due.items() if cycle <= now}
            found = {cycle: value for cycle, value in found.items() if cycle <= now}
    dut.s_valid.value = 0
    await harness.step(dut.clk, 8)

    # 0 and 0xffff are the same sum; scapy and the adders may differ in which they give.
    def plain(sums: dict[int, int]) -> dict[int, int]:
        return {cycle: value % 0xFFFF for cycle, value in sums.items()}

    assert plain(found) == plain(due) and len(due) > 250
    assert 0xFFFF in found.values()


def test_sum() -> None:
    """Run all coroutines."""
    simulate(__file__, "fb_net_checksum")
