# SPDX-License-Identifier: Apache-2.0
"""The generated register block through its AXI4-Lite port, against the map it came from."""

from __future__ import annotations

import itertools
import random
import re
from pathlib import Path

import cocotb
from cocotbext.axi import AxiLiteMaster

import harness
from forebay import recorder_regs as regs
from runner import simulate

# What is written to an event clears it.
WRITABLE = [name for name in regs.RESETS if name not in ("version", "control", "fetch", "events")]


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
    for offset in (regs.VERSION, regs.STATUS, regs.BLOCKS, 0xB8, 0x140, 0xFF8):
        await master.write_qword(offset, 2**64 - 1)
    assert await master.read_qword(regs.VERSION) == regs.RESETS["version"]
    assert await master.read_qword(0xFF8) == 0


PACKAGE = (Path(__file__).parents[3] / "rtl/store/fb_store_csr_pkg.sv").read_text()


def members(name: str) -> list[tuple[str, int]]:
    """Names and bits of the members of a struct of the register block, the highest first."""
    body = re.search(rf"struct packed \{{([^}}]*)\}} {name};", PACKAGE)[1]
    found = []
    for kind, high, member in re.findall(r"(\w+) (?:\[(\d+):0\] )?(\w+);", body):
        bits = int(high or 0) + 1 if kind == "logic" else sum(b for _, b in members(kind))
        found.append((member, bits))
    return found


async def answer(dut, name: str) -> None:
    """Answer for the elements, though nothing was requested."""
    await start(dut)
    at = 0
    for group in ("recorder__in_t", "recorder__elements__in_t"):
        below = itertools.takewhile(
            lambda m: m[0] not in ("elements", name), reversed(members(group))
        )
        at += sum(bits for _, bits in below)
    dut.hwif_in.value = 1 << at
    await harness.step(dut.clk, 3)


@harness.provocation
async def stray_read_answer(dut) -> None:
    """An answer to no read must be noticed."""
    await answer(dut, "rd_ack")


@harness.provocation
async def stray_write_answer(dut) -> None:
    """An answer to no write must be noticed."""
    await answer(dut, "wr_ack")


def run(**options: object) -> None:
    """Build the module and simulate it."""
    simulate(__file__, "fb_store_csr", filelist="rtl/store/fb_store_csr.f", **options)


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
