# SPDX-License-Identifier: Apache-2.0
"""The generated register block through its AXI4-Lite port, against the map it came from."""

from __future__ import annotations

import random

import cocotb
from cocotbext.axi import AxiLiteMaster

import harness
from forebay import boot_regs as regs
from runner import simulate

CONTROL = 0x1F  # bits that can be written
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
    """The one register that can be written keeps the bits that it has, of strobed bytes."""
    master = await start(dut)
    expected = 0
    for _ in range(100):
        at, data = random.randrange(8), random.randrange(256)
        await master.write(regs.CONTROL + at, bytes([data]))
        if at == 0:
            expected = data & CONTROL
        assert await master.read_qword(regs.CONTROL) == expected


@cocotb.test()
async def ignores_what_is_not_there(dut) -> None:
    """Writes to what is read only, and to what is not there, end and change nothing."""
    master = await start(dut)
    for offset in (regs.VERSION, regs.STATUS, regs.CODES, regs.MEMORY, 0x30, 0x200, 0x7F8, 0xFF8):
        await master.write_qword(offset, 2**64 - 1)
    assert await master.read_qword(regs.VERSION) == regs.RESETS["version"]
    assert await master.read_qword(regs.CONTROL) == 0
    for offset in (0x30, 0xF8, 0x200, 0x7F8):
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
    simulate(__file__, "fb_boot_csr", filelist="rtl/boot/fb_boot_csr.f", **options)


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
