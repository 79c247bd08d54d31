# SPDX-License-Identifier: Apache-2.0
"""fb_store_replay on an index in memory, against a search in Python."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import cocotb
from cocotb.triggers import FallingEdge

import forms
import harness
from extents import FORM, PAGE, Reader, Row, Sums, block_of
from forebay import spec
from runner import simulate

ROWS = FORM.rows
STREAM = 3
DATA_PAGES = 1 << 20
GOOD = spec.ROW_COUNTS | spec.ROW_WHOLE


def row(data_base: int, number: int) -> Row:
    """Make a row: mostly of a whole object in the region, in a stream of a few."""
    kind = random.choice(["good"] * 6 + ["cut", "skipped", "failed", "filler", "outside", "empty"])
    flags = {
        "cut": spec.ROW_COUNTS | spec.ROW_CUT,
        "skipped": GOOD | spec.ROW_SKIPPED,
        "failed": GOOD | spec.ROW_FAILED | 7 << spec.ROW_CODE_LSB,
        "filler": spec.ROW_WHOLE,
    }.get(kind, GOOD | random.choice([0, spec.ROW_RESULT, spec.ROW_LATE]))
    length = 0 if kind == "empty" else random.choice([1, random.randrange(1, 1 << 20)])
    end = data_base + DATA_PAGES * PAGE
    address = random.choice(
        [data_base, end - length, random.randrange(data_base, end - length)]
        if kind != "outside"
        else [data_base - 512, end - length + 1, 2**64 - 1 - length // 2]
    )
    stream = random.choice([STREAM, STREAM, STREAM, STREAM + 1, STREAM + 256])
    return Row.any(flags=flags, address=address, length=length, object=number, stream=stream)


@dataclass
class Index:
    """Blocks in a region, and what of it is to be looked at."""

    pages: int = 8  # each as long as a block
    blocks: int = 4
    ring: int = 0
    number: int = field(default_factory=lambda: random.getrandbits(31))
    page: int = 0  # of the first block, in blocks
    align: int = field(default_factory=lambda: random.randrange(8))  # pages of a block, 2^N
    session: int = field(default_factory=lambda: random.getrandbits(64))

    def __post_init__(self) -> None:
        """Fill it."""
        self.unit = PAGE << self.align
        self.base = random.getrandbits(40) * self.unit
        self.data = random.randrange(1, 1 << 40) * PAGE
        self.memory: dict[int, bytes] = {}
        self.rows: list[list[Row]] = []
        number = random.getrandbits(48)
        self.first = number
        for turn in range(self.blocks):
            rows = []
            for _ in range(random.choice([ROWS, ROWS, random.randrange(1, ROWS)])):
                rows.append(row(self.data, number))
                number += random.choice([0, 1, 1, 1, 5])
            self.rows.append(rows)
            self.memory[(self.page + turn) % self.pages] = self.block(turn)
        self.last = number

    def block(self, turn: int, **others: int) -> bytes:
        """Make the block of a turn; `others` are wrong on purpose."""
        number = others.get("number", self.number + turn)
        return block_of(self.rows[turn], others.get("session", self.session), number)

    def read(self, address: int, length: int) -> bytes:
        """Answer a read: noise where there is no block."""
        assert length == PAGE and (address - self.base) % self.unit == 0
        page = (address - self.base) // self.unit
        assert 0 <= page < self.pages, "a read past the region"
        return self.memory.get(page, random.randbytes(PAGE))

    def found(self, first: int, last: int, blocks: int) -> tuple[list[tuple[int, ...]], int]:
        """Search: what is to be ordered, and how many rows are passed over."""
        orders, passed = [], 0
        end = self.data + DATA_PAGES * PAGE
        for each in (row for rows in self.rows[:blocks] for row in rows):
            wanted = each.stream == STREAM and first <= each.object <= last
            if not (wanted and each.flags & spec.ROW_COUNTS):
                continue
            bad = spec.ROW_SKIPPED | spec.ROW_FAILED
            inside = self.data <= each.address and each.address + each.length <= end
            if each.flags & (spec.ROW_WHOLE | bad) == spec.ROW_WHOLE and each.length and inside:
                nonce = each.nonce if FORM.cipher else 0
                orders.append((each.address, each.length, each.object, nonce))
            else:
                passed += 1
        return orders, passed


class Bench:
    """The module, an index, and who takes orders."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.reader = Reader(dut)
        self.sums = Sums(dut)
        self.orders: list[tuple[int, ...]] = []
        self.stall = 0.0

    async def start(self, index: Index, idle: float = 0.0, stall: float = 0.0) -> None:
        """Reset, with the regions of an index."""
        self.stall, self.sums.stall = stall, min(stall, 0.5)
        harness.clear(self.dut, "go", "stop", "order_ready", "count")
        self.use(index)
        harness.stall(self.reader.data, idle)
        harness.stall(self.reader.sink, stall)
        await harness.start(self.dut)
        cocotb.start_soon(self.take())

    def use(self, index: Index) -> None:
        """Take another index."""
        dut = self.dut
        dut.cfg_ring.value = index.ring
        dut.cfg_align.value, dut.cfg_index_base.value = index.align, index.base // PAGE
        dut.cfg_index_bytes.value = index.pages << index.align
        dut.cfg_data_base.value, dut.cfg_data_bytes.value = index.data // PAGE, DATA_PAGES
        dut.cfg_session.value = index.session
        self.reader.content = index.read

    async def take(self) -> None:
        """Take orders."""
        names = ("order_address", "order_bytes", "order_object", "order_nonce")
        while True:
            await harness.step(self.dut.clk)
            self.dut.order_ready.value = int(random.random() >= self.stall)
            await FallingEdge(self.dut.clk)
            if self.dut.order_valid.value and self.dut.order_ready.value:
                self.orders.append(tuple(int(getattr(self.dut, name).value) for name in names))

    async def go(self, index: Index, first: int, last: int, count: int) -> None:
        """Ask for objects."""
        dut = self.dut
        await harness.step(dut.clk)
        dut.first.value, dut.last.value, dut.stream.value = first, last, STREAM
        dut.from_block.value, dut.from_page.value = index.number, index.page << index.align
        dut.count.value, dut.go.value = count, 1
        await harness.step(dut.clk)
        dut.go.value = 0

    async def ends(self) -> tuple[int, int, int]:
        """Wait until it has ended; returns its counters."""
        await harness.step(self.dut.clk, 2)
        await harness.until(self.dut.clk, self.dut.busy, 0, limit=60_000)
        await harness.step(self.dut.clk, 2)
        return tuple(int(getattr(self.dut, name).value) for name in ("ordered", "passed", "blocks"))

    async def replays(self, index: Index, first: int, last: int, count: int, blocks: int) -> None:
        """Ask, and compare with a search in `blocks` blocks."""
        self.orders.clear()
        await self.go(index, first, last, count)
        orders, passed = index.found(first, last, blocks)
        assert await self.ends() == (len(orders), passed, blocks)
        assert self.orders == orders


