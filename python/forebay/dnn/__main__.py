# SPDX-License-Identifier: Apache-2.0
"""`forebay dnn`: networks become processing elements."""

from __future__ import annotations

import argparse
import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.dnn.compiled import compiled
from forebay.dnn.devices import DEVICES
from forebay.dnn.draw import CLASSES, draw, ppm
from forebay.dnn.element import is_ours, judges_images
from forebay.dnn.fold import InfeasibleError
from forebay.dnn.mobilenet import mobilenet
from forebay.dnn.shrink import SIDE_MOST, shrink
from forebay.dnn.trial import trial
from forebay.dnn.weights import filled
from forebay.store.tell import BAD_INPUT, GOOD, IMPOSSIBLE, failure, guarded, needed, warn

if TYPE_CHECKING:
    from forebay.dnn.network import Network

# Of a PGM or PPM file: kind, width, height; comments may stand between them.
HEADER = rb"(P[56])(?:\s|#[^\n]*\n)+(\d+)(?:\s|#[^\n]*\n)+(\d+)(?:\s|#[^\n]*\n)+255\s"
NAME = re.compile(r"[a-z][a-z0-9_]{0,30}")
CLOCK_HZ = 200e6
IMAGES_A_SECOND = 676.0


def rate(text: str) -> float:
    """Read `676`, a number of images a second."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < 1e9:
        raise argparse.ArgumentTypeError(f"'{text}': images a second, for example 676")
    return number


def divisor(text: str) -> float:
    """Read `255`, what pixels are divided by."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 1e-6 <= number <= 1e6:
        raise argparse.ArgumentTypeError(f"'{text}': a number from 1e-6 to 1e6, as 255")
    return number


