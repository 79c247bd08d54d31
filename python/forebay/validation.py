# SPDX-License-Identifier: Apache-2.0
"""`python -m forebay.validation`: the table of docs/VALIDATION.md out of the benches' JSON.

`make bench` leaves one report a bench in build/bench. Here each figure is looked up in its report,
compared with its target, and written into the table between two marks. A figure whose report is
not there stays as it was. The README's figures are taken from that table.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from forebay import validation_net, validation_readme, validation_recorder, validation_store
from forebay.validation_figure import Figure, Report, at_least, at_most

ROOT = Path(__file__).resolve().parents[2]
REPORTS = ROOT / "build" / "bench"
DOCUMENT = ROOT / "docs" / "VALIDATION.md"
README = ROOT / "README.md"
BEGIN = "<!-- figures: begin (python -m forebay.validation writes what follows) -->"
END = "<!-- figures: end -->"
HEAD = ["what", "target", "measured", "SNAcc's RTL", "command"]
GUEST_BEGIN = "<!-- guest: begin (python -m forebay.validation writes what follows) -->"
GUEST_END = "<!-- guest: end -->"
GUEST_REPORT = "vm-test"
# The tops whose paths are judged, and the least clock of each on an ECP5 in MHz.
TIMED = {
    "onchip": ("on chip", 110),
    "dram": ("on-board DRAM", 95),
    "hostdram": ("host DRAM", 95),
    "drives4": ("on chip, four drives", 95),
}
DRIVES_BEGIN = "<!-- drives: begin (python -m forebay.validation writes what follows) -->"
DRIVES_END = "<!-- drives: end -->"
DRIVES_REPORTS = {
    "drives-990pro": "on chip",
    "drives-990pro-16mib": "on chip, 16 MiB, stripe units of 256 KiB",
    "drives-990pro-host": "host DRAM",
}
DRIVES_SAYS = """\
The same number of bytes for each drive, start and end included. In brackets: the rate over N times
the rate with one drive; the same of an ideal host; and the streamer's rate over that host's."""
PARITY_BEGIN = "<!-- parity: begin (python -m forebay.validation writes what follows) -->"
PARITY_END = "<!-- parity: end -->"
PARITY_REPORTS = {
    "without": "3, no parity",
    "whole": "3 + 1",
    "missing": "3 + 1, drive 1 missing",
}
WORKS = {"write": "write", "read": "read", "write_4k": "4 KiB write", "read_4k": "4 KiB read"}
SCALE_BEGIN = "<!-- scale: begin (python -m forebay.validation writes what follows) -->"
SCALE_END = "<!-- scale: end -->"
SCALE_REPORT = "scale"
PICTURES = ROOT / "docs" / "pictures"

CYCLES_PER_US = 300
# Of the 19.2 GB/s that 64 bytes a cycle are, as far as a stream is asked to reach it.
STREAM_GB_PER_S = 18.6


def row(report: Report, name: str) -> Report:
    """Find a measurement of a bench by its name."""
    return next(row for row in report["rows"] if row["id"] == name)


def left_over(side: Report) -> float:
    """Return how far judged, skipped and misfits are from the number of images."""
    return abs(side["objects"] - side["judged"] - sum(side["status"].values()))


def minutes(step: str) -> Callable[[Report], float]:
    """Look up how long a step took in a fresh clone."""
    return lambda report: report["steps"][step]["seconds"] / 60


def rate(name: str) -> Callable[[Report], float]:
    """Look up bytes per cycle of a measurement."""
    return lambda report: row(report, name)["streamer"]["bytes_per_cycle"]


def ratio(name: str) -> Callable[[Report], float]:
    """Look up a measurement's ratio to the host."""
    return lambda report: row(report, name)["ratio"]


def cycles(name: str) -> Callable[[Report], float]:
    """Look up the median latency of a measurement, in cycles."""
    return lambda report: row(report, name)["streamer"]["latency_cycles"]["p50"]


def core(what: str, name: str, least: float, snacc: str) -> Figure:
    """Describe a figure of `forebay bench core`."""
    value, met = rate(name), at_least(least)
    target = f"≥ {least:g} B/cycle"
    return Figure(what, target, snacc, "forebay bench core", "core", value, "{:.2f}", met)


