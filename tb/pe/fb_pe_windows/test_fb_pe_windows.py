# SPDX-License-Identifier: Apache-2.0
"""fb_pe_windows and fb_pe_settings between cocotbext-axi's master and elements that answer late."""

from __future__ import annotations

import itertools
import random
from collections.abc import Awaitable
from pathlib import Path

import cocotb
from cocotb.triggers import FallingEdge, with_timeout
from cocotbext.axi import AxiResp

import harness
from forebay import spec
from runner import simulate

PLACES = (1, 6)
WINDOW = spec.ELEMENTS_WINDOW_BYTES
CHAIN = spec.ELEMENTS_CHAIN
IDENTITY, PRESENT, REFUSED, SILENT = (CHAIN + 4 * at for at in range(4))
PATIENCE = 200  # cycles
OKAY, ERROR, NO_ELEMENT = AxiResp.OKAY, AxiResp.SLVERR, AxiResp.DECERR
BEHIND = 0x800  # an element's registers end here
BENCH = Path(__file__).parent / "windows_tb.sv"


class Element:
    """The registers of an element: it takes address and data when it likes, and answers later.

    What is asked behind its end it answers with an error, and noise for data.
    """

    def __init__(self, bench: Bench, at: int) -> None:
        self.bench, self.at = bench, at
        self.words: dict[int, int] = {}
        self.dumb = False
        self.seen = 0  # cycles in which anything is asked of it

    def get(self, name: str) -> int:
        """Return one of its signals."""
        value = getattr(self.bench.dut, name).value
        bits = len(value) // len(PLACES)
        return int(value) >> bits * self.at & (1 << bits) - 1

    async def run(self) -> None:
        """Serve for ever."""
        clk, asked = self.bench.dut.clk, ("awvalid", "wvalid", "arvalid")
        address = data = None  # of a write, once they are taken
        while True:
            await FallingEdge(clk)
            self.seen += any(self.get(name) for name in asked)
            if self.dumb or random.random() < 0.3:
                continue
            take = {name for name in ("aw", "w", "ar") if random.random() < 0.5}
            if "aw" in take and self.get("awvalid") and address is None:
                address = self.get("awaddr") // 4 * 4
                await self.bench.pulse(self.at, "awready")
            elif "w" in take and self.get("wvalid") and data is None:
                data = self.get("wdata"), self.get("wstrb")
                await self.bench.pulse(self.at, "wready")
            elif "ar" in take and self.get("arvalid"):
                offset = self.get("awaddr") // 4 * 4
                await self.bench.pulse(self.at, "arready")
                await self.bench.rest(random.randrange(3))
                word = self.words.get(offset, 0) if offset < BEHIND else random.getrandbits(32)
                self.bench.put(self.at, "rdata", word)
                self.bench.put(self.at, "rresp", ERROR if offset >= BEHIND else OKAY)
                await self.bench.hold(self.at, "rvalid", "rready")
            if address is None or data is None:
                continue
            await self.bench.rest(random.randrange(3))
            word, strobes = data
            mask = sum(0xFF << 8 * at for at in range(4) if strobes >> at & 1)
            if address < BEHIND:
                old = self.words.get(address, 0)
                self.words[address] = old & ~mask | word & mask
            self.bench.put(self.at, "bresp", ERROR if address >= BEHIND else OKAY)
            await self.bench.hold(self.at, "bvalid", "bready")
            address = data = None


