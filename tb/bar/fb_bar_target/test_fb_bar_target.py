# SPDX-License-Identifier: Apache-2.0
"""fb_bar_target between cocotbext-axi and regions that answer when they like."""

from __future__ import annotations

import random
from collections import deque
from pathlib import Path

import cocotb
import pytest
from cocotb.triggers import Combine, FallingEdge
from cocotbext.axi import AxiBurstType, AxiMaster, AxiResp

import harness
from runner import simulate

PAGE = 4096
WORD = 64
PAYLOAD, LISTS, QUEUES, REGISTERS = range(4)
# As fb_bar_target_tb.sv has them: first byte, bytes.
PLACES = {
    PAYLOAD: (0x1_0000, 1 << 16),
    LISTS: (0x2_0000, 1 << 13),
    QUEUES: (0x4000, 1 << 14),
    REGISTERS: (0x8000, 1 << 12),
}
NOWHERE = 0x3_0000


class Regions:
    """What is behind the target: bytes, taken and given with pauses."""

    def __init__(self, dut, share: float) -> None:
        self.dut = dut
        self.share = share
        self.latency = int(dut.Latency.value)
        self.held = {region: bytearray(random.randbytes(n)) for region, (_, n) in PLACES.items()}
        self.written: list[tuple[int, int]] = []  # region and address of each beat
        self.refuse: set[int] = set()  # addresses whose writes are refused
        self.fail: set[int] = set()  # addresses whose words are bad
        cocotb.start_soon(self._serve())

    def _word(self, region: int, address: int) -> int:
        first, _ = PLACES[region]
        at = (address - first) // WORD * WORD
        return int.from_bytes(self.held[region][at : at + WORD], "little")

    def _store(self, region: int) -> None:
        dut = self.dut
        address = int(dut.write_addr.value)
        self.written.append((region, address))
        strobes = int(dut.write_strb.value)
        dwords = int(dut.write_dwords.value)
        assert dwords == sum((strobes >> 4 * n & 15 == 15) << n for n in range(16))
        if address in self.refuse:
            return
        data = int(dut.write_data.value).to_bytes(WORD, "little")
        at = (address - PLACES[region][0]) // WORD * WORD
        for n in range(WORD):
            if strobes >> n & 1:
                self.held[region][at + n] = data[n]

    async def _serve(self) -> None:
        dut = self.dut
        coming: deque = deque([None] * self.latency)
        while True:
            await harness.step(dut.clk)
            # Without a ready a request of that region waits; the others go on.
            ready = [sum((random.random() >= self.share) << n for n in range(4)) for _ in range(2)]
            dut.write_ready.value, dut.read_ready.value = ready
            word, bad = random.getrandbits(2048), random.getrandbits(4)
            if coming[0] is not None:
                region, address = coming[0]
                word &= ~((1 << 512) - 1 << 512 * region)
                word |= self._word(region, address) << 512 * region
                bad = bad & ~(1 << region) | (address in self.fail) << region
            coming.popleft()
            dut.read_word.value, dut.read_error.value = word, bad
            await FallingEdge(dut.clk)
            dut.write_refused.value = 15 * (int(dut.write_addr.value) in self.refuse)
            writes = int(dut.write_valid.value) & ready[0]
            reads = int(dut.read_valid.value) & ready[1]
            if writes:
                self._store(writes.bit_length() - 1)
            address = int(dut.read_addr.value)
            coming.append((reads.bit_length() - 1, address) if reads else None)


async def start(dut, share: float = 0.0) -> tuple[AxiMaster, Regions]:
    """Reset with everything idle."""
    harness.clear(dut, "write_ready", "write_refused", "read_ready", "read_word", "read_error")
    master = harness.axi_master(dut, "s_axi_bar")
    await harness.start(dut)
    return master, Regions(dut, share)


