# SPDX-License-Identifier: Apache-2.0
"""fb_common_quotient against exact fractions."""

from __future__ import annotations

import random
from fractions import Fraction

import cocotb
import numpy as np

import harness
from runner import simulate

WIDTH, EXPONENT, WHOLE = 24, 130, 4  # the first bit has the weight 8


def single(ratio: Fraction) -> int:
    """Return the bits of a positive single, rounded towards zero."""
    found = np.float32(float(ratio))
    if Fraction(float(found)) > ratio:
        found = np.nextafter(found, np.float32(0))
    return int(found.view(np.uint32))


async def start(dut, numerator: int, divisor: int) -> None:
    """Begin a division."""
    dut.start.value, dut.numerator.value, dut.divisor.value = 1, numerator, divisor
    await harness.step(dut.clk)
    dut.start.value = 0
    dut.numerator.value = dut.divisor.value = random.getrandbits(WIDTH)


@cocotb.test()
async def quotients(dut) -> None:
    """Equal operands, the least and the greatest, powers of two, any; some begin before an end."""
    dut.start.value = 0
    await harness.start(dut)
    for _ in range(harness.repeat(3000, 300)):
        divisor = random.choice(
            [1, 2**WIDTH - 1, random.randrange(1, 2 ** random.randint(1, WIDTH))]
        )
        most = min(2 * divisor, 2**WIDTH)
        numerator = random.choice([0, 1, divisor, most - 1, random.randrange(most)]) % most
        if random.random() < 0.2:
            await start(dut, 1, 2**WIDTH - 1)
            await harness.step(dut.clk, random.randrange(40))
        began = harness.cycle()
        await start(dut, numerator, divisor)
        ended = await harness.until(dut.clk, dut.valid, limit=60)
        ratio = Fraction(numerator, divisor) * 2 ** (EXPONENT - 127)
        zeros = 0 if not numerator else max(0, EXPONENT - (single(ratio) >> 23))
        assert ended - began == (25 + zeros if numerator else 1), f"{numerator} / {divisor}"
        assert int(dut.single.value) == (single(ratio) if numerator else 0)
        assert int(dut.whole.value) == int(ratio)
        await harness.step(dut.clk)


@harness.provocation
async def too_great(dut) -> None:
    """The numerator is twice the divisor."""
    dut.start.value = 0
    await harness.start(dut)
    await start(dut, 6, 3)
    await harness.step(dut.clk, 3)


def run(**options: object) -> None:
    """Build the module and simulate it."""
    parameters = {"Width": WIDTH, "Exponent": EXPONENT, "WholeBits": WHOLE}
    simulate(__file__, "fb_common_quotient", parameters, **options)


def test_quotients() -> None:
    """All cases."""
    run()


def test_assertions() -> None:
    """A quotient of two or more is said."""
    run(fires={"too_great": "in_range"})
