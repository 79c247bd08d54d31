# SPDX-License-Identifier: Apache-2.0
"""Images over the simulated wire: what is recorded of them, compared with OpenCV's own scaling."""

from __future__ import annotations

import json
import random
from pathlib import Path

import cv2
import numpy as np
import pytest
from driving import Run
from scapy.utils import wrpcap
from test_pipeline import capture, write

from forebay.dnn.shrink import shrink

SIZE = 224  # of the element's small images, where nothing is said


def drawn(width: int, height: int, seed: int) -> np.ndarray:
    """Draw discs and noise."""
    rng = np.random.default_rng(seed)
    image = np.full((height, width, 3), rng.integers(0, 256, 3), dtype=np.uint8)
    for _ in range(8):
        centre = rng.integers(0, (width, height)).tolist()
        radius, colour = int(rng.integers(3, height // 2)), rng.integers(0, 256, 3).tolist()
        cv2.circle(image, centre, radius, colour, -1)
    return np.clip(image + rng.normal(0, 12, image.shape), 0, 255).astype(np.uint8)


def ppm(image: np.ndarray) -> bytes:
    """Have OpenCV write a PPM or PGM file."""
    kind = ".pgm" if image.ndim == 2 else ".ppm"
    return cv2.imencode(kind, image if image.ndim == 2 else image[:, :, ::-1])[1].tobytes()


def read(data: bytes) -> np.ndarray:
    """Have OpenCV read a file."""
    return cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR_RGB)


@pytest.mark.parametrize("size", [32, 96, 224])
def test_the_twin_is_an_area_average(size: int) -> None:
    """No value of the twin, which the RTL equals, differs by more than 1 from INTER_AREA."""
    rng = np.random.default_rng(size)
    for width, height in [(size, size), (2000, 1495), (size + 1, 3 * size), (1021, 4 * size + 3)]:
        image = rng.integers(0, 256, (height, width, 3), dtype=np.uint8)
        image[: height // 3] = 255
        ours = shrink(image, size).astype(int)
        theirs = cv2.resize(image, (size, size), interpolation=cv2.INTER_AREA)
        off = np.abs(ours - theirs)
        assert off.max() <= 1
        assert np.count_nonzero(off) <= 0.005 * off.size
    with pytest.raises(ValueError, match=f"both have to be from {size} to 16383"):
        shrink(np.zeros((size - 1, size, 3), np.uint8), size)


def test_thumbnails_of_four_cameras(forebay: Run, tmp_path: Path) -> None:
    """Images of four streams in turns, in many packets each: each small one is right.

    One stream sends grey images, one an object that is no image and one of which a frame is lost:
    these are said to be parts.
    """
    keys = (
        "[source]\nstreams = 4\n[[pe]]\nname = 'shrink'\n"
        "[[ssd]]\nimage = 'disk.img'\nsize = '64MiB'\n"
    )
    pipeline = write(tmp_path, keys)
    checked = " ".join(forebay("pipeline", "check", pipeline).out.split())
    assert "built with Size = 224" in checked and "lengths as received" in checked
    images = {
        (0, 0): drawn(1000, 750, 1),
        (0, 1): drawn(640, 480, 2),
        (1, 0): drawn(900, 640, 3)[:, :, 0],
        (2, 0): drawn(1201, 401, 4),
        (3, 1): drawn(700, 500, 5),
    }
    turns = {stream: [] for stream in range(4)}
    for (stream, number), image in images.items():
        if (stream, number) == (3, 1):
            noise = random.Random(1).randbytes(60_000)
            turns[3] += capture(noise, stream=3)
        sequence = len(turns[stream])
        turns[stream] += capture(ppm(image), stream, number, sequence)
    damaged = capture(ppm(images[2, 0]), 2, 1, len(turns[2]))
    turns[2] += [*damaged[:20], *damaged[21:]]
    frames = []
    while any(turns.values()):
        frames += [turn.pop(0) for turn in turns.values() if turn]
    for number, frame in enumerate(frames):
        frame.time = number * 1e-6
    wrpcap(str(tmp_path / "x.pcap"), frames)
    words = ("--pcap", tmp_path / "x.pcap", "-o", "json")
    done = forebay("record", pipeline, *words)
    assert done.code == 0, done.err
    forebay("store", "extract", tmp_path / "disk.img", tmp_path / "parts")
    parts: dict[tuple[int, int], dict[int, bytes]] = {}
    for path in (tmp_path / "parts").rglob("*.bin"):
        beside = json.loads(path.with_suffix(".json").read_text())
        of_object = parts.setdefault((beside["stream"], beside["object"]), {})
        of_object[beside.get("offset", 0)] = path.read_bytes()
    assert max(map(len, parts.values())) > 1
    for place, image in images.items():
        small = read(b"".join(part for _, part in sorted(parts[place].items())))
        assert np.array_equal(small, shrink(image, SIZE)), place
        colour = image if image.ndim == 3 else cv2.cvtColor(image, cv2.COLOR_GRAY2RGB)
        theirs = cv2.resize(colour, (SIZE, SIZE), interpolation=cv2.INTER_AREA)
        assert np.abs(small.astype(int) - theirs).max() <= 1
    assert parts[3, 0] == {0: b"\0"}
    listed = forebay("store", "ls", tmp_path / "disk.img", "-o", "json").report["objects"]
    lengths = {(each["stream"], each["object"]): each["length"] for each in listed}
    assert all(lengths[place] == 24 + 3 * SIZE * SIZE for place in images)
    # Noise, and the two packets behind a gap.
    assert done.report["elements"][0]["status"] == {"misfits": 1, "empty": 3}


def test_thumbnails(forebay: Run, tmp_path: Path) -> None:
    """The pipeline of the project: a camera's image is recorded as a file that OpenCV reads."""
    image = drawn(800, 600, 6)
    wrpcap(str(tmp_path / "x.pcap"), capture(ppm(image)))
    words = ("--pcap", tmp_path / "x.pcap", "--extract", tmp_path / "small")
    forebay("record", "pipelines/thumbnails.toml", *words)
    small = read((tmp_path / "small" / "object-0.bin").read_bytes())
    assert np.array_equal(small, shrink(image, SIZE))
