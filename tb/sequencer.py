# SPDX-License-Identifier: Apache-2.0
"""The sequencer's instruction set for its bench: words, an interpreter, and random programs.

The interpreter has nothing from that of `crates/forebay-seq`: where one misreads an instruction,
the other shows it.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Iterator
from dataclasses import dataclass, field

MASK = 2**64 - 1
SPACES = 5
BAD_PROGRAM = 0xFF
NESTED = 8  # calls at most

ARITHMETIC = {"add": 0x04, "sub": 0x05, "and": 0x06, "or": 0x07, "xor": 0x08, "andn": 0x09}
BRANCHES = {"beq": 0x10, "bne": 0x11, "bltu": 0x12, "bgeu": 0x13}
TESTS = {"bset": 0x14, "bclr": 0x15}
UNKNOWN = [0x02, 0x03, 0x1D, 0x1E, 0x1F, *range(0x24, 0x3E)]
CALCULATES = {
    0x04: operator.add,
    0x05: operator.sub,
    0x06: operator.and_,
    0x07: operator.or_,
    0x08: operator.xor,
    0x09: lambda a, b: a & ~b,
}
COMPARES = {0x10: operator.eq, 0x11: operator.ne, 0x12: operator.lt, 0x13: operator.ge}


def _word(operation: int, d: int = 0, a: int = 0, rest: int = 0) -> int:
    return operation << 26 | d << 22 | a << 18 | rest


def li(d: int, number: int) -> int:
    """Return the word that loads a signed number of 22 bits."""
    return _word(0x00, d, 0, number & 0x3FFFFF)


def ins(d: int, quarter: int, number: int) -> int:
    """Return the word that replaces a quarter of a register."""
    return _word(0x01, d, 0, quarter << 16 | number)


def load(d: int, number: int) -> list[int]:
    """Return words that load any number of 64 bits."""
    return [li(d, 0), *(ins(d, n, number >> 16 * n & 0xFFFF) for n in range(4))]


def alu(name: str, d: int, a: int, b: int | None = None, number: int = 0) -> int:
    """Return a word of arithmetic, with a register or a signed number of 15 bits."""
    return _word(ARITHMETIC[name], d, a, 1 << 15 | number & 0x7FFF if b is None else b)


def shift(name: str, d: int, a: int, places: int) -> int:
    """Return a word of a shift."""
    return _word({"shl": 0x0A, "shr": 0x0B}[name], d, a, places)


def access(name: str, d: int, a: int, space: int, offset: int = 0) -> int:
    """Return a word that reads or writes."""
    operation = {"ld32": 0x0C, "ld64": 0x0D, "st32": 0x0E, "st64": 0x0F}[name]
    return _word(operation, d, a, space << 15 | offset)


def branch(name: str, d: int, a: int, target: int) -> int:
    """Return a word that compares two registers."""
    return _word(BRANCHES[name], d, a, target)


def test_bit(name: str, d: int, bit: int, target: int) -> int:
    """Return a word that looks at a bit."""
    return _word(TESTS[name], d, 0, bit << 10 | target)


def jump(name: str, target: int = 0) -> int:
    """Return a word that goes on elsewhere, always or after a test."""
    operations = {"berr": 0x16, "btime": 0x17, "jmp": 0x18, "call": 0x19, "ret": 0x1A}
    return _word(operations[name], rest=target)


def time(name: str, number: int = 0, register: int | None = None) -> int:
    """Return a word that starts the timer, or waits, for a number of microseconds."""
    rest = number if register is None else 1 << 25 | register
    return _word({"timer": 0x1B, "wait": 0x1C}[name], rest=rest)


def say(text: str) -> list[int]:
    """Return the words that write a text."""
    parts = [text[at : at + 3].encode() for at in range(0, len(text), 3)]
    return [_word(0x20, rest=len(part) << 24 | int.from_bytes(part, "little")) for part in parts]


def show(name: str, d: int, count: int = 1) -> int:
    """Return a word that writes a number of a register's digits or characters."""
    return _word({"hex": 0x21, "dec": 0x22, "chars": 0x23}[name], d, 0, count - 1)


def fail(code: int = 0, register: int = 0) -> int:
    """Return the word that ends with a code, or with the lowest byte of a register."""
    return _word(0x3E, a=register, rest=code)


