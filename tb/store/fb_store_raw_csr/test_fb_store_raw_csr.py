# SPDX-License-Identifier: Apache-2.0
"""The generated register block through its AXI4-Lite port, against the map it came from."""

from __future__ import annotations

import random

import cocotb
from cocotbext.axi import AxiLiteMaster

import harness
from forebay import raw_regs as regs
from runner import simulate

# What can be written, with the bits that it has.
SETTINGS = {
    "control": 0x1F,
    "chunk_bytes": 2**32 - 1,
    "write_start": 2**64 - 1,
    "write_max": 2**64 - 1,
    "read_start": 2**64 - 1,
    "read_max": 2**64 - 1,
}
# In `hwif_in` the answers of the memory are the lowest: to a write, 64 bits of data, to a read.
WRITE_ANSWER, READ_ANSWER = 1 << 0, 1 << 65


async def start(dut) -> AxiLiteMaster:
    """Start the clock, reset, and return a master on the port."""
    dut.hwif_in.value = 0
    master = harness.axil_master(dut, "s_axil")
    await harness.start(dut)
    return master


@cocotb.test()
async def resets_as_described(dut) -> None:
    """Every register whose reset is a constant reads as that constant."""
    master = await start(dut)
    for name, value in regs.RESETS.items():
        assert await master.read_qword(getattr(regs, name.upper())) == value, name


@cocotb.test()
async def keeps_what_is_written(dut) -> None:
    """What can be written keeps the bits that it has, of strobed bytes; nothing else changes."""
    master = await start(dut)
    expected = {name: regs.RESETS[name] for name in SETTINGS}
    for _ in range(200):
        name, at, data = random.choice(list(SETTINGS)), random.randrange(8), random.randrange(256)
        await master.write(getattr(regs, name.upper()) + at, bytes([data]))
        expected[name] &= ~(0xFF << 8 * at)
        expected[name] |= data << 8 * at & SETTINGS[name]
        for each, value in expected.items():
            assert await master.read_qword(getattr(regs, each.upper())) == value, each


@cocotb.test()
async def ignores_what_is_not_there(dut) -> None:
    """Writes to what is read only, and to what is not there, end and change nothing."""
    master = await start(dut)
    for offset in (regs.VERSION, regs.STATUS, regs.GAPS, 0xD8, 0x100, 0x7F8, 0xFF8):
        await master.write_qword(offset, 2**64 - 1)
    assert await master.read_qword(regs.VERSION) == regs.RESETS["version"]
    assert await master.read_qword(regs.CONTROL) == 0
    for offset in (0xD8, 0x100, 0x7F8):
        assert await master.read_qword(offset) == 0


@harness.provocation
async def stray_read_answer(dut) -> None:
    """An answer to no read must be noticed."""
    await start(dut)
    dut.hwif_in.value = READ_ANSWER
    await harness.step(dut.clk, 3)


@harness.provocation
async def stray_write_answer(dut) -> None:
    """An answer to no write must be noticed."""
    await start(dut)
    dut.hwif_in.value = WRITE_ANSWER
    await harness.step(dut.clk, 3)


def run(**options: object) -> None:
    """Build the module and simulate it."""
    simulate(__file__, "fb_store_raw_csr", filelist="rtl/store/fb_store_raw_csr.f", **options)


def test_csr() -> None:
    """Run the coroutines above."""
    run()


def test_assertion_fires() -> None:
    """Each assertion fires."""
    run(
        fires={
            "stray_read_answer": "assert_bad_ext_rd_ack",
            "stray_write_answer": "assert_bad_ext_wr_ack",
        }
    )
