# SPDX-License-Identifier: Apache-2.0
"""`forebay repro`: published figures again, in the short form."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import tomllib
from driving import BAD_INPUT, FILE_FAILED, OFF_TOLERANCE, ROOT, Run

pytestmark = pytest.mark.long

PUBLISHED = ROOT / "profiles" / "published"


@pytest.fixture(scope="module")
def everything(forebay: Run, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict, str]:
    """All figures once: the report, and the page."""
    folder = tmp_path_factory.mktemp("repro")
    report, page = folder / "repro.json", folder / "repro.html"
    rtl = ("--rtl", ROOT / "rtl" / "top" / "onchip.f")
    answer = forebay(
        "repro", "all", "--quick", *rtl, "-o", "json", "--output-file", report, "--html", page
    )
    assert "simulated" in answer.out and "numbers agree" in answer.out
    # It takes minutes: where no progress is drawn, each experiment has a line.
    steps = answer.err.splitlines()
    assert "sequential write, RTL" in steps and len(set(steps)) > 10, answer.err
    return json.loads(report.read_text()), page.read_text()


def rows(report: dict, figure: str) -> list[dict]:
    """Rows of a figure."""
    return next(one for one in report["figures"] if one["id"] == figure)["rows"]


def published(report: dict) -> set[float]:
    """All published numbers of a report."""
    every = [row["published"] for one in report["figures"] for row in one["rows"]]
    return {round(one["value"], 4) for one in every if one}


def numbers(data: object) -> list[dict]:
    """Tables of a file that hold a published number of a figure."""
    if isinstance(data, list):
        return [one for item in data for one in numbers(item)]
    if not isinstance(data, dict):
        return []
    found = [one for key, item in data.items() for one in numbers(item) if key != "numbers"]
    return found + data.get("numbers", [])


def test_every_published_number_is_shown(everything: tuple[dict, str]) -> None:
    """What the data files and profiles hold is found again in the report."""
    report, _ = everything
    shown = published(report)
    snacc = tomllib.loads((PUBLISHED / "snacc.toml").read_text())
    assert len(numbers(snacc)) > 30
    assert {one["value"] for one in numbers(snacc)} <= shown
    drivers = tomllib.loads((PUBLISHED / "intelliprop.toml").read_text())
    assert {one["value"] / 1e6 for one in numbers(drivers)} <= shown
    # MLE published MiB/s, IntelliProp MB/s.
    for profile, unit in (("950pro-512", 1e6), ("960evo-250", 1 << 20)):
        text = tomllib.loads((ROOT / "profiles" / f"{profile}.toml").read_text())
        rates = [one["bytes_per_second"]["value"] for one in text["measurements"]]
        assert {round(rate / unit, 4) for rate in rates} <= shown


def test_each_figure_agrees(everything: tuple[dict, str]) -> None:
    """Every number that must agree does, and each says what it is and where it is from."""
    report, _ = everything
    assert report["schema"] == "forebay.repro/1" and report["simulated"] is True
    assert [one["id"] for one in report["figures"]] == [
        "snacc-fig4a",
        "snacc-fig4b",
        "snacc-fig4c",
        "snacc-fig6",
        "snacc-fig7",
        "snacc-table1",
        "intelliprop",
        "mle-table",
    ]
    for figure in report["figures"]:
        assert figure["paper"] and figure["place"] and figure["model_is"]
        assert all(row["agrees"] is not False for row in figure["rows"])
        for row in figure["rows"]:
            assert row["model"] is None or row["model_kind"] in ("fitted", "predicted", "computed")
        for parameter in figure["parameters"]:
            assert parameter["source"] and parameter["kind"]


def test_each_session_says_who_moved_its_bytes(everything: tuple[dict, str]) -> None:
    """The RTL's top, or the model, which takes as long; where their host limits, ours is faster."""
    report, page = everything
    sessions = rows(report, "mle-table")
    by = {row["design"]: row["ours_by"] for row in sessions}
    assert by["write 16 chunks of 128 KiB"] == "fb_top_recorder"
    assert by["write 32 chunks of 128 KiB"] == by["read 256 chunks of 128 KiB"] == "model"
    assert by["read 512 chunks of 128 KiB"] is None, "too long for the short form"
    read = [row for row in sessions if row["load"] == "sequential read" and row["ours"]]
    assert len(read) == 9
    for row in read:
        assert row["model"] == pytest.approx(row["ours"], rel=0.03)
        chunks = int(row["design"].split()[1])
        assert row["ours_seconds"] == pytest.approx(chunks / 8 / row["ours"])
        host = row["limit"] == "their host"
        assert host == (chunks <= 32) and (not host or row["ours_ratio"] > 1)
    write = next(row for row in sessions if row["design"] == "write 1 chunk of 128 KiB")
    assert write["limit"] == "drive, their set-up" and write["ours"] > 1.5 * write["model"]
    assert "limited by" in page and "fb_top_recorder" in page
    assert all(row["ours_by"] is None for row in rows(report, "intelliprop"))


@pytest.mark.nightly
def test_the_whole_drive(forebay: Run) -> None:
    """All of it in one session each way, as fast as MLE measured, to the same last chunk."""
    line = ("repro", "mle-table", "--full", "-o", "json")
    (figure,) = forebay(*line, timeout=3 * 3600).report["figures"]
    write, read = figure["rows"][-2:]
    assert write["ours_seconds"] == pytest.approx(1179.256165912, rel=0.1)
    assert read["ours_seconds"] == pytest.approx(125.29154476, rel=0.1)
    assert (write["model_kind"], read["model_kind"]) == ("fitted", "predicted")
    for row in (write, read):
        assert row["agrees"] and row["ours_by"] == "model"
        assert row["design"].endswith("all 1907801 chunks") and "0x3a38b00000" in row["note"]


