# SPDX-License-Identifier: Apache-2.0
"""Packs and unpacks the packed structs of the RTL's packages, read from these themselves.

cocotb shows a port that is a packed struct as one vector. The layouts are taken from the source,
so that a test never holds a second copy of them.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from functools import cache
from pathlib import Path

from forebay import spec

RTL = Path(__file__).resolve().parent.parent / "rtl"
AREAS = ("bar", "nvme", "payload", "pe", "store")
# What a recorder with other results is made of stands elsewhere (tb/forms.py).
FORM = Path(os.environ.get("FORM_PACKAGE", RTL / "store/fb_store_rom_pkg.sv"))
PACKAGES = (*(RTL / area / f"fb_{area}_pkg.sv" for area in AREAS), FORM)


@cache
def _text() -> str:
    """Return what stands in the packages, without comments."""
    return re.sub(r"//.*", "", "\n".join(package.read_text() for package in PACKAGES))


@cache
def _package() -> tuple[dict[str, int], dict[str, int], dict[str, str]]:
    """Return constants, widths of enums, and bodies of structs, by name."""
    text = _text()
    constants = {name: value for name, value in vars(spec).items() if isinstance(value, int)}
    scope = {"clog2": lambda value: (value - 1).bit_length()}
    for name, value in re.findall(r"localparam int unsigned (\w+) = ([^;]+);", text):
        with suppress(NameError, SyntaxError):  # none of a struct's fields is as wide as that
            constants[name] = eval(re.sub(r"\$|\bfb_\w+_pkg::", "", value), scope, constants)
    widths = {}
    for high, name in re.findall(r"typedef enum logic \[(\d+):0\] \{[^}]*\} (\w+);", text):
        widths[name] = int(high) + 1
    bodies = re.findall(r"typedef struct packed \{([^}]*)\} (\w+);", text)
    return constants, widths, {name: body for body, name in bodies}


def constant(name: str) -> int:
    """Return a constant of the package, or a value of one of its enums."""
    constants, _, _ = _package()
    if name in constants:
        return constants[name]
    found = re.search(rf"\b{name}\s*=\s*\d+'([bd])(\d+)", _text())
    if found is None:
        raise KeyError(f"{name} is in none of {PACKAGES}")
    return int(found[2], 2 if found[1] == "b" else 10)


@cache
def layout(name: str) -> tuple[tuple[str, int, int], ...]:
    """Return (field, lowest bit, width) of a packed struct's fields, the lowest first."""
    constants, widths, bodies = _package()
    fields, first = [], 0
    for kind, high, low, field in reversed(
        re.findall(r"(\w+)\s*(?:\[([^:\]]+(?:::[^:\]]+)?):([^\]]+)\])?\s+(\w+);", bodies[name])
    ):
        if high:
            bounds = (eval(part.split("::")[-1], {}, constants) for part in (high, low))
            width = next(bounds) - next(bounds) + 1
        else:
            inner = sum(bits for *_, bits in layout(kind)) if kind in bodies else 1
            width = widths.get(kind, inner)
        fields.append((field, first, width))
        first += width
    return tuple(fields)


def pack(name: str, **values: int) -> int:
    """Return the vector of a struct; fields that are not named are zero."""
    bits = 0
    for field, first, width in layout(name):
        value = values.pop(field, 0)
        if not 0 <= value < 1 << width:
            raise ValueError(f"{name}.{field} = {value} does not fit in {width} bits")
        bits |= value << first
    if values:
        raise KeyError(f"{name} has no field {', '.join(values)}")
    return bits


def unpack(name: str, bits: int) -> dict[str, int]:
    """Return the fields of a struct."""
    return {field: bits >> first & (1 << width) - 1 for field, first, width in layout(name)}
