# SPDX-License-Identifier: Apache-2.0
"""fb_net_send: scapy finds nothing wrong with a frame, and the payloads are the objects."""

from __future__ import annotations

import itertools
import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, with_timeout
from cocotbext.axi import AxiStreamFrame, AxiStreamSink, AxiStreamSource
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

import frames
import harness
from forebay import spec
from frames import OUR_IP, OUR_MAC, PEER_IP, PEER_MAC, STREAM
from runner import simulate

PEER_PORT, EPOCH = 40001, 0x5E0A_11C3
MAC_PS, CORE_PS = 3104, 3334


class Bench:
    """Objects and heads in, frames out, on two clocks."""

    def __init__(self, dut) -> None:
        self.dut = dut
        core = {"clock": dut.clk, "reset": dut.rst}
        self.heads = harness.axi_stream(AxiStreamSource, dut, "s_axis_head", **core)
        self.objects = harness.axi_stream(AxiStreamSource, dut, "s_axis_object", **core)
        mac = {"clock": dut.clk_mac, "reset": dut.rst_mac}
        self.sink = harness.axi_stream(AxiStreamSink, dut, "m_axis_data", **mac)

    async def start(self, payload: int, rate: int = 0) -> None:
        """Configure, start both clocks and reset both sides."""
        dut = self.dut
        frames.configure(
            dut,
            cfg_peer_mac=frames.number(PEER_MAC),
            cfg_peer_ip=frames.number(PEER_IP),
            cfg_peer_port=PEER_PORT,
            cfg_epoch=EPOCH,
            cfg_payload=payload,
            cfg_rate=rate,
        )
        Clock(dut.clk_mac, MAC_PS, unit="ps").start()
        Clock(dut.clk, CORE_PS, unit="ps").start()
        await self.reset()

    async def reset(self) -> None:
        """Reset both sides together."""
        self.dut.rst.value = 1
        self.dut.rst_mac.value = 1
        await harness.step(self.dut.clk, 4)
        await harness.step(self.dut.clk_mac, 4)
        self.dut.rst.value = 0
        self.dut.rst_mac.value = 0

    def send(self, number: int, content: bytes) -> None:
        """Queue an object."""
        head = number.to_bytes(8, "little") + len(content).to_bytes(8, "little")
        self.heads.send_nowait(AxiStreamFrame(head))
        self.objects.send_nowait(AxiStreamFrame(content))

    async def frame(self) -> bytes:
        """Take the next frame."""
        return bytes((await with_timeout(self.sink.recv(), 400, "us")).tdata)


def check_frame(frame: bytes) -> bytes:
    """Hold a frame's headers and checksums against scapy's; return its datagram."""
    packet = Ether(frame)
    assert (packet.src, packet.dst) == (OUR_MAC, PEER_MAC)
    assert (packet[IP].src, packet[IP].dst) == (OUR_IP, PEER_IP)
    assert (packet[UDP].sport, packet[UDP].dport) == (frames.PORT, PEER_PORT)
    assert packet[UDP].chksum, "no checksum"
    fresh = packet.copy()
    for layer in (IP, UDP):
        del fresh[layer].len, fresh[layer].chksum
    assert bytes(fresh) == frame
    return bytes(packet[UDP].payload)


async def check_object(bench: Bench, number: int, content: bytes, part: int, sequence: int) -> int:
    """Take the frames of an object; return the number of the next one."""
    for at in range(0, len(content), part):
        last = at + part >= len(content)
        flags = (at == 0) * spec.FRAMING_FIRST | last * spec.FRAMING_LAST
        head = frames.header(sequence, number, at or len(content), flags, epoch=EPOCH)
        assert head[6:8] == STREAM.to_bytes(2, "little")
        datagram = check_frame(await bench.frame())
        assert datagram == head + content[at : at + part]
        sequence += 1
    return sequence


