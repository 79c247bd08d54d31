# SPDX-License-Identifier: Apache-2.0
"""Records four streams through an element that drops, delays and reorders its results.

It looks whether each index record has the result of its own object or none: `tests/elements` says
of which bytes `fb_pe_scatter` makes class and score.
"""

from __future__ import annotations

import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from forebay.store import Recording, rows_of

ROOT = Path(__file__).resolve().parent.parent
FOREBAY = ROOT / os.environ.get("FOREBAY", "build/forebay")
STREAMS = 4
PIPELINE = """
[source]
streams = {streams}
[[pe]]
name = "scatter"
path = "{elements}"
delay = {delay}
[sink]
result = "{wait}"
[[ssd]]
profile = "ideal"
size = "4GiB"
image = "drive.img"
"""
# Of the score's bits one is always 0, so that it is a number.
SCORE_BITS = ~(1 << 30)


def fate(row: dict[str, Any], payload: bytes) -> str:
    """Say what became of the result of an index record that should have one."""
    if not row["result"]:
        return "late" if row["late"] else "unjudged"
    class_, score = struct.unpack_from("<HI", payload)
    own = struct.pack("<HI", class_, score & SCORE_BITS)
    return "result" if struct.pack("<Hf", row["class"], row["score"]) == own else "wrong"


def look(image: Path) -> Counter[str]:
    """Count the fates of all objects of a recording, and results of parts as wrong ones."""
    with Recording(image) as recording:
        rows = list(rows_of(recording.table()))
        totals: dict[tuple[int, int], int] = defaultdict(int)
        for row in rows:
            totals[row["stream"], row["object"]] += row["length"]
        found = Counter({"objects": len(totals), "extents": len(rows)})
        for row in rows:
            if row["offset"] + row["length"] == totals[row["stream"], row["object"]]:
                found[fate(row, recording.read(row))] += 1
            elif row["result"] or row["late"]:
                found["wrong"] += 1
    return found


def main() -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", required=True, help="where the report goes")
    parser.add_argument("--bytes", default="50MiB", help="payload in all [default: 50MiB]")
    parser.add_argument("--object", default="1KiB", help="bytes of an object [default: 1KiB]")
    parser.add_argument("--delay", type=int, default=(1 << 20) - 1, help="cycles a result may take")
    parser.add_argument("--wait", default="50us", help="how long a record waits for it")
    options = parser.parse_args()
    (ROOT / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as place:
        pipeline = Path(place) / "results.toml"
        given = {"elements": ROOT / "tests/elements", "delay": options.delay, "wait": options.wait}
        pipeline.write_text(PIPELINE.format(streams=STREAMS, **given))
        record = [FOREBAY, "record", pipeline, "--generate", options.bytes]
        record += ["--object", options.object, "--output", "json"]
        done = subprocess.run(record, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
        found = look(Path(place) / "drive.img")
    told = json.loads(done.stdout)["results"]
    counted = {"result": sum(told["classes"].values()), "late": told["late"]}
    counted["unjudged"] = told["unjudged"]
    report = {name: found[name] for name in ("objects", "extents", "wrong", *counted)}
    report |= {
        "stray": told["stray"],
        "counters_agree": all(found[n] == counted[n] for n in counted),
    }
    Path(options.json).write_text(json.dumps(report, indent=2) + "\n")
    print(report)
    return 0 if found["wrong"] == 0 and report["counters_agree"] else 1


if __name__ == "__main__":
    sys.exit(main())
