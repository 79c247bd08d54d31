# SPDX-License-Identifier: Apache-2.0
"""Layers of a network in the integers of `rtl/dnn`: what the hardware makes, bit by bit.

Values between layers are uint8, images are (height, width, channels).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

Values = "NDArray[np.uint8]"
MULTIPLIER_BITS, OFFSET_BITS, SHIFT_BITS = 25, 55, 6
TERM_BITS = 24  # behind the point, of a term of the softmax


@dataclass(frozen=True)
class Factors:
    """How sums become values, for each channel: (sum * multiplier + offset) / 2^shift.

    Attributes
    ----------
    multiplier, offset, shift : ndarray of int64, (channels,)
        Of 25, 55 bits with a sign; from 1 to 64.
    zero, low, high : int
        What is added to the rounded quotient; the least and the greatest value.
    """

    multiplier: NDArray[np.int64]
    offset: NDArray[np.int64]
    shift: NDArray[np.int64]
    zero: int = 0
    low: int = 0
    high: int = 255

    def parameters(self) -> dict[str, int]:
        """Return the parameters of modules that have factors."""
        return {"Zero": self.zero, "Low": self.low, "High": self.high}

    def lines(self, lanes: int) -> list[str]:
        """Return the file of `fb_dnn_requantise`."""
        words = [
            shift - 1 << OFFSET_BITS + MULTIPLIER_BITS
            | offset % 2**OFFSET_BITS << MULTIPLIER_BITS
            | multiplier % 2**MULTIPLIER_BITS
            for multiplier, offset, shift in zip(
                self.multiplier.tolist(), self.offset.tolist(), self.shift.tolist(), strict=True
            )
        ]
        return packed(np.array(words, object), MULTIPLIER_BITS + OFFSET_BITS + SHIFT_BITS, lanes)


def packed(values: Iterable[int], bits: int, lanes: int) -> list[str]:
    """Return lines of hexadecimal digits, each of `lanes` values of `bits` bits, lowest first."""
    flat = [int(value) % (1 << bits) for value in np.asarray(values).ravel()]
    digits = -(-bits * lanes // 4)
    words = (flat[at : at + lanes] for at in range(0, len(flat), lanes))
    joined = (sum(value << bits * lane for lane, value in enumerate(word)) for word in words)
    return [f"{word:0{digits}x}" for word in joined]


def multiplier(scale: float) -> tuple[int, int]:
    """Return the 24 bits and the exponent of a scale: scale = mantissa / 2^shift, exactly.

    Raises
    ------
    ValueError
        The scale, as an IEEE single, is zero, not finite, or out of the range of shifts.
    """
    mantissa, exponent = np.frexp(np.float32(scale))
    shift = 24 - int(exponent)
    if not np.isfinite(mantissa) or mantissa == 0 or not 1 <= shift <= 2**SHIFT_BITS:
        message = f"scale {scale}: its size has to be from 2^-40 to 2^23"
        raise ValueError(message)
    return int(mantissa * 2**24), shift


def squares(
    image: Values, kernel: int, stride: int, before: int, after: int, around: int
) -> NDArray[np.uint8]:
    """Return the squares of pixels that a convolution looks at.

    Parameters
    ----------
    image : ndarray of uint8, (size, size, channels)
    kernel, stride : int
        Pixels of a side of a square; from one square to the next.
    before, after : int
        Rows and columns put in front of the image and behind it.
    around : int
        Their value.

    Returns
    -------
    ndarray of uint8, (outputs, outputs, kernel * kernel, channels)
    """
    sides = (before, after)
    padded = np.pad(image, (sides, sides, (0, 0)), constant_values=around)
    found = np.lib.stride_tricks.sliding_window_view(padded, (kernel, kernel), axis=(0, 1))
    found = found[::stride, ::stride].transpose(0, 1, 3, 4, 2)
    return found.reshape(*found.shape[:2], kernel * kernel, image.shape[2])


def taps(square: Values, weights: NDArray[np.int8]) -> NDArray[np.int64]:
    """Return each channel's sum over a square, (..., channels); `weights` is (taps, channels)."""
    return np.einsum("...tc,tc->...c", square.astype(np.int64), weights.astype(np.int64))


def matrix(inputs: Values, weights: NDArray[np.int8]) -> NDArray[np.int64]:
    """Return sums of products, (..., outputs); `weights` is (outputs, inputs)."""
    # float64 is exact below 2^53.
    return (inputs.astype(float) @ weights.T.astype(float)).astype(np.int64)


def requantise(sums: NDArray[np.int64], factors: Factors) -> NDArray[np.uint8]:
    """Return the values that sums become, (..., channels)."""
    total = sums * factors.multiplier + factors.offset
    halves = total >> factors.shift - 1
    rest = total != halves << factors.shift - 1
    odd = halves >> 1 & 1
    rounded = (halves >> 1) + (halves & 1 & (rest | odd))
    return np.clip(rounded + factors.zero, factors.low, factors.high).astype(np.uint8)


def best(values: Values, terms: ArrayLike) -> tuple[int, np.float32]:
    """Return the first of the greatest values, and its softmax rounded towards zero.

    Parameters
    ----------
    values : ndarray of uint8, (classes,)
    terms : array of int, (256,)
        e^(-scale * difference) * 2^24 for each difference.
    """
    number = int(np.argmax(values))
    total = int(np.asarray(terms, np.int64)[int(values[number]) - values.astype(int)].sum())
    # 24 bits of 2^24 / total, which is at most 1.
    shift = TERM_BITS - 1
    while (2**TERM_BITS << shift) // total < 2 ** (TERM_BITS - 1):
        shift += 1
    return number, np.float32(np.ldexp((2**TERM_BITS << shift) // total, -shift))


def terms_of(scale: float) -> NDArray[np.int64]:
    """Return the terms of a softmax over values of this scale, by difference, (256,)."""
    return np.rint(np.exp(-scale * np.arange(256)) * 2**TERM_BITS).astype(np.int64)
