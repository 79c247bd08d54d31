# SPDX-License-Identifier: Apache-2.0
"""fb_buffer_lists: PRP lists of a buffer in segments."""

from __future__ import annotations

import random

import cocotb
import pytest

import harness
from buffer_segments import COUNT, SEGMENT, BufferSegments
from forebay import spec
from runner import simulate

PAGE = 4096
UNIT = PAGE << spec.DRAM_UNIT_SHIFT


async def start(dut) -> tuple[object, BufferSegments]:
    """Reset, and set the segments; returns a master for the BAR aperture too."""
    harness.clear(dut, "piece_*")
    segments = BufferSegments(dut)
    master = harness.axi_master(dut, "s_axi_data")
    await harness.start(dut)
    await segments.set()
    return master, segments


@cocotb.test()
@cocotb.parametrize(("share", [0.0, 0.5]))
async def entries_name_the_pages_that_follow(dut, share: float) -> None:
    """Reads of any place and size, also where a list leads into the next segment."""
    master, segments = await start(dut)
    harness.stall_master(master, share, share)
    last = SEGMENT // UNIT - 1
    for unit in [0, last, 5 * (last + 1) - 1, *random.sample(range(1024), 20)]:
        first = random.randrange(480)
        count = random.randrange(1, 32)
        answer = await master.read(PAGE * unit + 8 * first, 8 * count)
        assert answer.resp == 0
        for n in range(count):
            entry = int.from_bytes(answer.data[8 * n : 8 * n + 8], "little")
            page = (unit * UNIT + (first + n + 1) * PAGE) % (COUNT * SEGMENT)
            assert entry == segments.place(page), f"unit {unit}, entry {first + n}"


@cocotb.test()
async def nothing_can_be_written(dut) -> None:
    """Writes end with SLVERR and disturb nothing; so do reads that are no INCR."""
    master, segments = await start(dut)
    for count in (8, 64, 4096):
        assert (await master.write(0, bytes(count))).resp != 0
    assert (await master.read(0, 64, burst=0)).resp != 0
    answer = await master.read(0, 8)
    assert int.from_bytes(answer.data, "little") == segments.place(PAGE)


@harness.provocation
async def withdraw_r(dut) -> None:
    """The checker of the read data is connected."""
    await start(dut)
    await harness.withdraw(dut.clk, dut.u_check_r)


def run(**options: object) -> None:
    """Build the module and simulate it."""
    simulate(__file__, "fb_buffer_lists", filelist="rtl/top/hostdram.f", **options)


def test_lists() -> None:
    """Run all coroutines."""
    run()


@pytest.mark.parametrize(("testcase", "message"), [("withdraw_r", "s_axi_data R: valid fell")])
def test_assertion_fires(testcase: str, message: str) -> None:
    """The assertion stops the simulation."""
    run(testcase=testcase, expect_failure=message)
