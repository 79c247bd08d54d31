# SPDX-License-Identifier: Apache-2.0
"""fb_dnn_images: each object that ends has its image, all of it, or is told to have none."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator

import cocotb
from cocotb.triggers import FallingEdge

import harness
from forebay import spec
from runner import simulate

SIZE, STREAMS, IMAGES = 8, 2, 3
WORDS = SIZE * SIZE // 4
PACKET, BEGINS, PIXELS, ENDS = range(4)  # kinds of words
OBJECT_ENDS = spec.PACKET_ENDS_OBJECT << 1


async def start(dut, *, skip: bool = False) -> None:
    """Reset with idle inputs."""
    for name in ("s_valid", "s_kind", "s_data", "pixel_ready", "image_ready", "none_ready"):
        getattr(dut, name).value = 0
    dut.skip.value = int(skip)
    await harness.start(dut)


async def send(dut, kind: int, word: int) -> None:
    """Give a word."""
    dut.s_valid.value, dut.s_kind.value, dut.s_data.value = 1, kind, word
    while True:
        await FallingEdge(dut.clk)
        taken = dut.s_ready.value == 1
        await harness.step(dut.clk)
        if taken:
            break
    dut.s_valid.value = 0


class Object:
    """An object in packets: its image's words, and how it ends."""

    def __init__(self, stream: int, tags: Iterator[int]) -> None:
        self.stream, self.tags = stream, tags
        # An image, an object that is none, one that is cut off, one whose end is lost.
        self.kind = random.choice(["image", "image", "image", "none", "cut", "lost"])
        self.begun = False
        count = {"image": WORDS, "none": 0}.get(self.kind, random.randrange(1, WORDS))
        self.left = deque(random.getrandbits(96) for _ in range(count))
        self.image = list(self.left)

    def packet(self) -> tuple[list[tuple[int, int]], int, bool]:
        """Return the words of a packet, its tag, and whether the object ends with it."""
        tag = next(self.tags)
        words = [(PACKET, self.stream << spec.PACKET_TAG_BITS | tag)]
        if not self.begun and self.kind != "none":
            words.append((BEGINS, 0))
        self.begun = True
        for _ in range(random.randrange(len(self.left) + 1)):
            words.append((PIXELS, self.left.popleft()))
        ends = not self.left
        whole = ends and self.kind == "image"
        flag = OBJECT_ENDS if ends and self.kind != "lost" else 0
        words.append((ENDS, flag | int(whole)))
        return words, tag, ends


@cocotb.test()
@cocotb.parametrize((("skip", "slow"), [(False, 0.0), (False, 0.97), (True, 0.0), (True, 0.97)]))
async def objects(dut, skip: bool, slow: float) -> None:
    """Two streams in turns, a network that is quick or slow: each object that ends is told once."""
    await start(dut, skip=skip)
    images: dict[int, list[int]] = {}
    nones: set[int] = set()
    found: dict[int, list[int]] = {}
    order: deque[int] = deque()
    told: list[int] = []

    async def take() -> None:
        pixels: list[int] = []
        while True:
            dut.pixel_ready.value = int(random.random() >= slow)
            dut.image_ready.value = int(random.random() >= slow)
            dut.none_ready.value = int(random.random() >= 0.5)
            await FallingEdge(dut.clk)
            if dut.image_valid.value == 1 and dut.image_ready.value == 1:
                order.append(int(dut.image_tag.value))
            if dut.none_valid.value == 1 and dut.none_ready.value == 1:
                told.append(int(dut.none_tag.value))
            if dut.pixel_valid.value == 1 and dut.pixel_ready.value == 1:
                pixels.append(int(dut.pixel.value))
                if len(pixels) == SIZE * SIZE:
                    quads = [pixels[at : at + 4] for at in range(0, len(pixels), 4)]
                    word = [sum(p << 24 * n for n, p in enumerate(quad)) for quad in quads]
                    found[len(found)], pixels = word, []
            await harness.step(dut.clk)

    cocotb.start_soon(take())
    tags = iter(range(1, 10**6))
    under_way: dict[int, Object] = {}
    for _ in range(harness.repeat(1500, 200)):
        stream = random.randrange(STREAMS)
        one = under_way.setdefault(stream, Object(stream, tags))
        words, tag, ends = one.packet()
        for kind, word in words:
            await send(dut, kind, word)
        if ends:
            del under_way[stream]
            if one.kind == "image":
                images[tag] = one.image
            elif one.kind != "lost":
                nones.add(tag)
    for _ in range(60_000):
        if len(found) + len(told) == len(images) + len(nones):
            break
        await harness.step(dut.clk)
    await harness.step(dut.clk, 200)
    judged = {tag: found[number] for number, tag in enumerate(order)}
    assert len(order) == len(found) and order == deque(sorted(order))
    assert all(images[tag] == image for tag, image in judged.items())
    skipped = set(images) - set(judged)
    assert sorted(told) == sorted(nones | skipped)
    assert int(dut.skipped.value) == len(skipped) and int(dut.misfits.value) == len(nones)
    assert len(images) > 10 and len(nones) > 5
    # What may wait is judged; of words that come one behind the other some find no place.
    assert bool(skipped) == skip


@harness.provocation
async def too_many(dut) -> None:
    """An image has more pixels than its place."""
    await start(dut)
    await send(dut, PACKET, 1)
    await send(dut, BEGINS, 0)
    for _ in range(WORDS + 2):
        await send(dut, PIXELS, 0)


def run(**options: object) -> None:
    """Build the module and simulate it."""
    parameters = {"Size": SIZE, "Streams": STREAMS, "Images": IMAGES}
    simulate(__file__, "fb_dnn_images", parameters, **options)


def test_fb_dnn_images() -> None:
    """The least number of places."""
    run()


def test_assertions() -> None:
    """A place is not overfilled."""
    run(fires={"too_many": "pixels_have_room"})
