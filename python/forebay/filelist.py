# SPDX-License-Identifier: Apache-2.0
"""Filelists: which RTL sources belong together, in which order."""

from __future__ import annotations

import shlex
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def read_filelist(path: Path) -> list[Path]:
    """List the sources of a filelist in order, each once.

    Parameters
    ----------
    path : Path
        A `.f` file; its entries are relative to the repository and `-f other.f` includes another.

    Returns
    -------
    list of Path
        Absolute paths.
    """
    sources: list[Path] = []
    for line in path.read_text().splitlines():
        words = shlex.split(line.split("//")[0], comments=True)
        if not words:
            continue
        found = read_filelist(ROOT / words[1]) if words[0] == "-f" else [ROOT / words[0]]
        sources += [source for source in found if source not in sources]
    return sources
