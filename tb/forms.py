# SPDX-License-Identifier: Apache-2.0
"""Recorders whose index has other columns of results: the package that makes them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import runner
from forebay.store.schema import Column, Schema
from runner import BUILD, ROOT

USUAL = "class u16, score f32"
# Each kind of column: lists that leave no column at a multiple of its rows, a hash, singles.
MANY = "top u16[5], sha bytes[7], scores f32[2], id u64, flag u8"
LONG = "digest bytes[32], n u32[3]; lengths as received; encrypted with AES-128-CTR"
WIDE = "class u16, score f32, id u32"  # the text ends in the beat of its last hole
ENCRYPTED = "class u16, score f32; encrypted with AES-256-CTR"
NONE = "none"
LENGTHS = "lengths as received"
CIPHER = "encrypted with "
FORM = "rtl/store/fb_store_rom_pkg.sv"


def value_bits(of: Column) -> list[int]:
    """Return the width of each value of a column, 8 for each byte of what is no number."""
    return [8 * of.dtype.itemsize] * max(of.size, 1)


def read(text: str) -> Schema:
    """Read a schema as forebay-spec writes it."""
    columns, *more = text.split("; ")
    found = []
    for word in columns.split(", ") if columns != NONE else ():
        name, kind = word.split()
        kind, _, size = kind.partition("[")
        found.append(Column(name, kind, int(size.rstrip("]") or 0)))
    ciphers = [what.removeprefix(CIPHER) for what in more if what.startswith(CIPHER)]
    return Schema(tuple(found), LENGTHS in more, ciphers[0] if ciphers else None)


def chosen() -> Schema:
    """Return that of the test that runs."""
    return read(os.environ.get("FORM", USUAL))


def made(text: str) -> dict[str, Path]:
    """Make the package of a schema; returns what it takes the place of, for `runner.simulate`."""
    name = "".join(c if c.isalnum() else "_" for c in text)
    path = BUILD / "forms" / name / Path(FORM).name
    command = ["cargo", "run", "-q", "--locked", "-p", "forebay-spec", "--example", "generate"]
    done = subprocess.run(
        [*command, "--", "rom", text], cwd=ROOT, capture_output=True, text=True, check=True
    )
    if not path.exists() or path.read_text() != done.stdout:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(done.stdout)
    return {FORM: path}


def simulate(test_file: str, toplevel: str, text: str, **options: object) -> None:
    """Run a test bench with a recorder whose index has these columns of results."""
    replaced = made(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FORM", text)
        patch.setenv("FORM_PACKAGE", str(replaced[FORM]))
        runner.simulate(test_file, toplevel, replaced=replaced, **options)
