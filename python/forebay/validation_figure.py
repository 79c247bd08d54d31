# SPDX-License-Identifier: Apache-2.0
"""A figure of docs/VALIDATION.md, and what it is compared with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Report = dict[str, Any]


@dataclass(frozen=True)
class Figure:
    """A figure of the table.

    Attributes
    ----------
    what : str
        What is measured.
    target : str
        What it should be, in words.
    snacc : str
        What SNAcc's published RTL is known to give, where it was not measured here.
    command : str
        The command that measures it.
    report : str
        Name of the report in build/bench, without `.json`; may be empty for what no report has.
    value : callable
        Takes the figure out of its report.
    shown : str
        Format of the figure.
    met : callable
        Whether it meets its target.
    """

    what: str
    target: str
    snacc: str
    command: str
    report: str = ""
    value: Callable[[Report], float] = lambda report: 0.0
    shown: str = "{:.2f}"
    met: Callable[[float], bool] = lambda value: True


def at_least(least: float) -> Callable[[float], bool]:
    """Make a target: this or more."""
    return lambda value: value >= least


def at_most(most: float) -> Callable[[float], bool]:
    """Make a target: this or less."""
    return lambda value: value <= most
