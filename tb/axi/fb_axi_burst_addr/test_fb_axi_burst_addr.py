# SPDX-License-Identifier: Apache-2.0
"""fb_axi_burst_addr against AXI4's address arithmetic (AMBA AXI4, A3.4.1) in Python."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass

import cocotb
import pytest
from cocotb.triggers import FallingEdge

import harness
from runner import simulate

INCR = 1


@dataclass
class Burst:
    """One address handshake."""

    id: int
    addr: int
    len: int
    size: int
    burst: int

    def beats(self, max_size: int) -> list[tuple[int, int | None, bool]]:
        """Return (id, address, last) of each beat; a bad burst may have any address."""
        good = self.burst == INCR and self.size <= max_size
        aligned = self.addr >> self.size << self.size
        found = []
        for n in range(self.len + 1):
            address = self.addr if n == 0 else aligned + (n << self.size)
            found.append((self.id, address if good else None, n == self.len))
        return found


def random_burst(dut, kind: str) -> Burst:
    """Return a burst that AXI allows, or with `kind` "any" one that must be refused."""
    max_size = int(dut.MaxSize.value)
    size = max_size if kind == "wide" else random.randrange(max_size + 1)
    page = random.randrange(1 << len(dut.s_addr) - 12) << 12
    offset = random.choice([0, random.randrange(4096), 4096 - (1 << size)])
    most = min(256, (4096 - (offset >> size << size)) >> size)
    length = random.choice([1, most, random.randint(1, most)])
    if kind == "single":
        length = 1
    burst = INCR
    if kind == "any" and random.random() < 0.5:
        burst = random.choice([0, 2, 3])
    return Burst(random.getrandbits(len(dut.s_id)), page + offset, length - 1, size, burst)


async def run(dut, bursts: deque[Burst], idle: float, hold: float) -> int:
    """Pass bursts through with random pauses, compare each beat, and count the cycles."""
    max_size = int(dut.MaxSize.value)
    expected: deque[tuple[int, int | None, bool]] = deque()
    bursts, cycles = deque(bursts), 0
    offered: Burst | None = None
    while bursts or offered or expected:
        await harness.step(dut.clk)
        cycles += 1
        if offered is None and bursts and random.random() >= idle:
            offered = bursts.popleft()
            for field in ("id", "addr", "len", "size", "burst"):
                getattr(dut, f"s_{field}").value = getattr(offered, field)
        dut.s_valid.value = offered is not None
        dut.m_step.value = 0
        # m_step may depend on m_valid, which is a register.
        held = random.random() < hold
        dut.m_step.value = bool(expected) and not held
        await FallingEdge(dut.clk)
        assert dut.m_valid.value == bool(expected)
        if expected:
            burst, address, last = expected[0]
            assert dut.m_id.value == burst and dut.m_last.value == last
            assert address is None or dut.m_addr.value == address
            if not held:
                expected.popleft()
        if offered is not None and dut.s_ready.value == 1:
            expected.extend(offered.beats(max_size))
            offered = None
    return cycles


async def start(dut) -> None:
    """Reset with idle inputs."""
    for name in ("s_valid", "s_id", "s_addr", "s_len", "s_size", "s_burst", "m_step"):
        getattr(dut, name).value = 0
    await harness.start(dut)


@cocotb.test()
@cocotb.parametrize(kind=["narrow", "wide", "single", "any"])
async def random_bursts(dut, kind: str) -> None:
    """Addresses, identifiers, ends and refusals are right under every mixture of pauses."""
    await start(dut)
    for idle, hold in [(0.0, 0.0), (0.7, 0.0), (0.0, 0.7), (0.5, 0.5)]:
        await run(dut, deque(random_burst(dut, kind) for _ in range(12)), idle, hold)


@cocotb.test()
async def full_rate(dut) -> None:
    """Bursts of one beat pass at one a cycle."""
    await start(dut)
    cycles = await run(dut, deque(random_burst(dut, "single") for _ in range(200)), 0.0, 0.0)
    assert cycles <= 200 + 1


@cocotb.test()
async def stays_in_its_page(dut) -> None:
    """The address of a burst that breaks the 4 KiB rule wraps in its page (refused size: 7)."""
    await start(dut)
    await harness.step(dut.clk)
    dut.s_addr.value = 0x1F80
    dut.s_len.value = 255
    dut.s_size.value = 6
    dut.s_burst.value = 0
    dut.s_valid.value = 1
    await harness.step(dut.clk)
    dut.s_valid.value = 0
    dut.m_step.value = 1
    for _ in range(255):
        await FallingEdge(dut.clk)
        assert int(dut.m_addr.value) >> 12 == 1


@cocotb.test()
async def reset_in_burst(dut) -> None:
    """A reset forgets the bursts that were held."""
    await start(dut)
    for _ in range(5):
        await harness.step(dut.clk)
        dut.s_len.value = 7
        dut.s_valid.value = 1
        await harness.step(dut.clk, random.randrange(1, 5))
        dut.s_valid.value = 0
        await harness.reset(dut, 1)
        await FallingEdge(dut.clk)
        assert dut.m_valid.value == 0 and dut.s_ready.value == 1


@harness.provocation
async def step_idle(dut) -> None:
    """A step without a burst must be noticed."""
    await start(dut)
    dut.m_step.value = 1
    await harness.step(dut.clk, 2)


@harness.provocation
async def cross_page(dut) -> None:
    """A burst across 4 KiB must be noticed."""
    await start(dut)
    dut.s_addr.value = 0xFC0
    dut.s_size.value = 6
    dut.s_len.value = 1
    dut.s_burst.value = INCR
    dut.s_valid.value = 1
    await harness.step(dut.clk, 2)


@pytest.mark.parametrize(("id_bits", "addr_bits", "max_size"), [(4, 23, 6), (1, 13, 6), (8, 17, 3)])
def test_burst(id_bits: int, addr_bits: int, max_size: int) -> None:
    """Run all coroutines with these parameters."""
    parameters = {"IdBits": id_bits, "AddrBits": addr_bits, "MaxSize": max_size}
    simulate(__file__, "fb_axi_burst_addr", parameters)


def test_assertion_fires() -> None:
    """Each assertion fires."""
    parameters = {"IdBits": 4, "AddrBits": 23, "MaxSize": 6}
    simulate(
        __file__,
        "fb_axi_burst_addr",
        parameters,
        fires={
            "step_idle": "step_needs_valid",
            "cross_page": "stays_in_page",
        },
    )