def test_order_is_what_slows_random_reads(everything: tuple[dict, str]) -> None:
    """Ours has more than twice SNAcc's rate, and SNAcc's with SNAcc's window."""
    report, _ = everything
    ours = {row["design"]: row["ours"] for row in rows(report, "snacc-fig4b") if row["ours"]}
    window = next(value for design, value in ours.items() if "window of 64" in design)
    assert 1.5 < window < 1.7
    assert ours["SNAcc, URAM"] > 2 * window


def test_other_rtl_stands_beside(everything: tuple[dict, str]) -> None:
    """What --rtl names, here our own, is run where the payload is on chip, on the same models."""
    report, _ = everything
    figures = ("snacc-fig4a", "snacc-fig4b", "snacc-fig4c")
    beside = [row for name in figures for row in rows(report, name) if row["rtl"]]
    assert len(beside) == 7
    for row in beside:
        assert row["design"] == "SNAcc, URAM"
        assert row["rtl"] == pytest.approx(row["ours"], rel=0.02)


def test_transfers_are_counted(everything: tuple[dict, str]) -> None:
    """A byte crosses PCIe once from the card to the drive, and twice through the host."""
    report, _ = everything
    per_byte = {row["design"]: row for row in rows(report, "snacc-fig7")}
    assert per_byte["SNAcc, URAM"]["model"] == pytest.approx(1, abs=0.02)
    assert per_byte["SNAcc, URAM"]["ours"] == pytest.approx(1, abs=0.02)
    assert per_byte["SPDK"]["model"] == pytest.approx(2, abs=0.02)
    assert per_byte["GPU"]["model"] > per_byte["SPDK"]["model"]
    links = {(hop["link"], hop["direction"]) for hop in per_byte["GPU"]["traffic"]["hops"]}
    assert ("gpu", "down") in links and ("host", "up") in links


def test_the_page_stands_alone(everything: tuple[dict, str]) -> None:
    """It is well formed and loads nothing from elsewhere; each load has its chart."""
    report, page = everything
    tree = ElementTree.fromstring(page)
    assert not re.search(r"(?:href|src)\s*=\s*[\"'](?!#)", page)
    assert "<script" not in page and "@import" not in page and "url(" not in page
    # The names of XML's own vocabularies are no links.
    names = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml"}
    assert set(re.findall(r"https?://[^\"'<\s]+", page)) <= names
    charts = [element for element in tree.iter() if element.tag.endswith("}svg")]
    loads = {(one["id"], row["load"]) for one in report["figures"] for row in one["rows"]}
    assert len(charts) >= len(loads)
    bars = [element for chart in charts for element in chart if element.tag.endswith("}rect")]
    assert len(bars) > 100


def test_a_number_that_is_off_is_told(forebay: Run) -> None:
    """The exit code says so, as that of `profiles --measure`."""
    answer = forebay("repro", "mle-table", "--quick", "--within", "0.1", code=OFF_TOLERANCE)
    assert "NO" in answer.out and "off by" in answer.out
    # On another drive the published numbers do not hold.
    line = ("repro", "mle-table", "--quick", "--profile", "pm953-480")
    assert "NO" in forebay(*line, code=OFF_TOLERANCE).out


def test_both_fits_of_the_drive(forebay: Run) -> None:
    """The second fit gives figure 7 and nearly all of figure 4 as well."""
    line = ("repro", "snacc-fig7", "--quick", "--profile", "990pro-2tb-b", "-o", "json")
    (figure,) = forebay(*line).report["figures"]
    assert figure["profile"] == "990pro-2tb-b"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (("figure-5",), "figure-5"),
        (("all", "--profile", "ideal"), "--profile is ideal"),
        (("snacc-table1", "--quick", "--rtl", "x.v"), "only SNAcc's figure 4"),
        (("intelliprop", "--full"), "only mle-table has a whole drive"),
        (("mle-table", "--full", "--quick"), "--quick"),
        (("snacc-fig4", "--quick", "--profile", "nothing"), "no built-in profile"),
        (("snacc-fig7", "--quick", "--html", "/nowhere/x.html"), "/nowhere/x.html"),
        (
            ("snacc-fig7", "--quick", "-o", "json", "--output-file", "/nowhere/x.json"),
            "/nowhere/x.json",
        ),
        (("snacc-fig4", "--within", "many"), "percent"),
    ],
)
def test_bad_input(forebay: Run, line: tuple[str, ...], words: str) -> None:
    """What cannot be is refused before anything runs, and says what is wrong."""
    code = FILE_FAILED if words.startswith("/nowhere") else BAD_INPUT
    assert words in forebay("repro", *line, code=code).complaint


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (r"page_ns = { value = 656,", "page_ns = { value = 99999999999999,", "page_ns"),
        (r"sense_ns = { value = 20_000", "sense_ns = { value = -5", "sense_ns"),
        (r"planes = { value = 64", "planes = { value = 0", "planes"),
        (r"command_ns = .*\n", "", "command_ns"),
    ],
)
def test_absurd_profiles(forebay: Run, tmp_path: Path, old: str, new: str, words: str) -> None:
    """Missing and absurd numbers name the field and its limit."""
    text = (ROOT / "profiles" / "990pro-2tb.toml").read_text()
    changed, count = re.subn(old, new, text, count=1)
    assert count == 1
    path = tmp_path / "absurd.toml"
    path.write_text(changed)
    line = ("repro", "snacc-fig7", "--quick", "--profile", path)
    assert words in forebay(*line, code=BAD_INPUT).complaint
