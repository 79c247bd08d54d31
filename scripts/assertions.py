# SPDX-License-Identifier: Apache-2.0
"""Checks that every assertion of the RTL has been seen to fire: one that cannot is worth nothing.

A test shows it by `fires={"coroutine": "label"}`, of a stream checker by the name it reports:
`fires={"coroutine": "AXI4 ar: valid fell"}`.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

LABEL = re.compile(r"^\s*(\w+)\s*:\s*assert\b", re.M)
CHECKER = re.compile(r"fb_axis_check\s*#\([^;]*?\.Name\s*\(\"([^\"]+)\"\)")

# Those of a bus's channels, of which a macro writes each.
KIND = re.compile(r'\.Name *\(`"(\S+) channel`"\)')
CHANNEL = re.compile(r"^ *`FB_CHECK\((\w+),", re.M)


def assertions(text: str) -> list[str]:
    """List what a source's assertions are expected by: labels, and names of stream checkers."""
    names = CHECKER.findall(text)
    for kind in KIND.findall(text):
        names += [f"{kind} {channel}" for channel in CHANNEL.findall(text)]
    return LABEL.findall(text) + [f"{name}: " for name in names]


def expected(text: str) -> set[str]:
    """List the strings of those functions of a test file that expect a failure."""
    found = set()
    for function in ast.parse(text).body:
        nodes = list(ast.walk(function))
        if any(isinstance(node, ast.keyword) and node.arg == "fires" for node in nodes):
            strings = (node.value for node in nodes if isinstance(node, ast.Constant))
            found.update(value for value in strings if isinstance(value, str))
    return found


def unprovoked(root: Path) -> list[str]:
    """List the assertions under `root/rtl` that no test under `root/tb` makes fire.

    Those of a module without a folder of its own may fire in any test of its area.
    """
    missing = []
    for source in sorted(root.glob("rtl/*/*.sv")):
        area = root / "tb" / source.parent.name
        own = area / source.stem
        tests = (own if own.exists() else area).rglob("test_*.py")
        seen = set().union(*(expected(test.read_text()) for test in tests))
        missing += [
            f"{source.relative_to(root)}: no test makes '{name.strip()}' fire"
            for name in assertions(source.read_text())
            if not any(text.startswith(name) for text in seen)
        ]
    return missing