def clock(text: str) -> float:
    """Read `200MHz`; returns Hz."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(MHz|GHz)", text)
    hz = float(found[1]) * {"MHz": 1e6, "GHz": 1e9}[found[2]] if found else 0.0
    if not 1e6 <= hz <= 2e9:
        raise argparse.ArgumentTypeError(f"'{text}': a clock from 1MHz to 2GHz, as 200MHz")
    return hz


def size(text: str) -> tuple[int, int]:
    """Read `2000x1495`, pixels."""
    found = re.fullmatch(r"(\d{1,5})x(\d{1,5})", text)
    pixels = (int(found[1]), int(found[2])) if found else (0, 0)
    if not all(8 <= side <= SIDE_MOST for side in pixels):
        raise argparse.ArgumentTypeError(f"'{text}': sides of 8 to {SIDE_MOST}, as 2000x1495")
    return pixels


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="forebay dnn", description=__doc__)
    parser.add_argument("--json", type=Path, help=argparse.SUPPRESS)
    commands = parser.add_subparsers(dest="command", required=True)
    compiles = commands.add_parser("compile", help="make a processing element of a network")
    compiles.add_argument("--into", type=Path, help="folder for the element; default: its name")
    runs = commands.add_parser("run", help="judge images as the hardware does")
    draws = commands.add_parser(
        "draw", help="draw pictures of shapes, PPM files, with their classes"
    )
    draws.add_argument("into", type=Path, help="folder for them, new or empty")
    draws.add_argument("--count", type=int, default=10)
    draws.add_argument("--size", type=size, default=(2000, 1495), help="default 2000x1495")
    draws.add_argument("--seed", type=int, default=1)
    tries = commands.add_parser(
        "trial", help="make an element, pictures and what the twin says, for a check of the RTL"
    )
    tries.add_argument("--cycles", type=int, help="of an image; in place of --fps and --clock")
    tries.add_argument("--into", type=Path, required=True, help="an empty folder")
    tries.add_argument("--count", type=int, default=8)
    tries.add_argument("--size", type=size, help="default: 3 times what the network sees")
    tries.add_argument("--seed", type=int, default=1)
    for command in (compiles, runs, tries):
        if command is tries:
            default = "quantised ONNX file; default: MobileNet-V1 1.0/224, weights by chance"
            command.add_argument("net", type=Path, nargs="?", help=default)
        else:
            command.add_argument("net", type=Path, help="quantised ONNX file")
        command.add_argument("--name", help="the network's name; default: that of the file")
        command.add_argument(
            "--divide",
            type=divisor,
            default=255.0,
            help="the graph expects pixels divided by this; default 255",
        )
    runs.add_argument("images", nargs="+", type=Path, help="PGM or PPM files of any size")
    compiles.add_argument(
        "--device", choices=DEVICES, help="has to have the multipliers and RAM of the layers"
    )
    for command in (compiles, tries):
        command.add_argument(
            "--fps", type=rate, default=IMAGES_A_SECOND, help="images a second; default 676"
        )
        command.add_argument(
            "--clock", type=clock, default=CLOCK_HZ, help="the network's clock; default 200MHz"
        )
        command.add_argument(
            "--own-clock", action="store_true", help="a clock of its own, not the chain's"
        )
    return parser.parse_args(words)


def load(options: argparse.Namespace) -> Network:
    """Read the network that the command line names."""
    reader = needed("forebay.dnn.read")
    name = options.name or re.sub(r"\W", "_", options.net.stem.lower())
    if not NAME.fullmatch(name):
        message = f"name '{name}': a small letter, then at most 30 of those, digits, underscores"
        raise argparse.ArgumentTypeError(message)
    network, warnings = reader.read(options.net, name, options.divide)
    warn(warnings)
    judges_images(network)
    return network


def compile_network(options: argparse.Namespace) -> dict[str, Any]:
    """Write an element; returns what is to be told."""
    network = load(options)
    into = options.into or Path(network.name)
    more = {"device": options.device, "own_clock": options.own_clock}
    files, found = compiled(network, int(options.clock / options.fps), into.resolve(), **more)
    warn(found["warnings"])
    into.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (into / name).write_text(text)
    rate = options.clock / found["cycles"]
    return {**found, "into": str(into), "images_per_s": rate, "clock_hz": options.clock}


def show_compiled(found: dict[str, Any]) -> None:
    """Print what was compiled."""
    head = ("layer", "comes", "leaves", "Pe x Simd", "lanes", "cycles", "DSP", "RAMB36", "room")
    rows = [head]
    for layer in found["layers"]:
        shape = "x".join(map(str, layer["shape"]))
        folding = f"{layer['pe']} x {layer['simd']}" if layer["pe"] else ""
        comes = f"{layer['size']}x{layer['size']}x{layer['channels']}"
        numbers = (layer["lanes"], f"{layer['cycles']:,}", layer["dsp"], f"{layer['ramb36']:g}")
        rows.append((layer["layer"], comes, shape, folding, *map(str, numbers), str(layer["room"])))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        )
    print(
        f"\n{found['into']}/fb_pe_{found['name']}.toml: an image in {found['cycles']:,} cycles, "
        f"{found['images_per_s']:.0f} a second at {found['clock_hz'] / 1e6:g} MHz; "
        f"{found['dsp']} DSP, {found['ramb36_of_layers']:g} RAMB36 and "
        f"{found['ramb36_of_links']:g} of FIFOs between layers"
    )


def image(path: Path) -> np.ndarray:
    """Read a binary PGM or PPM file, (height, width, 3)."""
    data = path.read_bytes()
    found = re.match(HEADER, data)
    channels = {b"P5": 1, b"P6": 3}[found[1]] if found else 0
    if not found or len(data) - found.end() != int(found[2]) * int(found[3]) * channels:
        message = f"{path}: no binary PGM or PPM file of 8 bits; `convert IN -depth 8 OUT.ppm`"
        raise argparse.ArgumentTypeError(message)
    pixels = np.frombuffer(data, np.uint8, offset=found.end())
    shaped = pixels.reshape(int(found[3]), int(found[2]), channels)
    return np.repeat(shaped, 3, axis=2) if channels == 1 else shaped


def judge(options: argparse.Namespace) -> dict[str, Any]:
    """Judge images with the twin of scaler and network."""
    network = load(options)
    found = []
    for path in options.images:
        number, score = network.judge(shrink(image(path), network.size))
        found.append({"image": str(path), "class": number, "score": float(score)})
    return {"name": network.name, "images": found}


def draw_pictures(options: argparse.Namespace) -> dict[str, Any]:
    """Draw pictures, the classes in turns; returns their names and classes."""
    if options.count < 1 or (options.into.exists() and any(options.into.iterdir())):
        message = (
            f"{options.into}, {options.count} pictures: a folder that is new or empty, 1 or more"
        )
        raise argparse.ArgumentTypeError(message)
    options.into.mkdir(parents=True, exist_ok=True)
    rng, found = np.random.default_rng(options.seed), []
    for number in range(options.count):
        kind = number % len(CLASSES)
        path = options.into / f"{number:04}-{CLASSES[kind]}.ppm"
        path.write_bytes(ppm(draw(rng, kind, *options.size)))
        found.append({"image": str(path), "class": kind, "name": CLASSES[kind]})
    return {"images": found}


def try_network(options: argparse.Namespace) -> dict[str, Any]:
    """Make a trial of a network, or of MobileNet-V1 with weights drawn at random."""
    by_chance = None if options.net else filled(np.random.default_rng(1), mobilenet(224), 2)
    network = by_chance or load(options)
    if is_ours(network.name, options.into):
        network = replace(network, name=f"{network.name[:24]}_check")
    target = options.cycles or int(options.clock / options.fps)
    amount = {"count": options.count, "size": options.size, "seed": options.seed}
    found = trial(network, target, options.into.resolve(), own_clock=options.own_clock, **amount)
    warn(found["warnings"])
    return found


COMMANDS = {
    "compile": compile_network,
    "run": judge,
    "draw": draw_pictures,
    "trial": try_network,
}


def show(command: str, found: dict[str, Any]) -> None:
    """Print what was done."""
    if command == "compile":
        show_compiled(found)
    elif command == "trial":
        print(f"{found['name']}: {len(found['due'])} pictures")
    elif command == "run":
        for one in found["images"]:
            print(f"{one['class']:5}  {one['score']:.4f}  {one['image']}")
    else:
        print(f"{len(found['images'])} pictures, the first one {found['images'][0]['image']}")


def main() -> int:
    """Run the command line; returns the exit code."""
    options = arguments()
    try:
        found = COMMANDS[options.command](options)
    except InfeasibleError as error:
        failure(error, "--fps and --clock say how quick it has to be")
        return IMPOSSIBLE
    except (argparse.ArgumentTypeError, ValueError) as error:
        failure(error)
        return BAD_INPUT
    if options.json:
        text = json.dumps(found, indent=2) + "\n"
        if str(options.json) == "-":
            print(text, end="")
            return GOOD
        options.json.write_text(text)
    show(options.command, found)
    return GOOD


if __name__ == "__main__":
    sys.exit(guarded(main))
