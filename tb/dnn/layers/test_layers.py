# SPDX-License-Identifier: Apache-2.0
"""The parts of layers, each in several shapes, against numpy and exact fractions."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

import players
from forebay.dnn.layers import (
    Factors,
    best,
    matrix,
    multiplier,
    packed,
    requantise,
    taps,
    terms_of,
)
from forebay.dnn.network import Window
from players import Case, values, words_pass  # noqa: F401

SUM_BITS = 30


def windows(rng: np.random.Generator) -> Iterator[Case]:
    """Kernels, strides and what is put around, of each kind; images follow one another."""
    count = 3
    for size, channels, lanes, window in [
        (6, 6, 2, Window(3, 1, 1, 1, 77)),
        (7, 3, 3, Window(3, 2, 0, 1, 255)),
        (8, 4, 1, Window(5, 2, 2, 2, 1)),
        (5, 2, 1, Window(2, 2)),
        (6, 4, 2, Window(1, 2)),
    ]:
        images = values(rng, (count, size, size, channels))
        due = []
        for image in images:
            found = window.squares(image)
            groups = found.reshape(*found.shape[:3], channels // lanes, lanes)
            due += packed(groups.transpose(0, 1, 3, 2, 4), 8, window.kernel**2 * lanes)
        names = {"Size": size, "Channels": channels, "Lanes": lanes, "Zero": window.around}
        yield Case(
            "fb_dnn_window",
            names | window.parameters(),
            packed(images, 8, lanes),
            due,
            (8 * lanes, 8 * lanes * window.kernel**2),
            cycles=count * window.steps(size) * channels // lanes + 3,
        )


def lanes_cases(rng: np.random.Generator) -> Iterator[Case]:
    """Words become smaller and larger; a small one moves in each cycle."""
    bits = 11
    for one, other in [(6, 2), (2, 6), (4, 1), (1, 4), (3, 3)]:
        drawn = rng.integers(1 << bits, size=240)
        given, due = packed(drawn, bits, one), packed(drawn, bits, other)
        names = {"Width": bits, "From": one, "To": other}
        cycles = max(len(given), len(due)) + 4
        yield Case("fb_dnn_lanes", names, given, due, (bits * one, bits * other), cycles)


def vectors(rng: np.random.Generator) -> Iterator[Case]:
    """One word and several, once and more often; without a cycle in which nothing leaves."""
    for count, repeats in [(5, 3), (1, 4), (4, 1), (1, 1)]:
        drawn = rng.integers(1 << 16, size=(30, count))
        due = packed(np.repeat(drawn[:, None], repeats, axis=1), 16, 1)
        names = {"Width": 16, "Words": count, "Repeats": repeats}
        yield Case(
            "fb_dnn_vector", names, packed(drawn, 16, 1), due, (16, 16), len(due) + count + 4
        )


def matrices(rng: np.random.Generator) -> Iterator[Case]:
    """Foldings of each kind, values and weights of which many are extreme; a word a cycle."""
    for inputs, outputs, pe, simd in [(12, 8, 4, 4), (6, 3, 1, 3), (27, 4, 2, 27), (8, 2, 2, 1)]:
        given = values(rng, (40, inputs))
        weights = values(rng, (outputs, inputs), signed=True)
        # A line has the weights of a cycle: Pe outputs, Simd inputs of each.
        folded = weights.reshape(outputs // pe, pe, inputs // simd, simd).swapaxes(1, 2)
        repeated = packed(np.repeat(given[:, None], outputs // pe, axis=1), 8, simd)
        bits = (inputs * 255 * 128).bit_length() + 1
        yield Case(
            "fb_dnn_matrix",
            {"Inputs": inputs, "Outputs": outputs, "Pe": pe, "Simd": simd},
            repeated,
            packed(matrix(given, weights), bits, pe),
            (8 * simd, bits * pe),
            cycles=len(repeated) + 6,
            files={"File": packed(folded, 8, pe * simd)},
        )


def taps_cases(rng: np.random.Generator) -> Iterator[Case]:
    """Groups with weights of their own; a group a cycle."""
    for channels, lanes, count in [(6, 2, 9), (2, 2, 25), (3, 1, 1)]:
        square = values(rng, (60, count, channels))
        weights = values(rng, (count, channels), signed=True)
        groups = (channels // lanes, lanes)
        given = packed(square.reshape(60, count, *groups).swapaxes(1, 2), 8, count * lanes)
        bits = (count * 255 * 128).bit_length() + 1
        lines = packed(weights.reshape(count, *groups).swapaxes(0, 1), 8, count * lanes)
        yield Case(
            "fb_dnn_taps",
            {"Channels": channels, "Lanes": lanes, "Taps": count},
            given,
            packed(taps(square, weights), bits, lanes),
            (8 * count * lanes, bits * lanes),
            cycles=len(given) + 6,
            files={"File": lines},
        )


def draw_factors(rng: np.random.Generator, channels: int) -> Factors:
    """Draw factors: scales of all sizes, powers of two, which have ties, and both signs."""
    scales = [
        2.0 ** rng.integers(-20, 4) * rng.choice([1.0, -1.0, rng.uniform(0.5, 1)])
        for _ in range(channels)
    ]
    mantissas, shifts = zip(*(multiplier(abs(scale)) for scale in scales), strict=True)
    signed = np.array(mantissas) * np.sign(scales).astype(int)
    # Whole multiples of the multiplier, as those of a bias are, and any number.
    offsets = np.where(
        rng.random(channels) < 0.7,
        signed * rng.integers(-(2**12), 2**12, channels),
        rng.integers(-(2**54), 2**54, channels),
    )
    low, high = (30, 200) if channels == 4 else (0, 255)
    return Factors(signed, offsets, np.array(shifts), int(rng.integers(256)), low, high)


def exactly(total: int, factors: Factors, channel: int) -> int:
    """Return a sum's value by the rule, in fractions; Python rounds halves to even."""
    product = total * int(factors.multiplier[channel]) + int(factors.offset[channel])
    rounded = round(Fraction(product, 2 ** int(factors.shift[channel])))
    return min(max(rounded + factors.zero, factors.low), factors.high)


