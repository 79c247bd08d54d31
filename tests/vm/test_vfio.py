# SPDX-License-Identifier: Apache-2.0
"""Our driver, through VFIO in the guest, on QEMU's controllers."""

from __future__ import annotations

import json
import re
from pathlib import Path

from booting import Guest, pull_when_read


def test_drives_behind_a_translating_iommu(guest: Guest, vfio_test: Path, tmp_path: Path) -> None:
    """One drive moves data from and to the other's memory; namespaces are filled and read back.

    Afterwards the images hold what was written, though the doctor has used some blocks as scratch,
    and what a killed program has left to VFIO is given back by one command. A peer that the IOMMU
    does not let through is noticed, whatever the drive's status says.
    """
    images = [tmp_path / "first.img", tmp_path / "second.img"]
    share = tmp_path / "share"
    share.mkdir()
    answer = guest(
        """
        vfio-test --ignored --nocapture peer_to_peer
        vfio-test --ignored --nocapture --test-threads=1 filled_and_read behave
        forebay doctor --check --ssd 0000:01:00.0 --peer 0000:02:00.0:2:0:64KiB --scratch 8 \\
            -o json >doctor.json
        echo 32 >/proc/sys/vm/nr_hugepages
        vfio-test --ignored --nocapture killed || true
        forebay devices
        forebay devices --give-back 0000:01:00.0
        sleep 1
        blockdev --getsize64 /dev/nvme0n1
        dmesg | grep -c DMAR.*fault && exit 1 || true
        vfio-test --ignored --nocapture unreachable
        dmesg | grep -c DMAR.*fault
        """,
        "--program",
        vfio_test,
        "--share",
        share,
        "--iommu",
        "translate",
        "--ssd",
        f"{images[0]}:size=2MiB,block=4096+{images[1]}:size=1MiB,mdts=8KiB",
        "--ssd",
        f"{tmp_path / 'peer.img'}:size=1MiB,cmb=1MiB",
    )
    assert answer.out.count("1 passed") == 2
    assert "2 passed" in answer.out
    left, given_back = re.findall(r"0000:01:00.0 .* (\S+) +\d+ +0:", answer.out)
    assert (left, given_back) == ("vfio-pci", "nvme")
    for number, image in enumerate(images, 1):
        assert image.read_bytes() == (share / f"namespace{number}.bin").read_bytes()
    report = json.loads((share / "doctor.json").read_text())
    works = {variant["name"]: variant["works"] for variant in report["variants"]}
    assert works["host driver only"]
    assert not works["on-chip buffer"], "there is no card"
    check = report["check"]
    assert check["drive_to_peer"] and check["peer_to_drive"]
    assert all(test["good"] and test["different"] == 0 for test in check["tests"])
    written = [test["bytes"] for test in check["tests"] if test["method"] == "write"]
    assert written == [4096, 8192]
    assert "less than three pages" in check["left_out"][0]


def test_a_drive_in_use_is_refused_and_errors_have_their_status(
    guest: Guest, vfio_test: Path, tmp_path: Path
) -> None:
    """A mounted drive stays with its driver; an injected error is the user's, others go on."""
    image = tmp_path / "drive.img"
    answer = guest(
        """
        mkfs.ext4 -q /dev/ssd0n1
        mount /dev/ssd0n1 /mnt
        vfio-test --ignored --nocapture a_mounted
        forebay devices
        umount /mnt
        for lba in 99 100 101; do
            nvme read /dev/ssd0n2 -s $lba -c 0 -z 4096 -d block 2>&1 | head -n 1
        done
        vfio-test --ignored --nocapture behave
        """,
        "--program",
        vfio_test,
        "--iommu",
        "pt",
        "--ssd",
        f"{image}:size=8MiB+{tmp_path / 'bad.img'}:size=1MiB,block=4096,error=read@100",
    )
    assert answer.out.count("1 passed") == 2
    assert "is mounted at /mnt" in answer.out
    reads = re.findall("^.*(?:Success|Error).*$", answer.out, re.M)
    assert "Success" in reads[0], answer.out
    assert "Unrecovered Read Error" in reads[1] or "UNRECOVERED" in reads[1].upper()
    assert "Success" in reads[2], answer.out


def test_without_an_iommu_nothing_is_taken(guest: Guest, vfio_test: Path, tmp_path: Path) -> None:
    """The drive stays with its driver, the remedy is told, and doctor exits with an error."""
    answer = guest(
        """
        vfio-test --ignored --nocapture without_an_iommu
        blockdev --getsize64 /dev/nvme0n1
        forebay doctor && exit 1 || true
        forebay doctor --check --ssd 0000:01:00.0 --fpga 0000:01:00.0 && exit 1 || test $? = 2
        pair="--ssd 0000:01:00.0 --peer 0000:02:00.0:2:0"
        forebay doctor --check $pair && exit 1 || test $? = 1
        forebay doctor --check --no-iommu $pair && exit 1 || test $? = 1
        blockdev --getsize64 /dev/nvme0n1
        """,
        *("--program", vfio_test, "--ssd", f"{tmp_path / 'drive.img'}:size=1MiB"),
        *("--ssd", f"{tmp_path / 'peer.img'}:size=1MiB,cmb=1MiB"),
    )
    assert "1 passed" in answer.out
    assert "intel_iommu=on" in answer.out
    assert "CONFIG_VFIO_NOIOMMU" in answer.complaint


def test_a_drive_is_pulled_out_under_load(guest: Guest, vfio_test: Path, tmp_path: Path) -> None:
    """Our driver learns of it in time, lets go, and the kernel removes the drive."""
    qmp = tmp_path / "qmp"
    pulled = pull_when_read(qmp, tmp_path / "serial.log")
    answer = guest(
        "vfio-test --ignored --nocapture pulled_out",
        *("--program", vfio_test, "--iommu", "translate", "--qmp", qmp, "--timeout", "150s"),
        *("--ssd", f"{tmp_path / 'drive.img'}:size=1MiB"),
    )
    assert pulled.is_set()
    assert "1 passed" in answer.out
    assert "wants 0000:01:00.0 back" in answer.out
