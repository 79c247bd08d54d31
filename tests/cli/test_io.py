# SPDX-License-Identifier: Apache-2.0
"""`forebay io`: files to the drive and back."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from driving import BAD_INPUT, PROGRAM, ROOT, Run

IDEAL = ("--profile", "ideal")


@pytest.mark.parametrize("size", [1, 63, 64, 65, 511, 512, 4096, 4097, 1 << 20, (1 << 21) + 13])
def test_any_length_comes_back(forebay: Run, data: Callable[[int], Path], size: int) -> None:
    """Bytes come back as they were, whatever their number."""
    source = data(size)
    copy = source.with_suffix(".copy")
    answer = forebay("io", *IDEAL, "--write", source, "--at", "64KiB", "--read", "--save", copy)
    assert copy.read_bytes() == source.read_bytes()
    assert "none differs" in answer.out and "simulated" in answer.out


def test_a_backing_file_keeps_what_was_written(
    forebay: Run, data: Callable[[int], Path], tmp_path: Path
) -> None:
    """A later run reads from the image what an earlier one wrote; the image is sparse."""
    source, image, copy = data(300_000), tmp_path / "drive.img", tmp_path / "copy"
    forebay("io", *IDEAL, "--write", source, "--at", "1MiB", "--backing", image)
    again = ("--read", "--at", "1MiB", "--length", 300_000, "--backing", image, "--save", copy)
    forebay("io", *IDEAL, *again)
    assert copy.read_bytes() == source.read_bytes()
    assert image.read_bytes()[: 1 << 20].count(0) == 1 << 20 if image.stat().st_size < 1e9 else True
    assert image.stat().st_blocks * 512 < 8 << 20


def test_the_tail_of_a_block_is_zeros(
    forebay: Run, data: Callable[[int], Path], tmp_path: Path
) -> None:
    """What lies behind a file up to the end of its block reads as zeros."""
    image, copy = tmp_path / "drive.img", tmp_path / "copy"
    forebay("io", *IDEAL, "--write", data(8192), "--backing", image)
    forebay("io", *IDEAL, "--write", data(700), "--backing", image)
    forebay("io", *IDEAL, "--read", "--length", 8192, "--backing", image, "--save", copy)
    expected = data(700).read_bytes() + bytes(1024 - 700) + data(8192).read_bytes()[1024:]
    assert copy.read_bytes() == expected


@pytest.mark.parametrize(
    "fields",
    [
        {"block_shift": 12},
        {"mdts": 1},
        {"doorbell_stride": 2},
        {"max_queue_entries": 2},
        {"mdts": 1, "block_shift": 12, "doorbell_stride": 4, "max_queue_entries": 4},
    ],
)
def test_unusual_drives(
    forebay: Run, data: Callable[[int], Path], profile: Callable[..., Path], fields: dict[str, int]
) -> None:
    """4 KiB blocks, 8 KiB commands, doorbells at a large stride, queues of two entries."""
    source = data(100_001)
    forebay("io", "--profile", profile(**fields), "--write", source, "--read")


def test_blocks_of_4096(forebay: Run, data: Callable[[int], Path]) -> None:
    """--block changes the drive's format, and with it what is aligned."""
    report = forebay(
        "io", *IDEAL, "--block", 4096, "--write", data(5000), "--at", 4096, "--read", "-o", "json"
    ).report
    assert report["block_bytes"] == 4096
    assert report["differ_bytes"] == 0
    refused = forebay("io", *IDEAL, "--block", 4096, "--write", data(5000), "--at", 512, code=3)
    assert "not a multiple of the logical block" in refused.out


@pytest.mark.parametrize("options", [(), ("--missing", 0), ("--missing", 2)])
def test_parity(forebay: Run, data: Callable[[int], Path], options: tuple[str | int, ...]) -> None:
    """Any drive of three may be missing; a write that is less than a row is refused in words."""
    array = ("io", *IDEAL, "--drives", 3, "--chunk", "4KiB", "--parity", *options)
    report = forebay(
        *(*array, "--write", data(50_000), "--transaction", "16KiB"),
        *("--at", "24KiB", "--read", "-o", "json"),
    ).report
    assert report["differ_bytes"] == 0
    refused = forebay(*array, "--write", data(5000), "--at", 4096, code=2)
    assert "a multiple of a stripe, 8192 bytes" in refused.complaint


