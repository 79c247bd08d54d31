# SPDX-License-Identifier: Apache-2.0
"""From a network to the files of a processing element, and what is to be told of it."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from forebay.dnn.devices import within
from forebay.dnn.element import element, is_ours, judges_images
from forebay.dnn.fold import InfeasibleError, fold, link_ramb36
from forebay.dnn.times import between
from forebay.dnn.write import write
from forebay.filelist import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from forebay.dnn.fold import Folding
    from forebay.dnn.network import Network

ROOM = 65_536  # words that a link can hold
# What is tried where a device has too little: times slower in all, and from one try to the next.
SLOWEST, FINER = 100, 1.2


def compiled(
    network: Network,
    target: int,
    into: Path,
    *,
    device: str | None = None,
    own_clock: bool = False,
) -> tuple[dict[str, str], dict[str, Any]]:
    """Fold a network and write it as an element.

    Parameters
    ----------
    network : Network
    target : int
        Cycles from an image to the next one, at most.
    into : Path
        The folder where the files are to lie; it may be missing.
    device : str, optional
        One of `DEVICES` that has to have the multipliers and block RAM of layers and links.
    own_clock : bool
        The element has a clock of its own, not the chain's.

    Returns
    -------
    dict
        Files by their names.
    dict
        Cycles, multipliers and memories, of each layer too.

    Raises
    ------
    InfeasibleError
        A layer cannot be that quick, or the device has too little; says how quick it can be there.
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
    dsp, memory, links = costs(foldings, rooms)
    if device:
        try:
            within(device, dsp, memory + links)
        except InfeasibleError as error:
            message = (
                f"{network.name} in {target:,} cycles an image takes, without the scaler, {error}"
            )
            nearest = nearest_fit(network, target, device)
            message += f"; in {nearest:,} cycles it fits" if nearest else "; slower it does not fit"
            raise InfeasibleError(message) from error
    full = [layer.name for layer, room in zip(network.layers, rooms, strict=True) if room > ROOM]
    warnings = [f"{name}: {ROOM} words have room behind it, more would wait" for name in full]
    rooms = tuple(min(room, ROOM) for room in rooms)
    cycles = max(folding.cycles for folding in foldings)
    files = write(network, foldings, rooms)
    data = [name for name in files if name.endswith(".mem")]
    files |= element(network, cycles, latency, data, into, own_clock=own_clock)
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
        "dsp": dsp,
        "ramb36_of_layers": memory,
        "ramb36_of_links": links,
        "device": device,
        "own_clock": own_clock,
        "layers": layers,
        "warnings": warnings,
    }


def costs(foldings: tuple[Folding, ...], rooms: tuple[int, ...]) -> tuple[int, float, float]:
    """Return multipliers, block RAM of layers, and block RAM of the FIFOs between them."""
    takes = [folding.given for folding in foldings[1:]] + [1]
    links = sum(
        link_ramb36(folding.made, to, min(room, ROOM))
        for folding, to, room in zip(foldings, takes, rooms, strict=True)
    )
    dsp = sum(folding.dsp for folding in foldings)
    return dsp, sum(folding.ramb36 for folding in foldings), links


def nearest_fit(network: Network, target: int, device: str) -> int | None:
    """Return cycles an image with which a device has enough, not much more than are needed."""

    def has_enough(cycles: int) -> bool:
        foldings = fold(network, cycles)
        dsp, memory, links = costs(foldings, between(network, foldings)[0])
        try:
            within(device, dsp, memory + links)
        except InfeasibleError:
            return False
        return True

    if not has_enough(SLOWEST * target):
        return None
    slower = (target * FINER**step for step in itertools.count(1))
    return next(cycles for cycles in map(int, slower) if has_enough(cycles))
