# SPDX-License-Identifier: Apache-2.0
"""What a graph's initialisers hold, and what follows from them alone: weights, scales, factors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

if TYPE_CHECKING:
    from numpy.typing import NDArray


class ModelError(ValueError):
    """What a file has that cannot be compiled: where, what, and what to do."""

    def __init__(self, where: str, what: str, remedy: str) -> None:
        super().__init__(f"{where}: {what}; {remedy}")
        self.where, self.what, self.remedy = where, what, remedy


class Constants:
    """The constants of a graph, by their names."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        self.graph = graph
        self.constants = {one.name: self._array(one) for one in graph.initializer}
        # Of constants that are quantised: integers, without their zero point, and scales.
        self.weights: dict[str, tuple[NDArray[np.int64], NDArray[np.float32]]] = {}
        self.asymmetric: dict[str, int] = {}
        self._fold_constants()

    def _array(self, tensor: TensorProto) -> NDArray[Any]:
        if tensor.data_location == TensorProto.EXTERNAL:
            raise ModelError(
                f"initialiser {tensor.name}", "its data is in another file", "save it into one"
            )
        try:
            return numpy_helper.to_array(tensor)
        except (ValueError, TypeError) as error:
            raise ModelError(f"initialiser {tensor.name}", str(error), "export it again") from None

    def _fold_constants(self) -> None:
        """Know what follows from initialisers alone: weights that are quantised in the graph."""
        for node in self.graph.node:
            inputs = [name for name in node.input if name]
            if node.op_type == "Constant":
                value = {one.name: one for one in node.attribute}.get("value")
                if value is not None:
                    self.constants[node.output[0]] = self._array(value.t)
            elif node.op_type == "Identity" and inputs[0] in self.constants:
                self.constants[node.output[0]] = self.constants[inputs[0]]
            elif node.op_type == "QuantizeLinear" and inputs[0] in self.constants:
                scale, zero = self._quantisation(node)
                low, high = (-128, 127) if zero.dtype == np.int8 else (0, 255)
                if zero.dtype == np.int32:
                    low, high = -(2**31), 2**31 - 1
                values = self.constants[inputs[0]].astype(np.float32)
                scale, zero = (self._along(node, one, values) for one in (scale, zero))
                whole = np.clip(np.rint(values / scale) + zero, low, high)
                self.constants[node.output[0]] = whole.astype(zero.dtype)
            elif node.op_type == "Clip" and all(name in self.constants for name in inputs):
                # Brevitas bounds weights that are integers already.
                self._know_clipped(node)
            elif node.op_type == "DequantizeLinear" and inputs[0] in self.constants:
                self._know_weights(node, self.constants[inputs[0]])
            elif node.op_type == "Quant" and inputs[0] in self.constants:
                self._know_quant(node)

    def _along(self, node: onnx.NodeProto, factors: NDArray, values: NDArray) -> NDArray:
        """Return factors of an axis in a shape that goes with the values."""
        if factors.size == 1:
            return factors.reshape(())
        axis = self._attributes(node).get("axis", 1)
        shape = [1] * values.ndim
        shape[axis] = -1
        return factors.reshape(shape)

    def _know_clipped(self, node: onnx.NodeProto) -> None:
        values = self.constants[node.input[0]]
        for name, bound in zip(node.input[1:3], (np.maximum, np.minimum), strict=False):
            values = bound(values, self.constants[name]) if name else values
        self.constants[node.output[0]] = values

    def _know_weights(self, node: onnx.NodeProto, whole: NDArray) -> None:
        scale, zero = (self._along(node, one, whole) for one in self._quantisation(node))
        self._keep(node, whole.astype(np.int64), scale, zero.astype(np.int64))

    def _keep(self, node: onnx.NodeProto, whole: NDArray, scale: NDArray, zero: NDArray) -> None:
        if np.any(zero):
            self.asymmetric[node.output[0]] = int(zero.ravel()[np.flatnonzero(zero)[0]])
        self.weights[node.output[0]] = whole - zero, scale

    def _know_quant(self, node: onnx.NodeProto) -> None:
        values = self.constants[node.input[0]].astype(np.float32)
        scale, zero, low, high = self._quant(node)
        whole = np.clip(np.rint(values / scale) + zero, low, high)
        self._keep(node, whole.astype(np.int64), scale, np.array(zero))

    def _name(self, node: onnx.NodeProto) -> str:
        return f"{node.op_type} {node.name or node.output[0]}"

    def _attributes(self, node: onnx.NodeProto) -> dict[str, Any]:
        return {one.name: helper.get_attribute_value(one) for one in node.attribute}

    def _constant(self, node: onnx.NodeProto, number: int, what: str) -> NDArray[Any]:
        name = node.input[number] if number < len(node.input) else ""
        if name in self.constants:
            return self.constants[name]
        if name in self.weights:
            whole, scale = self.weights[name]
            return (whole * scale).astype(np.float32)
        raise ModelError(
            self._name(node), f"{what} {name!r} is no initialiser", "export the model with weights"
        )

    def _scale(self, node: onnx.NodeProto, number: int) -> NDArray[np.float32]:
        scale = np.asarray(self._constant(node, number, "scale"), np.float32)
        if not np.all(np.isfinite(scale)) or np.any(scale <= 0):
            bad = scale.ravel()[~(np.isfinite(scale.ravel()) & (scale.ravel() > 0))][0]
            raise ModelError(self._name(node), f"scale {bad}", "scales are positive: quantise anew")
        return scale

    def _quantisation(self, node: onnx.NodeProto) -> tuple[NDArray[np.float32], NDArray[Any]]:
        scale, attributes = self._scale(node, 1), self._attributes(node)
        if attributes.get("block_size", 0):
            raise ModelError(self._name(node), "a scale a block", "one, or one a channel")
        if len(node.input) > 2 and node.input[2]:
            return scale, np.asarray(self._constant(node, 2, "zero point"))
        kinds = {0: np.uint8, TensorProto.UINT8: np.uint8, TensorProto.INT8: np.int8}
        kind = attributes.get("output_dtype", 0)
        if kind not in kinds:
            raise ModelError(self._name(node), f"output_dtype {kind}", "quantise to uint8 or int8")
        return scale, np.zeros(scale.shape, kinds[kind])

    def _quant(self, node: onnx.NodeProto) -> tuple[NDArray[np.float32], int, int, int]:
        """Return scale, zero point and range of a node of QONNX."""
        attributes = self._attributes(node)
        mode = attributes.get("rounding_mode", b"ROUND")
        if mode not in (b"ROUND", b"HALF_EVEN"):
            raise ModelError(
                self._name(node), f"rounding_mode {mode.decode()}", "only ROUND is possible"
            )
        zero = self._constant(node, 2, "zero point")
        bits = float(self._constant(node, 3, "bit width").ravel()[0])
        if bits not in range(2, 9):
            raise ModelError(self._name(node), f"{bits:g} bits", "2 to 8 bits are possible")
        if np.any(zero != zero.ravel()[0]) or zero.ravel()[0] != int(zero.ravel()[0]):
            raise ModelError(self._name(node), "zero points differ", "one for all is possible")
        signed, narrow = attributes.get("signed", 1), attributes.get("narrow", 0)
        low = -(2 ** int(bits - 1)) + narrow if signed else 0
        high = 2 ** int(bits - 1) - 1 if signed else 2 ** int(bits) - 1 - narrow
        return self._scale(node, 1), int(zero.ravel()[0]), low, high
