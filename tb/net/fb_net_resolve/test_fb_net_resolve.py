# SPDX-License-Identifier: Apache-2.0
"""fb_net_resolve: scapy reads its requests, and its answers are those of scapy."""

from __future__ import annotations

import itertools
import random

import cocotb
from cocotb.triggers import with_timeout
from cocotbext.axi import AxiStreamSink
from scapy.layers.l2 import ARP, Ether

import frames
import harness
from forebay import spec
from frames import OUR_IP, OUR_MAC, PEER_IP, PEER_MAC, ether, wire
from runner import simulate

EVERY, RARELY = 200, 32
BEAT = spec.USER_BEAT_BYTES
ANSWER, OTHERS = "ANSWER", [kind for kind in frames.KINDS if kind != "ANSWER"]
SETTLE = 6


class Bench:
    """Drives frames as fb_net_filter does; a sink takes the requests."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.sink = harness.axi_stream(AxiStreamSink, dut, "m_axis_ask")

    async def start(self) -> None:
        """Configure, reset, and ask."""
        harness.clear(self.dut, "s_*", "cfg_ask")
        frames.configure(self.dut)
        await harness.start(self.dut)
        self.dut.cfg_ask.value = 1

    async def request(self) -> Ether:
        """Take the next request, which is well-formed, and asks for the peer."""
        frame = Ether(bytes((await with_timeout(self.sink.recv(), 10_000, "us")).tdata))
        assert len(frame) == spec.FRAME_LEAST_BYTES and not any(frame[ARP].payload.load)
        assert (frame.dst, frame.src) == ("ff:ff:ff:ff:ff:ff", OUR_MAC)
        asked = frame[ARP]
        assert (asked.op, asked.hwtype, asked.ptype, asked.hwlen, asked.plen) == (1, 1, 0x800, 6, 4)
        assert (asked.hwsrc, asked.psrc, asked.pdst) == (OUR_MAC, OUR_IP, PEER_IP)
        return frame

    async def answer(
        self, mac: str = PEER_MAC, kind: str = ANSWER, arrival: int = spec.ARRIVAL_REQUEST
    ) -> None:
        """Drive an answer, with or without a tag, and longer than it has to be at times."""
        dut, vlan = self.dut, random.choice([None, 5])
        reply = ARP(op="is-at", hwsrc=mac, psrc=PEER_IP, hwdst=OUR_MAC, pdst=OUR_IP)
        frame = wire(ether(vlan) / reply) + random.randbytes(random.choice([0, 3, 40, 100]))
        for at in range(0, len(frame), BEAT):
            beat = frame[at : at + BEAT]
            noise = random.getrandbits(512) >> 8 * len(beat) << 8 * len(beat)
            last = at + BEAT >= len(frame)
            dut.s_valid.value, dut.s_first.value, dut.s_last.value = 1, at == 0, last
            dut.s_data.value = int.from_bytes(beat, "little") | noise
            dut.s_headers.value = frames.headers(kind, vlan=vlan is not None)
            dut.s_arrival.value = arrival if last else random.getrandbits(4)
            await harness.step(dut.clk)
        dut.s_valid.value = 0

    async def known(self) -> str | None:
        """Return the address that is known."""
        await harness.step(self.dut.clk, SETTLE)
        if self.dut.known.value == 0:
            return None
        return ":".join(f"{byte:02x}" for byte in int(self.dut.mac.value).to_bytes(6, "big"))


@cocotb.test()
async def asks_until_it_knows(dut) -> None:
    """A request at once, and in every `Every` cycles until there is an answer; then seldom."""
    bench = Bench(dut)
    await bench.start()
    times = []
    for _ in range(5):
        await bench.request()
        times.append(harness.cycle())
    assert [after - before for before, after in itertools.pairwise(times)] == [EVERY] * 4
    assert await bench.known() is None
    for turn in range(3):
        mac = f"02:00:00:00:{turn:02x}:ff"
        before = harness.cycle()
        await bench.answer(mac)
        assert await bench.known() == mac
        # A receiver that was replaced: the second answer to the same request is not believed.
        await bench.answer("02:00:00:00:00:66")
        assert await bench.known() == mac
        await bench.request()
        assert RARELY - 1 <= (harness.cycle() - before) // EVERY <= RARELY


@cocotb.test()
async def what_is_no_answer(dut) -> None:
    """Damaged frames, other kinds, addresses of groups, and of no station: none is believed."""
    bench = Bench(dut)
    await bench.start()
    await bench.request()
    for arrival in set(range(16)) - {spec.ARRIVAL_REQUEST}:
        await bench.answer(arrival=arrival)
    for kind in OTHERS:
        await bench.answer(kind=kind)
    for mac in ("ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:01", "00:00:00:00:00:00"):
        await bench.answer(mac)
    assert await bench.known() is None
    # One behind the other, without a gap: the first good one counts.
    await bench.answer("03:00:00:00:00:07")
    await bench.answer("02:00:00:00:00:07")
    await bench.answer("02:00:00:00:00:08")
    assert await bench.known() == "02:00:00:00:00:07"


@cocotb.test()
async def not_asked(dut) -> None:
    """Without `cfg_ask` nothing is asked or believed; without it for a time it is forgotten."""
    bench = Bench(dut)
    await bench.start()
    for _ in range(3):
        await bench.request()
        await bench.answer()
        assert await bench.known() == PEER_MAC
        dut.cfg_ask.value = 0
        await harness.step(dut.clk, 3)
        await bench.answer()
        assert await bench.known() is None
        await harness.step(dut.clk, 3 * EVERY)
        assert bench.sink.empty()
        dut.cfg_ask.value = 1


@cocotb.test()
async def waits_for_the_line(dut) -> None:
    """While nothing may be sent a request waits, and is one."""
    bench = Bench(dut)
    bench.sink.pause = True
    await bench.start()
    await harness.step(dut.clk, 10 * EVERY + EVERY // 2)
    bench.sink.pause = False
    await bench.request()
    await harness.step(dut.clk, EVERY // 4)
    assert bench.sink.empty()


@cocotb.test()
async def a_request_stays_as_it_is(dut) -> None:
    """Settings may change while a request waits for the line."""
    bench = Bench(dut)
    bench.sink.pause = True
    await bench.start()
    await harness.step(dut.clk, 20)
    dut.cfg_ask.value = 0
    for name in ("cfg_mac", "cfg_ip", "cfg_peer_ip"):
        getattr(dut, name).value = 0
        await harness.step(dut.clk, 5)
    bench.sink.pause = False
    await bench.request()


@harness.provocation
async def withdraw(dut) -> None:
    """The stream checker is awake."""
    bench = Bench(dut)
    await bench.start()
    await harness.withdraw(dut.clk, dut.u_check_ask)


def test_resolve() -> None:
    """Run all coroutines."""
    simulate(__file__, "fb_net_resolve", {"Every": EVERY})


def test_checker_fires() -> None:
    """The stream checker fires."""
    message = "m_axis_ask: valid fell"
    simulate(__file__, "fb_net_resolve", {"Every": EVERY}, fires={"withdraw": message})
