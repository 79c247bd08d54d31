# SPDX-License-Identifier: Apache-2.0
"""fb_bar_cq as the BAR writes it: completions come in any parts, and leave whole."""

from __future__ import annotations

import random
from dataclasses import astuple, dataclass

import cocotb
import pytest
from cocotb.triggers import FallingEdge

import harness
import structs
from runner import simulate

WORD = 64


@dataclass
class Completion:
    """A completion queue entry (NVMe Base 2.0c 3.3.3.2) and its place."""

    slot: int
    cid: int
    sq_head: int
    phase: int
    status: int
    drive: int = 0

    def encode(self) -> bytes:
        """Return the 16 bytes that the SSD writes."""
        dword2 = self.sq_head | 1 << 16
        dword3 = self.cid | self.phase << 16 | self.status << 17
        words = (random.getrandbits(32), 0, dword2, dword3)
        return b"".join(word.to_bytes(4, "little") for word in words)


def random_completion(slot: int, drive: int = 0) -> Completion:
    """Return a completion with every field at random."""
    bits = random.getrandbits
    return Completion(slot, bits(16), bits(16), bits(1), bits(15), drive)


class Queues:
    """The device under test, and what leaves it."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.depth = int(dut.QueueDepth.value)
        self.cq = int(dut.CqOffset.value)
        self.drives = int(dut.Drives.value)
        self.completions: list[Completion] = []
        self.strays = 0
        self.ready_share = 1.0
        self.taken: list[int] = []  # cycles in which a beat was taken
        self.left: list[int] = []
        cocotb.start_soon(self._collect())

    async def _collect(self) -> None:
        dut = self.dut
        while True:
            await harness.step(dut.clk)
            dut.cqe_ready.value = random.random() < self.ready_share
            await FallingEdge(dut.clk)
            self.strays += int(dut.stray.value)
            if dut.cqe_valid.value == 1 and dut.cqe_ready.value == 1:
                fields = structs.unpack("completion_t", int(dut.cqe.value))
                self.completions.append(Completion(**fields))
                self.left.append(harness.cycle())

    def place(self, slot: int, drive: int = 0) -> int:
        """Return the address of a completion queue entry."""
        return 2 * self.cq * drive + self.cq + 16 * slot

    async def write(self, address: int, data: bytes) -> bool:
        """Write bytes, a beat after the other; say whether one was refused."""
        dut, refused, at = self.dut, False, 0
        while at < len(data):
            skip = (address + at) % WORD
            count = min(WORD - skip, len(data) - at)
            strobes = (1 << count) - 1 << skip
            dut.write_valid.value = 1
            dut.write_addr.value = address + at
            dut.write_data.value = int.from_bytes(data[at : at + count], "little") << 8 * skip
            dut.write_strb.value = strobes
            dut.write_dwords.value = sum((strobes >> 4 * n & 15 == 15) << n for n in range(16))
            await FallingEdge(dut.clk)
            while dut.write_ready.value == 0:
                await FallingEdge(dut.clk)
            refused |= dut.write_refused.value == 1
            self.taken.append(harness.cycle())
            await harness.step(dut.clk)
            at += count
        dut.write_valid.value = 0
        return refused

    async def expect(self, wanted: list[Completion], strays: int = 0) -> None:
        """Compare what has left the module with what was written, and forget it."""
        await harness.step(self.dut.clk, 20 if self.ready_share == 1.0 else 90)
        assert [astuple(found) for found in self.completions] == [astuple(w) for w in wanted]
        assert self.strays == strays
        self.completions.clear()
        self.strays = 0


async def start(dut) -> Queues:
    """Reset with everything idle."""
    harness.clear(dut, "write_[vads]*[!y]", "cqe_ready")
    await harness.start(dut)
    await harness.step(dut.clk)
    return Queues(dut)


@cocotb.test()
@cocotb.parametrize(ready_share=[1.0, 0.3])
async def completions(dut, ready_share: float) -> None:
    """A completion leaves once, whether it comes in 16, 2 x 8 or 4 x 4 bytes, or with others."""
    queues = await start(dut)
    queues.ready_share = ready_share
    for _ in range(60):
        count = random.choice([1, 1, 2, 3, 4, 7])
        first = random.randrange(max(queues.depth - count, 1))
        count = min(count, queues.depth)
        drive = random.randrange(queues.drives)
        wanted = [random_completion(first + n, drive) for n in range(count)]
        data = b"".join(one.encode() for one in wanted)
        part = random.choice([4, 8, 16, 64, len(data)])
        for offset in range(0, len(data), part):
            at = queues.place(first, drive) + offset
            assert not await queues.write(at, data[offset : offset + part])
        await queues.expect(wanted)


@cocotb.test()
async def latency_and_rate(dut) -> None:
    """A completion is on offer three cycles after its beat; single ones pass in two cycles each."""
    queues = await start(dut)
    wanted = [random_completion(0)]
    await queues.write(queues.place(0), wanted[0].encode())
    await queues.expect(wanted)
    assert queues.left[0] - queues.taken[0] == 3
    queues.taken.clear()
    wanted = [random_completion(n % queues.depth) for n in range(40)]
    for one in wanted:
        await queues.write(queues.place(one.slot), one.encode())
    await queues.expect(wanted)
    assert harness.rate(queues.taken) > 0.5  # 40 in 79 cycles


@cocotb.test()
async def full(dut) -> None:
    """Completions that are not taken hold up what comes after them, and nothing is lost."""
    queues = await start(dut)
    queues.ready_share = 0.0
    wanted = [random_completion(n % queues.depth) for n in range(40)]

    async def write() -> None:
        for one in wanted:
            await queues.write(queues.place(one.slot), one.encode())

    writing = cocotb.start_soon(write())
    await harness.step(dut.clk, 200)
    assert not writing.done() and not queues.completions
    queues.ready_share = 1.0
    await writing
    await queues.expect(wanted)


@cocotb.test()
async def strays(dut) -> None:
    """What is written where no completion belongs is refused and counted by beats."""
    queues = await start(dut)
    places = [0, 8]
    if queues.drives & queues.drives - 1:
        places.append(queues.place(0, queues.drives))
    if queues.place(queues.depth) < 2 * queues.cq:
        places.append(queues.place(queues.depth))
    for place in places:
        assert await queues.write(place, bytes(16))
        await queues.expect([], strays=1)
    # A part of Dword 3 is not an entry.
    assert not await queues.write(queues.place(0) + 12, bytes(3))
    await queues.expect([])


@cocotb.test()
async def reset_between_lanes(dut) -> None:
    """A reset while lanes wait to leave forgets them."""
    queues = await start(dut)
    for _ in range(5):
        queues.ready_share = 0.0
        four = [random_completion(n) for n in range(min(4, queues.depth))]
        await queues.write(queues.place(0), b"".join(one.encode() for one in four))
        await harness.step(dut.clk, random.randrange(4))
        await harness.reset(dut)
        queues.ready_share = 1.0
        wanted = [random_completion(1)]
        await queues.write(queues.place(1), wanted[0].encode())
        await queues.expect(wanted)


@harness.provocation
async def withdraw_completion(dut) -> None:
    """The checker of what leaves is connected."""
    await start(dut)
    await harness.withdraw(dut.clk, dut.u_check_cqe)


@harness.provocation
async def taken_while_full(dut) -> None:
    """A beat is taken while the one before it has no place in the queue of entries."""
    queues = await start(dut)
    queues.ready_share = 0.0
    cocotb.start_soon(flood(queues))
    for _ in range(120):
        await FallingEdge(dut.clk)
        if dut.any_q.value == 1:
            dut.ready_q.value = 1
    await harness.step(dut.clk, 3)


async def flood(queues: Queues) -> None:
    """Write completions without end."""
    while True:
        one = random_completion(0)
        await queues.write(queues.place(0), one.encode())


def run(depth: int, drives: int = 1, **options: object) -> None:
    """Build the module and simulate it."""
    parameters = {"QueueDepth": depth, "Drives": drives, "CqOffset": max(4096, 64 * depth)}
    simulate(__file__, "fb_bar_cq", parameters, filelist="rtl/top/onchip.f", **options)


@pytest.mark.parametrize(("depth", "drives"), [(2, 1), (64, 1), (1024, 1), (16, 3), (128, 8)])
def test_completion(depth: int, drives: int) -> None:
    """Run all coroutines at this depth, for this number of drives."""
    run(depth, drives)


def test_assertion_fires() -> None:
    """Each assertion fires."""
    run(
        64,
        fires={
            "withdraw_completion": "completion: valid fell",
            "taken_while_full": "a_lane_leaves",
        },
    )
