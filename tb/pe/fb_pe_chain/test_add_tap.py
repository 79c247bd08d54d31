# SPDX-License-Identifier: Apache-2.0
"""A chain as the command line makes it, behind its entry: add, and of a copy of that add and mean.

`cargo test` compares the file that is simulated here with what is made of such a pipeline.
"""

from __future__ import annotations

import random
from pathlib import Path

import cocotb
from cocotbext.axi import AxiStreamFrame, AxiStreamSource

import elements
import harness
from extents import word_stream
from forebay import spec
from runner import simulate

CHAIN = [Path(__file__).parent / name for name in ("add_tap.sv", "entered_chain.sv")]
ELEMENTS = "rtl/pe/elements.f"
# Both add 1 to each byte.
ADD = (1 << 32 | 0x0101_0101) * (1 << 64 | 1)


class Bench(elements.Bench):
    """The chain behind its entry."""

    def __init__(self, dut) -> None:
        super().__init__(dut)
        self.heads = word_stream(AxiStreamSource, dut, "s_axis_extent")
        self.tags = word_stream(AxiStreamSource, dut, "s_axis_tag")

    async def send(
        self, data: bytes, user: int = elements.WHOLE, extent: elements.Extent | None = None
    ) -> int:
        """Queue a packet, its tag and what is known of it."""
        tag = await super().send(data, user, extent)
        self.heads.send_nowait(AxiStreamFrame([self.extents[tag].head()]))
        self.tags.send_nowait(AxiStreamFrame([tag]))
        return tag


@cocotb.test()
@cocotb.parametrize(idle=[0.0, 0.4], stall=[0.0, 0.4])
async def objects_in_packets(dut, idle: float, stall: float) -> None:
    """Also in a branch an element knows of each packet which object it is of."""
    bench = Bench(dut)
    await bench.start(ADD, idle, stall)
    due = []
    parts = {stream: 0 for stream in range(4)}
    sums = {stream: [0, 0] for stream in parts}
    for _ in range(400):
        stream = random.choice(list(parts))
        data = bytes([random.randrange(254)]) * 4 * random.choice([1, 4, 16, 17, 200])
        ends = random.random() < 0.3
        user = elements.PART | (spec.PACKET_ENDS_OBJECT if ends else 0)
        extent = elements.any_extent(user, len(data))
        extent = extent._replace(stream=stream, epoch=9, object=3, offset=parts[stream])
        tag = await bench.send(data, user, extent)
        parts[stream] = 0 if ends else parts[stream] + len(data)
        sums[stream][0] += (data[0] + 2) * len(data)
        sums[stream][1] += len(data)
        due.append((tag, data, sums[stream] if ends else None))
        if ends:
            sums[stream] = [0, 0]
    for tag, data, total in due:
        await bench.expect(bytes([data[0] + 1]) * len(data))
        if total:
            found = await bench.result()
            assert found[:2] == (tag, True)
            assert abs(found.score - total[0] / total[1]) < 1e-4
    await bench.silent()


@cocotb.test()
@cocotb.parametrize(idle=[0.0, 0.4], stall=[0.0, 0.4])
async def results_are_of_what_was_added(dut, idle: float, stall: float) -> None:
    """Results leave the chain, of what the stages before have made; the branch changes nothing."""
    threshold = 100
    bench = Bench(dut)
    await bench.start(ADD | threshold << 128, idle, stall)
    packets = []
    for _ in range(60):
        shade = random.randrange(254)
        data = bytes([shade]) * 4 * random.randrange(1, 300)
        packets.append((await bench.send(data), data))
    for tag, data in packets:
        await bench.expect(bytes([data[0] + 1]) * len(data))
        shade = data[0] + 2
        assert await bench.result() == (tag, True, int(shade >= threshold), float(shade))
    await bench.silent()


@harness.provocation
async def withdraw(dut) -> None:
    """Results of each stage are watched, by a checker that names it."""
    bench = Bench(dut)
    await bench.start()
    await harness.withdraw(dut.clk, dut.u_chain.u_result_2_mean.u_result)


def test_chain() -> None:
    """Run all coroutines."""
    simulate(__file__, "entered_chain", filelist=ELEMENTS, extra_sources=CHAIN)


def test_results_are_watched() -> None:
    """What the checker says names the stage."""
    simulate(
        __file__,
        "entered_chain",
        filelist=ELEMENTS,
        extra_sources=CHAIN,
        fires={"withdraw": "u_result_2_mean.u_result"},
    )
