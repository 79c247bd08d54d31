# SPDX-License-Identifier: Apache-2.0
"""fb_dnn_shrink against its twin, forebay.dnn.shrink, bit by bit."""

from __future__ import annotations

import random
from collections.abc import Iterator

import cocotb
import numpy as np
import pytest
from cocotb.queue import Queue
from cocotb.triggers import FallingEdge, with_timeout
from cocotbext.axi import AxiStreamFrame, AxiStreamSource

import harness
from elements import LAST_PART, PART, WHOLE, Extent
from forebay import spec
from forebay.dnn.shrink import shrink
from runner import simulate

PACKET, BEGINS, PIXELS, ENDS = range(4)  # kinds of words
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
    """Cut into N packets, at any places."""
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
        kind, word = await with_timeout(self.words.get(), 20, "ms")
        stream, tag = divmod(word, 1 << spec.PACKET_TAG_BITS)
        assert kind == PACKET and stream == self.extents[tag].stream % int(self.dut.Streams.value)
        while True:
            kind, word = await with_timeout(self.words.get(), 20, "ms")
            if kind == ENDS:
                return begins, pixels, tag, word >> 1, bool(word & 1)
            if kind == BEGINS:
                assert not begins and not pixels and word == 0
                begins = True
            else:
                assert kind == PIXELS
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
    least = [(size, size), (size + 1, size), (size, size + 1), (6 * size - 1, size + 3)]
    least += [(2 * size, 3 * size), (6 * size + 1, size), (16 * size, size), (1021, 37 + size)]
    yield from random.sample(least, len(least)) if size == 32 else random.sample(least[:5], 2)
    while True:
        width = random.choice([size + random.randrange(30), random.randrange(size, 400 + size)])
        yield width, random.randrange(size, max(size + 40, 40_000 // width))


@cocotb.test()
@cocotb.parametrize(idle=[0.0, 0.3], stall=[0.0, 0.5])
async def geometries(dut, idle: float, stall: float) -> None:
    """Any size, three channels and one, with and without pauses: no byte differs from the twin."""
    bench = Bench(dut)
    await bench.start(idle, stall)
    sizes = sides(bench.size)
    for number in range(harness.repeat(60, 12) if bench.size == 32 else 2):
        width, height = next(sizes)
        image = noise(width, height, grey=random.random() < 0.4)
        tag = await bench.send(pnm(image), WHOLE, an_object(random.getrandbits(16), number))
        await bench.expect(image, tag)


@cocotb.test()
@cocotb.parametrize(idle=[0.0, 0.3], stall=[0.0, 0.5])
async def objects_in_packets(dut, idle: float, stall: float) -> None:
    """Images of several streams come in packets cut anywhere, in turn; some end early or go on."""
    bench = Bench(dut)
    await bench.start(idle, stall)
    streams = int(dut.Streams.value)
    images: dict[int, Image] = {}
    rest: dict[int, list[bytes]] = {stream: [] for stream in range(streams)}
    sent: dict[int, bytes] = {}
    extents: dict[int, Extent] = {}
    whole: dict[int, bool] = {}
    pixels: dict[int, bytes] = {}
    tags: list[tuple[int, int, int, bool]] = []
    complete = 0
    sizes = sides(bench.size)

    async def take() -> None:
        """Compare what leaves for the oldest packet inside."""
        nonlocal complete
        stream, tag, user, ends = tags.pop(0)
        begins, made, found, found_user, done = await bench.packet()
        assert (found, found_user) == (tag, user)
        pixels[stream] = made if begins else pixels.get(stream, b"") + made
        if ends:
            assert done == whole[stream]
            if done:
                due = shrink(images[stream], bench.size)
                made = np.frombuffer(pixels[stream], np.uint8).reshape(due.shape)
                assert np.array_equal(made, due), (
                    f"{images[stream].shape}: {np.argwhere(made != due)}"
                )
                complete += 1

    for number in range(harness.repeat(600, 60)):
        stream = random.randrange(streams)
        if not rest[stream]:
            while any(entry[0] == stream for entry in tags):
                await take()
            images[stream] = noise(*next(sizes), grey=random.random() < 0.4)
            data = pnm(images[stream])
            whole[stream] = random.random() < 0.7
            if not whole[stream]:
                data = random.choice(
                    [data[:-1], data + b"x", data[: random.randrange(1, len(data))]]
                )
            rest[stream] = cut(data, random.choice([1, 2, 3, 5]))
            sent[stream] = b""
            number_of_stream = stream + streams * random.randrange(8)
            extents[stream] = an_object(number_of_stream, number)
        data = rest[stream].pop(0)
        ends = not rest[stream]
        user = LAST_PART if ends else PART
        extent = extents[stream]._replace(offset=len(sent[stream]))
        sent[stream] += data
        tags.append((stream, await bench.send(data, user, extent), user, ends))
        if len(tags) > 3:
            await take()
    while tags:
        await take()
    assert complete > 5


@cocotb.test()
async def what_is_no_image(dut) -> None:
    """Whatever is no PGM or PPM, or does not fit, has no pixels, and the next image is right."""
    bench = Bench(dut)
    await bench.start()
    least, most = bench.size, 2**14
    body = bytes(3 * least * least)
    headers = [
        b"P3 %d %d 255\n" % (least, least),
        b"P4 %d %d\n" % (least, least),
        b"P6 %d %d 65535\n" % (least, least),
        b"P6 %d %d 256\n" % (least, least),
        b"P6 %d %d 254\n" % (least, least),
        b"P6 %d %d 255#\n" % (least, least),
        b"P6 %d %d\n" % (least - 1, least),
        b"P6 %d %d 255\n" % (least - 1, least),
        b"P6 %d %d 255\n" % (least, least - 1),
        b"P6 0 %d 255\n" % least,
        b"P6 %d %d 255\n" % (most, least),
        b"P6 %d %d 255\n" % (least, 10 * most + least),
        b"P6 -%d %d 255\n" % (least, least),
        b"P6 %d.0 %d 255\n" % (least, least),
        b"P6%d %d 255\n" % (least, least),
        b"p6 %d %d 255\n" % (least, least),
        b"P6\n#%s\n%d %d 255\n" % (bytes(10_000), least, least),
        b"P6%s%d %d 255\n" % (b" " * 300, least, least),
        b"\xff\xd8\xff\xe0",
        bytes(64),
        b"P",
    ]
    for number, header in enumerate(headers):
        data = header if header == b"P" else header + body
        tag = await bench.send(data, WHOLE, an_object(0, number))
        assert await bench.packet() == (False, b"", tag, WHOLE, False), header[:20]
        image = noise(least, least)
        await bench.expect(image, await bench.send(pnm(image), WHOLE, an_object(0, 1000 + number)))


@cocotb.test()
async def longest_header(dut) -> None:
    """A header of 256 bytes is read, one of 257 is none."""
    bench = Bench(dut)
    await bench.start()
    image = noise(bench.size, bench.size)
    tail = b"%d %d 255\n" % (bench.size, bench.size)
    for length in (256, 257):
        header = b"P6#" + b"x" * (length - 4 - len(tail)) + b"\n" + tail
        assert len(header) == length
        tag = await bench.send(pnm(image, header), WHOLE, an_object(0, length))
        if length == 256:
            await bench.expect(image, tag)
        else:
            assert await bench.packet() == (False, b"", tag, WHOLE, False)


@cocotb.test()
async def not_the_rest(dut) -> None:
    """The rest of an object, behind a gap or of another sender, is no part of an image."""
    bench = Bench(dut)
    await bench.start()
    image = noise(2 * bench.size, bench.size)
    data = pnm(image)
    first, rest = data[:5000], data[5000:]
    start = an_object(1, 5)
    right = start._replace(offset=len(first))
    for other in (
        right._replace(offset=len(first) + 1),
        right._replace(offset=len(first) + 2**36),
        right._replace(object=6),
        right._replace(epoch=2),
        right._replace(stream=1 + int(dut.Streams.value)),
        right,
    ):
        await bench.send(first, PART, start)
        begins, pixels, *_, complete = await bench.packet()
        assert begins and not complete
        await bench.send(rest, LAST_PART, other)
        begins, more, *_, complete = await bench.packet()
        assert not begins and complete == (other == right)
        if other == right:
            assert pixels + more == shrink(image, bench.size).tobytes()
        else:
            assert more == b""
            # Nor is what follows upon that.
            await bench.send(rest, LAST_PART, other._replace(offset=other.offset + len(rest)))
            assert await bench.packet() == (False, b"", bench.tag, LAST_PART, False)


@cocotb.test()
async def reset_in_mid_image(dut) -> None:
    """A reset forgets what is inside, and what was kept of streams."""
    bench = Bench(dut)
    await bench.start()
    image = noise(3 * bench.size, bench.size)
    data = pnm(image)
    for at in random.sample(range(1500), harness.repeat(150, 15)):
        await bench.send(data[:3000], PART, an_object(0, at))
        await bench.packet()
        await bench.send(data, WHOLE, an_object(1, at))
        await harness.step(dut.clk, at)
        bench.source.clear()
        await harness.reset(dut)
        while not bench.words.empty():
            bench.words.get_nowait()
        await bench.send(data[3000:], LAST_PART, an_object(0, at)._replace(offset=3000))
        assert await bench.packet() == (False, b"", bench.tag, LAST_PART, False)
        await bench.expect(image, await bench.send(data, WHOLE, an_object(1, at + 1)))


@cocotb.test()
async def widest(dut) -> None:
    """At the ends of long lines boundaries ahead lie beyond what a width may be."""
    bench = Bench(dut)
    await bench.start()
    most = 2**14 - 1
    sizes = [(most, bench.size, True), (14_980, bench.size, False), (bench.size, 500, True)]
    if harness.repeat(10, 1) > 1:
        sizes += [(most, 4 * bench.size, False), (bench.size, most, False)]
    for width, height, grey in sizes:
        image = noise(width, height, grey)
        await bench.expect(image, await bench.send(pnm(image), WHOLE, an_object()))


@cocotb.test()
@cocotb.parametrize(grey=[False, True])
async def full_rate(dut, grey: bool) -> None:
    """21 pixels of three channels a cycle, or 63 of one, but for one cycle each line."""
    bench = Bench(dut)
    await bench.start()
    group, came = 63 if grey else 21, []
    width = 20 * group
    for lines in (60, 100):
        header = b"P%d %4d %4d 255\n" % (6 - grey, width, lines)
        image = noise(width, lines, grey)
        ready: list[int] = []
        ports = dut.s_axis_object_tvalid, dut.s_axis_object_tready
        task = cocotb.start_soon(harness.record(dut.clk, *ports, ready))
        await bench.expect(image, await bench.send(pnm(image, header), WHOLE, an_object()))
        task.cancel()
        came.append(ready[-1] - ready[0])
    assert abs(came[1] - came[0] - 40 * (width // group + 1)) <= 2, came


@cocotb.test()
async def many_packets_wait(dut) -> None:
    """As many packets as wait while nothing leaves; then each leaves once."""
    bench = Bench(dut)
    await bench.start(stall=1.0)
    tags = [await bench.send(b"P", WHOLE, an_object(0, number)) for number in range(40)]
    await harness.step(dut.clk, 3000)
    bench.stall = 0.0
    for tag in tags:
        assert await bench.packet() == (False, b"", tag, WHOLE, False)
    await harness.step(dut.clk, 200)
    assert bench.words.empty()


@cocotb.test()
async def latency(dut) -> None:
    """From the first beat to the image's begin; from the last one to the last row, and the end."""
    bench = Bench(dut)
    await bench.start()
    for width, due in ((bench.size, (120, 34, 49)), (16 * bench.size, (116, 24, 39))):
        header = b"P6 %4d %d 255\n" % (width, bench.size)
        came: list[int] = []
        gone: list[int] = []
        dut_valid, dut_ready = dut.s_axis_object_tvalid, dut.s_axis_object_tready
        watched = [
            cocotb.start_soon(harness.record(dut.clk, dut_valid, dut_ready, came)),
            cocotb.start_soon(harness.record(dut.clk, dut.m_valid, dut.m_ready, gone)),
        ]
        await bench.send(pnm(noise(width, bench.size), header), WHOLE, an_object())
        await bench.packet()
        for task in watched:
            task.cancel()
        row = bench.size // 4
        assert (gone[1] - came[0], gone[-1 - row] - came[-1], gone[-1] - came[-1]) == due


@pytest.mark.parametrize(("size", "streams"), [(32, 4), (36, 1), (256, 2)])
def test_shrink(size: int, streams: int) -> None:
    """The least size, one whose rows are no power of two, and the greatest."""
    pauses = ["geometries/idle=0.0/stall=0.0", "geometries/idle=0.3/stall=0.5"]
    only = None if size == 32 else pauses
    simulate(__file__, "fb_dnn_shrink", {"Size": size, "Streams": streams}, testcase=only)
