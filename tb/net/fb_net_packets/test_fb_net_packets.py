# SPDX-License-Identifier: Apache-2.0
"""fb_net_packets: what it makes of frames is read by scapy, and block by block."""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass

import cocotb
from cocotb.triggers import FallingEdge
from cocotbext.axi import AxiStreamSink

import harness
import pcapng
from forebay import spec
from runner import simulate

BEAT = spec.USER_BEAT_BYTES
MOST = 16382
# Ends of words, of beats, and what leaves a chunk's last page too full for the least padding.
SIZES = (1, 2, 3, 4, 57, 60, 61, 63, 64, 65, 124, 125, 128, 4032, 4052, 4056, 4060, 4064, MOST)


@dataclass
class Frame:
    """A frame, and how many it says were lost before it."""

    data: bytes
    lost: int = 0


class Bench:
    """Drives frames as fb_net_frame_fifo does, and notes chunks and their words."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.heads = harness.axi_stream(AxiStreamSink, dut, "m_axis_head")
        self.chunks: list[bytes] = []
        self.data = b""
        self.times: list[tuple[int, int]] = []  # of frames, in ns and in seconds
        self.began: list[int] = []
        self.ended: list[int] = []
        self.placed = 0
        self.ready = 1.0

    async def start(self, pages: int = 2, wait: int = 0, align: int = 0) -> None:
        """Configure, reset, and watch."""
        dut = self.dut
        harness.clear(dut, "s_*", "m_ready", "cfg_*", "more")
        dut.more.value = 1
        dut.cfg_pages.value, dut.cfg_align.value = pages, align
        dut.cfg_wait.value = wait
        await harness.start(dut)
        cocotb.start_soon(self.watch())
        await harness.step(dut.clk)

    async def watch(self) -> None:
        """Put chunks together."""
        dut = self.dut
        while True:
            await harness.step(dut.clk)
            dut.m_ready.value = random.random() < self.ready
            await FallingEdge(dut.clk)
            self.placed += dut.placed.value == 1
            if dut.m_valid.value == 0 or dut.m_ready.value == 0:
                continue
            if dut.m_open.value == 1:
                assert not self.data
                self.began.append(harness.cycle())
            count = int(dut.m_bytes.value)
            assert 1 <= count <= BEAT
            self.data += int(dut.m_data.value).to_bytes(BEAT, "little")[:count]
            if dut.m_close.value == 1:
                self.chunks.append(self.data)
                self.ended.append(harness.cycle())
                self.data = b""

    async def send(self, frame: Frame, idle: float = 0.0) -> None:
        """Drive one frame until its last beat is taken, with noise beside its bytes."""
        dut, data = self.dut, frame.data
        self.times.append((random.getrandbits(64), random.getrandbits(34)))
        for at in range(0, len(data), BEAT):
            while random.random() < idle:
                dut.s_valid.value = 0
                await harness.step(dut.clk)
            beat = data[at : at + BEAT]
            noise = random.getrandbits(512) >> 8 * len(beat) << 8 * len(beat)
            dut.s_valid.value = 1
            dut.s_data.value = int.from_bytes(beat, "little") | noise
            dut.s_bytes.value = len(beat)
            dut.s_first.value = at == 0
            dut.s_last.value = at + BEAT >= len(data)
            dut.s_frame.value = len(data)
            dut.s_time.value = self.times[-1][1] << 64 | self.times[-1][0]
            dut.s_lost.value = frame.lost
            dut.s_lossy.value = int(frame.lost != 0)
            await FallingEdge(dut.clk)
            while dut.s_ready.value == 0:
                await FallingEdge(dut.clk)
            await harness.step(dut.clk)
        dut.s_valid.value = 0

    async def finish(self) -> None:
        """Let what is open end, and wait for it."""
        self.dut.more.value = 0
        await harness.until(self.dut.clk, self.dut.active, 0)
        await harness.step(self.dut.clk, 2)
        self.dut.more.value = 1

    def check(self, sent: list[Frame], pages: int = 2) -> list[list[pcapng.Packet]]:
        """Hold chunks and words against what was sent; return the packets of each chunk."""
        found = [pcapng.walk(chunk) for chunk in self.chunks]
        packets = [packet for chunk in found for packet in chunk]
        assert [(p.frame, p.lost) for p in packets] == [(f.data, f.lost) for f in sent]
        times = self.times[: len(packets)]
        del self.times[: len(packets)]
        assert [packet.time for packet in packets] == [ns for ns, _ in times]
        assert pcapng.by_scapy(self.chunks) == [(p.time, p.frame) for p in packets]
        assert self.placed == len(sent)
        first = told = 0
        for number, (chunk, inside) in enumerate(zip(self.chunks, found, strict=True)):
            assert len(chunk) <= pages * pcapng.PAGE or len(inside) == 1
            word = bytes(self.heads.recv_nowait().tdata)
            assert word[:12] == b"FBY1\x23" + bytes(7)
            numbers = [*struct.unpack_from("<IQQQ", word, spec.FRAMING_SEQUENCE_AT)]
            # Lost since the chunk before began: in it, and before the first frame of this one.
            told += numbers.pop()
            assert told == sum(f.lost for f in sent[: first + 1])
            assert numbers == [first, number, 0]
            behind = word[spec.PACKET_NS_AT :]
            assert (int.from_bytes(behind[:8], "little"), int.from_bytes(behind[8:], "little")) == (
                times[first]
            )
            first += len(inside)
        assert self.heads.empty()
        return found


def frames(count: int) -> list[Frame]:
    """Return frames of any size, some of them with others lost before them."""
    return [
        Frame(
            random.randbytes(random.choice([random.choice(SIZES), random.randrange(1, 1600)])),
            random.choice([0, 0, 1, 255]),
        )
        for _ in range(count)
    ]


@cocotb.test()
@cocotb.parametrize(
    (("pages", "align"), [(0, 0), (2, 0), (2, 1), (16, 0), (64, 4), (128, 7)]), ready=[1.0, 0.5]
)
async def any_frames(dut, pages: int, align: int, ready: float) -> None:
    """Frames of any size make chunks that scapy reads, however slow the reader is."""
    bench = Bench(dut)
    await bench.start(pages, align=align)
    bench.ready = ready
    if ready < 1:
        harness.stall(bench.heads, 0.8)
    sent = frames(200)
    for frame in sent:
        await bench.send(frame, 0.0 if ready == 1 else 0.3)
    bench.ready = 1.0
    await bench.finish()
    chunks = bench.check(sent, max(pages, 1))
    # A chunk ends because the next frame finds no room, and for no other reason.
    for inside, chunk, after in zip(chunks, bench.chunks, chunks[1:], strict=False):
        used = sum(block_bytes(packet) for packet in inside)
        assert used + block_bytes(after[0]) + 12 > max(pages, 1) * pcapng.PAGE
        assert 12 <= len(chunk) - used < 12 + (pcapng.PAGE << align)
    assert all(len(chunk) % (pcapng.PAGE << align) == 0 for chunk in bench.chunks)


def block_bytes(packet: pcapng.Packet) -> int:
    """Return the bytes of a packet's block."""
    return 32 + len(packet.frame) + -len(packet.frame) % 4 + 16 * bool(packet.lost)


