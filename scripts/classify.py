# SPDX-License-Identifier: Apache-2.0
"""Records images of 9 MB with MobileNet-V1 in the chain, and without: rates, and the classes.

MobileNet-V1 1.0/224 with weights drawn at random, folded for one drive (B) or two (C). Images of
2000 x 1495 pixels come at line rate; drives and wire are models, what lies between them is RTL.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.dnn.compiled import compiled
from forebay.dnn.draw import CLASSES, draw
from forebay.dnn.mobilenet import mobilenet
from forebay.dnn.shrink import shrink
from forebay.dnn.weights import filled

if TYPE_CHECKING:
    from forebay.dnn.network import Network

ROOT = Path(__file__).resolve().parent.parent
FOREBAY = str(ROOT / os.environ.get("FOREBAY", "build/forebay"))
WIDTH, HEIGHT, SIZE = 2000, 1495, 224
# Cycles an image.
DESIGNS = {"B": 215_296, "C": 131_072}


@dataclass(frozen=True)
class Case:
    """Where the payload is, its bytes in each direction, how many drives, and which design."""

    memory: str
    size: str
    drives: int = 1
    design: str = "B"


CASES = {
    "host": Case("host", "64MiB"),
    "onchip": Case("onchip", "4MiB"),
    "dram": Case("dram", "64MiB"),
    "two-drives": Case("host", "64MiB", 2, "C"),
}


def pictures(folder: Path, count: int) -> list[np.ndarray]:
    """Draw pictures into a folder, as PPM files."""
    rng = np.random.default_rng(7)
    drawn = [draw(rng, number % len(CLASSES), WIDTH, HEIGHT) for number in range(count)]
    for number, picture in enumerate(drawn):
        head = f"P6\n{WIDTH} {HEIGHT}\n255\n".encode()
        (folder / f"{number:04}.ppm").write_bytes(head + picture.tobytes())
    return drawn


def recorded(folder: Path, case: Case, element: Path | None) -> dict[str, Any]:
    """Record the pictures; returns rates, what lies on the drives, and what the element says."""
    images, pipeline = [], folder / "pipeline.toml"
    text = f"[buffer]\nmemory = '{case.memory}'\nsize = '{case.size}'\n"
    if element:
        text += f"[[pe]]\nname = 'mobilenet'\npath = '{element}'\n"
    for number in range(case.drives):
        images.append(folder / f"drive{number}.img")
        text += f"[[ssd]]\nimage = '{images[-1]}'\nsize = '1GiB'\n"
    pipeline.write_text(text)

    def run(*words: object) -> dict[str, Any]:
        command = [FOREBAY, *map(str, words), "-o", "json"]
        done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE)
        return json.loads(done.stdout)

    # With several drives the card's own link would be the limit.
    words = ["--fpga-link", "gen4x16"] if case.drives > 1 else []
    report = run("record", pipeline, "--files", folder / "pictures", "--overwrite", *words)
    objects = run("store", "ls", *images)["objects"]
    for image in images:
        image.unlink()
    seconds = report["nanoseconds"] * 1e-9
    return {
        "top": report["rtl"]["top"],
        "frames_per_second": len(objects) / seconds,
        "gigabytes_per_second": report["gigabytes_per_second"],
        "objects": sorted(objects, key=lambda one: one["object"]),
        "status": [element["status"] for element in report["elements"]],
    }


def compared(folder: Path, case: Case, network: Network, due: list[int]) -> dict[str, Any]:
    """Return what a recording with the network comes to beside one without."""
    element = folder / case.design
    element.mkdir(exist_ok=True)
    files, about = compiled(network, DESIGNS[case.design], element)
    for name, text in files.items():
        (element / name).write_text(text)
    without, judged = recorded(folder, case, None), recorded(folder, case, element)
    without.pop("objects"), without.pop("status")
    found = [one.get("class") for one in judged.pop("objects")]
    return {
        "network": {key: about[key] for key in ("cycles", "dsp", "ramb36_without_links")},
        "with": judged,
        "without": without,
        "ratio": judged["gigabytes_per_second"] / without["gigabytes_per_second"],
        "classes": found,
        "differ": sum(a != b for a, b in zip(found, due, strict=True)),
    }


def main() -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="put the figures into this file")
    parser.add_argument("--images", type=int, default=8)
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES))
    options = parser.parse_args()
    network = filled(np.random.default_rng(1), mobilenet(SIZE), 2)
    rates = {}
    with TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "pictures").mkdir()
        drawn = pictures(folder / "pictures", options.images)
        due = [network.judge(shrink(picture, SIZE))[0] for picture in drawn]
        for name in options.only:
            rates[name] = one = compared(folder, CASES[name], network, due)
            print(
                f"{name}: {one['with']['frames_per_second']:.1f} images/s, "
                f"{one['with']['gigabytes_per_second']:.3f} GB/s, {one['ratio']:.4f} of without, "
                f"{one['differ']} of {len(due)} classes differ",
                flush=True,
            )
    found = {
        "image": {"width": WIDTH, "height": HEIGHT},
        "images": options.images,
        "due": due,
        "cases": rates,
    }
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
