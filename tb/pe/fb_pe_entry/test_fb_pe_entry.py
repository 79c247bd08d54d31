# SPDX-License-Identifier: Apache-2.0
"""fb_pe_entry: the n-th packet gets the n-th tag and extent, whichever of them is late."""

from __future__ import annotations

import random

import cocotb
from cocotb.triggers import FallingEdge, with_timeout
from cocotbext.axi import AxiStreamFrame, AxiStreamSink, AxiStreamSource

import elements
import harness
import structs
from extents import PATIENCE_US, word_stream
from forebay import spec
from runner import simulate

INSIDE = structs.constant("INSIDE")
AHEAD = 16
STREAMS = (3, 19, 4, 0xFFF3)  # three of them end with the same four bits


class Bench(elements.Bench):
    """The door between sources of extents, packets and tags, and their sinks."""

    def __init__(self, dut) -> None:
        super().__init__(dut)
        self.tags = word_stream(AxiStreamSource, dut, "s_axis_tag")
        self.heads = word_stream(AxiStreamSource, dut, "s_axis_extent")
        self.passed = word_stream(AxiStreamSink, dut, "m_axis_extent")
        self.known: list[tuple[int, dict]] = []  # tags, and what the elements are told
        self.stays = False  # what comes out stays in the chain ...
        self.released = 0  # ... but for this number of packets
        self.ended: list[tuple[int, int]] = []  # of each: whether an object ends, and its bytes
        self.nonces: list[int] = []  # of extents
        self.nonce = 0  # the last that was given anew
        self.refused = 0  # extents that seemed to go on, and did not
        self.last: dict[int, tuple[int, int]] = {}  # by the last bits of the stream: it, its nonce
        dut.leaves.value = 0
        cocotb.start_soon(self.watch())

    async def watch(self) -> None:
        """Follow the pulses, and stand for elements that keep nothing."""
        dut = self.dut

        def both(port: str) -> bool:
            valid, ready = (getattr(dut, f"{port}_{name}") for name in ("tvalid", "tready"))
            return valid.value == ready.value == 1

        while True:
            await FallingEdge(dut.clk)
            last = both("m_axis_object") and dut.m_axis_object_tlast.value == 1
            dut.leaves.value = int((last and not self.stays) or self.released > 0)
            self.released -= int(self.released > 0)
            if dut.extent_valid.value == 1:
                extent = structs.unpack("extent_t", int(dut.extent.value))
                self.known.append((int(dut.extent_tid.value), extent))
            if both("s_axis_tag"):
                self.ended.append((int(dut.ends_object.value), int(dut.received.value)))

    async def send(
        self, data: bytes, user: int = elements.WHOLE, extent: elements.Extent | None = None
    ) -> int:
        """Queue a packet, and what is known of it."""
        extent = extent or elements.any_extent(user, len(data))
        extent = extent._replace(stream=random.choice(STREAMS))
        tag = await super().send(data, user, extent)
        self.announce(self.extents[tag])
        return tag

    def announce(self, extent: elements.Extent) -> None:
        """Queue what is known of it; some go on with an object, or seem to."""
        place, goes_on = extent.stream % 16, random.random() < 0.5
        stream, nonce = self.last.get(place, (-1, 0))
        if not goes_on or stream != extent.stream:
            nonce = self.nonce = self.nonce + 1
            self.refused += int(goes_on)
        self.nonces.append(nonce)
        self.last[place] = extent.stream, nonce
        self.heads.send_nowait(AxiStreamFrame([extent.head(goes_on)]))

    def knows(self) -> None:
        """Compare what the elements were told with what was sent, in order."""
        sent = list(self.extents.items())
        assert len(self.known) == len(sent)
        for (tag, extent), nonce, found in zip(sent, self.nonces, self.known, strict=True):
            due = structs.unpack("extent_t", extent._replace(nonce=nonce).word())
            assert found == (tag, due)

    def give(self, tag: int) -> None:
        """Queue a tag."""
        self.tags.send_nowait(AxiStreamFrame([tag]))

    async def start(self, idle: float = 0.0, stall: float = 0.0) -> None:
        """Reset; `idle` and `stall` are shares of pauses of sources and sink."""
        for each in (self.source, self.tags, self.heads):
            harness.stall(each, idle)
        harness.stall(self.sink, stall)
        await harness.start(self.dut)


