# SPDX-License-Identifier: Apache-2.0
"""fb_boot_uart, its pin decoded by the receiver of cocotbext-uart."""

from __future__ import annotations

import logging
import random

import cocotb
import pytest
from cocotb.triggers import FallingEdge, Timer
from cocotbext.uart import UartSink

import harness
from runner import simulate

DEPTH = 512
FRAME_BITS = 10
QUICK = 20  # cycles of a bit, up to which a full FIFO is sent in reasonable time


class Line:
    """The device under test, what it was given and did not drop, and what the receiver sees."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.clocks = int(dut.ClocksPerBit.value)
        self.kept = bytearray()
        self.drops = 0
        # The model cuts times down to whole nanoseconds.
        period = self.clocks * harness.PERIOD_NS
        self.sink = UartSink(dut.txd, baud=1e9 / (period + 0.01))
        self.sink.log.setLevel(logging.WARNING)
        self.starts: list[int] = []  # cycles in which a character began
        self.watcher = cocotb.start_soon(self._watch())

    async def _watch(self) -> None:
        """Each character ends with a stop bit."""
        while True:
            await FallingEdge(self.dut.txd)
            self.starts.append(harness.cycle())
            await self.wait((FRAME_BITS - 1) * self.clocks + self.clocks // 2)
            assert self.dut.txd.value == 1, "no stop bit"

    async def wait(self, cycles: int) -> None:
        """Wait for the middle of a cycle; many of them pass sooner without a look at each."""
        await Timer(cycles * harness.PERIOD_NS, "ns")
        await FallingEdge(self.dut.clk)

    async def send(self, text: bytes, share: float = 1.0) -> None:
        """Give characters, one a cycle or with random pauses; keep those that are not dropped."""
        dut, given = self.dut, None
        waiting = list(reversed(text))
        while waiting or given is not None:
            now = waiting.pop() if waiting and random.random() < share else None
            dut.s_valid.value = now is not None
            dut.s_data.value = random.getrandbits(8) if now is None else now
            await FallingEdge(dut.clk)
            # What is said of a character is said in the cycle behind it.
            lost = dut.dropped.value == 1
            assert given is not None or not lost
            self.drops += lost
            if given is not None and not lost:
                self.kept.append(given)
            given = now
            await harness.step(dut.clk)
        dut.s_valid.value = 0

    async def settle(self, characters: int) -> None:
        """Wait until so long nothing can be under way, and compare."""
        frame = FRAME_BITS * self.clocks + 1
        await self.wait(characters * frame + 20)
        assert self.sink.read_nowait() == self.kept
        assert self.dut.txd.value == 1
        self.kept.clear()
        await harness.step(self.dut.clk)

    async def reset(self) -> None:
        """Reset, wait until the receiver has seen what was cut off, and forget all."""
        self.watcher.cancel()
        await harness.reset(self.dut)
        await self.wait(2 * FRAME_BITS * self.clocks)
        await harness.step(self.dut.clk)
        self.sink.clear()
        self.kept.clear()
        self.watcher = cocotb.start_soon(self._watch())


async def start(dut) -> Line:
    """Reset with everything idle."""
    harness.clear(dut, "s_*")
    await harness.start(dut)
    await harness.step(dut.clk, 2)
    return Line(dut)


@cocotb.test()
async def text_arrives(dut) -> None:
    """Any characters arrive in order, whatever the pauses between them."""
    line = await start(dut)
    most = 40 if line.clocks <= QUICK else 2
    for share in (1.0, 0.5, 0.02):
        text = bytes([0x00, 0xFF, 0x55]) if share == 1.0 else random.randbytes(most)
        await line.send(text, share)
        assert line.kept == text
        await line.settle(len(text))
    assert line.drops == 0


@cocotb.test()
async def latency_and_rate(dut) -> None:
    """A start bit follows in 2 cycles, and characters follow each other without a gap."""
    line = await start(dut)
    at = harness.cycle()
    await line.send(b"abc")
    await line.settle(3)
    frame = FRAME_BITS * line.clocks + 1
    assert [each - at for each in line.starts] == [2, 2 + frame, 2 + 2 * frame]


@cocotb.test()
async def more_than_fits(dut) -> None:
    """What comes while the FIFO is full is dropped, each with a pulse; the rest arrives."""
    line = await start(dut)
    if line.clocks > QUICK:
        return
    text = random.randbytes(DEPTH + 200)
    await line.send(text)
    left = 2 + len(text) // (FRAME_BITS * line.clocks + 1)  # while it was given
    assert 200 - left <= line.drops < 200
    assert line.kept[:DEPTH] == text[:DEPTH]
    # Full all the time: a character is dropped in each gap between two that leave.
    await line.send(random.randbytes(300), share=0.5)
    assert line.drops + len(line.kept) == len(text) + 300
    await line.settle(DEPTH + 2)


@cocotb.test()
async def reset_in_a_character(dut) -> None:
    """A reset ends a character at once, and forgets those that wait."""
    line = await start(dut)
    for _ in range(6 if line.clocks <= QUICK else 1):
        await line.send(bytes(5))
        await line.wait(random.randrange(1, 4 * FRAME_BITS * line.clocks))
        line.watcher.cancel()
        dut.rst.value = 1
        await harness.step(dut.clk)
        await FallingEdge(dut.clk)
        assert dut.txd.value == 1
        await harness.step(dut.clk)
        dut.rst.value = 0
        # The next one may begin at once.
        await line.send(b"x")
        await FallingEdge(dut.clk)
        assert dut.txd.value == 0
        await line.reset()
        text = random.randbytes(3)
        await line.send(text)
        assert line.kept == text
        await line.settle(3)
    # One that comes in a reset is neither kept nor counted.
    dut.rst.value, dut.s_valid.value = 1, 1
    await harness.step(dut.clk, 3)
    dut.rst.value, dut.s_valid.value = 0, 0
    await line.settle(1)
    assert line.drops == 0


@pytest.mark.parametrize("clocks", [2, 3, 16, 2170, *[26042] * harness.repeat(1, 0)])
def test_uart(clocks: int) -> None:
    """Run all coroutines, from the fastest line to 9600 bit/s at 250 MHz."""
    simulate(__file__, "fb_boot_uart", {"ClocksPerBit": clocks})
