# SPDX-License-Identifier: Apache-2.0
"""Networks with random weights, made by onnx, quantised by onnxruntime, and pictures for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

ort.set_default_logger_severity(3)

OPSET = helper.make_opsetid("", 17)
# Kind, outputs, stride: of a MobileNet-V1 whose images are small.
SHORT = [("conv", 8, 2), ("dw", 8, 1), ("pw", 16, 1), ("dw", 16, 2), ("pw", 32, 1)]


class Net:
    """A graph in the making: each layer takes what the one before it leaves."""

    def __init__(self, size: int, seed: int = 1) -> None:
        self.size, self.channels, self.at = size, 3, "image"
        self.rng = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[TensorProto] = []

    def constant(self, value: np.ndarray) -> str:
        """Add an initialiser; returns its name."""
        name = f"constant{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(value, name))
        return name

    def add(self, kind: str, *inputs: str, **attributes: object) -> None:
        """Add a node behind the others."""
        name = f"{kind.lower()}{len(self.nodes)}"
        node = helper.make_node(kind, [self.at, *inputs], [f"{name}_out"], name, **attributes)
        self.nodes.append(node)
        self.at = f"{name}_out"

    def convolution(
        self, kind: str, outputs: int, stride: int, kernel: int = 3, *, relu: bool = True
    ) -> None:
        """Add a convolution, depthwise (dw), pointwise (pw) or full, and ReLU."""
        kernel = 1 if kind == "pw" else kernel
        group = self.channels if kind == "dw" else 1
        fan = kernel**2 * self.channels // group
        # Channels differ, as those of trained networks do.
        gain = self.rng.uniform(0.3, 3, (outputs, 1, 1, 1)) * np.sqrt(2 / fan)
        shape = (outputs, self.channels // group, kernel, kernel)
        weights = (self.rng.normal(size=shape) * gain).astype(np.float32)
        bias = (self.rng.normal(size=outputs) * 0.1).astype(np.float32)
        around = [kernel // 2] * 4
        names = self.constant(weights), self.constant(bias)
        shared = {"strides": [stride] * 2, "pads": around, "kernel_shape": [kernel] * 2}
        self.add("Conv", *names, group=group, **shared)
        if relu:
            self.add("Relu")
        self.channels = outputs

    def classes(self, count: int) -> None:
        """Add average and classes: directions in which pictures differ, so each has its share."""
        self.add("GlobalAveragePool")
        self.add("Flatten")
        theirs = session(self.model().SerializeToString())
        seen = [theirs.run(None, given(one))[0][0] for one in pictures(200, self.size, 3)]
        middle, spread = np.mean(seen, axis=0), np.std(seen, axis=0) + 1e-3
        _, lengths, axes = np.linalg.svd((seen - middle) / spread, full_matrices=False)
        weights = (axes[:count].T / lengths[:count]) / spread[:, None]
        bias = -middle @ weights
        names = (self.constant(value.astype(np.float32)) for value in (weights, bias))
        self.add("Gemm", *names)
        self.channels = count

    def model(self) -> onnx.ModelProto:
        """Return the model."""
        shape = [1, 3, self.size, self.size]
        given = helper.make_tensor_value_info("image", TensorProto.FLOAT, shape)
        made = helper.make_tensor_value_info(self.at, TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "net", [given], [made], self.constants)
        return helper.make_model(graph, opset_imports=[OPSET], ir_version=9)


def short(size: int = 32, classes: int = 16, seed: int = 1) -> Net:
    """Return a short MobileNet."""
    net = Net(size, seed)
    for kind, outputs, stride in SHORT:
        net.convolution(kind, outputs, stride)
    net.classes(classes)
    return net


def pictures(count: int, size: int, seed: int) -> np.ndarray:
    """Draw pictures: coarse squares and noise, (count, size, size, 3)."""
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 256, (count, 7, 7, 3)).astype(float)
    wide = -(-size // 7)
    fine = coarse.repeat(wide, axis=1).repeat(wide, axis=2)[:, :size, :size]
    return np.clip(fine + rng.normal(0, 20, fine.shape), 0, 255).astype(np.uint8)


def given(image: np.ndarray) -> dict[str, np.ndarray]:
    """Return what onnxruntime gets for a picture."""
    return {"image": image.transpose(2, 0, 1)[None].astype(np.float32) / np.float32(255)}


class _Pictures(CalibrationDataReader):
    def __init__(self, images: np.ndarray) -> None:
        self.rest = iter(images)

    def get_next(self) -> dict[str, np.ndarray] | None:
        """Return the next one."""
        image = next(self.rest, None)
        return None if image is None else given(image)


def quantised(
    net: Net, folder: Path, *, signed: bool = False, per_channel: bool = True, name: str = "net"
) -> Path:
    """Have onnxruntime quantise a network; returns the file."""
    plain, path = folder / f"{name}_float.onnx", folder / f"{name}.onnx"
    onnx.save(net.model(), plain)
    quantize_static(
        plain,
        path,
        _Pictures(pictures(16, net.size, 5)),
        quant_format=QuantFormat.QDQ,
        per_channel=per_channel,
        activation_type=QuantType.QInt8 if signed else QuantType.QUInt8,
        weight_type=QuantType.QInt8,
    )
    return path


def session(model: bytes, *, fused: bool = True) -> ort.InferenceSession:
    """Return onnxruntime with a model."""
    options = ort.SessionOptions()
    levels = ort.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if fused else levels.ORT_DISABLE_ALL
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def with_all_values(path: Path) -> tuple[bytes, list[str]]:
    """Return a quantised model that gives each layer's values, too, and their names."""
    model = onnx.load(path)
    kinds = {one.name: one.data_type for one in model.graph.initializer}
    known = {output.name for output in model.graph.output}
    names = []
    for node in model.graph.node:
        if node.op_type == "QuantizeLinear" and node.output[0] not in known:
            info = helper.make_tensor_value_info(node.output[0], kinds[node.input[2]], None)
            model.graph.output.append(info)
            names.append(node.output[0])
    return model.SerializeToString(), names


def edited(path: Path, edit: Callable[[onnx.ModelProto], None]) -> Path:
    """Change a model's file."""
    model = onnx.load(path)
    edit(model)
    onnx.save(model, path)
    return path
