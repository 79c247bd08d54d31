# SPDX-License-Identifier: Apache-2.0
"""fb_bar_registers between its two doors and cocotbext-axi's AXI4-Lite memory as registers."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.triggers import Combine, FallingEdge, with_timeout
from cocotbext.axi import AxiLiteBus, AxiLiteRam

import harness
from runner import simulate

BYTES = 4096
PATIENCE_US = 40


class Doors:
    """The device under test, the registers behind it, and its door beside the BAR."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.latency = int(dut.Latency.value)
        self.door = harness.axil_master(dut, "s_axil_ctrl")
        self.ram = AxiLiteRam(AxiLiteBus.from_entity(dut.m_axil), dut.clk, dut.rst, size=BYTES)
        for half in (self.ram.write_if, self.ram.read_if):
            half.log.setLevel("WARNING")

    def stall(self, share: float) -> None:
        """Pause every channel at random."""
        harness.stall_master(self.door, share, share)
        write, read = self.ram.write_if, self.ram.read_if
        for channel in (write.aw_channel, write.w_channel, write.b_channel):
            harness.stall(channel, share)
        for channel in (read.ar_channel, read.r_channel):
            harness.stall(channel, share)

    async def write(self, address: int, data: int, strobes: int) -> bool:
        """Write a beat of the BAR; say whether it was refused."""
        dut = self.dut
        dut.write_valid.value, dut.write_addr.value = 1, address
        dut.write_data.value, dut.write_strb.value = data, strobes
        await harness.until(dut.clk, dut.write_ready)
        refused = dut.write_refused.value == 1
        await harness.step(dut.clk)
        dut.write_valid.value = 0
        return refused

    async def write_lane(self, address: int, value: int, strobes: int = 0xFF) -> bool:
        """Write bytes of a register, as the bridge has them on its lane; the rest is noise."""
        lane = address // 8 % 8
        data = random.getrandbits(512) & ~((1 << 64) - 1 << 64 * lane)
        return await self.write(address, data | value << 64 * lane, strobes << 8 * lane)

    async def read(self, address: int) -> tuple[int, bool]:
        """Read a beat of the BAR: its word, and whether it is an error."""
        dut = self.dut
        dut.read_valid.value, dut.read_addr.value = 1, address
        await harness.until(dut.clk, dut.read_ready)
        await harness.step(dut.clk)
        dut.read_valid.value = random.getrandbits(1)  # the next beat may be asked for at once
        dut.read_addr.value = random.randrange(BYTES)
        await harness.step(dut.clk, self.latency - 1)
        await FallingEdge(dut.clk)
        word, bad = int(dut.read_word.value), dut.read_error.value == 1
        dut.read_valid.value = 0
        return word, bad


async def start(dut) -> Doors:
    """Reset with everything idle."""
    harness.clear(dut, "write_[vads]*[!y]", "read_valid", "read_addr")
    doors = Doors(dut)
    await harness.start(dut)
    await harness.step(dut.clk)
    return doors


def merged(old: int, value: int, strobes: int) -> int:
    """Return what a register holds after a write of some of its bytes."""
    mask = sum(0xFF << 8 * n for n in range(8) if strobes >> n & 1)
    return old & ~mask | value & mask


async def by_the_bar(doors: Doors, registers: range, rounds: int) -> None:
    """Write and read registers that the other door leaves alone."""
    held = dict.fromkeys(registers, 0)
    for register in registers:
        assert not await doors.write_lane(register, 0)
    for _ in range(rounds):
        register = random.choice(registers)
        if random.random() < 0.5:
            value, strobes = random.getrandbits(64), random.randrange(256)
            assert not await doors.write_lane(register, value, strobes)
            held[register] = merged(held[register], value, strobes)
        else:
            word, bad = await doors.read(register + random.randrange(8))
            assert not bad and word == sum(held[register] << 64 * n for n in range(8))


