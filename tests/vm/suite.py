# SPDX-License-Identifier: Apache-2.0
"""The guest suite: RTL, driver and models beside Linux's and QEMU's own, in one guest.

The guest has two of QEMU's NVMe controllers, the SSD model, and the streamer's RTL as five cards:
one for each memory of the payload, and those with it on the card once more with every access
trapped. Steps run one after the other; a step that fails does not keep the others from running.
What only the host can see, the raw images and the reports, is checked at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from findings import Wrong
from places import (
    BAD_READ_LBA,
    BAD_WRITE_LBA,
    DATA,
    DEPTH,
    FAILING,
    FULL,
    KIB,
    LARGE_BLOCKS,
    MIB,
    SHORT,
    SMALL_BLOCKS,
    Amounts,
)
from steps import COMMON, Step, all_steps

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / os.environ.get("FOREBAY", "build/forebay")
SCHEMA = "forebay.vm-test/1"
# Before a line of the guest that is for the suite.
MARK = "::"
# A device listens, or ends with its guest, within this.
DEVICE_SECONDS = 60
# Lines of a failed step's log that are shown.
SHOWN = 12
# Pages of the cards' payload on chip, and bytes that the guest maps of each memory: the payload,
# but for that in host DRAM, and the host port's 64 pages.
PAGES = 1024
HOST_PORT = 64 * 4096
MAPPED = {"onchip": PAGES * 4096 + HOST_PORT, "dram": 128 * MIB + HOST_PORT, "host": HOST_PORT}


@dataclass
class Outcome:
    """What a step or device came to."""

    name: str
    shows: str
    good: bool
    seen: str


class Device:
    """A device that `forebay vm serve` serves to the guest."""

    def __init__(self, folder: Path, name: str, mapped: int | None, options: Sequence[str]) -> None:
        self.name = name
        self.mapped = mapped
        self.socket = folder / f"{name.replace(', ', '-').replace(' ', '-')}.sock"
        self._out, self._err = self.socket.with_suffix(".out"), self.socket.with_suffix(".err")
        with self._out.open("w") as out, self._err.open("w") as err:
            self.process = subprocess.Popen(
                [PROGRAM, "vm", "serve", *options, "--socket", self.socket],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )

    def listen(self) -> None:
        """Wait until it listens, or has ended: the guest then says that nothing is there."""
        limit = time.monotonic() + DEVICE_SECONDS
        while "listening" not in self._out.read_text() and time.monotonic() < limit:
            if self.process.poll() is not None:
                return
            time.sleep(0.05)

    def end(self, limit: float) -> Outcome:
        """Wait for its end, which follows that of the guest, until this time."""
        try:
            code = self.process.wait(max(0.1, limit - time.monotonic()))
        except subprocess.TimeoutExpired:
            code = "no"
        good, seen = self._look(code)
        return Outcome(self.name, "the device was served to the end", good, seen)

    def _look(self, code: int | str) -> tuple[bool, str]:
        complaints = self._err.read_text().splitlines()
        if code != 0:
            return False, " ".join([f"exit code {code}", *complaints[-SHOWN:]])
        # A doorbell of a drive that was reset or removed is refused; all else is a fault.
        faults = [line for line in complaints if "was refused" not in line]
        if faults:
            return False, faults[0]
        fields = dict(
            line.strip().split(maxsplit=1)
            for line in self._out.read_text().splitlines()
            if len(line.split(maxsplit=1)) == 2
        )
        if self.mapped is not None and fields["mapped"] != f"{self.mapped:,} bytes":
            return False, f"{fields['mapped']} of its memories can be mapped, not {self.mapped:,}"
        names = ("commands", "failed", "cycles", "refused")
        return True, ", ".join(f"{fields[name]} {name}" for name in names if name in fields)

    def close(self) -> None:
        """End it, if it has not ended."""
        self.process.kill()
        self.process.wait()


def serve(folder: Path, amounts: Amounts) -> list[Device]:
    """Serve our devices, in the order of `steps.COMMON`: the SSD model, and the cards."""
    devices = [Device(folder, "model", None, ["ssd", "--size", str(amounts.drive)])]
    for name, memory in (("card", "onchip"), ("DRAM card", "dram"), ("host DRAM card", "host")):
        options = ["streamer", "--memory", memory, "--queue-depth", str(DEPTH)]
        devices.append(Device(folder, name, MAPPED[memory], options))
        if memory != "host":
            trapped = [*options, "--trap-payload"]
            devices.append(Device(folder, f"{name}, trapped", None, trapped))
    for device in devices:
        device.listen()
    return devices


def prepare(share: Path, amounts: Amounts, steps: Iterable[Step]) -> None:
    """Put data and scripts where the guest finds them."""
    share.mkdir(parents=True)
    (share / DATA).write_bytes(random.Random(1).randbytes(amounts.data))
    (share / "common.sh").write_text(COMMON)
    # The last line that a step prints is what is seen of it.
    script = "".join(
        f"echo '{MARK}begin {step.name}'\n"
        f"code=0; sh -ec '. ./common.sh; . ./{step.name}.sh' >{step.name}.log 2>&1 || code=$?\n"
        f'echo "{MARK}end {step.name} $code $(tail -n 1 {step.name}.log)"\n'
        for step in steps
    )
    (share / "all.sh").write_text(script)
    for step in steps:
        (share / f"{step.name}.sh").write_text(step.script)


def drives(folder: Path, amounts: Amounts) -> list[str]:
    """Return the options for QEMU's drives."""
    small, large, failing = (folder / name for name in (SMALL_BLOCKS, LARGE_BLOCKS, FAILING))
    two = f"{small}:size={amounts.drive},mdts=1MiB+{large}:size={amounts.drive},block=4096"
    errors = f"error=write@{BAD_WRITE_LBA},error=read@{BAD_READ_LBA}"
    return ["--ssd", two, "--ssd", f"{failing}:size={4 * MIB},mdts={8 * KIB},{errors}"]


