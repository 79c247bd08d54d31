# SPDX-License-Identifier: Apache-2.0
"""fb_dnn_classify: what it assumes of a network. What it does: tests/cli/test_dnn.py."""

from __future__ import annotations

import cocotb
from cocotb.triggers import FallingEdge

import harness
from runner import simulate

INPUTS = ("s_axis_*", "m_axis_*_tready", "extent", "skip", "pixel_ready", "judged", "class_valid")


@cocotb.test()
async def ready_waits_for_valid(dut) -> None:
    """Packets pass, though what is behind becomes ready only when it sees one."""
    harness.clear(dut, *INPUTS)
    await harness.start(dut)
    dut.m_axis_result_tready.value = 1
    for _ in range(5):
        dut.s_axis_object_tvalid.value = dut.s_axis_object_tlast.value = 1
        dut.s_axis_object_tkeep.value = 1
        for _ in range(400):
            await FallingEdge(dut.clk)
            valid = dut.m_axis_object_tvalid.value == 1
            taken = dut.s_axis_object_tready.value == 1
            assert not taken or valid
            await harness.step(dut.clk)
            dut.m_axis_object_tready.value = int(valid and not taken)
            if taken:
                break
        assert taken, "no beat is taken"
        dut.s_axis_object_tvalid.value = 0
        await harness.step(dut.clk, 3)


@harness.provocation
async def unasked(dut) -> None:
    """The network gives a class, and had no image."""
    harness.clear(dut, *INPUTS)
    await harness.start(dut)
    dut.class_valid.value = 1
    await harness.step(dut.clk, 3)


def run(**options: object) -> None:
    """Build the module and simulate it."""
    simulate(__file__, "fb_dnn_classify", {"Size": 32, "Streams": 1, "Images": 2}, **options)


def test_handshake() -> None:
    """The element behind may wait for a packet."""
    run()


def test_assertions() -> None:
    """Each class is that of an image."""
    run(fires={"unasked": "classes_have_tags"})
