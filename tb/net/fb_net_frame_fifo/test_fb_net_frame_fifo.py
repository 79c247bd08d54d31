# SPDX-License-Identifier: Apache-2.0
"""fb_net_frame_fifo between two clocks, against a list of the frames that it said it took."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge

import harness
from runner import simulate

BEAT = 64
CLOCKS = [(3104, 3334), (3104, 9998), (9998, 3104), (4000, 4000)]


class Bench:
    """Both clocks, a writer that counts, a reader that puts frames together."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.taken: list[tuple[bytes, int]] = []
        self.lost = 0
        self.found: list[tuple[bytes, int]] = []
        self.ready = 1.0

    async def start(self, s_ps: int, m_ps: int) -> None:
        """Start the clocks, reset both sides and begin to read."""
        harness.clear(self.dut, "s_*", "m_ready")
        Clock(self.dut.s_clk, s_ps, unit="ps").start()
        Clock(self.dut.m_clk, m_ps, unit="ps").start()
        await self.reset()
        cocotb.start_soon(self.read())

    async def reset(self) -> None:
        """Reset both sides together, whatever they are at."""
        self.dut.s_valid.value = 0
        self.dut.s_end.value = 0
        self.dut.s_rst.value = 1
        self.dut.m_rst.value = 1
        await harness.step(self.dut.s_clk, 4)
        await harness.step(self.dut.m_clk, 4)
        self.dut.s_rst.value = 0
        self.dut.m_rst.value = 0

    async def write(self, data: bytes, good: bool, late_end: bool, idle: float) -> None:
        """Write a frame and note what became of it."""
        dut, info = self.dut, random.getrandbits(len(self.dut.s_info))
        beats = [data[at : at + BEAT].ljust(BEAT, b"\0") for at in range(0, len(data), BEAT)]
        for number, beat in enumerate(beats):
            while random.random() < idle:
                dut.s_valid.value = 0
                await RisingEdge(dut.s_clk)
            dut.s_valid.value = 1
            dut.s_data.value = int.from_bytes(beat, "little")
            dut.s_end.value = number == len(beats) - 1 and not late_end
            dut.s_good.value = good
            dut.s_bytes.value = len(data)
            dut.s_info.value = info
            if number < len(beats) - 1:
                await RisingEdge(dut.s_clk)
        if late_end:
            await RisingEdge(dut.s_clk)
            dut.s_valid.value = 0
            dut.s_end.value = 1
        await FallingEdge(dut.s_clk)
        if dut.s_lost.value == 1:
            self.lost += 1
        elif good:
            self.taken.append((data, info))
        await RisingEdge(dut.s_clk)
        dut.s_valid.value = 0
        dut.s_end.value = 0

    async def level(self) -> int:
        """Return the level between two frames, of which it knows two cycles later."""
        await ClockCycles(self.dut.s_clk, 2)
        await FallingEdge(self.dut.s_clk)
        found = int(self.dut.level.value)
        await RisingEdge(self.dut.s_clk)
        return found

    async def read(self) -> None:
        """Put frames together from their beats, checking first, last and lengths."""
        dut, data = self.dut, b""
        while True:
            await RisingEdge(dut.m_clk)
            if dut.m_rst.value == 1:
                data = b""
            dut.m_ready.value = random.random() < self.ready
            await FallingEdge(dut.m_clk)
            if dut.m_valid.value == 1 and dut.m_ready.value == 1 and dut.m_rst.value == 0:
                assert (dut.m_first.value == 1) == (not data)
                count = int(dut.m_bytes.value)
                assert count == BEAT or dut.m_last.value == 1
                data += int(dut.m_data.value).to_bytes(BEAT, "little")[:count]
                if dut.m_last.value == 1:
                    self.found.append((data, int(dut.m_info.value)))
                    data = b""

    async def settle(self) -> None:
        """Wait until everything taken was read; nothing else may come."""
        for _ in range(20_000):
            await RisingEdge(self.dut.m_clk)
            if len(self.found) >= len(self.taken):
                break
        await harness.step(self.dut.m_clk, 10)
        await harness.step(self.dut.s_clk, 10)
        assert self.found == self.taken
        assert int(self.dut.level.value) == 0


def frame(most: int) -> bytes:
    """Return a frame of least, greatest, odd or any size."""
    size = random.choice([1, 63, 64, 65, 128, most, random.randrange(1, most + 1)])
    return random.randbytes(size)


