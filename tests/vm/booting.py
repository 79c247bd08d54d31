# SPDX-License-Identifier: Apache-2.0
"""What the tests that boot a guest share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from driving import Answer

# Runs a shell script in a guest: script, options of `forebay vm run`, `code=`.
Guest = Callable[..., Answer]
# Serves a device, by options of `forebay vm serve`; returns its socket, and what waits for its end
# and tells exit code and output.
Serve = Callable[..., tuple[Path, Callable[[], tuple[int, str]]]]
