# SPDX-License-Identifier: Apache-2.0
"""When pixels pass from layer to layer, and so how many wait between two of them.

A layer works through steps, one for each pixel that comes or is put around. A step takes the cycles
that the pixel's channels need, and may end with a pixel that leaves. Images come at the pace of the
slowest layer. A chain cannot stand still, whatever room there is between layers; room keeps the
slowest of them busy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from forebay.dnn.network import Average, Convolution, Window

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from forebay.dnn.fold import Folding
    from forebay.dnn.network import Layer, Network

IMAGES = 3
VECTORS = 2  # that fb_dnn_vector holds
BETWEEN_LEAST = 2  # words


@dataclass(frozen=True)
class Steps:
    """The steps of a layer for an image: whether a pixel comes, and whether one leaves."""

    takes: NDArray[np.bool_]
    gives: NDArray[np.bool_]
    each: int  # cycles of a step: groups of channels


def steps_of(layer: Layer, folding: Folding) -> Steps:
    """Return the steps of a layer, or of the window in front of a matrix."""
    each = layer.channels // folding.given
    if isinstance(layer, Average):
        takes = np.ones(layer.size**2, bool)
        gives = np.arange(takes.size) == takes.size - 1
        return Steps(takes, gives, each)
    window = getattr(layer, "window", Window())
    side = layer.size + window.before + window.after
    at = np.arange(side)
    comes = (at >= window.before) & (at < window.before + layer.size)
    ends = (at >= window.kernel - 1) & ((at - window.kernel + 1) % window.stride == 0)
    return Steps(np.outer(comes, comes).ravel(), np.outer(ends, ends).ravel(), each)


def pass_through(
    steps: Steps, arrivals: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return when pixels that come are taken, and when those that leave do.

    A step begins when the one before it has ended and its pixel is there.
    """
    takes, gives = np.tile(steps.takes, IMAGES), np.tile(steps.gives, IMAGES)
    there = np.full(takes.size, -np.inf)
    there[takes] = arrivals
    there[0] = max(there[0], 0.0)
    number = np.arange(takes.size)
    starts = np.maximum.accumulate(there - steps.each * number) + steps.each * number
    return starts[takes], starts[gives] + steps.each


def into_matrix(
    layer: Convolution, folding: Folding, arrivals: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the same of a layer whose squares wait for a matrix."""
    steps = steps_of(layer, folding)
    # Squares that have room; one less, for the time in which one is cut and passes on.
    squares = folding.ahead // steps.each + VECTORS - bool(folding.ahead)
    # A square is cut into words for the matrix, a word a cycle.
    every = max(folding.every(layer), layer.inputs // folding.simd)
    takes, gives = np.tile(steps.takes, IMAGES), np.tile(steps.gives, IMAGES)
    pixels = iter(arrivals.tolist())
    taken: list[float] = []
    done = [0.0] * squares  # when the matrix is, with each square; the first ones never were
    end = 0.0
    for come, leave in zip(takes.tolist(), gives.tolist(), strict=True):
        start = max(end, next(pixels)) if come else end
        if leave:
            start = max(start, done[-squares])
        if come:
            taken.append(start)
        end = start + steps.each
        if leave:
            done.append(max(done[-1], end) + every)
    return np.array(taken), np.array(done[squares:])


def interval(layer: Convolution, folding: Folding) -> int:
    """Return the cycles from an image to the next one of a layer with a window and a matrix."""
    _, left = into_matrix(layer, folding, np.zeros(IMAGES * layer.size**2))
    # Where squares wait for room, the RTL was seen to take a cycle more.
    return int(left[-1] - left[-1 - left.size // IMAGES]) + bool(folding.ahead)


def waiting(arrivals: NDArray[np.float64], taken: NDArray[np.float64]) -> int:
    """Return how many pixels wait at a time, at most."""
    number = np.arange(1, arrivals.size + 1)
    return int((number - np.searchsorted(taken, arrivals, side="left")).max(initial=0))


def between(network: Network, foldings: tuple[Folding, ...]) -> tuple[tuple[int, ...], int]:
    """Return the words that are to have room behind each layer, and the cycles to a result.

    Returns
    -------
    tuple of int
        Powers of two.
    int
        From the first pixel of an image to its class, at the pace of the slowest layer.
    """
    slowest = max(folding.cycles for folding in foldings)
    pixels = network.size**2
    arrivals = np.arange(IMAGES * pixels) * (slowest / pixels)
    rooms: list[int] = []
    for number, (layer, folding) in enumerate(zip(network.layers, foldings, strict=True)):
        if isinstance(layer, Convolution):
            taken, left = into_matrix(layer, folding, arrivals)
        else:
            taken, left = pass_through(steps_of(layer, folding), arrivals)
        if number:
            wide = math.lcm(foldings[number - 1].made, folding.given)
            rooms.append(waiting(arrivals, taken) * layer.channels // wide)
        arrivals = left
    rooms.append(network.best.classes // foldings[-1].made)
    depths = [1 << max(BETWEEN_LEAST - 1, words).bit_length() for words in rooms]
    image = (IMAGES - 1) * pixels
    latency = arrivals[-1] - image * (slowest / pixels) + 2 * network.best.classes
    return tuple(depths), int(latency)