async def beside_it(doors: Doors, registers: range, rounds: int) -> None:
    """Write and read registers by the AXI4-Lite port."""
    held = dict.fromkeys(registers, 0)
    for register in registers:
        await doors.door.write_qword(register, 0)
    for _ in range(rounds):
        register = random.choice(registers)
        if random.random() < 0.5:
            held[register] = random.getrandbits(64)
            await doors.door.write_qword(register, held[register])
        else:
            assert await doors.door.read_qword(register) == held[register]


@cocotb.test(timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(share=[0.0, 0.5])
async def both_doors(dut, share: float) -> None:
    """Both doors at once, each with registers of its own."""
    doors = await start(dut)
    doors.stall(share)
    rounds = harness.repeat(200, 60)
    await Combine(
        cocotb.start_soon(by_the_bar(doors, range(0, 256, 8), rounds)),
        cocotb.start_soon(beside_it(doors, range(1024, 1280, 8), rounds)),
    )


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def lanes(dut) -> None:
    """A beat writes one register; one with strobes in several lanes is refused and does nothing."""
    doors = await start(dut)
    for register in range(0, 64, 8):
        assert not await doors.write_lane(register, register + 1)
    # The lane is that of the strobes, also where the address is that of the word.
    assert not await doors.write(0, 99 << 64 * 5, 0xFF << 40)
    assert not await doors.write(8, random.getrandbits(512), 0)
    for strobes in (0xFFFF, 1 | 1 << 63, (1 << 64) - 1):
        assert await doors.write(0, random.getrandbits(512), strobes)
    for register in range(0, 64, 8):
        wanted = 99 if register == 40 else register + 1
        assert (await doors.read(register))[0] & (1 << 64) - 1 == wanted


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def errors(dut) -> None:
    """What the registers refuse is told to the door that asked."""
    doors = await start(dut)
    refused = {0x40}
    harness.refuse(doors.ram, refused)
    assert await doors.write_lane(0x40, 1)
    assert not await doors.write_lane(0x80, 1)
    assert (await doors.read(0x48))[1] and not (await doors.read(0x80))[1]
    assert (await doors.door.write(0x40, bytes(8))).resp != 0
    assert (await doors.door.write(0x80, bytes(8))).resp == 0
    assert (await doors.door.read(0x40, 8)).resp != 0
    assert (await doors.door.read(0x80, 8)).resp == 0


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def answers_not_taken(dut) -> None:
    """A door whose answers are not taken does not keep the BAR waiting."""
    doors = await start(dut)
    doors.door.write_if.b_channel.pause = True
    doors.door.read_if.r_channel.pause = True
    operations = [doors.door.init_write(1024, bytes(8)), doors.door.init_read(1024, 8)]
    await harness.step(dut.clk, 40)
    await with_timeout(by_the_bar(doors, range(0, 64, 8), 20), PATIENCE_US, "us")
    doors.door.write_if.b_channel.pause = False
    doors.door.read_if.r_channel.pause = False
    for operation in operations:
        await with_timeout(operation.wait(), PATIENCE_US, "us")


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def reset_in_access(dut) -> None:
    """After a reset in the middle of accesses both doors work."""
    doors = await start(dut)
    for _ in range(8):
        doors.door.init_write(1024, bytes(8))
        doors.door.init_read(1024, 8)
        dut.write_valid.value, dut.write_strb.value = random.getrandbits(1), 0xFF
        dut.read_valid.value = random.getrandbits(1)
        await harness.step(dut.clk, random.randrange(1, 14))
        dut.write_valid.value, dut.read_valid.value = 0, 0
        await harness.reset(dut)
        await harness.step(dut.clk, 4)
        await by_the_bar(doors, range(0, 64, 8), 5)
        await beside_it(doors, range(1024, 1088, 8), 5)


def run(latency: int, **options: object) -> None:
    """Build the module and simulate it."""
    simulate(
        __file__,
        "fb_bar_registers",
        {"Latency": latency},
        filelist="rtl/top/onchip.f",
        interfaces={"s_axil_ctrl": "fb_axil_if", "m_axil": "fb_axil_if"},
        **options,
    )


@pytest.mark.parametrize("latency", [2, 3, 16])
def test_registers(latency: int) -> None:
    """Run all coroutines at this latency of a word."""
    run(latency)
