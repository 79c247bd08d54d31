# SPDX-License-Identifier: Apache-2.0
"""fb_net_reassembly against the rule of docs/reference/net.md, written down in Python."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field

import cocotb
from cocotb.triggers import FallingEdge
from cocotbext.axi import AxiStreamSink

import frames
import harness
from forebay import spec
from frames import STREAM, header
from runner import simulate

BEAT = spec.USER_BEAT_BYTES
HEADER = spec.FRAMING_BYTES
FIRST, LAST = spec.FRAMING_FIRST, spec.FRAMING_LAST
WORD = 2**64
NUMBERS = 2**32
STREAMS = 4  # what the module has by default


@dataclass
class Frame:
    """A datagram, and whether what goes past the object is filling."""

    sequence: int
    number: int
    place: int
    flags: int
    payload: bytes
    epoch: int = 1
    raw: bool = False
    others: dict[str, int] = field(default_factory=dict)
    time: int = field(default_factory=lambda: random.getrandbits(98))

    @property
    def stream(self) -> int:
        """Its stream."""
        return self.others.get("stream", STREAM)

    @property
    def ours(self) -> bool:
        """Whether that is one that is taken."""
        return self.stream in range(STREAM, STREAM + STREAMS)

    @property
    def head(self) -> bytes:
        """The header."""
        fields = {"epoch": self.epoch} | self.others
        return header(self.sequence, self.number, self.place, self.flags, **fields)


@dataclass
class Known:
    """What is known of a stream."""

    epoch: int | None = None
    before: int | None = None
    due: int = 0
    # Epoch and number of what follows the old frame that was refused last.
    again: tuple[int, int] | None = None
    taken: list[int] = field(default_factory=list)
    # Its object: number, next offset, total if it came from its first byte on.
    object: tuple[int, int, int | None] | None = None


def user_of(whole: bool, intact: bool) -> int:
    """Return TUSER of an extent that was closed."""
    return (0 if whole else spec.PACKET_PART) | (spec.PACKET_ENDS_OBJECT if intact else 0)


WHOLE, PART, LAST_PART = user_of(True, True), user_of(False, False), user_of(False, True)


class Rule:
    """The rule: which frames go on, and what extents they make."""

    def __init__(self) -> None:
        self.known: dict[int, Known] = {}
        self.within: int | None = None  # the stream of the open extent
        self.begun = False  # it begins with its object's first byte
        # For each extent: head, number missing, time, payload, TUSER (None: never closed).
        self.extents: list[list] = []
        self.places: list[int] = []

    def judge(self, frame: Frame) -> int:
        """Say what becomes of a frame."""
        wrong = {"magic", "version", "reserved"} & set(frame.others) or frame.flags & ~(
            FIRST | LAST
        )
        if wrong or not frame.payload or (frame.flags & FIRST and not frame.place):
            return spec.PLACE_HEADER
        if not frame.ours:
            return spec.PLACE_STREAM
        known = self.known.setdefault(frame.stream, Known())
        if frame.epoch not in (known.epoch, known.before):
            return spec.PLACE_DELIVERED
        behind = (known.due - frame.sequence) % NUMBERS
        if frame.epoch == known.epoch and not 0 < behind <= NUMBERS // 2:
            return spec.PLACE_DELIVERED
        if frame.epoch == known.epoch and behind <= spec.FRAMING_WINDOW:
            return spec.PLACE_DUPLICATE if frame.sequence in known.taken else spec.PLACE_LATE
        follows = known.again == (frame.epoch, frame.sequence)
        return spec.PLACE_DELIVERED if follows else spec.PLACE_OLD

    def take(self, frame: Frame) -> None:
        """Follow one frame."""
        place = self.judge(frame)
        self.places.append(place)
        if place == spec.PLACE_OLD:
            self.known[frame.stream].again = frame.epoch, (frame.sequence + 1) % NUMBERS
        if place != spec.PLACE_DELIVERED:
            return
        known = self.known[frame.stream]
        missing = (frame.sequence - known.due) % NUMBERS
        anew = frame.epoch != known.epoch or missing >= NUMBERS // 2
        if anew:
            known.taken, missing = [], 0
        if frame.epoch != known.epoch:
            known.epoch, known.before = frame.epoch, known.epoch
        known.due, known.again = (frame.sequence + 1) % NUMBERS, None
        recent = (n for n in known.taken if (known.due - n) % NUMBERS <= spec.FRAMING_WINDOW)
        known.taken = [*recent, frame.sequence]
        first, last = bool(frame.flags & FIRST), bool(frame.flags & LAST)
        goes_on = known.object and not (anew or missing or first)
        goes_on = goes_on and (frame.number, frame.place) == known.object[:2]
        if not (goes_on and self.within == frame.stream):
            head = bytearray(frame.head)
            head[spec.FRAMING_FLAGS_AT] |= spec.PACKET_GOES_ON if goes_on else 0
            self.extents.append([bytes(head), missing, frame.time, b"", None])
            self.begun = first
        there, total = (0, frame.place) if first else (frame.place, None)
        if goes_on:
            total = known.object[2]
        payload = frame.payload
        if frame.raw and total is not None and 0 < total - there < len(payload) <= BEAT - HEADER:
            payload = payload[: total - there]
        there += len(payload)
        self.extents[-1][3] += payload
        self.within, known.object = frame.stream, (frame.number, there, total)
        if last:
            intact = total == there
            self.extents[-1][-1] = user_of(self.begun and intact, intact)
            self.within = known.object = None


class Bench:
    """Drives datagrams as fb_net_stream_scheduler does, and notes what goes on."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.heads = harness.axi_stream(AxiStreamSink, dut, "m_axis_head")
        self.extents: list[list] = []
        self.places: list[tuple[int, int]] = []
        self.ready = 1.0

    async def start(self) -> None:
        """Configure, reset, and watch."""
        harness.clear(self.dut, "s_*", "m_ready", "forget")
        frames.configure(self.dut)
        self.dut.cfg_idle.value = 0
        await harness.start(self.dut)
        cocotb.start_soon(self.watch())
        await harness.step(self.dut.clk)

    async def watch(self) -> None:
        """Put extents together, and note what became of each frame."""
        dut = self.dut
        while True:
            await harness.step(dut.clk)
            dut.m_ready.value = random.random() < self.ready
            await FallingEdge(dut.clk)
            if dut.placed.value == 1:
                self.places.append((int(dut.place.value), int(dut.placed_bytes.value)))
            if dut.m_valid.value == 1 and dut.m_ready.value == 1:
                start = HEADER if dut.m_upper.value == 1 else 0
                data = int(dut.m_data.value).to_bytes(BEAT, "little")[start:]
                if dut.m_open.value == 1:
                    self.extents.append([b"", None])
                self.extents[-1][0] += data[: int(dut.m_bytes.value)]
                if dut.m_close.value == 1:
                    flags = bool(dut.m_whole.value), bool(dut.m_intact.value)
                    self.extents[-1][1] = user_of(*flags)

    async def send(self, frame: Frame, idle: float = 0.0, before: bool = True) -> None:
        """Drive one frame until its last beat is taken, with pauses in it and before it."""
        dut, data = self.dut, frame.head + frame.payload
        for at in range(0, len(data), BEAT):
            while (at or before) and random.random() < idle:
                dut.s_valid.value = 0
                await harness.step(dut.clk)
            beat = data[at : at + BEAT]
            dut.s_valid.value = 1
            dut.s_data.value = int.from_bytes(beat, "little")
            dut.s_bytes.value = len(beat)
            dut.s_first.value = at == 0
            dut.s_last.value = at + BEAT >= len(data)
            dut.s_raw.value = frame.raw
            dut.s_frame.value = len(data) + 42
            dut.s_time.value = frame.time
            dut.s_ours.value = frame.ours
            dut.s_stream.value = frame.stream - STREAM if frame.ours else 0
            await FallingEdge(dut.clk)
            while dut.s_ready.value == 0:
                await FallingEdge(dut.clk)
            await harness.step(dut.clk)
        dut.s_valid.value = 0

    async def follow(self, sent: list[Frame], idle: float = 0.0) -> Rule:
        """Send frames and hold what comes against the rule."""
        rule = Rule()
        for frame in sent:
            rule.take(frame)
            await self.send(frame, idle)
        await harness.step(self.dut.clk, 200)
        assert [place for place, _ in self.places] == rule.places
        assert [count for _, count in self.places] == [len(f.head + f.payload) + 42 for f in sent]
        heads = [bytes(self.heads.recv_nowait().tdata) for _ in rule.extents]
        assert self.heads.empty()
        assert heads == [
            head + gap.to_bytes(8, "little") + time.to_bytes(13, "little")
            for head, gap, time, _, _ in rule.extents
        ]
        assert self.extents == [extent[3:] for extent in rule.extents]
        return rule


