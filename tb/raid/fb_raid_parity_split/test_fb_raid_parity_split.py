# SPDX-License-Identifier: Apache-2.0
"""fb_raid_parity_split: the parts of a read make up its bytes, whichever drive is missing."""

from __future__ import annotations

import random

import cocotb
from cocotb.triggers import FallingEdge
from cocotbext.axi import AxiStreamFrame, AxiStreamSource

import harness
import structs
from runner import simulate
from stripes import Stripes

STREAM = "fb_axis_if #(.DataBits(256))"
PAGE = 4096
STRIPES = 1 << 20  # of the array


class Splitter:
    """The device under test with a command source and a sink of the parts."""

    def __init__(self, dut, stripes: Stripes) -> None:
        self.dut, self.stripes = dut, stripes
        self.source = harness.axi_stream(AxiStreamSource, dut, "s_axis_rdcmd")
        self.idle = 0.0
        self.parity = True
        self.found: list[dict[str, int]] = []
        cocotb.start_soon(self._take())

    async def _take(self) -> None:
        dut = self.dut
        while True:
            await harness.step(dut.clk)
            dut.m_axis_rdcmd.tready.value = random.random() >= self.idle
            dut.piece_ready.value = random.random() >= self.idle / 2 or dut.piece_ready.value == 1
            await FallingEdge(dut.clk)
            moves = dut.m_axis_rdcmd.tvalid.value == 1 and dut.m_axis_rdcmd.tready.value == 1
            told = dut.piece_valid.value == 1 and dut.piece_ready.value == 1
            assert told == (moves and self.parity)
            if moves:
                bits = int(dut.m_axis_rdcmd.tdata.value)
                fields = structs.unpack("piece_t", int(dut.piece.value))
                fields["address"] = bits & (1 << 64) - 1
                fields["length"] = bits >> 64 & (1 << 64) - 1
                fields["loose"] = bits >> 128 & 1
                fields["cycle"] = harness.cycle()
                self.found.append(fields)

    async def ask(self, address: int, length: int, tag: int | None = None) -> None:
        """Queue one read command."""
        loose = 0 if tag is None else 1 << 128 | tag << 136
        beat = address | length << 64 | loose
        await self.source.send(AxiStreamFrame(beat.to_bytes(32, "little")))

    async def parts(self) -> list[dict[str, int]]:
        """Return the parts of the next command."""
        while not any(one["last"] for one in self.found):
            await harness.step(self.dut.clk)
        end = next(n for n, one in enumerate(self.found) if one["last"]) + 1
        taken, self.found = self.found[:end], self.found[end:]
        return taken

    def wanted(self, address: int, length: int, hole: int | None) -> list[tuple[int, ...]]:
        """Return the parts that a read must have: address, bytes, sum, first, shown, last."""
        stripes, found = self.stripes, []
        end = address + length
        while address < end:
            size = min(end, (address // stripes.chunk + 1) * stripes.chunk) - address
            last = address + size == end
            at = stripes.moved(address)
            stripe, drive = divmod(at // stripes.chunk, stripes.drives)
            if drive == hole:
                others = [(hole + n) % stripes.drives for n in range(1, stripes.drives)]
                for n, other in enumerate(others):
                    place = (stripe * stripes.drives + other) * stripes.chunk + at % stripes.chunk
                    shown = n == stripes.drives - 2
                    found.append((place, size, 1, n == 0, shown, last and shown))
            else:
                found.append((at, size, 0, 0, 1, last))
            address += size
        return found


def config(stripes: Stripes, hole: int | None = None, parity: int = 1, block: int = 512) -> int:
    """Return the settings of an array, of which a drive is missing."""
    return structs.pack(
        "cfg_t",
        drives_m1=stripes.drives - 1,
        strip_m1=stripes.chunk // PAGE - 1,
        parity=parity,
        block_4k=block == PAGE,
        degraded=hole is not None,
        offline=0 if hole is None else 1 << hole,
        namespace_sectors=STRIPES * stripes.drives * stripes.chunk // 512,
    )


async def start(dut, drives: int = 4, pages: int = 2, **settings: int | None) -> Splitter:
    """Reset with an array."""
    harness.clear(dut, "piece_ready")
    harness.clear(dut.m_axis_rdcmd, "tready")
    stripes = Stripes(drives, pages * PAGE)
    dut.cfg.value = config(stripes, **settings)
    splitter = Splitter(dut, stripes)
    splitter.parity = bool(settings.get("parity", 1))
    await harness.start(dut)
    return splitter


@cocotb.test()
@cocotb.parametrize(drives=[2, 3, 5, 8], pages=[1, 2, 16], idle=[0.0, 0.4])
async def parts_make_the_read(dut, drives: int, pages: int, idle: float) -> None:
    """Whichever drive is missing, its chunks are asked of the others, and no byte twice."""
    splitter = await start(dut, drives, pages)
    splitter.idle = idle
    harness.stall(splitter.source, idle)
    stripes = splitter.stripes
    for hole in (None, *range(drives)):
        dut.cfg.value = config(stripes, hole)
        for _ in range(5):
            some = random.randrange(1, 3 * stripes.payload)
            length = random.choice([1, 512, PAGE, stripes.payload, some])
            address = random.randrange(STRIPES * stripes.payload - length) // 512 * 512
            tag = random.getrandbits(8) if length <= PAGE and random.random() < 0.5 else None
            await splitter.ask(address, length, tag)
            parts = await splitter.parts()
            names = ("address", "length", "sum", "first", "shown", "last")
            found = [tuple(one[name] for name in names) for one in parts]
            # What is `first` matters only where something is added up.
            found = [(*one[:3], one[2] and one[3], *one[4:]) for one in found]
            assert found == splitter.wanted(address, length, hole)
            assert all(one["tag"] == (tag or 0) and not one["loose"] for one in parts)


@cocotb.test()
async def the_last_byte_and_no_further(dut) -> None:
    """A read up to the end of the array is good, one byte more is refused as a whole."""
    splitter = await start(dut, 4, 2)
    end = STRIPES * splitter.stripes.payload
    await splitter.ask(end - 2 * splitter.stripes.payload, 2 * splitter.stripes.payload)
    assert len(await splitter.parts()) == 6
    for address, length in (
        (end - 512, 513),
        (end, 1),
        (0, end + 1),
        (0, (1 << 64) - 1),
        (512, (1 << 64) - 512),
        (1 << 57, 1),
        (1 << 63, 512),
    ):
        await splitter.ask(address, length)
        (part,) = await splitter.parts()
        assert part["address"] >> 63 and part["length"] and not part["sum"], hex(address)


@cocotb.test()
async def broken_rules(dut) -> None:
    """What fb_nvme_read_split refuses is passed on so that it does, and with its tag."""
    for block in (512, PAGE):
        splitter = await start(dut, 3, 1, block=block)
        await splitter.ask(block, 0)
        (part,) = await splitter.parts()
        assert part["length"] == 0
        for address in (1, 511, block - 1, block // 2):
            await splitter.ask(address, 100)
            (part,) = await splitter.parts()
            assert part["address"] == address and part["length"]
        await splitter.ask(0, PAGE + 1, 0x5A)
        (part,) = await splitter.parts()
        assert part["loose"] and part["length"] > PAGE and part["tag"] == 0x5A
        # An unordered read that crosses a chunk is read in order, and so is not too long.
        await splitter.ask(PAGE - block, block, 0x5B)
        (part,) = await splitter.parts()
        assert not part["loose"] and part["tag"] == 0x5B


@cocotb.test()
async def without_parity(dut) -> None:
    """Where the array has none, commands go through as they are."""
    splitter = await start(dut, 4, 1, parity=0)
    for _ in range(20):
        address, length, tag = random.getrandbits(60), random.getrandbits(60), random.getrandbits(8)
        await splitter.ask(address, length, tag)
        while not splitter.found:
            await harness.step(dut.clk)
        part = splitter.found.pop()
        assert (part["address"], part["length"]) == (address, length) and part["loose"]


@cocotb.test()
async def latency(dut) -> None:
    """The first part comes after 56 cycles, each further one two later."""
    splitter = await start(dut, 4, 1)
    taken: list[int] = []
    signals = (dut.s_axis_rdcmd.tvalid, dut.s_axis_rdcmd.tready)
    cocotb.start_soon(harness.record(dut.clk, *signals, taken))
    await splitter.ask(0, 3 * PAGE)
    await splitter.ask(0, 1)
    cycles = [one["cycle"] - taken[0] for one in await splitter.parts()]
    await splitter.parts()
    dut._log.info("parts after %s cycles, the next command after %d", cycles, taken[1] - taken[0])
    assert cycles == [56, 58, 60]


@cocotb.test()
async def reset_inside(dut) -> None:
    """After a reset nothing is left of a command."""
    splitter = await start(dut, 3, 1)
    for cycles in range(1, 40, 3):
        await splitter.ask(0, 5 * PAGE)
        await harness.step(dut.clk, cycles)
        await harness.reset(dut, 2)
        splitter.source.clear()
        await FallingEdge(dut.clk)
        assert dut.busy.value == 0
        splitter.found.clear()
    await splitter.ask(PAGE, 1)
    (part,) = await splitter.parts()
    assert part["address"] == PAGE


@cocotb.test()
async def nothing_is_taken_in_reset(dut) -> None:
    """While the streamer is disabled a command waits: it would be lost."""
    splitter = await start(dut, 3, 1)
    dut.rst.value = 1
    await harness.step(dut.clk, 2)
    await FallingEdge(dut.clk)
    assert dut.s_axis_rdcmd.tready.value == 0
    dut.rst.value = 0
    await harness.step(dut.clk)
    await splitter.ask(PAGE, 1)
    await splitter.parts()


@harness.provocation
async def withdraw_piece(dut) -> None:
    """What is told of each part has its stream checker."""
    await start(dut, 3, 1)
    await harness.withdraw(dut.clk, dut.u_dut.u_check)


def run(**options: object) -> None:
    """Build the module and simulate it."""
    simulate(
        __file__,
        "fb_raid_parity_split",
        filelist="rtl/top/onchip.f",
        interfaces={"s_axis_rdcmd": STREAM, "m_axis_rdcmd": STREAM},
        **options,
    )


def test_parity_split() -> None:
    """Run all coroutines."""
    run()


def test_assertion_fires() -> None:
    """Each assertion fires."""
    run(fires={"withdraw_piece": "part: valid fell"})
