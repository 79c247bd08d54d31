# SPDX-License-Identifier: Apache-2.0
"""fb_nvme_sqe: an entry says what was submitted, at the place where it was."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

import harness
import structs
from forebay import spec
from runner import simulate

PAGE = 4096
NSID = 0xABCD
WINDOW, READ, WRITE, LISTS = (0x1234_5680_0000_0000 + (n << 36) for n in range(4))
# Of each op: its opcode.
OPCODES = {
    "OP_FLUSH": spec.OPCODE_FLUSH,
    "OP_WRITE": spec.OPCODE_WRITE,
    "OP_READ": spec.OPCODE_READ,
}


class Entries:
    """The device under test, and what was submitted last at each place."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.pages, self.unit = int(dut.Pages.value), int(dut.UnitBits.value)
        self.on_chip = bool(dut.ListsInside.value)
        self.per_command = bool(dut.ListPerCommand.value)
        self.block_4k = 0
        self.places: dict[tuple[int, int], int] = {}  # drive, place -> identifier
        self.commands: dict[int, dict[str, int]] = {}

    def settings(self, block_4k: int) -> None:
        """Set the size of a logical block, and where windows lie."""
        self.block_4k = block_4k
        self.dut.nsid.value = NSID
        self.dut.cfg.value = structs.pack(
            "cfg_t",
            block_4k=block_4k,
            data_window=WINDOW,
            data_read=READ,
            data_write=WRITE,
            prp_lists=LISTS,
        )

    async def submit(self, tag: int, drive: int, slot: int) -> None:
        """Submit a command at a place; one that is known of this drive is a retry."""
        dut = self.dut
        retry = tag in self.commands and self.commands[tag]["drive"] == drive
        command = {
            "drive": drive,
            "op": structs.constant(random.choice(list(OPCODES))),
            "fua": 0,
            "early": random.getrandbits(1),
            "page": random.randrange(self.pages),
            # At most 256 pages, and often one or two.
            "size": random.choice([0, 7, 8, 15, 16, 255, random.getrandbits(11)]),
            "sector": random.getrandbits(40) & ~7,
        }
        if self.block_4k:
            command["size"] |= 7
        if command["op"] == structs.constant("OP_WRITE"):
            command["fua"] = random.getrandbits(1)
        descriptor = structs.pack("descriptor_t", **command)
        dut.submitted.value = structs.pack(
            "submitted_t", valid=1, retry=retry, tag=tag, slot=slot, descriptor=descriptor
        )
        await harness.step(dut.clk)
        dut.submitted.value = 0
        self.places[drive, slot] = tag
        if not retry:
            self.commands[tag] = command

    async def fetch(self, drive: int, slot: int) -> int:
        """Read the entry at a place, two cycles after asking."""
        dut = self.dut
        dut.fetch_slot.value, dut.fetch_drive.value = slot, drive
        await harness.step(dut.clk)
        dut.fetch_slot.value = random.getrandbits(10)
        await harness.step(dut.clk)
        await FallingEdge(dut.clk)
        return int(dut.fetch_sqe.value)

    def prps(self, tag: int, command: dict[str, int]) -> tuple[int, int]:
        """Return PRP 1 and PRP 2 (docs/reference/memories.md says where pages and lists lie)."""
        pages = command["size"] * 512 // PAGE + 1
        page = command["page"]
        if self.on_chip:
            first = WINDOW + page * PAGE
            # The page after the last is page 0.
            after = WINDOW + (page + 1) % self.pages * PAGE
            listed = after + max(4 << 20, self.pages * PAGE)
            return first, 0 if pages == 1 else after if pages == 2 else listed
        # A unit has a place for a write and one for a read, and so a list of each.
        reads = command["op"] == structs.constant("OP_READ")
        first = (READ if reads else WRITE) + (page * PAGE << self.unit)
        listed = LISTS + PAGE * (tag if self.per_command else page + reads * self.pages)
        return first, 0 if pages == 1 else first + PAGE if pages == 2 else listed

    def entry(self, tag: int, command: dict[str, int]) -> int:
        """Return the entry of a command (NVM Command Set 1.0c, 3.2.4 and 3.2.6)."""
        op = next(name for name in OPCODES if structs.constant(name) == command["op"])
        bits = OPCODES[op] | tag << 16 | NSID << spec.SQE_NSID_LSB
        if op == "OP_FLUSH":
            return bits
        prp1, prp2 = self.prps(tag, command)
        shift = 3 if self.block_4k else 0
        bits |= prp1 << spec.SQE_PRP1_LSB | prp2 << spec.SQE_PRP2_LSB
        bits |= command["sector"] >> shift << spec.SQE_SLBA_LSB
        bits |= command["size"] >> shift << spec.SQE_NLB_LSB
        return bits | command["fua"] << spec.SQE_FUA_BIT


@cocotb.test()
@cocotb.parametrize(block_4k=[0, 1])
async def random_entries(dut, block_4k: int) -> None:
    """The entry at any place is that of the command submitted there last, also of a retry."""
    harness.clear(dut, "segment_*", "submitted", "fetch_drive", "fetch_slot")
    entries = Entries(dut)
    entries.settings(block_4k)
    cocotb.start_soon(Clock(dut.clk, harness.PERIOD_NS, unit="ns").start())
    depth, drives = int(dut.QueueDepth.value), int(dut.Drives.value)
    await harness.step(dut.clk)
    for _ in range(300):
        drive, slot = random.randrange(drives), random.randrange(depth)
        await entries.submit(random.randrange(depth * drives), drive, slot)
        await harness.step(dut.clk)
        (drive, slot), tag = random.choice(list(entries.places.items()))
        command = entries.commands[tag]
        # An identifier that was given to another drive left its place.
        if command["drive"] == drive:
            assert await entries.fetch(drive, slot) == entries.entry(tag, command)
            assert dut.fetched_tag.value == tag
            assert int(dut.fetched_unit.value) % entries.pages == command["page"]
            assert dut.nsid_drive.value == drive


@pytest.mark.parametrize(
    ("depth", "drives", "pages", "lists"),
    [
        (4, 1, 64, "inside"),
        (64, 1, 1024, "inside"),
        (8, 3, 4096, "inside"),
        (8, 2, 1024, "unit"),
        (8, 2, 1024, "command"),
    ],
)
def test_sqe(depth: int, drives: int, pages: int, lists: str) -> None:
    """Run all coroutines at this depth, for this number of drives and kind of PRP lists."""
    parameters = {
        "QueueDepth": depth,
        "Drives": drives,
        "Pages": pages,
        "UnitBits": 0 if lists == "inside" else 2,
        "ListsInside": int(lists == "inside"),
        "ListPerCommand": int(lists == "command"),
    }
    simulate(__file__, "fb_nvme_sqe", parameters, filelist="rtl/top/onchip.f")
