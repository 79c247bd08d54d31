# SPDX-License-Identifier: Apache-2.0
"""fb_common_seq against an interpreter of its instructions, and against what each has to do."""

from __future__ import annotations

import itertools
import os
import random
import subprocess
from collections.abc import Iterable, Iterator

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge, with_timeout

import harness
import sequencer as seq
from forebay.filelist import ROOT
from runner import simulate

CLOCKS = 20  # of a microsecond
ZERO = [(False, 0)]
LIMIT_NS = 200_000  # no program here takes as long
POLL = 6  # cycles of a loop that looks at the timer


class Bench:
    """The ROM, what answers accesses, and the console; each with random delays."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.words = [seq.STOP]
        self.answers: Iterator[tuple[bool, int]] = iter(())
        self.outcome = seq.Outcome()
        self.tasks = []
        self.stalled = False  # nothing is taken or answered
        self.eager = False  # all is taken at once

    async def start(self) -> None:
        """Reset with idle inputs."""
        harness.clear(self.dut, "go", "rom_data", "m_ready", "s_*", "c_ready")
        await harness.start(self.dut)
        self._serve()

    async def reset(self) -> None:
        """Reset the sequencer and all around it."""
        for task in self.tasks:
            task.cancel()
        harness.clear(self.dut, "go", "m_ready", "s_*", "c_ready")
        await harness.reset(self.dut, random.randint(1, 3))
        self._serve()

    def _serve(self) -> None:
        self.tasks = [cocotb.start_soon(each()) for each in (self._rom, self._port, self._console)]

    def load(self, words: list[int], answers: Iterable[tuple[bool, int]]) -> None:
        """Put a program into the ROM."""
        self.words, self.answers, self.outcome = words, iter(answers), seq.Outcome()
        self.dut.rom_data.value = self._word()

    def _word(self) -> int:
        at = int(self.dut.rom_addr.value)
        return self.words[at] if at < len(self.words) else seq.STOP

    async def _rom(self) -> None:
        while True:
            await self.dut.rom_addr.value_change
            await RisingEdge(self.dut.clk)
            self.dut.rom_data.value = self._word()

    async def _take(self, valid, ready) -> None:
        """Take what is offered, at once or later; return in the middle of that cycle."""
        at_once = self.eager or (random.random() < 0.3 and not self.stalled)
        ready.value = at_once
        await RisingEdge(valid)
        if not at_once:
            await harness.step(self.dut.clk, random.choice([0, 0, 1, 2, 5]))
            while self.stalled:
                await harness.step(self.dut.clk)
            ready.value = 1
        await FallingEdge(self.dut.clk)
        assert harness.high(valid)

    async def _port(self) -> None:
        dut = self.dut
        while True:
            await self._take(dut.m_valid, dut.m_ready)
            write, wide = harness.high(dut.m_write), harness.high(dut.m_wide)
            event = ("write" if write else "read", wide, int(dut.m_space.value))
            event += (int(dut.m_addr.value),)
            if write:
                event += (int(dut.m_wdata.value) & (seq.MASK if wide else 2**32 - 1),)
            self.outcome.events.append(event)
            failed, value = next(self.answers)
            await harness.step(dut.clk)
            dut.m_ready.value = random.random() < 0.5
            await harness.step(dut.clk, random.choice([0, 0, 1, 2, 9]))
            # What does not count is anything.
            dut.s_valid.value, dut.s_error.value = 1, failed
            dut.s_rdata.value = value if wide else value & 2**32 - 1 | random.getrandbits(32) << 32
            await harness.step(dut.clk)
            dut.s_valid.value, dut.s_error.value = 0, random.random() < 0.5
            dut.s_rdata.value = random.getrandbits(64)

    async def _console(self) -> None:
        dut = self.dut
        while True:
            await self._take(dut.c_valid, dut.c_ready)
            self.outcome.events.append(("character", int(dut.c_data.value)))
            await harness.step(dut.clk)

    async def ended(self) -> seq.Outcome:
        """Wait for the program's end and let `go` fall; return what it did."""
        dut = self.dut
        if not harness.high(dut.ended):
            await with_timeout(RisingEdge(dut.ended), LIMIT_NS, "ns")
        await FallingEdge(dut.clk)
        assert dut.running.value == 0
        self.outcome.code, self.outcome.place = int(dut.code.value), int(dut.place.value)
        await harness.step(dut.clk)
        dut.go.value = 0
        await harness.step(dut.clk, 2)
        return self.outcome

    async def run(
        self, words: list[int], answers: Iterable[tuple[bool, int]] = ZERO
    ) -> seq.Outcome:
        """Run a program, with these answers over and over, and the interpreter, too."""
        answers = list(answers)
        self.load(words, itertools.cycle(answers))
        self.dut.go.value = 1
        outcome = await self.ended()
        expected = seq.Interpreter(words, itertools.cycle(answers)).run()
        assert outcome.events == expected.events
        assert (outcome.code, outcome.place) == (expected.code, expected.place)
        return outcome

    async def results(self, *parts: list[int], registers: Iterable[int] = (1,)) -> list[int]:
        """Run words, and return what registers hold then."""
        words = [*itertools.chain(*parts)]
        words += [seq.access("st64", register, 0, 0) for register in registers]
        return (await self.run([*words, seq.STOP])).stored