def random(what: str, name: str, least: float, snacc: str) -> Figure:
    """Describe a figure of `forebay bench random` on the ideal drive."""
    value, met = rate(name), at_least(least)
    target = f"≥ {least:g} B/cycle"
    return Figure(what, target, snacc, "forebay bench random", "random", value, "{:.2f}", met)


def latency(what: str, name: str, most: int, snacc: str) -> Figure:
    """Describe a figure of `forebay bench latency`."""
    value, met = cycles(name), at_most(most)
    target = f"≤ {most:,} cycles"
    return Figure(what, target, snacc, "forebay bench latency", "latency", value, "{:,.0f}", met)


def added(name: str, place: str) -> Figure:
    """Describe how much longer a read takes than the ideal host's on the same drive."""

    def value(report: Report) -> float:
        found = row(report, "read_4k")
        host, ours = (found[who]["latency_cycles"]["p50"] for who in ("reference", "streamer"))
        return (ours - host) / CYCLES_PER_US

    return Figure(
        f"one 4 KiB read, 990 PRO, {place}: longer than the ideal host's by",
        "≤ 0.6 µs" if name == "onchip" else "–",
        "0.53 µs, SSD that never waits" if name == "onchip" else "–",
        f"forebay bench latency --profile 990pro-2tb --memory {name}",
        f"latency-{name}",
        value,
        "{:.2f} µs",
        at_most(0.6) if name == "onchip" else lambda value: True,
    )


def ordered_read(name: str, depth: int, least: float) -> Figure:
    """Describe random reads that are answered in order: a share of the host's on the 990 PRO."""
    return Figure(
        f"random 4 KiB read, 990 PRO, in order, queue depth {depth}, {MEMORIES[name]}, of the host "
        "reference",
        f"≥ {least:g}",
        "–" if depth > 64 else "0.36" if name == "onchip" else "0.36 (hardware)",
        "forebay bench random --profile 990pro-2tb --bytes 256MiB"
        f" --memory {name} --queue-depth {depth}",
        f"random-{name}-qd{depth}",
        ratio("random_read_4k"),
        "{:.3f}",
        at_least(least),
    )


def memory(what: str, name: str, target: float, snacc: str, share: bool) -> Figure:
    """Describe a figure on the 990 PRO with one of the memories: a share of the host, or a rate."""
    report, _, measurement = name.partition(".")
    command = f"forebay bench core --profile 990pro-2tb --memory {report} --bytes 256MiB"
    value, shown = (ratio, "{:.3f}") if share else (rate, "{:.2f}")
    limit = f"≥ {target:g}" if share else f"≥ {target:g} B/cycle"
    return Figure(
        what,
        limit,
        snacc,
        command,
        f"core-{report}",
        value(measurement),
        shown,
        at_least(target),
    )


def channels(dram: str, count: int, work: str) -> Figure:
    """Describe a rate with several channels of on-board DRAM."""
    command = f"forebay bench core --profile ideal --bytes 16MiB --memory dram --dram {dram}"
    return Figure(
        f"sequential {work}, ideal SSD, on-board DRAM, channels of {dram}: {count}",
        "–",
        "–",
        f"{command} --channels {count}",
        f"channels-{dram}-{count}",
        rate(f"sequential_{work}"),
        "{:.2f}",
    )


def resource(what: str, name: str, most: int, snacc: str, top: str = "") -> Figure:
    """Describe a count of `forebay resources`."""

    def value(report: Report) -> float:
        return report["resources"][name]

    target = f"≤ {most}"
    command = "forebay resources"
    command += f" -- --rtl rtl/top/{top}.f --top fb_top_{top}" if top else ""
    report = f"resources-{top}" if top else "resources"
    return Figure(what, target, snacc, command, report, value, "{:g}", at_most(most))


def four_drives(unit: str, most: int) -> Figure:
    """Describe a count of the on-chip variant for four drives."""
    return Figure(
        f"{unit} of the on-chip variant, four drives",
        f"≤ {most}",
        "–",
        "forebay resources -- --parameter Drives=4",
        "resources-drives4",
        lambda report: report["resources"][unit.lower()],
        "{:g}",
        at_most(most),
    )


