# SPDX-License-Identifier: Apache-2.0
"""fb_axi_width between a narrow master and a wide memory, both of cocotbext-axi."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.triggers import Combine
from cocotbext.axi import AxiBus, AxiMaster, AxiRam
from cocotbext.axi.constants import AxiResp

import harness
from runner import simulate

PAGE = 4096
SPAN = 4 * PAGE
USERS = 4
PORTS = [f"{side}_axi.{channel}" for side in "sm" for channel in ("aw", "w", "ar", "r")]


class Widened:
    """The device under test, the narrow master, and the memory behind."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.bytes = len(dut.s_axi.wdata) // 8
        self.master: AxiMaster = harness.axi_master(dut, "s_axi")
        bus = harness.bus(AxiBus, dut, "m_axi")
        self.ram = AxiRam(bus, dut.clk, dut.rst, size=USERS * SPAN)
        for half in (self.ram.write_if, self.ram.read_if):
            half.log.setLevel("WARNING")
        self.cycles: dict[str, list[int]] = {port: [] for port in PORTS}
        for port, cycles in self.cycles.items():
            side, channel = port.split(".")
            bus = getattr(dut, side)
            valid, ready = (getattr(bus, f"{channel}{half}") for half in ("valid", "ready"))
            cocotb.start_soon(harness.record(dut.clk, valid, ready, cycles))

    def stall(self, share: float) -> None:
        """Pause every channel at random."""
        harness.stall_master(self.master, share, share)
        write, read = self.ram.write_if, self.ram.read_if
        for channel in (write.aw_channel, write.w_channel, write.b_channel):
            harness.stall(channel, share)
        for channel in (read.ar_channel, read.r_channel):
            harness.stall(channel, share)

    def sizes(self) -> list[int | None]:
        """Sizes that a beat can have; none: the widest."""
        return [None, *range(self.bytes.bit_length())]


async def start(dut) -> Widened:
    """Reset with everything idle."""
    widened = Widened(dut)
    await harness.start(dut)
    await harness.step(dut.clk)
    return widened


async def mixed(widened: Widened, user: int, rounds: int) -> None:
    """Write and read a stretch of one's own: any place, length, size of beats and identifier."""
    first, master = user * SPAN, widened.master
    held = bytearray(SPAN)
    widened.ram.write(first, held)
    for _ in range(rounds):
        at = random.randrange(SPAN)
        length = min(random.choice([1, 3, 16, 63, 64, 65, 200, 1000]), SPAN - at)
        size, number = random.choice(widened.sizes()), random.randrange(4)
        if random.random() < 0.5:
            data = random.randbytes(length)
            await master.write(first + at, data, size=size, awid=number)
            held[at : at + length] = data
        else:
            answer = await master.read(first + at, length, size=size, arid=number)
            assert answer.data == held[at : at + length]
    assert widened.ram.read(first, SPAN) == held


@cocotb.test()
@cocotb.parametrize(share=[0.0, 0.5])
async def any_burst(dut, share: float) -> None:
    """Bursts of each kind find and leave the bytes that they should, many under way at once."""
    widened = await start(dut)
    widened.stall(share)
    rounds = harness.repeat(400, 16, share=25)
    await Combine(*(cocotb.start_soon(mixed(widened, n, rounds)) for n in range(USERS)))


@cocotb.test()
async def words(dut) -> None:
    """Whole beats share words; narrow and single ones keep theirs."""
    widened = await start(dut)
    wide = 64 // widened.bytes
    await widened.master.write(0, bytes(PAGE))
    await widened.master.read(0, PAGE)
    for channel in "wr":
        narrow = len(widened.cycles[f"s_axi.{channel}"])
        assert narrow == wide * len(widened.cycles[f"m_axi.{channel}"]) == wide * 64
    assert len(widened.cycles["m_axi.aw"]) == len(widened.cycles["s_axi.aw"])
    for cycles in widened.cycles.values():
        cycles.clear()
    await widened.master.write(60, bytes(8), size=2)
    await widened.master.read(60, 8, size=2)
    assert len(widened.cycles["m_axi.w"]) == len(widened.cycles["m_axi.r"]) == 2


@cocotb.test()
async def rates(dut) -> None:
    """A narrow beat a cycle each way, in long bursts and in bursts of 64 B."""
    widened = await start(dut)
    for length in (PAGE, 64):
        count = 2 * PAGE // length
        for cycles in widened.cycles.values():
            cycles.clear()
        writes = [widened.master.init_write(n * length, bytes(length)) for n in range(count)]
        reads = [widened.master.init_read(n * length, length) for n in range(count)]
        for operation in writes + reads:
            await operation.wait()
        # The memory takes a cycle between bursts, the master another.
        least = 0.96 if length == PAGE else 0.6
        for channel in "wr":
            assert harness.rate(widened.cycles[f"s_axi.{channel}"]) > least, (length, channel)


@cocotb.test()
async def what_is_refused(dut) -> None:
    """SLVERR comes back with the burst, and with the beats, that it is about."""
    widened = await start(dut)
    harness.refuse(widened.ram, {0, 128})
    for at, resp in ((0, AxiResp.SLVERR), (64, AxiResp.OKAY), (128, AxiResp.SLVERR)):
        assert (await widened.master.write(at, bytes(64))).resp == resp
        assert (await widened.master.read(at, 64)).resp == resp
        assert (await widened.master.read(at + 4, 4)).resp == resp
    assert (await widened.master.read(64, 128)).resp == AxiResp.SLVERR


@cocotb.test()
async def reset_in_burst(dut) -> None:
    """After a reset in the middle of bursts all works."""
    widened = await start(dut)
    for _ in range(8):
        for user in range(USERS):
            widened.master.init_write(user * SPAN, bytes(PAGE))
            widened.master.init_read(user * SPAN, PAGE)
        await harness.step(dut.clk, random.randrange(3, 200))
        await harness.reset(dut)
        await harness.step(dut.clk, 2)
        await mixed(widened, 0, 6)


@harness.provocation
async def early_wlast(dut) -> None:
    """The master ends a burst too early."""
    widened = await start(dut)
    channel = widened.master.write_if.w_channel
    send = channel.send

    async def ending(beat: object) -> None:
        beat.wlast = 1
        await send(beat)

    channel.send = ending
    await widened.master.write(0, bytes(256))


@harness.provocation
async def early_rlast(dut) -> None:
    """The memory ends a burst too early."""
    widened = await start(dut)
    channel = widened.ram.read_if.r_channel
    send = channel.send

    async def ending(beat: object) -> None:
        beat.rlast = 1
        await send(beat)

    channel.send = ending
    await widened.master.read(0, 256)


def run(bits: int, **options: object) -> None:
    """Build the module and simulate it."""
    bus = "fb_axi_if #(.IdBits(2), .AddrBits(16)"
    simulate(
        __file__,
        "fb_axi_width",
        {"NarrowBits": bits},
        filelist="rtl/top/onchip.f",
        interfaces={"s_axi": f"{bus}, .DataBits(NarrowBits))", "m_axi": f"{bus})"},
        **options,
    )


@pytest.mark.parametrize("bits", [64, 128, 256])
def test_width(bits: int) -> None:
    """Run all coroutines with an initiator of this width."""
    run(bits)


def test_assertion_fires() -> None:
    """Each assertion fires."""
    run(
        128,
        fires={
            "early_wlast": "wlast_matches_awlen",
            "early_rlast": "rlast_matches_arlen",
        },
    )