async def bench(dut) -> Bench:
    """Start a bench."""
    made = Bench(dut)
    await made.start()
    return made


@cocotb.test()
async def random_programs(dut) -> None:
    """Accesses, characters, registers and the end are the interpreter's; each word occurs."""
    made = await bench(dut)
    executed: set[int] = set()
    for _ in range(harness.repeat(2000, 40)):
        words = seq.program()
        answers = [(random.random() < 0.15, seq.number_of(64)) for _ in range(37)]
        interpreter = seq.Interpreter(words, itertools.cycle(answers))
        interpreter.run()
        executed |= interpreter.executed
        await made.run(words, answers)
    known = {*range(0x02), *range(0x04, 0x1D), *range(0x20, 0x24), 0x3E, 0x3F}
    assert known - executed <= {0x22}, f"not drawn: {known - executed}"


@cocotb.test()
async def arithmetic(dut) -> None:
    """Every operation at its edges: all ones, no carry, r0, the signs of numbers."""
    made = await bench(dut)
    low, high = 0x0123456789ABCDEF, 0xF0F0F0F0F0F0F0F0
    operands = [*seq.load(2, low), *seq.load(3, high)]

    async def result(*words: int) -> int:
        (value,) = await made.results(operands, [*words])
        return value

    for name, expected in {
        "add": low + high & seq.MASK,
        "sub": low - high & seq.MASK,
        "and": low & high,
        "or": low | high,
        "xor": low ^ high,
        "andn": low & ~high,
    }.items():
        assert await result(seq.alu(name, 1, 2, 3)) == expected
    assert await result(seq.alu("add", 1, 2, number=-16384)) == low - 16384
    assert await result(seq.alu("sub", 1, 2, number=16383)) == low - 16383
    assert await result(seq.alu("and", 1, 2, number=-2)) == low - 1
    assert await result(seq.alu("sub", 1, 0, number=1)) == seq.MASK
    assert await result(seq.li(1, -1), seq.alu("add", 1, 1, number=1)) == 0
    # r0 keeps reading 0; registers begin as 0.
    assert await result(seq.li(0, 5), seq.alu("add", 1, 0, 0)) == 0
    assert await result(seq.alu("add", 1, 9, 15)) == 0
    for places in (0, 1, 63):
        assert await result(seq.shift("shl", 1, 3, places)) == high << places & seq.MASK
        assert await result(seq.shift("shr", 1, 3, places)) == high >> places


