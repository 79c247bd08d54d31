# SPDX-License-Identifier: Apache-2.0
"""The streamer with its payload in host memory: what the on-chip one is asked, AxiRam as host."""

from __future__ import annotations

import pytest

from forebay.filelist import ROOT
from runner import simulate

TESTS = str(ROOT / "tb/top/fb_top_onchip/test_fb_top_onchip.py")


@pytest.mark.parametrize(("depth", "beats"), [(64, 512), (4, 64)])
def test_top(depth: int, beats: int) -> None:
    """Run all coroutines with these parameters."""
    parameters = {"QueueDepth": depth, "ReadBeats": beats}
    simulate(TESTS, "fb_top_hostdram", parameters, filelist="rtl/top/hostdram.f")
