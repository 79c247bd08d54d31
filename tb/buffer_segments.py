# SPDX-License-Identifier: Apache-2.0
"""The segments of host memory that are the payload buffer of fb_top_hostdram."""

from __future__ import annotations

import random

import harness

SEGMENT = 4 << 20  # bytes
COUNT = 32  # for writes, then for reads


class BufferSegments:
    """Segments in any order in a region of host memory, and the device that is told of them."""

    span = 2 * COUNT * SEGMENT

    def __init__(self, dut) -> None:
        self.dut = dut
        places = random.sample(range(self.span // SEGMENT), COUNT)
        self.addresses = [place * SEGMENT for place in places]

    async def set(self, port, less: int = 0) -> None:
        """Tell a device by its signals `segment_*`: addresses less an offset, modulo 2^64."""
        for index, address in enumerate(self.addresses):
            port.segment_index.value = index
            port.segment_address.value = (address - less) % 2**64
            port.segment_we.value = 1
            await harness.step(self.dut.clk)
        port.segment_we.value = 0
        await harness.step(self.dut.clk)

    def place(self, at: int) -> int:
        """Return the address of a byte of the buffer."""
        return self.addresses[at // SEGMENT] + at % SEGMENT