def objects(count: int, part: int = 300, stream: int = STREAM) -> list[Frame]:
    """Return the frames of some objects of one stream, without a fault."""
    others = {"stream": stream}
    found: list[Frame] = []
    for number in range(count):
        content = random.randbytes(random.choice([1, 32, 33, 14, random.randrange(1, 2000)]))
        raw = random.random() < 0.5
        for at in range(0, len(content), part):
            last = at + part >= len(content)
            flags = (at == 0) * FIRST | last * LAST
            payload = content[at : at + part]
            if raw:
                payload = payload.ljust(14, b"\xee")
            found.append(
                Frame(
                    len(found), number, at or len(content), flags, payload, raw=raw, others=others
                )
            )
    return found


def mixed(streams: list[list[Frame]]) -> list[Frame]:
    """Return frames of several streams in any order, each stream's in its own."""
    turns = [stream for stream, sent in enumerate(streams) for _ in sent]
    random.shuffle(turns)
    left = [iter(sent) for sent in streams]
    return [next(left[stream]) for stream in turns]


def spoil(sent: list[Frame]) -> list[Frame]:
    """Return frames as a bad network and a bad sender make them: lost, doubled, late, wrong."""
    found: list[Frame] = []
    for frame in sent:
        fate = random.random()
        if fate < 0.1:
            continue
        found.append(frame)
        if fate < 0.2:
            found.append(random.choice(found[-80:]))
        elif fate < 0.3 and len(found) > 1:
            # What overtakes others makes them late, so seldom many.
            place = len(found) - random.choice([2, 2, 2, 3, 5])
            found.insert(max(place, 0), found.pop())
        elif fate < 0.4:
            wrong = random.choice(
                [
                    {"others": {**frame.others, "magic": 1}},
                    {"others": {**frame.others, "version": 1}},
                    {"others": {**frame.others, "reserved": 1 << random.randrange(8)}},
                    {"others": {"stream": STREAM + STREAMS ^ 1 << random.randrange(4, 16)}},
                    {"flags": frame.flags | random.choice([4, 8])},
                    {"payload": b""},
                    {"place": random.choice([0, WORD - 1, frame.place + 1])},
                    {"number": frame.number ^ 1 << random.randrange(64)},
                ]
            )
            found[-1] = Frame(**{**frame.__dict__, **wrong})
    return found


