# SPDX-License-Identifier: Apache-2.0
"""fb_pe_entry: the n-th packet gets the n-th tag, whichever of them is late."""

from __future__ import annotations

import random

import cocotb
from cocotb.triggers import FallingEdge, with_timeout
from cocotbext.axi import AxiStreamFrame, AxiStreamSource

import elements
import harness
from extents import PATIENCE_US, word_stream
from forebay import spec
from runner import simulate


class Bench(elements.Bench):
    """The door between a source of packets, one of tags, and a sink."""

    def __init__(self, dut) -> None:
        super().__init__(dut)
        self.tags = word_stream(AxiStreamSource, dut, "s_axis_tag")
        self.ended: list[int] = []  # of each packet's end, whether an object ends
        cocotb.start_soon(self.watch())

    async def watch(self) -> None:
        """Follow the pulses."""
        while True:
            await FallingEdge(self.dut.clk)
            if self.dut.s_axis_tag_tvalid.value == self.dut.s_axis_tag_tready.value == 1:
                self.ended.append(int(self.dut.ends_object.value))

    def give(self, tag: int) -> None:
        """Queue a tag."""
        self.tags.send_nowait(AxiStreamFrame([tag]))

    async def start(self, idle: float = 0.0, stall: float = 0.0) -> None:
        """Reset; `idle` and `stall` are shares of pauses of sources and sink."""
        for each in (self.source, self.tags):
            each.set_pause_generator(harness.stalls(idle))
        self.sink.set_pause_generator(harness.stalls(stall))
        await harness.start(self.dut)


@cocotb.test()
@cocotb.parametrize(idle=[0.0, 0.4], stall=[0.0, 0.4], tags_first=[False, True])
async def any_packets(dut, idle: float, stall: float, tags_first: bool) -> None:
    """Packets pass as they are with their tags, and their ends are told, once each."""
    bench = Bench(dut)
    await bench.start(idle, stall)
    users = []
    for _ in range(120):
        data, user = random.randbytes(elements.size()), elements.any_user()
        if tags_first:
            bench.give(bench.tag)
            await harness.step(dut.clk, random.randrange(4))
        users.append(user)
        tag = await bench.send(data, user)
        if not tags_first:
            await harness.step(dut.clk, random.randrange(40))
            assert bench.sink.empty(), "a packet went through without its tag"
            bench.give(tag)
        await bench.expect(data)
    assert bench.ended == [int(user & spec.PACKET_ENDS_OBJECT != 0) for user in users]


@cocotb.test()
async def full_rate(dut) -> None:
    """A beat in every cycle, one cycle late, also from packet to packet."""
    bench = Bench(dut)
    await bench.start()
    came: list[int] = []
    gone: list[int] = []
    for prefix, found in (("s", came), ("m", gone)):
        valid = getattr(dut, f"{prefix}_axis_object_tvalid")
        ready = getattr(dut, f"{prefix}_axis_object_tready")
        cocotb.start_soon(harness.record(dut.clk, valid, ready, found))
    packets = [random.randbytes(elements.BEAT * beats) for beats in (5, 1, 1, 40)]
    for tag in range(len(packets)):
        bench.give((bench.tag + tag) % 2**32)
    await harness.step(dut.clk, 5)
    for data in packets:
        await bench.send(data)
    for data in packets:
        await with_timeout(bench.expect(data), PATIENCE_US, "us")
    assert gone[0] - came[0] == 1 and gone[-1] - gone[0] == 46


@cocotb.test()
async def reset_in_mid_packet(dut) -> None:
    """What is held is forgotten."""
    bench = Bench(dut)
    await bench.start()
    for _ in range(20):
        bench.give(bench.tag)
        await bench.send(random.randbytes(20 * elements.BEAT))
        await harness.step(dut.clk, random.randrange(2, 15))
        await harness.reset(dut, 2)
        bench.forget()
        bench.tags.clear()
        await harness.step(dut.clk, 2)
        data = random.randbytes(elements.size())
        bench.give(bench.tag)
        await bench.send(data)
        await bench.expect(data)
        await bench.silent()


def test_entry() -> None:
    """Run all coroutines."""
    simulate(__file__, "fb_pe_entry", filelist="rtl/pe/elements.f")
