# SPDX-License-Identifier: Apache-2.0
"""fb_pe_mean against exact fractions, through cocotbext-axi."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from fractions import Fraction

import cocotb
import numpy as np

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


def packets_of(stream: int) -> Iterator[tuple[bytes, int, elements.Extent]]:
    """Yield objects of a stream in packets, some without their end; with TUSER and extent."""
    extent = elements.Extent(stream, random.getrandbits(8), random.getrandbits(64), 0, 0, 0)
    for number in itertools.count(1):
        count, offset = random.choice([1, 1, 2, 3, 6]), 0
        ends = random.random() < 0.9
        for packet_number in range(1, count + 1):
            data = packet()
            user = elements.PART if count > 1 else elements.WHOLE
            if packet_number == count and ends:
                user |= spec.PACKET_ENDS_OBJECT
            yield data, user, extent._replace(offset=offset, time=random.getrandbits(64))
            offset += len(data)
        renewed = {"object": (extent.object + number) % 2**64, "epoch": random.getrandbits(32)}
        extent = extent._replace(**renewed)


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
@cocotb.parametrize(idle=[0.0, 0.4], stall=[0.0, 0.4])
async def objects_in_packets(dut, idle: float, stall: float) -> None:
    """Packets of objects of several streams come in turn, and each object has its own result.

    Three of the streams share a place, in which the last one to begin or go on has its sum.
    """
    bench = elements.Bench(dut)
    await bench.start(100, idle, stall)
    low = random.randrange(16)
    streams = [low, low | 0x10, low | 0x8000, *random.sample(range(65536), 4)]
    senders = [packets_of(stream) for stream in streams]
    owners: dict[int, elements.Extent] = {}  # by place
    whole: dict[int, bool] = {}  # of each stream: its object's sum is there from the beginning on
    so_far: dict[int, bytes] = {}
    lost = 0
    for _ in range(300):
        data, user, extent = next(random.choice(senders))
        stream, place = extent.stream, extent.stream % 16
        begins = extent.offset == 0
        whole[stream] = begins or (whole[stream] and owners[place].stream == stream)
        owners[place] = extent
        so_far[stream] = b"" if begins else so_far[stream]
        so_far[stream] += data
        tag = await bench.send(data, user, extent)
        await bench.expect(data)
        if user & spec.PACKET_ENDS_OBJECT:
            found = await bench.result()
            assert (found.tag, found.judged) == (tag, whole[stream])
            lost += not found.judged
            assert int(dut.status.value) == lost
            if found.judged:
                assert found[2:] == judged(so_far[stream], 100)
    await bench.silent()


@cocotb.test()
async def another_object_of_the_stream(dut) -> None:
    """The rest of an object says nothing of another one, nor of one of another epoch."""
    bench = elements.Bench(dut)
    await bench.start()
    first = elements.Extent(stream=5, epoch=1, object=7, offset=0, size=0, time=0)
    for other in ({"object": 8}, {"epoch": 2}, {"stream": 21}):
        await bench.send(bytes(100), elements.PART, first)
        rest = first._replace(offset=100, **other)
        await bench.send(bytes(100), elements.LAST_PART, rest)
        assert not (await bench.result()).judged


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


def test_checker_fires() -> None:
    """The checkers fire."""
    simulate(
        __file__,
        "fb_pe_mean",
        fires={
            "withdraw": "m_axis_object: valid fell",
            "withdraw_result": "m_axis_result: valid fell",
        },
    )
