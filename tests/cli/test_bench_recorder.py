# SPDX-License-Identifier: Apache-2.0
"""`forebay bench recorder`: sessions and a source that cannot wait, by the RTL without a CPU."""

from __future__ import annotations

import re

import pytest
from driving import BAD_INPUT, BAD_RESULT, GOOD, Run

TOP = "fb_top_recorder"
CHUNK = 128 << 10
# One RTL for most tests: building it takes as long as they do. A slow clock has fewer cycles; its
# stream still carries 3.2 GB/s.
RTL = ("--clock", "20ns", "--fifo", "10MiB")
FAST_DRIVE = ("--profile", "990pro-2tb")


def record(forebay: Run, *words: object, code: int = GOOD) -> dict:
    """Run the bench; return its report, in which nothing went astray."""
    report = forebay("bench", "recorder", *words, "-o", "json", code=code).report
    assert (report["schema"], report["top"], report["stray"]) == ("forebay.recorder/1", TOP, 0)
    for session in report["sessions"]:
        assert session["top"] == TOP
        assert session["offered"] == session["stored"] + session["lost"]
    return report


def gapless(forebay: Run, *words: object, rate: str = "2GB/s") -> dict:
    """Record from a source that cannot wait; return what came of it."""
    words = (*FAST_DRIVE, "--gapless", "--rate", rate, *words)
    found = record(forebay, *words)["gapless"]
    assert found["top"] == TOP and found["wrong"] == []
    assert found["offered"] == found["stored"] + found["lost"]
    # All that was stored went through the memory of the FIFO.
    assert found["fifo_memory_bytes"] == [found["stored"]] * 2
    return found


def test_the_clock_of_a_design(forebay: Run) -> None:
    """From CSTS.RDY to the first byte within 250 us, and the drive's rates."""
    report = record(forebay, "--chunks", "1,2,16")
    assert report["models"]["fifo_memory"] is None and report["clock_hz"] == 250e6
    of = report["bring_up"]
    assert 0 < of["ready_after_us"] <= of["first_byte_after_us"] <= 250
    assert of["media_bytes"] == 250_059_292_672  # as MLE's log has it
    sessions = report["sessions"]
    assert [session["chunks"] for session in sessions] == [1, 2, 16]
    assert [session["address"] for session in sessions] == [0, CHUNK, 3 * CHUNK]
    for session in sessions:
        assert session["wrong"] == []
        last = session["address"] + (session["chunks"] - 1) * CHUNK
        for moved in (session["write"], session["read"]):
            assert (moved["last"], moved["bytes"]) == (last, session["chunks"] * CHUNK)
            rate = moved["bytes"] / moved["seconds"] / 2**20
            assert moved["mebibytes_per_second"] == pytest.approx(rate)
    # The drive takes 84.4 us for 128 KiB; reads of 16 chunks are no slower than MLE's.
    assert sessions[2]["write"]["seconds"] == pytest.approx(16 * 84.4e-6, rel=0.1)
    assert sessions[2]["read"]["mebibytes_per_second"] >= 1482


@pytest.mark.parametrize("seed", [1, 2])
def test_ports_that_pause(forebay: Run, seed: int) -> None:
    """Whatever waits for whatever: every byte is stored and read back."""
    words = ("--chunks", "1,5", "--stall", "0.4:20", "--seed", seed)
    report = record(forebay, *RTL, *FAST_DRIVE, *words)
    assert [session["wrong"] for session in report["sessions"]] == [[], []]
    assert report["models"]["fifo_memory"] == "ddr4-2400"


def test_rates_that_are_asked_for(forebay: Run) -> None:
    """A slow source and a slow reader set the pace."""
    words = ("--chunks", 16, "--rate", "1GB/s", "--read-rate", "500MB/s")
    (session,) = record(forebay, *RTL, *FAST_DRIVE, *words)["sessions"]
    assert session["wrong"] == []
    for direction, rate in (("write", 1e9), ("read", 0.5e9)):
        moved = session[direction]
        assert 0.85 * rate < moved["bytes"] / moved["seconds"] <= 1.01 * rate


def test_no_byte_is_lost(forebay: Run) -> None:
    """A FIFO of 10 MiB is enough for a pause of 5 ms at 2 GB/s, which falls into these 50 ms."""
    found = gapless(forebay, *RTL, "--pause-every", "60MB", "--pause", "5ms", "--for", "50ms")
    assert (found["lost"], found["gaps"]) == (0, 0)
    assert found["offered"] == pytest.approx(100e6, rel=0.01)
    assert 4_900 < found["longest_wait_us"] < 5_100
    # What comes in the pause, but for what was with the drive.
    assert 10e6 - 8 * CHUNK < found["fifo_high_water"] < 10 << 20


def test_gaps_are_what_was_lost(forebay: Run) -> None:
    """More comes in the pause than the FIFO holds: whole chunks are lost, and counted."""
    words = ("--pause-every", "8MB", "--pause", "5ms", "--for", "8ms")
    found = gapless(forebay, *RTL, *words, rate="3GB/s")
    # Beside the FIFO, up to 8 chunks are with the drive.
    without_room = 5e-3 * 3e9 - (10 << 20)
    assert without_room - 8 * CHUNK < found["lost"] <= without_room
    assert found["lost"] > 0 and found["gaps"] == len(found["records"]) > 0
    assert found["gap_bytes"] == found["lost"]
    for gap in found["records"]:
        assert gap["bytes"] % CHUNK == 0 and gap["after"] % CHUNK == 0


