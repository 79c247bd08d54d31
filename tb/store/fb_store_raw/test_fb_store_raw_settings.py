# SPDX-License-Identifier: Apache-2.0
"""fb_store_raw: settings that are refused, and those in use."""

from __future__ import annotations

import cocotb
import pytest

import harness
from forebay import raw_regs as regs
from rawside import BEAT, MEDIA, UNIT, Bench, run

pytestmark = pytest.mark.long

# Settings that are refused: chunk, start, max, size of the drive, and the fields that say so.
REFUSED = (
    (0, 0, UNIT, MEDIA, {"chunk"}),
    (UNIT // 2, 0, UNIT, MEDIA, {"chunk"}),
    (3 * UNIT, 0, 3 * UNIT, MEDIA, {"chunk"}),
    (128 * UNIT, 0, 128 * UNIT, 1 << 40, {"chunk"}),
    (UNIT + 1, 0, UNIT, MEDIA, {"chunk"}),
    ((1 << 31) + UNIT, 0, UNIT, MEDIA, {"chunk"}),
    (UNIT, 512, 2 * UNIT, MEDIA, {"start"}),
    (2 * UNIT, UNIT, 4 * UNIT, MEDIA, {"start"}),
    (UNIT, 0, UNIT + 64, MEDIA, {"max"}),
    (4 * UNIT, 0, 6 * UNIT, MEDIA, {"max"}),
    (UNIT, UNIT, UNIT, MEDIA, {"empty"}),
    (UNIT, 2 * UNIT, UNIT, MEDIA, {"empty"}),
    (UNIT, 1 << 63, UNIT, MEDIA, {"empty"}),
    (UNIT, 0, MEDIA // UNIT * UNIT + UNIT, MEDIA, {"beyond"}),
    (UNIT, 0, 1 << 63, MEDIA, {"beyond"}),
    (UNIT, 0, UNIT, UNIT - 512, {"beyond"}),
    (UNIT, 0, UNIT, 0, {"beyond"}),
    (UNIT, 5, 3, 1, {"start", "max", "empty", "beyond"}),
)


@cocotb.test()
@cocotb.parametrize(side=["write", "read"])
async def bad_settings(dut, side: str) -> None:
    """Each bad setting is refused, says why, and does nothing; the next start is as any other."""
    bench = Bench(dut)
    await bench.start()
    bench.send(64)
    bits = regs.FIELDS["refused"]
    for chunk, start, most, media, why in REFUSED:
        media_expected = {f"{side}_{name}" for name in why}
        dut.media_bytes.value = media
        await bench.write("chunk_bytes", chunk)
        await bench.write(f"{side}_start", start)
        await bench.write(f"{side}_max", most)
        await bench.control(**{side: 1})
        await harness.step(dut.clk, 30)
        found = {name for name, value in (await bench.fields("refused")).items() if value}
        ours = media_expected
        if "chunk" in why:
            # What is no multiple of a bad size may be named beside it.
            found &= {f"{side}_chunk"}
        assert found == ours, (chunk, start, most, media)
        status = await bench.fields("status")
        assert not status["writing"] and not status["reading"]
        assert await bench.read("media_bytes") == media
        await bench.control()
    dut.block_shift.value = 15
    dut.media_bytes.value = MEDIA
    await bench.write("chunk_bytes", UNIT)
    await bench.write(f"{side}_start", 0)
    await bench.write(f"{side}_max", UNIT)
    await bench.control(**{side: 1})
    await harness.step(dut.clk, 30)
    assert (await bench.read("refused")) == 1 << bits[f"{side}_chunk"][1]
    assert (await bench.read("block")) == 15
    dut.block_shift.value = 14
    # It is not tried again before it was 0.
    await harness.step(dut.clk, 100)
    assert not await bench.read("status")
    assert not bench.drive.writes and not bench.reader.commands and bench.drive.sink.empty()
    assert await bench.read("offered") == 0
    bench.send(UNIT // BEAT - 64)
    await bench.control()
    await bench.control(**{side: 1})
    name = "write_end" if side == "write" else "read_end"
    await bench.status(name, 1)
    await bench.status("writing" if side == "write" else "reading", 0)
    assert (await bench.read("refused")) == 0
    assert len(bench.drive.writes if side == "write" else bench.reader.commands) == 1


@cocotb.test()
async def settings_are_locked(dut) -> None:
    """Settings that are in use keep their values; the others of the same register do not."""
    bench = Bench(dut)
    await bench.start()
    await bench.set(1, 8)
    await bench.begin(write_ring=1)
    for name in ("write_start", "write_max", "chunk_bytes"):
        before = await bench.read(name)
        await bench.write(name, 7 * UNIT)
        assert await bench.read(name) == before
    await bench.write("read_start", 3)
    assert await bench.read("read_start") == 3
    await bench.control(write=1, flush_tail=1, lossy=1)
    control = await bench.fields("control")
    assert control == {"write": 1, "read": 0, "flush_tail": 1, "write_ring": 1, "lossy": 0}
    await bench.control()
    await bench.status("writing", 0)
    await bench.write("write_start", 7 * UNIT)
    assert await bench.read("write_start") == 7 * UNIT


def test_raw() -> None:
    """Run the coroutines above."""
    run(__file__)
