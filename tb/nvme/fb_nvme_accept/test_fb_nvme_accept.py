# SPDX-License-Identifier: Apache-2.0
"""fb_nvme_accept: the user's commands in turn, and what each of them is told."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.triggers import FallingEdge, Timer

import harness
import structs
from forebay import spec
from runner import simulate

PAGE = 4096
SIDES = ("wr", "rd")


def random_command(**fields: int) -> dict[str, int]:
    """Return a command as the write and read paths build it."""
    length = random.choice([512, 4096, 8192, 512 * random.randrange(1, 200)])
    return {
        "sector": random.getrandbits(40) & ~7,
        "page": random.randrange(1024),
        "fua": random.getrandbits(1),
        "flush": random.getrandbits(1),
        "last": random.getrandbits(1),
        "size": length - 1,
        **fields,
    }


def offer(dut, side: str, command: dict[str, int] | None) -> None:
    """Offer a command of this side, or none."""
    getattr(dut, f"{side}_valid").value = command is not None
    if command:
        getattr(dut, f"{side}_command").value = structs.pack("command_t", **command)


async def start(dut, **settings: int) -> None:
    """Reset with every drive ready for commands."""
    harness.clear(dut, "halted", "??_valid", "??_command")
    dut.writes_empty.value = 1
    dut.m_ready.value = (1 << int(dut.Drives.value)) - 1
    dut.cfg.value = structs.pack("cfg_t", **settings)
    await harness.start(dut)
    await harness.step(dut.clk, 2)


@cocotb.test()
async def random_work(dut) -> None:
    """Each command is announced once and goes to its drive when that has room; sides take turns."""
    await start(dut)
    drives = int(dut.Drives.value)
    offers: dict[str, dict[str, int] | None] = dict.fromkeys(SIDES)
    counts = dict.fromkeys(SIDES, 0)
    announced: tuple[str, dict[str, int]] | None = None
    for _ in range(3000):
        await harness.step(dut.clk)
        for side in SIDES:
            if offers[side] is None and random.random() < 0.7:
                offers[side] = random_command(drive=random.randrange(drives))
            offer(dut, side, offers[side])
        ready = random.getrandbits(drives)
        dut.m_ready.value = ready
        await FallingEdge(dut.clk)
        assert dut.reorder_valid.value == (announced is not None)
        if announced:
            side, command = announced
            entry = structs.unpack("reorder_t", int(dut.reorder_entry.value))
            assert dut.reorder_write.value == (side == "wr")
            assert dut.reorder_page.value == command["page"]
            assert [entry[name] for name in ("drive", "flush", "last", "size", "reject")] == [
                *(command[name] for name in ("drive", "flush", "last", "size")),
                0,
            ]
        taken = [side for side in SIDES if getattr(dut, f"{side}_ready").value == 1]
        could = [side for side in SIDES if offers[side] and ready >> offers[side]["drive"] & 1]
        assert len(taken) == bool(could) and set(taken) <= set(could)
        announced = None
        assert dut.m_valid.value == bool(taken)
        for side in taken:
            command = offers[side]
            found = structs.unpack("descriptor_t", int(dut.m_descriptor.value))
            opcode = structs.constant("OP_WRITE" if side == "wr" else "OP_READ")
            expected = {name: command[name] for name in ("drive", "page", "sector")}
            expected |= {"op": opcode, "fua": side == "wr" and command["fua"]}
            expected |= {"size": command["size"] // 512}
            assert {name: found[name] for name in expected} == expected
            announced, offers[side] = (side, command), None
            counts[side] += 1
    assert abs(counts["wr"] - counts["rd"]) < 0.2 * counts["wr"]


@cocotb.test()
async def rejects_and_halt(dut) -> None:
    """Rejected commands are announced alone; a halted queue rejects every command."""
    await start(dut)
    for halted, reject, flush in ((0, 1, 0), (1, 0, 0), (1, 0, 1), (1, 1, 0), (0, 1, 1), (1, 1, 1)):
        await harness.step(dut.clk)
        command = random_command(reject=reject, flush=flush, last=1)
        # A flush without data is no error.
        command["size"] = spec.ERR_OK if flush else spec.ERR_MISALIGNED
        if not reject:
            command["size"] = 5 * PAGE - 1
        dut.halted.value = halted
        await harness.step(dut.clk, 2)
        # Halted, no drive has room.
        dut.m_ready.value = 0 if halted else 1
        offer(dut, "wr", command)
        await FallingEdge(dut.clk)
        await Timer(1, "ns")
        assert dut.wr_ready.value == 1 and dut.m_valid.value == 0
        await harness.step(dut.clk)
        offer(dut, "wr", None)
        await FallingEdge(dut.clk)
        assert dut.reorder_valid.value == 1
        found = structs.unpack("reorder_t", int(dut.reorder_entry.value))
        code = spec.ERR_HALTED if halted and (flush or not reject) else command["size"] & 0xFF
        assert found["reject"] and found["size"] & 0xFF == code
        assert dut.rejected.value == (reject and code != spec.ERR_OK)
        assert found["flush"] == (flush and not halted)
        assert reject or found["size"] >> 12 == 4


@cocotb.test()
@cocotb.parametrize(side=["wr", "rd"], degraded=[0, 1])
async def offline(dut, side: str, degraded: int) -> None:
    """Commands for a drive that is offline are turned away, those of others are not.

    Writes that parity stands for are well: with their flush, and without an error.
    """
    if int(dut.Drives.value) == 1:
        return
    await start(dut, offline=0b10, degraded=degraded)
    for drive in (1, 0):
        command = random_command(drive=drive, flush=side == "wr", last=1)
        offer(dut, side, command)
        await FallingEdge(dut.clk)
        assert getattr(dut, f"{side}_ready").value == 1 and dut.m_valid.value == 1 - drive
        await harness.step(dut.clk)
        offer(dut, side, None)
        await FallingEdge(dut.clk)
        found = structs.unpack("reorder_t", int(dut.reorder_entry.value))
        assert found["reject"] == drive
        spared = degraded and side == "wr"
        if drive == 1:
            assert found["size"] & 0xFF == (spec.ERR_OK if spared else spec.ERR_OFFLINE)
            assert found["size"] >> 12 == command["size"] >> 12
        assert found["flush"] == (side == "wr" and (drive == 0 or bool(spared)))
        await harness.step(dut.clk, 2)


@cocotb.test()
async def fences(dut) -> None:
    """A write with a fence waits until earlier ones are answered; reads pass it."""
    await start(dut)
    offer(dut, "wr", random_command())
    await FallingEdge(dut.clk)
    assert dut.wr_ready.value == 1
    await harness.step(dut.clk)
    # The one before is on its way to fb_nvme_reorder, which knows of it in this cycle.
    offer(dut, "wr", random_command(fence=1))
    offer(dut, "rd", random_command())
    dut.writes_empty.value = 0
    for n in range(10):
        await FallingEdge(dut.clk)
        assert dut.wr_ready.value == 0 and dut.rd_ready.value == (n == 0)
        await harness.step(dut.clk)
        offer(dut, "rd", None)
    dut.writes_empty.value = 1
    await harness.until(dut.clk, dut.wr_ready, limit=3)


@pytest.mark.parametrize("drives", [1, 3])
def test_accept(drives: int) -> None:
    """Run all coroutines for this number of drives."""
    simulate(__file__, "fb_nvme_accept", {"Drives": drives}, filelist="rtl/top/onchip.f")