@cocotb.test()
async def silence_ends_an_extent(dut) -> None:
    """After `cfg_idle` cycles between frames, not before, and never in the middle of one."""
    bench = Bench(dut)
    await bench.start()
    idle = 12
    dut.cfg_idle.value = idle
    payload = random.randbytes(200)
    falls = 0

    async def watch() -> None:
        nonlocal falls
        while True:
            await FallingEdge(dut.m_within)
            falls += 1

    cocotb.start_soon(watch())
    for number in range(6):
        flags, place = (FIRST, 2000) if number == 0 else (0, 200 * number)
        # With pauses in the middle of it that are longer.
        await bench.send(Frame(number, 7, place, flags, payload), 0.95, before=False)
        await harness.step(dut.clk, idle - 2 if number != 2 else idle + 3)
        assert dut.m_within.value == (number != 2)
    assert falls == 1
    assert bench.extents == [[3 * payload, None], [3 * payload, None]]
    await harness.step(dut.clk, 4)
    heads = [bytes(bench.heads.recv_nowait().tdata) for _ in bench.extents]
    # Nothing is missing before the second one, which goes on where the first ended.
    places = [int.from_bytes(head[spec.FRAMING_PLACE_AT :][:8], "little") for head in heads]
    assert places == [2000, 600] and not any(any(head[HEADER : HEADER + 8]) for head in heads)


