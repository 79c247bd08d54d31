# SPDX-License-Identifier: Apache-2.0
"""Networks become elements: compared with onnxruntime, recorded over the wire, or refused."""

from __future__ import annotations

import os
from pathlib import Path

import networks
import numpy as np
import pytest
from driving import Run
from scapy.utils import wrpcap
from test_images import ppm
from test_pipeline import capture, write

from forebay.dnn.network import Network
from forebay.dnn.read import read
from forebay.dnn.shrink import shrink

COUNT = 2000 if os.environ.get("FOREBAY_COUNTS") == "full" else 200


def squeezed(values: np.ndarray) -> np.ndarray:
    """Return what onnxruntime gives in the order of ours, (height, width, channels)."""
    return values[0].transpose(1, 2, 0) if values.ndim == 4 else values.reshape(1, 1, -1)


@pytest.mark.parametrize("signed", [False, True])
def test_each_layer_is_onnxruntimes(tmp_path: Path, *, signed: bool) -> None:
    """With its own inputs each layer's values are onnxruntime's, in all but 10 of a million."""
    path = networks.quantised(networks.short(), tmp_path, signed=signed)
    network, warnings = read(path, "net")
    assert not warnings
    model, names = networks.with_all_values(path)
    theirs = networks.session(model)
    # Flatten stands between two quantised tensors that are alike.
    names = [name for name in names if not name.startswith("flatten")]
    shift = 128 if signed else 0
    count = differ = 0
    for image in networks.pictures(12, network.size, 9):
        found = theirs.run(names, networks.given(image))
        values = [(squeezed(one).astype(int) + shift).astype(np.uint8) for one in found]
        assert len(values) == len(network.layers)
        for layer, comes, due in zip(network.layers, [image, *values], values, strict=False):
            off = np.abs(layer.run(comes).astype(int) - due)
            assert off.max() <= 1, layer.name
            differ, count = differ + np.count_nonzero(off), count + off.size
    assert differ <= 1e-5 * count


def test_classes_are_onnxruntimes(tmp_path: Path) -> None:
    """Of whole networks at most one class in 1,000 differs; no class has most of the images."""
    path = networks.quantised(networks.short(), tmp_path)
    network, _ = read(path, "net")
    theirs = networks.session(path.read_bytes())
    images = networks.pictures(COUNT, network.size, 11)
    due = [int(theirs.run(None, networks.given(image))[0].argmax()) for image in images]
    found = [network.judge(image)[0] for image in images]
    assert sum(a != b for a, b in zip(found, due, strict=True)) <= COUNT / 1000
    assert np.bincount(due).max() <= COUNT / 5


def chosen(network: Network, count: int) -> list[np.ndarray]:
    """Draw pictures of some size whose classes are not all the same."""
    found: dict[int, np.ndarray] = {}
    for seed in range(400):
        size = 64 + 7 * (seed % 20)
        image = networks.pictures(1, size, 1000 + seed)[0][: size - seed % 9]
        found.setdefault(network.judge(shrink(image, network.size))[0], image)
        if len(found) == count:
            return list(found.values())
    message = f"{len(found)} classes"
    raise AssertionError(message)


def test_classes_over_the_wire(forebay: Run, tmp_path: Path) -> None:
    """Two cameras in turns: each image is recorded as it came, and its row has its class.

    One sends an object that is no image, and one of which a frame is lost: they have no class.
    """
    path = networks.quantised(networks.short(), tmp_path)
    network, _ = read(path, "net")
    folder = tmp_path / "net"
    words = ("--fps", "20000", "--into", folder, "-o", "json")
    compiled = forebay("dnn", "compile", path, *words).report
    assert compiled["cycles"] <= compiled["target_cycles"] == 10_000
    pipeline = write(
        tmp_path,
        f"[source]\nstreams = 2\n[[pe]]\nname = 'net'\npath = '{folder}'\nsenders = 2\n"
        "[[ssd]]\nimage = 'disk.img'\nsize = '64MiB'\n",
    )
    images = chosen(network, 5)
    turns: dict[int, list] = {0: [], 1: []}
    sent = {}
    for number, image in enumerate(images):
        stream = number % 2
        sent[stream, number] = image
        turns[stream] += capture(ppm(image), stream, number, len(turns[stream]))
    noise = np.random.default_rng(3).bytes(30_000)
    turns[0] += capture(noise, 0, 7, len(turns[0]))
    cut = capture(ppm(images[0]), 1, 8, len(turns[1]))
    turns[1] += cut[:-2] + cut[-1:]
    frames = []
    while any(turns.values()):
        frames += [turn.pop(0) for turn in turns.values() if turn]
    for number, frame in enumerate(frames):
        frame.time = number * 1e-6
    wrpcap(str(tmp_path / "x.pcap"), frames)
    done = forebay("record", pipeline, "--pcap", tmp_path / "x.pcap", "-o", "json")
    assert done.report["elements"][0]["status"] == {"skipped": 0, "misfits": 1}
    listed = forebay("store", "ls", tmp_path / "disk.img", "-o", "json").report["objects"]
    rows = {(row["stream"], row["object"]): row for row in listed}
    for place, image in sent.items():
        number, score = network.judge(shrink(image, network.size))
        assert (rows[place]["class"], rows[place]["score"]) == (number, pytest.approx(float(score)))
    assert rows[0, 7].get("class") is None
    assert all(row.get("class") is None for row in listed if row["object"] == 8)
    ran = tmp_path / "camera.ppm"
    ran.write_bytes(ppm(images[0]))
    judged = forebay("dnn", "run", path, ran, "-o", "json").report["images"]
    assert judged[0]["class"] == network.judge(shrink(images[0], network.size))[0]