def requantised(rng: np.random.Generator) -> Iterator[Case]:
    """Sums around ties and limits, and the greatest there are."""
    limit = 2 ** (SUM_BITS - 1)
    for channels, lanes in [(6, 2), (1, 1), (4, 4), (12, 3)]:
        factors = draw_factors(rng, channels)
        # Sums whose values are anywhere in the range, and halves between them; and any sum.
        scale = factors.multiplier / 2.0**factors.shift
        wanted = rng.integers(-2, 258, (300, channels)) - factors.zero
        near = wanted + rng.choice([0, 0.5], wanted.shape) - factors.offset / 2.0**factors.shift
        near = np.rint(near / scale) + rng.integers(-1, 2, wanted.shape)
        anywhere = rng.integers(-limit, limit, wanted.shape)
        sums = np.where(np.abs(near) < limit, near, anywhere).astype(np.int64)
        sums[:2] = [[-limit], [limit - 1]]
        due = [[exactly(int(one), factors, at) for at, one in enumerate(line)] for line in sums]
        assert np.array_equal(due, requantise(sums, factors))
        given = packed(sums, SUM_BITS, lanes)
        names = {"Channels": channels, "Lanes": lanes, "SumBits": SUM_BITS}
        yield Case(
            "fb_dnn_requantise",
            names | factors.parameters(),
            given,
            packed(due, 8, lanes),
            (SUM_BITS * lanes, 8 * lanes),
            cycles=len(given) + 8,
            files={"File": factors.lines(lanes)},
        )


def sums(rng: np.random.Generator) -> Iterator[Case]:
    """Images follow one another; a group a cycle."""
    for pixels, channels, lanes in [(9, 6, 2), (49, 3, 3), (1, 4, 1)]:
        images = values(rng, (6, pixels, channels))
        given, bits = packed(images, 8, lanes), (pixels * 255).bit_length() + 1
        due = packed(images.sum(axis=1, dtype=int), bits, lanes)
        names = {"Pixels": pixels, "Channels": channels, "Lanes": lanes}
        yield Case("fb_dnn_sums", names, given, due, (8 * lanes, bits * lanes), len(given) + 3)


def greatest(rng: np.random.Generator) -> Iterator[Case]:
    """Squares of 3 x 3 pixels, two channels; a word a cycle."""
    square = values(rng, (100, 9, 2))
    given, due = packed(square, 8, 18), packed(square.max(axis=1), 8, 2)
    yield Case("fb_dnn_greatest", {"Lanes": 2, "Taps": 9}, given, due, (144, 16), 104)


def table(rng: np.random.Generator) -> Iterator[Case]:
    """Each value of each channel; a pixel a cycle."""
    contents = values(rng, (256, 3))
    pixels = rng.permuted(np.repeat(np.arange(256)[:, None], 3, axis=1), axis=0)
    due = packed(contents[pixels, np.arange(3)], 8, 3)
    files = {"File": packed(contents, 8, 3)}
    yield Case("fb_dnn_table", {}, packed(pixels, 8, 3), due, (24, 24), 260, files=files)


def judged(rng: np.random.Generator) -> Iterator[Case]:
    """Sure and unsure ones, equal values, differences whose terms are nothing."""
    for classes, scale in [(10, 0.11), (3, 2.5), (130, 0.0007), (2, 90.0)]:
        images = np.concatenate([values(rng, (12, classes)), np.full((2, classes), 7, np.uint8)])
        terms = terms_of(scale)
        due = []
        for image in images:
            number, score = best(image, terms)
            assert number == image.tolist().index(image.max())
            exact = 1 / np.exp(-scale * (image.max() - image.astype(float))).sum()
            assert abs(score / exact - 1) < 4e-7
            due.append(int(score.view(np.uint32)) << 16 | number)
        yield Case(
            "fb_dnn_best",
            {"Classes": classes},
            packed(images, 8, 1),
            packed(due, 48, 1),
            (8, 48),
            cycles=len(images) * (2 * classes + 46),
            files={"File": packed(terms, 25, 1)},
        )


def test_layers() -> None:
    """All of them, in one model."""
    kinds = [windows, lanes_cases, vectors, matrices, taps_cases, requantised, sums, greatest]
    kinds += [table, judged]
    rng = players.generator()
    cases = [case for kind in kinds for case in kind(rng)]
    players.simulate_cases(__file__, "fb_dnn_layers_bench", cases)
