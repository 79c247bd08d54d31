# SPDX-License-Identifier: Apache-2.0
"""The wrappers with SNAcc's pins, used as designs made for SNAcc's streamers use them.

Also run by ../fb_top_snacc_dram, whose payload is in on-board DRAM or in host memory.
"""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import with_timeout
from cocotbext.axi import (
    AxiBus,
    AxiStreamFrame,
    AxiStreamSink,
    AxiStreamSource,
)

import harness
from buffer_segments import BufferSegments
from forebay import spec
from forebay import streamer_regs as regs
from memory import LateRam
from runner import simulate
from ssd import BAR, CQ_DOORBELL, PAGE, SQ_DOORBELL, Pins, Ssd

# Where SNAcc's designs put what, in the BAR and behind its pins.
CONTROL = 0x10_0000
LISTS = CONTROL + 0x4_0000
PAYLOAD = 0x800_0000
HALF = 64 << 20
DRAM = 0x2_8000_0000  # of a buffer in the memory
RESETS = {"clk": "aclk", "rst": "aresetn", "rst_level": False, "doorbells": "M_AXI_Doorbells"}
ONCHIP = Pins(
    windows=(("S_AXI_Queues", spec.BAR0_QUEUES), ("S_AXI_URAM_PRP", spec.BAR0_DATA)), **RESETS
)
BOARD = Pins(
    windows=(
        ("S_AXI_Queues", spec.BAR0_QUEUES),
        ("S_CTRL", CONTROL),
        ("S_AXI_PCIe", PAYLOAD),
    ),
    **RESETS,
)
# Inputs that no bus model drives: SNAcc's interconnect does, the streamer looks at none of them.
LOOSE = ("S_*_awlock", "S_*_arlock", "S_*_aw[cpqr]*[!y]", "S_*_ar[cpqr]*[!y]", "S_AXIS_*_tDest")
DATA_WINDOW = BAR + spec.BAR0_DATA
NSID = 1
BEAT = 64
PATIENCE_US = 400


class Control:
    """SNAcc's control port of 512 bits, as software behind a bridge sees it: 8 bytes at a time."""

    def __init__(self, ssd: Ssd) -> None:
        self.bar = ssd.bar

    async def write_qword(self, register: int, value: int) -> None:
        """Write a register."""
        await self.bar.write(CONTROL + register, value.to_bytes(8, "little"))

    async def read_qword(self, register: int) -> int:
        """Read a register."""
        answer = await self.bar.read(CONTROL + register, 8, size=3)
        return int.from_bytes(answer.data, "little")


