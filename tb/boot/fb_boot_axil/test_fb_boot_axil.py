# SPDX-License-Identifier: Apache-2.0
"""fb_boot_axil on a bus of 64 bits, in front of a memory; that of 32 is in fb_boot_access."""

from __future__ import annotations

import random

import cocotb
from cocotb.triggers import FallingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteRam

import harness
from runner import simulate

BYTES = 4096
TIMEOUT = 300  # cycles


class Bench:
    """The device under test, and a memory that begins with noise."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.ram = AxiLiteRam(AxiLiteBus.from_entity(dut.m_axil), dut.clk, dut.rst, size=BYTES)
        for half in (self.ram.write_if, self.ram.read_if):
            half.log.setLevel("WARNING")
        self.expected = bytearray(random.randbytes(BYTES))
        self.ram.write(0, bytes(self.expected))

    def stall(self, share: float) -> None:
        """Pause all channels at random."""
        write, read = self.ram.write_if, self.ram.read_if
        for channel in (write.aw_channel, write.w_channel, write.b_channel):
            harness.stall(channel, share)
        for channel in (read.ar_channel, read.r_channel):
            harness.stall(channel, share)

    async def access(
        self, addr: int, size: int, wdata: int | None = None, *, refuse: bool = False
    ) -> tuple[bool, int]:
        """Make an access; return whether it ended in error, and the data."""
        dut = self.dut
        dut.s_valid.value, dut.s_refuse.value = 1, refuse
        dut.s_write.value, dut.s_wide.value, dut.s_addr.value = wdata is not None, size == 8, addr
        noise = random.getrandbits(64)
        dut.s_wdata.value = noise if wdata is None else wdata | noise >> 8 * size << 8 * size
        await harness.until(dut.clk, dut.s_ready, limit=2 * TIMEOUT)
        await harness.step(dut.clk)
        dut.s_valid.value = 0
        await FallingEdge(dut.clk)
        assert dut.m_valid.value == 1
        found = harness.high(dut.m_error), int(dut.m_rdata.value) & (1 << 8 * size) - 1
        await harness.step(dut.clk)
        return found


async def bench(dut) -> Bench:
    """Reset, with idle inputs."""
    harness.clear(dut, "s_valid", "s_refuse", "s_write", "s_wide", "s_addr", "s_wdata")
    made = Bench(dut)
    await harness.start(dut)
    await harness.step(dut.clk)
    return made


@cocotb.test()
@cocotb.parametrize(share=[0.0, 0.5])
async def accesses(dut, share: float) -> None:
    """Both widths change and read their bytes and no others; what is refused does nothing."""
    made = await bench(dut)
    made.stall(share)
    for _ in range(harness.repeat(2000, 300)):
        size = random.choice([4, 8])
        addr = random.randrange(BYTES) & random.choice([-8, -4, -4, -1])
        refuse = random.random() < 0.1
        right = addr % size == 0 and not refuse
        old = int.from_bytes(made.expected[addr : addr + size], "little")
        if random.random() < 0.5:
            value = random.getrandbits(8 * size)
            error, _ = await made.access(addr, size, value, refuse=refuse)
            if right:
                made.expected[addr : addr + size] = value.to_bytes(size, "little")
        else:
            error, value = await made.access(addr, size, refuse=refuse)
            assert not right or value == old
        assert error == (not right)
        assert made.ram.read(0, BYTES) == made.expected
    made.stall(0)


@cocotb.test()
async def hangs(dut) -> None:
    """An access without a response ends, and no other is sent until a reset."""
    made = await bench(dut)
    made.ram.read_if.r_channel.pause = True
    assert (await made.access(8, 8))[0] and dut.hung.value == 1
    made.ram.read_if.r_channel.pause = False
    before = made.ram.read(0, BYTES)
    assert (await made.access(16, 8, 5))[0]
    await harness.step(dut.clk, 10)
    assert made.ram.read(0, BYTES) == before and dut.hung.value == 1
    await harness.reset(dut)
    await harness.step(dut.clk)
    assert await made.access(8, 8) == (False, int.from_bytes(made.expected[8:16], "little"))


@harness.provocation
async def request_changes(dut) -> None:
    """The request changes while it waits."""
    made = await bench(dut)
    made.ram.read_if.r_channel.pause = True
    dut.s_addr.value, dut.s_valid.value = 8, 1
    await harness.step(dut.clk, 3)
    dut.s_addr.value = 16
    await harness.step(dut.clk, 2)


def run(**options: object) -> None:
    """Build the module and simulate it."""
    simulate(
        __file__,
        "fb_boot_axil",
        {"AddrBits": 12, "DataBits": 64, "TimeoutCycles": TIMEOUT},
        interfaces={"m_axil": "fb_axil_if"},
        **options,
    )


def test_axil() -> None:
    """All cases."""
    run()


def test_assertion_fires() -> None:
    """The check of the request fires."""
    run(fires={"request_changes": "boot request: payload changed"})
