# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the end-to-end tests."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from driving import PROGRAM, ROOT, Run, call

from passed import (  # noqa: F401
    pytest_collection_modifyitems,
    pytest_runtest_makereport,
    pytest_runtest_setup,
    pytest_terminal_summary,
)


@pytest.fixture(scope="session")
def forebay() -> Run:
    """Return a function that runs a command line in the checkout."""
    if not PROGRAM.exists():
        pytest.fail(f"{PROGRAM} is missing: `make build/forebay` makes it")
    return call


@pytest.fixture
def data(tmp_path: Path) -> Callable[[int], Path]:
    """Return a function that makes a file of N random bytes."""

    def make(size: int) -> Path:
        path = tmp_path / f"data-{size}"
        path.write_bytes(random.Random(size).randbytes(size))
        return path

    return make


@pytest.fixture
def profile(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that makes a variant of the ideal profile: field=value."""

    def make(**fields: int) -> Path:
        text = (ROOT / "profiles" / "ideal.toml").read_text()
        for field, value in fields.items():
            text, count = re.subn(
                rf"^{field} = {{ value = \w+", f"{field} = {{ value = {value}", text, flags=re.M
            )
            assert count, f"the profile has no field {field}"
        path = tmp_path / f"{'-'.join(f'{k}-{v}' for k, v in fields.items())}.toml"
        path.write_text(text)
        return path

    return make