def array_read(drives: int) -> Figure:
    """Describe random reads over drives: a share of the host's, or of what a stream takes."""

    def value(report: Report) -> float:
        found = row(report, "random_read_4k")
        ours, host = (found[who]["gigabytes_per_second"] for who in ("streamer", "reference"))
        return ours / min(host, STREAM_GB_PER_S)

    return Figure(
        f"random 4 KiB read over {drives} drives, 990 PRO, on-chip, 16 MiB, of the lesser of the "
        f"host reference and {STREAM_GB_PER_S} GB/s",
        "≥ 0.95",
        "–",
        f"scripts/bench.py random-drives{drives}",
        f"random-drives{drives}",
        value,
        "{:.3f}",
        at_least(0.95),
    )


def sequential_array(drives: int) -> Figure:
    """Describe a sequential read over drives, of as many times what one gives."""
    name = "drives-990pro-8mib"
    return Figure(
        f"sequential read over {drives} drives, 990 PRO, on-chip, 8 MiB, of {drives} times one",
        "≥ 0.95",
        "–",
        f"scripts/bench.py {name}",
        name,
        lambda report: row(report, f"read_{drives}")["of_as_many"],
        "{:.3f}",
        at_least(0.95),
    )


MEMORIES = {"onchip": "on-chip", "dram": "on-board DRAM", "host": "host DRAM"}

