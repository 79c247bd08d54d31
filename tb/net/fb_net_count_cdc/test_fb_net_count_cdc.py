# SPDX-License-Identifier: Apache-2.0
"""fb_net_count_cdc: every pulse arrives."""

from __future__ import annotations

import random

import cocotb
from cocotb.clock import Clock

import harness
from runner import simulate


@cocotb.test()
@cocotb.parametrize(pair=[(3104, 3334), (3104, 9998), (9998, 3104)])
async def every_pulse(dut, pair: tuple[int, int]) -> None:
    """Pulses in consecutive cycles or alone are all counted, and a reset forgets them."""
    dut.s_pulse.value = 0
    dut.s_rst.value = 1
    dut.m_rst.value = 1
    Clock(dut.s_clk, pair[0], unit="ps").start()
    Clock(dut.m_clk, pair[1], unit="ps").start()
    for _ in range(2):
        dut.s_rst.value = 1
        dut.m_rst.value = 1
        for clk in (dut.s_clk, dut.m_clk):
            await harness.step(clk, 4)
        dut.s_rst.value = 0
        dut.m_rst.value = 0
        count = 0
        for _ in range(300):
            pulse = random.random() < 0.6
            dut.s_pulse.value = pulse
            count += pulse
            await harness.step(dut.s_clk)
        dut.s_pulse.value = 0
        await harness.step(dut.s_clk, 3)
        await harness.step(dut.m_clk, 5)
        assert int(dut.m_count.value) == count


def test_count() -> None:
    """Run all coroutines."""
    simulate(__file__, "fb_net_count_cdc")
