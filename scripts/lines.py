# SPDX-License-Identifier: Apache-2.0
"""Count the lines of a revision: of its Rust sources, crate by crate, or of its RTL, room by room.

Without a revision: of the working tree. Of Rust, tests are `tests/`, `tests.rs` and modules of
`#[cfg(test)]`. Of RTL the core and the tops count; of these the text from which they are written.
Generated is what says so in its first lines.
"""

import argparse
import io
import json
import re
import subprocess
import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from inputs import tracked

ROOT = Path(__file__).parents[1]
CORE = ("axi", "axis", "bar", "common", "nvme", "payload", "raid", "top")
GENERATED = re.compile(r"(?://.*\n){0,6}//.*(?:[Gg]enerated (?:by|from)|Written by)")
# Left out, as in the count before the core was redrawn: its head speaks of what is generated.
LEFT_OUT = "fb_nvme_regs.sv"
# What the description of the tops has of their text, comments included.
EMITTED = re.compile(
    r"^(?:head|body|about|handshake) = ('''|\"\"\")\n(.*?)\1", re.MULTILINE | re.DOTALL
)
TEST_MODULE = re.compile(
    r"^( *)#\[cfg\(test\)\]\n(?: *#\[.*\]\n)*\1(?:pub\S* )?mod \w+ \{\n.*?^\1\}\n",
    re.MULTILINE | re.DOTALL,
)


def sources(revision: str | None, folder: str, suffixes: tuple[str, ...]) -> Iterator[tuple]:
    """Yield path and text of each source below a folder."""
    if revision is None:
        paths = (name for name in tracked(ROOT) if name.startswith(f"{folder}/"))
        chosen = (Path(name) for name in paths if name.endswith(suffixes))
        yield from ((path, (ROOT / path).read_text()) for path in chosen)
        return
    command = ["git", "archive", revision, folder]
    archive = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            if member.name.endswith(suffixes):
                yield Path(member.name), tar.extractfile(member).read().decode()


def split(path: Path, text: str) -> dict[str, int]:
    """Return how many lines of a source are code, tests and generated."""
    lines = text.count("\n")
    if path.parts[2] != "src" or path.stem == "tests" or "tests" in path.parts:
        return {"tests": lines}
    if GENERATED.match(text):
        return {"generated": lines}
    tests = sum(module[0].count("\n") for module in TEST_MODULE.finditer(text))
    return {"code": lines - tests, "tests": tests}


def rooms(revision: str | None) -> dict[str, int]:
    """Return the hand-written lines of the core, room by room, of the tops, of what is left out."""
    counts: Counter = Counter()
    for path, text in sources(revision, "rtl", (".sv", ".toml")):
        if path.parts[1] not in CORE or GENERATED.match(text):
            continue
        texts = [of for _, of in EMITTED.findall(text)] if path.suffix == ".toml" else [text]
        room = path.name if path.name == LEFT_OUT else path.parts[1]
        counts[room] += sum(len(of.splitlines()) for of in texts)
    return dict(counts)


def crates(revision: str | None) -> dict[str, Counter]:
    """Return the lines of each crate by kind."""
    counts: dict[str, Counter] = {}
    for path, text in sources(revision, "crates", (".rs",)):
        counts.setdefault(path.parts[1], Counter()).update(split(path, text))
    return counts


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("revision", nargs="?")
    parser.add_argument("--rtl", action="store_true", help="of RTL in place of Rust")
    parser.add_argument("--json", type=Path, help="write the lines of RTL there")
    options = parser.parse_args()
    if options.rtl:
        counts = rooms(options.revision)
        left_out = counts.pop(LEFT_OUT, 0)
        report = {"rooms": counts, "all": sum(counts.values()), "left_out": left_out}
        for room, lines in [
            *counts.items(),
            ("all", report["all"]),
            (f"left out: {LEFT_OUT}", left_out),
        ]:
            print(f"{room:24}{lines:6}")
        if options.json:
            options.json.write_text(json.dumps(report))
        return
    of_crates = crates(options.revision)
    of_crates["all"] = sum(of_crates.values(), Counter())
    print(f"{'crate':20}{'code':>8}{'tests':>8}{'generated':>11}")
    for crate, of in of_crates.items():
        print(f"{crate:20}{of['code']:8}{of['tests']:8}{of['generated']:11}")


if __name__ == "__main__":
    main()
