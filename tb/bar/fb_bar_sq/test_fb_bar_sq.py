# SPDX-License-Identifier: Apache-2.0
"""fb_bar_sq as the BAR reads it, with the streamer's core played here."""

from __future__ import annotations

import random
from collections import deque

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

import harness
from runner import simulate

FETCH_LATENCY = 2


@cocotb.test()
async def entries(dut) -> None:
    """A word comes Latency cycles after its read, whatever was read before; elsewhere an error."""
    harness.clear(dut, "read_valid", "read_addr", "fetch_sqe")
    depth, drives = int(dut.QueueDepth.value), int(dut.Drives.value)
    cq, latency = int(dut.CqOffset.value), int(dut.Latency.value)
    cocotb.start_soon(Clock(dut.clk, harness.PERIOD_NS, unit="ns").start())
    held = [[random.getrandbits(512) for _ in range(depth)] for _ in range(drives)]
    asked: deque = deque([None] * FETCH_LATENCY)
    wanted: deque = deque([None] * latency)
    fetches, bad = 0, 0
    for cycle in range(600):
        await harness.step(dut.clk)
        drive, slot = random.randrange(drives), random.randrange(depth)
        at = 2 * cq * drive + 64 * slot + random.choice([0, 0, random.randrange(64)])
        entry = held[drive][slot]
        if random.random() < 0.2:
            at, entry = at + cq, None
        valid = cycle > 20 and random.random() < 0.8
        dut.read_valid.value, dut.read_addr.value = valid, at
        fetched = asked.popleft()
        dut.fetch_sqe.value = random.getrandbits(512) if fetched is None else fetched
        await FallingEdge(dut.clk)
        found = None
        if dut.fetch_valid.value == 1:
            fetches += 1
            found = held[int(dut.fetch_drive.value)][int(dut.fetch_slot.value)]
        asked.append(found)
        # What was read Latency cycles ago is here now.
        due = wanted.popleft()
        wanted.append((entry,) if valid else None)
        if due is not None:
            entry = due[0]
            assert dut.read_error.value == (entry is None)
            assert entry is None or int(dut.read_word.value) == entry
            bad += entry is None
    assert fetches > 200 and bad > 40


@pytest.mark.parametrize(
    ("depth", "latency", "drives"), [(2, 2, 1), (64, 3, 1), (1024, 8, 1), (16, 16, 3), (128, 2, 8)]
)
def test_submission(depth: int, latency: int, drives: int) -> None:
    """Run the coroutine at this depth and latency, for this number of drives."""
    parameters = {
        "QueueDepth": depth,
        "Drives": drives,
        "CqOffset": max(4096, 64 * depth),
        "Latency": latency,
    }
    simulate(__file__, "fb_bar_sq", parameters, filelist="rtl/top/onchip.f")
