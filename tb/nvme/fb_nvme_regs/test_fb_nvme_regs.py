# SPDX-License-Identifier: Apache-2.0
"""fb_nvme_regs: bounded settings, the first error, and windows onto counters and trace."""

from __future__ import annotations

import random
from collections.abc import Callable

import cocotb
import pytest
from cocotb.triggers import FallingEdge, with_timeout

import harness
import structs
from forebay import streamer_regs as regs
from runner import simulate

ALL = (1 << 64) - 1
VALID = 1 << regs.FIELDS["error_cause"]["valid"][0]
# Settings and errors are there within this number of cycles; the exact number is not promised.
SOON = 8
PATIENCE_US = 2
DRIVE_BYTES = 0x40  # registers of one of several drives
# Words behind each window onto the monitor.
WORDS = {"counter": 16, "bin": 32, "trace": 64}


class Memory:
    """What stands behind a window: its content by address, and the addresses it was asked for."""

    def __init__(self, content: Callable[[int], int]) -> None:
        self.content = content
        self.seen: list[int] = []


class Monitor:
    """Answers each request once, some cycles later, as one of three memories."""

    def __init__(self, dut, memories: dict[str, Memory]) -> None:
        self.dut = dut
        self.memories = memories
        cocotb.start_soon(self._answer())

    async def _answer(self) -> None:
        dut = self.dut
        while True:
            await FallingEdge(dut.clk)
            dut.monitor_data.value = 0
            request = structs.unpack("monitor_read_t", int(dut.monitor_read.value))
            names = [name for name in self.memories if request[name]]
            if not names:
                continue
            (name,) = names
            address = request["addr"] & WORDS[name] - 1
            self.memories[name].seen.append(address)
            for _ in range(random.randrange(1, 6)):
                await FallingEdge(dut.clk)
                request = structs.unpack("monitor_read_t", int(dut.monitor_read.value))
                assert not any(request[name] for name in self.memories), "asked before the answer"
            answer = {f"{name}_ack": 1, name: self.memories[name].content(address)}
            dut.monitor_data.value = structs.pack("monitor_data_t", **answer)


