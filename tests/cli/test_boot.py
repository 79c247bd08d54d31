# SPDX-License-Identifier: Apache-2.0
"""`forebay boot`: drives come up without a CPU, by the RTL and by the interpreted program."""

from __future__ import annotations

import re
import signal
import subprocess
import time

import pytest
from driving import BAD_INPUT, BAD_RESULT, GOOD, INTERRUPTED, PROGRAM, ROOT, Run

# What differs: the RTL takes other times than the interpreter.
OWN = {"top", "time_us", "steps", "ready_after_us"}


QEMU = ("--on", "qemu", "--ssd", "a.img")
# Options that say what models do.
OF_MODELS = [
    ("--profile", "ideal"),
    ("--drives", "1"),
    ("--levels", "1"),
    ("--link", "1us"),
    ("--fault", "no-link"),
    ("--clock", "4ns"),
    ("--interpreted",),
]


def both(forebay: Run, *words: object, code: int = GOOD) -> dict:
    """Bring up by RTL and interpreter; return what the RTL came to, which is the same."""
    reports = [
        forebay("boot", *words, *how, "-o", "json", code=code).report
        for how in ([], ["--interpreted"])
    ]
    rtl, interpreted = reports
    assert (rtl["top"], interpreted["top"]) == ("fb_top_boot", None)
    assert rtl["schema"] == "forebay.boot/1"
    for name, value in rtl.items():
        assert name in OWN or value == interpreted[name], name
    return rtl


@pytest.mark.parametrize(
    ("words", "drives"),
    [
        ((), 1),
        (("--drives", 8), 8),
        (("--drives", 2, "--levels", 3, "--profile", "ideal"), 2),
    ],
)
def test_drives_come_up(forebay: Run, words: tuple, drives: int) -> None:
    """Wherever they are; each with its BAR, strings, namespace and queues."""
    report = both(forebay, *words)
    rows = report["drives"]
    assert (report["code"], report["counts"], report["stray"]) == (0, {}, 0)
    assert len(rows) == drives and all(row["ready"] and row["code"] == 0 for row in rows)
    assert [row["serial"] for row in rows] == [f"FOREBAY{n + 1:04}" for n in range(drives)]
    places = sorted((row["bar"], row["bar_bytes"]) for row in rows)
    for (bar, size), (above, _) in zip(places, [*places[1:], (2**32, 0)], strict=True):
        assert bar % size == 0 and bar + size <= above
    console = report["console"]
    assert console.count("INFO: NVMe SSD Controller is Forebay ideal (Rev ") == drives
    assert "INFO: PCIe Root Port link is established as Gen3 x4\n" in console
    # From the drive's RDY until its queues are there.
    assert drives > 1 or 0 < report["ready_after_us"] <= 250


@pytest.mark.parametrize(
    ("fault", "codes", "ready"),
    [
        ("0/silent=5", {"8": 1}, [False, True]),
        ("0/silent=9", {"6": 1}, [False, True]),
        ("1/silent=25", {"10": 1}, [True, False]),
        ("0/retry=5", {}, [True, True]),
    ],
)
def test_a_drive_fails(forebay: Run, fault: str, codes: dict, ready: list[bool]) -> None:
    """Its code is kept, counted and shown; the other drive does not suffer."""
    report = both(forebay, "--drives", 2, "--fault", fault)
    assert (report["code"], report["counts"]) == (0, codes)
    assert [row["ready"] for row in report["drives"]] == ready
    assert all(f": ERROR {code} at " in report["console"] for code in codes)


