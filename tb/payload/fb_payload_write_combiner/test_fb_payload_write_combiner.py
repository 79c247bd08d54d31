# SPDX-License-Identifier: Apache-2.0
"""fb_payload_write_combiner: each beat is in one burst, in order, each mark behind its beats."""

from __future__ import annotations

import random
from dataclasses import dataclass

import cocotb
from cocotb.triggers import FallingEdge

import harness
import structs
from runner import simulate

IDLE = 16
PAGE = 64  # words


@dataclass(frozen=True)
class Burst:
    """What came out."""

    words: list[int]
    mark: bool


class Combiner:
    """The device under test, what was put in, and what has come out."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.ready = 1.0
        self.idle = 0  # what stands at the address and the data while no beat is there
        self.words: list[int] = []
        self.marks: list[int] = []  # how many words came before each
        self.bursts: list[Burst] = []
        self.data: list[int] = []  # of the beats that came out: their words, as put in
        cocotb.start_soon(self._take())

    async def _take(self) -> None:
        dut = self.dut
        while True:
            await harness.step(dut.clk)
            dut.burst_take.value = random.random() < self.ready
            await FallingEdge(dut.clk)
            if dut.burst_valid.value == 1 and dut.burst_take.value == 1:
                burst = structs.unpack("burst_t", int(dut.burst.value))
                count = 0 if burst["empty"] else burst["count_m1"] + 1
                words = list(range(burst["addr"], burst["addr"] + count))
                self.bursts.append(Burst(words, burst["mark"] == 1))
            if dut.word_valid.value == 1:
                self.data.append(int(dut.word_data.value))

    async def beat(self, word: int | None, end: bool = False, flush: bool = False) -> None:
        """Put a beat or none, and the mark with it or alone."""
        dut = self.dut
        dut.write_valid.value = word is not None
        dut.write_addr.value = dut.write_data.value = self.idle if word is None else word
        dut.write_end.value = end
        dut.flush.value = flush
        if word is not None:
            self.words.append(word)
        if end:
            self.marks.append(len(self.words))
        await harness.step(dut.clk)
        for name in ("write_valid", "write_end", "flush"):
            getattr(dut, name).value = 0
        self.idle = random.randrange(2**16)
        dut.write_addr.value = dut.write_data.value = self.idle

    async def settle(self) -> list[Burst]:
        """Close what is open and wait until all has come."""
        self.ready = 1.0
        await self.beat(None, flush=True)
        await harness.step(self.dut.clk, 150)
        return self.bursts

    def check(self) -> None:
        """Compare what came out with what was put in."""
        words = [word for burst in self.bursts for word in burst.words]
        assert words == self.data == self.words
        marks, seen = [], 0
        for burst in self.bursts:
            assert len({word // PAGE for word in burst.words}) <= 1
            seen += len(burst.words)
            if burst.mark:
                marks.append(seen)
        assert marks == self.marks


async def start(dut) -> Combiner:
    """Reset with everything idle."""
    harness.clear(dut, "write_[vade]*", "flush", "burst_take")
    dut.word_take.value = 1
    combiner = Combiner(dut)
    await harness.start(dut)
    return combiner


@cocotb.test()
@cocotb.parametrize(("ready", [1.0, 0.3]))
async def every_beat_once(dut, ready: float) -> None:
    """Runs, jumps, pauses, marks and flushes in every mixture."""
    combiner = await start(dut)
    combiner.ready = ready
    word, ended = 0, True
    for _ in range(4000):
        await_room = dut.bursts.value.to_unsigned() > 48
        valid = not await_room and random.random() < 0.8
        if random.random() < 0.03:
            # Or it follows what was no beat.
            word = random.choice([random.randrange(2**16), (combiner.idle + 1) % 2**16])
        alone = not valid and combiner.words and not ended and random.random() < 0.3
        end = bool((valid and random.random() < 0.05) or alone)
        await combiner.beat(word if valid else None, end, random.random() < 0.02)
        # A command ends once, and not in two cycles in a row.
        ended = end if valid or end else ended
        if end:
            await combiner.beat(None)
        word += valid
    await combiner.settle()
    combiner.check()


@cocotb.test()
async def what_ends_a_burst(dut) -> None:
    """The page, a gap, the mark, a flush, and a pause of IdleCycles; nothing else."""
    combiner = await start(dut)
    for word in range(PAGE - 4, PAGE + 4):  # over the end of a page
        await combiner.beat(word)
    for word in range(200, 204):  # a gap
        await combiner.beat(word, end=word == 203)
    for word in range(204, 208):  # after the mark
        await combiner.beat(word)
        await harness.step(dut.clk, IDLE - 4)  # not yet a pause
    await harness.step(dut.clk, IDLE + 4)
    for word in range(208, 212):
        await combiner.beat(word, flush=word == 210)  # what has grown: not yet this beat
    bursts = await combiner.settle()
    combiner.check()
    assert [len(burst.words) for burst in bursts] == [4, 4, 4, 4, 2, 2]
    assert [burst.mark for burst in bursts] == [False, False, True, False, False, False]


@cocotb.test()
async def a_mark_that_comes_late(dut) -> None:
    """A mark goes with the burst that is open, or alone where it has gone."""
    combiner = await start(dut)
    await combiner.beat(3)
    await combiner.beat(None, end=True)
    await harness.step(dut.clk, 8)
    assert combiner.bursts == [Burst([3], True)]
    for word in range(PAGE):
        await combiner.beat(PAGE + word)
    await harness.step(dut.clk, 4)
    await combiner.beat(None, end=True)
    await harness.step(dut.clk, 8)
    assert combiner.bursts[1:] == [Burst(list(range(PAGE, 2 * PAGE)), False), Burst([], True)]


@harness.provocation
async def burst_without_room(dut) -> None:
    """A burst for a queue that is full."""
    await start(dut)
    await FallingEdge(dut.clk)
    dut.u_bursts.level_q.value = 64
    dut.write_end.value = 1
    await harness.step(dut.clk, 3)


@harness.provocation
async def two_marks(dut) -> None:
    """A second mark while the burst of the first is still there."""
    combiner = await start(dut)
    await combiner.beat(0, end=True)
    dut.write_end.value = 1
    await harness.step(dut.clk, 3)


@harness.provocation
async def word_without_room(dut) -> None:
    """A beat for a FIFO that is full."""
    await start(dut)
    await FallingEdge(dut.clk)
    dut.u_words.level_q.value = 512
    dut.u_words.write_q.value = 0
    dut.write_valid.value = 1
    await harness.step(dut.clk, 3)


def run(**options: object) -> None:
    """Build the module and simulate it."""
    parameters = {"IdleCycles": IDLE}
    simulate(
        __file__, "fb_payload_write_combiner", parameters, filelist="rtl/top/dram.f", **options
    )


def test_gather() -> None:
    """Run all coroutines."""
    run()


def test_assertion_fires() -> None:
    """Each assertion fires."""
    run(
        fires={
            "burst_without_room": "a_bursts_have_room",
            "two_marks": "a_one_mark_a_burst",
            "word_without_room": "a_word_has_room",
        }
    )
