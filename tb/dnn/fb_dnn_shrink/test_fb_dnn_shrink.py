# SPDX-License-Identifier: Apache-2.0
"""fb_dnn_shrink against its twin, forebay.dnn.shrink, bit by bit."""

from __future__ import annotations

import random
from collections.abc import Iterator

import cocotb
import numpy as np
import pytest
from cocotb.triggers import FallingEdge, with_timeout
from cocotb.queue import Queue
from cocotbext.axi import AxiStreamFrame, AxiStreamSource

import harness
from elements import LAST_PART, PART, WHOLE, Extent
from forebay import spec
from forebay.dnn.shrink import shrink
from runner import simulate

BEGINS, PIXELS, ENDS = range(3)  # kinds of words
Image = np.ndarray


def noise(width: int, height: int, grey: bool = False) -> Image:
    """Make an image: noise, of few or of extreme values, or one shade."""
    shape = (height, width) if grey else (height, width, 3)
    rng = np.random.default_rng(random.getrandbits(64))
    low, high = random.choice([(0, 256), (0, 256), (250, 256), (0, 2), (255, 256)])
    return rng.integers(low, high, shape, dtype=np.uint8)


def pnm(image: Image, header: bytes | None = None) -> bytes:
    """Write a PGM or PPM file, with one of the headers that it may have."""
    height, width = image.shape[:2]
    kind = b"P5" if image.ndim == 2 else b"P6"
    headers = [
        b"%s\n%d %d\n255\n",
        b"%s %d\t%d 255 ",
        b"%s\n# made by a camera\n%d %d\r\n255\n",
        b"%s#1 2 3\n  %d #\n %d\n\n#P6\n0255\t",
    ]
    return (header or random.choice(headers) % (kind, width, height)) + image.tobytes()


def cut(data: bytes, count: int) -> list[bytes]:
    """Cut into so many packets, at any places."""
    places = sorted(random.sample(range(1, len(data)), count - 1))
    return [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]


class Bench:
    """Packets go in by cocotbext-axi; words come out while the reader stalls."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.size = int(dut.Size.value)
        self.source = harness.axi_stream(AxiStreamSource, dut, "s_axis_object")
        self.words: Queue[tuple[int, int]] = Queue()
        self.extents: dict[int, Extent] = {}
        self.tag = random.getrandbits(31)
        self.stall = 0.0
        self.cycle = 0

    async def start(self, idle: float = 0.0, stall: float = 0.0) -> None:
        """Reset; `idle` and `stall` are shares of pauses of source and reader."""
        self.stall = stall
        harness.stall(self.source, idle)
        self.dut.m_ready.value = 0
        await harness.start(self.dut)
        cocotb.start_soon(self._follow())

    async def _follow(self) -> None:
        width = len(self.dut.extent)
        while True:
            self.dut.m_ready.value = int(random.random() >= self.stall)
            await FallingEdge(self.dut.clk)
            self.cycle += 1
            extent = None
            if self.dut.s_axis_object_tvalid.value == 1:
                extent = self.extents.get(int(self.dut.s_axis_object_tid.value))
            self.dut.extent.value = extent.word() if extent else random.getrandbits(width)
            if self.dut.m_valid.value == 1 and self.dut.m_ready.value == 1:
                self.words.put_nowait((int(self.dut.m_kind.value), int(self.dut.m_data.value)))
            await harness.step(self.dut.clk)

    async def send(self, data: bytes, user: int, extent: Extent) -> int:
        """Queue a packet; bytes past its end are noise."""
        pad = -len(data) % spec.USER_BEAT_BYTES
        last = (len(data) - 1) // spec.USER_BEAT_BYTES * spec.USER_BEAT_BYTES
        self.tag += 1
        self.extents[self.tag] = extent
        users = [0] * last + [user] * spec.USER_BEAT_BYTES
        keep = [1] * len(data) + [0] * pad
        frame = AxiStreamFrame(data + random.randbytes(pad), tkeep=keep, tuser=users, tid=self.tag)
        await self.source.send(frame)
        return self.tag

    async def packet(self) -> tuple[bool, bytes, int, int, bool]:
        """Take what leaves for a packet: whether an image begins, pixels, tag, TUSER, complete."""
        begins, pixels = False, b""
        while True:
            kind, word = await with_timeout(self.words.get(), 20, "ms")
            if kind == ENDS:
                return begins, pixels, word >> 3, word >> 1 & 3, bool(word & 1)
            if kind == BEGINS:
                assert not begins and not pixels
                begins = True
            else:
                pixels += word.to_bytes(12, "little")

    async def expect(self, image: Image, tag: int) -> None:
        """Take a packet that is a whole image."""
        begins, pixels, found, user, complete = await self.packet()
        assert (begins, found, user, complete) == (True, tag, WHOLE, True)
        due = shrink(image, self.size)
        made = np.frombuffer(pixels, np.uint8).reshape(due.shape)
        assert np.array_equal(made, due), f"{image.shape}: {np.argwhere(made != due)[:5]}"


def an_object(stream: int = 0, number: int = 1) -> Extent:
    """Return the extent with which an object begins."""
    return Extent(stream, 1, number, 0, 0, 0)


def sides(size: int) -> Iterator[tuple[int, int]]:
    """Yield widths and heights: the least, around multiples, primes, wide and tall."""
    yield from [(size, size), (size + 1, size), (size, size + 1), (2 * size, 3 * size)]
    yield from [(6 * size - 1, size + 3), (6 * size + 1, size), (16 * size, size), (1021, 37 + size)]
    while True:
        width = random.choice([size + random.randrange(30), random.randrange(size, 12 * size)])
        yield width, random.randrange(size, max(size + 2, 40_000 // width))


@cocotb.test()
@cocotb.parametrize(idle=[0.0, 0.3], stall=[0.0, 0.5])
async def geometries(dut, idle: float, stall: float) -> None:
    """Any size, three channels and one, with and without pauses: no byte differs from the twin."""
    bench = Bench(dut)
    await bench.start(idle, stall)
    sizes = sides(bench.size)
    for number in range(20):
        width, height = next(sizes)
        image = noise(width, height, grey=random.random() < 0.4)
        tag = await bench.send(pnm(image), WHOLE, an_object(random.getrandbits(16), number))
        await bench.expect(image, tag)


@pytest.mark.parametrize("size", [32])
def test_shrink(size: int) -> None:
    simulate(__file__, "fb_dnn_shrink", {"Size": size})
