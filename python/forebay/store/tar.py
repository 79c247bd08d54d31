# SPDX-License-Identifier: Apache-2.0
"""The extents of a recording as one file, wherever they lie."""

from __future__ import annotations

import io

import numpy as np

from forebay.store.disk import Disk

# Bytes of a header; files are padded to a multiple of it (POSIX.1-1988).
BLOCK = 512
# Two blocks of zeros end a tar file.
END = bytes(2 * BLOCK)


class TarView(io.RawIOBase):
    """Reads parts of a disk as if they followed each other, and behind them its end.

    Parameters
    ----------
    disk : Disk
        Where they lie.
    starts, lengths : ndarray of int64
        First byte of each part, and its bytes.
    end : bytes
        What stands behind the last: usually the end of a tar file.
    """

    def __init__(
        self, disk: Disk, starts: np.ndarray, lengths: np.ndarray, end: bytes = END
    ) -> None:
        super().__init__()
        self._end = end
        self._disk, self._starts = disk, starts
        # Where each begins in the file; at the end, where all of them end.
        self._begins = np.concatenate([[0], np.cumsum(lengths)])
        self._at = 0

    def readable(self) -> bool:
        """It can be read."""
        return True

    def seekable(self) -> bool:
        """It can be read from any place on."""
        return True

    def tell(self) -> int:
        """Return the place that is read next."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place."""
        end = int(self._begins[-1]) + len(self._end)
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: end}[whence]
        if base + offset < 0:
            raise ValueError(f"place {base + offset} is before the beginning")
        self._at = base + offset
        return self._at

    def readinto(self, buffer: memoryview) -> int:
        """Read what the buffer takes, or what is left of the part."""
        total = int(self._begins[-1])
        if self._at >= total:
            part = self._end[self._at - total :][: len(buffer)]
        else:
            which = int(np.searchsorted(self._begins, self._at, "right")) - 1
            inside = self._at - int(self._begins[which])
            left = int(self._begins[which + 1]) - self._at
            part = self._disk.read(int(self._starts[which]) + inside, min(left, len(buffer)))
        buffer[: len(part)] = part
        self._at += len(part)
        return len(part)
