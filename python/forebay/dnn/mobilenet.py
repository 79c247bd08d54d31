# SPDX-License-Identifier: Apache-2.0
"""The shape of MobileNet-V1 (arXiv:1704.04861, table 1), without weights: for figures and tests."""

from __future__ import annotations

import numpy as np

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

FIRST, CLASSES = 32, 1000
# Cycles an image: of one drive's rate at 150 MHz, and of two drives' at 180 MHz.
DESIGNS = {"B": 215_296, "C": 131_072}
# Outputs and stride of each pair of layers.
PAIRS = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)]
PAIRS += [(512, 1)] * 5 + [(1024, 2), (1024, 1)]


def mobilenet(size: int, width: float = 1.0) -> Network:
    """Return the network; its weights are 0, its factors 1/2^7.

    Parameters
    ----------
    size : int
        Pixels of a side of its images.
    width : float
        Share of the channels that it has: 1, 0.75, 0.5 or 0.25.
    """

    def factors(channels: int) -> Factors:
        one = np.ones(channels, np.int64)
        return Factors(one << 23, one * 0, one * 30)

    layers: list[Layer] = [Table("table", size, 3, np.zeros((256, 3), np.uint8))]

    def full(kernel: int, stride: int, outputs: int) -> None:
        side, _, channels = layers[-1].shape
        window = Window(kernel, stride, kernel // 2, kernel // 2)
        weights = np.zeros((outputs, kernel**2, channels), np.int8)
        name = f"convolution{len(layers)}"
        layers.append(Convolution(name, side, channels, factors(outputs), window, weights))

    full(3, 2, int(FIRST * width))
    for outputs, stride in PAIRS:
        side, _, channels = layers[-1].shape
        window, weights = Window(3, stride, 1, 1), np.zeros((9, channels), np.int8)
        name = f"depthwise{len(layers)}"
        layers.append(Depthwise(name, side, channels, factors(channels), window, weights))
        full(1, 1, int(outputs * width))
    side, _, channels = layers[-1].shape
    layers.append(Average("average", side, channels, factors(channels)))
    full(1, 1, CLASSES)
    return Network("mobilenet", tuple(layers), Best(CLASSES, terms_of(0.1)))
