# SPDX-License-Identifier: Apache-2.0
"""fb_axi_if and fb_axil_if hold each of their channels against the rules of its handshake."""

from __future__ import annotations

from pathlib import Path

import cocotb

import harness
from runner import simulate

CHANNELS = ["aw", "w", "b", "ar", "r"]
# What of a channel's payload is on both buses.
PAYLOAD = {"aw": "awaddr", "w": "wstrb", "b": "bresp", "ar": "araddr", "r": "rresp"}


async def start(dut) -> None:
    """Reset with buses at rest."""
    for bus in (dut.axi, dut.axil):
        for channel in CHANNELS:
            getattr(bus, f"{channel}valid").value = 0
            getattr(bus, f"{channel}ready").value = 0
            getattr(bus, PAYLOAD[channel]).value = 0
    await harness.start(dut)


@cocotb.test()
async def silent_when_right(dut) -> None:
    """What waits stays, is taken, and may then go away; a reset may take it away as well."""
    await start(dut)
    for bus in (dut.axi, dut.axil):
        for channel in CHANNELS:
            valid, ready = getattr(bus, f"{channel}valid"), getattr(bus, f"{channel}ready")
            valid.value = 1
            await harness.step(dut.clk, 3)
            ready.value = 1
            await harness.step(dut.clk)
            valid.value = 0
            ready.value = 0
            getattr(bus, PAYLOAD[channel]).value = 1
            await harness.step(dut.clk)
            valid.value = 1
            await harness.step(dut.clk, 2)
            dut.rst.value = 1
            valid.value = 0
            await harness.step(dut.clk)
            dut.rst.value = 0


@harness.provocation
@cocotb.parametrize(bus=["axi", "axil"], channel=CHANNELS)
async def withdraw(dut, bus: str, channel: str) -> None:
    """Valid falls without ready."""
    await start(dut)
    valid = getattr(getattr(dut, bus), f"{channel}valid")
    valid.value = 1
    await harness.step(dut.clk, 2)
    valid.value = 0
    await harness.step(dut.clk, 2)


@harness.provocation
@cocotb.parametrize(bus=["axi", "axil"], channel=CHANNELS)
async def change(dut, bus: str, channel: str) -> None:
    """The payload changes while it waits."""
    await start(dut)
    of = getattr(dut, bus)
    getattr(of, f"{channel}valid").value = 1
    await harness.step(dut.clk, 2)
    getattr(of, PAYLOAD[channel]).value = 1
    await harness.step(dut.clk, 2)


def run(**options: object) -> None:
    """Build the buses and simulate them."""
    simulate(
        __file__,
        "fb_axi_if_tb",
        extra_sources=[Path(__file__).parent / "fb_axi_if_tb.sv"],
        **options,
    )


def test_buses() -> None:
    """Run all coroutines."""
    run()


def test_assertion_fires() -> None:
    """The checker fires."""
    run(
        fires={
            "withdraw/bus=axi/channel=aw": "AXI4 aw: valid fell",
            "withdraw/bus=axi/channel=w": "AXI4 w: valid fell",
            "change/bus=axi/channel=b": "AXI4 b: payload changed",
            "withdraw/bus=axi/channel=ar": "AXI4 ar: valid fell",
            "change/bus=axi/channel=r": "AXI4 r: payload changed",
            "change/bus=axil/channel=aw": "AXI4-Lite aw: payload changed",
            "change/bus=axil/channel=w": "AXI4-Lite w: payload changed",
            "withdraw/bus=axil/channel=b": "AXI4-Lite b: valid fell",
            "change/bus=axil/channel=ar": "AXI4-Lite ar: payload changed",
            "withdraw/bus=axil/channel=r": "AXI4-Lite r: valid fell",
        }
    )
