# SPDX-License-Identifier: Apache-2.0
"""fb_nvme_deliver: what retirement hands over leaves as the beats it describes."""

from __future__ import annotations

import random
from collections import deque

import cocotb
import pytest
from cocotb.triggers import FallingEdge, Timer
from cocotbext.axi import AxiStreamBus, AxiStreamSink

import harness
import structs
from forebay import spec
from runner import simulate

PAGE = 4096
PAGES = 1024


class Delivery:
    """The device under test with a memory, a writer that shares its port, and a sink."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.memory = random.randbytes(64 * PAGE)
        self.busy = 0.0
        self.freed = 0
        self.sink = AxiStreamSink(AxiStreamBus.from_prefix(dut, "m_axis_rd"), dut.clk, dut.rst)
        self.sink.log.setLevel("WARNING")
        cocotb.start_soon(self._memory())
        cocotb.start_soon(self._free())

    def word(self, address: int) -> bytes:
        """Return 64 bytes; the buffer repeats itself every 64 pages."""
        first = address * 64 % len(self.memory)
        return self.memory[first : first + 64]

    async def _memory(self) -> None:
        """Return words ReadLatency cycles after they were read, and noise otherwise."""
        dut = self.dut
        coming = deque([None] * int(dut.ReadLatency.value))
        while True:
            await FallingEdge(dut.clk)
            # The writer takes the port at random, but honours `hold`.
            dut.mem_busy.value = dut.hold.value == 0 and random.random() < self.busy
            await Timer(1, "ns")
            read = dut.mem_re.value == 1
            assert not (read and dut.mem_busy.value == 1)
            coming.append(int(dut.mem_addr.value) if read else None)
            await harness.step(dut.clk)
            coming.popleft()
            data = random.randbytes(64) if coming[0] is None else self.word(coming[0])
            dut.mem_rdata.value = int.from_bytes(data, "little")

    async def _free(self) -> None:
        dut = self.dut
        while True:
            await FallingEdge(dut.clk)
            # After the writer's choice of this cycle, made at the falling edge.
            await Timer(1, "ns")
            if dut.free_step.value == 1:
                self.freed += int(dut.free_count.value)

    async def hand_over(self, **fields: int) -> None:
        """Offer one delivery and wait until it is taken."""
        dut = self.dut
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
        """Return what a delivery of so many bytes must send."""
        beats = range(page * 64, page * 64 + -(-length // 64))
        return b"".join(self.word(beat) for beat in beats)[:length]


async def start(dut) -> Delivery:
    """Reset with everything idle."""
    harness.clear(dut, "delivery_valid", "delivery", "mem_busy", "mem_rdata", "restart")
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
    """Data, ends, errors, muted and kept deliveries are all as described."""
    delivery = await start(dut)
    delivery.busy = busy
    delivery.sink.set_pause_generator(harness.stalls(back))
    expected, packet, freed = [], b"", 0
    for _ in range(60):
        page, tag = random.randrange(PAGES - 8), random.getrandbits(8)
        length = random.choice([1, 63, 64, 65, PAGE, PAGE + 1, random.randrange(1, 5 * PAGE)])
        kind = random.choice(["data", "data", "data", "fail", "mute", "keep"])
        last = int(random.random() < 0.7)
        if not last:
            length = -(-length // PAGE) * PAGE
        fields = {"page": page, "size": length - 1, "tag": tag, "last": last}
        if kind != "keep":
            freed += (length - 1) // PAGE + 1
        else:
            fields["keep"] = 1
        if kind == "mute":
            await delivery.hand_over(**fields, mute=1)
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
    assert delivery.freed == freed


@cocotb.test()
async def rate_and_latency(dut) -> None:
    """Beats leave one a cycle across deliveries; the first ReadLatency + 2 cycles after it."""
    delivery = await start(dut)
    taken: list[int] = []
    left: list[int] = []
    cocotb.start_soon(harness.record(dut.clk, dut.delivery_valid, dut.delivery_ready, taken))
    beats = dut.m_axis_rd_tvalid, dut.m_axis_rd_tready
    cocotb.start_soon(harness.record(dut.clk, *beats, left))
    for n in range(12):
        await delivery.hand_over(page=n, size=PAGE - 1, last=1)
    for _ in range(12):
        await receive(delivery)
    dut._log.info("%d cycles, %.3f beats/cycle", left[0] - taken[0], harness.rate(left))
    assert left[0] - taken[0] == int(dut.ReadLatency.value) + 2
    assert harness.rate(left) == 1.0


@cocotb.test()
async def shared_port(dut) -> None:
    """Against a writer that wants every cycle, a read still gets one in two."""
    delivery = await start(dut)
    delivery.busy = 1.0
    left: list[int] = []
    beats = dut.m_axis_rd_tvalid, dut.m_axis_rd_tready
    cocotb.start_soon(harness.record(dut.clk, *beats, left))
    await delivery.hand_over(page=0, size=4 * PAGE - 1, last=1)
    await receive(delivery)
    dut._log.info("%.3f beats/cycle", harness.rate(left))
    assert harness.rate(left) > 0.49


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


@harness.provocation
async def withdraw(dut) -> None:
    """The port's stream checker is connected."""
    await start(dut)
    await harness.withdraw(dut.clk, dut.u_check)


def run(latency: int, **options: object) -> None:
    """Build the module and simulate it."""
    parameters = {"ReadLatency": latency, "FifoDepth": 16}
    simulate(__file__, "fb_nvme_deliver", parameters, filelist="rtl/top/onchip.f", **options)


@pytest.mark.parametrize("latency", [1, 3])
def test_deliver(latency: int) -> None:
    """Run all coroutines with this latency of the memory."""
    run(latency)


def test_assertion_fires() -> None:
    """The assertion stops the simulation."""
    run(1, testcase="withdraw", expect_failure="m_axis_rd: valid fell")
