# SPDX-License-Identifier: Apache-2.0
"""From a network to the files of a processing element, and what is to be told of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forebay.dnn.element import element, is_ours, judges_images
from forebay.dnn.fold import fold
from forebay.dnn.times import between
from forebay.dnn.write import write
from forebay.filelist import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from forebay.dnn.network import Network

ROOM = 65_536  # words that a link can hold


def compiled(network: Network, target: int, into: Path) -> tuple[dict[str, str], dict[str, Any]]:
    """Fold a network and write it as an element.

    Parameters
    ----------
    network : Network
    target : int
        Cycles from an image to the next one, at most.
    into : Path
        The folder where the files are to lie; it may be missing.

    Returns
    -------
    dict
        Files by their names.
    dict
        Cycles, multipliers and memories, of each layer too.

    Raises
    ------
    InfeasibleError
        A layer cannot be that quick.
    ValueError
        No element can have the network.
    """
    judges_images(network)
    if taken := is_ours(network.name, into):
        message = (
            f"name {network.name}: {taken.relative_to(ROOT)} is called so; give --name another"
        )
        raise ValueError(message)
    foldings = fold(network, target)
    rooms, latency = between(network, foldings)
    full = [layer.name for layer, room in zip(network.layers, rooms, strict=True) if room > ROOM]
    warnings = [f"{name}: {ROOM} words have room behind it, more would wait" for name in full]
    rooms = tuple(min(room, ROOM) for room in rooms)
    cycles = max(folding.cycles for folding in foldings)
    files = write(network, foldings, rooms)
    data = [name for name in files if name.endswith(".mem")]
    files |= element(network, cycles, latency, data, into)
    layers = [
        {
            "layer": layer.name,
            "size": layer.size,
            "channels": layer.channels,
            "shape": list(layer.shape),
            "pe": folding.pe,
            "simd": folding.simd,
            "lanes": folding.given,
            "cycles": folding.cycles,
            "dsp": folding.dsp,
            "ramb36": folding.ramb36,
            "room": room,
        }
        for layer, folding, room in zip(network.layers, foldings, rooms, strict=True)
    ]
    return files, {
        "name": network.name,
        "target_cycles": target,
        "cycles": cycles,
        "latency_cycles": latency,
        "dsp": sum(folding.dsp for folding in foldings),
        "ramb36_without_links": sum(folding.ramb36 for folding in foldings),
        "layers": layers,
        "warnings": warnings,
    }
