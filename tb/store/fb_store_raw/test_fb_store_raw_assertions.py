# SPDX-License-Identifier: Apache-2.0
"""fb_store_raw: each of its assertions fires."""

from __future__ import annotations

from cocotbext.axi import AxiStreamFrame

import harness
from rawside import BEAT, Bench, run


@harness.provocation
async def stray_response(dut) -> None:
    """A response to no write must be noticed."""
    bench = Bench(dut)
    await bench.start()
    bench.drive.responses.send_nowait(AxiStreamFrame([0]))
    await harness.step(dut.clk, 5)


@harness.provocation
async def stray_data(dut) -> None:
    """So must data that no command asked for."""
    bench = Bench(dut)
    await bench.start()
    bench.reader.data.send_nowait(bytes(BEAT))
    await harness.step(dut.clk, 5)


@harness.provocation
async def begins_open(dut) -> None:
    """A run that begins while the gate is open must be noticed."""
    bench = Bench(dut)
    await bench.start()
    await bench.set(0, 1)
    await bench.control(write=1)
    dut.u_dut.u_gate.open_q.value = 1
    await harness.step(dut.clk, 10)


@harness.provocation
async def two_words(dut) -> None:
    """A gap's record that is begun while another one ends must be noticed."""
    bench = Bench(dut)
    await bench.start()
    await bench.set(0, 4)
    await bench.begin(lossy=1)
    dut.hold.value = 1
    dut.u_dut.u_gate.gap_first_q.value = 1
    bench.send(8)
    await harness.until(dut.clk, dut.s_axis_in_tvalid)
    dut.u_dut.u_gate.gap_first_q.value = 1
    await harness.step(dut.clk, 4)


@harness.provocation
async def behind_the_end(dut) -> None:
    """A chunk behind the end of the region must be noticed."""
    bench = Bench(dut)
    await bench.start()
    await bench.set(0, 4)
    await bench.begin()
    dut.u_dut.u_write.at_end.value = 1
    await harness.step(dut.clk, 1)
    bench.send(8)
    await harness.step(dut.clk, 20)


@harness.provocation
async def inside_a_packet(dut) -> None:
    """A command in the middle of a packet must be noticed."""
    bench = Bench(dut)
    await bench.start()
    await bench.set(0, 4)
    await bench.begin()
    bench.send(8)
    await bench.source.wait()
    dut.hold.value = dut.drives_reset.value = 1
    await harness.step(dut.clk, 20)
    dut.u_dut.u_write.open_q.value = 0
    dut.hold.value = dut.drives_reset.value = 0
    await harness.step(dut.clk, 5)


@harness.provocation
async def beat_from_nowhere(dut) -> None:
    """A beat out of the FIFO that did not go in must be noticed."""
    bench = Bench(dut)
    await bench.start()
    dut.u_fifo.valid_q.value = 1
    await harness.step(dut.clk, 3)


@harness.provocation
async def withdraw_wr(dut) -> None:
    """The checker of writes is awake."""
    await Bench(dut).start()
    await harness.withdraw(dut.clk, dut.u_dut.u_write.u_check_wr)


@harness.provocation
async def withdraw_fifo(dut) -> None:
    """So is that of what goes into the FIFO."""
    await Bench(dut).start()
    await harness.withdraw(dut.clk, dut.u_dut.u_gate.u_check_fifo)


@harness.provocation
async def withdraw_rdcmd(dut) -> None:
    """So is that of read commands."""
    await Bench(dut).start()
    await harness.withdraw(dut.clk, dut.u_dut.u_read.u_check_rdcmd)


@harness.provocation
async def withdraw_out(dut) -> None:
    """So is that of data read."""
    await Bench(dut).start()
    await harness.withdraw(dut.clk, dut.u_dut.u_read.u_check_out)


def test_assertion_fires() -> None:
    """Each assertion fires."""
    run(
        __file__,
        fires={
            "stray_response": "answers_are_awaited",
            "stray_data": "data_are_awaited",
            "begins_open": "begins_when_closed",
            "two_words": "one_word_at_a_time",
            "behind_the_end": "stays_inside",
            "inside_a_packet": "commands_begin_packets",
            "beat_from_nowhere": "only_what_was_taken",
            "withdraw_wr": "m_axis_wr: valid fell",
            "withdraw_fifo": "m_axis_fifo: valid fell",
            "withdraw_rdcmd": "m_axis_rdcmd: valid fell",
            "withdraw_out": "m_axis_out: valid fell",
        },
    )
