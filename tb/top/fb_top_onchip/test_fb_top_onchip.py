# SPDX-License-Identifier: Apache-2.0
"""The whole streamer between cocotbext-axi's streams and a small drive in Python.

Also run by ../fb_top_dram and ../fb_top_hostdram, whose memory answers late (tb/memory.py).
"""

from __future__ import annotations

import random
from collections import deque
from pathlib import Path

import cocotb
import pytest
from cocotb.triggers import with_timeout
from cocotbext.axi import AxiStreamFrame, AxiStreamSink, AxiStreamSource

import harness
from forebay import spec
from forebay import streamer_regs as regs
from payload import Payload
from runner import simulate
from ssd import CQ_DOORBELL, NSID, PAGE, SQ_DOORBELL, Ssd

pytestmark = pytest.mark.long

SECTORS = 1 << 20  # 512 MiB
DNR = 1 << spec.STATUS_DNR_BIT
PATIENCE_US = 400
AREA_BYTES = 8 * PAGE
# What a bridge of another width is asked for.
NARROW = ("small_area/share=0.6", "one_long_each_way", "flags", "reset_in_transaction")


class System:
    """The streamer, its user's four streams, its control port and its drive."""

    def __init__(self, dut, block: int, entries: int, delay: int) -> None:
        self.dut = dut
        self.block = block
        self.entries = entries
        self.ssd = Ssd(dut, block=block, entries=entries, delay=delay)
        self.wr = harness.axi_stream(AxiStreamSource, dut, "s_axis_wr")
        self.wrsp = harness.axi_stream(AxiStreamSink, dut, "m_axis_wrsp")
        self.rdcmd = harness.axi_stream(AxiStreamSource, dut, "s_axis_rdcmd")
        self.rd = harness.axi_stream(AxiStreamSink, dut, "m_axis_rd")
        self.ctrl = harness.axil_master(dut, "s_axil_ctrl")
        self.payload = Payload(dut, self.ssd)

    async def set_up(self, **settings: int) -> None:
        """Write the registers as the driver does, enable, and wait until the streamer is ready."""
        values = {
            "enable": 0,
            "sq_doorbell": SQ_DOORBELL,
            "cq_doorbell": CQ_DOORBELL,
            "nsid": NSID,
            "block_shift": self.block.bit_length() - 1,
            "namespace_sectors": SECTORS,
            "queue_entries": self.entries,
            **settings,
        }
        for name, value in values.items():
            await self.ctrl.write_qword(getattr(regs, name.upper()), value)
        await self.payload.set_up(self.ctrl)
        self.ssd.forget()
        await self.ctrl.write_qword(regs.ENABLE, 1)
        while not await self.ctrl.read_qword(regs.STATUS) & 1:
            await harness.step(self.dut.clk, 20)

    def stall(self, share: float) -> None:
        """Pause every channel of every port at random."""
        for master in (*self.ssd.bar.masters, self.ctrl):
            harness.stall_master(master, share, share)
        doorbells = self.ssd.doorbells.write_if
        for channel in (doorbells.aw_channel, doorbells.w_channel, doorbells.b_channel):
            harness.stall(channel, share)
        for port in (self.wr, self.wrsp, self.rdcmd, self.rd):
            harness.stall(port, share)
        self.payload.stall(share)

    async def write(
        self,
        address: int,
        data: bytes,
        fua: bool = False,
        flush: bool = False,
        fence: bool = False,
    ) -> None:
        """Send one write transaction; its answer comes from `token`."""
        head = address | fua << 64 | flush << 65 | fence << 66
        await self.wr.send(AxiStreamFrame(head.to_bytes(64, "little") + data))

    async def token(self) -> int:
        """Return the answer to the oldest write that has none yet."""
        frame = await with_timeout(self.wrsp.recv(), PATIENCE_US, "us")
        assert len(frame.tdata) == 1
        return frame.tdata[0]

    async def ask(self, address: int, length: int, tag: int | None = None) -> None:
        """Send one read command."""
        loose = 0 if tag is None else 1 << 128 | tag << 136
        beat = address | length << 64 | loose
        await self.rdcmd.send(AxiStreamFrame(beat.to_bytes(64, "little")))

    async def data(self) -> tuple[bytes, int, int]:
        """Return the next packet read: its bytes, its error code or 0, and its tag."""
        frame = await with_timeout(self.rd.recv(compact=False), PATIENCE_US, "us")
        data = bytes(byte for byte, keep in zip(frame.tdata, frame.tkeep, strict=True) if keep)
        failed = frame.tuser[-1] if isinstance(frame.tuser, list) else frame.tuser
        tag = frame.tid[-1] if isinstance(frame.tid, list) else frame.tid
        if failed:
            assert not any(frame.tkeep[-64:])
            return data, frame.tdata[-64], int(tag)
        # TKEEP may be partial on the last beat only, and without gaps.
        assert frame.tkeep == [1] * len(data) + [0] * (len(frame.tkeep) - len(data))
        assert len(frame.tkeep) - len(data) < 64
        return data, 0, int(tag)

    async def count(self, name: str) -> int:
        """Return a counter, after the time that counters take to catch up."""
        await harness.step(self.dut.clk, 40)
        return await self.ctrl.read_qword(getattr(regs, name.upper()))


