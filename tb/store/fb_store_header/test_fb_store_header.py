# SPDX-License-Identifier: Apache-2.0
"""fb_store_header against forebay-spec byte by byte, and what tarfile and json make of it."""

from __future__ import annotations

import io
import itertools
import json
import os
import random
import struct
import subprocess
import tarfile
import uuid
from collections.abc import Callable
from dataclasses import dataclass

import cocotb
import numpy as np
import pytest
from cocotb.triggers import FallingEdge, with_timeout
from cocotbext.axi import AxiStreamSink

import forms
import harness
import structs
from forebay.filelist import ROOT
from forebay.store.schema import Column
from runner import simulate

PAGE = 4096
BLOCK = 512
JSON_BYTES = 3072
FORM = forms.chosen()
USUAL = forms.read(forms.USUAL) == FORM
RESULT_BYTES = max(sum(of.bytes for of in FORM.results), 1)
PATIENCE_US = 20 if USUAL else 60
MOST = {1: 488, 2: 304, 4: 224}  # cycles of a page, by DigitBits
MOST_SMALL = {1: 345, 2: 225, 4: 165}  # of the header of a small object
SCORES = [0x0000_0000, 0x8000_0000, 0x0000_0001, 0x8000_0001, 0x007F_FFFF, 0x7F80_0000, 0xFF80_0000]
SCORES += [0x7FC0_0000, 0xFFFF_FFFF, 0x7F7F_FFFF, 0x4B18_9680, 0x4B18_967F, 0xCB18_967F]
SCORES += [
    0x4B00_0000,
    0x3F7F_FFFF,
    0x3F80_0000,
    0xBF50_0000,
    0x3333_3333,
    0x1F80_0000,
    0x2000_0000,
]


@dataclass(frozen=True)
class Facts:
    """What a page says, but for session and extension."""

    stream: int
    object: int
    offset: int
    length: int
    whole: int
    missing: int
    sequence: int
    epoch: int
    time: int
    crc32c: int
    nonce: int
    result: int | None  # its columns one behind the other, the first lowest

    def pack(self) -> int:
        """Return the port's vector; what does not count is noise."""
        result = any_result() if self.result is None else self.result
        return structs.pack(
            "facts_t",
            stream=self.stream,
            object=self.object,
            offset=self.offset,
            length=self.length,
            whole=self.whole,
            missing=self.missing,
            sequence_=self.sequence,
            epoch=self.epoch,
            time_=self.time,
            seconds=self.time // 10**9 % (1 << 34),
            crc32c=self.crc32c,
            nonce=self.nonce,
            has_result=self.result is not None,
            result=result,
        )

    def line(self, session: bytes, extension: str) -> str:
        """Return what the example `page` of forebay-spec reads."""
        numbers = [self.stream, self.object, self.offset, self.length, self.whole, self.missing]
        numbers += [self.sequence, self.epoch, self.time, self.crc32c, self.nonce]
        bits = "-" if self.result is None else self.result.to_bytes(RESULT_BYTES, "little").hex()
        words = [session.hex(), extension, *map(str, numbers), bits]
        return " ".join(words) + "\n"


def number(bits: int) -> int:
    """Return a random number that is often short, or the least or the greatest there is."""
    kind = random.randrange(8)
    if kind < 2:
        return ((1 << bits) - 1) * kind
    if kind == 2:
        return min(10 ** random.randrange(20) - random.getrandbits(1), (1 << bits) - 1)
    return random.getrandbits(random.randrange(1, bits + 1))


def single() -> int:
    """Return the bits of a single, often one that has digits to show."""
    if random.random() < 0.4:
        bits = struct.pack("<f", random.uniform(-1, 1) * 10 ** random.randrange(-7, 8))
        return int.from_bytes(bits, "little")
    return random.choice([*SCORES, random.getrandbits(32), random.getrandbits(32)])


def result_of(value: Callable[[Column, int], int]) -> int:
    """Return a result whose values, of N bits each, are what `value` says."""
    word, at = 0, 0
    for of in FORM.results:
        for bits in forms.value_bits(of):
            word |= value(of, bits) << at
            at += bits
    return word


