# SPDX-License-Identifier: Apache-2.0
"""fb_nvme_doorbell against cocotbext-axi's AXI4-Lite memory and a slave that answers late."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.triggers import FallingEdge
from cocotbext.axi import AxiLiteRamWrite, AxiLiteSlaveWrite, AxiLiteWriteBus, SparseMemoryRegion

import harness
from runner import simulate

SQ_DOORBELL = 0x1008  # controller registers at stride 4, queue 1 (NVMe Base 2.0c 3.1.25)
CQ_DOORBELL = 0x100C
LIMIT = 1024


def clear(dut) -> None:
    """Set all inputs to zero."""
    harness.clear(dut, "enable", "sq_tail", "cq_head", "?q_address", "offset")
    harness.clear(dut.m_axil_db, "a?ready", "wready", "bvalid", "bresp", "rdata", "rvalid", "rresp")


class Doorbells:
    """The writes that left the device under test, as a slave saw them."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.writes: list[tuple[int, int]] = []
        self.pulses: list[tuple[str, int]] = []
        cocotb.start_soon(self._watch_bus())
        cocotb.start_soon(self._watch_pulses())

    async def _watch_bus(self) -> None:
        dut = self.dut
        address = value = None
        while True:
            await FallingEdge(dut.clk)
            if dut.rst.value == 1:
                address = value = None
            assert dut.m_axil_db.arvalid.value == 0
            if dut.m_axil_db.awvalid.value == 1 and dut.m_axil_db.awready.value == 1:
                assert address is None, "a second address before the first was answered"
                address = int(dut.m_axil_db.awaddr.value)
            if dut.m_axil_db.wvalid.value == 1 and dut.m_axil_db.wready.value == 1:
                assert value is None, "second data before the first was answered"
                assert dut.m_axil_db.wstrb.value == 0xF
                value = int(dut.m_axil_db.wdata.value)
            if dut.m_axil_db.bvalid.value == 1 and dut.m_axil_db.bready.value == 1:
                self.writes.append((address, value))
                address = value = None

    async def _watch_pulses(self) -> None:
        dut = self.dut
        while True:
            await FallingEdge(dut.clk)
            assert not (dut.sq_rung.value == 1 and dut.cq_rung.value == 1)
            for kind in ("sq", "cq"):
                if getattr(dut, f"{kind}_rung").value == 1:
                    self.pulses.append((kind, int(dut.rung_value.value)))

    def values(self, address: int) -> list[int]:
        """Return what was written to one doorbell, in order."""
        return [value for at, value in self.writes if at == address]


async def start(dut) -> tuple[Doorbells, AxiLiteRamWrite]:
    """Reset, with a memory behind the port."""
    clear(dut)
    dut.sq_address.value = SQ_DOORBELL
    dut.cq_address.value = CQ_DOORBELL
    bus = AxiLiteWriteBus.from_entity(dut.m_axil_db)
    ram = AxiLiteRamWrite(bus, dut.clk, dut.rst, size=2**14)
    await harness.start(dut)
    return Doorbells(dut), ram


def stall(slave: AxiLiteSlaveWrite, share: float) -> None:
    """Pause the three channels at random, each for itself."""
    for channel in (slave.aw_channel, slave.w_channel, slave.b_channel):
        harness.stall(channel, share)


@cocotb.test()
@cocotb.parametrize(share=[0.0, 0.5, 0.9])
async def announces_the_last(dut, share: float) -> None:
    """However the values move and the bus stalls, the last ones arrive, in order, without gaps."""
    doorbells, ram = await start(dut)
    stall(ram, share)
    dut.enable.value = 1
    moves = {"sq": [0], "cq": [0]}
    for _ in range(300):
        await harness.step(dut.clk, random.choice([1, 1, 2, 3, 20]))
        for kind, signal in (("sq", dut.sq_tail), ("cq", dut.cq_head)):
            if random.random() < 0.6:
                moves[kind].append((moves[kind][-1] + random.randrange(1, 4)) % LIMIT)
                signal.value = moves[kind][-1]
    await harness.step(dut.clk, 400)
    assert ram.read_dword(SQ_DOORBELL) == moves["sq"][-1]
    assert ram.read_dword(CQ_DOORBELL) == moves["cq"][-1]
    for kind, address in (("sq", SQ_DOORBELL), ("cq", CQ_DOORBELL)):
        announced = doorbells.values(address)
        assert announced == [value for which, value in doorbells.pulses if which == kind]
        # Each is a value that was shown, in the order shown.
        shown = iter(moves[kind])
        assert all(value in shown for value in announced)
    assert not (int(dut.m_axil_db.awvalid.value) or int(dut.m_axil_db.wvalid.value))


