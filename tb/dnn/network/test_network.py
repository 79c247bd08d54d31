# SPDX-License-Identifier: Apache-2.0
"""Whole networks, drawn at random, folded and written as the compiler does it, and their twin."""

from __future__ import annotations

from pathlib import Path

import folded
import numpy as np

import harness
import players
from forebay.dnn.draw import CLASSES, draw
from forebay.dnn.layers import packed, terms_of
from forebay.dnn.mobilenet import mobilenet
from forebay.dnn.network import (
    Average,
    Best,
    Convolution,
    Depthwise,
    Layer,
    Maximum,
    Network,
    Table,
    Window,
)
from forebay.dnn.read import read
from forebay.dnn.shrink import shrink
from forebay.dnn.weights import filled, pictures
from forebay.filelist import ROOT
from players import Case, words_pass  # noqa: F401
from runner import BUILD

FOLDER = BUILD / "dnn" / "drawn"
FOLDER.mkdir(parents=True, exist_ok=True)
MOST_OF_A_CLASS = 0.2
# For each network: pixels of a side, and the layers: kernel, stride, pixels put before and after,
# and outputs of a convolution (c); no outputs for depthwise ones (d) and maxima (m).
SHAPES = [
    (8, "c3211-8 d3111 c1100-12"),
    (9, "c3201-6 d3201 c1100-16 d3111 c1100-16"),
    (7, "c1100-8 m2200 c3111-8"),
    (8, "c5222-4 c3111-10"),
    (12, "c3211-16 d3111 c1100-32 d3211 c1100-32"),
    (6, "d3111 c1100-16 m3111"),
    (10, "c2200-12 d5122 c1100-20"),
    (11, "c3200-8 d3111 c1100-8 d3111 c1100-8"),
    (8, "c3111-4 m2200 c3111-8 m2200"),
    (5, "c1100-32 c1100-16"),
    (16, "c3211-8 d3211 c1100-24 d3111 c1100-24"),
    (9, "c3111-6 d1200 c1100-18"),
]


def shape(number: int, classes: int) -> Network:
    """Return a network of one of the shapes, without weights."""
    size, words = SHAPES[number]
    layers: list[Layer] = [Table("table", size, 3, None)]
    for word in words.split():
        name = f"layer{len(layers)}"
        (kind, kernel, stride, before, after), outputs = word[:5], word[6:]
        window = Window(*map(int, (kernel, stride, before, after)))
        side, _, channels = layers[-1].shape
        taps = window.kernel**2
        if kind == "c":
            weights = np.zeros((int(outputs), taps, channels))
            layers.append(Convolution(name, side, channels, None, window, weights))
        elif kind == "d":
            weights = np.zeros((taps, channels))
            layers.append(Depthwise(name, side, channels, None, window, weights))
        else:
            layers.append(Maximum(name, side, channels, window))
    side, _, channels = layers[-1].shape
    layers.append(Average("average", side, channels, None))
    weights = np.zeros((classes, 1, channels))
    layers.append(Convolution("dense", 1, channels, None, Window(), weights))
    return Network(f"drawn{number}", tuple(layers), Best(classes, terms_of(0.01)))


def case(rng: np.random.Generator, number: int, count: int, folder: Path) -> Case:
    """Draw a network of one of the shapes, and images for it."""
    network = filled(rng, shape(number, int(rng.integers(8, 14))), 60)
    # From the least cycles that layers reach to several times as many.
    target = max(layer.size**2 for layer in network.layers) * int(rng.choice([1, 2, 5, 9]))
    images = pictures(rng, count, network.size)
    made = folded.case(network, max(target, 2 * network.best.classes + 46), images, folder)
    seen = folded.answers(made)
    assert seen.max() <= MOST_OF_A_CLASS * count + 3, f"{network.name}: classes {seen}"
    return made


def test_networks() -> None:
    """By day some of the shapes, by night all: no class and no score differs; the rate is kept."""
    rng = players.generator()
    numbers = range(harness.repeat(len(SHAPES), 3, 4))
    cases = [case(rng, number, harness.repeat(200, 20), FOLDER) for number in numbers]
    sources = [FOLDER / f"{case.module}.sv" for case in cases]
    players.simulate_cases(__file__, "fb_dnn_networks_bench", cases, sources=sources)


def test_shapes() -> None:
    """The network of ours judges drawings as its twin does; nearly all of them rightly."""
    rng, folder, count = players.generator(), ROOT / "rtl/pe/shapes", harness.repeat(500, 20, 25)
    shapes, _ = read(folder / "shapes.onnx", "shapes")
    kinds = [number % len(CLASSES) for number in range(count)]
    images = np.array([shrink(draw(rng, kind, 96, 72), shapes.size) for kind in kinds])
    judged = [shapes.judge(image) for image in images]
    right = sum(number == kind for (number, _), kind in zip(judged, kinds, strict=True))
    assert right >= 0.9 * count
    due = [int(score.view(np.uint32)) << 16 | number for number, score in judged]
    parameters = {"DataFolder": f'"{folder}"'}
    case = Case(
        "fb_dnn_shapes", parameters, packed(images, 8, 3), packed(due, 48, 1), (24, 48), files={}
    )
    players.simulate_cases(__file__, "fb_dnn_shapes_bench", [case])


def test_mobilenet() -> None:
    """Each layer of MobileNet-V1, and the whole, on images of its own: by day a small one."""
    rng, size, width = players.generator(), harness.repeat(224, 64, 4), harness.repeat(4, 1) / 4
    shape, target = mobilenet(size, width), harness.repeat(215_296, 40_000, 6)
    network = filled(rng, shape, 2)
    images = pictures(rng, 3, size)
    made = folded.case(network, target, images, FOLDER, each_layer=True)
    assert np.count_nonzero(folded.answers(made)) > 1
    sources = [FOLDER / f"{made.module}.sv"]
    players.simulate_cases(__file__, "fb_dnn_mobilenet_bench", [made], sources=sources)
