# SPDX-License-Identifier: Apache-2.0
"""A chain as the command line makes it: pass, add, add.

`cargo test` compares the file that is simulated here with what is made of such a pipeline.
"""

from __future__ import annotations

import random
from pathlib import Path

import cocotb

import elements
import harness
from runner import simulate

CHAIN = Path(__file__).parent / "pass_add_add.sv"
ELEMENTS = "rtl/pe/elements.f"
ON = 1 << 32
WORD = 1 << 32


def settings(first: int, second: int) -> int:
    """Give `cfg` in which both stages add; the one that passes has noise."""
    words = [random.getrandbits(64), ON | first, ON | second, *(random.getrandbits(64),) * 5]
    return sum(word << 64 * slot for slot, word in enumerate(words))


def added(data: bytes, addend: int) -> bytes:
    """Add to each 32-bit little-endian word; of a cut one, the bytes that are there."""
    out = bytearray()
    for at in range(0, len(data), 4):
        part = data[at : at + 4]
        total = (int.from_bytes(part, "little") + addend) % WORD
        out += total.to_bytes(4, "little")[: len(part)]
    return bytes(out)


@cocotb.test()
@cocotb.parametrize(idle=[0.0, 0.4], stall=[0.0, 0.4])
async def both_add(dut, idle: float, stall: float) -> None:
    """Each stage has the settings of its place."""
    first, second = random.getrandbits(32), random.getrandbits(32)
    await elements.any_packets(
        dut,
        lambda data: added(data, first + second),
        cfg=settings(first, second),
        idle=idle,
        stall=stall,
    )


@cocotb.test()
async def one_is_off(dut) -> None:
    """Settings do not reach a neighbour."""
    cfg = settings(3, 5) & ~(ON << 64)
    await elements.any_packets(dut, lambda data: added(data, 5), cfg=cfg)


@cocotb.test()
async def full_rate(dut) -> None:
    """Latencies add up, rates do not."""
    assert await elements.cycles_of(dut, 100) == (2, 99)


@cocotb.test()
async def reset_in_mid_packet(dut) -> None:
    """What is held is forgotten."""
    cfg = settings(1, 1)
    await elements.reset_in_mid_packet(dut, lambda data: added(data, 2), cfg=cfg)


@harness.provocation
async def withdraw(dut) -> None:
    """Each stage is watched, by a checker that names it."""
    bench = elements.Bench(dut)
    await bench.start()
    await harness.withdraw(dut.clk, dut.u_check_0_pass.u_out)


def test_chain() -> None:
    """Run all coroutines."""
    simulate(__file__, "fb_pe_chain", filelist=ELEMENTS, extra_sources=[CHAIN])


def test_stages_are_watched() -> None:
    """What the checker says names the stage."""
    simulate(
        __file__,
        "fb_pe_chain",
        filelist=ELEMENTS,
        extra_sources=[CHAIN],
        fires={"withdraw": "u_check_0_pass.u_out"},
    )