async def mixed(master: AxiMaster, regions: Regions, region: int, rounds: int) -> None:
    """Write and read one region at random; what cannot be written stays as it was."""
    first, size = PLACES[region]
    for _ in range(rounds):
        length = random.choice([1, 4, 8, 63, 64, 65, 512, 4096, random.randrange(1, 6000)])
        length = min(length, size)
        at = random.randrange(size - length + 1)
        wide = random.choice([None, None, 6, 5, 3, 2, 0]) if length < 300 else None
        held = regions.held[region]
        if random.random() < 0.5:
            data = random.randbytes(length)
            wanted = bytearray(held)
            if region != LISTS:
                wanted[at : at + length] = data
            answer = await master.write(first + at, data, size=wide)
            assert answer.resp == (AxiResp.SLVERR if region == LISTS else AxiResp.OKAY)
            assert held == wanted
        else:
            answer = await master.read(first + at, length, size=wide)
            assert answer.data == held[at : at + length]
            assert answer.resp == AxiResp.OKAY


@cocotb.test()
@cocotb.parametrize(request=[0.0, 0.6], answer=[0.0, 0.6])
async def random_bursts(dut, request: float, answer: float) -> None:
    """Every region holds what was written into it, by bursts of all sizes, all regions at once."""
    master, regions = await start(dut, share=request)
    harness.stall_master(master, request, answer)
    rounds = harness.repeat(40, 15)
    await Combine(*(cocotb.start_soon(mixed(master, regions, n, rounds)) for n in PLACES))


