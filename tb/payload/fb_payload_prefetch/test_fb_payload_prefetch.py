# SPDX-License-Identifier: Apache-2.0
"""fb_payload_prefetch between reads by the BAR and a memory that is slow."""

from __future__ import annotations

import random
from collections import deque

import cocotb
import pytest
from cocotb.triggers import FallingEdge

import harness
from barside import BarSide
from forebay import spec
from runner import simulate

PAGE = 4096
UNIT = PAGE << spec.DRAM_UNIT_SHIFT
BYTES = spec.DRAM_WINDOW_BYTES
LATENCY = 2


class Ahead:
    """The device under test, the memory behind it and the SSD before it."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.ssd = BarSide(dut, LATENCY)
        self.pages: dict[int, bytes] = {}
        self.bad: set[tuple[int, int]] = set()  # page and beat
        self.fetched: list[int] = []
        self.latency = 40
        cocotb.start_soon(self._serve())

    async def _serve(self) -> None:
        dut, due = self.dut, deque()
        while True:
            await harness.step(dut.clk)
            dut.fill_valid.value = 0
            if due and due[0][0] <= harness.cycle() and random.random() < 0.9:
                _, page, beat = due.popleft()
                data = self.pages.get(page, bytes(PAGE))[64 * beat : 64 * beat + 64]
                dut.fill_valid.value = 1
                dut.fill_data.value = int.from_bytes(data, "little")
                dut.fill_error.value = (page, beat) in self.bad
            dut.fetch_ready.value = random.random() < 0.8
            await FallingEdge(dut.clk)
            if dut.fetch_valid.value == 1 and dut.fetch_ready.value == 1:
                page = int(dut.fetch_page.value)
                self.fetched.append(page)
                due.extend((harness.cycle() + self.latency, page, beat) for beat in range(64))

    async def land(self, page: int, data: bytes) -> None:
        """Store a page and tell of it."""
        self.pages[page] = data
        self.dut.committed_valid.value = 1
        self.dut.committed_page.value = page
        await harness.step(self.dut.clk)
        self.dut.committed_valid.value = 0
        await harness.step(self.dut.clk)


async def start(dut) -> Ahead:
    """Reset with everything idle."""
    harness.clear(dut, "fetch_ready", "fill_*", "committed_*", "bar_read_[vsa]*[!yr]", "bar_next_*")
    ahead = Ahead(dut)
    await harness.start(dut)
    await harness.step(dut.clk)
    return ahead


@cocotb.test()
@cocotb.parametrize(("share", [0.0, 0.5]))
async def reads_see_what_landed(dut, share: float) -> None:
    """Reads of any size and place, while pages land again and again."""
    ahead = await start(dut)
    ahead.ssd.stall(share)
    for page in range(24):
        await ahead.land(page, random.randbytes(PAGE))
    for _ in range(120):
        if random.random() < 0.3:
            await ahead.land(random.randrange(24), random.randbytes(PAGE))
            await harness.step(dut.clk, 3)
        page, at = random.randrange(24), random.randrange(PAGE)
        count = min(random.choice([1, 64, 512, PAGE]), PAGE - at)
        answer = await ahead.ssd.read(page * PAGE + at, count)
        assert answer.resp == 0
        assert bytes(answer.data) == ahead.pages[page][at : at + count]


@cocotb.test()
async def goes_ahead_as_far_as_landed(dut) -> None:
    """After the first beat of a page come the next ones of its command, then the next unit."""
    ahead = await start(dut)
    pages = UNIT // PAGE
    for page in (0, 1, 2, pages, 3 * pages):
        await ahead.land(page, random.randbytes(PAGE))
    await ahead.ssd.read(0, 64)
    await harness.step(dut.clk, 400)
    # A unit not yet committed is not known to be empty: what is fetched of it is dropped later.
    assert ahead.fetched[:3] == [0, 1, 2]
    await ahead.ssd.read(2 * PAGE, 64)
    await harness.step(dut.clk, 400)
    assert pages in ahead.fetched
    count = len(ahead.fetched)
    await ahead.ssd.read(3 * pages * PAGE, 64)  # the newest: nothing comes after it
    await harness.step(dut.clk, 400)
    assert ahead.fetched[count:] == [3 * pages]


@cocotb.test()
async def turns_where_the_ring_did(dut) -> None:
    """After the last unit of a lap comes the first one, not one that was never written."""
    ahead = await start(dut)
    pages = UNIT // PAGE
    for unit in (*range(10), 0, 1):
        await ahead.land(unit * pages, random.randbytes(PAGE))
    await ahead.ssd.read(9 * pages * PAGE, 64)
    await harness.step(dut.clk, 400)
    assert ahead.fetched == [9 * pages, 0, pages]
    # The next lap goes further.
    for unit in range(2, 12):
        await ahead.land(unit * pages, random.randbytes(PAGE))
    await ahead.ssd.read(9 * pages * PAGE, 64)
    await harness.step(dut.clk, 400)
    assert ahead.fetched[3:] == [9 * pages, 10 * pages, 11 * pages]


@cocotb.test()
async def reads_for_the_reader_are_not_followed(dut) -> None:
    """The half for reads is the SSD's to write: nothing is ahead there."""
    ahead = await start(dut)
    half = BYTES // 2 // PAGE
    ahead.pages[half] = random.randbytes(PAGE)
    answer = await ahead.ssd.read(half * PAGE, PAGE)
    await harness.step(dut.clk, 200)
    assert bytes(answer.data) == ahead.pages[half] and ahead.fetched == [half]


@cocotb.test()
async def the_memory_refuses(dut) -> None:
    """A beat that was not read well is an error whenever it is read, until it is written again."""
    ahead = await start(dut)
    await ahead.land(0, random.randbytes(PAGE))
    ahead.bad = {(0, 5)}
    assert (await ahead.ssd.read(0, PAGE)).resp != 0
    for beat in (4, 5, 6, 5):
        answer = await ahead.ssd.read(64 * beat, 64)
        assert (answer.resp != 0) == (beat == 5), beat
    assert ahead.fetched.count(0) == 1
    ahead.bad = set()
    await ahead.land(0, random.randbytes(PAGE))
    answer = await ahead.ssd.read(0, PAGE)
    assert answer.resp == 0 and bytes(answer.data) == ahead.pages[0]


@harness.provocation
async def fill_unasked(dut) -> None:
    """A beat for a page that is not being filled."""
    await start(dut)
    await FallingEdge(dut.clk)
    dut.filling_q.value = 0
    dut.fill_valid.value = 1
    await harness.step(dut.clk, 3)


@harness.provocation
async def two_copies(dut) -> None:
    """A page that is there twice."""
    await start(dut)
    await FallingEdge(dut.clk)
    dut.valid_q.value = 3
    for line in range(2):
        dut.tag_q[line].value = 0
    await harness.step(dut.clk, 3)


def run(parameters: dict[str, int] | None = None, **options: object) -> None:
    """Build the module and simulate it."""
    simulate(__file__, "fb_payload_prefetch", parameters, filelist="rtl/top/dram.f", **options)


@pytest.mark.parametrize("parameters", [{}, {"Lines": 4, "AheadPages": 2}])
def test_ahead(parameters: dict[str, int]) -> None:
    """Run all coroutines."""
    run(parameters)


def test_assertion_fires() -> None:
    """Each assertion fires."""
    run(
        fires={
            "fill_unasked": "a_fill_was_asked",
            "two_copies": "a_one_copy",
        }
    )
