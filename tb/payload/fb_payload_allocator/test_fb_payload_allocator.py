# SPDX-License-Identifier: Apache-2.0
"""fb_payload_allocator: no page has two owners, order is kept, and no side is starved."""

from __future__ import annotations

import random
from collections import deque

import cocotb
import pytest
from cocotb.triggers import FallingEdge

import harness
from runner import simulate

SIDES = ("wr", "rd")
INPUTS = ("offer_take", "open", "look_step", "look_count", "free_step", "free_count")


class Half:
    """One direction's half of a port that both share."""

    def __init__(self, dut, name: str, side: str, written: dict[str, int]) -> None:
        self.port, self.written = getattr(dut, name), written
        bits = len(self.port) // 2
        self.mask, self.shift = (1 << bits) - 1, bits * SIDES.index(side)

    @property
    def value(self) -> int:
        """What it is."""
        return int(self.port.value) >> self.shift & self.mask

    @value.setter
    def value(self, value: int) -> None:
        name = self.port._name
        kept = self.written.get(name, 0) & ~(self.mask << self.shift)
        self.port.value = self.written[name] = kept | int(value) << self.shift


class Side:
    """One direction: builds commands of neighbouring pages, retires and frees them in order."""

    def __init__(self, dut, prefix: str, together: bool, written: dict[str, int]) -> None:
        self.dut = dut
        self.prefix = prefix
        self.written = written  # what each input stands at
        self.together = together  # look and free at once, as writes do
        self.building: list[int] = []
        self.wanted = 0
        self.looked: deque[list[int]] = deque()  # built, not yet looked at
        self.freeing: deque[int] = deque()  # looked at, not yet free
        self.taken = 0

    def signal(self, name: str) -> Half:
        """Return this side's half of a port."""
        return Half(self.dut, name, self.prefix, self.written)

    def held(self) -> list[int]:
        """Return the pages this side owns."""
        return [*self.freeing, *(page for pages in self.looked for page in pages), *self.building]

    def drive(self, take: float, retire: float) -> None:
        """Choose this cycle's inputs from the registered outputs, in the middle of the cycle."""
        for name in ("offer_take", "look_step", "free_step", "look_count", "free_count"):
            self.signal(name).value = 0
        if not self.wanted and not self.building and random.random() < take:
            self.wanted = random.choice([1, 1, 2, 8, 40])
        self._build(take)
        self.signal("open").value = bool(self.wanted or self.building)
        self._retire(retire)

    def _build(self, take: float) -> None:
        page = int(self.signal("offer_page").value)
        offered = self.signal("offer_valid").value == 1
        gap = self.building and page != self.building[-1] + 1
        if self.building and (not self.wanted or (offered and gap) or not offered):
            # Done, met the end of a lap, or would wait for its own pages.
            self.looked.append(self.building)
            self.building = []
        elif self.wanted and offered and random.random() < max(take, 0.2):
            assert page not in self.held(), f"{self.prefix}: page {page} offered twice"
            self.signal("offer_take").value = 1
            self.building.append(page)
            self.wanted -= 1
            self.taken += 1

    def _retire(self, retire: float) -> None:
        if self.looked and self.signal("look_valid").value == 1 and random.random() < retire:
            pages = self.looked.popleft()
            assert self.signal("look_page").value == pages[0]
            self.signal("look_step").value = 1
            self.signal("look_count").value = len(pages)
            if self.together:
                self.signal("free_step").value = 1
                self.signal("free_count").value = len(pages)
                return
            self.freeing.extend(pages)
        elif not self.together and self.freeing and random.random() < retire:
            self.freeing.popleft()
            self.signal("free_step").value = 1
            self.signal("free_count").value = 1


class Rings:
    """Both directions and what must hold between them."""

    def __init__(self, dut) -> None:
        self.dut = dut
        written: dict[str, int] = {}
        self.wr = Side(dut, "wr", together=True, written=written)
        self.rd = Side(dut, "rd", together=False, written=written)

    async def run(self, cycles: int, wr: tuple[float, float], rd: tuple[float, float]) -> None:
        """Let both sides work, each with its shares of (taking, retiring)."""
        pages = int(self.dut.Pages.value)
        for _ in range(cycles):
            await FallingEdge(self.dut.clk)
            owned = self.wr.held() + self.rd.held()
            assert len(owned) == len(set(owned)), "a page has two owners"
            assert all(page < pages for page in owned)
            for side in (self.wr, self.rd):
                assert side.signal("held").value == len(side.held())
            self.wr.drive(*wr)
            self.rd.drive(*rd)


async def start(dut) -> Rings:
    """Reset with everything idle."""
    harness.clear(dut, *INPUTS)
    await harness.start(dut)
    return Rings(dut)


