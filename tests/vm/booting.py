# SPDX-License-Identifier: Apache-2.0
"""What the tests that boot a guest share."""

from __future__ import annotations

from collections.abc import Callable

from driving import Answer

# Runs a shell script in a guest: script, options of `forebay vm run`, `code=`.
Guest = Callable[..., Answer]
