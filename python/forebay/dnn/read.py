# SPDX-License-Identifier: Apache-2.0
"""Reads a quantised ONNX file into a chain of layers in integers.

Quantised are files with QuantizeLinear and DequantizeLinear (onnxruntime's `quantize_static`), the
same with Clip between them (Brevitas' QCDQ), and with Quant (QONNX). The graph is walked from its
input on; the nodes between two quantised tensors become one layer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import TensorProto

from forebay.dnn import layers
from forebay.dnn.constants import Constants, ModelError
from forebay.dnn.layers import Factors, terms_of
from forebay.dnn.network import (
    Average,
    Best,
    Convolution,
    Depthwise,
    Layer,
    Maximum,
    Network,
    Summing,
    Table,
    Window,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

OPSETS = (13, 25)
DOMAINS = ("", "ai.onnx", "com.microsoft", "qonnx.custom_op.general", "onnx.brevitas")
CLASSES = (2, 65_534)
SIDES = (2, 256)  # pixels of a side of the image
FILE_BYTES = 512 << 20
KERNELS = (1, 2, 3, 5, 7)
INPUTS_MOST = (2**29 - 1) // (255 * 128)  # of an output: its sums have 30 bits
NO_SHIFT = 32  # of channels whose multiplier is zero
SAME = 1e-6  # scales that differ by less are the same
QUANTISE = "quantise it first, with onnxruntime's quantize_static (QDQ) or Brevitas"


@dataclass(frozen=True)
class Grid:
    """Which numbers a quantised tensor can have: scale * (q - zero), q of `low` to `high`.

    Attributes
    ----------
    scale : ndarray of float32
        One number, or one for each channel.
    zero, low, high : int
        Of uint8: what is int8 in the file is 128 more here.
    """

    scale: NDArray[np.float32]
    zero: int
    low: int
    high: int


@dataclass(frozen=True)
class Pixels:
    """The image until it is quantised: each channel's number for each pixel's value."""

    values: NDArray[np.float32]  # (256, channels)


@dataclass(frozen=True)
class Quantised:
    """Integers on a grid; `real`: they are looked at as real numbers."""

    grid: Grid
    real: bool


@dataclass(frozen=True)
class Sums:
    """Sums of products that are to become values: real = sum * scale + offset, within bounds.

    `whole` is what is added to a sum as an integer.
    """

    make: Callable[[Factors], Layer]
    scale: NDArray[np.float64]
    whole: NDArray[np.int64]
    offset: NDArray[np.float64]
    low: float = -np.inf
    high: float = np.inf


State = Pixels | Quantised | Sums


class Reader(Constants):
    """Walks along a graph; `layers` are those that are complete."""

    def __init__(self, model: onnx.ModelProto, name: str, divide: float) -> None:
        super().__init__(model.graph)
        self.name = name
        self.layers: list[Layer] = []
        self.warnings: list[str] = []
        self.classified = False
        self.state: State
        self.size, self.channels, self.last = self._input()
        values = np.arange(256, dtype=np.float32)[:, None] / np.float32(divide)
        self.state = Pixels(np.repeat(values, self.channels, axis=1))
        self.side, self.depth = self.size, self.channels  # of the image that is there now
        self.flat = False

    # ------------------------------------------------------------------------------------ reading

    def _input(self) -> tuple[int, int, bool]:
        """Return the image's side and channels, and whether channels are the last dimension."""
        inputs = [one for one in self.graph.input if one.name not in self.constants]
        if len(inputs) != 1:
            raise ModelError("graph", f"{len(inputs)} inputs", "one, an image, can be compiled")
        (given,) = inputs
        self.at = given.name
        shape = [
            one.dim_value if one.HasField("dim_value") else one.dim_param or "?"
            for one in given.type.tensor_type.shape.dim
        ]
        where = f"input {given.name}"
        if len(shape) == 4 and not isinstance(shape[0], int):
            shape[0] = 1  # the batch, by name
        if len(shape) != 4 or any(not isinstance(one, int) or one < 1 for one in shape):
            raise ModelError(where, f"shape {shape}", "fix it, to [1, 3, 224, 224] for instance")
        if shape[0] != 1:
            raise ModelError(where, f"a batch of {shape[0]}", "export it with a batch of 1")
        last = shape[3] in (1, 3) and shape[1] == shape[2] and shape[1] not in (1, 3)
        channels, height, width = (shape[3], *shape[1:3]) if last else shape[1:]
        if channels not in (1, 3) or height != width or not SIDES[0] <= height <= SIDES[1]:
            raise ModelError(
                where,
                f"{width} x {height} pixels of {channels} channels",
                f"square images of {SIDES[0]} to {SIDES[1]} pixels, 1 or 3 channels are possible",
            )
        return height, channels, last

    def walk(self) -> Network:
        """Go along the graph, from its input to its output."""
        outputs = {one.name for one in self.graph.output}
        if len(outputs) != 1:
            raise ModelError("graph", f"{len(outputs)} outputs", "one, the classes, is possible")
        consumers: dict[str, list[onnx.NodeProto]] = {}
        for node in self.graph.node:
            for name in set(node.input):
                consumers.setdefault(name, []).append(node)
        seen = 0
        while self.at not in outputs:
            users = consumers.get(self.at, [])
            if len(users) != 1:
                what = ", ".join(f"{user.op_type} {user.name}".strip() for user in users)
                raise ModelError(
                    f"tensor {self.at}",
                    f"{len(users)} nodes use it ({what or 'none'})",
                    "a chain of layers is possible: residual networks are not supported yet",
                )
            seen += 1
            if seen > len(self.graph.node):
                raise ModelError(f"tensor {self.at}", "the graph has a loop", "export it again")
            self._step(users[0])
        return self._end()

    # ------------------------------------------------------------------------------------ walking

    def _step(self, node: onnx.NodeProto) -> None:
        """Take a node: the state is then that of what it gives."""
        if node.domain not in DOMAINS:
            raise ModelError(
                self._name(node), f"domain {node.domain}", "standard ones are possible"
            )
        named = node.op_type[:1].isupper()
        step = getattr(self, f"_{node.op_type}", None) if named else None
        if step is None:
            raise ModelError(
                self._name(node), "this operator is not supported", "see docs/reference/dnn.md"
            )
        if self.classified and node.op_type not in ("QuantizeLinear", "DequantizeLinear", "Quant"):
            raise ModelError(self._name(node), "it is behind the class", "end with Softmax")
        if not self.classified:
            step(node)
        self.at = node.output[0]

    def _refuse_state(self, node: onnx.NodeProto) -> ModelError:
        if isinstance(self.state, Quantised):
            return ModelError(self._name(node), "it is between Q and DQ", "export it again")
        what = "pixels" if isinstance(self.state, Pixels) else "the layer before it"
        return ModelError(self._name(node), f"{what} is not quantised", QUANTISE)

    def _put(self, layer: Layer) -> None:
        self.layers.append(layer)
        self.side, _, self.depth = layer.shape

    def _real(self, node: onnx.NodeProto) -> Grid:
        """Return the grid of what comes, which has to be quantised."""
        if isinstance(self.state, Quantised) and self.state.real:
            return self.state.grid
        raise self._refuse_state(node)

    @property
    def _channels(self) -> int:
        """Channels of what is there now, also of a layer that is not complete."""
        return self.state.scale.size if isinstance(self.state, Sums) else self.depth

    def _named(self, kind: str) -> str:
        return f"{kind}{len(self.layers)}"

    # ------------------------------------------------------------------------- onto a grid and off

    def _QuantizeLinear(self, node: onnx.NodeProto) -> None:
        scale, zero = self._quantisation(node)
        if zero.dtype not in (np.uint8, np.int8):
            raise ModelError(
                self._name(node), f"values of type {zero.dtype}", "quantise to uint8 or int8"
            )
        if scale.size != 1 or zero.size != 1:
            raise ModelError(self._name(node), "a scale a channel", "one for a tensor is possible")
        shift = 128 if zero.dtype == np.int8 else 0
        self._onto(node, Grid(scale.reshape(1), int(zero.ravel()[0]) + shift, 0, 255))
        self.state = replace(self.state, real=False)

    def _DequantizeLinear(self, node: onnx.NodeProto) -> None:
        if not isinstance(self.state, Quantised) or self.state.real:
            raise self._refuse_state(node)
        scale, zero = self._quantisation(node)
        shift = 128 if zero.dtype == np.int8 else 0
        grid = self.state.grid
        if scale.size != 1 or scale.ravel()[0] != grid.scale[0]:
            raise ModelError(self._name(node), "its scale is not that of Q", "export it again")
        if int(zero.ravel()[0]) + shift != grid.zero:
            raise ModelError(self._name(node), "its zero point is not that of Q", "export it again")
        self.state = replace(self.state, real=True)

    def _Quant(self, node: onnx.NodeProto) -> None:
        scale, zero, low, high = self._quant(node)
        shift = 128 if low < 0 else 0
        if scale.size not in (1, self._channels):
            raise ModelError(self._name(node), f"{scale.size} scales", "one, or one a channel")
        self._onto(node, Grid(scale.ravel(), zero + shift, low + shift, high + shift))

    def _onto(self, node: onnx.NodeProto, grid: Grid) -> None:
        """Complete a layer: its values lie on a grid from here on."""
        if not 0 <= grid.zero <= 255:
            raise ModelError(self._name(node), f"zero point {grid.zero}", "it has to be a value")
        state = self.state
        if isinstance(state, Pixels):
            whole = np.rint(state.values / grid.scale) + grid.zero
            values = np.clip(whole, grid.low, grid.high).astype(np.uint8)
            self._put(Table("table", self.size, self.channels, values))
        elif isinstance(state, Sums):
            self._put(state.make(self._factors(node, state, grid)))
        elif not np.array_equal(state.grid.scale, grid.scale) or state.grid.zero != grid.zero:
            sums = self._as_sums(state.grid)
            self._put(sums.make(self._factors(node, sums, grid)))
        elif (grid.low, grid.high) != (state.grid.low, state.grid.high):
            self._bound(node, grid.low, grid.high)
        self.state = Quantised(grid, real=True)

    def _as_sums(self, grid: Grid) -> Sums:
        """Return a layer that takes values on a grid as they are."""
        ones = np.ones((1, self.depth), np.int8)
        scale = np.broadcast_to(grid.scale, self.depth).astype(np.float64)
        whole = np.full(self.depth, -grid.zero, np.int64)

        def make(factors: Factors) -> Layer:
            name = self._named("rescale")
            return Depthwise(name, self.side, self.depth, factors, Window(), ones)

        return Sums(make, scale, whole, np.zeros(self.depth))

    def _factors(self, node: onnx.NodeProto, sums: Sums, grid: Grid) -> Factors:
        """Return the factors with which sums become values on a grid."""
        # As onnxruntime does it: the scales' quotient is a float32.
        ratios = (sums.scale.astype(np.float32) / grid.scale.astype(np.float32)).astype(np.float32)
        try:
            pairs = [layers.multiplier(abs(ratio)) if ratio else (0, NO_SHIFT) for ratio in ratios]
        except ValueError as error:
            raise ModelError(self._name(node), str(error), "quantise it anew") from None
        mantissas = np.array([mantissa for mantissa, _ in pairs], np.int64)
        mantissas *= np.sign(ratios).astype(np.int64)
        shifts = np.array([shift for _, shift in pairs], np.int64)
        added = np.ldexp(sums.offset / grid.scale, shifts)
        offsets = mantissas.astype(object) * sums.whole.astype(object)
        offsets = offsets + np.array([round(float(one)) for one in added], object)
        if any(abs(one) >= 2 ** (layers.OFFSET_BITS - 1) for one in offsets):
            raise ModelError(self._name(node), "a bias is too large for its scale", "quantise anew")
        low, high = self._bounds(node, sums, grid)
        return Factors(mantissas, offsets.astype(np.int64), shifts, grid.zero, low, high)

    def _bounds(self, node: onnx.NodeProto, sums: Sums, grid: Grid) -> tuple[int, int]:
        """Return the least and the greatest value on a grid, of what is clipped before."""
        bounds = [grid.low, grid.high]
        for number, bound in enumerate((sums.low, sums.high)):
            if bound != 0 and np.isfinite(bound) and grid.scale.size > 1:
                raise ModelError(
                    self._name(node),
                    f"bound {bound:g} with a scale a channel",
                    "one for the tensor",
                )
            if np.isfinite(bound):
                whole = round(np.float32(bound) / float(grid.scale[0])) + grid.zero
                bounds[number] = min(max(whole, grid.low), grid.high)
        return min(bounds), bounds[1]

    def _bound(self, node: onnx.NodeProto, low: int, high: int) -> None:
        """Keep the values of the last layer within bounds."""
        last = self.layers[-1]
        if isinstance(last, Table):
            self.layers[-1] = replace(last, values=np.clip(last.values, low, high))
        elif isinstance(last, Summing):
            # Of two bounds the second one counts.
            before = last.factors
            least, most = max(before.low, low), min(before.high, high)
            bounded = replace(before, low=min(least, high), high=max(most, low))
            self.layers[-1] = replace(last, factors=bounded)
        else:
            raise ModelError(self._name(node), f"it is behind {last.name}", "put it in front")

    # ------------------------------------------------------------------------------------- products

    def _known(self, node: onnx.NodeProto, number: int, axis: int) -> tuple[NDArray, NDArray]:
        """Return weights and their scales, one for each output, which lie along an axis."""
        name = node.input[number]
        if name not in self.weights:
            raise ModelError(self._name(node), f"weights {name} are not quantised", QUANTISE)
        if name in self.asymmetric:
            raise ModelError(
                self._name(node),
                f"zero point {self.asymmetric[name]} of weights",
                "quantise weights symmetrically, to int8",
            )
        whole, scale = self.weights[name]
        lies = scale.ndim == whole.ndim and scale.shape[axis] == scale.size
        if scale.size > 1 and not lies:
            raise ModelError(
                self._name(node),
                f"scales of shape {scale.shape}",
                "one for each output is possible",
            )
        if whole.min(initial=0) < -128 or whole.max(initial=0) > 127:
            raise ModelError(self._name(node), "weights beyond int8", "quantise weights to int8")
        if not np.any(whole):
            raise ModelError(self._name(node), "all weights are zero", "train it")
        if scale.size == 1:
            self.warnings.append(f"{self._name(node)}: one scale for all weights costs accuracy")
        return whole, scale

    def _bias(
        self, node: onnx.NodeProto, number: int, due: NDArray[np.float64]
    ) -> tuple[NDArray, NDArray]:
        """Return a bias as integers, where its scale is that of the sums, or as real numbers."""
        outputs = due.size
        whole, real = np.zeros(outputs, np.int64), np.zeros(outputs)
        if len(node.input) > number and node.input[number]:
            name = node.input[number]
            if name in self.weights:
                values, scale = self.weights[name]
                if np.allclose(scale.astype(float).ravel(), due, rtol=SAME, atol=0):
                    whole = values.ravel()
                else:
                    real = (values * scale.astype(float)).ravel()
            else:
                real = self._constant(node, number, "bias").astype(np.float64).ravel()
        if whole.size != outputs or real.size != outputs:
            raise ModelError(self._name(node), f"a bias of {whole.size}", f"{outputs} are due")
        return whole, real

    def _Conv(self, node: onnx.NodeProto) -> None:
        grid = self._channels_first(node)
        whole, scale = self._known(node, 1, 0)
        outputs, per_group, height, width = whole.shape
        attributes = self._attributes(node)
        where, group = self._name(node), attributes.get("group", 1)
        depthwise = group == self.depth == outputs and per_group == 1 and group > 1
        if height != width or height not in KERNELS:
            raise ModelError(
                where, f"kernel of {height} x {width}", f"sides {KERNELS} are possible"
            )
        if group != 1 and not depthwise:
            raise ModelError(where, f"group {group}", "1, or a group for each channel, is possible")
        if any(one != 1 for one in attributes.get("dilations", [1])):
            raise ModelError(where, f"dilations {attributes['dilations']}", "1 is possible")
        if not depthwise and per_group != self.depth:
            raise ModelError(where, f"{per_group} channels", f"{self.depth} come")
        window = replace(self._window(node, attributes, height), around=grid.zero)
        taps = whole.reshape(outputs, per_group, -1)
        self._limit(node, taps[0].size)
        scale = self._sum_scale(node, grid, scale, outputs, depthwise=depthwise)
        bias, real = self._bias(node, 2, scale)
        bias = bias - grid.zero * taps.sum(axis=(1, 2))
        if depthwise:
            weights = taps[:, 0].T.astype(np.int8)
            kind, name = Depthwise, self._named("depthwise")
        else:
            weights = taps.swapaxes(1, 2).astype(np.int8)
            kind, name = Convolution, self._named("convolution")
        side, depth = self.side, self.depth

        def make(factors: Factors) -> Layer:
            return kind(name, side, depth, factors, window, weights)

        self.state = Sums(make, scale, bias, real)

    def _limit(self, node: onnx.NodeProto, inputs: int) -> None:
        if inputs > INPUTS_MOST:
            raise ModelError(
                self._name(node), f"{inputs} inputs of an output", f"{INPUTS_MOST} are possible"
            )

    def _channels_first(self, node: onnx.NodeProto) -> Grid:
        """Return the grid of an image that comes, as ONNX's convolutions and pools want it."""
        if self.last:
            raise ModelError(
                self._name(node), "channels are the last dimension", "transpose in front of it"
            )
        return self._real(node)

    def _sum_scale(
        self, node: onnx.NodeProto, grid: Grid, weights: NDArray, outputs: int, *, depthwise: bool
    ) -> NDArray[np.float64]:
        """Return the scale of each output's sums."""
        if grid.scale.size > 1 and not depthwise:
            raise ModelError(
                self._name(node),
                "what comes has a scale a channel",
                "in front of a layer that adds channels one for the tensor is possible",
            )
        scale = np.broadcast_to(weights.ravel(), outputs)
        return (np.float32(grid.scale) * scale.astype(np.float32)).astype(np.float64)

    def _window(self, node: onnx.NodeProto, attributes: dict[str, Any], kernel: int) -> Window:
        """Return a window, of attributes that convolutions and pools share."""
        where = self._name(node)
        strides = attributes.get("strides", [1, 1])
        if len(set(strides)) != 1 or strides[0] not in (1, 2, 3, 4):
            raise ModelError(where, f"strides {strides}", "equal ones of 1 to 4 are possible")
        auto = attributes.get("auto_pad", b"NOTSET")
        pads = list(attributes.get("pads", [0] * 4))
        if auto in (b"SAME_UPPER", b"SAME_LOWER"):
            leaves = -(-self.side // strides[0])
            around = max((leaves - 1) * strides[0] + kernel - self.side, 0)
            less, more = around // 2, around - around // 2
            pads = [less, less, more, more] if auto == b"SAME_UPPER" else [more, more, less, less]
        elif auto not in (b"NOTSET", b"VALID"):
            raise ModelError(where, f"auto_pad {auto}", "write pads")
        before, after = pads[:2], pads[2:]
        if len(set(before)) != 1 or len(set(after)) != 1 or not all(0 <= p < kernel for p in pads):
            raise ModelError(
                where, f"pads {pads}", "equal ones for rows and columns, below the kernel's side"
            )
        if attributes.get("ceil_mode", 0):
            raise ModelError(where, "ceil_mode", "0 is possible")
        if self.side + before[0] + after[0] < kernel:
            raise ModelError(where, f"an image of {self.side} pixels", "the kernel is larger")
        return Window(kernel, strides[0], before[0], after[0])

    def _Gemm(self, node: onnx.NodeProto) -> None:
        attributes = self._attributes(node)
        for name in ("alpha", "beta"):
            if attributes.get(name, 1.0) != 1.0:
                raise ModelError(self._name(node), f"{name} {attributes[name]}", "1 is possible")
        if attributes.get("transA", 0):
            raise ModelError(self._name(node), "transA", "0 is possible")
        self._dense(node, transposed=bool(attributes.get("transB", 0)))

    def _MatMul(self, node: onnx.NodeProto) -> None:
        self._dense(node, transposed=False)

    def _dense(self, node: onnx.NodeProto, *, transposed: bool) -> None:
        """Take a fully connected layer: a convolution whose square is the whole image."""
        grid = self._real(node)
        if node.input[1] in self.weights and self.weights[node.input[1]][0].ndim != 2:
            raise ModelError(self._name(node), "weights are no matrix", "two dimensions are due")
        whole, scale = self._known(node, 1, 0 if transposed else 1)
        weights = whole if transposed else whole.T
        outputs, inputs = weights.shape
        side, depth = self.side, self.depth
        if inputs != side * side * depth:
            raise ModelError(self._name(node), f"{inputs} inputs", f"{side**2 * depth} come")
        # What is flattened has the order of the image's dimensions.
        order = (outputs, side * side, depth) if self.last else (outputs, depth, side * side)
        taps = weights.reshape(order) if self.last else weights.reshape(order).swapaxes(1, 2)
        self._limit(node, inputs)
        scale = self._sum_scale(node, grid, scale, outputs, depthwise=False)
        bias, real = self._bias(node, 2, scale)
        bias = bias - grid.zero * weights.sum(axis=1)
        window, name = Window(side, around=grid.zero), self._named("dense")

        def make(factors: Factors) -> Layer:
            return Convolution(name, side, depth, factors, window, taps.astype(np.int8))

        self.state, self.flat = Sums(make, scale, bias, real), True

    # ---------------------------------------------------------------------------------------- pools

    def _average(self, node: onnx.NodeProto) -> None:
        grid = self._real(node)
        side, depth, name = self.side, self.depth, self._named("average")
        scale = np.broadcast_to(np.float32(grid.scale / (side * side)), depth).astype(np.float64)
        whole = np.full(depth, -grid.zero * side * side, np.int64)

        def make(factors: Factors) -> Layer:
            return Average(name, side, depth, factors)

        self.state = Sums(make, scale, whole, np.zeros(depth))

    def _GlobalAveragePool(self, node: onnx.NodeProto) -> None:
        self._channels_first(node)
        self._average(node)

    def _AveragePool(self, node: onnx.NodeProto) -> None:
        self._channels_first(node)
        attributes = self._attributes(node)
        kernel, pads = list(attributes.get("kernel_shape", [])), attributes.get("pads", [0])
        plain = attributes.get("auto_pad", b"NOTSET") in (b"NOTSET", b"VALID")
        plain = plain and all(one == 1 for one in attributes.get("dilations", [1]))
        if kernel != [self.side, self.side] or any(pads) or not plain:
            raise ModelError(
                self._name(node), f"kernel {kernel}, pads {pads}", "one of the whole image"
            )
        self._average(node)

    def _ReduceMean(self, node: onnx.NodeProto) -> None:
        axes = self._attributes(node).get("axes")
        if axes is None and len(node.input) > 1:
            axes = self._constant(node, 1, "axes").tolist()
        due = {1, 2} if self.last else {2, 3}
        if {int(axis) % 4 for axis in axes or []} != due:
            raise ModelError(self._name(node), f"axes {axes}", f"rows and columns, {sorted(due)}")
        self._average(node)
        self.flat = not self._attributes(node).get("keepdims", 1)

    def _MaxPool(self, node: onnx.NodeProto) -> None:
        if not isinstance(self.state, Quantised):
            raise self._refuse_state(node)
        if self.state.real:
            self._channels_first(node)
        attributes = self._attributes(node)
        kernel = attributes["kernel_shape"]
        if len(set(kernel)) != 1 or kernel[0] not in KERNELS:
            raise ModelError(self._name(node), f"kernel {kernel}", f"sides {KERNELS} are possible")
        if any(one != 1 for one in attributes.get("dilations", [1])):
            raise ModelError(self._name(node), "dilations", "1 is possible")
        window = self._window(node, attributes, kernel[0])
        self._put(Maximum(self._named("maximum"), self.side, self.depth, window))

    # --------------------------------------------------------------------------- value by value

    def _Relu(self, node: onnx.NodeProto) -> None:
        self._clip(node, 0.0, np.inf)

    def _Clip(self, node: onnx.NodeProto) -> None:
        bounds = [-np.inf, np.inf]
        for number in (1, 2):
            if len(node.input) > number and node.input[number]:
                found = self._constant(node, number, "bound")
                bounds[number - 1] = float(found.ravel()[0])
        attributes = self._attributes(node)
        low, high = attributes.get("min", bounds[0]), attributes.get("max", bounds[1])
        state = self.state
        if isinstance(state, Quantised) and not state.real:
            # Integers between Q and DQ: fewer bits.
            found = self._constant(node, 1, "bound") if len(node.input) > 1 else np.uint8(0)
            shift = 128 if found.dtype == np.int8 else 0
            grid = state.grid
            low = max(grid.low, int(low) + shift if np.isfinite(low) else grid.low)
            high = min(grid.high, int(high) + shift if np.isfinite(high) else grid.high)
            self._bound(node, low, high)
            self.state = replace(state, grid=replace(grid, low=low, high=high))
        else:
            self._clip(node, low, high)

    def _clip(self, node: onnx.NodeProto, low: float, high: float) -> None:
        state = self.state
        if isinstance(state, Pixels):
            self.state = Pixels(np.clip(state.values, np.float32(low), np.float32(high)))
        elif isinstance(state, Sums):
            # Of two bounds the second one counts.
            state = replace(state, low=min(max(state.low, low), high))
            self.state = replace(state, high=max(min(state.high, high), low))
        elif state.real and state.grid.scale.size == 1:
            ends = Sums(
                lambda factors: self.layers[-1], np.ones(1), np.zeros(1), np.zeros(1), low, high
            )
            least, most = self._bounds(node, ends, state.grid)
            self._bound(node, least, most)
        else:
            raise self._refuse_state(node)

    def _channelwise(self, node: onnx.NodeProto, values: NDArray[Any]) -> NDArray[np.float32]:
        """Return a constant with one number for each channel."""
        flat = np.asarray(values, np.float32)
        axis = -1 if self.last or self.flat else -3
        channels, lone = self._channels, flat.size == 1
        if not lone and (
            flat.size != channels or flat.ndim < -axis or flat.shape[axis] != channels
        ):
            raise ModelError(
                self._name(node),
                f"a constant of shape {flat.shape}",
                "one number, or one a channel",
            )
        return np.broadcast_to(flat.ravel(), channels)

    def _arithmetic(self, node: onnx.NodeProto, scale: str) -> None:
        """Take one of +, -, *, / with a constant."""
        number = next((n for n, name in enumerate(node.input) if name != self.at), 1)
        if node.input[number] not in self.constants | self.weights:
            raise ModelError(
                self._name(node),
                f"it joins {node.input[0]} and {node.input[1]}",
                "a chain of layers is possible: residual networks are not supported yet",
            )
        state = self.state
        if isinstance(state, Quantised) and state.real:
            state = self.state = self._as_sums(state.grid)
        value = self._channelwise(node, self._constant(node, number, "operand"))
        if number == 0 and scale in "-/":
            raise ModelError(self._name(node), "a constant is the first operand", "swap them")
        if isinstance(state, Pixels):
            operations = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}
            self.state = Pixels(operations[scale](state.values, value).astype(np.float32))
        elif isinstance(state, Sums) and state.low == -np.inf and state.high == np.inf:
            wide = value.astype(np.float64)
            if scale in "+-":
                self.state = replace(state, offset=state.offset + (wide if scale == "+" else -wide))
            else:
                wide = wide if scale == "*" else 1 / wide
                self.state = replace(state, scale=state.scale * wide, offset=state.offset * wide)
        else:
            raise self._refuse_state(node)

    def _Add(self, node: onnx.NodeProto) -> None:
        self._arithmetic(node, "+")

    def _Sub(self, node: onnx.NodeProto) -> None:
        self._arithmetic(node, "-")

    def _Mul(self, node: onnx.NodeProto) -> None:
        self._arithmetic(node, "*")

    def _Div(self, node: onnx.NodeProto) -> None:
        self._arithmetic(node, "/")

    def _BatchNormalization(self, node: onnx.NodeProto) -> None:
        names = ("scale", "bias", "mean", "variance")
        gain, bias, mean, variance = (
            self._constant(node, number, name).astype(np.float64)
            for number, name in enumerate(names, 1)
        )
        epsilon = self._attributes(node).get("epsilon", 1e-5)
        factor = gain / np.sqrt(variance + epsilon)
        shift = bias - mean * factor
        if factor.size != self._channels:
            raise ModelError(self._name(node), f"{factor.size} channels", f"{self._channels} come")
        state = self.state
        if isinstance(state, Quantised) and state.real:
            state = self._as_sums(state.grid)
        if isinstance(state, Pixels):
            self.state = Pixels((state.values * factor + shift).astype(np.float32))
        elif isinstance(state, Sums) and state.low == -np.inf and state.high == np.inf:
            self.state = replace(
                state, scale=state.scale * factor, offset=state.offset * factor + shift
            )
        else:
            raise self._refuse_state(node)

    # ---------------------------------------------------------------------------------------- shape

    def _Identity(self, node: onnx.NodeProto) -> None:
        pass

    def _Cast(self, node: onnx.NodeProto) -> None:
        if self._attributes(node).get("to") != TensorProto.FLOAT:
            raise ModelError(self._name(node), "to another type than float", "leave it out")

    def _Dropout(self, node: onnx.NodeProto) -> None:
        pass

    def _Flatten(self, node: onnx.NodeProto) -> None:
        self.flat = True

    def _Squeeze(self, node: onnx.NodeProto) -> None:
        self.flat = True

    def _Reshape(self, node: onnx.NodeProto) -> None:
        shape = self._constant(node, 1, "shape").tolist()
        if len(shape) > 2 and any(one not in (0, 1, -1, self.depth) for one in shape):
            raise ModelError(self._name(node), f"shape {shape}", "flattening is possible")
        self.flat = True

    def _Transpose(self, node: onnx.NodeProto) -> None:
        order = list(self._attributes(node).get("perm", []))
        if order not in ([0, 3, 1, 2], [0, 2, 3, 1]):
            raise ModelError(self._name(node), f"perm {order}", "channels first or last")
        if self.last == (order == [0, 2, 3, 1]):
            raise ModelError(self._name(node), f"perm {order}", "the other one is due here")
        self.last = not self.last

    # ------------------------------------------------------------------------------------------ end

    def _Softmax(self, node: onnx.NodeProto) -> None:
        self._real(node)
        self.classified = True

    def _ArgMax(self, node: onnx.NodeProto) -> None:
        self._real(node)
        self.classified = True

    def _end(self) -> Network:
        state = self.state
        if isinstance(state, Sums):
            raise ModelError(f"output {self.at}", "the last layer is not quantised", QUANTISE)
        if isinstance(state, Pixels) or not self.layers:
            raise ModelError(f"output {self.at}", "there is no quantised layer", QUANTISE)
        if self.side != 1:
            raise ModelError(
                f"output {self.at}",
                f"{self.side} x {self.side} pixels",
                "one, whose channels are classes",
            )
        if not CLASSES[0] <= self.depth <= CLASSES[1] or state.grid.scale.size != 1:
            raise ModelError(
                f"output {self.at}",
                f"{self.depth} classes",
                f"{CLASSES[0]} to {CLASSES[1]} are possible",
            )
        best = Best(self.depth, terms_of(float(state.grid.scale[0])))
        return Network(self.name, tuple(self.layers), best)