def test_drives_apart(forebay: Run, data: Callable[[int], Path]) -> None:
    """A file over the edge between two regions: a page on one drive, the rest on the other."""
    region = 2_000_398_934_016 // 65536 * 65536
    report = forebay(
        *("io", *IDEAL, "--drives", 2, "--linear", "--write", data(204_800)),
        *("--at", region - 4096, "--read", "-o", "json"),
    ).report
    assert report["differ_bytes"] == 0
    # Written and read.
    assert [drive["bytes"] for drive in report["drives"]] == [2 * 4096, 2 * 200_704]


def test_transactions_flush_and_unit_access(forebay: Run, data: Callable[[int], Path]) -> None:
    """A file in parts, each forced to the medium, one flush at the end."""
    report = forebay(
        *("io", *IDEAL, "--write", data(50_000), "--read", "--transaction", "16KiB"),
        *("--fua", "--flush", "-o", "json"),
    ).report
    assert [row["length"] for row in report["transactions"]] == [16384, 16384, 16384, 848] * 2
    assert report["differ_bytes"] == 0
    assert report["write"]["bytes"] == report["read"]["bytes"] == 50_000


def test_a_fence_lets_one_write_be_under_way(forebay: Run, data: Callable[[int], Path]) -> None:
    """Each part waits for the one before."""
    line = ("io", *IDEAL, "--write", data(50_000), "--read", "--transaction", 512, "-o", "json")
    free, fenced = forebay(*line).report, forebay(*line, "--fence").report
    assert free["differ_bytes"] == fenced["differ_bytes"] == 0
    assert fenced["write"]["cycles"] > 1.5 * free["write"]["cycles"]


def test_pauses_change_the_time_and_not_the_data(forebay: Run, data: Callable[[int], Path]) -> None:
    """Ports that pause slow it down; the same seed gives the same cycles."""
    line = ("io", *IDEAL, "--write", data(200_000), "--read", "-o", "json")
    quick = forebay(*line).report
    slow = forebay(*line, "--stall", "0.3:9").report
    again = forebay(*line, "--stall", "0.3:9").report
    other = forebay(*line, "--stall", "0.3:9", "--seed", 2).report
    assert slow["write"]["cycles"] > 1.2 * quick["write"]["cycles"]
    assert slow["differ_bytes"] == other["differ_bytes"] == 0
    assert slow["write"] == again["write"] and slow["read"] == again["read"]
    assert slow["read"]["cycles"] != other["read"]["cycles"]


def test_waves_from_a_cycle(forebay: Run, data: Callable[[int], Path], tmp_path: Path) -> None:
    """Waves come as FST, and fewer cycles of them are a smaller file."""
    whole, part = tmp_path / "whole.fst", tmp_path / "part.fst"
    line = ("io", *IDEAL, "--write", data(65536))
    forebay(*line, "--wave", whole)
    forebay(*line, "--wave", part, "--wave-from", 1500)
    assert 0 < part.stat().st_size < whole.stat().st_size


def test_bytes_pass_the_host_by(forebay: Run, data: Callable[[int], Path]) -> None:
    """The payload crosses the links of card and drive, and not that of the host."""
    report = forebay("io", *IDEAL, "--write", data(1 << 20), "--read", "-o", "json").report
    payload = {(hop["link"], hop["direction"]): hop["payload_bytes"] for hop in report["hops"]}
    assert payload["fpga", "up"] >= 1 << 20
    assert payload["ssd0", "up"] >= 1 << 20
    assert payload.get(("host", "up"), 0) + payload.get(("host", "down"), 0) == 0


