# SPDX-License-Identifier: Apache-2.0
"""fb_pe_NAME against what `expected` says, driven by cocotbext-axi."""

import random
from pathlib import Path

import cocotb

import elements
from runner import simulate

ELEMENT = Path(__file__).resolve().parent.parent
SOURCES = [ELEMENT / "fb_pe_NAME.sv"]


def expected(data: bytes, threshold: int) -> tuple[int, float]:
    """Say class and score of an object: what the RTL does, in Python."""
    class_ = int(data[0] >= threshold)
    return class_, float(class_)


@cocotb.test()
@cocotb.parametrize(threshold=[0, 100, 255], idle=[0.0, 0.4], stall=[0.0, 0.4])
async def any_packets(dut, threshold: int, idle: float, stall: float) -> None:
    """Packets of all lengths pass as they are, and each object has its own result."""
    bench = elements.Bench(dut)
    await bench.start(threshold, idle, stall)
    sent = [(random.randbytes(elements.size()), elements.any_user()) for _ in range(100)]
    owed = {}
    for data, user in sent:
        tag = await bench.send(data, user)
        if user == elements.WHOLE:
            owed[tag] = (True, *expected(data, threshold))
        elif user == elements.LAST_PART:
            owed[tag] = None  # not judged
    for data, _ in sent:
        await bench.expect(data)
    for _ in range(len(owed)):
        result = await bench.result()
        due = owed.pop(result.tag)
        assert result[1:] == due if due else not result.judged
    await bench.silent()


@cocotb.test()
async def full_rate(dut) -> None:
    """A beat in every cycle, in the same one."""
    assert await elements.cycles_of(dut, 100) == (0, 99)


@cocotb.test()
async def reset_in_mid_packet(dut) -> None:
    """What is held is forgotten."""
    await elements.reset_in_mid_packet(dut, lambda data: data, judges=True)


def test_fb_pe_NAME() -> None:
    """Run all of it in Verilator."""
    simulate(__file__, "fb_pe_NAME", filelist="rtl/pe/elements.f", extra_sources=SOURCES)