@cocotb.test()
async def numbers(dut) -> None:
    """`li` extends the sign; `ins` leaves the other quarters alone."""
    made = await bench(dut)
    for number in (0, 1, 2**21 - 1, -(2**21), -1):
        assert await made.results([seq.li(1, number)]) == [number & seq.MASK]
    for quarter in range(4):
        words = [seq.li(1, -1), seq.ins(1, quarter, 0x1234)]
        expected = seq.MASK ^ (0xFFFF ^ 0x1234) << 16 * quarter
        assert await made.results(words) == [expected]
    assert await made.results(seq.load(1, 0x8000_7FFF_0000_FFFF)) == [0x8000_7FFF_0000_FFFF]


@cocotb.test()
async def branches(dut) -> None:
    """Comparisons are of unsigned numbers; bits from the lowest to the highest."""
    made = await bench(dut)

    async def taken(one: int, other: int, word: int) -> bool:
        # To the last but one word, over one that changes r3.
        place = 10
        words = [*seq.load(1, one), *seq.load(2, other), word | place + 2, seq.li(3, 1)]
        (found,) = await made.results(words, registers=[3])
        assert len(words) == place + 2
        return found == 0

    for one, other in itertools.product([0, 1, 2**31, 2**63 - 1, 2**63, seq.MASK], repeat=2):
        expected = {
            "beq": one == other,
            "bne": one != other,
            "bltu": one < other,
            "bgeu": one >= other,
        }
        for name, jumps in expected.items():
            assert await taken(one, other, seq.branch(name, 1, 2, 0)) == jumps
    for bit in (0, 31, 63):
        for one in (1 << bit, seq.MASK ^ 1 << bit):
            expected = bool(one >> bit & 1)
            assert await taken(one, 0, seq.test_bit("bset", 1, bit, 0)) == expected
            assert await taken(one, 0, seq.test_bit("bclr", 1, bit, 0)) != expected


@cocotb.test()
async def loop(dut) -> None:
    """A jump backward: a register counts to zero."""
    made = await bench(dut)
    words = [
        seq.li(1, 5),
        seq.show("dec", 1),
        seq.alu("sub", 1, 1, number=1),
        seq.branch("bne", 1, 0, 1),
        seq.fail(7),
    ]
    outcome = await made.run(words)
    assert (outcome.text, outcome.code, outcome.place) == ("54321", 7, 4)


@cocotb.test()
async def accesses(dut) -> None:
    """Addresses, widths and spaces; an error is all ones and a flag until the next access."""
    made = await bench(dut)
    value = 0x1122334455667788
    words = [
        *seq.load(1, 2**64 - 4),
        *seq.load(2, value),
        seq.access("ld32", 3, 1, 0, 0x7FFF),
        seq.access("ld64", 4, 1, 4, 0),
        seq.access("st32", 2, 1, 2, 4),
        seq.access("st64", 2, 0, 3, 0x7FFF),
        seq.access("ld64", 0, 0, 1),
        *(seq.access("st64", register, 0, 0) for register in (3, 4, 0)),
        seq.STOP,
    ]
    outcome = await made.run(words, [(False, 0xFFEEDDCCBBAA9988)])
    assert outcome.events == [
        ("read", 0, 0, 0x7FFB),
        ("read", 1, 4, 2**64 - 4),
        ("write", 0, 2, 0, value & 2**32 - 1),
        ("write", 1, 3, 0x7FFF, value),
        ("read", 1, 1, 0),
        ("write", 1, 0, 0, 0xBBAA9988),
        ("write", 1, 0, 0, 0xFFEEDDCCBBAA9988),
        ("write", 1, 0, 0, 0),
    ]


