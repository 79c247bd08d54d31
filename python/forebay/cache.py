# SPDX-License-Identifier: Apache-2.0
"""The user's cache folder, which all checkouts share."""

from __future__ import annotations

import os
from pathlib import Path


def user_folder() -> Path:
    """Return `$FOREBAY_CACHE`, else `forebay` in the folder for caches."""
    if name := os.environ.get("FOREBAY_CACHE"):
        return Path(name)
    cache_home = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache_home) if cache_home else Path.home() / ".cache") / "forebay"