FIGURES = [
    core("sequential write, ideal SSD, 64 MiB", "sequential_write", 63.7, "62.9"),
    core("sequential write, 8 MiB in one transaction, start included", "one_write", 63.0, "56.8"),
    core("sequential read, ideal SSD, 64 MiB", "sequential_read", 63.7, "60.2"),
    random("random 4 KiB read, ideal SSD, queue depth 64", "random_read_4k", 62.5, "54.6"),
    random("random 4 KiB write, ideal SSD, queue depth 64", "random_write_4k", 62.8, "62.0"),
    latency(
        "one 4 KiB write, first beat to token, SSD that answers at once", "write_4k", 160, "155"
    ),
    latency("one 4 KiB read, command to last beat, the same", "read_4k", 160, "159"),
    latency("one 1 MiB write, the same", "write_1m", 17_700, "32,830"),
    latency("one 1 MiB read, the same", "read_1m", 17_700, "about 33,000"),
    random("random 512 B writes, ideal SSD", "random_write_512", 56, "51.1"),
    *(
        ordered_read(name, depth, least)
        for name in MEMORIES
        for depth, least in ((64, 0.98), (256, 0.995))
    ),
    # SNAcc's rates are those that it measured on hardware: 5.60, 4.80 and 6.24 GB/s, at 300 MHz.
    memory(
        "sequential write, 990 PRO, on-chip",
        "onchip.sequential_write",
        18.48,
        "18.67 (hardware)",
        share=False,
    ),
    memory(
        "the same, on-board DRAM, one channel of DDR4-2400 (0.99 of on-chip)",
        "dram.sequential_write",
        18.67,
        "16.00 (hardware)",
        share=False,
    ),
    memory(
        "the same, host DRAM, of the host reference",
        "host.sequential_write",
        0.99,
        "1.00 (hardware)",
        share=True,
    ),
    *(
        memory(
            f"sequential read, 990 PRO, {place}, of the host reference",
            f"{name}.sequential_read",
            0.99,
            "1.00 (hardware)",
            share=True,
        )
        for name, place in MEMORIES.items()
    ),
    sequential_array(2),
    *(array_read(drives) for drives in (2, 4, 8)),
    *(
        channels(dram, count, work)
        for dram, count in (("ddr4-2400", 1), ("ddr4-2400", 2), ("hbm2-1800", 2), ("hbm2-1800", 4))
        for work in ("write", "read")
    ),
    *(added(name, place) for name, place in MEMORIES.items()),
    resource("LUT of the on-chip variant", "lut", 7257, "7257"),
    resource("FF of the on-chip variant", "ff", 8152, "8152"),
    *(
        resource(f"{unit} of the variant with {place}", name, most, snacc, top)
        for top, place, luts in (("dram", "on-board DRAM", 9000), ("hostdram", "host DRAM", 7000))
        for unit, name, most, snacc in (
            ("LUT", "lut", luts, "11532"),
            ("FF", "ff", 8000, "15545"),
            ("RAM blocks", "bram", 23, "23"),
        )
    ),
    four_drives("LUT", 10_000),
    four_drives("FF", 9000),
    Figure(
        "SNAcc's pins, three variants, 990 PRO, 64 MiB each way: the least rate, of our own tops'",
        "≥ 0.99",
        "–",
        "scripts/bench.py snacc-pins",
        "snacc-pins",
        lambda report: min(row["ratio"] for row in report["rows"]),
        "{:.4f}",
        at_least(0.99),
    ),
    Figure(
        "the same: transactions that failed, and bytes that differ",
        "0",
        "–",
        "scripts/bench.py snacc-pins",
        "snacc-pins",
        lambda report: sum(row["wrong"] for row in report["rows"]),
        "{:g}",
        at_most(0),
    ),
    Figure(
        "hand-written lines of the core's RTL and the tops",
        "≤ 9500",
        "12746 (4a85a08)",
        "scripts/lines.py --rtl",
        "lines",
        lambda report: report["all"],
        "{:g}",
        at_most(9500),
    ),
    *(
        Figure(
            f"longest path, LUT levels, {place}",
            "≤ 8",
            "–",
            f"scripts/bench.py levels-{name}",
            f"levels-{name}",
            lambda report: report["levels"],
            "{:g}",
            at_most(8),
        )
        for name, (place, _) in TIMED.items()
    ),
    # At most 0.9 of what network side and recorder were, and the streamer's 5144; what is new
    # since then, IPv6, has a limit of its own.
    Figure(
        "LUT of the on-chip variant with network side and recorder",
        "≤ 33042, and 1400 for IPv6",
        "36142 (2081f4f)",
        "scripts/bench.py levels-net",
        "levels-net",
        lambda report: report["resources"]["lut"],
        "{:g}",
        at_most(33_042 + 1_400),
    ),
    Figure(
        "longest path, LUT levels, on chip with network side and recorder",
        "≤ 9",
        "24 (2081f4f)",
        "scripts/bench.py levels-net",
        "levels-net",
        lambda report: report["levels"],
        "{:g}",
        at_most(9),
    ),
    Figure(
        "longest path, LUT levels, AES element",
        "≤ 8",
        "–",
        "scripts/bench.py levels-aes4",
        "levels-aes4",
        lambda report: report["levels"],
        "{:g}",
        at_most(8),
    ),
    Figure(
        "LUT of the image scaler, four senders",
        "≤ 11000",
        "–",
        "scripts/bench.py levels-shrink",
        "levels-shrink",
        lambda report: report["resources"]["lut"],
        "{:g}",
        at_most(11_000),
    ),
    Figure(
        "longest path, LUT levels, image scaler",
        "≤ 9",
        "–",
        "scripts/bench.py levels-shrink",
        "levels-shrink",
        lambda report: report["levels"],
        "{:g}",
        at_most(9),
    ),
    *(
        Figure(
            f"MobileNet-V1 1.0/224 in {cycles} cycles an image, {what} by the compiler",
            f"≤ {most}",
            "–",
            "scripts/bench.py dnn",
            "dnn",
            lambda report, design=design, key=key: report["mobilenet"][design][key],
            "{:g}",
            at_most(most),
        )
        for design, cycles, what, key, most in (
            ("B", "215,296", "DSP", "dsp", 1650),
            ("B", "215,296", "RAMB36", "ramb36", 1082),
            ("C", "131,072", "DSP", "dsp", 3149),
            ("C", "131,072", "RAMB36", "ramb36", 1127),
        )
    ),
    *(
        Figure(
            f"MobileNet-V1 1.0/224 in 215,296 cycles an image, {what}",
            target,
            "–",
            "scripts/bench.py dnn-layers",
            "dnn-layers",
            lambda report, key=key: report[key],
            "{:g}",
            at_most(most),
        )
        for what, key, target, most in (
            ("DSP by Yosys, layer by layer", "dsp", "≤ 1650", 1650),
            ("RAMB36 by Yosys, layer by layer", "bram", "≤ 1082", 1082),
            ("LUT by Yosys, layer by layer", "lut", "–", math.inf),
            ("layers and FIFOs that compiler and Yosys count otherwise", "differ", "–", math.inf),
        )
    ),
    *(
        Figure(
            f"images of 9 MB recorded and classified, {where}",
            f"≥ {least} images/s",
            "–",
            "forebay bench classify",
            "classify",
            # With a network none is quicker: what is more is the beginning of a short recording.
            lambda report, case=case: min(
                row(report, case)[which]["frames_per_second"] for which in ("with", "without")
            ),
            "{:.1f} images/s",
            at_least(least),
        )
        for case, where, least in (
            ("host", "MobileNet-V1 in the chain, one drive, payload in host memory", 676),
            (
                "two-drives",
                "two drives: the lesser of the rates with and without the network (131,072 cycles)",
                1350,
            ),
        )
    ),
    *(
        Figure(
            f"the rate with the network as a share of that without, {where}",
            f"≥ {least}",
            "–",
            "forebay bench classify",
            "classify",
            lambda report, case=case: row(report, case)["ratio"],
            "{:.4f}",
            at_least(least),
        )
        for case, where, least in (
            ("host", "host memory", 0.995),
            ("onchip", "on chip", 0.995),
            ("dram", "on-board DRAM", 0.995),
            ("two-drives", "two drives", 0.995),
            ("own-clock", "the network at 150 MHz, a clock of its own", 0.995),
            ("two-cameras", "two cameras in turns", 0.995),
            ("four-cameras", "four cameras in turns", 0.995),
            ("skip", "a network at a third of the rate that skips", 0.999),
        )
    ),
    Figure(
        "classes and scores of all these images that differ from the twin's, are late or stray",
        "0",
        "–",
        "forebay bench classify",
        "classify",
        lambda report: sum(
            one["with"][key] for one in report["rows"] for key in ("differ", "late", "stray")
        ),
        "{:g}",
        at_most(0),
    ),
    Figure(
        "a network at a third of the rate that skips: images, less judged, skipped and misfits",
        "0",
        "–",
        "forebay bench classify",
        "classify",
        lambda report: left_over(row(report, "skip")["with"]),
        "{:g}",
        at_most(0),
    ),
    Figure(
        "seconds of simulation that MobileNet-V1 1.0/224 adds to each image of 9 MB",
        "≤ 2 s",
        "–",
        "scripts/bench.py classify-host",
        "classify-host",
        lambda report: row(report, "host")["host_seconds_per_picture"],
        "{:.1f} s",
        at_most(2),
    ),
    Figure(
        "the recorder with MobileNet-V1 compiled for simulation, two cores",
        "≤ 60 s",
        "–",
        "scripts/bench.py classify-host",
        "classify-host",
        lambda report: row(report, "host")["with"]["compile_seconds"],
        "{:.0f} s",
        at_most(60),
    ),
    Figure(
        "500 fresh drawings through the RTL of `shapes`: classes and scores that differ",
        "0",
        "–",
        "scripts/bench.py dnn-check",
        "dnn-check",
        lambda report: report["objects"] - report["judged"] + report["differ"],
        "{:g}",
        at_most(0),
    ),
    Figure(
        "fresh drawings that the network `shapes` recognises, by its twin",
        "≥ 98 %",
        "–",
        "scripts/bench.py dnn",
        "dnn",
        lambda report: 100 * report["shapes"]["share"],
        "{:.2f} %",
        at_least(98),
    ),
    *(
        Figure(
            f"clock on ECP5-85, median of 3 seeds, {place}",
            f"≥ {least} MHz",
            "–",
            f"scripts/bench.py clock-{name}",
            f"clock-{name}",
            lambda report: report["ecp5"]["mhz_median"],
            "{:.1f} MHz",
            at_least(least),
        )
        for name, (place, least) in TIMED.items()
    ),
    *validation_recorder.FIGURES,
    Figure("payload memory", "4 MiB UltraRAM", "4 MiB", "forebay resources"),
    Figure(
        "simulation speed, streamer busy, one core",
        "≥ 1.0 million cycles/s",
        "–",
        "forebay bench speed",
        "speed",
        lambda report: report["busy"]["cycles_per_second"] / 1e6,
        "{:.2f} million/s",
        at_least(1.0),
    ),
    Figure(
        "the same, as a share of the same harness with nothing but a clock",
        "–",
        "–",
        "forebay bench speed",
        "speed",
        lambda report: report["ratio_busy_to_clock_only"],
    ),
    *(
        Figure(
            f"store verify of {size}, two cores, of reading and CRC32C alone",
            target,
            "–",
            f"scripts/bench.py {report}",
            report,
            lambda report: report["compare"]["ratio"],
            "{:.3f}",
            at_least(least),
        )
        for size, report, target, least in (
            ("1 GiB in objects of 9 MB", "store-verify", "≥ 0.8", 0.8),
            ("128 MiB in objects of 4 KiB", "store-verify-4kib", "–", 0.0),
        )
    ),
    *(
        Figure(
            f"{what}, two cores",
            f"≤ {most:g} min",
            "–",
            "scripts/fresh.py",
            "fresh",
            minutes(step),
            "{:.1f} min",
            at_most(most),
        )
        for what, step, most in (
            ("fresh clone to the end of the demo", "demo", 2.5),
            ("demo the second time", "demo again", 0.5),
            ("all tests from a fresh clone", "test", 25),
            ("the same again", "test again", 3),
            ("the same after a change in a Rust file", "test after a change in Rust", 8),
            ("the same after a change in an RTL module", "test after a change in RTL", 15),
        )
    ),
    Figure(
        "100,000 random transactions, stalls, each memory, 1 to 4 drives: soaks that fail",
        "0",
        "–",
        "scripts/soaks.py --long",
        "soak-long",
        lambda report: (
            sum(len(kind["bad"]) for kind in report["kinds"]) + 12 - len(report["kinds"])
        ),
        "{:g}",
        at_most(0),
    ),
    Figure(
        "random transactions over three drives, unordered reads across stripe units: wrong answers",
        "0",
        "–",
        "forebay bench soak --drives 3 --seed 97",
        "soak-97",
        lambda report: report["wrong_answers"],
        "{:g}",
        at_most(0),
    ),
    Figure(
        "1,000 seeds of each of four soaks in host memory and DRAM: seeds that fail",
        "0",
        "–",
        "scripts/soaks.py",
        "soak-seeds",
        lambda report: sum(len(kind["bad"]) for kind in report["kinds"]) + 1000 - report["seeds"],
        "{:g}",
        at_most(0),
    ),
    Figure(
        "50 MiB in objects of 1 KiB of four streams, results dropped, reordered and up to 10⁶ "
        "cycles late: index records with the result of another object",
        "0",
        "–",
        "scripts/results.py",
        "results",
        lambda report: report["wrong"] + (not report["counters_agree"]),
        "{:g}",
        at_most(0),
    ),
    Figure(
        "20,000 seeds of the swarm, each memory, 1 to 8 drives: seeds that fail",
        "0",
        "–",
        "forebay swarm --seeds 0..20000 --keep-going",
        "swarm",
        lambda report: len(report["failures"]) + 20_000 - report["ran"],
        "{:g}",
        at_most(0),
    ),
    Figure(
        "defects put into the RTL that the swarm finds within 2,000 seeds each, of 26",
        "26",
        "–",
        "scripts/mutants.py",
        "mutants",
        lambda report: sum(one["failure"] is not None for one in report["mutants"]),
        "{:g}",
        at_least(26),
    ),
    Figure(
        "cases of revision 4a85a08, and tests of today, that `make nightly` does not run",
        "0",
        "–",
        "scripts/cases.py",
        "cases",
        lambda report: (
            len(report["unreached"])
            + sum(sum(kind["missing"].values()) for kind in report["kinds"])
        ),
        "{:g}",
        at_most(0),
    ),
]