@cocotb.test()
@cocotb.parametrize(clocks=CLOCKS)
async def whole_or_not_at_all(dut, clocks: tuple[int, int]) -> None:
    """Good frames with room arrive, bad ones and those without room leave nothing behind."""
    bench = Bench(dut)
    await bench.start(*clocks)
    room = 2 ** (len(dut.level) - 1) * BEAT
    for _ in range(400):
        bench.ready = random.choice([1.0, 1.0, 0.5, 0.1])
        good = random.random() < 0.7
        # With a ready reader and time enough nothing may be lost.
        await bench.write(frame(room), good, random.random() < 0.3, random.choice([0.0, 0.5]))
    bench.ready = 1.0
    await bench.settle()
    assert bench.lost and len(bench.taken) > 50, (bench.lost, len(bench.taken))
    lost = bench.lost
    for _ in range(20):
        await bench.write(frame(room), True, False, 0.0)
        await bench.settle()
    assert bench.lost == lost


@cocotb.test()
async def nothing_is_lost_below_the_top(dut) -> None:
    """Whether beats or frames are what runs out: the level says so, and first of all it is full."""
    bench = Bench(dut)
    await bench.start(3104, 3334)
    room = 2 ** (len(dut.level) - 1)
    for size in (1, 100, 300):
        bench.ready = 0.0
        # One frame less, in beats or in frames, than what is left at the top.
        step = max(-(-size // BEAT), room // 2 ** (len(dut.u_lengths.write_q) - 1))
        before = bench.lost
        while await bench.level() <= room - step:
            await bench.write(bytes(size), True, False, 0.0)
            assert bench.lost == before
        await bench.write(bytes(room * BEAT), True, False, 0.0)
        assert bench.lost == before + 1
        bench.ready = 1.0
        await bench.settle()


@cocotb.test()
async def longer_than_the_memory(dut) -> None:
    """A frame that can never fit is lost, alone."""
    bench = Bench(dut)
    await bench.start(3104, 3334)
    room = 2 ** (len(dut.level) - 1) * BEAT
    await bench.write(bytes(room + BEAT), True, False, 0.0)
    assert bench.lost == 1
    await bench.write(bytes(room), True, False, 0.0)
    await bench.settle()
    assert len(bench.taken) == 1


@cocotb.test()
async def a_frame_a_cycle(dut) -> None:
    """Frames of one beat follow each other without a gap where there is room for the way back."""
    if min(len(dut.level), len(dut.u_lengths.write_q)) < 5:
        return
    bench = Bench(dut)
    await bench.start(4000, 4000)
    for _ in range(200):
        await bench.write(random.randbytes(60), True, False, 0.0)
    await bench.settle()
    assert len(bench.taken) == 200


@cocotb.test()
async def reset_in_mid_frame(dut) -> None:
    """What a reset finds is forgotten; the next frame is whole."""
    bench = Bench(dut)
    await bench.start(3104, 3334)
    for _ in range(10):
        writer = cocotb.start_soon(bench.write(random.randbytes(300), True, False, 0.0))
        await harness.step(dut.s_clk, random.randrange(1, 5))
        writer.cancel()
        await bench.reset()
        bench.taken.clear()
        bench.found.clear()
        await bench.write(random.randbytes(100), True, False, 0.0)
        await bench.settle()


@harness.provocation
async def wrong_length(dut) -> None:
    """A length that other than its beats makes must be noticed."""
    bench = Bench(dut)
    await bench.start(4000, 4000)
    dut.s_valid.value = 1
    dut.s_end.value = 1
    dut.s_good.value = 1
    dut.s_bytes.value = 65
    await harness.step(dut.s_clk, 2)


@pytest.mark.parametrize(("beats", "frames", "info"), [(8, 8, 1), (64, 16, 15), (32, 4, 3)])
def test_drop(beats: int, frames: int, info: int) -> None:
    """Run all coroutines at this size: small ones are full more often."""
    parameters = {"Beats": beats, "Frames": frames, "InfoBits": info}
    simulate(__file__, "fb_net_frame_fifo", parameters)


def test_length_matches_beats_fires() -> None:
    """Each assertion fires."""
    simulate(
        __file__,
        "fb_net_frame_fifo",
        {"Beats": 8, "Frames": 8, "InfoBits": 1},
        fires={"wrong_length": "length_matches_beats"},
    )