@cocotb.test()
@cocotb.parametrize(share=[0.0, 0.5])
async def writes_keep_their_order(dut, share: float) -> None:
    """Beats reach the regions in the order of their addresses, whatever their identifiers."""
    master, regions = await start(dut, share)
    harness.stall_master(master, share, share)
    wanted, writes = [], []
    for _ in range(harness.repeat(200, 60)):
        region = random.choice([PAYLOAD, QUEUES, REGISTERS])
        first, size = PLACES[region]
        beats = random.choice([1, 1, 2, 8, 64])
        at = first + PAGE * random.randrange(size // PAGE)
        identifier = random.randrange(16)
        writes.append(master.init_write(at, random.randbytes(WORD * beats), awid=identifier))
        wanted += [(region, at + WORD * n) for n in range(beats)]
    for write in writes:
        await write.wait()
    assert regions.written == wanted


@cocotb.test()
async def refusals(dut) -> None:
    """What may not be, or is nowhere, gets SLVERR and has no effect; what follows is right."""
    master, regions = await start(dut, share=0.2)
    before = {region: bytes(held) for region, held in regions.held.items()}
    for place in (PLACES[PAYLOAD][0] + PAGE, PLACES[QUEUES][0]):
        for burst in (AxiBurstType.FIXED, AxiBurstType.WRAP):
            for length in (64, 128, 256):
                answer = await master.write(place, bytes(length), burst=burst)
                assert answer.resp == AxiResp.SLVERR
                assert (await master.read(place, length, burst=burst)).resp == AxiResp.SLVERR
    for place in (PLACES[LISTS][0], NOWHERE, 0):
        assert (await master.write(place, bytes(200))).resp == AxiResp.SLVERR
    for place in (NOWHERE, 0, PLACES[LISTS][0] + PLACES[LISTS][1]):
        assert (await master.read(place, 200)).resp == AxiResp.SLVERR
    assert before == {region: bytes(held) for region, held in regions.held.items()}
    assert not regions.written
    await mixed(master, regions, PAYLOAD, 10)


@cocotb.test()
async def one_beat_refused(dut) -> None:
    """A beat that its region refuses, or whose word is bad, marks the answer to its burst alone."""
    master, regions = await start(dut, share=0.3)
    first, _ = PLACES[REGISTERS]
    for bad in range(4):
        regions.refuse = {first + WORD * bad}
        assert (await master.write(first, bytes(4 * WORD))).resp == AxiResp.SLVERR
        regions.refuse = set()
        assert (await master.write(first, bytes(4 * WORD))).resp == AxiResp.OKAY
        regions.fail = {first + WORD * bad}
        assert (await master.read(first, 4 * WORD)).resp == AxiResp.SLVERR
        regions.fail = set()
        assert (await master.read(first, 4 * WORD)).resp == AxiResp.OKAY


@cocotb.test()
async def rates_and_latency(dut) -> None:
    """64 B a cycle each way across bursts; a word comes Latency + 2 cycles after its AR."""
    master, regions = await start(dut)
    times: dict[str, list[int]] = {name: [] for name in ("ar", "r", "w", "b")}
    for name, found in times.items():
        pair = (getattr(dut.s_axi_bar, f"{name}{half}") for half in ("valid", "ready"))
        cocotb.start_soon(harness.record(dut.clk, *pair, found))
    first, _ = PLACES[PAYLOAD]
    await master.read(first, WORD)
    assert times["r"][0] - times["ar"][0] == regions.latency + 2
    await master.write(first, bytes(WORD))
    assert times["b"][0] - times["w"][0] == 3
    for length, count in ((PAGE, 8), (64, 64), (192, 40)):
        times["r"].clear()
        times["w"].clear()
        places = [first + PAGE * (n % 16) for n in range(count)]
        for both in [
            (master.init_read(at, length), master.init_write(at, bytes(length))) for at in places
        ]:
            for operation in both:
                await operation.wait()
        assert harness.rate(times["r"]) == 1.0
        assert harness.rate(times["w"]) == 1.0


@cocotb.test()
async def answers_not_taken(dut) -> None:
    """An initiator that takes no answers to writes stops only its writes."""
    master, regions = await start(dut)
    master.write_if.b_channel.pause = True
    first, _ = PLACES[QUEUES]
    writes = [master.init_write(first + WORD * n, bytes(WORD)) for n in range(40)]
    await harness.step(dut.clk, 100)
    assert len(regions.written) < 40
    assert (await master.read(first, WORD)).resp == AxiResp.OKAY
    master.write_if.b_channel.pause = False
    for write in writes:
        await write.wait()
    assert len(regions.written) == 40


@cocotb.test()
async def data_before_its_address(dut) -> None:
    """A W beat that comes long before its address waits for it."""
    master, regions = await start(dut)
    master.write_if.aw_channel.pause = True
    data = random.randbytes(640)
    write = master.init_write(PLACES[PAYLOAD][0], data)
    await harness.step(dut.clk, 40)
    assert not regions.written
    master.write_if.aw_channel.pause = False
    await write.wait()
    assert regions.held[PAYLOAD][:640] == data


@cocotb.test()
async def reset_in_burst(dut) -> None:
    """After a reset in the middle of bursts all works."""
    master, regions = await start(dut, share=0.2)
    for _ in range(5):
        master.init_write(PLACES[PAYLOAD][0], bytes(2 * PAGE))
        master.init_read(PLACES[QUEUES][0], 2 * PAGE)
        await harness.step(dut.clk, random.randrange(3, 60))
        await harness.reset(dut, 2 + regions.latency)
        await harness.step(dut.clk, 2)
        await mixed(master, regions, PAYLOAD, 3)


async def start_bare(dut) -> None:
    """Reset without a bus model, for provocations that drive the port themselves."""
    harness.clear(dut, "write_ready", "write_refused", "read_ready", "read_word", "read_error")
    harness.clear(dut.s_axi_bar, "a[wr]*[!y]", "w*[!y]", "[br]ready")
    await harness.start(dut)
    await harness.step(dut.clk, 2)


@harness.provocation
async def early_wlast(dut) -> None:
    """WLAST that does not match AWLEN must be noticed."""
    await start_bare(dut)
    dut.write_ready.value = 15
    dut.s_axi_bar.awaddr.value, dut.s_axi_bar.awburst.value = PLACES[PAYLOAD][0], 1
    dut.s_axi_bar.awlen.value = 3
    dut.s_axi_bar.awvalid.value, dut.s_axi_bar.wvalid.value = 1, 1
    dut.s_axi_bar.wlast.value = 1
    await harness.step(dut.clk, 1)
    dut.s_axi_bar.awvalid.value = 0
    await harness.step(dut.clk, 5)


@harness.provocation
async def flood_answers(dut) -> None:
    """A FIFO of words that overflows must be noticed: the count of beats is broken."""
    master, _ = await start(dut)
    master.read_if.r_channel.pause = True
    master.init_read(PLACES[PAYLOAD][0], PAGE)
    for _ in range(60):
        await harness.step(dut.clk)
        dut.u_target.under_way_q.value = 0
    await harness.step(dut.clk, 5)


@cocotb.test()
async def slow_region_with_full_answers(dut) -> None:
    """A request that a slow region has seen stays, also where the last place was just taken."""
    master, regions = await start(dut, share=0.9)
    master.write_if.b_channel.pause = True
    first, _ = PLACES[REGISTERS]
    for n in range(20):
        master.init_write(first + WORD * n, bytes([n]) * WORD)
    await harness.step(dut.clk, 600)
    # As many as there is room for, and each once.
    assert regions.written == [(REGISTERS, first + WORD * n) for n in range(15)]
    master.write_if.b_channel.pause = False
    await harness.step(dut.clk, 600)
    assert regions.written == [(REGISTERS, first + WORD * n) for n in range(20)]
    master.read_if.r_channel.pause = True
    read = master.init_read(first, 20 * WORD)
    await harness.step(dut.clk, 600)
    master.read_if.r_channel.pause = False
    await read.wait()


@harness.provocation
@cocotb.parametrize(kind=["write", "read"])
async def withdraw_request(dut, kind: str) -> None:
    """A request that a region has seen goes away: the room that it had is taken from it."""
    master, _ = await start(dut, share=1.0)
    if kind == "write":
        master.init_write(PLACES[PAYLOAD][0], bytes(WORD))
    else:
        master.init_read(PLACES[PAYLOAD][0], WORD)
    await harness.step(dut.clk, 20)
    await FallingEdge(dut.clk)
    room = dut.u_target.answer_room_q if kind == "write" else dut.u_target.room_q
    room.value = 0
    await harness.step(dut.clk, 3)


@harness.provocation
async def answer_without_room(dut) -> None:
    """A write that is answered while the queue of answers is full must be noticed."""
    master, _ = await start(dut)
    master.write_if.b_channel.pause = True
    for n in range(40):
        master.init_write(PLACES[PAYLOAD][0] + WORD * n, bytes(WORD))
    for _ in range(300):
        await FallingEdge(dut.clk)
        dut.u_target.answer_room_q.value = 1
    await harness.step(dut.clk, 5)


@harness.provocation
async def overlap(dut) -> None:
    """Regions that lie on each other must be noticed."""
    master, _ = await start(dut)
    await master.read(PLACES[PAYLOAD][0], WORD)


def run(latency: int, overlapping: int = 0, **options: object) -> None:
    """Build the target with its map and simulate it."""
    simulate(
        __file__,
        "fb_bar_target_tb",
        {"Latency": latency, "Overlap": overlapping},
        filelist="rtl/top/onchip.f",
        extra_sources=[Path(__file__).parent / "fb_bar_target_tb.sv"],
        **options,
    )


@pytest.mark.parametrize("latency", [2, 3, 8, 16])
def test_target(latency: int) -> None:
    """Run all coroutines at this latency of the regions."""
    run(latency)


def test_assertion_fires() -> None:
    """Each assertion fires."""
    run(
        3,
        fires={
            "early_wlast": "wlast_matches_awlen",
            "flood_answers": "words_have_room",
            "answer_without_room": "answers_have_room",
            "withdraw_request/kind=write": "write_stays",
            "withdraw_request/kind=read": "read_stays_asked",
        },
    )


def test_overlap_is_noticed() -> None:
    """The assertion on the map fires."""
    run(3, overlapping=1, fires={"overlap": "one_region"})
