# SPDX-License-Identifier: Apache-2.0
"""Whole networks, drawn at random, folded and written as the compiler does it, and their twin."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

import harness
import players
from forebay.dnn.draw import CLASSES, draw
from forebay.dnn.fold import InfeasibleError, fold
from forebay.dnn.layers import Factors, multiplier, packed, terms_of
from forebay.dnn.network import (
    Average,
    Best,
    Convolution,
    Depthwise,
    Layer,
    Maximum,
    Network,
    Summing,
    Table,
    Window,
)
from forebay.dnn.read import read
from forebay.dnn.shrink import shrink
from forebay.dnn.times import between
from forebay.dnn.write import write
from forebay.filelist import ROOT
from players import Case, words_pass  # noqa: F401
from runner import BUILD

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


def pictures(rng: np.random.Generator, count: int, size: int) -> np.ndarray:
    """Draw images: coarse squares with noise, of all contrasts."""
    coarse = rng.integers(0, 256, (count, 3, 3, 3)).astype(float)
    fine = coarse.repeat(-(-size // 3), axis=1).repeat(-(-size // 3), axis=2)[:, :size, :size]
    noise = rng.normal(0, 40, fine.shape)
    return np.clip(fine + noise, 0, 255).astype(np.uint8)


def factors(rng: np.random.Generator, sums: np.ndarray, *, alike: bool) -> Factors:
    """Draw factors that spread a layer's values over their range, `alike` those of all channels."""
    flat = sums.reshape(-1, sums.shape[-1]).astype(float)
    mean, spread = flat.mean(axis=0), np.maximum(flat.std(axis=0), 1.0)
    scales = rng.uniform(*((50, 51) if alike else (30, 90)), spread.size) / spread
    mantissas, shifts = map(np.array, zip(*map(multiplier, scales), strict=True))
    zero = int(rng.integers(256))
    middle = np.rint(mean - (100 - zero) / scales).astype(np.int64)
    low, high = (zero, 255) if zero < 60 else (0, 255)
    return Factors(mantissas, -middle * mantissas, shifts, zero, low, high)


def network(rng: np.random.Generator, number: int) -> Network:
    """Draw a network of one of the shapes."""
    size, shape = SHAPES[number]
    images = pictures(rng, 60, size)
    layers: list[Layer] = [
        Table(
            "table",
            size,
            3,
            rng.permuted(np.arange(256).repeat(3)).reshape(256, 3).astype(np.uint8),
        )
    ]

    def put(layer: Layer) -> None:
        nonlocal images
        if isinstance(layer, Summing):
            sums = np.array([layer.sums(image) for image in images])
            layer = replace(layer, factors=factors(rng, sums, alike=layer.name == "dense"))
        images = np.array([layer.run(image) for image in images])
        layers.append(layer)

    def weights(*shape: int) -> np.ndarray:
        return rng.integers(-128, 128, shape).astype(np.int8)

    images = np.array([layers[0].run(image) for image in images])
    for word in shape.split():
        name = f"layer{len(layers)}"
        (kind, kernel, stride, before, after), outputs = word[:5], word[6:]
        window = Window(*map(int, (kernel, stride, before, after)), around=int(rng.integers(256)))
        side, _, channels = layers[-1].shape
        taps = window.kernel**2
        if kind == "c":
            matrix = weights(int(outputs), taps, channels)
            put(Convolution(name, side, channels, None, window, matrix))
        elif kind == "d":
            put(Depthwise(name, side, channels, None, window, weights(taps, channels)))
        else:
            put(Maximum(name, side, channels, replace(window, around=0)))
    side, _, channels = layers[-1].shape
    put(Average("average", side, channels, None))
    classes = int(rng.integers(8, 14))
    put(Convolution("dense", 1, channels, None, Window(), weights(classes, 1, channels)))
    return Network(f"drawn{number}", tuple(layers), Best(classes, terms_of(0.01)))


def case(rng: np.random.Generator, number: int, count: int, folder: Path) -> Case:
    """Write a network, and judge images with its twin."""
    drawn = network(rng, number)
    # Targets that the layers reach, from the least to several times as much.
    least = max(layer.size**2 for layer in drawn.layers) * int(rng.choice([1, 2, 5, 9]))
    target = max(least, 2 * drawn.best.classes + 46)
    while True:
        try:
            foldings = fold(drawn, target)
            break
        except InfeasibleError:
            target += target // 2
    rooms, _ = between(drawn, foldings)
    files = write(drawn, foldings, rooms)
    source = folder / f"fb_dnn_{drawn.name}.sv"
    source.write_text(files.pop(source.name))
    images = pictures(rng, count, drawn.size)
    judged = [drawn.judge(image) for image in images]
    answers = np.bincount([number for number, _ in judged])
    assert answers.max() <= MOST_OF_A_CLASS * count + 3, f"{drawn.name}: classes {answers}"
    due = [int(score.view(np.uint32)) << 16 | number for number, score in judged]
    slowest = max(folding.cycles for folding in foldings)
    return Case(
        f"fb_dnn_{drawn.name}",
        {"DataFolder": f'"{drawn.name}"'},
        packed(images, 8, 3),
        packed(due, 48, 1),
        (24, 48),
        interval=1.001 * slowest,
        files={f"{drawn.name}/{name}": text for name, text in files.items()},
    )


def test_networks() -> None:
    """By day some of the shapes, by night all: no class and no score differs; the rate is kept."""
    rng = players.generator()
    folder = BUILD / "dnn" / "drawn"
    folder.mkdir(parents=True, exist_ok=True)
    numbers = range(harness.repeat(len(SHAPES), 3, 4))
    cases = [case(rng, number, harness.repeat(200, 20), folder) for number in numbers]
    sources = [folder / f"{case.module}.sv" for case in cases]
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