@cocotb.test()
@cocotb.parametrize(payload=[64, 1408, 8896], stall=[0.0, 0.4])
async def any_objects(dut, payload: int, stall: float) -> None:
    """Objects of least, odd, whole and any size, slow users and a slow MAC."""
    bench = Bench(dut)
    await bench.start(payload)
    if stall:
        for stream in (bench.heads, bench.objects):
            harness.stall(stream, stall)
    sizes = [1, 53, 54, 55, 63, 64, 65, payload - 1, payload, payload + 1, 2 * payload]
    sent = [random.randbytes(size) for size in sizes]
    sent += [
        random.randbytes(random.randrange(1, 3 * payload)) for _ in range(harness.repeat(20, 6))
    ]
    sent += [bytes(500), b"\xff" * 500]
    random.shuffle(sent)
    base = random.getrandbits(63)
    for number, content in enumerate(sent):
        bench.send(base + number, content)
    sequence = 0
    if stall:
        bench.sink.pause = True
        await harness.step(dut.clk, 3000)
        bench.sink.pause = False
    for number, content in enumerate(sent):
        sequence = await check_object(bench, base + number, content, payload, sequence)


@cocotb.test()
async def goes_on_once_begun(dut) -> None:
    """However slowly an object comes: within a frame there is a beat in every cycle."""
    bench = Bench(dut)
    await bench.start(1408)
    harness.stall(bench.objects, 0.7)
    bench.send(1, random.randbytes(20_000))
    open_frame = False
    for _ in range(6000):
        await FallingEdge(dut.clk_mac)
        valid = dut.m_axis_data_tvalid.value == 1
        assert valid or not open_frame
        if valid and dut.m_axis_data_tready.value == 1:
            open_frame = dut.m_axis_data_tlast.value == 0
    assert bench.sink.count() == -(-20_000 // 1408)


@cocotb.test()
@cocotb.parametrize(share=[0.9, 0.25])
async def paced(dut, share: float) -> None:
    """Bytes on the wire come at the rate that is set, within half a percent, never in a burst."""
    bench = Bench(dut)
    line = 100e9 / 8 * MAC_PS * 1e-12  # bytes a cycle at 100 Gb/s
    rate = round(line * share * 256)
    await bench.start(1408, rate)
    bench.send(1, random.randbytes(1408 * 60))
    began: list[int] = []
    for cycle in range(100_000):
        await FallingEdge(dut.clk_mac)
        if dut.m_axis_data_tvalid.value == 1 and dut.out_first.value == 1:
            began.append(cycle)
        if len(began) == 60:
            break
    on_wire = 1408 + 74 + spec.FRAME_WIRE_BYTES
    gaps = [b - a for a, b in itertools.pairwise(began)]
    expected = on_wire / (rate / 256)
    assert min(gaps) >= int(expected)
    assert abs(sum(gaps[5:]) / len(gaps[5:]) / expected - 1) < 0.005, (gaps, expected)


@cocotb.test()
async def faster_than_the_line(dut) -> None:
    """A rate that short frames stay below saves nothing up, and never holds a frame back."""
    bench = Bench(dut)
    await bench.start(640, 0xFFFF)
    for number in range(300):
        bench.send(number, b"!")
    began: list[int] = []
    for cycle in range(20_000):
        await FallingEdge(dut.clk_mac)
        if dut.m_axis_data_tvalid.value == 1 and dut.out_first.value == 1:
            began.append(cycle)
        if len(began) == 300:
            break
    assert len(began) == 300
    assert max(b - a for a, b in itertools.pairwise(began)) < 60


@cocotb.test()
async def reset_in_mid_frame(dut) -> None:
    """A reset of both sides forgets everything; the next frame is the first of all."""
    bench = Bench(dut)
    await bench.start(640)
    for _ in range(5):
        bench.send(3, random.randbytes(5000))
        await harness.step(dut.clk, random.randrange(1, 100))
        bench.objects.clear()
        bench.heads.clear()
        await bench.reset()
        bench.sink.clear()
        content = random.randbytes(100)
        bench.send(4, content)
        await check_object(bench, 4, content, 640, 0)


@harness.provocation
async def withdraw(dut) -> None:
    """The stream checker is awake."""
    bench = Bench(dut)
    await bench.start(64)
    await harness.withdraw(dut.clk_mac, dut.u_check_data)


@pytest.mark.parametrize("beats", [256])
def test_send(beats: int) -> None:
    """Run all coroutines."""
    simulate(__file__, "fb_net_send", {"Beats": beats})


def test_checker_fires() -> None:
    """The stream checker fires."""
    simulate(
        __file__,
        "fb_net_send",
        {"Beats": 256},
        fires={"withdraw": "m_axis_data: valid fell"},
    )