class Regs:
    """The device under test, a master on its port, and what stands behind its windows."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.master = harness.axil_master(dut, "s_axil_ctrl")
        salt = random.getrandbits(24)
        self.memories = {
            name: Memory(content)
            for name, content in (
                ("counter", lambda n: salt << 8 | n),
                ("bin", lambda n: salt << 8 | 1 << 7 | n),
                ("trace", lambda n: salt << 40 | n << 32 | salt),
            )
        }
        Monitor(dut, self.memories)

    async def read(self, address: int) -> int:
        """Read a register."""
        return await with_timeout(self.master.read_qword(address), PATIENCE_US, "us")

    async def write(self, address: int, value: int) -> None:
        """Write a register."""
        await with_timeout(self.master.write_qword(address, value), PATIENCE_US, "us")

    async def settings(self) -> dict[str, int]:
        """Return what the streamer is told, once it has settled."""
        await harness.step(self.dut.clk, SOON)
        await FallingEdge(self.dut.clk)
        return structs.unpack("cfg_t", int(self.dut.cfg.value))

    async def error(self, **fields: int) -> None:
        """Report one error, for one cycle."""
        self.dut.error.value = structs.pack("error_t", valid=1, **fields)
        await harness.step(self.dut.clk)
        self.dut.error.value = 0


async def start(dut) -> Regs:
    """Reset, with all inputs zero."""
    harness.clear(
        dut,
        *("memory_errors", "clear", "sweep*", "over", "seen", "drive_outstanding", "*_drive"),
        *("ready", "halted", "idle", "outstanding", "*_pages", "error"),
        *("monitor_data", "lost"),
    )
    block = Regs(dut)
    await harness.start(dut)
    await harness.step(dut.clk)
    return block


def random_error() -> dict[str, int]:
    """Return the fields of an error."""
    return {
        "code": random.getrandbits(8),
        "status": random.getrandbits(15),
        "cid": random.getrandbits(16),
        "write": random.getrandbits(1),
        "sector": random.getrandbits(48),
    }


def field(register: str, name: str, value: int) -> int:
    """Cut a field out of a register."""
    high, low = regs.FIELDS[register][name]
    return value >> low & (1 << high - low + 1) - 1


async def check_error(block: Regs, error: dict[str, int]) -> None:
    """Both registers show this error, and that there is one."""
    cause = await block.read(regs.ERROR_CAUSE)
    assert cause & VALID
    found = {
        "code": field("error_cause", "code", cause),
        "status": field("error_cause", "nvme_status", cause),
        "cid": field("error_cause", "cid", cause),
        "write": field("error_cause", "write", cause),
        "sector": await block.read(regs.ERROR_SECTOR),
    }
    assert found == error


@cocotb.test()
async def bounds(dut) -> None:
    """Whatever software writes, the streamer gets a size that it can work with."""
    block = await start(dut)
    depth = int(dut.QueueDepth.value)
    assert (await block.settings())["queue_entries"] == depth
    for entries in (0, 1, 2, 3, depth - 1, depth, depth + 1, 1024, 2047):
        await block.write(regs.QUEUE_ENTRIES, entries)
        assert (await block.settings())["queue_entries"] == min(max(entries, 2), depth)
        assert await block.read(regs.QUEUE_ENTRIES) == entries
    for pages in (0, 1, 2, 255, 256, 257, 511):
        await block.write(regs.TRANSFER_PAGES, pages)
        await block.write(regs.CHUNK, pages | 9 << 16)
        cfg = await block.settings()
        assert cfg["transfer_m1"] == min(max(pages, 1), 256) - 1
        unit = 1 << int(dut.UnitBits.value)
        assert cfg["chunk_m1"] == -(-min(max(pages, 1), 256) // unit) * unit - 1
        assert cfg["busy_commands"] == 9
    for shift in range(16):
        await block.write(regs.BLOCK_SHIFT, shift)
        assert (await block.settings())["block_4k"] == (shift == 12)


# Addresses that are settings, and how many low bits of them are not kept.
PLACES = {"data_window": 23, "data_read": 26, "data_write": 26, "prp_lists": 18}


@cocotb.test()
async def settings_pass(dut) -> None:
    """What needs no bounds reaches the streamer as it was written."""
    block = await start(dut)
    cfg = await block.settings()
    assert (cfg["timeout"], cfg["retry_limit"], int(dut.enable.value)) == (0, 3, 0)
    for _ in range(20):
        values = {
            "namespace_sectors": random.getrandbits(48),
            "timeout_cycles": random.getrandbits(32),
            "retry_limit": random.getrandbits(4),
            "nsid": random.getrandbits(32),
            **{name: random.getrandbits(64) for name in PLACES},
            "sq_doorbell": random.getrandbits(64),
            "cq_doorbell": random.getrandbits(64),
            "doorbell_offset": random.getrandbits(64),
            "dram_read": random.getrandbits(64),
            "dram_write": random.getrandbits(64),
            "memory_offset": random.getrandbits(64),
            "enable": random.getrandbits(1),
        }
        for name in random.sample(list(values), len(values)):
            await block.write(getattr(regs, name.upper()), values[name])
        cfg = await block.settings()
        for name in ("namespace_sectors", "retry_limit", "nsid"):
            assert cfg[name] == values[name], name
        assert cfg["timeout"] == values["timeout_cycles"]
        for name, low in PLACES.items():
            assert cfg[name] == values[name] >> low << low, name
        for name in ("sq", "cq"):
            address = int(getattr(dut, f"{name}_address").value)
            assert address == values[f"{name}_doorbell"] & ~3, name
        assert int(dut.doorbell_offset.value) == values["doorbell_offset"] >> 12 << 12
        for name in ("dram_read", "dram_write", "memory_offset"):
            assert int(getattr(dut, name).value) == values[name] >> 26 << 26, name
        assert int(dut.enable.value) == values["enable"]


@cocotb.test()
async def status_and_parameters(dut) -> None:
    """Status shows the streamer's signals, parameters how it was built; neither can be written."""
    block = await start(dut)
    parameters = await block.read(regs.PARAMETERS)
    for name, parameter, unit in (
        ("queue_depth", dut.QueueDepth, 1),
        ("pages", dut.Pages, 1),
        ("cq_offset", dut.CqOffset, 64),
        ("reserve_pages", dut.ReservePages, 1),
    ):
        assert field("parameters", name, parameters) * unit == int(parameter.value), name
    for _ in range(10):
        values = {
            "ready": random.getrandbits(1),
            "halted": random.getrandbits(1),
            "idle": random.getrandbits(1),
            "outstanding": random.getrandbits(11),
            "write_pages": random.getrandbits(11),
            "read_pages": random.getrandbits(11),
        }
        for name, value in values.items():
            getattr(dut, name).value = value
        await harness.step(dut.clk, SOON)
        status = await block.read(regs.STATUS)
        for name, value in values.items():
            assert field("status", name, status) == value, name
    fixed = (regs.IDENTITY, regs.VERSION, regs.PARAMETERS, regs.STATUS, regs.ERROR_SECTOR)
    before = [await block.read(address) for address in fixed]
    for address in fixed:
        await block.write(address, random.getrandbits(64))
    assert [await block.read(address) for address in fixed] == before


