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
LATENCY = 10


class Bench:
    """Sends packets with pauses and notes each sum with its cycle."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.due: deque[tuple[int, int]] = deque()  # cycle and sum
        self.seen = 0
        cocotb.start_soon(self._watch())

    async def _watch(self) -> None:
        while True:
            await FallingEdge(self.dut.clk)
            if self.dut.sum_valid.value != 1:
                continue
            cycle, wanted = self.due.popleft()
            assert (harness.cycle(), int(self.dut.sum.value)) == (cycle, wanted)
            self.seen += 1

    async def beat(self, data: bytes, last: bool) -> None:
        """Put one beat on the port; what is not kept is noise."""
        dut, keep = self.dut, (1 << len(data)) - 1
        noise = random.randbytes(BEAT - len(data))
        dut.valid.value, dut.last.value, dut.keep.value = 1, last, keep
        dut.data.value = int.from_bytes(data + noise, "little")
        await FallingEdge(dut.clk)
        await harness.step(dut.clk)
        self.rest()

    def rest(self) -> None:
        """Put noise on the port that does not count."""
        dut = self.dut
        dut.valid.value, dut.last.value = 0, random.getrandbits(1)
        dut.keep.value, dut.data.value = random.getrandbits(64), random.getrandbits(512)

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

    async def end(self) -> None:
        """See the last sum come."""
        await harness.step(self.dut.clk, LATENCY + 2)
        assert not self.due


async def start(dut) -> Bench:
    """Reset with nothing on the port."""
    harness.clear(dut, "valid", "data", "keep", "last")
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
async def reset_in_packet(dut) -> None:
    """What a reset meets is forgotten, and has no sum."""
    bench = await start(dut)
    for beats in (0, 1, 5):
        await bench.send(random.randbytes(100))
        for _ in range(beats):
            await bench.beat(random.randbytes(BEAT), last=False)
        bench.due.clear()
        await harness.reset(dut, 1)
        await bench.send(random.randbytes(150))
        await bench.end()


@harness.provocation
async def partial_beat(dut) -> None:
    """A beat that is not full, and not the last, must be noticed."""
    bench = await start(dut)
    await bench.beat(bytes(10), last=False)
    await harness.step(dut.clk, 2)


@harness.provocation
async def holes(dut) -> None:
    """A hole in a last beat must be noticed."""
    await start(dut)
    dut.valid.value, dut.last.value, dut.keep.value = 1, 1, 0b101
    await harness.step(dut.clk, 3)


def run(group: int = 1, **options: object) -> None:
    """Build the module for groups of N rows and simulate it."""
    simulate(__file__, "fb_store_crc32c", {"Group": group}, **options)


@pytest.mark.parametrize("group", [1, 6])
def test_crc32c(group: int) -> None:
    """Run all coroutines with what simulators take and with what synthesis does."""
    run(group)


@pytest.mark.parametrize(
    ("testcase", "message"),
    [("partial_beat", "keep_is_whole"), ("holes", "keep_has_no_holes")],
)
def test_assertion_fires(testcase: str, message: str) -> None:
    """The assertion stops the simulation."""
    run(testcase=testcase, expect_failure=message)
