# SPDX-License-Identifier: Apache-2.0
"""Images made small by averaging over areas, in the integers of `rtl/dnn`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

SIDE_MOST = 2**14 - 1  # width and height, pixels
RECIPROCAL_BITS = 17
SUM_BITS = 26  # of a sum when it is multiplied by the reciprocal


def shares(side: int, size: int) -> NDArray[np.int64]:
    """Return how many units of each input pixel belong to each output pixel.

    Parameters
    ----------
    side, size : int
        Pixels of a line before and after; an input pixel has `size` units.

    Returns
    -------
    ndarray, (size, side)
        Each row adds up to `side`.
    """
    at, cut = np.arange(side) * size, np.arange(size + 1) * side
    upper = np.minimum(at[None, :] + size, cut[1:, None])
    return np.maximum(upper - np.maximum(at[None, :], cut[:-1, None]), 0)


def reciprocal(area: int) -> tuple[int, int]:
    """Return the reciprocal of an area as a number of 17 bits, and the bits of the area."""
    bits = area.bit_length()
    exact = (2 ** (bits + RECIPROCAL_BITS - 1) + area // 2) // area
    return min(exact, 2**RECIPROCAL_BITS - 1), bits


def shrink(image: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    """Make an image small, bit by bit as `fb_dnn_shrink` does.

    Parameters
    ----------
    image : ndarray of uint8, (height, width) or (height, width, 3)
        Height and width are `size` or more, 16383 at most.
    size : int
        Pixels of a side of the small image.

    Returns
    -------
    ndarray of uint8, (size, size, 3)
        Means over areas; a grey image has three equal channels. From the mean that is rounded
        exactly single values differ by 1.

    Raises
    ------
    ValueError
        The image is smaller than `size` somewhere, or too large.
    """
    height, width = image.shape[:2]
    if not (size <= width <= SIDE_MOST and size <= height <= SIDE_MOST):
        message = f"image of {width} x {height} pixels: both have to be from {size} to {SIDE_MOST}"
        raise ValueError(message)
    pixels = image if image.ndim == 3 else image[:, :, None]
    # float64 is exact below 2^53; sums stay below 2^36.
    lines = np.tensordot(shares(height, size).astype(float), pixels.astype(float), axes=1)
    sums = np.tensordot(lines, shares(width, size).astype(float), axes=(1, 1)).swapaxes(1, 2)
    factor, bits = reciprocal(width * height)
    shift = bits + 8 - SUM_BITS
    whole = sums.astype(np.int64)
    whole = whole >> shift if shift > 0 else whole << -shift
    mean = (whole * factor + 2**33) >> 34
    return np.broadcast_to(np.minimum(mean, 255), (size, size, 3)).astype(np.uint8)
