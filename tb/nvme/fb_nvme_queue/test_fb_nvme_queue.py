# SPDX-License-Identifier: Apache-2.0
"""fb_nvme_queue as the SSD sees it: entries are fetched, completions written, by cocotbext-axi."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import astuple, dataclass

import cocotb
import pytest
from cocotb.triggers import FallingEdge
from cocotbext.axi import AxiBurstType, AxiMaster, AxiResp

import harness
from runner import simulate

pytestmark = pytest.mark.long


@dataclass
class Completion:
    """A completion queue entry (NVMe Base 2.0c 3.3.3.2) and its place."""

    slot: int
    cid: int
    sqhd: int
    phase: int
    status: int
    drive: int = 0

    def encode(self) -> bytes:
        """Return the 16 bytes that the SSD writes."""
        dword2 = self.sqhd | 1 << 16
        dword3 = self.cid | self.phase << 16 | self.status << 17
        words = (random.getrandbits(32), 0, dword2, dword3)
        return b"".join(word.to_bytes(4, "little") for word in words)


def random_completion(slot: int, drive: int = 0) -> Completion:
    """Return a completion with every field at random."""
    bits = random.getrandbits
    return Completion(slot, bits(16), bits(16), bits(1), bits(15), drive)


class Queue:
    """The device under test between an AXI master and the streamer's core, which this plays."""

    def __init__(self, dut, master: AxiMaster) -> None:
        self.dut = dut
        self.master = master
        self.depth = int(dut.QueueDepth.value)
        self.cq = int(dut.CqOffset.value)
        self.drives = int(dut.Drives.value)
        self.window = 1 << len(dut.s_axi_queue_araddr)
        # The entries of all drives, one drive after the other.
        self.entries = [random.randbytes(64) for _ in range(self.drives * self.depth)]
        self.completions: list[Completion] = []
        self.first_cycle = 0
        self.strays = 0
        self.ready_share = 1.0
        cocotb.start_soon(self._serve())
        cocotb.start_soon(self._collect())

    async def _serve(self) -> None:
        """Give every entry FetchLatency cycles after it was asked for, and noise otherwise."""
        dut = self.dut
        latency = int(dut.FetchLatency.value)
        coming = deque([None] * latency)
        while True:
            await FallingEdge(dut.clk)
            place = int(dut.fetch_drive.value) * self.depth + int(dut.fetch_slot.value)
            coming.append(place if dut.fetch_valid.value == 1 else None)
            await harness.step(dut.clk)
            coming.popleft()
            slot = coming[0]
            entry = random.randbytes(64) if slot is None else self.entries[slot]
            dut.fetch_sqe.value = int.from_bytes(entry, "little")

    async def _collect(self) -> None:
        dut = self.dut
        while True:
            await harness.step(dut.clk)
            dut.cqe_ready.value = random.random() < self.ready_share
            await FallingEdge(dut.clk)
            self.strays += int(dut.stray_write.value)
            if dut.cqe_valid.value == 1 and not self.first_cycle:
                self.first_cycle = harness.cycle()
            if dut.cqe_valid.value == 1 and dut.cqe_ready.value == 1:
                fields = (getattr(dut, f"cqe_{name}") for name in Completion.__annotations__)
                self.completions.append(Completion(*(int(field.value) for field in fields)))

    def place(self, slot: int, drive: int = 0) -> int:
        """Return the address of a completion queue entry."""
        return 2 * self.cq * drive + self.cq + 16 * slot

    async def expect(self, wanted: list[Completion], strays: int = 0) -> None:
        """Compare what has left the module with what was written, and forget it."""
        await harness.step(self.dut.clk, 12 if self.ready_share == 1.0 else 60)
        assert [astuple(found) for found in self.completions] == [astuple(w) for w in wanted]
        assert self.strays == strays
        self.completions.clear()
        self.strays = 0


async def start(dut) -> Queue:
    """Reset with everything idle."""
    harness.clear(dut, "fetch_sqe", "cqe_ready")
    master = harness.axi_master(dut, "s_axi_queue")
    await harness.start(dut)
    return Queue(dut, master)


