# SPDX-License-Identifier: Apache-2.0
"""Networks become elements: compared with onnxruntime, recorded over the wire, or refused."""

from __future__ import annotations

import base64
import json
import math
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import cv2
import networks
import numpy as np
import onnx
import pytest
from driving import BAD_INPUT, BAD_RESULT, FILE_FAILED, IMPOSSIBLE, PROGRAM, ROOT, Run
from scapy.utils import wrpcap
from test_images import ppm
from test_pipeline import capture, write

from forebay.dnn import draw
from forebay.dnn.compiled import compiled
from forebay.dnn.fold import InfeasibleError, ramb36
from forebay.dnn.mobilenet import CLASSES, DESIGNS, FIRST, PAIRS, mobilenet
from forebay.dnn.network import Network
from forebay.dnn.read import ModelError, read
from forebay.dnn.shrink import shrink

COUNT = 2000 if os.environ.get("FOREBAY_COUNTS") == "full" else 200


def squeezed(values: np.ndarray) -> np.ndarray:
    """Return what onnxruntime gives in the order of ours, (height, width, channels)."""
    return values[0].transpose(1, 2, 0) if values.ndim == 4 else values.reshape(1, 1, -1)


def check_layers(path: Path, network: Network, images: np.ndarray, *, signed: bool) -> None:
    """Compare each layer with onnxruntime's, with the values that come to that one."""
    model, names = networks.with_all_values(path)
    theirs = networks.session(model)
    # Flatten stands between two quantised tensors that are alike.
    names = [name for name in names if not name.startswith("flatten")]
    shift = 128 if signed else 0
    count = differ = 0
    for image in images:
        found = theirs.run(names, networks.given(image))
        values = [(squeezed(one).astype(int) + shift).astype(np.uint8) for one in found]
        assert len(values) == len(network.layers)
        for layer, comes, due in zip(network.layers, [image, *values], values, strict=False):
            off = np.abs(layer.run(comes).astype(int) - due)
            assert off.max() <= 1, layer.name
            differ, count = differ + np.count_nonzero(off), count + off.size
    assert differ <= 1e-5 * count


@pytest.mark.parametrize("signed", [False, True])
def test_each_layer_is_onnxruntimes(tmp_path: Path, *, signed: bool) -> None:
    """With its own inputs each layer's values are onnxruntime's, in all but 10 of a million."""
    path = networks.quantised(networks.short(), tmp_path, signed=signed)
    network, warnings = read(path, "net")
    assert not warnings
    check_layers(path, network, networks.pictures(12, network.size, 9), signed=signed)


@pytest.mark.nightly
def test_mobilenet_is_onnxruntimes(forebay: Run, tmp_path: Path) -> None:
    """The same of MobileNet-V1 1.0/224, which the compiler folds for a drive's rate at 150 MHz."""
    net = networks.Net(224)
    net.convolution("conv", FIRST, 2)
    for outputs, stride in PAIRS:
        net.convolution("dw", net.channels, stride)
        net.convolution("pw", outputs, 1)
    net.add("GlobalAveragePool")
    net.add("Flatten")
    weights = net.rng.normal(size=(net.channels, CLASSES)) / np.sqrt(net.channels)
    net.add("Gemm", net.constant(weights.astype(np.float32)))
    path = networks.quantised(net, tmp_path)
    network, warnings = read(path, "net")
    assert not warnings and len(network.layers) == len(mobilenet(224).layers)
    check_layers(path, network, networks.pictures(2, 224, 9), signed=False)
    words = ("--fps", 150e6 / DESIGNS["B"], "--clock", "150MHz", "--into", tmp_path / "net")
    compiled = forebay("dnn", "compile", path, *words, "-o", "json").report
    assert compiled["cycles"] == DESIGNS["B"] and compiled["dsp"] <= 1650


