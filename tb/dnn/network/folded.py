# SPDX-License-Identifier: Apache-2.0
"""Networks as the compiler folds and writes them, and what their twin makes of images."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from forebay.dnn.fold import Folding, InfeasibleError, fold
from forebay.dnn.layers import packed
from forebay.dnn.network import Network
from forebay.dnn.times import between
from forebay.dnn.write import write
from players import Case


def foldings_for(network: Network, target: int) -> tuple[Folding, ...]:
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
    foldings = foldings_for(network, target)
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
        interval=1.001 * slowest,
        # Both sides may pause.
        patience=10_000 + 5 * latency,
        files={f"{network.name}/{name}": text for name, text in files.items()},
        watched=watched,
    )


def answers(of: Case) -> np.ndarray:
    """Return how often each class is due."""
    return np.bincount([int(word, 16) & 0xFFFF for word in of.due])