STOP = _word(0x3F)


@dataclass
class Outcome:
    """What a program does, as seen from outside."""

    events: list[tuple] = field(default_factory=list)  # accesses and characters, in order
    code: int = 0
    place: int = 0

    @property
    def text(self) -> str:
        """What is on the console."""
        return bytes(event[1] for event in self.events if event[0] == "character").decode()

    @property
    def stored(self) -> list[int]:
        """What was written, without the addresses."""
        return [event[-1] for event in self.events if event[0] == "write"]


class Interpreter:
    """Runs a program; each access takes the next answer: whether it failed, and what was read."""

    def __init__(self, words: list[int], answers: Iterator[tuple[bool, int]]) -> None:
        self.words, self.answers = words, answers
        self.registers = [0] * 16
        self.returns: list[int] = []
        self.error, self.expired = False, True
        self.outcome = Outcome()
        self.executed: set[int] = set()  # operations

    def run(self) -> Outcome:
        """Return what it does."""
        at: int | None = 0
        while at is not None:
            self.outcome.place = at
            self.executed.add(self.words[at] >> 26)
            at = self._step(self.words[at], at + 1)
        return self.outcome

    def _set(self, register: int, value: int) -> None:
        if register:
            self.registers[register] = value & MASK

    def _write(self, text: bytes) -> None:
        self.outcome.events += [("character", character) for character in text]

    def _end(self, code: int) -> None:
        self.outcome.code = code

    def _step(self, word: int, following: int) -> int | None:
        operation, d, a = word >> 26, word >> 22 & 15, word >> 18 & 15
        first, target = self.registers[d], word & 0x3FF
        if operation == 0x00:
            self._set(d, (word & 0x3FFFFF ^ 1 << 21) - (1 << 21))
        elif operation == 0x01:
            at = 16 * (word >> 16 & 3)
            self._set(d, first & ~(0xFFFF << at) | (word & 0xFFFF) << at)
        elif operation in CALCULATES:
            number = (word & 0x7FFF ^ 1 << 14) - (1 << 14)
            b = number & MASK if word >> 15 & 1 else self.registers[word & 15]
            self._set(d, CALCULATES[operation](self.registers[a], b))
        elif operation == 0x0A:
            self._set(d, self.registers[a] << (word & 63))
        elif operation == 0x0B:
            self._set(d, self.registers[a] >> (word & 63))
        elif 0x0C <= operation <= 0x0F:
            self._access(operation, d, a, word)
        elif operation in COMPARES:
            return target if COMPARES[operation](first, self.registers[a]) else following
        elif operation in TESTS.values():
            bit = first >> (word >> 10 & 63) & 1
            return target if bit == (operation == TESTS["bset"]) else following
        elif operation in (0x16, 0x17):
            return target if (self.error, self.expired)[operation - 0x16] else following
        elif operation in (0x18, 0x19, 0x1A):
            return self._jump(operation, target, following)
        elif operation in (0x1B, 0x1C):
            number = self.registers[word & 15] & 2**32 - 1 if word >> 25 & 1 else word & 0x1FFFFFF
            if operation == 0x1B:
                self.expired = number == 0
        elif 0x20 <= operation <= 0x23:
            self._write(self._text(operation, first, word))
        else:
            code = (self.registers[a] | word) & 0xFF
            self._end({0x3E: code, 0x3F: 0}.get(operation, BAD_PROGRAM))
            return None
        return following

    def _jump(self, operation: int, target: int, following: int) -> int | None:
        if operation == 0x18:
            return target
        if operation == 0x1A and self.returns:
            return self.returns.pop()
        if operation == 0x1A or len(self.returns) == NESTED:
            self._end(BAD_PROGRAM)
            return None
        self.returns.append(following)
        return target

    def _access(self, operation: int, d: int, a: int, word: int) -> None:
        space, wide = word >> 15 & 7, operation & 1
        address = self.registers[a] + (word & 0x7FFF) & MASK
        mask = MASK if wide else 2**32 - 1
        writes = operation >= 0x0E
        self.error, value = True, MASK
        if space < SPACES:
            event = ("write" if writes else "read", wide, space, address)
            self.outcome.events.append((*event, self.registers[d] & mask) if writes else event)
            self.error, value = next(self.answers)
        if not writes:
            self._set(d, (MASK if self.error else value) & mask)

    @staticmethod
    def _text(operation: int, value: int, word: int) -> bytes:
        if operation == 0x20:
            return word.to_bytes(4, "little")[: word >> 24 & 3]
        if operation == 0x21:
            digits = (word & 15) + 1
            return f"{value & (1 << 4 * digits) - 1:0{digits}x}".encode()
        if operation == 0x22:
            return str(value).encode()
        characters = value.to_bytes(8, "little")[: (word & 7) + 1]
        return bytes(each if 0x20 <= each <= 0x7E else ord(".") for each in characters)


