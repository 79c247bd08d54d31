# SPDX-License-Identifier: Apache-2.0
"""fb_nvme_cqe_check: only what is plausible counts, and everything else is counted."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import cocotb
import pytest
from cocotb.triggers import FallingEdge

import harness
import structs
from forebay import spec
from runner import simulate

DNR = 1 << spec.STATUS_DNR_BIT
STATUSES = (
    spec.STATUS_WRITE_FAULT,
    spec.STATUS_UNRECOVERED_READ_ERROR,
    spec.STATUS_NAMESPACE_NOT_READY,
    spec.STATUS_LBA_OUT_OF_RANGE,
    spec.STATUS_INTERNAL_ERROR,
)


@dataclass
class Drive:
    """What a good drive knows: where its next entry goes."""

    entries: int
    place: int = 0
    phase: int = 1
    head: int = 0
    used: dict[int, dict[str, int]] = field(default_factory=dict)

    def advance(self) -> None:
        """One place of the completion queue is used up."""
        self.place += 1
        if self.place == self.entries:
            self.place, self.phase = 0, self.phase ^ 1


def code_of(status: int) -> int:
    """Return the user's code of a status (docs: {1, SCT[1:0], SC[7], SC[3:0]})."""
    if status & 0x7FF == 0:
        return 0
    return spec.ERR_NVME | (status >> 8 & 3) << 5 | (status >> 7 & 1) << 4 | status & 15


class Complete:
    """The device under test with the identifiers of fb_nvme_command_table played beside it."""

    def __init__(self, dut, entries: int, limit: int) -> None:
        self.dut = dut
        self.drive = Drive(entries)
        self.limit = limit
        self.tail = 0
        self.heads: list[int] = []  # of several drives, where a test follows them itself
        self.depth = int(dut.QueueDepth.value)
        self.tags = self.depth * int(dut.Drives.value)
        cocotb.start_soon(self._identifiers())

    async def _identifiers(self) -> None:
        """Answer lookups in the cycle in which they are made."""
        dut = self.dut
        while True:
            await dut.lookup_tag.value_change
            self.answer()

    def answer(self) -> None:
        """Put what is known of the identifier looked up on the inputs."""
        dut = self.dut
        tag = int(dut.lookup_tag.value)
        known = self.drive.used.get(tag)
        dut.lookup.value = 0
        if known:
            descriptor = {name: known[name] for name in ("drive", "op", "page", "sector", "early")}
            dut.lookup.value = structs.pack(
                "lookup_t",
                in_use=1,
                retries=known["retries"],
                descriptor=structs.pack("descriptor_t", **descriptor),
            )

    def submit(self) -> int:
        """Bring one identifier into use, and return it."""
        free = [tag for tag in range(self.depth) if tag not in self.drive.used]
        tag = random.choice(free)
        self.drive.used[tag] = {
            "drive": 0,
            "op": random.choice([structs.constant("OP_WRITE"), structs.constant("OP_READ")]),
            "page": random.randrange(1024),
            "sector": random.getrandbits(40),
            "early": 0,
            "retries": random.randrange(4),
        }
        self.tail = (self.tail + 1) % self.drive.entries
        return tag

    async def post(self, **fields: int) -> dict[str, int]:
        """Write one entry and return the events it causes."""
        dut = self.dut
        await harness.step(dut.clk)
        dut.cqe.value = structs.pack("completion_t", **fields)
        dut.cqe_valid.value = 1
        await FallingEdge(dut.clk)
        assert dut.cqe_ready.value == 1
        await harness.step(dut.clk)
        dut.cqe_valid.value = 0
        await FallingEdge(dut.clk)
        self.answer()
        await harness.step(dut.clk)
        self.answer()
        await FallingEdge(dut.clk)
        seen = structs.unpack("seen_t", int(dut.seen.value))
        names = ("completed", "failed", "rogue_phase", "rogue_cid", "rogue_head")
        events = {name: seen[name] for name in names} | {"finish": int(dut.finish.value)}
        events["retry"] = events["finish"] and int(dut.finish_retry.value)
        if dut.result_valid.value == 1:
            events["note"] = structs.unpack("command_result_t", int(dut.result.value))
            events["page"] = int(dut.result_page.value)
        await harness.step(dut.clk)
        await FallingEdge(dut.clk)
        if not self.heads:
            assert int(dut.cq_head.value) & 0x7FF == self.drive.place
        return events

    def good(self, tag: int, status: int = 0) -> dict[str, int]:
        """Return the entry of a good drive, and use up its place."""
        drive = self.drive
        fields = {
            "slot": drive.place,
            "phase": drive.phase,
            "cid": tag,
            "sq_head": self.tail,
            "status": status,
        }
        drive.advance()
        return fields


async def start(dut, entries: int, limit: int = 3) -> Complete:
    """Reset with everything idle."""
    harness.clear(
        dut,
        "sweep",
        "halted",
        "cqe_valid",
        "cqe",
        "lookup",
        "now",
        "early_ready",
    )
    dut.cfg.value = structs.pack("cfg_t", queue_entries=entries, retry_limit=limit)
    await harness.start(dut)
    return Complete(dut, entries, limit)


