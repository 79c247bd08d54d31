# SPDX-License-Identifier: Apache-2.0
"""A chain as the command line makes it: add and pass, and on the way back two that add.

`cargo test` compares the file that is simulated here with what is made of such a pipeline.
"""

from __future__ import annotations

import random
from pathlib import Path

import cocotb
from test_add_per_stream import SETTINGS
from test_fb_pe_chain import ELEMENTS, ON, WORD, added

import elements
import harness
from forebay import spec
from runner import simulate

CHAIN = Path(__file__).parent / "add_back.sv"
INSIDE = 32
BACK = SETTINGS + 2 * spec.ELEMENTS_SETTINGS_BYTES  # of the second one on the way back


@cocotb.test()
@cocotb.parametrize(idle=[0.0, 0.4], stall=[0.0, 0.4])
async def both_directions(dut, idle: float, stall: float) -> None:
    """What goes in and what comes back pass each other; each direction has its elements."""
    received, read = elements.Bench(dut), elements.Bench(dut, "back")
    dut.extent_valid.value = dut.back_valid.value = 0
    host = harness.axil_master(dut, "s_axil_pe")
    addends = [random.getrandbits(32) for _ in range(4)]
    cfg = sum((ON | addend) << 64 * at for at, addend in enumerate(addends))
    read.pause(idle, stall)
    await received.start(cfg, idle, stall)
    own = {place: random.getrandbits(32) for place in random.sample(range(16), 9)}
    for place, addend in own.items():
        word = (ON | addend).to_bytes(8, "little")
        await host.write(BACK + 8 * place, word[:4])
        await host.write(BACK + 8 * place + 4, word[4:])
    for _ in range(4):
        sent: list[tuple[bytes, int]] = []
        for _ in range(INSIDE):
            data = random.randbytes(elements.size())
            extent = elements.any_extent(elements.WHOLE, len(data))._replace(back=1)
            dut.back_valid.value = 1
            dut.back_tid.value, dut.back.value = read.tag, extent.word()
            await harness.step(dut.clk)
            dut.back_valid.value = 0
            await received.send(data)
            await read.send(data, elements.WHOLE, extent)
            sent.append((data, own.get(extent.stream % 16, addends[3])))
        for data, addend in sent:
            await received.expect(added(data, addends[0]))
            await read.expect(added(data, (addends[1] + addend) % WORD))
    await received.silent()
    await read.silent()


def test_add_back() -> None:
    """Run all coroutines."""
    simulate(__file__, "fb_pe_chain", filelist=ELEMENTS, extra_sources=[CHAIN])
