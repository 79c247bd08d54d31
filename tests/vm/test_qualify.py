# SPDX-License-Identifier: Apache-2.0
"""`forebay ssd qualify` on QEMU's drives, with the guest's own fio."""

from __future__ import annotations

import hashlib
from pathlib import Path

from booting import Guest
from driving import Run

CRATES = ("forebay",)


def test_a_drive_becomes_a_profile_and_used_ones_are_refused(
    guest: Guest, forebay: Run, tmp_path: Path
) -> None:
    """Reads leave no trace; mounted and partitioned drives take two flags; writes one.

    The guest measures; what is fitted to that, the host does, which emulates nothing.
    """
    share = tmp_path / "share"
    share.mkdir()
    first, second = tmp_path / "first.img", tmp_path / "second.img"
    content = hashlib.sha256(b"forebay").digest() * (1 << 20)
    first.write_bytes(content * 2)
    answer = guest(
        """
        refused() {
            code=0
            "$@" 2>refusal || code=$?
            cat refusal >&2
            [ $code = 2 ]
            tr -d '\\n│' <refusal | tr -s ' ' | grep -q 'is in use'
        }
        few="--job-time 1s --bytes 16MiB"
        qualify() { forebay ssd qualify "$@" $few; }
        measure() {
            report=$1
            shift
            # Not by the function: that would be a shell of its own, and the program its child.
            forebay ssd qualify "$@" $few --save unfitted.toml --keep $report &
            while ! [ -s $report ]; do kill -0 $!; sleep 0.2; done
            kill -9 $!
            wait $! || true
        }
        before=$(sha256sum </dev/ssd0n1)
        measure read.json /dev/ssd0n1
        [ "$before" = "$(sha256sum </dev/ssd0n1)" ]

        mkfs.ext4 -q /dev/ssd0n2
        mount /dev/ssd0n2 /mnt
        refused qualify /dev/ssd0n2 --save x.toml
        grep -q 'is mounted at /mnt' refusal
        refused qualify /dev/ssd0n2 --save x.toml --write --even-in-use
        refused qualify /dev/ssd0n2 --save x.toml --write --i-mean-it
        measure twice.json /dev/ssd0n2 --even-in-use --i-mean-it
        umount /mnt
        fsck.ext4 -fn /dev/ssd0n2 >&2

        printf 'n\\np\\n1\\n\\n\\nw\\n' | fdisk /dev/ssd1n1 >/dev/null
        refused qualify /dev/ssd1n1 --save x.toml --write
        grep -q 'has the partition' refusal
        refused qualify /dev/$(basename $(readlink -f /dev/ssd1n1))p1 --save x.toml
        [ ! -e x.toml ]

        code=0
        qualify /dev/ssd0n1 --save x.toml --write --serial another 2>refusal || code=$?
        cat refusal >&2
        [ $code = 2 ]
        grep -q 'the serial number of /dev/ssd0n1 is' refusal
        [ ! -e x.toml ]
        measure write.json /dev/ssd0n1 --write --yes
        """,
        *("--share", share, "--timeout", "1200s"),
        "--ssd",
        f"{first}+{second}:size=64MiB",
        *("--ssd", f"{tmp_path / 'third.img'}:size=64MiB"),
    )
    assert "No such" not in answer.err
    assert first.read_bytes() != content * 2, "what --write does"
    for name, wrote in [("read", False), ("write", True)]:
        profile = tmp_path / f"{name}.toml"
        fit = ("--from", share / f"{name}.json", "--save", profile, "-o", "json")
        report = forebay("ssd", "qualify", *fit).report
        assert report["wrote"] is wrote
        assert report["fio"].startswith("fio-")
        rows = {(row["load"], row["quantity"]): row for row in report["rows"]}
        # How near the model is, tests/cli/test_qualify.py says of a recorded report: this machine
        # may do other work meanwhile.
        alone = rows["random 4 KiB read, depth 1", "p50_ns"]
        assert 0.1 < alone["model"] / alone["measured"] < 10, alone
        assert 'source = "fio-' in profile.read_text()
        forebay("profiles", profile)
