# SPDX-License-Identifier: Apache-2.0
"""fb_dnn_rows: rows of several streams leave in the order in which they were complete."""

from __future__ import annotations

import random
from collections import deque

import cocotb
from cocotb.triggers import FallingEdge

import harness
from forebay.dnn.shrink import reciprocal
from runner import simulate

SIZE, STREAMS, LANES = 36, 4, 4
PIXELS, WORD = 2, 1  # kinds
SUM_BITS = 36


def mean(total: int, area: int) -> int:
    """Return the mean as the hardware makes it."""
    factor, bits = reciprocal(area)
    whole = total >> bits - 18 if bits > 18 else total << 18 - bits
    return min(255, (whole * factor + 2**33) >> 34)


async def start(dut) -> None:
    """Reset with idle inputs."""
    for name in ("s_valid", "s_row_ends", "claim", "word_valid", "m_ready", "stream"):
        getattr(dut, name).value = 0
    await harness.start(dut)


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.5, 0.95])
async def rows_and_words(dut, stall: float) -> None:
    """Rows of sums, each with a scale of its own, and words between them; readers stall."""
    await start(dut)
    due: deque[tuple[int, bytes]] = deque()
    halves = [0] * STREAMS
    left = 0

    async def take() -> None:
        nonlocal left
        while True:
            dut.m_ready.value = int(random.random() >= stall)
            await FallingEdge(dut.clk)
            if dut.m_valid.value == 1 and dut.m_ready.value == 1:
                found = int(dut.m_kind.value), int(dut.m_data.value).to_bytes(12, "little")
                assert found == due.popleft()
                left += 1
            await harness.step(dut.clk)

    cocotb.start_soon(take())
    for _ in range(60):
        stream = random.randrange(STREAMS)
        half, halves[stream] = halves[stream], 1 - halves[stream]
        area = random.choice([SIZE * SIZE, 2**20, 2**20 + 1, random.randrange(SIZE**2, 2**28)])
        dut.stream.value = stream
        factor, bits = reciprocal(area)
        dut.scale.value = bits - 11 << 17 | factor
        while True:
            await FallingEdge(dut.clk)
            free = not int(dut.pending.value) >> half & 1
            await harness.step(dut.clk)
            if free:
                break
        sums = [[random.randrange(255 * area + 1) for _ in range(3)] for _ in range(SIZE)]
        dut.claim.value, dut.claim_half.value = 1, half
        await harness.step(dut.clk)
        dut.claim.value = 0
        for place in range(SIZE // LANES):
            four = sums[LANES * place : LANES * place + LANES]
            words = [value for pixel in four for value in pixel]
            dut.s_valid.value = 2**LANES - 1
            dut.s_place.value = sum(place << 6 * bank for bank in range(LANES))
            dut.s_half.value = half
            dut.s_sum.value = sum(value << SUM_BITS * at for at, value in enumerate(words))
            ends = place == SIZE // LANES - 1
            if ends:
                for begin in range(0, SIZE, LANES):
                    pixels = [mean(v, area) for pixel in sums[begin : begin + LANES] for v in pixel]
                    due.append((PIXELS, bytes(pixels)))
            dut.s_row_ends.value = ends
            await harness.step(dut.clk)
        dut.s_valid.value = dut.s_row_ends.value = 0
        for _ in range(random.choice([0, 0, 1, 20])):
            word = random.randbytes(12)
            dut.word_valid.value, dut.word_kind.value = 1, WORD
            dut.word.value = int.from_bytes(word, "little")
            due.append((WORD, word))
            while True:
                await FallingEdge(dut.clk)
                if dut.word_ready.value == 1:
                    break
                await harness.step(dut.clk)
            await harness.step(dut.clk)
            dut.word_valid.value = 0
    for _ in range(20_000):
        if not due:
            break
        await harness.step(dut.clk)
    assert not due and left > 500


@harness.provocation
async def unannounced(dut) -> None:
    """A row ends that was not announced."""
    await start(dut)
    dut.s_row_ends.value, dut.s_half.value = 1, 1
    await harness.step(dut.clk, 3)


def run(**options: object) -> None:
    """Build the module and simulate it."""
    simulate(__file__, "fb_dnn_rows", {"Size": SIZE, "Streams": STREAMS}, **options)


def test_fb_dnn_rows() -> None:
    """Rows whose words are no power of two."""
    run()


def test_assertions() -> None:
    """A row has a place."""
    run(fires={"unannounced": "a_row_has_its_place"})
