# SPDX-License-Identifier: Apache-2.0
"""`forebay plan`: what a recording needs, how long drives take it, and its simulation."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from driving import BAD_INPUT, INFEASIBLE, ROOT, Run

NIGHTLY = pytest.mark.nightly
BURSTS = ("--rate", "12GB/s", "--burst", "8MiB", "--every", "4ms", "--total", "1GB")


def plan(forebay: Run, *line: object, code: int = 0) -> dict:
    """Plan with one profile; returns what is said of it."""
    (found,) = plans(forebay, *line, code=code)
    return found


def plans(forebay: Run, *line: object, code: int = 0) -> list[dict]:
    """Plan with each profile that is named."""
    report = forebay("plan", *line, "-o", "json", code=code).report
    assert report["schema"] == "forebay.plan/2" and report["simulated"] is True
    return report["plans"]


def test_a_steady_rate_needs_no_buffer(forebay: Run) -> None:
    """One drive, the smallest memory; what limits is named; the simulation loses nothing."""
    report = plan(forebay, "--rate", "5GB/s", "--total", "1GB")
    answer = report["plan"]
    assert (answer["drives"], answer["memory"]) == (1, "onchip")
    assert answer["bottleneck"] == "drives" and answer["waiting"]["bytes"] == 0
    found = report["verification"]
    assert found["lost_bytes"] == 0 < found["most_bytes"] <= found["fifo_bytes"]
    assert found["stored_bytes_per_second"] == pytest.approx(5e9, rel=0.02)


def test_bursts_need_a_buffer_and_less_loses(forebay: Run) -> None:
    """The planned FIFO holds; half of it does not, so that the verification can fail."""
    report = plan(forebay, *BURSTS, "--memory", "onchip")
    answer, found = report["plan"], report["verification"]
    assert answer["waiting"]["bytes"] > 4 << 20
    assert found["lost_bytes"] == 0 and found["half_loses"] is True
    half = answer["fifo_bytes"] // 2
    report = plan(forebay, *BURSTS, "--memory", "onchip", "--fifo", half, code=INFEASIBLE)
    assert report["possible"] is True and report["verification"]["lost_bytes"] > 0


def test_a_larger_memory_takes_the_burst(forebay: Run) -> None:
    """Where the on-chip memory does not suffice, on-board DRAM is taken."""
    report = plan(forebay, *BURSTS)
    assert report["plan"]["memory"] == "dram"
    assert report["plan"]["fifo_bytes"] == 16 << 10
    assert report["verification"]["lost_bytes"] == 0


def test_more_comes_than_one_drive_takes(forebay: Run) -> None:
    """The number of drives follows from the rate and from how long the recording is."""
    report = plan(forebay, "--rate", "7GB/s", "--total", "1GB")
    found = report["verification"]
    assert report["plan"]["drives"] == 2 and found["lost_bytes"] == 0
    assert found["stored_bytes_per_second"] > 6.5e9, "more than one drive takes"
    # A long one fills the cache: then each takes 1.4 GB/s.
    report = plan(forebay, "--rate", "7GB/s", "--no-verify")
    assert report["plan"]["drives"] == 6 and report["plan"]["state"] == "with its cache full"
    assert report["verification"] is None


def test_what_is_not_possible_is_said(forebay: Run) -> None:
    """No buffer helps where too little is stored on average."""
    answer = forebay("plan", "--rate", "7GB/s", "--total", "1GB", "--drives", 1, code=INFEASIBLE)
    assert "infeasible" in answer.out and "no buffer helps" in answer.out
    report = plan(forebay, "--rate", "20GB/s", "--wire", "none", "--total", "1GB", code=INFEASIBLE)
    assert report["possible"] is False
    assert report["plan"]["bottleneck"] in ("card's link", "DRAM", "datapath")
    assert report["plan"]["stages"][0]["name"] == "datapath"


def test_bursts_too_long_to_simulate(forebay: Run) -> None:
    """Then the plan is of arithmetic alone, and says so."""
    line = ("--rate", "6GB/s", "--burst", "1GB", "--every", "1s", "--total", "1GB")
    report = plan(forebay, *line)
    assert report["verification"] is None
    assert any("--verify-bytes" in note for note in report["notes"])


@pytest.mark.parametrize("rate", ["96Gb/s", "12GB/s", "12 GB/s", "12000 MB/s"])
def test_rates_in_bits_and_bytes(forebay: Run, rate: str) -> None:
    """Both are taken, and the wire carries what `forebay bench net` measures: 12.36 GB/s."""
    found = plan(forebay, "--rate", rate, "--total", "1GB", "--no-verify")
    assert found["source"]["bytes_per_second"] == 12e9
    wire = found["plan"]["stages"][0]
    assert wire["bytes_per_second"] == pytest.approx(12.5e9 * 8940 / 9038, rel=1e-9)
    usual = plan(forebay, "--rate", "1GB/s", "--mtu", 1500, "--no-verify", "--total", "1GB")
    wire = usual["plan"]["stages"][0]
    assert wire["bytes_per_second"] == pytest.approx(12.5e9 * 1440 / 1538, rel=1e-9)


def test_drives_get_full_and_worn(forebay: Run) -> None:
    """Recording time and endurance follow from capacity, rating and what a day brings."""
    line = ("--rate", "8GB/s", "--no-verify", "--profile", "9550max-6400")
    found = plan(forebay, *line)
    life, drives = found["life"], found["plan"]["drives"]
    assert drives == 1 and found["possible"]
    assert life["seconds_until_full"] == pytest.approx(6_401_252_745_216 / 8e9)
    assert life["drive_writes_per_day"] == pytest.approx(8e9 * 86400 / 6_401_252_745_216)
    assert life["rated_drive_writes_per_day"] == pytest.approx(3.0, abs=0.001)
    assert life["years"] == pytest.approx(74_200e12 / (8e9 * 86400 * 365))
    assert life["volatile_cache"] is False
    # A tenth of the day: ten times the years. Parity takes a drive, spares are bought besides.
    tenth = plan(forebay, *line, "--per-day", "69120GB")["life"]
    assert tenth["years"] == pytest.approx(10 * life["years"])
    assert tenth["seconds_until_full"] == life["seconds_until_full"]
    found = plan(forebay, *line, "--parity", "--spares", 1)
    assert found["plan"]["drives"] == 2 and found["plan"]["spares"] == 1
    assert found["life"]["capacity_bytes"] == life["capacity_bytes"]
    assert found["life"]["years"] == pytest.approx(life["years"])
    # Nothing is made up for a drive of which nothing is known.
    found = plan(forebay, "--rate", "500MB/s", "--no-verify", "--profile", "pm953-480")
    assert found["life"]["years"] is None
    assert any("nothing is known" in note for note in found["notes"])


def test_the_answer_says_what_it_rests_on(forebay: Run) -> None:
    """The number that decides most stands first, with its kind and source, as in the profile."""
    line = ("--rate", "7GB/s", "--no-verify", "--profile", "gen5-2tb")
    first = plan(forebay, *line)["rests_on"][0]
    assert first["field"] == "ssd.timing.write.full_bytes_per_second"
    assert (first["value"], first["kind"]) == (4_000_000_000, "chosen")
    assert first["source"] == "nothing is published" and first["change_percent"] > 5
    text = forebay("plan", *line).out
    assert "rests on full_bytes_per_second 4.00 GB/s: guessed" in text
    # Where a link limits, that one is named, too.
    line = ("--rate", "20GB/s", "--wire", "none", "--total", "1GB", "--memory", "onchip")
    found = plan(forebay, *line, code=INFEASIBLE)
    assert found["plan"]["bottleneck"] == "card's link"
    (limit,) = [one for one in found["rests_on"] if one["decides"] == "bottleneck"]
    assert limit["field"] == "fabric.fpga.bytes_per_second"


def test_profiles_side_by_side(forebay: Run) -> None:
    """Each has a row, and the same plan as alone; feasible with one of them is feasible."""
    names = ("990pro-2tb", "9550max-6400", "pm9d3a-7680")
    line = ("--rate", "10GB/s", "--no-verify", "--drives", 1)
    several = [word for name in names for word in ("--profile", name)]
    found = plans(forebay, *line, *several, code=None)
    assert [one["profile"] for one in found] == list(names)
    for name, one in zip(names, found, strict=True):
        assert plan(forebay, *line, "--profile", name, code=None) == one
    line = ("--rate", "8GB/s", "--no-verify", "--drives", 1)
    text = forebay("plan", *line, *several).out
    rows = [row for row in text.splitlines() if row.strip().startswith(("✓", "✗"))]
    assert all(name in row for name, row in zip(names, rows[:3], strict=True)), text
    assert "feasible with 9550max-6400" in rows[-1]
    forebay("plan", *line, "--profile", "990pro-2tb", "--profile", "pm9d3a-7680", code=INFEASIBLE)


@pytest.mark.parametrize("seed", [1, 2, *(pytest.param(n, marks=NIGHTLY) for n in range(3, 33))])
def test_no_answer_contradicts_the_simulation(forebay: Run, seed: int) -> None:
    """What is feasible by arithmetic loses nothing on RTL, whatever drives and bursts."""
    rng = random.Random(seed)
    rate = rng.randrange(500, 12_300)
    line = ["--rate", f"{rate}MB/s", "--total", "1GB", "--seed", seed, "--memory", "onchip"]
    line += ["--profile", rng.choice(["990pro-2tb", "9550max-6400", "pm9d3a-7680", "ideal"])]
    if rng.random() < 0.7:
        burst = rng.randrange(1 << 16, 8 << 20)
        every = int(burst / rate * rng.uniform(1.1, 8)) + 1
        line += ["--burst", burst, "--every", f"{every}us"]
    found = plan(forebay, *line, code=None)
    simulated = found["verification"]
    if simulated:
        assert found["possible"] and simulated["lost_bytes"] == 0, line
    else:
        # A second of bursts is too long to simulate, and is said to be.
        assert not found["possible"] or "not simulated" in found["notes"][0], line


PAUSES = ("--pause", "5ms", "--pause-every", "30MB")
RECORDER = ("--recorder", "--rate", "2GB/s", "--total", "100GB")


def test_the_fifo_of_a_recorder(forebay: Run) -> None:
    """What comes in a pause and a chunk, less what is taken; a page less, and half of it, lose."""
    found = plan(forebay, *RECORDER, *PAUSES)
    fifo = found["recorder"]
    simulated = fifo["simulated"]
    assert simulated["by"] == "model" and found["verification"] is None
    least = simulated["least_bytes"]
    assert 8_000_000 < least < 10_000_000 + fifo["chunk_bytes"]
    assert least < fifo["bytes"] <= least + (20 << 10) and fifo["bytes"] % 4096 == 0
    assert found["plan"]["fifo_bytes"] == fifo["bytes"]
    assert simulated["longest_wait_seconds"] == pytest.approx(5e-3, rel=0.05)
    assert simulated["lost_bytes"] == simulated["gaps"] == 0 < simulated["half_lost_bytes"]
    assert "2.00 GB/s x 5.0 ms" in fifo["because"]
    basis = {one["field"]: one["value"] for one in found["rests_on"] if one["decides"] == "fifo"}
    assert basis == {
        "ssd.timing.write.pause_us": 5000,
        "ssd.timing.write.pause_every_bytes": 30_000_000,
    }
    short = (least - 1) // 4096 * 4096
    lossy = plan(forebay, *RECORDER, *PAUSES, "--fifo", short, code=INFEASIBLE)
    found = lossy["recorder"]["simulated"]
    assert lossy["possible"] and found["least_bytes"] == least
    assert found["lost_bytes"] > 0 and found["gaps"] > 0
    # Without pauses a chunk, and what is being written.
    calm = plan(forebay, *RECORDER)["recorder"]["simulated"]
    assert calm["least_bytes"] < 3 * fifo["chunk_bytes"] and calm["lost_bytes"] == 0


def test_a_recording_that_ends_may_wait_in_the_fifo(forebay: Run) -> None:
    """A drive that is too slow for ever is not too slow for a while, if the FIFO takes the rest."""
    line = ("--recorder", "--rate", "500MB/s", "--profile", "960evo-250")
    found = plan(forebay, *line, "--total", "100MB")
    fifo = found["recorder"]
    # Its buffer takes 22 MB; of the rest 356 of 500 MB/s are stored meanwhile.
    least = 100e6 - 356.5e6 * 0.2 - 22e6
    assert found["possible"]
    assert fifo["simulated"]["least_bytes"] == pytest.approx(least, abs=1e6)
    assert "stores less" in fifo["because"]
    answer = forebay("plan", *line, code=INFEASIBLE)
    assert "infeasible" in answer.out and "no buffer helps" in answer.out


def test_the_fifo_by_arithmetic(forebay: Run) -> None:
    """Without a simulation it is rather too deep; so it is with too few --verify-bytes."""
    deep = plan(forebay, *RECORDER, *PAUSES, "--no-verify")["recorder"]
    assert deep["simulated"] is None
    assert deep["bytes"] >= plan(forebay, *RECORDER, *PAUSES)["recorder"]["bytes"]
    found = plan(forebay, *RECORDER, *PAUSES, "--verify-bytes", "60MB")
    assert found["recorder"] == deep
    assert any("--verify-bytes" in note for note in found["notes"])
    assert "by arithmetic alone" in forebay("plan", *RECORDER, "--no-verify").out


@pytest.mark.parametrize("seed", [1, 2, *(pytest.param(n, marks=NIGHTLY) for n in range(3, 65))])
def test_the_depth_holds_and_half_of_it_does_not(forebay: Run, seed: int) -> None:
    """Whatever rate, pauses and chunk: nothing is lost with it, something with half of it."""
    rng = random.Random(seed)
    rate, every = rng.randrange(200, 4_500), rng.randrange(4, 40)
    # What a pause leaves is stored before the next.
    pause = rng.uniform(0.05, 0.7) * every * (1e3 / rate - 1e3 / 5500)
    line = ["--recorder", "--rate", f"{rate}MB/s", "--total", "100GB", "--seed", seed]
    line += ["--pause", f"{int(pause * 1000) + 1}us", "--pause-every", f"{every}MB"]
    line += ["--chunk", rng.randrange(4, 257) * 4096]
    found = plan(forebay, *line)
    simulated = found["recorder"]["simulated"]
    assert simulated["lost_bytes"] == 0 < simulated["half_lost_bytes"], line
    assert simulated["least_bytes"] <= found["recorder"]["bytes"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (("--recorder", "--rate", "16.1GB/s"), "stream carries 16.00"),
        (("--recorder", "--rate", "2GB/s", "--chunk", "8KiB"), "16 KiB to 1 MiB"),
        (("--recorder", "--rate", "2GB/s", "--chunk", "18KiB"), "steps of 4 KiB"),
        (("--recorder", "--rate", "2GB/s", "--fifo", "64KiB"), "a chunk to 16 GiB"),
        (("--recorder", "--rate", "2GB/s", "--fifo", "1000001"), "steps of 4 KiB"),
        (("--recorder", "--rate", "2GB/s", "--fifo", "17GiB"), "a chunk to 16 GiB"),
        (("--recorder", "--rate", "2GB/s", "--drives", "2"), "--drives"),
        (("--recorder", "--rate", "2GB/s", "--burst", "1MiB", "--every", "1ms"), "--burst"),
        (("--rate", "2GB/s", "--chunk", "128KiB"), "--recorder"),
        (("--rate", "2GB/s", "--pause", "5ms"), "--pause-every"),
        (("--rate", "2GB/s", "--pause-every", "5MB"), "--pause"),
        ((*RECORDER, *PAUSES, "--profile", "ideal"), "takes no time"),
        (("--rate", "13GB/s"), "wire carries"),
        (("--rate", "12.4GB/s"), "12.36"),
        (("--rate", "100Gb/s"), "wire carries"),
        (("--rate", "fast"), "no rate"),
        (("--rate", "12"), "100Gb/s"),
        (("--rate", "12/s"), "no rate"),
        (("--rate", "5GB/s", "--wire", "100"), "is no rate"),
        (("--rate", "5GB/s", "--mtu", "60"), "60"),
        (("--rate", "5GB/s", "--parity", "--drives", "1"), "a drive of its own"),
        (("--rate", "5GB/s", "--per-day", "1000TB"), "432.00 TB in a day"),
        (("--rate", "5GB/s", "--burst", "1MiB"), "--every"),
        (("--rate", "5GB/s", "--burst", "1MiB", "--every", "0ms"), "every is 0"),
        (("--rate", "5GB/s", "--burst", "1MiB", "--every", "soon"), "no time"),
        (("--rate", "5GB/s", "--drives", "9"), "9"),
        (("--rate", "5GB/s", "--profile", "nothing"), "no built-in profile"),
    ],
)
def test_bad_input(forebay: Run, line: tuple[str, ...], words: str) -> None:
    """What cannot be meant is refused with field and limit."""
    assert words in forebay("plan", *line, code=BAD_INPUT).complaint


def test_an_absurd_profile(forebay: Run, tmp_path: Path) -> None:
    """A number that cannot be is named."""
    text = (ROOT / "profiles" / "990pro-2tb.toml").read_text()
    path = tmp_path / "absurd.toml"
    path.write_text(text.replace("cache_bytes = { value = 226", "cache_bytes = { value = -226"))
    complaint = forebay("plan", "--rate", "1GB/s", "--profile", path, code=BAD_INPUT).complaint
    assert "cache_bytes" in complaint