@cocotb.test()
async def errors(dut) -> None:
    """An error sets the flag, which the next access clears; a space that is not there is one."""
    made = await bench(dut)
    for name, space in itertools.product(("ld32", "ld64", "st32", "st64"), (0, 4, 5, 7)):
        words = [
            seq.jump("berr", 5),
            seq.access(name, 1, 0, space),
            seq.jump("berr", 4),
            seq.fail(1),
            seq.access("st64", 1, 0, 0),
            seq.jump("berr", 7),
            seq.STOP,
            seq.fail(2),
        ]
        outcome = await made.run(words, [(space < 5, 0), (False, 0)] if space < 5 else ZERO)
        expected = {"ld32": 2**32 - 1, "ld64": seq.MASK}.get(name, 0)
        assert (outcome.code, outcome.place, outcome.stored[-1]) == (0, 6, expected)
        assert len(outcome.events) == 1 + (space < 5)


@cocotb.test()
async def console(dut) -> None:
    """Texts, digits and characters, of the least and the greatest numbers."""
    made = await bench(dut)

    async def text(*words: int) -> str:
        return (await made.run([*words, seq.STOP])).text

    assert await text(*seq.say("a\n~\t42")) == "a\n~\t42"
    assert await text(*seq.say("x"), *seq.say("yz")) == "xyz"
    for number in (0, 9, 10, 99, 100, 10**19 - 1, 10**19, 2**64 - 1):
        assert await text(*seq.load(1, number), seq.show("dec", 1)) == str(number)
    value = 0x0123456789ABCDEF
    for digits in range(1, 17):
        expected = f"{value:016x}"[-digits:]
        assert await text(*seq.load(1, value), seq.show("hex", 1, digits)) == expected
    value = int.from_bytes(b"\x1f ~\x7f\x80\xffZ\0", "little")
    for count in range(1, 9):
        assert await text(*seq.load(1, value), seq.show("chars", 1, count)) == ". ~...Z."[:count]
    # Registers are as they were.
    assert await made.results(seq.load(1, value), [seq.show("dec", 1)]) == [value]


@cocotb.test()
async def calls(dut) -> None:
    """Eight calls nest; the ninth, and a return without call, are no program."""
    made = await bench(dut)
    for depth in (8, 9):
        # Word n calls n + 2, behind which each returns by the word in front of it.
        words = [seq.jump("call", 2), seq.STOP]
        for level in range(1, depth):
            words += [seq.jump("call", 2 * level + 2), seq.jump("ret")]
        outcome = await made.run([*words, seq.jump("ret")])
        assert (outcome.code, outcome.place) == ((0, 1) if depth == 8 else (255, 16))
    outcome = await made.run([seq.jump("call", 2), seq.jump("ret"), seq.jump("ret")])
    assert (outcome.code, outcome.place) == (255, 1)


@cocotb.test()
async def ends(dut) -> None:
    """Codes and places; every unknown word; the last word of the ROM."""
    made = await bench(dut)
    for operation in seq.UNKNOWN:
        outcome = await made.run([seq.li(1, 0), operation << 26])
        assert (outcome.code, outcome.place) == (255, 1)
    for code in (1, 254):
        assert (await made.run([seq.fail(code)])).code == code
        load = seq.load(5, code | 0x7700)
        assert (await made.run([*load, seq.fail(register=5)])).code == code
    words = [seq.jump("jmp", 1023), *[seq.STOP] * 1022, seq.fail(3)]
    outcome = await made.run(words)
    assert (outcome.code, outcome.place) == (3, 1023)


