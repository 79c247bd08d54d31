# SPDX-License-Identifier: Apache-2.0
"""Lets every test file under tb/ import `runner`, and leaves out what has passed as it is."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent / "scripts")]

from passed import (  # noqa: E402, F401
    pytest_collection_modifyitems,
    pytest_runtest_makereport,
    pytest_runtest_setup,
    pytest_terminal_summary,
)
