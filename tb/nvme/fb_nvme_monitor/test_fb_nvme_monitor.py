# SPDX-License-Identifier: Apache-2.0
"""fb_nvme_monitor: counters, histogram and trace against plain Python counting."""

from __future__ import annotations

import random
from collections import Counter

import cocotb
from cocotb.triggers import FallingEdge

import harness
import structs
from forebay import spec
from runner import simulate

# The order of the register map, from 0x280 on.
COUNTERS = (
    "write",
    "read",
    "flush",
    "completed",
    "retry",
    "failed",
    "timed_out",
    "rogue_phase",
    "rogue_cid",
    "rogue_head",
    "rejected",
    "sq_rung",
    "cq_rung",
    "trace",
    "cycles",
    "doorbell_error",
)
PULSES = (
    "timed_out",
    "rejected",
    "sq_rung",
    "cq_rung",
    "doorbell_error",
)
WINDOWS = ("counter", "bin", "trace")
# Of what a completion told.
SEEN = ("completed", "failed", "rogue_phase", "rogue_cid", "rogue_head")


class Monitor:
    """The device under test and what it should have counted."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.counts: Counter[str] = Counter()
        self.bins: Counter[int] = Counter()
        self.rest = 0  # cycles until there may be another completion

    async def cycle(self, share: float) -> None:
        """Make events at random, as the streamer may make them, for one cycle."""
        dut = self.dut
        await harness.step(dut.clk)
        for name in PULSES:
            on = random.random() < share
            if name == "cq_rung" and dut.sq_rung.value == 1:
                on = False  # one doorbell at a time
            getattr(dut, name).value = on
            self.counts[name] += on
        self._issue(share)
        self._complete(share)

    def _issue(self, share: float) -> None:
        dut = self.dut
        dut.submitted.value = 0
        if random.random() >= share:
            return
        kind = random.choice(["write", "read", "flush", "retry"])
        op = structs.constant(f"OP_{'WRITE' if kind == 'retry' else kind.upper()}")
        descriptor = structs.pack("descriptor_t", op=op)
        dut.submitted.value = structs.pack(
            "submitted_t", valid=1, retry=kind == "retry", descriptor=descriptor
        )
        self.counts[kind] += 1

    def _complete(self, share: float) -> None:
        """Completions come every third cycle at most."""
        dut = self.dut
        seen = {}
        self.rest -= self.rest > 0
        if not self.rest and random.random() < share:
            self.rest = 3
            kind = random.choice(["completed"] * 3 + ["rogue_phase", "rogue_cid"])
            seen[kind] = 1
            if kind == "completed":
                seen["rogue_head"] = int(random.random() < 0.2)
                seen["failed"] = int(random.random() < 0.3)
                seen["latency"] = random.getrandbits(random.randrange(1, 33))
                self.bins[max(seen["latency"].bit_length() - 1, 0)] += 1
        for name in SEEN:
            self.counts[name] += seen.get(name, 0)
        dut.seen.value = structs.pack("seen_t", **seen)

    async def read(self, what: str, address: int) -> int:
        """Read one counter, bin or trace word as the register block does."""
        dut = self.dut
        await harness.step(dut.clk)
        dut.monitor_read.value = structs.pack("monitor_read_t", **{what: 1}, addr=address)
        await harness.step(dut.clk)
        dut.monitor_read.value = 0
        await FallingEdge(dut.clk)
        data = structs.unpack("monitor_data_t", int(dut.monitor_data.value))
        assert [data[f"{name}_ack"] for name in WINDOWS] == [what == name for name in WINDOWS]
        return data[what]

    async def check(self) -> None:
        """Compare everything after the counters have caught up."""
        await harness.step(self.dut.clk)
        harness.clear(self.dut, *PULSES, "submitted", "seen")
        await harness.step(self.dut.clk, 40)
        for n, name in enumerate(COUNTERS):
            if name not in ("trace", "cycles"):
                assert await self.read("counter", n) == self.counts[name], name
        for n in range(32):
            assert await self.read("bin", n) == self.bins[n], f"bin {n}"


async def start(dut) -> Monitor:
    """Reset, sweep, no events."""
    harness.clear(
        dut,
        *PULSES,
        "sweep*",
        "count_cycles",
        "submitted",
        "rejected_code",
        "fetched*",
        "seen",
        "stray",
        "rung_value",
        "monitor_read",
    )
    await harness.start(dut)
    await sweep(dut)
    return Monitor(dut)


async def sweep(dut) -> None:
    """Clear the memories, as the streamer does after a restart."""
    for index in range(1024):
        dut.sweep.value, dut.sweep_index.value = 1, index
        await harness.step(dut.clk)
    dut.sweep.value = 0


@cocotb.test()
async def random_events(dut) -> None:
    """No event is lost, however many meet, and while registers are read."""
    monitor = await start(dut)
    for share in (0.05, 0.5, 1.0):
        for n in range(300):
            await monitor.cycle(share)
            # A reader on the control port takes the memories away for a cycle now and then.
            reads = {what: n % 3 == 0 and random.random() < 0.7 for what in WINDOWS}
            dut.monitor_read.value = structs.pack("monitor_read_t", **reads)
        harness.clear(dut, "monitor_read")
        await monitor.check()


@cocotb.test()
async def trace_words(dut) -> None:
    """Each kind of event leaves a word that says what happened, and in order."""
    await start(dut)
    monitor = Monitor(dut)
    head = await monitor.read("counter", COUNTERS.index("trace"))
    told = {"cid": 0x123, "head": 0x45}
    dut.seen.value, dut.rung_value.value = structs.pack("seen_t", **told), 0x67
    dut.submitted.value = structs.pack("submitted_t", tag=0x89, slot=0xA)
    dut.rejected_code.value, dut.fetched_slot.value = 0xB, 0xC
    events = [
        ("submitted", spec.TRACE_SUBMIT, 0x89, 0xA),
        ("sq_rung", spec.TRACE_SQ_DOORBELL, 0, 0x67),
        ("fetched", spec.TRACE_FETCH, 0, 0xC),
        ("completed", spec.TRACE_COMPLETE, 0x123, 0x45),
        ("rogue_phase", spec.TRACE_ROGUE, 0x123, 1),
        ("stray", spec.TRACE_ROGUE, 0x123, 1),
        ("rogue_cid", spec.TRACE_ROGUE, 0x123, 2),
        ("cq_rung", spec.TRACE_CQ_DOORBELL, 0, 0x67),
        ("timed_out", spec.TRACE_TIMEOUT, 0, 0),
        ("rejected", spec.TRACE_REJECT, 0, 0xB),
    ]
    for name, *_ in events:
        await harness.step(dut.clk)
        pulse, on, off = dut.seen if name in SEEN else getattr(dut, name), 1, 0
        if name == "submitted":
            off = structs.pack("submitted_t", tag=0x89, slot=0xA)
            on = off | structs.pack("submitted_t", valid=1)
        elif name in SEEN:
            off = structs.pack("seen_t", **told)
            on = off | structs.pack("seen_t", **{name: 1})
        pulse.value = on
        await harness.step(dut.clk)
        pulse.value = off
        await harness.step(dut.clk, 3)
    await harness.step(dut.clk, 40)
    times = []
    for n, (name, kind, cid, detail) in enumerate(events):
        word = await monitor.read("trace", n)
        assert (word >> 32 & 15, word >> 36 & 0xFFF, word >> 48) == (kind, cid, detail), name
        times.append(word & 0xFFFF_FFFF)
    assert times == sorted(times) and len(set(times)) == len(times)
    assert await monitor.read("counter", COUNTERS.index("trace")) == head + len(events)


@cocotb.test()
async def reset_clears(dut) -> None:
    """After a reset and a sweep everything counts from zero."""
    monitor = await start(dut)
    for _ in range(200):
        await monitor.cycle(0.5)
    harness.clear(dut, *PULSES, "submitted", "seen")
    await harness.reset(dut, 2)
    await sweep(dut)
    await Monitor(dut).check()


@harness.provocation
async def read_without_pause(dut) -> None:
    """A counter is read in each cycle, so that no sum is ever added to its counter."""
    await start(dut)
    dut.monitor_read.value, dut.sq_rung.value = structs.pack("monitor_read_t", counter=1), 1
    await harness.step(dut.clk, 50)


@harness.provocation
async def completions_without_pause(dut) -> None:
    """A command is completed in each cycle, faster than the histogram counts."""
    await start(dut)
    dut.seen.value = structs.pack("seen_t", completed=1)
    await harness.step(dut.clk, 10)


def run(**options: object) -> None:
    """Build the module and simulate it."""
    simulate(__file__, "fb_nvme_monitor", filelist="rtl/top/onchip.f", **options)


def test_monitor() -> None:
    """Run all coroutines."""
    run()


def test_assertion_fires() -> None:
    """Each assertion fires."""
    run(
        fires={
            "read_without_pause": "a_sum_has_room",
            "completions_without_pause": "a_bin_is_free",
        }
    )
