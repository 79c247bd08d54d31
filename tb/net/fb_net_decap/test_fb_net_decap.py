# SPDX-License-Identifier: Apache-2.0
"""fb_net_decap: of scapy's frames the datagram is left, from byte 0 of a beat."""

from __future__ import annotations

import random

import cocotb
from cocotb.triggers import FallingEdge
from scapy.packet import Packet

import frames
import harness
from forebay import spec
from frames import raw, udp, udp6, wire
from runner import simulate

BEAT = spec.USER_BEAT_BYTES
ALIEN, RAW, UDP = "ALIEN", "RAW", "UDP"


class Bench:
    """Drives frames as fb_net_filter does, and puts together what is left of each."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.found: list[tuple[int, int, bytes]] = []
        self.whole = 0
        self.were_whole: list[int] = []

    async def start(self) -> None:
        """Reset and watch."""
        harness.clear(self.dut, "s_*", "cfg_*")
        await harness.start(self.dut)
        cocotb.start_soon(self.watch())

    async def watch(self) -> None:
        """Note arrival, frame length, and the datagram cut to the length that is said."""
        dut, data = self.dut, b""
        while True:
            await FallingEdge(dut.clk)
            if dut.rst.value == 1:
                data = b""
                continue
            if dut.m_valid.value == 1:
                data += int(dut.m_data.value).to_bytes(BEAT, "little")
            if dut.m_end.value == 1:
                count = int(dut.m_bytes.value)
                if dut.m_arrival.value == spec.ARRIVAL_DATAGRAM:
                    assert 0 <= len(data) - count < BEAT
                    data = data[:count]
                self.were_whole.append(int(dut.m_whole.value))
                self.found.append((int(dut.m_arrival.value), int(dut.m_frame.value), data))
                data = b""

    async def send(self, packet: Packet, kind: str, vlan: bool, arrival: int, idle: float) -> None:
        """Drive one frame, taken as it is or not as `whole` says; what comes later is noise."""
        dut, frame = self.dut, wire(packet)
        ipv6 = "IPv6" in packet
        inner = random.getrandbits(16)
        if kind == UDP:
            inner = len(packet["UDP"]) + (0 if ipv6 else spec.IPV4_BYTES)
        for at in range(0, len(frame), BEAT):
            while random.random() < idle:
                dut.s_valid.value = 0
                await harness.step(dut.clk)
            beat = frame[at : at + BEAT]
            dut.s_valid.value = 1
            dut.s_first.value = at == 0
            dut.s_last.value = at + BEAT >= len(frame)
            dut.s_data.value = (
                int.from_bytes(beat, "little")
                | random.getrandbits(512) << (8 * len(beat)) & (1 << 512) - 1
            )
            dut.s_beat_bytes.value = len(beat)
            dut.s_headers.value = frames.headers(kind, vlan=vlan, ipv6=ipv6, ip_bytes=inner)
            dut.s_arrival.value = arrival
            dut.s_bytes.value = len(frame)
            dut.cfg_whole.value = random.getrandbits(1) if at else self.whole
            await harness.step(dut.clk)
        dut.s_valid.value = 0
        dut.cfg_whole.value = random.getrandbits(1)


@cocotb.test()
async def any_datagram(dut) -> None:
    """UDP and raw frames, tagged or not, of any size and at any pace; of others only the end."""
    bench = Bench(dut)
    await bench.start()
    due = []
    for _ in range(500):
        # Behind IPv6 a datagram begins in the last two bytes of the first beat, or in the second
        # one behind two bytes: those of 62, 66, 126 end with a beat.
        sizes = [33, 45, 46, 47, 54, 55, 62, 63, 64, 65, 66, 67, 126, 127, 128]
        size = random.choice([*sizes, random.randrange(33, 9000)])
        datagram, vlan = random.randbytes(size), random.random() < 0.5
        kind = random.choice([RAW, UDP, ALIEN])
        make = raw if kind == RAW else random.choice([udp, udp6])
        packet = make(datagram, 3 if vlan else None)
        arrival = random.choice([spec.ARRIVAL_DATAGRAM, spec.ARRIVAL_DATAGRAM, spec.ARRIVAL_LENGTH])
        if kind == ALIEN:
            arrival, datagram = spec.ARRIVAL_ALIEN, b""
        elif kind == RAW:
            # What fills the frame cannot be told from the datagram here.
            datagram = wire(packet)[spec.ETHERNET_BYTES + vlan * spec.VLAN_BYTES :]
        await bench.send(packet, kind, vlan, arrival, random.choice([0.0, 0.0, 0.4]))
        due.append((arrival, len(wire(packet)), datagram))
    await harness.step(dut.clk, 4)
    assert len(bench.found) == len(due)
    for found, expected in zip(bench.found, due, strict=True):
        assert found[:2] == expected[:2]
        assert found[2][: len(expected[2])] == expected[2]


@cocotb.test()
async def whole_frames(dut) -> None:
    """Frames that begin with `cfg_whole` pass as they are, of any kind, but what is no frame."""
    bench = Bench(dut)
    await bench.start()
    refused = {
        spec.ARRIVAL_DAMAGED,
        spec.ARRIVAL_RUNT,
        spec.ARRIVAL_GIANT,
        spec.ARRIVAL_PAUSE,
    }
    due = []
    for number in range(500):
        bench.whole = random.getrandbits(1)
        size = random.choice([33, 46, 50, 114, random.randrange(33, 9000)])
        datagram, vlan = random.randbytes(size), random.random() < 0.5
        idle = random.choice([0.0, 0.4])
        if not bench.whole:
            packet = random.choice([udp, udp6])(datagram, 3 if vlan else None)
            await bench.send(packet, UDP, vlan, spec.ARRIVAL_DATAGRAM, idle)
            due.append((spec.ARRIVAL_DATAGRAM, len(wire(packet)), 0, datagram))
            continue
        packet = random.choice([udp, udp6, raw])(datagram, random.choice([None, 3]))
        others = [ALIEN, RAW, "ARP", "ECHO", "PAUSE"]
        kind = UDP if packet.haslayer("UDP") else random.choice(others)
        arrival = number % spec.ARRIVAL_OVERFLOW
        await bench.send(packet, kind, vlan, arrival, idle)
        taken = arrival not in refused
        arrival = spec.ARRIVAL_DATAGRAM if taken else arrival
        due.append((arrival, len(wire(packet)), 1, wire(packet) if taken else None))
    await harness.step(dut.clk, 4)
    assert bench.were_whole == [whole for *_, whole, _ in due]
    for found, (*expected, _, data) in zip(bench.found, due, strict=True):
        assert found[:2] == tuple(expected)
        assert data is None or found[2] == data


@cocotb.test()
async def reset_in_mid_frame(dut) -> None:
    """What is held of a frame is forgotten."""
    bench = Bench(dut)
    await bench.start()
    for _ in range(10):
        sender = cocotb.start_soon(
            bench.send(raw(bytes(2000)), RAW, False, spec.ARRIVAL_DATAGRAM, 0.0)
        )
        await harness.step(dut.clk, random.randrange(1, 20))
        sender.cancel()
        dut.s_valid.value = 0
        await harness.reset(dut, 1)
        datagram = frames.header(0, 0, 100, spec.FRAMING_FIRST) + random.randbytes(100)
        await bench.send(udp(datagram), UDP, False, spec.ARRIVAL_DATAGRAM, 0.0)
        await harness.step(dut.clk, 4)
        assert bench.found == [(spec.ARRIVAL_DATAGRAM, 42 + len(datagram), datagram)]
        bench.found.clear()


def test_strip() -> None:
    """Run all coroutines."""
    simulate(__file__, "fb_net_decap")
