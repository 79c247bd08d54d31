# SPDX-License-Identifier: Apache-2.0
"""The streamer with its payload in DRAM: what the on-chip one is asked, with AxiRam as memory."""

from __future__ import annotations

import pytest

from forebay.filelist import ROOT
from runner import simulate

TESTS = str(ROOT / "tb/top/fb_top_onchip/test_fb_top_onchip.py")


@pytest.mark.parametrize(("depth", "channels", "ahead"), [(64, 1, 2), (4, 2, 6)])
def test_top(depth: int, channels: int, ahead: int) -> None:
    """Run all coroutines with these parameters."""
    parameters = {"QueueDepth": depth, "Channels": channels, "AheadPages": ahead}
    # One of the two has register slices, and a controller that knows identifiers.
    parameters |= {"Slices": channels - 1, "MasterIdBits": channels}
    simulate(TESTS, "fb_top_dram", parameters, filelist="rtl/top/dram.f")