def any_result() -> int:
    """Return a result of which nothing is excluded."""
    return result_of(lambda of, bits: single() if of.kind == "f32" else number(bits))


def random_facts(**fixed: object) -> Facts:
    """Return facts of which nothing is excluded."""
    values = {
        "stream": number(16),
        "object": number(64),
        "offset": number(64),
        "length": number(32),
        "whole": random.getrandbits(1),
        "missing": number(32),
        "sequence": number(32),
        "epoch": number(32),
        "time": number(64),
        "crc32c": number(32),
        "nonce": number(64) if FORM.cipher else 0,
        "result": any_result() if random.random() < 0.8 else None,
    }
    return Facts(**values | fixed)


def reference(lines: list[str], small: bool) -> list[bytes]:
    """Return the pages, or headers of small objects, that forebay-spec makes of facts."""
    command = ["cargo", "run", "-q", "-p", "forebay-spec", "--example", "page"]
    command += ["--", "small" if small else "page", os.environ.get("FORM", forms.USUAL)]
    size = BLOCK if small else PAGE
    text = "".join(lines).encode()
    done = subprocess.run(command, cwd=ROOT, input=text, stdout=subprocess.PIPE, check=True)
    assert len(done.stdout) == size * len(lines)
    return [done.stdout[at : at + size] for at in range(0, len(done.stdout), size)]


def look_at_header(header: bytes, facts: Facts, session: bytes, extension: str) -> tarfile.TarInfo:
    """Let tarfile say what is in the header of a payload, and compare that with the facts."""
    name = f"{uuid.UUID(bytes=session)}/{facts.stream:05}/{facts.object:020}"
    if not facts.whole:
        name += f"@{facts.offset:020}"
    with tarfile.open(fileobj=io.BytesIO(header + bytes(facts.length % 1000 + PAGE))) as tar:
        member = tar.next()
        assert (member.name, member.size) == (f"{name}.{extension}", facts.length)
        assert member.mtime == facts.time // 10**9 % (1 << 33)
        return member


def look_with_others(page: bytes, facts: Facts, session: bytes, extension: str) -> None:
    """Let tarfile and json say what is in a page, and compare that with the facts."""
    name = f"{uuid.UUID(bytes=session)}/{facts.stream:05}/{facts.object:020}"
    if not facts.whole:
        name += f"@{facts.offset:020}"
    with tarfile.open(fileobj=io.BytesIO(page[:-512] + page[:512] + bytes(PAGE))) as tar:
        member = tar.next()
        assert (member.name, member.size) == (f"{name}.json", JSON_BYTES)
        assert member.mtime == facts.time // 10**9 % (1 << 33)
        said = json.loads(tar.extractfile(member).read())
    look_at_header(page[-BLOCK:], facts, session, extension)
    look_at_result({of.name: said.pop(of.name) for of in FORM.results}, facts.result)
    assert said == {
        "object": facts.object,
        "stream": facts.stream,
        "offset": facts.offset,
        "length": facts.length,
        "whole": bool(facts.whole),
        "missing": facts.missing,
        "sequence": facts.sequence,
        "epoch": facts.epoch,
        "time_ns": facts.time,
        "crc32c": f"{facts.crc32c:08x}",
        **({"nonce": facts.nonce} if FORM.cipher else {}),
    }


def look_at_result(said: dict[str, object], result: int | None) -> None:
    """Compare what json has read of a result with its columns."""
    if result is None:
        assert set(said.values()) <= {None}
        return
    data, at = result.to_bytes(RESULT_BYTES, "little"), 0
    for of in FORM.results:
        own, at = data[at : at + of.bytes], at + of.bytes
        found = said[of.name]
        if of.kind == "bytes":
            assert found == own.hex()
            continue
        due = np.frombuffer(own, of.dtype).tolist()
        for value, was in zip(found if of.is_list else [found], due, strict=True):
            if of.kind != "f32":
                assert value == was
            elif not abs(was) < 1e7:
                assert value is None
            else:
                # Rounded to six digits in steps of 2^-32, and by Python to a double.
                assert abs(value - was) <= 0.502e-6


