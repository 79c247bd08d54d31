# SPDX-License-Identifier: Apache-2.0
"""The streamer with a host port: software's registers and window on one side, a drive behind.

Also run by ../fb_top_host_dram and ../fb_top_host_hostdram, whose payload is elsewhere.
"""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.triggers import with_timeout

import harness
from forebay import host_port_regs as port
from forebay import spec
from forebay import streamer_regs as regs
from payload import Payload
from runner import simulate
from ssd import CQ_DOORBELL, NSID, SQ_DOORBELL, Ssd

SECTORS = 1 << 20
PATIENCE_US = 400
HOST_PAGES = 16
HALF = HOST_PAGES // 2 * spec.PAGE_BYTES
VALID = 1 << port.FIELDS["read"]["valid"][0]
LAST = 1 << port.FIELDS["write"]["last"][0]


class Card:
    """The card, its drive, and the host's three ways in."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.entries = int(dut.QueueDepth.value)
        self.ssd = Ssd(dut, entries=self.entries, delay=30)
        self.ctrl = harness.axil_master(dut, "s_axil_ctrl")
        self.port = harness.axil_master(dut, "s_axil_host")
        self.window = harness.axi_master(dut, "s_axi_host")
        self.payload = Payload(dut, self.ssd)

    async def set_up(self) -> None:
        """Write the streamer's registers as the driver does and enable it."""
        values = {
            "enable": 0,
            "sq_doorbell": SQ_DOORBELL,
            "cq_doorbell": CQ_DOORBELL,
            "nsid": NSID,
            "namespace_sectors": SECTORS,
            "queue_entries": self.entries,
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
        for master in (*self.ssd.bar.masters, self.ctrl, self.port, self.window):
            harness.stall_master(master, share, share)
        self.payload.stall(share)

    async def until(self, register: int, mask: int, value: int) -> int:
        """Read a register of the port until its bits under a mask have a value."""

        async def poll() -> int:
            while True:
                found = await self.port.read_qword(register)
                if found & mask == value:
                    return found

        return await with_timeout(poll(), PATIENCE_US, "us")

    async def write(self, address: int, data: bytes) -> int:
        """Write to the drive; return the response."""
        packet = address.to_bytes(64, "little") + data
        for at in range(0, len(packet), HALF):
            part = packet[at : at + HALF]
            last = LAST if at + HALF >= len(packet) else 0
            await self.until(port.STATUS, 1, 0)
            await self.window.write(0, part)
            await self.port.write_qword(port.WRITE, len(part) | last)
        response = await self.until(port.RESPONSE, VALID, VALID)
        await self.port.write_qword(port.RESPONSE, VALID)
        return response & 0xFF

    async def read(self, address: int, length: int) -> tuple[bytes, int]:
        """Read from the drive; return the bytes and the code."""
        await self.port.write_qword(port.READ_ADDRESS, address)
        await self.port.write_qword(port.READ_LENGTH, length)
        await self.port.write_qword(port.READ_COMMAND, 0)
        data = b""
        while True:
            shown = await self.until(port.READ, VALID, VALID)
            count = shown & 0x3FFFFF
            if count:
                data += (await self.window.read(HALF, count)).data
            await self.port.write_qword(port.READ, VALID)
            if shown >> port.FIELDS["read"]["last"][0] & 1:
                failed = shown >> port.FIELDS["read"]["error"][0] & 1
                return data, shown >> port.FIELDS["read"]["code"][1] & 0xFF if failed else 0


async def start(dut) -> Card:
    """Reset, set up, enable."""
    card = Card(dut)
    await harness.start(dut)
    await card.set_up()
    return card


async def work(card: Card, count: int) -> None:
    """Write and read back at random places and lengths."""
    fixed = [1, 64, 511, 512, HALF - 64, HALF - 63, 2 * HALF + 5]
    for length in fixed[:count] + [random.randrange(1, 2 * HALF) for _ in range(count)]:
        address, data = 512 * random.randrange(SECTORS // 2), random.randbytes(length)
        assert await card.write(address, data) == spec.ERR_OK
        assert card.ssd.load(address, length) == data
        assert await card.read(address, length) == (data, spec.ERR_OK)
    assert await card.port.read_qword(port.STATUS) == 0
    assert await card.port.read_qword(port.REFUSED) == 0


@cocotb.test()
@cocotb.parametrize(share=[0.0, 0.4])
async def there_and_back(dut, share: float) -> None:
    """What the host writes is on the medium, and it reads the same."""
    card = await start(dut)
    card.stall(share)
    await work(card, harness.repeat(30, 3))


@cocotb.test()
async def codes(dut) -> None:
    """What breaks a rule has its code and disturbs nothing."""
    card = await start(dut)
    assert await card.write(7, bytes(64)) == spec.ERR_MISALIGNED
    assert await card.write(0, b"") == spec.ERR_ZERO_LENGTH
    assert await card.write(SECTORS * 512, bytes(64)) == spec.ERR_OUT_OF_RANGE
    assert await card.read(7, 64) == (b"", spec.ERR_MISALIGNED)
    assert await card.read(SECTORS * 512 - 512, 513) == (b"", spec.ERR_OUT_OF_RANGE)
    await work(card, 1)


@cocotb.test()
async def cleared_write(dut) -> None:
    """A write that is cleared in its middle fails, and what follows works."""
    card = await start(dut)
    for _ in range(3):
        await card.window.write(0, bytes(HALF))
        await card.port.write_qword(port.WRITE, HALF)
        await harness.step(dut.clk, random.randrange(1, 200))
        await card.port.write_qword(port.CONTROL, 1)
        await card.until(port.STATUS, (1 << 64) - 1, 0)
        while not await card.ctrl.read_qword(regs.STATUS) >> 2 & 1:
            pass
        await card.port.write_qword(port.CONTROL, 0)
        await work(card, 1)


@cocotb.test()
async def reset_in_transaction(dut) -> None:
    """A reset in the middle of a write and a read leaves a card that works."""
    card = await start(dut)
    for _ in range(2):
        await card.window.write(0, bytes(HALF))
        await card.port.write_qword(port.WRITE, HALF)
        await card.port.write_qword(port.READ_LENGTH, 5 * HALF)
        await card.port.write_qword(port.READ_COMMAND, 0)
        await harness.step(dut.clk, random.randrange(1, 500))
        card.ssd.forget()
        await harness.reset(dut, 8)
        await harness.step(dut.clk, 8)
        await card.set_up()
        await work(card, 1)


@pytest.mark.parametrize("depth", [8])
def test_top(depth: int) -> None:
    """Run all coroutines with these parameters."""
    parameters = {
        "QueueDepth": depth,
        "Pages": 64,
        "ReservePages": 16,
        "HostPages": HOST_PAGES,
    }
    simulate(__file__, "fb_top_host", parameters, filelist="rtl/top/host.f")
