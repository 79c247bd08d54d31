# SPDX-License-Identifier: Apache-2.0
"""A network as an element, pictures to record through it, and what its twin says of each."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.dnn.compiled import compiled
from forebay.dnn.draw import CLASSES, draw, ppm
from forebay.dnn.shrink import shrink

CLASSES_LEAST = 5  # that the pictures have
BYTES_MOST = 3 << 30  # of pictures
DRAWS = 8  # for each picture, at most

if TYPE_CHECKING:
    from pathlib import Path

    from forebay.dnn.network import Network


def trial(
    network: Network,
    target: int,
    into: Path,
    *,
    count: int,
    size: tuple[int, int] | None = None,
    seed: int = 1,
    own_clock: bool = False,
) -> dict[str, Any]:
    """Write an element into the folder `element`, and drawn shapes into `pictures`.

    No class has more than a fifth of them, as far as that many are drawn: a comparison of pictures
    that are nearly all of one class would prove little.

    Parameters
    ----------
    network : Network
    target : int
        Cycles from an image to the next one, at most.
    into : Path
        A folder that is empty.
    count : int
        Pictures.
    size : (int, int), optional
        Pixels, width and height; by default some three times what the network sees.
    seed : int
        Decides everything that is random.
    own_clock : bool
        The element has a clock of its own.

    Returns
    -------
    dict
        As :func:`compiled`; `bytes` of the greatest picture; `due`: class and score of each
        picture.

    Raises
    ------
    InfeasibleError
        A layer cannot be that quick.
    ValueError
        No element can have the network, or pictures are smaller than what it sees.
    """
    width, height = size or (3 * network.size, 9 * network.size // 4)
    if min(width, height) < network.size:
        message = f"size {width}x{height}: the network sees {network.size}x{network.size} pixels"
        raise ValueError(message)
    if count * 3 * width * height > BYTES_MOST:
        message = f"{count} pictures of {width}x{height}: at most {BYTES_MOST >> 30} GiB are drawn"
        raise ValueError(message)
    files, found = compiled(network, target, into / "element", own_clock=own_clock)
    (into / "element").mkdir()
    for name, text in files.items():
        (into / "element" / name).write_text(text)
    rng = np.random.default_rng(seed)
    due: list[tuple[int, float]] = []
    seen: Counter[int] = Counter()
    most, left = 0, DRAWS * count
    (into / "pictures").mkdir()
    while len(due) < count:
        picture = draw(rng, left % len(CLASSES), width, height)
        label, score = network.judge(shrink(picture, network.size))
        left -= 1
        # Of all so far, too: a recording may have only the first ones.
        if seen[label] >= max(1, (len(due) + 1) // CLASSES_LEAST) and left > 0:
            continue
        seen[label] += 1
        file = ppm(picture)
        (into / "pictures" / f"{len(due):06}.ppm").write_bytes(file)
        most = max(most, len(file))
        # In JSON as the IEEE single that it is.
        due.append((label, float(str(score))))
    return {**found, "bytes": most, "due": due}
