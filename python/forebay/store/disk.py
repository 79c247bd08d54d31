# SPDX-License-Identifier: Apache-2.0
"""An image file or block device, read only."""

from __future__ import annotations

import errno
import mmap
import os
import stat
from pathlib import Path

import numpy as np
from google_crc32c import extend

from forebay.store.errors import StoreError

# Bytes that are read at once: they stay in a core's own cache until their checksum is known.
CHUNK = 1 << 20


class Disk:
    """An image file or block device.

    Parameters
    ----------
    path : path-like
        Which.

    Attributes
    ----------
    path : Path
        Which.
    bytes : int
        How many it has.
    complaints : list of str
        None: there is nothing that could be wrong, unlike in an array.

    Raises
    ------
    StoreError
        Where it cannot be opened.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.complaints: list[str] = []
        self._descriptor = -1
        try:
            # A pipe would keep us waiting until its other end is opened.
            self._descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            mode = os.fstat(self._descriptor).st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISBLK(mode)):
                raise OSError(errno.EINVAL, "it is neither a file nor a block device")
            self.bytes = os.lseek(self._descriptor, 0, os.SEEK_END)
        except OSError as error:
            self.close()
            raise StoreError(
                f"opening {self.path}: {error.strerror}",
                "name the image or the whole drive, and check the rights to it",
            ) from error

    def place(self) -> str:
        """Return its whole path."""
        return str(self.path.resolve())

    def close(self) -> None:
        """Let go of it."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def read(self, at: int, length: int) -> bytes:
        """Bytes from `at` on; fewer at the end of the disk.

        Raises
        ------
        StoreError
            Where the disk does not give them.
        """
        parts, here, left = [], at, length
        try:
            while left > 0:
                part = os.pread(self._descriptor, left, here)
                if not part:
                    break
                parts.append(part)
                here += len(part)
                left -= len(part)
        except OSError as error:
            raise StoreError(
                f"reading {self.path} at byte {here}: {error.strerror}",
                "copy what can be read of the drive, and work on the copy",
            ) from error
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def map(self, at: int, length: int) -> np.ndarray:
        """Bytes as an array that reads them from the disk where they are looked at.

        Parameters
        ----------
        at : int
            First byte.
        length : int
            Bytes; those behind the end of the disk are left out.

        Returns
        -------
        ndarray of uint8, read-only
        """
        length = max(0, min(length, self.bytes - at))
        if length == 0:
            return np.zeros(0, np.uint8)
        before = at % mmap.ALLOCATIONGRANULARITY
        mapped = mmap.mmap(
            self._descriptor, before + length, access=mmap.ACCESS_READ, offset=at - before
        )
        return np.frombuffer(mapped, np.uint8)[before:]


def crc32c(*parts: bytes | np.ndarray) -> int:
    """CRC32C of bytes that follow each other."""
    total = 0
    for part in parts:
        total = extend(total, part)
    return total
