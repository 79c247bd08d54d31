# SPDX-License-Identifier: Apache-2.0
"""What an array with parity looks like: stripes, the last unit of each the XOR of the others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce


@dataclass(frozen=True)
class Stripes:
    """The stripes of an array."""

    drives: int  # the one with the parity among them
    chunk: int  # bytes

    @property
    def payload(self) -> int:
        """Bytes of the user's in a stripe."""
        return (self.drives - 1) * self.chunk

    def moved(self, address: int) -> int:
        """Return where a byte of the user's lies in the address space over all drives."""
        return address + address // self.payload * self.chunk

    def laid_out(self, data: bytes) -> bytes:
        """Return whole stripes, each with its parity, filled up with zeros."""
        data += bytes(-len(data) % self.payload)
        return b"".join(
            one + parity(one, self.chunk)
            for one in (data[at : at + self.payload] for at in range(0, len(data), self.payload))
        )


def parity(data: bytes, chunk: int) -> bytes:
    """Return the XOR of all chunks."""
    chunks = (data[at : at + chunk] for at in range(0, len(data), chunk))
    return reduce(lambda a, b: a ^ b, (int.from_bytes(one, "big") for one in chunks)).to_bytes(
        chunk, "big"
    )
