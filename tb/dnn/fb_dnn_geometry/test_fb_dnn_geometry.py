# SPDX-License-Identifier: Apache-2.0
"""fb_dnn_geometry against Python's integers."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.triggers import FallingEdge

import harness
from forebay.dnn.shrink import SIDE_MOST, reciprocal
from runner import simulate

LANES = 4


def first(side: int, size: int) -> tuple[int, int]:
    """Return the first boundary: the pixel it is in, and how much of that lies before it."""
    pixel = (side - 1) // size
    return pixel, side - pixel * size


def fields(word: int) -> dict[str, object]:
    """Return the fields of a `geometry_t`."""
    found: dict[str, object] = {}
    found["reciprocal"], word = word & 2**17 - 1, word >> 17
    found["area_bits"], word = word & 31, word >> 5
    found["group"], word = word & 63, word >> 6

    def boundary() -> tuple[int, int]:
        nonlocal word
        units, word = word & 511, word >> 9
        pixel, word = word & 2**15 - 1, word >> 15
        return pixel, units

    found["line_first"] = boundary()
    found["line"] = boundary()
    found["column_first"] = boundary()
    found["columns"] = [boundary() for _ in range(LANES)]
    assert word == 0
    return found


@cocotb.test()
async def any_sides(dut) -> None:
    """Least, greatest, powers of two and those beside them, and any."""
    size = int(dut.Size.value)
    dut.start.value = 0
    await harness.start(dut)
    near = {size, size + 1, SIDE_MOST, 2**13, 2**13 - 1, 2**13 + 1, 2 * size - 1, 2 * size}
    cases = [(width, height) for width in near for height in near]
    cases += [(random.randrange(size, 2**14), random.randrange(size, 2**14)) for _ in range(60)]
    for width, height in random.sample(cases, 60):
        grey = random.random() < 0.5
        dut.start.value, dut.width.value, dut.height.value, dut.grey.value = 1, width, height, grey
        await harness.step(dut.clk)
        dut.start.value = 0
        cycles = 0
        while dut.done.value != 1:
            await harness.step(dut.clk)
            await FallingEdge(dut.clk)
            cycles += 1
        assert cycles == 51 + 28 - (width * height).bit_length()
        factor, bits = reciprocal(width * height)
        most = 63 if grey else 21
        assert fields(int(dut.geometry.value)) == {
            "reciprocal": factor,
            "area_bits": bits - 11,
            "group": min(most, LANES * width // size),
            "line_first": first(height, size),
            "line": divmod(height, size),
            "column_first": first(width, size),
            "columns": [divmod(step * width, size) for step in range(1, LANES + 1)],
        }, f"{width} x {height}"
        await harness.step(dut.clk, 2)


@pytest.mark.parametrize("size", [32, 224, 256])
def test_fb_dnn_geometry(size: int) -> None:
    """Sizes that are powers of two, and one that is none."""
    simulate(__file__, "fb_dnn_geometry", {"Size": size})
