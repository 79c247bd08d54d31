# SPDX-License-Identifier: Apache-2.0
"""The card with its payload in DRAM: what the on-chip one is asked, with AxiRam as memory."""

from __future__ import annotations

import pytest

from forebay.filelist import ROOT
from runner import simulate

TESTS = str(ROOT / "tb/top/fb_top_host/test_fb_top_host.py")


@pytest.mark.nightly
def test_top() -> None:
    """Run all coroutines."""
    parameters = {"QueueDepth": 8, "HostPages": 16}
    simulate(TESTS, "fb_top_host_dram", parameters, filelist="rtl/top/host_dram.f")