@dataclass(frozen=True)
class Found:
    """A figure: its text, SNAcc's, and whether it meets its target (None: no report)."""

    figure: Figure
    text: str
    snacc: str
    met: bool | None


def measured(figure: Figure, path: Path) -> tuple[str, bool] | None:
    """Find a figure in a report: as text, and whether it meets its target."""
    if not figure.report or not path.exists():
        return None
    try:
        report = json.loads(path.read_text())
        value = figure.value(report)
    except (KeyError, StopIteration, TypeError, json.JSONDecodeError):
        return None
    met = figure.met(value) and not report.get("interrupted", False)
    return figure.shown.format(value), met


def look_up(figure: Figure, reports: Path, before: dict[str, list[str]]) -> Found:
    """Find a figure in its report; without one, what the table says already.

    Reports named `snacc-…` are those of the same bench with SNAcc's RTL.
    """
    standing_row = before.get(figure.what, ["", "", "–", figure.snacc])
    theirs = measured(figure, reports / f"snacc-{figure.report}.json")
    snacc = theirs[0] if theirs else standing_row[3]
    ours = measured(figure, reports / f"{figure.report}.json")
    if ours is None:
        return Found(figure, standing_row[2], snacc, None)
    text, met = ours
    return Found(figure, text if met else f"**{text}**", snacc, met)


