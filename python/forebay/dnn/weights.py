# SPDX-License-Identifier: Apache-2.0
"""Weights drawn at random for the shape of a network: for figures and tests."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from forebay.dnn.layers import Factors, multiplier
from forebay.dnn.network import Convolution, Depthwise, Summing, Table, Window

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from forebay.dnn.network import Layer, Network


def pictures(rng: np.random.Generator, count: int, size: int) -> NDArray[np.uint8]:
    """Draw images: coarse squares with noise, of all contrasts."""
    coarse = rng.integers(0, 256, (count, 3, 3, 3)).astype(float)
    fine = coarse.repeat(-(-size // 3), axis=1).repeat(-(-size // 3), axis=2)[:, :size, :size]
    noise = rng.normal(0, 40, fine.shape)
    return np.clip(fine + noise, 0, 255).astype(np.uint8)


def factors(rng: np.random.Generator, sums: NDArray[np.int64], *, alike: bool) -> Factors:
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
    rng: np.random.Generator, layer: Layer, images: NDArray[np.uint8], *, last: bool
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
