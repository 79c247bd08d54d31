# SPDX-License-Identifier: Apache-2.0
"""What test benches of processing elements share, a user's own included.

An element is described by a Python function: the packet that comes out, from the one that went in.
"""

from __future__ import annotations

import random
import struct
from collections import deque
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import cocotb
from cocotb.triggers import FallingEdge, with_timeout
from cocotbext.axi import AxiStreamFrame, AxiStreamSink, AxiStreamSource

import harness
import structs
from extents import word_stream
from forebay import spec

BEAT = spec.USER_BEAT_BYTES
# TUSER of packets: a whole object, a part of one, the part that ends one without a gap.
WHOLE = spec.PACKET_ENDS_OBJECT
PART = spec.PACKET_PART
LAST_PART = spec.PACKET_PART | spec.PACKET_ENDS_OBJECT
Model = Callable[[bytes], bytes]


class Result(NamedTuple):
    """What an element says of an object: by the tag of the packet that ends it."""

    tag: int
    judged: bool
    class_: int
    score: float


class Extent(NamedTuple):
    """What is known of a packet from its first beat on; `size` 0: of the object it is not known."""

    stream: int
    epoch: int
    object: int
    offset: int
    size: int
    time: int
    nonce: int = 0
    back: int = 0

    def word(self) -> int:
        """Return the bits of `fb_pe_pkg::extent_t`."""
        return _bits(self)

    def head(self, goes_on: bool = False) -> int:
        """Return the word that announces it: a frame's header, none missing before, its time."""
        flags = spec.FRAMING_FIRST if self.offset == 0 else 0
        flags |= spec.PACKET_GOES_ON if goes_on else 0
        flags |= spec.FRAMING_VERSION << 4
        sequence, place = random.getrandbits(32), self.offset or self.size
        head = (spec.FRAMING_MAGIC, flags, self.stream, self.epoch, sequence, self.object, place)
        # Seconds, which the elements are not told, are noise.
        come = (0, self.time, random.getrandbits(34))
        return int.from_bytes(struct.pack("<IBxHIIQQQQQ", *head, *come), "little")


@cache
def _bits(extent: Extent) -> int:
    # Benches drive it in every cycle of a packet.
    values = extent._asdict()
    return structs.pack("extent_t", time_=values.pop("time"), **values)


def any_extent(user: int, size: int) -> Extent:
    """Return that of a packet with this TUSER: an object of its own, whole or the rest of one."""
    offset = random.getrandbits(40) + 1 if user & PART else 0
    total = 0 if offset else random.choice([0, size])
    numbers = (random.getrandbits(bits) for bits in (16, 32, 64))
    return Extent(*numbers, offset, total, random.getrandbits(64), random.getrandbits(64))


def size() -> int:
    """Return a packet's length: least, odd, around a beat, or any."""
    near = random.choice([1, 2, 3, 4, 5, 63, 64, 65, 127, 128, 129])
    return random.choice([near, random.randrange(1, 1500)])


def any_user() -> int:
    """Return TUSER of a packet: mostly a whole object's."""
    return random.choice([WHOLE, WHOLE, WHOLE, WHOLE, PART, LAST_PART])


def results(dut) -> AxiStreamSink:
    """Make what takes an element's results, a word each."""
    return word_stream(AxiStreamSink, dut, "m_axis_result")


def ports(stream: str) -> tuple[str, str]:
    """Return the names of target and initiator; `stream` is empty where there is but one."""
    return "_".join(filter(None, ("s_axis", stream))), "_".join(filter(None, ("m_axis", stream)))


