# SPDX-License-Identifier: Apache-2.0
"""fb_net_pause_out: frames that scapy reads, when the level and the time left ask for them."""

from __future__ import annotations

import itertools
import random

import cocotb
import pytest
from cocotb.triggers import FallingEdge
from scapy.layers.l2 import Ether

import frames
import harness
from forebay import spec
from runner import simulate

XOFF, XON, QUANTA, REFRESH = 900, 500, 2000, 300
# Cycles between two frames where nothing changes.
PERIOD = (QUANTA - REFRESH) * spec.PAUSE_CYCLES // spec.PAUSE_QUANTA


class Bench:
    """Sets the level, takes frames, notes cycle and quanta of each."""

    def __init__(self, dut, priority: bool) -> None:
        self.dut = dut
        self.priority = priority
        self.taken: list[tuple[int, int]] = []
        self.told: list[bool] = []

    async def start(self) -> None:
        """Configure, reset, and take whatever comes."""
        harness.clear(self.dut, "level", "taken", "m_axis_pause_tready")
        frames.configure(self.dut, cfg_priority=int(self.priority), cfg_class=5)
        settings = {"enable": 1, "xoff": XOFF, "xon": XON, "quanta": QUANTA, "refresh": REFRESH}
        settings |= {"limit": 0}
        for name, value in settings.items():
            getattr(self.dut, f"cfg_{name}").value = value
        await harness.start(self.dut)
        self.dut.m_axis_pause_tready.value = 1
        cocotb.start_soon(self.watch())

    async def watch(self) -> None:
        """Read each frame as it is taken."""
        dut, high = self.dut, harness.high
        taken = dut.m_axis_pause_tvalid, dut.m_axis_pause_tready
        sent, falling = (dut.sent_xoff, dut.sent_xon), FallingEdge(dut.clk)
        while True:
            await falling
            if all(high(signal) for signal in taken):
                assert int(dut.m_axis_pause_tkeep.value) == 2**60 - 1
                data = int(dut.m_axis_pause_tdata.value).to_bytes(64, "little")
                self.taken.append((harness.cycle(), self.quanta(data)))
                self.told.append(dut.sent_xoff.value == 1)
                assert dut.sent_xoff.value != dut.sent_xon.value
            else:
                assert not any(high(signal) for signal in sent)

    def quanta(self, data: bytes) -> int:
        """Read a frame, all of it."""
        packet = Ether(data[:60])
        assert packet.dst == "01:80:c2:00:00:01" and packet.src == frames.OUR_MAC
        assert packet.type == spec.ETHERTYPE_MAC_CONTROL and data[60:] == bytes(4)
        words = [int.from_bytes(data[at : at + 2], "big") for at in range(14, 60, 2)]
        place = 7 if self.priority else 1
        opcode = spec.PAUSE_PRIORITY_OPCODE if self.priority else spec.PAUSE_OPCODE
        assert words[0] == opcode
        if self.priority:
            assert words[1] == 1 << 5
        rest = [word for at, word in enumerate(words) if at not in {0, place}]
        assert self.priority is False or not any(words[2:7] + words[8:])
        assert self.priority or not any(rest)
        return words[place]

    async def at(self, level: int, cycles: int) -> list[tuple[int, int]]:
        """Hold a level for some cycles; return the frames taken, by cycles since it was there."""
        began, before = harness.cycle(), len(self.taken)
        self.dut.level.value = level
        await harness.step(self.dut.clk, cycles)
        return [(cycle - began, quanta) for cycle, quanta in self.taken[before:]]


@cocotb.test()
@cocotb.parametrize(priority=[False, True])
async def thresholds(dut, priority: bool) -> None:
    """XOFF at its level, refreshed while it is full, XON at its level, nothing in between."""
    bench = Bench(dut, priority)
    await bench.start()
    assert await bench.at(XOFF - 1, 100) == []
    assert await bench.at(XOFF, 100) == [(2, QUANTA)]
    assert await bench.at(XON + 1, 100) == []
    refreshed = await bench.at(XON + 1, 3 * PERIOD)
    assert [quanta for _, quanta in refreshed] == [QUANTA] * 3
    gaps = [b[0] - a[0] for a, b in itertools.pairwise(refreshed)]
    assert all(abs(gap - PERIOD) <= 4 for gap in gaps), gaps
    assert await bench.at(XON, 100) == [(2, 0)]
    assert await bench.at(0, 2 * PERIOD) == []
    assert await bench.at(XOFF - 1, 100) == []
    assert bench.told == [True] * 4 + [False]


