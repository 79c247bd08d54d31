# SPDX-License-Identifier: Apache-2.0
"""Networks of a shape with weights drawn at random, their files, and images for them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from forebay.dnn.fold import Folding, InfeasibleError, fold
from forebay.dnn.layers import Factors, multiplier, packed
from forebay.dnn.network import Convolution, Depthwise, Layer, Network, Summing, Table, Window
from forebay.dnn.times import between
from forebay.dnn.write import write
from players import Case


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


def filled(rng: np.random.Generator, shape: Network, count: int) -> Network:
    """Draw weights for a shape, and factors that suit them for `count` images."""
    images = pictures(rng, count, shape.size)
    layers: list[Layer] = []
    for layer in shape.layers:
        layers.append(filled_layer(rng, layer, images, last=layer is shape.layers[-1]))
        images = np.array([layers[-1].run(image) for image in images])
    return replace(shape, layers=tuple(layers))


def filled_layer(
    rng: np.random.Generator, layer: Layer, images: np.ndarray, *, last: bool
) -> Layer:
    """Draw a layer's weights, and factors for the images that come to it."""
    if isinstance(layer, Table):
        values = rng.permuted(np.arange(256).repeat(3)).reshape(256, 3).astype(np.uint8)
        return replace(layer, values=values)
    if isinstance(layer, (Convolution, Depthwise)):
        window = layer.window
        if window != Window():
            window = replace(window, around=int(rng.integers(256)))
        weights = rng.integers(-128, 128, layer.weights.shape).astype(np.int8)
        layer = replace(layer, weights=weights, window=window)
    if isinstance(layer, Summing):
        sums = np.array([layer.sums(image) for image in images])
        layer = replace(layer, factors=factors(rng, sums, alike=last))
    return layer


def folded(network: Network, target: int) -> tuple[Folding, ...]:
    """Return a folding for these cycles an image, or the next that there is."""
    while True:
        try:
            return fold(network, target)
        except InfeasibleError:
            target += target // 2


def case(
    network: Network, target: int, images: np.ndarray, folder: Path, *, each_layer: bool = False
) -> Case:
    """Write a network into a folder, and judge images with its twin.

    Parameters
    ----------
    network : Network
    target : int
        Cycles an image.
    images : ndarray of uint8, (count, size, size, 3)
    folder : Path
        Where the module goes.
    each_layer : bool
        What leaves each layer is compared, too.
    """
    foldings = folded(network, target)
    rooms, latency = between(network, foldings)
    files = write(network, foldings, rooms)
    source = folder / f"fb_dnn_{network.name}.sv"
    source.write_text(files.pop(source.name))
    made = [network.values(image) for image in images]
    judged = [network.best.judge(values[-1]) for values in made]
    watched = {}
    if each_layer:
        for number, (layer, folding) in enumerate(zip(network.layers, foldings, strict=True)):
            values = np.concatenate([values[number].ravel() for values in made])
            watched[layer.name] = 8 * folding.made, packed(values, 8, folding.made)
    slowest = max(folding.cycles for folding in foldings)
    return Case(
        f"fb_dnn_{network.name}",
        {"DataFolder": f'"{network.name}"'},
        packed(images, 8, 3),
        packed([int(score.view(np.uint32)) << 16 | number for number, score in judged], 48, 1),
        (24, 48),
        interval=max(1.001 * slowest, slowest + 1),
        # Both sides may pause.
        patience=10_000 + 5 * latency,
        files={f"{network.name}/{name}": text for name, text in files.items()},
        watched=watched,
    )


def answers(of: Case) -> np.ndarray:
    """Return how often each class is due."""
    return np.bincount([int(word, 16) & 0xFFFF for word in of.due])
