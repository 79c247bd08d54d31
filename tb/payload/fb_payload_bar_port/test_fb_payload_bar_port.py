# SPDX-License-Identifier: Apache-2.0
"""fb_payload_bar_port in front of a memory with one port, which is played here."""

from __future__ import annotations

import random
from collections import deque

import cocotb
from cocotb.triggers import Combine, FallingEdge

import harness
from barside import BarSide
from runner import simulate

LATENCY = 3
BYTES = 16 * 4096


class Memory:
    """Bytes behind port B."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.held = bytearray(BYTES)
        self.turns: list[str] = []
        cocotb.start_soon(self._serve())

    async def _serve(self) -> None:
        dut, coming = self.dut, deque([None] * LATENCY)
        while True:
            await harness.step(dut.clk)
            word = coming.popleft()
            dut.b_rdata.value = random.getrandbits(512) if word is None else word
            await FallingEdge(dut.clk)
            at, strobes = 64 * int(dut.b_addr.value), int(dut.b_we.value)
            if dut.b_en.value == 0:
                coming.append(None)
                continue
            self.turns.append("w" if strobes else "r")
            data = int(dut.b_wdata.value).to_bytes(64, "little")
            for n in range(64):
                if strobes >> n & 1:
                    self.held[at + n] = data[n]
            coming.append(None if strobes else int.from_bytes(self.held[at : at + 64], "little"))


async def start(dut) -> tuple[BarSide, Memory]:
    """Reset with everything idle."""
    harness.clear(dut, "b_rdata")
    harness.clear(dut.bar_memory, "write_[vads]*", "read_valid", "read_addr")
    side, memory = BarSide(dut, LATENCY), Memory(dut)
    await harness.start(dut)
    await harness.step(dut.clk)
    return side, memory


async def mixed(side: BarSide, first: int, span: int, rounds: int) -> None:
    """Write and read at random within a stretch that no other coroutine uses."""
    held = bytearray(span)
    for _ in range(rounds):
        at = random.randrange(span)
        length = min(random.choice([1, 63, 64, 65, 512, 4096]), span - at)
        if random.random() < 0.5:
            data = random.randbytes(length)
            await side.write(first + at, data)
            held[at : at + length] = data
        else:
            assert (await side.read(first + at, length)).data == held[at : at + length]


@cocotb.test()
@cocotb.parametrize(share=[0.0, 0.5])
async def bytes_come_back(dut, share: float) -> None:
    """What was written is read, by three users at once."""
    side, _ = await start(dut)
    side.stall(share)
    span = BYTES // 4
    await Combine(*(cocotb.start_soon(mixed(side, n * span, span, 25)) for n in range(3)))


@cocotb.test()
async def turns(dut) -> None:
    """Alone each direction has every cycle; together they alternate."""
    side, memory = await start(dut)
    for both in (False, True):
        memory.turns.clear()
        begin = harness.cycle()
        if both:
            done = side.post(0, bytes(8192))
            await side.read(8192, 8192)
            await done.wait()
        else:
            await side.write(0, bytes(8192))
        cycles = harness.cycle() - begin
        assert cycles <= 128 * (1 + both) + 8, f"{cycles} cycles"
    middle = "".join(memory.turns[8:-8])
    assert "ww" not in middle and "rr" not in middle


def test_buffer_bar() -> None:
    """Run all coroutines."""
    simulate(
        __file__,
        "fb_payload_bar_port",
        {"AddrBits": 10},
        filelist="rtl/top/onchip.f",
        interfaces={"bar_memory": "fb_bar_memory_if #(.AddrBits(AddrBits))"},
    )
