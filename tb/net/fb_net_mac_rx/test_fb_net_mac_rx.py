# SPDX-License-Identifier: Apache-2.0
"""fb_net_mac_rx: each frame comes whole, or ends as damaged, or is told as lost."""

from __future__ import annotations

import random
from dataclasses import dataclass

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge

import harness
from runner import simulate

RX_PS, BEAT = 3104, 64


@dataclass
class Frame:
    """Beats of 64 bytes as numbers, the last one's bytes, whether it is damaged."""

    beats: list[int]
    keep: int
    damaged: bool


Out = list[tuple[int, int, bool, bool]]


def frame(number: int) -> Frame:
    """Make a frame whose beats all begin with its number."""
    beats = [
        number | random.getrandbits(448) << 64
        for _ in range(random.choice([1, 1, 2, 3, random.randrange(1, 30)]))
    ]
    return Frame(beats, (1 << random.randrange(1, BEAT + 1)) - 1, random.random() < 0.1)


class Bench:
    """A MAC that is reset at any time, and who takes the frames."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.frames: dict[int, Frame] = {}
        self.resets: set[int] = set()  # frames in which the MAC was reset
        self.out: list[Out] = []
        self.cut = self.lost = 0

    async def start(self, taker_ps: int) -> Clock:
        """Start the clocks and reset; returns that of the taker."""
        dut = self.dut
        dut.s_axis_mac_tvalid.value = 0
        dut.rst_link.value = 0
        dut.rst_rx.value = 1
        dut.rst.value = 1
        Clock(dut.clk_rx, RX_PS, unit="ps").start()
        taker = Clock(dut.clk, taker_ps, unit="ps")
        taker.start()
        await harness.step(dut.clk_rx, 8)
        await harness.step(dut.clk, 8)
        dut.rst_rx.value = 0
        dut.rst.value = 0
        cocotb.start_soon(self.take())
        cocotb.start_soon(self.count())
        return taker

    async def take(self) -> None:
        """Note what comes, frame by frame."""
        dut, beats = self.dut, []
        while True:
            await FallingEdge(dut.clk)
            if dut.rst.value == 1:
                beats = []
            if dut.rst.value == 1 or dut.m_axis_mac_tvalid.value != 1:
                continue
            last = dut.m_axis_mac_tlast.value == 1
            beats.append(
                (
                    int(dut.m_axis_mac_tdata.value),
                    int(dut.m_axis_mac_tkeep.value),
                    last,
                    last and dut.m_axis_mac_tuser.value == 1,
                )
            )
            if last:
                self.out.append(beats)
                beats = []

    async def count(self) -> None:
        """Count what is told of frames that do not come whole."""
        while True:
            await FallingEdge(self.dut.clk_rx)
            self.cut += int(self.dut.cut.value == 1)
            self.lost += int(self.dut.lost.value == 1)

    async def send(self, each: Frame, gap: int, reset_at: int | None) -> None:
        """Hand over a frame, with a reset of the MAC before this beat."""
        dut = self.dut
        number = each.beats[0] & 0xFFFF
        self.frames[number] = each
        for at, beat in enumerate(each.beats):
            if at == reset_at:
                self.resets.add(number)
                await self.flap(random.choice([1, 2, random.randrange(1, 30)]))
                return
            while random.random() < 0.2:
                dut.s_axis_mac_tvalid.value = 0
                await harness.step(dut.clk_rx)
            last = at == len(each.beats) - 1
            dut.s_axis_mac_tvalid.value = 1
            dut.s_axis_mac_tdata.value = beat
            dut.s_axis_mac_tkeep.value = each.keep if last else (1 << BEAT) - 1
            dut.s_axis_mac_tlast.value = last
            dut.s_axis_mac_tuser.value = last and each.damaged
            await harness.step(dut.clk_rx)
        dut.s_axis_mac_tvalid.value = 0
        await harness.step(dut.clk_rx, gap)

    async def flap(self, cycles: int) -> None:
        """Reset the MAC, whose other pins may say anything meanwhile."""
        dut = self.dut
        dut.rst_link.value = 1
        for _ in range(cycles):
            dut.s_axis_mac_tvalid.value = random.random() < 0.5
            dut.s_axis_mac_tlast.value = random.random() < 0.5
            await harness.step(dut.clk_rx)
        dut.rst_link.value = 0
        dut.s_axis_mac_tvalid.value = 0

    def check(self, cuts_known: bool = True) -> int:
        """Each frame has one outcome, in order; returns how many came whole.

        A frame that found no room is none that a reset has cut: then their number is not known.
        """
        whole = came = cut = 0
        before = -1
        for beats in self.out:
            number = beats[0][0] & 0xFFFF
            each = self.frames[number]
            assert number > before, "frames in another order, or one twice"
            before = number
            came += 1
            data = [beat for beat, *_ in beats]
            if len(beats) == len(each.beats) and data == each.beats:
                assert beats[-1][1:] == (each.keep, True, each.damaged)
                whole += 1
                continue
            # What came before its end is as it was sent, and it is damaged.
            assert data[:-1] == each.beats[: len(data) - 1] and len(data) <= len(each.beats)
            assert beats[-1][1:] == (1, True, True)
            cut += number in self.resets
        begun = len(self.frames)
        assert came + self.lost == begun, "a frame without an outcome"
        assert not cuts_known or self.cut == cut
        return whole


@cocotb.test()
@cocotb.parametrize(taker_ps=[RX_PS, RX_PS - 2, RX_PS + 2, 2600])
async def flaps(dut, taker_ps: int) -> None:
    """Resets in each beat of frames and between them; nothing else is touched, nothing is lost."""
    bench = Bench(dut)
    await bench.start(taker_ps)
    for number in range(harness.repeat(6000, 300)):
        each = frame(number)
        # Behind the first beat: before it the MAC has not begun the frame.
        reset = random.randrange(1, len(each.beats)) if len(each.beats) > 1 else None
        reset = reset if random.random() < 0.3 else None
        await bench.send(each, random.randrange(1, 4), reset)
        if random.random() < 0.05:
            await bench.flap(random.randrange(1, 5))
    await harness.step(dut.clk_rx, 20)
    await harness.step(dut.clk, 20)
    assert bench.lost == 0
    assert bench.check() == len(bench.frames) - len(bench.resets)


@cocotb.test()
async def the_taker_stands_still(dut) -> None:
    """While the other clock rests frames are lost or cut, each of them is told; then it goes on."""
    bench = Bench(dut)
    taker = await bench.start(RX_PS)
    for number in range(harness.repeat(2000, 200)):
        each = frame(number)
        if number % 50 == 20:
            taker.stop()
        reset = len(each.beats) - 1 if random.random() < 0.2 and len(each.beats) > 1 else None
        await bench.send(each, random.randrange(1, 4), reset)
        if number % 50 == 35:
            taker.start()
            await harness.step(dut.clk, random.randrange(1, 40))
    await harness.step(dut.clk, 40)
    assert bench.lost > 0
    assert 0 < bench.check(cuts_known=False) < len(bench.frames) - bench.lost


@cocotb.test()
async def a_reset_of_all(dut) -> None:
    """What was on its way is forgotten on both sides; the next frame is whole."""
    bench = Bench(dut)
    await bench.start(RX_PS)
    for number in range(40):
        await bench.send(frame(number), 1, None)
        dut.rst_rx.value = 1
        dut.rst.value = 1
        await RisingEdge(dut.clk)
        await harness.step(dut.clk_rx, 6)
        dut.rst_rx.value = 0
        dut.rst.value = 0
        bench.out.clear()
        bench.frames.clear()
        await harness.step(dut.clk_rx, 4)
        await bench.send(frame(number + 1000), 1, None)
        await harness.step(dut.clk, 12)
        assert bench.check() == 1


def test_mac_rx() -> None:
    """Run all coroutines."""
    simulate(__file__, "fb_net_mac_rx")
