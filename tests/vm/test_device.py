# SPDX-License-Identifier: Apache-2.0
"""Our SSD model and our RTL as devices of the guest."""

from __future__ import annotations

import json
import random
from pathlib import Path

from booting import Guest, Serve
from driving import GOOD


def test_served_ssds_keep_their_media_and_a_record(
    guest: Guest, serve: Serve, tmp_path: Path
) -> None:
    """What Linux writes is in the files; what a drive saw of its queues is in the record.

    Two drives of one guest differ in their serial numbers, or Linux would refuse the second. That
    Linux finds nothing wrong with them is a step of the guest suite.
    """
    media, record = [tmp_path / "first.img", tmp_path / "second.img"], tmp_path / "record.json"
    size = ("--size", "64MiB")
    first, end = serve("ssd", "--backing", media[0], *size, "--record", record)
    second, end_second = serve("ssd", "--backing", media[1], *size, "--seed", 2)
    answer = guest(
        """
        nvme id-ctrl /dev/nvme0 | grep '^mn'
        for drive in 0 1; do
            printf done | dd of=/dev/ssd${drive}n1 bs=512 conv=fsync,sync 2>/dev/null
            dd if=/dev/ssd${drive}n1 of=/dev/null bs=64k count=64 2>/dev/null
        done
        cat /sys/class/nvme/nvme*/serial
        """,
        *("--device", first, "--device", second),
    )
    assert "mn        : Forebay ideal" in answer.out
    assert {"FOREBAY0001", "FOREBAY0002"} <= set(answer.out.split())
    for medium, wait in zip(media, [end, end_second], strict=True):
        code, report = wait()
        assert code == GOOD
        assert "failed     0" in report
        assert medium.read_bytes()[:4] == b"done"
    report = json.loads(record.read_text())
    assert report["schema"] == "forebay.record/1" and report["total"] > 100
    kinds = {event["kind"] for event in report["events"]}
    assert kinds >= {"sq-doorbell", "asked", "fetched", "posted", "cq-doorbell"}


def test_the_rtl_streams_onto_qemus_drive(
    guest: Guest, serve: Serve, vm_test: Path, tmp_path: Path
) -> None:
    """The card's streams are fed on its own side, as by a network, and all of it is trapped.

    Our driver brings both up behind a translating IOMMU; the raw image is what was streamed.
    """
    data = random.Random(1).randbytes(64 << 10)
    sent = tmp_path / "sent.bin"
    sent.write_bytes(data)
    image = tmp_path / "disk.img"
    socket, end = serve("streamer", "--write", sent, "--trap-payload")
    answer = guest(
        """
        vm-test --ignored --nocapture
        dmesg | grep -c DMAR.*fault && exit 1 || true
        """,
        "--device",
        socket,
        "--ssd",
        f"{image}:size=4MiB",
        "--iommu",
        "translate",
        "--program",
        vm_test,
    )
    assert "1 passed" in answer.out
    code, report = end()
    assert code == GOOD, report
    assert "2 of 2 transactions went through" in report
    assert image.read_bytes()[: len(data)] == data
