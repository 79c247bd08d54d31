# SPDX-License-Identifier: Apache-2.0
"""fb_pe_shrink against its twin, through cocotbext-axi; OpenCV reads what it makes."""

from __future__ import annotations

import itertools
import random

import cocotb
import cv2
import numpy as np
from cocotb.triggers import with_timeout

import elements
import harness
from elements import LAST_PART, PART, WHOLE, Extent
from forebay import spec
from forebay.dnn.shrink import shrink
from runner import simulate

SIZE = 32


def image_of(width: int, height: int) -> np.ndarray:
    """Make an image of noise."""
    rng = np.random.default_rng(random.getrandbits(64))
    return rng.integers(0, 256, (height, width, 3), dtype=np.uint8)


def ppm(image: np.ndarray) -> bytes:
    """Write a PPM file."""
    return b"P6\n%d %d\n255\n" % image.shape[1::-1] + image.tobytes()


async def packet(bench: elements.Bench) -> tuple[bytes, int]:
    """Take the next packet: its bytes, and its TUSER beyond what went in with it."""
    found = await with_timeout(bench.sink.recv(compact=False), 1, "ms")
    user, tag = bench.due.popleft()
    assert set(found.tid if isinstance(found.tid, list) else [found.tid]) == {tag}
    length = sum(found.tkeep)
    assert list(found.tkeep[:length]) == [1] * length
    users = found.tuser if isinstance(found.tuser, list) else [found.tuser]
    return bytes(found.tdata[:length]), users[-1] ^ user


@cocotb.test()
@cocotb.parametrize(idle=[0.0, 0.4], stall=[0.0, 0.6])
async def images(dut, idle: float, stall: float) -> None:
    """Each object becomes a file that others read, of the means over areas."""
    bench = elements.Bench(dut)
    await bench.start(random.getrandbits(64), idle, stall)
    made = [image_of(random.randrange(SIZE, 90), random.randrange(SIZE, 60)) for _ in range(6)]
    for image in made:
        await bench.send(ppm(image))
    for image in made:
        data, more = await packet(bench)
        assert more == 0
        small = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR_RGB)
        assert np.array_equal(small, shrink(image, SIZE))
        assert len(data) == 24 + 3 * SIZE * SIZE
    await bench.silent()
    assert dut.status.value == 0


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.6])
async def images_in_packets(dut, stall: float) -> None:
    """With each packet go the rows that it completes; one without any has a byte, and says so."""
    bench = elements.Bench(dut)
    await bench.start(0, 0.0, stall)
    empty = 0
    for number in range(12):
        image = image_of(random.choice([SIZE, 50]), random.choice([SIZE, 70]))
        data, object_ = ppm(image), Extent(number % 4, 1, number, 0, 0, 0)
        longest = random.choice([40, 500, 2000])
        places = [0]
        while places[-1] < len(data):
            places.append(min(len(data), places[-1] + random.randrange(1, longest)))
        small = b""
        for begin, end in itertools.pairwise(places):
            user = LAST_PART if end == len(data) else PART
            await bench.send(data[begin:end], user, object_._replace(offset=begin))
            part, more = await packet(bench)
            assert more == 0
            if part == b"\0":
                empty += 1
            else:
                small += part
        rows = shrink(image, SIZE).tobytes()
        assert small.startswith(b"P6") and small[24:] == rows
    assert int(dut.status.value) == empty << 32
    assert empty > 0


@cocotb.test()
async def what_is_no_image(dut) -> None:
    """It becomes a byte, is no whole object any more, and is counted; one cut short, too."""
    bench = elements.Bench(dut)
    await bench.start()
    image = image_of(40, 40)
    for data in (bytes(1000), b"P6", ppm(image_of(SIZE - 1, SIZE)), b"P5 1 1 255\n\0"):
        await bench.send(data, WHOLE, Extent(0, 1, 1, 0, 0, 0))
        assert await packet(bench) == (b"\0", spec.PACKET_PART)
    for data in (ppm(image)[:-1], ppm(image) + b"x"):
        await bench.send(data, WHOLE, Extent(0, 1, 2, 0, 0, 0))
        _, more = await packet(bench)
        assert more == spec.PACKET_PART
    await bench.silent()
    assert int(dut.status.value) == 4 << 32 | 6
    await bench.send(ppm(image), WHOLE, Extent(0, 1, 3, 0, 0, 0))
    data, more = await packet(bench)
    assert (data[24:], more) == (shrink(image, SIZE).tobytes(), 0)


@cocotb.test()
async def streams_in_turns(dut) -> None:
    """Packets of several streams are inside at once; an image that another one replaces is gone."""
    bench = elements.Bench(dut)
    await bench.start(0, 0.1, 0.3)
    made = [image_of(40 + stream, 50) for stream in range(4)]
    files = [ppm(image) for image in made]
    for stream, data in enumerate(files):
        await bench.send(data[:3000], PART, Extent(stream, 1, 0, 0, 0, 0))
    for stream, data in enumerate(files):
        await bench.send(data[:2000], PART, Extent(stream, 1, 1, 0, 0, 0))
    for stream, data in enumerate(files):
        await bench.send(data[2000:], LAST_PART, Extent(stream, 1, 1, 2000, 0, 0))
    parts = [await packet(bench) for _ in range(12)]
    assert all(more == 0 for _, more in parts)
    for stream, image in enumerate(made):
        small = parts[4 + stream][0] + parts[8 + stream][0]
        assert small[24:] == shrink(image, SIZE).tobytes()
    assert dut.status.value == 0


@cocotb.test()
async def reset_in_mid_packet(dut) -> None:
    """A reset forgets what is inside, and the next image is right."""
    bench = elements.Bench(dut)
    await bench.start()
    image = image_of(60, 40)
    for _ in range(12):
        await bench.send(ppm(image), WHOLE, Extent(0, 1, 1, 0, 0, 0))
        await harness.step(dut.clk, random.randrange(2, 500))
        await harness.reset(dut, 2)
        bench.forget()
        await harness.step(dut.clk, 2)
        await bench.send(ppm(image), WHOLE, Extent(0, 1, 2, 0, 0, 0))
        data, more = await packet(bench)
        assert (data[24:], more) == (shrink(image, SIZE).tobytes(), 0)
        await bench.silent()
        assert dut.status.value == 0


def test_fb_pe_shrink() -> None:
    """The smallest images, in which the fewest cycles lie between two uses of a place."""
    simulate(__file__, "fb_pe_shrink", {"Size": SIZE}, filelist="rtl/dnn/dnn.f")
