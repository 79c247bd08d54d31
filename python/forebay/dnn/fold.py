# SPDX-License-Identifier: Apache-2.0
"""How many products of each layer are computed in a cycle: as few as a target allows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING

from forebay.dnn.network import Average, Convolution, Depthwise, Table
from forebay.dnn.times import interval

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forebay.dnn.network import Layer, Network

DSP_LANE = 2  # multipliers of a lane of fb_dnn_requantise: 30 x 25 bits
WIDEST = 64  # outputs, or inputs, at a time
# Shapes of a RAMB18: bits of a word, words.
RAMB18 = ((36, 512), (18, 1024), (9, 2048), (4, 4096), (2, 8192), (1, 16384))
LUT_WORDS = 64  # memories of no more words are LUT
FACTOR_BITS = 86
AHEAD = (2, 4, 8, 16, 32, 64, 128, 256)  # parts of squares that may wait for a matrix


class InfeasibleError(ValueError):
    """No folding keeps a layer within the target."""


@dataclass(frozen=True)
class Folding:
    """How a layer is folded, and what that costs.

    Attributes
    ----------
    given, made : int
        Channels of a pixel that come and leave at a time.
    pe, simd, ahead : int
        Outputs and inputs of a matrix at a time, parts of squares that may wait; 0 where there are
        none.
    cycles : int
        From an image to the next one.
    dsp : int
    ramb36 : float
        In halves, as a RAMB18 is one.
    """

    given: int
    made: int
    cycles: int
    pe: int = 0
    simd: int = 0
    ahead: int = 0
    dsp: int = 0
    ramb36: float = field(default=0.0)

    def parameters(self, layer: Layer) -> dict[str, int]:
        """Return the parameters of the layer's module that the folding decides."""
        if isinstance(layer, Table):
            return {"Channels": layer.channels}
        found = layer.parameters() | {"Lanes": self.given}
        if isinstance(layer, Convolution):
            found |= {"Outputs": layer.outputs, "Pe": self.pe, "Simd": self.simd}
            found |= {"OutLanes": self.made}
            if self.ahead:
                found["Ahead"] = self.ahead
        return found

    def every(self, layer: Convolution) -> int:
        """Return the cycles that a matrix takes for a square."""
        return layer.inputs // self.simd * (layer.outputs // self.pe)