async def start(
    dut, block: int = 512, entries: int | None = None, delay: int = 0, **settings: int
) -> System:
    """Reset, set up, enable."""
    system = System(dut, block, entries or int(dut.QueueDepth.value), delay)
    await harness.start(dut)
    await system.set_up(**settings)
    return system


def random_length(block: int) -> int:
    """Return a length in bytes: mostly short, seldom many pages, often not whole blocks."""
    length = random.choice(
        [1, block - 1, block, block + 1, PAGE, 2 * PAGE, random.randrange(1, 3 * PAGE)]
    )
    return random.randrange(1, 40 * PAGE) if random.random() < 0.03 else length


async def store_and_check(system: System, first: int, count: int) -> None:
    """Write transactions one behind the other, then look at the medium."""
    address, wanted = first, []
    for _ in range(count):
        data = random.randbytes(random_length(system.block))
        wanted.append((address, data))
        blocks = -(-len(data) // system.block)
        await system.write(address, data, random.random() < 0.2, random.random() < 0.2)
        address += (blocks + random.choice([0, 0, 1, 9])) * system.block
    for _ in range(count):
        assert await system.token() == spec.ERR_OK
    for address, data in wanted:
        padded = data + bytes(-len(data) % system.block)
        assert system.ssd.load(address, len(padded)) == padded


async def read_and_check(system: System, first: int, span: int, count: int) -> None:
    """Read at random from a region that is never written."""
    expected = []
    for _ in range(count):
        length = random_length(system.block)
        address = first + random.randrange(max(span - length, 1)) // system.block * system.block
        expected.append((address, length))
        await system.ask(address, length)
    for address, length in expected:
        data, code, tag = await system.data()
        assert (code, tag) == (0, 0)
        assert data == system.ssd.load(address, length)


async def work(system: System, count: int) -> None:
    """Write and read at the same time."""
    span = 1 << 18
    system.ssd.store(1 << 26, random.randbytes(span))
    writer = cocotb.start_soon(store_and_check(system, 1 << 20, count))
    await read_and_check(system, 1 << 26, span, count)
    await writer


class Area:
    """A few pages that are written and read over and over, and what they hold by now."""

    def __init__(self, system: System, first: int) -> None:
        self.system = system
        self.first = first
        self.held = bytearray(system.ssd.load(first, AREA_BYTES))
        self.writes: deque[tuple[int, int]] = deque()  # under way: where, and how many bytes
        self.reads: deque[tuple[int, int]] = deque()

    def _met(self, at: int, length: int, others: deque[tuple[int, int]]) -> bool:
        return any(at < there + count and there < at + length for there, count in others)

    async def _tokens(self) -> None:
        while True:
            while not self.writes:
                await harness.step(self.system.dut.clk)
            assert await self.system.token() == spec.ERR_OK
            self.writes.popleft()

    async def _data(self) -> None:
        while True:
            while not self.reads:
                await harness.step(self.system.dut.clk)
            data, code, _ = await self.system.data()
            at, length = self.reads.popleft()
            assert code == spec.ERR_OK and data == self.held[at : at + length]

    async def work(self, count: int) -> None:
        """Read and write at random, with and without pauses, never in two ways at one place."""
        clk = self.system.dut.clk
        tasks = [cocotb.start_soon(self._tokens()), cocotb.start_soon(self._data())]
        block = self.system.block
        for _ in range(count):
            length = block * random.randint(1, PAGE // block)
            at = random.randrange(AREA_BYTES - length + 1) // block * block
            writes = random.random() < 0.4
            while self._met(at, length, self.writes) or (
                writes and self._met(at, length, self.reads)
            ):
                await harness.step(clk)
            if writes:
                self.held[at : at + length] = random.randbytes(length)
                self.writes.append((at, length))
                await self.system.write(self.first + at, bytes(self.held[at : at + length]))
            else:
                length -= random.randrange(block)
                self.reads.append((at, length))
                await self.system.ask(self.first + at, length)
            await harness.step(clk, random.choice([1, 1, random.randint(1, 400)]))
        while self.writes or self.reads:
            await harness.step(clk)
        for task in tasks:
            task.cancel()
        assert self.system.ssd.load(self.first, AREA_BYTES) == self.held


@cocotb.test()
@cocotb.parametrize(share=[0.0, 0.6])
async def small_area(dut, share: float) -> None:
    """Pages of payload and of the medium are used again at once, while the memory is slow."""
    system = await start(dut, delay=40)
    system.payload.stall(share)
    await Area(system, 1 << 20).work(80)


@cocotb.test()
@cocotb.parametrize(
    (("share", "delay", "block"), [(0.0, 0, 512), (0.5, 60, 512), (0.3, 200, 4096)])
)
async def random_transactions(dut, share: float, delay: int, block: int) -> None:
    """Every byte written is on the medium and every byte read is right, in order, under stalls."""
    system = await start(dut, block, delay=delay, chunk=4 | 3 << 16)
    system.stall(share)
    await work(system, harness.repeat(60, 12))
    assert await system.count("doorbell_errors") == 0
    for rogue in ("rogue_phase", "rogue_cid", "rogue_head", "rejected", "failed_commands"):
        assert await system.count(rogue) == 0
    issued = 0
    for kind in ("write_commands", "read_commands", "flush_commands"):
        issued += await system.count(kind)
    assert issued == len(system.ssd.commands) == await system.count("completions")
    bins = [await system.ctrl.read_qword(regs.HISTOGRAM + 8 * n) for n in range(32)]
    assert sum(bins) == issued
    head = await system.count("trace_head")
    newest = await system.ctrl.read_qword(regs.TRACE + 8 * ((head - 1) % 64))
    assert 1 <= newest >> 32 & 15 <= 10
    status = await system.ctrl.read_qword(regs.STATUS)
    assert status & 0xF == 0b1101, f"status {status:#x} after all is done"
    assert status >> 16 == 0


@cocotb.test()
async def one_long_each_way(dut) -> None:
    """A transaction of many commands, longer than the chunk, crosses and returns."""
    system = await start(dut, delay=30, transfer_pages=16)
    data = random.randbytes(70 * PAGE + 13)
    await system.write(0, data)
    assert await system.token() == 0
    await system.ask(0, len(data))
    assert (await system.data())[:2] == (data, 0)
    assert all(command.blocks <= 16 * 8 for command in system.ssd.commands)


@cocotb.test()
async def flags(dut) -> None:
    """FUA is on every command of its transaction; a flush follows the last, before the token."""
    system = await start(dut)
    await system.write(0, bytes(3 * PAGE), fua=True)
    assert await system.token() == 0
    assert all(command.fua for command in system.ssd.commands)
    await system.write(0, bytes(100), flush=True)
    assert await system.token() == 0
    assert system.ssd.commands[-1].opcode == spec.OPCODE_FLUSH
    assert not system.ssd.commands[-2].fua


@cocotb.test()
async def fenced_writes(dut) -> None:
    """Overlapping writes with a fence are stored one after the other, those sent again as well."""
    system = await start(dut, delay=200, retry_limit=2)
    count, failing = harness.repeat(100, 30), spec.STATUS_NAMESPACE_NOT_READY
    system.ssd.faults.status = dict.fromkeys(range(0, count, 7), failing)
    held = bytearray(system.ssd.load(0, AREA_BYTES))
    for _ in range(count):
        at = random.randrange(AREA_BYTES // 1024) * 512
        data = random.randbytes(512 * random.randrange(1, AREA_BYTES // 1024))
        await system.write(at, data, fence=True)
        held[at : at + len(data)] = data
    assert {await system.token() for _ in range(count)} == {spec.ERR_OK}
    assert system.ssd.load(0, AREA_BYTES) == held


@cocotb.test()
async def flush_alone(dut) -> None:
    """Beat 0 alone that asks for a flush is one, and answered behind it, also if it fails."""
    system = await start(dut, delay=100, timeout_cycles=4000)
    for address in (0, 7, SECTORS * 512):
        await system.write(0, bytes(100))
        await system.write(address, b"", flush=True)
        await system.write(0, bytes(100))
        assert [await system.token() for _ in range(3)] == [spec.ERR_OK] * 3
    opcodes = [command.opcode for command in system.ssd.commands]
    assert opcodes.count(spec.OPCODE_FLUSH) == 3 and len(opcodes) == 9
    assert await system.count("rejected") == 0
    system.ssd.faults.status = {9: spec.STATUS_WRITE_FAULT | DNR}
    await system.write(0, b"", flush=True)
    assert await system.token() & spec.ERR_NVME
    # The SSD does not answer; then the queue is halted.
    system.ssd.faults.silent = {10}
    for code in (spec.ERR_TIMEOUT, spec.ERR_HALTED):
        await system.write(0, b"", flush=True)
        assert await system.token() == code
    assert len(system.ssd.commands) == 11
    await system.set_up()
    await work(system, 8)


@cocotb.test()
async def loose_reads(dut) -> None:
    """Unordered reads come each once with its tag, and ordered ones among them in their order."""
    system = await start(dut, delay=300)
    system.ssd.store(0, random.randbytes(64 * PAGE))
    loose, ordered = {}, []
    for tag in range(1, 40):
        address, length = random.randrange(60) * PAGE, random.randrange(1, PAGE)
        if random.random() < 0.7:
            loose[tag] = (address, length)
            await system.ask(address, length, tag)
        else:
            ordered.append((address, length))
            await system.ask(address, length)
    for _ in range(39):
        data, code, tag = await system.data()
        address, length = loose.pop(tag) if tag else ordered.pop(0)
        assert code == 0 and data == system.ssd.load(address, length)
    assert not loose and not ordered
    await system.ask(0, 300 * PAGE, 5)
    assert (await system.data())[1] == spec.ERR_TOO_LONG


@cocotb.test()
async def rejects(dut) -> None:
    """What breaks a rule is answered with its code, in its turn, and disturbs nothing."""
    system = await start(dut)
    system.stall(0.2)
    end = SECTORS * 512
    good = random.randbytes(5000)
    for address, data, code in (
        (7, bytes(10), spec.ERR_MISALIGNED),
        (0, good, spec.ERR_OK),
        (end - 512, bytes(513), spec.ERR_OUT_OF_RANGE),
        (end, bytes(1), spec.ERR_OUT_OF_RANGE),
        (1 << 63, bytes(64), spec.ERR_OUT_OF_RANGE),
        (8192, b"", spec.ERR_ZERO_LENGTH),
        (end - 512, bytes(512), spec.ERR_OK),
    ):
        await system.write(address, data)
        assert await system.token() == code, f"write at {address:#x}"
    for address, length, code in (
        (7, 10, spec.ERR_MISALIGNED),
        (0, 0, spec.ERR_ZERO_LENGTH),
        (0, 5000, spec.ERR_OK),
        (end - 512, 513, spec.ERR_OUT_OF_RANGE),
        (512, (1 << 64) - 512, spec.ERR_OUT_OF_RANGE),
        (end - 512, 512, spec.ERR_OK),
    ):
        await system.ask(address, length)
        data, found, _ = await system.data()
        assert found == code, f"read at {address:#x}"
        if code == 0:
            assert data == system.ssd.load(address, length)
    frame = AxiStreamFrame(bytes(64) + bytes(200))
    frame.tkeep = [1] * 100 + [0] * 28 + [1] * 136
    await system.wr.send(frame)
    assert await system.token() == spec.ERR_BAD_KEEP
    await work(system, 10)


@cocotb.test()
async def failing_commands(dut) -> None:
    """Errors that allow it are retried up to the limit; others reach the user as codes."""
    system = await start(dut, retry_limit=2)
    fault, busy = spec.STATUS_WRITE_FAULT, spec.STATUS_NAMESPACE_NOT_READY
    system.ssd.faults.status = {0: fault | DNR, 1: busy, 3: busy, 4: busy, 5: busy}
    code = spec.ERR_NVME | fault >> 8 << 5 | (fault >> 7 & 1) << 4 | fault & 15
    await system.write(0, bytes(100))
    assert await system.token() == code
    assert await system.ctrl.read_qword(regs.ERROR_CAUSE) >> 63 == 1
    await system.write(0, bytes(100))
    assert await system.token() == 0
    await system.ask(0, 100)
    data, found, _ = await system.data()
    assert data == b"" and found == spec.ERR_NVME | 1 << 4 | 2
    assert await system.count("retries") == 3
    assert await system.count("failed_commands") == 2
    await work(system, 8)


@cocotb.test()
async def rogue_completions(dut) -> None:
    """Entries of a wrong phase or identifier, and doubles, are counted and change nothing.

    A wrong head is counted, and its completion taken.
    """
    system = await start(dut, delay=20)
    faults = system.ssd.faults
    faults.twice, faults.unknown_cid = {2, 30}, {5, 31}
    faults.wrong_phase, faults.wrong_head = {8, 32}, {11, 33}
    await work(system, 40)
    for name in ("rogue_cid", "rogue_phase", "rogue_head"):
        assert await system.count(name) == (4 if name == "rogue_cid" else 2), name


@cocotb.test()
async def lost_command(dut) -> None:
    """A command that never completes times out and halts; all else is answered; enabling heals."""
    system = await start(dut, timeout_cycles=2000)
    system.ssd.faults.silent = {3}
    for n in range(8):
        await system.write(n * PAGE, bytes(600))
        await system.ask(n * PAGE, 600)
    codes = [await system.token() for _ in range(8)]
    codes += [(await system.data())[1] for _ in range(8)]
    dut._log.info("codes %s", codes)
    assert codes.count(spec.ERR_TIMEOUT) == 1
    assert set(codes) <= {spec.ERR_OK, spec.ERR_TIMEOUT, spec.ERR_HALTED}
    status = await system.ctrl.read_qword(regs.STATUS)
    assert status >> 1 & 1, "not halted"
    await system.write(0, bytes(64))
    assert await system.token() == spec.ERR_HALTED
    system.ssd.faults.silent = set()
    await system.set_up(timeout_cycles=0)
    await work(system, 10)


@cocotb.test()
async def reset_in_transaction(dut) -> None:
    """A reset in the middle of everything, even before TLAST, leaves a streamer that works."""
    system = await start(dut, delay=50)
    for _ in range(3):
        await system.write(0, bytes(20 * PAGE))
        await system.ask(0, 10 * PAGE)
        await harness.step(dut.clk, random.randrange(30, 500))
        system.ssd.forget()
        await harness.reset(dut, 8)
        for port in (system.wr, system.wrsp, system.rdcmd, system.rd):
            port.clear()
        await harness.step(dut.clk, 8)
        await system.set_up()
        await work(system, 4)


@cocotb.test()
async def least_queue(dut) -> None:
    """Queues of two entries hold one command at a time, and all still works."""
    system = await start(dut, entries=2, delay=10)
    await work(system, harness.repeat(15, 6))


def run(depth: int, pages: int, **options: object) -> None:
    """Build the top and simulate it."""
    parameters = {"QueueDepth": depth, "Pages": pages, "ReservePages": min(64, pages // 4)}
    simulate(__file__, "fb_top_onchip", parameters, filelist="rtl/top/onchip.f", **options)


@pytest.mark.parametrize(("depth", "pages"), [(64, 1024), (4, 64), (64, 4096)])
def test_top(depth: int, pages: int) -> None:
    """Run all coroutines with these parameters."""
    run(depth, pages)


@pytest.mark.parametrize(("bits", "slices"), [(128, 0), (256, 2)])
def test_narrow_bridge(bits: int, slices: int) -> None:
    """The BAR behind fb_axi_width, with and without register slices: each kind of work once."""
    parameters = {"NarrowBits": bits, "Slices": slices}
    simulate(
        __file__,
        "fb_top_onchip_narrow_tb",
        parameters,
        filelist="rtl/top/onchip.f",
        extra_sources=[Path(__file__).parent / "fb_top_onchip_narrow_tb.sv"],
        testcase=NARROW,
    )
