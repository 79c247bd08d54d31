# SPDX-License-Identifier: Apache-2.0
"""Words go into modules, and what numpy made of them is to come out; many modules in one model.

pytest makes the words and writes them into files; modules of SystemVerilog (`tb/dnn/layers`) send
and compare them, which is a hundred times as quick as a coroutine for each cycle. A test file
imports `words_pass` and calls :func:`simulate_cases`.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import cocotb
import numpy as np
from cocotb.triggers import Timer

import harness
from runner import BUILD, simulate

HERE = Path(__file__).parent / "dnn" / "layers"
PLAYERS = [HERE / f"word_{name}.sv" for name in ("source", "sink", "watch")]
LIMITS = "limits.json"
IDLE, STALL = 0.4, 0.5  # shares of pauses


@dataclass
class Case:
    """A module with its parameters, the words that go in and those that are due.

    Attributes
    ----------
    given, due : list of str
        Words in hexadecimal digits, of `widths` bits.
    cycles : int
        From the reset to the last word, at most, where neither side pauses; 0: any number.
    interval : float
        Cycles from a word that leaves to the next one, on average of the second half, at most.
    patience : int
        Cycles in which no word comes out, at most.
    watched : mapping
        Bits of a word and words that are due on streams inside the module, by the streams' names.
    files : mapping
        Contents of memories, a line a word, by the parameter that names them; or texts of files, by
        names with a slash.
    """

    module: str
    parameters: Mapping[str, int | str]
    given: Sequence[str]
    due: Sequence[str]
    widths: tuple[int, int]
    cycles: int = 0
    interval: float = 0.0
    patience: int = 200_000
    watched: Mapping[str, tuple[int, Sequence[str]]] = field(default_factory=dict)
    files: Mapping[str, Sequence[str] | str] = field(default_factory=dict)


def generator() -> np.random.Generator:
    """Return the source of a test's numbers."""
    return np.random.default_rng(int(os.environ.get("COCOTB_RANDOM_SEED", 1)))


def values(rng: np.random.Generator, shape: tuple[int, ...], *, signed: bool = False) -> np.ndarray:
    """Draw u8 or s8 values, of which many are extreme."""
    low, high = (-128, 127) if signed else (0, 255)
    drawn = rng.integers(low, high + 1, shape)
    extreme = rng.choice([low, high], shape)
    kind = np.int8 if signed else np.uint8
    return np.where(rng.random(shape) < rng.choice([0, 0.3, 1]), extreme, drawn).astype(kind)


def _instance(number: int, case: Case) -> str:
    """Return the part of a bench that is a case: source, module, sink."""
    files = {name: f'"{number}.{name}.mem"' for name in case.files if "/" not in name}
    parameters = ", ".join(
        f".{name}({value})" for name, value in {**case.parameters, **files}.items()
    )
    parameters = f" #({parameters})" if parameters else ""
    (given, due), n = case.widths, number
    watches = "".join(_watch(n, name, *of) for name, of in case.watched.items())
    return (
        watches
        + f"""
  logic s_valid{n}, s_ready{n}, m_valid{n}, m_ready{n};
  logic [{given - 1}:0] s_data{n};
  logic [{due - 1}:0] m_data{n};
  word_source #(.Width({given}), .Words({len(case.given)}), .File("{n}.given.mem")) u_source{n} (
      .clk, .rst, .idle, .m_valid(s_valid{n}), .m_ready(s_ready{n}), .m_data(s_data{n}));
  {case.module}{parameters} u_dut{n} (
      .clk, .rst, .s_valid(s_valid{n}), .s_ready(s_ready{n}), .s_data(s_data{n}),
      .m_valid(m_valid{n}), .m_ready(m_ready{n}), .m_data(m_data{n}));
  word_sink #(.Width({due}), .Words({len(case.due)}), .File("{n}.due.mem")) u_sink{n} (
      .clk, .rst, .stall, .s_valid(m_valid{n}), .s_ready(m_ready{n}), .s_data(m_data{n}),
      .done(done[{n}]), .wrong(wrong[{n}]), .number(number[{n}]), .cycles(cycles[{n}]),
      .middle(middle[{n}]));
"""
    )