@cocotb.test()
async def first_error(dut) -> None:
    """The first error is held, whatever follows and however soon, until software clears it."""
    block = await start(dut)
    assert await block.read(regs.ERROR_CAUSE) & VALID == 0
    for gap in (0, 0, 1, 2, 5):
        first = random_error()
        await block.error(**first)
        await harness.step(dut.clk, gap)
        for _ in range(3):
            await block.error(**random_error())
        await harness.step(dut.clk, SOON)
        await check_error(block, first)
        # Only a one clears, and only in this place.
        await block.write(regs.ERROR_CAUSE, ~VALID & ALL)
        await check_error(block, first)
        await block.write(regs.ERROR_CAUSE, VALID)
        assert await block.read(regs.ERROR_CAUSE) & VALID == 0
        await harness.step(dut.clk, SOON)
        assert await block.read(regs.ERROR_CAUSE) & VALID == 0


@cocotb.test()
async def error_while_clearing(dut) -> None:
    """An error that comes while the last one is cleared is held or ignored, never mixed with it."""
    block = await start(dut)
    held = 0
    for wait in range(12):
        await block.error(**random_error())
        await harness.step(dut.clk, SOON)
        clearing = cocotb.start_soon(block.write(regs.ERROR_CAUSE, VALID))
        await harness.step(dut.clk, wait)
        second = random_error()
        await block.error(**second)
        await clearing
        await harness.step(dut.clk, SOON)
        if await block.read(regs.ERROR_CAUSE) & VALID:
            held += 1
            await check_error(block, second)
            await block.write(regs.ERROR_CAUSE, VALID)
    assert 0 < held < 12, "the errors all came before, or all after"


@cocotb.test()
async def windows(dut) -> None:
    """Counters, histogram and trace are asked for once a read; writes there ask for nothing."""
    block = await start(dut)
    places = [("counter", regs.WRITE_COMMANDS + 8 * n, n) for n in range(16)]
    places += [("bin", regs.HISTOGRAM + 8 * n, n) for n in range(32)]
    places += [("trace", regs.TRACE + 8 * n, n) for n in range(64)]
    random.shuffle(places)
    for name, address, n in places:
        memory = block.memories[name]
        before = {other: len(block.memories[other].seen) for other in block.memories}
        if random.random() < 0.3:
            await block.write(address, random.getrandbits(64))
            assert {other: len(block.memories[other].seen) for other in block.memories} == before
        assert await block.read(address) == memory.content(n)
        before[name] += 1
        assert {other: len(block.memories[other].seen) for other in block.memories} == before
        assert memory.seen[-1] == n


