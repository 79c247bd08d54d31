# SPDX-License-Identifier: Apache-2.0
"""fb_buffer_stream between random streams and cocotbext-axi's memory, late and poisoned."""

from __future__ import annotations

import random
from collections.abc import Iterator

import cocotb
from cocotb.handle import HierarchyObject
from cocotb.triggers import FallingEdge
from cocotbext.axi import AxiRam, AxiStreamFrame, AxiStreamSink, AxiStreamSource

import harness
import memory
from runner import simulate

BEAT = 64
PAGE = 4096
BEATS = PAGE // BEAT  # of a page
FIFO = 128  # FifoBeats
FULL = harness.repeat(1, 0)  # by day only with a source that pauses
BASE = 0x9_8765_4000


def rests(works: int, rests: int) -> Iterator[bool]:
    """Yield for each cycle whether a memory rests, as it does for a refresh."""
    while True:
        yield from [False] * works + [True] * rests


class Dram(AxiRam):
    """A memory that answers late, and holds what it was given from its answer on.

    What is read is what it holds when the answer leaves.
    """

    def __init__(self, dut, latency: tuple[int, int]) -> None:
        bus = harness.axi_halves(dut, "m_axi")
        super().__init__(bus, dut.clk, dut.rst, mem=memory.poisoned(1 << 40, b"NEW "))
        for half in (self.write_if, self.read_if):
            half.log.setLevel("ERROR")
        memory.late_reads(self.read_if, dut.clk, latency)
        self.held: list[tuple[int, bytes]] = []  # of the burst that is under way
        self.line = memory.Line(latency)
        memory._empty_in_reset(self.write_if, self.line)
        self.write_if._write = self._hold
        self.send, self.write_if.b_channel.send = self.write_if.b_channel.send, self._answer
        cocotb.start_soon(self._answer_late())

    async def _hold(self, address: int, data: bytes) -> None:
        self.held.append((address, data))

    async def _answer(self, answer: object) -> None:
        self.line.put((answer, self.held))
        self.held = []

    async def _answer_late(self) -> None:
        while True:
            answer, writes = await self.line.get()
            for write in writes:
                self.write(*write)
            await self.send(answer)

    def stall(self, when: float | tuple[int, int]) -> None:
        """Pause each channel at random, or all at once: cycles of work, cycles of rest."""
        write, read = self.write_if, self.read_if
        for channel in (
            write.aw_channel,
            write.w_channel,
            write.b_channel,
            read.ar_channel,
            read.r_channel,
        ):
            harness.stall(channel, rests(*when) if isinstance(when, tuple) else when)


class Fifo:
    """The device under test, its three sides, and a model of its level."""

    def __init__(self, dut, latency: tuple[int, int]) -> None:
        self.dut = dut
        self.ram = Dram(dut, latency)
        self.source = harness.axi_stream(AxiStreamSource, dut, "s_axis")
        self.sink = harness.axi_stream(AxiStreamSink, dut, "m_axis")
        self.sent: list[bytes] = []
        self.taken: list[int] = []  # cycles in which a beat went in
        self.given: list[bytes] = []
        self.given_at: list[int] = []
        self.bursts: dict[str, list[tuple[int, int]]] = {"aw": [], "ar": []}  # address, beats
        self.errors = {"write": 0, "read": 0}
        self.high = 0

    async def watch(self) -> None:
        """Compare level and high-water mark with the model in every cycle, and check each burst."""
        dut, level, end = self.dut, 0, BASE + PAGE * int(self.dut.bytes.value)
        while True:
            await FallingEdge(dut.clk)
            if dut.rst.value == 1:
                level = self.high = 0
                continue
            assert dut.level.value == BEAT * level
            assert dut.high_water.value == BEAT * self.high
            self.high = level if dut.high_water_clear.value == 1 else max(self.high, level)
            if dut.s_axis.tvalid.value == 1 and dut.s_axis.tready.value == 1:
                self.taken.append(harness.cycle())
                level += 1
            if dut.m_axis.tvalid.value == 1 and dut.m_axis.tready.value == 1:
                self.given.append(int(dut.m_axis.tdata.value).to_bytes(BEAT, "little"))
                self.given_at.append(harness.cycle())
                level -= 1
            for name in self.errors:
                self.errors[name] += int(getattr(dut, f"{name}_error").value)
            for name, port in (("aw", dut.m_axi_write), ("ar", dut.m_axi_read)):
                self.look(name, port, end)

    def look(self, name: str, port: HierarchyObject, end: int) -> None:
        """Check a burst in the cycle of its handshake: inside the ring, inside a page."""
        valid, ready, addr, size, length = (
            getattr(port, f"{name}{field}") for field in ("valid", "ready", "addr", "size", "len")
        )
        if valid.value == 1 and ready.value == 1:
            at, beats = int(addr.value), int(length.value) + 1
            assert at >= BASE and at + BEAT * beats <= end and at % BEAT == 0
            assert at // PAGE == (at + BEAT * beats - 1) // PAGE
            assert size.value == 6 and getattr(port, f"{name}burst").value == 1
            self.bursts[name].append((at, beats))

    def send(self, beats: int) -> None:
        """Let the source send random beats."""
        data = [random.randbytes(BEAT) for _ in range(beats)]
        self.sent += data
        self.source.send_nowait(AxiStreamFrame(b"".join(data)))

    async def rest(self, limit: int = 40_000) -> None:
        """Wait until the source has nothing more to send."""
        for _ in range(limit):
            if self.source.idle():
                return
            await harness.step(self.dut.clk)
        raise TimeoutError(f"{len(self.taken)} of {len(self.sent)} beats taken")

    async def come(self, beats: int, limit: int = 20_000) -> None:
        """Wait until this many beats have come out, and check all that has."""
        for _ in range(limit):
            if len(self.given) >= beats:
                break
            await harness.step(self.dut.clk)
        assert len(self.given) == beats
        assert self.given == self.sent[:beats]

    async def finish(self) -> None:
        """Flush, and wait for the last beat; then nothing is left, and nothing more comes."""
        dut = self.dut
        await self.rest()
        dut.flush.value = 1
        await self.come(len(self.sent))
        await harness.until(dut.clk, dut.level, 0)
        await harness.step(dut.clk, 50)
        dut.flush.value = 0
        assert self.given == self.sent


