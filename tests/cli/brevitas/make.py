# SPDX-License-Identifier: Apache-2.0
"""Makes the files of this folder: a small network by Brevitas, as QCDQ and as QONNX.

`values.npz` has images, and what Brevitas gives for them. It needs PyTorch, of 3 GB, so the files
are kept: `pip install torch brevitas==0.13.4 onnxoptimizer onnxscript qonnx`.
"""

from __future__ import annotations

from pathlib import Path

import brevitas.nn as qnn
import numpy as np
import torch
from brevitas.export import export_onnx_qcdq, export_qonnx
from brevitas.quant import Int8ActPerTensorFloat, Int8WeightPerChannelFloat, Uint8ActPerTensorFloat
from torch import nn

HERE = Path(__file__).parent
SIZE, IMAGES, CLASSES = 32, 16, 10
# Outputs, kernel, stride; 0 outputs: each channel for itself.
BLOCKS = [(8, 3, 2), (0, 3, 1), (16, 1, 1), (0, 3, 2), (32, 1, 1)]
UNSIGNED = {"act_quant": Uint8ActPerTensorFloat, "return_quant_tensor": False}


def block(channels: int, outputs: int, kernel: int, stride: int) -> list[nn.Module]:
    """Return a convolution, a normalisation and a ReLU."""
    groups, outputs = (1, outputs) if outputs else (channels, channels)
    shape = {"stride": stride, "padding": kernel // 2, "groups": groups, "bias": False}
    weights = {"weight_quant": Int8WeightPerChannelFloat}
    return [
        qnn.QuantConv2d(channels, outputs, kernel, **shape, **weights),
        nn.BatchNorm2d(outputs),
        qnn.QuantReLU(**UNSIGNED),
    ]


def network() -> nn.Module:
    """Return a network whose scales have seen images."""
    stages: list[nn.Module] = [qnn.QuantIdentity(**UNSIGNED)]
    channels = 3
    for outputs, kernel, stride in BLOCKS:
        stages += block(channels, outputs, kernel, stride)
        channels = outputs or channels
    stages += [nn.AdaptiveAvgPool2d(1), qnn.QuantIdentity(**UNSIGNED), nn.Flatten()]
    weights = {"weight_quant": Int8WeightPerChannelFloat}
    stages.append(qnn.QuantLinear(channels, CLASSES, bias=True, **weights))
    stages.append(qnn.QuantIdentity(act_quant=Int8ActPerTensorFloat, return_quant_tensor=False))
    made = nn.Sequential(*stages).train()
    with torch.no_grad():
        for module in made:
            if isinstance(module, nn.BatchNorm2d):
                module.weight.uniform_(0.5, 1.5)
                module.bias.uniform_(-0.3, 0.5)
        for _ in range(60):
            made(images(8) / 255)
    return made.eval()


def images(count: int) -> torch.Tensor:
    """Return images of different brightness, (count, 3, size, size), 0 to 255."""
    pixels = torch.rand(count, 3, SIZE, SIZE) * torch.rand(count, 3, 1, 1)
    return (255 * pixels).round()


def main() -> None:
    """Write the files."""
    torch.manual_seed(3)
    made = network()
    for name, export in (("qcdq", export_onnx_qcdq), ("qonnx", export_qonnx)):
        path = str(HERE / f"{name}.onnx")
        export(made, args=images(1) / 255, export_path=path, opset_version=17, dynamo=False)
    shown = images(IMAGES)
    with torch.no_grad():
        values = made(shown / 255).numpy()
    pixels = shown.numpy().astype(np.uint8).transpose(0, 2, 3, 1)
    np.savez_compressed(HERE / "values.npz", images=pixels, values=values)


if __name__ == "__main__":
    main()
