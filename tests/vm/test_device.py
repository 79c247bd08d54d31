# SPDX-License-Identifier: Apache-2.0
"""Our SSD model and our RTL as devices of the guest."""

from __future__ import annotations

import json
import random
from pathlib import Path

from booting import Guest, Serve
from driving import GOOD


def test_linux_uses_the_ssd_model(guest: Guest, serve: Serve, tmp_path: Path) -> None:
    """The stock driver binds it; nvme-cli, a file system and fio find nothing wrong with it."""
    medium, record = tmp_path / "medium.img", tmp_path / "record.json"
    socket, end = serve("ssd", "--medium", medium, "--size", "64MiB", "--record", record)
    answer = guest(
        """
        drive=/dev/nvme0n1
        nvme id-ctrl /dev/nvme0 | grep '^mn'
        nvme smart-log /dev/nvme0 | grep -E '^critical_warning'
        for feature in 1 2 4 5 6 7 8 9 10 11; do nvme get-feature /dev/nvme0 -f $feature; done
        mkfs.ext4 -q $drive
        mkdir -p /mnt
        mount $drive /mnt
        head -c 8388608 /dev/urandom >/tmp/random
        cp /tmp/random /mnt/copy
        umount /mnt
        mount $drive /mnt
        cmp /tmp/random /mnt/copy
        umount /mnt
        fsck.ext4 -fn $drive >&2
        nvme format $drive --lbaf=1 --force
        cat /sys/block/nvme0n1/queue/logical_block_size
        fio --name=mix --filename=$drive --rw=randrw --bsrange=4k-1M --size=32M --direct=1 \
            --ioengine=libaio --iodepth=16 --verify=crc32c --verify_fatal=1 --randseed=1 >&2
        nvme reset /dev/nvme0
        nvme format $drive --lbaf=0 --ses=1 --force
        cat /sys/block/nvme0n1/queue/logical_block_size
        printf done | dd of=$drive conv=fsync 2>/dev/null
        dmesg | grep -iE 'nvme.*(timeout|error|abort)' && exit 1 || true
        """,
        "--device",
        socket,
    )
    lines = answer.out.splitlines()
    assert "mn        : Forebay ideal" in answer.out
    assert lines.index("4096") < lines.index("512")
    assert "critical_warning\t\t\t: 0" in answer.out
    code, report = end()
    assert code == GOOD
    assert "failed     0" in report
    assert medium.read_bytes()[:4] == b"done"
    report = json.loads(record.read_text())
    assert report["schema"] == "forebay.record/1" and report["total"] > 1000
    kinds = {event["kind"] for event in report["events"]}
    assert kinds >= {"sq-doorbell", "asked", "fetched", "posted", "cq-doorbell"}


def test_the_rtl_streams_onto_qemus_drive(
    guest: Guest, serve: Serve, vm_test: Path, tmp_path: Path
) -> None:
    """Our driver brings both up behind a translating IOMMU; the raw image is what was streamed."""
    data = random.Random(1).randbytes(64 << 10)
    sent = tmp_path / "sent.bin"
    sent.write_bytes(data)
    image = tmp_path / "disk.img"
    socket, end = serve("streamer", "--write", sent)
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
