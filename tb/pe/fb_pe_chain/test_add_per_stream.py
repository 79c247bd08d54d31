# SPDX-License-Identifier: Apache-2.0
"""A chain as the command line makes it: add, then add with per-stream settings.

`cargo test` compares the file that is simulated here with what is made of such a pipeline.
"""

from __future__ import annotations

import random
from pathlib import Path

import cocotb
from test_fb_pe_chain import ELEMENTS, ON, WORD, added, settings

import elements
import harness
from forebay import spec
from runner import simulate

CHAIN = Path(__file__).parent / "add_per_stream.sv"
INSIDE = 32
SETTINGS = spec.ELEMENTS_CHAIN + spec.ELEMENTS_SETTINGS_AT + spec.ELEMENTS_SETTINGS_BYTES


@cocotb.test()
@cocotb.parametrize(idle=[0.0, 0.4], stall=[0.0, 0.4])
async def each_stream_has_its_own(dut, idle: float, stall: float) -> None:
    """The second stage adds what its packet's stream says; packets of all are in it at once."""
    bench = elements.Bench(dut)
    dut.extent_valid.value = 0
    host = harness.axil_master(dut, "s_axil_pe")
    usual = random.getrandbits(32)
    cfg = settings(0, usual) >> 64  # the first and the second stage
    await bench.start(cfg, idle, stall)
    own = {place: random.getrandbits(32) for place in random.sample(range(16), 9)}
    for place, addend in own.items():
        word = (ON | addend).to_bytes(8, "little")
        await host.write(SETTINGS + 8 * place, word[:4])
        await host.write(SETTINGS + 8 * place + 4, word[4:])
    for _ in range(4):
        sent: list[tuple[bytes, int]] = []
        for _ in range(INSIDE):
            data = random.randbytes(elements.size())
            extent = elements.any_extent(elements.WHOLE, len(data))
            dut.extent_valid.value = 1
            dut.extent_tid.value, dut.extent.value = bench.tag, extent.word()
            await harness.step(dut.clk)
            dut.extent_valid.value = 0
            await bench.send(data, elements.WHOLE, extent)
            sent.append((data, own.get(extent.stream % 16, usual)))
        for data, addend in sent:
            await bench.expect(added(data, addend % WORD))
    await bench.silent()


def test_add_per_stream() -> None:
    """Run all coroutines."""
    simulate(__file__, "fb_pe_chain", filelist=ELEMENTS, extra_sources=[CHAIN])
