# SPDX-License-Identifier: Apache-2.0
"""`forebay doctor` in a guest: it compares bytes, and explains what is missing."""

from __future__ import annotations

import json
import random
from pathlib import Path

from booting import Guest, Serve
from driving import GOOD


def test_drive_and_card_compare_bytes(guest: Guest, serve: Serve, tmp_path: Path) -> None:
    """QEMU's drive and the streamer's RTL reach each other; what is no memory is recognised.

    Nothing is written to the drive, and both devices are given back.
    """
    data = random.Random(1).randbytes(1 << 20)
    image = tmp_path / "disk.img"
    image.write_bytes(data)
    share = tmp_path / "share"
    share.mkdir()
    socket, end = serve("streamer")
    answer = guest(
        """
        forebay doctor --check --ssd 0000:01:00.0 --fpga 0000:03:00.0 --largest 16KiB -o json \\
            >good.json
        dmesg | grep -c DMAR.*fault && exit 1 || true
        code=0
        forebay doctor --check --ssd 0000:01:00.0 --peer 0000:02:00.0:0:0x1000:4KiB \\
            -o json --output-file bad.json || code=$?
        echo exit code $code
        forebay devices
        """,
        *("--device", socket, "--ssd", f"{image}:size=1MiB", "--iommu", "translate"),
        *("--ssd", f"{tmp_path / 'other.img'}:size=1MiB", "--share", share),
    )
    report = json.loads((share / "good.json").read_text())
    check = report["check"]
    assert check["drive_to_peer"] and check["peer_to_drive"]
    assert check["left_out"] == []
    sizes = {
        method: [test["bytes"] for test in check["tests"] if test["method"] == method]
        for method in ("read", "compare", "compare_changed", "list", "write")
    }
    assert sizes["read"] == sizes["compare"] == sizes["compare_changed"]
    assert sizes["read"] == [512, 4096, 8192, 16384]
    assert sizes["list"] == [128]
    assert sizes["write"] == []
    assert all(test["good"] and test["different"] == 0 for test in check["tests"])
    assert check["distinct_words"] > check["words"] / 2
    variants = {variant["name"]: variant for variant in report["variants"]}
    assert variants["on-chip buffer"]["works"]
    assert "bytes compared" in variants["on-chip buffer"]["why"][0]
    assert image.read_bytes() == data

    # Doorbells of a drive are no memory: the bytes are not there, and it ends with 3.
    assert "exit code 3" in answer.out
    assert "✗ drive → peer" in answer.out
    check = json.loads((share / "bad.json").read_text())["check"]
    assert (check["drive_to_peer"], check["peer_to_drive"]) == (False, False)
    assert all(test["different"] for test in check["tests"] if test["method"] == "read")
    assert "nvme" in answer.out.splitlines()[-3], "the drive is back with its driver"
    assert end()[0] == GOOD


def test_a_machine_without_anything(guest: Guest) -> None:
    """It says what it looked for and what to do, and ends with 1; so does a check."""
    answer = guest(
        """
        forebay doctor && exit 1 || test $? = 1
        forebay doctor --check --ssd 0000:01:00.0 --fpga 0000:02:00.0 && exit 1 || test $? = 1
        """
    )
    for looked_for in ("NVMe drive", "FPGA card", "IOMMU"):
        assert f"✗  {looked_for}" in answer.out
    assert answer.out.count("→") >= 6
    assert "nothing can work here" in answer.out
    assert "no PCI function is at 0000:01:00.0" in answer.complaint
    assert "panicked" not in answer.out + answer.err
