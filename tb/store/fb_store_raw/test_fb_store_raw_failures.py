# SPDX-License-Identifier: Apache-2.0
"""fb_store_raw: writes and reads that fail."""

from __future__ import annotations

import random

import cocotb
import pytest

from rawside import BEAT, NONE, UNIT, Bench, run

pytestmark = pytest.mark.long


@cocotb.test()
@cocotb.parametrize(lossy=[0, 1])
async def writes_that_fail(dut, lossy: int) -> None:
    """A write that fails stops writing; no byte of it counts as stored, and all are counted."""
    bench = Bench(dut)
    bench.stall(0.1, 0.1)
    await bench.start()
    for attempt in range(7):
        bench.drive.pause = random.choice([0, 200, 600])
        await bench.keep()
        await bench.set(2, 10)
        number = attempt % 5
        code = random.randrange(1, 256)
        bench.drive.codes = {number: code}
        if attempt > 4:
            bench.drive.codes[number + 1] = random.randrange(1, 256)
        await bench.begin(lossy=lossy)
        bench.send(10 * UNIT // BEAT)
        await bench.status("writing", 0)
        found = await bench.check()
        status = await bench.fields("status")
        assert status["write_code"] == code and status["write_end"] == 0
        assert await bench.read("write_failed") == (2 + number) * UNIT
        assert found["unstored"] > 0 and found["stored"] >= number * UNIT
        await bench.control()
        await bench.drain()
    bench.drive.codes.clear()
    await bench.keep()
    await bench.begin()
    assert (await bench.fields("status"))["write_code"] == 0
    bench.send(UNIT // BEAT)
    await bench.source.wait()
    await bench.control()
    await bench.status("writing", 0)
    assert (await bench.check())["unstored"] == 0


@cocotb.test()
async def reads_that_fail(dut) -> None:
    """A read that fails ends with TUSER and the code; chunks behind it do not come."""
    bench = Bench(dut)
    bench.stall(0.1, 0.1)
    await bench.start()
    await bench.set(0, 1)
    failed = 0
    for _ in range(10):
        bench.reader.fail = 0.3
        packets = await bench.fetch(1, 8)
        sent = [code for _, code in bench.reader.sent]
        first = next((n for n, code in enumerate(sent) if code), None)
        status = await bench.fields("status")
        whole = len(packets) if first is None else first
        for n in range(whole):
            at = (1 + n) * UNIT
            assert bytes(packets[n].tdata) == bench.drive.medium[at : at + UNIT]
            users = packets[n].tuser
            assert not (any(users) if isinstance(users, list) else users)
        assert status["read_end"] == (len(sent) == 8)
        assert await bench.read("read_last") == (whole * UNIT if whole else NONE)
        if first is None:
            assert len(packets) == 8 and status["read_code"] == 0
            continue
        failed += 1
        assert len(packets) == first + 1
        data, code = bench.reader.sent[first]
        assert bytes(packets[first].tdata[:-BEAT]) == data and packets[first].tdata[-BEAT] == code
        assert status["read_code"] == code
        assert await bench.read("read_failed") == (1 + first) * UNIT
    assert failed > 2


def test_raw() -> None:
    """Run the coroutines above."""
    run(__file__)
