# SPDX-License-Identifier: Apache-2.0
"""Remembers what has passed, by the hash of all that it depends on, for all checkouts of a user.

A stamp is a file in the user's cache folder. Its name is the hash, so a damaged, lost or foreign
stamp only means that something is run again. A conftest.py that imports the hooks below leaves
tests out that have passed as they are, where `$FOREBAY_REMEMBER` is set, and runs them all the
same, to remember them anew, where it is `forget`. `make test` sets it.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest

import inputs
from forebay.cache import user_folder

ROOT = Path(__file__).resolve().parent.parent
DAYS_KEPT = 60
REMEMBER = "FOREBAY_REMEMBER"
UNCHANGED = "unchanged since they passed"


class Stamps:
    """A folder of stamps.

    Parameters
    ----------
    folder : Path
        It is made when the first stamp is kept. If it cannot be used, nothing is remembered, and
        standard error says once why.
    forget : bool
        Finds no stamp, and keeps new ones.
    """

    def __init__(self, folder: Path, *, forget: bool = False) -> None:
        self.folder = folder
        self.forget = forget
        self._complained = False

    @classmethod
    def of_user(cls, *, forget: bool) -> Stamps:
        """Return those of the user."""
        return cls(user_folder() / "passed", forget=forget)

    def has(self, key: str) -> bool:
        """Say whether there is a stamp of this name."""
        if self.forget:
            return False
        try:
            if not self._is_mine():
                return False
            stamp = self.folder / key
            good = stamp.read_text() == f"{key}\n"
            if good:
                os.utime(stamp)
        except FileNotFoundError:
            return False
        except (OSError, UnicodeDecodeError) as error:
            return self._complain(error)
        return good

    def keep(self, key: str) -> None:
        """Leave a stamp of this name."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not self._is_mine():
                return
            # Whole or not at all: another run may look at the same time.
            handle, name = tempfile.mkstemp(dir=self.folder)
            try:
                with open(handle, "w") as new:
                    new.write(f"{key}\n")
                Path(name).replace(self.folder / key)
            except OSError:
                Path(name).unlink()
                raise
        except OSError as error:
            self._complain(error)

    def prune(self) -> None:
        """Remove stamps that were not used for a long time, and those left half written."""
        oldest = time.time() - DAYS_KEPT * 86_400
        with suppress(OSError):
            for stamp in self.folder.iterdir():
                with suppress(OSError):
                    if stamp.stat().st_mtime < oldest:
                        stamp.unlink()

    def _is_mine(self) -> bool:
        """Say whether only the user can have written these stamps."""
        found = self.folder.stat()
        if found.st_uid == os.geteuid() and not found.st_mode & 0o022:
            return True
        return self._complain("others can write there")

    def _complain(self, why: object) -> bool:
        if not self._complained:
            self._complained = True
            print(
                f"{self.folder}: {why}; nothing is remembered. Set FOREBAY_CACHE to a folder of "
                "your own with room in it",
                file=sys.stderr,
                flush=True,
            )
        return False


class Case:
    """Something that passes or fails, with all that it depends on.

    Parameters
    ----------
    name : str
        What is run.
    files : iterable of Path
        Files that it reads, in the checkout.
    """

    def __init__(self, name: str, files: Iterable[Path]) -> None:
        self.name = name
        self.files = frozenset(files)
        self.key = self._digest()

    def _digest(self) -> str:
        return inputs.digest(ROOT, self.files, [self.name, *inputs.tools()])

    def has_passed(self, stamps: Stamps) -> bool:
        """Say whether it passed when all was as it is."""
        return stamps.has(self.key)

    def passed(self, stamps: Stamps) -> None:
        """Remember it, unless a file has changed meanwhile."""
        if self._digest() == self.key:
            stamps.keep(self.key)


# ---- Hooks of pytest, for a conftest.py to import ------------------------------------------------

CASE = pytest.StashKey[Case]()


@cache
def _tree() -> inputs.Inputs:
    return inputs.Inputs(ROOT)


@cache
def _files(path: Path) -> frozenset[Path]:
    found = _tree().of_test(path)
    return frozenset(found if "tb" in path.parts else found | _tree().program(path))


@cache
def _stamps() -> Stamps:
    return Stamps.of_user(forget=os.environ.get(REMEMBER) == "forget")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave a test out that has passed as it is."""
    if not os.environ.get(REMEMBER):
        return
    case = Case(item.nodeid, _files(item.path))
    if case.has_passed(_stamps()):
        pytest.skip(UNCHANGED)
    item.stash[CASE] = case


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Remember a test that has passed, its teardown included."""
    report = yield
    case = item.stash.get(CASE, None)
    if case and not report.passed:
        del item.stash[CASE]
    elif case and call.when == "teardown":
        case.passed(_stamps())
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many were left out."""
    skipped = terminalreporter.stats.get("skipped", [])
    count = sum(UNCHANGED in str(report.longrepr) for report in skipped)
    if count:
        terminalreporter.write_line(f"{count} {UNCHANGED}")
