# SPDX-License-Identifier: Apache-2.0
"""fb_axi_mux between cocotbext-axi's masters, one a port, and its memory."""

from __future__ import annotations

import random
from pathlib import Path

import cocotb
import pytest
from cocotb.handle import HierarchyObject
from cocotb.triggers import Combine, FallingEdge
from cocotbext.axi import AxiBus, AxiMaster, AxiRam

import harness
from runner import simulate

PAGE = 4096
SPAN = 4 * PAGE
PORTS = 3


class Joined:
    """The device under test, a master at each port, and the memory behind."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.masters = [harness.axi_master(dut, f"p[{n}]", ids=False) for n in range(PORTS)]
        bus = AxiBus.from_entity(dut.m_axi)
        self.ram = AxiRam(bus, dut.clk, dut.rst, size=PORTS * SPAN)
        for half in (self.ram.write_if, self.ram.read_if):
            half.log.setLevel("WARNING")

    def stall(self, share: float) -> None:
        """Pause every channel at random."""
        for master in self.masters:
            harness.stall_master(master, share, share)
        write, read = self.ram.write_if, self.ram.read_if
        for channel in (write.aw_channel, write.w_channel, write.b_channel):
            harness.stall(channel, share)
        for channel in (read.ar_channel, read.r_channel):
            harness.stall(channel, share)


async def start(dut) -> Joined:
    """Reset with everything idle."""
    joined = Joined(dut)
    await harness.start(dut)
    await harness.step(dut.clk)
    return joined


async def mixed(master: AxiMaster, first: int, rounds: int) -> None:
    """Write and read a stretch that no other port uses."""
    held = bytearray(SPAN)
    await master.write(first, bytes(held))
    for _ in range(rounds):
        at = random.randrange(SPAN)
        length = min(random.choice([1, 64, 65, 512, 4096]), SPAN - at)
        if random.random() < 0.5:
            data = random.randbytes(length)
            await master.write(first + at, data)
            held[at : at + length] = data
        else:
            assert (await master.read(first + at, length)).data == held[at : at + length]


@cocotb.test()
@cocotb.parametrize(share=[0.0, 0.5])
async def all_ports(dut, share: float) -> None:
    """Each port finds what it wrote, while the others work."""
    joined = await start(dut)
    joined.stall(share)
    rounds = harness.repeat(60, 25)
    users = (
        cocotb.start_soon(mixed(master, n * SPAN, rounds))
        for n, master in enumerate(joined.masters)
    )
    await Combine(*users)


@cocotb.test()
async def order_of_addresses(dut) -> None:
    """A write that is sent when another port's address was accepted comes behind that."""
    joined = await start(dut)
    joined.stall(0.4)
    order: list[tuple[str, int]] = []

    async def watch(name: str, port: HierarchyObject) -> None:
        while True:
            await FallingEdge(dut.clk)
            if port.awvalid.value == 1 and port.awready.value == 1:
                order.append((name, int(port.awaddr.value)))

    cocotb.start_soon(watch("port", dut.p[0]))
    cocotb.start_soon(watch("target", dut.m_axi))
    last = (PORTS - 1) * SPAN
    for n in range(40):
        at = PAGE * (n % 4) + 64 * n
        write = joined.masters[0].init_write(at, random.randbytes(192))
        while ("port", at) not in order:
            await harness.step(dut.clk)
        other = joined.masters[-1].init_write(last + at, bytes(16))
        await write.wait()
        await other.wait()
        passed = [address for name, address in order if name == "target"]
        assert passed.index(at) < passed.index(last + at)


@cocotb.test()
async def nobody_starves(dut) -> None:
    """While port 0 has address after address, each other port has its turn."""
    joined = await start(dut)
    writes = [joined.masters[0].init_write(64 * (n % 64), bytes(64)) for n in range(300)]
    reads = [joined.masters[0].init_read(64 * (n % 64), 64) for n in range(300)]
    await harness.step(dut.clk, 20)
    for n, master in enumerate(joined.masters[1:], 1):
        begin = harness.cycle()
        await master.write(n * SPAN, bytes(64))
        await master.read(n * SPAN, 64)
        assert harness.cycle() - begin < 6 * int(dut.u_join.Most.value) + 60
    assert not all(operation.is_set() for operation in writes + reads)
    for operation in writes + reads:
        await operation.wait()


@cocotb.test()
async def rates(dut) -> None:
    """A port alone has 64 B a cycle each way, with bursts of a page."""
    joined, port = await start(dut), dut.p[0]
    written: list[int] = []
    read: list[int] = []
    cocotb.start_soon(harness.record(dut.clk, port.wvalid, port.wready, written))
    cocotb.start_soon(harness.record(dut.clk, port.rvalid, port.rready, read))
    writes = [joined.masters[0].init_write(n * PAGE, bytes(PAGE)) for n in range(4)]
    for operation in writes:
        await operation.wait()
    reads = [joined.masters[0].init_read(n * PAGE, PAGE) for n in range(4)]
    for operation in reads:
        await operation.wait()
    # The memory takes a cycle between bursts.
    assert harness.rate(written) > 0.96 and harness.rate(read) > 0.96


@cocotb.test()
async def reset_in_burst(dut) -> None:
    """After a reset in the middle of bursts all ports work."""
    joined = await start(dut)
    for _ in range(5):
        for n, master in enumerate(joined.masters):
            master.init_write(n * SPAN, bytes(2 * PAGE))
            master.init_read(n * SPAN, 2 * PAGE)
        await harness.step(dut.clk, random.randrange(3, 60))
        await harness.reset(dut)
        await harness.step(dut.clk, 2)
        for n, master in enumerate(joined.masters):
            await mixed(master, n * SPAN, 3)


def run(most: int, **options: object) -> None:
    """Build the module behind ports of their own names, and simulate it."""
    simulate(
        __file__,
        "fb_axi_mux_tb",
        {"Most": most},
        filelist="rtl/top/onchip.f",
        extra_sources=[Path(__file__).parent / "fb_axi_mux_tb.sv"],
        **options,
    )


@pytest.mark.parametrize("most", [1, 15])
def test_join(most: int) -> None:
    """Run all coroutines with this many addresses in a row."""
    run(most)