@cocotb.test()
@cocotb.parametrize(size=[20, 200, 3000])
async def refused_frames_keep_nothing_open(dut, size: int) -> None:
    """An extent ends after `cfg_idle` cycles without a frame that is taken, whatever is refused."""
    bench = Bench(dut)
    await bench.start()
    dut.cfg_idle.value = 12
    first = Frame(0, 7, 4000, FIRST, random.randbytes(200))
    await bench.send(first, before=False)
    assert dut.m_within.value == 1
    twice = Frame(0, 7, 4000, FIRST, random.randbytes(size))
    began = harness.cycle()
    # The cycle in which a header is looked at does not count.
    while harness.cycle() - began < 28:
        assert dut.m_within.value == 1 or harness.cycle() - began > 12
        await bench.send(twice, before=False)
    await harness.step(dut.clk, 2)
    assert dut.m_within.value == 0
    # In the middle of one that is taken nothing ends, however long that takes.
    await bench.send(Frame(1, 7, 200, 0, random.randbytes(3000)), 0.95, before=False)
    assert dut.m_within.value == 1


@cocotb.test()
async def what_is_open_is_forgotten(dut) -> None:
    """After `forget` the object goes on in an extent of its own, with nothing missing before."""
    bench = Bench(dut)
    await bench.start()
    payload = random.randbytes(200)
    for number in range(4):
        flags, place = (FIRST, 2000) if number == 0 else (0, 200 * number)
        await bench.send(Frame(number, 7, place, flags, payload), 0.0, before=False)
        await harness.step(dut.clk, 2)
        assert dut.m_within.value == 1
        if number == 1:
            dut.forget.value = 1
            await harness.step(dut.clk)
            dut.forget.value = 0
            await harness.step(dut.clk)
            assert dut.m_within.value == 0
    await harness.step(dut.clk, 4)
    assert bench.extents == [[2 * payload, None], [2 * payload, None]]
    heads = [bytes(bench.heads.recv_nowait().tdata) for _ in bench.extents]
    places = [int.from_bytes(head[spec.FRAMING_PLACE_AT :][:8], "little") for head in heads]
    assert places == [2000, 400] and not any(any(head[HEADER : HEADER + 8]) for head in heads)


@cocotb.test()
async def whole_objects(dut) -> None:
    """Without a fault each object is one extent, and what fills a short frame is cut off."""
    bench = Bench(dut)
    await bench.start()
    rule = await bench.follow(objects(60))
    assert len(rule.extents) == 60 and all(extent[-1] == WHOLE for extent in rule.extents)


@cocotb.test()
@cocotb.parametrize(ready=[1.0, 0.5], base=[0, NUMBERS - 40])
async def any_faults(dut, ready: float, base: int) -> None:
    """Lost, doubled, reordered and wrong frames are judged by the rule, also where numbers wrap."""
    bench = Bench(dut)
    await bench.start()
    bench.ready = ready
    if ready < 1:
        harness.stall(bench.heads, 0.5)
    sent = objects(150)
    for frame in sent:
        frame.sequence = (frame.sequence + base) % NUMBERS
    rule = await bench.follow(spoil(sent), 0.0 if ready == 1 else 0.3)
    often = {spec.PLACE_DELIVERED, spec.PLACE_HEADER, spec.PLACE_DUPLICATE, spec.PLACE_LATE}
    assert {*rule.places} >= often
    assert {extent[-1] for extent in rule.extents} >= {WHOLE, None}


@cocotb.test()
@cocotb.parametrize(ready=[1.0, 0.5])
async def streams_by_themselves(dut, ready: float) -> None:
    """The faults of a stream are its own: the others' frames in between change no verdict."""
    bench = Bench(dut)
    await bench.start()
    bench.ready = ready
    each = [spoil(objects(60, stream=STREAM + n)) for n in range(STREAMS - 1)]
    # The last one has no fault, in an epoch of its own.
    each.append(objects(60, stream=STREAM + STREAMS - 1))
    for frame in each[-1]:
        frame.epoch = 9
    sent = mixed(each)
    rule = await bench.follow(sent, 0.0 if ready == 1 else 0.3)
    for alone in each:
        lone = Rule()
        for frame in alone:
            lone.take(frame)
        # The same frame may stand there twice: it is told by which it is, not by what it says.
        of = {id(frame) for frame in alone}
        places = [place for place, frame in zip(rule.places, sent, strict=True) if id(frame) in of]
        assert places == lone.places
    assert {extent[-1] for extent in rule.extents} == {WHOLE, PART, LAST_PART, None}