@cocotb.test()
async def offset_is_added(dut) -> None:
    """What is added to an address counts modulo 2^64."""
    doorbells, _ = await start(dut)
    dut.sq_address.value = 0x7_0000_1008
    for offset in (0, 0x5000, 2**64 - 0x7_0000_1000):
        dut.offset.value = offset
        dut.enable.value = 1
        dut.sq_tail.value = 1
        await harness.step(dut.clk, 20)
        assert doorbells.writes.pop() == ((0x7_0000_1008 + offset) % 2**64, 1)
        dut.enable.value = 0
        dut.sq_tail.value = 0
        await harness.step(dut.clk, 4)


@cocotb.test()
async def latency_and_rate(dut) -> None:
    """The write is offered three cycles after the tail changes; no later change is lost."""
    doorbells, _ = await start(dut)
    dut.enable.value = 1
    await harness.step(dut.clk, 5)
    dut.sq_tail.value = 1
    changed = harness.cycle()
    await FallingEdge(dut.clk)
    assert dut.m_axil_db.awvalid.value == 0
    offered = await harness.until(dut.clk, dut.m_axil_db.awvalid)
    assert offered - changed == 3 and dut.m_axil_db.wvalid.value == 1
    for tail in range(2, 60):
        await harness.step(dut.clk)
        dut.sq_tail.value = tail
    await harness.step(dut.clk, 20)
    count = len(doorbells.values(SQ_DOORBELL))
    dut._log.info("%d doorbells for 59 changes in 59 cycles", count)
    assert doorbells.values(SQ_DOORBELL)[-1] == 59


@cocotb.test()
async def neither_starves(dut) -> None:
    """When both queues move all the time, their doorbells take turns."""
    doorbells, _ = await start(dut)
    dut.enable.value = 1
    for n in range(1, 400):
        await harness.step(dut.clk)
        dut.sq_tail.value = n % LIMIT
        dut.cq_head.value = n % LIMIT
    await harness.step(dut.clk, 20)
    sq, cq = len(doorbells.values(SQ_DOORBELL)), len(doorbells.values(CQ_DOORBELL))
    assert abs(sq - cq) <= 1 and sq > 20
    assert doorbells.writes[0][0] == SQ_DOORBELL


@cocotb.test()
@cocotb.parametrize(share=[0.0, 0.7])
async def several_drives(dut, share: float) -> None:
    """Each drive's last values arrive at its own doorbells, and none waits for long."""
    doorbells, ram = await start(dut)
    stall(ram, share)
    drives = len(dut.sq_tail.value) // 11

    async def addresses() -> None:
        while True:
            dut.sq_address.value = 0x100 * int(dut.ring_drive.value)
            dut.cq_address.value = 0x100 * int(dut.ring_drive.value) + 4
            await dut.ring_drive.value_change

    cocotb.start_soon(addresses())
    dut.enable.value = 1
    values = {(drive, kind): 0 for drive in range(drives) for kind in (0, 4)}
    for _ in range(400):
        await harness.step(dut.clk)
        for which in values:
            if random.random() < 0.3:
                values[which] = (values[which] + 1) % LIMIT
        for kind, signal in ((0, dut.sq_tail), (4, dut.cq_head)):
            signal.value = sum(values[drive, kind] << 11 * drive for drive in range(drives))
    await harness.step(dut.clk, 100 * drives)
    counts = []
    for (drive, kind), value in values.items():
        written = doorbells.values(0x100 * drive + kind)
        assert written[-1] == value
        counts.append(len(written))
    assert max(counts) <= min(counts) + 2


@cocotb.test()
async def disabling(dut) -> None:
    """Disabled, nothing starts and a write under way ends; enabled, counting begins at 0 again."""
    doorbells, ram = await start(dut)
    dut.sq_tail.value = 5
    await harness.step(dut.clk, 20)
    assert not doorbells.writes
    dut.enable.value = 1
    ram.w_channel.pause = True
    await harness.step(dut.clk, 10)
    dut.enable.value = 0
    dut.sq_address.value = 0x2000
    dut.sq_tail.value = 0
    await harness.step(dut.clk, 10)
    ram.w_channel.pause = False
    await harness.step(dut.clk, 30)
    assert doorbells.writes == [(SQ_DOORBELL, 5)]
    dut.enable.value = 1
    await harness.step(dut.clk, 30)
    assert len(doorbells.writes) == 1
    dut.sq_tail.value = 5
    await harness.step(dut.clk, 30)
    assert doorbells.writes[1:] == [(0x2000, 5)]