@cocotb.test()
async def unknown_addresses(dut) -> None:
    """What is not there reads as zero, takes writes, and changes nothing."""
    block = await start(dut)
    known = {getattr(regs, name.upper()) for name in regs.FIELDS}
    for first, count in regs.MEMORIES.values():
        known.update(range(first, first + 8 * count, 8))
    if int(dut.Drives.value) > 1:  # rows are there for eight drives
        known.update(range(regs.DRIVE_SQ_DOORBELL, regs.DRIVE_SQ_DOORBELL + 8 * DRIVE_BYTES, 8))
    before = await block.settings()
    unknown = [address for address in range(0, 4096, 8) if address not in known]
    for address in random.sample(unknown, 60):
        await block.write(address, random.getrandbits(64))
        assert await block.read(address) == 0, hex(address)
    assert await block.settings() == before
    assert not any(memory.seen for memory in block.memories.values())


@cocotb.test()
async def stalls_and_reset(dut) -> None:
    """Accesses under pauses stay whole; a reset in the middle of one leaves a port that works."""
    block = await start(dut)
    master = block.master
    harness.stall_master(master, 0.5, 0.5)
    for _ in range(40):
        value = random.getrandbits(32)
        await block.write(regs.NSID, value)
        n = random.randrange(64)
        answer = cocotb.start_soon(block.read(regs.TRACE + 8 * n))
        assert await block.read(regs.NSID) == value
        assert await answer == block.memories["trace"].content(n)
    for _ in range(5):
        master.init_read(regs.CYCLES, 8)
        await harness.step(dut.clk, random.randrange(1, 8))
        await harness.reset(dut, SOON)
        await harness.step(dut.clk, SOON)
        assert await block.read(regs.NSID) == 1
        for name in ("sq_doorbell", "cq_doorbell"):
            parameter = getattr(dut, name.title().replace("_", ""))
            assert await block.read(getattr(regs, name.upper())) == int(parameter.value)
        assert await block.read(regs.CYCLES) == block.memories["counter"].content(14)


@cocotb.test()
async def memory_errors(dut) -> None:
    """Each kind is counted, until the counters are cleared."""
    block = await start(dut)
    count = {1: 0, 2: 0}
    for _ in range(50):
        kinds = random.randrange(4)
        dut.memory_errors.value = kinds
        await harness.step(dut.clk)
        dut.memory_errors.value = 0
        count = {bit: count[bit] + bool(kinds & bit) for bit in count}
    assert await block.read(regs.MEMORY_ERRORS) == count[2] | count[1] << 32
    dut.clear.value = 1
    await harness.step(dut.clk)
    dut.clear.value = 0
    assert await block.read(regs.MEMORY_ERRORS) == 0


@cocotb.test()
async def buffer_segments(dut) -> None:
    """Segments of host memory are passed on and read back, by bytes too; elsewhere they are 0."""
    block = await start(dut)
    told: dict[int, int] = {}

    async def listen() -> None:
        while True:
            await FallingEdge(dut.clk)
            if dut.segment_we.value == 1:
                told[int(dut.segment_index.value)] = int(dut.segment_address.value) >> 22 << 22

    cocotb.start_soon(listen())
    there = int(dut.InHost.value) == 1
    expected = [0] * 32
    for _ in range(100):
        index, length = random.randrange(32), random.choice([1, 4, 8])
        offset = regs.HOST_READ if index >= 16 else regs.HOST_WRITE
        at = random.randrange(0, 8, length)
        data = random.randbytes(length)
        await block.master.write(offset + 8 * (index % 16) + at, data)
        old = bytearray(expected[index].to_bytes(8, "little"))
        old[at : at + length] = data
        if there:
            expected[index] = int.from_bytes(old, "little") >> 22 << 22
            assert told[index] == expected[index]
        probe = random.randrange(32)
        offset = regs.HOST_READ if probe >= 16 else regs.HOST_WRITE
        assert await block.read(offset + 8 * (probe % 16)) == expected[probe]
    assert there or not told