def _watch(number: int, name: str, bits: int, due: Sequence[str]) -> str:
    """Return what compares a stream inside a module."""
    stream = f"u_dut{number}.{name}"
    return f"""
  word_watch #(
      .Width({bits}), .Words({len(due)}), .File("{number}.{name}.due.mem"), .Name("{name}")
  ) u_watch{number}_{name} (
      .clk, .rst, .passes({stream}_valid && {stream}_ready), .data({stream}_data));
"""


def _bench(name: str, cases: Sequence[Case]) -> str:
    last = len(cases) - 1
    head = f"""module {name} (
    input wire clk, rst,
    input wire [7:0] idle, stall,
    output logic [{last}:0] done, wrong,
    output logic [{last}:0][31:0] number, cycles, middle
);
"""
    return head + "".join(_instance(n, case) for n, case in enumerate(cases)) + "endmodule\n"


def simulate_cases(
    test_file: str, name: str, cases: Sequence[Case], *, sources: Sequence[Path] = ()
) -> None:
    """Simulate all cases at a time, in one model.

    Parameters
    ----------
    test_file : str
        `__file__` of the caller.
    name : str
        The bench's, which is written.
    cases : sequence of Case
    sources : sequence of Path
        Modules that are not in the filelist.
    """
    bench = BUILD / "dnn" / f"{name}.sv"
    bench.parent.mkdir(parents=True, exist_ok=True)
    text = _bench(name, cases)
    # What is written anew is built anew.
    if not bench.exists() or bench.read_text() != text:
        bench.write_text(text)
    keys = "module", "parameters", "cycles", "interval", "patience"
    files = {LIMITS: json.dumps([{key: getattr(case, key) for key in keys} for case in cases])}
    for n, case in enumerate(cases):
        contents = {**case.files, "given": case.given, "due": case.due}
        contents |= {f"{name}.due": words for name, (_, words) in case.watched.items()}
        for key, lines in contents.items():
            # What has a whole name is read by it.
            path = key if "/" in key else f"{n}.{key}.mem"
            files[path] = lines if isinstance(lines, str) else "\n".join(lines) + "\n"
    simulate(test_file, name, extra_sources=[*PLAYERS, *sources, bench], files=files)


@cocotb.test()
@cocotb.parametrize((("idle", "stall"), [(0, 0), (IDLE, 0), (0, STALL), (IDLE, STALL)]))
async def words_pass(dut, idle: float, stall: float) -> None:
    """After a reset in their midst all words go in, and what is due comes out."""
    limits = json.loads(Path(LIMITS).read_text())
    dut.idle.value, dut.stall.value = int(idle * 256), int(stall * 256)
    await harness.start(dut)
    await harness.step(dut.clk, random.randrange(2, 100))
    await harness.reset(dut)
    every = 2 ** len(dut.done) - 1
    patience = max(limit["patience"] for limit in limits)
    moved, since = 0, 0
    while int(dut.done.value) != every and not int(dut.wrong.value):
        # The clock needs no coroutine.
        await Timer(100 * harness.PERIOD_NS, "ns")
        now = int(dut.number.value)
        moved, since = (now, 0) if now != moved else (moved, since + 100)
        assert since < patience, f"nothing moves; done {int(dut.done.value):b}"
    # A word too many would come now.
    await harness.step(dut.clk, 200)
    wrong, done = int(dut.wrong.value), int(dut.done.value)
    numbers, cycles, middles = (
        np.frombuffer(int(port.value).to_bytes(4 * len(limits), "little"), "<u4").tolist()
        for port in (dut.number, dut.cycles, dut.middle)
    )
    failures = []
    for n, limit in enumerate(limits):
        what = f"case {n}, {limit['module']} {limit['parameters']}, word {numbers[n]}"
        if wrong >> n & 1:
            failures.append(f"{what}: not as due")
        elif not wrong and not done >> n & 1:
            failures.append(f"{what}: did not come")
        if idle or stall or wrong:
            continue
        # Until then the stages fill.
        interval = (cycles[n] - middles[n]) / max(numbers[n] - 1 - numbers[n] // 2, 1)
        for key, found in (("cycles", cycles[n]), ("interval", interval)):
            if limit[key] and found > limit[key]:
                failures.append(f"{what}: {key} {found:.1f}, {limit[key]:.1f} at most")
    assert not failures, "\n".join(failures)