async def start_bare(dut, pages: int = 4) -> None:
    """Reset with a ring of some pages and everything idle."""
    dut.base.value, dut.bytes.value = BASE // PAGE, pages
    harness.clear(dut, "flush", "high_water_clear")
    await harness.start(dut)


async def start(dut, pages: int = 4, latency: tuple[int, int] = memory.LATENCY) -> Fifo:
    """Reset as :func:`start_bare` with models at all sides."""
    fifo = Fifo(dut, latency)
    await start_bare(dut, pages)
    cocotb.start_soon(fifo.watch())
    return fifo


async def toggle(dut) -> None:
    """Flush and clear the high-water mark at random."""
    while True:
        dut.flush.value = random.random() < 0.3
        dut.high_water_clear.value = random.random() < 0.05
        await harness.step(dut.clk, random.randrange(1, 120))


@cocotb.test()
@cocotb.parametrize(
    ("source", [0.0, 0.6][1 - FULL :]),
    ("sink", [0.0, 0.6]),
    ("pauses", ["none", "random", "refresh"]),
    ("pages", [1, 5]),
)
async def beats_keep_their_order(dut, source: float, sink: float, pauses: str, pages: int) -> None:
    """All that goes in comes out, while the ring wraps, with flushes anywhere."""
    fifo = await start(dut, pages)
    harness.stall(fifo.source, source)
    harness.stall(fifo.sink, sink)
    fifo.ram.stall({"none": 0.0, "random": 0.5, "refresh": (200, 100)}[pauses])
    flushes = cocotb.start_soon(toggle(dut))
    laps = harness.repeat(60, 3)
    while len(fifo.sent) < laps * BEATS * pages:
        fifo.send(random.randrange(1, 300))
        await harness.step(dut.clk, random.randrange(1, 300))
    await fifo.rest()
    flushes.cancel()
    dut.high_water_clear.value = 0
    await fifo.finish()
    assert fifo.errors == {"write": 0, "read": 0}


@cocotb.test()
async def bursts_are_pages(dut) -> None:
    """Without a flush each burst is a page, in turn, also where beats come one by one."""
    fifo = await start(dut, pages=3)
    harness.stall(fifo.source, 0.7)
    fifo.send(10 * BEATS)
    await fifo.come(10 * BEATS)
    pages = [(BASE + PAGE * (n % 3), BEATS) for n in range(10)]
    assert fifo.bursts == {"aw": pages, "ar": pages}


