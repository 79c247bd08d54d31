# SPDX-License-Identifier: Apache-2.0
"""fb_net_realign against bytes joined in Python, read by cocotbext-axi."""

from __future__ import annotations

import itertools
import random

import cocotb
from cocotb.triggers import FallingEdge, with_timeout
from cocotbext.axi import AxiStreamSink

import harness
from forebay import spec
from runner import simulate

BEAT = spec.USER_BEAT_BYTES
UPPER = spec.FRAMING_BYTES


class Bench:
    """Drives beats as fb_net_reassembly does; a sink takes the packets."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.sink = harness.axi_stream(AxiStreamSink, dut, "m_axis_object")

    async def start(self) -> None:
        """Reset with idle inputs."""
        harness.clear(self.dut, "s_*")
        self.dut.s_within.value = 1
        await harness.start(self.dut)

    async def beat(self, data: bytes, upper: bool, opens: bool, closes: bool, user: int) -> None:
        """Drive one beat until it is taken."""
        dut = self.dut
        place = (UPPER if upper else 0) * 8
        dut.s_valid.value = 1
        # Whatever stands beside the bytes must not show.
        noise = random.getrandbits(512)
        mask = (1 << 8 * len(data)) - 1 << place
        dut.s_data.value = noise & ~mask | int.from_bytes(data, "little") << place
        dut.s_upper.value = upper
        dut.s_bytes.value = len(data)
        dut.s_open.value = opens
        dut.s_close.value = closes
        dut.s_whole.value = user & spec.PACKET_PART == 0
        dut.s_intact.value = user & spec.PACKET_ENDS_OBJECT != 0
        await FallingEdge(dut.clk)
        while dut.s_ready.value == 0:
            await FallingEdge(dut.clk)
        await harness.step(dut.clk)
        dut.s_valid.value = 0

    async def frame(self, data: bytes, opens: bool, closes: bool, user: int, idle: float) -> None:
        """Drive the payload of one frame."""
        cuts = [0, min(BEAT - UPPER, len(data))]
        while cuts[-1] < len(data):
            cuts.append(min(cuts[-1] + BEAT, len(data)))
        for start, end in itertools.pairwise(cuts):
            while random.random() < idle:
                await harness.step(self.dut.clk)
            last = end == len(data)
            await self.beat(
                data[start:end], start == 0, opens and start == 0, closes and last, user
            )

    async def expect(self, data: bytes, due: int) -> None:
        """Take the next packet: its bytes, no gap in it, and its TUSER."""
        found = await with_timeout(self.sink.recv(compact=False), 400, "us")
        kept = found.tkeep or [1] * len(found.tdata)
        assert kept == [1] * len(data) + [0] * (len(kept) - len(data))
        assert bytes(found.tdata[: len(data)]) == data
        user = found.tuser if isinstance(found.tuser, list) else [found.tuser] * len(kept)
        assert user[-1] == due and not any(user[:-BEAT])


WHOLE = spec.PACKET_ENDS_OBJECT
# A whole object, a part, the part that ends an object without a gap.
USERS = (WHOLE, spec.PACKET_PART, spec.PACKET_PART | spec.PACKET_ENDS_OBJECT)


def size() -> int:
    """Return a payload's length: least, odd, around a beat, or any."""
    return random.choice([1, 31, 32, 33, 63, 64, 65, 96, 97, random.randrange(1, 1000)])


@cocotb.test()
@cocotb.parametrize(idle=[0.0, 0.4], stall=[0.0, 0.4])
async def any_extents(dut, idle: float, stall: float) -> None:
    """Frames of any size become gapless packets; ends that were not foreseen are flagged."""
    bench = Bench(dut)
    await bench.start()
    if stall:
        harness.stall(bench.sink, stall)
    due = []

    async def drive() -> None:
        for number in range(120):
            parts = [random.randbytes(size()) for _ in range(random.choice([1, 1, 2, 5]))]
            # The last extent is closed, so that nothing stays inside.
            closes, user = random.random() < 0.7 or number == 119, random.choice(USERS)
            due.append((b"".join(parts), user if closes else spec.PACKET_PART))
            for place, part in enumerate(parts):
                last = place == len(parts) - 1
                await bench.frame(part, place == 0, closes and last, user, idle)

    driver = cocotb.start_soon(drive())
    for number in range(120):
        while len(due) <= number:
            await harness.step(dut.clk)
        await bench.expect(*due[number])
    await driver
    await harness.step(dut.clk, 10)
    assert bench.sink.empty()


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.5])
async def no_more_is_awaited(dut, stall: float) -> None:
    """An extent that is not closed ends as it stands, flagged, once `s_within` is low."""
    bench = Bench(dut)
    await bench.start()
    if stall:
        harness.stall(bench.sink, stall)
    for _ in range(30):
        data = random.randbytes(size())
        await bench.frame(data, True, False, random.choice(USERS), 0.2)
        await harness.step(dut.clk, random.randrange(40))
        dut.s_within.value = 0
        await bench.expect(data, spec.PACKET_PART)
        await harness.step(dut.clk, random.randrange(4))
        dut.s_within.value = 1
    assert bench.sink.empty()


@cocotb.test()
async def full_rate(dut) -> None:
    """Beats of a long frame pass without a pause, and the first is out after three cycles."""
    bench = Bench(dut)
    await bench.start()
    out: list[int] = []
    cocotb.start_soon(
        harness.record(dut.clk, dut.m_axis_object_tvalid, dut.m_axis_object_tready, out)
    )
    data = random.randbytes(32 + 200 * BEAT)
    await harness.step(dut.clk)
    began = harness.cycle()
    await bench.frame(data, True, True, WHOLE, 0.0)
    await bench.expect(data, WHOLE)
    # Half a beat waits for the other half, a whole one for the byte after it.
    assert out == list(range(began + 3, began + 3 + len(out))) and len(out) == 201


@cocotb.test()
async def reset_in_mid_packet(dut) -> None:
    """A reset forgets what is held."""
    bench = Bench(dut)
    await bench.start()
    for _ in range(10):
        await bench.frame(random.randbytes(50), True, False, spec.PACKET_PART, 0.0)
        await harness.reset(dut, 1)
        bench.sink.clear()
        data = random.randbytes(size())
        await bench.frame(data, True, True, WHOLE, 0.0)
        await bench.expect(data, WHOLE)


@harness.provocation
async def withdraw(dut) -> None:
    """The stream checker is awake."""
    bench = Bench(dut)
    await bench.start()
    await harness.withdraw(dut.clk, dut.u_check_object)


def test_realign() -> None:
    """Run all coroutines."""
    simulate(__file__, "fb_net_realign")


def test_checker_fires() -> None:
    """The stream checker fires."""
    message = "m_axis_object: valid fell"
    simulate(__file__, "fb_net_realign", fires={"withdraw": message})
