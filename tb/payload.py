# SPDX-License-Identifier: Apache-2.0
"""Where a top keeps its payload: a memory that answers late, where that is outside of the RTL."""

from __future__ import annotations

from cocotbext.axi import AxiBus

import harness
from buffer_segments import BufferSegments
from forebay import spec
from forebay import streamer_regs as regs
from memory import LateRam
from ssd import BAR, Ssd


class Payload:
    """The memory at a top's AXI4 master, if it has one, and the registers that tell of it."""

    def __init__(self, dut, ssd: Ssd) -> None:
        self.ram: LateRam | None = None
        self.segments: BufferSegments | None = None
        pages = int(dut.Pages.value) if hasattr(dut, "Pages") else spec.BUFFER_PAGES
        size = max(pages, spec.BUFFER_PAGES) * spec.PAGE_BYTES
        start = max(spec.BAR0_DATA, 2 * size)
        if hasattr(dut, "m_axi_dram_awvalid"):
            self._place(dut, "m_axi_dram", spec.DRAM_WINDOW_BYTES)
            start, size = spec.BAR0_DATA_DRAM, spec.DRAM_WINDOW_BYTES
        elif hasattr(dut, "m_axi_host_awvalid"):
            self.segments = BufferSegments(dut)
            self._place(dut, "m_axi_host", self.segments.span)
            ssd.host = self.ram
        if self.ram:
            ssd.spoil = self.spoil
        self.window = BAR + start
        ssd.payload = range(start, start + size)

    def _place(self, dut, prefix: str, size: int) -> None:
        bus = AxiBus.from_prefix(dut, prefix)
        self.ram = LateRam(bus, dut.clk, dut.rst, size, posted=self.segments is not None)

    def spoil(self, page: int) -> None:
        """Overwrite the page at a bus address that a drive has had in an entry."""
        if self.segments:
            self.ram.spoil(page)
        else:
            # Reads have the upper half of the buffer and the lower one of the memory.
            offset = page - self.window
            self.ram.spoil(offset ^ spec.DRAM_WINDOW_BYTES // 2)

    async def set_up(self, ctrl) -> None:
        """Write the registers that say where the payload is."""
        values = {
            regs.DATA_WINDOW: self.window,
            # Of on-board DRAM; the upper half is that of reads.
            regs.DATA_WRITE: self.window,
            regs.DATA_READ: self.window + spec.DRAM_WINDOW_BYTES // 2,
            regs.PRP_LISTS: BAR + spec.BAR0_PRP_LISTS,
            # Not where they would be by chance.
            regs.DRAM_READ: 0,
            regs.DRAM_WRITE: spec.DRAM_WINDOW_BYTES // 2,
        }
        for n, address in enumerate(self.segments.addresses if self.segments else ()):
            table = regs.HOST_WRITE if n < 16 else regs.HOST_READ
            values[table + 8 * (n % 16)] = address
        for register, value in values.items():
            await ctrl.write_qword(register, value)

    def stall(self, share: float) -> None:
        """Pause every channel of the memory at random."""
        if self.ram is None:
            return
        write, read = self.ram.write_if, self.ram.read_if
        for channel in (write.aw_channel, write.w_channel, write.b_channel):
            harness.stall(channel, share)
        for channel in (read.ar_channel, read.r_channel):
            harness.stall(channel, share)
