# SPDX-License-Identifier: Apache-2.0
"""fb_net_stream_scheduler: each frame comes out once, in order in its stream."""

from __future__ import annotations

import itertools
import random
from collections import defaultdict, deque
from dataclasses import dataclass, field

import cocotb
import pytest
from cocotb.triggers import FallingEdge

import frames
import harness
from forebay import spec
from frames import STREAM, Sender, header
from runner import simulate

BEAT = spec.USER_BEAT_BYTES
NEVER = 2**32 - 1


@dataclass(frozen=True)
class Frame:
    """A datagram, and what goes with it."""

    data: bytes
    raw: bool = False
    time: int = field(default_factory=lambda: random.getrandbits(98))

    @property
    def stream(self) -> int | None:
        """Which of the streams that are taken it is of."""
        if self.data[:4] != spec.FRAMING_MAGIC.to_bytes(4, "little"):
            return None
        return int.from_bytes(self.data[6:8], "little") - STREAM

    @property
    def ends(self) -> bool:
        """Whether it is the last one of its object."""
        return bool(self.data[spec.FRAMING_FLAGS_AT] & spec.FRAMING_LAST)

    @property
    def beats(self) -> int:
        """Beats of it."""
        return -(-len(self.data) // BEAT)


class Bench:
    """Drives datagrams as fb_net_frame_fifo does, and puts frames together that come out."""

    def __init__(self, dut, streams: int | None = None) -> None:
        self.dut = dut
        self.rings, self.beats = len(dut.level_q), 1 << len(dut.write_q[0])
        self.latency = len(dut.inside_q)  # of the memory
        self.streams = self.rings if streams is None else streams
        self.sent: list[Frame] = []
        self.came: list[Frame] = []
        self.ended: list[int] = []  # the cycle in which each came to its end
        self.ready = 1.0
        self.now = 0

    def ours(self, frame: Frame) -> bool:
        """Whether a frame is of a stream that is taken."""
        return frame.stream is not None and 0 <= frame.stream < min(self.streams, self.rings)

    def ring(self, frame: Frame) -> int:
        """Return the ring that a frame goes through."""
        return frame.stream if self.ours(frame) else 0

    async def start(self, turn: int = NEVER) -> None:
        """Configure, reset, and watch."""
        harness.clear(self.dut, "s_*", "m_ready", "hurry")
        frames.configure(self.dut, cfg_streams=self.streams, cfg_gather=turn)
        await harness.start(self.dut)
        cocotb.start_soon(self.watch())
        await harness.step(self.dut.clk)

    async def watch(self) -> None:
        """Put frames together; all beats of one follow each other and say the same of it."""
        dut, data, said = self.dut, b"", None
        while True:
            await harness.step(dut.clk)
            self.now = harness.cycle()
            dut.m_ready.value = random.random() < self.ready
            await FallingEdge(dut.clk)
            if dut.rst.value == 1:
                data, said = b"", None
            elif dut.m_valid.value == 1 and dut.m_ready.value == 1:
                of = tuple(
                    int(getattr(dut, f"m_{name}").value)
                    for name in ("raw", "frame", "ours", "stream", "time")
                )
                assert (dut.m_first.value == 1) == (not data) and (said is None or said == of)
                count, said = int(dut.m_bytes.value), of
                data += int(dut.m_data.value).to_bytes(BEAT, "little")[:count]
                assert dut.m_last.value == 1 or count == BEAT
                if dut.m_last.value == 1:
                    self.take(Frame(data, bool(of[0]), of[4]), of)
                    data, said = b"", None

    def take(self, frame: Frame, of: tuple[int, ...]) -> None:
        """Note a frame, and hold what is said of it against what it is."""
        assert of[1:4] == (len(frame.data) + 42, self.ours(frame), self.ring(frame))
        self.came.append(frame)
        self.ended.append(self.now)

    async def send(self, frame: Frame, idle: float = 0.0) -> None:
        """Drive one frame until its last beat is taken, with pauses before it and in it."""
        dut = self.dut
        self.sent.append(frame)
        for at in range(0, len(frame.data), BEAT):
            while random.random() < idle:
                dut.s_valid.value = 0
                await harness.step(dut.clk)
            beat = frame.data[at : at + BEAT]
            dut.s_valid.value = 1
            dut.s_data.value = int.from_bytes(beat, "little")
            dut.s_bytes.value = len(beat)
            dut.s_first.value = at == 0
            dut.s_last.value = at + BEAT >= len(frame.data)
            dut.s_raw.value = frame.raw
            dut.s_frame.value = len(frame.data) + 42
            dut.s_time.value = frame.time
            await FallingEdge(dut.clk)
            while dut.s_ready.value == 0:
                await FallingEdge(dut.clk)
            await harness.step(dut.clk)
        dut.s_valid.value = 0

    async def settle(self, limit: int = 100_000) -> None:
        """Wait until all has come: each stream's frames must have come in its order."""
        for _ in range(limit):
            if len(self.came) == len(self.sent):
                break
            await harness.step(self.dut.clk)
        sent, came = defaultdict(list), defaultdict(list)
        for frame in self.sent:
            sent[self.ring(frame)].append(frame)
        for frame in self.came:
            came[self.ring(frame)].append(frame)
        assert came == sent
        await harness.step(self.dut.clk, 4)
        assert self.dut.held.value == 0 and self.dut.m_valid.value == 0

    def parts(self) -> list[tuple[int, list[Frame]]]:
        """Return what came as parts of objects: runs of a stream up to the end of an object."""
        found: list[tuple[int, list[Frame]]] = []
        for frame in self.came:
            goes_on = found and found[-1][0] == frame.stream and not found[-1][1][-1].ends
            if not goes_on:
                found.append((frame.stream, []))
            found[-1][1].append(frame)
        return found


def objects(stream: int, sizes: list[int], part: int) -> list[Frame]:
    """Return the frames of objects of a stream."""
    sender = Sender(stream=STREAM + stream)
    found = []
    for number, size in enumerate(sizes):
        found += sender.datagrams(number, random.randbytes(size), part)
    return [Frame(data, random.random() < 0.5) for data in found]


def in_turn(streams: list[list[Frame]]) -> list[Frame]:
    """Return the frames of several senders, one of each after the other."""
    return [frame for turn in itertools.zip_longest(*streams) for frame in turn if frame]


def by_chance(streams: list[list[Frame]]) -> list[Frame]:
    """Return the frames of several senders in bursts of any length."""
    left = [deque(frames) for frames in streams]
    found: list[Frame] = []
    while any(left):
        queue = random.choice([queue for queue in left if queue])
        for _ in range(random.choice([1, 1, 2, 5, 40])):
            if queue:
                found.append(queue.popleft())
    return found


def foreign() -> Frame:
    """Return a frame that is of no stream, or of no sender at all."""
    stream = random.choice([STREAM - 1, STREAM + 16, random.randrange(100, 2**16)])
    head = header(0, 0, 5, random.choice([0, 1, 2, 3]), stream=stream)
    data = random.choice([head, random.randbytes(len(head))]) + random.randbytes(200)
    return Frame(data[: random.randrange(1, len(data))] if random.random() < 0.2 else data)


@cocotb.test()
@cocotb.parametrize(ready=[1.0, 0.5, 0.1], turn=[0, 30, NEVER], streams=[1, 2, 31])
async def each_frame_once(dut, ready: float, turn: int, streams: int) -> None:
    """Whatever comes in whatever order: each frame comes out once, in order in its stream."""
    bench = Bench(dut, streams)
    bench.ready = ready
    await bench.start(turn)
    longest = bench.beats * BEAT
    each = []
    for stream in range(min(streams, bench.rings)):
        sizes = [random.randrange(1, random.choice([50, 2 * longest])) for _ in range(6)]
        each.append(objects(stream, sizes, random.choice([20, 100, longest])))
    each.append([foreign() for _ in range(20)])
    for frame in by_chance(each):
        await bench.send(frame, random.choice([0.0, 0.0, 0.3]))
    await bench.settle()


@cocotb.test()
async def all_at_once(dut) -> None:
    """With all rings full, and a reader that was away, all goes on."""
    bench = Bench(dut)
    await bench.start()
    bench.ready = 0
    # Each ring's worth twice, in as many orders as there are streams.
    each = [objects(n, [4 * bench.beats * BEAT], BEAT) for n in range(bench.rings)]
    sender = cocotb.start_soon(feed(bench, by_chance(each)))
    await harness.step(dut.clk, 10 * bench.beats * bench.rings)
    assert dut.s_ready.value == 0 and not bench.came
    bench.ready = 1
    await sender
    await bench.settle()


async def feed(bench: Bench, sent: list[Frame], idle: float = 0.0) -> None:
    """Send frames one after the other."""
    for frame in sent:
        await bench.send(frame, idle)


@cocotb.test()
async def small_objects_stay_whole(dut) -> None:
    """Objects whose frames come in turn leave each as a whole."""
    bench = Bench(dut)
    await bench.start()
    # What comes of a stream in a round of all is less than half a ring.
    size = bench.beats * BEAT // 8
    each = [objects(n, [size] * 10, size // 2) for n in range(bench.rings)]
    await feed(bench, in_turn(each), 0.5)
    await bench.settle()
    parts = bench.parts()
    assert len(parts) == 10 * bench.rings and all(part[-1].ends for _, part in parts)


@cocotb.test()
@cocotb.parametrize(ready=[1.0, 0.3])
async def long_objects_in_long_parts(dut, ready: float) -> None:
    """Objects longer than the memory, frames in turn: parts are half a ring or more."""
    bench = Bench(dut)
    bench.ready = ready
    await bench.start()
    part = 2 * BEAT - spec.FRAMING_BYTES
    each = [objects(n, [10 * bench.beats * BEAT], part) for n in range(bench.rings)]
    await feed(bench, in_turn(each))
    await bench.settle()
    parts = [sum(frame.beats for frame in part) for _, part in bench.parts() if not part[-1].ends]
    assert len(parts) >= 2 * bench.rings
    assert min(parts[1:]) >= bench.beats // 2 - 2, parts


@cocotb.test()
@cocotb.parametrize(ready=[1.0, 0.6])
async def long_objects_beside_small_ones(dut, ready: float) -> None:
    """Small objects, and frames of no stream, do not cut long objects into small parts."""
    bench = Bench(dut)
    bench.ready = ready
    await bench.start()
    small = objects(0, [20] * 16 * bench.beats, 20)
    alien = [Frame(header(0, 0, 5, 0, stream=1) + bytes(30)) for _ in range(6 * bench.beats)]
    each = [objects(n, [10 * bench.beats * BEAT], BEAT) for n in range(1, bench.rings)]
    await feed(bench, in_turn([small, *each, alien]))
    await bench.settle()
    long = [(stream, part) for stream, part in bench.parts() if stream in range(1, bench.rings)]
    parts = [sum(frame.beats for frame in part) for _, part in long if not part[-1].ends]
    # Where a ring runs empty the next turn may begin with less than half a ring.
    assert sum(parts) / len(parts) >= 3 / 8 * bench.beats, parts


@cocotb.test()
async def a_late_stream_has_its_turn(dut) -> None:
    """One frame of a stream comes through a long object after `turn` cycles, not before."""
    turn = 100
    bench = Bench(dut)
    await bench.start(turn)
    long = objects(0, [40 * turn * BEAT], BEAT)
    (other,) = objects(1, [10], 10)
    sender = cocotb.start_soon(feed(bench, [*long[:200], other, *long[200:1200]]))
    while other not in bench.sent:
        await harness.step(dut.clk)
    began = harness.cycle()
    await sender
    at = bench.came.index(other)
    assert turn <= bench.ended[at] - began <= 2 * turn + 10
    assert 0 < at < 1000


@cocotb.test()
async def a_silent_sender_holds_nobody_up(dut) -> None:
    """Behind an object that does not go on others wait `turn` cycles, or for half a ring."""
    turn = 500
    bench = Bench(dut)
    await bench.start(turn)
    begun = objects(0, [1000], 100)[:1]
    await feed(bench, begun)
    others = objects(1, [10] * bench.beats, 10)
    began = harness.cycle()
    await feed(bench, others[: bench.beats // 2 - 1])
    await harness.step(dut.clk, turn // 2)
    assert bench.came == begun
    await bench.settle()
    assert turn <= bench.ended[1] - began <= 2 * turn + 10
    # That stream is through with its object: the silent one goes on, and is silent again.
    await feed(bench, objects(0, [1000], 100)[1:2])
    await bench.settle()
    began = harness.cycle()
    await feed(bench, others[: bench.beats // 2 + 1])
    await bench.settle()
    assert harness.cycle() - began < bench.beats + 20


@cocotb.test()
async def nobody_waits_in_a_hurry(dut) -> None:
    """Behind an object that does not go on others have their turn if nothing more comes."""
    bench = Bench(dut)
    await bench.start(2**16)
    begun = objects(0, [1000], 100)[:1]
    await feed(bench, begun)
    await feed(bench, objects(1, [10], 10))
    await harness.step(dut.clk, 100)
    assert bench.came == begun
    dut.hurry.value = 1
    await harness.step(dut.clk, 10)
    assert dut.held.value == 0 and len(bench.came) == 2
    dut.hurry.value = 0
    await bench.settle()


@cocotb.test()
async def foreign_frames_hold_nobody_up(dut) -> None:
    """Frames of no stream, as fast as the line has them, hold up none of those that wait."""
    bench = Bench(dut)
    await bench.start(2**16)
    begun = objects(0, [1000], 100)[:1]
    waits = objects(1, [500], 100)
    await feed(bench, begun)
    await feed(bench, waits)
    strange = Frame(header(0, 0, 5, 0, stream=STREAM - 1))
    for turn in range(60):
        dut.hurry.value = turn > 10
        await bench.send(strange)
    assert dut.held.value == 0, "frames of no stream are counted"
    assert [frame for frame in bench.came if frame != strange] == begun + waits
    dut.hurry.value = 0
    await bench.settle()


@cocotb.test()
async def one_stream_passes(dut) -> None:
    """A beat in each cycle, frames of one beat too; 2 cycles and the memory's later."""
    bench = Bench(dut, 1)
    await bench.start()
    for frame_bytes in (40, 64, 1000):
        sent = objects(0, [200 * BEAT], frame_bytes - spec.FRAMING_BYTES)
        began = harness.cycle()
        count = len(bench.came)
        await feed(bench, sent)
        await bench.settle()
        assert bench.ended[-1] - began == sum(frame.beats for frame in sent) - 1 + 2 + bench.latency
        assert len(bench.came) == count + len(sent)


@cocotb.test()
async def a_change_takes_two_cycles(dut) -> None:
    """Frames of one beat of all streams: one comes in each cycle but where streams change."""
    bench = Bench(dut)
    await bench.start()
    count = 4 * bench.beats
    each = [objects(n, [20] * count, 20) for n in range(bench.rings)]
    await feed(bench, in_turn(each))
    await bench.settle()
    changes = sum(one.stream != other.stream for one, other in itertools.pairwise(bench.came))
    assert bench.ended[-1] - bench.ended[0] <= len(bench.came) - 1 + 2 * changes


@cocotb.test()
async def reset_in_mid_frame(dut) -> None:
    """What a reset finds is forgotten."""
    bench = Bench(dut)
    await bench.start(20)
    for _ in range(10):
        bench.ready = random.choice([0.2, 1.0])
        each = [objects(n, [5000], 300) for n in range(bench.rings)]
        sender = cocotb.start_soon(feed(bench, in_turn(each)))
        await harness.step(dut.clk, random.randrange(2, 60))
        sender.cancel()
        dut.s_valid.value = 0
        await harness.reset(dut)
        bench.sent.clear()
        bench.came.clear()
        await feed(bench, in_turn([objects(n, [400], 300) for n in range(bench.rings)]))
        await bench.settle()


@harness.provocation
async def stuck(dut) -> None:
    """A full ring beside an empty one that is in the middle of a frame must be noticed."""
    bench = Bench(dut)
    await bench.start()
    dut.level_q[1].value = bench.beats
    dut.middle_q.value = 1
    dut.s_valid.value = 1
    await harness.step(dut.clk, 2)


@pytest.mark.parametrize(("streams", "beats", "latency"), [(2, 16, 1), (4, 32, 3), (16, 16, 4)])
def test_scheduler(streams: int, beats: int, latency: int) -> None:
    """Run all coroutines at this size: small rings are full more often."""
    values = {"Streams": streams, "Beats": beats, "ReadLatency": latency}
    simulate(__file__, "fb_net_stream_scheduler", values)


def test_full_has_its_turn_fires() -> None:
    """Each assertion fires."""
    parameters = {"Streams": 2, "Beats": 16}
    message = "full_has_its_turn"
    simulate(__file__, "fb_net_stream_scheduler", parameters, fires={"stuck": message})