@pytest.mark.nightly
@pytest.mark.parametrize("fifo", ["10MiB", "5MiB"])
def test_a_second_of_pauses(forebay: Run, fifo: str) -> None:
    """200 MB lie between pauses: with 10 MiB nothing is lost in a second, with half some is."""
    words = ("--clock", "10ns", "--fifo", fifo, "--pause-every", "200MB", "--pause", "5ms")
    found = gapless(forebay, *words, "--for", "1s")
    assert found["gap_bytes"] == found["lost"]
    assert (found["lost"] > 0) == (fifo == "5MiB")


@pytest.mark.nightly
@pytest.mark.parametrize("drives", [2, 3, 8])
def test_several_drives(forebay: Run, drives: int) -> None:
    """They are one address space of stripes."""
    report = record(forebay, *FAST_DRIVE, "--drives", drives, "--chunks", "1,7,16")
    assert [session["wrong"] for session in report["sessions"]] == [[], [], []]
    assert len(report["bring_up"]["drives"]) == drives
    assert report["sessions"][2]["stored"] == 16 * CHUNK


@pytest.mark.nightly
def test_the_whole_table_of_the_rtl(forebay: Run) -> None:
    """Up to 256 chunks."""
    report = record(forebay, "--full")
    assert [session["chunks"] for session in report["sessions"]] == [1 << n for n in range(9)]
    assert all(session["wrong"] == [] for session in report["sessions"])


def test_a_drive_that_refuses_writes(forebay: Run) -> None:
    """The recorder stops, says where and why, and all adds up. The next session is elsewhere."""
    words = ("--chunks", 6, "--fault", "fail=0x80@lba=512..513:100")
    report = record(forebay, *RTL, *FAST_DRIVE, *words, code=BAD_RESULT)
    failed, again = report["sessions"]
    assert failed["write"]["code"] != 0 and failed["write"]["failed"] == 2 * CHUNK
    assert failed["wrong"] == ["writing has failed"] and failed["read"] is None
    assert failed["lost"] >= CHUNK and failed["stored"] >= 2 * CHUNK
    assert again["again"] and again["wrong"] == [] and again["address"] == 6 * CHUNK


def test_a_drive_that_dies(forebay: Run) -> None:
    """What was under way ends with a code. The drive comes up again, and records again."""
    words = ("--chunks", 40, "--fault", "fatal@2ms")
    report = record(forebay, *RTL, *FAST_DRIVE, *words, code=BAD_RESULT)
    assert report["bring_up"]["counts"] == {"23": 1}
    assert "drive died: ERROR 23 at 01:00.0" in report["bring_up"]["console"]
    failed, again = report["sessions"]
    assert (failed["write"]["code"], failed["wrong"]) == (10, ["writing has failed"])
    assert failed["lost"] > 0 and failed["write"]["failed"] == failed["write"]["last"] + CHUNK
    assert again["again"] and again["wrong"] == [] and again["stored"] == 40 * CHUNK


@pytest.mark.parametrize("fault", ["write@64KiB..68KiB", "read@0..64"], ids=["writes", "reads"])
def test_memory_that_fails(forebay: Run, fault: str) -> None:
    """The recorder counts errors of the FIFO's memory."""
    words = ("--chunks", 2, "--dram-fault", fault)
    report = record(forebay, *RTL, *FAST_DRIVE, *words, code=BAD_RESULT)
    wrong = report["sessions"][0]["wrong"]
    assert wrong[0] == "the memory of the FIFO has answered with errors"
    # A read that is refused has its data nevertheless in the model.
    assert ("the drives hold other bytes" in wrong) == fault.startswith("write")


def test_text(forebay: Run) -> None:
    """Console, table and verdict."""
    out = forebay("bench", "recorder", *RTL, *FAST_DRIVE, "--chunks", 1).out
    assert "INFO: NVMe SSD Controller is Forebay model of a 990 PRO 2TB" in out
    assert re.search(r"first byte accepted +\d+\.\d us", out)
    assert "ddr4-2400, model" in out and "✓ all was stored and read back" in out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--chunks", 0), "0 is not in 1..=256"),
        (("--chunks", "1,257"), "257 is not in 1..=256"),
        (("--chunk-bytes", "8KiB"), "is no power of two from 16KiB to 1MiB; choose 128KiB"),
        (("--fifo", 4097), "fifo_bytes is 4097, but it is a multiple of 4 KiB from 270336"),
        (("--fifo", "2GiB"), "to 1 GiB, or 0: on chip"),
        (("--gapless",), "--rate"),
        (("--for", "1ms"), "--gapless"),
        (("--gapless", "--rate", "17GB/s"), "but at this clock the stream carries 1000000 to"),
        (("--gapless", "--rate", "1GB/s", "--for", "0us"), "it is 1 us to 10 s"),
        (("--gapless", "--rate", "1GB/s", "--chunks", 1), "cannot be used with"),
        (("--drives", 9), "9 is not in 1..=8"),
        (("--drives", 2, "--fault", "2/fatal@1ms"), "but the drives are 0 to 1"),
        (("--drives", 8, "--queue-entries", 256), "has a power of two from 2 to 128"),
        (("--profile", "ideal", "--pause", "1ms"), "this profile has no timing"),
        (("--dram-fault", "read@0..64"), "the stream FIFO is on chip"),
        (("--dram", "nothing"), "nothing"),
        (("--clock", "3ns"), "does not divide a microsecond"),
        (("--stall", "read=0.5"), "names a port"),
        (("--profile", "nothing"), "nothing"),
    ],
)
def test_refused(forebay: Run, words: tuple, complaint: str) -> None:
    """Bad input ends with code 2 and says what is wrong."""
    answer = forebay("bench", "recorder", *words, code=BAD_INPUT)
    assert complaint in answer.complaint