class Bench:
    """The host's side, and the two elements."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.host = harness.axil_master(dut, "s_axil_pe")
        self.elements = [Element(self, at) for at in range(len(PLACES))]
        self.values: dict[str, list[int]] = {}

    def put(self, at: int, name: str, value: int) -> None:
        """Set one of an element's signals."""
        self.values.setdefault(name, [0, 0])[at] = int(value)
        bits = len(getattr(self.dut, name).value) // len(PLACES)
        low, high = self.values[name]
        getattr(self.dut, name).value = high << bits | low

    async def pulse(self, at: int, name: str) -> None:
        """Set a signal for one cycle."""
        self.put(at, name, 1)
        await FallingEdge(self.dut.clk)
        self.put(at, name, 0)

    async def rest(self, cycles: int) -> None:
        """Let cycles pass."""
        for _ in range(cycles):
            await FallingEdge(self.dut.clk)

    async def hold(self, at: int, valid: str, ready: str) -> None:
        """Answer: hold the signal until it is taken."""
        self.put(at, valid, 1)
        while not self.elements[at].get(ready):
            await FallingEdge(self.dut.clk)
        await FallingEdge(self.dut.clk)
        self.put(at, valid, 0)

    async def start(self, stall: float = 0.0, serve: bool = True) -> None:
        """Reset, and let the elements serve."""
        for name in ("awready", "wready", "bvalid", "arready", "rvalid", "bresp", "rresp", "rdata"):
            for at in range(2):
                self.put(at, name, 0)
        self.dut.cfg.value, self.dut.stream.value = random.getrandbits(64), 0
        harness.stall_master(self.host, stall, stall)
        await harness.start(self.dut)
        for element in self.elements if serve else []:
            cocotb.start_soon(element.run())

    async def read(self, at: int) -> tuple[int, AxiResp]:
        """Read a word."""
        found = await with_timeout(self.host.read(at, 4), 20, "us")
        return int.from_bytes(found.data, "little"), found.resp

    async def write(self, at: int, word: int) -> AxiResp:
        """Write a word."""
        data = word.to_bytes(4, "little")
        return (await with_timeout(self.host.write(at, data), 20, "us")).resp


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.4])
async def registers_of_two(dut, stall: float) -> None:
    """Words, and bytes of words, reach the element of their window, and what it says comes back."""
    bench = Bench(dut)
    await bench.start(stall)
    refused = 0
    for _ in range(harness.repeat(1500, 300)):
        at = random.randrange(2)
        element, offset = bench.elements[at], random.choice([0, 4, 8, 0x7FC, 0x800, 0xFFC])
        place = PLACES[at] * WINDOW + offset
        expected = ERROR if offset >= BEHIND else OKAY
        refused += expected != OKAY
        if random.random() < 0.4:
            word, answer = await bench.read(place)
            assert answer == expected
            assert offset >= BEHIND or word == element.words.get(offset, 0)
        elif random.random() < 0.3 and offset < BEHIND:
            old, lane = element.words.get(offset, 0), random.randrange(4)
            byte = random.randrange(256)
            assert (await bench.host.write(place + lane, bytes([byte]))).resp == OKAY
            assert element.words[offset] == old & ~(0xFF << 8 * lane) | byte << 8 * lane
        else:
            word = random.getrandbits(32)
            assert await bench.write(place, word) == expected
            assert offset >= BEHIND or element.words[offset] == word
    assert await bench.read(REFUSED) == (refused, OKAY)
    assert await bench.read(SILENT) == (0, OKAY)


@cocotb.test()
async def reads_and_writes_take_turns(dut) -> None:
    """Where both wait at rest, neither is taken twice in a row."""
    bench = Bench(dut)
    await bench.start()
    place, ends = PLACES[0] * WINDOW, []
    tasks = []
    for _ in range(30):
        for name, access in (("read", bench.read(place)), ("write", bench.write(place, 1))):

            async def follow(name: str = name, access: Awaitable = access) -> None:
                await access
                ends.append(name)

            tasks.append(cocotb.start_soon(follow()))
    for task in tasks:
        await task
    assert all(one != other for one, other in itertools.pairwise(ends[:40]))


@cocotb.test()
async def what_reaches_no_element(dut) -> None:
    """Windows without an element, and what the chain's own does not have, answer with DECERR."""
    bench = Bench(dut)
    await bench.start()
    assert await bench.read(IDENTITY) == (spec.ELEMENTS_IDENTITY, OKAY)
    present = sum(1 << place for place in PLACES)
    assert await bench.read(PRESENT) == (1 << 8 + PLACES[1] | present, OKAY)
    refused = 0
    for place in [*(WINDOW * at for at in range(16) if at not in (*PLACES, 8)), CHAIN + 16]:
        assert await bench.read(place) == (0, NO_ELEMENT)
        assert await bench.write(place, 1) == NO_ELEMENT
        refused += 2
    for place in (IDENTITY, PRESENT, REFUSED, SILENT):
        assert await bench.write(place, 1) == NO_ELEMENT
        refused += 1
    # Settings of an element that has none, or read back, or not a whole word.
    settings = CHAIN + spec.ELEMENTS_SETTINGS_AT
    mine = settings + PLACES[1] * spec.ELEMENTS_SETTINGS_BYTES
    assert await bench.write(settings + PLACES[0] * spec.ELEMENTS_SETTINGS_BYTES, 1) == NO_ELEMENT
    assert await bench.read(mine) == (0, NO_ELEMENT)
    assert (await bench.host.write(mine, b"\1\2")).resp == NO_ELEMENT
    # Nor does any of it stand there once more.
    assert await bench.write(mine + WINDOW, 1) == NO_ELEMENT
    end = settings + spec.ELEMENTS_COUNT * spec.ELEMENTS_SETTINGS_BYTES
    assert await bench.write(end, 1) == NO_ELEMENT
    assert await bench.read(REFUSED) == (refused + 5, OKAY)
    assert not any(element.seen for element in bench.elements)


