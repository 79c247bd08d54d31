# SPDX-License-Identifier: Apache-2.0
"""fb_store_turns between two sources and a streamer, all of cocotbext-axi.

Its two sources and their answers lie in the two halves of one port, so a wrapper names them.
"""

from __future__ import annotations

import random
from pathlib import Path

import cocotb
from cocotb.triggers import with_timeout
from cocotbext.axi import AxiStreamFrame, AxiStreamSink, AxiStreamSource

import harness
from extents import BEAT, PATIENCE_US, Streamer, Write
from forebay import spec
from runner import simulate

DEPTH = 16
HALVES = ("data", "rows")


class Bench:
    """Two sources of writes, and a streamer that numbers its answers."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.streamer = Streamer(dut, fail=0.5)
        self.sources = [
            harness.axi_stream(AxiStreamSource, dut, f"s_axis_{each}") for each in HALVES
        ]
        self.answers = [
            harness.axi_stream(AxiStreamSink, dut, f"m_axis_{each}rsp") for each in HALVES
        ]
        self.sent: list[list[Write]] = [[], []]

    def send(self, half: int, count: int = 1) -> None:
        """Queue writes, some of a beat; the address says whose they are."""
        for _ in range(count):
            number = len(self.sent[half])
            data = random.randbytes(BEAT * random.choice([0, random.randrange(1, 24)]))
            self.sent[half].append(Write(half << 32 | number, not data, data))
            command = self.sent[half][-1].address | (not data) << spec.USER_WRITE_FLUSH_BIT
            self.sources[half].send_nowait(AxiStreamFrame(command.to_bytes(BEAT, "little") + data))

    async def check(self) -> list[int]:
        """Wait for all answers; returns whose writes came, in order."""
        got = []
        for half in (0, 1):
            take = [self.answers[half].recv() for _ in self.sent[half]]
            got.append([(await with_timeout(each, PATIENCE_US, "us")).tdata[0] for each in take])
        await harness.step(self.dut.clk, 10)
        assert self.answers[0].empty() and self.answers[1].empty()
        turns = [write.address >> 32 for write in self.streamer.writes]
        for half in (0, 1):
            mine = [at for at, turn in enumerate(turns) if turn == half]
            assert [self.streamer.writes[at] for at in mine] == self.sent[half]
            assert [self.streamer.codes[at] for at in mine] == got[half]
        return turns

    def forget(self) -> None:
        """Do as after a reset."""
        self.streamer.forget()
        for each in (*self.sources, *self.answers):
            each.clear()
        self.sent = [[], []]


@cocotb.test()
@cocotb.parametrize(idle=[0.0, 0.4], stall=[0.0, 0.4])
async def any_writes(dut, idle: float, stall: float) -> None:
    """Writes of both pass whole and in order, and each gets the answers that are its own."""
    bench = Bench(dut)
    for each in bench.sources:
        harness.stall(each, idle)
    for each in (*bench.answers, bench.streamer.sink, bench.streamer.answers):
        harness.stall(each, stall)
    await harness.start(dut)
    for _ in range(6):
        bench.send(0, random.randrange(0, 8))
        bench.send(1, random.randrange(0, 8))
        await harness.step(dut.clk, random.randrange(100))
    turns = await bench.check()
    assert {0, 1} == set(turns)


@cocotb.test()
async def priority(dut) -> None:
    """Where both wait the first one is next, but never in the middle of a write."""
    bench = Bench(dut)
    await harness.start(dut)
    bench.send(1, 6)
    await harness.until(dut.clk, dut.m_axis_wr_tvalid)
    bench.send(0, 5)
    assert await bench.check() == [1] + [0] * 5 + [1] * 5


@cocotb.test()
async def nobody_answers(dut) -> None:
    """N writes go ahead of their answers, and the next one waits."""
    bench = Bench(dut)
    await harness.start(dut)
    bench.streamer.silent = True
    bench.send(0, DEPTH)
    bench.send(1, DEPTH)
    await harness.step(dut.clk, 60 * DEPTH)
    assert len(bench.streamer.writes) == DEPTH
    bench.streamer.silent = False
    bench.streamer.answer()
    await bench.check()


@cocotb.test()
async def one_stalls(dut) -> None:
    """Answers stay in order: who does not take one holds up those behind it, and loses none."""
    bench = Bench(dut)
    await harness.start(dut)
    bench.answers[1].pause = True
    bench.send(1)
    await harness.step(dut.clk, 50)
    bench.send(0, 3)
    await harness.step(dut.clk, 200)
    assert bench.answers[0].empty() and bench.answers[1].empty()
    bench.answers[1].pause = False
    await bench.check()


@cocotb.test()
@cocotb.parametrize(idle=[0.0, 0.4], stall=[0.0, 0.4])
async def long_responses(dut, idle: float, stall: float) -> None:
    """What is read comes in many beats, and all of them go to who asked."""
    bench = Bench(dut)
    bench.streamer.silent = True
    harness.stall(bench.streamer.answers, idle)
    for each in (*bench.answers, bench.streamer.sink):
        harness.stall(each, stall)
    await harness.start(dut)
    for half in (0, 1):
        bench.send(half, 20)
    due: list[list[bytes]] = [[], []]
    for number in range(40):
        while len(bench.streamer.writes) <= number:
            await harness.step(dut.clk)
        half = bench.streamer.writes[number].address >> 32
        due[half].append(random.randbytes(random.randrange(1, 9)))
        bench.streamer.answers.send_nowait(AxiStreamFrame(due[half][-1]))
        await harness.step(dut.clk, random.choice([0, 0, 30]))
    for half in (0, 1):
        for wanted in due[half]:
            found = await with_timeout(bench.answers[half].recv(), PATIENCE_US, "us")
            assert bytes(found.tdata) == wanted


@cocotb.test()
async def full_rate(dut) -> None:
    """One cycle before each packet, then a beat in every cycle."""
    bench = Bench(dut)
    await harness.start(dut)
    out: list[int] = []
    cocotb.start_soon(harness.record(dut.clk, dut.m_axis_wr_tvalid, dut.m_axis_wr_tready, out))
    bench.send(0, 8)
    await bench.check()
    due, at = [], out[0]
    for write in bench.sent[0]:
        beats = 1 + -(-len(write.data) // BEAT)
        due += range(at, at + beats)
        at += beats + 1
    assert out == due


@cocotb.test()
async def reset_in_mid_packet(dut) -> None:
    """A reset forgets whose packet it was, and who waits for answers."""
    bench = Bench(dut)
    await harness.start(dut)
    for turn in range(12):
        bench.streamer.silent = turn % 2 == 0
        bench.send(turn % 2, 3)
        await harness.step(dut.clk, random.randrange(1, 60))
        await harness.reset(dut, 2)
        bench.forget()
        await harness.step(dut.clk, 2)
        bench.streamer.silent = False
        bench.send(1 - turn % 2, 2)
        await bench.check()
        bench.forget()


@harness.provocation
async def stray_answer(dut) -> None:
    """An answer that is not waited for must be noticed."""
    bench = Bench(dut)
    await harness.start(dut)
    bench.streamer.unanswered = 1
    bench.streamer.answer()
    await harness.step(dut.clk, 5)


@harness.provocation
async def withdraw(dut) -> None:
    """The stream checker is awake."""
    Bench(dut)
    await harness.start(dut)
    await harness.withdraw(dut.clk, dut.u_turns.u_check_request)


def run(**options: object) -> None:
    """Build the module and simulate it."""
    wrapper = [Path(__file__).parent / "fb_store_turns_tb.sv"]
    parameters = {"Depth": DEPTH}
    simulate(__file__, "fb_store_turns_tb", parameters, extra_sources=wrapper, **options)


def test_turns() -> None:
    """Run the coroutines above."""
    run()


def test_assertion_fires() -> None:
    """Each assertion fires."""
    run(
        fires={
            "stray_answer": "responses_are_awaited",
            "withdraw": "m_axis_request: valid fell",
        }
    )
