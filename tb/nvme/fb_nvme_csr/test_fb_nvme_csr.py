# SPDX-License-Identifier: Apache-2.0
"""The generated register block through its AXI4-Lite port, against the map it came from."""

from __future__ import annotations

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster

import harness
from forebay import streamer_regs as regs
from runner import simulate

WRITABLE = {
    "sq_doorbell": 0xFFFFFFFFFFFFFFFC,
    "cq_doorbell": 0xFFFFFFFFFFFFFFFC,
    "data_window": 0xFFFFFFFFFF800000,
    "nsid": 0xFFFFFFFF,
    "enable": 1,
    "block_shift": 0xF,
    "transfer_pages": 0x1FF,
    "namespace_sectors": 0xFFFFFFFFFFFF,
    "timeout_cycles": 0xFFFFFFFF,
    "retry_limit": 0xF,
    "queue_entries": 0x7FF,
    "chunk": 0x00FF01FF,
    "doorbell_offset": 0xFFFFFFFFFFFFF000,
    "memory_offset": 0xFFFFFFFFFC000000,
}


async def start(dut) -> AxiLiteMaster:
    """Start the clock, reset, and return a master on the control port."""
    cocotb.start_soon(Clock(dut.clk, 4, unit="ns").start())
    dut.hwif_in.value = 0
    dut.rst.value = 1
    master = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst)
    for _ in range(4):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    await RisingEdge(dut.clk)
    return master


@cocotb.test()
async def resets_as_described(dut) -> None:
    """Every register whose reset is a constant reads as that constant."""
    master = await start(dut)
    for name, value in regs.RESETS.items():
        offset = getattr(regs, name.upper())
        assert await master.read_qword(offset) == value, name


@cocotb.test()
async def keeps_what_is_written(dut) -> None:
    """Writes of any bytes change these bytes of this register, under random stalls."""
    master = await start(dut)
    for channel in (master.write_if.aw_channel, master.write_if.w_channel):
        harness.stall(channel, 0.3)
    harness.stall(master.read_if.r_channel, 0.3)
    expected = {name: 0 for name in WRITABLE}
    for name in WRITABLE:
        await master.write_qword(getattr(regs, name.upper()), 0)
    for _ in range(200):
        name = random.choice(list(WRITABLE))
        offset = getattr(regs, name.upper())
        length = random.choice([1, 2, 4, 8])
        at = random.randrange(0, 8, length)
        data = random.randbytes(length)
        await master.write(offset + at, data)
        old = bytearray(expected[name].to_bytes(8, "little"))
        old[at : at + length] = data
        expected[name] = int.from_bytes(old, "little") & WRITABLE[name]
        probe = random.choice(list(WRITABLE))
        assert await master.read_qword(getattr(regs, probe.upper())) == expected[probe], probe


@cocotb.test()
async def ignores_what_is_not_there(dut) -> None:
    """SNAcc's registers that this variant lacks ignore writes and read as zero."""
    master = await start(dut)
    for offset in (0x038, 0x060, 0x078, 0x180, 0x278, 0xFF8):
        await master.write_qword(offset, 0xFFFFFFFFFFFFFFFF)
        assert await master.read_qword(offset) == 0, hex(offset)


async def answer(dut, bit: int) -> None:
    """Answer for the trace, with the lowest bits as answers, though nothing was requested."""
    await start(dut)
    dut.hwif_in.value = 1 << bit
    await ClockCycles(dut.clk, 3)


@harness.provocation
async def stray_read_answer(dut) -> None:
    """An answer to no read must be noticed: behind 64 bits of data and the bit for writes."""
    await answer(dut, 65)


@harness.provocation
async def stray_write_answer(dut) -> None:
    """An answer to no write must be noticed."""
    await answer(dut, 0)


def run(**options: object) -> None:
    """Build the module and simulate it."""
    simulate(__file__, "fb_nvme_csr", filelist="rtl/nvme/fb_nvme_csr.f", **options)


def test_fb_nvme_csr() -> None:
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
