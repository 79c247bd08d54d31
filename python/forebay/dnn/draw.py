# SPDX-License-Identifier: Apache-2.0
"""Draws pictures of shapes, which a small network learns to recognise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

CLASSES = (
    "disc",
    "ring",
    "square",
    "triangle",
    "cross",
    "rows",
    "columns",
    "checks",
    "dots",
    "plain",
)
CONTRAST = 70  # of at least one channel, between shape and ground


def _shape(rng: np.random.Generator, kind: str, width: int, height: int) -> NDArray[np.bool_]:
    """Return which pixels belong to a shape of random place, size and turn."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    unit = min(width, height)
    centre_x, centre_y = width * rng.uniform(0.35, 0.65), height * rng.uniform(0.35, 0.65)
    radius, turn = unit * rng.uniform(0.2, 0.38), rng.uniform(-0.3, 0.3)
    u = ((x - centre_x) * np.cos(turn) + (y - centre_y) * np.sin(turn)) / radius
    v = (-(x - centre_x) * np.sin(turn) + (y - centre_y) * np.cos(turn)) / radius
    period = unit / rng.uniform(3, 6)
    x, y = x + rng.uniform(0, period), y + rng.uniform(0, period)
    across, down = x % period < period / 2, y % period < period / 2
    if kind in ("disc", "ring"):
        distance = u**2 + v**2
        return (distance < 1) & ((distance > 0.36) | (kind == "disc"))
    if kind == "square":
        return np.maximum(np.abs(u), np.abs(v)) < 0.85
    if kind == "triangle":
        return (v < 0.7) & (v > 1.9 * np.abs(u) - 1.0)
    if kind == "cross":
        arms = (np.abs(u) < 0.28) | (np.abs(v) < 0.28)
        return arms & (np.maximum(np.abs(u), np.abs(v)) < 1)
    if kind == "rows":
        return down
    if kind == "columns":
        return across
    if kind == "checks":
        return across ^ down
    if kind == "dots":
        middle = period / 2
        return (x % period - middle) ** 2 + (y % period - middle) ** 2 < (0.3 * period) ** 2
    return np.zeros_like(across)


def draw(rng: np.random.Generator, number: int, width: int, height: int) -> NDArray[np.uint8]:
    """Draw a picture of a class.

    Parameters
    ----------
    rng : Generator
        Decides colours, place, size, turn, gradients and noise.
    number : int
        The class, an index of `CLASSES`.
    width, height : int
        Pixels.

    Returns
    -------
    ndarray of uint8, (height, width, 3)
    """
    ground, colour = rng.uniform(0, 255, (2, 3))
    while np.abs(ground - colour).max() < CONTRAST:
        colour = rng.uniform(0, 255, 3)
    along = np.linspace(-0.5, 0.5, width, dtype=np.float32)[None, :, None]
    down = np.linspace(-0.5, 0.5, height, dtype=np.float32)[:, None, None]
    slopes = rng.uniform(-50, 50, (2, 3)).astype(np.float32)
    shaded = ground.astype(np.float32) + along * slopes[0] + down * slopes[1]
    shape = _shape(rng, CLASSES[number], width, height)[..., None]
    noise = rng.standard_normal((height, width, 1), np.float32) * np.float32(rng.uniform(2, 14))
    return np.clip(np.where(shape, colour.astype(np.float32), shaded) + noise, 0, 255).astype(
        np.uint8
    )


def ppm(image: NDArray[np.uint8]) -> bytes:
    """Return a picture as a binary PPM file."""
    return b"P6\n%d %d\n255\n" % image.shape[1::-1] + image.tobytes()