@cocotb.test()
@cocotb.parametrize(align=[0, 1])
async def every_length_of_padding(dut, align: int) -> None:
    """The last unit is filled up from any word of it on, or the unit behind it."""
    bench = Bench(dut)
    await bench.start(pages=16, align=align)
    sent = []
    unit = pcapng.PAGE << align
    for size in range(unit - 4095, unit + 4, 4):
        sent.append(Frame(random.randbytes(size)))
        await bench.send(sent[-1])
        await bench.finish()
    # Numbers begin anew whenever it was switched off.
    for chunk in bench.chunks:
        assert len(pcapng.walk(chunk)) == 1
    assert [frame for _, frame in pcapng.by_scapy(bench.chunks)] == [f.data for f in sent]
    assert {len(chunk) // unit for chunk in bench.chunks} == {1, 2}


@cocotb.test()
async def least_frames_in_two_cycles(dut) -> None:
    """Frames of 60 bytes pass every second cycle, with a cycle more where some were lost."""
    bench = Bench(dut)
    await bench.start(pages=16)
    sent = [Frame(random.randbytes(60), number % 2) for number in range(201)]
    began = harness.cycle()
    for frame in sent:
        await bench.send(frame)
    assert harness.cycle() - began == 502
    await bench.finish()
    bench.check(sent, 16)


@cocotb.test()
@cocotb.parametrize(wait=[1, 100])
async def a_chunk_does_not_wait_forever(dut, wait: int) -> None:
    """It ends N cycles after it began, and not before, also in the middle of a frame."""
    bench = Bench(dut)
    await bench.start(pages=200, wait=wait)
    sent = []
    for number in range(30):
        sent.append(Frame(random.randbytes(1000)))
        await bench.send(sent[-1])
        if number % 10 == 9:
            await harness.step(dut.clk, 2 * wait + 70)
            assert dut.open.value == 0
    await harness.step(dut.clk, 200)
    bench.check(sent, 200)
    for began, ended in zip(bench.began, bench.ended, strict=True):
        assert wait < ended - began < wait + 17 + 66


@cocotb.test()
async def what_waits_is_taken(dut) -> None:
    """Frames that are there when `more` falls come into a chunk, later ones do not."""
    bench = Bench(dut)
    await bench.start()
    bench.ready = 0.2
    sent = frames(30)
    for number, frame in enumerate(sent):
        if number == 10:
            dut.more.value = 0
        await bench.send(frame)
    bench.ready = 1.0
    await harness.until(dut.clk, dut.active, 0)
    bench.check(sent)
    # The one that looks at `active` keeps it away.
    late = [int(dut.open.value), int(dut.m_valid.value), int(dut.s_ready.value)]
    await harness.step(dut.clk, 100)
    assert late == [0, 0, 0] and dut.active.value == 0


@cocotb.test()
async def reset_in_mid_chunk(dut) -> None:
    """A reset forgets the chunk, its numbers and what was lost."""
    bench = Bench(dut)
    await bench.start()
    for _ in range(10):
        sender = cocotb.start_soon(bench.send(Frame(bytes(3000), 3)))
        await harness.step(dut.clk, random.randrange(1, 60))
        sender.cancel()
        dut.s_valid.value = 0
        await harness.reset(dut)
        bench.heads.clear()
        bench.chunks.clear()
        bench.times.clear()
        bench.data, bench.placed = b"", 0
        sent = frames(4)
        for frame in sent:
            await bench.send(frame)
        await bench.finish()
        bench.check(sent)
        bench.chunks.clear()
        bench.placed = 0


@harness.provocation
async def withdraw(dut) -> None:
    """The stream checker is awake."""
    bench = Bench(dut)
    await bench.start()
    await harness.withdraw(dut.clk, dut.u_check_head)


@harness.provocation
async def from_the_middle(dut) -> None:
    """A frame without its first beat is noticed."""
    bench = Bench(dut)
    await bench.start()
    bench.dut.s_valid.value = 1
    await harness.step(dut.clk, 4)


def test_packets() -> None:
    """Run all coroutines."""
    simulate(__file__, "fb_net_packets")


def test_checker_fires() -> None:
    """The stream checker fires."""
    message = "m_axis_head: valid fell"
    simulate(__file__, "fb_net_packets", fires={"withdraw": message})


def test_assertion_fires() -> None:
    """So does the assertion."""
    simulate(
        __file__,
        "fb_net_packets",
        fires={"from_the_middle": "frame_from_its_beginning"},
    )