# ------------------------------------------------------------------------------- random programs
def number_of(bits: int) -> int:
    """Draw a number of this width, often one at an edge."""
    edges = [0, 1, 2, 9, 10, 2 ** (bits - 1) - 1, 2 ** (bits - 1), 2**bits - 1]
    drawn = random.getrandbits(bits) >> random.randrange(bits)
    return random.choice([random.choice(edges) & 2**bits - 1, drawn])


def _any_word(at: int, end: int) -> list[int]:
    """Draw an instruction at `at`, in a part that ends with the word at `end`."""
    d, a, b = (random.randrange(16) for _ in range(3))
    target = random.randint(at + 1, min(at + 4, end))
    bit = random.randrange(64)
    drawn = [
        lambda: li(d, number_of(22)),
        lambda: ins(d, random.randrange(4), number_of(16)),
        lambda: alu(random.choice([*ARITHMETIC]), d, a, b),
        lambda: alu(random.choice([*ARITHMETIC]), d, a, number=number_of(15)),
        lambda: shift(random.choice(["shl", "shr"]), d, a, number_of(6)),
        lambda: access(
            random.choice(["ld32", "ld64", "st32", "st64"]),
            d,
            a,
            random.choices(range(8), [4] * SPACES + [1] * (8 - SPACES))[0],
            number_of(15),
        ),
        lambda: branch(random.choice([*BRANCHES]), d, random.choice([a, d]), target),
        lambda: test_bit(random.choice([*TESTS]), d, bit, target),
        lambda: jump(random.choice(["berr", "btime", "jmp"]), target),
        lambda: time("timer", random.choice([0, 2**25 - 1])),
        lambda: time("wait", random.randrange(4)),
        lambda: time("wait", register=0),
        lambda: say("".join(random.choices("ab \n~", k=random.randint(1, 3))))[0],
        lambda: show("hex", d, random.randint(1, 16)),
        lambda: show("chars", d, random.randint(1, 8)),
    ]
    weights = [3, 3, 4, 4, 2, 4, 3, 2, 2, 1, 0.5, 0.2, 0.5, 0.5, 0.5]
    word = random.choices(drawn, weights)[0]()
    if random.random() < 0.01:
        word = show("dec", d)
    if random.random() < 0.004:
        choices = [
            fail(random.randint(1, 254)),
            fail(register=d),
            STOP,
            random.choice(UNKNOWN) << 26 | d << 22,
        ]
        word = random.choice(choices)
    return word


def program() -> list[int]:
    """Draw a program that ends: what it jumps to is ahead, what it calls is behind.

    Its end writes all registers to space 0, and goes wrong if the last access did.
    """
    sizes = [random.randint(10, 40), *(random.randint(0, 6) for _ in range(random.randint(0, 9)))]
    last = [
        *(access("st64", register, 0, 0, 8 * register) for register in range(16)),
        random.choice([STOP, fail(random.randint(1, 254)), jump("ret")]),
    ]
    starts = [0]
    for number, size in enumerate(sizes):
        starts.append(starts[-1] + size + (len(last) if number == 0 else 1))
    words: list[int] = []
    for number, size in enumerate(sizes):
        callees = starts[number + 1 : -1]
        end = starts[number] + size
        words += [_any_word(at, end) for at in range(starts[number], end)]
        # Once each, so that the number of calls stays small; the main part several times.
        for _ in range(min(3 if number == 0 else 1, size)):
            if callees:
                at = random.randrange(starts[number], end)
                words[at] = jump("call", callees[0] if number else random.choice(callees))
        words += last if number == 0 else [jump("ret")]
    return words
