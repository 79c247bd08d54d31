# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests that boot a guest."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from booting import Guest, Serve
from driving import GOOD, PROGRAM, ROOT, Answer, Run, call

from passed import (  # noqa: F401
    pytest_runtest_makereport,
    pytest_runtest_setup,
    pytest_terminal_summary,
)

# Behind the commands that guests and their host run here: a change elsewhere boots none of them
# again. A module that runs others names the whole program.
CRATES = ("forebay-draw", "forebay-pipeline", "forebay-vfio", "forebay-vm")


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


def guest_program(package: str, folder: Path) -> Path:
    """Return a crate's test `guest`, a program for the guest."""
    command = ["cargo", "test", "--locked", "--quiet", f"--package={package}", "--test=guest"]
    done = subprocess.run(
        [*command, "--no-run", "--message-format=json"],
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        check=True,
    )
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    programs = [message["executable"] for message in messages if message.get("executable")]
    path = folder / f"{package.removeprefix('forebay-')}-test"
    shutil.copy(programs[-1], path)
    return path


@pytest.fixture(scope="session")
def vfio_test(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the program that drives a controller through VFIO."""
    return guest_program("forebay-vfio", tmp_path_factory.mktemp("program"))


@pytest.fixture(scope="session")
def vm_test(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the program that lets a streamer stream in the guest."""
    return guest_program("forebay-vm", tmp_path_factory.mktemp("program"))


@pytest.fixture
def serve(forebay: Run, tmp_path: Path) -> Iterator[Serve]:
    """Return a function that serves a device; its socket, and a function that tells its end."""
    servers: list[subprocess.Popen[str]] = []

    def start(*options: object) -> tuple[Path, Callable[[], tuple[int, str]]]:
        path = tmp_path / f"{len(servers)}.sock"
        command = [PROGRAM, "vm", "serve", *options, "--socket", path]
        server = subprocess.Popen(
            [str(word) for word in command], cwd=ROOT, text=True, stdout=subprocess.PIPE
        )
        servers.append(server)
        assert server.stdout is not None
        assert "listening" in server.stdout.readline()

        def end() -> tuple[int, str]:
            out, _ = server.communicate(timeout=60)
            return server.returncode, out

        return path, end

    yield start
    for server in servers:
        server.kill()
        server.communicate()