@pytest.mark.parametrize(
    ("words", "code", "name"),
    [
        (("--fault", "link-down=60", "--drives", 2), 22, "link lost"),
        (("--fault", "fatal=1200us", "--watch", "3ms"), 23, "drive died"),
        (("--drives", 0, "--levels", 1), 9, "no drive"),
        (("--levels", 5), 3, "too deep"),
        (("--drives", 2, "--fault", "silent=25", "--together"), 9, "no drive"),
    ],
)
def test_it_fails(forebay: Run, words: tuple, code: int, name: str) -> None:
    """The program ends with its code."""
    report = both(forebay, *words, code=BAD_RESULT)
    assert (report["code"], report["name"]) == (code, name)
    assert report["counts"][str(code)] == 1


def test_time_passes_in_the_interpreter(forebay: Run) -> None:
    """The bounds of seconds: no link, and retries without end."""
    words = ("boot", "--interpreted", "-o", "json", "--fault")
    assert forebay(*words, "no-link", code=BAD_RESULT).report["time_us"] > 2_000_000
    report = forebay(*words, "retry=1000000", code=BAD_RESULT).report
    assert report["counts"] == {"5": 1, "9": 1} and report["time_us"] > 1_000_000


def test_a_console_that_is_slower(forebay: Run) -> None:
    """At a clock of 1 us bounds of seconds pass quickly; what the console drops is told."""
    report = forebay("boot", "--clock", "1us", "--drives", 8, "-o", "json").report
    assert report["code"] == 0 and report["console_dropped"] > 0
    report = forebay("boot", "--clock", "1us", "--fault", "no-link", "-o", "json", code=3).report
    assert (report["code"], report["counts"]) == (1, {"1": 1})


def test_ports_that_pause(forebay: Run) -> None:
    """The RTL comes to the same at ports that pause at random, for each seed."""
    words = ("boot", "--drives", 2, "-o", "json")
    straight = forebay(*words).report
    for seed in range(1, 4):
        paused = forebay(*words, "--stall", "0.4:20", "--seed", seed).report
        # Drives have serial numbers by the seed.
        said = [re.sub(r"FOREBAY\d+", "", of["console"]) for of in (paused, straight)]
        assert said[0] == said[1] and paused["counts"] == {}
        assert paused["steps"] > straight["steps"]


def test_ctrl_c(forebay: Run) -> None:
    """Ends a bring-up that would take minutes, at once."""
    forebay("boot")  # builds the RTL
    command = [str(PROGRAM), "boot", "--fault", "no-link"]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        # The handler is there before the simulation begins; no output tells when that is.
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=60)
    assert process.returncode == INTERRUPTED and "interrupted" in complaint


def test_text(forebay: Run) -> None:
    """Console, table and verdict; code 3 where no drive is ready."""
    good = forebay("boot", "--interpreted").out
    assert "--00:00.0 - Device/Vendor:0x" in good and "✓ 1 of 1 drives are ready" in good
    bad = forebay("boot", "--interpreted", "--fault", "silent=9", code=BAD_RESULT).out
    assert "6: capability list" in bad and "failed with code 9, no drive" in bad


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--fault", "3/silent=1"), "there are 1 drives, counted from 0"),
        (("--fault", "melt"), "is no fault"),
        (("--levels", 0, "--drives", 2), "a port has one link"),
        (("--clock", "3ns"), "does not divide a microsecond"),
        (("--reset", "11s"), "is over 10s"),
        (("--stall", "read=0.5"), "names a port"),
        (("--queue-entries", 65), "is no power of two from 2 to 1024"),
        (("--profile", "nothing"), "nothing"),
        (("--interpreted", "--stall", "0.1"), "cannot be used with"),
        (("--on", "qemu"), "--ssd"),
        (("--ssd", "a.img"), "--on"),
        (("--record", "1MiB"), "--on"),
        ((*QEMU, "--record", 1000), "no whole chunks of 128KiB"),
        *(((*QEMU, *option), option[0]) for option in OF_MODELS),
    ],
)
def test_refused(forebay: Run, words: tuple, complaint: str) -> None:
    """Bad input ends with code 2 and says what is wrong."""
    answer = forebay("boot", *words, code=BAD_INPUT)
    assert complaint in answer.complaint
