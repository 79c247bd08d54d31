# SPDX-License-Identifier: Apache-2.0
"""The bench around fb_net_port: two MACs, the streams of the core's side, the registers."""

from __future__ import annotations

import itertools
import struct

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import Timer, with_timeout
from cocotbext.axi import AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource
from cocotbext.eth import EthMacRx, EthMacTx
from cocotbext.eth.eth_mac import AxiStreamBus as EthBus

import frames
import harness
from forebay import net_regs as regs
from forebay import spec
from frames import GROUP6, OUR_IP, OUR_IP6, OUR_MAC, PEER_IP, PEER_MAC, STREAM

MAC_PS, CORE_PS = 3104, 3334  # 322.265625 MHz, to the simulator's even picoseconds, and 300 MHz
LINE = 100e9
GAP = 12 + 4  # the gap between frames, and the check sequence, which the MAC model does not see
PATIENCE_US = 400
PAYLOAD = 1408


def total(statistics: dict[int, tuple[int, int]]) -> tuple[int, int]:
    """Frames and bytes of all causes together."""
    counts = list(statistics.values())
    return sum(frames for frames, _ in counts), sum(size for _, size in counts)


class Bench:
    """Two MACs, the streams of the core's side and the registers.

    The receiving MAC is cocotbext-eth's, at line rate, or a stream that hands over whatever a test
    likes, damaged frames too.
    """

    def __init__(self, dut, at_line_rate: bool = True) -> None:
        self.dut = dut
        self.offered = self.offered_bytes = 0
        self.rx_clock: Clock | None = None
        core = {"clock": dut.clk, "reset": dut.rst}
        self.objects = harness.axi_stream(AxiStreamSink, dut, "m_axis_object", **core)
        self.heads = harness.axi_stream(AxiStreamSink, dut, "m_axis_head", **core)
        self.sent = harness.axi_stream(AxiStreamSource, dut, "s_axis_object", **core)
        self.sent_heads = harness.axi_stream(AxiStreamSource, dut, "s_axis_head", **core)
        self.control = harness.axil_master(dut, "s_axil_net", **core)
        rx, tx = AxiStreamBus.from_prefix(dut, "s_axis_mac"), EthBus.from_prefix(dut, "m_axis_mac")
        self.at_line_rate = at_line_rate
        if at_line_rate:
            self.rx = EthMacRx(rx, dut.clk_rx, dut.rst_rx, ifg=GAP, speed=LINE)
        else:
            # Without the reset: a MAC goes on in the middle of a frame.
            self.rx = AxiStreamSource(rx, dut.clk_rx)
            # The shortest frames come every 2.17 cycles.
            harness.stall(self.rx, itertools.cycle([False, True]))
        self.tx = EthMacTx(tx, dut.clk_tx, dut.rst_tx, ifg=GAP, speed=LINE)
        for each in (self.rx, self.tx):
            each.log.setLevel("WARNING")

    async def start(self, peer: str = PEER_MAC, rx_ps: int = MAC_PS, **others: int) -> None:
        """Start all clocks, reset, and write the settings."""
        self.rx_clock = Clock(self.dut.clk_rx, rx_ps, unit="ps")
        self.rx_clock.start()
        Clock(self.dut.clk_tx, MAC_PS, unit="ps").start()
        Clock(self.dut.clk, CORE_PS, unit="ps").start()
        await self.reset()
        await self.configure(peer, **others)

    async def reset(self) -> None:
        """Reset both sides together."""
        dut = self.dut
        resets = (dut.rst, dut.rst_rx, dut.rst_tx)
        for reset in resets:
            reset.value = 1
        await harness.step(dut.clk_tx, 8)
        await harness.step(dut.clk, 8)
        for reset in resets:
            reset.value = 0

    async def configure(self, peer: str = PEER_MAC, **others: int) -> None:
        """Write the settings."""
        ourselves = peer == OUR_MAC
        peer_ip = frames.number(OUR_IP if ourselves else PEER_IP)
        settings = {
            "address": frames.number(OUR_MAC),
            "filter": frames.number(OUR_IP) | frames.PORT << 32 | STREAM << 48,
            "limit": frames.GIANT,
            "peer": frames.number(peer) | frames.PORT << 48,
            "send": peer_ip | PAYLOAD // 64 << 32,
            "epoch": 7,
            "ip6_high": frames.number(OUR_IP6) >> 64,
            "ip6_low": frames.number(OUR_IP6) & 2**64 - 1,
            "group6_high": frames.number(GROUP6) >> 64,
            "group6_low": frames.number(GROUP6) & 2**64 - 1,
        }
        for name, value in (settings | others).items():
            await self.put(name, value)

    async def put(self, name: str, value: int) -> None:
        """Write a register."""
        write = self.control.write_qword(getattr(regs, name.upper()), value)
        await with_timeout(write, PATIENCE_US, "us")

    async def get(self, name: str, word: int = 0) -> int:
        """Read a register, or a word of a memory."""
        read = self.control.read_qword(getattr(regs, name.upper()) + 8 * word)
        return await with_timeout(read, PATIENCE_US, "us")

    def hand(self, frame: bytes, damaged: bool = False) -> None:
        """Queue a frame to be received, and count it."""
        self.offered += 1
        # The counters take no more bytes of a frame than these.
        self.offered_bytes += min(len(frame), 2**14 - 1)
        self.rx.send_nowait(frame if self.at_line_rate else frames.on_bus(frame, damaged))

    async def settle(self) -> None:
        """Wait until the MAC has handed over all, and a while longer."""
        while not (self.rx.empty() and self.rx.idle()):
            await Timer(100, "ns")
        await Timer(3, "us")

    async def sums(self) -> tuple[dict, dict]:
        """Read the statistics of both; each frame and each byte must have exactly one outcome."""
        arrivals, places = await self.statistics("arrivals"), await self.statistics("places")
        assert total(arrivals) == (self.offered, self.offered_bytes)
        assert total(places) == arrivals.get(spec.ARRIVAL_DATAGRAM, (0, 0))
        return arrivals, places

    def head(self) -> tuple[int, int, int, int]:
        """Take the word of the next extent: sequence, object, flags, frames missing before it."""
        word = bytes(self.heads.recv_nowait().tdata)
        number = struct.unpack_from("<I", word, spec.FRAMING_SEQUENCE_AT)[0]
        object_ = struct.unpack_from("<Q", word, spec.FRAMING_OBJECT_AT)[0]
        missing = struct.unpack_from("<Q", word, spec.FRAMING_BYTES)[0]
        return number, object_, word[spec.FRAMING_FLAGS_AT] & 15, missing

    async def statistics(self, name: str) -> dict[int, tuple[int, int]]:
        """Read frames and bytes of all causes that were seen."""
        rows = {}
        for cause in range(16):
            count = await self.get(name, 4 * cause)
            if count:
                rows[cause] = count, await self.get(name, 4 * cause + 1)
                assert 0 < await self.get(name, 4 * cause + 2) <= await self.get("cycles")
        return rows

    async def loop(self, delay_ns: int) -> None:
        """Carry what is sent to where it is received, over a cable."""
        while True:
            frame = bytes((await self.tx.recv()).data)
            cocotb.start_soon(self.carry(frame, delay_ns))

    async def carry(self, frame: bytes, delay_ns: int) -> None:
        """Let one frame arrive after the cable's delay."""
        await Timer(delay_ns, "ns")
        self.rx.send_nowait(frame)

    def offer(self, number: int, content: bytes) -> None:
        """Queue an object to be sent."""
        head = number.to_bytes(8, "little") + len(content).to_bytes(8, "little")
        self.sent_heads.send_nowait(AxiStreamFrame(head))
        self.sent.send_nowait(AxiStreamFrame(content))

    async def object(self) -> tuple[bytes, bool]:
        """Take the next packet; say whether it is a whole object."""
        packet = await with_timeout(self.objects.recv(compact=False), PATIENCE_US, "us")
        count = sum(packet.tkeep or [1] * len(packet.tdata))
        user = packet.tuser if isinstance(packet.tuser, list) else [packet.tuser]
        return bytes(packet.tdata[:count]), not user[-1] & spec.PACKET_PART
