# SPDX-License-Identifier: Apache-2.0
"""Trains the network `shapes` on drawn pictures, and writes it as a quantised ONNX file.

Needs what requirements-train.txt names, in an environment of its own; takes some minutes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from jax import Array
    from onnx import ModelProto

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

from forebay.dnn.draw import CLASSES, draw  # noqa: E402
from forebay.dnn.shrink import shrink  # noqa: E402

SIZE, WIDTH, HEIGHT = 32, 96, 72
BATCH, RATE = 128, 2e-3
# Kind, outputs, stride: a small MobileNet-V1.
PLAN = (
    ("conv", 16, 2),
    ("dw", 16, 1),
    ("pw", 32, 1),
    ("dw", 32, 2),
    ("pw", 64, 1),
    ("dw", 64, 1),
    ("pw", 64, 1),
    ("dw", 64, 2),
    ("pw", 128, 1),
)
HIGHEST = 6.0  # of a layer's values
Params = "list[tuple[Array, Array]]"  # weights and bias of each layer


def drawings(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw pictures and make them small, (count, SIZE, SIZE, 3); returns their classes, too."""
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, len(CLASSES), count)
    small = [shrink(draw(rng, int(number), WIDTH, HEIGHT), SIZE) for number in numbers]
    return np.array(small), numbers


def trained(images: np.ndarray, numbers: np.ndarray, epochs: int) -> Params:
    """Return weights and bias of each layer, in the order of PLAN, the classes last."""
    import jax
    import jax.numpy as jnp

    rng = np.random.default_rng(0)
    params, channels = [], images.shape[-1]
    for kind, outputs, _ in PLAN:
        kernel = 1 if kind == "pw" else 3
        shape = (kernel, kernel, 1 if kind == "dw" else channels, outputs)
        spread = np.sqrt(2 / np.prod(shape[:3]))
        params.append((jnp.array(rng.normal(size=shape) * spread, jnp.float32), jnp.zeros(outputs)))
        channels = outputs
    last = rng.normal(size=(channels, len(CLASSES))) / 8
    params.append((jnp.array(last, jnp.float32), jnp.zeros(len(CLASSES))))

    def forward(params: Params, x: Array) -> Array:
        for (kind, _, stride), (weights, bias) in zip(PLAN, params, strict=False):
            if kind == "pw":
                x = x @ weights[0, 0]
            else:
                # Nine shifted pictures: six times as quick on a CPU as a grouped convolution.
                side = x.shape[1]
                padded = jnp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
                taps = [
                    padded[:, y : y + side : stride, z : z + side : stride]
                    for y in range(3)
                    for z in range(3)
                ]
                if kind == "dw":
                    x = sum(tap * weights[k // 3, k % 3, 0] for k, tap in enumerate(taps))
                else:
                    x = jnp.concatenate(taps, -1) @ weights.reshape(-1, weights.shape[3])
            x = jnp.clip(x + bias, 0, HIGHEST)
        weights, bias = params[-1]
        return x.mean((1, 2)) @ weights + bias

    def loss(params: Params, x: Array, y: Array) -> Array:
        return -jnp.take_along_axis(jax.nn.log_softmax(forward(params, x)), y[:, None], 1).mean()

    @jax.jit
    def adam(params: Params, first: Params, second: Params, *batch: Array) -> tuple:
        step, x, y, rate = batch
        slope = jax.grad(loss)(params, x, y)
        first = jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, first, slope)
        second = jax.tree.map(lambda a, b: 0.999 * a + 0.001 * b * b, second, slope)

        def moved(p: Array, a: Array, b: Array) -> Array:
            return p - rate * (a / (1 - 0.9**step)) / (jnp.sqrt(b / (1 - 0.999**step)) + 1e-8)

        return jax.tree.map(moved, params, first, second), first, second

    first = second = jax.tree.map(jnp.zeros_like, params)
    x, steps, step = images.astype(np.float32) / 255, epochs * (len(images) // BATCH), 0
    for epoch in range(epochs):
        order = rng.permutation(len(images))
        for at in range(0, len(images) - BATCH + 1, BATCH):
            pick, step = order[at : at + BATCH], step + 1
            rate = RATE * (1 + np.cos(np.pi * step / steps))
            params, first, second = adam(params, first, second, step, x[pick], numbers[pick], rate)
        print(f"epoch {epoch + 1} of {epochs}", flush=True)
    return [(np.asarray(weights), np.asarray(bias)) for weights, bias in params]


def model(params: Params) -> ModelProto:
    """Return the network as a model in floats."""
    from onnx import TensorProto, helper, numpy_helper

    nodes, constants, at = [], [], "image"

    def constant(name: str, value: np.ndarray) -> str:
        constants.append(numpy_helper.from_array(np.ascontiguousarray(value, np.float32), name))
        return name

    bounds = constant("low", np.float32(0)), constant("high", np.float32(HIGHEST))
    for number, ((kind, outputs, stride), (weights, bias)) in enumerate(
        zip(PLAN, params, strict=False)
    ):
        kernel = weights.shape[0]
        names = constant(f"w{number}", weights.transpose(3, 2, 0, 1)), constant(f"b{number}", bias)
        nodes.append(
            helper.make_node(
                "Conv",
                [at, *names],
                [f"sum{number}"],
                f"{kind}{number}",
                group=outputs if kind == "dw" else 1,
                strides=[stride] * 2,
                pads=[kernel // 2] * 4,
                kernel_shape=[kernel] * 2,
            )
        )
        at = f"layer{number}"
        nodes.append(helper.make_node("Clip", [f"sum{number}", *bounds], [at]))
    weights, bias = params[-1]
    names = constant("w", weights), constant("b", bias)
    nodes += [
        helper.make_node("GlobalAveragePool", [at], ["average"]),
        helper.make_node("Flatten", ["average"], ["flat"]),
        helper.make_node("Gemm", ["flat", *names], ["classes"]),
    ]
    given = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, SIZE, SIZE])
    made = helper.make_tensor_value_info("classes", TensorProto.FLOAT, [1, len(CLASSES)])
    graph = helper.make_graph(nodes, "shapes", [given], [made], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def quantise(params: Params, images: np.ndarray, path: Path) -> None:
    """Write the network, quantised by onnxruntime for these pictures."""
    import onnx
    from onnxruntime.quantization import (
        CalibrationDataReader,
        QuantFormat,
        QuantType,
        quantize_static,
    )

    class Pictures(CalibrationDataReader):
        rest = iter(images)

        def get_next(self) -> dict[str, np.ndarray] | None:
            image = next(self.rest, None)
            if image is None:
                return None
            return {"image": image.transpose(2, 0, 1)[None].astype(np.float32) / 255}

    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "plain.onnx"
        onnx.save(model(params), plain)
        quantize_static(
            plain,
            path,
            Pictures(),
            quant_format=QuantFormat.QDQ,
            per_channel=True,
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
        )


def main() -> int:
    """Run the command line; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("into", type=Path, help="ONNX file to write")
    parser.add_argument("--drawings", type=int, default=16_000)
    parser.add_argument("--epochs", type=int, default=20)
    options = parser.parse_args()
    images, numbers = drawings(options.drawings, 1)
    print(f"{len(images)} drawings", flush=True)
    quantise(trained(images, numbers, options.epochs), images[:200], options.into)
    print(f"{options.into}: {options.into.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