def cells(line: str) -> list[str]:
    """Split a row of a Markdown table."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def standing(text: str) -> dict[str, list[str]]:
    """List the rows of a document's table by what they are about."""
    rows = [cells(line) for line in text.splitlines() if line.startswith("|")]
    return {row[0]: row for row in rows if len(row) == len(HEAD)}


def table(found: list[Found]) -> str:
    """Render the table."""
    lines = [HEAD, ["---"] * len(HEAD)]
    for one in found:
        figure = one.figure
        command = f"`{figure.command}`"
        lines.append([figure.what, figure.target, one.text, one.snacc, command])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def replaced(text: str, new: str, marks: tuple[str, str] = (BEGIN, END)) -> str:
    """Put a table between the marks of a document."""
    before, begin, rest = text.partition(marks[0])
    _, end, after = rest.partition(marks[1])
    if not begin or not end:
        raise ValueError(f"the document lacks the marks {marks[0]} and {marks[1]}")
    return f"{before}{begin}\n\n{new}\n\n{end}{after}"


def guest_table(reports: Path) -> tuple[str, int] | None:
    """Render what `tests/vm/suite.py --full` found, and count the steps that failed.

    None where there is no such report, or it is of the short form or of some steps only.
    """
    path = reports / f"{GUEST_REPORT}.json"
    if not path.exists():
        return None
    report = json.loads(path.read_text())
    if not report["full"] or "--step" in report["command_line"]:
        return None
    lines = [["step", "shows", "result"], ["---"] * 3]
    for step in report["steps"]:
        seen = " ".join(step["seen"].split()).replace("|", "\\|")
        lines.append([f"`{step['name']}`", step["shows"], seen if step["good"] else f"**{seen}**"])
    failed = sum(not step["good"] for step in report["steps"])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines), failed


