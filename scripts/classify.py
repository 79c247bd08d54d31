# SPDX-License-Identifier: Apache-2.0
"""Records images of 9 MB with MobileNet-V1 in the chain, and without: rates, and the classes.

MobileNet-V1 1.0/224 with weights drawn at random, folded for one drive (B) or two (C). Images of
2000 x 1495 pixels come at line rate; drives and the wire are models, all else is RTL.

The class of the last image comes a millisecond after its last byte, and its header with it. Where
the buffer holds most of a recording, drives still write then, and a rate is that of the whole.
Elsewhere it is that of the images which a longer recording has more.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.dnn.compiled import compiled
from forebay.dnn.draw import CLASSES, draw, ppm
from forebay.dnn.mobilenet import DESIGNS, mobilenet
from forebay.dnn.shrink import shrink
from forebay.dnn.weights import filled

if TYPE_CHECKING:
    from forebay.dnn.network import Network

ROOT = Path(__file__).resolve().parent.parent
FOREBAY = str(ROOT / os.environ.get("FOREBAY", "build/forebay"))
WIDTH, HEIGHT, SIZE, IMAGES = 2000, 1495, 224, 8


@dataclass(frozen=True)
class Case:
    """Where the payload is, its bytes in each direction, how many drives, and which design.

    `counts`: images of the shorter recording, 0 for none, and of the longer one.
    """

    memory: str
    size: str
    counts: tuple[int, int]
    drives: int = 1
    design: str = "B"


CASES = {
    "host": Case("host", "64MiB", (0, 8)),
    "onchip": Case("onchip", "4MiB", (2, 6)),
    "dram": Case("dram", "64MiB", (0, 8)),
    "two-drives": Case("host", "64MiB", (2, 6), 2, "C"),
}


def pictures(folder: Path, count: int) -> list[np.ndarray]:
    """Draw pictures into a folder, as PPM files."""
    # Of the first six each has a class of its own.
    rng = np.random.default_rng(27)
    drawn = [draw(rng, number % len(CLASSES), WIDTH, HEIGHT) for number in range(count)]
    for number, picture in enumerate(drawn):
        (folder / f"{number:04}.ppm").write_bytes(ppm(picture))
    return drawn


def recorded(folder: Path, case: Case, element: Path | None, count: int) -> dict[str, Any]:
    """Record the first pictures; returns the report, and the objects of the recording."""
    images, pipeline, sent = [], folder / "pipeline.toml", folder / "sent"
    text = f"[buffer]\nmemory = '{case.memory}'\nsize = '{case.size}'\n"
    if element:
        text += f"[[pe]]\nname = 'mobilenet'\npath = '{element}'\n"
    for number in range(case.drives):
        images.append(folder / f"drive{number}.img")
        text += f"[[ssd]]\nimage = '{images[-1]}'\nsize = '1GiB'\n"
    pipeline.write_text(text)
    sent.mkdir()
    for picture in sorted((folder / "pictures").iterdir())[:count]:
        (sent / picture.name).symlink_to(picture)

    def run(*words: object) -> dict[str, Any]:
        command = [FOREBAY, *map(str, words), "-o", "json"]
        done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE)
        return json.loads(done.stdout)

    # With several drives the card's own link would be the limit.
    words = ["--fpga-link", "gen4x16"] if case.drives > 1 else []
    report = run("record", pipeline, "--files", sent, "--overwrite", *words)
    objects = run("store", "ls", *images)["objects"]
    shutil.rmtree(sent)
    for image in images:
        image.unlink()
    return report | {"objects": sorted(objects, key=lambda one: one["object"])}


def rate(folder: Path, case: Case, element: Path | None) -> dict[str, Any]:
    """Record pictures; returns the rate, and the classes and scores in the recording."""
    few, count = case.counts
    begun = recorded(folder, case, element, few)["nanoseconds"] if few else 0
    report = recorded(folder, case, element, count)
    frames = (count - few) / (report["nanoseconds"] - begun) * 1e9
    return {
        "top": report["rtl"]["top"],
        "images": [few, count],
        "nanoseconds": [begun, report["nanoseconds"]],
        "frames_per_second": frames,
        "gigabytes_per_second": frames * report["objects"][0]["length"] * 1e-9,
        "answers": [[one.get("class"), one.get("score")] for one in report["objects"]],
        "status": [one["status"] for one in report["elements"]],
    }


def compared(folder: Path, case: Case, network: Network, due: list[list[float]]) -> dict[str, Any]:
    """Return what a recording with the network comes to beside one without."""
    element = folder / case.design
    element.mkdir(exist_ok=True)
    files, about = compiled(network, DESIGNS[case.design], element)
    for name, text in files.items():
        (element / name).write_text(text)
    without, judged = (rate(folder, case, one) for one in (None, element))
    return {
        "network": {key: about[key] for key in ("cycles", "dsp", "ramb36_without_links")},
        "with": judged,
        "without": without,
        "ratio": judged["frames_per_second"] / without["frames_per_second"],
        "differ": sum(
            a != b for a, b in zip(judged["answers"], due[: case.counts[1]], strict=True)
        ),
    }


def main() -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="put the figures into this file")
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES))
    options = parser.parse_args()
    network = filled(np.random.default_rng(1), mobilenet(SIZE), 2)
    rates = {}
    with TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "pictures").mkdir()
        drawn = pictures(folder / "pictures", IMAGES)
        answers = [network.judge(shrink(picture, SIZE)) for picture in drawn]
        # As JSON has an IEEE single.
        due = [[number, float(str(score))] for number, score in answers]
        assert len({number for number, _ in due[:6]}) == 6, f"classes {due}"
        for name in options.only:
            rates[name] = one = compared(folder, CASES[name], network, due)
            print(
                f"{name}: {one['with']['frames_per_second']:.1f} images/s, "
                f"{one['with']['gigabytes_per_second']:.3f} GB/s, {one['ratio']:.4f} of without, "
                f"{one['differ']} answers differ",
                flush=True,
            )
    found = {
        "image": {"width": WIDTH, "height": HEIGHT},
        "due": due,
        "cases": rates,
    }
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
