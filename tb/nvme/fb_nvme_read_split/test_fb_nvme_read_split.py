# SPDX-License-Identifier: Apache-2.0
"""fb_nvme_read_split: read commands become commands for the SSD, each with its pages."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotbext.axi import AxiStreamFrame, AxiStreamSource

import harness
import structs
from forebay import spec
from pages import PAGE, Pages
from runner import simulate

SECTORS = 1 << 24
CHUNK = 32  # sectors of an array's chunk


class Reader:
    """The device under test with a command source and a page ring around it."""

    def __init__(self, dut, transfer: int) -> None:
        self.most = min(transfer, int(dut.CommandPages.value))
        self.array = bool(dut.Array.value)
        self.source = harness.axi_stream(AxiStreamSource, dut, "s_axis_rdcmd")
        self.pages = Pages(dut)

    async def ask(self, address: int, length: int, tag: int | None = None) -> None:
        """Queue one read command."""
        loose = 0 if tag is None else 1 << 128 | tag << 136
        beat = address | length << 64 | loose
        await self.source.send(AxiStreamFrame(beat.to_bytes(32, "little")))

    async def check(self, address: int, length: int) -> None:
        """Compare the commands of a good read with what was asked."""
        commands = await self.pages.transaction()
        at, left = address // 512, length
        for built in commands:
            assert (
                not built.reject
                and not built.early
                and not (built.fua or built.flush or built.fence)
            )
            assert built.sector == at
            assert built.length <= self.most * PAGE
            at += built.length // 512
            # Only the last command may end inside a page, and one that ends with a chunk.
            edge = self.array and at % CHUNK == 0
            assert built.last or built.length % PAGE == 0 or edge
            final = built.sector + built.size // 512
            assert not self.array or built.sector // CHUNK == final // CHUNK
            left -= built.length
        assert left == 0


async def start(dut, *, block: int = 512, transfer: int = 8) -> Reader:
    """Reset with a configuration."""
    harness.clear(dut, "held", "offer_valid", "command_ready")
    dut.cfg.value = structs.pack(
        "cfg_t",
        block_4k=block == PAGE,
        transfer_m1=transfer - 1,
        strip_m1=CHUNK // 8 - 1,
        namespace_sectors=SECTORS,
    )
    reader = Reader(dut, transfer)
    await harness.start(dut)
    return reader


@cocotb.test()
@cocotb.parametrize((("block", "transfer"), [(512, 8), (512, 2), (PAGE, 1), (512, 256)]))
async def random_reads(dut, block: int, transfer: int) -> None:
    """Any length is covered once, in order, by commands of the allowed size."""
    reader = await start(dut, block=block, transfer=transfer)
    harness.stall(reader.source, 0.3)
    for _ in range(60):
        address = random.randrange(1 << 20) * block
        length = random.choice([1, 511, 512, PAGE, PAGE + 1, random.randrange(1, 40 * PAGE)])
        await reader.ask(address, length)
        await reader.check(address, length)


@cocotb.test()
async def pages_are_neighbours(dut) -> None:
    """The pages of a command follow each other, and each page taken belongs to one command."""
    reader = await start(dut)
    for _ in range(40):
        await reader.ask(0, random.randrange(1, 20 * PAGE))
        await reader.pages.transaction()
    held = []
    for built in reader.pages.commands:
        held += [built.page + n for n in range((built.length - 1) // reader.pages.unit + 1)]
    assert held == reader.pages.taken


@cocotb.test()
async def loose_reads(dut) -> None:
    """An unordered read is one command that carries its tag."""
    reader = await start(dut)
    for _ in range(30):
        tag, length = random.getrandbits(8), random.choice([1, 700, PAGE])
        await reader.ask(PAGE, length, tag)
        (built,) = await reader.pages.transaction()
        assert built.early and built.unordered and not built.reject and built.size >> 12 == tag
        assert built.size & 0xFFF == length - 1
    await reader.ask(PAGE, PAGE + 1, 9)
    (built,) = await reader.pages.transaction()
    assert built.reject and built.code == spec.ERR_TOO_LONG and built.size >> 12 == 9


@cocotb.test()
async def loose_reads_across_a_chunk(dut) -> None:
    """An unordered read that crosses the end of a chunk is two commands in order, with its tag."""
    reader = await start(dut)
    for _ in range(30):
        tag, ahead = random.getrandbits(8), random.randrange(1, 8)  # sectors before the end
        length = random.randrange(512 * ahead + 1, PAGE + 1)
        await reader.ask((CHUNK - ahead) * 512, length, tag)
        built = await reader.pages.transaction()
        assert all(not one.reject and one.unordered and one.size >> 12 == tag for one in built)
        sizes = [512 * ahead, length - 512 * ahead] if reader.array else [length]
        assert [(one.size & 0xFFF) + 1 for one in built] == sizes
        assert [one.early for one in built] == ([0, 0] if reader.array else [1])


@cocotb.test()
async def broken_rules(dut) -> None:
    """A read that breaks a rule is answered with its code and issues nothing."""
    reader = await start(dut)
    end = SECTORS * 512
    for address, length, code in (
        (1, 10, spec.ERR_MISALIGNED),
        (0, 0, spec.ERR_ZERO_LENGTH),
        (end, 1, spec.ERR_OUT_OF_RANGE),
        (end - 512, 513, spec.ERR_OUT_OF_RANGE),
        (1 << 63, 1, spec.ERR_OUT_OF_RANGE),
        (0, (1 << 64) - 1, spec.ERR_OUT_OF_RANGE),
    ):
        await reader.ask(address, length)
        (built,) = await reader.pages.transaction()
        assert built.reject and built.code == code, f"{address:#x} {length}"
        await reader.ask(end - 512, 512)
        await reader.check(end - 512, 512)


@cocotb.test()
async def latency_and_rate(dut) -> None:
    """A command of one page is on offer four cycles after its beat; one passes in three cycles."""
    reader = await start(dut)
    reader.pages.offer = reader.pages.take = 1.0
    await harness.step(dut.clk, 5)
    asked: list[int] = []
    left: list[int] = []
    requests = dut.s_axis_rdcmd.tvalid, dut.s_axis_rdcmd.tready
    cocotb.start_soon(harness.record(dut.clk, *requests, asked))
    cocotb.start_soon(harness.record(dut.clk, dut.command_valid, dut.command_ready, left))
    for _ in range(40):
        await reader.ask(0, PAGE)
    for _ in range(40):
        await reader.pages.transaction()
    dut._log.info("beat to command: %d cycles, %.3f/cycle", left[0] - asked[0], harness.rate(left))
    assert left[0] - asked[0] == 4
    assert harness.rate(left) > 0.32


@cocotb.test()
async def reset_in_read(dut) -> None:
    """A reset in the middle of a long read forgets it."""
    reader = await start(dut)
    for _ in range(5):
        await reader.ask(0, 30 * PAGE)
        await harness.step(dut.clk, random.randrange(3, 40))
        await harness.reset(dut, 2)
        reader.pages.held, reader.pages.checked = 0, len(reader.pages.commands)
        await harness.step(dut.clk, 2)
        await reader.ask(512, 100)
        await reader.check(512, 100)


def run(unit: int = 0, array: int = 0, pages: int = 8, **options: object) -> None:
    """Build the module for units of 2^unit pages, and an array or none, and simulate it."""
    parameters = {"UnitBits": unit, "Array": array, "CommandPages": pages}
    simulate(
        __file__,
        "fb_nvme_read_split",
        parameters,
        filelist="rtl/top/onchip.f",
        interfaces={"s_axis_rdcmd": "fb_axis_if #(.DataBits(256))"},
        **options,
    )


@pytest.mark.parametrize(
    ("unit", "array", "pages"), [(0, 0, 3), (2, 0, 16), (0, 1, 8), (2, 1, 256)]
)
def test_read(unit: int, array: int, pages: int) -> None:
    """Run all coroutines with units of one page and of several, for one drive and for more."""
    run(unit, array, pages)
