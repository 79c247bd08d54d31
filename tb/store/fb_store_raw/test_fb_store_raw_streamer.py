# SPDX-License-Identifier: Apache-2.0
"""fb_store_raw and the on-chip streamer: the drive is reset at any time, nothing goes astray."""

from __future__ import annotations

import random
from pathlib import Path

import cocotb
from cocotbext.axi import AxiStreamSink, AxiStreamSource

import harness
from forebay import spec
from forebay import streamer_regs as regs
from payload import Payload
from rawside import CHUNKS, MEDIA, UNIT, Software
from runner import simulate
from ssd import CQ_DOORBELL, NSID, SQ_DOORBELL, Ssd

ENTRIES = 16
BLOCK = 512
COUNT = 6
READ = 24  # chunk from which on it reads; there it never writes


class Recorder(Software):
    """Recorder, streamer and drive, and who brings them up."""

    def __init__(self, dut) -> None:
        super().__init__(dut)
        self.source = harness.axi_stream(AxiStreamSource, dut, "s_axis_in")
        self.sink = harness.axi_stream(AxiStreamSink, dut, "m_axis_out")
        self.streamer = harness.axil_master(dut, "s_axil_ctrl")
        self.ssd = Ssd(dut, block=BLOCK, entries=ENTRIES, delay=300)
        self.payload = Payload(dut, self.ssd)
        self.medium = bytearray(self.ssd.load(0, MEDIA))  # as it should be

    async def start(self) -> None:
        """Reset all, and bring it up."""
        dut = self.dut
        dut.hold.value, dut.drives_reset.value = 1, 0
        dut.media_bytes.value, dut.block_shift.value = MEDIA, BLOCK.bit_length() - 1
        await harness.start(dut)
        await self.bring_up()
        dut.hold.value = 0

    async def bring_up(self) -> None:
        """Enable the streamer, and wait until it is ready."""
        values = {
            "sq_doorbell": SQ_DOORBELL,
            "cq_doorbell": CQ_DOORBELL,
            "nsid": NSID,
            "block_shift": BLOCK.bit_length() - 1,
            "namespace_sectors": MEDIA // 512,
            "queue_entries": ENTRIES,
        }
        for name, value in values.items():
            await self.streamer.write_qword(getattr(regs, name.upper()), value)
        await self.payload.set_up(self.streamer)
        await self.streamer.write_qword(regs.ENABLE, 1)
        while not await self.streamer.read_qword(regs.STATUS) & 1:
            await harness.step(self.dut.clk, 5)

    async def reset_drive(self) -> None:
        """Disable the streamer, reset the drive and bring both up, in any order that may be."""
        dut = self.dut
        first = random.random() < 0.5
        if first:
            await self.streamer.write_qword(regs.ENABLE, 0)
            await harness.step(dut.clk, random.randrange(20))
        dut.hold.value = dut.drives_reset.value = 1
        if not first:
            await harness.step(dut.clk, random.randrange(100))
            await self.streamer.write_qword(regs.ENABLE, 0)
        self.ssd.forget()
        # What the drive had under way is over.
        await harness.step(dut.clk, 400)
        early = random.random() < 0.5
        dut.drives_reset.value = int(early)
        await self.bring_up()
        dut.drives_reset.value = 0
        await harness.step(dut.clk, random.randrange(4))
        dut.hold.value = 0

    async def begin(self, start: int) -> bytes:
        """Write and read some chunks; returns what is written."""
        await self.control(lossy=1)
        await self.source.wait()
        await self.control()
        await self.set(start, COUNT)
        await self.write("read_start", READ * UNIT)
        await self.write("read_max", (READ + COUNT) * UNIT)
        await self.control(write=1, read=1)
        await self.status("reading", 1)
        await self.status("writing", 1)
        data = random.randbytes(COUNT * UNIT)
        self.source.send_nowait(data)
        return data

    async def check(self, start: int, data: bytes) -> dict[str, int]:
        """Compare the medium, all of it, once writing has ended."""
        await self.status("writing", 0)
        found = {name: await self.read(name) for name in ("offered", "stored", "lost")}
        found |= await self.fields("status")
        assert found["offered"] == found["stored"] + found["lost"]
        assert found["stored"] % UNIT == 0
        medium = self.ssd.load(0, MEDIA)
        at, stored = start * UNIT, found["stored"]
        self.medium[at : at + stored] = data[:stored]
        # Of chunks without a response each block may have been stored.
        for place in range(at + stored, at + COUNT * UNIT, BLOCK):
            new = data[place - at : place - at + BLOCK]
            if medium[place : place + BLOCK] == new and place - at < found["offered"]:
                self.medium[place : place + BLOCK] = new
        assert medium == self.medium
        return found


@cocotb.test()
async def drive_is_reset(dut) -> None:
    """Runs are cut off anywhere, once or several times, and the next one is right."""
    recorder, cuts, start = Recorder(dut), 0, 0
    harness.stall(recorder.sink, 0.2)
    await recorder.start()
    rounds = harness.repeat(150, 3, 50)
    for _ in range(rounds):
        data = await recorder.begin(start)
        await harness.step(dut.clk, random.randrange(2500))
        await recorder.reset_drive()
        cuts += (await recorder.check(start, data))["write_code"] == spec.ERR_RESET
        cuts += (await recorder.has_read(recorder.sink, READ, recorder.medium))["read_code"] > 0
        for _ in range(random.choice([0, 0, 1, 2])):
            await harness.step(dut.clk, random.randrange(30))
            await recorder.reset_drive()
        start = (start + 1) % (READ - COUNT)
        data = await recorder.begin(start)
        found = await recorder.check(start, data)
        assert found["write_end"] and found["stored"] == len(data) and not found["write_code"]
        found = await recorder.has_read(recorder.sink, READ, recorder.medium)
        assert found["read_end"] and not found["read_code"]
    assert cuts > rounds


def test_drive_is_reset() -> None:
    """Build recorder and streamer, and simulate them."""
    here = Path(__file__).parent
    simulate(
        __file__,
        "fb_store_raw_streamer_tb",
        {"Chunks": CHUNKS, "QueueDepth": ENTRIES, "Pages": 64},
        filelist=str((here / "streamer.f").relative_to(here.parents[2])),
        extra_sources=[here / "fb_store_raw_streamer_tb.sv"],
    )
