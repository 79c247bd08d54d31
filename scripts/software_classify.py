# SPDX-License-Identifier: Apache-2.0
"""The case study in software: images of 9 MB scaled, classified by PyTorch in batches, stored.

Threads scale images into one of two pinned buffers, while the network judges what is in the other
one, and others write each image with its class, down to the drive. Each stage is measured alone,
and all together. The figures are those of the machine at hand: of its processors, its device,
its file system.

It needs what `make setup` does not bring: `pip install numpy torch opencv-python-headless`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

from forebay.dnn.draw import CLASSES, draw, ppm
from forebay.dnn.mobilenet import mobilenet
from forebay.dnn.network import Average, Convolution, Depthwise, Network, Table
from forebay.dnn.weights import filled, pictures

try:
    import cv2
    import torch
    from torch import nn
    from torch.nn import functional
except ImportError as error:
    sys.exit(
        f"{error}; in an environment of its own: pip install numpy torch opencv-python-headless"
    )

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from forebay.dnn.network import Layer

WIDTH, HEIGHT, SIZE, BATCH = 2000, 1495, 224, 32
DRAWN = 10  # pictures that come in turns
JUDGED = 4  # pictures that the twin judges, too
LEAST_ALIKE, MOST_OFF = 0.99, 1


class Lookup(nn.Module):
    """Pixels become values: (images, channels, height, width)."""

    def __init__(self, layer: Table) -> None:
        super().__init__()
        self.register_buffer("values", torch.tensor(layer.values.T.copy()).float())

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        """Look up each pixel in the table of its channel."""
        pixels = pixels.permute(0, 3, 1, 2).long()
        return torch.stack([self.values[c][pixels[:, c]] for c in range(pixels.shape[1])], 1)


class Sums(nn.Module):
    """A layer: sums of integers, which 10 bits of a mantissa hold (TF32), and what they become."""

    def __init__(self, layer: Layer) -> None:
        super().__init__()
        factors = layer.factors
        scale = factors.multiplier / 2.0**factors.shift
        self.zero, self.low, self.high = factors.zero, factors.low, factors.high
        self.window, self.groups = getattr(layer, "window", None), 1
        if isinstance(layer, Convolution):
            side = layer.window.kernel
            weights = layer.weights.transpose(0, 2, 1).reshape(-1, layer.channels, side, side)
        elif isinstance(layer, Depthwise):
            side, self.groups = layer.window.kernel, layer.channels
            weights = layer.weights.T.reshape(-1, 1, side, side)
        else:
            self.groups = layer.channels
            weights = np.ones((layer.channels, 1, layer.size, layer.size))
        parts = {"weights": weights, "scale": scale, "offset": factors.offset / 2.0**factors.shift}
        for name, part in parts.items():
            shape = part.shape if name == "weights" else (-1, 1, 1)
            self.register_buffer(name, torch.tensor(part).reshape(shape).to(torch.float32))

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """Return the layer's values."""
        stride = 1
        if self.window:
            sides = (self.window.before, self.window.after) * 2
            values = functional.pad(values, sides, value=self.window.around)
            stride = self.window.stride
        sums = functional.conv2d(values, self.weights, None, stride, groups=self.groups)
        sums = sums * self.scale + self.offset
        return (sums.round() + self.zero).clamp(self.low, self.high)


def model(network: Network, device: str) -> nn.Module:
    """Return a network as a module: (images, height, width, 3) uint8 to classes."""
    stages: list[nn.Module] = []
    for layer in network.layers:
        if isinstance(layer, Table):
            stages.append(Lookup(layer))
        elif isinstance(layer, Convolution | Depthwise | Average):
            stages.append(Sums(layer))
        else:
            raise TypeError(f"{layer.name}: a {type(layer).__name__} has no module here")
    return nn.Sequential(*stages, nn.Flatten()).to(device).eval()


