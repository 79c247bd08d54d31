# SPDX-License-Identifier: Apache-2.0
"""The generated register block through its AXI4-Lite port, against the map it came from."""

from __future__ import annotations

import random

import cocotb
from cocotbext.axi import AxiLiteMaster

import harness
from forebay import net_regs as regs
from runner import simulate

WRITABLE = ("address", "filter", "limit", "pause", "pause_control", "peer", "send")


async def start(dut) -> AxiLiteMaster:
    """Start the clock, reset, and return a master on the control port."""
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
    """Settings keep the bytes that were strobed, in the bits that they have."""
    master = await start(dut)
    expected = {name: regs.RESETS[name] for name in WRITABLE}
    for _ in range(200):
        name = random.choice(WRITABLE)
        length = random.choice([1, 2, 4, 8])
        at = random.randrange(0, 8, length)
        data = random.randbytes(length)
        await master.write(getattr(regs, name.upper()) + at, data)
        old = bytearray(expected[name].to_bytes(8, "little"))
        old[at : at + length] = data
        fields = regs.FIELDS[name].values()
        mask = sum((1 << high - low + 1) - 1 << low for high, low in fields)
        expected[name] = int.from_bytes(old, "little") & mask
        probe = random.choice(WRITABLE)
        assert await master.read_qword(getattr(regs, probe.upper())) == expected[probe], probe


@cocotb.test()
async def ignores_what_is_not_there(dut) -> None:
    """Writes to what is read only, and to what is not there, end and change nothing."""
    master = await start(dut)
    for offset in (regs.VERSION, regs.ARRIVALS, regs.PLACES + 8, 0x100, 0xFF8):
        await master.write_qword(offset, 2**64 - 1)
    assert await master.read_qword(regs.VERSION) == regs.RESETS["version"]
    assert await master.read_qword(0xFF8) == 0


async def answer(dut, bit: int) -> None:
    """Answer for the places, with the lowest bits as answers, though nothing was requested."""
    await start(dut)
    dut.hwif_in.value = 1 << bit
    await harness.step(dut.clk, 3)


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
    simulate(__file__, "fb_net_csr", filelist="rtl/net/fb_net_csr.f", **options)


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
