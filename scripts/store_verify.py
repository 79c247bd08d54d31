# SPDX-License-Identifier: Apache-2.0
"""Measures `forebay store verify` on random objects, beside reading and CRC32C alone."""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOREBAY = ROOT / "build" / "forebay"
# As much as SNAcc's camera has for a picture.
OBJECT_BYTES = 9_000_000


def make(folder: Path, total: int, each: int) -> None:
    """Fill a folder with random files of `each` bytes, `total` bytes or a little more in all."""
    folder.mkdir()
    source = random.Random(1)
    for number in range(-(-total // each)):
        (folder / f"{number:08}").write_bytes(source.randbytes(each))


def main() -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", required=True, help="where the report goes")
    parser.add_argument("--bytes", type=int, default=1 << 30, help="payload in all")
    parser.add_argument("--object", type=int, default=OBJECT_BYTES, help="bytes of an object")
    options = parser.parse_args()
    (ROOT / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as place:
        files, image = Path(place) / "files", Path(place) / "recording.img"
        make(files, options.bytes, options.object)
        subprocess.run([FOREBAY, "store", "pack", files, image], cwd=ROOT, check=True)
        verify = [FOREBAY, "store", "verify", image, "--compare"]
        verify += ["--output", "json", "--output-file", options.json]
        return subprocess.run(verify, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
