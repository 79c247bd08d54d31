# SPDX-License-Identifier: Apache-2.0
"""What the compiler makes of MobileNet-V1, and how many drawings `shapes` recognises."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from forebay.dnn.compiled import costs
from forebay.dnn.draw import CLASSES, draw
from forebay.dnn.fold import fold
from forebay.dnn.mobilenet import DESIGNS, mobilenet
from forebay.dnn.read import read
from forebay.dnn.shrink import shrink
from forebay.dnn.times import between

ROOT = Path(__file__).resolve().parent.parent
DRAWINGS, WIDTH, HEIGHT, SEED = 2000, 96, 72, 2026


def folded(target: int) -> dict[str, Any]:
    """Return what MobileNet-V1 takes at a number of cycles an image."""
    network = mobilenet(224)
    foldings = fold(network, target)
    dsp, layers, links = costs(foldings, between(network, foldings)[0])
    cycles = max(folding.cycles for folding in foldings)
    return {"cycles": cycles, "dsp": dsp, "ramb36": layers + links, "ramb36_of_links": links}


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
    found: dict[str, Any] = {"mobilenet": {name: folded(n) for name, n in DESIGNS.items()}}
    found["shapes"] = drawings()
    for name, one in found["mobilenet"].items():
        print(f"MobileNet-V1 1.0/224, {name}: {one}")
    print(f"shapes: {found['shapes']['right']} of {DRAWINGS} drawings")
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
