# SPDX-License-Identifier: Apache-2.0
"""fb_raid_parity: what the user writes he reads again, from an array that lacks any one drive."""

from __future__ import annotations

import random

import cocotb
from cocotbext.axi import AxiStreamFrame, AxiStreamSink, AxiStreamSource

import harness
import structs
from forebay import spec
from runner import simulate
from stripes import Stripes

INTERFACES = {
    "s_axis_wr": "fb_axis_if",
    "s_axis_rdcmd": "fb_axis_if #(.DataBits(256))",
    "m_axis_rd": "fb_axis_if",
    "m_axis_wr": "fb_axis_if",
    "m_axis_rdcmd": "fb_axis_if #(.DataBits(256))",
    "s_axis_rd": "fb_axis_if",
}
PAGE = 4096
PAGES = 2  # of the longest chunk
STRIPES = 4  # of the array


class Array:
    """The device under test between its user and the content of all drives."""

    def __init__(self, dut, stripes: Stripes) -> None:
        self.dut, self.stripes = dut, stripes
        self.hole: int | None = None
        self.offline = 0
        self.content = bytearray(random.randbytes(STRIPES * stripes.drives * stripes.chunk))
        self.write = harness.axi_stream(AxiStreamSource, dut, "s_axis_wr")
        self.ask = harness.axi_stream(AxiStreamSource, dut, "s_axis_rdcmd")
        self.answer = harness.axi_stream(AxiStreamSink, dut, "m_axis_rd")
        self.written = harness.axi_stream(AxiStreamSink, dut, "m_axis_wr")
        self.asked = harness.axi_stream(AxiStreamSink, dut, "m_axis_rdcmd")
        self.read = harness.axi_stream(AxiStreamSource, dut, "s_axis_rd")
        self.ends = (self.write, self.ask, self.answer, self.written, self.asked, self.read)
        cocotb.start_soon(self._store())
        cocotb.start_soon(self._load())

    def configure(self, offline: int = 0) -> None:
        """Set the array up with these drives offline."""
        stripes = self.stripes
        self.offline = offline
        self.dut.cfg.value = structs.pack(
            "cfg_t",
            drives_m1=stripes.drives - 1,
            strip_m1=stripes.chunk // PAGE - 1,
            parity=1,
            degraded=offline.bit_count() == 1,
            offline=offline,
            namespace_sectors=len(self.content) // 512,
        )

    async def _store(self) -> None:
        """Take writes, chunk by chunk, but not those of drives that are offline."""
        while True:
            frame = await self.written.recv(compact=False)
            address = int.from_bytes(bytes(frame.tdata[:8]), "little")
            data, chunk = bytes(frame.tdata[64:]), self.stripes.chunk
            for at in range(0, len(data), chunk):
                if not self.offline >> ((address + at) // chunk % self.stripes.drives) & 1:
                    self.content[address + at : address + at + chunk] = data[at : at + chunk]

    async def _load(self) -> None:
        """Answer reads, those of drives that are offline with an error."""
        while True:
            frame = await self.asked.recv()
            address = int.from_bytes(bytes(frame.tdata[:8]), "little")
            length = int.from_bytes(bytes(frame.tdata[8:16]), "little")
            if self.offline >> (address // self.stripes.chunk % self.stripes.drives) & 1:
                frame = AxiStreamFrame(bytes([spec.ERR_OFFLINE]) + bytes(63))
                frame.tkeep, frame.tuser = [0] * 64, 1
            else:
                frame = AxiStreamFrame(bytes(self.content[address : address + length]), tuser=0)
            await self.read.send(frame)

    async def put(self, address: int, data: bytes) -> None:
        """Write, and wait until all of it has left."""
        await self.write.send(AxiStreamFrame(address.to_bytes(64, "little") + data))
        await self.write.wait()
        await self.rest()

    async def rest(self) -> None:
        """Wait until nothing is under way."""
        await harness.step(self.dut.clk, 4)
        await harness.until(self.dut.clk, self.dut.busy, 0, 100_000)
        await harness.step(self.dut.clk, 4)

    async def get(self, address: int, length: int) -> AxiStreamFrame:
        """Read."""
        beat = address | length << 64
        await self.ask.send(AxiStreamFrame(beat.to_bytes(32, "little")))
        return await self.answer.recv(compact=False)


async def start(dut, drives: int, pages: int) -> Array:
    """Begin with an array that is whole."""
    harness.clear(dut.s_axis_rd, "t*[!y]")
    dut.restart.value = 1
    array = Array(dut, Stripes(drives, pages * PAGE))
    array.configure()
    await harness.start(dut)
    dut.restart.value = 0
    return array


@cocotb.test()
@cocotb.parametrize(
    (("drives", "pages", "idle"), [(2, 1, 0.3), (4, PAGES, 0.0), (4, 1, 0.3), (8, 1, 0.3)])
)
async def any_drive_may_go(dut, drives: int, pages: int, idle: float) -> None:
    """Written whole or without a drive, read whole or without it: the bytes are the same."""
    array = await start(dut, drives, pages)
    for end in array.ends:
        harness.stall(end, idle)
    payload = array.stripes.payload
    for hole in random.sample(range(drives), 2):
        array.configure()
        shadow = bytearray()
        for n in range(STRIPES):
            # The drive goes between two writes.
            array.configure(1 << hole if n >= STRIPES // 2 else 0)
            data = random.randbytes(random.randrange(1, payload + 1))
            await array.put(n * payload, data)
            shadow += data + bytes(payload - len(data))
        for _ in range(5):
            length = random.choice([1, 512, PAGE, random.randrange(1, 2 * payload)])
            address = random.randrange(STRIPES * payload - length) // 512 * 512
            frame = await array.get(address, length)
            assert bytes(frame.tdata[:length]) == shadow[address : address + length]
            assert sum(frame.tkeep) == length


@cocotb.test()
async def two_are_too_many(dut) -> None:
    """Where two drives are missing, what lies on one of them fails, and nothing else."""
    array = await start(dut, 4, 1)
    await array.put(0, bytes(array.stripes.payload))
    array.configure(0b0101)
    for chunk in range(3):
        frame = await array.get(chunk * PAGE, PAGE)
        assert any(frame.tkeep) == (chunk == 1)
        if chunk != 1:
            assert frame.tdata[0] == spec.ERR_OFFLINE
    # A read that begins well ends where it meets one, and the next is none the worse for it.
    frame = await array.get(PAGE, 2 * PAGE)
    assert sum(frame.tkeep) == PAGE and frame.tdata[-64] == spec.ERR_OFFLINE
    frame = await array.get(PAGE, 100)
    assert sum(frame.tkeep) == 100


def test_parity() -> None:
    """Run all coroutines."""
    parameters = {"Pages": PAGES, "PiecesMost": 16}
    simulate(
        __file__,
        "fb_raid_parity",
        parameters,
        filelist="rtl/top/onchip.f",
        interfaces=INTERFACES,
    )