@cocotb.test()
async def several_drives(dut) -> None:
    """What there is once for each drive: settings, counters, and how soon a read answers."""
    block = await start(dut)
    drives = int(dut.Drives.value)
    assert field("parameters", "drives_most", await block.read(regs.PARAMETERS)) == drives
    if drives == 1:
        for drive in range(8):
            await block.write(regs.DRIVE_STATE + DRIVE_BYTES * drive, ALL)
            assert await block.read(regs.DRIVE_STATE + DRIVE_BYTES * drive) == 0
        return
    for row in range(8):
        dut.sweep.value, dut.sweep_row.value = 1, row
        await harness.step(dut.clk)
    dut.sweep.value = 0
    # Drive 0 has its doorbells and namespace where the streamer for one drive has them.
    places = {}
    for drive in range(drives):
        place = DRIVE_BYTES * drive
        old = drive == 0
        for port, register in (("sq_address", "SQ_DOORBELL"), ("cq_address", "CQ_DOORBELL")):
            address = getattr(regs, register if old else f"DRIVE_{register}")
            places[drive, port] = address if old else address + place
        places[drive, "nsid"] = regs.NSID if old else regs.DRIVE_NSID + place
    values = {key: random.getrandbits(32) & ~3 for key in places}
    for key in random.sample(list(places), len(places)):
        await block.write(places[key], values[key])
    for (drive, port), value in values.items():
        dut.ring_drive.value = dut.nsid_drive.value = drive
        await FallingEdge(dut.clk)
        assert int(getattr(dut, port).value) == value, (drive, port)
    gone = random.getrandbits(drives)
    for drive in range(drives):
        await block.write(regs.DRIVE_STATE + DRIVE_BYTES * drive, (gone >> drive & 1) << 12)
    assert (await block.settings())["offline"] == gone
    found = [[0, 0] for _ in range(drives)]
    for _ in range(40):
        drive, failed = random.randrange(drives), random.getrandbits(1)
        found[drive][0] += 1
        found[drive][1] += failed
        seen = {"drive": drive, "failed": failed, "sectors": 8}
        dut.seen.value, dut.over.value = structs.pack("seen_t", **seen), 1
        await harness.step(dut.clk)
        dut.over.value = 0
        await harness.step(dut.clk, random.randrange(4))
        # Six cycles behind ARVALID, and one more where a command is counted.
        chosen = random.randrange(drives)
        place = random.choice([regs.DRIVE_COMMANDS, regs.DRIVE_FAILED])
        reading = cocotb.start_soon(block.read(place + DRIVE_BYTES * chosen))
        asked = await harness.until(dut.clk, dut.s_axil_ctrl.arvalid, limit=8)
        answered = await harness.until(dut.clk, dut.s_axil_ctrl.rvalid, limit=8)
        assert 6 <= answered - asked <= 7
        assert await reading == found[chosen][place == regs.DRIVE_FAILED]


def run(depth: int, pages: int, drives: int = 1, **options: object) -> None:
    """Build the module and simulate it."""
    parameters = {"QueueDepth": depth, "Pages": pages, "CqOffset": max(4096, 64 * depth)}
    parameters["Drives"] = drives
    parameters["InHost"] = int(depth == 64)
    if depth == 64:
        parameters["UnitBits"] = 4
        parameters |= {"SqDoorbell": 0xABC_1008, "CqDoorbell": 0xABC_100C}
    simulate(
        __file__,
        "fb_nvme_regs",
        parameters,
        filelist="rtl/top/onchip.f",
        interfaces={"s_axil_ctrl": "fb_axil_if"},
        **options,
    )


@pytest.mark.parametrize(("depth", "pages", "drives"), [(2, 16, 1), (64, 1024, 3), (1024, 1024, 1)])
def test_regs(depth: int, pages: int, drives: int) -> None:
    """Run all coroutines with these parameters."""
    run(depth, pages, drives)