def alike(network: Network, judge: nn.Module, device: str) -> tuple[float, int]:
    """Compare each layer with the twin's, given the twin's values.

    A network whose weights were drawn at random makes much of a small difference: of the whole one
    nothing could be said.

    Returns
    -------
    float
        The least share of equal values of a layer.
    int
        How far a value is off at most.
    """
    least, most = 1.0, 0
    for image in pictures(np.random.default_rng(5), JUDGED, network.size):
        comes = torch.from_numpy(image[None])
        for module, due in zip(judge, network.values(image), strict=False):
            found = module(comes.to(device)).float().cpu().numpy()[0].transpose(1, 2, 0)
            off = np.abs(found - due)
            least, most = min(least, float(np.mean(off == 0))), max(most, int(off.max()))
            comes = torch.from_numpy(due.transpose(2, 0, 1)[None].copy()).float()
    return least, most


class Station:
    """Images on their way: two buffers, threads that fill them, a device that empties them."""

    def __init__(self, judge: nn.Module, options: argparse.Namespace, folder: Path) -> None:
        self.judge, self.device, self.count = judge, options.device, options.images
        rng = np.random.default_rng(27)
        drawn = [draw(rng, number % len(CLASSES), WIDTH, HEIGHT) for number in range(DRAWN)]
        self.pictures, self.files = drawn, [ppm(picture) for picture in drawn]
        self.on_gpu = options.device != "cpu"
        shape = (BATCH, SIZE, SIZE, 3)
        self.buffers = [torch.empty(shape, dtype=torch.uint8) for _ in range(2)]
        if self.on_gpu:
            self.buffers = [buffer.pin_memory() for buffer in self.buffers]
            self.streams = [torch.cuda.Stream() for _ in range(2)]
        self.scalers, self.writers = (ThreadPoolExecutor(options.threads) for _ in range(2))
        # A GPU works by itself; without one a thread judges meanwhile.
        self.judges, self.storing = (ThreadPoolExecutor(1) for _ in range(2))
        self.folder = folder

    def scale(self, number: int, into: NDArray[np.uint8]) -> None:
        """Scale a picture, the mean of the area of each pixel."""
        cv2.resize(self.pictures[number % DRAWN], (SIZE, SIZE), into, 0, 0, cv2.INTER_AREA)

    def scale_batch(self, at: int, buffer: torch.Tensor) -> None:
        """Scale a batch on all threads."""
        rows = buffer.numpy()
        list(self.scalers.map(self.scale, range(at, at + BATCH), rows))

    def classify(self, number: int, buffer: torch.Tensor) -> Future[NDArray[np.int64]]:
        """Begin to judge a batch; the result is its classes."""
        return self.judges.submit(self.judged, number, buffer)

    def judged(self, number: int, buffer: torch.Tensor) -> NDArray[np.int64]:
        """Judge a batch."""
        with torch.inference_mode():
            if not self.on_gpu:
                return self.judge(buffer).argmax(1).numpy()
            stream = self.streams[number % 2]
            with torch.cuda.stream(stream):
                classes = self.judge(buffer.to(self.device, non_blocking=True)).argmax(1)
                found = classes.to("cpu", non_blocking=True)
            stream.synchronize()
            return found.numpy()

    def store(self, number: int, label: int) -> None:
        """Write an image, and its class beside it."""
        path = self.folder / f"{number:06}.ppm"
        with path.open("wb", buffering=0) as file:
            file.write(self.files[number % DRAWN])
            os.fsync(file.fileno())
        path.with_suffix(".json").write_text(json.dumps({"class": int(label)}))

    def store_batch(self, at: int, labels: NDArray[np.int64]) -> None:
        """Write a batch on all threads, over what was there."""
        list(
            self.writers.map(self.store, range(at % (4 * BATCH), at % (4 * BATCH) + BATCH), labels)
        )

    def all(self) -> None:
        """Scale a batch while the one before is judged, and the one before that is stored."""
        under_way: Future[NDArray[np.int64]] | None = None
        stored: Future[None] | None = None
        for at in range(0, self.count + BATCH, BATCH):
            number = at // BATCH
            buffer = self.buffers[number % 2]
            if at < self.count:
                self.scale_batch(at, buffer)
            labels = under_way.result() if under_way else None
            if at < self.count:
                under_way = self.classify(number, buffer)
            if stored:
                stored.result()
            if labels is not None:
                stored = self.storing.submit(self.store_batch, at - BATCH, labels)
        if stored:
            stored.result()

    def alone(self, stage: Callable[[int], Any]) -> None:
        """Run one stage for all batches."""
        for at in range(0, self.count, BATCH):
            stage(at)

    def stages(self) -> dict[str, Callable[[], None]]:
        """Return what is measured, by its name."""
        labels = np.zeros(BATCH, np.int64)
        return {
            "scale": lambda: self.alone(lambda at: self.scale_batch(at, self.buffers[0])),
            "classify": lambda: self.alone(lambda _: self.judged(0, self.buffers[0])),
            "store": lambda: self.alone(lambda at: self.store_batch(at, labels)),
            "all": self.all,
        }


