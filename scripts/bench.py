# SPDX-License-Identifier: Apache-2.0
"""`make bench`: measures every figure of docs/VALIDATION.md; JSON goes to build/bench."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "build" / "bench"
FOREBAY = str(ROOT / "build" / "forebay")
DRIVE = ["--profile", "990pro-2tb"]
CORE = [FOREBAY, "bench", "core", *DRIVE, "--bytes", "256MiB"]
# Long enough that the slowest answers, the last of which end the run, do not weigh.
RANDOM = [FOREBAY, "bench", "random", *DRIVE, "--bytes", "256MiB"]
LATENCY = [FOREBAY, "bench", "latency", *DRIVE]
DRIVES = [FOREBAY, "bench", "drives", "--bytes", "128MiB"]
# What holds several drives: room for what retries hold up, chunks that cost few commands.
LARGE = ["--buffer", "16MiB", "--chunk", "256KiB"]
COUNT = [sys.executable, "-m", "forebay.resources"]


def resources(name: str) -> list[str]:
    """Count what one of the memories costs."""
    return [*COUNT, "--rtl", f"rtl/top/{name}.f", "--top", f"fb_top_{name}"]


# The tops whose paths are judged.
TIMED = {
    "onchip": COUNT,
    "dram": resources("dram"),
    "hostdram": resources("hostdram"),
    "drives4": [*COUNT, "--parameter", "Drives=4"],
}
# With the network side, its chain without elements, and the recorder.
NETWORK = [*COUNT, "--rtl", "rtl/pe/pe.f", "rtl/top/net.f", "--top", "fb_top_net"]
NETWORK += ["--blackbox", "fb_payload_ram", "--blackbox", "fb_net_ring_ram"]
# With streamer and a stream FIFO in DRAM.
RECORDER = [*resources("recorder"), "--parameter", "FifoBytes=16777216"]
RECORDER += ["--blackbox", "fb_payload_ram"]
# The drive pauses for 5 ms after each 200 MB. A clock of 50 MHz is fast enough.
GAPLESS = [FOREBAY, "bench", "recorder", *DRIVE, "--gapless", "--rate", "2GB/s", "--for", "250ms"]
GAPLESS += ["--pause-every", "200MB", "--pause", "5ms", "--clock", "20ns"]


def channels(dram: str, count: int) -> list[str]:
    """Measure the rate of N channels of memory, with a drive that never waits."""
    memory = ["--memory", "dram", "--dram", dram, "--channels", str(count)]
    return [FOREBAY, "bench", "core", "--profile", "ideal", "--bytes", "16MiB", *memory]


CHANNELS = [("ddr4-2400", 1), ("ddr4-2400", 2), ("hbm2-1800", 2), ("hbm2-1800", 4)]
NET_MODULES = [
    "fb_net_mac_rx",
    "fb_net_clock",
    "fb_net_parse",
    "fb_net_checksum",
    "fb_net_filter",
    "fb_net_decap",
    "fb_net_frame_fifo",
    "fb_net_stream_scheduler",
    "fb_net_reassembly",
    "fb_net_packets",
    "fb_net_realign",
    "fb_net_pause_watchdog",
    "fb_net_pause_in",
    "fb_net_pause_out",
    "fb_net_arp_icmp",
    "fb_net_send",
    "fb_net_resolve",
    "fb_net_tx_mux",
    "fb_net_statistics",
]
NET = [
    "--rtl",
    "rtl/net/net.f",
    "--blackbox",
    "fb_net_ring_ram",
    "--into",
    "docs/reference/net.md",
    "--each",
    *NET_MODULES,
]
STORE_MODULES = [
    "fb_store_crc32c",
    "fb_store_bin2ascii",
    "fb_store_header",
    "fb_store_collect",
    "fb_store_write",
    "fb_store_table",
    "fb_store_pages",
    "fb_store_index",
    "fb_store_turns",
    "fb_store_fetch",
    "fb_store_recorder",
]
STORE = ["--rtl", "rtl/store/store.f", "--into", "docs/reference/recorder.md"]
PE = ["--rtl", "rtl/pe/pe.f", "--into", "docs/reference/pe.md"]
PE += ["--each", "fb_pe_add", "fb_pe_mean", "fb_pe_tap", "fb_pe_back_entry", "fb_pe_windows"]
PE += ["fb_axis_narrow", "fb_axis_widen", "fb_pe_cdc", "fb_pe_registers_cdc", "fb_pe_aes_ctr"]

SHRINK = ["--rtl", "rtl/dnn/dnn.f", "--top", "fb_dnn_shrink"]
# Fresh drawings, at a speed at which the simulation is not long.
SHAPES = ["--fps", "25000", "--count", "500", "--seed", "2026"]
AES = ["--rtl", "rtl/pe/pe.f", "--top", "fb_pe_aes_ctr"]

STORE_VERIFY = [sys.executable, "scripts/store_verify.py"]

# What parity costs: three drives without, and with a fourth for it, whole and with one missing.
PARITY = {
    "without": ["--drives", "3"],
    "whole": ["--drives", "4", "--parity"],
    "missing": ["--drives", "4", "--parity", "--missing", "1"],
}


def parity(memory: str, options: list[str]) -> list[str]:
    """Return the bench of an array with its payload there."""
    work = [FOREBAY, "bench", "core", "--bytes", "32MiB", *DRIVE, "--fpga-link", "gen4x16"]
    return [*work, "--memory", memory, *options]


BENCHES = {
    "core": [FOREBAY, "bench", "core"],
    "latency": [FOREBAY, "bench", "latency"],
    "random": [FOREBAY, "bench", "random"],
    "drives": DRIVES,
    "drives-990pro": [*DRIVES, *DRIVE, "--fpga-link", "gen4x16"],
    "drives-990pro-host": [*DRIVES, *DRIVE, "--fpga-link", "gen4x16", "--memory", "host"],
    "drives-990pro-8mib": [*DRIVES, *DRIVE, "--fpga-link", "gen4x16", "--buffer", "8MiB"],
    "drives-990pro-16mib": [*DRIVES, *DRIVE, "--fpga-link", "gen4x16", *LARGE],
    **{
        f"parity-{memory}-{name}": parity(memory, options)
        for memory in ("onchip", "host")
        for name, options in PARITY.items()
    },
    "drives-gen5": [*DRIVES, "--profile", "gen5-2tb", "--fpga-link", "gen5x16"],
    "scale": [FOREBAY, "bench", "scale", "--svg", str(OUT / "scale.svg")],
    "net": [FOREBAY, "bench", "net"],
    "store": [FOREBAY, "bench", "store"],
    "speed": [FOREBAY, "bench", "speed"],
    "soak-long": [sys.executable, "scripts/soaks.py", "--long"],
    "soak-97": [FOREBAY, "bench", "soak", "--drives", "3", "--seed", "97"],
    "soak-seeds": [sys.executable, "scripts/soaks.py"],
    "swarm": [FOREBAY, "swarm", "--seeds", "0..20000", "--keep-going"],
    "snacc-pins": [sys.executable, "scripts/snacc_pins.py"],
    "lines": [sys.executable, "scripts/lines.py", "--rtl"],
    "cases": [sys.executable, "scripts/cases.py"],
    "mutants": [sys.executable, "scripts/mutants.py"],
    "fresh": [sys.executable, "scripts/fresh.py"],
    "repro": [FOREBAY, "repro", "all", "--html", str(OUT / "repro.html")],
    "repro-mle": [FOREBAY, "repro", "mle-table", "--full"],
    "results": [sys.executable, "scripts/results.py"],
    "store-verify": STORE_VERIFY,
    "store-verify-4kib": [*STORE_VERIFY, "--object", "4096", "--bytes", str(128 << 20)],
    "vm-test": [sys.executable, "tests/vm/suite.py", "--full"],
    # Long enough that start and end do not weigh.
    **{f"core-{name}": [*CORE, "--memory", name] for name in ("onchip", "dram", "host")},
    **{f"channels-{dram}-{n}": channels(dram, n) for dram, n in CHANNELS},
    "core-hbm": [*CORE, "--memory", "dram", "--dram", "hbm2-1800"],
    **{
        f"random-{name}-qd{depth}": [*RANDOM, "--memory", name, "--queue-depth", depth]
        for name in ("onchip", "dram", "host")
        for depth in ("64", "256")
    },
    **{
        f"random-drives{n}": [*RANDOM, "--drives", n, "--fpga-link", "gen4x16", *LARGE]
        for n in ("2", "4", "8")
    },
    **{f"latency-{name}": [*LATENCY, "--memory", name] for name in ("onchip", "dram", "host")},
    **{f"levels-{name}": [*top, "--paths", "20"] for name, top in TIMED.items()},
    "levels-net": [*NETWORK, "--paths", "20"],
    **{f"clock-{name}": [*top, "--timing"] for name, top in TIMED.items()},
    "resources": [*COUNT, "--hierarchy"],
    **{f"resources-{name}": resources(name) for name in ("dram", "hostdram")},
    **{f"resources-drives{n}": [*COUNT, "--parameter", f"Drives={n}"] for n in (1, 2, 4, 8)},
    "resources-parity": [*COUNT, "--parameter", "Drives=4", "--parameter", "ParityPages=16"],
    "resources-net": [*COUNT, *NET],
    "resources-store": [*COUNT, *STORE, "--each", *STORE_MODULES],
    "resources-pe": [*COUNT, *PE],
    "levels-boot": [*resources("boot"), "--hierarchy", "--paths", "20"],
    "boot": [FOREBAY, "boot", "--profile", "960evo-250"],
    "levels-recorder": [*RECORDER, "--hierarchy", "--paths", "20"],
    "recorder": [FOREBAY, "bench", "recorder", "--profile", "960evo-250", "--full"],
    "recorder-gapless": [*GAPLESS, "--fifo", "10MiB"],
    "recorder-gaps": [*GAPLESS, "--fifo", "5MiB"],
    **{
        f"levels-aes{lanes}": [*COUNT, *AES, "--parameter", f"Lanes={lanes}", "--levels"]
        for lanes in (1, 4)
    },
    "classify": [FOREBAY, "bench", "classify"],
    # With seconds of this machine in it: alone.
    "classify-host": [FOREBAY, "bench", "classify", "--only", "host"],
    "dnn-layers": [sys.executable, "scripts/dnn_layers.py"],
    "dnn-check": [FOREBAY, "dnn", "check", "rtl/pe/shapes/shapes.onnx", *SHAPES],
    "dnn": [sys.executable, "scripts/dnn.py"],
    "levels-shrink": [*COUNT, *SHRINK, "--hierarchy", "--paths", "20"],
}


def main() -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="*", help=f"some of: {' '.join(BENCHES)}")
    options = parser.parse_args()
    unknown = [name for name in options.only if name not in BENCHES]
    if unknown:
        parser.error(f"no bench {unknown[0]}; there are: {' '.join(BENCHES)}")
    OUT.mkdir(parents=True, exist_ok=True)
    failed = []
    for name in options.only or BENCHES:
        report = OUT / f"{name}.json"
        print(f"\n[{name}] into {report.relative_to(ROOT)}", flush=True)
        started = time.monotonic()
        command = BENCHES[name]
        form = ["-o", "json", "--output-file"] if command[0] == FOREBAY else ["--json"]
        done = subprocess.run([*command, *form, str(report)], cwd=ROOT, check=False)
        if done.returncode:
            failed.append(name)
        print(
            f"[{name}] {'ok' if not done.returncode else 'FAILED'}, "
            f"{time.monotonic() - started:.0f} s",
            flush=True,
        )
    print(
        f"\n{'FAILED: ' + ', '.join(failed) if failed else 'all measured'}; reports in build/bench"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
