# SPDX-License-Identifier: Apache-2.0
"""fb_nvme_page_check stays silent while each unit has one user, and stops all that is not so."""

from __future__ import annotations

import random
from collections import deque

import cocotb
from cocotb.triggers import FallingEdge

import harness
from runner import simulate

PAGES = 16
EVENTS = ("issue_valid", "over_valid", "write_valid", "read_valid", "data_valid")


async def start(dut) -> None:
    """Reset with idle inputs."""
    harness.clear(dut, "sweep", "halted", "offline", "*_valid", "*_unit", "*_count")
    dut.issue_drive.value = 0
    await harness.start(dut)
    await sweep(dut)


async def sweep(dut) -> None:
    """Reset, and let the tables be cleared while a beat is asked for."""
    await harness.reset(dut, 2)
    dut.sweep.value = 1
    for index in range(PAGES):
        dut.sweep_index.value = index
        dut.read_valid.value = index == 0
        dut.data_valid.value = index == PAGES - 1
        await harness.step(dut.clk)
    dut.sweep.value, dut.data_valid.value = 0, 0


async def happen(dut, event: str, unit: int = 0, **more: int) -> None:
    """Let one thing happen for a cycle."""
    valid = getattr(dut, f"{event}_valid")
    valid.value = 1
    if event != "data":
        getattr(dut, f"{event}_unit").value = unit
    for name, value in more.items():
        getattr(dut, f"{event}_{name}").value = value
    await harness.step(dut.clk)
    valid.value = 0


class Users:
    """Plays rings, drives and reader by the rules, and knows who uses what."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.named: dict[int, int] = {}  # units by the first one of each outstanding entry
        self.asked: deque[int] = deque()  # units of the beats that are not answered

    def free(self, unit: int) -> bool:
        """Say whether the unit is unused."""
        return unit not in self.asked and self.quiet(unit)

    def quiet(self, unit: int) -> bool:
        """Say whether no drive may touch the unit."""
        return not any(first <= unit < first + count for first, count in self.named.items())

    async def run(self, cycles: int) -> None:
        """Let as much as may happen at once do so in each cycle."""
        dut = self.dut
        for _ in range(cycles):
            for name in (*EVENTS, "wr_offer_valid", "rd_offer_valid"):
                getattr(dut, name).value = 0
            for ring in ("wr", "rd"):
                unit = random.randrange(PAGES)
                getattr(dut, f"{ring}_offer_valid").value = self.free(unit)
                getattr(dut, f"{ring}_offer_unit").value = unit
            for event, allowed in (("write", self.quiet), ("read", self.quiet)):
                unit = random.randrange(PAGES)
                getattr(dut, f"{event}_valid").value = allowed(unit) and random.random() < 0.5
                getattr(dut, f"{event}_unit").value = unit
            self._issue()
            over = random.choice([*self.named, -1]) if random.random() < 0.3 else -1
            dut.over_valid.value = over >= 0
            dut.over_unit.value = max(over, 0)
            answered = self.asked and random.random() < 0.6
            dut.data_valid.value = bool(answered)
            await FallingEdge(dut.clk)
            requested = dut.read_valid.value == 1
            await harness.step(dut.clk)
            # What the device under test has seen now holds from the next cycle on.
            if over >= 0:
                del self.named[over]
            if dut.issue_valid.value == 1:
                self.named[int(dut.issue_unit.value)] = int(dut.issue_count.value)
            if answered:
                self.asked.popleft()
            if requested:
                self.asked.append(int(dut.read_unit.value))

    def _issue(self) -> None:
        first, count = random.randrange(PAGES), random.choice([1, 1, 2, 5])
        taken = int(self.dut.read_unit.value) if self.dut.read_valid.value == 1 else -1
        fits = all(self.free(unit) and unit != taken for unit in range(first, first + count))
        self.dut.issue_valid.value = fits and first + count <= PAGES and random.random() < 0.5
        self.dut.issue_unit.value = first
        self.dut.issue_count.value = count
        self.dut.issue_drive.value = random.randrange(8)


@cocotb.test()
async def silent_when_right(dut) -> None:
    """Units used by one party at a time pass, and a reset forgets all users."""
    await start(dut)
    for _ in range(20):
        await Users(dut).run(random.randrange(20, 300))
        for name in (*EVENTS, "wr_offer_valid", "rd_offer_valid"):
            getattr(dut, name).value = 0
        # Answers to requests before the reset belong to no request.
        dut.rst.value, dut.data_valid.value = 1, 1
        await harness.step(dut.clk, random.randrange(1, 9))
        dut.data_valid.value = 0
        await sweep(dut)


@cocotb.test()
async def free_by_rule(dut) -> None:
    """A unit is free where its drive is offline, and where all is halted."""
    await start(dut)
    await happen(dut, "issue", 3, drive=2, count=2)
    dut.offline.value = 1 << 2
    await happen(dut, "rd_offer", 4)
    await happen(dut, "issue", 3, drive=1, count=2)
    dut.halted.value = 1
    await happen(dut, "wr_offer", 3)
    await harness.step(dut.clk, 2)


@harness.provocation
@cocotb.parametrize(event=["wr_offer", "rd_offer", "write", "read", "issue"], others=[0, 1])
async def named(dut, event: str, others: int) -> None:
    """A unit that an outstanding entry names is touched, also after another command was over."""
    await start(dut)
    await happen(dut, "issue", 4, count=3, drive=1)
    await happen(dut, "issue", 7, count=1, drive=0)
    if others:
        await happen(dut, "over", 7)
    await harness.step(dut.clk, 5)
    await happen(dut, event, 6, **({"count": 1} if event == "issue" else {}))
    await harness.step(dut.clk, 2)


@harness.provocation
@cocotb.parametrize(event=["wr_offer", "rd_offer", "issue"])
async def asked(dut, event: str) -> None:
    """A unit of which a beat is not answered is offered, or named by an entry."""
    await start(dut)
    for unit in (5, 5, 6):
        await happen(dut, "read", unit)
    await happen(dut, "data")
    await harness.step(dut.clk, 5)
    await happen(dut, event, 5, **({"count": 1} if event == "issue" else {}))
    await harness.step(dut.clk, 2)


@harness.provocation
async def answered_twice(dut) -> None:
    """One beat more is answered than was asked for."""
    await start(dut)
    await happen(dut, "read", 5)
    await happen(dut, "data")
    await happen(dut, "data")
    await harness.step(dut.clk, 2)


def run(**options: object) -> None:
    """Build the module and simulate it."""
    simulate(
        __file__, "fb_nvme_page_check", {"Pages": PAGES}, filelist="rtl/top/onchip.f", **options
    )


def test_check() -> None:
    """Run all coroutines."""
    run()


def test_assertion_fires() -> None:
    """Each assertion fires."""
    run(
        fires={
            "named/event=wr_offer/others=0": "a_wr_offer_free",
            "named/event=rd_offer/others=1": "a_rd_offer_free",
            "named/event=write/others=0": "a_write_own",
            "named/event=read/others=1": "a_read_own",
            "named/event=issue/others=0": "a_issue_free",
            "asked/event=wr_offer": "a_wr_offer_free",
            "asked/event=rd_offer": "a_rd_offer_free",
            "asked/event=issue": "a_issue_free",
            "answered_twice": "a_data_asked",
        }
    )