def measured(station: Station, work: Callable[[], None]) -> dict[str, float]:
    """Return images and bytes a second of a stage, the second time."""
    work()
    began = time.perf_counter()
    work()
    rate = station.count / (time.perf_counter() - began)
    size = len(station.files[0])
    return {"frames_per_second": rate, "gigabytes_per_second": rate * size * 1e-9}


def processor() -> str:
    """Return what the processor is called."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{os.cpu_count()} × {names[0] if names else platform.machine()}"


def main() -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"), help="default: cpu")
    parser.add_argument("--images", type=int, default=4096, help="a multiple of 32 [default: 4096]")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="default: processors")
    parser.add_argument("--folder", type=Path, help="where images are stored [default: a new one]")
    parser.add_argument("--json", type=Path, help="put the figures into this file")
    options = parser.parse_args()
    if options.images < BATCH or options.images % BATCH or options.threads < 1:
        parser.error(f"{options.images} images, {options.threads} threads: multiples of 32, 1 on")
    if options.folder and not options.folder.is_dir():
        parser.error(f"--folder {options.folder}: there is no such folder")
    if options.device != "cpu" and not torch.cuda.is_available():
        parser.error(f"--device {options.device}: PyTorch sees no GPU here; --device cpu")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = True
    cv2.setNumThreads(1)
    network = filled(np.random.default_rng(1), mobilenet(SIZE), 2)
    on_gpu = options.device != "cpu"
    with torch.inference_mode(), TemporaryDirectory(dir=options.folder) as folder:
        judge = model(network, options.device)
        share, off = alike(network, judge, options.device)
        print(
            f"of a layer at least {share:.5f} of the values are the twin's, none is off by "
            f"more than {off}",
            flush=True,
        )
        station = Station(judge, options, Path(folder))
        rates = {}
        for name, work in station.stages().items():
            rates[name] = measured(station, work)
            print(f"{name}: {rates[name]['frames_per_second']:.1f} images/s", flush=True)
    limit = min(("scale", "classify", "store"), key=lambda name: rates[name]["frames_per_second"])
    found = {
        "simulated": False,
        "device": torch.cuda.get_device_name() if on_gpu else "none",
        "processor": processor(),
        "day": time.strftime("%Y-%m-%d"),
        "torch": torch.__version__,
        "threads": options.threads,
        "batch": BATCH,
        "images": options.images,
        "image": {"width": WIDTH, "height": HEIGHT, "bytes": len(station.files[0])},
        "values_alike": share,
        "values_off": off,
        "rates": rates,
        "limit": limit,
    }
    print(f"the limit is: {limit}")
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n")
    good = share >= LEAST_ALIKE and off <= MOST_OFF
    if not good:
        print("the network is not the twin's: the rates mean nothing", file=sys.stderr)
    return 0 if good else 3


if __name__ == "__main__":
    sys.exit(main())