class Bench:
    """Facts in, pages out."""

    def __init__(self, dut, small: bool = False) -> None:
        self.dut = dut
        self.sink = harness.axi_stream(AxiStreamSink, dut, "m_axis_page")
        self.session, self.extension = bytes(16), "bin"
        self.small = small

    async def start(self, extension: str = "bin") -> None:
        """Reset with a random session."""
        dut, self.extension = self.dut, extension
        self.session = random.randbytes(16)
        dut.cfg_small.value = self.small
        dut.cfg_session.value = int.from_bytes(self.session, "little")
        dut.cfg_extension.value = int.from_bytes(extension.encode(), "little")
        harness.clear(dut, "s_facts_*")
        await harness.start(dut)

    async def offer(self, many: list[Facts], idle: float) -> None:
        """Put facts on the port one after the other."""
        dut = self.dut
        for facts in many:
            while random.random() < idle:
                await harness.step(dut.clk, random.randrange(200))
            dut.s_facts_tvalid.value, dut.s_facts_tdata.value = 1, facts.pack()
            await harness.until(dut.clk, dut.s_facts_tready)
            await harness.step(dut.clk)
            dut.s_facts_tvalid.value = 0
            dut.s_facts_tdata.value = random.getrandbits(len(dut.s_facts_tdata))

    async def check(self, many: list[Facts], idle: float = 0.0) -> None:
        """Compare pages with those of forebay-spec, and with what others read in them."""
        wanted = reference([facts.line(self.session, self.extension) for facts in many], self.small)
        offering = cocotb.start_soon(self.offer(many, idle))
        for facts, page in zip(many, wanted, strict=True):
            frame = await with_timeout(self.sink.recv(), PATIENCE_US, "us")
            found = bytes(frame.tdata)
            assert found == page, first_difference(found, page)
            if self.small:
                member = look_at_header(found, facts, self.session, self.extension)
                owner = (int(member.uname), int(member.gname, 16))
                assert owner == (facts.time, facts.crc32c)
            else:
                look_with_others(found, facts, self.session, self.extension)
        await offering


def first_difference(found: bytes, wanted: bytes) -> str:
    """Return where two pages differ, and how, with what is around."""
    if len(found) != len(wanted):
        return f"{len(found)} bytes"
    at = next(n for n in range(len(wanted)) if found[n] != wanted[n])
    around = slice(max(at - 30, 0), at + 30)
    return f"byte {at}: {found[around]!r} where {wanted[around]!r} is due"


@cocotb.test()
@cocotb.parametrize(
    (("idle", "stall"), [(0.0, 0.0), (0.7, 0.0), (0.0, 0.5), (0.5, 0.9)]), small=[False, True]
)
async def random_pages(dut, idle: float, stall: float, small: bool) -> None:
    """Pages of any facts are those of forebay-spec, whichever side waits for the other."""
    bench = Bench(dut, small)
    await bench.start(random.choice(["b", "tif", "jpeg", "a-~."]))
    harness.stall(bench.sink, stall)
    await bench.check([random_facts() for _ in range(harness.repeat(60, 20))], idle)


@cocotb.test()
@cocotb.parametrize(small=[False, True])
async def edges(dut, small: bool) -> None:
    """Numbers of 0 and the greatest ones; each score that is odd."""
    bench = Bench(dut, small)
    await bench.start()
    names = ("stream", "object", "offset", "length", "missing", "sequence", "epoch", "crc32c")
    widths = dict(zip(names, (16, 64, 64, 32, 32, 32, 32, 32), strict=True)) | {"time": 64}
    many = []
    for whole in (0, 1):
        for full in (0, 1):
            fixed = {name: ((1 << bits) - 1) * full for name, bits in widths.items()}
            many.append(random_facts(whole=whole, result=None, **fixed))
            result = result_of(lambda of, bits, full=full: ((1 << bits) - 1) * full)
            many.append(random_facts(whole=whole, result=result, **fixed))
    for score in SCORES:
        result = result_of(
            lambda of, bits, score=score: score if of.kind == "f32" else number(bits)
        )
        many.append(random_facts(result=result))
    await bench.check(many)