def read(path: Path, name: str, divide: float = 255.0) -> tuple[Network, list[str]]:
    """Read a network from an ONNX file.

    Parameters
    ----------
    path : Path
    name : str
        What the network is to be called.
    divide : float
        A pixel's value of 0 to 255 divided by this is what the graph expects; what else is done to
        pixels is in the graph.

    Returns
    -------
    Network
    list of str
        What is to be known about the file, though it can be compiled.

    Raises
    ------
    ModelError
        The file is none, or has what cannot be compiled.
    """
    where = f"file {path}"
    try:
        size = path.stat().st_size
        if size > FILE_BYTES:
            raise ModelError(where, f"{size} bytes", f"{FILE_BYTES} at most are read")
        model = onnx.load_model_from_string(path.read_bytes())
    except OSError as error:
        raise ModelError(where, str(error.strerror), "name a file that can be read") from None
    except ModelError:
        raise
    except Exception as error:  # whatever protobuf raises
        raise ModelError(
            where, f"no ONNX file ({type(error).__name__})", "export it anew"
        ) from None
    versions = {one.domain: one.version for one in model.opset_import}
    version = versions.get("", versions.get("ai.onnx", 0))
    if not OPSETS[0] <= version <= OPSETS[1]:
        raise ModelError(where, f"opset {version}", f"opsets {OPSETS[0]} to {OPSETS[1]} are read")
    return _walked(model, name, divide)


def _walked(model: onnx.ModelProto, name: str, divide: float) -> tuple[Network, list[str]]:
    at = "graph"
    try:
        reader = Reader(model, name, divide)
        at = f"behind tensor {reader.at}"
        try:
            return reader.walk(), reader.warnings
        finally:
            at = f"behind tensor {reader.at}"
    except ModelError:
        raise
    # What an operator lacks, constants of other shapes, types that do not go together.
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        what = f"it is not as ONNX defines it ({type(error).__name__}: {error})"
        raise ModelError(at, what, "export it again") from None
