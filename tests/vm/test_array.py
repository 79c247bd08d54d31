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
SSD = '[[ssd]]\nimage = "{}.img"\nsize = "{}MiB"\n'
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
look mirror /dev/ssd7n1 /dev/ssd6n1
look mirror6 /dev/ssd6n1
look mirror7 /dev/ssd7n1
forebay doctor -o json >doctor.json || true
if mdadm --assemble --readonly --run /dev/md0 /dev/ssd0n1 /dev/ssd3n1 /dev/ssd1n1; then exit 1; fi
"""


def test_md_assembles_the_drives(forebay: Run, guest: Guest, tmp_path: Path) -> None:
    """What the RTL has recorded over three drives, with parity as well, and a packed mirror.

    The bytes of md's array are those that our own tools read: the recording opens from them as from
    the members, with parity with each of the members missing as well.
    """
    recorded = {}
    for name, numbers, size, sink in (
        ("striped", range(3), 8, 'chunk = "16KiB"'),
        ("parity", range(3, 6), 12, "parity = true"),
    ):
        ssds = "".join(SSD.format(number, size) for number in numbers)
        (tmp_path / f"{name}.toml").write_text(f"{ssds}[sink]\n{sink}\n")
        words = ("record", tmp_path / f"{name}.toml", "--generate", "6MiB", "--object", "300KiB")
        forebay(*words, "--extract", tmp_path / name)
        files = [tmp_path / f"{name}/object-{number}.bin" for number in range(21)]
        recorded[name] = [file.read_bytes() for file in files]
    paths = [tmp_path / f"{number}.img" for number in range(8)]
    striped, parity, mirror = paths[:3], paths[3:6], paths[6:]
    with_parity = ("--size", "8MiB", "--stripe-unit", "4KiB", "--parity")
    forebay("store", "format", *mirror, *with_parity)
    packed = recordings.folder(tmp_path / "packed", 40)
    forebay("store", "pack", tmp_path / "packed", *mirror)
    share = tmp_path / "share"
    share.mkdir()
    ssds = [word for path in paths for word in ("--ssd", path)]
    before = [path.read_bytes() for path in paths]
    guest(SCRIPT, *ssds, "--share", share)
    assert [path.read_bytes() for path in paths] == before, "md wrote"
    arrays = json.loads((share / "doctor.json").read_text())["arrays"]
    assert sorted(len(array["members"]) for array in arrays) == [2, 3, 3]
    assert not any(None in array["members"] for array in arrays)
    assert sorted(array["parity"] for array in arrays) == [False, True, True]
    for name, members, files, level, unit, there in (
        ("striped", striped, recorded["striped"], "raid0", "16K", 3),
        ("parity", parity, recorded["parity"], "raid4", "16K", 3),
        *((f"without{n}", parity, recorded["parity"], "raid4", "16K", 2) for n in (3, 4, 5)),
        ("mirror", mirror, packed, "raid4", "4K", 2),
        *((f"mirror{n}", mirror, packed, "raid4", "4K", 1) for n in (6, 7)),
    ):
        with Recording(members) as ours, Recording(share / f"{name}.img") as theirs:
            assert theirs.complaints == [] and theirs.disk.bytes == ours.disk.bytes
            whole = 0, ours.disk.bytes
            assert theirs.disk.read(*whole) == ours.disk.read(*whole)
            read = [theirs.read(row) for row in rows_of(theirs.objects())]
            assert read == files
        told = (share / f"{name}.txt").read_text()
        assert level in told and f" {unit}\n" in told
        assert f"Working Devices : {there}" in told
