# SPDX-License-Identifier: Apache-2.0
"""Tools that we did not write open raw images: each line of docs/how-to/store-tools.md."""

from __future__ import annotations

import json
import re
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest
import recordings
import webdataset
from driving import PROGRAM, ROOT, Run
from scapy.utils import RawPcapReader
from test_packets import make_frames

from forebay.store import Recording, rows_of

PAGE = ROOT / "docs" / "how-to" / "store-tools.md"
COUNT = 150
SAMPLES, STRIDE = 70, 8192
FRAMES = 50


def names_of(recording: Recording) -> list[str]:
    """Names in the tar file, without the trailer."""
    session = recording.superblock.session
    return [
        f"{session}/00000/{number:020}.{kind}"
        for number in range(recording.objects().num_rows)
        for kind in ("json", "bin")
    ]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, forebay: Run) -> Path:
    """Return a folder with run.img, samples.img, packets.img, and the files that are in them."""
    here = tmp_path_factory.mktemp("tools")
    recordings.folder(here / "files", COUNT)
    # What an older recording left lies behind the head, in index and data.
    recordings.folder(here / "old", 4 * COUNT, seed=2)
    recordings.pack(here / "old", here / "run.img")
    forebay("store", "format", here / "run.img", "--force", "-o", "json")
    recordings.pack(here / "files", here / "run.img")
    (here / "parts").mkdir()
    rng = np.random.default_rng(3)
    for number in range(SAMPLES):
        data = rng.integers(0, 65536, STRIDE // 2, np.uint16)
        (here / "parts" / f"{number:05}").write_bytes(data.tobytes())
    image = here / "samples.img"
    forebay(
        *("store", "format", image, "--size", "64MiB", "--mode", "samples"),
        *("--stride", STRIDE, "-o", "json"),
    )
    recordings.pack(here / "parts", image)
    make_frames(here / "in.pcap", FRAMES)
    drive = '[[ssd]]\nsize = "64MiB"\nimage = "packets.img"\n'
    (here / "x.toml").write_text(drive + '[sink]\nlayout = "packets"\nwait = "20us"\n')
    forebay("record", here / "x.toml", "--pcap", here / "in.pcap")
    return here


def wire(place: Path) -> list[bytes]:
    """Return the frames that were recorded: scapy's, filled to the least length."""
    with RawPcapReader(str(place / "in.pcap")) as reader:
        return [bytes(frame).ljust(60, b"\0") for frame, _ in reader]


def is_frames(found: str, place: Path) -> None:
    """The length of each frame."""
    assert [int(line) for line in found.split()] == [len(frame) for frame in wire(place)]


def lines() -> dict[str, str]:
    """Tool and line of each row of the page's table."""
    text = PAGE.read_text()
    rows = re.findall(r"^\| (\w[^|]*?) \| `(.+)` \|", text, re.M)
    return {tool: line.replace("\\|", "|") for tool, line in rows}


def prepared(kind: str) -> str:
    """The page's block that comes before all lines of a kind."""
    found = re.search(rf"^```{kind}\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    assert found
    return found[1]


def payloads(place: Path) -> list[bytes]:
    """Return what was packed."""
    return [path.read_bytes() for path in sorted((place / "files").iterdir())]


def is_tar_list(found: str, place: Path) -> None:
    """The names of a tar file, in order, and not one of the older recording's."""
    with Recording(place / "run.img") as recording:
        session = recording.superblock.session
        assert found.split() == [*names_of(recording), f"{session}/recording.json"]


def is_partitions(found: str, place: Path) -> None:
    """Three partitions where the superblock says."""
    with Recording(place / "run.img") as recording:
        of = recording.superblock
    rows = re.findall(r"start= *(\d+), size= *(\d+),.*name=\"([^\"]*)\"", found)
    regions = {name: (int(start) * 512, int(size) * 512) for start, size, name in rows}
    assert regions["forebay-index"] == (of.index.at, of.index.bytes)
    assert regions["forebay-data"] == (of.data.at, of.data.bytes)
    assert set(regions) == {"forebay-super", "forebay-index", "forebay-data"}


def is_extracted(found: str, place: Path) -> None:
    """One object, by name."""
    assert found == ""
    session = Recording(place / "run.img").superblock.session
    path = place / str(session) / "00000" / f"{7:020}.bin"
    assert path.read_bytes() == payloads(place)[7]


def is_tarfile(found: tarfile.TarFile, place: Path) -> None:
    """Every payload, read by Python."""
    files = [member for member in found.getmembers() if member.name.endswith(".bin")]
    assert [found.extractfile(member).read() for member in files] == payloads(place)
    about = found.extractfile(found.getmembers()[-1]).read()
    assert json.loads(about)["closed"]["index_blocks"] == -(-COUNT // 64)


def is_webdataset(found: webdataset.WebDataset, place: Path) -> None:
    """A sample an object, with payload and JSON."""
    samples = list(found)
    # The trailer is a JSON without a payload.
    assert "bin" not in samples.pop()
    assert [sample["bin"] for sample in samples] == payloads(place)
    numbers = [json.loads(sample["json"])["object"] for sample in samples]
    assert numbers == list(range(COUNT))


def is_samples(found: np.ndarray, place: Path) -> None:
    """Each sample at its stride."""
    assert isinstance(found, np.memmap) and found.shape == (SAMPLES, STRIDE // 2)
    parts = sorted((place / "parts").iterdir())
    assert all(
        np.array_equal(sample, np.frombuffer(path.read_bytes(), np.uint16))
        for sample, path in zip(found, parts, strict=True)
    )


def lengths(place: Path) -> list[int]:
    """Bytes of each object."""
    return [len(data) for data in payloads(place)]


def is_index(found: pa.Table, place: Path) -> None:
    """All blocks, memory mapped: the index records that exist."""
    assert found["length"].to_pylist() == lengths(place)


CHECKS: dict[str, Callable[[Any, Path], None]] = {
    "partitions": is_partitions,
    "GNU tar": is_tar_list,
    "GNU tar, one object": is_extracted,
    "bsdtar": is_tar_list,
    "Python's tarfile": is_tarfile,
    "WebDataset": is_webdataset,
    "numpy": is_samples,
    "tshark": is_frames,
    "scapy": lambda found, place: _equal(found, wire(place)),
    "pyarrow": is_index,
    "polars": lambda found, place: _equal(found["length"].to_list(), lengths(place)),
    "DuckDB": lambda found, place: _equal(found.fetchall(), [(COUNT, sum(lengths(place)))]),
    "forebay, SQL": lambda found, place: _equal(found.split(), ["n", str(COUNT)]),
    "forebay, Python": lambda found, place: _equal(found, payloads(place)),
    "forebay, samples": is_samples,
    "forebay, packets": lambda found, place: _equal(found, wire(place)),
    "forebay, packets to tshark": is_frames,
    "forebay, tar": lambda found, place: _equal(found, names_of(Recording(place / "run.img"))),
}


def _equal(found: object, wanted: object) -> None:
    assert found == wanted


def test_the_page_and_its_checks_have_the_same_tools() -> None:
    """No line of the page goes without a test."""
    assert set(lines()) == set(CHECKS)


@pytest.mark.parametrize("tool", CHECKS)
def test_a_tool_opens_the_raw_image(
    tool: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line of the page, as it stands there, on an image that had another recording before."""
    line = lines()[tool]
    if re.match(r"(sfdisk|head|tail|forebay) ", line):
        line = re.sub(r"^forebay ", f"{PROGRAM} ", line)
        done = subprocess.run(
            ["bash", "-ec", prepared("sh") + line],
            cwd=place,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        CHECKS[tool](done.stdout, place)
        return
    monkeypatch.chdir(place)
    names: dict[str, Any] = {}
    exec(prepared("python"), names)
    CHECKS[tool](eval(line, names), place)


def test_the_index_is_mapped_not_copied(place: Path) -> None:
    """Arrow's buffers are memory of the file; nothing is allocated for them."""
    before = pa.total_allocated_bytes()
    with Recording(place / "run.img") as recording:
        index = recording.index()
    assert pa.total_allocated_bytes() == before
    is_index(index, place)


def test_rows_are_those_of_the_command_line(place: Path, forebay: Run) -> None:
    """Our two readers, in two languages, agree."""
    listed = forebay("store", "ls", place / "run.img", "--rows", "-o", "json").report["extents"]
    with Recording(place / "run.img") as recording:
        ours = list(rows_of(recording.table()))
    assert len(ours) == len(listed) == COUNT
    for mine, theirs in zip(ours, listed, strict=True):
        assert f"{mine['crc32c']:08x}" == theirs["crc32c"]
        assert mine["time"] == theirs["time_ns"]
        for name in ("object", "stream", "offset", "address", "length", "whole", "missing"):
            assert mine[name] == theirs[name]


def test_an_open_recording_shows_nothing_older(tmp_path: Path, forebay: Run) -> None:
    """Without end marks the old recording's blocks and pages still lie behind the head."""
    recordings.folder(tmp_path / "old", 300)
    new = recordings.folder(tmp_path / "new", 70, seed=5)
    image = recordings.pack(tmp_path / "old", tmp_path / "x.img")
    forebay("store", "format", image, "--force", "-o", "json")
    recordings.pack(tmp_path / "new", image, "--leave-open")
    with Recording(image) as recording:
        assert recording.superblock.blocks is None
        assert [recording.read(row) for row in rows_of(recording.table())] == new
        with tarfile.open(fileobj=recording.tar()) as archive:
            assert archive.getnames() == names_of(recording)
    found = forebay("store", "sql", image, "select count(*) as n from extents", "-o", "json")
    assert found.report == [{"n": 70}]
    # Theirs are there: what hides them is the session.
    uuids = re.findall(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", image.read_bytes())
    assert len(set(uuids)) == 2


def test_a_ring_shows_what_is_not_covered(tmp_path: Path, forebay: Run) -> None:
    """Of a ring that was gone round, what is not covered is readable, the rest is not shown."""
    packed = recordings.folder(tmp_path / "files", 600, 60000)
    image = tmp_path / "ring.img"
    forebay("store", "format", image, "--size", "8MiB", "--ring", "-o", "json")
    recordings.pack(tmp_path / "files", image)
    with Recording(image) as recording:
        rows = list(rows_of(recording.objects()))
        assert 0 < len(rows) < 600 and rows[-1]["object"] == 599
        assert [recording.read(row) for row in rows] == [packed[row["object"]] for row in rows]
        with tarfile.open(fileobj=recording.tar()) as archive:
            bins = [one for one in archive.getmembers() if one.name.endswith(".bin")]
            found = [archive.extractfile(one).read() for one in bins]
        assert found == [packed[row["object"]] for row in rows]
    listed = forebay("store", "ls", image, "--rows", "-o", "json").report["extents"]
    assert [row["object"] for row in listed] == [row["object"] for row in rows]


def exported(folder: Path) -> pa.Table:
    """All rows of an export, by object."""
    return pyarrow.dataset.dataset(folder, partitioning="hive").to_table().sort_by("object")


def test_parquet_with_payloads_stands_alone(place: Path, tmp_path: Path, forebay: Run) -> None:
    """DuckDB, polars and Arrow read the same bytes; folders are streams and hours."""
    image, out = place / "run.img", tmp_path / "out"
    report = forebay(
        *("store", "export", image, out, "--to", "parquet", "--payload", "--by", "hour"),
        *("-o", "json"),
    ).report
    assert report["extents"] == COUNT and report["left_out"] == 0
    assert exported(out)["payload"].to_pylist() == payloads(place)
    files = f"{out}/**/*.parquet"
    found = duckdb.sql(f"select payload from read_parquet('{files}') order by object").fetchall()
    assert [row[0] for row in found] == payloads(place)
    lazy = polars.scan_parquet(files).sort("object").select("payload").collect()
    assert lazy["payload"].to_list() == payloads(place)
    path = next(out.rglob("*.parquet")).relative_to(out)
    assert re.fullmatch(r"stream=0/date=\d{4}-\d\d-\d\d/hour=\d\d/part-\d{5}\.parquet", str(path))
    column = pyarrow.parquet.ParquetFile(out / path).metadata.row_group(0).column(0)
    assert column.compression == "ZSTD"
    again = forebay("store", "export", image, out, "--to", "parquet", code=2)
    assert "is not empty" in again.complaint


def test_shards_open_as_webdataset(place: Path, tmp_path: Path, forebay: Run) -> None:
    """No shard is longer than wanted, and together they have everything, in order."""
    out, most = tmp_path / "shards", 256 << 10
    forebay(
        *("store", "export", place / "run.img", out, "--to", "webdataset"),
        *("--shard-size", most),
    )
    shards = sorted(out.iterdir())
    assert len(shards) > 2 and all(path.stat().st_size <= most for path in shards)
    samples = list(webdataset.WebDataset([str(path) for path in shards], shardshuffle=False))
    assert [sample["bin"] for sample in samples] == payloads(place)
    assert json.loads(samples[9]["json"])["length"] == len(payloads(place)[9])
    subprocess.run(["tar", "tf", shards[0]], check=True, stdout=subprocess.DEVNULL)


def test_references_are_followed_by_dask(place: Path, tmp_path: Path, forebay: Run) -> None:
    """A cluster of processes reads payloads from the raw image, from nothing but Parquet rows."""
    from dask.distributed import Client, LocalCluster

    from forebay.store.examples import dask_rows, work

    out = tmp_path / "rows"
    forebay("store", "export", place / "run.img", out, "--to", "parquet")
    rows = exported(out)
    assert "payload" not in rows.column_names
    wanted = pa.Table.from_pylist(
        [{"object": n} | work.look_at(data) for n, data in enumerate(payloads(place))], work.RESULT
    )
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        assert dask_rows.run(out, client).sort_by("object") == wanted
    # What Ray and Spark call, as they call it.
    assert work.on_table(rows) == wanted
    batches = list(work.on_batches(iter(rows.to_batches(40))))
    assert pa.Table.from_batches(batches).cast(work.RESULT) == wanted
