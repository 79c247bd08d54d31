# SPDX-License-Identifier: Apache-2.0
"""fb_net_tx_mux in front of cocotbext-eth's MAC, which fails where a frame does not go on."""

from __future__ import annotations

import itertools
import random

import cocotb
from cocotb.triggers import FallingEdge
from cocotbext.axi import AxiStreamSource
from cocotbext.eth import EthMacTx
from cocotbext.eth.eth_mac import AxiStreamBus

import harness
from runner import simulate

LINE = 100e9 / 322.265625e6 / harness.PERIOD_NS * 1e9  # as many bits a cycle as on the card
GAP = 12 + 4  # the gap between frames, and the check sequence
SOURCES = ("pause", "answer", "ask", "data")
ONE_BEAT = ("pause", "ask")


class Bench:
    """Three sources and a MAC."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.mac: EthMacTx | None = None
        self.sources: dict[str, AxiStreamSource] = {}
        self.began: list[tuple[int, bytes]] = []

    async def start(self, speed: float | None) -> None:
        """Reset with everything idle; without a speed the test is the MAC."""
        dut = self.dut
        dut.silent.value = 0
        dut.rst_link.value = 0
        for name in SOURCES:
            self.sources[name] = harness.axi_stream(AxiStreamSource, dut, f"s_axis_{name}")
        if speed:
            bus = AxiStreamBus.from_prefix(dut, "m_axis_mac")
            self.mac = EthMacTx(bus, dut.clk, dut.rst, ifg=GAP, speed=speed)
            self.mac.log.setLevel("WARNING")
        await harness.start(dut)

    async def take(self, count: int) -> list[bytes]:
        """Return the next frames that the MAC had."""
        return [bytes((await self.mac.recv()).data) for _ in range(count)]


def frame(name: str) -> bytes:
    """Return a frame of a source: its name, then noise."""
    size = 60 if name in ONE_BEAT else random.choice([60, 64, 65, 128, random.randrange(60, 3000)])
    return name.encode().ljust(8) + random.randbytes(size - 8)


@cocotb.test()
@cocotb.parametrize(speed=[LINE, LINE / 2.5])
async def whole_frames(dut, speed: float) -> None:
    """Each source's frames arrive whole and in order, pause frames soonest, the others in turn."""
    bench = Bench(dut)
    await bench.start(speed)
    sent = {name: [frame(name) for _ in range(40)] for name in SOURCES}
    for name in SOURCES:
        for each in sent[name]:
            bench.sources[name].send_nowait(each)
    found = await bench.take(160)
    for name in SOURCES:
        assert [each for each in found if each.startswith(name.encode())] == sent[name]
    names = [each[:8].strip().decode() for each in found]
    # What was on offer first may be out before the first pause frame.
    assert names[1:40].count("pause") >= 38
    turns = [name for name in names if name != "pause"]
    assert all(a != b for a, b in itertools.pairwise(turns))


@cocotb.test()
async def silence(dut) -> None:
    """While silent only pause frames begin; a frame that has begun is finished."""
    bench = Bench(dut)
    await bench.start(LINE)
    last_q, silent = True, False  # silent in the cycle of the choice, the one before
    for name in ("answer", "ask", "data"):
        for _ in range(40):
            bench.sources[name].send_nowait(frame(name))
    broken = finished = pauses = 0
    for cycle in range(3000):
        if cycle % 50 == 0:
            dut.silent.value = random.random() < 0.6
        if cycle % 170 == 0:
            bench.sources["pause"].send_nowait(frame("pause"))
        await FallingEdge(dut.clk)
        # What is chosen in a silent cycle is a pause frame, or goes on.
        for name in SOURCES:
            valid, ready = (getattr(dut, f"s_axis_{name}_t{port}") for port in ("valid", "ready"))
            if valid.value == 1 and ready.value == 1:
                if name == "pause":
                    pauses += 1
                    continue
                broken += last_q and silent
                finished += not last_q and silent
                last_q = name in ONE_BEAT or getattr(dut, f"s_axis_{name}_tlast").value == 1
        silent = dut.silent.value == 1
        await harness.step(dut.clk)
    assert not broken and finished and pauses == 18