@cocotb.test()
async def in_turn(dut) -> None:
    """Small objects, and then others: what was made before leaves nothing behind."""
    bench = Bench(dut)
    await bench.start()
    for turn in range(6):
        bench.small = dut.cfg_small.value = turn % 2 == 1
        await bench.check([random_facts() for _ in range(3)])
        await harness.step(dut.clk, random.randrange(3, 50))


@cocotb.test()
@cocotb.parametrize(small=[False, True])
async def rate(dut, small: bool) -> None:
    """Pages follow each other in as many cycles as the header says."""
    bench = Bench(dut, small)
    await bench.start()
    beats: list[int] = []
    ports = (dut.m_axis_page_tvalid, dut.m_axis_page_tready)
    cocotb.start_soon(harness.record(dut.clk, *ports, beats))
    last = (BLOCK if bench.small else PAGE) // 64 - 1
    begun = harness.cycle()
    full = (1 << 64) - 1
    tiny = result_of(lambda of, bits: 0x2000_0000 if of.kind == "f32" else 1)
    await bench.check([random_facts(object=full, time=full, result=tiny)] * 20)
    intervals = [later - earlier for earlier, later in itertools.pairwise(beats[last :: last + 1])]
    delays = [beats[0] - begun, beats[last] - begun]
    dut._log.info("first page after %s cycles, then one in %s", delays, intervals)
    if USUAL:
        most = MOST_SMALL if bench.small else MOST
        assert max(intervals) <= most[int(dut.DigitBits.value)]


@cocotb.test()
@cocotb.parametrize(small=[False, True])
async def reset_in_page(dut, small: bool) -> None:
    """A reset forgets the page that leaves and the fields of the next one."""
    bench = Bench(dut, small)
    await bench.start()
    for cycles in (3, 100, 150, 200, 300, 400, 450):
        offering = cocotb.start_soon(bench.offer([random_facts() for _ in range(4)], 0.0))
        await harness.step(dut.clk, cycles + random.randrange(40))
        offering.cancel()
        dut.s_facts_tvalid.value = 0
        await harness.reset(dut, 2)
        await FallingEdge(dut.clk)
        assert dut.m_axis_page_tvalid.value == 0
        await harness.step(dut.clk, 2)
        bench.sink.clear()
        await bench.check([random_facts(), random_facts()])


@harness.provocation
async def third_page(dut) -> None:
    """Fields that come while a page waits must be noticed."""
    bench = Bench(dut)
    await bench.start()
    cocotb.start_soon(bench.offer([random_facts()], 0.0))
    await harness.until(dut.clk, dut.head_done)
    for _ in range(3):
        dut.due_q.value = 1
        await FallingEdge(dut.clk)


@harness.provocation
async def withdraw_page(dut) -> None:
    """The output's stream checker is connected."""
    await Bench(dut).start()
    await harness.withdraw(dut.clk, dut.u_check_page)


@harness.provocation
async def withdraw_facts(dut) -> None:
    """The input's stream checker is connected."""
    await Bench(dut).start()
    await harness.withdraw(dut.clk, dut.u_check_facts)


def run(bits: int, **options: object) -> None:
    """Build the module for this number of bits a cycle and simulate it."""
    simulate(__file__, "fb_store_header", {"DigitBits": bits}, **options)


def test_page() -> None:
    """Run all coroutines."""
    run(4)


@pytest.mark.nightly
@pytest.mark.parametrize("bits", [1, 2])
def test_fewer_bits_in_a_cycle(bits: int) -> None:
    """Run all coroutines where digits take longer."""
    run(bits)


@pytest.mark.parametrize("form", [forms.MANY, forms.LONG, forms.WIDE, forms.ENCRYPTED, forms.NONE])
def test_other_results(form: str) -> None:
    """Pages of recordings whose results have other columns, or none."""
    forms.simulate(__file__, "fb_store_header", form)


@pytest.mark.nightly
@pytest.mark.parametrize("bits", [1, 2])
def test_slower_digits(bits: int) -> None:
    """The same with fewer bits of a number in a cycle."""
    run(bits)


def test_assertion_fires() -> None:
    """Each assertion fires."""
    run(
        4,
        fires={
            "third_page": "page_is_taken",
            "withdraw_page": "m_axis_page: valid fell",
            "withdraw_facts": "s_facts: valid fell",
        },
    )