def boot(folder: Path, amounts: Amounts, devices: list[Device], timeout: int) -> tuple[str, str]:
    """Run the scripts in the guest.

    Returns
    -------
    str
        What the guest printed.
    str
        Why it did not come to its end; empty if it did.
    """
    options = [*drives(folder, amounts), "--iommu", "translate", "--share", folder / "share"]
    options += ["--serial-log", folder / "serial.log", "--timeout", f"{timeout}s"]
    for device in devices:
        options += ["--device", device.socket]
    command = [PROGRAM, "vm", "run", *map(str, options), "--", "sh", "-c", "sh ./all.sh 2>&1"]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        text=True,
        errors="replace",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=(folder / "run.err").open("w"),
    ) as process:
        assert process.stdout is not None
        said = []
        for line in process.stdout:
            said.append(line)
            if line.startswith(f"{MARK}begin"):
                print(f"[{line.split()[-1]}]", file=sys.stderr, flush=True)
    return "".join(said), (folder / "run.err").read_text() if process.returncode else ""


def outcomes(said: str, steps: list[Step], folder: Path, amounts: Amounts) -> list[Outcome]:
    """Read from what the guest printed how each step ended, and look at what it left."""
    lines = [line.removeprefix(MARK) for line in said.splitlines() if line.startswith(MARK)]
    begun = {line.split()[1] for line in lines if line.startswith("begin ")}
    ended = {}
    for line in lines:
        if line.startswith("end "):
            _, name, code, *seen = line.split(" ", 3)
            ended[name] = (code == "0", "".join(seen).strip())
    found = []
    for step in steps:
        good, seen = ended.get(
            step.name, (False, "it did not end" if step.name in begun else "it was not reached")
        )
        if not good:
            # The last line alone says too little.
            log = folder / "share" / f"{step.name}.log"
            last = log.read_text(errors="replace").splitlines()[-SHOWN:] if log.exists() else []
            seen = "\n".join(last) or seen
        elif step.check:
            try:
                seen = step.check(folder, amounts)
            except Wrong as wrong:
                good, seen = False, str(wrong)
            except KeyError as missing:
                good, seen = False, f"a report lacks {missing}"
        found.append(Outcome(step.name, step.shows, good, seen))
    return found


def run(folder: Path, *, full: bool = False, only: Sequence[str] = (), timeout: int = 1800) -> dict:
    """Run the steps of these names, or all, and return the report.

    Parameters
    ----------
    folder : Path
        Images, scripts, logs and reports are left here.
    timeout : int
        Seconds after which the guest is given up.

    Raises
    ------
    ValueError
        If there is no step of such a name.
    """
    started = time.monotonic()
    amounts = FULL if full else SHORT
    steps = all_steps(amounts)
    unknown = set(only) - {step.name for step in steps}
    if unknown:
        known = ", ".join(step.name for step in steps)
        raise ValueError(f"there is no step {', '.join(sorted(unknown))}; there are: {known}")
    steps = [step for step in steps if not only or step.name in only]
    prepare(folder / "share", amounts, steps)
    version = subprocess.run([PROGRAM, "--version"], text=True, capture_output=True, check=True)
    with ExitStack() as stack:
        devices = serve(folder, amounts)
        for device in devices:
            stack.callback(device.close)
        said, complaint = boot(folder, amounts, devices, timeout)
        limit = time.monotonic() + DEVICE_SECONDS
        served = [device.end(limit) for device in devices]
    # A guest that has not come to its end also has steps to tell of.
    found = [*outcomes(said, steps, folder, amounts), *served]
    return {
        "schema": SCHEMA,
        "version": version.stdout.split()[-1],
        "command_line": sys.argv,
        "simulated": True,
        "full": full,
        "host_seconds": time.monotonic() - started,
        "complaint": complaint,
        "steps": [asdict(outcome) for outcome in found],
    }


def main() -> int:
    """Run the command line; returns the exit status: 3 if a step failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--full",
        action="store_true",
        help="move 64 MiB, not 2, and let queues go round 1,000 times",
    )
    parser.add_argument("--step", action="append", default=[], help="only this one; repeatable")
    parser.add_argument("--keep", type=Path, help="copy images, scripts and logs into this folder")
    parser.add_argument("--timeout", type=int, default=1800, help="seconds for the guest")
    parser.add_argument("--json", type=Path, help="where the report goes")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="forebay-vm-test-") as place:
        folder = Path(place)
        try:
            report = run(folder, full=options.full, only=options.step, timeout=options.timeout)
        except ValueError as error:
            parser.error(str(error))
        if options.keep:
            shutil.copytree(
                folder, options.keep, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.sock")
            )
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n")
    for step in report["steps"]:
        print(f"{'✓' if step['good'] else '✗'} {step['name']}: {step['seen']}")
    if report["complaint"]:
        print(report["complaint"], file=sys.stderr)
    good = not report["complaint"] and all(step["good"] for step in report["steps"])
    return 0 if good else 3


if __name__ == "__main__":
    sys.exit(main())
