# SPDX-License-Identifier: Apache-2.0
"""fb_common_turn against its rule in Python, every input of each size."""

from __future__ import annotations

import cocotb
import pytest
from cocotb.triggers import Timer

from runner import simulate


@cocotb.test()
async def every_input(dut) -> None:
    """The first behind the last one that wants, or else the first of all, or 0."""
    sources = int(dut.Sources.value)
    for last in range(1 << len(dut.last)):
        for wants in range(1 << sources):
            dut.wants.value, dut.last.value = wants, last
            await Timer(1, "ns")
            who = [at for at in range(sources) if wants >> at & 1]
            due = next((at for at in who if at > last), who[0] if who else 0)
            assert int(dut.next.value) == due, f"wants={wants:0{sources}b} last={last}"


@pytest.mark.parametrize("sources", [2, 3, 8])
def test_turns(sources: int) -> None:
    """Two, a number that is no power of two, and the drives there can be."""
    simulate(__file__, "fb_common_turn", {"Sources": sources})