def test_every_rate_tells_what_crossed_pcie(forebay: Run, data: Callable[[int], Path]) -> None:
    """Each way has its own links; on the way to the drive a byte crosses PCIe once."""
    line = ("io", "--write", data(1 << 20), "--read", "-o", "json")
    report = forebay(*line).report
    for way, (busy, quiet) in {"write": ("up", "down"), "read": ("down", "up")}.items():
        rate = report[way]
        assert 1 <= rate["pcie_bytes_per_byte"] < 1.02
        hops = {(hop["link"], hop["direction"]): hop for hop in rate["hops"]}
        card, other = hops["fpga", busy], hops["fpga", quiet]
        assert card["payload_bytes"] >= 1 << 20 > other["payload_bytes"]
        assert card["payload_bytes"] < card["wire_bytes"]
        share = card["wire_bytes"] / card["link_bytes_per_second"] / rate["pcie_seconds"]
        assert card["link_share"] == pytest.approx(share) and 0.1 < share < 1
    sums = {(hop["link"], hop["direction"]): hop["wire_bytes"] for hop in report["hops"]}
    parts = [
        hop["wire_bytes"]
        for way in ("write", "read")
        for hop in report[way]["hops"]
        if (hop["link"], hop["direction"]) == ("ssd0", "up")
    ]
    assert sums["ssd0", "up"] == sum(parts)


@pytest.mark.parametrize(
    "options",
    [
        ("dram", "--refresh", "late"),
        ("dram", "--refresh", "random", "--stall", "memory=0.2"),
        ("dram", "--dram", "hbm2-1800"),
        ("host",),
        ("host", "--stall", "memory=0.2"),
    ],
)
def test_each_memory(
    forebay: Run, data: Callable[[int], Path], tmp_path: Path, options: tuple[str, ...]
) -> None:
    """Data come back whole through the memories outside the chip, on a drive that takes time."""
    copy = tmp_path / "copy"
    line = ("io", "--write", data(300_001), "--read", "--save", copy, "--memory", *options)
    assert forebay(*line, "-o", "json").report["differ_bytes"] == 0
    assert copy.read_bytes() == data(300_001).read_bytes()


def test_each_drive_has_its_backing_file(
    forebay: Run, data: Callable[[int], Path], tmp_path: Path
) -> None:
    """What two drives store in two files is read again from these; one alone holds half of it."""
    drives = ("--drives", 2, "--chunk", "4KiB", "--backing", tmp_path / "a.img")
    drives = (*drives, "--backing", tmp_path / "b.img")
    source, copy = data(65536), tmp_path / "copy"
    forebay("io", *IDEAL, *drives, "--write", source)
    forebay("io", *IDEAL, *drives, "--read", "--length", 65536, "--save", copy)
    assert copy.read_bytes() == source.read_bytes()
    with (tmp_path / "b.img").open("rb") as image:
        assert image.read(4096) == source.read_bytes()[4096:8192]


def test_a_pattern_follows_from_the_seed(forebay: Run, tmp_path: Path) -> None:
    """It is no file, and another one with another seed."""

    def pattern(seed: int) -> bytes:
        copy = tmp_path / f"copy-{seed}"
        line = ("--generate", 10_000, "--read", "--seed", seed, "--save", copy)
        assert "none differs" in forebay("io", *IDEAL, *line).out
        return copy.read_bytes()

    first = pattern(1)
    assert len(first) == 10_000 and len(set(first)) == 256
    assert first != pattern(2)
    assert first == pattern(1)


def test_standard_input_is_written(forebay: Run, tmp_path: Path) -> None:
    """`--write -`, as other tools have it."""
    copy = tmp_path / "copy"
    line = [str(PROGRAM), "io", *IDEAL, "--write", "-", "--read", "--save", str(copy)]
    subprocess.run(line, input=b"from a pipe", check=True, capture_output=True, cwd=ROOT)
    assert copy.read_bytes() == b"from a pipe"


def test_run_says_what_it_became(forebay: Run, data: Callable[[int], Path], tmp_path: Path) -> None:
    """The same is done, with one line on standard error that names the new command."""
    image = tmp_path / "drive.img"
    answer = forebay("run", *IDEAL, "--write", data(700), "--medium", image, "-o", "json")
    assert answer.report["schema"] == "forebay.io/1" and image.exists()
    assert answer.err.count("\n") == 1 and f"io --profile ideal --write {data(700)}" in answer.err
    refused = forebay("run", "pipelines/record.toml", "--bus", "vfio", code=BAD_INPUT)
    assert "forebay record pipelines/record.toml" in refused.err and "--bus" in refused.complaint
