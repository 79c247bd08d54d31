# SPDX-License-Identifier: Apache-2.0
"""What command lines have in common: exit codes, failures in words, a progress bar."""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Callable
from types import ModuleType

from forebay.store.errors import StoreError

# Exit codes, as docs/reference/cli.md lists them.
GOOD, IMPOSSIBLE, BAD_INPUT, DAMAGED, FILE_FAILED, INTERRUPTED = 0, 1, 2, 5, 8, 130
WIDTH = 32
# Seconds between two looks of a progress bar.
PERIOD = 0.1


def failure(message: object, remedy: str | None = None) -> None:
    """Tell on standard error what went wrong, and what to do."""
    lines = str(message).strip().splitlines() or ["it failed"]
    print(f"  × {lines[0]}", *(f"  │ {line}" for line in lines[1:]), sep="\n", file=sys.stderr)
    if remedy:
        print(f"  help: {remedy}", file=sys.stderr)


def warn(complaints: list[str]) -> None:
    """Tell on standard error what is not as it should be."""
    for complaint in complaints:
        print(f"warning: {complaint}", file=sys.stderr)


def guarded(work: Callable[[], int]) -> int:
    """Run a command; returns its exit code, also where it fails."""
    try:
        code = work()
        sys.stdout.flush()
        return code
    except StoreError as error:
        failure(error, error.remedy)
        return BAD_INPUT
    except BrokenPipeError:
        # Who read our output has enough; what is still buffered must not fail, too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return GOOD
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        failure(f"{where}{error.strerror or error}", "check the path, the rights to it, the room")
        return FILE_FAILED
    except MemoryError:
        failure("there is not enough memory", "ask for less at once")
        return IMPOSSIBLE
    except KeyboardInterrupt:
        return INTERRUPTED


def needed(module: str) -> ModuleType:
    """Import a module that may not be installed.

    Raises
    ------
    SystemExit
        Where it is not there, after saying which wheel is missing.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        wheel = (error.name or module).split(".")[0]
        failure(
            f"Python cannot import {wheel}: {error}",
            "`make setup` installs it; duckdb, numpy and pyarrow come with `scripts/setup data`",
        )
        raise SystemExit(IMPOSSIBLE) from error


class Progress:
    """A bar on standard error, where that is a terminal.

    Parameters
    ----------
    text : str
        What goes on.
    total : int
        Bytes at its end.
    """

    def __init__(self, text: str, total: int) -> None:
        self._text, self._total, self._done, self._shown = text, max(total, 1), 0, 0.0
        self._on = sys.stderr.isatty()

    def add(self, count: int) -> None:
        """Report that a number of bytes more are done."""
        self._done += count
        now = time.monotonic()
        if self._on and now - self._shown > PERIOD:
            self._shown = now
            full = min(WIDTH, WIDTH * self._done // self._total)
            bar = "━" * full + "─" * (WIDTH - full)
            line = f"{self._text} {bar} {self._done / 2**20:,.0f}/{self._total / 2**20:,.0f} MiB"
            print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Take the bar away."""
        if self._on:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