@cocotb.test()
@cocotb.parametrize(request=[0.0, 0.6], answer=[0.0, 0.6])
async def fetches(dut, request: float, answer: float) -> None:
    """Entries arrive whole in bursts, and in parts of 1 to 64 bytes; the rest reads as zero."""
    queue = await start(dut)
    harness.stall_master(queue.master, request, answer)
    window = bytearray(queue.window)
    for place, entry in enumerate(queue.entries):
        drive, slot = divmod(place, queue.depth)
        at = 2 * queue.cq * drive + 64 * slot
        window[at : at + 64] = entry
    reads = []
    for _ in range(60):
        length = random.choice([64, 64, 128, 64 * min(queue.depth, 64), 8, 16, 1, 100])
        reach = random.choice([64 * queue.depth, 64 * queue.depth, 2 * queue.cq])
        pair = 2 * queue.cq * random.randrange(queue.window // (2 * queue.cq))
        at = pair + random.randrange(max(reach - length, 1))
        at = at // 64 * 64 if length % 64 == 0 else at
        size = random.choice([None, 3, 2, 6]) if length <= 128 else None
        reads.append((at, length, queue.master.init_read(at, length, size=size)))
    for at, length, read in reads:
        await read.wait()
        assert read.data.data == window[at : at + length]
        assert read.data.resp == AxiResp.OKAY


@cocotb.test()
async def fetch_rate_and_latency(dut) -> None:
    """Entries stream at one a cycle, and the first comes FetchLatency + 2 cycles after the AR."""
    queue = await start(dut)
    asked: list[int] = []
    came: list[int] = []
    requests = dut.s_axi_queue_arvalid, dut.s_axi_queue_arready
    answers = dut.s_axi_queue_rvalid, dut.s_axi_queue_rready
    cocotb.start_soon(harness.record(dut.clk, *requests, asked))
    cocotb.start_soon(harness.record(dut.clk, *answers, came))
    await queue.master.read(0, 64)
    dut._log.info("AR to R: %d cycles", came[0] - asked[0])
    assert came[0] - asked[0] == int(dut.FetchLatency.value) + 2
    came.clear()
    span = min(queue.depth, 4) * 64
    reads = [queue.master.init_read(0, length) for length in [64, span] * 30]
    for read in reads:
        await read.wait()
    dut._log.info("%.3f entries/cycle", harness.rate(came))
    assert harness.rate(came) == 1.0


@cocotb.test()
@cocotb.parametrize(request=[0.0, 0.5], ready_share=[1.0, 0.3])
async def completions(dut, request: float, ready_share: float) -> None:
    """A completion leaves once, whether it comes in 16, 2 x 8 or 4 x 4 bytes, or with others."""
    queue = await start(dut)
    queue.ready_share = ready_share
    harness.stall_master(queue.master, request, request)
    for _ in range(40):
        count = random.choice([1, 1, 2, 3, 4, 7])
        first = random.randrange(max(queue.depth - count, 1))
        count = min(count, queue.depth)
        drive = random.randrange(queue.drives)
        wanted = [random_completion(first + n, drive) for n in range(count)]
        data = b"".join(one.encode() for one in wanted)
        part = random.choice([4, 8, 16, 64])
        at = queue.place(first, drive)
        if random.random() < 0.5:
            size = {4: 2, 8: 3, 16: 4, 64: 6}[part]
            await queue.master.write(at, data, size=size)
        else:
            for offset in range(0, len(data), part):
                await queue.master.write(at + offset, data[offset : offset + part])
        await queue.expect(wanted)


@cocotb.test()
async def completion_latency_and_rate(dut) -> None:
    """A completion is on offer the cycle after its W beat; single ones pass one in two cycles."""
    queue = await start(dut)
    sent: list[int] = []
    beats = dut.s_axi_queue_wvalid, dut.s_axi_queue_wready
    cocotb.start_soon(harness.record(dut.clk, *beats, sent))
    wanted = [random_completion(0)]
    await queue.master.write(queue.place(0), wanted[0].encode())
    await queue.expect(wanted)
    dut._log.info("W to completion: %d cycles", queue.first_cycle - sent[0])
    assert queue.first_cycle - sent[0] == 1
    sent.clear()
    wanted = [random_completion(n % queue.depth) for n in range(40)]
    writes = [queue.master.init_write(queue.place(one.slot), one.encode()) for one in wanted]
    for write in writes:
        await write.wait()
    await queue.expect(wanted)
    dut._log.info("%.3f completions/cycle", harness.rate(sent))
    assert harness.rate(sent) > 0.49


@cocotb.test()
async def strays_and_refusals(dut) -> None:
    """Writes where no completion belongs are counted, refused bursts answered; neither acts."""
    queue = await start(dut)
    answer = await queue.master.write(0, bytes(64))
    assert answer.resp == AxiResp.OKAY
    await queue.expect([], strays=4)
    await queue.master.write(8, bytes(4))
    await queue.expect([], strays=1)
    if queue.place(0, queue.drives) < queue.window:
        await queue.master.write(queue.place(0, queue.drives), bytes(16))
        await queue.expect([], strays=1)
    if queue.place(queue.depth) < 2 * queue.cq:
        await queue.master.write(queue.place(queue.depth), bytes(16))
        await queue.expect([], strays=1)
    for burst in (AxiBurstType.FIXED, AxiBurstType.WRAP):
        answer = await queue.master.write(queue.cq, bytes(32), burst=burst, size=4)
        assert answer.resp == AxiResp.SLVERR
        answer = await queue.master.read(0, 64, burst=burst)
        assert answer.resp == AxiResp.SLVERR
    await queue.expect([])


@cocotb.test()
async def answers_not_taken(dut) -> None:
    """An initiator that takes no answers stops only itself; nothing is lost when it goes on."""
    queue = await start(dut)
    queue.master.write_if.b_channel.pause = True
    wanted = [random_completion(n % queue.depth) for n in range(30)]
    writes = [queue.master.init_write(queue.place(one.slot), one.encode()) for one in wanted]
    await harness.step(dut.clk, 100)
    assert (await queue.master.read(0, 64)).data == queue.entries[0]
    queue.master.write_if.b_channel.pause = False
    for write in writes:
        await write.wait()
    await queue.expect(wanted)


@cocotb.test()
async def reset_in_burst(dut) -> None:
    """After a reset in the middle of bursts, reads and completions are whole again."""
    queue = await start(dut)
    for _ in range(6):
        queue.master.init_write(queue.cq, bytes(16 * queue.depth))
        queue.master.init_read(0, 64 * queue.depth)
        await harness.step(dut.clk, random.randrange(3, 30))
        await harness.reset(dut, 4)
        await harness.step(dut.clk, 4)
        queue.completions.clear()
        queue.strays = 0
        slot = random.randrange(queue.depth)
        assert (await queue.master.read(64 * slot, 64)).data == queue.entries[slot]
        wanted = [random_completion(slot)]
        await queue.master.write(queue.place(slot), wanted[0].encode())
        await queue.expect(wanted)


async def start_bare(dut) -> None:
    """Reset without a bus model, for provocations that drive the port themselves."""
    harness.clear(
        dut,
        "fetch_sqe",
        "cqe_ready",
        "s_axi_queue_a[wr]*[!y]",
        "s_axi_queue_w*[!y]",
        "s_axi_queue_[br]ready",
    )
    await harness.start(dut)
    await harness.step(dut.clk, 2)


@harness.provocation
async def early_wlast(dut) -> None:
    """WLAST that does not match AWLEN must be noticed."""
    await start_bare(dut)
    dut.s_axi_queue_awlen.value, dut.s_axi_queue_awburst.value = 3, 1
    dut.s_axi_queue_awvalid.value, dut.s_axi_queue_wvalid.value = 1, 1
    dut.s_axi_queue_wlast.value = 1
    await harness.step(dut.clk)
    dut.s_axi_queue_awvalid.value = 0
    await harness.step(dut.clk, 5)


@harness.provocation
async def flood_answers(dut) -> None:
    """A read FIFO that overflows must be noticed: the count of beats in flight is broken."""
    await start_bare(dut)
    dut.s_axi_queue_arlen.value, dut.s_axi_queue_arburst.value = 63, 1
    dut.s_axi_queue_arvalid.value = 1
    for _ in range(60):
        await FallingEdge(dut.clk)
        dut.in_flight_q.value = 0


@harness.provocation
async def word_unannounced(dut) -> None:
    """An entry without its description must be noticed."""
    await start_bare(dut)
    await FallingEdge(dut.clk)
    dut.arriving_q.value = 1
    await harness.step(dut.clk, 8)


@harness.provocation
async def withdrawn_address(dut) -> None:
    """The port's stream checkers are connected: AR withdrawn before ARREADY."""
    await start_bare(dut)
    dut.s_axi_queue_arlen.value, dut.s_axi_queue_arburst.value = 63, 1
    dut.s_axi_queue_arvalid.value = 1
    await harness.until(dut.clk, dut.s_axi_queue_arready, 0)
    await harness.step(dut.clk, 3)
    dut.s_axi_queue_arvalid.value = 0
    await harness.step(dut.clk, 3)


@harness.provocation
@cocotb.parametrize(channel=["aw", "w", "b", "r", "cqe"])
async def withdraw(dut, channel: str) -> None:
    """Each of the port's stream checkers is connected."""
    await start_bare(dut)
    await harness.withdraw(dut.clk, getattr(dut, f"u_check_{channel}"))


def run(depth: int, latency: int, drives: int = 1, **options: object) -> None:
    """Build the module and simulate it."""
    parameters = {
        "QueueDepth": depth,
        "Drives": drives,
        "CqOffset": max(4096, 64 * depth),
        "FetchLatency": latency,
    }
    simulate(__file__, "fb_nvme_queue", parameters, filelist="rtl/top/onchip.f", **options)


@pytest.mark.parametrize(
    ("depth", "latency", "drives"), [(2, 2, 1), (64, 2, 1), (1024, 1, 1), (16, 2, 3), (128, 2, 8)]
)
def test_queue(depth: int, latency: int, drives: int) -> None:
    """Run all coroutines at this depth and latency, for this number of drives."""
    run(depth, latency, drives)


@pytest.mark.parametrize(
    ("testcase", "message"),
    [
        ("early_wlast", "wlast_matches_awlen"),
        ("flood_answers", "fifos_have_room"),
        ("word_unannounced", "beats_before_words"),
        ("withdrawn_address", "s_axi_queue AR: valid fell"),
        ("withdraw/channel=aw", "s_axi_queue AW: valid fell"),
        ("withdraw/channel=w", "s_axi_queue W: valid fell"),
        ("withdraw/channel=b", "s_axi_queue B: valid fell"),
        ("withdraw/channel=r", "s_axi_queue R: valid fell"),
        ("withdraw/channel=cqe", "completion: valid fell"),
    ],
)
def test_assertion_fires(testcase: str, message: str) -> None:
    """The assertion stops the simulation."""
    run(64, 2, testcase=testcase, expect_failure=message)