@cocotb.test()
async def flush_of_each_length(dut) -> None:
    """What does not fill a page stays until `flush`, wherever in its page it begins."""
    fifo = await start(dut, latency=(2, 4))
    at = 0
    for length in range(1, BEATS + 4):
        fifo.send(length)
        before, at = at, at + length
        await harness.step(dut.clk, 250)
        assert len(fifo.given) == max(before, at // BEATS * BEATS)
        assert dut.level.value == BEAT * (at - len(fifo.given))
        await fifo.finish()
        assert len(fifo.given) == at


@cocotb.test()
async def full_and_empty(dut) -> None:
    """A FIFO whose sink rests takes all that it has places for, then nothing; and gives it all."""
    fifo = await start(dut, pages=4)
    room = 4 * BEATS + 2 * FIFO + 1
    for _ in range(3):
        before = len(fifo.given)
        fifo.sink.pause = True
        fifo.send(room + BEATS - room % BEATS)  # the next round begins with a page
        await harness.step(dut.clk, 2500)
        assert len(fifo.taken) == before + room
        assert dut.s_axis.tready.value == 0
        assert dut.level.value == BEAT * room == dut.high_water.value
        fifo.sink.pause = False
        await fifo.finish()
        assert dut.high_water.value == BEAT * room
        dut.high_water_clear.value = 1
        await harness.step(dut.clk)
        dut.high_water_clear.value = 0
        await harness.step(dut.clk, 2)
        assert dut.high_water.value == 0


@cocotb.test()
async def a_ring_of_nothing(dut) -> None:
    """Without a ring nothing is written, and the source waits."""
    fifo = await start(dut, pages=0)
    fifo.send(2 * FIFO)
    dut.flush.value = 1
    await harness.step(dut.clk, 1000)
    assert len(fifo.taken) == FIFO + 1 and not fifo.given
    assert fifo.bursts == {"aw": [], "ar": []}


@cocotb.test()
async def what_is_refused(dut) -> None:
    """What the memory refuses is told, each time, and the stream goes on at its length."""
    fifo = await start(dut, pages=4)
    refused: set[int] = set()
    harness.refuse(fifo.ram, refused)
    fifo.send(2 * BEATS)
    await fifo.come(2 * BEATS)
    refused |= {BASE + 2 * PAGE + BEAT * 5}
    fifo.send(3 * BEATS)
    await harness.until(dut.clk, dut.level, BEAT)
    await harness.until(dut.clk, dut.level, 0)
    assert len(fifo.given) == 5 * BEATS
    assert fifo.errors == {"write": 1, "read": 1}
    wrong = [n for n, beat in enumerate(fifo.sent) if fifo.given[n] != beat]
    assert 2 * BEATS + 5 in wrong and set(wrong) <= set(range(2 * BEATS, 3 * BEATS))


@cocotb.test()
async def reset_in_transfer(dut) -> None:
    """After a reset the FIFO is empty, and begins at the ring's base."""
    fifo = await start(dut, pages=3)
    for n in range(8):
        fifo.ram.stall(random.choice([0.0, 0.5]))
        fifo.send(5 * BEATS)
        await harness.step(dut.clk, random.randrange(20, 500))
        dut.base.value = BASE // PAGE
        await harness.reset(dut)
        fifo.source.clear()
        fifo.sink.clear()
        for seen in (fifo.sent, fifo.given, fifo.taken, *fifo.bursts.values()):
            seen.clear()
        await harness.step(dut.clk, 2)
        assert dut.level.value == 0 == dut.high_water.value
        fifo.send(BEATS + n)
        await fifo.finish()
        assert fifo.bursts["aw"][0] == fifo.bursts["ar"][0] == (BASE, BEATS)


@cocotb.test()
async def sixteen_gibibytes(dut) -> None:
    """The ring's last page is the one before `base` + 16 GiB; the first one follows."""
    fifo = await start(dut, pages=1 << 22)
    for side in (dut.u_dut.u_writes, dut.u_dut.u_reads):
        side.page_q.value = (1 << 22) - 2
    fifo.send(4 * BEATS)
    await fifo.come(4 * BEATS)
    pages = [(BASE + PAGE * n, BEATS) for n in ((1 << 22) - 2, (1 << 22) - 1, 0, 1)]
    assert fifo.bursts == {"aw": pages, "ar": pages}


@cocotb.test()
async def latency(dut) -> None:
    """A beat that is flushed spends 9 cycles beside those of the memory."""
    fifo = await start(dut, latency=(10, 20))
    dut.flush.value = 1
    found: dict[str, list[int]] = {name: [] for name in ("aw", "b", "ar", "r")}
    for name, cycles in found.items():
        port = dut.m_axi_write if name in ("aw", "b") else dut.m_axi_read
        valid, ready = (getattr(port, f"{name}{half}") for half in ("valid", "ready"))
        cocotb.start_soon(harness.record(dut.clk, valid, ready, cycles))
    fifo.send(1)
    await fifo.come(1)
    at = {name: cycles[0] for name, cycles in found.items()}
    in_memory = at["b"] - at["aw"] + at["r"] - at["ar"]
    assert fifo.given_at[0] - fifo.taken[0] - in_memory == 9


@cocotb.test()
async def throughput(dut) -> None:
    """64 bytes a cycle each way; a sink that rests stops no source before the ring is full."""
    fifo = await start(dut, pages=64, latency=(20, 40))
    fifo.send(40 * BEATS)
    await fifo.come(40 * BEATS)
    rates = harness.rate(fifo.taken), harness.rate(fifo.given_at)
    dut._log.info("beats a cycle: in %.3f, out %.3f", *rates)
    # The memory takes a cycle between bursts.
    assert min(rates) > 0.98
    fifo.taken.clear()
    fifo.sink.pause = True
    fifo.send(60 * BEATS)
    await harness.step(dut.clk, 62 * BEATS)
    assert len(fifo.taken) == 60 * BEATS
    assert harness.rate(fifo.taken) > 0.98
    fifo.given_at.clear()
    fifo.sink.pause = False
    await fifo.come(100 * BEATS)
    assert harness.rate(fifo.given_at) > 0.98


@cocotb.test()
async def throughput_with_refresh(dut) -> None:
    """A memory that rests 88 cycles of 1,950, as DDR4 at 250 MHz, costs no more than its rest."""
    fifo = await start(dut, pages=64, latency=(20, 40))
    fifo.ram.stall((1862, 88))
    fifo.send(100 * BEATS)
    await fifo.come(100 * BEATS)
    rates = harness.rate(fifo.taken), harness.rate(fifo.given_at)
    dut._log.info("beats a cycle: in %.3f, out %.3f", *rates)
    assert min(rates) > 0.98 * 1862 / 1950


@harness.provocation
async def word_without_room(dut) -> None:
    """A word of the memory for a FIFO that is full."""
    fifo = await start(dut)
    fifo.sink.pause = True
    fifo.send(BEATS)
    await harness.until(dut.clk, dut.m_axi_read.arvalid)
    dut.u_dut.u_out.level_q.value = FIFO
    dut.u_dut.u_out.write_q.value = 0
    await harness.step(dut.clk, 200)


@harness.provocation
async def place_freed_twice(dut) -> None:
    """A memory that returns more words than it was asked for."""
    harness.clear(dut.m_axi_read, "arready", "r[vidl]*", "rresp")
    harness.clear(dut.m_axi_write, "awready", "wready", "b*")
    harness.clear(dut.s_axis, "t[vdkliu]*")
    dut.m_axis.tready.value = 1
    await start_bare(dut)
    write, read = dut.m_axi_write, dut.m_axi_read
    dut.flush.value = dut.s_axis.tvalid.value = 1
    for ready in (write.awready, write.wready, read.arready):
        ready.value = 1
    await harness.step(dut.clk)
    dut.s_axis.tvalid.value = 0
    await harness.until(dut.clk, write.wvalid)
    await harness.step(dut.clk)
    write.bvalid.value = 1
    await harness.step(dut.clk)
    write.bvalid.value = 0
    await harness.until(dut.clk, read.arvalid)
    await harness.step(dut.clk)
    read.rvalid.value = 1
    await harness.step(dut.clk, 4)


@harness.provocation
async def ring_changes(dut) -> None:
    """Another ring while the FIFO works."""
    await start(dut)
    await harness.step(dut.clk, 2)
    dut.bytes.value = 5
    await harness.step(dut.clk, 2)


@harness.provocation
async def burst_withdrawn(dut) -> None:
    """A burst that is no longer on offer."""
    await start(dut)
    await harness.withdraw(dut.clk, dut.u_dut.u_writes.u_check)


def run(fifo_beats: int = FIFO, **options: object) -> None:
    """Build the module and simulate it."""
    interfaces = {
        "s_axis": "fb_axis_if",
        "m_axis": "fb_axis_if",
        "m_axi_write": "fb_axi_if #(.IdBits(1))",
        "m_axi_read": "fb_axi_if #(.IdBits(1))",
    }
    simulate(
        __file__,
        "fb_buffer_stream",
        {"FifoBeats": fifo_beats},
        interfaces=interfaces,
        **options,
    )


def test_stream() -> None:
    """Run all coroutines."""
    run()


def test_default() -> None:
    """Measure with the FIFOs on chip that there are by default."""
    run(512, testcase=["latency", "throughput", "throughput_with_refresh"])


def test_assertion_fires() -> None:
    """Each assertion fires."""
    run(
        fires={
            "word_without_room": "a_word_has_room",
            "place_freed_twice": "a_freed_was_taken",
            "ring_changes": "a_settings_hold",
            "burst_withdrawn": "burst: valid fell",
        }
    )
