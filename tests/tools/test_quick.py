# SPDX-License-Identifier: Apache-2.0
"""What tb/quick.py puts in place of cocotb's own does the same."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import cocotb
import pytest
from cocotb import handle
from cocotb.types import Bit, Logic, LogicArray

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "tb"))

import quick  # noqa: E402

LETTERS = "UX01ZWLH-"


def test_cocotb_is_the_one_that_was_read() -> None:
    """Another version may do more in what is replaced: read it, and change this number."""
    assert cocotb.__version__ == "2.1.0"


@pytest.mark.parametrize("letter", LETTERS)
def test_bits_compare(letter: str) -> None:
    """With what compares with a bit, and with what does not."""
    bits = [Logic(letter), *([Bit(letter)] if letter in "01" else [])]
    others = [0, 1, 2, -1, True, False, "0", "1", "x", "Q", None, 1.0, *map(Logic, "UX01Z"), Bit(1)]
    for bit in bits:
        assert [bit == other for other in others] == [
            quick._equals(bit, other) is True for other in others
        ]


@pytest.mark.parametrize("letter", [*LETTERS, *LETTERS.lower()])
def test_bits_are_read(letter: str) -> None:
    """Each letter of the simulator's is its value."""
    signal = SimpleNamespace(_handle=SimpleNamespace(get_signal_val_binstr=lambda: letter))
    assert quick._read(signal) is Logic(letter)


@pytest.mark.parametrize(
    "value", [0, 1, True, False, 2, -1, "1", "x", "Q", Logic("Z"), LogicArray("1"), None]
)
def test_bits_are_written(value: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same is given to the simulator, or the same refused."""
    written = []
    monkeypatch.setattr(handle, "_schedule_write", lambda *call: written.append(call))
    signal = SimpleNamespace(_handle=SimpleNamespace(set_signal_val_binstr="write"))
    raised = []
    for write in (quick._write, quick._write_number):
        try:
            write(signal, value, "deposit")
            raised.append(None)
        except (TypeError, ValueError) as error:
            raised.append(type(error))
    assert raised[0] == raised[1]
    assert written[: len(written) // 2] == written[len(written) // 2 :]
    assert bool(written) == (raised[0] is None)


@pytest.mark.parametrize("text", ["0", "1", "0101", "LH", "1X", "Z", "U0"])
def test_vectors_become_numbers(text: str) -> None:
    """The number is the same, the second time too, or the same is refused."""

    def outcome(convert: Callable[[LogicArray], int], vector: LogicArray) -> int | type:
        try:
            return convert(vector)
        except ValueError as error:
            return type(error)

    vector = LogicArray(text)
    expected = outcome(quick._to_number, LogicArray(text))
    assert [outcome(quick._number, vector) for _ in range(2)] == [expected] * 2
