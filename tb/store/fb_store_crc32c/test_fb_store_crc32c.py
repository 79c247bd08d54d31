# SPDX-License-Identifier: Apache-2.0
"""fb_store_crc32c against Google's library."""

from __future__ import annotations

import random
from collections import deque

import cocotb
import google_crc32c
import pytest
from cocotb.triggers import FallingEdge

import harness
from runner import simulate

BEAT = 64
LATENCY = 10  # of the first source
SOURCES = 3


class Source:
    """Sends packets with pauses and notes each sum, of the first source with its cycle."""

    def __init__(self, bench: Bench, number: int) -> None:
        self.bench, self.dut, self.number = bench, bench.dut, number
        self.due: deque[tuple[int, int]] = deque()  # cycle and sum
        self.seen = 0

    def take(self, sum_: int) -> None:
        """Compare a sum with the one that is due."""
        cycle, wanted = self.due.popleft()
        assert sum_ == wanted
        assert self.number or cycle == harness.cycle()
        self.seen += 1

    async def beat(self, data: bytes, last: bool) -> None:
        """Put one beat on the port, and wait until it is taken."""
        self.bench.put(self.number, 1, last, len(data), data)
        while True:
            await FallingEdge(self.dut.clk)
            ready = int(self.dut.ready.value) >> self.number & 1
            await harness.step(self.dut.clk)
            if ready:
                break
            assert self.number, "the first source is always taken"
        self.rest()

    def rest(self) -> None:
        """Put noise on the port that does not count."""
        noise = random.getrandbits(1), random.getrandbits(7)
        self.bench.put(self.number, 0, *noise, random.randbytes(BEAT))

    async def send(self, data: bytes, idle: float = 0.0, empty_end: bool = False) -> None:
        """Send a packet and expect its sum."""
        beats = [data[at : at + BEAT] for at in range(0, len(data), BEAT)]
        if not beats or (empty_end and len(data) % BEAT == 0):
            beats.append(b"")
        for n, beat in enumerate(beats):
            while random.random() < idle:
                await harness.step(self.dut.clk)
            last = n + 1 == len(beats)
            if last:
                wanted = google_crc32c.value(data)
                self.due.append((harness.cycle() + LATENCY, wanted))
            await self.beat(beat, last)