class Bench:
    """A source before the element and a sink behind it, both of cocotbext-axi."""

    def __init__(self, dut, stream: str = "object") -> None:
        self.dut = dut
        target, initiator = ports(stream)
        self.beat = len(getattr(dut, f"{target}_tkeep"))  # bytes of one on its way in
        self.source = harness.axi_stream(AxiStreamSource, dut, target)
        self.sink = harness.axi_stream(AxiStreamSink, dut, initiator)
        judges = stream == "object" and hasattr(dut, "m_axis_result_tdata")
        self.results = results(dut) if judges else None
        self.tag = random.getrandbits(32)  # of the next packet
        self.due: deque[tuple[int, int]] = deque()  # TUSER and tag of packets inside
        self.extents: dict[int, Extent] = {}  # by the tags of their packets
        if hasattr(dut, "extent") and not hasattr(dut, "extent_valid"):
            cocotb.start_soon(self._know())

    async def _know(self) -> None:
        """Say which extent the packet is whose beat is there; else something."""
        width = len(self.dut.extent)
        while True:
            await FallingEdge(self.dut.clk)
            extent = None
            if self.dut.s_axis_object_tvalid.value == 1:
                extent = self.extents.get(int(self.dut.s_axis_object_tid.value))
            self.dut.extent.value = extent.word() if extent else random.getrandbits(width)

    async def start(self, cfg: int = 0, idle: float = 0.0, stall: float = 0.0) -> None:
        """Reset with these settings; `idle` and `stall` are shares of pauses of source and sink."""
        if hasattr(self.dut, "cfg"):
            self.dut.cfg.value = cfg
        self.pause(idle, stall)
        await harness.start(self.dut)

    def pause(self, idle: float, stall: float) -> None:
        """Let source and sink pause in such shares of all cycles."""
        harness.stall(self.source, idle)
        harness.stall(self.sink, stall)
        if self.results:
            harness.stall(self.results, stall)

    async def send(self, data: bytes, user: int = WHOLE, extent: Extent | None = None) -> int:
        """Queue a packet with this TUSER on its last beat, by default any extent; returns its tag.

        Bytes past its end are noise, as they may be.
        """
        pad = -len(data) % self.beat
        last = (len(data) - 1) // self.beat * self.beat
        users = [0] * last + [user] * self.beat
        keep = [1] * len(data) + [0] * pad
        noise = random.randbytes(pad)
        tag, self.tag = self.tag, (self.tag + 1) % 2**spec.PACKET_TAG_BITS
        self.due.append((user, tag))
        self.extents[tag] = extent or any_extent(user, len(data))
        await self.source.send(AxiStreamFrame(data + noise, tkeep=keep, tuser=users, tid=tag))
        return tag

    async def expect(self, data: bytes) -> None:
        """Take the next packet: these bytes without a gap, and what was sent beside them."""
        found = await with_timeout(self.sink.recv(compact=False), 1, "ms")
        user, tag = self.due.popleft()
        tags = found.tid if isinstance(found.tid, list) else [found.tid]
        assert set(tags) == {tag}, "TID differs"
        kept = list(found.tkeep or [1] * len(found.tdata))
        assert kept == [1] * len(data) + [0] * (len(kept) - len(data)), "TKEEP has another length"
        assert bytes(found.tdata[: len(data)]) == data, "bytes differ"
        users = found.tuser if isinstance(found.tuser, list) else [found.tuser] * len(kept)
        assert users[-1] == user and not any(users[: -self.sink.lanes]), "TUSER differs"

    async def result_word(self) -> tuple[int, int, int]:
        """Take the next result: TDATA, TID, TUSER."""
        assert self.results is not None, "the element has no m_axis_result"
        found = await with_timeout(self.results.recv(), 1, "ms")
        word, tag, user = (
            value[0] if isinstance(value, list) else int(value)
            for value in (found.tdata, found.tid, found.tuser)
        )
        return word, tag, user

    async def result(self) -> Result:
        """Take the next result."""
        word, tag, user = await self.result_word()
        class_, score = struct.unpack("<Hf", word.to_bytes(6, "little"))
        return Result(tag, not user, class_, score)

    def forget(self) -> None:
        """Do as after a reset."""
        for each in (self.source, self.sink, self.results):
            if each is not None:
                each.clear()
        self.due.clear()

    async def silent(self, cycles: int = 20) -> None:
        """Nothing more comes."""
        await harness.step(self.dut.clk, cycles)
        assert self.sink.empty() and self.sink.bus.tvalid.value == 0
        assert self.results is None or self.results.empty()


async def any_packets(
    dut,
    model: Model,
    cfg: int = 0,
    idle: float = 0.0,
    stall: float = 0.0,
    count: int = 150,
    stream: str = "object",
) -> None:
    """Packets of any length, whole objects and parts, come out as `model` says, in order.

    Parameters
    ----------
    dut : HierarchyObject
        The element.
    model : callable
        Gives the packet that comes out for one that goes in, both of one byte or more.
    cfg : int
        Its settings, as its port takes them.
    idle, stall : float
        Shares of cycles in which source and sink pause, 0 to 1.
    count : int
        How many packets.
    stream : str
        Which stream, as in :func:`ports`.
    """
    bench = Bench(dut, stream)
    await bench.start(cfg, idle, stall)
    packets = [random.randbytes(size()) for _ in range(count)]
    for data in packets:
        await bench.send(data, any_user())
    for data in packets:
        await bench.expect(model(data))
    await bench.silent()


async def reset_in_mid_packet(
    dut, model: Model, cfg: int = 0, judges: bool = False, stream: str = "object"
) -> None:
    """A reset forgets what is inside, and the next packet is right, with its result if `judges`."""
    bench = Bench(dut, stream)
    await bench.start(cfg)
    for _ in range(20):
        await bench.send(random.randbytes(20 * BEAT))
        await harness.step(dut.clk, random.randrange(2, 15))
        # Source and sink are told, too: they forget what they were about to do.
        await harness.reset(dut, 2)
        bench.forget()
        await harness.step(dut.clk, 2)
        data = random.randbytes(size())
        await bench.send(data)
        await bench.expect(model(data))
        if judges:
            await bench.result()
        await bench.silent()


async def cycles_of(dut, beats: int, cfg: int = 0, stream: str = "object") -> tuple[int, int]:
    """Send one long packet without pauses.

    Returns
    -------
    tuple of int
        Cycles from its first beat in to its first beat out, and from that to its last.
    """
    bench = Bench(dut, stream)
    await bench.start(cfg)
    came: list[int] = []
    gone: list[int] = []
    for prefix, found in zip(ports(stream), (came, gone), strict=True):
        valid = getattr(dut, f"{prefix}_tvalid")
        ready = getattr(dut, f"{prefix}_tready")
        cocotb.start_soon(harness.record(dut.clk, valid, ready, found))
    await bench.send(random.randbytes(beats * bench.beat))
    await with_timeout(bench.sink.recv(), 1, "ms")
    return gone[0] - came[0], gone[-1] - gone[0]
