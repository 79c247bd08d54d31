# SPDX-License-Identifier: Apache-2.0
"""`forebay pipeline`, `pe` and `new pe`: from nothing to an element in a pipeline."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from driving import BAD_INPUT, BAD_RESULT, FILE_FAILED, ROOT, Run
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from scapy.utils import wrpcap

from frames import header

BIN = Path(sys.executable).parent


def write(folder: Path, text: str) -> Path:
    """Write a pipeline."""
    path = folder / "x.toml"
    path.write_text(text)
    return path


def test_the_files_that_are_there(forebay: Run) -> None:
    """Each is good, and all that it leaves out is shown."""
    for path in sorted((ROOT / "pipelines").glob("*.toml")):
        answer = forebay("pipeline", "check", path)
        assert "can be built" in answer.out and not answer.err
    answer = forebay("pipeline", "check", "pipelines/add.toml")
    assert "addend = 7, on = true" in answer.out and "990pro-2tb" in answer.out


def test_an_empty_pipeline_as_json(forebay: Run, tmp_path: Path) -> None:
    """Nothing said is a recording."""
    report = forebay("pipeline", "check", write(tmp_path, ""), "-o", "json").report
    assert report["schema"] == "forebay.pipeline/1" and report["cfg"] == [0] * 8
    pipeline = report["pipeline"]
    assert pipeline["source"]["address"] == "10.77.0.2" and pipeline["pes"] == []
    assert pipeline["source"]["pause"]["xon"] < pipeline["source"]["pause"]["xoff"] < 128 << 10
    assert pipeline["buffer"]["memory"] == "onchip"
    assert [ssd["profile"] for ssd in pipeline["ssds"]] == ["990pro-2tb"]
    assert (pipeline["sink"]["layout"], pipeline["sink"]["extension"]) == ("objects", "bin")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[source]\nmtu = 20\n", "x.toml:2: source.mtu is 20, but it is a whole number from 68"),
        ('[source]\ngroup = "10.0.0.1"\n', "it is an IPv4 multicast group"),
        ('[source]\nclock = "gps"\n', 'source.clock is "gps"'),
        ("[[pe]]\nname = 'subtract'\n", "there are: add, aes_ctr, mean, pass, shrink"),
        ("[[pe]]\nname = 'add'\naddend = 'much'\n", "x.toml:3: pe[0].addend"),
        ("[source\n", "x.toml"),
        ("[source]\nspeed = 7\n", "unknown field `speed`"),
        ("[[ssd]]\nprofile = 'no/such.toml'\n", "no/such.toml"),
    ],
)
def test_refused(forebay: Run, tmp_path: Path, text: str, words: str) -> None:
    """The complaint names file, line, key and limit."""
    answer = forebay("pipeline", "check", write(tmp_path, text), code=BAD_INPUT)
    assert words.replace(" ", "") in answer.complaint.replace(" ", "") and not answer.out


@pytest.mark.parametrize("kind", ["nowhere", "folder", "noise", "long"])
def test_files_that_are_none(forebay: Run, tmp_path: Path, kind: str) -> None:
    """Whatever is named, the answer is quick and in words."""
    path = tmp_path / "x.toml"
    if kind == "folder":
        path.mkdir()
    elif kind == "noise":
        path.write_bytes(b"\xff\xfe\x00" * 100)
    elif kind == "long":
        path.write_bytes(b"#" * (2 << 20))
    code = FILE_FAILED if kind == "nowhere" else BAD_INPUT
    answer = forebay("pipeline", "check", path, code=code)
    assert "x.toml" in answer.complaint.replace(" ", "")


def test_the_chain_is_written(forebay: Run, tmp_path: Path) -> None:
    """What it writes is the module, formatted as ours is."""
    text = "[[pe]]\nname = 'pass'\n[[pe]]\nname = 'add'\n[[pe]]\nname = 'add'\n"
    chain = tmp_path / "fb_pe_chain.sv"
    answer = forebay("pipeline", "check", write(tmp_path, text), "--chain", chain)
    assert "rtl/pe/fb_pe_add.sv" in answer.out
    golden = ROOT / "tb" / "pe" / "fb_pe_chain" / "pass_add_add.sv"
    assert chain.read_text() == golden.read_text()


def test_elements_are_listed(forebay: Run) -> None:
    """With their settings."""
    answer = forebay("pe", "list")
    assert "addend" in answer.out and "pass" in answer.out
    elements = forebay("pe", "list", "-o", "json").report["elements"]
    assert {element["name"] for element in elements} >= {"add", "pass"}


@pytest.mark.parametrize(
    ("kind", "cfg"),
    [
        ([], 1),
        (["--result", "--width", 64], 100),
        (["--registers", "--width", 128, "--own-clock"], 0),
    ],
)
def test_an_element_of_ones_own(forebay: Run, tmp_path: Path, kind: list, cfg: int) -> None:
    """Made, tested, used in a pipeline, and all of it formatted as ours is."""
    made = forebay("new", "pe", "turn_2", *kind, "--into", tmp_path)
    folder = tmp_path / "turn_2"
    names = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert names == {
        "fb_pe_turn_2.sv",
        "fb_pe_turn_2.toml",
        "tb/test_fb_pe_turn_2.py",
        "pipeline.toml",
        "README.md",
    }
    for path in folder.rglob("*.*"):
        text = path.read_text()
        assert "NAME" not in text and "SPDX" not in text
        assert str(path) in made.out
    source = folder / "fb_pe_turn_2.sv"
    subprocess.run(
        [BIN / "verible-verilog-format", "--column_limit=100", "--verify", source], check=True
    )
    tested = forebay("pe", "test", folder)
    assert "lint without a warning" in tested.out and "1 passed" in tested.out
    assert "turn_2" in forebay("pe", "list", "--pe-path", folder).out
    report = forebay("pipeline", "check", folder / "pipeline.toml", "-o", "json").report
    assert report["cfg"][0] == cfg


def capture(data: bytes, stream: int = 0, number: int = 0, sequence: int = 0) -> list[Packet]:
    """Make the frames that carry an object, one every microsecond, numbered from `sequence` on."""
    part = 8940
    found = []
    for frame_number, at in enumerate(range(0, len(data), part)):
        flags = (at == 0) | (at + part >= len(data)) << 1
        count = sequence + frame_number
        framing = header(count, number, at or len(data), flags, stream=stream)
        frame = Ether(dst="02:46:42:00:00:01", src="02:00:00:00:00:01")
        frame /= IP(src="10.77.0.1", dst="10.77.0.2") / UDP(sport=7, dport=64257)
        frame /= Raw(framing + data[at : at + part])
        frame.time = frame_number * 1e-6
        found.append(frame)
    return found


def test_elements_between_wire_and_flash(forebay: Run, tmp_path: Path) -> None:
    """Objects of two streams go through ours and one's own, and what lands on the drive is right.

    One has a setting, one a register whose bytes come out of a file, one per-stream settings, one
    128 bits and a clock of its own, in which there are results, registers and status.
    """
    forebay("new", "pe", "turned", "--into", tmp_path)
    forebay("new", "pe", "masked", "--registers", "--into", tmp_path)
    mask, other = random.Random(7).randbytes(16), random.Random(8).randbytes(16)
    (tmp_path / "mask").write_bytes(mask)
    keys = (
        "[source]\nstreams = 2\n"
        "[[pe]]\nname = 'turned'\npath = 'turned'\ninvert = true\n"
        "[[pe]]\nname = 'masked'\npath = 'masked'\nmask = { file = 'mask' }\n"
        "[[pe]]\nname = 'add'\naddend = 7\n[[pe.streams]]\nstream = 1\naddend = 9\n"
        f"[[pe]]\nname = 'aside'\npath = '{ROOT}/tests/elements'\nflip = 3\n"
        f"mask = {{ hex = '{other.hex()}' }}\n[chain]\nclock = '200MHz'\n"
        "[[ssd]]\nimage = 'disk.img'\nsize = '64MiB'\n"
    )
    pipeline = write(tmp_path, keys)
    shown = " ".join(forebay("pipeline", "check", pipeline).out.split())
    assert "on its own clock, 200 MHz" in shown
    assert "mask = mask, 16 bytes" in shown and "of stream 1 0x0000000100000009" in shown
    data = [random.Random(stream).randbytes(50_001) for stream in range(2)]
    frames = [frame for stream in range(2) for frame in capture(data[stream], stream=stream)]
    for number, frame in enumerate(frames):
        frame.time = number * 1e-6
    wrpcap(str(tmp_path / "x.pcap"), frames)
    report = forebay("record", pipeline, "--pcap", tmp_path / "x.pcap", "-o", "json").report
    assert report["elements"] == [{"pe": 3, "name": "aside", "status": {"packets": 2}}]
    rows = forebay("store", "ls", tmp_path / "disk.img", "-o", "json").report["objects"]
    assert [(row["from"], row["number"]) for row in rows] == [(0, 0), (1, 0)]
    forebay("store", "extract", tmp_path / "disk.img", tmp_path / "out")
    found = {path.read_bytes() for path in (tmp_path / "out").rglob("*.bin")}
    expected = set()
    for one, addend in zip(data, (7, 9), strict=True):
        masked = bytes(a ^ b ^ 0xFF for a, b in zip(one, itertools.cycle(mask), strict=False))
        words = np.frombuffer(masked + bytes(-len(one) % 4), "<u4") + np.uint32(addend)
        pairs = zip(words.tobytes()[: len(one)], itertools.cycle(other), strict=False)
        expected.add(bytes(a ^ b ^ 3 for a, b in pairs))
    assert found == expected


def test_whatever_stands_together_can_be_built(forebay: Run, tmp_path: Path) -> None:
    """Directions, branches, widths, clocks and per-stream settings, in one chain after another."""
    own = f"path = '{ROOT}/tests/elements'\nmask = {{ hex = '{bytes(16).hex()}' }}\n"
    for name, width in (("wide", 512), ("thin", 32)):
        forebay("new", "pe", name, "--own-clock", "--width", width, "--into", tmp_path)
        manifest = tmp_path / name / f"fb_pe_{name}.toml"
        flag = "default = false"
        manifest.write_text(manifest.read_text().replace(flag, flag + "\nper_stream = true"))

    def pe(name: str, *keys: str, streams: bool = False) -> str:
        lines = [f"name = '{name}'", *keys]
        if name in ("wide", "thin"):
            lines.append(f"path = '{name}'")
        if streams:
            lines += ["[[pe.streams]]", "stream = 0", "invert = true"]
        return "[[pe]]\n" + "\n".join(lines) + "\n"

    back, tap, follow = (
        f"{key} = '{word}'"
        for key, word in (("direction", "back"), ("tap", "skip"), ("tap", "follow"))
    )
    for text in (
        pe("wide", streams=True) + pe("thin", back, streams=True) + pe("wide", back),
        pe("thin", tap, streams=True) + pe("wide", back) + pe("aside", follow, own) + pe("add"),
        pe("aside", tap, own) + pe("wide") + pe("thin", back) + pe("add", back),
    ):
        assert "can be built" in forebay("pipeline", "check", write(tmp_path, text)).out


def test_an_element_that_is_wrong(forebay: Run, tmp_path: Path) -> None:
    """A mistake in the RTL is found by lint, by its test bench, or with the pipeline."""
    forebay("new", "pe", "wrong", "--into", tmp_path)
    source = tmp_path / "wrong" / "fb_pe_wrong.sv"
    right = source.read_text()
    source.write_text(right.replace("^ {Bits{invert}}", "^ {Bits{!invert}}"))
    answer = forebay("pe", "test", tmp_path / "wrong", code=BAD_RESULT)
    assert "bytes differ" in answer.out
    source.write_text(right.replace("logic invert;", "logic [1:0] invert;"))
    assert "does not pass lint" in forebay("pe", "test", tmp_path / "wrong", code=None).complaint
    source.write_text(right.replace("s_axis_object_tuser", "s_axis_object_tflag"))
    answer = forebay("pipeline", "check", tmp_path / "wrong" / "pipeline.toml", code=BAD_INPUT)
    assert "s_axis_object_tuser" in answer.complaint
    source.write_text(right.replace("Bits = 512", "Bits = 256"))
    answer = forebay("pipeline", "check", tmp_path / "wrong" / "pipeline.toml", code=BAD_INPUT)
    assert "s_axis_object_tdata" in answer.complaint and "256 bits" in answer.complaint


def test_one_that_breaks_the_rules(forebay: Run, tmp_path: Path) -> None:
    """The checker stops the test bench of an element that lets TUSER fall."""
    forebay("new", "pe", "rude", "--into", tmp_path)
    source = tmp_path / "rude" / "fb_pe_rude.sv"
    kept = "m_axis_object_tuser  <= s_axis_object_tuser;"
    text = source.read_text()
    assert kept in text
    source.write_text(text.replace(kept, "m_axis_object_tuser  <= 2'd0;"))
    answer = forebay("pe", "test", tmp_path / "rude", code=BAD_RESULT)
    assert "TUSER of the packet is 00, and was" in answer.out


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Scale", "small letters"),
        ("2x", "a letter first"),
        ("a-b", "small letters"),
        ("../x", "small letters"),
        ("", "1 to 40"),
        ("x" * 41, "1 to 40"),
        ("x__y", "no _ stands"),
        ("chain", "is another"),
    ],
)
def test_names_that_cannot_be(forebay: Run, tmp_path: Path, name: str, words: str) -> None:
    """A name is part of that of a module; nothing is made."""
    answer = forebay("new", "pe", name, "--into", tmp_path, code=BAD_INPUT)
    assert words in answer.complaint and not list(tmp_path.iterdir())


@pytest.mark.parametrize(("words", "limit"), [([96], "32"), ([64, "--registers"], "128")])
def test_widths_that_cannot_be(forebay: Run, tmp_path: Path, words: list, limit: str) -> None:
    """No element is made."""
    answer = forebay("new", "pe", "x", "--into", tmp_path, "--width", *words, code=BAD_INPUT)
    assert f"a power of two from {limit} to 512" in answer.complaint
    assert not list(tmp_path.iterdir())


def test_nothing_is_overwritten(forebay: Run, tmp_path: Path) -> None:
    """What exists stays."""
    (tmp_path / "mine").mkdir()
    answer = forebay("new", "pe", "mine", "--into", tmp_path, code=BAD_INPUT)
    assert "exists already" in answer.complaint and not list((tmp_path / "mine").iterdir())
    (tmp_path / "file").write_text("")
    forebay("new", "pe", "mine", "--into", tmp_path / "file", code=FILE_FAILED)


def test_no_element_to_test(forebay: Run, tmp_path: Path) -> None:
    """A folder without any is said so."""
    assert "no manifest" in forebay("pe", "test", tmp_path, code=BAD_INPUT).complaint