@cocotb.test()
@cocotb.parametrize(idle=[0.0, 0.4], stall=[0.0, 0.7])
async def any_range(dut, idle: float, stall: float) -> None:
    """Rows of the stream with these numbers are ordered, in the order of the index."""
    bench = Bench(dut)
    index = Index()
    await bench.start(index, idle, stall)
    await bench.replays(index, 0, 2**64 - 1, 4, 4)
    for _ in range(3):
        ends = sorted(random.randrange(index.first, index.last + 1) for _ in range(2))
        count = random.randrange(1, 5)
        await bench.replays(index, *ends, count, count)
    lone = random.choice(index.rows[2]).object
    await bench.replays(index, lone, lone, 4, 4)
    await bench.replays(index, index.last + 1, 2**64 - 1, 4, 4)


@cocotb.test()
@cocotb.parametrize(ring=[0, 1])
async def the_regions_end(dut, ring: int) -> None:
    """A ring goes on at its beginning; else the end is the end."""
    bench = Bench(dut)
    index = Index(pages=5, blocks=4, ring=ring, page=3)
    await bench.start(index)
    await bench.replays(index, 0, 2**64 - 1, 9, 4 if ring else 2)
    index.page = 5
    await bench.replays(index, 0, 2**64 - 1, 9, 0)


