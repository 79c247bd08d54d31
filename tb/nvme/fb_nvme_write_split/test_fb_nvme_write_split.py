# SPDX-License-Identifier: Apache-2.0
"""fb_nvme_write_split: streams become pages and commands that say all and nothing but the truth."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.triggers import FallingEdge
from cocotbext.axi import AxiStreamFrame, AxiStreamSource

import harness
import structs
from forebay import spec
from pages import PAGE, Built, Pages
from runner import simulate

SECTORS = 1 << 24
CHUNK = 32  # sectors of an array's chunk


class Writer:
    """The device under test with a stream source, a memory and a page ring around it."""

    def __init__(self, dut, block: int, transfer: int, chunk: int) -> None:
        self.dut = dut
        self.block = block
        self.most = transfer
        self.chunk = chunk
        self.memory: dict[int, bytes] = {}
        self.hold = 0.0
        self.late = 0.0
        self.rogue = False
        self.source = harness.axi_stream(AxiStreamSource, dut, "s_axis_wr")
        self.pages = Pages(dut)
        cocotb.start_soon(self._memory())

    async def _memory(self) -> None:
        dut, ended = self.dut, 0
        while True:
            await harness.step(dut.clk)
            dut.hold.value = random.random() < self.hold
            await FallingEdge(dut.clk)
            ended += dut.mem_end.value == 1
            # The data of a command land at once or later, in order.
            committed = ended > 0 and random.random() >= self.late
            dut.committed.value = committed or self.rogue
            ended -= committed
            if dut.restart.value == 1 or dut.rst.value == 1:
                ended = 0
            if dut.mem_we.value == 1:
                data = int(dut.mem_wdata.value).to_bytes(64, "little")
                self.memory[int(dut.mem_addr.value)] = data

    async def send(
        self, address: int, data: bytes, fua: int = 0, flush: int = 0, fence: int = 0
    ) -> None:
        """Queue one transaction."""
        head = address | fua << 64 | flush << 65 | fence << 66
        await self.source.send(AxiStreamFrame(head.to_bytes(64, "little") + data))

    def content(self, built: Built) -> bytes:
        """Return the bytes that a command sends to the SSD."""
        first = built.page * 64 << int(self.dut.UnitBits.value)
        return b"".join(self.memory[first + n] for n in range(built.length // 64))

    async def check(self, address: int, data: bytes, fua: int, flush: int) -> list[Built]:
        """Compare the commands of a good transaction with what was sent."""
        commands = await self.pages.transaction()
        await harness.step(self.dut.clk, 3)
        padded = data + bytes(-len(data) % self.block)
        at, found = address // 512, b""
        for built in commands:
            assert not built.reject and not built.early
            assert (built.sector, built.fua, built.flush) == (at, fua, flush)
            assert built.length % self.block == 0 and built.length <= self.most * PAGE
            final = built.sector + built.length // 512 - 1
            assert not self.dut.Array.value or built.sector // CHUNK == final // CHUNK
            at += built.length // 512
            found += self.content(built)
        assert found == padded
        return commands


async def start(dut, *, block: int = 512, transfer: int = 8, chunk: int = 3) -> Writer:
    """Reset with a configuration and no chunk growing."""
    harness.clear(dut, "grow", "hold", "commit*", "restart", "held", "offer_valid", "command_ready")
    dut.cfg.value = structs.pack(
        "cfg_t",
        block_4k=block == PAGE,
        transfer_m1=transfer - 1,
        chunk_m1=chunk - 1,
        strip_m1=CHUNK // 8 - 1,
        namespace_sectors=SECTORS,
    )
    writer = Writer(dut, block, transfer, chunk)
    await harness.start(dut)
    return writer


@cocotb.test()
@cocotb.parametrize(
    (("block", "idle", "hold"), [(512, 0.0, 0.0), (512, 0.4, 0.4), (PAGE, 0.2, 0.2)])
)
async def random_transactions(dut, block: int, idle: float, hold: float) -> None:
    """Data of any length arrive whole and padded, in commands that follow each other."""
    writer = await start(dut, block=block)
    writer.hold = hold
    writer.late = 0.95 if hold else 0.0
    harness.stall(writer.source, idle)
    for grow in (0, 1, 0):
        dut.grow.value = grow
        for _ in range(harness.repeat(12, 6)):
            address = random.randrange(1 << 20) * block
            length = random.choice([1, 63, 64, 65, block, block + 1, PAGE, 3 * PAGE, 9 * PAGE + 7])
            data, fua, flush = random.randbytes(length), random.getrandbits(1), 0
            fence = random.getrandbits(1)
            await writer.send(address, data, fua, flush, fence)
            commands = await writer.check(address, data, fua, flush)
            assert [built.fence for built in commands] == [fence] + [0] * (len(commands) - 1)
            most = writer.most if grow else writer.chunk
            assert all(built.length <= most * PAGE for built in commands)


@cocotb.test()
async def waits_for_its_data(dut) -> None:
    """A command that waits for its data to land is not offered, and is still under way."""
    writer = await start(dut)
    assert dut.open.value == 0
    writer.late = 1.0
    data = random.randbytes(2 * PAGE)
    await writer.send(0, data)
    while dut.mem_end.value != 1:
        await harness.step(dut.clk)
    for _ in range(40):
        await harness.step(dut.clk)
        assert dut.open.value == 1 and dut.command_valid.value == 0
    writer.late = 0.0
    await writer.check(0, data, 0, 0)
    await harness.step(dut.clk, 3)
    assert dut.open.value == 0


@cocotb.test()
async def full_rate(dut) -> None:
    """While there are pages, a beat a cycle goes in, across pages, commands and transactions."""
    writer = await start(dut)
    writer.pages.offer = writer.pages.take = 1.0
    moved: list[int] = []
    cocotb.start_soon(harness.record(dut.clk, dut.s_axis_wr.tvalid, dut.s_axis_wr.tready, moved))
    for n in range(6):
        await writer.send(n * PAGE, bytes(4 * PAGE))
    for _ in range(6):
        await writer.pages.transaction()
    dut._log.info("%.4f beats/cycle with address beats", harness.rate(moved))
    assert harness.rate(moved) > 0.98


@cocotb.test()
async def broken_rules(dut) -> None:
    """A transaction that breaks a rule is taken to its end and answered with its code, once."""
    writer = await start(dut)
    end = SECTORS * 512
    cases = [
        (5, bytes(3 * PAGE), spec.ERR_MISALIGNED),
        (0, b"", spec.ERR_ZERO_LENGTH),
        (end, bytes(10), spec.ERR_OUT_OF_RANGE),
        (end - 1024, bytes(2000), spec.ERR_OUT_OF_RANGE),
        (end - 4 * PAGE, bytes(6 * PAGE), spec.ERR_OUT_OF_RANGE),
        (1 << 60, bytes(64), spec.ERR_OUT_OF_RANGE),
    ]
    for address, data, code in cases:
        await writer.send(address, data)
        commands = await writer.pages.transaction()
        assert commands[-1].reject and commands[-1].code == code, f"{address:#x} {len(data)}"
        for built in commands:
            assert built.reject or built.sector * 512 + built.length <= end
        await writer.send(PAGE, b"good")
        await writer.check(PAGE, b"good", 0, 0)
    for keep in ([1] * 10 + [0] * 54 + [1] * 64, [1] * 64 + [1] * 10 + [0] * 3 + [1] + [0] * 50):
        frame = AxiStreamFrame(bytes(64) + bytes(128))
        frame.tkeep = [1] * 64 + keep
        await writer.source.send(frame)
        commands = await writer.pages.transaction()
        assert commands[-1].reject and commands[-1].code == spec.ERR_BAD_KEEP
    # An only beat that begins with a hole is not an empty one.
    frame = AxiStreamFrame(bytes(64) + bytes(64))
    frame.tkeep = [1] * 64 + [0] + [1] * 63
    await writer.source.send(frame)
    commands = await writer.pages.transaction()
    assert commands[-1].reject and commands[-1].code == spec.ERR_BAD_KEEP


@cocotb.test()
async def flush_alone(dut) -> None:
    """Beat 0 alone that asks for a flush is one, wherever it points; it stores nothing."""
    writer = await start(dut)
    for address in (0, 5, SECTORS * 512, (1 << 64) - 1):
        await writer.send(address, b"", fua=random.getrandbits(1), flush=1)
        (built,) = await writer.pages.transaction()
        assert (built.reject, built.flush, built.last, built.size) == (1, 1, 1, spec.ERR_OK)
        assert not writer.memory
    await writer.send(PAGE, b"data", flush=1)
    await writer.check(PAGE, b"data", 0, 1)


@cocotb.test()
async def empty_last_beat(dut) -> None:
    """A last beat without bytes ends the transaction with the beat before it."""
    writer = await start(dut)
    for beats in (1, 8, 9, 64, 65):
        data = random.randbytes(64 * beats)
        frame = AxiStreamFrame((0).to_bytes(64, "little") + data + bytes(64))
        frame.tkeep = [1] * (64 + 64 * beats) + [0] * 64
        await writer.source.send(frame)
        await writer.check(0, data, 0, 0)


@cocotb.test()
async def restart_in_packet(dut) -> None:
    """A packet cut in two by a restart is answered with an error; a reset forgets all of it."""
    writer = await start(dut)
    await writer.send(0, bytes(2 * PAGE))
    await harness.step(dut.clk, 40)
    dut.restart.value = 1
    await harness.step(dut.clk, 3)
    dut.restart.value = 0
    writer.pages.held, writer.pages.checked = 0, len(writer.pages.commands)
    commands = await writer.pages.transaction()
    assert commands[-1].reject and commands[-1].code == spec.ERR_HALTED
    await writer.send(0, b"good")
    await writer.check(0, b"good", 0, 0)
    await writer.send(0, bytes(2 * PAGE))
    await harness.step(dut.clk, 40)
    await harness.reset(dut, 3)
    writer.pages.held, writer.pages.checked = 0, len(writer.pages.commands)
    await harness.step(dut.clk, 3)
    await writer.send(512, b"again")
    await writer.check(512, b"again", 0, 0)


@harness.provocation
async def command_without_room(dut) -> None:
    """A command built without room for it must be noticed."""
    writer = await start(dut)
    writer.pages.take = 0.0
    await writer.send(0, bytes(100))
    for _ in range(60):
        await FallingEdge(dut.clk)
        if dut.u_dut.push_q.value == 1:
            dut.u_dut.u_commands.level_q.value = 1 << len(dut.u_dut.u_commands.level_q) - 1
        await harness.step(dut.clk)


@harness.provocation
async def beat_without_page(dut) -> None:
    """A beat stored without a page must be noticed: padding is made to begin a page."""
    writer = await start(dut)
    writer.pages.offer = 0.0
    await FallingEdge(dut.clk)
    dut.offer_valid.value = 0
    await harness.step(dut.clk, 2)
    await FallingEdge(dut.clk)
    dut.u_dut.page_begins_q.value = 1
    dut.u_dut.unit_begins_q.value = 1
    dut.u_dut.state_q.value = 4
    await harness.step(dut.clk, 2)


@harness.provocation
async def committed_too_often(dut) -> None:
    """Data that land without a command must be noticed."""
    writer = await start(dut)
    writer.rogue = True
    await harness.step(dut.clk, 4)


def run(unit: int = 0, array: int = 0, **options: object) -> None:
    """Build the module for units of 2^unit pages, and an array or none, and simulate it."""
    parameters = {"UnitBits": unit, "Array": array}
    simulate(
        __file__,
        "fb_nvme_write_split",
        parameters,
        filelist="rtl/top/onchip.f",
        interfaces={"s_axis_wr": "fb_axis_if"},
        **options,
    )


@pytest.mark.parametrize(("unit", "array"), [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_write(unit: int, array: int) -> None:
    """Run all coroutines with units of one page and of two, for one drive and for more."""
    run(unit, array)


def test_assertion_fires() -> None:
    """Each assertion fires."""
    run(
        fires={
            "command_without_room": "a_push_room",
            "beat_without_page": "a_page_there",
            "committed_too_often": "a_committed_built",
        }
    )
