# SPDX-License-Identifier: Apache-2.0
"""scripts/mutants.toml: each defect stands at a place that the RTL of today has, once."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import mutants  # noqa: E402

DEFECTS = mutants.load()


@pytest.mark.parametrize("defect", DEFECTS, ids=[one["name"] for one in DEFECTS])
def test_a_defect_can_be_put_back(defect: dict, tmp_path: Path) -> None:
    """`make nightly` would stop at the first that cannot."""
    for edit in defect["edits"]:
        text = (ROOT / edit["file"]).read_text()
        assert mutants.mutate(text, [(1, edit)], tmp_path / "number") != text


@pytest.mark.parametrize("defect", DEFECTS, ids=[one["name"] for one in DEFECTS])
def test_the_shapes_of_a_defect_exist(defect: dict) -> None:
    """The swarm refuses a shape that it does not have, and nothing would be hunted."""
    shapes = (ROOT / "crates/forebay-lab/src/swarm/shapes.rs").read_text()
    for shape in defect["shapes"]:
        assert f'("{shape}", ' in shapes, shape