@cocotb.test()
async def settings_per_stream(dut) -> None:
    """Those of a stream are the usual ones until both halves were set, and are its own then."""
    bench = Bench(dut)
    await bench.start()
    usual = int(dut.cfg.value)
    own: dict[int, int] = {}

    async def holds() -> None:
        for stream in range(16):
            high = random.getrandbits(12) << 4
            dut.stream.value = high | stream
            await FallingEdge(dut.clk)
            assert int(dut.settings.value) == own.get(stream, usual), stream

    base = CHAIN + spec.ELEMENTS_SETTINGS_AT + PLACES[1] * spec.ELEMENTS_SETTINGS_BYTES
    for stream in [*random.sample(range(16), 8), *random.choices(range(16), k=8)]:
        await holds()
        value = random.getrandbits(64)
        assert await bench.write(base + 8 * stream, value & 0xFFFFFFFF) == OKAY
        await holds()
        assert await bench.write(base + 8 * stream + 4, value >> 32) == OKAY
        own[stream] = value
    await holds()
    await harness.reset(dut, 2)
    own.clear()
    await holds()


@cocotb.test()
@cocotb.parametrize(stage=["nothing", "address", "both"], reads=[False, True])
async def one_that_does_not_answer(dut, stage: str, reads: bool) -> None:
    """It is given up after the patience, and no other one notices; a reset asks it again."""
    bench = Bench(dut)
    await bench.start(serve=False)
    other = cocotb.start_soon(bench.elements[1].run())
    place = PLACES[0] * WINDOW

    async def takes() -> None:
        for name in {"nothing": (), "address": ("aw", "ar"), "both": ("aw", "ar", "w")}[stage]:
            bench.put(0, name + "ready", 1)

    await takes()
    for number in range(1, 4):
        answer = (await bench.read(place))[1] if reads else await bench.write(place, 5)
        assert answer == ERROR
        assert await bench.read(REFUSED) == (number, OKAY)
        assert await bench.read(SILENT) == (1 << PLACES[0], OKAY)
        assert await bench.write(PLACES[1] * WINDOW, number) == OKAY
        assert await bench.read(PLACES[1] * WINDOW) == (number, OKAY)
    # What it says now is taken, and means nothing.
    valid = "rvalid" if reads else "bvalid"
    await with_timeout(bench.hold(0, valid, "rready" if reads else "bready"), 1, "us")
    assert await bench.read(REFUSED) == (3, OKAY)
    other.cancel()
    for name in ("awready", "wready", "arready"):
        bench.put(0, name, 0)
    await harness.reset(dut, 2)
    cocotb.start_soon(bench.elements[0].run())
    assert await bench.write(place, 7) == OKAY
    assert bench.elements[0].words[0] == 7
    assert await bench.read(REFUSED) == (0, OKAY)
    assert await bench.read(SILENT) == (0, OKAY)


@cocotb.test()
async def the_last_moment(dut) -> None:
    """An answer in the last cycle of the patience is one; the first too late is not."""
    for late in (0, 1):
        bench = Bench(dut)
        await bench.start(serve=False)
        for name in ("awready", "wready", "arready"):
            bench.put(0, name, 1)
        asked = cocotb.start_soon(bench.read(PLACES[0] * WINDOW))
        while not bench.elements[0].get("arvalid"):
            await FallingEdge(dut.clk)
        bench.put(0, "rdata", 99)
        await bench.rest(PATIENCE + late)
        await bench.pulse(0, "rvalid")
        answer = await with_timeout(asked, 1, "us")
        assert answer == ((0, ERROR) if late else (99, OKAY))
        await harness.step(dut.clk, 2)


@harness.provocation
async def unasked(dut) -> None:
    """An element answers, and nothing was asked."""
    bench = Bench(dut)
    await bench.start(serve=False)
    await bench.rest(1)
    await bench.pulse(1, "bvalid")


def test_windows() -> None:
    """Run all coroutines."""
    simulate(__file__, "windows_tb", filelist="rtl/pe/elements.f", extra_sources=[BENCH])


def test_assertion_fires() -> None:
    """An answer without a question is told."""
    simulate(
        __file__,
        "windows_tb",
        filelist="rtl/pe/elements.f",
        extra_sources=[BENCH],
        fires={"unasked": "answers_were_asked_for"},
    )
