# SPDX-License-Identifier: Apache-2.0
"""Linux's md assembles the drives of a recording, with parity also without one of them."""

from __future__ import annotations

import json
from pathlib import Path

import recordings
from booting import Guest
from driving import Run

from forebay.store import Recording, rows_of

CRATES = ("forebay",)
PIPELINE = "".join(f'[[ssd]]\nimage = "{number}.img"\nsize = "8MiB"\n' for number in range(3))
# Assembles without writing; what md says and all bytes of the array go to the host. The last one
# has a member of another array.
SCRIPT = """
for module in $(cat /lib/modules/md); do insmod /lib/modules/$module.ko; done
look() {
    name=$1; shift
    mdadm --assemble --readonly --run /dev/md0 "$@"
    mdadm --detail /dev/md0 | grep -E 'UUID|Level|Chunk|Devices :' >$name.txt
    dd if=/dev/md0 of=$name.img bs=1M 2>/dev/null
    mdadm --stop /dev/md0
}
look striped /dev/ssd2n1 /dev/ssd0n1 /dev/ssd1n1
look parity /dev/ssd5n1 /dev/ssd3n1 /dev/ssd4n1
for missing in 3 4 5; do
    look without$missing $(for n in 3 4 5; do [ $n = $missing ] || echo /dev/ssd${n}n1; done)
done
forebay doctor -o json >doctor.json || true
if mdadm --assemble --readonly --run /dev/md0 /dev/ssd0n1 /dev/ssd3n1 /dev/ssd1n1; then exit 1; fi
"""


def test_md_assembles_the_drives(forebay: Run, guest: Guest, tmp_path: Path) -> None:
    """What the RTL has recorded over three drives, and what is packed with parity, md gives back.

    The bytes of md's array are those that our own tools read: the recording opens from them as from
    the members, with each of three members missing as well.
    """
    (tmp_path / "x.toml").write_text(PIPELINE + '[sink]\nchunk = "16KiB"\n')
    words = ("record", tmp_path / "x.toml", "--generate", "6MiB", "--object", "300KiB")
    forebay(*words, "--extract", tmp_path / "files")
    paths = [tmp_path / f"{number}.img" for number in range(6)]
    striped, parity = paths[:3], paths[3:]
    with_parity = ("--size", "4MiB", "--stripe-unit", "32KiB", "--parity")
    forebay("store", "format", *parity, *with_parity)
    packed = recordings.folder(tmp_path / "packed", 40)
    forebay("store", "pack", tmp_path / "packed", *parity)
    share = tmp_path / "share"
    share.mkdir()
    ssds = [word for path in paths for word in ("--ssd", path)]
    before = [path.read_bytes() for path in paths]
    guest(SCRIPT, *ssds, "--share", share)
    assert [path.read_bytes() for path in paths] == before, "md wrote"
    arrays = json.loads((share / "doctor.json").read_text())["arrays"]
    assert [len(array["members"]) for array in arrays] == [3, 3]
    assert not any(None in array["members"] for array in arrays)
    assert sorted(array["parity"] for array in arrays) == [False, True]
    recorded = [(tmp_path / f"files/object-{number}.bin").read_bytes() for number in range(21)]
    for name, members, files in (
        ("striped", striped, recorded),
        *((name, parity, packed) for name in ("parity", "without3", "without4", "without5")),
    ):
        with Recording(members) as ours, Recording(share / f"{name}.img") as theirs:
            assert theirs.complaints == [] and theirs.disk.bytes == ours.disk.bytes
            whole = 0, ours.disk.bytes
            assert theirs.disk.read(*whole) == ours.disk.read(*whole)
            read = [theirs.read(row) for row in rows_of(theirs.objects())]
            assert read == files
        told = (share / f"{name}.txt").read_text()
        assert ("raid4" if name != "striped" else "raid0") in told
        assert ("32K" if name != "striped" else "16K") in told
        there = 2 if name.startswith("without") else 3
        assert f"Working Devices : {there}" in told
