# SPDX-License-Identifier: Apache-2.0
"""What the compiler makes of MobileNet-V1, and how many drawings `shapes` recognises."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from forebay.dnn.draw import CLASSES, draw
from forebay.dnn.fold import fold
from forebay.dnn.layers import Factors, terms_of
from forebay.dnn.network import (
    Average,
    Best,
    Convolution,
    Depthwise,
    Layer,
    Network,
    Table,
    Window,
)
from forebay.dnn.read import read
from forebay.dnn.shrink import shrink

ROOT = Path(__file__).resolve().parent.parent
DRAWINGS, WIDTH, HEIGHT, SEED = 2000, 96, 72, 2026
# Cycles an image: of one drive's rate at 150 MHz, and of two drives' at 180 MHz.
TARGETS = {"B": 215_296, "C": 131_072}
# MobileNet-V1 (arXiv:1704.04861, table 1): outputs and stride of each pair of layers.
PAIRS = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)]
PAIRS += [(512, 1)] * 5 + [(1024, 2), (1024, 1)]
SIZE, FIRST, NUMBER = 224, 32, 1000


def mobilenet() -> Network:
    """Return the shape of MobileNet-V1 1.0/224, without weights."""

    def factors(channels: int) -> Factors:
        one = np.ones(channels, np.int64)
        return Factors(one << 23, one * 0, one * 30)

    layers: list[Layer] = [Table("table", SIZE, 3, np.zeros((256, 3), np.uint8))]

    def full(kernel: int, stride: int, outputs: int) -> None:
        side, _, channels = layers[-1].shape
        window = Window(kernel, stride, kernel // 2, kernel // 2)
        weights = np.zeros((outputs, kernel**2, channels), np.int8)
        name = f"convolution{len(layers)}"
        layers.append(Convolution(name, side, channels, factors(outputs), window, weights))

    full(3, 2, FIRST)
    for outputs, stride in PAIRS:
        side, _, channels = layers[-1].shape
        window, weights = Window(3, stride, 1, 1), np.zeros((9, channels), np.int8)
        name = f"depthwise{len(layers)}"
        layers.append(Depthwise(name, side, channels, factors(channels), window, weights))
        full(1, 1, outputs)
    side, _, channels = layers[-1].shape
    layers.append(Average("average", side, channels, factors(channels)))
    full(1, 1, NUMBER)
    return Network("mobilenet", tuple(layers), Best(NUMBER, terms_of(0.1)))


def folded(target: int) -> dict[str, Any]:
    """Return what MobileNet-V1 takes at a number of cycles an image."""
    foldings = fold(mobilenet(), target)
    return {
        "cycles": max(folding.cycles for folding in foldings),
        "dsp": sum(folding.dsp for folding in foldings),
        "ramb36_without_links": sum(folding.ramb36 for folding in foldings),
    }


def drawings() -> dict[str, Any]:
    """Return how many fresh drawings the twin of `shapes` judges rightly."""
    network, _ = read(ROOT / "rtl/pe/shapes/shapes.onnx", "shapes")
    rng, seen = np.random.default_rng(SEED), np.zeros((len(CLASSES),) * 2, int)
    for number in range(DRAWINGS):
        kind = number % len(CLASSES)
        small = shrink(draw(rng, kind, WIDTH, HEIGHT), network.size)
        seen[kind, network.judge(small)[0]] += 1
    return {
        "drawings": DRAWINGS,
        "right": int(seen.trace()),
        "share": float(seen.trace() / DRAWINGS),
        "classes": {name: row.tolist() for name, row in zip(CLASSES, seen, strict=True)},
    }


def main() -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="put the figures into this file")
    options = parser.parse_args()
    found: dict[str, Any] = {"mobilenet": {name: folded(n) for name, n in TARGETS.items()}}
    found["shapes"] = drawings()
    for name, one in found["mobilenet"].items():
        print(f"MobileNet-V1 1.0/224, {name}: {one}")
    print(f"shapes: {found['shapes']['right']} of {DRAWINGS} drawings")
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
