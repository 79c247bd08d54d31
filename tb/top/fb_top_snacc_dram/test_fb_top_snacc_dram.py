# SPDX-License-Identifier: Apache-2.0
"""SNAcc's pins for a payload in DRAM: what the on-chip wrapper is asked, beside a memory."""

from __future__ import annotations

import pytest

from forebay.filelist import ROOT
from runner import simulate

TESTS = str(ROOT / "tb/top/fb_top_snacc_onchip/test_fb_top_snacc_onchip.py")


@pytest.mark.parametrize("host", [0, 1])
def test_top(host: int) -> None:
    """Run all coroutines with the payload on the board and in host memory."""
    parameters = {"host_ddr": host, "pcie_nvme_base_address": 0x5400_0000}
    simulate(TESTS, "fb_top_snacc_dram", parameters, filelist="rtl/top/snacc_dram.f")