class Bench:
    """The ports of all sources."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.values = {name: 0 for name in ("valid", "last", "bytes", "data")}
        self.sources = [Source(self, number) for number in range(SOURCES)]
        cocotb.start_soon(self._watch())

    def put(self, number: int, valid: int, last: int, count: int, data: bytes) -> None:
        """Put what a source has on its part of each port."""
        word = int.from_bytes(data.ljust(BEAT, b"\0"), "little")
        for name, width, value in (
            ("valid", 1, valid),
            ("last", 1, last),
            ("bytes", 7, count),
            ("data", 8 * BEAT, word),
        ):
            mask = (1 << width) - 1 << width * number
            self.values[name] = self.values[name] & ~mask | value << width * number
            getattr(self.dut, name).value = self.values[name]

    async def _watch(self) -> None:
        while True:
            await FallingEdge(self.dut.clk)
            if self.dut.rst.value == 1:
                continue
            valid = int(self.dut.sum_valid.value)
            assert valid & valid - 1 == 0
            for source in self.sources:
                if valid >> source.number & 1:
                    source.take(int(self.dut.sum.value))

    async def send(self, *packet: object, **options: object) -> None:
        """Send a packet by the first source."""
        await self.sources[0].send(*packet, **options)

    @property
    def seen(self) -> int:
        """Sums of the first source."""
        return self.sources[0].seen

    async def end(self) -> None:
        """See the last sum come."""
        await harness.step(self.dut.clk, LATENCY + 4)
        assert not any(source.due for source in self.sources)


async def start(dut) -> Bench:
    """Reset with nothing on the ports."""
    harness.clear(dut, "valid", "data", "bytes", "last")
    await harness.start(dut)
    return Bench(dut)


@cocotb.test()
async def known_sums(dut) -> None:
    """The examples of RFC 3720, appendix B.4."""
    bench = await start(dut)
    for data, wanted in (
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(reversed(range(32))), 0x113FDB5C),
    ):
        assert google_crc32c.value(data) == wanted
        await bench.send(data)
    await bench.end()
    assert bench.seen == 4


@cocotb.test()
async def every_length(dut) -> None:
    """Packets of 0 to 200 bytes one behind the other, those of a beat in each cycle."""
    bench = await start(dut)
    for length in (*range(201), *([64] * 20), *([1] * 20)):
        await bench.send(random.randbytes(length))
    await bench.end()
    assert bench.seen == 241


@cocotb.test()
@cocotb.parametrize(idle=[0.0, 0.5])
async def random_packets(dut, idle: float) -> None:
    """Packets of all lengths, with pauses, and some with an end of no bytes."""
    bench = await start(dut)
    for _ in range(200):
        length = random.choice([random.randrange(65), random.randrange(1000), 64 * 10, 9000])
        fill = random.choice([None, b"\x00", b"\xff"])
        data = random.randbytes(length) if fill is None else fill * length
        await bench.send(data, idle, empty_end=random.random() < 0.2)
    await bench.end()
    assert bench.seen == 200


@cocotb.test()
@cocotb.parametrize(idle=[0.0, 0.5])
async def several_sources(dut, idle: float) -> None:
    """Beats of all sources alternate, and each has the sums of its own packets."""
    bench = await start(dut)

    async def many(source: Source) -> None:
        for _ in range(80):
            length = random.choice([random.randrange(65), random.randrange(1000), 64 * 10])
            await source.send(random.randbytes(length), idle, random.random() < 0.2)

    first, *others = (cocotb.start_soon(many(source)) for source in bench.sources)
    await first
    if not idle:  # it has left no cycle to them
        assert bench.sources[1].seen == bench.sources[2].seen == 0
    for each in others:
        await each
    await bench.end()
    assert [source.seen for source in bench.sources] == [80] * SOURCES


@cocotb.test()
async def rate_of_others(dut) -> None:
    """While the first source is silent the next one has every second cycle."""
    bench = await start(dut)
    began = harness.cycle()
    await bench.sources[1].send(bytes(4096))
    assert harness.cycle() - began <= 2 * 4096 // BEAT
    await bench.end()


@cocotb.test()
async def reset_in_packet(dut) -> None:
    """What a reset meets is forgotten, and has no sum."""
    bench = await start(dut)
    for beats in (0, 1, 5):
        for source in bench.sources:
            await source.send(random.randbytes(100))
            for _ in range(beats):
                await source.beat(random.randbytes(BEAT), last=False)
        for source in bench.sources:
            source.due.clear()
        await harness.reset(dut, 1)
        for source in bench.sources:
            await source.send(random.randbytes(150))
        await bench.end()


@harness.provocation
async def partial_beat(dut) -> None:
    """A beat that is not full, and not the last, must be noticed."""
    bench = await start(dut)
    await bench.sources[0].beat(bytes(10), last=False)
    await harness.step(dut.clk, 2)


@harness.provocation
async def too_many(dut) -> None:
    """More bytes than a beat has must be noticed."""
    bench = await start(dut)
    bench.put(1, 1, 1, 65, bytes(BEAT))
    await harness.step(dut.clk, 3)


@harness.provocation
async def noise_behind(dut) -> None:
    """A byte behind the last one that counts must be noticed."""
    bench = await start(dut)
    bench.put(2, 1, 1, 10, bytes(10) + b"x")
    await harness.step(dut.clk, 3)


def run(group: int = 1, **options: object) -> None:
    """Build the module for groups of N rows and simulate it."""
    simulate(__file__, "fb_store_crc32c", {"Sources": SOURCES, "Group": group}, **options)


@pytest.mark.parametrize("group", [1, 6])
def test_crc32c(group: int) -> None:
    """Run all coroutines with what simulators take and with what synthesis does."""
    run(group)


def test_assertion_fires() -> None:
    """Each assertion fires."""
    run(
        fires={
            "partial_beat": "beats_are_full",
            "too_many": "bytes_fit",
            "noise_behind": "tail_is_zero",
        }
    )