@cocotb.test()
async def reset_in_mid_frame(dut) -> None:
    """A reset forgets the frame; the next one is whole."""
    bench = Bench(dut)
    await bench.start(LINE)
    for _ in range(5):
        bench.sources["data"].send_nowait(frame("data") + bytes(2000))
        await harness.step(dut.clk, random.randrange(3, 20))
        await harness.reset(dut)
        bench.mac.clear()
        bench.mac.stream.clear()
        wanted = frame("answer")
        bench.sources["answer"].send_nowait(wanted)
        assert await bench.take(1) == [wanted]


async def whole(dut, found: list[bytes]) -> None:
    """Note frames that are whole, as a MAC that is reset with the link."""
    frame_so_far = b""
    while True:
        await FallingEdge(dut.clk)
        if dut.rst_link.value == 1:
            frame_so_far = b""
        elif dut.m_axis_mac_tvalid.value == 1 and dut.m_axis_mac_tready.value == 1:
            keep = int(dut.m_axis_mac_tkeep.value).bit_count()
            frame_so_far += int(dut.m_axis_mac_tdata.value).to_bytes(64, "little")[:keep]
            if dut.m_axis_mac_tlast.value == 1:
                found.append(frame_so_far)
                frame_so_far = b""


@cocotb.test()
async def a_link_that_flaps(dut) -> None:
    """Of a frame in which the MAC is reset the rest is dropped; all others are whole, in order."""
    bench, found, sent = Bench(dut), [], []
    await bench.start(None)
    dut.m_axis_mac_tready.value = 1
    cocotb.start_soon(whole(dut, found))
    for number in range(harness.repeat(1000, 60)):
        for _ in range(3):
            name = random.choice(["answer", "ask", "data"])
            longer = bytes(0 if name in ONE_BEAT else random.choice([0, 500, 2000]))
            sent.append((name, frame(name) + number.to_bytes(4) + longer))
            bench.sources[name].send_nowait(sent[-1][1])
        await harness.step(dut.clk, random.randrange(3, 60))
        dut.rst_link.value = 1
        for _ in range(random.choice([1, 2, random.randrange(1, 60)])):
            # A MAC in reset says anything.
            dut.m_axis_mac_tready.value = random.random() < 0.5
            await harness.step(dut.clk)
        dut.rst_link.value = 0
        dut.m_axis_mac_tready.value = 1
    for name in ("answer", "ask", "data"):
        await bench.sources[name].wait()
    await harness.step(dut.clk, 60)
    cut = 0
    for name in ("answer", "ask", "data"):
        had = iter(each for each in found if each.startswith(name.encode()))
        offered = [each for of, each in sent if of == name]
        waiting = next(had, None)
        for each in offered:
            if each == waiting:
                waiting = next(had, None)
            else:
                cut += 1
        assert waiting is None, "a frame that was not sent, or twice, or in another order"
    # Each reset cuts one frame at most.
    assert 0 < cut <= len(sent) / 3


@harness.provocation
async def gap(dut) -> None:
    """A source that pauses in the middle of a frame must be noticed."""
    bench = Bench(dut)
    await bench.start(LINE)
    bench.sources["data"].send_nowait(bytes(1000))
    await harness.step(dut.clk, 6)
    bench.sources["data"].pause = True
    await harness.step(dut.clk, 5)


@harness.provocation
async def withdraw(dut) -> None:
    """The stream checker is awake."""
    bench = Bench(dut)
    await bench.start(LINE)
    await harness.withdraw(dut.clk, dut.u_check_mac)


def test_transmit() -> None:
    """Run all coroutines."""
    simulate(__file__, "fb_net_tx_mux")


def test_no_gap_fires() -> None:
    """Each assertion fires."""
    simulate(__file__, "fb_net_tx_mux", fires={"gap": "no_gap"})


def test_checker_fires() -> None:
    """The stream checker fires."""
    message = "m_axis_mac: valid fell"
    simulate(__file__, "fb_net_tx_mux", fires={"withdraw": message})
