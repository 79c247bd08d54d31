# SPDX-License-Identifier: Apache-2.0
"""fb_pe_add against sums in Python, through cocotbext-axi."""

from __future__ import annotations

import random

import cocotb

import elements
import harness
from runner import simulate

ON = 1 << 32
BEATS = 100


def added(data: bytes, addend: int) -> bytes:
    """Add to each 32-bit little-endian word; of a cut one, the bytes that are there."""
    padded = data + bytes(-len(data) % 4)
    words = (int.from_bytes(padded[at : at + 4], "little") for at in range(0, len(padded), 4))
    sums = ((word + addend) % (1 << 32) for word in words)
    return b"".join(word.to_bytes(4, "little") for word in sums)[: len(data)]


@cocotb.test()
@cocotb.parametrize(
    addend=[0, 1, 7, 0x00FF_FFFF, 0xFFFF_FFFF, None], idle=[0.0, 0.4], stall=[0.0, 0.4]
)
async def any_packets(dut, addend: int | None, idle: float, stall: float) -> None:
    """Carries stay inside their word; packets of odd lengths keep them."""
    addend = random.getrandbits(32) if addend is None else addend
    # What the settings do not use must not matter.
    cfg = ON | addend | random.getrandbits(31) << 33
    await elements.any_packets(
        dut, lambda data: added(data, addend), cfg=cfg, idle=idle, stall=stall, count=60
    )


@cocotb.test()
async def switched_off(dut) -> None:
    """All passes as it is, whatever the addend."""
    await elements.any_packets(dut, lambda data: data, cfg=random.getrandbits(32), idle=0.2)


@cocotb.test()
async def there_and_back(dut) -> None:
    """The negative number gives each packet back, also a cut word at its end."""
    for length in range(1, 9):
        data = random.randbytes(length)
        addend = random.getrandbits(32)
        assert added(added(data, addend), -addend) == data
    await elements.any_packets(dut, lambda data: added(data, -5), cfg=ON | -5 % ON)


@cocotb.test()
async def full_rate(dut) -> None:
    """A beat in every cycle, one cycle late."""
    assert await elements.cycles_of(dut, BEATS, cfg=ON | 1) == (1, BEATS - 1)


@cocotb.test()
async def reset_in_mid_packet(dut) -> None:
    """What is held is forgotten."""
    await elements.reset_in_mid_packet(dut, lambda data: added(data, 3), cfg=ON | 3)


@harness.provocation
async def withdraw(dut) -> None:
    """The checker is awake, and that of its port."""
    bench = elements.Bench(dut)
    await bench.start()
    await harness.withdraw(dut.clk, dut.u_check.u_out)


def test_add() -> None:
    """Run all coroutines."""
    simulate(__file__, "fb_pe_add")


def test_checker_fires() -> None:
    """The checker fires."""
    message = "m_axis_object: valid fell"
    simulate(__file__, "fb_pe_add", fires={"withdraw": message})