def drives_table(reports: Path) -> str | None:
    """Render what `forebay bench drives` found.

    None where a report is missing, or was not run to its end.
    """
    lines = [["payload", "drives", *(f"{name}, GB/s" for name in WORKS.values()), "LUT", "FF"]]
    lines.append(["---"] * len(lines[0]))
    for name, place in DRIVES_REPORTS.items():
        path = reports / f"{name}.json"
        report = json.loads(path.read_text()) if path.exists() else {"interrupted": True}
        if report["interrupted"]:
            return None
        for count in sorted({row["drives"] for row in report["rows"]}):
            found = [row(report, f"{work}_{count}") for work in WORKS]
            rates = (
                f"{one['streamer']['gigabytes_per_second']:.2f} ({one['of_as_many']:.3f}; "
                f"{one['reference_of_as_many']:.3f}; {one['ratio']:.3f})"
                for one in found
            )
            counted = cost(reports, count) if place == "on chip" else ["–", "–"]
            lines.append([place, str(count), *rates, *counted])
    return "\n".join([DRIVES_SAYS, "", *(f"| {' | '.join(line)} |" for line in lines)])


def parity_table(reports: Path) -> str | None:
    """Render what `forebay bench core` found of an array with parity; None where it was not run.

    A memory of which one report is missing, or was not run to its end, has no lines.
    """
    lines = [["payload", "drives", "write, GB/s", "read, GB/s"], ["---"] * 4]
    for memory, place in (("onchip", "on chip"), ("host", "host DRAM")):
        paths = [reports / f"parity-{memory}-{name}.json" for name in PARITY_REPORTS]
        found = [json.loads(path.read_text()) for path in paths if path.exists()]
        if len(found) < len(paths) or any(report["interrupted"] for report in found):
            continue
        for report, drives in zip(found, PARITY_REPORTS.values(), strict=True):
            ways = (row(report, f"sequential_{way}") for way in ("write", "read"))
            rates = (f"{one['streamer']['gigabytes_per_second']:.2f}" for one in ways)
            lines.append([place, drives, *rates])
    if len(lines) == 2:
        return None
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cost(reports: Path, drives: int) -> list[str]:
    """LUT and FF of the streamer for a number of drives, where they were counted."""
    path = reports / f"resources-drives{drives}.json"
    if not path.exists():
        return ["–", "–"]
    found = json.loads(path.read_text())["resources"]
    return [str(found["lut"]), str(found["ff"])]


