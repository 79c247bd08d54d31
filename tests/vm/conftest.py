# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests that boot a guest."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from booting import Guest
from driving import GOOD, PROGRAM, ROOT, Answer, Run, call


@pytest.fixture(scope="session")
def forebay() -> Run:
    """Return a function that runs a command line in the checkout."""
    if not PROGRAM.exists():
        pytest.fail(f"{PROGRAM} is missing: `make build/forebay` makes it")
    return call


@pytest.fixture
def guest(forebay: Run, tmp_path: Path) -> Guest:
    """Return a function that runs a shell script in a guest with these options."""

    def run(script: str, *options: object, code: int | None = GOOD) -> Answer:
        log = tmp_path / "serial.log"
        answer = forebay(
            "vm", "run", "--serial-log", log, *options, "--", "sh", "-exc", script, code=None
        )
        assert code is None or answer.code == code, (
            f"{answer.code}\n{answer.out}\n{answer.err}\n{log.read_text(errors='replace')[-3000:]}"
        )
        return answer

    return run


@pytest.fixture(scope="session")
def vfio_test(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the program that drives a controller through VFIO."""
    command = ["cargo", "test", "--locked", "--quiet", "--package=forebay-vfio", "--test=guest"]
    done = subprocess.run(
        [*command, "--no-run", "--message-format=json"],
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        check=True,
    )
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    programs = [message["executable"] for message in messages if message.get("executable")]
    path = tmp_path_factory.mktemp("program") / "vfio-test"
    shutil.copy(programs[-1], path)
    return path