@cocotb.test()
async def times(dut) -> None:
    """A wait takes its time and at most some clocks more; the timer runs out after its time."""
    made = await bench(dut)
    taken: list[int] = []
    cocotb.start_soon(harness.record(dut.clk, dut.c_valid, dut.c_ready, taken))

    async def between(*words: int) -> int:
        """Count the cycles between two characters."""
        taken.clear()
        made.load([*words, seq.STOP], ())
        dut.go.value = 1
        assert (await made.ended()).text == "ab"
        await harness.step(dut.clk, random.randrange(CLOCKS))
        return taken[1] - taken[0]

    made.eager = True
    for by in ("number", "register"):
        nothing = {}
        for micros in (0, 1, 1, 1, 2, 2, 50, 300):
            # Of a register the 32 lowest bits count.
            front = [*seq.load(1, 0xABCD << 32 | micros), *seq.say("a")]
            where = {by: micros if by == "number" else 1}
            at = len(front) + 1
            poll = [seq.jump("btime", at + 2), seq.jump("jmp", at)]
            for name, rest in (("wait", []), ("timer", poll)):
                passed = await between(*front, seq.time(name, **where), *rest, *seq.say("b"))
                passed -= nothing.setdefault(name, passed)
                most = (micros + 1) * CLOCKS + POLL if micros else 0
                assert micros * CLOCKS <= passed <= most, f"{name} {micros}: {passed} cycles"
    made.eager = False
    # It has run out before it is started, at once with 0, and not soon with a large number.
    for words, code in (
        ([], 1),
        ([seq.time("timer", 2**25 - 1)], 2),
        ([seq.time("timer", 9), seq.time("timer", 0)], 1),
        ([seq.li(1, -1), seq.time("timer", register=1)], 2),
        ([seq.li(1, 1), seq.shift("shl", 1, 1, 31), seq.time("timer", register=1)], 2),
        ([seq.li(1, 1), seq.shift("shl", 1, 1, 32), seq.time("timer", register=1)], 1),
    ):
        target = len(words) + 2
        program = [*words, seq.jump("btime", target), seq.fail(2), seq.fail(1)]
        assert (await made.run(program)).code == code


@cocotb.test()
async def resets(dut) -> None:
    """A reset ends a program in an access, in a character and anywhere; the next run is right."""
    made = await bench(dut)
    talks = [*seq.load(1, 1234567), seq.access("ld64", 2, 0, 1), seq.show("dec", 1), seq.STOP]
    for where in (dut.m_valid, dut.c_valid, None) * 4:
        made.load(talks, itertools.cycle([(True, 5)]))
        made.stalled = where is not None and random.random() < 0.7
        dut.go.value = 1
        if where is None:
            await harness.step(dut.clk, random.randint(1, 400))
        elif where is dut.c_valid:
            made.stalled = False
            await RisingEdge(where)
        else:
            await RisingEdge(where)
            await harness.step(dut.clk, random.randrange(6))
        await made.reset()
        made.stalled = False
        await FallingEdge(dut.clk)
        assert not any(harness.high(each) for each in (dut.m_valid, dut.c_valid, dut.running))
        assert not harness.high(dut.ended) and dut.code.value == 0
        await harness.step(dut.clk, 2)
        # Neither registers nor the flag are left.
        again = [seq.jump("berr", 3), seq.access("st64", 1, 0, 0), seq.show("dec", 1), seq.STOP]
        assert (await made.run(again)).text == "0"
        assert (await made.run(talks)).text == "1234567"


@cocotb.test()
async def goes(dut) -> None:
    """A program that has ended stays ended until `go` falls; one that runs does not heed it."""
    made = await bench(dut)
    words = [*seq.say("hey"), seq.access("st64", 0, 0, 0), seq.fail(9)]
    made.load(words, itertools.cycle(ZERO))
    await harness.step(dut.clk, 20)
    assert dut.running.value == 0 and dut.ended.value == 0
    dut.go.value = 1
    await RisingEdge(dut.ended)
    await harness.step(dut.clk, 200)
    assert dut.ended.value == 1 and made.outcome.text == "hey"
    await made.ended()
    assert (dut.ended.value, int(dut.code.value), int(dut.place.value)) == (0, 9, 2)
    await made.run(words)
    made.load(words, itertools.cycle(ZERO))
    dut.go.value = 1
    await harness.step(dut.clk, 3)
    dut.go.value = 0
    assert (await made.ended()).text == "hey"


# --------------------------------------------------------------------------------- provocations
@harness.provocation
async def answer_to_nothing(dut) -> None:
    """An answer comes in idle."""
    await bench(dut)
    await harness.step(dut.clk, 2)
    dut.s_valid.value = 1
    await harness.step(dut.clk, 2)


