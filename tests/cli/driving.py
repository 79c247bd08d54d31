# SPDX-License-Identifier: Apache-2.0
"""Drives build/forebay as a user does: command lines in, exit codes, files and text out."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / os.environ.get("FOREBAY", "build/forebay")
TIMEOUT_SECONDS = 600

# Exit codes, as docs/reference/cli.md lists them.
GOOD, IMPOSSIBLE, BAD_INPUT, BAD_RESULT, STUCK, INTERRUPTED = 0, 1, 2, 3, 4, 130
DAMAGED, INFEASIBLE, OFF_TOLERANCE, FILE_FAILED = 5, 6, 7, 8


@dataclass(frozen=True)
class Answer:
    """What a command line came to."""

    code: int
    out: str
    err: str

    @property
    def report(self) -> dict:
        """The JSON report on standard output."""
        return json.loads(self.out)

    @property
    def complaint(self) -> str:
        """Standard error as one line, without the frame that it is drawn in."""
        return " ".join(re.sub(r"[│╰├─▶×]", " ", self.err).split())


Run = Callable[..., Answer]


def call(
    *words: object,
    code: int | None = GOOD,
    env: dict[str, str] | None = None,
    timeout: int = TIMEOUT_SECONDS,
) -> Answer:
    """Run a command line in the checkout; its exit code must be `code`, unless that is None.

    `env` are more variables of its environment, `timeout` is in seconds.
    """
    command = [str(PROGRAM), *map(str, words)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **(env or {})},
        text=True,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=timeout,
        check=False,
    )
    answer = Answer(done.returncode, done.stdout, done.stderr)
    assert code is None or answer.code == code, f"{command}\n{answer.out}\n{answer.err}"
    return answer
