# SPDX-License-Identifier: Apache-2.0
"""fb_dnn_classify: what it assumes of a network. What it does: tests/cli/test_dnn.py."""

from __future__ import annotations

import harness
from runner import simulate


@harness.provocation
async def unasked(dut) -> None:
    """The network gives a class, and had no image."""
    harness.clear(dut, "s_axis_*", "m_axis_*_tready", "extent", "skip", "pixel_ready", "judged")
    dut.class_valid.value = 0
    await harness.start(dut)
    dut.class_valid.value = 1
    await harness.step(dut.clk, 3)


def test_assertions() -> None:
    """Each class is that of an image."""
    parameters = {"Size": 32, "Streams": 1, "Images": 2}
    fires = {"unasked": "classes_have_tags"}
    simulate(__file__, "fb_dnn_classify", parameters, fires=fires)
