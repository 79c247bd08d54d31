# SPDX-License-Identifier: Apache-2.0
"""`forebay vm test`: all that is to be shown in a guest, in its short form."""

from __future__ import annotations

from pathlib import Path

from driving import IMPOSSIBLE, Run

STEPS = ["linux", "peers", "stream", "dram", "host", "trapped", "formats", "wraps", "errors"]
STEPS += ["recorder", "reset", "removal"]
DEVICES = ["model", "card", "card, trapped", "DRAM card", "DRAM card, trapped", "host DRAM card"]


def test_all_steps_go_through(forebay: Run, tmp_path: Path) -> None:
    """RTL, driver and models beside Linux's and QEMU's own; the raw images hold what was sent."""
    kept = tmp_path / "kept"
    answer = forebay("vm", "test", "--timeout", "540s", "-o", "json", "--keep", kept, code=None)
    report = answer.report
    wrong = [f"{step['name']}: {step['seen']}" for step in report["steps"] if not step["good"]]
    assert not wrong, "\n".join(wrong)
    assert answer.code == 0
    assert report["schema"] == "forebay.vm-test/1"
    assert [step["name"] for step in report["steps"]] == STEPS + DEVICES
    sent = (kept / "share" / "data.bin").read_bytes()
    with (kept / "small-blocks.img").open("rb") as image:
        assert image.read(len(sent)) == sent


def test_a_guest_that_takes_too_long(forebay: Run) -> None:
    """The suite ends with its time, says what it waited for, and how far it came."""
    answer = forebay("vm", "test", "--step", "stream", "--timeout", "2s", code=IMPOSSIBLE)
    assert "did not happen within 2s" in answer.complaint
    assert "it was not reached" in answer.out
