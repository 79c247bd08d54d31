# SPDX-License-Identifier: Apache-2.0
"""What an array with parity looks like: rows of chunks, the last of them the sum of the others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce


@dataclass(frozen=True)
class Rows:
    """An array of so many drives, the one with the parity among them."""

    drives: int
    chunk: int  # bytes

    @property
    def row(self) -> int:
        """Bytes of the user's in a row."""
        return (self.drives - 1) * self.chunk

    def moved(self, address: int) -> int:
        """Return where a byte of the user's lies in the stripe over all drives."""
        return address + address // self.row * self.chunk

    def laid_out(self, data: bytes) -> bytes:
        """Return whole rows, each with its parity, filled up with zeros."""
        data += bytes(-len(data) % self.row)
        return b"".join(
            row + parity(row, self.chunk)
            for row in (data[at : at + self.row] for at in range(0, len(data), self.row))
        )


def parity(data: bytes, chunk: int) -> bytes:
    """Return the sum of all chunks by exclusive or."""
    chunks = (data[at : at + chunk] for at in range(0, len(data), chunk))
    return reduce(lambda a, b: a ^ b, (int.from_bytes(one, "big") for one in chunks)).to_bytes(
        chunk, "big"
    )