@cocotb.test()
@cocotb.parametrize(idle=[0.0, 0.4], stall=[0.0, 0.4], tags_first=[False, True])
async def any_packets(dut, idle: float, stall: float, tags_first: bool) -> None:
    """Packets pass as they are with their tags, and their ends are told, once each."""
    bench = Bench(dut)
    await bench.start(idle, stall)
    due = []
    for _ in range(120):
        data, user = random.randbytes(elements.size()), elements.any_user()
        if tags_first:
            bench.give(bench.tag)
            await harness.step(dut.clk, random.randrange(4))
        due.append((int(user & spec.PACKET_ENDS_OBJECT != 0), len(data)))
        tag = await bench.send(data, user)
        if not tags_first:
            await harness.step(dut.clk, random.randrange(40))
            assert bench.sink.empty(), "a packet went through without its tag"
            bench.give(tag)
        await bench.expect(data)
    assert bench.ended == due
    bench.knows()
    assert len(bench.nonces) - bench.nonce > 10 and bench.refused > 10
    for extent, nonce in zip(bench.extents.values(), bench.nonces, strict=True):
        passed = await with_timeout(bench.passed.recv(), PATIENCE_US, "us")
        # All but the frame's number and its seconds, which the elements are not told.
        mask = (1 << 8 * spec.PACKET_SECONDS_AT) - 1
        mask &= ~(((1 << 32) - 1) << 8 * spec.FRAMING_SEQUENCE_AT)
        mask &= ~(spec.PACKET_GOES_ON << 8 * spec.FRAMING_FLAGS_AT)
        assert passed.tdata[0] & mask == extent.head() & mask
        assert passed.tuser[0] == nonce if isinstance(passed.tuser, list) else passed.tuser == nonce


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
async def no_more_than_the_elements_know(dut) -> None:
    """A packet waits while INSIDE are in the chain; one that leaves lets one in."""
    bench = Bench(dut)
    await bench.start()
    bench.stays = True
    for _ in range(INSIDE + 8):
        bench.give(bench.tag)
        await bench.send(random.randbytes(3 * elements.BEAT))
    await harness.step(dut.clk, 4 * INSIDE)
    assert len(bench.known) == bench.sink.count() == INSIDE
    for count in range(1, 6):
        bench.released = 1
        await harness.step(dut.clk, 10)
        assert len(bench.known) == bench.sink.count() == INSIDE + count


@cocotb.test()
async def extents_wait_for_their_packets(dut) -> None:
    """AHEAD are known ahead of their packets, and no more are let by; a packet makes room."""
    bench = Bench(dut)
    await bench.start()
    sent = [elements.any_extent(elements.WHOLE, 9) for _ in range(AHEAD + 3)]
    for extent in sent:
        bench.announce(extent)
    await harness.step(dut.clk, 3 * AHEAD)
    assert bench.passed.count() == AHEAD
    bench.give(bench.tag)
    await elements.Bench.send(bench, bytes(9))
    await harness.step(dut.clk, 10)
    assert bench.passed.count() == AHEAD + 1


@harness.provocation
async def one_too_many_leaves(dut) -> None:
    """None is inside."""
    bench = Bench(dut)
    await bench.start()
    bench.released = 1
    await harness.step(dut.clk, 3)


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
        bench.heads.clear()
        await harness.step(dut.clk, 2)
        data = random.randbytes(elements.size())
        bench.give(bench.tag)
        await bench.send(data)
        await bench.expect(data)
        await bench.silent()


def test_entry() -> None:
    """Run all coroutines."""
    simulate(__file__, "fb_pe_entry", filelist="rtl/pe/elements.f")


def test_assertion_fires() -> None:
    """A packet that leaves has entered."""
    simulate(
        __file__,
        "fb_pe_entry",
        filelist="rtl/pe/elements.f",
        fires={"one_too_many_leaves": "leaves_what_entered"},
    )