@cache
def ramb36(width: int, depth: int) -> float:
    """Return the RAMB36 of a memory with one port each way, in halves; none if it is LUT.

    Columns of different widths lie side by side, those that take the fewest RAMB18 together.
    """
    if depth <= LUT_WORDS:
        return 0.0
    columns = {bits: math.ceil(depth / words) for bits, words in RAMB18}
    # Far from the edge the cheapest kind of column is repeated; 36 bits are a whole number of it.
    alike = max(width // 36 - 2, 0)
    halves = alike * min(36 // bits * count for bits, count in columns.items())
    least = [0]
    for bit in range(1, width - 36 * alike + 1):
        ends = (least[max(bit - bits, 0)] + count for bits, count in columns.items())
        least.append(min(ends))
    return (halves + least[-1]) / 2


def link_ramb36(comes: int, leaves: int, depth: int) -> float:
    """Return the block RAM of the FIFO between layers of `comes` and `leaves` values at a time."""
    return ramb36(8 * math.lcm(comes, leaves), depth)


def divisors(number: int) -> list[int]:
    """Return all divisors, the least first."""
    return [d for d in range(1, number + 1) if number % d == 0]


def fits(one: int, other: int) -> bool:
    """Return whether fb_dnn_lanes makes words of `other` values of words of `one`."""
    return one % other == 0 or other % one == 0


def window_ramb36(layer: Layer, lanes: int) -> float:
    """Return the block RAM of a layer's window."""
    window = layer.window
    if window.kernel == 1:
        return 0.0
    side, groups = layer.size + window.before + window.after, layer.channels // lanes
    bits = 8 * lanes * (window.kernel - 1)
    return ramb36(bits, side * groups) + ramb36(bits * window.kernel, groups)


def by_lanes(layer: Layer) -> Iterator[Folding]:
    """Yield the foldings of a layer whose channels do not see one another."""
    for lanes in divisors(layer.channels):
        groups = layer.channels // lanes
        if isinstance(layer, Average):
            cycles, dsp = layer.size**2 * groups, DSP_LANE * lanes
            memory = ramb36((8 + 2 * layer.size.bit_length()) * lanes, groups)
            memory += ramb36(FACTOR_BITS * lanes, groups)
        else:
            cycles, dsp = layer.window.steps(layer.size) * groups, 0
            memory = window_ramb36(layer, lanes)
        if isinstance(layer, Depthwise):
            taps = layer.window.kernel**2
            dsp = (taps + DSP_LANE) * lanes
            memory += ramb36(8 * taps * lanes, groups) + ramb36(FACTOR_BITS * lanes, groups)
        yield Folding(lanes, lanes, cycles, dsp=dsp, ramb36=memory)


def by_matrix(layer: Convolution) -> Iterator[Folding]:
    """Yield the foldings of a layer whose outputs see all channels."""
    taps, pixels = layer.window.kernel**2, layer.window.outputs(layer.size) ** 2
    for simd in divisors(layer.inputs):
        if simd > WIDEST:
            continue
        words = layer.inputs // simd
        # What comes at a time: what the matrix takes, or with a window as little as may be.
        given = [simd] if taps == 1 and layer.channels % simd == 0 else divisors(layer.channels)
        for pe in divisors(layer.outputs):
            if pe > WIDEST or (pe > 1 and pe % 2):
                continue
            products = pixels * words * (layer.outputs // pe)
            made = next(lanes for lanes in divisors(pe) if pe // lanes <= words)
            for lanes in given:
                if not fits(taps * lanes, simd):
                    continue
                cycles = max(products, layer.window.steps(layer.size) * layer.channels // lanes)
                memory = window_ramb36(layer, lanes) + ramb36(8 * simd, 2 * words)
                memory += ramb36(8 * pe * simd, words * layer.outputs // pe)
                memory += ramb36(FACTOR_BITS * made, layer.outputs // made)
                dsp = math.ceil(pe / 2) * simd + DSP_LANE * made
                yield Folding(lanes, made, cycles, pe, simd, dsp=dsp, ramb36=memory)


def effort(layer: Layer, folding: Folding) -> tuple[float, ...]:
    """Return what is to be least: multipliers, then memory, then width."""
    # Four products share the lower half of a multiplier's output; fewer leave it idle.
    idle = folding.simd % 4 != 0 and folding.simd > 0 and layer.inputs % 4 == 0 and folding.simd > 2
    return idle, folding.dsp, folding.ramb36, max(folding.pe, folding.simd), folding.given


def keeps_up(layer: Layer, folding: Folding, target: int) -> Folding | None:
    """Return a folding with what its window needs to keep the matrix busy, if there is that.

    At the end of a row no square ends for long; those that wait keep the matrix busy meanwhile.
    """
    if not isinstance(layer, Convolution) or layer.window.kernel == 1:
        return folding
    groups, width = layer.channels // folding.given, 8 * layer.window.kernel**2 * folding.given
    for ahead in AHEAD:
        more = replace(folding, ahead=ahead)
        cycles = interval(layer, more)
        if ahead >= groups and cycles <= target:
            memory = ramb36(max(width, 8 * folding.simd), ahead)
            return replace(more, cycles=cycles, ramb36=folding.ramb36 + memory)
    return None


def fold(network: Network, target: int) -> tuple[Folding, ...]:
    """Choose the folding of each layer.

    Parameters
    ----------
    network : Network
    target : int
        Cycles from an image to the next one, at most.

    Raises
    ------
    InfeasibleError
        Names the layer, and the least number of cycles that it can have.
    """
    found = []
    for layer in network.layers:
        if isinstance(layer, Table):
            memory = layer.channels * ramb36(8, 256)
            lanes = layer.channels
            options = [Folding(lanes, lanes, layer.size**2, ramb36=memory)]
        else:
            options = list(by_matrix(layer) if isinstance(layer, Convolution) else by_lanes(layer))
        within = [option for option in options if option.cycles <= target]
        within.sort(key=lambda option: (effort(layer, option), option.cycles))
        chosen = next(filter(None, (keeps_up(layer, option, target) for option in within)), None)
        if chosen is None:
            least = min(option.cycles for option in options)
            message = f"layer {layer.name}: {target} cycles an image, it takes {least} at least; "
            message += "ask for fewer images a second, or a faster clock"
            raise InfeasibleError(message)
        found.append(chosen)
    judged = 2 * network.best.classes + 46
    if judged > target:
        message = f"{network.best.classes} classes take {judged} cycles, not {target}"
        raise InfeasibleError(message)
    return tuple(found)
