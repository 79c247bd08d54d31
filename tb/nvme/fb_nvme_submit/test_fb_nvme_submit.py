# SPDX-License-Identifier: Apache-2.0
"""fb_nvme_submit: an identifier and a place in the queue of its drive for each command."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import cocotb
import pytest
from cocotb.triggers import FallingEdge

import harness
import structs
from runner import simulate

OPCODES = tuple(structs.constant(name) for name in ("OP_READ", "OP_WRITE"))


@dataclass
class Core:
    """A model of what the module has handed out."""

    entries: int
    drives: int = 1
    tails: list[int] = field(default_factory=lambda: [0] * 8)
    in_use: dict[int, dict[str, int]] = field(default_factory=dict)  # identifier -> command
    waiting: list[int] = field(default_factory=list)  # identifiers to be sent once more
    sent: int = 0


def random_command(drive: int = 0) -> dict[str, int]:
    """Return a command as fb_nvme_accept sends it on."""
    return {
        "drive": drive,
        "op": random.choice(OPCODES),
        "fua": random.getrandbits(1),
        "early": random.getrandbits(1),
        "page": random.randrange(1024),
        "size": random.getrandbits(11),
        "sector": random.getrandbits(40) & ~7,
    }


def offer(dut, command: dict[str, int] | None) -> None:
    """Offer a command, or none."""
    dut.valid.value = command is not None
    if command:
        dut.command.value = structs.pack("descriptor_t", **command)


class Submit:
    """The device under test, driven cycle by cycle."""

    def __init__(self, dut, entries: int) -> None:
        self.dut = dut
        self.core = Core(entries, int(dut.Drives.value))
        self.offered: dict[str, int] | None = None
        self.taken: dict[str, int] | None = None  # in the last cycle

    async def cycle(self, work: float, finish: float) -> None:
        """Offer a command, finish an old one, and follow what is taken, for one cycle."""
        dut, core = self.dut, self.core
        await harness.step(dut.clk)
        if self.offered is None and random.random() < work:
            self.offered = random_command(random.randrange(core.drives))
        offer(dut, self.offered)
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
        submitted = structs.unpack("submitted_t", int(dut.submitted.value))
        tag = submitted["tag"]
        if self.taken is not None:
            assert submitted["valid"] and tag not in core.in_use
            assert not submitted["retry"]
            core.in_use[tag] = self.taken
            core.sent += 1
            self._place(submitted, self.taken["drive"])
        elif submitted["valid"]:
            assert submitted["retry"]
            assert tag == core.waiting.pop(0)
            self._place(submitted, core.in_use[tag]["drive"])
        self.taken = None
        if dut.ready.value == 1 and self.offered:
            assert int(dut.open.value) >> self.offered["drive"] & 1
            self.taken, self.offered = self.offered, None

    def _place(self, submitted: dict[str, int], drive: int) -> None:
        core = self.core
        tail = core.tails[drive]
        found = structs.unpack("descriptor_t", submitted["descriptor"])
        assert submitted["slot"] == tail and found["drive"] == drive
        if not submitted["retry"]:
            command = core.in_use[submitted["tag"]]
            assert {name: found[name] for name in command} == command
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
        "valid",
        "command",
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
        submit.offered = None
        while core.waiting:
            await submit.cycle(0.0, 0.3)
        # And what was taken last.
        await submit.cycle(0.0, 0.0)
    assert submit.core.sent > 100


@cocotb.test()
async def submit_latency(dut) -> None:
    """A command a cycle; the tail moves the cycle after."""
    submit = await start(dut)
    for _ in range(min(submit.core.entries - 1, 20)):
        await submit.cycle(1.0, 0.0)
    taken = len(submit.core.in_use)
    dut._log.info("%d commands in 20 cycles", taken)
    assert taken >= min(submit.core.entries - 1, 20) - 1


@cocotb.test()
async def halted(dut) -> None:
    """A halted queue takes and sends nothing; a flush is taken, and goes nowhere."""
    submit = await start(dut)
    for _ in range(40):
        await submit.cycle(0.5, 0.0)
    dut.halted.value = 1
    for _ in range(3):
        await submit.cycle(0.5, 0.0)
    tails = int(dut.sq_tail.value)
    offer(dut, random_command())
    dut.flush_valid.value = 1
    for n in range(10):
        await FallingEdge(dut.clk)
        assert dut.ready.value == 0
        assert not structs.unpack("submitted_t", int(dut.submitted.value))["valid"]
        assert dut.flush_ready.value == (n == 0)
        await harness.step(dut.clk)
        dut.flush_valid.value = 0
    assert int(dut.sq_tail.value) == tails


@cocotb.test()
async def flushes(dut) -> None:
    """A flush takes an identifier and a place of its own, and nothing of a command that waits."""
    await start(dut)
    await harness.step(dut.clk, 2)
    dut.flush_valid.value, dut.flush_page.value = 1, 77
    offer(dut, random_command() | {"early": 1})
    await FallingEdge(dut.clk)
    assert dut.flush_ready.value == 1 and dut.ready.value == 0
    await harness.step(dut.clk)
    dut.flush_valid.value = 0
    offer(dut, None)
    await FallingEdge(dut.clk)
    submitted = structs.unpack("submitted_t", int(dut.submitted.value))
    assert submitted["valid"]
    found = structs.unpack("descriptor_t", submitted["descriptor"])
    assert found["op"] == structs.constant("OP_FLUSH")
    assert found["page"] == 77 and found["sector"] == 0 and not found["early"]


@cocotb.test()
async def flush_of_a_full_drive(dut) -> None:
    """A flush that finds no room at its drive stops no command for another."""
    if int(dut.Drives.value) == 1:
        return
    submit = await start(dut, 4)
    offer(dut, random_command(1))
    await harness.step(dut.clk, 20)
    assert submit.outstanding(1) == 3, "drive 1 is full"
    dut.flush_valid.value, dut.flush_drive.value = 1, 1
    offer(dut, random_command(0))
    await harness.step(dut.clk, 20)
    assert submit.outstanding(0) == 3 and submit.outstanding(1) == 3
    assert dut.flush_ready.value == 0


@cocotb.test()
async def offline(dut) -> None:
    """From its first cycle offline a drive gets no retry and no flush; others go on.

    A user's command that comes in that cycle still goes; behind it fb_nvme_accept sends none.
    """
    if int(dut.Drives.value) == 1:
        return
    submit = await start(dut)
    core = submit.core
    while not any(command["drive"] == 1 for command in core.in_use.values()):
        await submit.cycle(0.5, 0.0)
    submit.offered = None
    await submit.cycle(0.0, 0.0)
    await harness.step(dut.clk)
    tails = list(core.tails)
    lost = next(tag for tag, command in core.in_use.items() if command["drive"] == 1)

    def submitted() -> dict[str, int]:
        return structs.unpack("submitted_t", int(dut.submitted.value))

    # In one cycle: offline, a user's command for it, and one that is to be sent once more.
    busy = {"queue_entries": core.entries, "busy_commands": 4}
    dut.cfg.value = structs.pack("cfg_t", offline=1 << 1, **busy)
    last = random_command(1)
    offer(dut, last)
    dut.finish.value = dut.finish_retry.value = 1
    dut.finish_tag.value, dut.finish_drive.value = lost, 1
    await FallingEdge(dut.clk)
    assert dut.ready.value == 1
    await harness.step(dut.clk)
    harness.clear(dut, "finish*")
    offer(dut, None)
    await FallingEdge(dut.clk)
    found = submitted()
    assert found["valid"] and not found["retry"] and found["slot"] == tails[1]
    command = structs.unpack("descriptor_t", found["descriptor"])
    assert {name: command[name] for name in last} == last
    tails[1] = (tails[1] + 1) % core.entries
    # A flush for it is taken, and goes nowhere; nor does the retry.
    await harness.step(dut.clk, 4)
    dut.flush_valid.value, dut.flush_drive.value = 1, 1
    await FallingEdge(dut.clk)
    assert dut.flush_ready.value == 1
    await harness.step(dut.clk)
    dut.flush_valid.value = 0
    for _ in range(6):
        await FallingEdge(dut.clk)
        assert not submitted()["valid"]
    for drive in range(core.drives):
        assert int(dut.sq_tail.value) >> 11 * drive & 0x7FF == tails[drive], drive
    # The other drives get their commands.
    before = submit.outstanding(0)
    await harness.step(dut.clk)
    offer(dut, random_command(0))
    await harness.until(dut.clk, dut.ready, limit=4)
    await harness.step(dut.clk)
    offer(dut, None)
    await FallingEdge(dut.clk)
    assert submitted()["valid"] and submit.outstanding(0) == before + 1


@cocotb.test()
async def reset_in_work(dut) -> None:
    """After a reset and a sweep every identifier is free again."""
    submit = await start(dut)
    for _ in range(60):
        await submit.cycle(1.0, 0.3)
    harness.clear(dut, "valid", "finish*")
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
