# SPDX-License-Identifier: Apache-2.0
"""What FPGAs have by AMD's product tables: multipliers of 27 x 18 bits, block RAMs of 36 kbit."""

from __future__ import annotations

from dataclasses import dataclass

from forebay.dnn.fold import InfeasibleError


@dataclass(frozen=True)
class Device:
    """An FPGA.

    Attributes
    ----------
    part : str
        What the manufacturer calls it.
    dsp, ramb36 : int
        What it has.
    """

    part: str
    dsp: int
    ramb36: int


DEVICES = {
    "u50": Device("XCU50", 5952, 1344),
    "u55c": Device("XCU55C", 9024, 2016),
    "u200": Device("XCU200", 6840, 2160),
    "u250": Device("XCU250", 12288, 2688),
    "u280": Device("XCU280", 9024, 2016),
    "vcu118": Device("XCVU9P", 6840, 2160),
    "zcu102": Device("XCZU9EG", 2520, 912),
    "zcu104": Device("XCZU7EV", 1728, 312),
    "zcu111": Device("XCZU28DR", 4272, 1080),
    "kv260": Device("XCK26", 1248, 144),
}


def within(device: str, dsp: int, ramb36: float) -> None:
    """Look whether a device has what is needed.

    Raises
    ------
    InfeasibleError
        Says what is missing.
    """
    has = DEVICES[device]
    for what, needed, there in (("DSP", dsp, has.dsp), ("RAMB36", ramb36, has.ramb36)):
        if needed > there:
            message = f"{what} {needed:g}: {device} ({has.part}) has {there}"
            raise InfeasibleError(message)
