# SPDX-License-Identifier: Apache-2.0
"""fb_pe_mean against exact fractions, through cocotbext-axi."""

from __future__ import annotations

import random
from fractions import Fraction

import cocotb
import numpy as np
import pytest

import elements
import harness
from forebay import spec
from runner import simulate

BEAT = spec.USER_BEAT_BYTES


def single(mean: Fraction) -> float:
    """Round towards zero to an IEEE single."""
    near = np.float32(float(mean))
    return float(np.nextafter(near, np.float32(0)) if Fraction(float(near)) > mean else near)


def judged(data: bytes, threshold: int) -> tuple[int, float]:
    """Give class and score of a packet."""
    mean = Fraction(sum(data), len(data))
    return int(mean >= threshold), single(mean)


def packet() -> bytes:
    """Make a packet: noise, dark, bright, or as dark as can be but for a byte."""
    size = elements.size()
    lone = bytearray(random.choice([size, 20 * size]))
    lone[random.randrange(len(lone))] = 1
    shade = random.randrange(256)
    return random.choice(
        [random.randbytes(size), bytes([shade]) * size, bytes(size), b"\xff" * size, bytes(lone)]
    )


@cocotb.test()
@cocotb.parametrize(threshold=[0, 1, 128, 255], idle=[0.0, 0.4], stall=[0.0, 0.4])
async def any_packets(dut, threshold: int, idle: float, stall: float) -> None:
    """Each packet passes as it is; a whole object has its result, of parts the last says none."""
    bench = elements.Bench(dut)
    await bench.start(threshold | random.getrandbits(56) << 8, idle, stall)
    packets = [(packet(), elements.any_user()) for _ in range(60)]
    tags = [await bench.send(data, user) for data, user in packets]
    for tag, (data, user) in zip(tags, packets, strict=True):
        await bench.expect(data)
        if user == elements.PART:
            continue
        found = await bench.result()
        assert (found.tag, found.judged) == (tag, user == elements.WHOLE)
        if found.judged:
            assert found[2:] == judged(data, threshold)
    await bench.silent()
    assert bench.results.empty()


@cocotb.test()
async def exactly_at_the_threshold(dut) -> None:
    """A mean that is the threshold is enough, one that is a little less is not."""
    bench = elements.Bench(dut)
    await bench.start(100)
    for data, class_ in (([100] * 1000, 1), ([100] * 999 + [99], 0), ([99, 101], 1)):
        await bench.send(bytes(data))
        assert (await bench.result()).class_ == class_


@cocotb.test()
async def full_rate(dut) -> None:
    """A beat in every cycle, in the same one."""
    assert await elements.cycles_of(dut, 100) == (0, 99)


@cocotb.test()
@cocotb.parametrize((("shade", "latency"), [(255, 27), (1, 34), (0, 3)]))
async def result_latency(dut, shade: int, latency: int) -> None:
    """N cycles from the last beat to the result; the end of the next packet waits for it."""
    bench = elements.Bench(dut)
    await bench.start()
    ends: list[int] = []
    given: list[int] = []
    object_ = (dut.m_axis_object_tvalid, dut.m_axis_object_tready)
    result = (dut.m_axis_result_tvalid, dut.m_axis_result_tready)
    cocotb.start_soon(harness.record(dut.clk, *object_, ends))
    cocotb.start_soon(harness.record(dut.clk, *result, given))
    for _ in range(3):
        await bench.send(bytes([shade]) * BEAT)
    for _ in range(3):
        await bench.result()
    assert [after - before for before, after in zip(ends, given, strict=True)] == [latency] * 3
    assert ends[2] - ends[1] == latency + 1


@cocotb.test()
async def reset_in_mid_packet(dut) -> None:
    """What was added up is forgotten, and so is a result that was not taken."""
    bench = elements.Bench(dut)
    await bench.start(128)
    for _ in range(20):
        await bench.send(random.randbytes(BEAT))
        await bench.send(b"\xff" * 20 * BEAT)
        await harness.step(dut.clk, random.randrange(2, 70))
        await harness.reset(dut, 2)
        bench.forget()
        await harness.step(dut.clk, 2)
        data = random.randbytes(elements.size())
        await bench.send(data)
        await bench.expect(data)
        assert (await bench.result())[2:] == judged(data, 128)


@harness.provocation
async def withdraw(dut) -> None:
    """The checker is awake, and that of its port."""
    bench = elements.Bench(dut)
    await bench.start()
    await harness.withdraw(dut.clk, dut.u_check.u_out)


@harness.provocation
async def withdraw_result(dut) -> None:
    """That of its results, too."""
    bench = elements.Bench(dut)
    await bench.start()
    await harness.withdraw(dut.clk, dut.u_check_result.u_result)


def test_mean() -> None:
    """Run all coroutines."""
    simulate(__file__, "fb_pe_mean")


@pytest.mark.parametrize(
    ("testcase", "message"),
    [
        ("withdraw", "m_axis_object: valid fell"),
        ("withdraw_result", "m_axis_result: valid fell"),
    ],
)
def test_checker_fires(testcase: str, message: str) -> None:
    """The checkers stop the simulation."""
    simulate(__file__, "fb_pe_mean", testcase=testcase, expect_failure=message)
