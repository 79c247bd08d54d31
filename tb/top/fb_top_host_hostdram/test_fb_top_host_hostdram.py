# SPDX-License-Identifier: Apache-2.0
"""The card with its payload in host memory: what the on-chip one is asked, AxiRam as host."""

from __future__ import annotations

import pytest

from forebay.filelist import ROOT
from runner import simulate

TESTS = str(ROOT / "tb/top/fb_top_host/test_fb_top_host.py")


@pytest.mark.nightly
def test_top() -> None:
    """Run all coroutines."""
    parameters = {"QueueDepth": 8, "HostPages": 16}
    simulate(TESTS, "fb_top_host_hostdram", parameters, filelist="rtl/top/host_hostdram.f")
