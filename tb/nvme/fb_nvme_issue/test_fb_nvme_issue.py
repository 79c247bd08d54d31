# SPDX-License-Identifier: Apache-2.0
"""fb_nvme_issue: identifiers, places in the queue, and the entries the SSD will read."""

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

WINDOW = 0x1234_5680_0000_0000
NSID = 0xABCD
PAGE = 4096


@dataclass
class Core:
    """A model of what the module has handed out."""

    entries: int
    drives: int = 1
    tails: list[int] = field(default_factory=lambda: [0] * 8)
    slots: dict[tuple[int, int], int] = field(default_factory=dict)  # drive, place -> identifier
    in_use: dict[int, dict[str, int]] = field(default_factory=dict)  # identifier -> command
    retries: dict[int, int] = field(default_factory=dict)
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


def entry(cid: int, opcode: int, command: dict[str, int], unit: int = 0) -> bytes:
    """Return the submission queue entry of a command (NVM Command Set 1.0c, 3.2.4 and 3.2.6)."""
    bits = opcode | cid << 16 | NSID << spec.SQE_NSID_LSB
    if opcode != spec.OPCODE_FLUSH:
        pages = command["size"] // PAGE + 1
        prp1 = WINDOW + (command["page"] * PAGE << unit)
        prp2 = 0 if pages == 1 else prp1 + PAGE
        if pages > 2:
            prp2 |= 1 << 22 + unit
        bits |= prp1 << spec.SQE_PRP1_LSB | prp2 << spec.SQE_PRP2_LSB
        bits |= command["sector"] << spec.SQE_SLBA_LSB
        bits |= (command["size"] // 512) << spec.SQE_NLB_LSB
        if opcode == spec.OPCODE_WRITE:
            bits |= command["fua"] << spec.SQE_FUA_BIT
    return bits.to_bytes(64, "little")


class Issue:
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
            assert dut.lookup_in_use.value == 1
            assert dut.lookup_retries.value == core.retries[tag]
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
        dut.lookup_tag.value, dut.finish.value, dut.finish_retry.value = tag, 1, again
        return tag, again

    def _follow(self) -> None:
        """Take over what the module did in the last cycle, and see what it takes in this one."""
        dut, core = self.dut, self.core
        if self.taken is not None:
            side, command = self.taken
            assert dut.ledger_we.value == 1
            assert dut.ledger_wr_side.value == (side == "wr")
            assert dut.ledger_page.value == command["page"]
            tag = int(dut.issued_tag.value)
            assert dut.issued.value == 1 and tag not in core.in_use
            opcode = spec.OPCODE_WRITE if side == "wr" else spec.OPCODE_READ
            core.in_use[tag] = {"opcode": opcode, **command}
            core.retries[tag] = 0
            core.writes += side == "wr"
            core.reads += side == "rd"
            self._place(tag, command["drive"])
        elif dut.issued.value == 1:
            assert dut.issued_retry.value == 1
            tag = core.waiting.pop(0)
            assert dut.issued_tag.value == tag
            core.retries[tag] += 1
            self._place(tag, core.in_use[tag]["drive"])
        self.taken = None
        for side in ("wr", "rd"):
            command = self.offers[side]
            if getattr(dut, f"{side}_ready").value == 1 and command:
                self.taken, self.offers[side] = (side, command), None

    def _place(self, tag: int, drive: int) -> None:
        core = self.core
        tail = core.tails[drive]
        assert self.dut.issued_slot.value == tail and self.dut.issued_drive.value == drive
        core.slots[drive, tail] = tag
        core.tails[drive] = (tail + 1) % core.entries

    def outstanding(self, drive: int) -> int:
        """Return how many commands this drive has not completed."""
        return int(self.dut.drive_outstanding.value) >> 11 * drive & 0x7FF

    async def fetch(self, slot: int, drive: int = 0) -> bytes:
        """Read the entry at a place, two cycles after asking."""
        dut = self.dut
        await harness.step(dut.clk)
        dut.wr_valid.value = dut.rd_valid.value = dut.finish.value = 0
        dut.fetch_slot.value, dut.fetch_drive.value = slot, drive
        await FallingEdge(dut.clk)
        self._follow()
        await harness.step(dut.clk)
        dut.fetch_slot.value = random.getrandbits(10)
        await harness.step(dut.clk)
        await FallingEdge(dut.clk)
        return int(dut.fetch_sqe.value).to_bytes(64, "little")


async def start(dut, entries: int | None = None) -> Issue:
    """Reset, sweep, and leave everything idle."""
    entries = entries or int(dut.QueueDepth.value)
    harness.clear(
        dut,
        "sweep*",
        "piece_*",
        "halted",
        "??_valid",
        "??_command",
        "flush_valid",
        "flush_page",
        "lookup_tag",
        "finish*",
        "now",
        "fetch_*[!e]",
        "flush_drive",
    )
    dut.nsid.value = NSID
    dut.cfg.value = structs.pack(
        "cfg_t", queue_entries=entries, data_window=WINDOW, busy_commands=4
    )
    await harness.start(dut)
    for index in range(1024):
        dut.sweep.value, dut.sweep_index.value = 1, index
        await harness.step(dut.clk)
    dut.sweep.value = 0
    return Issue(dut, entries)


@cocotb.test()
@cocotb.parametrize(entries=[0, 2])
async def random_work(dut, entries: int) -> None:
    """Identifiers have one owner, the queue never overflows, entries say what was asked."""
    issue = await start(dut, entries)
    for _ in range(8):
        work, finish = random.choice([0.2, 1.0]), random.choice([0.1, 0.5, 1.0])
        for _ in range(150):
            await issue.cycle(work, finish)
        core = issue.core
        # Let retries leave before places are compared.
        issue.offers = {"wr": None, "rd": None}
        while core.waiting:
            await issue.cycle(0.0, 0.3)
        # And what was taken last.
        await issue.cycle(0.0, 0.0)
        for (drive, slot), tag in list(core.slots.items())[-8:]:
            if tag in core.in_use and core.retries[tag] == 0:
                command = core.in_use[tag]
                want = entry(tag, command["opcode"], command, int(dut.UnitBits.value))
                assert await issue.fetch(slot, drive) == want
    if not entries:
        assert abs(core.writes - core.reads) < 0.3 * core.writes


@cocotb.test()
async def issue_latency(dut) -> None:
    """The tail moves the cycle after a command is taken; both sides get one a cycle in turn."""
    issue = await start(dut)
    for _ in range(min(issue.core.entries - 1, 20)):
        await issue.cycle(1.0, 0.0)
    taken = len(issue.core.in_use)
    dut._log.info("%d commands in 20 cycles", taken)
    assert taken >= min(issue.core.entries - 1, 20) - 1


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
        assert dut.ledger_we.value == 1 and dut.issued.value == 0
        found = structs.unpack("ledger_t", int(dut.ledger_entry.value))
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
    issue = await start(dut)
    if issue.core.drives == 1:
        return
    settings = {"queue_entries": issue.core.entries, "data_window": WINDOW}
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
        found = structs.unpack("ledger_t", int(dut.ledger_entry.value))
        assert found["reject"] == drive and dut.issued.value == 1 - drive
        spared = degraded and side == "wr"
        if drive == 1:
            assert found["size"] & 0xFF == (spec.ERR_OK if spared else spec.ERR_OFFLINE)
            assert found["size"] >> 12 == command["size"] >> 12
        assert found["flush"] == (side == "wr" and (drive == 0 or bool(spared)))
        await harness.step(dut.clk, 2)


@cocotb.test()
async def flushes(dut) -> None:
    """A flush takes an identifier and a place of its own, and nothing of a read that waits."""
    issue = await start(dut)
    await harness.step(dut.clk, 2)
    dut.flush_valid.value, dut.flush_page.value = 1, 77
    dut.rd_valid.value = 1
    dut.rd_command.value = structs.pack("command_t", **random_command() | {"loose": 1})
    await FallingEdge(dut.clk)
    assert dut.flush_ready.value == 1 and dut.rd_ready.value == 0
    await harness.step(dut.clk)
    dut.flush_valid.value = dut.rd_valid.value = 0
    await FallingEdge(dut.clk)
    assert dut.issued.value == 1 and dut.ledger_we.value == 0
    tag = int(dut.issued_tag.value)
    assert await issue.fetch(0) == entry(tag, spec.OPCODE_FLUSH, {})
    dut.lookup_tag.value = tag
    await FallingEdge(dut.clk)
    found = structs.unpack("descriptor_t", int(dut.lookup_descriptor.value))
    assert found["page"] == 77 and not found["loose"] and dut.lookup_in_use.value == 1


@cocotb.test()
async def flush_of_a_full_drive(dut) -> None:
    """A flush that finds no room at its drive stops no command for another."""
    if int(dut.Drives.value) == 1:
        return
    issue = await start(dut, 4)
    dut.wr_command.value = structs.pack("command_t", **random_command(), drive=1)
    dut.wr_valid.value = 1
    await harness.step(dut.clk, 20)
    dut.wr_valid.value = 0
    assert issue.outstanding(1) == 3, "drive 1 is full"
    dut.flush_valid.value, dut.flush_drive.value = 1, 1
    dut.rd_command.value = structs.pack("command_t", **random_command(), drive=0)
    dut.rd_valid.value = 1
    await harness.step(dut.clk, 20)
    assert issue.outstanding(0) == 3 and issue.outstanding(1) == 3
    assert dut.flush_ready.value == 0


@cocotb.test()
async def reset_in_work(dut) -> None:
    """After a reset and a sweep every identifier is free again."""
    issue = await start(dut)
    for _ in range(60):
        await issue.cycle(1.0, 0.3)
    harness.clear(dut, "??_valid", "finish*")
    await harness.reset(dut, 2)
    for index in range(1024):
        dut.sweep.value, dut.sweep_index.value = 1, index
        await harness.step(dut.clk)
    dut.sweep.value = 0
    issue = Issue(dut, int(dut.QueueDepth.value))
    for _ in range(200):
        await issue.cycle(1.0, 0.5)


@pytest.mark.parametrize(("depth", "drives", "unit"), [(4, 1, 0), (64, 1, 0), (8, 3, 2)])
def test_issue(depth: int, drives: int, unit: int) -> None:
    """Run all coroutines at this depth, for this number of drives."""
    parameters = {"QueueDepth": depth, "Drives": drives, "UnitBits": unit}
    simulate(__file__, "fb_nvme_issue", parameters, filelist="rtl/top/onchip.f")