@cocotb.test()
async def random_work(dut) -> None:
    """Under every mixture of work on both sides, pages have one owner and come in order."""
    rings = await start(dut)
    for _ in range(14):
        shares = [random.choice([0.0, 0.05, 0.4, 1.0]) for _ in range(4)]
        await rings.run(400, (shares[0], shares[1]), (shares[2], shares[3]))
    await rings.run(3000, (0.0, 1.0), (0.0, 1.0))
    assert not rings.wr.held() and not rings.rd.held()


@cocotb.test()
@cocotb.parametrize(stuck=["wr", "rd"])
async def neither_starves(dut, stuck: str) -> None:
    """A direction that holds all it can get does not stop the other."""
    rings = await start(dut)
    pages, reserve = int(dut.Pages.value), int(dut.ReservePages.value)
    hog, worker = (1.0, 0.0), (1.0, 1.0)
    side = getattr(rings, stuck)
    if stuck == "wr":
        await rings.run(2 * pages, hog, (0.0, 1.0))
        assert len(side.held()) >= pages - reserve - 40
        await rings.run(8 * pages, hog, worker)
        assert rings.rd.taken > 2 * reserve
    else:
        await rings.run(2 * pages, (0.0, 1.0), hog)
        assert len(side.held()) >= pages - reserve - 40
        await rings.run(8 * pages, worker, hog)
        assert rings.wr.taken > 2 * reserve


@cocotb.test()
async def page_rate(dut) -> None:
    """A page a cycle is on offer while there are any."""
    rings = await start(dut)
    await rings.run(10, (0.0, 0.0), (0.0, 0.0))
    before = rings.wr.taken
    for _ in range(int(dut.Pages.value) // 2 - 2):
        await FallingEdge(dut.clk)
        assert rings.wr.signal("offer_valid").value == 1
        dut.open.value, dut.offer_take.value = 1, 1
    assert before == 0


@cocotb.test()
async def reset_in_work(dut) -> None:
    """A reset gives all pages back."""
    for _ in range(3):
        rings = await start(dut) if _ == 0 else Rings(dut)
        await rings.run(random.randrange(20, 300), (1.0, 0.1), (1.0, 0.1))
        harness.clear(dut, *INPUTS)
        await harness.reset(dut, 2)
        await FallingEdge(dut.clk)
        assert dut.held.value == 0


@harness.provocation
async def take_nothing(dut) -> None:
    """A page taken that is not on offer must be noticed."""
    await start(dut)
    await harness.step(dut.clk, 3)
    dut.offer_take.value = 1
    await harness.step(dut.clk, int(dut.Pages.value) + 5)


@harness.provocation
async def free_too_much(dut) -> None:
    """More pages freed than held must be noticed."""
    await start(dut)
    await harness.step(dut.clk, 3)
    dut.free_step.value, dut.free_count.value = 0b10, 3 << 9
    await harness.step(dut.clk, 3)


@harness.provocation
async def look_in_turn(dut) -> None:
    """The look pointer moved while it turns must be noticed."""
    await start(dut)
    await harness.step(dut.clk, 3)
    dut.open.value, dut.offer_take.value = 1, 1
    await harness.step(dut.clk, 4)
    dut.offer_take.value = 0
    await FallingEdge(dut.clk)
    dut.gen_ring[0].look_behind_q.value = 1
    dut.gen_ring[0].lap_end_q.value = int(dut.gen_ring[0].look_q.value)
    dut.look_step.value = 1
    await harness.step(dut.clk, 2)


@harness.provocation
async def overlap(dut) -> None:
    """Rings that overlap must be noticed."""
    await start(dut)
    await harness.step(dut.clk, 3)
    await FallingEdge(dut.clk)
    dut.gen_ring[0].head_q.value = int(dut.Pages.value)
    await harness.step(dut.clk, 2)


def run(pages: int, reserve: int, **options: object) -> None:
    """Build the module and simulate it."""
    parameters = {"Pages": pages, "ReservePages": reserve}
    simulate(__file__, "fb_payload_allocator", parameters, filelist="rtl/top/onchip.f", **options)


@pytest.mark.parametrize(("pages", "reserve"), [(16, 4), (128, 16), (1024, 64)])
def test_rings(pages: int, reserve: int) -> None:
    """Run all coroutines with these parameters."""
    run(pages, reserve)


def test_assertion_fires() -> None:
    """Each assertion fires."""
    run(
        128,
        16,
        fires={
            "take_nothing": "a_take_offered",
            "free_too_much": "a_free_held",
            "look_in_turn": "a_look_in_lap",
            "overlap": "a_apart",
        },
    )
