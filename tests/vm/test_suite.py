# SPDX-License-Identifier: Apache-2.0
"""`forebay vm test`: all that is to be shown in a guest, in its short form."""

from __future__ import annotations

from pathlib import Path

from driving import IMPOSSIBLE, Run

STEPS = ["linux", "peers", "stream", "trapped", "formats", "wraps", "errors", "recorder"]
STEPS += ["reset", "removal"]
DEVICES = ["card", "trapped card", "model"]


def test_all_steps_go_through(forebay: Run, tmp_path: Path) -> None:
    """RTL, driver and models beside Linux's and QEMU's own; the raw images hold what was sent."""
    answer = forebay("vm", "test", "--json", "-", "--keep", tmp_path / "kept", code=None)
    report = answer.report
    wrong = [f"{step['name']}: {step['seen']}" for step in report["steps"] if not step["good"]]
    assert not wrong, "\n".join(wrong)
    assert answer.code == 0
    assert report["schema"] == "forebay.vm-test/1"
    assert [step["name"] for step in report["steps"]] == STEPS + DEVICES
    share = tmp_path / "kept" / "share"
    sent = (share / "data.bin").read_bytes()
    image = (tmp_path / "kept" / "small-blocks.img").read_bytes()
    wrapped = (share / "wraps-64.json").stat().st_size
    assert wrapped > 0
    # The steps behind have written over its first bytes again, with the same bytes.
    assert image[: len(sent)] == sent


def test_a_guest_that_takes_too_long(forebay: Run) -> None:
    """The suite ends with its time, says what it waited for, and leaves no process."""
    answer = forebay("vm", "test", "--step", "stream", "--timeout", 2, code=IMPOSSIBLE)
    assert "did not happen within 2s" in answer.complaint
