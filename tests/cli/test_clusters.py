# SPDX-License-Identifier: Apache-2.0
"""The examples for Ray and Spark, each on a cluster of processes of this machine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import recordings
from driving import ROOT, Run

from forebay.store.examples.work import look_at

PYTHON = ROOT / "build" / "clusters" / "bin" / "python"
COUNT = 300
SECONDS = 900


def has(package: str) -> bool:
    """Whether the interpreter of the clusters finds a package."""
    looking = [str(PYTHON), "-c", f"import importlib.util as u; exit(not u.find_spec('{package}'))"]
    return PYTHON.exists() and subprocess.run(looking, check=False).returncode == 0


@pytest.mark.nightly
@pytest.mark.parametrize(("module", "package"), [("ray_rows", "ray"), ("spark_rows", "pyspark")])
def test_references_are_followed(tmp_path: Path, forebay: Run, module: str, package: str) -> None:
    """Workers read each payload from the raw image, from nothing but references in Parquet."""
    if not has(package):
        pytest.skip(f"{package} is not in build/clusters: `make nightly` installs it there")
    if package == "pyspark" and not shutil.which("java"):
        pytest.skip("Spark needs Java, and there is no `java` on the path")
    files = recordings.folder(tmp_path / "files", COUNT)
    image = recordings.pack(tmp_path / "files", tmp_path / "run.img")
    forebay("store", "export", image, tmp_path / "rows", "--to", "parquet")
    done = subprocess.run(
        [PYTHON, "-m", f"forebay.store.examples.{module}", tmp_path / "rows"],
        env=os.environ | {"PYTHONPATH": str(ROOT / "python"), "PYSPARK_PYTHON": str(PYTHON)},
        text=True,
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = sorted(map(json.loads, done.stdout.splitlines()), key=lambda row: row["object"])
    assert found == [{"object": n} | look_at(data) for n, data in enumerate(files)]
