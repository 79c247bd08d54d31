# SPDX-License-Identifier: Apache-2.0
"""fb_nvme_read_stream: what retirement hands over leaves as the beats it describes."""

from __future__ import annotations

import random
from collections import deque

import cocotb
import pytest
from cocotb.triggers import FallingEdge, Timer
from cocotbext.axi import AxiStreamSink

import harness
import structs
from forebay import spec
from runner import simulate

PAGE = 4096
PAGES = 1024


class Delivery:
    """The device under test with a memory that is sometimes busy, and a sink."""

    latency = 3

    def __init__(self, dut) -> None:
        self.dut = dut
        self.memory = random.randbytes(64 * PAGE)
        self.busy = 0.0
        self.late = False
        self.lossy = False  # some beats come with an error
        self.answers = 0  # beats that the memory has answered
        self.held: deque[int] = deque()  # of each unit not free: the answers to wait for
        self.requested = 0  # beats of all that was handed over
        self.asked: set[int] = set()  # beats that the memory was asked for
        self.sink = harness.axi_stream(AxiStreamSink, dut, "m_axis_rd")
        cocotb.start_soon(self._memory())
        cocotb.start_soon(self._free())

    def word(self, address: int) -> bytes:
        """Return 64 bytes; the buffer repeats itself every 64 pages."""
        first = address * 64 % len(self.memory)
        return self.memory[first : first + 64]

    def lost(self, address: int) -> bool:
        """Say whether the memory has lost these 64 bytes."""
        return self.lossy and address % 61 == 7

    async def _memory(self) -> None:
        """Answer in order, at once or late, with noise in between; pages are announced."""
        dut = self.dut
        coming: deque[tuple[int, int]] = deque()
        now, left = 0, 0
        while True:
            await FallingEdge(dut.clk)
            now += 1
            dut.read_ready.value = random.random() >= self.busy
            await Timer(1, "ns")
            if dut.read_valid.value == 1 and dut.read_ready.value == 1:
                first = dut.read_first.value == 1
                if first:
                    assert left == 0
                    left = int(dut.read_count.value)
                assert 1 <= left <= 64
                left -= 1
                late = random.choice([0, 40, 400]) if self.late else 0
                self.asked.add(int(dut.read_addr.value))
                coming.append((now + self.latency - 1 + late, int(dut.read_addr.value)))
            if dut.restart.value == 1:
                left = self.answers = self.requested = 0
                coming.clear()
                self.held.clear()
            await harness.step(dut.clk)
            due = bool(coming) and coming[0][0] <= now
            dut.data_valid.value = due
            self.answers += due
            dut.data_error.value = self.lost(coming[0][1]) if due else random.getrandbits(1)
            data = self.word(coming.popleft()[1]) if due else random.randbytes(64)
            dut.data.value = int.from_bytes(data, "little")

    async def _free(self) -> None:
        dut = self.dut
        while True:
            await FallingEdge(dut.clk)
            # After the writer's choice of this cycle, made at the falling edge.
            await Timer(1, "ns")
            if dut.free_step.value == 1 and dut.restart.value == 0:
                assert self.held, "a unit is freed that is not held"
                assert self.answers >= self.held.popleft(), "a unit is freed before its data"

    async def hand_over(self, **fields: int) -> None:
        """Offer one delivery and wait until it is taken."""
        dut = self.dut
        units = fields["size"] // (PAGE << int(dut.UnitBits.value)) + 1
        skims = fields.get("skip") or fields.get("fail")  # a beat of each unit
        beats = 0 if fields.get("sent") else units if skims else fields["size"] // 64 + 1
        step = 1 if skims else 64 << int(dut.UnitBits.value)
        for n in range(0 if fields.get("keep") else units):
            self.held.append(self.requested + min((n + 1) * step, beats))
        self.requested += beats
        dut.delivery.value = structs.pack("delivery_t", **fields)
        dut.delivery_valid.value = 1
        while True:
            await FallingEdge(dut.clk)
            taken = dut.delivery_ready.value == 1
            await harness.step(dut.clk)
            if taken:
                break
        dut.delivery_valid.value = 0

    def data(self, page: int, length: int) -> bytes:
        """Return what a delivery of N bytes must send."""
        first = page * 64 << int(self.dut.UnitBits.value)
        beats = range(first, first + -(-length // 64))
        return b"".join(self.word(beat) for beat in beats)[:length]


async def start(dut) -> Delivery:
    """Reset with everything idle."""
    harness.clear(dut, "delivery_valid", "delivery", "data_*", "data", "read_ready", "restart")
    delivery = Delivery(dut)
    dut.restart.value = 1
    await harness.start(dut)
    await harness.step(dut.clk)
    dut.restart.value = 0
    return delivery


async def receive(delivery: Delivery) -> tuple[bytes, int | None, int]:
    """Return the next packet's bytes, its error code or None, and its tag."""
    frame = await delivery.sink.recv(compact=False)
    data = bytes(byte for byte, keep in zip(frame.tdata, frame.tkeep, strict=True) if keep)
    user = frame.tuser if isinstance(frame.tuser, list) else [frame.tuser]
    tag = frame.tid[-1] if isinstance(frame.tid, list) else frame.tid
    assert frame.tkeep == [1] * len(data) + [0] * (len(frame.tkeep) - len(data))
    return data, frame.tdata[-64] if user[-1] else None, int(tag)


@cocotb.test()
@cocotb.parametrize((("back", "busy"), [(0.0, 0.0), (0.5, 0.0), (0.0, 0.8), (0.4, 0.5)]))
async def random_deliveries(dut, back: float, busy: float) -> None:
    """Deliveries of every kind leave as described, and their units wait for answers."""
    delivery = await start(dut)
    delivery.late = busy > 0.5
    delivery.busy = busy
    harness.stall(delivery.sink, back)
    expected, packet = [], b""
    for _ in range(harness.repeat(60, 20)):
        page, tag = random.randrange(PAGES - 8), random.getrandbits(8)  # page: index of a unit
        length = random.choice([1, 63, 64, 65, PAGE, PAGE + 1, random.randrange(1, 5 * PAGE)])
        kind = random.choice(["data", "data", "data", "fail", "skip", "keep", "sent"])
        last = int(random.random() < 0.7)
        if not last:
            length = -(-length // PAGE) * PAGE
        fields = {"page": page, "size": length - 1, "tag": tag, "last": last}
        if kind == "keep":
            fields["keep"] = 1
        if kind == "skip":
            await delivery.hand_over(**fields, skip=1)
            continue
        if kind == "sent":
            await delivery.hand_over(page=page, size=length % PAGE, tag=tag, last=1, sent=1)
            continue
        if kind == "fail":
            expected.append((packet, 0xA5, tag))
            packet = b""
            await delivery.hand_over(**fields, fail=1, code=0xA5)
            continue
        await delivery.hand_over(**fields)
        packet += delivery.data(page, length)
        if last:
            expected.append((packet, None, tag))
            packet = b""
    for want in expected:
        assert await receive(delivery) == want
    await harness.until(dut.clk, dut.empty)
    assert not delivery.held


@cocotb.test()
async def lost_beats(dut) -> None:
    """A beat that the memory has lost ends its read: data before it are good, none come after."""
    delivery = await start(dut)
    delivery.lossy = delivery.late = True
    harness.stall(delivery.sink, 0.3)
    expected, packet, ended = [], b"", False
    for _ in range(harness.repeat(60, 20)):
        page, tag = random.randrange(PAGES - 8), random.getrandbits(8)
        last = int(random.random() < 0.6)
        length = random.choice([1, 65, PAGE, random.randrange(1, 3 * PAGE)])
        length = length if last else -(-length // PAGE) * PAGE
        await delivery.hand_over(page=page, size=length - 1, tag=tag, last=last)
        first = page * 64 << int(dut.UnitBits.value)
        data = delivery.data(page, length)
        for n in range(-(-length // 64)):
            if not ended and delivery.lost(first + n):
                expected.append((packet, spec.ERR_MEMORY, tag))
                ended = True
            packet += data[64 * n : 64 * n + 64]
        if last and not ended:
            expected.append((packet, None, tag))
        if last:
            packet, ended = b"", False
    for want in expected:
        assert await receive(delivery) == want
    await harness.until(dut.clk, dut.empty)
    assert delivery.sink.empty() and not delivery.held


@cocotb.test()
async def each_unit_is_asked_for(dut) -> None:
    """Of a failed read the memory is asked for a beat of each unit, to forget its losses."""
    delivery = await start(dut)
    delivery.lossy = delivery.late = True
    beats = 64 << int(dut.UnitBits.value)
    for kind in ("fail", "skip"):
        delivery.asked.clear()
        fields = {kind: 1, "code": 0xA5, "tag": 9}
        await delivery.hand_over(page=40, size=7 * 64 * beats - 1, last=1, **fields)
        await harness.until(dut.clk, dut.empty)
        await harness.step(dut.clk)
        assert delivery.asked == {(40 + n) * beats for n in range(7)}, kind
    await delivery.hand_over(page=3, size=99, tag=1, last=1)
    assert await receive(delivery) == (b"", 0xA5, 9)
    assert await receive(delivery) == (delivery.data(3, 100), None, 1)
    await harness.until(dut.clk, dut.empty)
    assert delivery.sink.empty() and not delivery.held


@cocotb.test()
async def rate_and_latency(dut) -> None:
    """Beats leave one a cycle across deliveries; the first soon after the memory's answer."""
    delivery = await start(dut)
    taken: list[int] = []
    left: list[int] = []
    cocotb.start_soon(harness.record(dut.clk, dut.delivery_valid, dut.delivery_ready, taken))
    beats = dut.m_axis_rd.tvalid, dut.m_axis_rd.tready
    cocotb.start_soon(harness.record(dut.clk, *beats, left))
    for n in range(12):
        await delivery.hand_over(page=n, size=PAGE - 1, last=1)
    for _ in range(12):
        await receive(delivery)
    dut._log.info("%d cycles, %.3f beats/cycle", left[0] - taken[0], harness.rate(left))
    # Of memory outside the chip, whether a beat was lost comes from a register.
    outside = int(dut.WholePages.value)
    assert left[0] - taken[0] == delivery.latency + 3 + outside
    assert harness.rate(left) == 1.0


@cocotb.test()
async def not_empty_while_a_unit_is_held(dut) -> None:
    """A read that was delivered early sends no beat; its unit is freed before all is empty."""
    delivery = await start(dut)
    await harness.step(dut.clk, 4)
    await delivery.hand_over(page=5, size=99, tag=1, last=1, sent=1)
    for _ in range(20):
        await FallingEdge(dut.clk)
        assert dut.empty.value == 0 or not delivery.held
    assert dut.empty.value == 1


@cocotb.test()
async def restart_in_packet(dut) -> None:
    """A packet that was cut in two gets an error beat as its end, and what follows is whole."""
    delivery = await start(dut)
    for _ in range(8):
        await delivery.hand_over(page=3, size=4 * PAGE - 1, last=1)
        await harness.step(dut.clk, random.randrange(1, 120))
        dut.restart.value = 1
        await harness.step(dut.clk, 3)
        dut.restart.value = 0
        await harness.step(dut.clk, 12)
        if not delivery.sink.empty():
            data, code, _ = await receive(delivery)
            assert code == spec.ERR_HALTED and data == delivery.data(3, len(data))
        await delivery.hand_over(page=5, size=99, last=1)
        assert await receive(delivery) == (delivery.data(5, 100), None, 0)


@cocotb.test()
@cocotb.parametrize(lossy=[False, True])
async def restart_while_offered(dut, lossy: bool) -> None:
    """A beat on offer stays on offer across a restart; the read it belongs to ends with an error.

    The port's checker watches all the time.
    """
    delivery = await start(dut)
    delivery.lossy = lossy
    harness.stall(delivery.sink, 0.8)
    for _ in range(harness.repeat(80, 40)):
        pages = random.choice([1, 4])
        await delivery.hand_over(page=3, size=pages * PAGE - 1, last=1, tag=0x11)
        await harness.step(dut.clk, random.randrange(1, 160))
        dut.restart.value = 1
        await harness.step(dut.clk, random.randrange(3, 12))
        dut.restart.value = 0
        await delivery.hand_over(page=5, size=99, last=1, tag=0x5A)
        found = await receive(delivery)
        while found[2] != 0x5A:
            data, code, tag = found
            assert tag == 0x11
            assert code in ({spec.ERR_HALTED, None} | ({spec.ERR_MEMORY} if lossy else set()))
            assert data == delivery.data(3, len(data))
            assert code is not None or len(data) == pages * PAGE
            found = await receive(delivery)
        assert found == (delivery.data(5, 100), None, 0x5A)
        await harness.until(dut.clk, dut.empty)
        await harness.step(dut.clk)


def run(unit: int, **options: object) -> None:
    """Build the module for units of 2^unit pages and simulate it."""
    whole = {"FifoDepth": 128, "WholePages": "1'b1"} if unit else {"FifoDepth": 16}
    parameters = {"UnitBits": unit, **whole}
    simulate(
        __file__,
        "fb_nvme_read_stream",
        parameters,
        filelist="rtl/top/onchip.f",
        interfaces={"m_axis_rd": "fb_axis_if"},
        **options,
    )


@pytest.mark.parametrize("unit", [0, 2])
def test_deliver(unit: int) -> None:
    """Run all coroutines with units of one page and of several."""
    run(unit)