class System:
    """The streamer, its user's four streams, its control port, its drive, and its memory."""

    def __init__(self, dut, delay: int) -> None:
        self.dut = dut
        self.onchip = hasattr(dut, "S_AXI_URAM_PRP_awvalid")
        pins = ONCHIP if self.onchip else BOARD
        self.ssd = Ssd(dut, delay=delay, pins=pins)
        self.ssd.nsid = NSID
        clock = pins.clock(dut)
        self.write_data = harness.axi_stream(AxiStreamSource, dut, "S_AXIS_WRITE", **clock)
        self.write_done = harness.axi_stream(AxiStreamSink, dut, "M_AXIS_WRITE", **clock)
        self.read_command = harness.axi_stream(AxiStreamSource, dut, "S_AXIS_READ", **clock)
        self.read_data = harness.axi_stream(AxiStreamSink, dut, "M_AXIS_READ", **clock)
        self.identity = spec.IDENTITY_ONCHIP
        if self.onchip:
            self.ctrl = harness.axil_master(dut, "S_CTRL", **clock)
            return
        self.ctrl = Control(self.ssd)
        self.identity = spec.IDENTITY_ONBOARD
        self.segments = None
        size = DRAM + 2 * HALF
        if int(dut.host_ddr.value):
            self.identity = spec.IDENTITY_HOST
            self.segments = BufferSegments(dut)
            size = self.segments.span
        bus = AxiBus.from_prefix(dut, "M_AXI_DDR_NVMe")
        posted = self.segments is not None
        self.ram = LateRam(bus, **clock, size=size, posted=posted)
        if self.segments:
            self.ssd.host = self.ram
        self.ssd.payload = range(PAYLOAD, PAYLOAD + 2 * HALF)

    def sequence(self) -> list[tuple[int, int]]:
        """Return what SNAcc's runtime writes, in its order; it knows of no other registers."""
        if self.onchip:
            places = [(regs.DATA_WINDOW, DATA_WINDOW)]
        elif self.segments:
            tables = (regs.HOST_WRITE, regs.HOST_READ)
            places = [
                (tables[n // 16] + 8 * (n % 16), address)
                for n, address in enumerate(self.segments.addresses)
            ]
        else:
            places = [
                (regs.DATA_READ, BAR + PAYLOAD),
                (regs.DATA_WRITE, BAR + PAYLOAD + HALF),
                (regs.DRAM_READ, DRAM),
                (regs.DRAM_WRITE, DRAM + HALF),
            ]
        lists = [] if self.onchip else [(regs.PRP_LISTS, BAR + LISTS)]
        return [
            (regs.ENABLE, 0),
            *lists,
            *places,
            (regs.NSID, NSID),
            (regs.SQ_DOORBELL, SQ_DOORBELL),
            (regs.CQ_DOORBELL, CQ_DOORBELL),
            (regs.ENABLE, 1),
        ]

    async def set_up(self) -> None:
        """Read the identity, and write SNAcc's registers as its runtime does."""
        self.ssd.forget()
        assert await self.ctrl.read_qword(regs.IDENTITY) == self.identity
        for register, value in self.sequence():
            await self.ctrl.write_qword(register, value)

    def stall(self, share: float) -> None:
        """Pause every channel of every port at random."""
        doors = [self.ctrl] if self.onchip else []
        for master in (*self.ssd.bar.masters, *doors):
            harness.stall_master(master, share, share)
        doorbells = self.ssd.doorbells.write_if
        for channel in (doorbells.aw_channel, doorbells.w_channel, doorbells.b_channel):
            harness.stall(channel, share)
        for port in (self.write_data, self.write_done, self.read_command, self.read_data):
            harness.stall(port, share)

    async def write(self, address: int, data: bytes, keep: int | None = None) -> int:
        """Write a transaction and return its token; `keep` is TKEEP of each byte."""
        frame = AxiStreamFrame(address.to_bytes(BEAT, "little") + data)
        if keep is not None:
            frame.tkeep = [keep] * len(frame.tdata)
        await self.write_data.send(frame)
        done = await with_timeout(self.write_done.recv(), PATIENCE_US, "us")
        assert len(done.tdata) == 1 and done.tdest in (0, None)
        return done.tdata[0]

    async def ask(self, address: int, length: int) -> None:
        """Send one read command."""
        beat = address | length << 64
        await self.read_command.send(AxiStreamFrame(beat.to_bytes(BEAT, "little")))

    async def data(self) -> tuple[bytes, bool]:
        """Return the next packet read, and whether its last beat holds nothing: it failed."""
        frame = await with_timeout(self.read_data.recv(compact=False), PATIENCE_US, "us")
        data = bytes(byte for byte, keep in zip(frame.tdata, frame.tkeep, strict=True) if keep)
        return data, not any(frame.tkeep[-BEAT:])

    async def read(self, address: int, length: int) -> bytes:
        """Read; the answer has to be good."""
        await self.ask(address, length)
        data, failed = await self.data()
        assert not failed
        return data


async def start(dut, delay: int = 0) -> System:
    """Reset, set up, enable."""
    harness.clear(dut, *LOOSE)
    dut.aresetn.value = 0
    system = System(dut, delay)
    cocotb.start_soon(Clock(dut.aclk, harness.PERIOD_NS, unit="ns").start())
    await reset(dut)
    await system.set_up()
    return system


async def reset(dut) -> None:
    """Hold `aresetn` low for some cycles."""
    dut.aresetn.value = 0
    await harness.step(dut.aclk, 8)
    dut.aresetn.value = 1
    await harness.step(dut.aclk)


async def work(system: System, count: int) -> None:
    """Write whole beats and read them back in any length, while other reads wait in line."""
    at = 0
    for _ in range(count):
        length = BEAT * random.choice([1, 7, 8, 9, 64, 65, random.randrange(1, 900)])
        data = random.randbytes(length)
        assert await system.write(at, data) == spec.ERR_OK
        padded = data + bytes(-length % 512)
        assert system.ssd.load(at, len(padded)) == padded
        wanted = [random.randrange(1, length + 1) for _ in range(3)]
        for part in wanted:
            await system.ask(at, part)
        for part in wanted:
            assert await system.data() == (data[:part], False)
        at += -(-length // 512) * 512


@cocotb.test()
async def registers(dut) -> None:
    """SNAcc's registers are where its runtime looks for them, and begin as its designs expect."""
    system = await start(dut)
    for register, value in system.sequence()[1:]:
        assert await system.ctrl.read_qword(register) == value, hex(register)
    await reset(dut)
    base = int(dut.pcie_nvme_base_address.value)
    for register, value in (
        (regs.SQ_DOORBELL, base + 0x1008),
        (regs.CQ_DOORBELL, base + 0x100C),
        (regs.NSID, 1),
        (regs.ENABLE, 0),
    ):
        assert await system.ctrl.read_qword(register) == value, hex(register)
    if len(dut.S_CTRL_araddr) >= 12:
        version = await system.ctrl.read_qword(regs.VERSION)
        assert version >> 32 == int.from_bytes(b"FBY1", "little")
        parameters = await system.ctrl.read_qword(regs.PARAMETERS)
        assert parameters & 0xFFFFFFFF == 64 | 1024 << 16


@cocotb.test()
@cocotb.parametrize((("share", "delay"), [(0.0, 0), (0.4, 60)]))
async def writes_and_reads(dut, share: float, delay: int) -> None:
    """Every byte written is on the medium and comes back, under stalls."""
    system = await start(dut, delay)
    system.stall(share)
    await work(system, 12)
    assert all(command.nsid == NSID for command in system.ssd.commands)


@cocotb.test()
async def long_transactions(dut) -> None:
    """A read is cut into commands with PRP lists; a write, too, once the SSD is busy."""
    system = await start(dut, delay=30)
    data = random.randbytes(80 * PAGE)
    assert await system.write(PAGE, data) == spec.ERR_OK
    assert await system.read(PAGE, len(data)) == data
    pages = {spec.OPCODE_WRITE: [], spec.OPCODE_READ: []}
    for command in system.ssd.commands:
        pages[command.opcode].append(command.blocks * 512 // PAGE)
    # With units of 16 pages commands have one or more. On chip a write command leaves with
    # two pages before the SSD is busy, which need no list.
    of_read, of_write = (8, 2) if system.onchip else (16, 16)
    assert pages[spec.OPCODE_READ] == [of_read] * (80 // of_read)
    assert len(pages[spec.OPCODE_WRITE]) >= 4 and sum(pages[spec.OPCODE_WRITE]) == 80
    assert pages[spec.OPCODE_WRITE][0] == of_write and max(pages[spec.OPCODE_WRITE]) > 2


@cocotb.test()
async def write_keep(dut) -> None:
    """TKEEP of writes counts where it is asked for; else it may be left open, as with SNAcc's."""
    system = await start(dut)
    data = random.randbytes(3 * BEAT + 5)
    assert await system.write(0, data) == spec.ERR_OK
    assert system.ssd.load(0, 512) == data + bytes(512 - len(data))
    if int(dut.UseKeep.value):
        assert await system.write(512, bytes(BEAT), keep=0) != spec.ERR_OK
    else:
        data = random.randbytes(3 * BEAT)
        assert await system.write(512, data, keep=0) == spec.ERR_OK
        assert system.ssd.load(512, len(data)) == data
    await work(system, 2)


@cocotb.test()
async def failures(dut) -> None:
    """A failed write has a code; a failed read ends with a beat that holds nothing."""
    system = await start(dut)
    assert await system.write(7, bytes(BEAT)) == spec.ERR_MISALIGNED
    system.ssd.faults.status = {0: spec.STATUS_WRITE_FAULT | 1 << spec.STATUS_DNR_BIT}
    assert await system.write(0, bytes(BEAT)) & 0x80
    for address, length in ((7, 10), (0, 0)):
        await system.ask(address, length)
        assert await system.data() == (b"", True)
    await work(system, 3)


@cocotb.test()
async def reset_in_transaction(dut) -> None:
    """A reset in the middle of everything leaves a streamer that works."""
    system = await start(dut, delay=50)
    for _ in range(3):
        frame = AxiStreamFrame(bytes(20 * PAGE))
        await system.write_data.send(frame)
        await system.ask(0, 10 * PAGE)
        await harness.step(dut.aclk, random.randrange(30, 500))
        system.ssd.forget()
        await reset(dut)
        ports = (system.write_data, system.write_done, system.read_command, system.read_data)
        for port in ports:
            port.clear()
        await harness.step(dut.aclk, 8)
        await system.set_up()
        await work(system, 3)


@cocotb.test()
async def lists_of_commands(dut) -> None:
    """The list of a command is found by its identifier, also when it was sent again."""
    system = await start(dut, delay=200)
    if system.onchip:
        return
    size = harness.repeat(64, 16) * PAGE
    busy = spec.STATUS_NAMESPACE_NOT_READY
    system.ssd.faults.status = {1: busy, 4: busy, 5: busy}
    parts = [random.randbytes(size) for _ in range(6)]
    for n, part in enumerate(parts):
        assert await system.write(n << 20, part) == spec.ERR_OK
    for n in range(len(parts)):
        await system.ask(n << 20, size)
    for part in parts:
        assert await system.data() == (part, False)


@pytest.mark.parametrize(("address_bits", "use_keep"), [(8, 0), (12, 1)])
def test_top(address_bits: int, use_keep: int) -> None:
    """Run all coroutines with the pins as SNAcc's, and with those that may be added."""
    parameters = {"ControlAddrBits": address_bits, "UseKeep": use_keep}
    simulate(__file__, "fb_top_snacc_onchip", parameters, filelist="rtl/top/onchip.f")