@cocotb.test()
async def never_runs_out(dut) -> None:
    """Whatever the level does and however slow the MAC is: above XON the peer stays silent."""
    bench = Bench(dut, False)
    await bench.start()
    for _ in range(60):
        await bench.at(random.choice([0, XON, XON + 1, XOFF - 1, XOFF, 1500]), 400)
        dut.m_axis_pause_tready.value = random.random() < 0.7
    dut.m_axis_pause_tready.value = 1
    assert (await bench.at(1500, 10_000))[-1][1] == QUANTA
    times = [cycle for cycle, _ in bench.taken][-3:]
    most = QUANTA * spec.PAUSE_CYCLES // spec.PAUSE_QUANTA
    assert all(b - a < most for a, b in itertools.pairwise(times))
    assert (await bench.at(0, 100))[-1][1] == 0


@cocotb.test()
async def switched_off(dut) -> None:
    """Without `cfg_enable` nothing is sent; taking it away lets the peer go."""
    bench = Bench(dut, False)
    await bench.start()
    await bench.at(1500, 10)
    dut.cfg_enable.value = 0
    assert [quanta for _, quanta in await bench.at(1500, 100)] == [0]
    assert await bench.at(0, 10) + await bench.at(1500, 100) == []


def cycles(quanta: int) -> int:
    """Return how long some quanta last."""
    return quanta * spec.PAUSE_CYCLES // spec.PAUSE_QUANTA