@cocotb.test()
async def wide_addresses(dut) -> None:
    """All 64 bits of a doorbell's address are used, and any stride."""
    clear(dut)
    dut.sq_address.value = 0xFEED_0000_0010_0000 + SQ_DOORBELL
    bus = AxiLiteWriteBus.from_entity(dut.m_axil_db)
    AxiLiteSlaveWrite(bus, dut.clk, dut.rst, target=SparseMemoryRegion(2**64))
    await harness.start(dut)
    doorbells = Doorbells(dut)
    dut.cq_address.value = 0xFEED_0000_0020_0F00
    dut.enable.value = 1
    dut.sq_tail.value = 1023
    dut.cq_head.value = 1022
    await harness.step(dut.clk, 30)
    assert doorbells.writes == [
        (0xFEED_0000_0010_0000 + SQ_DOORBELL, 1023),
        (0xFEED_0000_0020_0F00, 1022),
    ]


@cocotb.test()
async def refused(dut) -> None:
    """A write that is answered with an error is reported once; the next one goes on."""
    clear(dut)
    dut.sq_address.value = SQ_DOORBELL
    await harness.start(dut)
    dut.enable.value = 1
    errors = 0
    for tail in range(1, 9):
        await harness.step(dut.clk)
        dut.sq_tail.value = tail
        dut.m_axil_db.awready.value, dut.m_axil_db.wready.value = 1, 1
        await harness.step(dut.clk, 5)
        dut.m_axil_db.bvalid.value, dut.m_axil_db.bresp.value = 1, tail % 4
        await harness.step(dut.clk)
        dut.m_axil_db.bvalid.value = 0
        await FallingEdge(dut.clk)
        assert dut.error.value == (tail % 4 != 0)
        errors += int(dut.error.value)
    assert errors == 6


@cocotb.test()
async def reset_in_write(dut) -> None:
    """A reset in the middle of a write forgets it and the values sent."""
    doorbells, ram = await start(dut)
    dut.enable.value = 1
    for n in range(1, 8):
        stall(ram, 0.5)
        dut.sq_tail.value = n
        await harness.step(dut.clk, random.randrange(1, 6))
        await harness.reset(dut, 2)
        doorbells.writes.clear()
        await harness.step(dut.clk, 200)
        assert ram.read_dword(SQ_DOORBELL) == n


@harness.provocation
async def early_answer(dut) -> None:
    """An answer before the write was accepted must be noticed."""
    clear(dut)
    await harness.start(dut)
    dut.m_axil_db.bvalid.value = 1
    await harness.step(dut.clk, 3)


@harness.provocation
async def read_answer(dut) -> None:
    """An answer to a read that was not sent must be noticed."""
    clear(dut)
    await harness.start(dut)
    dut.m_axil_db.rvalid.value = 1
    await harness.step(dut.clk, 3)


@harness.provocation
async def forgotten_value(dut) -> None:
    """A value left unannounced must be noticed: the register that starts writes is held down."""
    clear(dut)
    await harness.start(dut)
    dut.enable.value = 1
    dut.sq_tail.value = 1
    for _ in range(9):
        await FallingEdge(dut.clk)
        dut.u_dut.busy_q.value = 0
        dut.u_dut.sent_q.value = 0
        dut.u_dut.aw_valid_q.value = 0
        dut.u_dut.w_valid_q.value = 0


def run(drives: int = 1, **options: object) -> None:
    """Build the module and simulate it."""
    parameters = {"Drives": drives}
    interfaces = {"m_axil_db": "fb_axil_if #(.AddrBits(64), .DataBits(32))"}
    simulate(
        __file__,
        "fb_nvme_doorbell",
        parameters,
        filelist="rtl/top/onchip.f",
        interfaces=interfaces,
        **options,
    )


@pytest.mark.parametrize("drives", [1, 5])
def test_doorbell(drives: int) -> None:
    """Run all coroutines for this number of drives."""
    run(drives)


def test_assertion_fires() -> None:
    """Each assertion fires."""
    run(
        fires={
            "early_answer": "answer_after_write",
            "read_answer": "never_reads",
            "forgotten_value": "last_value_announced",
        }
    )