@cocotb.test()
async def an_object_in_parts(dut) -> None:
    """An object that others interrupt goes on without a gap, and what fills its end is cut off."""
    bench = Bench(dut)
    await bench.start()
    part, content = 20, random.randbytes(20 * 12 + 5)
    sent, parts = [], 1
    for number, at in enumerate(range(0, len(content), part)):
        flags = (at == 0) * FIRST | (at + part > len(content)) * LAST
        payload = content[at : at + part].ljust(14, b"\xee")
        sent.append(Frame(number, 3, at or len(content), flags, payload, raw=True))
        if number in (4, 5, 11):
            others = {"stream": STREAM + 1}
            sent.append(Frame(parts, parts, 30, FIRST | LAST, bytes(30), others=others))
            parts += 1
    rule = await bench.follow(sent)
    ours = [extent for extent in rule.extents if extent[0][6] == STREAM]
    assert [len(extent[3]) for extent in ours] == [100, 20, 120, 5]
    # Nothing is missing, and no part is a whole object: the last ends with the flag.
    assert [extent[1] for extent in ours] == [0, 0, 0, 0]
    assert [extent[-1] for extent in ours] == [None, None, None, LAST_PART]
    assert b"".join(extent[3] for extent in ours) == content
    assert len(rule.extents) == len(ours) + 3


@cocotb.test()
async def far_jumps(dut) -> None:
    """Jumps by any power of two, forth and back, change what is due as the rule says."""
    bench = Bench(dut)
    await bench.start()
    number, sent = 1000, []
    for _ in range(150):
        step = random.choice([1, -1]) << random.randrange(32)
        number = (number + random.choice([0, step, 63, 64, 65, -63, -64, -65])) % NUMBERS
        sent.append(Frame(number, 7, 40, FIRST | LAST, random.randbytes(40)))
        number = (number + 1) % NUMBERS
    rule = await bench.follow(sent)
    assert spec.PLACE_OLD in rule.places and spec.PLACE_DELIVERED in rule.places[1:]


@cocotb.test()
async def sender_begins_anew(dut) -> None:
    """Another epoch breaks off the open object, whatever number it begins with."""
    bench = Bench(dut)
    await bench.start()
    before, after = objects(1, part=10)[:-1] or [Frame(0, 0, 99, FIRST, b"x")], objects(3)
    for frame in after:
        frame.epoch = 2
    rule = await bench.follow(before + after)
    assert rule.extents[0][-1] is None
    assert [extent[1] for extent in rule.extents] == [0, 0, 0, 0]


def small(epoch: int, sequence: int, count: int, stream: int = STREAM) -> list[Frame]:
    """Return small objects of a frame each."""
    others, payload = {"stream": stream}, random.randbytes(random.choice([20, 20, 100]))
    numbers = [(sequence + n) % NUMBERS for n in range(count)]
    return [
        Frame(number, number, len(payload), FIRST | LAST, payload, epoch=epoch, others=others)
        for number in numbers
    ]


@cocotb.test()
async def a_thousand_restarts(dut) -> None:
    """Random epochs and numbers: no frame of a sender that begins anew is refused."""
    bench = Bench(dut)
    await bench.start()
    # The last two of each stream: the one before comes late.
    sent, epochs = [], {stream: deque([0], 2) for stream in range(STREAM, STREAM + 2)}
    for _ in range(1000):
        stream = random.choice(list(epochs))
        # Near the last one as well, forth and back, and far away.
        near = (epochs[stream][-1] + random.choice([-3, -1, 1])) % NUMBERS
        epoch = random.choice([near, random.getrandbits(32)])
        while epoch in epochs[stream]:
            epoch = random.getrandbits(32)
        epochs[stream].append(epoch)
        begin = random.choice([0, NUMBERS - 1, random.getrandbits(32)])
        sent += small(epoch, begin, random.choice([1, 2, 3]), stream)
    rule = await bench.follow(sent)
    assert set(rule.places) == {spec.PLACE_DELIVERED}