def scale_table(reports: Path) -> str | None:
    """Render what `forebay bench scale` found: cycles of a command.

    None where the report is missing, or was not run to its end.
    """
    path = reports / f"{SCALE_REPORT}.json"
    report = json.loads(path.read_text()) if path.exists() else {"interrupted": True}
    if report["interrupted"]:
        return None
    works = list(dict.fromkeys(row["work"] for row in report["rows"]))
    steps: dict[tuple[int, int], dict[str, float]] = {}
    for row in report["rows"]:
        step = steps.setdefault((row["drives"], row["outstanding"]), {})
        step[row["work"]] = row["cycles_per_command"]
    lines = [["drives", "outstanding", *(name.replace("_", " ") for name in works)]]
    lines.append(["---"] * len(lines[0]))
    for (drives, outstanding), found in steps.items():
        cycles = (f"{found[name]:.2f}" for name in works)
        lines.append([str(drives), str(outstanding), *cycles])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m forebay.validation", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--reports", type=Path, default=REPORTS, help="folder of the reports")
    parser.add_argument("--document", type=Path, default=DOCUMENT, help="document to write into")
    parser.add_argument("--readme", type=Path, default=README, help="document of the headlines")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if it differs")
    options = parser.parse_args()
    text = options.document.read_text()
    found = [look_up(figure, options.reports, standing(text)) for figure in FIGURES]
    new = replaced(text, table(found))
    for one in found:
        state = {True: "ok      ", False: "MISSED  ", None: "–       "}[one.met]
        print(f"{state}  {one.text:>18}  {one.figure.target:>22}  {one.figure.what}")
    missed = sum(one.met is False for one in found)
    guest = guest_table(options.reports)
    if guest:
        new = replaced(new, guest[0], (GUEST_BEGIN, GUEST_END))
        print(f"{GUEST_REPORT}: {guest[1]} steps failed")
        missed += guest[1]
    drives = drives_table(options.reports)
    if drives:
        new = replaced(new, drives, (DRIVES_BEGIN, DRIVES_END))
    scale = scale_table(options.reports)
    if scale:
        new = replaced(new, scale, (SCALE_BEGIN, SCALE_END))
        picture = f"{SCALE_REPORT}.svg"
        if not options.check and (options.reports / picture).exists():
            shutil.copy(options.reports / picture, PICTURES / picture)
    parity = parity_table(options.reports)
    if parity:
        new = replaced(new, parity, (PARITY_BEGIN, PARITY_END))
    for part in (validation_net, validation_store):
        lines = part.table(options.reports)
        if lines:
            new = replaced(new, lines[0], (part.BEGIN, part.END))
            print(f"{part.REPORT}: {lines[1]} figures miss their target")
            missed += lines[1]
    count = sum(one.met is not None for one in found)
    print(f"{count} of {len(found)} figures have a report, {missed} miss their target")
    readme = options.readme.read_text()
    marks = (validation_readme.BEGIN, validation_readme.END)
    headlines = replaced(readme, validation_readme.table(new), marks)
    if options.check:
        return 1 if (new, headlines) != (text, readme) else 0
    options.document.write_text(new)
    options.readme.write_text(headlines)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
