# SPDX-License-Identifier: Apache-2.0
"""What the tests that boot a guest share."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

from driving import Answer

# Runs a shell script in a guest: script, options of `forebay vm run`, `code=`.
Guest = Callable[..., Answer]
# Serves a device, by options of `forebay vm serve`; returns its socket, and what waits for its end
# and tells exit code and output.
Serve = Callable[..., tuple[Path, Callable[[], tuple[int, str]]]]


def pull_out(qmp: Path, device: str) -> None:
    """Ask QEMU at this QMP socket to remove a device."""
    with socket.socket(socket.AF_UNIX) as stream:
        stream.connect(str(qmp))
        with stream.makefile("rw") as lines:
            lines.readline()
            for command in (
                {"execute": "qmp_capabilities"},
                {"execute": "device_del", "arguments": {"id": device}},
            ):
                lines.write(json.dumps(command) + "\n")
                lines.flush()
                while "return" not in json.loads(lines.readline()):
                    pass


def pull_when_read(qmp: Path, log: Path) -> threading.Event:
    """Pull the first drive out once the guest's kernel log says that it is read.

    Returns
    -------
    threading.Event
        Set when QEMU was asked to.
    """
    pulled = threading.Event()

    def wait() -> None:
        limit = time.monotonic() + 100
        while time.monotonic() < limit:
            if log.exists() and "the drive is read" in log.read_text(errors="replace"):
                pull_out(qmp, "ssd0")
                pulled.set()
                return
            time.sleep(0.1)

    threading.Thread(target=wait, daemon=True).start()
    return pulled