@cocotb.test()
@cocotb.parametrize(entries=[2, 5, 64])
async def mixed_entries(dut, entries: int) -> None:
    """Good entries of any status are acted on once; bad ones are counted by their cause."""
    complete = await start(dut, entries)
    drive = complete.drive
    nothing = {"completed": 0, "failed": 0, "finish": 0, "retry": 0}
    quiet = {"rogue_phase": 0, "rogue_cid": 0, "rogue_head": 0}
    for _ in range(300):
        kind = random.choice(["good", "good", "error", "phase", "slot", "cid", "head"])
        tag = complete.submit()
        if kind in ("good", "error", "head"):
            status = random.choice(STATUSES) | random.choice([0, DNR]) if kind == "error" else 0
            known = drive.used[tag]
            fields = complete.good(tag, status)
            # Any place of the queue will do: a late head is nothing to complain of.
            head = [entries, entries + 3, 0xFFFF] if kind == "head" else range(entries)
            found = await complete.post(**fields | {"sq_head": random.choice(head)})
            assert found["rogue_head"] == (kind == "head")
            retry = status != 0 and not status & DNR and known["retries"] < complete.limit
            assert found["finish"] and found["completed"] and found["retry"] == retry
            assert found["failed"] == (status != 0 and not retry)
            assert not found["rogue_phase"] and not found["rogue_cid"]
            if retry:
                assert "note" not in found
            else:
                code = code_of(status)
                note = {"progress": structs.constant("DONE"), "error": code != 0, "code": code}
                assert found["note"] == note and found["page"] == known["page"]
        else:
            place = (drive.place, drive.phase)
            fields = complete.good(tag)
            cause = f"rogue_{'cid' if kind == 'cid' else 'phase'}"
            if kind == "phase":
                fields["phase"] ^= 1
            elif kind == "slot":
                fields["slot"] = (fields["slot"] + 1) % 1024
            else:
                fields["cid"] = random.choice([0x8000 | tag, complete.tags, 0xFFFF])
            if cause == "rogue_phase":
                drive.place, drive.phase = place
            found = await complete.post(**fields)
            assert found | nothing | quiet | {cause: 1} == found, kind
            assert "note" not in found
        drive.used.clear()


@cocotb.test()
async def heads_out_of_order(dut) -> None:
    """A drive of several cores may post an older queue head after a newer one."""
    complete = await start(dut, 16)
    for head in (4, 3, 7, 6, 0):
        found = await complete.post(**complete.good(complete.submit()) | {"sq_head": head})
        assert found["completed"] and found["finish"] and not found["rogue_head"]
        complete.drive.used.clear()


@cocotb.test()
async def several_drives(dut) -> None:
    """Each drive has heads and a phase of its own; one cannot end another's command."""
    count = int(dut.Drives.value)
    complete = await start(dut, 5)
    drives = [Drive(5) for _ in range(count)]
    tails = [0] * count
    for _ in range(100):
        number = random.randrange(count)
        complete.drive, complete.tail = drives[number], tails[number]
        tag = complete.submit()
        complete.drive.used[tag]["drive"] = number
        tails[number] = complete.tail
        complete.heads = [drive.place for drive in drives]
        other = random.randrange(count)
        fields = complete.good(tag) | {"drive": number}
        if other != number:
            wrong = {"drive": other, "slot": drives[other].place, "phase": drives[other].phase}
            wrong["sq_head"] = tails[other]
            drives[other].advance()
            found = await complete.post(**fields | wrong)
            assert found["rogue_cid"] and not found["finish"]
        assert (await complete.post(**fields))["completed"]
        complete.drive.used.clear()
        heads = int(dut.cq_head.value)
        assert [heads >> 11 * n & 0x7FF for n in range(count)] == [d.place for d in drives]


@cocotb.test()
async def offline(dut) -> None:
    """Nothing is heard of a drive that is offline."""
    if int(dut.Drives.value) == 1:
        return
    complete = await start(dut, 5)
    dut.cfg.value = structs.pack("cfg_t", queue_entries=5, offline=0b10)
    tag = complete.submit()
    complete.drive.used[tag]["drive"] = 1
    fields = complete.good(tag) | {"drive": 1}
    complete.drive.place = 0
    found = await complete.post(**fields)
    assert not any(found.values())


@cocotb.test()
async def too_late(dut) -> None:
    """What arrives at a halted queue changes nothing."""
    complete = await start(dut, 16)
    tag = complete.submit()
    dut.halted.value = 1
    fields = complete.good(tag)
    complete.drive.place = 0
    found = await complete.post(**fields)
    assert not found["finish"] and "note" not in found


@cocotb.test()
async def early_reads(dut) -> None:
    """An unordered read is marked for delivery out of turn where there is room to say so."""
    complete = await start(dut, 16)
    for room in (0, 1):
        dut.early_ready.value = room
        tag = complete.submit()
        complete.drive.used[tag] |= {"early": 1, "op": structs.constant("OP_READ")}
        found = await complete.post(**complete.good(tag))
        progress = structs.constant("DONE_EARLY" if room else "DONE")
        assert found["note"] == {"progress": progress, "error": 0, "code": 0}


@cocotb.test()
async def reset_between(dut) -> None:
    """A reset begins at the first place with phase 1."""
    complete = await start(dut, 5)
    for _ in range(7):
        tag = complete.submit()
        await complete.post(**complete.good(tag))
        complete.drive.used.clear()
    await harness.reset(dut, 2)
    complete.drive = Drive(5)
    complete.tail = 0
    tag = complete.submit()
    assert (await complete.post(**complete.good(tag)))["completed"]


@pytest.mark.parametrize(("depth", "drives"), [(64, 1), (64, 3)])
def test_complete(depth: int, drives: int) -> None:
    """Run all coroutines at this depth, for this number of drives."""
    parameters = {"QueueDepth": depth, "Drives": drives}
    simulate(__file__, "fb_nvme_cqe_check", parameters, filelist="rtl/top/onchip.f")
