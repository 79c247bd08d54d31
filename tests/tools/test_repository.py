# SPDX-License-Identifier: Apache-2.0
"""The repository's own tools: licence lines, filelists, the register map's renderers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import tomllib

import assertions
import lint
import registers
from forebay import spec, streamer_regs
from forebay.filelist import ROOT, read_filelist

RDL = """
addrmap small {
    default regwidth = 64; default accesswidth = 64;
    reg { name = "One"; desc = "First."; field { name = "Low"; sw = rw; hw = r; } low[3:0] = 5;
          field { name = "Flag"; sw = rw; onwrite = woclr; hw = r; hwset; }
          flag[63:63] = 0; } one @ 0;
    external mem { name = "Ram"; mementries = 4; memwidth = 64; sw = r; } ram @ 0x20;
};
"""


@pytest.mark.parametrize(
    ("path", "text", "right"),
    [
        # REUSE-IgnoreStart
        ("rtl/a.sv", "// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1\n", True),
        ("rtl/a.sv", "// SPDX-License-Identifier: Apache-2.0\n", False),
        ("a.py", "# SPDX-License-Identifier: Apache-2.0\n", True),
        ("scripts/setup", "#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n", True),
        ("a.h", "/* SPDX-License-Identifier: Apache-2.0 */\n", True),
        ("a.rs", "//! Text\n// SPDX-License-Identifier: Apache-2.0\n", False),
        # REUSE-IgnoreEnd
        ("a.md", "anything\n", True),
    ],
)
def test_licence_line(path: str, text: str, right: bool) -> None:
    """RTL and software each have their licence in the first line."""
    assert (lint.licence_line(path, text) == "") is right


def test_filelists_include_each_other(tmp_path: Path) -> None:
    """Included lists come in place, each source once, comments are nothing."""
    inner = tmp_path / "inner.f"
    inner.write_text("rtl/a.sv\n// words\n")
    outer = tmp_path / "outer.f"
    outer.write_text(f"-f {inner}\nrtl/b.sv // why\nrtl/a.sv\n")
    assert read_filelist(outer) == [ROOT / "rtl/a.sv", ROOT / "rtl/b.sv"]


def test_assertions_are_to_be_seen_firing(tmp_path: Path) -> None:
    """Labels and names of stream checkers are looked for where a failure is expected."""
    rtl, tb = tmp_path / "rtl" / "area", tmp_path / "tb" / "area" / "m"
    rtl.mkdir(parents=True)
    tb.mkdir(parents=True)
    (rtl / "m.sv").write_text(
        "  in_range :\n  assert property (x)\n  here: assert (y);\n"
        '  fb_axis_check #(\n .Width(4),\n .Name ("m_axis")\n ) u_check ('
    )
    test = tb / "test_m.py"
    test.write_text('"""in_range"""\nrun(fires={one: "here"})\n')
    missing = assertions.unprovoked(tmp_path)
    assert [line.split("'")[1] for line in missing] == ["in_range", "m_axis:"]
    test.write_text('run(["here", "in_range", "m_axis: valid fell"], fires=some)\n')
    assert assertions.unprovoked(tmp_path) == []


@pytest.fixture
def small(tmp_path: Path) -> registers.AddrmapNode:
    """Compile a small map."""
    path = tmp_path / "small.rdl"
    path.write_text(RDL)
    return registers.compile_rdl(path)


def test_registers_are_read(small: registers.AddrmapNode) -> None:
    """Offsets, accesses, resets and memories come out as they were written."""
    one, ram = registers.registers(small)
    assert (one.offset, one.reset) == (0, 5)
    assert [(f.name, f.high, f.low, f.access) for f in one.fields] == [
        ("low", 3, 0, "rw"),
        ("flag", 63, 63, "rw1c"),
    ]
    assert (ram.offset, ram.entries) == (0x20, 4)


def test_renderers_say_the_same(small: registers.AddrmapNode) -> None:
    """Every language has the same offset for the same register."""
    assert "ram @ 0x020 [4]" in registers.render_rust(small, "x.rdl")
    assert "RAM = 0x020" in registers.render_python(small, "x.rdl")
    assert "`0x020`-`0x03f`" in registers.render_markdown(small, "x.rdl")


def test_block_of_the_streamer_is_flat() -> None:
    """The register block's structs are packed, so that every tool takes them as ports."""
    text = (ROOT / "rtl/nvme/fb_nvme_csr_pkg.sv").read_text()
    assert "struct {" not in text
    assert "struct packed {" in text


def test_map_keeps_its_neighbours() -> None:
    """Offsets that SNAcc's published plugin uses are where it expects them."""
    assert streamer_regs.SQ_DOORBELL == 0x00
    assert streamer_regs.CQ_DOORBELL == 0x08
    assert streamer_regs.DATA_WINDOW == 0x10
    assert streamer_regs.NSID == 0x18
    assert streamer_regs.PRP_LISTS == 0x20
    assert streamer_regs.ENABLE == 0x28
    assert streamer_regs.IDENTITY == 0x30
    assert (streamer_regs.DRAM_READ, streamer_regs.DRAM_WRITE) == (0x50, 0x58)
    assert (streamer_regs.HOST_READ, streamer_regs.HOST_WRITE) == (0x80, 0x100)
    assert spec.IDENTITY_ONCHIP == 0xA4D210BB
    assert spec.IDENTITY_ONBOARD == 0x72BEDB1A
    assert spec.IDENTITY_HOST == 0xFB235EA7


def test_examples_in_documentation_are_run() -> None:
    """A crate of which `cargo test` leaves the documentation out has no example there."""
    left_out = {
        manifest.parent
        for manifest in (ROOT / "crates").glob("*/Cargo.toml")
        if tomllib.loads(manifest.read_text()).get("lib", {}).get("doctest") is False
    }
    # Every second fence opens a block; one without a language is Rust.
    openings = {
        language
        for crate in left_out
        for source in (crate / "src").rglob("*.rs")
        for language in re.findall(r"^\s*//[/!] ```(\S*)", source.read_text(), re.M)[::2]
    }
    assert left_out and openings <= {"text", "sh", "console", "toml", "json"}
