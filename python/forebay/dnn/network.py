# SPDX-License-Identifier: Apache-2.0
"""A network as a chain of layers in integers: what the compiler makes of a file, and what it folds.

Each layer knows what it makes of an image (its twin, bit by bit what `rtl/dnn` makes), how many
products that takes, and its part of the hardware.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from forebay.dnn import layers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from forebay.dnn.layers import Factors


@dataclass(frozen=True)
class Layer:
    """What all layers have.

    Attributes
    ----------
    name : str
        A letter, then letters, digits and underscores.
    size, channels : int
        Pixels of a side of the square image that comes, and channels of a pixel.
    """

    MODULE: ClassVar[str] = ""

    name: str
    size: int
    channels: int

    @property
    def shape(self) -> tuple[int, int, int]:
        """Height, width and channels of the image that leaves."""
        return self.size, self.size, self.channels

    def run(self, image: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the image that leaves for one that comes, (size, size, channels)."""
        raise NotImplementedError

    def parameters(self) -> dict[str, int]:
        """Return those parameters of the module that no folding changes."""
        return {"Size": self.size, "Channels": self.channels}


@dataclass(frozen=True)
class Window:
    """Which squares of pixels a layer looks at; see `fb_dnn_window`."""

    kernel: int = 1
    stride: int = 1
    before: int = 0
    after: int = 0
    around: int = 0

    def outputs(self, size: int) -> int:
        """Return the squares along a side."""
        return (size + self.before + self.after - self.kernel) // self.stride + 1

    def steps(self, size: int) -> int:
        """Return the pixels that come and that are put around."""
        return (size + self.before + self.after) ** 2

    def squares(self, image: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return all squares, (outputs, outputs, taps, channels)."""
        return layers.squares(image, self.kernel, self.stride, self.before, self.after, self.around)

    def parameters(self) -> dict[str, int]:
        """Return the parameters of modules that have a window."""
        names = ("kernel", "stride", "before", "after")
        return {name.capitalize(): getattr(self, name) for name in names}


@dataclass(frozen=True)
class Summing(Layer):
    """A layer whose values are made of sums."""

    factors: Factors

    def sums(self, image: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Return the sums for an image that comes."""
        raise NotImplementedError

    def run(self, image: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the values that the sums become."""
        return layers.requantise(self.sums(image), self.factors)

    def parameters(self) -> dict[str, int]:
        """Return those parameters of the module that no folding changes."""
        return super().parameters() | self.factors.parameters()


@dataclass(frozen=True)
class Table(Layer):
    """Pixels become values: `values` is (256, channels), uint8."""

    MODULE = "fb_dnn_table"

    values: NDArray[np.uint8]

    def run(self, image: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Look up each value."""
        return self.values[image, np.arange(self.channels)]


@dataclass(frozen=True)
class Convolution(Summing):
    """Each output sees all channels: `weights` is (outputs, taps, channels), int8."""

    MODULE = "fb_dnn_convolution"

    window: Window
    weights: NDArray[np.int8]

    @property
    def outputs(self) -> int:
        """Channels of a pixel that leaves."""
        return self.weights.shape[0]

    @property
    def inputs(self) -> int:
        """Values that an output sees."""
        return self.weights[0].size

    @property
    def shape(self) -> tuple[int, int, int]:
        """Height, width and channels of the image that leaves."""
        side = self.window.outputs(self.size)
        return side, side, self.outputs

    def parameters(self) -> dict[str, int]:
        """Return those parameters of the module that no folding changes."""
        return super().parameters() | self.window.parameters() | {"Around": self.window.around}

    def sums(self, image: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Multiply each square by the matrix."""
        squares = self.window.squares(image)
        inputs = squares.reshape(*squares.shape[:2], -1)
        return layers.matrix(inputs, self.weights.reshape(self.outputs, -1))


@dataclass(frozen=True)
class Depthwise(Summing):
    """Each output sees its own channel: `weights` is (taps, channels), int8."""

    MODULE = "fb_dnn_depthwise"

    window: Window
    weights: NDArray[np.int8]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Height, width and channels of the image that leaves."""
        side = self.window.outputs(self.size)
        return side, side, self.channels

    def parameters(self) -> dict[str, int]:
        """Return those parameters of the module that no folding changes."""
        return super().parameters() | self.window.parameters() | {"Around": self.window.around}

    def sums(self, image: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Multiply each channel's squares by its weights."""
        return layers.taps(self.window.squares(image), self.weights)


@dataclass(frozen=True)
class Average(Summing):
    """One pixel remains, the average of all."""

    MODULE = "fb_dnn_average"

    @property
    def shape(self) -> tuple[int, int, int]:
        """Height, width and channels of the image that leaves."""
        return 1, 1, self.channels

    def sums(self, image: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Sum each channel over all pixels."""
        return image.sum(axis=(0, 1), keepdims=True, dtype=np.int64)


@dataclass(frozen=True)
class Maximum(Layer):
    """The greatest value of each square remains."""

    MODULE = "fb_dnn_maximum"

    window: Window

    @property
    def shape(self) -> tuple[int, int, int]:
        """Height, width and channels of the image that leaves."""
        side = self.window.outputs(self.size)
        return side, side, self.channels

    def parameters(self) -> dict[str, int]:
        """Return those parameters of the module that no folding changes."""
        return super().parameters() | self.window.parameters()

    def run(self, image: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Compare the values of each square."""
        return self.window.squares(image).max(axis=2)


@dataclass(frozen=True)
class Best:
    """The class: `terms` is that of the softmax for each difference, (256,)."""

    classes: int
    terms: NDArray[np.int64]

    def judge(self, values: NDArray[np.uint8]) -> tuple[int, np.float32]:
        """Return the class for what the last layer leaves, and its score."""
        return layers.best(values.ravel(), self.terms)


@dataclass(frozen=True)
class Network:
    """A chain of layers, of which the last one leaves a pixel whose channels are the classes."""

    name: str
    layers: tuple[Layer, ...]
    best: Best

    @property
    def size(self) -> int:
        """Pixels of a side of the image that comes."""
        return self.layers[0].size

    def values(self, image: NDArray[np.uint8]) -> list[NDArray[np.uint8]]:
        """Return what each layer makes of an image, (size, size, channels)."""
        made = []
        for layer in self.layers:
            image = layer.run(image)
            made.append(image)
        return made

    def judge(self, image: NDArray[np.uint8]) -> tuple[int, np.float32]:
        """Return the class of an image, and its score."""
        return self.best.judge(self.values(image)[-1])