@cocotb.test()
@cocotb.parametrize(priority=[False, True])
async def a_pause_ends_at_its_limit(dut, priority: bool) -> None:
    """Above XON for too long: the peer is let go once, and asked again when XON was reached."""
    bench = Bench(dut, priority)
    await bench.start()
    dut.cfg_limit.value = limit = 3 * QUANTA
    ends = []

    async def watch() -> None:
        ended, falling = dut.ended, FallingEdge(dut.clk)
        while True:
            await falling
            if harness.high(ended):
                ends.append(harness.cycle())

    cocotb.start_soon(watch())
    for _ in range(2):
        ends.clear()
        began = harness.cycle()
        found = await bench.at(1500, cycles(limit) - 3)
        assert len(found) == 4 and all(quanta == QUANTA for _, quanta in found), found
        # However full it is, and whether it was below XOFF between.
        later = [bench.at(level, 3 * PERIOD) for level in (1500, XON + 1, XOFF, MEMORY)]
        after = [frame for each in later for frame in await each]
        assert [quanta for _, quanta in after] == [0] and after[0][0] < 20
        assert len(ends) == 1 and abs(ends[0] - began - cycles(limit)) <= 4
        assert await bench.at(XON, 100) == []
    # It is asked again when as much was read as the memory holds, however full that is: once each
    # time, for as long as before.
    for _ in range(3):
        ends.clear()
        assert [q for _, q in await bench.at(1500, cycles(limit) + 20)] == [QUANTA] * 4 + [0]
        began = int(dut.taken.value)
        for read in (1, MEMORY // 2, MEMORY - 1):
            dut.taken.value = (began + read) % (2 * MEMORY)
            assert await bench.at(1500, PERIOD) == []
        dut.taken.value = (began + MEMORY + random.randrange(3)) % (2 * MEMORY)
        assert len(ends) == 1
    assert [q for _, q in await bench.at(1500, 100)] == [QUANTA]
    await bench.at(XON, 100)
    # What drains in time is not ended.
    ends.clear()
    for _ in range(3):
        await bench.at(XOFF, cycles(limit) - 10)
        assert (await bench.at(XON, 100))[-1] == (2, 0)
    assert not ends
    # Without a limit it lasts.
    dut.cfg_limit.value = 0
    assert all(quanta == QUANTA for _, quanta in await bench.at(1500, 2 * cycles(limit)))


MEMORY = 1 << 11
"""Beats of the memory whose level is given."""


@cocotb.test()
async def settings_that_contradict(dut) -> None:
    """XON past XOFF, XOFF past the memory or zero, a refresh past the quanta: it still works."""
    bench = Bench(dut, False)
    await bench.start()
    # XON is less than XOFF, however it is set.
    dut.cfg_xon.value = XOFF + 500
    assert await bench.at(XOFF, 200) == [(2, QUANTA)]
    assert await bench.at(XOFF - 1, 200) == [(2, 0)]
    # An XOFF that the memory does not reach: at 7/8 of it.
    dut.cfg_xoff.value = 65535
    assert await bench.at(MEMORY * 7 // 8 - 1, 200) == []
    assert await bench.at(MEMORY * 7 // 8, 200) == [(2, QUANTA)]
    assert await bench.at(0, 200) == [(2, 0)]
    # XOFF at nothing: an empty memory does not ask for silence for ever.
    dut.cfg_xoff.value, dut.cfg_xon.value = 0, 0
    assert await bench.at(0, 200) == []
    assert await bench.at(1, 200) == [(2, QUANTA)]
    assert await bench.at(0, 200) == [(2, 0)]
    # A refresh that is never over: after half of the time.
    dut.cfg_refresh.value = 65535
    half = QUANTA // 2 * spec.PAUSE_CYCLES // spec.PAUSE_QUANTA
    times = [cycle for cycle, _ in await bench.at(MEMORY, 4 * half)]
    assert len(times) == 4
    assert all(abs(b - a - half) <= 4 for a, b in itertools.pairwise(times)), times
    # No quanta: nothing to ask for, and the peer is let go.
    dut.cfg_quanta.value = 0
    assert [quanta for _, quanta in await bench.at(MEMORY, 200)] == [0]
    assert await bench.at(0, 200) + await bench.at(MEMORY, 200) == []


REST = 32 * spec.PAUSE_CYCLES // spec.PAUSE_QUANTA


@cocotb.test()
async def no_storm(dut) -> None:
    """Any settings and any level: a first frame at once, no two others nearer than 32 quanta."""
    bench = Bench(dut, False)
    await bench.start()
    for _ in range(30):
        # Settings are written while nothing waits to be sent.
        dut.m_axis_pause_tready.value = 1
        await harness.until(dut.clk, dut.m_axis_pause_tvalid, 0)
        await harness.step(dut.clk)
        for name in ("xoff", "xon", "quanta", "refresh"):
            handle = getattr(dut, f"cfg_{name}")
            handle.value = random.choice([0, 1, 2, 63, 500, MEMORY, 65535, random.randrange(1000)])
        for _ in range(60):
            level = random.choice([0, 1, 2, 500, 1500, MEMORY, random.randrange(MEMORY)])
            await bench.at(level, random.randrange(1, 20))
            dut.m_axis_pause_tready.value = random.random() < 0.9
    dut.m_axis_pause_tready.value = 1
    pairs = list(zip(itertools.pairwise(bench.taken), bench.told, strict=False))
    assert all(b[0] - a[0] > REST for (a, b), asked in pairs if asked)
    # One that lets go is never said twice.
    assert all(a or b for a, b in itertools.pairwise(bench.told))
    assert len(bench.taken) > 100
    # Whatever was set, the peer is let go in the end.
    await bench.at(0, 200)
    assert bench.told[-1] is False


@cocotb.test()
async def reset_forgets(dut) -> None:
    """After a reset the peer is asked anew."""
    bench = Bench(dut, False)
    await bench.start()
    await bench.at(1500, 10)
    await harness.reset(dut, 2)
    assert [quanta for _, quanta in await bench.at(1500, 10)] == [QUANTA]


@harness.provocation
async def withdraw(dut) -> None:
    """The stream checker is awake."""
    bench = Bench(dut, False)
    await bench.start()
    await harness.withdraw(dut.clk, dut.u_check_pause)


@pytest.mark.parametrize("bits", [12])
def test_pause_out(bits: int) -> None:
    """Run all coroutines."""
    simulate(__file__, "fb_net_pause_out", {"LevelBits": bits})


def test_checker_fires() -> None:
    """The stream checker fires."""
    message = "m_axis_pause: valid fell"
    simulate(__file__, "fb_net_pause_out", fires={"withdraw": message})