@cocotb.test()
@cocotb.parametrize(wrong=["bit", "session", "number", "fails", "noise"])
async def ends_at_what_is_not_due(dut, wrong: str) -> None:
    """A block that is not the one that is due ends it, and none of its rows counts."""
    bench = Bench(dut)
    index = Index(number=0)
    await bench.start(index)
    page = bytearray(index.memory[2])
    if wrong == "bit":
        at = random.randrange(PAGE)
        page[at] ^= 1 << random.randrange(8)
    elif wrong == "session":
        page = index.block(2, session=index.session ^ 1 << random.randrange(64))
    elif wrong == "number":
        page = index.block(2, number=1)
    elif wrong == "noise":
        page = random.randbytes(PAGE)
    else:
        cocotb.start_soon(fail_the_third(bench))
    index.memory[2] = bytes(page)
    await bench.replays(index, 0, 2**64 - 1, 4, 2)
    assert len(bench.reader.commands) == 3


async def fail_the_third(bench: Bench) -> None:
    """Let the third read fail."""
    while len(bench.reader.commands) < 2:
        await harness.step(bench.dut.clk)
    bench.reader.fail = 1.0


@cocotb.test()
async def stops(dut) -> None:
    """What was ordered stays so; nothing follows, and the next search begins anew."""
    bench = Bench(dut)
    await bench.start(Index(), stall=0.5)
    for _ in range(harness.repeat(10, 4)):
        index = Index()
        bench.use(index)
        bench.orders.clear()
        await bench.go(index, 0, 2**64 - 1, 4)
        await harness.step(dut.clk, random.randrange(1500))
        dut.stop.value = 1
        await harness.step(dut.clk)
        dut.stop.value = 0
        ordered, _, _ = await bench.ends()
        orders, _ = index.found(0, 2**64 - 1, 4)
        assert ordered == len(bench.orders) and bench.orders == orders[:ordered]
        await bench.replays(index, 0, 2**64 - 1, 4, 4)


@cocotb.test()
async def one_at_a_time(dut) -> None:
    """A second one is not begun while the first goes on; one of no blocks does nothing."""
    bench = Bench(dut)
    index = Index()
    await bench.start(index)
    await bench.go(index, 0, 2**64 - 1, 4)
    await harness.step(dut.clk, 200)
    assert dut.busy.value == 1
    dut.go.value, dut.from_block.value = 1, 0
    await harness.step(dut.clk)
    dut.go.value = 0
    orders, passed = index.found(0, 2**64 - 1, 4)
    assert await bench.ends() == (len(orders), passed, 4) and bench.orders == orders
    await bench.replays(index, 0, 2**64 - 1, 0, 0)


@cocotb.test()
async def ahead(dut) -> None:
    """The next block is read while the rows of one wait for their orders, and no further one."""
    bench = Bench(dut)
    index = Index()
    await bench.start(index, stall=1.0)
    await bench.go(index, 0, 2**64 - 1, 4)
    await harness.step(dut.clk, 2000)
    assert len(bench.reader.commands) == 2 and dut.ordered.value == 0


@cocotb.test()
async def rate(dut) -> None:
    """N cycles to the first row, and for a block."""
    bench = Bench(dut)
    index = Index(pages=70, blocks=20)
    await bench.start(index)
    await bench.go(index, 2**64 - 1, 2**64 - 1, 20)
    began = harness.cycle()
    await harness.until(dut.clk, dut.scans_q)
    assert harness.cycle() - began <= 142
    await harness.until(dut.clk, dut.busy, 0, limit=60_000)
    assert harness.cycle() - began <= 142 + 20 * 514


@cocotb.test()
async def reset_in_mid_search(dut) -> None:
    """All is forgotten."""
    bench = Bench(dut)
    await bench.start(Index())
    for _ in range(5):
        index = Index()
        bench.use(index)
        await bench.go(index, 0, 2**64 - 1, 4)
        await harness.step(dut.clk, random.randrange(1, 900))
        dut.rst.value = 1
        await harness.step(dut.clk, 2)
        bench.reader.forget()
        dut.rst.value = 0
        await harness.step(dut.clk, 2)
        assert dut.busy.value == 0
        await bench.replays(index, 0, 2**64 - 1, 4, 4)


def test_replay() -> None:
    """Run the coroutines above."""
    simulate(__file__, "fb_store_replay")


def test_other_results() -> None:
    """In an index whose results have other columns."""
    forms.simulate(__file__, "fb_store_replay", forms.MANY)


def test_nonces() -> None:
    """In an index of encrypted objects: each order has its nonce."""
    forms.simulate(__file__, "fb_store_replay", forms.ENCRYPTED)