async def stalled(dut, words: list[int], valid) -> Bench:
    """Run a program up to an offer that is not taken."""
    made = await bench(dut)
    made.stalled = True
    made.load(words, ())
    await harness.step(dut.clk, 2)
    dut.c_ready.value = dut.m_ready.value = 0
    dut.go.value = 1
    await RisingEdge(valid)
    await harness.step(dut.clk, 2)
    await FallingEdge(dut.clk)
    return made


@harness.provocation
async def request_withdrawn(dut) -> None:
    """The state is made to change while a request waits."""
    await stalled(dut, [seq.access("ld64", 1, 0, 0)], dut.m_valid)
    dut.state_q.value = 0
    await harness.step(dut.clk, 3)


@harness.provocation
async def character_withdrawn(dut) -> None:
    """The state is made to change while a character waits."""
    await stalled(dut, seq.say("a"), dut.c_valid)
    dut.state_q.value = 0
    await harness.step(dut.clk, 3)


@harness.provocation
async def other_word(dut) -> None:
    """The ROM's output changes while its word is carried out."""
    await stalled(dut, [seq.access("ld64", 1, 0, 0)], dut.m_valid)
    dut.rom_data.value = seq.access("ld64", 1, 0, 0, 8)
    await harness.step(dut.clk, 3)


def run(**options: object) -> None:
    """Build the module and simulate it."""
    simulate(__file__, "fb_common_seq", {"ClocksPerUs": CLOCKS, "Spaces": seq.SPACES}, **options)


def test_seq() -> None:
    """All cases."""
    run()


def test_assertions() -> None:
    """Each assertion fires."""
    run(
        fires={
            "answer_to_nothing": "answer_expected",
            "request_withdrawn": "request_held",
            "character_withdrawn": "character_held",
            "other_word": "word_steady",
        }
    )


def trace(words: list[int], answers: Iterable[tuple[bool, int]]) -> list[str]:
    """Return what the bench's interpreter does, as the crate's example `trace` prints it."""
    interpreter = seq.Interpreter(words, iter(answers))
    # An answer to a read is what counts of it; to a write, what was written.
    given = iter(answers)
    outcome, lines = interpreter.run(), []
    for event in outcome.events:
        if event[0] == "character":
            continue
        kind, wide, space, address, *written = event
        failed, read = next(given)
        (value,) = written or [read & (seq.MASK if wide else 2**32 - 1)]
        shown = "error" if failed else f"{value:x}"
        lines.append(f"{kind} {space} {address:x} {8 if wide else 4} {shown}")
    registers = " ".join(f"{value:x}" for value in interpreter.registers)
    lines.append(f"say {outcome.text.encode().hex()}")
    return [*lines, f"end {outcome.code} {outcome.place} {registers}"]


def test_interpreters_agree() -> None:
    """The crate's interpreter does what the bench's does, which the RTL is held against."""
    random.seed(int(os.environ.get("COCOTB_RANDOM_SEED", "1")))
    programs, expected = [], []
    for _ in range(harness.repeat(20_000, 400, 50)):
        words = seq.program()
        answers = [(random.random() < 0.15, seq.number_of(64)) for _ in range(1000)]
        expected += trace(words, answers)
        shown = ("error" if failed else f"{value:x}" for failed, value in answers)
        programs += [" ".join(f"{word:x}" for word in words), " ".join(shown)]
    command = ["cargo", "run", "-q", "--locked", "-p", "forebay-seq", "--example", "trace"]
    text = "\n".join(programs) + "\n"
    done = subprocess.run(command, cwd=ROOT, input=text, text=True, stdout=subprocess.PIPE)
    assert done.returncode == 0
    found = done.stdout.splitlines()
    differ = [pair for pair in zip(found, expected, strict=False) if pair[0] != pair[1]]
    assert not differ and len(found) == len(expected), f"{len(differ)}: {differ[:3]}"