def with_pools(net: networks.Net) -> None:
    """Add maxima with pixels around, and values between bounds."""
    net.convolution("conv", 8, 1)
    net.add("MaxPool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    net.convolution("pw", 12, 1)
    net.add("AveragePool", kernel_shape=[net.size // 2] * 2)
    net.add("Flatten")


def with_arithmetic(net: networks.Net) -> None:
    """Add constants and factors behind a layer with other channels, and bounds of both signs."""
    net.convolution("conv", 6, 2, relu=False)
    net.add("Mul", net.constant(np.float32(1.7)))
    shifts = net.rng.normal(size=(6, 1, 1)).astype(np.float32)
    net.add("Add", net.constant(shifts))
    net.add("Clip", net.constant(np.float32(-0.8)), net.constant(np.float32(0.9)))
    net.add("ReduceMean", axes=[2, 3], keepdims=0)
    weights = net.rng.normal(size=(6, 7)).astype(np.float32)
    net.add("Gemm", net.constant(weights), net.constant(np.zeros(7, np.float32)))


def with_products(net: networks.Net) -> None:
    """Add a matrix over a whole image, in the order of its values, and what is added to that."""
    net.convolution("conv", 3, 2, kernel=5)
    net.add("Flatten")
    inputs = 3 * (net.size // 2) ** 2
    weights = net.rng.normal(size=(inputs, 9)) / np.sqrt(inputs)
    net.add("MatMul", net.constant(weights.astype(np.float32)))
    net.add("Add", net.constant(net.rng.normal(size=9).astype(np.float32)))
    net.channels = 9


def with_normalisation(net: networks.Net) -> None:
    """Add a normalisation behind a maximum, where no product takes it in."""
    net.convolution("conv", 5, 1)
    net.add("MaxPool", kernel_shape=[2, 2], strides=[2, 2])
    names = [net.constant(net.rng.uniform(0.2, 2, 5).astype(np.float32)) for _ in range(4)]
    net.add("BatchNormalization", *names)
    net.add("Relu")
    net.add("GlobalAveragePool")
    net.add("Flatten")


KINDS = [with_pools, with_arithmetic, with_products, with_normalisation]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("signed", [False, True])
def test_other_layers(tmp_path: Path, kind: Callable, *, signed: bool) -> None:
    """What MobileNet does not have: the classes' values are onnxruntime's, or next to them."""
    net = networks.Net(16, seed=4)
    kind(net)
    path = networks.quantised(net, tmp_path, signed=signed)
    network, _ = read(path, "net")
    model = onnx.load(path)
    last = next(node for node in reversed(model.graph.node) if node.op_type == "QuantizeLinear")
    constants = {one.name: onnx.numpy_helper.to_array(one) for one in model.graph.initializer}
    scale, zero = (constants[name] for name in last.input[1:3])
    theirs = networks.session(path.read_bytes())
    off = []
    for image in networks.pictures(40, 16, 21):
        found = network.values(image)[-1].ravel().astype(int) - (128 if signed else 0)
        due = theirs.run(None, networks.given(image))[0].ravel() / scale + zero
        off.append(np.abs(found - np.rint(due)))
    assert np.max(off) <= 2 and np.mean(off) < 0.02
    assert len(np.unique(found)) > 1


def test_classes_are_onnxruntimes(tmp_path: Path) -> None:
    """Of whole networks at most one class in 1,000 differs; no class has most of the images."""
    path = networks.quantised(networks.short(), tmp_path)
    network, _ = read(path, "net")
    theirs = networks.session(path.read_bytes())
    images = networks.pictures(COUNT, network.size, 11)
    due = [int(theirs.run(None, networks.given(image))[0].argmax()) for image in images]
    found = [network.judge(image)[0] for image in images]
    assert sum(a != b for a, b in zip(found, due, strict=True)) <= COUNT / 1000
    assert np.bincount(due).max() <= COUNT / 5


@pytest.mark.parametrize("form", ["qcdq", "qonnx"])
def test_files_of_brevitas(form: str) -> None:
    """What Brevitas exports is read, and the classes' values are its own, all of them."""
    folder = ROOT / "tests/cli/brevitas"
    network, warnings = read(folder / f"{form}.onnx", "net")
    given = np.load(folder / "values.npz")
    found = np.array([network.values(image)[-1].ravel() for image in given["images"]], int) - 128
    scale = np.min(np.diff(np.unique(given["values"])))
    assert not warnings and np.array_equal(found, np.rint(given["values"] / scale))
    assert len(np.unique(found)) > 20


def chosen(network: Network, count: int) -> list[np.ndarray]:
    """Draw pictures of some size whose classes are not all the same."""
    found: dict[int, np.ndarray] = {}
    for seed in range(400):
        size = 64 + 7 * (seed % 20)
        image = networks.pictures(1, size, 1000 + seed)[0][: size - seed % 9]
        found.setdefault(network.judge(shrink(image, network.size))[0], image)
        if len(found) == count:
            return list(found.values())
    message = f"{len(found)} classes"
    raise AssertionError(message)


@pytest.fixture(scope="module")
def cameras(forebay: Run, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Network]:
    """Compile a network; return the file of a pipeline with it for two cameras, and its twin."""
    here = tmp_path_factory.mktemp("cameras")
    path = networks.quantised(networks.short(), here)
    folder = here / "net"
    words = ("--fps", "20000", "--into", folder, "-o", "json")
    compiled = forebay("dnn", "compile", path, *words).report
    assert compiled["cycles"] <= compiled["target_cycles"] == 10_000
    pipeline = write(
        here,
        f"[source]\nstreams = 2\n[[pe]]\nname = 'net'\npath = '{folder}'\nsenders = 2\n"
        "[[ssd]]\nimage = 'disk.img'\nsize = '64MiB'\n",
    )
    return pipeline, read(path, "net")[0]


def test_classes_over_the_wire(forebay: Run, tmp_path: Path, cameras: tuple[Path, Network]) -> None:
    """Two cameras in turns: each image is recorded as it came, and its row has its class.

    One sends an object that is no image, and one of which a frame is lost: they have no class.
    """
    pipeline, network = cameras
    disk = pipeline.with_name("disk.img")
    images = chosen(network, 5)
    turns: dict[int, list] = {0: [], 1: []}
    sent = {}
    for number, image in enumerate(images):
        stream = number % 2
        sent[stream, number] = image
        turns[stream] += capture(ppm(image), stream, number, len(turns[stream]))
    noise = np.random.default_rng(3).bytes(30_000)
    turns[0] += capture(noise, 0, 7, len(turns[0]))
    cut = capture(ppm(images[0]), 1, 8, len(turns[1]))
    turns[1] += cut[:-2] + cut[-1:]
    frames = []
    while any(turns.values()):
        frames += [turn.pop(0) for turn in turns.values() if turn]
    for number, frame in enumerate(frames):
        frame.time = number * 1e-6
    wrpcap(str(tmp_path / "x.pcap"), frames)
    done = forebay("record", pipeline, "--pcap", tmp_path / "x.pcap", "--overwrite", "-o", "json")
    assert done.report["elements"][0]["status"] == {"skipped": 0, "misfits": 1}
    listed = forebay("store", "ls", disk, "-o", "json").report["objects"]
    rows = {(row["stream"], row["object"]): row for row in listed}
    for place, image in sent.items():
        number, score = network.judge(shrink(image, network.size))
        assert (rows[place]["class"], rows[place]["score"]) == (number, pytest.approx(float(score)))
    forebay("store", "extract", disk, tmp_path / "parts")
    parts: dict[tuple[int, int], dict[int, bytes]] = {}
    for file in (tmp_path / "parts").rglob("*.bin"):
        beside = json.loads(file.with_suffix(".json").read_text())
        of_object = parts.setdefault((beside["stream"], beside["object"]), {})
        of_object[beside.get("offset", 0)] = file.read_bytes()
    for place, image in sent.items():
        assert b"".join(part for _, part in sorted(parts[place].items())) == ppm(image), place
    assert rows[0, 7].get("class") is None
    assert all(row.get("class") is None for row in listed if row["object"] == 8)
    ran = tmp_path / "camera.ppm"
    ran.write_bytes(ppm(images[0]))
    net = pipeline.with_name("net.onnx")
    judged = forebay("dnn", "run", net, ran, "-o", "json").report["images"]
    assert judged[0]["class"] == network.judge(shrink(images[0], network.size))[0]


def test_pictures_of_folders(forebay: Run, tmp_path: Path, cameras: tuple[Path, Network]) -> None:
    """Files are sent as objects, and the report shows each with its class, as OpenCV scales it."""
    pipeline, network = cameras
    disk = pipeline.with_name("disk.img")
    images = chosen(network, 5)
    folders = [tmp_path / "left", tmp_path / "right"]
    for number, image in enumerate(images):
        folders[number % 2].mkdir(exist_ok=True)
        (folders[number % 2] / f"{number}.ppm").write_bytes(ppm(image))
    (folders[1] / "0.txt").write_bytes(b"no image")
    (folders[1] / "empty").write_bytes(b"")
    sent = [word for folder in folders for word in ("--files", folder)]
    done = forebay("record", pipeline, *sent, "--overwrite", "-o", "json").report
    assert done["files"]["found"] == done["files"]["begun"] == done["whole_objects"] == 6
    assert [left["empty"] for left in done["files"]["left_out"]] == [0, 1]
    names = tmp_path / "names.txt"
    names.write_text("".join(f"name of {number}\n" for number in range(network.best.classes)))
    page = tmp_path / "page.html"
    forebay("store", "report", disk, "--html", page, "--classes", names)
    tree = ElementTree.parse(page).getroot()
    tag = "{http://www.w3.org/1999/xhtml}"
    headings = {heading.text for heading in tree.iter(f"{tag}h3")}
    due = [network.judge(shrink(image, network.size)) for image in images]
    assert headings == {f"{number} name of {number}" for number, _ in due}
    shown = {}
    for picture in tree.iter(f"{tag}img"):
        kind, data = picture.get("src").split(",", 1)
        assert kind == "data:image/png;base64"
        pixels = np.frombuffer(base64.b64decode(data), np.uint8)
        shown[picture.get("alt")] = cv2.imdecode(pixels, cv2.IMREAD_COLOR_RGB)
    assert len(shown) == len(images)
    for number, (image, (_, score)) in enumerate(zip(images, due, strict=True)):
        # The text file is the first one of the second folder.
        stream, place = number % 2, number // 2 + number % 2
        who = f"stream {stream}, object {place}" if stream else f"object {place}"
        found = shown[f"{who}, {score:.3f}"]
        assert max(found.shape[:2]) == min(112, max(image.shape[:2]))
        theirs = cv2.resize(image, found.shape[1::-1], interpolation=cv2.INTER_AREA)
        assert np.abs(found.astype(int) - theirs).mean() < 4


def test_a_file_that_cannot_be_read(
    forebay: Run, tmp_path: Path, cameras: tuple[Path, Network]
) -> None:
    """The others are recorded, and it is told."""
    (tmp_path / "a").write_bytes(bytes(5000))
    (tmp_path / "b").symlink_to("nowhere")
    words = ("--files", tmp_path, "--overwrite", "-o", "json")
    done = forebay("record", cameras[0], *words, code=BAD_RESULT).report
    assert done["files"]["begun"] == done["whole_objects"] == 1
    (left,) = done["files"]["left_out"]
    assert left["failed"] == 1 and "/b: " in left["problems"][0]


def test_the_rtl_is_compared_with_its_twin(
    forebay: Run, tmp_path: Path, cameras: tuple[Path, Network]
) -> None:
    """Of two senders in turns all images are judged, each as the twin does.

    But for one: of that a twin that was changed says otherwise.
    """
    net = cameras[0].with_name("net.onnx")
    home = tmp_path / "home"
    home.mkdir()
    for path in ROOT.iterdir():
        if path.name != "python":
            (home / path.name).symlink_to(path)
    shutil.copytree(ROOT / "python", home / "python")
    file = home / "python/forebay/dnn/trial.py"
    text = file.read_text()
    file.write_text(text.replace("due.append((label,", "due.append((label + (not due),"))
    assert file.read_text() != text
    words = ("--fps", "20000", "--count", "30", "--senders", "2", "-o", "json")
    there = {"FOREBAY_HOME": str(home)}
    found = forebay("dnn", "check", net, *words, code=BAD_RESULT, env=there).report
    assert found["schema"] == "forebay.dnn-check/1" and found["differ"] == 1
    assert found["objects"] == found["judged"] == 30 and found["of_one_class"] <= 6
    assert (found["late"], found["stray"], found["wrong"]) == (0, 0, [])
    assert found["network"]["cycles"] <= found["cycles_per_picture"]
    # Once from the card into the host's memory, once from there to the drive; and headers.
    assert 2 < found["pcie_bytes_per_byte"] < 4


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--size", "16x16"), "16x16: the network sees"),
        (("--size", "16000x16000", "--count", "9"), "at most 3 GiB"),
        (("--count", "1", "--senders", "2"), "--senders is 2"),
        (("--count", "0"), "--count"),
        (("--senders", "5"), "--senders"),
        (("--clock", "fast"), "'fast': a clock"),
        (("--fps", "0"), "'0': images a second"),
    ],
)
def test_checks_that_cannot_be(
    forebay: Run, cameras: tuple[Path, Network], words: tuple[str, ...], complaint: str
) -> None:
    """Bad options of `dnn check` say what is wrong, and a file that is none does."""
    net = cameras[0].with_name("net.onnx")
    assert complaint in forebay("dnn", "check", net, *words, code=BAD_INPUT).complaint
    nothing = forebay("dnn", "check", net.with_name("none.onnx"), code=BAD_INPUT)
    assert "none.onnx" in nothing.complaint
    assert (
        "nonsense" in forebay("bench", "classify", "--only", "nonsense", code=BAD_INPUT).complaint
    )


def test_what_a_device_has(forebay: Run, tmp_path: Path, cameras: tuple[Path, Network]) -> None:
    """A network that takes more than a device has is refused, with a speed at which it fits."""
    net = cameras[0].with_name("net.onnx")
    words = ("--fps", 100_000, "--into", tmp_path / "net", "--own-clock", "--device")
    found = forebay("dnn", "compile", net, *words, "u280", "-o", "json").report
    assert (found["device"], found["own_clock"]) == ("u280", True)
    assert 'clock = "own"' in (tmp_path / "net/fb_pe_net.toml").read_text()
    assert found["ramb36_of_links"] == 0 < found["dsp"]
    unknown = forebay("dnn", "compile", net, *words, "u1", code=BAD_INPUT)
    assert "invalid choice: 'u1'" in unknown.complaint and "kv260" in unknown.complaint
    with pytest.raises(InfeasibleError, match=r"DSP 1650: kv260 \(XCK26\) has 1248; slower"):
        compiled(mobilenet(224), DESIGNS["B"], tmp_path, device="kv260")
    with pytest.raises(InfeasibleError, match=r"DSP \d+: zcu102 .* in [\d,]+ cycles it fits"):
        compiled(mobilenet(160, 0.75), 26_300, tmp_path, device="zcu102")
    # Its weights alone are more than the block RAM there is.
    with pytest.raises(InfeasibleError, match=r"DSP \d+: zcu104 .* slower it does not fit"):
        compiled(mobilenet(160, 0.5), 26_300, tmp_path, device="zcu104")


def test_block_ram_has_room_for_its_bits() -> None:
    """A memory never takes less than its bits, nor more than columns of 9 bits alone."""
    assert [ramb36(*shape) for shape in ((1, 16_384), (1, 32_768), (36, 512), (72, 512))] == [
        0.5,
        1,
        0.5,
        1,
    ]
    assert ramb36(64, 64) == 0  # LUT
    draws = random.Random(1)
    for _ in range(500):
        width, depth = draws.randint(1, 600), draws.randint(65, 300_000)
        assert width * depth <= ramb36(width, depth) * 36 * 1024
        assert ramb36(width, depth) <= math.ceil(width / 9) * math.ceil(depth / 2048) / 2


@pytest.mark.nightly
def test_the_case_study_in_software(tmp_path: Path) -> None:
    """The network in PyTorch has the twin's values, layer by layer; each stage has a rate."""
    pytest.importorskip("torch", reason="PyTorch is not installed: it has 3 GB")
    line = [sys.executable, ROOT / "scripts/software_classify.py", "--images", "32"]
    subprocess.run([*line, "--json", tmp_path / "x.json"], check=True)
    found = json.loads((tmp_path / "x.json").read_text())
    assert found["values_alike"] >= 0.999 and found["values_off"] <= 1
    assert all(one["frames_per_second"] > 0 for one in found["rates"].values())


@pytest.fixture(scope="module")
def packed(forebay: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pack a file of a MiB into a recording."""
    here = tmp_path_factory.mktemp("packed")
    (here / "folder").mkdir()
    (here / "folder" / "file").write_bytes(bytes(1 << 20))
    forebay("store", "pack", here / "folder", here / "x.img")
    return here / "x.img"


def test_a_reader_who_has_enough(packed: Path) -> None:
    """A tar file goes into a pipe that is closed: no failure."""
    command = f"{PROGRAM} store tar {packed} - | head -c 100 >/dev/null; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_names_of_the_classes_of_ours() -> None:
    """The file that `make demo-classify` names has the names of those that are drawn."""
    names = (ROOT / "rtl/pe/shapes/classes.txt").read_text().split()
    assert names == list(draw.CLASSES)


NAMES = {"no text": (b"\xff\xfe\0", "no text"), "too long": (b"x" * (8 << 20) + b"y", "8 MiB")}


@pytest.mark.parametrize("case", NAMES)
def test_names_that_are_refused(forebay: Run, tmp_path: Path, packed: Path, case: str) -> None:
    """With what is wanted."""
    (tmp_path / "names").write_bytes(NAMES[case][0])
    words = ("--html", tmp_path / "x.html", "--classes", tmp_path / "names")
    refused = forebay("store", "report", packed, *words, code=BAD_INPUT)
    assert NAMES[case][1] in refused.complaint and "class in each line" in refused.complaint


REFUSED_FILES = {
    "nothing there": (["nowhere"], "No such file", FILE_FAILED),
    "nothing to send": (["empty"], "no file to send", BAD_INPUT),
    "more senders than streams": (["a", "b", "c"], "the pipeline takes 2 senders", BAD_INPUT),
}


@pytest.mark.parametrize("case", REFUSED_FILES)
def test_files_that_cannot_be_sent(
    forebay: Run, tmp_path: Path, cameras: tuple[Path, Network], case: str
) -> None:
    """Each is refused in words."""
    for name in ("a", "b", "c"):
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "empty").mkdir()
    paths, said, code = REFUSED_FILES[case]
    words = [word for path in paths for word in ("--files", tmp_path / path)]
    refused = forebay("record", cameras[0], *words, "--overwrite", code=code)
    assert said in refused.complaint


@pytest.mark.nightly
def test_drawings_of_nine_megabytes(forebay: Run, tmp_path: Path) -> None:
    """The pipeline of the project: pictures of two cameras in turns, recorded with classes."""
    forebay("dnn", "draw", tmp_path / "drawn", "--count", 10)
    network, _ = read(ROOT / "rtl/pe/shapes/shapes.onnx", "shapes")
    pictures = sorted((tmp_path / "drawn").glob("*.ppm"))
    folders = [tmp_path / "left", tmp_path / "right"]
    for number, picture in enumerate(pictures):
        folders[number % 2].mkdir(exist_ok=True)
        (folders[number % 2] / picture.name).symlink_to(picture)
    keys = (ROOT / "pipelines/classify.toml").read_text().replace("../rtl", f"{ROOT}/rtl")
    keys = keys.replace("../build", f"{tmp_path}").replace(
        "[[ssd]]", "[source]\nstreams = 2\n[[ssd]]"
    )
    pipeline = write(tmp_path, keys)
    sent = [word for folder in folders for word in ("--files", folder)]
    done = forebay("record", pipeline, *sent, "-o", "json")
    assert done.report["elements"][0]["status"] == {"skipped": 0, "misfits": 0}
    listed = forebay("store", "ls", tmp_path / "classes.img", "-o", "json").report["objects"]
    rows = {(row["stream"], row["object"]): row for row in listed}
    for number, path in enumerate(pictures):
        picture = path.read_bytes()
        pixels = np.frombuffer(picture, np.uint8, offset=len(picture) - 2000 * 1495 * 3)
        image = pixels.reshape(1495, 2000, 3)
        due, score = network.judge(shrink(image, network.size))
        row = rows[number % 2, number // 2]
        assert (row["class"], row["score"]) == (due, pytest.approx(float(score)))
        assert row["length"] == len(picture)
    assert len({row["class"] for row in rows.values()}) >= 8


def attribute(model: onnx.ModelProto, operator: str, name: str, value: object) -> None:
    """Give the first node of an operator an attribute."""
    node = next(node for node in model.graph.node if node.op_type == operator)
    kept = [one for one in node.attribute if one.name != name]
    del node.attribute[:]
    node.attribute.extend([*kept, onnx.helper.make_attribute(name, value)])


def initialiser(model: onnx.ModelProto, name: str, change: Callable) -> None:
    """Change an initialiser's values."""
    (found,) = (one for one in model.graph.initializer if one.name == name)
    values = onnx.numpy_helper.to_array(found)
    found.CopyFrom(onnx.numpy_helper.from_array(change(values).astype(values.dtype), name))


def branch(model: onnx.ModelProto) -> None:
    """Add what a layer gives to what the next but one does."""
    real = [node.output[0] for node in model.graph.node if node.op_type == "DequantizeLinear"]
    joined = onnx.helper.make_node("Add", [real[-1], real[-2]], ["joined"])
    model.graph.node.append(joined)


def node_of(model: onnx.ModelProto, operator: str) -> onnx.NodeProto:
    """Return the first node of an operator."""
    return next(node for node in model.graph.node if node.op_type == operator)


def external(model: onnx.ModelProto) -> None:
    """Have an initialiser's data in another file."""
    model.graph.initializer[0].data_location = onnx.TensorProto.EXTERNAL


def shaped(*shape: object) -> Callable[[onnx.ModelProto], None]:
    """Return what gives the input another shape."""

    def edit(model: onnx.ModelProto) -> None:
        info = onnx.helper.make_tensor_value_info("image", onnx.TensorProto.FLOAT, shape)
        model.graph.input[0].CopyFrom(info)

    return edit


REFUSED: dict[str, tuple[Callable[[onnx.ModelProto], object], str]] = {
    "a scale of 0": (
        lambda model: initialiser(model, "image_scale", lambda _: np.zeros(())),
        "scale 0.0; scales are positive",
    ),
    "a scale that is none": (
        lambda model: initialiser(model, "image_scale", lambda _: np.full((), np.nan)),
        "scale nan",
    ),
    "zero points of weights": (
        lambda model: initialiser(model, "constant0_zero_point", lambda old: old + 3),
        "zero point 3 of weights; quantise weights symmetrically",
    ),
    "weights that are zero": (
        lambda model: initialiser(model, "constant0_quantized", lambda old: old * 0),
        "all weights are zero",
    ),
    "a missing initialiser": (
        lambda model: model.graph.initializer.remove(
            next(one for one in model.graph.initializer if one.name == "relu1_out_scale")
        ),
        "scale 'relu1_out_scale' is no initialiser",
    ),
    "data in another file": (external, "its data is in another file"),
    "an old opset": (lambda model: setattr(model.opset_import[0], "version", 9), "opset 9; opsets"),
    "an opset of tomorrow": (
        lambda model: setattr(model.opset_import[0], "version", 99),
        "opset 99; opsets 13 to",
    ),
    "an unknown operator": (
        lambda model: setattr(node_of(model, "GlobalAveragePool"), "op_type", "Mystery"),
        "Mystery globalaveragepool10: this operator is not supported",
    ),
    "a name of ours for an operator": (
        lambda model: setattr(node_of(model, "GlobalAveragePool"), "op_type", "average"),
        "average globalaveragepool10: this operator is not supported",
    ),
    "an unknown domain": (
        lambda model: setattr(node_of(model, "GlobalAveragePool"), "domain", "a.b"),
        "domain a.b",
    ),
    "a branch": (branch, "nodes use it"),
    "dilation": (
        lambda model: attribute(model, "Conv", "dilations", [2, 2]),
        "dilations [2, 2]; 1 is possible",
    ),
    "groups": (lambda model: attribute(model, "Conv", "group", 3), "group 3; 1, or a group"),
    "channels in the last dimension": (shaped(1, 32, 32, 3), "channels are the last dimension"),
    "values of another type": (
        lambda model: attribute(model, "QuantizeLinear", "block_size", 4),
        "a scale a block",
    ),
    "padding beyond the kernel": (
        lambda model: attribute(model, "Conv", "pads", [3, 3, 3, 3]),
        "pads [3, 3, 3, 3]",
    ),
    "a batch": (shaped(8, 3, 32, 32), "a batch of 8; export it with a batch of 1"),
    "a shape that is open": (shaped(1, 3, "h", "w"), "shape [1, 3, 'h', 'w']; fix it"),
    "an image of a pixel": (shaped(1, 3, 1, 1), "1 x 1 pixels of 3 channels"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused(tmp_path: Path, what: str) -> None:
    """The node, the value and what to do are told."""
    edit, told = REFUSED[what]
    path = networks.edited(networks.quantised(networks.short(), tmp_path), edit)
    with pytest.raises(ModelError) as found:
        read(path, "net")
    assert told in str(found.value)


def test_files_that_are_no_networks(forebay: Run, tmp_path: Path) -> None:
    """Floats, noise, a file that is cut off or missing, bad options: told without a trace."""
    good = networks.quantised(networks.short(), tmp_path)
    plain = forebay("dnn", "compile", tmp_path / "net_float.onnx", code=BAD_INPUT).complaint
    assert "pixels is not quantised; quantise it first" in plain
    for name, content in (("noise", bytes(range(256)) * 9), ("cut", good.read_bytes()[:-999])):
        path = tmp_path / f"{name}.onnx"
        path.write_bytes(content)
        answer = forebay("dnn", "compile", path, code=BAD_INPUT)
        assert "Traceback" not in answer.err and str(path) in answer.complaint.replace(" ", "")
    missing = forebay("dnn", "compile", tmp_path / "none.onnx", code=BAD_INPUT).complaint
    assert "No such file" in missing
    slow = forebay("dnn", "compile", good, "--fps", "9e6", code=IMPOSSIBLE).complaint
    assert "layer table: 22 cycles an image, it takes 1024 at least" in slow
    for words, told in (
        (("--name", "Net!"), "name 'Net!'"),
        (("--name", "link"), "rtl/dnn/fb_dnn_link.sv is called so"),
        (("--divide", "nan"), "'NaN': a number from"),
        (("--clock", "200"), "'200': a clock from 1MHz to 2GHz"),
    ):
        assert told in forebay("dnn", "compile", good, *words, code=BAD_INPUT).complaint
    (tmp_path / "x.ppm").write_bytes(b"P6\n4 4\n255\nshort")
    refused = forebay("dnn", "run", good, tmp_path / "x.ppm", code=BAD_INPUT).complaint
    assert "no binary PGM or PPM file" in refused


def test_damaged_files(tmp_path: Path) -> None:
    """Bytes inverted, fields left out, numbers changed: read or refused, never anything else."""
    good = networks.quantised(networks.short(), tmp_path)
    rng, content = np.random.default_rng(5), good.read_bytes()
    # Names and attributes, in front of and behind the weights, are where damage is read.
    structure = [at for at in range(len(content)) if not 2_000 < at < len(content) - 9_000]
    refused = 0
    for number in range(100):
        damaged = bytearray(content)
        for at in rng.choice(structure, rng.integers(1, 4)):
            damaged[at] = rng.integers(256) if number % 2 else damaged[at] ^ 1 << rng.integers(8)
        (tmp_path / "damaged.onnx").write_bytes(damaged)
        refused += is_refused(tmp_path / "damaged.onnx")
    for node in range(len(onnx.load(good).graph.node)):
        for what in ("input", "attribute", "output"):
            model = onnx.load(good)
            if field := getattr(model.graph.node[node], what):
                del field[rng.integers(len(field))]
            onnx.save(model, tmp_path / "damaged.onnx")
            refused += is_refused(tmp_path / "damaged.onnx")
    assert refused > 90


def is_refused(path: Path) -> bool:
    """Return whether a file is refused."""
    try:
        read(path, "net")
    except ModelError:
        return True
    return False


def test_networks_that_no_element_can_have(forebay: Run, tmp_path: Path) -> None:
    """Images that the scaler does not make."""
    path = networks.quantised(networks.short(size=34), tmp_path)
    answer = forebay("dnn", "compile", path, code=BAD_INPUT)
    assert "images of 34 x 34 pixels" in answer.complaint


def test_one_scale_for_all_weights_is_told(tmp_path: Path) -> None:
    """It can be compiled, and costs accuracy."""
    path = networks.quantised(networks.short(), tmp_path, per_channel=False)
    _, warnings = read(path, "net")
    assert len(warnings) == 6 and "one scale for all weights costs accuracy" in warnings[0]
