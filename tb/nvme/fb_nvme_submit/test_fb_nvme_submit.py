# SPDX-License-Identifier: Apache-2.0
"""fb_nvme_submit: which command goes next, its identifier, and its place in the queue."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import cocotb
import pytest
from cocotb.triggers import FallingEdge, Timer

import harness
import structs
from forebay import spec
from runner import simulate

PAGE = 4096


@dataclass
class Core:
    """A model of what the module has handed out."""

    entries: int
    drives: int = 1
    tails: list[int] = field(default_factory=lambda: [0] * 8)
    in_use: dict[int, dict[str, int]] = field(default_factory=dict)  # identifier -> command
    waiting: list[int] = field(default_factory=list)  # identifiers to be sent once more
    writes: int = 0
    reads: int = 0


def random_command(pages: int = 256) -> dict[str, int]:
    """Return a command as the write and read paths build it."""
    length = random.choice([512, 4096, 8192, 8193 // 512 * 512, 512 * random.randrange(1, 200)])
    return {
        "sector": random.getrandbits(40) & ~7,
        "page": random.randrange(1024 - pages),
        "fua": random.getrandbits(1),
        "flush": random.getrandbits(1),
        "last": random.getrandbits(1),
        "size": length - 1,
    }


class Submit:
    """The device under test, driven cycle by cycle."""

    def __init__(self, dut, entries: int) -> None:
        self.dut = dut
        self.core = Core(entries, int(dut.Drives.value))
        self.offers: dict[str, dict[str, int] | None] = {"wr": None, "rd": None}
        self.taken: tuple[str, dict[str, int]] | None = None  # in the last cycle

    async def cycle(self, work: float, finish: float) -> None:
        """Offer commands, finish old ones, and follow what is taken, for one cycle."""
        dut, core = self.dut, self.core
        await harness.step(dut.clk)
        for side in ("wr", "rd"):
            if self.offers[side] is None and random.random() < work:
                self.offers[side] = random_command() | {"drive": random.randrange(core.drives)}
                command = structs.pack("command_t", **self.offers[side])
                getattr(dut, f"{side}_command").value = command
            getattr(dut, f"{side}_valid").value = self.offers[side] is not None
        tag, again = self._choose_finish(finish)
        await FallingEdge(dut.clk)
        self._follow()
        # What waits to be sent once more keeps its place.
        assert dut.outstanding.value == len(core.in_use)
        for drive in range(core.drives):
            of_drive = sum(command["drive"] == drive for command in core.in_use.values())
            assert of_drive < core.entries
            assert int(dut.sq_tail.value) >> 11 * drive & 0x7FF == core.tails[drive]
            assert int(dut.drive_outstanding.value) >> 11 * drive & 0x7FF == of_drive
        if tag is not None:
            if again:
                core.waiting.append(tag)
            else:
                del core.in_use[tag]

    def _choose_finish(self, finish: float) -> tuple[int | None, bool]:
        dut, core = self.dut, self.core
        known = [tag for tag in core.in_use if tag not in core.waiting]
        dut.finish.value = 0
        if not known or random.random() >= finish:
            return None, False
        tag = random.choice(known)
        again = random.random() < 0.2
        dut.finish.value, dut.finish_retry.value = 1, again
        dut.finish_tag.value, dut.finish_drive.value = tag, core.in_use[tag]["drive"]
        return tag, again

    def _follow(self) -> None:
        """Take over what the module did in the last cycle, and see what it takes in this one."""
        dut, core = self.dut, self.core
        if self.taken is not None:
            side, command = self.taken
            assert dut.reorder_valid.value == 1
            assert dut.reorder_write.value == (side == "wr")
            assert dut.reorder_page.value == command["page"]
            tag = int(dut.submitted_tag.value)
            assert dut.submitted.value == 1 and tag not in core.in_use
            opcode = spec.OPCODE_WRITE if side == "wr" else spec.OPCODE_READ
            core.in_use[tag] = {"opcode": opcode, **command}
            core.writes += side == "wr"
            core.reads += side == "rd"
            self._place(tag, command["drive"])
        elif dut.submitted.value == 1:
            assert dut.submitted_retry.value == 1
            tag = core.waiting.pop(0)
            assert dut.submitted_tag.value == tag
            self._place(tag, core.in_use[tag]["drive"])
        self.taken = None
        for side in ("wr", "rd"):
            command = self.offers[side]
            if getattr(dut, f"{side}_ready").value == 1 and command:
                self.taken, self.offers[side] = (side, command), None

    def _place(self, tag: int, drive: int) -> None:
        core = self.core
        tail = core.tails[drive]
        found = structs.unpack("descriptor_t", int(self.dut.submitted_descriptor.value))
        assert self.dut.submitted_slot.value == tail and found["drive"] == drive
        if self.dut.submitted_retry.value == 0:
            command = core.in_use[tag]
            write = command["opcode"] == spec.OPCODE_WRITE
            assert found["op"] == structs.constant("OP_WRITE" if write else "OP_READ")
            assert found["fua"] == (write and command["fua"])
            assert [found[name] for name in ("page", "sector", "size")] == [
                command["page"],
                command["sector"],
                command["size"] // 512,
            ]
        core.tails[drive] = (tail + 1) % core.entries

    def outstanding(self, drive: int) -> int:
        """Return how many commands this drive has not completed."""
        return int(self.dut.drive_outstanding.value) >> 11 * drive & 0x7FF


async def start(dut, entries: int | None = None) -> Submit:
    """Reset, sweep, and leave everything idle."""
    entries = entries or int(dut.QueueDepth.value)
    harness.clear(
        dut,
        "sweep*",
        "halted",
        "writes_empty",
        "??_valid",
        "??_command",
        "flush_valid",
        "flush_page",
        "finish*",
        "flush_drive",
    )
    dut.cfg.value = structs.pack("cfg_t", queue_entries=entries, busy_commands=4)
    await harness.start(dut)
    for index in range(1024):
        dut.sweep.value, dut.sweep_index.value = 1, index
        await harness.step(dut.clk)
    dut.sweep.value = 0
    return Submit(dut, entries)


@cocotb.test()
@cocotb.parametrize(entries=[0, 2])
async def random_work(dut, entries: int) -> None:
    """Identifiers have one owner, the queue never overflows, what is submitted was asked for."""
    submit = await start(dut, entries)
    for _ in range(8):
        work, finish = random.choice([0.2, 1.0]), random.choice([0.1, 0.5, 1.0])
        for _ in range(150):
            await submit.cycle(work, finish)
        core = submit.core
        # Let retries leave.
        submit.offers = {"wr": None, "rd": None}
        while core.waiting:
            await submit.cycle(0.0, 0.3)
        # And what was taken last.
        await submit.cycle(0.0, 0.0)
    if not entries:
        assert abs(core.writes - core.reads) < 0.3 * core.writes


@cocotb.test()
async def submit_latency(dut) -> None:
    """The tail moves the cycle after a command is taken; both sides get one a cycle in turn."""
    submit = await start(dut)
    for _ in range(min(submit.core.entries - 1, 20)):
        await submit.cycle(1.0, 0.0)
    taken = len(submit.core.in_use)
    dut._log.info("%d commands in 20 cycles", taken)
    assert taken >= min(submit.core.entries - 1, 20) - 1


@cocotb.test()
async def rejects_and_halt(dut) -> None:
    """Rejected commands go to the command table alone; a halted queue rejects every command."""
    await start(dut)
    for halted, reject, flush in ((0, 1, 0), (1, 0, 0), (1, 0, 1), (1, 1, 0), (0, 1, 1), (1, 1, 1)):
        await harness.step(dut.clk)
        command = random_command() | {"reject": reject, "flush": flush, "last": 1}
        # A flush without data is no error.
        command["size"] = spec.ERR_OK if flush else spec.ERR_MISALIGNED
        if not reject:
            command["size"] = 5 * PAGE - 1
        dut.halted.value = halted
        await harness.step(dut.clk, 2)
        dut.wr_command.value = structs.pack("command_t", **command)
        dut.wr_valid.value = 1
        await FallingEdge(dut.clk)
        await Timer(1, "ns")
        assert dut.wr_ready.value == 1
        await harness.step(dut.clk)
        dut.wr_valid.value = 0
        await FallingEdge(dut.clk)
        assert dut.reorder_valid.value == 1 and dut.submitted.value == 0
        found = structs.unpack("reorder_t", int(dut.reorder_entry.value))
        code = spec.ERR_HALTED if halted and (flush or not reject) else command["size"] & 0xFF
        assert found["reject"] and found["size"] & 0xFF == code
        assert found["flush"] == (flush and not halted)
        assert reject or found["size"] >> 12 == 4
    assert int(dut.sq_tail.value) == 0


@cocotb.test()
@cocotb.parametrize(side=["wr", "rd"], degraded=[0, 1])
async def offline(dut, side: str, degraded: int) -> None:
    """Commands for a drive that is offline are turned away, those of others are not.

    Writes that parity stands for are well: with their flush, and without an error.
    """
    submit = await start(dut)
    if submit.core.drives == 1:
        return
    settings = {"queue_entries": submit.core.entries}
    dut.cfg.value = structs.pack("cfg_t", **settings, offline=0b10, degraded=degraded)
    await harness.step(dut.clk, 3)
    command_port, valid, ready = (
        getattr(dut, f"{side}_{n}") for n in ("command", "valid", "ready")
    )
    for drive in (1, 0):
        command = random_command() | {"drive": drive, "flush": side == "wr", "last": 1}
        command_port.value, valid.value = structs.pack("command_t", **command), 1
        await FallingEdge(dut.clk)
        assert ready.value == 1
        await harness.step(dut.clk)
        valid.value = 0
        await FallingEdge(dut.clk)
        found = structs.unpack("reorder_t", int(dut.reorder_entry.value))
        assert found["reject"] == drive and dut.submitted.value == 1 - drive
        spared = degraded and side == "wr"
        if drive == 1:
            assert found["size"] & 0xFF == (spec.ERR_OK if spared else spec.ERR_OFFLINE)
            assert found["size"] >> 12 == command["size"] >> 12
        assert found["flush"] == (side == "wr" and (drive == 0 or bool(spared)))
        await harness.step(dut.clk, 2)


@cocotb.test()
async def flushes(dut) -> None:
    """A flush takes an identifier and a place of its own, and nothing of a read that waits."""
    await start(dut)
    await harness.step(dut.clk, 2)
    dut.flush_valid.value, dut.flush_page.value = 1, 77
    dut.rd_valid.value = 1
    dut.rd_command.value = structs.pack("command_t", **random_command() | {"early": 1})
    await FallingEdge(dut.clk)
    assert dut.flush_ready.value == 1 and dut.rd_ready.value == 0
    await harness.step(dut.clk)
    dut.flush_valid.value = dut.rd_valid.value = 0
    await FallingEdge(dut.clk)
    assert dut.submitted.value == 1 and dut.reorder_valid.value == 0
    found = structs.unpack("descriptor_t", int(dut.submitted_descriptor.value))
    assert found["op"] == structs.constant("OP_FLUSH")
    assert found["page"] == 77 and found["sector"] == 0 and not found["early"]


@cocotb.test()
async def flush_of_a_full_drive(dut) -> None:
    """A flush that finds no room at its drive stops no command for another."""
    if int(dut.Drives.value) == 1:
        return
    submit = await start(dut, 4)
    dut.wr_command.value = structs.pack("command_t", **random_command(), drive=1)
    dut.wr_valid.value = 1
    await harness.step(dut.clk, 20)
    dut.wr_valid.value = 0
    assert submit.outstanding(1) == 3, "drive 1 is full"
    dut.flush_valid.value, dut.flush_drive.value = 1, 1
    dut.rd_command.value = structs.pack("command_t", **random_command(), drive=0)
    dut.rd_valid.value = 1
    await harness.step(dut.clk, 20)
    assert submit.outstanding(0) == 3 and submit.outstanding(1) == 3
    assert dut.flush_ready.value == 0


@cocotb.test()
async def fences(dut) -> None:
    """A write with a fence waits until earlier ones are answered; reads pass it."""
    await start(dut)
    dut.writes_empty.value = 1
    await harness.step(dut.clk, 2)
    dut.wr_command.value, dut.wr_valid.value = structs.pack("command_t", **random_command()), 1
    await FallingEdge(dut.clk)
    assert dut.wr_ready.value == 1
    await harness.step(dut.clk)
    # The one before is on its way to fb_nvme_reorder, which knows of it in this cycle.
    dut.wr_command.value = structs.pack("command_t", **random_command(), fence=1)
    dut.rd_command.value, dut.rd_valid.value = structs.pack("command_t", **random_command()), 1
    dut.writes_empty.value = 0
    for n in range(10):
        await FallingEdge(dut.clk)
        assert dut.wr_ready.value == 0 and dut.rd_ready.value == (n == 0)
        await harness.step(dut.clk)
        dut.rd_valid.value = 0
    dut.writes_empty.value = 1
    await harness.until(dut.clk, dut.wr_ready, limit=3)


@cocotb.test()
async def reset_in_work(dut) -> None:
    """After a reset and a sweep every identifier is free again."""
    submit = await start(dut)
    for _ in range(60):
        await submit.cycle(1.0, 0.3)
    harness.clear(dut, "??_valid", "finish*")
    await harness.reset(dut, 2)
    for index in range(1024):
        dut.sweep.value, dut.sweep_index.value = 1, index
        await harness.step(dut.clk)
    dut.sweep.value = 0
    submit = Submit(dut, int(dut.QueueDepth.value))
    for _ in range(200):
        await submit.cycle(1.0, 0.5)


@pytest.mark.parametrize(("depth", "drives"), [(4, 1), (64, 1), (8, 3)])
def test_submit(depth: int, drives: int) -> None:
    """Run all coroutines at this depth, for this number of drives."""
    parameters = {"QueueDepth": depth, "Drives": drives}
    simulate(__file__, "fb_nvme_submit", parameters, filelist="rtl/top/onchip.f")