@cocotb.test()
async def two_in_a_row_begin_anew(dut) -> None:
    """A stream goes on at the second of two old frames in a row, whatever made them old."""
    bench = Bench(dut)
    await bench.start()
    far, taken, old = 2**31 - 1, spec.PLACE_DELIVERED, spec.PLACE_OLD
    turns = [
        (small(1, 100, 3), [taken] * 3),
        (small(1, 102 + far, 1), [taken]),  # far ahead: the one behind it is lost
        (small(1, 103, 4), [old, taken, taken, taken]),
        (small(2, 7, 2), [taken] * 2),
        (small(1, 107, 1), [old]),  # of the epoch before: late
        (small(2, 9, 1), [taken]),
        (small(1, 108, 1), [old]),  # it follows the other, but one was taken between
        (small(1, 110, 1), [old]),  # not in a row
        (small(1, 111, 2), [taken, taken]),  # the sender is back
        (small(2, 10, 1), [old]),
        (small(1, 113, 1), [taken]),
        (small(1, 0, 3), [old, taken, taken]),  # begun anew with the same epoch
        (small(1, 1, 2), [spec.PLACE_DUPLICATE] * 2),  # not behind all that are remembered
        (small(1, 2**32 - 100, 1), [old]),
        (small(1, 2**32 - 98, 1), [old]),
        (small(1, 2**32 - 97, 1), [taken]),
    ]
    rule = await bench.follow([frame for frames, _ in turns for frame in frames])
    assert rule.places == [place for _, places in turns for place in places]
    gaps = {extent[1] for extent in rule.extents}
    assert gaps == {0, far - 1}, gaps


@cocotb.test()
@cocotb.parametrize(ready=[1.0, 0.5])
async def epochs_in_any_order(dut, ready: float) -> None:
    """A few epochs and numbers in any order, of several streams, are judged by the rule."""
    bench = Bench(dut)
    await bench.start()
    bench.ready = ready
    each = []
    for stream in range(STREAM, STREAM + 3):
        sent = []
        for _ in range(150):
            epoch, base = random.choice([1, 1, 1, 2, 3]), random.choice([0, 0, 1000, 2**31])
            sent += small(epoch, base + random.randrange(4), random.choice([1, 1, 2, 3]), stream)
        each.append(sent)
    rule = await bench.follow(mixed(each), 0.0 if ready == 1 else 0.3)
    assert {*rule.places} >= {spec.PLACE_DELIVERED, spec.PLACE_OLD, spec.PLACE_DUPLICATE}


@cocotb.test()
async def two_cycles_a_frame(dut) -> None:
    """Frames of one beat take two cycles, those refused as well."""
    bench = Bench(dut)
    await bench.start()
    sent = [Frame(n, 0, 20 * n or 4000, (n == 0) * FIRST, bytes(20)) for n in range(100)]
    began = harness.cycle()
    for frame in sent + sent[-60:]:
        await bench.send(frame)
    assert harness.cycle() - began == 2 * 160


@cocotb.test()
async def reset_in_mid_frame(dut) -> None:
    """A reset forgets stream, extent and refused frame: what comes next is the first of all."""
    bench = Bench(dut)
    await bench.start()
    for _ in range(5):
        for frame in small(1, 1000, 1) + small(1, 0, 1):
            await bench.send(frame)
        sender = cocotb.start_soon(bench.send(Frame(9, 1, 5000, FIRST, bytes(2000))))
        await harness.step(dut.clk, random.randrange(2, 20))
        sender.cancel()
        dut.s_valid.value = 0
        await harness.reset(dut)
        bench.heads.clear()
        bench.extents.clear()
        bench.places.clear()
        await bench.follow(objects(3))
        bench.extents.clear()
        bench.places.clear()


@harness.provocation
async def withdraw(dut) -> None:
    """The stream checker is awake."""
    bench = Bench(dut)
    await bench.start()
    await harness.withdraw(dut.clk, dut.u_check_head)


def test_sequence() -> None:
    """Run all coroutines."""
    simulate(__file__, "fb_net_reassembly")


def test_checker_fires() -> None:
    """The stream checker fires."""
    message = "m_axis_head: valid fell"
    simulate(__file__, "fb_net_reassembly", fires={"withdraw": message})
