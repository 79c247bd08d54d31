# SPDX-License-Identifier: Apache-2.0
"""fb_raid_drives: settings of each drive, and what became of its commands."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.triggers import FallingEdge

import harness
import structs
from runner import simulate

SQ, CQ, NSID, STATE, COMMANDS, SECTORS, FAILED, LONGEST = range(8)
WORDS = (COMMANDS, SECTORS, FAILED, LONGEST)
LAYOUT, REGION = 64, 65  # words of the layout
ALL = (1 << 64) - 1


class Array:
    """The device under test, asked as the register block asks."""

    def __init__(self, dut) -> None:
        self.dut = dut

    async def ask(self, word: int, write: int | None = None, mask: int = ALL) -> int:
        """Read or write a word."""
        dut = self.dut
        await harness.step(dut.clk)
        dut.array_req.value, dut.array_addr.value = 1, word
        dut.array_write.value = write is not None
        dut.array_wdata.value, dut.array_wmask.value = write or 0, mask
        await harness.step(dut.clk)
        dut.array_req.value = 0
        ack, other = dut.array_wr_ack, dut.array_rd_ack
        if write is None:
            ack, other = other, ack
        # Three cycles, and one more where a command is counted.
        await harness.until(dut.clk, ack, limit=4)
        assert other.value == 0
        data = int(dut.array_data.value)
        for _ in range(3):
            await FallingEdge(dut.clk)
            assert ack.value == other.value == 0, "a second answer"
        return data

    async def over(self, drive: int, failed: int, latency: int, sectors: int) -> None:
        """Tell of a command that is over, and of nothing that counts afterwards."""
        dut = self.dut
        for valid in (1, 0):
            await harness.step(dut.clk)
            dut.over.value = valid
            dut.over_drive.value, dut.over_failed.value = drive, failed
            dut.over_latency.value, dut.over_sectors.value = latency, sectors
            drive, failed = random.getrandbits(3), random.getrandbits(1)
            latency, sectors = random.getrandbits(32), random.getrandbits(12)


async def start(dut) -> Array:
    """Reset and sweep."""
    harness.clear(dut, "sweep*", "ring_drive", "nsid_drive", "outstanding", "lost", "over*")
    harness.clear(dut, "array_req", "array_write", "array_addr", "array_w[dm]*")
    await harness.start(dut)
    await sweep(dut)
    return Array(dut)


async def sweep(dut) -> None:
    """Clear all counters."""
    for row in range(8):
        dut.sweep.value, dut.sweep_row.value = 1, row
        await harness.step(dut.clk)
    dut.sweep.value = 0


@cocotb.test()
async def settings(dut) -> None:
    """Each drive has its own, byte by byte, and every module that needs them finds them."""
    array = await start(dut)
    expected = {}
    for drive in range(8):
        for word in (SQ, CQ, NSID):
            first, second = random.getrandbits(64), random.getrandbits(64)
            mask = sum(0xFF << 8 * n for n in range(8) if random.getrandbits(1))
            await array.ask(8 * drive + word, first)
            await array.ask(8 * drive + word, second, mask)
            expected[drive, word] = first & ~mask | second & mask
    for (drive, word), value in expected.items():
        shown = value & 0xFFFF_FFFF if word == NSID else value
        assert await array.ask(8 * drive + word) == shown
        dut.ring_drive.value = dut.nsid_drive.value = drive
        await FallingEdge(dut.clk)
        port = {SQ: dut.sq_doorbell, CQ: dut.cq_doorbell, NSID: dut.nsid}[word]
        assert int(port.value) == shown
    # Parity sticks only where it was built, and that is shown.
    most = int(dut.ParityPages.value)
    await array.ask(LAYOUT, 0x1_0F05)
    assert (int(dut.drives_m1.value), int(dut.strip_m1.value)) == (5, 15)
    assert int(dut.parity.value) == (most > 0)
    assert await array.ask(LAYOUT) == 0x0F05 | (most > 0) << 16 | most << 24
    # A region goes in by parts, and leaves the layout alone.
    assert int(dut.region_sectors.value) == 0
    await array.ask(REGION, 0xFFFF_8765_4321_1234, 0xFFFF_FFFF)
    await array.ask(REGION, 0xFFFF_8765_0000_0000, ALL ^ 0xFFFF_FFFF)
    assert int(dut.region_sectors.value) == await array.ask(REGION) == 0x8765_4321_1234
    assert await array.ask(LAYOUT) == 0x0F05 | (most > 0) << 16 | most << 24


@cocotb.test()
async def statistics(dut) -> None:
    """Commands are counted at their drive, also while registers are read."""
    array = await start(dut)
    drives = int(dut.Drives.value)
    found = [[0, 0, 0, 0] for _ in range(drives)]
    for _ in range(200):
        drive, failed = random.randrange(drives), int(random.random() < 0.3)
        latency, sectors = random.getrandbits(32), random.randrange(2049)
        counts = found[drive]
        counts[0] += 1
        counts[1] += 0 if failed else sectors
        counts[2] += failed
        counts[3] = max(counts[3], latency)
        if random.random() < 0.5:
            await array.over(drive, failed, latency, sectors)
            continue
        # In a cycle near by another drive's counts are asked for, or a setting is written.
        other, word = (drive + 1) % drives, random.randrange(4)
        writes = random.random() < 0.3
        setting = random.getrandbits(64)
        asked = array.ask(8 * other + SQ, setting) if writes else array.ask(8 * other + WORDS[word])
        asking = cocotb.start_soon(asked)
        await harness.step(dut.clk, random.randrange(4))
        await array.over(drive, failed, latency, sectors)
        answer = await asking
        if writes:
            assert await array.ask(8 * other + SQ) == setting
        else:
            assert answer == found[other][word]
    for drive, counts in enumerate(found):
        for word, value in zip(WORDS, counts, strict=True):
            assert await array.ask(8 * drive + word) == value


@cocotb.test()
async def a_sweep_clears(dut) -> None:
    """Counters are zero behind a sweep, also those of a command that ends as it begins."""
    array = await start(dut)
    drives = int(dut.Drives.value)
    for lead in range(4):
        for drive in range(drives):
            await array.over(drive, 0, 9, 9)
        last = cocotb.start_soon(array.over(0, 1, 99, 0))
        await harness.step(dut.clk, lead)
        await sweep(dut)
        await last
        for word in (8 * drive + word for drive in range(drives) for word in WORDS):
            assert await array.ask(word) == 0, (lead, word)


@cocotb.test()
async def a_reset_forgets_a_request(dut) -> None:
    """A request that a reset meets is not answered, and the next one is."""
    array = await start(dut)
    for lead in range(5):
        asking = cocotb.start_soon(array.ask(COMMANDS))
        ending = cocotb.start_soon(array.over(0, 0, 1, 1))
        await harness.step(dut.clk, lead)
        asking.cancel()
        ending.cancel()
        await harness.reset(dut, 1)
        dut.array_req.value = dut.over.value = 0
        for _ in range(6):
            await FallingEdge(dut.clk)
            assert dut.array_rd_ack.value == dut.array_wr_ack.value == 0, lead
        await sweep(dut)
        assert await array.ask(COMMANDS) == 0


@cocotb.test()
async def state(dut) -> None:
    """What is outstanding and lost is shown; offline reaches retirement some cycles later."""
    array = await start(dut)
    dut.outstanding.value, dut.lost.value = 77 << 11, 0b10
    assert await array.ask(8 + STATE) == 77 | 1 << 13
    await array.ask(8 + STATE, 1 << 12)
    assert await array.ask(8 + STATE) == 77 | 1 << 12 | 1 << 13
    assert int(dut.offline.value) == 0b10
    await harness.step(dut.clk, 8)
    assert int(dut.offline_late.value) == 0b10
    await harness.reset(dut)
    await FallingEdge(dut.clk)
    assert int(dut.offline.value) == int(dut.offline_late.value) == 0
    assert structs.constant("DRIVES_MOST") == len(dut.offline)


@cocotb.test()
async def degraded(dut) -> None:
    """With parity, and only with it, one drive and no more may be offline."""
    array = await start(dut)
    drives, most = int(dut.Drives.value), int(dut.ParityPages.value)
    for parity in (0, 1):
        await harness.reset(dut)
        await array.ask(LAYOUT, parity << 16 | drives - 1)
        assert int(dut.degraded.value) == 0
        await array.ask(8 * (drives - 1) + STATE, 1 << 12)
        assert int(dut.degraded.value) == (parity and most > 0)
        await array.ask(STATE, 1 << 12)
        assert int(dut.degraded.value) == 0


@harness.provocation
async def at_once(dut) -> None:
    """Commands that are over in two cycles one behind the other must be noticed."""
    await start(dut)
    dut.over.value = 1
    await harness.step(dut.clk, 4)


@pytest.mark.parametrize(("drives", "pages"), [(2, 0), (8, 16)])
def test_array(drives: int, pages: int) -> None:
    """Run all coroutines for N drives, without parity and with it."""
    parameters = {"Drives": drives, "ParityPages": pages}
    simulate(__file__, "fb_raid_drives", parameters, filelist="rtl/top/onchip.f")


def test_assertion_fires() -> None:
    """Each assertion fires."""
    simulate(
        __file__,
        "fb_raid_drives",
        {"Drives": 2, "ParityPages": 0},
        filelist="rtl/top/onchip.f",
        fires={"at_once": "a_counted_one_by_one"},
    )
